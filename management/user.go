package management

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
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

// A TeamView is a project as the API shows it in users and organizations
// (management.md §8.2).
type TeamView struct {
	ID                        int64           `json:"id"`
	UUID                      uuid.UUID       `json:"uuid"`
	Organization              uuid.UUID       `json:"organization"`
	ProjectID                 int64           `json:"project_id"`
	APIToken                  string          `json:"api_token"`
	Name                      string          `json:"name"`
	CompletedSnippetOnboard   bool            `json:"completed_snippet_onboarding"`
	HasCompletedOnboardingFor json.RawMessage `json:"has_completed_onboarding_for"`
	IngestedEvent             bool            `json:"ingested_event"`
	IsDemo                    bool            `json:"is_demo"`
	Timezone                  string          `json:"timezone"`
	AccessControl             bool            `json:"access_control"`
}

func teamView(p *Project) *TeamView {
	return &TeamView{
		ID: p.ID, UUID: p.UUID, Organization: p.Organization, ProjectID: p.ID, APIToken: p.APIKey, Name: p.Name,
		CompletedSnippetOnboard: p.SnippetOnboarding, HasCompletedOnboardingFor: orNull(p.Onboarding), IngestedEvent: p.IngestedEvent,
		IsDemo: p.Demo, Timezone: p.Timezone, AccessControl: p.AccessControl,
	}
}

// An OrganizationSummary is an element of User.organizations.
type OrganizationSummary struct {
	ID              uuid.UUID  `json:"id"`
	Name            string     `json:"name"`
	Slug            string     `json:"slug"`
	LogoMediaID     *uuid.UUID `json:"logo_media_id"`
	MembershipLevel *int       `json:"membership_level"`
	MembersCanUse   bool       `json:"members_can_use_personal_api_keys"`
	IsActive        *bool      `json:"is_active"`
	NotActiveReason *string    `json:"is_not_active_reason"`
}

// An OrganizationView is an organization as the API shows it (management.md
// §8.3).
type OrganizationView struct {
	ID                    uuid.UUID        `json:"id"`
	Name                  string           `json:"name"`
	Slug                  string           `json:"slug"`
	LogoMediaID           *uuid.UUID       `json:"logo_media_id"`
	CreatedAt             time.Time        `json:"created_at"`
	UpdatedAt             time.Time        `json:"updated_at"`
	MembershipLevel       *int             `json:"membership_level"`
	PluginsAccessLevel    int              `json:"plugins_access_level"`
	Teams                 []*TeamView      `json:"teams"`
	Projects              []ProjectSummary `json:"projects"`
	AvailableFeatures     json.RawMessage  `json:"available_product_features"`
	MemberJoinEmail       bool             `json:"is_member_join_email_enabled"`
	Metadata              json.RawMessage  `json:"metadata"`
	CustomerID            *string          `json:"customer_id"`
	Enforce2FA            *bool            `json:"enforce_2fa"`
	MembersCanInvite      *bool            `json:"members_can_invite"`
	MembersCanUse         bool             `json:"members_can_use_personal_api_keys"`
	PublicSharing         bool             `json:"allow_publicly_shared_resources"`
	MemberCount           json.RawMessage  `json:"member_count"`
	AIApproved            *bool            `json:"is_ai_data_processing_approved"`
	ExperimentStatsMethod *string          `json:"default_experiment_stats_method"`
	DefaultAnonymizeIPs   bool             `json:"default_anonymize_ips"`
	DefaultRoleID         *uuid.UUID       `json:"default_role_id"`
	IsActive              *bool            `json:"is_active"`
	NotActiveReason       *string          `json:"is_not_active_reason"`
}

// A ProjectSummary is an element of Organization.projects.
type ProjectSummary struct {
	ID             int64     `json:"id"`
	OrganizationID uuid.UUID `json:"organization_id"`
	Name           string    `json:"name"`
}

// A Page is part of a list.
type Page[T any] struct {
	Total int // of the whole list
	Items []T
}

