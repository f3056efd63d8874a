package normal_test

import (
	"fmt"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/normal"
)

func Example() {
	sent, err := flags.DecodeFilters([]byte(`{"groups": [{"rollout_percentage": 50, "properties": []}], "payloads": {}}`), "beta")
	if err != nil {
		fmt.Println(err)
		return
	}
	stored, err := flags.DecodeFilters(normal.Filters(&sent), "beta")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(string(normal.Filters(&stored)))
	fmt.Println(normal.SameFilters(&sent, &stored))
	// Output:
	// {"groups":[{"properties":[],"rollout_percentage":50}]}
	// true
}
