package normal

import (
	"bytes"
	"encoding/json"
	"reflect"

	"github.com/flagstaff-go/flagstaff/flags"
)

// Filters returns filters in their normal form. What somebody else has stored, and
// what is not JSON, is shown as no filters.
func Filters(f *flags.Filters) json.RawMessage {
	b, err := f.Normal()
	return valid(f.Err(), b, err)
}

// Shown returns filters with all that they have, as clients see them.
func Shown(f *flags.Filters) json.RawMessage {
	b, err := f.Encode()
	return valid(f.Err(), b, err)
}

// valid returns JSON, and {} for what is not, which only what cannot be understood may be.
func valid(fault error, b []byte, err error) json.RawMessage {
	if err != nil || fault != nil && !json.Valid(b) {
		return json.RawMessage("{}")
	}
	return b
}

// Criteria returns the filters of a cohort, {"properties": …} with its tree, as
// Filters does.
func Criteria(tree *flags.CohortNode) json.RawMessage {
	b, err := tree.Normal()
	return valid((&flags.Cohort{Properties: tree}).Err(), b, err)
}

// ShownCriteria is Shown for the filters of a cohort.
func ShownCriteria(tree *flags.CohortNode) json.RawMessage {
	b, err := tree.Encode()
	return valid((&flags.Cohort{Properties: tree}).Err(), b, err)
}

// LoggedFilters and LoggedCriteria are filters and trees for the activity log. Nil is
// shown as null.
type (
	LoggedFilters  struct{ *flags.Filters }
	LoggedCriteria struct{ *flags.CohortNode }
)

// JSON implements field.Model.
func (f LoggedFilters) JSON() json.RawMessage {
	if f.Filters == nil {
		return nil
	}
	return Filters(f.Filters)
}

// Same implements field.Comparable.
func (f LoggedFilters) Same(other any) bool {
	o := other.(LoggedFilters)
	return f.Filters == o.Filters || f.Filters != nil && o.Filters != nil && SameFilters(f.Filters, o.Filters)
}

// Same implements field.Comparable.
func (c LoggedCriteria) Same(other any) bool {
	o := other.(LoggedCriteria)
	return SameCriteria(c.CohortNode, o.CohortNode)
}

// JSON implements field.Model.
func (c LoggedCriteria) JSON() json.RawMessage {
	if c.CohortNode == nil {
		return nil
	}
	return Criteria(c.CohortNode)
}

// SameFilters reports whether filters have the same normal form.
func SameFilters(a, b *flags.Filters) bool {
	return reflect.DeepEqual(a, b) || bytes.Equal(Filters(a), Filters(b))
}

// SameCriteria reports whether trees have the same normal form.
func SameCriteria(a, b *flags.CohortNode) bool {
	return reflect.DeepEqual(a, b) || bytes.Equal(Criteria(a), Criteria(b))
}
