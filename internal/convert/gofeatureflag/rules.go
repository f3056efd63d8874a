package gofeatureflag

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/flags/operator"
	"github.com/flagstaff-go/flagstaff/internal/convert"
	"github.com/flagstaff-go/flagstaff/internal/convert/jsonlogic"
	"github.com/flagstaff-go/flagstaff/internal/convert/logic"
)

// What flags.Rule and flags.RuleSplit have for those whom a rule does not include.
const (
	returnDefault = "return_default"
	restLast      = "last"
)

// multiplier makes thousandths of a percent of percentages.
const multiplier = 1000

// rules makes the rules. The default is left to the code, unless no rule needs that.
func (b *flagBuild) rules() {
	b.keyGuard()
	for i := range b.def.Targeting {
		r := &b.def.Targeting[i]
		if r.Disable != nil && *r.Disable {
			b.out.Note("Rule %s is disabled, and left out.", r.title(i))
			continue
		}
		id := nameOf(r)
		if id == "" || slices.ContainsFunc(b.def.Targeting[:i], func(other rule) bool { return nameOf(&other) == id }) {
			id = fmt.Sprintf("#%d %s", i, id)
		}
		b.rule(r, b.query(r, i), flags.Rule{ID: b.id("rule", id), Description: r.Name}, "rule "+r.title(i))
	}
	r := b.def.DefaultRule
	if r == nil {
		return
	}
	drawn := slices.ContainsFunc(b.out.Rules.Rules, func(r flags.Rule) bool { return r.Type != "targeted_release" })
	if !drawn && !r.draws() && r.Variation != nil {
		if v := b.usable[*r.Variation]; v != nil {
			b.out.Rules.Default = v
			return
		}
	}
	name := "defaultRule"
	b.rule(r, logic.True(), flags.Rule{ID: b.id(name), Description: &name}, name)
}

func (b *flagBuild) id(parts ...string) string {
	return convert.ID(append([]string{product, b.out.Key}, parts...)...)
}

// query returns the filter of a rule.
func (b *flagBuild) query(r *rule, i int) flags.Filter {
	if r.Query == nil {
		return logic.True()
	}
	f, err := b.condition(trim(*r.Query), r.title(i))
	if err != nil {
		b.out.Problem("The query of rule %s cannot be kept: %v. The rule matches nobody.", r.title(i), err)
		return logic.False()
	}
	// A filter that no other query becomes has the query as its label, for an export. To find
	// that out takes a third of the time of the conversion: 0.65 s for 10,000 flags.
	if _, ok := (writer{b.options}).query(f); !ok {
		return convert.Labelled(trim(*r.Query), f)
	}
	return f
}

func (b *flagBuild) condition(query, title string) (flags.Filter, error) {
	switch {
	case query == "":
		return logic.True(), nil
	case isObject(query):
		return b.jsonLogic(query)
	}
	n, behind, err := parse(query)
	if err != nil {
		return logic.False(), err
	}
	if strings.Trim(behind, " ") != "" {
		b.out.Note("What stands behind the query of rule %s, %q, is ignored there, and here.", title, clip(behind))
	}
	build := &queryBuild{options: b.options}
	f, err := build.filter(n)
	for _, note := range build.notes {
		b.out.Note("%s", note)
	}
	return f, err
}

// jsonLogic returns the filter of a query in JSONLogic.
func (b *flagBuild) jsonLogic(query string) (flags.Filter, error) {
	rule, err := jsonlogic.Read([]byte(query))
	if err != nil {
		return logic.False(), err
	}
	c := &jsonlogic.Converter{Var: b.variable}
	v, err := c.Verdict(rule)
	if err != nil {
		return logic.False(), err
	}
	empty, err := c.EmptyObject(rule) // which counts as true here
	return logic.Or(v.Yes, empty), err
}

// variable returns what the name of a variable stands for.
func (b *flagBuild) variable(path []string) ([]jsonlogic.Case, error) {
	switch {
	case isKey(path) && len(path) == 1:
		return jsonlogic.Property(distinctID, nil), nil
	case isKey(path), path[0] == "anonymous" && len(path) > 1:
		return jsonlogic.Constant(nil), nil
	case path[0] == "anonymous":
		is := (&queryBuild{options: b.options}).native(path, operator.Exact, true)
		return []jsonlogic.Case{
			{When: is, Value: jsonlogic.Value{Constant: true}},
			{When: logic.Not(is), Value: jsonlogic.Value{Constant: false}},
		}, nil
	}
	return jsonlogic.Property(b.options.Property(path[0]), path[1:]), nil
}

