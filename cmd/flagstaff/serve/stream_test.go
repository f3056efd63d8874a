package serve

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/capture/jetstream"
	"github.com/flagstaff-go/flagstaff/internal/natstest"
	"github.com/flagstaff-go/flagstaff/management/sqlstore"
	"github.com/flagstaff-go/flagstaff/management/sqlstore/postgres"
	"github.com/flagstaff-go/flagstaff/management/sqlstore/postgres/postgrestest"
	"github.com/flagstaff-go/flagstaff/management/sqlstore/sqlite"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// A broker is a NATS server that wants a password.
type broker struct {
	*natstest.Server
	t *testing.T
}

const brokerPassword = "s3cret-of-nats"

func startBroker(t *testing.T) broker {
	t.Helper()
	return broker{natstest.Start(t, "authorization { user: flagstaff, password: "+brokerPassword+" }"), t}
}

func (b broker) url() string { return "nats://flagstaff:" + brokerPassword + "@" + b.Addr }

// open returns the stream. Its settings make servers take over soon.
func (b broker) open() *jetstream.Stream {
	b.t.Helper()
	conn, err := nats.Connect(b.url(), nats.MaxReconnects(-1), nats.ReconnectWait(10*time.Millisecond))
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(conn.Close)
	s, err := jetstream.Open(b.t.Context(), jetstream.Config{Conn: conn, AckWait: time.Second, Lease: time.Second})
	if err != nil {
		b.t.Fatal(err)
	}
	return s
}

// drained waits until everything in the stream is stored.
func drained(t *testing.T, s *jetstream.Stream) {
	t.Helper()
	eventually(t, "that nothing waits", func() bool {
		n, err := s.Waiting(t.Context())
		return err == nil && n == 0
	})
}

// oneWaits waits until one event is in the stream. NATS counts an event a moment
// after it has acknowledged it.
func oneWaits(t *testing.T, s *jetstream.Stream) {
	t.Helper()
	eventually(t, "that one event waits", func() bool {
		n, err := s.Waiting(t.Context())
		return err == nil && n == 1
	})
}

func eventually(t *testing.T, what string, f func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !f(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s does not happen", what)
		}
	}
}

// get returns a page and its status.
func get(t *testing.T, url string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	w, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Body.Close()
	text, err := io.ReadAll(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	return w.StatusCode, string(text)
}

func TestStreamSettings(t *testing.T) {
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"-stream", "http://u:s3cret@h:1"}, "the scheme must be nats"},
		{[]string{"-stream", "nats://u:s3cret@h:port"}, "-stream: want nats://HOST:PORT"},
		{[]string{"-stream", "nats://u:s3cret@h:1,u:s3cret@h2:1"}, "-stream"},
		{[]string{"-stream", "nats://u:s3cret@h:1/x"}, "-stream: want nats://HOST:PORT"},
		{[]string{"-stream", "s3cret"}, "-stream"},
		{[]string{"-stream-consume=false"}, "-stream-consume=false needs a -stream"},
		{[]string{"-stream-replay"}, "-stream-replay needs a -stream"},
		{[]string{"-stream", "nats://u:s3cret@h:1", "-stream-consume=false"}, "needs a -store"},
		{[]string{"-stream", "nats://h:1", "-stream-replicas", "6"}, `"6" for flag -stream-replicas: want 1 to 5`},
		{[]string{"-stream", "nats://h:1", "-stream-partitions", "0"}, `"0" for flag -stream-partitions: want 1 to 256`},
	} {
		m := Main{Args: tt.args, Stdout: io.Discard}
		_, err := m.settings()
		if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%q: error %v, want one with %q and no password", tt.args, err, tt.want)
		}
	}
	m := Main{Args: []string{"-stream", "nats://u:p@a:1, tls://token@b:2"}, Stdout: io.Discard}
	s, err := m.settings()
	if err != nil {
		t.Fatal(err)
	}
	if got, want := s.stream.name(), "NATS at a:1, b:2"; got != want {
		t.Errorf("name = %q, want %q", got, want)
	}
}

