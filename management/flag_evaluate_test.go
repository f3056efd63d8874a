package management_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// explain explains a flag of Web to Ada.
func (w *world) explain(id, body string) (*management.FlagExplanation, error) {
	w.t.Helper()
	return w.ExplainFlag(w.t.Context(), w.as(w.ada), ref(w.web), id, []byte(body))
}

// evaluation.md §8: what a flag is for a request, with what is stored about its
// subject.
func TestExplainFlag(t *testing.T) {
	w := newWorld(t, withData)
	ctx := t.Context()
	w.capture(w.web, "x", "u1", `{"$set":{"plan":"pro"}}`)
	w.capture(w.web, "$groupidentify", "u1", `{"$group_type":"company","$group_key":"acme","$group_set":{"size":7}}`)
	list := w.cohort(w.web, `{"name":"List","is_static":true}`)
	must(w.AddCohortIDs(ctx, w.as(w.ada), ref(w.web), list, listed("u1")))(t)
	paying := w.flag(w.web, `{"key":"paying","filters":`+when("plan", "pro")+`}`)
	member := w.flag(w.web, `{"key":"member","filters":`+inCohort(list)+`}`)
	group := w.flag(w.web, `{"key":"group","filters":{"groups":[{"properties":[{"key":"size","type":"group","operator":"gt","value":3}]}],"aggregation_group_type_index":0}}`)
	created := w.flag(w.web, `{"key":"created","filters":{"groups":[{"properties":[{"key":"created_at","type":"person_metadata","operator":"is_set"}]}]}}`)
	user := w.flag(w.web, `{"key":"user","filters":`+dependsOn(paying)+`}`)
	server := w.flag(w.web, `{"key":"server","evaluation_runtime":"server","filters":`+everybody+`}`)
	docs := w.flag(w.web, `{"key":"docs","evaluation_contexts":["docs"],"filters":`+everybody+`}`)
	device := w.flag(w.web, `{"key":"device","bucketing_identifier":"device_id","filters":{"groups":[{"rollout_percentage":99.9}]}}`)
	off := w.flag(w.web, `{"key":"off","active":false,"filters":`+everybody+`}`)
	secret := w.flag(w.web, `{"key":"conf","is_remote_configuration":true,"has_encrypted_payloads":true,"filters":{"payloads":{"true":"1"}}}`)
	variants := w.flag(w.web, `{"key":"variants","filters":{"groups":[{"variant":"b"}],"multivariate":{"variants":[{"key":"a","rollout_percentage":50},{"key":"b","rollout_percentage":50}]},"payloads":{"b":"1"}}}`)
	for _, tt := range []struct {
		id, body string
		value    any
		hidden   string
		seen     string // of the first property of the first condition set
	}{
		{paying, `{"distinct_id":"u1"}`, true, "", `"pro"`},
		{paying, `{"distinct_id":"u1","person_properties":{"plan":"free"}}`, false, "", `"free"`},
		{paying, `{"distinct_id":"unknown"}`, false, "", ""},
		{paying, `{"distinct_id":"unknown","person_properties":{"plan":"pro"}}`, true, "", `"pro"`},
		{paying, `{"$distinct_id":"u1","flag_keys":["none"]}`, true, "", `"pro"`},
		{paying, `{"distinct_id":7}`, false, "", ""},
		{paying, `{"distinct_id":""}`, false, "", ""},
		{member, `{"distinct_id":"u1"}`, true, "", "member"},
		{member, `{"distinct_id":"u2"}`, false, "", "not a member"},
		{group, `{"distinct_id":"u2","groups":{"company":"acme"}}`, true, "", "7"},
		{group, `{"distinct_id":"u2","groups":{"company":"acme"},"group_properties":{"company":{"size":1}}}`, false, "", "1"},
		{group, `{"distinct_id":"u2"}`, false, "", ""},
		{group, `{"distinct_id":"u2","groups":{"company":"other"}}`, false, "", ""},
		{created, `{"distinct_id":"u1"}`, true, "", `"2026-03-04T05:06:07.001Z"`},
		{created, `{"distinct_id":"u2"}`, false, "", ""},
		{user, `{"distinct_id":"u1"}`, true, "", "true"},
		{user, `{"distinct_id":"u2"}`, false, "", "false"},
		{server, `{"distinct_id":"u1"}`, true, "", ""},
		{server, `{"distinct_id":"u1","evaluation_runtime":"client"}`, false, "runtime", ""},
		{docs, `{"distinct_id":"u1"}`, true, "", ""},
		{docs, `{"distinct_id":"u1","evaluation_contexts":["main"]}`, false, "contexts", ""},
		{device, `{"distinct_id":"u1","$device_id":"d"}`, true, "", ""},
		{off, `{"distinct_id":"u1"}`, false, "inactive", ""},
		{secret, `{"distinct_id":"u1"}`, false, "encrypted", ""},
		{variants, `{"distinct_id":"u1"}`, "b", "", ""},
	} {
		v, err := w.explain(tt.id, tt.body)
		if err != nil {
			t.Errorf("ExplainFlag(%s, %s) = %v", tt.id, tt.body, err)
			continue
		}
		seen := ""
		if len(v.Conditions) > 0 && len(v.Conditions[0].Filters) > 0 {
			seen = v.Conditions[0].Filters[0].Seen
		}
		if v.Value != tt.value || seen != tt.seen || v.Key == "" || v.Why == "" || !strings.Contains(v.Hidden, tt.hidden) || (v.Hidden == "") != (tt.hidden == "") {
			t.Errorf("ExplainFlag(%s, %s) = %v, hidden %q, seen %s, why %q; want %v, %q, %s", v.Key, tt.body, v.Value, v.Hidden, seen, v.Why, tt.value, tt.hidden, tt.seen)
		}
	}
	for body, want := range map[string]string{
		``: "invalid invalid_input", `[]`: "invalid invalid_input", `{"distinct_id":`: "invalid invalid_input", `{}`: "invalid required distinct_id",
		`{"distinct_id":null}`: "invalid required distinct_id", `{"distinct_id":[]}`: "invalid invalid_input distinct_id",
		`{"distinct_id":"u","groups":[]}`: "invalid invalid_input groups", `{"distinct_id":"u","person_properties":"x"}`: "invalid invalid_input person_properties",
		`{"distinct_id":"u","group_properties":{"company":1}}`: "invalid invalid_input group_properties",
	} {
		_, err := w.explain(paying, body)
		checkFault(t, "ExplainFlag("+body+")", err, want)
	}
	must(w.changeFlag(user, `{"deleted":true}`))(t)
	_, err := w.explain(user, `{"distinct_id":"u"}`)
	checkFault(t, "ExplainFlag of a deleted flag", err, "not found not_found")
	if _, err := w.another(func(*management.Config) {}).explain(paying, `{"distinct_id":"u1","person_properties":{"plan":"pro"}}`); err != nil {
		t.Errorf("without persons: %v", err)
	}
}

