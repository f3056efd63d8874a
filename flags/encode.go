package flags

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
	"github.com/flagstaff-go/flagstaff/internal/operators"
	"github.com/flagstaff-go/flagstaff/internal/served"
	"github.com/flagstaff-go/flagstaff/internal/text"
)

// Filters and trees of cohorts marshal to compact JSON in which they are also stored: what
// is set, with members in a fixed order, and after them Extra. The value of a filter keeps
// its kind and, if it is a number, the digits; a payload keeps all but white space. Of
// several members with one name only the last is kept.
//
// Their normal form leaves Extra out, and has each thing that evaluation takes for the
// same in the same way: always the lists of condition sets and of filters, an aggregation
// of persons in a condition set alone, payloads as texts, and nothing for null.

// Normal returns filters in their normal form, which [DecodeFilters] reads: filters
// that have the same normal form say the same. Nil is written as filters without condition
// sets.
// The error says that there is something that JSON does not have: a percentage that is not
// finite, or a value that is not JSON. What Decode returns has neither.
//
// Filters that DecodeFilters could not understand are written as they were read,
// so that what is stored is not lost, whatever it is.
func (f *Filters) Normal() ([]byte, error) {
	if f == nil {
		f = new(Filters)
	}
	return f.encode(false)
}

// Encode returns all that the filters have, Extra too, for [DecodeFilters]. Errors, and
// filters that could not be understood, are as in [Filters.Normal].
func (f *Filters) Encode() ([]byte, error) { return f.encode(true) }

func (f *Filters) encode(full bool) ([]byte, error) {
	if f.source != nil {
		return f.source, nil
	}
	e := encoder{full: full}
	e.filters(f)
	return e.result()
}

// MarshalJSON returns what [Filters.Encode] does, and {} for filters that were read from
// something else than JSON.
func (f Filters) MarshalJSON() ([]byte, error) {
	if f.source != nil && !json.Valid(f.source) {
		return []byte(`{}`), nil
	}
	return f.Encode()
}

// UnmarshalJSON reads filters as [DecodeFilters] does for a flag with an unknown key. It
// takes any JSON: what it does not understand is an error of the filters, see
// [Filters.Err]. A rule set may have rules without IDs and seeds, see [RuleSet.Complete].
func (f *Filters) UnmarshalJSON(b []byte) error {
	read, err := DecodeFilters(bytes.Clone(b), "")
	if fault, ok := errors.AsType[*DefinitionError](err); ok && read.source == nil {
		read.fault, read.source = fault, bytes.Clone(b)
	}
	*f = read
	return nil
}

// Normal returns the filters of a cohort, {"properties": …} with a tree, in
// their normal form, which [DecodeCohort] reads; {} for nil. The error, and what
// DecodeCohort could not understand, are as in [Filters.Normal].
func (n *CohortNode) Normal() ([]byte, error) { return n.encode(false) }

// Encode returns the filters of a cohort as Normal does, but with all that the tree
// has, Extra too, for [DecodeCohort].
func (n *CohortNode) Encode() ([]byte, error) { return n.encode(true) }

