package growthbook

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/convert"
)

type object = map[string]any

// Export writes what SDKs of GrowthBook get. Conditions, prerequisites and draws are those that
// [Convert] makes the same of; flags with others are refused.
func Export(p *convert.Project, o *convert.Options) (document []byte, refused []convert.Kept, err error) {
	e := &exporter{options: o, project: p}
	for { // again without the flags that are refused, and without their saved groups
		refused = p.Refused()
		e.saved, e.groups, e.cohorts = make(map[string]json.RawMessage), make(map[string]group), make(map[int64]*exportedCohort)
		features := make(object)
		for i := range p.Flags {
			if f := &p.Flags[i]; len(f.Problems) == 0 {
				features[f.Key] = e.feature(f)
			}
		}
		if document, err = json.MarshalIndent(object{"features": features, "savedGroups": e.saved}, "", "  "); err != nil {
			return nil, nil, err
		}
		back, err := Convert(document, o)
		if err != nil {
			return nil, nil, err
		}
		for i := range back.Flags {
			if f, ok := e.flag(back.Flags[i].Key); ok && len(back.Flags[i].Problems) > 0 {
				f.Problem("The flag: it would not come back from GrowthBook as it is: %s", back.Flags[i].Problems[0])
			}
		}
		if len(p.Refused()) == len(refused) {
			return document, refused, nil
		}
	}
}

// An exporter writes features, and finds by what reads conditions what they come back as.
type exporter struct {
	options *convert.Options
	project *convert.Project
	saved   map[string]json.RawMessage // groups, by their IDs
	groups  map[string]group           // as they are read
	cohorts map[int64]*exportedCohort
	set     *flags.RuleSet // of the flag that is being written
}

func (e *exporter) flag(key string) (f *convert.Flag, ok bool) {
	i := slices.IndexFunc(e.project.Flags, func(f convert.Flag) bool { return f.Key == key })
	if i < 0 {
		return nil, false
	}
	return &e.project.Flags[i], true
}

// An exportedCohort is a saved group, or the reason why it is not.
type exportedCohort struct {
	id  string
	err error
}

func (e *exporter) feature(f *convert.Flag) object {
	e.set = &f.Rules
	rules, standard := e.set.Rules, e.set.Default
	if !f.Active {
		rules, standard = nil, nil
	}
	if n := len(rules); n > 0 && len(rules[n-1].Targeting) == 0 && rules[n-1].Split == nil {
		rules, standard = rules[:n-1], rules[n-1].Value
	}
	list := []object{}
	for i := range rules {
		made, err := e.rules(&rules[i])
		if err != nil {
			f.Problem("Rule %d: %v.", i+1, err)
		}
		list = append(list, made...)
	}
	out := object{"defaultValue": standard, "rules": list}
	if f.Description != "" {
		out["description"] = f.Description
	}
	if len(f.Tags) > 0 {
		out["metadata"] = object{"tags": f.Tags}
	}
	return out
}

// rules returns what a rule becomes: one for each alternative of its targeting, as a rule of
// GrowthBook has a condition, prerequisites and draws that all must hold.
func (e *exporter) rules(r *flags.Rule) (list []object, err error) {
	gives, err := e.gives(r)
	if err != nil {
		return nil, err
	}
	all, err := alternatives(convert.All(r.Targeting...))
	for n := range all {
		rule, some, err := e.targeted(all[n])
		if err != nil {
			return nil, err
		}
		if maps.Copy(rule, gives); n == 0 {
			rule["id"] = r.ID
		}
		if some {
			list = append(list, rule)
		}
	}
	return list, err
}

