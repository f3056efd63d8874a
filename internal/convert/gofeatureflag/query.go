package gofeatureflag

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/flags/operator"
	"github.com/flagstaff-go/flagstaff/internal/convert"
	"github.com/flagstaff-go/flagstaff/internal/convert/logic"
	"github.com/flagstaff-go/flagstaff/internal/strictver"
)

// dialect is the name of the dialect of filters (rules.md §9.4).
const dialect = "go-feature-flag"

const distinctID = "distinct_id"

// A queryBuild turns the condition of a query into filters.
type queryBuild struct {
	options *convert.Options
	notes   []string
	size    int // comparisons of which filters were made
}

const maxSize = 5000

var errSize = errors.New("it comes to too many filters, because attributes within others keep the value of the comparison before where they are not set")

// filter returns the filter that holds for those for whom the query is true.
func (b *queryBuild) filter(n *node) (flags.Filter, error) {
	if n.isSimple() {
		v, err := b.verdict(n)
		return v.Yes, err
	}
	end := func(f flags.Filter) func(*state) flags.Filter { return func(*state) flags.Filter { return f } }
	f := b.walk(n, &state{}, end(logic.True()), end(logic.False()))
	if b.size > maxSize {
		return f, errSize
	}
	return f, nil
}

// verdict returns for whom a simple condition is true, and for whom false. For others it fails,
// and with it the query.
func (b *queryBuild) verdict(n *node) (logic.Verdict, error) {
	switch n.kind {
	case "and", "or":
		var list []logic.Verdict
		for _, part := range n.chain(n.kind) {
			v, err := b.verdict(part)
			if err != nil {
				return v, err
			}
			list = append(list, v)
		}
		if n.kind == "and" {
			return logic.Every(list...)
		}
		return logic.Some(list...)
	case "not":
		v, err := b.verdict(n.parts[0])
		return v.Not(), err
	}
	if len(n.path) == 1 {
		return b.compare(n, n.path), nil
	}
	// The first comparison, of an attribute within another one: it fails if that is neither an
	// object nor without a value.
	v := b.compare(n, n.path)
	ok := logic.Or(b.isObject(n.path[:1]), b.isNull(n.path[:1]))
	if none := b.compare(n, nil); logic.IsTrue(&none.Yes) {
		return logic.Verdict{Yes: logic.And(ok, v.Yes), No: v.No}, nil
	}
	return logic.Verdict{Yes: v.Yes, No: logic.And(ok, v.No)}, nil
}

// A state is what the evaluation of a query has come to, before the next comparison. The product
// keeps two things where it should not: the attribute that was compared last, if the one that is
// to be compared lies within one that is not set, and the attributes that lead there.
type state struct {
	last  []string // the path of the attribute compared last; nil: none
	stack [][]string
	known map[string]bool // by path, of attributes with others in them: true, an object; false, not set
}

func (s *state) with(path []string, object bool) *state {
	t := *s
	t.known = make(map[string]bool)
	maps.Copy(t.known, s.known)
	t.known[strings.Join(path, ".")] = object
	return &t
}

// walk returns for whom yes or no holds, after a condition that is true or false.
func (b *queryBuild) walk(n *node, s *state, yes, no func(*state) flags.Filter) flags.Filter {
	switch n.kind {
	case "and":
		return b.walk(n.parts[0], s, func(s *state) flags.Filter { return b.walk(n.parts[1], s, yes, no) }, no)
	case "or":
		return b.walk(n.parts[0], s, yes, func(s *state) flags.Filter { return b.walk(n.parts[1], s, yes, no) })
	case "not":
		return b.walk(n.parts[0], s, no, yes)
	}
	return b.find(n.path, s, func(s *state) flags.Filter {
		if b.size++; b.size > maxSize {
			return logic.False()
		}
		v := b.compare(n, s.last)
		if logic.IsFalse(&v.Yes) && logic.IsFalse(&v.No) {
			return logic.False()
		}
		then, other := yes(s), no(s)
		if v.Sure && logic.IsTrue(&then) {
			return logic.Or(v.Yes, other)
		}
		return logic.Or(logic.And(v.Yes, then), logic.And(v.No, other))
	})
}

