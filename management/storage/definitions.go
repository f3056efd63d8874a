package storage

import (
	"maps"

	"github.com/flagstaff-go/flagstaff/flags"
)

// FlagDefinitions returns what evaluation needs of a project: its flags that are not
// deleted, of every kind, its cohorts and its group types. Without groupTypes it is
// not known which group types there are. A flag with filters that cannot be
// understood fails, and does not hurt the others. The result shares filters and trees
// with the flags and cohorts.
func FlagDefinitions(list []Flag, cohorts []Cohort, groupTypes map[int]string) *flags.Definitions {
	d := &flags.Definitions{
		Flags: make([]flags.Flag, len(list)), Cohorts: make(map[int64]flags.Cohort, len(cohorts)), GroupTypes: maps.Clone(groupTypes),
	}
	for i := range list {
		d.Flags[i] = list[i].definition()
	}
	for i := range cohorts {
		if c := &cohorts[i]; !c.Deleted {
			d.Cohorts[c.ID] = flags.Cohort{Stored: c.Static, Properties: c.Criteria}
		}
	}
	return d
}
