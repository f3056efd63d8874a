package judge

import (
	"bytes"
	"encoding/json"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/flagstaff-go/flagstaff/flags"
)

// is reports whether a stored flag is the one that filters are for.
func (s Subject) is(f *Flag) bool { return s.ID != 0 && s.ID == f.ID || s.Key == f.Key }

// means reports whether a reference is to the flag that filters are for, which need
// not be in the project.
func (w *World) means(r reference, s Subject) bool {
	if id, ok := r.id(); ok && id == s.ID && id != 0 {
		return true
	}
	f, ok := w.flag(r)
	return ok && s.is(f) || !ok && r.text == s.Key
}

// A place is a property of filters: condition set and number.
type place struct{ group, property int }

func (at place) within(member string, err error) error {
	return within("groups", within(at.group, within("properties", within(at.property, within(member, err)))))
}

// checkDependencies checks the flags that filters refer to, and refers to them by
// their ids, which renaming does not change.
func (w *World) checkDependencies(f *filters, s Subject) error {
	var targets []*Flag
	places := make(map[*Flag]place) // where each is first
	for i := range f.Groups {
		for j := range f.Groups[i].Properties {
			p := &f.Groups[i].Properties[j]
			if p.Type != "flag" {
				continue
			}
			target, err := w.dependency(p, s)
			if err != nil {
				return place{i, j}.within("key", err)
			}
			p.Key = strconv.FormatInt(target.ID, 10)
			if _, seen := places[target]; !seen {
				places[target] = place{i, j}
				targets = append(targets, target)
			}
		}
	}
	f.dependencies = targets
	if chain := w.circle(targets, s); chain != nil {
		keys := []string{s.Key}
		for _, f := range chain {
			keys = append(keys, f.Key)
		}
		const most = 10 // in a message
		if len(keys) > most {
			keys = append(keys[:most], "…")
		}
		err := refuse("must not make flags depend on each other in a circle: %s", strings.Join(append(keys, s.Key), " → "))
		return places[chain[0]].within("key", err)
	}
	return nil
}

// dependency returns the flag that a property refers to.
func (w *World) dependency(p *property, s Subject) (*Flag, error) {
	r := reference{p.Key, p.byKey}
	target, ok := w.flag(r)
	switch {
	case w.means(r, s):
		return nil, refuse("must be the id of another flag: %s is this one", quote(p.Key))
	case !ok:
		return nil, refuse("must be the id of a flag of the project: there is none with the id or key %s", quote(p.Key))
	case !target.Active:
		return nil, refuse("must be the id of an active flag: %s is disabled", quote(target.Key))
	}
	return target, nil
}

// circle returns the flags on the shortest way from a dependency back to the flag
// that filters are for, or nil. It reads each flag at most once.
func (w *World) circle(targets []*Flag, s Subject) []*Flag {
	before := make(map[*Flag]*Flag)
	for _, f := range targets {
		before[f] = nil
	}
	for queue := slices.Clone(targets); len(queue) > 0; queue = queue[1:] {
		for r := range referencesToFlags(queue[0].Filters) {
			if w.means(r, s) {
				var chain []*Flag
				for f := queue[0]; f != nil; f = before[f] {
					chain = append(chain, f)
				}
				slices.Reverse(chain)
				return chain
			}
			next, ok := w.flag(r)
			if _, seen := before[next]; ok && !seen {
				before[next] = queue[0]
				queue = append(queue, next)
			}
		}
	}
	return nil
}

// mentions reports whether stored JSON may contain a word; it is much faster than
// to read it.
func mentions(raw json.RawMessage, word string) bool {
	return bytes.Contains(raw, []byte(word)) || bytes.Contains(raw, []byte(`\u`))
}

// propertiesOf iterates over the properties of stored filters that have a type.
func propertiesOf(filters json.RawMessage, kind string) iter.Seq[*flags.Filter] {
	return func(yield func(*flags.Filter) bool) {
		if !mentions(filters, `"`+kind+`"`) {
			return
		}
		m := modelOf(filters, anyKey)
		for i := range m.Groups {
			for j := range m.Groups[i].Properties {
				if p := &m.Groups[i].Properties[j]; p.Type == kind && !yield(p) {
					return
				}
			}
		}
	}
}

func referencesToFlags(filters json.RawMessage) iter.Seq[reference] {
	return func(yield func(reference) bool) {
		for p := range propertiesOf(filters, "flag") {
			if !yield(referenceOf(p)) {
				return
			}
		}
	}
}

// References returns what filters refer to directly, each once: flags by id, or by
// key where no id is given, and cohorts.
func References(filters json.RawMessage) (flagIDs []int64, flagKeys []string, cohorts []int64) {
	for r := range referencesToFlags(filters) {
		if id, ok := r.id(); ok {
			flagIDs = once(flagIDs, id)
		} else {
			flagKeys = once(flagKeys, r.text)
		}
	}
	for p := range propertiesOf(filters, "cohort") {
		if id, ok := cohortID(p.Value); ok {
			cohorts = once(cohorts, id)
		}
	}
	return flagIDs, flagKeys, cohorts
}

func once[E comparable](list []E, e E) []E {
	if slices.Contains(list, e) {
		return list
	}
	return append(list, e)
}

// Dependencies returns the flags that filters refer to directly, disabled ones
// included, in the order of filters. What does not exist is left out.
func Dependencies(w *World, filters json.RawMessage) []Flag {
	var found []*Flag
	for r := range referencesToFlags(filters) {
		if f, ok := w.flag(r); ok {
			found = once(found, f)
		}
	}
	return copies(found)
}

// Dependents returns the active flags whose filters refer directly to a flag, in
// the order of the project. It reads all flags.
func Dependents(w *World, flag Flag) []Flag {
	s := Subject{ID: flag.ID, Key: flag.Key}
	var found []*Flag
	for i := range w.project.Flags {
		f := &w.project.Flags[i]
		if !f.Active || s.is(f) {
			continue
		}
		for r := range referencesToFlags(f.Filters) {
			if w.means(r, s) {
				found = append(found, f)
				break
			}
		}
	}
	return copies(found)
}

func copies[E any](pointers []*E) []E {
	list := make([]E, 0, len(pointers))
	for _, p := range pointers {
		list = append(list, *p)
	}
	return list
}
