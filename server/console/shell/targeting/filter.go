package targeting

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/operators"
	"github.com/flagstaff-go/flagstaff/internal/words"
	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/server/console/internal/comparisons"
	"github.com/flagstaff-go/flagstaff/server/console/internal/people"
	"github.com/flagstaff-go/flagstaff/server/console/shell"
	"github.com/flagstaff-go/flagstaff/server/console/shell/forms"
)

const maxValues = 1000 // values of a filter

// NewPart is the Raw of a part that was just added.
const NewPart = "{}"

// A FilterForm is one comparison, of a condition set or of a cohort.
type FilterForm struct {
	Raw       string
	Kind      string // person, person_metadata, group, cohort or flag
	Key       string
	Was       string // the key as it was shown in place of the ID of a flag; "" otherwise
	Operator  string
	Values    []string
	GroupType string
	Negated   bool // it is for those whom it does not fit; that counts in cohorts alone
}

// NewFilter returns a filter of a kind that a person is about to fill in.
func NewFilter(kind string) FilterForm {
	f := FilterForm{Raw: NewPart, Kind: kind, Operator: comparisons.Of(kind, "").Name}
	if kind == "flag" {
		f.Values = []string{"true"}
	}
	return f
}

// FilterOf returns the form of a filter.
func FilterOf(p *flags.Filter) FilterForm {
	f := FilterForm{
		Raw: string(forms.Must(json.Marshal(p))), Kind: cmp.Or(p.Type, "person"), Key: p.Key, Operator: p.Operator,
		Values:  forms.Texts(p.Value),
		Negated: p.Negation,
	}
	if p.GroupTypeIndex != nil {
		f.GroupType = strconv.Itoa(*p.GroupTypeIndex)
	}
	if f.Operator == "" {
		f.Operator = comparisons.Of(f.Kind, "").Name
	}
	return f
}

// ReadFilter reads the fields of a filter, which begin with its name.
func ReadFilter(v url.Values, name string) FilterForm {
	f := FilterForm{
		Raw: v.Get(name + ".raw"), Kind: v.Get(name + ".kind"), Key: strings.TrimSpace(v.Get(name + ".key")), Was: v.Get(name + ".was"),
		Operator: v.Get(name + ".operator"), GroupType: v.Get(name + ".group"), Negated: v.Get(name+".not") != "",
	}
	for _, value := range v[name+".value"] {
		if value != "" && len(f.Values) < maxValues {
			f.Values = append(f.Values, value)
		}
	}
	return f
}

// Check notes what is missing.
func (f *FilterForm) Check(name string, fail func(field, format string, args ...any)) {
	if f.Key == "" && f.Kind != "cohort" {
		fail(name+".key", "Name a %s.", map[bool]string{true: "flag", false: "property"}[f.Kind == "flag"])
	}
	if len(f.Values) == 0 && comparisons.Of(f.Kind, f.Operator).Operand != operators.OperandNone && !emptyValueKept(f) {
		fail(name+".value", "A value is missing.")
	}
	if f.Kind == "cohort" && len(f.Values) > 0 && !forms.IsNumber(f.Values[0]) {
		fail(name+".value", "Choose a cohort.")
	}
}

// emptyValueKept reports whether a filter has had the empty text as its value, and has it
// still.
func emptyValueKept(f *FilterForm) bool {
	was := f.was()
	return was.Key == f.Key && cmp.Or(was.Operator, comparisons.Of(f.Kind, "").Name) == f.Operator && string(was.Value) == `""`
}

// was returns the filter that the form was made from, an empty one if it is new.
func (f *FilterForm) was() (p flags.Filter) {
	if f.Raw != NewPart {
		_ = json.Unmarshal([]byte(f.Raw), &p) // what is not one of ours has nothing
	}
	return p
}

