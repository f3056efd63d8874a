package storetest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/capture/persons"
	"github.com/flagstaff-go/flagstaff/management/sqlstore"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// value is a property for UpdatePerson and UpdateGroup.
func value(name, raw string) map[string]json.RawMessage {
	return map[string]json.RawMessage{name: json.RawMessage(raw)}
}

// whoIs returns the person with a distinct ID.
func (s *suite) whoIs(t *testing.T, project int64, distinctID string) *storage.Person {
	t.Helper()
	p, err := s.PersonByDistinctID(t.Context(), project, distinctID)
	must(t, err)
	return p
}

// elsewhere is an event in another project.
func elsewhere(e capture.Event, project int64) capture.Event {
	e.Project = project
	return e
}

func testPersonRecords(t *testing.T, s *suite) {
	ctx := t.Context()
	e := s.event("$identify", "u", `{"$anon_distinct_id":"a","$set":{"plan":"pro","n":1.50}}`)
	s.write(t, e, elsewhere(s.event("page", "u", `{"$set":{"other":true}}`), 2))
	full := s.whoIs(t, 1, "u")
	person := storage.Person{
		ID: full.ID, DistinctIDs: []string{"a", "u"}, Properties: json.RawMessage(`{"plan":"pro","n":1.50}`), Identified: true, Created: s.now,
	}
	wantAllSet(t, person)
	other := s.whoIs(t, 2, "u")
	check := func() {
		t.Helper()
		for _, store := range []sqlstore.Storage{s.Storage, s.another(t)} {
			want(t, "Person", &person)(store.Person(ctx, 1, person.ID))
			want(t, "PersonByDistinctID", &person)(store.PersonByDistinctID(ctx, 1, "u"))
			want(t, "PersonByDistinctID", &person)(store.PersonByDistinctID(ctx, 1, "a"))
			want(t, "Person of another project", &storage.Person{
				ID: other.ID, DistinctIDs: []string{"u"}, Properties: json.RawMessage(`{"other":true}`), Created: s.now,
			})(store.Person(ctx, 2, other.ID))
		}
	}
	check()
	wantErr(t, "Person of another project", storage.ErrNotFound)(s.Person(ctx, 2, person.ID))
	wantErr(t, "Person of no project", storage.ErrNotFound)(s.Person(ctx, 99, person.ID))
	wantErr(t, "Person of nobody", storage.ErrNotFound)(s.Person(ctx, 1, uuid.New()))
	for _, id := range []string{"", "U", "nobody", "u\x00", "\xff", strings.Repeat("u", 10_000)} {
		wantErr(t, "PersonByDistinctID of nobody", storage.ErrNotFound)(s.PersonByDistinctID(ctx, 1, id))
	}
	wantErr(t, "PersonByDistinctID of another project", storage.ErrNotFound)(s.PersonByDistinctID(ctx, 2, "a"))

	// Changes are seen at once, also by what was read before.
	seen := func(properties string) {
		t.Helper()
		person.Properties = json.RawMessage(properties)
		for _, id := range []string{"u", "a"} {
			got, err := s.AppendPerson(ctx, nil, 1, id)
			want(t, "AppendPerson", person.Properties)(json.RawMessage(got), err)
		}
		check()
	}
	seen(`{"plan":"pro","n":1.50}`)
	for _, tt := range []struct {
		set   map[string]json.RawMessage
		unset []string
		want  string
	}{
		{value("plan", `"free"`), nil, `{"plan":"free","n":1.50}`},
		{value("list", `[1,{"\u0000":null}]`), []string{"n", "none"}, `{"plan":"free","list":[1,{"\u0000":null}]}`},
		{value("é \" \u0000", "1e999"), []string{"list"}, `{"plan":"free","é \" \u0000":1e999}`},
		{value("gone", "1"), []string{"gone", "é \" \u0000"}, `{"plan":"free"}`},
		{nil, nil, `{"plan":"free"}`},
	} {
		person.Properties = json.RawMessage(tt.want)
		want(t, "UpdatePerson", &person)(s.UpdatePerson(ctx, 1, person.ID, tt.set, tt.unset))
		seen(tt.want)
	}
	large := `"` + strings.Repeat("x", persons.MaxProperties) + `"`
	wantErr(t, "UpdatePerson with much", storage.ErrTooLarge)(s.UpdatePerson(ctx, 1, person.ID, value("x", large), []string{"plan"}))
	wantErr(t, "UpdatePerson of nobody", storage.ErrNotFound)(s.UpdatePerson(ctx, 1, uuid.New(), value("x", "1"), nil))
	wantErr(t, "UpdatePerson of another project", storage.ErrNotFound)(s.UpdatePerson(ctx, 2, person.ID, value("x", "1"), nil))
	wantErr(t, "UpdatePerson with much of nobody", storage.ErrNotFound)(s.UpdatePerson(ctx, 2, person.ID, value("x", large), nil))
	seen(`{"plan":"free"}`)
	s.write(t, s.event("page", "a", `{"$set":{"b":1}}`)) // goes on from there
	seen(`{"plan":"free","b":1}`)
}

