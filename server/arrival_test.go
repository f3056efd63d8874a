package server_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/server"
)

// listenPipes serves over connections in memory, whose deadlines follow the clock of
// a synctest bubble, with the timeouts of cmd/flagstaff/serve. It returns a function that
// connects.
func listenPipes(t *testing.T, h http.Handler) (connect func() net.Conn) {
	t.Helper()
	l := &pipes{ready: make(chan net.Conn), closed: make(chan struct{})}
	s := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second, WriteTimeout: 30 * time.Second, IdleTimeout: 2 * time.Minute}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.Serve(l)
	}()
	t.Cleanup(func() {
		s.Close()
		<-ended
	})
	return func() net.Conn {
		ours, theirs := net.Pipe()
		t.Cleanup(func() { ours.Close() })
		l.ready <- theirs
		return ours
	}
}

type pipes struct {
	ready  chan net.Conn
	closed chan struct{}
}

func (l *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-l.ready:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipes) Close() error {
	close(l.closed)
	return nil
}

func (l *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "unix"} }

// TestRuling70Bodies: a body may take any time if 4 KiB arrive in 10 s, and is cut
// after 10 s without them.
func TestRuling70Bodies(t *testing.T) {
	for _, tt := range []struct {
		name   string
		piece  int // bytes that are sent at once
		pause  time.Duration
		chunks bool // the length is not known
		status int
		took   time.Duration // 0: as long as it takes
	}{
		{"at once", 1 << 20, 0, false, 200, 0},
		{"slowly", 1 << 10, 2 * time.Second, false, 200, 0},
		{"slowly in chunks", 1 << 10, 2 * time.Second, true, 200, 0},
		{"in bursts", 4 << 10, 9 * time.Second, false, 200, 0},
		{"too slowly", 1 << 10, 3 * time.Second, false, 408, 20 * time.Second},
		{"too slowly in chunks", 1 << 10, 3 * time.Second, true, 408, 20 * time.Second},
		{"not at all", 4 << 10, time.Hour, false, 408, 10 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, f := newCapture(t, nil)
				conn := listenPipes(t, s)()
				body := `{"api_key":"phc_demo","event":"e","distinct_id":"u","properties":{"x":"` + strings.Repeat("x", 100<<10) + `"}}`
				begin := time.Now()
				sent := make(chan struct{})
				go func() {
					defer close(sent)
					head := fmt.Sprintf("POST /i/v0/e/ HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n", len(body))
					if tt.chunks {
						head = "POST /i/v0/e/ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
					}
					io.WriteString(conn, head)
					for rest := body; rest != ""; {
						piece := rest[:min(tt.piece, len(rest))]
						rest = rest[len(piece):]
						if tt.chunks {
							piece = fmt.Sprintf("%x\r\n%s\r\n", len(piece), piece)
						}
						if _, err := io.WriteString(conn, piece); err != nil {
							return
						}
						time.Sleep(tt.pause)
					}
					if tt.chunks {
						io.WriteString(conn, "0\r\n\r\n")
					}
				}()
				resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
				if err != nil {
					t.Fatal(err)
				}
				defer resp.Body.Close()
				if text := bodyText(t, resp); resp.StatusCode != tt.status {
					t.Errorf("%d %s after %v, want %d", resp.StatusCode, text, time.Since(begin), tt.status)
				}
				if took := time.Since(begin); tt.took > 0 && (took < tt.took-time.Second || took > tt.took+2*time.Second) {
					t.Errorf("cut after %v, want %v", took, tt.took)
				}
				conn.Close()
				<-sent
				if n := len(f.take()); (n == 1) != (tt.status == 200) {
					t.Errorf("%d events were stored", n)
				}
			})
		})
	}
}

