package server_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"strings"
	"testing"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/server"
)

const (
	apiKey    = "phc_demo"
	requestID = "5b2f0f0e-6d0a-4f2e-9a55-0f2e1f7c9d11"
)

// compile reads testdata/definitions.json.
func compile(t testing.TB) *flags.Snapshot {
	t.Helper()
	b, err := os.ReadFile("testdata/definitions.json")
	if err != nil {
		t.Fatal(err)
	}
	return compileText(t, string(b))
}

func compileText(t testing.TB, document string) *flags.Snapshot {
	t.Helper()
	d, err := flags.Decode(strings.NewReader(document))
	if err != nil {
		t.Fatal(err)
	}
	s, err := flags.Compile(d, flags.CompileOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// registry has one project with the test definitions.
func registry(t testing.TB) *server.Registry {
	t.Helper()
	e := new(flags.Evaluator)
	e.Swap(compile(t))
	r := new(server.Registry)
	r.Set(apiKey, &server.Project{ID: 7, Name: "Demo", Organization: "acme", Flags: e})
	return r
}

// newServer returns a Server for the test project; change may be nil.
func newServer(t testing.TB, change func(*server.Config)) *server.Server {
	t.Helper()
	c := server.Config{Projects: registry(t)}
	if change != nil {
		change(&c)
	}
	s, err := server.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A call is a request to a handler. The zero call is POST /flags?v=2 as JSON from
// a server SDK.
type call struct {
	method, target string
	header         map[string]string // "" takes a header away
	body           string
	remote         string
}

func (c call) request() *http.Request {
	if c.method == "" {
		c.method = http.MethodPost
	}
	if c.target == "" {
		c.target = "/flags?v=2"
	}
	r := httptest.NewRequest(c.method, c.target, strings.NewReader(c.body))
	if c.body == "" {
		r.Body, r.ContentLength = http.NoBody, 0
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "posthog-go/1.23.1")
	for name, value := range c.header {
		r.Header.Del(name)
		if value != "" {
			r.Header[http.CanonicalHeaderKey(name)] = []string{value}
		}
	}
	if c.remote != "" {
		r.RemoteAddr = c.remote
	}
	return r
}

// do sends the request straight to the handler.
func (c call) do(h http.Handler) *http.Response {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, c.request())
	return w.Result()
}

func bodyText(t testing.TB, resp *http.Response) string {
	t.Helper()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// A problem is the body of an answer to a request that is refused.
type problem struct {
	Type, Code, Detail string
	Attr               *string
}

// refusal decodes the body of an answer, which is JSON with the four members of a
// problem and nothing else.
func refusal(t testing.TB, resp *http.Response) (p problem) {
	t.Helper()
	body := bodyText(t, resp)
	d := json.NewDecoder(strings.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(&p); err != nil || p.Type == "" || p.Code == "" || p.Detail == "" || strings.Count(body, `":`) != 4 {
		t.Errorf("%d %s: %v, want type, code, detail and attr", resp.StatusCode, body, err)
	}
	if ct := resp.Header.Get("Content-Type"); ct != "application/json" {
		t.Errorf("Content-Type %q", ct)
	}
	return p
}

// An answer is what answers have in common.
type answer struct {
	Flags map[string]struct {
		Key        string
		Enabled    bool
		Variant    *string
		Failed     bool
		Reason     map[string]any
		Metadata   map[string]any
		Conditions []map[string]any
	}
	FeatureFlags              any
	FeatureFlagPayloads       map[string]any
	ErrorsWhileComputingFlags *bool
	QuotaLimited              []string
	RequestID                 string
	EvaluatedAt               int64
}

// ok sends the request and decodes an answer with status 200.
func (c call) ok(t testing.TB, h http.Handler) answer {
	t.Helper()
	resp := c.do(h)
	body := bodyText(t, resp)
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("%s %s with %.200q = %d %s", c.method, c.target, c.body, resp.StatusCode, body)
	}
	var a answer
	d := json.NewDecoder(strings.NewReader(body))
	if err := d.Decode(&a); err != nil {
		t.Fatalf("answer to %.200q: %v\n%s", c.body, err, body)
	}
	return a
}

// enabled reports whether a flag is in the answer and on.
func (a answer) enabled(key string) bool { return a.Flags[key].Enabled }

func (a answer) has(key string) bool {
	_, ok := a.Flags[key]
	return ok
}

const simple = `{"api_key":"phc_demo","distinct_id":"user-1"}`

func TestNewErrors(t *testing.T) {
	projects := new(server.Registry)
	for _, tt := range []struct {
		name   string
		config server.Config
	}{
		{"no projects", server.Config{}},
		{"negative MaxBody", server.Config{Projects: projects, MaxBody: -1}},
		{"negative StoreTimeout", server.Config{Projects: projects, StoreTimeout: -1}},
		{"negative MaxDecoded", server.Config{Projects: projects, MaxDecoded: -1}},
		{"rate without burst", server.Config{Projects: projects, RateLimit: server.RateLimit{IP: server.Limit{PerSecond: 1}}}},
		{"burst without rate", server.Config{Projects: projects, RateLimit: server.RateLimit{Project: server.Limit{Burst: 1}}}},
		{"negative rate", server.Config{Projects: projects, RateLimit: server.RateLimit{Project: server.Limit{PerSecond: -1, Burst: 1}}}},
		{"invalid proxy", server.Config{Projects: projects, TrustedProxies: make([]netip.Prefix, 1)}},
		{"negative Management.MaxBody", server.Config{Projects: projects, Management: server.ManagementConfig{MaxBody: -1}}},
		{"negative Management.MaxUpload", server.Config{Projects: projects, Management: server.ManagementConfig{MaxUpload: -1}}},
		{"origin with path", server.Config{Projects: projects, Management: server.ManagementConfig{Origins: []string{"https://app.example/"}}}},
		{"any origin", server.Config{Projects: projects, Management: server.ManagementConfig{Origins: []string{"*"}}}},
		{"AppURL without scheme", server.Config{Projects: projects, Management: server.ManagementConfig{AppURL: "app.example"}}},
		{"AppURL of a script", server.Config{Projects: projects, Management: server.ManagementConfig{AppURL: "javascript://app.example"}}},
		{"AppURL with query", server.Config{Projects: projects, Management: server.ManagementConfig{AppURL: "https://app.example/?a=1"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if s, err := server.New(tt.config); err == nil || s != nil {
				t.Errorf("New = %v, %v, want an error", s, err)
			}
		})
	}
}

func TestRegistry(t *testing.T) {
	var r server.Registry
	has := func(key string, want *server.Project) {
		t.Helper()
		got, err := r.Project(t.Context(), key)
		if got != want || (want == nil) != (err == server.ErrUnknownProject) {
			t.Errorf("Project(%q) = %v, %v, want %v", key, got, err, want)
		}
	}
	a, b := &server.Project{ID: 1}, &server.Project{ID: 2}
	has("a", nil)
	r.Set("a", a)
	r.Set("a2", a)
	r.Set("b", b)
	has("a", a)
	has("a2", a)
	has("b", b)
	n := 0
	for range r.All() {
		n++
	}
	if n != 2 {
		t.Errorf("All yields %d projects, want 2", n)
	}
	for range r.All() {
		break // must not panic
	}
	r.Delete("a")
	has("a", nil)
	has("a2", a)
	projects := map[string]*server.Project{"c": b}
	r.Replace(projects)
	projects["d"] = a
	has("a2", nil)
	has("c", b)
	has("d", nil)
}

// TestNotReady: a project whose definitions were not loaded yet answers without
// flags, so that clients keep what they have.
func TestNotReady(t *testing.T) {
	projects := new(server.Registry)
	projects.Set("empty", &server.Project{ID: 1, Flags: new(flags.Evaluator)})
	projects.Set("nil", &server.Project{ID: 2})
	s := newServer(t, func(c *server.Config) {
		c.Projects = projects
		c.Store, c.Geo = fakeStore{fakeProperties: new(fakeProperties)}, fakeGeo{}
	})
	for _, key := range []string{"empty", "nil"} {
		for _, target := range []string{"/flags?v=2", "/flags?v=1", "/flags?v=2&detailed_analysis=true", "/decide"} {
			a := call{target: target, body: `{"token":"` + key + `","distinct_id":"u"}`}.ok(t, s)
			if len(a.Flags) != 0 || !*a.ErrorsWhileComputingFlags {
				t.Errorf("%s of project %q = %+v", target, key, a)
			}
		}
	}
}

// TestWrittenOnce: an answer is one write with its length.
func TestWrittenOnce(t *testing.T) {
	s := newServer(t, nil)
	for _, c := range []call{{body: simple}, {body: "{"}, {method: "GET"}, {method: "OPTIONS"}, {method: "HEAD"}, {target: "/nowhere"}, {method: "GET", target: "/healthz"}} {
		w := &countingWriter{header: make(http.Header)}
		s.ServeHTTP(w, c.request())
		if w.headers != 1 || w.writes > 1 {
			t.Errorf("%+v: %d headers, %d writes", c, w.headers, w.writes)
		}
		length, want := w.header.Get("Content-Length"), bytes.Count(w.body, nil)-1
		if c.method != "OPTIONS" && length == "" || want > 0 && length == "" {
			t.Errorf("%+v: no Content-Length for %d bytes", c, want)
		}
	}
}

type countingWriter struct {
	header          http.Header
	body            []byte
	headers, writes int
}

func (w *countingWriter) Header() http.Header { return w.header }
func (w *countingWriter) WriteHeader(int)     { w.headers++ }
func (w *countingWriter) Write(b []byte) (int, error) {
	w.writes++
	w.body = append(w.body, b...)
	return len(b), nil
}
