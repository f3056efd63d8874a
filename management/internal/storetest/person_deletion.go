package storetest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/management/sqlstore"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// purgeEvents calls PurgeEvents until there is no more.
func purgeEvents(t *testing.T, s sqlstore.Storage) {
	t.Helper()
	for range 10_000 {
		more, err := s.PurgeEvents(t.Context())
		must(t, err)
		if !more {
			return
		}
	}
	t.Fatal("PurgeEvents finds more and more")
}

// eventsOf returns how many events of a project each distinct ID has.
func eventsOf(t *testing.T, s sqlstore.Storage, project int64) map[string]int {
	t.Helper()
	n := make(map[string]int)
	for _, e := range stored(t, s, project) {
		n[e.DistinctID]++
	}
	return n
}

// overrides returns what Overrides finds for a distinct ID.
func overrides(t *testing.T, s sqlstore.Storage, project int64, distinctID string) map[string]string {
	t.Helper()
	found := make(map[string]string)
	must(t, s.Overrides(t.Context(), project, distinctID, "", nil, func(flag, key string) { found[flag] = key }))
	return found
}

func testDeletePerson(t *testing.T, s *suite) {
	ctx := t.Context()
	for _, project := range []int64{1, 2} {
		s.write(t,
			elsewhere(s.event("$identify", "u", `{"$anon_distinct_id":"a","$set":{"x":1}}`), project),
			elsewhere(s.event("page", "v", `{"$set":{"v":1}}`), project),
		)
		for _, cohort := range []int64{7, 8} {
			if _, _, err := s.AddCohortMembers(ctx, project, cohort, uuid.Nil, []string{"a", "v"}); err != nil {
				t.Fatal(err)
			}
		}
		for _, id := range []string{"u", "v"} {
			must(t, s.Overrides(ctx, project, id, "hash", []string{"flag"}, func(string, string) {}))
		}
	}
	u := s.whoIs(t, 1, "u")
	there := func(s sqlstore.Storage, project int64, id string, there bool) {
		t.Helper()
		properties, err := s.AppendPerson(ctx, nil, project, id)
		must(t, err)
		cohorts, err := s.AppendCohorts(ctx, nil, project, id)
		must(t, err)
		created, err := s.PersonCreated(ctx, project, id)
		must(t, err)
		keys := overrides(t, s, project, id)
		_, err = s.PersonByDistinctID(ctx, project, id)
		if there && (len(properties) == 0 || len(cohorts) != 2 || len(keys) != 1 || created.IsZero() || err != nil) {
			t.Errorf("of %q in project %d is there: %s, cohorts %v, hash keys %v, %v; want everything", id, project, properties, cohorts, keys, err)
		}
		if !there && (len(properties) > 0 || len(cohorts) > 0 || len(keys) > 0 || !created.IsZero() || !errors.Is(err, storage.ErrNotFound)) {
			t.Errorf("of %q in project %d is left: %s, cohorts %v, hash keys %v, %v", id, project, properties, cohorts, keys, err)
		}
	}
	check := func(s sqlstore.Storage, gone bool) {
		t.Helper()
		for _, id := range []string{"u", "a"} {
			there(s, 1, id, !gone)
			there(s, 2, id, true)
		}
		there(s, 1, "v", true)
	}
	check(s, false) // and all of that is read
	wantError(t, "DeletePerson of another project", storage.ErrNotFound, s.DeletePerson(ctx, 2, u.ID, true))
	wantError(t, "DeletePerson of nobody", storage.ErrNotFound, s.DeletePerson(ctx, 1, uuid.New(), true))
	purgeEvents(t, s)
	check(s, false)

	must(t, s.DeletePerson(ctx, 1, u.ID, false))
	check(s, true)
	check(s.another(t), true)
	wantErr(t, "Person", storage.ErrNotFound)(s.Person(ctx, 1, u.ID))
	wantErr(t, "UpdatePerson", storage.ErrNotFound)(s.UpdatePerson(ctx, 1, u.ID, value("x", "1"), nil))
	wantError(t, "DeletePerson again", storage.ErrNotFound, s.DeletePerson(ctx, 1, u.ID, false))
	if n, err := s.CountCohort(ctx, 1, 7); n != 1 || err != nil {
		t.Errorf("CountCohort = %d, %v; want 1", n, err)
	}
	purgeEvents(t, s)
	want(t, "events", map[string]int{"u": 1, "v": 1})(eventsOf(t, s, 1), nil) // they stay

	// Who comes back is somebody else.
	s.write(t, s.event("page", "a", `{"$set":{"new":1}}`))
	person(t, s, map[string]string{"a": `{"new":1}`, "u": ""})
	if again := s.whoIs(t, 1, "a"); again.ID == u.ID {
		t.Error("the person is the one that was deleted")
	}
	if got := overrides(t, s, 1, "a"); len(got) > 0 {
		t.Errorf("who comes back has hash keys %v", got)
	}
}

