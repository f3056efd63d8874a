package serve

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/internal/filelimit"
	"github.com/flagstaff-go/flagstaff/internal/memlimit"
)

// TestRuling69Connections: connections that do nothing make room for others, none with a
// request is closed, and what is too much is told so.
func TestRuling69Connections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newConnections(3)
		var conns []*closable
		var surplus []int
		connect := func(states ...http.ConnState) {
			conn := new(closable)
			if c.isSurplus(c.admit(t.Context(), conn)) {
				surplus = append(surplus, len(conns))
			}
			conns = append(conns, conn)
			for _, s := range append([]http.ConnState{http.StateNew}, states...) {
				c.note(conn, s)
			}
		}
		closed := func() (list []int) {
			for i, conn := range conns {
				if conn.closed {
					list = append(list, i)
				}
			}
			return list
		}
		for i, tt := range []struct {
			states          []http.ConnState
			closed, surplus []int
		}{
			{[]http.ConnState{http.StateActive}, nil, nil},
			{[]http.ConnState{http.StateActive, http.StateIdle}, nil, nil},
			{nil, nil, nil},
			{[]http.ConnState{http.StateActive}, []int{1}, nil},
			{[]http.ConnState{http.StateActive}, []int{1}, []int{4}}, // 2 is too new
		} {
			connect(tt.states...)
			if diff := gocmp.Diff([][]int{tt.closed, tt.surplus}, [][]int{closed(), surplus}); diff != "" {
				t.Errorf("closed and surplus after connection %d (-want +got):\n%s", i, diff)
			}
		}
		time.Sleep(newTime + 1)
		connect()
		if diff := gocmp.Diff([][]int{{1, 2}, {4}}, [][]int{closed(), surplus}); diff != "" {
			t.Errorf("closed and surplus after the time of a new connection (-want +got):\n%s", diff)
		}

		// There are 4 of at most 4: the next one waits until another one may be closed.
		var taken bool
		go func() { c.admit(t.Context(), new(closable)); taken = true }()
		synctest.Wait()
		if taken {
			t.Error("there is room for a fifth connection")
		}
		c.note(conns[4], http.StateIdle)
		synctest.Wait()
		if !taken || !conns[4].closed || c.surplus.Load() != 0 {
			t.Errorf("after a connection has nothing to do: taken = %v, closed = %v, %d surplus", taken, conns[4].closed, c.surplus.Load())
		}
	})
	if got := connectionsFor(230 << 20); got != 1840 {
		t.Errorf("%d connections in 230 MiB", got)
	}
	if got := connectionsFor(memlimit.None); got != 1<<30 {
		t.Errorf("%d connections in any memory", got)
	}
	if got := connectionsOf(64); got != 28 {
		t.Errorf("%d connections of 64 files", got)
	}
	if got := connectionsOf(filelimit.None); got != 1<<30 {
		t.Errorf("%d connections of any number of files", got)
	}
}

// A closable is a connection that can only be closed.
type closable struct {
	net.Conn
	closed bool
}

func (c *closable) Close() error {
	c.closed = true
	return nil
}

// A pipeListener is a network within a synctest bubble, where time passes at once.
type pipeListener struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error   { l.once.Do(func() { close(l.closed) }); return nil }
func (l *pipeListener) Addr() net.Addr { return localPeer }

func (l *pipeListener) dial() net.Conn {
	ours, theirs := net.Pipe()
	l.conns <- theirs
	return ours
}

// behindFront runs a test against the server of the program with a handler.
func behindFront(t *testing.T, most int, handler http.HandlerFunc, test func(t *testing.T, l *pipeListener)) {
	synctest.Test(t, func(t *testing.T) {
		l := &pipeListener{conns: make(chan net.Conn), closed: make(chan struct{})}
		f := &front{
			listener: &listener{Listener: l}, connections: newConnections(most), handler: handler,
			ready: newReadiness(nil), log: slog.New(slog.DiscardHandler), closeStreams: func() {}, stopping: func() error { return nil },
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- f.answer(ctx, 0, time.Minute) }()
		test(t, l)
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// TestSlowClients: clients that send or take a byte a second do not keep a connection for
// ever.
func TestSlowClients(t *testing.T) {
	const long = 1 << 20 // bytes
	handler := func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			w.WriteHeader(http.StatusRequestTimeout)
			return
		}
		_, _ = io.WriteString(w, strings.Repeat("x", long))
	}
	// The name, what is sent at once, what is sent a byte a second, and how long the
	// connection may last.
	for _, tt := range []struct {
		name, at, slowly string
		most             time.Duration
	}{
		{"nothing", "", "", maxHeaderTime},
		{"a header", "GET / HTTP/1.1\r\nHost: x\r\nX: ", strings.Repeat("y", 1000), maxHeaderTime},
		{"a body", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n", strings.Repeat("y", 1000), maxRequestTime},
		{"no reader", "GET / HTTP/1.1\r\nHost: x\r\n\r\n", "", maxAnswerTime},
	} {
		t.Run(tt.name, func(t *testing.T) {
			behindFront(t, 10, handler, func(t *testing.T, l *pipeListener) {
				conn := l.dial()
				begin := time.Now()
				_, err := io.WriteString(conn, tt.at)
				for i := 0; err == nil && i < len(tt.slowly); i++ {
					time.Sleep(time.Second)
					_, err = conn.Write([]byte{tt.slowly[i]})
				}
				if tt.at == "" {
					_, err = conn.Read(make([]byte, 1))
				}
				for err == nil { // nobody reads; that the server has closed is seen by writing
					time.Sleep(time.Second)
					_, err = conn.Write([]byte{'\n'})
				}
				if took := time.Since(begin); took > tt.most+5*time.Second {
					t.Errorf("the connection lasted %v, want about %v", took, tt.most)
				}
				conn.Close()
			})
		})
	}
}

// TestSurplus: a connection too many is told so, and the next one is taken when one is
// free.
func TestSurplus(t *testing.T) {
	release := make(chan struct{})
	handler := func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/busy" {
			<-release
		}
	}
	ask := func(t *testing.T, conn net.Conn, path string) *http.Response {
		t.Helper()
		if _, err := io.WriteString(conn, "GET "+path+" HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		w, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		w.Body.Close()
		return w
	}
	behindFront(t, 1, handler, func(t *testing.T, l *pipeListener) {
		release = make(chan struct{}) // of the bubble
		first := l.dial()
		if _, err := io.WriteString(first, "GET /busy HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		second := l.dial()
		if w := ask(t, second, "/"); w.StatusCode != http.StatusServiceUnavailable || w.Header.Get("Retry-After") != "1" || !w.Close {
			t.Errorf("the second connection: status %d with %v", w.StatusCode, w.Header)
		}
		second.Close()
		close(release)
		if w, err := http.ReadResponse(bufio.NewReader(first), nil); err != nil || w.StatusCode != http.StatusOK {
			t.Errorf("the first connection: %v, %v", w, err)
		}
		synctest.Wait()
		third := l.dial() // for which the first one, which is idle now, is closed
		if w := ask(t, third, "/"); w.StatusCode != http.StatusOK {
			t.Errorf("the third connection: status %d", w.StatusCode)
		}
		third.Close()
		first.Close()
	})
}
