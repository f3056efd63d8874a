package unleash

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/convert"
)

type object = map[string]any

// Export writes what the server answers to SDKs. The Version is that of the Go SDK, as for
// [Convert]: without one, flags are refused that its versions do not evaluate alike.
func Export(p *convert.Project, o *convert.Options) (document []byte, refused []convert.Kept, err error) {
	if !slices.Contains([]string{"", "5", "6"}, o.Version) {
		return nil, nil, errors.New("version: want 5 or 6, the version of the Go SDK that serves the users")
	}
	version, _ := strconv.Atoi(o.Version)
	e := &exporter{project: p}
	var features []object
	for range 2 { // once more without the flags that are refused, and without their segments
		e.converter = &converter{
			o: o, version: version, cohorts: make(map[int64]*report), parents: make(map[string]bool),
			state: &state{features: make(map[string]*feature), segments: make(map[int64]*segment)},
		}
		features = []object{}
		for _, child := range []bool{false, true} { // those that others may depend on come first
			for i := range p.Flags {
				f := &p.Flags[i]
				if len(f.Problems) > 0 || dependsOn(f) != child {
					continue
				}
				e.out = f
				made := e.feature()
				e.features[f.Key] = made
				features = append(features, written(made))
			}
		}
		refused = p.Refused()
	}
	segments := []object{}
	for _, id := range slices.Sorted(maps.Keys(e.segments)) {
		g := e.segments[id]
		segments = append(segments, object{"id": g.ID, "name": g.Name, "description": g.Description, "constraints": g.Constraints})
	}
	document, err = json.MarshalIndent(object{"version": 2, "features": features, "segments": segments}, "", "  ")
	return document, refused, err
}

func dependsOn(f *convert.Flag) bool {
	for range (&flags.Filters{Version: 2, RuleSet: &f.Rules}).Targets() {
		return true
	}
	return false
}

// written returns a feature with the members that the server writes.
func written(f *feature) object {
	var strategies []object
	for i := range f.Strategies {
		s := &f.Strategies[i]
		one := object{"name": s.Name, "parameters": s.Parameters, "constraints": append([]constraint{}, s.Constraints...)}
		if s.Title != "" {
			one["title"] = s.Title
		}
		if len(s.Segments) > 0 {
			one["segments"] = s.Segments
		}
		if len(s.Variants) > 0 {
			one["variants"] = writtenVariants(s.Variants)
		}
		strategies = append(strategies, one)
	}
	out := object{
		"name": f.Name, "type": f.Type, "description": f.Description, "enabled": f.Enabled, "stale": f.Stale, "strategies": strategies,
		"variants": writtenVariants(f.Variants),
	}
	var dependencies []object
	for _, d := range f.Dependencies {
		one := object{"feature": d.Feature}
		if d.Enabled != nil {
			one["enabled"] = *d.Enabled
		}
		if len(d.Variants) > 0 {
			one["variants"] = d.Variants
		}
		dependencies = append(dependencies, one)
	}
	if dependencies != nil {
		out["dependencies"] = dependencies
	}
	return out
}

func writtenVariants(list []variant) []object {
	out := []object{}
	for i := range list {
		v := &list[i]
		one := object{"name": v.Name, "weight": v.Weight, "stickiness": sticky(v.Stickiness), "weightType": "variable"}
		if v.Payload != (payload{}) {
			one["payload"] = v.Payload
		}
		out = append(out, one)
	}
	return out
}

// An exporter writes features, and finds by a converter what they come back as.
type exporter struct {
	*converter
	project *convert.Project
	out     *convert.Flag // that is being written
	at      string        // the part of it
	made    *feature
}

func (e *exporter) refuse(format string, args ...any) {
	e.out.Problem("%s: %s.", e.at, fmt.Sprintf(format, args...))
}

// types are those of features but release, which are tags here.
var types = []string{"experiment", "operational", "kill-switch", "permission", "sunset"}

