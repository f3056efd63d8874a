package management

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/internal/rawjson"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// A UserView is a user as the API shows it (management.md §8.1).
type UserView struct {
	DateJoined                time.Time             `json:"date_joined"`
	UUID                      uuid.UUID             `json:"uuid"`
	DistinctID                string                `json:"distinct_id"`
	FirstName                 string                `json:"first_name"`
	LastName                  string                `json:"last_name"`
	Email                     string                `json:"email"`
	PendingEmail              *string               `json:"pending_email"`
	IsEmailVerified           *bool                 `json:"is_email_verified"`
	NotificationSettings      json.RawMessage       `json:"notification_settings"`
	AnonymizeData             *bool                 `json:"anonymize_data"`
	AllowImpersonation        *bool                 `json:"allow_impersonation"`
	ToolbarMode               *string               `json:"toolbar_mode"`
	HasPassword               bool                  `json:"has_password"`
	ID                        int64                 `json:"id"`
	IsStaff                   bool                  `json:"is_staff"`
	IsImpersonated            bool                  `json:"is_impersonated"`
	IsImpersonatedUntil       *time.Time            `json:"is_impersonated_until"`
	IsImpersonatedReadOnly    *bool                 `json:"is_impersonated_read_only"`
	SensitiveSessionExpiresAt *time.Time            `json:"sensitive_session_expires_at"`
	Team                      *TeamView             `json:"team"`
	Organization              *OrganizationView     `json:"organization"`
	Organizations             []OrganizationSummary `json:"organizations"`
	EventsColumnConfig        json.RawMessage       `json:"events_column_config"`
	Is2FAEnabled              bool                  `json:"is_2fa_enabled"`
	HasSocialAuth             bool                  `json:"has_social_auth"`
	HasSSOEnforcement         bool                  `json:"has_sso_enforcement"`
	HasSeenProductIntroFor    json.RawMessage       `json:"has_seen_product_intro_for"`
	ScenePersonalisation      []SceneView           `json:"scene_personalisation"`
	ThemeMode                 *string               `json:"theme_mode"`
	HedgehogConfig            json.RawMessage       `json:"hedgehog_config"`
	AllowSidebarSuggestions   *bool                 `json:"allow_sidebar_suggestions"`
	ShortcutPosition          string                `json:"shortcut_position"`
	RoleAtOrganization        *string               `json:"role_at_organization"`
	PasskeysEnabledFor2FA     *bool                 `json:"passkeys_enabled_for_2fa"`
}

// A SceneView is an entry of User.scene_personalisation.
type SceneView struct {
	Scene     string `json:"scene"`
	Dashboard int64  `json:"dashboard"`
}

