package sqldb

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
	"github.com/flagstaff-go/flagstaff/management"
)

// The names of events and properties are read from events that are stored already, so
// that they cost the writers of events nothing. Reading an event again takes 2 to 3 µs.

const (
	definedAtOnce = 2000   // events that a call of DefineEvents reads
	maxDefined    = 10_000 // names of a kind in a project; others are not listed
	maxDefinition = 400    // characters of a name; properties with longer ones are not listed
)

// A definitionKey is the key of a row of definition.
type definitionKey struct {
	project int64
	kind    management.DefinitionKind
	name    string
}

func (k definitionKey) compare(l definitionKey) int {
	return cmp.Or(cmp.Compare(k.project, l.project), cmp.Compare(k.kind, l.kind), cmp.Compare(k.name, l.name))
}

// A defined is the rest of the row.
type defined struct {
	kind        management.PropertyType
	first, last int64 // microseconds since 1970
}

// definitions are what events have.
type definitions map[definitionKey]*defined

func (d definitions) add(key definitionKey, kind management.PropertyType, at int64) {
	if key.name == "" || utf8.RuneCountInString(key.name) > maxDefinition || !storable(key.name) {
		return
	}
	row := d[key]
	if row == nil {
		row = &defined{kind, at, at}
		d[key] = row
	}
	row.kind, row.first, row.last = row.kind.With(kind), min(row.first, at), max(row.last, at)
}

// addProperties adds the members of an object.
func (d definitions) addProperties(project int64, kind management.DefinitionKind, object jsonscan.Value, at int64) {
	for o := object.Object(); o.Next(); {
		d.add(definitionKey{project, kind, string(o.Name())}, management.PropertyTypeOf(o.Value()), at)
	}
}

// addEvent adds an event. groupTypes has the indexes of the group types of its project.
func (d definitions) addEvent(project int64, name string, at int64, properties jsonscan.Value, groupTypes map[string]int) {
	d.add(definitionKey{project, management.DefinesEvent, name}, "", at)
	groupType, groupProperties := "", jsonscan.Value(nil)
	for o := properties.Object(); o.Next(); {
		switch member := string(o.Name()); member {
		case "$set", "$set_once":
			d.addProperties(project, management.DefinesPerson, o.Value(), at)
		case "$group_set":
			groupProperties = o.Value()
		default:
			if member == "$group_type" {
				b, _ := o.Value().AppendString(nil)
				groupType = string(b)
			}
			d.add(definitionKey{project, management.DefinesEventProperty, member}, management.PropertyTypeOf(o.Value()), at)
		}
	}
	if index, ok := groupTypes[groupType]; ok && name == "$groupidentify" {
		d.addProperties(project, management.DefinesGroup(index), groupProperties, at)
	}
}

// DefineEvents implements [management.EventStore]. A call reads at most two thousand events.
// Of several processes that call it at once, one writes, and the others have read in vain.
func (db *DB) DefineEvents(ctx context.Context) (more bool, err error) {
	most := int64(1<<63 - 1)
	if db.d.Postgres {
		db.indexing.Lock()
		most, err = db.settle(ctx)
		db.indexing.Unlock()
		if err != nil {
			return false, fmt.Errorf("define events: %w", err)
		}
	}
	var from int64
	if _, err := db.one(ctx, []any{&from}, "SELECT last_id FROM definition_progress"); err != nil {
		return false, fmt.Errorf("define events: %w", err)
	}
	d, groupTypes := make(definitions), make(map[int64]map[string]int)
	last, n := from, 0
	types := func(project int64) (map[string]int, error) {
		known, ok := groupTypes[project]
		if ok {
			return known, nil
		}
		list, err := db.GroupTypes(ctx, project)
		known = make(map[string]int, len(list))
		for index, name := range list {
			known[name] = index
		}
		groupTypes[project] = known
		return known, err
	}
	err = db.read(ctx, "SELECT id, project_id, name, "+db.d.micros("ts")+", properties FROM event WHERE id > ? AND id <= ? ORDER BY id LIMIT ?",
		[]any{from, most, definedAtOnce}, func(r *sql.Rows) error {
			var project, at int64
			var name string
			var properties []byte
			if err := r.Scan(&last, &project, &name, &at, &properties); err != nil {
				return err
			}
			n++
			var known map[string]int
			if name == "$groupidentify" {
				if known, err = types(project); err != nil {
					return err
				}
			}
			d.addEvent(project, name, at, properties, known)
			return nil
		})
	if err != nil || n == 0 {
		return false, wrap("define events", err)
	}
	err = db.atomic(ctx, func(t *tx) error {
		changed, err := t.exec(ctx, "UPDATE definition_progress SET last_id = ? WHERE last_id = ?", last, from)
		if err != nil || changed == 0 {
			return err // or another process has read these events
		}
		return t.define(ctx, d)
	})
	return n == definedAtOnce, wrap("define events", db.fail(err))
}

