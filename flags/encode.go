package flags

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
	"github.com/flagstaff-go/flagstaff/internal/text"
)

// Definitions marshal to the document that Decode reads. Filters and trees of
// cohorts have a normal form, in which they are also stored: compact, with members
// in a fixed order. What is not set is left out, except an aggregation of persons
// in a condition set, where null says something, and the lists of condition sets
// and of filters. The value of a filter keeps its kind and, if it is a number, the
// digits; only the last of several members with one name is kept. A payload keeps
// all but white space.

// AppendFilters appends filters in their normal form, which [DecodeFilters] reads. Nil
// is written as filters without condition sets.
// The error, with which dst comes back as it was, says that there is something that
// JSON does not have: a percentage that is not finite, or a value that is no JSON.
// What Decode returns has neither.
//
// Filters that DecodeFilters could not understand are written as they were read,
// so that what is stored is not lost, whatever it is.
func AppendFilters(dst []byte, f *Filters) ([]byte, error) {
	if f == nil {
		f = new(Filters)
	}
	if f.source != nil {
		return append(dst, f.source...), nil
	}
	e := encoder{dst: dst}
	e.filters(f)
	return e.result(dst)
}

// AppendCohort appends the filters of a cohort, {"properties": …} with a tree, in
// their normal form, which [DecodeCohort] reads; {} for nil. The error, and what
// DecodeCohort could not understand, are as in [AppendFilters].
func AppendCohort(dst []byte, tree *CohortNode) ([]byte, error) {
	switch {
	case tree == nil:
		return append(dst, `{}`...), nil
	case tree.source != nil:
		return append(dst, tree.source...), nil
	}
	e := encoder{dst: dst}
	e.raw(`{"properties":`)
	e.node(tree, 0)
	e.raw(`}`)
	return e.result(dst)
}

// MarshalJSON writes what [AppendFilters] does.
func (f Filters) MarshalJSON() ([]byte, error) { return AppendFilters(nil, &f) }

// MarshalJSON writes null for [ByPerson] and an index for [ByGroup]. Inherited is
// an absent member, which the tag omitzero takes care of; alone it is null.
func (a Aggregation) MarshalJSON() ([]byte, error) {
	e := encoder{}
	e.aggregation(a)
	return e.dst, nil
}

// UnmarshalJSON reads what MarshalJSON writes.
func (a *Aggregation) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		*a = ByPerson
		return nil
	}
	i, err := strconv.Atoi(string(b))
	if err != nil || i < 0 || i > MaxGroupTypeIndex {
		return fmt.Errorf("flags: aggregation_group_type_index: want null or an index, not %s", shorten(b))
	}
	*a = ByGroup(i)
	return nil
}

// MarshalJSON writes a property group, or a record for a stored cohort.
func (c Cohort) MarshalJSON() ([]byte, error) {
	switch {
	case c.Stored && c.Behavioral:
		return []byte(`{"cohort_type":"behavioral"}`), nil
	case c.Stored:
		return []byte(`{"is_static":true}`), nil
	case c.Properties == nil:
		return []byte(`{}`), nil
	}
	return c.Properties.MarshalJSON()
}

// UnmarshalJSON reads every form of evaluation.md §5.1.
func (c *Cohort) UnmarshalJSON(b []byte) error {
	v, err := jsonscan.Parse(b, maxDepth)
	if err != nil {
		return fmt.Errorf("flags: cohort: %w", err)
	}
	d := decoder{out: new(Definitions)}
	if err := d.cohort(0, nil, v); err != nil {
		return err
	}
	*c = d.out.Cohorts[0]
	return c.Err()
}

// MarshalJSON writes the normal form of a tree, see [AppendCohort].
func (n CohortNode) MarshalJSON() ([]byte, error) {
	var e encoder
	e.node(&n, 0)
	return e.result(nil)
}

// UnmarshalJSON reads a node of a cohort's tree.
func (n *CohortNode) UnmarshalJSON(b []byte) error {
	v, err := jsonscan.Parse(b, maxDepth)
	if err != nil {
		return fmt.Errorf("flags: cohort node: %w", err)
	}
	var out CohortNode
	d := decoder{fault: &out.fault}
	if err := d.node(&out, nil, v, 0); err != nil {
		return err
	}
	if out.fault != nil {
		return out.fault
	}
	*n = out
	return nil
}

