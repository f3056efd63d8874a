package logic

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

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
func And(list ...flags.Filter) flags.Filter { return once(allOf, convert.All(list...)) }

// Or returns a filter that holds if one of them does.
func Or(list ...flags.Filter) flags.Filter { return once(anyOf, convert.Any(list...)) }

// Not returns a filter that holds if f does not.
func Not(f flags.Filter) flags.Filter { return convert.Not(f) }

// once leaves out what a group of a kind has already. With the opposite, it settles the group.
func once(kind string, f flags.Filter) flags.Filter {
	if f.Type != kind || f.Negation {
		return f
	}
	list := []flags.Filter{}
	seen := make(map[string][]int) // where filters are in the list, by what most differ in
	has := func(g *flags.Filter) bool {
		return slices.ContainsFunc(seen[nameOf(g)], func(at int) bool { return equal(g, &list[at]) })
	}
	for _, g := range f.Filters {
		if opposite := Not(g); has(&opposite) {
			return Bool(kind == anyOf)
		}
		if !has(&g) {
			seen[nameOf(&g)] = append(seen[nameOf(&g)], len(list))
			list = append(list, g)
		}
	}
	if f.Filters = list; len(list) == 1 {
		return list[0]
	}
	return f
}

// nameOf returns a text in which filters that differ mostly differ.
func nameOf(f *flags.Filter) string {
	n := len(f.Filters)
	if n > 0 {
		f = &f.Filters[n-1]
	}
	return strconv.Itoa(n) + f.Key + "\x00" + f.Operator + "\x00" + string(f.Value)
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

// Every returns the condition that all of a list are true, up to the first that is not.
func Every(list ...Verdict) (Verdict, error) {
	sure := 0
	var yes []flags.Filter
	for sure < len(list) && list[sure].Sure {
		yes = append(yes, list[sure].Yes)
		sure++
	}
	out, err := Sure(And(yes...)), error(nil)
	for _, v := range list[sure:] {
		no := v.No
		if !out.Sure { // else whoever comes to v is not in out.No
			no = And(out.Yes, no)
		}
		out = Verdict{Yes: And(out.Yes, v.Yes), No: Or(out.No, no)}
		if err = Check(&out.Yes, &out.No); err != nil {
			break
		}
	}
	return out, err
}

// Some returns the condition that one of a list is true, up to the first that is.
func Some(list ...Verdict) (Verdict, error) {
	not := make([]Verdict, len(list))
	for i, v := range list {
		not[i] = v.Not()
	}
	v, err := Every(not...)
	return v.Not(), err
}

// maxWork is how many comparisons filters may come to while they are made of an expression: more
// than a rule can have, as some go away again.
const maxWork = 10 * maxAll

// Check returns an error if filters come to too many comparisons. Whoever makes filters of parts
// again and again must ask, before there are more of them than memory.
func Check(list ...*flags.Filter) error {
	count := 0
	for _, f := range list {
		if measure(f, &count); count > maxWork {
			return errMany
		}
	}
	return nil
}

var errMany = fmt.Errorf("it comes to more than %d comparisons", maxAll)

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
		return nil, errMany
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
