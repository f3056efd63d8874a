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
	regexps bool // its conditions can have regular expressions
	events  bool // it reports evaluations itself

	// prepare writes flags in the library's format, outside of the measured
	// time, and returns a function that opens them as a program would. If
	// events is set, evaluations are reported to a receiver that discards them,
	// otherwise not at all.
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

// An engine has loaded its definitions and is ready to evaluate them.
type engine interface {
	// subject returns the library's representation of a person. Programs build
	// it once per request.
	subject(p person) subject
	close()
}

// A direct engine takes the properties of customer for one evaluation as its callers have
// them, without a map and without a subject.
type direct interface {
	enabledFor(key, id string) bool
}

// A subject evaluates flags for one person by the library's public API.
type subject interface {
	enabled(key string) bool
	variant(key string) string

	// all evaluates all flags, reads each value and counts the enabled flags.
	all() int
}

// countEnabled implements all for libraries that evaluate one flag at a time.
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

// share returns the share of each variant of a flag.
func (f flag) share(whole float64) float64 { return whole / float64(len(f.variants)) }

// An object is a JSON object.
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

// delivered counts the reported events, or their bytes.
var delivered atomic.Int64

// A receiver is the transport of libraries that report by HTTP: it reads and
// discards the request, and answers with its status.
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
