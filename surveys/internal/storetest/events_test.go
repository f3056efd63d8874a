package storetest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/management/storage"
	"github.com/flagstaff-go/flagstaff/surveys"
	"github.com/flagstaff-go/flagstaff/surveys/internal/reference"
)

// A surveyStep is an event about a survey. Its UUID is of the number, or new.
type surveyStep struct {
	name, who  string
	second     int
	properties string // besides $survey_id
	number     byte
}

func (s *suite) surveyEvent(survey uuid.UUID, step surveyStep) capture.Event {
	properties := fmt.Sprintf(`{"$survey_id":"%s",%s}`, survey, step.properties)
	e := s.event(step.name, step.who, strings.Replace(properties, ",}", "}", 1))
	e.Time = s.now.Add(time.Duration(step.second) * time.Second)
	if step.number != 0 {
		e.UUID = numbered(step.number)
	}
	return e
}

func numbered(n byte) uuid.UUID {
	id := uuid.MustParse("019c0a11-2f30-7000-8c4e-000000000000")
	id[15] = n
	return id
}

// tally writes counts and responses as a test wants them.
func tally(c *surveys.Counts, responses []surveys.Response) string {
	var b strings.Builder
	fmt.Fprintf(&b, "shown %d by %d, dismissed %d by %d, sent %d by %d, both %d",
		c.Shown.Total, c.Shown.Persons, c.Dismissed.Total, c.Dismissed.Persons, c.Sent.Total, c.Sent.Persons, c.Both)
	for _, r := range responses {
		answers, _ := json.Marshal(r.Answers)
		fmt.Fprintf(&b, "; %d by %s %s", r.ID[15], r.DistinctID, answers)
	}
	return b.String()
}

// responses returns the responses that a query selects. SurveyAnswers must have their times
// and answers.
func responses(t *testing.T, s *suite, q surveys.Query) []surveys.Response {
	t.Helper()
	var list []surveys.Response
	type answered struct {
		Time    time.Time
		Answers map[string]json.RawMessage
	}
	var want, got []answered
	for r, err := range s.SurveyResponses(t.Context(), q) {
		if err != nil {
			t.Fatalf("SurveyResponses: %v", err)
		}
		list, want = append(list, r), append(want, answered{r.Time, r.Answers})
	}
	for a, err := range s.SurveyAnswers(t.Context(), q) {
		if err != nil {
			t.Fatalf("SurveyAnswers: %v", err)
		}
		all := make(map[string]json.RawMessage)
		if a.Object != nil {
			must(t, json.Unmarshal(a.Object, &all))
		}
		got = append(got, answered{a.Time, all})
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("SurveyAnswers (-SurveyResponses +got)\n%s", diff)
	}
	return list
}

// wantTally checks what is counted.
func wantTally(t *testing.T, what string, s *suite, q surveys.Query, want string) {
	t.Helper()
	c, err := s.CountSurveyEvents(t.Context(), q)
	if err != nil {
		t.Fatalf("CountSurveyEvents: %v", err)
	}
	list := responses(t, s, q)
	if got := tally(c, list); got != want {
		t.Errorf("%s:\n got %s\nwant %s", what, got, want)
	}
	n, err := s.CountResponses(t.Context(), q)
	if err != nil {
		t.Fatalf("CountResponses: %v", err)
	}
	of := make(map[uuid.UUID]int)
	for _, r := range list {
		of[r.Survey]++
	}
	if diff := cmp.Diff(of, n); diff != "" || len(list) != c.Sent.Total {
		t.Errorf("%s: %d responses, %d counted as sent, CountResponses (-want +got)\n%s", what, len(list), c.Sent.Total, diff)
	}
}