// An explanation as text is the trace of package flags.
func TestExplanationText(t *testing.T) {
	w := newWorld(t, withData)
	w.flag(w.web, `{"key":"k","filters":`+when("plan", "pro")+`}`)
	v := must(w.explain("k", `{"distinct_id":"u1","person_properties":{"plan":"free"}}`))(t)
	in := must(flags.Compile(must(w.definitions())(t), flags.CompileOptions{}))(t)
	want := must(in.Explain("k", &flags.Request{DistinctID: "u1", PersonProperties: map[string]any{"plan": "free"}}))(t)
	if diff := cmp.Diff(want.String(), v.String(), same); diff != "" || !strings.Contains(v.String(), "condition set 1") {
		t.Errorf("text (-want +got)\n%s", diff)
	}
}

// definitions returns what Web serves.
func (w *world) definitions() (*flags.Definitions, error) {
	list, err := w.store.CalledFlags(w.t.Context(), w.web.ID)
	return storage.FlagDefinitions(list, nil, nil), err
}

// The answer in full.
func TestExplanationForm(t *testing.T) {
	w := newWorld(t)
	base := w.flag(w.web, `{"key":"base","filters":`+everybody+`}`)
	id := w.flag(w.web, `{"key":"k","filters":{"groups":[{"properties":[{"key":"plan","type":"person","value":"pro"},{"key":"`+base+`","type":"flag","operator":"flag_evaluates_to","value":true}],`+
		`"rollout_percentage":100},{"rollout_percentage":100,"variant":"b"}],"multivariate":{"variants":[{"key":"a","rollout_percentage":40},{"key":"b","rollout_percentage":60}]},`+
		`"payloads":{"b":"1"},"holdout":{"id":3,"exclusion_percentage":1},"feature_enrollment":true}}`)
	bucket := func(f float64) string { return encode(t, f) }
	v := must(w.explain(id, `{"distinct_id":"u1","person_properties":{"plan":"pro"}}`))(t)
	if len(v.Conditions) != 2 || v.Holdout == nil || v.Conditions[0].Variant == nil {
		t.Fatalf("%+v", v)
	}
	drawn := v.Conditions[0].Variant.Bucket
	variant := "a"
	if drawn >= 0.4 {
		variant = "b"
	}
	want := `{"key":"k","value":"` + variant + `","result":` + encode(t, v.Result) + `,"hidden":"","why":"condition set 1 is the first that matched",` +
		`"dependencies":[{"key":"base","value":"true","note":""}],"enrollment":null,` +
		`"holdout":{"subject":"u1","bucket":` + bucket(v.Holdout.Bucket) + `,"hashed":true,"threshold":0.01,"in":false},"conditions":[` +
		`{"index":0,"outcome":"condition_match","matched":true,"aggregation":"person","subject":"u1","properties":[` +
		`{"source":"flag","key":"base","operator":"flag_evaluates_to","value":"true","present":true,"seen":"true","result":"match"},` +
		`{"source":"person","key":"plan","operator":"exact","value":"\"pro\"","present":true,"seen":"\"pro\"","result":"match"}],` +
		`"rollout":{"subject":"u1","bucket":0,"hashed":false,"threshold":1,"in":true},` +
		`"variant":{"bucket":` + bucket(drawn) + `,"bounds":[{"variant":"a","below":0.4},{"variant":"b","below":1}],"variant":"` + variant + `"},"pinned_variant":""},` +
		`{"index":1,"outcome":"not_reached","matched":false,"aggregation":"person","subject":"","properties":[],"rollout":null,"variant":null,"pinned_variant":""}]}`
	if diff := cmp.Diff(decode[any](t, want), decode[any](t, encode(t, v)), same); diff != "" {
		t.Errorf("an explanation (-want +got)\n%s", diff)
	}
	v = must(w.explain(id, `{"distinct_id":"u1","person_properties":{"$feature_enrollment/k":true}}`))(t)
	if v.Enrollment == nil || v.Enrollment.Result != "enrolled" || v.Result.Reason.Code != flags.ReasonSuperCondition {
		t.Errorf("enrolled: %+v", v)
	}
}

