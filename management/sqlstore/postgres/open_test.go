package postgres_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/management/sqlstore"
	"github.com/flagstaff-go/flagstaff/management/sqlstore/postgres"
	"github.com/flagstaff-go/flagstaff/management/sqlstore/postgres/postgrestest"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

func TestOpenErrors(t *testing.T) {
	const password = "Sesame99"
	missing := t.TempDir() // no server has a socket in this folder
	for _, tt := range []struct{ name, dsn string }{
		{"not a number", "postgres://u:" + password + "@localhost:port/db"},
		{"not a URL", "postgres://u:" + password + "@local host/%zz"},
		{"not key=value", "user=u password=" + password + " sslmode=maybe"},
		{"unknown word", password},
		{"no server", "postgres://u:" + password + "@/db?host=" + missing},
		{"no server, key=value", "user=u password=" + password + " dbname=db host=" + missing},
		{"unknown option", "postgres://u:" + password + "@/db?host=" + missing + "&nonsense=1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			db, err := postgres.Open(t.Context(), tt.dsn, sqlstore.Options{})
			if err == nil {
				_ = db.Close()
				t.Fatal("Open = nil, want an error")
			}
			for text := range strings.SplitSeq(fmt.Sprintf("%v\n%+v\n%#v", err, err, err), "\n") {
				if strings.Contains(text, password) {
					t.Errorf("the error has the password: %s", text)
				}
			}
			if !strings.HasPrefix(err.Error(), "postgres: ") {
				t.Errorf("Open = %v, want it to begin with postgres:", err)
			}
		})
	}
}

// TestMustExist: no schema is made in a database that must have one.
func TestMustExist(t *testing.T) {
	url := postgrestest.Open(t)
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	if _, err := conn.Exec(t.Context(), "DROP SCHEMA public CASCADE; CREATE SCHEMA public"); err != nil {
		t.Fatal(err)
	}
	existing := sqlstore.Options{MustExist: true}
	for range 2 {
		if _, err := postgres.Open(t.Context(), url, existing); !errors.Is(err, sqlstore.ErrNoStore) {
			t.Errorf("Open = %v, want ErrNoStore", err)
		}
		if _, err := postgres.Inspect(t.Context(), url); !errors.Is(err, sqlstore.ErrNoStore) {
			t.Errorf("Inspect = %v, want ErrNoStore", err)
		}
	}
	open(t, url)
	if state, err := postgres.Inspect(t.Context(), url); err != nil || state.Version == 0 || len(state.Pending) > 0 || state.Secrets == nil {
		t.Errorf("Inspect = %+v, %v; want a store without pending migrations", state, err)
	}
	db, err := postgres.Open(t.Context(), url, existing)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
}

// TestBadEvents checks that events that cannot be stored, which a Collector
// would have refused, do not keep other events from being stored.
func TestBadEvents(t *testing.T) {
	db := open(t, postgrestest.Open(t))
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	var events []capture.Event
	for i := range 8 {
		events = append(events, capture.Event{
			Project: 1, UUID: capture.NewUUID(now), Name: "page", DistinctID: fmt.Sprint("user-", i), Time: now, Received: now,
			Properties: json.RawMessage(`{"$set":{"a":"b\u0000"}}`), // this event is valid
		})
	}
	events[1].Name = "NUL \x00"
	events[4].DistinctID = "not UTF-8 \xff"
	events[5].Properties = json.RawMessage("{\"\xff\":1}")
	var got []int
	var collect func(error)
	collect = func(err error) {
		switch e := err.(type) {
		case *capture.EventError:
			got = append(got, e.Index)
		case interface{ Unwrap() []error }:
			for _, inner := range e.Unwrap() {
				collect(inner)
			}
		default:
			t.Fatalf("error %v is a %T, want *capture.EventError", err, err)
		}
	}
	collect(db.Write(t.Context(), events))
	if diff := cmp.Diff([]int{1, 4, 5}, got); diff != "" {
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
	if diff := cmp.Diff([]string{"user-0", "user-2", "user-3", "user-6", "user-7"}, stored); diff != "" {
		t.Errorf("stored (-want +got)\n%s", diff)
	}
	if got, err := db.AppendPerson(t.Context(), nil, 1, "user-7"); string(got) != `{"a":"b\u0000"}` || err != nil {
		t.Errorf("AppendPerson = %s, %v", got, err)
	}
}
