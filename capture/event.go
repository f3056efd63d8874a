package capture

import (
	"encoding/json"
	"time"

	"github.com/google/uuid"
)

// An Event is something that happened, as it is stored. It holds everything
// that its effect on persons and groups depends on, so that a Sink may apply it
// at once or pass it on.
type Event struct {
	Project    int64
	UUID       uuid.UUID
	Name       string    // valid UTF-8 without NUL, not empty
	DistinctID string    // valid UTF-8 without NUL, not blank, at most 200 characters
	Time       time.Time // when it happened, in UTC with microseconds
	Received   time.Time // when it arrived, in UTC with microseconds

	// Properties is a JSON object without white space around it. Person
	// updates are its members $set, $set_once and $unset.
	Properties json.RawMessage

	// NoPerson says that the event is stored without any effect on persons and
	// groups, whatever its properties are.
	NoPerson bool
}
