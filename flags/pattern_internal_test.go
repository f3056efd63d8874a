package flags

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"regexp/syntax"
	"runtime"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/dlclark/regexp2/v2"
)

// A patternVector is a pattern with texts that match and texts that do not, as Rust's
// regular expressions have it, or one that is invalid there or that we do not read.
type patternVector struct {
	What, Pattern string
	Yes, No       []string
	Invalid       bool
}

func patternVectors(t testing.TB) (all []patternVector) {
	t.Helper()
	b, err := os.ReadFile("testdata/patterns.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

func compileOne(source string) (Matcher, error) {
	b := regexpBuilder{timeouts: new(patternTimeouts)}
	return b.compilePattern(source, nil)
}

// engines returns what each engine decides that reads a pattern as it is written for it.
func engines(t testing.TB, source, text string) map[string]bool {
	t.Helper()
	written, boundary, err := readPattern(source)
	if err != nil {
		return nil
	}
	decided := make(map[string]bool)
	if re, err := regexp.Compile(written); err == nil && (!boundary || isASCII(text)) {
		decided["regexp"] = re.MatchString(text)
	}
	if re, err := regexp2.Compile(slowBoundaries.Replace(written), regexp2.RE2, regexp2.OptionMaintainCaptureOrder()); err == nil {
		re.MatchTimeout = time.Second
		if matched, err := re.MatchString(text); err == nil {
			decided["regexp2"] = matched
		}
	}
	return decided
}

// TestRuling43Dialect: patterns mean what they mean in Rust's regular expressions, whichever
// engine matches them (evaluation.md §4.6).
func TestRuling43Dialect(t *testing.T) {
	slow := 0
	for _, v := range patternVectors(t) {
		m, err := compileOne(v.Pattern)
		if (err != nil) != v.Invalid || err != nil && !errors.Is(err, errPattern) {
			t.Errorf("%q: error %v, want one: %v", v.Pattern, err, v.Invalid)
			continue
		}
		if p, ok := m.(*pattern); ok && p.slow != nil {
			slow++
		}
		check := func(text string, want bool) {
			if got := m.MatchString(text); got != want {
				t.Errorf("%s: %q on %q = %v, want %v", v.What, v.Pattern, text, got, want)
			}
			for engine, got := range engines(t, v.Pattern, text) {
				if got != want {
					t.Errorf("%s: %q on %q = %v by %s, want %v", v.What, v.Pattern, text, got, engine, want)
				}
			}
		}
		for _, text := range v.Yes {
			check(text, true)
		}
		for _, text := range v.No {
			check(text, false)
		}
	}
	t.Logf("%d patterns, %d need regexp2", len(patternVectors(t)), slow)
}

// TestPatternClasses: the short names mean the properties of Unicode that they are to mean.
func TestPatternClasses(t *testing.T) {
	for class, tables := range map[string][]*unicode.RangeTable{
		wordClass:  {unicode.L, unicode.Nl, unicode.Other_Alphabetic, unicode.M, unicode.Nd, unicode.Pc, unicode.Join_Control},
		spaceClass: {unicode.White_Space},
		digitClass: {unicode.Nd},
	} {
		re := regexp.MustCompile("^[" + class + "]$")
		for c := range unicode.MaxRune + 1 {
			if utf8.ValidRune(c) && re.MatchString(string(c)) != unicode.In(c, tables...) {
				t.Errorf("[%.20s…] has %x: %v", class, c, re.MatchString(string(c)))
			}
		}
	}
}

// patternParts are put together to random patterns of the whole dialect.
var patternParts = []string{
	"a", "b", "é", " ", "-", ":", ".", "^", "$", "(a)", "(?:ab|b)", "(?i:a)", "(?i)", "(?s)", "(?m)", "(?i-s:.)", "[ab]", "[^a]", "[a-c]", "[a-]", "[[:alpha:]]", "[[:^digit:]é]", "[é-ü]",
	`\pL`, `\p{Greek}`, `\PL`, `\x41`, `\x{e9}`, `\n`, `\t`, `\.`, `\\`, `\[`, `\-`, `\A`, `\z`, "|", "a*", "a+", "a?", "a{2}", "a{1,2}", "b{0,}", "(ab)*?", "[a]+?", `\x{10ffff}`, "α",
	`\w`, `\W`, `\d`, `\D`, `\s`, `\S`, `\b`, `\B`, `\h`, `[\w-]`, `[^\W]`, `[a-z&&[^b]]`, `[\w--\d]`, `[a[^b]]`, `[^[a]b]`, `[a-c~~b-d]`, `(?x: a )`, `\u{e9}`, `\u0061`,
	`\p{Alphabetic}`, `\p{Lowercase}`, `(?i:[\W])`, `(?i:\P{Lu})`, `(?i:[k-m--l])`, `(?<n>a)`, `(a|\b)`, `(?:\b)*`, `{`, `}`, `]`, `\<`, `a++`, `(?=a)`, `[`, `(`, `)`, `*`, `\Q`,
}

// TestRuling43Random: both engines decide the same on random patterns that both read.
func TestRuling43Random(t *testing.T) {
	rnd := rand.New(rand.NewPCG(43, 43))
	letters := []rune("abkAKé É\u0301Ⓐ5٣_-\n\u212aα")
	both := 0
	for range 5000 {
		var source, text strings.Builder
		for range 1 + rnd.IntN(5) {
			source.WriteString(patternParts[rnd.IntN(len(patternParts))])
		}
		for range rnd.IntN(6) {
			text.WriteRune(letters[rnd.IntN(len(letters))])
		}
		decided := engines(t, source.String(), text.String())
		if len(decided) == 2 {
			both++
		}
		m, err := compileOne(source.String())
		if (err == nil) != (len(decided) > 0) {
			t.Fatalf("%q: %v, decided %v", source.String(), err, decided)
		}
		for engine, got := range decided {
			if want := m.MatchString(text.String()); got != want {
				t.Fatalf("%q on %q: %v by %s, want %v", source.String(), text.String(), got, engine, want)
			}
		}
	}
	if both < 1000 {
		t.Errorf("both engines read %d patterns, want more", both)
	}
}

// TestTextPatterns: the patterns that people write for lists of texts need no regular
// expression, and others do.
func TestTextPatterns(t *testing.T) {
	for source, want := range map[string]bool{
		`example`: true, `^somebody`: true, `@example\.com$`: true, `@example[.]com$`: true, `^.*@example\.com$`: true, `.+@example\.com$`: true,
		`.*@example\.com`: true, `@(acme|example|corp)\.com$`: true, `^(DE|AT|CH)$`: true, `^DE$|^AT$`: true, `^(beta-.*|internal-.*)`: true, `colou?r`: true,
		`^.*example.*$`: true, `gr[ae]y`: true, ``: true, `^$`: true, `(?i)example`: false, `[a-z]+@example\.com$`: false, `a.*b`: false, `a.b`: false, `(?m)^a`: false,
		`\bacme\b`: false, `.+a`: false, `(ab|cd|ef)(ab|cd|ef)(ab|cd|ef)(ab|cd|ef)`: false, strings.Repeat("a", 2000): false,
	} {
		ok := false
		m, err := compileOne(source)
		if err != nil {
			t.Fatal(err)
		}
		switch m.(type) {
		case *patternText, textPattern:
			ok = true
		}
		if ok != want {
			t.Errorf("%.50q is no more than texts: %v, want %v", source, ok, want)
		}
	}
}

// TestTextPatternsRandom: such a pattern matches what its regular expression does.
func TestTextPatternsRandom(t *testing.T) {
	parts := []string{
		"^", "^", "$", "$", "a", "b", "ab", "(a|b)", "(?:ab|b|)", "(^a|b$)", ".*", ".+", ".*?", "(?s:.*)", "(?s:.+)", "[ab]", "[^a]", "a?", `\n`, "é", "(a.*|b)", `\A`, `\z`, "(?i:a)", "a+",
	}
	letters := []rune("aabb\n\néc")
	rnd := rand.New(rand.NewPCG(1, 2))
	tried, found := 0, 0
	for tried < 100_000 {
		tried++
		var source, text strings.Builder
		for range 1 + rnd.IntN(5) {
			source.WriteString(parts[rnd.IntN(len(parts))])
		}
		for range rnd.IntN(6) {
			text.WriteRune(letters[rnd.IntN(len(letters))])
		}
		parsed, err := syntax.Parse(source.String(), syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		m, ok := newTextPattern(parsed)
		if !ok {
			continue
		}
		found++
		if got, want := m.MatchString(text.String()), regexp.MustCompile(source.String()).MatchString(text.String()); got != want {
			t.Fatalf("%q on %q: %v, want %v", source.String(), text.String(), got, want)
		}
	}
	if found < tried/10 {
		t.Errorf("%d of %d patterns are no more than texts, want more", found, tried)
	}
}

// hostilePatterns take exponential or quadratic time where nothing bounds it.
var hostilePatterns = []struct{ source, text string }{
	{`^(?=(a|aa)+$)`, strings.Repeat("a", 60) + "!"},
	{`^(?:(a|aa|\1)+)+$`, strings.Repeat("a", 80) + "!"},
	{`(?=a)(?:a*)*(?:a*)*c`, strings.Repeat("a", 40_000)},
	{`(.*)\1(.*)\2x`, strings.Repeat("ab", 8000)},
	{`\b(?:\w+\s?)+\b$`, strings.Repeat("é", 60) + "!"},
	{`(?!b)x`, strings.Repeat("a", 10<<20)},
	{`(?:a?){900}b`, strings.Repeat("a", 100_000)},
	{`(?:[\pL\pN]*[\pL\pM]*){400}7`, strings.Repeat("é", 10_000)},
	{`[^x]*[^y]*[^z]*7$`, strings.Repeat("k", 1<<20)},
}

// mayTake is what a match may take that is given up after patternTime, on a busy machine.
const mayTake = 50 * patternTime

// TestHostilePatterns: no pattern and no text holds an evaluation (evaluation.md §4.6). Each
// match that is given up counts, and the first of each pattern is told of.
func TestHostilePatterns(t *testing.T) {
	for _, h := range hostilePatterns {
		b := regexpBuilder{timeouts: new(patternTimeouts)}
		told := 0
		f := func(source string) {
			if told++; source != h.source {
				t.Errorf("told of %q, want %q", source, h.source)
			}
		}
		b.timeouts.onTimeout.Store(&f)
		m, err := b.compilePattern(h.source, nil)
		if err != nil {
			t.Fatalf("%q: %v", h.source, err)
		}
		fastest, tries := time.Hour, uint64(0)
		for ; tries < 2 || fastest > 4*patternTime && tries < 50; tries++ { // the machine may be busy
			start := time.Now()
			if m.MatchString(h.text) {
				t.Errorf("%q matches", h.source)
			}
			fastest = min(fastest, time.Since(start))
		}
		if fastest > 4*patternTime {
			t.Errorf("%q on %d bytes takes %v", h.source, len(h.text), fastest)
		}
		if n := b.timeouts.count.Load(); n != tries || told != 1 {
			t.Errorf("%q on %d bytes: %d of %d matches were given up, told %d times; want all, told once", h.source, len(h.text), n, tries, told)
		}
	}
}

// TestHostilePatternsCompile: no pattern takes long to compile.
func TestHostilePatternsCompile(t *testing.T) {
	for _, source := range []string{
		strings.Repeat("(", 2000) + strings.Repeat(")", 2000), strings.Repeat("[", 2000) + strings.Repeat("]", 2000), strings.Repeat("(?=", 49) + strings.Repeat("(?i:ab|cd|ef)", 60) + strings.Repeat(")", 49),
		strings.Repeat("[a~~", 49) + "b" + strings.Repeat("]", 49), strings.Repeat(`\b`, 500), strings.Repeat(`\b`, 120), strings.Repeat(`[\w&&\pL]`, 90), strings.Repeat("(?i:ab|cd|ef)", 76) + "(?=a)",
		strings.Repeat("(?>(?:a|", 24) + strings.Repeat("))", 24), strings.Repeat(`\pL`, 1300), strings.Repeat("(ab|cd){0,1000}", 270), strings.Repeat("(?:a{1000}){1000}", 2), "(?=a)" + strings.Repeat("(?:", 40) + "a" + strings.Repeat("){999}", 40),
		strings.Repeat("[a[b[c~~d]]]", 80), strings.Repeat("(?<=a+", 49) + strings.Repeat(")", 49),
	} {
		start := time.Now()
		_, err := compileOne(source)
		if d := time.Since(start); d > 2*time.Second {
			t.Errorf("%.30q… takes %v to compile: %v", source, d, err)
		}
	}
}

// FuzzPattern: no pattern and no text makes anything panic, or takes long, and both engines
// decide the same.
func FuzzPattern(f *testing.F) {
	for _, v := range patternVectors(f) {
		f.Add(v.Pattern, strings.Join(append(v.Yes, v.No...), " "))
	}
	for _, h := range hostilePatterns {
		f.Add(h.source, h.text[:min(len(h.text), 100)])
	}
	f.Fuzz(func(t *testing.T, source, text string) {
		if len(text) > 4<<10 || !utf8.ValidString(source) || !utf8.ValidString(text) {
			return
		}
		start := time.Now()
		m, err := compileOne(source)
		if d := time.Since(start); d > 3*time.Second {
			t.Fatalf("%q takes %v to compile", source, d)
		}
		if err != nil {
			return
		}
		for _, s := range []string{text, strings.Repeat(text, 100)} {
			start = time.Now()
			m.MatchString(s)
			if d := time.Since(start); d > mayTake {
				t.Fatalf("%q on %d bytes takes %v", source, len(s), d)
			}
		}
		decided := engines(t, source, text)
		if a, ok := decided["regexp"]; ok {
			if b, ok := decided["regexp2"]; ok && a != b {
				t.Fatalf("%q on %q: %v", source, text, decided)
			}
		}
	})
}

// TestLongTexts: a text that is long for its pattern is matched as a short one is.
func TestLongTexts(t *testing.T) {
	const source = `^(?:[a-z]+\.){3}[0-9]+é$`
	m, err := compileOne(source)
	if err != nil {
		t.Fatal(err)
	}
	re := regexp.MustCompile(source)
	for _, n := range []int{10, 10_000, 60_000} {
		text := strings.Repeat("a.", 2) + strings.Repeat("b", n) + ".5é"
		start := time.Now()
		if re.MatchString(text); time.Since(start) > patternTime/3 {
			continue // the race detector, or a busy machine
		}
		matches := false
		for range 10 {
			matches = matches || m.MatchString(text)
		}
		if !matches || m.MatchString(text+"x") {
			t.Errorf("a text of %d bytes is matched otherwise", len(text))
		}
	}
}

// TestPatternClockEnds: the goroutine that keeps the time of slow matches ends by itself.
func TestPatternClockEnds(t *testing.T) {
	m, err := compileOne(`(?=b)b`)
	if err != nil || !m.MatchString("ab") {
		t.Fatalf("no match, %v", err)
	}
	const clock = "regexp2/v2.runClock"
	running := func() bool {
		b := make([]byte, 1<<20)
		return strings.Contains(string(b[:runtime.Stack(b, true)]), clock)
	}
	if !running() {
		t.Fatalf("no goroutine %s: see what regexp2 has instead", clock)
	}
	tick, late := time.NewTicker(50*time.Millisecond), time.After(30*time.Second)
	defer tick.Stop()
	for running() {
		select {
		case <-tick.C:
		case <-late:
			t.Fatal("the goroutine still runs after 30 s")
		}
	}
}

// TestPatternTimeoutsOfEvaluator: the count outlives the Snapshot, whether the next one was
// compiled from it or not.
func TestPatternTimeoutsOfEvaluator(t *testing.T) {
	document := func(name string) *Definitions {
		d, err := Decode(strings.NewReader(fmt.Sprintf(`{"flags":[{"id":1,"key":"f","name":%q,"active":true,"filters":{"groups":[{"properties":
			[{"key":"a","type":"person","operator":"regex","value":"^(?=(a|aa)+$)"}]}]}}]}`, name)))
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	var e Evaluator
	var told []string
	e.OnPatternTimeout(func(source string) { told = append(told, source) })
	r := &Request{DistinctID: "u", PersonProperties: map[string]any{"a": strings.Repeat("a", 60) + "!"}}
	var previous *Snapshot
	for i, fresh := range []bool{true, false, true} {
		o := CompileOptions{Previous: previous}
		if fresh {
			o.Previous = nil
		}
		s, err := Compile(document(fmt.Sprint(i)), o)
		if err != nil {
			t.Fatal(err)
		}
		e.Swap(s)
		previous = s
		if e.Bool("f", r, true) {
			t.Error("the flag is on")
		}
		if n := e.PatternTimeouts(); n != uint64(i+1) {
			t.Errorf("%d matches were given up, want %d", n, i+1)
		}
	}
	if e.Swap(nil); e.PatternTimeouts() != 3 || len(told) == 0 || told[0] != "^(?=(a|aa)+$)" {
		t.Errorf("%d matches, told of %q", e.PatternTimeouts(), told)
	}
	e.OnPatternTimeout(nil)
	if (*Evaluator)(nil).PatternTimeouts() != 0 {
		t.Error("a nil Evaluator counts")
	}
}
