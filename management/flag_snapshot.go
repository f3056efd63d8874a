package management

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/graph"
	"github.com/flagstaff-go/flagstaff/internal/judge"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// A definitionSet is what decides the flags of a project.
type definitionSet struct {
	flags      []storage.Flag // that are not deleted, of every kind, without LastCalled
	cohorts    []storage.Cohort
	groupTypes map[int]string // nil: it is not known which there are
	zone       *time.Location
	public     bool            // refuse rule sets that PostHog does not evaluate
	served     *flags.Snapshot // of flags that may be somewhat older or newer; nil: there is none
}

func (w *work) definitionSet(ctx context.Context) (*definitionSet, error) {
	d := &definitionSet{served: w.c.Catalog.Snapshot(w.at.Project.ID), public: w.at.Project.PostHogRulesOnly}
	var err error
	if d.flags, err = w.store.FlagDefinitions(ctx, w.at.Project.ID); err != nil {
		return nil, err
	}
	if d.cohorts, err = w.store.Cohorts().List(ctx, storage.CohortProject.Is(w.at.Project.ID), storage.CohortDeleted.Is(false)); err != nil {
		return nil, err
	}
	if d.groupTypes, err = w.groupTypes(ctx); err != nil {
		return nil, err
	}
	d.zone, err = time.LoadLocation(w.at.Project.Timezone)
	return d, err // of what was checked when it was set
}

// groupTypes returns the group types of a project, or nil if it is not known which
// there are.
func (w *work) groupTypes(ctx context.Context) (map[int]string, error) {
	if w.c.Data == nil {
		return nil, nil
	}
	if f := w.at.Project.FlagsFile; f != nil {
		return f.GroupTypes, nil
	}
	types, err := w.store.GroupTypes(ctx, w.at.Project.ID)
	if types == nil {
		types = make(map[int]string)
	}
	return types, err
}

// references returns what filters of a project can refer to.
func (w *work) references(ctx context.Context) (*judge.References, error) {
	d, err := w.definitionSet(ctx)
	if err != nil {
		return nil, err
	}
	return d.references(), nil
}

func (d *definitionSet) references() *judge.References {
	refs := judge.NewReferences(storage.FlagDefinitions(d.flags, d.cohorts, d.groupTypes), d.zone)
	refs.PublicOnly = d.public
	return refs
}

// compile returns flags as they are served.
func (d *definitionSet) compile(list []storage.Flag) (*flags.Snapshot, error) {
	return d.recompile(list, d.served)
}

// recompile is compile for flags of which few differ from the ones of another snapshot.
func (d *definitionSet) recompile(list []storage.Flag, previous *flags.Snapshot) (*flags.Snapshot, error) {
	snapshot, err := flags.Compile(storage.FlagDefinitions(list, d.cohorts, d.groupTypes), flags.CompileOptions{TimeZone: d.zone, Previous: previous})
	if err != nil {
		return nil, fmt.Errorf("management: definitions: %w", err)
	}
	return snapshot, nil
}

// neededBy returns flags and all flags that these need, in the order of the project. They
// have the values that they have among all flags.
func (d *definitionSet) neededBy(refs *judge.References, list []*flags.Flag) []storage.Flag {
	needs := func(f *flags.Flag) iter.Seq[*flags.Flag] { return slices.Values(judge.Dependencies(refs, &f.Filters)) }
	needed := make(map[int64]bool)
	for step := range graph.Reach(slices.Values(list), needs) {
		needed[step.Node.ID] = true
	}
	return slices.DeleteFunc(slices.Clone(d.flags), func(f storage.Flag) bool { return !needed[f.ID] })
}
