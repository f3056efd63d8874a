package sqldb

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/flagstaff-go/flagstaff/capture/persons"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// possible reports whether a group with this type and key can exist.
func possible(typeIndex int, key string) bool {
	return typeIndex >= 0 && typeIndex < persons.MaxGroupTypes && storable(key)
}

// groupRows is the beginning of a query for groups.
const groupRows = "SELECT type_index, group_key, properties, created_at FROM group_entry WHERE project_id = ? AND type_index = ? AND "

func groupInto(list *[]storage.Group) func(*sql.Rows) error {
	return rowsTo(list, func(g *storage.Group) []any {
		return []any{&g.TypeIndex, &g.Key, document{&g.Properties}, moment{&g.Created}}
	})
}

// Groups implements [storage.Persons], as do the methods below.
func (db *DB) Groups(ctx context.Context, project int64, typeIndex int, search string, limit, offset int) ([]storage.Group, int, error) {
	if !possible(typeIndex, search) {
		return nil, 0, nil
	}
	begins, prefix := db.d.begins("group_key", search)
	args := append([]any{project, typeIndex}, prefix...)
	const count = "SELECT count(*) FROM group_entry WHERE project_id = ? AND type_index = ? AND "
	return paged(ctx, &db.accounts, "groups", count+begins, args, offset, func() (list []storage.Group, err error) {
		err = db.read(ctx, groupRows+begins+" ORDER BY "+db.d.byBytes("group_key")+" LIMIT ? OFFSET ?", append(args, limit, offset), groupInto(&list))
		return list, wrap("read groups", err)
	})
}

func (db *DB) Group(ctx context.Context, project int64, typeIndex int, key string) (*storage.Group, error) {
	var list []storage.Group
	var err error
	if possible(typeIndex, key) {
		err = db.read(ctx, groupRows+"group_key = ?", []any{project, typeIndex, key}, groupInto(&list))
	}
	g, err := first(list, err)
	return g, wrap("read a group", err)
}

func (db *DB) UpdateGroup(ctx context.Context, project int64, typeIndex int, key string, set map[string]json.RawMessage, unset []string) (*storage.Group, error) {
	var g *storage.Group
	err := db.aboutGroup(ctx, project, typeIndex, key, func(t *tx) error {
		var list []storage.Group
		_, err := t.run(ctx, groupRows+"group_key = ?", []any{project, typeIndex, key}, groupInto(&list))
		if g, err = first(list, err); err != nil {
			return err
		}
		properties, ok := persons.Update(g.Properties, set, unset)
		if !ok {
			return storage.ErrTooLarge
		}
		g.Properties = properties
		_, err = t.exec(ctx, "UPDATE group_entry SET properties = ? WHERE project_id = ? AND type_index = ? AND group_key = ?",
			string(properties), project, typeIndex, key)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("change a group: %w", err)
	}
	return g, nil
}

func (db *DB) DeleteGroup(ctx context.Context, project int64, typeIndex int, key string) error {
	err := db.aboutGroup(ctx, project, typeIndex, key, func(t *tx) error {
		n, err := t.exec(ctx, "DELETE FROM group_entry WHERE project_id = ? AND type_index = ? AND group_key = ?", project, typeIndex, key)
		if err == nil && n == 0 {
			err = storage.ErrNotFound
		}
		return err
	})
	return wrap("delete a group", err)
}

// aboutGroup is like about for changes of a group, which it then drops from the
// cache.
func (db *DB) aboutGroup(ctx context.Context, project int64, typeIndex int, key string, f func(*tx) error) error {
	if !possible(typeIndex, key) {
		return storage.ErrNotFound
	}
	group := persons.Group{GroupType: persons.GroupType{Project: project}, Key: key}
	return db.about(ctx, project, func(t *tx) error {
		_, err := t.run(ctx, "SELECT name FROM group_type WHERE project_id = ? AND type_index = ?", []any{project, typeIndex}, scanTo(&group.Name))
		if err != nil {
			return err
		}
		return f(t)
	}, func() { db.caches.groups.drop(group) })
}

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
