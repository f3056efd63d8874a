package flags

import (
	"slices"
	"unsafe"

	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
)

// The evaluation of one flag: evaluation.md §3.2 to §3.7, a method for each
// step. quick.go comes to the same decisions for the flags that most Go callers
// ask for.

// decide evaluates one flag after the flags that it depends on. The order of
// its steps is the list of evaluation.md §3.2.
func (in *Input) decide(f *compiledFlag) decision {
	if f.state != normal || f.fixed.value != valueHidden && in.trace == nil {
		return f.fixed
	}
	if f.ruled {
		return in.decideByRules(f)
	}
	if f.enrollment >= 0 {
		if d, ok := in.decideByEnrollment(f); ok {
			return d
		}
	}
	if f.holdoutValue >= 0 && in.isHeldOut(f) {
		return decision{f.holdoutValue, reasonHeldOut}
	}
	if in.failOverrides && f.readsHash {
		return f.failWith(failOverrides)
	}
	return in.decideByConditions(f)
}

// decideByEnrollment lets the early access property decide (evaluation.md
// §3.3). It is not ok if the person does not have the property.
func (in *Input) decideByEnrollment(f *compiledFlag) (d decision, ok bool) {
	p := in.property(f.enrollment)
	if p == nil {
		return decision{}, false
	}
	enrolled := p.kind == jsonscan.True || p.kind == jsonscan.String && in.text(p) == "true"
	if in.trace != nil {
		in.traceEnrollment(f, p, enrolled)
	}
	if enrolled {
		return decision{f.onValue(), reasonSuper}, true
	}
	return decision{f.optOutValue, reasonSuper}, true
}

// isHeldOut reports whether the holdout takes the subject out (evaluation.md
// §3.4, §13.2).
func (in *Input) isHeldOut(f *compiledFlag) bool {
	if f.holdoutAll && in.trace == nil {
		return true
	}
	subject := in.holdoutSubject(f)
	start := len(in.buf)
	in.buf = append(append(in.buf, holdoutPrefix...), subject...)
	drawn := f.hash.bucket(in.buf[start:])
	heldOut := f.holdoutAll || drawn < f.rare.holdout
	if in.trace != nil {
		in.traceHoldout(f, subject, drawn, heldOut)
	}
	return heldOut
}

// holdoutSubject returns the text that the holdout hashes. Unlike the subject of
// a condition set it is never a stored hash key, and falls back on the distinct
// ID where there is no device ID.
func (in *Input) holdoutSubject(f *compiledFlag) string {
	var id string
	switch {
	case f.aggregation != ownerPerson:
		key, _ := in.subject(f, f.aggregation)
		return key
	case f.byDevice:
		id = in.idProperty(in.DeviceID, in.snap.deviceSlot)
	case f.continuity >= 0:
		id = in.idProperty(in.AnonymousID, in.snap.anonymousSlot)
	}
	if id == "" {
		return in.id
	}
	return id
}

const holdoutPrefix = "holdout-"

// decideByConditions tries the condition sets in stored order (evaluation.md
// §3.5) and ends at the first that matches, or that the flag exits early at
// (§3.6).
func (in *Input) decideByConditions(f *compiledFlag) decision {
	var (
		reason unmatched
		kept   provisionals

		// Condition sets of one aggregation share one bucket. It is drawn here and
		// not in a method, which would cost 4 % of a request for all flags (E5).
		drawn    point
		drawnFor = int32(ownerNobody) // the aggregation
	)
	for i := range f.conditions {
		c, index := &f.conditions[i], int32(i)

		subject, ok := in.id, true
		if c.aggregation != ownerPerson || f.otherSubject {
			subject, ok = in.subject(f, c.aggregation)
		}
		if !ok && (c.aggregation != ownerPerson || c.hashMatters) {
			reason = reason.withoutSubject(c, index)
			if in.trace != nil {
				in.traceSkip(f, index)
			}
			continue
		}

		result, n := in.matchFilters(c)
		if in.trace != nil {
			in.traceFilters(f, index, subject, result, n)
		}
		switch result {
		case no:
			reason = reason.mismatch(index, in.snap.isBehavioral(c.checks[n]))
			continue
		case broken:
			return f.failWith(kept.blameOr(in.snap.checks[c.checks[n]].fail))
		}

		if !c.everyone && drawnFor != c.aggregation {
			drawnFor, drawn = c.aggregation, in.bucket(f, subject, saltRollout)
		}
		if i == len(f.conditions)-1 && !c.everyone && result == yes && kept.blame == 0 && in.trace == nil {
			if on := f.drawless(c); on >= 0 {
				return lastDecision(f.offValue, on, index, drawn < c.end)
			}
		}
		inRollout := c.everyone || drawn < c.end // evaluation.md §2.2
		if in.trace != nil {
			in.traceRollout(f, index, subject, inRollout)
		}
		var d decision
		switch {
		case inRollout:
			d = decision{in.pickValue(f, c, subject), reasonAt(reasonMatch, index)}
		case f.earlyExit:
			d = decision{f.offValue, reasonAt(reasonOut, index)}
		default:
			reason = reason.better(rankOut, index)
			continue
		}
		if result == yes {
			return kept.settle(f, d)
		}
		kept.keep(d, in.failureOf(c.checks[n]))
	}
	return kept.settle(f, decision{f.offValue, reason.number()})
}

