package capture_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/flags"
)

// A sinkFunc is a Sink.
type sinkFunc func(ctx context.Context, events []capture.Event) error

func (f sinkFunc) Write(ctx context.Context, events []capture.Event) error { return f(ctx, events) }

// discard is a Sink that has nothing to do.
var discard = sinkFunc(func(context.Context, []capture.Event) error { return nil })

const benchmarkQueue = 10_000

func benchmarkClient(b *testing.B) *capture.Client {
	b.Helper()
	c, err := capture.NewClient(capture.ClientConfig{Sink: discard, MaxQueue: benchmarkQueue, OnError: func(err error) { b.Error(err) }})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := c.Close(context.Background()); err != nil {
			b.Error(err)
		}
	})
	return c
}

// drain lets the client catch up, outside the time that is measured, so that a
// benchmark never measures a full queue. No program produces as fast as a
// benchmark all the time.
func drain(b *testing.B, c *capture.Client) {
	b.StopTimer()
	if err := c.Flush(b.Context()); err != nil {
		b.Fatal(err)
	}
	b.StartTimer()
}

const clientDocument = `{"flags":[{"id":1,"key":"new-checkout","version":3,"active":true,"filters":{"groups":[
	{"properties":[{"key":"plan","type":"person","operator":"exact","value":"free"},{"key":"seats","type":"person","operator":"gt","value":10}],"rollout_percentage":50},
	{"properties":[{"key":"plan","type":"person","operator":"exact","value":"team"},{"key":"seats","type":"person","operator":"gt","value":20}],"rollout_percentage":50},
	{"properties":[{"key":"plan","type":"person","operator":"exact","value":"pro"},{"key":"seats","type":"person","operator":"gt","value":30}],"rollout_percentage":50}]}}]}`

// BenchmarkE9 evaluates a flag, as benchmark E2 of package flags does, and
// reports the exposure. Its floor is the evaluation.
func BenchmarkE9(b *testing.B) {
	d, err := flags.Decode(strings.NewReader(clientDocument))
	if err != nil {
		b.Fatal(err)
	}
	s, err := flags.Compile(d, flags.CompileOptions{})
	if err != nil {
		b.Fatal(err)
	}
	var e flags.Evaluator
	e.Swap(s)

	// Twice as many persons as are remembered, so that by the next turn all
	// are forgotten.
	ids := make([]string, 1<<17)
	for i := range ids {
		ids[i] = fmt.Sprintf("0190f5a0-7c1e-7b7e-9d3a-%012x", i)
	}
	r := &flags.Request{PersonProperties: map[string]any{"plan": "pro", "seats": 42, "country": "DE", "beta": true}}
	var exposed bool
	for _, bench := range []struct {
		name string
		mask int
	}{
		{"repeated", 0},
		{"new", len(ids) - 1},
	} {
		b.Run(bench.name, func(b *testing.B) {
			b.Run("flagstaff", func(b *testing.B) {
				c := benchmarkClient(b)
				b.ReportAllocs()
				n := 0
				for b.Loop() {
					r.DistinctID = ids[n&bench.mask]
					c.Exposed(capture.Exposure{
						DistinctID: r.DistinctID, Flag: "new-checkout", Enabled: e.Bool("new-checkout", r, false), ID: 1, Version: 3,
					})
					if n++; n%benchmarkQueue == 0 && bench.mask != 0 {
						drain(b, c)
					}
				}
				if s := c.Stats(); s.DroppedFull > 0 {
					b.Errorf("dropped %d exposures", s.DroppedFull)
				}
			})
			b.Run("floor", func(b *testing.B) {
				b.ReportAllocs()
				n := 0
				for b.Loop() {
					r.DistinctID = ids[n&bench.mask]
					exposed = e.Bool("new-checkout", r, false)
					n++
				}
			})
		})
	}
	_ = exposed
}

// BenchmarkC4 takes an event. Its floor is to send the same to a goroutine that
// throws it away.
func BenchmarkC4(b *testing.B) {
	properties := json.RawMessage(`{"plan":"pro","seats":42,"path":"/checkout/payment"}`)
	b.Run("flagstaff", func(b *testing.B) {
		c := benchmarkClient(b)
		b.ReportAllocs()
		n := 0
		for b.Loop() {
			if err := c.CaptureJSON("order paid", "0190f5a0-7c1e-7b7e-9d3a-0242ac120002", properties); err != nil {
				b.Fatal(err)
			}
			if n++; n%benchmarkQueue == 0 {
				drain(b, c)
			}
		}
	})
	b.Run("floor", func(b *testing.B) {
		events := make(chan capture.Event, benchmarkQueue)
		done := make(chan struct{})
		go func() {
			defer close(done)
			for range events {
			}
		}()
		event := capture.Event{Name: "order paid", DistinctID: "0190f5a0-7c1e-7b7e-9d3a-0242ac120002", Properties: properties}
		b.ReportAllocs()
		for b.Loop() {
			events <- event
		}
		close(events)
		<-done
	})
	b.Run("map", func(b *testing.B) {
		c := benchmarkClient(b)
		properties := map[string]any{"plan": "pro", "seats": 42, "path": "/checkout/payment"}
		b.ReportAllocs()
		n := 0
		for b.Loop() {
			if err := c.Capture(capture.ClientEvent{Name: "order paid", DistinctID: "0190f5a0-7c1e-7b7e-9d3a-0242ac120002", Properties: properties}); err != nil {
				b.Fatal(err)
			}
			if n++; n%benchmarkQueue == 0 {
				drain(b, c)
			}
		}
	})
}