// gives returns the members of a rule that say what it gives.
func (e *exporter) gives(r *flags.Rule) (object, error) {
	out := make(object)
	if r.Description != nil && *r.Description != "" {
		out["name"] = *r.Description
	}
	if r.Split == nil {
		out["force"] = r.Value
		return out, nil
	}
	d, drawn, ok := e.drawOf(r.Split)
	seed := drawn["seed"]
	if !ok || seed == "" || r.Split.NoSubject != "continue" {
		return nil, fmt.Errorf("it draws by %q with another hash or text than GrowthBook, or gives those without a subject a value", drawn["attribute"])
	}
	ends, values := slices.Clone(r.Split.Ends), slices.Clone(r.Split.Values)
	if r.Split.Rest == "return_default" {
		ends, values = append(ends, d.modulus), append(values, e.set.Default)
	}
	maps.Copy(out, object{"hashAttribute": drawn["attribute"], "seed": seed, "hashVersion": drawn["hashVersion"]})
	shares := d.shares(ends, r.Split.Rest)
	if len(values) == 1 {
		out["force"], out["coverage"] = values[0], shares[0][1]
	} else {
		out["variations"], out["ranges"] = values, shares
	}
	return out, nil
}

// shares returns the span of each of the values of a split.
func (d draw) shares(ends []uint64, rest string) (list []span) {
	start := 0.0
	for i, end := range ends {
		if end = min(end, d.modulus); i == len(ends)-1 && rest == "last" {
			end = d.modulus
		}
		list = append(list, span{start, d.share(end)})
		start = d.share(end)
	}
	return list
}

// drawOf returns the draw that a split is of, but for its ends, its rest and those without a
// subject.
func (e *exporter) drawOf(s *flags.RuleSplit) (d draw, members object, ok bool) {
	version, seed := 1, s.Suffix
	if s.Prefix != "" || s.Modulus == 10000 {
		version, seed = 2, s.Prefix
	}
	property := cmp.Or(s.Subject, distinctID)
	attribute := e.attribute(property)
	d, ok = newDraw(seed, version, s.Subject)
	same := *d.split(s.Rest)
	same.Ends, same.Values, same.NoSubject = s.Ends, s.Values, s.NoSubject
	ok = ok && convert.SameSplit(&same, s) && s.Subject != distinctID && propertyOf(e.options, attribute) == property
	return d, object{"attribute": attribute, "seed": seed, "hashVersion": version}, ok
}

// drawn returns a filter of GrowthBook, which includes some of those whom it draws.
func (e *exporter) drawn(f *flags.Filter) (object, error) {
	d, out, ok := e.drawOf(f.Split)
	nobody := f.Split.NoSubject == "continue" || f.Split.NoSubject == "return_default" || f.Split.NoSubject == "first" && string(f.Split.Values[0]) == "false"
	if !ok || !nobody || f.Negation {
		return nil, fmt.Errorf("a filter draws by %q with another hash or text than GrowthBook, or those without a subject meet it", out["attribute"])
	}
	spans := []span{}
	for i, s := range d.shares(f.Split.Ends, f.Split.Rest) {
		if string(f.Split.Values[i]) == "true" {
			spans = append(spans, s)
		}
	}
	out["ranges"] = spans
	return out, nil
}

// attribute returns the name of a property in GrowthBook.
func (e *exporter) attribute(property string) string {
	if name := e.options.Attribute(property); name != distinctID || propertyOf(e.options, "id") != distinctID {
		return name
	}
	return "id"
}

// alternatives returns lists of filters, of which one must hold as a whole. Groups stay one where
// they are about persons, or about one flag.
func alternatives(f flags.Filter) (out [][]flags.Filter, err error) {
	if kinds := about(&f); !f.IsGroup() || len(kinds) < 2 && !slices.Contains(kinds, "split") {
		return [][]flags.Filter{{f}}, nil
	}
	one := (f.Type == "any") != f.Negation
	if !one {
		out = [][]flags.Filter{nil}
	}
	for _, part := range f.Filters {
		if f.Negation {
			part = convert.Not(part)
		}
		more, err := alternatives(part)
		if err != nil {
			return nil, err
		}
		var both [][]flags.Filter
		for _, before := range out {
			for _, next := range more {
				both = append(both, slices.Concat(before, next))
			}
		}
		if one {
			out = append(out, more...)
		} else {
			out = both
		}
		if len(out) > maxRules {
			return nil, errors.New("its targeting has too many alternatives for rules of GrowthBook, which ask for flags and draw beside their condition")
		}
	}
	return out, nil
}

