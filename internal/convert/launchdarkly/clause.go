package launchdarkly

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/convert"
)

const user = "user"

// An attribute is where an attribute of a context is found here.
type attribute struct {
	kind     string
	name     string // there
	property string
	path     string
	group    *int // of the group whose property it is; nil: of the person
	isKey    bool
}

// attribute finds an attribute. Old documents have names, and newer ones, which name a kind of
// context, have references.
func (c *converter) attribute(kind, ref string) (a attribute, err error) {
	a = attribute{kind: cmp.Or(kind, user), name: ref}
	if kind != "" && strings.HasPrefix(ref, "/") {
		name, path, deep := strings.Cut(ref[1:], "/")
		if a.name, err = unescaped(name); err != nil {
			return a, err
		}
		if deep {
			for step := range strings.SplitSeq(path, "/") {
				if _, err := unescaped(step); err != nil || step == "" {
					return a, errors.New("the reference to an attribute is malformed")
				}
			}
			a.path = "/" + path
		}
	}
	if a.name == "" {
		return a, errors.New("the reference to an attribute is empty")
	}
	if a.group, err = c.groupOf(a.kind); err != nil {
		return a, err
	}
	switch {
	case a.name == "key" && a.group == nil:
		a.property, a.isKey = "distinct_id", a.path == ""
	case a.name == "key":
		a.property, a.isKey = "$group_key", a.path == ""
	case a.group == nil:
		a.property = c.o.Property(a.name)
	default:
		a.property = a.name
	}
	return a, nil
}

func unescaped(step string) (string, error) {
	rest := strings.NewReplacer("~0", "", "~1", "").Replace(step)
	if strings.Contains(rest, "~") {
		return "", errors.New("the reference to an attribute is malformed")
	}
	return strings.NewReplacer("~1", "/", "~0", "~").Replace(step), nil
}

// groupOf returns the group type that a kind of context becomes, nil for the person.
func (c *converter) groupOf(kind string) (*int, error) {
	if kind == user {
		return nil, nil
	}
	index := -1
	if c.o.Group != nil {
		index = c.o.Group(kind)
	}
	if index < 0 {
		return nil, fmt.Errorf("there is no group type for contexts of kind %q", kind)
	}
	return &index, nil
}

// filter returns a filter of an attribute.
func (a *attribute) filter(operator string, value any) flags.Filter {
	raw, _ := json.Marshal(value)
	f := flags.Filter{Type: "person", Key: a.property, Operator: operator, Value: raw}
	if a.group != nil {
		f.Type, f.GroupTypeIndex = "group", a.group
	}
	f.Comparison.Path = a.path
	return f
}

// exactly makes a filter compare as LaunchDarkly does, whose texts and types are strict, and for
// whom an absent attribute matches nothing.
func exactly(f flags.Filter) flags.Filter {
	if f.IsGroup() {
		return f
	}
	f.Comparison.CaseSensitive = f.Comparison.Dialect == ""
	f.Comparison.StrictType = f.Comparison.Dialect == ""
	f.Comparison.MustBeSet, f.Comparison.AnyElement = true, true
	return f
}

// present returns the filter that holds if there is a context of a kind.
func (c *converter) present(kind string) flags.Filter {
	a, err := c.attribute(kind, "key")
	switch {
	case err != nil:
		return convert.Any()
	case a.group != nil:
		return a.filter("is_set", "is_set")
	}
	f := a.filter("is_not", "")
	f.Comparison.CaseSensitive = true
	return f
}

// keys returns the filter that holds for the keys of a list.
func (c *converter) keys(kind string, list []string) flags.Filter {
	a, err := c.attribute(cmp.Or(kind, user), "key")
	if err != nil {
		c.problem("Targets: %v. They match nobody.", err)
		return convert.Any()
	}
	if len(list) == 0 {
		return convert.Any()
	}
	return exactly(a.filter("exact", list))
}

// clause returns what a clause asks for.
func (c *converter) clause(cl *clause) flags.Filter {
	if cl.Op == "segmentMatch" {
		return c.segmentMatch(cl)
	}
	if cl.Attribute == "kind" {
		return c.kindClause(cl)
	}
	a, err := c.attribute(cl.ContextKind, cl.Attribute)
	if err != nil {
		c.problem("A clause on %q: %v. It never matches.", cl.Attribute, err)
		return convert.Any()
	}
	switch {
	case a.name == "kind":
		if a.path != "" {
			return convert.Any()
		}
		return convert.All(c.present(a.kind), convert.Always(holds(cl, quoted(a.kind)) != cl.Negate))
	case a.name == "anonymous" && a.path == "":
		return c.anonymous(&a, cl)
	}
	f, ok := native(&a, cl)
	if !ok {
		f = c.foreign(&a, cl)
	}
	f = exactly(f)
	if a.name == "key" && a.group == nil { // an empty distinct ID is nobody's
		return convert.All(c.present(user), f)
	}
	return f
}

