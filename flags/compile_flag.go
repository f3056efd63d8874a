package flags

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/flagstaff-go/flagstaff/internal/operators"
	"github.com/flagstaff-go/flagstaff/runtime"
)

// compileFlag compiles flag i. The flags that it depends on have been compiled.
func (c *compiler) compileFlag(i int32) {
	f, m := &c.s.flags[i], c.model[i]
	c.flag, c.read, c.plainHead, c.plainTail = m, c.read[:0], span{}, span{}

	c.s.maxPrefix = max(c.s.maxPrefix, len(f.prefix))
	f.id, f.version = m.ID, m.Version
	f.hasExperiment = m.InExperiment()
	f.encrypted = m.HasEncryptedPayloads
	f.form = formOf(m)
	f.survey = strings.HasPrefix(f.key(), surveyPrefix)
	f.requirement = runtime.ParseRequirement(m.EvaluationRuntime)
	for _, tag := range m.EvaluationContexts {
		s := f.makeRare()
		s.tags = append(s.tags, strings.Clone(tag))
	}
	f.tagMatch, _ = runtime.ParseTagMatch(m.EvaluationContextsMatchMode)
	f.continuity, f.enrollment, f.holdoutValue = -1, -1, -1
	f.fixed.value = valueHidden
	off := value{}
	if f.ruled = m.Filters.RuleSet != nil || m.Filters.Version == ruleVersion; f.ruled {
		off.typed = c.addText("null", nil)
	}
	f.offValue = c.addValue(f, off, nil)

	switch {
	case f.state == normal && m.Filters.RuleSet != nil:
		c.compileRuleSet(f, m)
	case f.state == normal:
		c.compileConditions(f, m)
	default:
		c.compileState(f)
	}
	f.valueCount = int32(len(c.s.values)) - f.offValue
	switch {
	case f.state != normal:
		c.tryFlag(m)
	case m.Filters.fault != nil: // what is found else may follow from it
	case m.Filters.RuleSet != nil:
		c.lintRuleSet(f, m)
	default:
		c.lintFlag(f, m)
	}
}

// compileState fixes the decision of a flag whose state is not normal.
func (c *compiler) compileState(f *compiledFlag) {
	failed := value{failed: true, typed: c.s.values[f.offValue].typed}
	switch {
	case f.ruled && (f.state == cyclic || f.state == missing):
		f.fixed = decision{c.addValue(f, failed, nil), reasonRuleDependency}
	case f.state == cyclic:
		f.fixed.value = valueOmitted
	case f.state == missing:
		f.fixed = decision{f.offValue, reasonMissing}
	case f.state == faulty:
		f.failedValue = c.addValue(f, failed, nil)
		f.fixed = f.failWith(failFlagData)
	}
}

// compileConditions compiles what decides a flag with condition sets.
func (c *compiler) compileConditions(f *compiledFlag, m *Flag) {
	c.addValue(f, value{enabled: true}, m.Filters.Payloads["true"])
	pins := c.compileVariants(f, m)
	c.compileEnrollment(f, m)
	c.compileHoldout(f, m)
	c.compileBucketing(f, m)
	f.conditions = c.conditions.list(len(m.Filters.Groups))
	for n := range m.Filters.Groups {
		c.compileCondition(f, m, n, pins)
	}
	f.matchBasis = f.basisOfMatch()
	if c.canFail(f) {
		f.failedValue = c.addValue(f, value{failed: true}, nil)
	}
	c.fixDecision(f)
	if f.fixed.value == valueHidden {
		c.keepNeeds(f)
	}
}

// keepNeeds notes what the flag looks at.
func (c *compiler) keepNeeds(f *compiledFlag) {
	slices.Sort(c.read)
	read := slices.Compact(c.read)
	f.needs = c.slots.list(len(read))
	copy(f.needs, read)
	f.quickKnows, f.quickParses = c.quickKnows(f)
}

