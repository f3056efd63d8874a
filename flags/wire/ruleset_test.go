package wire_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/flags/wire"
)

// ruleSets are flags whose rule sets have condition sets of the same meaning, and flags whose
// have none (rules.md §5).
const ruleSets = `{"flags": [
	{"id": 1, "key": "exact", "active": true, "filters": {"version": 2, "return_type": "boolean", "default_value": false, "rules": [
		{"rule_type": "targeted_release", "targeting": {"properties": [{"key": "plan", "value": "pro"}, {"key": "age", "operator": "gt", "value": 10}]}, "value": true},
		{"rule_type": "percentage_rollout", "rollout_percentage": 33.33, "seed": "exact", "value": true},
		{"rule_type": "percentage_rollout", "targeting": {"properties": [{"key": "plan", "value": "team"}]}, "rollout_percentage": 100, "value": true},
		{"rule_type": "percentage_rollout", "on_rollout_miss": "return_default", "targeting": {"properties": [{"key": "plan", "value": "free"}]}, "rollout_percentage": 60, "seed": "exact", "value": true}]}},
	{"id": 2, "key": "groups", "active": true, "filters": {"version": 2, "return_type": "boolean", "aggregation_group_type_index": 0, "rules": [
		{"rule_type": "percentage_rollout", "rollout_percentage": 50, "seed": "groups", "value": true}]}},
	{"id": 3, "key": "seeded", "active": true, "filters": {"version": 2, "return_type": "boolean", "rules": [{"rule_type": "percentage_rollout", "rollout_percentage": 50, "seed": "s", "value": true}]}},
	{"id": 4, "key": "on-by-default", "active": true, "filters": {"version": 2, "return_type": "boolean", "default_value": true, "rules": []}},
	{"id": 5, "key": "off-rule", "active": true, "filters": {"version": 2, "return_type": "boolean", "rules": [{"rule_type": "targeted_release", "value": false}]}},
	{"id": 6, "key": "ends", "active": true, "filters": {"version": 2, "return_type": "boolean", "rules": [
		{"rule_type": "percentage_rollout", "rollout_percentage": 50, "seed": "ends", "on_rollout_miss": "return_default", "value": true}, {"rule_type": "targeted_release", "value": true}]}},
	{"id": 7, "key": "negated", "active": true, "filters": {"version": 2, "return_type": "boolean", "rules": [{"rule_type": "targeted_release", "targeting": {"properties": [{"key": "plan", "value": "pro", "negation": true}]}, "value": true}]}},
	{"id": 8, "key": "pattern", "active": true, "filters": {"version": 2, "return_type": "boolean", "rules": [{"rule_type": "targeted_release", "targeting": {"properties": [{"key": "plan", "operator": "regex", "value": "("}]}, "value": true}]}},
	{"id": 9, "key": "text", "active": true, "filters": {"version": 2, "return_type": "string", "rules": [{"rule_type": "targeted_release", "value": "true"}]}}
], "group_type_mapping": {"0": "company"}}`

func TestRuleSetsInDefinitions(t *testing.T) {
	d, err := flags.Decode(strings.NewReader(ruleSets))
	if err != nil {
		t.Fatal(err)
	}
	for _, knows := range []bool{true, false} {
		document, err := wire.AppendDefinitions(nil, d, wire.DefinitionsOptions{RuleSets: knows})
		if err != nil {
			t.Fatal(err)
		}
		if !knows && strings.Contains(string(document), "rules") {
			t.Errorf("who does not know rule sets gets them: %s", document)
		}
		back, err := flags.Decode(strings.NewReader(string(document)))
		if err != nil {
			t.Fatal(err)
		}
		before, err := flags.Compile(d, flags.CompileOptions{})
		if err != nil {
			t.Fatal(err)
		}
		after, err := flags.Compile(back, flags.CompileOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var keys []string
		for i := range back.Flags {
			keys = append(keys, back.Flags[i].Key)
		}
		if want := map[bool]string{true: "[ends exact groups negated off-rule on-by-default pattern seeded text]", false: "[exact groups]"}[knows]; fmt.Sprint(keys) != want {
			t.Errorf("flags %v, want %s", keys, want)
		}
		for i := range 2000 {
			r := &flags.Request{
				DistinctID: fmt.Sprint("user-", i), Groups: map[string]string{"company": fmt.Sprint("c-", i)},
				PersonProperties: map[string]any{"plan": []string{"pro", "team", "free", "trial"}[i%4], "age": i % 20},
			}
			for _, key := range keys {
				was, err := before.Flag(key, r)
				if err != nil {
					t.Fatal(err)
				}
				is, err := after.Flag(key, r)
				if err != nil {
					t.Fatal(err)
				}
				if was.Enabled != is.Enabled || knows && string(was.JSON()) != string(is.JSON()) {
					t.Fatalf("%s for %s: %+v, then %+v", key, r.DistinctID, was, is)
				}
			}
		}
	}
}
