package serve

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"regexp"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

const clientRequestID = "0f5d6f0c-21a6-4a3c-9a3f-3a0a58f6a8a1"

// TestAccessLog: a request has one line, with its route and not its path, and the id that its
// answer has.
func TestAccessLog(t *testing.T) {
	// -demo logs from WARN on; the option for requests counts all the same.
	url, stderr, _ := start(t, nil, "-demo", "-addr", "127.0.0.1:0", "-access-log", "all", "-log-format", "json")
	secret := "s3cret-in-the-path"
	for _, tt := range []struct {
		method, path, body string
		want               map[string]any
	}{
		{"POST", "/flags/?v=2", `{"api_key":"phc_demo","distinct_id":"u"}`, map[string]any{"method": "POST", "route": "/flags", "status": 200.0}},
		{"GET", "/console/join/" + secret, "", map[string]any{"method": "GET", "route": "/console/join/{token}", "status": 410.0}},
		{"GET", "/signup/" + secret, "", map[string]any{"method": "GET", "route": "other", "status": 303.0}},
		{"GET", "/ofrep/v1/streams/" + secret, "", map[string]any{"method": "GET", "route": "/ofrep/v1/streams/{stream}", "status": 404.0}},
		{"GET", "/api/users/" + secret + "/", "", map[string]any{"method": "GET", "route": "/api/users/{user}", "status": 401.0}},
		{strings.Repeat("X", 100), "//" + secret, "", map[string]any{"method": "other", "route": "other", "status": 404.0}},
	} {
		r, err := http.NewRequestWithContext(t.Context(), tt.method, url+tt.path, strings.NewReader(tt.body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("X-Request-Id", clientRequestID)
		r.Header.Set("Accept-Encoding", "identity")
		w, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(w.Body)
		if err != nil {
			t.Fatal(err)
		}
		w.Body.Close()
		if got := w.Header.Get("X-Request-Id"); got != clientRequestID {
			t.Errorf("%s: the answer has the id %q", tt.path, got)
		}
		line := stderr.await(t, `(?m)^\{.*"msg":"request".*"route":"`+regexp.QuoteMeta(tt.want["route"].(string))+`","status":`+w.Status[:3]+`.*$`)[0]
		var got map[string]any
		if err := json.Unmarshal([]byte(line), &got); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"time", "duration"} {
			if got[name] == nil {
				t.Errorf("%s: no %s in %s", tt.path, name, line)
			}
			delete(got, name)
		}
		want := map[string]any{"level": "INFO", "msg": "request", "bytes": float64(len(body)), "request_id": clientRequestID, "client": "127.0.0.1"}
		maps.Copy(want, tt.want)
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", tt.path, diff)
		}
	}
	if strings.Contains(stderr.String(), secret) {
		t.Error("the log has the path of a request")
	}
}

// TestAccessShare: without a line for each request, there still is one for each that fails, and
// for each that is cut off.
func TestAccessShare(t *testing.T) {
	log, out := plainLog()
	a := &accessLog{share: 1e-12, log: log, clientIP: func(*http.Request) netip.Addr { return netip.Addr{} }, next: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/fails":
			w.WriteHeader(http.StatusServiceUnavailable)
		case "/cut":
			panic(http.ErrAbortHandler)
		}
	})}
	for _, path := range []string{"/works", "/fails", "/cut"} {
		func() {
			defer func() { _ = recover() }()
			a.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, path, nil))
		}()
	}
	var got []string
	for _, m := range regexp.MustCompile(`msg=request .*status=(\d+ ).*?(cut_off=true)?\n`).FindAllStringSubmatch(out.String(), -1) {
		got = append(got, m[1]+m[2])
	}
	if diff := gocmp.Diff([]string{"503 ", "0 cut_off=true"}, got); diff != "" {
		t.Errorf("lines (-want +got)\n%s\n%s", diff, out)
	}
}

// TestDebug: the debug pages are on an address of their own, where /metrics is instead of the
// public one, and no page of another site can read them.
func TestDebug(t *testing.T) {
	url, stderr, stop := start(t, nil, "-store", "postgres://flagstaff:s3cret@nowhere/x", "-store", ":memory:", "-addr", "127.0.0.1:0", "-debug-addr", "127.0.0.1:0")
	pages := stderr.await(t, `debug pages on (http://\S+)`)[1]
	for path, want := range map[string]string{
		"/metrics": "flagstaff_connections ", "/debug/build": "flagstaff ", "/debug/pprof/": "goroutine", "/debug/pprof/goroutine?debug=1": "goroutine profile", "/": "/debug/pprof/",
	} {
		if status, text := get(t, pages+path); status != http.StatusOK || !strings.Contains(text, want) || strings.Contains(text, "s3cret") {
			t.Errorf("%s: status %d, %.200q; want %q", path, status, text, want)
		}
	}
	if status, _ := get(t, pages+"/debug/pprof/cmdline"); status != http.StatusNotFound {
		t.Errorf("the command line, which may have passwords: status %d", status)
	}
	for _, path := range []string{"/metrics", "/debug/pprof/"} {
		if status, _ := get(t, url+path); status != http.StatusNotFound {
			t.Errorf("the public address: %s: status %d", path, status)
		}
	}
	rebound := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, strings.TrimPrefix(pages, "http://"))
	}}}
	w, err := rebound.Get("http://site.example/metrics")
	if err != nil {
		t.Fatal(err)
	}
	w.Body.Close()
	if w.StatusCode != http.StatusForbidden {
		t.Errorf("a page of another site: status %d", w.StatusCode)
	}
	if code := stop(); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
}
