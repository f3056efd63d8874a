package flags_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/flags"
)

// TestRuleSetFindings: what works in a rule set, but hardly as its author meant, and where.
func TestRuleSetFindings(t *testing.T) {
	const (
		everybody = `{"rule_type":"targeted_release","value":"x"}`
		some      = `{"rule_type":"targeted_release","value":"x","targeting":{"properties":[{"key":"a","value":1}]}}`
	)
	share := func(percent, more string) string {
		return `{"rule_type":"percentage_rollout","value":"x","rollout_percentage":` + percent + more + `}`
	}
	experiment := func(paused string) string {
		return `{"rule_type":"experiment","rollout_percentage":50,"experiment_id":null,"paused":` + paused + `,"variants":[{"key":"a","weight":50,"value":"x"},{"key":"b","weight":50,"value":"$false"}]}`
	}
	split := func(rest string) string {
		return `{"rule_type":"split","split":{"hash":"crc32","ends":["1"],"values":["x"],"rest":"` + rest + `","no_subject":"first"}}`
	}
	for _, tt := range []struct {
		name, members, rules string
		want                 []string
	}{
		{"several rules", "", some + "," + share("50", "") + "," + everybody, nil},
		{"everybody", "", everybody + "," + some + "," + everybody, []string{
			"warning /filters/rules/1: the rule is unreachable: rule 1 decides for everybody",
			"warning /filters/rules/2: the rule is unreachable: rule 1 decides for everybody",
		}},
		{"all of them", "", share("100", "") + "," + everybody, []string{"warning /filters/rules/1: the rule is unreachable: rule 1 decides for everybody who has an identifier"}},
		{"a default", "", share("5", `,"on_rollout_miss":"return_default"`) + "," + everybody, []string{"warning /filters/rules/1: the rule is unreachable: rule 1 decides for everybody"}},
		{"a paused experiment", "", experiment("true") + "," + everybody, []string{
			"warning /filters/rules/1: the rule is unreachable: rule 1 decides for everybody",
			"note /filters/rules/0/variants/1/value: the text stands for a boolean elsewhere",
		}},
		{"an experiment", "", strings.Replace(experiment("false"), "$", "", 1) + "," + everybody, nil},
		{"a split", "", split("last") + "," + everybody, []string{"warning /filters/rules/1: the rule is unreachable: rule 1 decides for everybody"}},
		{"a split that goes on", "", split("continue") + "," + everybody, nil},
		{"no rules", "", "", []string{"note /filters/rules: the flag has no rules and is its default for everybody"}},
		{"members without effect", `"bucketing_identifier":"device_id","ensure_experience_continuity":true,"bucketing_hash":"sha1",`, everybody, []string{
			"warning /bucketing_hash: it has no effect on a flag with a rule set",
			"warning /bucketing_identifier: it has no effect on a flag with a rule set",
			"warning /ensure_experience_continuity: it has no effect on a flag with a rule set",
		}},
		{"members of all flags", `"evaluation_runtime":"edge",`, everybody, []string{"error /evaluation_runtime: unknown runtime, it counts as all"}},
		{"no such flag", "", `{"rule_type":"targeted_release","value":"x","targeting":{"properties":[{"key":"a","value":1},{"type":"flag","key":"g","operator":"flag_evaluates_to","value":true}]}}`, []string{
			"error /filters/rules/0/targeting/properties/1/key: the flag that it depends on does not exist",
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := compiled(t, `{"flags":[{"id":1,"key":"f","active":true,`+tt.members+`"filters":{"version":2,"return_type":"string","rules":[`+tt.rules+`]}}]}`)
			var got []string
			for _, p := range s.Problems() {
				if got = append(got, p.Severity.String()+" "+p.Path+": "+p.Err.Error()); p.Flag != "f" || p.Hint == "" {
					t.Errorf("flag %q, hint %q: %v", p.Flag, p.Hint, p)
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
	s := compiled(t, `{"flags":[{"id":1,"key":"f","active":true,"filters":{"return_type":"string","rules":[]}}]}`)
	for _, p := range s.Problems() {
		if !strings.Contains(p.Error(), `write groups, or "version": 2 beside it for a rule set`) || p.Severity != flags.SeverityError {
			t.Errorf("without a version: %v", p)
		}
	}
	if len(s.Problems()) != 2 {
		t.Errorf("without a version: %v", s.Problems())
	}
}
