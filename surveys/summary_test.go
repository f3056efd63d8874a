package surveys_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/optional"
	"github.com/flagstaff-go/flagstaff/surveys"
	"github.com/flagstaff-go/flagstaff/surveys/summary"
)

func (w *world) summarize(id uuid.UUID, question string, force bool) (*surveys.Summary, error) {
	w.t.Helper()
	return w.Summarize(w.t.Context(), w.as(w.ada), refOf(w.web), id.String(), surveys.SummaryQuery{
		QuestionID: question, Refresh: surveys.SummaryRefresh{Force: optional.Of(force)},
	})
}

func (w *world) headline(id uuid.UUID, force bool) (*surveys.Headline, error) {
	w.t.Helper()
	return w.Headline(w.t.Context(), w.as(w.ada), refOf(w.web), id.String(), surveys.SummaryRefresh{Force: optional.Of(force)})
}

const fourQuestions = `"questions":[
	{"id":"rate","type":"rating","question":"How?","scale":10},
	{"id":"one","type":"single_choice","question":"Which?","choices":["Docs","Price","Other"],"hasOpenChoice":true},
	{"id":"open","type":"open","question":"Why?"},
	{"id":"link","type":"link","question":"Look","link":"https://example.com"}]`

// management.md §11.5, §11.6: what is said by default.
func TestSummaries(t *testing.T) {
	w := newWorld(t)
	id := w.survey(`{"name":"NPS",` + fourQuestions + `,"start_date":` + date(0) + `}`).ID
	for i, properties := range []string{
		`{"$survey_response_rate":9,"$survey_response_one":"Docs","$survey_response_open":"We need better docs, please."}`,
		`{"$survey_response_rate":8,"$survey_response_one":"the search","$survey_response_open":"Please write better docs!"}`,
		`{"$survey_response_rate":3,"$survey_response_one":"Docs","$survey_response_open":"<b>Love</b> it"}`,
		`{"$survey_response":10,"$survey_response_1":"Price"}`,
	} {
		w.event("sent", id, "d", time.Duration(i)*time.Hour, properties)
	}
	var all strings.Builder
	for _, question := range []string{"rate", "one", "open"} {
		got := must(w.summarize(id, question, false))(t)
		if !got.GeneratedAt.Equal(begin) || got.Cached || uuid.Validate(got.TraceID) != nil {
			t.Errorf("summary of %s: %+v", question, got)
		}
		fmt.Fprintf(&all, "%s, %d answers\n\n%s\n", question, got.ResponseCount, got.Content)
	}
	fmt.Fprintf(&all, "%s\n", encode(t, must(w.headline(id, false))(t)))
	checkGolden(t, "summaries.txt", all.String())

	byIndex := must(w.Summarize(t.Context(), w.as(w.ada), refOf(w.web), id.String(), surveys.SummaryQuery{QuestionIndex: "2"}))(t)
	if byID := must(w.summarize(id, "open", false))(t); !cmp.Equal(byID, byIndex) || !byID.Cached {
		t.Errorf("by ID %+v, by index %+v", byID, byIndex)
	}
}

// management.md §11.5: what is refused.
func TestSummariesRefuse(t *testing.T) {
	w := newWorld(t)
	id := w.survey(`{` + fourQuestions + `}`).ID.String()
	for _, q := range []surveys.SummaryQuery{
		{}, {QuestionID: "nope"}, {QuestionIndex: "4"}, {QuestionIndex: "-1"}, {QuestionIndex: "x"}, {QuestionIndex: "0.0"}, {QuestionID: "nope", QuestionIndex: "0"},
	} {
		_, err := w.Summarize(t.Context(), w.as(w.ada), refOf(w.web), id, q)
		checkFault(t, fmt.Sprintf("SummarizeResponses of %+v", q), err, "invalid invalid_input")
	}
	wrong := decode[surveys.SummaryRefresh](t, `{"force_refresh":"maybe","name":5}`)
	_, err := w.Summarize(t.Context(), w.as(w.ada), refOf(w.web), id, surveys.SummaryQuery{QuestionID: "rate", Refresh: wrong})
	checkFault(t, "SummarizeResponses with a wrong force_refresh", err, "invalid invalid_input force_refresh")
	_, err = w.Headline(t.Context(), w.as(w.ada), refOf(w.web), id, wrong)
	checkFault(t, "SurveyHeadline with a wrong force_refresh", err, "invalid invalid_input force_refresh")
}

