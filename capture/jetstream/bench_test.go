package jetstream_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/capture/jetstream"
	"github.com/flagstaff-go/flagstaff/internal/natstest"
)

// batches returns what a busy Collector writes: 500 events of about 600 bytes,
// never the same.
func batches() func() []capture.Event {
	list := events("person", 0, 500)
	for i := range list {
		list[i].DistinctID = fmt.Sprint("person-", i%50)
		list[i].Properties = fmt.Appendf(nil, `{"n":%d,"$current_url":"https://app.example.com/orders/%d","$browser":"Chrome","$lib":"web","text":%q}`, i, i, strings.Repeat("x", 80))
	}
	return func() []capture.Event {
		for i := range list {
			list[i].UUID = uuid.New()
		}
		return list
	}
}

// BenchmarkWrite is how long it takes until 500 events are acknowledged. Its
// floor is the same bytes and headers, published by the client alone.
func BenchmarkWrite(b *testing.B) {
	b.Run("stream", func(b *testing.B) {
		s := open(b, connect(b, natstest.Start(b).URL()))
		next := batches()
		b.ReportAllocs()
		for b.Loop() {
			write(b, s, next()...)
		}
		b.ReportMetric(500*float64(b.N)/b.Elapsed().Seconds(), "events/s")
	})
	b.Run("floor", func(b *testing.B) {
		conn := connect(b, natstest.Start(b).URL())
		open(b, conn)
		js := js(b, conn)
		next := batches()
		var messages []*nats.Msg
		for _, e := range next() {
			messages = append(messages, &nats.Msg{Subject: "flagstaff.events.0.7", Data: jetstream.AppendEvent(nil, &e)})
		}
		b.ReportAllocs()
		for b.Loop() {
			var futures []natsjs.PubAckFuture
			for _, m := range messages {
				m.Header = nats.Header{natsjs.MsgIDHeader: {uuid.NewString()[:22]}, natsjs.ExpectedStreamHeader: {"flagstaff"}}
				f, err := js.PublishMsgAsync(m)
				if err != nil {
					b.Fatal(err)
				}
				futures = append(futures, f)
			}
			for _, f := range futures {
				select {
				case <-f.Ok():
				case err := <-f.Err():
					b.Fatal(err)
				}
			}
		}
		b.ReportMetric(500*float64(b.N)/b.Elapsed().Seconds(), "events/s")
	})
}

// BenchmarkConsume is the way from the stream to the sink and back, of 50,000
// events that are there already.
func BenchmarkConsume(b *testing.B) {
	const backlog = 50_000
	s := open(b, connect(b, natstest.Start(b).URL()))
	next := batches()
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		for range backlog / 500 {
			write(b, s, next()...)
		}
		stored, all := 0, make(chan struct{})
		sink := sinkFunc(func(_ context.Context, list []capture.Event) error {
			if stored += len(list); stored == backlog {
				close(all)
			}
			return nil
		})
		b.StartTimer()
		_, stop := consume(b, s, jetstream.ConsumerConfig{Sink: sink})
		<-all
		b.StopTimer()
		stop()
		b.StartTimer()
	}
	b.ReportMetric(backlog*float64(b.N)/b.Elapsed().Seconds(), "events/s")
}

func BenchmarkEncode(b *testing.B) {
	e := batches()()[0]
	var buffer []byte
	b.ReportAllocs()
	for b.Loop() {
		buffer = jetstream.AppendEvent(buffer[:0], &e)
	}
	b.SetBytes(int64(len(buffer)))
}

func BenchmarkDecode(b *testing.B) {
	e := batches()()[0]
	encoded := jetstream.AppendEvent(nil, &e)
	b.SetBytes(int64(len(encoded)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := jetstream.DecodeEvent(encoded); err != nil {
			b.Fatal(err)
		}
	}
}
