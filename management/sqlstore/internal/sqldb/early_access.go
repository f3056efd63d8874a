package sqldb

import (
	"context"

	"github.com/flagstaff-go/flagstaff/management/storage"
)

var earlyAccess = newTable(table[storage.EarlyAccessFeature]{
	name: "early_access_feature", noun: "an early access feature", key: 2, order: "created_at DESC, number DESC",
	project: func(f *storage.EarlyAccessFeature) int64 { return f.Project },
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

// EarlyAccess implements [storage.Store].
func (a *accounts) EarlyAccess() storage.Table[storage.EarlyAccessFeature] {
	return earlyAccessPort{port[storage.EarlyAccessFeature]{earlyAccess, a}}
}

type earlyAccessPort struct {
	port[storage.EarlyAccessFeature]
}

func (p earlyAccessPort) Create(ctx context.Context, list ...*storage.EarlyAccessFeature) error {
	return p.write(ctx, list, p.insert)
}

func (p earlyAccessPort) Update(ctx context.Context, list ...*storage.EarlyAccessFeature) error {
	return p.write(ctx, list, p.update)
}

// write stores features of flags, which their project must have.
func (p earlyAccessPort) write(
	ctx context.Context, list []*storage.EarlyAccessFeature, put func(context.Context, *accounts, *storage.EarlyAccessFeature) error,
) error {
	return p.each(ctx, list, func(a *accounts, f *storage.EarlyAccessFeature) error {
		if _, err := a.Flags().Get(ctx, storage.FlagID.Is(f.Flag), storage.FlagProject.Is(f.Project)); err != nil {
			return err
		}
		return put(ctx, a, f)
	})
}
