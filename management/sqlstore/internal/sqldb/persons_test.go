package sqldb_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/sqlstore"
	"github.com/flagstaff-go/flagstaff/management/sqlstore/internal/sqldb"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// TestAfter checks that the range up to after(prefix) has exactly the texts
// with this prefix.
func TestAfter(t *testing.T) {
	for prefix, want := range map[string]string{
		"a": "b", "user-1": "user-2", "a\uD7FF": "a\uE000", "\x7f": "\u0080", "\uFFFF": "\U00010000",
		"a\U0010FFFF": "b", "\U0010FFFF": "", "\U0010FFFF\U0010FFFF": "", "": "",
	} {
		if got := sqldb.After(prefix); got != want {
			t.Errorf("After(%q) = %q, want %q", prefix, got, want)
		}
	}
	letters := []rune("ab\x01\x7fé\uD7FF\uE000\uFFFF\U00010000\U0010FFFF")
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 0))
	text := func(most int) string {
		runes := make([]rune, rng.IntN(most))
		for i := range runes {
			runes[i] = letters[rng.IntN(len(letters))]
		}
		return string(runes)
	}
	matches := 0
	for range 100_000 {
		prefix, s := text(4), text(7)
		end := sqldb.After(prefix)
		got, want := s >= prefix && (end == "" || s < end), strings.HasPrefix(s, prefix)
		if got != want {
			t.Fatalf("seed %d: %q is in [%q, %q): %t, but begins so: %t", seed, s, prefix, end, got, want)
		}
		if want && prefix != "" {
			matches++
		}
	}
	if matches < 1000 {
		t.Errorf("seed %d: %d texts begin with their prefix, want some more", seed, matches)
	}
}

