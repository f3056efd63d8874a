package operators_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/internal/operators"
)

// TestOperators compares the table with evaluation.md §4.2: the names, their
// order, and what each operator is for.
func TestOperators(t *testing.T) {
	want := map[operators.Kind]string{
		operators.PropertyFilter: "exact is_not is_set is_not_set icontains not_icontains icontains_multi not_icontains_multi " +
			"starts_with not_starts_with ends_with not_ends_with regex not_regex gt gte lt lte between not_between " +
			"is_date_exact is_date_before is_date_after semver_eq semver_neq semver_gt semver_gte semver_lt semver_lte " +
			"semver_tilde semver_caret semver_wildcard",
		operators.CohortFilter: "in not_in",
		operators.FlagFilter:   "flag_evaluates_to",
	}
	got := make(map[operators.Kind]string)
	last := operators.PropertyFilter
	for o := range operators.All() {
		if o.For < last {
			t.Errorf("%s is for kind %d, after operators for kind %d", o.Name, o.For, last)
		}
		last = o.For
		got[o.For] = strings.TrimSpace(got[o.For] + " " + o.Name)
		if named, ok := operators.Named(o.Name); !ok || named.Name != o.Name {
			t.Errorf("OperatorNamed(%q) = %+v, %v; want %+v", o.Name, named, ok, o)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("operators by kind of filter (-want +got):\n%s", diff)
	}
	for _, name := range []string{"", "EXACT", "unsupported"} {
		if o, ok := operators.Named(name); ok {
			t.Errorf("OperatorNamed(%q) = %+v, want none", name, o)
		}
	}
}

// TestKindOf is the table of types of evaluation.md §1.5.
func TestKindOf(t *testing.T) {
	for _, tt := range []struct {
		types string
		want  operators.Kind
	}{
		{"person person_metadata group", operators.PropertyFilter},
		{"cohort", operators.CohortFilter},
		{"flag", operators.FlagFilter},
		{"event behavioral hogql static-cohort Person", operators.UnknownFilter},
	} {
		for name := range strings.FieldsSeq(tt.types) {
			if got := operators.KindOf(name); got != tt.want {
				t.Errorf("a filter of type %q has kind %d, want %d", name, got, tt.want)
			}
		}
	}
	if got := operators.KindOf(""); got != operators.PropertyFilter {
		t.Errorf("a filter without type has kind %d, want that of a property", got)
	}
}