// find takes the steps to an attribute, and goes on with it as the last one.
func (b *queryBuild) find(names []string, s *state, then func(*state) flags.Filter) flags.Filter {
	if len(s.stack) == 0 {
		return b.step(nil, names, s, then)
	}
	parent := s.stack[len(s.stack)-1]
	if len(names) == 1 {
		t := *s
		t.stack = s.stack[:len(s.stack)-1]
		s = &t
	}
	return b.split(parent, s, then, func(s *state) flags.Filter { return b.step(parent, names, s, then) })
}

// step takes one step into an object, or from the root.
func (b *queryBuild) step(parent, names []string, s *state, then func(*state) flags.Filter) flags.Filter {
	child := append(slices.Clone(parent), names[0])
	t := *s
	if len(names) == 1 {
		t.last, t.stack = child, nil
		return then(&t)
	}
	t.stack = append(slices.Clone(s.stack), child)
	return b.find(names[1:], &t, then)
}

// split goes on with null for those for whom an attribute is not set, with inside for those for
// whom it is an object, and fails for others.
func (b *queryBuild) split(path []string, s *state, null, inside func(*state) flags.Filter) flags.Filter {
	object, ok := s.known[strings.Join(path, ".")]
	switch {
	case ok && object:
		return inside(s)
	case ok:
		return null(s)
	}
	return logic.Or(
		logic.And(b.isObject(path), inside(s.with(path, true))),
		logic.And(b.isNull(path), null(s.with(path, false))),
	)
}

// isKey reports whether an attribute is the key, which each user has.
func isKey(path []string) bool { return path[0] == "key" || path[0] == "targetingKey" }

// isObject and isNull are about an attribute that has others in it.
func (b *queryBuild) isObject(path []string) flags.Filter {
	if isKey(path) || path[0] == "anonymous" {
		return logic.False()
	}
	f := b.property(path, "object", nil)
	f.Comparison.Dialect = "jsonlogic"
	return f
}

func (b *queryBuild) isNull(path []string) flags.Filter {
	if isKey(path) || path[0] == "anonymous" {
		return logic.Bool(len(path) > 1)
	}
	return b.property(path, "eq", nil)
}

// property returns a filter in the dialect.
func (b *queryBuild) property(path []string, op string, value any) flags.Filter {
	f := b.attribute(path, op, value)
	if isKey(path) {
		f.Key = distinctID
	}
	return f
}

// attribute is property for attributes of the user's own alone.
func (b *queryBuild) attribute(path []string, op string, value any) flags.Filter {
	return flags.Filter{
		Type: "person", Key: b.options.Property(path[0]), Operator: op, Value: logic.JSON(value),
		Comparison: flags.Comparison{Path: convert.Pointer(path[1:]...), Dialect: dialect},
	}
}

// native returns a filter with our own operator.
func (b *queryBuild) native(path []string, op string, value any) flags.Filter {
	f := b.property(path, op, value)
	f.Comparison.Dialect, f.Comparison.StrictType = "", true
	if op == operator.Exact {
		_, isText := value.([]string)
		f.Comparison.CaseSensitive = isText
	}
	return f
}

// compare returns the verdict of a comparison of an attribute. Without a path it is one of an
// attribute that is not set.
func (b *queryBuild) compare(n *node, path []string) logic.Verdict {
	if len(path) == 1 && path[0] == "anonymous" {
		if n.alwaysFails() {
			return logic.Fails()
		}
		is := b.native(path, operator.Exact, true)
		switch yes, no := n.ofBoolean(true), n.ofBoolean(false); {
		case yes == no:
			return logic.Sure(logic.Bool(yes))
		case yes:
			return logic.Sure(is)
		}
		return logic.Sure(logic.Not(is))
	}
	if len(path) > 1 && (isKey(path) || path[0] == "anonymous") {
		return logic.Fails() // a text and a boolean have nothing in them
	}
	if n.kind == "pr" {
		switch {
		case path == nil:
			return logic.Sure(logic.False())
		case isKey(path):
			return logic.Sure(logic.True())
		}
		return logic.Sure(b.property(path, "pr", nil))
	}
	if n.alwaysFails() {
		return logic.Fails()
	}
	op, s := n.kind, n.value.texts[0]
	if path == nil {
		return logic.Sure(logic.Bool(op == "eq" && n.value.kind == null))
	}
	never := logic.Sure(logic.False())
	switch n.value.kind {
	case boolean:
		return logic.Sure(b.native(path, operator.Exact, (s == "true") == (op == "eq")))
	case null:
		return logic.Sure(b.property(path, op, nil))
	case text:
		if op == "in" {
			return never
		}
		return logic.Sure(b.property(path, op, s))
	case version:
		if v, ok := strictver.Parse(s, false); !ok || !v.Fits() {
			return never
		}
		return logic.Sure(b.property(path, "version_"+op, s))
	case whole:
		if op == "in" {
			return never
		}
		return logic.Sure(b.property(path, op, jsonNumber(s)))
	case double:
		return logic.Sure(b.double(path, op, s))
	}
	if op != "in" {
		return never
	}
	return logic.Sure(b.list(path, n.value))
}

