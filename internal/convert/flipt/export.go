package flipt

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/flags/operator"
	"github.com/flagstaff-go/flagstaff/internal/convert"
	"github.com/flagstaff-go/flagstaff/internal/convert/objects"
)

type object = map[string]any

// Export writes features of the namespace that the Environment names. The Version is that of the
// server, as for [Convert]: without one, only shares that all ways draw alike are kept.
func Export(p *convert.Project, o *convert.Options) (document []byte, refused []convert.Kept, err error) {
	e := &exporter{converter: &converter{o: o}, project: p}
	if e.ways, err = waysOf(o.Version); err != nil {
		return nil, nil, err
	}
	var made []object
	// Once more without the flags that are refused, and without their segments.
	for range 2 {
		made, e.made = []object{}, make(map[string]object)
		for i := range p.Flags {
			if f := &p.Flags[i]; len(f.Problems) == 0 {
				e.out = f
				made = append(made, e.feature())
			}
		}
		refused = p.Refused()
	}
	segments := []object{}
	for _, key := range sortedKeys(e.made) {
		segments = append(segments, e.made[key])
	}
	document, err = json.MarshalIndent(object{
		"version": "1.5", "namespace": cmp.Or(o.Environment, defaultNamespace), "flags": made, "segments": segments,
	}, "", "  ")
	return document, refused, err
}

// An exporter writes features, and finds by a converter what they come back as.
type exporter struct {
	*converter
	project *convert.Project
	made    map[string]object // segments, by their keys
	out     *convert.Flag     // that is being written
	at      string            // the part of it
	keys    []string          // of its variants
	values  []json.RawMessage // of its variants
}

func (e *exporter) refuse(format string, args ...any) {
	e.out.Problem("%s: %s.", e.at, fmt.Sprintf(format, args...))
}

func (e *exporter) feature() object {
	set := &e.out.Rules
	e.at, e.keys, e.values = "The flag", nil, nil
	out := object{"key": e.out.Key, "name": cmp.Or(e.out.Description, e.out.Key), "enabled": e.out.Active}
	metadata := object{}
	for _, tag := range e.out.Tags {
		name, text, _ := strings.Cut(tag, ":")
		metadata[name] = text
	}
	if len(metadata) > 0 {
		out["metadata"] = metadata
	}
	if set.ReturnType == "boolean" {
		out["type"], out["enabled"] = flagOfBoolean, string(set.Default) == "true"
		if !e.out.Active || set.Default == nil {
			e.refuse("some get what the caller falls back on, and a boolean flag of Flipt is true or false for everybody")
		}
		out["rollouts"] = e.rules(set.Rules, e.rollout)
		return out
	}
	if out["type"] = flagOfVariants; !e.out.Active && set.Default != nil {
		e.refuse("it is off, and gives what the caller falls back on: a flag of Flipt that is off gives its default variant")
	}
	rules := set.Rules
	if len(rules) > 0 && rules[0].Type == "targeted_release" && len(rules[0].Targeting) == 0 && convert.SameJSON(rules[0].Value, set.Default) {
		out["enabled"], rules = false, rules[1:]
	}
	out["rules"] = e.rules(rules, e.rule)
	out["variants"] = e.variants()
	return out
}

// rules returns what rules become. Those for nobody are left out.
func (e *exporter) rules(list []flags.Rule, each func(object, *flags.Rule)) []object {
	out := []object{}
	for i := range list {
		e.at = fmt.Sprintf("Rule %d", i+1+len(e.out.Rules.Rules)-len(list))
		keys, operator, some := e.segmentsOf(list[i].Targeting)
		if some {
			r := object{"segment": object{"keys": keys, "operator": operator}}
			each(r, &list[i])
			out = append(out, r)
		}
	}
	return out
}

func (e *exporter) rollout(to object, r *flags.Rule) {
	if r.Description != nil && *r.Description != "" {
		to["description"] = *r.Description
	}
	segment := to["segment"].(object)
	switch {
	case r.Split != nil && len(r.Split.Ends) == 1 && len(r.Targeting) == 0:
		percentage, value := r.Split.Ends[0], r.Split.Values[0]
		if !convert.SameSplit(thresholdSplit(e.out.Key, float64(percentage), value), r.Split) {
			e.refuse("it draws in another way than a threshold of Flipt")
		}
		delete(to, "segment")
		to["threshold"] = object{"percentage": percentage, "value": value}
	case r.Split != nil:
		e.refuse("it draws for some persons alone, or several values, and a threshold of Flipt is for everybody")
	case r.Value == nil:
		e.refuse("it gives what the caller falls back on")
	default:
		segment["value"] = r.Value
	}
}