func (e *exporter) feature() *feature {
	set := &e.out.Rules
	f := &feature{Name: e.out.Key, Type: "release", Description: e.out.Description, Enabled: e.out.Active}
	e.made, e.at = f, "The flag"
	for _, tag := range e.out.Tags {
		if f.Stale = f.Stale || tag == "stale"; slices.Contains(types, tag) {
			f.Type = tag
		}
	}
	boolean := set.ReturnType == "boolean"
	switch {
	case set.ReturnType == "number":
		e.refuse("its values are numbers, and Unleash has variants with names")
	case boolean && (string(set.Default) != "false" || !e.out.Active):
		e.refuse("those who match no rule get another value than false, which they have in Unleash")
	}
	rules := slices.Clone(set.Rules)
	if !boolean && set.Default != nil { // which all others get
		rules = append(rules, flags.Rule{Type: "targeted_release", Value: set.Default})
	}
	for i := range rules {
		rules[i].Targeting = conjuncts(rules[i].Targeting)
	}
	if len(rules) > 0 && len(rules[0].Targeting) == 0 && rules[0].Type == "targeted_release" && (rules[0].Value == nil || boolean && string(rules[0].Value) == "false") {
		f.Enabled, rules = false, rules[1:]
	}
	e.takeDependencies(rules)
	before := max(len(set.Rules)-len(rules), 0)
	if boolean {
		e.exportBooleans(rules, before)
	} else {
		e.exportVariants(rules, before)
	}
	if len(f.Strategies) == 0 { // a feature without strategies is on for everybody
		f.Strategies = []strategy{{Name: "userWithId", Parameters: object{"userIds": ""}}}
	}
	if f.kind() != set.ReturnType { // variants that nobody draws make it one with variants
		unused := variant{Name: "unused"}
		if set.ReturnType == "object" {
			unused.Payload = payload{"string", "unused"}
		}
		f.Variants = append(f.Variants, unused)
	}
	return f
}

func conjuncts(list []flags.Filter) []flags.Filter {
	all := convert.All(list...)
	if all.Type == "all" && !all.Negation {
		return all.Filters
	}
	return []flags.Filter{all}
}

// isMarker reports whether a rule ends the evaluation of those with an ID.
func (e *exporter) isMarker(r *flags.Rule) bool {
	return r.Split != nil && len(r.Targeting) == 0 && len(r.Split.Ends) == 1 && r.Split.Ends[0] == 0 &&
		r.Split.Hash == "murmur3_32" && r.Split.Prefix == "" && r.Split.Subject == "" && r.Split.Path == "" && r.Split.Group == nil &&
		r.Split.Modulus == 0 && r.Split.Rest == "return_default" && r.Split.NoSubject == "continue"
}

// takeDependencies moves filters about other flags, which all rules must have, to the feature.
func (e *exporter) takeDependencies(rules []flags.Rule) {
	var common []flags.Filter
	first := true
	for i := range rules {
		r := &rules[i]
		if e.isMarker(r) {
			continue
		}
		var own []flags.Filter
		r.Targeting = slices.DeleteFunc(slices.Clone(r.Targeting), func(f flags.Filter) bool {
			needs := isAboutFlags(&f)
			if needs {
				own = append(own, f)
			}
			return needs
		})
		if first {
			common, first = own, false
		} else if !sameList(common, own) {
			e.refuse("some of its rules are about other flags, and in Unleash a feature depends on them as a whole")
		}
	}
	for i := range common {
		d, ok := e.dependencyOf(&common[i])
		if !ok {
			e.refuse("it depends on other flags in another way than a dependency of Unleash, such as on the strategies that give variants")
		}
		e.made.Dependencies = append(e.made.Dependencies, d)
	}
}

func isAboutFlags(f *flags.Filter) bool {
	return f.Type == "flag" || convert.Label(f) != "" && f.IsGroup() || slices.ContainsFunc(f.Filters, func(f flags.Filter) bool { return isAboutFlags(&f) })
}

