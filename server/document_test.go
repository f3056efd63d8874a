package server_test

import (
	"encoding/json"
	"net/http"
	"regexp"
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

// TestDocumentOfAddedRoutes: what other packages add is in the document of servers that have it,
// and else nothing of it is, nor what only it refers to.
func TestDocumentOfAddedRoutes(t *testing.T) {
	whole := newAPI(t, apiSetup{})
	without := newAPI(t, apiSetup{server: func(c *server.Config) { c.Management.Routes = nil }})
	text := func(a *apiServer, target string) string {
		t.Helper()
		resp := call{method: "GET", target: target}.do(a)
		body := bodyText(t, resp)
		if resp.StatusCode != http.StatusOK {
			t.Fatalf("GET %s = %d %s", target, resp.StatusCode, body)
		}
		return body
	}
	if text(whole, "/api/schema?format=json") != openapi.JSON() || text(whole, "/api/schema?format=yaml") != openapi.YAML() {
		t.Error("a server with all routes has another document")
	}
	inJSON, inYAML, page := text(without, "/api/schema?format=json"), text(without, "/api/schema?format=yaml"), text(without, "/api/docs")
	var d struct {
		Paths      map[string]json.RawMessage
		Components map[string]map[string]json.RawMessage
	}
	if err := json.Unmarshal([]byte(inJSON), &d); err != nil {
		t.Fatal(err)
	}
	for path := range describedBy(t).Paths {
		_, got := d.Paths[path]
		want := !strings.HasPrefix(path, "/api/projects/{project}/surveys")
		if got != want || strings.Contains(inYAML, "\n  "+path+":\n") != want {
			t.Errorf("%s is in the document: %t as JSON, want %t", path, got, want)
		}
	}
	for _, kind := range d.Components {
		for name := range kind {
			if !strings.Contains(inYAML, "\n    "+name+":") {
				t.Errorf("%s is not in the document as YAML", name)
			}
		}
	}
	for name, want := range map[string]bool{"SurveyStats": false, "SurveyPatch": false, "SurveyQuestion": true, "ClientSurvey": true, "Flag": true} {
		_, got := d.Components["schemas"][name]
		if got != want || strings.Contains(inYAML, "\n    "+name+":") != want || strings.Contains(page, `id="schema-`+name+`"`) != want {
			t.Errorf("schema %s is in the document: %t as JSON, want %t", name, got, want)
		}
	}
	for _, m := range regexp.MustCompile(`#/components/(\w+)/(\w+)`).FindAllStringSubmatch(inJSON+inYAML, -1) {
		if d.Components[m[1]][m[2]] == nil {
			t.Errorf("%s leads nowhere", m[0])
		}
	}
}
