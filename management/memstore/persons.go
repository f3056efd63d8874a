package memstore

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/capture/persons"
	"github.com/flagstaff-go/flagstaff/management"
)

// project is the project of a person: that of its distinct IDs, of which each has
// some.
func (p *person) project() int64 { return p.ids[0].Project }

// record is a person as others see it.
func (p *person) record() *management.Person {
	r := &management.Person{ID: p.ID, Properties: p.Properties, Identified: p.Identified, Created: p.Created}
	for _, id := range p.ids {
		r.DistinctIDs = append(r.DistinctIDs, id.ID)
	}
	slices.Sort(r.DistinctIDs)
	return r
}

// person returns a person of a project; callers hold the lock.
func (s *Store) person(project int64, id uuid.UUID) (*person, error) {
	p := s.people[id]
	if p == nil || p.project() != project {
		return nil, missing("person")
	}
	return p, nil
}

// Person implements [management.PersonStore], as the following do.
func (s *Store) Person(_ context.Context, project int64, id uuid.UUID) (*management.Person, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	p, err := s.person(project, id)
	if err != nil {
		return nil, err
	}
	return p.record(), nil
}

func (s *Store) PersonByDistinctID(_ context.Context, project int64, distinctID string) (*management.Person, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	p := s.ids[persons.DistinctID{Project: project, ID: distinctID}]
	if p == nil {
		return nil, missing("person")
	}
	return p.record(), nil
}

func (s *Store) Persons(_ context.Context, project int64, f management.PersonFilter, limit, offset int) ([]management.Person, int, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	members := s.cohorts[cohortKey{project, f.Cohort}]
	has := func(p *person, selected func(id string) bool) bool {
		return slices.ContainsFunc(p.ids, func(id persons.DistinctID) bool { return selected(id.ID) })
	}
	var list []management.Person
	for _, p := range s.people {
		if p.project() == project &&
			(f.DistinctID == "" || has(p, func(id string) bool { return id == f.DistinctID })) &&
			(f.Search == "" || has(p, func(id string) bool { return begins(id, f.Search) })) &&
			(f.IDs == nil || slices.Contains(f.IDs, p.ID)) &&
			(f.Cohort == 0 || members[p.ID]) {
			list = append(list, *p.record())
		}
	}
	slices.SortFunc(list, func(a, b management.Person) int { return bytes.Compare(b.ID[:], a.ID[:]) })
	return page(list, limit, offset), len(list), nil
}

// begins reports whether a text begins with a prefix of whole characters.
func begins(text, prefix string) bool {
	return strings.HasPrefix(text, prefix) && utf8.ValidString(prefix)
}

func (s *Store) UpdatePerson(_ context.Context, project int64, id uuid.UUID, set map[string]json.RawMessage, unset []string) (*management.Person, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, err := s.person(project, id)
	if err != nil {
		return nil, err
	}
	properties, ok := persons.Update(p.Properties, set, unset)
	if !ok {
		return nil, management.ErrTooLarge
	}
	p.Properties = properties
	return p.record(), nil
}

func (s *Store) DeletePerson(_ context.Context, project int64, id uuid.UUID, events bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, err := s.person(project, id)
	if err != nil {
		return err
	}
	for _, id := range p.ids {
		delete(s.ids, id)
		if events {
			s.deleted[id] = len(s.events[project])
		}
	}
	for _, members := range s.cohorts {
		delete(members, id)
	}
	delete(s.people, id)
	return nil
}

func (s *Store) PurgeEvents(ctx context.Context) (more bool, err error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	projects := make(map[int64]bool)
	for id := range s.deleted {
		projects[id.Project] = true
	}
	for project := range projects {
		var kept []capture.Event
		for i, e := range s.events[project] {
			if i >= s.deleted[persons.DistinctID{Project: project, ID: e.DistinctID}] {
				kept = append(kept, e)
			} else {
				delete(s.seen, keyOf(&e))
			}
		}
		s.events[project] = kept
	}
	clear(s.deleted)
	return false, nil
}

func (s *Store) RecentDistinctIDs(_ context.Context, project int64, limit int) ([]string, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	events := slices.Clone(s.events[project])
	slices.SortStableFunc(events, func(a, b capture.Event) int { return b.Time.Compare(a.Time) })
	var list []string
	seen := make(map[string]bool)
	for _, e := range events {
		if len(list) >= limit {
			break
		}
		if !seen[e.DistinctID] {
			seen[e.DistinctID] = true
			list = append(list, e.DistinctID)
		}
	}
	return list, nil
}
