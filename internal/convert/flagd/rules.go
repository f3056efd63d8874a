package flagd

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/convert"
	"github.com/flagstaff-go/flagstaff/internal/convert/jsonlogic"
	"github.com/flagstaff-go/flagstaff/internal/convert/logic"
)

// An outcome is what those get for whom a filter holds and no outcome before it.
type outcome struct {
	who   flags.Filter
	kind  outcomeKind
	value json.RawMessage // of a variant
	drawn *drawing
}

type outcomeKind int

const (
	variant   outcomeKind = iota
	byDefault             // the default variant
	failed                // the default of the code
	drawn                 // a draw
)

// A walk turns targeting into outcomes.
type walk struct {
	*flagBuild
	rule     any // the targeting, without references
	outcomes []outcome
}

// rules makes the rules.
func (b *flagBuild) rules(refs *references) {
	w := &walk{flagBuild: b}
	if err := w.targeting(refs); err != nil {
		b.out.Problem("The targeting cannot be kept: %v. Everybody gets the default variant.", err)
		w.outcomes = nil
	}
	w.add(logic.True(), outcome{kind: byDefault})
	fails := b.converter.MayFail || slices.ContainsFunc(w.outcomes, func(o outcome) bool { return o.kind == failed })
	b.emit(w.outcomes)
	// Where flagd fails for some, nothing but the original says the same in an export.
	if fails && len(b.out.Rules.Rules) > 0 {
		kept := object{"variants": b.def.Variants, "targeting": w.rule}
		if name := b.def.DefaultVariant; name != "" {
			kept["defaultVariant"] = name
		}
		b.out.Rules.Rules[0].Metadata = logic.JSON(object{"flagd": kept})
	}
}

func (w *walk) targeting(refs *references) error {
	var rule any
	if len(w.def.Targeting) > 0 {
		if err := json.Unmarshal(w.def.Targeting, &rule); err != nil {
			return err
		}
	}
	if m, ok := rule.(map[string]any); rule == nil || ok && len(m) == 0 && compact(w.def.Targeting) == "{}" {
		return nil
	}
	var err error
	if w.rule, err = refs.resolve(rule); err != nil {
		return err
	}
	return w.expression(logic.True(), w.rule)
}

func compact(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return ""
	}
	return b.String()
}

func (w *walk) add(who flags.Filter, o outcome) {
	if o.who = who; !logic.IsFalse(&who) {
		w.outcomes = append(w.outcomes, o)
	}
}

// expression adds the outcomes of an expression for those for whom a filter holds.
func (w *walk) expression(who flags.Filter, e any) error {
	m, _ := e.(map[string]any)
	if len(m) == 1 {
		for name, arguments := range m {
			list, isList := arguments.([]any)
			switch {
			case name == "fractional":
				return w.fractional(who, arguments)
			case (name == "if" || name == "?:") && isList && len(list) > 0:
				return w.branches(who, list)
			}
		}
	}
	cases, err := w.converter.Cases(e)
	if err != nil {
		return err
	}
	return w.cases(who, cases)
}

func (w *walk) branches(who flags.Filter, list []any) error {
	for ; len(list) > 1; list = list[2:] {
		condition, err := w.converter.Verdict(list[0])
		if err != nil {
			return err
		}
		if err := w.clause(logic.And(who, condition.Yes), list[1]); err != nil {
			return err
		}
		if !condition.Sure {
			w.add(logic.And(who, logic.Not(condition.Yes), logic.Not(condition.No)), outcome{kind: failed})
		}
	}
	if len(list) == 1 {
		return w.clause(who, list[0])
	}
	w.add(who, outcome{kind: byDefault})
	return nil
}

// clause is an expression in a branch. What it comes to is evaluated again if it is an object.
func (w *walk) clause(who flags.Filter, e any) error {
	if logic.IsFalse(&who) {
		return nil
	}
	if m, ok := e.(map[string]any); ok && len(m) == 1 && (m["fractional"] != nil || m["if"] != nil || m["?:"] != nil) {
		return w.expression(who, e)
	}
	cases, err := w.converter.Clause(e)
	if err != nil {
		return err
	}
	return w.cases(who, cases)
}

func (w *walk) cases(who flags.Filter, cases []jsonlogic.Case) error {
	for _, k := range cases {
		who := logic.And(who, k.When)
		switch {
		case k.Fails:
			w.add(who, outcome{kind: failed})
		case k.Property != nil:
			if err := w.named(who, k.Value); err != nil {
				return err
			}
		default:
			w.add(who, w.result(k.Constant))
		}
	}
	return nil
}

