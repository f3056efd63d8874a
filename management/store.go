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

	// ErrTooLarge says that something would become larger than it may be.
	ErrTooLarge = errors.New("management: too large")
)

// A Store keeps what a [Service] is about. It is safe for concurrent use. The
// values that its methods take and return belong to the caller, except memory
// that they point to, which nobody may change. Times are UTC with microseconds.
//
// Methods that return one thing return ErrNotFound if it does not exist, those
// that change or delete one too; methods that return many leave out what does not
// exist. Methods that create or change something return ErrConflict if a value
// that must be unique is taken, and ErrNotFound if it refers to something that
// does not exist. All other errors are those of the storage.
type Store interface {
	UserStore
	KeyStore
	TwoFactorStore
	EmailTokenStore
	OrganizationStore
	FlagStore
	CohortStore
	EarlyAccessStore
	SurveyStore
	ActivityStore
	ThrottleStore

	// Atomic runs f in a transaction, which the Store that f is given stands
	// for: all that it changes is kept if f returns nil, and nothing
	// otherwise. What f reads does not change before it returns, since only
	// one transaction runs at a time, of all processes; f must therefore not
	// wait for anything but the Store. It may run more than once. Inside of f
	// Atomic runs its function in the same transaction.
	Atomic(ctx context.Context, f func(Store) error) error
}

// A UserFilter selects active users. Nil fields select nothing away.
type UserFilter struct {
	ID    *int64
	Email *string // in lower case
	Staff *bool
}

// A UserStore keeps users.
type UserStore interface {
	// User returns the user with an ID, active or not, as the others do.
	User(ctx context.Context, id int64) (*User, error)
	UserByUUID(ctx context.Context, id uuid.UUID) (*User, error)
	UserByEmail(ctx context.Context, email string) (*User, error) // in lower case

	// UsersByID returns those of the users that exist, in ascending order of
	// their IDs.
	UsersByID(ctx context.Context, ids []int64) ([]User, error)

	// Users returns a page of the active users that a filter selects, by
	// ascending ID, and how many it selects.
	Users(ctx context.Context, f UserFilter, limit, offset int) ([]User, int, error)

	// CreateUser sets the ID.
	CreateUser(ctx context.Context, u *User) error
	UpdateUser(ctx context.Context, u *User) error

	// DeleteUser deletes a user with everything that is theirs: keys,
	// authenticators, backup codes, tokens, scenes, memberships. Activity
	// stays, by nobody.
	DeleteUser(ctx context.Context, id int64) error

	// Scenes returns the scenes of users, those of one user in the order in
	// which they were added.
	Scenes(ctx context.Context, users []int64) ([]Scene, error)

	// SetScene adds a scene or changes its dashboard. DeleteScene is nil also
	// if there is none.
	SetScene(ctx context.Context, s Scene) error
	DeleteScene(ctx context.Context, user, project int64, scene string) error
}

// A KeyStore keeps personal API keys.
type KeyStore interface {
	Key(ctx context.Context, id string) (*PersonalKey, error)
	KeyByHash(ctx context.Context, hash string) (*PersonalKey, error)

	// Keys returns the keys of a user, newest first.
	Keys(ctx context.Context, user int64) ([]PersonalKey, error)

	CreateKey(ctx context.Context, k *PersonalKey) error
	UpdateKey(ctx context.Context, k *PersonalKey) error // but LastUsed
	DeleteKey(ctx context.Context, id string) error

	// TouchKey sets LastUsed, unless the key is gone.
	TouchKey(ctx context.Context, id string, at time.Time) error
}

// A TwoFactorStore keeps authenticators and backup codes. Its delete methods
// return nil also if there is nothing.
type TwoFactorStore interface {
	TOTP(ctx context.Context, user int64) (*TOTP, error)

	// WithTOTP returns those of the users who have an authenticator, in
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
	// one. Of several who use one code at once it reports true to one.
	UseBackupCode(ctx context.Context, user int64, hash []byte) (bool, error)
}

