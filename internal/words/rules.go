package words

import (
	"strings"

	"github.com/flagstaff-go/flagstaff/flags"
)

// Rule says who gets what of a rule of a rule set.
func (n *Names) Rule(r *flags.Rule, set *flags.RuleSet) string {
	share := 100.0
	if r.Type == "percentage_rollout" || r.Type == "experiment" {
		share = r.RolloutPercentage
	}
	index, grouped := set.Aggregation.Index()
	text := n.audience(share, index, grouped, r.Targeting, n.leaf) + ": "
	switch {
	case r.Split != nil:
		return text + "a split of another product"
	case r.Type != "experiment":
		text += Text(r.Value)
	case r.Paused:
		return text + "paused, the default"
	default:
		parts := make([]string, len(r.Variants))
		for i, v := range r.Variants {
			parts[i] = Percent(v.Weight) + " " + Text(v.Value)
		}
		text += strings.Join(parts, ", ")
	}
	if h := r.Holdout; h != nil && h.ExclusionPercentage > 0 {
		text += "; but " + Percent(h.ExclusionPercentage) + " are held out"
	}
	if r.OnMiss == "return_default" && share < 100 {
		text += "; the others get the default"
	}
	return text
}

// Default says what a flag with a rule set is if no rule decides.
func Default(set *flags.RuleSet) string {
	if set.Default == nil {
		return "the fallback of the program"
	}
	return Text(set.Default)
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
	return strings.Join(append(parts, "otherwise "+Default(set)), "; ")
}