// Filter returns the filter that the form stands for.
func (f *FilterForm) Filter() flags.Filter {
	p := f.was()
	before := p
	p.CohortName = "" // it is only shown
	if p.Key != f.Key && (f.Was == "" || f.Key != f.Was) {
		p.Key = f.Key
		if f.Kind == "flag" {
			p.DependencyChain = &[]string{f.Key} // it is a key, and not an ID
		}
	}
	if f.Kind == "cohort" {
		p.Key = "id"
	}
	if p.Type != f.Kind && (f.Raw == NewPart || f.Kind != "person") { // without a kind it is a person's
		p.Type = f.Kind
	}
	was := cmp.Or(before.Operator, comparisons.Of(f.Kind, "").Name)
	if was != f.Operator || f.Raw == NewPart {
		p.Operator = f.Operator
	}
	if index, err := strconv.Atoi(f.GroupType); err == nil && f.Kind == "group" {
		p.GroupTypeIndex = &index
	}
	p.Negation = f.Negated
	takes := comparisons.Of(f.Kind, f.Operator).Operand
	same := takes == comparisons.Of(f.Kind, was).Operand
	if p.Value == nil || !same || takes != operators.OperandNone && !slices.Equal(forms.Texts(p.Value), f.Values) {
		p.Value = f.value(takes)
	}
	return p
}

// value returns the JSON of the values that were typed, in the form that an operator takes.
func (f *FilterForm) value(takes operators.Operand) json.RawMessage {
	one := ""
	if len(f.Values) > 0 {
		one = f.Values[0]
	}
	switch {
	case takes == operators.OperandNone:
		return json.RawMessage("null")
	case f.Kind == "cohort" && forms.IsNumber(one):
		return json.RawMessage(one)
	case f.Kind == "flag" && (one == "true" || one == "false"):
		return json.RawMessage(one)
	case takes == operators.OperandNumber:
		return forms.NumberJSON(one)
	case takes == operators.OperandRange:
		list := make([]json.RawMessage, len(f.Values))
		for i := range f.Values {
			list[i] = forms.NumberJSON(f.Values[i])
		}
		return forms.Must(json.Marshal(list))
	case takes == operators.OperandTexts, takes == operators.OperandAny && len(f.Values) > 1:
		return forms.Must(json.Marshal(f.Values))
	}
	return forms.Quoted(one)
}

// A Suggestion is values that a property has.
type Suggestion struct {
	ID     string // of the list
	Values []string
}

// A FilterView is a filter with what its fields offer.
type FilterView struct {
	FilterForm
	ID                          string // c0.f0
	Joint                       string // the word before it
	Nested                      bool   // it is in a cohort, where it can be negated
	Node                        bool   // it says that it is a filter, where there are groups as well
	Operators                   []OptionGroup
	GroupTypes, Cohorts         []forms.Option
	Inputs                      []string // values, with room for one more where there may be several
	List                        string   // of suggested values
	None, Range                 bool     // there is no value; there are two
	KeyError, ValueError, Error string
}

// An OptionGroup is some of the values of a field.
type OptionGroup struct {
	Label   string
	Options []forms.Option
}

// OperatorGroups returns the operators of a kind of filter to choose from, and whether the
// chosen one is among them.
func OperatorGroups(kind, chosen string) (groups []OptionGroup, known bool) {
	for i, list := range comparisons.All(kind) {
		group := OptionGroup{Label: [...]string{"Values", "Versions"}[i]}
		for _, o := range list {
			group.Options = append(group.Options, forms.Option{Value: o.Name, Label: o.Words, Selected: o.Name == chosen})
			known = known || o.Name == chosen
		}
		groups = append(groups, group)
	}
	return groups, known
}

// How much is looked at for suggestions.
const (
	maxSampled    = 200 // persons whose properties are suggested
	valuesOffered = 20  // values of one property
)

// Offered is what the fields of filters suggest.
type Offered struct {
	GroupTypes  []forms.Option
	Keys        []string          // keys of properties that persons have
	Suggestions []Suggestion      // values of those
	Flags       []string          // keys of flags
	Cohorts     []forms.Option    // by their IDs
	FlagKeys    map[string]string // by ID
	words       words.Names
}

// Names say what filters mean.
func (v *Offered) Names() shell.Names { return &v.words }

