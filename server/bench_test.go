package server_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha1"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/server"
)

// documentOf returns a document of flags, each with one condition of two filters
// and a rollout of 50 %, for rows S1, S5 and S6 of docs/performance.md.
func documentOf(hash string, n int) string {
	var b strings.Builder
	fmt.Fprintf(&b, `{"bucketing_hash":%q,"flags":[`, hash)
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"id":%d,"key":"feature-%03d","active":true,"version":%d,"filters":{"groups":[{"properties":[`+
			`{"key":"plan","type":"person","operator":"exact","value":["pro","enterprise-%d"]},`+
			`{"key":"age","type":"person","operator":"gt","value":%d}],"rollout_percentage":50}]}}`, i+1, i, i%9, i, i%18)
	}
	b.WriteString(`]}`)
	return b.String()
}

// browserBody has 600 bytes, about what browsers send (wire.md §1.4).
const browserBody = `{"token":"phc_demo","distinct_id":"01a1fb74-fbb6-73ab-a6e2-2019581e196c","groups":{"company":"acme"},` +
	`"person_properties":{"$initial_referrer":"$direct","$initial_utm_source":null,"plan":"pro","email":"jo@acme.example","age":42,` +
	`"$lib":"web","$lib_version":"1.449.2","$browser":"Chrome","$os":"Linux","$current_url":"https://app.example/settings/billing"},` +
	`"group_properties":{"company":{"tier":"enterprise","seats":250}},"timezone":"Europe/Vienna","$device_id":` +
	`"01a1fb74-fbb6-7c11-9d8f-51ab0e27c9d3","sent_at":"2026-11-21T00:15:10.990Z"}`

func hundredFlags(t testing.TB, hash string) *server.Server { return manyFlags(t, hash, 100) }

func manyFlags(t testing.TB, hash string, n int) *server.Server {
	e := new(flags.Evaluator)
	e.Swap(compileText(t, documentOf(hash, n)))
	return newServer(t, func(c *server.Config) {
		c.OFREP = true
		r := new(server.Registry)
		r.Set(apiKey, &server.Project{ID: 1, Flags: e})
		c.Projects = r
	})
}

// contextBody is about what clients of OpenFeature's remote evaluation protocol send.
const contextBody = `{"context":{"targetingKey":"01a1fb74-fbb6-73ab-a6e2-2019581e196c","plan":"pro","email":"jo@acme.example","age":42,` +
	`"browser":"Chrome","os":"Linux","groups":{"company":"acme"}}}`

// askedBody asks for the first 20 flags.
func askedBody() string {
	keys := make([]string, 20)
	for i := range keys {
		keys[i] = fmt.Sprintf(`"feature-%03d"`, i)
	}
	return strings.TrimSuffix(browserBody, "}") + `,"flag_keys":[` + strings.Join(keys, ",") + `]}`
}

// BenchmarkS1 measures row S1 of docs/performance.md: 100 flags for 32
// connections over loopback.
func BenchmarkS1(b *testing.B) {
	request := wireText("/flags/?v=2", browserBody)
	benchmarkLoad(b, request, 100, []variant{{"sha1", hundredFlags(b, "sha1")}, {"xxhash64", hundredFlags(b, "xxhash64")}})
}

// BenchmarkS5 is S1 by OpenFeature's remote evaluation protocol.
func BenchmarkS5(b *testing.B) {
	request := wireText(ofrepBulk, contextBody, "Authorization: Bearer phc_demo")
	benchmarkLoad(b, request, 100, []variant{{"sha1", hundredFlags(b, "sha1")}, {"xxhash64", hundredFlags(b, "xxhash64")}})
}

// BenchmarkS6 asks for 20 flags by flag_keys: of 20, and of 10,000.
func BenchmarkS6(b *testing.B) {
	request := wireText("/flags/?v=2", askedBody())
	benchmarkLoad(b, request, 20, []variant{{"of-20", manyFlags(b, "sha1", 20)}, {"of-10000", manyFlags(b, "sha1", 10_000)}})
}

// A variant is a server that answers a benchmark's request.
type variant struct {
	name   string
	server http.Handler
}

// wireText is a request as clients write it.
func wireText(path, body string, more ...string) string {
	headers := append([]string{
		"POST " + path + " HTTP/1.1", "Host: flags.example", "User-Agent: posthog-node/5.70.0",
		"Content-Type: application/json", "Accept: */*", fmt.Sprint("Content-Length: ", len(body)),
	}, more...)
	return strings.Join(headers, "\r\n") + "\r\n\r\n" + body
}

// benchmarkLoad sends a request to servers, with client and server on the same
// processors. The floor is a handler that reads the body and writes as many static
// bytes as the first server does. The variant hashing computes the SHA-1 of as many
// texts as there are flags besides, and nothing else: no server that hashes with SHA-1
// comes nearer to the floor. All of them run in turns, so that a busy machine affects
// all; a ratio is the median of the ratios of the turns.
func benchmarkLoad(b *testing.B, request string, flags int, servers []variant) {
	const connections, perRound = 32, 1600
	one, err := http.ReadRequest(bufio.NewReader(strings.NewReader(request)))
	if err != nil {
		b.Fatal(err)
	}
	answer := httptest.NewRecorder()
	servers[0].server.ServeHTTP(answer, one)
	static := answer.Body.Bytes()
	floor := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", strconv.Itoa(len(static)))
		w.Write(static)
	})
	hashing := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text := []byte("feature-000.01a1fb74-fbb6-73ab-a6e2-2019581e196c")
		for i := range flags {
			text[9] = '0' + byte(i%10)
			if sum := sha1.Sum(text); sum == [sha1.Size]byte{} {
				b.Error("no sum is zero")
			}
		}
		floor(w, r)
	})
	var loads []*load
	for _, v := range append([]variant{{"floor", floor}, {"hashing", hashing}}, servers...) {
		l := newLoad(b, v.name, v.server, connections, request)
		l.run(b, perRound) // warm up
		l.reset()
		loads = append(loads, l)
	}
	for b.Loop() {
		for _, l := range loads {
			l.run(b, perRound)
		}
	}
	b.ReportMetric(0, "ns/op") // of a round: says nothing
	b.ReportMetric(float64(len(static)), "answer-bytes")
	for _, l := range loads {
		b.ReportMetric(l.rate(perRound), l.name+"-req/s")
		b.ReportMetric(float64(l.percentile(99))/1e6, l.name+"-p99-ms")
	}
	for _, l := range loads[1:] {
		ratios := make([]float64, len(l.rounds))
		for i := range ratios {
			ratios[i] = loads[0].rounds[i].Seconds() / l.rounds[i].Seconds()
		}
		slices.Sort(ratios)
		b.ReportMetric(ratios[len(ratios)/2], l.name+"/floor")
		b.ReportMetric(float64(l.percentile(99))/float64(loads[0].percentile(99)), l.name+"/floor-p99")
	}
}

// A load is a handler behind a port and a client with some connections to it,
// which knows just enough HTTP to be no burden.
type load struct {
	name      string
	request   []byte
	conns     []net.Conn
	latencies [][]time.Duration // by connection
	rounds    []time.Duration   // that each call of run took
}

func newLoad(b *testing.B, name string, h http.Handler, connections int, request string) *load {
	srv := httptest.NewServer(h)
	b.Cleanup(srv.Close)
	l := &load{name: name, latencies: make([][]time.Duration, connections), request: []byte(request)}
	for range connections {
		conn, err := net.Dial("tcp", srv.Listener.Addr().String())
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { conn.Close() })
		l.conns = append(l.conns, conn)
	}
	return l
}

// run sends n requests, on each connection the next when the last is answered.
func (l *load) run(b *testing.B, n int) {
	var (
		wg   sync.WaitGroup
		left atomic.Int64
	)
	left.Store(int64(n))
	start := time.Now()
	for i, conn := range l.conns {
		wg.Go(func() {
			r := bufio.NewReaderSize(conn, 32<<10)
			for left.Add(-1) >= 0 {
				sent := time.Now()
				if _, err := conn.Write(l.request); err != nil {
					b.Error(err)
					return
				}
				if err := skipResponse(r); err != nil {
					b.Errorf("%s: %v", l.name, err)
					return
				}
				l.latencies[i] = append(l.latencies[i], time.Since(sent))
			}
		})
	}
	wg.Wait()
	l.rounds = append(l.rounds, time.Since(start))
}

func (l *load) reset() {
	clear(l.latencies)
	l.rounds = nil
}

// rate returns how many requests a second were answered in the median round.
func (l *load) rate(perRound int) float64 {
	sorted := slices.Sorted(slices.Values(l.rounds))
	return float64(perRound) / sorted[len(sorted)/2].Seconds()
}

func (l *load) percentile(p int) time.Duration {
	all := slices.Concat(l.latencies...)
	slices.Sort(all)
	if len(all) == 0 {
		return 0
	}
	return all[len(all)*p/100]
}

// skipResponse reads a response with status 200 and a Content-Length.
func skipResponse(r *bufio.Reader) error {
	length := -1
	for n := 0; ; n++ {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return err
		}
		if n == 0 && !bytes.HasPrefix(line, []byte("HTTP/1.1 200 ")) {
			return fmt.Errorf("answer %q", line)
		}
		if value, ok := bytes.CutPrefix(line, []byte("Content-Length: ")); ok {
			if length, err = strconv.Atoi(string(bytes.TrimSpace(value))); err != nil {
				return err
			}
		}
		if len(bytes.TrimSpace(line)) == 0 {
			break
		}
	}
	if length < 0 {
		return fmt.Errorf("answer without length")
	}
	_, err := r.Discard(length)
	return err
}

// A replay sends one request to a handler again and again without allocating.
type replay struct {
	h    http.Handler
	w    discard
	r    *http.Request
	body bytes.Reader
	text []byte
}

func newReplay(h http.Handler, c call) *replay {
	p := &replay{h: h, w: discard{make(http.Header)}, r: c.request(), text: []byte(c.body)}
	p.r.Body = io.NopCloser(&p.body)
	return p
}

func (p *replay) send() {
	clear(p.w.header)
	p.body.Reset(p.text)
	p.h.ServeHTTP(p.w, p.r)
}

// TestAllocations keeps the handler's own code lean: what is left are the two
// headers that are made per answer and the request id; of OFREP the entity tag, too.
func TestAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	s := hundredFlags(t, "sha1")
	for _, tt := range []struct {
		name string
		call call
		most float64
	}{
		{"request id of the client", call{body: browserBody, header: map[string]string{"X-Request-Id": requestID}}, 2},
		{"new request id", call{body: browserBody}, 4},
		{"gzip", call{body: zip(browserBody)}, 4},
		{"with configuration", call{target: "/flags?v=2&config=true", body: browserBody}, 4},
		{"20 flags", call{body: askedBody()}, 6},
		{"OFREP", ofrep("", contextBody), 6},
		{"browser", call{body: browserBody, header: map[string]string{"Origin": "https://app.example", "User-Agent": "Mozilla/5.0"}}, 4},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newReplay(s, tt.call)
			if n := testing.AllocsPerRun(100, p.send); n > tt.most {
				t.Errorf("a request allocates %v times, want at most %v", n, tt.most)
			}
		})
	}
}

// BenchmarkHandler is one request without a network.
func BenchmarkHandler(b *testing.B) {
	for _, hash := range []string{"sha1", "xxhash64"} {
		b.Run(hash, func(b *testing.B) {
			p := newReplay(hundredFlags(b, hash), call{body: browserBody})
			b.ReportAllocs()
			for b.Loop() {
				p.send()
			}
		})
	}
	for _, n := range []int{20, 10_000} {
		b.Run(fmt.Sprintf("20 flags of %d", n), func(b *testing.B) {
			p := newReplay(manyFlags(b, "sha1", n), call{body: askedBody()})
			b.ReportAllocs()
			for b.Loop() {
				p.send()
			}
		})
	}
	b.Run("OFREP", func(b *testing.B) {
		p := newReplay(hundredFlags(b, "sha1"), ofrep("", contextBody))
		b.ReportAllocs()
		for b.Loop() {
			p.send()
		}
	})
	b.Run("floor", func(b *testing.B) {
		s := hundredFlags(b, "sha1")
		static := []byte(bodyText(b, call{body: browserBody}.do(s)))
		var buf []byte
		p := newReplay(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			buf = append(buf[:0], static...)
			io.Copy(io.Discard, r.Body)
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", strconv.Itoa(len(buf)))
			w.Write(buf)
		}), call{body: browserBody})
		b.ReportAllocs()
		for b.Loop() {
			p.send()
		}
	})
}

// serverBody is an event as server SDKs send it (wire.md §1.6).
const serverBody = `{"api_key":"phc_demo","batch":[{"type":"capture","uuid":"01a1fb72-4826-7af7-a165-3e5ec48ee45e","library":"posthog-go",` +
	`"library_version":"1.23.1","timestamp":"2026-11-21T00:12:13.221Z","distinct_id":"user-1","event":"order placed",` +
	`"properties":{"$lib":"posthog-go","$lib_version":"1.23.1","$geoip_disable":true,"$is_server":true,"total":12.5,"items":["a","b"],` +
	`"$groups":{"company":"acme"}}}]}`

// noCollector is a Collector that forgets.
type noCollector struct{}

func (noCollector) Accept(context.Context, ...capture.Event) error { return nil }
func (noCollector) Waiting() int                                   { return 0 }

var captureCalls = []struct {
	name string
	call call
	most float64 // allocations
}{
	{"batch", call{target: "/batch/", body: serverBody}, 15},
	{"gzip", call{target: "/batch/", header: map[string]string{"Content-Encoding": "gzip"}, body: zip(serverBody)}, 15},
	{"browser", call{target: "/e/?ip=0&_=1795220311000&ver=1.449.2&compression=gzip-js", header: map[string]string{"User-Agent": chrome}, body: zip(serverBody)}, 17},
	{"base64", call{target: "/e/?_=1795220311000", body: "data=" + base64Of(serverBody)}, 15},
}

// TestCaptureAllocations keeps the routes for events lean: an event with its
// texts, its answer's headers, and the timeout.
func TestCaptureAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	s := newServer(t, func(c *server.Config) { c.Capture.Collector = noCollector{} })
	for _, tt := range captureCalls {
		p := newReplay(s, tt.call)
		if n := testing.AllocsPerRun(100, p.send); n > tt.most {
			t.Errorf("%s: a request allocates %v times, want at most %v", tt.name, n, tt.most)
		}
	}
}

// BenchmarkCapture is one request with one event without a network.
func BenchmarkCapture(b *testing.B) {
	s := newServer(b, func(c *server.Config) { c.Capture.Collector = noCollector{} })
	for _, tt := range captureCalls {
		b.Run(tt.name, func(b *testing.B) {
			p := newReplay(s, tt.call)
			b.ReportAllocs()
			for b.Loop() {
				p.send()
			}
		})
	}
}

// thousandFlags is a server whose definitions are 1,000 flags.
func thousandFlags(t testing.TB) *definitionsServer {
	d := newDefinitions(t, func(c *server.Config) { c.Management.Limit.Definitions = -1 })
	var b strings.Builder
	b.WriteString(`{"flags":[`)
	for i := range 1000 {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"id":%d,"key":"feature-%04d","active":true,"version":%d,"filters":{"groups":[{"properties":[`+
			`{"key":"plan","type":"person","operator":"exact","value":["pro","enterprise-%d"]},`+
			`{"key":"age","type":"person","operator":"gt","value":%d}],"rollout_percentage":50}]}}`, i+1, i, i%9, i, i%18)
	}
	b.WriteString(`]}`)
	d.publish(definitionsOf(t, b.String()))
	return d
}

