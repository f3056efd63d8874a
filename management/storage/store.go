package storage

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// A Store keeps what a [management.Service] is about. It is safe for concurrent use. The
// values that its methods take and return belong to the caller, except memory
// that they point to, which nobody may change. Times are UTC with microseconds.
//
// A method that returns, changes or deletes one thing returns ErrNotFound if the
// thing does not exist; a method that returns many leaves out what does not exist.
// A method that creates or changes a thing returns ErrConflict if a value that must
// be unique is taken, and ErrNotFound if the thing refers to another one that does
// not exist. Every other error is a failure of the storage.
type Store interface {
	Users
	Keys
	TwoFactor
	EmailTokens
	Sessions
	Links
	Organizations
	Invitations
	Flags
	Cohorts
	EarlyAccess
	Activities
	Throttle

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
}

// A UserFilter selects active users. Nil fields select nothing away.
type UserFilter struct {
	ID    *int64
	Email *string // in lower case
	Staff *bool
}

// Users keeps users.
type Users interface {
	// User, UserByUUID and UserByEmail return a user, who may be inactive.
	User(ctx context.Context, id int64) (*User, error)
	UserByUUID(ctx context.Context, id uuid.UUID) (*User, error)
	UserByEmail(ctx context.Context, email string) (*User, error) // in lower case

	// UsersByID returns the users that exist, in ascending order of their IDs.
	UsersByID(ctx context.Context, ids []int64) ([]User, error)

	// Users returns a page of the active users that a filter selects, by
	// ascending ID, and how many it selects.
	Users(ctx context.Context, f UserFilter, limit, offset int) ([]User, int, error)

	// CreateUser sets the ID.
	CreateUser(ctx context.Context, u *User) error

	// UpdateUser deletes the sessions and links of a user that it makes inactive.
	UpdateUser(ctx context.Context, u *User) error

	// DeleteUser deletes a user with the user's keys, authenticators, backup
	// codes, tokens, sessions, links, scenes, memberships, and invitations of others. Entries of
	// the activity log stay, without their user.
	DeleteUser(ctx context.Context, id int64) error

	// Scenes returns the scenes of users, the scenes of one user in the order in
	// which they were added.
	Scenes(ctx context.Context, users []int64) ([]Scene, error)

	// SetScene adds a scene or changes its dashboard. DeleteScene returns nil
	// also if there is no such scene.
	SetScene(ctx context.Context, s Scene) error
	DeleteScene(ctx context.Context, user, project int64, scene string) error
}

// Keys keeps personal API keys.
type Keys interface {
	Key(ctx context.Context, id string) (*PersonalKey, error)
	KeyByHash(ctx context.Context, hash string) (*PersonalKey, error)

	// Keys returns the keys of a user, newest first.
	Keys(ctx context.Context, user int64) ([]PersonalKey, error)

	CreateKey(ctx context.Context, k *PersonalKey) error
	UpdateKey(ctx context.Context, k *PersonalKey) error // leaves LastUsed as it is
	DeleteKey(ctx context.Context, id string) error

	// TouchKey sets LastUsed. It returns nil also if the key does not exist.
	TouchKey(ctx context.Context, id string, at time.Time) error
}

// TwoFactor keeps authenticators and backup codes. Its methods that delete
// something return nil also if there is nothing to delete.
type TwoFactor interface {
	TOTP(ctx context.Context, user int64) (*TOTP, error)

	// WithTOTP returns the IDs of the users who have an authenticator, in
	// ascending order.
	WithTOTP(ctx context.Context, users []int64) ([]int64, error)

	SetTOTP(ctx context.Context, d *TOTP) error // adds or replaces
	DeleteTOTP(ctx context.Context, user int64) error

	PendingTOTP(ctx context.Context, user int64) (*PendingTOTP, error)
	SetPendingTOTP(ctx context.Context, p *PendingTOTP) error // adds or replaces
	DeletePendingTOTP(ctx context.Context, user int64) error

	// BackupCodes returns the codes of a user that were not used, in the order
	// in which they were added.
	BackupCodes(ctx context.Context, user int64) ([]BackupCode, error)

	// SetBackupCodes replaces all codes of a user.
	SetBackupCodes(ctx context.Context, user int64, codes []BackupCode) error

	// UseBackupCode deletes the code with a hash and reports whether there was
	// one. If several calls use one code at once, one of them gets true.
	UseBackupCode(ctx context.Context, user int64, hash []byte) (bool, error)
}

// EmailTokens keeps the tokens of e-mail addresses, one for each user.
type EmailTokens interface {
	EmailToken(ctx context.Context, user int64) (*EmailToken, error)
	SetEmailToken(ctx context.Context, t *EmailToken) error // adds or replaces

	// DeleteEmailToken reports whether there was a token.
	DeleteEmailToken(ctx context.Context, user int64) (bool, error)
}

