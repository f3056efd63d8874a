package memstore

import (
	"context"
	"maps"
	"time"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/capture/persons"
)

// PurgeProjects implements [management.ProjectPurger]. It deletes what belongs
// to one project.
func (s *Store) PurgeProjects(ctx context.Context, before time.Time) (more bool, err error) {
	due := func(d *deletion) bool { return d.at.Before(before) }
	list, err := all(ctx, s.tables().deleted, due)
	if err != nil || len(list) == 0 {
		return false, err
	}
	project := list[0].project
	s.purge(project)
	err = s.change(ctx, func(t *tables) error {
		t.deleted.remove(func(d *deletion) bool { return d.project == project })
		t.versions = maps.Clone(t.versions)
		delete(t.versions, project)
		return nil
	})
	return len(list) > 1, err
}

// purge deletes the events, persons, groups and cohort members of a project.
func (s *Store) purge(project int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.events, project)
	delete(s.types, project)
	maps.DeleteFunc(s.seen, func(k eventKey, _ bool) bool { return k.project == project })
	maps.DeleteFunc(s.groups, func(g persons.Group, _ group) bool { return g.Project == project })
	maps.DeleteFunc(s.deleted, func(id persons.DistinctID, _ int) bool { return id.Project == project })
	maps.DeleteFunc(s.cohorts, func(k cohortKey, _ map[uuid.UUID]bool) bool { return k.project == project })
	for id, p := range s.ids {
		if id.Project == project {
			delete(s.ids, id)
			delete(s.people, p.ID) // with its overrides
		}
	}
}
