package operator_test

import (
	"encoding/json"
	"fmt"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/flags/operator"
)

func Example() {
	pro := flags.Filter{Key: "plan", Operator: operator.Exact, Value: json.RawMessage(`"pro"`)}
	large := flags.Filter{Key: "seats", Operator: operator.GTE, Value: json.RawMessage(`50`)}
	set := flags.Filters{Groups: []flags.Condition{{Properties: []flags.Filter{pro, large}}}}
	text, err := set.Encode()
	fmt.Println(string(text), err)
	// Output: {"groups":[{"properties":[{"key":"plan","value":"pro","operator":"exact"},{"key":"seats","value":50,"operator":"gte"}]}]} <nil>
}
