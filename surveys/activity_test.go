package surveys_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// management.md §11.7: the activity log of surveys as it is shown, from the first
// entry to the last, with the system's.
func TestSurveyActivity(t *testing.T) {
	w := newWorld(t)
	ordinary := w.storeFlag(w.web, "ordinary", byPlan)
	id := w.fullSurvey().ID
	response := uuid.NewString()
	for _, body := range []string{
		`{}`, `{"name":"NPS Q1","conditions":{"url":"/pricing","linkedFlagVariant":"test","seenSurveyWaitPeriodInDays":14,"actions":{"values":[]}}}`,
		`{"name":"NPS Q2","description":""}`, `{"targeting_flag_filters":` + byCountry + `}`, `{"remove_targeting_flag":true}`,
		`{"targeting_flag_id":` + encode(t, ordinary.ID) + `}`, `{"form_content":null,"translations":{},"responses_limit":0}`, `{"form_content":{},"translations":null}`,
		`{"response_sampling_limit":0}`, `{"iteration_count":3}`, `{"linked_flag_id":null,"conditions":null,"end_date":"2026-12-01T00:00:00Z"}`,
	} {
		w.clock.advance(aDay)
		w.change(id, body)
	}
	p, project := w.as(w.ben), refOf(w.web)
	for _, f := range []func() error{
		func() error { return second(w.Stop(t.Context(), p, project, id.String())) },
		func() error { return second(w.Stop(t.Context(), p, project, id.String())) },
		func() error { return second(w.tryChange(id, `{"end_date":null,"start_date":null}`)) },
		func() error { return second(w.Launch(t.Context(), p, project, id.String())) },
		func() error { return w.ArchiveResponse(t.Context(), p, project, id.String(), response) },
		func() error { return w.ArchiveResponse(t.Context(), p, project, id.String(), response) },
		func() error { return w.UnarchiveResponse(t.Context(), p, project, id.String(), response) },
		func() error { return w.UnarchiveResponse(t.Context(), p, project, id.String(), response) },
	} {
		w.clock.advance(aDay)
		w.ok(f())
	}
	w.clock.advance(100 * aDay)
	w.keep()
	w.ok(w.Delete(t.Context(), p, project, id.String()))

	page := must(w.management.ListActivity(t.Context(), w.as(w.ada), project, management.ActivityQuery{Scope: "Survey", ItemID: id.String(), Page: 1, Limit: 100}))(t)
	var all strings.Builder
	for _, a := range slices.Backward(page.Items) {
		all.WriteString(a.CreatedAt.Format("02.01.2006 ") + a.User.FirstName + " " + a.Activity + ": " + a.Detail.Name + "\n")
		for _, c := range a.Detail.Changes {
			all.WriteString("  " + c.Type + " " + c.Action + " " + c.Field + ": " + string(c.Before) + " -> " + string(c.After) + "\n")
		}
	}
	checkGolden(t, "activity.txt", all.String())
	checkGolden(t, "activity.json", indented(t, page.Items[len(page.Items)-3:]))
}

// What is logged of a survey is all of it that people can change.
func TestSurveyActivityKnowsAllFields(t *testing.T) {
	w := newWorld(t)
	entries := func() []management.ActivityChange {
		return decode[management.ActivityDetail](t, string(w.activities()[0].Detail)).Changes
	}
	linked := w.storeFlag(w.web, "linked", everyone)
	for field, value := range map[string]string{
		"name": `"x"`, "description": `"x"`, "type": `"api"`, "schedule": `"always"`, "linked_flag_id": encode(t, linked.ID), "questions": `[{"id":"q","type":"open","question":"?"}]`,
		"conditions": `{"url":"/"}`, "appearance": `{"position":"left"}`, "start_date": `"2026-03-03T00:00:00Z"`, "end_date": `"2026-03-03T00:00:00Z"`, "archived": `true`,
		"responses_limit": `5`, "iteration_count": `5`, "iteration_frequency_days": `5`, "response_sampling_start_date": `"2026-03-05T00:00:00Z"`,
		"response_sampling_interval_type": `"month"`, "response_sampling_interval": `5`, "response_sampling_limit": `0`, "enable_partial_responses": `true`,
		"enable_iframe_embedding": `true`, "base_language": `"fr"`, "translations": `{"fr":{"name":"x"}}`, "form_content": `{"x":1}`,
	} {
		id := w.survey(`{}`).ID
		w.change(id, `{"`+field+`":`+value+`}`)
		i := slices.IndexFunc(entries(), func(c management.ActivityChange) bool { return c.Field == field })
		if i < 0 {
			t.Errorf("a change of %s is logged as %+v", field, entries())
			continue
		}
		if got, want := encode(t, decode[any](t, string(entries()[i].After))), encode(t, decode[any](t, value)); got != want {
			t.Errorf("a change of %s to %s is logged as one to %s", field, want, got)
		}
	}
}

// management.md §11.7, R: no change without its entry, by the system neither.
func TestSurveyActivityOfSchedule(t *testing.T) {
	broken := false
	w := newWorld(t, alter(&altered{addActivity: func(s storage.Store, ctx context.Context, entries ...*storage.Activity) error {
		if broken {
			return errBroken
		}
		return s.AddActivity(ctx, entries...)
	}}))
	id := w.survey(`{"start_date":` + date(0) + `,"iteration_count":1,"iteration_frequency_days":7}`).ID
	w.clock.advance(9 * aDay)
	before := w.surveyState()
	broken = true
	if err := w.Keep(t.Context()); !errors.Is(err, errBroken) {
		t.Errorf("KeepSurveys without an activity log = %v", err)
	}
	if diff := cmp.Diff(before, w.surveyState(), same); diff != "" {
		t.Errorf("it has changed something (-before +after)\n%s", diff)
	}
	broken = false
	w.keep()
	if w.storedSurvey(id).End == nil || !w.activities()[0].System {
		t.Errorf("a survey that is over: %+v, %+v", w.storedSurvey(id), w.activities()[0])
	}
}
