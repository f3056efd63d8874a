package flags

import (
	"encoding/json"
	"fmt"
)

// The value of one flag for a Go caller. A nil Snapshot has none.

// Bool reports whether the flag is enabled. A flag that is inactive, or that the
// request's Filter hides, is not. Bool returns the fallback if the flag is unknown or
// failed.
func (s *Snapshot) Bool(key string, r *Request, fallback bool) bool {
	if s == nil {
		return fallback
	}
	i, ok := s.find(key)
	if !ok {
		return fallback
	}
	return s.boolAt(i, r, fallback)
}

// boolAt is Bool for flag i.
func (s *Snapshot) boolAt(i int32, r *Request, fallback bool) bool {
	if r.hasRemote() {
		if enabled, ok := s.remoteBool(i, r, fallback); ok {
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
		return fallback && (d.value == valueOmitted || f.ruled)
	}
	v := &s.values[d.value]
	if v.failed || v.typed != 0 && s.typed[v.typed].Type == "" {
		return fallback
	}
	return v.enabled
}

// Variant returns the flag's variant key, "true" if the flag is enabled without
// a variant, and "false" if it is disabled, inactive or hidden by the request's
// Filter. It returns the fallback if the flag is unknown or failed.
func (s *Snapshot) Variant(key string, r *Request, fallback string) string {
	if v, ok := s.Lookup(key, r); ok {
		return v
	}
	return fallback
}

// Lookup is Variant for callers that tell a flag that is off from one that has no value.
// It is not ok where Variant returns its fallback.
func (s *Snapshot) Lookup(key string, r *Request) (value string, ok bool) {
	if s == nil {
		return "", false
	}
	i, ok := s.find(key)
	if !ok {
		return "", false
	}
	return s.lookupAt(i, r)
}

// lookupAt is Lookup for flag i.
func (s *Snapshot) lookupAt(i int32, r *Request) (value string, ok bool) {
	if r.hasRemote() {
		if value, ok, answered := s.remoteText(i, r); answered {
			return value, ok
		}
	}
	d := s.decideFlag(i, r)
	switch {
	case d.value == valueOmitted:
		return "", false
	case d.value < 0:
		return "false", true
	}
	switch v := &s.values[d.value]; {
	case v.failed:
		return "", false
	case v.hasVariant:
		return v.variant, true
	case v.enabled:
		return "true", true
	default:
		return "false", true
	}
}

// Payload decodes the payload of the flag's value into v, as json.Unmarshal does.
// The error is [ErrNotReady] for a nil Snapshot, [ErrUnknownFlag], [ErrNoPayload] (a
// failed flag has none), or what decoding returned.
func (s *Snapshot) Payload(key string, r *Request, v any) error {
	if s.isUnset() {
		return ErrNotReady
	}
	i, ok := s.find(key)
	if !ok {
		return fmt.Errorf("%w: %q", ErrUnknownFlag, key)
	}
	payload, answered := "", false
	if r.hasRemote() {
		var answer Result
		answer, answered = s.answer(i, r)
		payload = answer.Metadata.Payload
	}
	if !answered {
		if d := s.decideFlag(i, r); d.value >= 0 {
			payload = s.payloads[s.values[d.value].payload].text
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
