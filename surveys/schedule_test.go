package surveys_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/internal/fulltest"
	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/sqlstore"
	"github.com/flagstaff-go/flagstaff/management/storage"
	"github.com/flagstaff-go/flagstaff/surveys"
)

// captured returns an event about a survey. Properties are a JSON object.
func captured(p *storage.Project, name string, survey uuid.UUID, distinctID string, at time.Time, properties string) capture.Event {
	all := `{"$survey_id":"` + survey.String() + `"`
	if properties = strings.TrimSpace(properties[1 : len(properties)-1]); properties != "" {
		all += "," + properties
	}
	return capture.Event{
		Project: p.ID, UUID: uuid.Must(uuid.NewV7()), Name: name, DistinctID: distinctID, Time: at, Received: at, Properties: json.RawMessage(all + "}"),
	}
}

// answer stores n responses of now.
func (w *world) answer(survey uuid.UUID, n int) {
	w.t.Helper()
	for i := range n {
		e := captured(w.web, "survey sent", survey, fmt.Sprint("person-", i), w.clock.Now(), `{"$survey_response_q1":9}`)
		w.ok(w.store.Write(w.t.Context(), []capture.Event{e}))
	}
}

// changesIn returns the fields that an entry of the activity log is about.
func changesIn(t testing.TB, a *storage.Activity) []string {
	t.Helper()
	var fields []string
	for _, c := range decode[management.ActivityDetail](t, string(a.Detail)).Changes {
		fields = append(fields, c.Field)
	}
	return fields
}

func (w *world) keep() {
	w.t.Helper()
	w.ok(w.Keep(w.t.Context()))
}

// iterations says which iterations a survey has: when each begins, in days after
// the world did, and which one goes on.
func iterations(v *surveys.Survey) string {
	if v.IterationStarts == nil {
		return "not planned"
	}
	var starts []string
	for _, s := range v.IterationStarts {
		starts = append(starts, fmt.Sprint(s.Sub(begin).Hours()/24))
	}
	text := "[" + strings.Join(starts, " ") + "]"
	if v.CurrentIteration != nil {
		text += fmt.Sprintf(" %d since %v", *v.CurrentIteration, v.IterationStart.Sub(begin).Hours()/24)
	}
	if v.End != nil {
		text += fmt.Sprintf(", ended on %.4g", v.End.Sub(begin).Hours()/24)
	}
	return text
}

// date returns the time so many days after the world began, as JSON.
func date(days float64) string {
	return `"` + at(time.Duration(days*float64(aDay))).Format(time.RFC3339Nano) + `"`
}

