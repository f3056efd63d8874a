package soak

import (
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/internal/natstest"
	"github.com/flagstaff-go/flagstaff/management/sqlstore/postgres/postgrestest"
)

var failovers = flag.Int("failovers", 0, "how often to kill the server of NATS that leads the stream, and as often to pause it; without it the test is skipped")

const (
	betweenProbes = 25 * time.Millisecond
	away          = 12 * time.Second // time that a server of NATS is not there
	calmDown      = 5 * time.Second  // between two faults
)

// TestFailover takes away the server of NATS that leads the stream, again and again, and
// prints how long events are not taken: by NATS from a plain publisher, and by two servers.
func TestFailover(t *testing.T) {
	if *failovers <= 0 {
		t.Skip("-failovers says how often")
	}
	folder := t.TempDir()
	database, streams := postgrestest.Start(t), natstest.Cluster(t, 3)
	var urls []string
	for _, s := range streams {
		urls = append(urls, s.URL())
	}
	args := []string{"-store", database.URL, "-stream", strings.Join(urls, ","), "-stream-replicas", "3", "-first-keys", filepath.Join(folder, "keys"), "-secret-key-file", secretKeys(t, folder)}
	program := build(t)
	nodes := []*node{newNode(t, program, folder, "first", args...), newNode(t, program, folder, "second", args...)}
	p := newPublisher(t, urls, nodes[0])

	var out strings.Builder
	table := tabwriter.NewWriter(&out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "fault\tNATS takes events\tFlagstaff does\tlater by\tstores them\t")
	var later []time.Duration
	for i := range *failovers {
		for _, f := range []struct {
			name  string
			begin func(*natstest.Server) error
			end   func(*natstest.Server) error
			away  time.Duration
		}{
			{"killed, back at once", func(s *natstest.Server) error { s.Kill(); s.Run(t); return nil }, func(*natstest.Server) error { return nil }, 0},
			{"killed, back later", func(s *natstest.Server) error { s.Kill(); return nil }, func(s *natstest.Server) error { s.Run(t); return nil }, away},
			{"paused", func(s *natstest.Server) error { return pauseS(t,s) }, func(s *natstest.Server) error { return resumeS(t,s) }, away},
		} {
			pass(t.Context(), calmDown)
			leader := p.leader(t)
			m := p.measure(t, nodes, func() { err := f.begin(streams[leader]); if err != nil { t.Fatal(err) } }, func() {
				if err := f.end(streams[leader]); err != nil {
					t.Fatal(err)
				}
			}, f.away)
			later = append(later, m.ours-m.plain)
			fmt.Fprintf(table, "%s\t%v\t%v\t%v\t%v\t\n", f.name, m.plain.Round(10*time.Millisecond), m.ours.Round(10*time.Millisecond), (m.ours - m.plain).Round(10*time.Millisecond), m.stored.Round(10*time.Millisecond))
			t.Logf("%d %s: NATS %v, ours %v (%v), stored %v", i, f.name, m.plain, m.ours, m.each, m.stored)
		}
	}
	table.Flush()
	slices.Sort(later)
	t.Logf("figures:\n%s", out.String())
	_ = cmp.Compare[int]
	_ = atomic.Int64{}
	_ = capture.Event{}
	_ = json.Marshal
	_ = jetstream.JetStream(nil)
}

// A publisher publishes plain messages.
type publisher struct {
	conn    *nats.Conn
	js      jetstream.JetStream
	message *nats.Msg
	n       atomic.Int64
}

func newPublisher(t *testing.T, urls []string, n *node) *publisher {
	conn, err := nats.Connect(strings.Join(urls, ","), nats.MaxReconnects(-1), nats.ReconnectWait(100*time.Millisecond), nats.PingInterval(time.Second), nats.MaxPingsOutstanding(2))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	p := &publisher{conn: conn}
	if p.js, err = jetstream.New(conn); err != nil {
		t.Fatal(err)
	}
	sub, err := conn.SubscribeSync("flagstaff.events.>")
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.Flush(); err != nil {
		t.Fatal(err)
	}
	for p.message == nil {
		sendProbe(t.Context(), n)
		if m, err := sub.NextMsg(time.Second); err == nil {
			p.message = m
		}
	}
	if err := sub.Unsubscribe(); err != nil {
		t.Fatal(err)
	}
	return p
}

func sendProbe(ctx context.Context, n *node) bool {
	status, _, _ := send(ctx, http.MethodPost, n.url+"/i/v0/e/", "", []byte(`{"api_key":"`+projectKey+`","distinct_id":"r","event":"probe"}`))
	return status == http.StatusOK
}

func (p *publisher) publish(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	_, err := p.js.PublishMsg(ctx, &nats.Msg{Subject: p.message.Subject, Data: p.message.Data}, jetstream.WithMsgID(fmt.Sprint("plain-", p.n.Add(1))), jetstream.WithRetryAttempts(0))
	return err == nil
}

func (p *publisher) leader(t *testing.T) int {
	s, err := p.js.Stream(t.Context(), "flagstaff")
	if err != nil {
		t.Fatal(err)
	}
	var n int
	if _, err := fmt.Sscanf(s.CachedInfo().Cluster.Leader, "n%d", &n); err != nil {
		t.Fatal(err)
	}
	return n
}

type measured struct {
	plain, ours, stored time.Duration
	each                []time.Duration
}

// A series is when something went well.
type series struct {
	mu    sync.Mutex
	times []time.Time
}

func (s *series) add() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.times = append(s.times, time.Now())
}

func (s *series) gap(start, end time.Time) (most time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := start
	for _, at := range append(slices.SortedFunc(slices.Values(s.times), time.Time.Compare), end) {
		most = max(most, at.Sub(last))
		if at.After(last) {
			last = at
		}
	}
	return most
}

// measure
func (p *publisher) measure(t *testing.T, nodes []*node, begin, end func(), away time.Duration) measured {
	ctx := t.Context()
	probes := []func(context.Context) bool{p.publish}
	for _, n := range nodes {
		probes = append(probes, func(ctx context.Context) bool { return sendProbe(ctx, n) })
	}
	all := make([]series, len(probes))
	var stored series
	load, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	for i, probe := range probes {
		wg.Go(func() {
			for load.Err() == nil {
				wg.Go(func() {
					if probe(load) {
						all[i].add()
					}
				})
				pass(load, betweenProbes)
			}
		})
	}
	wg.Go(func() {
		for before := 0.0; load.Err() == nil; pass(load, betweenProbes) {
			if now := p.stored(load, nodes); now != before {
				stored.add()
				before = now
			}
		}
	})
	pass(ctx, time.Second)
	start := time.Now()
	begin()
	pass(ctx, away)
	end()
	pass(ctx, 25*time.Second-away)
	ended := time.Now()
	stop()
	wg.Wait()
	m := measured{plain: all[0].gap(start, ended), stored: stored.gap(start, ended)}
	for i := range nodes {
		m.each = append(m.each, all[i+1].gap(start, ended))
	}
	m.ours = slices.Max(m.each)
	return m
}

func (p *publisher) stored(ctx context.Context, nodes []*node) (sum float64) {
	for _, n := range nodes {
		_, text, _ := get(ctx, n.url+"/metrics", "")
		for line := range strings.Lines(string(text)) {
			var f float64
			if _, err := fmt.Sscanf(line, "flagstaff_stream_stored_total %f", &f); err == nil {
				sum += f
			}
		}
	}
	return sum
}

func pauseS(t *testing.T, s *natstest.Server) error { s.Pause(t); return nil }
func resumeS(t *testing.T, s *natstest.Server) error { s.Resume(t); return nil }
