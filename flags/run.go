package flags

import (
	"math/bits"
	"slices"
	"sync"
	"unsafe"

	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
	"github.com/flagstaff-go/flagstaff/runtime"
)

// A decision is what one evaluation of a flag comes to: numbers into the
// Snapshot's tables of values and reasons.
type decision struct {
	value  int32
	reason int32
}

const (
	valueHidden  = -1 // the request may not see the flag, or it is never evaluated
	valueOmitted = -2 // a dependency cycle removes the flag
)

// A state says whether a flag is evaluated by its conditions at all.
type state uint8

const (
	normal  state = iota
	dormant       // inactive or with encrypted payloads: false for dependents, never in results
	missing       // depends on a flag that does not exist
	faulty        // could not be understood
	cyclic        // depends on itself, or on a flag that does
)

// A compiledFlag is a compiled flag. Its values are a run in Snapshot.values: off, on,
// then the variants and what else its definition needs. What every evaluation
// reads comes first.
type compiledFlag struct {
	fixed        decision // outcome that no request can change; value -1: none
	conditions   []compiledCondition
	offValue     int32 // value; on is the next one
	failedValue  int32 // value
	enrollment   int32 // slot of $feature_enrollment/<key>, or -1
	holdoutValue int32 // value, or -1
	continuity   int32 // number among the continuity flags, or -1
	state        state
	hash         hashKind
	device       bool // bucketed by device
	earlyExit    bool
	quickKnows   bool   // quick may know it
	special      bool   // a person's subject may be other than the distinct ID
	prefix       string // key and dot: how every hashed text starts
	variants     []variantBound

	key         string
	valueCount  int32 // number of values, from off
	optOutValue int32 // value of an early access opt-out
	aggregation int32 // flag-level: a group type's ordinal, or an owner constant
	holdoutAll  bool
	holdoutAt   float64
	direct      []int32 // flags it depends on, all earlier in program order
	needs       []int32 // slots that the flag looks at
	requirement runtime.Requirement
	tags        []string

	survey       bool
	encrypted    bool
	form         form
	readsCohorts bool // stored cohorts
	readsHash    bool // continuity can change the outcome

	id            int64
	version       int
	hasExperiment bool
	digest        uint64 // of its definition, dependencies and cohorts not included
}

func (f *compiledFlag) onValue() int32 { return f.offValue + 1 }

// A variantBound is a variant with the end of its share (evaluation.md §2.3).
type variantBound struct {
	below float64
	value int32
}

// A compiledCondition is a compiled condition set.
type compiledCondition struct {
	steps       []uint32 // checks, in effective order (evaluation.md §3.5)
	threshold   float64  // rollout percentage / 100
	everyone    bool     // the percentage is 100: no hash
	hashMatters bool     // evaluation.md §2.6
	aggregation int32
	pinned      int32 // value, or -1
}

var inputs = sync.Pool{New: func() any { return new(Input) }}

// releaseInput returns a pooled Input. It must not keep the caller's maps alive.
func releaseInput(in *Input) {
	in.personProperties, in.groupProperties, in.requestGroups, in.requestOverrides = nil, nil, nil, nil
	in.keys, in.filter.Tags = nil, nil
	if cap(in.buf) > 1<<16 {
		in.buf = nil
	}
	inputs.Put(in)
}

// decideFlag evaluates a single flag, and what it depends on, for a Go caller.
func (s *Snapshot) decideFlag(i int32, r *Request) decision {
	f := &s.flags[i]
	if f.state == dormant || !r.hidesNothing() && !r.Filter.Admits(f.requirement, f.tags) {
		return decision{value: valueHidden}
	}
	if f.fixed.value != valueHidden {
		return f.fixed
	}
	if f.quickKnows {
		if r == nil {
			r = &noRequest
		}
		if out, ok := s.decideQuickly(f, r); ok {
			return out
		}
	}
	in := inputs.Get().(*Input)
	in.fromRequest(s, r)
	out := in.decideWithDependencies(i)
	releaseInput(in)
	return out
}

