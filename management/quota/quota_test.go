package quota_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/management/quota"
	"github.com/flagstaff-go/flagstaff/management/sqlstore/sqlite/sqlitetest"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// newQuota returns a Quota, and fails the test if its Config is invalid.
func newQuota(tb testing.TB, c quota.Config) *quota.Quota {
	tb.Helper()
	q, err := quota.New(c)
	if err != nil {
		tb.Fatal(err)
	}
	return q
}

// run runs a Quota until the returned function is called.
func run(t *testing.T, q *quota.Quota) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- q.Run(ctx) }()
	return func() {
		t.Helper()
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run = %v, want nil", err)
		}
	}
}

// granted takes n times one evaluation, and returns how many were granted.
func granted(q *quota.Quota, organization string, n int) int {
	got := 0
	for range n {
		if q.Take(organization, 1) {
			got++
		}
	}
	return got
}

func stored(t *testing.T, s storage.Usage, organization, period string) int64 {
	t.Helper()
	used, _, err := s.AddUsage(t.Context(), organization, "feature_flags", period, 0)
	if err != nil {
		t.Fatal(err)
	}
	return used
}

func checkUsage(t *testing.T, q *quota.Quota, organization string, wantUsed, wantLimit int64) {
	t.Helper()
	if used, limit := q.Usage(organization); used != wantUsed || limit != wantLimit {
		t.Errorf("Usage(%q) = %d, %d; want %d, %d", organization, used, limit, wantUsed, wantLimit)
	}
}

// A flaky store fails when its function fail says so.
type flaky struct {
	storage.Usage
	fail  func(organization string, n int64) (before, after error) // may be nil
	calls atomic.Int64
}

func (f *flaky) AddUsage(ctx context.Context, organization, resource, period string, n int64) (used, limit int64, err error) {
	f.calls.Add(1)
	var before, after error
	if f.fail != nil {
		before, after = f.fail(organization, n)
	}
	if before != nil {
		return 0, 0, before
	}
	used, limit, err = f.Usage.AddUsage(ctx, organization, resource, period, n)
	if after != nil {
		return 0, 0, after
	}
	return used, limit, err
}

func TestConfig(t *testing.T) {
	for _, tt := range []struct {
		name string
		c    quota.Config
		want string
	}{
		{"no store", quota.Config{}, "Store"},
		{"negative interval", quota.Config{Store: sqlitetest.Open(t), Interval: -1}, "Interval"},
		{"unknown period", quota.Config{Store: sqlitetest.Open(t), Period: quota.Day + 1}, "Period"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if q, err := quota.New(tt.c); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("New = %v, %v; want an error about %s", q, err, tt.want)
			}
		})
	}
}