// Sessions keeps sessions.
type Sessions interface {
	// SessionByHash returns the session with the hash of a token, whatever the time.
	SessionByHash(ctx context.Context, hash []byte) (*Session, error)

	// Sessions returns the sessions of a user, the one that was seen last first.
	Sessions(ctx context.Context, user int64) ([]Session, error)

	CreateSession(ctx context.Context, s *Session) error
	UpdateSession(ctx context.Context, s *Session) error

	// TouchSession changes only Seen, Address and Browser. It returns nil also if the
	// session does not exist.
	TouchSession(ctx context.Context, s *Session) error

	DeleteSession(ctx context.Context, user int64, id uuid.UUID) error

	// DeleteSessions deletes the sessions of a user but one, and returns how many.
	DeleteSessions(ctx context.Context, user int64, except uuid.UUID) (int, error)

	// DeleteOldSessions deletes the sessions of all users that were not seen since a
	// time, or were created before another one.
	DeleteOldSessions(ctx context.Context, seen, created time.Time) error
}

// Links keeps links of users, of each kind at most one for a user.
type Links interface {
	// Link returns the link with the hash of a token, whatever the time.
	Link(ctx context.Context, hash []byte) (*Link, error)
	SetLink(ctx context.Context, l *Link) error // adds or replaces

	// DeleteLinks deletes all links of a user. It returns nil also if there are none.
	DeleteLinks(ctx context.Context, user int64) error
}

// Organizations keeps organizations, their members and their projects.
type Organizations interface {
	Organization(ctx context.Context, id uuid.UUID) (*Organization, error)

	// OrganizationsByID returns the organizations with some IDs, and
	// Organizations all of them, in order of creation.
	OrganizationsByID(ctx context.Context, ids []uuid.UUID) ([]Organization, error)
	Organizations(ctx context.Context) ([]Organization, error)

	CreateOrganization(ctx context.Context, o *Organization) error
	UpdateOrganization(ctx context.Context, o *Organization) error

	// DeleteOrganization deletes an organization with its memberships,
	// invitations and projects.
	DeleteOrganization(ctx context.Context, id uuid.UUID) error

	Membership(ctx context.Context, organization uuid.UUID, user int64) (*Membership, error)

	// MembershipsOf returns the memberships of users, and Members the
	// memberships in an organization, both in order of joining. CountMembers
	// returns how many active users are members of each organization.
	MembershipsOf(ctx context.Context, users []int64) ([]Membership, error)
	Members(ctx context.Context, organization uuid.UUID) ([]Membership, error)
	CountMembers(ctx context.Context, organizations []uuid.UUID) (map[uuid.UUID]int, error)

	CreateMembership(ctx context.Context, m *Membership) error
	UpdateMembership(ctx context.Context, m *Membership) error
	DeleteMembership(ctx context.Context, organization uuid.UUID, user int64) error

	Project(ctx context.Context, id int64) (*Project, error)
	ProjectByKey(ctx context.Context, apiKey string) (*Project, error)

	// ProjectBySecret returns the project with the hash of a secret key, the
	// current one or the one before.
	ProjectBySecret(ctx context.Context, hash string) (*Project, error)

	// ProjectsOf returns the projects of organizations, and Projects all, by
	// ascending ID.
	ProjectsOf(ctx context.Context, organizations []uuid.UUID) ([]Project, error)
	Projects(ctx context.Context) ([]Project, error)

	// CreateProject sets the ID, which no project had before.
	CreateProject(ctx context.Context, p *Project) error
	UpdateProject(ctx context.Context, p *Project) error // leaves IngestedEvent as it is

	// DeleteProject deletes a project. Its events, persons and so on are
	// deleted by [ProjectPurger] later.
	DeleteProject(ctx context.Context, id int64) error
}

// Invitations keeps invitations to organizations.
type Invitations interface {
	// Invitation returns an invitation of an organization by ID, and
	// InvitationByToken one of any organization by the hash of its token.
	// Neither looks at the time.
	Invitation(ctx context.Context, organization, id uuid.UUID) (*Invitation, error)
	InvitationByToken(ctx context.Context, hash []byte) (*Invitation, error)

	// Invitations returns all invitations of an organization, newest first.
	Invitations(ctx context.Context, organization uuid.UUID) ([]Invitation, error)

	// CreateInvitation returns ErrConflict if the organization has an invitation
	// for the address already.
	CreateInvitation(ctx context.Context, v *Invitation) error
	DeleteInvitation(ctx context.Context, organization, id uuid.UUID) error
}

// A FlagFilter selects ordinary flags that are not deleted. Empty fields select
// nothing away.
type FlagFilter struct {
	Active   *bool
	Archived *bool
	Key      string // whatever its case
}

