package judge_test

import (
	"encoding/json"
	"fmt"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/judge"
)

// A change of a flag is read into what is stored, and judged.
func Example() {
	w := judge.NewReferences(&flags.Definitions{Flags: []flags.Flag{
		{ID: 1, Key: "checkout", Active: true, Filters: flags.Filters{Groups: []flags.Condition{{}}}},
		{ID: 2, Key: "base", Active: true, Filters: flags.Filters{Groups: []flags.Condition{{}}}},
	}}, nil)
	before, _ := flags.DecodeFilters([]byte(`{"groups":[],"payloads":{"true":"\"blue\""}}`), "checkout")
	var sent flags.Filters
	_ = json.Unmarshal([]byte(`{
		"groups": [{
			"properties": [{"type": "flag", "key": "base", "operator": "flag_evaluates_to", "value": true}],
			"rollout_percentage": 50, "variant": null
		}]
	}`), &sent)
	fmt.Println(judge.Strict.CheckFilters(&sent))
	filters := before.Merge(&sent)
	fmt.Println(judge.Judge(&filters, judge.Subject{ID: 1, Key: "checkout"}, w))
	shown, _ := json.Marshal(filters)
	fmt.Println(string(shown))

	_ = json.Unmarshal([]byte(`{"groups":[{"rollout_percentage":"50"}]}`), &sent)
	fmt.Println(judge.Judge(&sent, judge.Subject{ID: 1, Key: "checkout"}, w))
	// Output:
	// <nil>
	// <nil>
	// {"groups":[{"properties":[{"key":"2","value":true,"operator":"flag_evaluates_to","type":"flag"}],"rollout_percentage":50,"variant":null}],"payloads":{"true":"\"blue\""}}
	// filters: groups/0/rollout_percentage: must be a number, not a string: "50"
}

func ExampleJudgeCohort() {
	staff, _ := flags.DecodeCohort([]byte(`{"properties":{"type":"OR","values":[{"key":"id","type":"cohort","value":8}]}}`), 7)
	w := judge.NewReferences(&flags.Definitions{Cohorts: map[int64]flags.Cohort{7: {Properties: staff}}}, nil)

	tree, _ := flags.DecodeCohort([]byte(`{"properties":{"type":"OR","values":[{"key":"id","type":"cohort","value":7}]}}`), 8)
	fmt.Println(judge.JudgeCohort(tree, 8, w))
	// Output:
	// filters: properties/values/0/value: must not make cohorts use each other in a circle: 8 → 7 → 8
}
