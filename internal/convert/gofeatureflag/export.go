package gofeatureflag

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/flags/operator"
	"github.com/flagstaff-go/flagstaff/internal/convert"
	"github.com/flagstaff-go/flagstaff/internal/convert/logic"
)

// Export writes a file of flags, as JSON. Queries and percentages are those that [Convert] makes
// the same filters and splits of; flags with others are refused.
func Export(p *convert.Project, o *convert.Options) (document []byte, refused []convert.Kept, err error) {
	file := make(map[string]*definition)
	for i := range p.Flags {
		if f := &p.Flags[i]; len(f.Problems) == 0 {
			e := &exporter{flagBuild: flagBuild{options: o, out: convert.Flag{Key: f.Key}}, project: p, flag: f}
			e.out.Rules.ReturnType = f.Rules.ReturnType
			if e.export(); len(f.Problems) == 0 {
				file[f.Key] = &e.def
			}
		}
	}
	refused = p.Refused()
	var b bytes.Buffer
	err = json.Indent(&b, logic.JSON(file), "", "  ")
	return b.Bytes(), refused, err
}

// An exporter writes one flag.
type exporter struct {
	flagBuild // what it comes back as
	project   *convert.Project
	flag      *convert.Flag
	at        string // the part of it that is being written

	all   []json.RawMessage // values of its variations
	names []string          // of these, each before the one behind it by the alphabet backwards
	some  *string           // one of the names
}

func (e *exporter) refuse(format string, args ...any) {
	e.flag.Problem("%s: %s.", e.at, fmt.Sprintf(format, args...))
}

func (e *exporter) export() {
	d, set := &e.def, &e.flag.Rules
	d.Metadata = make(map[string]any)
	if e.flag.Description != "" {
		d.Metadata["description"] = e.flag.Description
	}
	if len(e.flag.Tags) > 0 {
		d.Metadata["tags"] = e.flag.Tags
	}
	if !e.flag.Active {
		d.Disable = new(true)
	}
	rules, numbers := joined(set.Rules)
	e.variations(rules)
	if e.takeKey() {
		rules, numbers = rules[1:], numbers[1:]
	}
	taken := make(map[string]bool)
	for i := range rules {
		e.at = fmt.Sprintf("Rule %d", numbers[i])
		r := e.ruleOf(&rules[i])
		if i == len(rules)-1 && len(rules[i].Targeting) == 0 {
			d.DefaultRule = r
			break
		}
		r.Query = new(e.queryOf(rules[i].Targeting))
		if name := rules[i].Description; name != nil && *name != "" && !taken[*name] {
			r.Name, taken[*name] = name, true
		}
		d.Targeting = append(d.Targeting, *r)
	}
	e.at = "The default"
	if d.DefaultRule == nil {
		d.DefaultRule = e.ruleOf(&flags.Rule{Value: set.Default})
	}
	e.at = "The flag"
	switch {
	case d.BucketingKey == nil || d.draws() == e.buckets:
	case e.buckets: // a rule that draws, and is off, is enough
		d.Targeting = append(d.Targeting, rule{Query: new(languages[0].always), Percentage: &map[string]float64{*e.some: 100}, Disable: new(true)})
	default:
		e.refuse("it draws by the attribute %q, and has a value for those for whom that is the empty text", *d.BucketingKey)
	}
	if len(e.flag.Problems) == 0 && d.invalid() != "" { // what a schedule brings need not be valid
		date := time.Unix(0, 0).UTC()
		d.Scheduled = []step{{definition{Targeting: d.Targeting, DefaultRule: d.DefaultRule}, &date}}
		d.Targeting, d.DefaultRule = nil, &rule{Variation: e.some}
	}
}

// joined returns rules, and their numbers. Two that a rule becomes with a share for which there is
// no variation are one, without a value for that share.
func joined(rules []flags.Rule) (out []flags.Rule, numbers []int) {
	for i, r := range rules {
		if n := len(out) - 1; n >= 0 && r.Split != nil && len(r.Split.Values) > 0 && isNothing(&out[n], &r) {
			s, nothing := *r.Split, out[n].Targeting[len(out[n].Targeting)-1].Split
			s.Values = slices.Clone(s.Values)
			for j, v := range nothing.Values {
				if string(v) == "true" {
					s.Values[j] = nil
				}
			}
			r.Split, out, numbers = &s, out[:n], numbers[:n]
		}
		out, numbers = append(out, r), append(numbers, i+1)
	}
	return out, numbers
}

