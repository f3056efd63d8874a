package surveys_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/management/optional"
	"github.com/flagstaff-go/flagstaff/management/storage"
	"github.com/flagstaff-go/flagstaff/surveys"
)

// field returns a member of a view as JSON.
func field(t testing.TB, view any, name string) string {
	t.Helper()
	return string(decode[map[string]json.RawMessage](t, encode(t, view))[name])
}

const rating = `{"id":"q1","type":"rating","question":"How likely?","scale":10,"display":"number"}`

// management.md §9.1: defaults, what each field takes, and how it is shown then.
func TestSurveyFieldsAccept(t *testing.T) {
	const before = `{"name":"NPS","description":"internal","schedule":"recurring","questions":[` + rating + `],"conditions":{"url":"/"},` +
		`"appearance":{"position":"left"},"start_date":"2026-03-01T00:00:00Z","responses_limit":5,"base_language":"de",` +
		`"translations":{"fr":{"name":"NPS F"}},"form_content":{"a":1}}`
	for _, tt := range []struct {
		body        string
		field, want string // of the view
	}{
		{`{"name":"  NPS 2 "}`, "name", `"NPS 2"`},
		{`{"name":"` + chars(400) + `"}`, "name", `"` + chars(400) + `"`},
		{`{"name":7}`, "name", `"7"`},
		{`{"description":""}`, "description", `""`},
		{`{"description":"<b>as it is</b>"}`, "description", `"\u003cb\u003eas it is\u003c/b\u003e"`},
		{`{"type":"widget"}`, "type", `"widget"`},
		{`{"type":"api"}`, "type", `"api"`},
		{`{"schedule":"always"}`, "schedule", `"always"`},
		{`{"schedule":null}`, "schedule", `null`},
		{`{"linked_flag_id":null}`, "linked_flag_id", `null`},
		{`{"linked_insight_id":null}`, "linked_insight_id", `null`},
		{`{"targeting_flag_id":null}`, "targeting_flag", `null`},
		{`{"targeting_flag_filters":null}`, "targeting_flag", `null`},
		{`{"remove_targeting_flag":true}`, "targeting_flag", `null`},
		{`{"remove_targeting_flag":null}`, "targeting_flag", `null`},
		{`{"questions":null}`, "questions", `null`},
		{`{"questions":[]}`, "questions", `[]`},
		{`{"questions":[{"id":"q","type":"open","question":"Why <script>x</script><b>not</b>?"}]}`, "questions", `[{"id":"q","type":"open","question":"Why \u003cb\u003enot\u003c/b\u003e?"}]`},
		{`{"conditions":null}`, "conditions", `null`},
		{`{"conditions":{}}`, "conditions", `{}`},
		{`{"conditions":{"actions":{"values":[{"id":5,"x":[]}]}}}`, "conditions", `{"actions":{"values":[{"id":5,"x":[]}]}}`},
		{`{"appearance":null}`, "appearance", `null`},
		{`{"appearance":{"whiteLabel":true,"x":1}}`, "appearance", `{"whiteLabel":true,"x":1}`},
		{`{"start_date":null}`, "start_date", `null`},
		{`{"start_date":"2026-03-02T10:00:00+02:00"}`, "start_date", `"2026-03-02T08:00:00Z"`},
		{`{"start_date":"2026-03-02T10:00:00.1234567Z"}`, "start_date", `"2026-03-02T10:00:00.123456Z"`},
		{`{"start_date":"2026-03-02T10:00"}`, "start_date", `"2026-03-02T10:00:00Z"`},
		{`{"end_date":"9999-12-31T23:59:59Z"}`, "end_date", `"9999-12-31T23:59:59Z"`},
		{`{"end_date":"0001-01-01T00:00:00Z"}`, "end_date", `"0001-01-01T00:00:00Z"`},
		{`{"archived":"yes"}`, "archived", `true`},
		{`{"responses_limit":0}`, "responses_limit", `0`},
		{`{"responses_limit":null}`, "responses_limit", `null`},
		{`{"responses_limit":2147483647}`, "responses_limit", `2147483647`},
		{`{"iteration_count":500,"iteration_frequency_days":365}`, "iteration_count", `500`},
		{`{"iteration_count":0,"iteration_frequency_days":0}`, "iteration_start_dates", `[]`},
		{`{"iteration_count":null,"iteration_frequency_days":null}`, "iteration_start_dates", `[]`},
		{`{"response_sampling_start_date":"2026-03-04T00:00:00Z"}`, "response_sampling_start_date", `"2026-03-04T00:00:00Z"`},
		{`{"response_sampling_interval_type":"month"}`, "response_sampling_interval_type", `"month"`},
		{`{"response_sampling_interval_type":null}`, "response_sampling_interval_type", `null`},
		{`{"response_sampling_interval_type":""}`, "response_sampling_interval_type", `null`},
		{`{"response_sampling_interval":1}`, "response_sampling_interval", `1`},
		{`{"response_sampling_limit":0}`, "response_sampling_limit", `0`},
		{`{"enable_partial_responses":null}`, "enable_partial_responses", `null`},
		{`{"enable_partial_responses":1}`, "enable_partial_responses", `true`},
		{`{"enable_iframe_embedding":null}`, "enable_iframe_embedding", `null`},
		{`{"enable_iframe_embedding":true}`, "enable_iframe_embedding", `true`},
		{`{"base_language":"pt_BR"}`, "base_language", `"pt-br"`}, // §9.1
		{`{"base_language":""}`, "base_language", `"en"`},
		{`{"base_language":"de","questions":[],"translations":null}`, "base_language", `"de"`},
		{`{"translations":null}`, "translations", `null`},
		{`{"translations":{"it":{"name":"N"}}}`, "translations", `{"it":{"name":"N"}}`},
		{`{"form_content":null}`, "form_content", `null`},
		{`{"form_content":[1,"<script>"]}`, "form_content", `[1,"\u003cscript\u003e"]`},

		// What is read only, computed or unknown is ignored (§9.1, §15.1 A23).
		{`{"_create_in_folder":5,"unknown":{}}`, "name", `"NPS"`},
		{`{"current_iteration":3,"current_iteration_start_date":"x","iteration_start_dates":["x"]}`, "current_iteration", `null`},
		{`{"response_sampling_daily_limits":"[1]"}`, "response_sampling_daily_limits", `null`},
		{`{"id":"x","created_at":1,"created_by":{},"user_access_level":"none","feature_flag_keys":[],"linked_flag":{"id":1}}`, "user_access_level", `"manager"`},
		{`{}`, "description", `"internal"`},
	} {
		t.Run(tt.body[:min(len(tt.body), 60)], func(t *testing.T) {
			w := newWorld(t)
			id := w.survey(before).ID
			view := w.change(id, tt.body)
			if got := field(t, view, tt.field); got != tt.want {
				t.Errorf("%s: %s is %.200s, want %.200s", tt.body, tt.field, got, tt.want)
			}
			if diff := cmp.Diff(must(w.Survey(t.Context(), w.as(w.ada), refOf(w.web), id.String()))(t), view, same); diff != "" {
				t.Errorf("Survey and UpdateSurvey differ (-Survey +UpdateSurvey)\n%s", diff)
			}
		})
	}
}

