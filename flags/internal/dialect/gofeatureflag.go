package dialect

import (
	"bytes"
	"cmp"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
	"github.com/flagstaff-go/flagstaff/internal/strictver"
	"github.com/flagstaff-go/flagstaff/internal/text"
)

// goFeatureFlag has the comparisons of the queries of GO Feature Flag (the grammar of
// github.com/nikunjy/rules). The value has the type of the comparison: a text, a whole number,
// true or false, null. A property of another type, or that is not set, does not match, also with
// ne.
func goFeatureFlag(operator string, value jsonscan.Value) (Check, error) {
	if operator == "pr" {
		return Check{Match: isSet}, nil
	}
	if order, ok := strings.CutPrefix(operator, "version_"); ok {
		return versionCheck(order, value)
	}
	switch value.Kind() {
	case jsonscan.String:
		s, _ := text.Str(value)
		return lowerCheck(operator, lower(nil, s))
	case jsonscan.Number:
		n, err := strconv.ParseInt(string(value), 10, 64)
		if err != nil {
			return Check{}, errors.New("want a whole number")
		}
		if operator == "in" {
			return wholeIn([]int64{n}), nil
		}
		holds := orders[operator]
		if holds == nil {
			return Check{}, errors.New("there is no such operator for numbers; want eq, ne, lt, le, gt, ge or in")
		}
		return Check{Match: func(v Value) bool { return v.Kind == jsonscan.Number && holds(cmp.Compare(whole(v.Number), n)) }}, nil
	case jsonscan.True, jsonscan.False:
		kind, other := value.Kind(), jsonscan.False
		if kind == jsonscan.False {
			other = jsonscan.True
		}
		switch operator {
		case "eq":
			return Check{Match: func(v Value) bool { return v.Kind == kind }}, nil
		case "ne":
			return Check{Match: func(v Value) bool { return v.Kind == other }}, nil
		}
		return Check{}, errors.New("there is no such operator for true and false; want eq or ne")
	case jsonscan.Array:
		return listCheck(operator, value)
	case jsonscan.Null, jsonscan.Invalid: // a filter without a value has null
		switch operator {
		case "eq":
			return Check{Match: func(v Value) bool { return !isSet(v) }}, nil
		case "ne":
			return Check{Match: isSet}, nil
		}
		return Check{}, errors.New("there is no such operator for null; want eq or ne")
	}
	return Check{}, errors.New("want a text, a whole number, true, false, null, or a list of texts or whole numbers")
}

func isSet(v Value) bool { return v.Kind != jsonscan.Invalid && v.Kind != jsonscan.Null }

// orders say which results of a comparison an operator wants.
var orders = map[string]func(order int) bool{
	"eq": func(order int) bool { return order == 0 },
	"ne": func(order int) bool { return order != 0 },
	"lt": func(order int) bool { return order < 0 },
	"le": func(order int) bool { return order <= 0 },
	"gt": func(order int) bool { return order > 0 },
	"ge": func(order int) bool { return order >= 0 },
}

// lowerCheck compares with a text in lower case.
func lowerCheck(operator string, want []byte) (Check, error) {
	holds := orders[operator]
	switch operator {
	case "co", "sw", "ew":
		holds = nil
	default:
		if holds == nil {
			return Check{}, errors.New("there is no such operator for texts; want eq, ne, lt, le, gt, ge, co, sw or ew")
		}
	}
	return Check{Match: func(v Value) bool {
		if v.Kind != jsonscan.String {
			return false
		}
		var space [256]byte
		got := lower(space[:0], v.Text)
		switch operator {
		case "co":
			return bytes.Contains(got, want)
		case "sw":
			return bytes.HasPrefix(got, want)
		case "ew":
			return bytes.HasSuffix(got, want)
		}
		return holds(bytes.Compare(got, want))
	}}, nil
}

// lower appends a text in lower case, letter by letter, as strings.ToLower has it.
func lower(to []byte, s string) []byte {
	for _, r := range s {
		if r < utf8.RuneSelf {
			if 'A' <= r && r <= 'Z' {
				r += 'a' - 'A'
			}
			to = append(to, byte(r))
			continue
		}
		to = utf8.AppendRune(to, unicode.ToLower(r))
	}
	return to
}

// whole cuts the fraction off. What is too large becomes the least number, as conversions in Go do
// on most machines.
func whole(n float64) int64 {
	if n >= -1<<63 && n < 1<<63 {
		return int64(n)
	}
	return math.MinInt64
}

func listCheck(operator string, value jsonscan.Value) (Check, error) {
	var numbers []int64
	for a := value.Array(); a.Next(); {
		n, err := strconv.ParseInt(string(a.Value()), 10, 64)
		if err != nil {
			return Check{}, errors.New("want a list of whole numbers")
		}
		numbers = append(numbers, n)
	}
	if operator != "in" || numbers == nil {
		return Check{}, errors.New("want the operator in, and a list that is not empty")
	}
	return wholeIn(numbers), nil
}

// wholeIn holds for whole numbers only.
func wholeIn(list []int64) Check {
	return Check{Match: func(v Value) bool {
		n := whole(v.Number)
		if v.Kind != jsonscan.Number || float64(n) != v.Number {
			return false
		}
		return slices.Contains(list, n)
	}}
}

// versionCheck compares with a version, which is not written as a text there.
func versionCheck(order string, value jsonscan.Value) (Check, error) {
	s, _ := text.Str(value)
	want, ok := strictver.Parse(s, false)
	holds := orders[order]
	if value.Kind() != jsonscan.String || !ok || !want.Fits() || holds == nil {
		return Check{}, errors.New("want a version such as 1.2.3, and version_eq, _ne, _lt, _le, _gt or _ge")
	}
	return Check{Match: func(v Value) bool {
		if v.Kind != jsonscan.String {
			return false
		}
		got, ok := strictver.Parse(v.Text, false)
		return ok && got.Fits() && holds(got.Compare(&want))
	}}, nil
}
