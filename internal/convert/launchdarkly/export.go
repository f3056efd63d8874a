package launchdarkly

import (
	"cmp"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/convert"
)

// Export writes flags as what SDKs of LaunchDarkly get. Clauses, rollouts and shares of segments
// are those that [Convert] makes the same filters and splits of. The others are refused.
func Export(p *convert.Project, o *convert.Options) (document []byte, refused []convert.Kept, err error) {
	known := *o
	known.Group = func(name string) int {
		for i, n := range p.GroupTypes {
			if n == name {
				return i
			}
		}
		return -1
	}
	e := &exporter{
		converter: &converter{o: &known, payload: new(payload)}, project: p,
		payload: payload{Flags: make(map[string]flag), Segments: make(map[string]segment)}, wanted: p.Wanted(),
	}
	// Once more without the flags that are refused, and without their segments.
	for range 2 {
		clear(e.payload.Flags)
		clear(e.payload.Segments)
		for i := range p.Flags {
			if f := &p.Flags[i]; len(f.Problems) == 0 {
				e.out, e.converter.flag = f, new(convert.Flag)
				e.payload.Flags[f.Key] = e.export()
			}
		}
		refused = p.Refused()
	}
	document, err = json.MarshalIndent(e.payload, "", "  ")
	return document, refused, err
}

// An exporter writes flags, and finds by a converter what they come back as.
type exporter struct {
	*converter
	project *convert.Project
	payload payload
	wanted  map[string][]json.RawMessage // values that flags must have for others, by key
	out     *convert.Flag                // that is being written
	at      string                       // the part of it
	chain   []string                     // of segments within each other
	values  []json.RawMessage
	salt    *string
}

func (e *exporter) refuse(format string, args ...any) {
	e.out.Problem("%s: %s.", e.at, fmt.Sprintf(format, args...))
}

func (e *exporter) export() flag {
	f, set := flag{Key: e.out.Key, On: e.out.Active, Rules: []rule{}}, &e.out.Rules
	e.values, e.salt, e.at = e.valuesOf(e.out), nil, "The flag"
	rules := set.Rules
	if len(rules) > 0 && len(rules[0].Targeting) == 0 && rules[0].Type == "targeted_release" {
		// A flag that is off meets nothing.
		off, d := rules[0].Value, rules[0].Description
		if off == nil || f.On && d != nil && *d == "off" && len(e.wanted[f.Key]) == 0 {
			f.On, f.OffVariation, rules = false, e.variation(off), rules[1:]
		}
	}
	if len(rules) > 0 && len(rules[0].Targeting) > 0 {
		if missed, needs := e.prerequisites(rules[0].Targeting); needs && rules[0].Type == "targeted_release" {
			f.Prerequisites = missed
			if off := e.variation(rules[0].Value); f.On || f.OffVariation == nil && off == nil {
				f.OffVariation = off
			} else if off == nil || f.OffVariation == nil || *off != *f.OffVariation {
				e.refuse("it is off with another value than for those who do not meet what it needs")
			}
			rules = rules[1:]
		}
	}
	for len(rules) > 0 && len(rules[0].Targeting) == 1 && rules[0].Value != nil {
		kind, keys, ok := e.keysOf(&rules[0].Targeting[0])
		if !ok {
			break
		}
		t := target{Values: keys, Variation: *e.variation(rules[0].Value)}
		if f.ContextTargets = append(f.ContextTargets, t); kind != user {
			f.ContextTargets[len(f.ContextTargets)-1].ContextKind = kind
		}
		rules = rules[1:]
	}
	if !slices.ContainsFunc(f.ContextTargets, func(t target) bool { return t.ContextKind != "" }) {
		f.Targets, f.ContextTargets = f.ContextTargets, nil
	}
	first := len(set.Rules) - len(rules) + 1
	last := flags.Rule{Type: "targeted_release", Value: set.Default}
	if n := len(rules); n > 0 && len(rules[n-1].Targeting) == 0 {
		last, rules = rules[n-1], rules[:n-1]
	}
	ids := make(map[string]bool)
	for i := range rules {
		r := &rules[i]
		e.at = fmt.Sprintf("Rule %d", first+i)
		one := rule{ID: r.ID, serve: e.serve(r), Clauses: e.clauses(r.Targeting)}
		if d := r.Description; d != nil {
			if id := strings.TrimPrefix(*d, "rule "); id != "" && !ids[id] {
				one.ID = id // as it comes back
			}
		}
		ids[one.ID] = true
		f.Rules = append(f.Rules, one)
	}
	e.at = "The value for all others"
	f.Fallthrough = e.serve(&last)
	if f.Salt = convert.ID(product, f.Key)[:8]; e.salt != nil {
		f.Salt = *e.salt
	}
	f.Variations = e.values
	return f
}

