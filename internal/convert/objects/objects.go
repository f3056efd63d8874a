package objects

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// A Reader collects what is wrong with the objects that it reads.
type Reader struct{ Problems []string }

// Problem adds a problem.
func (r *Reader) Problem(format string, a ...any) {
	r.Problems = append(r.Problems, fmt.Sprintf(format, a...))
}

// An Object is an object with members. A null member is not there.
type Object struct {
	r       *Reader
	what    string
	members map[string]json.RawMessage
}

// Object reads an object, which is called what in problems, and whose members have known names.
func (r *Reader) Object(raw json.RawMessage, what string, known ...string) Object {
	o := Object{r: r, what: what}
	if raw == nil || json.Unmarshal(raw, &o.members) != nil || o.members == nil {
		r.Problem("%s is not an object, and counts as one without members.", what)
		return o
	}
	for _, name := range slices.Sorted(maps.Keys(o.members)) {
		if bytes.Equal(o.members[name], []byte("null")) {
			delete(o.members, name)
		} else if !slices.Contains(known, name) {
			r.Problem("%s has a member %q, which is not known: it does nothing.", what, name)
		}
	}
	return o
}

// Names returns the names of all members.
func (o Object) Names() []string { return slices.Sorted(maps.Keys(o.members)) }

// Has reports whether a member is there.
func (o Object) Has(name string) bool { return o.members[name] != nil }

// Raw returns a member, or nil.
func (o Object) Raw(name string) json.RawMessage { return o.members[name] }

// Object returns a member that is an object.
func (o Object) Object(name, what string, known ...string) Object {
	return o.r.Object(o.members[name], what, known...)
}

// Text returns a member that is a text, or "".
func (o Object) Text(name string) string { return member[string](o, name, "a text") }

// Bool returns a member that is true or false, or false.
func (o Object) Bool(name string) bool { return member[bool](o, name, "true or false") }

// Number returns a member that is a number, or 0.
func (o Object) Number(name string) float64 { return member[float64](o, name, "a number") }

// List returns a member that is an array, or nil.
func (o Object) List(name string) []json.RawMessage {
	return member[[]json.RawMessage](o, name, "an array")
}

// Texts returns a member that is an array of texts, or nil.
func (o Object) Texts(name string) (list []string) {
	for _, raw := range o.List(name) {
		var s *string
		if json.Unmarshal(raw, &s) != nil || s == nil {
			o.r.Problem("%s: %q has an element that is not a text: it does nothing.", o.what, name)
			continue
		}
		list = append(list, *s)
	}
	return list
}

func member[T any](o Object, name, want string) (v T) {
	if o.members[name] != nil && json.Unmarshal(o.members[name], &v) != nil {
		o.r.Problem("%s: %q is not %s, and counts as left out.", o.what, name, want)
		var zero T
		return zero
	}
	return v
}
