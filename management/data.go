package management

import (
	"context"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/flags/subject"
)

// A DataStore has what was captured: persons, groups, and what they did with
// surveys.
type DataStore interface {
	subject.Store
	PersonStore
	CohortMemberStore
	SurveyEventStore
}

// A CohortMemberStore keeps who is a member of static cohorts: those that are lists of
// persons and cannot be computed from properties (evaluation.md §5.4). It is
// safe for concurrent use.
type CohortMemberStore interface {
	// AddCohortMembers makes the persons with the distinct IDs members of a
	// cohort and returns how many were not members before. Distinct IDs that
	// nobody has get a person, so that nothing of a list is lost.
	AddCohortMembers(ctx context.Context, project, cohort int64, distinctIDs []string) (int, error)

	// RemoveCohortMembers takes persons out of a cohort and returns how many
	// were members.
	RemoveCohortMembers(ctx context.Context, project, cohort int64, distinctIDs []string) (int, error)

	// AddCohortPersons and RemoveCohortPersons do the same for persons that
	// exist; others are left out.
	AddCohortPersons(ctx context.Context, project, cohort int64, persons []uuid.UUID) (int, error)
	RemoveCohortPersons(ctx context.Context, project, cohort int64, persons []uuid.UUID) (int, error)

	// CountCohort returns how many members a cohort has.
	CountCohort(ctx context.Context, project, cohort int64) (int, error)
}

// A UsageStore counts what organizations use. It is safe for concurrent use.
type UsageStore interface {
	// AddUsage adds n to a counter and returns its value, and the limit that
	// SetQuota has set for the resource, or -1 if there is none. Period is
	// what the counter is about, as "2026-11", or "" for all time.
	AddUsage(ctx context.Context, organization, resource, period string, n int64) (used, limit int64, err error)

	// SetQuota sets the limit of a resource for an organization. A negative
	// limit takes it away.
	SetQuota(ctx context.Context, organization, resource string, limit int64) error
}