// management.md §11.5, §11.6: where there is nothing to say, nothing is stored.
func TestSummariesOfNothing(t *testing.T) {
	w := newWorld(t)
	asked := w.survey(`{` + fourQuestions + `}`).ID
	for name, tt := range map[string]struct {
		id   uuid.UUID
		want string
	}{
		"no questions": {w.survey(`{}`).ID, "No questions in survey"},
		"links":        {w.survey(`{"questions":[{"type":"link","question":"Look"}]}`).ID, "No questions in survey"},
		"no responses": {asked, "No responses yet"},
	} {
		if got := must(w.headline(tt.id, false))(t); *got != (surveys.Headline{Headline: tt.want}) {
			t.Errorf("%s: %+v, want %s", name, got, tt.want)
		}
	}
	want := &surveys.Summary{Content: "No responses to analyze.", GeneratedAt: begin}
	w.event("sent", asked, "d", 0, `{"$survey_response_open":"not rated"}`)
	if diff := cmp.Diff(want, must(w.summarize(asked, "rate", false))(t), same); diff != "" {
		t.Errorf("summary (-want +got)\n%s", diff)
	}
	if v := w.storedSurvey(asked); v.Headline != "" || v.Summaries != nil {
		t.Errorf("stored: %+v", v)
	}
}

// recorder is a Summarizer that remembers what it was asked.
type recorder struct {
	mu        sync.Mutex
	inputs    []summary.Input
	headlines [][]summary.Input
	during    func() error // what happens while it works
}

func (r *recorder) Summarize(_ context.Context, in summary.Input) (summary.Output, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.inputs = append(r.inputs, in)
	return summary.Output{Content: fmt.Sprint("summary ", len(r.inputs))}, r.happens()
}

func (r *recorder) Headline(_ context.Context, in []summary.Input) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.headlines = append(r.headlines, in)
	return fmt.Sprint("headline ", len(r.headlines)), r.happens()
}

func (r *recorder) happens() error {
	if r.during == nil {
		return nil
	}
	return r.during()
}

// approve lets the answers of Acme be handed to others.
func (w *world) approve(yes bool) {
	w.t.Helper()
	w.acme.AIProcessingApproved = &yes
	w.ok(w.store.Organizations().Update(w.t.Context(), w.acme))
}

func withSummarizer(r *recorder) func(*config) {
	return func(c *config) {
		c.Summarizer = r
	}
}

// management.md §11.5, §11.6: a summary is made anew when that is wanted, when there
// are a tenth more responses, or fewer, and when it is about something else.
func TestSummariesAreKept(t *testing.T) {
	r := new(recorder)
	w := newWorld(t, withSummarizer(r))
	w.approve(true)
	id := w.survey(`{` + fourQuestions + `,"start_date":` + date(0) + `}`).ID
	n := 0
	sent := func(more int) {
		for range more {
			n++
			w.event("sent", id, "d", time.Duration(n)*time.Second, `{"$survey_response_rate":5,"$survey_response_open":"x"}`)
		}
	}
	sent(20)
	made := func(what string, summaries, headlines int) {
		t.Helper()
		w.clock.advance(time.Minute)
		for question := range map[string]bool{"rate": true, "open": true} {
			s := must(w.summarize(id, question, false))(t)
			again := must(w.summarize(id, question, false))(t)
			if !again.Cached || again.Content != s.Content || again.TraceID != s.TraceID || !again.GeneratedAt.Equal(s.GeneratedAt) || again.ResponseCount != s.ResponseCount {
				t.Errorf("%s: %+v, then %+v", what, s, again)
			}
			if s.Cached == s.GeneratedAt.Equal(w.clock.Now()) {
				t.Errorf("%s: cached %t, of %s", what, s.Cached, s.GeneratedAt)
			}
		}
		h := must(w.headline(id, false))(t)
		if again := must(w.headline(id, false))(t); again.Headline != h.Headline || again.Sampled != h.Sampled || again.HasMore {
			t.Errorf("%s: %+v, then %+v", what, h, again)
		}
		if len(r.inputs) != summaries || len(r.headlines) != headlines {
			t.Errorf("%s: %d summaries and %d headlines were made, want %d and %d", what, len(r.inputs), len(r.headlines), summaries, headlines)
		}
		r.inputs, r.headlines = nil, nil
	}
	made("at first", 2, 1)
	made("again", 0, 0)
	sent(1)
	made("21 of 20", 0, 0)
	sent(1)
	made("22 of 20", 2, 1)
	sent(2)
	made("24 of 22", 0, 0)
	sent(1)
	made("25 of 22", 2, 1)
	w.change(id, `{"description":"other"}`)
	made("another description", 0, 0)
	w.change(id, `{"questions":[{"id":"rate","type":"rating","question":"How much?","scale":10},{"id":"open","type":"open","question":"Why?"}]}`)
	made("another question", 2, 1)
	response := w.event("sent", id, "d", 0, `{"$survey_response_open":"private"}`)
	w.ok(w.ArchiveResponse(t.Context(), w.as(w.ada), refOf(w.web), id.String(), response.String()))
	made("archived", 2, 1)
	w.ok(w.ArchiveResponse(t.Context(), w.as(w.ada), refOf(w.web), id.String(), response.String()))
	made("archived again", 0, 0)
	w.ok(w.UnarchiveResponse(t.Context(), w.as(w.ada), refOf(w.web), id.String(), response.String()))
	made("not archived any more", 2, 1)
	sent(1)
	w.clock.advance(-w.clock.Now().Sub(begin))
	w.change(id, `{"end_date":`+date(-1)+`}`)
	if got := must(w.headline(id, false))(t).Headline; got != "No responses yet" {
		t.Errorf("a survey that has ended before all responses: %s", got)
	}

	w.change(id, `{"end_date":null}`)
	r.inputs, r.headlines = nil, nil
	for range 2 {
		if s := must(w.summarize(id, "open", true))(t); s.Cached {
			t.Errorf("by force: %+v", s)
		}
		must(w.headline(id, true))(t)
	}
	if len(r.inputs) != 2 || len(r.headlines) != 2 {
		t.Errorf("by force %d summaries and %d headlines were made", len(r.inputs), len(r.headlines))
	}
}

