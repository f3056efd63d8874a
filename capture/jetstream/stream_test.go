package jetstream_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
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

func js(t testing.TB, conn *nats.Conn) natsjs.JetStream {
	t.Helper()
	js, err := natsjs.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	return js
}

// info returns what the server says of a stream.
func info(t testing.TB, conn *nats.Conn, name string) *natsjs.StreamInfo {
	t.Helper()
	s, err := js(t, conn).Stream(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return s.CachedInfo()
}

func TestOpen(t *testing.T) {
	t.Parallel()
	conn := connect(t, natstest.Start(t).URL())
	// Several machines begin at the same time.
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if _, err := jetstream.Open(t.Context(), jetstream.Config{Conn: conn, Partitions: 3, MaxBytes: 1 << 20}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	c := info(t, conn, "flagstaff").Config
	got := natsjs.StreamConfig{
		Subjects: c.Subjects, Retention: c.Retention, Discard: c.Discard, Storage: c.Storage,
		MaxBytes: c.MaxBytes, MaxAge: c.MaxAge, Replicas: c.Replicas, Duplicates: c.Duplicates,
	}
	want := natsjs.StreamConfig{
		Subjects:  []string{"flagstaff.events.0.*", "flagstaff.events.1.*", "flagstaff.events.2.*"},
		Retention: natsjs.WorkQueuePolicy, Discard: natsjs.DiscardNew, Storage: natsjs.FileStorage,
		MaxBytes: 1 << 20, Replicas: 1, Duplicates: 2 * time.Minute,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("stream (-want +got)\n%s", diff)
	}
}

// TestMustExist: with MustExist, Open makes nothing.
func TestMustExist(t *testing.T) {
	t.Parallel()
	conn := connect(t, natstest.Start(t).URL())
	look := func() error {
		_, err := jetstream.Open(t.Context(), jetstream.Config{Conn: conn, MustExist: true})
		return err
	}
	for _, step := range []struct {
		what   string
		remove func(natsjs.JetStream) error
	}{
		{"nothing", nil},
		{"no bucket", func(js natsjs.JetStream) error { return js.DeleteKeyValue(t.Context(), "flagstaff-leases") }},
		{"no consumer", func(js natsjs.JetStream) error { return js.DeleteConsumer(t.Context(), "flagstaff", "writer-0") }},
	} {
		if step.remove != nil {
			open(t, conn)
			if err := look(); err != nil {
				t.Errorf("with all: %v", err)
			}
			if err := step.remove(js(t, conn)); err != nil {
				t.Fatal(err)
			}
		}
		for range 2 { // the first look has not made it
			if err := look(); !errors.Is(err, jetstream.ErrNoStream) {
				t.Errorf("with %s: Open = %v, want ErrNoStream", step.what, err)
			}
		}
	}
}

// TestOpenKeeps: settings that an operator has chosen stay, and are logged if
// the config has others.
func TestOpenKeeps(t *testing.T) {
	t.Parallel()
	conn := connect(t, natstest.Start(t).URL())
	_, err := js(t, conn).CreateStream(t.Context(), natsjs.StreamConfig{
		Name: "own", Subjects: []string{"own.events.0.*", "own.events.1.*"}, Retention: natsjs.WorkQueuePolicy, Discard: natsjs.DiscardNew,
		MaxBytes: 12345678, Duplicates: time.Minute, Description: "the operator's",
	})
	if err != nil {
		t.Fatal(err)
	}
	before := info(t, conn, "own").Config
	var log bytes.Buffer
	_, err = jetstream.Open(t.Context(), jetstream.Config{Conn: conn, Name: "own", Partitions: 5, MaxBytes: 1 << 30, Log: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, info(t, conn, "own").Config); diff != "" {
		t.Errorf("the stream has changed (-before +after)\n%s", diff)
	}
	for _, want := range []string{"setting=partitions is=2 configured=5", `setting="maximum of bytes" is=12345678 configured=1073741824`} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log is\n%s, want a line with %s", &log, want)
		}
	}
	if n := strings.Count(log.String(), "\n"); n != 2 {
		t.Errorf("the log has %d lines, want 2:\n%s", n, &log)
	}
}

// TestOpenRefuses: a stream that could lose what it has acknowledged.
func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	conn := connect(t, natstest.Start(t).URL())
	for i, tt := range []struct {
		change func(*natsjs.StreamConfig)
		want   string
	}{
		{func(c *natsjs.StreamConfig) { c.Retention = natsjs.LimitsPolicy }, "retention is Limits, want WorkQueue"},
		{func(c *natsjs.StreamConfig) { c.Retention = natsjs.InterestPolicy }, "retention is Interest"},
		{func(c *natsjs.StreamConfig) { c.Storage = natsjs.MemoryStorage }, "storage is Memory"},
		{func(c *natsjs.StreamConfig) { c.Discard = natsjs.DiscardOld }, "discards old messages"},
		{func(c *natsjs.StreamConfig) { c.MaxAge = time.Hour }, "discards messages after 1h0m0s"},
		{func(c *natsjs.StreamConfig) { c.MaxMsgsPerSubject = 5 }, "5 messages per subject"},
		{func(c *natsjs.StreamConfig) { c.NoAck = true }, "does not acknowledge"},
		{func(c *natsjs.StreamConfig) { c.Subjects = []string{c.Name + ".>"} }, "one for each partition"},
	} {
		c := natsjs.StreamConfig{Name: fmt.Sprint("s", i), Retention: natsjs.WorkQueuePolicy, Discard: natsjs.DiscardNew}
		c.Subjects = []string{c.Name + ".events.0.*"}
		tt.change(&c)
		if _, err := js(t, conn).CreateStream(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		_, err := jetstream.Open(t.Context(), jetstream.Config{Conn: conn, Name: c.Name})
		if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), c.Name) {
			t.Errorf("Open = %v, want an error with %q", err, tt.want)
		}
	}
	// Consumers as well.
	open(t, conn)
	if _, err := js(t, conn).UpdateConsumer(t.Context(), "flagstaff", natsjs.ConsumerConfig{Durable: "writer-0", FilterSubject: "flagstaff.events.0.*", AckPolicy: natsjs.AckExplicitPolicy, MaxDeliver: 5}); err != nil {
		t.Fatal(err)
	}
	if _, err := jetstream.Open(t.Context(), jetstream.Config{Conn: conn}); err == nil || !strings.Contains(err.Error(), `consumer "writer-0"`) {
		t.Errorf("Open = %v, want an error about the consumer", err)
	}
}

