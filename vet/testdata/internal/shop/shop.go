// Package shop asks for flags by the library itself.
package shop

import (
	"context"
	"encoding/json"
	"time"

	"github.com/flagstaff-go/flagstaff"
	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/runtime"
	"github.com/flagstaff-go/flagstaff/vet/testdata/internal/handles"
)

const (
	misspelt       = "new-chekout"
	suffix         = "checkout"
	right    keyed = "new-" + suffix
)

type keyed string

type color struct{ Color string }

// Keys has constants, which are followed, and variables, which are followed if they are
// local and set once.
func Keys(p *flagstaff.Person, given string) {
	p.Bool("new-checkout", false)
	p.Bool(string(right), false)
	p.Bool(given, false)
	p.Bool("xyzzy", false)                // want `there is no flag "xyzzy" \[unknown-key\]`
	p.Bool(misspelt, false)               // want `there is no flag "new-chekout"; did you mean "new-checkout"\? \[unknown-key\]`
	_, _ = p.Lookup("new-" + "chekout")   // want `there is no flag "new-chekout"`
	_ = flagstaff.Payload(p, "buton", "") // want `there is no flag "buton"; did you mean "button"\?`
	key := "neww-checkout"
	p.Bool(key, false) // want `there is no flag "neww-checkout"`
	key2 := "new-checkoutt"
	if given != "" {
		key2 = given
	}
	p.Bool(key2, false)
	for _, key := range []string{"in-a-list", "not-in-definitions"} {
		p.Bool(key, false)
	}
	wrapped(p, "nowhere")
}

func wrapped(p *flagstaff.Person, key string) bool { return p.Bool(key, false) }

// Types asks with accessors that fit, and others.
func Types(ctx context.Context, p *flagstaff.Person, s *flags.Snapshot, e *flags.Evaluator, r *flags.Request) {
	p.Bool("button", false) // want `flag "button" has the variants "control", "green", "blue": Person.Bool tells only whether it is on; ask by Variant \[wrong-type\]`
	p.Variant("button", "control")
	p.Variant("new-checkout", "false") // want `flag "new-checkout" has no variants: Person.Variant is only ever "true" or "false"; ask by Bool \[wrong-type\]`
	_, _ = p.Lookup("new-checkout")
	_ = p.Payload("button", new(any))
	_ = p.Payload("new-checkout", new(any)) // want `flag "new-checkout" has no payload \[wrong-type\]`
	_ = flagstaff.Payload(p, "limit", 1)
	_ = flagstaff.Payload(p, "limit", 1.5)
	_ = flagstaff.Payload(p, "limit", "1")   // want `flag "limit" has the payload "5", which is not a text of JSON: it is no string \[wrong-type\]`
	_ = flagstaff.Payload(p, "limit", false) // want `flag "limit" has the payload "5", which is not a boolean: it is no bool`
	_ = flagstaff.Payload(p, "button", 1)    // want `flag "button" has the payload "{\\"color\\":\\"#0f0\\"}", which is not an integer: it is no int`
	_ = flagstaff.Payload(p, "button", json.RawMessage(nil))
	_ = flagstaff.Payload(p, "button", &color{})
	_ = flagstaff.Payload(p, "limit", &color{}) // want `which is not an object: it is no \*shop.color`
	_ = flagstaff.Payload(p, "limit", []int{1}) // want `which is not a list: it is no \[\]int`
	_ = p.Payload("limit", new(time.Time))
	var limit int
	_ = p.Payload("limit", &limit)
	_, _ = p.Result("button")
	s.Bool("button", r, false)              // want `flag "button" has .*: Snapshot.Bool tells only whether it is on`
	e.Variant("button", r, "purple")        // want `flag "button" has no variant "purple"; it has "control", "green", "blue" \[unknown-variant\]`
	flags.ByKey("button").Bool(s, r, false) // want `flag "button" has .*: a Ref always gets the fallback`
	byNumber.Bool(s, r, false)
	handles.NewCheckout.On(ctx)
	handles.PageSize.For(ctx)
	handles.Limit.For(ctx)
	handles.Color.For(ctx)
	handles.Switch.For(ctx)
	for _, h := range []flagstaff.Handle{handles.Gone, handles.WrongBool} {
		_ = h.Key()
	}
	_, _, _, _, _, _ = handles.Chekout, handles.Fewer, handles.NoVariant, handles.NoNumber, handles.NoText, handles.NoPayload
}

var byNumber = flags.Declare("new-checkout")

// Every asks in every way for a flag that does not exist.
func Every(p *flagstaff.Person, s *flags.Snapshot, e *flags.Evaluator, in *flags.Input, m *flags.Memory, r *flags.Request) {
	_, _ = p.Result("nothing")                            // want `there is no flag "nothing"`
	_, _ = p.Explain("nothing")                           // want `there is no flag "nothing"`
	_, _ = s.Flag("nothing", r)                           // want `there is no flag "nothing"`
	_, _ = s.Lookup("nothing", r)                         // want `there is no flag "nothing"`
	_, _ = s.Brief("nothing", r)                          // want `there is no flag "nothing"`
	_, _ = s.Explain("nothing", r)                        // want `there is no flag "nothing"`
	_, _ = s.Constant("nothing")                          // want `there is no flag "nothing"`
	_ = s.NeedsOf("nothing")                              // want `there is no flag "nothing"`
	_ = s.Variant("nothing", r, "")                       // want `there is no flag "nothing"`
	_ = s.Payload("nothing", r, new(any))                 // want `there is no flag "nothing"`
	_ = e.Bool("nothing", r, false)                       // want `there is no flag "nothing"`
	_ = e.Payload("nothing", r, new(any))                 // want `there is no flag "nothing"`
	_, _ = in.Flag("nothing")                             // want `there is no flag "nothing"`
	_, _ = in.Explain("nothing")                          // want `there is no flag "nothing"`
	_, _ = s.Evaluate(r).Get("nothing")                   // want `there is no flag "nothing"`
	_, _, _ = m.Brief(s, flags.ByKey("nothing"), r, true) // want `there is no flag "nothing"`
	_, _ = flags.Declare("nothing").Brief(s, r)           // want `there is no flag "nothing"`
	_, _ = flags.ByKey("nothing").Lookup(s, r)            // want `there is no flag "nothing"`
	local := flags.ByKey("nothing")                       // want `there is no flag "nothing"`
	_ = local.Bool(s, r, false)
}

