package server_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/server"
)

// ruleDocument has a flag for each row of the table of rules.md §4.3, and flags of §4.4 and §5.
const ruleDocument = `{"flags":[` +
	`{"id":1,"key":"release","version":4,"active":true,"filters":{"version":2,"return_type":"string","default_value":null,"rules":[` +
	`{"id":"00000000-0000-4000-8000-000000000001","rule_type":"targeted_release","targeting":{"properties":[{"key":"plan","type":"person","value":"none"}]},"value":"x"},` +
	`{"id":"00000000-0000-4000-8000-000000000002","rule_type":"targeted_release","targeting":{"properties":[]},"value":"lab"}]}},` +
	`{"id":2,"key":"rollout","active":true,"filters":{"version":2,"return_type":"number","default_value":null,"rules":[{"id":"00000000-0000-4000-8000-000000000003","rule_type":"percentage_rollout","targeting":{"properties":[]},"value":1.5e1,"rollout_percentage":100,"on_rollout_miss":"continue","assignment_algorithm":"sha1_60_v1","seed":"my-seed"}]}},` +
	`{"id":3,"key":"own-split","active":true,"filters":{"version":2,"return_type":"object","default_value":null,"rules":[{"id":"00000000-0000-4000-8000-000000000004","rule_type":"experiment","experiment_id":null,"paused":false,"targeting":{"properties":[]},"rollout_percentage":100,"on_rollout_miss":"continue","assignment_algorithm":"sha1_60_v1","seed":"my-seed","variants":[{"key":"a","weight":100,"value":{"n":[1]}},{"key":"b","weight":0,"value":{}}]}]}},` +
	`{"id":4,"key":"split","active":true,"filters":{"version":2,"return_type":"object","default_value":null,"rules":[{"id":"00000000-0000-4000-8000-000000000005","rule_type":"experiment","experiment_id":9,"paused":false,"targeting":{"properties":[]},"rollout_percentage":100,"on_rollout_miss":"continue","assignment_algorithm":"sha1_60_v1","seed":"my-seed","variants":[{"key":"a","weight":0,"value":{"n":[1]}},{"key":"b","weight":100,"value":{}}]}]}},` +
	`{"id":5,"key":"miss","active":true,"filters":{"version":2,"return_type":"number","default_value":0,"rules":[{"id":"00000000-0000-4000-8000-000000000006","rule_type":"percentage_rollout","targeting":{"properties":[]},"value":1,"rollout_percentage":0,"on_rollout_miss":"return_default","assignment_algorithm":"sha1_60_v1","seed":"my-seed"}]}},` +
	`{"id":6,"key":"miss-of-own-split","active":true,"filters":{"version":2,"return_type":"boolean","default_value":null,"rules":[{"id":"00000000-0000-4000-8000-000000000007","rule_type":"experiment","experiment_id":null,"paused":false,"targeting":{"properties":[]},"rollout_percentage":0,"on_rollout_miss":"return_default","assignment_algorithm":"sha1_60_v1","seed":"my-seed","variants":[{"key":"a","weight":50,"value":true},{"key":"b","weight":50,"value":false}]}]}},` +
	`{"id":7,"key":"miss-of-split","active":true,"filters":{"version":2,"return_type":"boolean","default_value":true,"rules":[{"id":"00000000-0000-4000-8000-000000000008","rule_type":"experiment","experiment_id":9,"paused":false,"targeting":{"properties":[]},"rollout_percentage":0,"on_rollout_miss":"return_default","assignment_algorithm":"sha1_60_v1","seed":"my-seed","variants":[{"key":"a","weight":50,"value":true},{"key":"b","weight":50,"value":false}]}]}},` +
	`{"id":8,"key":"paused","active":true,"filters":{"version":2,"return_type":"string","default_value":"d","rules":[{"id":"00000000-0000-4000-8000-000000000009","rule_type":"experiment","experiment_id":9,"paused":true,"targeting":{"properties":[]},"rollout_percentage":100,"on_rollout_miss":"return_default","assignment_algorithm":"sha1_60_v1","seed":"my-seed","variants":[{"key":"a","weight":50,"value":"x"},{"key":"b","weight":50,"value":"y"}]}]}},` +
	`{"id":9,"key":"paused-own","active":true,"filters":{"version":2,"return_type":"string","default_value":"d","rules":[{"id":"00000000-0000-4000-8000-000000000010","rule_type":"experiment","experiment_id":null,"paused":true,"targeting":{"properties":[]},"rollout_percentage":100,"on_rollout_miss":"return_default","assignment_algorithm":"sha1_60_v1","seed":"my-seed","variants":[{"key":"a","weight":50,"value":"x"},{"key":"b","weight":50,"value":"y"}]}]}},` +
	`{"id":10,"key":"held","active":true,"filters":{"version":2,"return_type":"string","default_value":"d","rules":[{"id":"00000000-0000-4000-8000-000000000011","rule_type":"experiment","experiment_id":9,"paused":false,"targeting":{"properties":[]},"rollout_percentage":100,"on_rollout_miss":"return_default","assignment_algorithm":"sha1_60_v1","seed":"my-seed","variants":[{"key":"a","weight":50,"value":"x"},{"key":"b","weight":50,"value":"y"}],"holdout":{"id":3,"seed":"my-seed","exclusion_percentage":100}}]}},` +
	`{"id":11,"key":"held-own","active":true,"filters":{"version":2,"return_type":"string","default_value":null,"rules":[{"id":"00000000-0000-4000-8000-000000000012","rule_type":"experiment","experiment_id":null,"paused":false,"targeting":{"properties":[]},"rollout_percentage":100,"on_rollout_miss":"return_default","assignment_algorithm":"sha1_60_v1","seed":"my-seed","variants":[{"key":"a","weight":50,"value":"x"},{"key":"b","weight":50,"value":"y"}],"holdout":{"id":null,"seed":"my-seed","exclusion_percentage":100}}]}},` +
	`{"id":12,"key":"none","active":true,"has_experiment":true,"filters":{"version":2,"return_type":"object","default_value":{},"rules":[]}},` +
	`{"id":13,"key":"none-null","active":true,"filters":{"version":2,"return_type":"object","default_value":null,"rules":[]}},` +
	`{"id":14,"key":"group","active":true,"filters":{"version":2,"return_type":"boolean","default_value":true,"aggregation_group_type_index":0,"rules":[]}},` +
	`{"id":15,"key":"error","active":true,"filters":{"version":2,"return_type":"boolean","default_value":true,"rules":[{"id":"00000000-0000-4000-8000-000000000013","rule_type":"targeted_release","targeting":{"properties":[{"key":"plan","type":"person","operator":"regex","value":"("}]},"value":true}]}},` +
	`{"id":16,"key":"invalid","active":true,"filters":{"version":2,"return_type":"boolean","default_value":"seed","rules":[]}},` +
	`{"id":17,"key":"dependency","active":true,"filters":{"version":2,"return_type":"boolean","default_value":true,"rules":[{"id":"00000000-0000-4000-8000-000000000014","rule_type":"targeted_release","targeting":{"properties":[{"key":"15","type":"flag","operator":"flag_evaluates_to","value":true}]},"value":true}]}},` +
	`{"id":18,"key":"no-dependency","active":true,"filters":{"version":2,"return_type":"boolean","default_value":true,"rules":[{"id":"00000000-0000-4000-8000-000000000015","rule_type":"targeted_release","targeting":{"properties":[{"key":"404","type":"flag","operator":"flag_evaluates_to","value":true}]},"value":true}]}},` +
	`{"id":19,"key":"itself","active":true,"filters":{"version":2,"return_type":"boolean","default_value":true,"rules":[{"id":"00000000-0000-4000-8000-000000000016","rule_type":"targeted_release","targeting":{"properties":[{"key":"19","type":"flag","operator":"flag_evaluates_to","value":true}]},"value":true}]}},` +
	`{"id":20,"key":"inactive","active":false,"filters":{"version":2,"return_type":"boolean","default_value":true,"rules":[]}},` +
	`{"id":21,"key":"false","active":true,"filters":{"version":2,"return_type":"boolean","default_value":true,"rules":[{"id":"00000000-0000-4000-8000-000000000017","rule_type":"targeted_release","targeting":{"properties":[]},"value":false}]}},` +
	`{"id":22,"key":"exact","active":true,"filters":{"version":2,"return_type":"boolean","default_value":false,"rules":[{"id":"00000000-0000-4000-8000-000000000018","rule_type":"percentage_rollout","targeting":{"properties":[{"key":"plan","type":"person","value":"pro"}]},"value":true,"rollout_percentage":100,"on_rollout_miss":"continue","assignment_algorithm":"sha1_60_v1","seed":"exact"}]}},` +
	`{"id":23,"key":"older-on","active":true,"filters":{"groups":[{}],"payloads":{"true":"[1]"}}},` +
	`{"id":24,"key":"older-variant","active":true,"has_experiment":false,"filters":{"groups":[{}],"multivariate":{"variants":[{"key":"a","rollout_percentage":100}]},"payloads":{"a":"\"p\""}}},` +
	`{"id":25,"key":"older-off","active":true,"filters":{"groups":[{"rollout_percentage":0}]}},` +
	`{"id":26,"key":"older-failed","active":true,"filters":{"groups":[{"properties":[{"key":"id","type":"cohort","value":404}]}]}},` +
	`{"id":27,"key":"older-dependency","active":true,"filters":{"groups":[{"properties":[{"key":"15","type":"flag","operator":"flag_evaluates_to","value":true}]}]}}` +
	`],"group_type_mapping":{"0":"company"}}`

