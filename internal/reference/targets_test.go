package reference_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/flagstaff-go/flagstaff/internal/reference"
)

// TestCohortExamples checks §5.7, with the cohorts of §5.1.
func TestCohortExamples(t *testing.T) {
	const flat = `{
  "98": {"type":"OR","values":[
     {"type":"AND","values":[
        {"key":"email","type":"person","operator":"icontains","value":"@acme.com","negation":false},
        {"key":"id","type":"cohort","value":1,"negation":true}]}]},
  "1": {"type":"AND","values":[{"key":"plan","type":"person","operator":"exact","value":["pro"]}]}}`
	const records = `[{"id":98,"is_static":false,"cohort_type":null,"filters":{"properties":{"type":"or","values":[
        {"type":"property","values":[
        {"key":"email","type":"person","operator":"icontains","value":"@acme.com"},
        {"key":"id","type":"cohort","value":"1","operator":"not_in"}]}]}}},
		{"id":1,"filters":null,"groups":[{"properties":{"plan":["pro"]}}]}]`
	const old = `{"98":{"OR":[{"AND":[
        {"key":"email","operator":"icontains","value":"@acme.com","negation":false},
        {"key":"id","type":"cohort","value":1,"operator":"in","negation":true}]}]},
		"1":{"AND":[{"key":"plan","type":"person","value":"pro"}]}}`
	for _, cohorts := range []string{flat, records, old} {
		for _, tt := range []struct {
			person string
			want   short
		}{
			{`{"email":"a@acme.com","plan":"pro"}`, short{Code: "no_condition_match"}},
			{`{"email":"a@acme.com","plan":"free"}`, short{true, "", "condition_match", 0}},
			{`{"email":"a@acme.com"}`, short{true, "", "condition_match", 0}},
			{`{"plan":"free"}`, short{Code: "no_condition_match"}},
		} {
			document := `{"cohorts":` + cohorts + `,"flags":[{"key":"k","active":true,"filters":{"groups":[{"properties":[
				{"key":"id","type":"cohort","value":98,"operator":"in"}]}]}}]}`
			check(t, document, requestJSON("user-1", tt.person), map[string]short{"k": tt.want}, false)
		}
	}
}

