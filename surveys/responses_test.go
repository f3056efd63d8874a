package surveys_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/surveys"
)

const threeQuestions = `"questions":[
	{"id":"rate","type":"rating","question":"How?","scale":10},
	{"id":"many","type":"multiple_choice","question":"Which?","choices":["A","B"]},
	{"id":"open","type":"open","question":"=Why?"}]`

func (w *world) responses(id uuid.UUID, q surveys.ResponseQuery) (*surveys.ResponsePage, error) {
	w.t.Helper()
	return w.Responses(w.t.Context(), w.as(w.ada), refOf(w.web), id.String(), q)
}

// management.md §11.8, as JSON.
func TestSurveyResponses(t *testing.T) {
	w := newWorld(t)
	id := w.survey(`{` + threeQuestions + `,"start_date":` + date(0) + `}`).ID
	w.event("sent", id, "ada", 0, `{"$survey_response":7,"$survey_response_1":["B"],"$survey_response_2":"by index"}`)
	w.event("sent", id, "ben", time.Hour, `{"$survey_submission_id":"s","$survey_response_rate":"9","$session_id":"session","$browser":"Safari"}`)
	w.event("sent", id, "ben", 2*time.Hour, `{"$survey_submission_id":"s","$survey_response_many":["A","B"],"$survey_completed":true,"$os":"macOS",
		"$device_type":"Desktop","$browser":"Safari","$current_url":"https://example.com/","$geoip_country_code":"CH","$geoip_country_name":"Switzerland",
		"$geoip_city_name":"Bern","$survey_iteration":2,"$session_id":"session"}`)
	w.event("shown", id, "cyd", 2*time.Hour, `{}`)
	page := must(w.responses(id, surveys.ResponseQuery{}))(t)
	checkGolden(t, "responses.json", indented(t, page))
	empty := must(w.responses(w.survey(`{}`).ID, surveys.ResponseQuery{}))(t)
	if got, want := encode(t, empty), `{"results":[],"has_more":false,"limit":100,"offset":0}`; got != want {
		t.Errorf("no responses: %s, want %s", got, want)
	}
}

// management.md §10.1: which answer to a question counts.
func TestAnswers(t *testing.T) {
	w := newWorld(t)
	for _, tt := range []struct{ properties, rate, many, open string }{
		{`{}`, `null`, `null`, `null`},
		{`{"$survey_response_rate":5,"$survey_response_many":["A"],"$survey_response_open":"x"}`, `"5"`, `["A"]`, `"x"`},
		{`{"$survey_response":5,"$survey_response_1":["A"],"$survey_response_2":"x"}`, `"5"`, `["A"]`, `"x"`},
		{`{"$survey_response":5,"$survey_response_rate":6}`, `"6"`, `null`, `null`},
		{`{"$survey_response":5,"$survey_response_rate":""}`, `"5"`, `null`, `null`},
		{`{"$survey_response":5,"$survey_response_rate":null}`, `"5"`, `null`, `null`},
		{`{"$survey_response_many":[],"$survey_response_1":["B"]}`, `null`, `["B"]`, `null`},
		{`{"$survey_response_many":["A"],"$survey_response_1":["B"]}`, `null`, `["A"]`, `null`},
		{`{"$survey_response_many":"A","$survey_response_1":["B"]}`, `null`, `["B"]`, `null`},
		{`{"$survey_response_many":"A"}`, `null`, `["A"]`, `null`},
		{`{"$survey_response_many":[1,"B"]}`, `null`, `["1","B"]`, `null`},
		{`{"$survey_response_open":["x","y"]}`, `null`, `null`, `"x"`},
		{`{"$survey_response_open":"null"}`, `null`, `null`, `"null"`},
		{`{"$survey_response_open":"[1]"}`, `null`, `null`, `"[1]"`},
	} {
		id := w.survey(`{` + threeQuestions + `}`).ID
		w.event("sent", id, "d", 0, tt.properties)
		page := must(w.responses(id, surveys.ResponseQuery{}))(t)
		var got []string
		for _, a := range page.Results[0].Answers {
			got = append(got, encode(t, a.Answer))
		}
		if diff := cmp.Diff([]string{tt.rate, tt.many, tt.open}, got, same); diff != "" {
			t.Errorf("%s is answered (-want +got)\n%s", tt.properties, diff)
		}
	}
}

