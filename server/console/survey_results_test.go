package console_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/management/survey"
)

func init() {
	actions = append(actions,
		action{route: "/projects/{project}/surveys/{survey}/answers", verb: "archive", tested: "TestSurveyAnswers"},
		action{route: "/projects/{project}/surveys/{survey}/answers", verb: "unarchive", tested: "TestSurveyAnswers"},
	)
}

// answered stores an event about a survey, with answers by the IDs of questions.
func (s *site) answered(v *survey.View, event string, at time.Time, person string, answers map[string]any) {
	s.t.Helper()
	properties := map[string]any{"$survey_id": v.ID.String()}
	for id, answer := range answers {
		properties["$survey_response_"+id] = answer
	}
	client, err := capture.NewClient(capture.ClientConfig{Sink: s.surveys.Sink(s.store), Project: s.project, MaxRetries: -1})
	fatal(s.t, err)
	fatal(s.t, client.Capture(capture.ClientEvent{Name: "survey " + event, DistinctID: person, Time: at, Properties: properties}))
	fatal(s.t, client.Close(s.t.Context()))
}

func (s *site) answeredSurvey() *survey.View {
	s.t.Helper()
	v := s.survey(`{"name":"Answered","type":"popover","start_date":"2026-01-05T00:00:00Z","questions":[
		{"id":"nps","type":"rating","question":"Recommend?","display":"number","scale":10},
		{"id":"one","type":"single_choice","question":"Which?","choices":["=A","B","Other"],"hasOpenChoice":true},
		{"id":"many","type":"multiple_choice","question":"Which ones?","choices":["x","y"]},
		{"id":"words","type":"open","question":"Why <b>so</b>?"},
		{"id":"to","type":"link","question":"Read","link":"https://example.com/"}]}`)
	day := time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)
	for i := range 8 {
		s.answered(v, "shown", day, fmt.Sprint("p", i), nil)
	}
	s.answered(v, "dismissed", day, "p7", nil)
	s.answered(v, "sent", day, "p0", map[string]any{
		"nps": 10, "one": "=A", "many": []string{"x", "y"}, "words": "Better docs <script>alert(1)</script>",
	})
	s.answered(v, "sent", day.AddDate(0, 0, 2), "p1", map[string]any{
		"nps": 9, "one": "B", "many": []string{"x"}, "words": "More docs, please",
	})
	s.answered(v, "sent", day.AddDate(0, 0, 2), "p2", map[string]any{"nps": 7, "one": "=A", "words": "dark mode"})
	s.answered(v, "sent", day.AddDate(0, 0, 3), "p3", map[string]any{"nps": 3, "one": "something else", "words": "docs"})
	return v
}

func TestSurveyResults(t *testing.T) {
	s := newSite(t)
	v := s.answeredSurvey()
	path := surveyPath(v)
	a := s.get(path+"/results").want(200,
		"Answered", "Shown 8 to 8 persons", "Dismissed 1", "Responses 4 of 4 persons", "Response rate 50%",
		"Responses over time", "5 Jan 2026 1 25%", "6 Jan 2026 0 0%", "7 Jan 2026 2 50%", "8 Jan 2026 1 25%",
		"25 net promoter score",
		"50% promoters (9 or 10) − 25% detractors (0 to 6) = 25. Passives (7 or 8) count among the 4 answers only.",
		"on average 7.25", "=A 2 50%", "B 1 25%", "In their own words 1 25%", "x 2 100%", "y 1 50%", "dark mode",
		"All answers, themes and search")
	a.checkPage()
	if strings.Contains(a.body, "<script>alert") {
		t.Error("an answer comes out as HTML")
	}
	for _, tt := range []struct{ of, want string }{
		{"days", "date,responses\n2026-01-05,1\n2026-01-07,2\n2026-01-08,1\n"},
		{"one", "answer,responses,percent\n'=A,2,50\nB,1,25\nIn their own words,1,25\n"},
		{"many", "answer,responses,percent\nx,2,100\ny,1,50\n"},
	} {
		got := s.get(path + "/chart.csv?of=" + tt.of).want(200)
		if got.body != tt.want || got.header.Get("Content-Type") != "text/csv; charset=utf-8" {
			t.Errorf("chart of %s: %q, want %q", tt.of, got.body, tt.want)
		}
	}
	all := s.get(path + "/results.csv").want(200)
	if n := strings.Count(all.body, "\n"); n != 5 || !strings.Contains(all.body, ",'=A,x; y,") ||
		!strings.Contains(all.header.Get("Content-Disposition"), "responses.csv") {
		t.Errorf("all responses, %d lines: %s", n, all.body)
	}
	draft := s.survey(`{"name":"Unanswered","type":"popover","questions":[{"type":"open","question":"Why?"},
		{"type":"rating","scale":10,"question":"Recommend?"}]}`)
	s.get(surveyPath(draft)+"/results").want(200, "No responses yet", "0 answers").checkPage()
}

