package management

import (
	"cmp"
	"encoding/json"
)

// A UserPatch is a change of a user, as in the body of PATCH /api/users/<uuid>/
// (management.md §4.1). A field that is not set stays as it is.
type UserPatch struct {
	FirstName              Optional[string]          `json:"first_name"`
	LastName               Optional[string]          `json:"last_name"`
	Email                  Optional[string]          `json:"email"`
	NotificationSettings   Optional[json.RawMessage] `json:"notification_settings"`
	AnonymizeData          Optional[bool]            `json:"anonymize_data"`
	AllowImpersonation     Optional[bool]            `json:"allow_impersonation"`
	ToolbarMode            Optional[string]          `json:"toolbar_mode"`
	IsStaff                Optional[bool]            `json:"is_staff"`
	SetCurrentOrganization Optional[json.RawMessage] `json:"set_current_organization"`
	SetCurrentTeam         Optional[json.RawMessage] `json:"set_current_team"`
	Password               Optional[string]          `json:"password"`
	CurrentPassword        Optional[string]          `json:"current_password"`
	EventsColumnConfig     Optional[json.RawMessage] `json:"events_column_config"`
	HasSeenProductIntroFor Optional[json.RawMessage] `json:"has_seen_product_intro_for"`
	ThemeMode              Optional[string]          `json:"theme_mode"`
	HedgehogConfig         Optional[json.RawMessage] `json:"hedgehog_config"`
	AllowSidebar           Optional[bool]            `json:"allow_sidebar_suggestions"`
	ShortcutPosition       Optional[string]          `json:"shortcut_position"`
	RoleAtOrganization     Optional[string]          `json:"role_at_organization"`
	PasskeysEnabledFor2FA  Optional[bool]            `json:"passkeys_enabled_for_2fa"`
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
func (s *Service) userFields(u *User, patch *UserPatch) fields {
	patch = cmp.Or(patch, new(UserPatch))
	document := upTo(checkDocumentOrNull, mostDocument)
	return fields{
		plainField("first_name", &patch.FirstName, &u.FirstName, checkName),
		plainField("last_name", &patch.LastName, &u.LastName, checkName),
		checkedField("email", &patch.Email, checkEmail).loggedAs(u.Email),
		loggedField("pending_email", u.pendingEmail()),
		loggedField("is_email_verified", u.EmailVerified),
		checkedField("notification_settings", &patch.NotificationSettings, s.checkNotifications).loggedAs(s.notificationSettings(u.Notifications)),
		nullableField("anonymize_data", &patch.AnonymizeData, &u.AnonymizeData, checkBoolOrNull),
		nullableField("allow_impersonation", &patch.AllowImpersonation, &u.AllowImpersonation, checkBoolOrNull),
		nullableField("toolbar_mode", &patch.ToolbarMode, &u.ToolbarMode, oneOfOrNull(toolbarModes)),
		checkedField("is_staff", &patch.IsStaff, checkBool).loggedAs(u.Staff),
		checkedField("set_current_organization", &patch.SetCurrentOrganization, notNull),
		checkedField("set_current_team", &patch.SetCurrentTeam, notNull),
		checkedField("password", &patch.Password, checkPasswordText),
		checkedField("current_password", &patch.CurrentPassword, checkPasswordText),
		plainField("events_column_config", &patch.EventsColumnConfig, &u.EventsColumnConfig, upTo(checkDocument, mostDocument)).loggedAs(u.columnConfig()),
		plainField("has_seen_product_intro_for", &patch.HasSeenProductIntroFor, &u.SeenProductIntroFor, document),
		nullableField("theme_mode", &patch.ThemeMode, &u.ThemeMode, oneOfOrNull(themeModes)),
		plainField("hedgehog_config", &patch.HedgehogConfig, &u.HedgehogConfig, document),
		nullableField("allow_sidebar_suggestions", &patch.AllowSidebar, &u.SidebarSuggestions, checkBoolOrNull),
		nullableField("shortcut_position", &patch.ShortcutPosition, &u.ShortcutPosition, oneOfOrNull(shortcutPositions)).loggedAs(u.shortcutPosition()),
		nullableField("role_at_organization", &patch.RoleAtOrganization, &u.Role, oneOf(rolesAtWork)),
		nullableField("passkeys_enabled_for_2fa", &patch.PasskeysEnabledFor2FA, &u.PasskeysFor2FA, checkNoPasskeys),
	}
}

// checkNoPasskeys refuses to turn passkeys on, because Flagstaff has none.
func checkNoPasskeys(attr string, o *Optional[bool]) error {
	if err := checkBoolOrNull(attr, o); err != nil {
		return err
	}
	if o.Value {
		return invalid(attr, "no_passkeys", "There is no verified passkey to use for two-factor authentication.")
	}
	return nil
}
