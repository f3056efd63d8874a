package console_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/management/storage"
	"github.com/flagstaff-go/flagstaff/server/console/consoletest"
	"github.com/flagstaff-go/flagstaff/surveys"
	"github.com/flagstaff-go/flagstaff/surveys/summary/chat"
)

func init() {
	actions = append(actions,
		action{Route: "/projects/{project}/surveys/{survey}/answers", Verb: "archive", Tested: "TestSurveyAnswers"},
		action{Route: "/projects/{project}/surveys/{survey}/answers", Verb: "unarchive", Tested: "TestSurveyAnswers"},
		action{
			Route: "/projects/{project}/surveys/{survey}/answers", Verb: "send", Irreversible: "what was sent was sent; the button beside it ends it",
			Tested: "TestSummariesAreWritten",
		},
		action{
			Route: "/projects/{project}/surveys/{survey}/answers", Verb: "count", Irreversible: "the button in its place does", Tested: "TestSummariesAreWritten",
		},
	)
}

// Answered stores an event about a survey, with answers by the IDs of questions.
func (s *site) Answered(v *surveys.View, event string, at time.Time, person string, answers map[string]any) {
	s.T.Helper()
	properties := map[string]any{"$survey_id": v.ID.String()}
	for id, answer := range answers {
		properties["$survey_response_"+id] = answer
	}
	client, err := capture.NewClient(capture.ClientConfig{Sink: s.surveys.Sink(s.Store), Project: s.Project, MaxRetries: -1})
	consoletest.Fatal(s.T, err)
	consoletest.Fatal(s.T, client.Capture(capture.ClientEvent{
		Name: "survey " + event, DistinctID: person, Time: at,
		Properties: properties,
	}))
	consoletest.Fatal(s.T, client.Close(s.T.Context()))
}

func (s *site) answeredSurvey() *surveys.View {
	s.T.Helper()
	v := s.Survey(`{"name":"Answered","type":"popover","start_date":"2026-01-05T00:00:00Z","questions":[
		{"id":"nps","type":"rating","question":"Recommend?","display":"number","scale":10},
		{"id":"one","type":"single_choice","question":"Which?","choices":["=A","B","Other"],"hasOpenChoice":true},
		{"id":"many","type":"multiple_choice","question":"Which ones?","choices":["x","y"]},
		{"id":"words","type":"open","question":"Why <b>so</b>?"},
		{"id":"to","type":"link","question":"Read","link":"https://example.com/"}]}`)
	day := time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)
	for i := range 8 {
		s.Answered(v, "shown", day, fmt.Sprint("p", i), nil)
	}
	s.Answered(v, "dismissed", day, "p7", nil)
	s.Answered(v, "sent", day, "p0", map[string]any{
		"nps": 10, "one": "=A", "many": []string{"x", "y"}, "words": "Better docs <script>alert(1)</script>",
	})
	s.Answered(v, "sent", day.AddDate(0, 0, 2), "p1", map[string]any{
		"nps": 9, "one": "B", "many": []string{"x"}, "words": "More docs, please",
	})
	s.Answered(v, "sent", day.AddDate(0, 0, 2), "p2", map[string]any{"nps": 7, "one": "=A", "words": "dark mode"})
	s.Answered(v, "sent", day.AddDate(0, 0, 3), "p3", map[string]any{"nps": 3, "one": "something else", "words": "docs"})
	return v
}

