package flags

// The evaluation of a flag with a rule set: rules.md §3.

// decideByRules tries the rules in stored order. The first that ends decides.
func (in *Input) decideByRules(f *compiledFlag) decision {
	r := f.rare.rules
	subject := in.id
	if f.aggregation != ownerPerson {
		key, ok := in.subject(f, f.aggregation)
		if !ok {
			return decision{r.nullValue, reasonGroupMissing}
		}
		subject = key
	}
	for i := range f.conditions {
		c, rule := &f.conditions[i], &r.rules[i]
		result, n := yes, 0
		for n = range c.checks {
			if result = in.verdict(c.checks[n]); result != yes {
				break
			}
		}
		if in.trace != nil {
			in.traceFilters(f, int32(i), subject, result, n)
		}
		switch result {
		case no:
			continue
		case provisional:
			return decision{f.failedValue, reasonRuleDependency}
		case broken:
			return decision{f.failedValue, reasonRuleError}
		}
		d, ended := in.decideByRule(f, c, rule, int32(i), subject)
		if in.trace != nil {
			in.traceEnd(int32(i), d)
		}
		if ended {
			return d
		}
	}
	return decision{r.defaultValue, reasonNoRule}
}

// decideByRule decides about somebody whom a rule targets. It has not ended if the next rule
// is to be tried.
func (in *Input) decideByRule(f *compiledFlag, c *compiledCondition, rule *compiledRule, i int32, subject string) (d decision, ended bool) {
	if rule.split != nil {
		subject, is := in.splitSubject(rule.split)
		return rule.split.decide(subject, is, in.buf[len(in.buf):]).decision(f.rare.rules, i)
	}
	fallback := f.rare.rules.defaultValue
	switch {
	case rule.paused:
		return decision{fallback, reasonAt(reasonRulePaused, i)}, true
	case rule.holdsOut && in.isHeldOutOf(f, rule, subject, i):
		return decision{fallback, reasonAt(reasonRuleHeldOut, i)}, true
	}
	inRollout := c.everyone || subject != "" && (c.end == points && in.trace == nil || in.bucketFor(rule.prefix, f.hash, subject, saltRollout) < c.end)
	if in.trace != nil {
		in.traceRollout(f, i, subject, inRollout)
	}
	if !inRollout {
		return decision{fallback, reasonAt(reasonRuleMiss, i)}, rule.returnDefault
	}
	if !rule.experiment {
		return decision{rule.value, reasonAt(reasonRuleMatch, i)}, true
	}
	drawn := in.bucketFor(rule.prefix, f.hash, subject, saltVariant)
	value := rule.variantAt(drawn)
	if in.trace != nil {
		in.traceVariant(f, drawn, value)
	}
	return decision{value, rule.matchReason(i)}, true
}

// matchReason returns the reason of a rule that has given a value.
func (r *compiledRule) matchReason(i int32) int32 {
	if r.linked {
		return reasonAt(reasonRuleSplit, i)
	}
	return reasonAt(reasonRuleMatch, i)
}

// variantAt returns the value of the variant whose share has the bucket. The last one gets
// what lies beyond all of them.
func (r *compiledRule) variantAt(drawn point) int32 {
	for i := range r.variants {
		if drawn < r.variants[i].end {
			return r.variants[i].value
		}
	}
	return r.last
}

// isHeldOutOf reports whether the holdout of a rule takes the subject out. Nobody without an
// identifier is.
func (in *Input) isHeldOutOf(f *compiledFlag, rule *compiledRule, subject string, i int32) bool {
	if subject == "" {
		return false
	}
	if rule.holdoutAll && in.trace == nil {
		return true
	}
	drawn := in.bucketFor(rule.holdout, f.hash, subject, saltRollout)
	out := rule.holdoutAll || drawn < rule.holdoutEnd
	if in.trace != nil {
		in.traceRuleHoldout(rule, subject, drawn, out, i)
	}
	return out
}