// management.md §9.8, by changes ("{…}") and days that pass (with KeepSurveys).
func TestIterations(t *testing.T) {
	type step struct {
		do   any // a change, or how many days pass
		want string
	}
	started := `{"start_date":` + date(0) + `,"iteration_count":3,"iteration_frequency_days":7}`
	for _, tt := range []struct {
		name  string
		steps []step
	}{
		{"none", []step{{`{}`, "[]"}, {`{"start_date":` + date(0) + `}`, "[]"}, {30.0, "[]"}}},
		{"count alone", []step{{`{"start_date":` + date(0) + `,"iteration_count":3}`, "[]"}}},
		{"frequency alone", []step{{`{"start_date":` + date(0) + `,"iteration_frequency_days":3}`, "[]"}}},
		{"count null", []step{{`{"start_date":` + date(0) + `,"iteration_count":null,"iteration_frequency_days":3}`, "[]"}}},
		{"a draft", []step{
			{`{"iteration_count":3,"iteration_frequency_days":7}`, "not planned"},
			{1.0, "not planned"},
			{`{"start_date":` + date(1) + `}`, "[1 8 15] 1 since 1"},
			{`{"start_date":null}`, "not planned"},
		}},
		{"one after the other", []step{
			{started, "[0 7 14] 1 since 0"},
			{6.9, "[0 7 14] 1 since 0"},
			{0.2, "[0 7 14] 2 since 7"},
			{7.0, "[0 7 14] 3 since 14"},
			{6.8, "[0 7 14] 3 since 14"},
			{0.2, "[0 7 14] 3 since 14, ended on 21.1"},
			{9.0, "[0 7 14] 3 since 14, ended on 21.1"},
		}},
		{"exactly on the border the one before still goes on", []step{
			{started, "[0 7 14] 1 since 0"},
			{7.0, "[0 7 14] 1 since 0"},
			{1e-9, "[0 7 14] 2 since 7"},
			{14.0, "[0 7 14] 2 since 7, ended on 21"},
		}},
		{"the last border", []step{{started, "[0 7 14] 1 since 0"}, {21.0, "[0 7 14] 3 since 14"}, {1e-9, "[0 7 14] 3 since 14, ended on 21"}}},
		{"nobody looks for a while", []step{{started, "[0 7 14] 1 since 0"}, {15.0, "[0 7 14] 3 since 14"}}},
		{"nobody looks for long", []step{{started, "[0 7 14] 1 since 0"}, {400.0, "[0 7 14] 1 since 0, ended on 400"}}},
		{"begun before it was planned", []step{
			{`{"start_date":` + date(-10) + `,"iteration_count":3,"iteration_frequency_days":7}`, "[-10 -3 4] 1 since -10"},
			{0.0, "[-10 -3 4] 2 since -3"},
		}},
		{"begins later", []step{
			{`{"start_date":` + date(5) + `,"iteration_count":2,"iteration_frequency_days":7}`, "[5 12] 1 since 5"},
			{4.0, "[5 12] 1 since 5"},
			{9.0, "[5 12] 2 since 12"},
		}},
		{"more of them", []step{
			{started, "[0 7 14] 1 since 0"},
			{8.0, "[0 7 14] 2 since 7"},
			{`{"iteration_count":4}`, "[0 7 14 21] 2 since 7"},
			{14.0, "[0 7 14 21] 4 since 21"},
		}},
		{"fewer of them", []step{{started, "[0 7 14] 1 since 0"}, {8.0, "[0 7 14] 2 since 7"}, {`{"iteration_count":2}`, "[0 7] 2 since 7"}}},
		{"no more of them", []step{
			{started, "[0 7 14] 1 since 0"},
			{8.0, "[0 7 14] 2 since 7"},
			{`{"iteration_count":0}`, "[]"},
			{30.0, "[]"},
			{`{"iteration_count":9}`, "[0 7 14 21 28 35 42 49 56] 1 since 0"},
			{0.0, "[0 7 14 21 28 35 42 49 56] 6 since 35"},
		}},
		{"at other times", []step{
			{started, "[0 7 14] 1 since 0"},
			{8.0, "[0 7 14] 2 since 7"},
			{`{"iteration_frequency_days":10}`, "[0 10 20] 1 since 0"},
			{`{"iteration_frequency_days":3}`, "[0 3 6] 3 since 6"},
		}},
		{"another start", []step{
			{started, "[0 7 14] 1 since 0"},
			{15.0, "[0 7 14] 3 since 14"},
			{`{"start_date":` + date(10) + `}`, "[10 17 24] 1 since 10"},
			{`{"start_date":` + date(20) + `}`, "[20 27 34] 1 since 20"},
		}},
		{"another name", []step{{started, "[0 7 14] 1 since 0"}, {`{"name":"other"}`, "[0 7 14] 1 since 0"}}},
		{"resumed in time", []step{
			{started, "[0 7 14] 1 since 0"},
			{`{"end_date":` + date(0) + `}`, "[0 7 14] 1 since 0, ended on 0"},
			{8.0, "[0 7 14] 1 since 0, ended on 0"},
			{`{"end_date":null}`, "[0 7 14] 1 since 0"},
			{0.0, "[0 7 14] 2 since 7"},
		}},
		{"resumed when they are over", []step{
			{started, "[0 7 14] 1 since 0"},
			{22.0, "[0 7 14] 1 since 0, ended on 22"},
			{`{"end_date":null}`, "[22 29 36] 1 since 22"},
			{8.0, "[22 29 36] 2 since 29"},
			{`{"iteration_count":2}`, "[22 29] 2 since 29"},
			{`{"iteration_frequency_days":14}`, "[22 36] 1 since 22"},
			{50.0, "[22 36] 1 since 22, ended on 80"},
		}},
		{"resumed with more of them", []step{
			{started, "[0 7 14] 1 since 0"},
			{22.0, "[0 7 14] 1 since 0, ended on 22"},
			{`{"end_date":null,"iteration_count":5}`, "[0 7 14 21 28] 4 since 21"},
		}},
		{"archived meanwhile", []step{
			{started, "[0 7 14] 1 since 0"},
			{`{"archived":true}`, "[0 7 14] 1 since 0"},
			{8.0, "[0 7 14] 1 since 0"},
			{`{"archived":false}`, "[0 7 14] 1 since 0"},
			{0.0, "[0 7 14] 2 since 7"},
			{`{"archived":true}`, "[0 7 14] 2 since 7"},
			{30.0, "[0 7 14] 2 since 7"},
			{`{"archived":false}`, "[0 7 14] 2 since 7"},
			{0.0, "[0 7 14] 2 since 7, ended on 38"},
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			var id uuid.UUID
			for i, s := range tt.steps {
				switch do := s.do.(type) {
				case float64:
					w.clock.advance(time.Duration(do * float64(aDay)))
					w.keep()
				case string:
					if i == 0 {
						id = w.survey(do).ID
					} else {
						w.change(id, do)
					}
				}
				v := w.storedSurvey(id)
				if got := iterations(v); got != s.want {
					t.Fatalf("step %d, %v: %s, want %s", i, s.do, got, s.want)
				}
				w.checkSurvey(v)
			}
		})
	}
}

// management.md §9.8: iteration_count cannot go back before the current one.
func TestFewerIterationsThanThereWere(t *testing.T) {
	w := newWorld(t)
	id := w.survey(`{"start_date":` + date(0) + `,"iteration_count":3,"iteration_frequency_days":7}`).ID
	w.clock.advance(15 * aDay)
	w.keep()
	for body, want := range map[string]string{
		`{"iteration_count":2}`: "invalid invalid_input", `{"iteration_count":1,"iteration_frequency_days":30}`: "invalid invalid_input",
		`{"iteration_count":3}`: "", `{"name":"x"}`: "",
	} {
		_, err := w.tryChange(id, body)
		checkFault(t, body, err, want)
	}
	w.change(id, `{"iteration_count":null}`)
}