// nextRun makes everything that earlier evaluations remembered invalid.
func (in *Input) nextRun() {
	if in.run++; in.run >= 1<<30 {
		clear(in.memo[:cap(in.memo)])
		clear(in.cohorts[:cap(in.cohorts)])
		clear(in.ran[:cap(in.ran)])
		in.run = 1
	}
}

// decideWithDependencies evaluates flag i after the flags that it depends on. The filter has
// been asked about i, but not about those.
func (in *Input) decideWithDependencies(i int32) decision {
	in.nextRun()
	s := in.snap
	f := &s.flags[i]
	if len(f.direct) == 0 {
		return in.decide(f)
	}
	clear(in.mask)
	in.mask[i>>6] |= 1 << (i & 63)
	s.addDependencies(in.mask, i)
	for w, word := range in.mask {
		for ; word != 0; word &= word - 1 {
			j := int32(w<<6 + bits.TrailingZeros64(word))
			t := &s.flags[j]
			if j != i && (t.state == dormant || in.SurveysOnly && !t.survey || !in.filter.Admits(t.requirement, t.tags)) {
				continue
			}
			in.decisions[j], in.ran[j] = in.decide(t), in.run
		}
	}
	return in.decisions[i]
}

// addDependencies adds to the set all flags that its members depend on, none of which
// comes after from.
func (s *Snapshot) addDependencies(set []uint64, from int32) {
	if s.cyclic {
		s.addCyclicDependencies(set)
		return
	}
	for w := from >> 6; w >= 0; w-- {
		// Dependencies come earlier: bits that are added to this word are lower
		// than the one that adds them.
		for word := set[w]; word != 0; {
			b := 63 - bits.LeadingZeros64(word)
			for _, d := range s.flags[w<<6+int32(b)].direct {
				set[d>>6] |= 1 << (d & 63)
			}
			word = set[w] & (1<<b - 1)
		}
	}
}

// addCyclicDependencies is closure for definitions with dependency cycles, where a
// dependency may come later in program order.
func (s *Snapshot) addCyclicDependencies(set []uint64) {
	var todo []int32
	for w, word := range set {
		for ; word != 0; word &= word - 1 {
			todo = append(todo, int32(w<<6+bits.TrailingZeros64(word)))
		}
	}
	for len(todo) > 0 {
		i := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, d := range s.flags[i].direct {
			if set[d>>6]&(1<<(d&63)) == 0 {
				set[d>>6] |= 1 << (d & 63)
				todo = append(todo, d)
			}
		}
	}
}

// admittedFlags computes the set of flags that the request may see (evaluation.md
// §3.1), dormant ones excluded.
func (in *Input) admittedFlags() []uint64 {
	s := in.snap
	set := in.admitted
	copy(set, s.admits[in.filter.Kind])
	if len(in.filter.Tags) > 0 {
		copy(in.mask, s.untagged)
		for _, tag := range in.filter.Tags {
			for _, i := range s.tagged[tag] {
				in.mask[i>>6] |= 1 << (i & 63)
			}
		}
		for w := range set {
			set[w] &= in.mask[w]
		}
	}
	if in.SurveysOnly {
		for w := range set {
			set[w] &= s.surveys[w]
		}
	}
	if in.someKeys {
		clear(in.mask)
		last := int32(-1)
		for _, key := range in.keys {
			if i, ok := s.index[key]; ok {
				in.mask[i>>6] |= 1 << (i & 63)
				last = max(last, i)
			}
		}
		if last >= 0 {
			s.addDependencies(in.mask, last)
		}
		for w := range set {
			set[w] &= in.mask[w]
		}
	}
	return set
}

// decideAll evaluates every admitted flag into in.outcomes and returns their number,
// those that a cycle omits not counted, and whether anything failed.
func (in *Input) decideAll() (n int, partial bool) {
	in.nextRun()
	s := in.snap
	for w, word := range in.admittedFlags() {
		for ; word != 0; word &= word - 1 {
			i := int32(w<<6 + bits.TrailingZeros64(word))
			out := in.decide(&s.flags[i])
			in.decisions[i], in.ran[i] = out, in.run
			if out.value < 0 {
				partial = true
				continue
			}
			n++
			partial = partial || uint32(out.reason-reasonFailed0) < failCodes
		}
	}
	return n, partial
}