// variation returns the place of a value, nil for none.
func (e *exporter) variation(value json.RawMessage) *int {
	if value == nil {
		return nil
	}
	i := slices.IndexFunc(e.values, func(v json.RawMessage) bool { return equalJSON(v, value) })
	if i < 0 {
		e.values = append(e.values, value)
		i = len(e.values) - 1
	}
	return &i
}

// prerequisites returns what flags must have not to meet the filters of a rule. It is not ok if
// these are not about flags alone.
func (e *exporter) prerequisites(targeting []flags.Filter) (list []prerequisite, ok bool) {
	missed := convert.All(targeting...)
	if missed.Type != "any" || missed.Negation {
		missed = flags.Filter{Filters: []flags.Filter{missed}}
	}
	for i := range missed.Filters {
		f := &missed.Filters[i]
		n := slices.IndexFunc(e.project.Flags, func(o convert.Flag) bool { return o.Key == f.Key })
		if f.Type != "flag" || !f.Negation || !f.Comparison.StrictType || n < 0 || !convert.HasType(f.Value, e.project.Flags[n].Rules.ReturnType) {
			return nil, false
		}
		other := &exporter{values: e.valuesOf(&e.project.Flags[n])}
		list = append(list, prerequisite{Key: f.Key, Variation: *other.variation(f.Value)})
	}
	return list, true
}

// valuesOf returns the values that a flag has, and those that others want of it, each once.
func (e *exporter) valuesOf(f *convert.Flag) []json.RawMessage {
	all := new(exporter)
	for _, v := range slices.Concat(f.Rules.Values(), e.wanted[f.Key]) {
		all.variation(v)
	}
	return all.values
}

// keysOf returns the kind of contexts and the keys that a filter is for.
func (e *exporter) keysOf(f *flags.Filter) (kind string, list []string, ok bool) {
	for _, kind := range e.allKinds() {
		if json.Unmarshal(f.Value, &list) == nil && len(list) > 0 && !slices.Contains(list, "") {
			if back := e.keys(kind, list); convert.Same(&back, f) {
				return kind, list, true
			}
		}
	}
	return "", nil, false
}

func (e *exporter) allKinds() []string {
	kinds := []string{user}
	for _, i := range slices.Sorted(func(yield func(int) bool) {
		for i := range e.project.GroupTypes {
			if !yield(i) {
				return
			}
		}
	}) {
		kinds = append(kinds, e.project.GroupTypes[i])
	}
	return kinds
}

func (e *exporter) serve(r *flags.Rule) (s serve) {
	switch {
	case r.Split != nil:
		s.Rollout = e.rollout(r.Split)
	case r.Value == nil:
		e.refuse("it is what the caller falls back on, and LaunchDarkly has a value for everybody")
	default:
		s.Variation = e.variation(r.Value)
	}
	return s
}

// rollout returns the rollout that becomes a split.
func (e *exporter) rollout(s *flags.RuleSplit) *rollout {
	r := new(rollout)
	salt, ok := strings.CutPrefix(s.Prefix, e.out.Key+".")
	salt, dot := strings.CutSuffix(salt, ".")
	seed, err := strconv.Atoi(strings.TrimSuffix(s.Prefix, "."))
	switch {
	case ok && dot && (e.salt == nil || *e.salt == salt):
		e.salt = &salt
	case err == nil:
		r.Seed = &seed
	}
	kind, by := e.bucketBy(s)
	if r.ContextKind, r.BucketBy = kind, by; by == "" && e.out.Experiment {
		r.Kind = "experiment"
	}
	var sum float32
	for i, end := range s.Ends {
		v := e.variation(s.Values[i])
		weight, _ := weightOf(sum, end)
		r.Variations = append(r.Variations, weighted{*v, weight})
		sum += float32(weight) / 100000.0
	}
	values := make([]json.RawMessage, len(s.Ends))
	for i := range values {
		values[i] = e.values[r.Variations[i].Variation]
	}
	same := func() bool {
		back := e.split(r, e.out.Key, salt, values)
		return len(s.Ends) > 0 && convert.SameSplit(back, s)
	}
	if n := len(s.Ends); !same() && n > 0 {
		r.Variations[n-1].Weight = 0 // the last value is for those beyond all weights
	}
	if !same() {
		e.refuse("it draws with another hash or text than LaunchDarkly, or at ends that no weights have there")
	}
	return r
}

