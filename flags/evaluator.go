package flags

import (
	"encoding/json"
	"fmt"
	"sync/atomic"
)

// An Evaluator answers from the Snapshot that it was last given. The zero value is
// ready: it has no snapshot and answers fallbacks, as a nil Evaluator does. All methods are safe for
// concurrent use. None blocks or does I/O, and only Payload allocates.
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

// Bool reports whether the flag is enabled. A flag that is inactive, or that the
// request's Filter hides, is not. Bool returns the fallback if the flag is unknown or
// failed, or if the Evaluator has no snapshot.
func (e *Evaluator) Bool(key string, r *Request, fallback bool) bool {
	s := e.Snapshot()
	if s == nil {
		return fallback
	}
	i, ok := s.index[key]
	if !ok {
		return fallback
	}
	if r.hasAnswers() {
		if enabled, ok := s.answeredBool(i, r, fallback); ok {
			return enabled
		}
	}
	f := &s.flags[i]
	var d decision
	if f.fixed.value >= 0 && r.hidesNothing() {
		d = f.fixed
	} else {
		d = s.decideFlag(i, r)
	}
	if d.value < 0 {
		return fallback && d.value == valueOmitted
	}
	v := &s.values[d.value]
	if v.failed {
		return fallback
	}
	return v.enabled
}

// Variant returns the flag's variant key, "true" if the flag is enabled without
// a variant, and "false" if it is disabled, inactive or hidden by the request's
// Filter. It returns the fallback if the flag is unknown or failed, or if the
// Evaluator has no snapshot.
func (e *Evaluator) Variant(key string, r *Request, fallback string) string {
	s := e.Snapshot()
	if s == nil {
		return fallback
	}
	i, ok := s.index[key]
	if !ok {
		return fallback
	}
	if r.hasAnswers() {
		if variant, ok := s.answeredVariant(i, r, fallback); ok {
			return variant
		}
	}
	d := s.decideFlag(i, r)
	switch {
	case d.value == valueOmitted:
		return fallback
	case d.value < 0:
		return "false"
	}
	switch v := &s.values[d.value]; {
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

// Payload decodes the payload of the flag's value into v, as json.Unmarshal does.
// The error is ErrNotReady without a snapshot, ErrUnknownFlag, ErrNoPayload (a
// failed flag has none), or what decoding returned.
func (e *Evaluator) Payload(key string, r *Request, v any) error {
	s := e.Snapshot()
	if s == nil {
		return ErrNotReady
	}
	i, ok := s.index[key]
	if !ok {
		return fmt.Errorf("%w: %q", ErrUnknownFlag, key)
	}
	payload, answered := "", false
	if r.hasAnswers() {
		var answer Result
		answer, answered = s.answer(i, r)
		payload = answer.Metadata.Payload
	}
	if !answered {
		if d := s.decideFlag(i, r); d.value >= 0 {
			payload = s.values[d.value].text
		}
	}
	if payload == "" {
		return fmt.Errorf("%w: flag %q", ErrNoPayload, key)
	}
	if err := json.Unmarshal([]byte(payload), v); err != nil {
		return fmt.Errorf("flags: payload of flag %q: %w", key, err)
	}
	return nil
}
