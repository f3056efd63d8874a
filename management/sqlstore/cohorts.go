package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/capture/persons"
	"github.com/flagstaff-go/flagstaff/management"
)

// AddCohortMembers implements [management.CohortMemberStore].
func (db *DB) AddCohortMembers(ctx context.Context, project, cohort int64, distinctIDs []string) (int, error) {
	return inParts(distinctIDs, func(part []string) (int, error) {
		n, err := db.addCohortMembers(ctx, project, cohort, part)
		if err != nil {
			return 0, fmt.Errorf("add members of cohort %d: %w", cohort, db.fail(err))
		}
		return n, nil
	})
}

// mostMembers is how many members of a cohort come or go in one transaction, in
// which nobody else can write.
const mostMembers = 10_000

// inParts calls f for parts of a list and returns the sum of what it returns.
func inParts[T any](list []T, f func([]T) (int, error)) (sum int, err error) {
	for part := range slices.Chunk(list, mostMembers) {
		n, err := f(part)
		sum += n
		if err != nil {
			return sum, err
		}
	}
	return sum, nil
}

func (db *DB) addCohortMembers(ctx context.Context, project, cohort int64, distinctIDs []string) (int, error) {
	sightings := management.Sightings(project, distinctIDs)
	if len(sightings) == 0 {
		return 0, nil
	}
	var changes persons.Changes
	var members []uuid.UUID
	var added int64
	err := db.atomic(ctx, func(t *tx) error {
		if err := t.lock(ctx, project); err != nil {
			return err
		}
		u := persons.NewUnit(sightings)
		if err := t.load(ctx, u); err != nil {
			return err
		}
		for i := range sightings {
			u.Apply(i)
		}
		changes = u.Changes()
		if err := t.apply(ctx, &changes, sightings[0].Received); err != nil {
			return err
		}
		var err error
		if members, err = t.personsOf(ctx, project, distinctIDs); err != nil {
			return err
		}
		added, err = t.addMembers(ctx, project, cohort, members)
		return err
	})
	db.caches.changed(&changes) // also after an error, whose outcome may be unknown
	for _, m := range members {
		db.caches.member.drop(m)
	}
	if err != nil {
		return 0, err
	}
	return int(added), nil
}

// addMembers makes persons members and returns how many were not.
func (t *tx) addMembers(ctx context.Context, project, cohort int64, members []uuid.UUID) (int64, error) {
	return t.insert(ctx, "cohort_member", []column{
		integers("project_id", members, func(*uuid.UUID) int64 { return project }),
		integers("cohort_id", members, func(*uuid.UUID) int64 { return cohort }),
		uuids(&t.db.d, "person_id", members, func(m *uuid.UUID) uuid.UUID { return *m }),
	}, "ON CONFLICT DO NOTHING", nil)
}

// personsOf returns the persons of distinct IDs, each once.
func (t *tx) personsOf(ctx context.Context, project int64, distinctIDs []string) ([]uuid.UUID, error) {
	seen := make(map[uuid.UUID]bool)
	var list []uuid.UUID
	err := t.in(ctx, "SELECT person_id FROM person_distinct_id WHERE project_id = ? AND distinct_id IN (?)", []any{project}, slice[string](distinctIDs), func(r *sql.Rows) error {
		var id uuid.UUID
		err := r.Scan(&id)
		if !seen[id] {
			seen[id] = true
			list = append(list, id)
		}
		return err
	})
	return list, err
}

// RemoveCohortMembers implements [management.CohortMemberStore].
func (db *DB) RemoveCohortMembers(ctx context.Context, project, cohort int64, distinctIDs []string) (int, error) {
	var members []uuid.UUID
	var removed int64
	err := db.atomic(ctx, func(t *tx) error {
		removed = 0
		var err error
		if members, err = t.personsOf(ctx, project, distinctIDs); err != nil {
			return err
		}
		for _, m := range members {
			n, err := t.exec(ctx, "DELETE FROM cohort_member WHERE project_id = ? AND cohort_id = ? AND person_id = ?", project, cohort, db.d.id(m))
			if err != nil {
				return err
			}
			removed += n
		}
		return nil
	})
	for _, m := range members {
		db.caches.member.drop(m)
	}
	if err != nil {
		return 0, fmt.Errorf("remove members of cohort %d: %w", cohort, db.fail(err))
	}
	return int(removed), nil
}

// AddCohortPersons implements [management.CohortMemberStore], as the following do.
func (db *DB) AddCohortPersons(ctx context.Context, project, cohort int64, ids []uuid.UUID) (int, error) {
	return inParts(ids, func(part []uuid.UUID) (int, error) {
		var added int64
		err := db.about(ctx, project, func(t *tx) error {
			members, err := t.existing(ctx, project, part)
			if err != nil {
				return err
			}
			added, err = t.addMembers(ctx, project, cohort, members)
			return err
		})
		return db.members(part, added, "add persons to", cohort, err)
	})
}

func (db *DB) RemoveCohortPersons(ctx context.Context, project, cohort int64, ids []uuid.UUID) (int, error) {
	return inParts(ids, func(part []uuid.UUID) (int, error) {
		var removed int64
		err := db.about(ctx, project, func(t *tx) error {
			removed = 0
			return t.in(ctx, "DELETE FROM cohort_member WHERE project_id = ? AND cohort_id = ? AND person_id IN (?) RETURNING 1",
				[]any{project, cohort}, t.db.d.keys(part), func(*sql.Rows) error { removed++; return nil })
		})
		return db.members(part, removed, "remove persons from", cohort, err)
	})
}

// members ends a change of the members of a cohort, of which n came or went.
func (db *DB) members(changed []uuid.UUID, n int64, verb string, cohort int64, err error) (int, error) {
	for _, id := range changed {
		db.caches.member.drop(id)
	}
	if err != nil { // whose outcome may be unknown
		return 0, fmt.Errorf("%s cohort %d: %w", verb, cohort, err)
	}
	return int(n), nil
}

func (db *DB) CountCohort(ctx context.Context, project, cohort int64) (int, error) {
	var n int
	err := db.read(ctx, "SELECT count(*) FROM cohort_member WHERE project_id = ? AND cohort_id = ?", []any{project, cohort}, func(r *sql.Rows) error {
		return r.Scan(&n)
	})
	return n, wrap("count members of a cohort", err)
}
