package sqlstore

import (
	"context"
	"errors"
	"log/slog"
	"time"
)

// Options configure a store. The zero value has the documented defaults.
type Options struct {
	// MaxStale is how old data may be that another process has changed since it
	// was read. Zero means 1 s; a negative value turns the cache off.
	MaxStale time.Duration

	// CacheEntries and CacheBytes bound the cache: the number of persons,
	// groups and so on, and the bytes of their properties. Zero means 65,536
	// and 64 MiB.
	CacheEntries int
	CacheBytes   int64

	// Extensions keep tables of their own in the store. They must be the same each time
	// that it is opened: what is stored while an extension is missing, the extension does
	// not see later.
	Extensions []Extension

	// MustExist makes Open fail with [ErrNoStore] if there is no store yet. By
	// default Open makes one.
	MustExist bool

	// OnOperation is called when the store turns to the database, with the context of the
	// caller, for metrics and traces. The store goes on with the context that it returns,
	// and calls the function that it returns, if that is not nil, when the operation has
	// ended, with its error. It must be safe for concurrent use and not block. Nil: it is
	// not called.
	OnOperation func(context.Context, Operation) (context.Context, func(error))

	// Log receives warnings. Nil discards them.
	Log *slog.Logger
}

// An Operation is a kind of work of the database.
type Operation = string

// The operations. The first four are reads for flags that the cache could not answer. One
// that changes something ends with its transaction, and includes the time in which others
// had their turn.
const (
	ReadPerson    Operation = "read_person"
	ReadGroup     Operation = "read_group"
	ReadCohorts   Operation = "read_cohorts"
	ReadHashKeys  Operation = "read_hash_keys" // of experience continuity
	Read          Operation = "read"           // anything else, outside of transactions
	WriteEvents   Operation = "write_events"   // a batch, with what it does to persons
	ChangePersons Operation = "change_persons" // or groups, cohort memberships or hash keys
	Change        Operation = "change"         // accounts, flags, surveys and the like
)

// A State is what a look at a store finds, without changing it.
type State struct {
	// Version is the version of the schema.
	Version int64

	// Pending are the names of the migrations that Open would run, in their order.
	Pending []string

	// ProjectKeys are the API keys of all projects, by the IDs of the projects.
	ProjectKeys []string

	// Secrets has what Sealed of the store returns. It is nil if migrations must run before
	// that can be read.
	Secrets map[[3]byte]int
}

var (
	// ErrNoStore says that there is no store where [Options.MustExist] wants one.
	ErrNoStore = errors.New("sqlstore: there is no store yet")

	// ErrNewer says that a newer release has changed the schema of the store.
	ErrNewer = errors.New("sqlstore: the schema is newer than this program")
)
