package growthbook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/convert"
)

// errMalformed is that of a condition that has a part which is not what it has to be. GrowthBook
// fails such a condition when it comes to the part.
var errMalformed = errors.New("malformed")

// Conditions reads the conditions of one flag.
type conditions struct {
	options  *convert.Options
	groups   map[string]group
	cohorts  *cohorts // nil: saved groups are written out
	ofParent bool     // the attributes are those of a prerequisite, which has a value only
	told     *told
	visited  []string // saved groups within which the condition is
	size     *int     // of what saved groups were written out to
}

const (
	maxWrittenOut = 20_000 // values
	sizeOfGroup   = 20     // at least, of one with a condition
)

// Told is what there is to say about conditions.
type told struct{ problems, notes []string }

func (c *conditions) problem(text string, of ...any) {
	c.told.problems = append(c.told.problems, fmt.Sprintf(text, of...))
}

const foreignPattern = "a pattern is not one of Go's: it does not match anybody, as in GrowthBook's SDK for Go. Its other SDKs may match it."

// An attribute is what is compared.
type attribute struct {
	property string
	path     []string // within it
	isID     bool     // it is the distinct ID, a text
}

const (
	distinctID    = "distinct_id"
	ownDistinctID = "the attribute \"distinct_id\" is the distinct ID."
)

// propertyOf returns the property that an attribute is here.
func propertyOf(o *convert.Options, name string) string {
	if property := o.Property(name); property != name || name != "id" {
		return property
	}
	return distinctID
}

func (c *conditions) attribute(path string) attribute {
	steps := strings.Split(path, ".")
	a := attribute{steps[0], steps[1:], false}
	if c.ofParent {
		a.property = parentProperty + a.property
		return a
	}
	if a.property == distinctID {
		c.told.notes = append(c.told.notes, ownDistinctID)
	}
	a.property = propertyOf(c.options, a.property)
	a.isID = a.property == distinctID && len(a.path) == 0
	return a
}

// parentProperty is before the names of the attributes of a prerequisite, so that none of them is
// the distinct ID.
const parentProperty = "parent "

// read reads a condition, which is always met if it is nil.
func (c *conditions) read(raw json.RawMessage) expression {
	if raw == nil || string(raw) == "null" {
		return always
	}
	var value any
	if err := json.Unmarshal(raw, &value); err != nil {
		value = nil
	}
	e, err := c.condition(value)
	if err != nil {
		c.problem("the condition has a part that is not what it has to be: it does not hold for anybody.")
		return never
	}
	return e
}

// ordered are members of a condition in the order in which GrowthBook looks at them.
func ordered(object map[string]any) []string {
	names := slices.Sorted(maps.Keys(object))
	slices.SortStableFunc(names, func(a, b string) int { return rank(a) - rank(b) })
	return names
}

func rank(name string) int {
	if i := slices.Index([]string{"$and", "$or", "$nor", "$not"}, name); i >= 0 {
		return i
	}
	return 4
}

// condition reads an object of conditions, which all must hold.
func (c *conditions) condition(value any) (expression, error) {
	object, ok := value.(map[string]any)
	if !ok {
		return never, errMalformed
	}
	var parts []expression
	for _, name := range ordered(object) {
		part, err := c.member(name, object[name])
		if err != nil {
			return never, err
		}
		parts = append(parts, part)
	}
	return allOf(parts...), nil
}

func (c *conditions) member(name string, value any) (expression, error) {
	switch name {
	case "$and", "$or", "$nor":
		list, ok := value.([]any)
		if !ok {
			return never, errMalformed
		}
		var parts []expression
		for _, v := range list {
			part, err := c.condition(v)
			if err != nil {
				return never, err
			}
			parts = append(parts, part)
		}
		switch {
		case name == "$and":
			return allOf(parts...), nil
		case len(list) == 0: // none at all counts as one that holds
			return constant(name == "$or"), nil
		case name == "$or":
			return anyOf(parts...), nil
		}
		return anyOf(parts...).not(), nil
	case "$not":
		e, err := c.condition(value)
		return e.not(), err
	case "$savedGroup":
		return c.savedGroup(value)
	case "$savedGroups":
		return never, nil
	}
	a := c.attribute(name)
	if a.property == "" {
		c.problem("a condition is about an attribute without a name: it counts as one that is not set.")
		a.property = "$none"
	}
	return c.compared(a, value)
}

