//go:build generated

// Goapp asks a server for flags by code that the program openfeature has generated from
// the manifest of the same server. ../run generates the code, and puts it into this package.
//
//	goapp URL KEY
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/open-feature/go-sdk-contrib/providers/ofrep"
	"github.com/open-feature/go-sdk/openfeature"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: goapp URL KEY")
		os.Exit(2)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := ask(ctx, os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "goapp:", err)
		cancel()
		os.Exit(1)
	}
}

// ask prints the values of a few flags for somebody.
func ask(ctx context.Context, server, key string) error {
	if err := openfeature.SetProviderAndWait(ofrep.NewProvider(server, ofrep.WithBearerToken(key))); err != nil {
		return err
	}
	person := openfeature.NewEvaluationContext("ada", map[string]any{"plan": "pro", "email": "ada@example.com"})
	fmt.Println("new-dashboard", NewDashboard.Value(ctx, person))
	fmt.Println("checkout-button", CheckoutButton.Value(ctx, person))
	fmt.Println("free-seats", FreeSeats.Value(ctx, person)) // it is off, so that the code has the default
	return nil
}