// evaluation.md §12: stored hash keys count, and none is stored.
func TestExplainContinuity(t *testing.T) {
	w := newWorld(t, withData)
	ctx := t.Context()
	id := w.flag(w.web, `{"key":"beta-feature","ensure_experience_continuity":true,"filters":{"groups":[{"rollout_percentage":70}]}}`)
	subject := func(body string) string {
		t.Helper()
		return must(w.explain(id, body))(t).Conditions[0].Rollout.Subject
	}
	stored := func(distinctID string) map[string]string {
		found := make(map[string]string)
		w.ok(w.store.Overrides(ctx, w.web.ID, distinctID, "", nil, func(flag, key string) { found[flag] = key }))
		return found
	}
	for _, who := range []string{"anon-1", "anon-2", "user-1"} {
		w.capture(w.web, "x", who, `{}`)
	}
	w.ok(w.store.Overrides(ctx, w.web.ID, "user-1", "anon-1", []string{"beta-feature"}, func(string, string) {}))
	w.ok(w.store.Overrides(ctx, w.web.ID, "anon-2", "anon-0", []string{"beta-feature"}, func(string, string) {}))
	for _, tt := range []struct{ body, want string }{
		{`{"distinct_id":"user-1"}`, "anon-1"},
		{`{"distinct_id":"user-1","$anon_distinct_id":"anon-2"}`, "anon-1"}, // what the person has counts
		{`{"distinct_id":"user-2"}`, "user-2"},
		{`{"distinct_id":"user-2","$anon_distinct_id":"anon-3"}`, "anon-3"},
		{`{"distinct_id":"user-2","$anon_distinct_id":"anon-2"}`, "anon-0"}, // the anonymous person's, because user-2 does not exist
		{`{"distinct_id":"user-2","person_properties":{"$anon_distinct_id":"anon-2"}}`, "anon-0"},
	} {
		if got := subject(tt.body); got != tt.want {
			t.Errorf("the subject of %s is %s, want %s", tt.body, got, tt.want)
		}
		// It is what a request gets that stores hash keys, asked last.
		request := decode[struct {
			ID        string            `json:"distinct_id"`
			Anonymous string            `json:"$anon_distinct_id"`
			Person    map[string]string `json:"person_properties"`
		}](t, tt.body)
		anonymous := request.Anonymous + request.Person["$anon_distinct_id"]
		got := anonymous
		if got == "" {
			got = request.ID
		}
		before := stored(request.ID)
		w.ok(w.store.Overrides(ctx, w.web.ID, request.ID, anonymous, []string{"beta-feature"}, func(_, key string) { got = key }))
		if got != tt.want {
			t.Errorf("POST /flags with %s has the subject %s, want %s", tt.body, got, tt.want)
		}
		if request.ID == "user-2" && len(before) > 0 {
			t.Errorf("hash keys %v were stored for %s", before, tt.body)
		}
	}
	w.capture(w.web, "x", "user-3", `{}`)
	if got := subject(`{"distinct_id":"user-3","$anon_distinct_id":"anon-2"}`); got != "anon-2" {
		t.Errorf("the subject of a person who has no hash key is %s, want anon-2, which would be stored", got)
	}
	if found := stored("user-3"); len(found) > 0 {
		t.Errorf("an explanation has stored %v", found)
	}
}

