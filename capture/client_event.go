package capture

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/flags"
)

// A ClientEvent is an event to report.
type ClientEvent struct {
	Name       string // not empty
	DistinctID string // the person; not blank

	// Properties are encoded before Capture returns. They win over the properties
	// that the Client adds.
	Properties map[string]any

	// Groups maps group type names to group keys, for the property $groups.
	Groups map[string]string

	// Time is when it happened. Zero: now.
	Time time.Time

	// UUID distinguishes the event from others like it. Zero: a new one.
	UUID uuid.UUID
}

// An Exposure says that a person was shown a value of a flag.
//
// Its strings are kept until it is sent. A string that is part of a large text
// keeps that text in memory.
type Exposure struct {
	DistinctID string
	Flag       string // the key

	// Variant is the variant's key, or the result of Evaluator.Variant of package
	// flags: "true" and "false" are the boolean values. If it is empty, the value
	// is Enabled.
	Variant string
	Enabled bool

	// ID, Version and Reason are what is known about the flag, and why it has this
	// value. Zero values are left out.
	ID      int64
	Version int
	Reason  string

	// NoExperiment says that the flag has no experiment: has_experiment of its
	// definition is false. The event has the property $feature_flag_has_experiment.
	NoExperiment bool

	// Minimal leaves the property $feature/<key> out, as definitions can ask for flags
	// without an experiment (wire.md §1.9).
	Minimal bool

	// Answered says that a server has evaluated the flag, and not this program. The
	// event has the property locally_evaluated.
	Answered bool

	// RuleSet is what else there is to say of a flag with a rule set. Nil: it has condition
	// sets.
	RuleSet *RuleExposure

	// Groups maps group type names to group keys. The map must not change any
	// more.
	Groups map[string]string
}

// A RuleExposure is the part of an [Exposure] that is about a rule set (rules.md §6).
type RuleExposure struct {
	Value flags.TypedValue  // in place of Variant and Enabled
	Code  string            // of the reason
	Rule  *flags.RuleResult // that decided; nil: none did, or it is not known in full
}

// ExposureOf returns the exposure of the person in a request to the value of a flag. The
// groups of the request must not change any more. A nil request has no person, and a nil
// result no flag.
func ExposureOf(r *flags.Result, request *flags.Request) (e Exposure) {
	if r != nil {
		e = Exposure{
			Flag: r.Key, Variant: r.Variant, Enabled: r.Enabled,
			ID: r.Metadata.ID, Version: r.Metadata.Version, Reason: cmp.Or(r.Reason.Description, r.Reason.Code),
			NoExperiment: !r.Metadata.HasExperiment, Minimal: r.Metadata.MinimalEvents,
			Answered: r.Remote,
		}
		if r.JSON() != nil {
			e.RuleSet = &RuleExposure{Code: r.Reason.Code, Rule: r.Rule}
			e.RuleSet.Value, _ = r.Typed()
		}
	}
	if request != nil {
		e.DistinctID, e.Groups = request.DistinctID, request.Groups
	}
	return e
}

// value returns the variant's key, or "" and a boolean.
func (e *Exposure) value() (variant string, enabled bool) {
	return flagValue(e.Variant, e.Enabled)
}

// hash identifies an exposure. Another rule or variant with the same value is another one.
func (e *Exposure) hash(t *seenTable) uint64 {
	if r := e.RuleSet; r != nil {
		return t.typedKey(e.DistinctID, e.Flag, r.Value.JSON, r.Rule)
	}
	variant, enabled := e.value()
	return t.key(e.DistinctID, e.Flag, variant, enabled)
}

// isSplit reports whether an experiment has given the value, so that it is an exposure to that.
func (r *RuleExposure) isSplit() bool {
	return r != nil && r.Code == codeSplit && r.Rule != nil && r.Rule.ExperimentID != nil && r.Rule.VariantKey != "" && r.Value.JSON != `""`
}

const codeSplit = "experiment_split"

func flagValue(variant string, enabled bool) (string, bool) {
	switch variant {
	case "":
		return "", enabled
	case "true":
		return "", true
	case "false":
		return "", false
	}
	return variant, true
}

