package unleash

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/convert"
)

// dependency returns a filter that holds if a flag's dependency does.
func (c *converter) dependency(d *dependency, about *report) flags.Filter {
	p := c.features[d.Feature]
	switch {
	case p == nil:
		about.note("The flag %s, on which this one depends, is not there: this one is off, as there.", d.Feature)
		return convert.Always(false)
	case len(p.Dependencies) > 0:
		about.note("The flag %s, on which this one depends, depends on another one: this one is off, as there.", d.Feature)
		return convert.Always(false)
	}
	w := c.ways(p)
	if d.Enabled != nil && !*d.Enabled {
		return c.disabled(p, &w, about)
	}
	if len(d.Variants) == 0 || !w.anyVariants {
		if len(d.Variants) > 0 {
			about.note("The flag %s has no variants of strategies: it is enough that it is on, as in the Go SDK, whichever variant it has.", p.Name)
		}
		return flagFilter(p.Name, true)
	}
	if !w.allVariants {
		return convert.Labelled(p.Name+": "+strings.Join(d.Variants, ", "), w.filter(d.Variants))
	}
	var list []flags.Filter
	for i, name := range w.names {
		if slices.Contains(d.Variants, name) {
			f := flagFilter(p.Name, w.values[i])
			f.Comparison.StrictType = true
			list = append(list, f)
		}
	}
	return convert.Any(list...)
}

// disabled returns a filter that holds if a flag is off.
func (c *converter) disabled(p *feature, w *ways, about *report) flags.Filter {
	if w.fails && c.version == 0 {
		about.problem("The flag %s, which has to be off, has a strategy with a fault. In version 6 of the Go SDK this flag is then off as well, "+
			"and here, too; not so in version 5. Say which one served the users.", p.Name)
	}
	if w.fails && c.version != 5 {
		return convert.Labelled(p.Name+": off", w.off())
	}
	return flagFilter(p.Name, false)
}

// ways are the strategies of a flag on which others depend, as filters.
type ways struct {
	list        []way
	complete    bool // no segment is missing
	fails       bool // the SDK may come to a strategy with a fault
	anyVariants bool
	allVariants bool
	names       []string // of variants of strategies, and of none
	values      []json.RawMessage
	enabled     bool
}

// A way is one of the strategies.
type way struct {
	when   flags.Filter
	fault  bool                              // it turns the flag off
	choice func(names []string) flags.Filter // nil: the strategy has no variants
}

func (c *converter) ways(p *feature) ways {
	w := ways{allVariants: true, enabled: p.Enabled}
	ignored := new(report) // that flag has it
	w.complete = c.eachStrategy(p, ignored, func(_ string, s *strategy, when condition) {
		one := way{when: convert.All(slices.Concat(when.filters, c.drawFilters(&when.draw))...)}
		if len(s.Variants) == 0 {
			w.allVariants = false
		} else {
			w.anyVariants = true
			v, ok := c.variantsOf(p, s, ignored)
			if one.fault = !ok; ok {
				one.choice = func(names []string) flags.Filter { return c.choice(v, names) }
				for i := range v.variants {
					w.names = append(w.names, v.variants[i].Name)
					w.values = append(w.values, p.value(&v.variants[i], ignored))
				}
				if v.total() == 0 {
					w.names = append(w.names, noVariant)
					w.values = append(w.values, p.value(nil, ignored))
				}
			}
		}
		w.list = append(w.list, one)
	})
	if len(p.Strategies) == 0 {
		w.list = []way{{when: convert.Always(true)}}
		w.allVariants = false
	}
	w.fails = p.Enabled && (!w.complete || slices.ContainsFunc(w.list, func(one way) bool { return one.fault }))
	return w
}

// filter holds if the flag is on, and, where names are given, the strategy that enables it has no
// variants or one of these names.
func (w *ways) filter(names []string) flags.Filter {
	if !w.enabled {
		return convert.Always(false)
	}
	var list, earlier []flags.Filter
	for _, one := range w.list {
		all := append(slices.Clone(earlier), one.when)
		if names != nil && one.choice != nil {
			all = append(all, one.choice(names))
		}
		if !one.fault {
			list = append(list, convert.All(all...))
		}
		if one.fault || names != nil {
			earlier = append(earlier, convert.Not(one.when))
		}
	}
	return convert.Any(list...)
}

// off holds if the flag is off and no strategy with a fault was come to.
func (w *ways) off() flags.Filter {
	if !w.complete {
		return convert.Always(false)
	}
	var list []flags.Filter
	for _, one := range w.list {
		list = append(list, convert.Not(one.when))
	}
	return convert.All(list...)
}

// choice holds if the variant that is drawn has one of the names.
func (c *converter) choice(v *collection, names []string) flags.Filter {
	wanted := func(one *variant) bool {
		name := noVariant
		if one != nil {
			name = one.Name
		}
		return slices.Contains(names, name)
	}
	var list, earlier []flags.Filter
	for i := range v.variants {
		one := &v.variants[i]
		f := c.override(one)
		if f == nil {
			continue
		}
		if wanted(one) {
			list = append(list, convert.All(append(slices.Clone(earlier), *f)...))
		}
		earlier = append(earlier, convert.Not(*f))
	}
	if one := v.alone(); one != nil || v.total() == 0 {
		if wanted(one) {
			list = append(list, convert.All(earlier...))
		}
		return convert.Any(list...)
	}
	drawn := c.chain(v.fields(), func(field string, last bool) flags.RuleSplit {
		return c.split(v, field, last, func(one *variant) string { return strconv.FormatBool(wanted(one)) })
	})
	return convert.Any(append(list, convert.All(append(earlier, drawn)...))...)
}
