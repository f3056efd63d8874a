package reference

import (
	"strings"
	"unicode"
)

const maxID = 200 // characters of a distinct id

// link makes one person of the two ids that e names, if it names two and they
// may be linked.
func (w *World) link(e Event, properties map[string]any) {
	var named any
	switch e.Name {
	case "$identify":
		named = properties["$anon_distinct_id"]
	case "$create_alias", "$merge_dangerously":
		named = properties["alias"]
	default:
		return
	}
	source, ok := textOf(named)
	if !ok {
		return
	}
	source = clean(source, maxID)
	target := e.DistinctID

	if source == target || illegal(source) || illegal(target) {
		return
	}

	from, to := w.known(source), w.known(target)
	switch {
	case from == nil && to == nil:
		w.create(e.Time, source, target).identified = true

	case from == nil:
		w.attach(source, to)
		to.identified = true

	case to == nil:
		w.attach(target, from)
		from.identified = true

	case from == to:
		to.identified = true

	case !from.identified || e.Name == "$merge_dangerously":
		w.merge(from, to)
		to.identified = true

	default:
		// Refused: the person of the source is identified.
	}
}

// merge gives to everything that from has, and forgets from. Where both have a
// property, the value of to stays.
func (w *World) merge(from, to *personState) {
	for name, v := range from.properties {
		if _, has := to.properties[name]; !has {
			to.properties[name] = v
		}
	}
	if from.created.Before(to.created) {
		to.created = from.created
	}
	for id, p := range w.persons {
		if p == from {
			w.persons[id] = to
		}
	}
}

var (
	illegalInAnyCase = []string{
		"anonymous", "guest", "distinctid", "distinct_id", "id",
		"not_authenticated", "email", "undefined", "true", "false",
	}
	illegalAsWritten = []string{
		"[object Object]", "NaN", "None", "none", "null", "0", "undefined",
	}
)

// illegal reports whether an id may not be linked: it is blank, or a word that
// faulty clients send in place of an id, with or without quotes around it.
func illegal(id string) bool {
	if strings.TrimFunc(id, unicode.IsSpace) == "" {
		return true
	}
	for _, quote := range []string{"", "'", `"`} {
		if inner, ok := strings.CutPrefix(id, quote); ok && quote != "" {
			if inner, ok = strings.CutSuffix(inner, quote); ok && strings.TrimFunc(inner, unicode.IsSpace) == "" {
				return true
			}
		}
		for _, word := range illegalInAnyCase {
			if lowerASCII(id) == quote+word+quote {
				return true
			}
		}
		for _, word := range illegalAsWritten {
			if id == quote+word+quote {
				return true
			}
		}
	}
	return false
}

// lowerASCII leaves other letters alone: U+0130 is not an i, U+017F not an s.
func lowerASCII(s string) string {
	b := []byte(s)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c - 'A' + 'a'
		}
	}
	return string(b)
}

// clean replaces NUL by U+FFFD and cuts s to so many characters.
func clean(s string, characters int) string {
	runes := []rune(s)
	for i, r := range runes {
		if r == 0 {
			runes[i] = unicode.ReplacementChar
		}
	}
	return string(runes[:min(len(runes), characters)])
}