// management.md §11.5, §11.6: answers are handed to others only if the organization
// has approved that; a headline that is there is shown in any case.
func TestSummariesNeedApproval(t *testing.T) {
	r := new(recorder)
	w := newWorld(t, withSummarizer(r))
	id := w.survey(`{` + fourQuestions + `}`).ID
	w.event("sent", id, "d", 0, `{"$survey_response_open":"x"}`)
	refused := func(what string) {
		t.Helper()
		for name, call := range map[string]func() error{
			"SummarizeResponses": func() error { return second(w.summarize(id, "open", true)) },
			"SurveyHeadline":     func() error { return second(w.headline(id, true)) },
		} {
			err := call()
			checkFault(t, name+", "+what, err, "forbidden permission_denied")
			if !errors.Is(err, surveys.ErrProcessingNotApproved) || !errors.Is(err, management.ErrForbidden) {
				t.Errorf("%s, %s: %v, want %v", name, what, err, surveys.ErrProcessingNotApproved)
			}
		}
	}
	refused("nobody has decided")
	w.approve(false)
	refused("not approved")
	if len(r.inputs)+len(r.headlines) > 0 {
		t.Errorf("asked without approval: %+v, %+v", r.inputs, r.headlines)
	}
	w.approve(true)
	must(w.summarize(id, "open", false))(t)
	headline := must(w.headline(id, false))(t)
	w.approve(false)
	refused("not approved any more")
	if _, err := w.summarize(id, "open", false); !errors.Is(err, surveys.ErrProcessingNotApproved) {
		t.Errorf("a summary that is there: %v", err)
	}
	if again := must(w.headline(id, false))(t); *again != *headline {
		t.Errorf("a headline that is there: %+v, want %+v", again, headline)
	}
	_, err := w.Headline(t.Context(), w.key(w.ada, scopes("survey:write")), refOf(w.web), id.String(), surveys.SummaryRefresh{})
	checkFault(t, "a headline that is there, with another key", err, "")
	_, err = w.Headline(t.Context(), w.key(w.ada, scopes("user:read")), refOf(w.web), id.String(), surveys.SummaryRefresh{})
	if checkFault(t, "without the scope", err, "forbidden permission_denied"); errors.Is(err, surveys.ErrProcessingNotApproved) {
		t.Errorf("without the scope: %v", err)
	}
}

