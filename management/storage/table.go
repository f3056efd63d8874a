package storage

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// A Table has the things of one kind, in an order of its own.
//
// What selects things are conditions, which must all hold; without conditions List and Page
// select all things. Get returns ErrNotFound if there is no such thing, and so does a change of
// a thing that does not exist or refers to one that does not exist. Create, Update and Set
// return ErrConflict if a value that must be unique is taken.
type Table[T any] interface {
	// Get returns the thing that conditions select.
	Get(ctx context.Context, where ...Where[T]) (*T, error)
	List(ctx context.Context, where ...Where[T]) ([]T, error)

	// Page returns a part of what List returns, and how many things List returns.
	Page(ctx context.Context, limit, offset int, where ...Where[T]) ([]T, int, error)

	// Create adds things. It sets IDs that the store gives.
	Create(ctx context.Context, list ...*T) error
	Update(ctx context.Context, list ...*T) error

	// Set adds things or replaces those with the same keys.
	Set(ctx context.Context, list ...*T) error

	// Touch changes only what is noted of a thing in passing: LastUsed of a key; Seen,
	// Address and Browser of a session; Count and Calculated of a cohort, of which clients
	// see nothing. It returns nil also if the thing does not exist.
	Touch(ctx context.Context, v *T) error

	// Delete and DeleteAll delete what conditions select, and want one. DeleteAll returns how
	// many things it has deleted, which may be none; Delete then returns ErrNotFound.
	Delete(ctx context.Context, where ...Where[T]) error
	DeleteAll(ctx context.Context, where ...Where[T]) (int, error)
}

// A Field is what things of type T are selected by: a column of their table, or an expression
// of columns.
type Field[T, V any] string

// A Where is a condition: Field and Value are the sides of a comparison. A condition with an
// empty value or list selects what has the empty value or is in the empty list, never all.
type Where[T any] struct {
	Field string
	Op    string // "=", "<>", "IN", or "<", which also selects what has no value
	Value any
}

// Is selects what has a value.
func (f Field[T, V]) Is(v V) Where[T] { return Where[T]{string(f), "=", v} }

// IsNot selects what has another value.
func (f Field[T, V]) IsNot(v V) Where[T] { return Where[T]{string(f), "<>", v} }

// In selects what has one of some values.
func (f Field[T, V]) In(list []V) Where[T] { return Where[T]{string(f), "IN", list} }

// Before selects what has an earlier time or none.
func (f Field[T, V]) Before(v V) Where[T] { return Where[T]{string(f), "<", v} }

// The fields by which things are selected. The names begin with the kind.
const (
	UserID     Field[User, int64]     = "id"
	UserUUID   Field[User, uuid.UUID] = "uuid"
	UserEmail  Field[User, string]    = "email" // in lower case
	UserActive Field[User, bool]      = "is_active"
	UserStaff  Field[User, bool]      = "is_staff"

	SceneUser    Field[Scene, int64]  = "user_id"
	SceneProject Field[Scene, int64]  = "project_id"
	SceneName    Field[Scene, string] = "scene"

	KeyID   Field[PersonalKey, string] = "id"
	KeyHash Field[PersonalKey, string] = "secure_value"
	KeyUser Field[PersonalKey, int64]  = "user_id"

	TOTPUser        Field[TOTP, int64]        = "user_id"
	PendingTOTPUser Field[PendingTOTP, int64] = "user_id"
	BackupCodeUser  Field[BackupCode, int64]  = "user_id"
	BackupCodeHash  Field[BackupCode, []byte] = "code_hmac"
	EmailTokenUser  Field[EmailToken, int64]  = "user_id"

	SessionID      Field[Session, uuid.UUID] = "id"
	SessionUser    Field[Session, int64]     = "user_id"
	SessionHash    Field[Session, []byte]    = "token_hash"
	SessionSeen    Field[Session, time.Time] = "last_seen_at"
	SessionCreated Field[Session, time.Time] = "created_at"

	LinkUser Field[Link, int64]  = "user_id"
	LinkHash Field[Link, []byte] = "token_hash"

	OrganizationID         Field[Organization, uuid.UUID] = "id"
	MembershipOrganization Field[Membership, uuid.UUID]   = "organization_id"
	MembershipUser         Field[Membership, int64]       = "user_id"

	ProjectID             Field[Project, int64]     = "id"
	ProjectOrganization   Field[Project, uuid.UUID] = "organization_id"
	ProjectKey            Field[Project, string]    = "api_token"
	ProjectSecret         Field[Project, string]    = "secret_token_hash"
	ProjectPreviousSecret Field[Project, string]    = "secret_token_prev_hash"

	InvitationID           Field[Invitation, uuid.UUID] = "id"
	InvitationOrganization Field[Invitation, uuid.UUID] = "organization_id"
	InvitationHash         Field[Invitation, []byte]    = "token_hash"

	FlagID       Field[Flag, int64]    = "id"      // not of a version
	VersionOf    Field[Flag, int64]    = "flag_id" // only of a version
	FlagVersion  Field[Flag, int]      = "version"
	FlagProject  Field[Flag, int64]    = "project_id"
	FlagKey      Field[Flag, string]   = "key"
	FlagLowerKey Field[Flag, string]   = "lower(key)"
	FlagInternal Field[Flag, FlagKind] = "internal_kind"
	FlagAuthor   Field[Flag, int64]    = "created_by" // not of a version
	FlagDeleted  Field[Flag, bool]     = "deleted"
	FlagActive   Field[Flag, bool]     = "active"
	FlagArchived Field[Flag, bool]     = "archived"

	CohortID         Field[Cohort, int64]     = "id"
	CohortProject    Field[Cohort, int64]     = "project_id"
	CohortDeleted    Field[Cohort, bool]      = "deleted"
	CohortCalculated Field[Cohort, time.Time] = "last_calculation"

	FeatureID      Field[EarlyAccessFeature, uuid.UUID] = "id"
	FeatureProject Field[EarlyAccessFeature, int64]     = "project_id"
)
