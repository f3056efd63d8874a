package console_test

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/flagstaff-go/flagstaff/server/console"
)

func TestActivity(t *testing.T) {
	s := newSite(t)
	s.get("/projects/1/activity").want(200, "Activity").checkPage()
	s.update("retired", `{"name":"Other words","active":true}`)
	a := s.get("/projects/1/activity").want(200, address+" updated the flag retired", "description", "Other words", "on false → true")
	a.checkPage()
	s.get("/projects/1/activity?scope=Cohort").want(200, "Show everything").checkPage()
	s.get("/projects/1/activity?scope=FeatureFlag&item=retired").want(200, "2 entries").checkPage()
	for _, query := range []string{"before=x", "by=x"} {
		s.get("/projects/1/activity?" + query).want(404).checkPage()
	}
}

// TestActivityFilters walks through what a user has done with things of each kind.
func TestActivityFilters(t *testing.T) {
	s := newSite(t)
	s.member("bob@example.com", 1)
	for i := range 60 {
		s.update("retired", fmt.Sprintf(`{"name":"%d"}`, i))
	}
	p, page := s.person("user-001")
	s.post(page, url.Values{"do": {"set"}, "was": {""}, "name": {"x"}, "type": {"text"}, "value": {"y"}})
	s.post("/projects/1/groups/0/group?key=acme", url.Values{"do": {"set"}, "was": {""}, "name": {"x"}, "type": {"text"}, "value": {"y"}})
	first := s.get("/projects/1/activity").want(200, "updated the person "+p.ID.String(), "the group acme")
	for _, leads := range []string{"/persons/" + p.ID.String(), "/groups/0/group?key=acme", fmt.Sprintf("/flags/%d", s.flag("retired").ID)} {
		if !strings.Contains(first.body, `href="/console/projects/1`+leads+`"`) {
			t.Errorf("no entry leads to %s", leads)
		}
		s.get("/projects/1" + leads).want(200)
	}
	seen := 0
	path := fmt.Sprintf("/projects/1/activity?by=%d&scope=FeatureFlag", s.owner.User.ID)
	for pages := 0; path != "" && pages < 5; pages++ {
		a := s.get(path).want(200)
		a.checkPage()
		seen += strings.Count(a.body, "<li data-row>")
		path = a.link("Older")
		if path == "" {
			s.get(a.link("Newest")).want(200, "updated the flag retired")
		}
	}
	if seen != 60 {
		t.Errorf("%d entries, want 60", seen)
	}
	s.get("/projects/1/activity?by=system&scope=Person").want(200, "Nothing is like that").checkPage()
	if a := s.get("/projects/1/activity?by=system").want(200); strings.Contains(words(a.body), "updated the") {
		t.Error("what a user has done counts for the system")
	}
	s.post(page, url.Values{"do": {"delete"}, "typed": {"user-001@example.org"}}).want(303)
	s.get("/projects/1/activity?scope=Person&item="+p.ID.String()).want(200, "deleted the person")
}

func TestStatus(t *testing.T) {
	now := time.Now()
	var status console.Status
	s := newSite(t, func(c *console.Config) {
		c.Now = func() time.Time { return now }
		c.Status = func(_ context.Context, project int64) console.Status {
			if project != 1 {
				t.Errorf("the status of project %d", project)
			}
			return status
		}
	})
	s.get("/projects/1/problems").want(200, "Current not known", "ready it reads").checkPage()
	status = console.Status{Origin: "store", Checked: now.Add(-2 * time.Second), Loaded: now.Add(-3 * time.Hour)}
	s.get("/projects/1/problems").want(200, "From the store", "as of just now", "Compiled 3 hours ago", "ready it reads").checkPage()
	status = console.Status{Origin: "file", Checked: now.Add(-2 * time.Minute), Faults: "events cannot be written; <the stream> does not answer"}
	s.get("/projects/1/problems").want(200, "a document (file)", "as of 2 minutes ago old", "not ready", "The server does not work as it should: events cannot be written; <the stream> does not answer.").checkPage()
}

func TestProblems(t *testing.T) {
	s := newSite(t)
	s.get("/projects/1/problems").want(200, "warning power-tools condition 1, filter 1", "the cohort is empty", "Choose another one.", "1 finding").checkPage()
	s.get("/projects/1/flags/power-tools").want(200, "power-tools").checkPage() // where it leads to
}