// management.md §11.5, §11.6: the newest 1000 answers and 100 responses, without
// anything that says whose they are.
func TestSummarizerIsTold(t *testing.T) {
	r := new(recorder)
	w := newWorld(t, withSummarizer(r))
	w.approve(true)
	id := w.survey(`{"name":"NPS",` + fourQuestions + `,"start_date":` + date(0) + `,"end_date":` + date(1) + `}`).ID
	for i := range 1002 {
		w.event("sent", id, fmt.Sprint("secret-", i), time.Duration(i)*time.Second, fmt.Sprintf(
			`{"$survey_response_rate":%d,"$survey_response_link":"x","$session_id":"secret","$browser":"secret"}`, i%10))
	}
	// Not of a day of the survey, archived, or without an answer.
	w.event("sent", id, "d", -6*time.Hour, `{"$survey_response_rate":1}`)
	w.event("sent", id, "d", 2*aDay, `{"$survey_response_rate":1}`)
	w.ok(w.ArchiveResponse(t.Context(), w.as(w.ada), refOf(w.web), id.String(), w.event("sent", id, "d", time.Hour, `{"$survey_response_rate":1}`).String()))
	w.event("sent", id, "d", aDay+18*time.Hour, `{"$survey_response_open":"at the end of the last day"}`)
	w.event("sent", id, "d", -5*time.Hour, `{"$survey_response_open":"at the begin of the first day"}`)

	s := must(w.summarize(id, "rate", false))(t)
	if in := r.inputs[0]; s.ResponseCount != 1000 || len(in.Answers) != 1000 || in.Answers[0][0] != fmt.Sprint(1001%10) || in.Answers[999][0] != "2" || in.Survey != "NPS" ||
		!cmp.Equal(in.Question, summary.Question{ID: "rate", Type: "rating", Text: "How?", Scale: 10, NPS: true}) {
		t.Errorf("asked for a summary of %d answers to %+v", len(in.Answers), in.Question)
	}
	open := must(w.summarize(id, "open", false))(t)
	if diff := cmp.Diff([][]string{{"at the end of the last day"}, {"at the begin of the first day"}}, r.inputs[1].Answers, same); diff != "" || open.ResponseCount != 2 {
		t.Errorf("asked for a summary of (-want +got)\n%s", diff)
	}
	h := must(w.headline(id, false))(t)
	in := r.headlines[0]
	if h.Sampled != 100 || !h.HasMore || len(in) != 3 || len(in[0].Answers) != 100 || len(in[2].Answers) != 100 || in[2].Question.ID != "open" || in[2].Survey != "NPS" {
		t.Errorf("headline %+v of %+v", h, in)
	}
	if again := must(w.headline(id, false))(t); again.HasMore || again.Sampled != 100 {
		t.Errorf("the headline that is there: %+v", again)
	}
	for _, told := range []any{r.inputs, r.headlines} {
		if strings.Contains(encode(t, told), "secret") {
			t.Errorf("told of who has answered: %.300s", encode(t, told))
		}
	}
}

// What happens to a survey while somebody thinks about its answers is not undone,
// and nothing is kept that is about something else.
func TestSummariesMeanwhile(t *testing.T) {
	r := new(recorder)
	w := newWorld(t, withSummarizer(r))
	w.approve(true)
	kept := func(v *surveys.Survey) bool { return v != nil && (v.Headline != "" || v.Summaries != nil) }
	for _, tt := range []struct {
		name string
		do   func(id uuid.UUID) error
		want func(v *surveys.Survey) bool // nil: it is gone
	}{
		{
			"another description", func(id uuid.UUID) error { return second(w.tryChange(id, `{"description":"new"}`)) },
			func(v *surveys.Survey) bool { return v.Description == "new" && kept(v) },
		},
		{
			"another question", func(id uuid.UUID) error {
				return second(w.tryChange(id, `{"questions":[{"id":"open","type":"open","question":"Else?"}]}`))
			},
			func(v *surveys.Survey) bool { return !kept(v) },
		},
		{
			"deleted", func(id uuid.UUID) error {
				return w.Delete(t.Context(), w.as(w.ada), refOf(w.web), id.String())
			},
			func(v *surveys.Survey) bool { return v == nil },
		},
	} {
		for what, call := range map[string]func(id uuid.UUID) error{
			"summary":  func(id uuid.UUID) error { return second(w.summarize(id, "open", false)) },
			"headline": func(id uuid.UUID) error { return second(w.headline(id, false)) },
		} {
			t.Run(what+", "+tt.name, func(t *testing.T) {
				id := w.survey(`{` + fourQuestions + `}`).ID
				w.event("sent", id, "d", 0, `{"$survey_response_open":"x"}`)
				r.during = func() error { return tt.do(id) }
				w.ok(call(id))
				v, err := w.store.Survey(t.Context(), w.web.ID, id)
				if err != nil && !errors.Is(err, management.ErrNotFound) || !tt.want(v) {
					t.Errorf("stored: %+v, %v", v, err)
				}
			})
		}
	}
}

