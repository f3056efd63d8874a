package storebench

import (
	"context"
	"crypto/rand"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/capture/jetstream"
	"github.com/flagstaff-go/flagstaff/internal/natstest"
	"github.com/flagstaff-go/flagstaff/management/sqlstore"
	"github.com/flagstaff-go/flagstaff/management/sqlstore/postgres"
	"github.com/flagstaff-go/flagstaff/management/sqlstore/postgres/postgrestest"
)

// perWrite is how many events both cases of C5 write to the database at once, if
// there are as many.
const perWrite = 1000

// storedEvents returns n events of a thousand persons, as the collector passes them
// on.
func storedEvents(n int) []capture.Event {
	list := make([]capture.Event, n)
	for i := range list {
		now := time.Now().UTC().Truncate(time.Microsecond)
		list[i] = capture.Event{
			Project: 1, UUID: capture.NewUUID(now), Name: "order completed", DistinctID: fmt.Sprintf("user-%07d", i%1000), Time: now, Received: now,
			Properties: fmt.Appendf(nil, `{"$lib":"posthog-go","$lib_version":"1.23.1","$is_server":true,"$geoip_disable":true,"amount":129.9,`+
				`"currency":"CHF","items":3,"$feature/checkout-button":"green","shop":"https://shop.example/ch/de","n":%d}`, i),
		}
	}
	return list
}

// A counting sink tells when it has written so many events.
type counting struct {
	capture.Sink
	left int
	done chan struct{}
}

func (c *counting) Write(ctx context.Context, events []capture.Event) error {
	err := c.Sink.Write(ctx, events)
	if err == nil && c.left > 0 {
		if c.left -= len(events); c.left <= 0 {
			close(c.done)
		}
	}
	return err
}

// BenchmarkC5 measures row C5 of docs/performance.md: a backlog of events in the
// stream is stored in PostgreSQL, where an operation is one event. The floor
// writes the same rows to the same store without a stream. NATS shares the cores.
func BenchmarkC5(b *testing.B) {
	b.Run("one server of NATS", func(b *testing.B) { benchmarkBacklog(b, 1, natstest.Start(b).URL()) })
	b.Run("three servers of NATS", func(b *testing.B) { benchmarkBacklog(b, 3, natstest.URLs(natstest.Cluster(b, 3))) })
}

func benchmarkBacklog(b *testing.B, replicas int, url string) {
	open := func(b *testing.B) sqlstore.Storage {
		db, err := postgres.Open(b.Context(), postgrestest.Open(b), sqlstore.Options{})
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { db.Close() })
		if err := db.Write(b.Context(), storedEvents(1000)); err != nil { // makes the persons
			b.Fatal(err)
		}
		return db
	}
	b.Run("floor", func(b *testing.B) {
		db := open(b)
		list := storedEvents(b.N)
		b.ReportAllocs()
		b.ResetTimer()
		for len(list) > 0 {
			n := min(perWrite, len(list))
			if err := db.Write(b.Context(), list[:n]); err != nil {
				b.Fatal(err)
			}
			list = list[n:]
		}
	})
	b.Run("flagstaff", func(b *testing.B) {
		sink := &counting{Sink: open(b), left: b.N, done: make(chan struct{})}
		conn, err := jetstream.Connect(url)
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(conn.Close)
		stream, err := jetstream.Open(b.Context(), jetstream.Config{Conn: conn, Name: rand.Text(), Replicas: replicas})
		if err != nil {
			b.Fatal(err)
		}
		if err := stream.Write(b.Context(), storedEvents(b.N)); err != nil {
			b.Fatal(err)
		}
		consumer, err := jetstream.NewConsumer(stream, jetstream.ConsumerConfig{Sink: sink, MaxBatch: perWrite})
		if err != nil {
			b.Fatal(err)
		}
		ctx, stop := context.WithCancel(b.Context())
		var wg sync.WaitGroup
		b.ReportAllocs()
		b.ResetTimer()
		wg.Go(func() { _ = consumer.Run(ctx) }) // returns nil when stopped
		<-sink.done
		b.StopTimer()
		stop()
		wg.Wait()
	})
}