// TestRuling70Answers: an answer may take any time if 4 KiB are read in 10 s, whatever
// the http.Server says.
func TestRuling70Answers(t *testing.T) {
	for _, tt := range []struct {
		name  string
		pause time.Duration // after each 4 KiB
		whole bool
	}{
		{"at once", 0, true},
		{"slowly", 9 * time.Second, true},
		{"not at all", time.Hour, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				published := publish(t, server.Publication{Project: 9, Surveys: []json.RawMessage{json.RawMessage(`{"x":"` + strings.Repeat("x", 300<<10) + `"}`)}})
				s := newServer(t, func(c *server.Config) {
					projects := registry(t)
					projects.Set("phc_long", &server.Project{ID: 9, Published: published})
					c.Projects = projects
				})
				conn := listenPipes(t, s)()
				go io.WriteString(conn, "GET /api/surveys/?token=phc_long HTTP/1.1\r\nHost: x\r\n\r\n")
				resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
				if err != nil {
					t.Fatal(err)
				}
				defer resp.Body.Close()
				n, buffer := 0, make([]byte, 4<<10)
				for err == nil {
					var k int
					k, err = io.ReadFull(resp.Body, buffer)
					n += k
					time.Sleep(tt.pause)
				}
				if whole := int64(n) == resp.ContentLength; whole != tt.whole || n < 4<<10 {
					t.Errorf("%d bytes of %d: %v", n, resp.ContentLength, err)
				}
			})
		})
	}
}

// TestRuling70LongRequests: a request whose body took long has the time of another one
// for its answer.
func TestRuling70LongRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, f := newCapture(t, func(c *server.Config) { c.Capture.Timeout = time.Hour })
		f.accept = func(context.Context, []capture.Event) error {
			time.Sleep(5 * time.Minute)
			return nil
		}
		connect := listenPipes(t, s)
		for _, target := range []string{"/i/v0/e/", "/i/v0/e/?beacon=1"} {
			conn := connect()
			go fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", target, len(event), event)
			resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatalf("%s: %v", target, err)
			}
			resp.Body.Close()
			conn.Close()
			if resp.StatusCode/100 != 2 {
				t.Errorf("%s: %s", target, resp.Status)
			}
		}
	})
}

// TestRuling69Refusals: a client that sends all of its body before it reads gets the
// answer to a body that is refused early, and no reset.
func TestRuling69Refusals(t *testing.T) {
	busy := make(chan struct{})
	release := make(chan struct{})
	s, f := newCapture(t, func(c *server.Config) {
		c.MaxBodyMemory = 64 << 20
		c.RateLimit.IP = server.Limit{PerSecond: 0.001, Burst: 6}
	})
	f.accept = func(context.Context, []capture.Event) error {
		close(busy)
		<-release
		return nil
	}
	h := httptest.NewServer(s)
	defer h.Close()
	// send sends a request as a client that does nothing else meanwhile.
	send := func(head string, body []byte) (*http.Response, string) {
		t.Helper()
		conn, err := net.Dial("tcp", h.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		io.WriteString(conn, head+"\r\nHost: x\r\n\r\n")
		if n, err := conn.Write(body); err != nil {
			t.Errorf("%s: %d of %d bytes were sent: %v", head, n, len(body), err)
		}
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatalf("%s: %v", head, err)
		}
		defer resp.Body.Close()
		return resp, bodyText(t, resp)
	}
	zeros := bytes.Repeat([]byte{'0'}, 40<<20)
	chunk := append(append(fmt.Appendf(nil, "%x\r\n", len(zeros)), zeros...), "\r\n0\r\n\r\n"...)
	length := fmt.Sprintf("\r\nContent-Length: %d", len(zeros))
	for _, tt := range []struct {
		head   string
		body   []byte
		status int
	}{
		{"POST /i/v0/e/ HTTP/1.1" + length, zeros, 413},
		{"POST /i/v0/e/ HTTP/1.1\r\nTransfer-Encoding: chunked", chunk, 413},
		{"POST /flags HTTP/1.1" + length, zeros, 413},
		{"POST /i/v1/analytics/events HTTP/1.1" + length, zeros, 401},
		{"POST /nowhere HTTP/1.1" + length, zeros, 404},
	} {
		resp, text := send(tt.head, tt.body)
		if resp.StatusCode != tt.status || !resp.Close {
			t.Errorf("%s: %d %s, closed %v, want %d", tt.head, resp.StatusCode, text, resp.Close, tt.status)
		}
	}

	// Somebody has the memory.
	large := `{"api_key":"phc_demo","batch":[` + strings.TrimSuffix(strings.Repeat(`{"event":"e","distinct_id":"u","properties":{"x":"`+strings.Repeat("x", 900<<10)+`"}},`, 19), ",") + `]}`
	first := make(chan int)
	go func() {
		resp, err := http.Post(h.URL+"/batch/", "application/json", strings.NewReader(large))
		if err != nil {
			t.Error(err)
			first <- 0
			return
		}
		resp.Body.Close()
		first <- resp.StatusCode
	}()
	<-busy
	for range 2 { // the limit by address comes first in the second
		resp, text := send(fmt.Sprintf("POST /batch/ HTTP/1.1\r\nContent-Length: %d", len(large)), []byte(large))
		if (resp.StatusCode != 503 && resp.StatusCode != 429) || resp.Header.Get("Retry-After") == "" || !resp.Close {
			t.Errorf("%d %s, want 503 or 429", resp.StatusCode, text)
		}
	}
	close(release)
	if status := <-first; status != 200 {
		t.Errorf("the first large request: %d", status)
	}
}

