package jsonlogic

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/flags/operator"
	"github.com/flagstaff-go/flagstaff/internal/convert"
	"github.com/flagstaff-go/flagstaff/internal/convert/logic"
)

// Dialect is the name of the dialect of the filters (rules.md §9.4).
const Dialect = "jsonlogic"

// A Converter converts rules of one product.
type Converter struct {
	// Var returns what a variable is, whose name has been split at its dots.
	Var func(path []string) ([]Case, error)

	// Flagd says that there are the operators starts_with, ends_with and sem_ver, too. OldFlagd
	// says that the last two are false where they are null now, that versions have no V, and that
	// the library is one before v3.9: see old.go.
	Flagd, OldFlagd bool

	// Call returns what an operator of the product's own is, false if there is no such one.
	Call func(operator string, arguments any) (cases []Case, known bool, err error)

	// MayFail is set once an expression fails for somebody.
	MayFail bool
}

// A Case is one of the values that an expression may have, and who has it. No two cases of an
// expression are about the same users, and all together are about everybody.
type Case struct {
	When flags.Filter
	Value
}

// A Value is a constant, a property, or what fails.
type Value struct {
	Constant any           // as encoding/json reads it
	Property *flags.Filter // its Key and the Path of its Comparison count
	Fails    bool
}

// Property returns the cases of an attribute.
func Property(key string, path []string) []Case {
	f := &flags.Filter{Type: "person", Key: key, Comparison: flags.Comparison{Path: convert.Pointer(path...)}}
	return []Case{{logic.True(), Value{Property: f}}}
}

// Constant returns the cases of a constant.
func Constant(v any) []Case { return []Case{{logic.True(), Value{Constant: v}}} }

func failure() []Case { return []Case{{logic.True(), Value{Fails: true}}} }

// Read reads a rule.
func Read(document []byte) (rule any, err error) {
	err = json.Unmarshal(document, &rule)
	return rule, err
}

// Verdict returns for whom an expression counts as true.
func (c *Converter) Verdict(e any) (logic.Verdict, error) {
	v, err := c.verdict(e)
	c.MayFail = c.MayFail || !v.Sure
	return v, cmp.Or(err, logic.Check(&v.Yes, &v.No))
}

func (c *Converter) verdict(e any) (logic.Verdict, error) {
	name, arguments, ok := operation(e)
	if !ok {
		return c.truth(e)
	}
	list, isList := arguments.([]any)
	switch name {
	case "and", "or":
		if !isList {
			return logic.Fails(), nil
		}
		if c.OldFlagd && name == "and" && !isBoolean(e) {
			cases, err := c.oldAnd(list, true)
			if err != nil {
				return logic.Verdict{}, err
			}
			return truths(cases)
		}
		if c.OldFlagd && name == "and" && len(list) == 0 {
			return logic.Sure(logic.True()), nil
		}
		return c.chain(name, list)
	case "if", "?:":
		if !isList {
			return logic.Fails(), nil
		}
		return c.branches(list)
	case "!", "!!":
		v, err := c.negation(arguments)
		if name == "!!" {
			v = v.Not()
		}
		return v, err
	case "==", "===", "!=", "!==", "<", "<=", ">", ">=":
		v, err := c.comparison(strings.Replace(name, "!", "=", 1), arguments)
		if name[0] == '!' {
			v = v.Not()
		}
		return v, err
	case "in":
		return c.in(arguments)
	}
	return c.truth(e)
}

// operation returns the operator of an expression that has one.
func operation(e any) (name string, arguments any, ok bool) {
	m, isMap := e.(map[string]any)
	if !isMap || len(m) != 1 {
		return "", nil, false
	}
	for name, arguments = range m {
	}
	return name, arguments, true
}

// truth returns for whom the value of an expression counts as true.
func (c *Converter) truth(e any) (logic.Verdict, error) {
	cases, err := c.Cases(e)
	if err != nil {
		return logic.Verdict{}, err
	}
	return truths(cases)
}

// truths returns for whom one of several cases counts as true.
func truths(cases []Case) (logic.Verdict, error) {
	return each(cases, func(v Value) (logic.Verdict, error) { return logic.Sure(v.truthy("truthy")), nil })
}

