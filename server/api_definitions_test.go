package server_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/members/memberstest"
	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/sqlstore"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

const projectPath = "/api/projects/1"

// management.md §13.12: a member of a definition that nothing knows is never passed over
// in silence.
func TestRuling36UnknownMembers(t *testing.T) {
	const (
		flag   = `{"key":"k","filters":{"groups":[{}]},%s}`
		group  = `{"key":"k","filters":{"groups":[{%s}]}}`
		leaf   = `{"key":"k","filters":{"groups":[{"properties":[{"key":"a","type":"person","value":1,%s}]}]}}`
		tree   = `{"name":"c","filters":{"properties":{"type":"OR","values":[%s]}}}`
		survey = `{"name":"s","type":"popover",%s}`
	)
	for _, tt := range []struct {
		path, body, attr, detail string
		distant                  bool // ?lenient=true turns it into nothing
	}{
		{"/feature_flags/", fmt.Sprintf(group, `"rollout":10`), "filters", "groups/0/rollout: is not a member of a condition set; did you mean rollout_percentage?", false},
		{"/feature_flags/", fmt.Sprintf(group, `"rolloutPercentage":10`), "filters", "groups/0/rolloutPercentage: is not a member of a condition set; did you mean rollout_percentage?", false},
		{"/feature_flags/", fmt.Sprintf(group, `"property":[]`), "filters", "groups/0/property: is not a member of a condition set; did you mean properties?", false},
		{"/feature_flags/", fmt.Sprintf(group, `"rollout_percentages":[]`), "filters", "groups/0/rollout_percentages: is not a member of a condition set; did you mean rollout_percentage?", false},
		{"/feature_flags/", fmt.Sprintf(group, `"schedule":{}`), "filters", "groups/0/schedule: is not a member of a condition set, which has properties, rollout_percentage, variant, aggregation_group_type_index, description, sort_key", true},
		{"/feature_flags/", fmt.Sprintf(leaf, `"op":"is_not"`), "filters", "groups/0/properties/0/op: is not a member of a property; did you mean operator?", false},
		{"/feature_flags/", fmt.Sprintf(flag, `"enabled":false`), "enabled", `"enabled" is not a member of a feature flag; did you mean active?`, false},
		{"/feature_flags/", fmt.Sprintf(flag, `"Active":false`), "Active", `"Active" is not a member of a feature flag; did you mean active?`, false},
		{"/feature_flags/", fmt.Sprintf(flag, `"environments":["docs"]`), "environments", "did you mean evaluation_contexts?", false},
		{"/feature_flags/", fmt.Sprintf(flag, `"owner":"ada"`), "owner", `"owner" is not a member of a feature flag`, true},
		{"/feature_flags/", fmt.Sprintf(flag, `"rollout_percentage":10`), "rollout_percentage", "did you mean filters.groups[0].rollout_percentage?", false},
		{"/feature_flags/preview/", fmt.Sprintf(flag, `"rollout_percentage":10`), "rollout_percentage", "did you mean filters.groups[0].rollout_percentage?", false},
		{"/feature_flags/preview/", fmt.Sprintf(flag, `"limits":10`), "limits", "did you mean limit?", true},
		{"/feature_flags/user_blast_radius/", `{"condition":{"property":[]}}`, "condition", "property: is not a member of a condition set; did you mean properties?", false},
		{"/cohorts/", fmt.Sprintf(tree, `{"type":"AND","value":[]}`), "filters", "properties/values/0/value: unknown member, write values", false},
		{"/cohorts/", fmt.Sprintf(tree, `{"key":"a","type":"person","value":1,"negated":true}`), "filters", "properties/values/0/negated: unknown member, write negation", false},
		{"/cohorts/", `{"name":"c","filters":{"property":{"type":"OR","values":[]}}}`, "filters", "property: is not a member of the filters of a cohort; did you mean properties?", false},
		{"/cohorts/", `{"name":"c","filter":{"properties":{"type":"OR","values":[]}}}`, "filter", `"filter" is not a member of a cohort; did you mean filters?`, false},
		{"/surveys/", fmt.Sprintf(survey, `"linked_flag":null,"responseLimit":5`), "responseLimit", `"responseLimit" is not a member of a survey; did you mean responses_limit?`, false},
		{"/surveys/", fmt.Sprintf(survey, `"targeting_flag_filters":{"groups":[{"rollout":1,"properties":[{"key":"a","type":"person","value":1}]}]}`), "targeting_flag_filters", "groups/0/rollout: is not a member of a condition set; did you mean rollout_percentage?", false},
		{"/surveys/", fmt.Sprintf(survey, `"conditions":{"urls":"/pricing"}`), "conditions", "urls: is not a member here; did you mean url?", false},
		{"/surveys/", fmt.Sprintf(survey, `"conditions":{"event":{"values":[{"name":"a"}]}}`), "conditions", "event: is not a member here; did you mean events?", false},
		{"/early_access_feature/", `{"name":"e","stage":"beta","feature_flag":null,"flag_id":3}`, "flag_id", `"flag_id" is not a member of an early access feature`, true},
	} {
		t.Run(tt.path+" "+tt.attr, func(t *testing.T) {
			a := newAPI(t, withStoredData)
			e, _ := a.fails(api("POST", projectPath+tt.path, tt.body), 400, "unknown_member")
			if attr := e.Attr; attr == nil || *attr != tt.attr || !strings.Contains(e.Detail, tt.detail) {
				t.Errorf("POST %s = %+v, want %q about %s", tt.body, e, tt.detail, tt.attr)
			}
			resp := api("POST", projectPath+tt.path+"?lenient=true", tt.body).do(a)
			if body := bodyText(t, resp); (resp.StatusCode < 300) != tt.distant {
				t.Errorf("lenient POST %s = %d %s, want success: %t", tt.body, resp.StatusCode, body, tt.distant)
			}
		})
	}
}