func TestSurveyResults(t *testing.T) {
	s := newSite(t)
	v := s.answeredSurvey()
	path := surveyPath(v)
	a := s.Get(path+"/results").Want(200,
		"Answered", "Shown 8 to 8 persons", "Dismissed 1", "Responses 4 of 4 persons", "Response rate 50%",
		"Responses over time", "5 Jan 2026 1 25%", "6 Jan 2026 0 0%", "7 Jan 2026 2 50%", "8 Jan 2026 1 25%",
		"25 net promoter score",
		"50% promoters (9 or 10) − 25% detractors (0 to 6) = 25. Passives (7 or 8) count among the 4 answers only.",
		"on average 7.25", "=A 2 50%", "B 1 25%", "In their own words 1 25%", "x 2 100%", "y 1 50%", "dark mode",
		"All answers, themes and search")
	a.CheckPage()
	if strings.Contains(a.Body, "<script>alert") {
		t.Error("an answer comes out as HTML")
	}
	for _, tt := range []struct{ of, want string }{
		{"days", "date,responses\n2026-01-05,1\n2026-01-07,2\n2026-01-08,1\n"},
		{"one", "answer,responses,percent\n'=A,2,50\nB,1,25\nIn their own words,1,25\n"},
		{"many", "answer,responses,percent\nx,2,100\ny,1,50\n"},
	} {
		got := s.Get(path + "/chart.csv?of=" + tt.of).Want(200)
		if got.Body != tt.want || got.Header.Get("Content-Type") != "text/csv; charset=utf-8" {
			t.Errorf("chart of %s: %q, want %q", tt.of, got.Body, tt.want)
		}
	}
	all := s.Get(path + "/results.csv").Want(200)
	if n := strings.Count(all.Body, "\n"); n != 5 || !strings.Contains(all.Body, ",'=A,x; y,") ||
		!strings.Contains(all.Header.Get("Content-Disposition"), "responses.csv") {
		t.Errorf("all responses, %d lines: %s", n, all.Body)
	}
	draft := s.Survey(`{"name":"Unanswered","type":"popover","questions":[{"type":"open","question":"Why?"},
		{"type":"rating","scale":10,"question":"Recommend?"}]}`)
	s.Get(surveyPath(draft)+"/results").Want(200, "No responses yet", "0 answers").CheckPage()
}

func TestSurveyAnswers(t *testing.T) {
	s := newSite(t)
	v := s.answeredSurvey()
	path := surveyPath(v) + "/answers"
	a := s.Get(path+"?question=words").Want(200, "Why <b>so</b>?", "docs: 3 (75.0%)", "More docs, please", "Answers 1 to 4",
		"Recommend? → 9", "Which ones? → x")
	a.CheckPage()
	if strings.Contains(a.Body, "<script>alert") || strings.Contains(a.Body, "<b>so") {
		t.Error("an answer or a question comes out as HTML")
	}
	s.Get(path+"?question=words&q=DARK").Want(200, "dark mode", "Answers 1 to 1").CheckPage()
	s.Get(path+"?question=words&q=nothing").Want(200, "No answers match").CheckPage()
	csv := s.Get(surveyPath(v) + "/results.csv?question=words&q=dark").Want(200)
	if n := strings.Count(csv.Body, "\n"); n != 2 {
		t.Errorf("the table of a search has %d lines, want 2: %s", n, csv.Body)
	}
	page, err := s.surveys.Responses(t.Context(), s.Owner, "1", v.ID.String(), surveys.ResponseQuery{QuestionID: "words", Search: "dark"})
	consoletest.Fatal(t, err)
	id := page.Results[0].UUID
	act := func(do string, response uuid.UUID) {
		t.Helper()
		done := map[string]string{"archive": "hidden", "unarchive": "shown"}[do]
		s.Post(path, consoletest.With(nil, "do", do, "response", response.String(), "back",
			"question=words&archived=yes&evil=1")).Leads(path +
			"?archived=yes&done=" + done + "&question=words")
	}
	act("archive", id)
	if a := s.Get(path+"?question=words").Want(200, "Answers 1 to 3"); strings.Contains(a.Body, "dark mode") {
		t.Error("an archived answer is shown")
	}
	s.Get(path+"?question=words&archived=yes&done=hidden").Want(200, "The response is archived", "dark mode archived",
		"Count it again").CheckPage()
	act("unarchive", id)
	s.Get(path+"?question=words").Want(200, "dark mode")
	s.Post(path, consoletest.With(nil, "do", "boom")).Want(400).CheckPage()
	s.Post(path, consoletest.With(nil, "do", "archive", "response", "x")).Want(422).CheckPage()
}

