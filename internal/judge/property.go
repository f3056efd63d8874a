package judge

import (
	"cmp"
	"slices"
	"strings"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/flags/operator"
	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
	"github.com/flagstaff-go/flagstaff/internal/operators"
)

// Types of properties (evaluation.md §1.5).
var (
	flagTypes = []string{"person", "person_metadata", "group", "cohort", "flag"}
	leafTypes = []string{"person", "person_metadata", "cohort", "behavioral"}
)

// operatorNames are the operators for properties in messages, the ones that belong
// together next to each other. Package flags has six that management.md §13.5 does
// not list.
var operatorNames = func() string {
	var names []string
	for o := range operators.All() {
		if o.For == operators.PropertyFilter {
			names = append(names, o.Name)
		}
	}
	return strings.Join(names, ", ")
}()

// checkProperty checks a property, an element of a condition set's properties or a leaf of
// a cohort's tree, whose type is one of types. What depends on other flags, on cohorts or
// on the engine is judged later.
func checkProperty(p *flags.Filter, types []string) error {
	p.CohortName = "" // which is only shown
	if !slices.Contains(types, p.Type) {
		return within("type", unfitText(codeInvalid, p.Type, "one of "+strings.Join(types, ", ")))
	}
	if p.Key == "" {
		return within("key", refuse("is required and must be text or a number"))
	}
	if err := checkText(p.Key); err != nil {
		return within("key", err)
	}
	if operators.KindOf(p.Type) == operators.UnknownFilter {
		if err := checkValue(jsonscan.Value(p.Extra)); err != nil {
			return err
		}
		return within("value", checkValue(jsonscan.Value(p.Value)))
	}
	if p.Comparison.Dialect != "" { // whose operators the engine knows
		return within("value", checkValue(jsonscan.Value(p.Value)))
	}
	if _, known := operators.Named(p.Operator); p.Operator != "" && !known {
		return within("operator", unfitText(codeOperator, p.Operator, "one of "+operatorNames+"; in and not_in for cohorts, flag_evaluates_to for flags"))
	}
	switch p.Type {
	case "cohort":
		return checkCohortReference(p)
	case "flag":
		return checkFlagReference(p)
	}
	return checkOperand(p)
}

// checkCohortReference checks the rest of a reference to a cohort (management.md §13.10).
func checkCohortReference(p *flags.Filter) error {
	if p.Key != "id" {
		return within("key", refuse(`must be "id" for a cohort, not %s`, Quote(p.Key)))
	}
	if p.Operator != "" && p.Operator != operator.In && p.Operator != operator.NotIn {
		return within("operator", unfitText(codeOperator, p.Operator, "in or not_in for a cohort"))
	}
	if _, ok := p.CohortID(); !ok {
		return within("value", unfitAs(codeValue, p.Value, "the integer id of a cohort"))
	}
	return nil
}

// checkFlagReference checks the rest of a dependency.
func checkFlagReference(p *flags.Filter) error {
	if p.Operator != operator.FlagEvaluatesTo {
		return within("operator", unfitText(codeOperator, p.Operator, "flag_evaluates_to for a flag"))
	}
	switch v := jsonscan.Value(p.Value); v.Kind() {
	case jsonscan.True, jsonscan.False, jsonscan.String:
		return within("value", checkValue(v))
	}
	if p.Comparison.StrictType {
		return nil
	}
	return within("value", unfitAs(codeValue, p.Value, "true, false or the key of a variant"))
}

// comparison returns the operator of a property that is compared itself.
func comparison(p *flags.Filter) operators.Operator {
	o, _ := operators.Named(cmp.Or(p.Operator, operator.Exact))
	return o
}

// checkOperand checks the value of a property that is compared itself.
func checkOperand(p *flags.Filter) error {
	o, v := comparison(p), jsonscan.Value(p.Value)
	switch o.For {
	case operators.CohortFilter:
		return within("operator", refuseAs(codeOperator, "must be one of %s for type %s, not %s, which is for a cohort", operatorNames, p.Type, o.Name))
	case operators.FlagFilter:
		return within("operator", refuseAs(codeOperator, "must be one of %s for type %s, not %s, which is for a flag", operatorNames, p.Type, o.Name))
	}
	switch {
	case o.Operand == operators.OperandNone && !present(v):
		return nil
	case o.Operand != operators.OperandNone && !present(v):
		return within("value", refuseAs(valueCode(o), "is required for operator %s", o.Name))
	case !o.Operand.Admits([]byte(v)):
		return within("value", unfitFor(o, v))
	}
	return within("value", checkValue(v))
}

// checkValue refuses what databases and float64 do not have.
func checkValue(v jsonscan.Value) error {
	switch v.Kind() {
	case jsonscan.String:
		s, _ := v.AppendString(nil)
		return checkText(string(s))
	case jsonscan.Number:
		if _, ok := v.Float(); !ok {
			return unfit(v, "a number that a double-precision float can hold")
		}
	case jsonscan.Array:
		i := 0
		for a := v.Array(); a.Next(); i++ {
			if err := checkValue(a.Value()); err != nil {
				return within(i, err)
			}
		}
	case jsonscan.Object:
		for o := v.Object(); o.Next(); {
			name := string(o.Name())
			if err := checkText(name); err != nil {
				return err
			}
			if err := checkValue(o.Value()); err != nil {
				return within(shorten(name), err)
			}
		}
	}
	return nil
}

// Member returns a member of an object, nil if there is none.
func Member(object []byte, name string) (found jsonscan.Value) {
	for o := jsonscan.Value(object).Object(); o.Next(); {
		if string(o.Name()) == name {
			found = o.Value()
		}
	}
	return found
}

// valueCode returns the code for a value that does not suit an operator.
func valueCode(o operators.Operator) string {
	if o.Operand == operators.OperandDate {
		return codeDate
	}
	return codeValue
}

// unfitFor refuses a value that does not suit an operator.
func unfitFor(o operators.Operator, v jsonscan.Value) error {
	return refuseAs(valueCode(o), "must be %s, not %s (operator %s)", o.Operand, shorten(v), o.Name)
}

// isParsed reports whether the engine has to parse an operand, and can fail.
func isParsed(o operators.Operand) bool {
	switch o {
	case operators.OperandNumber, operators.OperandRange, operators.OperandDate, operators.OperandVersion, operators.OperandPattern:
		return true
	}
	return false
}
