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

// A store keeps what it asks with.
type store struct {
	key, given string
	Open       string
	checkout   *flagstaff.BoolFlag
	ask        func(key string, fallback bool) bool
}

// Fields asks with keys and handles that are in fields, and by methods that are values.
func Fields(ctx context.Context, p *flagstaff.Person, given string) {
	s := &store{
		key:      "new-chekout", // want `there is no flag "new-chekout"; did you mean "new-checkout"\?`
		given:    given,
		Open:     "buton",                            // want `there is no flag "buton"; did you mean "button"\?`
		checkout: flagstaff.NewBool("button", false), // want `flag "button" has .*: the handle always gets the fallback`
		ask:      p.Bool,
	}
	p.Bool(s.key, false)
	p.Bool(s.given, false)
	p.Variant(s.Open, "")
	s.checkout.On(ctx)
	s.ask("buttom", false) // want `there is no flag "buttom"`
	for _, row := range []struct{ key, want string }{
		{"button", "green"},
		{"bottun", "blue"}, // want `there is no flag "bottun"`
		{key: "limit"},
	} {
		_ = p.Variant(row.key, "") == row.want
	}
	variant := p.Variant
	variant("new-checkout", "")                   // want `flag "new-checkout" has no variants: Person.Variant is only ever`
	if variant("button", "control") == "purple" { // want `flag "button" has no variant "purple": the comparison is always the same`
		return
	}
	on := handles.NewCheckout.On
	on(ctx)
}

