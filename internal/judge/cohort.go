package judge

import (
	"encoding/json"
	"errors"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/graph"
	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
	"github.com/flagstaff-go/flagstaff/internal/operators"
)

const wantedTree = "an object with a type, AND or OR, and a list of values"

// ReadTree reads the filters that a client sent for a cohort. They are not judged. Errors are
// of type *[Error].
func ReadTree(raw json.RawMessage) (*flags.CohortNode, error) {
	tree, err := flags.DecodeCohort(raw, 0)
	if e, ok := errors.AsType[*flags.DefinitionError](err); ok {
		return nil, about("filters", FromEngine(e, "filters"))
	}
	return tree, nil
}

// TreeOfGroups returns the tree that the field groups of an old cohort stands for
// (evaluation.md §5.6), nil if there are no groups. An *[Error] is about the field groups.
func TreeOfGroups(groups json.RawMessage) (*flags.CohortNode, error) {
	v, err := jsonscan.Parse(groups, jsonscan.MaxDepth)
	if err != nil || v.Kind() != jsonscan.Array {
		return nil, about("groups", unfit(groups, "a list of objects"))
	}
	i := 0
	for a := v.Array(); a.Next(); i++ {
		if a.Value().Kind() != jsonscan.Object {
			return nil, about("groups", within(i, unfit(a.Value(), "an object")))
		}
	}
	record := append(append([]byte(`{"groups":`), groups...), '}')
	var c flags.Cohort
	if err := c.UnmarshalJSON(record); err != nil {
		if e, ok := errors.AsType[*flags.DefinitionError](err); ok {
			err = about("groups", FromEngine(e, "groups"))
		}
		return nil, err
	}
	return c.Properties, nil
}

// JudgeCohort judges the tree of a cohort by the rules of management.md §13.10. The
// id is 0 for a cohort that is being created.
//
// A cohort that active flags use may not get behavioral criteria, which they could
// not evaluate.
//
// Errors are of type *[Error], or failures of the engine.
func JudgeCohort(tree *flags.CohortNode, id int64, refs *References) error {
	return about("filters", refs.judgeCohort(tree, id))
}

func (refs *References) judgeCohort(tree *flags.CohortNode, id int64) error {
	if fault := unreadableTree(tree); fault != nil {
		return FromEngine(fault, "filters")
	}
	if tree == nil || tree.Leaf != nil {
		return within("properties", unfit(nil, wantedTree))
	}
	if err := checkNode(tree); err != nil {
		return within("properties", err)
	}
	_ = eachNode(tree, keepKnown) // which has no errors
	if err := refs.checkTree(tree, id); err != nil {
		return within("properties", err)
	}
	out, err := tree.Encode()
	if err != nil {
		return err
	}
	if err := checkSize(out); err != nil {
		return err
	}
	return refs.lintCohort(tree, id)
}

// unreadableTree returns why a tree, or one of its leaves, cannot be understood, or
// nil.
func unreadableTree(tree *flags.CohortNode) *flags.DefinitionError {
	fault, _ := (&flags.Cohort{Properties: tree}).Err().(*flags.DefinitionError)
	for leaf := range tree.Leaves() {
		if fault == nil {
			fault, _ = leaf.Err().(*flags.DefinitionError)
		}
	}
	return fault
}

// eachLeaf calls check for each leaf of a tree until there is an error, to which it
// adds where that leaf is.
func eachLeaf(n *flags.CohortNode, check func(*flags.CohortNode) error) error {
	if n.Leaf != nil {
		return check(n)
	}
	for i := range n.Values {
		if err := eachLeaf(&n.Values[i], check); err != nil {
			return within("values", within(i, err))
		}
	}
	return nil
}

// checkNode checks a node of a tree by itself, and all below it.
func checkNode(n *flags.CohortNode) error {
	if n.Leaf != nil {
		return checkProperty(n.Leaf, leafTypes)
	}
	if _, known := n.AnyOf(); !known {
		return within("type", unfitText(codeInvalid, n.Type, "AND or OR"))
	}
	for i := range n.Values {
		if err := checkNode(&n.Values[i]); err != nil {
			return within("values", within(i, err))
		}
	}
	return nil
}

// checkTree checks the cohorts that a tree refers to.
func (refs *References) checkTree(tree *flags.CohortNode, id int64) error {
	behavioral := false
	seen := make(map[int64]bool)
	err := eachLeaf(tree, func(n *flags.CohortNode) error {
		if operators.KindOf(n.Leaf.Type) == operators.UnknownFilter {
			behavioral = true
		}
		used, ok := n.Leaf.CohortID()
		if !ok {
			return nil
		}
		met, err := refs.checkCohort(used, id, seen)
		behavioral = behavioral || met
		return within("value", err)
	})
	if err != nil || !behavioral || id == 0 {
		return err
	}
	if used, _ := CohortUsers(refs, id); len(used) > 0 {
		return refuseAs(codeBehavioral, "must not have behavioral criteria, not even through another cohort, since the flag %s uses the cohort", Quote(used[0].Key))
	}
	return nil
}