// management.md §13.1: evaluation_reasons and my_flags.
func TestEvaluationReasons(t *testing.T) {
	w := newWorld(t, withData)
	ctx := t.Context()
	w.capture(w.web, "x", "u1", `{"$set":{"plan":"pro"}}`)
	w.capture(w.web, "x", "d-ada", `{"$set":{"plan":"free"}}`)
	w.capture(w.web, "$groupidentify", "u1", `{"$group_type":"company","$group_key":"acme","$group_set":{"size":7}}`)
	w.flag(w.web, `{"key":"paying","filters":`+when("plan", "pro")+`}`)
	w.flag(w.web, `{"key":"off","active":false,"filters":`+everybody+`}`)
	w.flag(w.web, `{"key":"group","filters":{"groups":[{"properties":[{"key":"size","type":"group","operator":"gt","value":3}]}],"aggregation_group_type_index":0}}`)
	w.flag(w.web, `{"key":"variants","filters":{"groups":[{"variant":"b"}],"multivariate":{"variants":[{"key":"a","rollout_percentage":50},{"key":"b","rollout_percentage":50}]}}}`)
	w.flag(w.web, `{"key":"conf","is_remote_configuration":true,"has_encrypted_payloads":true,"filters":{"payloads":{"true":"1"}}}`)
	must(w.changeFlag(w.flag(w.web, `{"key":"gone","filters":`+everybody+`}`), `{"deleted":true}`))(t)
	w.flag(w.app, `{"key":"elsewhere","filters":`+everybody+`}`)
	for _, tt := range []struct{ id, groups, want string }{
		{"u1", "", "conf=false not_evaluated -; group=false no_group_type 0; off=false disabled -; paying=true condition_match 0; variants=b condition_match 0"},
		{"u2", `{"company":"acme"}`, "conf=false not_evaluated -; group=true condition_match 0; off=false disabled -; paying=false no_condition_match 0; variants=b condition_match 0"},
		{"u2", `{"company":"none","other":1}`, "conf=false not_evaluated -; group=false no_condition_match 0; off=false disabled -; paying=false no_condition_match 0; variants=b condition_match 0"},
	} {
		reasons := must(w.EvaluationReasons(ctx, w.as(w.cyd), ref(w.web), tt.id, tt.groups))(t)
		var got []string
		for _, key := range []string{"conf", "elsewhere", "gone", "group", "off", "paying", "variants"} {
			r, ok := reasons[key]
			if !ok {
				continue
			}
			index := "-"
			if r.Evaluation.ConditionIndex != nil {
				index = fmt.Sprint(*r.Evaluation.ConditionIndex)
			}
			if r.Evaluation.Description == "" {
				t.Errorf("%s has no description", key)
			}
			got = append(got, fmt.Sprintf("%s=%v %s %s", key, r.Value, r.Evaluation.Reason, index))
		}
		if got := strings.Join(got, "; "); got != tt.want || len(reasons) != 5 {
			t.Errorf("EvaluationReasons(%s, %s) = %s, want %s", tt.id, tt.groups, got, tt.want)
		}
	}
	if got, want := encode(t, must(w.EvaluationReasons(ctx, w.as(w.cyd), ref(w.web), "u1", ""))(t)["paying"]),
		`{"value":true,"evaluation":{"reason":"condition_match","condition_index":0,"description":"Matched condition set 1"}}`; got != want {
		t.Errorf("an entry is %s, want %s", got, want)
	}
	for groups, want := range map[string]string{`x`: "invalid invalid_input groups", `[]`: "invalid invalid_input groups", `null`: "invalid invalid_input groups"} {
		_, err := w.EvaluationReasons(ctx, w.as(w.cyd), ref(w.web), "u1", groups)
		checkFault(t, "EvaluationReasons with groups "+groups, err, want)
		_, err = w.MyFlags(ctx, w.as(w.cyd), ref(w.web), groups)
		checkFault(t, "MyFlags with groups "+groups, err, want)
	}
	_, err := w.EvaluationReasons(ctx, w.as(w.cyd), ref(w.web), "", "")
	checkFault(t, "EvaluationReasons of nobody", err, "invalid required distinct_id")

	mine := must(w.MyFlags(ctx, w.as(w.ada), ref(w.web), `{"company":"acme"}`))(t)
	var got []string
	for _, f := range mine {
		got = append(got, fmt.Sprintf("%s=%v", f.Flag.Key, f.Value))
	}
	if got, want := strings.Join(got, " "), "conf=false variants=b group=true off=false paying=false"; got != want {
		t.Errorf("MyFlags = %s, want %s", got, want)
	}
	if first := encode(t, mine[0]); !strings.HasPrefix(first, `{"feature_flag":{"id":5,"team_id":1,`) || !strings.HasSuffix(first, `},"value":false}`) {
		t.Errorf("an entry of MyFlags is %s", first)
	}
}

