package console_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/storage"
	"github.com/flagstaff-go/flagstaff/server/console"
)

func init() {
	actions = append(actions,
		action{route: "/projects/{project}/flags/{flag}/switch", asks: who, run: func(s *site) (string, url.Values) {
			return s.flagPath("checkout-button") + "/switch", url.Values{"to": {"off"}, "from": {"list"}, "back": {"state=on"}}
		}},
	)
}

func TestFlags(t *testing.T) {
	s := newSite(t)
	a := s.get("/projects/1/flags").want(200,
		"12 flags", "new-dashboard", "everyone where plan is pro or team; 50% of everyone",
		"everyone where email ends with @example.com (always blue); everyone", "control 50%, blue 25%, green 25%",
		"everyone where $app_version is a version ≥ 2.4.0 and joined is before 30 days ago",
		"everyone where in Imported cohort 1", "50% of company groups where company seats ≥ 50",
		"everyone where flag new-dashboard is true",
		"everyone who has enrolled", "everyone; but 10% are held out", "server only",
		"warning: the cohort is empty (condition set 1, filter 1). Choose another one.",
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
		{
			"q=a&sort=key&state=on&runtime=all",
			"assistant checkout-button company-billing dashboard-tour docs-search mobile-update new-dashboard power-tools pricing-page",
		},
		{"page=2", ""},
		{
			"page=x",
			"dashboard-tour retired pricing-page assistant docs-search animations bulk-export company-billing power-tools " +
				"mobile-update checkout-button new-dashboard",
		},
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
		f := storage.NewFlag(1, s.flag("new-dashboard").CreatedAt)
		f.Key = fmt.Sprintf("extra-%02d", i)
		fatal(t, s.store.CreateFlag(t.Context(), f))
	}
	a := s.get("/projects/1/flags?state=on&sort=key").want(200, "1 to 50 of 71 flags")
	if !strings.Contains(a.body, `rel="next" href="/console/projects/1/flags?page=2&amp;sort=key&amp;state=on"`) ||
		strings.Contains(a.body, `rel="prev"`) {
		t.Error("the first page does not lead to the second one alone")
	}
	a = s.get("/projects/1/flags?page=2&sort=key&state=on").want(200, "51 to 71 of 71 flags")
	if strings.Contains(a.body, `rel="next"`) ||
		!strings.Contains(a.body, `rel="prev" href="/console/projects/1/flags?sort=key&amp;state=on"`) {
		t.Error("the second page does not lead back to the first one alone")
	}
}

func TestFlagsOfEmptyProject(t *testing.T) {
	s := newSite(t)
	project := storage.NewProject(s.organization(), "Fresh")
	fatal(t, s.store.CreateProject(t.Context(), project))
	s.get(fmt.Sprintf("/projects/%d/flags", project.ID)).want(200,
		"This project has no flags yet", "Create a flag", `curl 'https://flags.example.com/flags?v=2'`,
		`posthog.init("`+project.APIKey+`", { api_host: "https://flags.example.com" })`).checkPage()
}

func (s *site) organization() *storage.Organization {
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
	ask := s.post(path+"/switch", form("retired", "on")).want(200, "Switch retired on?", "Of the 40 persons who were seen last, since ",
		", 40 gain it.", "gain it 100%")
	ask.checkPage()
	if s.flag("retired").Active {
		t.Fatal("the flag was switched without an answer")
	}
	s.post(path+"/switch", ask.form("")).leads("/projects/1/flags?done=on&q=re&state=off")
	if !s.flag("retired").Active {
		t.Fatal("the flag is still off")
	}
	s.get("/projects/1/flags?done=on").want(200, "The flag is on.")

	// An answer for another version does not count, and nobody knows whom groups reach.
	s.post(s.flagPath("animations")+"/switch",
		url.Values{"to": {"off"}, "from": {"flag"}, "version": {"9"}, "confirmed": {"9"}}).want(200, "Switch animations off?")
	s.post(s.flagPath("company-billing")+"/switch", url.Values{"to": {"off"}, "from": {"flag"}}).want(200, "Switch company-billing off?",
		"Condition sets about groups are not counted")

	// Nobody changes, so that it does not ask.
	s.post(s.flagPath("mobile-update")+"/switch", url.Values{"to": {"off"}, "from": {"flag"}}).leads(s.flagPath("mobile-update") +
		"?done=off")
	if s.flag("mobile-update").Active {
		t.Error("mobile-update is still on")
	}

	// What others need stays on.
	s.post(s.flagPath("new-dashboard")+"/switch", form("new-dashboard", "off")).want(422,
		"The flag cannot be disabled: other active flags depend on it: dashboard-tour.").checkPage()
	s.post(path+"/switch", url.Values{"to": {"sideways"}}).want(400)
}

