package source_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/flags/source"
)

// A fleet is a number of Loaders of one source, with the times of their loads.
type fleet struct {
	mu    sync.Mutex
	times []time.Duration // since the start
	start time.Time
	err   error // the error of every load, if not nil
	stop  func()
}

// newFleet starts n Loaders at the same moment.
func newFleet(t *testing.T, n int, interval time.Duration, identity func(int) string) *fleet {
	t.Helper()
	d := definitions(t, "a")
	f := &fleet{start: time.Now()}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for i := range n {
		s := sourceFunc(func(_ context.Context, have string) (*flags.Definitions, string, error) {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.times = append(f.times, time.Since(f.start))
			switch {
			case f.err != nil:
				return nil, "", f.err
			case have != "":
				return nil, "", source.ErrNotModified
			}
			return d, "1", nil
		})
		l := source.NewLoader(new(flags.Evaluator), s, source.LoaderConfig{Interval: interval, Identity: identity(i)})
		wg.Go(func() {
			if err := l.Run(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	f.stop = func() { cancel(); wg.Wait() }
	return f
}

// fail makes loads fail from now on; nil makes them succeed again.
func (f *fleet) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = err
}

// between counts the loads from one moment up to another, without the latter.
func (f *fleet) between(from, to time.Duration) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for _, at := range f.times {
		if from <= at && at < to {
			n++
		}
	}
	return n
}

// TestInstancesAreSpread starts a thousand instances at once. All have their
// first definitions at once. From then on, no twentieth of an interval may have
// more than twice its share of polls, or none. This must hold even after the
// source has failed for a while and has asked all of them to come back at the
// same time.
func TestInstancesAreSpread(t *testing.T) {
	const (
		instances = 1000
		interval  = 30 * time.Second
		share     = instances / 20
	)
	for _, tt := range []struct {
		name     string
		identity func(int) string
	}{
		{"named", func(i int) string { return fmt.Sprintf("backend-%d.example.com", i) }},
		{"unnamed", func(int) string { return "" }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFleet(t, instances, interval, tt.identity)
				synctest.Wait()
				if n := f.between(0, 1); n != instances {
					t.Errorf("%d first loads at once, want %d", n, instances)
				}
				check := func(from, to time.Duration) {
					t.Helper()
					time.Sleep(to - time.Since(f.start))
					synctest.Wait()
					for at := from; at+interval/20 <= to; at += interval / 60 {
						if n := f.between(at, at+interval/20); n > 2*share || n == 0 {
							t.Errorf("%d polls within a twentieth of the interval from %v on, want about %d", n, at, share)
						}
					}
					want := float64(instances) * float64(to-from) / float64(interval)
					if n := float64(f.between(from, to)); n < want*0.95 || n > want*1.15 {
						t.Errorf("%v polls from %v to %v, want about %v", n, from, to, want)
					}
				}
				check(1, 10*interval)

				f.fail(&source.RetryError{After: 5 * interval, Err: errors.New("throttled")})
				time.Sleep(2 * interval)
				synctest.Wait()
				f.fail(nil)
				check(18*interval, 28*interval)
				f.stop()
			})
		})
	}
}

// TestScheduleFollowsIdentity checks that the same identity polls at the same
// times, and another one at others.
func TestScheduleFollowsIdentity(t *testing.T) {
	const interval = time.Hour
	second := func(identity string) (at time.Duration) {
		synctest.Test(t, func(t *testing.T) {
			f := newFleet(t, 1, interval, func(int) string { return identity })
			time.Sleep(interval + 1)
			synctest.Wait()
			at = slices.Max(f.times)
			if len(f.times) < 2 {
				t.Errorf("%d loads within an interval, want the first and another", len(f.times))
			}
			f.stop()
		})
		return at
	}
	// The slot is the same, and the jitter a twentieth of the interval.
	a, b := second("a"), second("b")
	if again := second("a"); (again-a).Abs() > interval/20 || (b-a).Abs() < interval/20 {
		t.Errorf("the second poll of a is at %v and %v, of b at %v", a, again, b)
	}
}

// TestExtremeIntervals checks that no interval, and no pause that a source asks
// for, makes a Loader panic or poll endlessly.
func TestExtremeIntervals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, interval := range []time.Duration{1, 2, 19, 20, 21, time.Microsecond, math.MaxInt64, math.MaxInt64 / 2} {
			s := &scripted{load: func(string) (*flags.Definitions, string, error) {
				return nil, "", &source.RetryError{After: math.MaxInt64, Err: errors.New("never")}
			}}
			l := source.NewLoader(new(flags.Evaluator), s, source.LoaderConfig{Interval: interval, MaxBackoff: math.MaxInt64})
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			if err := l.Run(ctx); err != nil {
				t.Errorf("interval %v: Run = %v", interval, err)
			}
			cancel()
			if n := s.count(); n != 1 {
				t.Errorf("interval %v: %d loads, want 1", interval, n)
			}
		}
	})
}

// TestRemotePace checks that a Remote is polled every 30 seconds, and less
// often while this fails, unless the LoaderConfig says otherwise.
func TestRemotePace(t *testing.T) {
	for _, tt := range []struct {
		name     string
		config   source.LoaderConfig
		status   int
		min, max int // requests per hour
	}{
		{"by itself", source.LoaderConfig{}, http.StatusOK, 120, 135},
		{"failing", source.LoaderConfig{}, http.StatusUnauthorized, 60, 72},
		{"without quota", source.LoaderConfig{}, http.StatusPaymentRequired, 11, 14},
		{"as the Loader says", source.LoaderConfig{Interval: 5 * time.Minute}, http.StatusOK, 12, 15},
		{"failing as the Loader says", source.LoaderConfig{Interval: time.Second, MaxBackoff: 5 * time.Minute}, http.StatusBadGateway, 18, 30},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := 0
				remote := source.Remote{URL: "http://127.0.0.1", SecretKey: secret, Client: &http.Client{
					Transport: roundTripper(func(*http.Request) (*http.Response, error) {
						n++
						return answer(tt.status, document("a"), nil), nil
					}),
				}}
				cached := source.Cached{Source: remote, Path: t.TempDir() + "/flags.cache"}
				for _, s := range []source.Source{remote, cached} {
					n = 0
					ctx, cancel := context.WithTimeout(t.Context(), time.Hour/2)
					if err := source.NewLoader(new(flags.Evaluator), s, tt.config).Run(ctx); err != nil {
						t.Fatal(err)
					}
					cancel()
					if n < tt.min/2 || n > tt.max/2+1 {
						t.Errorf("%T: %d requests in half an hour, want %d to %d", s, n, tt.min/2, tt.max/2+1)
					}
				}
			})
		})
	}
}