// decide decides one flag; what it depends on has been evaluated. It is
// evaluation.md §3.2 to §3.7.
func (in *Input) decide(f *compiledFlag) decision {
	if f.fixed.value != valueHidden && in.trace == nil {
		return f.fixed
	}
	switch f.state {
	case cyclic, missing, faulty:
		return f.fixed
	}
	if f.enrollment >= 0 {
		if p := in.property(f.enrollment); p != nil {
			enrolled := p.kind == jsonscan.True || p.kind == jsonscan.String && in.text(p) == "true"
			if in.trace != nil {
				in.traceEnrollment(p, enrolled)
			}
			if enrolled {
				return decision{f.onValue(), reasonSuper}
			}
			return decision{f.optOutValue, reasonSuper}
		}
	}
	if f.holdoutValue >= 0 && in.heldOut(f) {
		return decision{f.holdoutValue, reasonHeldOut}
	}

	if in.failOverrides && f.readsHash {
		return decision{f.failedValue, reasonFailed(failOverrides)}
	}

	var (
		best         = rankNone // rank and index of the reason to report
		bestIndex    int32
		groupSkipped bool
		behavioral   bool

		// A condition that passes only provisionally leaves an outcome behind
		// and evaluation goes on (evaluation.md §3.9): if every way it can end
		// gives the same value, the flag is settled all the same.
		pending = decision{value: valueHidden}
		blame   failCode
		unclear bool

		hashed = int32(ownerNobody) // aggregation that hash belongs to
		hash   float64
	)
conditions:
	for i := range f.conditions {
		c := &f.conditions[i]
		index := int32(i)
		subject, ok := in.id, true
		if c.aggregation != ownerPerson || f.special {
			subject, ok = in.subject(f, c.aggregation)
		}
		if !ok {
			if c.aggregation != ownerPerson {
				groupSkipped = true
				best, bestIndex = best.betterOf(rankNoGroup, bestIndex, index)
				if in.trace != nil {
					in.traceSkip(f, index, ReasonNoGroupType)
				}
				continue
			}
			if c.hashMatters {
				best, bestIndex = best.betterOf(rankOut, bestIndex, index)
				if in.trace != nil {
					in.traceSkip(f, index, ReasonOutOfRollout)
				}
				continue
			}
		}
		if in.trace != nil {
			in.traceCondition(f, index, subject)
		}
		var taint failCode
		for n, id := range c.steps {
			// in.verdict, which the compiler does not inline.
			var v verdict
			if m := in.memo[id]; m>>2 == in.run {
				v = verdict(m & 3)
			} else {
				v = in.computeVerdict(id)
			}
			if v == yes {
				continue
			}
			k := &in.snap.checks[id]
			if v == provisional {
				if taint == 0 {
					taint = in.failureOf(k.slot)
				}
				continue
			}
			if in.trace != nil {
				in.traceStop(f, index, n, v)
			}
			if v == broken {
				if pending.value >= 0 {
					return decision{f.failedValue, reasonFailed(blame)}
				}
				return decision{f.failedValue, reasonFailed(k.fail)}
			}
			if (k.op == opCohort || k.op == opCohortNever) && in.snap.cohorts[k.slot].behavioral {
				behavioral = true
			}
			best, bestIndex = best.betterOf(rankNo, bestIndex, index)
			continue conditions
		}

		inRollout := c.everyone
		if !inRollout {
			if hashed != c.aggregation {
				hashed, hash = c.aggregation, in.bucket(f, subject, saltRollout)
			}
			inRollout = hash <= c.threshold
		}
		if in.trace != nil {
			in.traceRollout(f, index, subject, inRollout)
		}
		var out decision
		switch {
		case inRollout:
			out = decision{in.pickValue(f, c, subject), reasonAt(reasonMatch, index)}
		case f.earlyExit:
			out = decision{f.offValue, reasonAt(reasonOut, index)}
		default:
			best, bestIndex = best.betterOf(rankOut, bestIndex, index)
			continue
		}
		if taint == 0 {
			return f.settled(out, pending, blame, unclear)
		}
		switch {
		case pending.value < 0:
			pending, blame = out, taint
		case pending.value != out.value:
			unclear = true
		}
	}

	reason := int32(reasonNoGroupNull)
	switch best {
	case rankOut:
		reason = reasonAt(reasonOut, bestIndex)
	case rankNo:
		kind := reasonNo
		if behavioral {
			kind = reasonNoBehavioral
		} else if groupSkipped {
			kind = reasonNoGroupGiven
		}
		reason = reasonAt(kind, bestIndex)
	case rankNoGroup:
		reason = reasonAt(reasonNoGroup, bestIndex)
	}
	return f.settled(decision{f.offValue, reason}, pending, blame, unclear)
}

