package capture

import (
	"encoding/json"
	"time"

	"github.com/google/uuid"
)

// An Event is something that happened, in the form in which it is stored. It holds
// everything on which its effect on persons and groups depends, so a Sink may apply
// the event at once or pass it on.
type Event struct {
	Project    int64
	UUID       uuid.UUID
	Name       string    // valid UTF-8 without NUL, not empty
	DistinctID string    // valid UTF-8 without NUL, not blank, at most 200 characters
	Time       time.Time // when it happened, in UTC with microseconds
	Received   time.Time // when it arrived, in UTC with microseconds

	// Properties is a JSON object without white space around it. Its members $set,
	// $set_once and $unset are person updates.
	Properties json.RawMessage

	// NoPerson says that the event is stored without any effect on persons and
	// groups, whatever its properties are.
	NoPerson bool

	// Trace is the traceparent of W3C Trace Context of the request that brought the event,
	// if somebody follows it. A stream takes it along, and a store leaves it out. Empty:
	// nobody does.
	Trace string
}

// Size returns about how many bytes an event takes in a stream: its name, distinct ID
// and properties, and 4 KiB for all else, which never takes more.
func (e *Event) Size() int {
	const beside = 4 << 10
	return len(e.Name) + len(e.DistinctID) + len(e.Properties) + beside
}
