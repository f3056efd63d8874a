package source_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/flags/source"
)

func document(key string) string {
	return fmt.Sprintf(`{"flags":[{"id":1,"key":%q,"active":true,"filters":{"groups":[{}]}}]}`, key)
}

func definitions(t *testing.T, key string) *flags.Definitions {
	t.Helper()
	d, err := flags.Decode(strings.NewReader(document(key)))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// write replaces a file as an editor does, with a time of modification that is
// old enough to be trusted.
func write(t *testing.T, path, content string) {
	t.Helper()
	temporary := path + ".new"
	if err := os.WriteFile(temporary, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(temporary, old, old); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(temporary, path); err != nil {
		t.Fatal(err)
	}
}

func loader(path string) (*flags.Evaluator, *source.Loader) {
	e := new(flags.Evaluator)
	return e, source.NewLoader(e, source.File{Path: path}, source.LoaderConfig{})
}

func flagOn(e *flags.Evaluator, key string) bool { return e.Bool(key, nil, false) }

func TestStatic(t *testing.T) {
	var e flags.Evaluator
	l := source.NewLoader(&e, source.Static{Definitions: definitions(t, "a")}, source.LoaderConfig{})
	for range 2 {
		if err := l.Refresh(t.Context()); err != nil || !flagOn(&e, "a") {
			t.Errorf("Refresh = %v, flag on: %v", err, flagOn(&e, "a"))
		}
	}
	if err := source.NewLoader(&e, source.Static{}, source.LoaderConfig{}).Refresh(t.Context()); err == nil {
		t.Error("Refresh without definitions = nil, want an error")
	}
}

// TestFile covers every way in which a file may change, and checks that a bad
// file never replaces a good one.
func TestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "flags.json")
	e, l := loader(path)
	if err := l.Refresh(t.Context()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Refresh without a file = %v, want ErrNotExist", err)
	}
	write(t, path, document("a"))
	if err := l.Refresh(t.Context()); err != nil || !flagOn(e, "a") {
		t.Fatalf("Refresh = %v, flag on: %v", err, flagOn(e, "a"))
	}
	first := e.Snapshot()
	status := l.Status()
	if status.Version == "" || status.Err != nil || status.Failures != 0 || status.Loaded.IsZero() {
		t.Errorf("Status = %+v", status)
	}

	for _, tt := range []struct {
		name   string
		change func()
		keeps  bool // the snapshot stays
		fails  bool
	}{
		{"nothing", func() {}, true, false},
		{"touched", func() {
			if err := os.Chtimes(path, time.Now(), time.Now()); err != nil {
				t.Fatal(err)
			}
		}, true, false},
		{"half-written", func() { write(t, path, document("b")[:30]) }, true, true},
		{"empty", func() { write(t, path, "") }, true, true},
		{"no JSON", func() { write(t, path, "flags: []") }, true, true},
		{"deleted", func() { os.Remove(path) }, true, true},
		{"a directory", func() {
			if err := os.Mkdir(path, 0o700); err != nil {
				t.Fatal(err)
			}
		}, true, true},
		{"restored", func() { os.Remove(path); write(t, path, document("a")) }, true, false},
		{"replaced", func() { write(t, path, document("b")) }, false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.change()
			err := l.Refresh(t.Context())
			if (err != nil) != tt.fails {
				t.Errorf("Refresh = %v, want an error: %v", err, tt.fails)
			}
			if kept := e.Snapshot() == first; kept != tt.keeps {
				t.Errorf("the snapshot stayed: %v, want %v", kept, tt.keeps)
			}
			if s := l.Status(); (s.Err != nil) != tt.fails || (s.Failures > 0) != tt.fails {
				t.Errorf("Status after %s = %+v", tt.name, s)
			}
		})
	}
	if !flagOn(e, "b") {
		t.Error("the new flag is off")
	}
}

// TestFileChangeOfTheSameSize changes one letter within the resolution of a
// coarse clock.
func TestFileChangeOfTheSameSize(t *testing.T) {
	path := filepath.Join(t.TempDir(), "flags.json")
	now := time.Now()
	for _, key := range []string{"a", "b"} {
		if err := os.WriteFile(path, []byte(document(key)), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, now, now); err != nil {
			t.Fatal(err)
		}
	}
	e, l := loader(path)
	if err := l.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(document("c")), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, now, now); err != nil {
		t.Fatal(err)
	}
	if err := l.Refresh(t.Context()); err != nil || !flagOn(e, "c") {
		t.Errorf("Refresh = %v, new flag on: %v", err, flagOn(e, "c"))
	}
}

