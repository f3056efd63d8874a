package source_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/flags/source"
)

func Example() {
	dir, err := os.MkdirTemp("", "flags")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "flags.json")
	document := `{"flags": [{"id": 1, "key": "new-checkout", "active": true, "filters": {"groups": [{}]}}]}`
	if err := os.WriteFile(path, []byte(document), 0o600); err != nil {
		log.Fatal(err)
	}

	var evaluator flags.Evaluator
	loader := source.NewLoader(&evaluator, source.File{Path: path}, source.LoaderConfig{})
	defer loader.Close()
	ctx := context.Background()
	if err := loader.Refresh(ctx); err != nil {
		log.Fatal(err)
	}
	go loader.Run(ctx) // follows the file from now on

	fmt.Println(evaluator.Bool("new-checkout", &flags.Request{DistinctID: "user-1"}, false))
	// Output: true
}

// A bucket is a Source of your own: definitions in an object store. It is an Originator
// and a Pacer as well.
type bucket struct{ objects map[string]string }

func (b bucket) Load(_ context.Context, have string) (*flags.Definitions, string, error) {
	document := b.objects["flags.json"]
	version := fmt.Sprintf("%x", sha256.Sum256([]byte(document)))
	if version == have {
		return nil, have, source.ErrNotModified
	}
	d, err := flags.Decode(strings.NewReader(document))
	return d, version, err
}

func (bucket) Origin() string { return "bucket" }

func (bucket) Pace() (interval, maxBackoff time.Duration) { return time.Minute, 10 * time.Minute }

func ExampleSource() {
	objects := map[string]string{
		"flags.json": `{"flags": [{"key": "new-checkout", "active": true, "filters": {"groups": [{}]}}]}`,
	}
	var evaluator flags.Evaluator
	loader := source.NewLoader(&evaluator, bucket{objects}, source.LoaderConfig{Log: slog.New(slog.DiscardHandler)})
	defer loader.Close()
	if err := loader.Refresh(context.Background()); err != nil {
		log.Fatal(err)
	}
	fmt.Println(evaluator.Bool("new-checkout", nil, false), loader.Status().Origin)
	// Output: true bucket
}

func ExampleRemote() {
	// The answer of a server to GET /flags/definitions.
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `W/"1"`)
		io.WriteString(w, `{"flags": [{"id": 1, "key": "new-checkout", "active": true, "filters": {"groups": [{}]}}]}`)
	}))
	dir, err := os.MkdirTemp("", "flags")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	// The definitions are kept on disk, for starts without the server.
	from := source.Cached{
		Source: source.Remote{URL: server.URL, ProjectKey: "phc_demo", SecretKey: "phs_demo"},
		Path:   filepath.Join(dir, "flags"),
	}
	for range 2 { // one process, and the next one
		var evaluator flags.Evaluator
		loader := source.NewLoader(&evaluator, from, source.LoaderConfig{})
		if err := loader.Refresh(context.Background()); err != nil {
			log.Fatal(err)
		}
		status := loader.Status()
		age := time.Since(status.Fetched)
		fmt.Println(evaluator.Bool("new-checkout", nil, false), status.Origin, age < time.Hour, status.Err != nil)
		server.Close()
	}
	// Output:
	// true remote true false
	// true cache true true
}

func ExampleLoader_RemoteResults() {
	// A server whose static cohort 3 has one member, of whom its definitions say
	// nothing.
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/flags" {
			io.WriteString(w, `{"flags": {"beta": {"key": "beta", "enabled": true}}}`)
			return
		}
		io.WriteString(w, `{"flags": [{"id": 1, "key": "beta", "active": true, "filters": {"groups": [
			{"properties": [{"key": "id", "type": "cohort", "operator": "in", "value": 3}]}]}}], "static_cohorts": [3]}`)
	}))
	defer server.Close()

	var evaluator flags.Evaluator
	loader := source.NewLoader(&evaluator, source.Remote{
		URL: server.URL, ProjectKey: "phc_demo", SecretKey: "phs_demo", Evaluate: true,
	}, source.LoaderConfig{Log: slog.New(slog.DiscardHandler)})
	if err := loader.Refresh(context.Background()); err != nil {
		log.Fatal(err)
	}
	fmt.Println("needs", evaluator.Snapshot().NeedsOf("beta"))

	request := &flags.Request{DistinctID: "user-1"}
	fmt.Println(evaluator.Bool("beta", request, false))
	request.RemoteResults = loader.RemoteResults(context.Background(), request)
	fmt.Println(evaluator.Bool("beta", request, false))
	// Output:
	// needs membership in the cohorts 3
	// false
	// true
}
