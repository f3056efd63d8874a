package flags

import (
	"slices"
	"strings"
	"time"

	"github.com/flagstaff-go/flagstaff/internal/casefold"
	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
	"github.com/flagstaff-go/flagstaff/internal/operators"
	"github.com/flagstaff-go/flagstaff/internal/semver"
	"github.com/flagstaff-go/flagstaff/internal/text"
)

// A verdict is what a check says.
type verdict uint8

const (
	no verdict = iota
	yes
	provisional // passes for now: the flag that the filter depends on failed
	broken      // the flag that has the filter fails
)

func verdictOf(b bool) verdict {
	if b {
		return yes
	}
	return no
}

// verdict returns the result of check id, which is found once per run.
func (in *Input) verdict(id uint32) verdict {
	// In this form the compiler inlines it.
	if m := in.memo[id] ^ in.run; m < runStep {
		return verdict(m)
	}
	return in.computeVerdict(id)
}

// computeVerdict finds the result of check id and keeps it for this run.
func (in *Input) computeVerdict(id uint32) verdict {
	c := &in.snap.checks[id]
	v := no
	if c.aspect == operators.AspectNone {
		switch c.op {
		case operators.OpFail:
			v = broken
		case operators.OpCohort:
			v = verdictOf(in.isMember(c.slot) != c.negated)
		case operators.OpFlag:
			v = in.matchDependency(c)
		case operators.OpAll, operators.OpAny, operators.OpSplit:
			v = in.nestedVerdict(c)
		}
	} else {
		p := &in.slots[c.slot]
		if p.gen != in.gen || p.kind == jsonscan.Invalid {
			p = in.absentProperty(c.slot)
		}
		switch {
		case p == nil && c.ruled && in.partial:
			v = broken
		case p == nil && c.op == operators.OpCompared && c.more.compared.other.Now:
			v = verdictOf(in.otherMatch(c.more.compared, nil) != c.negated)
		case p == nil:
			v = verdictOf(c.missing)
		case c.op == operators.OpText && p.have&folded != 0:
			// This is compareProperty for by far the most frequent comparison.
			v = verdictOf(p.textual == c.text != c.negated)
		default:
			v = in.compareProperty(c, p)
		}
	}
	if c.invert && v <= yes {
		v ^= 1
	}
	in.memo[id] = in.run | uint32(v)
	return v
}

// compareProperty checks a property that is set.
func (in *Input) compareProperty(c *check, p *slotValue) verdict {
	var result bool
	switch c.aspect {
	case operators.AspectSet:
		result = true
	case operators.AspectUseless:
		if c.fail != 0 {
			return broken
		}
		return no
	case operators.AspectCompared:
		return in.compared(c, p)
	case operators.AspectText:
		result = c.hasText(in.lower(p))
	case operators.AspectTruth:
		result = in.isTruthy(p) == c.truthy
	case operators.AspectASCII:
		result = c.hasText(in.lowerASCII(p))
	case operators.AspectPattern:
		ended := true
		if result, ended = c.matches(in.text(p)); !ended {
			return broken
		}
	case operators.AspectNumber:
		n, ok := in.number(p)
		if !ok || n != n {
			return no
		}
		result = c.hasNumber(n)
	case operators.AspectDate:
		t, ok := in.date(p)
		if !ok {
			return no
		}
		if result, ok = c.hasDate(t, in.now, in.snap.zone); !ok {
			return no
		}
	case operators.AspectVersion:
		v, ok := in.version(p)
		if !ok {
			return no
		}
		result = c.hasVersion(v)
	}
	return verdictOf(result != c.negated)
}

// matches matches a pattern. A match that takes too long is none, and in a rule it has not ended:
// the flag fails (rules.md §3.2).
func (c *check) matches(s string) (matched, ended bool) {
	if p, ok := c.more.matcher.(*pattern); ok && c.ruled {
		return p.match(s)
	}
	return c.more.matcher.MatchString(s), true
}

