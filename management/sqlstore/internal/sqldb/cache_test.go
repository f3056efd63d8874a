package sqldb_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flagstaff-go/flagstaff/management/sqlstore/internal/sqldb"
)

func TestCacheExpiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := sqldb.NewCache(time.Second, 1000, 1<<20)
		r := c.Begin()
		time.Sleep(400 * time.Millisecond) // as if the database were slow
		c.Put("k", "v", r)
		time.Sleep(600*time.Millisecond - time.Nanosecond)
		if got, ok := c.Get("k"); got != "v" || !ok {
			t.Errorf("Get just before the end = %q, %v; want v, true", got, ok)
		}
		time.Sleep(time.Nanosecond)
		if got, ok := c.Get("k"); ok {
			t.Errorf("Get a second after the read began = %q, want nothing", got)
		}
		c.Put("k", "w", c.Begin())
		if got, ok := c.Get("k"); got != "w" || !ok {
			t.Errorf("Get after another Put = %q, %v; want w, true", got, ok)
		}
	})
}

func TestCacheOff(t *testing.T) {
	c := sqldb.NewCache(-1, 1000, 1<<20)
	c.Put("k", "v", c.Begin())
	if _, ok := c.Get("k"); ok {
		t.Error("with a negative MaxStale something is cached")
	}
}

// TestCacheDrop checks that a read that was running while a key was dropped
// does not put the old value back, even if the tombstone is evicted.
func TestCacheDrop(t *testing.T) {
	for _, tt := range []struct {
		name      string
		meanwhile func(c sqldb.Cache)
		want      bool
	}{
		{"nothing happens", func(sqldb.Cache) {}, true},
		{"another key is dropped", func(c sqldb.Cache) { c.Drop("other") }, true},
		{"dropped", func(c sqldb.Cache) { c.Drop("k") }, false},
		{"dropped, and read again", func(c sqldb.Cache) {
			c.Drop("k")
			c.Put("k", "new", c.Begin())
		}, false},
		{"dropped, and evicted by reads", func(c sqldb.Cache) {
			c.Drop("k")
			fill(c)
		}, false},
		{"dropped, and evicted by drops", func(c sqldb.Cache) {
			c.Drop("k")
			for i := range 100 * sqldb.Shards {
				c.Drop(fmt.Sprint(i))
			}
		}, false},
		{"dropped, evicted, and read again", func(c sqldb.Cache) {
			c.Drop("k")
			fill(c)
			c.Put("k", "new", c.Begin())
		}, false},
		{"dropped, read again, and evicted", func(c sqldb.Cache) {
			c.Drop("k")
			c.Put("k", "new", c.Begin())
			fill(c)
		}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := sqldb.NewCache(time.Hour, 4*sqldb.Shards, 1<<20)
			c.Put("k", "older", c.Begin())
			r := c.Begin()
			tt.meanwhile(c)
			c.Put("k", "old", r)
			if got, _ := c.Get("k"); (got == "old") != tt.want {
				t.Errorf("Get = %q; was put: want %v", got, tt.want)
			}
			c.Put("k", "newest", c.Begin())
			if got, ok := c.Get("k"); got != "newest" || !ok {
				t.Errorf("Get after a later read = %q, %v; want newest, true", got, ok)
			}
		})
	}
}

// fill evicts all other entries.
func fill(c sqldb.Cache) {
	for i := range 100 * sqldb.Shards {
		c.Put(fmt.Sprint(i), "x", c.Begin())
	}
}

// TestCacheBounds makes random calls to a cache and compares its answers with a
// model.
func TestCacheBounds(t *testing.T) {
	const (
		entries = 8 * sqldb.Shards
		most    = 1000 * sqldb.Shards
	)
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 0))
	c := sqldb.NewCache(time.Hour, entries, most)
	version := make(map[string]int) // of the database
	type under struct {
		key, value string
		r          sqldb.Reading
	}
	var reads []under
	hits := 0
	for step := range 50_000 {
		key := fmt.Sprint(int(rng.ExpFloat64() * 200))
		switch rng.IntN(8) {
		case 0:
			version[key]++
			c.Drop(key)
		case 1, 2, 3:
			value := fmt.Sprint(version[key], ":") + strings.Repeat("x", int(rng.ExpFloat64()*200))
			reads = append(reads, under{key, value, c.Begin()})
		case 4, 5, 6:
			if len(reads) > 0 {
				i := rng.IntN(len(reads))
				c.Put(reads[i].key, reads[i].value, reads[i].r)
				reads[i] = reads[len(reads)-1]
				reads = reads[:len(reads)-1]
			}
		case 7:
			if got, ok := c.Get(key); ok {
				hits++
				if !strings.HasPrefix(got, fmt.Sprint(version[key], ":")) {
					t.Fatalf("seed %d, step %d: Get(%s) = %.10s, want version %d", seed, step, key, got, version[key])
				}
			}
		}
		if n, bytes, counted := c.Size(); n > entries || bytes > most || bytes != counted {
			t.Fatalf("seed %d, step %d: %d entries, %d bytes, counted as %d; want at most %d, %d", seed, step, n, bytes, counted, entries, most)
		}
	}
	if hits < 500 {
		t.Errorf("seed %d: %d hits, want some more", seed, hits)
	}
	c.Put("large", strings.Repeat("x", most/sqldb.Shards+1), c.Begin())
	if _, ok := c.Get("large"); ok {
		t.Error("a value that is larger than its part of the cache is in it")
	}
}

// TestCacheConcurrently lets many goroutines use few keys.
func TestCacheConcurrently(t *testing.T) {
	c := sqldb.NewCache(time.Hour, 2*sqldb.Shards, 1<<20)
	var mu sync.Mutex
	database := make(map[string]int)
	read := func(key string) int {
		mu.Lock()
		defer mu.Unlock()
		return database[key]
	}
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(g), 0))
			for range 5000 {
				key := fmt.Sprint(rng.IntN(200))
				if rng.IntN(4) == 0 {
					mu.Lock()
					database[key]++
					mu.Unlock()
					c.Drop(key)
					continue
				}
				least := 0 // writes that were acknowledged before must be visible
				if rng.IntN(2) == 0 {
					mu.Lock()
					database[key]++
					least = database[key]
					mu.Unlock()
					c.Drop(key)
				}
				got, ok := c.Get(key)
				if !ok {
					r := c.Begin()
					got = fmt.Sprint(read(key))
					c.Put(key, got, r)
				}
				var n int
				if _, err := fmt.Sscan(got, &n); err != nil || n < least {
					t.Errorf("Get(%s) = %q after %d was written", key, got, least)
					return
				}
			}
		})
	}
	wg.Wait()
}