// management.md §2.1, §2.3, §9.1: what is refused, with code and field.
func TestSurveyFieldsRefuse(t *testing.T) {
	const hour = "2026-03-04T05:00:00Z"
	for _, tt := range []struct{ body, want, detail string }{
		{`{"name":null}`, "null name", "This field may not be null."},
		{`{"name":""}`, "blank name", "This field may not be blank."},
		{`{"name":" "}`, "blank name", ""},
		{`{"name":[]}`, "invalid_input name", "Not a valid string."},
		{`{"name":"` + chars(401) + `"}`, "max_length name", "Ensure this field has no more than 400 characters."},
		{`{"name":"a\nb"}`, "invalid_control_char name", ""},
		{`{"description":null}`, "null description", ""},
		{`{"description":{}}`, "invalid_input description", ""},
		{`{"type":null}`, "null type", "This field may not be null."},
		{`{"type":"full_screen"}`, "invalid_choice type", `"full_screen" is not a valid choice.`},
		{`{"type":""}`, "invalid_choice type", ""},
		{`{"type":5}`, "invalid_choice type", ""},
		{`{"schedule":"weekly"}`, "invalid_input schedule", ""},
		{`{"schedule":""}`, "invalid_input schedule", ""},
		{`{"schedule":true}`, "invalid_input schedule", ""},
		{`{"linked_flag_id":"x"}`, "invalid_input linked_flag_id", "A valid integer is required."},
		{`{"linked_flag_id":12345}`, "invalid_input", ""},
		{`{"linked_insight_id":1.5}`, "invalid_input linked_insight_id", "A valid integer is required."},
		{`{"targeting_flag_id":true}`, "invalid_input targeting_flag_id", ""},
		{`{"targeting_flag_id":-1}`, "invalid_input", ""},
		{`{"targeting_flag_filters":[]}`, "invalid_input targeting_flag_filters", ""},
		{`{"targeting_flag_filters":{"groups":[]}}`, "invalid_input targeting_flag_filters", ""},
		{`{"targeting_flag_filters":{"groups":[{"properties":[{"key":"a","type":"person","operator":"nope"}]}]}}`, "invalid_operator targeting_flag_filters", ""},
		{`{"targeting_flag_filters":` + everyone + `}`, "invalid_input", ""},
		{`{"targeting_flag_filters":{"groups":[{"properties":[]}]}}`, "invalid_input", ""},
		{`{"remove_targeting_flag":"maybe"}`, "invalid_input remove_targeting_flag", "Must be a valid boolean."},
		{`{"questions":{}}`, "invalid_input questions", ""},
		{`{"questions":[{"type":"open"}]}`, "invalid_input questions", ""},
		{`{"questions":[{"type":"nope","question":"?"}]}`, "invalid_choice questions", ""},
		{`{"conditions":[]}`, "invalid_input conditions", ""},
		{`{"conditions":{"urlMatchType":"nope"}}`, "invalid_input conditions", ""},
		{`{"appearance":"x"}`, "invalid_input appearance", ""},
		{`{"appearance":{"surveyPopupDelaySeconds":-1}}`, "invalid_input appearance", ""},
		{`{"start_date":"2026-03-04"}`, "invalid_input start_date", "Datetime has wrong format. Use one of these formats instead: YYYY-MM-DDThh:mm[:ss[.uuuuuu]][+HH:MM|-HH:MM|Z]."},
		{`{"start_date":""}`, "invalid_input start_date", ""},
		{`{"start_date":1772600000}`, "invalid_input start_date", ""},
		{`{"end_date":"9999-12-31T23:59:59-10:00"}`, "invalid_input end_date", ""}, // the year 10000
		{`{"end_date":"0001-01-01T00:00:00+10:00"}`, "invalid_input end_date", ""}, // the year 0
		{`{"end_date":"2026-02-30T00:00:00Z"}`, "invalid_input end_date", ""},
		{`{"archived":null}`, "null archived", ""},
		{`{"archived":"perhaps"}`, "invalid_input archived", ""},
		{`{"responses_limit":-1}`, "min_value responses_limit", "Ensure this value is greater than or equal to 0."},
		{`{"responses_limit":2147483648}`, "max_value responses_limit", ""},
		{`{"responses_limit":99999999999999999999}`, "invalid_input responses_limit", "A valid integer is required."},
		{`{"iteration_count":501}`, "max_value iteration_count", "Ensure this value is less than or equal to 500."},
		{`{"iteration_count":-1}`, "min_value iteration_count", ""},
		{`{"iteration_frequency_days":366}`, "max_value iteration_frequency_days", ""},
		{`{"iteration_frequency_days":"x"}`, "invalid_input iteration_frequency_days", ""},
		{`{"response_sampling_start_date":"soon"}`, "invalid_input response_sampling_start_date", ""},
		{`{"response_sampling_start_date":"2026-03-03T23:59:59Z"}`, "invalid_input response_sampling_start_date", ""},
		{`{"response_sampling_interval_type":"year"}`, "invalid_choice response_sampling_interval_type", `"year" is not a valid choice.`},
		{`{"response_sampling_interval":0}`, "min_value response_sampling_interval", ""},
		{`{"response_sampling_interval":-7}`, "min_value response_sampling_interval", ""},
		{`{"response_sampling_interval":366}`, "max_value response_sampling_interval", ""},
		{`{"response_sampling_limit":-1}`, "min_value response_sampling_limit", ""},
		{`{"response_sampling_limit":10}`, "invalid_input response_sampling_start_date", ""},
		{`{"response_sampling_limit":10,"response_sampling_interval":1}`, "invalid_input response_sampling_start_date", ""},
		{`{"response_sampling_limit":10,"response_sampling_start_date":"` + hour + `"}`, "invalid_input response_sampling_start_date", ""},
		{`{"response_sampling_limit":10,"response_sampling_start_date":"` + hour + `","response_sampling_interval":100,"response_sampling_interval_type":"month"}`, "invalid_input response_sampling_interval", ""},
		{`{"response_sampling_limit":10,"response_sampling_start_date":"9999-12-31T00:00:00Z","response_sampling_interval":1}`, "invalid_input response_sampling_start_date", ""},
		{`{"enable_partial_responses":"x"}`, "invalid_input enable_partial_responses", ""},
		{`{"enable_iframe_embedding":[]}`, "invalid_input enable_iframe_embedding", ""},
		{`{"base_language":null}`, "null base_language", ""},
		{`{"base_language":"` + chars(21) + `"}`, "max_length base_language", ""},
		{`{"base_language":"d"}`, "invalid_input base_language", ""},
		{`{"base_language":"english"}`, "invalid_input base_language", ""}, // §9.1
		{`{"base_language":"fr"}`, "invalid_input translations", ""},       // into which the survey is translated
		{`{"base_language":"it"}`, "invalid_input questions", ""},          // into which a question is translated
		{`{"translations":{"en":{"name":"N"}}}`, "invalid_input translations", ""},
		{`{"translations":[]}`, "invalid_input translations", ""},
		{`{"translations":{"fr":{"questions":[{},{}]}}}`, "invalid_input translations", ""},
		{`{"form_content":` + nested(65) + `}`, "invalid_input form_content", ""},

		// Objects that do not fit together.
		{`{"questions":[]}`, "invalid_input translations", ""}, // a question is translated
		{`{"appearance":{"shuffleQuestions":true}}`, "invalid_input", ""},
		{`{"conditions":{"linkedFlagVariant":"any"}}`, "invalid_input", ""},

		// The order of the fields, and then the whole.
		{`{"form_content":` + nested(65) + `,"translations":1,"name":null}`, "null name", ""},
		{`{"response_sampling_limit":-1,"response_sampling_start_date":"x","iteration_count":-1}`, "min_value iteration_count", ""},
		{`{"response_sampling_limit":-1,"response_sampling_start_date":"x"}`, "invalid_input response_sampling_start_date", ""},
		{`{"linked_flag_id":12345,"form_content":` + nested(65) + `}`, "invalid_input form_content", ""},
		{`{"targeting_flag_filters":` + everyone + `,"archived":null}`, "null archived", ""},
		{`{"response_sampling_limit":10,"targeting_flag_filters":` + everyone + `}`, "invalid_input", ""},
	} {
		t.Run(tt.body[:min(len(tt.body), 70)], func(t *testing.T) {
			w := newWorld(t)
			id := w.survey(`{"questions":[{"id":"q1","type":"rating","question":"?","scale":5,"branching":{"type":"end"},"translations":{"it":{}}}],"translations":{"fr":{"questions":[{"question":"F?"}]}}}`).ID
			before, entries := w.surveyState(), w.activities()
			_, err := w.tryChange(id, tt.body)
			checkFault(t, tt.body, err, "invalid "+tt.want)
			if tt.detail != "" && !strings.HasSuffix(fmt.Sprint(err), ": "+tt.detail) {
				t.Errorf("%s: %v, want %s", tt.body, err, tt.detail)
			}
			if diff := cmp.Diff(before, w.surveyState(), same); diff != "" || len(entries) != len(w.activities()) {
				t.Errorf("what was refused has changed something (-before +after)\n%s", diff)
			}
		})
	}
}

