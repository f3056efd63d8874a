package sqldb

import (
	"context"
	"database/sql"
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/capture/persons"
	"github.com/flagstaff-go/flagstaff/management/internal/names"
)

// wanted has distinct IDs of one project: IDs whose persons may change, and IDs
// whose persons need only be known.
type wanted struct{ whole, known []string }

func (t *tx) loadPersons(ctx context.Context, u *persons.Unit, project int64, w *wanted) error {
	loaded := make(map[uuid.UUID]*persons.Loaded)
	_, err := t.run(ctx, `SELECT d.distinct_id, p.id, p.properties, p.is_identified, p.created_at
		FROM person_distinct_id d JOIN person p ON p.id = d.person_id
		WHERE d.project_id = ? AND d.distinct_id IN (?)`, []any{project, w.whole}, func(r *sql.Rows) error {
		var p persons.Person
		var id, properties string
		if err := r.Scan(&id, &p.ID, &properties, &p.Identified, moment{&p.Created}); err != nil {
			return err
		}
		if loaded[p.ID] == nil {
			p.Properties = json.RawMessage(properties)
			loaded[p.ID] = persons.Load(p)
		}
		u.SetPerson(persons.DistinctID{Project: project, ID: id}, loaded[p.ID])
		return nil
	})
	if err != nil {
		return err
	}
	_, err = t.run(ctx, "SELECT distinct_id, person_id FROM person_distinct_id WHERE project_id = ? AND distinct_id IN (?)", []any{project, w.known}, func(r *sql.Rows) error {
		var id string
		var person uuid.UUID
		if err := r.Scan(&id, &person); err != nil {
			return err
		}
		if loaded[person] == nil {
			loaded[person] = persons.Exists(person)
		}
		u.SetPerson(persons.DistinctID{Project: project, ID: id}, loaded[person])
		return nil
	})
	return err
}

// load passes the stored data to a Unit.
func (t *tx) load(ctx context.Context, u *persons.Unit) error {
	byProject := make(map[int64]*wanted)
	for id, whole := range u.DistinctIDs() {
		w := byProject[id.Project]
		if w == nil {
			w = new(wanted)
			byProject[id.Project] = w
		}
		if whole {
			w.whole = append(w.whole, id.ID)
		} else {
			w.known = append(w.known, id.ID)
		}
	}
	for project, w := range byProject {
		if err := t.loadPersons(ctx, u, project, w); err != nil {
			return err
		}
	}
	for project := range u.Projects() {
		known, err := t.groupTypes(ctx, project)
		if err != nil {
			return err
		}
		for name, index := range known {
			u.SetGroupType(persons.GroupType{Project: project, Name: name}, index)
		}
	}
	byType := make(map[persons.GroupType][]string)
	for g := range u.Groups() {
		byType[g.GroupType] = append(byType[g.GroupType], g.Key)
	}
	for groupType, keys := range byType {
		_, err := t.run(ctx, `SELECT e.group_key, e.properties
			FROM group_type t JOIN group_entry e ON e.project_id = t.project_id AND e.type_index = t.type_index
			WHERE t.project_id = ? AND t.name = ? AND e.group_key IN (?)`, []any{groupType.Project, groupType.Name, keys}, eachPair(func(key, properties string) {
			u.SetGroup(persons.Group{GroupType: groupType, Key: key}, json.RawMessage(properties))
		}))
		if err != nil {
			return err
		}
	}
	return nil
}

// apply writes the changes that a Unit has made.
func (t *tx) apply(ctx context.Context, c *persons.Changes, now time.Time) error {
	for _, m := range c.Merges {
		from, into := m.From, m.Into
		err := t.all(ctx, []statement{
			{"UPDATE person_distinct_id SET person_id = ? WHERE person_id = ?", []any{into, from}},
			{"UPDATE hash_key_override SET person_id = ? WHERE person_id = ? AND flag_key NOT IN (SELECT flag_key FROM hash_key_override WHERE person_id = ?)", []any{into, from, into}},
			{"DELETE FROM hash_key_override WHERE person_id = ?", []any{from}},
			{"UPDATE cohort_member SET person_id = ? WHERE person_id = ? AND cohort_id NOT IN (SELECT cohort_id FROM cohort_member WHERE person_id = ?)", []any{into, from, into}},
			{"DELETE FROM cohort_member WHERE person_id = ?", []any{from}},
			{"DELETE FROM person WHERE id = ?", []any{from}},
		})
		if err != nil {
			return err
		}
	}
	type change = persons.PersonChange
	_, err := t.insert(ctx, "person", []column{
		columnOf("id", c.Persons, func(p *change) uuid.UUID { return p.ID }),
		columnOf("project_id", c.Persons, func(p *change) int64 { return p.Project }),
		columnOf("properties", c.Persons, func(p *change) string { return string(p.Properties) }),
		columnOf("names", c.Persons, func(p *change) string { return names.Index(p.Properties) }),
		columnOf("is_identified", c.Persons, func(p *change) bool { return p.Identified }),
		columnOf("created_at", c.Persons, func(p *change) time.Time { return p.Created }),
	}, `ON CONFLICT (id) DO UPDATE SET properties = excluded.properties, names = excluded.names, is_identified = excluded.is_identified,
		created_at = excluded.created_at`, nil)
	if err != nil {
		return err
	}
	_, err = t.insert(ctx, "person_distinct_id", []column{
		columnOf("project_id", c.Links, func(l *persons.Link) int64 { return l.Project }),
		columnOf("distinct_id", c.Links, func(l *persons.Link) string { return l.ID }),
		columnOf("person_id", c.Links, func(l *persons.Link) uuid.UUID { return l.Person }),
	}, "", nil)
	if err != nil {
		return err
	}
	_, err = t.insert(ctx, "group_type", []column{
		columnOf("project_id", c.GroupTypes, func(g *persons.NewGroupType) int64 { return g.Project }),
		columnOf("type_index", c.GroupTypes, func(g *persons.NewGroupType) int64 { return int64(g.Index) }),
		columnOf("name", c.GroupTypes, func(g *persons.NewGroupType) string { return g.Name }),
	}, "", nil)
	if err != nil {
		return err
	}
	if err := t.bumpGroupTypes(ctx, c.GroupTypes); err != nil {
		return err
	}
	_, err = t.insert(ctx, "group_entry", []column{
		columnOf("project_id", c.Groups, func(g *persons.GroupChange) int64 { return g.Project }),
		columnOf("type_index", c.Groups, func(g *persons.GroupChange) int64 { return int64(g.Index) }),
		columnOf("group_key", c.Groups, func(g *persons.GroupChange) string { return g.Key }),
		columnOf("properties", c.Groups, func(g *persons.GroupChange) string { return string(g.Properties) }),
		columnOf("created_at", c.Groups, func(*persons.GroupChange) time.Time { return now }),
	}, "ON CONFLICT (project_id, type_index, group_key) DO UPDATE SET properties = excluded.properties", nil)
	return err
}
