package flags_test

import (
	"context"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/optional"
	"github.com/flagstaff-go/flagstaff/management/storage"
	"github.com/flagstaff-go/flagstaff/server/console/consoletest"
	"github.com/flagstaff-go/flagstaff/server/console/shell"
)

func init() {
	actions = append(actions,
		action{Route: "/projects/{project}/tour", Verb: "leave", Tested: "TestTourLeft"},
		action{Route: "/projects/{project}/tour", Verb: "asked", Tested: "TestTourAsks"},
	)
}

var tourWords = regexp.MustCompile(`<section class="tour".*?<summary>Tour: ([^<]*)</summary>`)

// tourIs checks how far the tour is on the list and on the page of a flag, "" for none.
func tourIs(s *consoletest.Site, want string) {
	s.T.Helper()
	for _, path := range []string{"/projects/1/flags", s.FlagPath("animations")} {
		page, got := s.Get(path).Want(200), ""
		page.CheckPage()
		if m := tourWords.FindStringSubmatch(page.Body); m != nil {
			got = m[1]
		}
		if got != want {
			s.T.Errorf("%s: the tour is %q, want %q", path, got, want)
		}
		if current := strings.Count(page.Body, `aria-current="step"`); (current == 1) != strings.HasPrefix(want, "step") {
			s.T.Errorf("%s: %d steps are current", path, current)
		}
	}
}

// makeFlag makes a flag with the form, and returns its path.
func makeFlag(s *consoletest.Site, key string) string {
	s.T.Helper()
	form := s.Get("/projects/1/flags/new").Form("form")
	return s.Post("/projects/1/flags/new", consoletest.With(form, "key", key, "do", "save")).Want(303).Thing()
}

func press(s *consoletest.Site, do string) *consoletest.Answer {
	s.T.Helper()
	return s.Post("/projects/1/tour", url.Values{"do": {do}})
}

// TestTour: whoever has made no flag is led through four steps, each of which is done when it was
// really done, and sees once that all are.
func TestTour(t *testing.T) {
	t.Parallel()
	s := consoletest.NewSite(t)
	s.Update("retired", `{"name":"Changed, and not made"}`)
	tourIs(s, "step 1 of 4")
	s.Get("/projects/1/explain?flag=retired").Want(200)
	tourIs(s, "step 1 of 4")

	makeFlag(s, "zero")
	tourIs(s, "step 2 of 4")
	s.Update("zero", `{"deleted":true}`)
	tourIs(s, "step 1 of 4")
	path := makeFlag(s, "first")
	tourIs(s, "step 2 of 4")
	makeFlag(s, "second")
	s.Get("/projects/1/explain?flag=second").Want(200)
	s.Get("/projects/1/explain").Want(200)
	tourIs(s, "step 2 of 4")
	page := s.Get(path).Want(200)
	for _, link := range []string{"/projects/1/explain?flag=first", path + "#code", path} {
		if !strings.Contains(page.Body, `<a href="/console`+link+`"`) {
			t.Errorf("the tour does not lead to %s", link)
		}
	}
	s.Get("/projects/1/explain?flag=first&person=user-001").Want(200)
	tourIs(s, "step 3 of 4")
	press(s, "asked").Leads("/projects/1/flags")
	tourIs(s, "step 4 of 4")

	s.Update("first", `{"active":true}`)
	tourIs(s, "step 4 of 4")
	project := storage.NewProject(s.Organization(), "Other")
	consoletest.Fatal(t, s.Store.Projects().Create(t.Context(), project))
	if page := s.Get(fmt.Sprintf("/projects/%d/flags", project.ID)).Want(200); tourWords.MatchString(page.Body) {
		t.Error("the tour is in a project without its flag")
	}
	s.Update("first", `{"active":false}`)
	page = s.Get(path).Want(200, "Tour: all steps are done")
	if page.CheckPage(); strings.Count(page.Body, `<span class="tag good">done</span>`) != 4 {
		t.Error("not all of the steps are done")
	}
	tourIs(s, "")
	s.Update("first", `{"active":true,"deleted":true}`)
	makeFlag(s, "third")
	tourIs(s, "")
}

// TestTourLeft: who has left the tour does not see it again, in no session.
func TestTourLeft(t *testing.T) {
	t.Parallel()
	s := consoletest.NewSite(t)
	path := makeFlag(s, "first")
	tourIs(s, "step 2 of 4")
	press(s, "sing").Want(400)
	s.Post("/projects/1/tour", url.Values{"do": {"leave"}, "flag": {path[strings.LastIndex(path, "/")+1:]}}).Leads(path + "?done=tour-left")
	s.Get(path+"?done=tour-left").Want(200, "You have left the tour.")
	tourIs(s, "")
	s.Update("first", `{"deleted":true}`)
	makeFlag(s, "second")
	s.SignIn(consoletest.Address)
	tourIs(s, "")
}

// TestTourOfOthers: who has made a flag before has no tour, and nobody who makes another user's
// flag late gets one.
func TestTourOfOthers(t *testing.T) {
	t.Parallel()
	s := consoletest.NewSite(t)
	_, err := s.Service.CreateFlag(t.Context(), s.Owner, "1", management.FlagPatch{Key: optional.Of("made-before")})
	consoletest.Fatal(t, err)
	tourIs(s, "")
	s.Member("grace@example.com", storage.LevelMember)
	s.SignIn("grace@example.com")
	tourIs(s, "step 1 of 4")
	press(s, "leave").Leads("/projects/1/flags?done=tour-left")
	makeFlag(s, "by-grace")
	tourIs(s, "")
}

// TestTourAsks: that a program has asked for the flag is known from its report, and from a request
// for flags after the flag was made.
func TestTourAsks(t *testing.T) {
	t.Parallel()
	var status shell.Status
	for name, ask := range map[string]func(*consoletest.Site){
		"a request": func(s *consoletest.Site) {
			status.LastRequest = s.Flag("first").CreatedAt.Add(-time.Second)
			tourIs(s, "step 3 of 4")
			status.LastRequest = s.Flag("first").CreatedAt.Add(time.Second)
			tourIs(s, "step 4 of 4")
			status.LastRequest = time.Time{} // the server was started again
		},
		"a report": func(s *consoletest.Site) {
			events, err := capture.NewClient(capture.ClientConfig{Sink: s.Store, Project: 1, MaxRetries: -1})
			consoletest.Fatal(s.T, err)
			consoletest.Fatal(s.T, events.Capture(capture.ClientEvent{
				Name: "$feature_flag_called", DistinctID: "ada",
				Properties: map[string]any{"$feature_flag": "first", "$feature_flag_response": true},
			}))
			consoletest.Fatal(s.T, events.Close(s.T.Context()))
		},
		"a word": func(s *consoletest.Site) { press(s, "asked").Want(303) },
	} {
		t.Run(name, func(t *testing.T) {
			s := consoletest.NewSite(t, func(c *shell.Config) {
				c.Status = func(context.Context, int64) shell.Status { return status }
			})
			makeFlag(s, "first")
			s.Get("/projects/1/explain?flag=first").Want(200)
			tourIs(s, "step 3 of 4")
			ask(s)
			tourIs(s, "step 4 of 4")
		})
	}
}
