package check_test

import (
	"fmt"

	"github.com/flagstaff-go/flagstaff/management/check"
	"github.com/flagstaff-go/flagstaff/management/optional"
)

func Example() {
	name := optional.Of("  Ada ")
	fmt.Println(check.Name("first_name", &name), name.Value == "Ada")

	limit := optional.Of(0)
	fmt.Println(check.Between(1, 100)("limit", &limit))
	// Output:
	// <nil> true
	// limit: Ensure this value is greater than or equal to 1.
}
