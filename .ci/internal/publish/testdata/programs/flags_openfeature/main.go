package main

import (
	"context"
	"fmt"
	"strings"

	sdk "github.com/open-feature/go-sdk/openfeature"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/flags/openfeature"
	"github.com/flagstaff-go/flagstaff/flags/source"
)

func main() {
	definitions, err := flags.Decode(strings.NewReader(`{"flags": [{"id": 1, "key": "beta", "active": true, "filters": {"groups": [{}]}}]}`))
	fmt.Println(err)
	provider := openfeature.NewProvider(nil, openfeature.Options{Source: source.Static{Definitions: definitions}})
	fmt.Println(sdk.SetProviderAndWait(provider))
	fmt.Println(sdk.NewClient("shop").BooleanValue(context.Background(), "beta", false, sdk.NewEvaluationContext("user-1", nil)))
	sdk.Shutdown()
}

// Output:
// <nil>
// <nil>
// true <nil>