// Types asks with accessors that fit, and others.
func Types(ctx context.Context, p *flagstaff.Person, s *flags.Snapshot, e *flags.Evaluator, r *flags.Request) {
	p.Bool("button", false) // which is true for each variant
	p.Variant("button", "control")
	p.Variant("new-checkout", "false") // want `flag "new-checkout" has no variants: Person.Variant is only ever "true" or "false"; ask by Bool \[wrong-type\]`
	_, _ = p.Lookup("new-checkout")
	_ = p.Payload("button", new(any))
	_ = p.Payload("new-checkout", new(any)) // want `flag "new-checkout" has no payload \[wrong-type\]`
	_ = flagstaff.Payload(p, "limit", 1)
	_ = flagstaff.Payload(p, "limit", 1.5)
	_ = flagstaff.Payload(p, "limit", "1")   // want `flag "limit" has the payload "5", which is not a text of JSON: it is not of type string \[wrong-type\]`
	_ = flagstaff.Payload(p, "limit", false) // want `flag "limit" has the payload "5", which is not a boolean: it is not of type bool`
	_ = flagstaff.Payload(p, "button", 1)    // want `flag "button" has the payload "{\\"color\\":\\"#0f0\\"}", which is not an integer: it is not of type int`
	_ = flagstaff.Payload(p, "button", json.RawMessage(nil))
	_ = flagstaff.Payload(p, "button", &color{})
	_ = flagstaff.Payload(p, "limit", &color{}) // want `which is not an object: it is not of type \*shop.color`
	_ = flagstaff.Payload(p, "limit", []int{1}) // want `which is not a list: it is not of type \[\]int`
	_ = p.Payload("limit", new(time.Time))
	var limit int
	_ = p.Payload("limit", &limit)
	_, _ = p.Result("button")
	s.Bool("button", r, false)
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

// A card has the members of the payloads of the flag card.
type card struct {
	Title  string
	Width  float64
	Border *struct{ Colour string }
	Lines  []line
	By     map[string]float64
	cached bool
	Later  string `json:"later,omitempty"`
	Never  string `json:"-"`
}

type line struct {
	Text string `json:"text"`
	Bold bool   `json:"bold"`
}

type framed struct {
	line
	Title  int64
	Width  int64
	Border struct {
		Color string `json:"color"`
	}
	Lines []struct{ Text, Bold string }
	By    map[string]int
}

// Payloads have types whose members are others.
func Payloads(p *flagstaff.Person) {
	_ = flagstaff.Payload(p, "card", card{})
	_ = flagstaff.Payload(p, "card", &card{cached: true})
	_ = flagstaff.Payload(p, "card", map[string]any{})
	_ = flagstaff.Payload(p, "card", map[string]int{})                 // want `have "{\\"colour\\": \\"red\\"}" at \[\], which is not an integer: they are decoded into map\[string\]int \[wrong-type\]`
	_ = flagstaff.Payload(p, "card", struct{ Title, Width, By any }{}) // want `the payloads of flag "card" have the member .border, which the struct does not have: .* \[payload-member\]` `have the member .lines, which`
	_ = flagstaff.Payload(p, "card", framed{})                         // want `the payloads of flag "card" have the member .border.colour, which the struct does not have: they are decoded into shop.framed \[payload-member\]` `do not have the member .border.color of the struct` `do not have the member .text of` `do not have the member .bold of` `have "3.5" at .width, which is not an integer` `at .title, which is not an integer` `have "true" at .lines\[\].bold, which is not a text of JSON` `have "2.5" at .by\[\], which is not an integer: .* \[wrong-type\]`
}

var byNumber = flags.Declare("new-checkout")

// Every asks in every way for a flag that does not exist.
func Every(p *flagstaff.Person, s *flags.Snapshot, e *flags.Evaluator, in *flags.Input, m *flags.Memory, r *flags.Request) {
	_, _ = p.Result("nothing")                             // want `there is no flag "nothing"`
	_, _ = p.Explain("nothing")                            // want `there is no flag "nothing"`
	_, _ = s.Flag("nothing", r)                            // want `there is no flag "nothing"`
	_, _ = s.Lookup("nothing", r)                          // want `there is no flag "nothing"`
	_, _ = s.Detail("nothing", r)                          // want `there is no flag "nothing"`
	_, _ = s.Explain("nothing", r)                         // want `there is no flag "nothing"`
	_, _ = s.Constant("nothing")                           // want `there is no flag "nothing"`
	_ = s.NeedsOf("nothing")                               // want `there is no flag "nothing"`
	_ = s.Variant("nothing", r, "")                        // want `there is no flag "nothing"`
	_ = s.Payload("nothing", r, new(any))                  // want `there is no flag "nothing"`
	_ = e.Bool("nothing", r, false)                        // want `there is no flag "nothing"`
	_ = e.Payload("nothing", r, new(any))                  // want `there is no flag "nothing"`
	_, _ = in.Flag("nothing")                              // want `there is no flag "nothing"`
	_, _ = in.Explain("nothing")                           // want `there is no flag "nothing"`
	_, _ = s.Evaluate(r).Get("nothing")                    // want `there is no flag "nothing"`
	_, _, _ = m.Detail(s, flags.ByKey("nothing"), r, true) // want `there is no flag "nothing"`
	_, _ = flags.Declare("nothing").Detail(s, r)           // want `there is no flag "nothing"`
	_, _ = flags.ByKey("nothing").Lookup(s, r)             // want `there is no flag "nothing"`
	local := flags.ByKey("nothing")                        // want `there is no flag "nothing"`
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
func Requests(c *flagstaff.Client, s *flags.Snapshot, more map[string]any, companies map[string]string, remote *flags.RemoteResults) {
	r := &flags.Request{DistinctID: "a"}
	s.Bool("pro", r, false) // want `flag "pro" looks at the property plan, which the request does not have \[missing-context\]`
	s.Bool("pro", &flags.Request{PersonProperties: map[string]any{"plan": "pro"}}, false)
	s.Bool("pro", &flags.Request{Person: []flags.Property{flags.StringProperty("plan", "pro")}}, false)
	s.Bool("pro", &flags.Request{PersonProperties: more}, false)
	s.Bool("pro", &flags.Request{DistinctID: "a", RemoteResults: remote}, false)
	s.Bool("company", &flags.Request{DistinctID: "a"}, false) // want `flag "company" looks at the group company, which the request does not have`
	s.Bool("company", &flags.Request{Groups: companies}, false)
	s.Bool("company", &flags.Request{Groups: map[string]string{"company": "acme"}}, false) // want `flag "company" looks at the property size of the group company, which the request does not have`
	s.Bool("company", &flags.Request{
		Groups:   map[string]string{"company": "acme"},
		OfGroups: []flags.GroupProperty{{Type: "company", Property: flags.IntProperty("size", 3)}},
	}, false)
	c.For(&flags.Request{DistinctID: "a"}).Bool("pro", false) // want `flag "pro" looks at the property plan`
	p := c.For(&flags.Request{Filter: runtime.Filter{Tags: []string{"shop"}}})
	p.Bool("docs-only", false) // want `flag "docs-only" is for requests with the evaluation context "docs", and this one has "shop" \[missing-context\]`
	filled := &flags.Request{DistinctID: "a"}
	fill(filled)
	s.Bool("pro", filled, false)
	changed := &flags.Request{DistinctID: "a"}
	changed.PersonProperties = more
	s.Bool("pro", changed, false)
}

func fill(r *flags.Request) { r.PersonProperties = map[string]any{"plan": "pro"} }