// TestRuling74EventLimit: the limit of an event is the same with a stream and
// without one (wire.md §2.2), and is refused at the start if NATS has a lower one.
func TestRuling74EventLimit(t *testing.T) {
	b := startBroker(t)
	for name, args := range map[string][]string{
		"store": {"-demo"}, "stream": {"-demo", "-stream", b.url()},
		"store, 100 kB": {"-demo", "-max-event", "100000"}, "stream, 100 kB": {"-demo", "-max-event", "100000", "-stream", b.url()},
	} {
		t.Run(name, func(t *testing.T) {
			limit := 1 << 20
			if strings.Contains(name, "100 kB") {
				limit = 100_000
			}
			url, _, _ := start(t, nil, append(args, "-addr", "127.0.0.1:0", "-trusted-proxies", "none")...)
			send := func(size int) int {
				t.Helper()
				body := `{"api_key":"phc_demo","event":"e","distinct_id":"u","properties":{"$ip":"127.0.0.1","x":"` + strings.Repeat("x", size) + `"}}`
				w, err := http.Post(url+"/i/v0/e/", "application/json", strings.NewReader(body))
				if err != nil {
					t.Fatal(err)
				}
				w.Body.Close()
				return w.StatusCode
			}
			// The largest event that is taken, of those up to the limit.
			first, after := 0, limit
			for after-first > 1 {
				if half := (first + after) / 2; send(half) == http.StatusOK {
					first = half
				} else {
					after = half
				}
			}
			if status := send(after); status != http.StatusRequestEntityTooLarge {
				t.Errorf("status %d for a property of %d bytes, want 413", status, after)
			}
			if beside := limit - first; beside < 4<<10 || beside > 5<<10 {
				t.Errorf("a property of %d bytes is the longest, want a little more than 4 KiB below the limit", first)
			}
		})
	}
	code, _, stderr := command(t, "-demo", "-max-event", "2000000", "-stream", b.url(), "-addr", "127.0.0.1:0")
	want := fmt.Sprintf("flagstaff serve: NATS at %s takes messages of at most 1048576 bytes, and -max-event is 2000000: raise max_payload of NATS, or lower -max-event\n", b.Addr)
	if code != 1 || stderr != want {
		t.Errorf("exit code %d, %q; want 1 and %q", code, stderr, want)
	}
}

