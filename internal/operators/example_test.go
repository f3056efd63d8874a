package operators_test

import (
	"fmt"

	"github.com/flagstaff-go/flagstaff/internal/operators"
)

func ExampleNamed() {
	o, _ := operators.Named("min") // an older name
	fmt.Printf("%s: %s, wants %s\n", o.Name, o.Words, o.Operand)
	fmt.Println(operators.Hint("greater-than", operators.PropertyFilter)[:17])
	// Output:
	// gte: ≥, wants a number, or the text of one
	// did you mean gt?
}
