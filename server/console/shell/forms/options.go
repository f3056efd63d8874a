package forms

import (
	"maps"
	"net/url"
	"slices"
)

// Selected returns options of which a value is selected. A value that is not among them is added.
func Selected(options []Option, value string) []Option {
	out := slices.Clone(options)
	found := false
	for i := range out {
		out[i].Selected = out[i].Value == value
		found = found || out[i].Selected
	}
	if !found && value != "" {
		out = append(out, Option{value, value, true}) // it is not lost
	}
	return out
}

// A Hidden field carries a part of a form from page to page.
type Hidden struct{ Name, Value string }

// HiddenFields returns all fields of a form but its buttons and some others.
func HiddenFields(form url.Values, but ...string) []Hidden {
	but = append(but, "do", "reviewed")
	return slices.DeleteFunc(FieldsOf(form), func(h Hidden) bool { return slices.Contains(but, h.Name) })
}

// FieldsOf returns all fields of a form.
func FieldsOf(form url.Values) []Hidden {
	var out []Hidden
	for _, name := range slices.Sorted(maps.Keys(form)) {
		for _, v := range form[name] {
			out = append(out, Hidden{name, v})
		}
	}
	return out
}

// An Option is one of the values of a field.
type Option struct {
	Value, Label string
	Selected     bool
}

// Options returns options of values, each with its label.
func Options(pairs ...string) (list []Option) {
	for i := 0; i < len(pairs); i += 2 {
		list = append(list, Option{Value: pairs[i], Label: pairs[i+1]})
	}
	return list
}

// LabelOf returns the label of a value, or something else if it is not an option.
func LabelOf(options []Option, value, otherwise string) string {
	if i := slices.IndexFunc(options, func(o Option) bool { return o.Value == value }); i >= 0 {
		return options[i].Label
	}
	return otherwise
}