// testSurveyRules has the rules of management.md §10.2 by their number.
func testSurveyRules(t *testing.T, s *suite) {
	other := numbered(99)
	for i, tt := range []struct {
		name  string
		steps []surveyStep
		want  string
	}{
		{"1: events of the survey", []surveyStep{
			{"survey shown", "u", 0, ``, 0},
			{"survey shown", "u", 1, `"$survey_id":"` + other.String() + `"`, 0}, // the last one counts
			{"survey shown", "u", 1, `"$survey_id":7`, 0},
			{"survey shown", "u", 1, `"$survey_id":null`, 0},
			{"survey shown", "u", 1, `"$survey_id":"7"`, 0},
			{"$pageview", "u", 1, ``, 0},
			{"Survey shown", "u", 1, ``, 0},
		}, "shown 1 by 1, dismissed 0 by 0, sent 0 by 0, both 0"},
		{"2: the submission key is $survey_submission_id", []surveyStep{
			{"survey sent", "u", 0, `"$survey_submission_id":"x"`, 1},
			{"survey sent", "u", 1, `"$survey_submission_id":"x"`, 2},
			{"survey sent", "u", 2, `"$survey_submission_id":"X"`, 3},
			{"survey sent", "u", 3, `"$survey_submission_id":"` + numbered(9).String() + `"`, 4},
			{"survey sent", "u", 4, `"$survey_submission_id":"` + numbered(9).String() + `"`, 5},
			{"survey sent", "u", 5, `"$survey_submission_id":" ` + numbered(9).String() + `"`, 6},
		}, "shown 0 by 0, dismissed 0 by 0, sent 4 by 1, both 0; 6 by u {}; 5 by u {}; 3 by u {}; 2 by u {}"},
		{"2: or else the UUID of the event", []surveyStep{
			{"survey sent", "u", 0, ``, 1},
			{"survey sent", "u", 1, `"$survey_submission_id":""`, 2},
			{"survey sent", "u", 2, `"$survey_submission_id":null`, 3},
			{"survey sent", "u", 3, `"$survey_submission_id":[]`, 4},
			{"survey sent", "u", 4, `"$survey_submission_id":"` + numbered(4).String() + `"`, 5},
		}, "shown 0 by 0, dismissed 0 by 0, sent 4 by 1, both 0; 5 by u {}; 3 by u {}; 2 by u {}; 1 by u {}"},
		{"3: the latest is representative, whenever it arrives", []surveyStep{
			{"survey sent", "u", 5, `"$survey_submission_id":"x"`, 1},
			{"survey sent", "u", 9, `"$survey_submission_id":"x"`, 2},
			{"survey sent", "u", 7, `"$survey_submission_id":"x"`, 3},
		}, "shown 0 by 0, dismissed 0 by 0, sent 1 by 1, both 0; 2 by u {}"},
		{"3: of one time, the one with the greatest UUID", []surveyStep{
			{"survey sent", "u", 0, `"$survey_submission_id":"x"`, 2},
			{"survey sent", "u", 0, `"$survey_submission_id":"x"`, 3},
			{"survey sent", "u", 0, `"$survey_submission_id":"x"`, 1},
		}, "shown 0 by 0, dismissed 0 by 0, sent 1 by 1, both 0; 3 by u {}"},
		{"3: of one UUID, the one stored last", []surveyStep{
			{"survey sent", "u", 0, `"$survey_submission_id":"x"`, 1},
			{"survey sent", "v", 0, `"$survey_submission_id":"x"`, 1},
		}, "shown 0 by 0, dismissed 0 by 0, sent 1 by 1, both 0; 1 by v {}"},
		{"4: partial submissions count once", []surveyStep{
			{"survey shown", "u", 0, ``, 0},
			{"survey sent", "u", 1, `"$survey_submission_id":"x","$survey_completed":false`, 1},
			{"survey sent", "u", 2, `"$survey_submission_id":"x","$survey_completed":true`, 2},
			{"survey sent", "v", 3, `"$survey_submission_id":"y","$survey_completed":false`, 3},
		}, "shown 1 by 1, dismissed 0 by 0, sent 2 by 2, both 0; 3 by v {}; 2 by u {}"},
		{"5: the latest answer to each question", []surveyStep{
			{"survey sent", "u", 1, `"$survey_submission_id":"x","$survey_response_a":"1","$survey_response_b":"1","$survey_response_c":"1"`, 1},
			{"survey sent", "u", 3, `"$survey_submission_id":"x","$survey_response_a":"3","$survey_response_b":null,"$survey_response_c":""`, 3},
			{"survey sent", "u", 2, `"$survey_submission_id":"x","$survey_response_a":"2","$survey_response_b":["2"],"$survey_response_c":[]`, 2},
			{"survey sent", "u", 2, `"$survey_submission_id":"y","$survey_response_c":"other"`, 4},
		}, `shown 0 by 0, dismissed 0 by 0, sent 2 by 1, both 0; 3 by u {"a":"3","b":["2"],"c":"1"}; 4 by u {"c":"other"}`},
		{"5: also of what was dismissed later", []surveyStep{
			{"survey sent", "u", 1, `"$survey_submission_id":"x","$survey_response_a":"1"`, 1},
			{"survey dismissed", "u", 2, `"$survey_submission_id":"x","$survey_partially_completed":true,"$survey_response_a":"1","$survey_response_b":7`, 2},
			{"survey dismissed", "u", 3, `"$survey_submission_id":"x","$survey_partially_completed":false,"$survey_response_a":"no"`, 3},
		}, `shown 0 by 0, dismissed 1 by 1, sent 1 by 1, both 1; 1 by u {"a":"1","b":7}`},
		{"6: partially completed dismissals are none", []surveyStep{
			{"survey dismissed", "u", 0, ``, 1},
			{"survey dismissed", "v", 1, `"$survey_partially_completed":false`, 2},
			{"survey dismissed", "v", 2, `"$survey_partially_completed":true,"$survey_submission_id":"x"`, 3},
			{"survey sent", "v", 1, `"$survey_submission_id":"x"`, 4},
		}, "shown 0 by 0, dismissed 2 by 2, sent 1 by 1, both 1; 4 by v {}"},
		{"6: but responses if nothing of them was sent", []surveyStep{
			{"survey dismissed", "u", 0, `"$survey_partially_completed":true,"$survey_submission_id":"x"`, 1},
			{"survey abandoned", "u", 2, `"$survey_partially_completed":true,"$survey_submission_id":"x","$survey_response":"a"`, 2},
			{"survey dismissed", "u", 1, `"$survey_partially_completed":true,"$survey_submission_id":"x","$survey_response_1":"b"`, 3},
			{"survey abandoned", "u", 3, `"$survey_partially_completed":true`, 4},
			{"survey abandoned", "u", 4, `"$survey_partially_completed":false,"$survey_submission_id":"z"`, 5},
			{"survey abandoned", "u", 5, ``, 6},
			{"survey shown", "u", 6, `"$survey_partially_completed":true`, 7},
		}, `shown 1 by 1, dismissed 0 by 0, sent 2 by 1, both 0; 4 by u {}; 2 by u {"0":"a","1":"b"}`},
		{"6: also if that is sent afterwards", []surveyStep{
			{"survey dismissed", "u", 9, `"$survey_partially_completed":true,"$survey_submission_id":"x"`, 1},
			{"survey sent", "u", 5, `"$survey_submission_id":"x"`, 2},
			{"survey abandoned", "u", 10, `"$survey_partially_completed":true,"$survey_submission_id":"x"`, 3},
			{"survey sent", "u", 4, `"$survey_submission_id":"x"`, 4},
		}, "shown 0 by 0, dismissed 0 by 0, sent 1 by 1, both 0; 2 by u {}"},
		{"8: distinct persons", []surveyStep{
			{"survey shown", "u8", 0, ``, 0},
			{"survey shown", "a8", 1, ``, 0},
			{"survey dismissed", "a8", 1, ``, 0},
			{"survey shown", "b8", 1, ``, 0},
			{"$identify", "u8", 2, `"$anon_distinct_id":"a8"`, 0}, // merges
			{"$identify", "u8", 2, `"$anon_distinct_id":"c8"`, 0},
			{"survey shown", "c8", 3, ``, 0},
			{"survey sent", "u8", 4, ``, 1},
		}, "shown 4 by 2, dismissed 1 by 1, sent 1 by 1, both 1; 1 by u8 {}"},
		{"8: distinct IDs of who is not a person", []surveyStep{
			{"survey shown", "n8", 0, `"$process_person_profile":false`, 0},
			{"survey shown", "n8", 1, `"$process_person_profile":false`, 0},
			{"survey shown", "m8", 2, `"$process_person_profile":false`, 0},
			{"survey shown", "l8", 3, `"$process_person_profile":false`, 0},
			{"survey dismissed", "k8", 3, `"$process_person_profile":false`, 0},
			{"survey sent", "k8", 4, `"$process_person_profile":false`, 1},
			{"$identify", "l8", 5, `"$anon_distinct_id":"m8"`, 0}, // become one
		}, "shown 4 by 2, dismissed 1 by 1, sent 1 by 1, both 1; 1 by k8 {}"},
		{"8: without a person first, with one later", []surveyStep{
			{"survey shown", "o8", 0, `"$process_person_profile":false`, 0},
			{"survey shown", "p8", 1, ``, 0},
			{"survey shown", "o8", 2, ``, 0},
			{"survey dismissed", "p8", 3, ``, 0},
			{"survey shown", "p8", 4, `"$process_person_profile":false`, 0},
			{"survey sent", "o8", 5, `"$process_person_profile":false`, 1},
			{"$merge_dangerously", "o8", 6, `"alias":"p8"`, 0},
		}, "shown 4 by 1, dismissed 1 by 1, sent 1 by 1, both 1; 1 by o8 {}"},
		{"events are counted once", []surveyStep{
			{"survey shown", "u", 0, ``, 1},
			{"survey shown", "u", 0, ``, 1},
			{"survey shown", "v", 0, ``, 1},      // another event
			{"survey dismissed", "u", 0, ``, 1},  // another event
			{"survey shown", "u", 86400, ``, 1},  // another event
			{"survey dismissed", "u", 10, ``, 1}, // of that day
		}, "shown 3 by 2, dismissed 1 by 1, sent 0 by 0, both 0"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, together := range []bool{false, true} {
				// A project of its own, since the project of merged IDs is not as
				// it was.
				project, id := int64(10+2*i), uuid.New()
				if together {
					project++
				}
				var events []capture.Event
				for _, step := range tt.steps {
					e := s.surveyEvent(id, step)
					e.Project = project
					events = append(events, e)
				}
				if together {
					s.write(t, events...)
				} else {
					for _, e := range events {
						s.write(t, e)
					}
				}
				q := surveys.Query{Project: project, Surveys: []uuid.UUID{id}}
				wantTally(t, fmt.Sprintf("together %v", together), s, q, tt.want)
				s.write(t, events...) // again
				wantTally(t, "written twice", s.another(t), q, tt.want)
				oracle := new(reference.Surveys)
				oracle.Write(events)
				wantSame(t, "the oracle", s, oracle, q)
			}
		})
	}
}

