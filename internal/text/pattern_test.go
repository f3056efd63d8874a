package text_test

import (
	"testing"

	"github.com/flagstaff-go/flagstaff/internal/text"
)

func TestMatches(t *testing.T) {
	for _, test := range []struct {
		pattern, text string
		want          bool
	}{
		{"", "", true},
		{"", "a", false},
		{"checkout", "checkout", true},
		{"checkout", "checkout-2", false},
		{"checkout-*", "checkout-2", true},
		{"checkout-*", "checkout-", true},
		{"checkout-*", "checkout", false},
		{"*-checkout", "new-checkout", true},
		{"*-checkout", "new-checkout-2", false},
		{"*", "", true},
		{"a*b*c", "a-b-c", true},
		{"a*b*c", "a-c-b", false},
		{"a*a", "a", false}, // two letters
		{"a*b*b", "ab", false},
		{"**", "ä", true},
	} {
		if got := text.Matches(test.pattern, test.text); got != test.want {
			t.Errorf("Matches(%q, %q) = %t, want %t", test.pattern, test.text, got, test.want)
		}
	}
}
