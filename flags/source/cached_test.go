package source_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/flags/source"
)

// A fakeRemote is a DocumentSource that gives the answers that a test sets.
type fakeRemote struct {
	identity string

	mu       sync.Mutex
	document string
	version  string
	err      error
	delay    time.Duration
	asked    []string // the versions of the callers
}

func (f *fakeRemote) Origin() string   { return "remote" }
func (f *fakeRemote) Identity() string { return f.identity }

func (f *fakeRemote) set(document, version string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.document, f.version, f.err = document, version, err
}

func (f *fakeRemote) Document(ctx context.Context, have string) ([]byte, string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = append(f.asked, have)
	select {
	case <-time.After(f.delay):
	case <-ctx.Done():
		return nil, "", ctx.Err()
	}
	switch {
	case f.err != nil:
		return nil, "", f.err
	case have == f.version:
		return nil, have, source.ErrNotModified
	}
	return []byte(f.document), f.version, nil
}

func (f *fakeRemote) Load(ctx context.Context, have string) (*flags.Definitions, string, error) {
	document, version, err := f.Document(ctx, have)
	if err != nil {
		return nil, version, err
	}
	d, err := flags.Decode(bytes.NewReader(document))
	return d, version, err
}

// process starts a process with the kept definitions of an earlier one.
func process(c source.Cached) (*flags.Evaluator, *source.Loader) {
	e := new(flags.Evaluator)
	return e, source.NewLoader(e, c, source.LoaderConfig{Log: c.Log})
}

var errDown = errors.New("out of reach")