// weightOf returns the weight that comes to an end, behind a sum of weights.
func weightOf(sum float32, end uint64) (weight int, ok bool) {
	if end >= points {
		return 100001, true
	}
	near := int(math.Round((float64(end)/points - float64(sum)) * 100000))
	for weight = max(near-2, 0); weight <= near+2; weight++ {
		if endBelow(sum+float32(weight)/100000.0) == end {
			return weight, true
		}
	}
	return max(near, 0), false
}

// bucketBy returns the attribute that a split is by.
func (e *exporter) bucketBy(s *flags.RuleSplit) (kind, by string) {
	f := flags.Filter{Type: "person", Key: s.Subject, Comparison: flags.Comparison{Path: s.Path}}
	if s.Group != nil {
		f.Type, f.GroupTypeIndex = "group", s.Group
	}
	if kind, by = e.reference(&f); s.Subject == "" {
		by = ""
	}
	return kind, by
}

// reference returns the attribute that a filter is about.
func (e *exporter) reference(f *flags.Filter) (kind, ref string) {
	ref = f.Key
	switch {
	case f.Type == "group" && f.GroupTypeIndex != nil:
		if kind = e.project.GroupTypes[*f.GroupTypeIndex]; ref == "$group_key" {
			ref = "key"
		}
	case ref == "distinct_id":
		ref = "key"
	default:
		ref = e.o.Attribute(ref)
	}
	if f.Comparison.Path != "" || kind != "" && strings.HasPrefix(ref, "/") {
		kind, ref = cmp.Or(kind, user), convert.Pointer(ref)+f.Comparison.Path
	}
	return kind, ref
}

// clauses returns clauses that all hold if filters do. A clause on a key asks for a context of
// its kind by itself.
func (e *exporter) clauses(list []flags.Filter) []clause {
	clauses := []clause{}
	var implied, present []flags.Filter
	for i := range list {
		f := &list[i]
		switch holds, constant := convert.IsConstant(f); {
		case constant && holds:
		case constant:
			clauses = append(clauses, clause{Attribute: "key", Op: "in", Values: []json.RawMessage{}})
		case e.kindOf(f) != "":
			present = append(present, *f)
		case f.Type == "all" && !f.Negation && f.Extra == nil:
			clauses = append(clauses, e.clauses(f.Filters)...)
		case f.Type == "person" || f.Type == "group":
			one, more := e.leaf(f, list)
			clauses, implied = append(clauses, one), append(implied, more...)
		case f.Type == "flag":
			e.refuse("it is about the flag %s, and LaunchDarkly has prerequisites for a flag as a whole", f.Key)
		default:
			clauses = append(clauses, e.inSegment(*f))
		}
	}
	for i := range present {
		if has(implied, &present[i]) {
			continue
		}
		implied = append(implied, present[i])
		clauses = append(clauses, clause{Attribute: "kind", Op: "in", Values: []json.RawMessage{quoted(e.kindOf(&present[i]))}})
	}
	return clauses
}

func has(list []flags.Filter, f *flags.Filter) bool {
	return slices.ContainsFunc(list, func(o flags.Filter) bool { return convert.Same(&o, f) })
}

// kindOf returns the kind of contexts that a filter asks for, or "".
func (e *exporter) kindOf(f *flags.Filter) string {
	for _, kind := range e.allKinds() {
		if is := e.present(kind); convert.Same(f, &is) {
			return kind
		}
	}
	return ""
}

// leaf returns a clause that becomes a filter, and what it asks for beside it, which must be
// among the other filters, or follow from this one.
func (e *exporter) leaf(f *flags.Filter, others []flags.Filter) (c clause, implied []flags.Filter) {
	c = e.candidate(f)
	all := e.clause(&c)
	parts := []flags.Filter{all}
	if all.Type == "all" && !all.Negation {
		parts = all.Filters
	}
	found := false
	for i := range parts {
		same := convert.Same(&parts[i], f)
		if found = found || same; !same {
			implied = append(implied, parts[i])
		}
	}
	for i := range implied {
		if found = found && (has(others, &implied[i]) || wantsText(f)); !found {
			break
		}
	}
	if found {
		return c, implied
	}
	if f.Negation && !f.Comparison.MustBeSet {
		return e.inSegment(*f), nil
	}
	e.refuse("the filter on %q compares in another way than a clause of LaunchDarkly, which needs %s", f.Key,
		"case_sensitive, strict_type, must_be_set and any_element, or the dialect launchdarkly")
	return c, nil
}