func TestTake(t *testing.T) {
	for _, tt := range []struct {
		name      string
		limit     int64 // the limit of the Config
		own       int64 // the limit that is set for the organization
		takes     []int
		want      []bool
		wantUsed  int64
		wantLimit int64
	}{
		{"up to the limit", 3, quota.None, []int{1, 1, 1, 1}, []bool{true, true, true, false}, 3, 3},
		{"what is denied is not counted", 3, quota.None, []int{2, 2, 1}, []bool{true, false, true}, 3, 3},
		{"more than all", 3, quota.None, []int{math.MaxInt, 3}, []bool{false, true}, 3, 3},
		{"zero is no limit", 0, quota.None, []int{1 << 40, 1}, []bool{true, true}, 1<<40 + 1, quota.None},
		{"negative is no limit", -5, quota.None, []int{1}, []bool{true}, 1, quota.None},
		{"nothing and less count nothing", 3, quota.None, []int{0, -7, 3, 0}, []bool{true, true, true, true}, 3, 3},
		{"an organization's own limit", 3, 1, []int{1, 1}, []bool{true, false}, 1, 1},
		{"own limit without a common one", 0, 1, []int{1, 1}, []bool{true, false}, 1, 1},
		{"own limit of nothing", 3, 0, []int{1}, []bool{false}, 0, 0},
		{"own limit without end", 3, math.MaxInt64, []int{math.MaxInt64 - 1, 1, 1}, []bool{true, true, false}, math.MaxInt64, math.MaxInt64},
	} {
		t.Run(tt.name, func(t *testing.T) {
			store := sqlitetest.Open(t)
			if err := store.SetQuota(t.Context(), "acme", "feature_flags", tt.own); err != nil {
				t.Fatal(err)
			}
			q := newQuota(t, quota.Config{Store: store, Limit: tt.limit})
			if err := q.Load(t.Context(), "acme"); err != nil {
				t.Fatal(err)
			}
			for i, n := range tt.takes {
				if got := q.Take("acme", n); got != tt.want[i] {
					t.Errorf("Take %d of %d = %v, want %v", i, n, got, tt.want[i])
				}
			}
			for range 2 {
				checkUsage(t, q, "acme", tt.wantUsed, tt.wantLimit)
				if err := q.Flush(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if got := stored(t, store, "acme", ""); got != tt.wantUsed {
				t.Errorf("the store has %d, want %d", got, tt.wantUsed)
			}
		})
	}
}

func TestTakeKeepsNoString(t *testing.T) {
	q := newQuota(t, quota.Config{Store: sqlitetest.Open(t), Limit: 1})
	checkUsage(t, q, "acme", 0, 1) // the usage of an unknown organization
	name := []byte("acme")
	q.Take(unsafe.String(&name[0], len(name)), 1)
	copy(name, "evil")
	if q.Take("acme", 1) {
		t.Error("the counter is lost after the memory of its name was reused")
	}
	if err := q.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	checkUsage(t, q, "acme", 1, 1)
}

func TestRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := sqlitetest.Open(t)
		q := newQuota(t, quota.Config{Store: store, Limit: 10})
		stop := run(t, q)
		if got := granted(q, "acme", 15); got != 10 {
			t.Errorf("%d granted, want 10", got)
		}
		stop()
		if got := stored(t, store, "acme", ""); got != 10 {
			t.Errorf("the store has %d after Run, want 10", got)
		}

		// With Load, its usage counts from the first request on.
		q = newQuota(t, quota.Config{Store: store, Limit: 10})
		if err := q.Load(t.Context(), "acme", "other"); err != nil {
			t.Fatal(err)
		}
		if q.Take("acme", 1) || !q.Take("other", 1) {
			t.Error("after Load acme is not exhausted, or other is")
		}

		// Without Load, its usage counts after the first exchange.
		q = newQuota(t, quota.Config{Store: store, Limit: 10})
		stop = run(t, q)
		if !q.Take("acme", 1) {
			t.Error("an unknown organization gets nothing")
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if q.Take("acme", 1) {
			t.Error("an exhausted organization gets something after an Interval")
		}
		checkUsage(t, q, "acme", 11, 10)
		stop()
	})
}

func TestSetLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := sqlitetest.Open(t)
		c := quota.Config{Store: store, Limit: 2}
		q, other := newQuota(t, c), newQuota(t, c)
		defer run(t, q)()
		time.Sleep(500 * time.Millisecond) // other reads after q has written
		defer run(t, other)()
		if got := granted(q, "acme", 5); got != 2 {
			t.Errorf("%d granted, want 2", got)
		}
		other.Take("acme", 0) // makes the organization known to other
		time.Sleep(time.Second)
		synctest.Wait()
		if other.Take("acme", 1) {
			t.Error("what one process has used up another one grants")
		}
		time.Sleep(time.Hour)
		synctest.Wait()

		if err := q.SetLimit(t.Context(), "acme", 5); err != nil {
			t.Fatal(err)
		}
		if got := granted(q, "acme", 2); got != 2 {
			t.Errorf("%d granted after the limit was raised, want 2", got)
		}
		checkUsage(t, q, "acme", 4, 5)
		time.Sleep(2 * time.Second) // one Interval for q to write, one for other to read
		synctest.Wait()
		if got := granted(other, "acme", 5); got != 1 {
			t.Errorf("another process grants %d after the limit was raised, want 1", got)
		}

		if err := q.SetLimit(t.Context(), "acme", -1); err != nil {
			t.Fatal(err)
		}
		if q.Take("acme", 1) {
			t.Error("the common limit does not apply again")
		}
		if err := q.SetLimit(t.Context(), "new", 0); err != nil {
			t.Fatal(err)
		}
		if q.Take("new", 1) {
			t.Error("a limit set before the first Take does not count")
		}
	})
}

