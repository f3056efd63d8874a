package storage

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/google/uuid"
)

// A Store keeps what a [management.Service] is about. It is safe for concurrent use. The
// values that its methods take and return belong to the caller, except memory
// that they point to, which nobody may change. Times are UTC with microseconds. Errors other
// than those that [Table] names are failures of the storage.
type Store interface {
	// Users are ordered by their IDs. An Update that makes a user inactive deletes the user's
	// sessions and links. Delete deletes a user with the user's keys, authenticators, backup
	// codes, tokens, sessions, links, scenes, memberships, and invitations of others. Entries
	// of the activity log stay, without their user.
	Users() Table[User]
	Scenes() Table[Scene]     // by user, and of one in the order in which they were added
	Keys() Table[PersonalKey] // newest first; Update leaves LastUsed as it is

	TOTPs() Table[TOTP] // by user
	PendingTOTPs() Table[PendingTOTP]
	BackupCodes() Table[BackupCode] // that were not used, in the order in which they were added
	EmailTokens() Table[EmailToken] // one for each user

	Sessions() Table[Session] // the one that was seen last first
	Links() Table[Link]       // of each kind at most one for a user

	// Organizations are in order of creation. Delete deletes an organization with its
	// memberships, invitations and projects.
	Organizations() Table[Organization]
	Memberships() Table[Membership] // in order of joining
	Invitations() Table[Invitation] // newest first; of an organization one for an address

	// CountMembers returns how many active users are members of each organization.
	CountMembers(ctx context.Context, organizations []uuid.UUID) (map[uuid.UUID]int, error)

	// Projects are ordered by their IDs, which no project had before. Update leaves
	// IngestedEvent as it is. Events, persons and so on of a deleted project are deleted by
	// PurgeProjects of a [Data] later.
	Projects() Table[Project]

	// Flags are the newest first, deleted or not. Create adds flags of one project, which
	// have different keys, and sets their IDs, unless they have IDs that no flag of any
	// project has. Update changes flags of one project, and leaves LastCalled as it is.
	// Keys of flags that are not deleted are unique.
	Flags() Table[Flag]

	// FlagVersions are flags as they were in each version, the newest first. Create and Update
	// of a flag keep what they store as the version that the flag has then, in place of
	// what was kept as that version before; Delete of the flag deletes all. A version leaves
	// LastCalled, CreatedBy and Created empty.
	FlagVersions() Table[Flag]

	// FlagDefinitions returns all flags of a project that are not deleted, of every kind, by
	// ascending ID, without LastCalled. It reads only what has changed since it was asked
	// before. CalledFlags returns the same flags with LastCalled.
	FlagDefinitions(ctx context.Context, project int64) ([]Flag, error)
	CalledFlags(ctx context.Context, project int64) ([]Flag, error)

	// FlagUsage returns how often clients have reported the flags with some keys since a
	// day, in the order of day, key, value and SDK. Calls are counted as their events are
	// stored (management.md §13.22). For nil it returns how often they have reported any flag
	// on each day, without key, value and SDK.
	FlagUsage(ctx context.Context, project int64, keys []string, since time.Time) ([]FlagCount, error)

	// GroupTypes returns the names of the group types of a project by the
	// index by which filters refer to them. Events make group types.
	GroupTypes(ctx context.Context, project int64) (map[int]string, error)

	// AddGroupTypes makes the group types that a project does not have, as events do,
	// in the order of the names, as far as there is room. Within a transaction it must
	// be the first change: on PostgreSQL events of the project wait until its end.
	AddGroupTypes(ctx context.Context, project int64, names []string) error

	Cohorts() Table[Cohort] // by project and ID; Create keeps IDs as Create of Flags does

	// EarlyAccess features are the newest first. A flag has at most one.
	EarlyAccess() Table[EarlyAccessFeature]

	AddActivity(ctx context.Context, entries ...*Activity) error

	// Activities returns a page of the entries that a filter selects, newest
	// first, and how many it selects; Before has no effect on the number.
	Activities(ctx context.Context, f ActivityFilter, limit, offset int) ([]Activity, int, error)

	// Throttle counts an attempt in a bucket, for all processes, if the limit allows the
	// attempt, and returns how long to wait otherwise. It forgets buckets that are full
	// again. Counting is never part of a transaction: an attempt counts also if what it
	// was for fails.
	Throttle(ctx context.Context, bucket string, l Limit, now time.Time) (wait time.Duration, err error)

	// Atomic runs f in a transaction. The Store that f gets is the
	// transaction: its changes are kept if f returns nil, and undone
	// otherwise. What f reads does not change before f returns, since only one
	// transaction of all processes runs at a time; f must therefore wait for
	// nothing but the Store. f may run more than once. Atomic of the Store
	// that f gets runs its function in the same transaction.
	Atomic(ctx context.Context, f func(Store) error) error

	// AtOnce is Atomic for an f that returns the first error that its Store has, and
	// that makes many changes: none has to be undone alone, which makes them
	// faster.
	AtOnce(ctx context.Context, f func(Store) error) error

	// Extension returns what runs the statements of an extension (sqlstore.Extension), within
	// the transaction if the Store is one. The error says that the store was opened without
	// the extension.
	Extension(name string) (Tx, error)
}

