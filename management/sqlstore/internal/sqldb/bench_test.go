package sqldb_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/management/sqlstore"
	"github.com/flagstaff-go/flagstaff/management/sqlstore/postgres"
	"github.com/flagstaff-go/flagstaff/management/sqlstore/postgres/postgrestest"
	"github.com/flagstaff-go/flagstaff/management/sqlstore/sqlite"
	"github.com/flagstaff-go/flagstaff/management/storage"
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

// BenchmarkFlagUsage measures what it costs to count calls of flags: batches of 1,000 events
// of known persons, of which one in ten or all report the value of one of 20 flags. The
// floor is events with the same properties and a name of the same length, which are not
// counted. Both are written in turns into one store, so that a busy machine affects both;
// an operation is a batch of each.
func BenchmarkFlagUsage(b *testing.B) {
	const people, batch, manyFlags = 10_000, 1000, 20
	for _, tt := range []struct {
		name  string
		every int // event that is counted
	}{{"one in ten", 10}, {"all", 1}} {
		b.Run(tt.name, func(b *testing.B) {
			db, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "bench.db"), sqlstore.Options{})
			if err != nil {
				b.Fatal(err)
			}
			defer db.Close()
			o := storage.NewOrganization("Acme")
			p := storage.NewProject(o, "Shop")
			if err := errors.Join(db.Organizations().Create(b.Context(), o), db.Projects().Create(b.Context(), p)); err != nil {
				b.Fatal(err)
			}
			for i := range manyFlags {
				f := storage.NewFlag(p.ID, time.Now())
				f.Key = fmt.Sprintf("checkout-flag-%02d", i)
				if err := db.Flags().Create(b.Context(), f); err != nil {
					b.Fatal(err)
				}
			}
			next := 0
			events := func(name string) []capture.Event {
				now := time.Now().UTC().Truncate(time.Microsecond)
				list := make([]capture.Event, batch)
				for i := range list {
					list[i] = capture.Event{
						Project: p.ID, UUID: capture.NewUUID(now), Name: "order completed", DistinctID: fmt.Sprintf("user-%07d", next%people), Time: now, Received: now,
						Properties: json.RawMessage(`{"$lib":"posthog-go","$lib_version":"1.23.1","$is_server":true,"$geoip_disable":true,"amount":129.9,"currency":"CHF","items":3,"$feature/checkout-button":"green"}`),
					}
					if next%tt.every == 0 {
						list[i].Name, list[i].Properties = name, fmt.Appendf(nil,
							`{"$feature_flag":"checkout-flag-%02d","$feature_flag_response":%s,"$lib":"posthog-go","$lib_version":"1.23.1","$is_server":true,"$geoip_disable":true,"$feature_flag_id":7,"$feature_flag_version":3}`,
							next/tt.every%manyFlags, []string{"true", "false", `"green"`}[next/7%3])
					}
					next++
				}
				return list
			}
			took := make(map[string][]time.Duration)
			write := func(name string) {
				list := events(name)
				start := time.Now()
				if err := db.Write(b.Context(), list); err != nil {
					b.Fatal(err)
				}
				took[name] = append(took[name], time.Since(start))
			}
			const counted, floor = "$feature_flag_called", "$feature_flag_callee"
			for range people / batch {
				write(floor)
			}
			clear(took)
			b.ResetTimer()
			for i := range b.N {
				// Both come first as often: SQLite's checkpoints have a rhythm of their own.
				write([]string{floor, counted}[i%2])
				write([]string{counted, floor}[i%2])
			}
			middle := func(list []time.Duration) float64 {
				return float64(slices.Sorted(slices.Values(list))[len(list)/2].Nanoseconds()) / batch
			}
			b.ReportMetric(0, "ns/op") // of both: says nothing
			b.ReportMetric(middle(took[floor]), "floor-ns/event")
			b.ReportMetric(middle(took[counted]), "counted-ns/event")
			b.ReportMetric(middle(took[counted])/middle(took[floor]), "counted/floor")
		})
	}
}

