package sqldb

import (
	"cmp"
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"

	"github.com/flagstaff-go/flagstaff/management/sqlstore"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

func withDefaults(o sqlstore.Options) sqlstore.Options {
	o.MaxStale = cmp.Or(o.MaxStale, time.Second)
	o.CacheEntries = cmp.Or(o.CacheEntries, 1<<16)
	o.CacheBytes = cmp.Or(o.CacheBytes, 64<<20)
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	return o
}

// A DB is a store in an SQL database. It is safe for concurrent use.
type DB struct {
	accounts // outside of transactions

	reading, writing *sql.DB
	d                Dialect
	o                sqlstore.Options
	caches           caches
	flags            *flagCache

	writer       writer        // for SQLite
	accountsSlot chan struct{} // for PostgreSQL; full while a transaction changes accounts
	leaders      sync.Map      // names that calls of this process hold

	flagCalls *flagCalls
	usage     *knownUsage

	bumps bumps // for SQLite

	polling sync.Mutex // held while the poller is used
	poller  *sql.Conn  // see dataVersion

	mutexes  *projectMutexes
	ingested sync.Map // projects that are known to have events

	repeated, tooOld atomic.Uint64 // events that were not stored

	indexing sync.Mutex // held by indexEvents
	settling settling   // for PostgreSQL

	// mu is held while a statement is prepared, which may have to wait for a
	// transaction that writes. Such a transaction must not wait for mu.
	mu      sync.Mutex
	queries map[string]*sql.Stmt // prepared statements of SQLite
}

var _ sqlstore.Storage = (*DB)(nil)

//go:embed schema/*/*.sql
var schema embed.FS

// newDB returns a DB whose schema nobody has looked at.
func newDB(reading, writing *sql.DB, d Dialect, o sqlstore.Options) *DB {
	db := &DB{
		reading: reading, writing: writing, d: d, o: withDefaults(o),
		queries: make(map[string]*sql.Stmt), accountsSlot: make(chan struct{}, 1), mutexes: newProjectMutexes(),
	}
	db.accounts.db = db
	db.caches = newCaches(db.o)
	db.flags = newFlagCache()
	db.flagCalls, _ = lru.New[flagName, time.Time](maxFlagCalls) // fails only for sizes below 1
	db.usage, _ = lru.New[usageOf, usageOf](maxKnownUsage)
	return db
}

// Inspect looks at a database through a connection pool, which need not be able to write, and
// closes it. It returns [sqlstore.ErrNoStore] if there is no store, and [sqlstore.ErrNewer]
// if a newer release has changed it.
func Inspect(ctx context.Context, pool *sql.DB, d Dialect, extensions ...sqlstore.Extension) (_ *sqlstore.State, err error) {
	db := newDB(pool, pool, d, sqlstore.Options{MustExist: true, Extensions: extensions})
	defer func() { err = errors.Join(err, db.Close()) }()
	provider, version, err := db.migrations(ctx)
	if err != nil {
		return nil, err
	}
	pending := pendingOf(provider, version)
	for i := range extensions {
		e := &extensions[i]
		provider, version, err := db.extensionMigrations(ctx, e)
		if err != nil {
			return nil, err
		}
		for _, name := range pendingOf(provider, version) {
			pending = append(pending, e.Name+"/"+name)
		}
	}
	state := &sqlstore.State{Version: version, Pending: pending}
	err = db.read(ctx, "SELECT api_token FROM project ORDER BY id", nil, appendTo(&state.ProjectKeys))
	if err != nil {
		return nil, fmt.Errorf("sqlstore: look for projects: %w", err)
	}
	if state.Secrets, err = db.Sealed(ctx); err != nil && len(pending) == 0 {
		return nil, err
	}
	return state, nil
}

// pendingOf returns the names of the migrations that come after a version.
func pendingOf(provider *goose.Provider, version int64) (names []string) {
	for _, source := range provider.ListSources() {
		if source.Version > version {
			name := path.Base(source.Path)
			names = append(names, strings.TrimSuffix(name, path.Ext(name)))
		}
	}
	return names
}

// New returns a DB over two connection pools of one database, and migrates its
// schema. One pool only reads, the other one may write, and both enforce
// foreign keys. The DB closes the pools, also if New fails.
func New(ctx context.Context, reading, writing *sql.DB, d Dialect, o sqlstore.Options) (*DB, error) {
	db := newDB(reading, writing, d, o)
	switch err := db.migrate(ctx); {
	case errors.Is(err, sqlstore.ErrNewer), errors.Is(err, sqlstore.ErrNoStore):
		return nil, errors.Join(err, db.Close())
	case err != nil:
		return nil, errors.Join(fmt.Errorf("sqlstore: bring the schema up to date: %w", err), db.Close())
	}
	if err := db.startExtensions(ctx); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// migrate brings the schema up to date.
func (db *DB) migrate(ctx context.Context) error {
	provider, version, err := db.migrations(ctx)
	if err != nil {
		return err
	}
	results, err := provider.Up(ctx)
	if version == 0 && err == nil && len(results) > 0 {
		db.o.Log.InfoContext(ctx, "schema created", "version", results[len(results)-1].Source.Version)
		return nil
	}
	for _, r := range results {
		db.o.Log.InfoContext(ctx, "schema changed", "migration", r.Source.Version, "duration", r.Duration)
	}
	return err
}

// migrations returns all migrations of the store itself, and the version of the schema as it
// is. It changes nothing.
func (db *DB) migrations(ctx context.Context) (_ *goose.Provider, version int64, err error) {
	provider, version, err := db.migrationsIn(ctx, schema, "schema/", goose.DefaultTablename, goose.WithGoMigrations(goMigrations(&db.d)...))
	if err == nil && version == 0 && db.o.MustExist {
		err = sqlstore.ErrNoStore
	}
	return provider, version, err
}

// migrationsIn returns the migrations in the folders sqlite and postgres below a prefix, and
// the version that a table keeps of them.
func (db *DB) migrationsIn(ctx context.Context, files fs.FS, prefix, table string, options ...goose.ProviderOption) (_ *goose.Provider, version int64, err error) {
	dialect, folder := goose.DialectSQLite3, "sqlite"
	if db.d.Postgres {
		dialect, folder = goose.DialectPostgres, "postgres"
		// Several processes may start on one database at once. All but the
		// first check each second, for up to five minutes, whether the schema
		// is ready.
		locker, err := lock.NewPostgresSessionLocker(lock.WithLockTimeout(1, 300))
		if err != nil {
			return nil, 0, err
		}
		options = append(options, goose.WithSessionLocker(locker))
	}
	if files, err = fs.Sub(files, prefix+folder); err != nil {
		return nil, 0, err
	}
	provider, err := goose.NewProvider(dialect, db.writing, files, append(options, goose.WithTableName(table))...)
	if err != nil {
		return nil, 0, err
	}
	version, err = db.schemaVersion(ctx, table)
	if err != nil {
		return nil, 0, err
	}
	sources := provider.ListSources()
	if newest := sources[len(sources)-1].Version; version > newest {
		subject := table
		if table == goose.DefaultTablename {
			subject = "it"
		}
		return nil, 0, fmt.Errorf("%w: %s has version %d, and this program knows versions up to %d; use the release that has changed it, or a newer one", sqlstore.ErrNewer, subject, version, newest)
	}
	return provider, version, nil
}

// schemaVersion returns the version that a table keeps, 0 if there is none. goose would
// make the table to tell.
func (db *DB) schemaVersion(ctx context.Context, table string) (version int64, err error) {
	exists := "SELECT count(*) FROM sqlite_master WHERE name = '" + table + "'"
	if db.d.Postgres {
		exists = "SELECT count(to_regclass('" + table + "'))"
	}
	var tables int
	if err := db.writing.QueryRowContext(ctx, exists).Scan(&tables); err != nil || tables == 0 {
		return 0, err
	}
	err = db.writing.QueryRowContext(ctx, "SELECT coalesce(max(version_id), 0) FROM "+table).Scan(&version)
	return version, err
}

// Close closes the database. It waits for running calls, except Watch and Lead,
// whose contexts must end before.
func (db *DB) Close() error {
	errs := []error{db.writer.close()}
	db.polling.Lock()
	if db.poller != nil {
		errs = append(errs, db.poller.Close())
	}
	db.polling.Unlock()
	db.mu.Lock()
	defer db.mu.Unlock()
	for query, s := range db.queries {
		errs = append(errs, s.Close())
		delete(db.queries, query)
	}
	if db.reading != db.writing {
		errs = append(errs, db.reading.Close())
	}
	return errors.Join(append(errs, db.writing.Close())...)
}

// Ready returns an error if the database does not answer.
func (db *DB) Ready(ctx context.Context) error {
	var one int
	return db.fail(db.reading.QueryRowContext(ctx, "SELECT 1").Scan(&one))
}

// query returns the rows of a query that changes nothing.
func (db *DB) query(ctx context.Context, query string, args []any) (*sql.Rows, error) {
	if db.d.Postgres {
		return db.reading.QueryContext(ctx, query, args...)
	}
	s, err := db.prepare(ctx, query)
	if err != nil {
		return nil, err
	}
	if ctx.Value(longQuery{}) != nil {
		rows, err := s.QueryContext(ctx, args...)
		if ended := ctx.Err(); err != nil && ended != nil {
			err = ended // the driver says that the query was interrupted
		}
		return rows, err
	}
	// These queries take microseconds, less than it takes to watch ctx.
	return s.QueryContext(context.WithoutCancel(ctx), args...)
}

// A longQuery is a mark of contexts: their queries may take seconds until the first row, and
// end when the context does.
type longQuery struct{}

func asLongQuery(ctx context.Context) context.Context {
	return context.WithValue(ctx, longQuery{}, true)
}

// wrap adds a description to an error, unless it is nil.
func wrap(what string, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// scanTo returns a function that reads the columns of a row, the last one if there are several.
func scanTo(dest ...any) func(*sql.Rows) error {
	return func(r *sql.Rows) error { return r.Scan(dest...) }
}

// appendTo returns a function that appends the only column of each row to a list.
func appendTo[T any](list *[]T) func(*sql.Rows) error {
	return eachValue(func(v T) { *list = append(*list, v) })
}

// rowsTo returns a function that appends each row to a list. Columns returns the places of its
// columns.
func rowsTo[T any](list *[]T, columns func(*T) []any) func(*sql.Rows) error {
	return func(r *sql.Rows) error {
		var row T
		err := r.Scan(columns(&row)...)
		*list = append(*list, row)
		return err
	}
}

// paged returns the rows of a page and the number of all rows, which a query counts. The page is
// read unless it begins after the last row.
func paged[T any](ctx context.Context, a *accounts, what, count string, args []any, offset int, read func() ([]T, error)) (list []T, total int, err error) {
	if total, err = a.count(ctx, count, args...); err != nil {
		return nil, 0, fmt.Errorf("count %s: %w", what, err)
	}
	if offset < total {
		list, err = read()
	}
	return list, total, err
}

// first returns the first row of those that were read.
func first[T any](list []T, err error) (*T, error) {
	if err == nil && len(list) == 0 {
		err = storage.ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	return &list[0], nil
}

// eachValue returns a function that calls f with the only column of each row.
func eachValue[T any](f func(T)) func(*sql.Rows) error {
	return func(r *sql.Rows) error {
		var v T
		if err := r.Scan(&v); err != nil {
			return err
		}
		f(v)
		return nil
	}
}

// eachPair returns a function that calls f with the two columns of each row.
func eachPair[A, B any](f func(A, B)) func(*sql.Rows) error {
	return func(r *sql.Rows) error {
		var a A
		var b B
		if err := r.Scan(&a, &b); err != nil {
			return err
		}
		f(a, b)
		return nil
	}
}

// pairsTo returns a function that adds each row to a map, by its first column.
func pairsTo[K comparable, V any](m map[K]V) func(*sql.Rows) error {
	return eachPair(func(key K, value V) { m[key] = value })
}

// each calls scan for each row of a query that changes nothing.
func (db *DB) each(ctx context.Context, query string, args []any, scan func(*sql.Rows) error) error {
	query, args, empty := db.d.statement(query, args)
	if empty {
		return nil
	}
	rows, err := db.query(ctx, query, args)
	if err == nil {
		_, err = scanAll(rows, scan)
	}
	return err
}

// scanAll calls scan for each row, and returns how many there were.
func scanAll(rows *sql.Rows, scan func(*sql.Rows) error) (n int64, err error) {
	defer rows.Close()
	for rows.Next() {
		n++
		if err := scan(rows); err != nil {
			return n, err
		}
	}
	return n, rows.Err()
}

func (db *DB) prepare(ctx context.Context, query string) (*sql.Stmt, error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	s := db.queries[query]
	if s == nil {
		var err error
		if s, err = db.reading.PrepareContext(context.WithoutCancel(ctx), query); err != nil {
			return nil, err
		}
		db.queries[query] = s
	}
	return s, nil
}

// begin tells Options.OnOperation that an operation begins. The caller goes on with the
// context, and calls end with the outcome.
func (db *DB) begin(ctx context.Context, o sqlstore.Operation) (_ context.Context, end func(error)) {
	if db.o.OnOperation != nil {
		if ctx, end = db.o.OnOperation(ctx, o); end != nil {
			return ctx, end
		}
	}
	return ctx, func(error) {}
}