// What a change would do.
func TestPreviewFlag(t *testing.T) {
	w := newWorld(t, withData)
	for i := range 10 {
		w.capture(w.web, "x", fmt.Sprintf("u%d", i), fmt.Sprintf(`{"$set":{"plan":%q,"n":%d}}`, []string{"pro", "free"}[i%2], i))
	}
	list := w.cohort(w.web, `{"name":"List","is_static":true}`)
	must(w.AddCohortIDs(t.Context(), w.as(w.ada), ref(w.web), list, listed("u1", "u2", "u3")))(t)
	pros := w.cohort(w.web, `{"name":"Pro","filters":`+pro+`}`)
	base := w.flag(w.web, `{"key":"base","filters":`+when("plan", "pro")+`}`)
	user := w.flag(w.web, `{"key":"user","filters":`+dependsOn(base)+`}`)
	w.flag(w.web, `{"key":"users-user","filters":`+dependsOn(user)+`}`)
	w.flag(w.web, `{"key":"other","filters":`+everybody+`}`)
	const variants = `"multivariate":{"variants":[{"key":"test","rollout_percentage":100}]}`
	none := `"other_flags":[]`
	definitions := map[string]string{ // what changes of the flag itself; [] for all others
		"another name":                  `{"field":"key","before":"\"base\"","after":"\"renamed\""},{"field":"name","before":"","after":"\"N\""}`,
		"fewer":                         `{"field":"filters/groups/0/properties","before":"","after":"[{\"key\":\"plan\",\"type\":\"person\",\"value\":\"free\"}]"}`,
		"others, and who depends on it": `{"field":"filters/groups/0/properties/0/value","before":"\"pro\"","after":"\"free\""}`,
		"off":                           `{"field":"active","before":"true","after":"false"}`,
		"variants":                      `{"field":"filters/multivariate","before":"","after":"{\"variants\":[{\"key\":\"test\",\"rollout_percentage\":100}]}"}`,
	}
	for _, tt := range []struct{ name, body, want string }{
		{
			"a new flag", `{"key":"new","filters":` + everybody + `}`,
			`{"subjects":10,"changed":10,"transitions":[{"from":false,"to":true,"count":10}],` + changes("u9 u8 u7 u6 u5 u4 u3 u2 u1 u0", false, true) + `,` + none + `}`,
		},
		{
			"a new flag with variants", `{"key":"new","limit":2,"filters":{"groups":[{}],` + variants + `}}`,
			`{"subjects":2,"changed":2,"transitions":[{"from":false,"to":"test","count":2}],` + changes("u9 u8", false, "test") + `,` + none + `}`,
		},
		{
			"a new flag for a cohort", `{"key":"new","filters":` + inCohort(pros) + `}`,
			`{"subjects":10,"changed":5,"transitions":[{"from":false,"to":true,"count":5}],` + changes("u8 u6 u4 u2 u0", false, true) + `,` + none + `}`,
		},
		{
			"a new flag for a list", `{"key":"new","filters":` + inCohort(list) + `}`,
			`{"subjects":10,"changed":3,"transitions":[{"from":false,"to":true,"count":3}],` + changes("u3 u2 u1", false, true) + `,` + none + `}`,
		},
		{"a new flag that is off", `{"key":"new","active":false,"filters":` + everybody + `}`, `{"subjects":10,"changed":0,"transitions":[],"changes":[],` + none + `}`},
		{"nothing", `{"id":1}`, `{"subjects":10,"changed":0,"transitions":[],"changes":[],` + none + `}`},
		{"another name", `{"id":1,"name":"N","key":"renamed","limit":null}`, `{"subjects":10,"changed":0,"transitions":[],"changes":[],` + none + `}`},
		{
			"fewer", `{"id":4,"filters":` + when("plan", "free") + `,"limit":3}`,
			`{"subjects":3,"changed":1,"transitions":[{"from":true,"to":false,"count":1}],` + changes("u8", true, false) + `,` + none + `}`,
		},
		{
			"others, and who depends on it", `{"id":1,"filters":` + when("plan", "free") + `,"limit":3}`,
			`{"subjects":3,"changed":3,"transitions":[{"from":false,"to":true,"count":2},{"from":true,"to":false,"count":1}],` +
				`"changes":[{"distinct_id":"u9","from":false,"to":true},{"distinct_id":"u8","from":true,"to":false},{"distinct_id":"u7","from":false,"to":true}],` +
				`"other_flags":[{"key":"user","changed":3},{"key":"users-user","changed":3}]}`,
		},
		{"off", `{"id":4,"active":false,"limit":1}`, `{"subjects":1,"changed":1,"transitions":[{"from":true,"to":false,"count":1}],` + changes("u9", true, false) + `,` + none + `}`},
		{"deleted", `{"id":4,"deleted":true,"limit":1}`, `{"subjects":1,"changed":1,"transitions":[{"from":true,"to":false,"count":1}],` + changes("u9", true, false) + `,` + none + `}`},
		{"variants", `{"id":4,"filters":{` + variants + `},"limit":1}`, `{"subjects":1,"changed":1,"transitions":[{"from":true,"to":"test","count":1}],` + changes("u9", true, "test") + `,` + none + `}`},
		{"restored", `{"id":5,"deleted":false,"limit":1}`, `{"subjects":1,"changed":1,"transitions":[{"from":false,"to":true,"count":1}],` + changes("u9", false, true) + `,` + none + `}`},

		{"a key that is taken", `{"key":"base","filters":` + everybody + `}`, "invalid unique key"},
		{"another key that is taken", `{"id":1,"key":"user"}`, "invalid unique key"},
		{"no key", `{"filters":` + everybody + `}`, "invalid required key"},
		{"wrong filters", `{"id":1,"filters":{"groups":1}}`, "invalid invalid_input filters"},
		{"what others depend on, off", `{"id":1,"active":false}`, "invalid invalid_input"},
		{"another version", `{"id":1,"version":7,"name":"x"}`, "conflict conflict"},
		{"no such flag", `{"id":99}`, "invalid does_not_exist id"},
		{"a flag of another project", `{"id":6}`, "invalid does_not_exist id"},
		{"ID, text", `{"id":"x"}`, "invalid invalid_input id"},
		{"limit, text", `{"id":1,"limit":"x"}`, "invalid invalid_input limit"},
		{"limit 0", `{"id":1,"limit":0}`, "invalid min_value limit"},
		{"limit, too large", `{"id":1,"limit":10001}`, "invalid max_value limit"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if len(w.state().Flags) == 4 {
				must(w.changeFlag(w.flag(w.web, `{"key":"gone","filters":`+everybody+`}`), `{"deleted":true}`))(t) // 5
				w.flag(w.app, `{"key":"elsewhere","filters":`+everybody+`}`)                                       // 6
			}
			before := w.state()
			v, err := w.PreviewFlag(t.Context(), w.as(w.ada), ref(w.web), decode[management.PreviewPatch](t, tt.body))
			got := fault(err)
			if err == nil {
				if since := begin.Add(time.Duration(11-v.Subjects) * time.Millisecond); !v.Since.Equal(since) { // u9 was seen last
					t.Errorf("since %v, want %v", v.Since, since)
				}
				v.Since = nil
				got = strings.Replace(encode(t, v), `"since":null,`, "", 1)
			}
			want := strings.Replace(tt.want, `"other_flags"`, `"definition":[`+definitions[tt.name]+`],"more_definition":0,"other_flags"`, 1)
			if got != want {
				t.Errorf("PreviewFlag(%s) =\n%s, want\n%s", tt.body, got, want)
			}
			w.checkUnchanged("PreviewFlag("+tt.body+")", before)
		})
	}
}