// BenchmarkFindEvents reads pages of 100 events of a store with a million, of which a rare
// one and the events of a person come along now and then. It reports the bytes that blocks
// take of an event.
func BenchmarkFindEvents(b *testing.B) {
	events := 1_000_000
	if testing.Short() {
		events = 5000
	}
	for _, name := range []string{"sqlite", "postgres"} {
		b.Run(name, func(b *testing.B) {
			ctx := b.Context()
			driver, url, openIt := "sqlite", filepath.Join(b.TempDir(), "x.db"), sqlite.Open
			if name == "postgres" {
				driver, url, openIt = "pgx", postgrestest.Open(b), postgres.Open
			}
			db, err := openIt(ctx, url, sqlstore.Options{})
			if err != nil {
				b.Fatal(err)
			}
			defer db.Close()
			for first := 0; first < events; first += 5000 {
				list := make([]capture.Event, 5000)
				for i := range list {
					n := first + i
					list[i] = event([]string{"page", "click", "order completed"}[n%3], fmt.Sprintf("user-%07d", n*7919%20_000), `{"$process_person_profile":false,"text":"`+strings.Repeat("x", 180)+`"}`)
					list[i].Time = now.Add(time.Duration(n)*time.Second - time.Duration(n%7)*time.Second)
					if n%(events/10) == 5 {
						list[i].Name = "rare"
					}
				}
				if err := db.Write(ctx, list); err != nil {
					b.Fatal(err)
				}
			}
			for what, work := range map[string]func(context.Context) (bool, error){"index": db.Index, "read the names of": db.DefineEvents} {
				start := time.Now()
				for range 2 { // on PostgreSQL, the first call only sees which events there are
					for more := true; more; {
						var err error
						if more, err = work(ctx); err != nil {
							b.Fatal(err)
						}
					}
				}
				b.Logf("to %s %d events takes %v", what, events, time.Since(start))
			}
			raw, size := openRaw(b, driver, url), 0
			for size == 0 { // PostgreSQL waits for transactions of others, also in other databases
				if _, err := db.Index(ctx); err != nil {
					b.Fatal(err)
				}
				if err := raw.QueryRowContext(ctx, "SELECT coalesce(sum(length(filter) + 40), 0) FROM event_block").Scan(&size); err != nil {
					b.Fatal(err)
				}
			}
			for _, f := range []struct {
				name string
				storage.EventFilter
			}{
				{"all", storage.EventFilter{}},
				{"older", storage.EventFilter{Before: now.Add(time.Duration(events/2) * time.Second)}},
				{"common", storage.EventFilter{Name: "click"}},
				{"rare", storage.EventFilter{Name: "rare"}},
				{"person", storage.EventFilter{DistinctID: "user-0000007"}},
				{"pair", storage.EventFilter{DistinctID: "user-0000007", Name: "page"}},
				{"nothing", storage.EventFilter{Name: "nothing"}},
			} {
				b.Run(f.name, func(b *testing.B) {
					found := 0
					for b.Loop() {
						list, _, err := db.FindEvents(ctx, 1, f.EventFilter, storage.EventPlace{}, 100)
						if err != nil {
							b.Fatal(err)
						}
						found = len(list)
					}
					b.ReportMetric(float64(found), "events/page")
					b.ReportMetric(float64(size)/float64(events), "index-B/event")
				})
			}
			b.Run("uuid", func(b *testing.B) {
				var id uuid.UUID
				for e := range db.AllEvents(ctx, 1, storage.EventFilter{}) {
					id = e.UUID
					break
				}
				for b.Loop() {
					if _, err := db.EventByUUID(ctx, 1, id); err != nil {
						b.Fatal(err)
					}
				}
			})
		})
	}
}

// BenchmarkEventIndexes writes events behind a million others of 100,000 distinct IDs, to a
// store as it is, and to one with the indexes that its blocks of events stand for: by time, by
// name and by distinct ID.
func BenchmarkEventIndexes(b *testing.B) {
	events, batch := 1_000_000, 5000
	if testing.Short() {
		events = 5000
	}
	for _, name := range []string{"sqlite", "postgres"} {
		for _, indexed := range []bool{false, true} {
			b.Run(fmt.Sprintf("%s/indexed=%v", name, indexed), func(b *testing.B) {
				ctx := b.Context()
				driver, url, openIt := "sqlite", filepath.Join(b.TempDir(), "x.db"), sqlite.Open
				if name == "postgres" {
					driver, url, openIt = "pgx", postgrestest.Open(b), postgres.Open
				}
				db, err := openIt(ctx, url, sqlstore.Options{})
				if err != nil {
					b.Fatal(err)
				}
				defer db.Close()
				raw := openRaw(b, driver, url)
				for i, columns := range []string{"ts DESC, id", "name, ts DESC", "distinct_id, ts DESC"} {
					if !indexed {
						break
					}
					if _, err := raw.ExecContext(ctx, fmt.Sprintf("CREATE INDEX event_by_%d ON event (project_id, %s)", i, columns)); err != nil {
						b.Fatal(err)
					}
				}
				written := 0
				write := func() {
					list := make([]capture.Event, batch)
					for i := range list {
						n := written + i
						list[i] = event([]string{"page", "click", "order completed"}[n%3], fmt.Sprintf("user-%07d", n*7919%100_000), `{"$process_person_profile":false,"text":"`+strings.Repeat("x", 180)+`"}`)
						list[i].Time = now.Add(time.Duration(n) * time.Second)
					}
					if err := db.Write(ctx, list); err != nil {
						b.Fatal(err)
					}
					written += batch
				}
				for written < events {
					write()
				}
				b.ResetTimer()
				for range b.N {
					write()
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*batch), "ns/event")
			})
		}
	}
}
