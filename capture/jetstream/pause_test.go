//go:build unix

package jetstream_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/capture/jetstream"
	"github.com/flagstaff-go/flagstaff/internal/natstest"
)

// TestPausedServer stops the process of a server of NATS, of three. Its connections stay,
// and it says nothing.
func TestPausedServer(t *testing.T) {
	t.Parallel()
	servers := natstest.Cluster(t, 3)
	plain := connect(t, natstest.URLs(servers))
	open(t, plain, func(c *jetstream.Config) { c.Replicas = 3 })
	// dial connects to the ith server; the others are known.
	dial := func(t *testing.T, i int) *nats.Conn {
		t.Helper()
		conn, err := jetstream.Connect(natstest.URLs(slices.Concat(servers[i:], servers[:i])), nats.DontRandomize())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(conn.Close)
		return conn
	}
	leader := func(t *testing.T) (i int) {
		t.Helper()
		if _, err := fmt.Sscanf(info(t, connect(t, natstest.URLs(servers)), "flagstaff").Cluster.Leader, "n%d", &i); err != nil {
			t.Fatal(err)
		}
		return i
	}

	// NATS chooses another leader. Then events are taken within 2 s.
	t.Run("it leads the stream", func(t *testing.T) {
		i := leader(t)
		s := open(t, dial(t, (i+1)%len(servers)))
		publisher := js(t, dial(t, (i+2)%len(servers)))
		write(t, s, event("p", 1))
		servers[i].Pause(t)
		defer servers[i].Resume(t)
		var theirs time.Duration
		var wg sync.WaitGroup
		wg.Go(func() { theirs = untilLed(t, publisher) })
		ours := untilTaken(t, s)
		wg.Wait()
		if ours > theirs+2*time.Second {
			t.Errorf("events are taken after %v, %v after a plain message; want at most 2s", ours, ours-theirs)
		} else {
			t.Logf("a plain message is taken after %v, and events after %v", theirs, ours)
		}
	})

	// Events are taken within 5 s if the connection is with the server, and the leader of
	// the stream is another one.
	t.Run("the connection is with it", func(t *testing.T) {
		i := (leader(t) + 1) % len(servers)
		c := dial(t, i)
		s := openInTime(t, c) // the server that was paused before may still look for its peers
		write(t, s, event("p", 0))
		servers[i].Pause(t)
		defer servers[i].Resume(t)
		if d := untilTaken(t, s); d > 5*time.Second {
			t.Errorf("events are taken after %v, want at most 5s", d)
		} else {
			t.Logf("events are taken after %v", d)
		}
	})
}

// untilTaken writes events, one after the other, until they are taken, and returns how long
// that took. Each Write ends within 6 s.
func untilTaken(t *testing.T, s *jetstream.Stream) time.Duration {
	t.Helper()
	begin := time.Now()
	for n := 1000; ; n++ {
		wrote := time.Now()
		err := s.Write(t.Context(), events("p", n, n+1))
		if d := time.Since(wrote); d > 6*time.Second {
			t.Errorf("a Write took %v, want at most 6s", d)
		}
		if err == nil {
			return time.Since(begin)
		}
		if !errors.Is(err, capture.ErrUnavailable) {
			t.Fatalf("Write = %v, want nil or ErrUnavailable", err)
		}
		time.Sleep(10 * time.Millisecond) // the client's backoff
		if time.Since(begin) > time.Minute {
			t.Fatalf("events are not taken for a minute: %v", err)
		}
	}
}

// openInTime is open while a cluster may have no leader.
func openInTime(t *testing.T, conn *nats.Conn) *jetstream.Stream {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for again := time.NewTicker(50 * time.Millisecond); ; {
		s, err := jetstream.Open(ctx, jetstream.Config{Conn: conn})
		if err == nil {
			again.Stop()
			return s
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			t.Fatalf("NATS has no leader for a minute: %v", err)
		}
	}
}

// untilLed publishes a message every 50 ms until one is acknowledged, and returns how long
// that took.
func untilLed(t *testing.T, js natsjs.JetStream) time.Duration {
	begin := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	taken := make(chan time.Duration, 1)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	for again := time.NewTicker(50 * time.Millisecond); ; {
		wg.Go(func() {
			// Nobody stores it, so it need not be an event.
			if _, err := js.PublishMsg(ctx, &nats.Msg{Subject: "flagstaff.events.0.7"}, natsjs.WithRetryAttempts(0)); err == nil {
				select {
				case taken <- time.Since(begin):
				default:
				}
			}
		})
		select {
		case d := <-taken:
			again.Stop()
			return d
		case <-ctx.Done():
			t.Error("NATS takes no message for a minute")
			return time.Since(begin)
		case <-again.C:
		}
	}
}
