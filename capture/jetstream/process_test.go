package jetstream_test

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/capture/jetstream"
)

// natsServer returns what FLAGSTAFF_TEST_NATS says, the URL of a server or the
// path of the program, or else the program that is installed.
func natsServer(t *testing.T) string {
	t.Helper()
	if s := os.Getenv("FLAGSTAFF_TEST_NATS"); s != "" {
		return s
	}
	path, err := exec.LookPath("nats-server")
	switch {
	case err == nil:
		return path
	case os.Getenv("CI") == "true":
		t.Fatal("there is no nats-server: install it, or set FLAGSTAFF_TEST_NATS to its URL or path")
	default:
		t.Skip("there is no nats-server: install it, or set FLAGSTAFF_TEST_NATS to its URL or path")
	}
	return ""
}

func isURL(s string) bool { return strings.Contains(s, "://") }

// A process is a nats-server in a process of its own.
type process struct {
	t      *testing.T
	path   string
	folder string
	args   []string
	url    string
	cmd    *exec.Cmd
}

func startProcess(t *testing.T, path string) *process {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	p := &process{t: t, path: path, folder: t.TempDir(), url: "nats://127.0.0.1:" + strconv.Itoa(port)}
	p.args = []string{"-a", "127.0.0.1", "-p", strconv.Itoa(port), "-js", "-sd", p.folder}
	p.start()
	t.Cleanup(p.kill)
	return p
}

func (p *process) start() {
	p.t.Helper()
	p.cmd = exec.Command(p.path, p.args...)
	if err := p.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	eventually(p.t, "a connection", func() bool {
		conn, err := nats.Connect(p.url)
		if err == nil {
			p.t.Logf("%s %s", p.path, conn.ConnectedServerVersion())
			conn.Close()
		}
		return err == nil
	})
}

// kill ends the process at once, as SIGKILL does.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // it may be dead
	_ = p.cmd.Wait()         // with the error that it was killed
}

// stop ends the process in an orderly way.
func (p *process) stop() {
	p.t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		p.t.Fatal(err)
	}
	_ = p.cmd.Wait() // with the signal
}

// TestProcess uses everything with a server that is not part of the test.
func TestProcess(t *testing.T) {
	t.Parallel()
	url := natsServer(t)
	if !isURL(url) {
		url = startProcess(t, url).url
	}
	conn := connect(t, url)
	name := "test-" + nuid.Next()
	s := open(t, conn, func(c *jetstream.Config) { c.Name, c.Partitions, c.MaxBytes = name, 3, 1<<20 })
	definitions, err := jetstream.OpenDefinitions(t.Context(), jetstream.DefinitionsConfig{Conn: conn, Bucket: name + "-definitions"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		for _, stream := range []string{name, name + "-aside", "KV_" + name + "-leases", "KV_" + name + "-definitions"} {
			if err := js(t, conn).DeleteStream(ctx, stream); err != nil {
				t.Error(err)
			}
		}
	})
	again := open(t, conn, func(c *jetstream.Config) { c.Name = name })

	st := newStore()
	st.before = func(_ context.Context, list []capture.Event) error {
		var errs []error
		for i, e := range list {
			if e.DistinctID == "bad" {
				errs = append(errs, &capture.EventError{Index: i, Err: errors.New("bad")})
			}
		}
		return errors.Join(errs...)
	}
	list := append(events("p", 0, 500), events("q", 500, 1000)...)
	write(t, s, list...)
	write(t, again, list...)
	write(t, s, event("bad", 1))
	waiting(t, s, 1001)
	_, stop := consume(t, s, jetstream.ConsumerConfig{Sink: st, MaxBatch: 100})
	st.await(t, 1000)
	waiting(t, s, 0)
	got := aside(t, s)
	if len(got) != 1 || got[0].Reason != "bad" {
		t.Fatalf("set aside: %+v, want the bad event", got)
	}
	st.set(nil)
	if err := s.Replay(t.Context(), got[0]); err != nil {
		t.Fatal(err)
	}
	st.await(t, 1001)
	waiting(t, s, 0)
	stop()
	inOrder(t, st.stored())
	if st.again != 0 {
		t.Errorf("%d events came again, want none", st.again)
	}

	// It refuses what does not fit.
	large := event("large", 1)
	large.Properties = []byte(`{"v":"` + strings.Repeat("x", 400_000) + `"}`)
	err = nil
	for n := 0; err == nil && n < 10; n++ {
		large.UUID[0]++
		err = s.Write(t.Context(), []capture.Event{large})
	}
	if !errors.Is(err, capture.ErrUnavailable) {
		t.Errorf("Write = %v to a full stream, want ErrUnavailable", err)
	}

	version, err := definitions.Put(t.Context(), document(100))
	if err != nil {
		t.Fatal(err)
	}
	d, loaded, err := definitions.Load(t.Context(), "")
	if err != nil || loaded != version || d.Flags[0].Key != "beta" {
		t.Errorf("Load = %q, %v; want version %q", loaded, err, version)
	}
}

