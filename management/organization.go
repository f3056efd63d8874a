package management

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
)

var (
	// ErrNotFound says that there is no such thing.
	ErrNotFound = errors.New("management: not found")

	// ErrConflict says that a value that must be unique is taken.
	ErrConflict = errors.New("management: already exists")
)

// An Organization is who owns projects, and whose usage is counted.
type Organization struct {
	ID      uuid.UUID
	Name    string // at most 64 characters
	Slug    string // unique; lower-case letters, digits, - and _; at most 48
	Created time.Time
	Updated time.Time
}

// A Project has flags, events and persons of its own.
type Project struct {
	ID           int64 // given by the store
	UUID         uuid.UUID
	Organization uuid.UUID
	Name         string // at most 200 characters

	// APIKey is the project API key, phc_ and so on. It is public.
	APIKey string

	// SecretHash is the hash of the project secret key, see [HashKey]. Empty:
	// there is none.
	SecretHash string

	// Timezone is the zone of dates without one, as "Europe/Zurich".
	Timezone string

	// AnonymizeIPs says that events must not keep the client's address.
	AnonymizeIPs bool

	// IngestedEvent is true once an event was captured.
	IngestedEvent bool

	Created time.Time
	Updated time.Time
}

// An OrganizationStore keeps organizations and projects. It is safe for
// concurrent use.
type OrganizationStore interface {
	// CreateFirst stores an organization with its first project, if there is
	// no organization yet, and reports whether there was none. It sets the
	// project's ID. Of several processes that call it at once only one
	// succeeds.
	CreateFirst(ctx context.Context, o *Organization, p *Project) (bool, error)

	// CreateOrganization and CreateProject store one more. The error is
	// ErrConflict if an ID, a slug or an API key is taken, and ErrNotFound if
	// a project's organization does not exist. CreateProject sets the ID.
	CreateOrganization(ctx context.Context, o *Organization) error
	CreateProject(ctx context.Context, p *Project) error

	// Organizations and Projects return all, in order of creation.
	Organizations(ctx context.Context) ([]Organization, error)
	Projects(ctx context.Context) ([]Project, error)

	// Project returns the project with an API key, or ErrNotFound.
	Project(ctx context.Context, apiKey string) (*Project, error)
}

// A CohortStore keeps who is a member of static cohorts: those that are lists of
// persons and cannot be computed from properties (evaluation.md §5.4). It is
// safe for concurrent use.
type CohortStore interface {
	// AddCohortMembers makes the persons with the distinct IDs members of a
	// cohort and returns how many were not members before. Distinct IDs that
	// nobody has get a person, so that nothing of a list is lost.
	AddCohortMembers(ctx context.Context, project, cohort int64, distinctIDs []string) (int, error)

	// RemoveCohortMembers takes persons out of a cohort and returns how many
	// were members.
	RemoveCohortMembers(ctx context.Context, project, cohort int64, distinctIDs []string) (int, error)

	// AppendCohorts appends the IDs of the cohorts that the person with a
	// distinct ID is a member of, in ascending order.
	AppendCohorts(ctx context.Context, dst []int64, project int64, distinctID string) ([]int64, error)
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
