package targeting

import (
	"cmp"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/served"
	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/server/console/shell"
	"github.com/flagstaff-go/flagstaff/server/console/shell/forms"
)

// Limits of a form. The Service has limits of its own, for what can be saved.
const (
	maxConditions = 500 // condition sets
	maxFilters    = 500 // filters of a condition set
)

// A Form is the condition sets of filters as a person edits them.
type Form struct {
	Aggregation string // the index of a group type; "" for persons
	Conditions  []ConditionForm

	forms.Checked
}

// A ConditionForm is a condition set.
type ConditionForm struct {
	Raw, Description, Share, Variant string
	Aggregation                      string // "" as the flag, "persons", or the index of a group type
	Filters                          []FilterForm
}

// A ConditionView is a condition set with what its fields offer.
type ConditionView struct {
	ConditionForm
	ID                                     string // c0
	Number                                 int
	Words, Error, ShareError, VariantError string
	Up, Down                               bool
	ByGroup                                bool // it is about groups, whose properties its filters look at
	VariantKeys, Aggregations              []forms.Option
	Filters                                []FilterView
}

// Set fills in the fields that stand for condition sets.
func (form *Form) Set(f *flags.Filters) {
	form.Aggregation, form.Conditions = "", nil
	if index, ok := f.AggregationGroupTypeIndex.Index(); ok {
		form.Aggregation = strconv.Itoa(index)
	}
	for i := range f.Groups {
		form.Conditions = append(form.Conditions, conditionOf(&f.Groups[i]))
	}
}

func conditionOf(c *flags.Condition) ConditionForm {
	form := ConditionForm{Raw: string(forms.Must(json.Marshal(c))), Description: c.Description, Share: "100"}
	if c.RolloutPercentage != nil {
		form.Share = forms.Exact(*c.RolloutPercentage)
	}
	if c.Variant != nil {
		form.Variant = *c.Variant
	}
	if index, ok := c.AggregationGroupTypeIndex.Index(); ok {
		form.Aggregation = strconv.Itoa(index)
	} else if c.AggregationGroupTypeIndex == flags.ByPerson {
		form.Aggregation = "persons"
	}
	for i := range c.Properties {
		form.Filters = append(form.Filters, FilterOf(&c.Properties[i]))
	}
	return form
}

// ReadForm reads what a browser has sent.
func ReadForm(v url.Values) Form {
	form := Form{Aggregation: v.Get("aggregation")}
	for i := 0; i < maxConditions && v.Has(conditionName(i)+".raw"); i++ {
		name := conditionName(i)
		c := ConditionForm{
			Raw: v.Get(name + ".raw"), Description: forms.Lines(v.Get(name + ".description")),
			Share:   strings.TrimSpace(v.Get(name + ".share")),
			Variant: v.Get(name + ".variant"), Aggregation: v.Get(name + ".aggregation"),
		}
		for j := 0; j < maxFilters && v.Has(filterName(i, j)+".raw"); j++ {
			c.Filters = append(c.Filters, ReadFilter(v, filterName(i, j)))
		}
		form.Conditions = append(form.Conditions, c)
	}
	return form
}

func conditionName(i int) string { return "c" + strconv.Itoa(i) }

func filterName(i, j int) string { return conditionName(i) + ".f" + strconv.Itoa(j) }

// Check notes what is wrong with condition sets.
func (form *Form) Check() {
	for i := range form.Conditions {
		form.CheckShare(conditionName(i)+".share", form.Conditions[i].Share)
		for j := range form.Conditions[i].Filters {
			form.Conditions[i].Filters[j].Check(filterName(i, j), form.Fail)
		}
	}
}

// CheckShare notes what is wrong with a percentage.
func (form *Form) CheckShare(field, s string) {
	if !isShare(s) {
		form.Fail(field, "Must be a number from 0 to 100, not %q.", forms.Shorten(s, 40))
	}
}

func isShare(s string) bool {
	v, err := strconv.ParseFloat(s, 64)
	return err == nil && v >= 0 && v <= 100 && json.Valid([]byte(s))
}

// Groups returns the condition sets that the form stands for.
func (form *Form) Groups() []flags.Condition {
	out := make([]flags.Condition, len(form.Conditions))
	for i := range out {
		out[i] = form.Conditions[i].condition()
	}
	return out
}

// condition returns the condition set that the form stands for.
func (form *ConditionForm) condition() flags.Condition {
	var c flags.Condition
	_ = json.Unmarshal([]byte(form.Raw), &c)
	if c.RolloutPercentage != nil || form.Share != "100" { // null is 100 as well
		c.RolloutPercentage = new(Percentage(form.Share))
	}
	if form.Variant != "" {
		c.Variant = &form.Variant
	} else {
		c.Variant = nil
	}
	c.Description = form.Description
	c.AggregationGroupTypeIndex = AggregationOf(form.Aggregation)
	c.Properties = make([]flags.Filter, len(form.Filters))
	for i := range form.Filters {
		c.Properties[i] = form.Filters[i].Filter()
	}
	return c
}

// AggregationOf reads the field that says which groups, or persons, to bucket by.
func AggregationOf(field string) flags.Aggregation {
	if field == "persons" {
		return flags.ByPerson
	}
	if index, err := strconv.Atoi(field); err == nil && index >= 0 && index <= served.MaxGroupTypeIndex {
		return flags.ByGroup(index)
	}
	return flags.Inherited
}