// each puts together what holds in each case.
func each(cases []Case, of func(Value) (logic.Verdict, error)) (logic.Verdict, error) {
	var yes, no []flags.Filter
	sure := true
	for i := range cases {
		k := &cases[i]
		if k.Fails {
			sure = sure && logic.IsFalse(&k.When)
			continue
		}
		v, err := of(k.Value)
		if err != nil {
			return v, err
		}
		sure = sure && v.Sure
		yes = append(yes, logic.And(k.When, v.Yes))
		no = append(no, logic.And(k.When, v.No))
	}
	if sure {
		return logic.Sure(logic.Or(yes...)), nil
	}
	return logic.Verdict{Yes: logic.Or(yes...), No: logic.Or(no...)}, nil
}

// truthy returns for whom a value counts as true.
func (v Value) truthy(how string) flags.Filter {
	if v.Property != nil {
		return v.compare(how, nil)
	}
	return logic.Bool(truthy(v.Constant))
}

func truthy(v any) bool {
	switch v := v.(type) {
	case bool:
		return v
	case float64:
		return v != 0
	case string:
		return v != ""
	case []any:
		return len(v) > 0
	case map[string]any:
		return len(v) > 0
	}
	return false
}

// chain returns for whom all or one of a list counts as true.
func (c *Converter) chain(name string, list []any) (logic.Verdict, error) {
	verdicts := make([]logic.Verdict, len(list))
	for i, e := range list {
		var err error
		if verdicts[i], err = c.Verdict(e); err != nil {
			return verdicts[i], err
		}
	}
	if name == "and" && len(list) > 0 {
		return logic.Every(verdicts...)
	}
	return logic.Some(verdicts...)
}

// branches returns for whom the value of an if counts as true.
func (c *Converter) branches(list []any) (logic.Verdict, error) {
	switch len(list) {
	case 0:
		return logic.Sure(logic.False()), nil
	case 1:
		return c.clause(list[0])
	}
	condition, err := c.Verdict(list[0])
	if err != nil {
		return condition, err
	}
	then, err := c.clause(list[1])
	if err != nil {
		return then, err
	}
	other, err := c.branches(list[2:])
	if err != nil {
		return other, err
	}
	choose := func(then, other flags.Filter) flags.Filter {
		if logic.IsTrue(&then) && condition.Sure {
			return logic.Or(condition.Yes, other)
		}
		return logic.Or(logic.And(condition.Yes, then), logic.And(condition.No, other))
	}
	yes := choose(then.Yes, other.Yes)
	if condition.Sure && then.Sure && other.Sure {
		return logic.Sure(yes), nil
	}
	return logic.Verdict{Yes: yes, No: choose(then.No, other.No)}, nil
}

// clause returns for whom the value of a branch counts as true.
func (c *Converter) clause(e any) (logic.Verdict, error) {
	if !mayBeProperty(e) {
		return c.Verdict(e)
	}
	cases, err := c.clauseCases(e)
	if err != nil {
		return logic.Verdict{}, err
	}
	return truths(cases)
}

// mayBeProperty reports whether the value of an expression may be that of an attribute, or an
// object without members.
func mayBeProperty(e any) bool {
	name, arguments, ok := operation(e)
	if m, isMap := e.(map[string]any); !ok {
		return isMap && len(m) == 0
	}
	switch name {
	case "var":
		return true
	case "and", "or", "if", "?:":
		list, _ := arguments.([]any)
		return slices.ContainsFunc(list, mayBeProperty)
	}
	return false
}

// negation returns for whom a value, or the first of a list, does not count as true.
func (c *Converter) negation(arguments any) (logic.Verdict, error) {
	if list, ok := arguments.([]any); ok {
		if len(list) == 0 {
			return logic.Sure(logic.True()), nil
		}
		for _, e := range list[1:] {
			if _, err := c.ignorable(e); err != nil {
				return logic.Verdict{}, err
			}
		}
		v, err := c.Verdict(list[0])
		return v.Not(), err
	}
	if name, _, _ := operation(arguments); name != "missing" && !mayBeProperty(arguments) {
		v, err := c.Verdict(arguments)
		return v.Not(), err
	}
	cases, err := c.Cases(arguments)
	if err != nil {
		return logic.Verdict{}, err
	}
	v, err := each(cases, func(v Value) (logic.Verdict, error) {
		if list, ok := v.Constant.([]any); ok && len(list) > 0 {
			v.Constant = list[0]
		}
		return logic.Sure(v.truthy("first_truthy")), nil
	})
	return v.Not(), err
}

