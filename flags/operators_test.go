package flags_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/flags"
)

// TestOperators compares the table with evaluation.md §4.2: the names, their
// order, and what each operator is for.
func TestOperators(t *testing.T) {
	want := map[flags.FilterKind]string{
		flags.PropertyFilter: "exact is_not is_set is_not_set icontains not_icontains icontains_multi not_icontains_multi " +
			"starts_with not_starts_with ends_with not_ends_with regex not_regex gt gte lt lte between not_between " +
			"is_date_exact is_date_before is_date_after semver_eq semver_neq semver_gt semver_gte semver_lt semver_lte " +
			"semver_tilde semver_caret semver_wildcard",
		flags.CohortFilter: "in not_in",
		flags.FlagFilter:   "flag_evaluates_to",
	}
	got := make(map[flags.FilterKind]string)
	last := flags.PropertyFilter
	for o := range flags.Operators() {
		if o.For < last {
			t.Errorf("%s is for kind %d, after operators for kind %d", o.Name, o.For, last)
		}
		last = o.For
		got[o.For] = strings.TrimSpace(got[o.For] + " " + o.Name)
		if named, ok := flags.OperatorNamed(o.Name); !ok || named.Name != o.Name {
			t.Errorf("OperatorNamed(%q) = %+v, %v; want %+v", o.Name, named, ok, o)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("operators by kind of filter (-want +got):\n%s", diff)
	}
	for _, name := range []string{"", "EXACT", "unsupported"} {
		if o, ok := flags.OperatorNamed(name); ok {
			t.Errorf("OperatorNamed(%q) = %+v, want none", name, o)
		}
	}
}

// TestOperands holds the kinds of operands to what Compile says about values.
func TestOperands(t *testing.T) {
	for _, tt := range []struct {
		name    string
		operand flags.Operand
		good    []string
		bad     []string // what can never match
	}{
		{"any", flags.OperandAny, []string{`"x"`, `1`, `["a",2]`, `{"a":1}`, `""`}, []string{`null`}},
		{"none", flags.OperandNone, []string{`null`, `"x"`, `[1]`}, nil},
		{"text", flags.OperandText, []string{`"x"`, `""`}, []string{`null`}},
		{"texts", flags.OperandTexts, []string{`["x","y"]`, `[]`}, []string{`null`}},
		{"number", flags.OperandNumber, []string{`1`, `-1.5e3`, `"1e3"`, `"inf"`}, []string{`null`, `"x"`, `true`, `[1]`}},
		{"range", flags.OperandRange, []string{`[1,2]`, `["1",2.5]`, `[1,1]`}, []string{`null`, `[2,1]`, `[1]`, `[1,2,3]`, `"1,2"`, `["a","b"]`}},
		{"date", flags.OperandDate, []string{`"2024-06-01"`, `"-7d"`, `"2024-06-01T12:00:00Z"`}, []string{`null`, `"soon"`, `20240601`}},
		{"version", flags.OperandVersion, []string{`"1.2.3"`}, []string{`null`, `"y"`, `"1.2.3.4.5-"`}},
		{"pattern", flags.OperandPattern, []string{`"^a+$"`, `""`}, []string{`null`, `"("`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			n := 0
			for o := range flags.Operators() {
				if o.Operand != tt.operand {
					continue
				}
				n++
				for _, value := range slices.Concat(tt.good, tt.bad) {
					s := compiled(t, fmt.Sprintf(`{"flags":[{"id":1,"key":"f","active":true,"filters":{"groups":[{"properties":[
						{"key":"a","type":"person","operator":%q,"value":%s}]}]}}]}`, o.Name, value))
					var problems []string
					for _, p := range s.Problems() {
						problems = append(problems, p.Error())
					}
					if wantProblem := slices.Contains(tt.bad, value); wantProblem != (len(problems) > 0) {
						t.Errorf("operator %s with value %s: problems %q, want some: %v", o.Name, value, problems, wantProblem)
					}
				}
			}
			if n == 0 {
				t.Error("no operator needs it")
			}
		})
	}
}

// TestFilterKind is the table of types of evaluation.md §1.5.
func TestFilterKind(t *testing.T) {
	for _, tt := range []struct {
		types string
		want  flags.FilterKind
	}{
		{"person person_metadata group", flags.PropertyFilter},
		{"cohort", flags.CohortFilter},
		{"flag", flags.FlagFilter},
		{"event behavioral hogql static-cohort Person", flags.UnknownFilter},
	} {
		for name := range strings.FieldsSeq(tt.types) {
			if got := (&flags.Filter{Type: name}).Kind(); got != tt.want {
				t.Errorf("a filter of type %q has kind %d, want %d", name, got, tt.want)
			}
		}
	}
	if got := new(flags.Filter).Kind(); got != flags.PropertyFilter {
		t.Errorf("a filter without type has kind %d, want that of a property", got)
	}
}