// The methods below compare one form of a property with what the check wants. Negation
// is the business of their callers.

// hasText compares a text in lower case: of all letters for operators.AspectText, of A to Z for
// operators.AspectASCII.
func (c *check) hasText(s string) bool {
	switch c.op {
	case operators.OpText:
		return s == c.text
	case operators.OpTexts:
		return c.more.contains(s)
	case operators.OpContains:
		return strings.Contains(s, c.text)
	case operators.OpContainsAny:
		for _, needle := range c.more.texts {
			if strings.Contains(s, needle) {
				return true
			}
		}
		return false
	case operators.OpPrefix:
		return strings.HasPrefix(s, c.text)
	default:
		return strings.HasSuffix(s, c.text)
	}
}

func (c *check) hasNumber(n float64) bool {
	switch c.op {
	case operators.OpGT:
		return n > c.num
	case operators.OpGTE:
		return n >= c.num
	case operators.OpLT:
		return n < c.num
	case operators.OpLTE:
		return n <= c.num
	default:
		return c.num <= n && n <= c.more.high
	}
}

// hasDate is not ok if a relative date has no moment.
func (c *check) hasDate(t, now time.Time, zone *time.Location) (result, ok bool) {
	at := c.more.at
	if c.more.date.Relative() {
		if at, ok = c.more.date.At(now, zone); !ok {
			return false, false
		}
	}
	switch c.op {
	case operators.OpDateExact:
		return t.Equal(at), true
	case operators.OpDateBefore:
		return t.Before(at), true
	default:
		return t.After(at), true
	}
}

func (c *check) hasVersion(v *semver.Version) bool {
	if c.op == operators.OpSemverRange {
		return c.more.rng.Contains(v)
	}
	switch n := semver.Compare(v, &c.more.version); c.op {
	case operators.OpSemverEQ:
		return n == 0
	case operators.OpSemverNEQ:
		return n != 0
	case operators.OpSemverGT:
		return n > 0
	case operators.OpSemverGTE:
		return n >= 0
	case operators.OpSemverLT:
		return n < 0
	default:
		return n <= 0
	}
}

func (o *compiledOperand) contains(s string) bool {
	if o.set != nil {
		_, ok := o.set[s]
		return ok
	}
	return slices.Contains(o.texts, s)
}

// isTruthy is the truthiness of a property (evaluation.md §4.4, version 1).
func (in *Input) isTruthy(p *slotValue) bool {
	switch p.kind {
	case jsonscan.True:
		return true
	case jsonscan.String:
		return in.lower(p) == "true"
	case jsonscan.Array:
		return isTruthy(p.raw, 0)
	default:
		return false
	}
}

// isTruthy is the truthiness of a JSON value.
func isTruthy(v jsonscan.Value, depth int) bool {
	switch v.Kind() {
	case jsonscan.True:
		return true
	case jsonscan.String:
		s, ok := text.Str(v)
		return ok && casefold.Lower(s) == "true"
	case jsonscan.Array:
		if depth == maxDepth {
			return false
		}
		for a := v.Array(); a.Next(); {
			if !isTruthy(a.Value(), depth+1) {
				return false
			}
		}
		return true
	default:
		return false
	}
}

// isBoolish reports whether a filter's value takes part in the truthiness rule.
func isBoolish(v jsonscan.Value, depth int) bool {
	switch v.Kind() {
	case jsonscan.True, jsonscan.False:
		return true
	case jsonscan.String:
		s, ok := text.Str(v)
		return ok && (strings.EqualFold(s, "true") || strings.EqualFold(s, "false"))
	case jsonscan.Array:
		if depth == maxDepth {
			return false
		}
		for a := v.Array(); a.Next(); {
			if !isBoolish(a.Value(), depth+1) {
				return false
			}
		}
		return true
	default:
		return false
	}
}