// management.md §11.8: filters and pages, newest first.
func TestSurveyResponsesQuery(t *testing.T) {
	w := newWorld(t)
	id := w.survey(`{` + threeQuestions + `}`).ID
	var ids []uuid.UUID
	for i, properties := range []string{
		`{"$survey_response_rate":0}`, `{"$survey_response_rate":"3"}`, `{"$survey_response_rate":7}`, `{"$survey_response_rate":"x"}`,
		`{"$survey_response_open":"why"}`, `{"$survey_response_many":["A"]}`, `{}`,
	} {
		ids = append(ids, w.event("sent", id, "d", time.Duration(i)*time.Hour, properties))
	}
	w.ok(w.ArchiveResponse(t.Context(), w.as(w.ada), refOf(w.web), id.String(), ids[6].String()))
	hour := func(n int) string { return at(time.Duration(n) * time.Hour).Format(time.RFC3339) }
	for _, tt := range []struct {
		q    surveys.ResponseQuery
		want string // indexes of ids, + for more
	}{
		{surveys.ResponseQuery{}, "[6 5 4 3 2 1 0]"},
		{surveys.ResponseQuery{ExcludeArchived: true}, "[5 4 3 2 1 0]"},
		{surveys.ResponseQuery{Since: hour(2)}, "[6 5 4 3 2]"},
		{surveys.ResponseQuery{Until: hour(2)}, "[2 1 0]"},
		{surveys.ResponseQuery{Since: hour(2), Until: hour(2)}, "[2]"},
		{surveys.ResponseQuery{Since: "2026-03-05"}, "[]"},
		{surveys.ResponseQuery{QuestionID: "rate"}, "[3 2 1 0]"},
		{surveys.ResponseQuery{QuestionID: "open"}, "[4]"},
		{surveys.ResponseQuery{QuestionID: "rate", Least: "3"}, "[2 1]"},
		{surveys.ResponseQuery{QuestionID: "rate", Most: "3"}, "[1 0]"},
		{surveys.ResponseQuery{QuestionID: "rate", Least: "0", Most: "6.5"}, "[1 0]"},
		{surveys.ResponseQuery{QuestionID: "rate", Least: "5", Most: "1"}, "[]"},
		{surveys.ResponseQuery{QuestionID: "many", Least: "0"}, "[]"},
		{surveys.ResponseQuery{Limit: "2"}, "[6 5]+"},
		{surveys.ResponseQuery{Limit: "2", Offset: "5"}, "[1 0]"},
		{surveys.ResponseQuery{Limit: "7"}, "[6 5 4 3 2 1 0]"},
		{surveys.ResponseQuery{Limit: "6"}, "[6 5 4 3 2 1]+"},
		{surveys.ResponseQuery{Limit: "500", Offset: "7"}, "[]"},
		{surveys.ResponseQuery{Limit: "1", Offset: "1", QuestionID: "rate", Least: "3"}, "[1]"},
	} {
		page := must(w.responses(id, tt.q))(t)
		list := []int{}
		for _, r := range page.Results {
			list = append(list, slices.Index(ids, r.UUID))
		}
		got := fmt.Sprint(list)
		if page.HasMore {
			got += "+"
		}
		if got != tt.want {
			t.Errorf("SurveyResponses of %+v: %s, want %s", tt.q, got, tt.want)
		}
	}
	for _, tt := range []struct {
		q    surveys.ResponseQuery
		want string
	}{
		{surveys.ResponseQuery{Least: "3"}, "required question_id"},
		{surveys.ResponseQuery{Most: "3"}, "required question_id"},
		{surveys.ResponseQuery{QuestionID: "nope"}, "invalid_input question_id"},
		{surveys.ResponseQuery{QuestionID: "0"}, "invalid_input question_id"},
		{surveys.ResponseQuery{QuestionID: "rate", Least: "x"}, "invalid_input score_gte"},
		{surveys.ResponseQuery{QuestionID: "rate", Most: "NaN"}, "invalid_input score_lte"},
		{surveys.ResponseQuery{Since: "x"}, "invalid_input"},
		{surveys.ResponseQuery{Until: "x"}, "invalid_input"},
		{surveys.ResponseQuery{Since: hour(2), Until: hour(1)}, "invalid_input"},
		{surveys.ResponseQuery{Limit: "0"}, "invalid_input limit"},
		{surveys.ResponseQuery{Limit: "501"}, "invalid_input limit"},
		{surveys.ResponseQuery{Limit: "x"}, "invalid_input limit"},
		{surveys.ResponseQuery{Limit: "99999999999999999999"}, "invalid_input limit"},
		{surveys.ResponseQuery{Offset: "-1"}, "invalid_input offset"},
		{surveys.ResponseQuery{Offset: "1.5"}, "invalid_input offset"},
	} {
		_, err := w.responses(id, tt.q)
		checkFault(t, fmt.Sprintf("SurveyResponses of %+v", tt.q), err, "invalid "+tt.want)
		var out bytes.Buffer
		if err = w.WriteResponses(t.Context(), &out, w.as(w.ada), refOf(w.web), id.String(), tt.q); tt.q.Limit == "" && tt.q.Offset == "" {
			checkFault(t, fmt.Sprintf("WriteResponses of %+v", tt.q), err, "invalid "+tt.want)
			if out.Len() > 0 {
				t.Errorf("WriteResponses of %+v has written %q", tt.q, &out)
			}
		}
	}
}

