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
		f := &list[i]
		d.Flags[i] = flags.Flag{
			ID: f.ID, Key: f.Key, Name: f.Name, Active: f.Active && !f.Archived, Version: f.Version, Filters: f.Filters,
			EnsureExperienceContinuity: f.Continues(), BucketingIdentifier: f.Bucketing, BucketingHash: f.BucketingHash,
			EvaluationRuntime: f.Runtime, EvaluationContexts: f.Contexts, IsRemoteConfiguration: f.RemoteConfig,
			HasEncryptedPayloads: f.EncryptedPayloads, HasExperiment: new(f.HasExperiment),
		}
		if f.ContextMatch != "any" {
			d.Flags[i].EvaluationContextsMatchMode = f.ContextMatch
		}
	}
	for i := range cohorts {
		if c := &cohorts[i]; !c.Deleted {
			d.Cohorts[c.ID] = flags.Cohort{Stored: c.Static, Properties: c.Criteria}
		}
	}
	return d
}
