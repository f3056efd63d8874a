package persons_test

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/capture/internal/reference"
	"github.com/flagstaff-go/flagstaff/capture/persons"
	"github.com/flagstaff-go/flagstaff/internal/fulltest"
)

// A world does the minimum that a store has to do with Changes.
type world struct {
	ids     map[string]uuid.UUID
	persons map[uuid.UUID]persons.Person
	types   []string
	groups  map[persons.Group]json.RawMessage
}

func newWorld() *world {
	return &world{ids: map[string]uuid.UUID{}, persons: map[uuid.UUID]persons.Person{}, groups: map[persons.Group]json.RawMessage{}}
}

// write applies one batch.
func (w *world) write(t *testing.T, events []capture.Event) {
	t.Helper()
	u := persons.NewUnit(events)
	loaded := make(map[uuid.UUID]*persons.Loaded)
	for id, whole := range u.DistinctIDs() {
		if p, ok := w.ids[id.ID]; ok && whole {
			if loaded[p] == nil {
				loaded[p] = persons.Load(w.persons[p])
			}
			u.SetPerson(id, loaded[p])
		}
	}
	for id, whole := range u.DistinctIDs() {
		if p, ok := w.ids[id.ID]; ok && !whole {
			if loaded[p] == nil {
				loaded[p] = persons.Exists(p)
			}
			u.SetPerson(id, loaded[p])
		}
	}
	for project := range u.Projects() {
		for i, name := range w.types {
			u.SetGroupType(persons.GroupType{Project: project, Name: name}, i)
		}
	}
	for g := range u.Groups() {
		if properties, ok := w.groups[g]; ok {
			u.SetGroup(g, properties)
		}
	}
	for i := range events {
		u.Apply(i)
	}
	c := u.Changes()
	for _, m := range c.Merges {
		for id, p := range w.ids {
			if p == m.From {
				w.ids[id] = m.Into
			}
		}
		delete(w.persons, m.From)
	}
	for _, l := range c.Links {
		if old, ok := w.ids[l.ID]; ok {
			t.Fatalf("distinct ID %q is linked to %v and again to %v", l.ID, old, l.Person)
		}
		w.ids[l.ID] = l.Person
	}
	for _, p := range c.Persons {
		if _, ok := w.persons[p.ID]; ok == p.New {
			t.Fatalf("person %v: New is %v", p.ID, p.New)
		}
		w.persons[p.ID] = p.Person
	}
	for id := range u.DistinctIDs() {
		want, known := w.ids[id.ID]
		if got, ok := u.PersonOf(id); got != want || ok != known {
			t.Fatalf("PersonOf(%q) = %v, %v; want %v, %v", id.ID, got, ok, want, known)
		}
	}
	for _, g := range c.GroupTypes {
		if g.Index != len(w.types) {
			t.Fatalf("group type %q has index %d, want %d", g.Name, g.Index, len(w.types))
		}
		w.types = append(w.types, g.Name)
	}
	for _, g := range c.Groups {
		if w.types[g.Index] != g.Name {
			t.Fatalf("group %v has index %d", g.Group, g.Index)
		}
		w.groups[g.Group] = g.Properties
	}
}

// canonical returns properties in the form of the reference.
func canonical(t *testing.T, properties json.RawMessage) string {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(string(properties)))
	d.UseNumber()
	var v map[string]any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("properties %q: %v", properties, err)
	}
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func (w *world) view(t *testing.T) ([]reference.Person, []reference.Group, []string) {
	ids := make(map[uuid.UUID][]string)
	for id, p := range w.ids {
		ids[p] = append(ids[p], id)
	}
	people := []reference.Person{}
	for id, p := range w.persons {
		slices.Sort(ids[id])
		people = append(people, reference.Person{IDs: ids[id], Properties: canonical(t, p.Properties), Identified: p.Identified, Created: p.Created})
	}
	slices.SortFunc(people, func(a, b reference.Person) int { return slices.Compare(a.IDs, b.IDs) })
	groups := []reference.Group{}
	for g, properties := range w.groups {
		groups = append(groups, reference.Group{Type: g.Name, Key: g.Key, Properties: canonical(t, properties)})
	}
	slices.SortFunc(groups, func(a, b reference.Group) int {
		return slices.Compare([]string{a.Type, a.Key}, []string{b.Type, b.Key})
	})
	return people, groups, append([]string{}, w.types...)
}

// compare runs one random history through both implementations, in batches of
// random size.
func compare(t *testing.T, seed uint64, n int) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 0))
	var want reference.World
	got := newWorld()
	history := reference.Generate(rng, n)
	for len(history) > 0 {
		batch := history[:min(len(history), 1+rng.IntN(12))]
		history = history[len(batch):]
		var events []capture.Event
		for _, e := range batch {
			want.Apply(e)
			events = append(events, capture.Event{
				Project: 1, Name: e.Name, DistinctID: e.DistinctID, Time: e.Time, Received: e.Time,
				Properties: json.RawMessage(e.Properties), NoPerson: e.NoPerson,
			})
		}
		got.write(t, events)
		people, groups, types := got.view(t)
		diff := cmp.Diff(want.Persons(), people) + cmp.Diff(want.Groups(), groups) + cmp.Diff(want.GroupTypes(), types)
		if diff != "" {
			t.Fatalf("seed %d, after batch %+v (-reference +unit):\n%s", seed, batch, diff)
		}
	}
}

// TestRandomHistories compares with the reference, which was written from the
// specification alone. FLAGSTAFF_RANDOM_SEED sets the first seed.
func TestRandomHistories(t *testing.T) {
	first, err := strconv.ParseUint(os.Getenv("FLAGSTAFF_RANDOM_SEED"), 10, 64)
	if err != nil {
		first = rand.Uint64() >> 1
	}
	histories := uint64(fulltest.Count(60, 300))
	for seed := first; seed < first+histories; seed++ {
		compare(t, seed, 60)
	}
}

func FuzzHistory(f *testing.F) {
	f.Add(uint64(1), 40)
	f.Fuzz(func(t *testing.T, seed uint64, n int) {
		compare(t, seed, min(max(n, 0), 200))
	})
}
