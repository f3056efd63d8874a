package server_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/flagstaff-go/flagstaff/server"
)

// brokenProjects fails in the way that the API key says.
type brokenProjects struct{}

func (brokenProjects) Project(_ context.Context, apiKey string) (*server.Project, error) {
	switch apiKey {
	case "slow":
		return nil, fmt.Errorf("query: %w", context.DeadlineExceeded)
	case "gone":
		return nil, fmt.Errorf("query: %w", context.Canceled)
	case "panic":
		panic("with the secret hunter2")
	case "index":
		return []*server.Project{}[len(apiKey)], nil
	}
	return nil, errors.New("connection refused")
}

// TestErrorOrder: a request with several faults gets the first one in the order of
// evaluation.md §11.5.
func TestErrorOrder(t *testing.T) {
	// Each step has all faults except the faults of the steps before it.
	full := server.Limit{PerSecond: 0.001, Burst: 1}
	open := func(*server.Config) {}
	byIP := func(c *server.Config) { c.RateLimit.IP = full }
	byKey := func(c *server.Config) { c.RateLimit.Project = full }
	noQuota := func(c *server.Config) { c.Quota = new(fakeQuota) }

	for _, tt := range []struct {
		name   string
		change []func(*server.Config)
		call   call
		status int
		text   string
	}{
		{"method before IP limit", []func(*server.Config){byIP, byKey, noQuota}, call{method: "PUT", target: "/flags?compression=x", body: "{"}, 405, "method_not_allowed"},
		{"IP limit before body", []func(*server.Config){byIP, byKey, noQuota}, call{target: "/flags?compression=x", body: "{"}, 429, "rate_limit_exceeded"},
		{"body before token", []func(*server.Config){byKey, noQuota}, call{target: "/flags?compression=x", body: `{"token":"phc_demo"}`}, 400, "Unsupported compression"},
		{"token limit before fields", []func(*server.Config){byKey, noQuota}, call{body: `{"token":"phc_demo","groups":[]}`}, 429, "rate_limit_exceeded"},
		{"fields before token", []func(*server.Config){noQuota}, call{body: `{"token":"phc_other","groups":[]}`}, 400, "invalid JSON"},
		{"fields before missing token", []func(*server.Config){noQuota}, call{body: `{"groups":[]}`}, 400, "invalid JSON"},
		{"token before person", []func(*server.Config){noQuota}, call{body: `{}`}, 401, "not_authenticated"},
		{"empty token", []func(*server.Config){noQuota}, call{body: `{"token":""}`}, 401, "not_authenticated"},
		{"team before person", []func(*server.Config){noQuota}, call{body: `{"token":"phc_other"}`}, 401, "authentication_failed"},
		{"team before disable_flags", []func(*server.Config){noQuota}, call{body: `{"token":"phc_other","disable_flags":true}`}, 401, "authentication_failed"},
		{"person before quota", []func(*server.Config){noQuota}, call{body: `{"token":"phc_demo"}`}, 400, "distinct_id field is missing"},
		{"disable_flags before person and quota", []func(*server.Config){noQuota}, call{body: `{"token":"phc_demo","disable_flags":true}`}, 200, `{"flags":{},"errorsWhileComputingFlags":false,"requestId"`},
		{"quota", []func(*server.Config){noQuota}, call{body: simple}, 200, `{"flags":{},"errorsWhileComputingFlags":false,"quotaLimited":["feature_flags"],"requestId"`},
		{"nothing wrong", []func(*server.Config){open}, call{body: simple}, 200, `"flag-bool"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newServer(t, func(c *server.Config) {
				for _, change := range tt.change {
					change(c)
				}
				c.Projects = registry(t)
				if c.Quota != nil {
					c.Quota = &fakeQuota{left: map[string]int{"acme": 1}}
				}
			})
			call{body: simple}.ok(t, s) // uses up limits and quota
			resp := tt.call.do(s)
			if body := bodyText(t, resp); resp.StatusCode != tt.status || !strings.Contains(body, tt.text) {
				t.Errorf("%d %s, want %d %s", resp.StatusCode, body, tt.status, tt.text)
			}
		})
	}
}

func TestBackendErrors(t *testing.T) {
	for key, status := range map[string]int{"slow": 504, "gone": 408, "down": 503, "panic": 500, "index": 500} {
		var log bytes.Buffer
		s := newServer(t, func(c *server.Config) {
			c.Projects, c.Log = brokenProjects{}, slog.New(slog.NewTextHandler(&log, nil))
		})
		resp := call{header: map[string]string{"X-Request-Id": requestID}, body: `{"token":"` + key + `","distinct_id":"u"}`}.do(s)
		body := bodyText(t, resp)
		if resp.StatusCode != status || strings.Contains(body, "refused") {
			t.Errorf("%s: %d %s, want %d", key, resp.StatusCode, body, status)
		}
		if status == 500 && !strings.Contains(body, requestID) {
			t.Errorf("%s: no request id in %s", key, body)
		}
		if status >= 500 && !strings.Contains(log.String(), requestID) {
			t.Errorf("%s: log %s", key, log.String())
		}
		if status == 503 && resp.Header.Get("Retry-After") == "" {
			t.Errorf("%s: no Retry-After", key)
		}
	}
}

// TestPanic: a panic costs one request, and the log tells where it was, but not
// what it said.
func TestPanic(t *testing.T) {
	var log bytes.Buffer
	s := newServer(t, func(c *server.Config) {
		c.Projects, c.Log = brokenProjects{}, slog.New(slog.NewTextHandler(&log, nil))
	})
	srv := httptest.NewServer(s)
	defer srv.Close()
	for range 3 {
		resp, err := http.Post(srv.URL+"/flags?v=2", "application/json", strings.NewReader(`{"token":"panic","distinct_id":"hunter2"}`))
		if err != nil {
			t.Fatal(err)
		}
		body := bodyText(t, resp)
		resp.Body.Close()
		if resp.StatusCode != 500 || strings.Contains(body, "hunter2") || resp.Header.Get("Access-Control-Allow-Origin") != "*" {
			t.Errorf("%d %s %v", resp.StatusCode, body, resp.Header)
		}
	}
	got := log.String()
	if strings.Contains(got, "hunter2") || !strings.Contains(got, "brokenProjects") || !strings.Contains(got, "value=string") {
		t.Errorf("log: %s", got)
	}
	log.Reset()
	call{body: `{"token":"index","distinct_id":"hunter2"}`}.do(s)
	if !strings.Contains(log.String(), "index out of range") {
		t.Errorf("log: %s", log.String())
	}
}

// TestAbort: http.ErrAbortHandler is for net/http, and no cause to log.
func TestAbort(t *testing.T) {
	var log bytes.Buffer
	s := newServer(t, func(c *server.Config) {
		c.Ready = func(context.Context) error { panic(http.ErrAbortHandler) }
		c.Log = slog.New(slog.NewTextHandler(&log, nil))
	})
	defer func() {
		if v := recover(); v != http.ErrAbortHandler || log.Len() > 0 {
			t.Errorf("recovered %v, log %s", v, log.String())
		}
	}()
	call{method: "GET", target: "/readyz"}.do(s)
}

// TestPanicAfterAnswer: a client can see that an answer was broken off.
func TestPanicAfterAnswer(t *testing.T) {
	s := newServer(t, nil)
	defer func() {
		if v := recover(); v != http.ErrAbortHandler {
			t.Errorf("recovered %v", v)
		}
		call{body: simple}.ok(t, s)
	}()
	s.ServeHTTP(panickingWriter{httptest.NewRecorder()}, call{body: simple}.request())
}

type panickingWriter struct{ http.ResponseWriter }

func (panickingWriter) Write([]byte) (int, error) { panic("broken") }

// TestSecrets: whatever is wrong with a request, neither the answer nor the log
// quotes it.
func TestSecrets(t *testing.T) {
	var log bytes.Buffer
	failing := errors.New("store is down")
	s := newServer(t, func(c *server.Config) {
		c.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		c.Store = fakeStore{&fakeProperties{err: failing}, &fakeOverrides{err: failing}, &fakeCohorts{err: failing}}
		c.MaxBody = 5000
		c.RateLimit.Project = server.Limit{PerSecond: 1, Burst: 8}
	})
	const secret = "hunter2"
	for range 3 {
		for _, c := range []call{
			{body: `{"token":"hunter2","distinct_id":"hunter2"}`},
			{body: `{"token":"hunter2","distinct_id":{"hunter2":1}}`},
			{body: `{"token":"phc_demo","person_properties":{"email":"hunter2"}}`},
			{body: `{"token":"phc_demo","distinct_id":"hunter2","groups":{"company":"hunter2"},"person_properties":{"email":"hunter2"}}`},
			{body: `{"token":"phc_demo","distinct_id":"hunter2","groups":["hunter2"]}`},
			{body: `hunter2`},
			{body: `{"hunter2":hunter2`},
			{body: `["hunter2"]`},
			{target: "/flags?compression=hunter2", body: simple},
			{target: "/flags?compression=base64", body: "!hunter2"},
			{target: "/flags?compression=lz64", body: "!hunter2"},
			{header: map[string]string{"Content-Type": "hunter2"}, body: simple},
			{target: "/hunter2", body: simple},
			{method: "HUNTER2hunter2", body: simple},
			{body: `{"token":"hunter2` + strings.Repeat(" ", 5000)},
		} {
			resp := c.do(s)
			if body := bodyText(t, resp); strings.Contains(body, secret) {
				t.Errorf("%+v: %s", c, body)
			}
		}
	}
	if strings.Contains(log.String(), secret) || !strings.Contains(log.String(), "store is down") {
		t.Errorf("log: %s", log.String())
	}
}

// TestNoRedirects: redirects lose bodies (wire.md §0.4).
func TestNoRedirects(t *testing.T) {
	s := newServer(t, nil)
	for _, path := range []string{
		"/", "/flags//", "//flags", "//flags/", "/./flags", "/flags/.", "/flags/..", "/x/../flags", "/flags%2F", "/%2Fflags", "/flags/x",
		"/Flags", "/decide/x", "/metrics//", "/healthz/", "/flags/%2e%2e/", "/.", "/..", "/flags;x", "*", "/flags/\u00e9",
	} {
		for _, method := range []string{"POST", "GET", "OPTIONS", "HEAD", "CONNECT"} {
			r := call{method: method, body: simple}.request()
			r.URL.Path, r.URL.RawPath = path, ""
			if unescaped, ok := strings.CutSuffix(path, "%2F"); ok {
				r.URL.Path, r.URL.RawPath = unescaped+"/", path
			}
			w := httptest.NewRecorder()
			s.ServeHTTP(w, r)
			if w.Code >= 300 && w.Code < 400 {
				t.Errorf("%s %s = %d to %s", method, path, w.Code, w.Header().Get("Location"))
			}
		}
	}
	// Below a prefix.
	h := http.StripPrefix("/ph", s)
	for path, want := range map[string]int{"/ph/flags/?v=2": 200, "/ph/flags": 200, "/ph": 404, "/ph/": 404} {
		if resp := (call{target: path, body: simple}).do(h); resp.StatusCode != want {
			t.Errorf("%s = %d, want %d", path, resp.StatusCode, want)
		}
	}
}

// TestKeepAlive: after an error the connection can be used again, unless the
// body was not read.
func TestKeepAlive(t *testing.T) {
	srv := httptest.NewServer(newServer(t, func(c *server.Config) { c.MaxBody = 1000 }))
	defer srv.Close()
	client := srv.Client()
	for _, tt := range []struct {
		body      string
		status    int
		wantClose bool
	}{
		{simple, 200, false},
		{"{", 400, false},
		{`{}`, 401, false},
		{padded(1001), 413, true},
		{simple, 200, false},
	} {
		resp, err := client.Post(srv.URL+"/flags", "application/json", strings.NewReader(tt.body))
		if err != nil {
			t.Fatal(err)
		}
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		if resp.StatusCode != tt.status || resp.Close != tt.wantClose {
			t.Errorf("%.20s: %d, close %v, want %d, %v", tt.body, resp.StatusCode, resp.Close, tt.status, tt.wantClose)
		}
	}
}
