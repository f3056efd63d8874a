package jsonlogic

import (
	"cmp"
	"errors"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/flags/operator"
	"github.com/flagstaff-go/flagstaff/internal/convert/logic"
)

// The library before v3.9, which the old flagd has: numbers and null do not end an and, a list
// ends it also if it counts as true, or is false in place of what is not true, and the elements
// of lists within lists are not evaluated.

// element returns the cases of an element of a list.
func (c *Converter) element(e any) ([]Case, error) {
	if _, isList := e.([]any); isList && c.OldFlagd {
		return Constant(e), nil
	}
	return c.Cases(e)
}

// isBoolean reports whether the value of an expression is true or false for everybody. Then the
// library has always done the same.
func isBoolean(e any) bool {
	if _, ok := e.(bool); ok {
		return true
	}
	name, arguments, _ := operation(e)
	switch name {
	case "!", "!!", "==", "===", "!=", "!==", "<", "<=", ">", ">=", "in", "ends_with", "sem_ver":
		return true
	case "and", "or":
		list, ok := arguments.([]any)
		for _, e := range list {
			ok = ok && isBoolean(e)
		}
		return ok
	}
	return false
}

// What the elements of an and have been so far.
const (
	noNumbers = iota
	noneAbove // zero
	oneAbove
	oldStates
)

// oldAnd returns the value of an and. With truth, it is right only in whether it counts as true.
func (c *Converter) oldAnd(list []any, truth bool) (out []Case, err error) {
	going := [oldStates]flags.Filter{logic.True(), logic.False(), logic.False()}
	for _, e := range list {
		cases, err := c.Cases(e)
		if err != nil {
			return nil, err
		}
		next := [oldStates]flags.Filter{logic.False(), logic.False(), logic.False()}
		for state, before := range going {
			for _, k := range cases {
				when := logic.And(before, k.When)
				goOn := func(state int, when flags.Filter) { next[state] = logic.Or(next[state], when) }
				switch {
				case k.Fails:
					out = append(out, Case{when, k.Value})
				case k.Property == nil:
					switch v := k.Constant.(type) {
					case []any:
						out = append(out, Case{when, k.Value})
					case float64:
						goOn(max(state, stateOf(v)), when)
					default:
						if v == false || v == "" {
							out = append(out, Case{when, k.Value})
							break
						}
						goOn(state, when)
					}
				default:
					isList, isFalse, isEmpty := k.compare("list", nil), k.compare("===", false), k.compare("===", "")
					isNumber, isAbove := k.compare("number", nil), k.aboveZero()
					out = append(out, Case{logic.And(when, isList), k.Value}, Case{logic.And(when, isFalse), Value{Constant: false}},
						Case{logic.And(when, isEmpty), Value{Constant: ""}})
					goOn(oneAbove, logic.And(when, isAbove))
					goOn(max(state, noneAbove), logic.And(when, isNumber, logic.Not(isAbove)))
					goOn(state, logic.And(when, logic.Not(logic.Or(isList, isFalse, isEmpty, isNumber))))
				}
			}
		}
		going = next
		if err := cmp.Or(check(out), logic.Check(&going[noNumbers], &going[noneAbove], &going[oneAbove])); err != nil {
			return nil, err
		}
	}
	if !truth && !logic.IsFalse(&going[oneAbove]) {
		return nil, errors.New("an and of numbers, whose value counts, cannot be converted")
	}
	out = append(out, Case{going[noNumbers], Value{Constant: true}}, Case{going[noneAbove], Value{Constant: 0.0}},
		Case{going[oneAbove], Value{Constant: 1.0}})
	return possible(out), nil
}

func stateOf(n float64) int {
	if n > 0 {
		return oneAbove
	}
	return noneAbove
}

// aboveZero returns for whom a property is a number above zero.
func (v Value) aboveZero() flags.Filter {
	f := *v.Property
	f.Operator, f.Value = operator.GT, logic.JSON(0)
	f.Comparison = flags.Comparison{StrictType: true, Path: f.Comparison.Path}
	return f
}
