package judge

import (
	"errors"
	"math"
	"strconv"
	"strings"

	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
	"github.com/flagstaff-go/flagstaff/internal/text"
)

// Limits of the filters of one flag or cohort (management.md §15.2).
const (
	maxBytes = 256 << 10 // bytes
	maxDepth = 64        // levels of nesting of JSON
)

// parse checks that raw is a JSON object.
func parse(raw []byte) (object, error) {
	if err := checkSize(len(raw)); err != nil {
		return object{}, err
	}
	root, err := jsonscan.Parse(raw, maxDepth)
	if err != nil {
		if e, ok := errors.AsType[*jsonscan.SyntaxError](err); ok {
			return object{}, refuse("must be JSON: %s at byte %d", e.Msg, e.Offset)
		}
		return object{}, refuse("must be JSON")
	}
	if root.Kind() != jsonscan.Object {
		return object{}, unfit(root, "an object")
	}
	return membersOf(root), nil
}

// checkSize checks the number of bytes of filters, as they are sent or stored.
func checkSize(n int) error {
	if n > maxBytes {
		return refuse("must have at most %d bytes, not %d", maxBytes, n)
	}
	return nil
}

// An object is a decoded JSON object. Of members with the same name the last one
// counts (management.md §15.1 A24).
type object struct {
	names  []string // in the order of their first appearance
	values map[string]jsonscan.Value
}

// membersOf returns the members of an object; none if v is something else.
func membersOf(v jsonscan.Value) object {
	o := object{values: make(map[string]jsonscan.Value)}
	for m := v.Object(); m.Next(); {
		o.set(string(m.Name()), m.Value())
	}
	return o
}

func (o *object) set(name string, v jsonscan.Value) {
	if _, ok := o.values[name]; !ok {
		o.names = append(o.names, name)
	}
	o.values[name] = v
}

// append writes the object with its values as they are.
func (o *object) append(dst []byte) []byte {
	dst = append(dst, '{')
	for i, name := range o.names {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(append(text.AppendQuoted(dst, name), ':'), o.values[name]...)
	}
	return append(dst, '}')
}

// present reports whether a member is there: null says as much as nothing.
func present(v jsonscan.Value) bool {
	return v.Kind() != jsonscan.Invalid && v.Kind() != jsonscan.Null
}

// str decodes a string; ok is false for anything else.
func str(v jsonscan.Value) (s string, ok bool) {
	b, ok := v.AppendString(nil)
	return string(b), ok
}

// checkNUL refuses text that some databases cannot store in JSON.
func checkNUL(s string) error {
	if strings.Contains(s, "\x00") {
		return refuse("must not contain the character NUL")
	}
	return nil
}

// plainText decodes a string.
func plainText(v jsonscan.Value, want string) (string, error) {
	s, ok := str(v)
	if !ok {
		return "", unfit(v, want)
	}
	return s, checkNUL(s)
}

// optionalText reads a member that may be missing.
func optionalText(v jsonscan.Value) (*string, error) {
	if !present(v) {
		return nil, nil
	}
	s, err := plainText(v, "text")
	return &s, err
}

func optionalBool(v jsonscan.Value) (*bool, error) {
	if !present(v) {
		return nil, nil
	}
	b, ok := v.Bool()
	if !ok {
		return nil, unfit(v, "true or false")
	}
	return &b, nil
}

// percentage reads a share; fractions are allowed.
func percentage(v jsonscan.Value) (float64, error) {
	f, ok := v.Float()
	if !ok || f < 0 || f > 100 {
		return 0, unfit(v, "a number from 0 to 100")
	}
	return math.Abs(f), nil // for there is a negative zero
}

// integer reads a number without a fraction, however it is written.
func integer(v jsonscan.Value) (int64, bool) {
	if v.Kind() != jsonscan.Number {
		return 0, false
	}
	if n, err := strconv.ParseInt(string(v), 10, 64); err == nil {
		return n, true
	}
	f, ok := v.Float()
	if !ok || math.Abs(f) >= 1<<53 || f != math.Trunc(f) {
		return 0, false
	}
	return int64(f), true
}

// appendValue appends a value that is kept for the engine, which tells 1 from
// 1.0: numbers stay as they are written, and everything else becomes the same
// whichever way it is written.
func appendValue(dst []byte, v jsonscan.Value) ([]byte, error) {
	var err error
	switch v.Kind() {
	case jsonscan.String:
		s, err := plainText(v, "text")
		return text.AppendQuoted(dst, s), err
	case jsonscan.Number:
		if _, ok := v.Float(); !ok {
			return dst, unfit(v, "a number that a double-precision float can hold")
		}
		return append(dst, v...), nil
	case jsonscan.Array:
		dst = append(dst, '[')
		i := 0
		for a := v.Array(); a.Next(); i++ {
			if i > 0 {
				dst = append(dst, ',')
			}
			if dst, err = appendValue(dst, a.Value()); err != nil {
				return dst, within(i, err)
			}
		}
		return append(dst, ']'), nil
	case jsonscan.Object:
		o := membersOf(v)
		for _, name := range o.names {
			if err := checkNUL(name); err != nil {
				return dst, err
			}
			if o.values[name], err = appendValue(nil, o.values[name]); err != nil {
				return dst, within(shorten(name), err)
			}
		}
		return o.append(dst), nil
	default:
		return append(dst, v...), nil
	}
}