// TestCached starts one process after the other, with the inner source in
// several states.
func TestCached(t *testing.T) {
	remote := &fakeRemote{identity: "one", document: document("a"), version: `W/"1"`, err: errDown}
	path := filepath.Join(t.TempDir(), "flags.cache")
	var log bytes.Buffer
	cached := source.Cached{Source: remote, Path: path, Log: slog.New(slog.NewTextHandler(&log, nil))}

	e, l := process(cached)
	if err := l.Refresh(t.Context()); !errors.Is(err, errDown) || e.Snapshot() != nil {
		t.Errorf("without a cache and without a network: Refresh = %v", err)
	}
	remote.set(document("a"), `W/"1"`, nil)
	start := time.Now()
	if err := l.Refresh(t.Context()); err != nil || !flagOn(e, "a") || l.Status().Origin != "remote" {
		t.Fatalf("with a network: Refresh = %v, flag on: %v, %+v", err, flagOn(e, "a"), l.Status())
	}
	fetched := l.Status().Fetched
	info, err := os.Stat(path)
	if err != nil || info.Mode() != 0o600 {
		t.Errorf("the file: %v, %v; want mode 0600", info, err)
	}

	// A process that starts without a network has the definitions, and the
	// error.
	e = new(flags.Evaluator)
	var told error
	l = source.NewLoader(e, cached, source.LoaderConfig{OnLoad: func(err error) { told = err }})
	remote.set("", "", errDown)
	if err := l.Refresh(t.Context()); err != nil || !flagOn(e, "a") || !errors.Is(told, errDown) {
		t.Errorf("a start without a network: Refresh = %v, flag on: %v, OnLoad is told %v", err, flagOn(e, "a"), told)
	}
	status := l.Status()
	if status.Origin != "cache" || status.Version != `W/"1"` || !errors.Is(status.Err, errDown) || status.Failures != 1 ||
		!status.Fetched.Equal(fetched) || !status.Checked.Equal(fetched) || status.Loaded.Before(start) {
		t.Errorf("a start without a network: %+v, want definitions of %v", status, fetched)
	}
	if err := l.Refresh(t.Context()); !errors.Is(err, errDown) || !flagOn(e, "a") || l.Status().Failures != 2 || l.Status().Origin != "cache" {
		t.Errorf("still without a network: Refresh = %v, flag on: %v, %+v", err, flagOn(e, "a"), l.Status())
	}
	// The status changes when the source confirms the same definitions; others
	// are swapped in.
	remote.set(document("a"), `W/"1"`, nil)
	first := e.Snapshot()
	if err := l.Refresh(t.Context()); err != nil || e.Snapshot() != first {
		t.Errorf("the network is back: Refresh = %v, snapshot stayed: %v", err, e.Snapshot() == first)
	}
	if status := l.Status(); status.Origin != "remote" || status.Err != nil || !status.Fetched.Equal(fetched) || status.Checked.Before(start) {
		t.Errorf("the network is back: %+v", status)
	}
	remote.set(document("b"), `W/"2"`, nil)
	if err := l.Refresh(t.Context()); err != nil || !flagOn(e, "b") || !l.Status().Fetched.After(fetched) {
		t.Errorf("after a change: Refresh = %v, flag on: %v, %+v", err, flagOn(e, "b"), l.Status())
	}

	// A start with a network does not download a document that is kept.
	remote.asked = nil
	e, l = process(cached)
	if err := l.Refresh(t.Context()); err != nil || !flagOn(e, "b") || l.Status().Origin != "remote" || l.Status().Err != nil {
		t.Errorf("a start with what is current: Refresh = %v, flag on: %v, %+v", err, flagOn(e, "b"), l.Status())
	}
	if len(remote.asked) != 1 || remote.asked[0] != `W/"2"` {
		t.Errorf("a start asks for %q, want the version that was kept", remote.asked)
	}

	// An answer that is not a document is neither served nor kept.
	remote.set("<html>", `W/"3"`, nil)
	if err := l.Refresh(t.Context()); err == nil || !flagOn(e, "b") {
		t.Errorf("no document: Refresh = %v, flag on: %v", err, flagOn(e, "b"))
	}
	e, l = process(cached)
	if err := l.Refresh(t.Context()); err != nil || !flagOn(e, "b") || l.Status().Origin != "cache" || l.Status().Err == nil {
		t.Errorf("a start while there is no document: Refresh = %v, flag on: %v, %+v", err, flagOn(e, "b"), l.Status())
	}

	// Another project does not get these definitions.
	other := cached
	other.Source = &fakeRemote{identity: "two", err: errDown}
	e, l = process(other)
	if err := l.Refresh(t.Context()); !errors.Is(err, errDown) || e.Snapshot() != nil {
		t.Errorf("another source: Refresh = %v, has definitions: %v", err, e.Snapshot() != nil)
	}
	if !strings.Contains(log.String(), "another source") {
		t.Errorf("the log has nothing of another source:\n%s", log.String())
	}
	if files, err := os.ReadDir(filepath.Dir(path)); err != nil || len(files) != 1 {
		t.Errorf("files left: %v, %v", files, err)
	}
}

