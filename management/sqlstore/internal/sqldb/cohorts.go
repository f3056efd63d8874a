package sqldb

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/capture/persons"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// AddCohortMembers implements [storage.CohortMembers].
func (db *DB) AddCohortMembers(
	ctx context.Context, project, cohort int64, upload uuid.UUID, distinctIDs []string,
) (added, unknown int, err error) {
	added, err = inParts(distinctIDs, func(part []string) (int, error) {
		n, links, err := db.addCohortMembers(ctx, project, cohort, upload, part)
		unknown += links
		return n, err
	})
	return added, unknown, err
}

// maxMembers is how many members of a cohort are added or removed in one
// transaction. No other process can write during the transaction.
const maxMembers = 10_000

// inParts calls f for parts of a list and returns the sum of its results.
func inParts[T any](list []T, f func([]T) (int, error)) (sum int, err error) {
	for part := range slices.Chunk(list, maxMembers) {
		n, err := f(part)
		sum += n
		if err != nil {
			return sum, err
		}
	}
	return sum, nil
}

// addCohortMembers is AddCohortMembers in one transaction.
func (db *DB) addCohortMembers(
	ctx context.Context, project, cohort int64, upload uuid.UUID, distinctIDs []string,
) (_, unknown int, err error) {
	events := storage.IdentifyEvents(project, distinctIDs)
	if len(events) == 0 {
		return 0, 0, nil
	}
	var changes persons.Changes
	var members []uuid.UUID
	var added int64
	err = db.about(ctx, project, func(t *tx) error {
		u := persons.NewUnit(events)
		if err := t.load(ctx, u); err != nil {
			return err
		}
		for i := range events {
			u.Apply(i)
		}
		changes = u.Changes()
		if err := t.apply(ctx, &changes, events[0].Received); err != nil {
			return err
		}
		var err error
		if members, err = t.personsOf(ctx, project, distinctIDs); err != nil {
			return err
		}
		added, err = t.addMembers(ctx, project, cohort, upload, members)
		return err
	}, func() {
		db.caches.changed(&changes)
		db.caches.memberships(members)
	})
	if err != nil {
		return 0, 0, fmt.Errorf("add members of cohort %d: %w", cohort, err)
	}
	return int(added), len(changes.Links), nil
}

// memberships drops the cohorts of persons.
func (c *caches) memberships(persons []uuid.UUID) {
	for _, id := range persons {
		c.member.drop(id)
	}
}

// addMembers makes persons members, by a list if upload is not nil, and returns the number
// of new members.
func (t *tx) addMembers(ctx context.Context, project, cohort int64, upload uuid.UUID, members []uuid.UUID) (int64, error) {
	columns := []column{
		columnOf("project_id", members, func(*uuid.UUID) int64 { return project }),
		columnOf("cohort_id", members, func(*uuid.UUID) int64 { return cohort }),
		columnOf("person_id", members, func(m *uuid.UUID) uuid.UUID { return *m }),
	}
	if upload != uuid.Nil {
		columns = append(columns, columnOf("upload_id", members, func(*uuid.UUID) uuid.UUID { return upload }))
	}
	return t.insert(ctx, "cohort_member", columns, "ON CONFLICT DO NOTHING", nil)
}

// personsOf returns the persons of distinct IDs, each once.
func (t *tx) personsOf(ctx context.Context, project int64, distinctIDs []string) ([]uuid.UUID, error) {
	seen := make(map[uuid.UUID]bool)
	var list []uuid.UUID
	_, err := t.run(ctx, "SELECT person_id FROM person_distinct_id WHERE project_id = ? AND distinct_id IN (?)", []any{project, distinctIDs}, eachValue(func(id uuid.UUID) {
		if !seen[id] {
			seen[id] = true
			list = append(list, id)
		}
	}))
	return list, err
}

// removeMembers removes the persons that f returns from a cohort, and returns
// the number of members among them.
func (db *DB) removeMembers(ctx context.Context, project, cohort int64, f func(*tx) ([]uuid.UUID, error)) (int, error) {
	var members []uuid.UUID
	var removed int64
	err := db.about(ctx, project, func(t *tx) (err error) {
		if members, err = f(t); err != nil {
			return err
		}
		removed, err = t.exec(ctx, "DELETE FROM cohort_member WHERE project_id = ? AND cohort_id = ? AND person_id IN (?)", project, cohort, members)
		return err
	}, func() { db.caches.memberships(members) })
	if err != nil {
		return 0, fmt.Errorf("remove members of cohort %d: %w", cohort, err)
	}
	return int(removed), nil
}

// AddCohortPersons implements [storage.CohortMembers], as do the methods below.
func (db *DB) AddCohortPersons(ctx context.Context, project, cohort int64, ids []uuid.UUID) (int, error) {
	return inParts(ids, func(part []uuid.UUID) (int, error) {
		var added int64
		err := db.about(ctx, project, func(t *tx) error {
			members, err := t.existing(ctx, project, part)
			if err != nil {
				return err
			}
			added, err = t.addMembers(ctx, project, cohort, uuid.Nil, members)
			return err
		}, func() { db.caches.memberships(part) })
		if err != nil {
			return 0, fmt.Errorf("add members of cohort %d: %w", cohort, err)
		}
		return int(added), nil
	})
}

func (db *DB) RemoveCohortPersons(ctx context.Context, project, cohort int64, ids []uuid.UUID) (int, error) {
	return inParts(ids, func(part []uuid.UUID) (int, error) {
		return db.removeMembers(ctx, project, cohort, func(*tx) ([]uuid.UUID, error) { return part, nil })
	})
}

func (db *DB) RemoveCohortUpload(ctx context.Context, project, cohort int64, upload uuid.UUID) (removed int, err error) {
	const query = "SELECT person_id FROM cohort_member WHERE project_id = ? AND cohort_id = ? AND upload_id = ? LIMIT ?"
	for {
		n, err := db.removeMembers(ctx, project, cohort, func(t *tx) (members []uuid.UUID, err error) {
			_, err = t.run(ctx, query, []any{project, cohort, upload, maxMembers}, appendTo(&members))
			return members, err
		})
		if removed += n; err != nil || n < maxMembers {
			return removed, err
		}
	}
}

func (db *DB) CountCohort(ctx context.Context, project, cohort int64) (int, error) {
	n, err := db.count(ctx, "SELECT count(*) FROM cohort_member WHERE project_id = ? AND cohort_id = ?", project, cohort)
	return n, wrap("count members of a cohort", err)
}

var cohorts = newTable(table[storage.Cohort]{
	name: "cohort", noun: "a cohort", key: 2, serial: true, given: true,
	order: "project_id, id", touches: []string{"count", "last_calculation"},
	project: func(c *storage.Cohort) int64 { return c.Project },
	fields: func(c *storage.Cohort) []field {
		return []field{
			{"id", &c.ID},
			{"project_id", &c.Project},
			{"name", &c.Name},
			{"description", &c.Description},
			{"filters", criteria{&c.Criteria, &c.ID}},
			{"is_static", &c.Static},
			{"deleted", &c.Deleted},
			{"count", &c.Count},
			{"last_calculation", maybeMoment{&c.Calculated}},
			{"created_by", &c.CreatedBy},
			{"created_at", moment{&c.Created}},
		}
	},
})

// Cohorts implements [storage.Store].
func (a *accounts) Cohorts() storage.Table[storage.Cohort] { return cohorts.of(a) }