// isOperators reports whether a value is an object with names of operators alone.
func isOperators(value any) (map[string]any, bool) {
	object, ok := value.(map[string]any)
	for name := range object {
		ok = ok && strings.HasPrefix(name, "$")
	}
	return object, ok
}

// compared reads what an attribute is compared with: operators, or a value.
func (c *conditions) compared(a attribute, value any) (expression, error) {
	if slices.ContainsFunc(a.path, isOfArray) {
		inside, err := c.writtenOut(map[string]any{strings.Join(a.path, "."): value})
		a.path = nil
		return c.other(a, "fields", inside, err)
	}
	operators, ok := isOperators(value)
	if !ok {
		return c.equals(a, value)
	}
	var parts []expression
	for _, name := range slices.Sorted(maps.Keys(operators)) {
		part, err := c.operator(a, name, operators[name])
		if err != nil {
			return never, err
		}
		parts = append(parts, part)
	}
	return allOf(parts...), nil
}

// isOfArray reports whether a step of a path leads to an element, or the length, of an array.
func isOfArray(step string) bool {
	n, err := strconv.Atoi(step)
	return step == "length" || err == nil && strconv.Itoa(n) == step
}

func (c *conditions) equals(a attribute, value any) (expression, error) {
	switch value.(type) {
	case map[string]any, []any:
		return c.other(a, "equals", value, nil)
	}
	return c.operator(a, "$eq", value)
}

func (c *conditions) operator(a attribute, name string, value any) (expression, error) {
	if a.isID {
		value = c.textsOfID(name, value)
	}
	switch name {
	case "$eq", "$ne":
		e := never // an array or object is never the same one
		switch value.(type) {
		case string, float64, bool:
			e = c.own(a, "exact", value, flags.Comparison{CaseSensitive: true, StrictType: true})
		case nil:
			e, _ = c.other(a, "$eq", nil, nil)
		}
		if name == "$ne" {
			e = e.not()
		}
		return e, nil
	case "$gt", "$gte", "$lt", "$lte":
		switch value.(type) {
		case float64:
			return c.own(a, name[1:], value, flags.Comparison{StrictType: true}), nil
		case string:
			return c.other(a, name, value, nil)
		}
		return never, nil
	case "$veq", "$vne", "$vgt", "$vgte", "$vlt", "$vlte":
		switch value.(type) {
		case float64, string:
			return c.other(a, name, value, nil)
		}
		return constant(name == "$vne"), nil
	case "$in", "$nin", "$ini", "$nini":
		list, ok := value.([]any)
		if !ok {
			return never, nil
		}
		e := c.in(a, strings.Replace(name, "$n", "$", 1), list)
		if strings.HasPrefix(name, "$n") {
			e = e.not()
		}
		return e, nil
	case "$inGroup", "$notInGroup":
		return c.inGroup(a, name, value)
	case "$regex":
		return c.pattern(a, value)
	case "$not":
		e, err := c.compared(a, value)
		return e.not(), err
	}
	inside, err := c.writtenOutOperators(map[string]any{name: value})
	if value, ok := inside[name]; ok || err != nil {
		return c.other(a, name, value, err)
	}
	return never, nil // what does not hold was written in another way
}

// own returns a filter with an operator of our own, which does what the one of GrowthBook does.
func (c *conditions) own(a attribute, operator string, value any, comparison flags.Comparison) expression {
	comparison.Path = convert.Pointer(a.path...)
	return one(flags.Filter{Type: "person", Key: a.property, Operator: operator, Value: encode(value), Comparison: comparison})
}

// other returns a filter with an operator of GrowthBook.
func (c *conditions) other(a attribute, operator string, value any, err error) (expression, error) {
	if unknownOperator, ok := err.(unknownError); ok {
		c.problem("%s: a condition with it does not hold for anybody.", unknownOperator)
		return unknown, nil
	}
	return c.own(a, operator, value, flags.Comparison{Dialect: "growthbook"}), err
}