func TestSurveyFieldsRequired(t *testing.T) {
	w := newWorld(t)
	for _, tt := range []struct{ body, want string }{
		{`{}`, "required name"},
		{`{"type":"nope"}`, "required name"},
		{`{"name":"` + chars(401) + `"}`, "max_length name"},
		{`{"name":"x"}`, "required type"},
		{`{"name":"x","description":null}`, "null description"},
		{`{"name":"x","type":"api","remove_targeting_flag":true}`, ""},
	} {
		_, err := w.Create(t.Context(), w.as(w.ada), refOf(w.web), decode[surveys.Patch](t, tt.body))
		want := ""
		if tt.want != "" {
			want = "invalid " + tt.want
		}
		checkFault(t, "CreateSurvey with "+tt.body, err, want)
	}
}

// What was read can be sent back, also while a cycle of sampling goes on.
func TestSurveySentBack(t *testing.T) {
	w := newWorld(t)
	linked := w.storeFlag(w.web, "linked", abTest)
	view := w.survey(fmt.Sprintf(`{"linked_flag_id":%d,"conditions":{"linkedFlagVariant":"test","seenSurveyWaitPeriodInDays":3},"questions":[%s],`+
		`"targeting_flag_filters":%s,"start_date":"2026-03-04T00:00:00Z","iteration_count":3,"iteration_frequency_days":7,"responses_limit":9,`+
		`"response_sampling_start_date":"2026-03-04T00:00:00Z","response_sampling_interval":2,"response_sampling_limit":100,`+
		`"translations":{"fr":{"name":"F"}}}`, linked.ID, rating, byPlan))
	w.clock.advance(3 * aDay)
	before, entries := w.surveyState(), len(w.activities())
	patch := decode[surveys.Patch](t, encode(t, view))
	patch.TargetingFlagID, patch.TargetingFlagFilters = optional.Of(view.TargetingFlag.ID), optional.Of(view.TargetingFlag.Filters)
	again := must(w.Update(t.Context(), w.as(w.ada), refOf(w.web), view.ID.String(), patch))(t)
	if diff := cmp.Diff(view, again, same); diff != "" {
		t.Errorf("sent back (-before +after)\n%s", diff)
	}
	if diff := cmp.Diff(before, w.surveyState(), same); diff != "" || len(w.activities()) != entries {
		t.Errorf("stored (-before +after)\n%s", diff)
	}
}

