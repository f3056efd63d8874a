package server_test

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"runtime/metrics"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/internal/fulltest"
	"github.com/flagstaff-go/flagstaff/server"
)

// allocated returns how many bytes f allocates, with whatever else happens.
func allocated(f func()) int64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return int64(after.TotalAlloc - before.TotalAlloc)
}

// maxAllocated is how many bytes one request may allocate in all, for a limit of
// decoded bodies: events cost more memory than their JSON, and windows and tables
// of decompressors have their own sizes (16 MiB for brotli).
func maxAllocated(maxDecoded int64) int64 { return 64*maxDecoded + 32<<20 }

// A bomb is a request that is larger than it looks.
type bomb struct {
	name string
	call call
}

// bombs are made for the default limits: 20 MiB, and 50 MiB decoded.
var bombs = sync.OnceValue(func() []bomb {
	const huge = 64 << 20
	write := func(w io.WriteCloser) {
		zeros := make([]byte, 1<<20)
		for range huge >> 20 {
			w.Write(zeros)
		}
		w.Close()
	}
	var zipped, deflated, brotlied, zstded bytes.Buffer
	write(gzip.NewWriter(&zipped))
	write(zlib.NewWriter(&deflated))
	write(brotli.NewWriterLevel(&brotlied, 1))
	zw, err := zstd.NewWriter(&zstded, zstd.WithEncoderLevel(zstd.SpeedFastest))
	if err != nil {
		panic(err)
	}
	write(zw)
	gigabyte := strings.Repeat(zipped.String(), 16)
	var lz lz64Writer
	lz.literal('[')
	for range 14_200 { // 100 MB
		lz.again()
	}

	encoded := func(name, body string) []bomb {
		list := []bomb{{name + " by header", call{target: "/e", header: map[string]string{"Content-Encoding": name}, body: body}}}
		list = append(list, bomb{name + " on the newer route", v1(body, map[string]string{"Content-Encoding": name})})
		return append(list, bomb{name + " in base64", call{target: "/e?compression=" + name, body: base64Of(body)}})
	}
	list := append(encoded("gzip", gigabyte), encoded("deflate", deflated.String())...)
	list = append(list, encoded("br", brotlied.String())...)
	list = append(list, encoded("zstd", strings.Repeat(zstded.String(), 16))...)
	// A window of 2 GiB, a single segment of 1 TiB, and a frame to skip.
	list = append(list, encoded("zstd", "\x28\xb5\x2f\xfd\x00\xa8\x01\x00\x00")...)
	list = append(list, encoded("zstd", "\x28\xb5\x2f\xfd\xe0\x00\x00\x00\x00\x00\x01\x00\x00\x01\x00\x00")...)
	list = append(list, encoded("zstd", "\x50\x2a\x4d\x18\xff\xff\xff\xff")...)
	list = append(list, encoded("zstd", "\x50\x2a\x4d\x18\x01\x00\x00\x00x"+zstded.String())...)
	// Brotli with the largest window and many small parts.
	list = append(list, encoded("br", "\x0f"+strings.Repeat("\x00\x00\x08x", 9))...)

	plain := func(name, body string) {
		var b bytes.Buffer
		w, err := gzip.NewWriterLevel(&b, gzip.BestSpeed)
		if err != nil {
			panic(err)
		}
		io.WriteString(w, body)
		w.Close()
		zipped := b.String()
		list = append(list,
			bomb{name, call{target: "/e", body: body}},
			bomb{name + " in gzip", call{target: "/batch", body: zipped}},
			bomb{name + " on the newer route", v1(zipped, map[string]string{"Content-Encoding": "gzip"})})
	}
	within := func(properties string) string {
		return `{"created_at":"2026-11-21T00:12:13Z","api_key":"phc_demo","batch":[{"event":"e","distinct_id":"u","uuid":"` + uuid1 +
			`","timestamp":"2026-11-21T00:12:13Z","properties":{` + properties + `}}]}`
	}
	list = append(list, bomb{"lz64", call{target: "/e?compression=lz64", body: lz.end()}})
	plain("base64 in base64", base64Of(base64Of(base64Of(strings.Repeat("x", 6<<20)))))
	plain("deep arrays", strings.Repeat("[", 100_000))
	plain("deep objects", within(strings.Repeat(`"a":{`, 100_000)+strings.Repeat("}", 100_000)))
	plain("many empty events", "["+strings.Repeat("{},", 4_000_000)+"{}]")
	plain("many events", `{"created_at":"2026-11-21T00:12:13Z","api_key":"phc_demo","batch":[`+strings.Repeat(`{"event":"e","distinct_id":"u"},`, 500_000)+`{}]}`)
	plain("as many events as possible", `{"created_at":"2026-11-21T00:12:13Z","api_key":"phc_demo","batch":[`+
		strings.Repeat(`{"event":"e","distinct_id":"u","uuid":"`+uuid1+`"},`, capture.MaxEvents-1)+`{"event":"e","distinct_id":"u"}]}`)
	plain("many keys", within(strings.Repeat(`"\u0061":1,`, 1_500_000)+`"b":2`))
	plain("a long number", within(`"a":`+strings.Repeat("9", 10<<20)))
	plain("a large exponent", within(`"a":1e`+strings.Repeat("9", 1<<20)))
	plain("a long offset", `{"api_key":"phc_demo","event":"e","distinct_id":"u","offset":1`+strings.Repeat("0", 5<<20)+`}`)
	plain("a long distinct id", `{"api_key":"phc_demo","event":"e","distinct_id":{"a":[`+strings.Repeat("1,  ", 2<<20)+`1]}}`)
	plain("long names", `{"api_key":"phc_demo","event":"`+strings.Repeat("x", 5<<20)+`","distinct_id":"`+strings.Repeat(`\n`, 5<<20)+`x"}`)
	plain("a long key", `{"api_key":"`+strings.Repeat("k", 10<<20)+`","event":"e","distinct_id":"u"}`)
	plain("blanks", strings.Repeat(" ", 20<<20))
	plain("a form of plus signs", "data="+strings.Repeat("+", 19<<20))
	plain("a form of percent signs", "data="+strings.Repeat("%25", 6<<20))
	list = append(list, bomb{"a long agent", call{
		target: "/e", header: map[string]string{"User-Agent": chrome + strings.Repeat(" x", 1<<18)},
		body: `{"api_key":"phc_demo","batch":[` + strings.Repeat(`{"event":"e","distinct_id":"u"},`, 19_999) + `{"event":"e","distinct_id":"u"}]}`,
	}})
	var events strings.Builder
	for i := range capture.MaxEvents {
		fmt.Fprintf(&events, `{"event":"e","distinct_id":"u","uuid":"00000000-0000-0000-0000-%012d","timestamp":"2026-11-21T00:12:13Z"},`, i)
	}
	list = append(list, bomb{"a long library", v1(
		`{"created_at":"2026-11-21T00:12:13Z","batch":[`+strings.TrimSuffix(events.String(), ",")+`]}`,
		map[string]string{"PostHog-Sdk-Info": strings.Repeat("x", 1<<19)})})
	return list
})

