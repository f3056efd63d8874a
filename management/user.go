package management

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/internal/rawjson"
	"github.com/flagstaff-go/flagstaff/management/check"
	"github.com/flagstaff-go/flagstaff/management/field"
	"github.com/flagstaff-go/flagstaff/management/optional"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// ListUsers returns a page of the active users that a filter selects, by ascending ID. A
// caller who is not staff finds no other user (management.md §3.3). It needs scope
// user:read.
func (s *Service) ListUsers(ctx context.Context, p *Principal, f storage.UserFilter, limit, offset int) (*Page[*UserView], error) {
	if err := p.Require("user:read"); err != nil {
		return nil, err
	}
	if f.Email != nil {
		f.Email = new(check.NormalEmail(*f.Email))
	}
	if !p.staff() {
		f.ID = &p.User.ID
	}
	users, total, err := s.c.Store.Users().Page(ctx, max(limit, 0), max(offset, 0), f.Where()...)
	if err != nil {
		return nil, err
	}
	views, err := s.begin(p).userViews(ctx, users)
	if err != nil {
		return nil, err
	}
	return &Page[*UserView]{total, views}, nil
}

// User returns a user. It gives a user without a current organization the first
// organization of that user. It needs scope user:read.
func (s *Service) User(ctx context.Context, p *Principal, ref string) (*UserView, error) {
	if err := p.Require("user:read"); err != nil {
		return nil, err
	}
	u, err := s.begin(p).userByRef(ctx, ref)
	if err != nil {
		return nil, err
	}
	if u.CurrentOrganization == nil || u.CurrentProject == nil {
		if u, err = s.settleUser(ctx, u); err != nil {
			return nil, err
		}
	}
	return s.begin(p).showUser(ctx, u)
}

// settleUser gives a user a current organization and project, if the user has any.
func (s *Service) settleUser(ctx context.Context, u *storage.User) (*storage.User, error) {
	chosen := *u
	err := chooseCurrent(ctx, s.c.Store, &chosen)
	if err != nil || equalPointers(chosen.CurrentOrganization, u.CurrentOrganization) && equalPointers(chosen.CurrentProject, u.CurrentProject) {
		return u, err
	}
	err = s.atomic(ctx, nil, func(w *work) error {
		var err error
		if u, err = w.store.Users().Get(ctx, storage.UserID.Is(chosen.ID)); err != nil {
			return storeError(err)
		}
		return resettleUser(ctx, w.store, u)
	})
	return u, err
}

// resettleUser chooses the current organization and project of a user, and stores them.
func resettleUser(ctx context.Context, store storage.Store, u *storage.User) error {
	if err := chooseCurrent(ctx, store, u); err != nil {
		return err
	}
	return storeError(store.Users().Update(ctx, u))
}

// chooseCurrent sets the current organization and project of a user who has none, or
// whose own are gone.
func chooseCurrent(ctx context.Context, store storage.Store, u *storage.User) error {
	memberships, err := store.Memberships().List(ctx, storage.MembershipUser.In([]int64{u.ID}))
	if err != nil {
		return err
	}
	member := func(id uuid.UUID) bool {
		return slices.ContainsFunc(memberships, func(m storage.Membership) bool { return m.Organization == id })
	}
	if u.CurrentOrganization != nil && !member(*u.CurrentOrganization) {
		u.CurrentOrganization = nil
	}
	if u.CurrentOrganization == nil && len(memberships) > 0 {
		u.CurrentOrganization = &memberships[0].Organization
	}
	if u.CurrentOrganization == nil {
		u.CurrentProject = nil
		return nil
	}
	projects, err := store.Projects().List(ctx, storage.ProjectOrganization.In([]uuid.UUID{*u.CurrentOrganization}))
	if err != nil {
		return err
	}
	if u.CurrentProject == nil || !slices.ContainsFunc(projects, func(p storage.Project) bool { return p.ID == *u.CurrentProject }) {
		u.CurrentProject = nil
		if len(projects) > 0 {
			u.CurrentProject = &projects[0].ID
		}
	}
	return nil
}

// DeleteUser deletes a user with all keys and secrets, if [Config] allows it
// (management.md §4.7). It needs scope user:write.
func (s *Service) DeleteUser(ctx context.Context, p *Principal, ref string) error {
	if err := s.stepUpFor(ctx, p, ref, (*work).userByRef); err != nil {
		return err
	}
	return s.atomic(ctx, p, func(w *work) error {
		u, err := w.userByRef(ctx, ref)
		if err != nil {
			return err
		}
		memberships, err := w.store.Memberships().List(ctx, storage.MembershipUser.In([]int64{u.ID}))
		if err != nil {
			return err
		}
		if s.c.DeleteStrict && len(memberships) > 0 {
			return conflict("Cannot delete user with organization memberships.")
		}
		switch _, n, err := w.store.Users().Page(ctx, 1, 0, storage.UserFilter{}.Where()...); {
		case err != nil:
			return err
		case n == 1:
			return conflict("Cannot delete the last user of the server.")
		}
		if err := w.keepStaff(ctx, u); err != nil {
			return err
		}
		organization := u.CurrentOrganization
		for _, m := range memberships {
			gone, err := w.leaveOrganization(ctx, u, m)
			if err != nil {
				return err
			}
			if gone {
				w.changed = append(w.changed, 0)
			}
		}
		if err := w.store.Users().Delete(ctx, storage.UserID.Is(u.ID)); err != nil {
			return storeError(err)
		}
		actor := &p.User.ID
		if u.ID == p.User.ID {
			actor = nil
		}
		return w.store.AddActivity(ctx, &storage.Activity{
			ID: storage.NewID(), Organization: organization, User: actor, Activity: "deleted", Scope: "User", ItemID: u.UUID.String(),
			Detail: rawjson.Must(field.Detail{Name: u.Email, Changes: []field.Change{}}), Created: s.now(),
		})
	})
}

