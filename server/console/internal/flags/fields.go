package flags

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/words"
	"github.com/flagstaff-go/flagstaff/server/console/shell"
	"github.com/flagstaff-go/flagstaff/server/console/shell/forms"
	"github.com/flagstaff-go/flagstaff/server/console/shell/targeting"
)

// A field is one thing that people choose of a flag. Its page, two of its versions side by side
// and a conflict say it by the tables beside the form, so that it reads alike on all of them.
type field struct {
	path string                                  // as changes name it
	get  func(form *flagForm) string             // the same text for forms that say the same
	say  func(s *speaker, form *flagForm) string // in words, "" for nothing
	take func(to, from *flagForm)                // what another form says
}

// A speaker has the names of what fields refer to by numbers.
type speaker struct {
	names      shell.Names
	groupTypes []forms.Option
}

// place says in words which field it is.
func (f *field) place() string { return flagPlace(f.path) }

// both says a field of two forms. What differs never reads alike: then it is said as it is stored.
func (s *speaker) both(f *field, a, b *flagForm) (ofA, ofB string) {
	ofA, ofB = f.say(s, a), f.say(s, b)
	if ofA == ofB && f.get(a) != f.get(b) {
		return f.get(a), f.get(b)
	}
	return ofA, ofB
}

// textField is a field with one text, of which options, if there are any, have the words.
func textField(path string, at func(*flagForm) *string, options ...forms.Option) field {
	return field{
		path: path,
		get:  func(form *flagForm) string { return *at(form) },
		say:  func(_ *speaker, form *flagForm) string { return forms.LabelOf(options, *at(form), *at(form)) },
		take: func(to, from *flagForm) { *at(to) = *at(from) },
	}
}

// namesField is a list of names with commas.
func namesField(path string, at func(*flagForm) *string) field {
	f := textField(path, at)
	f.get = func(form *flagForm) string { return strings.Join(forms.Names(*at(form)), ", ") }
	f.say = func(_ *speaker, form *flagForm) string { return f.get(form) }
	return f
}

// checkField is a box that is ticked or not.
func checkField(path string, at func(*flagForm) *bool) field {
	get := func(form *flagForm) string { return strconv.FormatBool(*at(form)) }
	return field{
		path: path, get: get,
		say:  func(s *speaker, form *flagForm) string { return s.names.Value(path, get(form)) },
		take: func(to, from *flagForm) { *at(to) = *at(from) },
	}
}

// otherMembersPath is the path of the members of filters that have no field in the form.
const otherMembersPath = "filters/other members"

// otherMembers returns what filters have besides that for which the form has fields.
func otherMembers(form *flagForm) string {
	members := forms.ReadObject(form.Base)
	for name, value := range members {
		switch name {
		case "groups", "aggregation_group_type_index", "holdout", "early_exit", "multivariate", "payloads":
			delete(members, name)
		default:
			if string(value) == "null" {
				delete(members, name)
			}
		}
	}
	if len(members) == 0 {
		return ""
	}
	return forms.Canonical(forms.Must(json.Marshal(members)))
}

// payload is the payload of a flag without variants.
var payload = textField("filters/payloads/true", func(form *flagForm) *string { return &form.Payload })

// fieldsOf returns the fields of forms, which stand for the same flag. Where all of them have the
// same number of condition sets, or of variants, each one is a field, and otherwise all together.
func fieldsOf(list ...*flagForm) []field {
	number := func(of func(*flagForm) int) (n int, same bool) {
		n = of(list[0])
		return n, !slices.ContainsFunc(list, func(form *flagForm) bool { return of(form) != n })
	}
	out := slices.Clone(details)
	if list[0].ruled() {
		return append(append(append(out, ruleFields(list)...), defaultValue), settings[:settingsOfRules]...)
	}
	if n, same := number(func(form *flagForm) int { return len(form.Conditions) }); same {
		for i := range n {
			out = append(out, conditionField(i))
		}
	} else {
		out = append(out, field{
			path: "filters/groups",
			get:  func(form *flagForm) string { return joined(len(form.Conditions), "\n", conditionField, form, nil) },
			say: func(s *speaker, form *flagForm) string {
				return joined(len(form.Conditions), "; ", conditionField, form, s)
			},
			take: func(to, from *flagForm) { to.Conditions = from.Conditions },
		})
	}
	if n, same := number(func(form *flagForm) int { return len(form.Variants) }); same {
		for i := range n {
			out = append(out, variantField(i))
		}
	} else {
		out = append(out, field{
			path: "filters/multivariate",
			get:  func(form *flagForm) string { return joined(len(form.Variants), "\n", variantField, form, nil) },
			say: func(s *speaker, form *flagForm) string {
				return joined(len(form.Variants), "; ", variantField, form, s)
			},
			take: func(to, from *flagForm) { to.Variants = from.Variants },
		})
	}
	return append(append(out, payload), settings...)
}

// joined is what a number of fields have, in words if somebody says them.
func joined(n int, joint string, at func(int) field, form *flagForm, s *speaker) string {
	parts := make([]string, n)
	for i := range parts {
		f := at(i)
		if parts[i] = f.get(form); s != nil {
			parts[i] = f.say(s, form)
		}
	}
	return strings.Join(parts, joint)
}

// conditionField is a condition set.
func conditionField(i int) field {
	of := func(form *flagForm) *flags.Condition { return &form.Groups()[i] }
	return field{
		path: "filters/groups/" + strconv.Itoa(i),
		get: func(form *flagForm) string {
			c := of(form)
			c.RolloutPercentage = new(words.Rollout(c)) // null says 100
			return forms.Canonical(forms.Must(json.Marshal(c)))
		},
		say: func(s *speaker, form *flagForm) string {
			c := of(form)
			text := s.names.Condition(c, targeting.AggregationOf(form.Aggregation))
			if c.Description != "" {
				text += " (" + c.Description + ")"
			}
			return text
		},
		take: func(to, from *flagForm) { to.Conditions[i] = from.Conditions[i] },
	}
}

// variantField is a variant with its payload.
func variantField(i int) field {
	path := "filters/multivariate/variants/" + strconv.Itoa(i)
	return field{
		path: path,
		get: func(form *flagForm) string {
			v := &form.Variants[i]
			return strings.Join([]string{
				v.Key, v.Label, forms.Exact(targeting.Percentage(v.Share)), forms.Canonical(json.RawMessage(v.Payload)),
			}, "\n")
		},
		say: func(s *speaker, form *flagForm) string {
			v := &form.Variants[i]
			share := flags.Variant{Key: v.Key, RolloutPercentage: targeting.Percentage(v.Share)}
			text := s.names.Value(path, string(forms.Must(json.Marshal(share))))
			if v.Label != "" {
				text += " (" + v.Label + ")"
			}
			if v.Payload != "" {
				text += ", payload " + v.Payload
			}
			return text
		},
		take: func(to, from *flagForm) { to.Variants[i] = from.Variants[i] },
	}
}

// clone returns a form that shares no list with another one.
func (form *flagForm) clone() *flagForm {
	out := *form
	out.Conditions, out.Variants, out.Rules = slices.Clone(form.Conditions), slices.Clone(form.Variants), slices.Clone(form.Rules)
	return &out
}
