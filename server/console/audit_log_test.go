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

func TestAuditLog(t *testing.T) {
	s := newSite(t)
	s.get("/projects/1/audit-log").want(200, "Audit log").checkPage()
	s.update("retired", `{"name":"Other words","active":true}`)
	a := s.get("/projects/1/audit-log").want(200, address+" updated the flag retired", "description", "Other words", "state off → on")
	a.checkPage()
	s.get("/projects/1/audit-log?scope=Cohort").want(200, "Show everything").checkPage()
	s.get("/projects/1/audit-log?scope=FeatureFlag&item=retired").want(200, "2 entries").checkPage()
	for _, query := range []string{"before=x", "by=x"} {
		s.get("/projects/1/audit-log?" + query).want(404).checkPage()
	}
}

// TestRuling102Words has the same words for a change on every page that lists it.
func TestRuling102Words(t *testing.T) {
	s := newSite(t)
	s.update("new-dashboard", `{"tags":["one","two"],"filters":{"groups":[
		{"properties":[{"key":"plan","type":"person","value":["pro","team"]}],"rollout_percentage":75},
		{"properties":[{"key":"id","type":"cohort","value":1}],"rollout_percentage":20}]}}`)
	want := []string{
		"condition set 1, rollout percentage", "→ 75%", "condition set 2, filters in Imported cohort 2",
		"condition set 2, rollout percentage 50% → 20%", "tags one, two",
	}
	s.get(s.flagPath("new-dashboard")+"/history").want(200, want...).checkPage()
	s.get("/projects/1/audit-log?scope=FeatureFlag&item=new-dashboard").want(200, want...).checkPage()
	s.get("/projects/1/audit-log").want(200, want...)

	s.update("new-dashboard", `{"filters":{"groups":[
		{"properties":[{"key":"plan","type":"person","value":["pro","team"]}],"rollout_percentage":75},
		{"properties":[{"key":"id","type":"cohort","value":1}],"rollout_percentage":20},
		{"properties":[{"key":"email","type":"person","operator":"icontains","value":"@example.org"}],"rollout_percentage":5,
			"variant":null}]}}`)
	s.get("/projects/1/audit-log").want(200, "condition set 3 5% of everyone where email contains @example.org")

	cohort := "/projects/1/cohorts/1"
	before := s.get(cohort).want(200)
	form := with(before.form("form"), "name", "Ours")
	s.post(cohort, with(form, "do", "save"))
	s.get("/projects/1/audit-log?scope=Cohort").want(200, "updated the cohort Ours", "name Imported cohort 2 → Ours")
	p, page := s.person("user-001")
	s.post(page, url.Values{"do": {"set"}, "was": {""}, "name": {"name"}, "type": {"text"}, "value": {"Ada"}}).want(303)
	a := s.get("/projects/1/audit-log?scope=Person").want(200, "updated the person "+p.ID.String(), "name set")
	if strings.Contains(words(a.body), "Ada") {
		t.Error("the log shows a property of a person")
	}
}

// TestRuling102Filters looks for entries by who did it, when, the name of the thing and text.
func TestRuling102Filters(t *testing.T) {
	s := newSite(t)
	s.update("retired", `{"name":"Other words"}`)
	s.update("new-dashboard", `{"name":"Faster"}`)
	const page = "/projects/1/audit-log"
	today := time.Now().UTC().Format(time.DateOnly)
	for _, tt := range []struct{ query, want, not string }{
		{"name=RETIRED", "2 entries", "new-dashboard"},
		{"q=faster", "1 entry", "Other words"},
		{"q=faster&name=retired", "No entries match", "Faster"},
		{"q=other+words&by=system", "No entries match", "updated the"},
		{"from=" + today + "&to=" + today + "&q=faster", "1 entry", "Other words"},
		{"to=2001-01-01", "No entries match", "updated the"},
		{"q=" + url.QueryEscape(`"`), "No entries match", "updated the"},
	} {
		a := s.get(page+"?"+tt.query).want(200, tt.want, "Show everything")
		a.checkPage()
		if strings.Contains(words(a.body), tt.not) {
			t.Errorf("%s: the page says %q:\n%s", tt.query, tt.not, words(a.body))
		}
		if form := a.getForm("/audit-log"); form.Get("q") != readQuery(t, tt.query).Get("q") ||
			form.Get("name") != readQuery(t, tt.query).Get("name") {
			t.Errorf("%s: the form has %v", tt.query, form)
		}
	}
	s.get(page+"?from=2026-03-02&to=2026-03-01").want(422, "Type two days such as 2026-03-01").checkPage()
	s.get(page+"?from=yesterday").want(422, "Type two days").checkPage()
	s.get(page+"?q="+strings.Repeat("x", 201)).want(422, "no more than 200 characters").checkPage()
	s.get(page+"?name="+strings.Repeat("x", 201)).want(422, "no more than 200 characters").checkPage()
	for range 60 {
		s.update("retired", `{"active":true}`)
		s.update("retired", `{"active":false}`)
	}
	a := s.get(page+"?name=retired&by="+fmt.Sprint(s.owner.User.ID)).want(200, "121 entries")
	if older := a.link("Older"); !strings.Contains(older, "name=retired") {
		t.Errorf("the next page is %q", older)
	}
}

func readQuery(t *testing.T, query string) url.Values {
	t.Helper()
	v, err := url.ParseQuery(query)
	fatal(t, err)
	return v
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
	first := s.get("/projects/1/audit-log").want(200, "updated the person "+p.ID.String(), "the group acme")
	for _, leads := range []string{
		"/persons/" + p.ID.String(), "/groups/0/group?key=acme", fmt.Sprintf("/flags/%d", s.flag("retired").ID),
	} {
		if !strings.Contains(first.body, `href="/console/projects/1`+leads+`"`) {
			t.Errorf("no entry leads to %s", leads)
		}
		s.get("/projects/1" + leads).want(200)
	}
	seen := 0
	path := fmt.Sprintf("/projects/1/audit-log?by=%d&scope=FeatureFlag", s.owner.User.ID)
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
	s.get("/projects/1/audit-log?by=system&scope=Person").want(200, "No entries match").checkPage()
	if a := s.get("/projects/1/audit-log?by=system").want(200); strings.Contains(words(a.body), "updated the") {
		t.Error("what a user has done counts for the system")
	}
	s.post(page, url.Values{"do": {"delete"}, "typed": {"user-001@example.org"}}).want(303)
	s.get("/projects/1/audit-log?scope=Person&item="+p.ID.String()).want(200, "deleted the person")
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
	s.get("/projects/1/problems").want(200, "Up to date not known", "ready it reads").checkPage()
	status = console.Status{Origin: "store", Checked: now.Add(-2 * time.Second), Loaded: now.Add(-3 * time.Hour)}
	s.get("/projects/1/problems").want(200, "From the store", "as of just now", "Compiled 3 hours ago", "ready it reads").checkPage()
	status = console.Status{
		Origin: "file", Checked: now.Add(-2 * time.Minute), Faults: "events cannot be written; <the stream> does not answer",
	}
	s.get("/projects/1/problems").want(200, "a document (file)", "as of 2 minutes ago old", "not ready",
		"The server does not work as it should: events cannot be written; <the stream> does not answer.").checkPage()
}

func TestProblems(t *testing.T) {
	s := newSite(t)
	s.get("/projects/1/problems").want(200, "warning power-tools condition set 1, filter 1", "the cohort is empty", "Choose another one.",
		"1 finding").checkPage()
	s.get("/projects/1/flags/power-tools").want(200, "power-tools").checkPage() // where it leads to
}
