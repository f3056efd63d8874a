package shell_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/flagstaff-go/flagstaff/server/console/consoletest"
)

// TestFraming: no answer may be shown within another site, also if it is not a page.
func TestFraming(t *testing.T) {
	s := consoletest.NewSite(t)
	for _, r := range []*http.Request{
		httptest.NewRequest("GET", "https://flags.example.com/console/projects/1/flags", nil),
		httptest.NewRequest("GET", "https://flags.example.com/console/nothing", nil),
		httptest.NewRequest("DELETE", "https://flags.example.com/console/projects/1/flags", nil),
		httptest.NewRequest("POST", "https://flags.example.com/console/projects/1/explain", nil),
		httptest.NewRequest("OPTIONS", "https://flags.example.com/console/signin", nil),
		httptest.NewRequest("HEAD", "https://flags.example.com/console/signin", nil),
	} {
		a := s.Do(r.WithContext(t.Context()))
		if a.Header.Get("X-Frame-Options") != "DENY" || !strings.Contains(a.Header.Get("Content-Security-Policy"),
			"frame-ancestors 'none'") || a.Header.Get("Cross-Origin-Opener-Policy") != "same-origin" {
			t.Errorf("%s %s: %d %v", r.Method, r.URL, a.Status, a.Header)
		}
		if h := a.Header; h.Get("Access-Control-Allow-Origin") != "" || h.Get("Access-Control-Allow-Credentials") != "" {
			t.Errorf("%s %s may be read by other sites: %v", r.Method, r.URL, h)
		}
	}
}