// checkSurvey checks what holds for every survey at any time: its flags are on if
// it is active, and the internal one is about the iteration that goes on.
func (w *world) checkSurvey(v *surveys.Survey) {
	w.t.Helper()
	on := v.Start != nil && v.End == nil && !v.Archived
	key := v.ID.String()
	if v.IterationCount != nil && *v.IterationCount > 0 {
		n := 1
		if v.CurrentIteration != nil {
			n = *v.CurrentIteration
		}
		key += fmt.Sprint("/", n)
	}
	internal := w.storedFlag(v.InternalFlag)
	if internal == nil || internal.Active != on || !strings.Contains(filtersText(w.t, internal), `"$survey_responded/`+key+`"`) {
		w.t.Errorf("internal flag is %+v, want it on: %t, about %s", internal, on, key)
	}
	if sampled := w.storedFlag(v.SamplingFlag); (v.SamplingDaily != nil) != (sampled != nil) || sampled != nil && sampled.Active != on {
		w.t.Errorf("sampling flag is %+v, want it to be: %t, and on: %t", sampled, v.SamplingDaily != nil, on)
	}
	if f := w.storedFlag(v.TargetingFlag); f != nil && f.Kind != storage.FlagOrdinary && f.Active != on {
		w.t.Errorf("targeting flag is on: %t, want %t", f.Active, on)
	}
	planned := len(v.IterationStarts) > 0
	if want := v.Start != nil && v.IterationCount != nil && v.IterationDays != nil && *v.IterationCount**v.IterationDays > 0; planned != want {
		w.t.Errorf("iterations are planned: %t, want %t", planned, want)
	}
	if !planned {
		if v.CurrentIteration != nil || v.IterationStart != nil {
			w.t.Errorf("iteration %d without a plan", *v.CurrentIteration)
		}
		return
	}
	last := v.IterationStarts[len(v.IterationStarts)-1]
	all := len(v.IterationStarts) == *v.IterationCount || last.Year() == 9999 // the last year that JSON has
	if n := v.CurrentIteration; n == nil || *n < 1 || *n > len(v.IterationStarts) || !v.IterationStart.Equal(v.IterationStarts[*n-1]) || !all {
		w.t.Errorf("iterations: %s, of %d", iterations(v), *v.IterationCount)
	}
}

// management.md §9.7: a survey ends when it has as many responses as it wants; they
// count since it was created, one for each submission, archived or not.
func TestResponsesLimit(t *testing.T) {
	w := newWorld(t)
	sent := func(id uuid.UUID, submission string, at time.Time) {
		e := captured(w.web, "survey sent", id, "d", at, `{"$survey_submission_id":"`+submission+`"}`)
		w.ok(w.store.Write(t.Context(), []capture.Event{e}))
	}
	limited := func(n int, more string) uuid.UUID {
		return w.survey(fmt.Sprintf(`{"responses_limit":%d,"start_date":%s%s}`, n, date(1), more)).ID
	}
	three, four, draft, archived, ended := limited(3, ""), limited(4, ""), limited(3, `,"start_date":null`), limited(3, `,"archived":true`), limited(3, `,"end_date":`+date(9))
	other, none := w.survey(`{"start_date":`+date(0)+`}`).ID, limited(0, "")
	for _, id := range []uuid.UUID{three, four, draft, archived, ended, other} {
		sent(id, "a", at(0))
		sent(id, "a", at(time.Hour))
		sent(id, "b", at(time.Hour)) // before it begins: clients look at the date (§9.2)
		sent(id, "c", at(-time.Microsecond))
	}
	w.keep()
	if v := w.storedSurvey(three); v.End != nil {
		t.Errorf("a survey has ended with 2 of 3 responses, and one from before it was created: %+v", v)
	}
	if v := w.storedSurvey(none); v.End == nil {
		t.Errorf("a survey that wants no responses: %+v", v)
	}
	for _, id := range []uuid.UUID{three, four, draft, archived, ended, other} {
		sent(id, "d", at(2*time.Hour))
		w.ok(w.ArchiveResponse(t.Context(), w.as(w.ada), refOf(w.web), id.String(), uuid.NewString()))
	}
	w.clock.advance(2 * aDay)
	entries := len(w.activities())
	w.keep()
	if v := w.storedSurvey(three); v.End == nil || !v.End.Equal(w.clock.Now()) || v.ResponsesLimit != nil {
		t.Errorf("a survey that has all responses: %+v", v)
	}
	w.checkSurvey(w.storedSurvey(three))
	for name, id := range map[string]uuid.UUID{"with 3 of 4": four, "that is a draft": draft, "that is archived": archived} {
		if v := w.storedSurvey(id); v.End != nil || v.ResponsesLimit == nil {
			t.Errorf("a survey %s: %+v", name, v)
		}
	}
	if v := w.storedSurvey(ended); v.ResponsesLimit == nil || !v.End.Equal(at(9*aDay)) {
		t.Errorf("a survey with an end: %+v", v)
	}
	if v := w.storedSurvey(other); v.End != nil {
		t.Errorf("a survey without a limit: %+v", v)
	}
	log := w.activities()[:len(w.activities())-entries]
	if len(log) != 1 {
		t.Fatalf("%d entries in the activity log, want 1: %+v", len(log), log)
	}
	if diff := cmp.Diff([]string{"end_date", "responses_limit"}, changesIn(t, &log[0]), same); diff != "" || !log[0].System || log[0].Activity != "updated" {
		t.Errorf("activity %+v, changes (-want +got)\n%s", log[0], diff)
	}
}

