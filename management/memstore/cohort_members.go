package memstore

import (
	"context"

	"github.com/google/uuid"
)

// AddCohortPersons implements [management.CohortMemberStore], as the following do.
func (s *Store) AddCohortPersons(_ context.Context, project, cohort int64, ids []uuid.UUID) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.init()
	members := s.members(project, cohort)
	before := len(members)
	for _, id := range ids {
		if _, err := s.person(project, id); err == nil {
			members[id] = true
		}
	}
	return len(members) - before, nil
}

// members returns the members of a cohort, to be changed; callers hold the lock.
func (s *Store) members(project, cohort int64) map[uuid.UUID]bool {
	key := cohortKey{project, cohort}
	if s.cohorts[key] == nil {
		s.cohorts[key] = make(map[uuid.UUID]bool)
	}
	return s.cohorts[key]
}

func (s *Store) RemoveCohortPersons(_ context.Context, project, cohort int64, ids []uuid.UUID) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	members := s.cohorts[cohortKey{project, cohort}]
	before := len(members)
	for _, id := range ids {
		delete(members, id)
	}
	return before - len(members), nil
}

func (s *Store) CountCohort(_ context.Context, project, cohort int64) (int, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return len(s.cohorts[cohortKey{project, cohort}]), nil
}
