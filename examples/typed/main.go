// Typed asks for flags by generated code: a misspelt key does not compile, and a linter
// such as exhaustive finds a switch that misses a variant. Run it in its folder, where the
// flags are.
//
//	cd examples/typed && go run .
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/flagstaff-go/flagstaff"
	"github.com/flagstaff-go/flagstaff/examples/typed/shop"
	"github.com/flagstaff-go/flagstaff/flags"
)

func main() {
	ctx := context.Background()
	client, err := flagstaff.Open(ctx, flagstaff.Config{File: "shop/flags.json"})
	if err != nil {
		log.Print(err) // the client answers fallbacks until there are definitions
	}
	defer client.Close(ctx)
	if err := client.Check(); err != nil {
		log.Print(err) // the flags have changed since the code was generated
	}

	ada := client.For(&flags.Request{DistinctID: "ada", Person: []flags.Property{flags.String("plan", "pro")}})
	fmt.Println(page(ada.Context(ctx)))
}

// page says how the page looks for the person of a context.
func page(ctx context.Context) string {
	text := "several pages"
	if shop.NewCheckout.On(ctx) {
		text = "one page"
	}
	payload := shop.ButtonPayload.For(ctx)
	switch shop.Button.For(ctx) {
	case shop.ButtonOff, shop.ButtonControl:
		return text + ", a grey button: " + payload.Label
	case shop.ButtonGreen:
		return fmt.Sprintf("%s, a green button: %s, a border of %g", text, payload.Label, payload.Colour.Border)
	}
	return text
}
