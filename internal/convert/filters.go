package convert

import "github.com/flagstaff-go/flagstaff/flags"

// All returns a filter that holds if each one of a list does, in its simplest form.
func All(list ...flags.Filter) flags.Filter { return group("all", list) }

// Any returns a filter that holds if one of a list does, in its simplest form.
func Any(list ...flags.Filter) flags.Filter { return group("any", list) }

// Always returns a filter that always holds, or never.
func Always(holds bool) flags.Filter {
	if holds {
		return All()
	}
	return Any()
}

// Not returns the opposite of a filter. It is not for filters that can fail a flag.
func Not(f flags.Filter) flags.Filter {
	if holds, ok := IsConstant(&f); ok {
		return Always(!holds)
	}
	if f.Comparison.MustBeSet { // of which negation is a part
		return flags.Filter{Type: "any", Filters: []flags.Filter{f}, Negation: true}
	}
	f.Negation = !f.Negation
	return f
}

// IsConstant reports whether a filter holds always, or never.
func IsConstant(f *flags.Filter) (holds, ok bool) {
	return (f.Type == "all") != f.Negation, f.IsGroup() && len(f.Filters) == 0
}

// group joins filters: groups of the same type become a part of the new one, and what settles
// it takes the place of all.
func group(kind string, list []flags.Filter) flags.Filter {
	out := flags.Filter{Type: kind, Filters: []flags.Filter{}}
	for i := range list {
		f := &list[i]
		switch holds, constant := IsConstant(f); {
		case constant && holds != (kind == "all"):
			return Always(holds)
		case constant:
		case f.Type == kind && !f.Negation && f.Extra == nil: // a label is for the whole
			out.Filters = append(out.Filters, f.Filters...)
		default:
			out.Filters = append(out.Filters, *f)
		}
	}
	if len(out.Filters) == 1 {
		return out.Filters[0]
	}
	return out
}

// Targeting returns the filters of a rule that holds if a filter does. It is not ok if the rule
// never holds.
func Targeting(f flags.Filter) (list []flags.Filter, ok bool) {
	holds, constant := IsConstant(&f)
	switch {
	case constant:
		return []flags.Filter{}, holds
	case f.Type == "all" && !f.Negation:
		return f.Filters, true
	}
	return []flags.Filter{f}, true
}
