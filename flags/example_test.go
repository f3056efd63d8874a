package flags_test

import (
	"fmt"
	"log"
	"strings"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/runtime"
)

const exampleDocument = `{
  "flags": [
    {"id": 1, "key": "new-checkout", "active": true, "filters": {
      "groups": [{"properties": [{"key": "plan", "type": "person", "operator": "exact", "value": "pro"}]}]}},
    {"id": 2, "key": "button", "active": true, "filters": {
      "groups": [{"rollout_percentage": 100}],
      "multivariate": {"variants": [{"key": "blue", "rollout_percentage": 50}, {"key": "red", "rollout_percentage": 50}]},
      "payloads": {"blue": "{\"hex\": \"#00f\"}", "red": "{\"hex\": \"#f00\"}"}}},
    {"id": 3, "key": "bulk-export", "active": true, "evaluation_runtime": "server", "filters": {"groups": [{}]}}
  ]
}`

func compileExample() *flags.Snapshot {
	definitions, err := flags.Decode(strings.NewReader(exampleDocument))
	if err != nil {
		log.Fatal(err)
	}
	snapshot, err := flags.Compile(definitions, flags.CompileOptions{})
	if err != nil {
		log.Fatal(err)
	}
	return snapshot
}

func Example() {
	var evaluator flags.Evaluator
	evaluator.Swap(compileExample())

	person := &flags.Request{
		DistinctID:       "user-1",
		PersonProperties: map[string]any{"plan": "pro"},
	}
	fmt.Println(evaluator.Bool("new-checkout", person, false))
	fmt.Println(evaluator.Variant("button", person, "control"))

	var payload struct{ Hex string }
	if err := evaluator.Payload("button", person, &payload); err != nil {
		log.Fatal(err)
	}
	fmt.Println(payload.Hex)
	// Output:
	// true
	// red
	// #f00
}

// A request is made for each call, and costs no allocation.
func ExampleProperty() {
	var evaluator flags.Evaluator
	evaluator.Swap(compileExample())
	for _, plan := range []string{"free", "Pro"} {
		fmt.Println(plan, evaluator.Bool("new-checkout", &flags.Request{
			DistinctID: "user-1",
			Person:     []flags.Property{flags.StringProperty("plan", plan), flags.IntProperty("seats", 5)},
			Groups:     map[string]string{"company": "acme"},
			OfGroups:   []flags.GroupProperty{{Type: "company", Property: flags.IntProperty("size", 50)}},
		}, false))
	}
	// Output:
	// free false
	// Pro true
}

func ExampleSnapshot_Evaluate() {
	browser := &flags.Request{DistinctID: "user-1", Filter: runtime.Filter{Kind: runtime.Client}}
	for key, result := range compileExample().Evaluate(browser).All() {
		fmt.Println(key, result.Value(), result.Reason.Code)
	}
	// Output:
	// new-checkout false no_condition_match
	// button red condition_match
}

func ExampleSnapshot_Explain() {
	trace, err := compileExample().Explain("new-checkout", &flags.Request{
		DistinctID:       "user-1",
		PersonProperties: map[string]any{"plan": "free"},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(trace)
	// Output:
	// new-checkout = false (No matching condition set)
	//   condition set 1, by person: no_condition_match
	//     person plan is "pro", seen "free": no match
	//   why: nothing matched; a mismatch ranks above a missing group, and of several the last one is reported
}

func ExampleSnapshot_Problems() {
	definitions, err := flags.Decode(strings.NewReader(`{"flags": [{"id": 1, "key": "beta", "active": true, "filters": {
	  "groups": [{"properties": [{"key": "plan", "type": "person", "operator": "equals", "value": "pro"}]}]}}]}`))
	if err != nil {
		log.Fatal(err)
	}
	snapshot, err := flags.Compile(definitions, flags.CompileOptions{})
	if err != nil {
		log.Fatal(err)
	}
	for _, p := range snapshot.Problems() {
		meant, _, _ := strings.Cut(p.Hint, " use one of") // all operators
		fmt.Printf("%v: flag %s at %s: %v: %s; %s\n", p.Severity, p.Flag, p.Path, p.Err, p.Value, meant)
	}
	// Output:
	// error: flag beta at /filters/groups/0/properties/0/operator: unknown operator: "equals"; did you mean exact?
}

func ExampleDecodeFilters() {
	filters, err := flags.DecodeFilters([]byte(`{
		"groups": [{"rollout_percentage": 50.0, "properties": [
			{"type": "flag", "key": "new-checkout", "operator": "flag_evaluates_to", "value": true},
			{"type": "cohort", "key": "id", "value": 7}]}],
		"payloads": {"true": {"limit": 5}}}`), "bulk-export")
	if err != nil {
		log.Fatal(err)
	}
	for r := range filters.Targets() {
		fmt.Println("depends on", r.Name)
	}
	for id := range filters.CohortIDs() {
		fmt.Println("is for cohort", id)
	}
	payload, _ := filters.Payload("true")
	fmt.Println("has the payload", payload)

	filters.Groups[0].RolloutPercentage = new(75.0)
	filters.Groups[0].Properties = nil
	out, err := filters.Normal()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(out))

	_, err = flags.DecodeFilters([]byte(`{"groups": [{"rollout_percentage": "50"}]}`), "bulk-export")
	fmt.Println(err)
	// Output:
	// depends on new-checkout
	// is for cohort 7
	// has the payload {"limit":5}
	// {"groups":[{"properties":[],"rollout_percentage":75}],"payloads":{"true":"{\"limit\":5}"}}
	// flag "bulk-export" at /filters/groups/0/rollout_percentage: must be a number, not a string: "50"
}

func ExampleDecode() {
	_, err := flags.Decode(strings.NewReader(`["new-checkout"]`))
	fmt.Println(err)

	definitions, err := flags.Decode(strings.NewReader(exampleDocument))
	if err != nil {
		log.Fatal(err)
	}
	for _, f := range definitions.Flags {
		fmt.Println(f.Key, f.Active)
	}
	// Output:
	// flags: definitions must be a JSON object with an array "flags", not an array
	// new-checkout true
	// button true
	// bulk-export true
}

func ExampleCompile() {
	definitions, err := flags.Decode(strings.NewReader(`{"flags": [
		{"id": 1, "key": "new-checkout", "active": true, "filters": {"groups": [{"rollout": 20}]}}]}`))
	if err != nil {
		log.Fatal(err)
	}
	// A test of the definitions of production wants to know: Strict refuses them.
	_, err = flags.Compile(definitions, flags.CompileOptions{Strict: true})
	fmt.Println(err)
	// Output: flags: strict: 1 errors, the first: flag "new-checkout" at /filters/groups/0/rollout: unknown member, write rollout_percentage: 20; the flag fails with flag_data_parsing_error until this is corrected
}

func ExampleEvaluator() {
	var evaluator flags.Evaluator // nothing is loaded: fallbacks
	person := &flags.Request{DistinctID: "user-1"}
	fmt.Println(evaluator.Variant("button", person, "control"))

	evaluator.Swap(compileExample()) // at any time, while others evaluate
	fmt.Println(evaluator.Variant("button", person, "control"))
	// Output:
	// control
	// red
}