// settled is the outcome of a flag whose conditions came to out, after the
// outcome pending that only a failed dependency keeps from counting.
func (f *compiledFlag) settled(out, pending decision, blame failCode, unclear bool) decision {
	if pending.value < 0 {
		return out
	}
	if unclear || out.value != pending.value {
		return decision{f.failedValue, reasonFailed(blame)}
	}
	return pending
}

// A rank orders the reasons of a flag that did not match (evaluation.md §3.7).
type rank uint8

const (
	rankNone rank = iota
	rankNoGroup
	rankNo
	rankOut
)

// betterOf returns the higher rank with its index; among equals the later wins.
func (r rank) betterOf(other rank, index, otherIndex int32) (rank, int32) {
	if other >= r {
		return other, otherIndex
	}
	return r, index
}

// subject returns the text that a condition set hashes (evaluation.md §2.4).
// It is not ok without a usable group key or device ID; the subject is then
// empty.
func (in *Input) subject(f *compiledFlag, aggregation int32) (string, bool) {
	switch {
	case aggregation >= 0:
		if in.lazy {
			key := validUTF8(in.requestGroups[in.snap.groupNames[aggregation]])
			return key, key != ""
		}
		if g := &in.groups[aggregation]; g.gen == in.gen && g.usable {
			return g.key, true
		}
		return "", false
	case aggregation != ownerPerson:
		return "", false
	case f.device:
		id := in.idProperty(in.DeviceID, in.snap.deviceSlot)
		return id, id != ""
	case f.continuity >= 0:
		if in.lazy {
			if key, ok := in.requestOverrides[f.key]; ok {
				return validUTF8(key), true
			}
		} else if o := &in.overrides[f.continuity]; o.gen == in.gen {
			return o.key, true
		}
		if id := in.idProperty(in.AnonymousID, in.snap.anonymousSlot); id != "" {
			return id, true
		}
	}
	return in.id, true
}

// idProperty returns an ID of the request, or else the request's property that
// stands for it, if that is a string.
func (in *Input) idProperty(id string, slot int32) string {
	if id != "" || slot < 0 {
		return validUTF8(id)
	}
	if p := in.ownProperty(slot); p != nil && p.origin == fromRequest && p.kind == jsonscan.String {
		return in.text(p)
	}
	return ""
}

// bucket hashes a subject for a flag. An empty subject is 0 by definition
// (evaluation.md §2.5).
//
// The hashed text is the flag's prefix, the subject and a salt. The subject,
// followed by the only salt there is, stays in the buffer from flag to flag;
// each flag writes its prefix in front.
func (in *Input) bucket(f *compiledFlag, subject, salt string) float64 {
	if subject == "" {
		return 0
	}
	front := in.snap.longestPrefix
	// One look at the address tells almost always; texts do not change within a
	// request.
	if !in.hashed || unsafe.StringData(in.subjectInHash) != unsafe.StringData(subject) || len(in.subjectInHash) != len(subject) {
		in.hash = append(slices.Grow(in.hash[:0], front)[:front], subject...)
		in.hash = append(in.hash, saltVariant...)
		in.hashed, in.subjectInHash = true, subject
	}
	start := front - len(f.prefix)
	copy(in.hash[start:front], f.prefix)
	return f.hash.bucket(in.hash[start : front+len(subject)+len(salt)])
}

