package gen

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

const (
	maxDepth  = 12 // levels of a payload that become types
	maxFields = 64 // members of an object that becomes a struct
)

// A shapeKind is a kind of Go types.
type shapeKind int

const (
	goNull shapeKind = iota // only null was seen
	goBool
	goInt
	goFloat
	goString
	goSlice
	goStruct
	goRaw // json.RawMessage: values differ, or are of too many forms
)

// A shape is the Go type of a JSON value, inferred from all values that are known.
type shape struct {
	kind   shapeKind
	null   bool // null was seen
	elem   *shape
	fields map[string]*shape
}

// shapeOf returns the type that all values fit.
func shapeOf(values []json.RawMessage) *shape {
	var out *shape
	for _, raw := range values {
		d := json.NewDecoder(bytes.NewReader(raw))
		d.UseNumber()
		s, err := shapeFrom(d)
		if err != nil {
			return &shape{kind: goRaw}
		}
		out = merge(out, s)
	}
	if out == nil {
		return &shape{kind: goRaw}
	}
	return out.settled(0)
}

// shapeFrom returns the type of the next value. A member that an object has twice is
// decoded twice, so that its type fits both values.
func shapeFrom(d *json.Decoder) (*shape, error) {
	next, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch v := next.(type) {
	case bool:
		return &shape{kind: goBool}, nil
	case string:
		return &shape{kind: goString}, nil
	case json.Number:
		return &shape{kind: kindOfNumber(v)}, nil
	case json.Delim:
		out := &shape{kind: goSlice}
		if v == '{' {
			out = &shape{kind: goStruct, fields: make(map[string]*shape)}
		}
		for d.More() {
			name := ""
			if v == '{' {
				member, err := d.Token()
				if err != nil {
					return nil, err
				}
				name, _ = member.(string) // a member begins with nothing else
			}
			s, err := shapeFrom(d)
			switch {
			case err != nil:
				return nil, err
			case v == '{':
				out.fields[name] = merge(out.fields[name], s)
			default:
				out.elem = merge(out.elem, s)
			}
		}
		_, err := d.Token()
		return out, err
	}
	return &shape{kind: goNull, null: true}, nil
}

// kindOfNumber returns the kind that has the number as it is.
func kindOfNumber(n json.Number) shapeKind {
	if _, err := strconv.ParseInt(n.String(), 10, 64); err == nil {
		return goInt
	}
	if _, err := n.Float64(); err != nil || !strings.ContainsAny(n.String(), ".eE") {
		return goRaw
	}
	return goFloat
}

// merge returns the type of values of two types. Either may be nil.
func merge(a, b *shape) *shape {
	if a == nil {
		return b
	}
	if b == nil {
		return a
	}
	null := a.null || b.null
	out := &shape{kind: goRaw}
	switch {
	case a.kind == goNull:
		*out = *b
	case b.kind == goNull:
		*out = *a
	case a.kind == goInt && b.kind == goFloat, a.kind == goFloat && b.kind == goInt:
		out.kind = goFloat
	case a.kind != b.kind:
	case a.kind == goSlice:
		out.kind, out.elem = goSlice, merge(a.elem, b.elem)
	case a.kind == goStruct:
		out.kind, out.fields = goStruct, make(map[string]*shape)
		maps.Copy(out.fields, a.fields)
		for name, field := range b.fields {
			out.fields[name] = merge(out.fields[name], field)
		}
	default:
		out.kind = a.kind
	}
	out.null = null
	return out
}

// settled returns the type with everything that no type of Go describes well as free
// JSON.
func (s *shape) settled(depth int) *shape {
	out := *s
	switch {
	case s.kind == goNull, depth > maxDepth:
		out.kind = goRaw
	case s.kind == goSlice:
		out.elem = &shape{kind: goRaw}
		if s.elem != nil {
			out.elem = s.elem.settled(depth + 1)
		}
	case s.kind == goStruct:
		out.fields = make(map[string]*shape, len(s.fields))
		for name, field := range s.fields {
			if !tagged(name) {
				out.kind = goRaw
				break
			}
			out.fields[name] = field.settled(depth + 1)
		}
		if len(s.fields) == 0 || len(s.fields) > maxFields {
			out.kind = goRaw
		}
	}
	if out.kind == goRaw {
		out.fields, out.elem = nil, nil
	}
	return &out
}

// tagged reports whether a struct tag can name a member (package encoding/json).
func tagged(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("!#$%&()*+-./:;<=>?@[]^_{|}~ ", r) || r == unicode.ReplacementChar
	})
}

// pointer reports whether the type needs a pointer to say null.
func (s *shape) pointer() bool {
	return s.null && s.kind != goSlice && s.kind != goRaw
}

// names returns the members of an object in order.
func (s *shape) names() []string { return slices.Sorted(maps.Keys(s.fields)) }