// changes are the changes of distinct IDs, as a preview has them.
func changes(ids string, from, to any) string {
	list := []management.ValueChange{}
	for id := range strings.FieldsSeq(ids) {
		list = append(list, management.ValueChange{DistinctID: id, From: from, To: to})
	}
	b, _ := json.Marshal(list)
	return `"changes":` + string(b)
}

// A preview says what the change does then.
// TestRuling99Previews: a preview can be of an older version, and of enrolment (management.md
// §13.4).
func TestRuling99Previews(t *testing.T) {
	w := newWorld(t, withData)
	for i := range 10 {
		w.capture(w.web, "x", fmt.Sprintf("u%d", i), `{"$set":{"$feature_enrollment/k":true}}`)
	}
	id := w.flag(w.web, `{"key":"k","filters":`+everybody+`}`)
	must(w.changeFlag(id, `{"active":false}`))(t)
	must(w.changeFlag(id, `{"active":true,"filters":{"groups":[{"rollout_percentage":0}]}}`))(t)
	for _, tt := range []struct{ body, want string }{
		{`"revert_to":1`, "10 changed"},
		{`"revert_to":2`, "0 changed"},
		{`"revert_to":3`, "0 changed"},
		{`"feature_enrollment":true`, "10 changed"},
		{`"feature_enrollment":false`, "0 changed"},
		{`"revert_to":9`, "invalid does_not_exist revert_to"},
		{`"revert_to":null`, "invalid null revert_to"},
		{`"revert_to":"x"`, "invalid invalid_input revert_to"},
		{`"feature_enrollment":null`, "invalid invalid_input feature_enrollment"},
		{`"feature_enrollment":"x"`, "invalid invalid_input feature_enrollment"},
	} {
		before := w.state()
		v, err := w.PreviewFlag(t.Context(), w.as(w.ada), ref(w.web), decode[management.PreviewPatch](t, `{"id":`+id+`,`+tt.body+`}`))
		if err == nil {
			if got := fmt.Sprintf("%d changed", v.Changed); got != tt.want {
				t.Errorf("PreviewFlag(%s) has %s, want %s", tt.body, got, tt.want)
			}
		} else {
			checkFault(t, "PreviewFlag("+tt.body+")", err, tt.want)
		}
		w.checkUnchanged("PreviewFlag("+tt.body+")", before)
	}
	_, err := w.PreviewFlag(t.Context(), w.as(w.ada), ref(w.web), decode[management.PreviewPatch](t, `{"revert_to":1}`))
	checkFault(t, "PreviewFlag of no flag", err, "invalid required id")
}