// TestPersonQueryPlans checks that queries about persons, groups and recent
// events never read a whole table, and sort nothing that is unbounded.
func TestPersonQueryPlans(t *testing.T) {
	ctx, path := t.Context(), filepath.Join(t.TempDir(), "x.db")
	db := open(t, path, sqlstore.Options{})
	write(t, db, event("page", "u", `{"$set":{"name":"Ada"}}`), event("$groupidentify", "u", `{"$group_type":"company","$group_key":"acme"}`))
	p, err := db.PersonByDistinctID(ctx, 1, "u")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.AddCohortPersons(ctx, 1, 7, []uuid.UUID{p.ID}); err != nil {
		t.Fatal(err)
	}
	ids := []uuid.UUID{p.ID}
	for _, f := range []storage.PersonFilter{
		{},
		{DistinctID: "u"},
		{IDs: ids},
		{Cohort: 7},
		{Search: "u"},
		{Cohort: 7, Search: "u"},
		{DistinctID: "u", IDs: ids, Cohort: 7, Search: "u"},
		{Named: "ad"},
	} {
		if list, total, err := db.Persons(ctx, 1, f, 10, 0); len(list) != 1 || total != 1 || err != nil {
			t.Fatalf("Persons(%+v) = %v, %d, %v; want 1", f, list, total, err)
		}
	}
	_, err = db.Person(ctx, 1, p.ID)
	_, e1 := db.CountCohort(ctx, 1, 7)
	_, e2 := db.GroupTypes(ctx, 1)
	_, e3 := db.Group(ctx, 1, 0, "acme")
	_, n, e4 := db.Groups(ctx, 1, 0, "a", 10, 0)
	_, _, e5 := db.RecentDistinctIDs(ctx, 1, 10)
	events, _, e8 := db.FindEvents(ctx, 1, storage.EventFilter{Person: p.ID, Name: "page", After: now.Add(-time.Hour)}, storage.EventPlace{}, 10)
	before, e9 := db.PersonsBefore(ctx, 1, storage.PersonFilter{Search: "u"}, uuid.Max, 10)
	named, e10 := db.PersonsBefore(ctx, 1, storage.PersonFilter{Named: "ad"}, uuid.Max, 10)
	within, e11 := db.PersonsBefore(ctx, 1, storage.PersonFilter{Within: "U"}, uuid.Max, 10)
	_, e12 := db.Index(ctx)
	if len(events) != 1 || len(before) != 1 || len(named) != 1 || len(within) != 1 {
		t.Errorf("FindEvents = %v; PersonsBefore = %v, %v, %v", events, before, named, within)
	}
	e6 := db.DeletePerson(ctx, 1, p.ID, true)
	_, e7 := db.PurgeEvents(ctx)
	if err := errors.Join(err, e1, e2, e3, e4, e5, e6, e7, e8, e9, e10, e11, e12); n != 1 || err != nil {
		t.Fatal(n, err)
	}

	raw := openRaw(t, "sqlite", path)
	allowed := regexp.MustCompile(`^(SEARCH .*|SCAN json_each VIRTUAL TABLE .*|SCAN CONSTANT ROW|(CORRELATED )?(LIST|SCALAR) SUBQUERY \d+|` +
		`SCAN part|CO-ROUTINE part|SCAN deleted_distinct_id|SCAN person USING INDEX person_without_names|USE TEMP B-TREE FOR GROUP BY|REUSE LIST SUBQUERY \d+|CREATE BLOOM FILTER)$`)
	for _, query := range db.Queries() {
		var plan strings.Builder
		rows, err := raw.QueryContext(ctx, "EXPLAIN QUERY PLAN "+query, make([]any, strings.Count(query, "?"))...)
		if err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		bad := false
		for rows.Next() {
			var a, b, c int
			var step string
			if err := rows.Scan(&a, &b, &c, &step); err != nil {
				t.Fatal(err)
			}
			bad = bad || !allowed.MatchString(step)
			plan.WriteString("\n\t" + step)
		}
		if err := rows.Close(); err != nil {
			t.Fatal(err)
		}
		// The events of one block are few, and are sorted.
		bad = bad && !(strings.HasPrefix(query, "SELECT id, ts FROM event WHERE id >= ? AND id <= ?") && strings.Contains(plan.String(), "USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)"))
		if bad {
			t.Errorf("%s%s", query, plan.String())
		}
	}
	if n := len(db.Queries()); n < 20 {
		t.Errorf("%d queries, want all", n)
	}
}

