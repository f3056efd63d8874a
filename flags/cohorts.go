package flags

import (
	"github.com/flagstaff-go/flagstaff/internal/operators"
)

// isMember reports whether the person is in cohort i, which is found once per
// run.
func (in *Input) isMember(i int32) bool {
	if m := in.cohorts[i] ^ in.run; m < runStep {
		return m != 0
	}
	c := &in.snap.cohorts[i]
	var member bool
	if c.stored >= 0 {
		member = in.members[c.stored] == in.gen
	} else {
		member = in.nodeHolds(&c.root)
	}
	in.cohorts[i] = in.run
	if member {
		in.cohorts[i] |= 1
	}
	return member
}

// nodeHolds reports whether the person fulfils a node (evaluation.md §5.3).
func (in *Input) nodeHolds(n *compiledNode) bool {
	holds := n.kind == nodeAll
	switch n.kind {
	case nodeAll, nodeAny:
		// A child that differs settles it: AND is false then, and OR true.
		for i := range n.nodes {
			if in.nodeHolds(&n.nodes[i]) != holds {
				holds = !holds
				break
			}
		}
	case nodeCheck:
		holds = in.verdict(n.id) == yes
	case nodeCohort:
		holds = in.isMember(int32(n.id))
	}
	return holds != n.negated
}

// isBehavioral reports whether a check asks for a cohort whose members cannot be
// fully known here (evaluation.md §3.7).
func (s *Snapshot) isBehavioral(id uint32) bool {
	c := &s.checks[id]
	return (c.op == operators.OpCohort || c.op == operators.OpCohortNever) && s.cohorts[c.slot].behavioral
}
