package judge_test

import (
	"fmt"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/management/internal/judge"
)

// A change of a flag is read into what is stored, and judged.
func Example() {
	w := judge.NewWorld(&flags.Definitions{Flags: []flags.Flag{
		{ID: 1, Key: "checkout", Active: true, Filters: flags.Filters{Groups: []flags.Condition{{}}}},
		{ID: 2, Key: "base", Active: true, Filters: flags.Filters{Groups: []flags.Condition{{}}}},
	}}, nil)
	before := []byte(`{"groups":[],"payloads":{"true":"\"blue\""}}`)
	filters, _ := flags.DecodeFilters(before, "checkout")
	sent, err := judge.Merge(before, &filters, []byte(`{
		"groups": [{
			"properties": [{"type": "flag", "key": "base", "operator": "flag_evaluates_to", "value": true}],
			"rollout_percentage": 50, "variant": null
		}]
	}`), judge.Strict)
	if err != nil {
		fmt.Println(err)
		return
	}
	filters, err = judge.Read(sent, "checkout")
	fmt.Println(err, judge.Judge(&filters, judge.Subject{ID: 1, Key: "checkout"}, w))
	stored, _ := flags.AppendFilters(nil, &filters)
	fmt.Println(string(stored))
	fmt.Println(string(judge.Show(sent, &filters, false)))

	_, err = judge.Read([]byte(`{"groups":[{"rollout_percentage":"50"}]}`), "checkout")
	fmt.Println(err)
	// Output:
	// <nil> <nil>
	// {"groups":[{"properties":[{"key":"2","value":true,"operator":"flag_evaluates_to","type":"flag"}],"rollout_percentage":50}],"payloads":{"true":"\"blue\""}}
	// {"groups":[{"properties":[{"type":"flag","key":"2","operator":"flag_evaluates_to","value":true}],"rollout_percentage":50,"variant":null}],"payloads":{"true":"\"blue\""}}
	// filters: groups/0/rollout_percentage: must be a number from 0 to 100, not "50"
}

func ExampleJudgeCohort() {
	staff, _ := judge.ReadCohort([]byte(`{"properties":{"type":"OR","values":[{"key":"id","type":"cohort","value":8}]}}`), judge.Strict)
	w := judge.NewWorld(&flags.Definitions{Cohorts: map[int64]flags.Cohort{7: {Properties: staff}}}, nil)

	tree, _ := judge.ReadCohort([]byte(`{"properties":{"type":"OR","values":[{"key":"id","type":"cohort","value":7}]}}`), judge.Strict)
	fmt.Println(judge.JudgeCohort(tree, 8, w))
	// Output:
	// filters: properties/values/0/value: must not make cohorts use each other in a circle: 8 → 7 → 8
}
