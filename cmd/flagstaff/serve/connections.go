package serve

import (
	"container/list"
	"context"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/flagstaff-go/flagstaff/internal/filelimit"
	"github.com/flagstaff-go/flagstaff/internal/memlimit"
)

// connections are what an [http.Server] has, and bounds them.
//
// If there are as many as there may be, a new connection takes the place of the one that
// waits longest for a request. If all have one, the new connection is surplus: its request
// is answered 503, so that a balancer asks another server. If there are too many of these as
// well, new connections wait until the server takes them.
type connections struct {
	most    int
	surplus atomic.Int64 // connections that are surplus
	refused atomic.Uint64

	mu      sync.Mutex
	states  map[net.Conn]*state
	fresh   list.List // states that wait for their first request, the longest first
	idle    list.List // for another one
	stopped bool
	room    sync.Cond // signalled when a connection ends or may be closed, and at the end
}

// A state is what is known of a connection. One that waits for a request has a place in a
// list, so that the one that waits longest is found among many thousand at once.
type state struct {
	http.ConnState
	conn    net.Conn
	since   time.Time
	surplus bool

	waiting *list.List // nil for one that has a request
	place   *list.Element
}

// wait begins to wait for a request.
func (s *state) wait(in *list.List) { s.waiting, s.place = in, in.PushBack(s) }

// leave ends the waiting.
func (s *state) leave() {
	if s.waiting != nil {
		s.waiting.Remove(s.place)
		s.waiting = nil
	}
}

// first returns the connection of a list that waits longest, or nil.
func first(waiting *list.List) *state {
	if e := waiting.Front(); e != nil {
		return e.Value.(*state)
	}
	return nil
}

const (
	// maxSurplus is how many connections there may be only to be told that there are too
	// many, or an eighth of all if that is less.
	maxSurplus = 64

	// newTime is how long a new connection may take to bring its first request if others
	// need its place.
	newTime = time.Second
)

func newConnections(most int) *connections {
	c := &connections{most: most, states: make(map[net.Conn]*state)}
	c.room.L = &c.mu
	return c
}

// limit returns how many connections there may be, with those that are surplus.
func (c *connections) limit() int { return c.most + min(maxSurplus, max(1, c.most/8)) }

type surplusKey struct{}

// admit counts a new connection when there may be one more, surplus or not. It is the
// ConnContext of the [http.Server], which accepts no other connection meanwhile.
func (c *connections) admit(ctx context.Context, conn net.Conn) context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	surplus := func() bool { return len(c.states) >= c.most && !c.closeIdle() }
	s := &state{ConnState: http.StateNew, conn: conn, surplus: surplus()}
	for s.surplus && len(c.states) >= c.limit() && !c.stopped {
		c.room.Wait()
		s.surplus = surplus()
	}
	s.since = time.Now()
	c.states[conn] = s
	s.wait(&c.fresh)
	if !s.surplus {
		return ctx
	}
	c.surplus.Add(1)
	c.refused.Add(1)
	return context.WithValue(ctx, surplusKey{}, true)
}

// isSurplus reports whether the connection of a request is surplus.
func (c *connections) isSurplus(ctx context.Context) bool {
	return c.surplus.Load() > 0 && ctx.Value(surplusKey{}) != nil
}

// note keeps the state of a connection. It is the ConnState of the [http.Server].
func (c *connections) note(conn net.Conn, s http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	was, ok := c.states[conn]
	switch {
	case !ok: // closeIdle has closed it
	case s == http.StateNew: // admit has counted it
	case s == http.StateClosed, s == http.StateHijacked:
		c.forget(was)
	default:
		was.ConnState, was.since = s, time.Now()
		was.leave()
		if s == http.StateIdle {
			was.wait(&c.idle)
			c.room.Signal() // it may be closed
		}
	}
}

func (c *connections) forget(s *state) {
	s.leave()
	delete(c.states, s.conn)
	if s.surplus {
		c.surplus.Add(-1)
	}
	c.room.Signal()
}

// closeIdle closes the connection that waits longest for a request, and reports whether
// there is one. New ones get a moment to bring theirs.
func (c *connections) closeIdle() bool {
	oldest := first(&c.idle)
	if s := first(&c.fresh); s != nil && time.Since(s.since) > newTime && (oldest == nil || s.since.Before(oldest.since)) {
		oldest = s
	}
	if oldest == nil {
		return false
	}
	c.forget(oldest)
	closeNow(oldest.conn)
	return true
}

// stop lets the [http.Server] end, which may wait for admit.
func (c *connections) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopped = true
	c.room.Broadcast()
}

// connectionsFor returns how many connections there may be in so much memory. Each
// takes some 20 KiB, even if it does nothing.
func connectionsFor(memory int64) int {
	const perConnection = 128 << 10 // bytes, so that all take a sixth of the memory
	return int(min(memory/perConnection, 1<<30))
}

// connectionsOf returns how many connections there may be with so many open files. The
// rest is for the store and the stream: a database that cannot open a file fails.
func connectionsOf(files int64) int {
	kept := int64(128 + 16*runtime.GOMAXPROCS(0))
	n := files - min(files/2, kept)
	return int(min(n-n/8, 1<<30))
}

// connections returns how many connections there may be.
func (s *settings) connections() (int, error) {
	files := filelimit.Process()
	n := s.maxConnections.n
	if n == 0 {
		return max(1, min(connectionsFor(memlimit.Process()), connectionsOf(files))), nil
	}
	if most := connectionsOf(files); n > most {
		return 0, fmt.Errorf("-max-connections is %d, and the process may have %d open files, which is enough for %d connections: raise the limit (LimitNOFILE of systemd, ulimit -n), or lower -max-connections", n, files, most)
	}
	return n, nil
}

// await returns when no connection brings a request, or when ctx ends. A new one has newTime
// for its first request.
func (c *connections) await(ctx context.Context) {
	brings := func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, s := range c.states {
			if s.ConnState == http.StateActive || s.ConnState == http.StateNew && time.Since(s.since) < newTime {
				return true
			}
		}
		return false
	}
	for again := time.Tick(2 * time.Millisecond); brings(); {
		select {
		case <-again:
		case <-ctx.Done():
			return
		}
	}
}

// metrics returns the metrics of the connections for /metrics.
func (c *connections) metrics() []prometheus.Collector {
	open := func() float64 {
		c.mu.Lock()
		defer c.mu.Unlock()
		return float64(len(c.states))
	}
	return []prometheus.Collector{
		gauge("flagstaff_connections", "Connections of clients that are open.", open),
		gauge("flagstaff_connections_max", "Connections of clients that there may be.", func() float64 { return float64(c.most) }),
		counter("flagstaff_connections_refused_total", "Connections that were answered 503 because there were too many.", nil, c.refused.Load),
	}
}
