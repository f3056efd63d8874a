package launchdarkly

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/convert"
)

const product = "launchdarkly"

// A converter converts one document.
type converter struct {
	o       *convert.Options
	payload *payload
	kinds   []string // of contexts but user, that the document names
	cohorts map[string]*convert.Cohort
	chain   []string // of segments within each other

	flag *convert.Flag // that is being made
}

// Convert converts the flags and segments of an environment. The error says that the document is
// not one of LaunchDarkly; what a flag cannot keep is among its problems.
func Convert(document []byte, o *convert.Options) (*convert.Project, error) {
	p, err := read(document)
	if err != nil {
		return nil, err
	}
	c := &converter{o: o, payload: p, cohorts: make(map[string]*convert.Cohort)}
	c.findKinds()
	out := new(convert.Project)
	for _, key := range slices.Sorted(maps.Keys(p.Flags)) {
		if f := p.Flags[key]; !f.Deleted {
			out.Flags = append(out.Flags, c.convert(key, &f))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(c.cohorts)) {
		if cohort := c.cohorts[key]; cohort != nil {
			out.Cohorts = append(out.Cohorts, *cohort)
		}
	}
	convert.Dependents(out)
	return out, nil
}

// problem notes what is not kept of the flag.
func (c *converter) problem(format string, args ...any) {
	c.flagProblems([]string{fmt.Sprintf(format, args...)})
}

func (c *converter) flagProblems(list []string) {
	if len(c.flag.Problems) == 0 && len(list) > 0 {
		c.flag.InexactFrom = len(c.flag.Rules.Rules)
	}
	for _, p := range list {
		if !slices.Contains(c.flag.Problems, p) {
			c.flag.Problems = append(c.flag.Problems, p)
		}
	}
}

// quietly makes a filter for a segment, or nil if that has a problem.
func (c *converter) quietly(make func() flags.Filter) *flags.Filter {
	outer := c.flag
	c.flag = new(convert.Flag)
	defer func() { c.flag = outer }()
	if f := make(); len(c.flag.Problems) == 0 {
		return &f
	}
	return nil
}

// findKinds finds the kinds of contexts that the document names.
func (c *converter) findKinds() {
	kinds := make(map[string]bool)
	clauses := func(list []clause) {
		for i := range list {
			kinds[list[i].ContextKind] = true
		}
	}
	targets := func(list []target) {
		for i := range list {
			kinds[list[i].ContextKind] = true
		}
	}
	for _, f := range c.payload.Flags {
		targets(f.ContextTargets)
		for i := range f.Rules {
			clauses(f.Rules[i].Clauses)
			if r := f.Rules[i].Rollout; r != nil {
				kinds[r.ContextKind] = true
			}
		}
		if r := f.Fallthrough.Rollout; r != nil {
			kinds[r.ContextKind] = true
		}
	}
	for _, s := range c.payload.Segments {
		targets(s.IncludedContexts)
		targets(s.ExcludedContexts)
		for i := range s.Rules {
			clauses(s.Rules[i].Clauses)
			kinds[s.Rules[i].RolloutContextKind] = true
		}
	}
	delete(kinds, "")
	delete(kinds, user)
	c.kinds = slices.Sorted(maps.Keys(kinds))
}

// convert converts a flag.
func (c *converter) convert(key string, f *flag) convert.Flag {
	out := convert.Flag{Key: key, Active: true}
	c.flag = &out
	if f.Key != key {
		c.problem("Its key is %q and its name in the file %q, by which it is imported.", f.Key, key)
	}
	out.Rules = flags.RuleSet{Aggregation: flags.ByPerson, Rules: []flags.Rule{}}
	kind, fault := convert.TypeOf(f.Variations)
	if fault != "" {
		c.problem("%s", fault)
	}
	out.Rules.ReturnType = kind
	if len(f.Migration) > 0 && string(f.Migration) != "null" {
		c.problem("It is a migration flag: its stages are imported as texts, and nothing migrates.")
	}
	b := &builder{converter: c, key: key, flag: f, kind: kind, out: &out}
	switch {
	case !f.On && f.OffVariation == nil:
		out.Active = false
	case !f.On:
		b.serve("off", []flags.Filter{}, &serve{Variation: f.OffVariation})
		out.Notes = append(out.Notes, "It is off, and serves its off variation to everybody by its first rule. To turn it on, delete that rule.")
	}
	b.prerequisites()
	b.targets()
	for i := range f.Rules {
		r := &f.Rules[i]
		id := r.ID
		if id == "" {
			id = strconv.Itoa(i)
		}
		var all []flags.Filter
		for j := range r.Clauses {
			all = append(all, c.clause(&r.Clauses[j]))
		}
		if targeting, some := convert.Targeting(convert.All(all...)); some {
			b.serve("rule "+id, targeting, &r.serve)
		} else {
			out.Notes = append(out.Notes, fmt.Sprintf("Rule %s never matches, and is left out.", id))
		}
	}
	b.serve("fallthrough", []flags.Filter{}, &f.Fallthrough)
	return out
}

// A builder adds the rules of a flag.
type builder struct {
	*converter
	key  string
	flag *flag
	kind string // type of values
	out  *convert.Flag
}

// variation returns a value. It is not ok if there is none.
func (b *builder) variation(i int) (json.RawMessage, bool) {
	if i < 0 || i >= len(b.flag.Variations) {
		b.problem("It refers to the variation %d, which it does not have. Those who would get it get the fallback of the program.", i)
		return nil, false
	}
	if !convert.HasType(b.flag.Variations[i], b.kind) {
		return nil, false // which the flag's type says
	}
	return b.flag.Variations[i], true
}

// serve adds a rule.
func (b *builder) serve(name string, targeting []flags.Filter, s *serve) {
	rule := flags.Rule{ID: convert.ID(product, b.key, name), Type: "targeted_release", Targeting: targeting, Description: &name}
	ok := false
	switch {
	case s.Variation != nil:
		rule.Value, ok = b.variation(*s.Variation)
	case s.Rollout == nil || len(s.Rollout.Variations) == 0:
		b.problem("The %s has neither a variation nor a rollout. Those who match get the fallback of the program.", name)
	default:
		values := make([]json.RawMessage, len(s.Rollout.Variations))
		ok = true
		for i, v := range s.Rollout.Variations {
			value, has := b.variation(v.Variation)
			values[i], ok = value, ok && has
		}
		if ok {
			rule.Type = "split"
			rule.Split = b.split(s.Rollout, b.key, b.flag.Salt, values)
			if s.Rollout.Kind == "experiment" {
				b.out.Experiment = true
			}
		}
	}
	if !ok {
		convert.Fallback(&rule, b.kind)
	}
	b.out.Rules.Rules = append(b.out.Rules.Rules, rule)
}

// prerequisites adds the rule for those who do not meet them all.
func (b *builder) prerequisites() {
	var missed []flags.Filter
	for _, p := range b.flag.Prerequisites {
		other, ok := b.payload.Flags[p.Key]
		switch {
		case ok && b.leadsBack(p.Key, make(map[string]bool)):
			if b.flag.On {
				b.problem("Its prerequisite %q needs it in turn. It counts as not met.", p.Key)
			}
			ok = false
		case ok && (other.Deleted || !other.On || p.Variation < 0 || p.Variation >= len(other.Variations)):
			ok = false
		}
		if !ok { // it is never met
			missed = append(missed, convert.Always(true))
			continue
		}
		want := other.Variations[p.Variation]
		for i, v := range other.Variations {
			if i != p.Variation && equalJSON(v, want) {
				b.problem("Its prerequisite %q has two variations with one value, which are told apart there, and not here.", p.Key)
			}
		}
		f := flags.Filter{Type: "flag", Key: p.Key, Operator: "flag_evaluates_to", Value: want, Negation: true}
		f.Comparison.StrictType = true
		missed = append(missed, f)
	}
	targeting, some := convert.Targeting(convert.Any(missed...))
	if !some {
		return
	}
	off := &serve{Variation: b.flag.OffVariation}
	if off.Variation != nil {
		b.serve("prerequisites", targeting, off)
		return
	}
	name := "prerequisites"
	rule := flags.Rule{ID: convert.ID(product, b.key, name), Targeting: targeting, Description: &name}
	convert.Fallback(&rule, b.kind)
	b.out.Rules.Rules = append(b.out.Rules.Rules, rule)
}

// leadsBack reports whether a prerequisite needs the flag in turn.
func (b *builder) leadsBack(key string, seen map[string]bool) bool {
	if key == b.key {
		return true
	}
	if seen[key] {
		return false
	}
	seen[key] = true
	f := b.payload.Flags[key]
	for _, p := range f.Prerequisites {
		if b.leadsBack(p.Key, seen) {
			return true
		}
	}
	return false
}

// targets adds a rule for each list of keys.
func (b *builder) targets() {
	add := func(n string, t *target) {
		if len(t.Values) > 0 {
			b.serve("targets "+n, []flags.Filter{b.keys(t.ContextKind, t.Values)}, &serve{Variation: &t.Variation})
		}
	}
	if len(b.flag.ContextTargets) == 0 {
		for i := range b.flag.Targets {
			add(strconv.Itoa(i), &b.flag.Targets[i])
		}
		return
	}
	for i := range b.flag.ContextTargets {
		t := &b.flag.ContextTargets[i]
		if (t.ContextKind == "" || t.ContextKind == user) && len(t.Values) == 0 {
			n := slices.IndexFunc(b.flag.Targets, func(o target) bool { return o.Variation == t.Variation })
			if n < 0 {
				continue
			}
			t = &b.flag.Targets[n]
		}
		add(strconv.Itoa(i), t)
	}
}

func equalJSON(a, b json.RawMessage) bool {
	var x, y any
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return false
	}
	p, _ := json.Marshal(x)
	q, _ := json.Marshal(y)
	return string(p) == string(q)
}