// wantsText reports whether a filter on keys matches no empty one, which nobody has there.
func wantsText(f *flags.Filter) bool {
	var list []string
	if json.Unmarshal(f.Value, &list) != nil {
		list = make([]string, 1)
		_ = json.Unmarshal(f.Value, &list[0])
	}
	return slices.Contains([]string{"exact", "starts_with", "ends_with", "icontains"}, f.Operator) && !f.Negation && !slices.Contains(list, "")
}

// candidate returns the clause that a filter may be.
func (e *exporter) candidate(f *flags.Filter) clause {
	c := clause{Op: f.Operator, Negate: f.Negation}
	c.ContextKind, c.Attribute = e.reference(f)
	if len(f.Value) > 0 && json.Unmarshal(f.Value, &c.Values) != nil {
		c.Values = []json.RawMessage{f.Value}
	}
	c.Values = notNil(c.Values)
	if f.Comparison.Dialect != "" {
		return c
	}
	switch f.Operator {
	case "exact", "":
		c.Op = "in"
	case "is_not":
		c.Op, c.Negate = "in", true
	}
	for op, ours := range nativeOperators {
		if f.Operator == ours.is || f.Operator == ours.isNot {
			c.Op, c.Negate = op, f.Negation || f.Operator == ours.isNot
		}
	}
	return c
}

// inSegment returns a clause on a segment that has what a filter asks for.
func (e *exporter) inSegment(f flags.Filter) clause {
	c := clause{Op: "segmentMatch", Negate: f.Negation}
	f.Negation = false
	name, fixed := convert.Label(&f), ""
	f.Extra = nil
	switch {
	case f.Type == "cohort":
		cohort, ok := e.project.Cohort(&f)
		if !ok || len(cohort.Problems) > 0 {
			e.refuse("%s", cmp.Or(strings.Join(slices.Concat(problemsOf(cohort)), " "), "it is about a cohort that is not there"))
			return c
		}
		c.Negate = c.Negate != (f.Operator == "not_in")
		name, f = cohort.Name, cohort.Filter()
	case f.Type == "split":
		name, _, _ = strings.Cut(f.Split.Prefix, ".")
		fixed = name
	case f.Type == "person" || f.Type == "group":
		if f.Comparison.StrictType && f.Operator == "exact" {
			f.Comparison.MustBeSet = true // as no value there is null
		}
		if name == "" {
			name = nameOf(&f)
		}
	case name != "":
		fixed = name
	default:
		name = nameOf(&f)
	}
	if slices.Contains(e.chain, name) {
		e.refuse("the cohort %q refers to itself", name)
		return c
	}
	e.chain = append(e.chain, name)
	defer func() { e.chain = e.chain[:len(e.chain)-1] }()
	c.Values = []json.RawMessage{quoted(e.segment(name, fixed, &f))}
	return c
}

func problemsOf(c *convert.Cohort) []string {
	if c == nil {
		return nil
	}
	return c.Problems
}

// nameOf returns a name that follows from what a filter asks for.
func nameOf(f *flags.Filter) string {
	h := fnv.New32a()
	raw, _ := json.Marshal(f)
	h.Write(raw)
	return fmt.Sprintf("part-%08x", h.Sum32())
}