// Offers returns what filters of a flag or of a cohort can be about, but for itself. It is
// never without words.
func Offers(q *shell.Request, flag, cohort int64) (v Offered, err error) {
	words := words.NewNames()
	v.words, v.FlagKeys = *words, words.Flags
	cohorts, err := q.Service.ListCohorts(q.Context(), q.By, q.Ref, management.CohortQuery{}, shell.MaxOffered, 0)
	if err != nil {
		return v, err
	}
	for _, c := range cohorts.Items {
		id := strconv.FormatInt(c.ID, 10)
		words.Cohorts[id] = c.Name
		if c.ID != cohort {
			v.Cohorts = append(v.Cohorts, forms.Option{Value: id, Label: c.Name})
		}
	}
	others, err := q.Service.FlagNames(q.Context(), q.By, q.Ref, shell.MaxOffered)
	if err != nil {
		return v, err
	}
	for _, o := range others {
		words.Flags[strconv.FormatInt(o.ID, 10)] = o.Key
		if o.ID != flag {
			v.Flags = append(v.Flags, o.Key)
		}
	}
	slices.Sort(v.Flags)
	if v.GroupTypes, err = q.GroupTypes(); err != nil {
		return v, err
	}
	for _, t := range v.GroupTypes {
		words.GroupTypes[t.Value] = t.Label
	}
	err = samples(q, &v)
	return v, err
}

// samples fills in properties and values that some persons have.
func samples(q *shell.Request, v *Offered) error {
	persons, err := people.NewestPersons(q, maxSampled)
	if err != nil {
		return err
	}
	values := make(map[string][]string)
	for _, p := range persons {
		for name, raw := range forms.ReadObject(string(p.Properties)) {
			if _, known := values[name]; !known && len(values) >= people.NamesOffered {
				continue
			}
			value := forms.Text(raw)
			if list := values[name]; len(value) <= 80 && len(list) < valuesOffered && !slices.Contains(list, value) && value != "" {
				values[name] = append(list, value)
			} else if list == nil {
				values[name] = []string{}
			}
		}
	}
	v.Keys = slices.Sorted(maps.Keys(values))
	for _, name := range v.Keys {
		list := values[name]
		slices.Sort(list)
		v.Suggestions = append(v.Suggestions, Suggestion{"values-" + url.PathEscape(name), list})
	}
	return nil
}

// FilterView returns a filter with what its fields offer, and with the messages about it.
func (v *Offered) FilterView(id string, f FilterForm, errs map[string]string) FilterView {
	if key := v.FlagKeys[f.Key]; f.Kind == "flag" && key != "" && f.Was == "" && f.was().Key == f.Key {
		f.Key, f.Was = key, key
	}
	out := FilterView{
		FilterForm: f, ID: id, Joint: "where", KeyError: errs[id+".key"], Error: errs[id],
		ValueError: cmp.Or(errs[id+".value"], errs[id+".operator"], errs[id+".group"]),
	}
	var known bool
	if out.Operators, known = OperatorGroups(f.Kind, f.Operator); !known {
		out.Operators = append(out.Operators, OptionGroup{
			"Not known",
			[]forms.Option{{Value: f.Operator, Label: f.Operator, Selected: true}},
		})
	}
	out.GroupTypes = forms.Selected(v.GroupTypes, f.GroupType)
	takes := comparisons.Of(f.Kind, f.Operator).Operand
	out.Inputs = slices.Clone(f.Values)
	switch takes {
	case operators.OperandNone:
		out.None, out.Inputs = true, nil
	case operators.OperandAny, operators.OperandTexts:
		out.Inputs = append(out.Inputs, "")
	case operators.OperandRange:
		out.Range = true
		out.Inputs = append(out.Inputs, "", "")[:max(2, len(f.Values))]
	default:
		if len(out.Inputs) == 0 {
			out.Inputs = []string{""}
		}
	}
	switch f.Kind {
	case "cohort":
		value := ""
		if len(f.Values) > 0 {
			value = f.Values[0]
		}
		out.Cohorts = forms.Selected(append([]forms.Option{{Value: "", Label: "Choose a cohort"}}, v.Cohorts...), value)
	case "flag":
		out.List = "flag-values"
	default:
		out.List = "values-" + url.PathEscape(f.Key)
	}
	return out
}
