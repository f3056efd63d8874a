package jsonscan_test

import (
	"fmt"

	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
)

func Example() {
	body := []byte(`{"distinct_id":"u\u00e9","person_properties":{"age":42,"plan":"pro"}}`)

	var id []byte
	var person jsonscan.Value
	o := jsonscan.Value(body).Object()
	for o.Next() {
		switch string(o.Name()) {
		case "distinct_id":
			id, _ = o.Value().AppendString(id[:0])
		case "person_properties":
			person = o.Value()
		}
	}
	if err := o.Err(); err != nil {
		fmt.Println(err)
		return
	}

	fmt.Printf("%s %s\n", id, person)
	// Output: ué {"age":42,"plan":"pro"}
}

func ExampleParse() {
	_, err := jsonscan.Parse([]byte(`{"a":1,}`), jsonscan.MaxDepth)
	fmt.Println(err)
	// Output: offset 7: unexpected character '}' where a member name should begin
}

func ExampleValue_Array() {
	a := jsonscan.Value(`[1, 2.5, "three"]`).Array()
	for a.Next() {
		if x, ok := a.Value().Float(); ok {
			fmt.Println(x)
		}
	}
	fmt.Println(a.Err())
	// Output:
	// 1
	// 2.5
	// <nil>
}
