package sqldb_test

import (
	"context"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/management/sqlstore"
)

// TestOperations: the store tells of each operation once, not of what its cache answers,
// and works with the context that it is given.
func TestOperations(t *testing.T) {
	var mu sync.Mutex
	begun, ended := make(map[sqlstore.Operation]int), make(map[sqlstore.Operation]int)
	db := open(t, ":memory:", sqlstore.Options{MaxStale: time.Hour, OnOperation: func(ctx context.Context, o sqlstore.Operation) (context.Context, func(error)) {
		mu.Lock()
		defer mu.Unlock()
		begun[o]++
		if o == sqlstore.Read {
			return ctx, nil
		}
		return ctx, func(err error) {
			if err != nil {
				t.Errorf("%s ends with %v", o, err)
			}
			mu.Lock()
			defer mu.Unlock()
			ended[o]++
		}
	}})
	ctx := t.Context()
	clear(begun) // what the migration has read
	clear(ended)
	event := capture.Event{Project: 1, UUID: uuid.New(), Name: "e", DistinctID: "u", Time: time.Now(), Received: time.Now(), Properties: []byte(`{}`)}
	if err := db.Write(ctx, []capture.Event{event}); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, err := db.AppendPerson(ctx, nil, 1, "u"); err != nil {
			t.Fatal(err)
		}
		if _, err := db.AppendGroup(ctx, nil, 1, "company", "acme"); err != nil {
			t.Fatal(err)
		}
		if _, err := db.AppendCohorts(ctx, nil, 1, "u"); err != nil {
			t.Fatal(err)
		}
		if err := db.Overrides(ctx, 1, "u", "", nil, func(string, string) {}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := db.Organizations().List(ctx); err != nil {
		t.Fatal(err)
	}
	want := map[sqlstore.Operation]int{
		sqlstore.WriteEvents: 1, sqlstore.ReadPerson: 1, sqlstore.ReadGroup: 1, sqlstore.ReadCohorts: 1, sqlstore.ReadHashKeys: 1,
	}
	if diff := cmp.Diff(want, ended); diff != "" {
		t.Errorf("operations that ended (-want +got)\n%s", diff)
	}
	all := maps.Clone(want)
	all[sqlstore.Read] = 1
	if diff := cmp.Diff(all, begun); diff != "" {
		t.Errorf("operations that began (-want +got)\n%s", diff)
	}
}
