package memstore

import (
	"context"
	"maps"
	"slices"

	"github.com/flagstaff-go/flagstaff/capture/persons"
)

// GroupTypes implements [management.FlagStore].
func (s *Store) GroupTypes(_ context.Context, project int64) (map[int]string, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return maps.Collect(slices.All(s.types[project])), nil
}

// GroupTypes implements [management.FlagStore].
func (t *transaction) GroupTypes(ctx context.Context, project int64) (map[int]string, error) {
	return t.store.GroupTypes(ctx, project)
}

// AddGroupTypes implements [management.PersonStore].
func (s *Store) AddGroupTypes(ctx context.Context, project int64, names []string) (map[int]string, error) {
	s.addGroupTypes(project, names)
	err := s.change(ctx, func(t *tables) error {
		t.bump(project)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return s.GroupTypes(ctx, project)
}

func (s *Store) addGroupTypes(project int64, names []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.init()
	for _, name := range names {
		if known := s.types[project]; len(known) < persons.MaxGroupTypes && !slices.Contains(known, name) {
			s.types[project] = append(slices.Clip(known), name)
		}
	}
}
