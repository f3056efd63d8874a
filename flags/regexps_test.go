package flags_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/flagstaff-go/flagstaff/flags"
)

// TestRuling43Regexps: a pattern is read as the dialect reads it, or is invalid; in a cohort
// as in a condition set (evaluation.md §4.6).
func TestRuling43Regexps(t *testing.T) {
	for _, tt := range []struct {
		name, pattern string
		property      any // nil: missing
		regex, not    bool
		problem       bool
	}{
		{"a boundary beside a letter", `\bcafé\b`, "un café noir", true, false, false},
		{"no boundary beside a letter", `\bpro\b`, "proé", false, true, false},
		{"letters that are not in the pattern", `^\bpro\b$`, "pro", true, false, false},
		{"a letter by its number", `^\u{e9}$`, "é", true, false, false},
		{"an intersection", `^[a-z&&[^p]]+$`, "pro", false, true, false},
		{"verbose", `(?x) p r o # all`, "pro", true, false, false},
		{"a property of Unicode", `^\p{Alphabetic}+$`, "Ⓐé", true, false, false},
		{"look-ahead", `^(?!.*bot)`, "robot", false, true, false},
		{"a back-reference", `(.)\1`, "hello", true, false, false},
		{"a count over 1,000", `a{1001}`, "a", false, true, false},
		{"a boundary that we do not read", `\b{start}pro`, "pro", false, false, true},
		{"CRLF mode", `(?R)^a$`, "a", false, false, true},
		{"no Unicode", `(?-u)\w`, "a", false, false, true},
		{"invalid", `[\w-a]`, "a", false, false, true},
		{"a quotation, which is invalid", `\Qa\E`, "a", false, false, true},
		{"invalid, and the property is missing", `?*`, nil, false, true, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			value, err := json.Marshal(tt.pattern)
			if err != nil {
				t.Fatal(err)
			}
			for operator, want := range map[string]bool{"regex": tt.regex, "not_regex": tt.not} {
				filter := fmt.Sprintf(`{"key":"a","type":"person","operator":%q,"value":%s}`, operator, value)
				for _, c := range []struct{ where, document string }{
					{"condition", `{"flags":[{"id":1,"key":"f","active":true,"filters":{"groups":[{"properties":[` + filter + `]}]}}]}`},
					{"cohort", `{"flags":[{"id":1,"key":"f","active":true,"filters":{"groups":[{"properties":[{"key":"id","type":"cohort","value":3,"operator":"in"}]}]}}],
						"cohorts":{"3":{"type":"OR","values":[` + filter + `]}}}`},
				} {
					s := compiled(t, c.document)
					r := &flags.Request{DistinctID: "u"}
					if tt.property != nil {
						r.PersonProperties = map[string]any{"a": tt.property}
					}
					result, err := s.Flag("f", r)
					if err != nil || result.Failed || result.Enabled != want {
						t.Errorf("%s in a %s: %+v, %v; want %v", operator, c.where, result, err, want)
					}
					if n := slices.IndexFunc(s.Problems(), func(p flags.Problem) bool { return p.Severity == flags.SeverityError }); (n >= 0) != tt.problem {
						t.Errorf("%s in a %s: problems %v, want an error: %v", operator, c.where, s.Problems(), tt.problem)
					}
				}
			}
		})
	}
}

// TestPatternsDoNotAllocate: not those that package regexp decides, or no more than texts.
func TestPatternsDoNotAllocate(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	for _, pattern := range []string{`^.*@example\\.com$`, `@(acme|example|corp)\\.com$`, `^s.+`, `^\\w+@`, `\\bexample\\b`} {
		s := compiled(t, `{"flags":[{"id":1,"key":"f","active":true,"filters":{"groups":[{"properties":[{"key":"a","type":"person","operator":"regex","value":"`+pattern+`"}]}]}}]}`)
		r := &flags.Request{DistinctID: "u", PersonProperties: map[string]any{"a": "somebody@example.com"}}
		if !s.Bool("f", r, false) {
			t.Errorf("%q does not match", pattern)
		}
		if n := testing.AllocsPerRun(100, func() { s.Bool("f", r, false) }); n != 0 {
			t.Errorf("%q costs %v allocations, want 0", pattern, n)
		}
	}
}
