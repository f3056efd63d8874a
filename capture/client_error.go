package capture

import (
	"errors"
	"fmt"
)

var (
	// ErrQueueFull is returned for an event that was dropped because too many
	// events, or too large ones, wait already.
	ErrQueueFull = errors.New("capture: the client's queue is full")

	// ErrClientClosed is returned for an event that comes after Close.
	ErrClientClosed = errors.New("capture: the client is closed")
)

// A FieldError says which field of an event cannot be sent, and why.
type FieldError struct {
	Field   string // the name of the Go field, such as "Name"
	Value   string // the value, shortened; "" if it says nothing
	Allowed string // the allowed values
	Err     error  // may be nil
}

func (e *FieldError) Error() string {
	s := "capture: " + e.Field
	if e.Value != "" {
		s += " " + e.Value
	}
	s += ": must be " + e.Allowed
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

func (e *FieldError) Unwrap() error { return e.Err }

// A LostError counts events that were accepted, or exposures that were reported,
// and will not be delivered.
type LostError struct {
	Count int

	// Err is the reason: [ErrQueueFull], a [*FieldError], an [*EventError], a
	// [*ResponseError], the error of the last attempt, or why the context of Close
	// ended.
	Err error
}

func (e *LostError) Error() string {
	if e.Count == 1 {
		return fmt.Sprintf("capture: lost 1 event: %v", e.Err)
	}
	return fmt.Sprintf("capture: lost %d events: %v", e.Count, e.Err)
}

func (e *LostError) Unwrap() error { return e.Err }

// A ResponseError is an answer other than success. It never shows the API key.
type ResponseError struct {
	Status int
	Text   string // the beginning of the answer's first line, may be empty
}

func (e *ResponseError) Error() string {
	s := fmt.Sprintf("the server answered %d", e.Status)
	if e.Text != "" {
		s += fmt.Sprintf(" %q", e.Text)
	}
	if hint := e.hint(); hint != "" {
		s += " (" + hint + ")"
	}
	return s
}

func (e *ResponseError) hint() string {
	switch {
	case e.Status >= 300 && e.Status < 400:
		return "redirects are not followed: set URL to where they lead"
	case e.Status == 401:
		return "check APIKey"
	case e.Status == 404 || e.Status == 405:
		return "check URL: the path of a route such as /batch/ is not part of it"
	}
	return ""
}
