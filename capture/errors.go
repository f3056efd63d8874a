package capture

import (
	"errors"
	"fmt"

	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
	"github.com/flagstaff-go/flagstaff/internal/keykind"
)

// The kinds of [RequestError].
var (
	// ErrMalformed: no server will ever understand the request, and nothing of it
	// is stored.
	ErrMalformed = errors.New("capture: malformed request")

	// ErrUnauthorized: the request has no usable API key.
	ErrUnauthorized = errors.New("capture: no usable API key")

	// ErrTooLarge: the request has more events than one request may have.
	ErrTooLarge = errors.New("capture: request too large")
)

// A RequestError says why the events of a request are refused as a whole.
type RequestError struct {
	Kind error  // [ErrMalformed], [ErrUnauthorized] or [ErrTooLarge]
	Code string // for programs (wire.md §2.4)
	Attr string // the field at fault; "" for the request as a whole
	Text string // one line for people
}

func (e *RequestError) Error() string { return e.Text }
func (e *RequestError) Unwrap() error { return e.Kind }

// The refusals whose text is always the same.
var (
	errUTF8  = &RequestError{ErrMalformed, codeParse, "", "failed to decode request: body is not UTF-8"}
	errShape = &RequestError{ErrMalformed, "required", "event", "failed to hydrate events from request: non-engage request missing event name attribute"}
	errEmpty = &RequestError{ErrMalformed, "required", "batch", "request holds no event"}
	errName  = &RequestError{ErrMalformed, "blank", "event", "event submitted with an empty event name"}
	errID    = &RequestError{ErrMalformed, "required", "distinct_id", "event submitted without a distinct_id"}
	errOnly  = &RequestError{ErrMalformed, codeInvalid, "event", "payload empty after filtering invalid event types"}
	errMode  = &RequestError{ErrMalformed, codeInvalid, "$cookieless_mode", "event submitted with invalid cookieless mode"}
	errMany  = &RequestError{ErrTooLarge, codeTooLarge, "batch", fmt.Sprintf("maximum event size exceeded: more than %d events in one request", MaxEvents)}

	errNoKey    = &RequestError{ErrUnauthorized, "not_authenticated", "api_key", "event submitted without an api_key"}
	errKeys     = &RequestError{ErrUnauthorized, codeKey, "api_key", "batch submitted with inconsistent api_key values"}
	errLongKey  = &RequestError{ErrUnauthorized, codeKey, "api_key", "API key is not valid: too_long"}
	errASCIIKey = &RequestError{ErrUnauthorized, codeKey, "api_key", "API key is not valid: not_ascii"}
	errNullKey  = &RequestError{ErrUnauthorized, codeKey, "api_key", "API key is not valid: null_byte"}
	errPersonal = &RequestError{
		ErrUnauthorized, codeKey, "api_key",
		"API key is not valid: personal_api_key: " + keykind.Mistaken("phx_", "this route", keykind.Project),
	}
)

// Codes that several refusals have.
const (
	codeParse    = "parse_error"
	codeInvalid  = "invalid_input"
	codeTooLarge = "request_too_large"
	codeKey      = "authentication_failed"
)

// notJSON refuses a request that is not JSON.
func notJSON(err error) error {
	return &RequestError{ErrMalformed, codeParse, "", fmt.Sprintf("failed to parse request: invalid JSON: %v", err)}
}

// notEvents refuses a request that is JSON and holds something else than events.
func notEvents(v jsonscan.Value, what, want string) error {
	return &RequestError{ErrMalformed, codeInvalid, "", fmt.Sprintf("failed to parse request: %s must be %s, not %s", what, want, v.Describe())}
}

// wrongField refuses a request because of one field.
func wrongField(name string, value jsonscan.Value, want string) error {
	return wrongValue(name, value.Describe(), want)
}

func wrongValue(name, value, want string) error {
	return &RequestError{ErrMalformed, codeInvalid, name, fmt.Sprintf("failed to parse request: field %q must be %s, not %s", name, want, value)}
}

// tooLarge refuses a request because of one event.
func tooLarge(size, most int) error {
	return &RequestError{ErrTooLarge, codeTooLarge, "properties", fmt.Sprintf("maximum event size exceeded: an event has %d bytes, want at most %d", size, most)}
}
