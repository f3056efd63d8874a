package flags

import (
	"encoding/json"
	"fmt"
	"sync/atomic"
)

// An Evaluator answers from the Snapshot it was last given. The zero value is
// ready and holds none: it answers fallbacks. All methods are safe for
// concurrent use; none blocks, does I/O or, but for Payload, allocates.
type Evaluator struct {
	current atomic.Pointer[Snapshot]
}

// Swap replaces the snapshot and returns the one before. Evaluations that are
// under way finish on the old one. Nil makes the Evaluator answer fallbacks.
func (e *Evaluator) Swap(s *Snapshot) (old *Snapshot) { return e.current.Swap(s) }

// Snapshot returns the current snapshot, or nil.
func (e *Evaluator) Snapshot() *Snapshot { return e.current.Load() }

// Bool reports whether the flag is enabled. The fallback is returned for a flag
// that is unknown or failed, or when nothing is loaded; false for one that is
// inactive or that the request's Filter hides.
func (e *Evaluator) Bool(key string, r *Request, fallback bool) bool {
	s := e.current.Load()
	if s == nil {
		return fallback
	}
	i, ok := s.index[key]
	if !ok {
		return fallback
	}
	f := &s.flags[i]
	var out decision
	if f.fixed.value >= 0 && r.hidesNothing() {
		out = f.fixed
	} else {
		out = s.decideFlag(i, r)
	}
	if out.value < 0 {
		return fallback && out.value == valueOmitted
	}
	v := &s.values[out.value]
	if v.failed {
		return fallback
	}
	return v.enabled
}

// Variant returns the flag's variant key, "true" if the flag is enabled without
// a variant, and "false" if it is disabled, inactive or hidden by the request's
// Filter. The fallback is returned for a flag that is unknown or failed, or
// when nothing is loaded.
func (e *Evaluator) Variant(key string, r *Request, fallback string) string {
	s := e.current.Load()
	if s == nil {
		return fallback
	}
	i, ok := s.index[key]
	if !ok {
		return fallback
	}
	out := s.decideFlag(i, r)
	switch {
	case out.value == valueOmitted:
		return fallback
	case out.value < 0:
		return "false"
	}
	switch v := &s.values[out.value]; {
	case v.failed:
		return fallback
	case v.hasVariant:
		return v.variant
	case v.enabled:
		return "true"
	default:
		return "false"
	}
}

// Payload decodes the JSON of the payload of the flag's value into v, as
// json.Unmarshal does. It returns ErrNotReady, ErrUnknownFlag, ErrNoPayload (a
// failed flag has none), or the error of decoding.
func (e *Evaluator) Payload(key string, r *Request, v any) error {
	s := e.current.Load()
	if s == nil {
		return ErrNotReady
	}
	i, ok := s.index[key]
	if !ok {
		return fmt.Errorf("%w: %q", ErrUnknownFlag, key)
	}
	out := s.decideFlag(i, r)
	if out.value < 0 || s.values[out.value].text == "" {
		return fmt.Errorf("%w: flag %q", ErrNoPayload, key)
	}
	if err := json.Unmarshal([]byte(s.values[out.value].text), v); err != nil {
		return fmt.Errorf("flags: payload of flag %q: %w", key, err)
	}
	return nil
}
