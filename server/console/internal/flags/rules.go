package flags

import (
	"cmp"
	"encoding/json"
	"errors"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/words"
	"github.com/flagstaff-go/flagstaff/server/console/shell/forms"
	"github.com/flagstaff-go/flagstaff/server/console/shell/targeting"
)

// A rulesForm is a rule set as a person edits it (rules.md §2).
type rulesForm struct {
	Type    string // of the values; "" for a flag with condition sets
	Default string // "" for what the program falls back on
	Rules   []ruleForm
}

// A ruleForm is a rule. What the form has no field for is in Raw: the ID, which the Service knows
// the rule by, and all that has no effect, but no seed.
type ruleForm struct {
	Raw, Kind, Description, Value, Share, Miss, Held string

	Paused   bool
	Filters  []targeting.FilterForm
	Variants []ruleVariantForm
}

type ruleVariantForm struct{ Key, Weight, Value string }

// The types of rules.
const (
	ruleRelease = "targeted_release"
	ruleShare   = "percentage_rollout"
	ruleSplit   = "experiment"
	ruleForeign = "split" // of another product, which the form keeps as it is
)

// Values are of the type on or off, or of one of three others.
const typeOnOff = "boolean"

var valueTypes = forms.Options(
	"", "On or off", "string", "Text", "number", "Number", "object", "Object (JSON)", typeOnOff, "On or off, by rules",
)

// keptOfRule are the members of a rule that have no field, by the types of rules that have them.
var keptOfRule = map[string][]string{
	"id": nil, "metadata": nil, "assignment_algorithm": {ruleShare, ruleSplit}, "assign_by": {ruleShare, ruleSplit},
	"experiment_id": {ruleSplit}, "holdout": {ruleSplit}, "split": {ruleForeign},
}

// setRules fills in the fields that stand for a rule set.
func (form *flagForm) setRules(set *flags.RuleSet) {
	form.rulesForm = rulesForm{Type: set.ReturnType, Default: typedText(set.Default)}
	form.Aggregation = ""
	if index, ok := set.Aggregation.Index(); ok {
		form.Aggregation = strconv.Itoa(index)
	}
	raw := rulesOf(set)
	for i := range set.Rules {
		r := &set.Rules[i]
		rule := ruleForm{
			Kind: r.Type, Description: description(r), Value: typedText(r.Value), Share: forms.Exact(r.RolloutPercentage), Miss: r.OnMiss,
			Paused: r.Paused,
		}
		if r.Type == ruleRelease {
			rule.Share, rule.Miss = newRule.Share, newRule.Miss
		}
		kept := make(forms.Object)
		for name := range keptOfRule {
			if value, has := raw[i][name]; has {
				kept[name] = value
			}
		}
		if r.Holdout != nil {
			rule.Held = forms.Exact(r.Holdout.ExclusionPercentage)
			kept["holdout"] = without(kept["holdout"], "seed", "exclusion_percentage")
		}
		rule.Raw = string(forms.Must(json.Marshal(kept)))
		for j := range r.Targeting {
			rule.Filters = append(rule.Filters, targeting.FilterOf(&r.Targeting[j]))
		}
		for _, v := range r.Variants {
			rule.Variants = append(rule.Variants, ruleVariantForm{v.Key, forms.Exact(v.Weight), typedText(v.Value)})
		}
		form.Rules = append(form.Rules, rule)
	}
}

func without(raw json.RawMessage, names ...string) json.RawMessage {
	o := forms.ReadObject(string(raw))
	for _, name := range names {
		delete(o, name)
	}
	return forms.Must(json.Marshal(o))
}

// rulesOf returns the rules of a set as its document has them.
func rulesOf(set *flags.RuleSet) []forms.Object {
	raw, err := json.Marshal(&flags.Filters{Version: 2, RuleSet: set})
	if err != nil { // a value is not JSON
		return make([]forms.Object, len(set.Rules))
	}
	list := forms.ReadList(forms.ReadObject(string(raw))["rules"])
	out := make([]forms.Object, len(list))
	for i := range list {
		out[i] = forms.ReadObject(string(list[i]))
	}
	return out
}

// typedText returns a value as people type it: long JSON with a line for each member.
func typedText(raw json.RawMessage) string {
	const longest = 60 // characters in a line
	text := forms.Text(raw)
	if len(text) > longest && raw[0] == '{' {
		return forms.Pretty(raw)
	}
	return text
}

