package persons

import (
	"encoding/json"
	"iter"
	"time"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/capture"
)

// MaxGroupTypes is the largest number of group types in a project (wire.md
// §3.1).
const MaxGroupTypes = 5

// A Person has one or more distinct IDs.
type Person struct {
	ID         uuid.UUID
	Properties json.RawMessage // a JSON object
	Identified bool
	Created    time.Time // UTC
}

// A DistinctID identifies a person within a project.
type DistinctID struct {
	Project int64
	ID      string
}

// A GroupType is a kind of group within a project.
type GroupType struct {
	Project int64
	Name    string
}

// A Group identifies a group.
type Group struct {
	GroupType
	Key string
}

// A Unit computes the effects of a batch of events on persons and groups. It is
// used in four steps:
//
//  1. [NewUnit] reads the events. DistinctIDs, Projects and Groups then return
//     what must be read from the store.
//  2. SetPerson, SetGroupType and SetGroup pass the stored data.
//  3. [Unit.Apply] applies events, in their order.
//  4. [Unit.Changes] returns the changes to write.
//
// A Unit is pure: the same events on the same state give the same changes,
// except for the random IDs of new persons. It is not safe for concurrent use.
type Unit struct {
	events  []capture.Event
	effects []effect

	ids    map[DistinctID]*personState // nil if the person is not known
	whole  map[DistinctID]bool         // IDs whose persons may change
	types  map[GroupType]int           // index, or -1
	known  map[int64]int               // number of group types of a project
	groups map[Group]*groupState

	persons  []*personState // set by the store, or created by Apply
	links    []Link
	merges   []Merge
	newTypes []NewGroupType
	refused  int
}

type personState struct {
	Person
	project int64
	bag     *bag         // Properties, once they may change
	into    *personState // the person that this one was merged into
	created bool         // by this Unit
	changed bool         // in other fields than bag
	bare    bool         // only the ID is known
}

type groupState struct {
	Group
	bag     *bag
	created bool
}

// NewUnit returns a Unit for events. They must not be changed until the Changes
// have been written.
func NewUnit(events []capture.Event) *Unit {
	u := &Unit{
		events:  events,
		effects: make([]effect, len(events)),
		ids:     make(map[DistinctID]*personState, len(events)),
		whole:   make(map[DistinctID]bool),
		types:   make(map[GroupType]int),
		known:   make(map[int64]int),
		groups:  make(map[Group]*groupState),
	}
	for i := range events {
		event := &events[i]
		u.effects[i] = effectOf(event)
		e := &u.effects[i]
		if e.none {
			continue
		}
		id := DistinctID{event.Project, event.DistinctID}
		u.ids[id] = nil
		if e.linked || e.updates.any() {
			u.whole[id] = true
		}
		if e.linked {
			source := DistinctID{event.Project, e.source}
			u.ids[source], u.whole[source] = nil, true
		}
		for _, name := range e.types {
			u.types[GroupType{event.Project, name}] = -1
			u.known[event.Project] = 0
		}
		if e.group.Type != "" {
			u.groups[Group{GroupType{event.Project, e.group.Type}, e.group.Key}] = nil
		}
	}
	return u
}

// DistinctIDs iterates over the distinct IDs whose persons must be known. If
// whole is false, the ID of the person is enough: see [Exists].
func (u *Unit) DistinctIDs() iter.Seq2[DistinctID, bool] {
	return func(yield func(id DistinctID, whole bool) bool) {
		for id := range u.ids {
			if !yield(id, u.whole[id]) {
				return
			}
		}
	}
}

// Projects iterates over the projects whose group types must be known.
func (u *Unit) Projects() iter.Seq[int64] { return keys(u.known) }

// Groups iterates over the groups whose properties must be known.
func (u *Unit) Groups() iter.Seq[Group] { return keys(u.groups) }

