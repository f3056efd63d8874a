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
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// The names of events and properties are read from events that are stored already, so
// that they cost the writers of events nothing. That takes as long as putting the events
// into blocks, some microseconds for each; BenchmarkFindEvents shows both.

const (
	definedAtOnce = 2000   // events that a call of DefineEvents reads
	maxDefined    = 10_000 // names of a kind in a project; others are not listed
	maxDefinition = 400    // characters of a name; properties with longer ones are not listed
)

// A definitionsOf says of which project definitions are, and of which kind.
type definitionsOf struct {
	project int64
	kind    storage.DefinitionKind
}

func (k definitionsOf) compare(l definitionsOf) int {
	return cmp.Or(cmp.Compare(k.project, l.project), cmp.Compare(k.kind, l.kind))
}

// A defined is what is known of a name.
type defined struct {
	kind        storage.PropertyType
	first, last int64 // microseconds since 1970
}

// definitions are what events have, by name. A name that is known costs no memory.
type definitions map[definitionsOf]map[string]*defined

func (d definitions) add(of definitionsOf, name []byte, kind storage.PropertyType, at int64) {
	row := d[of][string(name)]
	if row == nil {
		text := string(name)
		if text == "" || utf8.RuneCountInString(text) > maxDefinition || !storable(text) {
			return
		}
		if d[of] == nil {
			d[of] = make(map[string]*defined)
		}
		row = &defined{kind, at, at}
		d[of][text] = row
	}
	row.kind, row.first, row.last = row.kind.With(kind), min(row.first, at), max(row.last, at)
}

// addProperties adds the members of an object.
func (d definitions) addProperties(of definitionsOf, object jsonscan.Value, at int64) {
	for o := object.Object(); o.Next(); {
		d.add(of, o.Name(), storage.PropertyTypeOf(o.Value()), at)
	}
}

// addEvent adds an event. If it is about a group, it returns the type of the group and its
// properties.
func (d definitions) addEvent(project int64, name []byte, at int64, properties jsonscan.Value) (groupType string, set jsonscan.Value) {
	d.add(definitionsOf{project, storage.DefinesEvent}, name, "", at)
	var kind jsonscan.Value
	for o := properties.Object(); o.Next(); {
		member, value := o.Name(), o.Value()
		switch string(member) {
		case "$set", "$set_once":
			d.addProperties(definitionsOf{project, storage.DefinesPerson}, value, at)
			continue
		case "$group_set":
			set = value
			continue
		case "$group_type":
			kind = value
		}
		d.add(definitionsOf{project, storage.DefinesEventProperty}, member, storage.PropertyTypeOf(value), at)
	}
	if string(name) != "$groupidentify" {
		return "", nil
	}
	text, _ := kind.AppendString(nil)
	return string(text), set
}

// A groupEvent is an event about a group.
type groupEvent struct {
	project int64
	kind    string // the name of the group type
	at      int64
	set     jsonscan.Value
}

// addGroups adds properties of groups.
func (d definitions) addGroups(ctx context.Context, db *DB, list []groupEvent) error {
	types := make(map[int64]map[int]string) // by project
	for _, e := range list {
		if types[e.project] == nil {
			var err error
			if types[e.project], err = db.GroupTypes(ctx, e.project); err != nil {
				return err
			}
		}
		for index, name := range types[e.project] {
			if name == e.kind {
				d.addProperties(definitionsOf{e.project, storage.DefinesGroup(index)}, e.set, e.at)
			}
		}
	}
	return nil
}

// DefineEvents implements [storage.Events]. A call reads at most two thousand events.
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
	d, groups := make(definitions), []groupEvent(nil)
	last, n := from, 0
	err = db.read(ctx, "SELECT id, project_id, name, "+db.d.micros("ts")+", properties FROM event WHERE id > ? AND id <= ? ORDER BY id LIMIT ?",
		[]any{from, most, definedAtOnce}, func(r *sql.Rows) error {
			var project, at int64
			var name, properties sql.RawBytes
			if err := r.Scan(&last, &project, &name, &at, &properties); err != nil {
				return err
			}
			n++
			if kind, set := d.addEvent(project, name, at, jsonscan.Value(properties)); set != nil {
				groups = append(groups, groupEvent{project, kind, at, slices.Clone(set)})
			}
			return nil
		})
	if err == nil {
		err = d.addGroups(ctx, db, groups)
	}
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

