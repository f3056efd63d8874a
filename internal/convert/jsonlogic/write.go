package jsonlogic

import (
	"encoding/json"
	"slices"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/flags/operator"
	"github.com/flagstaff-go/flagstaff/internal/convert"
	"github.com/flagstaff-go/flagstaff/internal/convert/logic"
)

// A Written is an expression for a filter, which holds for those for whom it comes to Holds.
type Written struct {
	Expression any
	Holds      Outcome
	Fails      bool // for some it is neither true nor false

	// Needs are filters without which the expression says something else.
	Needs []flags.Filter
}

// An Outcome is what an expression comes to.
type Outcome int

// The outcomes.
const (
	Yes Outcome = iota
	No
	Neither
)

func call(operator string, arguments ...any) any { return map[string]any{operator: arguments} }

// Write returns an expression of a variable for a filter, whose negation does not count.
func (c *Converter) Write(f *flags.Filter, variable any) (w Written, ok bool) {
	var value any
	_ = json.Unmarshal(f.Value, &value) // nil is null
	switch op := f.Operator; {
	case f.Comparison.Dialect == "" && op == operator.Exact:
		w.Expression = call("===", variable, value)
	case f.Comparison.Dialect == "":
		w.Expression = call("!!", call(op, variable, value))
	case f.Comparison.Dialect != Dialect:
		return w, false
	case op == "in" || op == "not_in":
		w.Expression = call("in", variable, value)
	case op == "contains" || op == "not_contains":
		w.Expression = call("in", value, variable)
	case op == "sem_ver":
		list, _ := value.([]any)
		w.Expression = call("!!", call(op, append([]any{variable}, list...)...))
	case op == "version" && c.OldFlagd: // each one with a small v is one of these
		w.Expression = call("or", call("sem_ver", variable, ">=", "0"), call("sem_ver", variable, "<", "0"))
		w.Needs = []flags.Filter{logic.Not(valueOf(f).compare("starts_with", "V"))}
		return w, true
	case op == "version":
		w.Expression = call("!=", call("sem_ver", variable, "=", "0"), nil)
	case op == "text":
		w.Expression = isText(variable)
	case op == "number":
		w.Expression = isNumber(variable)
		return w, c.Flagd
	case op == "null":
		w.Expression = call("==", variable, nil)
	case op == "truthy":
		w.Expression = call("!!", variable)
	case op == "first_truthy":
		w.Expression = map[string]any{"!!": variable}
	case op == "list":
		// Before v3.9 an and ends with a list. One that is empty does not count as true, unlike
		// what an and goes on behind.
		w.Expression = call("or", call("!!", call("and", variable, false)), call("and", call("!", call("and", variable)),
			call("!==", variable, false), call("!==", variable, ""), call("!", isNumber(variable))))
		return w, c.OldFlagd
	case op == "single_object": // which fails in a branch
		w.Expression = call("!!", call("or", call("if", true, variable), true))
		w.Fails, w.Holds = true, Neither
		return w, true
	default:
		w.Expression = call(op, variable, value)
	}
	return w, c.same(f, &w)
}

// valueOf returns the property that a filter is about.
func valueOf(f *flags.Filter) Value {
	return Value{Property: &flags.Filter{Type: f.Type, Key: f.Key, Comparison: flags.Comparison{Path: f.Comparison.Path}}}
}

func isText(variable any) any { return call("!!", call("starts_with", variable, "")) }

// isNumber asks for what is below zero or not, and of no other type that counts as a number.
func isNumber(variable any) any {
	return call("and", call("or", call("<", variable, 0.0), call(">=", variable, 0.0)), call("!", isText(variable)),
		call("!=", variable, nil), call("!==", variable, true), call("!==", variable, false))
}

// same reports whether an expression is one that the filter comes back from.
func (c *Converter) same(f *flags.Filter, w *Written) bool {
	same := *f
	same.Negation = false
	v, err := c.Verdict(w.Expression)
	if err != nil {
		return false
	}
	w.Fails = !v.Sure
	for i, is := range []flags.Filter{v.Yes, v.No} {
		parts := []flags.Filter{is}
		if is.Type == "all" && !is.Negation {
			parts = is.Filters
		}
		n := slices.IndexFunc(parts, func(p flags.Filter) bool { return convert.Same(&p, &same) })
		if n >= 0 && (i == 0 || !v.Sure) {
			w.Holds, w.Needs = Outcome(i), slices.Delete(slices.Clone(parts), n, n+1)
			return true
		}
	}
	return false
}

// Reworded returns a filter for the same users as one with an operator of our own, of those that
// [Converter.Write] takes. always says that the property is a text for everybody. It is not ok
// for a filter that is plain, or cannot be.
func Reworded(f *flags.Filter, always bool) (out flags.Filter, ok bool) {
	is := *f
	v, c := valueOf(f), &is.Comparison
	if always {
		c.MustBeSet, c.AnyElement = false, false
	}
	if c.MustBeSet {
		c.MustBeSet = false
		return logic.And(logic.Not(v.isNull()), is), true
	}
	positive, negative := operator.Exact, false
	if is.Operator != "" {
		positive = is.Operator
	}
	for op, opposite := range opposites {
		if is.Operator == opposite {
			positive, negative = op, true
		}
	}
	var list []any
	if json.Unmarshal(f.Value, &list) != nil {
		list = make([]any, 1)
		_ = json.Unmarshal(f.Value, &list[0])
	}
	if c.Dialect != "" || c.AnyElement || !c.StrictType && !always || len(list) == 0 {
		return out, false
	}
	var alternatives []flags.Filter
	for _, e := range list {
		text, isText := e.(string)
		number, isNumber := e.(float64)
		_, isBool := e.(bool)
		switch {
		case always && f.Comparison.StrictType && (isNumber || isBool): // which no text is
		case positive == operator.Exact && (isText && c.CaseSensitive || (isNumber || isBool) && !always):
			alternatives = append(alternatives, v.compare("===", e))
		case (positive == operator.StartsWith || positive == operator.EndsWith) && isText && c.CaseSensitive && len(list) == 1:
			alternatives = append(alternatives, v.compare(positive, text))
		case (positive == operator.IContains || positive == operator.IContainsMulti) && isText && c.CaseSensitive:
			alternatives = append(alternatives, logic.And(v.compare("text", nil), v.compare("contains", text)))
		case orders[positive] != "" && isNumber && !always && len(list) == 1:
			alternatives = append(alternatives, logic.And(v.compare("number", nil), v.compare(orders[positive], number)))
		default:
			return out, false
		}
	}
	out = logic.Or(alternatives...)
	if is.Negation != negative {
		out = logic.Not(out)
	}
	return out, !convert.Same(&out, f)
}

var (
	opposites = map[string]string{
		operator.Exact: operator.IsNot, operator.IContains: operator.NotIContains, operator.IContainsMulti: operator.NotIContainsMulti,
		operator.StartsWith: operator.NotStartsWith, operator.EndsWith: operator.NotEndsWith,
	}
	orders = map[string]string{operator.GT: ">", operator.GTE: ">=", operator.LT: "<", operator.LTE: "<="}
)
