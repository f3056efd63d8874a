package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/flagstaff-go/flagstaff"
	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/flags/source"
	_ "github.com/flagstaff-go/flagstaff/geoip"             // brings modules of others along
	_ "github.com/flagstaff-go/flagstaff/runtime/useragent" // as does this
)

func main() {
	definitions, err := flags.Decode(strings.NewReader(`{"flags": [{"id": 1, "key": "beta", "active": true, "filters": {"groups": [{}]}}]}`))
	fmt.Println(err)
	client, err := flagstaff.Open(context.Background(), flagstaff.Config{Source: source.Static{Definitions: definitions}})
	fmt.Println(client.For(&flags.Request{DistinctID: "user-1"}).Bool("beta", false), err)
	fmt.Println(client.Close(context.Background()))
}

// Output:
// <nil>
// true <nil>
// <nil>
