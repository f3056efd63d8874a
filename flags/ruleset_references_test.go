package flags_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/flagstaff-go/flagstaff/flags"
)

// referencesDocument has what filters of rules refer to. The flag "f" has one rule with one filter.
const referencesDocument = `{"flags":[
	{"id":1,"key":"f","active":true,"filters":{"version":2,"return_type":"string","default_value":"no","rules":[
		{"rule_type":"targeted_release","value":"yes","targeting":{"properties":[%s]}}]%s}},
	{"id":2,"key":"on","active":true,"filters":{"groups":[{"properties":[{"key":"plan","type":"person","value":"pro"}]}]}},
	{"id":3,"key":"variants","active":true,"filters":{"groups":[{"variant":"red"}],"multivariate":{"variants":[{"key":"red","rollout_percentage":100}]}}},
	{"id":4,"key":"text","active":true,"filters":{"version":2,"return_type":"string","rules":[{"rule_type":"targeted_release","value":"blue"}]}},
	{"id":5,"key":"zero","active":true,"filters":{"version":2,"return_type":"number","default_value":0,"rules":[]}},
	{"id":6,"key":"nothing","active":true,"filters":{"version":2,"return_type":"number","rules":[]}},
	{"id":7,"key":"broken","active":true,"filters":{"version":2,"return_type":"boolean","rules":[
		{"rule_type":"targeted_release","value":true,"targeting":{"properties":[{"key":"plan","operator":"regex","value":"("}]}}]}}],
	"group_type_mapping":{"0":"company","1":"team"},
	"cohorts":{"4":{"type":"OR","values":[{"key":"plan","type":"person","value":"pro"}]}}}`

// TestRuleReferences: rules.md §3.3.
func TestRuleReferences(t *testing.T) {
	flag := func(key, value string) string {
		return fmt.Sprintf(`{"type":"flag","key":%q,"operator":"flag_evaluates_to","value":%s}`, key, value)
	}
	const company, forCompanies = `{"type":"group","key":"size","value":"large","group_type_index":0}`, `,"aggregation_group_type_index":0`
	for _, tt := range []struct {
		filter, root, plan string
		want               string
	}{
		{`{"type":"cohort","key":"id","value":4}`, "", "pro", `"yes" targeting_match`},
		{`{"type":"cohort","key":"id","value":4}`, "", "free", `"no" no_rule_match`},
		{`{"type":"cohort","key":"id","value":4,"operator":"not_in"}`, "", "free", `"yes" targeting_match`},
		{`{"type":"cohort","key":"id","value":4,"negation":true}`, "", "free", `"yes" targeting_match`},
		{`{"type":"cohort","key":"id","value":4,"operator":"not_in","negation":true}`, "", "pro", `"yes" targeting_match`},
		{`{"type":"cohort","key":"id","value":5}`, "", "pro", `null error`},
		{`{"type":"cohort","key":"id","value":5,"negation":true}`, "", "pro", `null error`},
		{flag("on", "true"), "", "pro", `"yes" targeting_match`},
		{flag("2", "true"), "", "pro", `"yes" targeting_match`},
		{flag("on", "true"), "", "free", `"no" no_rule_match`},
		{flag("on", "false"), "", "free", `"yes" targeting_match`},
		{flag("variants", `"red"`), "", "", `"yes" targeting_match`},
		{flag("variants", `"blue"`), "", "", `"no" no_rule_match`},
		{flag("text", `"blue"`), "", "", `"yes" targeting_match`},
		{flag("text", `true`), "", "", `"yes" targeting_match`},
		{flag("zero", `true`), "", "", `"yes" targeting_match`},
		{flag("nothing", `false`), "", "", `"yes" targeting_match`},
		{flag("broken", `true`), "", "pro", `null dependency_error`},
		{flag("broken", `false`), "", "pro", `null dependency_error`},
		{flag("broken", `true`), "", "", `"no" no_rule_match`},
		{company, "", "", `"yes" targeting_match`},
		{strings.Replace(company, "0", "1", 1), "", "", `"no" no_rule_match`},
		{`{"type":"group","key":"size","value":"large"}`, forCompanies, "", `"yes" targeting_match`},
		{`{"type":"group","key":"size","value":"small"}`, forCompanies, "", `"no" no_rule_match`},
		{"", strings.Replace(forCompanies, "0", "1", 1), "", `null missing_group_key`},
	} {
		t.Run(tt.filter+tt.root+" "+tt.plan, func(t *testing.T) {
			d, err := flags.Decode(strings.NewReader(fmt.Sprintf(referencesDocument, tt.filter, tt.root)))
			if err != nil {
				t.Fatal(err)
			}
			s, err := flags.Compile(d, flags.CompileOptions{})
			if err != nil {
				t.Fatal(err)
			}
			r := &flags.Request{
				DistinctID: "ada", Groups: map[string]string{"company": "acme"},
				GroupProperties: map[string]map[string]any{"company": {"size": "large"}},
			}
			if tt.plan != "" {
				r.PersonProperties = map[string]any{"plan": tt.plan}
			}
			one, err := s.Flag("f", r)
			if err != nil {
				t.Fatal(err)
			}
			all, _ := s.Evaluate(r).Get("f")
			for way, r := range map[string]flags.Result{"alone": one, "with all": all} {
				if got := fmt.Sprintf("%s %s", r.JSON(), r.Reason.Code); got != tt.want || r.Failed != strings.HasPrefix(tt.want, "null") && r.Reason.Code != "missing_group_key" {
					t.Errorf("%s: %s, failed %v; want %s", way, got, r.Failed, tt.want)
				}
			}
		})
	}
}
