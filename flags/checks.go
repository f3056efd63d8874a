package flags

import (
	"slices"
	"strings"
	"time"

	"github.com/flagstaff-go/flagstaff/flags/internal/semver"
	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
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
	if c.aspect == aspectNone {
		switch c.op {
		case opFail:
			v = broken
		case opCohort:
			v = verdictOf(in.isMember(c.slot) != c.negated)
		case opFlag:
			v = in.matchDependency(c)
		}
	} else {
		p := &in.slots[c.slot]
		if p.gen != in.gen || p.kind == jsonscan.Invalid {
			p = in.absentProperty(c.slot)
		}
		switch {
		case p == nil:
			v = verdictOf(c.missing)
		case c.op == opText && p.have&folded != 0:
			// This is compareProperty for by far the most frequent comparison.
			v = verdictOf(p.textual == c.text != c.negated)
		default:
			v = in.compareProperty(c, p)
		}
	}
	in.memo[id] = in.run | uint32(v)
	return v
}

// compareProperty checks a property that is set.
func (in *Input) compareProperty(c *check, p *slotValue) verdict {
	var result bool
	switch c.aspect {
	case aspectSet:
		result = true
	case aspectUseless:
		return no
	case aspectText:
		result = c.hasText(in.lower(p))
	case aspectTruth:
		result = in.isTruthy(p) == c.truthy
	case aspectASCII:
		result = c.hasText(in.lowerASCII(p))
	case aspectPattern:
		result = c.more.matcher.MatchString(in.text(p))
	case aspectNumber:
		n, ok := in.number(p)
		if !ok || n != n {
			return no
		}
		result = c.hasNumber(n)
	case aspectDate:
		t, ok := in.date(p)
		if !ok {
			return no
		}
		if result, ok = c.hasDate(t, in.now, in.snap.zone); !ok {
			return no
		}
	case aspectVersion:
		v, ok := in.version(p)
		if !ok {
			return no
		}
		result = c.hasVersion(v)
	}
	return verdictOf(result != c.negated)
}

// The methods below compare one form of a property with what the check wants. Negation
// is the business of their callers.

// hasText compares a text in lower case: of all letters for aspectText, of A to Z for
// aspectASCII.
func (c *check) hasText(s string) bool {
	switch c.op {
	case opText:
		return s == c.text
	case opTexts:
		return c.more.contains(s)
	case opContains:
		return strings.Contains(s, c.text)
	case opContainsAny:
		for _, needle := range c.more.texts {
			if strings.Contains(s, needle) {
				return true
			}
		}
		return false
	case opPrefix:
		return strings.HasPrefix(s, c.text)
	default:
		return strings.HasSuffix(s, c.text)
	}
}

func (c *check) hasNumber(n float64) bool {
	switch c.op {
	case opGT:
		return n > c.num
	case opGTE:
		return n >= c.num
	case opLT:
		return n < c.num
	case opLTE:
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
	case opDateExact:
		return t.Equal(at), true
	case opDateBefore:
		return t.Before(at), true
	default:
		return t.After(at), true
	}
}

func (c *check) hasVersion(v *semver.Version) bool {
	if c.op == opSemverRange {
		return c.more.rng.Contains(v)
	}
	switch n := semver.Compare(v, &c.more.version); c.op {
	case opSemverEQ:
		return n == 0
	case opSemverNEQ:
		return n != 0
	case opSemverGT:
		return n > 0
	case opSemverGTE:
		return n >= 0
	case opSemverLT:
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
		return ok && text.Lower(s) == "true"
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