func sameList(a, b []flags.Filter) bool {
	return slices.EqualFunc(a, b, func(a, b flags.Filter) bool { return convert.Same(&a, &b) })
}

// dependencyOf returns the dependency that a filter is of.
func (e *exporter) dependencyOf(f *flags.Filter) (d dependency, ok bool) {
	parts := []flags.Filter{*f}
	if f.Type == "any" && !f.Negation {
		parts = f.Filters
	}
	if name, variants, labelled := strings.Cut(convert.Label(f), ": "); labelled {
		d = dependency{Feature: name, Variants: strings.Split(variants, ", ")}
		if variants == "off" {
			d = dependency{Feature: name, Enabled: new(false)}
		}
	} else {
		for i := range parts {
			var v variant
			switch d.Feature = parts[i].Key; {
			case string(parts[i].Value) == "false":
				d.Enabled = new(false)
			case string(parts[i].Value) == "true":
			case json.Unmarshal(parts[i].Value, &v.Name) == nil || json.Unmarshal(parts[i].Value, &v) == nil:
				d.Variants = append(d.Variants, v.Name)
			}
		}
	}
	back := e.dependency(&d, new(report))
	want := loosened(*f)
	back = loosened(back)
	return d, convert.Same(&back, &want)
}

// loosened returns a filter of which those about flags compare what they want of them alone.
func loosened(f flags.Filter) flags.Filter {
	if f.Filters = slices.Clone(f.Filters); f.Type == "flag" {
		f.Comparison.StrictType = false
	}
	for i := range f.Filters {
		f.Filters[i] = loosened(f.Filters[i])
	}
	return f
}

// drawOf returns the draw that a filter is of.
func (e *exporter) drawOf(f *flags.Filter) (d draw, ok bool) {
	s := f.Split
	if f.Type == "any" && len(f.Filters) > 0 {
		s = f.Filters[0].Split
	}
	if s == nil || len(s.Ends) != 1 {
		return d, false
	}
	d = draw{group: strings.TrimSuffix(s.Prefix, ":"), percent: s.Ends[0], fields: []string{e.field(s.Subject)}}
	if f.Type == "any" {
		d.fields = rolloutFields
	}
	back := e.drawFilters(&d)
	return d, d.percent <= 100 && d.fields[0] != "" && convert.Same(&back[0], f)
}

// field returns the field of the context that a property is.
func (e *exporter) field(property string) string {
	if property == "" || property == distinctID {
		return "userId"
	}
	return e.o.Attribute(property)
}

// strategiesOf adds a strategy for each list of filters of which one must hold as a whole.
func (e *exporter) strategiesOf(r *flags.Rule, d draw, finish func(*strategy, *draw)) {
	for _, list := range alternatives(r.Targeting, func(f *flags.Filter) bool { _, ok := e.drawOf(f); return ok }) {
		s, d := strategy{Name: "default", Parameters: object{}}, d
		never := false
		for i := range list {
			f := &list[i]
			if holds, constant := convert.IsConstant(f); constant {
				never = never || !holds
				continue
			}
			if drawn, ok := e.drawOf(f); ok && d.all {
				d = drawn
				continue
			}
			e.asks(&s, f)
		}
		if never {
			continue
		}
		if r.Description != nil && *r.Description != s.Name {
			s.Title = *r.Description
		}
		e.draws(&s, &d)
		finish(&s, &d)
		e.made.Strategies = append(e.made.Strategies, s)
	}
}

func alternatives(list []flags.Filter, whole func(*flags.Filter) bool) (out [][]flags.Filter) {
	out = [][]flags.Filter{nil}
	for i := range list {
		f := &list[i]
		ways := [][]flags.Filter{{*f}}
		if f.Type == "any" && !f.Negation && len(f.Filters) > 0 && !whole(f) {
			ways = nil
			for j := range f.Filters {
				ways = append(ways, alternatives(conjuncts(f.Filters[j:j+1]), whole)...)
			}
		}
		var next [][]flags.Filter
		for _, before := range out {
			for _, way := range ways {
				next = append(next, slices.Concat(before, way))
			}
		}
		if out = next; len(out) > maxRules {
			return out[:1] // refused for its first one, which has a filter left
		}
	}
	return out
}