// TestProcesses checks the documented bound of the usage that several processes
// grant together.
func TestProcesses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const (
			processes = 4
			limit     = 1000
			every     = 10 * time.Millisecond
			interval  = time.Second
		)
		store := sqlitetest.Open(t)
		var all []*quota.Quota
		total := 0
		for range processes {
			q := newQuota(t, quota.Config{Store: store, Limit: limit, Interval: interval})
			defer run(t, q)()
			all = append(all, q)
		}
		for range 10 * int(time.Second/every) {
			for _, q := range all {
				total += granted(q, "acme", 1)
			}
			time.Sleep(every)
		}
		if most := limit + processes*int(interval/every); total < limit || total > most {
			t.Errorf("%d granted, want %d to %d", total, limit, most)
		}
		time.Sleep(2 * interval)
		synctest.Wait()
		for _, q := range all {
			checkUsage(t, q, "acme", int64(total), limit)
		}
		if got := stored(t, store, "acme", ""); got != int64(total) {
			t.Errorf("the store has %d, want %d", got, total)
		}
	})
}

func TestPeriods(t *testing.T) {
	for _, tt := range []struct {
		period        quota.Period
		first, second string
		wait          time.Duration // from 1 January 2000, where synctest begins
	}{
		{quota.Day, "2000-01-01", "2000-01-02", 24 * time.Hour},
		{quota.Month, "2000-01", "2000-02", 31 * 24 * time.Hour},
		{quota.Total, "", "", 31 * 24 * time.Hour},
	} {
		t.Run(tt.second, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := sqlitetest.Open(t)
				q := newQuota(t, quota.Config{Store: store, Limit: 3, Period: tt.period, Interval: 7 * time.Minute})
				stop := run(t, q)
				if got := granted(q, "acme", 5); got != 3 {
					t.Errorf("%d granted, want 3", got)
				}
				if err := q.SetLimit(t.Context(), "acme", 5); err != nil {
					t.Fatal(err)
				}
				time.Sleep(tt.wait - time.Nanosecond)
				if got := granted(q, "acme", 1); got != 1 {
					t.Errorf("%d granted at the end of the period, want 1", got)
				}
				time.Sleep(time.Nanosecond)
				synctest.Wait()
				want, first, second := 5, int64(4), int64(5)
				if tt.period == quota.Total {
					want, first, second = 1, 5, 5
				}
				if got := granted(q, "acme", 9); got != want {
					t.Errorf("%d granted as the period begins, want %d", got, want)
				}
				checkUsage(t, q, "acme", 5, 5)
				stop()
				if got := stored(t, store, "acme", tt.first); got != first {
					t.Errorf("the store has %d of period %q, want %d", got, tt.first, first)
				}
				if got := stored(t, store, "acme", tt.second); got != second {
					t.Errorf("the store has %d of period %q, want %d", got, tt.second, second)
				}
			})
		})
	}
}

// TestStoreFails checks that a store may be down while a period ends.
func TestStoreFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var down atomic.Bool
		var log bytes.Buffer
		store := &flaky{Usage: sqlitetest.Open(t), fail: func(string, int64) (before, after error) {
			if down.Load() {
				return capture.ErrUnavailable, nil
			}
			return nil, nil
		}}
		q := newQuota(t, quota.Config{Store: store, Limit: 10, Period: quota.Day, Log: slog.New(slog.NewTextHandler(&log, nil))})
		stop := run(t, q)
		down.Store(true)
		if err := q.Load(t.Context(), "acme", "other"); !errors.Is(err, capture.ErrUnavailable) {
			t.Errorf("Load = %v, want ErrUnavailable", err)
		}
		if got := granted(q, "acme", 4); got != 4 {
			t.Errorf("%d granted, want 4", got)
		}
		time.Sleep(24 * time.Hour)
		synctest.Wait()
		if got := granted(q, "acme", 20); got != 10 {
			t.Errorf("%d granted on the second day, want 10", got)
		}
		time.Sleep(time.Hour)
		down.Store(false)
		time.Sleep(time.Second)
		synctest.Wait()
		for day, want := range map[string]int64{"2000-01-01": 4, "2000-01-02": 10} {
			if got := stored(t, store, "acme", day); got != want {
				t.Errorf("the store has %d of %s, want %d", got, day, want)
			}
		}
		checkUsage(t, q, "acme", 10, 10)
		stop()
		if got := strings.Count(log.String(), "\n"); got != 2 {
			t.Errorf("%d lines logged, want one about the failure and one about its end:\n%s", got, &log)
		}
	})
}

