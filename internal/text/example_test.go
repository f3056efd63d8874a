package text_test

import (
	"fmt"

	"github.com/flagstaff-go/flagstaff/internal/casefold"
	"github.com/flagstaff-go/flagstaff/internal/numeral"
	"github.com/flagstaff-go/flagstaff/internal/text"
)

func Example() {
	// n icontains 3, where n is 1234.50.
	needle, _ := text.Str([]byte(`3`))
	property := numeral.Append(nil, []byte(`1234.50`))
	fmt.Println(needle, string(property))

	// plan exact "Pro", where plan is "PRO".
	fmt.Println(casefold.Lower("Pro") == casefold.Lower("PRO"))

	// n gt "1e3", where n is "1001".
	bound, _ := numeral.Float("1e3")
	n, ok := numeral.Float("1001")
	fmt.Println(ok && n > bound)
	// Output:
	// 3 1234.5
	// true
	// true
}

func ExampleStr() {
	for _, v := range []string{`"a\tb"`, `1.0`, `1e16`, `{"b": [1, "x"], "a": null}`} {
		s, _ := text.Str([]byte(v))
		fmt.Printf("%q\n", s)
	}
	// Output:
	// "a\tb"
	// "1.0"
	// "1e16"
	// "{\"a\":null,\"b\":[1,\"x\"]}"
}
