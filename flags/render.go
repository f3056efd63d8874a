package flags

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
	"github.com/flagstaff-go/flagstaff/internal/text"
)

// Results are rendered when flags are compiled, in factors: a head with the
// key and the value, the reason, and a tail with the metadata and the payload.
// To write a result is to copy the three. So memory grows with conditions plus
// variants, not with their product.

func (s *Snapshot) rendering(p span) []byte { return s.arena[p.off : p.off+p.len : p.off+p.len] }

// setResult sets a Result that is zero to what a decision about flag i came to. To return
// it would copy it.
func (s *Snapshot) setResult(r *Result, i int32, out decision) {
	f, v := &s.flags[i], &s.values[out.value]
	r.Key, r.Enabled, r.Variant, r.Failed = f.key(), v.enabled, v.variant, v.failed
	r.Reason = s.reasons[out.reason]
	p := &s.payloads[v.payload]
	r.Metadata.ID, r.Metadata.Version, r.Metadata.Payload = f.id, f.version, p.text
	r.Metadata.HasExperiment, r.Metadata.MinimalEvents = f.hasExperiment, s.minimal && !f.hasExperiment
	r.hasVariant, r.basis, r.form = v.hasVariant, s.basis(f, out.reason), f.form
	r.payload = s.rendering(p.json)
	if f.ruled {
		r.typed, r.Rule = s.typed[v.typed].JSON, s.ruleOf(f, v, &r.Reason)
	}
}

// ruleOf returns which rule of a rule set has given a value for a reason.
func (s *Snapshot) ruleOf(f *compiledFlag, v *value, r *Reason) *RuleResult {
	if about := s.typed[v.typed].about; about != nil || r.ConditionIndex < 0 {
		return about
	}
	rule := &f.rare.rules.rules[r.ConditionIndex]
	if r.Code == codeRuleHoldout && rule.heldOut != nil {
		return rule.heldOut
	}
	return rule.about
}

// spanFrom returns the piece of the arena that begins somewhere and ends where b ends.
func spanFrom(start int, b []byte) span { return span{uint32(start), uint32(len(b) - start)} }

// renderedSize estimates the size of the arena, so that it need not grow.
func (c *compiler) renderedSize() int {
	const head, tail = len(`,"":{"key":"","enabled":false,`), len(`,"metadata":{"id":,"version":1,"description":null,"has_experiment":true}}`) + 6
	size := 1 << 10 // for the reasons
	for _, m := range c.model {
		values := 2
		if v := m.Filters.Multivariate; v != nil {
			values += len(v.Variants)
		}
		size += tail + values*(head+2*len(m.Key))
		for _, p := range m.Filters.Payloads {
			size += tail + len(p)
		}
	}
	return int(min(int64(size), c.maxBytes))
}

// addValue renders one value of a flag. What its head begins with, and the tail without
// payload, are the same for all values of a flag.
func (c *compiler) addValue(f *compiledFlag, v value, stored json.RawMessage) int32 {
	start, b := len(c.arena), c.arena
	if c.plainHead.len == 0 {
		// The comma in front belongs to the flag before; the first one goes without.
		b = text.AppendQuoted(append(b, ','), f.key())
		quoted := b[start+1:]
		b = append(append(b, `:{"key":`...), quoted...)
		c.plainHead = spanFrom(start, b)
	} else {
		b = append(b, b[c.plainHead.off:][:c.plainHead.len]...)
	}
	b = v.append(b)
	e := edges{head: spanFrom(start, b), tail: c.plainTail}

	shown, ok := payloadText(stored)
	c.payload = c.payload[:0]
	if ok {
		c.payload = appendPayload(c.payload, stored, shown)
	}
	if ok || c.plainTail.len == 0 {
		var at int
		start = len(b)
		b, at = appendTail(b, f.id, f.version, f.hasExperiment, c.payload)
		e.tail = spanFrom(start, b)
		if ok {
			v.payload = int32(len(c.s.payloads))
			c.s.payloads = append(c.s.payloads, payload{span{uint32(at), uint32(len(c.payload))}, shown})
		} else {
			c.plainTail = e.tail
		}
	}
	c.arena = b
	c.s.values = append(c.s.values, v)
	c.s.edges = append(c.s.edges, e)
	return int32(len(c.s.values) - 1)
}

// appendPayload appends a payload as a JSON string: a stored string with the escapes
// that it has, and another value as its text, which is JSON.
func appendPayload(dst, payload []byte, asText string) []byte {
	v := jsonscan.Value(bytes.TrimSpace(payload))
	if v.Kind() == jsonscan.String && utf8.Valid(v) {
		return append(dst, v...)
	}
	return text.AppendQuoted(dst, asText)
}

// renderReasons renders the reasons of a Snapshot.
func (c *compiler) renderReasons(conditions int) {
	c.s.reasons = allReasons(conditions)
	c.s.rendered = make([]span, len(c.s.reasons))
	for i, r := range c.s.reasons {
		start := len(c.arena)
		c.arena = r.append(c.arena)
		c.s.rendered[i] = spanFrom(start, c.arena)
	}
}

func (c *compiler) checkSize() error {
	if int64(len(c.arena)) > c.maxBytes {
		return fmt.Errorf("%w: rendered results exceed %d bytes", ErrTooLarge, c.maxBytes)
	}
	return nil
}