func testDeleteEvents(t *testing.T, s *suite) {
	ctx := t.Context()
	const each = 700 // more in all than a store may want to delete at once
	var list []capture.Event
	for i := range each {
		for _, id := range []string{"u", "a", "v", "stays"} {
			e := s.event("page", id, fmt.Sprintf(`{"n":%d}`, i))
			list = append(list, e, elsewhere(e, 2))
		}
	}
	s.write(t, list...)
	s.write(t, s.event("$identify", "u", `{"$anon_distinct_id":"a"}`))
	check := func(s sqlstore.Storage, all map[string]int) {
		t.Helper()
		want(t, "events", all)(eventsOf(t, s, 1), nil)
		want(t, "events of another project", map[string]int{"u": each, "a": each, "v": each, "stays": each})(eventsOf(t, s, 2), nil)
	}
	purgeEvents(t, s)
	counts := map[string]int{"u": each + 1, "a": each, "v": each, "stays": each}
	check(s, counts)

	u, v := s.whoIs(t, 1, "u"), s.whoIs(t, 1, "v")
	must(t, s.DeletePerson(ctx, 1, u.ID, true))
	check(s, counts) // not yet
	s.write(t, s.event("page", "a", `{"new":1}`))
	_, err := s.PurgeEvents(ctx) // one part, and meanwhile another person goes
	must(t, err)
	must(t, s.DeletePerson(ctx, 1, v.ID, true))
	s.write(t, s.event("page", "v", `{"new":1}`), s.event("page", "v", `{"new":2}`))
	purgeEvents(t, s.another(t)) // as after a restart
	check(s, map[string]int{"a": 1, "v": 2, "stays": each})

	// What was stored in the meantime goes with another deletion.
	must(t, s.DeletePerson(ctx, 1, s.whoIs(t, 1, "a").ID, true))
	s.write(t, s.event("page", "a", `{"new":2}`))
	must(t, s.DeletePerson(ctx, 1, s.whoIs(t, 1, "a").ID, true)) // twice, before anything is searched for
	s.write(t, s.event("page", "a", `{"new":3}`))
	purgeEvents(t, s)
	check(s, map[string]int{"a": 1, "v": 2, "stays": each})
	if last := s.stored(t, 1); len(last) > 0 && string(last[len(last)-1].Properties) != `{"new":3}` {
		t.Errorf("the last event is %s, want the newest", last[len(last)-1].Properties)
	}

	// An event that was deleted can be stored again.
	first := list[0]
	s.write(t, first, first)
	check(s, map[string]int{"u": 1, "a": 1, "v": 2, "stays": each})
	if more, err := s.PurgeEvents(ctx); more || err != nil {
		t.Errorf("PurgeEvents of nothing = %v, %v", more, err)
	}
	check(s, map[string]int{"u": 1, "a": 1, "v": 2, "stays": each})
}

