package configcat

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/flags/operator"
	"github.com/flagstaff-go/flagstaff/internal/convert"
	"github.com/flagstaff-go/flagstaff/internal/convert/objects"
)

type object = map[string]any

// Export writes a config. Conditions and percentage options are those that [Convert] makes the
// same filters and splits of; flags with others are refused.
func Export(p *convert.Project, o *convert.Options) (document []byte, refused []convert.Kept, err error) {
	e := &exporter{converter: &converter{o: o}, project: p, wanted: p.Wanted()}
	// All hashes of a config have one salt, which the first of them says.
	for i := range p.Flags {
		for _, f := range (&flags.Filters{Version: 2, RuleSet: &p.Flags[i].Rules}).All() {
			e.takeSalt(f)
			if cohort, ok := p.Cohort(f); ok && cohort.Criteria != nil {
				tree := cohort.Filter()
				for _, f := range append([]flags.Filter{tree}, tree.Filters...) { // one filter, or a list of them
					e.takeSalt(&f)
				}
			}
		}
	}
	made := make(object)
	for range 2 { // once more without the flags that are refused, and without their segments
		clear(made)
		e.made = []object{}
		for i := range p.Flags {
			if f := &p.Flags[i]; len(f.Problems) == 0 {
				e.out = f
				made[f.Key] = e.setting()
			}
		}
		refused = p.Refused()
	}
	preferences := object{"u": "https://cdn-global.configcat.com", "r": 0}
	if e.salt != "" {
		preferences["s"] = e.salt
	}
	document, err = json.MarshalIndent(object{"p": preferences, "f": made, "s": e.made}, "", "  ")
	return document, refused, err
}

// An exporter writes settings, and finds by a converter what they come back as.
type exporter struct {
	*converter
	project *convert.Project
	wanted  map[string][]json.RawMessage
	made    []object      // segments
	out     *convert.Flag // that is being written
	at      string        // the part of it
}

func (e *exporter) refuse(format string, args ...any) {
	e.out.Problem("%s: %s.", e.at, fmt.Sprintf(format, args...))
}

// hashesOf is the value of a comparison with hashes.
type hashesOf struct {
	Hashes  []string `json:"hashes"`
	Salt    string   `json:"salt"`
	Context string   `json:"context"`
}

func hashedValue(f *flags.Filter) (v hashesOf, ok bool) {
	ok = f.Comparison.Dialect == dialect && strings.Contains(f.Operator, "hashed_") && json.Unmarshal(f.Value, &v) == nil
	return v, ok
}

func (e *exporter) takeSalt(f *flags.Filter) {
	if v, ok := hashedValue(f); ok && e.salt == "" {
		e.salt = v.Salt
	}
}

func (e *exporter) setting() object {
	set := &e.out.Rules
	e.at = "The flag"
	rules, standard := set.Rules, set.Default
	if n := len(rules); standard == nil && n > 0 && len(rules[n-1].Targeting) == 0 && rules[n-1].Value != nil {
		rules, standard = rules[:n-1], rules[n-1].Value
	}
	out := object{"t": e.kindOf(e.out.Key)}
	if !e.out.Active || standard == nil {
		e.refuse("some get what the caller falls back on, and ConfigCat has a value for everybody")
		return out
	}
	for i := range rules { // options of all rules are by one attribute
		if s := rules[i].Split; s != nil && s.Subject != "" {
			out["a"] = e.o.Attribute(s.Subject)
		}
	}
	out["v"] = e.value(e.out.Key, standard)
	list := []object{}
	for i := range rules {
		r := &rules[i]
		e.at = fmt.Sprintf("Rule %d", i+1)
		conditions, some := e.conditions(convert.All(r.Targeting...))
		switch {
		case !some:
		case r.Split != nil && i == len(rules)-1 && len(conditions) == 0:
			out["p"] = e.optionsOf(out, r.Split)
		case r.Split != nil:
			list = append(list, object{"c": conditions, "p": e.optionsOf(out, r.Split)})
		case r.Value == nil:
			e.refuse("it gives what the caller falls back on")
		default:
			list = append(list, object{"c": conditions, "s": object{"v": e.value(e.out.Key, r.Value)}})
		}
	}
	if len(list) > 0 {
		out["r"] = list
	}
	return out
}

// kindOf returns the type of a setting.
func (e *exporter) kindOf(key string) int {
	i := slices.IndexFunc(e.project.Flags, func(f convert.Flag) bool { return f.Key == key })
	if i < 0 {
		return 0
	}
	set := &e.project.Flags[i].Rules
	kind := slices.IndexFunc(kinds, func(k struct{ name, member, returns string }) bool { return k.returns == set.ReturnType })
	fraction := func(v json.RawMessage) bool { _, err := strconv.ParseInt(string(v), 10, 64); return err != nil }
	if set.ReturnType == "number" && slices.ContainsFunc(slices.Concat(set.Values(), e.wanted[key]), fraction) {
		kind++
	}
	if kind < 0 {
		e.refuse("its values are objects, which ConfigCat does not have")
	}
	return max(kind, 0)
}