// TestCohorts checks the rest of section 5, with one condition that has the
// filters.
func TestCohorts(t *testing.T) {
	const behavioralText = "This condition targets a behavioral or realtime cohort. Its membership is not fully evaluated here, so this result can differ from the cohort's member list."
	const plain = "No matching condition set"
	const cohorts = `[
		{"id":1,"filters":{"properties":{}}},
		{"id":2,"filters":{"properties":{"type":"OR","values":[{"type":"AND","values":[]}]}}},
		{"id":3,"deleted":true,"filters":{"properties":{"type":"AND","values":[]}}},
		{"id":4},
		{"id":5,"is_static":true},
		{"id":6,"cohort_type":"realtime","filters":{"properties":{"type":"AND","values":[{"key":"x","type":"nonsense"}]}}},
		{"id":7,"filters":{"properties":{"type":"OR","values":[{"type":"behavioral","key":"$pageview","value":"performed_event"}]}}},
		{"id":8,"filters":{"properties":{"type":"OR","values":[{"type":"behavioral","key":"$pageview","value":"performed_event","negation":true}]}}},
		{"id":9,"filters":{"properties":{"type":"OR","values":[{"type":"cohort","key":"id","value":7}]}}},
		{"id":10,"filters":{"properties":{"type":"XOR","values":[]}}},
		{"id":11,"filters":{"properties":{"type":"AND","values":[{}]}}},
		{"id":12,"filters":{"properties":{"type":"AND","values":{"a":1}}}},
		{"id":13,"filters":{"properties":{"type":"AND","values":[{"key":"x","type":"person","operator":"nonsense","value":1}]}}},
		{"id":14,"filters":{"properties":{"type":"AND","values":[{"key":"id","type":"cohort","value":null}]}}},
		{"id":15,"filters":{"properties":{"type":"AND","values":[{"key":"x","type":"person","operator":"regex","value":"(?=a"}]}}},
		{"id":16,"filters":{"properties":{"type":"OR","values":[{"key":"id","type":"cohort","value":17}]}}},
		{"id":17,"filters":{"properties":{"type":"OR","values":[{"key":"id","type":"cohort","value":16},{"key":"id","type":"cohort","value":999}]}}},
		{"id":18,"filters":{"properties":{"type":"AND","values":[{"key":"plan","type":"group","operator":"is_not_set"}]}}},
		{"id":19,"filters":{"properties":{"type":"AND","values":[{"key":"plan","type":"group","operator":"is_set","negation":true},
			{"key":"f","type":"flag","operator":"flag_evaluates_to","value":true,"negation":true}]}}},
		{"id":20,"filters":{"properties":{"type":"OR","values":[{"type":"AND","negation":true,"values":[]}]}}},
		{"id":21,"filters":{"properties":{"type":"AND","values":[{"key":"id","type":"cohort","value":2,"operator":"not_in","negation":true}]}}},
		{"id":22,"filters":{"properties":{"type":"AND","values":[{"key":"id","type":"cohort","value":2,"operator":"exact"}]}}},
		{"id":23,"groups":[{"event_id":"e","properties":[]},{"properties":[{"key":"plan","type":"event","value":"pro"}]}]},
		{"id":24,"groups":[]},
		{"id":25,"filters":{"properties":{"type":"AND","values":[]}}},
		{"id":26,"filters":{}},
		{"id":27,"filters":null},
		{"id":28,"filters":{},"groups":[{"properties":{"plan":"pro"}}]},
		{"id":31,"groups":[{}]},
		{"id":32,"groups":[{"name":"all"},{"properties":[]},{"properties":{}},{"properties":null},{"property":[{"key":"plan","value":"pro"}]},7,null]},
		{"id":33,"groups":[{"properties":{"type":"OR","values":[{"key":"plan","type":"person","value":"pro"}]}}]},
		{"id":34,"groups":[{"type":"OR","values":[{"key":"plan","type":"person","value":"pro"}]}]},
		{"id":35,"groups":[{"properties":{"type":"AND","values":[]}}]},
		{"id":36,"groups":[{"properties":{"type":"AND","values":[{"type":"AND","values":[]}]}}]},
		{"id":37,"groups":[{"event_id":"e","properties":[{"key":"plan","value":"pro"}]}]},
		{"id":38,"groups":[{"properties":{"type":"XOR","values":[]}}]},
		{"id":39,"groups":[{"properties":{"type":"OR"}},{"properties":{"type":"and","values":null}},{"type":"AND"}]},
		{"id":40,"filters":{"properties":{"type":"OR"}}},
		{"id":41,"filters":{"properties":{"type":"OR","values":[{"type":"AND","negation":false},{"type":"property","values":null}]}}},
		{"id":42,"groups":[{"properties":{"type":"OR","plan":"pro"}}]}]`
	for _, tt := range []struct {
		filters     string // values of cohort filters, or whole filters
		code        string
		description string
	}{
		{`1`, "cohort_filters_parsing_error", ""}, // §5.5: filters without a tree
		{`26`, "cohort_filters_parsing_error", ""},
		{`27`, "no_condition_match", plain},
		{`28`, "condition_match", ""},
		{`25`, "no_condition_match", plain}, // §5.3: a tree of nothing
		// §5.6: a group that defines nothing is nobody.
		{`31`, "no_condition_match", plain},
		{`32`, "no_condition_match", plain},
		{`33`, "condition_match", ""},
		{`34`, "condition_match", ""},
		{`35`, "no_condition_match", plain},
		{`36`, "no_condition_match", plain},
		{`37`, "condition_match", ""},
		{`38`, "cohort_filters_parsing_error", ""},
		// §5.3: a group without values is nobody.
		{`39`, "no_condition_match", plain},
		{`40`, "no_condition_match", plain},
		{`41`, "no_condition_match", plain},
		{`42`, "no_condition_match", plain}, // a property that is called type
		{`2`, "condition_match", "Matched condition set 1"},
		{`"2"`, "condition_match", "Matched condition set 1"},
		{`2.0`, "cohort_filters_parsing_error", "Failed to parse cohort filters"},
		{`null`, "cohort_filters_parsing_error", "Failed to parse cohort filters"},
		{`"x"`, "cohort_filters_parsing_error", "Failed to parse cohort filters"},
		{`3`, "dependency_not_found_cohort", "Cohort dependency not found"},
		{`4`, "no_condition_match", plain},
		{`5`, "condition_match", "Matched condition set 1"},
		{`6`, "no_condition_match", behavioralText},
		{`7`, "no_condition_match", behavioralText},
		{`8`, "condition_match", "Matched condition set 1"},
		{`9`, "no_condition_match", behavioralText},
		{`10`, "cohort_filters_parsing_error", ""},
		{`11`, "cohort_filters_parsing_error", ""},
		{`12`, "cohort_filters_parsing_error", ""},
		{`13`, "cohort_filters_parsing_error", ""},
		{`14`, "cohort_filters_parsing_error", ""},
		{`15`, "no_condition_match", plain},
		{`16`, "dependency_cycle_cohort", "Cohort dependency cycle detected"},
		{`18`, "no_condition_match", plain},
		{`19`, "condition_match", ""},
		{`20`, "condition_match", ""},
		{`21`, "condition_match", ""},
		{`22`, "no_condition_match", plain},
		{`23`, "condition_match", ""},
		{`24`, "no_condition_match", plain},
		// §5.5: all cohorts are resolved before the first one is evaluated.
		{`4,999`, "dependency_not_found_cohort", ""},
		{`4,"x"`, "cohort_filters_parsing_error", ""},
		{`999,"x"`, "dependency_not_found_cohort", ""},
	} {
		var filters strings.Builder
		for value := range strings.SplitSeq(tt.filters, ",") {
			filters.WriteString(`,{"key":"id","type":"cohort","value":` + value + `}`)
		}
		document := `{"cohorts":` + cohorts + `,"flags":[{"key":"k","active":true,"filters":{"groups":[{"properties":[` + filters.String()[1:] + `]}]}}]}`
		request := requestJSON("user-1", `{"plan":"pro"}`)
		request.Cohorts = []int64{5, 99}
		got := evaluate(t, document, request)["k"]
		if got.Code != tt.code || tt.description != "" && got.Description != tt.description {
			t.Errorf("cohorts %s: %s (%s), want %s (%s)", tt.filters, got.Code, got.Description, tt.code, tt.description)
		}
	}
}

