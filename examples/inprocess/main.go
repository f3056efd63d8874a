// Inprocess is the program of the README: it evaluates a flag inside a Go program,
// without a server. Run it in its folder, where flags.json is.
//
//	cd examples/inprocess && go run .
package main

import (
	"context"
	"fmt"

	"github.com/flagstaff-go/flagstaff"
	"github.com/flagstaff-go/flagstaff/flags"
)

func main() {
	ctx := context.Background()
	client, err := flagstaff.Open(ctx, flagstaff.Config{File: "flags.json"})
	if err != nil {
		fmt.Println(err) // the client answers fallbacks until there are definitions
	}
	defer client.Close(ctx)

	ada := client.For(&flags.Request{DistinctID: "ada", Person: []flags.Property{flags.StringProperty("plan", "pro")}})
	fmt.Println("new checkout:", newCheckout(ada.Context(ctx)))
}

func newCheckout(ctx context.Context) bool {
	return flagstaff.From(ctx).Bool("new-checkout", false)
}