func (e *exporter) rule(to object, r *flags.Rule) {
	var (
		ends   []uint64
		values []json.RawMessage
	)
	switch s := r.Split; {
	case s == nil && !convert.SameJSON(r.Value, e.out.Rules.Default):
		ends, values = []uint64{buckets}, []json.RawMessage{r.Value}
	case s != nil:
		same := *s
		same.Ends, same.Values = nil, nil
		if !convert.SameSplit(shareSplit(e.out.Key, nil, nil), &same) {
			e.refuse("it draws with another hash or text than Flipt")
		}
		end := uint64(0) // those who are in no share, and shares that nobody is in, need nothing
		for i, next := range capped(s.Ends) {
			if next > end {
				ends, values, end = append(ends, next), append(values, s.Values[i]), next
			}
		}
	}
	shares, ok := e.shares(ends)
	if !ok {
		e.refuse("no shares of Flipt come to its ends, %v of %d", ends, buckets)
		return
	}
	distributions := []object{}
	for i := range ends {
		distributions = append(distributions, object{"variant": e.variant(values[i]), "rollout": shares[i]})
	}
	if len(distributions) > 0 {
		to["distributions"] = distributions
	}
}

// shares returns shares that come to ends, which ascend, in all ways.
func (e *exporter) shares(ends []uint64) (shares []float32, ok bool) {
	// Whole buckets, the middles of buckets for each share, and for the sum of shares.
	for _, more := range []struct{ each, sum float64 }{{}, {0.5, 0}, {0, 0.5}, {0.01, 0}, {0, 0.01}} {
		shares = nil
		before := 0.0
		for i, end := range ends {
			sum := float64(end)
			if i < len(ends)-1 {
				sum += more.sum
			}
			text := strconv.FormatFloat(min((sum-before+more.each)/10, 100), 'f', 4, 64)
			share, _ := strconv.ParseFloat(text, 32)
			shares, before = append(shares, float32(share)), sum
		}
		ok = true
		for _, way := range e.ways {
			ok = ok && slices.Equal(capped(way(shares)), ends)
		}
		if ok {
			return shares, true
		}
	}
	return nil, false
}

// variant returns the key of the variant with a value.
func (e *exporter) variant(value json.RawMessage) string {
	var v struct {
		Key        string          `json:"key"`
		Attachment json.RawMessage `json:"attachment"`
	}
	if e.out.Rules.ReturnType == "string" {
		_ = json.Unmarshal(value, &v.Key)
	} else {
		_ = json.Unmarshal(value, &v)
	}
	f := flag{object: e.out.Rules.ReturnType == "object"}
	i := slices.Index(e.keys, v.Key)
	switch {
	case v.Key == "" || !convert.SameJSON(f.value(variant{v.Key, v.Attachment}), value) || e.out.Rules.ReturnType == "number":
		e.refuse("a value is neither a text nor an object with key and attachment, as variants of Flipt are")
	case i >= 0 && !convert.SameJSON(e.values[i], value):
		e.refuse("the variant %q has two attachments", v.Key)
	case i < 0:
		e.keys, e.values = append(e.keys, v.Key), append(e.values, value)
	}
	return v.Key
}

func (e *exporter) variants() []object {
	standard := ""
	if e.at = "The default"; e.out.Rules.Default != nil {
		standard = e.variant(e.out.Rules.Default)
	}
	out, attached := []object{}, e.out.Rules.ReturnType != "object"
	for i, key := range e.keys {
		v := object{"key": key, "name": key}
		var value struct{ Attachment json.RawMessage }
		if json.Unmarshal(e.values[i], &value) == nil && value.Attachment != nil {
			v["attachment"], attached = value.Attachment, true
		}
		if key == standard {
			v["default"] = true
		}
		out = append(out, v)
	}
	if !attached { // without an attachment the values would be texts
		out = append(out, object{"key": e.free("unused", func(key string) bool { return slices.Contains(e.keys, key) }), "attachment": object{}})
	}
	return out
}

func (e *exporter) free(key string, taken func(key string) bool) string {
	for n, name := 2, key; ; n++ {
		if !taken(key) {
			return key
		}
		key = name + "-" + strconv.Itoa(n)
	}
}

