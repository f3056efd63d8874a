package sqldb

import (
	"context"

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
			{"created_at", moment{&o.Created}},
			{"updated_at", moment{&o.Updated}},
		}
	},
})

// Organizations implements [storage.Store].
func (a *accounts) Organizations() storage.Table[storage.Organization] {
	return port[storage.Organization]{organizations, a}
}
