package jetstream_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/capture/jetstream"
	"github.com/flagstaff-go/flagstaff/internal/natstest"
)

// TestConsume: what is written arrives as it was, in its order.
func TestConsume(t *testing.T) {
	t.Parallel()
	conn := connect(t, natstest.Start(t).URL())
	s := open(t, conn)
	var want []capture.Event
	for i := range 3000 {
		want = append(want, event(fmt.Sprint("p", i%7), i))
	}
	write(t, s, want[:1500]...)
	st := newStore()
	c, stop := consume(t, s, jetstream.ConsumerConfig{Sink: st})
	write(t, s, want[1500:]...)
	st.await(t, len(want))
	waiting(t, s, 0)
	stop()
	if diff := cmp.Diff(want, st.stored()); diff != "" {
		t.Errorf("stored (-want +got)\n%s", diff)
	}
	if got := c.Stats(); got != (jetstream.Stats{Delivered: 3000, Stored: 3000}) {
		t.Errorf("Stats = %+v, want 3000 delivered and stored", got)
	}
}

// TestRuling74FullBatches: while there is a backlog, batches are full (wire.md
// §3.7).
func TestRuling74FullBatches(t *testing.T) {
	t.Parallel()
	url := natstest.Start(t).URL()
	s := open(t, connect(t, url))
	const backlog, batch = 6000, 300
	write(t, s, events("p", 0, backlog)...)
	st := newStore()
	_, stop := consume(t, s, jetstream.ConsumerConfig{Sink: st, MaxBatch: batch})
	st.await(t, backlog)
	waiting(t, s, 0)
	stop()
	inOrder(t, st.stored())
	if st.writes > backlog/batch || st.again > 0 {
		t.Errorf("%d writes, %d events written again; want %d writes of %d events, none again", st.writes, st.again, backlog/batch, batch)
	}
}

// TestFullBatchesOfReplicas: the same holds for a stream with replicas. There, the end of a
// request may be said before the last messages come.
func TestFullBatchesOfReplicas(t *testing.T) {
	t.Parallel()
	s := open(t, connect(t, natstest.URLs(natstest.Cluster(t, 3))), func(c *jetstream.Config) { c.Replicas = 3 })
	const backlog, batch = 6000, 300
	write(t, s, events("p", 0, backlog)...)
	st := newStore()
	c, stop := consume(t, s, jetstream.ConsumerConfig{Sink: st, MaxBatch: batch})
	st.await(t, backlog)
	waiting(t, s, 0)
	stop()
	inOrder(t, st.stored())
	if got := c.Stats(); st.writes > backlog/batch || st.again > 0 || got.Redelivered > 0 {
		t.Errorf("%d writes, %d events written again, %d redelivered; want %d writes of %d events, none again", st.writes, st.again, got.Redelivered, backlog/batch, batch)
	}
}

// TestUnavailableSink: nothing is lost, a dead letter or put out of order while the
// sink does not work.
func TestUnavailableSink(t *testing.T) {
	t.Parallel()
	for name, failure := range map[string]error{
		"unavailable":  fmt.Errorf("%w: no database", capture.ErrUnavailable),
		"unclassified": errors.New("disk is strange"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t, connect(t, natstest.Start(t).URL()))
			st := newStore()
			want := events("p", 0, 20)
			// The sink works again from a Write on that begins with the first event. If
			// it did so in the middle of events that are written one by one, those
			// before would rightly be dead letters.
			failures, works := 0, false
			st.before = func(_ context.Context, list []capture.Event) error {
				works = works || failures >= 10 && list[0].UUID == want[0].UUID
				if works {
					return nil
				}
				failures++
				return failure
			}
			c, _ := consume(t, s, jetstream.ConsumerConfig{Sink: st, Attempts: 1, MaxBackoff: time.Millisecond})
			write(t, s, want...)
			st.await(t, len(want))
			waiting(t, s, 0)
			if diff := cmp.Diff(names(want), names(st.stored())); diff != "" {
				t.Errorf("stored (-want +got)\n%s", diff)
			}
			if got := c.Stats(); got.DeadLetters != 0 || got.Failures < 10 || got.Redelivered != 0 {
				t.Errorf("Stats = %+v, want failures, no dead letters, nothing redelivered", got)
			}
		})
	}
}

// TestSlowSink: while a Write takes longer than events may stay with a Consumer
// that gives no sign of life, nobody else gets them.
func TestSlowSink(t *testing.T) {
	t.Parallel()
	url := natstest.Start(t).URL()
	s := open(t, connect(t, url), quick) // AckWait is 1 s
	other, err := js(t, connect(t, url)).Consumer(t.Context(), "flagstaff", "writer-0")
	if err != nil {
		t.Fatal(err)
	}
	st := newStore()
	st.before = func(ctx context.Context, _ []capture.Event) error {
		batch, err := other.Fetch(1, natsjs.FetchMaxWait(2*time.Second))
		if err != nil {
			return err
		}
		for m := range batch.Messages() {
			t.Errorf("somebody else gets %s", m.Subject())
		}
		return ctx.Err()
	}
	c, stop := consume(t, s, jetstream.ConsumerConfig{Sink: st, MaxBatch: 10})
	write(t, s, event("p", 0))
	st.await(t, 1)
	waiting(t, s, 0)
	stop()
	if got := c.Stats(); got.Redelivered != 0 || st.again != 0 {
		t.Errorf("Stats = %+v, %d events stored again, want none redelivered", got, st.again)
	}
}