func (e *exporter) value(key string, value json.RawMessage) object {
	return object{kinds[e.kindOf(key)].member: value}
}

// optionsOf returns percentage options.
func (e *exporter) optionsOf(setting object, s *flags.RuleSplit) (list []object) {
	end := uint64(0)
	var raw []json.RawMessage
	for i, next := range s.Ends {
		option := object{"p": next - end, "v": e.value(e.out.Key, s.Values[i])}
		list, raw, end = append(list, option), append(raw, asJSON(option)), next
	}
	back, err := e.read(e.out.Key, asJSON(setting))
	var r flags.Rule
	if err != nil || !e.options(&r, &convert.Flag{Key: e.out.Key}, &back, "", raw) || !convert.SameSplit(r.Split, s) {
		e.refuse("it draws with another hash or text, by another attribute or at other ends than the percentage options of the setting")
	}
	return list
}

func asJSON(v any) json.RawMessage {
	raw, _ := json.Marshal(v)
	return raw
}

// conditions returns conditions that all hold if a filter does. It is not some if that never
// holds.
func (e *exporter) conditions(f flags.Filter) (out []object, some bool) {
	out = []object{}
	parts := []flags.Filter{f}
	if f.Type == "all" && !f.Negation {
		parts = f.Filters
	}
	if slices.ContainsFunc(parts, func(f flags.Filter) bool { holds, constant := convert.IsConstant(&f); return constant && !holds }) {
		return nil, false
	}
	for len(parts) > 0 {
		part, n := &parts[0], 1
		condition, length, ok := e.userOf(parts, e.out.Key, false)
		switch {
		case part.Type == "flag":
			out = append(out, object{"p": e.about(part)})
		case part.Type == "cohort":
			out = append(out, object{"s": e.inCohort(part)})
		case ok:
			out, n = append(out, object{"u": condition}), length
		default:
			if not := e.notIn(part); not != nil {
				out = append(out, object{"s": not})
				break
			}
			if part.Type == "all" && !part.Negation {
				within, _ := e.conditions(*part)
				out = append(out, within...)
				break
			}
			// Hashes of a segment have its name.
			if v, hashed := hashedValue(&parts[min(1, len(parts)-1)]); hashed || len(parts) > 1 {
				if !hashed {
					v, _ = hashedValue(part)
				}
				if condition, n, ok = e.userOf(parts, v.Context, false); ok {
					out = append(out, object{"s": object{"s": e.segmentOf(v.Context, []object{condition}), "c": 0}})
					break
				}
			}
			n = 1
			e.refuse("the filter on %q (%s) compares in another way than conditions of ConfigCat, which must all hold and need case_sensitive and must_be_set, "+
				"or the dialect configcat", part.Key, cmp.Or(part.Operator, part.Type))
		}
		parts = parts[n:]
	}
	return out, true
}

// about returns a condition about another flag.
func (e *exporter) about(f *flags.Filter) object {
	c := object{"f": f.Key, "c": 0, "v": e.value(f.Key, f.Value)}
	if f.Negation {
		c["c"] = 1
	}
	i := slices.IndexFunc(e.project.Flags, func(o convert.Flag) bool { return o.Key == f.Key })
	if !f.Comparison.StrictType || i < 0 || !convert.HasType(f.Value, e.project.Flags[i].Rules.ReturnType) {
		e.refuse("it asks the flag %q for a value that that flag does not have", f.Key)
	}
	return c
}

func (e *exporter) inCohort(f *flags.Filter) object {
	cohort, ok := e.project.Cohort(f)
	if !ok {
		e.refuse("it is about a cohort that is not there")
		return nil
	}
	for _, problem := range cohort.Problems {
		e.refuse("%s", strings.TrimSuffix(problem, "."))
	}
	tree := cohort.Filter()
	parts := []flags.Filter{tree}
	if tree.Type == "all" {
		parts = tree.Filters
	}
	name := nameOf(parts, cohort.Name)
	conditions, ok := e.users(parts, name, false)
	if not := f.Negation != (f.Operator == operator.NotIn); !ok || not {
		e.refuse("it is about the cohort %q, which is not a list of conditions of ConfigCat that must all hold, or whose members are not meant", cohort.Name)
	}
	return object{"s": e.segmentOf(name, conditions), "c": 0}
}