// canFail reports whether a request can make the flag fail.
func (c *compiler) canFail(f *compiledFlag) bool {
	if f.readsHash {
		return true
	}
	for i := range f.conditions {
		for k := range c.s.within(f.conditions[i].checks) {
			if k.op == operators.OpFail || k.op == operators.OpFlag {
				return true
			}
		}
	}
	return false
}

// compileVariants compiles the variants (evaluation.md §2.3). It returns their
// values by key, for condition sets that pin one.
func (c *compiler) compileVariants(f *compiledFlag, m *Flag) map[string]int32 {
	if m.Filters.Multivariate == nil {
		return nil
	}
	pins := make(map[string]int32)
	f.variants = c.variants.list(len(m.Filters.Multivariate.Variants))
	sum := 0.0
	for i, v := range m.Filters.Multivariate.Variants {
		n, ok := pins[v.Key]
		if !ok {
			key := strings.Clone(v.Key)
			n = c.addValue(f, value{enabled: true, variant: key, hasVariant: true}, m.Filters.Payloads[v.Key])
			pins[key] = n
		}
		sum += v.RolloutPercentage / 100
		f.variants[i] = variantBound{endBelow(sum), n, sum}
	}
	return pins
}

// drawDepends reports whether the variant draw depends on the hash
// (evaluation.md §2.6).
func drawDepends(m *Flag) bool {
	if m.Filters.Multivariate == nil {
		return false
	}
	total, reachable := 0.0, 0
	for _, v := range m.Filters.Multivariate.Variants {
		if total < 100 && v.RolloutPercentage != 0 {
			reachable++
		}
		total += v.RolloutPercentage
	}
	return reachable > 1
}

// drawChooses reports whether the draw of a variant can come to different outcomes, no
// variant among them (evaluation.md §12).
func (f *compiledFlag) drawChooses() bool {
	outcomes, end := 0, 0.0
	for _, v := range f.variants {
		if v.below > end && end < 1 {
			outcomes++
			end = v.below
		}
	}
	if end < 1 {
		outcomes++
	}
	return outcomes > 1
}

// compileEnrollment compiles early access (evaluation.md §3.3). Its opt-out has the
// payload of "true" although the flag is disabled.
func (c *compiler) compileEnrollment(f *compiledFlag, m *Flag) {
	if !isTrue(m.Filters.FeatureEnrollment) {
		return
	}
	f.enrollment = c.slot(ownerPerson, enrollmentPrefix+f.key())
	f.optOutValue = f.offValue
	if payload := m.Filters.Payloads["true"]; payload != nil {
		f.optOutValue = c.addValue(f, value{}, payload)
	}
}

// compileHoldout compiles the holdout (evaluation.md §13).
func (c *compiler) compileHoldout(f *compiledFlag, m *Flag) {
	h := m.Filters.Holdout
	if h == nil {
		return
	}
	pct := min(max(h.ExclusionPercentage, 0), 100)
	f.holdoutAll = pct == 100
	f.makeRare().holdoutAt, f.makeRare().holdout = pct/100, endAtMost(pct/100)
	variant := holdoutPrefix + strconv.FormatInt(h.ID, 10)
	f.holdoutValue = c.addValue(f, value{enabled: true, variant: variant, hasVariant: true}, m.Filters.Payloads[variant])
}

// compileBucketing compiles what says how a subject is drawn: hash, aggregation,
// device bucketing and experience continuity (evaluation.md §2.1, §2.4).
func (c *compiler) compileBucketing(f *compiledFlag, m *Flag) {
	f.hash, _ = parseHash(c.d.BucketingHash)
	if m.BucketingHash != "" {
		kind, ok := parseHash(m.BucketingHash)
		if !ok {
			c.problem(SeverityError, &path{name: "bucketing_hash"}, quote(m.BucketingHash), hintHash, "unknown bucketing hash, sha1 is used")
		}
		f.hash = kind
	}
	f.aggregation = c.aggregation(m.Filters.AggregationGroupTypeIndex)
	f.earlyExit = isTrue(m.Filters.EarlyExit)
	f.byDevice = m.BucketingIdentifier == "device_id"
	if f.byDevice && c.s.deviceSlot < 0 {
		c.s.deviceSlot = c.rawSlot(ownerPerson, "$device_id")
	}
	if m.EnsureExperienceContinuity && f.aggregation == ownerPerson && !f.byDevice {
		if f.continuity = c.number; f.continuity < 0 {
			f.continuity = int32(len(c.s.continuityFlags))
			c.s.continuityFlags = append(c.s.continuityFlags, f.key())
		}
		if c.s.anonymousSlot < 0 {
			c.s.anonymousSlot = c.rawSlot(ownerPerson, "$anon_distinct_id")
		}
	}
	f.otherSubject = f.byDevice || f.continuity >= 0
}

