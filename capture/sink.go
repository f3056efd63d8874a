package capture

import (
	"context"
	"fmt"
)

// A Sink takes events. It must be safe for concurrent use.
type Sink interface {
	// Write stores events and applies what they say about persons and groups,
	// in their order. It returns nil only when all of them are durable.
	//
	// Events that were stored before count as stored: of those with the same
	// project, UTC date of Time, Name, DistinctID and UUID only one is kept
	// (wire.md §2.7). So a Write whose outcome is unknown can be repeated.
	//
	// If the error is, or joins, only [*EventError]s, all other events are
	// durable. After any other error nothing is known of any event. Write must
	// not keep the slice, nor what Properties refer to.
	Write(ctx context.Context, events []Event) error
}

// An EventError says that one event cannot be stored, however often it is tried.
type EventError struct {
	Index int // in the slice that was passed to Write
	Err   error
}

func (e *EventError) Error() string { return fmt.Sprintf("event %d: %v", e.Index, e.Err) }
func (e *EventError) Unwrap() error { return e.Err }
