package sqldb_test

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/management/sqlstore"
	"github.com/flagstaff-go/flagstaff/management/sqlstore/postgres"
	"github.com/flagstaff-go/flagstaff/management/sqlstore/sqlite"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// openWith opens the database with extensions.
func (d *database) openWith(t *testing.T, extensions ...sqlstore.Extension) (sqlstore.Storage, error) {
	t.Helper()
	open := sqlite.Open
	if d.postgres {
		open = postgres.Open
	}
	store, err := open(t.Context(), d.url, sqlstore.Options{Extensions: extensions})
	if err == nil {
		t.Cleanup(func() {
			if err := store.Close(); err != nil {
				t.Errorf("Close: %v", err)
			}
		})
	}
	return store, err
}

// visits is an extension that keeps who was seen when.
func visits(versions int) sqlstore.Extension {
	files := make(fstest.MapFS)
	for _, m := range []struct{ file, sqlite, postgres string }{
		{
			"0001_visit.sql", "CREATE TABLE visit (id integer PRIMARY KEY, project_id integer, who text, event blob, at integer)",
			"CREATE TABLE visit (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, project_id bigint, who text, event uuid, at timestamptz)",
		},
		{"0002_index.sql", "CREATE INDEX visit_by_who ON visit (project_id, who)", "CREATE INDEX visit_by_who ON visit (project_id, who)"},
	}[:versions] {
		files["sqlite/"+m.file] = &fstest.MapFile{Data: []byte("-- +goose Up\n" + m.sqlite + ";\n")}
		files["postgres/"+m.file] = &fstest.MapFile{Data: []byte("-- +goose Up\n" + m.postgres + ";\n")}
	}
	return sqlstore.Extension{
		Name: "visits", Migrations: files,
		Stored: func(ctx context.Context, tx storage.Tx, events []capture.Event) error {
			for _, e := range events {
				if e.Name == "refused" {
					return errors.New("refused")
				}
				if _, err := tx.Exec(ctx, "INSERT INTO visit (project_id, who, event, at) VALUES (?, ?, ?, ?)", e.Project, e.DistinctID, e.UUID, e.Time); err != nil {
					return err
				}
			}
			return nil
		},
		Erased: func(ctx context.Context, tx storage.Tx, project int64, distinctIDs []string, before time.Time) error {
			statement, args := "DELETE FROM visit WHERE project_id = ? AND who IN (?)", []any{project, distinctIDs}
			if !before.IsZero() {
				statement, args = statement+" AND at < ?", append(args, before)
			}
			_, err := tx.Exec(ctx, statement, args...)
			return err
		},
		Tables: []sqlstore.Table{{Name: "visit", Key: "id", By: "who"}},
	}
}

