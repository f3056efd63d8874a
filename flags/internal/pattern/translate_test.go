package pattern_test

import (
	"errors"
	"math/rand/v2"
	"regexp"
	"strings"
	"sync"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/flagstaff-go/flagstaff/flags/internal/pattern"
	"github.com/flagstaff-go/flagstaff/internal/reference"
)

const limit = 1 << 20

func compile(t testing.TB, source string) pattern.Matcher {
	t.Helper()
	tr, err := pattern.Translate(source, limit)
	if err != nil {
		t.Fatalf("Translate(%q): %v", source, err)
	}
	if _, err := tr.Parse(); err != nil {
		t.Fatalf("Parse(%q), of %q: %v", tr.Expression, source, err)
	}
	m, err := tr.Compile()
	if err != nil {
		t.Fatalf("Compile(%q), of %q: %v", tr.Expression, source, err)
	}
	return m
}

// dialect has patterns with texts that match, and texts that do not, as Rust's
// regular expressions have it.
var dialect = []struct {
	name, pattern string
	yes, no       []string
}{
	{"letter by number", `^\u{e9}$`, []string{"é"}, []string{"e", "u{e9}"}},
	{"letter by four digits", `^\u00e9t$`, []string{"ét"}, []string{"et"}},
	{"letter by eight digits", `^\U0001f600$`, []string{"😀"}, nil},
	{"letter by two digits", `^\x41\x{42}$`, []string{"AB"}, nil},
	{"verbose", "(?x) ^ a b # the beginning\n \\  [c d] $", []string{"ab c", "ab d"}, []string{"a b c", "ab  "}},
	{"verbose up to the end of the group", `^(?:(?x: a b ) c)$`, []string{"ab c"}, []string{"abc"}},
	{"intersection", `^[a-z&&[^aeiou]]+$`, []string{"xyz"}, []string{"xaz", ""}},
	{"difference", `^[a-z--[aeiou]]+$`, []string{"xyz"}, []string{"xaz"}},
	{"symmetric difference", `^[a-f~~d-i]+$`, []string{"abcghi"}, []string{"d", "f", "j"}},
	{"operators from left to right", `^[a-z--b&&a-c]+$`, []string{"ac"}, []string{"b", "d"}},
	{"negation of all", `^[^a-z&&b-y]$`, []string{"a", "z", "é", "A"}, []string{"b"}},
	{"class inside", `^[a[bc]]+$`, []string{"abc"}, []string{"[", "]", "a]"}},
	{"negated class inside", `^[0-9[^0-9a-z]]+$`, []string{"1-é"}, []string{"a"}},
	{"nothing", `^[a&&b]|x$`, []string{"x"}, []string{"a", "b", ""}},
	{"class of ASCII", `^[[:alpha:][:^ascii:]]+$`, []string{"aé"}, []string{"1"}},
	{"not a class of ASCII", `^[[:foo:]]+$`, []string{"foo:"}, []string{"a"}},
	{"bracket first", `^[]-a]+$`, []string{"]-a"}, []string{"^", "_"}},
	{"hyphens first", `^[--a]+$`, []string{"-a"}, []string{"/", "5"}},
	{"hyphen last", `^[a-]+$`, []string{"a-"}, []string{"b"}},
	{"a range and a hyphen", `^[a-c-e]+$`, []string{"abc-e"}, []string{"d"}},
	{"one ampersand", `^[a&b]+$`, []string{"a&b"}, []string{"c"}},
	{"words", `^\w+$`, []string{"naïve", "Ⓐ", "a\u200db", "ⅷ", "क्षि", "_9٣"}, []string{"a b", "½", "²", "-", ""}},
	{"no words", `^\W+$`, []string{" ½²-"}, []string{"é", "Ⓐ", "\u200d"}},
	{"classes in classes", `^[\W\d]+$`, []string{"-5٣ "}, []string{"a", "é"}},
	{"white space", `^\s+$`, []string{" \t\v\u0085\u00a0\u2003"}, []string{"\u200b", "a"}},
	{"hexadecimal", `^\h+\H$`, []string{"09afAFx", "aé"}, []string{"x"}},
	{"escape", `^\e\[`, []string{"\x1b[m"}, []string{"e["}},
	{"alphabetic", `^\p{Alphabetic}+$`, []string{"aéⒶⅷ"}, []string{"1", "_"}},
	{"alphabetic, another spelling", `^\p{is-ALPHA betic}+$`, []string{"aé"}, []string{"1"}},
	{"not lower case", `^\P{Lowercase}+$`, []string{"A1"}, []string{"a", "ª"}},
	{"category", `^\pL\p{Nd}\p{Letter}\p{gc=Lu}\p{general_category:Ll}\p{gc!=Lu}$`, []string{"é5xAb1"}, []string{"é5xab1"}},
	{"script", `^\p{Greek}\p{sc=Greek}\p{Script:greek}\P{Greek}$`, []string{"αβγd"}, []string{"αβγδ"}},
	{"any character", `^\p{any}\p{ascii}\p{Assigned}$`, []string{"éaé"}, []string{"aéa"}},
	{"case of letters", `(?i)^straße k ſ$`, []string{"STRAßE \u212a S"}, []string{"STRASSE K S"}},
	{"case of classes", `(?i)^[a-k&&j-z]$`, []string{"j", "J", "k", "\u212a"}, []string{"l", "i"}},
	{"case of a class without", `(?i)^[^k]$`, []string{"l"}, []string{"k", "K", "\u212a"}},
	{"case of a property", `(?i)^\p{Lu}\P{Lu}$`, []string{"a1"}, []string{"aA", "ab"}},
	{"case of an ASCII class without", `(?i)^[[:^lower:]]$`, []string{"1"}, []string{"a", "A", "\u212a"}},
	{"case up to the end of the group", `^((?i)a|b)c$`, []string{"Bc", "Ac"}, []string{"aC"}},
	{"flags off", `(?i)^a(?-i)b$`, []string{"Ab"}, []string{"AB"}},
	{"flags of a group", `(?is-m:^A.B$)`, []string{"a\nb"}, []string{"x\na\nb"}},
	{"lines", `(?m)^b$`, []string{"a\nb\nc"}, []string{"ab"}},
	{"the end", `a$`, []string{"a"}, []string{"a\n"}},
	{"dot", `^a.b$`, []string{"a\rb", "aéb"}, []string{"a\nb"}},
	{"a brace", `^{"a{b}{,c}$`, []string{`{"a{b}{,c}`}, nil},
	{"a count that begins with 0", `^a{02}b{1,}c{0,1}$`, []string{"aab", "aabbc"}, []string{"ab", "a{02}b"}},
	{"greed does not matter", `(?U)^a+?b*?$`, []string{"aab"}, []string{"b"}},
	{"names of groups", `(?P<a.b[0]>x)(?<ünï>y)`, []string{"xy"}, []string{"yx"}},
	{"empty alternatives", `^(|a|)$`, []string{"", "a"}, []string{"b"}},
	{"punctuation", `^\_\-\#\ \/\~$`, []string{"_-# /~"}, nil},
	{"boundary", `\bcafé\b`, []string{"un café noir", "café", "café."}, []string{"cafés", "xcafé", "caféé", "écafé"}},
	{"boundary of ASCII beside a letter", `\bpro\b`, []string{"pro", "a pro!", "«pro»", "é pro"}, []string{"proé", "épro", "pró", "pro_", "pro\u0301", "Ⓐpro"}},
	{"no boundary", `\Bpro\B`, []string{"éproé", "aproa"}, []string{"pro", "épro", "pro é"}},
	{"boundary, repeated and alone", `^(?:\b)*\b$|^\B$`, []string{""}, []string{"é", "a"}},
	{"a boundary before nothing", `é\b`, []string{"é", "é "}, []string{"éa", "éaé1"}},
}