// asks adds a filter to a strategy.
func (e *exporter) asks(s *strategy, f *flags.Filter) {
	if f.Type == "cohort" {
		e.asksSegment(s, f)
		return
	}
	k, ok := e.constraintOf(f)
	switch {
	case !ok:
		e.refuse("the filter on %q (%s) compares in another way than a constraint of Unleash, which needs case_sensitive, or the dialect unleash", f.Key, cmp.Or(f.Operator, f.Type))
	case k.Operator == "IN_CIDR" && k.ContextName == "remoteAddress" && !k.Inverted && s.Name == "default" && e.version != 6:
		// Older SDKs know the strategy, and not the operator.
		s.Name, s.Parameters = "remoteAddress", object{"IPs": strings.Join(k.Values, ",")}
	case slices.Contains(newOperators, k.Operator) && e.version == 5:
		e.refuse("version 5 of the Go SDK does not know the operator %s", k.Operator)
	default:
		s.Constraints = append(s.Constraints, k)
	}
}

func (e *exporter) asksSegment(s *strategy, f *flags.Filter) {
	cohort, ok := e.project.Cohort(f)
	if !ok || f.Negation || f.Operator == "not_in" {
		e.refuse("it is about a cohort that is not there, or about those who are not in it")
		return
	}
	for _, problem := range cohort.Problems {
		e.refuse("%s", strings.TrimSuffix(problem, "."))
	}
	g := &segment{ID: cohort.ID, Name: cohort.Name, Description: cohort.Description}
	for _, f := range conjuncts([]flags.Filter{cohort.Filter()}) {
		k, ok := e.constraintOf(&f)
		if !ok {
			e.refuse("the cohort %q is not a list of constraints of Unleash that must all hold", cohort.Name)
		}
		g.Constraints = append(g.Constraints, k)
	}
	if e.segments[g.ID] == nil {
		e.segments[g.ID] = g
		e.addCohort(g)
	}
	s.Segments = append(s.Segments, g.ID)
}

// constraintOf returns the constraint that becomes a filter.
func (e *exporter) constraintOf(f *flags.Filter) (k constraint, ok bool) {
	k = constraint{ContextName: e.field(f.Key), Operator: f.Operator, Inverted: f.Negation}
	if f.Type != "person" || f.Key == "" {
		return k, false
	}
	value := f.Value
	var more struct {
		Value           json.RawMessage
		Values          json.RawMessage
		CaseInsensitive bool
		Inverted        bool
	}
	if len(value) > 0 && value[0] == '{' && json.Unmarshal(value, &more) == nil {
		if value = more.Value; value == nil {
			value = more.Values
		}
		k.CaseInsensitive, k.Inverted = more.CaseInsensitive, more.Inverted || k.Inverted
	}
	if ours := map[string]string{"exact": "IN", "is_not": "NOT_IN", "icontains": "STR_CONTAINS", "starts_with": "STR_STARTS_WITH", "ends_with": "STR_ENDS_WITH"}[f.Operator]; ours != "" {
		k.Operator = ours
	}
	if json.Unmarshal(value, &k.Values) != nil {
		k.Values = nil
		if json.Unmarshal(value, &k.Value) == nil && slices.Contains(listOperators, k.Operator) {
			k.Value, k.Values = "", []string{k.Value}
		}
	}
	same := *f
	if convert.Same(f, &convert.Present) { // which a distinct ID meets or not, and is never missing
		k = constraint{ContextName: "userId", Operator: "NOT_IN", Values: []string{""}}
		same = e.constraint(&k, new(report))
	} else if f.Comparison == (flags.Comparison{CaseSensitive: true, MustBeSet: true}) && f.Operator == "exact" {
		same.Comparison.MustBeSet = false // what is not set is none of its texts
	}
	about := new(report)
	back := e.constraint(&k, about)
	if k.Operator == "IN_CIDR" {
		back = e.dialectFilter(&k) // which a strategy has in all versions
	}
	return k, len(about.problems) == 0 && convert.Same(&back, &same)
}

