package sqldb

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/capture/persons"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// DeletePerson implements [storage.Persons].
func (db *DB) DeletePerson(ctx context.Context, project int64, id uuid.UUID, events bool) error {
	var distinctIDs []string
	err := db.about(ctx, project, func(t *tx) (err error) {
		distinctIDs, err = t.deletePerson(ctx, project, id, events)
		return err
	}, func() { db.caches.forget(project, id, distinctIDs) })
	return wrap("delete a person", err)
}

// deletePerson deletes a person and returns its distinct IDs.
func (t *tx) deletePerson(ctx context.Context, project int64, id uuid.UUID, events bool) ([]string, error) {
	n, err := t.exec(ctx, "DELETE FROM person WHERE id = ? AND project_id = ?", id, project)
	if err != nil {
		return nil, err
	}
	if n == 0 {
		return nil, storage.ErrNotFound
	}
	err = t.all(ctx, []statement{
		{"DELETE FROM hash_key_override WHERE person_id = ?", []any{id}},
		{"DELETE FROM cohort_member WHERE person_id = ?", []any{id}},
	})
	if err != nil {
		return nil, err
	}
	var distinctIDs []string
	_, err = t.run(ctx, "DELETE FROM person_distinct_id WHERE person_id = ? RETURNING distinct_id", []any{id}, appendTo(&distinctIDs))
	if err == nil && events {
		if err = t.eraseEvents(ctx, project, distinctIDs); err == nil {
			err = t.extendErased(ctx, project, distinctIDs, time.Time{})
		}
	}
	return distinctIDs, err
}

// eraseEvents makes PurgeEvents delete the events of distinct IDs that are
// stored now; the lock keeps other writers of the project away. Distinct IDs
// that are already queued start again, because on SQLite newer events may have
// IDs that a search has passed.
func (t *tx) eraseEvents(ctx context.Context, project int64, distinctIDs []string) error {
	var last int64
	_, err := t.run(ctx, "SELECT coalesce(max(id), 0) FROM event", nil, scanTo(&last))
	if err != nil {
		return err
	}
	_, err = t.insert(ctx, "deleted_distinct_id", []column{
		columnOf("project_id", distinctIDs, func(*string) int64 { return project }),
		columnOf("distinct_id", distinctIDs, func(id *string) string { return *id }),
		columnOf("last_event", distinctIDs, func(*string) int64 { return last }),
	}, "ON CONFLICT (project_id, distinct_id) DO UPDATE SET last_event = excluded.last_event, search = 0", nil)
	return err
}

// forget drops the entries of a person that was deleted.
func (c *caches) forget(project int64, id uuid.UUID, distinctIDs []string) {
	for _, distinctID := range distinctIDs {
		c.ids.drop(persons.DistinctID{Project: project, ID: distinctID})
	}
	c.people.drop(id)
	c.rows.drop(id)
	c.member.drop(id)
}

// maxSearched is how many events a call of PurgeEvents searches. On SQLite,
// the search does not keep other processes from writing.
const maxSearched = 10_000

// A search looks for events of deleted persons, for all persons that are queued
// when it begins. Its number distinguishes it from a search that another
// process has ended and replaced in the meantime.
type search struct {
	number   int64 // 0 if the search has not begun
	searched int64 // last ID that was searched
	last     int64 // last ID to search
}

// sought is a condition for the events that a search, its parameter, must find.
// The OFFSET makes PostgreSQL check one event after the other: without it,
// PostgreSQL could read a range of events once for each distinct ID, if it
// assumes that these are few.
const sought = `EXISTS (SELECT 1 FROM deleted_distinct_id q WHERE q.project_id = event.project_id
	AND q.distinct_id = event.distinct_id AND q.search = ? AND event.id <= q.last_event LIMIT 1 OFFSET 0)`

// PurgeEvents implements [storage.Persons]. A call searches ten thousand
// events and deletes at most half as many. Several processes may call it at
// once, but they do the same work.
func (db *DB) PurgeEvents(ctx context.Context) (more bool, err error) {
	s, err := db.currentSearch(ctx)
	if err != nil {
		return false, fmt.Errorf("search for events of deleted persons: %w", err)
	}
	if s == nil {
		return false, nil
	}
	found, end, err := db.search(ctx, s)
	if err != nil {
		return false, fmt.Errorf("search for events of deleted persons: %w", err)
	}
	return db.purgeFound(ctx, s, found, end)
}

