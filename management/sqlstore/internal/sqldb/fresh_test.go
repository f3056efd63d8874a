package sqldb_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/internal/fulltest"
	"github.com/flagstaff-go/flagstaff/management/sqlstore"
	"github.com/flagstaff-go/flagstaff/management/sqlstore/internal/sqldb"
	"github.com/flagstaff-go/flagstaff/management/sqlstore/sqlite"
)

var now = time.Date(2026, 3, 4, 5, 6, 7, 890_000, time.UTC)

func open(t *testing.T, path string, o sqlstore.Options) *sqldb.DB {
	t.Helper()
	db, err := sqlite.Open(t.Context(), path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return db.(*sqldb.DB)
}

func event(name, distinctID, properties string) capture.Event {
	return capture.Event{
		Project: 1, UUID: capture.NewUUID(now), Name: name, DistinctID: distinctID,
		Time: now, Received: now, Properties: json.RawMessage(properties),
	}
}

func write(t *testing.T, db *sqldb.DB, events ...capture.Event) {
	t.Helper()
	if err := db.Write(t.Context(), events); err != nil {
		t.Fatalf("Write: %v", err)
	}
}

// ask returns everything that /flags can read about the distinct IDs a and u
// and about a group.
func ask(t *testing.T, db *sqldb.DB) map[string]string {
	t.Helper()
	answers := make(map[string]string)
	check := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, id := range []string{"a", "u"} {
		properties, err := db.AppendPerson(t.Context(), nil, 1, id)
		check(err)
		answers["person "+id] = string(properties)
		cohorts, err := db.AppendCohorts(t.Context(), nil, 1, id)
		check(err)
		answers["cohorts "+id] = fmt.Sprint(cohorts)
		rows := make(map[string]string)
		check(db.Overrides(t.Context(), 1, id, "", []string{"f", "g"}, func(flag, hash string) { rows[strings.Clone(flag)] = strings.Clone(hash) }))
		answers["rows "+id] = fmt.Sprint(rows)
	}
	properties, err := db.AppendGroup(t.Context(), nil, 1, "company", "c")
	check(err)
	answers["group"] = string(properties)
	return answers
}

// steps are a history with every kind of change, each with its effect on the
// answers.
var steps = []struct {
	name    string
	do      func(t *testing.T, db *sqldb.DB)
	changes map[string]string
}{
	{"new person", func(t *testing.T, db *sqldb.DB) {
		write(t, db, event("page", "a", `{"$set":{"n":1}}`))
	}, map[string]string{"person a": `{"n":1}`}},
	{"change of a person", func(t *testing.T, db *sqldb.DB) {
		write(t, db, event("page", "a", `{"$set":{"n":2}}`))
	}, map[string]string{"person a": `{"n":2}`}},
	{"cohort with a new person", func(t *testing.T, db *sqldb.DB) {
		if n, _, err := db.AddCohortMembers(t.Context(), 1, 7, uuid.Nil, []string{"a", "u"}); n != 2 || err != nil {
			t.Fatalf("AddCohortMembers = %d, %v; want 2, nil", n, err)
		}
	}, map[string]string{"cohorts a": "[7]", "cohorts u": "[7]", "person u": "{}"}},
	{"no member any more", func(t *testing.T, db *sqldb.DB) {
		ids, err := db.PersonIDs(t.Context(), 1, []string{"u"})
		if err != nil {
			t.Fatal(err)
		}
		if n, err := db.RemoveCohortPersons(t.Context(), 1, 7, []uuid.UUID{ids["u"]}); n != 1 || err != nil {
			t.Fatalf("RemoveCohortPersons = %d, %v; want 1, nil", n, err)
		}
	}, map[string]string{"cohorts u": "[]"}},
	{"override", func(t *testing.T, db *sqldb.DB) {
		if err := db.Overrides(t.Context(), 1, "a", "h", []string{"f"}, func(string, string) {}); err != nil {
			t.Fatal(err)
		}
	}, map[string]string{"rows a": "map[f:h]"}},
	{"merge", func(t *testing.T, db *sqldb.DB) {
		write(t, db, event("$identify", "u", `{"$anon_distinct_id":"a","$set":{"m":1}}`))
	}, map[string]string{
		"person a": `{"n":2,"m":1}`, "person u": `{"n":2,"m":1}`,
		"cohorts u": "[7]", "rows u": "map[f:h]",
	}},
	{"change by another distinct ID", func(t *testing.T, db *sqldb.DB) {
		write(t, db, event("page", "u", `{"$unset":["n"]}`))
	}, map[string]string{"person a": `{"m":1}`, "person u": `{"m":1}`}},
	{"override of the merged person", func(t *testing.T, db *sqldb.DB) {
		if err := db.Overrides(t.Context(), 1, "u", "i", []string{"f", "g"}, func(string, string) {}); err != nil {
			t.Fatal(err)
		}
	}, map[string]string{"rows a": "map[f:h g:i]", "rows u": "map[f:h g:i]"}},
	{"new group", func(t *testing.T, db *sqldb.DB) {
		write(t, db, event("$groupidentify", "u", `{"$group_type":"company","$group_key":"c","$group_set":{"x":1}}`))
	}, map[string]string{"group": `{"x":1}`}},
	{"change of a group", func(t *testing.T, db *sqldb.DB) {
		write(t, db, event("$groupidentify", "u", `{"$group_type":"company","$group_key":"c","$group_set":{"x":2}}`))
	}, map[string]string{"group": `{"x":2}`}},
	{"change of a person by hand", func(t *testing.T, db *sqldb.DB) {
		if _, err := db.UpdatePerson(t.Context(), 1, who(t, db, "u"), map[string]json.RawMessage{"n": json.RawMessage("3")}, []string{"m"}); err != nil {
			t.Fatal(err)
		}
	}, map[string]string{"person a": `{"n":3}`, "person u": `{"n":3}`}},
	{"change of a group by hand", func(t *testing.T, db *sqldb.DB) {
		if _, err := db.UpdateGroup(t.Context(), 1, 0, "c", map[string]json.RawMessage{"y": json.RawMessage("3")}, []string{"x"}); err != nil {
			t.Fatal(err)
		}
	}, map[string]string{"group": `{"y":3}`}},
	{"another cohort", func(t *testing.T, db *sqldb.DB) {
		if n, err := db.AddCohortPersons(t.Context(), 1, 8, []uuid.UUID{who(t, db, "u")}); n != 1 || err != nil {
			t.Fatalf("AddCohortPersons = %d, %v; want 1, nil", n, err)
		}
	}, map[string]string{"cohorts a": "[7 8]", "cohorts u": "[7 8]"}},
	{"no person of a cohort any more", func(t *testing.T, db *sqldb.DB) {
		if n, err := db.RemoveCohortPersons(t.Context(), 1, 7, []uuid.UUID{who(t, db, "u")}); n != 1 || err != nil {
			t.Fatalf("RemoveCohortPersons = %d, %v; want 1, nil", n, err)
		}
	}, map[string]string{"cohorts a": "[8]", "cohorts u": "[8]"}},
	{"deleted group", func(t *testing.T, db *sqldb.DB) {
		if err := db.DeleteGroup(t.Context(), 1, 0, "c"); err != nil {
			t.Fatal(err)
		}
	}, map[string]string{"group": ""}},
	{"deleted person", func(t *testing.T, db *sqldb.DB) {
		if err := db.DeletePerson(t.Context(), 1, who(t, db, "u"), true); err != nil {
			t.Fatal(err)
		}
	}, map[string]string{
		"person a": "", "person u": "", "cohorts a": "[]", "cohorts u": "[]", "rows a": "map[]", "rows u": "map[]",
	}},
	{"person who is back", func(t *testing.T, db *sqldb.DB) {
		write(t, db, event("page", "u", `{"$set":{"n":4}}`))
	}, map[string]string{"person u": `{"n":4}`}},
}

// who returns the person with a distinct ID.
func who(t *testing.T, db *sqldb.DB, distinctID string) uuid.UUID {
	t.Helper()
	p, err := db.PersonByDistinctID(t.Context(), 1, distinctID)
	if err != nil {
		t.Fatal(err)
	}
	return p.ID
}

var nothing = map[string]string{
	"person a": "", "person u": "", "cohorts a": "[]", "cohorts u": "[]", "rows a": "map[]", "rows u": "map[]", "group": "",
}

// TestFreshAfterWrites checks that a process sees its own writes at once,
// although everything was cached before each write.
func TestFreshAfterWrites(t *testing.T) {
	db := open(t, filepath.Join(t.TempDir(), "x.db"), sqlstore.Options{MaxStale: time.Hour})
	want := maps.Clone(nothing)
	for range 2 {
		if diff := cmp.Diff(want, ask(t, db)); diff != "" {
			t.Fatalf("at first (-want +got)\n%s", diff)
		}
	}
	for _, step := range steps {
		step.do(t, db)
		maps.Copy(want, step.changes)
		for range 2 {
			if diff := cmp.Diff(want, ask(t, db)); diff != "" {
				t.Errorf("after %s (-want +got)\n%s", step.name, diff)
			}
		}
	}
}

// TestFreshAcrossProcesses checks how soon a second DB on the same file sees
// changes.
func TestFreshAcrossProcesses(t *testing.T) {
	for _, tt := range []struct {
		name     string
		maxStale time.Duration
		fresh    bool
	}{
		{"without a cache", -1, true},
		{"with a tiny MaxStale", 1, true},
		{"with a long MaxStale", time.Hour, false}, // shows that there is a cache
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "x.db")
			writer := open(t, path, sqlstore.Options{})
			reader := open(t, path, sqlstore.Options{MaxStale: tt.maxStale})
			want := maps.Clone(nothing)
			ask(t, reader)
			for _, step := range steps {
				step.do(t, writer)
				if tt.fresh {
					maps.Copy(want, step.changes)
				}
				if diff := cmp.Diff(want, ask(t, reader)); diff != "" {
					t.Errorf("after %s (-want +got)\n%s", step.name, diff)
				}
			}
		})
	}
}

