package management

import (
	"cmp"
	"encoding/json"

	"github.com/flagstaff-go/flagstaff/management/check"
	"github.com/flagstaff-go/flagstaff/management/field"
	"github.com/flagstaff-go/flagstaff/management/optional"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// A UserPatch is a change of a user, as in the body of PATCH /api/users/<uuid>/
// (management.md §4.1). A field that is not set stays as it is.
type UserPatch struct {
	FirstName              optional.Value[string]          `json:"first_name"`
	LastName               optional.Value[string]          `json:"last_name"`
	Email                  optional.Value[string]          `json:"email"`
	NotificationSettings   optional.Value[json.RawMessage] `json:"notification_settings"`
	AnonymizeData          optional.Value[bool]            `json:"anonymize_data"`
	AllowImpersonation     optional.Value[bool]            `json:"allow_impersonation"`
	ToolbarMode            optional.Value[string]          `json:"toolbar_mode"`
	IsStaff                optional.Value[bool]            `json:"is_staff"`
	SetCurrentOrganization optional.Value[json.RawMessage] `json:"set_current_organization"`
	SetCurrentTeam         optional.Value[json.RawMessage] `json:"set_current_team"`
	Password               optional.Value[string]          `json:"password"`
	CurrentPassword        optional.Value[string]          `json:"current_password"`
	EventsColumnConfig     optional.Value[json.RawMessage] `json:"events_column_config"`
	HasSeenProductIntroFor optional.Value[json.RawMessage] `json:"has_seen_product_intro_for"`
	ThemeMode              optional.Value[string]          `json:"theme_mode"`
	HedgehogConfig         optional.Value[json.RawMessage] `json:"hedgehog_config"`
	AllowSidebar           optional.Value[bool]            `json:"allow_sidebar_suggestions"`
	ShortcutPosition       optional.Value[string]          `json:"shortcut_position"`
	RoleAtOrganization     optional.Value[string]          `json:"role_at_organization"`
	PasskeysEnabledFor2FA  optional.Value[bool]            `json:"passkeys_enabled_for_2fa"`
}

// The values that enumerated fields may have.
var (
	toolbarModes      = []string{"disabled", "toolbar"}
	themeModes        = []string{"light", "dark", "system"}
	shortcutPositions = []string{"above", "below", "hidden"}
	rolesAtWork       = []string{"engineering", "data", "product", "founder", "leadership", "marketing", "sales", "other"}
)

// userFields is the table of the fields of a user, in the order of the checks and of the
// activity log. The patch is nil if the table is only for the log.
//
// The new values of the address, the settings, the staff mark, the current organization
// and project, and the password depend on more than the patch: see [userChange.apply].
func (s *Service) userFields(u *storage.User, patch *UserPatch) field.Table {
	patch = cmp.Or(patch, new(UserPatch))
	document := check.UpTo(check.DocumentOrNull, check.MaxDocument)
	return field.Table{
		field.Plain("first_name", &patch.FirstName, &u.FirstName, check.Name),
		field.Plain("last_name", &patch.LastName, &u.LastName, check.Name),
		field.Checked("email", &patch.Email, check.Email).LoggedAs(u.Email),
		field.Logged("pending_email", pendingEmail(u)),
		field.Logged("is_email_verified", u.EmailVerified),
		field.Checked("notification_settings", &patch.NotificationSettings, s.checkNotifications).LoggedAs(s.notificationSettings(u.Notifications)),
		field.Nullable("anonymize_data", &patch.AnonymizeData, &u.AnonymizeData, check.BoolOrNull),
		field.Nullable("allow_impersonation", &patch.AllowImpersonation, &u.AllowImpersonation, check.BoolOrNull),
		field.Nullable("toolbar_mode", &patch.ToolbarMode, &u.ToolbarMode, check.OneOfOrNull(toolbarModes)),
		field.Checked("is_staff", &patch.IsStaff, check.Bool).LoggedAs(u.Staff),
		field.Checked("set_current_organization", &patch.SetCurrentOrganization, check.NotNull),
		field.Checked("set_current_team", &patch.SetCurrentTeam, check.NotNull),
		field.Checked("password", &patch.Password, check.PasswordText),
		field.Checked("current_password", &patch.CurrentPassword, check.PasswordText),
		field.Plain("events_column_config", &patch.EventsColumnConfig, &u.EventsColumnConfig, check.UpTo(check.Document, check.MaxDocument)).LoggedAs(columnConfig(u)),
		field.Plain("has_seen_product_intro_for", &patch.HasSeenProductIntroFor, &u.SeenProductIntroFor, document),
		field.Nullable("theme_mode", &patch.ThemeMode, &u.ThemeMode, check.OneOfOrNull(themeModes)),
		field.Plain("hedgehog_config", &patch.HedgehogConfig, &u.HedgehogConfig, document),
		field.Nullable("allow_sidebar_suggestions", &patch.AllowSidebar, &u.SidebarSuggestions, check.BoolOrNull),
		field.Nullable("shortcut_position", &patch.ShortcutPosition, &u.ShortcutPosition, check.OneOfOrNull(shortcutPositions)).LoggedAs(shortcutPosition(u)),
		field.Nullable("role_at_organization", &patch.RoleAtOrganization, &u.Role, check.OneOf(rolesAtWork)),
		field.Nullable("passkeys_enabled_for_2fa", &patch.PasskeysEnabledFor2FA, &u.PasskeysFor2FA, checkNoPasskeys),
	}
}

// checkNoPasskeys refuses to turn passkeys on, because Flagstaff has none.
func checkNoPasskeys(attr string, o *optional.Value[bool]) error {
	if err := check.BoolOrNull(attr, o); err != nil {
		return err
	}
	if o.Value {
		return invalid(attr, "no_passkeys", "There is no verified passkey to use for two-factor authentication.")
	}
	return nil
}
