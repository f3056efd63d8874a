package flags

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/flagstaff-go/flagstaff/flags/operator"
	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
	"github.com/flagstaff-go/flagstaff/internal/operators"
	"github.com/flagstaff-go/flagstaff/internal/text"
)

// A Trace tells how a flag came to its value: every step of the evaluation, with
// what was seen and what it was compared with. It has the subject's properties:
// treat it as personal data.
type Trace struct {
	Result

	// Hidden says why the request does not get the flag; it is "" if it does. The
	// Result of a hidden flag is what a flag that depends on it sees.
	Hidden string

	// Lacks is what the flag looks at, itself or through flags that it depends on,
	// that only a server knows and the request does not carry. [Snapshot.Explain]
	// sets it; an Input has what its server knows.
	Lacks StoredNeeds

	// Dependencies are the values of the flags that this one depends on.
	Dependencies []DependencyTrace

	// Enrollment is the early access property, if it decided.
	Enrollment *FilterTrace

	// Holdout is the draw of the flag's holdout, if it came to that.
	Holdout *BucketTrace

	// Conditions are all condition sets, with or without a look at them.
	Conditions []ConditionTrace

	// Why says in words how the reported reason was chosen.
	Why string
}

// The parts of a Trace have the JSON of the management API's explanations.

// A DependencyTrace is the value of a flag that another one depends on.
type DependencyTrace struct {
	Key string `json:"key"`

	// Value is "true", "false" or a variant's key. Note adds why it is
	// "false", or that the flag failed.
	Value string `json:"value"`
	Note  string `json:"note"`
}

// A ConditionTrace is what happened to one condition set.
type ConditionTrace struct {
	Index int `json:"index"`

	// Outcome is the reason code that the condition set contributed. It is
	// "provisional" if the condition set passed only because a flag that it
	// depends on failed, "error" if it failed the flag, and "not_reached" if
	// evaluation ended before it.
	Outcome string `json:"outcome"`
	Matched bool   `json:"matched"`

	// Aggregation is "person" or the name of a group type. Subject is the text
	// that is hashed if there is anything to draw.
	Aggregation string `json:"aggregation"`
	Subject     string `json:"subject"`

	// Filters are in the order in which they are evaluated.
	Filters []FilterTrace `json:"properties"`

	// Holdout is the draw of the holdout of a rule; nil if it has none.
	Holdout *BucketTrace `json:"holdout,omitempty"`

	// Rollout is the draw of the rollout; nil if the filters did not match.
	Rollout *BucketTrace `json:"rollout"`

	// Variant is the draw of the variant; nil if there was none. Pinned is the
	// key of the variant that the condition set pins, or "".
	Variant *VariantTrace `json:"variant"`
	Pinned  string        `json:"pinned_variant"`
}

// A FilterTrace is one comparison.
type FilterTrace struct {
	// Source is "person", "person_metadata", "group <type>", "cohort" or
	// "flag"; Key is the property's name, the cohort's id or the flag's key.
	Source string `json:"source"`
	Key    string `json:"key"`

	Operator string `json:"operator"`
	Value    string `json:"value"` // the filter's JSON, shortened

	// Present says whether the property was set, and Seen is its JSON,
	// shortened.
	Present bool   `json:"present"`
	Seen    string `json:"seen"`

	// Result is "match", "no match", "provisional", "error" or "not reached".
	Result string `json:"result"`
}

// A BucketTrace is the draw of a rollout or a holdout: the subject is in if its
// bucket is at most the threshold.
type BucketTrace struct {
	Subject   string  `json:"subject"`
	Bucket    float64 `json:"bucket"`
	Hashed    bool    `json:"hashed"` // false: everyone is in, and nothing was hashed
	Threshold float64 `json:"threshold"`
	In        bool    `json:"in"`
}

// A VariantTrace is the draw of a variant: it falls to the first variant whose
// bound is above the bucket.
type VariantTrace struct {
	Bucket  float64        `json:"bucket"`
	Bounds  []VariantShare `json:"bounds"`
	Variant string         `json:"variant"` // "" if the bucket lies beyond all bounds
}