// What a PATCH cannot change is refused, and what the API shows can be sent back.
func TestRuling36Patch(t *testing.T) {
	a := newAPI(t, withStoredData)
	flag := a.ok(api("POST", projectPath+"/feature_flags/", `{"key":"k","filters":{"groups":[{"rollout_percentage":0}]}}`))
	cohort := a.ok(api("POST", projectPath+"/cohorts/", `{"name":"c","filters":{"properties":{"type":"OR","values":[]}}}`))
	survey := a.ok(api("POST", projectPath+"/surveys/", `{"name":"s","type":"popover","linked_flag_id":1}`))
	feature := a.ok(api("POST", projectPath+"/early_access_feature/", `{"name":"e","stage":"beta"}`))
	e, _ := a.fails(api("PATCH", projectPath+"/feature_flags/1/", `{"rollout_percentage":100}`), 400, "unknown_member")
	if !strings.Contains(e.Detail, "filters.groups[0].rollout_percentage") {
		t.Errorf("PATCH of a percentage = %+v", e)
	}
	for path, shown := range map[string]map[string]any{
		"/feature_flags/1/": flag, "/cohorts/1/": cohort, "/surveys/" + survey["id"].(string) + "/": survey, "/early_access_feature/" + feature["id"].(string) + "/": feature,
	} {
		delete(shown, "start_date") // which must be a date, if anything
		body, _ := json.Marshal(shown)
		a.ok(api("PATCH", projectPath+path, string(body)))
	}
	// Dropped members are not stored.
	v := a.ok(api("PATCH", projectPath+"/feature_flags/1/?lenient=true", `{"filters":{"groups":[{"rollout_percentage":5,"schedule":1}]},"owner":1}`))
	if got := fmt.Sprint(v["filters"]); strings.Contains(got, "schedule") {
		t.Errorf("a member that means nothing is kept: %s", got)
	}
}

