package flags

import (
	"encoding/json"

	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
	"github.com/flagstaff-go/flagstaff/internal/operators"
	"github.com/flagstaff-go/flagstaff/internal/text"
)

// A rule set is compiled to the same conditions, checks and ends of shares as condition
// sets are, and what rules have beside them.

// compiledRules is what a RuleSet is compiled to, beside the conditions of its flag.
type compiledRules struct {
	rules        []compiledRule // one for each condition
	defaultValue int32
	nullValue    int32 // of an evaluation without a group
}

// A compiledRule is a rule. Its condition has the filters and the rollout.
type compiledRule struct {
	prefix   string // seed and dot, with which hashed texts begin
	value    int32  // what it gives without variants
	variants []variantBound
	keys     []string // of the variants, for Explain
	last     int32    // the variant that gets what lies beyond all ends

	experiment    bool
	linked        bool // to an experiment with an ID
	paused        bool
	returnDefault bool // on a rollout miss

	holdsOut   bool
	holdoutAll bool
	holdout    string // seed
	holdoutEnd point
	holdoutAt  float64 // percent / 100, for Explain

	split *compiledSplit // in place of all above, or nil

	about   *RuleResult // what results say of it
	heldOut *RuleResult // what results of persons in its holdout say of it
}

// A RuleResult says which rule decided (rules.md §4.3).
type RuleResult struct {
	ID           string
	Type         string // of the rule
	ExperimentID *int64
	VariantKey   string // "" for none
	HoldoutID    *int64
}

// A ruleValue is a value of a flag with a rule set.
type ruleValue struct {
	TypedValue
	about *RuleResult // of a variant; nil: what the rule says
}

// A TypedValue is a value of a flag with a rule set.
type TypedValue struct {
	JSON   string  // "null": what the caller falls back on
	Text   string  // of a string
	Number float64 // of a number

	// Type is what its JSON is: "boolean", "string", "number", "object", or "" for null.
	Type string
}

func newTypedValue(raw string) TypedValue {
	t, v := TypedValue{JSON: raw}, jsonscan.Value(raw)
	switch v.Kind() {
	case jsonscan.True, jsonscan.False:
		t.Type = typeBoolean
	case jsonscan.String:
		t.Type = typeString
		t.Text, _ = text.Str(v)
	case jsonscan.Number:
		t.Type = typeNumber
		t.Number, _ = v.Float()
	case jsonscan.Object:
		t.Type = typeObject
	}
	return t
}

// same reports whether both are one value. Objects are the same if their JSON is.
func (v TypedValue) same(as TypedValue) bool {
	if v.Type != as.Type {
		return false
	}
	switch v.Type {
	case typeString:
		return v.Text == as.Text
	case typeNumber:
		return v.Number == as.Number
	}
	return v.JSON == as.JSON
}

const maxReported = 200 // bytes of an object

// Report returns the value as events tell it, as JSON (rules.md §6): an object as its text, or as
// true if that is long.
func (v TypedValue) Report() string {
	if v.Type == typeObject && len(v.JSON) <= maxReported {
		return string(text.AppendQuoted(nil, v.JSON))
	}
	return v.label()
}

// label returns the value as metrics tell it.
func (v TypedValue) label() string {
	switch {
	case v.Type == "":
		return "null"
	case v.Type == typeObject && len(v.JSON) > maxReported:
		return "true"
	}
	return v.JSON
}

// compileRuleSet compiles what decides a flag with a rule set (rules.md §3).
func (c *compiler) compileRuleSet(f *compiledFlag, m *Flag) {
	set := m.Filters.RuleSet
	f.hash = kindSHA1
	f.aggregation = c.aggregation(set.Aggregation)
	f.quickKnows = true
	r := &compiledRules{rules: make([]compiledRule, len(set.Rules))}
	f.makeRare().rules = r
	r.nullValue = f.offValue
	r.defaultValue = r.nullValue
	if set.Default != nil {
		r.defaultValue = c.addTyped(f, set.Default, nil)
	}
	f.conditions = c.conditions.list(len(set.Rules))
	for n := range set.Rules {
		c.compileRule(f, &set.Rules[n], &r.rules[n], n)
	}
	f.failedValue = c.addValue(f, value{failed: true, typed: c.s.values[f.offValue].typed}, nil)
	f.matchBasis = basisVaries
	c.keepNeeds(f)
}

