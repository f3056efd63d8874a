package pattern_test

import (
	"math/rand/v2"
	"regexp"
	"regexp/syntax"
	"strings"
	"testing"

	"github.com/flagstaff-go/flagstaff/flags/internal/pattern"
)

func simple(t testing.TB, source string) (pattern.Matcher, bool) {
	t.Helper()
	re, err := syntax.Parse(source, syntax.Perl)
	if err != nil {
		t.Fatal(err)
	}
	return pattern.Simple(re)
}

// TestSimpleForms: the patterns that people write for lists of texts need no regular
// expression, and others do.
func TestSimpleForms(t *testing.T) {
	for _, tt := range []struct {
		source string
		want   bool
	}{
		{`example`, true},
		{`^somebody`, true},
		{`@example\.com$`, true},
		{`@example[.]com$`, true},
		{`^.*@example\.com$`, true},
		{`.+@example\.com$`, true},
		{`.*@example\.com`, true},
		{`@(acme|example|corp)\.com$`, true},
		{`^(DE|AT|CH)$`, true},
		{`^DE$|^AT$`, true},
		{`^(beta-.*|internal-.*)`, true},
		{`colou?r`, true},
		{`gr[ae]y`, true},
		{``, true},
		{`^$`, true},
		{`(?i)example`, false},
		{`[a-z]+@example\.com$`, false},
		{`a.*b`, false},
		{`a.b`, false},
		{`(?m)^a`, false},
		{`\bacme\b`, false},
		{`.+a`, false},
		{`(ab|cd|ef)(ab|cd|ef)(ab|cd|ef)(ab|cd|ef)`, false}, // 81 texts
		{strings.Repeat("a", 2000), false},
	} {
		if _, ok := simple(t, tt.source); ok != tt.want {
			t.Errorf("%.50q is simple: %v, want %v", tt.source, ok, tt.want)
		}
	}
}

// TestSimpleComparison: a simple pattern matches what its regular expression does.
func TestSimpleComparison(t *testing.T) {
	parts := []string{
		"^", "^", "$", "$", "a", "b", "ab", "(a|b)", "(?:ab|b|)", "(^a|b$)", ".*", ".+", ".*?", "(?s:.*)", "(?s:.+)", "[ab]", "[^a]", "a?", `\n`, "é", "(a.*|b)", `\A`, `\z`, "(?i:a)", "a+",
	}
	letters := []rune("aabb\n\néc")
	rnd := rand.New(rand.NewPCG(1, 2))
	tried, found := 0, 0
	for tried < 200_000 {
		tried++
		var source, text strings.Builder
		for range 1 + rnd.IntN(5) {
			source.WriteString(parts[rnd.IntN(len(parts))])
		}
		for range rnd.IntN(6) {
			text.WriteRune(letters[rnd.IntN(len(letters))])
		}
		m, ok := simple(t, source.String())
		if !ok {
			continue
		}
		found++
		if got, want := m.MatchString(text.String()), regexp.MustCompile(source.String()).MatchString(text.String()); got != want {
			t.Fatalf("%q on %q: %v, want %v", source.String(), text.String(), got, want)
		}
	}
	if found < tried/10 {
		t.Errorf("%d of %d patterns are simple, want more", found, tried)
	}
}

func TestSimpleDoesNotAllocate(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	for _, source := range []string{`^.*@example\.com$`, `@(acme|example|corp)\.com$`, `^a.+`} {
		m, _ := simple(t, source)
		if n := testing.AllocsPerRun(100, func() { m.MatchString("somebody@example.com") }); n != 0 {
			t.Errorf("%q costs %v allocations, want 0", source, n)
		}
	}
}
