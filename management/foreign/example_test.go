package foreign_test

import (
	"bytes"
	"fmt"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/management/foreign"
)

func ExampleConvert() {
	document := []byte(`{"segments": {}, "flags": {
		"checkout": {"key": "checkout", "on": true, "salt": "s", "variations": [true, false], "fallthrough": {"rollout": {"contextKind": "user", "variations": [
			{"variation": 0, "weight": 20000}, {"variation": 1, "weight": 80000}]}}},
		"limits": {"key": "limits", "on": true, "variations": [[1, 2], [3]], "fallthrough": {"variation": 0}}}}`)
	converted, err := foreign.Convert(document, foreign.Options{From: "launchdarkly"})
	if err != nil {
		panic(err)
	}
	for _, left := range converted.LeftOut {
		fmt.Println(left.Flag, "is left out:", left.Reasons[0])
	}
	definitions, err := flags.Decode(bytes.NewReader(converted.Document))
	if err != nil {
		panic(err)
	}
	snapshot, err := flags.Compile(definitions, flags.CompileOptions{})
	if err != nil {
		panic(err)
	}
	for _, id := range []string{"ada", "bob", "leo"} {
		fmt.Println(id, snapshot.Bool("checkout", &flags.Request{DistinctID: id}, false))
	}
	// Output:
	// limits is left out: Value 1 is a list, null, an empty text or a number beyond 2^53, which no flag may have here. Those who would get it get the fallback of the program.
	// ada false
	// bob false
	// leo true
}