// TestPurgeEventsInParts deletes persons whose events are spread over more than
// one part of a search. Processes end between the parts.
func TestPurgeEventsInParts(t *testing.T) {
	skipUnderRace(t)
	const events = 3*sqldb.MostSearched + 10
	onEach(t, func(t *testing.T, d *database) {
		ctx, db := t.Context(), d.open(t)
		list := make([]capture.Event, 0, events)
		for i := range events {
			e := event("page", fmt.Sprint("u", i%4), `{"$process_person_profile":false}`)
			e.Project = 1
			if i%8 >= 4 {
				e.Project = 2
			}
			list = append(list, e)
		}
		for part := range slices.Chunk(list, 5000) {
			write(t, db, part...)
		}
		remove := func(project int64, id string) {
			t.Helper()
			e := event("page", id, `{}`)
			e.Project = project
			write(t, db, e)
			deletePerson(t, db, project, id)
			e.UUID = uuid.New()
			write(t, db, e) // the person is back
		}
		left := func(project int64, id string) int {
			t.Helper()
			return d.count(t, fmt.Sprintf("SELECT count(*) FROM event WHERE project_id = %d AND distinct_id = '%s'", project, id))
		}
		remove(1, "u0")
		remove(2, "u1")
		total, part := d.count(t, "SELECT count(*) FROM event"), left(1, "u0")
		purge := func(want bool) {
			t.Helper()
			more, err := db.PurgeEvents(ctx)
			if more != want || err != nil {
				t.Fatalf("PurgeEvents = %v, %v; want %v, nil", more, err, want)
			}
			now := d.count(t, "SELECT count(*) FROM event")
			if total-now > sqldb.MostPurged {
				t.Errorf("%d events deleted at once, want at most %d", total-now, sqldb.MostPurged)
			}
			total = now
		}
		purge(true)
		if n := left(1, "u0"); n >= part || n < part/2 {
			t.Errorf("%d of %d events are left after the first part", n, part)
		}
		part = left(1, "u0")
		db = d.open(t) // as after a crash
		purge(true)
		if n := left(1, "u0"); n >= part || n < 2 {
			t.Errorf("%d of %d events are left after the second part", n, part)
		}
		remove(1, "u2") // waits for the end of this search
		total = d.count(t, "SELECT count(*) FROM event")
		part = left(1, "u2")
		purge(true)
		purge(true)
		for _, who := range []struct {
			project int64
			id      string
			want    int
		}{{1, "u0", 1}, {2, "u1", 1}, {1, "u2", part}} {
			if n := left(who.project, who.id); n != who.want {
				t.Errorf("%d events of %s in project %d after the first search, want %d", n, who.id, who.project, who.want)
			}
		}
		db = d.open(t)
		purge(true)
		purge(true)
		purge(false)
		if n := left(1, "u2"); n != 1 {
			t.Errorf("%d events of u2 are left, want the newest", n)
		}
		purge(false)
		for _, who := range []struct {
			project int64
			id      string
		}{{1, "u1"}, {1, "u3"}, {2, "u0"}, {2, "u2"}, {2, "u3"}} {
			if n := left(who.project, who.id); n < events/8 {
				t.Errorf("%d events of %s in project %d, want all %d", n, who.id, who.project, events/8)
			}
		}
		if n := d.count(t, "SELECT count(*) FROM deleted_distinct_id"); n != 0 {
			t.Errorf("%d distinct IDs are still looked for", n)
		}
	})
}

// TestPurgeEventsOfOne deletes a person that has more events in one part of a
// search than may be deleted at once.
func TestPurgeEventsOfOne(t *testing.T) {
	onEach(t, func(t *testing.T, d *database) {
		ctx, db := t.Context(), d.open(t)
		list := make([]capture.Event, sqldb.MostPurged+1)
		for i := range list {
			list[i] = event("page", "u", "{}")
		}
		write(t, db, list...)
		deletePerson(t, db, 1, "u")
		for i, want := range []int{1, 0} {
			more, err := db.PurgeEvents(ctx)
			if n := d.count(t, "SELECT count(*) FROM event"); n != want || more != (want > 0) || err != nil {
				t.Errorf("call %d: PurgeEvents = %v, %v and leaves %d events, want %d", i+1, more, err, n, want)
			}
		}
	})
}

// deletePerson deletes the person with a distinct ID and its events.
func deletePerson(t *testing.T, db *sqldb.DB, project int64, distinctID string) {
	t.Helper()
	p, err := db.PersonByDistinctID(t.Context(), project, distinctID)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.DeletePerson(t.Context(), project, p.ID, true); err != nil {
		t.Fatal(err)
	}
}

// inProject returns an event in another project.
func inProject(project int64, e capture.Event) capture.Event {
	e.Project = project
	return e
}

