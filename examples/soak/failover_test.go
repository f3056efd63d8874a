package soak

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/flagstaff-go/flagstaff/capture/jetstream"
	"github.com/flagstaff-go/flagstaff/internal/natstest"
	"github.com/flagstaff-go/flagstaff/management/sqlstore/postgres/postgrestest"
)

var failovers = flag.Int("failovers", 0, "how often, in each way, the server of NATS that leads the stream is taken away; without it the test is skipped")

const (
	betweenProbes = 25 * time.Millisecond
	away          = 12 * time.Second // time that a server of NATS is not there
	watched       = 25 * time.Second // time that is looked at, from the fault on
	mayAdd        = 2 * time.Second  // that servers may take events later than NATS does
)

// TestFailover takes away the server of NATS that leads the stream, again and again, and
// prints for how long no event is taken: by NATS, from a plain publisher, and by two servers.
func TestFailover(t *testing.T) {
	if *failovers <= 0 {
		t.Skip("-failovers says how often")
	}
	folder, program := t.TempDir(), build(t)
	database, streams := postgrestest.Start(t), natstest.Cluster(t, 3)
	args := []string{
		"-store", database.URL, "-stream", natstest.URLs(streams), "-stream-replicas", "3",
		"-first-keys", filepath.Join(folder, "keys"), "-secret-key-file", secretKeys(t, folder),
	}
	p := newProbes(t, natstest.URLs(streams), newNode(t, program, folder, "first", args...), newNode(t, program, folder, "second", args...))
	var out strings.Builder
	table := tabwriter.NewWriter(&out, 0, 0, 1, ' ', 0)
	fmt.Fprint(table, "| the leader of the stream\t| times\t| NATS takes no events\t| servers take none\t| longer by\t| none is stored\t|\n|---\t|--:\t|--:\t|--:\t|--:\t|--:\t|\n")
	for _, f := range []struct {
		name    string
		do      func(*natstest.Server)
		putBack func(*natstest.Server)
	}{
		{"is killed, and started at once", func(s *natstest.Server) { s.Kill(); s.Run(t) }, func(*natstest.Server) {}},
		{"is killed, and started after " + away.String(), (*natstest.Server).Kill, func(s *natstest.Server) { s.Run(t) }},
		{"is paused for " + away.String(), func(s *natstest.Server) { s.Pause(t) }, func(s *natstest.Server) { s.Resume(t) }},
	} {
		var all [4][]time.Duration
		for range *failovers {
			leader := streams[p.leader(t)]
			gaps := p.watch(t, func() { f.do(leader) }, func() { f.putBack(leader) })
			theirs, ours := gaps[0], max(gaps[1], gaps[2])
			if ours > theirs+mayAdd {
				t.Errorf("%s: servers take no events for %v, and NATS for %v; want at most %v more", f.name, ours, theirs, mayAdd)
			}
			for i, d := range []time.Duration{theirs, ours, ours - theirs, gaps[3]} {
				all[i] = append(all[i], max(d, 0))
			}
		}
		fmt.Fprintf(table, "| %s\t| %d\t", f.name, *failovers)
		for _, times := range all {
			slices.Sort(times)
			fmt.Fprintf(table, "| %.1f, %.1f s\t", times[len(times)/2].Seconds(), times[len(times)-1].Seconds())
		}
		fmt.Fprint(table, "|\n")
	}
	if err := table.Flush(); err != nil {
		t.Error(err)
	}
	t.Logf("medians and longest times:\n%s", out.String())
	if err := await(t.Context(), "all events to be stored", func() bool {
		return p.metric(t.Context(), p.nodes[0], "flagstaff_stream_waiting_events") == 0
	}); err != nil {
		t.Error(err)
	}
}

// probes send events again and again: plain messages to NATS, and requests to servers.
type probes struct {
	nodes []*node
	js    natsjs.JetStream
	event *nats.Msg // as servers have published it
}

// connect returns a client of servers of NATS.
func connect(t *testing.T, url string) natsjs.JetStream {
	t.Helper()
	conn, err := jetstream.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	js, err := natsjs.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	return js
}

