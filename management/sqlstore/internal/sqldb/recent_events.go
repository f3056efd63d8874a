package sqldb

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/capture"
)

// Bounds of RecentEvents: no index has the distinct IDs of events, because it would cost
// every write. A person who is active is found in the first part.
const (
	maxLooked = 50_000 // events
	lookPart  = 5_000  // events
)

// RecentEvents implements [management.PersonStore].
func (db *DB) RecentEvents(ctx context.Context, project int64, person uuid.UUID, limit int) (list []capture.Event, looked int, err error) {
	var end int64
	if _, err := db.one(ctx, []any{&end}, "SELECT coalesce(max(id), 0) + 1 FROM event"); err != nil {
		return nil, 0, fmt.Errorf("read recent events: %w", err)
	}
	for looked < maxLooked && len(list) < limit {
		var begin int64
		var n int
		_, err := db.one(ctx, []any{&begin, &n}, "SELECT coalesce(min(id), 0), count(*) FROM (SELECT id FROM event WHERE id < ? ORDER BY id DESC LIMIT ?) AS part", end, lookPart)
		if err == nil && n > 0 {
			err = db.eventsBetween(ctx, project, person, begin, end, limit-len(list), &list)
		}
		if err != nil {
			return nil, 0, fmt.Errorf("read recent events: %w", err)
		}
		looked += n
		if n < lookPart {
			break
		}
		end = begin
	}
	slices.SortStableFunc(list, func(a, b capture.Event) int { return b.Time.Compare(a.Time) })
	return list, looked, nil
}

// eventsBetween appends the newest events of a person with IDs from begin and below end.
// The plus sign keeps databases from reading all events of the project by another index.
func (db *DB) eventsBetween(ctx context.Context, project int64, person uuid.UUID, begin, end int64, limit int, list *[]capture.Event) error {
	const query = `SELECT uuid, name, distinct_id, ts, properties FROM event WHERE id >= ? AND id < ? AND +project_id = ?
		AND distinct_id IN (SELECT distinct_id FROM person_distinct_id WHERE person_id = (SELECT id FROM person WHERE id = ? AND project_id = ?)) ORDER BY id DESC LIMIT ?`
	return db.read(ctx, query, []any{begin, end, project, db.d.id(person), project, limit}, func(r *sql.Rows) error {
		e := capture.Event{Project: project}
		var properties string
		err := r.Scan(&e.UUID, &e.Name, &e.DistinctID, moment{&e.Time}, &properties)
		e.Properties = json.RawMessage(properties)
		*list = append(*list, e)
		return err
	})
}