// keyGuard makes the rule that gives those the default who lack the attribute that is drawn with.
func (b *flagBuild) keyGuard() {
	path := b.bucketingPath()
	if path == nil {
		return
	}
	q := &queryBuild{options: b.options}
	has := q.attribute(path, "sw", "")
	if b.buckets {
		has = q.attribute(path, "ne", "")
	}
	name := "no " + *b.def.BucketingKey
	if path[0] == "" { // no attribute has that name
		has = logic.False()
	}
	b.end(flags.Rule{ID: b.id("bucketingKey"), Description: &name}, logic.Not(has))
}

// bucketingPath returns the path of the attribute that is drawn with, nil for the key.
func (b *flagBuild) bucketingPath() []string {
	if b.def.BucketingKey == nil || *b.def.BucketingKey == "" {
		return nil
	}
	return strings.Split(*b.def.BucketingKey, ".")
}

// rule adds what a rule gives those for whom a filter holds.
func (b *flagBuild) rule(r *rule, who flags.Filter, out flags.Rule, title string) {
	switch {
	case r.Progressive != nil:
		b.progressive(r.Progressive, who, out, title)
	case r.Percentage != nil && len(*r.Percentage) > 0:
		b.percentage(*r.Percentage, who, out, title)
	case r.Variation != nil && b.usable[*r.Variation] != nil:
		out.Type, out.Value = "targeted_release", b.usable[*r.Variation]
		b.target(out, who)
	default:
		b.end(out, who)
	}
}

// target adds a rule for those for whom a filter holds, if there are any.
func (b *flagBuild) target(r flags.Rule, who flags.Filter) {
	var err error
	if r.Targeting, err = logic.Targeting(who); err != nil {
		b.out.Problem("A rule cannot be kept: %v. It matches nobody.", err)
		r.Targeting, _ = logic.Targeting(logic.False())
	}
	b.out.Rules.Rules = append(b.out.Rules.Rules, r)
}

// end adds a rule that gives everybody the default of the code.
func (b *flagBuild) end(r flags.Rule, who flags.Filter) {
	convert.Fallback(&r, b.out.Rules.ReturnType)
	b.target(r, who)
}

// split returns one over the key, without ends.
func (b *flagBuild) split(modulus uint32) *flags.RuleSplit {
	s := &flags.RuleSplit{Hash: "fnv1a_32", Modulus: uint64(modulus), Prefix: b.out.Key, Rest: returnDefault, NoSubject: returnDefault}
	if path := b.bucketingPath(); path != nil && path[0] != "" {
		s.Subject, s.Path, s.TextOnly = b.options.Property(path[0]), convert.Pointer(path[1:]...), true
	}
	return s
}

// A share is a variation, and the end of the hashes that get it.
type share struct {
	variation string
	end       uint32
}

// draw adds a split.
func (b *flagBuild) draw(modulus uint32, shares []share, who flags.Filter, out flags.Rule) {
	s, nothing := b.split(modulus), b.split(modulus)
	start, lacking := uint32(0), false
	for _, share := range shares {
		end := min(share.end, modulus)
		if end <= start {
			continue
		}
		start = end
		v := b.usable[share.variation]
		lacking = lacking || v == nil
		nothing.Ends = append(nothing.Ends, uint64(end))
		nothing.Values = append(nothing.Values, logic.JSON(v == nil))
		if v == nil {
			v = b.usable.Any()
		}
		s.Ends, s.Values = append(s.Ends, uint64(end)), append(s.Values, v)
	}
	if start == 0 {
		b.end(out, who)
		return
	}
	if lacking { // a variation that is not one any more: the default of the code
		nothing.NoSubject = "continue"
		none := flags.Rule{ID: b.id("nothing", out.ID), Description: out.Description}
		b.end(none, logic.And(who, flags.Filter{Type: "split", Split: nothing}))
	}
	if start == modulus {
		s.Rest = restLast
	}
	out.Type, out.Split = "split", s
	b.target(out, who)
}

