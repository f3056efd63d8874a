package management

import (
	"github.com/flagstaff-go/flagstaff/flags"
)

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
