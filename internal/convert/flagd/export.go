package flagd

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/murmur3"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/flags/operator"
	"github.com/flagstaff-go/flagstaff/internal/convert"
	"github.com/flagstaff-go/flagstaff/internal/convert/jsonlogic"
	"github.com/flagstaff-go/flagstaff/internal/convert/logic"
)

type object = map[string]any

// Export writes a file of flags. The Version says how flagd draws, as for [Convert]. Conditions
// and shares are those that [Convert] makes the same filters and splits of; flags with others are
// refused.
func Export(p *convert.Project, o *convert.Options) (document []byte, refused []convert.Kept, err error) {
	if err := checkVersion(o); err != nil {
		return nil, nil, err
	}
	made := make(object)
	for i := range p.Flags {
		f := &p.Flags[i]
		if len(f.Problems) > 0 {
			continue
		}
		e := &exporter{flagBuild: newBuild(f.Key, o), project: p, flag: f, variants: make(object)}
		made[f.Key] = e.definition()
		if back, err := Convert(fileOf(object{f.Key: made[f.Key]}), o); len(f.Problems) == 0 && (err != nil || len(back.Flags[0].Problems) > 0) {
			e.at = "The flag"
			e.refuse("no targeting of flagd comes back as it, because that has more rules or conditions than a flag can have")
		}
	}
	refused = p.Refused()
	for _, k := range refused {
		delete(made, k.Flag)
	}
	return bytes.TrimSpace(fileOf(made)), refused, nil
}

func fileOf(made object) []byte {
	var b bytes.Buffer
	w := json.NewEncoder(&b)
	w.SetEscapeHTML(false)
	w.SetIndent("", "  ")
	_ = w.Encode(object{"$schema": "https://flagd.dev/schema/v0/flags.json", "flags": made})
	return b.Bytes()
}

// An exporter writes a flag, and finds by a converter what its parts come back as.
type exporter struct {
	*flagBuild
	project  *convert.Project
	flag     *convert.Flag // that is being written
	at       string        // the part of it
	variants object
	cohorts  []int64 // within each other
}

func (e *exporter) refuse(format string, args ...any) {
	e.flag.Problem("%s: %s.", e.at, fmt.Sprintf(format, args...))
}

func (e *exporter) definition() object {
	set := &e.flag.Rules
	out := object{"state": "ENABLED", "variants": e.variants}
	if !e.flag.Active {
		out["state"] = "DISABLED"
	}
	metadata := object{}
	if e.flag.Description != "" {
		metadata["description"] = e.flag.Description
	}
	if len(e.flag.Tags) > 0 {
		metadata["tags"] = strings.Join(e.flag.Tags, ", ")
	}
	if len(metadata) > 0 {
		out["metadata"] = metadata
	}
	if original := e.original(); original != nil {
		for name, v := range original {
			out[name] = v
		}
		return out
	}
	rules, standard := set.Rules, set.Default
	if n := len(rules); n > 0 && len(rules[n-1].Targeting) == 0 && rules[n-1].Value != nil {
		rules, standard = rules[:n-1], rules[n-1].Value
	}
	for _, v := range set.Values() { // in their order
		e.variant(v)
	}
	otherwise := e.variant(standard)
	if standard != nil {
		out["defaultVariant"] = otherwise
	}
	var list []any
	for i := 0; i < len(rules); i++ {
		e.at = fmt.Sprintf("Rule %d", i+1)
		who := convert.All(rules[i].Targeting...)
		if logic.IsFalse(&who) {
			continue
		}
		var none *flags.RuleSplit
		if i+1 < len(rules) && rules[i].Value == nil && rules[i].Split == nil && rules[i+1].Split != nil {
			if none = drawnOf(&who, &rules[i+1]); none != nil {
				i++
				who = convert.All(rules[i].Targeting...)
			}
		}
		var what any = e.variant(rules[i].Value)
		if s := rules[i].Split; s != nil {
			what = e.drawn(s, none, &who)
		}
		if logic.IsTrue(&who) {
			list = append(list, what)
			break
		}
		list = append(list, e.expression(e.term(who, context{})), what)
	}
	if len(list) > 0 {
		out["targeting"] = branches(list)
	}
	return out
}

// original returns what [Convert] has kept of the flag, if the flag still does what that says.
func (e *exporter) original() map[string]json.RawMessage {
	set := &e.flag.Rules
	var kept struct {
		Flagd map[string]json.RawMessage `json:"flagd"`
	}
	if len(set.Rules) == 0 || json.Unmarshal(set.Rules[0].Metadata, &kept) != nil || kept.Flagd == nil {
		return nil
	}
	p, err := Convert(fileOf(object{e.flag.Key: kept.Flagd}), e.options)
	if err != nil {
		return nil
	}
	document, err := p.Document(nil)
	if err != nil {
		return nil
	}
	if p, err = convert.Read(document); err != nil || len(p.Flags) != 1 || !convert.SameRules(&p.Flags[0].Rules, set) {
		return nil
	}
	return kept.Flagd
}

