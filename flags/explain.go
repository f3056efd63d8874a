package flags

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
	"github.com/flagstaff-go/flagstaff/internal/text"
)

// A Trace tells how a flag came to its value: every step that was taken, with
// what was seen and what it was compared with. It holds the subject's
// properties; treat it as personal data.
type Trace struct {
	Result

	// Hidden says why the request does not get the flag; "" if it does. The
	// result is then what a dependent flag sees.
	Hidden string

	// Dependencies are the values of the flags that this one depends on.
	Dependencies []DependencyTrace

	// Enrollment is the early access property, if it was present and decided.
	Enrollment *FilterTrace

	// Holdout is the holdout's draw, if the flag has a holdout.
	Holdout *BucketTrace

	// Conditions are the condition sets, those that were not reached included.
	Conditions []ConditionTrace

	// Why says in words why the reported reason was chosen.
	Why string
}

// A DependencyTrace is the value of a flag that another one depends on.
type DependencyTrace struct {
	Key string

	// Value is "true", "false" or a variant's key. Note adds why it is
	// "false", or that the flag failed.
	Value string
	Note  string
}

// A ConditionTrace is what happened to one condition set.
type ConditionTrace struct {
	Index int

	// Outcome is the reason code that the condition set contributed;
	// "provisional" if it passed only because the flag it depends on failed,
	// "error" if it failed the flag, "not_reached" if it was not looked at.
	Outcome string
	Matched bool

	// Aggregation is "person" or the name of a group type; Subject is the text
	// that was hashed or would have been.
	Aggregation string
	Subject     string

	// Filters are in the order in which they are evaluated.
	Filters []FilterTrace

	// Rollout is the rollout's draw; nil if the filters did not match.
	Rollout *BucketTrace

	// Variant is the variant's draw; nil if there was none. Pinned is the
	// variant that the condition set pins.
	Variant *VariantTrace
	Pinned  string
}

// A FilterTrace is one comparison.
type FilterTrace struct {
	// Source is "person", "person_metadata", "group <type>", "cohort" or
	// "flag"; Key is the property's name, the cohort's id or the flag's key.
	Source string
	Key    string

	Operator string
	Value    string // the filter's JSON, shortened

	// Present says whether the property was set, and Seen is its JSON,
	// shortened.
	Present bool
	Seen    string

	// Result is "match", "no match", "provisional", "error" or "not reached".
	Result string
}

// A BucketTrace is one draw: the bucket is in when it is at most the threshold.
type BucketTrace struct {
	Subject   string
	Bucket    float64
	Hashed    bool // false: everyone is in, and nothing was hashed
	Threshold float64
	In        bool
}

// A VariantTrace is the draw of a variant: the first whose bound is above the
// bucket.
type VariantTrace struct {
	Bucket  float64
	Bounds  []VariantShare
	Variant string // "" if the bucket lies beyond all
}

// A VariantShare is the end of a variant's share.
type VariantShare struct {
	Variant string
	Below   float64
}

// Explain evaluates one flag as [Snapshot.Flag] does and tells how. A flag that
// the request may not see is explained all the same, with Hidden set. It
// returns ErrUnknownFlag if there is no such flag.
func (s *Snapshot) Explain(key string, r *Request) (*Trace, error) {
	in := inputs.Get().(*Input)
	in.fromRequest(s, r)
	t, err := in.Explain(key)
	releaseInput(in)
	return t, err
}

// Explain evaluates one flag as [Input.Flag] does and tells how; see
// [Snapshot.Explain]. If SurveysOnly hides the flag, Hidden says so.
func (in *Input) Explain(key string) (*Trace, error) {
	s := in.snap
	i, ok := s.index[key]
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

	// Dependencies first and without a trace, then the flag itself with one.
	out := in.decideWithDependencies(i)
	for _, d := range f.direct {
		t.Dependencies = append(t.Dependencies, in.traceDependency(d))
	}
	if f.state == normal {
		for n := range f.conditions {
			t.Conditions = append(t.Conditions, ConditionTrace{Index: n, Outcome: "not_reached", Aggregation: in.aggregationName(f.conditions[n].aggregation)})
		}
		in.trace = t
		out = in.decide(f)
		in.trace = nil
	}
	t.Result = s.resultOrDisabled(i, out)
	t.Why = t.explainReason(f)
	return t, nil
}

