package casefold_test

import (
	"fmt"

	"github.com/flagstaff-go/flagstaff/internal/casefold"
)

func ExampleLower() {
	fmt.Println(casefold.Lower("ÉCOLE"))
	fmt.Println(casefold.Lower("ΟΔΥΣΣΕΥΣ"))
	fmt.Println(string(casefold.AppendLowerASCII(nil, "ÉCOLE")))
	// Output:
	// école
	// οδυσσευς
	// École
}
