package server_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"runtime"
	"runtime/metrics"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/server"
)

// A pipeListener is a network within a synctest bubble, where time passes at once.
type pipeListener struct {
	conns  chan net.Conn
	closed chan struct{}
	close  func()
}

func newPipeListener() *pipeListener {
	l := &pipeListener{conns: make(chan net.Conn), closed: make(chan struct{})}
	l.close = sync.OnceFunc(func() { close(l.closed) })
	return l
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error   { l.close(); return nil }
func (l *pipeListener) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8000} }

func (l *pipeListener) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case l.conns <- theirs:
		return ours, nil
	case <-l.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// A streamed is a server with event streams, in an http.Server with the timeouts of the
// program.
type streamed struct {
	*server.Server
	t        *testing.T
	registry *server.Registry
	demo     *flags.Evaluator
	http     *http.Server
	client   *http.Client
}

// withStreams runs a test in a bubble.
func withStreams(t *testing.T, change func(*server.Config), test func(*testing.T, *streamed)) {
	synctest.Test(t, func(t *testing.T) {
		w := &streamed{t: t, registry: registry(t)}
		p, err := w.registry.Project(t.Context(), apiKey)
		if err != nil {
			t.Fatal(err)
		}
		w.demo = p.Flags
		w.Server = newOFREP(t, func(c *server.Config) {
			c.Projects = w.registry
			if change != nil {
				change(c)
			}
		})
		l := newPipeListener()
		w.http = &http.Server{Handler: w.Server, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second, WriteTimeout: 30 * time.Second}
		served := make(chan struct{})
		go func() { defer close(served); _ = w.http.Serve(l) }()
		transport := &http.Transport{DialContext: l.dial}
		w.client = &http.Client{Transport: transport}
		test(t, w)
		transport.CloseIdleConnections()
		_ = w.http.Close()
		<-served
	})
}

// streamsOf evaluates all flags and returns the paths of the event streams.
func (w *streamed) streamsOf(key string) []string {
	w.t.Helper()
	r, err := http.NewRequestWithContext(w.t.Context(), http.MethodPost, "http://flags.example"+ofrepBulk, strings.NewReader(ofrepUser))
	if err != nil {
		w.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+key)
	resp, err := w.client.Do(r)
	if err != nil {
		w.t.Fatal(err)
	}
	defer resp.Body.Close()
	var answer struct {
		EventStreams []struct {
			Type     string
			URL      string
			Endpoint struct{ Origin, RequestURI string }
		}
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil || resp.StatusCode != 200 {
		w.t.Fatalf("%d %v", resp.StatusCode, err)
	}
	var paths []string
	for _, s := range answer.EventStreams {
		if s.Type != "sse" || s.URL != "" || s.Endpoint.Origin != "" {
			w.t.Errorf("event stream %+v", s)
		}
		paths = append(paths, s.Endpoint.RequestURI)
	}
	return paths
}

// streamOf returns the path of the only event stream.
func (w *streamed) streamOf(key string) string {
	w.t.Helper()
	paths := w.streamsOf(key)
	if len(paths) != 1 {
		w.t.Fatalf("event streams %q, want one", paths)
	}
	return paths[0]
}

// A listener has the blocks of an event stream, which end with an empty line.
type listener struct {
	w      *streamed
	resp   *http.Response
	blocks chan string // closed at the end
	leave  func()
}

// get opens an event stream, or gets another answer.
func (w *streamed) get(path string, header ...string) *listener {
	w.t.Helper()
	ctx, leave := context.WithCancel(w.t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://flags.example"+path, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	r.Header.Set("Accept", "text/event-stream")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := w.client.Do(r)
	if err != nil {
		w.t.Fatal(err)
	}
	l := &listener{w: w, resp: resp, blocks: make(chan string, 100)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer close(l.blocks)
		defer resp.Body.Close()
		lines := bufio.NewReader(resp.Body)
		block := ""
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				return
			}
			if line != "\n" {
				block += line
				continue
			}
			l.blocks <- block
			block = ""
		}
	}()
	l.leave = func() { leave(); <-done }
	return l
}

