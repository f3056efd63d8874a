package flagstaff_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/flagstaff-go/flagstaff"
	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/flags/source"
)

// definitions stands for a file or a server.
func definitions() source.Source {
	d, err := flags.Decode(strings.NewReader(document))
	if err != nil {
		log.Fatal(err)
	}
	return source.Static{Definitions: d}
}

func ExampleOpen() {
	ctx := context.Background()
	client, err := flagstaff.Open(ctx, flagstaff.Config{Source: definitions(), Log: quiet})
	if err != nil {
		log.Print(err) // the client answers fallbacks until there are definitions
	}
	defer client.Close(ctx)

	p := client.For(&flags.Request{DistinctID: "user-1", PersonProperties: map[string]any{"plan": "pro"}})
	fmt.Println(p.Bool("new-checkout", false), p.Variant("button", "blue"))
	// Output: true red
}

func ExamplePayload() {
	ctx := context.Background()
	client, err := flagstaff.Open(ctx, flagstaff.Config{Source: definitions(), Log: quiet})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close(ctx)

	type Label struct{ Hex string }
	p := client.For(&flags.Request{DistinctID: "user-1"})
	fmt.Println(flagstaff.Payload(p, "button", Label{Hex: "#00f"}).Hex)
	fmt.Println(flagstaff.Payload(p, "no-such-flag", Label{Hex: "#00f"}).Hex)
	// Output:
	// #f00
	// #00f
}

func ExampleClient_Middleware() {
	ctx := context.Background()
	client, err := flagstaff.Open(ctx, flagstaff.Config{Source: definitions(), Log: quiet})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close(ctx)

	identify := func(r *http.Request) *flags.Request {
		user, plan, _ := r.BasicAuth() // your session
		return &flags.Request{DistinctID: user, PersonProperties: map[string]any{"plan": plan}}
	}
	checkout := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if flagstaff.From(r.Context()).Bool("new-checkout", false) {
			fmt.Fprint(w, "the new checkout")
			return
		}
		fmt.Fprint(w, "the old checkout")
	})

	r := httptest.NewRequest("GET", "/checkout", nil)
	r.SetBasicAuth("ada", "pro")
	w := httptest.NewRecorder()
	client.Middleware(identify)(checkout).ServeHTTP(w, r)
	fmt.Println(w.Body)
	// Output: the new checkout
}

// Flags are declared once, with their fallbacks.
var (
	NewCheckout = flagstaff.NewBool("new-checkout", false)
	Button      = flagstaff.NewVariant("button", "blue", "red")
)

func ExampleNewBool() {
	ctx := context.Background()
	client, err := flagstaff.Open(ctx, flagstaff.Config{Source: definitions(), Log: quiet})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close(ctx)
	if err := client.Check(); err != nil {
		log.Fatal(err) // a declared flag does not exist, or is another one
	}

	p := client.For(&flags.Request{DistinctID: "user-1", PersonProperties: map[string]any{"plan": "pro"}})
	ctx = p.Context(ctx)
	fmt.Println(NewCheckout.For(ctx), Button.For(ctx))
	// Output: true red
}
