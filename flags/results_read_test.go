package flags_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/flagstaff-go/flagstaff/flags"
)

// A record of a rule set, with what a test adds to its metadata.
func record(value, reason, metadata string) string {
	return fmt.Sprintf(`{"key":"f","value":%s,"reason":%s,"metadata":{"id":7,"version":3,"config_version":2,"has_experiment":true%s}}`, value, reason, metadata)
}

// ruleOf returns what a result says of its rule.
func ruleOf(r flags.Result) string {
	rule := r.Rule
	if rule == nil {
		return ""
	}
	out := rule.Type + " " + rule.ID
	if rule.ExperimentID != nil {
		out += fmt.Sprint(" experiment ", *rule.ExperimentID)
	}
	if rule.VariantKey != "" {
		out += " variant " + rule.VariantKey
	}
	if rule.HoldoutID != nil {
		out += fmt.Sprint(" holdout ", *rule.HoldoutID)
	}
	return out
}

// TestRecordsRead is rules.md §4.5: what a client reads of a record.
func TestRecordsRead(t *testing.T) {
	at := func(code string) string { return fmt.Sprintf(`{"code":%q,"condition_index":1}`, code) }
	const split = `,"rule_type":"experiment","rule_id":"r","experiment_id":5,"variant_key":"a"`
	for _, tt := range []struct {
		name, in    string
		value       string // JSON, or "" for condition sets
		older, rule string
	}{
		{"value counts, not the older members", `{"key":"f","value":"x","enabled":false,"variant":"y","reason":{"code":"condition_match"},"metadata":{"config_version":1}}`, "", `x`, ""},
		{"an old server: variant", `{"key":"f","enabled":true,"variant":"y","metadata":{"rule_type":"experiment"}}`, "", `y`, ""},
		{"an old server: enabled", `{"key":"f","enabled":true,"variant":null}`, "", `true`, ""},
		{"an old server: nothing", `{"key":"f"}`, "", `false`, ""},
		{"condition sets, true", `{"key":"f","value":true,"metadata":{"config_version":1,"payload":"[1]"}}`, "", `true [1]`, ""},
		{"condition sets, failed", `{"key":"f","value":null,"failed":true,"metadata":{"config_version":1}}`, "", `false failed`, ""},
		{"condition sets have no rule", `{"key":"f","value":true,"reason":{"code":"targeting_match","condition_index":0},"metadata":{"config_version":1,"rule_type":"targeted_release","rule_id":"r"}}`, "", `true`, ""},
		{"true", record(`true`, at("targeting_match"), `,"rule_type":"targeted_release","rule_id":"r"`), `true`, `true`, "targeted_release r"},
		{"false", record(`false`, at("targeting_match"), `,"rule_type":"percentage_rollout","rule_id":"r"`), `false`, `false`, "percentage_rollout r"},
		{"a string", record(`"é"`, at("targeting_match"), `,"rule_type":"experiment","rule_id":"r"`), `"é"`, `é`, "experiment r"},
		{"a number", record(` 1.5e3 `, at("experiment_split"), split), `1.5e3`, `true 1.5e3`, "experiment r experiment 5 variant a"},
		{"zero", record(`-0.0`, at("targeting_match"), ``), `0`, `true 0`, ""},
		{"an object", record(`{ "a" : [1, null] }`, at("experiment_split"), split), `{"a":[1,null]}`, `true {"a":[1,null]}`, "experiment r experiment 5 variant a"},
		{"null", record(`null`, `{"code":"no_rule_match","condition_index":null}`, ``), `null`, `false`, ""},
		{"failed", strings.Replace(record(`null`, `{"code":"error"}`, ``), `"reason"`, `"failed":true,"reason"`, 1), `null`, `false failed`, ""},
		{"a miss of an experiment", record(`"d"`, at("rollout_miss"), `,"rule_type":"experiment","rule_id":"r","experiment_id":5`), `"d"`, `d`, "experiment r experiment 5"},
		{"a paused experiment", record(`"d"`, at("experiment_paused"), `,"rule_type":"experiment","rule_id":"r","experiment_id":5`), `"d"`, `d`, "experiment r experiment 5"},
		{"a holdout", record(`"d"`, at("holdout"), `,"rule_type":"experiment","rule_id":"r","experiment_id":5,"holdout_id":8`), `"d"`, `d`, "experiment r experiment 5 holdout 8"},
		{"1.0 is an integer", strings.NewReplacer(`7,`, `7.0,`, `":2,`, `":2.0,`, `"condition_index":1`, `"condition_index":1.0`, `:5,`, `:5.0,`).Replace(record(`"x"`, at("experiment_split"), split)), `"x"`, `x`, "experiment r experiment 5 variant a"},
		{"unknown members", record(`"x"`, `{"code":"experiment_split","condition_index":1,"more":{}}`, split+`,"seeds":[1]`), `"x"`, `x`, "experiment r experiment 5 variant a"},
		{"a split without its variant", record(`"x"`, at("experiment_split"), `,"rule_type":"experiment","rule_id":"r","experiment_id":5`), `"x"`, `x`, ""},
		{"a split without its experiment", record(`"x"`, at("experiment_split"), `,"rule_type":"experiment","rule_id":"r","variant_key":"a"`), `"x"`, `x`, ""},
		{"a split without its rule", record(`"x"`, at("experiment_split"), `,"rule_type":"experiment","experiment_id":5,"variant_key":"a"`), `"x"`, `x`, ""},
		{"a split of another rule", record(`"x"`, at("experiment_split"), `,"rule_type":"percentage_rollout","rule_id":"r","experiment_id":5,"variant_key":"a"`), `"x"`, `x`, ""},
		{"a split with a holdout", record(`"x"`, at("experiment_split"), split+`,"holdout_id":1`), `"x"`, `x`, ""},
		{"a newer configuration", strings.Replace(record(`"x"`, at("experiment_split"), split), `"config_version":2`, `"config_version":4`, 1), `"x"`, `x`, ""},
	} {
		var r flags.Result
		if err := r.UnmarshalJSON([]byte(tt.in)); err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		older := r.Text()
		if r.Metadata.Payload != "" {
			older += " " + r.Metadata.Payload
		}
		if r.Failed {
			older += " failed"
		}
		if got := string(r.JSON()); got != tt.value || older != tt.older || ruleOf(r) != tt.rule || r.Key != "f" {
			t.Errorf("%s: %s, %q, %q; want %s, %q, %q", tt.name, got, older, ruleOf(r), tt.value, tt.older, tt.rule)
		}
	}
	good := record(`"x"`, at("experiment_split"), split+`,"description":null,"payload":null`)
	for name, change := range map[string][2]string{
		"key": {`"key":"f"`, `"key":1`}, "value": {`"value":"x"`, `"value":["x"]`}, "value of condition sets": {`"value":"x","reason":{"code":"experiment_split","condition_index":1},"metadata":{"id":7,"version":3,"config_version":2`, `"value":1,"metadata":{"config_version":1`},
		"failed": {`"key"`, `"failed":"no","key"`}, "reason": {at("experiment_split"), `"experiment_split"`}, "code": {`"code":"experiment_split"`, `"code":1`}, "condition_index": {`"condition_index":1`, `"condition_index":1.5`},
		"metadata": {`"metadata":{`, `"metadata":7,"x":{`}, "id": {`"id":7`, `"id":"7"`}, "version": {`"version":3`, `"version":"3"`}, "config_version": {`"config_version":2`, `"config_version":"2"`}, "has_experiment": {`"has_experiment":true`, `"has_experiment":1`},
		"rule_id": {`"rule_id":"r"`, `"rule_id":1`}, "rule_type": {`"rule_type":"experiment"`, `"rule_type":{}`}, "experiment_id": {`"experiment_id":5`, `"experiment_id":"5"`}, "variant_key": {`"variant_key":"a"`, `"variant_key":true`},
		"holdout_id": {`"id":7`, `"id":7,"holdout_id":"1"`}, "description": {`"description":null`, `"description":1`}, "forced_variant": {`"id":7`, `"id":7,"forced_variant":1`}, "conditions": {`"key"`, `"conditions":{},"key"`},
	} {
		in := strings.Replace(good, change[0], change[1], 1)
		var r flags.Result
		if err := r.UnmarshalJSON([]byte(in)); in == good || err == nil {
			t.Errorf("%s of the wrong type is read: %s", name, in)
		}
	}
}