// Each member of a flag and of a cohort, misspelt, is refused.
func TestRuling36Misspelt(t *testing.T) {
	for _, tt := range []struct {
		path, body string
		least      int
	}{
		{"/feature_flags/", `{"key":"f","name":"","active":false,"deleted":false,"archived":false,"version":1,"filters":{
			"aggregation_group_type_index":null,"early_exit":false,"feature_enrollment":false,
			"multivariate":{"variants":[{"key":"a","name":"A","rollout_percentage":100}]},"payloads":{"a":"1"},"holdout":{"id":4,"exclusion_percentage":0},
			"groups":[{"rollout_percentage":0,"variant":"a","aggregation_group_type_index":null,"description":"d","sort_key":"s",
				"properties":[{"key":"company","type":"person","operator":"exact","value":"x","negation":false,"group_type_index":null}]}]},
			"ensure_experience_continuity":false,"bucketing_identifier":"distinct_id","bucketing_hash":"sha1","evaluation_runtime":"all","evaluation_contexts":[],
			"evaluation_contexts_match_mode":"any","tags":[],"is_remote_configuration":false,"has_encrypted_payloads":false,"creation_context":"feature_flags"}`, 150},
		{"/cohorts/", `{"name":"c","description":"","is_static":false,"deleted":false,"filters":{"properties":{"type":"AND","values":[
			{"type":"OR","values":[{"key":"plan","type":"person","operator":"exact","value":"pro","negation":false}]}]}}}`, 50},
	} {
		a := newAPI(t, apiSetup{})
		a.ok(api("POST", projectPath+tt.path, tt.body))
		n := 0
		for wrong := range memberstest.Misspelt(tt.body, "a") {
			n++
			resp := api("POST", projectPath+tt.path, strings.Replace(wrong.Document, `"key":"f"`, fmt.Sprintf(`"key":"f%d"`, n), 1)).do(a)
			if body := bodyText(t, resp); resp.StatusCode != 400 {
				t.Errorf("%s: %d %s, want an error", wrong, resp.StatusCode, body)
			}
		}
		if n < tt.least {
			t.Errorf("%s: %d names were wrong, want %d at least", tt.path, n, tt.least)
		}
	}
}

// filtersOf returns the filters in an answer, as canonical does.
func filtersOf(t *testing.T, a *apiServer, c call, member ...string) string {
	t.Helper()
	resp := c.do(a)
	body := json.RawMessage(bodyText(t, resp))
	for _, name := range append(member, "filters") {
		var o map[string]json.RawMessage
		if err := json.Unmarshal(body, &o); err != nil || resp.StatusCode >= 300 {
			t.Fatalf("%s %s = %d %s", c.method, c.target, resp.StatusCode, body)
		}
		body = o[name]
	}
	return canonical(t, string(body))
}

