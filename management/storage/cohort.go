package storage

import (
	"time"

	"github.com/flagstaff-go/flagstaff/flags"
)

// A Cohort is a set of persons (management.md §13.10): a list if it is static,
// otherwise the persons who meet the Criteria.
type Cohort struct {
	ID          int64 // given by the store
	Project     int64
	Name        string
	Description string

	// Criteria is the tree that decides which persons are members (evaluation.md
	// §5.1), or nil. It was judged. Copies of a Cohort share it, so it is replaced
	// and not changed.
	Criteria *flags.CohortNode

	Static  bool
	Deleted bool

	// Count is how many persons were members when that was last counted, nil
	// if that is not known; Calculated is when that was, nil if it was not since
	// Criteria have changed.
	Count      *int
	Calculated *time.Time

	CreatedBy *int64
	Created   time.Time
}
