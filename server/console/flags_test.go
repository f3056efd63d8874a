package console_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/flagstaff-go/flagstaff/management"
)

func TestFlags(t *testing.T) {
	s := newSite(t)
	a := s.get("/projects/1/flags").want(200,
		"12 flags", "new-dashboard", "100 % where plan is pro or team; 50 % of everyone",
		"100 % where email ends with @example.com (always blue); everyone", "control 50 %, blue 25 %, green 25 %",
		"100 % where $app_version is a version ≥ 2.4.0 and joined is before 30 days ago",
		"100 % where in Imported cohort 1", "50 % of company groups where company seats ≥ 50", "100 % where flag new-dashboard is true",
		"everybody who has enrolled", "everyone; but 10 % are held out", "server only", "warning: the cohort is empty (condition 1, filter 1). Choose another one.",
		"All 12", "On 11", "Off 1", "Problems 1", "Archived 0")
	a.checkPage()
	s.get("/").leads("/projects/1/flags")
	s.get("/projects/1/").leads("/projects/1/flags")
}

func TestFlagsFilter(t *testing.T) {
	s := newSite(t)
	for _, tt := range []struct {
		query, want string
	}{
		{"q=DASH", "dashboard-tour new-dashboard"},
		{"q=experiment+with", "pricing-page"},
		{"state=off", "retired"},
		{"state=broken", "power-tools"},
		{"state=archived", ""},
		{"state=stale", ""},
		{"kind=remote_config", ""},
		{"runtime=client", "animations"},
		{"context=help", "docs-search"},
		{"tag=none", ""},
		{"q=a&sort=key&state=on&runtime=all", "assistant checkout-button company-billing dashboard-tour docs-search mobile-update new-dashboard power-tools pricing-page"},
		{"page=2", ""},
		{"page=x", "dashboard-tour retired pricing-page assistant docs-search animations bulk-export company-billing power-tools mobile-update checkout-button new-dashboard"},
	} {
		t.Run(tt.query, func(t *testing.T) {
			a := s.get("/projects/1/flags?" + tt.query).want(200)
			a.checkPage()
			var keys []string
			for _, part := range strings.Split(a.body, "data-open>")[1:] {
				key, _, _ := strings.Cut(part, "<")
				keys = append(keys, key)
			}
			if got := strings.Join(keys, " "); got != tt.want {
				t.Errorf("flags %q, want %q", got, tt.want)
			}
		})
	}
	s.get("/projects/1/flags?sort=colour").want(422, `not "colour".`).checkPage()
	s.get("/projects/1/flags?q="+strings.Repeat("x", 201)).want(422, "200").checkPage()
}

func TestFlagsPages(t *testing.T) {
	s := newSite(t)
	for i := range 60 {
		f := management.NewFlag(1, s.flag("new-dashboard").CreatedAt)
		f.Key = fmt.Sprintf("extra-%02d", i)
		fatal(t, s.store.CreateFlag(t.Context(), f))
	}
	a := s.get("/projects/1/flags?state=on&sort=key").want(200, "1 to 50 of 71 flags")
	if !strings.Contains(a.body, `rel="next" href="/console/projects/1/flags?page=2&amp;sort=key&amp;state=on"`) || strings.Contains(a.body, `rel="prev"`) {
		t.Error("the first page does not lead to the second one alone")
	}
	a = s.get("/projects/1/flags?page=2&sort=key&state=on").want(200, "51 to 71 of 71 flags")
	if strings.Contains(a.body, `rel="next"`) || !strings.Contains(a.body, `rel="prev" href="/console/projects/1/flags?sort=key&amp;state=on"`) {
		t.Error("the second page does not lead back to the first one alone")
	}
}

func TestFlagsOfEmptyProject(t *testing.T) {
	s := newSite(t)
	project := management.NewProject(s.organization(), "Fresh")
	fatal(t, s.store.CreateProject(t.Context(), project))
	s.get(fmt.Sprintf("/projects/%d/flags", project.ID)).want(200,
		"This project has no flags yet", "Make a flag", `curl 'https://flags.example.com/flags?v=2'`, `posthog.init("`+project.APIKey+`", { api_host: "https://flags.example.com" })`).checkPage()
}

func (s *site) organization() *management.Organization {
	s.t.Helper()
	list, err := s.store.Organizations(s.t.Context())
	fatal(s.t, err)
	return &list[0]
}

func TestSwitch(t *testing.T) {
	s := newSite(t)
	path := s.flagPath("retired")
	form := func(key, to string) url.Values {
		return url.Values{"to": {to}, "from": {"list"}, "back": {"state=off&q=re&evil=1"}, "version": {fmt.Sprint(s.flag(key).Version)}}
	}
	// Everybody gains it, so that it asks first.
	a := s.post(path+"/switch", form("retired", "on"))
	a.leads(path + "/switch?back=state%3Doff%26q%3Dre%26evil%3D1&from=list&to=on")
	if s.flag("retired").Active {
		t.Fatal("the flag was switched without an answer")
	}
	ask := s.get(strings.TrimPrefix(a.header.Get("Location"), "/console")).want(200, "Switch retired on?", "Of the 40 persons who were seen last, since ", ", 40 gain it.", "gain it 100 %")
	ask.checkPage()
	s.post(path+"/switch", with(ask.form(""), "to", "on")).leads("/projects/1/flags?done=on&q=re&state=off")
	if !s.flag("retired").Active {
		t.Fatal("the flag is still off")
	}
	s.get("/projects/1/flags?done=on").want(200, "The flag is on.")

	// An answer for another version does not count, and nobody knows whom groups reach.
	s.post(s.flagPath("animations")+"/switch", url.Values{"to": {"off"}, "from": {"flag"}, "version": {"0"}, "confirmed": {"1"}}).leads(s.flagPath("animations") + "/switch?back=&from=flag&to=off")
	s.post(s.flagPath("company-billing")+"/switch", url.Values{"to": {"off"}, "from": {"flag"}}).leads(s.flagPath("company-billing") + "/switch?back=&from=flag&to=off")
	s.get(s.flagPath("company-billing")+"/switch?to=off").want(200, "Conditions about groups are not counted")

	// Nobody changes, so that it does not ask.
	s.post(s.flagPath("mobile-update")+"/switch", url.Values{"to": {"off"}, "from": {"flag"}}).leads(s.flagPath("mobile-update") + "?done=off")
	if s.flag("mobile-update").Active {
		t.Error("mobile-update is still on")
	}

	// What others need stays on.
	s.post(s.flagPath("new-dashboard")+"/switch", form("new-dashboard", "off")).want(422, "The flag cannot be disabled: other active flags depend on it: dashboard-tour.").checkPage()
	s.post(path+"/switch", url.Values{"to": {"sideways"}}).want(400)
}

func TestSwitchOfProtectedFlag(t *testing.T) {
	s := newSite(t)
	path := s.flagPath("mobile-update")
	page := s.get(path)
	s.post(path, with(s.review(path, with(page.form("form"), "tags", "protected")), "do", "save")).leads(path + "?done=saved")
	s.post(path+"/switch", url.Values{"to": {"off"}, "from": {"flag"}}).leads(path + "/switch?back=&from=flag&to=off")
	s.get(path+"/switch?to=off").want(200, "The flag has the tag protected")
}

// review sends a form to the page that says who changes, and returns the form of that page.
func (s *site) review(path string, form url.Values) url.Values {
	s.t.Helper()
	a := s.post(path, with(form, "do", "review")).want(200, "Who changes")
	a.checkPage()
	return a.form("")
}
