package unleash

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/convert"
)

// A converter makes a project of a state.
type converter struct {
	*state
	o         *convert.Options
	version   int // of the Go SDK; 0: not said
	project   convert.Project
	cohorts   map[int64]*report // of segments that are cohorts
	parents   map[string]bool   // flags that others depend on
	drawsAnew bool              // a draw falls back on chance
}

// Convert makes flags of a document of Unleash. [convert.Options].Version is "5" or "6", the
// version of the Go SDK, or empty: flags for which that makes a difference then have a problem.
func Convert(document []byte, o *convert.Options) (*convert.Project, error) {
	c := &converter{o: o, cohorts: make(map[int64]*report), parents: make(map[string]bool)}
	switch o.Version {
	case "":
	case "5", "6":
		c.version = int(o.Version[0] - '0')
	default:
		return nil, &convert.OptionError{
			Option: "bucket_version", Text: fmt.Sprintf("must be 5 or 6, that of the Go SDK that served the users, not %q", o.Version),
		}
	}
	var err error
	if c.state, err = read(document); err != nil {
		return nil, err
	}
	for _, id := range slices.Sorted(maps.Keys(c.segments)) {
		c.addCohort(c.segments[id])
	}
	for _, f := range c.features {
		for _, d := range f.Dependencies {
			c.parents[d.Feature] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.features)) {
		c.convert(c.features[name])
	}
	c.dependents()
	if c.drawsAnew {
		c.project.Notes = append(c.project.Notes, "Unleash draws anew at each call for those without a user ID, a session ID and, for variants, an address: "+
			"here rollouts leave them out, and of variants they get the first.")
	}
	return &c.project, nil
}

// dependents gives flags that depend on one with problems a problem, too. Flags on which others
// depend do not depend on any.
func (c *converter) dependents() {
	inexact := make(map[string]bool)
	for i := range c.project.Flags {
		inexact[c.project.Flags[i].Key] = len(c.project.Flags[i].Problems) > 0
	}
	for i := range c.project.Flags {
		out := &c.project.Flags[i]
		for _, d := range c.features[out.Key].Dependencies {
			if inexact[d.Feature] && d.Feature != out.Key {
				addText(&out.Problems, "It depends on the flag %s, which cannot be kept as it is.", d.Feature)
			}
		}
	}
}

// A report is what there is to say of a flag or a cohort, each sentence once.
type report struct{ problems, notes []string }

func (r *report) problem(format string, args ...any) { addText(&r.problems, format, args...) }
func (r *report) note(format string, args ...any)    { addText(&r.notes, format, args...) }

func (r *report) add(other *report) {
	for _, s := range other.problems {
		r.problem("%s", s)
	}
	for _, s := range other.notes {
		r.note("%s", s)
	}
}

func addText(list *[]string, format string, args ...any) {
	if s := fmt.Sprintf(format, args...); !slices.Contains(*list, s) {
		*list = append(*list, s)
	}
}

// A builder makes the rules of a flag.
type builder struct {
	*converter
	f      *feature
	out    *convert.Flag
	about  *report
	prefix []flags.Filter  // of each rule
	parts  map[string]bool // of the strategies that rules are for
}

// maxRules is how many rules a flag may have.
const maxRules = 100

