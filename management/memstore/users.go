package memstore

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/management"
)

// User implements [management.UserStore].
func (a *accounts) User(ctx context.Context, id int64) (*management.User, error) {
	return one(ctx, a.tables().users, "user", func(u *management.User) bool { return u.ID == id })
}

// UserByUUID implements [management.UserStore].
func (a *accounts) UserByUUID(ctx context.Context, id uuid.UUID) (*management.User, error) {
	return one(ctx, a.tables().users, "user", func(u *management.User) bool { return u.UUID == id })
}

// UserByEmail implements [management.UserStore].
func (a *accounts) UserByEmail(ctx context.Context, email string) (*management.User, error) {
	return one(ctx, a.tables().users, "user", func(u *management.User) bool { return u.Email == email })
}

// UsersByID implements [management.UserStore].
func (a *accounts) UsersByID(ctx context.Context, ids []int64) ([]management.User, error) {
	return all(ctx, a.tables().users, func(u *management.User) bool { return slices.Contains(ids, u.ID) })
}

// Users implements [management.UserStore].
func (a *accounts) Users(ctx context.Context, f management.UserFilter, limit, offset int) ([]management.User, int, error) {
	list, err := all(ctx, a.tables().users, func(u *management.User) bool {
		return u.Active && (f.ID == nil || *f.ID == u.ID) && (f.Email == nil || *f.Email == u.Email) && (f.Staff == nil || *f.Staff == u.Staff)
	})
	return page(list, limit, offset), len(list), err
}

// CreateUser implements [management.UserStore].
func (a *accounts) CreateUser(ctx context.Context, u *management.User) error {
	return a.change(ctx, func(t *tables) error {
		row := *u
		row.ID = t.lastUser + 1
		if err := t.admitUser(&row); err != nil {
			return err
		}
		t.users.add(row)
		t.lastUser, u.ID = row.ID, row.ID
		return nil
	})
}

// UpdateUser implements [management.UserStore].
func (a *accounts) UpdateUser(ctx context.Context, u *management.User) error {
	return a.change(ctx, func(t *tables) error {
		if err := t.admitUser(u); err != nil {
			return err
		}
		if t.users.edit(isUser(u.ID), func(row *management.User) { *row = *u }) == 0 {
			return missing("user")
		}
		return nil
	})
}

func isUser(id int64) func(*management.User) bool {
	return func(u *management.User) bool { return u.ID == id }
}

// admitUser returns an error if a user cannot be among the others.
func (t *tables) admitUser(u *management.User) error {
	clash := func(other *management.User) bool {
		return other.ID != u.ID && (other.UUID == u.UUID || other.DistinctID == u.DistinctID || other.Email == u.Email)
	}
	switch {
	case t.users.has(clash):
		return taken("user with this UUID, distinct ID or e-mail address")
	case u.CurrentOrganization != nil && !t.organizations.has(isOrganization(*u.CurrentOrganization)):
		return missing("current organization")
	case u.CurrentProject != nil && !t.projects.has(isProject(*u.CurrentProject)):
		return missing("current project")
	}
	return nil
}

// DeleteUser implements [management.UserStore].
func (a *accounts) DeleteUser(ctx context.Context, id int64) error {
	return a.change(ctx, func(t *tables) error {
		if t.users.remove(isUser(id)) == 0 {
			return missing("user")
		}
		t.scenes.remove(func(s *management.Scene) bool { return s.User == id })
		t.keys.remove(func(k *management.PersonalKey) bool { return k.User == id })
		t.totps.remove(totpOf(id))
		t.pendingTOTPs.remove(pendingTOTPOf(id))
		t.backupCodes.remove(func(c *management.BackupCode) bool { return c.User == id })
		t.emailTokens.remove(emailTokenOf(id))
		t.memberships.remove(func(m *management.Membership) bool { return m.User == id })
		t.activities.edit(
			func(a *management.Activity) bool { return a.User != nil && *a.User == id },
			func(a *management.Activity) { a.User = nil },
		)
		t.forgetAuthor(id)
		return nil
	})
}

// needUser returns an error if there is no such user.
func (t *tables) needUser(id int64) error {
	if !t.users.has(isUser(id)) {
		return missing("user")
	}
	return nil
}

// Scenes implements [management.UserStore].
func (a *accounts) Scenes(ctx context.Context, users []int64) ([]management.Scene, error) {
	return all(ctx, a.tables().scenes, func(s *management.Scene) bool { return slices.Contains(users, s.User) })
}

// SetScene implements [management.UserStore].
func (a *accounts) SetScene(ctx context.Context, s management.Scene) error {
	return a.change(ctx, func(t *tables) error {
		if err := t.needUser(s.User); err != nil {
			return err
		}
		if !t.projects.has(isProject(s.Project)) {
			return missing("project")
		}
		t.scenes.put(s, isScene(s.User, s.Project, s.Scene))
		return nil
	})
}

// DeleteScene implements [management.UserStore].
func (a *accounts) DeleteScene(ctx context.Context, user, project int64, scene string) error {
	return a.change(ctx, func(t *tables) error {
		t.scenes.remove(isScene(user, project, scene))
		return nil
	})
}

func isScene(user, project int64, scene string) func(*management.Scene) bool {
	return func(s *management.Scene) bool { return s.User == user && s.Project == project && s.Scene == scene }
}
