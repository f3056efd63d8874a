package flipt

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/flags/operator"
	"github.com/flagstaff-go/flagstaff/internal/convert"
	"github.com/flagstaff-go/flagstaff/internal/convert/objects"
)

// A segment is a cohort, or everybody.
type segment struct {
	cohort   int64 // 0: everybody
	problems []string
}

// addSegments makes cohorts of segments.
func (c *converter) addSegments(list []json.RawMessage) error {
	byKey := make(map[string]json.RawMessage)
	if err := addKeys(byKey, list, "segment"); err != nil {
		return err
	}
	for _, key := range sortedKeys(byKey) {
		if _, ok := c.segments[key]; ok {
			return fmt.Errorf("there are two segments with the key %q", key)
		}
		c.segments[key] = c.segment(key, byKey[key])
	}
	return nil
}

func (c *converter) segment(key string, raw json.RawMessage) segment {
	r := &objects.Reader{}
	what := fmt.Sprintf("The segment %q", key)
	o := r.Object(raw, what, "key", "name", "description", "match_type", "constraints")
	tree := &flags.CohortNode{Type: "AND"}
	switch match := o.Text("match_type"); match {
	case "ANY_MATCH_TYPE":
		tree.Type = "OR"
	case "", "ALL_MATCH_TYPE":
	default:
		r.Problem("%s has the match type %q, which is not known: all constraints must hold.", what, match)
	}
	for i, raw := range o.List("constraints") {
		leaf := c.constraint(r, fmt.Sprintf("Constraint %d of the segment %q", i+1, key), raw)
		tree.Values = append(tree.Values, flags.CohortNode{Leaf: &leaf})
	}
	if len(tree.Values) == 0 {
		return segment{problems: r.Problems}
	}
	cohort := convert.Cohort{
		ID: int64(len(c.project.Cohorts) + 1), Name: o.Text("name"), Description: o.Text("description"), Criteria: tree, Problems: r.Problems,
	}
	if cohort.Name == "" {
		cohort.Name = key
	}
	c.project.Cohorts = append(c.project.Cohorts, cohort)
	return segment{cohort.ID, r.Problems}
}

// targeting returns the filters that say that somebody is in all, or in one, of some segments.
func (f *flag) targeting(what string, keys []string, operatorOfKeys string) []flags.Filter {
	all := operatorOfKeys == allOf
	if !all && operatorOfKeys != "" && operatorOfKeys != anyOf {
		f.Reader.Problem("%s has the operator %q, which is not known: it is for those who are in all of its segments.", what, operatorOfKeys)
		all = true
	}
	var list []flags.Filter
	for _, key := range keys {
		s, ok := f.c.segments[key]
		switch {
		case !ok:
			f.Reader.Problem("%s is about the segment %q, which does not exist: nobody is in it.", what, key)
			list = append(list, convert.Any())
		case s.cohort == 0:
			list = append(list, convert.All())
		default:
			list = append(list, flags.Filter{Type: "cohort", Key: "id", Operator: operator.In, Value: json.RawMessage(strconv.FormatInt(s.cohort, 10))})
		}
		for _, p := range s.problems {
			if !slices.Contains(f.Flag.Problems, p) {
				f.Flag.Problems = append(f.Flag.Problems, p)
			}
		}
	}
	one := convert.Any(list...)
	if all {
		one = convert.All(list...)
	}
	if targeting, ok := convert.Targeting(one); ok {
		return targeting
	}
	return []flags.Filter{convert.Any()}
}