// TestFileBehindSymbolicLink switches a link, as a mounted ConfigMap does.
func TestFileBehindSymbolicLink(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(dir, "flags.json")
	e, l := loader(link)
	for _, key := range []string{"a", "b"} {
		write(t, filepath.Join(dir, key), document(key))
		temporary := filepath.Join(dir, "link")
		if err := os.Symlink(filepath.Join(dir, key), temporary); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(temporary, link); err != nil {
			t.Fatal(err)
		}
		if err := l.Refresh(t.Context()); err != nil || !flagOn(e, key) {
			t.Errorf("link to %s: Refresh = %v, flag on: %v", key, err, flagOn(e, key))
		}
	}
}

// A scripted source gives the answers that a test sets.
type scripted struct {
	mu    sync.Mutex
	load  func(have string) (*flags.Definitions, string, error)
	loads int
}

func (s *scripted) Load(_ context.Context, have string) (*flags.Definitions, string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.loads++
	return s.load(have)
}

func (s *scripted) set(f func(have string) (*flags.Definitions, string, error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.load = f
}

// count returns the number of loads since the last call.
func (s *scripted) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.loads
	s.loads = 0
	return n
}

// TestRun follows a source through changes, errors and panics, in fake time.
func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := definitions(t, "a"), definitions(t, "b")
		s := &scripted{load: func(string) (*flags.Definitions, string, error) { return a, "1", nil }}
		var e flags.Evaluator
		var log bytes.Buffer
		swaps := 0
		l := source.NewLoader(&e, s, source.LoaderConfig{
			Interval: time.Second, MaxBackoff: 8 * time.Second,
			OnSwap: func(old, current *flags.Snapshot) { swaps++ },
			Log:    slog.New(slog.NewTextHandler(&log, nil)),
		})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- l.Run(ctx) }()
		synctest.Wait()
		if !flagOn(&e, "a") || swaps != 1 {
			t.Fatalf("after the start: flag on %v, swaps %d", flagOn(&e, "a"), swaps)
		}

		s.set(func(have string) (*flags.Definitions, string, error) {
			if have == "2" {
				return nil, "", source.ErrNotModified
			}
			return b, "2", nil
		})
		time.Sleep(time.Second)
		synctest.Wait()
		if !flagOn(&e, "b") || l.Status().Version != "2" || swaps != 2 {
			t.Errorf("one interval after a change: flag on %v, %+v, swaps %d", flagOn(&e, "b"), l.Status(), swaps)
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if swaps != 2 || l.Status().Checked.Sub(l.Status().Loaded) < 8*time.Second {
			t.Errorf("without a change: swaps %d, %+v", swaps, l.Status())
		}

		// Errors back off to the bound, are logged once, and keep the snapshot.
		s.set(func(string) (*flags.Definitions, string, error) { return nil, "", errors.New("out of reach") })
		s.count()
		time.Sleep(60 * time.Second)
		synctest.Wait()
		loads := s.count()
		if loads < 7 || loads > 14 {
			t.Errorf("%d loads in a minute of errors, want about 10", loads)
		}
		if status := l.Status(); !flagOn(&e, "b") || status.Failures != loads || status.Err == nil {
			t.Errorf("after errors: flag on %v, %+v", flagOn(&e, "b"), status)
		}
		if n := strings.Count(log.String(), "out of reach"); n != 1 {
			t.Errorf("one error is logged %d times:\n%s", n, log.String())
		}
		s.set(func(string) (*flags.Definitions, string, error) { panic("boom") })
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if err := l.Status().Err; err == nil || !strings.Contains(err.Error(), "boom") {
			t.Errorf("after a panic: %v", err)
		}

		s.set(func(string) (*flags.Definitions, string, error) { return a, "3", nil })
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if status := l.Status(); !flagOn(&e, "a") || status.Err != nil || status.Failures != 0 {
			t.Errorf("after recovery: flag on %v, %+v", flagOn(&e, "a"), status)
		}
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run = %v, want nil", err)
		}
	})
}

