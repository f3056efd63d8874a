package sqldb

import (
	"context"
	"database/sql"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/pressly/goose/v3"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/management/sqlstore"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// extensionMigrations returns the migrations of an extension, and the version of its tables.
func (db *DB) extensionMigrations(ctx context.Context, e *sqlstore.Extension) (*goose.Provider, int64, error) {
	return db.migrationsIn(ctx, e.Migrations, "", e.Name+"_db_version")
}

// startExtensions brings the tables of extensions up to date, and starts them.
func (db *DB) startExtensions(ctx context.Context) error {
	for i := range db.o.Extensions {
		e := &db.o.Extensions[i]
		provider, _, err := db.extensionMigrations(ctx, e)
		if err == nil {
			_, err = provider.Up(ctx)
		}
		if err == nil && e.Start != nil {
			err = db.fail(db.exclusive(ctx, func(t *tx) error { return e.Start(ctx, t.whole()) }))
		}
		if err != nil {
			return fmt.Errorf("sqlstore: bring the tables of %s up to date: %w", e.Name, err)
		}
	}
	return nil
}

// whole returns the transaction for an extension. A statement that fails makes it fail.
func (t *tx) whole() *accounts { return &accounts{db: t.db, t: t, whole: true} }

// extendStored tells the extensions of events that are stored. fresh says which of them are
// new; nil means all.
func (t *tx) extendStored(ctx context.Context, events []capture.Event, fresh []bool) error {
	for i := range t.db.o.Extensions {
		if e := &t.db.o.Extensions[i]; e.Stored != nil {
			if fresh != nil {
				var some []capture.Event
				for i := range events {
					if fresh[i] {
						some = append(some, events[i])
					}
				}
				events, fresh = some, nil
			}
			if err := e.Stored(ctx, t.whole(), events); err != nil {
				return err
			}
		}
	}
	return nil
}

// extendErased tells the extensions of distinct IDs whose events from before a time go, or
// all if it is zero.
func (t *tx) extendErased(ctx context.Context, project int64, distinctIDs []string, before time.Time) error {
	if len(distinctIDs) == 0 {
		return nil
	}
	for i := range t.db.o.Extensions {
		if e := &t.db.o.Extensions[i]; e.Erased != nil {
			if err := e.Erased(ctx, t.whole(), project, distinctIDs, before); err != nil {
				return err
			}
		}
	}
	return nil
}

// Extension implements [storage.Store].
func (a *accounts) Extension(name string) (storage.Tx, error) {
	if !slices.ContainsFunc(a.db.o.Extensions, func(e sqlstore.Extension) bool { return e.Name == name }) {
		return nil, fmt.Errorf("sqlstore: the store was opened without the extension %s", name)
	}
	return a, nil
}

// Postgres implements [storage.Tx], as do the methods below.
func (a *accounts) Postgres() bool { return a.db.d.Postgres }

func (a *accounts) Query(ctx context.Context, statement string, args []any, scan func(*sql.Rows) error) error {
	statement, args, empty := a.db.d.extended(statement, args)
	if empty {
		return nil
	}
	return a.read(asLongQuery(ctx), statement, args, scan)
}

func (a *accounts) Exec(ctx context.Context, statement string, args ...any) (int64, error) {
	statement, args, empty := a.db.d.extended(statement, args)
	if empty {
		return 0, nil
	}
	statement, args, err := a.db.d.among(statement, args)
	if err != nil {
		return 0, err
	}
	return a.exec(ctx, statement, args...)
}

func (a *accounts) Changed(ctx context.Context, project int64) error {
	return a.alter(ctx, project, func(*accounts) error { return nil })
}

// extended returns a statement with its arguments as the database takes them, and whether a
// list is empty, so that the statement is about nothing.
func (d *Dialect) extended(statement string, args []any) (_ string, _ []any, empty bool) {
	args = slices.Clone(args)
	for i, arg := range args {
		switch v := arg.(type) {
		case time.Time:
			args[i] = d.time(v)
		case uuid.UUID:
			args[i] = d.id(v)
		case []string:
			args[i] = slice[string](v)
		case []int64:
			args[i] = slice[int64](v)
		case []uuid.UUID:
			text := (*uuid.UUID).String
			if !d.Postgres { // which has no array of bytes
				text = func(id *uuid.UUID) string { return hex.EncodeToString(id[:]) }
				statement = strings.Replace(statement, "IN (?)", "IN (SELECT unhex(value) FROM json_each(?))", 1)
			}
			args[i] = collect(v, text)
		}
		if l, ok := args[i].(list); ok && l.len() == 0 {
			empty = true
		}
	}
	return statement, args, empty
}
