package api_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/cmd/internal/api"
)

func Example() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `{"key":"new-checkout","path":%q}`, r.URL.Path)
	}))
	defer server.Close()
	client, err := api.New(api.Config{URL: server.URL, Key: "phx_example"})
	if err != nil {
		fmt.Println(err)
		return
	}
	var flag struct{ Key, Path string }
	if err := client.Get(context.Background(), client.InProject("feature_flags", "new-checkout"), &flag); err != nil {
		fmt.Println(err)
	}
	fmt.Println(flag.Key, flag.Path)
	// Output: new-checkout /api/projects/@current/feature_flags/new-checkout/
}

// TestNew: what the program's wrong uses have no row for.
func TestNew(t *testing.T) {
	for _, tt := range []struct {
		c    api.Config
		want string // part of the error, "" for none
	}{
		{api.Config{URL: "https://h?a=1", Key: "phx_s3cret"}, "without query and fragment"},
		{api.Config{URL: "https://h"}, "there is no personal API key"},
		{api.Config{URL: "http://h:8000", Key: "phx_s3cret"}, "the key would go unencrypted to h:8000: use https"},
		{api.Config{URL: "http://h", Key: "phx_s3cret", Insecure: true}, ""},
		{api.Config{URL: "http://127.0.0.1:8000", Key: "phx_s3cret"}, ""},
		{api.Config{URL: "http://localhost", Key: "phx_s3cret"}, ""},
		{api.Config{URL: "https://h/flags/", Key: "phx_s3cret"}, ""},
	} {
		if _, err := api.New(tt.c); (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: error %v, want %q", tt.c, err, tt.want)
		}
	}
}

// A server answers the requests of a test one after another.
type server struct {
	*httptest.Server
	answers []func(w http.ResponseWriter, r *http.Request)
	seen    []string // method, path, and body
}

func serve(t *testing.T, answers ...func(w http.ResponseWriter, r *http.Request)) *server {
	s := &server{answers: answers}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		s.seen = append(s.seen, strings.TrimSpace(fmt.Sprint(r.Method, " ", r.RequestURI, " ", string(body))))
		if got := r.Header.Get("Authorization"); got != "Bearer phx_s3cret" {
			t.Errorf("Authorization is %q", got)
		}
		if len(s.answers) == 0 {
			t.Errorf("one request too many: %s", s.seen[len(s.seen)-1])
			return
		}
		answer := s.answers[0]
		s.answers = s.answers[1:]
		answer(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

// client returns a client whose pauses only are noted.
func (s *server) client(t *testing.T) (*api.Client, *[]time.Duration) {
	t.Helper()
	var pauses []time.Duration
	c, err := api.New(api.Config{URL: s.URL + "/", Key: "phx_s3cret", Project: "7", Wait: func(ctx context.Context, d time.Duration) error {
		pauses = append(pauses, d)
		return ctx.Err()
	}})
	if err != nil {
		t.Fatal(err)
	}
	return c, &pauses
}

// says answers with a status and a body.
func says(status int, body string, header ...string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
		io.WriteString(w, body)
	}
}

func TestErrors(t *testing.T) {
	for _, tt := range []struct {
		name   string
		answer func(http.ResponseWriter, *http.Request)
		want   string
	}{
		{"a field", says(400, `{"type":"validation_error","code":"required","detail":"This field is required.","attr":"key"}`), "the server refuses POST /api/x/ with status 400: key: This field is required."},
		{"no field", says(404, `{"type":"invalid_request","code":"not_found","detail":"Not found.","attr":null}`), "the server refuses POST /api/x/ with status 404: Not found."},
		{"an object as detail", says(409, `{"detail":{"a":1}}`), `the server refuses POST /api/x/ with status 409: {"a":1}`},
		{"another server", says(405, `<html>`), "the server refuses POST /api/x/ with status 405: Method Not Allowed"},
		{"control characters", says(403, `{"detail":"a\u001b[31m\nb"}`), "the server refuses POST /api/x/ with status 403: a [31m b"},
		{"a redirect", says(302, ``, "Location", "https://elsewhere.example/"), "the server at HOST sends the client elsewhere, to https://elsewhere.example/: give the address of the server itself"},
		{"no JSON", says(200, `<html>`), "the answer of HOST to POST /api/x/ is not what the management API sends: invalid character '<' looking for beginning of value; is it a Flagstaff server?"},
		{"a gateway", says(502, ``), "the server refuses POST /api/x/ with status 502: Bad Gateway"},
		{"long waiting", says(429, `{"detail":"Slow down."}`, "Retry-After", "3600"), "the server refuses POST /api/x/ with status 429: Slow down."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := serve(t, tt.answer)
			c, _ := s.client(t)
			var into map[string]any
			err := c.Send(t.Context(), "POST", "/api/x/", map[string]int{"a": 1}, &into)
			if err == nil {
				t.Fatal("no error")
			}
			got := strings.ReplaceAll(err.Error(), strings.TrimPrefix(s.URL, "http://"), "HOST")
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if strings.Contains(err.Error(), "s3cret") {
				t.Errorf("the key is in %q", err)
			}
		})
	}
}

