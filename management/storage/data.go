package storage

import (
	"context"
	"encoding/json"
	"iter"
	"time"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/flags/subject"
)

// Data has captured data: persons, groups, and the members of static cohorts.
type Data interface {
	subject.Store
	Persons
	Events
	CohortMembers
}

// An EventFilter selects events. Empty fields select nothing away.
type EventFilter struct {
	Name       string
	DistinctID string
	Person     uuid.UUID // by all distinct IDs of the person
	After      time.Time // only later events
	Before     time.Time // only earlier events
}

// An EventPlace is the place of an event in a list of events by descending time. The
// zero EventPlace is before all of them.
type EventPlace struct {
	Time time.Time
	ID   int64 // by which a store tells events of the same time apart
}

// Events has the events that were captured. It is safe for concurrent use.
type Events interface {
	// FindEvents returns the first events that a filter selects after a place, by
	// descending time, at most limit, and the place where the next ones begin; the
	// zero EventPlace if there are no more. There may be fewer than limit and
	// still more to come, if events are large.
	FindEvents(ctx context.Context, project int64, f EventFilter, from EventPlace, limit int) ([]capture.Event, EventPlace, error)

	// AllEvents iterates over the events that a filter selects, in the order in which
	// they were stored. It reads them in parts of bounded size and holds nothing
	// between two parts, so that the caller may take long. An event that is stored
	// or deleted meanwhile may be there or not. An error is the last thing that it
	// yields; if ctx ends, it is the error of ctx.
	AllEvents(ctx context.Context, project int64, f EventFilter) iter.Seq2[capture.Event, error]

	// EventByUUID returns an event. If several events have the UUID, it is one of
	// the newest day among them.
	EventByUUID(ctx context.Context, project int64, id uuid.UUID) (*capture.Event, error)

	// PersonIDs returns the persons that have distinct IDs; IDs that nobody has are
	// not in the map.
	PersonIDs(ctx context.Context, project int64, distinctIDs []string) (map[string]uuid.UUID, error)

	// Index prepares some of the events that were stored before, and of the persons that an
	// earlier release has stored, to be found fast, and reports whether there may be more.
	// All events are found, prepared or not; such persons are not found by their names.
	Index(ctx context.Context) (more bool, err error)

	// DefineEvents reads some of the events that were stored before for Definitions, and
	// reports whether there may be more.
	DefineEvents(ctx context.Context) (more bool, err error)

	// Definitions returns a page of the definitions of a kind whose names have search in
	// them, whatever its case, by ascending name, and how many such definitions there are.
	Definitions(ctx context.Context, project int64, kind DefinitionKind, search string, limit, offset int) ([]Definition, int, error)

	// ExpireEvents deletes some of the events that a rule calls too old, with what they
	// say about surveys, and reports how many and whether there may be more. From then
	// on, events of their projects that are as old are neither stored nor have effects
	// when they come, until ExpireEvents is called with a rule that keeps them. A rule
	// with a time that is less than a day ago is an error.
	ExpireEvents(ctx context.Context, rule EventExpiry) (deleted int, more bool, err error)
}

// An EventExpiry says which events are too old: events of which the day, in UTC, was over
// before a time. The zero value keeps all.
type EventExpiry struct {
	Before   time.Time           // for all projects; zero: events are kept for ever
	Projects map[int64]time.Time // by project, where it is later than Before
}

// Of returns the time for a project, zero if its events are kept for ever.
func (e *EventExpiry) Of(project int64) time.Time {
	if t := e.Projects[project]; t.After(e.Before) {
		return t
	}
	return e.Before
}

// A PersonFilter selects persons. Empty fields select nothing away. Of Cohort, Named and
// Within at most one is set.
type PersonFilter struct {
	DistinctID string
	IDs        []uuid.UUID // nil: all
	Cohort     int64       // members of a static cohort
	Search     string      // beginning of a distinct ID
	Named      string      // part of the text that package names makes of the names
	Within     string      // part of a distinct ID, whatever the case of English letters
}