// foreign returns a clause in the dialect of LaunchDarkly. What never matches has a list that
// is empty.
func (c *converter) foreign(a *attribute, cl *clause) flags.Filter {
	f := a.filter(cl.Op, notNil(cl.Values))
	f.Negation = cl.Negate
	f.Comparison.Dialect = "launchdarkly"
	switch {
	case cl.Op == "in": // a list without a scalar
		f.Operator, f.Value = "startsWith", json.RawMessage("[]")
	case !slices.Contains(dialectOperators, cl.Op):
		c.problem("A clause on %q: the operator %q is not known. It never matches.", cl.Attribute, cl.Op)
		return convert.Any()
	}
	return f
}

var dialectOperators = []string{
	"startsWith", "endsWith", "contains", "matches", "lessThan", "lessThanOrEqual", "greaterThan", "greaterThanOrEqual",
	"before", "after", "semVerEqual", "semVerLessThan", "semVerGreaterThan",
}

// The operators that are also ours, if there is one value to compare with.
var nativeOperators = map[string]struct{ is, isNot, want string }{
	"startsWith": {"starts_with", "not_starts_with", "text"}, "endsWith": {"ends_with", "not_ends_with", "text"},
	"contains": {"icontains", "not_icontains", "text"}, "lessThan": {"lt", "", "number"}, "lessThanOrEqual": {"lte", "", "number"},
	"greaterThan": {"gt", "", "number"}, "greaterThanOrEqual": {"gte", "", "number"},
}

// native returns a clause in our own operators, where these say exactly the same.
func native(a *attribute, cl *clause) (f flags.Filter, ok bool) {
	if cl.Op == "in" {
		list := slices.DeleteFunc(slices.Clone(cl.Values), func(v json.RawMessage) bool { return kindOf(v) == "" })
		if len(list) == 0 {
			return f, false
		}
		if cl.Negate {
			return a.filter("is_not", list), true
		}
		return a.filter("exact", list), true
	}
	op, known := nativeOperators[cl.Op]
	if !known || len(cl.Values) != 1 || kindOf(cl.Values[0]) != op.want {
		return f, false
	}
	f = a.filter(op.is, cl.Values[0])
	if cl.Negate && op.isNot != "" {
		f.Operator = op.isNot
	} else {
		f.Negation = cl.Negate
	}
	return f, true
}

// kindOf returns the type of a scalar, or "".
func kindOf(v json.RawMessage) string {
	switch v[0] {
	case '"':
		return "text"
	case 't', 'f':
		return "boolean"
	case 'n', '[', '{':
		return ""
	}
	return "number"
}

// holds reports whether a clause with operator in holds for a scalar, before negation.
func holds(cl *clause, value json.RawMessage) bool {
	return cl.Op == "in" && slices.ContainsFunc(cl.Values, func(v json.RawMessage) bool { return equal(v, value) })
}

func equal(a, b json.RawMessage) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && kindOf(a) != "" && kindOf(b) != "" && x == y
}

func quoted(s string) json.RawMessage {
	raw, _ := json.Marshal(s)
	return raw
}

func notNil(list []json.RawMessage) []json.RawMessage {
	if list == nil {
		return []json.RawMessage{}
	}
	return list
}

// anonymous returns a clause on the attribute that every context has, and which is false unless
// it is set.
func (c *converter) anonymous(a *attribute, cl *clause) flags.Filter {
	yes, no := holds(cl, json.RawMessage("true")) != cl.Negate, holds(cl, json.RawMessage("false")) != cl.Negate
	is := a.filter("exact", true)
	is.Comparison.StrictType = true
	switch {
	case yes == no:
		return convert.All(c.present(a.kind), convert.Always(yes))
	case no:
		is.Negation = true
	}
	return convert.All(c.present(a.kind), is)
}

// kindClause returns a clause on the kinds of all contexts of an evaluation.
func (c *converter) kindClause(cl *clause) flags.Filter {
	if cl.Op != "in" {
		c.problem("A clause on the kinds of contexts: the operator %q is not supported there. It never matches.", cl.Op)
		return convert.Any()
	}
	var of []flags.Filter
	for _, v := range cl.Values {
		var kind string
		if json.Unmarshal(v, &kind) == nil && kindOf(v) == "text" {
			if _, err := c.groupOf(kind); err != nil {
				c.problem("A clause on the kinds of contexts: %v. Nobody has one.", err)
			}
			of = append(of, c.present(kind))
		}
	}
	return negatedIf(cl.Negate, convert.Any(of...))
}

func negatedIf(negate bool, f flags.Filter) flags.Filter {
	if negate {
		return convert.Not(f)
	}
	return f
}
