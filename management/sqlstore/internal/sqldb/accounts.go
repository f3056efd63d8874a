package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/flagstaff-go/flagstaff/management/sqlstore"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// accounts is a DB as a [storage.Store], either outside of transactions or
// in one.
type accounts struct {
	db    *DB
	t     *tx  // nil outside of a transaction
	whole bool // a change that fails makes the whole transaction fail

	// grown is the last project whose version has grown, within AtOnce: once is enough
	// for all its changes. Nil elsewhere.
	grown *int64
}

var _ storage.Store = (*accounts)(nil)

// Atomic implements [storage.Store]. Only one goroutine at a time may use
// the Store that f gets. f must not change anything through the DB itself: the
// change would wait for f to end. The data that f reads does not change, except
// the last uses of keys, the last calls of flags, and whether projects have
// events. An Atomic within f may fail alone: its changes are undone, and f
// decides how to go on.
func (a *accounts) Atomic(ctx context.Context, f func(storage.Store) error) error {
	return a.together(ctx, func(a *accounts) error { return f(a) })
}

// AtOnce implements [storage.Store].
func (a *accounts) AtOnce(ctx context.Context, f func(storage.Store) error) error {
	return a.atOnce(ctx, func(a *accounts) error {
		a.grown = new(int64)
		return f(a)
	})
}

// together is Atomic for functions that need the accounts.
func (a *accounts) together(ctx context.Context, f func(*accounts) error) error {
	if a.t != nil {
		if err := a.live(); err != nil {
			return err
		}
		if a.whole {
			return f(a)
		}
		return a.t.savepoint(ctx, func() error { return f(a) })
	}
	var own error // the error of f, which fail must not classify
	ctx, end := a.db.begin(ctx, sqlstore.Change)
	err := a.db.exclusive(ctx, func(t *tx) error {
		defer func() { t.over = true }()
		own = f(&accounts{db: a.db, t: t})
		return own
	})
	if err == nil || own != nil {
		end(nil) // the database has done what it was told
		return err
	}
	end(err)
	return fmt.Errorf("run a transaction: %w", a.db.fail(err))
}

// atOnce is like together for an f that returns the first error. The changes of
// f then need not be undone one by one.
func (a *accounts) atOnce(ctx context.Context, f func(*accounts) error) error {
	return a.together(ctx, func(a *accounts) error { return f(&accounts{db: a.db, t: a.t, whole: true, grown: a.grown}) })
}

// errOver is the error of a Store that is used after its transaction.
var errOver = errors.New("sqlstore: the transaction is over")

func (a *accounts) live() error {
	if a.t != nil && a.t.over {
		return errOver
	}
	return nil
}

// read calls scan for each row of a query.
func (a *accounts) read(ctx context.Context, query string, args []any, scan func(*sql.Rows) error) error {
	if err := ctx.Err(); err != nil {
		return a.db.fail(err)
	}
	if err := a.live(); err != nil {
		return err
	}
	if a.t != nil {
		_, err := a.t.run(ctx, query, args, scan)
		return a.db.fail(err)
	}
	ctx, end := a.db.begin(ctx, sqlstore.Read)
	err := a.db.each(ctx, query, args, scan)
	end(err)
	return a.db.fail(err)
}

// change runs statements that change accounts. Inside of a transaction, the
// transaction goes on if they fail; otherwise they get a transaction of their
// own.
func (a *accounts) change(ctx context.Context, f func(*tx) error) error {
	if a.t == nil {
		ctx, end := a.db.begin(ctx, sqlstore.Change)
		err := a.db.exclusive(ctx, f)
		end(err)
		return a.db.fail(err)
	}
	if err := a.live(); err != nil {
		return err
	}
	if a.whole {
		return a.db.fail(f(a.t))
	}
	return a.db.fail(a.t.savepoint(ctx, func() error { return f(a.t) }))
}

// exec is change for a single statement. It returns the number of changed rows.
func (a *accounts) exec(ctx context.Context, query string, args ...any) (n int64, err error) {
	err = a.change(ctx, func(t *tx) (err error) {
		n, err = t.exec(ctx, query, args...)
		return err
	})
	return n, err
}

// count returns the number that a query selects.
func (a *accounts) count(ctx context.Context, query string, args ...any) (n int, err error) {
	err = a.read(ctx, query, args, scanTo(&n))
	return n, err
}
