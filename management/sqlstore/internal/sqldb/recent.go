package sqldb

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"
)

// Bounds of RecentDistinctIDs: the number of days with events that it reads,
// and the number of events per day.
const (
	recentDays   = 30
	recentEvents = 1000
)

// day returns the expression for the day of a time in UTC that the index
// event_once contains.
func (d *Dialect) day(time string) string {
	if d.Postgres {
		return "(" + time + " AT TIME ZONE 'UTC')::date"
	}
	return time + " / 86400000000"
}

// days returns day for the times of events, and for a parameter.
func (d *Dialect) days() (day, param string) {
	if d.Postgres {
		return d.day("ts"), d.day("?::timestamptz")
	}
	return d.day("ts"), d.day("?")
}

// dayBefore returns the time of an event of the newest day with events before another day.
func (db *DB) dayBefore(ctx context.Context, project int64, before time.Time) (at time.Time, found bool, err error) {
	day, param := db.d.days()
	err = db.read(ctx, "SELECT ts FROM event WHERE project_id = ? AND "+day+" < "+param+" ORDER BY "+day+" DESC LIMIT 1",
		[]any{project, before}, func(r *sql.Rows) error {
			found = true
			return r.Scan(moment{&at})
		})
	return at, found, err
}

// RecentDistinctIDs implements [storage.Persons]. The newest day comes
// first. Within a day it reads the thousand events with the highest UUIDs,
// which are the newest if UUIDs begin with the time, as in version 7, and sorts
// them by time. It reads at most thirty days with events, and so may return
// fewer IDs than there are.
func (db *DB) RecentDistinctIDs(ctx context.Context, project int64, limit int) (list []string, since time.Time, err error) {
	seen := make(map[string]bool)
	before := time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC) // all events are of earlier years
	for range recentDays {
		sample, at, err := db.newestDay(ctx, project, before)
		if err != nil {
			return nil, time.Time{}, fmt.Errorf("read recent distinct IDs: %w", err)
		}
		for _, s := range sample {
			if len(list) >= limit {
				return list, since, nil
			}
			if !seen[s.distinctID] {
				seen[s.distinctID] = true
				list, since = append(list, s.distinctID), s.at
			}
		}
		if len(sample) == 0 {
			break
		}
		before = at
	}
	return list, since, nil
}

// A distinctIDTime is the time of an event of a distinct ID.
type distinctIDTime struct {
	distinctID string
	at         time.Time
}

// newestDay returns events of the newest day with events before another day,
// newest first, and a time on this day.
func (db *DB) newestDay(ctx context.Context, project int64, before time.Time) (sample []distinctIDTime, at time.Time, err error) {
	at, found, err := db.dayBefore(ctx, project, before)
	if err != nil || !found {
		return nil, at, err
	}
	day, param := db.d.days()
	err = db.read(ctx, "SELECT distinct_id, ts FROM event WHERE project_id = ? AND "+day+" = "+param+" ORDER BY uuid DESC LIMIT ?",
		[]any{project, at, recentEvents}, rowsTo(&sample, func(s *distinctIDTime) []any { return []any{&s.distinctID, moment{&s.at}} }))
	slices.SortStableFunc(sample, func(a, b distinctIDTime) int { return b.at.Compare(a.at) })
	return sample, at, err
}
