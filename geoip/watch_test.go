package geoip_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flagstaff-go/flagstaff/geoip"
)

// version is a database in which 20.0.0.1 is at the place tag. Its length
// depends on the tag's.
func version(tag string) []byte {
	d := newDatabase("Version-City", 4, 24)
	d.insert("20.0.0.0/24", place(tag))
	return d.bytes()
}

// tagOf returns the tag of the version that is served, "" if none is.
func tagOf(t *testing.T, r *geoip.Resolver) string {
	t.Helper()
	l, ok := r.Lookup(netip.MustParseAddr("20.0.0.1"))
	if !ok {
		return ""
	}
	if *l != placeLocation(l.City[len("City"):]) {
		t.Errorf("a mixture: %+v", *l)
	}
	return l.City[len("City"):]
}

// watch runs Watch until the test ends, or until stop is called. A goroutine that
// is left over in a bubble of synctest fails the test.
func watch(t *testing.T, r *geoip.Resolver, every time.Duration) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Watch(ctx, every) }()
	return func() {
		t.Helper()
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Watch: %v, want nil", err)
		}
	}
}

// touch sets the time of a file to the time of the bubble. Real time hardly
// passes in a bubble, so two changes could look alike otherwise.
func touch(t *testing.T, path string) {
	t.Helper()
	if err := os.Chtimes(path, time.Time{}, time.Now()); err != nil {
		t.Fatal(err)
	}
}

const every = 10 * time.Second

func TestWatch(t *testing.T) {
	inPlace := func(t *testing.T, path string, content []byte) { write(t, path, content); touch(t, path) }
	rename := func(t *testing.T, path string, content []byte) { replace(t, path, content) }
	link := func(t *testing.T, path string, content []byte) {
		target := filepath.Join(t.TempDir(), "data") // a new one for each call
		write(t, target, content)
		if err := os.Symlink(target, path+".new"); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		name   string
		change func(t *testing.T, path string, content []byte)
	}{{"in place", inPlace}, {"by renaming", rename}, {"by switching a symbolic link", link}} {
		t.Run(tt.name, func(t *testing.T) {
			path := temporary(t, version("1"))
			synctest.Test(t, func(t *testing.T) {
				r := open(t, path, geoip.Options{})
				defer watch(t, r, every)()
				time.Sleep(3 * every)
				for _, tag := range []string{"2", "three", "4"} {
					tt.change(t, path, version(tag))
					time.Sleep(every + geoip.Settled)
					synctest.Wait()
					if got := tagOf(t, r); got != tag {
						t.Errorf("version %q is served, want %q; %+v", got, tag, r.Status())
					}
				}
			})
		})
	}
}

// logged keeps the lines of a log.
type logged struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// TestWatchKeepsTheLastGoodOne: bad files are refused and logged once each, and
// the next good one is loaded.
func TestWatchKeepsTheLastGoodOne(t *testing.T) {
	path := temporary(t, version("1"))
	synctest.Test(t, func(t *testing.T) {
		var out logged
		r := open(t, path, geoip.Options{Log: slog.New(slog.NewTextHandler(&out, nil))})
		stop := watch(t, r, every)
		errorsLogged := func() int { return strings.Count(out.String(), "level=ERROR") }
		for i, tt := range []struct {
			name    string
			content []byte // nil: the file is removed
			served  string
			errors  int // how many are logged so far
		}{
			{"half of the next version", version("two")[:100], "1", 1},
			{"more of it", version("two")[:150], "1", 1}, // with the same error
			{"all of it", version("two"), "two", 1},
			{"nothing", []byte{}, "two", 2},
			{"removed", nil, "two", 3},
			{"back as it was", version("two"), "two", 3},
			{"removed again", nil, "two", 4}, // logged again, since it had gone
			{"another one", version("3"), "3", 4},
		} {
			if tt.content == nil {
				if err := os.Remove(path); err != nil {
					t.Fatal(err)
				}
			} else {
				write(t, path, tt.content)
				touch(t, path)
			}
			time.Sleep(3*every + geoip.Settled)
			synctest.Wait()
			if got := tagOf(t, r); got != tt.served {
				t.Errorf("%d, %s: version %q is served, want %q", i, tt.name, got, tt.served)
			}
			bad := tt.content == nil || !bytes.Equal(tt.content, version(tt.served))
			if s := r.Status(); (s.Err != nil) != bad {
				t.Errorf("%d, %s: status has error %v", i, tt.name, s.Err)
			}
			if got := errorsLogged(); got != tt.errors {
				t.Errorf("%d, %s: %d errors logged, want %d", i, tt.name, got, tt.errors)
			}
		}
		stop()
		if got := strings.Count(out.String(), "GeoIP database loaded"); got != 3 {
			t.Errorf("%d versions logged, want 3:\n%s", got, out.String())
		}
	})
}