// currentSearch returns the running search or a new one, or nil if there is
// nothing to search for.
func (db *DB) currentSearch(ctx context.Context) (*search, error) {
	var s *search
	err := db.read(ctx, `SELECT search, searched, max(last_event) FROM deleted_distinct_id
		GROUP BY search, searched ORDER BY search DESC, searched DESC LIMIT 1`, nil, func(r *sql.Rows) error {
		s = new(search)
		return r.Scan(&s.number, &s.searched, &s.last)
	})
	if err != nil || s == nil || s.number > 0 {
		return s, err
	}
	return db.beginSearch(ctx)
}

// beginSearch begins a search for everything that is queued.
func (db *DB) beginSearch(ctx context.Context) (*search, error) {
	s := &search{number: 1 + rand.Int64N(math.MaxInt64)}
	err := db.atomic(ctx, func(t *tx) error {
		if _, err := t.exec(ctx, "UPDATE deleted_distinct_id SET search = ?, searched = 0 WHERE search = 0", s.number); err != nil {
			return err
		}
		_, err := t.run(ctx, "SELECT coalesce(max(last_event), 0) FROM deleted_distinct_id WHERE search = ?", []any{s.number}, scanTo(&s.last))
		return err
	})
	return s, db.fail(err)
}

// search returns events that a search finds, and the ID up to which these are
// all.
func (db *DB) search(ctx context.Context, s *search) (found []int64, end int64, err error) {
	looked := 0
	err = db.read(ctx, "SELECT coalesce(max(id), 0), count(*) FROM (SELECT id FROM event WHERE id > ? AND id <= ? ORDER BY id LIMIT ?) AS part",
		[]any{s.searched, s.last, maxSearched}, scanTo(&end, &looked))
	if err != nil {
		return nil, 0, err
	}
	if looked < maxSearched {
		end = s.last
	}
	err = db.read(ctx, "SELECT id FROM event WHERE id > ? AND id <= ? AND "+sought+" ORDER BY id LIMIT ?",
		[]any{s.searched, end, s.number, maxPurged}, appendTo(&found))
	if len(found) == maxPurged {
		end = found[maxPurged-1]
	}
	return found, end, err
}

// purgeFound deletes the events that a search has found, and stores its
// progress.
func (db *DB) purgeFound(ctx context.Context, s *search, found []int64, end int64) (more bool, err error) {
	err = db.atomic(ctx, func(t *tx) error {
		if err := t.purgeEvents(ctx, s.number, found); err != nil {
			return err
		}
		more, err = t.endSearch(ctx, s, end)
		return err
	})
	return more, wrap("delete events of deleted persons", db.fail(err))
}

// purgeEvents deletes events that a search has found, if it would still find
// them: on SQLite an ID may belong to another event by now.
func (t *tx) purgeEvents(ctx context.Context, search int64, found []int64) error {
	if len(found) == 0 {
		return nil
	}
	if _, err := t.exec(ctx, "DELETE FROM event WHERE "+sought+" AND id IN (?)", search, found); err != nil {
		return err
	}
	return t.afterEvents(ctx)
}

// endSearch stores the progress of a search, or that it has ended, and reports
// whether there is more to search for.
func (t *tx) endSearch(ctx context.Context, s *search, end int64) (more bool, err error) {
	err = t.all(ctx, []statement{
		{"UPDATE deleted_distinct_id SET searched = ? WHERE search = ? AND searched < ?", []any{end, s.number, end}},
		{"DELETE FROM deleted_distinct_id WHERE search = ? AND searched >= last_event", []any{s.number}},
	})
	if err != nil {
		return false, err
	}
	_, err = t.run(ctx, "SELECT EXISTS (SELECT 1 FROM deleted_distinct_id)", nil, scanTo(&more))
	return more, err
}

// afterEvents must be called after events were deleted. SQLite reuses the ID of
// the newest event when that event is deleted, and a new event with this ID
// must not be mistaken for one that existed before, nor be in a block that was
// made before. PostgreSQL never reuses an ID.
func (t *tx) afterEvents(ctx context.Context) error {
	if t.pg != nil {
		return nil
	}
	const last = "(SELECT coalesce(max(id), 0) FROM event)"
	return t.all(ctx, []statement{
		{"DELETE FROM event_block WHERE last_id > " + last, nil},
		{"UPDATE deleted_distinct_id SET last_event = " + last + " WHERE last_event > " + last, nil},
	})
}
