package wire

import (
	"iter"
	"slices"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/operators"
	"github.com/flagstaff-go/flagstaff/internal/served"
)

// Limits of inlining. Beyond them cohorts stay, as a document that repeats filters
// too often costs SDKs more than to ask the server.
const (
	maxConditions = 50   // condition sets of a flag with a cohort that was split
	maxFilters    = 1000 // filters of a condition set with a cohort that was inlined
)

// conditions iterates over the condition sets of a flag as the document has them.
func (w *document) conditions(f *flags.Flag) iter.Seq[*flags.Condition] {
	return func(yield func(*flags.Condition) bool) {
		total := len(f.Filters.Groups)
		for i := range f.Filters.Groups {
			c := &f.Filters.Groups[i]
			sets, ok := w.inline(c)
			if !ok || len(sets) > 1 && total+len(sets)-1 > maxConditions {
				if !yield(c) {
					return
				}
				continue
			}
			total += len(sets) - 1
			for j := range sets {
				if !yield(&sets[j]) {
					return
				}
			}
		}
	}
}

// inline replaces the cohorts of a condition set by their filters, if that is
// possible for all of them. Cohort filters are evaluated last, and so are the
// filters that take their place (evaluation.md §3.5). At most one cohort may have
// several branches; it makes as many condition sets: they share rollout, variant
// and subject, so one of them matches when the whole did.
func (w *document) inline(c *flags.Condition) (sets []flags.Condition, ok bool) {
	isCohort := func(fl flags.Filter) bool { return fl.Type == "cohort" }
	if !w.o.InlineCohorts || len(c.Properties) > maxFilters || !slices.ContainsFunc(c.Properties, isCohort) {
		return nil, false
	}
	var properties, filters []flags.Filter
	branches := [][]flags.Filter{nil}
	for i := range c.Properties {
		fl := &c.Properties[i]
		if !isCohort(*fl) {
			properties = append(properties, *fl)
			continue
		}
		members := w.membership(fl)
		switch {
		case len(members) == 0, len(members) > 1 && len(branches) > 1, len(filters) > maxFilters:
			return nil, false
		case len(members) == 1:
			filters = append(filters, members[0]...)
		default:
			branches = members
		}
	}
	for _, branch := range branches {
		if len(properties)+len(filters)+len(branch) > maxFilters {
			return nil, false
		}
		set := *c
		set.Properties = slices.Concat(properties, filters, branch)
		sets = append(sets, set)
	}
	return sets, true
}

// membership returns the branches of the cohort that a filter is about, any of
// which makes a member. There are none if it cannot be inlined.
func (w *document) membership(fl *flags.Filter) [][]flags.Filter {
	id, ok := fl.CohortID()
	if !ok || fl.Err() != nil || fl.Operator != "" && fl.Operator != "in" {
		return nil
	}
	if branches, ok := w.branches[id]; ok {
		return branches
	}
	c := w.d.Cohorts[id]
	// An empty root is nobody, which no filter says.
	if !c.Stored && c.Err() == nil && c.Properties != nil && (c.Properties.Leaf != nil || len(c.Properties.Values) > 0) {
		w.branches[id] = split(c.Properties, 0)
	}
	return w.branches[id]
}

// split turns a tree into branches of filters: an OR of ANDs, in which groups of
// one child count as that child.
func split(n *flags.CohortNode, depth int) [][]flags.Filter {
	if n.Leaf != nil {
		if !inlinable(n.Leaf) {
			return nil
		}
		return [][]flags.Filter{{*n.Leaf}}
	}
	anyOf, known := n.AnyOf()
	if !known || depth >= served.MaxTreeGroups {
		return nil
	}
	if len(n.Values) == 1 {
		return split(&n.Values[0], depth+1)
	}
	var branches [][]flags.Filter
	var all []flags.Filter
	for i := range n.Values {
		child := split(&n.Values[i], depth+1)
		switch {
		case len(child) == 0, !anyOf && len(child) > 1, len(branches) > maxConditions, len(all) > maxFilters:
			return nil
		case !anyOf:
			all = append(all, child[0]...)
		default:
			branches = append(branches, child...)
		}
	}
	if !anyOf {
		return [][]flags.Filter{all}
	}
	return branches
}

// inlinable reports whether a leaf of a cohort's tree means the same as a filter
// of a condition set. A leaf that makes its cohort fail must stay there, since
// then the flag fails whatever its other filters say.
func inlinable(fl *flags.Filter) bool {
	if fl.Err() != nil || fl.Negation || fl.Key == "" || fl.Type != "" && fl.Type != "person" {
		return false
	}
	o, ok := operators.Of(fl.Type, fl.Operator)
	return ok && o.For == operators.PropertyFilter
}