// The table has all responses that are selected, a column for each question, and
// nothing that a spreadsheet would run.
func TestWriteResponses(t *testing.T) {
	w := newWorld(t)
	id := w.survey(`{` + threeQuestions + `}`).ID
	w.event("sent", id, "=cmd|'/c calc'!A0", 0, `{"$survey_response_rate":7,"$survey_response_many":["A","=B"],"$survey_response_open":"say \"hi\",\nplease",
		"$browser":"+1","$session_id":"s","$survey_completed":true,"$survey_iteration":2}`)
	w.event("sent", id, "ben", time.Hour, `{"$survey_response_rate":8}`)
	var out strings.Builder
	q := surveys.ResponseQuery{Limit: "1", Offset: "1"} // not for tables
	w.ok(w.WriteResponses(t.Context(), &out, w.as(w.ada), refOf(w.web), id.String(), q))
	checkGolden(t, "responses.csv", out.String())

	dangerous := []string{
		"=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", " =1", "\u00a0=1", "\u200b=1", "\ufeff@x", "＝1", "＋1", "－1", "＠x", "\x01=1",
		"%0A=1", "|cmd", " |x", "％x", "｜x", "﹦1", "﹢1", "﹣1", "﹫x", "﹪x", "−1", "\u0301=1", "\u202e=1", "\u2066%x",
	}
	harmless := []string{"", "a=1", "1-1", "'=1", "ä", "#x", " a", "0", "\u200b"}
	for i, text := range append(slices.Clone(dangerous), harmless...) {
		id := w.survey(`{` + threeQuestions + `}`).ID
		w.event("sent", id, "d", 0, `{"$survey_response_open":`+encode(t, text)+`}`)
		var out bytes.Buffer
		w.ok(w.WriteResponses(t.Context(), &out, w.as(w.ada), refOf(w.web), id.String(), surveys.ResponseQuery{}))
		rows := must(csv.NewReader(&out).ReadAll())(t)
		want := text
		if i < len(dangerous) {
			want = "'" + text
		}
		if got := rows[1][5]; got != want {
			t.Errorf("%q is written as %q, want %q", text, got, want)
		}
	}
}