// open opens an event stream, and reads what it begins with.
func (w *streamed) open(path string, header ...string) *listener {
	w.t.Helper()
	l := w.get(path, header...)
	if l.resp.StatusCode != 200 || l.resp.Header.Get("Content-Type") != "text/event-stream" || l.resp.Header.Get("Cache-Control") != "no-store" {
		w.t.Fatalf("GET %s = %d %v", path, l.resp.StatusCode, l.resp.Header)
	}
	if head := l.next(); !regexp.MustCompile(`^retry: [1-4]\d{3}\n(id: [0-9a-f]+\n)?$`).MatchString(head) {
		w.t.Errorf("a stream begins with %q", head)
	}
	return l
}

// next waits for a block, for less than the time of a heartbeat. It is "" at the end, and
// "nothing" if there is none.
func (l *listener) next() string {
	select {
	case block := <-l.blocks:
		return block
	case <-time.After(time.Second):
		return "nothing"
	}
}

// told checks that the next block tells of the flags of an Evaluator.
func (l *listener) told(e *flags.Evaluator) {
	l.w.t.Helper()
	block := l.next()
	etag := e.Snapshot().ETag()
	_, since, _ := e.Watch()
	want := fmt.Sprintf("id: %s\nevent: message\ndata: {\"type\":\"refetchEvaluation\",\"etag\":\"%s\",\"lastModified\":%d}\n", etag, etag, since.Unix())
	if diff := cmp.Diff(want, block); diff != "" {
		l.w.t.Errorf("event (-want +got)\n%s", diff)
	}
}

func (l *listener) wants(want string) {
	l.w.t.Helper()
	if got := l.next(); got != want {
		l.w.t.Errorf("the stream has %q, want %q", got, want)
	}
}

// generation makes definitions that differ from others.
func generation(t testing.TB, n int) *flags.Snapshot {
	return compileText(t, fmt.Sprintf(`{"flags":[{"id":1,"key":"a","active":true,"version":%d,"filters":{"groups":[{}]}}]}`, n))
}

// TestEventStream: clients are told of each change of their project's definitions, and of
// nothing else, for as long as they like.
func TestEventStream(t *testing.T) {
	withStreams(t, nil, func(t *testing.T, w *streamed) {
		other := new(flags.Evaluator)
		other.Swap(generation(t, 1))
		w.registry.Set("phc_other", &server.Project{ID: 8, Flags: other})
		path, otherPath := w.streamOf(apiKey), w.streamOf("phc_other")
		if address, _, _ := strings.Cut(path, "?"); strings.HasPrefix(otherPath, address) || strings.Contains(path, apiKey) {
			t.Errorf("paths %s and %s", path, otherPath)
		}
		l, o := w.open(path), w.open(otherPath)
		defer l.leave()
		defer o.leave()
		l.wants("nothing")

		w.demo.Swap(generation(t, 2))
		l.told(w.demo)
		o.wants("nothing")
		w.demo.Swap(generation(t, 2)) // only compiled again
		l.wants("nothing")
		other.Swap(generation(t, 3))
		o.told(other)
		l.wants("nothing")

		for range 8 { // longer than the timeouts of the http.Server
			time.Sleep(25 * time.Second)
			l.wants(":\n")
			o.wants(":\n")
		}
		w.demo.Swap(nil)
		l.wants("nothing")
		w.demo.Swap(generation(t, 4))
		l.told(w.demo)
	})
}

// TestEventStreamMissed: no change is missed between an answer and the stream, or between
// two streams.
func TestEventStreamMissed(t *testing.T) {
	withStreams(t, nil, func(t *testing.T, w *streamed) {
		path := w.streamOf(apiKey)
		plain, _, _ := strings.Cut(path, "?")
		first := w.demo.Snapshot().ETag()
		w.demo.Swap(generation(t, 1))
		second := w.demo.Snapshot().ETag()
		for _, tt := range []struct {
			path, last string
			told       bool
		}{
			{path, "", true},
			{path, first, true},
			{path, second, false},
			{path, `W/"` + second + `"`, false},
			{path, "odd\tid", true},
			{plain, "", false},
			{plain + "?from=odd%0A%0Aid", "", true},
			{plain + "/?from=" + second, "", false},
			{w.streamOf(apiKey), "", false},
			{w.streamOf(apiKey), first, true},
		} {
			l := w.open(tt.path, "Last-Event-ID", tt.last)
			if tt.told {
				l.told(w.demo)
			}
			if got := l.next(); got != "nothing" {
				t.Errorf("a stream at %s after %q also has %q", tt.path, tt.last, got)
			}
			l.leave()
		}
	})
}

