package sqldb

import (
	"context"
)

// AddUsage implements [storage.Usage].
func (db *DB) AddUsage(ctx context.Context, organization, resource, period string, n int64) (used, limit int64, err error) {
	if n == 0 { // a query only, which needs no transaction
		_, err := db.one(ctx, []any{&used, &limit}, `SELECT
			coalesce((SELECT used FROM usage_counter WHERE organization_id = ? AND resource = ? AND period = ?), 0),
			coalesce((SELECT most FROM usage_limit WHERE organization_id = ? AND resource = ?), -1)`,
			organization, resource, period, organization, resource)
		return used, limit, wrap("read usage", err)
	}
	err = db.atomic(ctx, func(t *tx) error {
		_, err := t.run(ctx, `INSERT INTO usage_counter (organization_id, resource, period, used) VALUES (?, ?, ?, ?)
			ON CONFLICT (organization_id, resource, period) DO UPDATE SET used = usage_counter.used + excluded.used RETURNING used`,
			[]any{organization, resource, period, n}, scanTo(&used))
		if err != nil {
			return err
		}
		limit = -1
		_, err = t.run(ctx, "SELECT most FROM usage_limit WHERE organization_id = ? AND resource = ?", []any{organization, resource},
			scanTo(&limit))
		return err
	})
	return used, limit, wrap("count usage", db.fail(err))
}

// SetQuota implements [storage.Usage].
func (db *DB) SetQuota(ctx context.Context, organization, resource string, limit int64) error {
	err := db.atomic(ctx, func(t *tx) error {
		if limit < 0 {
			_, err := t.exec(ctx, "DELETE FROM usage_limit WHERE organization_id = ? AND resource = ?", organization, resource)
			return err
		}
		_, err := t.exec(ctx, `INSERT INTO usage_limit (organization_id, resource, most) VALUES (?, ?, ?)
			ON CONFLICT (organization_id, resource) DO UPDATE SET most = excluded.most`, organization, resource, limit)
		return err
	})
	return wrap("set a quota", db.fail(err))
}
