package growthbook

import (
	"slices"

	"github.com/flagstaff-go/flagstaff/flags"
)

// An expression is a condition in which only single filters are negated.
type expression struct {
	kind  kind
	parts []expression  // of allOf and anyOf
	leaf  *flags.Filter // of leaf
}

type kind uint8

const (
	leaf    kind = iota
	allOf        // of no parts: it always holds
	anyOf        // of no parts: it never holds
	unknown      // neither it nor its contrary holds
)

var (
	always = expression{kind: allOf}
	never  = expression{kind: anyOf}
)

// has reports whether a part is of a kind.
func (e expression) has(k kind) bool {
	return e.kind == k || slices.ContainsFunc(e.parts, func(p expression) bool { return p.has(k) })
}

func constant(holds bool) expression {
	if holds {
		return always
	}
	return never
}

func one(f flags.Filter) expression { return expression{leaf: &f} }

func (e expression) is(c expression) bool {
	return e.kind == c.kind && e.leaf == nil && len(e.parts) == 0
}

// join returns parts that all have to hold, or of which any has to, with those of the same kind
// in one list, and without those that decide nothing.
func join(k kind, parts ...expression) expression {
	e := expression{kind: k}
	nothing, everything := always, never
	if k == anyOf {
		nothing, everything = never, always
	}
	for _, p := range parts {
		switch {
		case p.is(nothing):
		case p.is(everything):
			return p
		case p.kind == k:
			e.parts = append(e.parts, p.parts...)
		default:
			e.parts = append(e.parts, p)
		}
	}
	if len(e.parts) == 1 {
		return e.parts[0]
	}
	return e
}

// opposites are operators whose contrary has a name.
var opposites = map[string]string{
	"exact": "is_not", "starts_with": "not_starts_with", "ends_with": "not_ends_with", "icontains": "not_icontains", "in": "not_in",
	"is_not": "exact", "not_starts_with": "starts_with", "not_ends_with": "ends_with", "not_icontains": "icontains", "not_in": "in",
	"$in": "$nin", "$ini": "$nini", "$eq": "$ne", "$veq": "$vne",
	"$nin": "$in", "$nini": "$ini", "$ne": "$eq", "$vne": "$veq",
}

func (e expression) not() expression {
	switch e.kind {
	case leaf:
		f := *e.leaf
		if name, ok := opposites[f.Operator]; ok && !f.Negation {
			f.Operator = name
		} else {
			f.Negation = !f.Negation
		}
		return one(f)
	case unknown:
		return e
	}
	parts := make([]expression, len(e.parts))
	for i := range e.parts {
		parts[i] = e.parts[i].not()
	}
	if e.kind == allOf {
		return join(anyOf, parts...)
	}
	return join(allOf, parts...)
}

// known returns the expression without what is unknown, which does not hold. It is the last step:
// what does not hold would hold when negated.
func (e expression) known() expression {
	switch e.kind {
	case leaf:
		return e
	case unknown:
		return never
	}
	parts := make([]expression, len(e.parts))
	for i := range e.parts {
		parts[i] = e.parts[i].known()
	}
	return join(e.kind, parts...)
}

const (
	mostFilters = 100 // in one list
	mostDepth   = 10  // of filters within each other
)

// filters returns what the targeting of a rule has. It is not ok if there is too much of it.
func (e expression) filters() (list []flags.Filter, ok bool) {
	parts := []expression{e}
	if e.kind == allOf {
		parts = e.parts
	}
	f := grouped(allOf, parts)
	return f.Filters, depth(&f) <= mostDepth+1
}

func (e expression) filter() flags.Filter {
	if e.kind == leaf {
		return *e.leaf
	}
	return grouped(e.kind, e.parts)
}

// grouped returns a filter of filters, which has as many levels as their number asks for.
func grouped(k kind, parts []expression) flags.Filter {
	f := flags.Filter{Type: "all", Filters: []flags.Filter{}}
	if k == anyOf {
		f.Type = "any"
	}
	for _, p := range parts {
		f.Filters = append(f.Filters, p.filter())
	}
	for len(f.Filters) > mostFilters {
		var fewer []flags.Filter
		for i := 0; i < len(f.Filters); i += mostFilters {
			fewer = append(fewer, flags.Filter{Type: f.Type, Filters: f.Filters[i:min(i+mostFilters, len(f.Filters))]})
		}
		f.Filters = fewer
	}
	return f
}

func depth(f *flags.Filter) int {
	if f.Type != "any" && f.Type != "all" {
		return 0
	}
	most := 0
	for i := range f.Filters {
		most = max(most, depth(&f.Filters[i]))
	}
	return most + 1
}

// criteria returns the expression as that of a cohort.
func (e expression) criteria() flags.CohortNode {
	if e.kind == leaf {
		return flags.CohortNode{Leaf: e.leaf}
	}
	n := flags.CohortNode{Type: "AND"}
	if e.kind == anyOf {
		n.Type = "OR"
	}
	for _, p := range e.parts {
		n.Values = append(n.Values, p.criteria())
	}
	return n
}
