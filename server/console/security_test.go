package console_test

import (
	"html"
	"net/url"
	"strings"
	"testing"

	"github.com/flagstaff-go/flagstaff/server/console"
	"github.com/flagstaff-go/flagstaff/server/console/consoletest"
)

// TestEvilTexts: what people and programs write is text on every page, of whatever thing it
// is, and nothing leads away from the console.
func TestEvilTexts(t *testing.T) {
	s := consoletest.NewSite(t)
	s.Hostile()
	queue := []string{
		"/console/", "/console/projects", "/console/projects/1/", "/console/signin", "/console/signin/code", "/console/forgot",
		"/console/me/two-factor/off", "/console/ready",
	}
	for _, v := range consoletest.Vectors {
		queue = append(queue, "/console/projects/1/explain?person="+url.QueryEscape(v), "/console/join/"+url.PathEscape(v),
			"/console/reset/"+url.PathEscape(v))
	}
	var routes []string
	for _, g := range console.Groups() {
		routes = append(routes, consoletest.Routes(g, "GET")...)
	}
	s.Crawl(routes, queue, 5)
	list := s.Get("/projects/1/flags?q=evil-&sort=key").Want(200)
	for _, v := range consoletest.Vectors {
		if text := strings.TrimSpace(consoletest.BlankForm.ReplaceAllString(v, " ")); strings.Count(html.UnescapeString(list.Body),
			text) == 0 &&
			!strings.Contains(v, "\u2028") {
			t.Errorf("the list does not show %s", v)
		}
	}
}
