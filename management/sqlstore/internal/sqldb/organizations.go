package sqldb

import (
	"context"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/management/storage"
)

var organizations = newTable(table[storage.Organization]{
	name: "organization", noun: "an organization", key: 1,
	fields: func(d *Dialect, o *storage.Organization) []field {
		return []field{
			{"id", &o.ID},
			{"name", &o.Name},
			{"slug", &o.Slug},
			{"logo_media_id", maybeID{&o.LogoMediaID}},
			{"plugins_access_level", &o.PluginsAccessLevel},
			{"is_member_join_email_enabled", &o.MemberJoinEmail},
			{"enforce_2fa", &o.Enforce2FA},
			{"members_can_invite", &o.MembersCanInvite},
			{"members_can_use_personal_api_keys", &o.MembersCanUseKeys},
			{"allow_publicly_shared_resources", &o.PublicSharing},
			{"is_ai_data_processing_approved", &o.AIProcessingApproved},
			{"default_experiment_stats_method", &o.ExperimentStatsMethod},
			{"default_anonymize_ips", &o.AnonymizeIPs},
			{"default_role_id", maybeID{&o.DefaultRoleID}},
			{"available_product_features", document{&o.AvailableFeatures}},
			{"customer_id", &o.CustomerID},
			{"is_active", &o.Active},
			{"is_not_active_reason", &o.NotActiveReason},
			{"created_at", stamp{d, &o.Created}},
			{"updated_at", stamp{d, &o.Updated}},
		}
	},
})

// Organization implements [storage.Organizations], as do the methods
// below.
func (a *accounts) Organization(ctx context.Context, id uuid.UUID) (*storage.Organization, error) {
	return organizations.one(ctx, a, "WHERE id = ?", id.String())
}

func (a *accounts) OrganizationsByID(ctx context.Context, ids []uuid.UUID) ([]storage.Organization, error) {
	return organizations.list(ctx, a, "WHERE id IN (?) ORDER BY created_at, id", idsOf(ids))
}

func (a *accounts) Organizations(ctx context.Context) ([]storage.Organization, error) {
	return organizations.list(ctx, a, "ORDER BY created_at, id")
}

func (a *accounts) CreateOrganization(ctx context.Context, o *storage.Organization) error {
	return organizations.insert(ctx, a, o)
}

func (a *accounts) UpdateOrganization(ctx context.Context, o *storage.Organization) error {
	return organizations.update(ctx, a, o)
}

func (a *accounts) DeleteOrganization(ctx context.Context, id uuid.UUID) error {
	return a.together(ctx, func(a *accounts) error {
		if _, err := a.deleteProjects(ctx, "organization_id = ?", id.String()); err != nil {
			return err
		}
		return organizations.removeOne(ctx, a, "id = ?", id.String())
	})
}
