package sqldb

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

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
	return a.read(asLongQuery(ctx), statement, args, scan)
}

func (a *accounts) Exec(ctx context.Context, statement string, args ...any) (int64, error) {
	return a.exec(ctx, statement, args...)
}

func (a *accounts) Changed(ctx context.Context, project int64) error {
	return a.alter(ctx, project, func(*accounts) error { return nil })
}
