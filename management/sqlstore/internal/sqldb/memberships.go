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
	err := a.read(ctx, "SELECT id, member_count FROM organization WHERE id IN (?)", []any{idsOf(organizations)}, pairsTo(counts))
	return counts, wrap("count members", err)
}

func (a *accounts) CreateMembership(ctx context.Context, m *storage.Membership) error {
	return a.atOnce(ctx, func(a *accounts) error {
		if err := memberships.insert(ctx, a, m); err != nil {
			return err
		}
		return a.countMember(ctx, m.Organization, m.User, 1)
	})
}

func (a *accounts) UpdateMembership(ctx context.Context, m *storage.Membership) error {
	return memberships.update(ctx, a, m)
}

func (a *accounts) DeleteMembership(ctx context.Context, organization uuid.UUID, user int64) error {
	return a.atOnce(ctx, func(a *accounts) error {
		if err := memberships.removeOne(ctx, a, "organization_id = ? AND user_id = ?", organization.String(), user); err != nil {
			return err
		}
		return a.countMember(ctx, organization, user, -1)
	})
}

// countMember adds n to the number of members that is stored for an organization, if
// the user is active.
func (a *accounts) countMember(ctx context.Context, organization uuid.UUID, user int64, n int) error {
	_, err := a.exec(ctx, `UPDATE organization SET member_count = member_count + ?
		WHERE id = ? AND EXISTS (SELECT 1 FROM user_account WHERE id = ? AND is_active = true)`, n, organization.String(), user)
	return wrap("count a member", err)
}
