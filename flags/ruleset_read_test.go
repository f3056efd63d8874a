package flags_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/flags"
)

// TestDecodeRuleSetFaults changes one thing in a sound document (rules.md §2).
func TestDecodeRuleSetFaults(t *testing.T) {
	number := strings.NewReplacer(`"return_type": "string"`, `"return_type": "number"`, `"classic"`, `1`, `"lab"`, `2`, `"short"`, `3`, `"long"`, `4`).Replace(paywall)
	object := strings.NewReplacer(`"return_type": "string"`, `"return_type": "object"`, `"classic"`, `null`, `"lab"`, `{}`, `"short"`, `{}`, `"long"`, `{}`).Replace(paywall)
	deep := func(levels int) string {
		return strings.Repeat(`{"a":`, levels-1) + "{}" + strings.Repeat("}", levels-1)
	}
	release := func(properties string) string {
		return strings.Replace(paywall, `{"key": "plan", "type": "person", "value": "staff"}`, properties, 1)
	}
	for _, test := range []struct {
		section, document, old, with string
		code, path                   string // "": it is sound
	}{
		{"1", paywall, `"version": 2`, `"version": 2.0`, "", ""},
		{"1", paywall, `"version": 2`, `"version": 2e0`, "", ""},
		{"1", paywall, `"version": 2`, `"version": "2"`, "unsupported", "/version"},
		{"1", paywall, `"version": 2`, `"version": true`, "unsupported", "/version"},
		{"1", paywall, `"version": 2, `, ``, "required", "/version"},
		{"1", paywall, `"version": 2`, `"groups": [], "version": 2`, "unknown_field", "/groups"},
		{"2", paywall, `"version": 2`, `"version": 2, "version": 2`, "invalid", "/version"},
		{"2", paywall, `"value": "lab"`, `"value": "lab", "metadata": {"a": {"b": 1, "b": 1}}`, "invalid", "/rules/0/metadata/a/b"},
		{"2", paywall, `"value": "lab"`, `"value": "lab", "metadata": {"a~/b": 1e-400}`, "invalid", "/rules/0/metadata/a~0~1b"},
		{"2", paywall, `"value": "lab"`, `"value": "lab", "metadata": {"a": [1, 1e400]}`, "invalid", "/rules/0/metadata/a/1"},
		{"2", paywall, `"value": "lab"`, `"value": "lab", "metadata": {"any": ["thing", null, 1e300]}`, "", ""},
		{"2.1", paywall, `"return_type": "string"`, `"return_type": "text"`, "invalid", "/return_type"},
		{"2.1", paywall, `"return_type": "string", `, ``, "required", "/return_type"},
		{"2.1", paywall, `"default_value": "classic"`, `"default_value": null`, "", ""},
		{"2.1", paywall, `"default_value": "classic", `, ``, "required", "/default_value"},
		{"2.1", paywall, `"default_value": "classic"`, `"default_value": 1`, "invalid", "/default_value"},
		{"2.1", paywall, `"version": 2`, `"version": 2, "aggregation_group_type_index": 2.0`, "", ""},
		{"2.1", paywall, `"version": 2`, `"version": 2, "aggregation_group_type_index": null`, "invalid", "/aggregation_group_type_index"},
		{"2.2", paywall, `"value": "lab"`, `"value": ""`, "invalid", "/rules/0/value"},
		{"2.2", paywall, `"value": "lab"`, `"value": null`, "invalid", "/rules/0/value"},
		{"2.2", paywall, `"value": "lab"`, `"value": true`, "invalid", "/rules/0/value"},
		{"2.2", number, `"value": 2`, `"value": -9007199254740991`, "", ""},
		{"2.2", number, `"value": 2`, `"value": 9007199254740992`, "invalid", "/rules/0/value"},
		{"2.2", number, `"value": 2`, `"value": "2"`, "invalid", "/rules/0/value"},
		{"2.2", number, `"value": 2`, `"value": 1e-400`, "invalid", "/rules/0/value"},
		{"2.2", object, `"value": {}`, `"value": ` + deep(20), "", ""},
		{"2.2", object, `"value": {}`, `"value": ` + deep(21), "invalid", "/rules/0/value"},
		{"2.2", object, `"value": {}`, `"value": {"a": null, "b": ""}`, "", ""},
		{"2.2", object, `"value": {}`, `"value": {"a": [1e17]}`, "invalid", "/rules/0/value"},
		{"2.2", object, `"value": {}`, `"value": []`, "invalid", "/rules/0/value"},
		{"2.3", paywall, `"id": "11111111-1111-4111-8111-111111111111"`, `"id": "11111111111141118111111111111111"`, "invalid", "/rules/0/id"},
		{"2.3", paywall, `"id": "11111111-1111-4111-8111-111111111111"`, `"id": "urn:uuid:11111111-1111-4111-8111-111111111111"`, "invalid", "/rules/0/id"},
		{"2.3", strings.Replace(paywall, "11111111-1111-4111-8111-111111111111", "AAAAAAAA-1111-4111-8111-111111111111", 1), "22222222-2222-4222-8222-222222222222", "aaaaaaaa-1111-4111-8111-111111111111", "not_unique", "/rules/1/id"},
		{"2.3", paywall, `"id": "11111111-1111-4111-8111-111111111111", `, ``, "required", "/rules/0/id"},
		{"2.3", paywall, `"targeted_release"`, `"release"`, "invalid", "/rules/0/rule_type"},
		{"2.3", paywall, `"targeting": {"properties": []}, `, ``, "required", "/rules/1/targeting"},
		{"2.3", paywall, `{"properties": []}`, `{"properties": [], "match": "all"}`, "unknown_field", "/rules/1/targeting/match"},
		{"2.3", paywall, `"value": "lab"`, `"value": "lab", "metadata": null`, "invalid", "/rules/0/metadata"},
		{"2.3", paywall, `"value": "lab"`, `"value": "lab", "description": null`, "invalid", "/rules/0/description"},
		{"2.4", paywall, `"value": "lab"`, `"value": "lab", "rollout_percentage": 5`, "unknown_field", "/rules/0/rollout_percentage"},
		{"2.4", paywall, `"paused": false`, `"paused": false, "value": "x"`, "unknown_field", "/rules/1/value"},
		{"2.4", paywall, `"paused": false,`, ``, "required", "/rules/1/paused"},
		{"2.4", paywall, `"experiment_id": null, `, ``, "required", "/rules/1/experiment_id"},
		{"2.4", paywall, `"experiment_id": null`, `"experiment_id": 1.5`, "invalid", "/rules/1/experiment_id"},
		{"2.4", paywall, `"on_rollout_miss": "return_default",`, ``, "required", "/rules/1/on_rollout_miss"},
		{"2.4", paywall, `"sha1_60_v1"`, `"sha1"`, "invalid", "/rules/1/assignment_algorithm"},
		{"2.4", paywall, `"s-rollout"`, `""`, "invalid", "/rules/1/seed"},
		{"2.4", paywall, `"s-rollout"`, `"` + strings.Repeat("é", 400) + `"`, "", ""},
		{"2.4", paywall, `"s-rollout"`, `"` + strings.Repeat("é", 401) + `"`, "limit_exceeded", "/rules/1/seed"},
		{"2.4", paywall, `"paused": false`, `"paused": false, "assign_by": "person"`, "", ""},
		{"2.4", paywall, `"paused": false`, `"paused": false, "assign_by": "device"`, "invalid", "/rules/1/assign_by"},
		{"2.4", strings.Replace(paywall, `"version": 2`, `"version": 2, "aggregation_group_type_index": 0`, 1), `"paused": false`, `"paused": false, "assign_by": "person"`, "unknown_field", "/rules/1/assign_by"},
		{"2.4", paywall, `, {"key": "b", "weight": 50, "value": "long"}`, ``, "invalid", "/rules/1/variants"},
		{"2.4", paywall, `{"key": "b", "weight": 50`, `{"key": "a", "weight": 50`, "not_unique", "/rules/1/variants/1/key"},
		{"2.4", paywall, `{"key": "b", "weight": 50`, `{"key": "b c", "weight": 50`, "invalid", "/rules/1/variants/1/key"},
		{"2.4", paywall, `{"key": "b", "weight": 50`, `{"key": "b", "weight": 49.99`, "invalid", "/rules/1/variants"},
		{"2.4", paywall, `{"key": "a", "weight": 50, "value": "short"}, {"key": "b", "weight": 50,`, `{"key": "a", "weight": 33.33, "value": "short"}, {"key": "c", "weight": 33.33, "value": "x"}, {"key": "b", "weight": 33.34,`, "", ""},
		{"2.4", paywall, `"holdout": {"id": null`, `"holdout": {"id": 5`, "invalid", "/rules/1/holdout/id"},
		{"2.4", paywall, `"seed": "h-1", `, ``, "required", "/rules/1/holdout/seed"},
		{"2.4", paywall, `"rollout_percentage": 80`, `"rollout_percentage": 12.50`, "", ""},
		{"2.4", paywall, `"rollout_percentage": 80`, `"rollout_percentage": 1250e-2`, "", ""},
		{"2.4", paywall, `"rollout_percentage": 80`, `"rollout_percentage": 12.345`, "invalid", "/rules/1/rollout_percentage"},
		{"2.4", paywall, `"rollout_percentage": 80`, `"rollout_percentage": 12.340000000000000000000000000001`, "invalid", "/rules/1/rollout_percentage"},
		{"2.4", paywall, `"rollout_percentage": 80`, `"rollout_percentage": 0.001`, "invalid", "/rules/1/rollout_percentage"},
		{"2.4", paywall, `"rollout_percentage": 80`, `"rollout_percentage": 100.00000000000000000001`, "invalid", "/rules/1/rollout_percentage"},
		{"2.4", paywall, `"rollout_percentage": 80`, `"rollout_percentage": -0.0`, "", ""},
		{"2.4", paywall, `"rollout_percentage": 80`, `"rollout_percentage": "80"`, "invalid", "/rules/1/rollout_percentage"},
		{"2.5", release(`{"type":"person","key":"k","operator":null,"value":null,"negation":null,"group_type_index":null,"cohort_name":null,"label":null,"group_key_names":null}`), "", "", "", ""},
		{"2.5", release(`{"type":"person","key":""}`), "", "", "invalid", "/rules/0/targeting/properties/0/key"},
		{"2.5", release(`{"key":"k"}`), "", "", "required", "/rules/0/targeting/properties/0/type"},
		{"2.5", release(`{"type":"session","key":"k"}`), "", "", "invalid", "/rules/0/targeting/properties/0/type"},
		{"2.5", release(`{"type":"person","key":"k","operator":"min","value":1}`), "", "", "invalid", "/rules/0/targeting/properties/0/operator"},
		{"2.5", release(`{"type":"person","key":"k","operator":"between","value":[1,2]}`), "", "", "invalid", "/rules/0/targeting/properties/0/operator"},
		{"2.5", release(`{"type":"person","key":"k","operator":"in"}`), "", "", "invalid", "/rules/0/targeting/properties/0/operator"},
		{"2.5", release(`{"type":"person","key":"k","group_type_index":0}`), "", "", "invalid", "/rules/0/targeting/properties/0/group_type_index"},
		{"2.5", release(`{"type":"person","key":"k","value":1,"unit":"x"}`), "", "", "unknown_field", "/rules/0/targeting/properties/0/unit"},
		{"2.5", release(`{"type":"person","key":"k","operator":"regex","value":"("}`), "", "", "", ""},
		{"2.5", release(`{"type":"person","key":"k","operator":"regex"}`), "", "", "required", "/rules/0/targeting/properties/0/value"},
		{"2.5", release(`{"type":"person","key":"k","operator":"icontains","value":1}`), "", "", "invalid", "/rules/0/targeting/properties/0/value"},
		{"2.5", release(`{"type":"person","key":"k","operator":"icontains_multi","value":"a"}`), "", "", "invalid", "/rules/0/targeting/properties/0/value"},
		{"2.5", release(`{"type":"person","key":"k","operator":"gt","value":"ten"}`), "", "", "", ""},
		{"2.5", release(`{"type":"person","key":"k","operator":"gt","value":true}`), "", "", "invalid", "/rules/0/targeting/properties/0/value"},
		{"2.5", release(`{"type":"person","key":"k","operator":"semver_gt","value":"1.2.3"}`), "", "", "", ""},
		{"2.5", release(`{"type":"person","key":"k","operator":"semver_gt","value":"1.x.3"}`), "", "", "invalid", "/rules/0/targeting/properties/0/value"},
		{"2.5", release(`{"type":"person","key":"k","operator":"semver_wildcard","value":"1.2.*"}`), "", "", "", ""},
		{"2.5", release(`{"type":"person","key":"k","operator":"is_date_after","value":"-7d"}`), "", "", "", ""},
		{"2.5", release(`{"type":"person","key":"k","operator":"is_date_after","value":"9999y"}`), "", "", "", ""},
		{"2.5", release(`{"type":"person","key":"k","operator":"is_date_after","value":"10000h"}`), "", "", "invalid", "/rules/0/targeting/properties/0/value"},
		{"2.5", release(`{"type":"person","key":"k","operator":"is_date_after","value":"2026-05-01T10:00:00Z"}`), "", "", "", ""},
		{"2.5", release(`{"type":"cohort","key":"id","value":4,"operator":"in"}`), "", "", "", ""},
		{"2.5", release(`{"type":"flag","key":"other","value":true,"operator":"flag_evaluates_to"}`), "", "", "", ""},
	} {
		t.Run(test.section+" "+test.with, func(t *testing.T) {
			document := strings.Replace(test.document, test.old, test.with, 1)
			if test.old != "" && document == test.document {
				t.Fatalf("the document has no %s", test.old)
			}
			set, err := flags.DecodeRuleSet([]byte(document), false)
			if test.code == "" {
				if err != nil {
					t.Fatal(err)
				}
				readsBack(t, set)
				return
			}
			fault, ok := errors.AsType[*flags.RuleFault](err)
			if !ok || fault.Code != test.code || fault.Path != test.path || set != nil {
				t.Errorf("DecodeRuleSet = %v, %+v, want %s at %s", set, err, test.code, test.path)
			}
			if ok && fault.Text == "" || strings.Contains(err.Error(), "s-rollout") {
				t.Errorf("the text is %q", err)
			}
		})
	}
}

