package server_test

import (
	"encoding/json"
	"net/http"
	"net/netip"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flagstaff-go/flagstaff/server"
)

func decode(t *testing.T, resp *http.Response, v any) {
	t.Helper()
	if body := bodyText(t, resp); json.Unmarshal([]byte(body), v) != nil {
		t.Fatalf("%d %s", resp.StatusCode, body)
	}
}

// TestAPILimit: by default a key has 480 requests a minute and 4800 an hour
// (management.md §2.6).
func TestAPILimit(t *testing.T) {
	for _, tt := range []struct {
		name    string
		limit   server.ManagementLimit
		allowed int           // at once
		every   time.Duration // one more
		told    int           // by Retry-After
	}{
		{"default", server.ManagementLimit{}, 480, 125 * time.Millisecond, 1},
		{"per minute", server.ManagementLimit{PerMinute: 6}, 6, 10 * time.Second, 10},
		{"per hour", server.ManagementLimit{PerMinute: -1, PerHour: 60}, 60, time.Minute, 60},
		{"default per hour", server.ManagementLimit{PerMinute: -1}, 4800, 750 * time.Millisecond, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := newAPI(t, apiSetup{server: func(c *server.Config) { c.Management.Limit = tt.limit }})
				one := api("GET", "/api/users/@me/hedgehog_config", "")
				for i := range tt.allowed {
					if resp := one.do(a); resp.StatusCode != 200 {
						t.Fatalf("request %d: %d", i, resp.StatusCode)
					}
				}
				e, h := a.fails(one, 429, "throttled")
				wait := strconv.Itoa(tt.told)
				unit := " seconds."
				if tt.told == 1 {
					unit = " second."
				}
				if e.Type != "throttled_error" || e.Detail != "Request was throttled. Expected available in "+wait+unit {
					t.Errorf("%+v", e)
				}
				for name, want := range map[string]string{
					"Retry-After": wait, "RateLimit-Reset": wait, "RateLimit-Remaining": "0", "RateLimit-Limit": strconv.Itoa(tt.allowed), warning: "",
				} {
					if got := h.Get(name); got != want {
						t.Errorf("%s: %q, want %q", name, got, want)
					}
				}
				// Another key of the same user, and a key of another user.
				a.ok(one.with(readerKey))
				a.ok(one.with(bobKey))
				time.Sleep(tt.every)
				a.ok(one)
				a.fails(one, 429, "throttled")
				if resp := api("OPTIONS", "/api/users", "").do(a); resp.StatusCode != 204 {
					t.Errorf("OPTIONS is limited: %d", resp.StatusCode)
				}
			})
		})
	}
	t.Run("none", func(t *testing.T) {
		a := newAPI(t, apiSetup{server: func(c *server.Config) { c.Management.Limit = server.ManagementLimit{-1, -1, -1, -1} }})
		for range 5000 {
			a.ok(api("GET", "/api/users/@me/hedgehog_config", ""))
		}
		for range 100 {
			a.fails(api("GET", "/api/users", "").with("phx_wrong"), 401, "authentication_failed")
		}
	})
}

// TestAPIStrangers: after 60 wrong keys in a minute, an address gets no answer even
// with a right key (management.md §1.7).
func TestAPIStrangers(t *testing.T) {
	const me = "/api/users/@me"
	wrong := api("GET", me, "").with("phx_wrong")
	right := api("GET", me, "")
	from := func(c call, remote, forwarded string) call {
		c = c.with(c.header["Authorization"][len("Bearer "):])
		c.remote = remote
		c.header["X-Forwarded-For"] = forwarded
		return c
	}
	const peer = "192.0.2.1:1234"
	for _, tt := range []struct {
		name    string
		proxies []netip.Prefix
		same    call // from whom the wrong keys come
		others  call
	}{
		{"peers", nil, from(right, peer, ""), from(right, "192.0.2.2:1", "")},
		{"peers that choose an address", nil, from(right, peer, "198.51.100.7"), from(right, "192.0.2.2:1", "192.0.2.1")},
		{"proxy", []netip.Prefix{netip.MustParsePrefix("192.0.2.1/32")}, from(right, peer, "198.51.100.1"), from(right, peer, "198.51.100.2")},
		{"forged entries", []netip.Prefix{netip.MustParsePrefix("192.0.2.1/32")}, from(right, peer, "203.0.113.1, 198.51.100.1"), from(right, peer, "198.51.100.1, 198.51.100.2")},
		{"IPv6", nil, from(right, "[2001:db8::2]:1", ""), from(right, "[2001:db8:0:1::1]:1", "")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := newAPI(t, apiSetup{server: func(c *server.Config) { c.TrustedProxies = tt.proxies }})
				bad := from(wrong, tt.same.remote, tt.same.header["X-Forwarded-For"])
				if tt.name == "IPv6" {
					bad.remote = "[2001:db8::1]:1" // another address of the network
				}
				if tt.name == "peers that choose an address" {
					bad.header["X-Forwarded-For"] = "203.0.113.9"
				}
				for range 300 {
					a.ok(tt.same) // right keys do not count
					if t.Failed() {
						return
					}
				}
				for range 60 {
					a.fails(bad, 401, "authentication_failed")
				}
				a.fails(bad, 429, "throttled")
				a.fails(tt.same, 429, "throttled")
				if resp := api("GET", me, "", "Authorization", "").do(a); tt.name == "peers" && resp.StatusCode != 401 {
					t.Errorf("without a key: %d", resp.StatusCode)
				}
				a.ok(tt.others)
				time.Sleep(time.Second)
				a.ok(tt.same)
				a.fails(bad, 401, "authentication_failed")
				a.fails(tt.same, 429, "throttled")
			})
		})
	}
}

// TestAPIStrangersWithoutAddress: a client of a Unix socket does not lock out all
// others.
func TestAPIStrangersWithoutAddress(t *testing.T) {
	a := newAPI(t, apiSetup{server: func(c *server.Config) { c.Management.Limit.Strangers = 1 }})
	c := api("GET", "/api/users/@me", "")
	c.remote = "@"
	for range 3 {
		a.fails(c.with("phx_wrong"), 401, "authentication_failed")
	}
}

// TestAPIOpenRoutesLimit: clients without a key may use open routes 60 times a
// minute.
func TestAPIOpenRoutesLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPI(t, apiSetup{})
		c := api("POST", "/api/users/request_email_verification", `{}`, "Authorization", "")
		for range 30 {
			a.fails(c, 400, "required")
			a.fails(c.with("phx_wrong"), 400, "required")
		}
		a.fails(c, 429, "throttled")
		a.fails(c.with("phx_wrong"), 429, "throttled")
		a.fails(c.with(adaKey), 429, "throttled") // it is not looked at
		time.Sleep(time.Second)
		a.fails(c.with(adaKey), 400, "required")
		a.fails(c, 400, "required") // Ada's was not counted
	})
}
