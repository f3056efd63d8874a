package faulttest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// A Fault is a wrong value of one field of a flag or of a survey. Paths are names of members and
// indices of elements, with slashes.
type Fault struct {
	Path  string // of the field
	Value string // as JSON
	At    string // where errors say that the fault is, if not at Path
	Whole bool   // it is a fault of the whole thing, for which the attr of the API is null
	Text  string // a part of what is said of the value, without its place

	// Field is the ID of the field in the console's form, and Typed what somebody types
	// there, if it is not the value. Without an ID the form has no field for it, or none
	// that takes a wrong value. Beside is the ID of the field at which the message
	// stands, if it is another one.
	Field, Typed, Beside string

	// Check is the severity that the command check gives it, "" for an error. It is "none" for
	// what check does not look at: what evaluation does not need may be anything in a document.
	Check string
}

// Place returns where errors say that the fault is.
func (f *Fault) Place() string {
	if f.At != "" {
		return f.At
	}
	return f.Path
}

// Attr returns the attr of the API, "" for null.
func (f *Fault) Attr() string {
	if f.Whole {
		return ""
	}
	attr, _, _ := strings.Cut(f.Place(), "/")
	return attr
}

// Inner returns the part of the place that is not the attr.
func (f *Fault) Inner() string {
	if f.Whole {
		return f.Place()
	}
	_, inner, _ := strings.Cut(f.Place(), "/")
	return inner
}

// In returns a flag or a survey with the value at its path.
func (f *Fault) In(document string) string {
	d := json.NewDecoder(strings.NewReader(document))
	d.UseNumber()
	var root any
	if err := d.Decode(&root); err != nil {
		panic(err)
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(put(root, strings.Split(f.Path, "/"), json.RawMessage(f.Value))); err != nil {
		panic(fmt.Sprintf("%s: %v", f.Path, err))
	}
	return b.String()
}

// put sets a value in decoded JSON. Objects and lists on the way to it must be there.
func put(in any, path []string, value any) any {
	if len(path) == 0 {
		return value
	}
	switch in := in.(type) {
	case map[string]any:
		in[path[0]] = put(in[path[0]], path[1:], value)
		return in
	case []any:
		i, err := strconv.Atoi(path[0])
		if err != nil || i >= len(in) {
			panic("there is no element " + path[0])
		}
		in[i] = put(in[i], path[1:], value)
		return in
	}
	panic("there is nothing at " + strings.Join(path, "/"))
}

// Missing returns which of some fields have no fault in a list, in order, but for those that
// may have any value.
func Missing(faults []Fault, fields, free []string) []string {
	return slices.DeleteFunc(slices.Clone(fields), func(field string) bool {
		return slices.Contains(free, field) || slices.ContainsFunc(faults, func(f Fault) bool { return f.Path == field })
	})
}

// Fields returns the paths of the members of a struct that stand in JSON, and of the structs
// in it. Of a list it is the first element; a [*optional.Value] counts as its value.
func Fields(t reflect.Type) []string { return fieldsAt(t, "") }

func fieldsAt(t reflect.Type, at string) (paths []string) {
	switch t.Kind() {
	case reflect.Pointer:
		return fieldsAt(t.Elem(), at)
	case reflect.Slice:
		return fieldsAt(t.Elem(), at+"/0")
	case reflect.Struct:
	default:
		return nil
	}
	if value, ok := t.FieldByName("Value"); ok && strings.HasSuffix(t.PkgPath(), "/optional") {
		return fieldsAt(value.Type, at)
	}
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" || name == "-" {
			continue
		}
		path := strings.TrimPrefix(at+"/"+name, "/")
		paths = append(append(paths, path), fieldsAt(f.Type, path)...)
	}
	return paths
}
