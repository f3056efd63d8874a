package reference

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"
)

// An Event is what a captured event says about persons and groups.
type Event struct {
	Name       string
	DistinctID string // valid UTF-8 without NUL, not blank, at most 200 characters
	Time       time.Time

	// Properties is a JSON object; empty means {}. Person updates are its
	// members $set, $set_once and $unset: a $set beside the properties has
	// already replaced the one among them.
	Properties string

	// NoPerson says that the event has no effect, whatever its properties are.
	NoPerson bool
}

// A World holds the persons and groups of one project. The zero value is empty.
type World struct {
	persons map[string]*personState // by distinct id; several ids may share a person
	types   []string                // the position is the index
	groups  map[groupID]map[string]any
}

type personState struct {
	properties map[string]any
	identified bool
	created    time.Time
}

// A Person is what a World knows about one person.
type Person struct {
	IDs        []string // sorted
	Properties string   // a JSON object with sorted keys, as encoding/json writes it
	Identified bool
	Created    time.Time
}

// A Group is what a World knows about one group.
type Group struct {
	Type       string
	Key        string
	Properties string // as in a Person
}

// Apply does what e does. It panics if the properties are not a JSON object.
func (w *World) Apply(e Event) {
	written := []member{}
	if e.Properties != "" {
		var ok bool
		if written, ok = members(e.Properties); !ok {
			panic(fmt.Sprintf("reference: properties are not a JSON object: %s", e.Properties))
		}
	}
	properties := map[string]any{}
	for _, m := range written {
		properties[m.name] = decode(m.raw)
	}

	if e.NoPerson || properties["$process_person_profile"] == false {
		return
	}

	// Ids are linked before properties are updated, so that the updates of an
	// event that merges reach the merged person.
	w.link(e, properties)
	p := w.known(e.DistinctID)
	if p == nil {
		p = w.create(e.Time, e.DistinctID)
	}
	if e.Name != "$exception" && e.Name != "$$heatmap" {
		set := object(properties["$set"])
		seen, known := set["$survey_last_seen_date"]
		if _, named := set["$last_seen_survey_date"]; e.Name == "survey shown" && known && !named {
			set["$last_seen_survey_date"] = seen // two names of one fact
		}
		p.update(properties)
	}

	if e.Name == "$groupidentify" {
		w.identifyGroup(properties)
	}
	for _, m := range written {
		if m.name == "$groups" {
			w.nameGroups(m.raw)
		}
	}
}

// known returns the person with the id, nil if there is none.
func (w *World) known(id string) *personState { return w.persons[id] }

// create adds a person with these ids, not identified.
func (w *World) create(at time.Time, ids ...string) *personState {
	p := &personState{properties: map[string]any{}, created: at}
	for _, id := range ids {
		w.attach(id, p)
	}
	return p
}

// attach makes id one of the ids of p.
func (w *World) attach(id string, p *personState) {
	if w.persons == nil {
		w.persons = map[string]*personState{}
	}
	w.persons[id] = p
}

// Persons returns all persons, never nil, sorted by their smallest distinct id.
func (w *World) Persons() []Person {
	position := map[*personState]int{}
	all := []Person{}
	// In the order of ids, a person comes up first by its smallest one, and its
	// ids come up sorted.
	for _, id := range slices.Sorted(maps.Keys(w.persons)) {
		p := w.persons[id]
		i, seen := position[p]
		if !seen {
			i = len(all)
			position[p] = i
			all = append(all, Person{
				Properties: encode(p.properties),
				Identified: p.identified,
				Created:    p.created,
			})
		}
		all[i].IDs = append(all[i].IDs, id)
	}
	return all
}

// Groups returns all groups, never nil, sorted by the name of their type, then by key.
func (w *World) Groups() []Group {
	all := []Group{}
	for id, properties := range w.groups {
		all = append(all, Group{Type: id.typ, Key: id.key, Properties: encode(properties)})
	}
	slices.SortFunc(all, func(a, b Group) int {
		return cmp.Or(cmp.Compare(a.Type, b.Type), cmp.Compare(a.Key, b.Key))
	})
	return all
}

// GroupTypes returns the names of the group types, never nil, in the order of
// their index.
func (w *World) GroupTypes() []string { return append([]string{}, w.types...) }

func encode(properties map[string]any) string {
	b, err := json.Marshal(properties)
	if err != nil {
		panic(fmt.Sprintf("reference: encode properties: %v", err)) // they were decoded from JSON
	}
	return string(b)
}
