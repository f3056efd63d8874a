package memstore

import (
	"bytes"
	"context"
	"iter"
	"slices"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/management"
)

// AllPersons implements [management.PersonStore].
func (s *Store) AllPersons(ctx context.Context, project int64) iter.Seq2[management.Person, error] {
	return func(yield func(management.Person, error) bool) {
		for _, id := range s.personIDs(project) {
			if err := ctx.Err(); err != nil {
				yield(management.Person{}, err)
				return
			}
			if p, ok := s.firstRecord(id); ok && !yield(p, nil) {
				return
			}
		}
	}
}

// personIDs returns the IDs of the persons of a project, in ascending order.
func (s *Store) personIDs(project int64) []uuid.UUID {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var ids []uuid.UUID
	for id, p := range s.people {
		if p.ids[0].Project == project { // each has some
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
	return ids
}

// firstRecord returns a person, if it still exists, with its first distinct ID.
func (s *Store) firstRecord(id uuid.UUID) (management.Person, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	p := s.people[id]
	if p == nil {
		return management.Person{}, false
	}
	first := p.ids[0].ID
	for _, id := range p.ids {
		first = min(first, id.ID)
	}
	return management.Person{ID: p.ID, DistinctIDs: []string{first}, Properties: p.Properties, Identified: p.Identified, Created: p.Created}, true
}
