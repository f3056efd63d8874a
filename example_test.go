package flagstaff_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
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

func ExamplePerson_String() {
	ctx := context.Background()
	d, err := flags.Decode(strings.NewReader(`{"flags": [
		{"id": 1, "key": "greeting", "active": true, "filters": {"version": 2, "return_type": "string", "default_value": "Hello", "rules": [
			{"rule_type": "targeted_release", "targeting": {"properties": [{"key": "country", "value": "FR"}]}, "value": "Bonjour"}]}},
		{"id": 2, "key": "discount", "active": true, "filters": {"version": 2, "return_type": "number", "rules": [
			{"rule_type": "percentage_rollout", "rollout_percentage": 100, "value": 12.5}]}}
	]}`))
	if err != nil {
		log.Fatal(err)
	}
	client, err := flagstaff.Open(ctx, flagstaff.Config{Source: source.Static{Definitions: d}, Log: quiet})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close(ctx)

	p := client.For(&flags.Request{DistinctID: "user-1", PersonProperties: map[string]any{"country": "FR"}})
	fmt.Println(p.String("greeting", "Hi"), p.Float("discount", 0))
	fmt.Println(p.String("discount", "none")) // it is a number
	// Output:
	// Bonjour 12.5
	// none
}

// overrides answers the flags of a file before all others.
func overrides(path string, next http.Handler) (http.Handler, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	definitions, err := flags.Decode(file)
	if err != nil {
		return nil, err
	}
	local, err := flags.Compile(definitions, flags.CompileOptions{Strict: true})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(w, r.WithContext(flagstaff.Override(r.Context(), local)))
	}), err
}

func ExampleOverride() {
	ctx := context.Background()
	client, err := flagstaff.Open(ctx, flagstaff.Config{Source: definitions(), Log: quiet})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close(ctx)

	checkout, err := overrides("examples/inprocess/flags.json", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, flagstaff.From(r.Context()).Bool("new-checkout", false))
	}))
	if err != nil {
		log.Fatal(err)
	}
	identify := func(*http.Request) *flags.Request {
		return &flags.Request{DistinctID: "ada", PersonProperties: map[string]any{"plan": "pro"}}
	}
	w := httptest.NewRecorder()
	client.Middleware(identify)(checkout).ServeHTTP(w, httptest.NewRequest("GET", "/checkout", nil))
	fmt.Println(w.Body)
	// Output: true
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
	PageSize    = flagstaff.NewValue[int64]("page-size", 10)
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
	fmt.Println(NewCheckout.On(ctx), Button.For(ctx))
	// Output: true red
}

func ExampleNewValue() {
	ctx := context.Background()
	client, err := flagstaff.Open(ctx, flagstaff.Config{Source: definitions(), Log: quiet})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close(ctx)
	if err := client.Check(); err != nil {
		log.Fatal(err) // such as that a number is declared as text
	}

	p := client.For(&flags.Request{DistinctID: "user-1", PersonProperties: map[string]any{"plan": "pro"}})
	fmt.Println(PageSize.Of(p), PageSize.For(ctx)) // the second one is for no person: the fallback
	// Output: 50 10
}

func ExampleClient_For() {
	ctx := context.Background()
	client, err := flagstaff.Open(ctx, flagstaff.Config{Source: definitions(), Log: quiet})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close(ctx)

	// One person for one request: all answers are from one snapshot.
	p := client.For(&flags.Request{
		DistinctID: "user-1",
		Person:     []flags.Property{flags.StringProperty("plan", "free"), flags.IntProperty("seats", 3)},
	})
	fmt.Println(p.Bool("new-checkout", false))
	fmt.Println(p.Bool("no-such-flag", true)) // the fallback
	// Output:
	// false
	// true
}

func ExampleFrom() {
	ctx := context.Background()
	client, err := flagstaff.Open(ctx, flagstaff.Config{Source: definitions(), Log: quiet})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close(ctx)

	total := func(ctx context.Context) string { // far below
		return flagstaff.From(ctx).Variant("button", "blue")
	}
	p := client.For(&flags.Request{DistinctID: "user-1"})
	fmt.Println(total(p.Context(ctx)))
	fmt.Println(total(ctx)) // no person: the fallback
	// Output:
	// red
	// blue
}

func ExamplePerson_Lookup() {
	ctx := context.Background()
	client, err := flagstaff.Open(ctx, flagstaff.Config{Source: definitions(), Log: quiet})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close(ctx)

	p := client.For(&flags.Request{DistinctID: "user-1"})
	for _, key := range []string{"button", "resting", "no-such-flag"} {
		value, ok := p.Lookup(key)
		fmt.Printf("%s: %q %v\n", key, value, ok)
	}
	// Output:
	// button: "red" true
	// resting: "false" true
	// no-such-flag: "" false
}

func ExamplePerson_Explain() {
	ctx := context.Background()
	client, err := flagstaff.Open(ctx, flagstaff.Config{Source: definitions(), Log: quiet})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close(ctx)

	p := client.For(&flags.Request{DistinctID: "user-1", PersonProperties: map[string]any{"plan": "free"}})
	trace, err := p.Explain("new-checkout")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(trace)
	// Output:
	// new-checkout = false (No matching condition set)
	//   condition set 1, by person: no_condition_match
	//     person plan is "pro", seen "free": no match
	//   why: nothing matched; a mismatch ranks above a missing group, and of several the last one is reported
}

func ExampleClient_Check() {
	ctx := context.Background()
	d, err := flags.Decode(strings.NewReader(`{"flags": [{"id": 1, "key": "new-checkout", "active": true, "filters": {"groups": [{}]}}]}`))
	if err != nil {
		log.Fatal(err)
	}
	client, err := flagstaff.Open(ctx, flagstaff.Config{Source: source.Static{Definitions: d}, Log: quiet})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close(ctx)

	// The variables NewCheckout, Button and PageSize of this package are declared flags.
	fmt.Println(client.Check())
	// Output:
	// flagstaff: flag "button" does not exist
	// flagstaff: flag "page-size" does not exist
}

func ExampleClient_Status() {
	ctx := context.Background()
	client, err := flagstaff.Open(ctx, flagstaff.Config{Source: definitions(), Log: quiet})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close(ctx)

	s := client.Status() // for a health page: it has a form as JSON, and one as text
	fmt.Println(s.Origin, s.Err)
	for _, p := range s.Problems {
		fmt.Println(p.Severity, p.Flag, p.Path)
	}
	// Output:
	// static <nil>
	// error broken /filters/groups/0/properties/0/operator
	// note paused /filters/groups
}