func (c *converter) convert(f *feature) {
	out := convert.Flag{
		Key: f.Name, Description: f.Description, Active: true, Experiment: f.Type == "experiment",
		Rules: flags.RuleSet{ReturnType: f.kind(), Aggregation: flags.ByPerson, Rules: []flags.Rule{}},
	}
	if f.Type != "" && f.Type != "release" {
		out.Tags = append(out.Tags, f.Type)
	}
	if f.Stale {
		out.Tags = append(out.Tags, "stale")
	}
	b := &builder{converter: c, f: f, out: &out, about: new(report), parts: make(map[string]bool)}
	if f.unknown != "" {
		b.about.problem("In the flag or in a part of it %s: it does nothing here.", f.unknown)
	}
	off := ""
	if !f.Enabled {
		off = "Off in Unleash"
	}
	for i := range f.Dependencies {
		filter := c.dependency(&f.Dependencies[i], b.about)
		if holds, constant := convert.IsConstant(&filter); constant && !holds {
			off = "Off because of a dependency"
			continue
		}
		b.prefix = append(b.prefix, filter)
	}
	boolean := out.Rules.ReturnType == "boolean"
	if boolean {
		out.Rules.Default = json.RawMessage("false")
	}
	switch {
	case off == "":
	case boolean:
		b.rule("off", off, nil).Value = json.RawMessage("false")
	case c.parents[f.Name]:
		b.nothing("off", off, nil)
	default:
		out.Active = false
	}
	if off != "" && out.Active {
		b.about.note("It is off, by its first rule. To turn it on, delete that rule.")
	}
	if boolean {
		b.booleans()
	} else {
		b.variants()
	}
	if n := len(out.Rules.Rules); n > maxRules {
		b.about.problem("The flag needs %d rules, and can have %d: the last ones are left out.", n, maxRules)
		out.Rules.Rules = out.Rules.Rules[:maxRules]
	}
	for i := range out.Rules.Rules {
		if r := &out.Rules.Rules[i]; len(r.Targeting) > maxRules {
			b.about.problem("A strategy needs %d filters, and can have %d: it never matches.", len(r.Targeting), maxRules)
			r.Targeting = []flags.Filter{convert.Always(false)}
		}
	}
	out.Problems, out.Notes = b.about.problems, b.about.notes
	if off != "" { // its value is exact
		out.Problems = nil
		for _, s := range b.about.problems {
			addText(&out.Notes, "Once the flag is on: %s", s)
		}
	}
	c.project.Flags = append(c.project.Flags, out)
}

// nothing ends the evaluation for all whom filters mean, with the default.
func (b *builder) nothing(part, description string, filters []flags.Filter) {
	convert.Fallback(b.rule(part, description, filters), b.out.Rules.ReturnType)
}

func (b *builder) rule(part, description string, filters []flags.Filter) *flags.Rule {
	for b.parts[part] {
		part += " again"
	}
	b.parts[part] = true
	b.out.Rules.Rules = append(b.out.Rules.Rules, flags.Rule{
		ID: convert.ID("unleash", b.f.Name, part), Type: "targeted_release", Description: &description, Targeting: append([]flags.Filter{}, filters...),
	})
	return &b.out.Rules.Rules[len(b.out.Rules.Rules)-1]
}

func (b *builder) splitRule(part, description string, filters []flags.Filter, s flags.RuleSplit) {
	r := b.rule(part, description, filters)
	r.Type, r.Split = "split", &s
}

// eachStrategy calls a function for each strategy that the SDK comes to, with its condition. A
// segment that is not there ends the evaluation.
func (c *converter) eachStrategy(f *feature, about *report, each func(part string, s *strategy, when condition)) (complete bool) {
	for i := range f.Strategies {
		s := &f.Strategies[i]
		part := strconv.Itoa(i + 1)
		if len(s.ID) > 0 && string(s.ID) != "null" {
			part = "id " + string(s.ID)
		}
		if s.Disabled {
			about.problem("The strategy %s is disabled. The server does not send such: it is left out.", s.Name)
			continue
		}
		when, known := c.condition(f, s, about)
		if !known {
			continue
		}
		var filters []flags.Filter
		for _, id := range s.Segments {
			if c.segments[id] == nil {
				about.note("The segment %d is not there: the flag is off for all who come to the strategy %s, as there.", id, s.Name)
				return false
			}
			filters = append(filters, c.segment(id, about)...)
		}
		filters = append(filters, c.constraints(s.Constraints, about)...)
		when.filters = append(filters, when.filters...)
		each(part, s, when)
	}
	return true
}

func (s *strategy) title() string { return cmp.Or(s.Title, s.Name) }

// eachRule calls a function for each strategy that may match, with its filters. A flag without
// strategies has one for everybody.
func (b *builder) eachRule(each func(part string, s *strategy, filters []flags.Filter, d draw)) {
	one := func(part string, s *strategy, when condition) {
		filters, some := convert.Targeting(convert.All(slices.Concat(b.prefix, when.filters)...))
		if !some {
			b.about.note("The strategy %s never matches, and is left out.", s.title())
			return
		}
		each(part, s, filters, when.draw)
	}
	if len(b.f.Strategies) == 0 {
		one("all", &strategy{Name: "Everybody"}, condition{draw: everybody})
		return
	}
	b.eachStrategy(b.f, b.about, one)
}