func (n *CohortNode) encode(full bool) ([]byte, error) {
	switch {
	case n == nil:
		return []byte(`{}`), nil
	case n.source != nil:
		return n.source, nil
	}
	e := encoder{full: full}
	e.raw(`{"properties":`)
	e.node(n, 0)
	e.raw(`}`)
	return e.result()
}

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
	if err != nil || i < 0 || i > served.MaxGroupTypeIndex {
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

// MarshalJSON writes all that a tree has, Extra too.
func (n CohortNode) MarshalJSON() ([]byte, error) {
	return encodeAll(func(e *encoder) { e.node(&n, 0) })
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

// An encoder writes JSON of the model.
type encoder struct {
	dst  []byte
	err  error // the first
	full bool  // and not the normal form
}

// encodeAll returns all that a function writes of a part, Extra too.
func encodeAll(write func(*encoder)) ([]byte, error) {
	e := encoder{full: true}
	write(&e)
	return e.result()
}

// result returns what was written.
func (e *encoder) result() ([]byte, error) {
	if e.err != nil {
		return nil, e.err
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

// member begins a member of an object, whose value comes next.
func (e *encoder) member(name string) *encoder {
	e.comma()
	e.raw(`"`)
	e.raw(name)
	e.raw(`":`)
	return e
}

// encodeOptional writes a member that may be missing.
func encodeOptional[T any](e *encoder, name string, value *T, write func(T)) {
	if value != nil {
		e.member(name)
		write(*value)
	}
}

// encodeList writes a member that is a list, which may be missing but in the normal form.
func encodeList[T any](e *encoder, name string, list []T, element func(*T)) {
	if list == nil && e.full {
		return
	}
	e.member(name).raw(`[`)
	for i := range list {
		e.comma()
		element(&list[i])
	}
	e.raw(`]`)
}

// textMember writes a member that is a text, unless it is empty.
func (e *encoder) textMember(name, s string) {
	if s != "" {
		e.member(name).text(s)
	}
}

func (e *encoder) filters(f *Filters) {
	if f.RuleSet != nil {
		e.ruleSet(f.RuleSet)
		return
	}
	e.raw(`{`)
	encodeList(e, "groups", f.Groups, e.condition)
	if f.Multivariate != nil {
		e.multivariate(f.Multivariate)
	}
	if a := f.AggregationGroupTypeIndex; a > ByPerson || e.full && a == ByPerson {
		e.member("aggregation_group_type_index").aggregation(a)
	}
	e.payloads(f.Payloads)
	encodeOptional(e, "early_exit", f.EarlyExit, e.bool)
	encodeOptional(e, "feature_enrollment", f.FeatureEnrollment, e.bool)
	if h := f.Holdout; h != nil {
		e.member("holdout").raw(`{`)
		e.member("id").int(h.ID)
		e.member("exclusion_percentage").percentage(h.ExclusionPercentage)
		e.close(h.Extra, h.has)
	}
	if f.Version != 0 {
		e.member("version").int(int64(f.Version))
	}
	e.close(f.Extra, f.has)
}

func (e *encoder) multivariate(m *Multivariate) {
	e.member("multivariate").raw(`{`)
	encodeList(e, "variants", m.Variants, e.variant)
	e.close(m.Extra, m.has)
}

func (e *encoder) condition(c *Condition) {
	e.raw(`{`)
	encodeList(e, "properties", c.Properties, e.filter)
	encodeOptional(e, "rollout_percentage", c.RolloutPercentage, e.percentage)
	encodeOptional(e, "variant", c.Variant, e.text)
	if c.AggregationGroupTypeIndex != Inherited {
		e.member("aggregation_group_type_index").aggregation(c.AggregationGroupTypeIndex)
	}
	e.textMember("description", c.Description)
	e.textMember("sort_key", c.SortKey)
	e.close(c.Extra, c.has)
}

func (e *encoder) variant(v *Variant) {
	e.raw(`{`)
	e.member("key").text(v.Key)
	encodeOptional(e, "name", v.Name, e.text)
	e.member("rollout_percentage").percentage(v.RolloutPercentage)
	e.close(v.Extra, v.has)
}

// payloads writes the payloads: in the normal form as texts, and none that is null.
func (e *encoder) payloads(payloads map[string]json.RawMessage) {
	opened := e.full && payloads != nil
	if opened {
		e.member("payloads").raw(`{`)
	}
	for _, key := range slices.Sorted(maps.Keys(payloads)) {
		v, err := jsonscan.Parse(payloads[key], maxDepth)
		if err != nil {
			e.fail(fmt.Errorf("flags: payload of %q: %w", key, errNoJSON))
		}
		payload, ok := payloadText(v)
		if !ok && !e.full {
			continue
		}
		if !opened {
			e.member("payloads").raw(`{`)
			opened = true
		}
		e.comma()
		e.text(key)
		e.raw(`:`)
		switch {
		case !ok:
			e.raw("null")
		case e.full && v.Kind() != jsonscan.String:
			e.raw(payload)
		default:
			e.text(payload)
		}
	}
	if opened {
		e.raw(`}`)
	}
}

func (e *encoder) filter(f *Filter) {
	if f.IsGroup() || f.Split != nil {
		e.nested(f)
		return
	}
	e.raw(`{`)
	if !e.full || f.has("key") {
		e.member("key").text(f.Key)
	}
	if f.Value != nil {
		v, err := jsonscan.Parse(f.Value, maxDepth)
		if err != nil {
			e.fail(fmt.Errorf("flags: value of the filter on %q: %w", f.Key, errNoJSON))
		}
		switch id, ok := f.CohortID(); {
		case ok && !e.full:
			e.member("value").int(id)
		case e.full || v.Kind() != jsonscan.Null:
			e.member("value").value(v)
		}
	}
	e.textMember("operator", f.Operator)
	e.textMember("type", f.Type)
	if f.GroupTypeIndex != nil {
		e.member("group_type_index").int(int64(*f.GroupTypeIndex))
	}
	if f.Negation {
		e.member("negation").bool(true)
	}
	for _, m := range f.Comparison.members() {
		if *m.value {
			e.member(m.name).bool(true)
		}
	}
	for _, m := range f.Comparison.texts() {
		e.textMember(m.name, m.value)
	}
	if e.full {
		e.textMember("cohort_name", f.CohortName)
	}
	if f.DependencyChain != nil {
		e.member("dependency_chain").raw(`[`)
		for _, key := range *f.DependencyChain {
			e.comma()
			e.text(key)
		}
		e.raw(`]`)
	}
	if e.full || operators.KindOf(f.Type) == operators.UnknownFilter { // of which evaluation knows nothing
		e.rest(f.Extra, f.has)
	}
	e.raw(`}`)
}

// node writes a node of a cohort's tree at a depth.
func (e *encoder) node(n *CohortNode, depth int) {
	switch {
	case depth > maxDepth:
		e.fail(errors.New("flags: the tree of a cohort is nested too deep to be read again"))
		return
	case n.Leaf != nil:
		e.filter(n.Leaf)
		return
	}
	e.raw(`{`)
	e.member("type")
	switch anyOf, known := n.AnyOf(); {
	case anyOf:
		e.raw(`"OR"`)
	case known:
		e.raw(`"AND"`)
	default:
		e.text(n.Type)
	}
	e.member("values").raw(`[`)
	for i := range n.Values {
		e.comma()
		e.node(&n.Values[i], depth+1)
	}
	e.raw(`]`)
	e.close(n.Extra, n.has)
}

var errNoJSON = errors.New("it is not JSON, or nested too deep to be read again")

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
		e.members(v, func(string) bool { return false })
	default:
		e.dst = append(e.dst, v...)
	}
}

// The parts of filters marshal and unmarshal alone as they do within filters.

// MarshalJSON writes all that the condition set has, Extra too.
func (c Condition) MarshalJSON() ([]byte, error) {
	return encodeAll(func(e *encoder) { e.condition(&c) })
}

// UnmarshalJSON reads a condition set as [DecodeFilters] does.
func (c *Condition) UnmarshalJSON(b []byte) error {
	f, err := readPart(`{"groups":[`, b, `]}`)
	if err == nil {
		*c = f.Groups[0]
	}
	return err
}

// MarshalJSON writes all that the filter has, Extra too.
func (f Filter) MarshalJSON() ([]byte, error) {
	return encodeAll(func(e *encoder) { e.filter(&f) })
}

// UnmarshalJSON reads a filter as [DecodeFilters] does.
func (f *Filter) UnmarshalJSON(b []byte) error {
	filters, err := readPart(`{"groups":[{"properties":[`, b, `]}]}`)
	if err == nil {
		*f = filters.Groups[0].Properties[0]
	}
	return err
}

// MarshalJSON writes all that the variant has, Extra too.
func (v Variant) MarshalJSON() ([]byte, error) {
	return encodeAll(func(e *encoder) { e.variant(&v) })
}

// UnmarshalJSON reads a variant as [DecodeFilters] does.
func (v *Variant) UnmarshalJSON(b []byte) error {
	f, err := readPart(`{"multivariate":{"variants":[`, b, `]}}`)
	if err == nil {
		*v = f.Multivariate.Variants[0]
	}
	return err
}

// readPart reads filters with one part.
func readPart(before string, part []byte, after string) (Filters, error) {
	f, err := DecodeFilters(append(append([]byte(before), part...), after...), "")
	if f.fault == nil && !(len(f.Groups) == 1 && (len(f.Groups[0].Properties) == 1 || before == `{"groups":[`) || f.Multivariate != nil && len(f.Multivariate.Variants) == 1) {
		return f, fmt.Errorf("flags: %w", wrongType(jsonscan.Value(part), "an object"))
	}
	if f.fault != nil {
		return f, err
	}
	return f, nil // an error of one filter is its own, and a doubt is for who judges it
}
