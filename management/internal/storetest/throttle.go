package storetest

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flagstaff-go/flagstaff/management/sqlstore"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

func testThrottle(t *testing.T, s *suite) {
	ctx := t.Context()
	limit := storage.Limit{N: 5, Per: time.Minute}
	attempt := func(store storage.Store, bucket string, after, want time.Duration) {
		t.Helper()
		if got, err := store.Throttle(ctx, bucket, limit, s.now.Add(after)); got != want || err != nil {
			t.Errorf("after %v Throttle(%q) = %v, %v; want %v", after, bucket, got, err, want)
		}
	}
	other := s.another(t)
	attempt(s, "a", 0, 0)
	attempt(other, "a", 0, 0)
	attempt(s, "a", time.Second, 0)
	attempt(other, "a", time.Second, 0)
	attempt(s, "a", 2*time.Second, 0)
	attempt(other, "a", 2*time.Second, 10*time.Second)
	attempt(s, "a", 2*time.Second, 10*time.Second) // what is refused does not count
	attempt(s, "b é", 2*time.Second, 0)            // another bucket
	attempt(s, "", 2*time.Second, 0)
	attempt(s, "a", 12*time.Second-time.Microsecond, time.Microsecond)
	attempt(s, "a", 12*time.Second, 0)
	attempt(other, "a", 12*time.Second, 12*time.Second)
	attempt(s, "a", 36*time.Second, 0) // two came back
	attempt(s, "a", 36*time.Second, 0)
	attempt(s, "a", 36*time.Second, 12*time.Second)
	for range limit.N { // all came back, and no more
		attempt(s, "a", time.Hour, 0)
	}
	attempt(other, "a", time.Hour, 12*time.Second)

	var allowed atomic.Int32
	stores := []sqlstore.Storage{s.Storage, s.another(t)}
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			wait, err := stores[i%2].Throttle(ctx, "crowd", limit, s.now)
			if err != nil {
				t.Errorf("Throttle: %v", err)
			}
			if wait <= 0 {
				allowed.Add(1)
			}
		})
	}
	wg.Wait()
	if n := allowed.Load(); n != 5 {
		t.Errorf("%d of 20 at once are allowed, want 5", n)
	}

	// Buckets that are forgotten make room for others, and only they are.
	attempt(s, "slow", 2*time.Hour, 0)
	for i := range 300 {
		attempt(s, fmt.Sprint("crowd ", i), 2*time.Hour+time.Duration(i)*time.Microsecond, 0)
	}
	for range limit.N - 1 {
		attempt(s, "slow", 2*time.Hour, 0)
	}
	attempt(s, "slow", 2*time.Hour, 12*time.Second)
}
