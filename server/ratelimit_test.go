package server_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flagstaff-go/flagstaff/internal/fulltest"
	"github.com/flagstaff-go/flagstaff/server"
)

const warning = "X-PostHog-Rate-Limit-Warning"

func TestRateLimit(t *testing.T) {
	for _, tt := range []struct {
		name  string
		limit server.RateLimit
		other call // of another client
	}{
		{
			"per address",
			server.RateLimit{IP: server.Limit{PerSecond: 0.5, Burst: 10}},
			call{body: simple, remote: "192.0.2.2:1"},
		},
		{
			"per forwarded address",
			server.RateLimit{IP: server.Limit{PerSecond: 0.5, Burst: 10}},
			call{body: simple, header: map[string]string{"X-Forwarded-For": "198.51.100.1"}},
		},
		{
			"per key",
			server.RateLimit{Project: server.Limit{PerSecond: 0.5, Burst: 10}},
			call{body: strings.Replace(simple, "phc_demo", "phc_other", 1)},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServer(t, func(c *server.Config) {
					c.RateLimit = tt.limit
					r := registry(t)
					demo, _ := r.Project(t.Context(), apiKey)
					r.Set("phc_other", demo)
					c.Projects = r
				})
				one := call{body: simple}
				for i := range 10 {
					resp := one.do(s)
					if got := resp.Header.Get(warning) != ""; resp.StatusCode != 200 || got != (i >= 7) {
						t.Errorf("request %d: %d, warning %v", i, resp.StatusCode, got)
					}
				}
				resp := one.do(s)
				body := bodyText(t, resp)
				if resp.StatusCode != 429 || resp.Header.Get("Retry-After") != "2" ||
					body != `{"type":"validation_error","code":"rate_limit_exceeded","detail":"Rate limit exceeded","attr":null}` {
					t.Errorf("request 10: %d %s %v", resp.StatusCode, body, resp.Header)
				}
				if resp := tt.other.do(s); resp.StatusCode != 200 || resp.Header.Get(warning) != "" {
					t.Errorf("somebody else: %d", resp.StatusCode)
				}
				time.Sleep(2 * time.Second)
				if resp := one.do(s); resp.StatusCode != 200 {
					t.Errorf("after 2 s: %d", resp.StatusCode)
				}
				if resp := one.do(s); resp.StatusCode != 429 {
					t.Errorf("at once after that: %d", resp.StatusCode)
				}
				if resp := (call{method: "OPTIONS"}).do(s); resp.StatusCode != 204 {
					t.Errorf("preflights are limited: %d", resp.StatusCode)
				}
			})
		})
	}
}

// TestRateLimitIPv6: an IPv6 network is one client.
func TestRateLimitIPv6(t *testing.T) {
	s := newServer(t, func(c *server.Config) { c.RateLimit.IP = server.Limit{PerSecond: 0.001, Burst: 1} })
	for remote, want := range map[string]int{"[2001:db8:0:1::2]:1": 429, "[2001:db8:0:2::1]:1": 200, "192.0.2.1:1": 200, "192.0.2.3:1": 200} {
		if remote[0] == '[' && want == 429 {
			call{body: simple, remote: "[2001:db8:0:1::1]:1"}.ok(t, s)
		}
		if resp := (call{body: simple, remote: remote}).do(s); resp.StatusCode != want {
			t.Errorf("%s: %d, want %d", remote, resp.StatusCode, want)
		}
	}
}

// TestRateLimitMemory: keys that strangers make up do not fill the memory, and
// the one in use is not forgotten.
func TestRateLimitMemory(t *testing.T) {
	fulltest.Only(t)
	s := newServer(t, func(c *server.Config) { c.RateLimit.Project = server.Limit{PerSecond: 0.001, Burst: 3} })
	call{body: simple}.ok(t, s)
	call{body: simple}.ok(t, s)
	w := discard{make(http.Header)}
	for i := range 70_000 {
		s.ServeHTTP(w, call{body: fmt.Sprintf(`{"token":"t%d"}`, i)}.request())
		if i == 60_000 {
			call{body: simple}.ok(t, s)
		}
	}
	if resp := (call{body: simple}).do(s); resp.StatusCode != 429 {
		t.Errorf("the key in use was forgotten: %d", resp.StatusCode)
	}
}

// discard is an http.ResponseWriter for measurements.
type discard struct{ header http.Header }

func (d discard) Header() http.Header       { return d.header }
func (discard) WriteHeader(int)             {}
func (discard) Write(b []byte) (int, error) { return len(b), nil }
