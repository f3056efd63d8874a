package sqldb_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/management/sqlstore"
	"github.com/flagstaff-go/flagstaff/management/sqlstore/internal/sqldb"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// openFaulty opens an SQLite database that refuses events named "bad". While
// late is true, it reports commits as failed although they succeeded.
func openFaulty(t *testing.T, o sqlstore.Options) (db *sqldb.DB, late *atomic.Bool) {
	t.Helper()
	late = new(atomic.Bool)
	name := "file:" + filepath.Join(t.TempDir(), "x.db") + "?_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)"
	plain, err := sql.Open("sqlite", name)
	if err != nil {
		t.Fatal(err)
	}
	pool := sql.OpenDB(&connector{plain.Driver(), name, late})
	db, err = sqldb.New(t.Context(), plain, pool, sqldb.Dialect{Fault: func(err error) sqldb.Fault {
		if strings.Contains(err.Error(), "bad event") {
			return sqldb.BadData
		}
		return sqldb.Unavailable
	}}, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	if _, err := pool.ExecContext(t.Context(), `CREATE TRIGGER refuse BEFORE INSERT ON event WHEN NEW.name = 'bad'
		BEGIN SELECT RAISE(ABORT, 'bad event'); END`); err != nil {
		t.Fatal(err)
	}
	return db, late
}

// A connector opens connections whose COMMIT may fail late.
type connector struct {
	d    driver.Driver
	name string
	late *atomic.Bool
}

func (c *connector) Driver() driver.Driver { return c.d }

func (c *connector) Connect(context.Context) (driver.Conn, error) {
	inner, err := c.d.Open(c.name)
	if err != nil {
		return nil, err
	}
	return &conn{inner.(innerConn), c.late}, nil
}

type innerConn interface {
	driver.Conn
	driver.ConnPrepareContext
	driver.ConnBeginTx
	driver.ExecerContext
	driver.QueryerContext
}

type conn struct {
	innerConn
	late *atomic.Bool
}

func (c *conn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	s, err := c.innerConn.PrepareContext(ctx, query)
	if err != nil || query != "COMMIT" {
		return s, err
	}
	return &commit{s.(innerStmt), c.late}, nil
}

type innerStmt interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

type commit struct {
	innerStmt
	late *atomic.Bool
}

func (s *commit) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	r, err := s.innerStmt.ExecContext(ctx, args)
	if err == nil && s.late.Load() {
		return nil, errors.New("the answer is lost")
	}
	return r, err
}

// eventErrors returns the indexes of the EventErrors that err joins. It fails
// the test if err has any other error.
func eventErrors(t *testing.T, err error) []int {
	t.Helper()
	var list []int
	if e, ok := err.(interface{ Unwrap() []error }); ok {
		for _, inner := range e.Unwrap() {
			list = append(list, eventErrors(t, inner)...)
		}
		return list
	}
	e, ok := err.(*capture.EventError)
	if !ok {
		t.Fatalf("error %v is a %T, want *capture.EventError", err, err)
	}
	return []int{e.Index}
}

// TestBadEvents checks that events that cannot be stored do not keep other
// events from being stored.
func TestBadEvents(t *testing.T) {
	for _, bad := range [][]int{{0}, {6}, {3}, {2, 3}, {0, 1, 2, 3, 4, 5, 6}} {
		t.Run(fmt.Sprint(bad), func(t *testing.T) {
			db, _ := openFaulty(t, sqlstore.Options{})
			var events []capture.Event
			var want []string
			for i := range 7 {
				id := fmt.Sprint("user-", i)
				e := event("page", id, `{"$set":{"a":1}}`)
				if slices.Contains(bad, i) {
					e.Name = "bad"
				} else {
					want = append(want, id)
				}
				events = append(events, e)
			}
			got := eventErrors(t, db.Write(t.Context(), events))
			slices.Sort(got)
			if diff := cmp.Diff(bad, got); diff != "" {
				t.Errorf("indexes (-want +got)\n%s", diff)
			}
			var stored []string
			for e, err := range db.AllEvents(t.Context(), 1, storage.EventFilter{}) {
				if err != nil {
					t.Fatal(err)
				}
				stored = append(stored, e.DistinctID)
			}
			slices.Sort(stored)
			if diff := cmp.Diff(want, stored); diff != "" {
				t.Errorf("stored (-want +got)\n%s", diff)
			}
			for i := range events {
				properties, err := db.AppendPerson(t.Context(), nil, 1, events[i].DistinctID)
				if err != nil {
					t.Fatal(err)
				}
				if got, want := len(properties) > 0, !slices.Contains(bad, i); got != want {
					t.Errorf("person of event %d exists: %v, want %v", i, got, want)
				}
			}
		})
	}
}
