package flags

import (
	"math/bits"
	"sync"
)

// Which flags one request evaluates (evaluation.md §3.1), and in which order: the
// order of the program, where each flag comes after the flags that it depends on.

var inputs = sync.Pool{New: func() any { return new(Input) }}

// releaseInput gives a pooled Input back.
func releaseInput(in *Input) {
	clear(in.ownTags)
	clear(in.ownKeys)
	if cap(in.buf) > 1<<16 {
		in.buf = nil
	}
	inputs.Put(in)
}

// decideFlag evaluates a single flag, and what it depends on, for a Go caller.
func (s *Snapshot) decideFlag(i int32, r *Request) decision {
	f := &s.flags[i]
	if f.state == dormant || !r.hidesNothing() && !r.Filter.Admits(f.requirement, f.tags(), f.tagMatch) {
		return decision{value: valueHidden}
	}
	if f.fixed.value != valueHidden {
		return f.fixed
	}
	if r == nil {
		r = &noRequest
	}
	switch {
	case f.ruled && r.Partial:
	case f.quickParses:
		if d, ok := s.decideParsing(f, r); ok {
			return d
		}
	case f.quickKnows:
		if d, ok := s.decideQuickly(f, r, nil); ok {
			return d
		}
	}
	in := inputs.Get().(*Input)
	in.bindRequest(s, r)
	d := in.decideWithDependencies(i, r)
	releaseInput(in)
	return d
}

// nextRun starts an evaluation: what earlier ones have remembered is void.
func (in *Input) nextRun() {
	if in.run += runStep; in.run == 0 {
		clear(in.memo[:cap(in.memo)])
		clear(in.cohorts[:cap(in.cohorts)])
		clear(in.ran[:cap(in.ran)])
		in.run = runStep
	}
}

// decideWithDependencies evaluates flag i after the flags that it depends on.
// The caller has asked the filter about i, but not about those. If there is a Request,
// what the flags need is taken from it first.
func (in *Input) decideWithDependencies(i int32, r *Request) decision {
	in.nextRun()
	s := in.snap
	f := &s.flags[i]
	if len(f.direct()) == 0 {
		if r != nil {
			in.fillFlag(r, f)
		}
		return in.decide(f)
	}
	clear(in.mask)
	in.mask.add(i)
	s.addDependencies(in.mask, i)
	for w, word := range in.mask {
		for ; word != 0; word &= word - 1 {
			j := int32(w<<6 + bits.TrailingZeros64(word))
			t := &s.flags[j]
			if j != i && (t.state == dormant || in.SurveysOnly && !t.survey || !in.filter.Admits(t.requirement, t.tags(), t.tagMatch)) {
				continue
			}
			if r != nil {
				in.fillFlag(r, t)
			}
			in.decisions[j], in.ran[j] = in.decide(t), in.run
		}
	}
	return in.decisions[i]
}

// decideAll evaluates every admitted flag into in.decisions. It returns how many
// have a result, without the flags that a cycle omits, and whether any failed.
func (in *Input) decideAll() (n int, partial bool) {
	in.nextRun()
	s := in.snap
	for w, word := range in.admittedFlags() {
		for ; word != 0; word &= word - 1 {
			i := int32(w<<6 + bits.TrailingZeros64(word))
			d := in.decide(&s.flags[i])
			in.decisions[i], in.ran[i] = d, in.run
			if d.value < 0 {
				partial = true
				continue
			}
			n++
			partial = partial || isFailure(d.reason)
		}
	}
	return n, partial
}

// admittedFlags returns the set of flags that the request may see, without
// dormant ones. It is valid until the next call.
func (in *Input) admittedFlags() flagSet {
	s := in.snap
	set := in.admitted
	copy(set, s.admits[in.filter.Kind])
	if len(in.filter.Tags) > 0 {
		copy(in.mask, s.untagged)
		s.addAdmitted(in.mask, in.filter.Tags, in.namedTags)
		set.retain(in.mask)
	}
	if in.SurveysOnly {
		set.retain(s.surveys)
	}
	if in.someKeys {
		set.retain(in.keyedFlags())
	}
	return set
}

// keyedFlags returns the set of flags that SetKeys named, and of the flags that
// they depend on.
func (in *Input) keyedFlags() flagSet {
	clear(in.mask)
	last := int32(-1)
	for _, key := range in.keys {
		if i, ok := in.snap.find(key); ok {
			in.mask.add(i)
			last = max(last, i)
		}
	}
	if last >= 0 {
		in.snap.addDependencies(in.mask, last)
	}
	return in.mask
}