// lastDecision is what the last condition set comes to if all filters match. A
// processor cannot guess whether a subject is in a rollout, and would begin the next flag
// anew after each wrong guess: so no jump depends on it.
func lastDecision(off, on, index int32, inRollout bool) decision {
	var in int32
	if inRollout {
		in = 1
	}
	return decision{off + (on-off)&-in, reasonAt(reasonOut, index) + (reasonAt(reasonMatch, index)-reasonAt(reasonOut, index))*in}
}

// matchFilters evaluates the filters of a condition set in their effective
// order, up to the first that decides (evaluation.md §3.5). For a result other
// than yes, n is the filter's place: the one that stopped the condition set or
// failed the flag, or the first that passed provisionally.
func (in *Input) matchFilters(c *compiledCondition) (result verdict, n int) {
	result = yes
	for i, id := range c.checks {
		switch v := in.verdict(id); {
		case v == yes:
		case v != provisional:
			return v, i
		case result == yes:
			result, n = provisional, i
		}
	}
	return result, n
}

// pickValue chooses the value of a condition set that matched: the pinned
// variant, on, or the variant that is drawn (evaluation.md §2.3).
func (in *Input) pickValue(f *compiledFlag, c *compiledCondition, subject string) int32 {
	if on := f.drawless(c); on >= 0 {
		return on
	}
	drawn := in.bucket(f, subject, saltVariant)
	value := f.variantAt(drawn)
	if in.trace != nil {
		in.traceVariant(f, drawn, value)
	}
	return value
}

// drawless returns the value of a condition set that matched, or -1 if a variant is drawn.
func (f *compiledFlag) drawless(c *compiledCondition) int32 {
	switch {
	case c.pinned >= 0:
		return c.pinned
	case len(f.variants) == 0:
		return f.onValue()
	}
	return -1
}

// variantAt returns the value of the variant whose share has the bucket, or on.
func (f *compiledFlag) variantAt(drawn point) int32 {
	for i := range f.variants {
		if drawn < f.variants[i].end {
			return f.variants[i].value
		}
	}
	return f.onValue()
}

// unmatched collects the reason of a flag that no condition set matches
// (evaluation.md §3.7).
type unmatched struct {
	rank         rank
	index        int32
	groupSkipped bool
	behavioral   bool
}

// A rank orders the reasons of condition sets that did not match.
type rank uint8

const (
	rankNone rank = iota
	rankNoGroup
	rankNo
	rankOut
)

// better takes the reason of a condition set unless it has one of a higher rank;
// among equals the later one wins.
func (u unmatched) better(r rank, index int32) unmatched {
	if r >= u.rank {
		u.rank, u.index = r, index
	}
	return u
}

// withoutSubject takes the reason of a condition set that has no group key or,
// for a person, no device ID.
func (u unmatched) withoutSubject(c *compiledCondition, index int32) unmatched {
	if c.aggregation == ownerPerson {
		return u.better(rankOut, index)
	}
	u.groupSkipped = true
	return u.better(rankNoGroup, index)
}

// mismatch takes the reason of a condition set whose filters do not match.
func (u unmatched) mismatch(index int32, behavioral bool) unmatched {
	u.behavioral = u.behavioral || behavioral
	return u.better(rankNo, index)
}

// number returns the number of the reason in Snapshot.reasons.
func (u unmatched) number() int32 {
	switch u.rank {
	case rankOut:
		return reasonAt(reasonOut, u.index)
	case rankNo:
		kind := reasonNo
		if u.behavioral {
			kind = reasonNoBehavioral
		} else if u.groupSkipped {
			kind = reasonNoGroupGiven
		}
		return reasonAt(kind, u.index)
	case rankNoGroup:
		return reasonAt(reasonNoGroup, u.index)
	}
	return reasonNoGroupNull
}