// rowsOfRules is what a person whose plan is pro gets: the record of v=3 without descriptions and
// without the members that all have, and what older clients see.
var rowsOfRules = []struct {
	key            string
	value          string
	code           string
	index          int
	metadata       string // beside id, version, config_version, description, payload
	older, payload string
	olderCode      string
}{
	{"release", `"lab"`, "targeting_match", 1, `"has_experiment":false,"rule_type":"targeted_release","rule_id":"00000000-0000-4000-8000-000000000002"`, `"lab"`, ``, "condition_match"},
	{"rollout", `15`, "targeting_match", 0, `"has_experiment":false,"rule_type":"percentage_rollout","rule_id":"00000000-0000-4000-8000-000000000003"`, `true`, `1.5e1`, "condition_match"},
	{"own-split", `{"n":[1]}`, "targeting_match", 0, `"has_experiment":false,"rule_type":"experiment","rule_id":"00000000-0000-4000-8000-000000000004"`, `true`, `{"n":[1]}`, "condition_match"},
	{"split", `{}`, "experiment_split", 0, `"has_experiment":true,"rule_type":"experiment","rule_id":"00000000-0000-4000-8000-000000000005","experiment_id":9,"variant_key":"b"`, `true`, `{}`, "condition_match"},
	{"miss", `0`, "rollout_miss", 0, `"has_experiment":false,"rule_type":"percentage_rollout","rule_id":"00000000-0000-4000-8000-000000000006"`, `true`, `0`, "out_of_rollout_bound"},
	{"miss-of-own-split", `null`, "rollout_miss", 0, `"has_experiment":false,"rule_type":"experiment","rule_id":"00000000-0000-4000-8000-000000000007"`, `false`, ``, "out_of_rollout_bound"},
	{"miss-of-split", `true`, "rollout_miss", 0, `"has_experiment":true,"rule_type":"experiment","rule_id":"00000000-0000-4000-8000-000000000008","experiment_id":9`, `true`, ``, "out_of_rollout_bound"},
	{"paused", `"d"`, "experiment_paused", 0, `"has_experiment":true,"rule_type":"experiment","rule_id":"00000000-0000-4000-8000-000000000009","experiment_id":9`, `"d"`, ``, "no_condition_match"},
	{"paused-own", `"d"`, "experiment_paused", 0, `"has_experiment":false,"rule_type":"experiment","rule_id":"00000000-0000-4000-8000-000000000010"`, `"d"`, ``, "no_condition_match"},
	{"held", `"d"`, "holdout", 0, `"has_experiment":true,"rule_type":"experiment","rule_id":"00000000-0000-4000-8000-000000000011","experiment_id":9,"holdout_id":3`, `"d"`, ``, "holdout_condition_value"},
	{"held-own", `null`, "holdout", 0, `"has_experiment":false,"rule_type":"experiment","rule_id":"00000000-0000-4000-8000-000000000012"`, `false`, ``, "holdout_condition_value"},
	{"none", `{}`, "no_rule_match", -1, `"has_experiment":true`, `true`, `{}`, "no_condition_match"},
	{"none-null", `null`, "no_rule_match", -1, `"has_experiment":false`, `false`, ``, "no_condition_match"},
	{"group", `null`, "missing_group_key", -1, `"has_experiment":false`, `false`, ``, "no_condition_match"},
	{"error", `null`, "error", -1, `"has_experiment":false`, `false`, ``, "no_condition_match"},
	{"invalid", `null`, "error", -1, `"has_experiment":true`, `false`, ``, "flag_data_parsing_error"},
	{"dependency", `null`, "dependency_error", -1, `"has_experiment":false`, `false`, ``, "no_condition_match"},
	{"no-dependency", `null`, "dependency_error", -1, `"has_experiment":false`, `false`, ``, "no_condition_match"},
	{"itself", `null`, "dependency_error", -1, `"has_experiment":false`, `false`, ``, "no_condition_match"},
	{"false", `false`, "targeting_match", 0, `"has_experiment":false,"rule_type":"targeted_release","rule_id":"00000000-0000-4000-8000-000000000017"`, `false`, ``, "condition_match"},
	{"exact", `true`, "targeting_match", 0, `"has_experiment":false,"rule_type":"percentage_rollout","rule_id":"00000000-0000-4000-8000-000000000018"`, `true`, ``, "condition_match"},
	{"older-on", `true`, "condition_match", 0, `"has_experiment":true`, `true`, `[1]`, "condition_match"},
	{"older-variant", `"a"`, "condition_match", 0, `"has_experiment":false,"variant_key":"a"`, `"a"`, `"p"`, "condition_match"},
	{"older-off", `false`, "out_of_rollout_bound", 0, `"has_experiment":true`, `false`, ``, "out_of_rollout_bound"},
	{"older-failed", `null`, "dependency_not_found_cohort", -1, `"has_experiment":true`, `false`, ``, "dependency_not_found_cohort"},
	{"older-dependency", `null`, "flag_data_parsing_error", -1, `"has_experiment":true`, `false`, ``, "flag_data_parsing_error"},
}

