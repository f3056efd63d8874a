package storetest_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/management/sqlstore"
	"github.com/flagstaff-go/flagstaff/management/sqlstore/postgres"
	"github.com/flagstaff-go/flagstaff/management/sqlstore/postgres/postgrestest"
	"github.com/flagstaff-go/flagstaff/management/sqlstore/sqlite"
	"github.com/flagstaff-go/flagstaff/management/storage"
	"github.com/flagstaff-go/flagstaff/surveys"
)

func TestMain(m *testing.M) { os.Exit(postgrestest.Main(m)) }

// A suite is a store with its surveys.
type suite struct {
	sqlstore.Storage
	*surveys.Data
	now   time.Time
	again func(t *testing.T) *suite
}

// onEach runs a test with an empty database of each kind.
func onEach(t *testing.T, test func(t *testing.T, d *database)) {
	t.Run("SQLite", func(t *testing.T) {
		t.Parallel()
		test(t, &database{url: filepath.Join(t.TempDir(), "x.db")})
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		t.Parallel()
		test(t, &database{postgres: true, url: postgrestest.Open(t)})
	})
}

// A database is one of SQLite or PostgreSQL.
type database struct {
	postgres bool
	url      string
}

// open opens the database, as another process if it is open already.
func (d *database) open(t *testing.T, extensions ...sqlstore.Extension) *suite {
	t.Helper()
	open := sqlite.Open
	if d.postgres {
		open = postgres.Open
	}
	store, err := open(t.Context(), d.url, sqlstore.Options{Extensions: extensions})
	must(t, err)
	t.Cleanup(func() { must(t, store.Close()) })
	var data *surveys.Data
	if len(extensions) > 0 {
		data, err = surveys.DataIn(store)
		must(t, err)
	}
	return &suite{
		Storage: store, Data: data, now: time.Date(2026, 3, 4, 5, 6, 7, 890_000, time.UTC),
		again: func(t *testing.T) *suite { return d.open(t, extensions...) },
	}
}

func TestStore(t *testing.T) {
	for name, test := range map[string]func(*testing.T, *suite){
		"surveys": testSurveys, "lists of surveys": testSurveyLists, "scheduled surveys": testScheduledSurveys,
		"rules (management.md §10.2)": testSurveyRules, "queries": testSurveyQueries, "responses": testSurveyResponses,
		"archived responses": testArchivedResponses, "deleted projects": testPurgedSurveys, "deleted persons": testSurveysOfDeletedPersons,
		"concurrent responses": testConcurrentSurveys, "random histories": testSurveyHistories,
	} {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(t *testing.T, d *database) { test(t, d.open(t, surveys.Extension())) })
		})
	}
}

// another is the store as another process sees it.
func (s *suite) another(t *testing.T) *suite { return s.again(t) }

// event returns an event of project 1.
func (s *suite) event(name, distinctID, properties string) capture.Event {
	return capture.Event{
		Project: 1, UUID: capture.NewUUID(s.now), Name: name, DistinctID: distinctID,
		Time: s.now, Received: s.now, Properties: json.RawMessage(properties),
	}
}

func (s *suite) write(t *testing.T, events ...capture.Event) {
	t.Helper()
	must(t, s.Write(t.Context(), events))
}

func (s *suite) stored(t *testing.T, project int64) (list []capture.Event) {
	t.Helper()
	for e, err := range s.AllEvents(t.Context(), project, storage.EventFilter{}) {
		must(t, err)
		list = append(list, e)
	}
	return list
}

func (s *suite) user(t *testing.T, name string) *storage.User {
	t.Helper()
	u := &storage.User{UUID: uuid.New(), DistinctID: "of " + name, Active: true, Joined: s.now, Email: name + "@example.com"}
	must(t, s.Users().Create(t.Context(), u))
	return u
}

func (s *suite) organization(t *testing.T, slug string) *storage.Organization {
	t.Helper()
	o := &storage.Organization{ID: uuid.New(), Name: slug, Slug: slug, Created: s.now, Updated: s.now}
	must(t, s.Organizations().Create(t.Context(), o))
	return o
}

func (s *suite) project(t *testing.T, o *storage.Organization) *storage.Project {
	t.Helper()
	p := storage.NewProject(o, "a project")
	must(t, s.Projects().Create(t.Context(), p))
	return p
}

func (s *suite) flag(t *testing.T, p *storage.Project, key string) *storage.Flag {
	t.Helper()
	f := &storage.Flag{Project: p.ID, Key: key, Created: s.now, Updated: s.now}
	must(t, s.Flags().Create(t.Context(), f))
	return f
}

// want returns a function that checks what a call returns.
func want(t *testing.T, call string, value any) func(got any, err error) {
	return func(got any, err error) {
		t.Helper()
		if diff := cmp.Diff(value, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got)\n%s", call, err, diff)
		}
	}
}

// wantPage is want for calls that return a page of a list.
func wantPage(t *testing.T, call string, value any, total int) func(got any, all int, err error) {
	return func(got any, all int, err error) {
		t.Helper()
		if want(t, call, value)(got, err); all != total {
			t.Errorf("%s: total %d, want %d", call, all, total)
		}
	}
}

// wantErr returns a function that checks the error of a call.
func wantErr(t *testing.T, call string, target error) func(_ any, err error) {
	return func(_ any, err error) {
		t.Helper()
		wantError(t, call, target, err)
	}
}

func wantError(t *testing.T, call string, target, err error) {
	t.Helper()
	if !errors.Is(err, target) {
		t.Errorf("%s: error %v, want %v", call, err, target)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// wantAllSet checks that a test sets all fields of a struct, those included that
// it will have one day.
func wantAllSet(t *testing.T, v any) {
	t.Helper()
	for field, value := range reflect.ValueOf(v).Fields() {
		if value.IsZero() {
			t.Errorf("the test does not set %T.%s", v, field.Name)
		}
	}
}

// alternate sets the booleans of a struct by a bit of the number that each of them
// has, so that any two of up to sixteen differ for one of the bits 0 to 3.
// Strings that can be nil are empty or nil.
func alternate(v any, bit int) {
	n := 0
	for _, value := range reflect.ValueOf(v).Elem().Fields() {
		on := n>>bit&1 == 1
		switch value.Interface().(type) {
		case bool:
			value.SetBool(on)
		case *bool:
			value.Set(reflect.ValueOf(&on))
		case *string:
			value.SetZero()
			if on {
				value.Set(reflect.ValueOf(new("")))
			}
		default:
			continue
		}
		n++
	}
}