// testDeleteNewest deletes the newest events, whose place later events may take
// before the search for the first ones ends.
func testDeleteNewest(t *testing.T, s *suite) {
	ctx := t.Context()
	gone, kept := s.project(t, s.organization(t, "gone")), s.project(t, s.organization(t, "kept"))
	s.write(t, elsewhere(s.event("page", "u", `{}`), kept.ID))
	s.write(t, elsewhere(s.event("page", "u", `{}`), gone.ID), elsewhere(s.event("page", "v", `{}`), gone.ID))
	must(t, s.DeletePerson(ctx, kept.ID, s.whoIs(t, kept.ID, "u").ID, true))
	must(t, s.DeletePerson(ctx, gone.ID, s.whoIs(t, gone.ID, "u").ID, true))
	must(t, s.Projects().Delete(ctx, storage.ProjectID.Is(gone.ID)))
	for more := true; more; {
		var err error
		more, err = s.PurgeProjects(ctx, time.Now().Add(time.Hour))
		must(t, err)
	}
	s.write(t, elsewhere(s.event("page", "u", `{"new":1}`), kept.ID), elsewhere(s.event("page", "u", `{"new":2}`), kept.ID))
	purgeEvents(t, s)
	var got []string
	for _, e := range stored(t, s, kept.ID) {
		got = append(got, string(e.Properties))
	}
	want(t, "events", []string{`{"new":1}`, `{"new":2}`})(got, nil)
}

// testConcurrentDeletion deletes persons while events, hash keys and memberships of
// theirs arrive, and their events are purged.
func testConcurrentDeletion(t *testing.T, s *suite) {
	ctx := t.Context()
	stores := []sqlstore.Storage{s.Storage, s.another(t)}
	const writers, times, ids = 4, 40, 3
	id := func(i int) string { return fmt.Sprint("u", i%ids) }
	written := make([]map[string]bool, writers)
	var wg sync.WaitGroup
	fail := func(call string, err error) {
		if err != nil && !errors.Is(err, storage.ErrNotFound) {
			t.Errorf("%s: %v", call, err)
		}
	}
	for w := range writers {
		store := stores[w%2]
		written[w] = make(map[string]bool)
		wg.Go(func() {
			for i := range times {
				e := s.event("page", id(i), fmt.Sprintf(`{"$set":{"n":%d}}`, i))
				fail("Write", store.Write(ctx, []capture.Event{e}))
				written[w][e.UUID.String()] = true
			}
		})
		wg.Go(func() {
			for i := range times {
				fail("Overrides", store.Overrides(ctx, 1, id(i), "hash", []string{"flag"}, func(string, string) {}))
				if p, err := store.PersonByDistinctID(ctx, 1, id(i)); err == nil {
					_, err := store.AddCohortPersons(ctx, 1, 7, []uuid.UUID{p.ID})
					fail("AddCohortPersons", err)
					if len(p.DistinctIDs) != 1 {
						t.Errorf("a person with distinct IDs %q", p.DistinctIDs)
					}
				}
			}
		})
	}
	wg.Go(func() {
		for i := range times {
			p, err := stores[0].PersonByDistinctID(ctx, 1, id(i))
			fail("PersonByDistinctID", err)
			if err == nil {
				fail("DeletePerson", stores[i%2].DeletePerson(ctx, 1, p.ID, i%3 != 0))
			}
		}
	})
	for _, store := range stores {
		wg.Go(func() {
			for range times {
				_, err := store.PurgeEvents(ctx)
				fail("PurgeEvents", err)
			}
		})
	}
	wg.Wait()
	purgeEvents(t, s)

	all := make(map[string]bool)
	for _, w := range written {
		maps.Copy(all, w)
	}
	fresh := s.another(t)
	for _, e := range stored(t, fresh, 1) {
		if !all[e.UUID.String()] {
			t.Errorf("event %v was never written, or is there twice", e.UUID)
		}
		delete(all, e.UUID.String())
	}
	list, total, err := fresh.Persons(ctx, 1, storage.PersonFilter{}, 100, 0)
	must(t, err)
	var members int
	for _, p := range list {
		if len(p.DistinctIDs) != 1 {
			t.Errorf("a person with distinct IDs %q", p.DistinctIDs)
		}
		cohorts, err := fresh.AppendCohorts(ctx, nil, 1, p.DistinctIDs[0])
		must(t, err)
		members += len(cohorts)
	}
	if n, err := fresh.CountCohort(ctx, 1, 7); n != members || total > ids || err != nil {
		t.Errorf("CountCohort = %d, %v; the %d persons are %d members", n, err, total, members)
	}

	// All that is left goes at last.
	for _, p := range list {
		must(t, s.DeletePerson(ctx, 1, p.ID, true))
	}
	purgeEvents(t, s)
	left := eventsOf(t, fresh, 1)
	for i := range ids {
		s.write(t, s.event("page", id(i), `{}`))
		if got := overrides(t, s, 1, id(i)); len(got) > 0 {
			t.Errorf("who is new has hash keys %v", got)
		}
		must(t, s.DeletePerson(ctx, 1, s.whoIs(t, 1, id(i)).ID, true))
	}
	purgeEvents(t, s)
	want(t, "events in the end", map[string]int{})(eventsOf(t, fresh, 1), nil)
	if n := len(left); n > ids {
		t.Errorf("events of %d distinct IDs", n)
	}
}