// readsBack writes a rule set and reads it again.
func readsBack(t *testing.T, set *flags.RuleSet) {
	t.Helper()
	filters := flags.Filters{Version: 2, RuleSet: set}
	written, err := filters.Encode()
	if err != nil {
		t.Fatal(err)
	}
	again, err := flags.DecodeRuleSet(written, false)
	if err != nil {
		t.Fatalf("%s: %v", written, err)
	}
	if diff := cmp.Diff(set, again, cmp.AllowUnexported(flags.Filter{})); diff != "" {
		t.Errorf("written and read (-before +after):\n%s", diff)
	}
}

// TestRuleSetByHand reads what a person would write (rules.md §2.7).
func TestRuleSetByHand(t *testing.T) {
	const document = `{"version": 2, "return_type": "number", "rules": [
		{"rule_type": "targeted_release", "targeting": {"properties": [{"key": "plan", "value": "pro"}]}, "value": 10},
		{"rule_type": "percentage_rollout", "rollout_percentage": 50, "value": 5}]}`
	if _, err := flags.DecodeRuleSet([]byte(document), false); err == nil {
		t.Error("it is complete")
	}
	read := func(key string) *flags.RuleSet {
		set, err := flags.DecodeRuleSet([]byte(document), true)
		if err != nil {
			t.Fatal(err)
		}
		set.Complete(key)
		readsBack(t, set)
		return set
	}
	one, same, other := read("limit"), read("limit"), read("other")
	if diff := cmp.Diff(one, same, cmp.AllowUnexported(flags.Filter{})); diff != "" {
		t.Errorf("the same document differs:\n%s", diff)
	}
	if one.Rules[0].ID == one.Rules[1].ID || one.Rules[1].Seed == "" || one.Rules[1].Seed == other.Rules[1].Seed || one.Rules[0].Seed != "" {
		t.Errorf("IDs and seeds: %+v", one.Rules)
	}
	before := read("limit")
	moved := &flags.RuleSet{ReturnType: "number", Rules: []flags.Rule{{Type: "percentage_rollout"}, before.Rules[0], before.Rules[1], {Type: "percentage_rollout"}}}
	moved.Rules[1].ID = strings.ToUpper(moved.Rules[1].ID)
	moved.Rules[3].Seed, moved.Rules[3].ID = moved.Rules[2].Seed, "" // which is that of a rule at this place
	moved.Rules[2].Seed = ""
	moved.Complete("limit")
	for i, r := range moved.Rules {
		for j, other := range moved.Rules[:i] {
			if strings.EqualFold(r.ID, other.ID) || r.Seed == other.Seed && r.Seed != "" {
				t.Errorf("rules %d and %d are the same: %+v, %+v", i, j, r, other)
			}
		}
	}
	s := ruled(t, "limit", document)
	r, err := s.Flag("limit", &flags.Request{DistinctID: "ada", PersonProperties: map[string]any{"plan": "pro"}})
	if err != nil || string(r.JSON()) != "10" || r.Metadata.Payload != "10" || !r.Enabled {
		t.Errorf("Flag = %+v, %v", r, err)
	}
}