var (
	errInactive = errors.New("the flag is inactive")
	errNoSurvey = errors.New("the request asks for survey flags only")
)

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

func (in *Input) traceDependency(i int32) DependencyTrace {
	s := in.snap
	t := DependencyTrace{Key: s.flags[i].key, Value: "false"}
	if in.ran[i] != in.run {
		switch s.flags[i].state {
		case dormant:
			t.Note = "inactive"
		case cyclic:
			t.Note = "on a dependency cycle"
		default:
			t.Note = "hidden by the request's filter"
		}
		return t
	}
	out := in.decisions[i]
	switch v := &s.values[out.value]; {
	case v.failed:
		t.Note = "failed: " + s.reasons[out.reason].Code
	case v.hasVariant:
		t.Value = v.variant
	case v.enabled:
		t.Value = "true"
	}
	return t
}

// seenText returns a property's JSON for people.
func (in *Input) seenText(p *property) string {
	if p.kind == jsonscan.String {
		return shorten(text.AppendQuoted(nil, in.text(p)))
	}
	return shorten(in.text(p))
}

func (in *Input) traceEnrollment(p *property, enrolled bool) {
	result := "not enrolled"
	if enrolled {
		result = "enrolled"
	}
	in.trace.Enrollment = &FilterTrace{
		Source: "person", Key: in.snap.slots[in.slotOf(p)].name,
		Operator: "is_set", Present: true, Seen: in.seenText(p), Result: result,
	}
}

func (in *Input) slotOf(p *property) int {
	for i := range in.slots {
		if p == &in.slots[i] {
			return i
		}
	}
	return 0
}

