package shell_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/server/console/consoletest"
	"github.com/flagstaff-go/flagstaff/server/console/shell"
)

type tracedKey struct{}

// TestOnRequest: a trace has the routes of pages and never their paths, which may have the
// token of a link, and what a page does belongs to it.
func TestOnRequest(t *testing.T) {
	var told []string
	s := consoletest.NewSite(t, func(c *shell.Config) {
		c.OnRequest = func(r *http.Request, route string) (context.Context, func(int, string)) {
			told = append(told, r.Method+" "+route)
			if route == "/console/me" {
				return r.Context(), nil
			}
			return context.WithValue(r.Context(), tracedKey{}, route), func(status int, id string) {
				told = append(told, fmt.Sprintf("%d %s", status, id))
			}
		}
		c.Status = func(ctx context.Context, _ int64) shell.Status {
			told = append(told, fmt.Sprintf("asked by %v", ctx.Value(tracedKey{})))
			return shell.Status{}
		}
	})
	style := regexp.MustCompile(`/static/[^"]+\.css`).FindString(s.Get("/projects").Body)
	if style == "" {
		t.Fatal("the page has no style sheet")
	}
	const id = "11111111-2222-4333-8444-555555555555"
	for _, tt := range []struct {
		method, path, site string
		want               []string
		pattern            string // that an access log sees
	}{
		{
			"GET", "/projects/1/problems", "",
			[]string{"GET /console/projects/{project}/problems", "asked by /console/projects/{project}/problems", "200 " + id},
			"GET /console/projects/{project}/problems",
		},
		{"GET", "/join/secret", "", []string{"GET /console/join/{token}", "410 " + id}, "GET /console/join/{token}"},
		{"GET", "/", "", []string{"GET /console", "303 " + id}, "GET /console/{$}"},
		{"GET", "/me", "", []string{"GET /console/me"}, "GET /console/me"},
		{"GET", "/no/page", "", []string{"GET other", "404 " + id}, "/console/"},
		{"POST", "/me/name", "cross-site", []string{"POST /console/me/name", "403 " + id}, ""},
		{"GET", style, "", nil, "GET /console" + style},
	} {
		told = nil
		r := httptest.NewRequestWithContext(t.Context(), tt.method, "https://flags.example.com/console"+tt.path, nil)
		r.Header.Set("X-Request-Id", id)
		r.Header.Set("Sec-Fetch-Site", tt.site)
		s.Do(r)
		if diff := cmp.Diff(tt.want, told); diff != "" {
			t.Errorf("%s %s (-want +got)\n%s", tt.method, tt.path, diff)
		}
		if r.Pattern != tt.pattern {
			t.Errorf("%s %s has the pattern %q, want %q", tt.method, tt.path, r.Pattern, tt.pattern)
		}
	}
}
