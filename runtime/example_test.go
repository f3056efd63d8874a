package runtime_test

import (
	"fmt"
	"net/http"

	"github.com/flagstaff-go/flagstaff/runtime"
)

func Example() {
	header := http.Header{}
	header.Set("User-Agent", "posthog-node/5.70.0")
	header.Set("Sec-Fetch-Mode", "cors")

	kind := runtime.Detector{}.Detect(runtime.SignalsOf(header))
	filter := runtime.Filter{Kind: kind, Tags: []string{"checkout"}}

	fmt.Println(kind)
	fmt.Println(filter.Admits(runtime.ServerOnly, nil, runtime.AnyTag))
	fmt.Println(filter.Admits(runtime.ClientOnly, nil, runtime.AnyTag))
	fmt.Println(filter.Admits(runtime.ServerOnly, []string{"landing page"}, runtime.AnyTag))
	// Output:
	// server
	// true
	// false
	// false
}

func ExampleDetector() {
	d := runtime.Detector{Products: []string{"acme"}}
	fmt.Println(d.Detect(runtime.Signals{UserAgent: "acme-react-native/1.4"}))
	fmt.Println(d.Detect(runtime.Signals{UserAgent: "acme-shell/0.1"}))
	// Output:
	// client
	// unknown
}
