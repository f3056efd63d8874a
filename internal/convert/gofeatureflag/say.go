package gofeatureflag

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/flags/operator"
	"github.com/flagstaff-go/flagstaff/internal/convert"
	"github.com/flagstaff-go/flagstaff/internal/convert/jsonlogic"
	"github.com/flagstaff-go/flagstaff/internal/convert/logic"
)

// A language is one that queries are written in.
type language struct {
	isLogic   bool   // it is JSONLogic
	always    string // what holds for everybody
	not, part marks  // around what does not hold, and around a part of a query
	all, any  marks  // around conditions

	// compare returns what a filter may come to that is about an attribute with a name.
	compare func(name string, f *flags.Filter) []string
}

// marks stand before, between and behind conditions.
type marks struct{ before, between, behind string }

func (m marks) join(conditions ...string) string {
	return m.before + strings.Join(conditions, m.between) + m.behind
}

var languages = []language{
	{
		always: "key pr", not: marks{"not (", "", ")"}, part: marks{"(", "", ")"}, all: marks{"", " and ", ""}, any: marks{"", " or ", ""},
		compare: comparisons,
	},
	{
		isLogic: true, always: `{"==":[1,1]}`, not: marks{`{"!":[`, "", "]}"}, all: marks{`{"and":[`, ",", "]}"}, any: marks{`{"or":[`, ",", "]}"},
		compare: logicalComparisons,
	},
}

// comparisons returns comparisons in the grammar of nikunjy/rules that may become a filter.
func comparisons(name string, f *flags.Filter) []string {
	if isNotSet(f) {
		return []string{name + " pr", name + " eq null"}
	}
	switch op := f.Operator; f.Comparison.Dialect {
	case dialect:
		if of, isVersion := strings.CutPrefix(op, "version_"); isVersion {
			return []string{name + " " + of + " " + strings.Trim(literalOf(f.Value, ""), `"`)}
		}
		return []string{name + " " + op + " " + literalOf(f.Value, "")}
	case "":
		for ours, theirs := range ordered {
			if theirs == op {
				return []string{name + " " + ours + " " + literalOf(f.Value, ".0")}
			}
		}
		value := literalOf(f.Value, ".0")
		return []string{name + " eq " + value, name + " in " + value, name + " in [" + value + "]"}
	}
	return nil
}

// literalOf returns a value as a query has it, with a fraction behind whole numbers.
func literalOf(value json.RawMessage, fraction string) string {
	var list []json.RawMessage
	if json.Unmarshal(value, &list) == nil && list != nil {
		var elements []string
		for _, e := range list {
			elements = append(elements, literalOf(e, fraction))
		}
		return "[" + strings.Join(elements, ", ") + "]"
	}
	var s string
	if json.Unmarshal(value, &s) == nil && value[0] == '"' {
		return `"` + s + `"`
	}
	var x float64
	if fraction == "" || json.Unmarshal(value, &x) != nil {
		return string(value)
	}
	digits := strconv.FormatFloat(x, 'f', -1, 64)
	if !strings.Contains(digits, ".") {
		digits += fraction
	}
	return digits
}

// logicalComparisons returns comparisons in JSONLogic that may become a filter.
func logicalComparisons(name string, f *flags.Filter) []string {
	of := func(op string, arguments ...any) string { return string(logic.JSON(map[string]any{op: arguments})) }
	variable := map[string]string{"var": name}
	switch {
	case f.Comparison.Dialect == "" && f.Operator == operator.Exact:
		var list []any
		for _, e := range valuesOf(f.Value) {
			list = append(list, map[string]any{"===": []any{variable, e}})
		}
		if len(list) == 1 {
			return []string{string(logic.JSON(list[0]))}
		}
		return []string{of("or", list...)}
	case f.Comparison.Dialect != jsonlogic.Dialect:
		return nil
	}
	switch op := strings.TrimPrefix(f.Operator, "not_"); op {
	case "contains":
		return []string{of("in", f.Value, variable)}
	case "null":
		return []string{of("==", variable, nil)}
	case "truthy":
		return []string{of("!!", variable)}
	case "first_truthy":
		return []string{string(logic.JSON(map[string]any{"!!": variable}))}
	default:
		return []string{of(op, variable, f.Value)}
	}
}

// valuesOf returns the elements of a list, or a value alone.
func valuesOf(value json.RawMessage) []json.RawMessage {
	var list []json.RawMessage
	if json.Unmarshal(value, &list) != nil || len(list) == 0 {
		return []json.RawMessage{value}
	}
	return list
}

// A writer writes queries, and finds by a converter what they come back as.
type writer struct{ options *convert.Options }

// query returns a query that becomes a filter.
func (w writer) query(f flags.Filter) (query string, ok bool) {
	f = plain(f)
	orders := []flags.Filter{f}
	isNested := func(f flags.Filter) bool { return f.Comparison.Path != "" }
	if at := slices.IndexFunc(f.Filters, isNested); at > 0 { // an attribute within another one must be the first
		first := f
		first.Filters = append([]flags.Filter{f.Filters[at]}, slices.Delete(slices.Clone(f.Filters), at, at+1)...)
		orders = append(orders, first)
	}
	for i := range languages {
		for j := range orders {
			if query, ok = w.write(&languages[i], &orders[j]); ok && w.reads(query, &orders[j]) {
				return query, true
			}
		}
	}
	return "", false
}