// A definedName is a row of definition.
type definedName struct {
	definitionsOf
	name string
	*defined
}

// define stores definitions, in their order, so that transactions wait for each other's rows
// in one order.
func (t *tx) define(ctx context.Context, d definitions) error {
	var rows []definedName
	for _, of := range slices.SortedFunc(maps.Keys(d), definitionsOf.compare) {
		names := slices.Sorted(maps.Keys(d[of]))
		names, err := t.definable(ctx, of, names)
		if err != nil {
			return err
		}
		for _, name := range names {
			rows = append(rows, definedName{of, name, d[of][name]})
		}
	}
	least, greatest := "min", "max" // of several values, in SQLite
	if t.pg != nil {
		least, greatest = "least", "greatest"
	}
	_, err := t.insert(ctx, "definition", []column{
		columnOf("project_id", rows, func(r *definedName) int64 { return r.project }),
		columnOf("kind", rows, func(r *definedName) int64 { return int64(r.definitionsOf.kind) }),
		columnOf("name", rows, func(r *definedName) string { return r.name }),
		columnOf("type", rows, func(r *definedName) string { return string(r.defined.kind) }),
		columnOf("first_seen", rows, func(r *definedName) int64 { return r.first }),
		columnOf("last_seen", rows, func(r *definedName) int64 { return r.last }),
	}, `ON CONFLICT (project_id, kind, name) DO UPDATE SET first_seen = `+least+`(definition.first_seen, excluded.first_seen),
		last_seen = `+greatest+`(definition.last_seen, excluded.last_seen),
		type = CASE WHEN excluded.type IN ('', definition.type) THEN definition.type
			WHEN definition.type = '' THEN excluded.type ELSE '`+string(storage.PropertyMixed)+`' END`, nil)
	return err
}

// definable returns the names that are stored: those that there are, and new ones as far as
// there is room.
func (t *tx) definable(ctx context.Context, of definitionsOf, names []string) ([]string, error) {
	var stored int
	count := "SELECT count(*) FROM definition WHERE project_id = ? AND kind = ?"
	_, err := t.run(ctx, count, []any{of.project, of.kind}, scanTo(&stored))
	if err != nil || stored+len(names) <= maxDefined {
		return names, err
	}
	known := make(map[string]bool)
	_, err = t.run(ctx, "SELECT name FROM definition WHERE project_id = ? AND kind = ? AND name IN (?)", []any{of.project, of.kind, names},
		eachValue(func(name string) {
			known[name] = true
		}))
	return slices.DeleteFunc(names, func(name string) bool {
		if !known[name] {
			stored++
		}
		return !known[name] && stored > maxDefined
	}), err
}

// Definitions implements [storage.Events].
func (db *DB) Definitions(ctx context.Context, project int64, kind storage.DefinitionKind, search string, limit, offset int) ([]storage.Definition, int, error) {
	contains := "instr(lower(name), lower(?)) > 0"
	if db.d.Postgres {
		contains = "strpos(lower(name), lower(?)) > 0"
	}
	where, args := " FROM definition WHERE project_id = ? AND kind = ? AND "+contains, []any{project, kind, search}
	return paged(ctx, &db.accounts, "definitions", "SELECT count(*)"+where, args, offset, func() (list []storage.Definition, err error) {
		err = db.read(ctx, "SELECT name, type, first_seen, last_seen"+where+" ORDER BY "+db.d.byBytes("name")+" LIMIT ? OFFSET ?",
			append(args, limit, offset), func(r *sql.Rows) error {
				var d storage.Definition
				var first, last int64
				err := r.Scan(&d.Name, &d.Type, &first, &last)
				d.First, d.Last = time.UnixMicro(first).UTC(), time.UnixMicro(last).UTC()
				list = append(list, d)
				return err
			})
		return list, wrap("read definitions", err)
	})
}