// TestKilledProcess kills the server with SIGKILL under load, and the machine
// that stores and the sink besides (wire.md §2.4).
func TestKilledProcess(t *testing.T) {
	t.Parallel()
	path := natsServer(t)
	if isURL(path) {
		t.Skip("FLAGSTAFF_TEST_NATS is a URL, and what it names cannot be killed")
	}
	p := startProcess(t, path)
	outages(t, p.url, quick, func() {
		p.kill()
		p.start()
	})
}

// TestForgottenDeletes: after a crash the stream may have messages again that were
// acknowledged and deleted. They do not stay, and are counted once, also if an earlier
// message was not acknowledged.
func TestForgottenDeletes(t *testing.T) {
	t.Parallel()
	path := natsServer(t)
	if isURL(path) {
		t.Skip("FLAGSTAFF_TEST_NATS is a URL, and what it names cannot be stopped")
	}
	p := startProcess(t, path)
	conn := connect(t, p.url)
	s := open(t, conn, quick)
	write(t, s, events("p", 0, 100)...)
	p.stop()
	messages := filepath.Join(p.folder, "jetstream", "$G", "streams", "flagstaff", "msgs")
	kept := filepath.Join(t.TempDir(), "msgs")
	if err := os.CopyFS(kept, os.DirFS(messages)); err != nil {
		t.Fatal(err)
	}
	p.start()
	// The first ten are acknowledged, and of all others every second one.
	consumer, err := js(t, conn).Consumer(t.Context(), "flagstaff", "writer-0")
	if err != nil {
		t.Fatal(err)
	}
	batch, err := consumer.Fetch(100, natsjs.FetchMaxWait(10*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	got := 0
	for m := range batch.Messages() {
		if got++; got <= 10 || got%2 == 0 {
			if err := m.DoubleAck(t.Context()); err != nil {
				t.Fatal(err)
			}
		} else if err := m.Nak(); err != nil {
			t.Fatal(err)
		}
	}
	if got != 100 {
		t.Fatalf("%d messages were delivered, want 100", got)
	}
	if n := info(t, conn, "flagstaff").State.Msgs; n != 45 {
		t.Fatalf("%d messages are in the stream, want 45", n)
	}
	p.stop()
	if err := os.RemoveAll(messages); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(messages, os.DirFS(kept)); err != nil {
		t.Fatal(err)
	}
	p.start()
	if n := info(t, conn, "flagstaff").State.Msgs; n != 100 {
		t.Fatalf("%d messages are in the stream again, want 100: the test tests nothing", n)
	}
	s = open(t, conn)
	st := newStore()
	consume(t, s, jetstream.ConsumerConfig{Sink: st, MaxBatch: 30})
	st.await(t, 100)
	eventually(t, "that the stream is empty", func() bool { return info(t, conn, "flagstaff").State.Msgs == 0 })
	want := slices.Sorted(slices.Values(names(events("p", 0, 100))))
	if diff := cmp.Diff(want, slices.Sorted(slices.Values(names(st.stored())))); diff != "" {
		t.Errorf("stored (-want +got)\n%s", diff)
	}
}