func TestPreviewAgrees(t *testing.T) {
	w := newWorld(t, withData)
	for i := range 300 {
		w.capture(w.web, "x", fmt.Sprintf("u%d", i), fmt.Sprintf(`{"$set":{"n":%d}}`, i))
	}
	id := w.flag(w.web, `{"key":"k","filters":{"groups":[{"rollout_percentage":30}]}}`)
	values := func() map[string]any {
		all := make(map[string]any)
		for i := range 300 {
			key := fmt.Sprintf("u%d", i)
			all[key] = must(w.EvaluationReasons(t.Context(), w.as(w.ada), ref(w.web), key, ""))(t)["k"].Value
		}
		return all
	}
	body := `"filters":{"groups":[{"properties":[{"key":"n","type":"person","operator":"lt","value":200}],"rollout_percentage":60}],` +
		`"multivariate":{"variants":[{"key":"a","rollout_percentage":50},{"key":"b","rollout_percentage":50}]}}`
	preview := must(w.PreviewFlag(t.Context(), w.as(w.ada), ref(w.web), decode[management.PreviewPatch](t, `{"id":`+id+`,`+body+`}`)))(t)
	before := values()
	must(w.changeFlag(id, `{`+body+`}`))(t)
	after := values()
	changed := 0
	transitions := make(map[management.FlagTransition]int)
	for key, from := range before {
		if to := after[key]; from != to {
			changed++
			transitions[management.FlagTransition{From: from, To: to}]++
		}
	}
	if preview.Subjects != 300 || preview.Changed != changed || len(preview.Changes) != 100 || changed <= 100 {
		t.Errorf("%d of %d change, %d are listed; want %d", preview.Changed, preview.Subjects, len(preview.Changes), changed)
	}
	for i, got := range preview.Transitions {
		n := got.Count
		got.Count = 0
		if transitions[got] != n || i > 0 && preview.Transitions[i-1].Count < n {
			t.Errorf("from %v to %v: %d, want %d", got.From, got.To, n, transitions[got])
		}
		delete(transitions, got)
	}
	if len(transitions) > 0 {
		t.Errorf("not foreseen: %v", transitions)
	}
	for _, c := range preview.Changes {
		if before[c.DistinctID] != c.From || after[c.DistinctID] != c.To {
			t.Errorf("%+v, want from %v to %v", c, before[c.DistinctID], after[c.DistinctID])
		}
	}
}

// A preview stops when nobody waits for it, and is not made where nobody is known.
func TestPreviewEnds(t *testing.T) {
	w := newWorld(t, withData)
	for i := range 5 {
		w.capture(w.web, "x", fmt.Sprintf("u%d", i), `{}`)
	}
	patch := decode[management.PreviewPatch](t, `{"key":"k","filters":`+everybody+`}`)
	for steps := 0; ; steps++ {
		ctx := &failing{t.Context(), steps}
		_, err := w.PreviewFlag(ctx, w.as(w.ada), ref(w.web), patch)
		if err == nil {
			if steps < 5 {
				t.Errorf("it asks only %d times whether somebody waits", steps)
			}
			break
		}
		if !errors.Is(err, errBroken) {
			t.Fatalf("after %d steps: %v", steps, err)
		}
	}
	_, err := newWorld(t).PreviewFlag(t.Context(), w.as(w.ada), ref(w.web), patch)
	checkFault(t, "PreviewFlag without persons", err, "not found not_available")
}

// management.md §13.1: user_blast_radius.
func TestBlastRadius(t *testing.T) {
	w := newWorld(t, withData)
	for i := range 10 {
		w.capture(w.web, "x", fmt.Sprintf("u%d", i), fmt.Sprintf(`{"$set":{"plan":%q,"n":%d}}`, []string{"pro", "free"}[i%2], i))
	}
	for i := range 5 {
		w.capture(w.web, "$groupidentify", "u0", fmt.Sprintf(`{"$group_type":"company","$group_key":"c%d","$group_set":{"size":%d}}`, i, i))
	}
	w.capture(w.shop, "x", "foreign", `{"$set":{"plan":"pro"}}`)
	list := w.cohort(w.web, `{"name":"List","is_static":true}`)
	must(w.AddCohortIDs(t.Context(), w.as(w.ada), ref(w.web), list, listed("u1", "u2", "u3")))(t)
	pros := w.cohort(w.web, `{"name":"Pro","filters":`+pro+`}`)
	id := w.flag(w.web, `{"key":"paying","filters":`+when("plan", "pro")+`}`)
	for _, tt := range []struct{ body, want string }{
		{`{"condition":{}}`, "10 of 10"},
		{`{"condition":{"properties":null,"rollout_percentage":1}}`, "10 of 10"},
		{`{"condition":{"properties":[{"key":"plan","type":"person","value":"pro"}],"rollout_percentage":0,"variant":"x","users_affected":7}}`, "5 of 10"},
		{`{"condition":{"properties":[{"key":"plan","type":"person","value":"pro"},{"key":"n","type":"person","operator":"gte","value":4}]},"group_type_index":null}`, "3 of 10"},
		{`{"condition":{"properties":[{"key":"plan","type":"person","value":"none"}]}}`, "0 of 10"},
		{`{"condition":{"properties":[{"key":"id","type":"cohort","value":` + list + `}]}}`, "3 of 10"},
		{`{"condition":{"properties":[{"key":"id","type":"cohort","operator":"not_in","value":` + pros + `}]}}`, "5 of 10"},
		{`{"condition":{"properties":[{"key":"` + id + `","type":"flag","operator":"flag_evaluates_to","value":true}]}}`, "5 of 10"},
		{`{"condition":{"properties":[{"key":"distinct_id","type":"person","value":["u7","foreign"]}]}}`, "1 of 10"},
		{`{"condition":{},"group_type_index":0}`, "5 of 5"},
		{`{"condition":{"properties":[{"key":"size","type":"group","operator":"gt","value":2}]},"group_type_index":0}`, "2 of 5"},
		{`{"condition":{"properties":[{"key":"$group_key","type":"group","group_type_index":0,"value":"c1"}]},"group_type_index":0}`, "1 of 5"},

		{`{}`, "invalid required condition"},
		{`{"condition":null}`, "invalid required condition"},
		{`{"condition":[]}`, "invalid not_a_dict condition"},
		{`{"condition":{"properties":{}}}`, "invalid invalid_input condition"},
		{`{"condition":{"properties":[{"key":"a","type":"person","operator":"regex","value":"("}]}}`, "invalid invalid_value condition"},
		{`{"condition":{"properties":[{"key":"id","type":"cohort","value":99}]}}`, "invalid cohort_does_not_exist condition"},
		{`{"condition":{"properties":[{"key":"size","type":"group","value":1}]}}`, "invalid invalid_input condition"},
		{`{"condition":{"properties":[{"key":"plan","type":"person","value":1}]},"group_type_index":0}`, "invalid invalid_input condition"},
		{`{"condition":{},"group_type_index":1}`, "invalid does_not_exist group_type_index"},
		{`{"condition":{},"group_type_index":"x"}`, "invalid invalid_input group_type_index"},
	} {
		v, err := w.BlastRadius(t.Context(), w.as(w.cyd), ref(w.web), decode[management.BlastRadiusQuery](t, tt.body))
		got := fault(err)
		if err == nil {
			got = fmt.Sprintf("%d of %d", v.Affected, v.Total)
		}
		if got != tt.want {
			t.Errorf("BlastRadius(%s) = %s, want %s", tt.body, got, tt.want)
		}
	}
	_, err := w.BlastRadius(t.Context(), w.as(w.ada), ref(w.web), decode[management.BlastRadiusQuery](t, `{"condition":{"properties":[{"key":"a","type":"person","operator":"gt","value":"x"}]}}`))
	if err == nil || !strings.HasPrefix(err.Error(), "management: condition: properties/0/value: must be a number") {
		t.Errorf("%v, want it to say where the fault is", err)
	}
	_, err = newWorld(t).BlastRadius(t.Context(), w.as(w.ada), ref(w.web), management.BlastRadiusQuery{Condition: anyJSON(map[string]any{})})
	checkFault(t, "BlastRadius without persons", err, "not found not_available")
}