// canonical returns JSON in one of the forms that say the same.
func canonical(t *testing.T, raw string) string {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(raw), &v); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// management.md §13.5: filters come back as they were sent.
func TestRuling37FiltersAsSent(t *testing.T) {
	for _, tt := range []struct{ name, more, sent, want string }{
		{"nulls and empty objects", "", `{"payloads":{},"multivariate":null,"aggregation_group_type_index":null,"groups":[{"variant":null,"rollout_percentage":null,"properties":[]}],"holdout":null,"super_groups":null,"early_exit":null}`, ""},
		{"members that decide nothing", "", `{"groups":[{"users_affected":3.0,"name":"n","properties":[{"label":{"a":[]},"negation":false,"type":"person","key":"a","value":["x"],"operator":"exact"}]}]}`, ""},
		{"numbers", "", `{"groups":[{"rollout_percentage":5.50e1,"properties":[{"key":"1","type":"person","operator":"gt","value":1.0}]}],"holdout":{"exclusion_percentage":1e1,"id":7.0,"name":null}}`, ""},
		{"escapes", "", `{"groups":[{"description":"\u00e9\/é","properties":[{"key":"a","type":"person","value":"\ud83d\ude00"}]}]}`, ""},
		{"payloads", "", `{"payloads":{"true":{"b":1,"a":[1.0]}},"groups":[{}]}`, ""},
		{"payload as text", "", `{"payloads":{"true":"{\"b\": 1}"},"groups":[{}]}`, ""},
		{
			"older forms", "", `{"super_groups":[{"properties":[{"key":"$feature_enrollment/k","type":"person","operator":"exact","value":["true"]}],"rollout_percentage":100}],"groups":[{"properties":[{"key":"a","type":"person","operator":"min","value":5}]}]}`,
			`{"super_groups":[{"properties":[{"key":"$feature_enrollment/k","type":"person","operator":"exact","value":["true"]}],"rollout_percentage":100}],"feature_enrollment":true,"groups":[{"properties":[{"key":"a","type":"person","operator":"gte","value":5}]}]}`,
		},
		{"order of members", "", `{"groups":[{"rollout_percentage":1,"properties":[{"value":"a","operator":"exact","key":"a","type":"person"}]}],"early_exit":true,"multivariate":{"variants":[{"rollout_percentage":100,"name":null,"key":"a"}]}}`, ""},
		{"white space", "", " { \"groups\" : [ { } ] } ", `{"groups":[{}]}`},
		{"duplicates", "", `{"groups":[{"rollout_percentage":1,"rollout_percentage":2}]}`, `{"groups":[{"rollout_percentage":2}]}`},
		{
			"a dependency by key", "", `{"groups":[{"properties":[{"value":true,"key":"base","type":"flag","operator":"flag_evaluates_to","dependency_chain":["base"],"label":"b"}]}]}`,
			`{"groups":[{"properties":[{"value":true,"key":"1","type":"flag","operator":"flag_evaluates_to","label":"b"}]}]}`,
		},
		{
			"a cohort", "", `{"groups":[{"properties":[{"type":"cohort","cohort_name":"x","key":"id","value":"1","operator":"in"}]}]}`,
			`{"groups":[{"properties":[{"type":"cohort","key":"id","value":"1","operator":"in","cohort_name":"c"}]}]}`,
		},
		{
			"remote configuration", `"is_remote_configuration":true,`, `{"payloads":{"true":{"a":1}},"groups":[{"rollout_percentage":null,"variant":null},{"properties":null},{"rollout_percentage":7}]}`,
			`{"payloads":{"true":{"a":1}},"groups":[{"rollout_percentage":100,"variant":null},{"properties":null,"rollout_percentage":100},{"rollout_percentage":7}]}`,
		},
		{"remote configuration without condition sets", `"is_remote_configuration":true,`, `{"payloads":{"true":"1"},"groups":[]}`, `{"payloads":{"true":"1"},"groups":[{"properties":[],"rollout_percentage":100}]}`},
		{
			"encrypted payloads", `"is_remote_configuration":true,"has_encrypted_payloads":true,`, `{"payloads":{"true":{"a": 1}},"groups":[{"rollout_percentage":9,"variant":null}]}`,
			`{"payloads":{"true":"{\"a\":1}"},"groups":[{"rollout_percentage":9,"variant":null}]}`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := newAPI(t, apiSetup{})
			a.ok(api("POST", projectPath+"/feature_flags/", `{"key":"base","filters":{"groups":[{}]}}`))
			a.ok(api("POST", projectPath+"/cohorts/", `{"name":"c","filters":{"properties":{"type":"OR","values":[]}}}`))
			want := tt.want
			if want == "" {
				want = tt.sent
			}
			want = canonical(t, want)
			if got := filtersOf(t, a, api("POST", projectPath+"/feature_flags/", `{"key":"k",`+tt.more+`"filters":`+tt.sent+`}`)); got != want {
				t.Errorf("created: %s\nwant %s", got, want)
			}
			get := api("GET", projectPath+"/feature_flags/2/", "")
			if got := filtersOf(t, a, get); got != want {
				t.Errorf("read: %s\nwant %s", got, want)
			}
			for _, body := range []string{`{"filters":` + tt.sent + `}`, `{"name":"n"}`, `{"key":"renamed"}`, `{"active":false}`, `{"active":true}`, `{"filters":{}}`} {
				if tt.name == "older forms" && strings.Contains(body, "renamed") {
					continue // the form names the flag
				}
				if got := filtersOf(t, a, api("PATCH", projectPath+"/feature_flags/2/", body)); got != want {
					t.Errorf("after %s: %s\nwant %s", body, got, want)
				}
			}
			if v := a.ok(get)["version"]; v != 5.0 && (tt.name != "older forms" || v != 4.0) {
				t.Errorf("version %v, want 5: the same filters are not a change", v)
			}
			definitions, err := a.store.CalledFlags(t.Context(), 1)
			if err != nil || definitions[1].Filters.Err() != nil {
				t.Fatal(err)
			}
			if text, _ := definitions[1].Filters.Encode(); bytes.Contains(text, []byte(`a\": 1`)) || !json.Valid(text) {
				t.Errorf("stored: %s", text)
			}
		})
	}
}

