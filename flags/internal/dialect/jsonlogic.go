package dialect

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
	"github.com/flagstaff-go/flagstaff/internal/strictver"
	"github.com/flagstaff-go/flagstaff/internal/text"
)

// jsonLogic has the comparisons of JSONLogic, as github.com/diegoholiveira/jsonlogic/v3 makes
// them, of a variable on the left with a value. Its conversions are those of that library, which
// are nearly those of JavaScript.
func jsonLogic(operator string, value jsonscan.Value) (Check, error) {
	if is := logicKinds[operator]; is != nil {
		return Check{Match: is}, nil
	}
	switch operator {
	case "in", "not_in":
		return logicIn(value, operator == "in")
	case "contains", "not_contains":
		return logicContains(value, operator == "contains")
	case "sem_ver":
		return logicVersion(value)
	}
	compare := logicOrders[operator]
	want := logicOperand(value)
	if compare == nil {
		return Check{}, fmt.Errorf("there is no such operator; want one of %s", strings.Join(logicOperators, ", "))
	}
	return Check{Match: func(v Value) bool { return compare(logicProperty(&v), want) }}, nil
}

var logicOperators = []string{
	"==", "===", "<", "<=", ">", ">=", "in", "not_in", "contains", "not_contains", "sem_ver",
	"truthy", "first_truthy", "object", "empty_object", "single_object", "list", "number", "text", "null", "version",
}

// A logicValue is what is compared. An array or an object is not a number.
type logicValue struct {
	kind jsonscan.Kind // Null also for what is not set
	text string
	num  float64 // of a number
}

func logicProperty(v *Value) logicValue {
	if v.Kind == jsonscan.Invalid {
		return logicValue{kind: jsonscan.Null}
	}
	return logicValue{v.Kind, v.Text, v.Number}
}

func logicOperand(v jsonscan.Value) logicValue {
	o := logicValue{kind: v.Kind()}
	switch o.kind {
	case jsonscan.Invalid: // a filter without a value has null
		o.kind = jsonscan.Null
	case jsonscan.String:
		o.text, _ = text.Str(v)
	case jsonscan.Number:
		o.num, _ = v.Float()
	}
	return o
}

var logicOrders = map[string]func(a, b logicValue) bool{
	"==":  logicEqual,
	"===": func(a, b logicValue) bool { return logicSameType(a, b) && logicEqual(a, b) },
	"<":   logicLess,
	"<=":  func(a, b logicValue) bool { return logicLess(a, b) || logicEqual(a, b) },
	">":   func(a, b logicValue) bool { return logicLess(b, a) },
	">=":  func(a, b logicValue) bool { return logicLess(b, a) || logicEqual(b, a) },
}

func logicEqual(a, b logicValue) bool {
	switch {
	case a.kind == jsonscan.Null || b.kind == jsonscan.Null:
		return a.kind == b.kind
	case a.kind == jsonscan.String && b.kind == jsonscan.String:
		return a.text == b.text
	}
	return a.number() == b.number()
}

func logicSameType(a, b logicValue) bool {
	isBool := func(k jsonscan.Kind) bool { return k == jsonscan.True || k == jsonscan.False }
	return a.kind == b.kind || isBool(a.kind) && isBool(b.kind)
}

func logicLess(a, b logicValue) bool {
	if a.kind == jsonscan.String && b.kind == jsonscan.String {
		return a.text < b.text
	}
	return a.number() < b.number()
}

// number is what a value counts as. Unlike in JavaScript, a text with spaces around a number is
// no number.
func (v *logicValue) number() float64 {
	switch v.kind {
	case jsonscan.Number:
		return v.num
	case jsonscan.True:
		return 1
	case jsonscan.False, jsonscan.Null:
		return 0
	case jsonscan.String:
		if strings.TrimSpace(v.text) == "" {
			return 0
		}
		if mayBeNumber(v.text) {
			if n, err := strconv.ParseFloat(v.text, 64); err == nil {
				return n
			}
		}
	}
	return math.NaN()
}

// mayBeNumber spares most texts an error of strconv, which would allocate.
func mayBeNumber(s string) bool {
	c := s[0] | 0x20 // + - . and digits have it set
	return c <= '9' || c == 'i' || c == 'n'
}

var logicKinds = map[string]func(Value) bool{
	"truthy":       logicTruthy,
	"first_truthy": logicFirstTruthy,
	"object":       func(v Value) bool { return v.Kind == jsonscan.Object },
	"empty_object": func(v Value) bool { return v.Kind == jsonscan.Object && !hasMember(v.JSON) },
	"single_object": func(v Value) bool {
		o := v.JSON.Object()
		return v.Kind == jsonscan.Object && o.Next() && !o.Next()
	},
	"number": func(v Value) bool { return v.Kind == jsonscan.Number },
	"list":   func(v Value) bool { return v.Kind == jsonscan.Array },
	"text":   func(v Value) bool { return v.Kind == jsonscan.String },
	"null":   func(v Value) bool { return !isSet(v) },
	"version": func(v Value) bool {
		_, ok := logicParseVersion(v)
		return ok
	},
}

func logicTruthy(v Value) bool {
	switch v.Kind {
	case jsonscan.True:
		return true
	case jsonscan.Number:
		return v.Number != 0
	case jsonscan.String:
		return v.Text != ""
	case jsonscan.Array:
		a := v.JSON.Array()
		return a.Next()
	case jsonscan.Object:
		return hasMember(v.JSON)
	}
	return false
}

func hasMember(v jsonscan.Value) bool {
	o := v.Object()
	return o.Next()
}

