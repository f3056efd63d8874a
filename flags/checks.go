package flags

import (
	"slices"
	"strings"

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
	if c.op < opSet {
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
func (in *Input) compareProperty(c *check, p *property) verdict {
	var result bool
	switch c.op {
	case opSet:
		result = true
	case opUseless:
		return no
	case opNoEngine:
		return broken
	case opText:
		result = in.lower(p) == c.text
	case opTexts:
		result = c.more.contains(in.lower(p))
	case opTruthy:
		result = in.isTruthy(p) == c.truthy
	case opContains:
		result = strings.Contains(in.lowerASCII(p), c.text)
	case opContainsAny:
		s := in.lowerASCII(p)
		for _, needle := range c.more.texts {
			if strings.Contains(s, needle) {
				result = true
				break
			}
		}
	case opPrefix:
		result = strings.HasPrefix(in.lowerASCII(p), c.text)
	case opSuffix:
		result = strings.HasSuffix(in.lowerASCII(p), c.text)
	case opRegex:
		result = c.more.matcher.MatchString(in.text(p))
	case opGT, opGTE, opLT, opLTE:
		n, ok := in.number(p)
		if !ok {
			return no
		}
		switch c.op {
		case opGT:
			result = n > c.num
		case opGTE:
			result = n >= c.num
		case opLT:
			result = n < c.num
		default:
			result = n <= c.num
		}
	case opBetween:
		n, ok := in.number(p)
		if !ok || n != n {
			return no
		}
		result = c.num <= n && n <= c.more.high
	case opDateExact, opDateBefore, opDateAfter:
		t, ok := in.date(p)
		if !ok {
			return no
		}
		at := c.more.at
		if c.more.date.Relative() {
			if at, ok = c.more.date.At(in.now, in.snap.zone); !ok {
				return no
			}
		}
		switch c.op {
		case opDateExact:
			result = t.Equal(at)
		case opDateBefore:
			result = t.Before(at)
		default:
			result = t.After(at)
		}
	default:
		v, ok := in.version(p)
		if !ok {
			return no
		}
		if c.op == opSemverRange {
			return verdictOf(c.more.rng.Contains(v))
		}
		switch n := semver.Compare(v, c.more.version); c.op {
		case opSemverEQ:
			result = n == 0
		case opSemverNEQ:
			result = n != 0
		case opSemverGT:
			result = n > 0
		case opSemverGTE:
			result = n >= 0
		case opSemverLT:
			result = n < 0
		default:
			result = n <= 0
		}
	}
	return verdictOf(result != c.negated)
}

func (o *compiledOperand) contains(s string) bool {
	if o.set != nil {
		_, ok := o.set[s]
		return ok
	}
	return slices.Contains(o.texts, s)
}

// isTruthy is the truthiness of a property (evaluation.md §4.4, version 1).
func (in *Input) isTruthy(p *property) bool {
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
