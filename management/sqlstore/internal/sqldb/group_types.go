package sqldb

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/flagstaff-go/flagstaff/capture/persons"
)

// GroupTypes implements [management.FlagStore].
func (a *accounts) GroupTypes(ctx context.Context, project int64) (map[int]string, error) {
	types := make(map[int]string)
	err := a.read(ctx, "SELECT type_index, name FROM group_type WHERE project_id = ?", []any{project}, func(r *sql.Rows) error {
		var index int
		var name string
		err := r.Scan(&index, &name)
		types[index] = name
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read group types: %w", err)
	}
	return types, nil
}

// AddGroupTypes implements [management.PersonStore].
func (db *DB) AddGroupTypes(ctx context.Context, project int64, names []string) (map[int]string, error) {
	err := db.atomic(ctx, func(t *tx) error {
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
	if err != nil {
		return nil, fmt.Errorf("add group types: %w", db.fail(err))
	}
	return db.GroupTypes(ctx, project)
}

// groupTypes returns the indexes of a project's group types by name.
func (t *tx) groupTypes(ctx context.Context, project int64) (map[string]int, error) {
	known := make(map[string]int)
	_, err := t.run(ctx, "SELECT type_index, name FROM group_type WHERE project_id = ?", []any{project}, func(r *sql.Rows) error {
		var index int
		var name string
		err := r.Scan(&index, &name)
		known[name] = index
		return err
	})
	return known, err
}
