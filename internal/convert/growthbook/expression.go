package growthbook

import (
	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/convert"
)

// An expression is a condition as filters: one that holds where the condition does, and one that
// holds where its contrary does. Where something is not known, neither does.
type expression struct {
	holds, fails flags.Filter
	inexact      bool // something is not known
}

var (
	always  = expression{holds: convert.Always(true), fails: convert.Always(false)}
	never   = always.not()
	unknown = expression{convert.Always(false), convert.Always(false), true}
)

func constant(holds bool) expression {
	if holds {
		return always
	}
	return never
}

func one(f flags.Filter) expression {
	contrary := f
	if name, ok := opposites[f.Operator]; ok && !f.Negation {
		contrary.Operator = name
	} else {
		contrary = convert.Not(f)
	}
	return expression{holds: f, fails: contrary}
}

// opposites are operators whose contrary has a name.
var opposites = map[string]string{
	"exact": "is_not", "starts_with": "not_starts_with", "ends_with": "not_ends_with", "icontains": "not_icontains",
	"icontains_multi": "not_icontains_multi", "in": "not_in",
	"$in": "$nin", "$ini": "$nini", "$eq": "$ne", "$veq": "$vne", "$vne": "$veq",
}

func (e expression) not() expression { return expression{e.fails, e.holds, e.inexact} }

// allOf returns what holds if each part does.
func allOf(parts ...expression) (e expression) {
	var holds, fails []flags.Filter
	for _, p := range parts {
		holds, fails = append(holds, p.holds), append(fails, p.fails)
		e.inexact = e.inexact || p.inexact
	}
	e.holds, e.fails = convert.All(holds...), convert.Any(fails...)
	return e
}

// anyOf returns what holds if one part does.
func anyOf(parts ...expression) expression {
	contrary := make([]expression, len(parts))
	for i := range parts {
		contrary[i] = parts[i].not()
	}
	return allOf(contrary...).not()
}

// isConstant reports whether it is the same for everybody.
func (e expression) isConstant() bool {
	_, ok := convert.IsConstant(&e.holds)
	return ok
}

const (
	maxFilters = 100 // in one list
	maxDepth   = 10  // of filters within each other
)

// targeting returns what the targeting of a rule has for which the expression holds. It is not
// ok if there is too much of it.
func (e expression) targeting() (list []flags.Filter, ok bool) {
	if f := &e.holds; f.Type == "all" {
		list = f.Filters
	} else {
		list = []flags.Filter{*f}
	}
	list = inLists("all", list)
	for i := range list {
		if depth(&list[i]) > maxDepth {
			return nil, false
		}
	}
	return list, true
}

// inLists returns filters in as many lists within each other as their number asks for.
func inLists(kind string, list []flags.Filter) []flags.Filter {
	out := make([]flags.Filter, len(list))
	for i, f := range list {
		if out[i] = f; f.IsGroup() {
			out[i].Filters = inLists(f.Type, f.Filters)
		}
	}
	for len(out) > maxFilters {
		var fewer []flags.Filter
		for i := 0; i < len(out); i += maxFilters {
			fewer = append(fewer, flags.Filter{Type: kind, Filters: out[i:min(i+maxFilters, len(out))]})
		}
		out = fewer
	}
	return out
}

func depth(f *flags.Filter) int {
	if !f.IsGroup() {
		return 0
	}
	most := 0
	for i := range f.Filters {
		most = max(most, depth(&f.Filters[i]))
	}
	return most + 1
}

// criteria returns a filter as that of a cohort.
func criteria(f flags.Filter) flags.CohortNode {
	if !f.IsGroup() {
		return flags.CohortNode{Leaf: &f}
	}
	n := flags.CohortNode{Type: "AND"}
	if f.Type == "any" {
		n.Type = "OR"
	}
	for _, part := range f.Filters {
		n.Values = append(n.Values, criteria(part))
	}
	return n
}