// checkCohorts checks the cohorts that filters refer to.
func (refs *References) checkCohorts(f *flags.Filters) error {
	seen := make(map[int64]bool)
	for at, p := range f.All() {
		id, ok := p.CohortID()
		if !ok {
			continue
		}
		behavioral, err := refs.checkCohort(id, 0, seen)
		if err == nil && behavioral {
			err = refuseAs(codeBehavioral, "must be a cohort without behavioral criteria, which flags cannot evaluate: %d has some, or uses a cohort that has", id)
		}
		if err != nil {
			return withinProperty(f, at, "value", err)
		}
	}
	return nil
}

// checkCohort checks a cohort, and all that it uses and that are not in seen, to
// which it adds them. It reports whether it met behavioral criteria. None of these
// cohorts may use the cohort self, if that is not 0.
func (refs *References) checkCohort(id, self int64, seen map[int64]bool) (behavioral bool, err error) {
	if id == self && self != 0 {
		return false, refuse("must be the id of another cohort: %d is this one", id)
	}
	if seen[id] {
		return false, nil
	}
	unseen := func(id int64) iter.Seq[int64] {
		return func(yield func(int64) bool) {
			for used := range refs.cohortsOf(id) {
				if !seen[used] && !yield(used) {
					return
				}
			}
		}
	}
	for step := range graph.Reach(slices.Values([]int64{id}), unseen) {
		seen[step.Node] = true
		c, ok := refs.definitions.Cohorts[step.Node]
		switch {
		case !ok && step.Node == id:
			return false, refuseAs(codeNoCohort, "must be the id of a cohort of the project: there is none with the id %d", id)
		case !ok:
			return false, refuseAs(codeNoCohort, "must be the id of a cohort that can be evaluated: %d uses cohort %d, which does not exist", id, step.Node)
		case c.Stored:
			continue
		}
		behavioral = behavioral || isBehavioral(c.Properties)
		for used := range refs.cohortsOf(step.Node) {
			if used == self && self != 0 {
				return false, refuse("must not make cohorts use each other in a circle: %s", circleText(step.Way(), self))
			}
		}
	}
	return behavioral, nil
}

// circleText shows how a cohort comes to use itself: way has the cohorts between.
func circleText(way []int64, self int64) string {
	const maxShown = 9 // cohorts of way
	end := strconv.FormatInt(self, 10)
	texts := []string{end}
	if len(way) > maxShown {
		texts, way = append(texts, "…"), way[len(way)-maxShown:]
	}
	for _, id := range way {
		texts = append(texts, strconv.FormatInt(id, 10))
	}
	return strings.Join(append(texts, end), " → ")
}

// cohortsOf iterates over the cohorts that the tree of a cohort refers to. A static
// cohort has none.
func (refs *References) cohortsOf(id int64) iter.Seq[int64] {
	c := refs.definitions.Cohorts[id]
	if c.Stored {
		return func(func(int64) bool) {}
	}
	return c.Properties.CohortIDs()
}

// isBehavioral reports whether a tree has leaves that the engine cannot evaluate.
func isBehavioral(tree *flags.CohortNode) bool {
	for leaf := range tree.Leaves() {
		if operators.KindOf(leaf.Type) == operators.UnknownFilter {
			return true
		}
	}
	return false
}

// CohortUsers returns the ids of the cohorts that use a cohort, directly or through
// others, in ascending order, and the active flags that use it or one of these, in
// the order of the project. It looks at all of them.
func CohortUsers(refs *References, id int64) (users []*flags.Flag, cohorts []int64) {
	usedBy := make(map[int64][]int64)
	for user := range refs.definitions.Cohorts {
		for used := range refs.cohortsOf(user) {
			usedBy[used] = append(usedBy[used], user)
		}
	}
	reached := make(map[int64]bool)
	for step := range graph.Reach(slices.Values([]int64{id}), func(id int64) iter.Seq[int64] { return slices.Values(usedBy[id]) }) {
		reached[step.Node] = true
		if step.Node != id {
			cohorts = append(cohorts, step.Node)
		}
	}
	slices.Sort(cohorts)
	for f := range refs.index.Flags() {
		if !f.Active {
			continue
		}
		for used := range f.Filters.CohortIDs() {
			if reached[used] {
				users = append(users, f)
				break
			}
		}
	}
	return users, cohorts
}