// about returns what the leaves of a filter are about: a flag, a draw, or "" for persons.
func about(f *flags.Filter) (kinds []string) {
	switch {
	case f.IsGroup():
		for i := range f.Filters {
			kinds = append(kinds, about(&f.Filters[i])...)
		}
		slices.Sort(kinds)
		return slices.Compact(kinds)
	case f.Type == "flag":
		return []string{aboutFlag + f.Key}
	case f.Type == "split":
		return []string{f.Type}
	}
	return []string{""}
}

const aboutFlag = "flag "

// targeted returns the members of a rule for which filters all must hold. It is not some if they
// never do.
func (e *exporter) targeted(parts []flags.Filter) (rule object, some bool, err error) {
	rule = make(object)
	var conditions []flags.Filter
	var draws, parents []object
	needs := make(map[string][]flags.Filter)
	for i := range parts {
		kinds := append(about(&parts[i]), "") // nothing is about everybody
		if key, ok := strings.CutPrefix(kinds[0], aboutFlag); ok {
			needs[key] = append(needs[key], parts[i])
		} else if parts[i].Split == nil {
			conditions = append(conditions, parts[i])
		} else {
			draw, err := e.drawn(&parts[i])
			if err != nil {
				return nil, false, err
			}
			draws = append(draws, draw)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(needs)) {
		condition, some, err := e.parent(key, needs[key])
		if err != nil || !some {
			return rule, false, err
		}
		if condition != nil {
			parents = append(parents, object{"id": key, "condition": condition})
		}
	}
	all := convert.All(conditions...)
	condition, err := e.condition(&all)
	if len(condition) > 0 {
		rule["condition"] = condition
	}
	if len(parents) > 0 {
		rule["parentConditions"] = parents
	}
	if len(draws) > 0 {
		rule["filters"] = draws
	}
	holds, constant := convert.IsConstant(&all)
	return rule, !constant || holds, err
}

// parent returns a condition on the value of another flag: nil if each value meets it. It is not
// some if none does.
func (e *exporter) parent(key string, filters []flags.Filter) (condition object, some bool, err error) {
	of, ok := e.flag(key)
	if !ok {
		return nil, false, fmt.Errorf("it needs the flag %q, which is not there", key)
	}
	var values []json.RawMessage
	if of.Active {
		values = of.Rules.Values()
	}
	if !of.Active || of.Rules.Default == nil || slices.ContainsFunc(of.Rules.Rules, func(r flags.Rule) bool { return r.Split == nil && r.Value == nil }) {
		values = append(values, json.RawMessage("null"))
	}
	var with, without []json.RawMessage
	var want []bool
	for _, v := range values {
		always := *of
		if always.Rules.Rules, always.Rules.Default = []flags.Rule{}, v; isNull(v) {
			always.Rules.Default = nil
		}
		s, err := probe(filters, always)
		if err != nil {
			return nil, false, err
		}
		result, err := s.Flag(probeKey, &flags.Request{DistinctID: "probe"})
		if err != nil || result.Failed {
			return nil, false, fmt.Errorf("it cannot be told what the flag %q must be", key)
		}
		holds := string(result.JSON()) == "true"
		if want = append(want, holds); holds {
			with = append(with, v)
		} else {
			without = append(without, v)
		}
	}
	if len(with) == 0 || len(without) == 0 {
		return nil, len(with) > 0, nil
	}
	for _, condition := range []object{valueIn(with), {"$not": valueIn(without)}} {
		b := &builder{converter: &converter{document: new(document), options: e.options, held: make(map[string][]bool)}, flag: new(convert.Flag)}
		if slices.Equal(b.holds(new(rule), encode(condition), values), want) {
			return condition, true, nil
		}
	}
	return nil, false, fmt.Errorf("no condition of GrowthBook tells the values of the flag %q apart", key)
}

// valueIn returns a condition that a prerequisite has one of some values.
func valueIn(values []json.RawMessage) object {
	parts := make([]object, len(values))
	for i, v := range values {
		parts[i] = object{"value": v}
	}
	switch {
	case len(parts) == 1:
		return parts[0]
	case !slices.ContainsFunc(values, func(v json.RawMessage) bool { return v[0] == '{' }):
		return object{"value": object{"$in": values}}
	}
	return object{"$or": parts}
}
