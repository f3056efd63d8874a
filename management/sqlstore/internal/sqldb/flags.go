package sqldb

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/flagstaff-go/flagstaff/management/storage"
)

// A flagRow is a flag as it is stored.
type flagRow struct {
	storage.Flag
	rowVersion int64
}

var featureFlags = newTable(table[flagRow]{
	name: "feature_flag", noun: "a flag", key: 2, serial: true, given: true,
	keeps: "last_called_at", // set by Write, which does not wait for transactions that change flags
	fields: func(d *Dialect, f *flagRow) []field {
		return append([]field{
			{"id", &f.ID},
			{"project_id", &f.Project},
			{"version", &f.Version},
			{"last_called_at", maybeStamp{d, &f.LastCalled}},
			{"created_by", &f.CreatedBy},
			{"created_at", stamp{d, &f.Created}},
			{"mark", rowVersion{&f.rowVersion}},
		}, changeable(d, &f.Flag)...)
	},
})

// flagVersions has flags as they were in each version.
var flagVersions = newTable(table[storage.Flag]{
	name: "feature_flag_version", noun: "a version of a flag", key: 3,
	fields: func(d *Dialect, f *storage.Flag) []field {
		return append([]field{
			{"flag_id", &f.ID},
			{"project_id", &f.Project},
			{"version", &f.Version},
		}, changeable(d, f)...)
	},
})

// changeable are the fields that versions of one flag differ in.
func changeable(d *Dialect, f *storage.Flag) []field {
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
		{"evaluation_contexts", jsonList[string]{&f.Contexts}},
		{"evaluation_contexts_match_mode", &f.ContextMatch},
		{"tags", jsonList[string]{&f.Tags}},
		{"reverted_to", &f.RevertedTo},
		{"last_modified_by", &f.ModifiedBy},
		{"updated_at", stamp{d, &f.Updated}},
	}
}

// A rowVersion is a number that each write of a row replaces, in the column mark, so that an ID
// and a row version name one content of the row for good: whoever wrote it, and whatever backup the
// database was restored from.
type rowVersion struct{ at *int64 }

func (m rowVersion) Scan(v any) error {
	var n sql.NullInt64
	err := n.Scan(v)
	*m.at = n.Int64
	return err
}

func (m rowVersion) Value() (driver.Value, error) { return rand.Int64(), nil }

// oneFlag returns the flag that the end of a SELECT selects.
func (a *accounts) oneFlag(ctx context.Context, tail string, args ...any) (*storage.Flag, error) {
	row, err := featureFlags.one(ctx, a, tail, args...)
	if err != nil {
		return nil, err
	}
	return &row.Flag, nil
}

// listFlags returns the flags that the end of a SELECT selects.
func (a *accounts) listFlags(ctx context.Context, tail string, args ...any) ([]storage.Flag, error) {
	rows, err := featureFlags.list(ctx, a, tail, args...)
	return collect(rows, func(r *flagRow) storage.Flag { return r.Flag }), err
}

// Flag implements [storage.Flags], as do the methods below.
func (a *accounts) Flag(ctx context.Context, project, id int64) (*storage.Flag, error) {
	return a.oneFlag(ctx, "WHERE id = ? AND project_id = ?", id, project)
}

func (a *accounts) FlagByKey(ctx context.Context, project int64, key string) (*storage.Flag, error) {
	return a.oneFlag(ctx, "WHERE project_id = ? AND key = ? AND deleted = false", project, key)
}

func (a *accounts) FindFlags(ctx context.Context, project int64, f storage.FlagFilter, limit, offset int) ([]storage.Flag, int, error) {
	where, args := "WHERE project_id = ?", []any{project}
	if f.Active != nil {
		where, args = where+" AND active = ?", append(args, *f.Active)
	}
	if f.Archived != nil {
		where, args = where+" AND archived = ?", append(args, *f.Archived)
	}
	const listed, order = " AND deleted = false AND internal_kind = 0", " ORDER BY created_at DESC, id DESC"
	if f.Key != "" { // few: the flags of one key in several spellings
		list, err := a.listFlags(ctx, where+listed+" AND lower(key) = ?"+order, append(args, strings.ToLower(f.Key))...)
		return page(list, limit, offset), len(list), err
	}
	where += listed
	return paged(ctx, a, "flags", "SELECT count(*) FROM feature_flag "+where, args, offset, func() ([]storage.Flag, error) {
		return a.listFlags(ctx, where+order+" LIMIT ? OFFSET ?", append(args, limit, offset)...)
	})
}

