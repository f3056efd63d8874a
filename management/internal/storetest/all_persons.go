package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

func testAllPersons(t *testing.T, s *suite) {
	ctx := t.Context()
	const many = 1203 // more than one part
	var events []capture.Event
	for i := range many {
		events = append(events, s.event("e", fmt.Sprintf("u%04d", i), fmt.Sprintf(`{"$set":{"n":%d}}`, i)))
	}
	s.write(t, events...)
	s.write(t, s.event("$identify", "u0001", `{"$anon_distinct_id":"a-first"}`))
	other := s.event("e", "stranger", `{}`)
	other.Project = 2
	s.write(t, other)

	var seen []string
	var last storage.Person
	for p, err := range s.AllPersons(ctx, 1) {
		must(t, err)
		if len(p.DistinctIDs) != 1 || slices.Compare(last.ID[:], p.ID[:]) >= 0 {
			t.Fatalf("AllPersons yields %s with %q after %s, want ascending IDs and one distinct ID", p.ID, p.DistinctIDs, last.ID)
		}
		whole, err := s.Person(ctx, 1, p.ID)
		must(t, err)
		whole.DistinctIDs = whole.DistinctIDs[:1]
		if diff := cmp.Diff(whole, &p); len(seen)%100 == 0 && diff != "" {
			t.Errorf("AllPersons (-want +got)\n%s", diff)
		}
		last, seen = p, append(seen, p.DistinctIDs[0])
	}
	slices.Sort(seen)
	if len(seen) != many || seen[0] != "a-first" || slices.Contains(seen, "u0001") || slices.Contains(seen, "stranger") {
		t.Errorf("AllPersons yields %d persons from %q on, want %d from a-first on", len(seen), seen[0], many)
	}

	// Who iterates may stop, write and ask for more.
	n := 0
	for p, err := range s.AllPersons(ctx, 1) {
		must(t, err)
		must(t, s.DeletePerson(ctx, 1, p.ID, false))
		if n++; n == 3 {
			break
		}
	}
	_, total, err := s.Persons(ctx, 1, storage.PersonFilter{}, 1, 0)
	must(t, err)
	if total != many-3 {
		t.Errorf("%d persons are left, want %d", total, many-3)
	}
	for range s.AllPersons(ctx, 3) {
		t.Error("AllPersons yields somebody of a project without persons")
	}
	canceled, cancel := context.WithCancel(ctx)
	cancel()
	var failure error
	for _, err := range s.AllPersons(canceled, 1) {
		failure = err
	}
	if !errors.Is(failure, context.Canceled) {
		t.Errorf("AllPersons = %v after the end of its context, want %v", failure, context.Canceled)
	}
}

func testCohortCounts(t *testing.T, s *suite) {
	ctx := t.Context()
	o := s.organization(t, "acme")
	p := s.project(t, o)
	var made []*storage.Cohort
	for i, calculated := range []*time.Time{nil, new(s.now), new(s.now.Add(time.Hour))} {
		c := &storage.Cohort{Project: p.ID, Name: fmt.Sprint(i), Calculated: calculated, Deleted: false, Created: s.now}
		must(t, s.Cohorts().Create(ctx, c))
		made = append(made, c)
	}
	gone := &storage.Cohort{Project: p.ID, Name: "gone", Deleted: true, Created: s.now}
	must(t, s.Cohorts().Create(ctx, gone))
	due := func(since time.Time) []int64 {
		t.Helper()
		list, err := s.Cohorts().List(ctx, storage.CohortDeleted.Is(false), storage.CohortCalculated.Before(since))
		must(t, err)
		var ids []int64
		for _, c := range list {
			ids = append(ids, c.ID)
		}
		return ids
	}
	if diff := cmp.Diff([]int64{made[0].ID, made[1].ID}, due(s.now.Add(time.Minute))); diff != "" {
		t.Errorf("Cohorts.List (-want +got)\n%s", diff)
	}
	before, err := s.Versions(ctx)
	must(t, err)
	must(t, s.Cohorts().Touch(ctx, &storage.Cohort{Project: p.ID, ID: made[0].ID, Count: new(7), Calculated: new(s.now.Add(2 * time.Hour))}))
	must(t, s.Cohorts().Touch(ctx, &storage.Cohort{Project: p.ID, ID: made[1].ID, Count: nil, Calculated: new(s.now.Add(2 * time.Hour))}))
	after, err := s.Versions(ctx)
	must(t, err)
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("Cohorts.Touch changes versions (-before +after)\n%s", diff)
	}
	if diff := cmp.Diff([]int64(nil), due(s.now.Add(time.Minute))); diff != "" {
		t.Errorf("Cohorts.List (-want +got)\n%s", diff)
	}
	must(t, s.Cohorts().Touch(ctx, &storage.Cohort{Project: p.ID + 1, ID: made[0].ID, Count: new(1), Calculated: new(s.now)})) // of another project
	got, err := s.Cohorts().Get(ctx, storage.CohortProject.Is(p.ID), storage.CohortID.Is(made[0].ID))
	must(t, err)
	want := *made[0]
	want.Count, want.Calculated = new(7), new(s.now.Add(2*time.Hour))
	if diff := cmp.Diff(&want, got, same); diff != "" {
		t.Errorf("Cohort (-want +got)\n%s", diff)
	}
}