func TestSwitchOfProtectedFlag(t *testing.T) {
	s := newSite(t)
	path := s.flagPath("mobile-update")
	page := s.get(path)
	s.post(path, with(page.form("form"), "tags", "protected", "do", "save")).leads(path + "?done=saved")
	s.post(path+"/switch", url.Values{"to": {"off"}, "from": {"flag"}}).want(200, "The flag has the tag “protected”").checkPage()
}

// review sends a form to the page that says who changes, and returns the form of that page.
func (s *site) review(path string, form url.Values) url.Values {
	s.t.Helper()
	a := s.post(path, with(form, "do", "review")).want(200, "Review changes")
	a.checkPage()
	return a.form("")
}

// TestFlagState checks for all flags that there can be that the state of a flag and the time
// when programs have asked for it last do not contradict each other.
func TestFlagState(t *testing.T) {
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	ago := func(d time.Duration) *time.Time { return new(now.Add(-d)) }
	const day = 24 * time.Hour
	notReported, constant := "No client has reported a value for 40 days, since 23 January 2026",
		"Every request gets true: condition set 1 is for everybody; unchanged since 23 January 2026"
	seen := make(map[string]bool)
	for _, called := range []*time.Time{nil, ago(time.Hour), ago(8 * day), ago(40 * day)} {
		for _, updated := range []*time.Time{ago(time.Minute), ago(2 * time.Hour), ago(50 * day)} {
			for state := range 6 {
				f := &management.FlagView{LastCalledAt: called, UpdatedAt: *updated, Active: state > 2}
				f.Deleted, f.Archived = state == 0, state == 1
				old := called != nil && now.Sub(*called) >= 30*day
				switch {
				case f.Active && old: // what the Service says of it
					f.StaleReason = &notReported
				case state == 5 && now.Sub(*updated) >= 30*day:
					f.StaleReason = &constant
				}
				words, stale := console.StateWords(f, now)
				seen[words] = true
				lately := called != nil && now.Sub(*called) < 7*day
				asked := lately && called.After(*updated)
				for text, may := range map[string]bool{
					"in use": f.Active && lately && f.StaleReason == nil, "still ask": asked, "yet": called == nil,
					"lately":    called != nil && !lately,
					"No client": old, "Deleted": f.Deleted, "Archived": f.Archived, "Off": !f.Active && !f.Deleted && !f.Archived,
					"On": f.Active,
				} {
					if strings.Contains(words, text) && !may {
						t.Errorf("called %v, updated %v, state %d: %q, with %q", called, updated, state, words, text)
					}
				}
				if stale != (f.StaleReason != nil) {
					t.Errorf("%q: stale %t", words, stale)
				}
			}
		}
	}
	for _, want := range []string{
		"Deleted. Programs still ask for it", "Off", "Off. Programs still ask for it", "Archived, and off", notReported, constant,
		constant + ". Programs still ask for it",
		"On, and in use", "On, but no program has reported a value of it yet", "On, but no program has reported a value of it lately",
	} {
		if !seen[want] {
			t.Errorf("no flag is %q", want)
		}
	}
}
