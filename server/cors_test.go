package server_test

import (
	"testing"
)

// TestCORS: every answer to another origin can be read there, errors included
// (wire.md §2.10).
func TestCORS(t *testing.T) {
	s := newServer(t, nil)
	const origin = "https://app.example"
	for _, c := range []call{
		{body: simple},
		{target: "/flags/?v=2", body: simple},
		{target: "/decide/?v=3", body: simple},
		{body: "{"},
		{body: "{}"},
		{body: `{"token":"phc_other"}`},
		{target: "/flags?compression=x", body: simple},
		{method: "GET"},
		{method: "HEAD"},
		{method: "OPTIONS"},
		{method: "OPTIONS", target: "/decide/"},
		{method: "OPTIONS", target: "/nowhere"},
		{target: "/nowhere"},
		{target: "//flags"},
	} {
		resp := c.do(s)
		if got := resp.Header.Get("Access-Control-Allow-Origin"); got != "*" || resp.Header.Get("Access-Control-Allow-Credentials") != "" || resp.Header.Get("Access-Control-Expose-Headers") != "" {
			t.Errorf("%+v without origin: %v", c, resp.Header)
		}
		c.header = map[string]string{"Origin": origin}
		resp = c.do(s)
		h := resp.Header
		if h.Get("Access-Control-Allow-Origin") != origin || h.Get("Access-Control-Allow-Credentials") != "true" || h.Get("Access-Control-Expose-Headers") != "Retry-After" {
			t.Errorf("%+v: %v", c, h)
		}
		want := "Origin"
		if c.method == "OPTIONS" {
			want = "Origin, Access-Control-Request-Headers"
		}
		if h.Get("Vary") != want {
			t.Errorf("%+v: Vary %q", c, h.Get("Vary"))
		}
	}
}

func TestPreflight(t *testing.T) {
	s := newServer(t, nil)
	for _, asked := range []string{"", "content-type,x-custom"} {
		resp := call{method: "OPTIONS", header: map[string]string{
			"Origin": "http://localhost:39813", "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": asked,
		}}.do(s)
		want := asked
		if asked == "" {
			want = "*"
		}
		h := resp.Header
		if resp.StatusCode != 204 || bodyText(t, resp) != "" || h.Get("Access-Control-Allow-Headers") != want ||
			h.Get("Access-Control-Allow-Methods") != "GET, POST, OPTIONS" || h.Get("Access-Control-Max-Age") != "86400" ||
			h.Get("Allow") != "POST, OPTIONS, HEAD" {
			t.Errorf("asked for %q: %d %v", asked, resp.StatusCode, h)
		}
	}
}

// TestOperatorsRoutes: what is for operators is not for pages of other origins.
func TestOperatorsRoutes(t *testing.T) {
	s := newServer(t, nil)
	for _, path := range []string{"/metrics", "/healthz", "/readyz/"} {
		for method, status := range map[string]int{"GET": 200, "HEAD": 200, "POST": 405, "OPTIONS": 405} {
			resp := call{method: method, target: path, header: map[string]string{"Origin": "https://app.example"}}.do(s)
			if resp.StatusCode != status || resp.Header.Get("Access-Control-Allow-Origin") != "" {
				t.Errorf("%s %s = %d %v", method, path, resp.StatusCode, resp.Header)
			}
			if status == 405 && resp.Header.Get("Allow") != "GET, HEAD" {
				t.Errorf("%s %s: Allow %q", method, path, resp.Header.Get("Allow"))
			}
		}
	}
}

// TestSharedHeaders: what one answer does with its headers must not show in the
// next.
func TestSharedHeaders(t *testing.T) {
	s := newDelivery(t, delivered(), nil)
	for range 2 {
		for _, c := range []call{{body: simple}, getCall(deliveryPaths[0]), getCall(deliveryPaths[2]), getCall(deliveryPaths[3])} {
			c.header = map[string]string{"Origin": "https://a.example"}
			resp := c.do(s)
			for name, values := range resp.Header {
				if len(values) != 1 {
					t.Errorf("%s: %q", name, values)
				}
				resp.Header.Add(name, "x")
			}
		}
	}
}
