package sqldb_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/flagstaff-go/flagstaff/management/storage"
)

// TestThrottleForgets checks that only buckets in use take room, except for a
// few.
func TestThrottleForgets(t *testing.T) {
	onEach(t, func(t *testing.T, d *database) {
		db := d.open(t)
		limit := storage.Limit{N: 5, Per: time.Minute} // an attempt comes back after 12 s
		try := func(bucket string, at time.Duration) {
			t.Helper()
			if wait, err := db.Throttle(t.Context(), bucket, limit, now.Add(at)); wait != 0 || err != nil {
				t.Fatalf("Throttle(%q) = %v, %v; want 0, nil", bucket, wait, err)
			}
		}
		rows := func(most int, when string) {
			t.Helper()
			if n := d.count(t, "SELECT count(*) FROM throttle"); n > most {
				t.Errorf("%d buckets %s, want at most %d", n, when, most)
			}
		}
		for i := range 200 {
			try(fmt.Sprint("steady ", i), time.Duration(i)*time.Second)
		}
		rows(14, "while 12 are in use")
		for i := range 300 {
			try(fmt.Sprint("crowd ", i), time.Hour)
		}
		for i := range 40 {
			try(fmt.Sprint("later ", i), 2*time.Hour)
		}
		rows(40, "after a crowd is gone")
		if n := d.count(t, "SELECT count(*) FROM throttle WHERE bucket LIKE 'later %'"); n != 40 {
			t.Errorf("%d buckets in use, want 40", n)
		}
	})
}

// TestThrottleInTransaction checks that Throttle fails in a transaction rather
// than wait for itself.
func TestThrottleInTransaction(t *testing.T) {
	onEach(t, func(t *testing.T, d *database) {
		err := d.open(t).Atomic(t.Context(), func(s storage.Store) error {
			_, err := s.Throttle(t.Context(), "b", storage.Limit{N: 1, Per: time.Minute}, now)
			return err
		})
		if err == nil {
			t.Error("Throttle in a transaction = nil, want an error")
		}
	})
}

// TestThrottleRounds checks that no attempt is lost when attempts come back
// after fractions of a microsecond, which are not stored.
func TestThrottleRounds(t *testing.T) {
	onEach(t, func(t *testing.T, d *database) {
		db := d.open(t)
		at := now.Add(999 * time.Nanosecond)
		limit := storage.Limit{N: 7, Per: time.Second}
		for i := range limit.N {
			if wait, err := db.Throttle(t.Context(), "b", limit, at); wait != 0 || err != nil {
				t.Fatalf("attempt %d: Throttle = %v, %v; want 0, nil", i, wait, err)
			}
		}
		wait, err := db.Throttle(t.Context(), "b", limit, at)
		if wait <= 0 || err != nil {
			t.Fatalf("Throttle = %v, %v; want to wait", wait, err)
		}
		if wait, err := db.Throttle(t.Context(), "b", limit, at.Add(wait)); wait != 0 || err != nil {
			t.Errorf("after that wait Throttle = %v, %v; want 0, nil", wait, err)
		}
	})
}
