package flags

import "encoding/json"

// lintRuleSet is lintFlag for a flag with a rule set, in which reading has found no fault.
func (c *compiler) lintRuleSet(f *compiledFlag, m *Flag) {
	c.lintMembers(f, m, "rules")
	for _, member := range []struct {
		name  string
		given bool
	}{
		{"bucketing_hash", m.BucketingHash != ""},
		{"bucketing_identifier", m.BucketingIdentifier == "device_id"},
		{"ensure_experience_continuity", m.EnsureExperienceContinuity},
	} {
		if member.given {
			c.problem(SeverityWarning, &path{name: member.name}, nil, "remove it", "it has no effect on a flag with a rule set")
		}
	}
	set := m.Filters.RuleSet
	rules := &path{up: &path{name: "filters"}, name: "rules"}
	if len(set.Rules) == 0 {
		c.problem(SeverityNote, rules, nil, "add a rule", "the flag has no rules and is its default for everybody")
	}
	c.lintValue(&path{up: &path{name: "filters"}, name: "default_value"}, set.Default)
	last, who := -1, "" // the rule that decides for everybody
	for i := range set.Rules {
		r, at := &set.Rules[i], rulePath(i)
		if last >= 0 {
			c.problem(SeverityWarning, at, nil, "move it up or remove it", "the rule is unreachable: rule %d decides for everybody%s", last+1, who)
		}
		c.lintValue(&path{up: at, name: "value"}, r.Value)
		for j := range r.Variants {
			c.lintValue(&path{up: &path{up: &path{up: at, name: "variants"}, n: j}, name: "value"}, r.Variants[j].Value)
		}
		switch {
		case last >= 0 || len(r.Targeting) > 0:
		case r.ends():
			last = i
		case r.RolloutPercentage == 100: // those without an identifier go on
			last, who = i, " who has an identifier"
		}
	}
}

// ends reports whether no rule is tried after it for those whom it targets.
func (r *Rule) ends() bool {
	if s := r.Split; s != nil {
		return s.Rest != onMissContinue && s.NoSubject != onMissContinue
	}
	return r.Type == ruleTargeted || r.Paused || r.OnMiss == onMissDefault
}

// lintValue reports a text that servers do not take: it looks like what is not a text.
func (c *compiler) lintValue(at *path, value json.RawMessage) {
	if s := string(value); s == `"$true"` || s == `"$false"` {
		c.problem(SeverityNote, at, value, hintServed, "the text stands for a boolean elsewhere")
	}
}
