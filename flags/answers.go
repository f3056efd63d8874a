package flags

import (
	"cmp"
	"fmt"
	"iter"
	"math/bits"
	"slices"
)

// The answers of an Input. The Snapshot that the Input was Reset with gives
// them; Explain, in explain.go, is one of them too.

// Evaluate answers for all flags that the request may see. It allocates only
// the Results.
func (in *Input) Evaluate() *Results {
	s := in.snap
	n, partial := in.decideAll()
	results := newResults(len(s.flags))
	results.Partial, results.snap, results.n = partial, s, n
	for i := range results.decisions {
		results.decisions[i].value = valueHidden
		if in.ran[i] == in.run {
			results.decisions[i] = in.decisions[i]
		}
	}
	return results
}

// Flag answers for one flag. It looks neither at the keys of SetKeys nor at
// SurveysOnly. The error is [ErrUnknownFlag] if there is no such flag, and
// [ErrFiltered] if the Input's filter or an encrypted payload hides it, even if
// the flag is inactive as well. Otherwise an inactive flag is disabled with
// reason flag_disabled, and a flag that a dependency cycle removes is a failed
// result with reason dependency_cycle_flag.
func (in *Input) Flag(key string) (Result, error) {
	s := in.snap
	i, ok := s.find(key)
	switch {
	case !ok:
		return Result{}, fmt.Errorf("%w: %q", ErrUnknownFlag, key)
	case !in.maySee(&s.flags[i]):
		return Result{}, fmt.Errorf("%w: %q", ErrFiltered, key)
	case s.flags[i].state == dormant:
		return s.resultOrDisabled(i, decision{value: valueHidden}), nil
	}
	return s.resultOrDisabled(i, in.decideWithDependencies(i, nil)), nil
}

// Flags evaluates all flags that the request may see and iterates over what Flag
// answers for each, in the order of the definitions. Unlike Evaluate it has
// inactive flags and flags that a dependency cycle removes. Flags that others
// depend on come with the flags that SetKeys named. It does not allocate. The Input
// must not be used before the iteration ends.
func (in *Input) Flags() iter.Seq[Result] {
	return func(yield func(Result) bool) {
		s := in.snap
		in.decideAll()
		for _, i := range s.order {
			if d, ok := in.listed(i); ok && !yield(s.resultOrDisabled(i, d)) {
				return
			}
		}
	}
}

// listed returns the decision about flag i after decideAll, which is hidden for an
// inactive flag. It is not ok if the request does not ask for the flag or may not see
// it.
func (in *Input) listed(i int32) (d decision, ok bool) {
	if in.ran[i] == in.run {
		return in.decisions[i], true
	}
	f := &in.snap.flags[i]
	hidden := f.state != dormant || !in.maySee(f) || in.SurveysOnly && !f.survey || in.someKeys && !slices.Contains(in.keys, f.key())
	return decision{value: valueHidden}, !hidden
}

// maySee reports whether the Input's filter admits a flag that results may show.
func (in *Input) maySee(f *compiledFlag) bool {
	return !f.encrypted && in.filter.Admits(f.requirement, f.tags(), f.tagMatch)
}

// An Outcome sums up what AppendFlags wrote.
type Outcome struct {
	Flags   int  // number of results
	Partial bool // as in Results
}

// AppendFlags evaluates all flags that the request may see and appends the JSON
// object "flags" of POST /flags?v=2: what json.Marshal writes for each Result,
// by key, in the order of the definitions. It does not allocate if dst is large
// enough.
func (in *Input) AppendFlags(dst []byte) ([]byte, Outcome) {
	s := in.snap
	n, partial := in.decideAll()
	start := len(dst)
	order := s.order
	if n < len(order)/sparse {
		order = in.sparseOrder()
	}
	for _, i := range order {
		if in.ran[i] != in.run {
			continue
		}
		d := in.decisions[i]
		if d.value < 0 {
			continue
		}
		e, r := &s.edges[d.value], s.rendered[d.reason]
		dst = append(dst, s.arena[e.head.off:][:e.head.len]...)
		dst = append(dst, s.arena[r.off:][:r.len]...)
		dst = append(dst, s.arena[e.tail.off:][:e.tail.len]...)
	}
	if len(dst) == start {
		return append(dst, "{}"...), Outcome{n, partial}
	}
	dst[start] = '{' // in place of the comma of the first head
	return append(dst, '}'), Outcome{n, partial}
}

// sparse is how many times as many flags as results there must be for it to be faster to
// sort the results than to look at all flags.
const sparse = 32

// sparseOrder returns the flags that decideAll has evaluated, in the order of the
// definitions. It is valid until the next call.
func (in *Input) sparseOrder() []int32 {
	list := in.sparse[:0]
	for w, word := range in.admitted {
		for ; word != 0; word &= word - 1 {
			list = append(list, int32(w<<6+bits.TrailingZeros64(word)))
		}
	}
	slices.SortFunc(list, func(a, b int32) int { return cmp.Compare(in.snap.flags[a].place, in.snap.flags[b].place) })
	in.sparse = list
	return list
}