func (c *compiler) compileRule(f *compiledFlag, src *Rule, dst *compiledRule, n int) {
	cond := &f.conditions[n]
	cond.pinned, cond.aggregation = -1, f.aggregation
	cond.checks = c.compileTargeting(f, src, n)
	dst.about = &RuleResult{ID: src.ID, Type: src.Type, ExperimentID: src.ExperimentID}
	switch src.Type {
	case ruleTargeted:
		cond.everyone = true
		dst.value = c.addTyped(f, src.Value, nil)
		return
	case ruleOfSplit:
		dst.split = c.compileSplit(f, src.Split, rulePath(n), func(v json.RawMessage) int32 { return c.addTyped(f, v, nil) })
		return
	}
	share := src.RolloutPercentage / 100
	cond.threshold, cond.end = share, endAtMost(share)
	if src.RolloutPercentage == 100 {
		cond.end = points // 1 is possible, and at most 1
	}
	cond.hashMatters = true
	dst.prefix = src.Seed + "."
	c.s.maxPrefix = max(c.s.maxPrefix, len(dst.prefix))
	dst.returnDefault = src.OnMiss == onMissDefault
	if src.Type == ruleRollout {
		dst.value = c.addTyped(f, src.Value, nil)
		return
	}
	dst.experiment, dst.linked, dst.paused = true, src.ExperimentID != nil, src.Paused
	dst.variants = c.variants.list(len(src.Variants))
	sum := 0.0
	for i, v := range src.Variants {
		about := *dst.about
		if dst.linked {
			about.VariantKey = v.Key
		}
		sum += v.Weight / 100
		dst.last = c.addTyped(f, v.Value, &about)
		dst.keys = append(dst.keys, v.Key)
		dst.variants[i] = variantBound{endBelow(sum), dst.last, sum}
	}
	if h := src.Holdout; h != nil {
		dst.holdsOut, dst.holdoutAll, dst.holdout = true, h.ExclusionPercentage == 100, h.Seed
		c.s.maxPrefix = max(c.s.maxPrefix, len(h.Seed))
		dst.holdoutAt, dst.holdoutEnd = h.ExclusionPercentage/100, endAtMost(h.ExclusionPercentage/100)
		about := *dst.about
		about.HoldoutID = h.ID
		dst.heldOut = &about
	}
}

// addTyped adds a value, which older clients see as true, false or a variant with a payload
// (rules.md §4.4).
func (c *compiler) addTyped(f *compiledFlag, raw json.RawMessage, about *RuleResult) int32 {
	v := jsonscan.Value(raw)
	out := value{typed: c.addText("null", about)}
	if raw != nil {
		out.typed = c.addText(string(raw), about)
	}
	var payload json.RawMessage
	switch v.Kind() {
	case jsonscan.True:
		out.enabled = true
	case jsonscan.String:
		s, _ := text.Str(v)
		out.enabled, out.hasVariant, out.variant = true, true, s
	case jsonscan.Number, jsonscan.Object:
		out.enabled, payload = true, raw
	}
	return c.addValue(f, out, payload)
}

// addText returns the number of a typed value.
func (c *compiler) addText(json string, about *RuleResult) int32 {
	if len(c.s.typed) == 0 {
		c.s.typed = append(c.s.typed, ruleValue{}) // of flags without rule sets
	}
	c.s.typed = append(c.s.typed, ruleValue{newTypedValue(json), about})
	return int32(len(c.s.typed) - 1)
}

// compileTargeting compiles the filters of rule n, in stored order: an error before a miss is
// an error (rules.md §3.2).
func (c *compiler) compileTargeting(f *compiledFlag, src *Rule, n int) []uint32 {
	checks := c.checks.list(len(src.Targeting))[:0]
	c.ruled = true
	defer func() { c.ruled, c.inverted = false, false }()
	for j := range src.Targeting {
		checks = append(checks, c.ruleFilter(f, &src.Targeting[j], ruleFilterPath(n, j)))
	}
	return checks
}

// ruleFilter compiles a filter of a rule.
func (c *compiler) ruleFilter(f *compiledFlag, fl *Filter, at *path) (id uint32) {
	c.inverted = fl.Negation
	switch {
	case fl.IsGroup() || fl.Split != nil:
		return c.nestedCheck(f, fl, at)
	case operators.KindOf(fl.Type) == operators.FlagFilter:
		return c.flagCheck(fl, at)
	case operators.KindOf(fl.Type) == operators.CohortFilter:
		return c.cohortCheck(f, fl, at)
	}
	owner := ownerPerson
	if fl.Type == "group" {
		owner = c.groupOwner(f, fl.GroupTypeIndex, at)
	}
	id, _ = c.newPropertyCheck(fl, owner, at)
	return id
}

// groupOwner returns the ordinal of a group type. Nil means the group type of the flag.
func (c *compiler) groupOwner(f *compiledFlag, index *int, at *path) int {
	owner := int(f.aggregation)
	if index != nil {
		owner = int(c.aggregation(ByGroup(*index)))
	}
	if owner < 0 {
		c.problem(SeverityError, at, nil, "set group_type_index to an entry of group_type_mapping", "the filter reads no known group: its properties are never set")
		return ownerNobody
	}
	return owner
}

// rulePath returns the path of rule i.
func rulePath(i int) *path {
	return &path{up: &path{up: &path{name: "filters"}, name: "rules"}, n: i}
}

// ruleFilterPath returns the path of filter j of rule i.
func ruleFilterPath(i, j int) *path {
	return &path{up: &path{up: &path{up: rulePath(i), name: "targeting"}, name: "properties"}, n: j}
}

// pathOf returns the path of a filter of [Filters.All].
func (f *Filters) pathOf(at Place) *path {
	if f.RuleSet != nil {
		return ruleFilterPath(at.Group, at.Property)
	}
	return filterPath(at.Group, at.Property)
}
