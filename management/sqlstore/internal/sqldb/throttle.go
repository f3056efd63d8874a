package sqldb

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/flagstaff-go/flagstaff/management/storage"
)

// Throttle implements [storage.Store]. It fails in Atomic, because
// it would have to wait for the end of the transaction.
func (a *accounts) Throttle(ctx context.Context, bucket string, l storage.Limit, now time.Time) (wait time.Duration, err error) {
	if a.t != nil {
		return 0, errors.New("count an attempt: sqlstore: not within a transaction, which might be undone")
	}
	if err := ctx.Err(); err != nil {
		return 0, fmt.Errorf("count an attempt: %w", a.db.fail(err))
	}
	// An attempt that must wait needs no transaction, which others would wait
	// for.
	var full time.Time
	_, err = a.db.one(ctx, []any{moment{&full}}, "SELECT full_at FROM throttle WHERE bucket = ?", bucket)
	if err != nil {
		return 0, fmt.Errorf("count an attempt: %w", err)
	}
	if _, wait := l.Next(full, now); wait > 0 {
		return wait, nil
	}
	err = a.db.atomic(ctx, func(t *tx) (err error) {
		wait, err = t.throttle(ctx, bucket, l, now)
		return err
	})
	return wait, wrap("count an attempt", a.db.fail(err))
}

func (t *tx) throttle(ctx context.Context, bucket string, l storage.Limit, now time.Time) (time.Duration, error) {
	// This locks the row until the transaction ends, even if it existed.
	var full time.Time
	_, err := t.run(ctx, `INSERT INTO throttle (bucket, full_at) VALUES (?, ?)
		ON CONFLICT (bucket) DO UPDATE SET full_at = throttle.full_at RETURNING full_at`, []any{bucket, now},
		scanTo(moment{&full}))
	if err != nil {
		return 0, err
	}
	next, wait := l.Next(full, now)
	if wait > 0 {
		return wait, nil
	}
	// The time is rounded down, so that no attempt that the limit allows is
	// lost.
	next = next.Truncate(time.Microsecond)
	if _, err := t.exec(ctx, "UPDATE throttle SET full_at = ? WHERE bucket = ?", next, bucket); err != nil {
		return 0, err
	}
	if full.After(now) {
		return 0, nil
	}
	// The row may be new. A few old rows make room for it, except rows that
	// other transactions have locked, which may wait for this one.
	old := "IN (SELECT bucket FROM throttle WHERE full_at < ? ORDER BY full_at LIMIT 10)"
	if t.pg != nil {
		old = "= ANY (ARRAY(SELECT bucket FROM throttle WHERE full_at < ? ORDER BY full_at LIMIT 10 FOR UPDATE SKIP LOCKED))"
	}
	_, err = t.exec(ctx, "DELETE FROM throttle WHERE bucket "+old, now)
	return 0, err
}
