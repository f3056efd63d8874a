package memstore

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/management"
)

// Membership implements [management.OrganizationStore].
func (a *accounts) Membership(ctx context.Context, organization uuid.UUID, user int64) (*management.Membership, error) {
	return one(ctx, a.tables().memberships, "membership", isMembership(organization, user))
}

// MembershipsOf implements [management.OrganizationStore].
func (a *accounts) MembershipsOf(ctx context.Context, users []int64) ([]management.Membership, error) {
	return a.listMemberships(ctx, func(m *management.Membership) bool { return slices.Contains(users, m.User) })
}

// Members implements [management.OrganizationStore].
func (a *accounts) Members(ctx context.Context, organization uuid.UUID) ([]management.Membership, error) {
	return a.listMemberships(ctx, func(m *management.Membership) bool { return m.Organization == organization })
}

func (a *accounts) listMemberships(ctx context.Context, selected func(*management.Membership) bool) ([]management.Membership, error) {
	list, err := all(ctx, a.tables().memberships, selected)
	slices.SortStableFunc(list, func(a, b management.Membership) int { return a.Joined.Compare(b.Joined) })
	return list, err
}

// CountMembers implements [management.OrganizationStore].
func (a *accounts) CountMembers(ctx context.Context, organizations []uuid.UUID) (map[uuid.UUID]int, error) {
	t := a.tables()
	list, err := all(ctx, t.memberships, func(m *management.Membership) bool { return slices.Contains(organizations, m.Organization) })
	if err != nil {
		return nil, err
	}
	active := make(map[int64]bool)
	for _, u := range t.users {
		active[u.ID] = u.Active
	}
	count := make(map[uuid.UUID]int)
	for _, m := range list {
		if active[m.User] {
			count[m.Organization]++
		}
	}
	return count, nil
}

// CreateMembership implements [management.OrganizationStore].
func (a *accounts) CreateMembership(ctx context.Context, m *management.Membership) error {
	return a.change(ctx, func(t *tables) error {
		is := isMembership(m.Organization, m.User)
		if t.memberships.has(func(other *management.Membership) bool { return other.ID == m.ID || is(other) }) {
			return taken("membership")
		}
		if !t.organizations.has(isOrganization(m.Organization)) {
			return missing("organization")
		}
		t.memberships.add(*m)
		return t.needUser(m.User)
	})
}

// UpdateMembership implements [management.OrganizationStore].
func (a *accounts) UpdateMembership(ctx context.Context, m *management.Membership) error {
	return a.change(ctx, func(t *tables) error {
		if t.memberships.edit(isMembership(m.Organization, m.User), func(row *management.Membership) { *row = *m }) == 0 {
			return missing("membership")
		}
		return nil
	})
}

// DeleteMembership implements [management.OrganizationStore].
func (a *accounts) DeleteMembership(ctx context.Context, organization uuid.UUID, user int64) error {
	return a.change(ctx, func(t *tables) error {
		if t.memberships.remove(isMembership(organization, user)) == 0 {
			return missing("membership")
		}
		return nil
	})
}

func isMembership(organization uuid.UUID, user int64) func(*management.Membership) bool {
	return func(m *management.Membership) bool { return m.Organization == organization && m.User == user }
}
