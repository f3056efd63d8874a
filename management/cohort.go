package management

import (
	"encoding/json"
	"time"
)

// A Cohort is a set of persons (management.md §13.10): a list if it is static,
// otherwise those who have the properties that Filters say.
type Cohort struct {
	ID          int64 // given by the store
	Project     int64
	Name        string
	Description string

	// Filters is {"properties": …} with a tree of evaluation.md §5.1, or nil.
	Filters json.RawMessage

	Static  bool
	Deleted bool

	// Count is how many persons were members when that was last counted, nil
	// if that is not known; Calculated is when that was, nil if it was not since
	// Filters have changed.
	Count      *int
	Calculated *time.Time

	CreatedBy *int64
	Created   time.Time
}