// testSurveyQueries is about what a query selects.
func testSurveyQueries(t *testing.T, s *suite) {
	a, b, c := numbered(1), numbered(2), numbered(3)
	elsewhere := s.surveyEvent(a, surveyStep{"survey sent", "u", 0, ``, 50})
	elsewhere.Project = 2
	events := []capture.Event{
		s.surveyEvent(a, surveyStep{"survey shown", "u", 0, ``, 10}),
		s.surveyEvent(a, surveyStep{"survey sent", "u", 10, `"$survey_submission_id":"x"`, 11}),
		s.surveyEvent(a, surveyStep{"survey sent", "u", 20, `"$survey_submission_id":"x"`, 12}),
		s.surveyEvent(a, surveyStep{"survey dismissed", "v", 20, ``, 13}),
		s.surveyEvent(b, surveyStep{"survey shown", "u", 5, ``, 20}),
		s.surveyEvent(b, surveyStep{"survey sent", "v", 20, `"$survey_submission_id":"x"`, 21}),
		s.surveyEvent(b, surveyStep{"survey sent", "v", 20, ``, 9}),
		elsewhere,
	}
	s.write(t, events...)
	oracle := new(reference.Surveys)
	oracle.Write(events)
	at := func(second int, more time.Duration) *time.Time {
		return new(s.now.Add(time.Duration(second)*time.Second + more))
	}
	const nothing = "shown 0 by 0, dismissed 0 by 0, sent 0 by 0, both 0"
	for _, tt := range []struct {
		name string
		q    surveys.Query
		want string
	}{
		{"no surveys", surveys.Query{}, nothing},
		{"a survey without events", surveys.Query{Surveys: []uuid.UUID{c}}, nothing},
		{"one survey", surveys.Query{Surveys: []uuid.UUID{a}}, "shown 1 by 1, dismissed 1 by 1, sent 1 by 1, both 0; 12 by u {}"},
		{"two", surveys.Query{Surveys: []uuid.UUID{a, b, a, c}}, "shown 2 by 1, dismissed 1 by 1, sent 3 by 2, both 1; 12 by u {}; 21 by v {}; 9 by v {}"},
		{"the same ID in another project", surveys.Query{Project: 2, Surveys: []uuid.UUID{a, b}}, "shown 0 by 0, dismissed 0 by 0, sent 1 by 1, both 0; 50 by u {}"},
		{"bounds are included", surveys.Query{Surveys: []uuid.UUID{a, b}, From: at(5, 0), To: at(20, 0)}, "shown 1 by 1, dismissed 1 by 1, sent 3 by 2, both 1; 12 by u {}; 21 by v {}; 9 by v {}"},
		{"from", surveys.Query{Surveys: []uuid.UUID{a, b}, From: at(5, time.Microsecond)}, "shown 0 by 0, dismissed 1 by 1, sent 3 by 2, both 1; 12 by u {}; 21 by v {}; 9 by v {}"},
		// The latest event of a submission stays its representative.
		{"to", surveys.Query{Surveys: []uuid.UUID{a}, To: at(20, -time.Microsecond)}, "shown 1 by 1, dismissed 0 by 0, sent 0 by 0, both 0"},
		{"from after to", surveys.Query{Surveys: []uuid.UUID{a}, From: at(20, 0), To: at(0, 0)}, nothing},
		{"in another zone", surveys.Query{Surveys: []uuid.UUID{a}, From: new(at(20, 0).In(time.FixedZone("", 3600)))}, "shown 0 by 0, dismissed 1 by 1, sent 1 by 1, both 0; 12 by u {}"},
	} {
		if tt.q.Project == 0 {
			tt.q.Project = 1
		}
		wantTally(t, tt.name, s, tt.q, tt.want)
		wantSame(t, tt.name, s, oracle, tt.q)
	}
	counts, err := s.CountSurveyEvents(t.Context(), surveys.Query{Project: 1, Surveys: []uuid.UUID{a, b}, From: at(1, 0)})
	want(t, "CountSurveyEvents", &surveys.Counts{
		Shown:     surveys.Count{Total: 1, Persons: 1, First: at(5, 0), Last: at(5, 0)},
		Dismissed: surveys.Count{Total: 1, Persons: 1, First: at(20, 0), Last: at(20, 0)},
		Sent:      surveys.Count{Total: 3, Persons: 2, First: at(20, 0), Last: at(20, 0)},
		Both:      1,
	})(counts, err)
	counts, err = s.CountSurveyEvents(t.Context(), surveys.Query{Project: 1, Surveys: []uuid.UUID{a, b}, To: at(5, 0)})
	want(t, "CountSurveyEvents", &surveys.Counts{Shown: surveys.Count{Total: 2, Persons: 1, First: at(0, 0), Last: at(5, 0)}})(counts, err)
}

