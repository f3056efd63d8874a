package judge_test

import (
	"fmt"

	"github.com/flagstaff-go/flagstaff/management/internal/judge"
)

// A change of a flag is merged into what is stored, judged, and normalized.
func Example() {
	w := judge.NewWorld(judge.Project{
		Flags: []judge.Flag{
			{ID: 1, Key: "checkout", Active: true, Filters: []byte(`{"groups":[{"properties":[]}],"payloads":{"true":"\"blue\""}}`)},
			{ID: 2, Key: "base", Active: true, Filters: []byte(`{"groups":[{"properties":[]}]}`)},
		},
	})
	stored, _ := judge.Merge([]byte(`{"groups":[],"payloads":{"true":"\"blue\""}}`), []byte(`{
		"groups": [{
			"properties": [{"key": "base", "type": "flag", "operator": "flag_evaluates_to", "value": true}],
			"rollout_percentage": 50
		}]
	}`))
	filters, err := judge.Filters(stored, judge.Subject{ID: 1, Key: "checkout"}, w)
	fmt.Println(string(filters), err)

	_, err = judge.Filters([]byte(`{"groups":[{"rollout_percentage":"50"}]}`), judge.Subject{ID: 1, Key: "checkout"}, w)
	fmt.Println(err)
	// Output:
	// {"groups":[{"properties":[{"key":"2","value":true,"operator":"flag_evaluates_to","type":"flag"}],"rollout_percentage":50}],"payloads":{"true":"\"blue\""}} <nil>
	// filters: groups/0/rollout_percentage: must be a number from 0 to 100, not "50"
}

func ExampleCohortFilters() {
	w := judge.NewWorld(judge.Project{
		Cohorts: []judge.Cohort{{ID: 7, Name: "Staff", Filters: []byte(`{"properties":{"type":"OR","values":[{"key":"id","type":"cohort","value":8}]}}`)}},
	})
	_, err := judge.CohortFilters([]byte(`{"properties":{"type":"OR","values":[{"key":"id","type":"cohort","value":7}]}}`), 8, w)
	fmt.Println(err)
	// Output:
	// filters: properties/values/0/value: must not make cohorts use each other in a circle: 8 → 7 → 8
}