// booleans makes the rules of a flag without variants, of which each gives true. Those by the
// session are the last ones, for people without a distinct ID alone.
func (b *builder) booleans() {
	yes := json.RawMessage("true")
	var sessions []func()
	first := 0
	b.eachRule(func(part string, s *strategy, filters []flags.Filter, d draw) {
		if d.all {
			b.rule(part, s.title(), filters).Value = yes
			return
		}
		b.splitRule(part, s.title(), filters, b.rollout(&d, d.fields[0]))
		if len(d.fields) == 1 {
			return
		}
		if len(sessions) == 0 {
			first = len(b.out.Rules.Rules)
		}
		sessions = append(sessions, func() {
			b.splitRule(part+" session", s.title()+", for those without an ID", filters, b.rollout(&d, d.fields[1]))
		})
	})
	switch rules := b.out.Rules.Rules; {
	case len(sessions) == 0:
		return
	case first == len(rules):
		rules[first-1].Split.Rest = "return_default"
	default:
		b.splitRule("ids", "All with an ID end here; the rules below are for the others", nil, flags.RuleSplit{
			Hash: "murmur3_32", Subject: b.subject("userId"), Ends: []uint64{0}, Values: []json.RawMessage{yes}, Rest: "return_default", NoSubject: "continue",
		})
	}
	for _, add := range sessions {
		add()
	}
}

// variants makes the rules of a flag with variants: those of a strategy end the evaluation for
// all whom it enables.
func (b *builder) variants() {
	b.eachRule(func(part string, s *strategy, filters []flags.Filter, d draw) {
		filters = append(slices.Clone(filters), b.drawFilters(&d)...)
		v, ok := b.variantsOf(b.f, s, b.about)
		switch {
		case !ok:
			b.nothing(part, s.title(), filters)
		case v == nil:
			b.rule(part, s.title(), filters).Value = b.f.value(nil, b.about)
		default:
			b.collection(part, s.title(), filters, v)
		}
	})
}

func (b *builder) collection(part, title string, filters []flags.Filter, v *collection) {
	for i := range v.variants {
		one := &v.variants[i]
		if f := b.override(one); f != nil {
			b.rule(part+" override "+one.Name, title+", override of "+one.Name, append(slices.Clone(filters), *f)).Value = b.f.value(one, b.about)
			if _, constant := convert.IsConstant(f); constant {
				return
			}
		}
	}
	if one := v.alone(); one != nil || v.total() == 0 {
		b.rule(part, title, filters).Value = b.f.value(one, b.about)
		return
	}
	fields := v.fields()
	for i, field := range fields {
		name, description := part, title
		if i > 0 {
			name, description = part+" "+field, title+", for those without "+fields[i-1]
		}
		b.splitRule(name, description, filters, b.split(v, field, i == len(fields)-1, func(one *variant) string { return string(b.f.value(one, b.about)) }))
	}
}

// kind returns the type of the flag's value.
func (f *feature) kind() string {
	kind := "boolean"
	take := func(list []variant) {
		for i := range list {
			if list[i].Payload != (payload{}) {
				kind = "object"
			} else if kind == "boolean" {
				kind = "string"
			}
		}
	}
	take(f.Variants)
	for i := range f.Strategies {
		take(f.Strategies[i].Variants)
	}
	return kind
}

// noVariant is the name of the variant of those who have none.
const noVariant = "disabled"

// value returns the value that stands for a variant, or for none.
func (f *feature) value(v *variant, about *report) json.RawMessage {
	none := variant{Name: noVariant}
	if v == nil {
		v = &none
	}
	switch f.kind() {
	case "boolean":
		return json.RawMessage("true")
	case "string":
		if v.Name == "" || v.Name == "$true" || v.Name == "$false" {
			about.problem("%q cannot be a value: here the variant is %q.", v.Name, noVariant)
			v = &none
		}
		return encode(v.Name)
	}
	object := struct {
		Name    string   `json:"name"`
		Payload *payload `json:"payload,omitempty"`
	}{Name: v.Name}
	if v.Payload != (payload{}) {
		object.Payload = &v.Payload
	}
	return encode(object)
}

func rawTexts(list ...string) (out []json.RawMessage) {
	for _, s := range list {
		out = append(out, json.RawMessage(s))
	}
	return out
}

// flagFilter holds if another flag has a value: true, false, or the name of a variant.
func flagFilter(name string, value any) flags.Filter {
	return flags.Filter{Type: "flag", Key: name, Operator: "flag_evaluates_to", Value: encode(value)}
}