// rowFailed are the flags that cannot be computed.
func rowFailed(code string) bool {
	return slices.Contains([]string{"error", "dependency_error", "dependency_not_found_cohort", "flag_data_parsing_error"}, code)
}

const rulePerson = `{"api_key":"phc_acme","distinct_id":"ada","person_properties":{"plan":"pro"}}`

// newRules returns a server with the flags of a document.
func newRules(t testing.TB, document string, change func(*server.Config)) *apiServer {
	t.Helper()
	projects := new(server.Registry)
	setRules(t, projects, document)
	return newAPI(t, apiSetup{server: func(c *server.Config) {
		c.Projects, c.OFREP = projects, true
		if change != nil {
			change(c)
		}
	}})
}

// setRules puts the flags of a document into force.
func setRules(t testing.TB, projects *server.Registry, document string) {
	t.Helper()
	d := decodeDefinitions(t, document)
	snapshot, err := flags.Compile(d, flags.CompileOptions{})
	if err != nil {
		t.Fatal(err)
	}
	e := new(flags.Evaluator)
	e.Swap(snapshot)
	projects.Set("phc_acme", &server.Project{ID: 1, Organization: "acme", Flags: e, Published: publish(t, server.Publication{Project: 1, APIKey: "phc_acme", Definitions: d})})
}