// result returns the outcome of a constant: it is the name of a variant, or null.
func (w *walk) result(v any) outcome {
	if v == nil {
		return outcome{kind: byDefault}
	}
	document, err := json.Marshal(v)
	if err != nil {
		return outcome{kind: failed}
	}
	value := w.usable[strings.ReplaceAll(string(document), `"`, "")]
	if value == nil {
		return outcome{kind: failed}
	}
	return outcome{kind: variant, value: value}
}

// named adds the outcomes of an attribute that has the name of a variant.
func (w *walk) named(who flags.Filter, v jsonlogic.Value) error {
	w.add(logic.And(who, v.Is("null")), outcome{kind: byDefault})
	for _, name := range slices.Sorted(maps.Keys(w.def.Variants)) {
		if strings.ContainsAny(name, "\\\"<>&\u2028\u2029[]{}") || name == "" {
			return fmt.Errorf("an attribute that has the name of a variant cannot be converted with the variant %q", name)
		}
		is := []flags.Filter{v.Compare("===", name)}
		if name == "true" || name == "false" {
			is = append(is, v.Compare("===", name == "true"))
		}
		if n, err := strconv.ParseFloat(name, 64); err == nil {
			if document, err := json.Marshal(n); err == nil && string(document) == name {
				is = append(is, v.Compare("===", n))
			}
		}
		o := outcome{kind: failed}
		if value := w.usable[name]; value != nil {
			o = outcome{kind: variant, value: value}
		}
		w.add(logic.And(who, logic.Or(is...)), o)
	}
	w.add(who, outcome{kind: failed})
	return nil
}

// fractional adds the outcomes of a draw.
func (w *walk) fractional(who flags.Filter, arguments any) error {
	list, err := w.flagBuild.fractional(arguments)
	if err != nil {
		return err
	}
	for i := range list {
		d := &list[i]
		who := logic.And(who, d.when)
		switch {
		case d.split != nil:
			w.add(who, outcome{kind: drawn, drawn: d})
		case d.value.Fails:
			w.add(who, outcome{kind: failed})
		default:
			w.add(who, w.result(d.value.Constant))
		}
	}
	return nil
}

// call returns the cases of fractional within other expressions.
func (b *flagBuild) call(name string, arguments any) (cases []jsonlogic.Case, known bool, err error) {
	if name != "fractional" {
		return nil, false, nil
	}
	list, err := b.fractional(arguments)
	if err != nil {
		return nil, true, err
	}
	for i := range list {
		d := &list[i]
		if d.split == nil {
			cases = append(cases, jsonlogic.Case{When: d.when, Value: d.value})
			continue
		}
		for _, v := range d.variants() {
			cases = append(cases, jsonlogic.Case{When: logic.And(d.when, d.filter(v)), Value: jsonlogic.Value{Constant: v}})
		}
		if len(d.shares) == 0 || d.shares[len(d.shares)-1].end < hashes {
			cases = append(cases, jsonlogic.Case{When: logic.And(d.when, logic.Not(d.filter(d.variants()...)))})
		}
	}
	return cases, true, nil
}

// variants returns the variants between which is drawn, each once.
func (d *drawing) variants() (list []any) {
	for _, s := range d.shares {
		if !slices.Contains(list, s.variant) {
			list = append(list, s.variant)
		}
	}
	return list
}

// filter returns the filter that holds for those who get one of some variants.
func (d *drawing) filter(variants ...any) flags.Filter {
	s := *d.split
	s.Ends, s.Values, s.Rest = nil, nil, "last"
	start := uint64(0)
	for _, share := range d.shares {
		if share.end > start {
			start = share.end
			s.Ends, s.Values = append(s.Ends, start), append(s.Values, logic.JSON(slices.Contains(variants, share.variant)))
		}
	}
	if start < hashes {
		s.Ends, s.Values = append(s.Ends, hashes), append(s.Values, json.RawMessage("false"))
	}
	if s.NoSubject != "hash" {
		s.NoSubject = "continue"
	}
	return flags.Filter{Type: "split", Split: &s}
}

