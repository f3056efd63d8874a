package text_test

import (
	"strings"
	"testing"

	"github.com/flagstaff-go/flagstaff/internal/text"
)

// FuzzParseBool compares ParseBool with a look into a table (evaluation.md §8.2).
func FuzzParseBool(f *testing.F) {
	words := map[string]bool{
		"true": true, "1": true, "t": true, "yes": true, "on": true,
		"false": false, "0": false, "f": false, "no": false, "off": false,
	}
	for word := range words {
		f.Add(word)
		f.Add(strings.ToUpper(word))
		f.Add(word + " ")
	}
	f.Add("")
	f.Add("O\u212a") // the sign of Kelvin, which Unicode lowers to k
	f.Fuzz(func(t *testing.T, s string) {
		lower := strings.Map(func(r rune) rune {
			if 'A' <= r && r <= 'Z' {
				return r + 'a' - 'A'
			}
			return r
		}, s)
		want, known := words[lower]
		if got, ok := text.ParseBool(s); got != want || ok != known {
			t.Errorf("ParseBool(%q) = %v, %v; want %v, %v", s, got, ok, want, known)
		}
	})
}