// skipLarge skips tests of single large requests where they only take time.
func skipLarge(t *testing.T) {
	t.Helper()
	fulltest.Only(t)
	if raceEnabled {
		t.Skip("one large request after the other: without races")
	}
}

// TestBombs: one request costs a bounded amount of memory, and is refused or
// stored.
func TestBombs(t *testing.T) {
	skipLarge(t)
	s, f := newCapture(t, nil)
	f.accept = func(context.Context, []capture.Event) error {
		f.events = nil // the mutex is held
		return nil
	}
	budget := s.BudgetLeft()
	for _, b := range bombs() {
		t.Run(b.name, func(t *testing.T) {
			r, w := b.call.request(), newRecorder()
			n := allocated(func() { s.ServeHTTP(w, r) })
			t.Logf("status %d, %d kB of %d kB", w.status, n>>10, len(b.call.body)>>10)
			if w.status >= 500 || w.status < 200 {
				t.Errorf("status %d", w.status)
			}
			// Twelve times the limit is enough for real ones.
			if most := int64(12 * 50 << 20); n > most {
				t.Errorf("%d MiB allocated, want at most %d", n>>20, most>>20)
			}
			if left := s.BudgetLeft(); left != budget {
				t.Errorf("%d bytes of the budget are left, want %d", left, budget)
			}
		})
	}
}

