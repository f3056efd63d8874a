package storetest

import (
	"errors"
	"testing"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/management/sqlstore"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// testTotals counts users and members after changes of every kind, and compares
// with what the store says.
func testTotals(t *testing.T, s *suite) {
	ctx := t.Context()
	acme, other := s.organization(t, "acme"), s.organization(t, "other")
	organizations := []uuid.UUID{acme.ID, other.ID}
	var ids []int64
	check := func(when string) {
		t.Helper()
		for _, store := range []sqlstore.Storage{s.Storage, s.another(t)} {
			users, err := store.Users().List(ctx, storage.UserID.In(ids))
			must(t, err)
			active := make(map[int64]bool)
			staff, others := 0, 0
			for _, u := range users {
				active[u.ID] = u.Active
				switch {
				case u.Active && u.Staff:
					staff++
				case u.Active:
					others++
				}
			}
			for _, tt := range []struct {
				filter storage.UserFilter
				want   int
			}{
				{storage.UserFilter{}, staff + others},
				{storage.UserFilter{Staff: new(true)}, staff},
				{storage.UserFilter{Staff: new(false)}, others},
			} {
				list, total, err := store.Users().Page(ctx, 100, 0, tt.filter.Where()...)
				if len(list) != tt.want || total != tt.want || err != nil {
					t.Errorf("%s: Users(%+v) = %d of %d, %v; want %d", when, tt.filter, len(list), total, err, tt.want)
				}
			}
			counts, err := store.CountMembers(ctx, organizations)
			must(t, err)
			for _, id := range organizations {
				members, err := store.Memberships().List(ctx, storage.MembershipOrganization.Is(id))
				must(t, err)
				n := 0
				for _, m := range members {
					if active[m.User] {
						n++
					}
				}
				if counts[id] != n {
					t.Errorf("%s: CountMembers = %d, want %d", when, counts[id], n)
				}
			}
		}
	}
	check("before there is anybody")
	add := func(name string, active, staff bool) *storage.User {
		t.Helper()
		u := s.newUser(name)
		u.Active, u.Staff = active, staff
		must(t, s.Users().Create(ctx, &u))
		ids = append(ids, u.ID)
		return &u
	}
	ann, bob, eve, joe := add("ann", true, true), add("bob", true, false), add("eve", false, false), add("joe", true, false)
	check("after users are created")
	join := func(store storage.Store, o *storage.Organization, u *storage.User) error {
		return store.Memberships().Create(ctx, &storage.Membership{ID: uuid.New(), Organization: o.ID, User: u.ID, Level: 1, Joined: s.now, Updated: s.now})
	}
	for _, u := range []*storage.User{ann, bob, eve} {
		must(t, errors.Join(join(s, acme, u), join(s, other, u)))
	}
	check("after they join")
	change := func(what string, u *storage.User, active, staff bool) {
		t.Helper()
		u.Active, u.Staff = active, staff
		must(t, s.Users().Update(ctx, u))
		check(what)
	}
	change("after one is active", eve, true, false)
	change("after one is of the staff", eve, true, true)
	change("after one is neither any more", eve, false, false)
	change("after one is not active, but of the staff", eve, false, true)
	change("after one is both", eve, true, true)
	change("after the staff is not active", ann, false, true)
	ann.FirstName = "Ann"
	change("after nothing of that", ann, false, true)
	must(t, s.Memberships().Delete(ctx, storage.MembershipOrganization.Is(acme.ID), storage.MembershipUser.Is(bob.ID)))
	check("after one has left")
	must(t, s.Memberships().Delete(ctx, storage.MembershipOrganization.Is(acme.ID), storage.MembershipUser.Is(ann.ID)))
	check("after one who is not active has left")
	must(t, join(s, acme, bob))
	check("after one has come back")

	taken := *bob
	taken.Email, taken.Active = eve.Email, false
	wantError(t, "Users.Update", storage.ErrConflict, s.Users().Update(ctx, &taken))
	wantError(t, "Users.Create", storage.ErrConflict, s.Users().Create(ctx, new(*bob)))
	wantError(t, "Memberships.Create", storage.ErrConflict, join(s, acme, bob))
	wantError(t, "Memberships.Delete", storage.ErrNotFound, s.Memberships().Delete(ctx, storage.MembershipOrganization.Is(acme.ID), storage.MembershipUser.Is(joe.ID)))
	wantError(t, "Atomic", errStop, s.Atomic(ctx, func(store storage.Store) error {
		away := *bob
		away.Active = false
		return errors.Join(store.Users().Update(ctx, &away), store.Users().Delete(ctx, storage.UserID.Is(eve.ID)), join(store, acme, joe), store.Organizations().Delete(ctx, storage.OrganizationID.Is(other.ID)), errStop)
	}))
	check("after what failed")
	must(t, s.Atomic(ctx, func(store storage.Store) error {
		away := *joe
		away.Active = false
		wantError(t, "Users.Update in a transaction", storage.ErrConflict, store.Users().Update(ctx, &taken))
		return errors.Join(join(store, other, joe), store.Users().Update(ctx, &away))
	}))
	check("after a transaction")
	must(t, s.Users().Delete(ctx, storage.UserID.Is(ann.ID)))
	check("after one who is not active is deleted")
	must(t, s.Users().Delete(ctx, storage.UserID.Is(eve.ID)))
	check("after one who is active is deleted")
	must(t, s.Organizations().Delete(ctx, storage.OrganizationID.Is(other.ID)))
	organizations = organizations[:1]
	check("after an organization is deleted")
	change("after its former member is active", joe, true, false)
}
