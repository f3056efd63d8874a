package storage

import (
	"encoding/json"
	"time"

	"github.com/google/uuid"
)

// A User is the account of an operator of Flagstaff (management.md §8.1). Flags are
// evaluated for a [Person], not for a User.
type User struct {
	ID         int64 // given by the store
	UUID       uuid.UUID
	DistinctID string // unique
	Active     bool
	Staff      bool
	Joined     time.Time

	// Email is unique. Email and PendingEmail are in lower case. PendingEmail is the
	// address that becomes Email once it is verified; "" if no change is under way.
	Email         string
	PendingEmail  string
	EmailVerified *bool // nil: no verification was ever sent

	// PasswordHash is in PHC format. It is empty or begins with ! if the user has
	// no password that can be used.
	PasswordHash string

	FirstName string // at most 150 characters
	LastName  string

	CurrentOrganization *uuid.UUID
	CurrentProject      *int64

	// Notifications are the settings that differ from the defaults
	// (management.md §4.6), a JSON object.
	Notifications json.RawMessage

	AnonymizeData       *bool
	AllowImpersonation  *bool
	ToolbarMode         *string
	EventsColumnConfig  json.RawMessage
	SeenProductIntroFor json.RawMessage // nil: null
	ThemeMode           *string
	HedgehogConfig      json.RawMessage // nil: null
	SidebarSuggestions  *bool
	ShortcutPosition    *string
	Role                *string // role_at_organization
	PasskeysFor2FA      *bool
}

// HasPassword reports whether a user has a password that can be used.
func (u *User) HasPassword() bool { return u.PasswordHash != "" && u.PasswordHash[0] != '!' }

// A PersonalKey is a personal API key. Only its hash is stored (management.md §1.2).
type PersonalKey struct {
	ID    string
	User  int64
	Label string // 1 to 40 characters
	Mask  string // the first and last four characters
	Hash  string // see [HashKey]; unique

	Scopes        []string    // none: all
	Projects      []int64     // the key is restricted to these; none: it is not restricted
	Organizations []uuid.UUID // likewise

	Created    time.Time
	LastUsed   *time.Time
	LastRolled *time.Time
}

// Restricted reports whether the key is restricted to projects or organizations.
func (k *PersonalKey) Restricted() bool { return len(k.Projects)+len(k.Organizations) > 0 }

// A TOTP is the authenticator of a user (management.md §5).
type TOTP struct {
	User     int64
	Secret   []byte // sealed
	Drift    int    // offset of its clock, in steps
	LastStep int64  // the last step that was used; no step up to it is accepted again

	Failures int // in a row
	FailedAt *time.Time
	Created  time.Time
}

// A PendingTOTP is an authenticator that its user has not confirmed.
type PendingTOTP struct {
	User     int64
	Secret   []byte // sealed
	Attempts int
	Expires  time.Time
}

// A BackupCode replaces a code of the authenticator, once.
type BackupCode struct {
	User    int64
	Hash    []byte // keyed; finds the code
	Sealed  []byte // the code; nil if it is not to be shown again
	Created time.Time
}

// An EmailToken proves that the user reads the mail of an address (management.md §6.3).
// A user has at most one.
type EmailToken struct {
	User     int64
	Hash     []byte // hash of the token in the link
	CodeHash []byte // keyed hash of the code to type, or nil
	Target   string // the address
	Attempts int    // at the code
	Created  time.Time
	Expires  time.Time
}

// A Scene is a dashboard that a user has chosen for a place (management.md §7.2).
type Scene struct {
	User      int64
	Project   int64
	Scene     string // at most 200 characters
	Dashboard int64
}
