package diff_test

import (
	"fmt"
	"log"
	"strings"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/flags/diff"
)

func Example() {
	compile := func(document string) *flags.Snapshot {
		definitions, err := flags.Decode(strings.NewReader(document))
		if err != nil {
			log.Fatal(err)
		}
		snapshot, err := flags.Compile(definitions, flags.CompileOptions{})
		if err != nil {
			log.Fatal(err)
		}
		return snapshot
	}
	before := compile(`{"flags": [{"id": 1, "key": "new-checkout", "active": true, "filters": {"groups": [
		{"rollout_percentage": 50}]}}]}`)
	after := compile(`{"flags": [{"id": 1, "key": "new-checkout", "active": true, "filters": {"groups": [
		{"properties": [{"key": "plan", "type": "person", "operator": "exact", "value": "pro"}]},
		{"rollout_percentage": 40}]}}]}`)

	// A sequence may as well read subjects from a file, one by one.
	subjects := func(yield func(*flags.Request) bool) {
		for i := range 1000 {
			r := &flags.Request{DistinctID: fmt.Sprint("user-", i), PersonProperties: map[string]any{"plan": "free"}}
			if i%100 == 0 {
				r.PersonProperties["plan"] = "pro"
			}
			if !yield(r) {
				return
			}
		}
	}
	report := diff.Compare(before, after, subjects)
	for _, f := range report.Flags {
		fmt.Println(f.Key, f.Share > 0.01)
	}
	fmt.Print(report)
	// Output:
	// new-checkout true
	// 100 of 1000 subjects (10%) get another value; 1 of 1 flags differ
	//
	// new-checkout  changed  10%  100
	//     96 true (condition_match 0)       → false (out_of_rollout_bound 1) e.g. "user-11", "user-16", "user-40"
	//      4 false (out_of_rollout_bound 0) → true (condition_match 0)       e.g. "user-400", "user-600", "user-700"
}