// plan says what is planned of sampling: when a cycle begins, how many responses
// there may be by the end of each day, and the percentage of the flag.
func (w *world) plan(id uuid.UUID) string {
	w.t.Helper()
	v := w.storedSurvey(id)
	var text strings.Builder
	for _, d := range decode[[]struct {
		Date       time.Time
		Limit      int     `json:"daily_response_limit"`
		Percentage float64 `json:"rollout_percentage"`
	}](w.t, string(v.SamplingDaily)) {
		fmt.Fprintf(&text, "%s %d %v, ", d.Date.Format("02.01."), d.Limit, d.Percentage)
	}
	f := decode[struct {
		Groups []struct {
			Percentage float64 `json:"rollout_percentage"`
		}
	}](w.t, filtersText(w.t, w.storedFlag(v.SamplingFlag)))
	return fmt.Sprintf("%sfrom %s: %v", text.String(), v.SamplingStart.Format("02.01.15:04"), f.Groups[0].Percentage)
}

// management.md §9.9: the plan, and the flag day by day. The world begins on 4 March
// at 5:06.
func TestSampling(t *testing.T) {
	const three = `"start_date":"2026-03-04T00:00:00Z","response_sampling_start_date":"2026-03-04T03:00:00Z","response_sampling_interval":3,` +
		`"response_sampling_interval_type":"day","response_sampling_limit":10`
	first := "04.03. 4 33.33, 05.03. 7 66.67, 06.03. 10 100, from 04.03.03:00: "
	second := "07.03. 4 33.33, 08.03. 7 66.67, 09.03. 10 100, from 07.03.00:00: "
	type step struct {
		do   any // a change, or responses, or how long it takes until somebody looks
		want string
	}
	for _, tt := range []struct {
		name  string
		steps []step
	}{
		{"all in time", []step{
			{`{` + three + `}`, first + "100"},
			{time.Minute, first + "33.33"},
			{aDay, first + "66.67"},
			{aDay, second + "100"},
			{time.Hour, second + "100"},
			{aDay, second + "33.33"},
		}},
		{"at midnight", []step{
			{`{` + three + `}`, first + "100"},
			{19*time.Hour - 6*time.Minute - 7*time.Second, first + "66.67"},
			{aDay, second + "100"},
			{aDay - time.Second, second + "100"},
			{time.Second, second + "33.33"},
		}},
		{"enough responses for today", []step{
			{`{` + three + `}`, first + "100"},
			{time.Minute, first + "33.33"},
			{3, first + "33.33"},
			{aDay, first + "66.67"},
			{4, first + "66.67"},
			{aDay, second + "100"},
			{aDay, second + "33.33"}, // a new cycle, for which they do not count
			{4, second + "33.33"},
			{aDay, second + "66.67"},
			{6, second + "66.67"},
			{aDay, "10.03. 4 33.33, 11.03. 7 66.67, 12.03. 10 100, from 10.03.00:00: 66.67"},
			{aDay, "10.03. 4 33.33, 11.03. 7 66.67, 12.03. 10 100, from 10.03.00:00: 33.33"},
		}},
		{"enough at once", []step{
			{`{` + three + `}`, first + "100"},
			{4, first + "100"}, // nobody has looked yet
			{time.Minute, first + "100"},
			{aDay, first + "66.67"},
		}},
		{"nobody looks on the last day", []step{
			{`{` + three + `}`, first + "100"},
			{time.Minute, first + "33.33"},
			{3 * aDay, second + "33.33"},
			{aDay, second + "66.67"},
		}},
		{"nobody looks for long", []step{
			{`{` + three + `}`, first + "100"},
			{time.Minute, first + "33.33"},
			{2, first + "33.33"},
			{31 * aDay, "03.04. 4 33.33, 04.04. 7 66.67, 05.04. 10 100, from 03.04.00:00: 66.67"},
		}},
		{"nobody looks until the last day of another cycle", []step{
			{`{` + three + `}`, first + "100"},
			{11 * aDay, "16.03. 4 33.33, 17.03. 7 66.67, 18.03. 10 100, from 16.03.00:00: 100"},
		}},
		{"begins later", []step{
			{`{` + three + `,"response_sampling_start_date":"2026-03-06T23:00:00Z"}`, "06.03. 4 33.33, 07.03. 7 66.67, 08.03. 10 100, from 06.03.23:00: 100"},
			{aDay, "06.03. 4 33.33, 07.03. 7 66.67, 08.03. 10 100, from 06.03.23:00: 100"},
			{aDay, "06.03. 4 33.33, 07.03. 7 66.67, 08.03. 10 100, from 06.03.23:00: 33.33"},
		}},
		{"each day", []step{
			{`{` + three + `,"response_sampling_interval":1}`, "04.03. 10 100, from 04.03.03:00: 100"},
			{time.Minute, "05.03. 10 100, from 05.03.00:00: 100"},
			{aDay, "06.03. 10 100, from 06.03.00:00: 100"},
			{5 * aDay, "11.03. 10 100, from 11.03.00:00: 100"},
		}},
		{"another plan", []step{
			{`{` + three + `}`, first + "100"},
			{aDay, first + "66.67"},
			{`{"response_sampling_limit":4}`, "04.03. 2 33.33, 05.03. 3 66.67, 06.03. 4 100, from 04.03.03:00: 66.67"},
			{`{"response_sampling_start_date":"2026-03-05T00:00:00Z","response_sampling_interval":2}`, "05.03. 2 50, 06.03. 4 100, from 05.03.00:00: 66.67"},
			{time.Minute, "05.03. 2 50, 06.03. 4 100, from 05.03.00:00: 50"},
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			var id uuid.UUID
			for i, s := range tt.steps {
				switch do := s.do.(type) {
				case time.Duration:
					w.clock.advance(do)
					w.keep()
				case int:
					w.answer(id, do)
				case string:
					if i == 0 {
						id = w.survey(do).ID
					} else {
						w.change(id, do)
					}
				}
				if got := w.plan(id); got != s.want {
					t.Fatalf("step %d, %v: %s, want %s", i, s.do, got, s.want)
				}
				w.checkSurvey(w.storedSurvey(id))
			}
		})
	}
}

