package sqldb

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
)

// maxPurged is how many rows, or distinct IDs with their data, a transaction
// of PurgeProjects deletes at most. On SQLite, other writers wait for it.
const maxPurged = 5000

// A leftover is a table with data of deleted projects: the key by which its
// rows are deleted, and the order in which an index has them, "" for days.
type leftover struct{ table, key, order string }

var leftovers = []leftover{
	{"event", "id", ""},
	{"cohort_member", "project_id, cohort_id, person_id", "cohort_id"},
	{"feature_flag_version", "project_id, flag_id, version", "flag_id"},
	{"flag_call", "project_id, flag_key, day, value, sdk", "flag_key"},
	{"group_entry", "project_id, type_index, group_key", "type_index"},
	{"group_type", "project_id, type_index", "type_index"},
	{"deleted_distinct_id", "project_id, distinct_id", "distinct_id"},
	{"project_version", "project_id", "project_id"},
	{"definition", "project_id, kind, name", "name"},
	{"event_expiry", "project_id", "project_id"},
}

// PurgeProjects implements [storage.Persons]. A call deletes a few
// thousand rows of one project. Usage counters stay, because they belong to
// organizations.
//
// The caches keep their entries of the project until these expire. They are
// never read, because the keys of the project are gone and its ID is not
// reused, whereas to drop them would evict entries that are needed.
func (db *DB) PurgeProjects(ctx context.Context, before time.Time) (more bool, err error) {
	var project, waiting int64
	_, err = db.one(ctx, []any{&project, &waiting}, "SELECT coalesce(min(project_id), 0), count(*) FROM deleted_project WHERE deleted_at < ?", before)
	if err != nil {
		return false, fmt.Errorf("read deleted projects: %w", err)
	}
	if waiting == 0 {
		return false, nil
	}
	more, err = db.purge(ctx, project)
	if err != nil {
		return false, fmt.Errorf("purge project %d: %w", project, db.fail(err))
	}
	return more || waiting > 1, nil
}

func (db *DB) purge(ctx context.Context, project int64) (more bool, err error) {
	steps := []func(*tx) (int64, error){
		func(t *tx) (int64, error) { return t.purgePersons(ctx, project) },
	}
	all := slices.Clone(leftovers)
	for _, e := range db.o.Extensions {
		for _, t := range e.Tables {
			all = append(all, leftover{t.Name, t.Key, t.By})
		}
	}
	for _, l := range all {
		steps = append(steps, func(t *tx) (int64, error) { return t.purgeRows(ctx, project, l) })
	}
	for _, step := range steps {
		var n int64
		err := db.atomic(ctx, func(t *tx) error {
			if err := t.lock(ctx, project); err != nil {
				return err
			}
			n, err = step(t)
			return err
		})
		if err != nil {
			return false, err
		}
		more = more || n == maxPurged
	}
	if more {
		return true, nil
	}
	return false, db.atomic(ctx, func(t *tx) error {
		_, err := t.exec(ctx, "DELETE FROM deleted_project WHERE project_id = ?", project)
		return err
	})
}

// purgeRows deletes some rows of a table.
func (t *tx) purgeRows(ctx context.Context, project int64, l leftover) (int64, error) {
	order := l.order
	if order == "" {
		order, _ = t.db.d.days()
	}
	n, err := t.exec(ctx, t.db.d.deleteSome(l.table, l.key, "project_id = ? ORDER BY "+order), project, maxPurged)
	if err != nil || l.table != "event" {
		return n, err
	}
	return n, t.afterEvents(ctx)
}

// deleteSome returns a statement that deletes the first rows that conditions select, as many as
// its last parameter says.
func (d *Dialect) deleteSome(table, key, where string) string {
	some := " FROM " + table + " WHERE " + where + " LIMIT ?"
	if d.Postgres {
		return "DELETE FROM " + table + " WHERE ctid = ANY (ARRAY(SELECT ctid" + some + "))"
	}
	return "DELETE FROM " + table + " WHERE (" + key + ") IN (SELECT " + key + some + ")"
}

// purgePersons deletes some distinct IDs with their persons, and the data of
// these persons in tables that do not name the project. Other distinct IDs of
// the same persons are deleted later.
func (t *tx) purgePersons(ctx context.Context, project int64) (int64, error) {
	type link struct {
		distinctID string
		person     uuid.UUID
	}
	var links []link
	n, err := t.run(ctx, "SELECT distinct_id, person_id FROM person_distinct_id WHERE project_id = ? ORDER BY distinct_id LIMIT ?", []any{project, maxPurged}, rowsTo(&links, func(l *link) []any {
		return []any{&l.distinctID, &l.person}
	}))
	if err != nil {
		return 0, err
	}
	people := collect(links, func(l *link) uuid.UUID { return l.person })
	ids := collect(links, func(l *link) string { return l.distinctID })
	return n, t.all(ctx, []statement{
		{"DELETE FROM hash_key_override WHERE person_id IN (?)", []any{people}},
		{"DELETE FROM person WHERE id IN (?)", []any{people}},
		{"DELETE FROM person_distinct_id WHERE project_id = ? AND distinct_id IN (?)", []any{project, ids}},
	})
}
