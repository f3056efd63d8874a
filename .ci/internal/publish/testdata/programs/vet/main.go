package main

import (
	"fmt"

	"github.com/flagstaff-go/flagstaff/vet"
)

func main() {
	definitions, err := vet.ReadDefinitions([]byte(`{"flags": [{"id": 1, "key": "beta", "active": true, "filters": {"groups": [{}]}}]}`))
	fmt.Println(err)
	fmt.Println(vet.New(vet.Options{Definitions: definitions}).Name)
	_, err = vet.ReadConfig([]byte("rules: {constnat: off}"))
	fmt.Println(err)
}

// Output:
// <nil>
// flagstaff
// rules: there is no rule "constnat"; did you mean "constant"?
