package jetstream_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/capture/jetstream"
	"github.com/flagstaff-go/flagstaff/internal/natstest"
)

// A load writes events until it is stopped, the way clients do: what was not
// acknowledged is written again.
type load struct {
	sink capture.Sink

	mu     sync.Mutex
	acked  []capture.Event
	failed int
	told   chan struct{}
}

// startLoad starts so many writers, one person each.
func startLoad(t testing.TB, sink capture.Sink, writers int) (l *load, stop func()) {
	l = &load{sink: sink, told: make(chan struct{}, 1)}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() { l.run(ctx, t, fmt.Sprint("person-", w)) })
	}
	stop = sync.OnceFunc(func() {
		cancel()
		wg.Wait()
	})
	t.Cleanup(stop)
	return l, stop
}

func (l *load) run(ctx context.Context, t testing.TB, id string) {
	for n := 1; ctx.Err() == nil; {
		list := events(id, n, n+1+n%5)
		n += len(list)
		for {
			// A client gives up waiting, and comes again.
			waiting, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
			err := l.sink.Write(waiting, list)
			cancel()
			if err == nil {
				break
			}
			if !errors.Is(err, capture.ErrUnavailable) && !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("Write = %v, want nil or ErrUnavailable", err)
				return
			}
			l.mu.Lock()
			l.failed++
			l.mu.Unlock()
			select {
			case <-ctx.Done():
				return // nobody counts on these
			case <-time.After(2 * time.Millisecond): // the client's backoff
			}
		}
		l.mu.Lock()
		l.acked = append(l.acked, list...)
		l.mu.Unlock()
		select {
		case l.told <- struct{}{}:
		default:
		}
	}
}

func (l *load) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.acked)
}

// await returns when n more events were acknowledged.
func (l *load) await(t testing.TB, n int) {
	t.Helper()
	deadline := time.After(30 * time.Second)
	for want := l.count() + n; l.count() < want; {
		select {
		case <-l.told:
		case <-deadline:
			t.Fatalf("%d events were acknowledged, want %d", l.count(), want)
		}
	}
}

// check wants what was acknowledged in a store, in order.
func (l *load) check(t testing.TB, st *store) {
	t.Helper()
	lost := 0
	for _, e := range l.acked {
		if !st.seen[e.UUID] {
			lost++
		}
	}
	if lost > 0 {
		t.Errorf("%d of %d acknowledged events are not stored", lost, len(l.acked))
	}
	inOrder(t, st.stored())
	t.Logf("%d events acknowledged, %d writes failed, %d stored, %d of them again", len(l.acked), l.failed, len(st.list), st.again)
	if len(l.acked) == 0 {
		t.Error("nothing was acknowledged: the test tests nothing")
	}
}

// TestOutages lets everything fail in turn, under load: the sink, the server, the
// machine that stores.
func TestOutages(t *testing.T) {
	t.Parallel()
	srv := natstest.Start(t)
	outages(t, srv.URL(), func(c *jetstream.Config) {
		quick(c)
		c.Partitions = 2
	}, func() {
		srv.Stop()
		srv.Run(t)
	})
}

// outages does so with a server that restart kills and starts. The order of a
// person's events holds only if no Write fails halfway, so it is not looked at
// when the server was killed under load.
func outages(t *testing.T, url string, change func(*jetstream.Config), restart func()) {
	s := open(t, connect(t, url), change)
	st := newStore()
	l, stopLoad := startLoad(t, s, 8)
	machine := func() (stop, kill func()) {
		conn := connect(t, url)
		own := open(t, conn, change)
		_, stop = consume(t, own, jetstream.ConsumerConfig{Sink: st, MaxBatch: 50, MaxBackoff: 20 * time.Millisecond})
		return stop, conn.Close
	}
	_, kill := machine()
	machine()
	for range 2 {
		l.await(t, 300)
		st.set(func(context.Context, []capture.Event) error { return capture.ErrUnavailable })
		l.await(t, 100)
		st.set(nil)
		l.await(t, 100)
		kill()
		_, kill = machine()
		l.await(t, 100)
		restart()
	}
	l.await(t, 300)
	stopLoad()
	waiting(t, s, 0)
	st.await(t, l.count())
	conn := connect(t, url)
	eventually(t, "that the stream is empty", func() bool { return info(t, conn, "flagstaff").State.Msgs == 0 })
	lost := 0
	st.mu.Lock()
	defer st.mu.Unlock()
	for _, e := range l.acked {
		if !st.seen[e.UUID] {
			lost++
		}
	}
	t.Logf("%d events acknowledged, %d writes failed, %d stored, %d of them again", len(l.acked), l.failed, len(st.list), st.again)
	if lost > 0 {
		t.Errorf("%d of %d acknowledged events are not stored", lost, len(l.acked))
	}
}

