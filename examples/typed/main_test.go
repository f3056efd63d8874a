package main

import (
	"testing"

	"github.com/flagstaff-go/flagstaff"
	"github.com/flagstaff-go/flagstaff/flags/flagstest"
)

func TestPage(t *testing.T) {
	ctx := flagstest.With(t, t.Context(), flagstest.Flag("button").On().Variant("green", 100).Payload("green", `{"label": "Go"}`))
	if got := page(ctx); got != "several pages, a green button: Go, a border of 0" {
		t.Errorf("page returned %q", got)
	}
}

// The code was generated for these flags.
func TestCheck(t *testing.T) {
	client, err := flagstaff.Open(t.Context(), flagstaff.Config{File: "shop/flags.json"})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close(t.Context())
	if err := client.Check(); err != nil {
		t.Error(err)
	}
}

// The program finds its flags, of which Check finds nothing wrong.
func Example() {
	main()
	// Output: one page, a green button: Buy now, a border of 1.5
}