// management.md §9.4: the linked flag and its variant.
func TestLinkedFlag(t *testing.T) {
	w := newWorld(t)
	plain, variants := w.storeFlag(w.web, "plain", everyone), w.storeFlag(w.web, "variants", abTest)
	gone, foreign := w.storeFlag(w.web, "gone", everyone), w.storeFlag(w.app, "foreign", everyone)
	gone.Deleted = true
	w.ok(w.store.Flags().Update(t.Context(), gone))
	internal := w.survey(`{}`).InternalTargetingFlag.ID
	targeting := w.survey(`{"targeting_flag_filters":` + byPlan + `}`).TargetingFlag.ID
	for _, tt := range []struct {
		name   string
		before string
		body   string
		refuse bool
	}{
		{"no variant", `{}`, fmt.Sprintf(`{"linked_flag_id":%d}`, plain.ID), false},
		{"any variant", `{}`, fmt.Sprintf(`{"linked_flag_id":%d,"conditions":{"linkedFlagVariant":"any"}}`, plain.ID), false},
		{"a variant", `{}`, fmt.Sprintf(`{"linked_flag_id":%d,"conditions":{"linkedFlagVariant":"test"}}`, variants.ID), false},
		{"a variant later", fmt.Sprintf(`{"linked_flag_id":%d}`, variants.ID), `{"conditions":{"linkedFlagVariant":"control"}}`, false},
		{"another variant", `{}`, fmt.Sprintf(`{"linked_flag_id":%d,"conditions":{"linkedFlagVariant":"Test"}}`, variants.ID), true},
		{"a variant of a flag without", `{}`, fmt.Sprintf(`{"linked_flag_id":%d,"conditions":{"linkedFlagVariant":"test"}}`, plain.ID), true},
		{"a variant of no flag", `{}`, `{"conditions":{"linkedFlagVariant":"test"}}`, true},
		{"another flag without the variant", fmt.Sprintf(`{"linked_flag_id":%d,"conditions":{"linkedFlagVariant":"test"}}`, variants.ID), fmt.Sprintf(`{"linked_flag_id":%d}`, plain.ID), true},
		{"no flag any more", fmt.Sprintf(`{"linked_flag_id":%d,"conditions":{"linkedFlagVariant":"test"}}`, variants.ID), `{"linked_flag_id":null}`, true},
		{"no flag nor variant any more", fmt.Sprintf(`{"linked_flag_id":%d,"conditions":{"linkedFlagVariant":"test"}}`, variants.ID), `{"linked_flag_id":null,"conditions":null}`, false},
		{"a flag that is deleted", `{}`, fmt.Sprintf(`{"linked_flag_id":%d}`, gone.ID), true},
		{"a flag of another project", `{}`, fmt.Sprintf(`{"linked_flag_id":%d}`, foreign.ID), true},
		{"a flag of a survey", `{}`, fmt.Sprintf(`{"linked_flag_id":%d}`, internal), true},
		{"the targeting flag of a survey", `{}`, fmt.Sprintf(`{"linked_flag_id":%d}`, targeting), true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			id := w.survey(tt.before).ID
			_, err := w.tryChange(id, tt.body)
			want := ""
			if tt.refuse {
				want = "invalid invalid_input"
			}
			checkFault(t, tt.body, err, want)
		})
	}
}