func newProbes(t *testing.T, url string, nodes ...*node) *probes {
	t.Helper()
	p := &probes{nodes: nodes, js: connect(t, url)}
	sub, err := p.js.Conn().SubscribeSync("flagstaff.events.>")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = sub.Unsubscribe() }() // the connection is closed in the end
	if err := await(t.Context(), "an event in the stream", func() bool {
		p.ask(t.Context(), nodes[0])
		p.event, err = sub.NextMsg(time.Second)
		return err == nil
	}); err != nil {
		t.Fatal(err)
	}
	return p
}

// ask sends an event to a server, and reports whether it was taken.
func (p *probes) ask(ctx context.Context, n *node) bool {
	status, _, _ := send(ctx, http.MethodPost, n.url+"/i/v0/e/", "", []byte(`{"api_key":"`+projectKey+`","distinct_id":"r","event":"probe"}`))
	return status == http.StatusOK
}

// publish publishes a plain message, and reports whether it was taken.
func (p *probes) publish(ctx context.Context) bool {
	_, err := p.js.PublishMsg(ctx, &nats.Msg{Subject: p.event.Subject, Data: p.event.Data}, natsjs.WithRetryAttempts(0))
	return err == nil
}

// leader returns the number of the server that leads the stream.
func (p *probes) leader(t *testing.T) int { return leader(t, p.js) }

func leader(t *testing.T, js natsjs.JetStream) (i int) {
	t.Helper()
	if err := await(t.Context(), "a leader of the stream", func() bool {
		s, err := js.Stream(t.Context(), "flagstaff")
		if err != nil {
			return false
		}
		_, err = fmt.Sscanf(s.CachedInfo().Cluster.Leader, "n%d", &i)
		return err == nil
	}); err != nil {
		t.Fatal(err)
	}
	return i
}

// watch lets a fault happen and puts back what it has taken away. It returns the longest
// time in which NATS has taken nothing, the same of each server, and the longest in which
// nothing was stored. Each event is sent without waiting for the one before.
func (p *probes) watch(t *testing.T, fault, putBack func()) []time.Duration {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	gaps := make([]gap, 2+len(p.nodes))
	var wg sync.WaitGroup
	tries := []func(context.Context) bool{p.publish}
	for _, n := range p.nodes {
		tries = append(tries, func(ctx context.Context) bool { return p.ask(ctx, n) })
	}
	for i, try := range tries {
		wg.Go(func() {
			for ctx.Err() == nil {
				wg.Go(func() {
					if try(ctx) {
						gaps[i].end()
					}
				})
				pass(ctx, betweenProbes)
			}
		})
	}
	wg.Go(func() {
		for before := 0.0; ctx.Err() == nil; pass(ctx, betweenProbes) {
			first, second := p.metric(ctx, p.nodes[0], "flagstaff_stream_stored_total"), p.metric(ctx, p.nodes[1], "flagstaff_stream_stored_total")
			if stored := first + second; first >= 0 && second >= 0 && stored != before {
				gaps[len(gaps)-1].end()
				before = stored
			}
		}
	})
	pass(ctx, time.Second)
	for i := range gaps {
		gaps[i].begin()
	}
	fault()
	pass(ctx, away)
	putBack()
	pass(ctx, watched-away)
	var longest []time.Duration
	for i := range gaps {
		longest = append(longest, gaps[i].end())
	}
	stop()
	wg.Wait()
	return longest
}

// metric returns a metric of a server, -1 if it is not known.
func (p *probes) metric(ctx context.Context, n *node, name string) float64 {
	_, text, _ := get(ctx, n.url+"/metrics", "")
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, name+" "); ok {
			if f, err := strconv.ParseFloat(strings.TrimSpace(value), 64); err == nil {
				return f
			}
		}
	}
	return -1
}

// A gap is a time between two events, of which it keeps the longest.
type gap struct {
	mu      sync.Mutex
	since   time.Time
	longest time.Duration
}

func (g *gap) begin() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.since, g.longest = time.Now(), 0
}

func (g *gap) end() time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	if !g.since.IsZero() {
		g.longest = max(g.longest, now.Sub(g.since))
	}
	g.since = now
	return g.longest
}
