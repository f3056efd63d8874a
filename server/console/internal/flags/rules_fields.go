package flags

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"

	"github.com/flagstaff-go/flagstaff/internal/words"
	"github.com/flagstaff-go/flagstaff/server/console/shell/forms"
)

// defaultValue is what a flag with a rule set is if no rule decides.
var defaultValue = field{
	path: "filters/default_value",
	get:  func(form *flagForm) string { return form.Default },
	say:  func(_ *speaker, form *flagForm) string { return words.Default(form.said()) },
	take: func(to, from *flagForm) { to.Default = from.Default },
}

// ruleFields returns the rules of forms as fields: each one, where all forms have the same rules in
// the same order, and otherwise all together.
func ruleFields(list []*flagForm) (out []field) {
	ids := func(form *flagForm) []string {
		ids := make([]string, len(form.Rules))
		for i := range ids {
			ids[i] = string(forms.ReadObject(form.Rules[i].Raw)["id"])
		}
		return ids
	}
	first := ids(list[0])
	if slices.ContainsFunc(list, func(form *flagForm) bool { return !slices.Equal(ids(form), first) }) {
		return []field{{
			path: "filters/rules",
			get:  func(form *flagForm) string { return joined(len(form.Rules), "\n", ruleField, form, nil) },
			say: func(s *speaker, form *flagForm) string {
				return cmp.Or(joined(len(form.Rules), "; ", ruleField, form, s), "none")
			},
			take: func(to, from *flagForm) { to.Rules = from.Rules },
		}}
	}
	for i := range first {
		out = append(out, ruleField(i))
	}
	return out
}

// ruleField is a rule.
func ruleField(i int) field {
	return field{
		path: "filters/rules/" + strconv.Itoa(i),
		get: func(form *flagForm) string {
			return forms.Canonical(forms.Must(json.Marshal(form.documents()[i])))
		},
		say: func(s *speaker, form *flagForm) string {
			set := form.said()
			text := s.names.Rule(&set.Rules[i], set)
			if about := form.Rules[i].Description; about != "" {
				text += " (" + about + ")"
			}
			return text
		},
		take: func(to, from *flagForm) { to.Rules[i] = from.Rules[i] },
	}
}
