package memstore

import (
	"bytes"
	"context"
	"encoding/json"
	"iter"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/capture/persons"
	"github.com/flagstaff-go/flagstaff/management"
)

// A Store keeps everything in memory. The zero value is empty and ready. All
// methods are safe for concurrent use.
type Store struct {
	accounts
	throttle
	leaders

	mu sync.RWMutex // for all that follows

	used   map[usageKey]int64
	limits map[usageKey]int64 // period ""

	events  map[int64][]capture.Event
	seen    map[eventKey]bool
	ids     map[persons.DistinctID]*person
	people  map[uuid.UUID]*person
	types   map[int64][]string
	groups  map[persons.Group]group
	cohorts map[cohortKey]map[uuid.UUID]bool

	// deleted are distinct IDs of persons who were deleted with their events:
	// how many events of the project are concerned, the first ones.
	deleted map[persons.DistinctID]int
}

var (
	_ capture.Sink             = (*Store)(nil)
	_ management.Store         = (*Store)(nil)
	_ management.ProjectPurger = (*Store)(nil)
	_ management.ChangeStore   = (*Store)(nil)
	_ management.Leader        = (*Store)(nil)
	_ management.DataStore     = (*Store)(nil)
	_ management.UsageStore    = (*Store)(nil)
)

type usageKey struct{ organization, resource, period string }

type cohortKey struct{ project, cohort int64 }

// An eventKey tells events apart (wire.md §2.7).
type eventKey struct {
	project    int64
	date       string
	name       string
	distinctID string
	uuid       uuid.UUID
}

func keyOf(e *capture.Event) eventKey {
	return eventKey{e.Project, e.Time.UTC().Format(time.DateOnly), e.Name, e.DistinctID, e.UUID}
}

type person struct {
	persons.Person
	ids       []persons.DistinctID
	overrides map[string]string // hash keys by flag key
}

type group struct {
	properties json.RawMessage
	created    time.Time
}

// init makes the maps; callers hold the lock.
func (s *Store) init() {
	if s.seen == nil {
		s.used, s.limits = make(map[usageKey]int64), make(map[usageKey]int64)
		s.events, s.seen = make(map[int64][]capture.Event), make(map[eventKey]bool)
		s.ids, s.people = make(map[persons.DistinctID]*person), make(map[uuid.UUID]*person)
		s.types = make(map[int64][]string)
		s.groups, s.cohorts = make(map[persons.Group]group), make(map[cohortKey]map[uuid.UUID]bool)
		s.deleted = make(map[persons.DistinctID]int)
	}
}

// Write implements [capture.Sink].
func (s *Store) Write(ctx context.Context, events []capture.Event) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	// What is stored is not taken back.
	return s.noteEvents(context.WithoutCancel(ctx), events, s.store(events))
}

// WriteEvents implements [management.EventStore]. What events say about surveys is
// read again whenever it is counted.
func (s *Store) WriteEvents(ctx context.Context, events []capture.Event, _ []management.SurveyEvent) error {
	return s.Write(ctx, events)
}

// store stores the events that are new and applies them. It returns the projects
// that have new group types.
func (s *Store) store(events []capture.Event) map[int64]bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.init()
	return s.apply(events, func(i int) bool {
		e := &events[i]
		key := keyOf(e)
		if s.seen[key] {
			return false
		}
		s.seen[key] = true
		stored := *e
		stored.Properties = bytes.Clone(e.Properties)
		s.events[e.Project] = append(s.events[e.Project], stored)
		return true
	})
}

// apply passes events through a Unit; keep says which. It returns the projects
// that have new group types.
func (s *Store) apply(events []capture.Event, keep func(i int) bool) map[int64]bool {
	u := persons.NewUnit(events)
	loaded := make(map[*person]*persons.Loaded)
	for id := range u.DistinctIDs() {
		p := s.ids[id]
		if p == nil {
			continue
		}
		if loaded[p] == nil {
			loaded[p] = persons.Load(p.Person)
		}
		u.SetPerson(id, loaded[p])
	}
	for project := range u.Projects() {
		for i, name := range s.types[project] {
			u.SetGroupType(persons.GroupType{Project: project, Name: name}, i)
		}
	}
	for g := range u.Groups() {
		if stored, ok := s.groups[g]; ok {
			u.SetGroup(g, stored.properties)
		}
	}
	for i := range events {
		if keep(i) {
			u.Apply(i)
		}
	}
	newTypes := make(map[int64]bool)
	if len(events) == 0 {
		return newTypes
	}
	changes := u.Changes()
	s.write(changes, events[0].Received)
	for _, t := range changes.GroupTypes {
		newTypes[t.Project] = true
	}
	return newTypes
}

func (s *Store) write(c persons.Changes, now time.Time) {
	get := func(id uuid.UUID) *person {
		if s.people[id] == nil {
			s.people[id] = &person{Person: persons.Person{ID: id}, overrides: make(map[string]string)}
		}
		return s.people[id]
	}
	for _, m := range c.Merges {
		from, into := get(m.From), get(m.Into)
		delete(s.people, m.From)
		for _, id := range from.ids {
			s.ids[id] = into
		}
		into.ids = append(into.ids, from.ids...)
		for flag, key := range from.overrides {
			if _, ok := into.overrides[flag]; !ok {
				into.overrides[flag] = key
			}
		}
		for _, members := range s.cohorts {
			if members[from.ID] {
				delete(members, from.ID)
				members[into.ID] = true
			}
		}
	}
	for _, l := range c.Links {
		p := get(l.Person)
		s.ids[l.DistinctID] = p
		p.ids = append(p.ids, l.DistinctID)
	}
	for _, change := range c.Persons {
		get(change.ID).Person = change.Person
	}
	for _, t := range c.GroupTypes {
		s.types[t.Project] = append(s.types[t.Project], t.Name)
	}
	for _, g := range c.Groups {
		created := now
		if old, ok := s.groups[g.Group]; ok {
			created = old.created
		}
		s.groups[g.Group] = group{g.Properties, created}
	}
}