func orNull(raw json.RawMessage) json.RawMessage { return orJSON(raw, "null") }

func orJSON(raw json.RawMessage, otherwise string) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage(otherwise)
	}
	return raw
}

// hasPassword reports whether a user has a password that can be used.
func (u *User) hasPassword() bool { return u.PasswordHash != "" && u.PasswordHash[0] != '!' }

// organizationView shows an organization. Its member_count and metadata are
// strings by the API, although the public system sends an integer and an object
// (decisions.md 13). Without a level who asks is no member.
func (s *Service) organizationView(o *Organization, level *int, members int, projects []Project) *OrganizationView {
	v := &OrganizationView{
		ID: o.ID, Name: o.Name, Slug: o.Slug, LogoMediaID: o.LogoMediaID, CreatedAt: o.Created, UpdatedAt: o.Updated,
		MembershipLevel: level, PluginsAccessLevel: o.PluginsAccessLevel, Teams: []*TeamView{}, Projects: []ProjectSummary{},
		AvailableFeatures: orNull(o.AvailableFeatures), MemberJoinEmail: o.MemberJoinEmail, CustomerID: o.CustomerID,
		Enforce2FA: o.Enforce2FA, MembersCanInvite: o.MembersCanInvite, MembersCanUse: o.MembersCanUseKeys,
		PublicSharing: o.PublicSharing, AIApproved: o.AIProcessingApproved, ExperimentStatsMethod: o.ExperimentStatsMethod,
		DefaultAnonymizeIPs: o.AnonymizeIPs, DefaultRoleID: o.DefaultRoleID, IsActive: o.Active, NotActiveReason: o.NotActiveReason,
	}
	count, metadata := mustJSON(members), json.RawMessage(`{"instance_tag":"none"}`)
	if !s.c.NativeTypes {
		count, metadata = mustJSON(string(count)), mustJSON(string(metadata))
	}
	v.MemberCount, v.Metadata = count, metadata
	for i := range projects {
		p := &projects[i]
		if p.Organization != o.ID {
			continue
		}
		if level != nil {
			v.Teams = append(v.Teams, teamView(p))
		}
		v.Projects = append(v.Projects, ProjectSummary{p.ID, p.Organization, p.Name})
	}
	return v
}

