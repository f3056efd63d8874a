package flags

import "strings"

// lintFlag reports what works in a flag, but hardly as its author meant.
func (c *compiler) lintFlag(f *compiledFlag, m *Flag) {
	if len(f.conditions) == 0 && f.holdoutValue < 0 && f.enrollment < 0 {
		c.problem(Note, &path{up: &path{name: "filters"}, name: "groups"}, nil, "add a condition set without filters to match everyone",
			"the flag has no condition sets and is off for everybody")
	}
	switch strings.ToLower(m.EvaluationRuntime) {
	case "", "all", "client", "server":
	default:
		c.problem(Warning, &path{name: "evaluation_runtime"}, quote(m.EvaluationRuntime), `use "all", "client" or "server"`, "unknown runtime, it counts as all")
	}
	switch m.BucketingIdentifier {
	case "", "distinct_id", "device_id":
	default:
		c.problem(Warning, &path{name: "bucketing_identifier"}, quote(m.BucketingIdentifier), `use "distinct_id" or "device_id"`, "unknown bucketing identifier, it counts as distinct_id")
	}
	if f.aggregation == ownerNobody {
		c.problem(Warning, &path{up: &path{name: "filters"}, name: "aggregation_group_type_index"}, nil, "use an index of group_type_mapping", "the group type does not exist: its condition sets never match")
	}
	if h := m.Filters.Holdout; h != nil && (h.ExclusionPercentage < 0 || h.ExclusionPercentage > 100) {
		c.problem(Warning, &path{up: &path{name: "filters"}, name: "holdout"}, nil, "use a percentage from 0 to 100", "the exclusion percentage %v is cut to 0 or 100", h.ExclusionPercentage)
	}
	c.lintVariants(f, m)
	c.lintConditions(f, m)
	c.lintPayloads(f, m)
}

func (c *compiler) lintVariants(f *compiledFlag, m *Flag) {
	if m.Filters.Multivariate == nil || len(m.Filters.Multivariate.Variants) == 0 {
		return
	}
	at := &path{up: &path{up: &path{name: "filters"}, name: "multivariate"}, name: "variants"}
	pinned := make(map[string]bool)
	for _, g := range m.Filters.Groups {
		if g.Variant != nil {
			pinned[*g.Variant] = true
		}
	}
	seen := make(map[string]bool)
	sum := 0.0
	for i, v := range m.Filters.Multivariate.Variants {
		p := &path{up: at, n: i}
		if seen[v.Key] {
			c.problem(Warning, &path{up: p, name: "key"}, quote(v.Key), "give each variant a key of its own", "two variants have the same key")
		}
		seen[v.Key] = true
		if v.Key == "" {
			c.problem(Warning, &path{up: p, name: "key"}, nil, "give it a key", "a variant's key is empty")
		}
		if sum >= 100 && v.RolloutPercentage > 0 && !pinned[v.Key] {
			c.problem(Warning, p, quote(v.Key), "lower the shares of the variants before it", "the variant is unreachable: those before it have 100 %% or more")
		}
		if v.RolloutPercentage < 0 || v.RolloutPercentage > 100 {
			c.problem(Warning, &path{up: p, name: "rollout_percentage"}, nil, "use a percentage from 0 to 100", "the share is %v", v.RolloutPercentage)
		}
		sum += v.RolloutPercentage
	}
	// Three shares of 33.33 are meant so; what they leave is tiny.
	if sum < 99.9 || sum > 100.1 {
		c.problem(Warning, at, nil, "make them sum to 100", "the shares of the variants sum to %v: some subjects get no variant, or some variants nobody", sum)
	}
}

func (c *compiler) lintConditions(f *compiledFlag, m *Flag) {
	everyone, exits := -1, -1
	for i := range f.conditions {
		d, src := &f.conditions[i], &m.Filters.Groups[i]
		p := conditionPath(i)
		switch {
		case everyone >= 0 && (d.aggregation == ownerPerson || d.aggregation == f.conditions[everyone].aggregation):
			c.problem(Warning, p, nil, "move it up or remove it", "the condition set is unreachable: condition set %d matches everyone", everyone)
		case exits >= 0:
			c.problem(Warning, p, nil, "move it up or remove it", "the condition set is unreachable: the flag exits early at condition set %d, which has no filters", exits)
		}
		if src.Variant != nil && *src.Variant != "" && d.pinned < 0 {
			c.problem(Warning, &path{up: p, name: "variant"}, quote(*src.Variant), "pin one of the flag's variants or none", "the pinned variant does not exist; a variant is drawn instead")
		}
		if pct := src.RolloutPercentage; pct != nil && (*pct < 0 || *pct > 100) {
			c.problem(Warning, &path{up: p, name: "rollout_percentage"}, nil, "use a percentage from 0 to 100", "the rollout percentage is %v", *pct)
		}
		if d.aggregation == ownerNobody && f.aggregation != ownerNobody {
			c.problem(Warning, &path{up: p, name: "aggregation_group_type_index"}, nil, "use an index of group_type_mapping", "the group type does not exist: the condition set never matches")
		}
		if len(d.checks) == 0 && d.aggregation == ownerPerson && (!f.byDevice || !d.hashMatters) {
			switch {
			case d.everyone && everyone < 0:
				everyone = i
			case !d.everyone && f.earlyExit && exits < 0:
				exits = i
			}
		}
	}
}

func (c *compiler) lintPayloads(f *compiledFlag, m *Flag) {
	if len(m.Filters.Payloads) == 0 {
		return
	}
	values := c.s.values[f.offValue : f.offValue+f.valueCount]
	for key := range m.Filters.sortedPayloads() {
		known := key == "true"
		for i := range values {
			known = known || values[i].hasVariant && values[i].variant == key
		}
		if !known {
			at := &path{up: &path{name: "filters"}, name: "payloads"}
			c.problem(Warning, &path{up: at, name: key}, nil, `use "true" or a variant's key`, "the flag never has this value, so its payload is never sent")
		}
	}
}

func (c *compiler) lintGroupTypes() {
	// Two indexes with one name work, but hardly as meant.
	if len(c.s.groupNames) != len(c.groupOf) {
		c.problem(Warning, &path{name: "group_type_mapping"}, nil, "give each index a name of its own", "two group type indexes have the same name")
	}
}
