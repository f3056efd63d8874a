package flags

import (
	"math"
	"strings"
	"unicode/utf8"

	"github.com/flagstaff-go/flagstaff/internal/text"
)

// Most flags, asked for one by one from Go, compare a property or two with
// plain values and hash the distinct ID. For these an Input costs more than the
// work itself. quick evaluates them on the Request as it is; whatever it does
// not know it leaves to evaluate, which has all the rules.

// isSimple reports whether quick may know the flag: it buckets by distinct ID,
// its condition sets decide alone, and they look at person properties only.
func (c *compiler) isSimple(f *compiledFlag) bool {
	if f.state != normal || f.enrollment >= 0 || f.holdoutValue >= 0 || f.special {
		return false
	}
	for i := range f.conditions {
		if f.conditions[i].aggregation != ownerPerson {
			return false
		}
		for _, id := range f.conditions[i].steps {
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

// decideQuickly evaluates a simple flag. It is not ok if there is something that it
// does not know.
func (s *Snapshot) decideQuickly(f *compiledFlag, r *Request) (out decision, ok bool) {
	if len(r.DistinctID) > 200 || !utf8.ValidString(r.DistinctID) {
		return decision{}, false
	}
	var reason unmatched
	slot, value, present := int32(-1), any(nil), false
	bucket := -1.0 // not computed
conditions:
	for i := range f.conditions {
		c := &f.conditions[i]
		for _, id := range c.steps {
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
			value := c.pinned
			if value < 0 {
				value = f.onValue()
				if len(f.variants) > 0 {
					value = f.variantAt(f.quickBucket(r.DistinctID, saltVariant))
				}
			}
			return decision{value, reasonAt(reasonMatch, int32(i))}, true
		case f.earlyExit:
			return decision{f.offValue, reasonAt(reasonOut, int32(i))}, true
		}
		reason = reason.better(rankOut, int32(i))
	}
	return decision{f.offValue, reason.number()}, true
}

// quickBucket is Input.bucket with the text on the stack.
func (f *compiledFlag) quickBucket(subject, salt string) float64 {
	if subject == "" {
		return 0
	}
	var buf [256]byte
	return f.hash.bucket(append(append(append(buf[:0], f.prefix...), subject...), salt...))
}

// quickMatch checks a property that is set. It is not ok if the property is of
// another kind, or its text not in lower case.
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
		return k.quickNumber(float64(v))
	case float64:
		return k.quickNumber(v)
	default:
		return false, false
	}
	return match != k.negated, true
}

func (k *check) quickNumber(n float64) (match, ok bool) {
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
