package capture

import (
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
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
	Kind error  // ErrMalformed, ErrUnauthorized or ErrTooLarge
	Text string // one line for the client (wire.md §2.4)
}

func (e *RequestError) Error() string { return e.Text }
func (e *RequestError) Unwrap() error { return e.Kind }

// The refusals whose text is always the same.
var (
	errShape = &RequestError{ErrMalformed, "failed to hydrate events from request: non-engage request missing event name attribute"}
	errEmpty = &RequestError{ErrMalformed, "request holds no event"}
	errName  = &RequestError{ErrMalformed, "event submitted with an empty event name"}
	errID    = &RequestError{ErrMalformed, "event submitted without a distinct_id"}
	errOnly  = &RequestError{ErrMalformed, "payload empty after filtering invalid event types"}
	errMode  = &RequestError{ErrMalformed, "event submitted with invalid cookieless mode"}
	errMany  = &RequestError{ErrTooLarge, fmt.Sprintf("maximum event size exceeded: more than %d events in one request", MaxEvents)}

	errNoKey    = &RequestError{ErrUnauthorized, "event submitted without an api_key"}
	errKeys     = &RequestError{ErrUnauthorized, "batch submitted with inconsistent api_key values"}
	errLongKey  = &RequestError{ErrUnauthorized, "API key is not valid: too_long"}
	errASCIIKey = &RequestError{ErrUnauthorized, "API key is not valid: not_ascii"}
	errNullKey  = &RequestError{ErrUnauthorized, "API key is not valid: null_byte"}
	errPersonal = &RequestError{ErrUnauthorized, "API key is not valid: personal_api_key"}
)

// unparsable refuses a request that is no JSON or has a field of a wrong type.
func unparsable(format string, args ...any) error {
	return &RequestError{ErrMalformed, "failed to parse request: " + fmt.Sprintf(format, args...)}
}

// wrongField refuses a request because of one field.
func wrongField(name string, value jsonscan.Value, want string) error {
	return unparsable("field %q must be %s, not %s", name, want, describe(value))
}

// describe says what a value is. It quotes neither strings nor arrays and objects,
// because the API key may be in them.
func describe(v jsonscan.Value) string {
	switch v.Kind() {
	case jsonscan.String:
		return "a string"
	case jsonscan.Array:
		return "an array"
	case jsonscan.Object:
		return "an object"
	}
	return clip(v)
}

// clip shortens a value for an error.
func clip(value []byte) string {
	const maxValue = 60 // bytes
	if len(value) <= maxValue {
		return string(value)
	}
	n := maxValue
	for n > 0 && !utf8.RuneStart(value[n]) {
		n--
	}
	return string(value[:n]) + "…"
}
