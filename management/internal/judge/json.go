package judge

import (
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
	"github.com/flagstaff-go/flagstaff/internal/members"
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
	members []member       // in the order of their first appearance
	places  map[string]int // of the members, once there are more than fewMembers
}

type member struct {
	name  string
	value jsonscan.Value
}

// fewMembers is how many members of an object are searched one by one at most.
// Objects that somebody has written have fewer.
const fewMembers = 16

// membersOf returns the members of an object; none if v is something else.
func membersOf(v jsonscan.Value) object {
	var o object
	for m := v.Object(); m.Next(); {
		if o.members == nil {
			o.members = make([]member, 0, 4)
		}
		o.set(nameOf(m.Name()), m.Value())
	}
	return o
}

// memberOf returns a member of an object, nil if there is none.
func memberOf(v jsonscan.Value, name string) (found jsonscan.Value) {
	for m := v.Object(); m.Next(); {
		if string(m.Name()) == name {
			found = m.Value()
		}
	}
	return found
}

// names has the names that members mostly have, to share their memory.
var names = func() map[string]string {
	list := make(map[string]string)
	for _, s := range []*members.Shape{members.Filters, members.Condition, members.Filter, members.Multivariate, members.Variant, members.Holdout, members.Criteria, members.Node} {
		for name := range s.Names() {
			list[name] = name
		}
	}
	return list
}()

func nameOf(b []byte) string {
	if name, ok := names[string(b)]; ok {
		return name
	}
	return string(b)
}

// find returns the place of a member, -1 if there is none.
func (o *object) find(name string) int {
	if o.places != nil {
		if i, ok := o.places[name]; ok {
			return i
		}
		return -1
	}
	for i := range o.members {
		if o.members[i].name == name {
			return i
		}
	}
	return -1
}

// get returns the value of a member, nil if there is none.
func (o *object) get(name string) jsonscan.Value {
	if i := o.find(name); i >= 0 {
		return o.members[i].value
	}
	return nil
}

func (o *object) has(name string) bool { return o.find(name) >= 0 }

func (o *object) set(name string, v jsonscan.Value) {
	if i := o.find(name); i >= 0 {
		o.members[i].value = v
		return
	}
	o.members = append(o.members, member{name, v})
	switch n := len(o.members); {
	case o.places != nil:
		o.places[name] = n - 1
	case n > fewMembers:
		o.number()
	}
}

// number notes the places of the members, if there are many.
func (o *object) number() {
	o.places = nil
	if len(o.members) <= fewMembers {
		return
	}
	o.places = make(map[string]int, len(o.members))
	for i := range o.members {
		o.places[o.members[i].name] = i
	}
}

// keep removes the members that shall not stay.
func (o *object) keep(stays func(name string) bool) {
	before := len(o.members)
	o.members = slices.DeleteFunc(o.members, func(m member) bool { return !stays(m.name) })
	if len(o.members) < before {
		o.number()
	}
}

func (o *object) remove(name string) {
	if o.has(name) {
		o.keep(func(other string) bool { return other != name })
	}
}

// append writes the object with its values as they are.
func (o *object) append(dst []byte) []byte {
	if dst == nil {
		size := len("{}")
		for i := range o.members {
			size += len(o.members[i].name) + len(`"":,`) + len(o.members[i].value)
		}
		dst = make([]byte, 0, size)
	}
	dst = append(dst, '{')
	for i := range o.members {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(append(text.AppendQuoted(dst, o.members[i].name), ':'), o.members[i].value...)
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
		for i := range o.members {
			m := &o.members[i]
			if err := checkNUL(m.name); err != nil {
				return dst, err
			}
			if m.value, err = appendValue(nil, m.value); err != nil {
				return dst, within(shorten(m.name), err)
			}
		}
		return o.append(dst), nil
	default:
		return append(dst, v...), nil
	}
}
