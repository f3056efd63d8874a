package management

import (
	"context"
	"maps"
	"slices"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// maxPersonEvents is how many events of a person are shown at most.
const maxPersonEvents = 100

// PersonEvents returns the newest events of a person, at most limit and at most
// maxPersonEvents. It needs scope person:read.
func (s *Service) PersonEvents(ctx context.Context, p *Principal, ref, id string, limit int) (*Results[*EventView], error) {
	w, person, err := s.personAt(ctx, p, ref, id, "person:read")
	if err != nil {
		return nil, err
	}
	list, _, err := s.c.Data.FindEvents(ctx, w.at.Project.ID, storage.EventFilter{Person: person.ID}, storage.EventPlace{}, min(max(limit, 1), maxPersonEvents))
	if err != nil {
		return nil, err
	}
	return &Results[*EventView]{each(list, showEvent)}, nil
}

// A PersonCohort is a cohort that a person is in.
type PersonCohort struct {
	ID     int64  `json:"id"`
	Name   string `json:"name"`
	Static bool   `json:"is_static"`
}

// PersonCohorts returns the cohorts that a person is in, the newest first: static ones
// that list the person, and dynamic ones whose criteria the person meets now. It needs
// scopes cohort:read and person:read.
func (s *Service) PersonCohorts(ctx context.Context, p *Principal, ref, id string) (*Results[PersonCohort], error) {
	w, person, err := s.personAt(ctx, p, ref, id, "cohort:read", "person:read")
	if err != nil {
		return nil, err
	}
	project := w.at.Project.ID
	list, err := w.store.Cohorts().List(ctx, storage.CohortProject.Is(project), storage.CohortDeleted.Is(false))
	if err != nil {
		return nil, err
	}
	m, err := w.cohortMembership(ctx, list)
	if err != nil {
		return nil, err
	}
	in := make([]bool, len(list))
	if len(person.DistinctIDs) > 0 {
		static, err := s.c.Data.AppendCohorts(ctx, nil, project, person.DistinctIDs[0])
		if err != nil {
			return nil, err
		}
		for i := range list {
			in[i] = list[i].Static && slices.Contains(static, list[i].ID)
		}
	}
	if len(m.keys) > 0 {
		results, err := s.evaluatePerson(ctx, new(flags.Input), project, m.snapshot, slices.Collect(maps.Keys(m.keys)), person)
		if err != nil {
			return nil, err
		}
		for key, i := range m.keys {
			in[i] = flagValue(results, key) == true
		}
	}
	out := &Results[PersonCohort]{Items: []PersonCohort{}}
	for i, c := range slices.Backward(list) {
		if in[i] {
			out.Items = append(out.Items, PersonCohort{c.ID, c.Name, c.Static})
		}
	}
	return out, nil
}
