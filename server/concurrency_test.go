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
	"regexp"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
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
		c.Store = fakeStore{fakeProperties: &fakeProperties{persons: map[string]string{"u": `{"x":1}`}}}
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

// TestPublishedSwapUnderLoad: while what is published changes, every answer is of
// one generation, and its entity tag belongs to its body.
func TestPublishedSwapUnderLoad(t *testing.T) {
	// In generation n there are n flags, surveys and features, each named n.
	const most = 8
	generation := func(n int) *server.Project {
		flagsOf := func(n int) string {
			var list []string
			for i := range n {
				list = append(list, fmt.Sprintf(`{"id":%d,"key":"flag-%d","name":"%d","active":true,"version":1,"filters":{"groups":[]}}`, i+1, i, n))
			}
			return `{"flags":[` + strings.Join(list, ",") + `]}`
		}
		p := server.Publication{Project: 1, APIKey: "phc_acme", Definitions: decodeDefinitions(t, flagsOf(n))}
		for range n {
			p.Surveys = append(p.Surveys, json.RawMessage(fmt.Sprintf(`{"name":"%d"}`, n)))
			p.EarlyAccess = append(p.EarlyAccess, server.EarlyAccessFeature{Stage: "beta", JSON: json.RawMessage(fmt.Sprintf(`{"name":"%d"}`, n))})
		}
		return &server.Project{ID: 1, Published: publish(t, p)}
	}
	projects := new(server.Registry)
	projects.Set("phc_acme", generation(1))
	a := newAPI(t, apiSetup{server: func(c *server.Config) {
		c.Projects = projects
		c.Management.Limit = server.ManagementLimit{PerMinute: -1, PerHour: -1, Strangers: -1, Definitions: -1}
	}})

	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	var wg sync.WaitGroup
	wg.Go(func() {
		for n := 0; ctx.Err() == nil; n++ {
			projects.Set("phc_acme", generation(n%most+1)) // rendered by the first requests
			runtime.Gosched()
		}
	})
	var tags sync.Map // bodies by path and entity tag
	var answers [2]atomic.Int64
	for worker := range 4 {
		wg.Go(func() {
			have := make(map[string]string)
			for i := worker; ctx.Err() == nil; i++ {
				path := append(definitionPaths, "/api/surveys?token=phc_acme", "/api/early_access_features?token=phc_acme", "/array/phc_acme/config")[i%8]
				resp := api("GET", path, "", "If-None-Match", have[path]).do(a)
				body, etag := bodyText(t, resp), resp.Header.Get("Etag")
				if resp.StatusCode == 304 {
					answers[1].Add(1)
					if etag != have[path] || body != "" {
						t.Errorf("%s: 304 for %s with %s", path, have[path], etag)
						return
					}
					continue
				}
				answers[0].Add(1)
				names := nameMember.FindAllStringSubmatch(body, -1)
				for _, name := range names {
					if name[1] != fmt.Sprint(len(names)) {
						t.Errorf("%s: of %d one is named %s", path, len(names), name[1])
						return
					}
				}
				if before, ok := tags.LoadOrStore(path+etag, body); resp.StatusCode != 200 || len(names) == 0 || ok && before != body {
					t.Errorf("%s = %d, ETag %s of two bodies, %d names", path, resp.StatusCode, etag, len(names))
					return
				}
				have[path] = etag
			}
		})
	}
	wg.Wait()
	if answers[0].Load() == 0 || answers[1].Load() == 0 {
		t.Errorf("%d answers with a body, %d without", answers[0].Load(), answers[1].Load())
	}
}

var nameMember = regexp.MustCompile(`"name":"(\d+)"`)

// TestNoGoroutines: requests of all kinds leave no goroutine behind. In a bubble
// synctest would fail for one that is left.
func TestNoGoroutines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, conn := net.Pipe()
		s := newServer(t, func(c *server.Config) { c.Store = fakeStore{fakeProperties: &fakeProperties{}} })
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
