package logic

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/convert"
)

const (
	anyOf = "any"
	allOf = "all"
)

// True and False are filters that always and never hold.
func True() flags.Filter  { return convert.Always(true) }
func False() flags.Filter { return convert.Always(false) }

// Bool returns True or False.
func Bool(b bool) flags.Filter { return convert.Always(b) }

// IsTrue and IsFalse report whether a filter always or never holds.
func IsTrue(f *flags.Filter) bool  { holds, ok := convert.IsConstant(f); return ok && holds }
func IsFalse(f *flags.Filter) bool { holds, ok := convert.IsConstant(f); return ok && !holds }

// And returns a filter that holds if all do. They are looked at in their order.
func And(list ...flags.Filter) flags.Filter { return once(convert.All(list...)) }

// Or returns a filter that holds if one of them does.
func Or(list ...flags.Filter) flags.Filter { return once(convert.Any(list...)) }

// Not returns a filter that holds if f does not.
func Not(f flags.Filter) flags.Filter { return convert.Not(f) }

// once leaves out what a group has already. With the opposite, it settles the group.
func once(f flags.Filter) flags.Filter {
	if !f.IsGroup() || f.Negation {
		return f
	}
	list := []flags.Filter{}
	for i := range f.Filters {
		if opposite := Not(f.Filters[i]); slices.ContainsFunc(list, func(g flags.Filter) bool { return equal(&opposite, &g) }) {
			return Bool(f.Type == anyOf)
		}
		if !slices.ContainsFunc(list, func(g flags.Filter) bool { return equal(&f.Filters[i], &g) }) {
			list = append(list, f.Filters[i])
		}
	}
	if f.Filters = list; len(list) == 1 {
		return list[0]
	}
	return f
}

func equal(a, b *flags.Filter) bool {
	return a.Type == b.Type && a.Key == b.Key && a.Operator == b.Operator && a.Negation == b.Negation && a.Comparison == b.Comparison &&
		bytes.Equal(a.Value, b.Value) && a.GroupTypeIndex == nil && b.GroupTypeIndex == nil && a.Split == nil && b.Split == nil &&
		slices.EqualFunc(a.Filters, b.Filters, func(a, b flags.Filter) bool { return equal(&a, &b) })
}

// A Verdict is a condition that may fail: then it is neither true nor false.
type Verdict struct {
	Yes, No flags.Filter // it is true; it is false

	// Sure says that it never fails: No is the negation of Yes.
	Sure bool
}

// Sure returns a condition that never fails.
func Sure(yes flags.Filter) Verdict { return Verdict{yes, Not(yes), true} }

// Fails returns a condition that always fails.
func Fails() Verdict { return Verdict{Yes: False(), No: False()} }

// Not returns the condition that is true where v is false.
func (v Verdict) Not() Verdict { return Verdict{v.No, v.Yes, v.Sure} }

// And returns the condition that is w where v is true, and else v.
func (v Verdict) And(w Verdict) Verdict {
	yes := And(v.Yes, w.Yes)
	switch {
	case v.Sure && w.Sure:
		return Sure(yes)
	case v.Sure:
		return Verdict{Yes: yes, No: Or(v.No, w.No)}
	}
	return Verdict{Yes: yes, No: Or(v.No, And(v.Yes, w.No))}
}

// Or returns the condition that is w where v is false, and else v.
func (v Verdict) Or(w Verdict) Verdict { return v.Not().And(w.Not()).Not() }

// The limits of rules.md §2.
const (
	maxList  = 100
	maxDepth = 20
	maxAll   = 2000
)

// Targeting returns the filters of a rule that targets whom a filter holds for. The error says
// that there are too many.
func Targeting(f flags.Filter) ([]flags.Filter, error) {
	if measure(&f, new(int)) > maxDepth {
		f = Flat(f)
	}
	if measure(&f, new(int)) > maxDepth {
		var ok bool
		if f, ok = alternatives(&f); !ok {
			return nil, fmt.Errorf("more than %d conditions lie within each other", maxDepth)
		}
	}
	list := []flags.Filter{f}
	if f.Type == allOf && !f.Negation {
		list = f.Filters
	}
	list = divide(allOf, list)
	count := 0
	for i := range list {
		measure(&list[i], &count)
	}
	if count > maxAll {
		return nil, fmt.Errorf("it comes to more than %d comparisons", maxAll)
	}
	return list, nil
}

// Flat returns a filter without negated groups, and so without groups of one kind directly within
// each other, and without labels.
func Flat(f flags.Filter) flags.Filter { return levelled(f, false) }

// levelled returns a filter, or its negation, as Flat does.
func levelled(f flags.Filter, negated bool) flags.Filter {
	negated = negated != f.Negation
	if f.Filters == nil {
		f.Negation = negated
		return f
	}
	list := make([]flags.Filter, len(f.Filters))
	for i := range list {
		list[i] = levelled(f.Filters[i], negated)
	}
	if (f.Type == allOf) != negated {
		return And(list...)
	}
	return Or(list...)
}

// alternatives returns a flat filter as one of groups that lie side by side, false if these are
// too many.
func alternatives(f *flags.Filter) (flags.Filter, bool) {
	sets, ok := conjunctions(f)
	if !ok {
		return *f, false
	}
	list := make([]flags.Filter, len(sets))
	for i, set := range sets {
		list[i] = And(set...)
	}
	return Or(list...), true
}

func conjunctions(f *flags.Filter) (sets [][]flags.Filter, ok bool) {
	switch {
	case f.Filters == nil:
		return [][]flags.Filter{{*f}}, true
	case f.Type == anyOf:
		for i := range f.Filters {
			more, ok := conjunctions(&f.Filters[i])
			if sets = append(sets, more...); !ok || len(sets) > maxAll {
				return nil, false
			}
		}
		return sets, true
	}
	sets = [][]flags.Filter{nil}
	for i := range f.Filters {
		more, ok := conjunctions(&f.Filters[i])
		if !ok || len(sets)*len(more) > maxAll {
			return nil, false
		}
		var next [][]flags.Filter
		for _, set := range sets {
			for _, other := range more {
				next = append(next, slices.Concat(set, other))
			}
		}
		sets = next
	}
	return sets, true
}

// divide returns a list that is not too long, with lists of the same kind in it.
func divide(kind string, list []flags.Filter) []flags.Filter {
	list = slices.Clone(list)
	for i := range list {
		if f := &list[i]; f.Filters != nil {
			f.Filters = divide(f.Type, f.Filters)
		}
	}
	for len(list) > maxList {
		var shorter []flags.Filter
		for part := range slices.Chunk(list, maxList) {
			shorter = append(shorter, flags.Filter{Type: kind, Filters: part})
		}
		list = shorter
	}
	return list
}

func measure(f *flags.Filter, count *int) (depth int) {
	*count++
	if f.Filters == nil {
		return 0
	}
	for i := range f.Filters {
		depth = max(depth, measure(&f.Filters[i], count))
	}
	return depth + 1
}

// JSON returns the JSON of a value that has one.
func JSON(value any) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(value); err != nil {
		panic(err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
