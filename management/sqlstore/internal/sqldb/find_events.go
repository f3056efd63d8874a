package sqldb

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

const (
	maxReadBytes = 8 << 20 // of the texts of events that are read at once
	blocksRead   = 256     // blocks whose filters are read at once
	eventsRead   = 50      // events of a page that are read at once
)

// An eventSearch is a search for events of one project.
type eventSearch struct {
	db      *DB
	project int64
	f       storage.EventFilter
	keys    []uint64 // a block without all of these has no event that the filter selects
	end     int64    // the last ID that blocks have

	where string // the conditions of the filter, for SQL
	args  []any
}

// newEventSearch returns nil if the filter can select nothing.
func (db *DB) newEventSearch(ctx context.Context, project int64, f storage.EventFilter) (*eventSearch, error) {
	s := &eventSearch{db: db, project: project, f: f}
	// The plus sign keeps databases from reading all events of the project by another
	// index.
	s.and("+project_id = ?", project)
	if f.Name != "" {
		s.and("name = ?", f.Name)
	}
	if f.DistinctID != "" {
		s.and("distinct_id = ?", f.DistinctID)
	}
	if !f.After.IsZero() {
		s.and("ts > ?", f.After)
	}
	if !f.Before.IsZero() {
		s.and("ts < ?", f.Before)
	}
	ids := []string{f.DistinctID}
	if f.Person != uuid.Nil {
		s.and(`distinct_id IN (SELECT distinct_id FROM person_distinct_id WHERE person_id = (SELECT id FROM person WHERE id = ? AND project_id = ?))`, f.Person, project)
		ids = nil
		err := db.read(ctx, "SELECT distinct_id FROM person_distinct_id WHERE person_id = (SELECT id FROM person WHERE id = ? AND project_id = ?)",
			[]any{f.Person, project}, eachValue(func(id string) {
				if f.DistinctID == "" || f.DistinctID == id {
					ids = append(ids, id)
				}
			}))
		if err != nil || len(ids) == 0 {
			return nil, err
		}
	}
	for _, id := range ids {
		s.keys = append(s.keys, blockKey(project, f.Name, id))
	}
	_, err := db.one(ctx, []any{&s.end}, "SELECT coalesce(max(last_id), 0) FROM event_block")
	return s, err
}

func (s *eventSearch) and(condition string, args ...any) {
	s.where += " AND " + condition
	s.args = append(s.args, args...)
}

// may reports whether a block may have an event that is searched for.
func (s *eventSearch) may(b *block) bool {
	return (s.f.After.IsZero() || b.newest > s.f.After.UnixMicro()) && (s.f.Before.IsZero() || b.oldest < s.f.Before.UnixMicro()) &&
		slices.ContainsFunc(s.keys, b.filter.has)
}

// FindEvents implements [storage.Events].
func (db *DB) FindEvents(ctx context.Context, project int64, f storage.EventFilter, from storage.EventPlace, limit int) ([]capture.Event, storage.EventPlace, error) {
	fail := func(err error) ([]capture.Event, storage.EventPlace, error) {
		return nil, storage.EventPlace{}, fmt.Errorf("find events: %w", err)
	}
	for {
		s, err := db.newEventSearch(ctx, project, f)
		if err != nil {
			return fail(err)
		}
		if s == nil {
			return nil, storage.EventPlace{}, nil
		}
		places, err := s.newest(ctx, from, limit+1)
		if err != nil {
			return fail(err)
		}
		var end int64
		if _, err := db.one(ctx, []any{&end}, "SELECT coalesce(max(last_id), 0) FROM event_block"); err != nil {
			return fail(err)
		}
		if end < s.end {
			continue // the newest events were deleted meanwhile, with their block
		}
		list, next, err := s.page(ctx, places, limit)
		if err != nil {
			return fail(err)
		}
		return list, next, nil
	}
}

// newest returns the places of the first events after a place, at most n.
func (s *eventSearch) newest(ctx context.Context, from storage.EventPlace, n int) ([]storage.EventPlace, error) {
	latest := int64(math.MaxInt64)
	if from.ID != 0 {
		latest = from.Time.UnixMicro()
		at := from.Time
		s.and("(ts < ? OR ts = ? AND id < ?)", at, at, from.ID)
	}
	places, err := s.places(ctx, nil, s.end+1, math.MaxInt64, n)
	if err != nil {
		return nil, err
	}
	// Blocks come by descending time of their newest event, so that the search ends when
	// no block can have an event as new as the last one that was found.
	before := block{newest: math.MaxInt64, first: math.MaxInt64}
	for {
		var blocks []block
		err := s.db.read(ctx, `SELECT first_id, last_id, oldest, newest, filter FROM event_block
			WHERE newest <= ? AND (newest < ? OR first_id < ?) AND oldest <= ? AND last_id <= ? ORDER BY newest DESC, first_id DESC LIMIT ?`,
			[]any{before.newest, before.newest, before.first, latest, s.end, blocksRead}, scanBlock(&blocks))
		if err != nil {
			return nil, err
		}
		for i := range blocks {
			b := &blocks[i]
			if len(places) == n && places[n-1].Time.UnixMicro() > b.newest || !s.f.After.IsZero() && b.newest <= s.f.After.UnixMicro() {
				return places, nil
			}
			if !s.may(b) {
				continue
			}
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			if places, err = s.places(ctx, places, b.first, b.last, n); err != nil {
				return nil, err
			}
		}
		if len(blocks) < blocksRead {
			return places, nil
		}
		before = blocks[len(blocks)-1]
	}
}

