package source_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/flags/source"
)

const (
	working = `{"flags": [
  {"id": 1, "key": "beta", "active": true, "filters": {"groups": [{}]}},
  {"id": 2, "key": "gamma", "active": true, "filters": {"groups": [{}]}}
]}`
	slipped = `{"flags": [
  {"id": 1, "key": "beta", "active": "yes", "filters": {"groups": [{}]}},
  {"id": 2, "key": "gamma", "active": true, "filters": {"groups": []}}
]}`
	mended = `{"flags": [
  {"id": 1, "key": "beta", "active": false, "filters": {"groups": [{}]}},
  {"id": 2, "key": "gamma", "active": true, "filters": {"groups": []}}
]}`
)

// A following is a Loader with what it logs.
type following struct {
	t         *testing.T
	evaluator flags.Evaluator
	loader    *source.Loader
	log       bytes.Buffer
}

func loaderOf(t *testing.T, s source.Source) *following {
	f := &following{t: t}
	f.loader = source.NewLoader(&f.evaluator, s, source.LoaderConfig{Log: slog.New(slog.NewTextHandler(&f.log, nil))})
	t.Cleanup(func() { _ = f.loader.Close() })
	return f
}

// refresh loads, and returns the lines that were logged with a word.
func (f *following) refresh(word string) (lines []string) {
	f.t.Helper()
	f.log.Reset()
	if err := f.loader.Refresh(f.t.Context()); err != nil {
		f.t.Fatal(err)
	}
	for line := range strings.Lines(f.log.String()) {
		if strings.Contains(line, word) {
			lines = append(lines, line)
		}
	}
	return lines
}

func (f *following) on(key string) bool {
	return f.evaluator.Bool(key, &flags.Request{DistinctID: "u"}, false)
}

// write writes a file that no load has seen: its time is another one.
func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestFileKeepsWhatWorked: a flag that breaks in a new document keeps its last good
// definition until it is mended, with one ERROR (evaluation.md §1.9).
func TestFileKeepsWhatWorked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "flags.json")
	writeFile(t, path, working)
	f := loaderOf(t, source.File{Path: path})
	f.refresh("")
	writeFile(t, path, slipped)
	lines := f.refresh("ERROR")
	if len(lines) != 1 || !strings.Contains(lines[0], "last good definition stays in force") || !strings.Contains(lines[0], "beta") ||
		!strings.Contains(lines[0], "/active") || !strings.Contains(lines[0], "line=2 column=38") || !strings.Contains(lines[0], "since=") {
		t.Errorf("logged %q, want one line about beta", lines)
	}
	if !f.on("beta") || f.on("gamma") {
		t.Errorf("beta %v, gamma %v; want beta as before and gamma as in the new document", f.on("beta"), f.on("gamma"))
	}
	status := f.loader.Status()
	if len(status.Kept) != 1 || status.Kept[0].Problem.Flag != "beta" || status.Kept[0].Line != 2 || status.Kept[0].Since.IsZero() {
		t.Errorf("Kept = %+v, want beta", status.Kept)
	}
	since := status.Kept[0].Since
	if text := status.String(); !strings.Contains(text, "kept since "+since.UTC().Format(time.RFC3339)+": beta") || !strings.Contains(text, `flag "beta" at /active`) {
		t.Errorf("the status does not say what is kept: %s", text)
	}
	var shown struct {
		Kept []struct{ Problem flags.Problem }
	}
	if b, err := json.Marshal(status); err != nil || json.Unmarshal(b, &shown) != nil || len(shown.Kept) != 1 || shown.Kept[0].Problem.Flag != "beta" {
		t.Errorf("JSON of the status: %s, %v", b, err)
	}
	writeFile(t, path, slipped+"\n")
	if lines := f.refresh("ERROR"); len(lines) != 0 || !f.loader.Status().Kept[0].Since.Equal(since) {
		t.Errorf("logged %q of what was logged before; since %v, want %v", lines, f.loader.Status().Kept[0].Since, since)
	}
	writeFile(t, path, working[:50])
	if err := f.loader.Refresh(t.Context()); err == nil || !strings.Contains(err.Error(), "line 2, column 39") || !f.on("beta") {
		t.Errorf("Refresh = %v; want the place of the fault, and the last definitions", err)
	}
	writeFile(t, path, mended)
	if lines := f.refresh("mended"); len(lines) != 1 || f.on("beta") || len(f.loader.Status().Kept) != 0 {
		t.Errorf("logged %q, beta %v, kept %v; want the new definition", lines, f.on("beta"), f.loader.Status().Kept)
	}
}

