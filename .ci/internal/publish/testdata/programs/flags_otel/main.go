package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/flagstaff-go/flagstaff"
	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/flags/otel"
	"github.com/flagstaff-go/flagstaff/flags/source"
)

func main() {
	definitions, err := flags.Decode(strings.NewReader(`{"flags": [{"id": 1, "key": "beta", "active": true, "filters": {"groups": [{}]}}]}`))
	fmt.Println(err)
	ctx := context.Background()
	client, err := flagstaff.Open(ctx, flagstaff.Config{
		Source:       source.Static{Definitions: definitions},
		OnEvaluation: otel.OnEvaluation(otel.Options{SetID: "shop"}),
	})
	fmt.Println(err)
	fmt.Println(client.For(&flags.Request{DistinctID: "user-1"}).Bool("beta", false))
	fmt.Println(client.Close(ctx))
}

// Output:
// <nil>
// <nil>
// true
// <nil>