// typed returns the JSON of a value of the flag's type, or what is wrong with what was typed.
func (form *rulesForm) typed(text string) (raw json.RawMessage, wrong string) {
	trimmed := strings.TrimSpace(text)
	switch {
	case text == "":
		return nil, "A value is missing."
	case form.Type == typeOnOff && trimmed != "true" && trimmed != "false":
		return nil, "Choose on or off."
	case form.Type == typeOnOff:
		return json.RawMessage(trimmed), ""
	case form.Type == "number":
		if raw = forms.NumberJSON(trimmed); raw[0] == '"' {
			return nil, "Must be a number, such as 5 or -0.5."
		}
		return raw, ""
	case form.Type == "object":
		if _, err := forms.ReadJSON(text, `must be an object, such as {"title": "Hello"}`); err != nil {
			return nil, sentence(err.Error())
		}
		return json.RawMessage(text), ""
	}
	return forms.Quoted(text), ""
}

func sentence(text string) string { return strings.ToUpper(text[:1]) + text[1:] + "." }

func ruleName(i int) string { return "r" + strconv.Itoa(i) }

// readRules reads what a browser has sent.
func readRules(v url.Values) rulesForm {
	form := rulesForm{Type: v.Get("type"), Default: forms.Lines(v.Get("default"))}
	for i := 0; i < maxParts && v.Has(ruleName(i)+".raw"); i++ {
		name := ruleName(i)
		text := func(field string) string { return strings.TrimSpace(v.Get(name + "." + field)) }
		r := ruleForm{
			Raw: v.Get(name + ".raw"), Kind: text("kind"), Description: forms.Lines(v.Get(name + ".description")),
			Value: forms.Lines(v.Get(name + ".value")), Share: text("share"), Miss: text("miss"), Held: text("held"),
			Paused: text("paused") != "",
		}
		for j := 0; j < maxParts && v.Has(partName(i, "f", j)+".raw"); j++ {
			r.Filters = append(r.Filters, targeting.ReadFilter(v, partName(i, "f", j)))
		}
		for j := 0; j < maxParts && v.Has(partName(i, "v", j)+".key"); j++ {
			part := partName(i, "v", j)
			r.Variants = append(r.Variants, ruleVariantForm{
				strings.TrimSpace(v.Get(part + ".key")), strings.TrimSpace(v.Get(part + ".weight")), forms.Lines(v.Get(part + ".value")),
			})
		}
		if r.Kind == ruleSplit && len(r.Variants) == 0 { // it was just made one
			r.Variants = []ruleVariantForm{{"control", "50", form.Default}, {"test", "50", r.Value}}
		}
		form.Rules = append(form.Rules, r)
	}
	return form
}

// partName is the name of a filter or a variant of a rule.
func partName(i int, kind string, j int) string { return ruleName(i) + "." + kind + strconv.Itoa(j) }

// newRule is a rule that was just added.
var newRule = ruleForm{Raw: targeting.NewPart, Kind: ruleRelease, Share: "100", Miss: "continue"}

// editRules does what a button says with a rule or a part of one.
func (form *flagForm) editRules(verb, target string) {
	if verb == "add-rule" {
		form.Rules = append(form.Rules, newRule)
		return
	}
	i, j := targeting.PartOf(target)
	if !strings.HasPrefix(target, "r") || i < 0 || i >= len(form.Rules) {
		return
	}
	r := &form.Rules[i]
	_, part, _ := strings.Cut(target, ".")
	switch {
	case verb == "add-variant":
		r.Variants = append(r.Variants, ruleVariantForm{Weight: left(r.weights())})
	case verb == "even":
		for j, weight := range evenly(len(r.Variants)) {
			r.Variants[j].Weight = weight
		}
	case strings.HasPrefix(verb, "add-"):
		r.Filters = append(r.Filters, targeting.NewFilter(strings.TrimPrefix(verb, "add-")))
	case part == "":
		form.Rules = targeting.Rearranged(form.Rules, verb, i, func(r ruleForm) ruleForm {
			r.Raw = string(without(json.RawMessage(r.Raw), "id")) // a rule of its own
			r.Filters, r.Variants = slices.Clone(r.Filters), slices.Clone(r.Variants)
			return r
		})
	case verb == "remove" && part[0] == 'f':
		r.Filters = targeting.Rearranged(r.Filters, verb, j, nil)
	case verb == "remove":
		r.Variants = targeting.Rearranged(r.Variants, verb, j, nil)
	}
}

