package wire

import (
	"iter"
	"slices"
	"strconv"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/graph"
	"github.com/flagstaff-go/flagstaff/internal/operators"
	"github.com/flagstaff-go/flagstaff/internal/served"
)

// unreadableGroup makes a cohort malformed.
const unreadableGroup = `{"type":"OR","values":[` + unreadable + `]}`

// nobody is a leaf that no person matches: cohorts are about persons. SDKs look
// for a property without a name and ask the server.
const nobody = `{"key":"","value":null,"type":"group"}`

// cohorts writes the cohorts that flags of the document refer to, and the cohorts
// that these refer to.
func (w *document) cohorts() {
	for _, id := range w.reachable() {
		if w.full() {
			return
		}
		if w.d.Cohorts[id].Stored {
			w.static = append(w.static, id)
			continue
		}
		w.member(strconv.FormatInt(id, 10))
		switch c := w.d.Cohorts[id]; {
		case c.Err() != nil:
			w.raw(unreadableGroup)
		case c.Properties == nil:
			w.raw(`{"type":"OR","values":[` + nobody + `]}`)
		case c.Properties.Leaf != nil: // the root of a cohort is a group
			w.alone(c.Properties.Leaf)
		default:
			w.node(c.Properties, 0)
		}
	}
}

// staticCohorts writes the ids of the stored cohorts among those that cohorts came
// across, if there are any.
func (w *document) staticCohorts() {
	if len(w.static) == 0 {
		return
	}
	w.member("static_cohorts").raw("[")
	for _, id := range w.static {
		w.comma()
		w.integer(id)
	}
	w.raw("]")
}

// reachable returns the ids of the cohorts that the document has, in order.
func (w *document) reachable() []int64 {
	// exist passes on the cohorts that exist.
	exist := func(ids iter.Seq[int64]) iter.Seq[int64] {
		return func(yield func(int64) bool) {
			for id := range ids {
				if _, ok := w.d.Cohorts[id]; ok && !yield(id) {
					return
				}
			}
		}
	}
	used := func(yield func(int64) bool) {
		for f := range w.index.Flags() {
			if !w.sent[f] || f.Err() != nil {
				continue
			}
			for id := range f.Filters.CohortIDs() {
				if !yield(id) {
					return
				}
			}
		}
	}
	var ids []int64
	for step := range graph.Reach(exist(used), func(id int64) iter.Seq[int64] { return exist(w.cohortsIn(id)) }) {
		ids = append(ids, step.Node)
	}
	slices.Sort(ids)
	return ids
}

// cohortsIn iterates over the cohorts that leaves of a cohort name, if node writes
// the leaf as such.
func (w *document) cohortsIn(id int64) iter.Seq[int64] {
	return func(yield func(int64) bool) {
		c := w.d.Cohorts[id]
		if c.Stored || c.Err() != nil {
			return
		}
		for leaf := range c.Properties.Leaves() {
			if id, ok := leaf.CohortID(); ok && leaf.Err() == nil && !yield(id) {
				return
			}
		}
	}
}

// node writes a node of a tree. SDKs take the first child of a group for what all
// of them are, so leaves beside groups are written as groups. An empty group is
// everyone for SDKs, but nobody for the server if it is the root or an OR
// (evaluation.md §5.3).
func (w *document) node(n *flags.CohortNode, depth int) {
	if n.Leaf != nil {
		w.leaf(n.Leaf)
		return
	}
	anyOf, known := n.AnyOf()
	if !known || depth >= served.MaxTreeGroups || w.full() {
		w.raw(unreadableGroup)
		return
	}
	if anyOf {
		w.raw(`{"type":"OR","values":[`)
	} else {
		w.raw(`{"type":"AND","values":[`)
	}
	if len(n.Values) == 0 && (anyOf || depth == 0) {
		w.raw(nobody)
	}
	mixed := slices.ContainsFunc(n.Values, func(child flags.CohortNode) bool { return child.Leaf == nil })
	for i := range n.Values {
		w.comma()
		if leaf := n.Values[i].Leaf; leaf != nil && mixed {
			w.alone(leaf)
		} else {
			w.node(&n.Values[i], depth+1)
		}
	}
	w.raw("]}")
}

// alone writes a leaf as a group of its own.
func (w *document) alone(leaf *flags.Filter) {
	w.raw(`{"type":"AND","values":[`)
	w.leaf(leaf)
	w.raw("]}")
}

// leaf writes a leaf of a tree. One that makes the cohort malformed does so in
// the document, too.
func (w *document) leaf(fl *flags.Filter) {
	kind, operator, negation := fl.Type, fl.Operator, fl.Negation
	id, hasID := fl.CohortID()
	switch kind {
	case "cohort":
		// SDKs know the negation of a leaf, but not each of its operators.
		if o, _ := operators.Of(fl.Type, fl.Operator); o.For == operators.CohortFilter {
			operator, negation = "", negation != o.Negated
		}
	case "":
		kind = "person"
	}
	property := kind == "person" || kind == "person_metadata"
	if fl.Err() != nil || property && fl.Key == "" && fl.Value == nil && operator == "" {
		w.raw(unreadable)
		return
	}
	w.raw(`{"key":`)
	if hasID {
		w.raw(`"id","value":`)
		w.integer(id)
	} else {
		w.text(fl.Key)
		w.member("value").value(fl.Value)
	}
	w.operator(operator)
	w.member("type").text(kind)
	if negation {
		w.raw(`,"negation":true`)
	}
	w.raw("}")
}
