package flags_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/flagstaff-go/flagstaff/flags"
)

// TestRuleDraws holds the draws of rules.md §3.1 to shares that were computed elsewhere: those of
// §8, and those of condition sets, which a rule draws whose seed is the key of the flag, and whose
// holdout has the seed "holdout-".
func TestRuleDraws(t *testing.T) {
	text, err := os.ReadFile("testdata/rule_draws.json")
	if err != nil {
		t.Fatal(err)
	}
	var draws []struct {
		Seed        string
		HoldoutSeed string `json:"holdout_seed"`
		ID          string
		Holdout     float64
		Rollout     *float64
		Variant     *float64
	}
	if err := json.Unmarshal(text, &draws); err != nil {
		t.Fatal(err)
	}
	if len(draws) < 200 {
		t.Fatalf("%d draws", len(draws))
	}
	const rule = `{"version":2,"return_type":"string","default_value":null,"rules":[{"id":"00000000-0000-4000-8000-000000000001","rule_type":"experiment","experiment_id":null,"paused":false,"targeting":{"properties":[]},` +
		`"rollout_percentage":%s,"on_rollout_miss":"return_default","assignment_algorithm":"sha1_60_v1","seed":%q,"variants":%s,"holdout":{"id":null,"seed":%q,"exclusion_percentage":%s}}]}`
	variants := func(weights ...float64) string {
		var list []string
		for i, w := range weights {
			list = append(list, fmt.Sprintf(`{"key":"v%d","weight":%v,"value":"v%d"}`, i, w, i))
		}
		return "[" + strings.Join(list, ",") + "]"
	}
	for _, d := range draws {
		trace := func(rollout, excluded, variants string) flags.ConditionTrace {
			trace, err := ruled(t, "f", fmt.Sprintf(rule, rollout, d.Seed, variants, d.HoldoutSeed, excluded)).Explain("f", &flags.Request{DistinctID: d.ID})
			if err != nil {
				t.Fatal(err)
			}
			return trace.Conditions[0]
		}
		for _, p := range []string{"0", "5", "20", "33.33", "50", "99.99"} {
			var share float64
			if _, err := fmt.Sscan(p, &share); err != nil {
				t.Fatal(err)
			}
			if got := trace("100", p, variants(50, 50)).Holdout; got.Bucket != d.Holdout || got.In != (d.Holdout <= share/100) {
				t.Errorf("%s %q, holdout %s: %+v, want %v", d.HoldoutSeed, d.ID, p, got, d.Holdout)
			}
			if d.Rollout == nil {
				continue
			}
			if got := trace(p, "0", variants(50, 50)).Rollout; got.Bucket != *d.Rollout || got.In != (*d.Rollout <= share/100) {
				t.Errorf("%s %q, rollout %s: %+v, want %v", d.Seed, d.ID, p, got, *d.Rollout)
			}
		}
		if d.Variant == nil {
			continue
		}
		for _, weights := range [][]float64{{50, 50}, {33.33, 33.33, 33.34}, {50, 20, 20, 5, 5}, {0, 100}, {100, 0}, {10, 10, 10, 10, 10, 10, 10, 10, 10, 10}} {
			want, sum := len(weights)-1, 0.0
			for i, w := range weights {
				if sum += w / 100; *d.Variant < sum {
					want = i
					break
				}
			}
			if got := trace("100", "0", variants(weights...)).Variant; got.Bucket != *d.Variant || got.Variant != fmt.Sprint("v", want) {
				t.Errorf("%s %q, weights %v: %+v, want %v and v%d", d.Seed, d.ID, weights, got, *d.Variant, want)
			}
		}
	}
}