// management.md §9.9: without a limit or what it needs there are no limits by day,
// nor a flag.
func TestSamplingEnds(t *testing.T) {
	w := newWorld(t)
	for _, body := range []string{
		`{"response_sampling_limit":null}`, `{"response_sampling_limit":0}`, `{"response_sampling_interval_type":null}`,
		`{"response_sampling_limit":0,"response_sampling_start_date":null}`,
	} {
		view := w.survey(`{"start_date":` + date(0) + `,` + sampling + `}`)
		if view.SamplingDaily == nil || view.FlagKeys[3].Value == nil {
			t.Fatalf("no sampling: %s", encode(t, view))
		}
		if after := w.change(view.ID, body); after.SamplingDaily != nil || after.FlagKeys[3].Value != nil {
			t.Errorf("after %s: %s", body, encode(t, after))
		}
		if made := w.surveyFlags(); len(made) != 1 {
			t.Errorf("after %s there are %d flags, want the internal one", body, len(made))
		}
		w.ok(w.Delete(t.Context(), w.as(w.ada), refOf(w.web), view.ID.String()))
	}
}

// Without Data nobody has answered; iterations and days pass all the same.
func TestKeepSurveysWithoutData(t *testing.T) {
	w := newWorld(t)
	id := w.survey(`{"start_date":` + date(0) + `,"iteration_count":3,"iteration_frequency_days":7,"responses_limit":1,` + sampling + `}`).ID
	w.clock.advance(8 * aDay)
	w.keep()
	if got, want := iterations(w.storedSurvey(id)), "[0 7 14] 2 since 7"; got != want {
		t.Errorf("iterations: %s, want %s", got, want)
	}
	if got := w.plan(id); !strings.HasSuffix(got, "from 11.03.00:00: 28.57") {
		t.Errorf("sampling: %s", got)
	}
}

// KeepSurveys changes nothing that is as it should be, and tells of what it changes
// once.
func TestKeepSurveysAgain(t *testing.T) {
	var told []int64
	w := newWorld(t)
	w.survey(`{"start_date":` + date(0) + `,"iteration_count":3,"iteration_frequency_days":7,` + sampling + `,"targeting_flag_filters":` + byPlan + `}`)
	w.survey(`{"start_date":` + date(0) + `,"responses_limit":5}`)
	w = w.another(func(c *config) {
		c.management.Catalog = toldCatalog{&told}
	})
	for _, d := range []time.Duration{0, time.Hour, aDay, 5 * aDay, aDay, 9 * aDay, 30 * aDay} {
		w.clock.advance(d)
		before := w.surveyState()
		told = nil
		w.keep()
		after, entries := w.surveyState(), len(w.activities())
		if changed := !cmp.Equal(before, after, same); changed != (len(told) == 1 && told[0] == w.web.ID) || len(told) > 1 {
			t.Errorf("after %s: projects %v have changed, want it to be said: %t", d, told, changed)
		}
		told = nil
		w.clock.advance(time.Second)
		w.keep()
		if diff := cmp.Diff(after, w.surveyState(), same); diff != "" || len(w.activities()) != entries || told != nil {
			t.Errorf("after %s, a second later (-first +second)\n%s\n%d entries more, told %v", d, diff, len(w.activities())-entries, told)
		}
	}
}

// Data in which something happens while responses are counted.
type meddling struct {
	surveys.EventStore
	count func(surveys.Query) error
}

func (m *meddling) CountResponses(ctx context.Context, q surveys.Query) (map[uuid.UUID]int, error) {
	if m.count != nil {
		if err := m.count(q); err != nil {
			return nil, err
		}
	}
	return m.EventStore.CountResponses(ctx, q)
}

