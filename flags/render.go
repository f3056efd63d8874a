package flags

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
	"github.com/flagstaff-go/flagstaff/internal/text"
)

// Results are rendered when flags are compiled, in factors: a head with the
// key and the value, the reason, and a tail with the metadata and the payload.
// To write a result is to copy the three. So memory grows with conditions plus
// variants, not with their product.

// A span is a piece of Snapshot.arena.
type span struct{ off, len uint32 }

func (s *Snapshot) rendering(p span) []byte { return s.arena[p.off : p.off+p.len : p.off+p.len] }

// edges are the head and the tail of a value.
type edges struct{ head, tail span }

// A value is one value that a flag can have.
type value struct {
	payload    span   // the payload's JSON within the tail; empty: none
	text       string // the payload as Metadata.Payload shows it
	variant    string
	hasVariant bool
	enabled    bool
	failed     bool
}

func (s *Snapshot) result(i int32, out decision) Result {
	f, v := &s.flags[i], &s.values[out.value]
	return Result{
		Key: f.key, Enabled: v.enabled, Variant: v.variant, Failed: v.failed,
		Reason:     s.reasons[out.reason],
		Metadata:   Metadata{ID: f.id, Version: f.version, Payload: v.text, HasExperiment: f.hasExperiment},
		hasVariant: v.hasVariant,
		basis:      s.basis(f, out.reason),
		form:       f.form,
		payload:    s.rendering(v.payload),
	}
}

func (c *compiler) spanFrom(from int) span {
	return span{uint32(from), uint32(len(c.arena) - from)}
}

// addValue renders one value of a flag. The tail without payload is the same
// for all values of a flag.
func (c *compiler) addValue(f *compiledFlag, v value, payload json.RawMessage) int32 {
	start := len(c.arena)
	// The comma in front belongs to the flag before; the first one goes without.
	c.arena = append(text.AppendQuoted(append(c.arena, ','), f.key), `:{"key":`...)
	c.arena = append(text.AppendQuoted(c.arena, f.key), `,"enabled":`...)
	c.arena = strconv.AppendBool(c.arena, v.enabled)
	if v.hasVariant {
		c.arena = text.AppendQuoted(append(c.arena, `,"variant":`...), v.variant)
	}
	if v.failed {
		c.arena = append(c.arena, `,"failed":true`...)
	}
	c.arena = append(c.arena, ',')
	e := edges{head: c.spanFrom(start)}

	var ok bool
	if v.text, ok = payloadText(payload); ok {
		e.tail, v.payload = c.renderTail(f, payload, v.text)
	} else {
		if c.plainTail.len == 0 {
			c.plainTail, _ = c.renderTail(f, nil, "")
		}
		e.tail = c.plainTail
	}
	c.s.values = append(c.s.values, v)
	c.s.edges = append(c.s.edges, e)
	return int32(len(c.s.values) - 1)
}

// renderTail renders what follows the reason. The payload, nil for none, comes with
// its text.
func (c *compiler) renderTail(f *compiledFlag, payload []byte, asText string) (tail, at span) {
	start := len(c.arena)
	c.arena = strconv.AppendInt(append(c.arena, `,"metadata":{"id":`...), f.id, 10)
	c.arena = strconv.AppendInt(append(c.arena, `,"version":`...), int64(f.version), 10)
	c.arena = append(c.arena, `,"description":null`...)
	if payload != nil {
		c.arena = append(c.arena, `,"payload":`...)
		at.off = uint32(len(c.arena))
		c.arena = appendPayload(c.arena, payload, asText)
		at = c.spanFrom(int(at.off))
	}
	c.arena = strconv.AppendBool(append(c.arena, `,"has_experiment":`...), f.hasExperiment)
	c.arena = append(c.arena, `}}`...)
	return c.spanFrom(start), at
}

// appendPayload appends a payload as it is stored: a string with the escapes that
// it has, and another value as its text, which is JSON.
func appendPayload(dst, payload []byte, asText string) []byte {
	v := jsonscan.Value(bytes.TrimSpace(payload))
	switch {
	case v.Kind() != jsonscan.String:
		return append(dst, asText...)
	case utf8.Valid(v):
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
		c.arena = text.AppendQuoted(append(c.arena, `"reason":{"code":`...), r.Code)
		c.arena = append(c.arena, `,"condition_index":`...)
		if r.ConditionIndex < 0 {
			c.arena = append(c.arena, "null"...)
		} else {
			c.arena = strconv.AppendInt(c.arena, int64(r.ConditionIndex), 10)
		}
		c.arena = text.AppendQuoted(append(c.arena, `,"description":`...), r.Description)
		c.arena = append(c.arena, '}')
		c.s.rendered[i] = c.spanFrom(start)
	}
}

func (c *compiler) checkSize() error {
	if int64(len(c.arena)) > c.maxBytes {
		return fmt.Errorf("%w: rendered results exceed %d bytes", ErrTooLarge, c.maxBytes)
	}
	return nil
}
