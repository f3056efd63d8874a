package sqldb

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/capture/persons"
	"github.com/flagstaff-go/flagstaff/management/internal/names"
	"github.com/flagstaff-go/flagstaff/management/sqlstore"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// Which distinct IDs personRows returns.
const (
	allDistinctIDs  = "person_distinct_id d WHERE d.person_id = p.id"
	firstDistinctID = "(SELECT distinct_id FROM person_distinct_id WHERE person_id = p.id ORDER BY distinct_id LIMIT 1) d"
)

// personRows is the beginning of a query for persons. The query returns their
// distinct IDs as well, so that no person is seen without them while it is
// merged or deleted.
func (d *Dialect) personRows(ids string) string {
	list := "json_group_array(d.distinct_id)"
	if d.Postgres {
		list = "json_agg(d.distinct_id)::text"
	}
	return "SELECT p.id, p.properties, p.is_identified, p.created_at, (SELECT " + list + " FROM " + ids + ") FROM person p WHERE "
}

// personInto returns a function that appends the rows of this query to a list.
func personInto(list *[]storage.Person) func(*sql.Rows) error {
	return func(r *sql.Rows) error {
		var p storage.Person
		var properties string
		if err := r.Scan(&p.ID, &properties, &p.Identified, moment{&p.Created}, asJSON[[]string]{&p.DistinctIDs}); err != nil {
			return err
		}
		p.Properties = json.RawMessage(properties)
		slices.Sort(p.DistinctIDs)
		*list = append(*list, p)
		return nil
	}
}

// Person implements [storage.Persons], as do the methods below.
func (db *DB) Person(ctx context.Context, project int64, id uuid.UUID) (*storage.Person, error) {
	return db.personWhere(ctx, "p.id = ? AND p.project_id = ?", id, project)
}

func (db *DB) PersonByDistinctID(ctx context.Context, project int64, distinctID string) (*storage.Person, error) {
	if !storable(distinctID) {
		return nil, fmt.Errorf("read a person: %w", storage.ErrNotFound)
	}
	return db.personWhere(ctx, "p.id = (SELECT person_id FROM person_distinct_id WHERE project_id = ? AND distinct_id = ?)", project, distinctID)
}

func (db *DB) personWhere(ctx context.Context, where string, args ...any) (*storage.Person, error) {
	var list []storage.Person
	err := db.read(ctx, db.d.personRows(allDistinctIDs)+where, args, personInto(&list))
	p, err := first(list, err)
	return p, wrap("read a person", err)
}

// selected returns the end of a query for the persons that a filter selects,
// and the column with their UUIDs. Members of a cohort are found in the list of
// the cohort, where they are in order, and those with a part of a distinct ID in the
// index of distinct IDs by person.
func (d *Dialect) selected(project int64, f *storage.PersonFilter) (id, tail string, args []any) {
	id, tail, args = "p.id", "FROM person p WHERE p.project_id = ?", []any{project}
	and := func(condition string, more ...any) {
		tail, args = tail+" AND "+condition, append(args, more...)
	}
	if f.Cohort != 0 {
		id, tail = "p.person_id", "FROM cohort_member p WHERE p.project_id = ?"
		and("p.cohort_id = ?", f.Cohort)
	}
	if f.Within != "" {
		// The plus sign keeps databases from reading the distinct IDs in another order, and
		// then sorting all that match.
		id, tail = "p.person_id", "FROM person_distinct_id p WHERE +p.project_id = ?"
		condition, pattern := d.within("p.distinct_id", f.Within)
		and(condition, pattern)
	}
	if f.Named != "" {
		condition, pattern := d.within("p.names", f.Named)
		and("p.names <> '' AND "+condition, pattern)
	}
	if f.DistinctID != "" {
		and(id+" = (SELECT person_id FROM person_distinct_id WHERE project_id = ? AND distinct_id = ?)", project, f.DistinctID)
	}
	if f.Search != "" {
		begins, prefix := d.begins("distinct_id", f.Search)
		and(id+" IN (SELECT person_id FROM person_distinct_id WHERE project_id = ? AND "+begins+")", append([]any{project}, prefix...)...)
	}
	if f.IDs != nil {
		and(id+" IN (?)", f.IDs)
	}
	return id, tail, args
}

// each returns what a query of selected selects so that it has each person once.
func each(f *storage.PersonFilter, id string) string {
	if f.Within != "" { // by several distinct IDs
		return "DISTINCT " + id
	}
	return id
}

func (db *DB) Persons(ctx context.Context, project int64, f storage.PersonFilter, limit, offset int) ([]storage.Person, int, error) {
	if !storable(f.DistinctID, f.Search, f.Named, f.Within) {
		return nil, 0, nil
	}
	id, tail, args := db.d.selected(project, &f)
	return paged(ctx, &db.accounts, "persons", "SELECT count("+each(&f, id)+") "+tail, args, offset, func() (list []storage.Person, err error) {
		// An index finds the page; only then are properties read.
		page := "p.id IN (SELECT " + each(&f, id) + " " + tail + " ORDER BY " + id + " DESC LIMIT ? OFFSET ?) ORDER BY p.id DESC"
		err = db.read(ctx, db.d.personRows(allDistinctIDs)+page, append(args, limit, offset), personInto(&list))
		return list, wrap("read persons", err)
	})
}

