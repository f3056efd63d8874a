package storage

import (
	"time"

	"github.com/google/uuid"
)

// An Invitation asks the reader of an address to become a member of an organization
// (management.md §8.5). An organization has at most one for an address.
type Invitation struct {
	ID           uuid.UUID
	Organization uuid.UUID
	Email        string // as a user's
	FirstName    string // proposed for a new account
	Level        int    // of the future member
	Hash         []byte // of the token in the link that was shown; unique
	CreatedBy    int64
	Created      time.Time
	Expires      time.Time
}
