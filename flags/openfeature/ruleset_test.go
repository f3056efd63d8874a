package openfeature_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	of "github.com/open-feature/go-sdk/openfeature"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/flags/openfeature"
)

// typedDocument has a flag of each type, and one for each outcome (rules.md §4.6).
const typedDocument = `{"flags": [
	{"id": 1, "key": "text", "active": true, "filters": {"version": 2, "return_type": "string", "default_value": "none", "rules": [{"rule_type": "targeted_release", "targeting": {"properties": [{"key": "plan", "value": "pro"}]}, "value": "blue"}]}},
	{"id": 2, "key": "number", "active": true, "filters": {"version": 2, "return_type": "number", "rules": [{"rule_type": "targeted_release", "value": 7}]}},
	{"id": 3, "key": "part", "active": true, "filters": {"version": 2, "return_type": "number", "rules": [{"rule_type": "targeted_release", "value": 0.5}]}},
	{"id": 4, "key": "object", "active": true, "filters": {"version": 2, "return_type": "object", "rules": [{"rule_type": "targeted_release", "value": {"a": [1]}}]}},
	{"id": 5, "key": "false", "active": true, "filters": {"version": 2, "return_type": "boolean", "default_value": false, "rules": []}},
	{"id": 6, "key": "nothing", "active": true, "filters": {"version": 2, "return_type": "boolean", "rules": []}},
	{"id": 7, "key": "split", "active": true, "filters": {"version": 2, "return_type": "string", "rules": [{"rule_type": "experiment", "experiment_id": 9, "paused": false, "rollout_percentage": 100,
		"variants": [{"key": "a", "weight": 100, "value": "x"}, {"key": "b", "weight": 0, "value": "y"}]}]}},
	{"id": 8, "key": "group", "active": true, "filters": {"version": 2, "return_type": "boolean", "aggregation_group_type_index": 0, "rules": []}},
	{"id": 9, "key": "broken", "active": true, "filters": {"version": 2, "return_type": "boolean", "rules": [{"rule_type": "targeted_release", "targeting": {"properties": [{"key": "plan", "operator": "regex", "value": "("}]}, "value": true}]}},
	{"id": 10, "key": "inactive", "active": false, "filters": {"version": 2, "return_type": "boolean", "rules": []}}
], "group_type_mapping": {"0": "company"}}`

func TestRuleSets(t *testing.T) {
	e := new(flags.Evaluator)
	e.Swap(compile(t, typedDocument))
	c := clientOf(t, openfeature.NewProvider(e, openfeature.Options{}))
	person := of.NewEvaluationContext("user-1", map[string]any{"plan": "pro"})
	for _, tt := range []struct {
		kind, key string
		want      any // nil: the fallback
		reason    of.Reason
		variant   string
		code      of.ErrorCode
	}{
		{"string", "text", "blue", "TARGETING_MATCH", "", ""},
		{"bool", "text", nil, "ERROR", "", of.TypeMismatchCode},
		{"int", "number", int64(7), "TARGETING_MATCH", "", ""},
		{"float", "number", 7.0, "TARGETING_MATCH", "", ""},
		{"int", "part", nil, "ERROR", "", of.TypeMismatchCode},
		{"float", "part", 0.5, "TARGETING_MATCH", "", ""},
		{"string", "number", nil, "ERROR", "", of.TypeMismatchCode},
		{"object", "object", map[string]any{"a": []any{1.0}}, "TARGETING_MATCH", "", ""},
		{"object", "number", nil, "ERROR", "", of.TypeMismatchCode},
		{"bool", "false", false, "DEFAULT", "", ""},
		{"bool", "nothing", nil, "DEFAULT", "", ""},
		{"string", "split", "x", "SPLIT", "a", ""},
		{"bool", "group", nil, "ERROR", "", of.InvalidContextCode},
		{"bool", "broken", nil, "ERROR", "", of.GeneralCode},
		{"bool", "inactive", nil, "DISABLED", "", ""},
	} {
		got, detail := resolve(t, c, tt.kind, tt.key, person)
		want := tt.want
		if want == nil {
			want = fallbacks[tt.kind]
		}
		if diff := cmp.Diff(want, got); diff != "" || detail.Reason != tt.reason || detail.Variant != tt.variant || detail.ErrorCode != tt.code {
			t.Errorf("%s %s: %+v, %+v\n%s", tt.kind, tt.key, got, detail, diff)
		}
	}
	_, detail := resolve(t, c, "string", "split", person)
	if m := detail.FlagMetadata; m["ruleType"] != "experiment" || m["experimentId"] != int64(9) || m["variantKey"] != "a" || m["configVersion"] != int64(2) || m["payload"] != nil {
		t.Errorf("metadata %v", m)
	}
}