func keys[K comparable, V any](m map[K]V) iter.Seq[K] {
	return func(yield func(K) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// SetPerson sets the person of a distinct ID. Calls for several IDs of one
// person must pass the same [*Loaded].
func (u *Unit) SetPerson(id DistinctID, p *Loaded) {
	if p.p.project == 0 {
		p.p.project = id.Project
		u.persons = append(u.persons, &p.p)
	}
	u.ids[id] = &p.p
}

// Loaded is a stored person, for SetPerson.
type Loaded struct{ p personState }

// Load returns p for SetPerson.
func Load(p Person) *Loaded { return &Loaded{personState{Person: p}} }

// Exists returns a person that is known only by its ID, for SetPerson. It is
// for distinct IDs that DistinctIDs returns with whole false. If another
// distinct ID of the same person is returned with whole true, the whole person
// must be passed for both.
func Exists(id uuid.UUID) *Loaded { return &Loaded{personState{Person: Person{ID: id}, bare: true}} }

// SetGroupType says that a project has a group type.
func (u *Unit) SetGroupType(t GroupType, index int) {
	u.types[t] = index
	u.known[t.Project] = max(u.known[t.Project], index+1)
}

// SetGroup sets the properties of an existing group.
func (u *Unit) SetGroup(g Group, properties json.RawMessage) {
	u.groups[g] = &groupState{Group: g, bag: newBag(properties)}
}

// Apply applies the event with an index. Events that were stored before must
// not be applied again.
func (u *Unit) Apply(i int) {
	event, e := &u.events[i], &u.effects[i]
	if e.none {
		return
	}
	id := DistinctID{event.Project, event.DistinctID}
	var p *personState
	if e.linked {
		p = u.link(event, DistinctID{event.Project, e.source}, id, e.force)
	} else {
		p = u.person(event, id)
	}
	if e.updates.any() && !p.properties().update(&e.updates) {
		u.refused++
	}
	for _, name := range e.types {
		u.groupType(GroupType{event.Project, name})
	}
	if e.group.Type != "" {
		u.identifyGroup(event.Project, &e.group)
	}
}

// find returns the person of a distinct ID, or nil.
func (u *Unit) find(id DistinctID) *personState {
	p := u.ids[id]
	for p != nil && p.into != nil {
		p = p.into
	}
	return p
}

// PersonOf returns the person of a distinct ID after the applied events. It
// reports false if the Unit does not know the person: DistinctIDs does not
// return the IDs of events that have no effect on persons.
func (u *Unit) PersonOf(id DistinctID) (person uuid.UUID, ok bool) {
	if p := u.find(id); p != nil {
		return p.ID, true
	}
	return uuid.Nil, false
}

// person returns the person of a distinct ID, which it creates if there is
// none.
func (u *Unit) person(event *capture.Event, id DistinctID) *personState {
	if p := u.find(id); p != nil {
		return p
	}
	p := &personState{
		Person:  Person{ID: capture.NewUUID(event.Received), Created: event.Time},
		project: event.Project,
		created: true,
	}
	u.persons = append(u.persons, p)
	u.attach(id, p)
	return p
}

func (u *Unit) attach(id DistinctID, p *personState) {
	u.ids[id] = p
	u.links = append(u.links, Link{id, uuid.Nil}) // set by Changes, because the person may still be merged
}

// link links two distinct IDs, and returns the person of the target (wire.md
// §3.3).
func (u *Unit) link(event *capture.Event, source, target DistinctID, force bool) *personState {
	from, to := u.find(source), u.find(target)
	switch {
	case from == nil && to == nil:
		to = u.person(event, target)
		u.attach(source, to)
	case from == nil:
		u.attach(source, to)
	case to == nil:
		to = from
		u.attach(target, to)
	case from == to:
	case from.Identified && !force:
		return to
	default:
		u.merge(from, to)
	}
	if !to.Identified {
		to.Identified, to.changed = true, true
	}
	return to
}

// merge merges one person into another, whose properties take precedence.
func (u *Unit) merge(from, to *personState) {
	merged := newBag(from.properties().append(nil))
	for i := range to.properties().members {
		if m := to.bag.members[i]; m.raw != deleted {
			merged.put(m)
		}
	}
	if merged.size <= MaxProperties {
		merged.changed = true
		to.bag = merged
	} else {
		u.refused++
	}
	if from.Created.Before(to.Created) {
		to.Created = from.Created
	}
	to.changed = true
	from.into = to
	u.merges = append(u.merges, Merge{from.project, from.ID, to.ID})
}

// properties returns the properties of the person for changes.
func (p *personState) properties() *bag {
	if p.bare {
		panic("persons: a person is to change that was passed with Exists")
	}
	if p.bag == nil {
		p.bag = newBag(p.Properties)
	}
	return p.bag
}

// groupType adds a group type if the project has room for it (wire.md §3.5). It
// reports whether the project has the type.
func (u *Unit) groupType(t GroupType) bool {
	if index, ok := u.types[t]; ok && index >= 0 {
		return true
	}
	index := u.known[t.Project]
	if index >= MaxGroupTypes {
		return false
	}
	u.SetGroupType(t, index)
	u.newTypes = append(u.newTypes, NewGroupType{t, index})
	return true
}

func (u *Unit) identifyGroup(project int64, g *groupUpdate) {
	t := GroupType{project, g.Type}
	if !u.groupType(t) {
		return
	}
	id := Group{t, g.Key}
	state := u.groups[id]
	if state == nil {
		state = &groupState{Group: id, bag: newBag(nil), created: true}
		u.groups[id] = state
	}
	if !state.bag.update(&updates{set: membersOf(g.set)}) {
		u.refused++
	}
}

// Changes are the changes that a store must write in one transaction.
type Changes struct {
	// Merges come first, in their order. The data of From moves to Into unless
	// Into has its own, and From is deleted. Neither person need be stored.
	Merges []Merge

	// Links are new distinct IDs, each once.
	Links []Link

	// Persons are all new or changed persons.
	Persons []PersonChange

	GroupTypes []NewGroupType
	Groups     []GroupChange

	// Refused is the number of updates that were not applied because the
	// properties would have exceeded MaxProperties.
	Refused int
}

// A Merge merges one person into another.
type Merge struct {
	Project    int64
	From, Into uuid.UUID
}

// A Link assigns a distinct ID to a person.
type Link struct {
	DistinctID
	Person uuid.UUID
}

// A PersonChange is the new state of a person.
type PersonChange struct {
	Project int64
	Person
	New bool
}

// A NewGroupType is a group type that is not stored yet.
type NewGroupType struct {
	GroupType
	Index int
}

// A GroupChange is the new state of a group.
type GroupChange struct {
	Group
	Index      int // of its type
	Properties json.RawMessage
}

// Changes returns the changes by the applied events.
func (u *Unit) Changes() Changes {
	c := Changes{Merges: u.merges, GroupTypes: u.newTypes, Refused: u.refused}
	for _, l := range u.links {
		l.Person = u.find(l.DistinctID).ID
		c.Links = append(c.Links, l)
	}
	for _, p := range u.persons {
		updated := p.bag != nil && p.bag.changed
		if p.into != nil || !p.created && !p.changed && !updated {
			continue
		}
		change := PersonChange{p.project, p.Person, p.created}
		switch {
		case p.bag != nil:
			change.Properties = p.bag.append(make([]byte, 0, p.bag.size))
		case len(change.Properties) == 0:
			change.Properties = json.RawMessage("{}")
		}
		c.Persons = append(c.Persons, change)
	}
	for _, g := range u.groups {
		if g != nil && (g.created || g.bag.changed) {
			c.Groups = append(c.Groups, GroupChange{g.Group, u.types[g.GroupType], g.bag.append(nil)})
		}
	}
	return c
}