func testPersonPages(t *testing.T, s *suite) {
	ctx := t.Context()
	var names []string // of persons, oldest first
	for i := range 12 {
		names = append(names, fmt.Sprint("user-", i))
	}
	names = append(names, "User-1", "u", "user", "100%", "1000", "100_", "\uD7FF", "\uE000", "\U0010FFFF", "\U0010FFFF\U0010FFFFx", "é", "ée", "é\u0301")
	for i, name := range names {
		e := s.event("page", name, fmt.Sprintf(`{"$set":{"n":%d,"email":"%d@Example_%d.com","name":"Ada %d"}}`, i, i, i%3, i))
		e.Received = s.now.Add(time.Duration(i) * time.Second)
		e.Time = s.now.Add(-time.Duration(i) * time.Second) // the order is not by this
		foreign := elsewhere(e, 2)
		foreign.Properties = json.RawMessage("{}")
		s.write(t, e, foreign)
	}
	s.write(t, s.event("$create_alias", "u", `{"alias":"zzz"}`))
	all := slices.Clone(names)
	slices.Reverse(all)
	id := func(name string) uuid.UUID { return s.whoIs(t, 1, name).ID }
	members := []string{"user-3", "user-11", "é", "u"}
	if n, _, err := s.AddCohortMembers(ctx, 1, 7, uuid.Nil, members); n != len(members) || err != nil {
		t.Fatalf("AddCohortMembers = %d, %v", n, err)
	}
	if _, _, err := s.AddCohortMembers(ctx, 2, 7, uuid.Nil, []string{"user-5"}); err != nil {
		t.Fatal(err)
	}
	matching := func(f func(name string) bool) (list []string) {
		for _, name := range all {
			if f(name) {
				list = append(list, name)
			}
		}
		return list
	}
	oneOf := func(list ...string) []string {
		return matching(func(name string) bool { return slices.Contains(list, name) })
	}
	for _, tt := range []struct {
		name   string
		filter storage.PersonFilter
		want   []string
	}{
		{"all", storage.PersonFilter{}, all},
		{"a distinct ID", storage.PersonFilter{DistinctID: "user-1"}, []string{"user-1"}},
		{"another one of the same person", storage.PersonFilter{DistinctID: "zzz"}, []string{"u"}},
		{"an unknown one", storage.PersonFilter{DistinctID: "nobody"}, nil},
		{"an impossible one", storage.PersonFilter{DistinctID: "\x00"}, nil},
		{"IDs", storage.PersonFilter{IDs: []uuid.UUID{id("user-1"), uuid.New(), id("é"), id("user-1"), s.whoIs(t, 2, "u").ID}}, oneOf("user-1", "é")},
		{"no IDs", storage.PersonFilter{IDs: []uuid.UUID{}}, nil},
		{"a cohort", storage.PersonFilter{Cohort: 7}, oneOf(members...)},
		{"an unknown cohort", storage.PersonFilter{Cohort: 8}, nil},
		{"a beginning", storage.PersonFilter{Search: "user-1"}, oneOf("user-1", "user-10", "user-11")},
		{"a beginning of a distinct ID that is not the first", storage.PersonFilter{Search: "zz"}, []string{"u"}},
		{"nothing in the middle", storage.PersonFilter{Search: "ser"}, nil},
		{"a percent sign", storage.PersonFilter{Search: "100%"}, []string{"100%"}},
		{"an underscore", storage.PersonFilter{Search: "100_"}, []string{"100_"}},
		{"capital letters", storage.PersonFilter{Search: "U"}, []string{"User-1"}},
		{"the last code point", storage.PersonFilter{Search: "\U0010FFFF"}, oneOf("\U0010FFFF", "\U0010FFFF\U0010FFFFx")},
		{"the last code points", storage.PersonFilter{Search: "\U0010FFFF\U0010FFFF"}, []string{"\U0010FFFF\U0010FFFFx"}},
		{"before surrogates", storage.PersonFilter{Search: "\uD7FF"}, []string{"\uD7FF"}},
		{"bytes, not letters", storage.PersonFilter{Search: "é"}, oneOf("é", "ée", "é\u0301")},
		{"half a letter", storage.PersonFilter{Search: "\xc3"}, nil},
		{"NUL", storage.PersonFilter{Search: "u\x00"}, nil},
		{"all at once", storage.PersonFilter{DistinctID: "user-11", IDs: []uuid.UUID{id("user-11"), id("user-3")}, Cohort: 7, Search: "user-1"}, []string{"user-11"}},
		{"one too many", storage.PersonFilter{DistinctID: "user-10", Cohort: 7, Search: "user-1"}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, limit := range []int{len(names), 1, 4} {
				var got []string
				for offset := 0; offset <= len(tt.want); offset += limit {
					page, total, err := s.Persons(ctx, 1, tt.filter, limit, offset)
					if err != nil || total != len(tt.want) || len(page) > limit {
						t.Fatalf("Persons(%d, %d): %d of %d, %v; want a total of %d", limit, offset, len(page), total, err, len(tt.want))
					}
					for _, p := range page {
						full, err := s.Person(ctx, 1, p.ID)
						must(t, err)
						want(t, "a person of a page", *full)(p, nil)
						got = append(got, p.DistinctIDs[0])
					}
				}
				if diff := cmp.Diff(tt.want, got, same); diff != "" {
					t.Errorf("pages of %d (-want +got)\n%s", limit, diff)
				}
			}
		})
	}
	wantPage(t, "a page behind the end", []storage.Person(nil), len(names))(s.Persons(ctx, 1, storage.PersonFilter{}, 10, 1000))
	wantPage(t, "persons of no project", []storage.Person(nil), 0)(s.Persons(ctx, 3, storage.PersonFilter{}, 10, 0))
}