// TestWatchWaitsForWriters: a file that keeps changing is left alone, even if its
// content is valid now and then.
func TestWatchWaitsForWriters(t *testing.T) {
	path := temporary(t, version("1"))
	synctest.Test(t, func(t *testing.T) {
		r := open(t, path, geoip.Options{})
		defer watch(t, r, time.Second/2)()
		time.Sleep(time.Minute)
		for i := range 20 {
			write(t, path, version(fmt.Sprint(i)))
			touch(t, path)
			time.Sleep(geoip.Settled - time.Second)
			synctest.Wait()
			if got := tagOf(t, r); got != "1" {
				t.Fatalf("version %q is served while the file changes", got)
			}
		}
		time.Sleep(geoip.Settled + time.Second)
		synctest.Wait()
		if got := tagOf(t, r); got != "19" {
			t.Errorf("version %q is served, want the last one", got)
		}
	})
}

// TestSameStamp: two versions have the same size and the same time of
// modification. A Resolver that compared only these would keep the first version
// for ever.
func TestSameStamp(t *testing.T) {
	path := temporary(t, version("1"))
	synctest.Test(t, func(t *testing.T) {
		touch(t, path)
		modified := time.Now()
		r := open(t, path, geoip.Options{})
		write(t, path, version("2"))
		if err := os.Chtimes(path, time.Time{}, modified); err != nil {
			t.Fatal(err)
		}
		defer watch(t, r, every)()
		time.Sleep(every)
		synctest.Wait()
		if got := tagOf(t, r); got != "2" {
			t.Errorf("version %q is served, want 2", got)
		}
	})
}

func TestStatus(t *testing.T) {
	path := temporary(t, version("1"))
	synctest.Test(t, func(t *testing.T) {
		r := open(t, path, geoip.Options{})
		opened := time.Now()
		want := geoip.Status{
			Path: path, Type: "Version-City", Built: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
			Loaded: opened, Checked: opened,
		}
		check := func(when string) {
			t.Helper()
			got := r.Status()
			if !got.Built.Equal(want.Built) || !got.Loaded.Equal(want.Loaded) || !got.Checked.Equal(want.Checked) {
				t.Errorf("%s: times of %+v, want %+v", when, got, want)
			}
			if got.Path != want.Path || got.Type != want.Type || fmt.Sprint(got.Err) != fmt.Sprint(want.Err) {
				t.Errorf("%s: %+v, want %+v", when, got, want)
			}
		}
		check("opened")

		time.Sleep(time.Hour)
		touch(t, path) // the same content: not loaded again
		if err := r.Refresh(); err != nil {
			t.Errorf("Refresh: %v", err)
		}
		want.Checked = time.Now()
		check("touched")

		time.Sleep(time.Hour)
		write(t, path, version("2")[:50])
		want.Err = r.Refresh()
		if want.Err == nil || !strings.Contains(want.Err.Error(), path) {
			t.Errorf("Refresh of half a file: %v, want an error with the path", want.Err)
		}
		check("half-written")

		time.Sleep(time.Hour)
		if err := r.Refresh(); err == nil || err.Error() != want.Err.Error() {
			t.Errorf("Refresh of the same half: %v, want %v", err, want.Err)
		}
		check("still half-written")

		write(t, path, version("22"))
		if err := r.Refresh(); err != nil {
			t.Errorf("Refresh: %v", err)
		}
		want.Err, want.Loaded, want.Checked = nil, time.Now(), time.Now()
		check("written")
	})
}

// TestWatchEnds: Watch returns nil at once when its context ends or the Resolver
// is closed, and leaves no goroutine behind.
func TestWatchEnds(t *testing.T) {
	path := temporary(t, version("1"))
	synctest.Test(t, func(t *testing.T) {
		r := open(t, path, geoip.Options{})
		stop := watch(t, r, 0)
		time.Sleep(time.Hour)
		start := time.Now()
		stop()

		done := make(chan error)
		go func() { done <- r.Watch(context.Background(), time.Hour) }()
		synctest.Wait()
		if err := r.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
		if err := <-done; err != nil {
			t.Errorf("Watch of a Resolver that is closed: %v, want nil", err)
		}
		if err := r.Watch(t.Context(), time.Hour); err != nil {
			t.Errorf("Watch after Close: %v, want nil", err)
		}
		var none *geoip.Resolver
		watch(t, none, 0)()
		if waited := time.Since(start); waited != 0 {
			t.Errorf("it took %v", waited)
		}
	})
}

