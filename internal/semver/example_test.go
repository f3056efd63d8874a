package semver_test

import (
	"fmt"

	"github.com/flagstaff-go/flagstaff/internal/semver"
)

func Example() {
	version, _ := semver.Parse("v3.10")
	bound, _ := semver.Parse("3.9")
	fmt.Println(semver.Compare(&version, &bound) > 0)

	r, _ := semver.Tilde("3.08")
	for _, s := range []string{"3.8.5", "3.9.0", "3.8.5-rc.1"} {
		v, _ := semver.Parse(s)
		fmt.Println(s, r.Contains(&v))
	}

	_, ok := semver.Parse("1.2.3.4")
	fmt.Println(ok)
	// Output:
	// true
	// 3.8.5 true
	// 3.9.0 false
	// 3.8.5-rc.1 false
	// false
}
