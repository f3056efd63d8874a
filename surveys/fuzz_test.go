package surveys_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/management/optional"
	"github.com/flagstaff-go/flagstaff/surveys"
)

// Whatever is sent, a survey is made and changed or it is said what is wrong; what
// is shown of it can be sent back, and clients get JSON.
func FuzzSurveyPatch(f *testing.F) {
	for _, body := range []string{
		`{}`, `{"name":"x"}`, `{"type":"external_survey"}`, `{"schedule":null,"archived":"on","start_date":"2026-03-04T00:00:00Z"}`,
		`{"questions":[` + rating + `],"conditions":{"seenSurveyWaitPeriodInDays":3},"appearance":{"shuffleQuestions":true}}`,
		`{"start_date":"2026-03-01T00:00:00Z","iteration_count":3,"iteration_frequency_days":7}`,
		`{"start_date":"9999-12-31T00:00:00Z","iteration_count":500,"iteration_frequency_days":365}`,
		`{"start_date":"2026-03-01T00:00:00Z","responses_limit":0,` + sampling + `}`,
		`{"targeting_flag_filters":` + byPlan + `,"start_date":"2026-03-01T00:00:00Z"}`, `{"targeting_flag_filters":` + everyone + `}`,
		`{"linked_flag_id":1,"conditions":{"linkedFlagVariant":"any"}}`, `{"targeting_flag_id":1}`, `{"remove_targeting_flag":true}`,
		`{"base_language":"de","translations":{"fr":{"name":"N"}},"form_content":[1e400]}`,
		`{"response_sampling_start_date":"9999-01-01T00:00:00Z","response_sampling_interval":365,"response_sampling_limit":9}`,
		`{"name":1,"description":-1.5e3,"responses_limit":1e1}`, `{"conditions":null,"questions":null,"end_date":null}`,
	} {
		f.Add(body, body)
	}
	f.Fuzz(func(t *testing.T, first, second string) {
		var create, update surveys.Patch
		if json.Unmarshal([]byte(first), &create) != nil || json.Unmarshal([]byte(second), &update) != nil {
			return
		}
		w := newWorld(t)
		w.storeFlag(w.web, "first", byPlan)
		if !create.Name.Set {
			create.Name = optional.Of("Survey")
		}
		if !create.Type.Set {
			create.Type = optional.Of("popover")
		}
		check := func(call string, view *surveys.View, err error) bool {
			t.Helper()
			if said := fault(err); said != "" && !strings.HasPrefix(said, "invalid ") {
				t.Fatalf("%s: %s", call, said)
			}
			if err != nil {
				return false
			}
			v := w.storedSurvey(view.ID)
			w.checkSurvey(v)
			if public := must(surveys.Public(v, map[int64]string{1: "first"}))(t); !json.Valid(public) {
				t.Errorf("%s: clients get %s", call, public)
			}
			before := w.surveyState()
			back := decode[surveys.Patch](t, encode(t, view))
			if again, err := w.Update(t.Context(), w.as(w.ada), refOf(w.web), view.ID.String(), back); err != nil || !cmp.Equal(view, again, same) {
				t.Errorf("%s: sent back: %v\n%s", call, err, cmp.Diff(view, again, same))
			}
			if diff := cmp.Diff(before, w.surveyState(), same); diff != "" {
				t.Errorf("%s: sent back (-before +after)\n%s", call, diff)
			}
			w.keep()
			w.checkSurvey(w.storedSurvey(view.ID))
			return true
		}
		view, err := w.Create(t.Context(), w.as(w.ada), refOf(w.web), create)
		if !check("CreateSurvey", view, err) {
			return
		}
		w.clock.advance(aDay)
		view, err = w.Update(t.Context(), w.as(w.ada), refOf(w.web), view.ID.String(), update)
		check("UpdateSurvey", view, err)
	})
}

// Parameters are read or refused, and nothing else.
func FuzzSurveyQueries(f *testing.F) {
	f.Add("2026-03-04T05:06:07Z", "2026-03-04 05:06", "1", "500", "0")
	f.Add("2026-03-04", "9999-12-31T23:59:59.999999999-23:59", "-0x1p-2", "", "")
	f.Add("2026-03-04T05:06:07 02:00", "", "1e999", "1_0", "+5")
	f.Fuzz(func(t *testing.T, from, to, score, limit, offset string) {
		w := newWorld(t)
		id := w.survey(`{` + threeQuestions + `}`).ID
		w.answer(id, 1)
		_, err := w.Stats(t.Context(), w.as(w.ada), refOf(w.web), id.String(), surveys.StatsQuery{From: from, To: to})
		if said := fault(err); said != "" && said != "invalid invalid_input" {
			t.Errorf("SurveyStats from %q to %q: %s", from, to, said)
		}
		q := surveys.ResponseQuery{Since: from, Until: to, QuestionID: "rate", Least: score, Limit: limit, Offset: offset}
		_, err = w.Responses(t.Context(), w.as(w.ada), refOf(w.web), id.String(), q)
		if said := fault(err); said != "" && !strings.HasPrefix(said, "invalid invalid_input") {
			t.Errorf("SurveyResponses of %+v: %s", q, said)
		}
		_, err = w.Summarize(t.Context(), w.as(w.ada), refOf(w.web), id.String(), surveys.SummaryQuery{QuestionID: score, QuestionIndex: limit})
		if said := fault(err); said != "" && said != "invalid invalid_input" {
			t.Errorf("SummarizeResponses of %q, %q: %s", score, limit, said)
		}
		if _, err = w.Survey(t.Context(), w.as(w.ada), refOf(w.web), from); from != id.String() && fault(err) != "not found not_found" {
			t.Errorf("Survey %q: %v", from, err)
		}
		if err = w.ArchiveResponse(t.Context(), w.as(w.ada), refOf(w.web), id.String(), to); err != nil && uuid.Validate(to) == nil && len(to) == 36 {
			t.Errorf("ArchiveResponse %q: %v", to, err)
		}
	})
}