// testPersonUpdates changes a person by hand while events change it and others are
// merged into it.
func testPersonUpdates(t *testing.T, s *suite) {
	ctx := t.Context()
	s.write(t, s.event("page", "u", `{}`))
	id := s.whoIs(t, 1, "u").ID
	stores := []sqlstore.Storage{s.Storage, s.another(t)}
	const writers, times = 4, 15
	want := make(map[string]any)
	var wg sync.WaitGroup
	for w := range writers {
		for i := range times {
			want[fmt.Sprintf("hand-%d-%d", w, i)] = true
			want[fmt.Sprintf("event-%d-%d", w, i)] = true
		}
		store := stores[w%2]
		wg.Go(func() {
			for i := range times {
				name := fmt.Sprintf("hand-%d-%d", w, i)
				set := value(name, "true")
				set["temporary"] = json.RawMessage("1")
				p, err := store.UpdatePerson(ctx, 1, id, set, nil)
				if err != nil || !strings.Contains(string(p.Properties), `"`+name+`":true`) {
					t.Errorf("UpdatePerson: %+v, %v", p, err)
				}
				if got, err := store.AppendPerson(ctx, nil, 1, "u"); err != nil || !strings.Contains(string(got), `"`+name+`":true`) {
					t.Errorf("the person is %s, %v after %s was set", got, err, name)
				}
				if _, err := store.UpdatePerson(ctx, 1, id, nil, []string{"temporary"}); err != nil {
					t.Errorf("UpdatePerson: %v", err)
				}
			}
		})
		wg.Go(func() {
			for i := range times {
				anonymous := fmt.Sprintf("anon-%d-%d", w, i)
				err := store.Write(ctx, []capture.Event{
					s.event("page", anonymous, fmt.Sprintf(`{"$set":{"event-%d-%d":true}}`, w, i)),
					s.event("$identify", "u", fmt.Sprintf(`{"$anon_distinct_id":%q}`, anonymous)),
				})
				if err != nil {
					t.Errorf("Write: %v", err)
				}
			}
		})
	}
	wg.Wait()
	p, err := s.another(t).Person(ctx, 1, id)
	must(t, err)
	var got map[string]any
	must(t, json.Unmarshal(p.Properties, &got))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("properties (-want +got)\n%s", diff)
	}
	if n := len(p.DistinctIDs); n != 1+writers*times {
		t.Errorf("%d distinct IDs, want %d", n, 1+writers*times)
	}
}

