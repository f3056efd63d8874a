package flags

import (
	"encoding/json"
	"slices"
)

// ruleVersion is the version of the language of rule sets: filters.version of a flag.
const ruleVersion = 2

// A RuleSet is what decides a flag whose value has a type (rules.md §2).
type RuleSet struct {
	// ReturnType is "boolean", "string", "number" or "object".
	ReturnType string

	// Default is what the flag is if no rule decides, as JSON of the ReturnType. Nil: what
	// the caller falls back on.
	Default json.RawMessage

	// Rules in the order in which they are tried.
	Rules []Rule

	// Aggregation is [ByPerson], or the group type whose groups the flag is for.
	Aggregation Aggregation
}

// A Rule is one rule of a RuleSet (rules.md §2.3 and §2.4).
type Rule struct {
	ID string // a UUID; "" in a document that is written by hand, see [RuleSet.Complete]

	// Type is "targeted_release": everybody whom the rule targets gets its Value;
	// "percentage_rollout": a share of them; "experiment": a share is split over Variants.
	Type string

	// Targeting are filters, which all must hold. None: everybody is meant. Unlike filters
	// of condition sets they may be negated.
	Targeting []Filter

	Description *string
	Metadata    json.RawMessage // an object, which has no effect; nil: none

	// Value is what a rule without variants gives.
	Value json.RawMessage

	// RolloutPercentage is the share that the rule includes, with two decimals at most.
	RolloutPercentage float64

	// OnMiss is what the others get: "continue", the next rule is tried, or
	// "return_default".
	OnMiss string

	// Algorithm is "sha1_60_v1"; "" for a targeted release.
	Algorithm string

	// Seed is what the share is drawn with: the same seed, the same share.
	Seed string

	// AssignBy is "person" or "", which says the same.
	AssignBy string

	// ExperimentID is the experiment of an experiment. Nil: a split of its own.
	ExperimentID *int64

	// Paused says that everybody whom an experiment targets gets the default.
	Paused bool

	Variants []RuleVariant
	Holdout  *RuleHoldout

	// Split is how a rule of the type "split" decides, which other products' flags are
	// imported as.
	Split *RuleSplit
}

// A RuleVariant is one of the values between which an experiment splits.
type RuleVariant struct {
	Key    string
	Weight float64 // in percent of those whom the rule includes, with two decimals at most
	Value  json.RawMessage
}

// A RuleHoldout keeps a share of those whom a rule targets out of it.
type RuleHoldout struct {
	ID                  *int64 // of a shared holdout; nil for one of the rule's own
	Seed                string
	ExclusionPercentage float64
}

// The types of rules, and what happens to those whom a rule does not include.
const (
	ruleTargeted   = "targeted_release"
	ruleRollout    = "percentage_rollout"
	ruleExperiment = "experiment"

	onMissContinue = "continue"
	onMissDefault  = "return_default"

	algorithmSHA1 = "sha1_60_v1"
)

// The types of values.
const (
	typeBoolean = "boolean"
	typeString  = "string"
	typeNumber  = "number"
	typeObject  = "object"
)

// InExperiment is what the metadata of results say: that a rule has an experiment, and else what
// the flag says. A flag with condition sets that says nothing has one.
func (f *Flag) InExperiment() bool {
	set := f.Filters.RuleSet
	if set != nil && slices.ContainsFunc(set.Rules, func(r Rule) bool { return r.ExperimentID != nil }) {
		return true
	}
	if f.HasExperiment != nil {
		return *f.HasExperiment
	}
	return set == nil
}

// Values returns each value that the set can give, once, as JSON, without a Default of null.
func (s *RuleSet) Values() (list []json.RawMessage) {
	seen := make(map[string]bool)
	add := func(value json.RawMessage) {
		if value != nil && !seen[string(value)] {
			seen[string(value)] = true
			list = append(list, value)
		}
	}
	for i := range s.Rules {
		r := &s.Rules[i]
		add(r.Value)
		for _, v := range r.Variants {
			add(v.Value)
		}
		if r.Split != nil {
			for _, v := range r.Split.Values {
				add(v)
			}
		}
	}
	add(s.Default)
	return list
}

// clone returns a copy whose rules and filters can be replaced.
func (s *RuleSet) clone() *RuleSet {
	if s == nil {
		return nil
	}
	c := *s
	c.Rules = slices.Clone(s.Rules)
	for i := range c.Rules {
		c.Rules[i].Targeting = cloneFilters(s.Rules[i].Targeting)
		c.Rules[i].Variants = slices.Clone(s.Rules[i].Variants)
		c.Rules[i].Split = s.Rules[i].Split.clone()
	}
	return &c
}
