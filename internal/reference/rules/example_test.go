package rules_test

import (
	"fmt"

	"github.com/flagstaff-go/flagstaff/internal/reference/rules"
)

func ExampleSet_Decide() {
	set, err := rules.Read(`{"version": 2, "return_type": "string", "default_value": "classic", "rules": [
		{"id": "11111111-1111-4111-8111-111111111111", "rule_type": "targeted_release", "value": "lab",
		 "targeting": {"properties": [{"key": "plan", "operator": "exact", "type": "person", "value": "staff"}]}}]}`)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(set.Decide("ada", map[string]any{"plan": "staff"}))
	fmt.Println(set.Decide("ada", nil))
	// Output:
	// "lab" targeting_match 0
	// "classic" no_rule_match -1
}