// A change of some members leaves the text of the others.
func TestRuling37Changes(t *testing.T) {
	a := newAPI(t, apiSetup{})
	const path = projectPath + "/feature_flags/1/"
	a.ok(api("POST", projectPath+"/feature_flags/", `{"key":"k","filters":{"payloads":{"true":{"a":1}},"groups":[{"variant":null,"rollout_percentage":1.0}],"multivariate":null}}`))
	for _, tt := range []struct{ body, want string }{
		{`{"filters":{"payloads":null}}`, `{"payloads":null,"groups":[{"variant":null,"rollout_percentage":1.0}],"multivariate":null}`},
		{`{"filters":{"early_exit":true}}`, `{"payloads":null,"groups":[{"variant":null,"rollout_percentage":1.0}],"multivariate":null,"early_exit":true}`},
		{`{"is_remote_configuration":true}`, `{"payloads":null,"groups":[{"variant":null,"rollout_percentage":1.0}],"multivariate":null,"early_exit":true}`},
		{`{"filters":{"groups":[{"label":"x"}]}}`, `{"payloads":null,"groups":[{"label":"x","rollout_percentage":100}],"multivariate":null,"early_exit":true}`},
		{`{"filters":{"multivariate":null,"early_exit":false,"groups":[{}],"payloads":{}}}`, `{"multivariate":null,"early_exit":false,"groups":[{"rollout_percentage":100}],"payloads":{}}`},
		{`{"filters":{"groups":[{"label":"y"}]}}`, `{"multivariate":null,"early_exit":false,"groups":[{"label":"y","rollout_percentage":100}],"payloads":{}}`},
	} {
		if got := filtersOf(t, a, api("PATCH", path, tt.body)); got != canonical(t, tt.want) {
			t.Errorf("PATCH %s: %s, want %s", tt.body, got, tt.want)
		}
	}
	// A label decides nothing, but it is a change.
	log := a.ok(api("GET", path+"activity/", ""))
	if entries := fmt.Sprint(log["results"]); !strings.Contains(entries, "label:y") {
		t.Errorf("the log does not have the label: %s", entries)
	}
	// A refused change leaves all as it was.
	a.fails(api("PATCH", path, `{"filters":{"groups":[{"rollout_percentage":101}]}}`), 400, "invalid_input")
	if got, want := filtersOf(t, a, api("GET", path, "")), `{"multivariate":null,"early_exit":false,"groups":[{"label":"y","rollout_percentage":100}],"payloads":{}}`; got != canonical(t, want) {
		t.Errorf("after a refused change: %s, want %s", got, want)
	}
}

// Early access marks a flag, and leaves the rest of the text.
func TestRuling37EarlyAccess(t *testing.T) {
	a := newAPI(t, apiSetup{})
	a.ok(api("POST", projectPath+"/feature_flags/", `{"key":"k","filters":{"groups":[{"variant":null}]}}`))
	id := a.ok(api("POST", projectPath+"/early_access_feature/", `{"name":"e","stage":"beta","feature_flag_id":1}`))["id"].(string)
	get := api("GET", projectPath+"/feature_flags/1/", "")
	if got, want := filtersOf(t, a, get), `{"groups":[{"variant":null}],"feature_enrollment":true}`; got != canonical(t, want) {
		t.Errorf("released: %s, want %s", got, want)
	}
	api("DELETE", projectPath+"/early_access_feature/"+id+"/", "").do(a)
	if got, want := filtersOf(t, a, get), `{"groups":[{"variant":null}]}`; got != want {
		t.Errorf("taken back: %s, want %s", got, want)
	}
}