// testPersonsBefore walks through persons from one to the next.
func testPersonsBefore(t *testing.T, s *suite) {
	ctx := t.Context()
	var all []string // newest first
	for i := range 9 {
		name := fmt.Sprint("user-", i)
		e := s.event("page", name, fmt.Sprintf(`{"$set":{"n":%d,"email":"%d@Example_%d.com","name":"Ada %d"}}`, i, i, i%3, i))
		e.Received = s.now.Add(time.Duration(i) * time.Second)
		s.write(t, e, elsewhere(e, 2))
		all = append([]string{name}, all...)
	}
	if _, _, err := s.AddCohortMembers(ctx, 1, 7, uuid.Nil, []string{"user-3", "user-5"}); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		filter storage.PersonFilter
		want   []string
	}{
		{storage.PersonFilter{}, all},
		{storage.PersonFilter{Search: "user-"}, all},
		{storage.PersonFilter{Search: "user-4"}, []string{"user-4"}},
		{storage.PersonFilter{Cohort: 7}, []string{"user-5", "user-3"}},
		{storage.PersonFilter{Cohort: 7, Search: "user-3"}, []string{"user-3"}},
		{storage.PersonFilter{Search: "\x00"}, nil},
		{storage.PersonFilter{Named: "example_"}, all},
		{storage.PersonFilter{Named: "example_1.com"}, []string{"user-7", "user-4", "user-1"}},
		{storage.PersonFilter{Named: "\nada 4\n"}, []string{"user-4"}},
		{storage.PersonFilter{Named: "\nada\n"}, nil},
		{storage.PersonFilter{Named: "example%1"}, nil},
		{storage.PersonFilter{Named: `e\`}, nil},
		{storage.PersonFilter{Named: "\x00"}, nil},
		{storage.PersonFilter{Named: "ada", Search: "user-3"}, []string{"user-3"}},
		{storage.PersonFilter{Within: "SER-4"}, []string{"user-4"}},
		{storage.PersonFilter{Within: "-"}, all},
		{storage.PersonFilter{Within: "_"}, nil},
		{storage.PersonFilter{Within: "\x00"}, nil},
	} {
		for _, limit := range []int{1, 4, 100} {
			var got []string
			before := uuid.Max
			for {
				page, err := s.PersonsBefore(ctx, 1, tt.filter, before, limit)
				must(t, err)
				for _, p := range page {
					full, err := s.Person(ctx, 1, p.ID)
					must(t, err)
					want(t, "a person of a page", *full)(p, nil)
					got = append(got, p.DistinctIDs[0])
				}
				if len(page) < limit {
					break
				}
				before = page[limit-1].ID
			}
			if diff := cmp.Diff(tt.want, got, same); diff != "" {
				t.Errorf("%+v, pages of %d (-want +got)\n%s", tt.filter, limit, diff)
			}
		}
	}
}
