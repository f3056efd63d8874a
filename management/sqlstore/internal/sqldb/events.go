package sqldb

import (
	"context"
	"database/sql"
	"encoding/binary"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/cespare/xxhash/v2"
	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/capture/persons"
	"github.com/flagstaff-go/flagstaff/management/sqlstore"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// Write implements [capture.Sink]. If some of the events cannot be stored, the
// others are stored, in several transactions.
func (db *DB) Write(ctx context.Context, events []capture.Event) error {
	ctx, end := db.begin(ctx, sqlstore.WriteEvents)
	err := db.writePart(ctx, events, 0)
	end(err)
	return err
}

// writePart stores a part of the events. The index of the part's first event among all events
// is first; errors have indexes among all events.
func (db *DB) writePart(ctx context.Context, events []capture.Event, first int) error {
	if len(events) == 0 {
		return nil
	}
	err := db.write(ctx, events)
	if err == nil || db.d.Fault(err) != BadData {
		return db.fail(err)
	}
	if len(events) == 1 {
		return &capture.EventError{Index: first, Err: err}
	}
	// Halve the part until the faulty events are alone.
	half := len(events) / 2
	return errors.Join(db.writePart(ctx, events[:half], first), db.writePart(ctx, events[half:], first+half))
}

// write stores a part of the events and applies it, in one transaction.
func (db *DB) write(ctx context.Context, events []capture.Event) error {
	u, used := persons.NewUnit(events), false // prepared outside of the transaction, for the first try
	reported := storage.FlagCalls(events)
	calls := db.newCalls(reported)
	projects := projectsOf(events)
	release, err := db.mutexes.lock(ctx, projects...)
	if err != nil {
		return err
	}
	defer release()
	var (
		changes persons.Changes
		counted map[usageOf]usageOf
		skipped skippedEvents
		all     = true // assume that all events are new
	)
	store := func(t *tx) error {
		if used {
			u = persons.NewUnit(events)
		}
		used = true
		for _, project := range projects {
			if err := t.lock(ctx, project); err != nil {
				return err
			}
		}
		fresh, old, err := t.insertKept(ctx, events, all)
		if err != nil {
			return err
		}
		skipped = skippedOf(events, fresh, old)
		if err := t.load(ctx, u); err != nil {
			return err
		}
		for i := range events {
			if fresh == nil || fresh[i] {
				u.Apply(i)
			}
		}
		changes = u.Changes()
		if err := t.apply(ctx, &changes, events[0].Received); err != nil {
			return err
		}
		if err := t.noteCalls(ctx, calls); err != nil {
			return err
		}
		if counted, err = t.addFlagUsage(ctx, countCalls(events, reported, fresh)); err != nil {
			return err
		}
		if err := t.extendStored(ctx, events, fresh); err != nil {
			return err
		}
		return t.markIngested(ctx, events)
	}
	err = db.atomic(ctx, store)
	if errors.Is(err, errSeen) {
		all = false
		err = db.atomic(ctx, store)
	}
	// Entries are dropped after an error as well: a commit may have an unknown
	// outcome, and when the events are sent again, they are not new.
	db.caches.changed(&changes)
	if err != nil {
		return err
	}
	for _, c := range calls {
		db.flagCalls.Add(c.flagName, c.at)
	}
	for u, row := range counted {
		db.usage.Add(u, row)
	}
	db.noteSkipped(ctx, &skipped)
	for _, project := range projects {
		db.ingested.Store(project, true)
	}
	return nil
}

func projectsOf(events []capture.Event) []int64 {
	list := []int64{events[0].Project}
	for i := range events {
		if p := events[i].Project; p != list[len(list)-1] && !slices.Contains(list, p) {
			list = append(list, p)
		}
	}
	slices.Sort(list)
	return list
}

// hashOf returns the hash of the parts that identify an event besides project
// and UUID: date, name and distinct ID (wire.md §2.7).
func hashOf(e *capture.Event) int64 {
	var h xxhash.Digest
	h.Reset()
	var day [8]byte
	binary.LittleEndian.PutUint64(day[:], uint64(e.Time.Unix()/(24*60*60)))
	_, _ = h.Write(day[:])
	_, _ = h.WriteString(e.Name)
	_, _ = h.Write([]byte{0}) // neither text contains this byte
	_, _ = h.WriteString(e.DistinctID)
	return int64(h.Sum64())
}

// errSeen says that some of the events were stored before.
var errSeen = errors.New("sqlstore: an event was stored before")

// insertEvents stores events. Nearly always all of them are new. If all is
// true, insertEvents assumes so, and returns errSeen if they are not. Otherwise
// it returns which of them are new.
func (t *tx) insertEvents(ctx context.Context, events []capture.Event, all bool) (fresh []bool, err error) {
	columns := []column{
		columnOf("project_id", events, func(e *capture.Event) int64 { return e.Project }),
		columnOf("uuid", events, func(e *capture.Event) uuid.UUID { return e.UUID }),
		columnOf("hash", events, hashOf),
		columnOf("name", events, func(e *capture.Event) string { return e.Name }),
		columnOf("distinct_id", events, func(e *capture.Event) string { return e.DistinctID }),
		columnOf("ts", events, func(e *capture.Event) time.Time { return e.Time }),
		columnOf("received_at", events, func(e *capture.Event) time.Time { return e.Received }),
		columnOf("properties", events, func(e *capture.Event) string { return string(e.Properties) }),
	}
	// The target is the index event_once, so that PostgreSQL looks for
	// conflicts nowhere else.
	tail := "ON CONFLICT (project_id, ts / 86400000000, uuid, hash) DO NOTHING"
	if t.pg != nil {
		tail = "ON CONFLICT (project_id, ((ts AT TIME ZONE 'UTC')::date), uuid, hash) DO NOTHING"
	}
	if all {
		n, err := t.insert(ctx, "event", columns, tail, nil)
		if err == nil && n < int64(len(events)) {
			err = errSeen
		}
		return nil, err
	}
	type key struct {
		project int64
		id      uuid.UUID
		hash    int64
	}
	stored := make(map[key]bool)
	_, err = t.insert(ctx, "event", columns, tail+" RETURNING project_id, uuid, hash", func(r *sql.Rows) error {
		var k key
		err := r.Scan(&k.project, &k.id, &k.hash)
		stored[k] = true
		return err
	})
	if err != nil {
		return nil, err
	}
	fresh = make([]bool, len(events))
	for i := range events {
		k := key{events[i].Project, events[i].UUID, hashOf(&events[i])}
		fresh[i] = stored[k]
		delete(stored, k) // of two equal events in one batch, the first counts
	}
	return fresh, nil
}

// markIngested records that projects have events.
func (t *tx) markIngested(ctx context.Context, events []capture.Event) error {
	for _, project := range projectsOf(events) {
		if _, known := t.db.ingested.Load(project); known {
			continue
		}
		if _, err := t.exec(ctx, "UPDATE project SET ingested_event = ? WHERE id = ? AND ingested_event = ?", true, project, false); err != nil {
			return err
		}
	}
	return nil
}

// CanWrite implements [sqlstore.Storage]. The event is larger than a page, and
// belongs to no project.
func (db *DB) CanWrite(ctx context.Context) error {
	now := time.Now().UTC()
	events := []capture.Event{{
		UUID: capture.NewUUID(now), Name: "can write", Time: now, Received: now,
		Properties: json.RawMessage(`{"text":"` + strings.Repeat("x", 8<<10) + `"}`),
	}}
	return db.fail(db.atomic(ctx, func(t *tx) error {
		if _, err := t.insertEvents(ctx, events, true); err != nil {
			return err
		}
		_, err := t.exec(ctx, "DELETE FROM event WHERE project_id = ?", 0)
		return err
	}))
}
