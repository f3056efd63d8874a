package flags

import "sync/atomic"

// An Evaluator answers from the Snapshot that it was last given. The zero value is
// ready: it has no snapshot and answers fallbacks, as a nil Evaluator does. All methods
// are safe for concurrent use. None blocks or does I/O, and only Payload allocates.
type Evaluator struct {
	current atomic.Pointer[Snapshot]
}

// Swap replaces the snapshot and returns the old one, on which evaluations that
// are under way finish. A nil snapshot makes the Evaluator answer fallbacks. Swap
// panics if the Evaluator is nil.
func (e *Evaluator) Swap(s *Snapshot) (old *Snapshot) { return e.current.Swap(s) }

// Snapshot returns the current snapshot, or nil.
func (e *Evaluator) Snapshot() *Snapshot {
	if e == nil {
		return nil
	}
	return e.current.Load()
}

// Bool is [Snapshot.Bool] of the current snapshot.
func (e *Evaluator) Bool(key string, r *Request, fallback bool) bool {
	return e.Snapshot().Bool(key, r, fallback)
}

// Variant is [Snapshot.Variant] of the current snapshot.
func (e *Evaluator) Variant(key string, r *Request, fallback string) string {
	return e.Snapshot().Variant(key, r, fallback)
}

// Payload is [Snapshot.Payload] of the current snapshot.
func (e *Evaluator) Payload(key string, r *Request, v any) error {
	return e.Snapshot().Payload(key, r, v)
}