// TestStrictLoadKeepsTheLastGoodSet covers definitions that compile only
// without Strict.
func TestStrictLoadKeepsTheLastGoodSet(t *testing.T) {
	bad, err := flags.Decode(strings.NewReader(`{"flags":[{"id":1,"key":"a","active":true,"filters":{"groups":7}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	good := definitions(t, "a")
	version := 0
	s := &scripted{load: func(string) (*flags.Definitions, string, error) {
		version++
		return []*flags.Definitions{good, bad}[version-1], fmt.Sprint(version), nil
	}}
	var e flags.Evaluator
	l := source.NewLoader(&e, s, source.LoaderConfig{Compile: flags.CompileOptions{Strict: true}})
	if err := l.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := l.Refresh(t.Context()); err == nil || !flagOn(&e, "a") || l.Status().Version != "1" {
		t.Errorf("a bad set: Refresh = %v, flag on %v, version %s", err, flagOn(&e, "a"), l.Status().Version)
	}
}

// TestOnLoad checks that OnLoad is called for every attempt, after its swap,
// except for attempts that a context has ended.
func TestOnLoad(t *testing.T) {
	d := definitions(t, "a")
	s := &scripted{load: func(string) (*flags.Definitions, string, error) { return d, "1", nil }}
	var e flags.Evaluator
	var calls []string
	var l *source.Loader
	l = source.NewLoader(&e, s, source.LoaderConfig{
		OnSwap: func(_, _ *flags.Snapshot) { calls = append(calls, "swap") },
		OnLoad: func(err error) { calls = append(calls, fmt.Sprint(err, " ", l.Status().Failures)) },
	})
	if err := l.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.set(func(string) (*flags.Definitions, string, error) { return nil, "", source.ErrNotModified })
	if err := l.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.set(func(string) (*flags.Definitions, string, error) { return nil, "", errors.New("out of reach") })
	if err := l.Refresh(t.Context()); err == nil {
		t.Error("Refresh = nil")
	}
	ctx, cancel := context.WithCancel(t.Context())
	s.set(func(string) (*flags.Definitions, string, error) { cancel(); return nil, "", ctx.Err() })
	if err := l.Refresh(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Refresh = %v", err)
	}
	if diff := cmp.Diff([]string{"swap", "<nil> 0", "<nil> 0", "out of reach 1"}, calls); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestOneLoadAtATime refreshes from many goroutines.
func TestOneLoadAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var running, most atomic.Int32
		d := definitions(t, "a")
		s := sourceFunc(func(context.Context, string) (*flags.Definitions, string, error) {
			most.Store(max(most.Load(), running.Add(1)))
			time.Sleep(time.Second)
			running.Add(-1)
			return d, "1", nil
		})
		var e flags.Evaluator
		l := source.NewLoader(&e, s, source.LoaderConfig{})
		var wg sync.WaitGroup
		for range 5 {
			wg.Go(func() {
				if err := l.Refresh(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if err := l.Refresh(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Refresh that cannot wait = %v, want DeadlineExceeded", err)
		}
		wg.Wait()
		if most.Load() != 1 {
			t.Errorf("%d loads at a time, want 1", most.Load())
		}
	})
}

type sourceFunc func(context.Context, string) (*flags.Definitions, string, error)

func (f sourceFunc) Load(ctx context.Context, have string) (*flags.Definitions, string, error) {
	return f(ctx, have)
}

// An overlay changes what a File has.
type overlay struct{ source.File }

func (o overlay) Load(ctx context.Context, have string) (*flags.Definitions, string, error) {
	d, version, err := o.File.Load(ctx, have)
	if err == nil {
		d.Flags[0].Active = false
	}
	return d, version, err
}

// A Loader asks the Load of a type that has a File embedded, and not the File's.
func TestOverlay(t *testing.T) {
	path := filepath.Join(t.TempDir(), "flags.json")
	if err := os.WriteFile(path, []byte(document("a")), 0o600); err != nil {
		t.Fatal(err)
	}
	var e flags.Evaluator
	l := source.NewLoader(&e, overlay{source.File{Path: path}}, source.LoaderConfig{Log: slog.New(slog.DiscardHandler)})
	if err := l.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if e.Bool("a", &flags.Request{DistinctID: "u"}, false) {
		t.Error("the flag is on, which the Source has turned off")
	}
}

// TestReloads changes one flag of a large file again and again.
func TestReloads(t *testing.T) {
	const count = 2000
	path := filepath.Join(t.TempDir(), "flags.json")
	write := func(on int) {
		var b strings.Builder
		for i := range count {
			fmt.Fprintf(&b, `,{"id":%d,"key":"flag-%[1]d","active":%t,"filters":{"groups":[{"properties":[{"key":"email","type":"person","operator":"icontains","value":"@acme.example"}]},{"rollout_percentage":100}]}}`, i+1, i == on)
		}
		if err := os.WriteFile(path, []byte(`{"flags":[`+b.String()[1:]+`]}`), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var e flags.Evaluator
	l := source.NewLoader(&e, source.File{Path: path}, source.LoaderConfig{Log: slog.New(slog.DiscardHandler)})
	for _, on := range []int{0, 1, 1000, 7, 7, 1999, 0} {
		write(on)
		if err := l.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		var got []string
		for key := range e.Snapshot().Evaluate(&flags.Request{DistinctID: "u"}).All() {
			got = append(got, key)
		}
		if diff := cmp.Diff([]string{fmt.Sprint("flag-", on+1)}, got); diff != "" {
			t.Errorf("flags that are active (-want +got)\n%s", diff)
		}
	}
}
