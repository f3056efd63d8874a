package words

import (
	"encoding/json"
	"math"
	"strings"

	"github.com/flagstaff-go/flagstaff/flags"
)

// ruleWords are the words for the values of members of a rule set that have values of their own.
var ruleWords = map[string]map[string]string{
	"rule_type": {
		"targeted_release": "release to all of them", "percentage_rollout": "release to a percentage",
		"experiment": "split over variants", "split": "split of another product",
	},
	"on_rollout_miss": {"continue": "go on to the next rule", "return_default": "get the default value"},
	"return_type":     {"boolean": "on or off", "string": "text", "number": "number", "object": "object"},
}

// OfRule says the value of a member of a rule set, which has one of a few, or returns "".
func OfRule(member, value string) string { return ruleWords[member][value] }

// Rule says who gets what of a rule of a rule set.
func (n *Names) Rule(r *flags.Rule, set *flags.RuleSet) string {
	share := 100.0
	if r.Type == "percentage_rollout" || r.Type == "experiment" {
		share = r.RolloutPercentage
	}
	index, grouped := set.Aggregation.Index()
	text := n.audience(share, index, grouped, r.Targeting, n.ruleFilter) + ": "
	switch {
	case r.Type == "split":
		return text + splitShares(r.Split)
	case r.Type != "experiment":
		text += RuleValue(r.Value)
	case r.Paused:
		return text + "paused, so they get the default"
	default:
		parts := make([]string, len(r.Variants))
		for i, v := range r.Variants {
			parts[i] = Percent(v.Weight) + " " + RuleValue(v.Value)
		}
		text += strings.Join(parts, ", ")
	}
	if h := r.Holdout; r.Type == "experiment" && h != nil && h.ExclusionPercentage > 0 {
		text += "; but " + Percent(h.ExclusionPercentage) + " are held out"
	}
	if r.OnMiss == "return_default" && share < 100 {
		text += "; the others get the default"
	}
	return text
}

// splitShares says which shares get what, "" for the rest of nobody.
func splitShares(s *flags.RuleSplit) string {
	shares, total := s.Shares(), make(map[string]float64)
	var order []string
	add := func(value string, share float64) {
		if _, known := total[value]; !known && share > 0 {
			order = append(order, value)
		}
		total[value] += share
	}
	for i, v := range s.Values {
		add(RuleValue(v), shares[i])
	}
	if len(s.Values) == 0 { // of a form that has another type than the split
		return "what another product has drawn"
	}
	rest := map[string]string{"last": RuleValue(s.Values[len(s.Values)-1]), "continue": "go on", "return_default": "get the default"}[s.Rest]
	add(rest, shares[len(s.Values)])
	parts := make([]string, len(order))
	for i, value := range order {
		parts[i] = Percent(math.Round(total[value]*1000)/1000) + " " + value
	}
	return strings.Join(parts, ", ")
}

// ruleFilter says what a filter of a rule asks for, and how it compares.
func (n *Names) ruleFilter(f *flags.Filter) string {
	if f.Split != nil {
		return negated(f.Negation, "in a share of "+splitShares(f.Split))
	}
	if f.IsGroup() {
		return n.groupOfFilters(f)
	}
	var how []string
	for _, c := range []struct {
		is   bool
		says string
	}{
		{f.Comparison.CaseSensitive, "letter case counts"},
		{f.Comparison.StrictType, "only of the same type"},
		{f.Comparison.MustBeSet, "only if it is set"},
		{f.Comparison.AnyElement, "any element"},
	} {
		if c.is {
			how = append(how, c.says)
		}
	}
	if f.Comparison.Path != "" {
		how = append(how, "at "+f.Comparison.Path)
	}
	if f.Comparison.Dialect != "" {
		how = append(how, "as "+f.Comparison.Dialect+" compares")
	}
	if how == nil {
		return n.leaf(f)
	}
	return n.leaf(f) + " (" + strings.Join(how, ", ") + ")"
}

// groupOfFilters says a filter that consists of others.
func (n *Names) groupOfFilters(f *flags.Filter) string {
	joint := " and "
	if f.Type == "any" {
		joint = " or "
	}
	parts := make([]string, len(f.Filters))
	for i := range f.Filters {
		parts[i] = n.ruleFilter(&f.Filters[i])
	}
	switch {
	case len(parts) > 0:
		return negated(f.Negation, "("+strings.Join(parts, joint)+")")
	case (f.Type == "any") == f.Negation:
		return "everybody"
	}
	return "nobody"
}

func negated(negation bool, text string) string {
	if negation {
		return "not " + text
	}
	return text
}

// RuleValue says a value of a rule set.
func RuleValue(value json.RawMessage) string {
	const longest = 80 // characters
	switch string(value) {
	case "":
		return "no value yet"
	case "true":
		return "on"
	case "false":
		return "off"
	}
	return Shorten(Text(value), longest)
}

// Default says what a flag with a rule set is if no rule decides.
func Default(set *flags.RuleSet) string {
	if set.Default == nil {
		return "the fallback of the program"
	}
	return RuleValue(set.Default)
}

// ruleAudience is Audience for a rule set.
func (n *Names) ruleAudience(set *flags.RuleSet) string {
	const maxShown = 3
	var parts []string
	for i := range set.Rules {
		if len(parts) == maxShown {
			parts = append(parts, "and more")
			break
		}
		parts = append(parts, n.Rule(&set.Rules[i], set))
	}
	return strings.Join(append(parts, "otherwise: "+Default(set)), "; ")
}

// readRule reads a rule as a list of changes has it: without what is empty, and without the type
// of its values.
func readRule(raw json.RawMessage) *flags.Rule {
	var rule map[string]json.RawMessage
	if json.Unmarshal(raw, &rule) != nil {
		return nil
	}
	null := func(members map[string]json.RawMessage, name string) {
		if members[name] == nil {
			members[name] = json.RawMessage("null")
		}
	}
	if string(rule["rule_type"]) == `"experiment"` {
		null(rule, "experiment_id")
		var holdout map[string]json.RawMessage
		if json.Unmarshal(rule["holdout"], &holdout) == nil && holdout != nil {
			null(holdout, "id")
			rule["holdout"], _ = json.Marshal(holdout)
		}
	}
	for kind := range ruleWords["return_type"] {
		document, _ := json.Marshal(map[string]any{"version": 2, "return_type": kind, "rules": []any{rule}})
		if set, err := flags.DecodeRuleSet(document, true); err == nil {
			return &set.Rules[0]
		}
	}
	return nil
}
