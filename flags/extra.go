package flags

import (
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
	"github.com/flagstaff-go/flagstaff/internal/text"
)

// A part of filters is read from an object and written as one. Of each member of the
// object, its method has says whether the fields of the part have it; what they do not
// have is kept in Extra, and written from there.

func (f *Filters) has(name string) bool {
	m, ok := filtersMembers[name]
	return ok && m.isSet(f)
}

// A filtersMember is a member of filters that is a field of them.
type filtersMember struct {
	older string // the older form of the member, which it takes away; "" for none
	isSet func(*Filters) bool
	take  func(to, from *Filters)
}

// filtersMembers has them by name.
var filtersMembers = map[string]filtersMember{
	"groups":       {"", func(f *Filters) bool { return f.Groups != nil }, func(to, from *Filters) { to.Groups = from.Groups }},
	"multivariate": {"", func(f *Filters) bool { return f.Multivariate != nil }, func(to, from *Filters) { to.Multivariate = from.Multivariate }},
	"aggregation_group_type_index": {
		"", func(f *Filters) bool { return f.AggregationGroupTypeIndex != Inherited },
		func(to, from *Filters) { to.AggregationGroupTypeIndex = from.AggregationGroupTypeIndex },
	},
	"payloads":   {"", func(f *Filters) bool { return f.Payloads != nil }, func(to, from *Filters) { to.Payloads = from.Payloads }},
	"early_exit": {"", func(f *Filters) bool { return f.EarlyExit != nil }, func(to, from *Filters) { to.EarlyExit = from.EarlyExit }},
	"feature_enrollment": {
		"super_groups", func(f *Filters) bool { return f.FeatureEnrollment != nil },
		func(to, from *Filters) { to.FeatureEnrollment = from.FeatureEnrollment },
	},
	"holdout": {"holdout_groups", func(f *Filters) bool { return f.Holdout != nil }, func(to, from *Filters) { to.Holdout = from.Holdout }},
	"version": {"", func(f *Filters) bool { return f.Version != 0 }, func(to, from *Filters) { to.Version = from.Version }},
}

func (c *Condition) has(name string) bool {
	switch name {
	case "properties":
		return c.Properties != nil
	case "rollout_percentage":
		return c.RolloutPercentage != nil
	case "variant":
		return c.Variant != nil
	case "aggregation_group_type_index":
		return c.AggregationGroupTypeIndex != Inherited
	case "description":
		return c.Description != ""
	case "sort_key":
		return c.SortKey != ""
	}
	return false
}

// The name of a cohort is the cohort's, and a dependency_chain is about the key alone.
func (f *Filter) has(name string) bool {
	switch name {
	case "key":
		return f.Key != "" || f.Type != "cohort" && f.Type != "flag" // which need none
	case "cohort_name", "dependency_chain":
		return true
	case "value":
		return f.Value != nil
	case "operator":
		return f.Operator != ""
	case "type":
		return f.Type != ""
	case "group_type_index":
		return f.GroupTypeIndex != nil
	case "negation":
		return f.Negation
	}
	c := f.Comparison
	for _, m := range c.members() {
		if m.name == name {
			return *m.value
		}
	}
	for _, m := range c.texts() {
		if m.name == name {
			return m.value != ""
		}
	}
	return false
}

func (v *Variant) has(name string) bool {
	switch name {
	case "key", "rollout_percentage":
		return true
	case "name":
		return v.Name != nil
	}
	return false
}

func (m *Multivariate) has(name string) bool { return name == "variants" && m.Variants != nil }

func (h *Holdout) has(name string) bool { return name == "id" || name == "exclusion_percentage" }

func (n *CohortNode) has(name string) bool {
	switch name {
	case "type", "values", "AND", "OR": // of which each but the first is a name of the list
		return true
	}
	return false
}

