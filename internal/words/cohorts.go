package words

import (
	"encoding/json"
	"strings"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/flags/operator"
	"github.com/flagstaff-go/flagstaff/internal/operators"
)

// maxCohort is how long a cohort is in words, in characters.
const maxCohort = 240

// Cohort says who is in a cohort with filters (evaluation.md §5.1), "" if they cannot be read.
func (n *Names) Cohort(filters json.RawMessage) string {
	tree, err := flags.DecodeCohort(filters, 0)
	switch {
	case tree == nil && err != nil:
		return ""
	case tree == nil:
		return NoOne
	}
	if text := n.node(tree, false); text != "" {
		return Shorten(text, maxCohort)
	}
	return NoOne
}

// node says a node, in parentheses if it is a group of several in another one.
func (n *Names) node(node *flags.CohortNode, nested bool) string {
	if node.Leaf != nil {
		return n.ruleFilter(node.Leaf)
	}
	joint := " and "
	if anyOf, _ := node.AnyOf(); anyOf {
		joint = " or "
	}
	var all []string
	for i := range node.Values {
		if text := n.node(&node.Values[i], len(node.Values) > 1); text != "" {
			all = append(all, text)
		}
	}
	text := strings.Join(all, joint)
	if nested && len(all) > 1 {
		return "(" + text + ")"
	}
	return text
}

func (n *Names) leaf(f *flags.Filter) string {
	switch operators.KindOf(f.Type) {
	case operators.UnknownFilter:
		return "a criterion on what a person did"
	case operators.CohortFilter:
		o, _ := operators.Of(f.Type, f.Operator)
		in := *f
		in.Operator = operator.In
		if text := n.Filter(&in); o.Negated == f.Negation {
			return text
		} else {
			return "not " + text
		}
	}
	switch {
	case f.Key == "":
		return ""
	case f.Negation:
		return "not (" + n.Filter(f) + ")"
	}
	return n.Filter(f)
}
