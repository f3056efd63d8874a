package flags

import (
	"bytes"
	"encoding/json"
	"iter"
	"slices"
	"strconv"

	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
	"github.com/flagstaff-go/flagstaff/internal/operators"
)

// Filters of rules that consist of others, or of a split (rules.md §9.3).

// The types of filters that only rules have.
const (
	filterAny   = "any"
	filterAll   = "all"
	filterSplit = "split"
)

// maxFilterDepth is how many filters of filters may lie within each other.
const maxFilterDepth = 20

// IsGroup reports whether the filter consists of others: its type is "any" or "all".
func (f *Filter) IsGroup() bool { return f.Type == filterAny || f.Type == filterAll }

// each yields a filter and all within it.
func (f *Filter) each(yield func(*Filter) bool) bool {
	if !yield(f) {
		return false
	}
	for i := range f.Filters {
		if !f.Filters[i].each(yield) {
			return false
		}
	}
	return true
}

// cloneFilters returns a copy of filters that can be changed.
func cloneFilters(list []Filter) []Filter {
	list = slices.Clone(list)
	for i := range list {
		list[i].Filters = cloneFilters(list[i].Filters)
		list[i].Split = list[i].Split.clone()
	}
	return list
}

// clone returns a copy whose subject can be changed.
func (s *RuleSplit) clone() *RuleSplit {
	if s == nil {
		return nil
	}
	c := *s
	return &c
}

// Splits iterates over the splits of rules and of their filters.
func (s *RuleSet) Splits() iter.Seq[*RuleSplit] {
	return func(yield func(*RuleSplit) bool) {
		for i := range s.Rules {
			if split := s.Rules[i].Split; split != nil && !yield(split) {
				return
			}
			for j := range s.Rules[i].Targeting {
				if !s.Rules[i].Targeting[j].each(func(f *Filter) bool { return f.Split == nil || yield(f.Split) }) {
					return
				}
			}
		}
	}
}

// nested reads a filter that consists of others, or of a split.
func (r *ruleReader) nested(at string, v jsonscan.Value, kind string, depth int) (f Filter) {
	own := "filters"
	if kind == filterSplit {
		own = "split"
	}
	m := r.record(at, v, "type", own, "negation", "label")
	f.Type = kind
	if m.given("negation") {
		f.Negation = m.bool("negation")
	}
	m.optionalText("label")
	f.Extra = extraMembers(v, func(name string) bool { return name != "label" })
	switch {
	case kind == filterSplit:
		outer := r.kind
		r.kind = typeBoolean
		f.Split = m.splitOf("split")
		r.kind = outer
	case depth == maxFilterDepth:
		r.fail(codeLimitExceeded, at, "want at most %d filters within each other", maxFilterDepth)
	default:
		f.Filters = []Filter{}
		for i, v := range m.list("filters", maxRuleFilters, "filters") {
			one := r.filter(m.path("filters")+"/"+strconv.Itoa(i), v, depth+1)
			if r.fault != nil {
				return f
			}
			f.Filters = append(f.Filters, one)
		}
	}
	return f
}

// nested writes a filter that consists of others, or of a split.
func (e *encoder) nested(f *Filter) {
	e.raw(`{`)
	e.textMember("type", f.Type)
	if f.Split != nil {
		e.member("split").split(f.Split)
	} else {
		encodeList(e, "filters", append([]Filter{}, f.Filters...), e.filter)
	}
	if f.Negation {
		e.member("negation").bool(true)
	}
	if e.full {
		e.rest(f.Extra, func(name string) bool { return name != "label" })
	}
	e.raw(`}`)
}

// nestedCheck compiles a filter that consists of others, or of a split.
func (c *compiler) nestedCheck(f *compiledFlag, fl *Filter, at *path) uint32 {
	key := checkKey{op: operators.OpAll, name: fl.Type}
	operand := new(compiledOperand)
	if fl.Type == filterSplit {
		e := encoder{full: true}
		e.split(fl.Split)
		key.op, key.slot, key.value = operators.OpSplit, f.aggregation, string(e.dst)
		operand.split = c.compileSplit(f, fl.Split, at, func(v json.RawMessage) int32 {
			if string(v) == "true" {
				return 1
			}
			return 0
		})
	} else {
		if fl.Type == filterAny {
			key.op = operators.OpAny
		}
		within := &path{up: at, name: "filters"}
		var ids bytes.Buffer
		for i := range fl.Filters {
			id := c.ruleFilter(f, &fl.Filters[i], &path{up: within, n: i})
			operand.checks = append(operand.checks, id)
			ids.WriteString(strconv.FormatUint(uint64(id), 36) + " ")
		}
		key.value = ids.String()
	}
	c.inverted = fl.Negation
	return c.addCheck(key, func() check { return check{name: fl.Type, more: operand, slot: -1} })
}

// nestedVerdict is the verdict of a filter that consists of others, or of a split, before
// negation. Others are looked at up to the first that settles it, or fails.
func (in *Input) nestedVerdict(c *check) verdict {
	switch c.op {
	case operators.OpSplit:
		subject, is := in.splitSubject(c.more.split)
		return verdictOf(c.more.split.decide(subject, is, in.buf[len(in.buf):]).value == 1)
	case operators.OpAll:
		for _, id := range c.more.checks {
			if v := in.verdict(id); v != yes {
				return v
			}
		}
		return yes
	}
	for _, id := range c.more.checks {
		if v := in.verdict(id); v != no {
			return v
		}
	}
	return no
}

// within yields checks and those that they consist of.
func (s *Snapshot) within(checks []uint32) iter.Seq[*check] {
	return func(yield func(*check) bool) { s.eachCheck(checks, yield) }
}

func (s *Snapshot) eachCheck(checks []uint32, yield func(*check) bool) bool {
	for _, id := range checks {
		k := &s.checks[id]
		if !yield(k) || k.more != nil && !s.eachCheck(k.more.checks, yield) {
			return false
		}
	}
	return true
}