func TestSurveyAnswers(t *testing.T) {
	s := newSite(t)
	v := s.answeredSurvey()
	path := surveyPath(v) + "/answers"
	a := s.get(path+"?question=words").want(200, "Why <b>so</b>?", "docs: 3 (75.0%)", "More docs, please", "Answers 1 to 4",
		"Recommend? → 9", "Which ones? → x")
	a.checkPage()
	if strings.Contains(a.body, "<script>alert") || strings.Contains(a.body, "<b>so") {
		t.Error("an answer or a question comes out as HTML")
	}
	s.get(path+"?question=words&q=DARK").want(200, "dark mode", "Answers 1 to 1").checkPage()
	s.get(path+"?question=words&q=nothing").want(200, "No answers match").checkPage()
	csv := s.get(surveyPath(v) + "/results.csv?question=words&q=dark").want(200)
	if n := strings.Count(csv.body, "\n"); n != 2 {
		t.Errorf("the table of a search has %d lines, want 2: %s", n, csv.body)
	}
	page, err := s.surveys.Responses(t.Context(), s.owner, "1", v.ID.String(), survey.ResponseQuery{QuestionID: "words", Search: "dark"})
	fatal(t, err)
	id := page.Results[0].UUID
	act := func(do string, response uuid.UUID) {
		t.Helper()
		done := map[string]string{"archive": "hidden", "unarchive": "shown"}[do]
		s.post(path, with(nil, "do", do, "response", response.String(), "back", "question=words&archived=yes&evil=1")).leads(path +
			"?archived=yes&done=" + done + "&question=words")
	}
	act("archive", id)
	if a := s.get(path+"?question=words").want(200, "Answers 1 to 3"); strings.Contains(a.body, "dark mode") {
		t.Error("an archived answer is shown")
	}
	s.get(path+"?question=words&archived=yes&done=hidden").want(200, "The response is archived", "dark mode archived",
		"Count it again").checkPage()
	act("unarchive", id)
	s.get(path+"?question=words").want(200, "dark mode")
	s.post(path, with(nil, "do", "boom")).want(400).checkPage()
	s.post(path, with(nil, "do", "archive", "response", "x")).want(422).checkPage()
}

// TestDaysOfManyYears puts days together, so that a chart has few columns.
func TestDaysOfManyYears(t *testing.T) {
	s := newSite(t)
	v := s.survey(`{"name":"Long","type":"popover","start_date":"2024-01-01T00:00:00Z","questions":[{"id":"a","type":"open",
		"question":"Why?"}]}`)
	for _, day := range []string{"2024-01-01", "2024-01-03", "2025-06-01"} {
		at, err := time.Parse(time.DateOnly, day)
		fatal(t, err)
		s.answered(v, "sent", at, "p", map[string]any{"a": "x"})
	}
	a := s.get(surveyPath(v)+"/results").want(200, "week of 1 Jan 2024 2")
	if n := strings.Count(a.body, "<title>week of"); n != 74 {
		t.Errorf("%d columns, want 74", n)
	}
	var days struct {
		PerDay []survey.DayStats `json:"per_day_stats"`
	}
	stats, err := s.surveys.Stats(t.Context(), s.owner, "1", v.ID.String(), survey.StatsQuery{PerDay: true})
	fatal(t, err)
	raw, err := json.Marshal(stats)
	fatal(t, err)
	fatal(t, json.Unmarshal(raw, &days))
	if got := fmt.Sprint(days.PerDay); got != "[{2024-01-01 1} {2024-01-03 1} {2025-06-01 1}]" || stats.PerQuestion != nil {
		t.Errorf("days %s", got)
	}
}
