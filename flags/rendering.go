package flags

import (
	"slices"
	"sync/atomic"
)

// A Rendering writes results in a form of its own, as a protocol has one. A
// Snapshot keeps what a Rendering wrote for a result and copies it from then on, see
// [Input.AppendRendered]. It is told from others by its address: a program makes it
// once, as a variable of its package.
type Rendering struct {
	// Append appends what stands for a result; nil panics. It must depend on the result alone,
	// not keep the result, and be safe for concurrent use.
	Append func(dst []byte, r *Result) []byte
}

// AppendRendered evaluates all flags that the request may see and appends a JSON
// list: what the Rendering writes for each result that Flags has, in the order of the
// definitions. n is how many there are. It does not allocate if dst is large enough
// and the Snapshot has kept the results.
func (in *Input) AppendRendered(dst []byte, r *Rendering) (_ []byte, n int) {
	s := in.snap
	in.decideAll()
	m := s.memoOf(r)
	start := len(dst)
	for _, i := range s.order {
		d, ok := in.listed(i)
		if !ok {
			continue
		}
		n++
		value := d.value
		if value < 0 {
			value = s.flags[i].offValue
		}
		if e := m.find(value, d); e != nil {
			dst = append(dst, e.text...)
			continue
		}
		from := len(dst)
		result := s.resultOrDisabled(i, d)
		dst = r.Append(append(dst, ','), &result)
		m.keep(value, d, dst[from:])
	}
	if n == 0 {
		return append(dst, "[]"...), 0
	}
	dst[start] = '[' // in place of the comma of the first result
	return append(dst, ']'), n
}

// maxKeptReasons is how many reasons of one value a memo keeps, and keptFactor how many
// times as many bytes as the Snapshot has rendered itself. A flag with more reasons for
// one value is rare, and a result that is not kept is written anew.
const (
	maxKeptReasons = 16 // reasons
	keptFactor     = 4
	keptOverhead   = 64 // bytes of a keptResult beside its text
)

// A memo has what one Rendering wrote for results of a Snapshot. It grows with the
// results that requests come to, and readers of it wait for nothing.
type memo struct {
	of    *Rendering
	next  *memo // of an earlier Rendering
	kept  []atomic.Pointer[keptResult]
	room  atomic.Int64 // bytes that it may still take
	count int          // of renderings, with the earlier ones
}

// A keptResult is what was written for one decision, with a comma in front. The results of
// one value are a list.
type keptResult struct {
	decision decision
	depth    int32 // results behind this one
	next     *keptResult
	text     []byte
}

// maxRenderings is how many renderings a Snapshot keeps results of. A program that makes
// a Rendering for each request would otherwise fill the memory.
const maxRenderings = 8 // renderings

// memoOf returns the memo of a Rendering, nil if there are too many.
func (s *Snapshot) memoOf(r *Rendering) *memo {
	if s.memos == nil {
		return nil
	}
	for {
		first := s.memos.Load()
		for m := first; m != nil; m = m.next {
			if m.of == r {
				return m
			}
		}
		m := &memo{of: r, next: first, count: 1}
		if first != nil {
			m.count += first.count
		}
		if m.count > maxRenderings {
			return nil
		}
		m.kept = make([]atomic.Pointer[keptResult], len(s.values))
		m.room.Store(keptFactor * int64(len(s.arena)))
		if s.memos.CompareAndSwap(first, m) {
			return m
		}
	}
}

// find returns what was kept for a decision. The decision is about the flag that has
// the value.
func (m *memo) find(value int32, d decision) *keptResult {
	if m == nil {
		return nil
	}
	for e := m.kept[value].Load(); e != nil; e = e.next {
		if e.decision == d {
			return e
		}
	}
	return nil
}

// keep keeps a copy of what was written for a decision, if there is room. That two
// requests keep the same does no harm.
func (m *memo) keep(value int32, d decision, text []byte) {
	if m == nil {
		return
	}
	first, depth := m.kept[value].Load(), int32(0)
	if first != nil {
		depth = first.depth + 1
	}
	if depth == maxKeptReasons {
		return
	}
	size := int64(len(text) + keptOverhead)
	if m.room.Add(-size) >= 0 && m.kept[value].CompareAndSwap(first, &keptResult{d, depth, first, slices.Clone(text)}) {
		return
	}
	m.room.Add(size) // there is none, or another request has kept something meanwhile
}