func meddle(m *meddling) func(*config) {
	return func(c *config) {
		c.events = func(e surveys.EventStore) surveys.EventStore { m.EventStore = e; return m }
	}
}

// What somebody does to a survey while its responses are counted counts more.
func TestKeepSurveysMeanwhile(t *testing.T) {
	const limits = `{"start_date":"2026-03-04T00:00:00Z","responses_limit":2,"response_sampling_start_date":"2026-03-04T00:00:00Z","response_sampling_interval":1,"response_sampling_limit":100}`
	for _, tt := range []struct {
		name string
		do   func(w *world, id uuid.UUID)
		want func(t *testing.T, w *world, v *surveys.Survey)
	}{
		{
			"deleted", func(w *world, id uuid.UUID) {
				w.ok(w.Delete(w.t.Context(), w.as(w.ada), refOf(w.web), id.String()))
			}, nil,
		},
		{
			"archived", func(w *world, id uuid.UUID) { w.change(id, `{"archived":true}`) },
			func(t *testing.T, w *world, v *surveys.Survey) {
				if v.End != nil || !v.Archived {
					t.Errorf("survey: %+v", v)
				}
			},
		},
		{
			"stopped", func(w *world, id uuid.UUID) { w.change(id, `{"end_date":"2026-03-04T01:00:00Z"}`) },
			func(t *testing.T, w *world, v *surveys.Survey) {
				if v.ResponsesLimit == nil || v.End.Hour() != 1 {
					t.Errorf("survey: %+v", v)
				}
			},
		},
		{
			"another limit", func(w *world, id uuid.UUID) { w.change(id, `{"responses_limit":4}`) },
			func(t *testing.T, w *world, v *surveys.Survey) {
				if v.End != nil || *v.ResponsesLimit != 4 {
					t.Errorf("survey: %+v", v)
				}
			},
		},
		{
			"a lower limit", func(w *world, id uuid.UUID) { w.change(id, `{"responses_limit":1}`) },
			func(t *testing.T, w *world, v *surveys.Survey) {
				if v.End == nil || v.ResponsesLimit != nil {
					t.Errorf("survey: %+v", v)
				}
			},
		},
		{
			"no limit", func(w *world, id uuid.UUID) { w.change(id, `{"responses_limit":null}`) },
			func(t *testing.T, w *world, v *surveys.Survey) {
				if v.End != nil {
					t.Errorf("survey: %+v", v)
				}
				if got := w.plan(v.ID); !strings.HasSuffix(got, ": 14.29") {
					t.Errorf("sampling: %s", got)
				}
			},
		},
		{
			"another plan", func(w *world, id uuid.UUID) {
				w.change(id, `{"responses_limit":null,"response_sampling_start_date":"2026-03-04T04:00:00Z"}`)
			},
			func(t *testing.T, w *world, v *surveys.Survey) {
				if got := w.plan(v.ID); !strings.HasSuffix(got, "04:00: 100") { // of which nothing is counted yet
					t.Errorf("sampling: %s", got)
				}
				w.keep()
				if got := w.plan(v.ID); !strings.HasSuffix(got, "04:00: 14.29") {
					t.Errorf("sampling, the next time: %s", got)
				}
			},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			data := new(meddling)
			w := newWorld(t, meddle(data))
			id := w.survey(limits).ID
			w.answer(id, 1)
			w.clock.advance(time.Minute)
			once := sync.OnceFunc(func() {
				w.answer(id, 1)
				tt.do(w, id)
			})
			data.count = func(surveys.Query) error {
				once()
				return nil
			}
			w.keep()
			if tt.want == nil {
				if made := w.surveyFlags(); len(made) != 0 {
					t.Errorf("flags of a deleted survey: %+v", made)
				}
				return
			}
			tt.want(t, w, w.storedSurvey(id))
			w.checkSurvey(w.storedSurvey(id))
		})
	}
}

