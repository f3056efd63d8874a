package main

import (
	"testing"

	"github.com/flagstaff-go/flagstaff/flags/flagstest"
)

func TestNewCheckout(t *testing.T) {
	ctx := flagstest.With(t, t.Context(), flagstest.Flag("new-checkout").On())
	if !newCheckout(ctx) {
		t.Error("with the flag on, there is no new checkout")
	}
}

// The program finds its flags.json, in which Ada's plan has the flag.
func Example() {
	main()
	// Output: new checkout: true
}