// TestRuleValues: rules.md §2.2. Values are kept as they are but for white space and negative zero.
func TestRuleValues(t *testing.T) {
	for value, want := range map[string]string{
		`{ }`: `{}`, `{"a" : [ 1 , -0 , [ ] , { "b":-0.0e5 } ] , "\u0063" : "x y" , "d":null}`: `{"a":[1,0,[],{"b":0}],"\u0063":"x y","d":null}`,
	} {
		set, err := flags.DecodeRuleSet([]byte(`{"version":2,"return_type":"object","default_value":`+value+`,"rules":[]}`), false)
		if err != nil {
			t.Fatal(err)
		}
		if string(set.Default) != want {
			t.Errorf("%s: %s, want %s", value, set.Default, want)
		}
	}
}

func FuzzRuleSet(f *testing.F) {
	f.Add([]byte(paywall))
	f.Fuzz(func(t *testing.T, document []byte) {
		set, err := flags.DecodeRuleSet(document, false)
		if err != nil {
			if _, ok := errors.AsType[*flags.RuleFault](err); !ok || json.Valid(document) && set != nil {
				t.Fatal(err)
			}
			return
		}
		readsBack(t, set)
		d := &flags.Definitions{Flags: []flags.Flag{{ID: 1, Key: "f", Active: true, Filters: flags.Filters{Version: 2, RuleSet: set}}}}
		s, err := flags.Compile(d, flags.CompileOptions{})
		if err != nil {
			t.Fatal(err)
		}
		quick, err := s.Flag("f", &flags.Request{DistinctID: "ada"})
		if err != nil {
			t.Fatal(err)
		}
		if full := fully(t, s, "f", "ada", nil); string(full.JSON()) != string(quick.JSON()) || full.Reason != quick.Reason {
			t.Errorf("quick %s %v, full %s %v", quick.JSON(), quick.Reason, full.JSON(), full.Reason)
		}
	})
}