// A VariantShare is where the share of a variant ends.
type VariantShare struct {
	Variant string  `json:"variant"`
	Below   float64 `json:"below"`
}

// Explain evaluates one flag as [Snapshot.Flag] does and tells how. If the request
// may not see the flag, Hidden says so, and there is no error. The error is
// [ErrUnknownFlag] if there is no such flag.
func (s *Snapshot) Explain(key string, r *Request) (*Trace, error) {
	if s.isUnset() {
		return nil, ErrNotReady
	}
	in := inputs.Get().(*Input)
	in.fromRequest(s, r)
	t, err := in.Explain(key)
	i, _ := s.find(key)
	if err == nil && t.Hidden == "" {
		t.Lacks = s.storedNeeds(i, in)
	}
	releaseInput(in)
	if err == nil && t.Hidden == "" && r.hasRemote() {
		result, answered := s.answer(i, r)
		switch {
		case answered:
			t.Result, t.Why = result, "the server has answered; what evaluation comes to here does not count"
		case !t.Lacks.IsZero():
			t.Unconfirmed = true
		}
	}
	return t, err
}

// Explain evaluates one flag as [Input.Flag] does and tells how; see
// [Snapshot.Explain]. If SurveysOnly hides the flag, Hidden says so.
func (in *Input) Explain(key string) (*Trace, error) {
	s := in.snap
	i, ok := s.find(key)
	if !ok {
		return nil, fmt.Errorf("%w: %q", ErrUnknownFlag, key)
	}
	f := &s.flags[i]
	t := new(Trace)
	hidden := s.whyHidden(i, &Request{Filter: in.filter})
	switch {
	case hidden != nil:
	case f.state == dormant:
		hidden = errInactive
	case in.SurveysOnly && !f.survey:
		hidden = errNoSurvey
	}
	if hidden != nil {
		t.Hidden = hidden.Error()
		t.Result = s.resultOrDisabled(i, decision{value: valueHidden})
		t.Why = "the flag is not evaluated for this request"
		return t, nil
	}

	// The dependencies are evaluated first and without a trace, then the flag
	// itself with one.
	result := in.decideWithDependencies(i, nil)
	for _, d := range f.direct() {
		t.Dependencies = append(t.Dependencies, in.traceDependency(d))
	}
	if f.state == normal {
		for n := range f.conditions {
			t.Conditions = append(t.Conditions, ConditionTrace{Index: n, Outcome: "not_reached", Filters: []FilterTrace{}, Aggregation: in.aggregationName(f.conditions[n].aggregation)})
		}
		in.trace = t
		result = in.decide(f)
		in.trace = nil
	}
	t.Result = s.resultOrDisabled(i, result)
	t.Why = t.explainReason(f)
	return t, nil
}

var (
	errInactive = errors.New("the flag is inactive")
	errNoSurvey = errors.New("the request asks for survey flags only")
)

// aggregationName returns what ConditionTrace.Aggregation says.
func (in *Input) aggregationName(a int32) string {
	switch {
	case a >= 0:
		return in.snap.groupNames[a]
	case a == ownerPerson:
		return "person"
	default:
		return "unknown group type"
	}
}

// traceDependency returns the value of flag i in the current run.
func (in *Input) traceDependency(i int32) DependencyTrace {
	s := in.snap
	t := DependencyTrace{Key: s.flags[i].key(), Value: "false"}
	if in.ran[i] != in.run || in.decisions[i].value < 0 { // a flag on a cycle has no value
		switch f := &s.flags[i]; {
		case f.unreadable:
			t.Note = "inactive, and cannot be understood"
		case f.state == dormant:
			t.Note = "inactive"
		case f.state == cyclic:
			t.Note = "on a dependency cycle"
		default:
			t.Note = "hidden by the request's filter"
		}
		return t
	}
	d := in.decisions[i]
	switch v := &s.values[d.value]; {
	case v.failed:
		t.Note = "failed: " + s.reasons[d.reason].Code
	case v.hasVariant:
		t.Value = v.variant
	case v.enabled:
		t.Value = "true"
	}
	return t
}

