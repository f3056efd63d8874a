package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/flagstaff-go/flagstaff/server"
)

func TestClientIP(t *testing.T) {
	private := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}
	nobody := []netip.Prefix{}
	for _, tt := range []struct {
		name              string
		trusted           []netip.Prefix
		remote            string
		forwarded, legacy string
		want              string // "": none
	}{
		{"peer", nil, "192.0.2.1:1234", "", "", "192.0.2.1"},
		{"peer in IPv6", nil, "[2001:db8::1]:1234", "", "", "2001:db8::1"},
		{"peer in IPv6 with zone", nil, "[fe80::1%eth0]:1234", "", "", "fe80::1"},
		{"peer is IPv4 in IPv6", nil, "[::ffff:192.0.2.1]:1234", "", "", "192.0.2.1"},
		{"no address at all", nil, "@", "", "", ""},
		{"forwarded", nil, "192.0.2.1:1234", "198.51.100.7", "", "198.51.100.7"},
		{"first of several", nil, "192.0.2.1:1234", " 198.51.100.7 , 10.0.0.1", "", "198.51.100.7"},
		{"with port", nil, "192.0.2.1:1234", "198.51.100.7:8080, 10.0.0.1", "", "198.51.100.7"},
		{"IPv6", nil, "192.0.2.1:1234", "2001:db8::7", "", "2001:db8::7"},
		{"IPv6 in brackets", nil, "192.0.2.1:1234", "[2001:db8::7]", "", "2001:db8::7"},
		{"IPv6 in brackets with port", nil, "192.0.2.1:1234", "[2001:db8::7]:443", "", "2001:db8::7"},
		{"IPv4 in brackets", nil, "192.0.2.1:1234", "[198.51.100.7]", "", "192.0.2.1"},
		{"first is rubbish", nil, "192.0.2.1:1234", "garbage, 198.51.100.7", "", "192.0.2.1"},
		{"first is empty", nil, "192.0.2.1:1234", ", 198.51.100.7", "", "192.0.2.1"},
		{"port without number", nil, "192.0.2.1:1234", "198.51.100.7:x", "", "192.0.2.1"},
		{"legacy name", nil, "192.0.2.1:1234", "", "198.51.100.8", "198.51.100.8"},
		{"both", nil, "192.0.2.1:1234", "198.51.100.7", "198.51.100.8", "198.51.100.7"},
		{"rubbish hides the legacy name", nil, "192.0.2.1:1234", "garbage", "198.51.100.8", "192.0.2.1"},
		{"trusted proxy", private, "10.1.2.3:1234", "198.51.100.7", "", "198.51.100.7"},
		{"trusted proxy in IPv6", private, "[fd00::1]:1234", "198.51.100.7", "", "198.51.100.7"},
		{"trusted proxy as IPv4 in IPv6", private, "[::ffff:10.1.2.3]:1234", "198.51.100.7", "", "198.51.100.7"},
		{"other peer", private, "192.0.2.1:1234", "198.51.100.7", "198.51.100.8", "192.0.2.1"},
		{"nobody is trusted", nobody, "10.1.2.3:1234", "198.51.100.7", "", "10.1.2.3"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var asked []netip.Addr
			s := newServer(t, func(c *server.Config) {
				c.TrustedProxies, c.Geo = tt.trusted, fakeGeo{asked: &asked}
			})
			call{
				remote: tt.remote, body: simple,
				header: map[string]string{"X-Forwarded-For": tt.forwarded, "HTTP_X_FORWARDED_FOR": tt.legacy},
			}.ok(t, s)
			if tt.want == "" && len(asked) == 0 {
				return
			}
			if len(asked) != 1 || asked[0].String() != tt.want {
				t.Errorf("asked for %v, want %s", asked, tt.want)
			}
		})
	}
}

