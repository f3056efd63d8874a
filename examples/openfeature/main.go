// Openfeature evaluates flags inside a Go program through the OpenFeature SDK.
//
//	go run ./examples/openfeature
package main

import (
	"context"
	_ "embed"
	"fmt"
	"log"
	"strings"

	sdk "github.com/open-feature/go-sdk/openfeature"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/flags/openfeature"
	"github.com/flagstaff-go/flagstaff/flags/source"
)

//go:embed flags.json
var document string

func main() {
	definitions, err := flags.Decode(strings.NewReader(document))
	if err != nil {
		log.Fatal(err)
	}
	// A source.File in its place is followed while the program runs.
	provider := openfeature.NewProvider(nil, openfeature.Options{Source: source.Static{Definitions: definitions}})
	if err := sdk.SetProviderAndWait(provider); err != nil {
		log.Fatal(err)
	}
	defer sdk.Shutdown()

	client, ctx := sdk.NewClient("shop"), context.Background()
	for _, plan := range []string{"free", "pro"} {
		person := sdk.NewEvaluationContext("user-1", map[string]any{"plan": plan})
		checkout, _ := client.BooleanValueDetails(ctx, "new-checkout", false, person)
		button, _ := client.StringValueDetails(ctx, "button", "control", person)
		fmt.Printf("plan %s: new-checkout %v (%s), button %s (%s)\n", plan, checkout.Value, checkout.Reason, button.Value, button.Reason)
	}
}