// seenText returns the JSON of a property, shortened.
func (in *Input) seenText(p *slotValue) string {
	if p.kind == jsonscan.String {
		return shorten(text.AppendQuoted(nil, in.text(p)))
	}
	return strings.Clone(shorten(in.text(p))) // the text may belong to the Input
}

// The methods below fill in.trace. decide and its steps call them only while
// Explain has set it.

func (in *Input) traceEnrollment(f *compiledFlag, p *slotValue, enrolled bool) {
	result := "not enrolled"
	if enrolled {
		result = "enrolled"
	}
	in.trace.Enrollment = &FilterTrace{
		Source: "person", Key: in.snap.slots[f.enrollment].name,
		Operator: operator.IsSet, Present: true, Seen: in.seenText(p), Result: result,
	}
}

func (in *Input) traceHoldout(f *compiledFlag, subject string, drawn point, out bool) {
	in.trace.Holdout = &BucketTrace{Subject: strings.Clone(subject), Bucket: drawn.share(), Hashed: true, Threshold: f.rare.holdoutAt, In: out}
}

func (in *Input) traceRuleHoldout(rule *compiledRule, subject string, drawn point, out bool, i int32) {
	in.trace.Conditions[i].Holdout = &BucketTrace{Subject: strings.Clone(subject), Bucket: drawn.share(), Hashed: true, Threshold: rule.holdoutAt, In: out}
}

// traceSkip records a condition set without a usable subject.
func (in *Input) traceSkip(f *compiledFlag, i int32) {
	t := &in.trace.Conditions[i]
	t.Outcome = ReasonNoGroupType
	if f.conditions[i].aggregation == ownerPerson {
		t.Outcome = ReasonOutOfRollout
	}
	t.Filters = in.filterTraces(&f.conditions[i])
	t.passOver(0)
}

// traceFilters records the filters of a condition set and what matchFilters
// returned for them.
func (in *Input) traceFilters(f *compiledFlag, i int32, subject string, result verdict, n int) {
	t, c := &in.trace.Conditions[i], &f.conditions[i]
	t.Subject = strings.Clone(subject)
	if c.pinned >= 0 {
		t.Pinned = in.snap.values[c.pinned].variant
	}
	t.Filters = in.filterTraces(c)
	switch result {
	case no:
		t.Outcome = ReasonNoConditionMatch
		t.passOver(n + 1)
	case broken:
		t.Outcome = "error"
		t.passOver(n + 1)
	}
}

// passOver marks the filters from place n on, which were not looked at.
func (t *ConditionTrace) passOver(n int) {
	for ; n < len(t.Filters); n++ {
		t.Filters[n].Result = "not reached"
	}
}

// filterTraces returns the filters of a condition set as if all of them had been
// reached.
func (in *Input) filterTraces(c *compiledCondition) []FilterTrace {
	filters := make([]FilterTrace, len(c.checks))
	for n, id := range c.checks {
		filters[n] = in.filterTrace(id)
	}
	return filters
}