func TestConfig(t *testing.T) {
	conn := connect(t, natstest.Start(t).URL())
	for _, tt := range []struct {
		c    jetstream.Config
		want string
	}{
		{jetstream.Config{}, "Config.Conn"},
		{jetstream.Config{Conn: conn, Name: "a.b"}, `Config.Name is "a.b"`},
		{jetstream.Config{Conn: conn, Partitions: 257}, "Config.Partitions is 257"},
		{jetstream.Config{Conn: conn, Replicas: -1}, "Config.Replicas is -1"},
		{jetstream.Config{Conn: conn, MaxBytes: -1}, "negative"},
		{jetstream.Config{Conn: conn, Lease: time.Millisecond}, "Config.Lease is 1ms"},
		{jetstream.Config{Conn: conn, AckWait: time.Millisecond}, "Config.AckWait is 1ms"},
	} {
		if _, err := jetstream.Open(t.Context(), tt.c); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("Open = %v, want an error with %q", err, tt.want)
		}
	}
}

// TestWithoutJetStream: the error says what to do.
func TestWithoutJetStream(t *testing.T) {
	srv := natstest.Start(t, "jetstream: disabled")
	_, err := jetstream.Open(t.Context(), jetstream.Config{Conn: connect(t, srv.URL())})
	if err == nil || !strings.Contains(err.Error(), "-js") {
		t.Errorf("Open = %v, want an error with -js", err)
	}
}

// TestDuplicates: an event that is written again is one event; one that differs
// in what makes it one of a kind is another (wire.md §9 T12, T13).
func TestDuplicates(t *testing.T) {
	t.Parallel()
	s := open(t, connect(t, natstest.Start(t).URL()))
	list := events("p", 0, 10)
	other := list[0]
	other.DistinctID = "q"
	write(t, s, list...)
	write(t, s, list...)
	write(t, s, other, list[3], other)
	waiting(t, s, 11)
}