// Persons has the persons and groups that events have made. It is safe for
// concurrent use, and waits for no transaction of a [Store], since a transaction may
// be under way. The next /flags of this process sees what a Persons has changed.
type Persons interface {
	Person(ctx context.Context, project int64, id uuid.UUID) (*Person, error)
	PersonByDistinctID(ctx context.Context, project int64, distinctID string) (*Person, error)

	// Persons returns a page of the persons that a filter selects, newest
	// first, and how many it selects.
	Persons(ctx context.Context, project int64, f PersonFilter, limit, offset int) ([]Person, int, error)

	// PersonsBefore returns the newest ones of the persons that a filter selects
	// and that come after a person in the order of Persons, which goes by
	// descending ID; uuid.Max is before all of them. The person need not exist.
	PersonsBefore(ctx context.Context, project int64, f PersonFilter, before uuid.UUID, limit int) ([]Person, error)

	// AllPersons iterates over all persons of a project by ascending ID, each
	// once and with only the first of its distinct IDs. It reads them in parts
	// and holds nothing between two parts, so that it takes little memory, and
	// the caller may take long and ask the store for more. A person who comes,
	// goes, changes or is merged meanwhile may be there as before, as after,
	// or not at all. An error is the last thing that it yields, with a zero
	// Person; if ctx ends, it is the error of ctx.
	AllPersons(ctx context.Context, project int64) iter.Seq2[Person, error]

	// UpdatePerson sets and removes properties. The error is ErrTooLarge if
	// all properties together become too large.
	UpdatePerson(ctx context.Context, project int64, id uuid.UUID, set map[string]json.RawMessage, unset []string) (*Person, error)

	// DeletePerson deletes a person with all that is kept about it but events.
	// If events is true, PurgeEvents later deletes, in parts, the events that
	// are stored now under the person's distinct IDs.
	DeletePerson(ctx context.Context, project int64, id uuid.UUID, events bool) error

	// PurgeEvents deletes some of the events of persons who were deleted with
	// their events, and reports whether there may be more.
	PurgeEvents(ctx context.Context) (more bool, err error)

	// PurgeProjects deletes some of what belongs to projects that were deleted before a
	// time, and reports whether there may be more.
	PurgeProjects(ctx context.Context, before time.Time) (more bool, err error)

	// RecentDistinctIDs returns distinct IDs of the newest events, each once,
	// newest first, and the time of the event by which the last one was found. It
	// looks at the newest 30,000 events, and may not find all IDs.
	RecentDistinctIDs(ctx context.Context, project int64, limit int) (ids []string, since time.Time, err error)

	// Groups returns a page of the groups of a type whose keys begin with
	// search, by ascending key, and how many such groups there are.
	Groups(ctx context.Context, project int64, typeIndex int, search string, limit, offset int) ([]Group, int, error)
	Group(ctx context.Context, project int64, typeIndex int, key string) (*Group, error)
	UpdateGroup(ctx context.Context, project int64, typeIndex int, key string, set map[string]json.RawMessage, unset []string) (*Group, error)
	DeleteGroup(ctx context.Context, project int64, typeIndex int, key string) error
}

// CohortMembers keeps the members of static cohorts. A static cohort is a list
// of persons and cannot be computed from properties (evaluation.md §5.4). The store
// is safe for concurrent use.
type CohortMembers interface {
	// AddCohortMembers makes the persons with the distinct IDs members of a
	// cohort and returns how many were not members before. It makes a person
	// for a distinct ID that no person has, so that nothing of a list is lost,
	// and returns how many such unknown ones there were, each counted once. upload
	// names the list, unless it is the nil UUID.
	AddCohortMembers(ctx context.Context, project, cohort int64, upload uuid.UUID, distinctIDs []string) (added, unknown int, err error)

	// RemoveCohortUpload takes the persons out of a cohort who became members by a
	// list and are members since, and returns how many.
	RemoveCohortUpload(ctx context.Context, project, cohort int64, upload uuid.UUID) (int, error)

	// AddCohortPersons makes persons members by their UUIDs, and RemoveCohortPersons takes
	// them out. They leave out persons that do not exist, and return how many it changes.
	AddCohortPersons(ctx context.Context, project, cohort int64, persons []uuid.UUID) (int, error)
	RemoveCohortPersons(ctx context.Context, project, cohort int64, persons []uuid.UUID) (int, error)

	// CountCohort returns how many members a cohort has.
	CountCohort(ctx context.Context, project, cohort int64) (int, error)
}
