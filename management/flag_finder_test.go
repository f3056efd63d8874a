package management

import (
	"testing"
	"unicode"
	"unicode/utf8"
)

// management.md §13.2: a blank in what is looked for is any of blank, - and _, and
// all else is what it is, whatever its case.
func FuzzContaining(f *testing.F) {
	for _, s := range []string{"check out", "Check-Out", "a_b", "a b", ".*", "(", `\`, "[", "İ", "ſ", "K", "\xff", "", "日本 語", "日本_語"} {
		f.Add(s, "check-out a_b .* ( \\ [ İ s k 日本-語")
	}
	f.Fuzz(func(t *testing.T, search, text string) {
		if !utf8.ValidString(search) {
			containing(search)(text) // whatever it is
			return
		}
		if got, want := containing(search)(text), finds([]rune(search), []rune(text)); got != want && utf8.ValidString(text) {
			t.Errorf("containing(%q)(%q) = %t, want %t", search, text, got, want)
		}
	})
}

// finds is what containing should do, one letter after the other.
func finds(search, text []rune) bool {
	for start := 0; start+len(search) <= len(text); start++ {
		found := true
		for i, want := range search {
			got := text[start+i]
			found = found && (sameLetter(want, got) || want == ' ' && (got == '-' || got == '_'))
		}
		if found {
			return true
		}
	}
	return false
}

func sameLetter(a, b rune) bool {
	for folded := unicode.SimpleFold(a); folded != a; folded = unicode.SimpleFold(folded) {
		if folded == b {
			return true
		}
	}
	return a == b
}
