package main

import (
	"testing"

	"github.com/flagstaff-go/flagstaff/flags/flagstest"
)

func TestCheckout(t *testing.T) {
	ctx := flagstest.With(t, t.Context(), flagstest.Flag("new-checkout").On())
	if got := checkout(ctx); got != "the new checkout" {
		t.Errorf("with the flag, checkout returned %q", got)
	}
}

// The program finds its flags.json, in which Ada's plan has the flag.
func Example() {
	main()
	// Output: the new checkout
}