// provisionals are the decisions of condition sets that passed only
// provisionally, because a flag that they depend on failed. If every way in
// which evaluation can end gives the same value, the flag is settled all the
// same (evaluation.md §3.9).
type provisionals struct {
	first  decision
	blame  failCode // why the flag fails if they differ; 0: none was kept
	differ bool     // their values do
}

// keep adds a decision that counts only if the failure does not matter.
func (p *provisionals) keep(d decision, blame failCode) {
	switch {
	case p.blame == 0:
		p.first, p.blame = d, blame
	case p.first.value != d.value:
		p.differ = true
	}
}

// blameOr returns the code with which the flag fails at a filter that cannot be
// understood.
func (p *provisionals) blameOr(code failCode) failCode {
	if p.blame != 0 {
		return p.blame
	}
	return code
}

// settle returns the decision of a flag whose evaluation ended with d.
func (p *provisionals) settle(f *compiledFlag, d decision) decision {
	if p.blame == 0 {
		return d
	}
	if p.differ || p.first.value != d.value {
		return f.failWith(p.blame)
	}
	return p.first
}

// failWith is the decision of a flag that cannot be computed.
func (f *compiledFlag) failWith(code failCode) decision {
	return decision{f.failedValue, reasonFailed(code)}
}

// matchDependency compares the value of the flag that a filter depends on
// (evaluation.md §7.3). A flag that was not evaluated counts as false.
func (in *Input) matchDependency(c *check) verdict {
	target := &in.snap.flags[c.slot]
	value := target.offValue
	if in.ran[c.slot] == in.run {
		value = in.decisions[c.slot].value
		if in.snap.values[value].failed {
			return provisional
		}
	} else if target.unreadable {
		return provisional
	}
	return verdictOf(c.more.accepts[value-target.offValue])
}

// failureOf returns the code with which the flag failed that a filter depends
// on.
func (in *Input) failureOf(id uint32) failCode {
	target := in.snap.checks[id].slot
	reason := in.decisions[target].reason
	if in.snap.flags[target].unreadable || reason < reasonFailed0 { // the codes of rule sets are not for condition sets
		return failFlagData
	}
	return failCode(reason-reasonFailed0) + 1
}

// subject returns the text that a condition set hashes (evaluation.md §2.4).
// Without a usable group key or device ID it is empty, and not ok.
func (in *Input) subject(f *compiledFlag, aggregation int32) (string, bool) {
	switch {
	case aggregation >= 0:
		if g := &in.groups[aggregation]; g.gen == in.gen && g.usable {
			return g.key, true
		}
		return "", false
	case aggregation != ownerPerson:
		return "", false
	case f.byDevice:
		id := in.idProperty(in.DeviceID, in.snap.deviceSlot)
		return id, id != ""
	case f.continuity >= 0:
		if o := &in.overrides[f.continuity]; o.gen == in.gen {
			return o.key, true
		}
		if id := in.idProperty(in.AnonymousID, in.snap.anonymousSlot); id != "" {
			return id, true
		}
	}
	return in.id, true
}

// idProperty returns an ID of the request or, if that is empty, the property of
// the request that stands for it, if it is a string.
func (in *Input) idProperty(id string, slot int32) string {
	if id != "" || slot < 0 {
		return validUTF8(id)
	}
	if p := in.ownProperty(slot); p != nil && p.origin == fromRequest && p.kind == jsonscan.String {
		return in.text(p)
	}
	return ""
}

// bucket hashes a subject for a flag (evaluation.md §2.1). An empty subject is 0
// by definition (§2.5).
//
// The hashed text is the flag's prefix, the subject and a salt. The subject,
// followed by the only salt there is, stays in the buffer from flag to flag;
// each flag writes its prefix in front.
func (in *Input) bucket(f *compiledFlag, subject, salt string) point {
	return in.bucketFor(f.prefix, f.hash, subject, salt)
}

// bucketFor is bucket with another prefix than the flag's.
func (in *Input) bucketFor(prefix string, hash hashKind, subject, salt string) point {
	if subject == "" {
		return 0
	}
	front := in.snap.maxPrefix
	// To compare the addresses is nearly always enough to know the subject
	// again, since texts do not change within a request.
	if !in.hashed || unsafe.StringData(in.subjectInHash) != unsafe.StringData(subject) || len(in.subjectInHash) != len(subject) {
		in.hash = append(slices.Grow(in.hash[:0], front)[:front], subject...)
		in.hash = append(in.hash, saltVariant...)
		in.hashed, in.subjectInHash = true, subject
	}
	start := front - len(prefix)
	copy(in.hash[start:front], prefix)
	return hash.bucket(in.hash[start : front+len(subject)+len(salt)])
}
