package memstore

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/management"
)

// EarlyAccessFeature implements [management.EarlyAccessStore].
func (a *accounts) EarlyAccessFeature(ctx context.Context, project int64, id uuid.UUID) (*management.EarlyAccessFeature, error) {
	return one(ctx, a.tables().earlyAccess, "early access feature", isEarlyAccess(project, id))
}

// EarlyAccessFeatures implements [management.EarlyAccessStore].
func (a *accounts) EarlyAccessFeatures(ctx context.Context, project int64) ([]management.EarlyAccessFeature, error) {
	list, err := all(ctx, a.tables().earlyAccess, func(f *management.EarlyAccessFeature) bool { return f.Project == project })
	slices.Reverse(list)
	slices.SortStableFunc(list, func(a, b management.EarlyAccessFeature) int { return b.Created.Compare(a.Created) })
	return list, err
}

// CreateEarlyAccessFeature implements [management.EarlyAccessStore].
func (a *accounts) CreateEarlyAccessFeature(ctx context.Context, f *management.EarlyAccessFeature) error {
	return a.change(ctx, func(t *tables) error {
		if t.earlyAccess.has(func(other *management.EarlyAccessFeature) bool { return other.ID == f.ID }) {
			return taken("early access feature with this ID")
		}
		if err := t.admitEarlyAccess(f); err != nil {
			return err
		}
		t.earlyAccess.add(*f)
		t.bump(f.Project)
		return nil
	})
}

// UpdateEarlyAccessFeature implements [management.EarlyAccessStore].
func (a *accounts) UpdateEarlyAccessFeature(ctx context.Context, f *management.EarlyAccessFeature) error {
	return a.change(ctx, func(t *tables) error {
		if err := t.admitEarlyAccess(f); err != nil {
			return err
		}
		if t.earlyAccess.edit(isEarlyAccess(f.Project, f.ID), func(row *management.EarlyAccessFeature) { *row = *f }) == 0 {
			return missing("early access feature")
		}
		t.bump(f.Project)
		return nil
	})
}

// admitEarlyAccess returns an error if a feature cannot be among the others.
func (t *tables) admitEarlyAccess(f *management.EarlyAccessFeature) error {
	switch {
	case t.earlyAccess.has(func(other *management.EarlyAccessFeature) bool { return other.ID != f.ID && other.Flag == f.Flag }):
		return taken("early access feature of this flag")
	case !t.projects.has(isProject(f.Project)):
		return missing("project")
	}
	return t.needFlag(f.Project, &f.Flag)
}

// DeleteEarlyAccessFeature implements [management.EarlyAccessStore].
func (a *accounts) DeleteEarlyAccessFeature(ctx context.Context, project int64, id uuid.UUID) error {
	return a.change(ctx, func(t *tables) error {
		if t.earlyAccess.remove(isEarlyAccess(project, id)) == 0 {
			return missing("early access feature")
		}
		t.bump(project)
		return nil
	})
}

func isEarlyAccess(project int64, id uuid.UUID) func(*management.EarlyAccessFeature) bool {
	return func(f *management.EarlyAccessFeature) bool { return f.Project == project && f.ID == id }
}