// isNothing reports whether a rule gives what the caller falls back on to some of those whom the
// next one draws for.
func isNothing(r, next *flags.Rule) bool {
	n := len(r.Targeting) - 1
	if n < 0 || r.Value != nil || r.Split != nil || r.Targeting[n].Split == nil || r.Targeting[n].Negation {
		return false
	}
	nothing := *next.Split
	nothing.Values, nothing.Rest, nothing.NoSubject = r.Targeting[n].Split.Values, returnDefault, "continue"
	return convert.SameSplit(&nothing, r.Targeting[n].Split) && len(nothing.Values) == len(next.Split.Values) &&
		slices.EqualFunc(r.Targeting[:n], next.Targeting, func(a, b flags.Filter) bool { return convert.Same(&a, &b) })
}

// variations names the values. Those that a rule draws have names that are in order.
func (e *exporter) variations(rules []flags.Rule) {
	set := &e.flag.Rules
	for i := range rules {
		if s := rules[i].Split; s != nil {
			at := 0
			for _, v := range drawn(s) {
				if n := e.find(v, at); n >= 0 {
					at = n + 1
					continue
				}
				e.all = slices.Insert(e.all, at, v)
				at++
			}
		}
	}
	all := slices.Concat([]json.RawMessage{set.Default}, set.Values())
	if e.all == nil { // in any order
		slices.SortStableFunc(all, func(a, b json.RawMessage) int { return cmp.Compare(nameOfValue(b), nameOfValue(a)) })
	}
	for _, v := range all {
		if v != nil && e.find(v, 0) < 0 {
			e.all = append(e.all, v)
		}
	}
	if !slices.ContainsFunc(e.all, func(v json.RawMessage) bool { return v != nil }) {
		var r flags.Rule
		convert.Fallback(&r, set.ReturnType)
		e.all = append(e.all, r.Value)
	}
	inOrder := set.ReturnType != "object"
	for i, v := range e.all {
		e.names = append(e.names, nameOfValue(v))
		inOrder = inOrder && v != nil && (i == 0 || e.names[i] < e.names[i-1])
	}
	named, digits := make(map[string]json.RawMessage), len(fmt.Sprint(len(e.all)))
	for i, v := range e.all {
		if !inOrder {
			e.names[i] = fmt.Sprintf("variation-%0*d", digits, len(e.names)-i)
		}
		if v != nil {
			named[e.names[i]], e.some = v, &e.names[i]
		}
	}
	e.def.Variations = &named
	e.flagBuild.values()
}

// nameOfValue returns a text as it is, and else JSON.
func nameOfValue(v json.RawMessage) (name string) {
	if json.Unmarshal(v, &name) != nil {
		return string(v)
	}
	return name
}

// drawn returns the values of a split, and one that nobody gets where the last end lies below the
// modulus.
func drawn(s *flags.RuleSplit) []json.RawMessage {
	if s.Rest != restLast && len(s.Values) > 0 {
		return append(slices.Clone(s.Values), s.Values[0])
	}
	return s.Values
}

// find returns the place of a value, from one on, or -1.
func (e *exporter) find(v json.RawMessage, from int) int {
	i := slices.IndexFunc(e.all[from:], func(other json.RawMessage) bool { return convert.SameJSON(v, other) })
	if i < 0 {
		return i
	}
	return from + i
}

// takeKey reports whether the first rule is the one of a bucketingKey.
func (e *exporter) takeKey() bool {
	set := &e.flag.Rules
	if len(set.Rules) == 0 || set.Rules[0].Split != nil || set.Rules[0].Value != nil || len(set.Rules[0].Targeting) != 1 {
		return false
	}
	f := &set.Rules[0].Targeting[0]
	key := strings.Join(append([]string{e.options.Attribute(f.Key)}, convert.Steps(f.Comparison.Path)...), ".")
	e.def.BucketingKey = &key
	for _, e.buckets = range []bool{false, true} {
		e.out.Rules.Rules = nil
		e.keyGuard()
		for _, r := range e.out.Rules.Rules {
			if len(r.Targeting) == 1 && convert.Same(&r.Targeting[0], f) {
				return true
			}
		}
	}
	e.def.BucketingKey = nil
	return false
}

func (e *exporter) ruleOf(r *flags.Rule) *rule {
	switch {
	case r.Split != nil:
		return &rule{Percentage: e.percentages(r.Split)}
	case r.Value == nil: // what lacks its dates gives what the caller falls back on
		nothing := progress{Variation: e.some}
		return &rule{Progressive: &progressive{Initial: &nothing, End: &nothing}}
	}
	return &rule{Variation: &e.names[e.find(r.Value, 0)]}
}

