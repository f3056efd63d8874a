package openfeature_test

import (
	"context"
	"fmt"
	"log"
	"strings"

	sdk "github.com/open-feature/go-sdk/openfeature"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/flags/openfeature"
	"github.com/flagstaff-go/flagstaff/flags/source"
)

func Example() {
	definitions, err := flags.Decode(strings.NewReader(`{"flags": [{
		"id": 1, "key": "new-checkout", "active": true,
		"filters": {"groups": [{"properties": [{"key": "plan", "operator": "exact", "value": "pro"}]}]}
	}]}`))
	if err != nil {
		log.Fatal(err)
	}
	// Usually this is a source.File, which is followed while the program runs.
	provider := openfeature.NewProvider(nil, openfeature.Options{Source: source.Static{Definitions: definitions}})
	if err := sdk.SetProviderAndWait(provider); err != nil {
		log.Fatal(err)
	}
	defer sdk.Shutdown()

	client := sdk.NewClient("shop")
	person := sdk.NewEvaluationContext("user-1", map[string]any{"plan": "pro"})
	details, err := client.BooleanValueDetails(context.Background(), "new-checkout", false, person)
	fmt.Println(details.Value, details.Reason, err)
	// Output: true TARGETING_MATCH <nil>
}
