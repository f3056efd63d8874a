package rules

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
	"github.com/flagstaff-go/flagstaff/internal/members"
	"github.com/flagstaff-go/flagstaff/internal/text"
)

// Limits of values. Lengths are in characters.
const (
	maxText    = 10_000
	maxPlain   = 4000 // for addresses and selectors
	maxCSS     = 500
	maxPattern = 1000 // bytes of a regular expression (management.md §15.2, 15)
	maxEntries = 200  // for lists and objects without another limit
)

// A check judges a value and returns the value to store in its place. It is not
// called for null, which editors write for values that are not set.
type check func(p place, v json.RawMessage) (json.RawMessage, error)

// members reads an object and checks its members. Members without a check are
// kept as they are, unless their name is a misspelt one.
func (p place) members(v json.RawMessage, checks map[string]check) (object, error) {
	o, ok := decodeObject(v)
	if !ok {
		return nil, p.invalid("must be an object.")
	}
	for i, m := range o {
		judge := checks[m.name]
		if judge == nil {
			if meant := misspelt(o, m.name, checks); meant != "" {
				return nil, p.in(m.name).fault("unknown_member", "is not a member here; did you mean %s?", meant)
			}
			continue
		}
		if isNull(m.value) {
			continue
		}
		checked, err := judge(p.in(m.name), m.value)
		if err != nil {
			return nil, err
		}
		o[i].value = checked
	}
	return o, nil
}

// misspelt returns the member with a check that an object lacks, and that has almost the
// name of another one; "" if there is none. A condition that is passed over would show
// the survey to everybody.
func misspelt(o object, name string, checks map[string]check) string {
	for _, meant := range slices.Sorted(maps.Keys(checks)) {
		if (members.Misspelt(name, meant) || name == meant+"s") && o.get(meant) == nil {
			return meant
		}
	}
	return ""
}

// objectOf returns a check of an object by its members.
func objectOf(checks map[string]check) check {
	return func(p place, v json.RawMessage) (json.RawMessage, error) {
		o, err := p.members(v, checks)
		if err != nil {
			return nil, err
		}
		return o.append(nil), nil
	}
}

// mapOf returns a check of an object whose members can have any name.
func mapOf(judge check) check {
	return func(p place, v json.RawMessage) (json.RawMessage, error) {
		o, ok := decodeObject(v)
		if !ok || len(o) > maxEntries {
			return nil, p.invalid("must be an object with at most %d members.", maxEntries)
		}
		for i, m := range o {
			checked, err := judge(p.in(m.name), m.value)
			if err != nil {
				return nil, err
			}
			o[i].value = checked
		}
		return o.append(nil), nil
	}
}

// listOf returns a check of a list, each of whose elements must pass judge.
// Null is not an element.
func listOf(most int, judge check) check {
	return func(p place, v json.RawMessage) (json.RawMessage, error) {
		list, ok := decodeList(v)
		if !ok || len(list) > most {
			return nil, p.invalid("must be a list of at most %d elements.", most)
		}
		for i, e := range list {
			checked, err := judge(p.at(i), e)
			if err != nil {
				return nil, err
			}
			list[i] = checked
		}
		return appendList(nil, list), nil
	}
}

// shown checks and cleans a text that is shown to people.
func shown(p place, v json.RawMessage) (json.RawMessage, error) {
	s, ok := decodeString(v)
	if !ok {
		return nil, p.invalid("must be a string.")
	}
	if utf8.RuneCountInString(s) > maxText {
		return nil, p.invalid("must have no more than %d characters.", maxText)
	}
	clean := Clean(s)
	if clean == s {
		return v, nil
	}
	// The cleaned text can be longer, because it has escapes.
	if utf8.RuneCountInString(clean) > maxText {
		return nil, p.invalid("must have no more than %d characters, with & as &amp; in HTML.", maxText)
	}
	return text.AppendQuoted(nil, clean), nil
}

// plain returns a check of a string that is not shown as HTML.
func plain(most int) check {
	return func(p place, v json.RawMessage) (json.RawMessage, error) {
		switch s, ok := decodeString(v); {
		case !ok:
			return nil, p.invalid("must be a string.")
		case utf8.RuneCountInString(s) > most:
			return nil, p.invalid("must have no more than %d characters.", most)
		}
		return v, nil
	}
}

// css checks a value that clients put into a style sheet: it must not contain
// anything that ends the declaration. Numbers are allowed.
func css(p place, v json.RawMessage) (json.RawMessage, error) {
	if jsonscan.Value(v).Kind() == jsonscan.Number {
		return v, nil
	}
	switch s, ok := decodeString(v); {
	case !ok:
		return nil, p.invalid("must be a string.")
	case utf8.RuneCountInString(s) > maxCSS:
		return nil, p.invalid("must have no more than %d characters.", maxCSS)
	case strings.ContainsAny(s, ";{}<>") || strings.Contains(s, "/*"):
		return nil, p.invalid("must be one value of CSS, without any of ; { } < > /*.")
	}
	return v, nil
}

// color is css without numbers.
func color(p place, v json.RawMessage) (json.RawMessage, error) {
	if jsonscan.Value(v).Kind() != jsonscan.String {
		return nil, p.invalid("must be a string.")
	}
	return css(p, v)
}

func boolean(p place, v json.RawMessage) (json.RawMessage, error) {
	if _, ok := jsonscan.Value(v).Bool(); !ok {
		return nil, p.invalid("must be true or false.")
	}
	return v, nil
}

// oneOf returns a check of a string that must be one of values.
func oneOf(values ...string) check {
	return func(p place, v json.RawMessage) (json.RawMessage, error) {
		if s, ok := decodeString(v); !ok || !slices.Contains(values, s) {
			return nil, p.invalid("must be one of %s.", strings.Join(values, ", "))
		}
		return v, nil
	}
}

// contentType checks the member that says whether a text is HTML.
var contentType = oneOf("text", "html")

func notNegative(p place, v json.RawMessage) (json.RawMessage, error) {
	if x, ok := jsonscan.Value(v).Float(); !ok || x < 0 {
		return nil, p.invalid("must be a number from 0 on.")
	}
	return v, nil
}

// integer returns a check of a whole number in a range.
func integer(low, high int) check {
	return func(p place, v json.RawMessage) (json.RawMessage, error) {
		if n, ok := decodeInteger(v); !ok || n < low || n > high {
			return nil, p.invalid("must be an integer from %d to %d.", low, high)
		}
		return v, nil
	}
}

// checkPattern checks a regular expression. Clients evaluate it with different
// engines, so only the syntax of RE2 is allowed, which all of them understand.
func checkPattern(p place, v json.RawMessage) error {
	s := stringOf(v)
	if len(s) > maxPattern {
		return p.invalid("must have no more than %d bytes as a regular expression.", maxPattern)
	}
	if _, err := regexp.Compile(s); err != nil {
		return p.invalid("must be a regular expression in the syntax of RE2.")
	}
	return nil
}
