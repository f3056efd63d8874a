package console_test

import (
	"strings"
	"testing"

	"github.com/flagstaff-go/flagstaff/server/console"
)

func withoutSurveys(c *console.Config) { c.Surveys = nil }

func TestSurveys(t *testing.T) {
	s := newSite(t)
	s.survey(`{"name":"A draft","type":"widget","questions":[{"type":"open","question":"First?"},{"type":"open","question":"Second?"}]}`)
	s.survey(`{"name":"<script>alert(1)</script>","type":"popover","description":"<img src=x onerror=y>",
		"start_date":"2026-01-01T00:00:00Z","responses_limit":7}`)
	s.survey(`{"name":"Later","type":"popover","start_date":"2126-01-01T00:00:00Z"}`)
	s.survey(`{"name":"Over","type":"api","start_date":"2025-01-01T00:00:00Z","end_date":"2025-02-01T00:00:00Z"}`)
	s.survey(`{"name":"Away","type":"api","archived":true}`)
	a := s.get("/projects/1/surveys").want(200, "4 surveys", "A draft", "First? (and 1 more)", "no questions yet", "draft", "running",
		"scheduled", "complete", "0 of 7", "Current 4", "Archived 1", "in ")
	a.checkPage()
	if strings.Contains(a.body, "<script>alert") || strings.Contains(a.body, "<img src=x") {
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
			a := s.get("/projects/1/surveys?" + tt.query).want(200)
			a.checkPage()
			var names []string
			for _, part := range strings.Split(a.body, "data-open>")[1:] {
				name, _, _ := strings.Cut(part, "<")
				names = append(names, name)
			}
			if got := strings.Join(names, " "); got != tt.want {
				t.Errorf("surveys %q, want %q", got, tt.want)
			}
		})
	}
	s.get("/projects/1/surveys?q="+strings.Repeat("x", 201)).want(422, "200").checkPage()
	for _, from := range []string{"", "nps", "satisfaction", "choice", "open", "empty", "nonsense"} {
		page := s.get("/projects/1/surveys/new?from="+from).want(200, "New survey")
		page.checkPage()
		form := with(page.form("form"), "do", "save", "name", "From "+from)
		s.post("/projects/1/surveys/new", form).want(303)
	}
}
