package flags

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/flagstaff-go/flagstaff/internal/operators"
)

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
		return fmt.Sprintf("condition set %d is the first that matched", t.Reason.ConditionIndex+1)
	case ReasonOutOfRollout:
		if c := t.Reason.ConditionIndex; f.earlyExit && len(t.Conditions) > c+1 && t.Conditions[c+1].Outcome == "not_reached" {
			return fmt.Sprintf("the filters of condition set %d matched, its rollout did not, and the flag exits early", c+1)
		}
		return "nothing matched; out of rollout ranks highest, and of several the last one is reported"
	case ReasonNoConditionMatch:
		return "nothing matched; a mismatch ranks above a missing group, and of several the last one is reported"
	}
	if why := ruleReasons[t.Reason.Code]; why != "" {
		return strings.ReplaceAll(why, "#", strconv.Itoa(t.Reason.ConditionIndex+1))
	}
	if t.Reason.ConditionIndex < 0 {
		return "the flag has no condition sets"
	}
	return "every condition set lacks its group; the last one is reported"
}

// ruleReasons puts the reasons of rule sets into words; # is the number of the rule.
var ruleReasons = map[string]string{
	codeTargeting:    "rule # is the first that gave a value",
	codeSplit:        "rule # is the first that gave a value",
	codeRolloutMiss:  "the filters of rule # matched, its rollout did not, and the rule ends with the default",
	codePaused:       "the filters of rule # matched, and it is paused: it gives the default",
	codeRuleHoldout:  "the filters of rule # matched, and its holdout takes the subject out",
	codeNoRule:       "no rule gave a value",
	ReasonNoGroupKey: "the request does not name the group that the flag is for",
}

// String returns the trace as lines for people, who count condition sets from 1.
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
	if !t.Lacks.IsZero() {
		line(1, "needs what only the server knows: %s", t.Lacks)
	}
	if t.Unconfirmed {
		line(1, "unconfirmed: the server was asked and has not answered for this flag")
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
		what := "condition set"
		if t.typed != "" {
			what = "rule"
		}
		line(1, "%s %d, by %s: %s", what, c.Index+1, c.Aggregation, c.Outcome)
		for _, f := range c.Filters {
			line(2, "%s", f)
		}
		if c.Holdout != nil {
			line(2, "holdout: %s", c.Holdout)
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
	case t.typed != "":
		return t.typed
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
	says := f.Operator
	if o, ok := operators.Named(f.Operator); ok {
		says = o.Words
		if o.Operand == operators.OperandNone {
			return fmt.Sprintf("%s %s %s, seen %s: %s", f.Source, f.Key, says, seen, f.Result)
		}
	}
	return fmt.Sprintf("%s %s %s %s, seen %s: %s", f.Source, f.Key, says, f.Value, seen, f.Result)
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