// TestMixedTargeting checks the example of §6.4.
func TestMixedTargeting(t *testing.T) {
	const document = `{"group_type_mapping":{"0":"company"},"flags":[{"key":"mixed","active":true,"filters":{"groups":[
 {"aggregation_group_type_index":0,"properties":[{"key":"plan","type":"group","group_type_index":0,"operator":"exact","value":"enterprise"}],"rollout_percentage":100},
 {"aggregation_group_type_index":null,"properties":[{"key":"email","type":"person","operator":"icontains","value":"@acme.com"}],"rollout_percentage":50}]}}]}`
	const email = `{"email":"a@acme.com"}`
	acme := requestJSON("user-1", email)
	acme.Groups = map[string]json.RawMessage{"company": json.RawMessage(`"acme"`)}
	acme.StoredGroups = map[string]json.RawMessage{"company": json.RawMessage(`{"plan":"enterprise"}`)}
	for _, tt := range []struct {
		request *reference.Request
		want    short
	}{
		{acme, short{true, "", "condition_match", 0}},
		{requestJSON("user-2", email), short{true, "", "condition_match", 1}},
		{requestJSON("user-1", email), short{false, "", "out_of_rollout_bound", 1}},
		{requestJSON("user-2", `{}`), short{false, "", "no_condition_match", 1}},
	} {
		check(t, document, tt.request, map[string]short{"mixed": tt.want}, false)
	}
}

// TestGroupFilters checks §6.3, on a person flag.
func TestGroupFilters(t *testing.T) {
	for _, tt := range []struct {
		name, filter string
		want         bool
	}{
		{"overlay", `"key":"plan","operator":"exact","value":"free","group_type_index":0`, true},
		{"stored", `"key":"size","operator":"gt","value":5,"group_type_index":0`, true},
		{"number as $group_key", `"key":"$group_key","operator":"exact","value":12,"group_type_index":0`, true},
		{"properties without a group", `"key":"plan","operator":"exact","value":"x","group_type_index":1`, true},
		{"no $group_key without a group", `"key":"$group_key","operator":"is_set","group_type_index":1`, false},
		{"null as $group_key", `"key":"$group_key","operator":"exact","value":"null","group_type_index":2`, true},
		{"no index in a person condition, positive", `"key":"plan","operator":"is_set"`, false},
		{"no index in a person condition, negative", `"key":"plan","operator":"is_not","value":"x"`, true},
		{"unmapped index", `"key":"plan","operator":"is_not_set","group_type_index":7`, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			document := `{"group_type_mapping":{"0":"company","1":"project","2":"team"},"flags":[{"key":"k","active":true,
				"filters":{"groups":[{"properties":[{"type":"group",` + tt.filter + `}]}]}}]}`
			request := &reference.Request{
				Groups:          map[string]json.RawMessage{"company": json.RawMessage(`12`), "team": json.RawMessage(`null`)},
				GroupProperties: map[string]json.RawMessage{"company": json.RawMessage(`{"plan":"free","$group_key":"x"}`), "project": json.RawMessage(`{"plan":"x"}`), "team": json.RawMessage(`null`)},
				StoredGroups:    map[string]json.RawMessage{"company": json.RawMessage(`{"plan":"pro","size":6}`)},
			}
			if got := evaluate(t, document, request)["k"].Enabled; got != tt.want {
				t.Errorf("{%s} = %v, want %v", tt.filter, got, tt.want)
			}
		})
	}
}