// management.md §9.4: what an external survey cannot have, with the field at fault.
func TestExternalSurvey(t *testing.T) {
	w := newWorld(t)
	f := w.storeFlag(w.web, "linked", everyone)
	for _, tt := range []struct{ body, want string }{
		{`{}`, ""},
		{`{"conditions":{},"appearance":{"surveyPopupDelaySeconds":0}}`, ""},
		{fmt.Sprintf(`{"linked_flag_id":%d}`, f.ID), "linked_flag_id"},
		{fmt.Sprintf(`{"targeting_flag_id":%d}`, f.ID), "targeting_flag_id"},
		{`{"targeting_flag_filters":` + byPlan + `}`, "targeting_flag_filters"},
		{`{"conditions":{"url":"/"}}`, "conditions"},
		{`{"conditions":{"events":{"values":[{"name":"x"}]}}}`, "conditions"},
		{`{"appearance":{"surveyPopupDelaySeconds":5}}`, "appearance"},
	} {
		want := strings.TrimSpace("invalid invalid_input " + tt.want)
		if tt.want == "" {
			want = ""
		}
		created := decode[surveys.Patch](t, tt.body)
		created.Name, created.Type = optional.Of("S"+tt.body), optional.Of("external_survey")
		view, err := w.Create(t.Context(), w.as(w.ada), refOf(w.web), created)
		checkFault(t, "CreateSurvey of an external survey with "+tt.body, err, want)
		if view != nil {
			w.ok(w.Delete(t.Context(), w.as(w.ada), refOf(w.web), view.ID.String()))
		}
		want = strings.ReplaceAll(want, "targeting_flag_id", "targeting_flag_filters") // which flag it is does not matter any more
		_, err = w.tryChange(w.survey(tt.body).ID, `{"type":"external_survey"}`)
		checkFault(t, "making a survey external that has "+tt.body, err, want)
	}
	view := w.change(w.survey(`{"targeting_flag_filters":`+byPlan+`}`).ID, `{"type":"external_survey","remove_targeting_flag":true}`)
	w.change(view.ID, `{"name":"renamed"}`)
}

