package flags

import (
	"fmt"
	"slices"

	"github.com/flagstaff-go/flagstaff/internal/operators"
	"github.com/flagstaff-go/flagstaff/internal/served"
)

// cohortFailure puts into words why a cohort cannot be resolved.
func cohortFailure(c failCode) string {
	switch c {
	case failCohortNotFound:
		return "it, or a cohort that it refers to, does not exist"
	case failCohortCycle:
		return "it refers to itself"
	default:
		return "its tree cannot be understood"
	}
}

// compileCohort compiles a cohort and all that it refers to, depth first in stored
// order. The first thing that cannot be resolved is the failure of every cohort
// that reaches it (evaluation.md §5.5).
func (c *compiler) compileCohort(id int64, depth int) (*cohortBuild, failCode) {
	if b := c.cohortOf[id]; b != nil {
		if b.open {
			return b, failCohortCycle
		}
		return b, b.code
	}
	src, ok := c.d.Cohorts[id]
	if !ok {
		return nil, failCohortNotFound
	}
	b := &cohortBuild{open: true, behavioral: src.Behavioral}
	c.cohortOf[id] = b
	defer func() { b.open = false }()

	outer := c.flag
	c.flag = nil
	defer func() { c.flag = outer }()
	at := src.path(id)

	if depth == maxCohortChain {
		c.problem(SeverityError, at, nil, "flags that need the cohort fail", "a chain of more than %d cohorts", maxCohortChain)
		b.code = failCohortData
		return b, b.code
	}
	compiled := compiledCohort{stored: -1}
	switch {
	case src.Stored:
		compiled.stored = int32(len(c.s.storedCohorts))
		c.s.storedCohorts[id] = compiled.stored
		b.readsStored = true
	case src.unreadable() != nil:
		e := *src.unreadable()
		e.Hint = "flags that need the cohort fail"
		c.add(SeverityError, &e)
		b.code = failCohortData
	case src.Properties != nil:
		if fault := checkTree(src.Properties, src.pathOfTree(id), 0); fault != nil {
			fault.Hint = "flags that need the cohort fail"
			c.add(SeverityError, fault)
			b.code = failCohortData
		} else {
			compiled.root, b.code = c.compileNode(src.Properties, src.pathOfTree(id), b, depth)
			if compiled.root.isEmpty() {
				compiled.root.kind = nodeNever // not everybody (evaluation.md §5.3)
			}
		}
	}
	if b.code != 0 {
		return b, b.code
	}
	slices.Sort(b.slots)
	b.slots = slices.Compact(b.slots)
	compiled.behavioral = b.behavioral
	b.ord = int32(len(c.s.cohorts))
	c.s.cohorts = append(c.s.cohorts, compiled)
	return b, 0
}

// checkTree says what makes a tree malformed. That comes before any of its leaves
// is resolved.
func checkTree(n *CohortNode, at *path, depth int) *DefinitionError {
	fault := func(at *path, format string, args ...any) *DefinitionError {
		return &DefinitionError{Path: at.String(), Err: fmt.Errorf(format, args...)}
	}
	if fl := n.Leaf; fl != nil {
		_, isCohort := fl.CohortID()
		_, known := operators.Named(fl.Operator)
		kind := operators.KindOf(fl.Type)
		switch {
		case fl.fault != nil:
			return &DefinitionError{Path: fl.fault.Path, Value: fl.fault.Value, Err: fl.fault.Err}
		case fl.Operator != "" && !known && kind != operators.UnknownFilter && fl.Comparison.Dialect == "":
			return fault(&path{up: at, name: "operator"}, "unknown operator %q; %s", fl.Operator, operators.Hint(fl.Operator, kind))
		case kind == operators.CohortFilter && !isCohort:
			return fault(&path{up: at, name: "value"}, "a cohort's id must be an integer, not %s", shorten(fl.Value))
		case fl.readsPerson() && fl.Key == "" && fl.Value == nil && fl.Operator == "":
			return fault(at, "an empty leaf")
		}
		return nil
	}
	if _, ok := n.AnyOf(); !ok {
		return fault(&path{up: at, name: "type"}, "unknown node type %q, want AND or OR", n.Type)
	}
	if depth == served.MaxTreeGroups {
		return fault(at, "%w", errTreeDepth)
	}
	for i := range n.Values {
		if e := checkTree(&n.Values[i], &path{up: &path{up: at, name: "values"}, n: i}, depth+1); e != nil {
			return e
		}
	}
	return nil
}

