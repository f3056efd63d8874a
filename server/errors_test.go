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
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

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
		{"fields before token", []func(*server.Config){noQuota}, call{body: `{"token":"phc_other","groups":[]}`}, 400, "groups must be an object, not an array"},
		{"fields before missing token", []func(*server.Config){noQuota}, call{body: `{"groups":[]}`}, 400, "groups must be an object, not an array"},
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
// quotes it, but for parameters with a closed set of values (management.md §3.4).
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

// TestRuling45Errors: errors of /flags and of capture are JSON that names the field,
// what it is and what it must be (evaluation.md §11.5, wire.md §2.4).
func TestRuling45Errors(t *testing.T) {
	s, _ := newCapture(t, nil)
	const (
		flagsPath, capturePath = "/flags?v=2", "/i/v0/e/"
		invalid, request       = "validation_error", "invalid_request"
	)
	for _, tt := range []struct {
		target, body string
		status       int
		want         problem
	}{
		{flagsPath, "", 400, problem{request, "empty_body", "The request body is empty, want a JSON object with api_key and distinct_id.", nil}},
		{flagsPath, " \r\n", 400, problem{request, "empty_body", "The request body is empty, want a JSON object with api_key and distinct_id.", nil}},
		{flagsPath, `{"api_key":"phc_demo","distinct_id":}`, 400, problem{request, "parse_error", "Failed to decode request: invalid JSON, offset 36: unexpected character '}' where a value should begin", nil}},
		{flagsPath, `{"api_key":"phc_demo"`, 400, problem{request, "parse_error", "Failed to decode request: invalid JSON, offset 21: unexpected end of input in object", nil}},
		{flagsPath, `{"api_key":"phc_demo","groups":NaN,}`, 400, problem{request, "parse_error", "Failed to decode request: invalid JSON", nil}},
		{flagsPath, `"phc_demo"`, 400, problem{invalid, "invalid_input", "the body must be an object, not a string", nil}},
		{flagsPath, `{"token":17}`, 400, problem{invalid, "invalid_input", "token must be a string, not 17", new("token")}},
		{flagsPath, `{"api_key":"phc_demo","distinct_id":true}`, 400, problem{invalid, "invalid_input", "distinct_id must be a string or a number, not true", new("distinct_id")}},
		{flagsPath, `{"api_key":"phc_demo","$groups":["secret"]}`, 400, problem{invalid, "invalid_input", "$groups must be an object, not an array", new("$groups")}},
		{flagsPath, `{"api_key":"phc_demo","person_properties":"secret"}`, 400, problem{invalid, "invalid_input", "person_properties must be an object, not a string", new("person_properties")}},
		{flagsPath, `{"api_key":"phc_demo","group_properties":{"company":[1]}}`, 400, problem{invalid, "invalid_input", "group_properties must be an object of objects, not an object with an array", new("group_properties")}},
		{flagsPath, `{"api_key":"phc_demo","distinct_id":"u","groups":{"company":true}}`, 400, problem{invalid, "invalid_input", "groups must be an object of strings or numbers, not an object with true", new("groups")}},
		{flagsPath, `{"api_key":"phc_demo","distinct_id":"u","$groups":{"company":{"id":1}}}`, 400, problem{invalid, "invalid_input", "$groups must be an object of strings or numbers, not an object with an object", new("$groups")}},
		{flagsPath, `{"api_key":"phc_demo","geoip_disable":"yes"}`, 400, problem{invalid, "invalid_input", "geoip_disable must be true or false, not a string", new("geoip_disable")}},
		{flagsPath, `{"api_key":"phc_demo","flag_keys":["a",1]}`, 400, problem{invalid, "invalid_input", "flag_keys must be an array of strings, not an array with 1", new("flag_keys")}},
		{flagsPath, `{"api_key":"phc_demo","evaluation_contexts":"docs"}`, 400, problem{invalid, "invalid_input", "evaluation_contexts must be an array of strings, not a string", new("evaluation_contexts")}},
		{flagsPath, `{"api_key":"phc_demo"}`, 400, problem{invalid, "required", "The distinct_id field is missing from the request. Please include a valid identifier.", new("distinct_id")}},
		{"/flags?compression=br", simple, 400, problem{request, "unsupported_media_type", "Failed to decode request: Unsupported compression type \"br\", want gzip, gzip-js, base64, lz64 or lz-string, and no gzip in a form.", new("compression")}},
		{"/decide?v=3", `[]`, 400, problem{invalid, "invalid_input", "the body must be an object, not an array", nil}},
		{"/api/surveys", `{"token":[]}`, 400, problem{invalid, "invalid_input", "token must be a string, not an array", new("token")}},

		{capturePath, "", 400, problem{request, "empty_body", "request missing data payload", nil}},
		{capturePath, `{"api_key":"phc_demo",}`, 400, problem{request, "parse_error", "failed to parse request: invalid JSON: offset 22: unexpected character '}' where a member name should begin", nil}},
		{capturePath, `17`, 400, problem{invalid, "invalid_input", "failed to parse request: the body must be an object or an array, not 17", nil}},
		{capturePath, `["secret"]`, 400, problem{invalid, "invalid_input", "failed to parse request: an event must be an object, not a string", nil}},
		{capturePath, `{"api_key":"phc_demo","event":"e","distinct_id":"u","properties":["secret"]}`, 400, problem{invalid, "invalid_input", `failed to parse request: field "properties" must be an object, not an array`, new("properties")}},
		{capturePath, `{"api_key":"phc_demo","event":"e","distinct_id":"u","uuid":"x"}`, 400, problem{invalid, "invalid_input", `failed to parse request: field "uuid" must be a UUID or empty, not "x"`, new("uuid")}},
		{capturePath, `{"api_key":"phc_demo","event":"e"}`, 400, problem{invalid, "required", "event submitted without a distinct_id", new("distinct_id")}},
		{capturePath, `{"event":"e","distinct_id":"u"}`, 401, problem{"authentication_error", "not_authenticated", "event submitted without an api_key", new("api_key")}},
		{capturePath, `{"api_key":"phc_nobody","event":"e","distinct_id":"u"}`, 401, problem{"authentication_error", "authentication_failed", "API key does not belong to any project: this project API key (phc_…) has 10 characters, and one that a server made has at least 44; a part may be missing", nil}},
	} {
		resp := call{target: tt.target, body: tt.body}.do(s)
		if diff := cmp.Diff(tt.want, refusal(t, resp)); diff != "" || resp.StatusCode != tt.status {
			t.Errorf("%s with %s: %d, want %d\n%s", tt.target, tt.body, resp.StatusCode, tt.status, diff)
		}
	}
}