func (r *ruleForm) weights() []string {
	out := make([]string, len(r.Variants))
	for i := range out {
		out[i] = r.Variants[i].Weight
	}
	return out
}

// drawn reports whether the rule is for a share of those whom it targets.
func (r *ruleForm) drawn() bool { return r.Kind == ruleShare || r.Kind == ruleSplit }

// drawsAnew reports whether a rule is new whose percentage includes some, and not all.
func (form *flagForm) drawsAnew() bool {
	return slices.ContainsFunc(form.Rules, func(r ruleForm) bool {
		return form.ruled() && forms.ReadObject(r.Raw)["id"] == nil && (r.Kind == ruleSplit || r.Kind == ruleShare && r.Share != "100")
	})
}

// said returns the rule set that the form stands for, as it can be said: the rules have no more
// than what there are fields for, and values that cannot be read are missing.
func (form *flagForm) said() *flags.RuleSet {
	set := &flags.RuleSet{ReturnType: form.Type, Aggregation: targeting.AggregationOf(form.Aggregation)}
	if set.Aggregation == flags.Inherited {
		set.Aggregation = flags.ByPerson
	}
	set.Default, _ = form.typed(form.Default)
	set.Rules = make([]flags.Rule, len(form.Rules))
	for i := range form.Rules {
		form.Rules[i].fill(&set.Rules[i], &form.rulesForm)
	}
	return set
}

func (r *ruleForm) fill(out *flags.Rule, of *rulesForm) {
	out.Type = r.Kind
	if r.Description != "" {
		out.Description = &r.Description
	}
	out.Targeting = make([]flags.Filter, len(r.Filters))
	for j := range r.Filters {
		out.Targeting[j] = r.Filters[j].Filter()
		out.Targeting[j].DependencyChain = nil // which condition sets have
	}
	if r.Kind == ruleForeign {
		out.Split = r.split(of.Type)
		return
	}
	out.Value, _ = of.typed(r.Value)
	out.RolloutPercentage, out.OnMiss = targeting.Percentage(r.Share), r.Miss
	if r.Kind != ruleSplit {
		return
	}
	out.Paused = r.Paused
	out.Variants = make([]flags.RuleVariant, len(r.Variants))
	for j, v := range r.Variants {
		value, _ := of.typed(v.Value)
		out.Variants[j] = flags.RuleVariant{Key: v.Key, Weight: targeting.Percentage(v.Weight), Value: value}
	}
	if r.Held != "" {
		out.Holdout = &flags.RuleHoldout{ExclusionPercentage: targeting.Percentage(r.Held)}
	}
}

// split returns the split of another product, which has no field. One that a rule of this type
// cannot have is empty: the Service says what is wrong with it.
func (r *ruleForm) split(returnType string) *flags.RuleSplit {
	rule := map[string]any{
		"rule_type": ruleForeign, "targeting": map[string]any{"properties": []any{}}, "split": forms.ReadObject(r.Raw)["split"],
	}
	set := map[string]any{"version": 2, "return_type": returnType, "default_value": nil, "rules": []any{rule}}
	var alone flags.Filters
	if json.Unmarshal(forms.Must(json.Marshal(set)), &alone) == nil && alone.RuleSet != nil {
		for _, rule := range alone.RuleSet.Rules {
			return cmp.Or(rule.Split, new(flags.RuleSplit))
		}
	}
	return new(flags.RuleSplit)
}

// documents returns the rules that the form stands for, with what has no field.
func (form *flagForm) documents() []forms.Object {
	list := rulesOf(form.said())
	for i, rule := range list {
		r := &form.Rules[i]
		for name, value := range forms.ReadObject(r.Raw) {
			kinds, known := keptOfRule[name]
			switch {
			case !known, kinds != nil && !slices.Contains(kinds, r.Kind), name == "assign_by" && form.Aggregation != "":
			case name == "holdout":
				if held := forms.ReadObject(string(rule["holdout"])); rule["holdout"] != nil {
					held["id"] = forms.ReadObject(string(value))["id"]
					rule["holdout"] = forms.Must(json.Marshal(held))
				}
			default:
				rule[name] = value
			}
		}
	}
	return list
}