// TestCacheKeepsWhatWorked: what is kept outlives a restart where there is a cache.
func TestCacheKeepsWhatWorked(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "flags.json")
	cached := source.Cached{Source: source.File{Path: path}, Path: filepath.Join(dir, "cache")}
	writeFile(t, path, working)
	f := loaderOf(t, cached)
	f.refresh("")
	writeFile(t, path, slipped)
	f.refresh("")
	since := f.loader.Status().Kept[0].Since
	for _, document := range []string{slipped, slipped + "\n"} { // not modified, and another one
		writeFile(t, path, document)
		f = loaderOf(t, cached)
		if lines := f.refresh("ERROR"); len(lines) != 1 || !strings.Contains(lines[0], "stays in force") {
			t.Errorf("logged %q, want one line", lines)
		}
		kept := f.loader.Status().Kept
		if !f.on("beta") || f.on("gamma") || len(kept) != 1 || !kept[0].Since.Equal(since) {
			t.Errorf("beta %v, gamma %v, kept %+v since %v; want as before the restart", f.on("beta"), f.on("gamma"), kept, since)
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	f = loaderOf(t, cached)
	f.refresh("")
	if !f.on("beta") || f.on("gamma") {
		t.Errorf("without the file beta %v, gamma %v", f.on("beta"), f.on("gamma"))
	}
	writeFile(t, path, mended)
	f.refresh("")
	f = loaderOf(t, cached)
	f.refresh("")
	if f.on("beta") || len(f.loader.Status().Kept) != 0 {
		t.Errorf("beta %v, kept %v; want the mended document", f.on("beta"), f.loader.Status().Kept)
	}

	// A restart without a cache knows nothing of what was.
	writeFile(t, path, slipped)
	f = loaderOf(t, source.File{Path: path})
	f.refresh("")
	if f.on("beta") {
		t.Error("a program that starts with a broken document has the flag")
	}
}

// TestRemoteKeepsWhatWorked: definitions of a server are as it sends them, unless KeepLast
// says otherwise.
func TestRemoteKeepsWhatWorked(t *testing.T) {
	for _, keep := range []bool{false, true} {
		var document atomic.Value
		document.Store(working)
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(document.Load().(string)))
		}))
		defer server.Close()
		f := loaderOf(t, source.Remote{URL: server.URL, SecretKey: "phs_x", KeepLast: keep, Poll: true})
		f.refresh("")
		document.Store(slipped)
		f.refresh("")
		if f.on("beta") != keep || len(f.loader.Status().Kept) > 0 != keep {
			t.Errorf("KeepLast %v: beta %v, kept %v", keep, f.on("beta"), f.loader.Status().Kept)
		}
	}
}

// TestStoredKnowledgeIsLoggedOnce: which flags look at what only the server knows is logged
// when it changes, not with each load.
func TestStoredKnowledgeIsLoggedOnce(t *testing.T) {
	needs := func(id, key string) string {
		return `{"id":` + id + `,"key":"` + key + `","active":true,"filters":{"groups":[{"properties":[{"key":"plan","type":"person","operator":"exact","value":"pro"}]}]}}`
	}
	var document atomic.Value
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"flags":[` + document.Load().(string) + `]}`))
	}))
	defer server.Close()
	f := loaderOf(t, source.Remote{URL: server.URL, SecretKey: "phs_x", Poll: true})
	for i, tt := range []struct {
		flags string
		lines int
	}{
		{needs("1", "a"), 1},
		{needs("1", "a") + `,{"id":2,"key":"b"}`, 0},
		{needs("1", "a") + "," + needs("2", "b"), 1},
		{needs("1", "a") + "," + needs("2", "b") + `,{"id":3,"key":"c"}`, 0},
	} {
		document.Store(tt.flags)
		if lines := f.refresh("only the server knows"); len(lines) != tt.lines {
			t.Errorf("load %d logs %q, want %d lines", i, lines, tt.lines)
		}
	}
}

// TestFailuresAreCounted: a failure that goes on is one line, and a count after a while.
func TestFailuresAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		remote := &fakeRemote{identity: "x"}
		remote.set("", "", errNumbered(1))
		var log bytes.Buffer
		l := source.NewLoader(new(flags.Evaluator), remoteSource{remote}, source.LoaderConfig{Interval: time.Minute, Log: slog.New(slog.NewTextHandler(&log, nil))})
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = l.Run(ctx)
		}()
		for i := range 15 {
			remote.set("", "", errNumbered(i)) // as with the ports of a connection
			time.Sleep(time.Minute)
		}
		remote.set(`{"flags":[]}`, "1", nil)
		time.Sleep(2 * time.Minute)
		stop()
		<-done
		text := log.String()
		if strings.Count(text, "cannot be loaded") != 2 || strings.Count(text, "failures=1") < 1 || strings.Count(text, "can be loaded again") != 1 {
			t.Errorf("logged:\n%s\nwant the failure, once more with a count, and its end", text)
		}
	})
}

type errNumbered int

func (e errNumbered) Error() string {
	return "dial tcp 127.0.0.1:" + strings.Repeat("7", int(e)%3+1) + ": refused"
}

// remoteSource is a Source of a fakeRemote.
type remoteSource struct{ *fakeRemote }

func (r remoteSource) Load(ctx context.Context, have string) (*flags.Definitions, string, error) {
	document, version, err := r.Document(ctx, have)
	if err != nil {
		return nil, version, err
	}
	d, err := flags.Decode(bytes.NewReader(document))
	return d, version, err
}
