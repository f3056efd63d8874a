package server_test

import (
	"crypto/tls"
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"testing"

	"github.com/flagstaff-go/flagstaff/management/storage"
	"github.com/flagstaff-go/flagstaff/server"
)

// TestRuling50Pages has the rules of management.md §3.1, on a list of 230.
func TestRuling50Pages(t *testing.T) {
	a := newAPI(t, apiSetup{server: func(c *server.Config) { c.Management.AppURL = "https://app.example/" }})
	for i := range 227 { // besides three
		u := &storage.User{UUID: [16]byte{15: byte(i), 14: 1}, DistinctID: fmt.Sprint(i), Active: true, Email: fmt.Sprintf("u%d@x.example", i)}
		if err := a.store.Users().Create(t.Context(), u); err != nil {
			t.Fatal(err)
		}
	}
	const base = "https://app.example/api/users/?"
	for _, tt := range []struct {
		query          string
		results        int
		next, previous string
	}{
		{"", 100, "limit=100&offset=100", ""},
		{"limit=50&offset=100", 50, "limit=50&offset=150", "limit=50&offset=50"},
		{"offset=200", 30, "", "limit=100&offset=100"},
		{"offset=130", 100, "", "limit=100&offset=30"},
		{"offset=129", 100, "limit=100&offset=229", "limit=100&offset=29"},
		{"offset=100", 100, "limit=100&offset=200", "limit=100&offset=0"},
		{"offset=30&limit=100", 100, "limit=100&offset=130", "limit=100&offset=0"},
		{"offset=500", 0, "", "limit=100&offset=400"},
		{"offset=99999999999999999999", 0, "", "limit=100&offset=2147482547"},
		{"limit=0", 100, "limit=100&offset=100", ""},
		{"limit=-1", 100, "limit=100&offset=100", ""},
		{"limit=abc", 100, "limit=100&offset=100", ""},
		{"limit=1.5", 100, "limit=100&offset=100", ""},
		{"limit=", 100, "limit=100&offset=100", ""},
		{"limit=5000", 230, "", ""},
		{"limit=99999999999999999999", 230, "", ""},
		{"offset=-1", 100, "limit=100&offset=100", ""},
		{"offset=x", 100, "limit=100&offset=100", ""},
		{"limit=2&limit=1", 1, "limit=1&offset=1", ""},
		{"z=1&is_staff=false&limit=3&a=%26+b", 3, "a=%26+b&is_staff=false&limit=3&offset=3&z=1", ""},
		{"a=2&a=1&b=", 100, "a=2&a=1&b=&limit=100&offset=100", ""},
		{"limit=1&%zz&;", 1, "limit=1&offset=1", ""},
	} {
		got := a.ok(api("GET", "/api/users/?"+tt.query, "").with(stellaKey))
		results := len(got["results"].([]any))
		count := 230.0
		if tt.next == "a=%26+b&is_staff=false&limit=3&offset=3&z=1" {
			count-- // Stella
		}
		url := func(query string) any {
			if query == "" {
				return nil
			}
			return base + query
		}
		if got["count"] != count || results != tt.results || got["next"] != url(tt.next) || got["previous"] != url(tt.previous) {
			t.Errorf("%q: %v of %v, next %v, previous %v, want %d, %v, %v", tt.query, results, got["count"], got["next"], got["previous"],
				tt.results, url(tt.next), url(tt.previous))
		}
	}
}

func TestAPIUserFilters(t *testing.T) {
	a := newAPI(t, apiSetup{})
	for _, tt := range []struct {
		query string
		key   string
		count float64
	}{
		{"", adaKey, 1},
		{"", stellaKey, 3},
		{"email=bob@acme.example", adaKey, 0},
		{"email=Ada@Acme.example", adaKey, 1},
		{"email=", adaKey, 1},
		{"email=bob@acme.example", stellaKey, 1},
		{"email=%00", stellaKey, 0},
		{"email=%ff", stellaKey, 0},
		{"email=bob@acme.example&is_staff=true", stellaKey, 0},
		{"is_staff=true", stellaKey, 1},
		{"is_staff=True", stellaKey, 1},
		{"is_staff=1", stellaKey, 1},
		{"is_staff=false", stellaKey, 2},
		{"is_staff=False", stellaKey, 2},
		{"is_staff=0", stellaKey, 2},
		{"is_staff=yes", stellaKey, 1},
		{"is_staff=OFF", stellaKey, 2},
		{"is_staff=", stellaKey, 3},
		{"is_staff=true", adaKey, 0},
	} {
		if got := a.ok(api("GET", "/api/users?"+tt.query, "").with(tt.key))["count"]; got != tt.count {
			t.Errorf("%q with %s: %v, want %v", tt.query, tt.key, got, tt.count)
		}
	}
}

// TestAPIAddress: links to other pages are for the client, who may be behind a
// proxy.
func TestAPIAddress(t *testing.T) {
	proxy := []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")} // httptest's client is in it
	forwarded := map[string]string{"X-Forwarded-Proto": "HTTPS, http", "X-Forwarded-Host": "Public.example, inner"}
	for _, tt := range []struct {
		name    string
		appURL  string
		proxies []netip.Prefix
		header  map[string]string
		change  func(*http.Request)
		want    string
	}{
		{name: "request", want: "http://example.com/api/users"},
		{name: "TLS", change: func(r *http.Request) { r.TLS = new(tls.ConnectionState) }, want: "https://example.com/api/users"},
		{name: "port", change: func(r *http.Request) { r.Host = "localhost:8000" }, want: "http://localhost:8000/api/users"},
		{name: "application", appURL: "https://app.example/flags/", header: forwarded, proxies: proxy, want: "https://app.example/flags/api/users"},
		{name: "proxy that is not listed", header: forwarded, want: "http://example.com/api/users"},
		{name: "no proxy is believed", header: forwarded, proxies: []netip.Prefix{}, want: "http://example.com/api/users"},
		{name: "proxy", header: forwarded, proxies: proxy, want: "https://public.example/api/users"},
		{name: "proxy that says half", header: map[string]string{"X-Forwarded-Proto": "https"}, proxies: proxy, want: "https://example.com/api/users"},
		{name: "proxy that says nonsense", header: map[string]string{"X-Forwarded-Proto": "javascript"}, proxies: proxy, want: "http://example.com/api/users"},
		{name: "absolute target", change: func(r *http.Request) { r.RequestURI = "http://x.example/api/users?limit=1" }, want: "http://example.com/api/users"},
		{name: "below a prefix", change: func(r *http.Request) { r.RequestURI = "/prefix/api/users?limit=1" }, want: "http://example.com/prefix/api/users"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := newAPI(t, apiSetup{server: func(c *server.Config) { c.Management.AppURL, c.TrustedProxies = tt.appURL, tt.proxies }})
			c := api("GET", "/api/users?limit=1", "").with(stellaKey)
			maps.Copy(c.header, tt.header)
			var h http.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if tt.change != nil {
					tt.change(r)
				}
				a.ServeHTTP(w, r)
			})
			var got struct{ Next string }
			decode(t, c.do(h), &got)
			if want := tt.want + "?limit=1&offset=1"; got.Next != want {
				t.Errorf("next %s, want %s", got.Next, want)
			}
		})
	}
}