// TestTakeover: machines come and go, orderly and not, and frozen ones wake up.
// What each writes first is in order all the same.
func TestTakeover(t *testing.T) {
	t.Parallel()
	url := natstest.Start(t).URL()
	s := open(t, connect(t, url), quick)
	st := newStore()
	l, stopLoad := startLoad(t, s, 4)

	// The first machine freezes with a batch in hand, and its connection with it.
	conn := connect(t, url)
	frozen, wake := make(chan struct{}), make(chan struct{})
	var once sync.Once
	freezing := sinkFunc(func(ctx context.Context, list []capture.Event) error {
		once.Do(func() {
			close(frozen)
			<-wake
		})
		return st.Write(context.WithoutCancel(ctx), list)
	})
	first, stopFirst := consume(t, open(t, conn), jetstream.ConsumerConfig{Sink: freezing, MaxBatch: 20})
	<-frozen
	conn.Close()

	// The others take over.
	_, stopSecond := consume(t, open(t, connect(t, url)), jetstream.ConsumerConfig{Sink: st, MaxBatch: 20})
	third, _ := consume(t, open(t, connect(t, url)), jetstream.ConsumerConfig{Sink: st, MaxBatch: 30})
	st.await(t, 200)
	close(wake)
	stopFirst()
	if got := first.Stats(); got.Partitions != 0 {
		t.Errorf("the first machine has %d partitions, want 0", got.Partitions)
	}
	stopSecond()
	eventually(t, "that the third machine takes over", func() bool { return third.Stats().Partitions == 1 })
	l.await(t, 200)
	stopLoad()
	waiting(t, s, 0)
	l.check(t, st)
}

// TestRuling74Takeover: when a machine that stores is killed with a batch in hand,
// another one stores within 3 s, also with the default settings. Closing a
// connection looks like SIGKILL to everybody else (wire.md §3.7).
func TestRuling74Takeover(t *testing.T) {
	t.Parallel()
	url := natstest.Start(t).URL()
	s := open(t, connect(t, url))
	st := newStore()
	writing, dead := make(chan struct{}, 1), make(chan struct{})
	hangs := sinkFunc(func(context.Context, []capture.Event) error {
		select {
		case writing <- struct{}{}:
		default:
		}
		<-dead
		return capture.ErrUnavailable
	})
	conn := connect(t, url)
	consume(t, open(t, conn), jetstream.ConsumerConfig{Sink: hangs, MaxBatch: 20})
	t.Cleanup(func() { close(dead) }) // before Run is awaited
	write(t, s, events("p", 0, 100)...)
	<-writing
	consume(t, open(t, connect(t, url)), jetstream.ConsumerConfig{Sink: st, MaxBatch: 20})
	conn.Close()
	killed := time.Now()
	st.await(t, 100)
	if d := time.Since(killed); d > 3*time.Second {
		t.Errorf("another machine stores after %v, want at most 3s", d)
	} else {
		t.Logf("another machine stores after %v", d)
	}
	inOrder(t, st.stored())
}

type sinkFunc func(context.Context, []capture.Event) error

func (f sinkFunc) Write(ctx context.Context, list []capture.Event) error { return f(ctx, list) }

// TestIntruder: a client without a lease takes messages of the consumer and lets
// them go. Order is kept.
func TestIntruder(t *testing.T) {
	t.Parallel()
	url := natstest.Start(t).URL()
	conn := connect(t, url)
	s := open(t, conn, quick)
	st := newStore()
	c, _ := consume(t, s, jetstream.ConsumerConfig{Sink: st, MaxBatch: 10})
	intruder, err := js(t, connect(t, url)).Consumer(t.Context(), "flagstaff", "writer-0")
	if err != nil {
		t.Fatal(err)
	}
	l, stopLoad := startLoad(t, s, 4)
	taken := 0
	for taken < 30 {
		batch, err := intruder.FetchNoWait(3)
		if err != nil {
			t.Fatal(err)
		}
		for range batch.Messages() {
			taken++
		}
	}
	l.await(t, 100)
	stopLoad()
	waiting(t, s, 0)
	l.check(t, st)
	if got := c.Stats(); got.Redelivered == 0 {
		t.Errorf("Stats = %+v: nothing came again, the test tests nothing", got)
	}
}
