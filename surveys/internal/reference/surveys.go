package reference

import (
	"bytes"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/capture/persons"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// Surveys has the captured events and the archived responses of all projects. The
// zero value has none. It serves one goroutine.
type Surveys struct {
	events   []capture.Event // each once, in the order in which they were stored
	seen     map[eventKey]bool
	persons  map[persons.DistinctID]*persons.Person // one person under each of its distinct IDs
	archived []archived
}

// An eventKey tells events apart (wire.md §2.7).
type eventKey struct {
	project    int64
	date       string
	name       string
	distinctID string
	uuid       uuid.UUID
}

type archived struct {
	project          int64
	survey, response uuid.UUID
}

// Write stores the events that are not stored yet.
func (s *Surveys) Write(events []capture.Event) {
	if s.seen == nil {
		s.seen = make(map[eventKey]bool)
	}
	s.apply(events, func(e *capture.Event) bool {
		key := eventKey{e.Project, e.Time.UTC().Format(time.DateOnly), e.Name, e.DistinctID, e.UUID}
		if s.seen[key] {
			return false
		}
		s.seen[key] = true
		stored := *e
		stored.Properties = bytes.Clone(e.Properties)
		s.events = append(s.events, stored)
		return true
	})
}

// AddPersons makes the persons of distinct IDs exist.
func (s *Surveys) AddPersons(project int64, distinctIDs []string) {
	s.apply(storage.IdentifyEvents(project, distinctIDs), func(*capture.Event) bool { return true })
}

// apply does to persons what those events do that are new.
func (s *Surveys) apply(events []capture.Event, isNew func(*capture.Event) bool) {
	u := persons.NewUnit(events)
	loaded := make(map[uuid.UUID]*persons.Loaded)
	for id := range u.DistinctIDs() {
		p := s.persons[id]
		if p == nil {
			continue
		}
		if loaded[p.ID] == nil {
			loaded[p.ID] = persons.Load(*p)
		}
		u.SetPerson(id, loaded[p.ID])
	}
	for i := range events {
		if isNew(&events[i]) {
			u.Apply(i)
		}
	}
	s.change(u.Changes())
}

// change makes of persons what a unit says they are.
func (s *Surveys) change(c persons.Changes) {
	if s.persons == nil {
		s.persons = make(map[persons.DistinctID]*persons.Person)
	}
	people := make(map[uuid.UUID]*persons.Person)
	for _, p := range s.persons {
		people[p.ID] = p
	}
	person := func(id uuid.UUID) *persons.Person {
		if people[id] == nil {
			people[id] = &persons.Person{ID: id}
		}
		return people[id]
	}
	for _, m := range c.Merges {
		for id, p := range s.persons {
			if p.ID == m.From {
				s.persons[id] = person(m.Into)
			}
		}
	}
	for _, l := range c.Links {
		s.persons[l.DistinctID] = person(l.Person)
	}
	for _, p := range c.Persons {
		*person(p.ID) = p.Person
	}
}

// Archive archives a response and reports whether it was not archived before, as
// a response of any survey of the project.
func (s *Surveys) Archive(project int64, survey, response uuid.UUID) bool {
	if slices.ContainsFunc(s.archived, func(a archived) bool { return a.project == project && a.response == response }) {
		return false
	}
	s.archived = append(s.archived, archived{project, survey, response})
	return true
}

// Unarchive takes a response back from the archive.
func (s *Surveys) Unarchive(project int64, survey, response uuid.UUID) {
	s.archived = slices.DeleteFunc(s.archived, func(a archived) bool { return a == archived{project, survey, response} })
}

// Archived returns the archived responses of a survey, in the order in which they
// were archived.
func (s *Surveys) Archived(project int64, survey uuid.UUID) []uuid.UUID {
	var list []uuid.UUID
	for _, a := range s.archived {
		if a.project == project && a.survey == survey {
			list = append(list, a.response)
		}
	}
	return list
}
