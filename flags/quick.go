package flags

import (
	"math"
	"strings"
	"unicode/utf8"

	"github.com/flagstaff-go/flagstaff/internal/text"
)

// The short cut for Go callers that ask for one flag. Most flags compare a property
// or two with plain values and hash the distinct ID; to fill an Input costs more
// than that. decideQuickly evaluates such a flag on the Request as it is, and leaves
// everything that it does not know to decide, which has all the rules.

// quickKnows reports whether decideQuickly may know the flag: its condition sets
// decide alone, it is bucketed by distinct ID, and it looks at properties of the
// person only.
func (c *compiler) quickKnows(f *compiledFlag) bool {
	if f.state != normal || f.enrollment >= 0 || f.holdoutValue >= 0 || f.otherSubject {
		return false
	}
	for i := range f.conditions {
		if f.conditions[i].aggregation != ownerPerson {
			return false
		}
		for _, id := range f.conditions[i].checks {
			k := &c.s.checks[id]
			if k.op < opSet || k.op >= opDateExact {
				return false
			}
			def := &c.s.slots[k.slot]
			if def.owner != ownerPerson || def.fallbacks != nil || def.name == "distinct_id" {
				return false
			}
		}
	}
	return true
}

// decideQuickly evaluates a flag for which quickKnows holds. It is not ok if the
// Request has something that it does not know.
func (s *Snapshot) decideQuickly(f *compiledFlag, r *Request) (out decision, ok bool) {
	if len(r.DistinctID) > 200 || !utf8.ValidString(r.DistinctID) {
		return decision{}, false
	}
	var reason unmatched
	slot, value, present := int32(-1), any(nil), false
	bucket := -1.0 // not computed yet
conditions:
	for i := range f.conditions {
		c := &f.conditions[i]
		for _, id := range c.checks {
			k := &s.checks[id]
			if k.slot != slot {
				slot = k.slot
				value, present = r.PersonProperties[s.slots[slot].name]
			}
			match := k.missing
			if present {
				if match, ok = k.quickMatch(value); !ok {
					return decision{}, false
				}
			}
			if !match {
				reason = reason.better(rankNo, int32(i))
				continue conditions
			}
		}
		if !c.everyone && bucket < 0 {
			bucket = f.quickBucket(r.DistinctID, saltRollout)
		}
		switch {
		case c.everyone || bucket <= c.threshold:
			return decision{f.quickValue(c, r.DistinctID), reasonAt(reasonMatch, int32(i))}, true
		case f.earlyExit:
			return decision{f.offValue, reasonAt(reasonOut, int32(i))}, true
		}
		reason = reason.better(rankOut, int32(i))
	}
	return decision{f.offValue, reason.number()}, true
}

// quickValue is Input.pickValue for a distinct ID.
func (f *compiledFlag) quickValue(c *compiledCondition, distinctID string) int32 {
	switch {
	case c.pinned >= 0:
		return c.pinned
	case len(f.variants) == 0:
		return f.onValue()
	}
	return f.variantAt(f.quickBucket(distinctID, saltVariant))
}

// quickBucket is Input.bucket with the hashed text on the stack.
func (f *compiledFlag) quickBucket(subject, salt string) float64 {
	if subject == "" {
		return 0
	}
	var buf [256]byte
	return f.hash.bucket(append(append(append(buf[:0], f.prefix...), subject...), salt...))
}

// quickMatch evaluates a check for a property that is set. It is not ok if the value
// is of another type than the check is made for, or a text that is not in lower
// case.
func (k *check) quickMatch(value any) (match, ok bool) {
	switch v := value.(type) {
	case string:
		if !text.Folded(v) {
			return false, false
		}
		switch k.op {
		case opSet:
			match = true
		case opText:
			match = v == k.text
		case opTexts:
			match = k.more.contains(v)
		case opContains:
			match = strings.Contains(v, k.text)
		case opPrefix:
			match = strings.HasPrefix(v, k.text)
		case opSuffix:
			match = strings.HasSuffix(v, k.text)
		case opRegex:
			match = k.more.matcher.MatchString(v)
		default:
			return false, false
		}
	case bool:
		switch k.op {
		case opSet:
			match = true
		case opTruthy:
			match = v == k.truthy
		default:
			return false, false
		}
	case int:
		return k.quickNumberMatch(float64(v))
	case float64:
		return k.quickNumberMatch(v)
	default:
		return false, false
	}
	return match != k.negated, true
}

// quickNumberMatch is quickMatch for a number.
func (k *check) quickNumberMatch(n float64) (match, ok bool) {
	if math.IsNaN(n) || math.IsInf(n, 0) {
		return false, false // cannot be encoded, so it counts as missing
	}
	switch k.op {
	case opSet:
		return !k.negated, true
	case opGT:
		return n > k.num, true
	case opGTE:
		return n >= k.num, true
	case opLT:
		return n < k.num, true
	case opLTE:
		return n <= k.num, true
	case opBetween:
		return (k.num <= n && n <= k.more.high) != k.negated, true
	}
	return false, false
}
