package sqldb

import (
	"context"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/pressly/goose/v3"

	"github.com/flagstaff-go/flagstaff/management/sqlstore"
)

// Schema has the migrations, in schema/sqlite and schema/postgres.
var Schema = schema

// GoMigrations returns the migrations that are not among them.
func GoMigrations(postgres bool) []*goose.Migration {
	return goMigrations(&Dialect{Postgres: postgres})
}

// MostPurged is how many rows of a table PurgeProjects deletes at once.
const MostPurged = maxPurged

// MostRecent is how many events RecentDistinctIDs reads.
const MostRecent = recentPages * recentEvents

// MostExpired is how many events ExpireEvents deletes at once.
const MostExpired = maxExpired

// Queries returns the queries that were made on SQLite outside of transactions.
func (db *DB) Queries() []string {
	db.mu.Lock()
	defer db.mu.Unlock()
	return slices.Sorted(maps.Keys(db.queries))
}

// NewListener returns a DB that can only Watch, and listens with the given
// function.
func NewListener(listen func(ctx context.Context, channel string, heard func()) error) *DB {
	return &DB{d: Dialect{Postgres: true, Listen: listen, Fault: func(error) Fault { return Unavailable }}}
}

// BeginPurge runs the first half of PurgeEvents, and returns the second.
func (db *DB) BeginPurge(ctx context.Context) (end func() (bool, error), err error) {
	s, err := db.currentSearch(ctx)
	if err != nil {
		return nil, err
	}
	found, last, err := db.search(ctx, s)
	return func() (bool, error) { return db.purgeFound(ctx, s, found, last) }, err
}

// Remembers returns the names of the caches that have data about a person.
func (db *DB) Remembers(person uuid.UUID) (names []string) {
	c := &db.caches
	_, people := c.people.get(person)
	_, rows := c.rows.get(person)
	_, member := c.member.get(person)
	for name, has := range map[string]bool{"people": people, "rows": rows, "member": member} {
		if has {
			names = append(names, name)
		}
	}
	for i := range c.ids.shards {
		s := &c.ids.shards[i]
		s.mu.Lock()
		if slices.ContainsFunc(s.entries.Values(), func(e entry[uuid.UUID]) bool { return e.value == person }) {
			names = append(names, "ids")
		}
		s.mu.Unlock()
	}
	slices.Sort(names)
	return names
}

// A Cache is a cache of strings.
type Cache struct{ c *cache[string, string] }

func NewCache(maxStale time.Duration, entries int, bytes int64) Cache {
	return Cache{newCache[string](sqlstore.Options{MaxStale: maxStale}, entries, bytes, new(atomic.Uint64), func(s string) int { return len(s) })}
}

const Shards = shards

type Reading = reading

func (c Cache) Get(key string) (string, bool)        { return c.c.get(key) }
func (c Cache) Begin() Reading                       { return c.c.begin() }
func (c Cache) Put(key, value string, begun Reading) { c.c.put(key, value, begun) }
func (c Cache) Drop(key string)                      { c.c.drop(key) }

// Size returns the number of entries, the number of their bytes, and the number
// of bytes that the cache has counted.
func (c Cache) Size() (entries int, bytes, counted int64) {
	for i := range c.c.shards {
		s := &c.c.shards[i]
		entries += s.entries.Len()
		counted += s.bytes
		for _, e := range s.entries.Values() {
			bytes += int64(len(e.value))
		}
	}
	return entries, bytes, counted
}

// After returns the end of the range of texts that begin with a prefix.
func After(prefix string) string { return after(prefix) }

// MostSearched is how many events a call of PurgeEvents searches.
const MostSearched = maxSearched

// ProjectMutexes are mutexes of projects.
type ProjectMutexes struct{ m *projectMutexes }

func NewProjectMutexes() ProjectMutexes { return ProjectMutexes{newProjectMutexes()} }

func (t ProjectMutexes) Lock(ctx context.Context, projects ...int64) (func(), error) {
	return t.m.lock(ctx, projects...)
}

// Unpack reads the counts of a blob of version 19 of the schema.
func Unpack(b []byte, add func(key string, day int64, value, sdk string, calls int64)) error {
	return unpack(b, add)
}

// ErrUsage says that counts cannot be read.
var ErrUsage = errUsage
