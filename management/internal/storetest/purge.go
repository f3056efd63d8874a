package storetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

func testPurgeProjects(t *testing.T, s *suite) {
	ctx := t.Context()
	acme, other := s.organization(t, "acme"), s.organization(t, "other")
	kept, gone, alsoGone := s.project(t, acme), s.project(t, acme), s.project(t, other)
	all := []*storage.Project{kept, gone, alsoGone}
	const events = 2500 // more than a store may want to delete at once
	for _, p := range all {
		var list []capture.Event
		add := func(name, distinctID, properties string) {
			e := s.event(name, distinctID, properties)
			e.Project = p.ID
			list = append(list, e)
		}
		add("$identify", "u", `{"$anon_distinct_id":"a","$set":{"x":1}}`)
		add("$groupidentify", "u", `{"$group_type":"company","$group_key":"acme","$group_set":{"n":1}}`)
		for i := len(list); i < events; i++ {
			add("page", fmt.Sprintf("u%d", i%100), `{}`)
		}
		s.write(t, list...)
		if _, _, err := s.AddCohortMembers(ctx, p.ID, 7, uuid.Nil, []string{"u", "u1"}); err != nil {
			t.Fatal(err)
		}
		must(t, s.Overrides(ctx, p.ID, "u", "a", []string{"beta"}, func(string, string) {}))
	}
	check := func(p *storage.Project, there bool) {
		t.Helper()
		fresh := s.another(t)
		n, x, group, cohort, override := 0, "", "", []int64(nil), ""
		if there {
			n, x, group, cohort, override = events, `{"x":1}`, `{"n":1}`, []int64{7}, "a"
		}
		if got := len(stored(t, fresh, p.ID)); got != n {
			t.Errorf("project %d has %d events, want %d", p.ID, got, n)
		}
		versions, err := fresh.Versions(ctx)
		must(t, err)
		if _, ok := versions[p.ID]; ok != there { // it has a group type
			t.Errorf("project %d has a version: %v, want %v", p.ID, ok, there)
		}
		if !there && s.again == nil {
			return // a process may remember what it has read before, for a while
		}
		for _, id := range []string{"u", "a"} {
			if got, err := fresh.AppendPerson(ctx, nil, p.ID, id); err != nil || !equalJSON(got, x) {
				t.Errorf("person of %q in project %d is %s, %v; want %s", id, p.ID, got, err, x)
			}
			created, err := fresh.PersonCreated(ctx, p.ID, id)
			if created.IsZero() == there || err != nil {
				t.Errorf("person of %q in project %d was created at %v, %v", id, p.ID, created, err)
			}
			want(t, "AppendCohorts", cohort)(fresh.AppendCohorts(ctx, nil, p.ID, id))
		}
		if got, err := fresh.AppendGroup(ctx, nil, p.ID, "company", "acme"); err != nil || !equalJSON(got, group) {
			t.Errorf("group in project %d is %s, %v; want %s", p.ID, got, err, group)
		}
		key := ""
		if err := fresh.Overrides(ctx, p.ID, "u", "", nil, func(_, hashKey string) { key = hashKey }); err != nil || key != override {
			t.Errorf("override in project %d is %q, %v; want %q", p.ID, key, err, override)
		}
	}
	purge := func(before time.Time) {
		t.Helper()
		for range 10 * events {
			more, err := s.PurgeProjects(ctx, before)
			must(t, err)
			if !more {
				return
			}
		}
		t.Fatal("PurgeProjects finds more and more")
	}

	purge(time.Now().Add(time.Hour)) // no project is deleted
	must(t, s.Projects().Delete(ctx, storage.ProjectID.Is(gone.ID)))
	must(t, s.Organizations().Delete(ctx, storage.OrganizationID.Is(other.ID)))
	purge(time.Now().Add(-time.Hour)) // not yet
	for _, p := range all {
		check(p, true)
	}
	purge(time.Now().Add(time.Hour))
	check(kept, true)
	check(gone, false)
	check(alsoGone, false)
	if more, err := s.PurgeProjects(ctx, time.Now().Add(time.Hour)); more || err != nil {
		t.Errorf("PurgeProjects of nothing = %v, %v", more, err)
	}
}
