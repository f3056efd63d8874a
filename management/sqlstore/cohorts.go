package sqlstore

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/capture/persons"
	"github.com/flagstaff-go/flagstaff/management"
)

// AddCohortMembers implements [management.CohortMemberStore].
func (db *DB) AddCohortMembers(ctx context.Context, project, cohort int64, distinctIDs []string) (int, error) {
	const most = 10_000 // in one transaction, in which nobody else can write
	added := 0
	for len(distinctIDs) > 0 {
		part := distinctIDs[:min(len(distinctIDs), most)]
		distinctIDs = distinctIDs[len(part):]
		n, err := db.addCohortMembers(ctx, project, cohort, part)
		added += n
		if err != nil {
			return added, fmt.Errorf("add members of cohort %d: %w", cohort, db.fail(err))
		}
	}
	return added, nil
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
		type member = uuid.UUID
		added, err = t.insert(ctx, "cohort_member", []column{
			integers("project_id", members, func(*member) int64 { return project }),
			integers("cohort_id", members, func(*member) int64 { return cohort }),
			uuids(&db.d, "person_id", members, func(m *member) uuid.UUID { return *m }),
		}, "ON CONFLICT DO NOTHING", nil)
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