// A documentCall is a request for something that is rendered once.
type documentCall struct {
	name string
	h    http.Handler
	call call
	most float64 // allocations, besides the allocations of the Service
}

func documentCalls(t testing.TB) []documentCall {
	d, s := thousandFlags(t), newDelivery(t, delivered(), nil)
	poll := api("GET", "/flags/definitions?token=phc_acme&send_cohorts", "", "X-Request-Id", "", "User-Agent", "posthog-node/5.70.0")
	browser := func(target string) call {
		return call{method: "GET", target: target, header: map[string]string{"Origin": "https://app.example", "User-Agent": "Mozilla/5.0"}}
	}
	return []documentCall{
		{"definitions with a personal key", d, poll, 1},
		{"definitions with a secret key", d, poll.with(acmeSecret), 1},
		{"surveys", s, browser("/api/surveys/?token=phc_demo&_=1795220110559"), 0},
		{"early access", s, browser("/api/early_access_features/?token=phc_demo&_=1795220110559"), 0},
		{"config", s, browser("/array/phc_demo/config"), 1}, // of ServeMux
		{"script", s, browser("/array/phc_demo/config.js"), 1},
		{"config of a host", s, browser("/array/phc_bare/config"), 9}, // is made anew
	}
}

// unchanged is the call of a client that has what it asks for.
func (c documentCall) unchanged() call {
	have := c.call
	have.header = maps.Clone(have.header)
	have.header["If-None-Match"] = have.do(c.h).Header.Get("Etag")
	return have
}