// segment adds a segment, and returns its key. A fixed name is one that shares are drawn with.
func (e *exporter) segment(name, fixed string, f *flags.Filter) string {
	s := segment{Key: name}
	rest := *f
	if rest.Type == "any" && !rest.Negation && len(rest.Filters) > 0 {
		if kind, keys, ok := e.keysOf(&rest.Filters[0]); ok && kind == user {
			s.Included = keys
			rest = convert.Any(rest.Filters[1:]...)
		}
	} else if kind, keys, ok := e.keysOf(&rest); ok && kind == user {
		s.Included, rest = keys, convert.Any()
	}
	if rest.Type == "all" && !rest.Negation && len(rest.Filters) > 0 {
		if keys, ok := e.excluded(rest.Filters[0]); ok {
			s.Excluded = keys
			rest = convert.All(rest.Filters[1:]...)
		}
	}
	drawn := false
	for _, conjunction := range e.conjunctions(&rest, fixed) {
		var r segmentRule
		if i := slices.IndexFunc(conjunction, func(f flags.Filter) bool { return isShare(&f, fixed) }); i >= 0 {
			share := conjunction[i]
			s.Salt, conjunction = e.share(&s, &r, &share, conjunction), slices.Delete(conjunction, i, i+1)
			drawn = true
		}
		r.Clauses = e.clauses(conjunction)
		s.Rules = append(s.Rules, r)
	}
	for n := 1; ; n++ {
		if n > 1 {
			s.Key = name + "-" + strconv.Itoa(n)
		}
		before, taken := e.payload.Segments[s.Key]
		if a, b := asText(before), asText(s); !taken || a == b {
			break
		} else if drawn {
			e.refuse("another segment of LaunchDarkly would have the key %q, with which shares are drawn", s.Key)
			break
		}
	}
	e.payload.Segments[s.Key] = s
	return s.Key
}

func asText(v any) string {
	raw, _ := json.Marshal(v)
	return string(raw)
}

// excluded returns keys of those who are not meant.
func (e *exporter) excluded(f flags.Filter) ([]string, bool) {
	if f.Type == "any" && f.Negation && len(f.Filters) == 1 {
		f = f.Filters[0]
	} else if f.Negation = !f.Negation; f.Comparison.StrictType {
		f.Comparison.MustBeSet = true
	}
	kind, keys, ok := e.keysOf(&f)
	return keys, ok && kind == user
}

// isShare reports whether a filter is a share that is drawn with the key of a segment.
func isShare(f *flags.Filter, key string) bool {
	return f.Type == "split" && !f.Negation && key != "" && strings.HasPrefix(f.Split.Prefix, key+".")
}

// conjunctions returns lists of filters, of which one must hold as a whole, and each of which has
// at most one share of the segment.
func (e *exporter) conjunctions(f *flags.Filter, key string) (out [][]flags.Filter) {
	switch {
	case f.Type == "any" && !f.Negation && f.Extra == nil:
		for i := range f.Filters {
			out = append(out, e.conjunctions(&f.Filters[i], key)...)
		}
		return out
	case f.Type != "all" || f.Negation:
		return [][]flags.Filter{{*f}}
	}
	i := slices.IndexFunc(f.Filters, func(o flags.Filter) bool { return o.IsGroup() && o.Extra == nil && !o.Negation && withShare(&o, key) })
	if i < 0 {
		return [][]flags.Filter{slices.Clone(f.Filters)}
	}
	others := slices.Delete(slices.Clone(f.Filters), i, i+1)
	for _, one := range e.conjunctions(&f.Filters[i], key) {
		out = append(out, slices.Concat(others, one))
	}
	return out
}

func withShare(f *flags.Filter, key string) bool {
	return isShare(f, key) || slices.ContainsFunc(f.Filters, func(o flags.Filter) bool { return o.Extra == nil && withShare(&o, key) })
}

// share sets the weight of a rule, and returns the salt of its segment.
func (e *exporter) share(s *segment, r *segmentRule, f *flags.Filter, others []flags.Filter) (salt string) {
	salt = strings.TrimSuffix(strings.TrimPrefix(f.Split.Prefix, s.Key+"."), ".")
	if len(s.Rules) > 0 && s.Salt != "" && s.Salt != salt {
		e.refuse("shares of the segment %q are drawn with two texts", s.Key)
	}
	if len(f.Split.Ends) != 1 {
		e.refuse("a share of the segment %q is not one", s.Key)
		return salt
	}
	weight, _ := weightOf(0, f.Split.Ends[0])
	r.Weight = &weight
	r.RolloutContextKind, r.BucketBy = e.bucketBy(f.Split)
	salted := segment{Salt: salt}
	back := e.converter.share(s.Key, &salted, r)
	is := e.present(cmp.Or(r.RolloutContextKind, user))
	if len(back.Filters) != 2 || !convert.Same(&back.Filters[1], f) || !has(others, &is) {
		e.refuse("a share is drawn with another hash or text than in a segment of LaunchDarkly, or at an end that no weight has there")
	}
	return salt
}