// percentage draws between variations.
func (b *flagBuild) percentage(percentages map[string]float64, who flags.Filter, out flags.Rule, title string) {
	names := slices.Sorted(maps.Keys(percentages))
	moduli, ok := moduliOf(names, percentages)
	shares, fit := sharesOf(names, percentages)
	if !ok || !fit {
		b.out.Problem("Percentages of %s are negative, or too large: the rule gives the default of the code.", title)
		b.end(out, who)
		return
	}
	if len(moduli) > 1 {
		b.out.Problem("The percentages of %s add up to now %d, now %d thousandths, as GO Feature Flag adds them in an order that changes, so that users get now one variation, now another: here the sum is %[2]d.", title, moduli[0], moduli[1])
	}
	b.draw(moduli[0], shares, who, out)
}

// sharesOf returns the ends of the shares, in the order of the product.
func sharesOf(names []string, percentages map[string]float64) (shares []share, ok bool) {
	end := 0.0
	for _, name := range slices.Backward(names) {
		if percentages[name] < 0 {
			return nil, false
		}
		end += float64(percentages[name] * multiplier) // not fused with the sum
		n, ok := toUint32(end)
		if !ok {
			return nil, false
		}
		shares = append(shares, share{name, n})
	}
	return shares, true
}

func toUint32(x float64) (uint32, bool) {
	if !(x >= 0 && x <= math.MaxUint32) {
		return 0, false
	}
	return uint32(x), true
}

// exactSums is how many percentages are added in all orders.
const exactSums = 12

// moduliOf returns what the sum of percentages may come to. The product adds them in the order of
// a map, which is another one each time.
func moduliOf(names []string, percentages map[string]float64) (moduli []uint32, ok bool) {
	add := func(sum float64) {
		n, fits := toUint32(sum * multiplier)
		if ok = ok && fits; !slices.Contains(moduli, n) {
			moduli = append(moduli, n)
		}
	}
	ok = true
	sum := 0.0
	for _, name := range names {
		sum += percentages[name]
	}
	add(sum)
	if len(names) > exactSums {
		const ulp = 0x1p-52
		off := float64(len(names)) * sum * ulp
		add(sum - off)
		add(sum + off)
		return moduli, ok
	}
	// sums[set] are the sums that the members of a set have, in some order.
	sums := make([][]float64, 1<<len(names))
	sums[0] = []float64{0}
	for set := range sums {
		for i, name := range names {
			if set&(1<<i) != 0 {
				continue
			}
			next := set | 1<<i
			for _, sum := range sums[set] {
				if with := sum + percentages[name]; !slices.Contains(sums[next], with) {
					sums[next] = append(sums[next], with)
				}
			}
		}
	}
	for _, sum := range sums[len(sums)-1] {
		add(sum)
	}
	slices.Sort(moduli[1:])
	return moduli, ok
}

// progressive draws between the variations of a progressive rollout.
func (b *flagBuild) progressive(p *progressive, who flags.Filter, out flags.Rule, title string) {
	if p.Initial == nil || p.Initial.Date == nil || p.Initial.Variation == nil || p.End == nil || p.End.Date == nil || p.End.Variation == nil ||
		!p.End.Date.After(*p.Initial.Date) {
		b.out.Note("The progressiveRollout of %s lacks a variation or a date, or ends before it begins: who comes to it gets the default of the code.", title)
		b.end(out, who)
		return
	}
	if b.now.Before(*p.End.Date) {
		b.out.Problem("It changes by itself until %s, by the progressiveRollout of %s: it stays what it was on import.", p.End.Date.Format(time.RFC3339), title)
	}
	const modulus = 100 * multiplier
	end, ok := toUint32(p.thousandths(b.now))
	if !ok {
		b.out.Problem("Percentages of %s are negative, or too large: the rule gives the default of the code.", title)
		b.end(out, who)
		return
	}
	b.draw(modulus, []share{{*p.End.Variation, end}, {*p.Initial.Variation, modulus}}, who, out)
}

// thousandths returns the share of the last variation at a moment.
func (p *progressive) thousandths(now time.Time) float64 {
	if now.Before(*p.Initial.Date) {
		return 0
	}
	from, to := p.Initial.share()*multiplier, p.End.share()
	if to == 0 || to > 100 {
		to = 100
	}
	to *= multiplier
	if !now.Before(*p.End.Date) {
		return to
	}
	perSecond := (to - from) / float64(p.End.Date.Unix()-p.Initial.Date.Unix())
	return float64(float64(now.Unix()-p.Initial.Date.Unix())*perSecond) + from
}