// TestBombsAtOnce: many bombs at once do not take much more memory than they may,
// and afterwards a large request finds all of it.
func TestBombsAtOnce(t *testing.T) {
	fulltest.Only(t) // takes hundreds of megabytes
	const atOnce, maxBodyMemory = 64, 192 << 20
	s, f := newCapture(t, func(c *server.Config) { c.MaxBodyMemory, c.Capture.MaxEvent = maxBodyMemory, 64<<20 })
	f.accept = func(context.Context, []capture.Event) error {
		f.events = nil
		return nil
	}
	list := bombs()
	runtime.GC()
	live := func() int64 {
		sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		metrics.Read(sample)
		return int64(sample[0].Value.Uint64())
	}
	before := live()
	var (
		wg       sync.WaitGroup
		peak     atomic.Int64
		next     atomic.Int64
		statuses [600]atomic.Int64
	)
	done, sampled := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(sampled)
		for {
			select {
			case <-done:
				return
			default:
				peak.Store(max(peak.Load(), live()-before))
				runtime.Gosched()
			}
		}
	}()
	for range atOnce {
		wg.Go(func() {
			for i := next.Add(1) - 1; int(i) < 4*atOnce; i = next.Add(1) - 1 {
				w := newRecorder()
				s.ServeHTTP(w, list[int(i)%len(list)].call.request())
				statuses[w.status].Add(1)
			}
		})
	}
	wg.Wait()
	close(done)
	<-sampled
	for status := range statuses {
		if n := statuses[status].Load(); n > 0 {
			t.Logf("status %d: %d times", status, n)
			if status >= 500 && status != 503 {
				t.Errorf("status %d", status)
			}
		}
	}
	// What is live is bounded by the budget and by what each request may have
	// beside it; the heap grows to twice that before it is collected.
	t.Logf("peak %d MiB", peak.Load()>>20)
	if most := int64(2 * (maxBodyMemory + atOnce*5<<20)); peak.Load() > most {
		t.Errorf("peak of %d MiB, want at most %d", peak.Load()>>20, most>>20)
	}
	if left := s.BudgetLeft(); left != maxBodyMemory {
		t.Errorf("%d bytes of the budget are left, want %d", left, maxBodyMemory)
	}
	large := `{"api_key":"phc_demo","event":"e","distinct_id":"u","properties":{"x":"` + strings.Repeat("x", 19<<20) + `"}}`
	if resp := (call{target: "/e", body: large}).do(s); resp.StatusCode != 200 {
		t.Errorf("a large request: %d %s", resp.StatusCode, bodyText(t, resp))
	}
}