// TestRuling75ThroughAnotherNode: a node that asks all the time, and has what it was
// told in its cache, sees the changes that another node has acknowledged within a
// second (wire.md §3.7).
func TestRuling75ThroughAnotherNode(t *testing.T) {
	onEach(t, func(t *testing.T, d *database) {
		writer, reader := d.open(t), d.open(t) // with the default options
		for n, step := range steps[:fulltest.Count(1, 3)] {
			before := ask(t, reader)
			step.do(t, writer)
			want := maps.Clone(before)
			maps.Copy(want, step.changes)
			for acknowledged := time.Now(); ; time.Sleep(time.Millisecond) { // of a poll
				late := time.Since(acknowledged) >= time.Second // before the reader is asked
				diff := cmp.Diff(want, ask(t, reader))
				if diff == "" {
					break
				}
				if late {
					t.Fatalf("%d. a second after %s (-want +got)\n%s", n, step.name, diff)
				}
			}
		}
	})
}

// TestFreshWhenRepeated repeats a write whose first outcome was not known. The
// second DB finds that its events are stored already, and must still not answer
// with older values.
func TestFreshWhenRepeated(t *testing.T) {
	db, late := openFaulty(t, sqlstore.Options{MaxStale: time.Hour})
	write(t, db, event("page", "u", `{"$set":{"n":1}}`))
	ask(t, db)
	e := event("page", "u", `{"$set":{"n":2}}`)
	late.Store(true)
	if err := db.Write(t.Context(), []capture.Event{e}); err == nil {
		t.Fatal("Write = nil, want the failure of its commit")
	}
	late.Store(false)
	write(t, db, e)
	if got := ask(t, db)["person u"]; got != `{"n":2}` {
		t.Errorf("person = %s after the write was acknowledged, want n = 2", got)
	}
}

