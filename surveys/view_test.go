package surveys_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/management/storage"
	"github.com/flagstaff-go/flagstaff/surveys"
)

// fullSurvey makes a survey that has everything.
func (w *world) fullSurvey() *surveys.View {
	w.t.Helper()
	linked := w.storeFlag(w.web, "linked", abTest)
	return w.survey(fmt.Sprintf(`{"name":"NPS Q1","description":"for us","schedule":"recurring","linked_flag_id":%d,"targeting_flag_filters":%s,
		"questions":[{"id":"q1","type":"rating","question":"How likely are you to recommend us?","display":"number","scale":10}],
		"conditions":{"url":"/pricing","linkedFlagVariant":"test","seenSurveyWaitPeriodInDays":14,
			"actions":{"values":[{"id":5,"name":"Clicked","steps":[],"created_by":{"email":"ada@example.com"}}]}},
		"appearance":{"backgroundColor":"#eeeded"},"start_date":"2026-03-03T00:00:00Z","responses_limit":500,
		"iteration_count":2,"iteration_frequency_days":7,"response_sampling_start_date":"2026-03-05T00:00:00Z","response_sampling_interval_type":"day",
		"response_sampling_interval":2,"response_sampling_limit":100,"enable_partial_responses":true,"base_language":"de",
		"translations":{"fr":{"name":"NPS F","thankYouMessageHeader":"Merci","introScreenHeader":"Bonjour"}},"form_content":{"layout":1}}`, linked.ID, byPlan))
}

// management.md §9.10: the read representation, the same everywhere.
func TestSurveyView(t *testing.T) {
	w := newWorld(t)
	plain := w.survey(`{"name":"Plain","type":"api"}`)
	checkGolden(t, "plain.json", indented(t, plain))
	full := w.fullSurvey()
	checkGolden(t, "full.json", indented(t, full))

	// The author is gone.
	w.ok(w.store.Users().Delete(t.Context(), storage.UserID.Is(w.ada.ID)))
	view := must(w.Survey(t.Context(), w.as(w.ben), refOf(w.web), full.ID.String()))(t)
	if view.CreatedBy != nil || view.CreatedAt.IsZero() {
		t.Errorf("created by %+v at %s", view.CreatedBy, view.CreatedAt)
	}
}

// management.md §12: what clients get.
func TestPublicSurvey(t *testing.T) {
	w := newWorld(t)
	keys := func() map[int64]string {
		keys := make(map[int64]string)
		for _, f := range must(w.store.CalledFlags(t.Context(), w.web.ID))(t) {
			keys[f.ID] = f.Key
		}
		return keys
	}
	for name, view := range map[string]*surveys.View{
		"plain_public.json": w.survey(`{"name":"Plain","type":"api"}`), "full_public.json": w.fullSurvey(),
	} {
		public := must(surveys.Public(w.storedSurvey(view.ID), keys()))(t)
		checkGolden(t, name, indented(t, public))
	}
}

// A survey that refers to a flag which clients do not know is not one without the
// flag: nobody would be left out.
func TestPublicSurveyOfDeletedFlag(t *testing.T) {
	id := int64(12)
	for _, v := range []surveys.Survey{{LinkedFlag: &id}, {TargetingFlag: &id}, {InternalFlag: &id}, {SamplingFlag: &id}} {
		public := string(must(surveys.Public(&v, map[int64]string{11: "a"}))(t))
		if !strings.Contains(public, `"deleted flag 12"`) { // no key has blanks (§13.3)
			t.Errorf("clients get %s", public)
		}
	}
}

// management.md §12: whatever is private of a survey, clients do not see it, nor
// what comes to surveys later without being thought of here.
func TestPublicSurveyLeaksNothing(t *testing.T) {
	public := []string{
		"ID", "Name", "Type", "Schedule", "LinkedFlag", "TargetingFlag", "InternalFlag", "SamplingFlag", "Questions", "Conditions", "Appearance",
		"Translations", "BaseLanguage", "Start", "End", "CurrentIteration", "IterationStart", "PartialResponses",
	}
	var v surveys.Survey
	fields := reflect.ValueOf(&v).Elem()
	for i := range fields.NumField() {
		name := fields.Type().Field(i).Name
		marker := "marker" + name
		switch f := fields.Field(i).Addr().Interface().(type) {
		case *string:
			*f = marker
		case **string:
			*f = &marker
		case *json.RawMessage:
			*f = json.RawMessage(`{"` + marker + `":{"name":"` + marker + `"}}`)
		case *int:
			*f = 700_000 + i
		case *int64:
			*f = 700_000 + int64(i)
		case **int:
			*f = new(700_000 + i)
		case **int64:
			*f = new(700_000 + int64(i))
		case *uuid.UUID:
			*f = uuid.New()
		case *time.Time:
			*f = begin.AddDate(i, 0, 0)
		case **time.Time:
			*f = new(begin.AddDate(i, 0, 0))
		case *[]time.Time:
			*f = []time.Time{begin.AddDate(i, 0, 0)}
		case *bool, **bool:
		default:
			t.Fatalf("Survey.%s has the type %T, for which there is no marker", name, f)
		}
	}
	got := string(must(surveys.Public(&v, map[int64]string{*v.LinkedFlag: "markerLinkedFlag"}))(t))
	for i := range fields.NumField() {
		name := fields.Type().Field(i).Name
		if slices.Contains(public, name) {
			continue
		}
		for _, mark := range []string{"marker" + name, fmt.Sprint(700_000 + i), begin.AddDate(i, 0, 0).Format(time.DateOnly)} {
			if strings.Contains(got, mark+`"`) || strings.Contains(got, mark+"T") || strings.Contains(got, mark+",") {
				t.Errorf("clients see Survey.%s: %s", name, got)
			}
		}
	}
	members := decode[map[string]any](t, got)
	for _, name := range []string{"description", "created_by", "created_at", "responses_limit", "archived", "form_content", "headline", "summaries"} {
		if _, ok := members[name]; ok {
			t.Errorf("clients see %s: %s", name, got)
		}
	}
}