// TestLargest: what the limits allow works, alone and with the usual budget.
func TestLargest(t *testing.T) {
	skipLarge(t)
	s, f := newCapture(t, func(c *server.Config) { c.MaxBodyMemory, c.Capture.MaxEvent = 512<<20, 64<<20 })
	const head, tail = `{"api_key":"phc_demo","event":"e","distinct_id":"u","properties":{"x":"`, `"}}`
	body := func(n int) string { return head + strings.Repeat("x", n-len(head)-len(tail)) + tail }
	for _, tt := range []struct {
		name   string
		call   call
		status int
	}{
		{"body", call{target: "/e", body: body(20 << 20)}, 200},
		{"body and one byte", call{target: "/e", body: body(20<<20 + 1)}, 413},
		{"gzip", call{target: "/e", body: zip(body(50 << 20))}, 200},
		{"gzip and one byte", call{target: "/e", body: zip(body(50<<20 + 1))}, 413},
		{"brotli", call{target: "/e", header: map[string]string{"Content-Encoding": "br"}, body: brotliOf(body(50 << 20))}, 200},
		{"zstd", call{target: "/e", header: map[string]string{"Content-Encoding": "zstd"}, body: zstdOf(body(50 << 20))}, 200},
		{"zstd with its largest window", call{target: "/e", header: map[string]string{"Content-Encoding": "zstd"}, body: zstdOf(body(17<<20), zstd.WithWindowSize(8<<20))}, 200},
		{"zstd with a larger window", call{target: "/e", header: map[string]string{"Content-Encoding": "zstd"}, body: zstdOf(body(17<<20), zstd.WithWindowSize(16<<20))}, 413},
		{"zstd behind a frame to skip", call{target: "/e", header: map[string]string{"Content-Encoding": "zstd"}, body: "\x50\x2a\x4d\x18\x01\x00\x00\x00x" + zstdOf(event)}, 200},
		{"base64", call{target: "/e", body: base64Of(body(15<<20 - 1))}, 200},
		{"recording", call{target: "/s", body: body(25 << 20)}, 200},
		{"recording and one byte", call{target: "/s", body: body(25<<20 + 1)}, 413},
		{"newer route", v1(v1Body(uuid1)+strings.Repeat(" ", 10<<20-len(v1Body(uuid1))), nil), 200},
		{"newer route and one byte", v1(v1Body(uuid1)+strings.Repeat(" ", 10<<20-len(v1Body(uuid1))+1), nil), 413},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f.take()
			resp := tt.call.do(s)
			if body := bodyText(t, resp); resp.StatusCode != tt.status {
				t.Errorf("%d %s, want %d", resp.StatusCode, body, tt.status)
			}
		})
	}
}

// fuzzServer has small limits.
func fuzzServer(f *testing.F) (*server.Server, *fakeCollector) {
	s, fake := newCapture(f, func(c *server.Config) {
		c.Capture.MaxBody, c.Capture.MaxDecoded, c.MaxBodyMemory = 64<<10, fuzzDecoded, 128<<20
		c.Geo = fakeGeo{properties: map[string]string{"$geoip_country_code": "AT", "$geoip_city_name": "Graz"}}
	})
	fake.accept = func(_ context.Context, list []capture.Event) error {
		fake.events = nil
		for i := range list {
			e := &list[i]
			if e.Project != 7 || e.Name == "" || e.DistinctID == "" || !json.Valid(e.Properties) {
				panic(fmt.Sprintf("%+v", e))
			}
		}
		return nil
	}
	return s, fake
}

const fuzzDecoded = 256 << 10

// fuzzSend sends a request whose parts may be anything. It returns an answer that
// is not a failure of the server and did not take too much memory.
func fuzzSend(t *testing.T, s *server.Server, c call, query string) *http.Response {
	t.Helper()
	r := c.request()
	r.URL.RawQuery = query
	w := httptest.NewRecorder()
	n := allocated(func() { s.ServeHTTP(w, r) })
	if w.Code >= 500 || w.Code < 200 {
		t.Fatalf("status %d %s", w.Code, w.Body)
	}
	if n > maxAllocated(fuzzDecoded) {
		t.Fatalf("%d bytes allocated for %d, status %d", n, len(c.body), w.Code)
	}
	if left := s.BudgetLeft(); left != 128<<20 {
		t.Fatalf("%d bytes of the budget are left", left)
	}
	return w.Result()
}

