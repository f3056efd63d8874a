package judge

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
	"github.com/flagstaff-go/flagstaff/internal/text"
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
	for o := range flags.Operators() {
		if o.For == flags.PropertyFilter {
			names = append(names, o.Name)
		}
	}
	return strings.Join(names, ", ")
}()

// readProperty reads a property, an element of a condition set's properties or a
// leaf of a cohort's tree, whose type is one of types, and not behavioral. What
// depends on other flags, on cohorts or on the engine is judged later.
func readProperty(o object, types []string) (flags.Filter, error) {
	var p flags.Filter
	var err error
	if p.Type, err = readType(o, types); err != nil {
		return p, within("type", err)
	}
	if p.Key, err = readKey(o.get("key")); err != nil {
		return p, within("key", err)
	}
	if p.Operator, err = readOperator(o.get("operator")); err != nil {
		return p, within("operator", err)
	}
	negation, err := optionalBool(o.get("negation"))
	if err != nil {
		return p, within("negation", err)
	}
	p.Negation = isTrue(negation)
	index, err := readGroupType(o.get("group_type_index"))
	if err != nil {
		return p, within("group_type_index", err)
	}
	switch p.Type {
	case "cohort":
		err = readCohortReference(&p, o)
	case "flag":
		err = readFlagReference(&p, o)
	case "group":
		p.GroupTypeIndex = index
		err = readOperand(&p, o.get("value"))
	default:
		err = readOperand(&p, o.get("value"))
	}
	return p, err
}

func readType(o object, types []string) (string, error) {
	v := o.get("type")
	name, ok := str(v)
	if !ok || !slices.Contains(types, name) {
		return "", unfit(v, "one of "+strings.Join(types, ", "))
	}
	return name, nil
}

// readKey reads the name of a property. Numbers become text.
func readKey(v jsonscan.Value) (string, error) {
	const want = "text or a number"
	if v.Kind() == jsonscan.Number {
		s, _ := text.Str(v)
		return s, nil
	}
	s, err := plainText(v, want)
	if err == nil && s == "" {
		return "", refuse("must not be empty")
	}
	return s, err
}

// readOperator reads an operator as it is stored; "" for none.
func readOperator(v jsonscan.Value) (string, error) {
	if !present(v) {
		return "", nil
	}
	name, ok := str(v)
	o, known := flags.OperatorNamed(name)
	if !ok || !known {
		return "", unfitAs(codeOperator, v, "one of "+operatorNames+"; in and not_in for cohorts, flag_evaluates_to for flags")
	}
	return o.Name, nil
}

func readGroupType(v jsonscan.Value) (*int, error) {
	if !present(v) {
		return nil, nil
	}
	n, ok := integer(v)
	if !ok || n < 0 || n > flags.MaxGroupTypeIndex {
		return nil, unfit(v, "the index of a group type, an integer from 0")
	}
	return new(int(n)), nil
}

// readCohortReference reads the rest of a reference to a cohort (management.md
// §13.10).
func readCohortReference(p *flags.Filter, o object) error {
	if p.Key != "id" {
		return within("key", refuse(`must be "id" for a cohort, not %s`, shorten(o.get("key"))))
	}
	if p.Operator != "" && p.Operator != flags.OperatorIn && p.Operator != flags.OperatorNotIn {
		return within("operator", unfitAs(codeOperator, o.get("operator"), "in or not_in for a cohort"))
	}
	v := o.get("value")
	if s, ok := str(v); ok {
		v = jsonscan.Value(s) // SDKs accept the text of an id, too
	}
	id, ok := integer(v)
	if !ok {
		return within("value", unfitAs(codeValue, o.get("value"), "the integer id of a cohort"))
	}
	p.Value = strconv.AppendInt(nil, id, 10)
	return nil
}

// readFlagReference reads the rest of a dependency.
func readFlagReference(p *flags.Filter, o object) error {
	if p.Operator != flags.OperatorFlagEvaluatesTo {
		return within("operator", unfitAs(codeOperator, o.get("operator"), "flag_evaluates_to for a flag"))
	}
	if o.get("dependency_chain").Kind() == jsonscan.Array {
		p.DependencyChain = new([]string) // for the key is surely none of an id
	}
	v := o.get("value")
	switch v.Kind() {
	case jsonscan.True, jsonscan.False, jsonscan.String:
		value, err := appendValue(nil, v)
		p.Value = value
		return within("value", err)
	}
	return within("value", unfitAs(codeValue, v, "true, false or the key of a variant"))
}

// comparison returns the operator of a property that is compared itself.
func comparison(p *flags.Filter) flags.Operator {
	o, _ := flags.OperatorNamed(cmp.Or(p.Operator, flags.OperatorExact))
	return o
}

// readOperand reads the value of a property that is compared itself.
func readOperand(p *flags.Filter, v jsonscan.Value) error {
	o := comparison(p)
	switch o.For {
	case flags.CohortFilter:
		return within("operator", refuseAs(codeOperator, "must be one of %s for type %s, not %s, which is for a cohort", operatorNames, p.Type, o.Name))
	case flags.FlagFilter:
		return within("operator", refuseAs(codeOperator, "must be one of %s for type %s, not %s, which is for a flag", operatorNames, p.Type, o.Name))
	}
	switch {
	case o.Operand == flags.OperandNone && !present(v):
		return nil
	case o.Operand != flags.OperandNone && !present(v):
		return within("value", refuseAs(valueCode(o), "is required for operator %s", o.Name))
	case !o.Operand.Admits([]byte(v)):
		return within("value", unfitFor(o, v))
	}
	value, err := appendValue(nil, v)
	p.Value = value
	return within("value", err)
}

// valueCode returns the code for a value that does not suit an operator.
func valueCode(o flags.Operator) string {
	if o.Operand == flags.OperandDate {
		return codeDate
	}
	return codeValue
}

// unfitFor refuses a value that does not suit an operator.
func unfitFor(o flags.Operator, v jsonscan.Value) error {
	return refuseAs(valueCode(o), "must be %s, not %s (operator %s)", o.Operand, shorten(v), o.Name)
}

// isParsed reports whether the engine has to parse an operand, and can fail.
func isParsed(o flags.Operand) bool {
	switch o {
	case flags.OperandNumber, flags.OperandRange, flags.OperandDate, flags.OperandVersion, flags.OperandPattern:
		return true
	}
	return false
}
