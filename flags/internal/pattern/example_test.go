package pattern_test

import (
	"fmt"

	"github.com/flagstaff-go/flagstaff/flags/internal/pattern"
)

func Example() {
	t, err := pattern.Translate(`^[a-z&&[^aeiou]]+\u{21}$`, 1<<20)
	if err != nil {
		fmt.Println(err)
		return
	}
	m, err := t.Compile()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(t.Expression, m.MatchString("xyz!"))
	// Output:
	// ^[\x{62}-\x{64}\x{66}-\x{68}\x{6a}-\x{6e}\x{70}-\x{74}\x{76}-\x{7a}]+!$ true
}
