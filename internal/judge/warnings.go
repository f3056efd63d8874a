package judge

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/flags/operator"
	"github.com/flagstaff-go/flagstaff/internal/operators"
)

// A Warning says what is allowed and perhaps not meant (rules.md §7.8).
type Warning struct {
	Code   string // for programs
	Detail string // for people
	Attr   string // its place, with "__" between the steps
}

// The codes of warnings.
const (
	WarnOrder       = "RULE_ORDER_CHANGES_TRAFFIC"
	WarnUnreachable = "UNREACHABLE_LOWER_RULE"
	WarnMiss        = "ROLLOUT_MISS_CAN_ENTER_LOWER_RULE"
	WarnReset       = "ASSIGNMENT_RESET_CHANGES_TRAFFIC"
	WarnConclusion  = "CONCLUSION_EXPANDS_POPULATION"
)

// Warnings returns what is provable about a rule set and, unless before is nil, about its
// change. What cannot be proved is not said. A proof names a person with certain draws: one who
// matches the filters of a rule and has no other property.
func Warnings(before, after *flags.RuleSet) []Warning {
	now := populations(after)
	list := slices.Concat(now.unreachable(), now.misses())
	if before == nil || before.Aggregation != after.Aggregation {
		return list
	}
	was := populations(before)
	return slices.Concat(list, now.order(was), now.resets(was), now.conclusions(was))
}

// A population is a rule and the filters of those whom it targets.
type population struct {
	*flags.Rule
	filters map[string]*flags.Filter
}

// A plan is the rules of a set.
type plan struct {
	set   *flags.RuleSet
	rules []population
}

func populations(set *flags.RuleSet) *plan {
	p := &plan{set: set}
	for i := range set.Rules {
		r := &set.Rules[i]
		one := population{r, make(map[string]*flags.Filter)}
		for j := range r.Targeting {
			f := &r.Targeting[j]
			if f.IsGroup() || f.Split != nil { // which no other rule is taken to have
				one.filters[fmt.Sprintf("%d %d", i, j)] = f
				continue
			}
			index := -1
			if f.GroupTypeIndex != nil {
				index = *f.GroupTypeIndex
			}
			one.filters[fmt.Sprintf("%s %q %s %s %t %d %v", f.Type, f.Key, cmp.Or(f.Operator, operator.Exact), f.Value, f.Negation, index, f.Comparison)] = f
		}
		p.rules = append(p.rules, one)
	}
	return p
}

// covers reports whether all whom the other rule targets are targeted.
func (r *population) covers(other *population) bool {
	for key := range r.filters {
		if other.filters[key] == nil {
			return false
		}
	}
	return true
}

// avoids reports whether somebody who has only the properties that another rule asks for is
// not targeted.
func (r *population) avoids(other *population) bool {
	asked := make(map[string]bool)
	for _, f := range other.filters {
		if f.Type != "person" {
			return false // cohorts, flags and groups can depend on anything
		}
		asked[f.Key] = true
	}
	for _, f := range r.filters {
		o, _ := operators.Named(cmp.Or(f.Operator, operator.Exact))
		if f.Type == "person" && o.Missing == f.Negation && !asked[f.Key] {
			return true
		}
	}
	return false
}

// draws reports whether a rule includes a share.
func (r *population) draws() bool { return r.Algorithm != "" }

// share is the percentage that a rule includes of those whom it targets.
func (r *population) share() float64 {
	if r.draws() {
		return r.RolloutPercentage
	}
	return 100
}

// ends reports whether no lower rule is tried for anybody whom a rule targets.
func (r *population) ends() bool {
	return r.Split == nil && (r.Paused || r.share() == 100 || r.OnMiss == "return_default")
}

// canonical returns a value in one form; nil is null.
func canonical(value []byte) string {
	var v any
	_ = json.Unmarshal(value, &v) // nothing is null
	text, _ := json.Marshal(v)
	return string(text)
}

