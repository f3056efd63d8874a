package memstore

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/flagstaff-go/flagstaff/management"
)

// Cohort implements [management.CohortStore].
func (a *accounts) Cohort(ctx context.Context, project, id int64) (*management.Cohort, error) {
	return one(ctx, a.tables().cohorts, "cohort", isCohort(project, id))
}

// Cohorts implements [management.CohortStore].
func (a *accounts) Cohorts(ctx context.Context, project int64) ([]management.Cohort, error) {
	return all(ctx, a.tables().cohorts, func(c *management.Cohort) bool { return c.Project == project && !c.Deleted })
}

// CohortsToCount implements [management.CohortStore].
func (a *accounts) CohortsToCount(ctx context.Context, since time.Time) ([]management.Cohort, error) {
	list, err := all(ctx, a.tables().cohorts, func(c *management.Cohort) bool {
		return !c.Deleted && (c.Calculated == nil || c.Calculated.Before(since))
	})
	slices.SortStableFunc(list, func(a, b management.Cohort) int { return cmp.Compare(a.Project, b.Project) })
	return list, err
}

// CreateCohort implements [management.CohortStore].
func (a *accounts) CreateCohort(ctx context.Context, c *management.Cohort) error {
	return a.change(ctx, func(t *tables) error {
		row := *c
		row.ID = t.lastCohort + 1
		if err := t.admitCohort(&row); err != nil {
			return err
		}
		t.cohorts.add(row)
		t.lastCohort, c.ID = row.ID, row.ID
		t.bump(row.Project)
		return nil
	})
}

// UpdateCohort implements [management.CohortStore].
func (a *accounts) UpdateCohort(ctx context.Context, c *management.Cohort) error {
	return a.change(ctx, func(t *tables) error {
		if err := t.admitCohort(c); err != nil {
			return err
		}
		if t.cohorts.edit(isCohort(c.Project, c.ID), func(row *management.Cohort) { *row = *c }) == 0 {
			return missing("cohort")
		}
		t.bump(c.Project)
		return nil
	})
}

// SetCohortCount implements [management.CohortStore].
func (a *accounts) SetCohortCount(ctx context.Context, project, id int64, count *int, at time.Time) error {
	return a.change(ctx, func(t *tables) error {
		changed := t.cohorts.edit(isCohort(project, id), func(c *management.Cohort) { c.Count, c.Calculated = count, &at })
		if changed == 0 {
			return missing("cohort")
		}
		return nil
	})
}

func (t *tables) admitCohort(c *management.Cohort) error {
	if !t.projects.has(isProject(c.Project)) {
		return missing("project")
	}
	return t.needAuthors(c.CreatedBy)
}

func isCohort(project, id int64) func(*management.Cohort) bool {
	return func(c *management.Cohort) bool { return c.Project == project && c.ID == id }
}
