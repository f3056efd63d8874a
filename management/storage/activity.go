package storage

import (
	"encoding/json"
	"time"

	"github.com/google/uuid"
)

// An Activity is an entry of the activity log: who changed what.
type Activity struct {
	ID           uuid.UUID
	Project      *int64
	Organization *uuid.UUID
	User         *int64 // who did it; nil: the system, or a user that is gone
	System       bool
	Impersonated bool
	Activity     string // created, updated, deleted and so on
	Scope        string // the kind of thing, as User
	ItemID       string
	Detail       json.RawMessage // never with a secret
	Created      time.Time
}