// TestUnknownOutcome checks additions that fail before or after they were
// counted.
func TestUnknownOutcome(t *testing.T) {
	broken := errors.New("connection lost")
	for _, tt := range []struct {
		name          string
		before, after error
		others        int64 // usage that another process adds in between
		want          int64
	}{
		{"not counted", broken, nil, 0, 7},
		{"counted", nil, broken, 0, 7},
		{"not counted, little by others", broken, nil, 4, 11},
		{"counted, and others", nil, broken, 4, 11},
		{"not counted, as much by others", broken, nil, 5, 7}, // 5 are lost rather than charged twice
	} {
		t.Run(tt.name, func(t *testing.T) {
			store := sqlitetest.Open(t)
			faulty := true
			q := newQuota(t, quota.Config{Store: &flaky{Usage: store, fail: func(_ string, n int64) (before, after error) {
				if n > 0 && faulty {
					return tt.before, tt.after
				}
				return nil, nil
			}}})
			q.Take("acme", 5)
			if err := q.Flush(t.Context()); !errors.Is(err, broken) {
				t.Errorf("Flush = %v, want %v", err, broken)
			}
			if _, _, err := store.AddUsage(t.Context(), "acme", "feature_flags", "", tt.others); err != nil {
				t.Fatal(err)
			}
			q.Take("acme", 2)
			faulty = false
			for range 2 {
				if err := q.Flush(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if got := stored(t, store, "acme", ""); got != tt.want {
				t.Errorf("the store has %d, want %d", got, tt.want)
			}
			checkUsage(t, q, "acme", tt.want, quota.None)
		})
	}
}

// TestOneFails checks that a failure for one organization does not keep the
// usage of others from being written.
func TestOneFails(t *testing.T) {
	store := &flaky{Usage: sqlitetest.Open(t), fail: func(organization string, _ int64) (before, after error) {
		if organization == "bad" {
			return errors.New("refused"), nil
		}
		return nil, nil
	}}
	q := newQuota(t, quota.Config{Store: store})
	for _, name := range []string{"a", "bad", "b"} {
		q.Take(name, 1)
	}
	if err := q.Flush(t.Context()); err == nil || !strings.Contains(err.Error(), "organization bad") {
		t.Errorf("Flush = %v, want an error about organization bad", err)
	}
	for _, name := range []string{"a", "b"} {
		if got := stored(t, store, name, ""); got != 1 {
			t.Errorf("the store has %d of %s, want 1", got, name)
		}
	}
}

// TestIdle checks that the store is not called when nothing happens, except for
// organizations that wait for a higher limit.
func TestIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &flaky{Usage: sqlitetest.Open(t)}
		q := newQuota(t, quota.Config{Store: store, Limit: 10})
		defer run(t, q)()
		if err := q.Load(t.Context(), "idle", "exhausted"); err != nil {
			t.Fatal(err)
		}
		q.Take("idle", 9)
		q.Take("exhausted", 10)
		time.Sleep(1500 * time.Millisecond)
		before := store.calls.Load()
		time.Sleep(10 * time.Second)
		if got := store.calls.Load() - before; got != 10 {
			t.Errorf("%d calls of the store in 10 s, want 10", got)
		}
		// The store is also asked about usage that was denied.
		q.Take("idle", 2)
		time.Sleep(time.Second)
		if got := store.calls.Load() - before; got != 12 {
			t.Errorf("%d calls of the store in 11 s, want 12", got)
		}
	})
}