// Percentage reads a percentage, and 0 for what is none.
func Percentage(s string) float64 {
	if !isShare(s) {
		return 0
	}
	x, _ := strconv.ParseFloat(s, 64)
	return x
}

// Edit does what a button of a condition set says, which changes only the form: a verb
// and the name of a part.
func (form *Form) Edit(verb, target string) {
	i, j := PartOf(target)
	condition := i >= 0 && i < len(form.Conditions) && strings.HasPrefix(target, "c")
	switch verb {
	case "add-condition":
		form.Conditions = append(form.Conditions, ConditionForm{Raw: NewPart, Share: "0"})
	case "add-person", "add-group", "add-cohort", "add-flag":
		if condition {
			form.Conditions[i].Filters = append(form.Conditions[i].Filters, NewFilter(strings.TrimPrefix(verb, "add-")))
		}
	case "remove":
		if condition && j >= 0 {
			form.Conditions[i].Filters = Rearranged(form.Conditions[i].Filters, verb, j, nil)
			return
		}
		fallthrough
	default:
		if condition && j < 0 {
			form.Conditions = Rearranged(form.Conditions, verb, i, func(c ConditionForm) ConditionForm {
				c.Filters = slices.Clone(c.Filters)
				return c
			})
		}
	}
}

// Rearranged does with an element of a list what a button says: copy, remove, up or down.
func Rearranged[T any](list []T, verb string, i int, copied func(T) T) []T {
	other := i - 1
	if verb == "down" {
		other = i + 1
	}
	switch {
	case i < 0 || i >= len(list):
	case verb == "copy":
		list = slices.Insert(list, i+1, copied(list[i]))
	case verb == "remove":
		list = slices.Delete(list, i, i+1)
	case (verb == "up" || verb == "down") && other >= 0 && other < len(list):
		list[i], list[other] = list[other], list[i]
	}
	return list
}

// PartOf reads the name of a part, such as c0, c0.f1 or v2. What is missing is −1.
func PartOf(name string) (i, j int) {
	first, second, _ := strings.Cut(name, ".")
	index := func(s string) int {
		if len(s) < 2 {
			return -1
		}
		n, err := strconv.Atoi(s[1:])
		if err != nil {
			return -1
		}
		return n
	}
	return index(first), index(second)
}

// FieldOf returns the name of the field that an error about filters is about, and the
// message without the place.
func FieldOf(e *management.Error) (field, detail string) {
	steps := e.Path
	at := func(i int) string {
		if i < len(steps) {
			return steps[i]
		}
		return ""
	}
	// A member without a place of its own stands at the part of the form that has it.
	members := map[string]string{
		"rollout_percentage": ".share", "variant": ".variant", "key": ".key", "value": ".value", "operator": ".operator",
		"group_type_index": ".group",
	}
	part := func(name string, i int) (field, detail string) {
		switch member := at(i); {
		case member == "":
			return name, e.Detail
		case members[member] == "":
			return name, strings.Join(steps[i:], "/") + ": " + e.Detail
		default:
			return name + members[member], e.Detail
		}
	}
	switch {
	case at(0) == "groups" && at(2) == "properties" && at(3) != "":
		return part("c"+at(1)+".f"+at(3), 4)
	case at(0) == "groups" && at(1) != "":
		return part("c"+at(1), 2)
	case at(0) == "multivariate" && at(2) != "":
		return part("v"+at(2), 3)
	case at(0) == "payloads" && at(1) == "true":
		return "payload", e.Detail
	case at(0) == "holdout":
		return "holdout_share", e.Detail
	}
	return "", e.Text()
}

// Sentences returns the condition sets of a form with what they say.
func Sentences(q *shell.Request, form *Form) ([]ConditionView, error) {
	v, err := Offers(q, 0, 0)
	if err != nil {
		return nil, err
	}
	return v.Sets(form, nil), nil
}

// Sets returns condition sets with what their fields offer, and with the messages about them.
func (v *Offered) Sets(form *Form, variants []string) (list []ConditionView) {
	overrides := forms.Options("", "by weight")
	for _, key := range variants {
		overrides = append(overrides, forms.Option{Value: key, Label: key})
	}
	for i, c := range form.Conditions {
		id := conditionName(i)
		set := ConditionView{
			ConditionForm: c, ID: id, Number: i + 1, Error: form.Errors[id], ShareError: form.Errors[id+".share"],
			VariantError: form.Errors[id+".variant"],
			Up:           i > 0, Down: i+1 < len(form.Conditions), ByGroup: forms.IsNumber(cmp.Or(c.Aggregation, form.Aggregation)),
		}
		said := c.condition()
		set.Words = v.words.Condition(&said, AggregationOf(form.Aggregation))
		if variants != nil || c.Variant != "" {
			set.VariantKeys = forms.Selected(overrides, c.Variant)
		}
		if len(v.GroupTypes) > 0 || c.Aggregation != "" {
			set.Aggregations = forms.Selected(append(forms.Options("", "same as the flag", "persons", "persons"), v.GroupTypes...),
				c.Aggregation)
		}
		for j, f := range c.Filters {
			filter := v.FilterView(filterName(i, j), f, form.Errors)
			if j > 0 {
				filter.Joint = "and"
			}
			set.Filters = append(set.Filters, filter)
		}
		list = append(list, set)
	}
	return list
}
