package main_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
)

// A library is one way to evaluate flags in-process.
type library struct {
	name    string
	regexps bool // its conditions know regular expressions
	events  bool // it reports evaluations by itself

	// prepare writes flags in the library's own terms, outside of what is
	// measured, and returns how a program opens them. With events they are
	// reported to a receiver that forgets them, or else nowhere.
	prepare func(tb testing.TB, flags []flag, events bool) (open func() engine)
}

var libraries = []library{
	{"flagstaff-sha1", true, true, flagstaff("sha1")},
	{"flagstaff-xxhash64", true, true, flagstaff("xxhash64")},
	{"yardstick-sha1", true, false, yardstick(false)},
	{"yardstick-xxhash64", true, false, yardstick(true)},
	{"configcat", false, false, configCat},
	{"growthbook", true, true, growthBook},
	{"posthog", true, true, postHog},
	{"launchdarkly-engine", true, false, launchDarklyEngine},
	{"launchdarkly-sdk", true, true, launchDarklySDK},
	{"unleash", false, true, unleashClient},
	{"go-feature-flag", false, true, goFeatureFlag},
	{"flagd", false, false, flagdCore},
}

// An engine holds definitions and is ready to evaluate them.
type engine interface {
	// subject makes of a person what the library wants to know about it.
	// Programs do so once a request.
	subject(p person) subject
	close()
}

// A subject evaluates flags for one person by the library's public API.
type subject interface {
	enabled(key string) bool
	variant(key string) string

	// all evaluates all flags, looks at each value and counts those that are
	// enabled.
	all() int
}

// countEnabled is all of libraries that only evaluate one flag at a time.
func countEnabled(s subject, keys []string) int {
	n := 0
	for _, key := range keys {
		if s.enabled(key) {
			n++
		}
	}
	return n
}

func keysOf(flags []flag) []string {
	keys := make([]string, len(flags))
	for i, f := range flags {
		keys[i] = f.key
	}
	return keys
}

// share is what a flag's variants have each, of a whole.
func (f flag) share(whole float64) float64 { return whole / float64(len(f.variants)) }

// object is a JSON object.
type object = map[string]any

func encode(tb testing.TB, v any) []byte {
	tb.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

// file writes a file for libraries that read their definitions from one.
func file(tb testing.TB, content []byte) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "flags.json")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		tb.Fatal(err)
	}
	return path
}

// delivered counts what arrived where events go: events, or bytes of them.
var delivered atomic.Int64

// A receiver is the transport of libraries that report by HTTP: it reads what it
// is sent, forgets it, and answers with its status.
type receiver int

func (status receiver) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		n, err := io.Copy(io.Discard, r.Body)
		if err != nil {
			return nil, err
		}
		delivered.Add(n)
		if err := r.Body.Close(); err != nil {
			return nil, err
		}
	}
	return &http.Response{
		Status: http.StatusText(int(status)), StatusCode: int(status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: make(http.Header), Body: io.NopCloser(bytes.NewReader([]byte("{}"))), Request: r,
	}, nil
}
