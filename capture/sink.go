package capture

import (
	"context"
	"fmt"
)

// A Sink takes events. It must be safe for concurrent use.
type Sink interface {
	// Write stores events and applies what they say about persons and groups, in
	// their order. It returns nil only when all of them are durable.
	//
	// An event that was stored before counts as stored: only one event with the
	// same project, UTC date of Time, Name, DistinctID and UUID is kept (wire.md
	// §2.7). So a Write whose outcome is unknown can be repeated.
	//
	// If the error is, or joins, only [*EventError]s, all other events are durable.
	// After any other error nothing is known about any event. Write must not keep
	// the slice, nor the memory of Properties.
	Write(ctx context.Context, events []Event) error
}

// An EventError says that one event can never be stored, however often it is tried.
type EventError struct {
	Index int // in the slice that was passed to Write
	Err   error
}

func (e *EventError) Error() string { return fmt.Sprintf("event %d: %v", e.Index, e.Err) }
func (e *EventError) Unwrap() error { return e.Err }

// Faults takes apart the error of a [Sink.Write] of n events. If the error is nil,
// or is or joins only [*EventError]s with indexes below n, only is true: the events
// in list cannot be stored, and all others are durable. The list has the order of
// the error, and each event once. Otherwise nothing is known about any event, and
// list is nil.
func Faults(err error, n int) (list []*EventError, only bool) {
	if err == nil {
		return nil, true
	}
	seen := make(map[int]bool)
	var walk func(error) bool
	walk = func(err error) bool {
		switch e := err.(type) {
		case *EventError:
			if e.Index < 0 || e.Index >= n {
				return false
			}
			if !seen[e.Index] {
				seen[e.Index] = true
				list = append(list, e)
			}
			return true
		case interface{ Unwrap() []error }:
			for _, inner := range e.Unwrap() {
				if !walk(inner) {
					return false
				}
			}
			return len(e.Unwrap()) > 0
		}
		return false
	}
	if !walk(err) {
		return nil, false
	}
	return list, true
}
