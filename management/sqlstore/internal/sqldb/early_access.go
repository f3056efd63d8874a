package sqldb

import (
	"context"

	"github.com/flagstaff-go/flagstaff/management/storage"
)

var earlyAccess = newTable(table[storage.EarlyAccessFeature]{
	name: "early_access_feature", noun: "an early access feature", key: 2, order: "created_at DESC, number DESC",
	project: func(f *storage.EarlyAccessFeature) int64 { return f.Project },
	writing: func(ctx context.Context, a *accounts, f *storage.EarlyAccessFeature) error {
		_, err := a.Flags().Get(ctx, storage.FlagProject.Is(f.Project), storage.FlagID.Is(f.Flag))
		return err
	},
	fields: func(f *storage.EarlyAccessFeature) []field {
		return []field{
			{"id", &f.ID},
			{"project_id", &f.Project},
			{"feature_flag_id", &f.Flag},
			{"name", &f.Name},
			{"description", &f.Description},
			{"stage", &f.Stage},
			{"documentation_url", &f.DocumentationURL},
			{"payload", document{&f.Payload}},
			{"created_at", moment{&f.Created}},
		}
	},
})

// EarlyAccess implements [storage.Store].
func (a *accounts) EarlyAccess() storage.Table[storage.EarlyAccessFeature] {
	return port[storage.EarlyAccessFeature]{earlyAccess, a}
}
