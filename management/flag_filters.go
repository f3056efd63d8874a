package management

import (
	"encoding/json"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/normal"
	"github.com/flagstaff-go/flagstaff/management/field"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// A shownFilters is filters as the activity log sees them (management.md §13.5).
type shownFilters struct{ flags.Filters }

// JSON implements field.Model.
func (s shownFilters) JSON() json.RawMessage { return normal.Shown(&s.Filters) }

// Same implements field.Comparable: filters that say the same in another way are no
// change.
func (s shownFilters) Same(other any) bool {
	o := other.(shownFilters)
	return normal.SameFilters(&s.Filters, &o.Filters) && sameJSON(s.JSON(), o.JSON())
}

// saidFields is the table of a flag that has what its filters say, however they are written.
func saidFields(f *storage.Flag) field.Table {
	table := flagFields(f, f.Filters, nil)
	for i := range table {
		if table[i].Attr == "filters" {
			table[i] = table[i].LoggedAs(normal.LoggedFilters{Filters: &f.Filters})
		}
	}
	return table
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
	f = f.Merge(&flags.Filters{FeatureEnrollment: &on}) // which replaces the older form, too
	if !on {
		f.FeatureEnrollment = nil
	}
	return f
}
