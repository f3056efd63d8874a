package optional_test

import (
	"encoding/json"
	"fmt"

	"github.com/flagstaff-go/flagstaff/management/optional"
)

func Example() {
	var patch struct {
		Name  optional.Value[string] `json:"name"`
		Limit optional.Value[int]    `json:"limit"`
		Count optional.Value[int]    `json:"count"`
		Days  optional.Value[int]    `json:"days"`
	}
	if err := json.Unmarshal([]byte(`{"name":"Ada","limit":null,"count":"many"}`), &patch); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("name:", patch.Name.Value)
	fmt.Println("limit is null:", patch.Limit.Null)
	fmt.Println("count is not a number:", string(patch.Count.Undecoded()))
	fmt.Println("days were sent:", patch.Days.Set)
	// Output:
	// name: Ada
	// limit is null: true
	// count is not a number: "many"
	// days were sent: false
}
