package sqldb_test

import (
	"context"
	"database/sql"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/pressly/goose/v3"

	"github.com/flagstaff-go/flagstaff/management/sqlstore"
	"github.com/flagstaff-go/flagstaff/management/sqlstore/internal/sqldb"
	"github.com/flagstaff-go/flagstaff/management/sqlstore/postgres"
	"github.com/flagstaff-go/flagstaff/management/sqlstore/postgres/postgrestest"
	"github.com/flagstaff-go/flagstaff/management/sqlstore/sqlite"
)

func TestMain(m *testing.M) { os.Exit(postgrestest.Main(m)) }

// A database is an empty SQLite or PostgreSQL database.
type database struct {
	postgres bool
	url      string
	raw      *sql.DB
}

// skipUnderRace skips a test that stores many events one after the other: the
// race detector makes SQLite ten times slower, and cannot find anything there.
func skipUnderRace(t *testing.T) {
	t.Helper()
	if raceEnabled {
		t.Skip("one goroutine, and much to store")
	}
}

// onEach runs a test on SQLite and on PostgreSQL.
func onEach(t *testing.T, test func(t *testing.T, d *database)) {
	t.Run("SQLite", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "x.db")
		test(t, &database{url: path, raw: openRaw(t, "sqlite", path)})
	})
	t.Run("PostgreSQL", func(t *testing.T) { test(t, newPostgres(t)) })
}

func newPostgres(t *testing.T) *database {
	t.Helper()
	url := postgrestest.Open(t)
	return &database{postgres: true, url: url, raw: openRaw(t, "pgx", url)}
}

func openRaw(t testing.TB, driver, url string) *sql.DB {
	t.Helper()
	raw, err := sql.Open(driver, url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := raw.Close(); err != nil {
			t.Error(err)
		}
	})
	return raw
}

// open opens the database. If it is open already, it is opened as by another
// process.
func (d *database) open(t *testing.T) *sqldb.DB {
	t.Helper()
	openIt := sqlite.Open
	if d.postgres {
		openIt = postgres.Open
	}
	db, err := openIt(t.Context(), d.url, sqlstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return db.(*sqldb.DB)
}

// exec runs statements.
func (d *database) exec(t *testing.T, statements ...string) {
	t.Helper()
	for _, s := range statements {
		if _, err := d.raw.ExecContext(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// count returns the only value of a query.
func (d *database) count(t *testing.T, query string) (n int) {
	t.Helper()
	if err := d.raw.QueryRowContext(t.Context(), query).Scan(&n); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}

// migrate migrates the schema to a version, up or down.
func (d *database) migrate(t *testing.T, version int64) {
	t.Helper()
	dialect, folder := goose.DialectSQLite3, "schema/sqlite"
	if d.postgres {
		dialect, folder = goose.DialectPostgres, "schema/postgres"
	}
	files, err := fs.Sub(sqldb.Schema, folder)
	if err != nil {
		t.Fatal(err)
	}
	provider, err := goose.NewProvider(dialect, d.raw, files, goose.WithGoMigrations(sqldb.GoMigrations(d.postgres)...))
	if err != nil {
		t.Fatal(err)
	}
	move := provider.UpTo
	if now, err := provider.GetDBVersion(t.Context()); err != nil {
		t.Fatal(err)
	} else if now > version {
		move = provider.DownTo
	}
	if _, err := move(context.WithoutCancel(t.Context()), version); err != nil {
		t.Fatalf("schema version %d: %v", version, err)
	}
}
