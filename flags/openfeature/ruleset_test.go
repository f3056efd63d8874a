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
	{"id": 8, "key": "group", "active": true, "filters": {"version": 2, "return_type": "boolean", "default_value": true, "aggregation_group_type_index": 0, "rules": []}},
	{"id": 9, "key": "broken", "active": true, "filters": {"version": 2, "return_type": "boolean", "rules": [{"rule_type": "targeted_release", "targeting": {"properties": [{"key": "plan", "operator": "regex", "value": "("}]}, "value": true}]}},
	{"id": 10, "key": "inactive", "active": false, "filters": {"version": 2, "return_type": "boolean", "rules": []}},
	{"id": 11, "key": "held", "active": true, "filters": {"version": 2, "return_type": "string", "default_value": "none", "rules": [{"rule_type": "experiment", "experiment_id": 9, "paused": false, "rollout_percentage": 100,
		"variants": [{"key": "a", "weight": 100, "value": "x"}, {"key": "b", "weight": 0, "value": "y"}], "holdout": {"id": 3, "exclusion_percentage": 100}}]}},
	{"id": 12, "key": "paused", "active": true, "filters": {"version": 2, "return_type": "string", "default_value": "none", "rules": [{"rule_type": "experiment", "experiment_id": 9, "paused": true, "rollout_percentage": 100,
		"variants": [{"key": "a", "weight": 100, "value": "x"}, {"key": "b", "weight": 0, "value": "y"}]}]}},
	{"id": 13, "key": "missed", "active": true, "filters": {"version": 2, "return_type": "number", "default_value": 0, "rules": [{"rule_type": "percentage_rollout", "rollout_percentage": 0, "on_rollout_miss": "return_default", "value": 1}]}},
	{"id": 14, "key": "needs-broken", "active": true, "filters": {"version": 2, "return_type": "boolean", "rules": [{"rule_type": "targeted_release", "targeting": {"properties": [{"key": "9", "type": "flag", "operator": "flag_evaluates_to", "value": true}]}, "value": true}]}},
	{"id": 15, "key": "invalid", "active": true, "filters": {"version": 2, "return_type": "boolean", "rules": 1}},
	{"id": 16, "key": "newer", "active": true, "filters": {"version": 3}}
], "group_type_mapping": {"0": "company"}}`

// TestRuleSets is rules.md §4.6.
func TestRuleSets(t *testing.T) {
	e := new(flags.Evaluator)
	e.Swap(compile(t, typedDocument))
	c := clientOf(t, openfeature.NewProvider(e, openfeature.Options{}))
	idOf := func(key string) string {
		r, err := e.Snapshot().Flag(key, &flags.Request{DistinctID: "user-1", PersonProperties: map[string]any{"plan": "pro"}})
		if err != nil || r.Rule == nil {
			t.Fatal(key, err)
		}
		return r.Rule.ID
	}
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
		{"string", "held", "none", "DEFAULT", "", ""},
		{"string", "paused", "none", "DEFAULT", "", ""},
		{"float", "missed", 0.0, "DEFAULT", "", ""},
		{"bool", "needs-broken", nil, "ERROR", "", of.GeneralCode},
		{"bool", "invalid", nil, "ERROR", "", of.ParseErrorCode},
		{"bool", "newer", nil, "ERROR", "", of.ParseErrorCode},
		{"bool", "unknown", nil, "ERROR", "", of.FlagNotFoundCode},
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
	for key, want := range map[string]of.FlagMetadata{
		"split": {
			"version": "0", "contextId": "user-1", "flagId": int64(7), "id": int64(7), "reason": "experiment_split", "reason_code": "experiment_split", "hasExperiment": true,
			"conditionIndex": 0, "condition_index": int64(0), "config_version": int64(2), "rule_type": "experiment", "rule_id": idOf("split"), "experiment_id": int64(9), "variant_key": "a",
		},
		"held": {
			"version": "0", "contextId": "user-1", "flagId": int64(11), "id": int64(11), "reason": "holdout", "reason_code": "holdout", "hasExperiment": true,
			"conditionIndex": 0, "condition_index": int64(0), "config_version": int64(2), "rule_type": "experiment", "rule_id": idOf("held"), "experiment_id": int64(9), "holdout_id": int64(3),
		},
		"nothing": {"version": "0", "contextId": "user-1", "flagId": int64(6), "id": int64(6), "reason": "no_rule_match", "reason_code": "no_rule_match", "hasExperiment": false, "config_version": int64(2)},
	} {
		kind := map[bool]string{true: "bool", false: "string"}[key == "nothing"]
		if _, detail := resolve(t, c, kind, key, person); !cmp.Equal(want, detail.FlagMetadata) {
			t.Errorf("metadata of %s (-want +got)\n%s", key, cmp.Diff(want, detail.FlagMetadata))
		}
	}
	if _, detail := resolve(t, c, "bool", "broken", person); detail.ErrorMessage != "A rule could not be evaluated" {
		t.Errorf("message %q, want the description", detail.ErrorMessage)
	}
	group := of.NewEvaluationContext("user-1", map[string]any{"groups": map[string]any{"company": "acme"}})
	if got, detail := resolve(t, c, "bool", "group", group); got != true || detail.Reason != "DEFAULT" {
		t.Errorf("with a group: %v, %+v", got, detail)
	}
}