// mustJSON encodes what always can be.
func mustJSON(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

// views shows users to a Principal, all with a handful of queries.
func (s *Service) views(ctx context.Context, store Store, p *Principal, users []User) ([]*UserView, error) {
	ids := make([]int64, len(users))
	for i := range users {
		ids[i] = users[i].ID
	}
	memberships, err := store.MembershipsOf(ctx, ids)
	if err != nil {
		return nil, err
	}
	own := memberships
	if !slices.Contains(ids, p.User.ID) {
		if own, err = store.MembershipsOf(ctx, []int64{p.User.ID}); err != nil {
			return nil, err
		}
	}
	level := make(map[uuid.UUID]*int) // of who asks
	for i := range own {
		if own[i].User == p.User.ID {
			level[own[i].Organization] = &own[i].Level
		}
	}
	var all, current []uuid.UUID // organizations
	seen := make(map[uuid.UUID]bool)
	add := func(id uuid.UUID) {
		if !seen[id] {
			seen[id] = true
			all = append(all, id)
		}
	}
	byUser := make(map[int64][]*Membership)
	for i := range memberships {
		m := &memberships[i]
		add(m.Organization)
		byUser[m.User] = append(byUser[m.User], m)
	}
	for i := range users {
		if o := users[i].CurrentOrganization; o != nil {
			add(*o)
			if !slices.Contains(current, *o) {
				current = append(current, *o)
			}
		}
	}
	list, err := store.OrganizationsByID(ctx, all)
	if err != nil {
		return nil, err
	}
	organizations := make(map[uuid.UUID]*Organization)
	for i := range list {
		organizations[list[i].ID] = &list[i]
	}
	projects, err := store.ProjectsOf(ctx, current)
	if err != nil {
		return nil, err
	}
	byID := make(map[int64]*Project)
	for i := range projects {
		byID[projects[i].ID] = &projects[i]
	}
	members, err := store.CountMembers(ctx, current)
	if err != nil {
		return nil, err
	}
	scenes, err := store.Scenes(ctx, ids)
	if err != nil {
		return nil, err
	}
	twoFactor, err := store.WithTOTP(ctx, ids)
	if err != nil {
		return nil, err
	}
	shownOrganizations := make(map[uuid.UUID]*OrganizationView)
	views := make([]*UserView, len(users))
	for i := range users {
		u := &users[i]
		v := s.view(u)
		_, v.Is2FAEnabled = slices.BinarySearch(twoFactor, u.ID)
		for _, sc := range scenes {
			if sc.User == u.ID {
				v.ScenePersonalisation = append(v.ScenePersonalisation, SceneView{sc.Scene, sc.Dashboard})
			}
		}
		var own []*Organization
		for _, m := range byUser[u.ID] {
			if o := organizations[m.Organization]; o != nil {
				own = append(own, o)
			}
		}
		slices.SortFunc(own, func(a, b *Organization) int {
			return cmp.Or(a.Created.Compare(b.Created), strings.Compare(a.ID.String(), b.ID.String()))
		})
		for _, o := range own {
			v.Organizations = append(v.Organizations, OrganizationSummary{
				o.ID, o.Name, o.Slug, o.LogoMediaID, level[o.ID], o.MembersCanUseKeys, o.Active, o.NotActiveReason,
			})
		}
		if u.CurrentOrganization != nil {
			if o := organizations[*u.CurrentOrganization]; o != nil {
				if shownOrganizations[o.ID] == nil {
					shownOrganizations[o.ID] = s.organizationView(o, level[o.ID], members[o.ID], projects)
				}
				v.Organization = shownOrganizations[o.ID]
			}
		}
		if u.CurrentProject != nil {
			if p := byID[*u.CurrentProject]; p != nil {
				v.Team = teamView(p)
			}
		}
		views[i] = v
	}
	return views, nil
}

// view shows what a user is without the rest.
func (s *Service) view(u *User) *UserView {
	v := &UserView{
		DateJoined: u.Joined, UUID: u.UUID, DistinctID: u.DistinctID, FirstName: u.FirstName, LastName: u.LastName,
		Email: u.Email, IsEmailVerified: u.EmailVerified, NotificationSettings: s.notificationSettings(u.Notifications),
		AnonymizeData: u.AnonymizeData, AllowImpersonation: u.AllowImpersonation, ToolbarMode: u.ToolbarMode,
		HasPassword: u.hasPassword(), ID: u.ID, IsStaff: u.Staff, Organizations: []OrganizationSummary{},
		EventsColumnConfig:     orJSON(u.EventsColumnConfig, `{"active":"DEFAULT"}`),
		HasSeenProductIntroFor: orNull(u.SeenProductIntroFor), ScenePersonalisation: []SceneView{}, ThemeMode: u.ThemeMode,
		HedgehogConfig: orNull(u.HedgehogConfig), AllowSidebarSuggestions: u.SidebarSuggestions,
		ShortcutPosition: "above", RoleAtOrganization: u.Role, PasskeysEnabledFor2FA: u.PasskeysFor2FA,
	}
	if u.PendingEmail != "" {
		v.PendingEmail = &u.PendingEmail
	}
	if u.ShortcutPosition != nil {
		v.ShortcutPosition = *u.ShortcutPosition
	}
	return v
}

// show shows one user.
func (s *Service) show(ctx context.Context, store Store, p *Principal, u *User) (*UserView, error) {
	views, err := s.views(ctx, store, p, []User{*u})
	if err != nil {
		return nil, err
	}
	return views[0], nil
}

// A UserQuery selects users for [Service.ListUsers].
type UserQuery struct {
	Email string // "": any
	Staff *bool
}

// ListUsers returns a page of the active users that a query selects, by ascending
// ID. Who is not staff finds at most themselves (management.md §3.3). It needs
// scope user:read.
func (s *Service) ListUsers(ctx context.Context, p *Principal, q UserQuery, limit, offset int) (*Page[*UserView], error) {
	if err := p.Require("user:read"); err != nil {
		return nil, err
	}
	f := UserFilter{Staff: q.Staff}
	if q.Email != "" {
		f.Email = new(normalEmail(q.Email))
	}
	if !p.User.Staff {
		f.ID = &p.User.ID
	}
	users, total, err := s.store.Users(ctx, f, max(limit, 0), max(offset, 0))
	if err != nil {
		return nil, err
	}
	views, err := s.views(ctx, s.store, p, users)
	if err != nil {
		return nil, err
	}
	return &Page[*UserView]{total, views}, nil
}

// parseID reads a UUID in its usual form; uuid.Parse knows others.
func parseID(text string) (uuid.UUID, error) {
	if len(text) != len(uuid.Nil.String()) {
		return uuid.Nil, errNotFound
	}
	return uuid.Parse(text)
}

// target returns the user that a path names by a UUID or as @me, if the
// Principal may touch it (management.md §1.6).
func (s *Service) target(ctx context.Context, store Store, p *Principal, ref string) (*User, error) {
	id := p.User.UUID
	if ref != "@me" {
		var err error
		id, err = parseID(ref)
		switch {
		case err == nil && id == p.User.UUID:
		case !p.User.Staff:
			return nil, errForbidden
		case err != nil:
			return nil, errNotFound
		}
	}
	u, err := store.UserByUUID(ctx, id)
	if err != nil {
		return nil, shown(err)
	}
	if !u.Active {
		return nil, errNotFound
	}
	return u, nil
}

// self is target for what only the user may do, not staff either.
func (s *Service) self(ctx context.Context, store Store, p *Principal, ref string) (*User, error) {
	u, err := s.target(ctx, store, p, ref)
	if err == nil && u.ID != p.User.ID {
		return nil, errForbidden
	}
	return u, err
}

// User returns a user. One who has no current organization gets the first of
// theirs. It needs scope user:read.
func (s *Service) User(ctx context.Context, p *Principal, ref string) (*UserView, error) {
	if err := p.Require("user:read"); err != nil {
		return nil, err
	}
	u, err := s.target(ctx, s.store, p, ref)
	if err != nil {
		return nil, err
	}
	if u.CurrentOrganization == nil || u.CurrentProject == nil {
		if u, err = s.settle(ctx, u); err != nil {
			return nil, err
		}
	}
	return s.show(ctx, s.store, p, u)
}

// settle gives a user a current organization and project, if there are any.
func (s *Service) settle(ctx context.Context, u *User) (*User, error) {
	chosen := *u
	err := choose(ctx, s.store, &chosen)
	if err != nil || same(chosen.CurrentOrganization, u.CurrentOrganization) && same(chosen.CurrentProject, u.CurrentProject) {
		return u, err
	}
	err = s.store.Atomic(ctx, func(store Store) error {
		var err error
		if u, err = store.User(ctx, chosen.ID); err != nil {
			return shown(err)
		}
		return resettle(ctx, store, u)
	})
	return u, err
}

// resettle chooses and stores what a user has to.
func resettle(ctx context.Context, store Store, u *User) error {
	if err := choose(ctx, store, u); err != nil {
		return err
	}
	return shown(store.UpdateUser(ctx, u))
}

// choose sets the current organization and project where there are none, or none
// any more.
func choose(ctx context.Context, store Store, u *User) error {
	memberships, err := store.MembershipsOf(ctx, []int64{u.ID})
	if err != nil {
		return err
	}
	member := func(id uuid.UUID) bool {
		return slices.ContainsFunc(memberships, func(m Membership) bool { return m.Organization == id })
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
	projects, err := store.ProjectsOf(ctx, []uuid.UUID{*u.CurrentOrganization})
	if err != nil {
		return err
	}
	if u.CurrentProject == nil || !slices.ContainsFunc(projects, func(p Project) bool { return p.ID == *u.CurrentProject }) {
		u.CurrentProject = nil
		if len(projects) > 0 {
			u.CurrentProject = &projects[0].ID
		}
	}
	return nil
}

func same[T comparable](a, b *T) bool {
	return a == nil && b == nil || a != nil && b != nil && *a == *b
}

// DeleteUser deletes a user with all keys and secrets, as [Config] allows it
// (management.md §4.7). It needs scope user:write.
func (s *Service) DeleteUser(ctx context.Context, p *Principal, ref string) error {
	if err := p.Require("user:write"); err != nil {
		return err
	}
	if _, err := s.target(ctx, s.store, p, ref); err != nil {
		return err
	}
	if err := s.stepUp(ctx, p); err != nil {
		return err
	}
	var projects bool // whether some are deleted
	err := s.store.Atomic(ctx, func(store Store) error {
		projects = false
		u, err := s.target(ctx, store, p, ref)
		if err != nil {
			return err
		}
		memberships, err := store.MembershipsOf(ctx, []int64{u.ID})
		if err != nil {
			return err
		}
		if s.c.Delete == DeleteStrict && len(memberships) > 0 {
			return conflict("Cannot delete user with organization memberships.")
		}
		organization := u.CurrentOrganization
		for _, m := range memberships {
			gone, err := s.leave(ctx, store, p, u, m)
			if err != nil {
				return err
			}
			projects = projects || gone
		}
		if err := store.DeleteUser(ctx, u.ID); err != nil {
			return shown(err)
		}
		actor := &p.User.ID
		if u.ID == p.User.ID {
			actor = nil
		}
		return store.AddActivity(ctx, &Activity{
			ID: newID(), Organization: organization, User: actor, Activity: "deleted", Scope: "User", ItemID: u.UUID.String(),
			Detail: mustJSON(detail{u.Email, []fieldChange{}}), Created: s.now(),
		})
	})
	if err == nil && projects {
		s.c.OnChange(ctx, 0)
	}
	return err
}

// leave ends a membership of a user who is being deleted. It reports whether the
// organization was deleted as well.
func (s *Service) leave(ctx context.Context, store Store, p *Principal, u *User, m Membership) (gone bool, err error) {
	members, err := store.Members(ctx, m.Organization)
	if err != nil {
		return false, err
	}
	if m.Level == LevelOwner && len(members) > 1 && owners(members) == 1 {
		return false, conflict("Cannot delete the only owner of an organization with other members.")
	}
	if len(members) == 1 && s.c.DeleteEmptyOrganizations {
		if err := s.logOrganization(ctx, store, p, m.Organization, "deleted", nil); err != nil {
			return false, err
		}
		return true, shown(store.DeleteOrganization(ctx, m.Organization))
	}
	return false, shown(store.DeleteMembership(ctx, m.Organization, u.ID))
}

func owners(members []Membership) int {
	n := 0
	for _, m := range members {
		if m.Level == LevelOwner {
			n++
		}
	}
	return n
}

// keepStaff returns an error if a user is the last of the staff.
func (s *Service) keepStaff(ctx context.Context, store Store, u *User) error {
	if !u.Staff || !u.Active {
		return nil
	}
	_, n, err := store.Users(ctx, UserFilter{Staff: new(true)}, 1, 0)
	if err != nil {
		return err
	}
	if n <= 1 {
		return conflict("The last staff user must stay.")
	}
	return nil
}

// reload returns the current state of a user in a transaction.
func reload(ctx context.Context, store Store, id int64) (*User, error) {
	u, err := store.User(ctx, id)
	if errors.Is(err, ErrNotFound) || err == nil && !u.Active {
		return nil, errNotFound
	}
	return u, err
}
