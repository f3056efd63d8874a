package sqldb

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/flagstaff-go/flagstaff/capture/persons"
)

// GroupTypes implements [storage.Store].
func (a *accounts) GroupTypes(ctx context.Context, project int64) (map[int]string, error) {
	types := make(map[int]string)
	err := a.read(ctx, "SELECT type_index, name FROM group_type WHERE project_id = ?", []any{project}, pairsTo(types))
	return types, wrap("read group types", err)
}

// AddGroupTypes implements [storage.Store]. The lock keeps events from making
// others meanwhile.
func (a *accounts) AddGroupTypes(ctx context.Context, project int64, names []string) error {
	types, err := a.GroupTypes(ctx, project)
	if err != nil {
		return err
	}
	there := slices.Collect(maps.Values(types))
	if !slices.ContainsFunc(names, func(name string) bool { return !slices.Contains(there, name) }) {
		return nil
	}
	err = a.change(ctx, func(t *tx) error {
		if err := t.lock(ctx, project); err != nil {
			return err
		}
		known, err := t.groupTypes(ctx, project)
		if err != nil {
			return err
		}
		var c persons.Changes
		for _, name := range names {
			if _, ok := known[name]; ok || len(known) >= persons.MaxGroupTypes {
				continue
			}
			c.GroupTypes = append(c.GroupTypes, persons.NewGroupType{GroupType: persons.GroupType{Project: project, Name: name}, Index: len(known)})
			known[name] = len(known)
		}
		return t.apply(ctx, &c, time.Time{})
	})
	return wrap("add group types", err)
}

// groupTypes returns the indexes of a project's group types by name.
func (t *tx) groupTypes(ctx context.Context, project int64) (map[string]int, error) {
	known := make(map[string]int)
	_, err := t.run(ctx, "SELECT type_index, name FROM group_type WHERE project_id = ?", []any{project}, eachPair(func(index int, name string) { known[name] = index }))
	return known, err
}
