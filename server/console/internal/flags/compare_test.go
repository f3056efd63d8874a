package flags_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/flagstaff-go/flagstaff/server/console/consoletest"
)

// TestCompare: two versions of a flag stand side by side, field by field, and what is the same in
// both is folded.
func TestCompare(t *testing.T) {
	s := consoletest.NewSite(t)
	const same, different = "the same in both", "Field Version"
	for _, tt := range []struct {
		name, before, after string
		want                []string // rows
	}{
		{"nothing", `{}`, `{}`, []string{"The two versions are the same."}},
		{"details", `{"name":"A","tags":["b"]}`, `{"name":"","tags":["b","c"]}`, []string{"description A nothing", "tags b b, c"}},
		{"state", `{"active":false}`, `{"active":true}`, []string{"state off on"}},
		{
			"a filter", `{"filters":{"groups":[{"properties":[{"key":"plan","type":"person","value":"pro"}],"rollout_percentage":5}]}}`,
			`{"filters":{"groups":[{"properties":[{"key":"plan","type":"person","value":"team"}],"rollout_percentage":5}]}}`,
			[]string{"condition set 1 5% of everyone where plan is pro 5% of everyone where plan is team"},
		},
		{
			"a condition set before others", `{"filters":{"groups":[{"rollout_percentage":5},{"rollout_percentage":6}]}}`,
			`{"filters":{"groups":[{"rollout_percentage":4,"description":"first"},{"rollout_percentage":5},{"rollout_percentage":6}]}}`,
			[]string{
				"condition set 1 nothing 4% of everyone (first)", "condition set 2 5% of everyone condition set 3 6% of everyone",
			},
		},
		{
			"one that goes", `{"filters":{"groups":[{"rollout_percentage":5},{"rollout_percentage":6}]}}`,
			`{"filters":{"groups":[{"rollout_percentage":6}]}}`,
			[]string{"condition set 1 5% of everyone nothing"},
		},
		{
			"one before, another one changed", `{"filters":{"groups":[{"rollout_percentage":5},{"rollout_percentage":6}]}}`,
			`{"filters":{"groups":[{"rollout_percentage":4},{"rollout_percentage":5},{"rollout_percentage":7}]}}`,
			[]string{
				"condition set 1 nothing 4% of everyone condition set 3 6% of everyone 7% of everyone",
				"condition set 2 5% of everyone runtime",
			},
		},
		{
			"what no words tell", `{"filters":{"groups":[{"properties":[],"rollout_percentage":5}]}}`,
			`{"filters":{"groups":[{"properties":[],"rollout_percentage":5,"sort_key":"k"}]}}`,
			[]string{`"sort_key":"k"`},
		},
		{
			"variants",
			`{"filters":{"multivariate":{"variants":[{"key":"a","rollout_percentage":100}]},"payloads":{"a":"1"}}}`,
			`{"filters":{"multivariate":{"variants":[{"key":"a","rollout_percentage":40},{"key":"b","name":"B","rollout_percentage":60}]},
				"payloads":{"a":"2"}}}`,
			[]string{"variant 1 a 100%, payload 1 a 40%, payload 2", "variant 2 nothing b 60% (B)"},
		},
		{
			"settings",
			`{"evaluation_runtime":"all"}`,
			`{"evaluation_runtime":"server","evaluation_contexts":["web"],"ensure_experience_continuity":true,
				"filters":{"groups":[],"holdout":{"id":7,"exclusion_percentage":5},"aggregation_group_type_index":0}}`,
			[]string{
				"runtime All runtimes Server only", "contexts nothing web", "group type none: by persons company",
				"holdout nothing 5% are held out, by holdout 7", "experience continuity no yes",
			},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s.T = t
			s.Update("retired", `{"active":false,"name":"","tags":[],"filters":{"groups":[],"multivariate":null,"payloads":null}}`)
			s.Update("retired", tt.before)
			from := s.Flag("retired").Version
			s.Update("retired", tt.after)
			to := s.Flag("retired").Version
			page := s.Get(fmt.Sprintf("%s/compare?from=%d&to=%d", s.FlagPath("retired"), from, to)).Want(200, tt.want...)
			page.CheckPage()
			if !strings.Contains(consoletest.Words(page.Body), "key retired") {
				t.Errorf("what is the same is not there: %s", consoletest.Words(page.Body))
			}
			_, shown, _ := strings.Cut(consoletest.Words(page.Body), different)
			if changed, _, ok := strings.Cut(shown, same); tt.name != "nothing" && (!ok || strings.Contains(changed, "key retired")) {
				t.Errorf("what is the same is not folded: %s", shown)
			}
		})
	}
	s.T = t
	s.Update("retired", `{"is_remote_configuration":true,"has_encrypted_payloads":true,
		"filters":{"groups":[{}],"payloads":{"true":"\"pw\""}}}`)
	path := s.FlagPath("retired") + "/compare"
	page := s.Get(path).Want(200, "The payloads are encrypted", "encrypted payloads no yes")
	if strings.Contains(page.Body, "pw") {
		t.Error("the page has an encrypted payload")
	}
	for _, version := range []string{"0", "9999", "x", "99999999999999999999", `"><b>`} {
		s.Get(path+"?"+url.Values{"from": {version}}.Encode()).Want(404, "There is no version “"+version+"”").CheckPage()
	}
	s.Get(s.FlagPath("retired")+"/history").Want(200, "Compare the chosen versions").CheckPage()
}