// define stores definitions.
func (t *tx) define(ctx context.Context, rows definitions) error {
	keys, err := t.definable(ctx, rows)
	if err != nil {
		return err
	}
	least, greatest := "min", "max" // of several values, in SQLite
	if t.pg != nil {
		least, greatest = "least", "greatest"
	}
	_, err = t.insert(ctx, "definition", []column{
		integers("project_id", keys, func(k *definitionKey) int64 { return k.project }),
		integers("kind", keys, func(k *definitionKey) int64 { return int64(k.kind) }),
		texts("name", keys, func(k *definitionKey) string { return k.name }),
		texts("type", keys, func(k *definitionKey) string { return string(rows[*k].kind) }),
		integers("first_seen", keys, func(k *definitionKey) int64 { return rows[*k].first }),
		integers("last_seen", keys, func(k *definitionKey) int64 { return rows[*k].last }),
	}, `ON CONFLICT (project_id, kind, name) DO UPDATE SET first_seen = `+least+`(definition.first_seen, excluded.first_seen),
		last_seen = `+greatest+`(definition.last_seen, excluded.last_seen),
		type = CASE WHEN excluded.type IN ('', definition.type) THEN definition.type
			WHEN definition.type = '' THEN excluded.type ELSE '`+string(management.PropertyMixed)+`' END`, nil)
	return err
}

// definable returns the keys of rows that are stored, in their order, so that transactions
// wait for each other's rows in one order: the keys that there are, and new ones as far as
// there is room.
func (t *tx) definable(ctx context.Context, rows definitions) ([]definitionKey, error) {
	keys := slices.SortedFunc(maps.Keys(rows), definitionKey.compare)
	var kept []definitionKey
	for len(keys) > 0 {
		first := keys[0]
		end := slices.IndexFunc(keys, func(k definitionKey) bool { return k.project != first.project || k.kind != first.kind })
		if end < 0 {
			end = len(keys)
		}
		some := keys[:end:end]
		keys = keys[end:]
		var stored int
		count := "SELECT count(*) FROM definition WHERE project_id = ? AND kind = ?"
		if _, err := t.run(ctx, count, []any{first.project, first.kind}, func(r *sql.Rows) error { return r.Scan(&stored) }); err != nil {
			return nil, err
		}
		if stored+len(some) > maxDefined {
			known := make(map[string]bool)
			err := t.in(ctx, "SELECT name FROM definition WHERE project_id = ? AND kind = ? AND name IN (?)", []any{first.project, first.kind},
				collect(some, func(k *definitionKey) string { return k.name }), func(r *sql.Rows) error {
					var name string
					err := r.Scan(&name)
					known[name] = true
					return err
				})
			if err != nil {
				return nil, err
			}
			some = slices.DeleteFunc(some, func(k definitionKey) bool {
				if !known[k.name] {
					stored++
				}
				return !known[k.name] && stored > maxDefined
			})
		}
		kept = append(kept, some...)
	}
	return kept, nil
}

// Definitions implements [management.EventStore].
func (db *DB) Definitions(ctx context.Context, project int64, kind management.DefinitionKind, search string, limit, offset int) ([]management.Definition, int, error) {
	contains := "instr(lower(name), lower(?)) > 0"
	if db.d.Postgres {
		contains = "strpos(lower(name), lower(?)) > 0"
	}
	where, args := " FROM definition WHERE project_id = ? AND kind = ? AND "+contains, []any{project, kind, search}
	var total int
	if err := db.read(ctx, "SELECT count(*)"+where, args, func(r *sql.Rows) error { return r.Scan(&total) }); err != nil {
		return nil, 0, fmt.Errorf("count definitions: %w", err)
	}
	var list []management.Definition
	err := db.read(ctx, "SELECT name, type, first_seen, last_seen"+where+" ORDER BY "+db.d.byBytes("name")+" LIMIT ? OFFSET ?",
		append(args, limit, offset), func(r *sql.Rows) error {
			var d management.Definition
			var first, last int64
			err := r.Scan(&d.Name, &d.Type, &first, &last)
			d.First, d.Last = time.UnixMicro(first).UTC(), time.UnixMicro(last).UTC()
			list = append(list, d)
			return err
		})
	if err != nil {
		return nil, 0, fmt.Errorf("read definitions: %w", err)
	}
	return list, total, nil
}
