package dialect

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
	"github.com/flagstaff-go/flagstaff/internal/text"
)

// flipt compares texts as Flipt does, whose context has nothing else: a number and a boolean are
// their texts, and an absent property, null, an array and an object are the empty text. That
// matches nothing but empty.
func flipt(operator string, value jsonscan.Value) (Check, error) {
	switch operator {
	case "empty":
		return fliptCheck(func(v Value) bool { return fliptEmpty(v) }), nil
	case "notempty":
		return fliptCheck(func(v Value) bool { return !fliptEmpty(v) }), nil
	case "boolean_true", "boolean_false":
		want := operator == "boolean_true"
		return fliptCheck(func(v Value) bool {
			b, err := strconv.ParseBool(fliptText(v))
			return err == nil && b == want
		}), nil
	}
	kind, operator, _ := strings.Cut(operator, "_")
	switch kind {
	case "string":
		return fliptString(operator, value)
	case "number":
		return fliptNumber(operator, value)
	case "datetime":
		return fliptDate(operator, value)
	}
	return Check{}, errFliptOperator
}

var errFliptOperator = errors.New("the operator is not one of Flipt")

func fliptCheck(match func(Value) bool) Check { return Check{Match: match} }

func fliptText(v Value) string {
	switch v.Kind {
	case jsonscan.String, jsonscan.Number:
		return v.Text
	case jsonscan.True:
		return "true"
	case jsonscan.False:
		return "false"
	}
	return ""
}

func fliptEmpty(v Value) bool { return strings.TrimSpace(fliptText(v)) == "" }

func fliptString(operator string, value jsonscan.Value) (Check, error) {
	if operator == "isoneof" || operator == "isnotoneof" {
		list, ok := fliptList(value, jsonscan.String, text.Str)
		if !ok {
			return Check{}, errors.New("want an array of texts")
		}
		in := operator == "isoneof"
		return fliptCheck(func(v Value) bool {
			s := fliptText(v)
			return s != "" && slices.Contains(list, s) == in
		}), nil
	}
	want, _ := text.Str(value)
	if value.Kind() != jsonscan.String {
		return Check{}, errors.New("want a text")
	}
	var match func(s string) bool
	switch operator {
	case "eq":
		match = func(s string) bool { return s == want }
	case "neq":
		match = func(s string) bool { return s != want }
	case "prefix":
		match = func(s string) bool { return strings.HasPrefix(strings.TrimSpace(s), want) }
	case "suffix":
		match = func(s string) bool { return strings.HasSuffix(strings.TrimSpace(s), want) }
	case "contains":
		match = func(s string) bool { return strings.Contains(s, want) }
	case "notcontains":
		match = func(s string) bool { return !strings.Contains(s, want) }
	default:
		return Check{}, errFliptOperator
	}
	return fliptCheck(func(v Value) bool {
		s := fliptText(v)
		return s != "" && match(s)
	}), nil
}

func fliptNumber(operator string, value jsonscan.Value) (Check, error) {
	number := func(v []byte) (float64, bool) {
		s, _ := text.Str(v)
		n, err := strconv.ParseFloat(s, 64)
		return n, err == nil
	}
	if operator == "isoneof" || operator == "isnotoneof" {
		list, ok := fliptList(value, jsonscan.Number, number)
		if !ok {
			return Check{}, errors.New("want an array of numbers")
		}
		in := operator == "isoneof"
		return fliptCheck(func(v Value) bool {
			n, ok := fliptFloat(v)
			return ok && slices.Contains(list, n) == in
		}), nil
	}
	want, ok := number(value)
	if !ok || value.Kind() != jsonscan.String && value.Kind() != jsonscan.Number {
		return Check{}, errors.New("want a number")
	}
	// NaN is a number there, and is not equal to itself.
	var match func(n float64) bool
	switch operator {
	case "eq":
		match = func(n float64) bool { return n == want }
	case "neq":
		match = func(n float64) bool { return n != want }
	case "lt":
		match = func(n float64) bool { return n < want }
	case "lte":
		match = func(n float64) bool { return n <= want }
	case "gt":
		match = func(n float64) bool { return n > want }
	case "gte":
		match = func(n float64) bool { return n >= want }
	default:
		return Check{}, errFliptOperator
	}
	return fliptCheck(func(v Value) bool {
		n, ok := fliptFloat(v)
		return ok && match(n)
	}), nil
}

func fliptFloat(v Value) (float64, bool) {
	if v.Kind == jsonscan.Number {
		return v.Number, true
	}
	n, err := strconv.ParseFloat(fliptText(v), 64)
	return n, err == nil
}

func fliptDate(operator string, value jsonscan.Value) (Check, error) {
	s, _ := text.Str(value)
	want, ok := fliptTime(s)
	if !ok || value.Kind() != jsonscan.String {
		return Check{}, errors.New("want a date, or a time of RFC 3339, as a text")
	}
	var match func(order int) bool
	switch operator {
	case "eq":
		match = func(order int) bool { return order == 0 }
	case "neq":
		match = func(order int) bool { return order != 0 }
	case "lt":
		match = func(order int) bool { return order < 0 }
	case "lte":
		match = func(order int) bool { return order <= 0 }
	case "gt":
		match = func(order int) bool { return order > 0 }
	case "gte":
		match = func(order int) bool { return order >= 0 }
	default:
		return Check{}, errFliptOperator
	}
	return fliptCheck(func(v Value) bool {
		t, ok := fliptTime(fliptText(v))
		return ok && match(t.Compare(want))
	}), nil
}

// fliptTime reads what only one of the two forms can be, because of its length.
func fliptTime(s string) (time.Time, bool) {
	layout := time.RFC3339
	if len(s) == len(time.DateOnly) {
		layout = time.DateOnly
	}
	t, err := time.Parse(layout, s)
	return t, err == nil
}

// fliptList reads an array whose elements are all of a kind.
func fliptList[T any](value jsonscan.Value, kind jsonscan.Kind, read func([]byte) (T, bool)) (list []T, ok bool) {
	if value.Kind() != jsonscan.Array {
		return nil, false
	}
	for a := value.Array(); a.Next(); {
		e, ok := read(a.Value())
		if !ok || a.Value().Kind() != kind {
			return nil, false
		}
		list = append(list, e)
	}
	return list, true
}