// The tree of a cohort and the targeting of a survey come back as they were sent.
func TestRuling37CohortsAndSurveys(t *testing.T) {
	a := newAPI(t, apiSetup{})
	const tree = `{"properties":{"values":[{"values":[{"negation":false,"label":null,"value":"pro","type":"person","key":"plan","operator":null}],"type":"OR"}],"type":"AND"}}`
	if got := filtersOf(t, a, api("POST", projectPath+"/cohorts/", `{"name":"c","filters":`+tree+`}`)); got != canonical(t, tree) {
		t.Errorf("cohort: %s, want %s", got, tree)
	}
	if got := filtersOf(t, a, api("PATCH", projectPath+"/cohorts/1/", `{"description":"d"}`)); got != canonical(t, tree) {
		t.Errorf("cohort: %s, want %s", got, tree)
	}
	const targeting = `{"payloads":{},"groups":[{"variant":null,"properties":[{"value":"pro","type":"person","key":"plan","label":"x"}],"rollout_percentage":null}]}`
	if got := filtersOf(t, a, api("POST", projectPath+"/surveys/", `{"name":"s","type":"popover","targeting_flag_filters":`+targeting+`}`), "targeting_flag"); got != canonical(t, targeting) {
		t.Errorf("survey: %s, want %s", got, targeting)
	}
}

// Members of answers as clients of the public API expect them (management.md §8.1, §9.10,
// §11.7, §13.5).
func TestRuling91Members(t *testing.T) {
	a := newAPI(t, apiSetup{})
	for _, o := range a.ok(api("GET", "/api/users/@me/", ""))["organizations"].([]any) {
		if v, ok := o.(map[string]any)["is_pending_deletion"]; !ok || v != false {
			t.Errorf("organization %v, want is_pending_deletion false", o)
		}
	}
	a.ok(api("POST", projectPath+"/feature_flags/", `{"key":"base","filters":{"groups":[{}]}}`))
	const dependency = `{"groups":[{"properties":[{"key":%s,"type":"flag","operator":"flag_evaluates_to","value":true}]}]}`
	want := fmt.Sprintf(dependency, `"1"`)
	for _, key := range []string{`1`, `"1"`, `"base"`} {
		body := fmt.Sprintf(`{"key":"by-%s","filters":%s}`, strings.Trim(key, `"`)+strconv.Itoa(len(key)), fmt.Sprintf(dependency, key))
		if got := filtersOf(t, a, api("POST", projectPath+"/feature_flags/", body)); got != canonical(t, want) {
			t.Errorf("the flag %s is named by %s, want %s", key, got, want)
		}
	}
	if v := a.ok(api("POST", projectPath+"/surveys/", `{"name":"s","type":"popover"}`))["user_access_level"]; v != "manager" {
		t.Errorf("user_access_level of a survey %v, want manager", v)
	}
	for _, path := range []string{"/feature_flags/1/activity/", "/surveys/activity/"} {
		for _, v := range a.ok(api("GET", projectPath+path, ""))["results"].([]any) {
			if changes, ok := v.(map[string]any)["detail"].(map[string]any)["changes"].([]any); !ok || len(changes) != 0 {
				t.Errorf("%s: changes of a creation %v, want []", path, v)
			}
		}
	}
}

// management.md §9.1: linked insights.
func TestRuling52LinkedInsight(t *testing.T) {
	a := newAPI(t, apiSetup{})
	if v := a.ok(api("POST", projectPath+"/surveys/", `{"name":"s","type":"popover","linked_insight_id":4711}`))["linked_insight_id"]; v != 4711.0 {
		t.Errorf("linked_insight_id %v, want 4711", v)
	}
	a.fails(api("POST", projectPath+"/surveys/", `{"name":"t","type":"popover","linked_insight_id":"x"}`), 400, "invalid_input")
}

