package flags

import (
	"github.com/flagstaff-go/flagstaff/internal/operators"
)

// Constant returns the result that a flag has for every request that may see it, and
// reports false if requests can have different ones, as far as that can be told from the
// flag alone: no properties, no draw and no other flag decide anything. The condition
// set of the reason is the one that admits everybody. A flag about groups is not
// constant, because requests without the group are out, and nor is a flag with early
// access or a holdout. What happens while stored hash keys cannot be read does not count
// (evaluation.md §12).
func (s *Snapshot) Constant(key string) (r Result, ok bool) {
	if s.isUnset() {
		return Result{}, false
	}
	i, ok := s.find(key)
	if !ok {
		return Result{}, false
	}
	d, ok := s.constant(&s.flags[i])
	if ok {
		s.setResult(&r, i, d)
	}
	return r, ok
}

// constant finds the first condition set that every request meets, if all condition
// sets before it that any request meets give the same value.
func (s *Snapshot) constant(f *compiledFlag) (d decision, ok bool) {
	if f.state != normal || f.ruled || f.enrollment >= 0 || f.holdoutValue >= 0 && (f.holdoutAll || f.rare.holdoutAt > 0) {
		return decision{}, false
	}
	for i := range f.conditions {
		c := &f.conditions[i]
		value := f.drawless(c)
		if value < 0 {
			if f.drawChooses() {
				return decision{}, false
			}
			value = f.variantAt(0)
		}
		if i > 0 && value != d.value || !c.everyone && f.earlyExit || s.canBreak(c) {
			return decision{}, false
		}
		d = decision{value, reasonAt(reasonMatch, int32(i))}
		if c.everyone && len(c.checks) == 0 && c.aggregation == ownerPerson && !c.hashMatters {
			return d, true
		}
	}
	return decision{}, false
}

// canBreak reports whether a filter of a condition set can make its flag fail.
func (s *Snapshot) canBreak(c *compiledCondition) bool {
	for k := range s.within(c.checks) {
		if k.op == operators.OpFail {
			return true
		}
	}
	return false
}
