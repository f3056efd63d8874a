package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/flagstaff-go/flagstaff/internal/memlimit"
)

// answer serves requests until ctx ends, and then shuts down so that no request is
// cut that got a connection.
//
// For the time of -drain it answers as before, but /readyz says that it is not
// ready, so that balancers send their requests elsewhere, and each answer closes its
// connection. Then it ends event streams, whose clients find another server by now, takes
// no more connections, and answers what still comes on the ones that it has. Shutdown of [http.Server] would cut requests that are being read,
// so it comes last, when nothing is under way.
func (s *settings) answer(ctx context.Context, log *slog.Logger, listener net.Listener, handler http.Handler, ready *readiness, closeStreams func()) error {
	connections := connections{states: make(map[net.Conn]state), most: connectionsFor(memlimit.Process())}
	httpServer := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if ready.draining.Load() {
				w.Header().Set("Connection", "close")
			}
			handler.ServeHTTP(w, r)
		}),
		ConnState:         connections.note,
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       30 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
	}
	failed := make(chan error, 1)
	go func() { failed <- httpServer.Serve(listener) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	ready.draining.Store(true)
	log.InfoContext(ctx, "shutting down", "drain", time.Duration(s.drain), "timeout", time.Duration(s.shutdownTimeout))
	select {
	case err := <-failed:
		return err
	case <-time.After(time.Duration(s.drain)):
	}
	deadline, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Duration(s.shutdownTimeout))
	defer cancel()
	closeStreams()
	empty(deadline, listener, min(time.Duration(s.drain), handshakeTime))
	err := listener.Close()
	// Serve has noted all connections that it took when it returns.
	if e := <-failed; !errors.Is(e, net.ErrClosed) {
		err = errors.Join(err, e)
	}
	connections.await(deadline)
	if e := httpServer.Shutdown(deadline); e != nil {
		_ = httpServer.Close() // the remaining requests have had their time
		err = errors.Join(err, fmt.Errorf("requests were still under way after %v: %w", &s.shutdownTimeout, e))
	}
	return err
}

// connections are what an [http.Server] has.
type connections struct {
	mu     sync.Mutex
	states map[net.Conn]state
	most   int // there may be more only while all are busy
}

type state struct {
	http.ConnState
	since time.Time
}

// handshakeTime is how long a connection may take to come about. There is no such
// time without -drain.
const handshakeTime = 100 * time.Millisecond

// newTime is how long a new connection may take to bring its first request if the
// program waits for it to end.
const newTime = time.Second

func (c *connections) note(conn net.Conn, s http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch s {
	case http.StateClosed, http.StateHijacked:
		delete(c.states, conn)
	default:
		c.states[conn] = state{s, time.Now()}
		if len(c.states) > c.most && s == http.StateNew {
			c.closeIdle()
		}
	}
}

// closeIdle closes the connection that waits longest for a request. The newest is one
// of them, so there always is one.
func (c *connections) closeIdle() {
	var oldest net.Conn
	var since time.Time
	for conn, s := range c.states {
		if s.ConnState != http.StateActive && (oldest == nil || s.since.Before(since)) {
			oldest, since = conn, s.since
		}
	}
	delete(c.states, oldest)
	_ = oldest.Close() // its goroutine notices
}

// connectionsFor returns how many connections there may be in so much memory. Each
// takes some 20 KiB, even if it does nothing.
func connectionsFor(limit int64) int {
	const perConnection = 128 << 10 // so that all take a sixth of the memory
	return int(min(limit/perConnection, 1<<30))
}

// busy reports whether a request is under way, or may be.
func (c *connections) busy() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.states {
		if s.ConnState == http.StateActive || s.ConnState == http.StateNew && time.Since(s.since) < newTime {
			return true
		}
	}
	return false
}

// await returns when nothing is under way, or when ctx ends.
func (c *connections) await(ctx context.Context) {
	for c.busy() && pause(ctx) {
	}
}

// pause waits a moment, and reports whether ctx has not ended.
func pause(ctx context.Context) bool {
	select {
	case <-time.After(2 * time.Millisecond):
		return true
	case <-ctx.Done():
		return false
	}
}
