package judge

import (
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
	"github.com/flagstaff-go/flagstaff/internal/text"
)

// CohortFilters checks the filters of a cohort, {"properties": …} with a tree, by
// the rules of management.md §13.10, and returns them as they are to be stored. To
// do so again changes nothing. The id is 0 for a cohort that is being created.
//
// A cohort that active flags use may not get behavioral criteria, which they could
// not evaluate.
//
// Errors are of type *[Error], or failures of the engine.
func CohortFilters(raw json.RawMessage, id int64, w *World) (json.RawMessage, error) {
	out, err := normalizeCohort(raw, id, w)
	return out, about("filters", err)
}

func normalizeCohort(raw json.RawMessage, id int64, w *World) (json.RawMessage, error) {
	o, err := parse(raw, w.project.MaxBytes)
	if err != nil {
		return nil, err
	}
	root, err := readRoot(o.values["properties"])
	if err == nil {
		err = w.checkTree(root, id)
	}
	if err != nil {
		return nil, within("properties", err)
	}
	out, err := root.append([]byte(`{"properties":`))
	if err != nil {
		return nil, err
	}
	out = append(out, '}')
	if len(out) > w.project.MaxBytes {
		return nil, tooLarge(len(out), w.project.MaxBytes)
	}
	if err := w.lintCohort(root, out, id); err != nil {
		return nil, err
	}
	return out, nil
}

// A node is a node of a cohort's tree (evaluation.md §5.1).
type node struct {
	kind   string // AND or OR; "" for a leaf
	values []node

	leaf       property
	behavioral json.RawMessage // instead of leaf
}

func readRoot(v jsonscan.Value) (*node, error) {
	if o := membersOf(v); listOf(o) == "" {
		return nil, unfit(v, "an object with a type, AND or OR, and a list of values")
	}
	n, err := readNode(v)
	return &n, err
}

// listOf returns the name of the member with the nodes in a node, "" for a leaf.
func listOf(o object) string {
	for _, name := range []string{"values", "AND", "OR"} {
		if _, ok := o.values[name]; ok && (name == "values" || o.values["key"] == nil) {
			return name
		}
	}
	return ""
}

func readNode(v jsonscan.Value) (node, error) {
	if v.Kind() != jsonscan.Object {
		return node{}, unfit(v, "an object")
	}
	o := membersOf(v)
	name := listOf(o)
	switch name {
	case "":
		return readLeaf(o)
	case "values":
		kind, err := readNodeType(o.values["type"])
		if err != nil {
			return node{}, within("type", err)
		}
		return readGroupNode(kind, name, o.values[name])
	}
	return readGroupNode(name, name, o.values[name]) // a very old form
}

func readNodeType(v jsonscan.Value) (string, error) {
	name, _ := str(v)
	switch {
	case strings.EqualFold(name, "AND"), strings.EqualFold(name, "property"):
		return "AND", nil
	case strings.EqualFold(name, "OR"):
		return "OR", nil
	}
	return "", unfit(v, "AND or OR")
}

func readGroupNode(kind, member string, values jsonscan.Value) (node, error) {
	n := node{kind: kind}
	if values.Kind() != jsonscan.Array {
		return n, within(member, unfit(values, "a list of criteria"))
	}
	for a := values.Array(); a.Next(); {
		child, err := readNode(a.Value())
		if err != nil {
			return n, within(member, within(len(n.values), err))
		}
		n.values = append(n.values, child)
	}
	return n, nil
}

func readLeaf(o object) (node, error) {
	var n node
	var err error
	if name, _ := str(o.values["type"]); name == "behavioral" {
		n.behavioral, err = readBehavioral(o)
		return n, err
	}
	n.leaf, err = readProperty(o, leafTypes)
	return n, err
}

