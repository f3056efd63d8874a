package sqldb

import (
	"context"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/management/storage"
)

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
func (a *accounts) Memberships() storage.Table[storage.Membership] {
	return port[storage.Membership]{memberships, a}
}

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
func (a *accounts) Invitations() storage.Table[storage.Invitation] {
	return port[storage.Invitation]{invitations, a}
}
