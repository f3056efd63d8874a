package postgres

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/flagstaff-go/flagstaff/management/sqlstore"
	"github.com/flagstaff-go/flagstaff/management/sqlstore/internal/sqldb"
)

// Open opens the database that a connection string names: a URL like
// postgres://user:password@host/database, or key=value pairs as in libpq. The
// database must exist; Open creates its schema. It needs PostgreSQL 13 or
// later, with the default synchronous_commit.
//
// Errors do not quote the connection string, which may have a password.
func Open(ctx context.Context, dsn string, o sqlstore.Options) (sqlstore.Storage, error) {
	config, err := parse(dsn)
	if err != nil {
		return nil, err
	}
	pool := func(n int) *sql.DB {
		db := stdlib.OpenDB(*config)
		db.SetMaxOpenConns(n)
		db.SetMaxIdleConns(n)
		db.SetConnMaxIdleTime(5 * time.Minute)
		return db
	}
	own := sessions{config, patience}
	dialect := sqldb.Dialect{Postgres: true, Fault: fault, Listen: own.listen, Lead: own.lead}
	db, err := sqldb.New(ctx, pool(max(8, 4*runtime.GOMAXPROCS(0))), pool(4), dialect, o)
	if err != nil {
		return nil, fmt.Errorf("postgres: open %s: %w", config.Database, err)
	}
	return db, nil
}

// Inspect looks at the store in a database, in transactions that can only read. It returns
// [sqlstore.ErrNoStore] if there is no store, and [sqlstore.ErrNewer] if a newer release has
// changed it. The extensions are those with which Open would be called.
//
// Errors do not quote the connection string, which may have a password.
func Inspect(ctx context.Context, dsn string, extensions ...sqlstore.Extension) (*sqlstore.State, error) {
	config, err := parse(dsn)
	if err != nil {
		return nil, err
	}
	config.RuntimeParams["default_transaction_read_only"] = "on"
	pool := stdlib.OpenDB(*config)
	pool.SetMaxOpenConns(1)
	state, err := sqldb.Inspect(ctx, pool, sqldb.Dialect{Postgres: true, Fault: fault}, extensions...)
	if err != nil {
		return nil, fmt.Errorf("postgres: look at %s: %w", config.Database, err)
	}
	return state, nil
}

// parse reads a connection string.
func parse(dsn string) (*pgx.ConnConfig, error) {
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		return nil, errors.New("postgres: the connection string cannot be read; want postgres://USER:PASSWORD@HOST:PORT/DATABASE")
	}
	if _, ok := config.RuntimeParams["application_name"]; !ok {
		config.RuntimeParams["application_name"] = "flagstaff"
	}
	config.ConnectTimeout = cmp.Or(config.ConnectTimeout, 10*time.Second)
	return config, nil
}

// fault classifies errors by SQLSTATE.
func fault(err error) sqldb.Fault {
	coded, ok := errors.AsType[interface {
		error
		SQLState() string
	}](err)
	if !ok {
		return sqldb.Unavailable
	}
	switch state := coded.SQLState(); {
	case state == "40001", state == "40P01":
		return sqldb.Retry
	case state == "23505":
		return sqldb.Conflict
	case state == "23503":
		return sqldb.Reference
	case strings.HasPrefix(state, "22"), strings.HasPrefix(state, "23"), strings.HasPrefix(state, "54"):
		return sqldb.BadData
	}
	return sqldb.Unavailable
}