// testSurveyResponses is about what responses have.
func testSurveyResponses(t *testing.T, s *suite) {
	ctx := t.Context()
	id := numbered(1)
	q := surveys.Query{Project: 1, Surveys: []uuid.UUID{id}}
	first := s.surveyEvent(id, surveyStep{"survey sent", "Zoë 💥", 0, `"$survey_submission_id":"x","$session_id":"s1","$browser":"Firefox",` +
		`"$survey_response":"first","$survey_response_q-1":["a\u0000","b",3],"$survey_response_é \"":"\u00fc<&>\u2028"`, 1})
	second := s.surveyEvent(id, surveyStep{"survey sent", "u", 1, `"$survey_submission_id":"x","$session_id":"s2","$survey_iteration":3,` +
		`"$survey_completed":true,"$current_url":"https://shop.example/?a=\u0000","$survey_response_q-2":7.50`, 2})
	s.write(t, first, second)
	wanted := []surveys.Response{{
		ID: second.UUID, Survey: id, DistinctID: "u", Time: second.Time,
		Answers: map[string]json.RawMessage{
			"0": json.RawMessage(`"first"`), "q-1": json.RawMessage(`["a\u0000","b",3]`), `é "`: json.RawMessage(`"\u00fc<&>\u2028"`), "q-2": json.RawMessage(`7.50`),
		},
		Extra: map[string]string{"$session_id": "s2", "$survey_iteration": "3", "$survey_completed": "true", "$current_url": "https://shop.example/?a=\x00"},
	}}
	if diff := cmp.Diff(wanted, responses(t, s, q)); diff != "" {
		t.Errorf("SurveyResponses (-want +got)\n%s", diff)
	}

	// More answers than a response can have: the answers of the latest events.
	var steps []capture.Event
	for i := range 3 {
		var answers strings.Builder
		for j := range 60 {
			fmt.Fprintf(&answers, `"$survey_response_%d-%02d":"%d",`, i, j, i)
		}
		steps = append(steps, s.surveyEvent(id, surveyStep{"survey sent", "u", 10 + i, answers.String() + `"$survey_submission_id":"many"`, byte(10 + i)}))
	}
	s.write(t, steps...)
	many := responses(t, s, q)[0]
	if len(many.Answers) != surveys.MaxAnswers || many.Answers["2-59"] == nil || many.Answers["1-39"] == nil || many.Answers["1-40"] != nil {
		t.Errorf("%d answers, want %d, those of the latest events first: %s", len(many.Answers), surveys.MaxAnswers, many.Answers)
	}

	// More responses than are read at once.
	const n = 2500
	var list []capture.Event
	for i := range n {
		list = append(list, s.surveyEvent(id, surveyStep{"survey sent", fmt.Sprint("r", i), 100 + i/2, `"$survey_response":"` + fmt.Sprint(i) + `"`, 0}))
	}
	s.write(t, list...)
	all := responses(t, s.another(t), q)
	if len(all) != n+2 {
		t.Fatalf("%d responses, want %d", len(all), n+2)
	}
	if !slices.IsSortedFunc(all, func(a, b surveys.Response) int {
		if c := b.Time.Compare(a.Time); c != 0 {
			return c
		}
		return strings.Compare(b.ID.String(), a.ID.String())
	}) {
		t.Error("responses are not in the order of time and UUID, newest first")
	}
	for range 50 { // who stops early leaves nothing behind
		got := 0
		for _, err := range s.SurveyResponses(ctx, q) {
			must(t, err)
			if got++; got == 3 {
				break
			}
		}
		for a, err := range s.SurveyAnswers(ctx, q) {
			must(t, err)
			if diff := cmp.Diff(all[0].Time, a.Time); diff != "" {
				t.Fatalf("the first answers (-want +got)\n%s", diff)
			}
			break
		}
	}
	got := 0
	for r, err := range s.SurveyResponses(ctx, q) { // and the store can be used meanwhile
		must(t, err)
		s.write(t, s.surveyEvent(id, surveyStep{"survey sent", "late", 100_000 + got, ``, 0}))
		if diff := cmp.Diff(all[got], r); diff != "" {
			t.Fatalf("response %d while others are stored (-want +got)\n%s", got, diff)
		}
		if got++; got == 150 {
			break
		}
	}

	cancelled, cancel := context.WithCancel(ctx)
	defer cancel()
	var failure error
	for _, err := range s.SurveyResponses(cancelled, q) {
		failure = err
		cancel()
	}
	wantError(t, "SurveyResponses with a cancelled context", context.Canceled, failure)
	for _, err := range s.SurveyAnswers(cancelled, q) {
		failure = err
	}
	wantError(t, "SurveyAnswers with a cancelled context", context.Canceled, failure)
	cancelled, cancel = context.WithCancel(ctx)
	defer cancel()
	for _, err := range s.SurveyAnswers(cancelled, q) {
		failure = err
		cancel()
	}
	wantError(t, "SurveyAnswers with a context that is cancelled", context.Canceled, failure)
	wantErr(t, "CountSurveyEvents with a cancelled context", context.Canceled)(s.CountSurveyEvents(cancelled, q))
	wantErr(t, "CountResponses with a cancelled context", context.Canceled)(s.CountResponses(cancelled, q))
}