// An encoder writes the normal form.
type encoder struct {
	dst []byte
	err error // the first
}

// result returns what was written, or what was there before and the error.
func (e *encoder) result(before []byte) ([]byte, error) {
	if e.err != nil {
		return before, e.err
	}
	return e.dst, nil
}

func (e *encoder) fail(err error) {
	if e.err == nil {
		e.err = err
	}
}

func (e *encoder) raw(s string)  { e.dst = append(e.dst, s...) }
func (e *encoder) text(s string) { e.dst = text.AppendQuoted(e.dst, s) }
func (e *encoder) int(n int64)   { e.dst = strconv.AppendInt(e.dst, n, 10) }
func (e *encoder) bool(b bool)   { e.dst = strconv.AppendBool(e.dst, b) }

// comma separates what follows from an element or a member before it.
func (e *encoder) comma() {
	if c := e.dst[len(e.dst)-1]; c != '[' && c != '{' {
		e.dst = append(e.dst, ',')
	}
}

// percentage writes a number as encoding/json does.
func (e *encoder) percentage(x float64) {
	b, err := json.Marshal(x)
	if err != nil {
		e.fail(fmt.Errorf("flags: a percentage must be a number that JSON has, not %v", x))
	}
	e.dst = append(e.dst, b...)
}

func (e *encoder) aggregation(a Aggregation) {
	if i, ok := a.Index(); ok {
		e.int(int64(i))
	} else {
		e.raw("null")
	}
}

func (e *encoder) filters(f *Filters) {
	e.raw(`{"groups":[`)
	for i := range f.Groups {
		e.comma()
		e.condition(&f.Groups[i])
	}
	e.raw(`]`)
	if f.Multivariate != nil {
		e.raw(`,"multivariate":{"variants":[`)
		for i := range f.Multivariate.Variants {
			e.comma()
			e.variant(&f.Multivariate.Variants[i])
		}
		e.raw(`]}`)
	}
	if i, ok := f.AggregationGroupTypeIndex.Index(); ok {
		e.raw(`,"aggregation_group_type_index":`)
		e.int(int64(i))
	}
	e.payloads(f.Payloads)
	if f.EarlyExit != nil {
		e.raw(`,"early_exit":`)
		e.bool(*f.EarlyExit)
	}
	if f.FeatureEnrollment != nil {
		e.raw(`,"feature_enrollment":`)
		e.bool(*f.FeatureEnrollment)
	}
	if h := f.Holdout; h != nil {
		e.raw(`,"holdout":{"id":`)
		e.int(h.ID)
		e.raw(`,"exclusion_percentage":`)
		e.percentage(h.ExclusionPercentage)
		e.raw(`}`)
	}
	if f.Version != 0 {
		e.raw(`,"version":`)
		e.int(int64(f.Version))
	}
	e.raw(`}`)
}

func (e *encoder) condition(c *Condition) {
	e.raw(`{"properties":[`)
	for i := range c.Properties {
		e.comma()
		e.filter(&c.Properties[i])
	}
	e.raw(`]`)
	if c.RolloutPercentage != nil {
		e.raw(`,"rollout_percentage":`)
		e.percentage(*c.RolloutPercentage)
	}
	if c.Variant != nil {
		e.raw(`,"variant":`)
		e.text(*c.Variant)
	}
	if c.AggregationGroupTypeIndex != Inherited {
		e.raw(`,"aggregation_group_type_index":`)
		e.aggregation(c.AggregationGroupTypeIndex)
	}
	if c.Description != "" {
		e.raw(`,"description":`)
		e.text(c.Description)
	}
	if c.SortKey != "" {
		e.raw(`,"sort_key":`)
		e.text(c.SortKey)
	}
	e.raw(`}`)
}

func (e *encoder) variant(v *Variant) {
	e.raw(`{"key":`)
	e.text(v.Key)
	if v.Name != nil {
		e.raw(`,"name":`)
		e.text(*v.Name)
	}
	e.raw(`,"rollout_percentage":`)
	e.percentage(v.RolloutPercentage)
	e.raw(`}`)
}