// TestExtensions: an extension keeps its tables in step with the events of the store.
func TestExtensions(t *testing.T) {
	onEach(t, func(t *testing.T, d *database) {
		ctx := t.Context()
		store, err := d.openWith(t, visits(1))
		if err != nil {
			t.Fatal(err)
		}
		tx, err := store.Extension("visits")
		if err != nil {
			t.Fatal(err)
		}
		left := func(what string, want ...string) {
			t.Helper()
			var got []string
			err := tx.Query(ctx, "SELECT who, at FROM visit ORDER BY id", nil, func(r *sql.Rows) error {
				var who string
				var at time.Time
				err := r.Scan(&who, sqlstore.Moment{Time: &at})
				got = append(got, who+" "+at.Format(time.DateOnly))
				return err
			})
			if diff := cmp.Diff(want, got); err != nil || diff != "" {
				t.Errorf("%s: %v (-want +got)\n%s", what, err, diff)
			}
		}
		a, b, old := event("page", "a", `{}`), event("page", "b", `{}`), event("page", "b", `{}`)
		old.Time = now.AddDate(0, 0, -9)
		if err := store.Write(ctx, []capture.Event{a, b, old}); err != nil {
			t.Fatal(err)
		}
		if err := store.Write(ctx, []capture.Event{a, event("page", "c", `{}`)}); err != nil { // a is not new
			t.Fatal(err)
		}
		left("stored", "a 2026-03-04", "b 2026-03-04", "b 2026-02-23", "c 2026-03-04")
		if err := store.Write(ctx, []capture.Event{event("page", "d", `{}`), event("refused", "d", `{}`)}); err == nil {
			t.Error("events are stored, and the extension has refused them")
		}
		if p, err := store.AppendPerson(ctx, nil, 1, "d"); len(p) > 0 || err != nil {
			t.Errorf("the transaction has left a person: %s, %v", p, err)
		}

		var events []uuid.UUID
		for _, args := range [][]any{{[]string{"a", "x"}}, {[]string{}}} {
			err := tx.Query(ctx, "SELECT event FROM visit WHERE who IN (?)", args, func(r *sql.Rows) error {
				events = append(events, uuid.Nil)
				return r.Scan(&events[len(events)-1])
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		n, err := tx.Exec(ctx, "UPDATE visit SET who = 'A' WHERE event IN (?)", []uuid.UUID{a.UUID, uuid.New()})
		if n != 1 || err != nil || !slices.Equal(events, []uuid.UUID{a.UUID}) {
			t.Errorf("%d changed, %v; %v selected, want %v", n, err, events, a.UUID)
		}

		for more := true; more; {
			if _, more, err = store.ExpireEvents(ctx, storage.EventExpiry{Before: now.AddDate(0, 0, -5)}); err != nil {
				t.Fatal(err)
			}
		}
		left("without old events", "A 2026-03-04", "b 2026-03-04", "c 2026-03-04")
		p, err := store.PersonByDistinctID(ctx, 1, "b")
		if err != nil {
			t.Fatal(err)
		}
		if err := store.DeletePerson(ctx, 1, p.ID, true); err != nil {
			t.Fatal(err)
		}
		left("without b", "A 2026-03-04", "c 2026-03-04")

		if err := store.Atomic(ctx, func(s storage.Store) error {
			inside, err := s.Extension("visits")
			if err == nil {
				_, err = inside.Exec(ctx, "DELETE FROM visit")
			}
			return errors.Join(err, errors.New("undone"))
		}); err == nil || !strings.Contains(err.Error(), "undone") {
			t.Error(err)
		}
		left("after a transaction that failed", "A 2026-03-04", "c 2026-03-04")

		d.exec(t, "INSERT INTO deleted_project (project_id, deleted_at) SELECT 1, received_at FROM event LIMIT 1")
		for more := true; more; {
			if more, err = store.PurgeProjects(ctx, time.Now()); err != nil {
				t.Fatal(err)
			}
		}
		left("without the project")
	})
}

// TestExtensionVersions: the tables of an extension have a version of their own.
func TestExtensionVersions(t *testing.T) {
	onEach(t, func(t *testing.T, d *database) {
		inspect := sqlite.Inspect
		if d.postgres {
			inspect = postgres.Inspect
		}
		pending := func(want []string, extensions ...sqlstore.Extension) {
			t.Helper()
			state, err := inspect(t.Context(), d.url, extensions...)
			if err != nil || !slices.Equal(state.Pending, want) {
				t.Errorf("Inspect = %+v, %v; want %v pending", state, err, want)
			}
		}
		without, err := d.openWith(t)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := without.Extension("visits"); err == nil {
			t.Error("Extension of a store without the extension succeeds")
		}
		pending(nil)
		pending([]string{"visits/0001_visit", "visits/0002_index"}, visits(2))
		if _, err := d.openWith(t, visits(1)); err != nil {
			t.Fatal(err)
		}
		pending([]string{"visits/0002_index"}, visits(2))
		if _, err := d.openWith(t, visits(2)); err != nil {
			t.Fatal(err)
		}
		pending(nil, visits(2))
		if _, err := d.openWith(t, visits(1)); !errors.Is(err, sqlstore.ErrNewer) || !strings.Contains(err.Error(), "visits_db_version has version 2") {
			t.Errorf("open with an older extension = %v, want ErrNewer", err)
		}
	})
}

// TestLongQueryEnds: what an extension reads ends when nobody waits for it any more.
func TestLongQueryEnds(t *testing.T) {
	onEach(t, func(t *testing.T, d *database) {
		store, err := d.openWith(t, visits(1))
		if err != nil {
			t.Fatal(err)
		}
		tx, err := store.Extension("visits")
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		const endless = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i % 7 + 1 FROM n) SELECT count(*) FROM n"
		if err := tx.Query(ctx, endless, nil, func(*sql.Rows) error { return nil }); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Query = %v, want %v", err, context.DeadlineExceeded)
		}
		n := 0
		if err := tx.Query(t.Context(), "SELECT 1", nil, func(*sql.Rows) error { n++; return nil }); n != 1 || err != nil {
			t.Errorf("Query after it: %d rows, %v", n, err)
		}
	})
}