// A survey that cannot be kept does not stop the others, and is named.
func TestKeepSurveysFails(t *testing.T) {
	data := new(meddling)
	w := newWorld(t, meddle(data))
	var ids []uuid.UUID
	for range 3 {
		id := w.survey(`{"start_date":` + date(0) + `,"responses_limit":1}`).ID
		ids = append(ids, id)
		w.answer(id, 1)
	}
	data.count = func(q surveys.Query) error {
		if q.Surveys[0] == ids[1] {
			return errBroken
		}
		return nil
	}
	err := w.Keep(t.Context())
	if !errors.Is(err, errBroken) || !strings.Contains(err.Error(), ids[1].String()) || strings.Contains(err.Error(), ids[0].String()) {
		t.Errorf("KeepSurveys = %v, want the failure of %s", err, ids[1])
	}
	for i, id := range ids {
		if ended := w.storedSurvey(id).End != nil; ended != (i != 1) {
			t.Errorf("survey %d has ended: %t", i, ended)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := w.Keep(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("KeepSurveys without time = %v", err)
	}
}

// Several processes that keep surveys at once do what one does.
func TestKeepSurveysTogether(t *testing.T) {
	w := newWorld(t)
	for range 5 {
		w.answer(w.survey(`{"start_date":`+date(0)+`,"responses_limit":2}`).ID, 2)
		w.survey(`{"start_date":` + date(0) + `,"iteration_count":5,"iteration_frequency_days":1,` + sampling + `}`)
	}
	w.clock.advance(30 * time.Hour)
	entries := len(w.activities())
	var wg sync.WaitGroup
	for range 8 {
		other := w.another()
		wg.Go(func() {
			if err := other.Keep(t.Context()); err != nil {
				t.Errorf("KeepSurveys = %v", err)
			}
		})
	}
	wg.Wait()
	if n := len(w.activities()) - entries; n != 10 {
		t.Errorf("%d entries in the activity log, want one for each survey", n)
	}
	for _, f := range w.surveyFlags() {
		if want := 2; f.Version != want {
			t.Errorf("flag %s of kind %d has version %d, want %d", f.Key, f.Kind, f.Version, want)
		}
	}
}

// Whatever is done to a survey, and whenever somebody looks: what holds for a survey
// holds, the schedule is the same as without pauses, and looking twice is like
// looking once.
func TestKeepSurveysAtRandom(t *testing.T) {
	for seed := range uint64(fulltest.Count(8, 40)) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 0))
			w := newWorld(t)
			keeper := w.another()
			id := w.survey(`{}`).ID
			var steps []string
			for range 40 {
				body := randomChange(r, w)
				switch r.IntN(6) {
				case 0:
					w.answer(id, r.IntN(4))
					steps = append(steps, "responses")
				case 1, 2, 3:
					if _, err := w.tryChange(id, body); err != nil {
						if _, refused := errors.AsType[*management.Error](err); !refused {
							t.Fatalf("after %s: %s: %v", steps, body, err)
						}
						body = "refused " + body
					}
					steps = append(steps, body)
					w.checkSurvey(w.storedSurvey(id))
				default:
					d := time.Duration(r.Int64N(int64(9 * aDay)))
					if r.IntN(3) == 0 {
						d = w.nextBorder(id)
					}
					w.clock.advance(d)
					keeper.keep()
					steps = append(steps, d.String())
					keeper.checkKept(id)
				}
				if t.Failed() {
					t.Fatalf("after %s", strings.Join(steps, "\n"))
				}
			}
		})
	}
}

// nextBorder returns how long it is until an iteration begins or is over.
func (w *world) nextBorder(id uuid.UUID) time.Duration {
	for _, s := range w.storedSurvey(id).IterationStarts {
		if d := s.Sub(w.clock.Now()); d > 0 {
			return d
		}
	}
	return 0
}

func randomChange(r *rand.Rand, w *world) string {
	days := func() string {
		return `"` + w.clock.Now().Add(time.Duration(r.IntN(40)-20)*aDay/2).Format(time.RFC3339Nano) + `"`
	}
	return []func() string{
		func() string { return `{"start_date":` + days() + `}` },
		func() string { return `{"start_date":` + days() + `,"end_date":null,"archived":false}` },
		func() string { return `{"start_date":null}` },
		func() string { return `{"end_date":null}` },
		func() string { return `{"end_date":` + days() + `}` },
		func() string { return fmt.Sprintf(`{"archived":%t}`, r.IntN(2) == 0) },
		func() string {
			return fmt.Sprintf(`{"iteration_count":%d,"iteration_frequency_days":%d}`, r.IntN(6), r.IntN(10))
		},
		func() string { return fmt.Sprintf(`{"iteration_count":%d}`, r.IntN(6)) },
		func() string { return fmt.Sprintf(`{"iteration_frequency_days":%d}`, r.IntN(10)) },
		func() string { return `{"iteration_count":null}` },
		func() string { return fmt.Sprintf(`{"responses_limit":%d}`, r.IntN(30)) },
		func() string {
			return fmt.Sprintf(`{"response_sampling_start_date":"%s","response_sampling_interval_type":"day","response_sampling_interval":%d,"response_sampling_limit":%d}`,
				w.clock.Now().Add(time.Duration(r.IntN(3))*aDay).Format(time.RFC3339), 1+r.IntN(9), r.IntN(20))
		},
		func() string { return `{"response_sampling_limit":0}` },
		func() string { return fmt.Sprintf(`{"conditions":{"seenSurveyWaitPeriodInDays":%d}}`, r.IntN(3)) },
		func() string { return `{"targeting_flag_filters":` + byPlan + `}` },
		func() string { return `{"remove_targeting_flag":true}` },
		func() string { return fmt.Sprintf(`{"name":"S%d"}`, r.IntN(3)) },
	}[r.IntN(17)]()
}