// TestRuling69Expect: a client that waits with its body does not have to send it.
func TestRuling69Expect(t *testing.T) {
	s, _ := newCapture(t, nil)
	h := httptest.NewServer(s)
	defer h.Close()
	conn, err := net.Dial("tcp", h.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	io.WriteString(conn, "POST /i/v0/e/ HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000000\r\nExpect: 100-continue\r\n\r\n")
	in := bufio.NewReader(conn)
	line, err := in.Peek(12)
	if err != nil || string(line) != "HTTP/1.1 413" {
		t.Fatalf("%q, %v", line, err)
	}
	if _, err := io.Copy(io.Discard, in); err != nil && !errors.Is(err, net.ErrClosed) { // it is closed at once
		t.Error(err)
	}
}

// A slowCollector takes large events only after release.
type slowCollector struct{ busy, release chan struct{} }

func (c slowCollector) Accept(_ context.Context, list ...capture.Event) error {
	if len(list[0].Properties) > 1<<20 {
		c.busy <- struct{}{}
		<-c.release
	}
	return nil
}

func (slowCollector) Waiting() int { return 0 }

// TestBudgetForLittle: large bodies leave a quarter of the memory for requests with
// little ones, and what would never fit is too large.
func TestBudgetForLittle(t *testing.T) {
	slow := slowCollector{make(chan struct{}, 1), make(chan struct{})}
	s := newServer(t, func(c *server.Config) {
		c.MaxBodyMemory, c.Capture.MaxEvent, c.Capture.Collector = 8<<20, 8<<20, slow
	})
	sized := func(n int) call {
		return call{target: "/e", body: `{"api_key":"phc_demo","event":"e","distinct_id":"u","properties":{"x":"` + strings.Repeat("x", n) + `"}}`}
	}
	if resp := sized(4 << 20).do(s); resp.StatusCode != 413 {
		t.Errorf("what would never fit: %d", resp.StatusCode)
	}
	done := make(chan int)
	go func() { done <- sized(2 << 20).do(s).StatusCode }()
	<-slow.busy
	if resp := sized(2 << 20).do(s); resp.StatusCode != 503 || resp.Header.Get("Retry-After") == "" {
		t.Errorf("a second large one: %d", resp.StatusCode)
	}
	for range 3 {
		if resp := sized(60 << 10).do(s); resp.StatusCode != 200 {
			t.Errorf("a little one: %d", resp.StatusCode)
		}
	}
	close(slow.release)
	if status := <-done; status != 200 {
		t.Errorf("the first large one: %d", status)
	}
	if left := s.BudgetLeft(); left != 8<<20 {
		t.Errorf("%d bytes are left", left)
	}
}
