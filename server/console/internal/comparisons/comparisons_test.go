package comparisons_test

import (
	"slices"
	"testing"

	"github.com/flagstaff-go/flagstaff/internal/operators"
	"github.com/flagstaff-go/flagstaff/server/console/internal/comparisons"
)

// TestOperators holds forms to the operators that there are.
func TestOperators(t *testing.T) {
	kinds := map[operators.Kind]string{operators.PropertyFilter: "person", operators.CohortFilter: "cohort", operators.FlagFilter: "flag"}
	want := make(map[string][]string)
	for o := range operators.All() {
		want[kinds[o.For]] = append(want[kinds[o.For]], o.Name)
	}
	for _, kind := range kinds {
		var got []string
		for _, list := range comparisons.All(kind) {
			for _, o := range list {
				got = append(got, o.Name)
			}
		}
		slices.Sort(got)
		slices.Sort(want[kind])
		if !slices.Equal(got, want[kind]) {
			t.Errorf("operators of a %s: %q, want %q", kind, got, want[kind])
		}
	}
}
