package targeting_test

import (
	"slices"
	"testing"

	"github.com/flagstaff-go/flagstaff/internal/operators"
	"github.com/flagstaff-go/flagstaff/server/console/shell/targeting"
)

// TestOperators holds the form to the operators that there are.
func TestOperators(t *testing.T) {
	kinds := map[operators.Kind]string{operators.PropertyFilter: "person", operators.CohortFilter: "cohort", operators.FlagFilter: "flag"}
	want := make(map[string][]string)
	for o := range operators.All() {
		want[kinds[o.For]] = append(want[kinds[o.For]], o.Name)
	}
	for _, kind := range kinds {
		got := targeting.OperatorNames(kind)
		slices.Sort(got)
		slices.Sort(want[kind])
		if !slices.Equal(got, want[kind]) {
			t.Errorf("operators of a %s: %q, want %q", kind, got, want[kind])
		}
	}
}