// Groups are read in parts.
func TestBlastRadiusOfManyGroups(t *testing.T) {
	w := newWorld(t, withData, func(c *management.Config) { c.Data = &manyGroups{c.Data} })
	w.capture(w.web, "$groupidentify", "u1", `{"$group_type":"company","$group_key":"acme"}`)
	for _, tt := range []struct{ body, want string }{
		{`{"condition":{"properties":[{"key":"n","type":"group","operator":"lt","value":1500}]},"group_type_index":0}`, `{"users_affected":1500,"total_users":2500}`},
	} {
		if got := encode(t, must(w.BlastRadius(t.Context(), w.as(w.ada), ref(w.web), decode[management.BlastRadiusQuery](t, tt.body)))(t)); got != tt.want {
			t.Errorf("BlastRadius(%s) = %s, want %s", tt.body, got, tt.want)
		}
	}
}

// manyGroups has 2500 groups of one type.
type manyGroups struct{ storage.Data }

func (manyGroups) Groups(_ context.Context, _ int64, _ int, _ string, limit, offset int) (list []storage.Group, total int, err error) {
	for n := offset; n < min(offset+limit, 2500); n++ {
		list = append(list, storage.Group{Key: fmt.Sprintf("g%04d", n), Properties: json.RawMessage(fmt.Sprintf(`{"n":%d}`, n))})
	}
	return list, 2500, nil
}

// Explanations and previews have the flags as the store has them, whatever is served of
// the project in the meantime.
func TestServedSnapshot(t *testing.T) {
	var catalog servedCatalog
	w := newWorld(t, withData, func(c *management.Config) { c.Catalog = &catalog })
	id := w.flag(w.web, `{"key":"a","filters":{"groups":[{"rollout_percentage":0}]}}`)
	w.flag(w.web, `{"key":"b","filters":{"groups":[{"properties":[{"key":"a","type":"flag","operator":"flag_evaluates_to","value":true}]}]}}`)
	compiled := func() *flags.Snapshot {
		list, err := w.store.FlagDefinitions(t.Context(), w.web.ID)
		w.ok(err)
		return must(flags.Compile(storage.FlagDefinitions(list, nil, map[int]string{}), flags.CompileOptions{TimeZone: time.UTC}))(t)
	}
	older := compiled()
	must(w.changeFlag(id, `{"filters":{"groups":[{"rollout_percentage":100}]}}`))(t)
	for name, s := range map[string]*flags.Snapshot{"none": nil, "older": older, "current": compiled()} {
		catalog.served = s
		all := must(w.EvaluationReasons(t.Context(), w.owner(w.web), ref(w.web), "u1", ""))(t)
		one := must(w.ExplainFlag(t.Context(), w.owner(w.web), ref(w.web), "b", []byte(`{"distinct_id":"u1"}`)))(t)
		if all["a"].Value != true || all["b"].Value != true || one.Value != true {
			t.Errorf("%s: a is %v, b is %v and explained as %v, want true", name, all["a"].Value, all["b"].Value, one.Value)
		}
	}
}