// ignorable returns the cases of an argument that may count only if it fails.
func (c *Converter) ignorable(e any) ([]Case, error) {
	cases, err := c.Cases(e)
	if err == nil && slices.ContainsFunc(cases, func(k Case) bool { return k.Fails }) {
		err = fmt.Errorf("an argument that is not used, and may fail, cannot be converted")
	}
	return cases, err
}

// maxMissing is how many attributes may be looked for at once: each may be there or not.
const maxMissing = 6

// missingCases returns the lists of those of several attributes that are not set.
func (c *Converter) missingCases(arguments any) ([]Case, error) {
	list, ok := arguments.([]any)
	if !ok {
		list = []any{arguments}
	}
	out := Constant([]any{})
	for _, name := range list {
		if _, ok := name.(string); !ok || len(list) > maxMissing {
			return nil, fmt.Errorf("the operator missing can be converted with a list of at most %d names only", maxMissing)
		}
		cases, err := c.variable(name)
		if err != nil {
			return nil, err
		}
		v, err := each(cases, func(v Value) (logic.Verdict, error) { return logic.Sure(v.isNull()), nil })
		if err != nil {
			return nil, err
		}
		var next []Case
		for _, k := range out {
			so := k.Constant.([]any)
			next = append(next,
				Case{logic.And(k.When, v.Yes), Value{Constant: append(so[:len(so):len(so)], name)}},
				Case{logic.And(k.When, v.No), k.Value})
		}
		out = possible(next)
	}
	return out, nil
}

func (v Value) isNull() flags.Filter {
	if v.Property != nil {
		return v.compare("null", nil)
	}
	return logic.Bool(v.Constant == nil)
}

// Cases returns the values that an expression may have.
func (c *Converter) Cases(e any) ([]Case, error) {
	cases, err := c.cases(e)
	c.MayFail = c.MayFail || slices.ContainsFunc(cases, func(k Case) bool { return k.Fails })
	return cases, cmp.Or(err, check(cases))
}

// check returns an error if cases come to too many comparisons.
func check(cases []Case) error {
	list := make([]*flags.Filter, len(cases))
	for i := range cases {
		list[i] = &cases[i].When
	}
	return logic.Check(list...)
}

func (c *Converter) cases(e any) ([]Case, error) {
	if list, ok := e.([]any); ok {
		return c.list(list)
	}
	name, arguments, ok := operation(e)
	if !ok {
		return Constant(e), nil
	}
	list, isList := arguments.([]any)
	if c.Call != nil {
		if cases, known, err := c.Call(name, arguments); known {
			return cases, err
		}
	}
	switch name {
	case "var":
		return c.variable(arguments)
	case "missing":
		return c.missingCases(arguments)
	case "and", "or":
		if !isList {
			return failure(), nil
		}
		if c.OldFlagd && name == "and" {
			return c.oldAnd(list, false)
		}
		return c.chainCases(name, list)
	case "if", "?:":
		if !isList {
			return failure(), nil
		}
		return c.branchCases(list)
	case "!", "!!", "==", "===", "!=", "!==", "<", "<=", ">", ">=", "in":
		v, err := c.Verdict(e)
		return fromVerdict(v, true, false), err
	case "starts_with", "ends_with":
		if c.Flagd {
			return c.affix(name, arguments)
		}
	case "sem_ver":
		if c.Flagd {
			return c.version(arguments)
		}
	}
	if !slices.Contains(inexpressible, name) {
		return failure(), nil // there is no such operator
	}
	return nil, fmt.Errorf("the operator %s cannot be converted", name)
}

// inexpressible are operators that the library has and that filters cannot say.
var inexpressible = []string{
	"filter", "map", "reduce", "all", "none", "some", "missing_some", "set", "cat", "substr", "merge", "max", "min",
	"+", "-", "*", "/", "%", "abs", "contains_all", "contains_any", "contains_none",
}

