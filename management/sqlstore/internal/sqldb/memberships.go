package sqldb

import (
	"context"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/management/storage"
)

var memberships = newTable(table[storage.Membership]{
	name: "organization_membership", noun: "a membership", key: 2,
	fields: func(d *Dialect, m *storage.Membership) []field {
		return []field{
			{"organization_id", &m.Organization},
			{"user_id", &m.User},
			{"id", &m.ID},
			{"level", &m.Level},
			{"joined_at", stamp{d, &m.Joined}},
			{"updated_at", stamp{d, &m.Updated}},
		}
	},
})

// Membership implements [storage.Organizations], as do the methods
// below.
func (a *accounts) Membership(ctx context.Context, organization uuid.UUID, user int64) (*storage.Membership, error) {
	return memberships.one(ctx, a, "WHERE organization_id = ? AND user_id = ?", organization.String(), user)
}

func (a *accounts) MembershipsOf(ctx context.Context, users []int64) ([]storage.Membership, error) {
	return memberships.list(ctx, a, "WHERE user_id IN (?) ORDER BY joined_at, number", slice[int64](users))
}

func (a *accounts) Members(ctx context.Context, organization uuid.UUID) ([]storage.Membership, error) {
	return memberships.list(ctx, a, "WHERE organization_id = ? ORDER BY joined_at, number", organization.String())
}

func (a *accounts) CountMembers(ctx context.Context, organizations []uuid.UUID) (map[uuid.UUID]int, error) {
	counts := make(map[uuid.UUID]int)
	err := a.read(ctx, `SELECT id, (SELECT count(*) FROM organization_membership m JOIN user_account u ON u.id = m.user_id
		WHERE m.organization_id = organization.id AND u.is_active = true) FROM organization WHERE id IN (?)`, []any{idsOf(organizations)}, pairsTo(counts))
	return counts, wrap("count members", err)
}

func (a *accounts) CreateMembership(ctx context.Context, m *storage.Membership) error {
	return memberships.insert(ctx, a, m)
}

func (a *accounts) UpdateMembership(ctx context.Context, m *storage.Membership) error {
	return memberships.update(ctx, a, m)
}

func (a *accounts) DeleteMembership(ctx context.Context, organization uuid.UUID, user int64) error {
	return memberships.removeOne(ctx, a, "organization_id = ? AND user_id = ?", organization.String(), user)
}
