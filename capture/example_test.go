package capture_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/netip"
	"time"

	"github.com/flagstaff-go/flagstaff/capture"
)

func ExampleBatch_Parse() {
	// What posthog-python sends, decompressed.
	body := []byte(`{"api_key":"phc_demo","sent_at":"2026-11-21T12:00:10Z","batch":[
		{"event":"order paid","distinct_id":"user-1","timestamp":"2026-11-21T12:00:00Z","properties":{"amount":42}},
		{"event":"$set","distinct_id":"user-1","$set":{"plan":"pro"}}]}`)

	var b capture.Batch
	err := b.Parse(body, capture.Request{
		Now: time.Date(2026, 11, 21, 12, 5, 10, 0, time.UTC), // the client's clock is 5 minutes slow
		IP:  netip.MustParseAddr("198.51.100.7"),
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(b.APIKey)
	for _, e := range b.Events {
		fmt.Println(e.Time.Format(time.TimeOnly), e.DistinctID, e.Name, string(e.Properties))
	}

	err = b.Parse([]byte(`{"event":"order paid","distinct_id":"user-1"}`), capture.Request{Now: time.Now()})
	fmt.Println(errors.Is(err, capture.ErrUnauthorized), err)
	// Output:
	// phc_demo
	// 12:05:00 user-1 order paid {"amount":42,"$ip":"198.51.100.7"}
	// 12:05:10 user-1 $set {"$set":{"plan":"pro"},"$ip":"198.51.100.7"}
	// true event submitted without an api_key
}

func ExampleCollector() {
	collector, err := capture.NewCollector(capture.CollectorConfig{Sink: printer{}})
	if err != nil {
		log.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- collector.Run(ctx) }()

	// Any number of requests at the same time; each is answered when its events
	// are durable.
	err = collector.Accept(ctx,
		capture.Event{Project: 1, Name: "order paid", DistinctID: "user-1"},
		capture.Event{Project: 1, Name: "order shipped", DistinctID: "user-1"},
	)
	fmt.Println("stored:", err)

	// When the program ends: what was accepted is written.
	cancel()
	fmt.Println("run:", <-done)
	// Output:
	// order paid user-1
	// order shipped user-1
	// stored: <nil>
	// run: <nil>
}
