package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/management/sqlstore"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// index calls Index until there is no more. On PostgreSQL, the first call may only
// see which events there are.
func index(t *testing.T, s sqlstore.Storage) {
	t.Helper()
	for range 2 {
		for more := true; more; {
			var err error
			more, err = s.Index(t.Context())
			must(t, err)
		}
	}
}

// searched has the events of project 1 as a search must find them.
type searched struct {
	store  sqlstore.Storage
	stored []capture.Event     // in the order in which they were stored
	owners map[string][]string // distinct IDs of persons
	ids    map[string]uuid.UUID
}

// selected returns what a filter selects, where person names the person of the filter.
func (w *searched) selected(f storage.EventFilter, person string) (list []capture.Event) {
	for _, e := range w.stored {
		switch {
		case e.Project != 1, f.Name != "" && e.Name != f.Name, f.DistinctID != "" && e.DistinctID != f.DistinctID,
			person != "" && !slices.Contains(w.owners[person], e.DistinctID),
			!f.After.IsZero() && !e.Time.After(f.After), !f.Before.IsZero() && !e.Time.Before(f.Before):
		default:
			list = append(list, e)
		}
	}
	return list
}

func (w *searched) check(t *testing.T, f storage.EventFilter, person string, limit int) {
	t.Helper()
	ctx := t.Context()
	want := w.selected(f, person)
	if person != "" {
		f.Person = w.ids[person]
	}
	var all []capture.Event
	for e, err := range w.store.AllEvents(ctx, 1, f) {
		must(t, err)
		all = append(all, e)
	}
	if diff := diffEvents(want, all); diff != "" {
		t.Fatalf("AllEvents(%+v) (-want +got)\n%s", f, diff)
	}
	slices.Reverse(want)
	slices.SortStableFunc(want, func(a, b capture.Event) int { return b.Time.Compare(a.Time) })
	var pages []capture.Event
	for from := (storage.EventPlace{}); ; {
		list, next, err := w.store.FindEvents(ctx, 1, f, from, limit)
		must(t, err)
		pages = append(pages, list...)
		if left := len(pages) < len(want); left != (next != storage.EventPlace{}) || left && len(list) != limit {
			t.Fatalf("FindEvents(%+v) = %d events and then %+v after %d of %d", f, len(list), next, len(pages), len(want))
		}
		if from = next; from == (storage.EventPlace{}) {
			break
		}
	}
	if diff := diffEvents(want, pages); diff != "" {
		t.Fatalf("FindEvents(%+v) (-want +got)\n%s", f, diff)
	}
}

// diffEvents compares events, which are many, by their UUIDs, and a few in full.
func diffEvents(want, got []capture.Event) string {
	ids := func(list []capture.Event) (ids []uuid.UUID) {
		for i := range list {
			ids = append(ids, list[i].UUID)
		}
		return ids
	}
	if a, b := ids(want), ids(got); !slices.Equal(a, b) {
		return cmp.Diff(a, b)
	}
	return cmp.Diff(want[:min(len(want), 3)], got[:min(len(got), 3)])
}