// readsPerson reports whether the filter compares a property of the person. As a
// leaf of a cohort, of which only persons are members, a filter on a group or a
// flag never matches (evaluation.md §5.3).
func (f *Filter) readsPerson() bool {
	return operators.KindOf(f.Type) == operators.PropertyFilter && f.Type != "group"
}

// compileNode compiles a tree (evaluation.md §5.3).
func (c *compiler) compileNode(src *CohortNode, at *path, b *cohortBuild, depth int) (compiledNode, failCode) {
	if src.Leaf != nil {
		return c.compileLeaf(src.Leaf, at, b, depth)
	}
	n := compiledNode{kind: nodeAll}
	if anyOf, _ := src.AnyOf(); anyOf {
		n.kind = nodeAny
	}
	n.nodes = make([]compiledNode, len(src.Values))
	for i := range src.Values {
		var code failCode
		p := &path{up: &path{up: at, name: "values"}, n: i}
		if n.nodes[i], code = c.compileNode(&src.Values[i], p, b, depth); code != 0 {
			return n, code
		}
	}
	return n, 0
}

// compileLeaf compiles a leaf (evaluation.md §5.3). Negation inverts its result,
// whatever that is.
func (c *compiler) compileLeaf(fl *Filter, at *path, b *cohortBuild, depth int) (compiledNode, failCode) {
	n := compiledNode{kind: nodeNever, negated: fl.Negation}
	switch {
	case operators.KindOf(fl.Type) == operators.UnknownFilter:
		b.behavioral, b.criteria = true, true
		if fl.Type != "behavioral" {
			c.problem(SeverityError, &path{up: at, name: "type"}, quote(fl.Type), `use "person", "person_metadata", "cohort" or "behavioral"`, "unknown filter type, it matches nobody")
		}
	case operators.KindOf(fl.Type) == operators.CohortFilter:
		id, _ := fl.CohortID()
		other, code := c.compileCohort(id, depth+1)
		if code != 0 {
			return n, code
		}
		b.slots = append(b.slots, other.slots...)
		b.readsStored = b.readsStored || other.readsStored
		b.behavioral = b.behavioral || other.behavioral
		b.criteria = b.criteria || other.criteria
		if o, _ := operators.Of(fl.Type, fl.Operator); o.For == operators.CohortFilter {
			n.kind, n.negated = nodeCohort, n.negated != o.Negated
		} else {
			c.problem(SeverityError, &path{up: at, name: "operator"}, quote(fl.Operator), operators.Hint(fl.Operator, operators.CohortFilter),
				"the leaf can never match: the operator is not for cohorts")
		}
		n.id = uint32(other.ord)
	case fl.readsPerson():
		owner := ownerPerson
		if fl.Type == "person_metadata" {
			owner = ownerMetadata
		}
		before := len(c.read)
		if fl.Comparison != (Comparison{}) { // which negation is a part of
			c.inverted, n.negated = fl.Negation, false
			defer func() { c.inverted = false }()
		}
		id, code := c.propertyCheck(fl, owner, at)
		b.slots = append(b.slots, c.read[before:]...)
		c.read = c.read[:before]
		if code != 0 {
			return n, code
		}
		n.kind, n.id = nodeCheck, id
	default:
		c.problem(SeverityError, &path{up: at, name: "type"}, quote(fl.Type), `use "person", "person_metadata" or "cohort"`, "the leaf can never match: only persons are members of cohorts")
	}
	return n, 0
}
