package management

import (
	"cmp"
	"encoding/json"
	"time"

	"github.com/google/uuid"
)

// A User is an account of a person who operates Flagstaff, as management.md §8.1
// has it. It is not a person that flags are evaluated for.
type User struct {
	ID         int64 // given by the store
	UUID       uuid.UUID
	DistinctID string // unique
	Active     bool
	Staff      bool
	Joined     time.Time

	// Email is unique, and as PendingEmail in lower case. PendingEmail is what
	// Email becomes when it is verified; "" if no change is under way.
	Email         string
	PendingEmail  string
	EmailVerified *bool // nil: nobody has asked

	// PasswordHash is in PHC format; "" or beginning with ! if there is no
	// usable password.
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

// hasPassword reports whether a user has a password that can be used.
func (u *User) hasPassword() bool { return u.PasswordHash != "" && u.PasswordHash[0] != '!' }

// pendingEmail returns the address that is to be verified, nil for none.
func (u *User) pendingEmail() *string {
	if u.PendingEmail == "" {
		return nil
	}
	return &u.PendingEmail
}

func (u *User) columnConfig() json.RawMessage {
	return orJSON(u.EventsColumnConfig, `{"active":"DEFAULT"}`)
}

func (u *User) shortcutPosition() string { return *cmp.Or(u.ShortcutPosition, new("above")) }

// A PersonalKey is a personal API key, of which only the hash is known
// (management.md §1.2).
type PersonalKey struct {
	ID    string
	User  int64
	Label string // 1 to 40 characters
	Mask  string // the first and last four characters
	Hash  string // see [HashKey]; unique

	Scopes        []string    // none: all
	Projects      []int64     // to which the key is restricted; none: it is not
	Organizations []uuid.UUID // likewise

	Created    time.Time
	LastUsed   *time.Time
	LastRolled *time.Time
}

// A TOTP is the authenticator of a user (management.md §5).
type TOTP struct {
	User     int64
	Secret   []byte // sealed
	Drift    int    // offset of its clock, in steps
	LastStep int64  // that was used; none before counts again

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

// A BackupCode stands in for an authenticator, once.
type BackupCode struct {
	User    int64
	Hash    []byte // by which it is found; keyed
	Sealed  []byte // the code; nil if it is not to be shown again
	Created time.Time
}

// An EmailToken proves that somebody reads the mail of an address (management.md
// §6.3). A user has at most one.
type EmailToken struct {
	User     int64
	Hash     []byte // of the token in a link
	CodeHash []byte // keyed; of a code to type, or nil
	Target   string // the address
	Attempts int    // to guess the code
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