func (in *Input) filterTrace(id uint32) FilterTrace {
	s, c := in.snap, &in.snap.checks[id]
	t := FilterTrace{Operator: c.name, Value: c.value}
	switch v := in.verdict(id); v {
	case yes:
		t.Result = "match"
	case no:
		t.Result = "no match"
	case provisional:
		t.Result = "provisional"
	default:
		t.Result = "error"
	}
	switch {
	case c.op == operators.OpFail:
		t.Source, t.Value = "undecodable", failures[c.fail].Description
	case c.op == operators.OpFlag:
		d := in.traceDependency(c.slot)
		t.Source, t.Key, t.Present, t.Seen = "flag", d.Key, true, d.Value
		if d.Note != "" {
			t.Seen += " (" + d.Note + ")"
		}
	case c.op == operators.OpCohort || c.op == operators.OpCohortNever:
		t.Source, t.Key, t.Present, t.Seen = "cohort", c.value, true, "not a member"
		if in.isMember(c.slot) {
			t.Seen = "member"
		}
	case c.slot < 0:
		t.Source = "flag or cohort"
	default:
		def := &s.slots[c.slot]
		t.Key = def.name
		switch {
		case def.owner == ownerMetadata:
			t.Source = "person_metadata"
		case def.owner >= 0:
			t.Source = "group " + s.groupNames[def.owner]
		case def.owner == ownerNobody:
			t.Source = "unknown group"
		default:
			t.Source = "person"
		}
		if p := in.property(c.slot); p != nil {
			t.Present, t.Seen = true, in.seenText(p)
		}
	}
	return t
}

func (in *Input) traceRollout(f *compiledFlag, i int32, subject string, inside bool) {
	t, c := &in.trace.Conditions[i], &f.conditions[i]
	t.Rollout = &BucketTrace{Subject: t.Subject, Threshold: c.threshold, In: inside, Hashed: !c.everyone}
	if !c.everyone {
		prefix := f.prefix
		if f.ruled {
			prefix = f.rare.rules.rules[i].prefix
		}
		t.Rollout.Bucket = in.bucketFor(prefix, f.hash, subject, saltRollout).share()
	}
	in.current = i
	switch {
	case !inside:
		t.Outcome = ReasonOutOfRollout
	case slices.ContainsFunc(t.Filters, func(f FilterTrace) bool { return f.Result == "provisional" }):
		t.Outcome = "provisional"
	default:
		t.Outcome, t.Matched = ReasonConditionMatch, true
	}
}

// traceEnd records what a rule came to that has no rollout, or whose rollout did not count: it is
// paused, has held the subject out, or is a split of another product.
func (in *Input) traceEnd(i int32, d decision) {
	t := &in.trace.Conditions[i]
	if t.Outcome != "not_reached" {
		return
	}
	switch code := in.snap.reasons[d.reason].Code; code {
	case codeTargeting:
		t.Outcome, t.Matched = ReasonConditionMatch, true
	case codeRolloutMiss:
		t.Outcome = ReasonOutOfRollout
	default:
		t.Outcome = code
	}
}

func (in *Input) traceVariant(f *compiledFlag, drawn point, value int32) {
	t := &VariantTrace{Bucket: drawn.share(), Bounds: []VariantShare{}, Variant: in.snap.values[value].variant}
	if f.ruled {
		rule := &f.rare.rules.rules[in.current]
		for n, b := range rule.variants {
			t.Bounds = append(t.Bounds, VariantShare{rule.keys[n], b.below})
			if b.value == value {
				t.Variant = rule.keys[n]
			}
		}
	}
	for _, b := range f.variants {
		t.Bounds = append(t.Bounds, VariantShare{in.snap.values[b.value].variant, b.below})
	}
	in.trace.Conditions[in.current].Variant = t
}

// MarshalJSON writes the result under "result", the value of a rule set under "value", and the
// steps beside them.
func (t *Trace) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Value        json.RawMessage   `json:"value,omitempty"` // of a rule set
		Result       Result            `json:"result"`
		Hidden       string            `json:"hidden,omitempty"`
		Lacks        StoredNeeds       `json:"lacks,omitzero"`
		Dependencies []DependencyTrace `json:"dependencies,omitempty"`
		Enrollment   *FilterTrace      `json:"enrollment,omitempty"`
		Holdout      *BucketTrace      `json:"holdout,omitempty"`
		Conditions   []ConditionTrace  `json:"conditions,omitempty"`
		Why          string            `json:"why"`
	}{t.Result.JSON(), t.Result, t.Hidden, t.Lacks, t.Dependencies, t.Enrollment, t.Holdout, t.Conditions, t.Why})
}
