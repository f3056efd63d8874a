package flags

import (
	"fmt"
	"strconv"

	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
	"github.com/flagstaff-go/flagstaff/internal/text"
)

// UnmarshalJSON reads an entry of the answer to POST /flags, as a client does: one of v=3 by
// rules.md §4.5, and one without the member value, which MarshalJSON writes, by
// evaluation.md §11.1. Members that it does not know are passed over, and an absent or null one
// is the zero value, but for has_experiment, which is true then, and the condition index, which
// is -1.
func (r *Result) UnmarshalJSON(b []byte) error {
	v, err := jsonscan.Parse(b, maxDepth)
	if err != nil {
		return fmt.Errorf("flags: result: %w", err)
	}
	if v.Kind() != jsonscan.Object {
		return fmt.Errorf("flags: result: %w", wrongType(v, "an object"))
	}
	var fault error
	out := membersOf(v, "", &fault).result()
	if fault != nil {
		return fmt.Errorf("flags: result: %w", fault)
	}
	*r = out
	return nil
}

// resultMembers are the members of an object in a result.
type resultMembers struct {
	byName map[string]jsonscan.Value
	at     string // begins the names of its members
	fault  *error // the first
}

func membersOf(v jsonscan.Value, at string, fault *error) resultMembers {
	m := resultMembers{make(map[string]jsonscan.Value), at, fault}
	for o := v.Object(); o.Next(); {
		m.byName[string(o.Name())] = o.Value()
	}
	return m
}

// get returns a member. It is not ok if that is absent, null, or of another kind.
func (m resultMembers) get(name, want string, kinds ...jsonscan.Kind) (v jsonscan.Value, ok bool) {
	v, ok = m.byName[name]
	if !ok || v.Kind() == jsonscan.Null {
		return nil, false
	}
	for _, k := range kinds {
		if v.Kind() == k {
			return v, true
		}
	}
	return nil, m.fail(name, v, want)
}

// fail reports a member of another kind. It returns false.
func (m resultMembers) fail(name string, v jsonscan.Value, want string) bool {
	if *m.fault == nil {
		*m.fault = fmt.Errorf("%s%s %w", m.at, name, wrongType(v, want))
	}
	return false
}

func (m resultMembers) object(name string) resultMembers {
	v, _ := m.get(name, "an object", jsonscan.Object)
	return membersOf(v, m.at+name+".", m.fault)
}

func (m resultMembers) text(name string) string {
	v, ok := m.get(name, "a string", jsonscan.String)
	if !ok {
		return ""
	}
	s, _ := text.Str(v)
	return s
}

func (m resultMembers) bool(name string, otherwise bool) bool {
	v, ok := m.get(name, "true or false", jsonscan.True, jsonscan.False)
	if !ok {
		return otherwise
	}
	return v.Kind() == jsonscan.True
}

// integer returns a whole number, nil if there is none. 1.0 is one.
func (m resultMembers) integer(name string) *int64 {
	const want = "an integer"
	v, ok := m.get(name, want, jsonscan.Number)
	if !ok {
		return nil
	}
	n, err := strconv.ParseInt(string(v), 10, 64)
	if err != nil {
		if n, ok = integer(v); !ok {
			m.fail(name, v, want)
		}
	}
	return &n
}

// result reads a record.
func (m resultMembers) result() Result {
	reason, metadata := m.object("reason"), m.object("metadata")
	out := Result{
		Key: m.text("key"), Failed: m.bool("failed", false),
		Reason:   Reason{reason.text("code"), -1, reason.text("description")},
		Metadata: Metadata{HasExperiment: metadata.bool("has_experiment", true)},
	}
	if i := reason.integer("condition_index"); i != nil && *i >= 0 {
		out.Reason.ConditionIndex = int(*i)
	}
	if id := metadata.integer("id"); id != nil {
		out.Metadata.ID = *id
	}
	if version := metadata.integer("version"); version != nil {
		out.Metadata.Version = int(*version)
	}
	value, ok := m.byName["value"]
	if !ok { // an old server
		out.Enabled = m.bool("enabled", false)
		if v, ok := m.get("variant", "a string", jsonscan.String); ok {
			out.Variant, _ = text.Str(v)
			out.hasVariant = true
		}
		out.setPayload(metadata.byName["payload"])
		return out
	}
	kind := value.Kind()
	typed := kind == jsonscan.Number || kind == jsonscan.Object
	config := metadata.integer("config_version")
	if config != nil {
		typed = *config != 1
	}
	switch {
	case kind == jsonscan.Array:
		m.fail("value", value, "a boolean, a string, a number, an object or null")
	case !typed && (kind == jsonscan.Number || kind == jsonscan.Object):
		m.fail("value", value, "a boolean, a string or null")
	case typed:
		out.setTyped(value)
	default:
		out.setValue(value)
		out.setPayload(metadata.byName["payload"])
	}
	m.get("conditions", "an array", jsonscan.Array)
	metadata.bool("forced_variant", false)
	metadata.text("description")
	rule := RuleResult{
		metadata.text("rule_id"), metadata.text("rule_type"), metadata.integer("experiment_id"),
		metadata.text("variant_key"), metadata.integer("holdout_id"),
	}
	if typed && (config == nil || *config == ruleVersion) && out.Reason.has(&rule) {
		out.Rule = &rule
	}
	return out
}

// setValue sets a value that condition sets can have.
func (r *Result) setValue(v jsonscan.Value) {
	switch v.Kind() {
	case jsonscan.True:
		r.Enabled = true
	case jsonscan.String:
		r.Enabled, r.hasVariant = true, true
		r.Variant, _ = text.Str(v)
	}
}

// setTyped sets the value of a rule set, also as older clients see it (rules.md §4.4).
func (r *Result) setTyped(v jsonscan.Value) {
	r.typed = "null"
	if r.Failed {
		return
	}
	r.typed = string(compact(v))
	if k := v.Kind(); k != jsonscan.Number && k != jsonscan.Object {
		r.setValue(v)
		return
	}
	r.Enabled = true
	r.setPayload(jsonscan.Value(r.typed))
}

func (r *Result) setPayload(payload jsonscan.Value) {
	if shown, ok := payloadText(payload); ok {
		r.Metadata.Payload = shown
		r.payload = appendPayload(nil, payload, shown)
	}
}

// has reports whether a result with the reason can have the rule, by the table of
// rules.md §4.3. A part of what it says about the rule would be worth nothing.
func (r *Reason) has(rule *RuleResult) bool {
	linked, drawn := rule.ExperimentID != nil, rule.VariantKey != ""
	if r.ConditionIndex < 0 || rule.ID == "" || drawn != (r.Code == codeSplit) {
		return false
	}
	experiment := rule.Type == ruleExperiment
	switch r.Code {
	case codeTargeting:
		return (experiment || rule.Type == ruleTargeted || rule.Type == ruleRollout || rule.Type == ruleOfSplit) && !linked && rule.HoldoutID == nil
	case codeSplit:
		return experiment && linked && rule.HoldoutID == nil
	case codeRolloutMiss:
		return (experiment || rule.Type == ruleRollout || rule.Type == ruleOfSplit) && (experiment || !linked) && rule.HoldoutID == nil
	case codePaused:
		return experiment && rule.HoldoutID == nil
	case codeRuleHoldout:
		return experiment && linked == (rule.HoldoutID != nil)
	}
	return false
}
