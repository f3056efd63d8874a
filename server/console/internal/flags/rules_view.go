package flags

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/flagstaff-go/flagstaff/internal/operators"
	"github.com/flagstaff-go/flagstaff/internal/words"
	"github.com/flagstaff-go/flagstaff/server/console/internal/comparisons"
	"github.com/flagstaff-go/flagstaff/server/console/shell/charts"
	"github.com/flagstaff-go/flagstaff/server/console/shell/forms"
	"github.com/flagstaff-go/flagstaff/server/console/shell/targeting"
)

// A ruleView is a rule with what its fields offer, and with the messages about it.
type ruleView struct {
	ruleForm
	ID                                                string // r0
	Number                                            int
	Words, Error, ShareError, HeldError, VariantError string
	Up, Down, Stored, Drawn, Splits, Foreign, ByGroup bool
	Kinds, Misses                                     []forms.Option
	Value                                             valueView
	Filters                                           []targeting.FilterView
	Parts                                             []ruleVariantView
}

// A ruleVariantView is a variant of a rule.
type ruleVariantView struct {
	ruleVariantForm
	ID, Hue, Error, KeyError, WeightError string
	Value                                 valueView
}

// A valueView is a field for a value of the flag's type.
type valueView struct {
	ID, Label, Text, Error string
	Options                []forms.Option // of on and off
	Number, JSON           bool
	Rows                   int
}

func (form *flagForm) valueView(id, label, text string) valueView {
	v := valueView{
		ID: id, Label: label, Text: text, Error: form.Errors[id], Number: form.Type == "number", JSON: form.Type == "object",
		Rows: min(1+strings.Count(text, "\n"), 16),
	}
	if form.Type == typeOnOff {
		v.Options = forms.Selected(forms.Options("true", "on", "false", "off"), text)
		if text == "" {
			v.Options = append([]forms.Option{{Label: "choose", Selected: true}}, v.Options...)
		}
	}
	return v
}

// defaultView is the field for the default value, which may be empty.
func (form *flagForm) defaultView() valueView {
	v := form.valueView("default", "Default value", form.Default)
	if v.Options != nil {
		v.Options = forms.Selected(forms.Options("", "the fallback of the program", "true", "on", "false", "off"), form.Default)
	}
	return v
}

// ofRule returns options with the words for a member of a rule.
func ofRule(member, chosen string, values ...string) []forms.Option {
	if !slices.Contains(values, chosen) {
		values = append(values, chosen)
	}
	var list []forms.Option
	for _, value := range values {
		list = append(list, forms.Option{Value: value, Label: cmp.Or(words.OfRule(member, value), value), Selected: value == chosen})
	}
	return list
}

// ruleViews returns the rules of a form with what their fields offer.
func (form *flagForm) ruleViews(offered *targeting.Offered) (list []ruleView) {
	set := form.said()
	for i, r := range form.Rules {
		id := ruleName(i)
		v := ruleView{
			ruleForm: r, ID: id, Number: i + 1, Words: offered.Names().Rule(&set.Rules[i], set),
			ShareError: form.Errors[id+".share"], HeldError: form.Errors[id+".held"], VariantError: form.Errors[id+".variants"],
			Error: cmp.Or(form.Errors[id], form.Errors[id+".kind"], form.Errors[id+".miss"], form.Errors[id+".description"]),
			Up:    i > 0, Down: i+1 < len(form.Rules), Stored: forms.ReadObject(r.Raw)["id"] != nil,
			Drawn: r.drawn(), Splits: r.Kind == ruleSplit, Foreign: r.Kind == ruleForeign, ByGroup: form.Aggregation != "",
			Kinds: ofRule("rule_type", r.Kind, ruleRelease, ruleShare, ruleSplit), Value: form.valueView(id+".value", "Value", r.Value),
			Misses: ofRule("on_rollout_miss", r.Miss, "continue", "return_default"),
		}
		for j, f := range r.Filters {
			filter := offered.FilterView(partName(i, "f", j), f, form.Errors)
			if j > 0 {
				filter.Joint = "and"
			}
			filter.Nested = true
			for k := range filter.Operators { // rules have no ranges
				options := &filter.Operators[k].Options
				*options = slices.DeleteFunc(*options, func(o forms.Option) bool {
					return comparisons.Of(f.Kind, o.Value).Operand == operators.OperandRange && !o.Selected
				})
			}
			v.Filters = append(v.Filters, filter)
		}
		for j, part := range r.Variants {
			name := partName(i, "v", j)
			v.Parts = append(v.Parts, ruleVariantView{
				part, name, "hue-" + strconv.Itoa(j%charts.Hues), form.Errors[name], form.Errors[name+".key"], form.Errors[name+".weight"],
				form.valueView(name+".value", "Value", part.Value),
			})
		}
		list = append(list, v)
	}
	return list
}