// values are those that a rule gives to somebody, neighbours that are equal once, and where
// their shares of those whom it includes end, in percent.
func (r *population) values() (list []string, ends []float64) {
	if r.Variants == nil {
		return []string{canonical(r.Value)}, []float64{100}
	}
	sum := 0.0
	for _, v := range r.Variants {
		value := canonical(v.Value)
		switch sum += v.Weight; {
		case v.Weight == 0:
		case list != nil && list[len(list)-1] == value:
			ends[len(ends)-1] = sum
		default:
			list, ends = append(list, value), append(ends, sum)
		}
	}
	return list, ends
}

// shares reports whether two rules have a value in common.
func (r *population) shares(other *population) bool {
	mine, _ := r.values()
	theirs, _ := other.values()
	return slices.ContainsFunc(mine, func(v string) bool { return slices.Contains(theirs, v) })
}

// gives names what a rule gives to those whom it includes: one value, or a draw of several.
func (r *population) gives() string {
	list, ends := r.values()
	if len(list) == 1 {
		return list[0]
	}
	return fmt.Sprintf("draw %s %.2f %q", r.Seed, ends, list)
}

// draws are where somebody falls, in percent, by seed. Without an entry: beyond all shares but
// 100.
type draws map[string]float64

// outcome returns which rule ends it for somebody with draws who has only the properties that a
// rule asks for, -1 for none, and what it gives. It is not ok if that is not certain.
func (p *plan) outcome(who *population, d draws) (rule int, gives string, ok bool) {
	standard := canonical(p.set.Default)
	for i := range p.rules {
		r := &p.rules[i]
		switch {
		case !r.covers(who) && r.avoids(who):
			continue
		case !r.covers(who), r.Split != nil, r.Holdout != nil && r.Holdout.ExclusionPercentage == 100:
			return 0, "", false
		case r.Paused:
			return i, standard, true
		}
		at, drawn := d[r.Seed]
		switch {
		case r.share() == 100, drawn && at < r.share():
			return i, r.gives(), true
		case r.OnMiss == "return_default":
			return i, standard, true
		}
	}
	return -1, standard, true
}

func warnOf(code string, rule int, member, format string, args ...any) Warning {
	return Warning{code, fmt.Sprintf(format, args...), "filters__rules__" + strconv.Itoa(rule) + member}
}

// unreachable finds rules that nobody gets a value of.
func (p *plan) unreachable() (list []Warning) {
	for i := range p.rules {
		r := &p.rules[i]
		for j := range p.rules[:i] {
			above := &p.rules[j]
			within := above.draws() && above.Seed == r.Seed && r.RolloutPercentage <= above.RolloutPercentage && !r.Paused
			if above.covers(r) && (above.ends() || within) {
				list = append(list, warnOf(WarnUnreachable, i, "", "Nobody gets a value of rule %d: rule %d decides for all whom it includes.", i+1, j+1))
				break
			}
		}
	}
	return list
}

// misses finds shares whose rest gets the same value from a lower rule.
func (p *plan) misses() (list []Warning) {
	for i := range p.rules {
		r := &p.rules[i]
		if !r.draws() || r.OnMiss != "continue" || r.share() == 100 || r.Paused {
			continue
		}
		for j := i + 1; j < len(p.rules); j++ {
			lower := &p.rules[j]
			if !lower.covers(r) || lower.Paused || lower.Split != nil || !lower.shares(r) {
				continue
			}
			d := draws{lower.Seed: 0}
			if lower.Seed == r.Seed {
				d[r.Seed] = r.share()
			}
			if ends, gives, ok := p.outcome(r, d); ok && ends == j && gives == lower.gives() {
				list = append(list, warnOf(WarnMiss, i, "__on_rollout_miss", "Those whom rule %d does not include can get the same value from rule %d.", i+1, j+1))
				break
			}
		}
	}
	return list
}