// constraint converts a constraint. What our own operators compare in the same way is written
// with these.
func (c *converter) constraint(r *objects.Reader, what string, raw json.RawMessage) flags.Filter {
	o := r.Object(raw, what, "type", "property", "operator", "value", "description")
	kind, op := o.Text("type"), o.Text("operator")
	f := flags.Filter{Key: c.o.Property(o.Text("property")), Type: "person", Comparison: flags.Comparison{Dialect: dialect}}
	never := func(format string, a ...any) flags.Filter {
		r.Problem("%s %s: it never holds.", what, fmt.Sprintf(format, a...))
		f.Operator, f.Value = "string_isoneof", json.RawMessage(`[]`)
		return f
	}
	if kind == "ENTITY_ID_COMPARISON_TYPE" {
		kind, f.Key = "STRING_COMPARISON_TYPE", distinctID
	} else if f.Key == "" {
		return never("has no property")
	}
	prefix, known := prefixes[kind]
	switch {
	case !known:
		return never("has the type %q, which is not known", kind)
	case !slices.Contains(operators[prefix], op) && (op != "le" || prefix == "string_" || prefix == "boolean_"):
		return never("has the operator %q, which its type does not have", op)
	case op == "le":
		// Files may have it, and the server knows it not.
		f.Operator, f.Value = "string_isoneof", json.RawMessage(`[]`)
		return f
	case op == "empty" || op == "notpresent":
		f.Operator = "empty"
		return f
	case op == "notempty" || op == "present":
		f.Operator = "notempty"
		return f
	case prefix == "boolean_":
		f.Operator = prefix + op
		return f
	case op == "isoneof" || op == "isnotoneof":
		value, ok := listOf(o.Raw("value"), prefix == "number_")
		if !ok {
			return never("has a value that is not a list of what its type compares")
		}
		f.Operator, f.Value = prefix+op, value
		if prefix == "string_" {
			ownList(&f, op == "isoneof")
		}
		return f
	}
	value := o.Text("value")
	f.Operator, f.Value = prefix+op, quoted(value)
	if _, err := strconv.ParseFloat(value, 64); prefix == "number_" && err != nil {
		return never("has the value %q, which is not a number", value)
	}
	if prefix == "datetime_" && !isTime(value) {
		return never("has the value %q, which is not a date or a time", value)
	}
	if prefix == "string_" && value != "" {
		own(&f, op)
	}
	return f
}

var prefixes = map[string]string{
	"STRING_COMPARISON_TYPE": "string_", "NUMBER_COMPARISON_TYPE": "number_", "BOOLEAN_COMPARISON_TYPE": "boolean_", "DATETIME_COMPARISON_TYPE": "datetime_",
}

var operators = map[string][]string{
	"string_":   {"eq", "neq", "empty", "notempty", "prefix", "suffix", "isoneof", "isnotoneof", "contains", "notcontains"},
	"number_":   {"eq", "neq", "lt", "lte", "gt", "gte", "present", "notpresent", "isoneof", "isnotoneof"},
	"boolean_":  {"true", "false", "present", "notpresent"},
	"datetime_": {"eq", "neq", "lt", "lte", "gt", "gte", "present", "notpresent"},
}

// listOf returns a list of texts or numbers, which is an array, or a text with one.
func listOf(raw json.RawMessage, numbers bool) (json.RawMessage, bool) {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		raw = json.RawMessage(text)
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil || list == nil {
		return nil, false
	}
	out := []byte{'['}
	for i, e := range list {
		var (
			s  *string
			n  *float64
			ok bool
		)
		if numbers {
			ok = json.Unmarshal(e, &n) == nil && n != nil
		} else {
			ok = json.Unmarshal(e, &s) == nil && s != nil
		}
		if !ok {
			return nil, false
		}
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, e...)
	}
	return append(out, ']'), true
}

// ownList writes isoneof and isnotoneof with our own operators. The empty text matches neither.
func ownList(f *flags.Filter, in bool) {
	var list []string
	if err := json.Unmarshal(f.Value, &list); err != nil {
		return
	}
	list = slices.DeleteFunc(list, func(s string) bool { return s == "" })
	if in && len(list) == 0 {
		return
	}
	f.Operator = operator.Exact
	if !in {
		f.Operator, list = operator.IsNot, append(list, "")
	}
	f.Value, _ = json.Marshal(list)
	f.Comparison = ownComparison
}

var ownComparison = flags.Comparison{CaseSensitive: true, MustBeSet: true}

// own writes a comparison with a text that is not empty with our own operators.
func own(f *flags.Filter, op string) {
	switch op {
	case "eq":
		f.Operator = operator.Exact
	case "neq":
		var value string
		_ = json.Unmarshal(f.Value, &value) // it was written here
		f.Value, _ = json.Marshal([]string{value, ""})
		f.Operator = operator.IsNot
	case "contains":
		f.Operator = operator.IContains
	default:
		return
	}
	f.Comparison = ownComparison
}

func isTime(s string) bool {
	_, err := time.Parse(time.RFC3339, s)
	if err != nil {
		_, err = time.Parse(time.DateOnly, s)
	}
	return err == nil
}

func quoted(s string) json.RawMessage {
	q, _ := json.Marshal(s)
	return q
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