// newSurvey creates a survey.
func (s *suite) newSurvey(t *testing.T, project int64) uuid.UUID {
	t.Helper()
	id := uuid.New()
	must(t, s.CreateSurvey(t.Context(), &surveys.Survey{
		ID: id, Project: project, Name: id.String(), Type: "popover", Questions: json.RawMessage("[]"), Created: s.now, Updated: s.now,
	}))
	return id
}

// testArchivedResponses is rule 7 of management.md §10.2, and §11.4.
func testArchivedResponses(t *testing.T, s *suite) {
	ctx := t.Context()
	p := s.project(t, s.organization(t, "acme"))
	a, b := s.newSurvey(t, p.ID), s.newSurvey(t, p.ID)
	var list []capture.Event
	for _, e := range []capture.Event{
		s.surveyEvent(a, surveyStep{"survey shown", "u", 0, ``, 1}),
		s.surveyEvent(a, surveyStep{"survey dismissed", "u", 1, ``, 2}),
		s.surveyEvent(a, surveyStep{"survey sent", "u", 1, `"$survey_submission_id":"x"`, 3}),
		s.surveyEvent(a, surveyStep{"survey sent", "u", 2, `"$survey_submission_id":"x"`, 4}),
		s.surveyEvent(a, surveyStep{"survey sent", "v", 3, ``, 5}),
		s.surveyEvent(b, surveyStep{"survey sent", "v", 3, ``, 5 + 100}),
	} {
		e.Project = p.ID
		list = append(list, e)
	}
	s.write(t, list...)
	archive := func(survey uuid.UUID, n byte, change bool) {
		t.Helper()
		want(t, "ArchiveResponse", change)(s.ArchiveResponse(ctx, p.ID, survey, numbered(n), s.now))
	}
	unarchive := func(survey uuid.UUID, n byte, change bool) {
		t.Helper()
		want(t, "UnarchiveResponse", change)(s.UnarchiveResponse(ctx, p.ID, survey, numbered(n)))
	}
	q := surveys.Query{Project: p.ID, Surveys: []uuid.UUID{a}}
	check := func(what, all, rest string) {
		t.Helper()
		q.ExcludeArchived = false
		wantTally(t, what+", all", s, q, all)
		q.ExcludeArchived = true
		wantTally(t, what+", without archived ones", s.another(t), q, rest)
	}
	const all = "shown 1 by 1, dismissed 1 by 1, sent 2 by 2, both 1; 5 by v {}; 4 by u {}"
	check("none", all, all)
	archive(a, 5, true)
	archive(a, 5, false)
	check("one", all, "shown 1 by 1, dismissed 1 by 1, sent 1 by 1, both 1; 4 by u {}")
	archive(a, 3, true) // not representative
	check("and none", all, "shown 1 by 1, dismissed 1 by 1, sent 1 by 1, both 1; 4 by u {}")
	archive(a, 4, true)
	check("two", all, "shown 1 by 1, dismissed 1 by 1, sent 0 by 0, both 0")
	archive(a, 1, true)
	archive(a, 2, true)
	archive(a, 200, true) // of no event
	check("all", all, "shown 0 by 0, dismissed 0 by 0, sent 0 by 0, both 0")
	archive(b, 5, false) // it is unique in the project
	want(t, "ArchivedResponses", []uuid.UUID{numbered(5), numbered(3), numbered(4), numbered(1), numbered(2), numbered(200)})(s.ArchivedResponses(ctx, p.ID, a))
	want(t, "ArchivedResponses", []uuid.UUID(nil))(s.ArchivedResponses(ctx, p.ID, b))
	unarchive(b, 5, false)
	unarchive(a, 5, true)
	unarchive(a, 5, false)
	unarchive(a, 1, true)
	check("some again", all, "shown 1 by 1, dismissed 0 by 0, sent 1 by 1, both 0; 5 by v {}")
	archive(b, 5, true) // that is a response of the other survey
	check("of another survey", all, "shown 1 by 1, dismissed 0 by 0, sent 1 by 1, both 0; 5 by v {}")

	// An event that is archived before it arrives, and one of a submission
	// whose earlier representative was.
	late := s.surveyEvent(a, surveyStep{"survey sent", "w", 9, ``, 200})
	later := s.surveyEvent(a, surveyStep{"survey sent", "u", 8, `"$survey_submission_id":"x"`, 8})
	late.Project, later.Project = p.ID, p.ID
	s.write(t, late, later)
	check("later ones", "shown 1 by 1, dismissed 1 by 1, sent 3 by 3, both 1; 200 by w {}; 8 by u {}; 5 by v {}",
		"shown 1 by 1, dismissed 0 by 0, sent 2 by 2, both 0; 8 by u {}; 5 by v {}")
	q.Surveys = []uuid.UUID{a, b}
	q.To = new(s.now.Add(3 * time.Second))
	check("of two, in a window", "shown 1 by 1, dismissed 1 by 1, sent 2 by 1, both 0; 5 by v {}; 105 by v {}",
		"shown 1 by 1, dismissed 0 by 0, sent 2 by 1, both 0; 5 by v {}; 105 by v {}")
}