func (in *Input) traceHoldout(f *compiledFlag, subject string, bucket float64, out bool) {
	in.trace.Holdout = &BucketTrace{Subject: subject, Bucket: bucket, Hashed: true, Threshold: f.holdoutAt, In: out}
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
// found.
func (in *Input) traceFilters(f *compiledFlag, i int32, subject string, result verdict, n int) {
	t, c := &in.trace.Conditions[i], &f.conditions[i]
	t.Subject = subject
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

func (in *Input) filterTraces(c *compiledCondition) []FilterTrace {
	filters := make([]FilterTrace, len(c.steps))
	for n, id := range c.steps {
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
	case c.op == opFail:
		t.Source, t.Value = "undecodable", failures[c.fail].Description
	case c.op == opFlag:
		d := in.traceDependency(c.slot)
		t.Source, t.Key, t.Present, t.Seen = "flag", d.Key, true, d.Value
		if d.Note != "" {
			t.Seen += " (" + d.Note + ")"
		}
	case c.op == opCohort || c.op == opCohortNever:
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
	t.Rollout = &BucketTrace{Subject: subject, Threshold: c.threshold, In: inside, Hashed: !c.everyone}
	if !c.everyone {
		t.Rollout.Bucket = in.bucket(f, subject, saltRollout)
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

func (in *Input) traceVariant(f *compiledFlag, bucket float64, value int32) {
	t := &VariantTrace{Bucket: bucket, Variant: in.snap.values[value].variant}
	for _, b := range f.variants {
		t.Bounds = append(t.Bounds, VariantShare{in.snap.values[b.value].variant, b.below})
	}
	in.trace.Conditions[in.current].Variant = t
}

// explainReason puts the choice of the reason into words.
func (t *Trace) explainReason(f *compiledFlag) string {
	switch {
	case f.state == missing:
		return "a flag that it depends on, directly or not, does not exist"
	case f.state == faulty:
		return "the definition cannot be understood"
	case f.state == cyclic:
		return "it depends on itself, or on a flag that does"
	case t.Failed:
		return "the flag could not be computed: " + t.Reason.Description
	}
	switch t.Reason.Code {
	case ReasonSuperCondition:
		return "the early access property decides before holdout and condition sets"
	case ReasonHoldout:
		return "the subject is held out before any condition set is looked at"
	case ReasonConditionMatch:
		return fmt.Sprintf("condition set %d is the first that matched", t.Reason.ConditionIndex)
	case ReasonOutOfRollout:
		if c := t.Reason.ConditionIndex; f.earlyExit && len(t.Conditions) > c+1 && t.Conditions[c+1].Outcome == "not_reached" {
			return fmt.Sprintf("the filters of condition set %d matched, its rollout did not, and the flag exits early", c)
		}
		return "nothing matched; out of rollout ranks highest, and of several the last one is reported"
	case ReasonNoConditionMatch:
		return "nothing matched; a mismatch ranks above a missing group, and of several the last one is reported"
	}
	if t.Reason.ConditionIndex < 0 {
		return "the flag has no condition sets"
	}
	return "every condition set lacks its group; the last one is reported"
}

// String returns the trace as lines for people.
func (t *Trace) String() string {
	var b strings.Builder
	line := func(indent int, format string, args ...any) {
		b.WriteString(strings.Repeat("  ", indent))
		fmt.Fprintf(&b, format, args...)
		b.WriteByte('\n')
	}
	line(0, "%s = %s (%s)", t.Key, t.valueText(), t.Reason.Description)
	if t.Hidden != "" {
		line(1, "hidden: %s", t.Hidden)
	}
	for _, d := range t.Dependencies {
		line(1, "depends on %s = %s%s", d.Key, d.Value, inParentheses(d.Note))
	}
	if e := t.Enrollment; e != nil {
		line(1, "early access: %s is %s: %s", e.Key, e.Seen, e.Result)
	}
	if h := t.Holdout; h != nil {
		line(1, "holdout: %s", h)
	}
	for i := range t.Conditions {
		c := &t.Conditions[i]
		line(1, "condition set %d, by %s: %s", c.Index, c.Aggregation, c.Outcome)
		for _, f := range c.Filters {
			line(2, "%s", f)
		}
		if c.Rollout != nil {
			line(2, "rollout: %s", c.Rollout)
		}
		if c.Rollout != nil && c.Rollout.In && c.Pinned != "" {
			line(2, "variant: %s, pinned", c.Pinned)
		}
		if v := c.Variant; v != nil {
			line(2, "variant: %s", v)
		}
	}
	line(1, "why: %s", t.Why)
	return b.String()
}

func (t *Trace) valueText() string {
	switch {
	case t.Failed:
		return "failed"
	case t.hasVariant:
		return fmt.Sprintf("%q", t.Variant)
	default:
		return fmt.Sprint(t.Enabled)
	}
}

func inParentheses(s string) string {
	if s == "" {
		return ""
	}
	return " (" + s + ")"
}

// String returns the comparison as one line.
func (f FilterTrace) String() string {
	seen := "absent"
	if f.Present {
		seen = f.Seen
	}
	return fmt.Sprintf("%s %s %s %s, seen %s: %s", f.Source, f.Key, f.Operator, f.Value, seen, f.Result)
}

// String returns the draw as one line.
func (b *BucketTrace) String() string {
	if !b.Hashed {
		return "everyone"
	}
	in := "out"
	if b.In {
		in = "in"
	}
	return fmt.Sprintf("%q falls at %.6f, threshold %.6f: %s", b.Subject, b.Bucket, b.Threshold, in)
}

// String returns the draw as one line.
func (v *VariantTrace) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%.6f among", v.Bucket)
	for _, s := range v.Bounds {
		fmt.Fprintf(&b, " %s < %.6f", s.Variant, s.Below)
	}
	if v.Variant == "" {
		return b.String() + ": none"
	}
	return b.String() + ": " + v.Variant
}

// MarshalJSON writes the result under "result", and the steps beside it.
func (t *Trace) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Result       Result            `json:"result"`
		Hidden       string            `json:"hidden,omitempty"`
		Dependencies []DependencyTrace `json:"dependencies,omitempty"`
		Enrollment   *FilterTrace      `json:"enrollment,omitempty"`
		Holdout      *BucketTrace      `json:"holdout,omitempty"`
		Conditions   []ConditionTrace  `json:"conditions,omitempty"`
		Why          string            `json:"why"`
	}{t.Result, t.Hidden, t.Dependencies, t.Enrollment, t.Holdout, t.Conditions, t.Why})
}