// nameOf returns the name that hashes of a segment have, or another one.
func nameOf(parts []flags.Filter, otherwise string) string {
	for i := range parts {
		if v, ok := hashedValue(&parts[i]); ok {
			return v.Context
		}
	}
	return otherwise
}

// notIn returns a condition that somebody is not in a segment, or nil. The last of the filters, of
// which one must hold, has all its conditions, of which the last one is inverted.
func (e *exporter) notIn(f *flags.Filter) object {
	last := *f
	if f.Type == "any" && !f.Negation && len(f.Filters) > 0 {
		last = f.Filters[len(f.Filters)-1]
	}
	parts := []flags.Filter{last}
	if last.Type == "all" && !last.Negation {
		parts = last.Filters
	}
	name := nameOf(parts, fmt.Sprintf("Segment %d", len(e.made)))
	conditions, ok := e.users(parts, name, true)
	var read []user
	for _, c := range conditions {
		read = append(read, e.user(new(objects.Reader), "", asJSON(c), name))
	}
	if back := notIn(read); !ok || !convert.Same(&back, f) {
		return nil
	}
	return object{"s": e.segmentOf(name, conditions), "c": 1}
}

// users returns the conditions that filters are of, of which the last one may be inverted.
func (e *exporter) users(parts []flags.Filter, context string, inverted bool) (list []object, ok bool) {
	list = []object{}
	for len(parts) > 0 {
		condition, n, ok := e.userOf(parts, context, false)
		if inverted && (!ok || n == len(parts)) {
			condition, n, ok = e.userOf(parts, context, true)
		}
		if !ok {
			return list, false
		}
		list, parts = append(list, condition), parts[n:]
	}
	return list, true
}

// userOf returns the condition that the first one or two filters are of, or the opposite of which,
// and how many these are.
func (e *exporter) userOf(parts []flags.Filter, context string, inverted bool) (c object, n int, ok bool) {
	f := &parts[0]
	if convert.Same(f, &convert.Present) && !inverted { // everybody but those without an ID
		return object{"a": identifier, "c": 1, "l": []string{}}, 1, true
	}
	n = 1
	isSet := f.Operator == operator.IsNot && string(f.Value) == `""` && f.Comparison == ownComparison
	if isSet && len(parts) > 1 && parts[1].Key == f.Key && parts[1].Comparison.Dialect == dialect {
		f, n = &parts[1], 2
	}
	for i := range comparators {
		c = e.candidate(f, i, inverted)
		var r objects.Reader
		if c == nil {
			continue
		}
		u := e.user(&r, "", asJSON(c), context)
		back := u.filters(inverted)
		if len(r.Problems) == 0 && slices.EqualFunc(back, parts[:n], func(a, b flags.Filter) bool { return convert.Same(&a, &b) }) {
			return c, n, true
		}
	}
	return nil, n, false
}

// ownOperators are those of the dialect that our own are.
var ownOperators = map[string]string{
	operator.Exact: "equal", operator.IsNot: "not_equal", operator.IContains: "contains", operator.IContainsMulti: "contains",
	operator.StartsWith: "starts_with", operator.EndsWith: "ends_with",
}

// candidate returns the condition with a comparator that a filter, or its opposite, may be of, or
// nil.
func (e *exporter) candidate(f *flags.Filter, comparator int, inverted bool) object {
	is, op := comparators[comparator], f.Operator
	if f.Comparison.Dialect == "" {
		op = ownOperators[op]
	}
	if op != withNot(is.operator, is.negated != inverted) {
		return nil
	}
	attribute := identifier
	if f.Key != distinctID {
		attribute = e.o.Attribute(f.Key)
	}
	c := object{"a": attribute, "c": comparator}
	var texts []string
	hashed, _ := hashedValue(f)
	if json.Unmarshal(f.Value, &texts) != nil {
		var s string
		if texts = hashed.Hashes; texts == nil && json.Unmarshal(f.Value, &s) == nil {
			texts = []string{s}
		}
	}
	if n := len(texts) - 1; f.Comparison.Dialect == "" && f.Operator == operator.IsNot && n >= 0 && texts[n] == "" {
		texts = texts[:n]
	}
	switch is.value {
	case aNumber:
		c["d"] = f.Value
	case aText, aVersion, aHash:
		if len(texts) != 1 {
			return nil
		}
		c["s"] = texts[0]
	default:
		c["l"] = append([]string{}, texts...)
	}
	return c
}

// segmentOf adds a segment, and returns its number.
func (e *exporter) segmentOf(name string, conditions []object) int {
	segment := object{"n": name, "r": conditions}
	for i := range e.made {
		if convert.SameJSON(asJSON(e.made[i]), asJSON(segment)) {
			return i
		}
	}
	e.made = append(e.made, segment)
	return len(e.made) - 1
}