// Known reports whether the library has an operator.
func Known(name string) bool {
	switch name {
	case "var", "and", "or", "if", "?:", "!", "!!", "==", "===", "!=", "!==", "<", "<=", ">", ">=", "in", "missing":
		return true
	}
	return slices.Contains(inexpressible, name)
}

func fromVerdict(v logic.Verdict, yes, no any) []Case {
	cases := []Case{{v.Yes, Value{Constant: yes}}, {v.No, Value{Constant: no}}}
	if !v.Sure {
		cases = append(cases, Case{logic.And(logic.Not(v.Yes), logic.Not(v.No)), Value{Fails: true}})
	}
	return possible(cases)
}

// possible leaves cases out that are about nobody.
func possible(cases []Case) []Case {
	return slices.DeleteFunc(cases, func(k Case) bool { return logic.IsFalse(&k.When) })
}

// list returns the cases of a list, whose elements must be constants.
func (c *Converter) list(list []any) ([]Case, error) {
	out := make([]any, 0, len(list))
	for _, e := range list {
		cases, err := c.element(e)
		if err != nil {
			return nil, err
		}
		if len(cases) != 1 || cases[0].Property != nil || cases[0].Fails {
			return nil, fmt.Errorf("a list whose elements are not constants cannot be converted")
		}
		out = append(out, cases[0].Constant)
	}
	return Constant(out), nil
}

func (c *Converter) chainCases(name string, list []any) (out []Case, err error) {
	going := logic.True() // for whom the elements so far have not ended it
	lastOfOr := 0
	for i, e := range list {
		if i == len(list)-1 {
			lastOfOr = len(out)
		}
		cases, err := c.Cases(e)
		if err != nil {
			return nil, err
		}
		var on []flags.Filter
		for _, k := range cases {
			when := logic.And(going, k.When)
			if i == len(list)-1 || k.Fails {
				out = append(out, Case{when, k.Value})
				continue
			}
			goes, ends := k.truthy("truthy"), logic.Not(k.truthy("truthy"))
			if name == "or" {
				goes, ends = ends, goes
			}
			out = append(out, Case{logic.And(when, ends), k.Value})
			on = append(on, logic.And(when, goes))
		}
		going = logic.Or(on...)
		if err := cmp.Or(check(out), logic.Check(&going)); err != nil {
			return nil, err
		}
	}
	switch {
	case c.OldFlagd: // nothing but what counts as true ends it
		for i := range out {
			if k := &out[i]; !k.Fails && i >= lastOfOr {
				when := k.When
				truthy := k.truthy("truthy")
				k.When = logic.And(when, truthy)
				out = append(out, Case{logic.And(when, logic.Not(truthy)), Value{Constant: false}})
			}
		}
		if len(list) == 0 {
			return Constant(false), nil
		}
	case len(list) == 0:
		return Constant(nil), nil
	}
	return possible(out), nil
}

func (c *Converter) branchCases(list []any) (out []Case, err error) {
	going := logic.True()
	for ; len(list) > 1; list = list[2:] {
		condition, err := c.Verdict(list[0])
		if err != nil {
			return nil, err
		}
		then, err := c.clauseCases(list[1])
		if err != nil {
			return nil, err
		}
		for _, k := range then {
			out = append(out, Case{logic.And(going, condition.Yes, k.When), k.Value})
		}
		if !condition.Sure {
			out = append(out, Case{logic.And(going, logic.Not(condition.Yes), logic.Not(condition.No)), Value{Fails: true}})
		}
		going = logic.And(going, condition.No)
		if err := cmp.Or(check(out), logic.Check(&going)); err != nil {
			return nil, err
		}
	}
	other := Constant(nil)
	if len(list) == 1 {
		if other, err = c.clauseCases(list[0]); err != nil {
			return nil, err
		}
	}
	for _, k := range other {
		out = append(out, Case{logic.And(going, k.When), k.Value})
	}
	return possible(out), nil
}

// clauseCases returns the cases of a branch. An object that it comes to is a rule again, which
// fails if its single member is not an operator.
func (c *Converter) clauseCases(e any) ([]Case, error) {
	cases, err := c.Cases(e)
	if err != nil {
		return nil, err
	}
	var out []Case
	for _, k := range cases {
		if k.Property == nil {
			out = append(out, k)
			continue
		}
		single := k.compare("single_object", nil)
		out = append(out, Case{logic.And(k.When, logic.Not(single)), k.Value}, Case{logic.And(k.When, single), Value{Fails: true}})
	}
	return possible(out), nil
}

