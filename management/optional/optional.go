package optional

import (
	"bytes"
	"encoding/json"
	"errors"
)

// A Value is a field of a change: absent, null, or a value. The zero Value is
// absent.
type Value[T any] struct {
	Set   bool
	Null  bool
	Value T

	undecoded json.RawMessage
}

// Of returns a Value that is set.
func Of[T any](v T) Value[T] { return Value[T]{Set: true, Value: v} }

// Undecoded returns the JSON that [Value.UnmarshalJSON] could not decode, and nil
// if there is none.
func (o *Value[T]) Undecoded() json.RawMessage { return o.undecoded }

// UnmarshalJSON implements [json.Unmarshaler]. It returns no error for JSON of the
// wrong type, but keeps the JSON for [Value.Undecoded]. It keeps no memory of b.
func (o *Value[T]) UnmarshalJSON(b []byte) error {
	*o = Value[T]{Set: true}
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
		o.undecoded = bytes.Clone(b)
	}
	return nil
}

var errNotBoolean = errors.New("optional: not a boolean")

// decodeBool decodes all that the public system takes for a boolean (management.md
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