// draws gives a strategy a draw.
func (e *exporter) draws(s *strategy, d *draw) {
	if d.all {
		return
	}
	if s.Name != "default" {
		e.refuse("it draws among addresses, and Unleash has a strategy for the one or the other")
	}
	s.Name, s.Parameters = "flexibleRollout", object{"groupId": d.group, "rollout": strconv.FormatUint(d.percent, 10)}
	s.Parameters["stickiness"] = d.fields[0]
	if len(d.fields) > 1 {
		s.Parameters["stickiness"] = "default"
		if d.percent == 100 {
			e.refuse("all those with an ID are drawn, and Unleash does not draw for 100 %%")
		}
	}
}

// exportBooleans writes the rules of a flag that is true or false. Those for people without an ID
// stand at the end.
func (e *exporter) exportBooleans(rules []flags.Rule, before int) {
	n := slices.IndexFunc(rules, func(r flags.Rule) bool { return r.Split != nil && r.Split.Rest == "return_default" })
	var sessions []flags.Rule
	if n >= 0 {
		sessions = slices.Clone(rules[n+1:])
		if e.isMarker(&rules[n]) {
			rules = rules[:n]
		} else {
			rules = rules[:n+1]
		}
	}
	all := len(sessions)
	for i := range rules {
		r := &rules[i]
		e.at = fmt.Sprintf("Rule %d", i+1+before)
		if r.Split == nil {
			if string(r.Value) != "true" {
				e.refuse("it gives %s, and a strategy of Unleash can only turn a feature on", cmp.Or(string(r.Value), "what the caller falls back on"))
			}
			e.strategiesOf(r, everybody, func(*strategy, *draw) {})
			continue
		}
		s := *r.Split
		if i == n {
			s.Rest = "continue"
		}
		d := draw{group: strings.TrimSuffix(s.Prefix, ":"), percent: slices.Max(append(s.Ends, 0)), fields: []string{e.field(s.Subject)}}
		if back := e.rollout(&d, d.fields[0]); !convert.SameSplit(&back, &s) || d.percent > 100 {
			e.refuse("it draws in another way than a rollout of Unleash")
		}
		session := e.rollout(&d, "sessionId")
		pair := slices.IndexFunc(sessions, func(o flags.Rule) bool {
			return d.fields[0] == "userId" && o.Split != nil && convert.SameSplit(&session, o.Split) && sameList(o.Targeting, r.Targeting)
		})
		if i == n && (pair < 0 || len(r.Targeting) > 0 && all != 1) {
			e.refuse("it ends the evaluation, and rules that are for people without an ID alone do not follow for the same persons")
		}
		if pair >= 0 {
			d.fields, sessions = rolloutFields, slices.Delete(sessions, pair, pair+1)
		}
		e.strategiesOf(r, d, func(*strategy, *draw) {})
	}
	if len(sessions) > 0 {
		e.refuse("the last rules are for people without an ID alone, and belong to no other rule")
	}
}

// exportVariants writes the rules of a flag with variants: a strategy for each, but that those
// which draw by one field after the other are one.
func (e *exporter) exportVariants(rules []flags.Rule, before int) {
	for i := 0; i < len(rules); i++ {
		r := &rules[i]
		e.at = fmt.Sprintf("Rule %d", i+1+before)
		switch {
		case r.Value == nil && r.Split == nil:
			e.strategiesOf(r, everybody, func(s *strategy, d *draw) { // variants without a group turn the feature off
				delete(s.Parameters, "groupId")
				s.Variants = []variant{{Name: "unused", Weight: 1}}
				if d.group != "" {
					e.refuse("it gives a share what the caller falls back on")
				}
			})
		case r.Split == nil:
			v, isNone := e.variantOf(r.Value)
			e.strategiesOf(r, everybody, func(s *strategy, d *draw) {
				if v.Weight = 1000; isNone {
					v = variant{Name: "unused"}
				}
				e.vary(s, d, cmp.Or(d.group, e.made.Name), "", []variant{v})
			})
		default:
			c, n := e.collectionOf(rules[i:])
			if n == 0 {
				e.refuse("it draws in another way than variants of Unleash")
				continue
			}
			e.strategiesOf(r, everybody, func(s *strategy, d *draw) { e.vary(s, d, c.group, c.stickiness, c.variants) })
			i += n - 1
		}
	}
}