// in compares with a list, of which an element of an array may be one, too.
func (c *conditions) in(a attribute, operator string, list []any) expression {
	var scalars []any
	set := true // which null is not
	for _, v := range list {
		switch v.(type) {
		case string, float64, bool:
			scalars = append(scalars, v)
		case nil:
			set = false
			scalars = append(scalars, v)
		}
	}
	switch {
	case len(scalars) == 0: // nor are arrays and objects ever the same one
		return never
	case operator == "$in" && set:
		return c.own(a, "exact", scalars, flags.Comparison{CaseSensitive: true, StrictType: true, AnyElement: true})
	}
	e, _ := c.other(a, operator, scalars, nil)
	return e
}

// textsOfID returns what a distinct ID, which is a text, is compared with: the digits of numbers.
func (c *conditions) textsOfID(operator string, value any) any {
	switch v := value.(type) {
	case float64:
		switch operator {
		case "$eq", "$ne", "$in", "$nin", "$ini", "$nini":
			c.problem("a condition compares the id with a number, and distinct IDs are texts: it compares with the digits of the number.")
			return strconv.FormatFloat(v, 'f', -1, 64)
		}
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = c.textsOfID(operator, v[i])
		}
		return list
	}
	return value
}

// pattern compares with a pattern. One that stands for the whole, the beginning or the end of a
// text, or a part of it, is an operator of ours.
func (c *conditions) pattern(a attribute, value any) (expression, error) {
	pattern, ok := value.(string)
	if !ok {
		return never, errMalformed
	}
	if _, err := regexp.Compile(pattern); err != nil {
		c.told.notes = append(c.told.notes, foreignPattern)
		return never, nil
	}
	re, _ := syntax.Parse(pattern, syntax.Perl)
	parts := re.Sub
	if re.Op != syntax.OpConcat {
		parts = []*syntax.Regexp{re}
	}
	var ends [2]string
	if len(parts) > 0 && parts[0].Op == syntax.OpBeginText {
		parts, ends[0] = parts[1:], "^"
	}
	if n := len(parts) - 1; n >= 0 && parts[n].Op == syntax.OpEndText {
		parts, ends[1] = parts[:n], "$"
	}
	if len(parts) != 1 || parts[0].Op != syntax.OpLiteral || parts[0].Flags&syntax.FoldCase != 0 {
		return c.other(a, "$regex", pattern, nil)
	}
	return c.own(a, patterns[ends], string(parts[0].Rune), flags.Comparison{CaseSensitive: true, StrictType: true}), nil
}

// patterns are operators that do what a text between two ends does as a pattern.
var patterns = map[[2]string]string{{"^", "$"}: "exact", {"^", ""}: "starts_with", {"", "$"}: "ends_with", {"", ""}: "icontains"}

// inGroup compares with the list of a saved group.
func (c *conditions) inGroup(a attribute, name string, value any) (expression, error) {
	id, ok := value.(string)
	if !ok {
		return never, errMalformed
	}
	list, e := c.listOf(id)
	if list == nil {
		return e, nil
	}
	e = c.listed(id, a, list)
	if name == "$notInGroup" {
		e = e.not()
	}
	return e, nil
}

// listOf returns the list of a saved group, which is empty for a group that does not exist. If it
// is nil, the group has none, and nobody is in it or not in it.
func (c *conditions) listOf(id string) ([]any, expression) {
	g, exists := c.groups[id]
	switch {
	case !exists:
		return []any{}, never
	case g.unknown:
		c.problem("%s: a condition with it does not hold for anybody.", unknownGroup(id))
		return nil, unknown
	case g.broken || !g.listed:
		return nil, never
	}
	return g.values, never
}

// listed compares with the list of a saved group, which is a cohort.
func (c *conditions) listed(id string, a attribute, list []any) expression {
	e, _ := c.cohort(id, strings.Join(append([]string{a.property}, a.path...), "."), func(c *conditions) (expression, error) {
		return c.compared(a, map[string]any{"$in": list})
	})
	return e
}