// TestDependencyExample checks the example below the table of §7.3.
func TestDependencyExample(t *testing.T) {
	const document = `{"flags":[
		{"id":3,"key":"c","active":true,"filters":{"groups":[{"properties":[{"key":"beta-feature","type":"flag","operator":"flag_evaluates_to","value":true,"dependency_chain":["beta-feature"]}],"rollout_percentage":100}]}},
		{"id":1,"key":"beta-feature","active":true,"filters":{"groups":[{"rollout_percentage":50}]}},
		{"id":2,"key":"checkout","active":true,"filters":{"groups":[{"rollout_percentage":50}]}}]}`
	check(t, document, &reference.Request{DistinctID: "user-4"}, map[string]short{
		"beta-feature": {true, "", "condition_match", 0},
		"checkout":     {false, "", "out_of_rollout_bound", 0},
		"c":            {true, "", "condition_match", 0},
	}, false)
}

// TestDependencyKeys checks how keys are resolved (§7.1). The flag with id 1
// has the key "2", and the flag with id 2 the key "b".
func TestDependencyKeys(t *testing.T) {
	for _, tt := range []struct {
		filter string
		want   string // the reason code of k
	}{
		{`"key":"2"`, "no_condition_match"}, // the flag with id 2 is off
		{`"key":2`, "no_condition_match"},
		{`"key":"2","dependency_chain":["2"]`, "condition_match"}, // the flag with key "2" is on
		{`"key":"2","dependency_chain":[]`, "condition_match"},    // only the presence of the chain matters
		{`"key":"2","dependency_chain":null`, "no_condition_match"},
		{`"key":1`, "condition_match"},
		{`"key":"b"`, "no_condition_match"},
		{`"key":"1","dependency_chain":["1"]`, "missing_dependency"},
		{`"key":99`, "missing_dependency"},
		{`"key":"99"`, "missing_dependency"},
		{`"key":"77"`, "condition_match"},  // no id, but a key
		{`"key":""`, "no_condition_match"}, // unusable
		{`"key":null`, "no_condition_match"},
		{`"key":1.5`, "no_condition_match"},
		{`"key":"99","operator":"exact"`, "missing_dependency"}, // a dependency for any operator
		{`"key":"1","operator":"nonsense"`, "flag_data_parsing_error"},
		{`"key":"k","value":false`, ""},                       // depends on itself
		{`"key":"inactive","value":false`, "condition_match"}, // although it depends on a missing flag
		{`"key":"encrypted","value":false`, "condition_match"},
		{`"key":"deleted","value":false`, "missing_dependency"},
	} {
		document := `{"flags":[
			{"id":1,"key":"2","active":true,"filters":{"groups":[{}]}},
			{"id":2,"key":"b","active":true,"filters":{"groups":[]}},
			{"id":4,"key":"77","active":true,"filters":{"groups":[{}]}},
			{"id":5,"key":"inactive","active":false,"filters":{"groups":[{"properties":[{"key":"99","type":"flag","operator":"flag_evaluates_to","value":true}]}]}},
			{"id":6,"key":"encrypted","active":true,"has_encrypted_payloads":true,"filters":{"groups":[{}]}},
			{"id":7,"key":"deleted","active":true,"deleted":true,"filters":{"groups":[{}]}},
			{"id":3,"key":"k","active":true,"filters":{"groups":[{"properties":[{"operator":"flag_evaluates_to","type":"flag","value":true,` + tt.filter + `}]}]}}]}`
		got := evaluate(t, document, &reference.Request{})["k"]
		if got.Code != tt.want {
			t.Errorf("{%s}: %q, want %q", tt.filter, got.Code, tt.want)
		}
	}
}

