package sqldb

import (
	"context"
	"time"

	"github.com/flagstaff-go/flagstaff/management/storage"
)

var cohorts = newTable(table[storage.Cohort]{
	name: "cohort", noun: "a cohort", key: 2, serial: true, given: true,
	fields: func(d *Dialect, c *storage.Cohort) []field {
		return []field{
			{"id", &c.ID},
			{"project_id", &c.Project},
			{"name", &c.Name},
			{"description", &c.Description},
			{"filters", criteria{&c.Criteria, &c.ID}},
			{"is_static", &c.Static},
			{"deleted", &c.Deleted},
			{"count", &c.Count},
			{"last_calculation", maybeStamp{d, &c.Calculated}},
			{"created_by", &c.CreatedBy},
			{"created_at", stamp{d, &c.Created}},
		}
	},
})

// Cohort implements [storage.Cohorts], as do the methods below.
func (a *accounts) Cohort(ctx context.Context, project, id int64) (*storage.Cohort, error) {
	return cohorts.one(ctx, a, "WHERE id = ? AND project_id = ?", id, project)
}

func (a *accounts) Cohorts(ctx context.Context, project int64) ([]storage.Cohort, error) {
	return cohorts.list(ctx, a, "WHERE project_id = ? AND deleted = false ORDER BY id", project)
}

func (a *accounts) CreateCohort(ctx context.Context, c *storage.Cohort) error {
	return a.alter(ctx, c.Project, func(a *accounts) error {
		if err := cohorts.keepIDs(ctx, a, &c.ID); err != nil {
			return err
		}
		return cohorts.insert(ctx, a, c)
	})
}

func (a *accounts) UpdateCohort(ctx context.Context, c *storage.Cohort) error {
	return a.alter(ctx, c.Project, func(a *accounts) error { return cohorts.update(ctx, a, c) })
}

func (a *accounts) CohortsToCount(ctx context.Context, since time.Time) ([]storage.Cohort, error) {
	return cohorts.list(ctx, a, "WHERE deleted = false AND (last_calculation IS NULL OR last_calculation < ?) ORDER BY project_id, id", a.db.d.time(since))
}

func (a *accounts) SetCohortCount(ctx context.Context, project, id int64, count *int, at time.Time) error {
	n, err := a.exec(ctx, "UPDATE cohort SET count = ?, last_calculation = ? WHERE id = ? AND project_id = ?", count, a.db.d.time(at), id, project)
	if err == nil && n == 0 {
		err = storage.ErrNotFound
	}
	return wrap("count a cohort", err)
}