// FuzzCaptureBody sends anything to the routes of wire.md §2.1.
func FuzzCaptureBody(f *testing.F) {
	s, _ := fuzzServer(f)
	lz := lz64Literal(`{"token":"phc_demo","event":"e","distinct_id":"u"}`)
	for i, b := range []string{
		event, "[" + event + "]", zip(event), base64Of(event), base64Of(base64Of(event)), "data=" + url.QueryEscape(event), "data=" + base64Of(event),
		lz, "data=" + lz, deflated(event), brotliOf(event), zstdOf(event), `{"$token":"phc_demo","$distinct_id":1,"$set":{}}`,
		`{"api_key":"phc_demo","sent_at":"2026-11-21T00:12:13Z","batch":[{"event":"e","distinct_id":"u","offset":1e400,"properties":{"$set":{"a":"\ud800"}},"$set":{}}]}`,
	} {
		for j, encoding := range []string{"", "gzip", "deflate", "br", "zstd", "lz64"} {
			f.Add([]byte(b), []string{"", form, "text/plain"}[(i+j)%3], []string{"", "compression=lz64&_=1795220311000", "beacon=1&data=e30="}[j%3], encoding, uint8(i+j))
		}
	}
	f.Fuzz(func(t *testing.T, body []byte, contentType, query, encoding string, route uint8) {
		target := append(captureTargets, struct {
			path        string
			legacy, get bool
		}{path: "/s"})[int(route)%(len(captureTargets)+1)]
		c := call{
			target: target.path, body: string(body),
			header: map[string]string{"Content-Type": contentType, "Content-Encoding": encoding, "User-Agent": chrome},
		}
		if target.get && route >= 128 {
			c.method = http.MethodGet
		}
		resp := fuzzSend(t, s, c, query)
		got, typ := bodyText(t, resp), resp.Header.Get("Content-Type")
		switch resp.StatusCode {
		case 200:
			if got != `{"status":1}` || typ != "application/json" {
				t.Fatalf("%s %q", typ, got)
			}
		case 204:
			if got != "" {
				t.Fatalf("204 with %q", got)
			}
		case 400, 401, 413:
			var p problem
			if err := json.Unmarshal([]byte(got), &p); err != nil || p.Detail == "" || p.Code == "" || typ != "application/json" {
				t.Fatalf("%d %s %q", resp.StatusCode, typ, got)
			}
		default:
			t.Fatalf("status %d %s", resp.StatusCode, got)
		}
	})
}

// FuzzAnalyticsBody sends anything to /i/v1/analytics/events.
func FuzzAnalyticsBody(f *testing.F) {
	s, _ := fuzzServer(f)
	for _, b := range []string{
		v1Body(uuid1), v1Body(uuid1, uuid2), v1Body(),
		strings.Replace(v1Body(uuid1), `"uuid"`, `"options":{"process_person_profile":true},"session_id":"s","properties":{"$set":{"a":1e400}},"uuid"`, 1),
	} {
		f.Add([]byte(b), "", "posthog-node/5.70.0", "")
		f.Add([]byte(zip(b)), "gzip", "x", "_=1")
		f.Add([]byte(deflated(b)), "deflate", "x/", "")
		f.Add([]byte(brotliOf(b)), "br", "/1", "")
		f.Add([]byte(zstdOf(b)), "zstd", "\xff\"", "")
	}
	f.Fuzz(func(t *testing.T, body []byte, encoding, library, query string) {
		c := v1(string(body), map[string]string{"Content-Encoding": encoding, "PostHog-Sdk-Info": library, "User-Agent": chrome})
		resp := fuzzSend(t, s, c, query)
		got := bodyText(t, resp)
		var a struct {
			Results map[string]struct{ Result, Details string }
			Error   string
		}
		if err := json.Unmarshal([]byte(got), &a); err != nil || resp.Header.Get("Content-Type") != "application/json" {
			t.Fatalf("%v: %q", err, got)
		}
		switch resp.StatusCode {
		case 200:
			if len(a.Results) == 0 {
				t.Fatal(got)
			}
			for _, r := range a.Results {
				if r.Result != "ok" && r.Result != "warning" && r.Result != "drop" {
					t.Fatal(got)
				}
			}
		case 400, 413, 415:
			if a.Error == "" {
				t.Fatal(got)
			}
		default:
			t.Fatalf("status %d %s", resp.StatusCode, got)
		}
	})
}
