package management

import (
	"context"
	"fmt"
	"time"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/management/internal/judge"
)

// A definitionSet is what decides the flags of a project.
type definitionSet struct {
	flags      []FeatureFlag // that are not deleted, of every kind, without LastCalled
	cohorts    []Cohort
	groupTypes map[int]string // nil: it is not known which there are
	zone       *time.Location
}

func (w *work) definitionSet(ctx context.Context) (*definitionSet, error) {
	d := new(definitionSet)
	var err error
	if d.flags, err = w.store.FlagDefinitions(ctx, w.at.Project.ID); err != nil {
		return nil, err
	}
	if d.cohorts, err = w.store.Cohorts(ctx, w.at.Project.ID); err != nil {
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
	types, err := w.store.GroupTypes(ctx, w.at.Project.ID)
	if types == nil {
		types = make(map[int]string)
	}
	return types, err
}

// definitionWorld returns what filters of a project can refer to.
func (w *work) definitionWorld(ctx context.Context) (*judge.World, error) {
	d, err := w.definitionSet(ctx)
	if err != nil {
		return nil, err
	}
	return d.world(), nil
}

func (d *definitionSet) world() *judge.World {
	return judge.NewWorld(Definitions(d.flags, d.cohorts, d.groupTypes), d.zone)
}

// compile returns flags as they are served.
func (d *definitionSet) compile(list []FeatureFlag) (*flags.Snapshot, error) {
	return d.recompile(list, nil)
}

// recompile is compile for flags of which few differ from the ones of another snapshot.
func (d *definitionSet) recompile(list []FeatureFlag, previous *flags.Snapshot) (*flags.Snapshot, error) {
	snapshot, err := flags.Compile(Definitions(list, d.cohorts, d.groupTypes), flags.CompileOptions{TimeZone: d.zone, Previous: previous})
	if err != nil {
		return nil, fmt.Errorf("management: definitions: %w", err)
	}
	return snapshot, nil
}