// FlagProperties adds the property $feature/<key> to an event's properties. It says
// which value of a flag the person had, so that the event can be broken down by it
// (api.md §6). The value is given as in [Exposure]. The result is dst, or a new map
// if dst is nil.
func FlagProperties(dst map[string]any, key, variant string, enabled bool) map[string]any {
	if dst == nil {
		dst = make(map[string]any)
	}
	variant, enabled = flagValue(variant, enabled)
	if variant != "" {
		dst["$feature/"+key] = variant
	} else {
		dst["$feature/"+key] = enabled
	}
	return dst
}

// Capture takes an event. It never blocks. The error is [ErrQueueFull],
// [ErrClientClosed] or a [*FieldError].
func (c *Client) Capture(e ClientEvent) error {
	if c.isUnset() {
		return ErrClientClosed
	}
	if err := checkEvent(e.Name, e.DistinctID); err != nil {
		return c.reject(err)
	}
	var properties []byte
	all := e.Properties
	if len(e.Groups) > 0 && all["$groups"] == nil {
		if all = maps.Clone(all); all == nil {
			all = make(map[string]any, 1)
		}
		all["$groups"] = e.Groups
	}
	if len(all) > 0 {
		var err error
		if properties, err = marshalProperties(all); err != nil {
			return c.reject(&FieldError{Field: "Properties", Allowed: "values that have a JSON form", Err: err})
		}
	}
	return c.enqueue(e.Name, e.DistinctID, properties, e.Time, e.UUID)
}

// marshalProperties encodes properties. A panic of a caller's MarshalJSON is an error.
func marshalProperties(properties map[string]any) (b []byte, err error) {
	defer func() {
		if v := recover(); v != nil {
			b, err = nil, fmt.Errorf("its encoding panicked: %T", v)
		}
	}()
	return json.Marshal(properties)
}

// CaptureJSON takes an event whose properties are a JSON object already, or empty.
// They must not change any more. It never blocks. The error is [ErrQueueFull],
// [ErrClientClosed] or a [*FieldError]. Properties that turn out to be no object are
// dropped later, and OnError is called.
func (c *Client) CaptureJSON(name, distinctID string, properties json.RawMessage) error {
	if c.isUnset() {
		return ErrClientClosed
	}
	if err := checkEvent(name, distinctID); err != nil {
		return c.reject(err)
	}
	if n := len(properties); n > 0 && (properties[0] != '{' || properties[n-1] != '}') {
		properties = bytes.TrimSpace(properties)
		if n = len(properties); n < 2 || properties[0] != '{' || properties[n-1] != '}' {
			return c.reject(errClientObject)
		}
	}
	return c.enqueue(name, distinctID, properties, time.Time{}, uuid.UUID{})
}

var (
	errClientName   = &FieldError{Field: "Name", Value: `""`, Allowed: "the event's name"}
	errClientID     = &FieldError{Field: "DistinctID", Value: `""`, Allowed: "who did it"}
	errClientFlag   = &FieldError{Field: "Flag", Value: `""`, Allowed: "the flag's key"}
	errClientObject = &FieldError{Field: "Properties", Allowed: "a JSON object"}
)

func checkEvent(name, distinctID string) error {
	switch {
	case name == "":
		return errClientName
	case distinctID == "" || distinctID[0] <= ' ' && blank(distinctID):
		return errClientID
	}
	return nil
}

func (c *Client) reject(err error) error {
	c.invalid.Add(1)
	return err
}

func (c *Client) enqueue(name, distinctID string, properties []byte, at time.Time, id uuid.UUID) error {
	if c.bytes.Add(int64(len(properties))) > c.c.MaxQueueBytes {
		c.bytes.Add(-int64(len(properties)))
		c.full.Add(1)
		return ErrQueueFull
	}
	pos, s, err := c.queue.reserve()
	if err != nil {
		c.bytes.Add(-int64(len(properties)))
		c.full.Add(1)
		return err
	}
	if at.IsZero() {
		at = time.Now()
	}
	i := &s.item
	i.name, i.distinctID, i.properties, i.uuid = name, distinctID, properties, id
	i.micros = at.UnixMicro()
	c.queue.publish(pos, s)
	return nil
}

