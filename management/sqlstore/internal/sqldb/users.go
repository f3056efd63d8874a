package sqldb

import (
	"context"
	"fmt"

	"github.com/flagstaff-go/flagstaff/management/storage"
)

var users = newTable(table[storage.User]{
	name: "user_account", noun: "a user", key: 1, serial: true, order: "id", deleting: userGoes,
	fields: func(u *storage.User) []field {
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
			{"date_joined", moment{&u.Joined}},
			{"current_organization_id", &u.CurrentOrganization},
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

// Users implements [storage.Store], as do the accessors below.
func (a *accounts) Users() storage.Table[storage.User] { return userPort{users.of(a)} }

type userPort struct{ port[storage.User] }

func (p userPort) Update(ctx context.Context, list ...*storage.User) error {
	return p.each(ctx, list, func(a *accounts, u *storage.User) error {
		before, err := a.Users().Get(ctx, storage.UserID.Is(u.ID))
		if err != nil {
			return err
		}
		if err := p.update(ctx, a, u); err != nil || !before.Active || u.Active {
			return err
		}
		if _, err := a.Sessions().DeleteAll(ctx, storage.SessionUser.Is(u.ID)); err != nil {
			return err
		}
		_, err = a.Links().DeleteAll(ctx, storage.LinkUser.Is(u.ID))
		return err
	})
}

// userGoes gives new row versions to the flags from which the foreign keys remove a user.
func userGoes(ctx context.Context, a *accounts, u *storage.User) error {
	const written = "created_by = ? OR last_modified_by = ?"
	for _, query := range []string{
		"UPDATE project_version SET mark = ? WHERE project_id IN (SELECT project_id FROM feature_flag WHERE " + written + ")",
		"UPDATE feature_flag SET mark = ? WHERE " + written,
	} {
		if _, err := a.exec(ctx, query, rowVersion{}, u.ID, u.ID); err != nil {
			return fmt.Errorf("change the row versions of flags: %w", err)
		}
	}
	return nil
}

var scenes = newTable(table[storage.Scene]{
	name: "user_scene_personalisation", noun: "a scene", key: 3, order: "user_id, number",
	fields: func(s *storage.Scene) []field {
		return []field{
			{"user_id", &s.User},
			{"project_id", &s.Project},
			{"scene", &s.Scene},
			{"dashboard_id", &s.Dashboard},
		}
	},
})

func (a *accounts) Scenes() storage.Table[storage.Scene] { return scenes.of(a) }
