package memstore_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/memstore"
	"github.com/flagstaff-go/flagstaff/management/storetest"
)

func TestContract(t *testing.T) {
	storetest.Run(t, func(*testing.T) (storetest.Store, func(*testing.T) storetest.Store) {
		return new(memstore.Store), nil
	})
}

func TestThrottleForgets(t *testing.T) {
	var store memstore.Store
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	throttle := func(bucket string, limit management.Limit, want time.Duration) {
		t.Helper()
		if wait, err := store.Throttle(t.Context(), bucket, limit, now); wait != want || err != nil {
			t.Fatalf("Throttle(%q) = %v, %v; want %v", bucket, wait, err, want)
		}
	}
	daily := management.Limit{N: 1, Per: 24 * time.Hour}
	throttle("daily", daily, 0)
	const most = 5000
	for i := range 100_000 { // a thousand in the twelve seconds that one attempt takes to come back
		now = now.Add(12 * time.Millisecond)
		throttle(fmt.Sprint(i), management.Limit{N: 5, Per: time.Minute}, 0)
		if n := store.Buckets(); n > most {
			t.Fatalf("%d buckets, want at most %d", n, most)
		}
	}
	throttle("daily", daily, 24*time.Hour-100_000*12*time.Millisecond)
}

func TestThrottleInTransaction(t *testing.T) {
	var store memstore.Store
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	limit := management.Limit{N: 1, Per: time.Minute}
	failure := errors.New("failure")
	err := store.Atomic(t.Context(), func(s management.Store) error {
		if wait, err := s.Throttle(t.Context(), "a", limit, now); wait != 0 || err != nil {
			t.Errorf("Throttle = %v, %v", wait, err)
		}
		return failure
	})
	if !errors.Is(err, failure) {
		t.Errorf("Atomic = %v, want %v", err, failure)
	}
	if wait, err := store.Throttle(t.Context(), "a", limit, now); wait != time.Minute || err != nil {
		t.Errorf("Throttle after a transaction that failed = %v, %v; want %v", wait, err, time.Minute)
	}
}

func TestPurgeProjectsLeavesNothing(t *testing.T) {
	ctx := t.Context()
	var store memstore.Store
	o := management.NewOrganization("Acme")
	p := management.NewProject(o, "Shop")
	err := errors.Join(store.CreateOrganization(ctx, o), store.CreateProject(ctx, p), store.Write(ctx, []capture.Event{{
		Project: p.ID, Name: "page", DistinctID: "u", Properties: json.RawMessage(`{"$set":{"a":1},"$groups":{"company":"acme"}}`),
	}, {
		Project: p.ID, Name: "$groupidentify", DistinctID: "u", Properties: json.RawMessage(`{"$group_type":"company","$group_key":"acme"}`),
	}}))
	_, e := store.AddCohortMembers(ctx, p.ID, 7, []string{"u"})
	if err := errors.Join(err, e, store.DeleteProject(ctx, p.ID)); err != nil {
		t.Fatal(err)
	}
	if n := store.Captured(); n < 8 {
		t.Errorf("there are %d things to delete", n)
	}
	if more, err := store.PurgeProjects(ctx, time.Now().Add(time.Hour)); more || err != nil {
		t.Errorf("PurgeProjects = %v, %v", more, err)
	}
	if n := store.Captured(); n != 0 {
		t.Errorf("%d things are left", n)
	}
}

func TestReadersDoNotWait(t *testing.T) {
	var store memstore.Store
	o := management.NewOrganization("Acme")
	err := store.Atomic(t.Context(), func(s management.Store) error {
		if err := s.CreateOrganization(t.Context(), o); err != nil {
			return err
		}
		if list, err := store.Organizations(t.Context()); len(list) != 0 || err != nil {
			t.Errorf("Organizations of others = %v, %v; want none before the end", list, err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Organization(t.Context(), o.ID); err != nil {
		t.Errorf("Organization = %v", err)
	}
}
