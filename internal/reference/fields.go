package reference

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// errShape is the kind of every decoding error: a value of the wrong JSON type.
var errShape = errors.New("unexpected JSON type")

// fields are the members of one JSON object. The methods below treat null like
// an absent member: they return the zero value or the given default. They store
// the first value of a wrong type in problem (§1.7).
//
// Names must match exactly, whereas decoding into a struct ignores case.
type fields struct {
	members map[string]json.RawMessage
	problem error
}

// decodeFields reads an object. Null and an absent object have no members.
func decodeFields(raw json.RawMessage) *fields {
	f := &fields{}
	if isNull(raw) {
		return f
	}
	if err := json.Unmarshal(raw, &f.members); err != nil {
		f.fail("object", raw)
	}
	return f
}

func (f *fields) fail(want string, raw json.RawMessage) {
	if f.problem == nil {
		f.problem = fmt.Errorf("%w: %s is not of type %s", errShape, raw, want)
	}
}

// has reports whether the member is present and not null.
func (f *fields) has(name string) bool { return !isNull(f.members[name]) }

func (f *fields) boolean(name string, absent bool) bool {
	if !f.has(name) {
		return absent
	}
	var b bool
	if json.Unmarshal(f.members[name], &b) != nil {
		f.fail("boolean", f.members[name])
		return absent
	}
	return b
}

// text returns nil for an absent or null string.
func (f *fields) text(name string) *string {
	if !f.has(name) {
		return nil
	}
	var s string
	if json.Unmarshal(f.members[name], &s) != nil {
		f.fail("string", f.members[name])
		return nil
	}
	return &s
}

// integer returns nil for an absent or null number.
func (f *fields) integer(name string) *int64 {
	if !f.has(name) {
		return nil
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(f.members[name])), 10, 64)
	if err != nil {
		f.fail("integer", f.members[name])
		return nil
	}
	return &n
}

// number returns nil for an absent or null number.
func (f *fields) number(name string) *float64 {
	if !f.has(name) {
		return nil
	}
	var x float64
	if json.Unmarshal(f.members[name], &x) != nil {
		f.fail("number", f.members[name])
		return nil
	}
	return &x
}

func (f *fields) array(name string) []json.RawMessage {
	if !f.has(name) {
		return nil
	}
	var elements []json.RawMessage
	if json.Unmarshal(f.members[name], &elements) != nil {
		f.fail("array", f.members[name])
	}
	return elements
}

func (f *fields) texts(name string) []string {
	var list []string
	for _, raw := range f.array(name) {
		var s string
		if json.Unmarshal(raw, &s) != nil {
			f.fail("string", raw)
		}
		list = append(list, s)
	}
	return list
}

func (f *fields) object(name string) *fields {
	o := decodeFields(f.members[name])
	if o.problem != nil {
		f.problem = errors.Join(f.problem, o.problem)
	}
	return o
}

// isNull reports whether raw is absent or the JSON null.
func isNull(raw json.RawMessage) bool {
	trimmed := bytes.TrimSpace(raw)
	return len(trimmed) == 0 || string(trimmed) == "null"
}

// decodeValue decodes any JSON value into nil, bool, json.Number, string, []any
// or map[string]any. For invalid JSON, which no caller passes, it returns nil.
func decodeValue(raw json.RawMessage) any {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var value any
	if decoder.Decode(&value) != nil {
		return nil
	}
	return value
}

// decodeMap decodes an object of free values. Any other value is an empty map.
func decodeMap(raw json.RawMessage) map[string]any {
	object, _ := decodeValue(raw).(map[string]any)
	return object
}

// integerValue accepts a JSON integer, or its text: an optional sign and digits
// (§5.5, §7.1).
func integerValue(value any) (int64, bool) {
	var digits string
	switch v := value.(type) {
	case json.Number:
		digits = v.String()
	case string:
		digits = v
	default:
		return 0, false
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	return n, err == nil
}