// aggregation returns the ordinal of a group type, or an owner constant.
func (c *compiler) aggregation(a Aggregation) int32 {
	i, ok := a.Index()
	if !ok {
		return ownerPerson
	}
	if ord, ok := c.groupOf[i]; ok {
		return ord
	}
	return ownerNobody
}

// compileCondition compiles condition set n. Pins has the values of the variants.
func (c *compiler) compileCondition(f *compiledFlag, m *Flag, n int, pins map[string]int32) {
	src, dst := &m.Filters.Groups[n], &f.conditions[n]
	dst.aggregation = f.aggregation
	if src.AggregationGroupTypeIndex != Inherited {
		dst.aggregation = c.aggregation(src.AggregationGroupTypeIndex)
	}
	pct := 100.0
	if src.RolloutPercentage != nil {
		pct = *src.RolloutPercentage
	}
	dst.everyone = pct == 100
	dst.threshold, dst.end = pct/100, endAtMost(pct/100)
	dst.pinned = -1
	if src.Variant != nil {
		if v, ok := pins[*src.Variant]; ok {
			dst.pinned = v
		}
	}
	dst.hashMatters = !dst.everyone || dst.pinned < 0 && drawDepends(m)
	// This is not hashMatters: a single variant of 50 % is a choice.
	chooses := !dst.everyone || dst.pinned < 0 && f.drawChooses()
	f.readsHash = f.readsHash || f.continuity >= 0 && dst.aggregation == ownerPerson && chooses
	dst.checks = c.compileFilters(f, src, n, dst.aggregation)
}

// fixDecision finds the decision of a flag that no request can change.
func (c *compiler) fixDecision(f *compiledFlag) {
	if f.enrollment >= 0 || f.holdoutValue >= 0 {
		return
	}
	if len(f.conditions) == 0 {
		f.fixed = decision{f.offValue, reasonNoGroupNull}
		return
	}
	first := &f.conditions[0]
	if len(first.checks) > 0 || !first.everyone || first.aggregation != ownerPerson {
		return
	}
	switch {
	case first.pinned >= 0:
		f.fixed = decision{first.pinned, reasonAt(reasonMatch, 0)}
	case len(f.variants) == 0:
		f.fixed = decision{f.onValue(), reasonAt(reasonMatch, 0)}
	}
}

// evaluable reports whether any request can make the condition sets of a flag be
// evaluated. What other flags depend on does not matter.
func (f *Flag) evaluable() bool { return f.evaluated() && f.unusable() == nil }

// unusable says why a flag's configuration cannot be evaluated.
func (f *Flag) unusable() *DefinitionError {
	if fault := f.unreadable(); fault != nil {
		return fault
	}
	if v := f.Filters.Version; v != 0 && v != 1 && f.Filters.RuleSet == nil {
		return &DefinitionError{
			Path: "/filters/version", Value: strconv.Itoa(v), Err: errors.New("unknown configuration language"),
			Hint: "use 1, condition sets, or 2, a rule set",
		}
	}
	if _, ok := runtime.ParseTagMatch(f.EvaluationContextsMatchMode); !ok {
		return &DefinitionError{
			Path: "/evaluation_contexts_match_mode", Value: shorten(quote(f.EvaluationContextsMatchMode)), Err: errors.New("unknown match mode"),
			Hint: `use "any" or "all"`,
		}
	}
	return nil
}