// TestStream: events arrive through the stream; without it clients are told to
// come back.
func TestStream(t *testing.T) {
	b := startBroker(t)
	stream := b.open()
	url, stderr, stop := start(t, nil, "-demo", "-stream", b.url(), "-addr", "127.0.0.1:0")
	post(t, url+"/i/v0/e/", `{"api_key":"phc_demo","event":"$set","distinct_id":"u","properties":{"$set":{"plan":"pro"}}}`)
	eventually(t, "the flag for plan pro", func() bool {
		return values(post(t, url+"/flags?v=2", `{"api_key":"phc_demo","distinct_id":"u"}`))["checkout-button"] != false
	})
	if status, text := get(t, url+"/readyz"); status != http.StatusOK {
		t.Errorf("/readyz = %d %s, want 200", status, text)
	}
	drained(t, stream)
	_, metrics := get(t, url+"/metrics")
	for _, want := range []string{"flagstaff_stream_waiting_events 0", "flagstaff_stream_stored_total 1", "flagstaff_stream_dead_letters_total 0", "flagstaff_stream_partitions 1"} {
		if !strings.Contains(metrics, "\n"+want+"\n") {
			t.Errorf("no %s in\n%s", want, metrics)
		}
	}

	b.Stop()
	eventually(t, "that it is not ready", func() bool {
		status, _ := get(t, url+"/readyz")
		return status == http.StatusServiceUnavailable
	})
	r, err := http.Post(url+"/i/v0/e/", "application/json", strings.NewReader(`{"api_key":"phc_demo","event":"e","distinct_id":"u"}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Body.Close()
	if r.StatusCode != http.StatusServiceUnavailable || r.Header.Get("Retry-After") == "" {
		t.Errorf("status %d, Retry-After %q without the stream; want 503 and a time", r.StatusCode, r.Header.Get("Retry-After"))
	}
	if _, metrics := get(t, url+"/metrics"); strings.Contains(metrics, "flagstaff_stream_waiting_events 0") || !strings.Contains(metrics, "flagstaff_stream_stored_total 1") {
		t.Errorf("metrics without the stream:\n%s", metrics)
	}
	b.Run(t)
	eventually(t, "that it is ready again", func() bool {
		status, _ := get(t, url+"/readyz")
		return status == http.StatusOK
	})
	if code := stop(); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
	if log := stderr.String(); strings.Contains(log, brokerPassword) || !strings.Contains(log, "NATS at 127.0.0.1") || !strings.Contains(log, "is lost") {
		t.Errorf("the log should name the stream and not its password:\n%s", log)
	}

	// A missing NATS server is an error at the start.
	b.Stop()
	m := Main{Args: []string{"-demo", "-stream", b.url(), "-addr", "127.0.0.1:0"}, Stdout: io.Discard, Stderr: stderr}
	if code := m.Run(t.Context()); code != 1 || strings.Contains(stderr.String(), brokerPassword) {
		t.Errorf("exit code %d without NATS, want 1:\n%s", code, stderr)
	}
	b.Run(t)
}

// TestStreamStalled: NATS does not deliver what the stream has. The server says so, and
// stores it all the same (wire.md §2.11).
func TestStreamStalled(t *testing.T) {
	b := startBroker(t)
	stream := b.open()
	url, stderr, stop := start(t, nil, "-demo", "-stream", b.url(), "-addr", "127.0.0.1:0")
	conn, err := jetstream.Connect(b.url())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	js, err := natsjs.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.PauseConsumer(t.Context(), "flagstaff", "writer-0", time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	post(t, url+"/i/v0/e/", `{"api_key":"phc_demo","event":"e","distinct_id":"u"}`)
	eventually(t, "that it is not ready", func() bool {
		status, text := get(t, url+"/readyz")
		return status == http.StatusServiceUnavailable && text == "not ready: the stream does not deliver its events"
	})
	drained(t, stream)
	eventually(t, "that it is ready again", func() bool {
		status, _ := get(t, url+"/readyz")
		return status == http.StatusOK
	})
	_, metrics := get(t, url+"/metrics")
	for _, want := range []string{"flagstaff_stream_renewals_total 1", "flagstaff_stream_stalled_partitions 0", "flagstaff_stream_stored_total 1"} {
		if !strings.Contains(metrics, "\n"+want+"\n") {
			t.Errorf("no %s in\n%s", want, metrics)
		}
	}
	if code := stop(); code != 0 || !strings.Contains(stderr.String(), "making the consumer anew") {
		t.Errorf("exit code %d, want 0, and a log that says what happened:\n%s", code, stderr)
	}
}

// TestStreamOutages kills the server and restarts NATS under load. What was
// answered 200 is stored in the end, once, and persons are as their last event
// left them (wire.md §2.4, §3.7).
func TestStreamOutages(t *testing.T) {
	b := startBroker(t)
	stream := b.open()
	path := filepath.Join(t.TempDir(), "killed.db")
	v := startVictim(t, path, "-stream", b.url())
	l := newLoad(v.url)
	l.senders(t, 16)
	for range 2 {
		l.await(t, 400)
		v.kill()
		v = startVictim(t, path, "-stream", b.url())
		l.url.Store(&v.url)
		l.await(t, 200)
		b.Stop()
		b.Run(t)
	}
	l.await(t, 400)
	l.stop()
	drained(t, stream)
	v.kill()
	db, err := sqlite.Open(t.Context(), path, sqlstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	l.check(t, db)
}

// takeover is how long it may take until another node stores. The race detector
// needs longer.
var takeover = 3 * time.Second

// TestRuling74KilledNode kills the node that stores with SIGKILL, under load. Another
// one stores within 3 s (wire.md §3.7), and nothing is lost or there twice.
func TestRuling74KilledNode(t *testing.T) {
	b := startBroker(t)
	store := postgrestest.Open(t)
	nodes := []*victim{startVictim(t, store, "-stream", b.url())}
	number := func(v *victim, metric string) float64 {
		t.Helper()
		_, text := get(t, v.url+"/metrics")
		m := regexp.MustCompile(`(?m)^` + metric + ` (\S+)$`).FindStringSubmatch(text)
		if m == nil {
			t.Fatalf("no %s in %s", metric, text)
		}
		n, err := strconv.ParseFloat(m[1], 64)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	stores := func(v *victim) bool { return number(v, "flagstaff_stream_partitions") == 1 }
	eventually(t, "that the first node stores", func() bool { return stores(nodes[0]) })
	nodes = append(nodes, startVictim(t, store, "-stream", b.url()))
	l := newLoad(nodes[1].url) // which stays
	l.senders(t, 8)
	l.await(t, 200)
	if stores(nodes[1]) {
		t.Fatal("both nodes store")
	}
	l.await(t, 200)
	killed := time.Now()
	nodes[0].kill()
	eventually(t, "that the other node stores", func() bool { return number(nodes[1], "flagstaff_stream_stored_total") > 0 })
	if d := time.Since(killed); d > takeover {
		t.Errorf("the other node stores after %v, want at most %v", d, takeover)
	} else {
		t.Logf("the other node stores after %v", d)
	}
	l.await(t, 200)
	l.stop()
	drained(t, b.open())
	nodes[1].kill()
	db, err := postgres.Open(t.Context(), store, sqlstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	l.failed["none, as the senders notice nothing"] = 1 // check wants some
	l.check(t, db)
}

// TestStreamDatabase closes and opens the database under load. Clients notice
// nothing.
func TestStreamDatabase(t *testing.T) {
	b := startBroker(t)
	stream := b.open()
	path := filepath.Join(t.TempDir(), "closed.db")
	var opened atomic.Pointer[sqlstore.Storage]
	current := func() sqlstore.Storage { return *opened.Load() }
	open := func() {
		db, err := sqlite.Open(t.Context(), path, sqlstore.Options{})
		if err != nil {
			t.Fatal(err)
		}
		opened.Store(&db)
	}
	open()
	consumer, err := jetstream.NewConsumer(stream, jetstream.ConsumerConfig{MaxBackoff: 10 * time.Millisecond, Sink: sinkFunc(func(ctx context.Context, list []capture.Event) error {
		return current().Write(ctx, list)
	})})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { _ = consumer.Run(ctx) })
	acked := make(map[string]bool)
	n := 0
	load := func(batches int) {
		for range batches {
			var list []capture.Event
			for range 20 {
				n++
				now := time.Now().UTC().Truncate(time.Microsecond)
				list = append(list, capture.Event{
					Project: 1, UUID: capture.NewUUID(now), Name: "tick", DistinctID: fmt.Sprint("p", n%5), Time: now, Received: now,
					Properties: fmt.Appendf(nil, `{"$set":{"n":%d}}`, n),
				})
			}
			if err := stream.Write(t.Context(), list); err != nil {
				t.Fatal(err)
			}
			for _, e := range list {
				acked[e.UUID.String()] = true
			}
		}
	}
	for range 3 {
		load(20)
		failures := consumer.Stats().Failures
		if err := current().Close(); err != nil {
			t.Fatal(err)
		}
		load(20)
		eventually(t, "a failure", func() bool { return consumer.Stats().Failures > failures })
		open()
	}
	drained(t, stream)
	cancel()
	wg.Wait()
	defer current().Close()
	stored := make(map[string]int)
	for e, err := range current().AllEvents(t.Context(), 1, storage.EventFilter{}) {
		if err != nil {
			t.Fatal(err)
		}
		stored[e.UUID.String()]++
	}
	for id := range acked {
		if stored[id] != 1 {
			t.Errorf("event %s is stored %d times, want once", id, stored[id])
		}
	}
	if len(stored) != len(acked) {
		t.Errorf("%d events are stored, want %d", len(stored), len(acked))
	}
	for p := range 5 {
		got, err := current().AppendPerson(t.Context(), nil, 1, fmt.Sprint("p", p))
		if want := fmt.Sprintf(`{"n":%d}`, n-(n-p)%5); err != nil || string(got) != want {
			t.Errorf("person p%d is %s, %v; want %s", p, got, err, want)
		}
	}
	if got := consumer.Stats(); got.DeadLetters != 0 {
		t.Errorf("%d dead letters, want none", got.DeadLetters)
	}
}

type sinkFunc func(context.Context, []capture.Event) error

func (f sinkFunc) Write(ctx context.Context, list []capture.Event) error { return f(ctx, list) }

// TestStreamNodes: a server that only takes events in, and one that stores them.
func TestStreamNodes(t *testing.T) {
	database := postgrestest.Open(t)
	b := startBroker(t)
	stream := b.open()
	settings := []string{"-store", database, "-project-key", "phc_durable", "-addr", "127.0.0.1:0", "-stream", b.url()}
	ingest, _, _ := start(t, nil, append(settings, "-stream-consume=false")...)
	post(t, ingest+"/i/v0/e/", `{"api_key":"phc_durable","event":"$set","distinct_id":"u","properties":{"$set":{"plan":"pro"}}}`)
	oneWaits(t, stream)
	_, metrics := get(t, ingest+"/metrics")
	if !strings.Contains(metrics, "flagstaff_stream_waiting_events 1") || strings.Contains(metrics, "flagstaff_stream_stored") {
		t.Errorf("metrics of a server that stores nothing:\n%s", metrics)
	}
	start(t, map[string]string{"FLAGSTAFF_STREAM_CONSUME": "true"}, settings...)
	drained(t, stream)
}

// TestStreamReplay: dead letters are put back and listed.
func TestStreamReplay(t *testing.T) {
	b := startBroker(t)
	stream := b.open()
	now := time.Now().UTC().Truncate(time.Microsecond)
	event := capture.Event{Project: 1, UUID: capture.NewUUID(now), Name: "tick", DistinctID: "p", Time: now, Received: now, Properties: []byte(`{}`)}
	if err := stream.Write(t.Context(), []capture.Event{event}); err != nil {
		t.Fatal(err)
	}
	refuse := sinkFunc(func(context.Context, []capture.Event) error {
		return &capture.EventError{Err: errors.New("not today")}
	})
	consumer, err := jetstream.NewConsumer(stream, jetstream.ConsumerConfig{Sink: refuse, Attempts: 1})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { _ = consumer.Run(ctx) })
	eventually(t, "that the event is a dead letter", func() bool { return consumer.Stats().DeadLetters == 1 })
	drained(t, stream)
	cancel()
	wg.Wait()

	var stdout bytes.Buffer
	m := Main{Args: []string{"-stream", b.url(), "-stream-replay"}, Stdout: &stdout, Stderr: io.Discard}
	if code := m.Run(t.Context()); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
	if got := stdout.String(); !strings.Contains(got, "flagstaff.events.0.1  not today\n1 events are in the stream again\n") {
		t.Errorf("it prints\n%s", got)
	}
	oneWaits(t, stream)
}
