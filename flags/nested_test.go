package flags_test

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/flags/internal/dialect"
)

// nestedFlag compiles a boolean flag with one rule with filters, whose default is false.
func nestedFlag(t *testing.T, filters string) *flags.Snapshot {
	t.Helper()
	return compiled(t, fmt.Sprintf(`{"group_type_mapping": {"0": "org"}, "cohorts": {"7": {"type": "AND", "values": [
		{"key": "plan", "type": "person", "operator": "exact", "value": "Pro", "case_sensitive": true},
		{"key": "home", "type": "person", "operator": "exact", "value": "Rome", "path": "/city"}]}},
	"flags": [{"id": 1, "key": "f", "active": true, "filters": {"version": 2, "return_type": "boolean", "default_value": false,
		"rules": [{"rule_type": "targeted_release", "value": true, "targeting": {"properties": [%s]}}]}}]}`, filters))
}

// TestNestedFilters has the rules of rules.md §9.3, as both evaluators have them.
func TestNestedFilters(t *testing.T) {
	const (
		pro   = `{"key": "plan", "type": "person", "value": "pro"}`
		rome  = `{"key": "city", "type": "person", "value": "rome"}`
		half  = `{"type": "split", "split": {"hash": "crc32", "modulus": "100", "suffix": "x", "ends": ["50"], "values": [true], "rest": "continue", "no_subject": "continue"}}`
		upper = `{"type": "split", "split": {"hash": "crc32", "modulus": "100", "suffix": "x", "ends": ["50", "100"], "values": [false, true], "rest": "last", "no_subject": "first"}}`
	)
	people := []*flags.Request{
		{DistinctID: "a", PersonProperties: map[string]any{"plan": "pro", "city": "rome"}},
		{DistinctID: "b", PersonProperties: map[string]any{"plan": "pro"}},
		{DistinctID: "c", PersonProperties: map[string]any{"city": "rome"}},
		{DistinctID: "d"},
	}
	for _, test := range []struct{ filter, want string }{
		{`{"type": "all", "filters": []}`, "abcd"},
		{`{"type": "any", "filters": []}`, ""},
		{`{"type": "any", "filters": [], "negation": true}`, "abcd"},
		{`{"type": "all", "filters": [` + pro + `,` + rome + `]}`, "a"},
		{`{"type": "all", "filters": [` + pro + `,` + rome + `], "negation": true}`, "bcd"},
		{`{"type": "any", "filters": [` + pro + `,` + rome + `]}`, "abc"},
		{`{"type": "any", "filters": [` + pro + `,` + rome + `], "negation": true}`, "d"},
		{`{"type": "all", "filters": [{"type": "any", "filters": [` + pro + `,` + rome + `]}, {"type": "all", "negation": true, "filters": [` + pro + `]}]}`, "c"},
		{`{"type": "any", "filters": [{"key": "plan", "type": "person", "value": "pro", "negation": true}]}`, "cd"},
		{half, "acd"},
		{upper, "b"},
		{`{"type": "any", "filters": [` + half + `,` + upper + `]}`, "abcd"},
		{`{"type": "all", "filters": [` + pro + `,` + half + `]}`, "a"},
		{`{"type": "cohort", "key": "id", "value": 7, "operator": "in"}`, ""},
		{`{"type": "any", "filters": [{"type": "cohort", "key": "id", "value": 7, "operator": "not_in"}]}`, "abcd"},
	} {
		s := nestedFlag(t, test.filter)
		var got strings.Builder
		for _, r := range people {
			all, _ := s.Evaluate(r).Get("f")
			if one := s.Bool("f", r, false); one != all.Enabled {
				t.Errorf("%s: %s: the evaluators differ", test.filter, r.DistinctID)
			} else if one {
				got.WriteString(r.DistinctID)
			}
		}
		if got.String() != test.want {
			t.Errorf("%s holds for %q, want %q", test.filter, got.String(), test.want)
		}
	}
}