// ruleSet returns the rule set that a form stands for, which has neither seeds nor IDs of new
// rules. The error is the first [flags.RuleFault].
func (form *flagForm) ruleSet() (*flags.RuleSet, error) {
	if form.AsJSON {
		return flags.DecodeRuleSet([]byte(form.JSON), true)
	}
	said := form.said()
	rules := form.documents()
	said.Rules = nil
	root := forms.ReadObject(string(forms.Must(json.Marshal(&flags.Filters{Version: 2, RuleSet: said}))))
	root["rules"] = forms.Must(json.Marshal(rules))
	return flags.DecodeRuleSet(forms.Must(json.Marshal(root)), true)
}

// ruled reports whether a form stands for a rule set.
func (form *flagForm) ruled() bool {
	if o := forms.ReadObject(form.JSON); form.AsJSON && (o["rules"] != nil || string(o["version"]) == "2") {
		return true
	}
	return form.Type != ""
}

// checkRules notes what is wrong with a rule set.
func (form *flagForm) checkRules() {
	value := func(field, text string) {
		if _, wrong := form.typed(text); wrong != "" {
			form.Fail(field, "%s", wrong)
		}
	}
	if form.AsJSON {
		form.Rules = nil
	} else if form.Default != "" {
		value("default", form.Default)
	}
	for i := range form.Rules {
		r, name := &form.Rules[i], ruleName(i)
		for j := range r.Filters {
			r.Filters[j].Check(partName(i, "f", j), form.Fail)
		}
		if r.Kind == ruleRelease || r.Kind == ruleShare {
			value(name+".value", r.Value)
		}
		if r.drawn() {
			form.CheckShare(name+".share", r.Share)
		}
		if r.Kind != ruleSplit {
			continue
		}
		if r.Held != "" {
			form.CheckShare(name+".held", r.Held)
		}
		total := 0.0
		for j, v := range r.Variants {
			part := partName(i, "v", j)
			if v.Key == "" {
				form.Fail(part+".key", "A variant needs a key.")
			}
			form.CheckShare(part+".weight", v.Weight)
			value(part+".value", v.Value)
			total += targeting.Percentage(v.Weight)
		}
		if total = math.Round(total*100) / 100; total != 100 && len(form.Errors) == 0 {
			form.Fail(name+".variants", "The weights of the variants must sum to 100%%, not %s.", forms.Percent(total))
		}
	}
	if len(form.Errors) > 0 {
		return
	}
	_, err := form.ruleSet()
	if fault, ok := errors.AsType[*flags.RuleFault](err); ok {
		form.place(strings.Split(strings.TrimPrefix(fault.Path, "/"), "/"), fault.Text)
	}
}

// place notes what is wrong with a part of a rule set at the field that stands for it.
func (form *flagForm) place(steps []string, text string) {
	field, known := ruleFieldOf(steps)
	text = sentence(strings.TrimSuffix(text, "."))
	if form.AsJSON || !known {
		if place := words.Place(strings.Join(steps, "/")); place != "" {
			text = place + ": " + text
		}
	}
	if form.AsJSON {
		field = "json"
	}
	form.Fail(field, "%s", text)
}

// ruleFieldOf returns the name of the field for a place in a rule set, or that of the part of the
// form where it is.
func ruleFieldOf(steps []string) (field string, known bool) {
	if steps[0] == "default_value" {
		return "default", true
	}
	if steps[0] != "rules" || len(steps) < 2 {
		return "", false
	}
	part, rest := "r"+steps[1], steps[2:]
	if len(rest) > 0 && rest[0] == "targeting" {
		rest = rest[1:]
	}
	if len(rest) > 1 && (rest[0] == "properties" || rest[0] == "variants") {
		part += "." + map[string]string{"properties": "f", "variants": "v"}[rest[0]] + rest[1]
		rest = rest[2:]
	}
	if len(rest) == 0 {
		return part, true
	}
	name := map[string]string{
		"value": ".value", "rollout_percentage": ".share", "on_rollout_miss": ".miss", "variants": ".variants", "holdout": ".held",
		"description": ".description", "rule_type": ".kind", "key": ".key", "weight": ".weight", "operator": ".operator",
		"group_type_index": ".group",
	}[rest[0]]
	return part + name, name != ""
}
