package rules

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
	"github.com/flagstaff-go/flagstaff/internal/judge"
	"github.com/flagstaff-go/flagstaff/internal/text"
)

// Limits of a document (management.md §15.2, 13).
const (
	maxDocument = 256 << 10 // bytes
	maxDepth    = 64
)

// normal returns a JSON document in the form in which documents are stored:
// compact, with members in the order of the input and each name once, numbers
// as written, and strings without unnecessary escapes.
func normal(attr string, raw json.RawMessage) (json.RawMessage, error) {
	v, err := jsonscan.Parse(raw, maxDepth)
	if err != nil || !utf8.Valid(v) {
		return nil, judge.Invalid(attr, "Value must be valid JSON, nested no more than %d levels deep.", maxDepth)
	}
	doc := appendNormal(make([]byte, 0, len(v)), v)
	// Databases refuse null characters in JSON, and only attacks contain them.
	if hasNull(doc) {
		return nil, judge.New(attr, "null_characters_not_allowed", "Null characters are not allowed.")
	}
	return sized(attr, doc)
}

// sized returns a document unless it is too large.
func sized(attr string, doc json.RawMessage) (json.RawMessage, error) {
	if len(doc) > maxDocument {
		return nil, judge.Invalid(attr, "Ensure this value has no more than %d bytes.", maxDocument)
	}
	return doc, nil
}

// appendNormal appends the normal form of a valid value.
func appendNormal(dst []byte, v jsonscan.Value) []byte {
	switch v.Kind() {
	case jsonscan.Object:
		o, _ := decodeObject(json.RawMessage(v))
		for i, m := range o {
			o[i].value = appendNormal(nil, jsonscan.Value(m.value))
		}
		return o.append(dst)
	case jsonscan.Array:
		list, _ := decodeList(json.RawMessage(v))
		for i, e := range list {
			list[i] = appendNormal(nil, jsonscan.Value(e))
		}
		return appendList(dst, list)
	case jsonscan.String:
		dst, _ = text.AppendJSON(dst, v)
		return dst
	}
	return append(dst, v...)
}

// hasNull reports whether a string in a normal document contains U+0000, which
// the normal form always escapes.
func hasNull(doc []byte) bool {
	for i := 0; i < len(doc); i++ {
		if doc[i] == '\\' {
			if bytes.HasPrefix(doc[i:], []byte(`\u0000`)) {
				return true
			}
			i++
		}
	}
	return false
}

// An object is a JSON object, decoded by one level, in the order of the input.
// If a name occurs several times, the last value stands in the place of the
// first.
type object []member

type member struct {
	name  string
	value json.RawMessage
}

func decodeObject(raw json.RawMessage) (object, bool) {
	o := object{}
	index := make(map[string]int)
	walk := jsonscan.Value(raw).Object()
	for walk.Next() {
		key := walk.Name()
		value := json.RawMessage(walk.Value())
		if i, ok := index[string(key)]; ok {
			o[i].value = value
			continue
		}
		index[string(key)] = len(o)
		o = append(o, member{string(key), value})
	}
	return o, walk.Err() == nil
}

// get returns the value of a member, or nil if it is missing or null.
func (o object) get(name string) json.RawMessage {
	for _, m := range o {
		if m.name == name && !isNull(m.value) {
			return m.value
		}
	}
	return nil
}

// set changes the value of a member. A new member becomes the first one.
func (o object) set(name string, value json.RawMessage) object {
	for i, m := range o {
		if m.name == name {
			o[i].value = value
			return o
		}
	}
	return append(object{{name, value}}, o...)
}

func (o object) append(dst []byte) []byte {
	dst = append(dst, '{')
	for i, m := range o {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(text.AppendQuoted(dst, m.name), ':')
		dst = append(dst, m.value...)
	}
	return append(dst, '}')
}

func decodeList(raw json.RawMessage) ([]json.RawMessage, bool) {
	list := []json.RawMessage{}
	walk := jsonscan.Value(raw).Array()
	for walk.Next() {
		list = append(list, json.RawMessage(walk.Value()))
	}
	return list, walk.Err() == nil
}

func appendList(dst []byte, list []json.RawMessage) []byte {
	dst = append(dst, '[')
	for i, v := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, v...)
	}
	return append(dst, ']')
}

func isNull(raw json.RawMessage) bool { return jsonscan.Value(raw).Kind() == jsonscan.Null }

func decodeString(raw json.RawMessage) (string, bool) {
	b, ok := jsonscan.Value(raw).AppendString(nil)
	return string(b), ok
}

// stringOf returns the text of a string, and "" for any other value.
func stringOf(raw json.RawMessage) string {
	s, _ := decodeString(raw)
	return s
}

func isTrue(raw json.RawMessage) bool { return string(raw) == "true" }

// decodeInteger reads a whole number. 5.0 is one: clients cannot tell it from
// 5.
func decodeInteger(raw json.RawMessage) (int, bool) {
	x, ok := jsonscan.Value(raw).Float()
	if !ok || x != math.Trunc(x) || math.Abs(x) > math.MaxInt32 {
		return 0, false
	}
	return int(x), true
}

// A place is the position of a value in a document.
type place struct {
	attr string
	path []string // the steps from the document to the value
}

// in returns the place of a member of the object at p.
func (p place) in(name string) place {
	return place{p.attr, append(slices.Clip(p.path), excerpt(name))}
}

// at returns the place of an element of the list at p; the first one is at(0).
func (p place) at(i int) place { return p.in(strconv.Itoa(i)) }

// invalid returns an error about the value at p.
func (p place) invalid(format string, args ...any) error {
	return p.fault("invalid_input", format, args...)
}

func (p place) fault(code, format string, args ...any) error {
	return &judge.Error{Attr: p.attr, Path: p.path, Code: code, Detail: fmt.Sprintf(format, args...)}
}

// excerpt returns as much of a name as an error may quote.
func excerpt(name string) string { return strings.ToValidUTF8(name[:min(len(name), 50)], "") }