// payloads writes the payloads that are not null: a string as a string, and
// anything else without white space between its tokens.
func (e *encoder) payloads(payloads map[string]json.RawMessage) {
	opened := false
	for _, key := range slices.Sorted(maps.Keys(payloads)) {
		v, err := jsonscan.Parse(payloads[key], maxDepth)
		if err != nil {
			e.fail(fmt.Errorf("flags: payload of %q: %w", key, errNoJSON))
		}
		payload, ok := payloadText(v)
		if !ok {
			continue
		}
		if !opened {
			e.raw(`,"payloads":{`)
			opened = true
		}
		e.comma()
		e.text(key)
		e.raw(`:`)
		if v.Kind() == jsonscan.String {
			e.text(payload)
		} else {
			e.raw(payload)
		}
	}
	if opened {
		e.raw(`}`)
	}
}

func (e *encoder) filter(f *Filter) {
	e.raw(`{"key":`)
	e.text(f.Key)
	if f.Value != nil {
		v, err := jsonscan.Parse(f.Value, maxDepth)
		if err != nil {
			e.fail(fmt.Errorf("flags: value of the filter on %q: %w", f.Key, errNoJSON))
		}
		e.raw(`,"value":`)
		e.value(v)
	}
	if f.Operator != "" {
		e.raw(`,"operator":`)
		e.text(f.Operator)
	}
	if f.Type != "" {
		e.raw(`,"type":`)
		e.text(f.Type)
	}
	if f.GroupTypeIndex != nil {
		e.raw(`,"group_type_index":`)
		e.int(int64(*f.GroupTypeIndex))
	}
	if f.Negation {
		e.raw(`,"negation":true`)
	}
	if f.CohortName != "" {
		e.raw(`,"cohort_name":`)
		e.text(f.CohortName)
	}
	if f.DependencyChain != nil {
		e.raw(`,"dependency_chain":[`)
		for _, key := range *f.DependencyChain {
			e.comma()
			e.text(key)
		}
		e.raw(`]`)
	}
	e.raw(`}`)
}

// node writes a node of a cohort's tree at a depth.
func (e *encoder) node(n *CohortNode, depth int) {
	switch {
	case depth > maxDepth:
		e.fail(errors.New("flags: the tree of a cohort is nested too deep to be read again"))
		return
	case n.Leaf != nil && n.Criterion != nil:
		v, err := jsonscan.Parse(n.Criterion, maxDepth)
		if err != nil {
			e.fail(fmt.Errorf("flags: criterion on %q: %w", n.Leaf.Key, errNoJSON))
		}
		e.value(v)
		return
	case n.Leaf != nil:
		e.filter(n.Leaf)
		return
	}
	e.raw(`{"type":`)
	switch anyOf, known := n.AnyOf(); {
	case anyOf:
		e.raw(`"OR"`)
	case known:
		e.raw(`"AND"`)
	default:
		e.text(n.Type)
	}
	e.raw(`,"values":[`)
	for i := range n.Values {
		e.comma()
		e.node(&n.Values[i], depth+1)
	}
	e.raw(`]}`)
}

var errNoJSON = errors.New("it is no JSON, or nested too deep to be read again")

// value writes a value that was parsed. The engine tells 1 from 1.0, so numbers
// stay as they are written; everything else becomes the same whichever way it is
// written.
func (e *encoder) value(v jsonscan.Value) {
	switch v.Kind() {
	case jsonscan.String:
		b, _ := v.AppendString(nil)
		e.text(string(b))
	case jsonscan.Array:
		e.raw(`[`)
		for a := v.Array(); a.Next(); {
			e.comma()
			e.value(a.Value())
		}
		e.raw(`]`)
	case jsonscan.Object:
		e.object(v)
	default:
		e.dst = append(e.dst, v...)
	}
}

// object writes an object. Each member stands where its name was first met.
func (e *encoder) object(v jsonscan.Value) {
	var names []string
	members := make(map[string]jsonscan.Value)
	for o := v.Object(); o.Next(); {
		name := string(o.Name())
		if _, met := members[name]; !met {
			names = append(names, name)
		}
		members[name] = o.Value()
	}
	e.raw(`{`)
	for _, name := range names {
		e.comma()
		e.text(name)
		e.raw(`:`)
		e.value(members[name])
	}
	e.raw(`}`)
}
