// Package open asks for flags by OpenFeature's SDK.
package open

import (
	"context"

	"github.com/open-feature/go-sdk/openfeature"
)

// Ask asks with accessors that fit, and others.
func Ask(ctx context.Context, client *openfeature.Client, as openfeature.IClient) {
	c := openfeature.NewEvaluationContext("user-1", nil)
	client.Boolean(ctx, "new-checkout", false, c)
	_, _ = client.BooleanValue(ctx, "new-chekout", false, c)  // want `there is no flag "new-chekout"; did you mean "new-checkout"\? \[unknown-key\]`
	_, _ = as.BooleanValue(ctx, "button", false, c)           // want `flag "button" has the variants "control", "green", "blue", which are not booleans: ask for a string \[wrong-type\]`
	_, _ = client.BooleanValueDetails(ctx, "limit", false, c) // want `flag "limit" has the payload "5", which is not a boolean`
	client.String(ctx, "button", "control", c)
	client.String(ctx, "button", "teal", c)   // want `flag "button" has no variant "teal"`
	client.String(ctx, "new-checkout", "", c) // want `flag "new-checkout" has no variants: ask for a boolean \[wrong-type\]`
	client.Int(ctx, "page-size", 10, c)
	client.Float(ctx, "limit", 1, c)
	client.Int(ctx, "button", 10, c)         // want `flag "button" has the variant "control", which is not an integer`
	client.Float(ctx, "new-checkout", 10, c) // want `flag "new-checkout" has neither variants nor remote configuration, so that it is never a number`
	client.Object(ctx, "button", nil, c)
	client.Object(ctx, "new-checkout", nil, c) // want `flag "new-checkout" has no payload`
	client.Object(ctx, "limit", nil, c)        // want `flag "limit" has the payload "5", which is not an object or a list`
	client.Boolean(ctx, "pro", false, c)
	d, err := client.StringValueDetails(ctx, "button", "control", c)
	if err == nil && d.Value == "brown" { // want `flag "button" has no variant "brown"`
		return
	}
	if d.Variant == "green" {
		return
	}
}