// management.md §9.1: an insight that the host application knows, asked for before
// anything is locked.
func TestLinkedInsight(t *testing.T) {
	var w *world
	fails := false
	w = newWorld(t, func(c *config) {
		c.InsightExists = func(ctx context.Context, project, insight int64) (bool, error) {
			w.storeFlag(w.app, fmt.Sprint("asked-", len(w.surveyState().Flags)), everyone) // waits for ever in a transaction
			if fails {
				return false, errBroken
			}
			return project == w.web.ID && insight == 7, nil
		}
	})
	if view := w.survey(`{"linked_insight_id":7}`); *view.LinkedInsightID != 7 {
		t.Errorf("linked_insight_id = %v", *view.LinkedInsightID)
	}
	view := w.survey(`{}`)
	_, err := w.tryChange(view.ID, `{"linked_insight_id":8}`)
	checkFault(t, "another insight", err, "invalid invalid_input")
	_, err = w.Update(t.Context(), w.as(w.dov), refOf(w.web), view.ID.String(), surveys.Patch{LinkedInsightID: optional.Of[int64](7)})
	checkFault(t, "an insight of others", err, "not found not_found")
	fails = true
	if _, err = w.tryChange(view.ID, `{"linked_insight_id":7}`); fault(err) != "failure: broken" {
		t.Errorf("an insight that cannot be looked for: %v", err)
	}
	w.change(view.ID, `{"linked_insight_id":null}`)
}

