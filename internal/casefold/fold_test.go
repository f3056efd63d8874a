package casefold_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
	"unsafe"

	"github.com/flagstaff-go/flagstaff/internal/casefold"
)

var foldings = []struct {
	name, text, lower, ascii string
}{
	{"nothing", "", "", ""},
	{"small letters", "pro", "pro", "pro"},
	{"all of ASCII", ascii(0, 128), strings.ToLower(ascii(0, 128)), strings.ToLower(ascii(0, 128))},
	{"around A to Z", "@AZ[`az{", "@az[`az{", "@az[`az{"},
	{"eight bytes", "ABCDEFGH", "abcdefgh", "abcdefgh"},
	{"a capital in the ninth byte", "abcdefghI", "abcdefghi", "abcdefghi"},
	// Rows of evaluation.md §16.3.
	{"row 62", "Pro", "pro", "pro"},
	{"row 63", "B", "b", "b"},
	{"rows 79 and 80", "ÉCOLE", "école", "École"},
	{"rows 79 and 80, property", "école", "école", "école"},
	{"row 86", "HTTP", "http", "http"},
	// Beyond ASCII.
	{"ß stays", "STRAẞE Straße", "straße straße", "straẞe straße"},
	{"Cyrillic", "МОСКВА", "москва", "МОСКВА"},
	{"no case", "日本", "日本", "日本"},
	{"title case", "ǅ", "ǆ", "ǅ"},
	{"shorter in lower case, a Kelvin", "\u212a", "k", "\u212a"},
	{"longer in lower case", "Ⱥ", "ⱥ", "Ⱥ"},
	{"beyond the basic plane", "𐐀", "𐐨", "𐐀"},
	{"I with a dot", "İSTANBUL", "i̇stanbul", "İstanbul"},
	{"Turkish dotless stays", "ıI", "ıi", "ıi"},
	// Final sigma.
	{"a sigma alone", "Σ", "σ", "Σ"},
	{"at the end", "ΑΣ", "ας", "ΑΣ"},
	{"at the start", "ΣΑ", "σα", "ΣΑ"},
	{"in the middle", "ΑΣΑ", "ασα", "ΑΣΑ"},
	{"two at the end", "ΑΣΣ", "ασς", "ΑΣΣ"},
	{"two alone", "ΣΣ", "σς", "ΣΣ"},
	{"two words", "ΟΔΟΣ ΟΔΟΣ", "οδος οδος", "ΟΔΟΣ ΟΔΟΣ"},
	{"before a digit", "ΑΣ1", "ας1", "ΑΣ1"},
	{"behind a digit", "1Σ", "1σ", "1Σ"},
	{"behind Latin", "ABCΣ", "abcς", "abcΣ"},
	{"before Latin", "AΣB", "aσb", "aΣb"},
	{"before a mark at the end", "ΑΣ\u0301", "ας\u0301", "ΑΣ\u0301"},
	{"before a mark and a letter", "ΑΣ\u0301Α", "ασ\u0301α", "ΑΣ\u0301Α"},
	{"behind a mark", "Α\u0301Σ", "α\u0301ς", "Α\u0301Σ"},
	{"behind a mark alone", "\u0301Σ", "\u0301σ", "\u0301Σ"},
	{"before a full stop", "ΑΣ.", "ας.", "ΑΣ."},
	{"a full stop between letters", "ΑΣ.Α", "ασ.α", "ΑΣ.Α"},
	{"an apostrophe between letters", "ΑΣ'Α", "ασ'α", "ΑΣ'Α"},
	{"a hyphen between letters", "ΑΣ-Α", "ας-α", "ΑΣ-Α"},
	{"a soft hyphen between letters", "ΑΣ\u00adΑ", "ασ\u00adα", "ΑΣ\u00adΑ"},
	{"a letter with case that is ignorable, behind", "ΑΣʰ", "αςʰ", "ΑΣʰ"},
	{"a letter with case that is ignorable, before", "ʰΣ", "ʰσ", "ʰΣ"},
	{"circled letters have case", "ⓐΣ", "ⓐς", "ⓐΣ"},
	{"small sigmas stay", "σς", "σς", "σς"},
	// Not UTF-8.
	{"a byte that is not UTF-8", "a\xffB", "a\ufffdb", "a\xffb"},
	{"nothing but a byte that is not UTF-8", "\x80", "\ufffd", "\x80"},
	{"the replacement character itself", "\ufffd", "\ufffd", "\ufffd"},
	{"a surrogate", "\xed\xa0\x80", "\ufffd\ufffd\ufffd", "\xed\xa0\x80"},
	{"a sigma behind a byte that is not UTF-8", "Α\xffΣ", "α\ufffdσ", "Α\xffΣ"},
}

