package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"sync"

	lru "github.com/hashicorp/golang-lru/v2"
)

// A tx is a transaction that writes.
type tx struct {
	db     *DB
	pg     *sql.Tx // on PostgreSQL
	over   bool    // it can no longer be used
	bumped bool    // a version has changed, on SQLite
}

// atomic runs f in a transaction that writes. If the transaction lost against
// another one, it is run again.
func (db *DB) atomic(ctx context.Context, f func(*tx) error) error {
	const tries = 5
	for try := 1; ; try++ {
		err := db.try(ctx, f)
		if err == nil || try == tries || db.d.Fault(err) != Retry {
			return err
		}
	}
}

func (db *DB) try(ctx context.Context, f func(*tx) error) error {
	if !db.d.Postgres {
		return db.writer.atomic(ctx, db, f)
	}
	pg, err := db.writing.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer pg.Rollback() // has no effect after a commit
	if err := f(&tx{db: db, pg: pg}); err != nil {
		return err
	}
	return pg.Commit()
}

// lock makes the transaction the only one that writes about a project, until it
// ends. SQLite has only one writer anyway. Several projects must be locked in
// ascending order.
//
// On PostgreSQL, the transaction gets its number here, before it takes IDs for
// events (see [settling]).
func (t *tx) lock(ctx context.Context, project int64) error {
	return t.advisoryLock(ctx, projectLocks, int32(uint32(project)))
}

// The classes keep these advisory locks apart from each other and from locks of
// other programs: "flag", "acct" and "evbl". Package postgres has another class.
const (
	projectLocks = 0x666c6167
	accountLock  = 0x61636374
	blockLock    = 0x6576626c
)

func (t *tx) advisoryLock(ctx context.Context, class, key int32) error {
	if t.pg == nil {
		return nil
	}
	_, err := t.pg.ExecContext(ctx, "SELECT pg_advisory_xact_lock($1, $2), pg_current_xact_id()", class, key)
	return err
}

// exclusive is atomic for a transaction that changes accounts. Only one process
// has such a transaction at a time. Writers of events do not wait for it.
func (db *DB) exclusive(ctx context.Context, f func(*tx) error) error {
	if !db.d.Postgres {
		return db.atomic(ctx, f) // SQLite has only one writer anyway
	}
	// The wait is here, where it takes no connection from writers of events.
	select {
	case db.accountsSlot <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-db.accountsSlot }()
	return db.atomic(ctx, func(t *tx) error {
		if err := t.advisoryLock(ctx, accountLock, 0); err != nil {
			return err
		}
		return f(t)
	})
}

// savepoint runs f. If f fails, its changes are undone and the transaction can
// go on, which PostgreSQL does not allow without a savepoint. Errors of the savepoint itself are what fail makes of them.
func (t *tx) savepoint(ctx context.Context, f func() error) error {
	if _, err := t.exec(ctx, "SAVEPOINT part"); err != nil {
		return t.db.fail(err)
	}
	err := f()
	if err != nil {
		if _, e := t.exec(ctx, "ROLLBACK TO SAVEPOINT part"); e != nil {
			t.over = true // SQLite has ended it, or the connection is lost
			return errors.Join(err, t.db.fail(e))
		}
	}
	if _, e := t.exec(ctx, "RELEASE SAVEPOINT part"); e != nil {
		t.over = true
		return errors.Join(err, t.db.fail(e))
	}
	return err
}

// run executes a statement and returns the number of rows that it changed. If
// scan is not nil, run calls it for each row that the statement returns, and
// counts these rows.
func (t *tx) run(ctx context.Context, query string, args []any, scan func(*sql.Rows) error) (int64, error) {
	query, args, empty := t.db.d.statement(query, args)
	if empty {
		return 0, nil
	}
	return t.runConverted(ctx, query, args, scan)
}

// runConverted is run for what [Dialect.statement] returns.
func (t *tx) runConverted(ctx context.Context, query string, args []any, scan func(*sql.Rows) error) (int64, error) {
	var rows *sql.Rows
	var result sql.Result
	var err error
	switch {
	case t.pg != nil && scan != nil:
		rows, err = t.pg.QueryContext(ctx, query, args...)
	case t.pg != nil:
		result, err = t.pg.ExecContext(ctx, query, args...)
	default:
		var s *sql.Stmt
		if s, err = t.db.writer.prepare(ctx, query); err != nil {
			return 0, err
		}
		if scan != nil {
			rows, err = s.QueryContext(ctx, args...)
		} else {
			result, err = s.ExecContext(ctx, args...)
		}
	}
	if err != nil {
		return 0, err
	}
	if scan == nil {
		return result.RowsAffected()
	}
	return scanAll(rows, scan)
}

// exec is run for statements that return no rows.
func (t *tx) exec(ctx context.Context, query string, args ...any) (int64, error) {
	return t.run(ctx, query, args, nil)
}

// A statement is one that returns no rows, with its arguments.
type statement struct {
	query string
	args  []any
}

// all executes statements until one fails.
func (t *tx) all(ctx context.Context, statements []statement) error {
	for _, s := range statements {
		if _, err := t.exec(ctx, s.query, s.args...); err != nil {
			return err
		}
	}
	return nil
}

const maxStatements = 1000 // that stay prepared

// A writer is the only connection that writes to SQLite, with its prepared
// statements: a few dozen, those that insert in as many sizes as rowsPerStatement allows.
// database/sql alone would prepare each statement again in every transaction.
type writer struct {
	mu       sync.Mutex // held by a transaction
	conn     *sql.Conn
	prepared *lru.Cache[string, *sql.Stmt]
	closed   bool
}

// atomic runs f in a transaction. A transaction that has begun is not
// interrupted: its statements are short, and an interrupted commit has an
// unknown outcome.
func (w *writer) atomic(ctx context.Context, db *DB, f func(*tx) error) (err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	if w.closed { // the pool closes later, and would still return a connection
		return sql.ErrConnDone
	}
	ctx = context.WithoutCancel(ctx)
	if w.conn == nil {
		if w.conn, err = db.writing.Conn(ctx); err != nil {
			return err
		}
		w.prepared, _ = lru.NewWithEvict(maxStatements, func(_ string, s *sql.Stmt) { _ = s.Close() })
	}
	t := &tx{db: db}
	if _, err := t.exec(ctx, "BEGIN IMMEDIATE"); err != nil {
		return errors.Join(err, w.reset())
	}
	done := false
	defer func() {
		if done {
			return
		}
		// This also runs after a panic. A connection that cannot even roll back
		// is no longer usable.
		if _, e := t.exec(ctx, "ROLLBACK"); e != nil {
			err = errors.Join(err, w.reset())
		}
	}()
	if err := f(t); err != nil {
		return err
	}
	if _, err := t.exec(ctx, "COMMIT"); err != nil {
		return err
	}
	done = true
	if t.bumped {
		db.bumps.tell()
	}
	return nil
}

func (w *writer) prepare(ctx context.Context, query string) (*sql.Stmt, error) {
	if s, ok := w.prepared.Get(query); ok {
		return s, nil
	}
	s, err := w.conn.PrepareContext(ctx, query)
	if err == nil {
		w.prepared.Add(query, s)
	}
	return s, err
}

// reset closes the connection; the next transaction opens another one.
func (w *writer) reset() error {
	if w.conn == nil {
		return nil
	}
	w.prepared.Purge()
	err := w.conn.Close()
	w.conn, w.prepared = nil, nil
	return err
}

func (w *writer) close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	return w.reset()
}
