package sqldb

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/management/storage"
)

var users = newTable(table[storage.User]{
	name: "user_account", noun: "a user", key: 1, serial: true,
	fields: func(d *Dialect, u *storage.User) []field {
		return []field{
			{"id", &u.ID},
			{"uuid", &u.UUID},
			{"distinct_id", &u.DistinctID},
			{"email", &u.Email},
			{"pending_email", maybeText{&u.PendingEmail}},
			{"is_email_verified", &u.EmailVerified},
			{"password_hash", maybeText{&u.PasswordHash}},
			{"first_name", &u.FirstName},
			{"last_name", &u.LastName},
			{"is_active", &u.Active},
			{"is_staff", &u.Staff},
			{"date_joined", stamp{d, &u.Joined}},
			{"current_organization_id", maybeID{&u.CurrentOrganization}},
			{"current_project_id", &u.CurrentProject},
			{"partial_notification_settings", document{&u.Notifications}},
			{"anonymize_data", &u.AnonymizeData},
			{"allow_impersonation", &u.AllowImpersonation},
			{"toolbar_mode", &u.ToolbarMode},
			{"events_column_config", document{&u.EventsColumnConfig}},
			{"has_seen_product_intro_for", document{&u.SeenProductIntroFor}},
			{"theme_mode", &u.ThemeMode},
			{"hedgehog_config", document{&u.HedgehogConfig}},
			{"allow_sidebar_suggestions", &u.SidebarSuggestions},
			{"shortcut_position", &u.ShortcutPosition},
			{"role_at_organization", &u.Role},
			{"passkeys_enabled_for_2fa", &u.PasskeysFor2FA},
		}
	},
})

// User implements [storage.Users], as do the methods below.
func (a *accounts) User(ctx context.Context, id int64) (*storage.User, error) {
	return users.one(ctx, a, "WHERE id = ?", id)
}

func (a *accounts) UserByUUID(ctx context.Context, id uuid.UUID) (*storage.User, error) {
	return users.one(ctx, a, "WHERE uuid = ?", id.String())
}

func (a *accounts) UserByEmail(ctx context.Context, email string) (*storage.User, error) {
	return users.one(ctx, a, "WHERE email = ?", email)
}

func (a *accounts) UsersByID(ctx context.Context, ids []int64) ([]storage.User, error) {
	return users.list(ctx, a, "WHERE id IN (?) ORDER BY id", slice[int64](ids))
}

func (a *accounts) Users(ctx context.Context, f storage.UserFilter, limit, offset int) ([]storage.User, int, error) {
	where, args := "WHERE is_active = true", []any{}
	if f.Staff != nil {
		where, args = where+" AND is_staff = ?", append(args, *f.Staff)
	}
	if f.ID != nil {
		where, args = where+" AND id = ?", append(args, *f.ID)
	}
	if f.Email != nil {
		where, args = where+" AND email = ?", append(args, *f.Email)
	}
	return paged(ctx, a, "users", "SELECT count(*) FROM user_account "+where, args, offset, func() ([]storage.User, error) {
		return users.list(ctx, a, where+" ORDER BY id LIMIT ? OFFSET ?", append(args, limit, offset)...)
	})
}

func (a *accounts) CreateUser(ctx context.Context, u *storage.User) error {
	return users.insert(ctx, a, u)
}

func (a *accounts) UpdateUser(ctx context.Context, u *storage.User) error {
	return a.atOnce(ctx, func(a *accounts) error {
		before, err := a.User(ctx, u.ID)
		if err != nil {
			return err
		}
		if err := users.update(ctx, a, u); err != nil {
			return err
		}
		if !before.Active || u.Active {
			return nil
		}
		if _, err := a.DeleteSessions(ctx, u.ID, uuid.Nil); err != nil {
			return err
		}
		return a.DeleteLinks(ctx, u.ID)
	})
}

// DeleteUser deletes the user; the foreign keys delete the user's data.
func (a *accounts) DeleteUser(ctx context.Context, id int64) error {
	return a.atOnce(ctx, func(a *accounts) error {
		// The foreign keys remove the user from the rows of flags.
		const written = "created_by = ? OR last_modified_by = ?"
		for _, query := range []string{
			"UPDATE project_version SET mark = ? WHERE project_id IN (SELECT project_id FROM feature_flag WHERE " + written + ")",
			"UPDATE feature_flag SET mark = ? WHERE " + written,
		} {
			if _, err := a.exec(ctx, query, rowVersion{}, id, id); err != nil {
				return fmt.Errorf("change the row versions of flags: %w", err)
			}
		}
		return users.removeOne(ctx, a, "id = ?", id)
	})
}

var scenes = newTable(table[storage.Scene]{
	name: "user_scene_personalisation", noun: "a scene", key: 3,
	fields: func(_ *Dialect, s *storage.Scene) []field {
		return []field{
			{"user_id", &s.User},
			{"project_id", &s.Project},
			{"scene", &s.Scene},
			{"dashboard_id", &s.Dashboard},
		}
	},
})

func (a *accounts) Scenes(ctx context.Context, users []int64) ([]storage.Scene, error) {
	return scenes.list(ctx, a, "WHERE user_id IN (?) ORDER BY user_id, number", slice[int64](users))
}

func (a *accounts) SetScene(ctx context.Context, s storage.Scene) error {
	return scenes.set(ctx, a, &s)
}

func (a *accounts) DeleteScene(ctx context.Context, user, project int64, scene string) error {
	_, err := scenes.remove(ctx, a, "user_id = ? AND project_id = ? AND scene = ?", user, project, scene)
	return err
}
