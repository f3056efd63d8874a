package sqldb

import (
	"context"
	"database/sql"
	"encoding/json"
	"iter"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/management/storage"
)

// personsPerPart is the number of persons that AllPersons reads at once.
const personsPerPart = 500

// AllPersons implements [storage.Persons].
func (db *DB) AllPersons(ctx context.Context, project int64) iter.Seq2[storage.Person, error] {
	return func(yield func(storage.Person, error) bool) {
		last := uuid.Nil
		for {
			part, err := db.personsAfter(ctx, project, last)
			if err != nil {
				yield(storage.Person{}, err)
				return
			}
			for i := range part {
				if err := ctx.Err(); err != nil {
					yield(storage.Person{}, err)
					return
				}
				if !yield(part[i], nil) {
					return
				}
			}
			if len(part) < personsPerPart {
				return
			}
			last = part[len(part)-1].ID
		}
	}
}

// personsAfter returns the next persons in the order of their IDs.
func (db *DB) personsAfter(ctx context.Context, project int64, last uuid.UUID) ([]storage.Person, error) {
	const query = `SELECT p.id, p.properties, p.is_identified, p.created_at,
		(SELECT min(d.distinct_id) FROM person_distinct_id d WHERE d.person_id = p.id)
		FROM person p WHERE p.project_id = ? AND p.id > ? ORDER BY p.id LIMIT ?`
	var list []storage.Person
	err := db.read(ctx, query, []any{project, last, personsPerPart}, func(r *sql.Rows) error {
		var p storage.Person
		var properties string
		var first sql.NullString
		if err := r.Scan(&p.ID, &properties, &p.Identified, moment{&p.Created}, &first); err != nil {
			return err
		}
		p.Properties = json.RawMessage(properties)
		if first.Valid { // a person may be losing its last distinct ID
			p.DistinctIDs = []string{first.String}
		}
		list = append(list, p)
		return nil
	})
	return list, wrap("read persons", err)
}