func TestClose(t *testing.T) {
	r := open(t, testFile, geoip.Options{})
	a := netip.MustParseAddr("192.0.2.1")
	kept, _ := r.Lookup(a)
	for range 2 {
		if err := r.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
	if l, ok := r.Lookup(a); ok {
		t.Errorf("Lookup after Close = %v", l)
	}
	for name := range r.Properties(a) {
		t.Errorf("after Close there is %s", name)
	}
	if err := r.Refresh(); !errors.Is(err, geoip.ErrClosed) {
		t.Errorf("Refresh after Close: %v, want ErrClosed", err)
	}
	if *kept != london {
		t.Errorf("a location from before Close is %+v", *kept)
	}
}

// TestSwapUnderLoad replaces the file, in place and by renaming, while readers
// check that each answer comes from a whole file. The files have the same records
// at other offsets, so a cache that outlived its file would give wrong answers.
func TestSwapUnderLoad(t *testing.T) {
	const networks = 200
	file := func(tag string, step int) []byte {
		d := newDatabase("Swap-City", 4, 24)
		for i := range networks {
			n := i * step % networks
			d.insert(fmt.Sprintf("20.0.%d.0/24", n), place(fmt.Sprintf("%s-%d", tag, n)))
		}
		return d.bytes()
	}
	tags := []string{"a", "b", "longer"}
	var files [][]byte
	for i, tag := range tags {
		files = append(files, file(tag, []int{1, 7, 199}[i])) // prime to networks
	}
	path := temporary(t, files[0])
	r := open(t, path, geoip.Options{CacheSize: 64})

	var stop atomic.Bool
	var lookups atomic.Int64
	var wg sync.WaitGroup
	for reader := range 4 {
		wg.Go(func() {
			for i := reader; !stop.Load(); i++ {
				n := i % networks
				l, ok := r.Lookup(netip.AddrFrom4([4]byte{20, 0, byte(n), 1}))
				lookups.Add(1)
				right := false
				for _, tag := range tags {
					right = right || ok && *l == placeLocation(fmt.Sprintf("%s-%d", tag, n))
				}
				if !right {
					t.Errorf("Lookup of network %d = %+v, %v", n, l, ok)
					return
				}
			}
		})
	}
	wg.Go(func() { // reads half-written files, which must not matter
		for !stop.Load() {
			_ = r.Refresh()
		}
	})
	for round := range 150 {
		which := round % len(files)
		if round%2 == 0 {
			replace(t, path, files[which])
		} else {
			write(t, path, files[which])
		}
		if err := r.Refresh(); err != nil {
			t.Errorf("round %d: Refresh: %v", round, err)
		}
		l, ok := r.Lookup(netip.MustParseAddr("20.0.3.1"))
		if want := placeLocation(tags[which] + "-3"); !ok || *l != want {
			t.Fatalf("round %d: Lookup = %+v, %v, want %+v", round, l, ok, want)
		}
	}
	stop.Store(true)
	wg.Wait()
	if lookups.Load() == 0 {
		t.Error("nothing was looked up meanwhile")
	}
}

// TestConcurrentChecks runs Watch, Refresh, Status, Close and look-ups at the same
// time.
func TestConcurrentChecks(t *testing.T) {
	path := temporary(t, version("1"))
	r := open(t, path, geoip.Options{})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if err := r.Watch(t.Context(), time.Millisecond); err != nil {
				t.Errorf("Watch: %v", err)
			}
		})
		wg.Go(func() {
			for range 50 {
				if err := r.Refresh(); err != nil && !errors.Is(err, geoip.ErrClosed) {
					t.Errorf("Refresh: %v", err)
				}
				_ = r.Status()
				if got := tagOf(t, r); got != "1" && got != "" {
					t.Errorf("version %q", got)
				}
			}
			if err := r.Close(); err != nil {
				t.Errorf("Close: %v", err)
			}
		})
	}
	wg.Wait()
}
