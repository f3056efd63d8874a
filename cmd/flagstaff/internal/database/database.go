package database

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/flagstaff-go/flagstaff/management/sqlstore"
	"github.com/flagstaff-go/flagstaff/management/sqlstore/postgres"
	"github.com/flagstaff-go/flagstaff/management/sqlstore/sqlite"
	"github.com/flagstaff-go/flagstaff/surveys"
)

// Default is the store if nothing names one.
const Default = "flagstaff.db"

// Open opens a store with its surveys. [Check] has accepted its name.
func Open(ctx context.Context, store string, o sqlstore.Options) (sqlstore.Storage, error) {
	o.Extensions = []sqlstore.Extension{surveys.Extension()}
	if IsPostgres(store) {
		return postgres.Open(ctx, store, o)
	}
	return sqlite.Open(ctx, store, o)
}

// Inspect looks at a store without changing it. [Check] has accepted its name, and it is not
// in memory.
func Inspect(ctx context.Context, store string) (*sqlstore.State, error) {
	if IsPostgres(store) {
		return postgres.Inspect(ctx, store, surveys.Extension())
	}
	return sqlite.Inspect(ctx, store, surveys.Extension())
}

// IsPostgres reports whether a store is in PostgreSQL.
func IsPostgres(store string) bool {
	return strings.HasPrefix(store, "postgres://") || strings.HasPrefix(store, "postgresql://")
}

// Check refuses what looks like a database that the program does not know:
// taken for a file, it would be a strange one. The error does not quote what may be
// a password.
func Check(store string) error {
	const want = `want an SQLite file, ":memory:", or postgres://USER:PASSWORD@HOST/DATABASE`
	if IsPostgres(store) || store == sqlite.Memory {
		return nil
	}
	scheme, rest, _ := strings.Cut(store, ":")
	switch scheme = strings.ToLower(scheme); scheme {
	case "sqlite", "sqlite3", "file":
		path, _, _ := strings.Cut(strings.TrimPrefix(rest, "//"), "?")
		if path == "" || strings.Contains(path, "@") {
			return fmt.Errorf("invalid value for flag -store: an SQLite file is named by its path alone, such as -store %s", Default)
		}
		return fmt.Errorf("invalid value for flag -store: an SQLite file is named by its path alone: -store %s", path)
	case "postgres", "postgresql", "pgx", "pg":
		return errors.New("invalid value for flag -store: PostgreSQL is named by a URL: -store postgres://USER:PASSWORD@HOST/DATABASE")
	}
	switch {
	case strings.HasPrefix(rest, "//"):
		return fmt.Errorf("invalid value for flag -store: there are no stores of the kind %q; %s", scheme, want)
	case strings.Contains(store, "dbname=") || strings.Contains(store, "host="):
		return errors.New("invalid value for flag -store: PostgreSQL is named by a URL, not by words with =: -store postgres://USER:PASSWORD@HOST/DATABASE")
	case strings.Contains(store, "@tcp("):
		return errors.New("invalid value for flag -store: there are no stores in MySQL; " + want)
	}
	return nil
}

// Name returns the name of a store without secrets.
func Name(store string) string {
	switch {
	case store == sqlite.Memory:
		return "memory"
	case !IsPostgres(store):
		return store
	}
	u, err := url.Parse(store)
	if err != nil {
		return "PostgreSQL"
	}
	return "PostgreSQL at " + cmp.Or(u.Host, "a local socket") + u.Path
}
