package sqldb

import (
	"context"
	"database/sql"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

const (
	maxExpired    = 1000           // events that a transaction of ExpireEvents deletes; on SQLite, other writers wait for it
	minExpiredAge = 24 * time.Hour // the least age of events that are deleted
)

// ExpireEvents implements [storage.Events]. A call deletes at most a thousand
// events of one project, in one transaction. It goes by whole days in UTC, as the index
// event_once does. When no event is left to delete, it deletes blocks without events.
func (db *DB) ExpireEvents(ctx context.Context, rule storage.EventExpiry) (deleted int, more bool, err error) {
	for _, before := range append(slices.Collect(maps.Values(rule.Projects)), rule.Before) {
		if time.Since(before) < minExpiredAge {
			return 0, false, fmt.Errorf("delete old events: %v is less than a day ago", before)
		}
	}
	for project, err := range db.expiring(ctx, &rule) {
		if err == nil {
			deleted, err = db.expire(ctx, project, dayStart(rule.Of(project)))
		}
		if err != nil || deleted > 0 {
			return deleted, deleted > 0, wrap("delete old events", db.fail(err))
		}
	}
	// If events are kept for longer than before, older ones can come again.
	if err := db.keepLonger(ctx, &rule); err != nil {
		return 0, false, wrap("keep events", db.fail(err))
	}
	more, err = db.dropEmptyBlocks(ctx)
	return 0, more, wrap("delete blocks of old events", db.fail(err))
}

// expiring iterates over the projects of which events may be too old.
func (db *DB) expiring(ctx context.Context, rule *storage.EventExpiry) iter.Seq2[int64, error] {
	return func(yield func(int64, error) bool) {
		if rule.Before.IsZero() {
			for _, project := range slices.Sorted(maps.Keys(rule.Projects)) {
				if !yield(project, nil) {
					return
				}
			}
			return
		}
		for project := int64(-1); ; {
			var next sql.NullInt64
			_, err := db.one(ctx, []any{&next}, "SELECT min(project_id) FROM event WHERE project_id > ?", project)
			if err == nil && !next.Valid {
				return
			}
			if project = next.Int64; !yield(project, err) || err != nil {
				return
			}
		}
	}
}

// dayStart returns the beginning of a day.
func dayStart(t time.Time) time.Time { return t.UTC().Truncate(24 * time.Hour) }

// keepLonger lets events come again that the rule keeps and that were too old before.
func (db *DB) keepLonger(ctx context.Context, rule *storage.EventExpiry) error {
	longer := make(map[int64]time.Time) // the new times, by project
	err := db.read(ctx, "SELECT project_id, kept_from FROM event_expiry", nil, eachPair(func(project, from int64) {
		if kept := rule.Of(project); kept.IsZero() || dayStart(kept).UnixMicro() < from {
			longer[project] = kept
		}
	}))
	if err != nil || len(longer) == 0 {
		return err
	}
	return db.atomic(ctx, func(t *tx) error {
		for _, project := range slices.Sorted(maps.Keys(longer)) {
			query, args := "DELETE FROM event_expiry WHERE project_id = ?", []any{project}
			if kept := longer[project]; !kept.IsZero() {
				query, args = "UPDATE event_expiry SET kept_from = ? WHERE project_id = ?", []any{dayStart(kept).UnixMicro(), project}
			}
			if _, err := t.exec(ctx, query, args...); err != nil {
				return err
			}
		}
		return nil
	})
}

// expire deletes some events of a project from before a day.
func (db *DB) expire(ctx context.Context, project int64, kept time.Time) (deleted int, err error) {
	day, param := db.d.days()
	old := false
	err = db.read(ctx, "SELECT ts FROM event WHERE project_id = ? AND "+day+" < "+param+" ORDER BY "+day+" LIMIT 1", []any{project, kept}, func(*sql.Rows) error {
		old = true
		return nil
	})
	if err != nil || !old {
		return 0, err
	}
	release, err := db.mutexes.lock(ctx, project)
	if err != nil {
		return 0, err
	}
	defer release()
	err = db.atomic(ctx, func(t *tx) error {
		if err := t.lock(ctx, project); err != nil {
			return err
		}
		// From now on, older events are not new any more.
		_, err := t.exec(ctx, `INSERT INTO event_expiry (project_id, kept_from) VALUES (?, ?)
			ON CONFLICT (project_id) DO UPDATE SET kept_from = excluded.kept_from`, project, kept.UnixMicro())
		if err != nil {
			return err
		}
		query := db.d.deleteSome("event", "id", "project_id = ? AND "+day+" < "+param+" ORDER BY "+day)
		var distinctIDs []string
		n, err := t.run(ctx, query+" RETURNING distinct_id", []any{project, kept, maxExpired}, appendTo(&distinctIDs))
		if err != nil {
			return err
		}
		deleted = int(n)
		slices.Sort(distinctIDs)
		if err := t.extendErased(ctx, project, slices.Compact(distinctIDs), kept); err != nil {
			return err
		}
		return t.afterEvents(ctx)
	})
	return deleted, err
}

// dropEmptyBlocks deletes blocks that have lost all of their events.
func (db *DB) dropEmptyBlocks(ctx context.Context) (more bool, err error) {
	const empty = "NOT EXISTS (SELECT 1 FROM event WHERE event.id >= event_block.first_id AND event.id <= event_block.last_id)"
	var ids []int64
	err = db.read(ctx, "SELECT first_id FROM event_block WHERE "+empty+" ORDER BY first_id LIMIT ?", []any{maxExpired}, appendTo(&ids))
	if err != nil || len(ids) == 0 {
		return false, err
	}
	err = db.atomic(ctx, func(t *tx) error {
		_, err := t.exec(ctx, "DELETE FROM event_block WHERE "+empty+" AND first_id IN (?)", ids)
		return err
	})
	return len(ids) == maxExpired, err
}

// expired reports which events are older than the events that ExpireEvents has deleted
// of their projects, nil if none is. Nobody can tell any more whether these were stored
// before, so that they are not stored. The projects are locked.
func (t *tx) expired(ctx context.Context, events []capture.Event) (list []bool, err error) {
	kept := make(map[int64]int64) // by project, in microseconds since 1970
	limit := time.Now().Add(-minExpiredAge)
	for i := range events {
		e := &events[i]
		if e.Time.After(limit) {
			continue
		}
		from, known := kept[e.Project]
		if !known {
			_, err := t.run(ctx, "SELECT kept_from FROM event_expiry WHERE project_id = ?", []any{e.Project}, scanTo(&from))
			if err != nil {
				return nil, err
			}
			kept[e.Project] = from
		}
		if from != 0 && e.Time.UnixMicro() < from {
			if list == nil {
				list = make([]bool, len(events))
			}
			list[i] = true
		}
	}
	return list, nil
}

// insertKept is insertEvents without the events that are too old, of which it returns which
// they are, nil if none is.
func (t *tx) insertKept(ctx context.Context, events []capture.Event, all bool) (fresh, old []bool, err error) {
	old, err = t.expired(ctx, events)
	if err != nil || old == nil {
		if err == nil {
			fresh, err = t.insertEvents(ctx, events, all)
		}
		return fresh, nil, err
	}
	var kept []capture.Event
	var places []int // of these among the events
	for i := range events {
		if !old[i] {
			kept, places = append(kept, events[i]), append(places, i)
		}
	}
	some, err := t.insertEvents(ctx, kept, all)
	fresh = make([]bool, len(events))
	for n, i := range places {
		fresh[i] = err == nil && (some == nil || some[n])
	}
	return fresh, old, err
}

// skippedEvents are events of a batch that were not stored.
type skippedEvents struct {
	repeated uint64
	tooOld   map[int64]int // by project
}

func skippedOf(events []capture.Event, fresh, old []bool) (s skippedEvents) {
	for i := range fresh {
		switch {
		case fresh[i]:
		case old == nil || !old[i]:
			s.repeated++
		default:
			if s.tooOld == nil {
				s.tooOld = make(map[int64]int)
			}
			s.tooOld[events[i].Project]++
		}
	}
	return s
}

// noteSkipped counts events that were not stored, and says so of what is lost: their
// clients are told that all is well.
func (db *DB) noteSkipped(ctx context.Context, s *skippedEvents) {
	db.repeated.Add(s.repeated)
	for _, project := range slices.Sorted(maps.Keys(s.tooOld)) {
		db.tooOld.Add(uint64(s.tooOld[project]))
		db.o.Log.WarnContext(ctx, "events are older than their project keeps them, and are not stored", "project", project, "events", s.tooOld[project])
	}
}

// SkippedEvents implements [sqlstore.Storage].
func (db *DB) SkippedEvents() (repeated, tooOld uint64) {
	return db.repeated.Load(), db.tooOld.Load()
}