// Flags keeps feature flags.
type Flags interface {
	// Flag returns a flag of a project by ID, deleted or not.
	Flag(ctx context.Context, project, id int64) (*Flag, error)

	// FlagByKey returns the flag with a key that is not deleted.
	FlagByKey(ctx context.Context, project int64, key string) (*Flag, error)

	// Flags returns all flags of a project that are not deleted, of every
	// kind, by ascending ID.
	Flags(ctx context.Context, project int64) ([]Flag, error)

	// FlagDefinitions returns what Flags returns, but LastCalled, which is nil. It
	// is the faster one of the two, and reads only what has changed since it was
	// asked before.
	FlagDefinitions(ctx context.Context, project int64) ([]Flag, error)

	// FindFlags returns a page of the flags that a filter selects, newest
	// first, and how many it selects.
	FindFlags(ctx context.Context, project int64, f FlagFilter, limit, offset int) ([]Flag, int, error)

	// CreateFlag creates flags of one project, which have different keys, and sets
	// their IDs, unless they have IDs that no flag of any project has. UpdateFlag
	// changes flags of one project. Both return ErrConflict if another flag that is not
	// deleted has the key. UpdateFlag leaves LastCalled as it is.
	CreateFlag(ctx context.Context, list ...*Flag) error
	UpdateFlag(ctx context.Context, list ...*Flag) error

	// DeleteFlag deletes a flag for good. A management.Service does so only with flags of
	// surveys.
	DeleteFlag(ctx context.Context, project, id int64) error

	// FlagVersion returns a flag as it was in one of its versions, deleted or
	// not, and FlagVersions a page of its versions, newest first, and how many
	// there are. CreateFlag and UpdateFlag keep what they store as the version
	// that the flag has then, in place of what was kept as that version before;
	// DeleteFlag deletes all. A version leaves LastCalled, CreatedBy and Created
	// empty.
	FlagVersion(ctx context.Context, project, id int64, version int) (*Flag, error)
	FlagVersions(ctx context.Context, project, id int64, limit, offset int) ([]Flag, int, error)

	// FlagUsage returns how often clients have reported the flag with a key since a
	// day, in the order of day, value and SDK. Calls are counted as their events are
	// stored (management.md §13.22).
	FlagUsage(ctx context.Context, project int64, key string, since time.Time) ([]FlagCount, error)

	// GroupTypes returns the names of the group types of a project by the
	// index by which filters refer to them. Events make group types.
	GroupTypes(ctx context.Context, project int64) (map[int]string, error)

	// AddGroupTypes makes the group types that a project does not have, as events do,
	// in the order of the names, as far as there is room. Within a transaction it must
	// be the first change: on PostgreSQL events of the project wait until its end.
	AddGroupTypes(ctx context.Context, project int64, names []string) error
}

// Cohorts keeps cohorts. A [CohortMembers] keeps the members of static
// cohorts.
type Cohorts interface {
	// Cohort returns a cohort of a project by ID, deleted or not.
	Cohort(ctx context.Context, project, id int64) (*Cohort, error)

	// Cohorts returns all cohorts of a project that are not deleted, by
	// ascending ID.
	Cohorts(ctx context.Context, project int64) ([]Cohort, error)

	// CohortsToCount returns the cohorts of all projects, by ascending ID of
	// project and cohort, that are not deleted and were not counted since a
	// time.
	CohortsToCount(ctx context.Context, since time.Time) ([]Cohort, error)

	CreateCohort(ctx context.Context, c *Cohort) error // sets the ID, as CreateFlag does
	UpdateCohort(ctx context.Context, c *Cohort) error

	// SetCohortCount sets Count and Calculated and nothing else. The version of
	// the project (see [Changes]) does not grow, since clients do not see
	// these fields.
	SetCohortCount(ctx context.Context, project, id int64, count *int, at time.Time) error
}

// EarlyAccess keeps early access features.
type EarlyAccess interface {
	EarlyAccessFeature(ctx context.Context, project int64, id uuid.UUID) (*EarlyAccessFeature, error)

	// EarlyAccessFeatures returns all features of a project, newest first.
	EarlyAccessFeatures(ctx context.Context, project int64) ([]EarlyAccessFeature, error)

	// CreateEarlyAccessFeature returns ErrConflict if the flag has a feature
	// already.
	CreateEarlyAccessFeature(ctx context.Context, f *EarlyAccessFeature) error
	UpdateEarlyAccessFeature(ctx context.Context, f *EarlyAccessFeature) error
	DeleteEarlyAccessFeature(ctx context.Context, project int64, id uuid.UUID) error
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

// Activities keeps the activity log.
type Activities interface {
	AddActivity(ctx context.Context, entries ...*Activity) error

	// Activities returns a page of the entries that a filter selects, newest
	// first, and how many it selects; Before has no effect on the number.
	Activities(ctx context.Context, f ActivityFilter, limit, offset int) ([]Activity, int, error)
}

// Throttle counts attempts, for all processes that share it. Counting is
// never part of a transaction: an attempt counts also if what it was for fails.
type Throttle interface {
	// Throttle counts an attempt in a bucket if the limit allows the attempt,
	// and returns how long to wait otherwise. It forgets buckets that are full
	// again.
	Throttle(ctx context.Context, bucket string, l Limit, now time.Time) (wait time.Duration, err error)
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

// A ProjectPurger is a Store that deletes what projects leave behind.
type ProjectPurger interface {
	// PurgeProjects deletes some of what belongs to projects that were deleted
	// before a time, and reports whether there may be more.
	PurgeProjects(ctx context.Context, before time.Time) (more bool, err error)
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