// management.md §9.1: computed members of a survey are ignored, and have a type.
func TestComputedMembersOfSurveys(t *testing.T) {
	a := newAPI(t, apiSetup{})
	const body = `{"name":"s","type":"popover",%s}`
	for _, wrong := range []string{
		`"iteration_start_dates":"2026-01-01"`, `"iteration_start_dates":[1]`, `"iteration_start_dates":["x"]`, `"current_iteration":"first"`,
		`"current_iteration_start_date":5`, `"response_sampling_daily_limits":"x"`, `"response_sampling_daily_limits":{}`,
	} {
		e, _ := a.fails(api("POST", projectPath+"/surveys/", fmt.Sprintf(body, wrong)), 400, "invalid_input")
		if name, _, _ := strings.Cut(strings.Trim(wrong, `"`), `"`); e.Attr == nil || *e.Attr != name {
			t.Errorf("%s: %+v, want attr %s", wrong, e, name)
		}
	}
	v := a.ok(api("POST", projectPath+"/surveys/", fmt.Sprintf(body, `"iteration_start_dates":["2026-01-01T00:00:00Z",null],"current_iteration":3,"current_iteration_start_date":null,"response_sampling_daily_limits":"[]"`)))
	if v["current_iteration"] != nil || len(v["iteration_start_dates"].([]any)) != 0 {
		t.Errorf("computed members are taken over: %v", v)
	}
}

// management.md §13.13: while the flags of a project come from a file, they are shown as
// they are served, and not changed.
func TestRuling63FileFlags(t *testing.T) {
	document, err := flags.Decode(strings.NewReader(`{"flags":[{"id":7,"key":"served","name":"N","active":true,"evaluation_runtime":"server","filters":{"groups":[{"properties":[{"key":"id","type":"cohort","value":3}],"rollout_percentage":20}]}},
		{"key":"e","active":true,"filters":{"groups":[]}}],
		"cohorts":{"3":{"type":"OR","values":[{"key":"plan","type":"person","value":"pro"}]}}}`))
	if err != nil {
		t.Fatal(err)
	}
	a := newAPI(t, apiSetup{})
	feature := a.ok(api("POST", projectPath+"/early_access_feature/", `{"name":"e","stage":"beta"}`))["id"].(string)
	if err := a.service.ImportFile(t.Context(), 1, "flags.json", document); err != nil {
		t.Fatal(err)
	}
	var keys []string
	for _, v := range a.ok(api("GET", projectPath+"/feature_flags/", ""))["results"].([]any) {
		keys = append(keys, v.(map[string]any)["key"].(string))
	}
	if diff := cmp.Diff([]string{"served", "e"}, keys); diff != "" {
		t.Errorf("flags (-want +got)\n%s", diff)
	}
	if v := a.ok(api("GET", projectPath+"/feature_flags/7/", "")); v["name"] != "N" || v["evaluation_runtime"] != "server" {
		t.Errorf("flag %v", v)
	}
	if v := a.ok(api("GET", projectPath+"/cohorts/3/", "")); !strings.Contains(fmt.Sprint(v["filters"]), "plan") {
		t.Errorf("cohort %v", v)
	}
	for _, c := range []call{
		api("POST", projectPath+"/feature_flags/", `{"key":"new","filters":{"groups":[{}]}}`),
		api("PATCH", projectPath+"/feature_flags/7/", `{"active":false}`),
		api("PATCH", projectPath+"/feature_flags/1/", `{"active":false}`),
		api("POST", projectPath+"/feature_flags/7/disable/", ``),
		api("POST", projectPath+"/feature_flags/bulk_delete/", `{"ids":[7]}`),
		api("POST", projectPath+"/cohorts/", `{"name":"d","filters":{"properties":{"type":"OR","values":[]}}}`),
		api("PATCH", projectPath+"/cohorts/3/", `{"name":"d"}`),
		api("POST", projectPath+"/early_access_feature/", `{"name":"f","stage":"beta"}`),
		api("DELETE", projectPath+"/early_access_feature/"+feature+"/", ``),
		api("POST", projectPath+"/surveys/", `{"name":"s","type":"popover","targeting_flag_filters":{"groups":[{"properties":[{"key":"a","type":"person","value":1}]}]}}`),
	} {
		if e, _ := a.fails(c, 409, "conflict"); !strings.Contains(e.Detail, "flags.json") {
			t.Errorf("%s %s: %s; want it to name the file", c.method, c.target, e.Detail)
		}
	}
	a.ok(api("POST", projectPath+"/surveys/", `{"name":"s","type":"popover"}`))
	if err := a.service.ReleaseFiles(t.Context()); err != nil {
		t.Fatal(err)
	}
	a.ok(api("PATCH", projectPath+"/feature_flags/7/", `{"active":false}`))
}