// Lists names the flags of requests.
func Lists(s *flags.Snapshot, given string, more []string) {
	s.Evaluate(&flags.Request{Keys: []string{"new-checkout", misspelt, given}}) // want `there is no flag "new-chekout"; did you mean "new-checkout"\? \[unknown-key\]`
	s.Evaluate(&flags.Request{Keys: more})
	list := []string{"button", "buton"} // want `there is no flag "buton"; did you mean "button"\?`
	for _, r := range []*flags.Request{{Keys: list}, {Keys: list, DistinctID: given}} {
		s.Evaluate(r)
	}
	filled := []string{"buton"}
	filled[0] = "button"
	s.Evaluate(&flags.Request{Keys: filled})
}

// Variants compares values with variants.
func Variants(ctx context.Context, p *flagstaff.Person) string {
	v := p.Variant("button", "control")
	if v == "green" || v == "false" {
		return v
	}
	if v == "gren" { // want `flag "button" has no variant "gren": the comparison is always the same; did you mean "green"\? \[unknown-variant\]`
		return v
	}
	if p.Variant("button", "") != "red" { // want `flag "button" has no variant "red": the comparison is always the same; it has "control", "green", "blue"`
		return ""
	}
	if r, err := p.Result("button"); err == nil && r.Variant == "yellow" { // want `flag "button" has no variant "yellow"`
		return "yellow"
	}
	switch v { // want `the switch has no case for the variant "blue" of flag "button", and no default \[missing-variant\]`
	case "control", "false":
	case "green":
	}
	switch v {
	case "control":
	default:
	}
	switch v {
	case "control", "green", "blue":
	case "black": // want `flag "button" has no variant "black": the case is never taken; it has`
	}
	switch handles.Button.For(ctx) { // want `the switch has no case for the variants "green", "blue" of flag "button", and no default`
	case handles.ButtonControl:
	}
	switch handles.Button.For(ctx) {
	case handles.ButtonControl, handles.ButtonGreen, handles.ButtonBlue:
	}
	return "black"
}

// Settled asks for flags that need not be asked for.
func Settled(ctx context.Context, p *flagstaff.Person) {
	p.Bool("everybody", false)      // want `flag "everybody" is true for every request, unchanged for 325 days; condition set 1 is for everybody \[constant\]`
	handles.Everybody.On(ctx)       // want `flag "everybody" is true for every request`
	p.Variant("settled", "control") // want `flag "settled" is "green" for every request; condition set 1 is for everybody \[constant\]`
	p.Bool("old", false)            // want `flag "old" is archived \[archived\]`
	p.Bool("dark", false)           // want `flag "dark" is switched off, unchanged for 1 day \[inactive\]`
	_, _ = p.Explain("everybody")
}

// Requests says for whom it asks.
func Requests(c *flagstaff.Client, s *flags.Snapshot, more map[string]any, companies map[string]string) {
	r := &flags.Request{DistinctID: "a"}
	s.Bool("pro", r, false) // want `flag "pro" looks at the property plan, which the request does not have \[lacking\]`
	s.Bool("pro", &flags.Request{PersonProperties: map[string]any{"plan": "pro"}}, false)
	s.Bool("pro", &flags.Request{Person: []flags.Property{flags.String("plan", "pro")}}, false)
	s.Bool("pro", &flags.Request{PersonProperties: more}, false)
	s.Bool("company", &flags.Request{DistinctID: "a"}, false) // want `flag "company" looks at the group company, which the request does not have`
	s.Bool("company", &flags.Request{Groups: companies}, false)
	s.Bool("company", &flags.Request{Groups: map[string]string{"company": "acme"}}, false) // want `flag "company" looks at the property size of the group company, which the request does not have`
	s.Bool("company", &flags.Request{
		Groups:   map[string]string{"company": "acme"},
		OfGroups: []flags.GroupProperty{flags.Of("company", flags.Int("size", 3))},
	}, false)
	c.For(&flags.Request{DistinctID: "a"}).Bool("pro", false) // want `flag "pro" looks at the property plan`
	p := c.For(&flags.Request{Filter: runtime.Filter{Tags: []string{"shop"}}})
	p.Bool("docs-only", false) // want `flag "docs-only" is for requests with the evaluation context "docs", and this one has "shop" \[lacking\]`
	filled := &flags.Request{DistinctID: "a"}
	fill(filled)
	s.Bool("pro", filled, false)
	changed := &flags.Request{DistinctID: "a"}
	changed.PersonProperties = more
	s.Bool("pro", changed, false)
}

func fill(r *flags.Request) { r.PersonProperties = map[string]any{"plan": "pro"} }