func (a *accounts) FlagVersion(ctx context.Context, project, id int64, version int) (*storage.Flag, error) {
	return flagVersions.one(ctx, a, "WHERE project_id = ? AND flag_id = ? AND version = ?", project, id, version)
}

func (a *accounts) FlagVersions(ctx context.Context, project, id int64, limit, offset int) ([]storage.Flag, int, error) {
	const where = "WHERE project_id = ? AND flag_id = ?"
	args := []any{project, id}
	return paged(ctx, a, "versions of a flag", "SELECT count(*) FROM feature_flag_version "+where, args, offset, func() ([]storage.Flag, error) {
		return flagVersions.list(ctx, a, where+" ORDER BY version DESC LIMIT ? OFFSET ?", append(args, limit, offset)...)
	})
}

func (a *accounts) CreateFlag(ctx context.Context, list ...*storage.Flag) error {
	if len(list) == 0 {
		return nil
	}
	rows, byKey, given := make([]*flagRow, len(list)), make(map[string]*flagRow, len(list)), make([]*int64, len(list))
	for i, f := range list {
		rows[i] = &flagRow{Flag: *f}
		rows[i].LastCalled = nil
		byKey[f.Key], given[i] = rows[i], &rows[i].ID
	}
	err := a.alterFlags(ctx, list[0].Project, func(a *accounts) (ids []int64, err error) {
		if err := featureFlags.keepIDs(ctx, a, given...); err != nil {
			return nil, err
		}
		slices.SortStableFunc(rows, func(a, b *flagRow) int { return cmp.Compare(min(b.ID, 1), min(a.ID, 1)) }) // the others come behind these
		err = featureFlags.insertAll(ctx, a, rows, " RETURNING id, key", eachPair(func(id int64, key string) {
			if row := byKey[key]; row != nil {
				row.ID = id
			}
			ids = append(ids, id)
		}))
		if err != nil {
			return nil, err
		}
		columns := "id" + strings.TrimPrefix(flagVersions.columns, "flag_id")
		return ids, flagVersions.setFrom(ctx, a, columns, "FROM feature_flag WHERE project_id = ? AND id IN (?)", list[0].Project, slice[int64](ids))
	})
	if err == nil {
		for _, f := range list {
			f.ID = byKey[f.Key].ID
		}
	}
	return err
}

func (a *accounts) UpdateFlag(ctx context.Context, list ...*storage.Flag) error {
	if len(list) == 0 {
		return nil
	}
	return a.alterFlags(ctx, list[0].Project, func(a *accounts) (ids []int64, err error) {
		for _, f := range list {
			if err := featureFlags.update(ctx, a, &flagRow{Flag: *f}); err != nil {
				return nil, err
			}
			ids = append(ids, f.ID)
		}
		return ids, flagVersions.set(ctx, a, list...)
	})
}

// DeleteFlag deletes the flag; the foreign keys delete its early access feature
// and remove it from surveys.
func (a *accounts) DeleteFlag(ctx context.Context, project, id int64) error {
	return a.alter(ctx, project, func(a *accounts) error {
		if err := featureFlags.removeOne(ctx, a, "id = ? AND project_id = ?", id, project); err != nil {
			return err
		}
		_, err := flagVersions.remove(ctx, a, "project_id = ? AND flag_id = ?", project, id)
		return err
	})
}

// alterUser is alter for a write of a thing that uses flags with some IDs, which the project
// must have. A nil ID is ignored.
func alterUser[T any](ctx context.Context, a *accounts, project int64, ids []*int64, write func(context.Context, *accounts, *T) error, v *T) error {
	return a.alter(ctx, project, func(a *accounts) error {
		for _, id := range ids {
			if id == nil {
				continue
			}
			n, err := a.count(ctx, "SELECT count(*) FROM feature_flag WHERE id = ? AND project_id = ?", *id, project)
			if err == nil && n == 0 {
				err = storage.ErrNotFound
			}
			if err != nil {
				return fmt.Errorf("read a flag: %w", err)
			}
		}
		return write(ctx, a, v)
	})
}
