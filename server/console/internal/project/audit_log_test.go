package project_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/server/console"
	"github.com/flagstaff-go/flagstaff/server/console/consoletest"
	"github.com/flagstaff-go/flagstaff/server/console/shell"
)

func TestAuditLog(t *testing.T) {
	s := consoletest.NewSite(t)
	s.Get("/projects/1/audit-log").Want(200, "Audit log").CheckPage()
	s.Update("retired", `{"name":"Other words","active":true}`)
	a := s.Get("/projects/1/audit-log").Want(200, consoletest.Address+" updated the flag retired", "description", "Other words",
		"state off → on")
	a.CheckPage()
	s.Get("/projects/1/audit-log?scope=Cohort").Want(200, "Show everything").CheckPage()
	s.Get("/projects/1/audit-log?scope=FeatureFlag&item=retired").Want(200, "2 entries").CheckPage()
	for _, query := range []string{"before=x", "by=x"} {
		s.Get("/projects/1/audit-log?" + query).Want(404).CheckPage()
	}
}

// TestRuling102Words has the same words for a change on every page that lists it.
func TestRuling102Words(t *testing.T) {
	s := consoletest.NewSite(t)
	s.Update("new-dashboard", `{"tags":["one","two"],"filters":{"groups":[
		{"properties":[{"key":"plan","type":"person","value":["pro","team"]}],"rollout_percentage":75},
		{"properties":[{"key":"id","type":"cohort","value":1}],"rollout_percentage":20}]}}`)
	want := []string{
		"condition set 1, rollout percentage", "→ 75%", "condition set 2, filters in Imported cohort 2",
		"condition set 2, rollout percentage 50% → 20%", "tags one, two",
	}
	s.Get(s.FlagPath("new-dashboard")+"/history").Want(200, want...).CheckPage()
	s.Get("/projects/1/audit-log?scope=FeatureFlag&item=new-dashboard").Want(200, want...).CheckPage()
	s.Get("/projects/1/audit-log").Want(200, want...)

	s.Update("new-dashboard", `{"filters":{"groups":[
		{"properties":[{"key":"plan","type":"person","value":["pro","team"]}],"rollout_percentage":75},
		{"properties":[{"key":"id","type":"cohort","value":1}],"rollout_percentage":20},
		{"properties":[{"key":"email","type":"person","operator":"icontains","value":"@example.org"}],"rollout_percentage":5,
			"variant":null}]}}`)
	s.Get("/projects/1/audit-log").Want(200, "condition set 3 5% of everyone where email contains @example.org")

	cohort := "/projects/1/cohorts/1"
	before := s.Get(cohort).Want(200)
	form := consoletest.With(before.Form("form"), "name", "Ours")
	s.Post(cohort, consoletest.With(form, "do", "save"))
	s.Get("/projects/1/audit-log?scope=Cohort").Want(200, "updated the cohort Ours", "name Imported cohort 2 → Ours")
	p, page := s.Person("user-001")
	s.Post(page, url.Values{"do": {"set"}, "was": {""}, "name": {"name"}, "type": {"text"}, "value": {"Ada"}}).Want(303)
	a := s.Get("/projects/1/audit-log?scope=Person").Want(200, "updated the person "+p.ID.String(), "name set")
	if strings.Contains(consoletest.Words(a.Body), "Ada") {
		t.Error("the log shows a property of a person")
	}
}

// TestRuling102Filters looks for entries by who did it, when, the name of the thing and text.
func TestRuling102Filters(t *testing.T) {
	s := consoletest.NewSite(t)
	s.Update("retired", `{"name":"Other words"}`)
	s.Update("new-dashboard", `{"name":"Faster"}`)
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
		a := s.Get(page+"?"+tt.query).Want(200, tt.want, "Show everything")
		a.CheckPage()
		if strings.Contains(consoletest.Words(a.Body), tt.not) {
			t.Errorf("%s: the page says %q:\n%s", tt.query, tt.not, consoletest.Words(a.Body))
		}
		if form := a.GetForm("/audit-log"); form.Get("q") != readQuery(t, tt.query).Get("q") ||
			form.Get("name") != readQuery(t, tt.query).Get("name") {
			t.Errorf("%s: the form has %v", tt.query, form)
		}
	}
	s.Get(page+"?from=2026-03-02&to=2026-03-01").Want(422, "Type two days such as 2026-03-01").CheckPage()
	s.Get(page+"?from=yesterday").Want(422, "Type two days").CheckPage()
	s.Get(page+"?q="+strings.Repeat("x", 201)).Want(422, "no more than 200 characters").CheckPage()
	s.Get(page+"?name="+strings.Repeat("x", 201)).Want(422, "no more than 200 characters").CheckPage()
	for range 60 {
		s.Update("retired", `{"active":true}`)
		s.Update("retired", `{"active":false}`)
	}
	a := s.Get(page+"?name=retired&by="+fmt.Sprint(s.Owner.User.ID)).Want(200, "121 entries")
	if older := a.Link("Older"); !strings.Contains(older, "name=retired") {
		t.Errorf("the next page is %q", older)
	}
}