// kept returns the places of rules of p in was, -1 for a new one.
func (p *plan) kept(was *plan) (places []int) {
	for i := range p.rules {
		places = append(places, slices.IndexFunc(was.rules, func(r population) bool { return strings.EqualFold(r.ID, p.rules[i].ID) }))
	}
	return places
}

// order finds a change of the order by which somebody gets another value. What else has changed
// does not count.
func (p *plan) order(was *plan) []Warning {
	places := p.kept(was)
	var slots []int // of rules that were there, in p
	for i, place := range places {
		if place >= 0 {
			slots = append(slots, i)
		}
	}
	sorted := slices.SortedFunc(slices.Values(slots), func(a, b int) int { return places[a] - places[b] })
	old := &plan{p.set, slices.Clone(p.rules)}
	for n, slot := range slots {
		old.rules[slot] = p.rules[sorted[n]]
	}
	for n, i := range slots {
		for _, j := range slots[n+1:] {
			if places[i] < places[j] {
				continue
			}
			a, b := &p.rules[i], &p.rules[j]
			who := a
			if !b.covers(a) {
				who = b
			}
			if !a.covers(who) || !b.covers(who) {
				continue
			}
			for _, d := range drawsOf(a, b) {
				_, is, ok := p.outcome(who, d)
				_, before, sure := old.outcome(who, d)
				if ok && sure && is != before {
					return []Warning{warnOf(WarnOrder, i, "", "Rule %d was below rule %d: somebody gets another value by the order alone.", i+1, j+1)}
				}
			}
		}
	}
	return nil
}

// drawsOf returns draws that tell two rules apart.
func drawsOf(a, b *population) (list []draws) {
	in := func(r *population) []float64 { return []float64{0, a.share(), b.share(), 100} }
	for _, x := range in(a) {
		for _, y := range in(b) {
			if a.Seed != b.Seed || x == y {
				list = append(list, draws{a.Seed: x, b.Seed: y})
			}
		}
	}
	return list
}

// resets finds rules that draw anew in place of rules that are gone.
func (p *plan) resets(was *plan) (list []Warning) {
	places, gone := p.kept(was), was.kept(p)
	for i := range p.rules {
		r := &p.rules[i]
		for j := range was.rules {
			o := &was.rules[j]
			if places[i] >= 0 || gone[j] >= 0 || !r.draws() || !o.draws() || !r.covers(o) || !o.covers(r) || !r.shares(o) {
				continue
			}
			for _, d := range drawsOf(r, o) {
				ended, before, sure := was.outcome(o, d)
				_, is, ok := p.outcome(r, d)
				if sure && ok && ended == j && before != is {
					list = append(list, warnOf(WarnReset, i, "", "Rule %d is new and draws anew in place of one with the same filters: send the ID of that one to keep everybody's value.", i+1))
					break
				}
			}
		}
	}
	return list
}

// conclusions finds experiments that become one value, also for those who were not in them.
func (p *plan) conclusions(was *plan) (list []Warning) {
	for i, j := range p.kept(was) {
		if j < 0 || was.rules[j].Type != "experiment" || p.rules[i].Variants != nil || p.rules[i].Split != nil {
			continue
		}
		r, o := &p.rules[i], &was.rules[j]
		values, _ := o.values()
		held := o.Holdout != nil && o.Holdout.ExclusionPercentage > 0
		more := o.Paused || r.share() > o.share() || r.share() == o.share() && (held || len(r.filters) < len(o.filters))
		if !more || !r.covers(o) || !slices.Contains(values, canonical(r.Value)) {
			continue
		}
		d := draws{r.Seed: 0}
		if r.share() > o.share() {
			d[r.Seed] = o.share()
		}
		if ends, gives, ok := p.outcome(o, d); ok && ends == i && gives == canonical(r.Value) {
			list = append(list, warnOf(WarnConclusion, i, "", "Rule %d gives its value also to those who were not in the experiment.", i+1))
		}
	}
	return list
}
