package sqldb

import (
	"context"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/management/storage"
)

var organizations = newTable(table[storage.Organization]{
	name: "organization", noun: "an organization", key: 1, order: "created_at, id",
	deleting: func(ctx context.Context, a *accounts, o *storage.Organization) error {
		_, err := a.Projects().DeleteAll(ctx, storage.ProjectOrganization.Is(o.ID))
		return err
	},
	fields: func(o *storage.Organization) []field {
		return []field{
			{"id", &o.ID},
			{"name", &o.Name},
			{"slug", &o.Slug},
			{"logo_media_id", &o.LogoMediaID},
			{"plugins_access_level", &o.PluginsAccessLevel},
			{"is_member_join_email_enabled", &o.MemberJoinEmail},
			{"enforce_2fa", &o.Enforce2FA},
			{"members_can_invite", &o.MembersCanInvite},
			{"members_can_use_personal_api_keys", &o.MembersCanUseKeys},
			{"allow_publicly_shared_resources", &o.PublicSharing},
			{"is_ai_data_processing_approved", &o.AIProcessingApproved},
			{"default_experiment_stats_method", &o.ExperimentStatsMethod},
			{"default_anonymize_ips", &o.AnonymizeIPs},
			{"default_role_id", &o.DefaultRoleID},
			{"available_product_features", document{&o.AvailableFeatures}},
			{"customer_id", &o.CustomerID},
			{"is_active", &o.Active},
			{"is_not_active_reason", &o.NotActiveReason},
			{"created_at", moment{&o.Created}},
			{"updated_at", moment{&o.Updated}},
		}
	},
})

// Organizations implements [storage.Store].
func (a *accounts) Organizations() storage.Table[storage.Organization] { return organizations.of(a) }

var memberships = newTable(table[storage.Membership]{
	name: "organization_membership", noun: "a membership", key: 2, order: "joined_at, number",
	fields: func(m *storage.Membership) []field {
		return []field{
			{"organization_id", &m.Organization},
			{"user_id", &m.User},
			{"id", &m.ID},
			{"level", &m.Level},
			{"joined_at", moment{&m.Joined}},
			{"updated_at", moment{&m.Updated}},
		}
	},
})

// Memberships implements [storage.Store].
func (a *accounts) Memberships() storage.Table[storage.Membership] { return memberships.of(a) }

// CountMembers implements [storage.Store].
func (a *accounts) CountMembers(ctx context.Context, organizations []uuid.UUID) (map[uuid.UUID]int, error) {
	counts := make(map[uuid.UUID]int)
	err := a.read(ctx, `SELECT id, (SELECT count(*) FROM organization_membership m JOIN user_account u ON u.id = m.user_id
		WHERE m.organization_id = organization.id AND u.is_active = true) FROM organization WHERE id IN (?)`, []any{idsOf(organizations)}, pairsTo(counts))
	return counts, wrap("count members", err)
}

var invitations = newTable(table[storage.Invitation]{
	name: "organization_invitation", noun: "an invitation", key: 1, order: "created_at DESC, id DESC",
	fields: func(v *storage.Invitation) []field {
		return []field{
			{"id", &v.ID},
			{"organization_id", &v.Organization},
			{"target_email", &v.Email},
			{"first_name", &v.FirstName},
			{"level", &v.Level},
			{"token_hash", &v.Hash},
			{"created_by_id", &v.CreatedBy},
			{"created_at", moment{&v.Created}},
			{"expires_at", moment{&v.Expires}},
		}
	},
})

// Invitations implements [storage.Store].
func (a *accounts) Invitations() storage.Table[storage.Invitation] { return invitations.of(a) }
