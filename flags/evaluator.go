package flags

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// An Evaluator answers from the Snapshot that it was last given. The zero value is
// ready: it has no snapshot and answers fallbacks, as a nil Evaluator does. All methods
// are safe for concurrent use. None blocks or does I/O, and of those that answer only
// Payload allocates.
type Evaluator struct {
	current atomic.Pointer[Snapshot]

	mu      sync.Mutex    // held to change current
	swapped time.Time     // when current was
	changed chan struct{} // closed by the next Swap; nil: nobody watches

	unknown missedKeys
	slow    slowMatches
}

// Swap replaces the snapshot and returns the old one, on which evaluations that
// are under way finish. A nil snapshot makes the Evaluator answer fallbacks. Swap
// panics if the Evaluator is nil.
func (e *Evaluator) Swap(s *Snapshot) (old *Snapshot) {
	e.mu.Lock()
	defer e.mu.Unlock()
	old = e.current.Swap(s)
	e.swapped = time.Now()
	e.forget(s)
	e.slow.swap(old, s)
	if e.changed != nil {
		close(e.changed)
		e.changed = nil
	}
	return old
}

// Watch returns the current snapshot, or nil, the time of the Swap that made it the
// current one, and a channel that the next Swap closes. The next snapshot may have the
// same content, as [Snapshot.ETag] tells. The channel of a nil Evaluator is nil, because
// it never changes.
func (e *Evaluator) Watch() (s *Snapshot, since time.Time, changed <-chan struct{}) {
	if e == nil {
		return nil, time.Time{}, nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.changed == nil {
		e.changed = make(chan struct{})
	}
	return e.current.Load(), e.swapped, e.changed
}

// Snapshot returns the current snapshot, or nil.
func (e *Evaluator) Snapshot() *Snapshot {
	if e == nil {
		return nil
	}
	return e.current.Load()
}

// Bool is [Snapshot.Bool] of the current snapshot.
func (e *Evaluator) Bool(key string, r *Request, fallback bool) bool {
	s := e.Snapshot()
	if s == nil {
		return fallback
	}
	i, ok := s.find(key)
	if !ok {
		e.NoteUnknown(key)
		return fallback
	}
	return s.boolAt(i, r, fallback)
}

// Variant is [Snapshot.Variant] of the current snapshot.
func (e *Evaluator) Variant(key string, r *Request, fallback string) string {
	s := e.Snapshot()
	if s == nil {
		return fallback
	}
	i, ok := s.find(key)
	if !ok {
		e.NoteUnknown(key)
		return fallback
	}
	if v, ok := s.lookupAt(i, r); ok {
		return v
	}
	return fallback
}

// Payload is [Snapshot.Payload] of the current snapshot.
func (e *Evaluator) Payload(key string, r *Request, v any) error {
	err := e.Snapshot().Payload(key, r, v)
	if errors.Is(err, ErrUnknownFlag) {
		e.NoteUnknown(key)
	}
	return err
}
