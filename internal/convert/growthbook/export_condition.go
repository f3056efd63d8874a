package growthbook

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/flags/operator"
	"github.com/flagstaff-go/flagstaff/internal/convert"
)

// condition returns a condition that is met if a filter holds.
func (e *exporter) condition(f *flags.Filter) (object, error) {
	switch {
	case f.Type == "person":
		return e.compared(*f)
	case f.Negation:
		positive := *f
		positive.Negation = false
		c, err := e.condition(&positive)
		return object{"$not": c}, err
	case f.Type == "cohort":
		return e.cohort(f)
	case !f.IsGroup():
		return nil, fmt.Errorf("the filter on %q (%s) is not about a person, as conditions of GrowthBook are", f.Key, f.Type)
	}
	if holds, constant := convert.IsConstant(f); constant && !holds {
		return nobody(), nil
	}
	var list []object
	all := make(object)
	names := 0
	for i := range f.Filters {
		c, err := e.condition(&f.Filters[i])
		if err != nil {
			return nil, err
		}
		maps.Copy(all, c)
		list, names = append(list, c), names+len(c)
	}
	switch {
	case f.Type == "any":
		return object{"$or": list}, nil
	case names == len(all):
		return all, nil
	}
	return object{"$and": list}, nil
}

func (e *exporter) cohort(f *flags.Filter) (object, error) {
	cohort, ok := e.project.Cohort(f)
	if !ok {
		return nil, errors.New("it is about a cohort that is not there")
	}
	made := e.cohorts[cohort.ID]
	if made == nil {
		made = &exportedCohort{err: fmt.Errorf("the cohort %q refers to itself", cohort.Name)}
		e.cohorts[cohort.ID] = made
		tree := cohort.Filter()
		c, err := e.condition(&tree)
		switch {
		case len(cohort.Problems) > 0:
			made.err = errors.New(strings.TrimSuffix(cohort.Problems[0], "."))
		case err != nil:
			made.err = fmt.Errorf("in the cohort %q, %w", cohort.Name, err)
		default:
			made.id, made.err = e.group(cmp.Or(cohort.Name, "cohort"), object{"type": "condition", "condition": c}), nil
		}
	}
	c := object{"$savedGroup": object{"id": made.id}}
	if f.Operator == operator.NotIn {
		c = object{"$not": c}
	}
	return c, made.err
}

// group adds a saved group, and returns its ID.
func (e *exporter) group(name string, g any) (id string) {
	raw := encode(g)
	for n := 1; ; n++ {
		if id = name; n > 1 {
			id += "-" + strconv.Itoa(n)
		}
		if before, taken := e.saved[id]; !taken || convert.SameJSON(before, raw) {
			e.saved[id], e.groups[id] = raw, newGroup(raw)
			return id
		}
	}
}

// compared returns a condition that is met if a filter on a property holds.
func (e *exporter) compared(f flags.Filter) (object, error) {
	f.Operator = cmp.Or(f.Operator, operator.Exact)
	own, negated, set := f.Comparison.Dialect == "", f.Negation, f.Comparison.MustBeSet
	f.Negation, f.Comparison.MustBeSet = false, false
	for positive, contrary := range opposites {
		if own && contrary == f.Operator {
			f.Operator, negated = positive, !negated
		}
	}
	var text string
	var texts []string
	isList := json.Unmarshal(f.Value, &texts) == nil
	if f.Key == distinctID && f.Comparison.Path == "" { // which is always there, and a text
		set = false
		if own && (isList || json.Unmarshal(f.Value, &text) == nil) {
			f.Comparison.StrictType, f.Comparison.AnyElement = true, isList && f.Operator == operator.Exact
		}
	}
	c, err := e.positive(f)
	if err == nil && negated {
		c = object{"$not": c}
	}
	if err == nil && set && (negated || !own) {
		c = object{"$and": []object{{e.path(&f): object{"$exists": true}}, c}}
	}
	return c, err
}

// path returns the name of the attribute that a filter is about, with the path within it.
func (e *exporter) path(f *flags.Filter) string {
	return strings.Join(append([]string{e.attribute(f.Key)}, convert.Steps(f.Comparison.Path)...), ".")
}

// positive returns a condition that comes back as a filter.
func (e *exporter) positive(f flags.Filter) (object, error) {
	path := e.path(&f)
	var value any
	_ = json.Unmarshal(f.Value, &value) // nil is null
	list, isList := value.([]any)
	nested := slices.ContainsFunc(list, func(v any) bool { return encode(v)[0] == '[' })
	own := f.Comparison.Dialect == ""
	switch element := f; {
	case own && isList && !nested && (f.Operator == operator.Exact && !f.Comparison.AnyElement || f.Operator == operator.IContainsMulti):
		var parts []flags.Filter
		if f.Operator == operator.IContainsMulti {
			element.Operator = operator.IContains
		}
		for _, v := range list {
			element.Value = encode(v)
			parts = append(parts, element)
		}
		one := convert.Any(parts...)
		return e.condition(&one)
	case own && f.Comparison.AnyElement && f.Operator != operator.Exact:
		element.Comparison.AnyElement = false
		c, err := e.positive(element)
		return object{"$or": []object{c, {path: object{"$elemMatch": c[path]}}}}, err
	}
	f.Value = encode(value)
	if own && !bytes.ContainsRune(f.Value, '"') { // which has no letters
		f.Comparison.CaseSensitive = f.Operator == operator.Exact
	}
	c := object{path: e.operators(&f, value)}
	if fields, ok := value.(object); ok && f.Operator == "fields" {
		c = make(object)
		for name, v := range fields {
			c[path+"."+name] = e.withGroups(v)
		}
	}
	r := &conditions{options: e.options, groups: e.groups, told: new(told), size: new(int)}
	if back := r.read(encode(c)); len(r.told.problems) > 0 || !convert.Same(&back.holds, &f) {
		return nil, fmt.Errorf("the filter on %q (%s) compares in another way than conditions of GrowthBook, which need case_sensitive and strict_type, "+
			"any_element for lists, or the dialect growthbook", f.Key, f.Operator)
	}
	return c, nil
}

// operators returns what an attribute is compared with.
func (e *exporter) operators(f *flags.Filter, value any) any {
	text, isText := value.(string)
	_, isList := value.([]any)
	switch op := f.Operator; {
	case op == "equals" || op == operator.Exact && !f.Comparison.AnyElement:
		return value
	case f.Comparison.Dialect != "":
		return object{op: e.withGroups(value)}
	case op == operator.Exact && isList:
		return object{"$in": value}
	case op == operator.Exact:
		return object{"$in": []any{value}}
	case isText:
		for ends, name := range patterns {
			if name == op {
				return object{"$regex": ends[0] + regexp.QuoteMeta(text) + ends[1]}
			}
		}
	}
	return object{"$" + f.Operator: value}
}

// withGroups returns a value of the dialect, which has saved groups written out, with the IDs of
// groups.
func (e *exporter) withGroups(value any) any {
	switch v := value.(type) {
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = e.withGroups(v[i])
		}
		return out
	case object:
		out := make(object, len(v))
		for name, within := range v {
			_, isList := within.([]any)
			_, isObject := within.(object)
			switch {
			case isList && (name == "$inGroup" || name == "$notInGroup"):
				out[name] = e.group("list", within)
			case isObject && name == "$savedGroup":
				out[name] = object{"id": e.group("part", object{"type": "condition", "condition": e.withGroups(within)})}
			default:
				out[name] = e.withGroups(within)
			}
		}
		return out
	}
	return value
}