// TestCachedLoad calls Load without a Loader.
func TestCachedLoad(t *testing.T) {
	remote := &fakeRemote{document: document("a"), version: "1"}
	cached := source.Cached{Source: remote, Path: filepath.Join(t.TempDir(), "flags.cache")}
	for _, err := range []error{nil, nil, errDown} {
		remote.set(document("a"), "1", err)
		if d, version, err := cached.Load(t.Context(), ""); err != nil || len(d.Flags) != 1 || version != "1" {
			t.Errorf("Load = %v, %q, %v", d, version, err)
		}
	}
	if _, _, err := cached.Load(t.Context(), "1"); !errors.Is(err, errDown) {
		t.Errorf("Load with definitions = %v, want the error of the source", err)
	}
	for _, c := range []source.Cached{{}, {Source: remote}, {Path: "x"}} {
		if _, _, err := c.Load(t.Context(), ""); err == nil {
			t.Errorf("Load of %+v = nil, want an error", c)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	remote.delay = time.Hour
	if _, _, err := cached.Load(ctx, ""); !errors.Is(err, context.Canceled) {
		t.Errorf("Load for nobody = %v, want Canceled", err)
	}
}

// TestCachedSlowSource checks that a caller without definitions waits a limited
// time if there are kept definitions, and without limit otherwise, and that it
// is up to date when the source has answered.
func TestCachedSlowSource(t *testing.T) {
	for _, tt := range []struct {
		wait, delay, served time.Duration
	}{
		{0, time.Second, time.Second},
		{0, 10 * time.Second, 2 * time.Second},
		{100 * time.Millisecond, 10 * time.Second, 100 * time.Millisecond},
		{-1, 10 * time.Second, 2 * time.Second},
		{time.Minute, 10 * time.Second, 10 * time.Second},
	} {
		t.Run(fmt.Sprintf("wait %v for %v", tt.wait, tt.delay), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				remote := &fakeRemote{document: document("a"), version: "1", delay: tt.delay}
				cached := source.Cached{Source: remote, Path: filepath.Join(t.TempDir(), "flags.cache"), Wait: tt.wait}
				start := time.Now()
				if _, l := process(cached); l.Refresh(t.Context()) != nil || time.Since(start) != tt.delay {
					t.Errorf("without a cache: %+v after %v, want definitions after %v", l.Status(), time.Since(start), tt.delay)
				}
				remote.set(document("b"), "2", nil)
				e, l := process(cached)
				ctx, cancel := context.WithCancel(t.Context())
				done := make(chan error)
				go func() { done <- l.Run(ctx) }()
				time.Sleep(tt.served)
				synctest.Wait()
				if late := tt.served < tt.delay; flagOn(e, "a") != late || flagOn(e, "b") == late {
					t.Errorf("after %v: cached flag on: %v, fresh flag on: %v", tt.served, flagOn(e, "a"), flagOn(e, "b"))
				}
				time.Sleep(2*time.Second + tt.delay) // one interval, and the time of the answer
				synctest.Wait()
				if status := l.Status(); !flagOn(e, "b") || status.Origin != "remote" || status.Err != nil {
					t.Errorf("in the end: flag on: %v, %+v", flagOn(e, "b"), status)
				}
				cancel()
				<-done
			})
		})
	}
}

// TestCachedDeadline checks that a caller whose deadline is shorter than Wait
// gets the kept definitions, too.
func TestCachedDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		remote := &fakeRemote{document: document("a"), version: "1"}
		cached := source.Cached{Source: remote, Path: filepath.Join(t.TempDir(), "flags.cache")}
		if _, _, err := cached.Load(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
		remote.delay = time.Hour
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		e, l := process(cached)
		if err := l.Refresh(ctx); err != nil || !flagOn(e, "a") || !errors.Is(l.Status().Err, context.DeadlineExceeded) {
			t.Errorf("Refresh = %v, flag on: %v, %+v", err, flagOn(e, "a"), l.Status())
		}
	})
}

// keep returns the content of a file that a Cached has written.
func keep(t testing.TB, path, identity, version, content string) []byte {
	t.Helper()
	remote := &fakeRemote{identity: identity, document: content, version: version}
	c := source.Cached{Source: remote, Path: path}
	if _, _, err := c.Load(context.Background(), ""); err != nil {
		t.Fatal(err)
	}
	kept, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return kept
}