// TestEventStreamEnds: a stream ends with its address, when its client leaves, and when
// the server closes streams.
func TestEventStreamEnds(t *testing.T) {
	withStreams(t, nil, func(t *testing.T, w *streamed) {
		path := w.streamOf(apiKey)
		l := w.open(path)
		w.registry.Delete(apiKey)
		time.Sleep(25 * time.Second)
		l.wants("")
		l.leave()
		if got := w.get(path); got.resp.StatusCode != 404 {
			t.Errorf("an address that is no more: %d", got.resp.StatusCode)
		}
		w.registry.Set(apiKey, &server.Project{ID: 7, Flags: w.demo})

		l = w.open(path)
		l.leave()
		synctest.Wait()
		if n := w.openStreams(); n != "0" {
			t.Errorf("%s streams are open when their clients have left", n)
		}
		var all []*listener
		for range 10 {
			all = append(all, w.open(path))
		}
		if n := w.openStreams(); n != "10" {
			t.Errorf("%s streams are open, want 10", n)
		}
		w.CloseStreams()
		w.CloseStreams()
		all = append(all, w.open(path)) // later ones, too
		for _, l := range all {
			l.wants("")
			l.leave()
		}
		if err := w.http.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// openStreams returns how many streams metrics show.
func (w *streamed) openStreams() string {
	w.t.Helper()
	body := bodyText(w.t, call{method: "GET", target: "/metrics"}.do(w.Server))
	m := regexp.MustCompile(`(?m)^flagstaff_event_streams (\d+)$`).FindStringSubmatch(body)
	if m == nil {
		w.t.Fatal("metrics do not have flagstaff_event_streams")
	}
	return m[1]
}

// TestEventStreamLimits: neither a project nor an address has more streams than it may.
func TestEventStreamLimits(t *testing.T) {
	withStreams(t, func(c *server.Config) { c.MaxStreams = 2 }, func(t *testing.T, w *streamed) {
		path := w.streamOf(apiKey)
		first, second := w.open(path), w.open(path)
		defer second.leave()
		third := w.get(path)
		if third.resp.StatusCode != 429 || third.resp.Header.Get("Retry-After") != "60" || third.resp.Header.Get("Access-Control-Allow-Origin") != "*" {
			t.Errorf("the third of two streams: %d %v", third.resp.StatusCode, third.resp.Header)
		}
		third.leave()
		first.leave()
		synctest.Wait()
		w.open(path).leave()
	})
	withStreams(t, nil, func(t *testing.T, w *streamed) {
		path := w.streamOf(apiKey)
		from := func(addr string) *listener { return w.get(path, "X-Forwarded-For", addr) }
		var all []*listener
		for range server.MaxAddressStreams {
			all = append(all, from("192.0.2.1"))
		}
		for addr, want := range map[string]int{"192.0.2.1": 429, "192.0.2.2": 200} {
			l := from(addr)
			if l.resp.StatusCode != want {
				t.Errorf("one more of %s: %d, want %d", addr, l.resp.StatusCode, want)
			}
			all = append(all, l)
		}
		for _, l := range all {
			l.leave()
		}
	})
	withStreams(t, func(c *server.Config) { c.MaxStreams = -1 }, func(t *testing.T, w *streamed) {
		if paths := w.streamsOf(apiKey); len(paths) != 0 {
			t.Errorf("event streams %q without any", paths)
		}
		if l := w.get("/ofrep/v1/streams/x"); l.resp.StatusCode != 404 {
			t.Errorf("%d", l.resp.StatusCode)
		}
	})
}

// TestEventStreamSpread: many clients are told of a change within a second, but not all at
// the same moment.
func TestEventStreamSpread(t *testing.T) {
	const clients = 2_000
	withStreams(t, nil, func(t *testing.T, w *streamed) {
		path := w.streamOf(apiKey)
		var all []*listener
		for i := range clients {
			all = append(all, w.open(path, "X-Forwarded-For", fmt.Sprintf("192.0.2.%d", i%100)))
		}
		w.demo.Swap(generation(t, 1))
		w.demo.Swap(generation(t, 2))
		told := func() (n int) {
			synctest.Wait()
			for _, l := range all {
				n += len(l.blocks)
			}
			return n
		}
		for i := range 10 {
			time.Sleep(10 * time.Millisecond)
			if n, want := told(), clients*(i+1)/10; n < want*8/10 || n > want*12/10 {
				t.Errorf("%d clients are told after %d ms, want about %d", n, 10*(i+1), want)
			}
		}
		for _, l := range all {
			l.told(w.demo)
			if n := len(l.blocks); n != 0 {
				t.Errorf("a client is told %d times more", n)
			}
			l.leave()
		}
	})
}

// TestEventStreamSlowClient: a client that does not read is left after a while.
func TestEventStreamSlowClient(t *testing.T) {
	withStreams(t, nil, func(t *testing.T, w *streamed) {
		conn, err := w.client.Transport.(*http.Transport).DialContext(t.Context(), "", "")
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: flags.example\r\n\r\n", w.streamOf(apiKey))
		synctest.Wait()
		if n := w.openStreams(); n != "1" {
			t.Errorf("%s streams", n)
		}
		time.Sleep(11 * time.Second)
		synctest.Wait()
		if n := w.openStreams(); n != "0" {
			t.Errorf("%s streams after 10 s in which nothing was read", n)
		}
	})
}

// TestEventStreamCatchUp: a client that was told of a change gets flags that have it, even
// from a server that has not seen it when it is asked.
func TestEventStreamCatchUp(t *testing.T) {
	withStreams(t, nil, func(t *testing.T, w *streamed) {
		next := generation(t, 1)
		ask := func(query string) (keys int, took time.Duration) {
			begin := time.Now()
			c := ofrep("", ofrepUser)
			c.target += query
			return len(ofrepAnswer(t, w.Server, c, 200).Flags), time.Since(begin)
		}
		many, _ := ask("")
		for _, query := range []string{"?flagConfigEtag=", "?flagConfigLastModified=1771622898", "?flagConfigEtag=%22" + w.demo.Snapshot().ETag() + "%22"} {
			if n, took := ask(query); n != many || took != 0 {
				t.Errorf("%s: %d flags after %v", query, n, took)
			}
		}
		if n, took := ask("?flagConfigEtag=" + next.ETag()); n != many || took != time.Second {
			t.Errorf("a change that does not come: %d flags after %v", n, took)
		}
		time.AfterFunc(300*time.Millisecond, func() { w.demo.Swap(next) })
		if n, took := ask("?flagConfigLastModified=1&flagConfigEtag=" + next.ETag()); n != 1 || took != 300*time.Millisecond {
			t.Errorf("a change that comes: %d flags after %v", n, took)
		}
	})
}

// TestEventStreamPaths: the path is below what the server is mounted at, or what its
// address says.
func TestEventStreamPaths(t *testing.T) {
	for _, tt := range []struct{ appURL, target, prefix string }{
		{"", ofrepBulk, ""},
		{"", "/a%22b" + ofrepBulk + "/", "/a%22b"},
		{"https://flags.example/app", ofrepBulk, "/app"},
		{"https://flags.example", "/a" + ofrepBulk, ""},
		{"", "http://flags.example" + ofrepBulk, ""},
	} {
		s := newOFREP(t, func(c *server.Config) { c.Management.AppURL = tt.appURL })
		r := ofrep("", ofrepUser).request()
		r.RequestURI = tt.target
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		want := `"requestUri":"` + tt.prefix + `/ofrep/v1/streams/`
		if body := w.Body.String(); !strings.Contains(body, want) {
			t.Errorf("%s at %q: %s, want %s", tt.target, tt.appURL, body, want)
		}
	}
}

// TestEventStreamOfDefinitions: definitions name the stream, those that have not changed,
// too, and are waited for as flags are.
func TestEventStreamOfDefinitions(t *testing.T) {
	a := newDefinitions(t, func(c *server.Config) { c.OFREP = true })
	e := new(flags.Evaluator)
	first, second := generation(t, 1), generation(t, 2)
	e.Swap(first)
	serve := func(document string) {
		a.projects.Set("phc_acme", &server.Project{ID: 1, Organization: "acme", Flags: e, Published: definitionsOf(t, document)})
	}
	serve(published)
	get := func(query string, header ...string) *http.Response {
		return api("GET", definitionsPath+query, "", header...).with(acmeSecret).do(a)
	}
	resp := get("")
	path := regexp.MustCompile(`^\.\.(/ofrep/v1/streams/[\w-]{32}\?from=` + first.ETag() + `)$`).FindStringSubmatch(resp.Header.Get("Flagstaff-Event-Stream"))
	if path == nil {
		t.Fatalf("%d %v", resp.StatusCode, resp.Header)
	}
	for target, want := range map[string]string{
		definitionsPath + "/": "../..", "/api/feature_flag/local_evaluation": "../..", "/api/projects/1/feature_flags/local_evaluation?send_cohorts": "../../../..",
	} {
		if got := api("GET", target, "").with(acmeSecret).do(a).Header.Get("Flagstaff-Event-Stream"); got != want+path[1] {
			t.Errorf("%s: %s, want %s", target, got, want+path[1])
		}
	}
	bulk := ofrep("", ofrepUser, "Authorization", "Bearer phc_acme").do(a)
	if body := bodyText(t, bulk); !strings.Contains(body, `"requestUri":"`+path[1]+`"`) {
		t.Errorf("%s, want a stream at %s", body, path[1])
	}
	if again := get("", "If-None-Match", resp.Header.Get("Etag")); again.StatusCode != 304 || again.Header.Get("Flagstaff-Event-Stream") != ".."+path[1] {
		t.Errorf("%d %v", again.StatusCode, again.Header)
	}

	// The other definitions come after the request, as a catalog brings them.
	waiting := make(chan *http.Response)
	go func() { waiting <- get("?flagConfigEtag=" + second.ETag()) }()
	serve(`{"flags":[]}`)
	e.Swap(second)
	next := <-waiting
	if body := bodyText(t, next); !strings.HasPrefix(body, `{"flags":[],`) || !strings.HasSuffix(next.Header.Get("Flagstaff-Event-Stream"), "?from="+second.ETag()) {
		t.Errorf("%s %v", body, next.Header)
	}
}

// BenchmarkIdleStreams opens ten thousand event streams, or a thousand with -short. It
// reports the memory of heap and stacks that each takes, and how long it takes until all
// have ended after CloseStreams; without -short also the time of processors that they take
// together in a second, measured over a heartbeat of each. The connections are pipes, because
// many systems do not let a process have the files; their other ends take a few hundred
// bytes.
func BenchmarkIdleStreams(b *testing.B) {
	streams, rest := 10_000, 25*time.Second
	if testing.Short() {
		streams, rest = 1000, 0
	}
	body := bodyText(b, ofrep("", ofrepUser).do(newOFREP(b, nil)))
	path := regexp.MustCompile(`"requestUri":"([^"]+)"`).FindStringSubmatch(body)[1]
	var memory int64
	var processor, drain time.Duration
	for b.Loop() {
		s := newOFREP(b, nil)
		l := newPipeListener()
		srv := &http.Server{Handler: s}
		served := make(chan struct{})
		go func() {
			defer close(served)
			_ = srv.Serve(l) // until Shutdown
		}()
		before := memoryInUse()
		conns := make([]net.Conn, streams)
		var beats sync.WaitGroup
		for i := range conns {
			conn, end := net.Pipe()
			l.conns <- end
			fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: h\r\nX-Forwarded-For: 192.0.2.%d\r\n\r\n", path, i%100)
			var head [1 << 10]byte
			if n, err := conn.Read(head[:]); err != nil || !strings.HasPrefix(string(head[:n]), "HTTP/1.1 200 OK\r\n") {
				b.Fatalf("%q, %v", head[:n], err)
			}
			conns[i] = conn
		}
		memory += memoryInUse() - before
		for _, conn := range conns {
			beats.Go(func() { _, _ = io.Copy(io.Discard, conn) })
		}
		used := processorTime(b)
		time.Sleep(rest) // what is measured is that nothing happens
		processor += processorTime(b) - used

		begin := time.Now()
		s.CloseStreams()
		if err := srv.Shutdown(b.Context()); err != nil {
			b.Fatal(err)
		}
		drain += time.Since(begin)
		<-served
		beats.Wait()
	}
	b.ReportMetric(float64(memory)/float64(b.N*streams), "B/stream")
	b.ReportMetric(float64(drain.Milliseconds())/float64(b.N), "drain-ms")
	if rest > 0 {
		b.ReportMetric(float64(processor.Milliseconds())/(float64(b.N)*rest.Seconds()), "processor-ms/s")
	}
}

// memoryInUse returns the bytes of heap and stacks.
func memoryInUse() int64 {
	var m runtime.MemStats
	for range 2 { // the first one leaves what pools keep
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}

// processorTime returns how long the program has worked, besides collecting garbage.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	runtime.GC() // which the figure is as old as
	sample := []metrics.Sample{{Name: "/cpu/classes/user:cpu-seconds"}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindFloat64 {
		b.Fatal("the runtime does not know its processor time")
	}
	return time.Duration(sample[0].Value.Float64() * float64(time.Second))
}