// TestSummariesAreWritten: what would leave the machine is said before an administrator decides
// that it does, and what comes back is text.
func TestSummariesAreWritten(t *testing.T) {
	var sent []string
	broken := false
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		sent = append(sent, string(body))
		if broken {
			http.Error(w, "secret reasons", http.StatusInternalServerError)
			return
		}
		_, _ = io.WriteString(w, `{"choices":[{"message":{"role":"assistant","content":"- Three ask for docs\n<script>alert(2)</script> **bold**"}}]}`)
	}))
	t.Cleanup(service.Close)
	words, err := chat.New(chat.Config{URL: service.URL, Model: "small-1"})
	consoletest.Fatal(t, err)
	s := newSiteOn(t, stores.Open(t), surveys.Config{Summarizer: words, SummaryNotice: words.Notice()})
	v := s.answeredSurvey()
	path := surveyPath(v) + "/answers"
	page := path + "?question=words"
	has := func(button bool, texts ...string) {
		t.Helper()
		a := s.Get(page).Want(200, texts...)
		a.CheckPage()
		if got := strings.Contains(a.Body, `name="do" value="send"`) || strings.Contains(a.Body, `value="count"`); got != button {
			t.Errorf("there is a button: %t, want %t", got, button)
		}
		if strings.Contains(a.Body, "<script>alert") || strings.Contains(a.Body, "secret reasons") {
			t.Error("what a service writes, or an answer, comes out as HTML, or a failure in full")
		}
	}
	notice := []string{
		"Have summaries written", words.Host() + " (model small-1) is sent", "Not sent: distinct IDs, e-mail addresses and properties of persons",
		"for all surveys of", "docs: 3 (75.0%)",
	}
	s.Member("bob@example.com", storage.LevelMember)
	s.SignIn("bob@example.com")
	has(false, append(notice, "Its administrators can change it.")...)
	s.Get(surveyPath(v)+"/results").Want(200, "most mentioned: docs")
	s.Post(path, consoletest.With(nil, "do", "send", "back", "question=words")).Want(403)
	s.SignIn("ada@example.com")
	has(true, notice...)
	if len(sent) > 0 {
		t.Fatalf("sent before anybody has decided: %q", sent)
	}
	s.Post(path, consoletest.With(nil, "do", "send", "back", "question=words")).Leads(path + "?done=written&question=words")
	has(true, "Three ask for docs", "<script>alert(2)</script> **bold**", "Written by "+words.Host()+", which may be wrong", "Answers are sent", "Stop sending answers")
	if len(sent) != 1 || !strings.Contains(sent[0], "dark mode") || strings.Contains(sent[0], "p2") {
		t.Errorf("sent: %q", sent)
	}
	broken = true
	s.Answered(v, "sent", time.Date(2026, 1, 9, 0, 0, 0, 0, time.UTC), "p4", map[string]any{"words": "more docs"})
	has(true, "The service that writes summaries has failed. The answers were counted instead.", "docs: 4 (80.0%)", "counted")
	s.Post(path, consoletest.With(nil, "do", "count", "back", "question=words")).Leads(path + "?done=unshared&question=words")
	has(true, notice[:4]...)
	if len(sent) != 2 {
		t.Errorf("%d requests were sent, want 2", len(sent))
	}
}

// TestDaysOfManyYears puts days together, so that a chart has few columns.
func TestDaysOfManyYears(t *testing.T) {
	s := newSite(t)
	v := s.Survey(`{"name":"Long","type":"popover","start_date":"2024-01-01T00:00:00Z","questions":[{"id":"a","type":"open",
		"question":"Why?"}]}`)
	for _, day := range []string{"2024-01-01", "2024-01-03", "2025-06-01"} {
		at, err := time.Parse(time.DateOnly, day)
		consoletest.Fatal(t, err)
		s.Answered(v, "sent", at, "p", map[string]any{"a": "x"})
	}
	a := s.Get(surveyPath(v)+"/results").Want(200, "week of 1 Jan 2024 2")
	if n := strings.Count(a.Body, "<title>week of"); n != 74 {
		t.Errorf("%d columns, want 74", n)
	}
	var days struct {
		PerDay []surveys.DayStats `json:"per_day_stats"`
	}
	stats, err := s.surveys.Stats(t.Context(), s.Owner, "1", v.ID.String(), surveys.StatsQuery{PerDay: true})
	consoletest.Fatal(t, err)
	raw, err := json.Marshal(stats)
	consoletest.Fatal(t, err)
	consoletest.Fatal(t, json.Unmarshal(raw, &days))
	if got := fmt.Sprint(days.PerDay); got != "[{2024-01-01 1} {2024-01-03 1} {2025-06-01 1}]" || stats.PerQuestion != nil {
		t.Errorf("days %s", got)
	}
}
