package console_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/flagstaff-go/flagstaff/server/console/consoletest"
)

func TestSurveys(t *testing.T) {
	s := newSite(t)
	s.Survey(`{"name":"A draft","type":"widget","questions":[{"type":"open","question":"First?"},{"type":"open","question":"Second?"}]}`)
	s.Survey(`{"name":"<script>alert(1)</script>","type":"popover","description":"<img src=x onerror=y>",
		"start_date":"2026-01-01T00:00:00Z","responses_limit":7}`)
	s.Survey(`{"name":"Later","type":"popover","start_date":"2126-01-01T00:00:00Z"}`)
	s.Survey(`{"name":"Over","type":"api","start_date":"2025-01-01T00:00:00Z","end_date":"2025-02-01T00:00:00Z"}`)
	s.Survey(`{"name":"Away","type":"api","archived":true}`)
	a := s.Get("/projects/1/surveys").Want(200, "4 surveys", "A draft", "First? (and 1 more)", "no questions yet", "draft", "running",
		"scheduled", "complete", "0 of 7", "Current 4", "Archived 1", "in ")
	a.CheckPage()
	if strings.Contains(a.Body, "<script>alert") || strings.Contains(a.Body, "<img src=x") {
		t.Error("a text of a survey comes out as HTML")
	}
	for _, tt := range []struct{ query, want string }{
		{"q=DRA", "A draft"},
		{"state=archived", "Away"},
		{"type=api", "Over"},
		{"q=none", ""},
		{"page=2", ""},
		{"page=x&q=over", "Over"},
	} {
		t.Run(tt.query, func(t *testing.T) {
			a := s.Get("/projects/1/surveys?" + tt.query).Want(200)
			a.CheckPage()
			var names []string
			for _, part := range strings.Split(a.Body, "data-open>")[1:] {
				name, _, _ := strings.Cut(part, "<")
				names = append(names, name)
			}
			if got := strings.Join(names, " "); got != tt.want {
				t.Errorf("surveys %q, want %q", got, tt.want)
			}
		})
	}
	s.Get("/projects/1/surveys?q="+strings.Repeat("x", 201)).Want(422, "200").CheckPage()
	for _, from := range []string{"", "nps", "satisfaction", "choice", "open", "empty", "nonsense"} {
		page := s.Get("/projects/1/surveys/new?from="+from).Want(200, "New survey")
		page.CheckPage()
		form := consoletest.With(page.Form("form"), "do", "save", "name", "From "+from)
		s.Post("/projects/1/surveys/new", form).Want(303)
	}
}

// TestSurveysOfFlag: the page of a flag leads to the surveys that use it.
func TestSurveysOfFlag(t *testing.T) {
	s := newSite(t)
	v := s.Survey(fmt.Sprintf(`{"name":"Asked","type":"popover","linked_flag_id":%d,"questions":[{"type":"open","question":"Why?"}]}`,
		s.Flag("new-dashboard").ID))
	page := s.Get(s.FlagPath("new-dashboard")).Want(200, "Used by flag dashboard-tour survey Asked")
	page.CheckPage()
	if !strings.Contains(page.Body, `<a href="/console`+surveyPath(v)+`">Asked</a>`) {
		t.Error("the page does not lead to the survey")
	}
}
