package useragent_test

import (
	"fmt"

	"github.com/flagstaff-go/flagstaff/runtime/useragent"
)

func ExampleParse() {
	a := useragent.Parse("Mozilla/5.0 (iPhone; CPU iPhone OS 17_4_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) " +
		"Version/17.4.1 Mobile/15E148 Safari/604.1")
	fmt.Println(a.Browser, a.BrowserVersion)
	fmt.Println(a.OS, a.OSVersion)
	fmt.Println(a.DeviceType)
	// Output:
	// Mobile Safari 17.4
	// iOS 17.4.1
	// Mobile
}