// management.md §13.3 and evaluation.md §9.2: the match mode of contexts.
func TestRuling64MatchMode(t *testing.T) {
	a := newAPI(t, apiSetup{})
	const path = projectPath + "/feature_flags/"
	if v := a.ok(api("POST", path, `{"key":"k","evaluation_contexts":["a","b"],"filters":{"groups":[{}]}}`)); v["evaluation_contexts_match_mode"] != "any" {
		t.Errorf("a new flag asks for %v of its contexts", v["evaluation_contexts_match_mode"])
	}
	a.ok(api("PATCH", path+"1/", `{"evaluation_contexts_match_mode":"all"}`))
	if v := a.ok(api("GET", path+"1/", "")); v["evaluation_contexts_match_mode"] != "all" || v["version"] != 2.0 {
		t.Errorf("the flag asks for %v of its contexts, version %v", v["evaluation_contexts_match_mode"], v["version"])
	}
	a.fails(api("PATCH", path+"1/", `{"evaluation_contexts_match_mode":"some"}`), 400, "invalid_choice")
	list, err := a.store.CalledFlags(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	if d := storage.FlagDefinitions(list, nil, nil); d.Flags[0].EvaluationContextsMatchMode != "all" {
		t.Errorf("the definition asks for %q of its contexts", d.Flags[0].EvaluationContextsMatchMode)
	}
}

// management.md §13.1: counts of persons by properties need person:read. To ask for one
// address after the other would tell who there is.
func TestRuling68PersonsByProperty(t *testing.T) {
	a := newAPI(t, withStoredData)
	u, err := a.store.Users().Get(t.Context(), storage.UserEmail.Is("ada@acme.example"))
	if err != nil {
		t.Fatal(err)
	}
	key := func(scopes ...string) string {
		value := "phx_" + strings.Join(scopes, "-")
		if err := a.store.Keys().Create(t.Context(), &storage.PersonalKey{ID: "id" + value, User: u.ID, Mask: "phx_", Hash: storage.HashKey(value), Scopes: scopes, Created: apiTime}); err != nil {
			t.Fatal(err)
		}
		return value
	}
	without, with := key("feature_flag:read", "cohort:write"), key("feature_flag:read", "cohort:write", "person:read")
	ask := api("POST", projectPath+"/feature_flags/user_blast_radius/", `{"condition":{"properties":[{"key":"email","type":"person","value":"ada@acme.example"}]}}`)
	a.fails(ask.with(without), 403, "permission_denied")
	a.ok(ask.with(with))
	a.ok(api("POST", projectPath+"/cohorts/", `{"name":"c","filters":{"properties":{"type":"OR","values":[{"key":"email","type":"person","value":"ada@acme.example"}]}}}`).with(without))
	if err := a.service.CountCohorts(t.Context()); err != nil {
		t.Fatal(err)
	}
	if v := a.ok(api("GET", projectPath+"/cohorts/1/", "").with(without)); v["count"] != nil {
		t.Errorf("count %v for a key without person:read", v["count"])
	}
	if v := a.ok(api("GET", projectPath+"/cohorts/1/", "").with(with)); v["count"] != 0.0 {
		t.Errorf("count %v for a key with person:read, want 0", v["count"])
	}
}

// withStoredData has the store for captured data, too.
var withStoredData = apiSetup{management: func(c *management.Config) { c.Data = c.Store.(sqlstore.Storage) }}
