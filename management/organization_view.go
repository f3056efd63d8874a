package management

import (
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/internal/rawjson"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

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
	PendingDeletion bool       `json:"is_pending_deletion"` // always false: an organization is deleted at once
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

// organizationView shows an organization. Its member_count and metadata are
// strings (api.md §2.3), although the public system sends an integer and an
// object. A nil level says that the caller is not a member.
func (s *Service) organizationView(o *storage.Organization, level *int, members int, projects []storage.Project) *OrganizationView {
	v := &OrganizationView{
		ID: o.ID, Name: o.Name, Slug: o.Slug, LogoMediaID: o.LogoMediaID, CreatedAt: o.Created, UpdatedAt: o.Updated,
		MembershipLevel: level, PluginsAccessLevel: o.PluginsAccessLevel, Teams: []*TeamView{}, Projects: []ProjectSummary{},
		AvailableFeatures: rawjson.OrNull(o.AvailableFeatures), MemberJoinEmail: o.MemberJoinEmail, CustomerID: o.CustomerID,
		Enforce2FA: o.Enforce2FA, MembersCanInvite: o.MembersCanInvite, MembersCanUse: o.MembersCanUseKeys,
		PublicSharing: o.PublicSharing, AIApproved: o.AIProcessingApproved, ExperimentStatsMethod: o.ExperimentStatsMethod,
		DefaultAnonymizeIPs: o.AnonymizeIPs, DefaultRoleID: o.DefaultRoleID, IsActive: o.Active, NotActiveReason: o.NotActiveReason,
	}
	count, metadata := rawjson.Must(members), json.RawMessage(`{"instance_tag":"none"}`)
	if !s.c.NativeTypes {
		count, metadata = rawjson.Must(string(count)), rawjson.Must(string(metadata))
	}
	v.MemberCount, v.Metadata = count, metadata
	for i := range projects {
		p := &projects[i]
		if p.Organization != o.ID {
			continue
		}
		if level != nil {
			v.Teams = append(v.Teams, showTeam(p))
		}
		v.Projects = append(v.Projects, ProjectSummary{p.ID, p.Organization, p.Name})
	}
	return v
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

func showTeam(p *storage.Project) *TeamView {
	return &TeamView{
		ID: p.ID, UUID: p.UUID, Organization: p.Organization, ProjectID: p.ID, APIToken: p.APIKey, Name: p.Name,
		CompletedSnippetOnboard: p.SnippetOnboarding, HasCompletedOnboardingFor: rawjson.OrNull(p.Onboarding), IngestedEvent: p.IngestedEvent,
		IsDemo: p.Demo, Timezone: p.Timezone, AccessControl: p.AccessControl,
	}
}