// readBehavioral reads a criterion on what somebody did. Flags cannot use it, so it
// is kept as it is, but for what the engine looks at.
func readBehavioral(o object) (json.RawMessage, error) {
	key, err := readKey(o.values["key"])
	if err != nil {
		return nil, within("key", err)
	}
	o.set("key", text.AppendQuoted(nil, key))
	if _, err := optionalText(o.values["operator"]); err != nil {
		return nil, within("operator", err)
	}
	if _, err := optionalBool(o.values["negation"]); err != nil {
		return nil, within("negation", err)
	}
	return appendValue(nil, o.append(nil))
}

// append writes a tree.
func (n *node) append(dst []byte) ([]byte, error) {
	switch {
	case n.behavioral != nil:
		return append(dst, n.behavioral...), nil
	case n.kind == "":
		leaf, err := encode(n.leaf)
		return append(dst, leaf...), err
	}
	dst = fmt.Appendf(dst, `{"type":%q,"values":[`, n.kind)
	for i := range n.values {
		if i > 0 {
			dst = append(dst, ',')
		}
		var err error
		if dst, err = n.values[i].append(dst); err != nil {
			return dst, err
		}
	}
	return append(dst, "]}"...), nil
}

// leaves calls do with each leaf of a tree until there is an error, which it tells
// where that leaf is.
func (n *node) leaves(do func(*node) error) error {
	if n.kind == "" {
		return do(n)
	}
	for i := range n.values {
		if err := n.values[i].leaves(do); err != nil {
			return within("values", within(i, err))
		}
	}
	return nil
}

// checkTree checks the cohorts that a tree refers to.
func (w *World) checkTree(root *node, id int64) error {
	behavioral := false
	seen := make(map[int64]bool)
	err := root.leaves(func(leaf *node) error {
		switch {
		case leaf.behavioral != nil:
			behavioral = true
		case leaf.leaf.Type == "cohort":
			met, err := w.checkCohort(leaf.leaf.id, id, seen)
			behavioral = behavioral || met
			return within("value", err)
		}
		return nil
	})
	if err != nil || !behavioral || id == 0 {
		return err
	}
	if used, _ := CohortUsers(w, id); len(used) > 0 {
		return refuseAs(codeBehavioral, "must not have behavioral criteria, not even through another cohort, since the flag %s uses the cohort", quote(used[0].Key))
	}
	return nil
}

// checkCohorts checks the cohorts that filters refer to.
func (w *World) checkCohorts(f *filters) error {
	seen := make(map[int64]bool)
	for i := range f.Groups {
		for j := range f.Groups[i].Properties {
			p := &f.Groups[i].Properties[j]
			if p.Type != "cohort" {
				continue
			}
			behavioral, err := w.checkCohort(p.id, 0, seen)
			if err == nil && behavioral {
				err = refuseAs(codeBehavioral, "must be a cohort without behavioral criteria, which flags cannot evaluate: %d has some, or uses a cohort that has", p.id)
			}
			if err != nil {
				return place{i, j}.within("value", err)
			}
		}
	}
	return nil
}

// checkCohort checks a cohort, and all that it uses and that are not in seen, to
// which it adds them. It reports whether it met behavioral criteria. None of these
// cohorts may use the cohort self, if that is not 0.
func (w *World) checkCohort(id, self int64, seen map[int64]bool) (behavioral bool, err error) {
	if id == self && self != 0 {
		return false, refuse("must be the id of another cohort: %d is this one", id)
	}
	if seen[id] {
		return false, nil
	}
	seen[id] = true
	before := map[int64]int64{id: 0}
	for queue := []int64{id}; len(queue) > 0; queue = queue[1:] {
		c, ok := w.cohort(queue[0])
		switch {
		case !ok && queue[0] == id:
			return false, refuseAs(codeNoCohort, "must be the id of a cohort of the project: there is none with the id %d", id)
		case !ok:
			return false, refuseAs(codeNoCohort, "must be the id of a cohort that can be evaluated: %d uses cohort %d, which does not exist", id, queue[0])
		case c.Static:
			continue
		}
		tree := treeOf(c.Filters)
		behavioral = behavioral || isBehavioral(tree)
		for next := range cohortsOf(tree) {
			if next == self && self != 0 {
				return false, refuse("must not make cohorts use each other in a circle: %s", circleText(before, queue[0], self))
			}
			if !seen[next] {
				seen[next], before[next] = true, queue[0]
				queue = append(queue, next)
			}
		}
	}
	return behavioral, nil
}