// dropProject deletes a project with all its data.
func dropProject(t *testing.T, db *sqldb.DB, project int64) {
	t.Helper()
	if err := db.Projects().Delete(t.Context(), storage.ProjectID.Is(project)); err != nil {
		t.Fatal(err)
	}
	for more := true; more; {
		var err error
		if more, err = db.PurgeProjects(t.Context(), time.Now().Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
}

// TestDeletePersonLeavesNothing checks that no table has data about a deleted
// person.
func TestDeletePersonLeavesNothing(t *testing.T) {
	onEach(t, func(t *testing.T, d *database) {
		db := d.open(t)
		for _, id := range []string{"u", "v"} {
			write(t, db, event("$identify", id, fmt.Sprintf(`{"$anon_distinct_id":"anonymous-%s"}`, id)))
			if err := db.Overrides(t.Context(), 1, id, "hash", []string{"f", "g"}, func(string, string) {}); err != nil {
				t.Fatal(err)
			}
			if _, _, err := db.AddCohortMembers(t.Context(), 1, 7, uuid.Nil, []string{id}); err != nil {
				t.Fatal(err)
			}
		}
		for i, id := range []string{"u", "v"} {
			deletePerson(t, db, 1, id)
			left := 1 - i
			for table, n := range map[string]int{"person": left, "person_distinct_id": 2 * left, "hash_key_override": 2 * left, "cohort_member": left} {
				if got := d.count(t, "SELECT count(*) FROM "+table); got != n {
					t.Errorf("%d rows of %s after %d persons were deleted, want %d", got, table, i+1, n)
				}
			}
		}
	})
}

// TestDeletePersonForgets checks that no cache has data about a deleted person.
func TestDeletePersonForgets(t *testing.T) {
	db := open(t, filepath.Join(t.TempDir(), "x.db"), sqlstore.Options{MaxStale: time.Hour})
	write(t, db, event("page", "u", `{"$set":{"secret":1}}`))
	ask(t, db)
	id := who(t, db, "u")
	if diff := cmp.Diff([]string{"ids", "member", "people", "rows"}, db.Remembers(id)); diff != "" {
		t.Errorf("caches with the person (-want +got)\n%s", diff)
	}
	if err := db.DeletePerson(t.Context(), 1, id, false); err != nil {
		t.Fatal(err)
	}
	if names := db.Remembers(id); len(names) > 0 {
		t.Errorf("caches %q have the person", names)
	}
}

// TestPurgeWhenIDsComeAgain deletes the newest events, the events of a project,
// while a search has passed them. SQLite then gives their IDs to new events.
func TestPurgeWhenIDsComeAgain(t *testing.T) {
	onEach(t, func(t *testing.T, d *database) {
		db := d.open(t)
		created, err := management.Bootstrap(t.Context(), db, management.First{})
		if err != nil {
			t.Fatal(err)
		}
		gone, kept := created.Project.ID, created.Project.ID+1
		write(t, db, inProject(kept, event("page", "u", `{}`)))
		list := make([]capture.Event, 5000)
		for range sqldb.MostSearched/len(list) + 1 {
			for i := range list {
				list[i] = inProject(gone, event("page", "x", `{"$process_person_profile":false}`))
			}
			write(t, db, list...)
		}
		deletePerson(t, db, kept, "u")
		if more, err := db.PurgeEvents(t.Context()); !more || err != nil {
			t.Fatalf("PurgeEvents = %v, %v; want true, nil", more, err)
		}
		dropProject(t, db, gone)
		write(t, db, inProject(kept, event("page", "u", `{}`)))
		deletePerson(t, db, kept, "u")
		write(t, db, inProject(kept, event("page", "u", `{}`)))
		for more := true; more; {
			if more, err = db.PurgeEvents(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if n := d.count(t, "SELECT count(*) FROM event"); n != 1 {
			t.Errorf("%d events are left, want the newest", n)
		}
	})
}

// TestLatePurge runs two searches at once. The late one has found events of a
// search that has ended, and the IDs of these events belong to other events by
// now.
func TestLatePurge(t *testing.T) {
	onEach(t, func(t *testing.T, d *database) {
		ctx, db := t.Context(), d.open(t)
		created, err := management.Bootstrap(ctx, db, management.First{})
		if err != nil {
			t.Fatal(err)
		}
		gone, kept := created.Project.ID, created.Project.ID+1
		begin := func() (end func() (bool, error)) {
			t.Helper()
			end, err := db.BeginPurge(ctx)
			if err != nil {
				t.Fatal(err)
			}
			return end
		}
		u := inProject(kept, event("page", "u", `{}`))
		write(t, db, u, inProject(gone, event("page", "x", `{}`)))
		deletePerson(t, db, kept, "u")
		late := begin()
		if more, err := db.PurgeEvents(ctx); more || err != nil {
			t.Fatalf("PurgeEvents = %v, %v; want false, nil", more, err)
		}
		dropProject(t, db, gone)
		u.UUID = uuid.New()
		other := u
		other.UUID = uuid.New()
		write(t, db, u, other)
		deletePerson(t, db, kept, "u")
		inTime := begin()
		if more, err := late(); !more || err != nil {
			t.Errorf("the late one = %v, %v; want true, nil", more, err)
		}
		if n := d.count(t, "SELECT count(*) FROM event"); n != 2 {
			t.Errorf("%d events, want 2: the late one must delete nothing", n)
		}
		if more, err := inTime(); more || err != nil {
			t.Errorf("the other one = %v, %v; want false, nil", more, err)
		}
		if n := d.count(t, "SELECT count(*) FROM event"); n != 0 {
			t.Errorf("%d events, want none", n)
		}
	})
}

// TestPurgeProjectsForgetsDistinctIDs deletes a project while events of a
// deleted person are still to be deleted.
func TestPurgeProjectsForgetsDistinctIDs(t *testing.T) {
	onEach(t, func(t *testing.T, d *database) {
		ctx, db := t.Context(), d.open(t)
		created, err := management.Bootstrap(ctx, db, management.First{})
		if err != nil {
			t.Fatal(err)
		}
		id := created.Project.ID
		other := event("page", "u", `{}`)
		other.Project = id + 1
		write(t, db, event("page", "u", `{}`), other)
		for _, project := range []int64{id, id + 1} {
			deletePerson(t, db, project, "u")
		}
		if err := db.Projects().Delete(ctx, storage.ProjectID.Is(id)); err != nil {
			t.Fatal(err)
		}
		if more, err := db.PurgeProjects(ctx, time.Now().Add(time.Hour)); more || err != nil {
			t.Errorf("PurgeProjects = %v, %v", more, err)
		}
		if n := d.count(t, "SELECT count(*) FROM deleted_distinct_id"); n != 1 {
			t.Errorf("%d distinct IDs are looked for, want that of the project that stays", n)
		}
		if more, err := db.PurgeEvents(ctx); more || err != nil {
			t.Errorf("PurgeEvents = %v, %v", more, err)
		}
		if n := d.count(t, "SELECT count(*) FROM event"); n != 0 {
			t.Errorf("%d events, want none", n)
		}
	})
}

// TestLateOverride stores a hash key for a person that another process has
// deleted or merged in the meantime, unknown to the cache of this process.
func TestLateOverride(t *testing.T) {
	onEach(t, func(t *testing.T, d *database) {
		ctx, other := t.Context(), d.open(t)
		db := d.open(t)
		write(t, db, event("page", "gone", `{}`), event("page", "merged", `{}`))
		gone := who(t, db, "gone")
		for _, id := range []string{"gone", "merged"} {
			if _, err := db.AppendPerson(ctx, nil, 1, id); err != nil { // fills the cache
				t.Fatal(err)
			}
		}
		if err := other.DeletePerson(ctx, 1, gone, false); err != nil {
			t.Fatal(err)
		}
		write(t, other, event("$identify", "u", `{"$anon_distinct_id":"u2"}`), event("$identify", "u", `{"$anon_distinct_id":"merged"}`))
		for _, id := range []string{"gone", "merged"} {
			if err := db.Overrides(ctx, 1, id, "hash", []string{"flag"}, func(string, string) {}); err != nil {
				t.Fatal(err)
			}
		}
		if n := d.count(t, "SELECT count(*) FROM hash_key_override"); n != 0 {
			t.Errorf("%d hash keys of nobody", n)
		}
	})
}

// TestRecentInBounds has more events than RecentDistinctIDs reads.
func TestRecentInBounds(t *testing.T) {
	skipUnderRace(t)
	onEach(t, func(t *testing.T, d *database) {
		db := d.open(t)
		at := func(id string, time time.Time) capture.Event {
			e := event("page", id, `{"$process_person_profile":false}`)
			e.Time, e.UUID = time, capture.NewUUID(time)
			return e
		}
		check := func(since time.Time, want ...string) {
			t.Helper()
			got, gotSince, err := db.RecentDistinctIDs(t.Context(), 1, 100)
			if diff := cmp.Diff(want, got); err != nil || diff != "" || !gotSince.Equal(since) {
				t.Errorf("RecentDistinctIDs since %v: %v (-want +got)\n%s", gotSince, err, diff)
			}
		}
		day := time.Date(2026, 3, 4, 0, 0, 0, 0, time.UTC)
		list := []capture.Event{at("early", day.Add(time.Hour)), at("before", day.Add(-time.Hour))}
		for i := range 1000 {
			list = append(list, at("often", day.Add(2*time.Hour+time.Duration(i)*time.Second)))
		}
		want := []string{"often", "early", "before"}
		for i := range 40 {
			want = append(want, fmt.Sprint("day ", i))
			list = append(list, at(want[len(want)-1], day.AddDate(0, 0, -2-i)))
		}
		write(t, db, list...)
		check(day.AddDate(0, 0, -41), want...)

		busy := day.Add(12 * time.Hour)
		list = nil
		for i := range sqldb.MostRecent {
			list = append(list, at("busy", busy.Add(time.Duration(i)*time.Millisecond)))
		}
		write(t, db, list...)
		check(busy.Add(time.Duration(sqldb.MostRecent-1)*time.Millisecond), "busy")
	})
}

// TestFreshWhenUncertain makes changes whose commit reports an unknown outcome,
// but succeeds.
func TestFreshWhenUncertain(t *testing.T) {
	for name, change := range map[string]func(db *sqldb.DB, id uuid.UUID) error{
		"UpdatePerson": func(db *sqldb.DB, id uuid.UUID) error {
			_, err := db.UpdatePerson(t.Context(), 1, id, map[string]json.RawMessage{"n": json.RawMessage("2")}, nil)
			return err
		},
		"DeletePerson": func(db *sqldb.DB, id uuid.UUID) error { return db.DeletePerson(t.Context(), 1, id, false) },
		"UpdateGroup": func(db *sqldb.DB, _ uuid.UUID) error {
			_, err := db.UpdateGroup(t.Context(), 1, 0, "c", nil, []string{"n"})
			return err
		},
		"DeleteGroup": func(db *sqldb.DB, _ uuid.UUID) error { return db.DeleteGroup(t.Context(), 1, 0, "c") },
		"AddCohortPersons": func(db *sqldb.DB, id uuid.UUID) error {
			_, err := db.AddCohortPersons(t.Context(), 1, 8, []uuid.UUID{id})
			return err
		},
		"RemoveCohortPersons": func(db *sqldb.DB, id uuid.UUID) error {
			_, err := db.RemoveCohortPersons(t.Context(), 1, 7, []uuid.UUID{id})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			db, late := openFaulty(t, sqlstore.Options{MaxStale: time.Hour})
			write(t, db, event("page", "u", `{"$set":{"n":1}}`), event("$groupidentify", "u", `{"$group_type":"company","$group_key":"c","$group_set":{"n":1}}`))
			p, err := db.PersonByDistinctID(t.Context(), 1, "u")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := db.AddCohortPersons(t.Context(), 1, 7, []uuid.UUID{p.ID}); err != nil {
				t.Fatal(err)
			}
			before := ask(t, db)
			late.Store(true)
			err = change(db, p.ID)
			late.Store(false)
			if !errors.Is(err, capture.ErrUnavailable) {
				t.Errorf("%s = %v, want ErrUnavailable", name, err)
			}
			if after := ask(t, db); cmp.Equal(before, after) {
				t.Errorf("it is still %v", after)
			}
		})
	}
}