// segmentsOf returns the segments that somebody must be in, and whether in all. It is not some if
// the filters mean nobody.
func (e *exporter) segmentsOf(targeting []flags.Filter) (keys []string, op string, some bool) {
	all := convert.All(targeting...)
	if holds, constant := convert.IsConstant(&all); constant {
		return []string{e.segmentOf("Everybody", "", all)}, allOf, holds
	}
	parts, op, kind := []flags.Filter{all}, allOf, "all"
	if all.IsGroup() && !all.Negation {
		parts, kind = all.Filters, all.Type
	}
	if kind == "any" {
		op = anyOf
	}
	var alone []flags.Filter
	for i := range parts {
		if f := &parts[i]; f.Type == "cohort" {
			keys = append(keys, e.cohort(f))
		} else if f.IsGroup() {
			keys = append(keys, e.segmentOf(e.out.Key, "", *f))
		} else {
			alone = append(alone, *f)
		}
	}
	if len(alone) > 0 {
		keys = append(keys, e.segmentOf(e.out.Key, "", flags.Filter{Type: kind, Filters: alone}))
	}
	return keys, op, true
}

func (e *exporter) cohort(f *flags.Filter) string {
	cohort, ok := e.project.Cohort(f)
	switch {
	case !ok:
		e.refuse("it is about a cohort that is not there")
		return ""
	case f.Negation || f.Operator == operator.NotIn:
		e.refuse("it is for those who are not in the cohort %q, and Flipt has rules for members of segments alone", cohort.Name)
	}
	for _, problem := range cohort.Problems {
		e.refuse("%s", strings.TrimSuffix(problem, "."))
	}
	return e.segmentOf(cohort.Name, cohort.Description, cohort.Filter())
}

// segmentOf adds a segment with the filters of one or of a group, and returns its key.
func (e *exporter) segmentOf(name, description string, f flags.Filter) string {
	constraints, match := []object{}, "ALL_MATCH_TYPE"
	parts := f.Filters
	switch {
	case f.Type == "any" && !f.Negation:
		match = "ANY_MATCH_TYPE"
	case f.Type != "all" || f.Negation:
		parts = []flags.Filter{f}
	}
	for i := range parts {
		constraints = append(constraints, e.constraintOf(&parts[i]))
	}
	segment := object{"name": name, "match_type": match, "constraints": constraints}
	if description != "" {
		segment["description"] = description
	}
	slug := strings.Map(func(r rune) rune {
		switch {
		case r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r)) || r == '_':
			return unicode.ToLower(r)
		}
		return '-'
	}, name)
	segment["key"] = e.free(cmp.Or(strings.Trim(slug, "-"), "segment"), func(key string) bool {
		before, taken := e.made[key]
		segment["key"] = key
		return taken && !convert.SameJSON(asJSON(before), asJSON(segment))
	})
	key := segment["key"].(string)
	e.made[key] = segment
	return key
}

func asJSON(v any) json.RawMessage {
	raw, _ := json.Marshal(v)
	return raw
}

// constraintOf returns the constraint that becomes a filter.
func (e *exporter) constraintOf(f *flags.Filter) object {
	c := object{"property": e.o.Attribute(f.Key), "type": "STRING_COMPARISON_TYPE"}
	op, value := f.Operator, f.Value
	for kind, prefix := range prefixes {
		if rest, ok := strings.CutPrefix(op, prefix); ok && f.Comparison.Dialect == dialect {
			op, c["type"] = rest, kind
		}
	}
	var list []string
	isList := json.Unmarshal(value, &list) == nil
	if f.Comparison.Dialect == "" {
		switch {
		case op == operator.Exact && isList:
			op = "isoneof"
		case op == operator.Exact:
			op = "eq"
		case op == operator.IsNot && len(list) == 2 && list[0] != "":
			op, value = "neq", quoted(list[0])
		case op == operator.IsNot:
			op, value = "isnotoneof", asJSON(slices.DeleteFunc(append([]string{}, list...), func(s string) bool { return s == "" }))
		case op == operator.IContains:
			op = "contains"
		}
	}
	if f.Key == distinctID && c["type"] == "STRING_COMPARISON_TYPE" {
		c["type"], c["property"] = "ENTITY_ID_COMPARISON_TYPE", "entityId"
	}
	c["operator"] = op
	if len(value) > 0 && value[0] == '[' {
		c["value"] = string(value)
	} else if value != nil {
		c["value"] = value
	}
	var r objects.Reader
	back := e.constraint(&r, "", asJSON(c))
	same := *f
	if convert.Same(f, &convert.Present) { // which a distinct ID meets or not, and is never missing
		same.Value, same.Comparison = json.RawMessage(`[""]`), ownComparison
	}
	if len(r.Problems) > 0 || !convert.Same(&back, &same) {
		e.refuse("the filter on %q (%s) compares in another way than a constraint of Flipt, which needs case_sensitive and must_be_set, or the dialect flipt", f.Key, cmp.Or(f.Operator, f.Type))
	}
	return c
}
