package flags

import (
	"fmt"
	"iter"
	"slices"
	"sync"
)

// isUnset reports whether a Snapshot is nil, or was not made by Compile.
func (s *Snapshot) isUnset() bool { return s == nil || s.self == nil }

// emptySnapshot stands for a Snapshot that is unset.
var emptySnapshot = sync.OnceValue(func() *Snapshot {
	s, err := Compile(new(Definitions), CompileOptions{})
	if err != nil { // this machine can compile nothing
		s = &Snapshot{idSlot: -1, createdSlot: -1, deviceSlot: -1, anonymousSlot: -1}
		s.self = s
	}
	return s
})

// Evaluate answers for all flags that the request may see. It allocates only
// the Results. They are empty, and Partial, if the Snapshot is nil.
func (s *Snapshot) Evaluate(r *Request) *Results {
	if s.isUnset() {
		return &Results{Partial: true}
	}
	in := inputs.Get().(*Input)
	in.fromRequest(s, r)
	results := in.Evaluate()
	releaseInput(in)
	if r.hasRemote() {
		results.addAnswers(r)
	}
	return results
}

// Flag answers for one flag. It does not look at the request's Keys. The error is
// [ErrUnknownFlag] if there is no such flag, [ErrNotReady] if the Snapshot is nil, and
// [ErrFiltered] if the request's Filter or an encrypted payload hides it, even if it is
// inactive as well. Otherwise an inactive flag is disabled with reason flag_disabled,
// and a flag that a dependency cycle removes is a failed result with reason
// dependency_cycle_flag (evaluation.md §11.7).
func (s *Snapshot) Flag(key string, r *Request) (result Result, err error) {
	if s.isUnset() {
		return Result{}, ErrNotReady
	}
	i, ok := s.find(key)
	if !ok {
		return Result{}, fmt.Errorf("%w: %q", ErrUnknownFlag, key)
	}
	if err := s.whyHidden(i, r); err != nil {
		return Result{}, err
	}
	if r.hasRemote() {
		if answer, ok := s.answer(i, r); ok {
			return answer, nil
		}
	}
	d := s.decideFlag(i, r)
	if d.value >= 0 {
		s.setResult(&result, i, d)
	} else {
		result = s.resultOrDisabled(i, d)
	}
	result.Unconfirmed = r.hasRemote() && s.lacksFor(i, r)
	return result, nil
}

// whyHidden says why a request may not see a flag. That a flag is inactive is no
// reason: it is an answer.
func (s *Snapshot) whyHidden(i int32, r *Request) error {
	f := &s.flags[i]
	switch {
	case f.encrypted:
		return fmt.Errorf("%w: flag %q has an encrypted payload", ErrFiltered, f.key())
	case r.hidesNothing():
		return nil
	case !f.requirement.Admits(r.Filter.Kind):
		return fmt.Errorf("%w: flag %q is for runtime %v, the request is %v", ErrFiltered, f.key(), f.requirement, r.Filter.Kind)
	case !r.Filter.Admits(f.requirement, f.tags(), f.tagMatch):
		return fmt.Errorf("%w: flag %q needs %v of the evaluation contexts %q, the request has %q", ErrFiltered, f.key(), f.tagMatch, f.tags(), slices.Clone(r.Filter.Tags))
	}
	return nil
}

// resultOrDisabled is result for callers that want an answer for flags without a
// result as well.
func (s *Snapshot) resultOrDisabled(i int32, d decision) (r Result) {
	switch d.value {
	case valueHidden:
		s.setResult(&r, i, decision{s.flags[i].offValue, reasonDisabled})
	case valueOmitted:
		s.setResult(&r, i, decision{s.flags[i].offValue, reasonDisabled})
		r.Failed = true
		r.Reason = Reason{errorFlagCycle, -1, "Flag dependency cycle detected"}
	default:
		s.setResult(&r, i, d)
	}
	return r
}

// Keys iterates over the keys of all flags, inactive ones included, in the order
// of the definitions.
func (s *Snapshot) Keys() iter.Seq[string] {
	return func(yield func(string) bool) {
		if s == nil {
			return
		}
		for _, i := range s.order {
			if !yield(s.flags[i].key()) {
				return
			}
		}
	}
}

// Len returns the number of flags, inactive ones included.
func (s *Snapshot) Len() int {
	if s == nil {
		return 0
	}
	return len(s.flags)
}

// Problems returns what is wrong or doubtful in the definitions, errors first, and
// at most 10,000.
// The slice must not be changed.
func (s *Snapshot) Problems() []Problem {
	if s == nil {
		return nil
	}
	return s.problems
}

// Reads reports whether some flag looks at the person property with that name.
func (s *Snapshot) Reads(property string) bool {
	if s == nil {
		return false
	}
	i := s.personTable.slotOf([]byte(property))
	return i >= 0 && s.read[i]
}

// ETag identifies the content, as plain hexadecimal text. It depends on the
// definitions and on the compile options that change answers, and not on the
// process or the machine.
func (s *Snapshot) ETag() string {
	if s == nil {
		return ""
	}
	return s.etag
}

// ContinuityFlags returns the keys of the flags with experience continuity, whose
// hash keys are to be stored when a person identifies (evaluation.md §12). The
// slice must not be changed.
func (s *Snapshot) ContinuityFlags() []string {
	if s == nil {
		return nil
	}
	return s.continuityFlags
}

// MinimalFlagCalledEvents returns what the definitions say under that name, which
// clients are told.
func (s *Snapshot) MinimalFlagCalledEvents() bool { return s != nil && s.minimal }
