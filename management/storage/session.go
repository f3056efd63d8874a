package storage

import (
	"time"

	"github.com/google/uuid"
)

// A Session is a browser in which a user is signed in (management.md §5.9). The browser
// has a token, of which only the hash is kept.
type Session struct {
	ID   uuid.UUID
	User int64
	Hash []byte // of the token; unique

	// Pending says that the user has still to present the second factor. Such a session
	// opens nothing.
	Pending bool

	Address string // the network address that it was last seen at; "" if that is not known
	Browser string // in words; "" if that is not known
	Created time.Time
	Seen    time.Time // the last request, give or take a minute
}