func scanBlock(list *[]block) func(*sql.Rows) error {
	return rowsTo(list, func(b *block) []any { return []any{&b.first, &b.last, &b.oldest, &b.newest, (*[]byte)(&b.filter)} })
}

// places adds the events with some IDs to the first n places.
func (s *eventSearch) places(ctx context.Context, list []storage.EventPlace, first, last int64, n int) ([]storage.EventPlace, error) {
	args := append(append([]any{first, last}, s.args...), n)
	err := s.db.read(ctx, "SELECT id, ts FROM event WHERE id >= ? AND id <= ?"+s.where+" ORDER BY ts DESC, id DESC LIMIT ?", args, rowsTo(&list, func(p *storage.EventPlace) []any {
		return []any{&p.ID, moment{&p.Time}}
	}))
	slices.SortFunc(list, func(a, b storage.EventPlace) int { return cmp.Or(b.Time.Compare(a.Time), cmp.Compare(b.ID, a.ID)) })
	return list[:min(len(list), n)], err
}

const eventColumns = "uuid, name, distinct_id, ts, received_at, properties"

func scanEvent(r *sql.Rows, e *capture.Event, more ...any) error {
	return r.Scan(append([]any{&e.UUID, &e.Name, &e.DistinctID, moment{&e.Time}, moment{&e.Received}, document{&e.Properties}}, more...)...)
}

func textBytes(e *capture.Event) int { return len(e.Name) + len(e.DistinctID) + len(e.Properties) }

// page reads the events at the first places, at most limit, and fewer if they are large.
// There are more events if there are more places.
func (s *eventSearch) page(ctx context.Context, places []storage.EventPlace, limit int) (list []capture.Event, next storage.EventPlace, err error) {
	size, more := 0, len(places) > limit
	places = places[:min(len(places), limit)]
	for first := 0; first < len(places); first += eventsRead {
		part := places[first:min(first+eventsRead, len(places))]
		found := make(map[int64]capture.Event, len(part))
		ids := collect(part, func(p *storage.EventPlace) int64 { return p.ID })
		err := s.db.read(ctx, "SELECT "+eventColumns+", id FROM event WHERE id IN (?)", []any{ids}, func(r *sql.Rows) error {
			e, id := capture.Event{Project: s.project}, int64(0)
			err := scanEvent(r, &e, &id)
			found[id] = e
			return err
		})
		if err != nil {
			return nil, next, err
		}
		for i, p := range part {
			e, ok := found[p.ID]
			if !ok {
				continue // deleted meanwhile
			}
			if size += textBytes(&e); size > maxReadBytes && len(list) > 0 {
				return list, places[first+i-1], nil
			}
			list = append(list, e)
		}
	}
	if more {
		next = places[len(places)-1]
	}
	return list, next, nil
}

// AllEvents implements [storage.Events].
func (db *DB) AllEvents(ctx context.Context, project int64, f storage.EventFilter) iter.Seq2[capture.Event, error] {
	return func(yield func(capture.Event, error) bool) {
		err := db.eachEvent(ctx, project, f, func(e capture.Event) bool { return yield(e, nil) })
		if err != nil {
			yield(capture.Event{}, fmt.Errorf("read events: %w", err))
		}
	}
}

// eachEvent calls yield with the events that a filter selects until it returns false.
func (db *DB) eachEvent(ctx context.Context, project int64, f storage.EventFilter, yield func(capture.Event) bool) error {
	s, err := db.newEventSearch(ctx, project, f)
	if err != nil || s == nil {
		return err
	}
	var last int64
	if _, err := db.one(ctx, []any{&last}, "SELECT coalesce(max(id), 0) FROM event"); err != nil {
		return err
	}
	covered := int64(0) // by blocks, up to this ID
	for {
		var blocks []block
		err := db.read(ctx, "SELECT first_id, last_id, oldest, newest, filter FROM event_block WHERE first_id > ? AND last_id <= ? ORDER BY first_id LIMIT ?",
			[]any{covered, last, blocksRead}, scanBlock(&blocks))
		if err != nil {
			return err
		}
		for i := range blocks {
			b := &blocks[i]
			covered = b.last
			if !s.may(b) {
				continue
			}
			if goOn, err := s.between(ctx, b.first, b.last, yield); err != nil || !goOn {
				return err
			}
		}
		if len(blocks) < blocksRead {
			break
		}
	}
	_, err = s.between(ctx, covered+1, last, yield)
	return err
}