func ascii(from, to byte) string {
	var b []byte
	for c := from; c < to; c++ {
		b = append(b, c)
	}
	return string(b)
}

func TestLower(t *testing.T) {
	for _, tt := range foldings {
		t.Run(tt.name, func(t *testing.T) {
			if got := casefold.Lower(tt.text); got != tt.lower {
				t.Errorf("Lower(%q) = %q, want %q", tt.text, got, tt.lower)
			}
			if got := string(casefold.AppendLower([]byte("X"), tt.text)); got != "X"+tt.lower {
				t.Errorf("AppendLower(X, %q) = %q, want %q", tt.text, got, "X"+tt.lower)
			}
			if got := string(casefold.AppendLowerASCII([]byte("X"), tt.text)); got != "X"+tt.ascii {
				t.Errorf("AppendLowerASCII(X, %q) = %q, want %q", tt.text, got, "X"+tt.ascii)
			}
		})
	}
}

// TestLowerRunes compares all characters with the standard library, which
// differs in one.
func TestLowerRunes(t *testing.T) {
	for r := rune(0); r <= unicode.MaxRune; r++ {
		s := string(r)
		want := strings.ToLower(s)
		if r == 'İ' {
			want = "i̇"
		}
		if got := casefold.Lower(s); got != want {
			t.Errorf("Lower(%q) = %q, want %q", s, got, want)
		}
		if got, want := casefold.Folded(s), r < utf8.RuneSelf && (r < 'A' || r > 'Z'); got != want {
			t.Errorf("Folded(%q) = %v, want %v", s, got, want)
		}
	}
}

func TestFoldedBytes(t *testing.T) {
	for n := range 20 {
		for i := range n {
			for c := range 256 {
				b := []byte(strings.Repeat("[", n))
				b[i] = byte(c)
				s := string(b)
				if got, want := casefold.Folded(s), c < 0x80 && (c < 'A' || c > 'Z'); got != want {
					t.Fatalf("Folded(%q) = %v, want %v", s, got, want)
				}
				if 'A' <= c && c <= 'Z' {
					b[i] += 'a' - 'A'
				}
				if got := casefold.AppendLowerASCII(nil, s); string(got) != string(b) {
					t.Fatalf("AppendLowerASCII(%q) = %q, want %q", s, got, b)
				}
			}
		}
	}
}

// obviousLower lower-cases a slice of runes by the full rules.
func obviousLower(s string) string {
	runes := []rune(s)
	var b strings.Builder
	for i, r := range runes {
		switch {
		case r == 'İ':
			b.WriteString("i̇")
		case r == 'Σ' && lastThatCounts(runes[:i]) && !firstThatCounts(runes[i+1:]):
			b.WriteRune('ς')
		default:
			b.WriteRune(unicode.ToLower(r))
		}
	}
	return b.String()
}

// wordBreak has the characters whose Word_Break is MidLetter, MidNumLet or
// Single_Quote.
const wordBreak = ":\u00b7\u0387\u055f\u05f4\u2027\ufe13\ufe55\uff1a.\u2018\u2019\u2024\ufe52\uff07\uff0e'"

func ignored(r rune) bool {
	return strings.ContainsRune(wordBreak, r) || unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf, unicode.Lm, unicode.Sk)
}

func hasCase(r rune) bool {
	return unicode.IsUpper(r) || unicode.IsLower(r) || unicode.IsTitle(r) || unicode.In(r, unicode.Other_Lowercase, unicode.Other_Uppercase)
}

func firstThatCounts(s []rune) bool {
	for _, r := range s {
		if !ignored(r) {
			return hasCase(r)
		}
	}
	return false
}

func lastThatCounts(s []rune) bool {
	for i := len(s) - 1; i >= 0; i-- {
		if !ignored(s[i]) {
			return hasCase(s[i])
		}
	}
	return false
}

