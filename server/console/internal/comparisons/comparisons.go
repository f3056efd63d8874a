package comparisons

import (
	"github.com/flagstaff-go/flagstaff/internal/operators"
)

// All returns the operators of a kind of filter in the order in which people choose
// them, those for versions apart.
func All(kind string) [][]operators.Operator {
	takes := operators.KindOf(kind)
	if takes == operators.UnknownFilter {
		takes = operators.PropertyFilter
	}
	var most, versions []operators.Operator
	for o := range operators.All() {
		switch {
		case o.For != takes:
		case o.Operand == operators.OperandVersion:
			versions = append(versions, o)
		default:
			most = append(most, o)
		}
	}
	if versions == nil {
		return [][]operators.Operator{most}
	}
	return [][]operators.Operator{most, versions}
}

// Of returns an operator, or the one that a new filter has for no name. One that
// nothing knows is shown as it is.
func Of(kind, name string) operators.Operator {
	if name == "" {
		return All(kind)[0][0]
	}
	if o, ok := operators.Named(name); ok {
		return o
	}
	return operators.Operator{Name: name, Words: name, Operand: operators.OperandText}
}