// percentages returns those that become a split.
func (e *exporter) percentages(s *flags.RuleSplit) *map[string]float64 {
	same := e.split(uint32(min(s.Modulus, math.MaxUint32)))
	want := *s
	want.Values = slices.Clone(s.Values)
	for i, v := range want.Values {
		if v == nil { // somebody else has had the value of a rule before
			want.Values[i] = e.usable.Any()
		}
	}
	same.Ends, same.Values, same.Rest = want.Ends, want.Values, want.Rest
	if !convert.SameSplit(same, &want) {
		e.refuse("it draws with another hash or text, or by another attribute than GO Feature Flag")
		return nil
	}
	if e.flag.Rules.Default != nil {
		e.refuse("it draws, and gives the default to those without an ID, who get what the caller falls back on in GO Feature Flag")
		return nil
	}
	var names []string
	at := 0
	for _, v := range drawn(s) {
		at = e.find(v, at) + 1
		names = append(names, e.names[at-1])
	}
	ends := append(slices.Clone(s.Ends), s.Modulus)[:len(names)]
	// Thousandths may not be what they are as binary fractions: others within the same bucket are.
	for try := range multiplier {
		each, last := float64(try-1)/multiplier, 0.0
		switch try {
		case 0:
			each = 0
		case 1:
			each, last = 0.5, 0.5
		}
		p := make(map[string]float64)
		before := 0.0
		for i, end := range ends {
			to := float64(end) + each
			if i == len(ends)-1 {
				to = float64(s.Modulus) + last
			}
			p[names[i]], before = (to-before)/multiplier, to
		}
		back := e.flagBuild
		back.out = convert.Flag{Key: e.out.Key, Rules: flags.RuleSet{ReturnType: e.out.Rules.ReturnType}}
		back.percentage(p, logic.True(), flags.Rule{}, "")
		r := back.out.Rules.Rules
		if one := r[len(r)-1].Split; len(back.out.Problems) == 0 && one != nil && convert.SameSplit(one, &want) {
			return &p
		}
	}
	e.refuse("it draws at ends to which no percentages come, %v of %d", s.Ends, s.Modulus)
	return nil
}

// queryOf returns a query for those who are targeted.
func (e *exporter) queryOf(targeting []flags.Filter) string {
	f := e.alone(convert.All(targeting...))
	w := writer{e.options}
	query, ok := w.query(f)
	if ok || len(e.flag.Problems) > 0 {
		return query
	}
	f = plain(f)
	if !e.refuseParts(w, &f) {
		e.refuse("its filters need both languages of queries at once, or look into objects in more than one place")
	}
	return ""
}

// refuseParts refuses the comparisons that neither language has.
func (e *exporter) refuseParts(w writer, f *flags.Filter) (refused bool) {
	for i := range f.Filters {
		refused = e.refuseParts(w, &f.Filters[i]) || refused
	}
	if f.IsGroup() || slices.ContainsFunc(languages, func(l language) bool { _, ok := w.write(&l, f); return ok }) {
		return refused
	}
	switch {
	case f.Type == "flag":
		e.refuse("it is about the flag %q, and rules of GO Feature Flag are not about other flags", f.Key)
	case f.Split != nil:
		e.refuse("it draws within its filters, which queries cannot")
	default:
		e.refuse("the filter on %q (%s) compares in another way than queries of GO Feature Flag, which need strict_type, and case_sensitive for texts, "+
			"or the dialects go-feature-flag and jsonlogic", f.Key, cmp.Or(f.Operator, f.Type))
	}
	return true
}

// alone returns a filter with the criteria of cohorts in their place.
func (e *exporter) alone(f flags.Filter) flags.Filter {
	f.Filters = slices.Clone(f.Filters)
	for i := range f.Filters {
		f.Filters[i] = e.alone(f.Filters[i])
	}
	if f.Type != "cohort" {
		return f
	}
	cohort, ok := e.project.Cohort(&f)
	if !ok {
		e.refuse("it is about a cohort that is not there")
		return f
	}
	for _, problem := range cohort.Problems {
		e.refuse("%s", strings.TrimSuffix(problem, "."))
	}
	in := cohort.Filter()
	if f.Negation != (f.Operator == operator.NotIn) {
		return convert.Not(in)
	}
	return in
}