func (db *DB) PersonsBefore(ctx context.Context, project int64, f storage.PersonFilter, before uuid.UUID, limit int) ([]storage.Person, error) {
	if !storable(f.DistinctID, f.Search, f.Named, f.Within) {
		return nil, nil
	}
	id, tail, args := db.d.selected(project, &f)
	page := "p.id IN (SELECT " + each(&f, id) + " " + tail + " AND " + id + " < ? ORDER BY " + id + " DESC LIMIT ?) ORDER BY p.id DESC"
	var list []storage.Person
	err := db.read(ctx, db.d.personRows(allDistinctIDs)+page, append(args, before, limit), personInto(&list))
	return list, wrap("read persons", err)
}

// existing returns the given persons that the project has.
func (t *tx) existing(ctx context.Context, project int64, ids []uuid.UUID) ([]uuid.UUID, error) {
	var list []uuid.UUID
	_, err := t.run(ctx, "SELECT id FROM person WHERE project_id = ? AND id IN (?)", []any{project, ids}, appendTo(&list))
	return list, err
}

// about runs f in the only transaction that writes about a project. Then it
// calls forget, which drops the entries that f has changed from the caches,
// even after an error, because the outcome of a commit may be unknown. If f
// finds that something is missing or too large, it returns its own error.
func (db *DB) about(ctx context.Context, project int64, f func(*tx) error, forget func()) (err error) {
	ctx, end := db.begin(ctx, sqlstore.ChangePersons)
	defer func() { end(err) }()
	release, err := db.mutexes.lock(ctx, project)
	if err != nil {
		return err
	}
	defer release()
	defer forget()
	err = db.atomic(ctx, func(t *tx) error {
		if err := t.lock(ctx, project); err != nil {
			return err
		}
		return f(t)
	})
	if errors.Is(err, storage.ErrNotFound) || errors.Is(err, storage.ErrTooLarge) {
		return err
	}
	return db.fail(err)
}

func (db *DB) UpdatePerson(ctx context.Context, project int64, id uuid.UUID, set map[string]json.RawMessage, unset []string) (*storage.Person, error) {
	var p *storage.Person
	err := db.about(ctx, project, func(t *tx) error {
		var list []storage.Person
		_, err := t.run(ctx, db.d.personRows(allDistinctIDs)+"p.id = ? AND p.project_id = ?", []any{id, project}, personInto(&list))
		if p, err = first(list, err); err != nil {
			return err
		}
		properties, ok := persons.Update(p.Properties, set, unset)
		if !ok {
			return storage.ErrTooLarge
		}
		p.Properties = properties
		_, err = t.exec(ctx, "UPDATE person SET properties = ?, names = ? WHERE id = ?", string(properties), names.Index(properties), id)
		return err
	}, func() { db.caches.people.drop(id) })
	if err != nil {
		return nil, fmt.Errorf("change a person: %w", err)
	}
	return p, nil
}

// personsPerPart is the number of persons that AllPersons reads at once.
const personsPerPart = 500

// AllPersons implements [storage.Persons]. Persons come in the order of their IDs.
func (db *DB) AllPersons(ctx context.Context, project int64) iter.Seq2[storage.Person, error] {
	return func(yield func(storage.Person, error) bool) {
		query := db.d.personRows(firstDistinctID) + "p.project_id = ? AND p.id > ? ORDER BY p.id LIMIT ?"
		for last, more := uuid.Nil, true; more; {
			var part []storage.Person
			if err := db.read(ctx, query, []any{project, last, personsPerPart}, personInto(&part)); err != nil {
				yield(storage.Person{}, wrap("read persons", err))
				return
			}
			for _, p := range part {
				if err := ctx.Err(); !yield(p, err) || err != nil {
					return
				}
				last = p.ID
			}
			more = len(part) == personsPerPart
		}
	}
}

// namesAtOnce is how many persons indexPersons reads at once.
const namesAtOnce = 500

// indexPersons gives names to persons that were stored by a release without them.
func (db *DB) indexPersons(ctx context.Context) (more bool, err error) {
	var project int64
	// Outside of the transaction first, so that nothing is locked when there is nothing to do.
	found, err := db.one(ctx, []any{&project}, "SELECT project_id FROM person WHERE names IS NULL LIMIT 1")
	if err != nil || !found {
		return false, wrap("index persons", err)
	}
	err = db.about(ctx, project, func(t *tx) error {
		type person struct {
			id         uuid.UUID
			properties string
		}
		var list []person
		const query = "SELECT id, properties FROM person WHERE project_id = ? AND names IS NULL LIMIT ?"
		_, err := t.run(ctx, query, []any{project, namesAtOnce}, rowsTo(&list, func(p *person) []any { return []any{&p.id, &p.properties} }))
		if err != nil {
			return err
		}
		for i := range list {
			p := &list[i]
			_, err := t.exec(ctx, "UPDATE person SET names = ? WHERE id = ?", names.Index(json.RawMessage(p.properties)), p.id)
			if err != nil {
				return err
			}
		}
		return nil
	}, func() {})
	return err == nil, wrap("index persons", err)
}
