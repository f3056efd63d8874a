package storebench

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/management/sqlstore"
	"github.com/flagstaff-go/flagstaff/management/sqlstore/postgres"
	"github.com/flagstaff-go/flagstaff/management/sqlstore/postgres/postgrestest"
	"github.com/flagstaff-go/flagstaff/management/sqlstore/sqlite"
	"github.com/flagstaff-go/flagstaff/server"
)

func TestMain(m *testing.M) { os.Exit(postgrestest.Main(m)) }

// persons is the number of persons that the benchmarks create.
var persons = 100_000

// people returns a smaller number for runs that only check whether the
// benchmarks work.
func people() int {
	if testing.Short() {
		persons = 1000
	}
	return persons
}

// eventText is one event as a server SDK sends it, some 300 bytes. The distinct
// ID has seven digits; the timestamp is the current time in milliseconds.
const eventText = `{"event":"order completed","distinct_id":"user-%07d","timestamp":"%s",` +
	`"properties":{"$lib":"posthog-go","$lib_version":"1.23.1","$is_server":true,"$geoip_disable":true,"amount":129.9,` +
	`"currency":"CHF","items":3,"$feature/checkout-button":"green","shop":"https://shop.example/ch/de"}}`

// knownPerson has the properties of an event that creates its person.
const knownPerson = `{"$set":{"age":%d}}`

func now() string { return time.Now().UTC().Format("2006-01-02T15:04:05.000Z") }

// startBench starts a server on a store and returns its address.
func startBench(b *testing.B, db sqlstore.Storage, definitions string) string {
	b.Helper()
	collector, err := capture.NewCollector(capture.CollectorConfig{Sink: db})
	if err != nil {
		b.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { _ = collector.Run(ctx) })
	evaluator := new(flags.Evaluator)
	d, err := flags.Decode(strings.NewReader(definitions))
	if err != nil {
		b.Fatal(err)
	}
	snapshot, err := flags.Compile(d, flags.CompileOptions{})
	if err != nil {
		b.Fatal(err)
	}
	evaluator.Swap(snapshot)
	var registry server.Registry
	registry.Set("phc_bench", &server.Project{ID: 1, Flags: evaluator})
	handler, err := server.New(server.Config{
		Projects: &registry, Store: db, Capture: server.CaptureConfig{Collector: collector}, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		b.Fatal(err)
	}
	s := httptest.NewServer(handler)
	b.Cleanup(func() {
		s.Close()
		stop()
		wg.Wait()
		if err := db.Close(); err != nil {
			b.Error(err)
		}
	})
	return s.Listener.Addr().String()
}

func openSQLite(b *testing.B) sqlstore.Storage {
	b.Helper()
	db, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "bench.db"), sqlstore.Options{})
	if err != nil {
		b.Fatal(err)
	}
	return db
}

// populate creates the persons, as in a service that has run for a while.
func populate(b *testing.B, db sqlstore.Storage, properties string) sqlstore.Storage {
	b.Helper()
	now := time.Now().UTC().Truncate(time.Microsecond)
	for first := 0; first < people(); first += 1000 {
		var list []capture.Event
		for i := range 1000 {
			list = append(list, capture.Event{
				Project: 1, UUID: capture.NewUUID(now), Name: "$set", DistinctID: fmt.Sprintf("user-%07d", first+i), Time: now, Received: now,
				Properties: fmt.Appendf(nil, properties, i%90),
			})
		}
		if err := db.Write(b.Context(), list); err != nil {
			b.Fatal(err)
		}
	}
	return db
}

// fire sends n requests over some connections; each connection sends its next
// request when the last one is answered. The function body appends the body of
// request i. fire returns how long each request took.
func fire(b *testing.B, addr, path string, connections, n int, body func(dst []byte, i int) []byte) []time.Duration {
	b.Helper()
	took := make([]time.Duration, n)
	var next atomic.Int64
	var wg sync.WaitGroup
	for range connections {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			b.Fatal(err)
		}
		wg.Go(func() {
			defer conn.Close()
			r := bufio.NewReaderSize(conn, 32<<10)
			var text, request []byte
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				text = body(text[:0], i)
				request = fmt.Appendf(request[:0], "POST %s HTTP/1.1\r\nHost: flags.example\r\nUser-Agent: posthog-go/1.23.1\r\n"+
					"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n", path, len(text))
				sent := time.Now()
				if _, err := conn.Write(append(request, text...)); err != nil {
					b.Error(err)
					return
				}
				if err := skipAnswer(r); err != nil {
					b.Error(err)
					return
				}
				took[i] = time.Since(sent)
			}
		})
	}
	wg.Wait()
	return took
}

// skipAnswer reads an answer with status 200.
func skipAnswer(r *bufio.Reader) error {
	length := 0
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
	_, err := r.Discard(length)
	return err
}