// variable returns the cases of an attribute with a name, and perhaps a default.
func (c *Converter) variable(arguments any) ([]Case, error) {
	var others []Case // of a default
	name := arguments
	if list, ok := name.([]any); ok {
		if len(list) == 0 {
			return nil, errWhole
		}
		name = list[0]
		if _, ok := name.(float64); ok {
			return failure(), nil
		}
		for _, e := range list[1:] {
			cases, err := c.ignorable(e)
			if err != nil {
				return nil, err
			}
			if len(list) == 2 && e != nil {
				others = cases
			}
		}
		if name == nil {
			return failure(), nil
		}
	}
	switch n := name.(type) {
	case nil:
		return Constant(nil), nil
	case bool:
		return failure(), nil
	case float64:
		name = strconv.FormatFloat(n, 'f', -1, 64)
	case string:
	default:
		return nil, fmt.Errorf("a variable whose name is computed cannot be converted")
	}
	path := slices.DeleteFunc(strings.Split(name.(string), "."), func(s string) bool { return s == "" })
	if len(path) == 0 {
		return nil, errWhole
	}
	for _, step := range path[1:] {
		if _, err := strconv.ParseFloat(step, 64); err == nil {
			return nil, fmt.Errorf("the variable %s may be an element of a list, which cannot be converted", name)
		}
	}
	cases, err := c.Var(path)
	if err != nil || others == nil {
		return cases, err
	}
	var out []Case
	for _, k := range cases {
		null := k.isNull()
		out = append(out, Case{logic.And(k.When, logic.Not(null)), k.Value})
		for _, o := range others {
			out = append(out, Case{logic.And(k.When, null, o.When), o.Value})
		}
	}
	return possible(out), nil
}

var errWhole = fmt.Errorf("a variable that is all attributes together cannot be converted")

// compare returns a filter in the dialect, or in our own operators where these are the same.
func (v Value) compare(op string, with any) flags.Filter {
	f := *v.Property
	exact := flags.Comparison{CaseSensitive: true, StrictType: true, Path: f.Comparison.Path}
	f.Operator, f.Value = op, logic.JSON(with)
	switch w := with.(type) {
	case string:
		n := toNumber(w)
		switch {
		case op == "===", op == "==" && n != n:
			f.Operator, f.Comparison = operator.Exact, exact
			return f
		case op == "starts_with" && w != "", op == "ends_with" && w != "":
			f.Comparison = exact
			return f
		case op == "starts_with", op == "ends_with":
			return v.compare("text", nil)
		}
	case float64, bool:
		if op == "===" {
			exact.CaseSensitive = false
			f.Operator, f.Comparison = operator.Exact, exact
			return f
		}
	}
	f.Comparison.Dialect = Dialect
	return f
}

// EmptyObject returns for whom an expression is an object without members.
func (c *Converter) EmptyObject(e any) (flags.Filter, error) {
	m, isMap := e.(map[string]any)
	if !mayBeProperty(e) {
		return logic.Bool(isMap && len(m) == 0), nil
	}
	cases, err := c.Cases(e)
	if err != nil {
		return logic.False(), err
	}
	v, err := each(cases, func(v Value) (logic.Verdict, error) {
		if v.Property != nil {
			return logic.Sure(v.compare("empty_object", nil)), nil
		}
		m, ok := v.Constant.(map[string]any)
		return logic.Sure(logic.Bool(ok && len(m) == 0)), nil
	})
	return v.Yes, err
}

// Clause returns the cases of an expression in a branch of an if, where an object is evaluated
// again.
func (c *Converter) Clause(e any) ([]Case, error) { return c.clauseCases(e) }

// Is returns for whom a property is of a kind: "text", "null", "number", "object".
func (v Value) Is(kind string) flags.Filter { return v.compare(kind, nil) }

// Compare returns for whom a property compares so with a constant.
func (v Value) Compare(op string, with any) flags.Filter { return v.compare(op, with) }

// Digits is what a number is as a text.
func Digits(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }
