package convert

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/flags/operator"
)

// Present holds for those with a distinct ID that is not empty, to whom alone Flagstaff draws.
var Present = flags.Filter{
	Type: "person", Key: "distinct_id", Operator: operator.IsNot, Value: json.RawMessage(`""`), Comparison: flags.Comparison{CaseSensitive: true},
}

// Read reads a definitions document as a project for an export: its flags that are not archived,
// with rule sets that draw as other products do, or not at all. The Problems of a flag say what
// no other product can keep. A targeted release without a value gives what the caller falls back
// on.
func Read(document []byte) (*Project, error) {
	d, err := flags.Decode(bytes.NewReader(document))
	if err != nil {
		return nil, err
	}
	var shown struct {
		Flags []struct {
			Archived bool     `json:"archived"`
			Tags     []string `json:"tags"`
		} `json:"flags"`
		Cohorts json.RawMessage `json:"cohorts"`
	}
	if err := json.Unmarshal(document, &shown); err != nil || len(shown.Flags) != len(d.Flags) {
		return nil, fmt.Errorf("the flags cannot be read: %w", err)
	}
	p := &Project{GroupTypes: d.GroupTypes}
	r := reader{keys: make(map[string]string), kinds: make(map[string]string)}
	for i := range d.Flags {
		r.keys[strconv.FormatInt(d.Flags[i].ID, 10)] = d.Flags[i].Key
	}
	for i := range d.Flags {
		r.keys[d.Flags[i].Key] = d.Flags[i].Key
	}
	for i := range d.Flags {
		f, more := &d.Flags[i], &shown.Flags[i]
		if f.Deleted || more.Archived {
			continue
		}
		if slices.ContainsFunc(p.Flags, func(other Flag) bool { return other.Key == f.Key }) {
			return nil, fmt.Errorf("two flags have the key %q", f.Key)
		}
		out := Flag{Key: f.Key, Description: f.Name, Tags: more.Tags, Active: f.Active, Experiment: f.InExperiment()}
		r.flag = &out
		r.read(f)
		r.kinds[out.Key] = out.Rules.ReturnType
		p.Flags = append(p.Flags, out)
	}
	needs := make(map[string][]string)
	for i := range p.Flags {
		r.flag = &p.Flags[i]
		r.references()
		for target := range (&flags.Filters{Version: 2, RuleSet: &r.flag.Rules}).Targets() {
			needs[r.flag.Key] = append(needs[r.flag.Key], target.Name)
		}
	}
	for i := range p.Flags {
		if f := &p.Flags[i]; leadsTo(f.Key, f.Key, needs, make(map[string]bool)) {
			f.Problem("It needs itself, or a flag that needs it.")
		}
	}
	slices.SortFunc(p.Flags, func(a, b Flag) int { return cmp.Compare(a.Key, b.Key) })
	p.readCohorts(d, shown.Cohorts)
	return p, nil
}

// leadsTo reports whether a flag needs another one, maybe by way of others.
func leadsTo(from, to string, needs map[string][]string, seen map[string]bool) bool {
	return slices.ContainsFunc(needs[from], func(next string) bool {
		if next == to || seen[next] {
			return next == to
		}
		seen[next] = true
		return leadsTo(next, to, needs, seen)
	})
}

// readCohorts reads cohorts. What is shown of them is in a list.
func (p *Project) readCohorts(d *flags.Definitions, list json.RawMessage) {
	var shown []struct {
		ID          int64  `json:"id"`
		Name        string `json:"name"`
		Description string `json:"description"`
	}
	_ = json.Unmarshal(list, &shown)
	resolves := resolving(d)
	for id, c := range d.Cohorts {
		out := Cohort{ID: id, Name: "Cohort " + strconv.FormatInt(id, 10), Criteria: c.Properties}
		for _, s := range shown {
			if s.ID == id {
				out.Name, out.Description = cmp.Or(s.Name, out.Name), s.Description
			}
		}
		if err := c.Err(); err != nil {
			out.Problems = append(out.Problems, fmt.Sprintf("The cohort %q cannot be read: %v.", out.Name, err))
		} else if c.Stored || c.Behavioral || c.Properties == nil {
			out.Problems = append(out.Problems, fmt.Sprintf("The cohort %q has members that no other product can compute.", out.Name))
		} else if !resolves(id) {
			out.Problems = append(out.Problems, fmt.Sprintf("The cohort %q, or one that it refers to, has a fault: flags that need it fail.", out.Name))
		}
		p.Cohorts = append(p.Cohorts, out)
	}
	slices.SortFunc(p.Cohorts, func(a, b Cohort) int { return cmp.Compare(a.ID, b.ID) })
}

// resolving returns a function that reports whether flags that need a cohort do not fail.
func resolving(d *flags.Definitions) func(id int64) bool {
	all := &flags.Definitions{Cohorts: d.Cohorts}
	for id := range d.Cohorts {
		key := strconv.FormatInt(id, 10)
		in := flags.Filter{Type: "cohort", Key: "id", Operator: operator.In, Value: json.RawMessage(key)}
		set := &flags.RuleSet{ReturnType: "boolean", Aggregation: flags.ByPerson, Rules: []flags.Rule{
			{ID: ID(key), Type: "targeted_release", Targeting: []flags.Filter{in}, Value: json.RawMessage("true")},
		}}
		all.Flags = append(all.Flags, flags.Flag{ID: id, Key: key, Active: true, Filters: flags.Filters{Version: 2, RuleSet: set}})
	}
	s, err := flags.Compile(all, flags.CompileOptions{})
	return func(id int64) bool {
		if err != nil {
			return false
		}
		r, err := s.Flag(strconv.FormatInt(id, 10), &flags.Request{DistinctID: "somebody"})
		return err == nil && !r.Failed
	}
}

// A reader reads flags.
type reader struct {
	keys  map[string]string // of flags, by keys and IDs
	kinds map[string]string // of values, by keys of flags
	flag  *Flag             // that is being read
}

func (r *reader) problem(format string, args ...any) { r.flag.Problem(format, args...) }

func (r *reader) read(f *flags.Flag) {
	set := f.Filters.RuleSet
	switch {
	case f.Err() != nil:
		r.problem("Its definition has a fault: %v.", f.Err())
		return
	case set == nil && f.Filters.Version != 0 && f.Filters.Version != 1:
		r.problem("Its filters are of the version %d, which is not known.", f.Filters.Version)
		return
	case len(f.EvaluationContexts) > 0 || f.EvaluationRuntime != "" && f.EvaluationRuntime != "all":
		r.problem("It is for some programs alone, by its evaluation contexts or its runtime.")
	}
	if set == nil {
		set = r.conditions(f)
	}
	if set.Aggregation != flags.ByPerson {
		r.problem("It is for groups, so that nobody without a group has a value.")
	}
	r.flag.Rules = *set
	r.flag.Rules.Rules = nil
	for i := range set.Rules {
		r.rule(i, set.Rules[i])
	}
}

// conditions returns condition sets that draw nothing as a rule set.
func (r *reader) conditions(f *flags.Flag) *flags.RuleSet {
	c, set := &f.Filters, &flags.RuleSet{ReturnType: "boolean", Default: json.RawMessage("false"), Aggregation: flags.ByPerson}
	if c.AggregationGroupTypeIndex != flags.Inherited {
		set.Aggregation = c.AggregationGroupTypeIndex
	}
	switch {
	case f.HasEncryptedPayloads || f.IsRemoteConfiguration || len(c.Payloads) > 0:
		r.problem("It has payloads.")
	case c.Multivariate != nil && len(c.Multivariate.Variants) > 0:
		r.problem("It has condition sets and variants: condition sets draw with another hash, and those who match none get false, which is not a text.")
	case c.Holdout != nil || c.FeatureEnrollment != nil && *c.FeatureEnrollment:
		r.problem("It has a holdout, or is one that people enroll in by themselves.")
	}
	for i := range c.Groups {
		g := &c.Groups[i]
		if g.AggregationGroupTypeIndex != flags.Inherited && g.AggregationGroupTypeIndex != flags.ByPerson {
			set.Aggregation = g.AggregationGroupTypeIndex
		}
		rule := flags.Rule{ID: ID(f.Key, strconv.Itoa(i)), Type: "targeted_release", Value: json.RawMessage("true"), Targeting: slices.Clone(g.Properties)}
		for j := range rule.Targeting {
			rule.Targeting[j].Negation = false
		}
		if g.Description != "" {
			rule.Description = &g.Description
		}
		if p := g.RolloutPercentage; p != nil && *p == 0 {
			continue
		} else if p != nil && *p != 100 {
			r.problem("Condition set %d includes %v %%: condition sets draw with another hash than other products.", i+1, *p)
		}
		set.Rules = append(set.Rules, rule)
	}
	return set
}

// rule adds a rule. One that draws for everybody or for nobody is a targeted release.
func (r *reader) rule(i int, rule flags.Rule) {
	set := &r.flag.Rules
	fallback := rule
	fallback.Type, fallback.Value, fallback.ID = "targeted_release", set.Default, ID(rule.ID, "miss")
	switch {
	case rule.Type == "targeted_release" || rule.Type == "split":
		set.Rules = append(set.Rules, rule)
		return
	case rule.Type == "experiment" && rule.Paused:
		set.Rules = append(set.Rules, fallback)
		return
	case rule.RolloutPercentage == 0 && rule.OnMiss == "continue" && rule.Holdout == nil:
		return
	case rule.RolloutPercentage == 0 && rule.OnMiss != "continue":
		set.Rules = append(set.Rules, fallback)
		return
	case rule.Type == "experiment":
		r.problem("Rule %d is an experiment, which draws with sha1_60_v1 and is compared as float64 with ≤. No other product draws so.", i+1)
	case rule.RolloutPercentage != 100:
		r.problem("Rule %d includes %v %%, drawn with sha1_60_v1 and compared as float64 with ≤. No other product draws so; 0 and 100 %% can be kept.", i+1, rule.RolloutPercentage)
	}
	rule.Type, rule.Targeting = "targeted_release", append(slices.Clone(rule.Targeting), Present)
	set.Rules = append(set.Rules, rule)
	if rule.OnMiss != "continue" {
		set.Rules = append(set.Rules, fallback)
	}
}

// references makes filters of type flag name keys, and compare values where these are what they
// ask for.
func (r *reader) references() {
	for i := range r.flag.Rules.Rules {
		r.flag.Rules.Rules[i].Targeting = r.named(r.flag.Rules.Rules[i].Targeting)
	}
}

func (r *reader) named(list []flags.Filter) []flags.Filter {
	list = slices.Clone(list)
	for i := range list {
		f := &list[i]
		if f.Filters != nil {
			f.Filters = r.named(f.Filters)
		}
		if f.Type != "flag" {
			continue
		}
		key, ok := r.keys[f.Key]
		if !ok || f.Operator != operator.FlagEvaluatesTo {
			r.problem("It needs the flag %q, which is not there, or not what it evaluates to.", f.Key)
		}
		f.Key, f.DependencyChain = key, nil
		if kind := r.kinds[key]; kind == "boolean" && string(f.Value) == "true" || kind == "string" && len(f.Value) > 0 && f.Value[0] == '"' {
			f.Comparison.StrictType = true
		}
	}
	return list
}

// Refused returns what the flags with problems do not keep, after those that need one of them have
// a problem, too.
func (p *Project) Refused() (list []Kept) {
	Dependents(p)
	for i := range p.Flags {
		if f := &p.Flags[i]; len(f.Problems) > 0 {
			list = append(list, Kept{f.Key, f.Problems})
		}
	}
	return list
}

// Wanted returns the values that flags must have for others, by keys.
func (p *Project) Wanted() map[string][]json.RawMessage {
	wanted := make(map[string][]json.RawMessage)
	for i := range p.Flags {
		for _, f := range (&flags.Filters{Version: 2, RuleSet: &p.Flags[i].Rules}).All() {
			if f.Type == "flag" {
				wanted[f.Key] = append(wanted[f.Key], f.Value)
			}
		}
	}
	return wanted
}

// Cohort returns the cohort that a filter of type cohort is about.
func (p *Project) Cohort(f *flags.Filter) (*Cohort, bool) {
	id, ok := f.CohortID()
	ok = ok && slices.Contains([]string{"", operator.In, operator.NotIn}, f.Operator)
	i := slices.IndexFunc(p.Cohorts, func(c Cohort) bool { return c.ID == id })
	if !ok || i < 0 {
		return nil, false
	}
	return &p.Cohorts[i], true
}

// Filter returns the criteria of a cohort as a filter. No criteria have no members.
func (c *Cohort) Filter() flags.Filter {
	if n := c.Criteria; n != nil && n.Leaf == nil && len(n.Values) == 0 {
		return Any()
	}
	return filterOf(c.Criteria)
}

func filterOf(n *flags.CohortNode) flags.Filter {
	if n == nil {
		return Any()
	}
	if f := n.Leaf; f != nil && f.Key == Present.Key && f.Operator == operator.IsSet && f.Type == "person" && f.Comparison.Path == "" {
		return Always(!f.Negation) // everybody has a distinct ID
	} else if f != nil {
		return *f
	}
	var list []flags.Filter
	for i := range n.Values {
		list = append(list, filterOf(&n.Values[i]))
	}
	if anyOf, _ := n.AnyOf(); anyOf {
		return Any(list...)
	}
	return All(list...)
}

// Attribute returns the name of the attribute that becomes a property.
func (o *Options) Attribute(property string) string {
	for attribute, name := range o.Properties {
		if name == property {
			return attribute
		}
	}
	return property
}

// Same reports whether two filters are the same, but for what people alone see.
func Same(a, b *flags.Filter) bool {
	x, y := *a, *b
	x.Extra, y.Extra, x.CohortName, y.CohortName = nil, nil, "", ""
	if !SameJSON(alone(a), alone(b)) || len(x.Filters) != len(y.Filters) {
		return false
	}
	for i := range x.Filters {
		if !Same(&x.Filters[i], &y.Filters[i]) {
			return false
		}
	}
	x.Value, y.Value, x.Filters, y.Filters = nil, nil, nil, nil
	if x.Split != nil && y.Split != nil && SameSplit(x.Split, y.Split) {
		x.Split, y.Split = nil, nil
	}
	return reflect.DeepEqual(x, y)
}

// alone returns the value of a filter, without the list around it if that has one value.
func alone(f *flags.Filter) json.RawMessage {
	var list []json.RawMessage
	own := f.Comparison.Dialect == "" && f.Comparison != (flags.Comparison{}) && (f.Operator == operator.Exact || f.Operator == operator.IsNot)
	if own && json.Unmarshal(f.Value, &list) == nil && len(list) == 1 && list[0][0] != '[' {
		return list[0]
	}
	return f.Value
}

// SameRules reports whether two rule sets do the same, rule by rule.
func SameRules(a, b *flags.RuleSet) bool {
	return a.ReturnType == b.ReturnType && SameJSON(a.Default, b.Default) && slices.EqualFunc(a.Rules, b.Rules, func(a, b flags.Rule) bool {
		return a.Type == b.Type && SameJSON(a.Value, b.Value) && (a.Split == nil) == (b.Split == nil) && (a.Split == nil || SameSplit(a.Split, b.Split)) &&
			slices.EqualFunc(a.Targeting, b.Targeting, func(a, b flags.Filter) bool { return Same(&a, &b) })
	})
}

// SameSplit reports whether two splits are the same.
func SameSplit(a, b *flags.RuleSplit) bool {
	x, y := *a, *b
	x.Values, y.Values = nil, nil
	return reflect.DeepEqual(x, y) && slices.EqualFunc(a.Values, b.Values, SameJSON)
}

// SameJSON reports whether two values are the same, with numbers by their digits.
func SameJSON(a, b json.RawMessage) bool {
	return bytes.Equal(a, b) || reflect.DeepEqual(decoded(a), decoded(b))
}

func decoded(raw json.RawMessage) (v any) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	_ = d.Decode(&v) // nil is null
	return v
}

// Label returns the label of a filter, or "".
func Label(f *flags.Filter) string {
	var extra struct {
		Label string `json:"label"`
	}
	_ = json.Unmarshal(f.Extra, &extra)
	return extra.Label
}

// Labelled returns a filter that holds if another one does, which has a label and stays one by
// itself within others.
func Labelled(label string, f flags.Filter) flags.Filter {
	if _, constant := IsConstant(&f); constant {
		return f
	}
	if f.Type != "any" || f.Negation || f.Extra != nil {
		f = flags.Filter{Type: "any", Filters: []flags.Filter{f}}
	}
	f.Extra, _ = json.Marshal(map[string]string{"label": label})
	return f
}
