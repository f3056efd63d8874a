package convert

import (
	"encoding/json"

	"github.com/flagstaff-go/flagstaff/flags"
)

// Probe returns definitions in which each flag that is not exact is true for those whom that may
// concern: no rule before the first one with a problem decides about them. It also returns the
// keys of these flags. The others are there as they are, because some need them.
func (p *Project) Probe(groupTypes []string) (d *flags.Definitions, keys []string, err error) {
	probe := Project{Cohorts: p.Cohorts, Flags: make([]Flag, len(p.Flags))}
	for i := range p.Flags {
		f := p.Flags[i]
		if len(f.Problems) > 0 {
			keys = append(keys, f.Key)
			f.Active, f.Rules = true, f.reachers()
		}
		probe.Flags[i] = f
	}
	if len(keys) == 0 {
		return nil, nil, nil
	}
	d, err = probe.Definitions(groupTypes)
	return d, keys, err
}

// reachers returns a rule set that is true for those whom the first rule with a problem may
// concern.
func (f *Flag) reachers() flags.RuleSet {
	set := flags.RuleSet{ReturnType: "boolean", Aggregation: flags.ByPerson, Rules: []flags.Rule{}}
	for _, r := range f.Rules.Rules[:min(f.InexactFrom, len(f.Rules.Rules))] {
		r.Value = json.RawMessage("false")
		if r.Split != nil {
			split := *r.Split
			r.Value, r.Split = nil, &split
			split.Values = make([]json.RawMessage, len(split.Ends))
			for i := range split.Values {
				split.Values[i] = json.RawMessage("false")
			}
		}
		set.Rules = append(set.Rules, r)
	}
	set.Rules = append(set.Rules, flags.Rule{
		ID: ID("probe", f.Key), Type: "targeted_release", Targeting: []flags.Filter{}, Value: json.RawMessage("true"),
	})
	return set
}