// testPurgedSurveys is about deleted projects.
func testPurgedSurveys(t *testing.T, s *suite) {
	ctx := t.Context()
	acme := s.organization(t, "acme")
	gone, kept := s.project(t, acme), s.project(t, acme)
	id := numbered(1)
	var list []capture.Event
	for _, p := range []int64{gone.ID, kept.ID} {
		for i := range 300 {
			e := s.surveyEvent(id, surveyStep{"survey sent", fmt.Sprint("u", i), i, ``, 0})
			e.Project = p
			list = append(list, e)
		}
	}
	s.write(t, list...)
	must(t, s.Projects().Delete(ctx, storage.ProjectID.Is(gone.ID)))
	for more := true; more; {
		var err error
		more, err = s.PurgeProjects(ctx, time.Now().Add(time.Hour))
		must(t, err)
	}
	for project, n := range map[int64]int{gone.ID: 0, kept.ID: 300} {
		q := surveys.Query{Project: project, Surveys: []uuid.UUID{id}}
		counts, err := s.CountSurveyEvents(ctx, q)
		if must(t, err); counts.Sent.Total != n || counts.Sent.Persons != n || len(responses(t, s, q)) != n {
			t.Errorf("project %d: %+v, want %d responses", project, counts.Sent, n)
		}
	}
}