// TestSettledAnswers checks the end of §3.9. Flag f has failed with the code of
// a missing cohort, g with the code of a cycle.
func TestSettledAnswers(t *testing.T) {
	const (
		onF    = `{"key":"1","type":"flag","operator":"flag_evaluates_to","value":true}`
		onG    = `{"key":"2","type":"flag","operator":"flag_evaluates_to","value":true}`
		number = `{"key":"1","type":"flag","operator":"flag_evaluates_to","value":1}`
		bad    = `{"key":"x","type":"person","operator":"nonsense","value":1}`
		isSet  = `{"key":"nothing","type":"person","operator":"is_set"}`

		notFound = "dependency_not_found_cohort"
		cycle    = "dependency_cycle_cohort"
	)
	on := func(index int) short { return short{true, "", "condition_match", index} }
	failed := func(code string) short { return short{false, "", code, -1} }
	for _, tt := range []struct {
		name, filters string
		want          short
	}{
		{"an earlier condition decides", `"groups":[{},{"properties":[` + onF + `]}]`, on(0)},
		{"alone", `"groups":[{"properties":[` + onF + `]}]`, failed(notFound)},
		{"the same value later", `"groups":[{"properties":[` + onF + `]},{}]`, on(0)},
		{"mismatch beside it", `"groups":[{"properties":[` + onF + `,` + isSet + `]}]`, short{false, "", "no_condition_match", 0}},
		{"out of rollout beside it", `"groups":[{"properties":[` + onF + `],"rollout_percentage":0}]`, short{false, "", "out_of_rollout_bound", 0}},
		{
			"out of rollout, early exit, nothing else", `"early_exit":true,"groups":[{"properties":[` + onF + `],"rollout_percentage":0}]`,
			short{false, "", "out_of_rollout_bound", 0},
		},
		{
			"out of rollout, early exit, a mismatch", `"early_exit":true,"groups":[{"properties":[` + onF + `],"rollout_percentage":0},{"properties":[` + isSet + `]}]`,
			short{false, "", "out_of_rollout_bound", 0},
		},
		{"out of rollout, early exit, then a match", `"early_exit":true,"groups":[{"properties":[` + onF + `],"rollout_percentage":0},{}]`, failed(notFound)},
		{"two failed ones", `"groups":[{"properties":[` + onG + `,` + onF + `]},{"properties":[` + onF + `]}]`, failed(cycle)},
		{"two failed ones, settled", `"groups":[{"properties":[` + isSet + `]},{"properties":[` + onG + `]},{"properties":[` + onF + `]},{}]`, on(1)},
		{"an error later", `"groups":[{"properties":[` + onF + `]},{"properties":[` + bad + `]}]`, failed(notFound)},
		{"an error beside it", `"groups":[{"properties":[` + onF + `,` + bad + `]}]`, failed("flag_data_parsing_error")},
		{"a value that never matches", `"groups":[{"properties":[` + number + `]}]`, short{false, "", "no_condition_match", 0}},
		{
			"the same variant", `"groups":[{"properties":[` + onF + `],"variant":"v"},{"variant":"v"}],"multivariate":{"variants":[{"key":"v"},{"key":"w"}]}`,
			short{true, "v", "condition_match", 0},
		},
		{"another variant", `"groups":[{"properties":[` + onF + `],"variant":"v"},{"variant":"w"}],"multivariate":{"variants":[{"key":"v"},{"key":"w"}]}`, failed(notFound)},
		{
			"held out before", `"holdout":{"id":1,"exclusion_percentage":100},"groups":[{"properties":[` + onF + `]}]`,
			short{true, "holdout-1", "holdout_condition_value", -1},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			document := `{"cohorts":{"1":{"type":"AND","values":[{"key":"id","type":"cohort","value":1}]}},"flags":[
				{"id":1,"key":"f","active":true,"filters":{"groups":[{"properties":[{"key":"id","type":"cohort","value":999}]}]}},
				{"id":2,"key":"g","active":true,"filters":{"groups":[{"properties":[{"key":"id","type":"cohort","value":1}]}]}},
				{"id":3,"key":"k","active":true,"filters":{` + tt.filters + `}}]}`
			check(t, document, &reference.Request{DistinctID: "user-1"}, map[string]short{
				"f": failed(notFound), "g": failed(cycle), "k": tt.want,
			}, true)
		})
	}
}
