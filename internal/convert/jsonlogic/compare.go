package jsonlogic

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/convert/logic"
)

// arguments returns the cases of each argument of an operator that takes several. Without a list
// it fails.
func (c *Converter) arguments(arguments any) (each [][]Case, fails bool, err error) {
	list, ok := arguments.([]any)
	if !ok {
		if _, _, computed := operation(arguments); computed {
			return nil, false, fmt.Errorf("arguments that are computed as a whole cannot be converted")
		}
		return nil, true, nil
	}
	for _, e := range list {
		cases, err := c.element(e)
		if err != nil {
			return nil, false, err
		}
		each = append(each, cases)
	}
	return each, false, nil
}

// combine puts together what holds for each combination of the cases of arguments.
func combine(arguments [][]Case, of func(values []Value) (logic.Verdict, error)) (logic.Verdict, error) {
	return combined(arguments, nil, of)
}

func combined(arguments [][]Case, values []Value, of func(values []Value) (logic.Verdict, error)) (logic.Verdict, error) {
	if len(values) == len(arguments) {
		return of(values)
	}
	return each(arguments[len(values)], func(v Value) (logic.Verdict, error) {
		return combined(arguments, append(values[:len(values):len(values)], v), of)
	})
}

// comparison returns for whom a comparison of two values holds, or of three for a range.
func (c *Converter) comparison(op string, arguments any) (logic.Verdict, error) {
	list, fails, err := c.arguments(arguments)
	if err != nil || fails {
		if op == "===" && err == nil {
			return logic.Sure(logic.False()), nil
		}
		return logic.Fails(), err
	}
	return combine(list, func(v []Value) (logic.Verdict, error) {
		switch {
		case len(v) < 2 && c.OldFlagd && op != "===":
			return logic.Fails(), nil
		case len(v) < 2:
			return logic.Sure(logic.False()), nil
		}
		f, err := compare(op, v[0], v[1])
		if err == nil && len(v) == 3 && (op[0] == '<' || op[0] == '>') {
			var next flags.Filter
			next, err = compare(op, v[1], v[2])
			f = logic.And(f, next)
		}
		return logic.Sure(f), err
	})
}

var mirrored = map[string]string{"==": "==", "===": "===", "<": ">", "<=": ">=", ">": "<", ">=": "<="}

func compare(op string, a, b Value) (flags.Filter, error) {
	switch {
	case a.Property != nil && b.Property != nil:
		return flags.Filter{}, fmt.Errorf("the comparison %s of two attributes cannot be converted", op)
	case a.Property != nil:
		return constantly(op, a, b.Constant), nil
	case b.Property != nil:
		return constantly(mirrored[op], b, a.Constant), nil
	}
	return logic.Bool(holds(op, a.Constant, b.Constant)), nil
}

// constantly compares a property with a constant.
func constantly(op string, a Value, with any) flags.Filter {
	switch with.(type) {
	case []any, map[string]any: // equal to nothing, and no number
		return logic.False()
	case nil:
		if op == "==" || op == "===" {
			return a.isNull()
		}
	}
	return a.compare(op, with)
}

// holds compares two constants.
func holds(op string, a, b any) bool {
	s, isText := a.(string)
	t, areTexts := b.(string)
	areTexts = areTexts && isText
	x, y := toNumber(a), toNumber(b)
	less, more, equal := x < y, y < x, x == y
	switch {
	case areTexts:
		less, more, equal = s < t, t < s, s == t
	case a == nil || b == nil:
		equal = a == nil && b == nil
	}
	switch op {
	case "==":
		return equal
	case "===":
		return equal && fmt.Sprintf("%T", a) == fmt.Sprintf("%T", b)
	case "<":
		return less
	case "<=":
		return less || equal
	case ">":
		return more
	}
	return more || equal
}

func toNumber(v any) float64 {
	switch v := v.(type) {
	case nil:
		return 0
	case float64:
		return v
	case bool:
		if v {
			return 1
		}
		return 0
	case string:
		if strings.TrimSpace(v) == "" {
			return 0
		}
		if n, err := strconv.ParseFloat(v, 64); err == nil {
			return n
		}
	}
	return math.NaN()
}

// in returns for whom a value is in a list, or a text within another one.
func (c *Converter) in(arguments any) (logic.Verdict, error) {
	list, fails, err := c.arguments(arguments)
	if err != nil || fails || len(list) == 0 {
		return logic.Fails(), err
	}
	return combine(list, func(v []Value) (logic.Verdict, error) {
		if len(v) == 1 {
			v = append(v, Value{})
		}
		a, b := v[0], v[1]
		switch {
		case a.Property != nil && b.Property != nil:
			return logic.Verdict{}, fmt.Errorf("the operator in with two attributes cannot be converted")
		case b.Property != nil:
			return logic.Verdict{Yes: b.compare("contains", a.Constant), No: b.compare("not_contains", a.Constant)}, nil
		}
		haystack, isList := b.Constant.([]any)
		whole, isText := b.Constant.(string)
		switch {
		case a.Property == nil && isText:
			s, ok := a.Constant.(string)
			if !ok {
				return logic.Fails(), nil
			}
			return logic.Sure(logic.Bool(strings.Contains(whole, s))), nil
		case a.Property == nil && isList:
			return isIn(a.Constant, haystack), nil
		case isList && len(haystack) > 0 && plain(haystack):
			return logic.Sure(a.compare("in", haystack)), nil
		case isList && len(haystack) > 0, isText:
			return logic.Verdict{Yes: a.compare("in", b.Constant), No: a.compare("not_in", b.Constant)}, nil
		}
		return logic.Sure(logic.False()), nil
	})
}

// plain reports whether a list has nothing but texts and numbers, with which in never fails.
func plain(list []any) bool {
	for _, e := range list {
		switch e.(type) {
		case string, float64:
		default:
			return false
		}
	}
	return true
}

// isIn looks for a constant in a list.
func isIn(a any, list []any) logic.Verdict {
	for _, e := range list {
		var found, ok bool
		span, isSpan := e.([]any)
		x, isNumber := a.(float64)
		switch {
		case isSpan:
			found, ok = within(a, span)
		case isNumber:
			var y float64
			y, ok = plainNumber(e)
			found = x == y
		default:
			_, isMap := a.(map[string]any)
			_, other := e.(map[string]any)
			_, isList := a.([]any)
			if ok = !isMap || !other; ok && !isMap && !isList && !other {
				found = a == e
			}
		}
		if !ok {
			return logic.Fails()
		}
		if found {
			return logic.Sure(logic.True())
		}
	}
	return logic.Sure(logic.False())
}

func within(a any, span []any) (found, ok bool) {
	n, ok := plainNumber(a)
	if len(span) < 2 || !ok {
		return false, false
	}
	low, ok := plainNumber(span[0])
	if !ok || n < low {
		return false, ok
	}
	high, ok := plainNumber(span[1])
	return n <= high, ok
}

// plainNumber is what a number or a text counts as. A text that is none is zero.
func plainNumber(v any) (n float64, ok bool) {
	switch v := v.(type) {
	case float64:
		return v, true
	case string:
		n, _ = strconv.ParseFloat(v, 64)
		return n, true
	}
	return 0, false
}