// write returns a query for a plain filter. The parts of it become the parts of the filter, but
// maybe not all of them together.
func (w writer) write(l *language, f *flags.Filter) (query string, ok bool) {
	if holds, constant := convert.IsConstant(f); constant && holds {
		return l.always, true
	} else if constant {
		return l.not.join(l.always), true
	}
	if f.IsGroup() {
		one := *f
		one.Negation = false
		label := trim(convert.Label(f))
		if query = label; label == "" || isObject(label) != l.isLogic || !w.reads(label, &one) {
			var parts []string
			for i := range f.Filters {
				part, ok := w.write(l, &f.Filters[i])
				if !ok {
					return "", false
				}
				if one := &f.Filters[i]; one.IsGroup() && !one.Negation && len(f.Filters) > 1 {
					part = l.part.join(part)
				}
				parts = append(parts, part)
			}
			if query = l.all.join(parts...); f.Type == "any" {
				query = l.any.join(parts...)
			}
		}
		if f.Negation {
			query = l.not.join(query)
		}
		return query, true
	}
	name := "key"
	if f.Key != distinctID {
		name = w.options.Attribute(f.Key)
	}
	for _, step := range convert.Steps(f.Comparison.Path) {
		name += "." + step
	}
	for _, query := range l.compare(name, f) {
		for _, query := range []string{query, l.not.join(query)} {
			if w.reads(query, f) {
				return query, true
			}
		}
	}
	return "", false
}

// reads reports whether a query becomes a filter.
func (w writer) reads(query string, f *flags.Filter) bool {
	b := flagBuild{options: w.options}
	back, err := b.condition(trim(query), "")
	if err != nil {
		return false
	}
	if _, err = logic.Targeting(back); err != nil {
		return false
	}
	back = normal(back)
	want := normal(*f)
	return convert.Same(&back, &want)
}

// plain returns a filter that holds for the same persons as another one, with comparisons that
// queries can have where there are such.
func plain(f flags.Filter) flags.Filter {
	if f.Filters != nil {
		f.Filters = slices.Clone(f.Filters)
		for i := range f.Filters {
			f.Filters[i] = plain(f.Filters[i])
		}
		holds := func(f flags.Filter) bool { return !f.Negation }
		if f.Negation && f.Extra == nil && !slices.ContainsFunc(f.Filters, holds) { // an "or", as it is imported
			f.Type, f.Negation = map[string]string{"all": "any", "any": "all"}[f.Type], false
			for i := range f.Filters {
				f.Filters[i].Negation = false
			}
		}
		return f
	}
	c := &f.Comparison
	if f.Type == "person" && f.Key == distinctID && c.Path == "" && areTexts(f.Value) {
		f = ofID(f)
	}
	if f.Operator == operator.IsNot && c.Dialect == "" && c.StrictType && !c.MustBeSet {
		f.Operator, f.Negation = operator.Exact, !f.Negation
	}
	if c.MustBeSet {
		if c.MustBeSet = false; c.StrictType && f.Operator == operator.Exact && !f.Negation {
			return f // what is not set is none of the values
		}
		return convert.All(convert.Not(notSet(f)), plain(f))
	}
	if c.Dialect == dialect && (f.Operator == "pr" || (f.Operator == "eq" || f.Operator == "ne") && convert.SameJSON(f.Value, nil)) {
		is := notSet(f)
		is.Negation = f.Negation != (f.Operator != "eq")
		return is
	}
	return f
}

// ofID is plain for a comparison of the distinct ID, which everybody has and which is a text, with
// texts.
func ofID(f flags.Filter) flags.Filter {
	op, negated := strings.CutPrefix(f.Operator, "not_")
	switch c := &f.Comparison; {
	case c.Dialect == "" && c.CaseSensitive && (op == operator.Exact || op == operator.IsNot):
		c.StrictType, c.MustBeSet, c.AnyElement = true, false, false
	case c.Dialect == "" && c.CaseSensitive && op == operator.IContains, c.Dialect == jsonlogic.Dialect && op == "contains":
		f.Operator, f.Negation = "contains", f.Negation != negated
		f.Comparison = flags.Comparison{Dialect: jsonlogic.Dialect}
	}
	return f
}

func areTexts(value json.RawMessage) bool {
	return !slices.ContainsFunc(valuesOf(value), func(v json.RawMessage) bool { return len(v) == 0 || v[0] != '"' })
}

// notSet returns the filter that holds if the property of another one is not set.
func notSet(of flags.Filter) flags.Filter {
	return flags.Filter{
		Type: of.Type, Key: of.Key, GroupTypeIndex: of.GroupTypeIndex, Operator: "null", Value: logic.JSON(nil),
		Comparison: flags.Comparison{Path: of.Comparison.Path, Dialect: jsonlogic.Dialect},
	}
}

func isNotSet(f *flags.Filter) bool {
	return f.Comparison.Dialect == jsonlogic.Dialect && f.Operator == "null"
}

// normal returns a filter in a form that does not depend on how a query is written.
func normal(f flags.Filter) flags.Filter { return logic.Flat(singly(plain(f))) }

// singly returns a filter whose comparisons with lists are of each value alone.
func singly(f flags.Filter) flags.Filter {
	if f.Filters != nil {
		for i := range f.Filters {
			f.Filters[i] = singly(f.Filters[i])
		}
		return f
	}
	strict := []string{operator.Exact, operator.LT, operator.LTE, operator.GT, operator.GTE}
	if f.Comparison.Dialect != "" || !f.Comparison.StrictType || !slices.Contains(strict, f.Operator) {
		return f
	}
	var list []flags.Filter
	for _, value := range valuesOf(f.Value) {
		one := f
		var x float64
		if json.Unmarshal(value, &x) == nil && value[0] != 'n' { // digits are what they are as a number
			value = logic.JSON(x)
		}
		one.Value, one.Negation = value, false
		one.Comparison.CaseSensitive = f.Comparison.CaseSensitive && len(value) > 0 && value[0] == '"'
		list = append(list, one)
	}
	all := convert.Any(list...)
	all.Negation = all.Negation != f.Negation
	return all
}
