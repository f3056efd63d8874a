package serve

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/flagstaff-go/flagstaff/internal/fulltest"
)

// A visitor sends requests one after the other over raw connections, so that nothing
// repeats a request by itself. It goes on until nobody listens any more.
type visitor struct {
	addr string
	keep bool // the connection, until the server wants it closed

	answered, unready int
	reset             error // of a connection that was not accepted any more
	err               error
}

func (c *visitor) run(ctx context.Context) {
	for ctx.Err() == nil && c.err == nil {
		conn, err := net.Dial("tcp", c.addr)
		if errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ECONNRESET) { // there was no connection
			return
		}
		if err != nil || c.reset != nil {
			c.err = fmt.Errorf("another connection: %w, after %w", err, c.reset)
			return
		}
		r := bufio.NewReader(conn)
		for closed := false; !closed && ctx.Err() == nil; {
			closed, err = c.ask(conn, r)
			if errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrUnexpectedEOF) {
				c.reset = err
				break
			}
			if err != nil {
				c.err = err
				break
			}
			c.answered++
			closed = closed || !c.keep
		}
		conn.Close()
	}
}

// ask sends a request and reads its answer. Every eighth one is for /readyz.
func (c *visitor) ask(conn net.Conn, r *bufio.Reader) (closed bool, err error) {
	const body = `{"api_key":"phc_durable","distinct_id":"u"}`
	request := fmt.Sprintf("POST /flags?v=2 HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	probe := c.answered%8 == 0
	if probe {
		request = "GET /readyz HTTP/1.1\r\nHost: h\r\n\r\n"
	}
	if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		return false, err
	}
	if _, err := io.WriteString(conn, request); err != nil {
		return false, err
	}
	w, err := http.ReadResponse(r, nil)
	if err != nil {
		return false, err
	}
	defer w.Body.Close()
	text, err := io.ReadAll(w.Body)
	if err != nil {
		return false, err
	}
	switch {
	case w.StatusCode == http.StatusOK:
	case probe && w.StatusCode == http.StatusServiceUnavailable && string(text) == "not ready: shutting down" && w.Close:
		c.unready++
	default:
		return false, fmt.Errorf("status %d, %q", w.StatusCode, text)
	}
	return w.Close, nil
}

// TestRuling73Drain is the attack: SIGTERM under load. Each request that the server has read
// is answered, also one whose body comes when nobody listens any more, and /readyz says 503
// meanwhile (wire.md §2.11).
func TestRuling73Drain(t *testing.T) {
	for range fulltest.Count(1, 5) {
		v := startVictim(t, ":memory:", "-drain", "500ms", "-access-log", "all")
		addr := strings.TrimPrefix(v.url, "http://")
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		var wg sync.WaitGroup
		var visitors []*visitor
		for i := range 16 {
			c := &visitor{addr: addr, keep: i%2 == 0}
			visitors = append(visitors, c)
			wg.Go(func() { c.run(ctx) })
		}
		eventually(t, "that it answers", func() bool {
			status, text := get(t, v.url+"/metrics")
			return status == http.StatusOK && strings.Contains(text, `flagstaff_http_requests_total{route="/flags",status="200"} `)
		})
		slow, finish := beginRequest(t, addr)
		defer slow.Close()
		if err := v.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		wg.Wait()
		finish()
		if err := v.cmd.Wait(); err != nil {
			t.Errorf("the server ends with %v", err)
		}
		answered, unready, reset := 1, 0, 0
		for _, c := range visitors {
			answered, unready = answered+c.answered, unready+c.unready
			if c.reset != nil {
				reset++
			}
			if c.err != nil {
				t.Errorf("a visitor that keeps connections (%v): %v", c.keep, c.err)
			}
		}
		read := strings.Count(v.stderr.String(), " route=/flags ") + strings.Count(v.stderr.String(), " route=/readyz ")
		t.Logf("%d requests were read, %d answered, %d connections reset, and %d times /readyz was 503", read, answered, reset, unready)
		if read != answered || unready == 0 {
			t.Error("want each one answered, and some 503")
		}
	}
}

// beginRequest sends the header of a request, and returns when the server waits for the body;
// finish sends that and wants an answer.
func beginRequest(t *testing.T, addr string) (conn net.Conn, finish func()) {
	t.Helper()
	const body = `{"api_key":"phc_durable","distinct_id":"slow"}`
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(conn)
	answer := func(sent string, want int) {
		t.Helper()
		if _, err := io.WriteString(conn, sent); err != nil {
			t.Fatal(err)
		}
		if w, err := http.ReadResponse(r, nil); err != nil || w.StatusCode != want {
			t.Fatalf("a request that takes its time: %v, %v; want status %d", w, err, want)
		}
	}
	answer(fmt.Sprintf("POST /flags?v=2 HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\nExpect: 100-continue\r\n\r\n", len(body)), http.StatusContinue)
	return conn, func() { t.Helper(); answer(body, http.StatusOK) }
}
