package rawjson_test

import (
	"fmt"

	"github.com/flagstaff-go/flagstaff/internal/rawjson"
)

func Example() {
	fmt.Println(string(rawjson.Or(nil, "[]")), rawjson.Empty(rawjson.OrNull(nil)))
	fmt.Println(rawjson.Kind([]byte(`{"a":1}`)), rawjson.Kind([]byte("1.5")), rawjson.Text([]byte(`"text"`)))
	// Output:
	// [] true
	// dict float text
}