// testConcurrentSurveys writes about one survey at once, and compares with the
// oracle, which gets the same events in the order of their times.
func testConcurrentSurveys(t *testing.T, s *suite) {
	ctx := t.Context()
	id := numbered(1)
	q := surveys.Query{Project: 1, Surveys: []uuid.UUID{id}}
	stores := []*suite{s, s.another(t)}
	var batches [][]capture.Event
	for i := range 48 {
		who, second := fmt.Sprint("u", i%5), i
		steps := []capture.Event{
			s.surveyEvent(id, surveyStep{"survey shown", who, second, `"$process_person_profile":false`, 0}),
			s.surveyEvent(id, surveyStep{"survey sent", who, second, fmt.Sprintf(`"$survey_submission_id":"s%d","$survey_response_%d":"%d"`, i%4, i%7, i), 0}),
			s.surveyEvent(id, surveyStep{"survey dismissed", fmt.Sprint("v", i), second, `"$survey_partially_completed":` + fmt.Sprint(i%2 == 0), 0}),
		}
		if i%8 == 0 {
			steps = append(steps, s.surveyEvent(id, surveyStep{"$merge_dangerously", "v0", second, fmt.Sprintf(`"alias":"u%d"`, i/8%3), 0}))
		}
		batches = append(batches, steps)
	}
	var wg sync.WaitGroup
	for worker := range 6 {
		wg.Go(func() {
			for i, batch := range batches {
				if i%3 != worker/2 { // each batch is written twice, at once
					continue
				}
				store := stores[(i+worker)%2]
				if err := store.Write(ctx, batch); err != nil {
					t.Errorf("Write: %v", err)
				}
				if _, err := store.CountSurveyEvents(ctx, q); err != nil {
					t.Errorf("CountSurveyEvents: %v", err)
				}
				for _, err := range store.SurveyResponses(ctx, q) {
					if err != nil {
						t.Errorf("SurveyResponses: %v", err)
					}
				}
			}
		})
	}
	wg.Wait()
	oracle := new(reference.Surveys)
	oracle.Write(s.stored(t, 1))
	wantSame(t, "concurrent writes", s, oracle, q)
}

// wantSame checks that a store answers as the oracle does.
func wantSame(t *testing.T, what string, s *suite, oracle *reference.Surveys, q surveys.Query) {
	t.Helper()
	want(t, what+": CountSurveyEvents", oracle.Count(q))(s.CountSurveyEvents(t.Context(), q))
	want(t, what+": CountResponses", oracle.CountResponses(q))(s.CountResponses(t.Context(), q))
	if diff := cmp.Diff(oracle.Responses(q), responses(t, s, q)); diff != "" {
		t.Errorf("%s: SurveyResponses (-want +got)\n%s", what, diff)
	}
}