// variable returns what the name of a variable stands for.
func (b *flagBuild) variable(path []string) ([]jsonlogic.Case, error) {
	switch {
	case path[0] == "$flagd" && len(path) == 2 && path[1] == "flagKey":
		return jsonlogic.Constant(b.out.Key), nil
	case path[0] == "$flagd" && len(path) == 2 && path[1] == "timestamp":
		return nil, fmt.Errorf("it depends on the time ($flagd.timestamp)")
	case path[0] == "$flagd" && len(path) > 1:
		return jsonlogic.Constant(nil), nil
	case path[0] == "$flagd":
		return nil, fmt.Errorf("the variable $flagd as a whole cannot be converted")
	case path[0] == "targetingKey" && len(path) > 1:
		return jsonlogic.Constant(nil), nil
	case path[0] == "targetingKey":
		return jsonlogic.Property("distinct_id", nil), nil
	}
	if len(path) > 1 {
		b.out.Note("Where %s is a list, flagd takes its first element for %s. Here that is not set.", strings.Join(path[:len(path)-1], "."), strings.Join(path, "."))
	}
	return jsonlogic.Property(b.options.Property(path[0]), path[1:]), nil
}

// emit makes rules of outcomes. The default of the rule set is the default variant, unless some
// get the default of the code.
func (b *flagBuild) emit(outcomes []outcome) {
	set := &b.out.Rules
	standard := b.usable[b.def.DefaultVariant]
	isLast := func(o outcome) bool { return o.kind == byDefault || o.kind == failed && standard == nil }
	if i := slices.IndexFunc(outcomes, func(o outcome) bool { return o.kind != drawn && logic.IsTrue(&o.who) }); i >= 0 {
		outcomes = outcomes[:i+1]
	}
	for len(outcomes) > 1 && isLast(outcomes[len(outcomes)-1]) && isLast(outcomes[len(outcomes)-2]) {
		outcomes = slices.Delete(outcomes, len(outcomes)-2, len(outcomes)-1)
	}
	code := slices.ContainsFunc(outcomes, func(o outcome) bool { return o.kind == failed || o.kind == drawn && b.fails(o.drawn) })
	if standard != nil && !code {
		set.Default = standard
	}
	for i := range outcomes {
		o := &outcomes[i]
		if i == len(outcomes)-1 && isLast(*o) && (standard == nil || !code) {
			break // the default of the rule set
		}
		r := flags.Rule{ID: convert.ID(product, b.out.Key, strconv.Itoa(i))}
		switch {
		case o.kind == drawn:
			b.draw(r, o, code)
		case o.kind == variant:
			r.Type, r.Value = "targeted_release", o.value
			b.target(r, o.who)
		case o.kind == byDefault && standard != nil:
			r.Type, r.Value = "targeted_release", standard
			b.target(r, o.who)
		default:
			convert.Fallback(&r, set.ReturnType)
			b.target(r, o.who)
		}
	}
}

// fails reports whether some of those who are drawn get the default of the code: their variant
// does not exist.
func (b *flagBuild) fails(d *drawing) bool {
	return slices.ContainsFunc(d.variants(), func(v any) bool { return v != nil && b.usable[variantName(v)] == nil })
}

// variantName returns the name of the variant that a constant stands for.
func variantName(v any) string {
	document, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return strings.ReplaceAll(string(document), `"`, "")
}

// target adds a rule for those for whom a filter holds.
func (b *flagBuild) target(r flags.Rule, who flags.Filter) {
	var err error
	if r.Targeting, err = logic.Targeting(who); err != nil {
		b.out.Problem("A rule cannot be kept: %v. It matches nobody.", err)
		r.Targeting, _ = logic.Targeting(logic.False())
	}
	b.out.Rules.Rules = append(b.out.Rules.Rules, r)
}

// draw adds the rules of a draw.
func (b *flagBuild) draw(r flags.Rule, o *outcome, code bool) {
	d := o.drawn
	standard := b.usable[b.def.DefaultVariant]
	s := *d.split
	s.Rest = "last"
	var none []any // variants that come to the default of the code
	start := uint64(0)
	for _, share := range d.shares {
		if share.end <= start {
			continue
		}
		v := standard
		if share.variant != nil {
			v = b.usable[variantName(share.variant)]
		}
		start = share.end
		if v == nil {
			if !slices.Contains(none, share.variant) {
				none = append(none, share.variant)
			}
			v = b.usable.Any()
		}
		s.Ends, s.Values = append(s.Ends, start), append(s.Values, v)
	}
	if none != nil {
		beyond := flags.Rule{ID: convert.ID(product, r.ID)}
		convert.Fallback(&beyond, b.out.Rules.ReturnType)
		b.target(beyond, logic.And(o.who, d.filter(none...)))
	}
	if s.Ends == nil { // nobody: the default variant
		if r.Type, r.Value = "targeted_release", standard; standard == nil {
			convert.Fallback(&r, b.out.Rules.ReturnType)
		}
		b.target(r, o.who)
		return
	}
	r.Type, r.Split = "split", &s
	b.target(r, o.who)
}