func FuzzLower(f *testing.F) {
	for _, tt := range foldings {
		f.Add(tt.text)
	}
	f.Fuzz(func(t *testing.T, s string) {
		lower := casefold.Lower(s)
		if want := obviousLower(s); lower != want {
			t.Fatalf("Lower(%q) = %q, want %q", s, lower, want)
		}
		if again := casefold.Lower(lower); again != lower {
			t.Fatalf("Lower(%q) = %q, want it unchanged", lower, again)
		}
		if got := string(casefold.AppendLower([]byte("Σ"), s)); got != "Σ"+lower {
			t.Fatalf("AppendLower(Σ, %q) = %q, want %q", s, got, "Σ"+lower)
		}
		if lower == s && unsafe.StringData(lower) != unsafe.StringData(s) {
			t.Fatalf("Lower(%q) is a copy", s)
		}

		var b []byte
		folded := true
		for i := range len(s) {
			c := s[i]
			folded = folded && c < 0x80
			if 'A' <= c && c <= 'Z' {
				folded = false
				c += 'a' - 'A'
			}
			b = append(b, c)
		}
		if got := string(casefold.AppendLowerASCII(nil, s)); got != string(b) {
			t.Fatalf("AppendLowerASCII(%q) = %q, want %q", s, got, b)
		}
		if got := casefold.Folded(s); got != folded {
			t.Fatalf("Folded(%q) = %v, want %v", s, got, folded)
		}
		if folded && (lower != s || string(b) != s) {
			t.Fatalf("Folded(%q), but lower-casing changes it", s)
		}
	})
}

// TestLowerTime guards against a search for the end of a word at every sigma.
func TestLowerTime(t *testing.T) {
	for _, s := range []string{
		strings.Repeat("Σ", 150_000),
		strings.Repeat("Σ'", 150_000),
		strings.Repeat("'", 150_000) + strings.Repeat("Σ", 150_000) + strings.Repeat("'", 150_000),
	} {
		if got := casefold.Lower(s); len(got) != len(s) {
			t.Errorf("Lower changes the length from %d to %d", len(s), len(got))
		}
	}
}

func TestFoldNoAllocation(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	dst := make([]byte, 0, 1024)
	for _, tt := range foldings {
		n := testing.AllocsPerRun(100, func() {
			_ = casefold.Folded(tt.text)
			casefold.AppendLower(dst, tt.text)
			casefold.AppendLowerASCII(dst, tt.text)
			casefold.Lower(tt.lower)
		})
		if n != 0 {
			t.Errorf("lower-casing %q allocates %v times, want 0", tt.text, n)
		}
	}
}

func BenchmarkFold(b *testing.B) {
	dst := make([]byte, 0, 1024)
	for _, tt := range []struct{ name, text string }{
		{"short", "pro"},
		{"capital", "Enterprise"},
		{"id", "01a1fb74-fbb6-73ab-a6e2-2019581e196c"},
		{"user agent", "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36"},
		{"umlauts", "Österreich, Grüße aus Wien"},
	} {
		b.Run("Folded/"+tt.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				casefold.Folded(tt.text)
			}
		})
		b.Run("AppendLower/"+tt.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				casefold.AppendLower(dst, tt.text)
			}
		})
		b.Run("AppendLowerASCII/"+tt.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				casefold.AppendLowerASCII(dst, tt.text)
			}
		})
	}
}

// TestCaseOf compares CaseOf and IsLower with their definitions, at all lengths around a
// word and with each kind of character at each place.
func TestCaseOf(t *testing.T) {
	for length := range 40 {
		plain := strings.Repeat("a{`@[z0 ", 5)[:length]
		check(t, plain)
		for i := range length {
			for _, c := range []string{"A", "Z", "M", "@", "[", "\x7f", "\x80", "\xff", "é", "K"} {
				check(t, plain[:i]+c+plain[i+1:])
			}
		}
	}
}

// FuzzCaseOf does the same for any text.
func FuzzCaseOf(f *testing.F) {
	f.Add("Enterprise")
	f.Fuzz(func(t *testing.T, s string) { check(t, s) })
}

func check(t *testing.T, s string) {
	t.Helper()
	lower := string(casefold.AppendLowerASCII(nil, s))
	want := casefold.CaseFolded
	switch {
	case strings.ContainsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf }):
		want = casefold.CaseOther
	case lower != s:
		want = casefold.CaseMixed
	}
	if got := casefold.CaseOf(s); got != want || (got == casefold.CaseFolded) != casefold.Folded(s) {
		t.Errorf("CaseOf(%q) = %d, want %d; Folded says %v", s, got, want, casefold.Folded(s))
	}
	if !casefold.IsLower(s, lower) {
		t.Errorf("IsLower(%q, %q) = false", s, lower)
	}
	if got := casefold.IsLower(s, s); got != (lower == s) {
		t.Errorf("IsLower(%q, %q) = %v", s, s, got)
	}
	for i := range lower {
		other := lower[:i] + string(rune(lower[i]&0x7f^1)) + lower[i+1:]
		if other != lower && casefold.IsLower(s, other) {
			t.Errorf("IsLower(%q, %q) = true", s, other)
		}
	}
	if casefold.IsLower(s, lower+"a") || len(lower) > 0 && casefold.IsLower(s, lower[1:]) {
		t.Errorf("IsLower of %q and a text of another length is true", s)
	}
}