// variantOf returns the variant with a value, or that the value is that of no variant.
func (e *exporter) variantOf(value json.RawMessage) (v variant, isNone bool) {
	ok := json.Unmarshal(value, &v.Name) == nil
	if e.out.Rules.ReturnType == "object" {
		ok = json.Unmarshal(value, &v) == nil
	}
	v = variant{Name: v.Name, Payload: v.Payload}
	kind := feature{Variants: []variant{{}}}
	if e.out.Rules.ReturnType == "object" {
		kind.Variants[0].Payload.Type = "string"
	}
	about := new(report)
	if back := kind.value(&v, about); !ok || len(about.problems) > 0 || !convert.SameJSON(back, value) {
		e.refuse("a value is neither a text nor an object with name and payload, as variants of Unleash are")
	}
	return v, v.Name == noVariant && v.Payload == (payload{})
}

// collectionOf returns the variants between which the first rule draws, with n-1 others for those
// without the fields of the rules before them.
func (e *exporter) collectionOf(rules []flags.Rule) (c *collection, n int) {
	first := rules[0].Split
	field := e.field(first.Subject)
	c = &collection{group: strings.TrimSuffix(first.Prefix, ":"), stickiness: field}
	end := uint64(0)
	var values []json.RawMessage
	for i, next := range first.Ends {
		v, _ := e.variantOf(first.Values[i])
		v.Weight, end = int64(next-end), next
		c.variants, values = append(c.variants, v), append(values, first.Values[i])
	}
	fields := []string{field}
	if first.NoSubject == "continue" {
		fields, c.stickiness = variantFields, "default"
	}
	for i, field := range fields {
		next := -1
		if i >= len(rules) || rules[i].Split == nil || !sameList(rules[i].Targeting, rules[0].Targeting) {
			return nil, 0
		}
		back := e.split(c, field, i == len(fields)-1, func(*variant) string { next++; return string(values[next]) })
		if !convert.SameSplit(&back, rules[i].Split) {
			return nil, 0
		}
	}
	return c, len(fields)
}

// vary gives a strategy variants. Those that a draw would share its stickiness with in newer SDKs
// are variants of the feature.
func (e *exporter) vary(s *strategy, d *draw, group, stickiness string, list []variant) {
	list = slices.Clone(list)
	for i := range list {
		list[i].Stickiness = stickiness
	}
	drawn := cmp.Or(stickiness, "default")
	switch {
	case s.Parameters["groupId"] == nil:
		s.Parameters["groupId"] = group
	case len(list) < 2: // which nothing draws
	case s.Parameters["groupId"] == group && (s.Parameters["stickiness"] == drawn || e.version == 5):
	case s.Parameters["groupId"] == group && slices.Contains(rolloutFields, s.Parameters["stickiness"].(string)): // these strategies have none
		s.Name, s.Parameters = "gradualRolloutUserId", object{"groupId": group, "percentage": s.Parameters["rollout"]}
		if d.fields[0] == "sessionId" {
			s.Name = "gradualRolloutSessionId"
		}
	case group == e.made.Name && (e.made.Variants == nil || sameVariants(e.made.Variants, list)):
		e.made.Variants = list
		return
	default:
		e.refuse("it draws its share and its variants with two groups")
	}
	s.Variants = list
}

func sameVariants(a, b []variant) bool {
	return convert.SameJSON(encode(writtenVariants(a)), encode(writtenVariants(b)))
}