// TestFreshConcurrently checks that no reader sees a value older than the last
// one that was acknowledged to it, with a cache that is too small, readers that
// fill it, and persons that merge.
func TestFreshConcurrently(t *testing.T) {
	db := open(t, filepath.Join(t.TempDir(), "x.db"), sqlstore.Options{MaxStale: time.Hour, CacheEntries: 128})
	const writers, writes = 4, 60
	property := func(id, name string) int {
		properties, err := db.AppendPerson(t.Context(), nil, 1, id)
		if err != nil {
			t.Error(err)
			return 0
		}
		var values map[string]int
		if err := json.Unmarshal(append([]byte(nil), properties...), &values); err != nil && len(properties) > 0 {
			t.Errorf("%s: %v", properties, err)
		}
		return values[name]
	}
	var acknowledged [writers]atomic.Int64
	done := make(chan struct{})
	var readers, all sync.WaitGroup
	for r := range 2 {
		readers.Go(func() {
			for i := r; ; i++ {
				select {
				case <-done:
					return
				default:
				}
				name := fmt.Sprint("w", i%writers)
				least := acknowledged[i%writers].Load()
				if n := property("shared", name); n < int(least) {
					t.Errorf("%s is %d after %d was stored", name, n, least)
					return
				}
				property(fmt.Sprint("other-", i%500), name)
			}
		})
	}
	for g := range writers {
		all.Go(func() {
			name := fmt.Sprint("w", g)
			for n := 1; n <= writes; n++ {
				ids := []string{"shared", fmt.Sprintf("%s-%d", name, n)}
				e := []capture.Event{event("page", "shared", fmt.Sprintf(`{"$set":{%q:%d}}`, name, n))}
				if n%5 == 0 { // two persons first, the same person later
					e = append(e, event("page", ids[1], `{}`), event("$identify", "shared", fmt.Sprintf(`{"$anon_distinct_id":%q}`, ids[1])))
				} else {
					ids = ids[:1]
				}
				for _, id := range slices.Backward(ids) {
					property(id, name) // fills the cache
				}
				if err := db.Write(t.Context(), e); err != nil {
					t.Errorf("Write: %v", err)
					return
				}
				acknowledged[g].Store(int64(n))
				for _, id := range ids {
					if got := property(id, name); got < n {
						t.Errorf("%s of %s is %d after %d was stored", name, id, got, n)
						return
					}
				}
			}
		})
	}
	all.Wait()
	close(done)
	readers.Wait()
}