// TestDocumentAllocations: what is rendered once costs no memory to send, or not
// to send.
func TestDocumentAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	for _, tt := range documentCalls(t) {
		service := 0.0 // to find the user
		if d, ok := tt.h.(*definitionsServer); ok {
			key := strings.TrimPrefix(tt.call.header["Authorization"], "Bearer ")
			service = testing.AllocsPerRun(100, func() { d.service.DefinitionsAccess(t.Context(), key, "", "phc_acme") })
		}
		for status, c := range map[int]call{200: tt.call, 304: tt.unchanged()} {
			if resp := c.do(tt.h); resp.StatusCode != status {
				t.Errorf("%s: %d, want %d", tt.name, resp.StatusCode, status)
			}
			p := newReplay(tt.h, c)
			if n := testing.AllocsPerRun(100, p.send); n > tt.most+service {
				t.Errorf("%s: %d allocates %v times, want at most %v and %v of the Service", tt.name, status, n, tt.most, service)
			}
		}
	}
}

// BenchmarkDocuments is one request for something that is rendered once, without a
// network: with 200, and with 304.
func BenchmarkDocuments(b *testing.B) {
	for _, tt := range documentCalls(b) {
		run := func(status string, c call) {
			b.Run(tt.name+"/"+status, func(b *testing.B) {
				p := newReplay(tt.h, c)
				b.ReportAllocs()
				for b.Loop() {
					p.send()
				}
			})
		}
		run("200", tt.call)
		run("304", tt.unchanged())
	}
}