// heldOut decides the holdout (evaluation.md §13.2).
func (in *Input) heldOut(f *compiledFlag) bool {
	subject := in.id
	switch {
	case f.aggregation != ownerPerson:
		subject, _ = in.subject(f, f.aggregation)
	case f.device:
		if id := in.idProperty(in.DeviceID, in.snap.deviceSlot); id != "" {
			subject = id
		}
	case f.continuity >= 0:
		// Stored hash keys do not count here.
		if id := in.idProperty(in.AnonymousID, in.snap.anonymousSlot); id != "" {
			subject = id
		}
	}
	if f.holdoutAll && in.trace == nil {
		return true
	}
	start := len(in.buf)
	in.buf = append(append(in.buf, holdoutPrefix...), subject...)
	h := f.hash.bucket(in.buf[start:])
	out := f.holdoutAll || h <= f.holdoutAt
	if in.trace != nil {
		in.traceHoldout(f, subject, h, out)
	}
	return out
}

const holdoutPrefix = "holdout-"

// pickValue chooses the value of a matching condition set (evaluation.md §2.3).
func (in *Input) pickValue(f *compiledFlag, c *compiledCondition, subject string) int32 {
	if c.pinned >= 0 {
		return c.pinned
	}
	if len(f.variants) == 0 {
		return f.onValue()
	}
	h := in.bucket(f, subject, saltVariant)
	value := f.variant(h)
	if in.trace != nil {
		in.traceVariant(f, h, value)
	}
	return value
}

// variant returns the value of the variant that a draw falls to, or on.
func (f *compiledFlag) variant(h float64) int32 {
	for i := range f.variants {
		if h < f.variants[i].below {
			return f.variants[i].value
		}
	}
	return f.onValue()
}

// dependency compares the value of the flag that a filter depends on
// (evaluation.md §7.3). A flag that was not evaluated counts as false.
func (in *Input) dependency(c *check) verdict {
	target := &in.snap.flags[c.slot]
	value := target.offValue
	if in.ran[c.slot] == in.run {
		value = in.decisions[c.slot].value
		if in.snap.values[value].failed {
			return provisional
		}
	}
	return verdictOf(c.more.accepts[value-target.offValue])
}

// failureOf returns the code with which a flag failed.
func (in *Input) failureOf(i int32) failCode {
	return failCode(in.decisions[i].reason-reasonFailed0) + 1
}

// isMember reports whether the person is in a cohort.
func (in *Input) isMember(i int32) bool {
	if m := in.cohorts[i]; m>>1 == in.run {
		return m&1 != 0
	}
	c := &in.snap.cohorts[i]
	var is bool
	if c.stored >= 0 {
		is = in.members[c.stored] == in.gen
	} else {
		is = in.nodeHolds(&c.root)
	}
	m := in.run << 1
	if is {
		m |= 1
	}
	in.cohorts[i] = m
	return is
}

// A compiledNode is a compiled node of a cohort's tree.
type compiledNode struct {
	kind    nodeType
	negated bool
	id      uint32 // check or cohort
	nodes   []compiledNode
}

type nodeType uint8

const (
	nodeNever nodeType = iota // a leaf that matches nobody
	nodeAll
	nodeAny
	nodeCheck
	nodeCohort
)

func (in *Input) nodeHolds(n *compiledNode) bool {
	var is bool
	switch n.kind {
	case nodeAll:
		is = true
		for i := range n.nodes {
			if !in.nodeHolds(&n.nodes[i]) {
				is = false
				break
			}
		}
	case nodeAny:
		for i := range n.nodes {
			if in.nodeHolds(&n.nodes[i]) {
				is = true
				break
			}
		}
	case nodeCheck:
		is = in.verdict(n.id) == yes
	case nodeCohort:
		is = in.isMember(int32(n.id))
	}
	return is != n.negated
}
