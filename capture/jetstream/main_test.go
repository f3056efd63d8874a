package jetstream_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/capture/jetstream"
	"github.com/flagstaff-go/flagstaff/internal/natstest"
)

// TestMain looks for goroutines that outlive all tests. Examples cannot skip themselves
// if there is no server.
func TestMain(m *testing.M) {
	if _, err := natstest.Program(); err != nil && os.Getenv("CI") == "" {
		flag.Parse()
		skip := flag.Lookup("test.skip").Value
		if err := skip.Set(strings.TrimPrefix(skip.String()+"|^Example", "|")); err != nil {
			panic(err) // a flag of package testing
		}
	}
	code := m.Run()
	var left string
	for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if left = ours(); left == "" || time.Now().After(deadline) {
			break
		}
	}
	if left != "" && code == 0 {
		fmt.Fprintf(os.Stderr, "goroutines are left:\n%s\n", left)
		code = 1
	}
	os.Exit(code)
}

// ours are the goroutines of this package.
func ours() string {
	stacks := make([]byte, 8<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	var left []string
	for g := range strings.SplitSeq(string(stacks), "\n\n") {
		if strings.Contains(g, "flagstaff/capture/jetstream.") && !strings.Contains(g, "TestMain") {
			left = append(left, g)
		}
	}
	return strings.Join(left, "\n\n")
}

// connect returns a connection that ends with the test.
func connect(t testing.TB, url string) *nats.Conn {
	t.Helper()
	conn, err := nats.Connect(url, nats.MaxReconnects(-1), nats.ReconnectWait(10*time.Millisecond), nats.ReconnectJitter(0, 0),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {})) // the default prints
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	return conn
}

// quick makes others take over soon.
func quick(c *jetstream.Config) { c.AckWait, c.Lease = time.Second, time.Second }

// open returns a stream.
func open(t testing.TB, conn *nats.Conn, change ...func(*jetstream.Config)) *jetstream.Stream {
	t.Helper()
	c := jetstream.Config{Conn: conn}
	for _, f := range change {
		f(&c)
	}
	s, err := jetstream.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// event returns the nth event of a person.
func event(id string, n int) capture.Event {
	at := time.Date(2026, 11, 21, 12, 0, 0, n*1000, time.UTC)
	return capture.Event{
		Project: 7, UUID: uuid.NewSHA1(uuid.NameSpaceOID, fmt.Appendf(nil, "%s %d", id, n)), Name: "tick", DistinctID: id,
		Time: at, Received: at.Add(time.Second), Properties: fmt.Appendf(nil, `{"n":%d}`, n),
	}
}

// events returns those from first to before last.
func events(id string, first, last int) []capture.Event {
	var list []capture.Event
	for n := first; n < last; n++ {
		list = append(list, event(id, n))
	}
	return list
}

// A store is a Sink that keeps events, once each, in the order in which they came.
type store struct {
	mu      sync.Mutex
	seen    map[uuid.UUID]bool
	list    []capture.Event
	writes  int
	again   int // events that came after they were stored
	changed chan struct{}

	// before is called before events are stored, and decides. Nil: all are.
	before func(ctx context.Context, events []capture.Event) error
}

func newStore() *store {
	return &store{seen: make(map[uuid.UUID]bool), changed: make(chan struct{}, 1)}
}

func (s *store) Write(ctx context.Context, events []capture.Event) error {
	s.mu.Lock()
	before := s.before
	s.mu.Unlock()
	var err error
	bad := make(map[int]bool)
	if before != nil {
		if err = before(ctx, events); err != nil && !refusals(err, bad) {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writes++
	for i, e := range events {
		switch {
		case bad[i]:
		case s.seen[e.UUID]:
			s.again++
		default:
			s.seen[e.UUID] = true
			e.Properties = slices.Clone(e.Properties)
			s.list = append(s.list, e)
		}
	}
	select {
	case s.changed <- struct{}{}:
	default:
	}
	return err
}

func refusals(err error, bad map[int]bool) bool {
	if e, ok := err.(*capture.EventError); ok {
		bad[e.Index] = true
		return true
	}
	list, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return false
	}
	for _, e := range list.Unwrap() {
		if !refusals(e, bad) {
			return false
		}
	}
	return true
}

// set changes what is done before events are stored.
func (s *store) set(before func(context.Context, []capture.Event) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.before = before
}

func (s *store) stored() []capture.Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.list)
}

// await returns when n events are stored.
func (s *store) await(t testing.TB, n int) {
	t.Helper()
	deadline := time.After(30 * time.Second)
	for {
		if got := len(s.stored()); got >= n {
			return
		}
		select {
		case <-s.changed:
		case <-deadline:
			t.Fatalf("%d events are stored, want %d", len(s.stored()), n)
		}
	}
}

// names are the events in the order in which they were stored: distinct ID and n.
func names(list []capture.Event) []string {
	var names []string
	for _, e := range list {
		names = append(names, fmt.Sprint(e.DistinctID, " ", e.Time.Nanosecond()/1000))
	}
	return names
}

// consume runs a Consumer until the test ends.
func consume(t testing.TB, s *jetstream.Stream, c jetstream.ConsumerConfig) (consumer *jetstream.Consumer, stop func()) {
	t.Helper()
	if c.MaxBackoff == 0 {
		c.MaxBackoff = 100 * time.Millisecond
	}
	consumer, err := jetstream.NewConsumer(s, c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- consumer.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil && !errors.Is(err, nats.ErrConnectionClosed) {
			t.Errorf("Run = %v, want nil", err)
		}
	})
	t.Cleanup(stop)
	return consumer, stop
}

// write writes events and wants no error.
func write(t testing.TB, s capture.Sink, list ...capture.Event) {
	t.Helper()
	if err := s.Write(t.Context(), list); err != nil {
		t.Fatalf("Write = %v, want nil", err)
	}
}

// eventually waits for what another goroutine or process does.
func eventually(t testing.TB, what string, f func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !f(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s does not happen", what)
		}
	}
}

// waiting wants so many events in a stream, soon.
func waiting(t testing.TB, s *jetstream.Stream, want uint64) {
	t.Helper()
	eventually(t, fmt.Sprintf("that %d events wait", want), func() bool {
		n, err := s.Waiting(context.Background())
		return err == nil && n == want
	})
}