// An EmailTokenStore keeps the tokens of e-mail addresses, one for each user.
type EmailTokenStore interface {
	EmailToken(ctx context.Context, user int64) (*EmailToken, error)
	SetEmailToken(ctx context.Context, t *EmailToken) error // adds or replaces

	// DeleteEmailToken reports whether there was one.
	DeleteEmailToken(ctx context.Context, user int64) (bool, error)
}

// An OrganizationStore keeps organizations, their members and their projects.
type OrganizationStore interface {
	Organization(ctx context.Context, id uuid.UUID) (*Organization, error)

	// OrganizationsByID returns those that exist, and Organizations all, in
	// order of creation.
	OrganizationsByID(ctx context.Context, ids []uuid.UUID) ([]Organization, error)
	Organizations(ctx context.Context) ([]Organization, error)

	CreateOrganization(ctx context.Context, o *Organization) error
	UpdateOrganization(ctx context.Context, o *Organization) error

	// DeleteOrganization deletes an organization with its memberships and
	// projects.
	DeleteOrganization(ctx context.Context, id uuid.UUID) error

	Membership(ctx context.Context, organization uuid.UUID, user int64) (*Membership, error)

	// MembershipsOf returns the memberships of users, and Members those of an
	// organization, both in order of joining. CountMembers returns how many
	// active users are members of each organization.
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
	UpdateProject(ctx context.Context, p *Project) error // but IngestedEvent

	// DeleteProject deletes a project. Its events, persons and so on are
	// deleted by [ProjectPurger] later.
	DeleteProject(ctx context.Context, id int64) error
}

// An ActivityStore keeps the activity log.
type ActivityStore interface {
	AddActivity(ctx context.Context, a *Activity) error

	// Activities returns a page of the entries that a filter selects, newest
	// first, and how many it selects.
	Activities(ctx context.Context, f ActivityFilter, limit, offset int) ([]Activity, int, error)
}

// An ActivityFilter selects entries of the activity log. Empty fields select
// nothing away.
type ActivityFilter struct {
	Project      *int64
	Organization *uuid.UUID
	Scope        string
	ItemID       string
}

// A ThrottleStore counts attempts, for all processes that share it. It is never
// part of a transaction: what failed counts as well.
type ThrottleStore interface {
	// Throttle counts an attempt in a bucket if the limit allows it. If not,
	// it returns how long to wait. Buckets that are full again are forgotten.
	Throttle(ctx context.Context, bucket string, l Limit, now time.Time) (wait time.Duration, err error)
}

// A ChangeStore tells what other processes have changed. It is safe for
// concurrent use.
type ChangeStore interface {
	// Versions returns a number for each project that has grown with every
	// change of its flags, cohorts, early access features, surveys and group
	// types, and below 0 one that has grown with every change of projects
	// themselves. What is not in the map has never changed.
	Versions(ctx context.Context) (map[int64]int64, error)

	// Watch calls changed soon after Versions may return something new,
	// whichever process has changed it, and once it has begun to watch, until
	// ctx ends. It may miss changes when the connection to the storage is lost,
	// which ends it with an error; so somebody has to ask now and then anyhow.
	Watch(ctx context.Context, changed func()) error
}

// A Leader makes sure that work which one process should do is not done by
// several at once.
type Leader interface {
	// Lead runs f unless another process, or another call of this one, runs
	// one under the same name. It reports whether it did. The context of f ends
	// when it is not certain any more that no other process runs one.
	Lead(ctx context.Context, name string, f func(context.Context) error) (led bool, err error)
}

// A ProjectPurger is a Store that deletes what projects leave behind.
type ProjectPurger interface {
	// PurgeProjects deletes some of what belongs to projects that were deleted
	// before a time, and reports whether there may be more.
	PurgeProjects(ctx context.Context, before time.Time) (more bool, err error)
}