// errEnough ends the reading of rows.
var errEnough = errors.New("sqlstore: enough rows")

// between calls yield with the events with some IDs, in parts, and holds nothing of the
// database meanwhile. It reports whether yield wants more.
func (s *eventSearch) between(ctx context.Context, first, last int64, yield func(capture.Event) bool) (bool, error) {
	for {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		// There may be no events for long.
		if _, err := s.db.one(ctx, []any{&first}, "SELECT coalesce(min(id), ?) FROM event WHERE id >= ?", last+1, first); err != nil {
			return false, err
		}
		if first > last {
			return true, nil
		}
		// On SQLite, a query cannot be interrupted, so that it must not search for long.
		until := last
		if last-first >= 8*blockEvents {
			until = first + 8*blockEvents - 1
		}
		var list []capture.Event
		next, size := until+1, 0
		err := s.db.each(ctx, "SELECT "+eventColumns+", id FROM event WHERE id >= ? AND id <= ?"+s.where+" ORDER BY id", append([]any{first, until}, s.args...), func(r *sql.Rows) error {
			e, id := capture.Event{Project: s.project}, int64(0)
			err := scanEvent(r, &e, &id)
			list = append(list, e)
			if size += textBytes(&e); err == nil && size > maxReadBytes {
				next, err = id+1, errEnough
			}
			return err
		})
		if err != nil && err != errEnough {
			return false, s.db.fail(err)
		}
		for i := range list {
			if !yield(list[i]) {
				return false, nil
			}
		}
		first = next
	}
}

// EventByUUID implements [storage.Events]. The index event_once has the UUIDs by
// day, and there are few days.
func (db *DB) EventByUUID(ctx context.Context, project int64, id uuid.UUID) (*capture.Event, error) {
	day, param := db.d.days()
	before := time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC) // all events are of earlier years
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		at, found, err := db.dayBefore(ctx, project, before)
		if err != nil {
			return nil, fmt.Errorf("find an event: %w", err)
		}
		if !found {
			return nil, storage.ErrNotFound
		}
		before = at
		var e *capture.Event
		query := strings.Join([]string{"SELECT", eventColumns, "FROM event WHERE project_id = ? AND", day, "=", param, "AND uuid = ? ORDER BY hash LIMIT 1"}, " ")
		err = db.read(ctx, query, []any{project, before, id}, func(r *sql.Rows) error {
			e = &capture.Event{Project: project}
			return scanEvent(r, e)
		})
		if err != nil || e != nil {
			return e, wrap("find an event", err)
		}
	}
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

// PersonIDs implements [storage.Events].
func (db *DB) PersonIDs(ctx context.Context, project int64, distinctIDs []string) (map[string]uuid.UUID, error) {
	found := make(map[string]uuid.UUID)
	err := db.read(ctx, "SELECT distinct_id, person_id FROM person_distinct_id WHERE project_id = ? AND distinct_id IN (?)", []any{project, distinctIDs}, pairsTo(found))
	return found, wrap("find persons", err)
}

// Bounds of RecentDistinctIDs: the number of pages of events that it reads, and the number of
// events of a page.
const (
	recentPages  = 60
	recentEvents = 500
)

// RecentDistinctIDs implements [storage.Persons].
func (db *DB) RecentDistinctIDs(ctx context.Context, project int64, limit int) (list []string, since time.Time, err error) {
	seen := make(map[string]bool)
	var from storage.EventPlace
	for range recentPages {
		places, ids, err := db.recent(ctx, project, from)
		if err != nil {
			return nil, time.Time{}, fmt.Errorf("read recent distinct IDs: %w", err)
		}
		for _, from = range places {
			if id, ok := ids[from.ID]; ok && len(list) < limit && !seen[id] {
				seen[id] = true
				list, since = append(list, id), from.Time
			}
		}
		if len(places) < recentEvents || len(list) >= limit {
			break
		}
	}
	return list, since, nil
}

// recent returns the next page of RecentDistinctIDs, with the distinct IDs of its events. It does
// not read their properties, which can be large.
func (db *DB) recent(ctx context.Context, project int64, from storage.EventPlace) (places []storage.EventPlace, ids map[int64]string, err error) {
	s, err := db.newEventSearch(ctx, project, storage.EventFilter{})
	if err == nil {
		places, err = s.newest(ctx, from, recentEvents)
	}
	if err != nil {
		return nil, nil, err
	}
	ids = make(map[int64]string, len(places))
	read := collect(places, func(p *storage.EventPlace) int64 { return p.ID })
	return places, ids, db.read(ctx, "SELECT id, distinct_id FROM event WHERE id IN (?)", []any{read}, pairsTo(ids))
}