// leaveOrganization ends a membership of a user who is being deleted. It reports whether
// the organization was deleted as well.
func (w *work) leaveOrganization(ctx context.Context, u *storage.User, m storage.Membership) (gone bool, err error) {
	members, err := w.store.Memberships().List(ctx, storage.MembershipOrganization.Is(m.Organization))
	if err != nil {
		return false, err
	}
	switch {
	case len(members) == 1 && w.c.DeleteEmptyOrganizations:
		if err := w.logOrganization(ctx, m.Organization, "deleted", nil); err != nil {
			return false, err
		}
		return true, storeError(w.store.Organizations().Delete(ctx, storage.OrganizationID.Is(m.Organization)))
	case m.Level == storage.LevelOwner && countOwners(members) == 1:
		o, err := w.store.Organizations().Get(ctx, storage.OrganizationID.Is(m.Organization))
		if err != nil {
			return false, storeError(err)
		}
		return false, conflict("Cannot delete the only owner of the organization %q.", o.Name)
	}
	return false, storeError(w.store.Memberships().Delete(ctx, storage.MembershipOrganization.Is(m.Organization), storage.MembershipUser.Is(u.ID)))
}

// keepStaff returns an error if a user is the last staff user.
func (w *work) keepStaff(ctx context.Context, u *storage.User) error {
	if !u.Staff || !u.Active {
		return nil
	}
	_, n, err := w.store.Users().Page(ctx, 1, 0, storage.UserFilter{Staff: new(true)}.Where()...)
	if err != nil {
		return err
	}
	if n <= 1 {
		return conflict("The last staff user must stay: make another user staff first.")
	}
	return nil
}

// NewUser is an account to make.
type NewUser struct {
	Email     string
	FirstName string
	LastName  string
	Password  string // "": none
	Staff     bool
}

// blankUser returns an account that is not stored yet. It has no password.
func blankUser(n NewUser) (*storage.User, error) {
	email, first, last := optional.Of(n.Email), optional.Of(n.FirstName), optional.Of(n.LastName)
	err := judgeError(cmp.Or(check.Name("first_name", &first), check.Name("last_name", &last), check.Email("email", &email)))
	if err != nil {
		return nil, err
	}
	return &storage.User{
		UUID: storage.NewID(), DistinctID: storage.RandomToken(32), Active: true, Staff: n.Staff, Joined: storage.Now(), Email: email.Value,
		FirstName: first.Value, LastName: last.Value, ToolbarMode: new("toolbar"),
	}, nil
}

// nameOf returns the name of a user in mails to other users.
func nameOf(u *storage.User) string {
	if name := strings.TrimSpace(u.FirstName + " " + u.LastName); name != "" {
		return mailName(name)
	}
	return u.Email
}

// logUser logs what has changed of a user.
func (w *work) logUser(ctx context.Context, before, after *storage.User) error {
	d := field.Detail{Name: after.Email, Changes: field.Differences("User", w.userFields(before, nil), w.userFields(after, nil))}
	if before.PasswordHash != after.PasswordHash {
		d.Changes = append(d.Changes, field.Change{Type: "User", Field: "password", Before: nil, After: nil, Action: "changed"})
	}
	if !equalPointers(before.CurrentOrganization, after.CurrentOrganization) {
		d.Changes = append(d.Changes, field.Change{Type: "User", Field: "current_organization", Before: before.CurrentOrganization, After: after.CurrentOrganization, Action: "changed"})
	}
	if !equalPointers(before.CurrentProject, after.CurrentProject) {
		d.Changes = append(d.Changes, field.Change{Type: "User", Field: "current_team", Before: before.CurrentProject, After: after.CurrentProject, Action: "changed"})
	}
	if len(d.Changes) == 0 {
		return nil
	}
	return w.addUserActivity(ctx, after, "updated", d)
}

func (w *work) addUserActivity(ctx context.Context, u *storage.User, activity string, d field.Detail) error {
	return w.addActivity(ctx, storage.Activity{
		Organization: u.CurrentOrganization, Activity: activity, Scope: "User", ItemID: u.UUID.String(),
	}, d)
}

// logSecurity logs an activity of a user that changes no field.
func (w *work) logSecurity(ctx context.Context, u *storage.User, activity string) error {
	return w.addUserActivity(ctx, u, activity, field.Detail{Name: u.Email, Changes: []field.Change{}})
}

func equalPointers[T comparable](a, b *T) bool {
	return a == nil && b == nil || a != nil && b != nil && *a == *b
}
