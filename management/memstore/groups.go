package memstore

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"github.com/flagstaff-go/flagstaff/capture/persons"
	"github.com/flagstaff-go/flagstaff/management"
)

// group returns which group one with a type and a key is; callers hold the lock.
func (s *Store) group(project int64, typeIndex int, key string) (persons.Group, error) {
	if names := s.types[project]; typeIndex >= 0 && typeIndex < len(names) {
		g := persons.Group{GroupType: persons.GroupType{Project: project, Name: names[typeIndex]}, Key: key}
		if _, ok := s.groups[g]; ok {
			return g, nil
		}
	}
	return persons.Group{}, missing("group")
}

// Groups implements [management.PersonStore], as the following do.
func (s *Store) Groups(_ context.Context, project int64, typeIndex int, search string, limit, offset int) ([]management.Group, int, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var list []management.Group
	for i, name := range s.types[project] {
		for g, stored := range s.groups {
			if i == typeIndex && g.Project == project && g.Name == name && begins(g.Key, search) {
				list = append(list, management.Group{TypeIndex: i, Key: g.Key, Properties: stored.properties, Created: stored.created})
			}
		}
	}
	slices.SortFunc(list, func(a, b management.Group) int { return cmp.Compare(a.Key, b.Key) })
	return page(list, limit, offset), len(list), nil
}

func (s *Store) Group(_ context.Context, project int64, typeIndex int, key string) (*management.Group, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	g, err := s.group(project, typeIndex, key)
	if err != nil {
		return nil, err
	}
	stored := s.groups[g]
	return &management.Group{TypeIndex: typeIndex, Key: key, Properties: stored.properties, Created: stored.created}, nil
}

func (s *Store) UpdateGroup(_ context.Context, project int64, typeIndex int, key string, set map[string]json.RawMessage, unset []string) (*management.Group, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	g, err := s.group(project, typeIndex, key)
	if err != nil {
		return nil, err
	}
	stored := s.groups[g]
	properties, ok := persons.Update(stored.properties, set, unset)
	if !ok {
		return nil, management.ErrTooLarge
	}
	stored.properties = properties
	s.groups[g] = stored
	return &management.Group{TypeIndex: typeIndex, Key: key, Properties: properties, Created: stored.created}, nil
}

func (s *Store) DeleteGroup(_ context.Context, project int64, typeIndex int, key string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	g, err := s.group(project, typeIndex, key)
	if err != nil {
		return err
	}
	delete(s.groups, g)
	return nil
}
