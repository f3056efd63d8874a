package server_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/flagstaff-go/flagstaff/server"
	"github.com/flagstaff-go/flagstaff/server/internal/openapi"
)

// TestSchema: the document comes as YAML unless the client asks for JSON.
func TestSchema(t *testing.T) {
	s := newServer(t, nil)
	for _, tt := range []struct{ query, accept, want string }{
		{"", "", "application/yaml"},
		{"", "*/*", "application/yaml"},
		{"", "application/*", "application/yaml"},
		{"", "application/json", "application/json"},
		{"", "application/vnd.oai.openapi+json;q=0.9, application/yaml;q=0.5", "application/json"},
		{"", "application/json;q=0.5, application/vnd.oai.openapi", "application/yaml"},
		{"?format=json", "application/yaml", "application/json"},
		{"?format=yaml", "application/json", "application/yaml"},
		{"?format=", "application/json", "application/json"},
	} {
		c := call{method: "GET", target: "/api/schema/" + tt.query, header: map[string]string{"Accept": tt.accept}}
		resp := c.do(s)
		text := bodyText(t, resp)
		if got := resp.Header.Get("Content-Type"); resp.StatusCode != 200 || got != tt.want {
			t.Errorf("%q with Accept %q = %d %s, want %s", tt.query, tt.accept, resp.StatusCode, got, tt.want)
		}
		if isJSON := json.Valid([]byte(text)); isJSON != (tt.want == "application/json") || !strings.Contains(text, "listFlags") {
			t.Errorf("%q with Accept %q: the body is JSON: %v", tt.query, tt.accept, isJSON)
		}
		if resp.Header.Get("Vary") != "Origin, Accept" || resp.Header.Get("Cache-Control") != "public, max-age=300" {
			t.Errorf("headers %v", resp.Header)
		}
		c.header["If-None-Match"] = resp.Header.Get("Etag")
		if resp := c.do(s); resp.StatusCode != 304 {
			t.Errorf("%q with its entity tag = %d", tt.query, resp.StatusCode)
		}
	}
	resp := call{method: "GET", target: "/api/schema?format=xml"}.do(s)
	if text := bodyText(t, resp); resp.StatusCode != 400 || !strings.Contains(text, `"attr":"format"`) || resp.Header.Get("Cache-Control") != "" {
		t.Errorf("format=xml = %d %s", resp.StatusCode, text)
	}
}

// TestDocs: the page works with no script and no other host.
func TestDocs(t *testing.T) {
	s := newServer(t, nil)
	resp := call{method: "GET", target: "/api/docs/"}.do(s)
	text := bodyText(t, resp)
	if resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "text/html; charset=utf-8" || !strings.Contains(text, `id="listFlags"`) {
		t.Errorf("%d %s", resp.StatusCode, resp.Header.Get("Content-Type"))
	}
	if got := resp.Header.Get("Content-Security-Policy"); got != openapi.Policy() || strings.Contains(got, "unsafe") {
		t.Errorf("Content-Security-Policy: %s", got)
	}
	if resp := (call{method: "HEAD", target: "/api/docs"}).do(s); resp.StatusCode != 200 {
		t.Errorf("HEAD = %d", resp.StatusCode)
	}
}

// TestDocumentLimited: the routes fall under the limit of client addresses.
func TestDocumentLimited(t *testing.T) {
	s := newServer(t, func(c *server.Config) { c.RateLimit.IP = server.Limit{PerSecond: 0.001, Burst: 1} })
	for i, want := range []int{http.StatusOK, http.StatusTooManyRequests} {
		if resp := (call{method: "GET", target: "/api/schema/"}).do(s); resp.StatusCode != want {
			t.Errorf("request %d = %d, want %d", i, resp.StatusCode, want)
		}
	}
}