// userViews shows users to a Principal, with a few queries for all of them.
func (w *work) userViews(ctx context.Context, users []storage.User) ([]*UserView, error) {
	ids := each(users, func(u *storage.User) int64 { return u.ID })
	memberships, err := w.store.Memberships().List(ctx, storage.MembershipUser.In(ids))
	if err != nil {
		return nil, err
	}
	own := memberships
	if !slices.Contains(ids, w.by.User.ID) {
		if own, err = w.store.Memberships().List(ctx, storage.MembershipUser.Is(w.by.User.ID)); err != nil {
			return nil, err
		}
	}
	level := make(map[uuid.UUID]*int) // of the caller, by organization
	for i := range own {
		if own[i].User == w.by.User.ID {
			level[own[i].Organization] = &own[i].Level
		}
	}
	var all, current []uuid.UUID // organizations
	byUser := make(map[int64][]*storage.Membership)
	for i := range memberships {
		m := &memberships[i]
		all = append(all, m.Organization)
		byUser[m.User] = append(byUser[m.User], m)
	}
	for i := range users {
		if o := users[i].CurrentOrganization; o != nil {
			current = append(current, *o)
		}
	}
	list, err := w.store.Organizations().List(ctx, storage.OrganizationID.In(append(all, current...)))
	if err != nil {
		return nil, err
	}
	organizations := byKey(list, func(o *storage.Organization) uuid.UUID { return o.ID })
	projects, err := w.store.Projects().List(ctx, storage.ProjectOrganization.In(current))
	if err != nil {
		return nil, err
	}
	byID := byKey(projects, func(p *storage.Project) int64 { return p.ID })
	members, err := w.store.CountMembers(ctx, current)
	if err != nil {
		return nil, err
	}
	scenes, err := w.store.Scenes().List(ctx, storage.SceneUser.In(ids))
	if err != nil {
		return nil, err
	}
	twoFactor, err := w.withTwoFactor(ctx, ids)
	if err != nil {
		return nil, err
	}
	shownOrganizations := make(map[uuid.UUID]*OrganizationView)
	views := make([]*UserView, len(users))
	for i := range users {
		u := &users[i]
		v := w.userView(u)
		_, v.Is2FAEnabled = slices.BinarySearch(twoFactor, u.ID)
		for _, sc := range scenes {
			if sc.User == u.ID {
				v.ScenePersonalisation = append(v.ScenePersonalisation, SceneView{sc.Scene, sc.Dashboard})
			}
		}
		var own []*storage.Organization
		for _, m := range byUser[u.ID] {
			if o := organizations[m.Organization]; o != nil {
				own = append(own, o)
			}
		}
		slices.SortFunc(own, func(a, b *storage.Organization) int {
			return cmp.Or(a.Created.Compare(b.Created), strings.Compare(a.ID.String(), b.ID.String()))
		})
		for _, o := range own {
			v.Organizations = append(v.Organizations, OrganizationSummary{
				o.ID, o.Name, o.Slug, o.LogoMediaID, level[o.ID], o.MembersCanUseKeys, o.Active, o.NotActiveReason, false,
			})
		}
		if u.CurrentOrganization != nil {
			if o := organizations[*u.CurrentOrganization]; o != nil {
				if shownOrganizations[o.ID] == nil {
					shownOrganizations[o.ID] = w.organizationView(o, level[o.ID], members[o.ID], projects)
				}
				v.Organization = shownOrganizations[o.ID]
			}
		}
		if u.CurrentProject != nil {
			if project := byID[*u.CurrentProject]; project != nil {
				v.Team = showTeam(project)
			}
		}
		views[i] = v
	}
	return views, nil
}

// userView shows the fields of a user that need no other table.
func (s *Service) userView(u *storage.User) *UserView {
	return &UserView{
		DateJoined: u.Joined, UUID: u.UUID, DistinctID: u.DistinctID, FirstName: u.FirstName, LastName: u.LastName,
		Email: u.Email, PendingEmail: pendingEmail(u), IsEmailVerified: u.EmailVerified, NotificationSettings: s.notificationSettings(u.Notifications),
		AnonymizeData: u.AnonymizeData, AllowImpersonation: u.AllowImpersonation, ToolbarMode: u.ToolbarMode,
		HasPassword: u.HasPassword(), ID: u.ID, IsStaff: u.Staff, Organizations: []OrganizationSummary{},
		EventsColumnConfig:     columnConfig(u),
		HasSeenProductIntroFor: rawjson.OrNull(u.SeenProductIntroFor), ScenePersonalisation: []SceneView{}, ThemeMode: u.ThemeMode,
		HedgehogConfig: rawjson.OrNull(u.HedgehogConfig), AllowSidebarSuggestions: u.SidebarSuggestions,
		ShortcutPosition: shortcutPosition(u), RoleAtOrganization: u.Role, PasskeysEnabledFor2FA: u.PasskeysFor2FA,
	}
}

// showUser shows one user.
func (w *work) showUser(ctx context.Context, u *storage.User) (*UserView, error) {
	return single(w.userViews(ctx, []storage.User{*u}))
}

// pendingEmail returns the address that waits for verification, nil if there is none.
func pendingEmail(u *storage.User) *string {
	if u.PendingEmail == "" {
		return nil
	}
	return &u.PendingEmail
}

func columnConfig(u *storage.User) json.RawMessage {
	return rawjson.Or(u.EventsColumnConfig, `{"active":"DEFAULT"}`)
}

func shortcutPosition(u *storage.User) string { return *cmp.Or(u.ShortcutPosition, new("above")) }