// A failure while responses are read is passed on: a table ends there.
func TestWriteResponsesFails(t *testing.T) {
	data := &halfData{after: 2}
	w := newWorld(t, func(c *config) {
		c.events = func(e surveys.EventStore) surveys.EventStore { data.EventStore = e; return data }
	})
	id := w.survey(`{` + threeQuestions + `}`).ID
	w.answer(id, 5)
	for name, call := range map[string]func() error{
		"WriteResponses": func() error {
			return w.WriteResponses(t.Context(), new(bytes.Buffer), w.as(w.ada), refOf(w.web), id.String(), surveys.ResponseQuery{})
		},
		"SurveyResponses": func() error { return second(w.responses(id, surveys.ResponseQuery{})) },
		"SurveyStats": func() error {
			return second(w.Stats(t.Context(), w.as(w.ada), refOf(w.web), id.String(), surveys.StatsQuery{PerQuestion: true}))
		},
		"SummarizeResponses": func() error {
			return second(w.Summarize(t.Context(), w.as(w.ada), refOf(w.web), id.String(), surveys.SummaryQuery{QuestionIndex: "0"}))
		},
		"SurveyHeadline": func() error {
			return second(w.Headline(t.Context(), w.as(w.ada), refOf(w.web), id.String(), surveys.SummaryRefresh{}))
		},
	} {
		if err := call(); !errors.Is(err, errBroken) {
			t.Errorf("%s = %v, want %v", name, err, errBroken)
		}
	}
	err := w.WriteResponses(t.Context(), brokenWriter{}, w.as(w.ada), refOf(w.web), id.String(), surveys.ResponseQuery{QuestionID: "open"})
	if !errors.Is(err, errBroken) {
		t.Errorf("WriteResponses to nobody = %v", err)
	}
}

// halfData fails after some responses.
type halfData struct {
	surveys.EventStore
	after int
}

func (d *halfData) SurveyResponses(ctx context.Context, q surveys.Query) iter.Seq2[surveys.Response, error] {
	return half(d.EventStore.SurveyResponses(ctx, q), d.after)
}

func (d *halfData) SurveyAnswers(ctx context.Context, q surveys.Query) iter.Seq2[surveys.Answers, error] {
	return half(d.EventStore.SurveyAnswers(ctx, q), d.after)
}

// half fails after some elements of a list.
func half[T any](list iter.Seq2[T, error], after int) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		n := 0
		for v, err := range list {
			if n++; n > after {
				yield(*new(T), errBroken)
				return
			}
			if !yield(v, err) {
				return
			}
		}
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errBroken }

// management.md §11.4 and §15.3, rows 32 to 34.
func TestArchiveResponse(t *testing.T) {
	w := newWorld(t)
	first, second := w.survey(`{}`).ID, w.survey(`{}`).ID
	response := w.event("sent", first, "d", 0, `{}`)
	type call func(t *testing.T, survey uuid.UUID, response string) error
	archive := call(func(t *testing.T, survey uuid.UUID, response string) error {
		return w.ArchiveResponse(t.Context(), w.as(w.ada), refOf(w.web), survey.String(), response)
	})
	unarchive := call(func(t *testing.T, survey uuid.UUID, response string) error {
		return w.UnarchiveResponse(t.Context(), w.as(w.ada), refOf(w.web), survey.String(), response)
	})
	unknown := uuid.NewString()
	for _, tt := range []struct {
		name     string
		call     call
		survey   uuid.UUID
		response string
		want     string // fault
		log      string // activity
		first    int    // archived ones of the first survey afterwards
	}{
		{"archive", archive, first, response.String(), "", "response_archived", 1},
		{"archive again", archive, first, response.String(), "", "", 1},
		{"archive again, in capitals", archive, first, strings.ToUpper(response.String()), "", "", 1},
		{"archive for another survey", archive, second, response.String(), "", "", 1}, // unique in the project
		{"unarchive for another survey", unarchive, second, response.String(), "", "", 1},
		{"archive an unknown one", archive, first, unknown, "", "response_archived", 2},
		{"unarchive", unarchive, first, response.String(), "", "response_unarchived", 1},
		{"unarchive again", unarchive, first, response.String(), "", "", 1},
		{"unarchive the unknown one", unarchive, first, unknown, "", "response_unarchived", 0},
		{"unarchive another unknown one", unarchive, first, uuid.NewString(), "", "", 0},
		{"archive what is none", archive, first, "not-a-uuid", "invalid invalid_input response_uuid", "", 0},
		{"unarchive what is none", unarchive, first, "", "invalid invalid_input response_uuid", "", 0},
		{"archive with a survey that is none", archive, uuid.Nil, "not-a-uuid", "not found not_found", "", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			entries := len(w.activities())
			err := tt.call(t, tt.survey, tt.response)
			checkFault(t, tt.name, err, tt.want)
			if e, ok := errors.AsType[*management.Error](err); ok && e.Kind == management.ErrInvalid && e.Detail != "Invalid UUID format" { // §2.4
				t.Errorf("%s: %s", tt.name, e.Detail)
			}
			var got []string
			for _, a := range w.activities()[:len(w.activities())-entries] {
				got = append(got, a.Activity)
				if a.ItemID != tt.survey.String() || !strings.Contains(string(a.Detail), `"name":"Response `+tt.response+`"`) {
					t.Errorf("activity %+v: %s", a, a.Detail)
				}
			}
			if strings.Join(got, " ") != tt.log {
				t.Errorf("activities %q, want %q", got, tt.log)
			}
			if list := must(w.ArchivedResponses(t.Context(), w.as(w.ada), refOf(w.web), first.String()))(t); len(list) != tt.first || list == nil {
				t.Errorf("archived %v, want %d", list, tt.first)
			}
		})
	}
}

