package sqldb

import (
	"hash/maphash"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/flagstaff-go/flagstaff/capture/persons"
	"github.com/flagstaff-go/flagstaff/management/sqlstore"
)

// caches have the data that /flags reads. A distinct ID leads to a person, and
// a person to the data about it, so that a change of a person concerns a single
// entry, however many distinct IDs the person has.
type caches struct {
	ids    *cache[persons.DistinctID, uuid.UUID] // uuid.Nil if there is no such person
	people *cache[uuid.UUID, []byte]             // properties
	groups *cache[persons.Group, []byte]         // properties; nil if there is no such group
	rows   *cache[uuid.UUID, map[string]string]  // hash keys by flag key
	member *cache[uuid.UUID, []int64]            // cohorts

	hits, misses *atomic.Uint64 // reads that needed no database, and the others
}

func newCaches(o sqlstore.Options) caches {
	var sequence atomic.Uint64
	bytes := func(b []byte) int { return len(b) }
	each := o.CacheEntries / 4
	return caches{
		ids:    newCache[persons.DistinctID](o, each, 0, &sequence, func(uuid.UUID) int { return 0 }),
		people: newCache[uuid.UUID](o, each, o.CacheBytes/2, &sequence, bytes),
		groups: newCache[persons.Group](o, each, o.CacheBytes/4, &sequence, bytes),
		rows:   newCache[uuid.UUID](o, each/2, o.CacheBytes/8, &sequence, func(m map[string]string) int { return 64 * len(m) }),
		member: newCache[uuid.UUID](o, each/2, o.CacheBytes/8, &sequence, func(ids []int64) int { return 8 * len(ids) }),
		hits:   new(atomic.Uint64),
		misses: new(atomic.Uint64),
	}
}

// changed drops the entries that a write has changed.
func (c *caches) changed(w *persons.Changes) {
	for _, m := range w.Merges {
		c.people.drop(m.From)
		for _, id := range []uuid.UUID{m.From, m.Into} {
			c.rows.drop(id)
			c.member.drop(id)
		}
	}
	for _, l := range w.Links {
		c.ids.drop(l.DistinctID)
	}
	for _, p := range w.Persons {
		c.people.drop(p.ID)
	}
	for _, g := range w.Groups {
		c.groups.drop(g.Group)
	}
}

// A cache remembers values for a short time. When a key is dropped, reads that
// had begun before cannot put it back, because they may have seen the old
// value.
type cache[K comparable, V any] struct {
	maxStale time.Duration
	sequence *atomic.Uint64 // counts drops
	seed     maphash.Seed
	size     func(V) int
	shards   [shards]shard[K, V]
}

// shards is the number of parts of a cache, each with its own lock.
const shards = 32

type shard[K comparable, V any] struct {
	mu      sync.Mutex
	entries *simplelru.LRU[K, entry[V]]
	bytes   int64
	most    int64

	// floor is the largest sequence number of a drop that is no longer in
	// entries.
	floor uint64
}

type entry[V any] struct {
	value   V
	expires int64  // nanoseconds of the monotonic clock; 0 if it was dropped
	dropped uint64 // sequence number of the drop
}

// start is the time from which expiries are counted.
var start = time.Now()

// newCache returns a cache for a number of entries and of bytes, which size
// counts. If either number is 0, the cache stays empty.
func newCache[K comparable, V any](o sqlstore.Options, entries int, bytes int64, sequence *atomic.Uint64, size func(V) int) *cache[K, V] {
	c := &cache[K, V]{maxStale: o.MaxStale, sequence: sequence, seed: maphash.MakeSeed(), size: size}
	for i := range c.shards {
		s := &c.shards[i]
		s.most = bytes / shards
		s.entries, _ = simplelru.NewLRU(max(entries/shards, 1), func(_ K, e entry[V]) {
			s.bytes -= int64(size(e.value))
			s.floor = max(s.floor, e.dropped)
		}) // fails only for sizes below 1
	}
	return c
}

func (c *cache[K, V]) shard(key K) *shard[K, V] {
	return &c.shards[maphash.Comparable(c.seed, key)%shards]
}

// get returns the value of a key, if it is known and fresh.
func (c *cache[K, V]) get(key K) (value V, ok bool) {
	s := c.shard(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	e, ok := s.entries.Get(key)
	if !ok || e.expires == 0 || e.expires <= int64(time.Since(start)) {
		return value, false
	}
	return e.value, true
}

// A reading records when a read began.
type reading struct {
	sequence uint64
	since    int64
}

// begin must be called before the database is read.
func (c *cache[K, V]) begin() reading {
	return reading{c.sequence.Load(), int64(time.Since(start))}
}

// put stores the value that a read has found, unless the key was dropped since
// the read began. The key and the value must not be changed afterwards.
func (c *cache[K, V]) put(key K, value V, r reading) {
	s := c.shard(key)
	n := int64(c.size(value))
	if c.maxStale < 0 || n > s.most {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	old, ok := s.entries.Peek(key)
	dropped := old.dropped
	if !ok {
		dropped = s.floor
	}
	if dropped > r.sequence {
		return
	}
	s.set(key, entry[V]{value, r.since + int64(c.maxStale), dropped}, n)
}

// drop removes a key.
func (c *cache[K, V]) drop(key K) {
	s := c.shard(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	var none V
	// The number is taken under the lock, after the write and before its
	// acknowledgement. Reads that began with a smaller number are too old.
	s.set(key, entry[V]{none, 0, c.sequence.Add(1)}, 0)
}

// set replaces an entry and keeps the bounds.
func (s *shard[K, V]) set(key K, e entry[V], n int64) {
	floor := s.floor
	s.entries.Remove(key) // Add would not report the size of the old entry
	s.floor = floor       // the old entry is replaced, not forgotten
	s.entries.Add(key, e)
	s.bytes += n
	for s.bytes > s.most && s.entries.Len() > 1 {
		s.entries.RemoveOldest()
	}
}