// circleText shows how a cohort comes to use itself: before tells what uses each.
func circleText(before map[int64]int64, last, self int64) string {
	const most = 10 // in a message
	ids := []string{strconv.FormatInt(self, 10)}
	for id := last; id != 0; id = before[id] {
		if len(ids) == most {
			ids = append(ids, "…")
			break
		}
		ids = append(ids, strconv.FormatInt(id, 10))
	}
	slices.Reverse(ids)
	return strings.Join(append([]string{strconv.FormatInt(self, 10)}, ids...), " → ")
}

// leavesOf iterates over the leaves of a tree.
func leavesOf(n *flags.CohortNode) iter.Seq[*flags.Filter] {
	return func(yield func(*flags.Filter) bool) { eachLeaf(n, yield) }
}

func eachLeaf(n *flags.CohortNode, yield func(*flags.Filter) bool) bool {
	switch {
	case n == nil:
		return true
	case n.Leaf != nil:
		return yield(n.Leaf)
	}
	for i := range n.Values {
		if !eachLeaf(&n.Values[i], yield) {
			return false
		}
	}
	return true
}

// cohortsOf iterates over the cohorts that a tree refers to.
func cohortsOf(tree *flags.CohortNode) iter.Seq[int64] {
	return func(yield func(int64) bool) {
		for leaf := range leavesOf(tree) {
			if leaf.Type != "cohort" {
				continue
			}
			if id, ok := cohortID(leaf.Value); ok && !yield(id) {
				return
			}
		}
	}
}

// cohortID reads a stored id: an integer, or the text of one.
func cohortID(raw json.RawMessage) (int64, bool) {
	value := jsonscan.Value(raw)
	if s, ok := str(value); ok {
		value = jsonscan.Value(s)
	}
	return integer(value)
}

// isBehavioral reports whether a tree has leaves that the engine cannot evaluate.
func isBehavioral(tree *flags.CohortNode) bool {
	for leaf := range leavesOf(tree) {
		switch leaf.Type {
		case "", "person", "person_metadata", "cohort", "group", "flag":
		default:
			return true
		}
	}
	return false
}

// CohortReferences returns the cohorts that the filters of a cohort refer to
// directly, each once.
func CohortReferences(filters json.RawMessage) []int64 {
	if !mentions(filters, `"cohort"`) {
		return nil
	}
	var ids []int64
	for id := range cohortsOf(treeOf(filters)) {
		ids = once(ids, id)
	}
	return ids
}

// CohortUsers returns the cohorts that use a cohort, directly or through others,
// and the active flags that use it or one of these, in the order of the project. It
// reads all of them.
func CohortUsers(w *World, id int64) (users []Flag, cohorts []Cohort) {
	usedBy := make(map[int64][]int64)
	for i := range w.project.Cohorts {
		c := &w.project.Cohorts[i]
		if c.Static {
			continue
		}
		for _, used := range CohortReferences(c.Filters) {
			usedBy[used] = append(usedBy[used], c.ID)
		}
	}
	reached := map[int64]bool{id: true}
	for queue := []int64{id}; len(queue) > 0; queue = queue[1:] {
		for _, user := range usedBy[queue[0]] {
			if !reached[user] {
				reached[user] = true
				queue = append(queue, user)
			}
		}
	}
	for _, c := range w.project.Cohorts {
		if c.ID != id && reached[c.ID] {
			cohorts = append(cohorts, c)
		}
	}
	for _, f := range w.project.Flags {
		if !f.Active {
			continue
		}
		for p := range propertiesOf(f.Filters, "cohort") {
			if used, ok := cohortID(p.Value); ok && reached[used] {
				users = append(users, f)
				break
			}
		}
	}
	return users, cohorts
}
