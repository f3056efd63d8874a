// Package typed asks for flags with rule sets, and for others by their types.
package typed

import (
	"context"

	"github.com/open-feature/go-sdk/openfeature"

	"github.com/flagstaff-go/flagstaff"
	"github.com/flagstaff-go/flagstaff/flags"
)

type grid struct {
	Columns int `json:"columns"`
	Rows    int `json:"rows"`
}

// Handles of rule sets.
var (
	Greeting = flagstaff.NewValue("greeting", "hi")
	Discount = flagstaff.NewValue("discount", 0.0)
	Seats    = flagstaff.NewValue[int64]("seats", 1)
	Switch   = flagstaff.NewBool("typed-switch", false)
	Layout   = flagstaff.NewPayload("layout", struct{ Columns int }{})
	Several  = flagstaff.NewVariant("greeting", "none", "hello", "welcome")

	OnGreeting    = flagstaff.NewBool("greeting", false)                // want `flag "greeting" has values of type string: declare it by NewValue\[string\] \[wrong-type\]`
	WholeDiscount = flagstaff.NewValue[int64]("discount", 0)            // want `flag "discount" has the value 12.5, which is not an integer \[wrong-type\]`
	TextSeats     = flagstaff.NewValue("seats", "many")                 // want `flag "seats" has values of type number: declare it by NewValue\[float64\]`
	ObjectSwitch  = flagstaff.NewPayload("typed-switch", grid{})        // want `flag "typed-switch" has values of type boolean: declare it by NewBool`
	TwoSwitches   = flagstaff.NewVariant("typed-switch", "a", "b")      // want `flag "typed-switch" has values of type boolean: declare it by NewBool`
	Fewer         = flagstaff.NewVariant("greeting", "none", "welcome") // want `flag "greeting" has the values "hello", which the handle does not declare: in their place it has the fallback \[missing-variant\]`
	Rows          = flagstaff.NewPayload("layout", grid{})              // want `the payloads of flag "layout" do not have the member .rows of the struct`
)

// Typed asks by types.
func Typed(ctx context.Context, p *flagstaff.Person, s *flags.Snapshot, r *flags.Request) {
	for _, h := range []flagstaff.Handle{Greeting, Discount, Seats, Switch, OnGreeting, WholeDiscount, TextSeats} {
		_ = h.Key()
	}
	_, _, _, _, _, _ = Layout, Several, ObjectSwitch, TwoSwitches, Fewer, Rows
	p.String("greeting", "hi")
	if p.String("greeting", "hi") == "hi" {
		return
	}
	p.Variant("greeting", "hi")
	p.Float("discount", 0)
	p.Int("seats", 0)
	p.Bool("typed-switch", false)
	_, _ = p.Lookup("typed-switch")
	p.JSON("layout", nil)
	_ = p.Payload("layout", new(any))
	_ = flagstaff.Payload(p, "seats", 1)
	_, _ = p.Result("greeting")

	p.Bool("greeting", false)                       // want `flag "greeting" has values of type string: ask by String \[wrong-type\]`
	p.Int("greeting", 0)                            // want `flag "greeting" has values of type string: ask by String`
	p.Bool("seats", false)                          // want `flag "seats" has values of type number: ask by Float`
	p.Int("discount", 0)                            // want `flag "discount" has the value 12.5, which is not an integer`
	p.String("discount", "")                        // want `flag "discount" has values of type number: ask by Float`
	p.String("typed-switch", "")                    // want `flag "typed-switch" has values of type boolean: ask by Bool`
	p.Variant("typed-switch", "")                   // want `flag "typed-switch" has values of type boolean: ask by Bool`
	p.Float("layout", 0)                            // want `flag "layout" has values of type object: ask by JSON`
	p.JSON("greeting", nil)                         // want `flag "greeting" has values of type string: ask by String`
	_ = p.Payload("greeting", new(any))             // want `flag "greeting" has values of type string: ask by String`
	_ = flagstaff.Payload(p, "layout", 1)           // want `which is not an integer: it is not of type int`
	flags.ByKey("greeting").Bool(s, r, false)       // want `flag "greeting" has values of type string: ask by String`
	p.String("greting", "")                         // want `there is no flag "greting"; did you mean "greeting"\?`
	p.String("new-checkout", "")                    // want `flag "new-checkout" has no variants: Person.String always gets the fallback; ask by Bool`
	p.Int("button", 0)                              // want `flag "button" has the variant "control", which is not an integer`
	p.String("limit", "")                           // want `flag "limit" has the payload "5", which is not a text`
	p.Int("limit", 0)                               // and the payload of remote configuration
	p.JSON("new-checkout", nil)                     // want `flag "new-checkout" has no payload`
	p.String("button", "control")                   // the key of the variant
	s.Bool("of-companies", &flags.Request{}, false) // want `flag "of-companies" looks at the group company, which the request does not have`
	s.Variant("for-pros", &flags.Request{}, "")     // want `flag "for-pros" looks at the property plan, which the request does not have`
}

// OpenFeature asks by types.
func OpenFeature(ctx context.Context, c *openfeature.Client) {
	c.String(ctx, "greeting", "hi", openfeature.EvaluationContext{})
	c.Float(ctx, "discount", 0, openfeature.EvaluationContext{})
	c.Int(ctx, "seats", 0, openfeature.EvaluationContext{})
	c.Object(ctx, "layout", nil, openfeature.EvaluationContext{})
	c.Boolean(ctx, "greeting", false, openfeature.EvaluationContext{}) // want `flag "greeting" has values of type string: ask for one`
	c.Object(ctx, "seats", nil, openfeature.EvaluationContext{})       // want `flag "seats" has values of type number: ask for one`
}
