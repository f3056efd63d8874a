package sqldb

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

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
	if err == nil && len(list) == 0 {
		err = storage.ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("read a group: %w", err)
	}
	return &list[0], nil
}

func (db *DB) UpdateGroup(ctx context.Context, project int64, typeIndex int, key string, set map[string]json.RawMessage, unset []string) (*storage.Group, error) {
	var g storage.Group
	err := db.aboutGroup(ctx, project, typeIndex, key, func(t *tx) error {
		var list []storage.Group
		if _, err := t.run(ctx, groupRows+"group_key = ?", []any{project, typeIndex, key}, groupInto(&list)); err != nil {
			return err
		}
		if len(list) == 0 {
			return storage.ErrNotFound
		}
		g = list[0]
		properties, ok := persons.Update(g.Properties, set, unset)
		if !ok {
			return storage.ErrTooLarge
		}
		g.Properties = properties
		_, err := t.exec(ctx, "UPDATE group_entry SET properties = ? WHERE project_id = ? AND type_index = ? AND group_key = ?",
			string(properties), project, typeIndex, key)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("change a group: %w", err)
	}
	return &g, nil
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