// Events iterates over the events of a project in the order of their times, those
// of one time in the order in which they were stored.
func (s *Store) Events(_ context.Context, project int64) iter.Seq2[capture.Event, error] {
	s.mu.RLock()
	list := slices.Clone(s.events[project])
	s.mu.RUnlock()
	slices.SortStableFunc(list, func(a, b capture.Event) int { return a.Time.Compare(b.Time) })
	return func(yield func(capture.Event, error) bool) {
		for _, e := range list {
			if !yield(e, nil) {
				return
			}
		}
	}
}

// AppendPerson appends the properties of a person, as a JSON object. Without the
// person it returns dst as it is.
func (s *Store) AppendPerson(_ context.Context, dst []byte, project int64, distinctID string) ([]byte, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if p := s.ids[persons.DistinctID{Project: project, ID: distinctID}]; p != nil {
		dst = append(dst, p.Properties...)
	}
	return dst, nil
}

// PersonCreated returns when the person with a distinct ID was created, or the
// zero Time.
func (s *Store) PersonCreated(_ context.Context, project int64, distinctID string) (time.Time, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if p := s.ids[persons.DistinctID{Project: project, ID: distinctID}]; p != nil {
		return p.Created, nil
	}
	return time.Time{}, nil
}

// AppendGroup appends the properties of a group, as AppendPerson does.
func (s *Store) AppendGroup(_ context.Context, dst []byte, project int64, groupType, groupKey string) ([]byte, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return append(dst, s.groups[persons.Group{GroupType: persons.GroupType{Project: project, Name: groupType}, Key: groupKey}].properties...), nil
}

// Overrides implements experience continuity (evaluation.md §12): it calls found
// for the hash keys of the person with a distinct ID, after it has stored
// anonymousID for those of flagKeys that have none.
func (s *Store) Overrides(_ context.Context, project int64, distinctID, anonymousID string, flagKeys []string, found func(flagKey, hashKey string)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.ids[persons.DistinctID{Project: project, ID: distinctID}]
	var before *person
	if anonymousID != "" {
		before = s.ids[persons.DistinctID{Project: project, ID: anonymousID}]
		for _, p := range []*person{known, before} {
			for _, flag := range flagKeys {
				if p == nil || p.overrides[flag] != "" {
					continue
				}
				p.overrides[string([]byte(flag))] = string([]byte(anonymousID))
			}
		}
	}
	merged := make(map[string]string)
	if before != nil {
		maps.Copy(merged, before.overrides)
	}
	if known != nil {
		maps.Copy(merged, known.overrides)
	}
	for flag, key := range merged {
		found(flag, key)
	}
	return nil
}

// AddCohortMembers implements [management.CohortMemberStore].
func (s *Store) AddCohortMembers(_ context.Context, project, cohort int64, distinctIDs []string) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.init()
	s.apply(management.Sightings(project, distinctIDs), func(int) bool { return true })
	members := s.members(project, cohort)
	before := len(members)
	for _, id := range distinctIDs {
		if p := s.ids[persons.DistinctID{Project: project, ID: id}]; p != nil {
			members[p.ID] = true
		}
	}
	return len(members) - before, nil
}

// RemoveCohortMembers implements [management.CohortMemberStore].
func (s *Store) RemoveCohortMembers(_ context.Context, project, cohort int64, distinctIDs []string) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	members := s.cohorts[cohortKey{project, cohort}]
	before := len(members)
	for _, id := range distinctIDs {
		if p := s.ids[persons.DistinctID{Project: project, ID: id}]; p != nil {
			delete(members, p.ID)
		}
	}
	return before - len(members), nil
}

// AppendCohorts implements [management.CohortMemberStore].
func (s *Store) AppendCohorts(_ context.Context, dst []int64, project int64, distinctID string) ([]int64, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	p := s.ids[persons.DistinctID{Project: project, ID: distinctID}]
	if p == nil {
		return dst, nil
	}
	start := len(dst)
	for key, members := range s.cohorts {
		if key.project == project && members[p.ID] {
			dst = append(dst, key.cohort)
		}
	}
	slices.Sort(dst[start:])
	return dst, nil
}

// AddUsage implements [management.UsageStore].
func (s *Store) AddUsage(_ context.Context, organization, resource, period string, n int64) (used, limit int64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.init()
	key := usageKey{organization, resource, period}
	s.used[key] += n
	limit, ok := s.limits[usageKey{organization, resource, ""}]
	if !ok {
		limit = -1
	}
	return s.used[key], limit, nil
}

// SetQuota implements [management.UsageStore].
func (s *Store) SetQuota(_ context.Context, organization, resource string, limit int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.init()
	key := usageKey{organization, resource, ""}
	if limit < 0 {
		delete(s.limits, key)
	} else {
		s.limits[key] = limit
	}
	return nil
}

// Ready reports that the store works, as it always does.
func (s *Store) Ready(context.Context) error { return nil }

// Close does nothing: what is in memory goes with it.
func (s *Store) Close() error { return nil }