// checkKept checks what holds for a survey that somebody has just looked at.
func (w *world) checkKept(id uuid.UUID) {
	w.t.Helper()
	v, now := w.storedSurvey(id), w.clock.Now()
	w.checkSurvey(v)
	if !w.storedFlag(v.InternalFlag).Active {
		return
	}
	// An active survey is in the iteration that the time is in, by the words of
	// management.md §9.8, and not behind the last.
	if len(v.IterationStarts) > 0 {
		length := time.Duration(*v.IterationDays) * aDay
		current := slices.IndexFunc(v.IterationStarts, func(s time.Time) bool { return !now.Before(s) && now.Sub(s) <= length })
		if last := v.IterationStarts[len(v.IterationStarts)-1]; now.After(last.Add(length)) {
			w.t.Errorf("at %s a survey is active whose last iteration began on %s for %s", now, last, length)
		}
		if current >= 0 && *v.CurrentIteration != current+1 {
			w.t.Errorf("at %s iteration %d goes on, want %d: %s", now, *v.CurrentIteration, current+1, iterations(v))
		}
	}
	if v.ResponsesLimit != nil {
		counts := must(w.store.CountResponses(w.t.Context(), surveys.Query{Project: v.Project, Surveys: []uuid.UUID{id}, From: &v.Created}))(w.t)
		if counts[id] >= *v.ResponsesLimit {
			w.t.Errorf("a survey is active with %d of %d responses", counts[id], *v.ResponsesLimit)
		}
	}
	// Of sampling the cycle is not over.
	if v.SamplingDaily != nil {
		days := decode[[]struct{ Date time.Time }](w.t, string(v.SamplingDaily))
		if last := days[len(days)-1].Date.Truncate(aDay); last.Before(now.Truncate(aDay)) {
			w.t.Errorf("at %s a cycle of sampling goes on that ended on %s", now, last)
		}
	}
	before, entries := w.surveyState(), len(w.activities())
	w.keep()
	if diff := cmp.Diff(before, w.surveyState(), same); diff != "" || len(w.activities()) != entries {
		w.t.Errorf("looking twice (-first +second)\n%s", diff)
	}
}

// Run looks at surveys at once, every ten minutes, and ten seconds after the first
// of several responses or changes.
func TestRunKeepsSurveys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		looks := make(chan time.Duration, 100)
		data := &meddling{count: func(surveys.Query) error {
			looks <- time.Since(begun)
			return nil
		}}
		w := newWorld(t, meddle(data))
		id := w.survey(`{"start_date":` + date(0) + `,"responses_limit":5}`).ID
		sink := w.Sink(w.store)
		sent := func() {
			w.ok(sink.Write(t.Context(), []capture.Event{captured(w.web, "survey sent", id, "d", begin, `{}`)}))
		}
		check := func(what string, want ...time.Duration) {
			t.Helper()
			synctest.Wait()
			var got []time.Duration
			for range len(looks) {
				got = append(got, <-looks)
			}
			if diff := cmp.Diff(want, got, same); diff != "" {
				t.Errorf("%s (-want +got)\n%s", what, diff)
			}
		}
		stop := w.run()
		check("at once", 0)
		time.Sleep(25 * time.Minute)
		check("every ten minutes", 10*time.Minute, 20*time.Minute)
		sent()
		time.Sleep(9 * time.Second)
		sent()
		check("not at once")
		time.Sleep(time.Second)
		check("ten seconds after the first response", 25*time.Minute+10*time.Second)
		time.Sleep(20 * time.Second)
		check("the second response was among them")
		w.change(id, `{"name":"other"}`)
		time.Sleep(9*time.Minute + 55*time.Second)
		check("ten seconds after a change", 25*time.Minute+40*time.Second)
		sent() // 15 seconds before it is time anyhow
		time.Sleep(10 * time.Minute)
		check("ten minutes count anew", 35*time.Minute+35*time.Second)
		stop()
		time.Sleep(time.Hour)
		check("after the end")
		if log := w.log.String(); log != "" {
			t.Errorf("log %s", log)
		}
	})
}

// A failure is logged, and the next time is as usual.
func TestRunKeepsSurveysAfterFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var works atomic.Bool
		w := newWorld(t, meddle(&meddling{count: func(surveys.Query) error {
			if works.Load() {
				return nil
			}
			return errBroken
		}}))
		id := w.survey(`{"start_date":` + date(0) + `,"responses_limit":1}`).ID
		w.answer(id, 1)
		stop := w.run()
		synctest.Wait()
		if log := w.log.String(); !strings.Contains(log, `level=ERROR msg="the schedule of surveys is behind" error="survey `+id.String()+`: broken"`) {
			t.Errorf("log %s", log)
		}
		works.Store(true)
		time.Sleep(11 * time.Minute)
		if w.storedSurvey(id).End == nil {
			t.Error("the survey has not ended")
		}
		stop()
	})
}

// A leader that is another process does the work.
func TestRunKeepsSurveysByOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var looks atomic.Int64
		data := &meddling{count: func(surveys.Query) error {
			looks.Add(1)
			return nil
		}}
		w := newWorld(t, meddle(data), func(c *config) { c.Leader = c.management.Store.(sqlstore.Storage) })
		w.survey(`{"start_date":` + date(0) + `,"responses_limit":1}`)
		free := make(chan struct{})
		go w.store.Lead(t.Context(), "surveys", func(context.Context) error {
			<-free
			return nil
		})
		synctest.Wait()
		stop := w.run()
		time.Sleep(59 * time.Minute)
		if n := looks.Load(); n != 0 {
			t.Errorf("a process that does not lead looks %d times", n)
		}
		close(free)
		time.Sleep(time.Hour)
		if n := looks.Load(); n != 6 {
			t.Errorf("a process that leads looks %d times in an hour", n)
		}
		stop()
	})
}
