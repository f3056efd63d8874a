package wire

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
	"github.com/flagstaff-go/flagstaff/internal/text"
)

// maxTree is how deep a cohort's tree may be; a deeper one cannot be compiled.
const maxTree = 64

// unreadableGroup makes a cohort malformed.
const unreadableGroup = `{"type":"OR","values":[` + unreadable + `]}`

// nobody is a leaf that no person matches: cohorts are about persons. SDKs look
// for a property without a name and ask the server.
const nobody = `{"key":"","value":null,"type":"group"}`

// cohortID reads the value of a cohort filter (evaluation.md §5.5).
func cohortID(value []byte) (int64, bool) {
	v := jsonscan.Value(value)
	digits := string(v)
	switch v.Kind() {
	case jsonscan.Number:
	case jsonscan.String:
		digits, _ = text.Str(v)
	default:
		return 0, false
	}
	id, err := strconv.ParseInt(digits, 10, 64)
	return id, err == nil
}

// groupType returns the type of a group node as SDKs compare it, and false for
// one that does not exist.
func groupType(kind string) (name string, known bool) {
	switch {
	case strings.EqualFold(kind, "OR"):
		return "OR", true
	case strings.EqualFold(kind, "AND"), strings.EqualFold(kind, "property"):
		return "AND", true
	}
	return "", false
}

// cohorts writes the cohorts that flags of the document refer to, and those that
// these refer to.
func (w *document) cohorts() {
	first := true
	for _, id := range w.reachable() {
		if w.full() {
			return
		}
		w.next(&first)
		w.raw(`"`)
		w.integer(id)
		w.raw(`":`)
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

// reachable returns the ids of the cohorts to write, in order.
func (w *document) reachable() []int64 {
	found := make(map[int64]bool)
	var todo []int64
	add := func(fl *flags.Filter) {
		if fl.Type != "cohort" {
			return
		}
		id, ok := cohortID(fl.Value)
		if !ok || found[id] {
			return
		}
		if c, ok := w.d.Cohorts[id]; ok && !c.Stored {
			found[id] = true
			todo = append(todo, id)
		}
	}
	for i, f := range w.flags {
		if !w.sent[i] || f.Err() != nil {
			continue
		}
		for j := range f.Filters.Groups {
			for k := range f.Filters.Groups[j].Properties {
				add(&f.Filters.Groups[j].Properties[k])
			}
		}
	}
	for len(todo) > 0 {
		c := w.d.Cohorts[todo[len(todo)-1]]
		todo = todo[:len(todo)-1]
		if c.Properties != nil && c.Err() == nil {
			leaves(c.Properties, 0, add)
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// leaves calls use for each leaf that node writes as such.
func leaves(n *flags.CohortNode, depth int, use func(*flags.Filter)) {
	if n.Leaf != nil {
		if n.Leaf.Err() == nil {
			use(n.Leaf)
		}
		return
	}
	if _, known := groupType(n.Type); !known || depth >= maxTree {
		return
	}
	for i := range n.Values {
		leaves(&n.Values[i], depth+1, use)
	}
}

// node writes a node of a tree. SDKs take the first child of a group for what all
// of them are, so leaves beside groups are written as groups. An empty OR is
// everyone for SDKs but nobody for the server (evaluation.md §5.3).
func (w *document) node(n *flags.CohortNode, depth int) {
	if n.Leaf != nil {
		w.leaf(n.Leaf)
		return
	}
	kind, known := groupType(n.Type)
	if !known || depth >= maxTree || w.full() {
		w.raw(unreadableGroup)
		return
	}
	w.raw(`{"type":"` + kind + `","values":[`)
	if len(n.Values) == 0 && kind == "OR" {
		w.raw(nobody)
	}
	mixed := slices.ContainsFunc(n.Values, func(child flags.CohortNode) bool { return child.Leaf == nil })
	for i := range n.Values {
		if i > 0 {
			w.raw(",")
		}
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
	id, hasID := int64(0), false
	switch kind {
	case "cohort":
		id, hasID = cohortID(fl.Value)
		// SDKs know the negation of a leaf, but not each of its operators.
		switch operator {
		case "in":
			operator = ""
		case "not_in":
			operator, negation = "", !negation
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
		w.raw(`,"value":`)
		w.value(fl.Value)
	}
	w.operator(operator)
	w.raw(`,"type":`)
	w.text(kind)
	if negation {
		w.raw(`,"negation":true`)
	}
	w.raw("}")
}