// ProjectBySecret returns the project with the hash of a secret key, the current one or the one
// before.
func ProjectBySecret(ctx context.Context, s Store, hash string) (*Project, error) {
	p, err := s.Projects().Get(ctx, ProjectSecret.Is(hash))
	if errors.Is(err, ErrNotFound) {
		p, err = s.Projects().Get(ctx, ProjectPreviousSecret.Is(hash))
	}
	return p, err
}

// A UserFilter selects active users. Nil fields select nothing away.
type UserFilter struct {
	ID    *int64
	Email *string // in lower case
	Staff *bool
}

// Where returns the conditions for what the filter selects.
func (f UserFilter) Where() []Where[User] {
	where := maybe([]Where[User]{UserActive.Is(true)}, UserStaff, f.Staff)
	return maybe(maybe(where, UserID, f.ID), UserEmail, f.Email)
}

// maybe adds the condition that a field has a value, unless that is nil.
func maybe[T, V any](where []Where[T], f Field[T, V], v *V) []Where[T] {
	if v == nil {
		return where
	}
	return append(where, f.Is(*v))
}

// A FlagFilter selects ordinary flags that are not deleted. Empty fields select
// nothing away.
type FlagFilter struct {
	Active   *bool
	Archived *bool
	Key      string // whatever its case
}

// Where returns the conditions for what the filter selects of a project.
func (f FlagFilter) Where(project int64) []Where[Flag] {
	where := []Where[Flag]{FlagProject.Is(project), FlagDeleted.Is(false), FlagInternal.Is(FlagOrdinary)}
	if f.Key != "" {
		where = append(where, FlagLowerKey.Is(strings.ToLower(f.Key)))
	}
	return maybe(maybe(where, FlagActive, f.Active), FlagArchived, f.Archived)
}

// An ActivityFilter selects entries of the activity log. Empty fields select
// nothing away.
type ActivityFilter struct {
	Project      *int64
	Organization *uuid.UUID
	Scope        string
	ItemID       string
	User         *int64
	System       bool       // only what the system did
	From, To     *time.Time // only what was done from the one to the other, both included; nil: no bound
	Name         string     // part of the name of the thing; the case of English letters does not count
	Text         string     // part of the detail without the names of its members, in the same way
	Before       uuid.UUID  // only what comes after this entry in the list
}

// Changes tells a process what others have changed. It is safe for concurrent
// use.
type Changes interface {
	// Versions returns a number for each project, which grows with every
	// change of the project's flags, cohorts, early access features, surveys
	// and group types. The number under 0 grows with every change of projects
	// themselves. A project that is not in the map has never changed.
	Versions(ctx context.Context) (map[int64]int64, error)

	// Watch calls changed once when it has begun to watch, and soon after
	// Versions may return something new, whichever process has made the
	// change, until ctx ends. It ends with an error if the connection to the
	// storage is lost, and may have missed changes then, so that the caller
	// has to ask for Versions now and then anyhow.
	Watch(ctx context.Context, changed func()) error
}

// A Leader makes sure that work which one process should do is not done by
// several at once.
type Leader interface {
	// Lead runs f unless another call, in this process or another one, runs a
	// function under the same name, and reports whether it ran f. The context
	// of f ends when it is not certain any more that no other process runs a
	// function under the name.
	Lead(ctx context.Context, name string, f func(context.Context) error) (led bool, err error)
}

// Usage counts what organizations use. It is safe for concurrent use.
type Usage interface {
	// AddUsage adds n to a counter and returns its value, and the limit that
	// SetQuota has set for the resource, or -1 if there is none. The period is
	// the time that the counter is about, as "2026-11", or "" for all time.
	AddUsage(ctx context.Context, organization, resource, period string, n int64) (used, limit int64, err error)

	// SetQuota sets the limit of a resource for an organization. A negative
	// number takes the limit away.
	SetQuota(ctx context.Context, organization, resource string, limit int64) error
}
