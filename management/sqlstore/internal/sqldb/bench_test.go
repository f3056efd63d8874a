package sqldb_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/management/sqlstore"
	"github.com/flagstaff-go/flagstaff/management/sqlstore/sqlite"
)

// BenchmarkWrite writes batches of 1,000 events of as many known persons. An
// operation is one event.
func BenchmarkWrite(b *testing.B) {
	db, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "bench.db"), sqlstore.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	const people, batch = 10_000, 1000
	next := 0
	events := func() []capture.Event {
		now := time.Now().UTC().Truncate(time.Microsecond)
		list := make([]capture.Event, batch)
		for i := range list {
			list[i] = capture.Event{
				Project: 1, UUID: capture.NewUUID(now), Name: "order completed", DistinctID: fmt.Sprintf("user-%07d", next%people), Time: now, Received: now,
				Properties: json.RawMessage(`{"$lib":"posthog-go","$lib_version":"1.23.1","$is_server":true,"$geoip_disable":true,"amount":129.9,"currency":"CHF","items":3,"$feature/checkout-button":"green"}`),
			}
			next++
		}
		return list
	}
	for range people / batch {
		if err := db.Write(b.Context(), events()); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	b.ResetTimer()
	for n := 0; n < b.N; n += batch {
		b.StopTimer()
		list := events()
		b.StartTimer()
		if err := db.Write(b.Context(), list); err != nil {
			b.Fatal(err)
		}
	}
}
