package vet_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/vet"
)

var now = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

// definitions are the flags of the programs in testdata.
func definitions(t *testing.T) *vet.Definitions {
	t.Helper()
	d, err := vet.OpenDefinitions(filepath.Join("testdata", "flags.json"))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// A wish is a finding that a comment wants: // want `regexp`…
type wish struct {
	file string
	line int
	text *regexp.Regexp
	met  bool
}

// wishes returns what the files in testdata want.
func wishes(t *testing.T) (list []*wish) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join("testdata", "internal", "*", "*.go"))
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		line := 0
		for source := range strings.Lines(string(text)) {
			line++
			_, rest, _ := strings.Cut(strings.TrimSpace(source), "// want ")
			for rest != "" {
				quoted, err := strconv.QuotedPrefix(rest)
				if err != nil {
					t.Fatalf("%s:%d: %q: %v", name, line, rest, err)
				}
				pattern, _ := strconv.Unquote(quoted)
				list = append(list, &wish{file: name, line: line, text: regexp.MustCompile(pattern)})
				rest = strings.TrimSpace(rest[len(quoted):])
			}
		}
	}
	return list
}

// TestRules compares what is found in the programs in testdata with what their comments
// want, and nothing else may be found.
func TestRules(t *testing.T) {
	findings, err := vet.Run(t.Context(), vet.Options{Definitions: definitions(t), Config: &vet.Config{Unused: true}, Now: now}, "./testdata/internal/...")
	if err != nil {
		t.Fatal(err)
	}
	list := wishes(t)
	var flagsAlone []string
	for _, f := range findings {
		if f.File == "" {
			flagsAlone = append(flagsAlone, f.String())
			continue
		}
		found := false
		for _, w := range list {
			if !w.met && w.file == f.File && w.line == f.Line && w.text.MatchString(f.String()) {
				w.met, found = true, true
				break
			}
		}
		if !found {
			t.Errorf("nobody wants %v", f)
		}
	}
	for _, w := range list {
		if !w.met {
			t.Errorf("%s:%d: nothing is like %s", w.file, w.line, w.text)
		}
	}
	want := []string{`no code reads flag "never-read"; 6 calls have keys that are not constant [unused-flag]`}
	if diff := cmp.Diff(want, flagsAlone); diff != "" {
		t.Errorf("flags that no code reads: -want +got\n%s", diff)
	}
}

// TestConfigApplies switches rules off, changes severities, and ignores findings by rule,
// key and path until a day.
func TestConfigApplies(t *testing.T) {
	c, err := vet.ReadConfig([]byte(`
rules: {unknown-key: warning, wrong-type: off, missing-context: off, unused-handle: off, archived: error}
ignore:
  - {rule: constant, reason: they go in May, until: 2026-11-23}
  - {rule: unknown-variant, path: testdata/internal/shop, reason: elsewhere}
  - {key: new-chek*, reason: it comes}
  - {key: dark, reason: it was to come, until: 2026-11-21}
`))
	if err != nil {
		t.Fatal(err)
	}
	o := vet.Options{Definitions: definitions(t), Config: c, Now: now}
	findings, err := vet.Run(t.Context(), o, "./testdata/internal/shop")
	if err != nil {
		t.Fatal(err)
	}
	counts := make(map[string]int)
	for _, f := range findings {
		counts[f.Severity.String()+" "+string(f.Rule)]++
	}
	// Of the two switches, one is over a handle of a package that was not asked for.
	want := map[string]int{"warning unknown-key": 26, "warning payload-member": 6, "error missing-variant": 2, "error archived": 1, "warning inactive": 1, "error expired": 1}
	if diff := cmp.Diff(want, counts); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	for _, f := range findings {
		if f.Rule == vet.Expired && (f.Line != 7 || f.Message != "an entry of the ignore list has expired on 2026-11-21: it was to come") {
			t.Errorf("got %+v", f)
		}
	}
}

func TestReadConfig(t *testing.T) {
	got, err := vet.ReadConfig([]byte("url: https://flags.example.com\nproject: \"2\"\ntests: true\nrules:\n  inactive: off\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := &vet.Config{URL: "https://flags.example.com", Project: "2", Tests: true, Severity: map[vet.Rule]flags.Severity{}, Off: map[vet.Rule]bool{vet.Inactive: true}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	for text, want := range map[string]string{
		"":                                       "",
		"# nothing":                              "",
		"flag: a":                                `line 1: there is no member "flag"; did you mean "flags"?`,
		"[]":                                     `line 1: want the members flags, url, project, tests, unused, rules, ignore`,
		"flags: a\nurl: b":                       `want flags or url, not both`,
		"rules: {constnat: off}":                 `rules: there is no rule "constnat"; did you mean "constant"?`,
		"rules: {constant: maybe}":               `rules: constant: invalid value "maybe": want error, warning or off`,
		"ignore: [{reason: a}]":                  `line 1: an entry that ignores everything: want at least one of rule, key and path`,
		"ignore:\n- {key: a}":                    `line 2: an entry without a reason: want reason: why this is ignored`,
		"ignore: [{key: a, reason: b, untl: c}]": `line 1: there is no member "untl"; did you mean "until"?`,
		"ignore: [{key: a, reason: b, until: soon}]": `line 1: until: invalid value "soon": want a date such as 2027-05-31`,
		"ignore: [{rule: all, reason: b}]":           `line 1: there is no rule "all"; want one of unknown-key, wrong-type, unknown-variant, missing-variant, payload-member, archived, inactive, constant, missing-context, unused-handle, unused-flag, expired`,
		"tests: perhaps":                             "line 1: cannot unmarshal !!str `perhaps` into bool",
		"rules: {":                                   "line 1: did not find expected node content",
	} {
		_, err := vet.ReadConfig([]byte(text))
		if got := message(err); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func FuzzReadConfig(f *testing.F) {
	f.Add([]byte("ignore:\n  - {rule: constant, key: 'a*', reason: b, until: 2026-01-01}\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := vet.ReadConfig(text)
		if (c == nil) == (err == nil) {
			t.Errorf("%v, %v", c, err)
		}
	})
}

func TestReadDefinitionsRefuses(t *testing.T) {
	for document, want := range map[string]string{
		`{"flags":{}}`: "vet: this is a manifest of OpenFeature, which does not say what flags do: want a definitions document",
		`[]`:           `flags: definitions must be a JSON object with an array "flags", not an array`,
	} {
		if _, err := vet.ReadDefinitions([]byte(document)); message(err) != want {
			t.Errorf("%s: %v, want %s", document, err, want)
		}
	}
}
