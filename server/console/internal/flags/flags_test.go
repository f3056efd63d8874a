package flags_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/storage"
	"github.com/flagstaff-go/flagstaff/server/console/consoletest"
	"github.com/flagstaff-go/flagstaff/server/console/internal/flags"
)

func init() {
	actions = append(actions,
		action{Route: "/projects/{project}/flags/{flag}/switch", Asks: consoletest.Who, Run: func(s *consoletest.Site) (string,
			url.Values,
		) {
			return s.FlagPath("checkout-button") + "/switch", url.Values{"to": {"off"}, "from": {"list"}, "back": {"state=on"}}
		}},
	)
}

func TestFlags(t *testing.T) {
	s := consoletest.NewSite(t)
	a := s.Get("/projects/1/flags").Want(200,
		"12 flags", "new-dashboard", "everyone where plan is pro or team; 50% of everyone",
		"everyone where email ends with @example.com (always blue); everyone", "control 50%, blue 25%, green 25%",
		"everyone where $app_version is a version ≥ 2.4.0 and joined is before 30 days ago",
		"everyone where in Imported cohort 1", "50% of company groups where company seats ≥ 50",
		"everyone where flag new-dashboard is true",
		"everyone who has enrolled", "everyone; but 10% are held out", "server only",
		"warning: the cohort is empty (condition set 1, filter 1). Choose another one.",
		"All 12", "On 11", "Off 1", "Problems 1", "Archived 0")
	a.CheckPage()
	s.Get("/").Leads("/projects/1/flags")
	s.Get("/projects/1/").Leads("/projects/1/flags")
}

func TestFlagsFilter(t *testing.T) {
	s := consoletest.NewSite(t)
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
			a := s.Get("/projects/1/flags?" + tt.query).Want(200)
			a.CheckPage()
			var keys []string
			for _, part := range strings.Split(a.Body, "data-open>")[1:] {
				key, _, _ := strings.Cut(part, "<")
				keys = append(keys, key)
			}
			if got := strings.Join(keys, " "); got != tt.want {
				t.Errorf("flags %q, want %q", got, tt.want)
			}
		})
	}
	s.Get("/projects/1/flags?sort=colour").Want(422, `not "colour".`).CheckPage()
	s.Get("/projects/1/flags?q="+strings.Repeat("x", 201)).Want(422, "200").CheckPage()
}

func TestFlagsPages(t *testing.T) {
	s := consoletest.NewSite(t)
	for i := range 60 {
		f := storage.NewFlag(1, s.Flag("new-dashboard").CreatedAt)
		f.Key = fmt.Sprintf("extra-%02d", i)
		consoletest.Fatal(t, s.Store.Flags().Create(t.Context(), f))
	}
	a := s.Get("/projects/1/flags?state=on&sort=key").Want(200, "1 to 50 of 71 flags")
	if !strings.Contains(a.Body, `rel="next" href="/console/projects/1/flags?page=2&amp;sort=key&amp;state=on"`) ||
		strings.Contains(a.Body, `rel="prev"`) {
		t.Error("the first page does not lead to the second one alone")
	}
	a = s.Get("/projects/1/flags?page=2&sort=key&state=on").Want(200, "51 to 71 of 71 flags")
	if strings.Contains(a.Body, `rel="next"`) ||
		!strings.Contains(a.Body, `rel="prev" href="/console/projects/1/flags?sort=key&amp;state=on"`) {
		t.Error("the second page does not lead back to the first one alone")
	}
}

func TestFlagsOfEmptyProject(t *testing.T) {
	s := consoletest.NewSite(t)
	project := storage.NewProject(s.Organization(), "Fresh")
	consoletest.Fatal(t, s.Store.Projects().Create(t.Context(), project))
	s.Get(fmt.Sprintf("/projects/%d/flags", project.ID)).Want(200,
		"This project has no flags yet", "Create a flag", `curl 'https://flags.example.com/flags?v=2'`,
		`posthog.init("`+project.APIKey+`", { api_host: "https://flags.example.com" })`).CheckPage()
}

func TestSwitch(t *testing.T) {
	s := consoletest.NewSite(t)
	path := s.FlagPath("retired")
	form := func(key, to string) url.Values {
		return url.Values{"to": {to}, "from": {"list"}, "back": {"state=off&q=re&evil=1"}, "version": {fmt.Sprint(s.Flag(key).Version)}}
	}
	// Everybody gains it, so that it asks first.
	ask := s.Post(path+"/switch", form("retired", "on")).Want(200, "Switch retired on?", "Of the 40 persons who were seen last, since ",
		", 40 gain it.", "gain it 100%")
	ask.CheckPage()
	if s.Flag("retired").Active {
		t.Fatal("the flag was switched without an answer")
	}
	s.Post(path+"/switch", ask.Form("")).Leads("/projects/1/flags?done=on&q=re&state=off")
	if !s.Flag("retired").Active {
		t.Fatal("the flag is still off")
	}
	s.Get("/projects/1/flags?done=on").Want(200, "The flag is on.")

	// An answer for another version does not count, and nobody knows whom groups reach.
	s.Post(s.FlagPath("animations")+"/switch",
		url.Values{"to": {"off"}, "from": {"flag"}, "version": {"9"}, "confirmed": {"9"}}).Want(200, "Switch animations off?")
	s.Post(s.FlagPath("company-billing")+"/switch", url.Values{"to": {"off"}, "from": {"flag"}}).Want(200, "Switch company-billing off?",
		"What is about groups is not counted")

	// Nobody changes, so that it does not ask.
	s.Post(s.FlagPath("mobile-update")+"/switch", url.Values{"to": {"off"}, "from": {"flag"}}).Leads(s.FlagPath("mobile-update") +
		"?done=off")
	if s.Flag("mobile-update").Active {
		t.Error("mobile-update is still on")
	}

	// What others need stays on.
	s.Post(s.FlagPath("new-dashboard")+"/switch", form("new-dashboard", "off")).Want(422,
		"The flag cannot be disabled: other active flags depend on it: dashboard-tour.").CheckPage()
	s.Post(path+"/switch", url.Values{"to": {"sideways"}}).Want(400)
}

func TestSwitchOfProtectedFlag(t *testing.T) {
	s := consoletest.NewSite(t)
	path := s.FlagPath("mobile-update")
	form := s.Get(path + "/edit").Form("form")
	s.Post(path+"/edit", consoletest.With(form, "tags", "protected", "do", "save")).Leads(path + "?done=saved")
	s.Post(path+"/switch", url.Values{"to": {"off"}, "from": {"flag"}}).Want(200, "The flag has the tag “protected”").CheckPage()
}

// review sends a form to the page that says who changes, and returns the form of that page.
func review(s *consoletest.Site, path string, form url.Values) url.Values {
	s.T.Helper()
	a := s.Post(path, consoletest.With(form, "do", "review")).Want(200, "Review changes")
	a.CheckPage()
	return a.Form("")
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
				words, stale := flags.StateWords(f, now)
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