func TestRetries(t *testing.T) {
	busy, ok := says(429, `{"detail":"Slow down."}`, "Retry-After", "7"), says(200, `{}`)
	s := serve(t, busy, says(503, ``), ok)
	c, pauses := s.client(t)
	if err := c.Send(t.Context(), "POST", "/api/x/", []int{1}, nil); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]time.Duration{7 * time.Second, 2 * time.Second}, *pauses); diff != "" {
		t.Errorf("pauses (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff([]string{"POST /api/x/ [1]", "POST /api/x/ [1]", "POST /api/x/ [1]"}, s.seen); diff != "" {
		t.Errorf("requests (-want +got)\n%s", diff)
	}

	s = serve(t, says(502, ``), says(504, ``), busy, busy)
	c, pauses = s.client(t)
	err := c.Get(t.Context(), "/api/x/", nil)
	if refused, ok := errors.AsType[*api.Error](err); !ok || refused.Status != 429 || refused.RetryAfter != 7*time.Second {
		t.Errorf("error is %v, want the last answer", err)
	}
	if len(*pauses) != 3 {
		t.Errorf("%d pauses, want 3", len(*pauses))
	}

	ctx, cancel := context.WithCancel(t.Context())
	s = serve(t, func(w http.ResponseWriter, r *http.Request) { cancel(); busy(w, r) })
	c, _ = s.client(t)
	if err := c.Get(ctx, "/api/x/", nil); err == nil {
		t.Error("no error after ctx has ended")
	}
}

func TestList(t *testing.T) {
	page := func(n int, next string, from int) func(http.ResponseWriter, *http.Request) {
		var results []int
		for i := range n {
			results = append(results, from+i)
		}
		b, _ := json.Marshal(map[string]any{"count": 250, "results": results, "next": map[bool]any{true: nil, false: next}[next == ""]})
		return says(200, string(b))
	}
	// The server takes another address for its own.
	s := serve(t, page(100, "https://own.example/2", 0), page(100, "https://own.example/3", 100), page(50, "", 200))
	c, _ := s.client(t)
	n := 0
	for i, err := range api.List[int](t.Context(), c, c.InProject("feature_flags"), nil) {
		if err != nil {
			t.Fatal(err)
		}
		if i != n {
			t.Errorf("entry %d is %d", n, i)
		}
		n++
	}
	if n != 250 {
		t.Errorf("%d entries, want 250", n)
	}
	want := []string{
		"GET /api/projects/7/feature_flags/?limit=100&offset=0",
		"GET /api/projects/7/feature_flags/?limit=100&offset=100",
		"GET /api/projects/7/feature_flags/?limit=100&offset=200",
	}
	if diff := cmp.Diff(want, s.seen); diff != "" {
		t.Errorf("requests (-want +got)\n%s", diff)
	}

	s = serve(t, page(100, "more", 0), says(403, `{"detail":"No."}`))
	c, _ = s.client(t)
	n = 0
	var err error
	for _, err = range api.List[int](t.Context(), c, "/api/x/", nil) {
		n++
	}
	if err == nil || n != 101 {
		t.Errorf("%d entries and errors, the last is %v", n, err)
	}

	s = serve(t, page(0, "more", 0))
	c, _ = s.client(t)
	for _, err := range api.List[int](t.Context(), c, "/api/x/", nil) {
		t.Errorf("an empty page that goes on yields %v", err)
	}
}

// TestPaths: names of users never change which route is meant.
func TestPaths(t *testing.T) {
	for name, want := range map[string]string{
		"a/b": "/api/x/a%2Fb/", "..": "/api/x/%2E%2E/", "a?b#c": "/api/x/a%3Fb%23c/", "ü 1.0": "/api/x/%C3%BC%201%2E0/",
	} {
		if diff := cmp.Diff(want, api.Path("x", name)); diff != "" {
			t.Errorf("%q (-want +got)\n%s", name, diff)
		}
	}
}

func TestText(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.Header.Get("Accept")+" is fine") })
	c, _ := s.client(t)
	got, err := c.Text(t.Context(), "POST", "/api/x/", map[string]string{"distinct_id": "ada"})
	if err != nil || got != "text/plain is fine" {
		t.Errorf("Text = %q, %v", got, err)
	}
	if diff := cmp.Diff([]string{`POST /api/x/ {"distinct_id":"ada"}`}, s.seen); diff != "" {
		t.Errorf("requests (-want +got)\n%s", diff)
	}
}

func TestNobodyThere(t *testing.T) {
	s := serve(t)
	c, _ := s.client(t)
	s.Close()
	err := c.Get(t.Context(), "/api/x/", nil)
	if err == nil || !strings.HasPrefix(err.Error(), "the server at 127.0.0.1:") || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("error is %v", err)
	}
}

// TestCopySilence: a server that falls silent in the middle of an answer is not waited
// for for ever.
func TestCopySilence(t *testing.T) {
	t.Parallel()
	over := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, "a part")
		_ = http.NewResponseController(w).Flush()
		<-over
	}))
	defer server.Close()
	defer close(over)
	c, err := api.New(api.Config{URL: server.URL, Key: "phx_key", Timeout: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	_, err = c.Copy(t.Context(), "/", "X-Count", &b)
	want := "the server at " + strings.TrimPrefix(server.URL, "http://") + " does not answer within 50ms"
	if err == nil || err.Error() != want || b.String() != "a part\n" {
		t.Errorf("Copy = %v after %q, want %s", err, b.String(), want)
	}
}
