package flags

import (
	"iter"
	"math/bits"
)

// A Tally counts how often the flags of one Snapshot had which value, for metrics. It
// takes eight bytes for each value of each flag. A nil or zero Tally counts nothing. It is
// not safe for concurrent use: a program that answers in many goroutines has several, and
// adds up what they drain.
type Tally struct {
	snap   *Snapshot
	counts []uint64 // by the number of the value
	used   bool     // some count is not 0
}

// A TallyCount is how often a flag had a value since a [Tally] was drained last.
type TallyCount struct {
	Key    string // of the flag
	Value  string // as [Result.Text], or, of a rule set whose value is not a text, its JSON, "true" if that is long
	Failed bool   // the flag could not be computed
	Count  uint64 // evaluations, not 0
}

// NewTally returns a Tally for the answers of a Snapshot. A nil Snapshot has none.
func NewTally(s *Snapshot) *Tally {
	if s.isUnset() {
		s = emptySnapshot()
	}
	return &Tally{snap: s, counts: make([]uint64, len(s.values))}
}

// Counts reports whether the Tally is for the answers of a Snapshot.
func (t *Tally) Counts(s *Snapshot) bool { return t != nil && t.snap == s }

// Add counts each flag that the Input's last answer for all flags has evaluated, with its
// value: an answer of Evaluate, Flags, AppendFlags or AppendRendered. The Input must not
// have been reset since. It ignores an Input that is bound to another Snapshot. It does
// not allocate.
func (t *Tally) Add(in *Input) {
	if t == nil || t.snap == nil || in == nil || in.snap != t.snap {
		return
	}
	t.used = true
	counts, decisions := t.counts, in.decisions // the compiler does not know that they stay
	for w, word := range in.admitted {
		for ; word != 0; word &= word - 1 {
			if v := decisions[w<<6+bits.TrailingZeros64(word)].value; v >= 0 {
				counts[v]++
			}
		}
	}
}

// AddResult counts the result of one flag. It ignores one of another Snapshot with
// another flag or value, and one of an inactive flag, which was not evaluated.
func (t *Tally) AddResult(r *Result) {
	if t == nil || t.snap == nil || r == nil {
		return
	}
	i, ok := t.snap.find(r.Key)
	if !ok || r.Reason.Code == ReasonFlagDisabled {
		return
	}
	f := &t.snap.flags[i]
	for n := f.offValue; n < f.offValue+f.valueCount; n++ {
		v := &t.snap.values[n]
		same := v.enabled == r.Enabled && v.failed == r.Failed && v.hasVariant == r.hasVariant && v.variant == r.Variant
		if same && (!f.ruled || t.snap.typed[v.typed].JSON == r.typed) {
			t.counts[n]++
			t.used = true
			return
		}
	}
}

// Drain iterates over the counts and sets to 0 what it yields. A flag may have several
// values with the same text, such as two with different payloads.
func (t *Tally) Drain() iter.Seq[TallyCount] {
	return func(yield func(TallyCount) bool) {
		if t == nil || !t.used {
			return
		}
		for i := range t.snap.flags {
			f := &t.snap.flags[i]
			for n := f.offValue; n < f.offValue+f.valueCount; n++ {
				count := t.counts[n]
				if count == 0 {
					continue
				}
				t.counts[n] = 0
				v := &t.snap.values[n]
				r := Result{Enabled: v.enabled, Variant: v.variant, hasVariant: v.hasVariant}
				value := r.Text()
				if f.ruled && !v.hasVariant {
					value = t.snap.typed[v.typed].label()
				}
				if !yield(TallyCount{f.key(), value, v.failed, count}) {
					return
				}
			}
		}
		t.used = false
	}
}
