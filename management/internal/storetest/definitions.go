package storetest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/management/sqlstore"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// define calls DefineEvents until the names have an event: on PostgreSQL, it has to wait for
// the transactions that others have begun before.
func (s *suite) define(t *testing.T, store sqlstore.Storage, e capture.Event) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; {
		_, err := store.DefineEvents(t.Context())
		must(t, err)
		list, _, err := store.Definitions(t.Context(), e.Project, storage.DefinesEvent, e.Name, 10, 0)
		must(t, err)
		if slices.ContainsFunc(list, func(d storage.Definition) bool { return d.Name == e.Name && !d.Last.Before(e.Time) }) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("after a minute, the names do not have %s of %v: %v", e.Name, e.Time, list)
		}
	}
}

func testDefinitions(t *testing.T, s *suite) {
	at := func(e capture.Event, minutes int) capture.Event {
		e.Time = s.now.Add(time.Duration(minutes) * time.Minute)
		return e
	}
	s.write(t,
		at(s.event("page", "u", `{"path":"/","n":1,"on":true,"at":"2026-03-04T05:06:07Z","day":"2026-03-04","mixed":1,"odd":null,"list":[1]}`), 5),
		at(s.event("page", "u", `{"mixed":"x","odd":2,"$set":{"plan":"pro"},"$set_once":{"first":"2026-03-04"}}`), 3),
		at(s.event("Page view", "v", `{"n":2.5,"$set":{"plan":"free"}}`), 9),
		at(s.event("$groupidentify", "u", `{"$group_type":"company","$group_key":"acme","$group_set":{"seats":5}}`), 1),
	)
	other := s.event("elsewhere", "u", `{}`)
	other.Project = 2
	s.write(t, other)
	list := func(store sqlstore.Storage, project int64, kind storage.DefinitionKind, search string, limit, offset int) []string {
		t.Helper()
		found, total, err := store.Definitions(t.Context(), project, kind, search, limit, offset)
		must(t, err)
		lines := []string{fmt.Sprint(total)}
		for _, d := range found {
			lines = append(lines, fmt.Sprintf("%s %s %v %v", d.Name, d.Type, d.First.Sub(s.now), d.Last.Sub(s.now)))
		}
		return lines
	}
	check := func(what string, want, got []string) {
		t.Helper()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", what, diff)
		}
	}
	check("before DefineEvents", []string{"0"}, list(s.Storage, 1, storage.DefinesEvent, "", 10, 0))
	s.define(t, s.Storage, other)
	for _, store := range []sqlstore.Storage{s.Storage, s.another(t)} {
		check("events", []string{"3", "$groupidentify  1m0s 1m0s", "Page view  9m0s 9m0s", "page  3m0s 5m0s"},
			list(store, 1, storage.DefinesEvent, "", 10, 0))
		check("search", []string{"2", "page  3m0s 5m0s"}, list(store, 1, storage.DefinesEvent, "PAGE", 10, 1))
		check("a pattern is text", []string{"0"}, list(store, 1, storage.DefinesEvent, "p%e", 10, 0))
		check("properties", []string{
			"10", "$group_key String 1m0s 1m0s", "$group_type String 1m0s 1m0s", "at DateTime 5m0s 5m0s", "day DateTime 5m0s 5m0s",
			"list  5m0s 5m0s", "mixed String 3m0s 5m0s", "n Numeric 5m0s 9m0s", "odd Numeric 3m0s 5m0s", "on Boolean 5m0s 5m0s", "path String 5m0s 5m0s",
		}, list(store, 1, storage.DefinesEventProperty, "", 100, 0))
		check("persons", []string{"2", "first DateTime 3m0s 3m0s", "plan String 3m0s 9m0s"}, list(store, 1, storage.DefinesPerson, "", 10, 0))
		check("groups", []string{"1", "seats Numeric 1m0s 1m0s"}, list(store, 1, storage.DefinesGroup(0), "", 10, 0))
		check("another project", []string{"1", "elsewhere  0s 0s"}, list(store, 2, storage.DefinesEvent, "", 10, 0))
	}

	again := at(s.event("page", "u", `{"on":"perhaps"}`), 90)
	s.write(t, again)
	s.define(t, s.another(t), again)
	check("another time", []string{"3", "page  3m0s 1h30m0s"}, list(s.Storage, 1, storage.DefinesEvent, "", 1, 2))
	check("another type", []string{"1", "on String 5m0s 1h30m0s"}, list(s.Storage, 1, storage.DefinesEventProperty, "on", 1, 0))

	// Names that programs compute do not fill a store, and what is known stays current.
	var many []capture.Event
	for i := range 10_050 {
		many = append(many, s.event(fmt.Sprintf("z%05d", i), "u", `{}`))
	}
	known := at(s.event("page", "u", `{}`), 100)
	s.write(t, append(many, known)...)
	s.define(t, s.Storage, known)
	check("many names", []string{"10000"}, list(s.Storage, 1, storage.DefinesEvent, "", 0, 0))
	check("a known name", []string{"2", "page  3m0s 1h40m0s"}, list(s.Storage, 1, storage.DefinesEvent, "page", 1, 1))
}
