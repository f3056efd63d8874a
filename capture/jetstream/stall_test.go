package jetstream_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/capture/jetstream"
	"github.com/flagstaff-go/flagstaff/internal/natstest"
)

// stalls is after what time consumers of these tests are made anew.
const stalls = time.Second

// TestDeafConsumer: a consumer of NATS delivers nothing although the stream has events, and
// would never do so again. The Consumer says so and makes it anew, which stores all events,
// in their order.
func TestDeafConsumer(t *testing.T) {
	t.Parallel()
	for name, deafen := range map[string]func(t *testing.T, conn *nats.Conn){
		// It is what is left of replicas that disagree: messages count as delivered, and
		// nobody who stores them has them or gets them again.
		"another client keeps all that it may deliver": ghost,
		"it is paused": func(t *testing.T, conn *nats.Conn) {
			if _, err := js(t, conn).PauseConsumer(t.Context(), "flagstaff", "writer-0", time.Now().Add(time.Hour)); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := natstest.Start(t).URL()
			s := open(t, connect(t, url), quick, func(c *jetstream.Config) { c.MaxPending = 50 })
			s.SetStalledAfter(stalls)
			st := newStore()
			want := events("p", 0, 200)
			write(t, s, want[:100]...)
			deafen(t, connect(t, url))
			c, _ := consume(t, s, jetstream.ConsumerConfig{Sink: st, MaxBatch: 50})
			eventually(t, "that it is not ready", func() bool { return c.Ready(t.Context()) != nil })
			if err := c.Ready(t.Context()); err != nil && !errors.Is(err, capture.ErrUnavailable) {
				t.Errorf("Ready = %v, want ErrUnavailable", err)
			}
			st.await(t, 100)
			write(t, s, want[100:]...)
			st.await(t, 200)
			waiting(t, s, 0)
			eventually(t, "that it is ready again", func() bool { return c.Ready(t.Context()) == nil })
			if diff := cmp.Diff(names(want), names(st.stored())); diff != "" {
				t.Errorf("stored (-want +got)\n%s", diff)
			}
			if got := c.Stats(); got.Renewed != 1 || got.Stalled != 0 {
				t.Errorf("Stats = %+v, want that one consumer was made anew, and none is stalled", got)
			}
		})
	}
}

// ghost takes as many messages of the consumer as it delivers at once, and keeps them for
// ever.
func ghost(t *testing.T, conn *nats.Conn) {
	consumer, err := js(t, conn).Consumer(t.Context(), "flagstaff", "writer-0")
	if err != nil {
		t.Fatal(err)
	}
	batch, err := consumer.Fetch(50, natsjs.FetchMaxWait(10*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	var kept []natsjs.Msg
	for m := range batch.Messages() {
		kept = append(kept, m)
	}
	if len(kept) != 50 {
		t.Fatalf("%d messages were delivered, want 50", len(kept))
	}
	ctx, stop := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		again := time.NewTicker(100 * time.Millisecond)
		defer again.Stop()
		for ctx.Err() == nil {
			for _, m := range kept {
				_ = m.InProgress() // nothing hears it after the consumer is deleted
			}
			select {
			case <-again.C:
			case <-ctx.Done():
			}
		}
	})
	t.Cleanup(func() {
		stop()
		wg.Wait()
	})
}

// TestSlowSinkIsNoStall: while the sink works on events, it does not matter how long the
// stream has had them.
func TestSlowSinkIsNoStall(t *testing.T) {
	t.Parallel()
	s := open(t, connect(t, natstest.Start(t).URL()), quick)
	s.SetStalledAfter(stalls)
	st := newStore()
	begun, enough := make(chan struct{}), make(chan struct{})
	var once sync.Once
	st.before = func(context.Context, []capture.Event) error {
		once.Do(func() { close(begun) })
		select {
		case <-enough:
			return nil
		default:
			return capture.ErrUnavailable
		}
	}
	c, _ := consume(t, s, jetstream.ConsumerConfig{Sink: st})
	write(t, s, event("p", 1))
	<-begun
	const ackWait = time.Second // of quick
	look, end := time.NewTicker(stalls/10), time.After(stalls+ackWait+stalls/2)
	defer look.Stop()
	for over := false; !over; { // longer than a stall
		select {
		case <-look.C:
			if err := c.Ready(t.Context()); err != nil {
				t.Fatalf("Ready = %v, want nil", err)
			}
		case <-end:
			over = true
		}
	}
	close(enough)
	st.await(t, 1)
	waiting(t, s, 0)
	if got := c.Stats(); got.Renewed != 0 {
		t.Errorf("Stats = %+v, want that no consumer was made anew", got)
	}
}
