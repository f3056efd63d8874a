package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/server"
)

// TestSwapUnderLoad: while definitions change, every answer is computed from one
// set of them.
func TestSwapUnderLoad(t *testing.T) {
	// In generation n there are n flags, each with payload n.
	var generations []*flags.Snapshot
	for n := range 8 {
		var doc strings.Builder
		doc.WriteString(`{"flags":[`)
		for i := range n + 1 {
			if i > 0 {
				doc.WriteByte(',')
			}
			fmt.Fprintf(&doc, `{"id":%d,"key":"flag-%d","active":true,"version":1,"filters":{"groups":[{"properties":[{"key":"p%d","type":"person","operator":"is_not_set","value":""}]}],"payloads":{"true":"%d"}}}`, i+1, i, n, n)
		}
		doc.WriteString(`]}`)
		generations = append(generations, compileText(t, doc.String()))
	}
	e := new(flags.Evaluator)
	e.Swap(generations[0])
	projects := new(server.Registry)
	projects.Set(apiKey, &server.Project{ID: 1, Flags: e})
	s := newServer(t, func(c *server.Config) {
		c.Projects = projects
		c.RateLimit.IP = server.Limit{PerSecond: 1e9, Burst: 1e9}
		c.Properties = &fakeProperties{persons: map[string]string{"u": `{"x":1}`}}
	})
	srv := httptest.NewServer(s)
	defer srv.Close()

	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	var wg sync.WaitGroup
	wg.Go(func() {
		for n := 0; ctx.Err() == nil; n++ {
			e.Swap(generations[n%len(generations)])
			projects.Set(fmt.Sprint("other", n%10), &server.Project{ID: int64(n%10) + 2})
			if n%100 == 0 {
				call{method: "GET", target: "/metrics"}.do(s)
			}
			runtime.Gosched()
		}
	})
	bodies := []string{
		`{"token":"phc_demo","distinct_id":"u"}`,
		zip(`{"token":"phc_demo","distinct_id":"u","person_properties":{"a":1}}`),
		base64Of(`{"token":"phc_demo","distinct_id":"u","evaluation_contexts":["a","b"],"groups":{"a":"b"}}`),
	}
	for worker := range 4 {
		wg.Go(func() {
			client := &http.Client{Transport: new(http.Transport)}
			defer client.CloseIdleConnections()
			for n := worker; ctx.Err() == nil; n++ {
				resp, err := client.Post(srv.URL+"/flags?v=2", "text/plain", strings.NewReader(bodies[n%len(bodies)]))
				if err != nil {
					t.Error(err)
					return
				}
				body, err := io.ReadAll(resp.Body)
				resp.Body.Close()
				var a answer
				if err != nil || resp.StatusCode != 200 || json.Unmarshal(body, &a) != nil {
					t.Errorf("%v: %d %s", err, resp.StatusCode, body)
					return
				}
				for key, f := range a.Flags {
					if f.Key != key || f.Metadata["payload"] != fmt.Sprint(len(a.Flags)-1) {
						t.Errorf("%d flags, and of %s the payload %v", len(a.Flags), key, f.Metadata["payload"])
						return
					}
				}
			}
		})
	}
	wg.Wait()
}

// TestNoGoroutines: requests of all kinds leave no goroutine behind. In a bubble
// synctest would fail for one that is left.
func TestNoGoroutines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, conn := net.Pipe()
		s := newServer(t, func(c *server.Config) { c.Properties = &fakeProperties{} })
		srv := &http.Server{Handler: s}
		done := make(chan error)
		go func() { done <- srv.Serve(&oneListener{conn: conn, closed: make(chan struct{})}) }()
		var reply bytes.Buffer
		read := make(chan struct{})
		go func() {
			io.Copy(&reply, client)
			close(read)
		}()
		for _, body := range []string{simple, "{", `{"token":"phc_other"}`} {
			fmt.Fprintf(client, "POST /flags?v=2 HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
		}
		fmt.Fprintf(client, "POST /flags?v=2 HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\ncut off")
		client.Close()
		<-read
		if err := srv.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		<-done
		if n := strings.Count(reply.String(), "HTTP/1.1 "); n != 3 {
			t.Errorf("%d answers: %s", n, reply.String())
		}
	})
}

// oneListener is a net.Listener of one connection.
type oneListener struct {
	conn   net.Conn
	once   sync.Once
	closed chan struct{}
}

func (l *oneListener) Accept() (net.Conn, error) {
	if c := l.conn; c != nil {
		l.conn = nil
		return c, nil
	}
	<-l.closed
	return nil, net.ErrClosed
}

func (l *oneListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *oneListener) Addr() net.Addr { return &net.TCPAddr{} }