// TestRuling43Dialect: patterns mean what they mean in Rust's regular expressions
// (evaluation.md §4.6).
func TestRuling43Dialect(t *testing.T) {
	for _, tt := range dialect {
		t.Run(tt.name, func(t *testing.T) {
			m := compile(t, tt.pattern)
			check := func(text string, want bool) {
				if got := m.MatchString(text); got != want {
					t.Errorf("%q on %q = %v, want %v", tt.pattern, text, got, want)
				}
				if got, treatment := reference.MatchPattern(tt.pattern, text); got != want || treatment != "supported" {
					t.Errorf("the reference: %q on %q = %v, %s; want %v", tt.pattern, text, got, treatment, want)
				}
			}
			for _, text := range tt.yes {
				check(text, true)
			}
			for _, text := range tt.no {
				check(text, false)
			}
		})
	}
}

// TestRuling43Errors: what is not translated is told apart from what is wrong
// (evaluation.md §4.6).
func TestRuling43Errors(t *testing.T) {
	for _, tt := range []struct {
		pattern string
		want    error
		text    string
	}{
		{`(?=a)`, pattern.ErrUnsupported, "the pattern needs look-around or back-references"},
		{`(?!a)`, pattern.ErrUnsupported, "look-around"},
		{`(?<=a)`, pattern.ErrUnsupported, "look-around"},
		{`(?<!a)`, pattern.ErrUnsupported, "look-around"},
		{`(?>a)`, pattern.ErrUnsupported, "look-around"},
		{`(?(1)a)`, pattern.ErrUnsupported, "look-around"},
		{`(a)\1`, pattern.ErrUnsupported, "back-references"},
		{`\0`, pattern.ErrUnsupported, "back-references"},
		{`\k<a>`, pattern.ErrUnsupported, "back-references"},
		{`a++`, pattern.ErrUnsupported, "look-around"},
		{`a{2}+`, pattern.ErrUnsupported, "look-around"},
		{`a**`, pattern.ErrUnsupported, "a repetition of a repetition"},
		{`a{2}{3}`, pattern.ErrUnsupported, "a repetition of a repetition"},
		{`a{1001}`, pattern.ErrUnsupported, "a repeat count over 1000"},
		{`a{99999999999999999999}`, pattern.ErrUnsupported, "a repeat count over 1000"},
		{`a{,5}`, pattern.ErrUnsupported, "a repetition that is not {n}, {n,} or {n,m}"},
		{`a{1, 5}`, pattern.ErrUnsupported, "a repetition that is not"},
		{`\b{start}a`, pattern.ErrUnsupported, `the pattern needs \b{`},
		{`\<a`, pattern.ErrUnsupported, `the pattern needs \<`},
		{`a\Z`, pattern.ErrUnsupported, `the pattern needs \Z`},
		{`(?R)a`, pattern.ErrUnsupported, "the flag R"},
		{`(?-u)a`, pattern.ErrUnsupported, "the flag -u"},
		{`(?-u:\w)`, pattern.ErrUnsupported, "the flag -u"},
		{`(?#x)`, pattern.ErrUnsupported, "the group (?#"},
		{`(?P=a)`, pattern.ErrUnsupported, "the group (?P"},
		{`\p{Emoji}`, pattern.ErrUnsupported, `the Unicode property "Emoji"`},
		{`\p{scx=Greek}`, pattern.ErrUnsupported, `the Unicode property "scx=Greek"`},
		{`?*`, pattern.ErrInvalid, "the pattern is invalid: nothing to repeat at byte 0"},
		{`a|*`, pattern.ErrInvalid, "nothing to repeat at byte 2"},
		{`(?i)*`, pattern.ErrInvalid, "nothing to repeat"},
		{`{2}`, pattern.ErrInvalid, "nothing to repeat"},
		{`a{3,2}`, pattern.ErrInvalid, "from more to less"},
		{`(a`, pattern.ErrInvalid, "unclosed group"},
		{`a)`, pattern.ErrInvalid, "unopened group at byte 1"},
		{`[a`, pattern.ErrInvalid, "unclosed class"},
		{`[a[b]`, pattern.ErrInvalid, "unclosed class"},
		{`[a-`, pattern.ErrInvalid, "unclosed class"},
		{`[b-a]`, pattern.ErrInvalid, "a range of characters"},
		{`[\w-a]`, pattern.ErrInvalid, "a range of characters"},
		{`[a-\d]`, pattern.ErrInvalid, "a range of characters"},
		{`[\b]`, pattern.ErrInvalid, "an unknown escape"},
		{`[\1]`, pattern.ErrInvalid, "an unknown escape"},
		{`\`, pattern.ErrInvalid, "a backslash"},
		{`[\`, pattern.ErrInvalid, "a backslash"},
		{`\Qa\E`, pattern.ErrInvalid, "an unknown escape at byte 1"},
		{`\é`, pattern.ErrInvalid, "an unknown escape"},
		{`\x4`, pattern.ErrInvalid, "hexadecimal"},
		{`\x{`, pattern.ErrInvalid, "a number without an end"},
		{`\u{d800}`, pattern.ErrInvalid, "no character"},
		{`\u{110000}`, pattern.ErrInvalid, "no character"},
		{`\x{}`, pattern.ErrInvalid, "no character"},
		{`\p`, pattern.ErrInvalid, "a property"},
		{`\p{L`, pattern.ErrInvalid, "a property"},
		{`(?ii)`, pattern.ErrInvalid, "twice"},
		{`(?i-i)`, pattern.ErrInvalid, "twice"},
		{`(?i-)`, pattern.ErrInvalid, "missing"},
		{`(?)`, pattern.ErrInvalid, "missing"},
		{`(?-:a)`, pattern.ErrInvalid, "missing"},
		{`(?q)`, pattern.ErrInvalid, "an unknown flag"},
		{`(?i`, pattern.ErrInvalid, "unclosed group"},
		{`(?P<1>a)`, pattern.ErrInvalid, "a group with this name"},
		{`(?P<>a)`, pattern.ErrInvalid, "name of its own"},
		{`(?P<a>a)(?<a>b)`, pattern.ErrInvalid, "name of its own"},
		{`(?P<a`, pattern.ErrInvalid, "no end"},
		{`?(?=a)`, pattern.ErrInvalid, "nothing to repeat"}, // the first fault counts
		{`(?=a)?*`, pattern.ErrUnsupported, "look-around"},
	} {
		_, err := pattern.Translate(tt.pattern, limit)
		if !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.text) {
			t.Errorf("Translate(%q): error %v, want one of kind %q with %q", tt.pattern, err, tt.want, tt.text)
		}
		want := map[error]string{pattern.ErrInvalid: "invalid", pattern.ErrUnsupported: "unsupported"}[tt.want]
		if _, got := reference.MatchPattern(tt.pattern, ""); got != want {
			t.Errorf("the reference: %q is %s, want %s", tt.pattern, got, want)
		}
	}
}

// TestRuling43NestedCounts: package regexp bounds nested repetitions together.
func TestRuling43NestedCounts(t *testing.T) {
	tr, err := pattern.Translate(`(a{100}){11}`, limit)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tr.Parse(); !errors.Is(err, pattern.ErrUnsupported) || !strings.Contains(err.Error(), "nested repetitions of more than 1000") {
		t.Errorf("Parse: error %v, want ErrUnsupported", err)
	}
}

// TestLimit: what classes cost is bounded, and told.
func TestLimit(t *testing.T) {
	for _, source := range []string{
		strings.Repeat(`[\W&&a]`, 500), strings.Repeat(`(?i:[\W])`, 400), `[` + strings.Repeat(`[\W]&&`, 600) + `a]`, strings.Repeat(`\w`, 2000),
		strings.Repeat(`[`, 4000), strings.Repeat(`(`, 4000), strings.Repeat(`a&&`, 1000),
	} {
		tr, err := pattern.Translate(source, 10_000)
		if err == nil && (len(tr.Expression) > 10_000 || tr.Work > 10_000) {
			t.Errorf("Translate(%.20q…): %d bytes, %d ranges, no error", source, len(tr.Expression), tr.Work)
		}
		if tr.Work > 30_000 {
			t.Errorf("Translate(%.20q…) went on until %d ranges", source, tr.Work)
		}
	}
}

// alike are parts of patterns that package regexp reads as the dialect does.
var alike = []string{
	"a", "b", "é", " ", "-", ":", ".", "^", "$", "(a)", "(?:ab|b)", "(?i:a)", "(?i)", "(?s)", "(?m)", "(?i-s:.)", "[ab]", "[^a]", "[a-c]", "[a-]", "[[:alpha:]]", "[[:^digit:]é]", "[é-ü]",
	`\pL`, `\p{Greek}`, `\PL`, `\x41`, `\x{e9}`, `\n`, `\t`, `\.`, `\\`, `\[`, `\-`, `\A`, `\z`, "|", "a*", "a+", "a?", "a{2}", "a{1,2}", "b{0,}", "(ab)*?", "[a]+?", `\x{10ffff}`, "α",
}

// FuzzTranslate: no pattern makes the translation panic, the reference reads it alike,
// and parts that package regexp reads alike are translated to the same.
func FuzzTranslate(f *testing.F) {
	for i, tt := range dialect {
		f.Add(tt.pattern, strings.Join(append(tt.yes, tt.no...), " "), uint64(i))
	}
	f.Fuzz(func(t *testing.T, source, text string, seed uint64) {
		if len(source) > 60 || len(text) > 60 || !utf8.ValidString(source) || !utf8.ValidString(text) {
			return
		}
		tr, err := pattern.Translate(source, limit)
		if err == nil {
			_, err = tr.Parse()
		}
		switch {
		case err == nil:
			m, err := tr.Compile()
			if err != nil {
				t.Fatalf("Compile(%q), of %q: %v", tr.Expression, source, err)
			}
			got := m.MatchString(text)
			if want, treatment := reference.MatchPattern(source, text); got != want || treatment != "supported" {
				t.Fatalf("%q, of %q, on %q = %v; the reference: %v, %s", tr.Expression, source, text, got, want, treatment)
			}
		case errors.Is(err, pattern.ErrUnsupported) && strings.Contains(err.Error(), "nested"), errors.Is(err, pattern.ErrTooLarge):
		default:
			want := "invalid"
			if errors.Is(err, pattern.ErrUnsupported) {
				want = "unsupported"
			}
			if _, treatment := reference.MatchPattern(source, text); treatment != want {
				t.Fatalf("Translate(%q): %v; the reference: %s", source, err, treatment)
			}
		}

		rnd := rand.New(rand.NewPCG(seed, 43))
		var b strings.Builder
		for range 1 + rnd.IntN(6) {
			b.WriteString(alike[rnd.IntN(len(alike))])
		}
		m := compile(t, b.String())
		if got, want := m.MatchString(text), regexp.MustCompile(b.String()).MatchString(text); got != want {
			t.Fatalf("%q on %q = %v, package regexp says %v", b.String(), text, got, want)
		}
	})
}

// parts are put together to random patterns of the whole dialect.
var parts = append([]string{
	`\w`, `\W`, `\d`, `\D`, `\s`, `\S`, `\b`, `\B`, `\h`, `[\w-]`, `[^\W]`, `[a-z&&[^b]]`, `[\w--\d]`, `[a[^b]]`, `[^[a]b]`, `[a-c~~b-d]`, `(?x: a )`, `\u{e9}`, `\u0061`,
	`\p{Alphabetic}`, `\p{Lowercase}`, `(?i:[\W])`, `(?i:\P{Lu})`, `(?i:[k-m--l])`, `(?<n>a)`, `(a|\b)`, `(?:\b)*`, `{`, `}`, `]`, `\<`, `a++`, `(?=a)`, `[`, `(`, `)`, `*`, `\Q`,
}, alike...)

// TestRuling43Random compares random patterns with the reference.
func TestRuling43Random(t *testing.T) {
	rnd := rand.New(rand.NewPCG(43, 43))
	letters := []rune("abkAKé É\u0301Ⓐ5٣_-\n\u212aα")
	treatments := make(map[string]int)
	for range 20_000 {
		var source, text strings.Builder
		for range 1 + rnd.IntN(5) {
			source.WriteString(parts[rnd.IntN(len(parts))])
		}
		for range rnd.IntN(6) {
			text.WriteRune(letters[rnd.IntN(len(letters))])
		}
		want, treatment := reference.MatchPattern(source.String(), text.String())
		treatments[treatment]++
		got, mine := false, "supported"
		tr, err := pattern.Translate(source.String(), limit)
		switch {
		case errors.Is(err, pattern.ErrUnsupported):
			mine = "unsupported"
		case err != nil:
			mine = "invalid"
		default:
			m, err := tr.Compile()
			if err != nil {
				t.Fatalf("Compile(%q), of %q: %v", tr.Expression, source.String(), err)
			}
			got = m.MatchString(text.String())
			parsed, err := tr.Parse()
			if err != nil {
				t.Fatalf("Parse(%q): %v", tr.Expression, err)
			}
			if m, ok := pattern.Simple(parsed); ok && m.MatchString(text.String()) != got {
				t.Fatalf("%q on %q: Simple says %v", source.String(), text.String(), !got)
			}
		}
		if got != want || mine != treatment {
			t.Fatalf("%q on %q: %v, %s; the reference says %v, %s", source.String(), text.String(), got, mine, want, treatment)
		}
	}
	for _, treatment := range []string{"supported", "invalid", "unsupported"} {
		if treatments[treatment] < 500 {
			t.Errorf("%d patterns are %s, want 500", treatments[treatment], treatment)
		}
	}
}

// TestFolding: the classes \d, \s and \w have all cases of their letters, so that (?i)
// changes none of them.
func TestFolding(t *testing.T) {
	for _, class := range []string{`\d`, `\s`, `\w`, `\D`, `\S`, `\W`} {
		plain, folded := compile(t, "^"+class+"$"), compile(t, "(?i)^["+class+"]$")
		for r := rune(0); r <= 0x1ffff; r++ {
			if !utf8.ValidRune(r) {
				continue
			}
			if s := string(r); plain.MatchString(s) != folded.MatchString(s) {
				t.Errorf("%s matches %U: %v; with (?i): %v", class, r, plain.MatchString(s), folded.MatchString(s))
			}
		}
	}
	if unicode.Version != "15.0.0" {
		t.Logf("Unicode %s", unicode.Version)
	}
}

func TestBoundaryDoesNotAllocate(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	m := compile(t, `\b(?:café|thé)\b`)
	for _, text := range []string{"plain text, no letters beyond ASCII", "un café noir", "des cafés noirs"} {
		m.MatchString(text)
		if n := testing.AllocsPerRun(100, func() { m.MatchString(text) }); n != 0 {
			t.Errorf("%q costs %v allocations, want 0", text, n)
		}
	}
}

func BenchmarkMatch(b *testing.B) {
	for _, tt := range []struct{ name, pattern, text string }{
		{"ASCII", `^[a-z]+@acme\.com$`, "somebody@acme.com"},
		{"ASCII with a boundary", `\bacme\b`, "somebody@acme.com"},
		{"letters with a boundary", `\bacme\b`, "quelqu’un d’étranger@acme.com"},
	} {
		m := compile(b, tt.pattern)
		b.Run(tt.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				m.MatchString(tt.text)
			}
		})
		floor := regexp.MustCompile(tt.pattern)
		b.Run(tt.name+"/regexp", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				floor.MatchString(tt.text)
			}
		})
	}
}

// TestConcurrentMatches: a matcher serves many goroutines.
func TestConcurrentMatches(t *testing.T) {
	m := compile(t, `\bcafé\b`)
	var all sync.WaitGroup
	for n := range 8 {
		all.Go(func() {
			for i := range 200 {
				text, want := "un café noir", true
				if (n+i)%2 == 0 {
					text, want = "des cafés noirs", false
				}
				if got := m.MatchString(text); got != want {
					t.Errorf("%q: %v, want %v", text, got, want)
				}
			}
		})
	}
	all.Wait()
}