// Has reports whether the filters have a member, if only as null: a change of filters
// replaces those that it has.
func (f *Filters) Has(member string) bool {
	if f.has(member) {
		return true
	}
	for o := jsonscan.Value(f.Extra).Object(); o.Next(); {
		if string(o.Name()) == member {
			return true
		}
	}
	return false
}

// extra returns what an object has beside the fields of a part, unless the object is one
// of a document, of which evaluation is all that matters.
func (d *decoder) extra(object jsonscan.Value, has func(name string) bool) json.RawMessage {
	if d.out != nil {
		return nil
	}
	return extraMembers(object, has)
}

// extraMembers returns the members of an object that a part lacks, each once. The last
// of several with one name counts.
func extraMembers(object jsonscan.Value, has func(name string) bool) json.RawMessage {
	var e encoder
	odd := false
	for o := object.Object(); o.Next() && !odd; {
		odd = !has(string(o.Name()))
	}
	if odd {
		e.members(object, has)
	}
	return e.dst
}

// close ends an object with the members of Extra that the fields do not have by now.
func (e *encoder) close(extra json.RawMessage, has func(name string) bool) {
	if e.full {
		e.rest(extra, has)
	}
	e.raw(`}`)
}

// members writes an object with those of its members that are wanted.
func (e *encoder) members(object jsonscan.Value, but func(name string) bool) {
	e.raw(`{`)
	e.rest(json.RawMessage(object), but)
	e.raw(`}`)
}

// rest writes the members of an object, but for some, into the object that is open. Each
// member stands where its name was first met.
func (e *encoder) rest(object json.RawMessage, but func(name string) bool) {
	if object == nil {
		return
	}
	var names []string
	values := make(map[string]jsonscan.Value)
	o := jsonscan.Value(object).Object()
	for o.Next() {
		name := string(o.Name())
		if but(name) {
			continue
		}
		if _, met := values[name]; !met {
			names = append(names, name)
		}
		values[name] = o.Value()
	}
	if o.Err() != nil {
		e.fail(fmt.Errorf("flags: Extra: %w", errNoJSON))
	}
	for _, name := range names {
		e.comma()
		e.dst = append(text.AppendQuoted(e.dst, name), ':')
		e.value(values[name])
	}
}

// Merge returns filters after a change, whose members replace those of f; the others stay
// (management.md §13.3). A member that replaces an older form of itself takes the older
// form away. Filters that cannot be understood are replaced as a whole if the change has
// condition sets. The result shares memory with both.
func (f *Filters) Merge(change *Filters) Filters {
	if change == nil {
		return *f
	}
	if f.source != nil && change.Has("groups") {
		return *change
	}
	out := *f
	for name, m := range filtersMembers {
		if change.Has(name) || m.older != "" && change.Has(m.older) && (!f.has(name) || f.Has(m.older)) {
			m.take(&out, change)
		}
	}
	if change.fault != nil {
		out.fault, out.source = change.fault, change.source
	}
	out.Extra = nil
	e := encoder{dst: []byte(`{`), full: true}
	e.rest(f.Extra, func(name string) bool {
		switch name {
		case "super_groups":
			return change.Has("feature_enrollment") || change.Has(name)
		case "holdout_groups":
			return change.Has("holdout") || change.Has(name)
		}
		return change.Has(name)
	})
	e.rest(change.Extra, func(string) bool { return false })
	if len(e.dst) > len(`{`) {
		out.Extra = append(e.dst, '}')
	}
	return out
}

// ReadLegacy takes over what super_groups and holdout_groups in Extra say, for filters of
// the flag with a key that were read before the key was known (evaluation.md §3.3, §13.3).
func (f *Filters) ReadLegacy(key string) {
	if !f.Has("super_groups") && !f.Has("holdout_groups") {
		return
	}
	older, _ := DecodeFilters(f.Extra, key)
	f.FeatureEnrollment = cmp.Or(f.FeatureEnrollment, older.FeatureEnrollment)
	f.Holdout = cmp.Or(f.Holdout, older.Holdout)
}
