package sqldb

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/flagstaff-go/flagstaff/management/storage"
)

var featureFlags = newTable(table[storage.Flag]{
	name: "feature_flag", noun: "a flag", key: 2, serial: true, given: true, order: "created_at DESC, id DESC",
	project: func(f *storage.Flag) int64 { return f.Project },
	deleting: func(ctx context.Context, a *accounts, f *storage.Flag) error { // foreign keys do the rest
		_, err := a.FlagVersions().DeleteAll(ctx, storage.FlagProject.Is(f.Project), storage.VersionOf.Is(f.ID))
		return err
	},
	keeps:  "last_called_at", // set by Write, which does not wait for transactions that change flags
	fields: func(f *storage.Flag) []field { return flagFields(f, nil) },
})

func flagFields(f *storage.Flag, version *int64) []field {
	return append([]field{
		{"id", &f.ID},
		{"project_id", &f.Project},
		{"version", &f.Version},
		{"last_called_at", maybeMoment{&f.LastCalled}},
		{"created_by", &f.CreatedBy},
		{"created_at", moment{&f.Created}},
		{"mark", rowVersion{version}},
	}, changeable(f)...)
}

// flagVersions has flags as they were in each version.
var flagVersions = newTable(table[storage.Flag]{
	name: "feature_flag_version", noun: "a version of a flag", key: 3, order: "version DESC",
	fields: func(f *storage.Flag) []field {
		return append([]field{
			{"flag_id", &f.ID},
			{"project_id", &f.Project},
			{"version", &f.Version},
		}, changeable(f)...)
	},
})

// changeable are the fields that versions of one flag differ in.
func changeable(f *storage.Flag) []field {
	return []field{
		{"internal_kind", &f.Kind},
		{"key", &f.Key},
		{"name", &f.Name},
		{"filters", filters{&f.Filters, &f.Key}},
		{"active", &f.Active},
		{"deleted", &f.Deleted},
		{"archived", &f.Archived},
		{"ensure_experience_continuity", &f.Continuity},
		{"evaluation_runtime", &f.Runtime},
		{"bucketing_identifier", &f.Bucketing},
		{"bucketing_hash", &f.BucketingHash},
		{"is_remote_configuration", &f.RemoteConfig},
		{"has_encrypted_payloads", &f.EncryptedPayloads},
		{"has_experiment", &f.HasExperiment},
		{"evaluation_contexts", asJSON[[]string]{&f.Contexts}},
		{"evaluation_contexts_match_mode", &f.ContextMatch},
		{"tags", asJSON[[]string]{&f.Tags}},
		{"reverted_to", &f.RevertedTo},
		{"comment", &f.Comment},
		{"last_modified_by", &f.ModifiedBy},
		{"updated_at", moment{&f.Updated}},
	}
}

// A rowVersion is a number that each write of a row replaces, in the column mark, so that an ID
// and a row version name one content of the row for good: whoever wrote it, and whatever backup the
// database was restored from. A nil one is not read.
type rowVersion struct{ at *int64 }

func (m rowVersion) Scan(v any) error {
	if m.at == nil {
		return nil
	}
	var n sql.NullInt64
	err := n.Scan(v)
	*m.at = n.Int64
	return err
}

func (m rowVersion) Value() (driver.Value, error) { return rand.Int64(), nil }

// Flags implements [storage.Store].
func (a *accounts) Flags() storage.Table[storage.Flag] {
	return flagPort{featureFlags.of(a)}
}

// FlagVersions implements [storage.Store].
func (a *accounts) FlagVersions() storage.Table[storage.Flag] { return flagVersions.of(a) }

type flagPort struct{ port[storage.Flag] }

func (p flagPort) Create(ctx context.Context, list ...*storage.Flag) error {
	if len(list) == 0 {
		return nil
	}
	rows, byKey, given := make([]*storage.Flag, len(list)), make(map[string]*storage.Flag, len(list)), make([]*int64, len(list))
	for i, f := range list {
		row := *f
		row.LastCalled = nil
		rows[i] = &row
		byKey[f.Key], given[i] = rows[i], &rows[i].ID
	}
	err := p.a.alterFlags(ctx, list[0].Project, func(a *accounts) (ids []int64, err error) {
		if err := p.keepIDs(ctx, a, given...); err != nil {
			return nil, err
		}
		slices.SortStableFunc(rows, func(a, b *storage.Flag) int { return cmp.Compare(min(b.ID, 1), min(a.ID, 1)) }) // the others come behind these
		err = p.insertAll(ctx, a, rows, " RETURNING id, key", eachPair(func(id int64, key string) {
			if row := byKey[key]; row != nil {
				row.ID = id
			}
			ids = append(ids, id)
		}))
		if err != nil {
			return nil, err
		}
		columns := "id" + strings.TrimPrefix(flagVersions.columns, "flag_id")
		return ids, flagVersions.setFrom(ctx, a, columns, "FROM feature_flag WHERE project_id = ? AND id IN (?)", list[0].Project, ids)
	})
	if err == nil {
		for _, f := range list {
			f.ID = byKey[f.Key].ID
		}
	}
	return err
}

func (p flagPort) Update(ctx context.Context, list ...*storage.Flag) error {
	if len(list) == 0 {
		return nil
	}
	return p.a.alterFlags(ctx, list[0].Project, func(a *accounts) (ids []int64, err error) {
		for _, f := range list {
			if err := p.update(ctx, a, f); err != nil {
				return nil, err
			}
			ids = append(ids, f.ID)
		}
		return ids, flagVersions.set(ctx, a, list...)
	})
}

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
func (a *accounts) EarlyAccess() storage.Table[storage.EarlyAccessFeature] { return earlyAccess.of(a) }