// logicFirstTruthy is about the first element of an array that is not empty: it is what a
// negation of a variable that is not in a list looks at.
func logicFirstTruthy(v Value) bool {
	if v.Kind == jsonscan.Array {
		if a := v.JSON.Array(); a.Next() {
			return logicTruthy(valueOf(a.Value()))
		}
	}
	return logicTruthy(v)
}

// A logicResult is what in comes to: it fails for some types.
type logicResult uint8

const (
	logicFalse logicResult = iota
	logicTrue
	logicFails
)

func resultOf(b bool) logicResult {
	if b {
		return logicTrue
	}
	return logicFalse
}

// logicIn compares a variable with a list or a text that may have it.
func logicIn(value jsonscan.Value, positive bool) (Check, error) {
	want := resultOf(positive)
	switch value.Kind() {
	case jsonscan.String:
		s, _ := text.Str(value)
		return Check{Match: func(v Value) bool {
			return v.Kind == jsonscan.String && resultOf(strings.Contains(s, v.Text)) == want
		}}, nil
	case jsonscan.Array:
		var list []logicElement
		for a := value.Array(); a.Next(); {
			list = append(list, elementOf(a.Value()))
		}
		return Check{Match: func(v Value) bool {
			a := logicProperty(&v)
			for i := range list {
				if r := list[i].is(a); r != logicFalse {
					return r == want
				}
			}
			return want == logicFalse
		}}, nil
	}
	return Check{}, errors.New("want a list or a text")
}

// logicContains compares a value with a variable that may have it: a text with another one, or an
// array with its elements.
func logicContains(value jsonscan.Value, positive bool) (Check, error) {
	want, a := resultOf(positive), logicOperand(value)
	return Check{Match: func(v Value) bool {
		switch v.Kind {
		case jsonscan.String:
			return a.kind == jsonscan.String && resultOf(strings.Contains(v.Text, a.text)) == want
		case jsonscan.Array:
			for e := v.JSON.Array(); e.Next(); {
				element := elementOf(e.Value())
				if r := element.is(a); r != logicFalse {
					return r == want
				}
			}
		}
		return want == logicFalse
	}}, nil
}

// A logicElement is an element of a list.
type logicElement struct {
	logicValue
	low, high *logicValue // of a range, which is an array
	broken    bool        // an array that is not one
}

func elementOf(v jsonscan.Value) (e logicElement) {
	e.logicValue = logicOperand(v)
	if e.kind != jsonscan.Array {
		return e
	}
	a := v.Array()
	for _, end := range []**logicValue{&e.low, &e.high} {
		if !a.Next() {
			e.broken = true
			return e
		}
		o := logicOperand(a.Value())
		*end = &o
	}
	return e
}

// is reports whether a value is an element: in is so, for one.
func (e *logicElement) is(a logicValue) logicResult {
	switch {
	case e.broken:
		return logicFails
	case e.low != nil:
		n, ok := a.plainNumber()
		low, isLow := e.low.plainNumber()
		if !ok || !isLow {
			return logicFails
		}
		if n < low {
			return logicFalse
		}
		high, isHigh := e.high.plainNumber()
		if !isHigh {
			return logicFails
		}
		return resultOf(high >= n)
	case a.kind == jsonscan.Number:
		n, ok := e.plainNumber()
		if !ok {
			return logicFails
		}
		return resultOf(n == a.num)
	case a.kind != e.kind:
		return logicFalse
	case a.kind == jsonscan.Array || a.kind == jsonscan.Object:
		return logicFails
	}
	return resultOf(a.text == e.text)
}

// plainNumber is what a number or a text counts as: zero, if the text is none.
func (v *logicValue) plainNumber() (n float64, ok bool) {
	switch v.kind {
	case jsonscan.Number:
		return v.num, true
	case jsonscan.String:
		if v.text != "" && mayBeNumber(v.text) {
			n, _ = strconv.ParseFloat(v.text, 64)
		}
		return n, true
	}
	return 0, false
}

// logicVersion compares a version by the operator and the version of a list, as flagd does.
func logicVersion(value jsonscan.Value) (Check, error) {
	var parts [2]string
	a := value.Array()
	for i := range parts {
		if a.Next() {
			parts[i], _ = text.Str(a.Value())
		}
	}
	want, ok := logicParseVersion(Value{Kind: jsonscan.String, Text: parts[1]})
	op := parts[0]
	holds := versionOrders[op]
	if !ok || holds == nil && op != "^" && op != "~" || a.Next() {
		return Check{}, errors.New("want a list of an operator and a version, such as [\">=\", \"1.2.3\"]")
	}
	return Check{Match: func(v Value) bool {
		got, ok := logicParseVersion(v)
		switch {
		case !ok:
			return false
		case op == "^":
			return got.Major == want.Major
		case op == "~":
			return got.Major == want.Major && got.Minor == want.Minor
		}
		return holds(got.Compare(&want))
	}}, nil
}

var versionOrders = map[string]func(order int) bool{
	"=": orders["eq"], "!=": orders["ne"], "<": orders["lt"], "<=": orders["le"], ">": orders["gt"], ">=": orders["ge"],
}

func logicParseVersion(v Value) (strictver.Version, bool) {
	s := v.Text
	switch v.Kind {
	case jsonscan.String:
	case jsonscan.Number:
		s = strconv.FormatFloat(v.Number, 'g', -1, 64)
	default:
		return strictver.Version{}, false
	}
	if s != "" && s[0]|0x20 == 'v' {
		s = s[1:]
	}
	return strictver.Parse(s, true)
}