// TestCachedDamage cuts a file at every place, flips a bit of every byte, and
// puts other content in its place. None of it may be served, and the next
// definitions must replace it.
func TestCachedDamage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "flags.cache")
	good := keep(t, path, "one", "1", document("a"))
	down := source.Cached{Source: &fakeRemote{identity: "one", err: errDown}, Path: path}
	check := func(what string, content []byte) {
		t.Helper()
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		if d, _, err := down.Load(t.Context(), ""); !errors.Is(err, errDown) || d != nil {
			t.Errorf("%s: Load = %v, %v; want the error of the source", what, d, err)
		}
	}
	if d, _, err := down.Load(t.Context(), ""); err != nil || len(d.Flags) != 1 {
		t.Fatalf("the good file: Load = %v, %v", d, err)
	}
	for n := range good {
		check(fmt.Sprintf("cut to %d bytes", n), good[:n])
		bad := bytes.Clone(good)
		bad[n] ^= 1 << (n % 8)
		check(fmt.Sprintf("a bit of byte %d flipped", n), bad)
	}
	check("more", append(bytes.Clone(good), ' '))
	check("a document", []byte(document("a")))
	check("another version", bytes.Replace(good, []byte("definitions 1"), []byte("definitions 2"), 1))

	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	if d, _, err := down.Load(t.Context(), ""); !errors.Is(err, errDown) || d != nil {
		t.Errorf("a directory: Load = %v, %v; want the error of the source", d, err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	check("the start of what comes next", good[:10])
	keep(t, path, "one", "1", document("a"))
	if d, _, err := down.Load(t.Context(), ""); err != nil || len(d.Flags) != 1 {
		t.Errorf("the next file: Load = %v, %v", d, err)
	}
}

// TestCachedCannotWrite checks that definitions that cannot be kept are served, and
// that this is known until they can.
func TestCachedCannotWrite(t *testing.T) {
	var log bytes.Buffer
	remote := &fakeRemote{document: document("a"), version: "1"}
	dir := filepath.Join(t.TempDir(), "missing")
	cached := source.Cached{Source: remote, Path: filepath.Join(dir, "flags.cache"), Log: slog.New(slog.NewTextHandler(&log, nil))}
	e, l := process(cached)
	refresh := func(flag string, broken bool, warnings int) {
		t.Helper()
		err, status := l.Refresh(t.Context()), l.Status()
		if err != nil || !flagOn(e, flag) || status.Err != nil || (status.CacheErr != nil) != broken {
			t.Errorf("Refresh = %v, %s on: %v, %+v", err, flag, flagOn(e, flag), status)
		}
		if n := strings.Count(log.String(), "cannot be kept on disk"); n != warnings {
			t.Errorf("%d warnings, want %d:\n%s", n, warnings, log.String())
		}
	}
	refresh("a", true, 1)
	refresh("a", true, 1) // not modified
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	remote.set(document("b"), "2", nil)
	refresh("b", false, 1)
	if text := l.Status().String(); strings.Contains(text, "cache") {
		t.Errorf("Status = %s", text)
	}
	// Without a Loader, Load itself warns.
	log.Reset()
	cached.Path = filepath.Join(dir, "another", "flags.cache")
	if _, _, err := cached.Load(t.Context(), ""); err != nil || !strings.Contains(log.String(), "cannot be kept on disk") {
		t.Errorf("Load = %v, and the log says %s", err, log.String())
	}
}

// TestLogWithoutDefinitions: what the log says while nothing is served, and later.
func TestLogWithoutDefinitions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		before := slog.Default()
		defer slog.SetDefault(before)
		slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
		remote := &fakeRemote{document: document("a"), version: "1", err: errDown}
		var e flags.Evaluator
		l := source.NewLoader(&e, remote, source.LoaderConfig{}) // logs to slog.Default
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- l.Run(ctx) }()
		synctest.Wait()
		if text := log.String(); !strings.Contains(text, "there are no definitions yet") || strings.Contains(text, "stay") || l.Status().String() != "no definitions yet\nerror, 1 in a row: out of reach" {
			t.Errorf("the log says %s and the Status %s", text, l.Status())
		}
		remote.set(document("a"), "1", nil)
		time.Sleep(3 * time.Second)
		remote.set("", "", errDown)
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if text := log.String(); !strings.Contains(text, "the last good ones stay") {
			t.Errorf("the log says %s", text)
		}
		cancel()
		<-done
	})
}

// TestCachedIsShared lets processes write one file while others start from it.
func TestCachedIsShared(t *testing.T) {
	path := filepath.Join(t.TempDir(), "flags.cache")
	keep(t, path, "one", "0", document("a"))
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for n := range 20 {
				keep(t, path, "one", fmt.Sprint(i, n), document("a"))
			}
		})
		wg.Go(func() {
			down := source.Cached{Source: &fakeRemote{identity: "one", err: errDown}, Path: path}
			for range 50 {
				if d, _, err := down.Load(t.Context(), ""); err != nil || len(d.Flags) != 1 {
					t.Errorf("Load = %v, %v", d, err)
				}
			}
		})
	}
	wg.Wait()
}