// TestPathsInCohorts has comparisons of leaves of cohorts (rules.md §9.2).
func TestPathsInCohorts(t *testing.T) {
	s := nestedFlag(t, `{"type": "cohort", "key": "id", "value": 7}`)
	for _, test := range []struct {
		plan string
		home any
		want bool
	}{
		{"Pro", map[string]any{"city": "rome"}, true},
		{"pro", map[string]any{"city": "rome"}, false},
		{"Pro", map[string]any{"City": "rome"}, false},
		{"Pro", map[string]any{"city": map[string]any{}}, false},
		{"Pro", "rome", false},
		{"Pro", nil, false},
	} {
		r := &flags.Request{DistinctID: "a", PersonProperties: map[string]any{"plan": test.plan, "home": test.home}}
		if got := s.Bool("f", r, false); got != test.want {
			t.Errorf("%v %v: %t, want %t", test.plan, test.home, got, test.want)
		}
	}
}

// TestNestedFilterFaults has what is wrong with such filters, and where.
func TestNestedFilterFaults(t *testing.T) {
	deep := `{"key": "a", "type": "person", "value": 1}`
	for range 21 {
		deep = `{"type": "all", "filters": [` + deep + `]}`
	}
	for _, test := range []struct{ filter, path, code string }{
		{`{"type": "all"}`, "/filters", "required"},
		{`{"type": "all", "filters": [], "key": "a"}`, "/key", "unknown_field"},
		{`{"type": "any", "filters": [{"type": "person", "key": "a"}]}`, "", ""},
		{`{"type": "any", "filters": [{"type": "person", "key": ""}]}`, "/filters/0/key", "invalid"},
		{`{"type": "split"}`, "/split", "required"},
		{`{"type": "split", "split": {"hash": "crc32", "ends": ["1"], "values": ["a"], "rest": "last", "no_subject": "first"}}`, "/split/values/0", "invalid"},
		{`{"type": "split", "split": {"hash": "crc32", "ends": ["1"], "values": [true], "rest": "last", "no_subject": "first", "path": "/a"}}`, "/split/path", "invalid"},
		{`{"type": "person", "key": "a", "value": 1, "path": "a"}`, "/path", "invalid"},
		{`{"type": "person", "key": "a", "operator": "in", "value": 1, "dialect": "klingon"}`, "/dialect", "invalid"},
		{`{"type": "cohort", "key": "id", "value": 1, "path": "/a"}`, "/path", "invalid"},
		{deep, strings.Repeat("/filters/0", 20), "limit_exceeded"},
	} {
		document := `{"version": 2, "return_type": "boolean", "default_value": null, "rules": [{"id": "11111111-1111-4111-8111-111111111111",
			"rule_type": "targeted_release", "value": true, "targeting": {"properties": [` + test.filter + `]}}]}`
		set, err := flags.DecodeRuleSet([]byte(document), false)
		if fault, ok := err.(*flags.RuleFault); ok {
			if want := "/rules/0/targeting/properties/0" + test.path; fault.Path != want || fault.Code != test.code {
				t.Errorf("%s: %s at %s, want %s at %s", test.filter, fault.Code, fault.Path, test.code, want)
			}
			continue
		}
		if test.code != "" {
			t.Errorf("%s is read", test.filter)
			continue
		}
		filters := flags.Filters{Version: 2, RuleSet: set}
		if again, err := filters.Encode(); err != nil || !json.Valid(again) {
			t.Errorf("%s: %s, %v", test.filter, again, err)
		}
	}
}

// TestDialectsOfTheSchema: the schema for editors has the dialects that there are.
func TestDialectsOfTheSchema(t *testing.T) {
	text, err := os.ReadFile("../schema/flags.json")
	if err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Defs struct {
			Filter struct {
				Properties struct{ Dialect struct{ Enum []*string } }
			} `json:"rulecomparison"`
		} `json:"$defs"`
	}
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, name := range schema.Defs.Filter.Properties.Dialect.Enum {
		if name != nil {
			got = append(got, *name)
		}
	}
	if !slices.Equal(got, dialect.Names()) {
		t.Errorf("the schema has the dialects %q, want %q", got, dialect.Names())
	}
}