// BenchmarkC1 measures row C1 of docs/performance.md: single events over 64
// connections, each durable before it is answered. The floor commits one event
// after the other in one loop, without HTTP and persons.
func BenchmarkC1(b *testing.B) {
	b.Run("floor", func(b *testing.B) {
		insert := newFloor(b, 1)
		b.ReportAllocs()
		for b.Loop() {
			insert()
		}
	})
	b.Run("flagstaff", func(b *testing.B) {
		addr := startBench(b, populate(b, openSQLite(b), knownPerson), `{"flags":[]}`)
		b.ReportAllocs()
		b.ResetTimer()
		fire(b, addr, "/i/v0/e/", 64, b.N, singleBody)
	})
}

// BenchmarkC6 measures row C6 of docs/performance.md: what a single durable event costs
// beside its parts, which are a request with a static answer and an event of a batch of
// 100. The three run in turns over 64 connections, so that a busy machine affects all of
// them.
func BenchmarkC6(b *testing.B) {
	const perRound = 6400
	static := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header()["Content-Type"] = []string{"application/json"}
		io.WriteString(w, `{"status":"Ok"}`)
	}))
	b.Cleanup(static.Close)
	addr := startBench(b, populate(b, openSQLite(b), knownPerson), `{"flags":[]}`)
	parts := []struct {
		name     string
		requests int
		run      func(requests int)
		times    []time.Duration // of one event, by round
	}{
		{name: "static", requests: perRound, run: func(n int) { fire(b, static.Listener.Addr().String(), "/", 64, n, singleBody) }},
		{name: "batch", requests: perRound / perBatch, run: func(n int) { fire(b, addr, "/batch/", 64, n, batchBody) }},
		{name: "single", requests: perRound, run: func(n int) { fire(b, addr, "/i/v0/e/", 64, n, singleBody) }},
	}
	for round := 0; b.Loop(); round++ {
		for i := range parts {
			start := time.Now()
			parts[i].run(parts[i].requests)
			if round > 0 { // the first one warms up
				parts[i].times = append(parts[i].times, time.Since(start)/perRound)
			}
		}
	}
	if len(parts[0].times) == 0 {
		return
	}
	var ratios, floors, singles []float64
	for i, of := range parts[0].times {
		floors = append(floors, (of + parts[1].times[i]).Seconds())
		singles = append(singles, parts[2].times[i].Seconds())
		ratios = append(ratios, floors[i]/singles[i])
	}
	middle := func(list []float64) float64 { return slices.Sorted(slices.Values(list))[len(list)/2] }
	b.ReportMetric(0, "ns/op") // of a round: says nothing
	for _, p := range parts {
		b.ReportMetric(float64(slices.Sorted(slices.Values(p.times))[len(p.times)/2].Nanoseconds())/1e3, p.name+"-µs")
	}
	b.ReportMetric(1/middle(floors), "floor-req/s")
	b.ReportMetric(1/middle(singles), "single-req/s")
	b.ReportMetric(middle(ratios), "single/floor")
}

// singleBody appends one event.
func singleBody(dst []byte, i int) []byte {
	dst = append(dst, `{"api_key":"phc_bench",`...)
	return append(dst, fmt.Sprintf(eventText, i%persons, now())[1:]...)
}

// newFloor returns a function that inserts a number of events with the
// statements of the floor: multi-row inserts in one transaction.
func newFloor(b *testing.B, events int) func() {
	db := openSQLite(b) // creates the schema
	path := filepath.Join(b.TempDir(), "floor.db")
	if err := db.Close(); err != nil {
		b.Fatal(err)
	}
	if db, err := sqlite.Open(b.Context(), path, sqlstore.Options{}); err != nil {
		b.Fatal(err)
	} else if err := db.Close(); err != nil {
		b.Fatal(err)
	}
	raw, err := sql.Open("sqlite", "file:"+path+"?_txlock=immediate&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)")
	if err != nil {
		b.Fatal(err)
	}
	raw.SetMaxOpenConns(1)
	b.Cleanup(func() { raw.Close() })
	const columns = "INSERT INTO event (project_id, uuid, hash, name, distinct_id, ts, received_at, properties) VALUES "
	per := min(events, 50)
	query := columns + strings.TrimSuffix(strings.Repeat("(?,?,?,?,?,?,?,?),", per), ",")
	stmt, err := raw.PrepareContext(b.Context(), query)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { stmt.Close() })
	properties := eventText[strings.Index(eventText, `"properties":`)+len(`"properties":`) : len(eventText)-1]
	n := 0
	return func() {
		tx, err := raw.BeginTx(b.Context(), nil)
		if err != nil {
			b.Fatal(err)
		}
		prepared := tx.StmtContext(b.Context(), stmt)
		for range events / per {
			args := make([]any, 0, 8*per)
			for range per {
				n++
				now := time.Now()
				id := capture.NewUUID(now)
				args = append(args, 1, id[:], int64(n), "order completed", fmt.Sprintf("user-%07d", n%persons), now.UnixMicro(), now.UnixMicro(), properties)
			}
			if _, err := prepared.ExecContext(b.Context(), args...); err != nil {
				b.Fatal(err)
			}
		}
		if err := tx.Commit(); err != nil {
			b.Fatal(err)
		}
	}
}