var simple = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,39}$`)

// variant returns the name of the variant with a value, and one that no variant has for what the
// caller falls back on.
func (e *exporter) variant(value json.RawMessage) string {
	if value == nil {
		return "-"
	}
	var is any
	_ = json.Unmarshal(value, &is)
	name, _ := is.(string)
	switch is := is.(type) {
	case bool:
		name = map[bool]string{true: "on", false: "off"}[is]
	case float64:
		name = string(value)
	}
	for n := 1; ; n++ {
		before, taken := e.variants[name]
		if simple.MatchString(name) && (!taken || convert.SameJSON(before.(json.RawMessage), value)) {
			e.variants[name] = value
			return name
		}
		name = "value-" + strconv.Itoa(n)
	}
}

// drawnOf returns the split of a filter by which a rule gives some of those whom the next rule draws
// what the caller falls back on, and nobody else.
func drawnOf(who *flags.Filter, r *flags.Rule) *flags.RuleSplit {
	parts := partsOf(who)
	last := *who
	if len(parts) > 0 {
		last = parts[len(parts)-1]
	}
	if both := convert.All(append(slices.Clone(r.Targeting), last)...); last.Type == "split" && !last.Negation && convert.Same(&both, who) {
		a, b := alike(last.Split), alike(r.Split)
		if slices.Equal(last.Split.Ends, r.Split.Ends) && last.Split.Rest == "last" && r.Split.Rest == "last" && convert.SameSplit(&a, &b) {
			return last.Split
		}
	}
	return nil
}

// alike returns a split without what differs between one in a rule and one in a filter.
func alike(s *flags.RuleSplit) flags.RuleSplit {
	out := *s
	out.Ends, out.Values, out.Rest = nil, nil, "last"
	if out.NoSubject == "continue" {
		out.NoSubject = "return_default"
	}
	return out
}

// drawn returns an expression that draws for those for whom a filter holds. None has true for
// those who get what the caller falls back on.
func (e *exporter) drawn(s, none *flags.RuleSplit, who *flags.Filter) any {
	names, ends := make([]string, len(s.Ends)), s.Ends
	for i, v := range s.Values {
		if names[i] = e.variant(v); none != nil && string(none.Values[i]) == "true" {
			names[i] = e.variant(nil)
		}
	}
	if s.Rest == "return_default" {
		names, ends = append(names, e.variant(e.flag.Rules.Default)), append(slices.Clone(ends), hashes)
	}
	if s.NoSubject == "continue" || s.NoSubject == "first" || s.Rest == "continue" {
		e.refuse("it draws for some alone, or has a value for those without a subject")
		return nil
	}
	draw, d := e.fractionalOf(s, ends, names, e.variant(nil))
	if d == nil {
		e.refuse("it draws with another hash or text than fractional, or at ends that no weights have there")
		return nil
	}
	if implied(partsOf(who), &d.when) {
		return draw
	}
	// All others are drawn by the empty text.
	return object{"if": []any{e.expression(e.term(d.when, context{})), draw, at(d.shares, murmur3.StringSum32(s.Prefix+s.Suffix))}}
}

// fractionalOf returns the expression that becomes a split, and what it becomes. beyond is the name
// that those may get who are beyond all percentages of the old flagd.
func (e *exporter) fractionalOf(s *flags.RuleSplit, ends []uint64, names []string, beyond string) (any, *drawing) {
	is := func(shares []share) bool {
		n, start := 0, uint64(0)
		for _, share := range shares {
			if share.end > start {
				start = share.end
				if n == len(ends) || share.end != ends[n] || share.variant != names[n] && !(share.variant == "" && names[n] == beyond) {
					return false
				}
				n++
			}
		}
		return n == len(ends)
	}
	ends = slices.Clone(ends)
	if n := len(ends); n == 0 {
		return nil, nil
	} else if ends[n-1] < hashes { // as the last value is for the rest
		ends[n-1] = hashes
	}
	weighted := weighing{ends, names, is, e.old}.shares()
	if weighted == nil {
		return nil, nil
	}
	want := alike(s)
	text := object{"var": e.variableOf(cmp.Or(s.Subject, "distinct_id"), s.Path)}
	var cat []any
	for _, part := range []any{s.Prefix, text, s.Suffix} {
		if part != "" {
			cat = append(cat, part)
		}
	}
	for _, subject := range [][]any{nil, {text}, {object{"cat": cat}}} {
		arguments := slices.Concat(subject, weighted)
		list, _ := e.fractional(arguments)
		for i := range list {
			if d := &list[i]; d.split != nil {
				if got := alike(d.split); convert.SameSplit(&got, &want) && is(d.shares) {
					return object{"fractional": arguments}, d
				}
			}
		}
	}
	return nil, nil
}

// variableOf returns the name of the variable that is a property.
func (e *exporter) variableOf(key, path string) string {
	if key == "distinct_id" {
		return "targetingKey"
	}
	return strings.Join(append([]string{e.options.Attribute(key)}, convert.Steps(path)...), ".")
}

// A context is what holds for those for whom the value of a condition matters, in the order in
// which it is looked at before the condition, and at all.
type context struct {
	before, among []flags.Filter
}

// term returns the condition that becomes a filter.
func (e *exporter) term(f flags.Filter, c context) *term {
	negation := f.Negation
	f.Negation = false
	var t *term
	switch {
	case f.IsGroup():
		t = &term{kind: f.Type}
		for i := range f.Filters {
			t.terms = append(t.terms, e.term(f.Filters[i], c.within(&f, i)))
		}
	case f.Type == "cohort":
		t = e.inCohort(&f, c)
	case f.Type == "split":
		t = e.isDrawn(f.Split, c)
	default:
		f.Negation = negation
		return e.leaf(&f, c)
	}
	return t.not(negation)
}

// within returns the context of a part of a group.
func (c context) within(group *flags.Filter, at int) context {
	next := context{slices.Clone(c.before), slices.Clone(c.among)}
	for i, f := range group.Filters {
		if group.Type == "any" {
			f = logic.Not(f)
		}
		if i < at {
			next.before = append(next.before, f)
		}
		if i != at {
			next.among = append(next.among, f)
		}
	}
	return next
}

// partsOf returns the filters that all hold if one does.
func partsOf(f *flags.Filter) []flags.Filter {
	if f.Type == "all" && !f.Negation {
		return f.Filters
	}
	return []flags.Filter{*f}
}

// implied reports whether a filter holds for all for whom others do.
func implied(known []flags.Filter, f *flags.Filter) bool {
	return !slices.ContainsFunc(partsOf(f), func(part flags.Filter) bool { return !has(known, &part) })
}

func has(list []flags.Filter, f *flags.Filter) bool {
	return slices.ContainsFunc(list, func(o flags.Filter) bool { return convert.Same(&o, f) })
}

func (e *exporter) leaf(f *flags.Filter, c context) *term {
	isID := f.Key == "distinct_id" && f.Comparison.Path == ""
	if f.Type == "flag" {
		e.refuse("it is about the flag %s, and flags of flagd do not know of each other", f.Key)
		return &term{}
	}
	if plain, ok := jsonlogic.Reworded(f, isID); ok && f.Type == "person" {
		return e.term(plain, c)
	}
	w, ok := e.converter.Write(f, object{"var": e.variableOf(f.Key, f.Comparison.Path)})
	for i := range w.Needs {
		ok = ok && has(c.among, &w.Needs[i])
	}
	if !ok || f.Type != "person" {
		e.refuse("the filter on %q (%s) compares in another way than JSON logic of flagd, which needs case_sensitive and strict_type, or the dialect jsonlogic",
			f.Key, cmp.Or(f.Operator, f.Type))
	}
	t := &term{is: w.Expression, fails: w.Fails}
	isText := flags.Filter{Type: f.Type, Key: f.Key, Operator: "text", Comparison: flags.Comparison{Path: f.Comparison.Path, Dialect: jsonlogic.Dialect}}
	if text := len(f.Value) > 0 && f.Value[0] == '"'; t.fails && text && (isID || has(c.before, &isText)) { // two texts never fail
		if t.fails = false; w.Holds == jsonlogic.No {
			t = t.not(true)
		}
	}
	return t.not(f.Negation)
}

func (e *exporter) inCohort(f *flags.Filter, c context) *term {
	cohort, ok := e.project.Cohort(f)
	if !ok {
		e.refuse("it is about a cohort that is not there")
		return &term{}
	}
	if slices.Contains(e.cohorts, cohort.ID) {
		e.refuse("the cohort %q refers to itself", cohort.Name)
		return &term{}
	}
	for _, problem := range cohort.Problems {
		e.refuse("%s", strings.TrimSuffix(problem, "."))
	}
	e.cohorts = append(e.cohorts, cohort.ID)
	t := e.term(cohort.Filter(), c)
	e.cohorts = e.cohorts[:len(e.cohorts)-1]
	return t.not(f.Operator == operator.NotIn)
}

// isDrawn returns a comparison with a draw of two names.
func (e *exporter) isDrawn(s *flags.RuleSplit, c context) *term {
	ends, values := s.Ends, s.Values
	if s.Rest != "last" {
		ends, values = append(slices.Clone(ends), hashes), append(slices.Clone(values), json.RawMessage("false"))
	}
	names := make([]string, len(values))
	for i, v := range values {
		names[i] = map[bool]string{true: "yes", false: "no"}[string(v) == "true"]
	}
	for _, how := range []struct{ op, with, beyond string }{{"===", "yes", "no"}, {"!==", "no", "yes"}} {
		draw, d := e.fractionalOf(s, ends, names, how.beyond)
		if d == nil || s.NoSubject == "first" {
			continue
		}
		t := &term{is: object{how.op: []any{draw, how.with}}}
		if implied(c.before, &d.when) {
			return t
		}
		when := e.term(d.when, c)
		if t = (&term{kind: "all", terms: []*term{when, t}}); at(d.shares, murmur3.StringSum32(s.Prefix+s.Suffix)) == "yes" {
			t = &term{kind: "any", terms: []*term{t, when.not(true)}}
		}
		return t
	}
	e.refuse("a filter draws with another hash or text than fractional, or at ends that no weights have there")
	return &term{}
}
