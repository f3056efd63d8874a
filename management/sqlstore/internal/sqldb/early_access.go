package sqldb

import (
	"context"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/management/storage"
)

var earlyAccess = newTable(table[storage.EarlyAccessFeature]{
	name: "early_access_feature", noun: "an early access feature", key: 2,
	fields: func(d *Dialect, f *storage.EarlyAccessFeature) []field {
		return []field{
			{"id", &f.ID},
			{"project_id", &f.Project},
			{"feature_flag_id", &f.Flag},
			{"name", &f.Name},
			{"description", &f.Description},
			{"stage", &f.Stage},
			{"documentation_url", &f.DocumentationURL},
			{"payload", document{&f.Payload}},
			{"created_at", stamp{d, &f.Created}},
		}
	},
})

// EarlyAccessFeature implements [storage.EarlyAccess], as do the
// methods below.
func (a *accounts) EarlyAccessFeature(ctx context.Context, project int64, id uuid.UUID) (*storage.EarlyAccessFeature, error) {
	return earlyAccess.one(ctx, a, "WHERE id = ? AND project_id = ?", id.String(), project)
}

func (a *accounts) EarlyAccessFeatures(ctx context.Context, project int64) ([]storage.EarlyAccessFeature, error) {
	return earlyAccess.list(ctx, a, "WHERE project_id = ? ORDER BY created_at DESC, number DESC", project)
}

func (a *accounts) CreateEarlyAccessFeature(ctx context.Context, f *storage.EarlyAccessFeature) error {
	return alterUser(ctx, a, f.Project, []*int64{&f.Flag}, earlyAccess.insert, f)
}

func (a *accounts) UpdateEarlyAccessFeature(ctx context.Context, f *storage.EarlyAccessFeature) error {
	return alterUser(ctx, a, f.Project, []*int64{&f.Flag}, earlyAccess.update, f)
}

func (a *accounts) DeleteEarlyAccessFeature(ctx context.Context, project int64, id uuid.UUID) error {
	return a.alter(ctx, project, func(a *accounts) error {
		return earlyAccess.removeOne(ctx, a, "id = ? AND project_id = ?", id.String(), project)
	})
}
