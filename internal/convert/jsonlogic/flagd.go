package jsonlogic

import (
	"fmt"
	"slices"
	"strings"

	"github.com/flagstaff-go/flagstaff/internal/convert/logic"
	"github.com/flagstaff-go/flagstaff/internal/strictver"
)

// combineCases is combine for operators whose value is not only true or false.
func combineCases(arguments [][]Case, of func(values []Value) ([]Case, error)) ([]Case, error) {
	return combinedCases(arguments, nil, of)
}

func combinedCases(arguments [][]Case, values []Value, of func(values []Value) ([]Case, error)) (out []Case, err error) {
	if len(values) == len(arguments) {
		return of(values)
	}
	for _, k := range arguments[len(values)] {
		if k.Fails {
			out = append(out, k)
			continue
		}
		inner, err := combinedCases(arguments, append(values[:len(values):len(values)], k.Value), of)
		if err != nil {
			return nil, err
		}
		for _, i := range inner {
			out = append(out, Case{logic.And(k.When, i.When), i.Value})
		}
	}
	return possible(out), nil
}

// nothing is what operators are of arguments that they cannot compare.
func (c *Converter) nothing(operator string) Value {
	if c.OldFlagd && operator != "starts_with" {
		return Value{Constant: false}
	}
	return Value{}
}

func (c *Converter) nothingCases(operator string) []Case {
	return []Case{{logic.True(), c.nothing(operator)}}
}

// affix returns the value of starts_with and ends_with: null if not both are texts.
func (c *Converter) affix(name string, arguments any) ([]Case, error) {
	list, fails, err := c.arguments(arguments)
	if err != nil || fails {
		return c.nothingCases(name), err
	}
	return combineCases(list, func(v []Value) ([]Case, error) {
		if len(v) != 2 {
			return c.nothingCases(name), nil
		}
		whole, part := v[0], v[1]
		if part.Property != nil {
			return nil, fmt.Errorf("the operator %s with an attribute on the right cannot be converted", name)
		}
		target, ok := part.Constant.(string)
		s, isText := whole.Constant.(string)
		switch {
		case !ok:
			return c.nothingCases(name), nil
		case whole.Property != nil:
			text, has := whole.compare("text", nil), whole.compare(name, target)
			return possible([]Case{
				{has, Value{Constant: true}},
				{logic.And(text, logic.Not(has)), Value{Constant: false}},
				{logic.Not(text), c.nothing(name)},
			}), nil
		case !isText:
			return c.nothingCases(name), nil
		case name == "starts_with":
			return Constant(strings.HasPrefix(s, target)), nil
		}
		return Constant(strings.HasSuffix(s, target)), nil
	})
}

var versionOperators = []string{"=", "!=", "<", "<=", ">", ">=", "^", "~"}

// version returns the value of sem_ver: null if one of the versions, or the operator, is none.
func (c *Converter) version(arguments any) ([]Case, error) {
	list, fails, err := c.arguments(arguments)
	if err != nil || fails {
		return c.nothingCases("sem_ver"), err
	}
	return combineCases(list, func(v []Value) ([]Case, error) {
		if len(v) != 3 {
			return c.nothingCases("sem_ver"), nil
		}
		if v[1].Property != nil || v[2].Property != nil {
			return nil, fmt.Errorf("the operator sem_ver can be converted if it compares an attribute with a constant")
		}
		op, ok := v[1].Constant.(string)
		target, isVersion := versionText(v[2].Constant)
		isVersion = isVersion && !(c.OldFlagd && strings.HasPrefix(target, "V"))
		if !ok || !slices.Contains(versionOperators, op) || !isVersion {
			return c.nothingCases("sem_ver"), nil
		}
		if v[0].Property == nil {
			got, ok := versionText(v[0].Constant)
			if !ok || c.OldFlagd && strings.HasPrefix(got, "V") {
				return c.nothingCases("sem_ver"), nil
			}
			return Constant(versionHolds(op, got, target)), nil
		}
		valid, holds := v[0].compare("version", nil), v[0].compare("sem_ver", []any{op, target})
		if c.OldFlagd {
			small := logic.Not(v[0].compare("starts_with", "V"))
			valid, holds = logic.And(valid, small), logic.And(holds, small)
		}
		return possible([]Case{
			{holds, Value{Constant: true}},
			{logic.And(valid, logic.Not(holds)), Value{Constant: false}},
			{logic.Not(valid), c.nothing("sem_ver")},
		}), nil
	})
}

// versionText returns a constant as the text that sem_ver reads, and whether it is a version.
func versionText(v any) (string, bool) {
	s := fmt.Sprint(v)
	_, ok := strictver.Parse(trimV(s), true)
	return s, ok
}

// trimV removes one v, which versions may begin with.
func trimV(s string) string {
	if s != "" && s[0]|0x20 == 'v' {
		return s[1:]
	}
	return s
}

// versionHolds compares two versions.
func versionHolds(op, a, b string) bool {
	v, _ := strictver.Parse(trimV(a), true)
	w, _ := strictver.Parse(trimV(b), true)
	order := v.Compare(&w)
	switch op {
	case "=":
		return order == 0
	case "!=":
		return order != 0
	case "<":
		return order < 0
	case "<=":
		return order <= 0
	case ">":
		return order > 0
	case ">=":
		return order >= 0
	case "^":
		return v.Major == w.Major
	}
	return v.Major == w.Major && v.Minor == w.Minor
}
