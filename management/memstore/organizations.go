package memstore

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/management"
)

// Organization implements [management.OrganizationStore].
func (a *accounts) Organization(ctx context.Context, id uuid.UUID) (*management.Organization, error) {
	return one(ctx, a.tables().organizations, "organization", isOrganization(id))
}

// OrganizationsByID implements [management.OrganizationStore].
func (a *accounts) OrganizationsByID(ctx context.Context, ids []uuid.UUID) ([]management.Organization, error) {
	return a.listOrganizations(ctx, func(o *management.Organization) bool { return slices.Contains(ids, o.ID) })
}

// Organizations implements [management.OrganizationStore].
func (a *accounts) Organizations(ctx context.Context) ([]management.Organization, error) {
	return a.listOrganizations(ctx, func(*management.Organization) bool { return true })
}

func (a *accounts) listOrganizations(ctx context.Context, selected func(*management.Organization) bool) ([]management.Organization, error) {
	list, err := all(ctx, a.tables().organizations, selected)
	slices.SortStableFunc(list, func(a, b management.Organization) int { return a.Created.Compare(b.Created) })
	return list, err
}

// CreateOrganization implements [management.OrganizationStore].
func (a *accounts) CreateOrganization(ctx context.Context, o *management.Organization) error {
	return a.change(ctx, func(t *tables) error {
		if t.organizations.has(func(other *management.Organization) bool { return other.ID == o.ID || other.Slug == o.Slug }) {
			return taken("organization with this ID or slug")
		}
		t.organizations.add(*o)
		return nil
	})
}

// UpdateOrganization implements [management.OrganizationStore].
func (a *accounts) UpdateOrganization(ctx context.Context, o *management.Organization) error {
	return a.change(ctx, func(t *tables) error {
		if t.organizations.has(func(other *management.Organization) bool { return other.ID != o.ID && other.Slug == o.Slug }) {
			return taken("organization with this slug")
		}
		if t.organizations.edit(isOrganization(o.ID), func(row *management.Organization) { *row = *o }) == 0 {
			return missing("organization")
		}
		return nil
	})
}

// DeleteOrganization implements [management.OrganizationStore].
func (a *accounts) DeleteOrganization(ctx context.Context, id uuid.UUID) error {
	return a.change(ctx, func(t *tables) error {
		if t.organizations.remove(isOrganization(id)) == 0 {
			return missing("organization")
		}
		t.memberships.remove(func(m *management.Membership) bool { return m.Organization == id })
		t.deleteProjects(func(p *management.Project) bool { return p.Organization == id })
		t.users.edit(
			func(u *management.User) bool { return u.CurrentOrganization != nil && *u.CurrentOrganization == id },
			func(u *management.User) { u.CurrentOrganization = nil },
		)
		return nil
	})
}

func isOrganization(id uuid.UUID) func(*management.Organization) bool {
	return func(o *management.Organization) bool { return o.ID == id }
}