// TestRuling51Booleans: parameters that are true or false are read alike everywhere
// (evaluation.md §8.2, management.md §15.1 A20).
func TestRuling51Booleans(t *testing.T) {
	s, f := newCapture(t, nil)
	a := newManaged(t, nil)
	words := map[string]bool{
		"true": true, "TRUE": true, "True": true, "1": true, "t": true, "T": true, "yes": true, "Yes": true, "on": true, "ON": true,
		"false": false, "FALSE": false, "0": false, "f": false, "no": false, "NO": false, "off": false, "Off": false,
	}
	for word, want := range words {
		if got := (call{target: "/flags?config=" + word, body: simple}).do(s); strings.Contains(bodyText(t, got), "toolbarParams") != want {
			t.Errorf("config=%s is not %v", word, want)
		}
		if got := (call{target: "/e?beacon=" + word, body: event}).do(s); (got.StatusCode == 204) != want {
			t.Errorf("beacon=%s: %d", word, got.StatusCode)
		}
		if got := a.ok(api("GET", "/api/users?is_staff="+word, "").with(stellaKey))["count"]; (got == 1.0) != want {
			t.Errorf("is_staff=%s: %v users", word, got)
		}
		a.ok(api("GET", flagsPath+"?has_evaluation_contexts="+word, ""))
	}
	f.take()
	for _, word := range []string{"2", "maybe", "truee", "tru", "y es", "nil", "\u0131"} {
		query := url.QueryEscape(word)
		detail := " must be true or false (or 1, t, yes, on; 0, f, no, off), not \"" + word + "\"."
		for _, name := range []string{"config", "only_evaluate_survey_feature_flags", "only_use_override_person_properties", "detailed_analysis"} {
			resp := call{target: "/flags?" + name + "=" + query, body: simple}.do(s)
			if diff := cmp.Diff(problem{"validation_error", "invalid_input", name + detail, new(name)}, refusal(t, resp)); diff != "" || resp.StatusCode != 400 {
				t.Errorf("%s=%s: %d\n%s", name, word, resp.StatusCode, diff)
			}
		}
		if resp := (call{target: "/e?beacon=" + query, body: event}).do(s); resp.StatusCode != 400 || refusal(t, resp).Detail != "beacon"+detail {
			t.Errorf("beacon=%s: %d", word, resp.StatusCode)
		}
		a.fails(api("GET", "/api/users?is_staff="+query, ""), 400, "invalid_input")
		a.fails(api("GET", flagsPath+"?archived="+query, ""), 400, "invalid_input")
		a.fails(api("GET", flagsPath+"matching_ids?has_evaluation_contexts="+query, ""), 400, "invalid_input")
		a.fails(api("GET", flagsPath+"?evaluated="+query, ""), 400, "invalid_input")
		a.fails(api("DELETE", "/api/projects/1/persons/u?delete_events="+query, ""), 400, "invalid_input")
	}
	for _, target := range []string{"/flags?config=", "/flags?config"} { // no value
		if resp := (call{target: target, body: simple}).do(s); resp.StatusCode != 200 || strings.Contains(bodyText(t, resp), "toolbarParams") {
			t.Errorf("%s: %d", target, resp.StatusCode)
		}
	}
	if len(f.take()) > 0 {
		t.Error("an event with a wrong parameter was stored")
	}
}
