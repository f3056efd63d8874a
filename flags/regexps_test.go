package flags_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/flagstaff-go/flagstaff/flags"
)

// TestRuling43Regexps: a pattern is read as the dialect reads it, is invalid, or fails
// its flag; in a cohort as in a condition set (evaluation.md §4.6, §5.5).
func TestRuling43Regexps(t *testing.T) {
	const (
		no     = "false"
		yes    = "true"
		failed = "failed"
	)
	for _, tt := range []struct {
		name, pattern string
		property      any // nil: missing
		regex, not    string
		problem       bool
		cohort        string // for both operators in a cohort; "" for the same as in a condition set
	}{
		{"a boundary beside a letter", `\bcafé\b`, "un café noir", yes, no, false, ""},
		{"no boundary beside a letter", `\bpro\b`, "proé", no, yes, false, ""},
		{"letters that are not in the pattern", `^\bpro\b$`, "pro", yes, no, false, ""},
		{"a letter by its number", `^\u{e9}$`, "é", yes, no, false, ""},
		{"an intersection", `^[a-z&&[^p]]+$`, "pro", no, yes, false, ""},
		{"verbose", `(?x) p r o # all`, "pro", yes, no, false, ""},
		{"a property of Unicode", `^\p{Alphabetic}+$`, "Ⓐé", yes, no, false, ""},
		{"a boundary that RE2 does not have", `\b{start}pro`, "pro", failed, failed, true, ""},
		{"a count over 1,000", `a{1001}`, "a", failed, failed, true, ""},
		{"nested counts over 1,000", `(a{40}){40}`, "a", failed, failed, true, ""},
		{"CRLF mode", `(?R)^a$`, "a", failed, failed, true, ""},
		{"no Unicode", `(?-u)\w`, "a", failed, failed, true, ""},
		{"a word start that RE2 reads as a sign", `\<pro`, "<pro", failed, failed, true, ""},
		{"a property that is unknown", `\p{Emoji}`, "a", failed, failed, true, ""},
		{"invalid", `[\w-a]`, "a", no, no, true, ""},
		{"a quotation, which is invalid", `\Qa\E`, "a", no, no, true, ""},
		{"not supported, and the property is missing", `\b{start}pro`, nil, no, yes, true, failed}, // the tree is looked at before the property
		{"invalid, and the property is missing", `?*`, nil, no, yes, true, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			value, err := json.Marshal(tt.pattern)
			if err != nil {
				t.Fatal(err)
			}
			for operator, want := range map[string]string{"regex": tt.regex, "not_regex": tt.not} {
				filter := fmt.Sprintf(`{"key":"a","type":"person","operator":%q,"value":%s}`, operator, value)
				for _, c := range []struct{ where, want, document string }{
					{"condition", want, `{"flags":[{"id":1,"key":"f","active":true,"filters":{"groups":[{"properties":[` + filter + `]}]}}]}`},
					{"cohort", cmp.Or(tt.cohort, want), `{"flags":[{"id":1,"key":"f","active":true,"filters":{"groups":[{"properties":[{"key":"id","type":"cohort","value":3,"operator":"in"}]}]}}],
						"cohorts":{"3":{"type":"OR","values":[` + filter + `]}}}`},
				} {
					s := compiled(t, c.document)
					r := &flags.Request{DistinctID: "u"}
					if tt.property != nil {
						r.PersonProperties = map[string]any{"a": tt.property}
					}
					result, err := s.Flag("f", r)
					got := fmt.Sprint(result.Enabled)
					if result.Failed {
						got = failed
					}
					if err != nil || got != c.want {
						t.Errorf("%s in a %s: %s, %v; want %s", operator, c.where, got, err, c.want)
					}
					if n := slices.IndexFunc(s.Problems(), func(p flags.Problem) bool { return p.Severity == flags.Error }); (n >= 0) != tt.problem {
						t.Errorf("%s in a %s: problems %v, want an error: %v", operator, c.where, s.Problems(), tt.problem)
					}
				}
			}
		})
	}
}
