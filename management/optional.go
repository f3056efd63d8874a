package management

import (
	"bytes"
	"encoding/json"
	"errors"
)

// An Optional is a field of a change: absent, null, or a value. Decoding JSON
// never fails: what has the wrong type is remembered, and reported in the order
// of fields when the change is validated.
type Optional[T any] struct {
	Set   bool
	Null  bool
	Value T

	raw json.RawMessage // what could not be decoded
}

// Of returns an Optional that is set.
func Of[T any](v T) Optional[T] { return Optional[T]{Set: true, Value: v} }

// UnmarshalJSON implements [json.Unmarshaler].
func (o *Optional[T]) UnmarshalJSON(b []byte) error {
	*o = Optional[T]{Set: true}
	if string(b) == "null" {
		o.Null = true
		return nil
	}
	if v, ok := any(&o.Value).(*json.RawMessage); ok {
		*v = bytes.Clone(b)
		return nil
	}
	decode := json.Unmarshal
	if v, ok := any(&o.Value).(*bool); ok {
		decode = func(b []byte, _ any) error { return decodeBool(b, v) }
	}
	if err := decode(b, &o.Value); err != nil {
		o.raw = bytes.Clone(b)
	}
	return nil
}

var errNotBoolean = errors.New("management: not a boolean")

// decodeBool reads what the public system takes for a boolean (management.md
// §2.3).
func decodeBool(b []byte, v *bool) error {
	text := string(bytes.Trim(b, `"`))
	if b[0] != '"' && text != "true" && text != "false" && text != "0" && text != "1" {
		return errNotBoolean
	}
	switch text {
	case "true", "True", "TRUE", "t", "T", "y", "Y", "yes", "Yes", "YES", "on", "On", "ON", "1":
		*v = true
	case "false", "False", "FALSE", "f", "F", "n", "N", "no", "No", "NO", "off", "Off", "OFF", "0":
		*v = false
	default:
		return errNotBoolean
	}
	return nil
}

func (o *Optional[T]) isSet() bool { return o.Set }

func (o *Optional[T]) leaveOut() { o.Set = false }

func (o *Optional[T]) sentJSON() json.RawMessage {
	if o.Null {
		return json.RawMessage("null")
	}
	return mustJSON(o.Value)
}

func equalPointers[T comparable](a, b *T) bool {
	return a == nil && b == nil || a != nil && b != nil && *a == *b
}
