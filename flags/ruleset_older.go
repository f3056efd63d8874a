package flags

import (
	"cmp"
	"slices"

	"github.com/flagstaff-go/flagstaff/internal/operators"
)

// Conditions returns the condition sets that give the flag with a key the same value for
// everybody. It is not ok if there are none (rules.md §5): the flag must be boolean, each rule
// must give true and each miss go on, the default must not be true, and each share must be drawn
// with the flag's key.
func (s *RuleSet) Conditions(key string) (f Filters, ok bool) {
	if s.ReturnType != typeBoolean || string(s.Default) == "true" {
		return Filters{}, false
	}
	f = Filters{Groups: []Condition{}, AggregationGroupTypeIndex: s.Aggregation}
	for i := range s.Rules {
		r := &s.Rules[i]
		drawn := r.Type == ruleRollout
		switch {
		case !drawn && r.Type != ruleTargeted, string(r.Value) != "true":
			return Filters{}, false
		case drawn && r.OnMiss == onMissDefault && i < len(s.Rules)-1:
			return Filters{}, false
		case drawn && r.Seed != key && r.RolloutPercentage != 100:
			return Filters{}, false
		case slices.ContainsFunc(r.Targeting, differsInConditions):
			return Filters{}, false
		}
		c := Condition{Properties: slices.Clone(r.Targeting), RolloutPercentage: new(100.0)}
		for j := range c.Properties { // some SDKs know no filter without an operator
			c.Properties[j].Operator = cmp.Or(c.Properties[j].Operator, "exact")
		}
		if drawn {
			c.RolloutPercentage = &r.RolloutPercentage
		}
		f.Groups = append(f.Groups, c)
	}
	return f, true
}

// differsInConditions reports whether a filter means something else in a condition set, or may:
// it consists of others or of a split, is negated, compares in another way, or has a pattern, which
// fails a rule set if it does not compile.
func differsInConditions(f Filter) bool {
	spec, _ := operators.Named(f.Operator)
	return f.IsGroup() || f.Split != nil || f.Negation || f.Comparison != (Comparison{}) || spec.Operand == operators.OperandPattern
}
