package management

import (
	"bytes"
	"encoding/json"
	"reflect"

	"github.com/flagstaff-go/flagstaff/flags"
)

// filtersJSON returns filters in their normal form. What somebody else has stored, and
// what is no JSON, is shown as no filters.
func filtersJSON(f *flags.Filters) json.RawMessage {
	b, err := flags.AppendFilters(nil, f)
	if err != nil || f.Err() != nil && !json.Valid(b) {
		return json.RawMessage("{}")
	}
	return b
}

// criteriaJSON returns the filters of a cohort, {"properties": …} with its tree, as
// filtersJSON does.
func criteriaJSON(tree *flags.CohortNode) json.RawMessage {
	b, err := flags.AppendCohort(nil, tree)
	if err != nil || (&flags.Cohort{Properties: tree}).Err() != nil && !json.Valid(b) {
		return json.RawMessage("{}")
	}
	return b
}

// loggedFilters and loggedCriteria are filters and trees for the activity log.
type (
	loggedFilters  struct{ *flags.Filters }
	loggedCriteria struct{ *flags.CohortNode }
)

// JSON implements [field.Model].
func (f loggedFilters) JSON() json.RawMessage {
	if f.Filters == nil {
		return nil
	}
	return filtersJSON(f.Filters)
}

// JSON implements [field.Model].
func (c loggedCriteria) JSON() json.RawMessage {
	if c.CohortNode == nil {
		return nil
	}
	return criteriaJSON(c.CohortNode)
}

// sameFilters reports whether filters say the same.
func sameFilters(a, b *flags.Filters) bool {
	return reflect.DeepEqual(a, b) || bytes.Equal(filtersJSON(a), filtersJSON(b))
}

// sameCriteria reports whether trees say the same.
func sameCriteria(a, b *flags.CohortNode) bool {
	return reflect.DeepEqual(a, b) || bytes.Equal(criteriaJSON(a), criteriaJSON(b))
}

// withCohortNames returns filters as they are shown: with the name of each cohort that
// they refer to (management.md §13.4). A cohort that does not exist has none.
func withCohortNames(f flags.Filters, names map[int64]string) flags.Filters {
	for range f.CohortIDs() {
		f = f.Clone()
		break
	}
	for _, filter := range f.All() {
		if id, ok := filter.CohortID(); ok {
			filter.CohortName = names[id]
		}
	}
	return f
}

// withEnrollment returns filters with the mark for enrolment in an early access
// feature, or without it (management.md §13.9).
func withEnrollment(f flags.Filters, on bool) flags.Filters {
	f.FeatureEnrollment = nil
	if on {
		f.FeatureEnrollment = new(true)
	}
	return f
}