// testFindEvents searches for events, some of which are indexed, by all kinds of filters,
// and compares with a search through all of them.
func testFindEvents(t *testing.T, s *suite) {
	r := rand.New(rand.NewPCG(1, 2))
	w := &searched{store: s.Storage, owners: make(map[string][]string), ids: make(map[string]uuid.UUID)}
	add := func(n int) {
		t.Helper()
		var list []capture.Event
		for range n {
			e := s.event([]string{"page", "click", "click"}[r.IntN(3)], fmt.Sprint("u", r.IntN(30)), `{"n":1.50,"s":"\u0000"}`)
			e.Time = s.now.Add(time.Duration(len(w.stored)+len(list))*time.Second - time.Duration(r.IntN(3))*time.Minute).Truncate(4 * time.Second)
			if r.IntN(100) == 0 { // late
				e.Time = s.now.Add(-time.Duration(r.IntN(100)) * time.Hour)
			}
			if r.IntN(10) == 0 {
				e.Project = 2
			}
			list = append(list, e)
		}
		s.write(t, list...)
		w.stored = append(w.stored, list...)
	}
	know := func(ids ...string) {
		t.Helper()
		p, err := s.PersonByDistinctID(t.Context(), 1, ids[0])
		must(t, err)
		w.owners[ids[0]], w.ids[ids[0]] = ids, p.ID
	}
	checks := func() {
		t.Helper()
		rare := w.stored[0]
		for _, store := range []sqlstore.Storage{s.Storage, s.another(t)} {
			w.store = store
			w.check(t, storage.EventFilter{}, "", 200)
			w.check(t, storage.EventFilter{Name: "page"}, "", 90)
			w.check(t, storage.EventFilter{Name: "rare"}, "", 1)
			w.check(t, storage.EventFilter{Name: "nothing"}, "", 1)
			w.check(t, storage.EventFilter{DistinctID: "u7"}, "", 20)
			w.check(t, storage.EventFilter{DistinctID: "u7", Name: "page"}, "", 3)
			w.check(t, storage.EventFilter{}, "u1", 50)
			w.check(t, storage.EventFilter{DistinctID: "u2"}, "u1", 50)
			w.check(t, storage.EventFilter{DistinctID: "u7"}, "u1", 50)
			w.check(t, storage.EventFilter{After: rare.Time, Before: rare.Time.Add(10 * time.Minute)}, "", 60)
			e, err := store.EventByUUID(t.Context(), 1, rare.UUID)
			if diff := cmp.Diff(&rare, e); err != nil || diff != "" {
				t.Errorf("EventByUUID: %v (-want +got)\n%s", err, diff)
			}
			if e, err := store.EventByUUID(t.Context(), 2, rare.UUID); !errors.Is(err, storage.ErrNotFound) {
				t.Errorf("EventByUUID of another project = %v, %v", e, err)
			}
			list, _, err := store.FindEvents(t.Context(), 2, storage.EventFilter{Person: w.ids["u1"]}, storage.EventPlace{}, 10)
			if len(list) > 0 || err != nil {
				t.Errorf("FindEvents of a person of another project = %v, %v", list, err)
			}
		}
	}
	rare := s.event("rare", "u1", `{}`)
	link := s.event("$identify", "u1", `{"$anon_distinct_id":"u2"}`)
	s.write(t, rare, link)
	w.stored = append(w.stored, rare, link)
	know("u1", "u2")
	add(40)
	checks() // of what is not indexed
	add(1500)
	index(t, s.Storage)
	checks()
	persons, err := s.PersonIDs(t.Context(), 1, []string{"u2", "nobody", "u1"})
	want(t, "PersonIDs", map[string]uuid.UUID{"u1": w.ids["u1"], "u2": w.ids["u1"]})(persons, err)
	add(300)
	checks()

	// The newest events go, and on SQLite others get their IDs.
	last := s.event("page", "last", `{}`)
	s.write(t, last)
	add(0)
	for range 3 {
		list := make([]capture.Event, 300)
		for i := range list {
			list[i] = s.event("page", "last", `{}`)
		}
		s.write(t, list...)
	}
	index(t, s.Storage)
	must(t, s.DeletePerson(t.Context(), 1, s.whoIs(t, 1, "last").ID, true))
	purgeEvents(t, s.Storage)
	checks()
	add(600)
	checks()
	index(t, s.Storage)
	checks()
}

// testLargeEvents reads events that are too large for one page.
func testLargeEvents(t *testing.T, s *suite) {
	const size = 5 << 20
	for i := range 2 {
		e := s.event("large", fmt.Sprint("u", i), `{"text":"`+string(bytes.Repeat([]byte("x"), size))+`"}`)
		e.Time = s.now.Add(time.Duration(i) * time.Second)
		s.write(t, e)
	}
	var got []string
	pages := 0
	for from := (storage.EventPlace{}); ; pages++ {
		list, next, err := s.FindEvents(t.Context(), 1, storage.EventFilter{Name: "large"}, from, 10)
		must(t, err)
		for _, e := range list {
			got = append(got, e.DistinctID)
		}
		if from = next; from == (storage.EventPlace{}) {
			break
		}
	}
	if diff := cmp.Diff([]string{"u1", "u0"}, got); diff != "" || pages != 1 {
		t.Errorf("%d pages before the last one, want 1 (-want +got)\n%s", pages, diff)
	}
	got = nil
	for e, err := range s.AllEvents(t.Context(), 1, storage.EventFilter{}) {
		must(t, err)
		if len(e.Properties) < size {
			t.Errorf("properties of %d bytes", len(e.Properties))
		}
		got = append(got, e.DistinctID)
	}
	want(t, "AllEvents", []string{"u0", "u1"})(got, nil)
}
