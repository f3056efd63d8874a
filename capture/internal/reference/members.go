package reference

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

type member struct {
	name string
	raw  json.RawMessage
}

// members returns the members of a JSON object in the order in which they are
// written, and false if s is anything else. Of members with the same name only
// the last is there.
func members(s string) ([]member, bool) {
	d := json.NewDecoder(strings.NewReader(s))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, false
	}
	all := []member{}
	for d.More() {
		t, err := d.Token()
		name, isString := t.(string)
		var raw json.RawMessage
		if err != nil || !isString || d.Decode(&raw) != nil {
			return nil, false
		}
		all = slices.DeleteFunc(all, func(m member) bool { return m.name == name })
		all = append(all, member{name, raw})
	}
	if _, err := d.Token(); err != nil { // the closing brace
		return nil, false
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, false
	}
	return all, true
}

// decode returns the value of a JSON text, with numbers as they are written.
func decode(raw json.RawMessage) any {
	d := json.NewDecoder(strings.NewReader(string(raw)))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		panic(fmt.Sprintf("reference: decode %q: %v", raw, err)) // members has checked it
	}
	return v
}

// object returns v if it is a JSON object, and an empty one otherwise.
func object(v any) map[string]any {
	if o, ok := v.(map[string]any); ok {
		return o
	}
	return map[string]any{}
}

// textOf returns a string, or a number as /flags writes it: integers as they are,
// others with the fewest digits and a fraction. Nothing else is a text.
func textOf(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case json.Number:
		return number(v.String()), true
	}
	return "", false
}

// number covers the numbers that Generate makes, not all sizes.
func number(literal string) string {
	if literal != "-0" && !strings.ContainsAny(literal, ".eE") {
		return literal
	}
	x, err := strconv.ParseFloat(literal, 64)
	if err != nil {
		panic(err)
	}
	s := strconv.FormatFloat(x, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}