// TestRuling65ForwardedFor: behind listed proxies the client is the last address
// that is none of theirs, whatever the client has put before it (evaluation.md §10).
func TestRuling65ForwardedFor(t *testing.T) {
	proxies := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8"), netip.MustParsePrefix("203.0.113.5/32")}
	for _, tt := range []struct {
		name, remote string
		lines        []string
		legacy       string
		want         string
	}{
		{"forged entry", "10.1.2.3:1", []string{"198.51.100.7, 192.0.2.1"}, "", "192.0.2.1"},
		{"forged line", "10.1.2.3:1", []string{"198.51.100.7", "192.0.2.1"}, "", "192.0.2.1"},
		{"forged proxy", "10.1.2.3:1", []string{"198.51.100.7, 10.9.9.9, 192.0.2.1"}, "", "192.0.2.1"},
		{"forged legacy name", "10.1.2.3:1", []string{"192.0.2.1"}, "198.51.100.7", "192.0.2.1"},
		{"chain", "10.1.2.3:1", []string{"198.51.100.7, 192.0.2.1, 203.0.113.5", "10.4.5.6"}, "", "192.0.2.1"},
		{"chain in IPv6", "[fd00::1]:1", []string{"198.51.100.7, 2001:db8::7,fd00::2 , [fd00::3]:443"}, "", "2001:db8::7"},
		{"IPv4 in IPv6", "[::ffff:10.1.2.3]:1", []string{"198.51.100.7, ::ffff:192.0.2.1, ::ffff:10.0.0.1"}, "", "192.0.2.1"},
		{"ports", "10.1.2.3:1", []string{"192.0.2.1:5678, 10.0.0.1:80"}, "", "192.0.2.1"},
		{"rubbish", "10.1.2.3:1", []string{"198.51.100.7, unknown, 10.0.0.1"}, "", "10.0.0.1"},
		{"rubbish at the end", "10.1.2.3:1", []string{"198.51.100.7, _hidden"}, "", "10.1.2.3"},
		{"rubbish at the beginning", "10.1.2.3:1", []string{"garbage, 192.0.2.1"}, "", "192.0.2.1"},
		{"empty entries", "10.1.2.3:1", []string{"198.51.100.7, 192.0.2.1,, ,", ""}, "", "192.0.2.1"},
		{"proxies alone", "10.1.2.3:1", []string{"10.0.0.1, 10.0.0.2"}, "", "10.0.0.1"},
		{"nothing", "10.1.2.3:1", nil, "", "10.1.2.3"},
		{"legacy name", "10.1.2.3:1", nil, "198.51.100.7, 192.0.2.1", "192.0.2.1"},
		{"unlisted peer", "192.0.2.9:1", []string{"198.51.100.7, 10.0.0.1"}, "198.51.100.7", "192.0.2.9"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var asked []netip.Addr
			s, f := newCapture(t, func(c *server.Config) {
				c.TrustedProxies, c.Geo = proxies, fakeGeo{asked: &asked}
				c.RateLimit.IP = server.Limit{PerSecond: 0.001, Burst: 3}
			})
			send := func(target, body string) int {
				r := call{target: target, remote: tt.remote, body: body}.request()
				if tt.lines != nil {
					r.Header["X-Forwarded-For"] = tt.lines
				}
				if tt.legacy != "" {
					r.Header.Set("HTTP_X_FORWARDED_FOR", tt.legacy)
				}
				w := httptest.NewRecorder()
				s.ServeHTTP(w, r)
				return w.Code
			}
			if status := send("/flags?v=2", simple); status != 200 {
				t.Errorf("flags: %d", status)
			}
			if len(asked) != 1 || asked[0].String() != tt.want {
				t.Errorf("asked for the place of %v, want %s", asked, tt.want)
			}
			if status := send("/i/v0/e/", event); status != 200 {
				t.Errorf("event: %d", status)
			}
			var properties struct {
				IP string `json:"$ip"`
			}
			list := f.take()
			if err := json.Unmarshal(list[0].Properties, &properties); err != nil || properties.IP != tt.want {
				t.Errorf("$ip is %q (%v), want %s", properties.IP, err, tt.want)
			}

			// The attack: another forged entry for each request.
			for i := range 10 {
				if tt.lines != nil {
					tt.lines[0] = strings.Replace(tt.lines[0], "198.51.100.7", fmt.Sprintf("198.51.100.%d", i), 1)
				}
				status, want := send("/flags?v=2", simple), http.StatusTooManyRequests
				if i == 0 {
					want = http.StatusOK
				}
				if status != want {
					t.Fatalf("request %d with %q: %d, want %d", i, tt.lines, status, want)
				}
			}
		})
	}
}
