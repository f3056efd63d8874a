package management

import (
	"context"
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

// A CohortStore keeps what cohorts are; who is on the lists of static ones is
// kept by a [CohortMemberStore].
type CohortStore interface {
	// Cohort returns a cohort of a project by ID, deleted or not.
	Cohort(ctx context.Context, project, id int64) (*Cohort, error)

	// Cohorts returns all cohorts of a project that are not deleted, by
	// ascending ID.
	Cohorts(ctx context.Context, project int64) ([]Cohort, error)

	// CohortsToCount returns the cohorts of all projects, by ascending ID of
	// project and cohort, that are not deleted and were not counted since a
	// time.
	CohortsToCount(ctx context.Context, since time.Time) ([]Cohort, error)

	CreateCohort(ctx context.Context, c *Cohort) error // sets the ID
	UpdateCohort(ctx context.Context, c *Cohort) error

	// SetCohortCount sets Count and Calculated and nothing else. Clients see
	// nothing of it: the project's version (see [ChangeStore]) does not grow.
	SetCohortCount(ctx context.Context, project, id int64, count *int, at time.Time) error
}
