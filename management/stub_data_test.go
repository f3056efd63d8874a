package management_test

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/memstore"
)

// withData is for newWorld: there are persons. They are those of the store in
// memory; of what it cannot do yet dataStore does as much as tests need. When it
// can, this file shrinks to c.Data = c.Store.(*memstore.Store).
func withData(c *management.Config) { c.Data = &dataStore{c.Store.(*memstore.Store)} }

type dataStore struct{ *memstore.Store }

func (d *dataStore) all(ctx context.Context, project int64) (list []management.Person, err error) {
	for p, err := range d.AllPersons(ctx, project) {
		if err != nil {
			return nil, err
		}
		list = append([]management.Person{p}, list...)
	}
	return list, nil
}

func (d *dataStore) Persons(ctx context.Context, project int64, f management.PersonFilter, limit, offset int) ([]management.Person, int, error) {
	all, err := d.all(ctx, project)
	list := slices.DeleteFunc(all, func(p management.Person) bool {
		cohorts, _ := d.AppendCohorts(ctx, nil, project, p.DistinctIDs[0])
		return f.IDs != nil && !slices.Contains(f.IDs, p.ID) || f.Cohort != 0 && !slices.Contains(cohorts, f.Cohort)
	})
	page := list[min(offset, len(list)):]
	return page[:min(limit, len(page))], len(list), err
}

func (d *dataStore) distinctIDs(ctx context.Context, project int64, persons []uuid.UUID) (ids []string, err error) {
	list, _, err := d.Persons(ctx, project, management.PersonFilter{IDs: persons}, len(persons), 0)
	for _, p := range list {
		ids = append(ids, p.DistinctIDs...)
	}
	return ids, err
}

func (d *dataStore) AddCohortPersons(ctx context.Context, project, cohort int64, persons []uuid.UUID) (int, error) {
	ids, err := d.distinctIDs(ctx, project, persons)
	if err != nil {
		return 0, err
	}
	return d.AddCohortMembers(ctx, project, cohort, ids)
}

func (d *dataStore) RemoveCohortPersons(ctx context.Context, project, cohort int64, persons []uuid.UUID) (int, error) {
	ids, err := d.distinctIDs(ctx, project, persons)
	if err != nil {
		return 0, err
	}
	return d.RemoveCohortMembers(ctx, project, cohort, ids)
}

func (d *dataStore) CountCohort(ctx context.Context, project, cohort int64) (int, error) {
	_, n, err := d.Persons(ctx, project, management.PersonFilter{Cohort: cohort}, 0, 0)
	return n, err
}

func (d *dataStore) RecentDistinctIDs(ctx context.Context, project int64, limit int) (ids []string, err error) {
	var events []capture.Event
	for e, err := range d.Events(ctx, project) {
		if err != nil {
			return nil, err
		}
		events = append(events, e)
	}
	for _, e := range slices.Backward(events) {
		if len(ids) < limit && !slices.Contains(ids, e.DistinctID) {
			ids = append(ids, e.DistinctID)
		}
	}
	return ids, ctx.Err()
}

// groups returns the keys of groups by the names of their types, in order of
// appearance.
func (d *dataStore) groups(ctx context.Context, project int64) (names []string, keys map[string][]string) {
	keys = make(map[string][]string)
	for e := range d.Events(ctx, project) {
		var properties struct {
			Type string `json:"$group_type"`
			Key  string `json:"$group_key"`
		}
		if json.Unmarshal(e.Properties, &properties) != nil || properties.Type == "" {
			continue
		}
		if !slices.Contains(names, properties.Type) {
			names = append(names, properties.Type)
		}
		if !slices.Contains(keys[properties.Type], properties.Key) {
			keys[properties.Type] = append(keys[properties.Type], properties.Key)
		}
	}
	return names, keys
}

func (d *dataStore) GroupTypes(ctx context.Context, project int64) (map[int]string, error) {
	names, _ := d.groups(ctx, project)
	types := make(map[int]string)
	for i, name := range names {
		types[i] = name
	}
	return types, ctx.Err()
}

func (d *dataStore) Groups(ctx context.Context, project int64, typeIndex int, search string, limit, offset int) (list []management.Group, total int, err error) {
	names, keys := d.groups(ctx, project)
	for _, key := range keys[names[typeIndex]] {
		properties, err := d.AppendGroup(ctx, nil, project, names[typeIndex], key)
		if err != nil {
			return nil, 0, err
		}
		if strings.HasPrefix(key, search) {
			list = append(list, management.Group{TypeIndex: typeIndex, Key: key, Properties: properties})
		}
	}
	slices.SortFunc(list, func(a, b management.Group) int { return cmp.Compare(a.Key, b.Key) })
	page := list[min(offset, len(list)):]
	return page[:min(limit, len(page))], len(list), ctx.Err()
}