// TestReset checks that a count that was reset in the store takes effect.
func TestReset(t *testing.T) {
	store := sqlitetest.Open(t)
	q := newQuota(t, quota.Config{Store: store, Limit: 5})
	granted(q, "acme", 5)
	if err := q.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, _, err := store.AddUsage(t.Context(), "acme", "feature_flags", "", -5); err != nil {
		t.Fatal(err)
	}
	if err := q.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := granted(q, "acme", 9); got != 5 {
		t.Errorf("%d granted after a reset, want 5", got)
	}
	checkUsage(t, q, "acme", 5, 5)
}

// TestConcurrent checks that counts are exact while all methods run at once.
func TestConcurrent(t *testing.T) {
	store := sqlitetest.Open(t)
	q := newQuota(t, quota.Config{Store: store, Limit: 1 << 40, Interval: 100 * time.Microsecond})
	stop := run(t, q)
	names := []string{"a", "b", "c", "d"}
	const each = 5000
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for j := range each {
				if !q.Take(names[(i+j)%len(names)], 1) {
					t.Error("Take = false, want true")
					return
				}
			}
		})
	}
	wg.Go(func() {
		for i := range 200 {
			if err := q.SetLimit(t.Context(), "a", 1<<40+int64(i)); err != nil {
				t.Error(err)
			}
			if _, limit := q.Usage("a"); limit != 1<<40+int64(i) {
				t.Errorf("limit = %d right after SetLimit, want %d", limit, 1<<40+int64(i))
			}
			if err := q.Flush(t.Context()); err != nil {
				t.Error(err)
			}
		}
	})
	wg.Wait()
	stop()
	for _, name := range names {
		if got := stored(t, store, name, ""); got != each {
			t.Errorf("the store has %d of %s, want %d", got, name, each)
		}
	}
}

// TestConcurrentLimit checks that one process grants exactly the limit.
func TestConcurrentLimit(t *testing.T) {
	q := newQuota(t, quota.Config{Store: sqlitetest.Open(t), Limit: 1000})
	var total atomic.Int64
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() { total.Add(int64(granted(q, "acme", 500))) })
	}
	wg.Wait()
	if got := total.Load(); got != 1000 {
		t.Errorf("%d granted, want 1000", got)
	}
}

// TestConcurrentPeriods checks that no usage is lost while periods change.
func TestConcurrentPeriods(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := sqlitetest.Open(t)
		q := newQuota(t, quota.Config{Store: store, Period: quota.Day, Interval: time.Hour})
		stop := run(t, q)
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for range 240 { // ten days; each step coincides with an exchange
					granted(q, "acme", 10)
					time.Sleep(time.Hour)
				}
			})
		}
		wg.Wait()
		stop()
		var total int64
		for day := range 12 {
			total += stored(t, store, "acme", time.Date(2000, 1, 1+day, 0, 0, 0, 0, time.UTC).Format(time.DateOnly))
		}
		if total != 4*240*10 {
			t.Errorf("the store has %d, want %d", total, 4*240*10)
		}
	})
}

func TestTakeAllocates(t *testing.T) {
	q := newQuota(t, quota.Config{Store: sqlitetest.Open(t), Limit: 50})
	q.Take("acme", 1)
	if n := testing.AllocsPerRun(100, func() { q.Take("acme", 1) }); n != 0 {
		t.Errorf("Take allocates %v times, want 0", n)
	}
}

func BenchmarkTake(b *testing.B) {
	q := newQuota(b, quota.Config{Store: sqlitetest.Open(b)})
	b.ReportAllocs()
	for b.Loop() {
		q.Take("0190a000-0000-7000-8000-000000000001", 1)
	}
}

func BenchmarkTakeParallel(b *testing.B) {
	q := newQuota(b, quota.Config{Store: sqlitetest.Open(b)})
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			q.Take("0190a000-0000-7000-8000-000000000001", 1)
		}
	})
}