// TestTooLarge: an event that NATS or the stream does not take hurts nobody else.
func TestTooLarge(t *testing.T) {
	t.Parallel()
	srv := natstest.Start(t, "max_payload: 100000")
	conn := connect(t, srv.URL())
	s := open(t, conn)
	large := func(n, size int) capture.Event {
		e := event("p", n)
		e.Properties = fmt.Appendf(nil, `{"v":%q}`, strings.Repeat("x", size))
		return e
	}
	check := func(err error, want ...int) {
		t.Helper()
		bad := make(map[int]bool)
		if !refusals(err, bad) {
			t.Fatalf("Write = %v, want EventErrors only", err)
		}
		if strings.Contains(err.Error(), "xx") {
			t.Errorf("the error has a value: %v", err)
		}
		for _, i := range want {
			if !bad[i] {
				t.Errorf("event %d is not refused: %v", i, err)
			}
		}
		if len(bad) != len(want) {
			t.Errorf("%d events are refused, want %d: %v", len(bad), len(want), err)
		}
	}
	list := events("p", 0, 1500)
	list[3], list[700], list[1400] = large(3, 100_000), large(700, 98_800), large(1400, 200_000)
	check(s.Write(t.Context(), list), 3, 1400)
	waiting(t, s, 1498)

	// What is almost too large can be a dead letter.
	_, stop := consume(t, s, jetstream.ConsumerConfig{Attempts: 1, Sink: sinkFunc(func(_ context.Context, list []capture.Event) error {
		var errs []error
		for i := range list {
			errs = append(errs, &capture.EventError{Index: i, Err: errors.New(strings.Repeat("long reason ", 100))})
		}
		return errors.Join(errs...)
	})})
	waiting(t, s, 0)
	stop()
	if got := len(deadLetters(t, s)); got != 1498 {
		t.Errorf("%d dead letters, want 1498", got)
	}

	c := info(t, conn, "flagstaff").Config
	c.Name, c.Subjects, c.MaxMsgSize = "small", []string{"small.events.0.*"}, 1000
	if _, err := js(t, conn).CreateStream(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	s = open(t, conn, func(c *jetstream.Config) { c.Name = "small" })
	check(s.Write(t.Context(), []capture.Event{event("q", 1), large(2, 2000), event("q", 3)}), 1)
	waiting(t, s, 2)
}

// TestRuling72CanWrite: whether the stream takes events can be told without any
// (wire.md §2.11).
func TestRuling72CanWrite(t *testing.T) {
	t.Parallel()
	srv := natstest.Start(t)
	s := open(t, connect(t, srv.URL()), func(c *jetstream.Config) { c.MaxBytes = 20_000 })
	if err := s.CanWrite(t.Context()); err != nil {
		t.Errorf("CanWrite = %v, want nil", err)
	}
	waiting(t, s, 0)
	for n := 0; s.Write(t.Context(), events("p", n, n+1)) == nil; n++ {
	}
	if err := s.CanWrite(t.Context()); !errors.Is(err, capture.ErrUnavailable) || !strings.Contains(err.Error(), "is full") {
		t.Errorf("CanWrite = %v of a full stream, want that it is full", err)
	}
	srv.Stop()
	if err := s.CanWrite(t.Context()); !errors.Is(err, capture.ErrUnavailable) {
		t.Errorf("CanWrite = %v without a server, want ErrUnavailable", err)
	}
}

// TestFull: a full stream refuses events, keeps what it has, and takes more once
// something is stored (wire.md §9 T30).
func TestFull(t *testing.T) {
	t.Parallel()
	s := open(t, connect(t, natstest.Start(t).URL()), func(c *jetstream.Config) { c.MaxBytes = 20_000 })
	var n int
	var err error
	for n = 0; err == nil && n < 1000; n += 10 {
		err = s.Write(t.Context(), events("p", n, n+10))
	}
	if !errors.Is(err, capture.ErrUnavailable) {
		t.Fatalf("Write = %v after %d events, want ErrUnavailable", err, n)
	}
	acknowledged := n - 10
	st := newStore()
	consume(t, s, jetstream.ConsumerConfig{Sink: st})
	st.await(t, acknowledged)
	waiting(t, s, 0)
	write(t, s, events("p", acknowledged, n)...)
	st.await(t, n)
	if got := len(st.stored()); got != n {
		t.Errorf("%d events are stored, want %d", got, n)
	}
}

// TestLostConnection: nobody waits for a server that is gone.
func TestLostConnection(t *testing.T) {
	t.Parallel()
	srv := natstest.Start(t)
	conn := connect(t, srv.URL())
	s := open(t, conn)
	write(t, s, event("p", 1))
	if err := s.Ready(t.Context()); err != nil {
		t.Errorf("Ready = %v, want nil", err)
	}
	lost := conn.StatusChanged(nats.RECONNECTING)
	srv.Stop()
	<-lost
	if err := s.Write(t.Context(), events("p", 0, 5)); !errors.Is(err, capture.ErrUnavailable) {
		t.Errorf("Write = %v, want ErrUnavailable", err)
	}
	if err := s.Ready(t.Context()); !errors.Is(err, capture.ErrUnavailable) {
		t.Errorf("Ready = %v, want ErrUnavailable", err)
	}
	srv.Run(t)
	eventually(t, "a Write", func() bool { return s.Write(t.Context(), events("p", 0, 5)) == nil })
	waiting(t, s, 5)
	conn.Close()
	if err := s.Write(t.Context(), events("p", 5, 6)); !errors.Is(err, capture.ErrUnavailable) {
		t.Errorf("Write = %v on a closed connection, want ErrUnavailable", err)
	}
	st := newStore()
	c, err := jetstream.NewConsumer(s, jetstream.ConsumerConfig{Sink: st})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Run(t.Context()); !errors.Is(err, nats.ErrConnectionClosed) {
		t.Errorf("Run = %v on a closed connection, want %v", err, nats.ErrConnectionClosed)
	}
}

// TestNoStream: a stream that was deleted, or is another's now.
func TestNoStream(t *testing.T) {
	t.Parallel()
	conn := connect(t, natstest.Start(t).URL())
	s := open(t, conn)
	if err := js(t, conn).DeleteStream(t.Context(), "flagstaff"); err != nil {
		t.Fatal(err)
	}
	if err := s.Write(t.Context(), events("p", 0, 3)); !errors.Is(err, capture.ErrUnavailable) {
		t.Errorf("Write = %v without a stream, want ErrUnavailable", err)
	}
	if _, err := js(t, conn).CreateStream(t.Context(), natsjs.StreamConfig{Name: "other", Subjects: []string{"flagstaff.>"}}); err != nil {
		t.Fatal(err)
	}
	if err := s.Write(t.Context(), events("p", 0, 3)); !errors.Is(err, capture.ErrUnavailable) {
		t.Errorf("Write = %v with another stream, want ErrUnavailable", err)
	}
	if n := info(t, conn, "other").State.Msgs; n != 0 {
		t.Errorf("the other stream has %d events, want none", n)
	}
}

// TestNoAcknowledgement: where a message arrives and nobody acknowledges it, as when the
// leader of a stream dies, events are refused and not held.
func TestNoAcknowledgement(t *testing.T) {
	t.Parallel()
	conn := connect(t, natstest.Start(t).URL())
	s := open(t, conn)
	if err := js(t, conn).DeleteStream(t.Context(), "flagstaff"); err != nil {
		t.Fatal(err)
	}
	silent, err := conn.SubscribeSync("flagstaff.>")
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.Flush(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := s.Write(ctx, events("p", 0, 3)); !errors.Is(err, capture.ErrUnavailable) {
		t.Errorf("Write = %v without an acknowledgement, want ErrUnavailable", err)
	}
	if n, _, err := silent.Pending(); n != 3 || err != nil {
		t.Errorf("%d messages have arrived, %v; want 3", n, err)
	}
}

// TestWriteContext: when ctx ends, nothing is known, and repeating is harmless.
func TestWriteContext(t *testing.T) {
	t.Parallel()
	s := open(t, connect(t, natstest.Start(t).URL()))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	list := events("p", 0, 3000)
	if err := s.Write(ctx, list); !errors.Is(err, context.Canceled) {
		t.Errorf("Write = %v, want %v", err, context.Canceled)
	}
	write(t, s, list...)
	waiting(t, s, 3000)
	if err := s.Write(t.Context(), nil); err != nil {
		t.Errorf("Write of nothing = %v, want nil", err)
	}
}

// TestConcurrentWrites: each Write keeps its order, all arrive.
func TestConcurrentWrites(t *testing.T) {
	t.Parallel()
	s := open(t, connect(t, natstest.Start(t).URL()), func(c *jetstream.Config) { c.Partitions = 4 })
	st := newStore()
	consume(t, s, jetstream.ConsumerConfig{Sink: st})
	var wg sync.WaitGroup
	for w := range 20 {
		wg.Go(func() {
			for n := 0; n < 400; n += 40 {
				if err := s.Write(t.Context(), events(fmt.Sprint("p", w), n, n+40)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	st.await(t, 8000)
	waiting(t, s, 0)
	inOrder(t, st.stored())
	if got := len(st.stored()); got != 8000 || st.again != 0 {
		t.Errorf("%d events are stored and %d again, want 8000 and none", got, st.again)
	}
}

// inOrder wants the events of each person in their order.
func inOrder(t testing.TB, list []capture.Event) {
	t.Helper()
	last := make(map[string]time.Time)
	wrong := 0
	for _, e := range list {
		if !e.Time.After(last[e.DistinctID]) {
			wrong++
		}
		last[e.DistinctID] = e.Time
	}
	if wrong > 0 {
		t.Errorf("%d of %d events come before an earlier one of their person", wrong, len(list))
	}
}