// savedGroup reads a reference to a saved group.
func (c *conditions) savedGroup(value any) (expression, error) {
	id, path, ok := reference(value)
	g, exists := c.groups[id]
	if !ok || !exists || g.legacy || slices.Contains(c.visited, id) {
		return never, nil
	}
	if g.unknown {
		c.problem("%s: a condition with it does not hold for anybody.", unknownGroup(id))
		return unknown, nil
	}
	if g.broken {
		return never, nil
	}
	if g.listed {
		if path == nil {
			path = g.attribute
		}
		if path == nil {
			return never, nil
		}
		return c.listed(id, c.attribute(*path), g.values), nil
	}
	return c.cohort(id, "", func(c *conditions) (expression, error) {
		if *c.size += sizeOfGroup; *c.size > maxWrittenOut {
			c.problem("saved groups come to too much within each other: a condition with them does not hold for anybody.")
			return unknown, nil
		}
		// The cohort has all that the condition has, and needs no other cohorts.
		inside := *c
		inside.visited = append(slices.Clone(c.visited), id)
		return inside.condition(g.condition)
	})
}

// reference reads what $savedGroup has: an ID, and perhaps the attribute that a list is compared
// with.
func reference(value any) (id string, path *string, ok bool) {
	object, _ := value.(map[string]any)
	id, ok = object["id"].(string)
	if name, given := object["attributeKey"]; ok && given {
		text, isText := name.(string)
		return id, &text, isText
	}
	return id, nil, ok
}

// An unknownError says what is not known.
type unknownError string

func (e unknownError) Error() string { return string(e) }

func unknownGroup(id string) unknownError {
	return unknownError(fmt.Sprintf("the saved group %q is of a type that is not known", id))
}

// writtenOut returns a condition as the dialect has it: with saved groups written out.
func (c *conditions) writtenOut(object map[string]any) (map[string]any, error) {
	out := make(map[string]any, len(object))
	for _, name := range ordered(object) {
		value := object[name]
		switch name {
		case "$and", "$or", "$nor":
			list, ok := value.([]any)
			if !ok {
				return nil, errMalformed
			}
			written := []any{}
			for _, v := range list {
				w, err := c.writtenOutObject(v)
				if err != nil {
					return nil, err
				}
				written = append(written, w)
			}
			out[name] = written
		case "$not":
			w, err := c.writtenOutObject(value)
			if err != nil {
				return nil, err
			}
			out[name] = w
		case "$savedGroup":
			w, err := c.writtenOutGroup(value)
			if err != nil {
				return nil, err
			}
			out[name] = w
		case "$savedGroups":
			out["$savedGroup"] = nobody()
		default:
			w, err := c.writtenOutValue(value)
			if err != nil {
				return nil, err
			}
			out[name] = w
		}
	}
	return out, nil
}

func (c *conditions) writtenOutObject(value any) (map[string]any, error) {
	object, ok := value.(map[string]any)
	if !ok {
		return nil, errMalformed
	}
	return c.writtenOut(object)
}

// nobody is a condition that does not hold.
func nobody() map[string]any { return map[string]any{"$nor": []any{map[string]any{}}} }

func (c *conditions) writtenOutGroup(value any) (map[string]any, error) {
	id, path, ok := reference(value)
	g, exists := c.groups[id]
	if !ok || !exists || g.legacy || g.broken || slices.Contains(c.visited, id) {
		return nobody(), nil
	}
	if g.unknown {
		return nil, unknownGroup(id)
	}
	if !g.listed {
		inside := *c
		inside.visited = append(slices.Clone(c.visited), id)
		if *c.size += sizeOfGroup; *c.size > maxWrittenOut {
			return nil, unknownError("saved groups come to too much within each other")
		}
		return inside.writtenOutObject(g.condition)
	}
	if path == nil {
		path = g.attribute
	}
	if path == nil {
		return nobody(), nil
	}
	if err := c.writeOut(g.values); err != nil {
		return nil, err
	}
	return map[string]any{*path: map[string]any{"$in": g.values}}, nil
}

// writeOut counts the values that are written out.
func (c *conditions) writeOut(list []any) error {
	if *c.size += len(list); *c.size > maxWrittenOut {
		return unknownError("saved groups come to too much within conditions on elements of arrays")
	}
	return nil
}

func (c *conditions) writtenOutValue(value any) (any, error) {
	operators, ok := isOperators(value)
	if !ok {
		return value, nil
	}
	return c.writtenOutOperators(operators)
}