// management.md §1.4: surveys whose targeting changes need feature_flag:write.
func TestSurveyTargetingScopes(t *testing.T) {
	w := newWorld(t)
	f := w.storeFlag(w.web, "ordinary", byPlan)
	only := w.key(w.ada, scopes("survey:write"))
	both := w.key(w.ada, scopes("survey:write", "feature_flag:write"))
	for _, tt := range []struct {
		before, body string
		needs        bool
	}{
		{`{}`, `{"name":"x","start_date":"2026-03-04T00:00:00Z"}`, false},
		{`{"targeting_flag_filters":` + byPlan + `}`, `{"start_date":"2026-03-04T00:00:00Z"}`, false},
		{`{}`, `{"targeting_flag_id":null,"targeting_flag_filters":null,"remove_targeting_flag":false}`, false},
		{`{}`, fmt.Sprintf(`{"targeting_flag_id":%d}`, f.ID), true},
		{`{}`, `{"targeting_flag_filters":` + byPlan + `}`, true},
		{`{}`, `{"targeting_flag_filters":[]}`, true}, // before anything is judged (§2.5)
		{`{"targeting_flag_filters":` + byPlan + `}`, `{"remove_targeting_flag":true}`, true},
		{`{"targeting_flag_filters":` + byPlan + `}`, `{"targeting_flag_id":null}`, true},
		{fmt.Sprintf(`{"targeting_flag_id":%d}`, f.ID), `{"targeting_flag_id":null}`, true},
	} {
		id := w.survey(tt.before).ID.String()
		patch := decode[surveys.Patch](t, tt.body)
		_, err := w.Update(t.Context(), only, refOf(w.web), id, patch)
		want := ""
		if tt.needs {
			want = "forbidden permission_denied"
			if !strings.Contains(fmt.Sprint(err), "'feature_flag:write'") {
				t.Errorf("%s: %v, want the scope named", tt.body, err)
			}
		}
		checkFault(t, tt.body+" with survey:write", err, want)
		if !strings.Contains(tt.body, "[]") {
			must(w.Update(t.Context(), both, refOf(w.web), id, patch))(t)
		}
	}
	for _, tt := range []struct {
		body  string
		needs bool
	}{
		{`{}`, false},
		{`{"targeting_flag_filters":` + byPlan + `}`, true},
		{fmt.Sprintf(`{"targeting_flag_id":%d}`, f.ID), true},
	} {
		want := map[bool]string{true: "forbidden permission_denied"}[tt.needs]
		id := w.survey(tt.body).ID.String()
		checkFault(t, "DeleteSurvey of "+tt.body, w.Delete(t.Context(), only, refOf(w.web), id), want)
		if tt.needs {
			w.ok(w.Delete(t.Context(), both, refOf(w.web), id))
		}
	}
	patch := decode[surveys.Patch](t, `{"name":"new","type":"api","targeting_flag_filters":`+byPlan+`}`)
	_, err := w.Create(t.Context(), only, refOf(w.web), patch)
	checkFault(t, "CreateSurvey with targeting", err, "forbidden permission_denied")
	must(w.Create(t.Context(), both, refOf(w.web), patch))(t)
}

// A patch that fails in one transaction and is tried again is what it was.
func TestSurveyPatchIsNotChanged(t *testing.T) {
	w := newWorld(t)
	patch := decode[surveys.Patch](t, `{"name":" a ","type":"api","questions":[{"type":"open","question":"?"}],"start_date":"2026-03-04T00:00:00Z"}`)
	before := encode(t, patch)
	must(w.Create(t.Context(), w.as(w.ada), refOf(w.web), patch))(t)
	if after := encode(t, patch); after != before {
		t.Errorf("CreateSurvey has made\n%s of\n%s", after, before)
	}
}

// Times of a survey are the clock's with microseconds, and its ID has the time in
// it.
func TestSurveyStamps(t *testing.T) {
	w := newWorld(t)
	w.clock.advance(1500 * time.Nanosecond)
	v := w.storedSurvey(w.survey(`{}`).ID)
	if want := at(time.Microsecond); !v.Created.Equal(want) || !v.Updated.Equal(want) || v.ID.Version() != 7 || *v.CreatedBy != w.ada.ID {
		t.Errorf("new survey: %+v", v)
	}
	w.clock.advance(time.Hour)
	w.change(v.ID, `{}`)
	if again := w.storedSurvey(v.ID); !again.Updated.Equal(v.Updated) {
		t.Errorf("a change of nothing is of %s", again.Updated)
	}
	w.change(v.ID, `{"conditions":{}}`) // empty like null, but not the same
	if again := w.storedSurvey(v.ID); !again.Updated.Equal(at(time.Hour+time.Microsecond)) || string(again.Conditions) != "{}" {
		t.Errorf("a change is of %s, conditions are %s", again.Updated, again.Conditions)
	}
	if n := slices.IndexFunc(w.activities(), func(a storage.Activity) bool { return a.Activity == "updated" }); n >= 0 {
		t.Errorf("a change of nothing is logged: %+v", w.activities()[n])
	}
}