// management.md §9.11: the questions of all surveys.
func TestQuestionLabels(t *testing.T) {
	w := newWorld(t)
	first := w.survey(`{"name":"A",` + threeQuestions + `}`).ID
	w.survey(`{"name":"B"}`)
	w.clock.advance(time.Second)
	third := w.survey(`{"name":"C","archived":true,"questions":[{"id":"x","type":"open","question":"Y?"}]}`).ID
	got := must(w.QuestionLabels(t.Context(), w.as(w.ada), refOf(w.web)))(t)
	want := []surveys.QuestionLabel{{"rate", "How?", 0, first, "A"}, {"many", "Which?", 1, first, "A"}, {"open", "=Why?", 2, first, "A"}, {"x", "Y?", 0, third, "C"}}
	if diff := cmp.Diff(want, got, same); diff != "" {
		t.Errorf("labels (-want +got)\n%s", diff)
	}
	if got := encode(t, must(w.QuestionLabels(t.Context(), w.as(w.dov), refOf(w.shop)))(t)); got != "[]" {
		t.Errorf("labels of a project without surveys: %s", got)
	}
}

// management.md §11.8: search in answers, of one question or of all.
func TestSurveyResponsesSearch(t *testing.T) {
	w := newWorld(t)
	id := w.survey(`{` + threeQuestions + `}`).ID
	for i, answers := range []string{
		`{"$survey_response_open":"Größer, please"}`, `{"$survey_response_open":"smaller","$survey_response_many":["A"]}`, `{"$survey_response_rate":7}`,
	} {
		w.event("sent", id, fmt.Sprint(i), time.Duration(i)*time.Hour, answers)
	}
	for _, tt := range []struct {
		query surveys.ResponseQuery
		want  string
	}{
		{surveys.ResponseQuery{}, "[2 1 0]"},
		{surveys.ResponseQuery{Search: "GRÖSSER"}, "[]"},
		{surveys.ResponseQuery{Search: "GRÖß"}, "[0]"},
		{surveys.ResponseQuery{Search: "a"}, "[1 0]"},
		{surveys.ResponseQuery{Search: "a", QuestionID: "many"}, "[1]"},
		{surveys.ResponseQuery{Search: "7", QuestionID: "rate", Least: "7"}, "[2]"},
		{surveys.ResponseQuery{Search: "7", QuestionID: "rate", Least: "8"}, "[]"},
	} {
		got := []string{}
		for _, r := range must(w.responses(id, tt.query))(t).Results {
			got = append(got, r.DistinctID)
		}
		if fmt.Sprint(got) != tt.want {
			t.Errorf("%+v: responses of %v, want %s", tt.query, got, tt.want)
		}
	}
	if _, err := w.responses(id, surveys.ResponseQuery{Search: strings.Repeat("x", 201)}); !errors.Is(err, management.ErrInvalid) {
		t.Errorf("a search that is too long: %v", err)
	}
}