// If the Summarizer fails, answers are counted, and that is said and not kept. It is asked
// again after a minute, or by force.
func TestSummarizerFails(t *testing.T) {
	r := new(recorder)
	w := newWorld(t, withSummarizer(r))
	w.approve(true)
	id := w.survey(`{` + fourQuestions + `,"start_date":` + date(0) + `}`).ID
	w.event("sent", id, "d", 0, `{"$survey_response_open":"x"}`)
	failing := func() error { return errBroken }
	for _, tt := range []struct {
		name   string
		during func() error
		after  time.Duration
		force  bool
		asked  int // of both
		failed bool
	}{
		{"it fails", failing, 0, false, 1, true}, // the headline comes within the minute
		{"a minute later", failing, time.Minute, false, 0, true},
		{"more than a minute later", failing, time.Second, false, 1, true},
		{"by force", failing, time.Second, true, 2, true},
		{"it works, by force", nil, 0, true, 2, false},
		{"and is kept", failing, time.Hour, false, 0, false},
	} {
		w.clock.advance(tt.after)
		r.during, r.inputs, r.headlines = tt.during, nil, nil
		s := must(w.summarize(id, "open", tt.force))(t)
		h := must(w.headline(id, tt.force))(t)
		if n := len(r.inputs) + len(r.headlines); n != tt.asked {
			t.Errorf("%s: it was asked %d times, want %d", tt.name, n, tt.asked)
		}
		counted := strings.HasPrefix(s.Content, "## Overview\n\n1 answer.") && h.Headline == "1 answer without a common theme."
		if tt.failed != (s.Problem != "") || tt.failed != (h.Problem != "") || tt.failed != counted {
			t.Errorf("%s: %+v, %+v", tt.name, s, h)
		}
		if v := w.storedSurvey(id); tt.failed != (v.Headline == "" && v.Summaries == nil) {
			t.Errorf("%s: stored %+v", tt.name, v)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	r.during = func() error { cancel(); return ctx.Err() }
	if _, err := w.Summarize(ctx, w.as(w.ada), refOf(w.web), id.String(), surveys.SummaryQuery{
		QuestionID: "open", Refresh: surveys.SummaryRefresh{Force: optional.Of(true)},
	}); !errors.Is(err, context.Canceled) {
		t.Errorf("the caller has gone: %v", err)
	}
}

// Without approval, what can be counted is shown to those who ask for it, and nothing is sent.
func TestSummariesCountedWithoutApproval(t *testing.T) {
	r := new(recorder)
	w := newWorld(t, withSummarizer(r))
	id := w.survey(`{` + fourQuestions + `,"start_date":` + date(0) + `}`).ID
	w.event("sent", id, "d", 0, `{"$survey_response_open":"x"}`)
	counted := surveys.SummaryRefresh{Counted: true}
	ask := func() (*surveys.Summary, *surveys.Headline) {
		t.Helper()
		s, err := w.Summarize(t.Context(), w.as(w.ada), refOf(w.web), id.String(), surveys.SummaryQuery{QuestionID: "open", Refresh: counted})
		w.ok(err)
		return s, must(w.Headline(t.Context(), w.as(w.ada), refOf(w.web), id.String(), counted))(t)
	}
	s, h := ask()
	if len(r.inputs)+len(r.headlines) > 0 || !strings.HasPrefix(s.Content, "## Overview") || h.Headline != "1 answer without a common theme." || s.Problem+h.Problem != "" {
		t.Errorf("without approval: asked %d times, %+v, %+v", len(r.inputs)+len(r.headlines), s, h)
	}
	w.approve(true)
	if s, h = ask(); s.Content != "summary 1" || h.Headline != "headline 1" {
		t.Errorf("after the approval: %+v, %+v", s, h)
	}
	w.approve(false)
	if s, _ = ask(); s.Cached || !strings.HasPrefix(s.Content, "## Overview") {
		t.Errorf("not approved any more: %+v", s)
	}
}

// What is stored of a summary that cannot be read is made anew.
func TestSummariesThatCannotBeRead(t *testing.T) {
	w := newWorld(t)
	id := w.survey(`{` + fourQuestions + `}`).ID
	w.event("sent", id, "d", 0, `{"$survey_response_open":"x"}`)
	v := w.storedSurvey(id)
	v.Summaries = []byte(`{"open":5}`)
	w.ok(w.store.UpdateSurvey(t.Context(), v))
	if s := must(w.summarize(id, "open", false))(t); s.Cached || s.ResponseCount != 1 {
		t.Errorf("summary: %+v", s)
	}
}