// Exposed reports an exposure by an event $feature_flag_called, once for each
// person, flag and value as long as the exposure is remembered (see MaxExposures), and by
// $experiment_exposure if an experiment of a rule set has given the value.
// It never blocks and does not allocate. If the queue is full, the exposure is not
// remembered, so that it is reported next time.
func (c *Client) Exposed(e Exposure) { c.expose(e) }

// expose is Exposed, and reports whether the exposure is new.
func (c *Client) expose(e Exposure) bool {
	if c.isUnset() {
		return false
	}
	variant, enabled := e.value()
	var h uint64
	if c.seen != nil {
		h = e.hash(c.seen)
		if !c.seen.add(h) {
			return false
		}
	}
	pos, s, err := c.queue.reserve()
	if err != nil {
		c.full.Add(1)
		if c.seen != nil {
			c.seen.remove(h)
		}
		return false
	}
	now := time.Now().UnixMicro()
	s.item.expose(&e, variant, enabled, now)
	c.queue.publish(pos, s)
	if !e.RuleSet.isSplit() {
		return true
	}
	if pos, s, err = c.queue.reserve(); err != nil {
		c.full.Add(1)
		return true
	}
	s.item.expose(&e, variant, enabled, now)
	s.item.experiment = true
	c.queue.publish(pos, s)
	return true
}

// expose makes an empty item one of an exposure.
func (i *clientItem) expose(e *Exposure, variant string, enabled bool, micros int64) {
	i.exposure, i.enabled = true, enabled
	i.noExperiment, i.minimal, i.answered = e.NoExperiment, e.Minimal, e.Answered
	i.name, i.distinctID, i.variant, i.reason = e.Flag, e.DistinctID, variant, e.Reason
	i.id, i.version, i.groups, i.ruleSet = e.ID, e.Version, e.Groups, e.RuleSet
	i.micros = micros
}

// Shown is Exposed of [ExposureOf] the Detail's Result, and keeps nothing of the request: it
// copies what it sends, if the exposure is not remembered. A flag that failed or is
// inactive has no value to show. Shown does nothing without a request. It reports whether
// the exposure is new, so that there will be an event.
func (c *Client) Shown(b flags.Detail, request *flags.Request) (isNew bool) {
	if c.isUnset() || request == nil || b.Failed() || b.Inactive() {
		return false
	}
	if c.seen != nil {
		if c.seen.repeats(c.seen.ofDetail(request.DistinctID, b)) {
			return false
		}
	}
	result := b.Result()
	e := ExposureOf(&result, request)
	return c.expose(e.clone())
}

// clone copies the texts and the groups of an exposure.
func (e *Exposure) clone() Exposure {
	out := Exposure{
		Enabled: e.Enabled, ID: e.ID, Version: e.Version, NoExperiment: e.NoExperiment, Minimal: e.Minimal, Answered: e.Answered,
	}
	texts := e.DistinctID + e.Flag + e.Variant + e.Reason // one allocation for all
	out.DistinctID, texts = texts[:len(e.DistinctID)], texts[len(e.DistinctID):]
	out.Flag, texts = texts[:len(e.Flag)], texts[len(e.Flag):]
	out.Variant, out.Reason = texts[:len(e.Variant)], texts[len(e.Variant):]
	out.RuleSet = e.RuleSet.clone()
	if e.Groups != nil {
		out.Groups = make(map[string]string, len(e.Groups))
		maps.Copy(out.Groups, e.Groups)
	}
	return out
}

// clone copies the texts, which belong to a Snapshot.
func (r *RuleExposure) clone() *RuleExposure {
	if r == nil {
		return nil
	}
	out := *r
	out.Value.JSON, out.Value.Text, out.Code = strings.Clone(r.Value.JSON), strings.Clone(r.Value.Text), strings.Clone(r.Code)
	if r.Rule != nil {
		rule := *r.Rule
		rule.ID, rule.Type, rule.VariantKey = strings.Clone(rule.ID), strings.Clone(rule.Type), strings.Clone(rule.VariantKey)
		out.Rule = &rule
	}
	return &out
}