// double compares with a number that has a fraction.
func (b *queryBuild) double(path []string, op, s string) flags.Filter {
	x, err := strconv.ParseFloat(s, 64)
	if err != nil { // beyond all numbers
		return logic.False()
	}
	switch op {
	case "eq":
		return b.native(path, operator.Exact, x)
	case "ne":
		return logic.Or(b.native(path, operator.LT, x), b.native(path, operator.GT, x))
	case "in":
		return logic.False()
	}
	return b.native(path, ordered[op], x)
}

// ordered maps the operators of queries to our own, which compare numbers with a fraction.
var ordered = map[string]string{"lt": operator.LT, "le": operator.LTE, "gt": operator.GT, "ge": operator.GTE}

// list looks for an attribute in a list.
func (b *queryBuild) list(path []string, l literal) flags.Filter {
	switch l.kind {
	case texts:
		return b.native(path, operator.Exact, l.texts)
	case doubles:
		var list []float64
		for _, s := range l.texts {
			x, _ := strconv.ParseFloat(s, 64)
			list = append(list, x)
		}
		return b.native(path, operator.Exact, list)
	}
	if len(path) > 1 {
		b.notes = append(b.notes, fmt.Sprintf("Whole numbers within objects are not found in lists such as that of %s: so it is for users whose attributes came as JSON. In a program in Go that gave them as int they were.", strings.Join(path, ".")))
		return logic.False()
	}
	var list []jsonNumber
	for _, s := range l.texts {
		list = append(list, jsonNumber(s))
	}
	return b.property(path, "in", list)
}

// A jsonNumber is digits.
type jsonNumber string

func (n jsonNumber) MarshalJSON() ([]byte, error) {
	if n == "-0" {
		n = "0"
	}
	return []byte(n), nil
}

// alwaysFails reports whether a comparison fails whatever the attribute is: the operator is not one
// of the type of the value, or the value is too large.
func (n *node) alwaysFails() bool {
	if n.kind == "pr" {
		return false
	}
	all := []string{"eq", "ne", "lt", "le", "gt", "ge"}
	var can []string
	switch n.value.kind {
	case boolean, null:
		can = all[:2]
	case version:
		can = all
	case text, texts:
		can = append(all, "co", "sw", "ew", "in")
	case whole, wholes:
		if slices.ContainsFunc(n.value.texts, func(s string) bool { _, err := strconv.ParseInt(s, 10, 64); return err != nil }) {
			return true
		}
		can = append(all, "in")
	case double, doubles:
		if n.value.kind == doubles && slices.ContainsFunc(n.value.texts, func(s string) bool { _, err := strconv.ParseFloat(s, 64); return err != nil }) {
			return true
		}
		can = append(all, "in")
	}
	return !slices.Contains(can, n.kind)
}

// ofBoolean returns what a comparison of an attribute that is true or false comes to.
func (n *node) ofBoolean(is bool) bool {
	switch {
	case n.kind == "pr":
		return true
	case n.value.kind == boolean:
		return ((n.value.texts[0] == "true") == is) == (n.kind == "eq")
	}
	return n.value.kind == null && n.kind == "ne"
}

// failsForNobody reports whether the query fails for a user without any attributes, whom the
// product tries it with when it reads a flag.
func (n *node) failsForNobody() bool {
	_, fails := n.forNobody()
	return fails
}

func (n *node) forNobody() (is, fails bool) {
	switch n.kind {
	case "and", "or":
		is, fails = n.parts[0].forNobody()
		if fails || is == (n.kind == "or") {
			return is, fails
		}
		return n.parts[1].forNobody()
	case "not":
		is, fails = n.parts[0].forNobody()
		return !is, fails
	case "pr":
		return false, false
	}
	return n.kind == "eq" && n.value.kind == null, n.alwaysFails()
}
