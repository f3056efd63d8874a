package management

import (
	"context"
	"encoding/json"
	"iter"
	"time"

	"github.com/google/uuid"
)

// A Person is somebody whom events are about.
type Person struct {
	ID          uuid.UUID
	DistinctIDs []string        // in ascending order
	Properties  json.RawMessage // a JSON object
	Identified  bool
	Created     time.Time
}

// A PersonFilter selects persons. Empty fields select nothing away.
type PersonFilter struct {
	DistinctID string
	IDs        []uuid.UUID // nil: all
	Cohort     int64       // members of a static cohort
	Search     string      // beginning of a distinct ID
}

// A Group is a company, a team or whatever a project calls so.
type Group struct {
	TypeIndex  int
	Key        string
	Properties json.RawMessage // a JSON object
	Created    time.Time
}

// A PersonStore has the persons and groups that events have made. It is safe for
// concurrent use, and waits for no transaction of a [Store], since one may be under
// way. What it changes is seen by the next /flags of this process.
type PersonStore interface {
	Person(ctx context.Context, project int64, id uuid.UUID) (*Person, error)
	PersonByDistinctID(ctx context.Context, project int64, distinctID string) (*Person, error)

	// Persons returns a page of the persons that a filter selects, newest
	// first, and how many it selects.
	Persons(ctx context.Context, project int64, f PersonFilter, limit, offset int) ([]Person, int, error)

	// AllPersons iterates over all persons of a project by ascending ID, each
	// once and with only the first of its distinct IDs. It reads them in parts
	// and holds nothing between them, so that it takes little memory and who
	// iterates may take long and ask the store for more: persons who come, go,
	// change or become one meanwhile may be there as before, as after, or not
	// at all. An error is the last thing that it yields, with a zero Person; it
	// is that of ctx if ctx ends.
	AllPersons(ctx context.Context, project int64) iter.Seq2[Person, error]

	// UpdatePerson sets and removes properties. The error is ErrTooLarge if
	// they become too large.
	UpdatePerson(ctx context.Context, project int64, id uuid.UUID, set map[string]json.RawMessage, unset []string) (*Person, error)

	// DeletePerson deletes a person with all that is kept about it but events.
	// If events is true, they are deleted too: those that are stored now under
	// its distinct IDs, in parts and later, by PurgeEvents.
	DeletePerson(ctx context.Context, project int64, id uuid.UUID, events bool) error

	// PurgeEvents deletes some of the events of persons who were deleted with
	// their events, and reports whether there may be more.
	PurgeEvents(ctx context.Context) (more bool, err error)

	// RecentDistinctIDs returns distinct IDs of the newest events, each once,
	// newest first, as well as a look at a bounded number of events can tell:
	// days come in their order, but of a day with many events not all may be
	// seen, and there may be more IDs than it finds.
	RecentDistinctIDs(ctx context.Context, project int64, limit int) ([]string, error)

	// AddGroupTypes makes group types, as events do: those that a project does
	// not have, in the order of the names, as far as there is room. It returns
	// what [FlagStore].GroupTypes does then.
	AddGroupTypes(ctx context.Context, project int64, names []string) (map[int]string, error)

	// Groups returns a page of the groups of a type whose keys begin with
	// search, by ascending key, and how many they are.
	Groups(ctx context.Context, project int64, typeIndex int, search string, limit, offset int) ([]Group, int, error)
	Group(ctx context.Context, project int64, typeIndex int, key string) (*Group, error)
	UpdateGroup(ctx context.Context, project int64, typeIndex int, key string, set map[string]json.RawMessage, unset []string) (*Group, error)
	DeleteGroup(ctx context.Context, project int64, typeIndex int, key string) error
}
