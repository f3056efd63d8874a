package storetest

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/management/sqlstore"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

func testMemberships(t *testing.T, s *suite) {
	ctx := t.Context()
	acme, other, empty := s.organization(t, "acme"), s.organization(t, "other"), s.organization(t, "empty")
	ann, bob, eve := s.user(t, "ann"), s.user(t, "bob"), s.user(t, "eve")
	eve.Active = false
	ann.CurrentOrganization = &acme.ID
	must(t, s.Users().Update(ctx, eve))
	must(t, s.Users().Update(ctx, ann))
	join := func(o *storage.Organization, u *storage.User, level, at int) *storage.Membership {
		t.Helper()
		m := &storage.Membership{
			ID: uuid.New(), Organization: o.ID, User: u.ID, Level: level, Joined: s.now.Add(time.Duration(at) * time.Microsecond), Updated: s.now,
		}
		must(t, s.Memberships().Create(ctx, m))
		return m
	}
	bobs, anns, eves := join(acme, bob, storage.LevelMember, 2), join(acme, ann, storage.LevelOwner, 3), join(acme, eve, storage.LevelAdmin, 1)
	others := join(other, ann, storage.LevelAdmin, 0)
	wantAllSet(t, *anns)
	type list = []storage.Membership
	check := func() {
		t.Helper()
		for _, store := range []sqlstore.Storage{s.Storage, s.another(t)} {
			for _, m := range []*storage.Membership{bobs, anns, eves, others} {
				want(t, "Membership", m)(store.Memberships().Get(ctx, storage.MembershipOrganization.Is(m.Organization), storage.MembershipUser.Is(m.User)))
			}
			want(t, "Members", list{*eves, *bobs, *anns})(store.Memberships().List(ctx, storage.MembershipOrganization.Is(acme.ID)))
			want(t, "Memberships.List", list{*others, *bobs, *anns})(store.Memberships().List(ctx, storage.MembershipUser.In([]int64{bob.ID, 99, ann.ID, bob.ID})))
		}
	}
	check()
	want(t, "Memberships.List many", list{*others, *eves, *bobs, *anns})(s.Memberships().List(ctx, storage.MembershipUser.In(many(eve.ID, ann.ID, bob.ID))))
	want(t, "Memberships.List nobody", list(nil))(s.Memberships().List(ctx, storage.MembershipUser.In(nil)))
	want(t, "Memberships.List a stranger", list(nil))(s.Memberships().List(ctx, storage.MembershipUser.In([]int64{99})))
	want(t, "Members of none", list(nil))(s.Memberships().List(ctx, storage.MembershipOrganization.Is(uuid.New())))
	want(t, "Members of an empty organization", list(nil))(s.Memberships().List(ctx, storage.MembershipOrganization.Is(empty.ID)))
	count := func(want map[uuid.UUID]int, ids ...uuid.UUID) {
		t.Helper()
		got, err := s.CountMembers(ctx, ids)
		for _, id := range []uuid.UUID{acme.ID, other.ID, empty.ID} {
			if got[id] != want[id] || err != nil {
				t.Errorf("CountMembers(%v) = %v, %v; want %v", ids, got, err, want)
			}
		}
	}
	count(map[uuid.UUID]int{acme.ID: 2, other.ID: 1}, other.ID, acme.ID, empty.ID, uuid.New(), acme.ID) // eve is not active
	count(map[uuid.UUID]int{acme.ID: 2}, acme.ID)
	count(nil)

	membership := func(id, organization uuid.UUID, user int64) *storage.Membership {
		return &storage.Membership{ID: id, Organization: organization, User: user, Level: 1, Joined: s.now, Updated: s.now}
	}
	for _, tt := range []struct {
		call string
		err  error
		want error
	}{
		{"Memberships.Create that exists", s.Memberships().Create(ctx, membership(uuid.New(), acme.ID, ann.ID)), storage.ErrConflict},
		{"Memberships.Create with an ID that is taken", s.Memberships().Create(ctx, membership(anns.ID, empty.ID, ann.ID)), storage.ErrConflict},
		{"Memberships.Create of nobody", s.Memberships().Create(ctx, membership(uuid.New(), acme.ID, 99)), storage.ErrNotFound},
		{"Memberships.Create of no organization", s.Memberships().Create(ctx, membership(uuid.New(), uuid.New(), ann.ID)), storage.ErrNotFound},
		{"Memberships.Update that does not exist", s.Memberships().Update(ctx, membership(uuid.New(), empty.ID, ann.ID)), storage.ErrNotFound},
		{"Memberships.Delete that does not exist", s.Memberships().Delete(ctx, storage.MembershipOrganization.Is(empty.ID), storage.MembershipUser.Is(ann.ID)), storage.ErrNotFound},
		{"Memberships.Delete of nobody", s.Memberships().Delete(ctx, storage.MembershipOrganization.Is(acme.ID), storage.MembershipUser.Is(99)), storage.ErrNotFound},
	} {
		wantError(t, tt.call, tt.want, tt.err)
	}
	check()

	anns.Level, anns.Updated = storage.LevelMember, s.now.Add(time.Hour)
	must(t, s.Memberships().Update(ctx, anns))
	check()
	must(t, s.Memberships().Delete(ctx, storage.MembershipOrganization.Is(acme.ID), storage.MembershipUser.Is(ann.ID)))
	wantErr(t, "Membership that is deleted", storage.ErrNotFound)(s.Memberships().Get(ctx, storage.MembershipOrganization.Is(acme.ID), storage.MembershipUser.Is(ann.ID)))
	want(t, "Members", list{*eves, *bobs})(s.Memberships().List(ctx, storage.MembershipOrganization.Is(acme.ID)))
	want(t, "Memberships.List", list{*others})(s.Memberships().List(ctx, storage.MembershipUser.In([]int64{ann.ID})))
	want(t, "User who has left", ann)(s.Users().Get(ctx, storage.UserID.Is(ann.ID))) // the current organization is the caller's business
	wantError(t, "Memberships.Delete again", storage.ErrNotFound, s.Memberships().Delete(ctx, storage.MembershipOrganization.Is(acme.ID), storage.MembershipUser.Is(ann.ID)))
	count(map[uuid.UUID]int{acme.ID: 1, other.ID: 1}, other.ID, acme.ID)
	join(acme, ann, storage.LevelMember, 4)
}
