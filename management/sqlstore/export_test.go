package sqlstore

import (
	"context"
	"maps"
	"slices"
	"sync/atomic"
	"time"
)

// Schema has the migrations, in schema/sqlite and schema/postgres.
var Schema = schema

// MostPurged is how many rows PurgeProjects deletes of a table at once.
const MostPurged = mostPurged

// Queries returns the queries that were made, of SQLite, except in transactions.
func (db *DB) Queries() []string {
	db.mu.Lock()
	defer db.mu.Unlock()
	return slices.Sorted(maps.Keys(db.queries))
}

// NewListener returns a DB that can only Watch, and listens with a function.
func NewListener(listen func(ctx context.Context, channel string, heard func()) error) *DB {
	return &DB{d: Dialect{Postgres: true, Listen: listen, Fault: func(error) Fault { return Unavailable }}}
}

// BeginPurge does the first half of PurgeEvents, and returns the second.
func (db *DB) BeginPurge(ctx context.Context) (end func() (bool, error), err error) {
	s, err := db.currentSearch(ctx)
	if err != nil {
		return nil, err
	}
	found, last, err := db.search(ctx, s)
	return func() (bool, error) { return db.purgeFound(ctx, s, found, last) }, err
}

// A Cache is a cache of strings.
type Cache struct{ c *cache[string, string] }

func NewCache(maxStale time.Duration, entries int, bytes int64) Cache {
	return Cache{newCache[string](Options{MaxStale: maxStale}, entries, bytes, new(atomic.Uint64), func(s string) int { return len(s) })}
}

const Shards = shards

type Reading = reading

func (c Cache) Get(key string) (string, bool)        { return c.c.get(key) }
func (c Cache) Begin() Reading                       { return c.c.begin() }
func (c Cache) Put(key, value string, begun Reading) { c.c.put(key, value, begun) }
func (c Cache) Drop(key string)                      { c.c.drop(key) }

// Size returns how many entries there are, how many bytes they have, and how
// many the cache thinks they have.
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

// After is the end of what begins with a prefix.
func After(prefix string) string { return after(prefix) }

// MostSearched is how many events PurgeEvents looks at.
const MostSearched = mostSearched

// Turns are turns of projects.
type Turns struct{ t turns }

func (t *Turns) Take(ctx context.Context, projects ...int64) (func(), error) {
	return t.t.take(ctx, projects...)
}

// Known returns how many projects somebody has a turn with, or waits for.
func (t *Turns) Known() int {
	t.t.mu.Lock()
	defer t.t.mu.Unlock()
	return len(t.t.projects)
}