func readQuery(t *testing.T, query string) url.Values {
	t.Helper()
	v, err := url.ParseQuery(query)
	consoletest.Fatal(t, err)
	return v
}

// TestActivityFilters walks through what a user has done with things of each kind.
func TestActivityFilters(t *testing.T) {
	s := consoletest.NewSite(t)
	s.Member("bob@example.com", 1)
	for i := range 60 {
		s.Update("retired", fmt.Sprintf(`{"name":"%d"}`, i))
	}
	p, page := s.Person("user-001")
	s.Post(page, url.Values{"do": {"set"}, "was": {""}, "name": {"x"}, "type": {"text"}, "value": {"y"}})
	s.Post("/projects/1/groups/0/group?key=acme", url.Values{"do": {"set"}, "was": {""}, "name": {"x"}, "type": {"text"}, "value": {"y"}})
	first := s.Get("/projects/1/audit-log").Want(200, "updated the person "+p.ID.String(), "the group acme")
	for _, leads := range []string{
		"/persons/" + p.ID.String(), "/groups/0/group?key=acme", fmt.Sprintf("/flags/%d", s.Flag("retired").ID),
	} {
		if !strings.Contains(first.Body, `href="/console/projects/1`+leads+`"`) {
			t.Errorf("no entry leads to %s", leads)
		}
		s.Get("/projects/1" + leads).Want(200)
	}
	seen := 0
	path := fmt.Sprintf("/projects/1/audit-log?by=%d&scope=FeatureFlag", s.Owner.User.ID)
	for pages := 0; path != "" && pages < 5; pages++ {
		a := s.Get(path).Want(200)
		a.CheckPage()
		seen += strings.Count(a.Body, "<li data-row>")
		path = a.Link("Older")
		if path == "" {
			s.Get(a.Link("Newest")).Want(200, "updated the flag retired")
		}
	}
	if seen != 60 {
		t.Errorf("%d entries, want 60", seen)
	}
	s.Get("/projects/1/audit-log?by=system&scope=Person").Want(200, "No entries match").CheckPage()
	if a := s.Get("/projects/1/audit-log?by=system").Want(200); strings.Contains(consoletest.Words(a.Body), "updated the") {
		t.Error("what a user has done counts for the system")
	}
	s.Post(page, url.Values{"do": {"delete"}, "typed": {"user-001@example.org"}}).Want(303)
	s.Get("/projects/1/audit-log?scope=Person&item="+p.ID.String()).Want(200, "deleted the person")
}

func TestStatus(t *testing.T) {
	now := time.Now()
	var status shell.Status
	s := consoletest.NewSite(t, func(c *shell.Config) {
		c.Now = func() time.Time { return now }
		c.Status = func(_ context.Context, project int64) shell.Status {
			if project != 1 {
				t.Errorf("the status of project %d", project)
			}
			return status
		}
	})
	s.Get("/projects/1/problems").Want(200, "Up to date not known", "ready").CheckPage()
	status = shell.Status{Origin: "store", Checked: now.Add(-2 * time.Second), Loaded: now.Add(-3 * time.Hour)}
	s.Get("/projects/1/problems").Want(200, "From the store", "as of just now", "Compiled 3 hours ago", "ready").CheckPage()
	status = shell.Status{
		Origin: "file", Checked: now.Add(-2 * time.Minute), Faults: "events cannot be written; <the stream> does not answer",
	}
	s.Get("/projects/1/problems").Want(200, "From a file, imported when it changes", "as of 2 minutes ago old", "not ready",
		"The server does not work as it should: events cannot be written; <the stream> does not answer.").CheckPage()
}

func TestProblems(t *testing.T) {
	var found []flags.Problem
	s := consoletest.NewSite(t, func(c *console.Config) {
		found = c.Problems(1)
		c.Problems = func(int64) []flags.Problem { return found }
	})
	made := s.Cohort(`{"name": "Old & tried", "filters": {"properties": {"type": "AND", "values": []}}}`)
	cohort := "/cohorts/" + strconv.FormatInt(made.ID, 10)
	found = append(found, flags.Problem{Severity: flags.SeverityError, DefinitionError: &flags.DefinitionError{
		Path: cohort + "/values/0", Err: errors.New("the date is in no calendar"),
	}}, flags.Problem{Severity: flags.SeverityError, DefinitionError: &flags.DefinitionError{
		Path: "/cohorts/99", Err: errors.New("it is not there"),
	}}, flags.Problem{Severity: flags.SeverityError, DefinitionError: &flags.DefinitionError{Err: errors.New("not JSON")}})
	page := s.Get("/projects/1/problems").Want(200, "error cohort Old & tried criterion 1 the date is in no calendar",
		"error cohort 99 it is not there", "error the project not JSON",
		"warning flag power-tools condition set 1, filter 1 the cohort is empty Choose another one.", "4 findings")
	page.CheckPage()
	for _, link := range []string{"/projects/1/flags/power-tools", "/projects/1" + cohort} { // where they lead to
		if !strings.Contains(page.Body, `href="/console`+link+`"`) {
			t.Errorf("the page has no link to %s", link)
		}
		s.Get(link).Want(200).CheckPage()
	}
}
