package flags

import (
	"maps"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/flagstaff-go/flagstaff/internal/nearest"
)

// Limits of the keys that are remembered: a program may compute keys, also from what others
// send it.
const (
	maxUnknownKeys = 100 // keys
	maxUnknownKey  = 400 // bytes of one
)

// UnknownKeys counts the evaluations of flags that do not exist.
type UnknownKeys struct {
	Keys  map[string]uint64 // evaluations by key, for the first hundred keys
	Other uint64            // evaluations of more keys, and of those of more than 400 bytes
}

// An UnknownKey is a key that was asked for and that no flag has.
type UnknownKey struct {
	Key  string
	Near []string // keys that may have been meant, at most three, the closest first

	// Full says that no more keys are remembered. Then there is no Key.
	Full bool
}

// missedKeys is what an Evaluator knows of them.
type missedKeys struct {
	counts    atomic.Pointer[map[string]*atomic.Uint64] // a map is never changed
	other     atomic.Uint64
	full      atomic.Bool
	onUnknown atomic.Pointer[func(UnknownKey)]
}

// OnUnknown sets a function that is called for each key that no flag has, when it is first
// asked for. The calls come from evaluations, which wait for them; it must not block, and be
// safe for concurrent use. Nil: no calls.
func (e *Evaluator) OnUnknown(f func(UnknownKey)) {
	switch {
	case e == nil:
	case f == nil:
		e.unknown.onUnknown.Store(nil)
	default:
		e.unknown.onUnknown.Store(&f)
	}
}

// Unknown returns which keys without a flag were asked for since there is one under none of
// them.
func (e *Evaluator) Unknown() UnknownKeys {
	var u UnknownKeys
	if e == nil {
		return u
	}
	u.Other = e.unknown.other.Load()
	if counts := e.unknown.counts.Load(); counts != nil && len(*counts) > 0 {
		u.Keys = make(map[string]uint64, len(*counts))
		for key, n := range *counts {
			u.Keys[key] = n.Load()
		}
	}
	return u
}

// NoteUnknown counts an evaluation of a flag that does not exist. The methods of the
// Evaluator do so themselves; NoteUnknown is for programs that ask its Snapshot. It does not
// allocate for a key that is known to be unknown.
func (e *Evaluator) NoteUnknown(key string) {
	if e == nil || e.countUnknown(key) {
		return
	}
	if len(key) > maxUnknownKey {
		e.noteOther()
		return
	}
	s := e.Snapshot()
	if s == nil || s.Has(key) {
		return // nothing is known yet, or it has just come
	}
	e.noteNew(s, strings.Clone(key))
}

// countUnknown is NoteUnknown where it takes no more than a look at what is known. It
// returns false, and has counted nothing, for what NoteUnknown must remember or tell.
func (e *Evaluator) countUnknown(key string) bool {
	u := &e.unknown
	counts := u.counts.Load()
	if counts == nil {
		return false
	}
	if n := (*counts)[key]; n != nil {
		n.Add(1)
		return true
	}
	if len(*counts) >= maxUnknownKeys && u.full.Load() {
		u.other.Add(1)
		return true
	}
	return false
}

// noteNew remembers a key.
func (e *Evaluator) noteNew(s *Snapshot, key string) {
	u := &e.unknown
	for {
		before := u.counts.Load()
		counts := make(map[string]*atomic.Uint64)
		if before != nil {
			maps.Copy(counts, *before)
		}
		if n := counts[key]; n != nil { // another goroutine was faster
			n.Add(1)
			return
		}
		if len(counts) >= maxUnknownKeys {
			e.noteOther()
			return
		}
		n := new(atomic.Uint64)
		n.Store(1)
		counts[key] = n
		if u.counts.CompareAndSwap(before, &counts) {
			break
		}
	}
	onUnknown := u.onUnknown.Load()
	if onUnknown == nil {
		return
	}
	near := nearest.Names(slices.Collect(s.Keys()), key)
	for i := range near {
		near[i] = strings.Clone(near[i])
	}
	(*onUnknown)(UnknownKey{Key: key, Near: near})
}

// noteOther counts a key that is not remembered.
func (e *Evaluator) noteOther() {
	u := &e.unknown
	u.other.Add(1)
	if u.full.CompareAndSwap(false, true) {
		if onUnknown := u.onUnknown.Load(); onUnknown != nil {
			(*onUnknown)(UnknownKey{Full: true})
		}
	}
}

// forget forgets the keys that have a flag now.
func (e *Evaluator) forget(s *Snapshot) {
	for {
		before := e.unknown.counts.Load()
		if before == nil || s == nil {
			return
		}
		counts := maps.Clone(*before)
		maps.DeleteFunc(counts, func(key string, _ *atomic.Uint64) bool { return s.Has(key) })
		if len(counts) == len(*before) || e.unknown.counts.CompareAndSwap(before, &counts) {
			return
		}
	}
}

// Has reports whether there is a flag with a key.
func (s *Snapshot) Has(key string) bool {
	if s.isUnset() {
		return false
	}
	_, ok := s.find(key)
	return ok
}
