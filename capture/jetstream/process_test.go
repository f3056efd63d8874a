package jetstream_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/flagstaff-go/flagstaff/capture/jetstream"
	"github.com/flagstaff-go/flagstaff/internal/natstest"
)

// TestKilledProcess kills the server with SIGKILL under load, and the machine
// that stores and the sink besides (wire.md §2.4).
func TestKilledProcess(t *testing.T) {
	t.Parallel()
	srv := natstest.Start(t)
	outages(t, srv.URL(), quick, func() {
		srv.Kill()
		srv.Run(t)
	})
}

// TestForgottenDeletes: after a crash the stream may have messages again that were
// acknowledged and deleted. They do not stay, and are counted once, also if an earlier
// message was not acknowledged.
func TestForgottenDeletes(t *testing.T) {
	t.Parallel()
	srv := natstest.Start(t)
	conn := connect(t, srv.URL())
	s := open(t, conn, quick)
	write(t, s, events("p", 0, 100)...)
	srv.Stop()
	messages := filepath.Join(srv.Folder, "jetstream", "$G", "streams", "flagstaff", "msgs")
	kept := filepath.Join(t.TempDir(), "msgs")
	if err := os.CopyFS(kept, os.DirFS(messages)); err != nil {
		t.Fatal(err)
	}
	srv.Run(t)
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
	srv.Stop()
	if err := os.RemoveAll(messages); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(messages, os.DirFS(kept)); err != nil {
		t.Fatal(err)
	}
	srv.Run(t)
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