// withoutSeeds fails if a name at any depth of an answer says seed (rules.md §4.3).
func withoutSeeds(t testing.TB, what string, v any) {
	t.Helper()
	switch v := v.(type) {
	case map[string]any:
		for name, inner := range v {
			if strings.Contains(strings.ToLower(name), "seed") {
				t.Errorf("%s has a member %s", what, name)
			}
			withoutSeeds(t, what, inner)
		}
	case []any:
		for _, inner := range v {
			withoutSeeds(t, what, inner)
		}
	case string:
		if strings.Contains(v, "my-seed") {
			t.Errorf("%s has a seed", what)
		}
	}
}

// answerTo sends a request with a body and decodes the answer, which has no seed.
func answerTo(t testing.TB, h http.Handler, target, body string) map[string]any {
	t.Helper()
	resp := call{target: target, body: body}.do(h)
	var answer map[string]any
	text := bodyText(t, resp)
	if err := json.Unmarshal([]byte(text), &answer); err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("POST %s = %d %s", target, resp.StatusCode, text)
	}
	withoutSeeds(t, target, answer)
	return answer
}

func decoded(t testing.TB, text string) (v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

// TestRuleRecords is rules.md §4.3: each row of its table, in both forms of /flags with records.
func TestRuleRecords(t *testing.T) {
	a := newRules(t, ruleDocument, nil)
	for _, target := range []string{"/flags?v=3", "/flags?v=3&detailed_analysis=true", "/flags?v=17", "/flags/?version=3", "/flags?v=2", "/flags", "/flags?v=2&detailed_analysis=true", "/decide?v=4"} {
		answer := answerTo(t, a, target, rulePerson)
		if answer["errorsWhileComputingFlags"] != true {
			t.Errorf("%s: no error", target)
		}
		records := answer["flags"].(map[string]any)
		third := strings.Contains(target, "3") || strings.Contains(target, "17")
		if len(records) != len(rowsOfRules) {
			t.Errorf("%s: flags %v", target, slices.Sorted(maps.Keys(records)))
		}
		for n, row := range rowsOfRules {
			id := map[bool]int{false: n + 1, true: n + 2}[n >= 19] // the inactive flag has no record
			version := map[bool]int{true: 4}[n == 0]
			failed, index := "", "null"
			if row.index >= 0 {
				index = fmt.Sprint(row.index)
			}
			older := strings.HasPrefix(row.key, "older")
			var want string
			switch config := 2; {
			case third:
				if rowFailed(row.code) {
					failed = `,"failed":true`
				}
				payload := "null"
				if older {
					config = 1
					if row.payload != "" {
						payload = fmt.Sprintf("%q", row.payload)
					}
				}
				want = fmt.Sprintf(`{"key":%q,"value":%s%s,"reason":{"code":%q,"condition_index":%s},"metadata":{"id":%d,"version":%d,"config_version":%d,"description":null,"payload":%s,%s}}`,
					row.key, row.value, failed, row.code, index, id, version, config, payload, row.metadata)
			default:
				members := `"enabled":` + row.older
				if row.older[0] == '"' {
					members = `"enabled":true,"variant":` + row.older
				}
				if rowFailed(row.code) {
					members += `,"failed":true`
				}
				payload := ""
				if row.payload != "" {
					payload = fmt.Sprintf(`"payload":%q,`, row.payload)
				}
				has := strings.Contains(row.metadata, `"has_experiment":true`)
				want = fmt.Sprintf(`{"key":%q,%s,"reason":{"code":%q,"condition_index":%s},"metadata":{"id":%d,"version":%d,"description":null,%s"has_experiment":%v}}`,
					row.key, members, row.olderCode, index, id, version, payload, has)
			}
			got := records[row.key].(map[string]any)
			reason := got["reason"].(map[string]any)
			if reason["description"] == "" {
				t.Errorf("%s: %s has no description", target, row.key)
			}
			delete(reason, "description")
			conditions, ok := got["conditions"].([]any)
			if detailed := strings.Contains(target, "detailed"); ok != detailed || detailed && (len(conditions) > 0) != older {
				t.Errorf("%s: %s has the conditions %v", target, row.key, got["conditions"])
			}
			delete(got, "conditions")
			if diff := cmp.Diff(decoded(t, want), any(got)); diff != "" {
				t.Errorf("%s, %s (-want +got)\n%s", target, row.key, diff)
			}
		}
	}
}

// TestRuleValues is rules.md §4.4: the forms that have values in place of records.
func TestRuleValues(t *testing.T) {
	a := newRules(t, ruleDocument, nil)
	all, on, keys, payloads := make(map[string]any), make(map[string]any), []string{}, make(map[string]any)
	for _, row := range rowsOfRules {
		value := decoded(t, row.older)
		all[row.key] = value
		if value != false {
			on[row.key] = value
			keys = append(keys, row.key)
		}
		if row.payload != "" {
			payloads[row.key] = row.payload
		}
	}
	slices.Sort(keys)
	for target, want := range map[string]any{"/flags?v=1": all, "/flags?v=x": all, "/decide?v=3": all, "/decide?v=2": on, "/decide?v=1": keys, "/decide": keys} {
		answer := answerTo(t, a, target, rulePerson)
		got := answer["featureFlags"]
		if list, ok := got.([]any); ok {
			texts := []string{}
			for _, key := range list {
				texts = append(texts, key.(string))
			}
			slices.Sort(texts)
			got = texts
		}
		if diff := cmp.Diff(want, got); diff != "" || answer["errorsWhileComputingFlags"] != true {
			t.Errorf("%s (-want +got)\n%s", target, diff)
		}
		if got, ok := answer["featureFlagPayloads"]; ok != cmp.Equal(want, any(all)) || ok && cmp.Diff(any(payloads), got) != "" {
			t.Errorf("%s: payloads %v, want %v", target, got, payloads)
		}
	}
}

// TestRuleEnvelope is rules.md §4.2.
func TestRuleEnvelope(t *testing.T) {
	minimal := strings.Replace(ruleDocument, `{"flags":[`, `{"minimal_flag_called_events":true,"flags":[`, 1)
	limited := false
	a := newRules(t, minimal, func(c *server.Config) { c.Quota = quotaFunc(func(string, int) bool { return !limited }) })
	one := func(key string) string {
		return strings.Replace(rulePerson, `{`, fmt.Sprintf(`{"flag_keys":[%q],`, key), 1)
	}
	for name, tt := range map[string]struct {
		target, body string
		limited      bool
		names        string
		errors       bool
		flags        int
	}{
		"a flag":       {"/flags?v=3", one("release"), false, "errorsWhileComputingFlags evaluatedAt flags minimalFlagCalledEvents requestId", false, 1},
		"a failed one": {"/flags?v=3", one("error"), false, "errorsWhileComputingFlags evaluatedAt flags minimalFlagCalledEvents requestId", true, 1},
		"quota":        {"/flags?v=3", rulePerson, true, "errorsWhileComputingFlags evaluatedAt flags quotaLimited requestId", false, 0},
		"no flags":     {"/flags?v=3", `{"api_key":"phc_acme","disable_flags":true}`, false, "errorsWhileComputingFlags evaluatedAt flags requestId", false, 0},
	} {
		limited = tt.limited
		answer := answerTo(t, a, tt.target, tt.body)
		if got := strings.Join(slices.Sorted(maps.Keys(answer)), " "); got != tt.names || answer["errorsWhileComputingFlags"] != tt.errors || len(answer["flags"].(map[string]any)) != tt.flags {
			t.Errorf("%s: %v", name, answer)
		}
		if tt.limited && !cmp.Equal(answer["quotaLimited"], any([]any{"feature_flags"})) {
			t.Errorf("%s: %v", name, answer)
		}
	}
	limited = false
	plain, merged := answerTo(t, a, "/flags?v=3", rulePerson), answerTo(t, a, "/flags?v=3&config=true", rulePerson)
	older := answerTo(t, a, "/flags?v=2&config=true", rulePerson)
	if len(merged) <= len(plain) || len(merged) != len(older) || merged["supportedCompression"] == nil {
		t.Errorf("the configuration is not merged at the top: %v", slices.Sorted(maps.Keys(merged)))
	}
}

type quotaFunc func(organization string, n int) bool

func (f quotaFunc) Take(organization string, n int) bool { return f(organization, n) }

// TestRuleDefinitions is rules.md §5: who says rule_sets gets them, and others only what they can
// evaluate.
func TestRuleDefinitions(t *testing.T) {
	a := newRules(t, ruleDocument, nil)
	get := func(target string) (flags map[string]map[string]any, cohorts any, etag string) {
		resp := api("GET", target, "").do(a)
		text := bodyText(t, resp)
		var answer struct {
			Flags   []map[string]any
			Cohorts any
		}
		if err := json.Unmarshal([]byte(text), &answer); err != nil || resp.StatusCode != 200 {
			t.Fatalf("GET %s = %d %s", target, resp.StatusCode, text)
		}
		flags = make(map[string]map[string]any)
		for _, f := range answer.Flags {
			flags[f["key"].(string)] = f["filters"].(map[string]any)
		}
		return flags, answer.Cohorts, resp.Header.Get("Etag")
	}
	older := []string{"exact", "invalid", "older-dependency", "older-failed", "older-off", "older-on", "older-variant"}
	for _, path := range definitionPaths {
		tags := make(map[string]bool)
		for query, knows := range map[string]bool{
			"": false, "?send_cohorts": false, "?rule_sets=false": false, "?rule_sets&rule_sets=0": false, "?rulesets": false,
			"?rule_sets": true, "?rule_sets=": true, "?rule_sets=true": true, "?rule_sets=1": true, "?send_cohorts&rule_sets": true, "?token=phc_acme&rule%5Fsets": true,
		} {
			got, _, etag := get(path + query)
			tags[fmt.Sprint(knows, etag)] = true
			if !knows {
				if keys := slices.Sorted(maps.Keys(got)); !slices.Equal(keys, older) {
					t.Errorf("%s%s has the flags %v, want %v", path, query, keys, older)
				}
				for key, filters := range got {
					if filters["groups"] == nil || filters["rules"] != nil || filters["seed"] != nil {
						t.Errorf("%s%s: %s has the filters %v", path, query, key, filters)
					}
				}
				continue
			}
			if len(got) != 27 || got["rollout"]["version"] != 2.0 || got["rollout"]["rules"].([]any)[0].(map[string]any)["seed"] != "my-seed" || got["older-on"]["groups"] == nil {
				t.Errorf("%s%s: %v", path, query, got)
			}
		}
		if len(tags) != 2 {
			t.Errorf("%s: tags %v, want one for each document", path, tags)
		}
	}
	// Without rule sets there is one document with cohorts.
	a = newRules(t, `{"flags":[{"id":23,"key":"older-on","active":true,"filters":{"groups":[{}]}}]}`, nil)
	_, _, with := get(definitionsPath + "?rule_sets")
	if _, _, without := get(definitionsPath); with != without {
		t.Errorf("tags %s and %s of equal documents", with, without)
	}
	e, _ := a.fails(api("GET", definitionsPath+"?rule_sets=perhaps", ""), 400, "invalid_input")
	if !strings.Contains(e.Detail, "rule_sets") {
		t.Errorf("%+v", e)
	}
}