const perBatch = 100

// batchBody appends a batch of 100 events.
func batchBody(dst []byte, i int) []byte {
	dst = append(dst, `{"api_key":"phc_bench","batch":[`...)
	timestamp := now()
	for j := range perBatch {
		if j > 0 {
			dst = append(dst, ',')
		}
		dst = fmt.Appendf(dst, eventText, (i*perBatch+j)%persons, timestamp)
	}
	return append(dst, "]}"...)
}

// BenchmarkC2 measures row C2 of docs/performance.md: batches of 100 events,
// where an operation is one event. The floor inserts the same rows, 500 per
// transaction, without HTTP and persons.
func BenchmarkC2(b *testing.B) {
	b.Run("floor", func(b *testing.B) {
		insert := newFloor(b, 500)
		b.ReportAllocs()
		b.ResetTimer()
		for n := 0; n < b.N; n += 500 {
			insert()
		}
	})
	b.Run("flagstaff", func(b *testing.B) {
		addr := startBench(b, populate(b, openSQLite(b), knownPerson), `{"flags":[]}`)
		b.ReportAllocs()
		b.ResetTimer()
		fire(b, addr, "/batch/", 16, (b.N+perBatch-1)/perBatch, batchBody)
	})
}

// BenchmarkC3 is C2 on PostgreSQL. Its floor is a COPY of the same rows.
func BenchmarkC3(b *testing.B) {
	url := postgrestest.Open(b)
	open := func(b *testing.B) sqlstore.Storage {
		db, err := postgres.Open(b.Context(), url, sqlstore.Options{})
		if err != nil {
			b.Fatal(err)
		}
		return db
	}
	b.Run("floor", func(b *testing.B) {
		if err := open(b).Close(); err != nil {
			b.Fatal(err)
		}
		conn, err := pgx.Connect(b.Context(), url)
		if err != nil {
			b.Fatal(err)
		}
		defer conn.Close(context.Background())
		properties := eventText[strings.Index(eventText, `"properties":`)+len(`"properties":`) : len(eventText)-1]
		columns := []string{"project_id", "uuid", "hash", "name", "distinct_id", "ts", "received_at", "properties"}
		b.ReportAllocs()
		b.ResetTimer()
		for n := 0; n < b.N; n += 500 {
			_, err := conn.CopyFrom(b.Context(), pgx.Identifier{"event"}, columns, pgx.CopyFromSlice(500, func(i int) ([]any, error) {
				now := time.Now()
				return []any{2, capture.NewUUID(now), int64(i), "order completed", fmt.Sprintf("user-%07d", (n+i)%persons), now, now, properties}, nil
			}))
			if err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("flagstaff", func(b *testing.B) {
		addr := startBench(b, populate(b, open(b), knownPerson), `{"flags":[]}`)
		b.ReportAllocs()
		b.ResetTimer()
		fire(b, addr, "/batch/", 16, (b.N+perBatch-1)/perBatch, batchBody)
	})
}

// hundredFlags has 100 flags, each with one condition of two filters and a
// rollout of 50 %, as in row S1 of docs/performance.md.
func hundredFlags() string {
	var b strings.Builder
	b.WriteString(`{"flags":[`)
	for i := range 100 {
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

// askText asks for the flags of a person, whose number has seven digits, with
// properties that begin with a comma.
const askText = `{"token":"phc_bench","distinct_id":"user-%07d","groups":{"company":"acme"},"timezone":"Europe/Vienna",` +
	`"person_properties":{"$initial_referrer":"$direct","$lib":"web","$lib_version":"1.449.2","$browser":"Chrome","$os":"Linux"%s}}`

// BenchmarkS2 measures row S2 of docs/performance.md: flags that need stored
// properties of 100,000 persons in SQLite. One case has a working set of 1,000
// persons, which stays in the cache; the other one has all persons, which do
// not fit. The floor has the properties in the request.
func BenchmarkS2(b *testing.B) {
	db := populate(b, openSQLite(b), `{"$set":{"plan":"pro","age":%d,"email":"jo@acme.example","company":"Acme","seats":250,"city":"Bern"}}`)
	addr := startBench(b, db, hundredFlags())
	ask := func(b *testing.B, people int, properties string) {
		b.ReportAllocs()
		b.ResetTimer()
		fire(b, addr, "/flags/?v=2", 32, b.N, func(dst []byte, i int) []byte {
			return fmt.Appendf(dst, askText, i*7919%people, properties)
		})
	}
	for _, c := range []struct {
		name   string
		people int
	}{{"cached", 1000}, {"uncached", persons}} {
		b.Run(c.name+"/floor", func(b *testing.B) { ask(b, c.people, `,"plan":"pro","age":42`) })
		b.Run(c.name+"/flagstaff", func(b *testing.B) { ask(b, c.people, "") })
	}
}