func testRecentDistinctIDs(t *testing.T, s *suite) {
	ctx := t.Context()
	seen := make(map[string]time.Time) // when each distinct ID was seen last
	check := func(project int64, limit int, all ...string) {
		t.Helper()
		got, since, err := s.RecentDistinctIDs(ctx, project, limit)
		if last := len(all) - 1; last >= 0 && !since.Equal(seen[all[last]]) || last < 0 && !since.IsZero() {
			t.Errorf("RecentDistinctIDs(%d, %d): since %v", project, limit, since)
		}
		if diff := cmp.Diff(all, got, same); err != nil || diff != "" {
			t.Errorf("RecentDistinctIDs(%d, %d): %v (-want +got)\n%s", project, limit, err, diff)
		}
	}
	check(1, 10)
	at := func(id string, time time.Time) capture.Event {
		e := s.event("page", id, `{"$process_person_profile":false}`)
		e.Time, e.UUID = time, capture.NewUUID(time)
		if time.After(seen[id]) {
			seen[id] = time
		}
		return e
	}
	day := time.Date(2026, 3, 4, 0, 0, 0, 0, time.UTC)
	s.write(t,
		at("noon", day.Add(12*time.Hour)),
		at("midnight", day),
		at("before midnight", day.Add(-time.Microsecond)),
		at("often", day.Add(13*time.Hour)), at("often", day.Add(11*time.Hour)), at("often", day.AddDate(0, 0, -9)),
		at("once", day.AddDate(0, 0, -9).Add(time.Hour)),
		at("long ago", time.Unix(0, 0).UTC()),
		elsewhere(at("stranger", day.Add(14*time.Hour)), 2),
	)
	order := []string{"often", "noon", "midnight", "before midnight", "once", "long ago"}
	for limit := range len(order) + 2 {
		check(1, limit, order[:min(limit, len(order))]...)
	}
	s.write(t, at("tomorrow", time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)))
	check(1, 2, "tomorrow", "often")
	check(2, 5, "stranger")
	check(3, 5)

	// Whatever there is, it ends.
	var list []capture.Event
	for i := range 3000 {
		list = append(list, elsewhere(at("busy", day.Add(-time.Duration(i)*time.Hour)), 3))
	}
	s.write(t, list...)
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	check(3, 5, "busy")
}