// TestWriteTimeout: a Write that hangs is given up and repeated.
func TestWriteTimeout(t *testing.T) {
	t.Parallel()
	s := open(t, connect(t, natstest.Start(t).URL()))
	st := newStore()
	hangs := make(chan struct{}, 1)
	hangs <- struct{}{}
	st.before = func(ctx context.Context, _ []capture.Event) error {
		select {
		case <-hangs:
			<-ctx.Done()
			return ctx.Err()
		default:
			return nil
		}
	}
	consume(t, s, jetstream.ConsumerConfig{Sink: st, WriteTimeout: 20 * time.Millisecond})
	write(t, s, event("p", 1))
	st.await(t, 1)
	waiting(t, s, 0)
}

// TestStop: when ctx ends, the batch that is being written is finished, and what
// else was fetched is there for the next Consumer at once.
func TestStop(t *testing.T) {
	t.Parallel()
	s := open(t, connect(t, natstest.Start(t).URL()), func(c *jetstream.Config) { c.AckWait, c.Lease = time.Hour, time.Hour })
	st := newStore()
	writing, finish := make(chan int), make(chan struct{})
	st.before = func(ctx context.Context, list []capture.Event) error {
		writing <- len(list)
		<-finish
		return ctx.Err()
	}
	write(t, s, events("p", 0, 10)...)
	_, stop := consume(t, s, jetstream.ConsumerConfig{Sink: st})
	n := <-writing
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		stop()
	}()
	select {
	case <-stopped:
		t.Error("Run returns before the batch is written")
	case <-time.After(20 * time.Millisecond): // as long as it would take
	}
	close(finish)
	<-stopped
	if got := len(st.stored()); got != n {
		t.Errorf("%d events are stored, want %d", got, n)
	}
	waiting(t, s, uint64(10-n))

	// A sink that is down is given up at once.
	failed := make(chan struct{})
	st.set(func(context.Context, []capture.Event) error {
		failed <- struct{}{}
		return capture.ErrUnavailable
	})
	write(t, s, events("p", 10, 20)...)
	_, stop = consume(t, s, jetstream.ConsumerConfig{Sink: st, MaxBackoff: time.Hour})
	for range 3 {
		<-failed
	}
	go func() { // what may be under way
		for range failed {
		}
	}()
	stop()
	close(failed)
	st.set(nil)
	consume(t, s, jetstream.ConsumerConfig{Sink: st})
	st.await(t, 20)
	if diff := cmp.Diff(names(events("p", 0, 20)), names(st.stored())); diff != "" {
		t.Errorf("stored (-want +got)\n%s", diff)
	}
}

// TestMaxBatch: no Write has more events, also not of what a machine that died had
// in hand.
func TestMaxBatch(t *testing.T) {
	t.Parallel()
	conn := connect(t, natstest.Start(t).URL())
	s := open(t, conn, quick)
	write(t, s, events("p", 0, 100)...)
	c, err := js(t, conn).Consumer(t.Context(), "flagstaff", "writer-0")
	if err != nil {
		t.Fatal(err)
	}
	batch, err := c.Fetch(90)
	if err != nil {
		t.Fatal(err)
	}
	for range batch.Messages() {
	}
	st := newStore()
	var most atomic.Int64
	st.before = func(_ context.Context, list []capture.Event) error {
		most.Store(max(most.Load(), int64(len(list))))
		return nil
	}
	consume(t, s, jetstream.ConsumerConfig{Sink: st, MaxBatch: 7})
	st.await(t, 100)
	waiting(t, s, 0)
	if n := most.Load(); n > 7 {
		t.Errorf("a Write has %d events, want at most 7", n)
	}
	if diff := cmp.Diff(names(events("p", 0, 100)), names(st.stored())); diff != "" {
		t.Errorf("stored (-want +got)\n%s", diff)
	}
}

// TestHugeMessage: a message that was taken when the server took larger ones is
// stored all the same.
func TestHugeMessage(t *testing.T) {
	t.Parallel()
	srv := natstest.Start(t, "max_payload: 4MB")
	huge := event("p", 2)
	huge.Properties = fmt.Appendf(nil, `{"x":%q}`, strings.Repeat("x", 3<<20))
	want := []capture.Event{event("p", 1), huge, event("p", 3)}
	write(t, open(t, connect(t, srv.URL())), want...)
	srv.Stop()
	srv.Settings = nil
	srv.Run(t)
	s := open(t, connect(t, srv.URL()))
	st := newStore()
	consume(t, s, jetstream.ConsumerConfig{Sink: st, MaxBytes: 1})
	st.await(t, len(want))
	waiting(t, s, 0)
	if diff := cmp.Diff(names(want), names(st.stored())); diff != "" {
		t.Errorf("stored (-want +got)\n%s", diff)
	}
}

func TestConsumerConfig(t *testing.T) {
	s := open(t, connect(t, natstest.Start(t).URL()))
	for name, c := range map[string]jetstream.ConsumerConfig{
		"no sink":        {},
		"negative batch": {Sink: newStore(), MaxBatch: -1},
		"negative bytes": {Sink: newStore(), MaxBytes: -1},
	} {
		if _, err := jetstream.NewConsumer(s, c); err == nil {
			t.Errorf("%s: NewConsumer returns no error", name)
		}
	}
}