// writtenOutOperators returns operators as the dialect has them. What does not hold is an empty
// list of a saved group.
func (c *conditions) writtenOutOperators(operators map[string]any) (map[string]any, error) {
	out := make(map[string]any, len(operators))
	holds := true
	for _, name := range slices.Sorted(maps.Keys(operators)) {
		value := operators[name]
		list, isList := value.([]any)
		text, isText := value.(string)
		var err error
		switch name {
		case "$eq", "$ne", "$lt", "$lte", "$gt", "$gte", "$veq", "$vne", "$vlt", "$vlte", "$vgt", "$vgte", "$exists":
		case "$in", "$nin", "$ini", "$nini":
			holds = holds && isList
		case "$and", "$or", "$nor", "$savedGroup":
			holds = false
		case "$type":
			if !isText {
				return nil, errMalformed
			}
			holds = holds && slices.Contains([]string{"string", "number", "boolean", "object", "array", "null"}, text)
		case "$regex", "$regexi":
			if !isText {
				return nil, errMalformed
			}
			if _, err := regexp.Compile(text); err != nil {
				c.told.notes = append(c.told.notes, foreignPattern)
			}
		case "$inGroup", "$notInGroup":
			if !isText {
				return nil, errMalformed
			}
			values, e := c.listOf(text)
			if e.inexact {
				return nil, unknownGroup(text)
			}
			holds = holds && values != nil
			value, err = values, c.writeOut(values)
		case "$size", "$not":
			value, err = c.writtenOutValue(value)
		case "$all", "$alli":
			if !isList {
				return nil, errMalformed
			}
			written := []any{}
			for _, v := range list {
				w, err := c.writtenOutValue(v)
				if err != nil {
					return nil, err
				}
				written = append(written, w)
			}
			value = written
		case "$elemMatch":
			value, err = c.writtenOutElement(value)
		default:
			return nil, unknownError(fmt.Sprintf("the operator %q is not known", name))
		}
		if err != nil {
			return nil, err
		}
		out[name] = value
	}
	if !holds {
		return map[string]any{"$inGroup": []any{}}, nil
	}
	return out, nil
}

func (c *conditions) writtenOutElement(value any) (any, error) {
	object, ok := value.(map[string]any)
	if !ok {
		return nil, errMalformed
	}
	_, onElement := isOperators(value)
	for _, name := range []string{"$and", "$or", "$nor", "$savedGroup"} {
		if _, ok := object[name]; ok {
			onElement = false
		}
	}
	if onElement {
		return c.writtenOutOperators(object)
	}
	return c.writtenOut(object)
}

// encode returns a value as JSON.
func encode(value any) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(value) != nil {
		return json.RawMessage("null") // not of values that were read
	}
	return bytes.TrimSpace(b.Bytes())
}

// Cohorts are those that saved groups have become.
type cohorts struct {
	project *convert.Project
	of      map[[2]string]*cohort // by group and attribute
}

type cohort struct {
	filter expression
	err    error
	told
}

// cohort returns a filter for the cohort of a saved group, which is compared with an attribute or
// has a condition of its own. What is the same for everybody, and what is not known, is no cohort.
func (c *conditions) cohort(id, attribute string, read func(*conditions) (expression, error)) (expression, error) {
	if c.cohorts == nil {
		return read(c)
	}
	key := [2]string{id, attribute}
	known := c.cohorts.of[key]
	if known == nil {
		known = new(cohort)
		c.cohorts.of[key] = known
		inside := *c
		inside.cohorts, inside.told, inside.size = nil, &known.told, new(int)
		known.filter, known.err = read(&inside)
		if e := known.filter; known.err == nil && !e.inexact && !e.isConstant() {
			name := id
			if attribute != "" {
				name += " (" + attribute + ")"
			}
			known.filter = c.cohorts.add(name, e, known.problems)
		}
	}
	c.told.problems = append(c.told.problems, known.problems...)
	c.told.notes = append(c.told.notes, known.notes...)
	return known.filter, known.err
}

func (c *cohorts) add(name string, e expression, problems []string) expression {
	tree := criteria(e.holds)
	if tree.Leaf != nil {
		tree = flags.CohortNode{Type: "AND", Values: []flags.CohortNode{tree}}
	}
	n := int64(len(c.project.Cohorts) + 1)
	c.project.Cohorts = append(c.project.Cohorts, convert.Cohort{ID: n, Name: name, Criteria: &tree, Problems: problems})
	return one(flags.Filter{Type: "cohort", Key: "id", Operator: "in", Value: encode(n)})
}