// TestStrictLoaderRefusesKeptDefinitions checks that both errors are reported.
func TestStrictLoaderRefusesKeptDefinitions(t *testing.T) {
	path := filepath.Join(t.TempDir(), "flags.cache")
	keep(t, path, "one", "1", `{"flags":[{"id":1,"key":"a","active":true,"filters":{"groups":7}}]}`)
	var e flags.Evaluator
	l := source.NewLoader(&e, source.Cached{Source: &fakeRemote{identity: "one", err: errDown}, Path: path},
		source.LoaderConfig{Compile: flags.CompileOptions{Strict: true}})
	err := l.Refresh(t.Context())
	if _, ok := errors.AsType[*flags.DefinitionError](err); !ok || !errors.Is(err, errDown) || e.Snapshot() != nil {
		t.Errorf("Refresh = %v, want the error of the source and that of the definitions", err)
	}
}

// TestIdentity checks that sources of different definitions have different
// identities, and that no identity contains a key.
func TestIdentity(t *testing.T) {
	seen := make(map[string]source.DocumentSource)
	for _, s := range []source.DocumentSource{
		source.File{Path: "a"},
		source.File{Path: "b"},
		source.Remote{URL: "https://a.example.com", ProjectKey: "phc_a", SecretKey: secret},
		source.Remote{URL: "https://a.example.com", ProjectKey: "phc_b", SecretKey: secret},
		source.Remote{URL: "https://b.example.com", ProjectKey: "phc_a", SecretKey: secret},
		source.Remote{URL: "https://a.example.com", SecretKey: secret},
		source.Remote{URL: "https://a.example.com", SecretKey: "phc_a"},
	} {
		id := s.Identity()
		if other, ok := seen[id]; ok {
			t.Errorf("%+v and %+v have the identity %q", s, other, id)
		}
		seen[id] = s
		if strings.Contains(id, secret) || strings.Contains(id, "phc_") {
			t.Errorf("identity %q has a key", id)
		}
	}
	// A new secret key does not make another project.
	a := source.Remote{URL: "https://a.example.com/", ProjectKey: "phc_a", SecretKey: "phs_new"}
	if _, ok := seen[a.Identity()]; !ok {
		t.Error("another secret key, or a slash, makes another identity")
	}
}

// FuzzCached writes arbitrary content into a file, with and without its
// checksum. Only a document of the same source with the right checksum may be
// served.
func FuzzCached(f *testing.F) {
	good := keep(f, filepath.Join(f.TempDir(), "flags.cache"), "one", "1", document("a"))
	_, body, _ := bytes.Cut(good, []byte("\n"))
	f.Add(body, true)
	f.Add(body, false)
	f.Add(good, false)
	f.Add(bytes.Replace(body, []byte("one"), []byte("two"), 1), true)
	f.Add([]byte(`{"identity":"one"}`), true)
	f.Add([]byte("null\n{\"flags\":[]}"), true)
	f.Add([]byte(nil), true)
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, content []byte, sum bool) {
		if sum {
			content = fmt.Appendf(nil, "flagstaff definitions 1 %x\n%s", sha256.Sum256(content), content)
		}
		path := filepath.Join(dir, "flags.cache")
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		down := source.Cached{Source: &fakeRemote{identity: "one", err: errDown}, Path: path}
		d, _, err := down.Load(t.Context(), "")
		if err != nil {
			if d != nil || !errors.Is(err, errDown) {
				t.Errorf("Load = %v, %v", d, err)
			}
			return
		}
		parts := bytes.SplitN(content, []byte("\n"), 3)
		var header struct{ Identity string }
		if err := json.Unmarshal(parts[1], &header); err != nil || header.Identity != "one" {
			t.Errorf("served %q of %q, %v", content, header.Identity, err)
		}
		body := bytes.TrimPrefix(content, append(parts[0], '\n'))
		if want := fmt.Sprintf("%x", sha256.Sum256(body)); !bytes.HasSuffix(parts[0], []byte(want)) {
			t.Errorf("served %q without its checksum %s", content, want)
		}
		if want, err := flags.Decode(bytes.NewReader(parts[2])); err != nil || len(want.Flags) != len(d.Flags) {
			t.Errorf("served %d flags of %q, %v", len(d.Flags), parts[2], err)
		}
	})
}
