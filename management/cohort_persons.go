package management

import (
	"cmp"
	"context"
	"slices"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/management/storage"
)

// ListCohortPersons returns a page of the members of a cohort: of a static one the
// newest persons first, of a dynamic one the oldest first. For the latter all
// persons of the project are evaluated, for each page anew. It needs scopes
// cohort:read and person:read.
func (s *Service) ListCohortPersons(ctx context.Context, p *Principal, ref, cohort string, limit, offset int) (*Page[*PersonView], error) {
	w, c, err := s.cohortAt(ctx, p, ref, cohort, "cohort:read", "person:read")
	if err != nil {
		return nil, err
	}
	switch {
	case c.Deleted:
		return nil, plainNotFound
	case s.c.Data == nil:
		return nil, errNoData
	case c.Static:
		list, total, err := s.c.Data.Persons(ctx, c.Project, storage.PersonFilter{Cohort: c.ID}, limit, offset)
		if err != nil {
			return nil, err
		}
		return &Page[*PersonView]{total, each(list, showPerson)}, nil
	}
	page, err := w.dynamicMembers(ctx, c, limit, offset)
	if err != nil {
		return nil, err
	}
	return &Page[*PersonView]{page.Total, each(page.Items, showPerson)}, nil
}

var errBehavioral = invalid("", "behavioral_cohort_found", "The cohort cannot be evaluated: it has behavioral criteria, or uses a cohort that has.")

func (w *work) dynamicMembers(ctx context.Context, c *storage.Cohort, limit, offset int) (*Page[storage.Person], error) {
	m, err := w.cohortMembership(ctx, []storage.Cohort{*c})
	if err != nil {
		return nil, err
	}
	if len(m.keys) == 0 {
		return nil, errBehavioral
	}
	page := new(Page[storage.Person])
	ids := []uuid.UUID{}
	err = w.eachMember(ctx, m, func(p *storage.Person, _ int) {
		if page.Total >= offset && len(ids) < limit {
			ids = append(ids, p.ID)
		}
		page.Total++
	})
	if err != nil || len(ids) == 0 {
		return page, err
	}
	// All their distinct IDs are shown.
	page.Items, _, err = w.c.Data.Persons(ctx, c.Project, storage.PersonFilter{IDs: ids}, len(ids), 0)
	slices.SortFunc(page.Items, func(a, b storage.Person) int { return cmp.Compare(a.ID.String(), b.ID.String()) })
	return page, err
}
