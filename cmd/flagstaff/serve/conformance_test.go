package serve

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/sqlstore"
	"github.com/flagstaff-go/flagstaff/management/sqlstore/postgres"
	"github.com/flagstaff-go/flagstaff/management/sqlstore/postgres/postgrestest"
	"github.com/flagstaff-go/flagstaff/management/sqlstore/sqlite"
	"github.com/flagstaff-go/flagstaff/management/sqlstore/sqlite/sqlitetest"
	"github.com/flagstaff-go/flagstaff/management/storage"
	"github.com/flagstaff-go/flagstaff/surveys"
)

// The tests of these files are the checklist of wire.md §9 as far as it is about
// events, persons and groups: each row asks the program over HTTP, on each of
// its stores, and looks into the store where an answer does not tell enough.
//
// The tables at the top of the files say what covers which row:
//
//	C01–C56, V01–V16, X01–X14    conformance_capture_test.go
//	P01–P24, P26–P30             conformance_persons_test.go (there is no P25)
//	T01–T30                      conformance_store_test.go
//
// X06–X08 are about routes that this server does not have.

// A row is a row of the checklist, or an additional one, which has a word as its
// ID.
type row struct {
	id, what string
	run      func(*testing.T, *client)
}

var checklist = slices.Concat(captureRows, analyticsRows, originRows, personRows, propertyRows, storeRows)

// required are the rows that must be in the tables, both ends included.
var required = []struct {
	section     string
	first, last int
	but         []int
}{
	{"C", 1, 56, nil},
	{"V", 1, 16, nil},
	{"X", 1, 14, []int{6, 7, 8}},
	{"P", 1, 30, []int{25}},
	{"T", 1, 30, nil},
}

func TestConformanceIsComplete(t *testing.T) {
	covered := make(map[string]int)
	for _, r := range checklist {
		covered[r.id]++
		if covered[r.id] > 1 {
			t.Errorf("row %s has %d tests; want one", r.id, covered[r.id])
		}
	}
	for _, r := range required {
		for n := r.first; n <= r.last; n++ {
			if id := fmt.Sprintf("%s%02d", r.section, n); covered[id] == 0 && !slices.Contains(r.but, n) {
				t.Errorf("row %s has no test", id)
			}
		}
	}
}

func TestConformance(t *testing.T) {
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			s := k.open(t)
			s.url, _, _ = s.launch(t)
			for _, r := range checklist {
				t.Run(r.id+" "+r.what, func(t *testing.T) { r.run(t, &client{system: s, row: r.id}) })
			}
			t.Run("event quota", func(t *testing.T) { testEventQuota(t, k.open(t)) })
			t.Run("flag quota", func(t *testing.T) { testFlagQuota(t, k.open(t)) })
		})
	}
}

// The API keys of the projects that a system has. The first project has the flags.
const (
	firstKey  = "phc_conformance"
	secondKey = "phc_second"
)

// A system is the program on a store.
type system struct {
	store sqlstore.Storage

	// given is the store that the program uses, if that must be the same
	// value. Otherwise it opens what args say.
	given sqlstore.Storage
	args  []string

	// spoil makes writing fail until repair is called.
	spoil func(t *testing.T, table string) (repair func())

	url string
}

// A kind of store.
type kind struct {
	name string
	open func(*testing.T) *system
}

var kinds = []kind{{"memory", openMemory}, {"SQLite", openSQLiteFile}, {"PostgreSQL", openPostgres}}

// brokenStore is a store in memory that fails when it is told to.
type brokenStore struct {
	sqlstore.Storage
	broken atomic.Bool
}

func (s *brokenStore) Write(ctx context.Context, events []capture.Event) error {
	if s.broken.Load() {
		return fmt.Errorf("%w: spoiled by a test", capture.ErrUnavailable)
	}
	return s.Storage.Write(ctx, events)
}

// stores are empty stores in memory, with surveys as those of the program.
var stores = sqlitetest.NewTemplate(func(testing.TB, sqlstore.Storage) {}, surveys.Extension())

func openMemory(t *testing.T) *system {
	store := &brokenStore{Storage: stores.Open(t)}
	addProjects(t, store)
	return &system{
		store: store, given: store, args: []string{"-demo"},
		spoil: func(*testing.T, string) func() {
			store.broken.Store(true)
			return func() { store.broken.Store(false) }
		},
	}
}

// uncached is for the second connection, with which tests look into the store.
var uncached = sqlstore.Options{MaxStale: -1, Extensions: []sqlstore.Extension{surveys.Extension()}}

func openSQLiteFile(t *testing.T) *system {
	path := filepath.Join(t.TempDir(), "conformance.db")
	db, err := sqlite.Open(t.Context(), path, uncached)
	if err != nil {
		t.Fatal(err)
	}
	return openSQL(t, db, path, "sqlite", "file:"+path+"?_pragma=busy_timeout(10000)")
}

func openPostgres(t *testing.T) *system {
	url := postgrestest.Open(t)
	db, err := postgres.Open(t.Context(), url, uncached)
	if err != nil {
		t.Fatal(err)
	}
	return openSQL(t, db, url, "pgx", url)
}

func openSQL(t *testing.T, db sqlstore.Storage, store, driver, dsn string) *system {
	raw, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(raw.Close(), db.Close()); err != nil {
			t.Error(err)
		}
	})
	addProjects(t, db)
	rename := func(from, to string) {
		t.Helper()
		if _, err := raw.ExecContext(context.Background(), "ALTER TABLE "+from+" RENAME TO "+to); err != nil {
			t.Fatal(err)
		}
	}
	return &system{
		store: db, args: []string{"-store", store},
		spoil: func(_ *testing.T, table string) func() {
			rename(table, table+"_away")
			return func() { rename(table+"_away", table) }
		},
	}
}

func addProjects(t *testing.T, store sqlstore.Storage) {
	t.Helper()
	created, err := management.Bootstrap(t.Context(), store, management.First{APIKey: firstKey})
	if err != nil {
		t.Fatal(err)
	}
	second := created.Project
	second.APIKey, second.UUID, second.SecretHash = secondKey, uuid.New(), storage.HashKey("phs_second")
	if err := store.Projects().Create(t.Context(), &second); err != nil {
		t.Fatal(err)
	}
	if created.Project.ID != 1 || second.ID != 2 {
		t.Fatalf("the projects are %d and %d, want 1 and 2", created.Project.ID, second.ID)
	}
}

// launch starts the program on the system's store.
func (s *system) launch(t *testing.T, more ...string) (url string, stderr *output, stop func() int) {
	t.Helper()
	args := slices.Concat(s.args, []string{
		"-flags", "testdata/conformance.json", "-geoip", "../../../testdata/geoip/test.mmdb", "-project-key", firstKey, "-addr", "127.0.0.1:0",
	}, more)
	return launch(t, &Main{Args: args, store: s.given, Stdout: io.Discard})
}

// launch runs the program until the test ends.
func launch(t *testing.T, m *Main) (url string, stderr *output, stop func() int) {
	t.Helper()
	stderr = newOutput()
	m.Stderr = stderr
	ctx, cancel := context.WithCancel(t.Context())
	code := make(chan int, 1)
	go func() { code <- m.Run(ctx) }()
	stop = sync.OnceValue(func() int {
		cancel()
		return <-code
	})
	t.Cleanup(func() { stop() })
	return stderr.await(t, `listening on (http://\S+)`)[1], stderr, stop
}

// A client asks a system about one row. In the texts that it sends, KEY and
// OTHER are the API keys, @ begins a distinct ID of the row's own, and <1>, <2>
// and so on are UUIDs of its own.
type client struct {
	*system
	row string
}

// id returns a distinct ID of the row's own.
func (c *client) id(name string) string { return c.row + "-" + name }

var uuidName = regexp.MustCompile(`<\d+>`)

func (c *client) text(template string) string {
	s := strings.NewReplacer("@", c.id(""), "KEY", firstKey, "OTHER", secondKey).Replace(template)
	return uuidName.ReplaceAllStringFunc(s, func(name string) string { return c.uuid(name) })
}

// uuid returns a UUID of the row's own.
func (c *client) uuid(name string) string {
	return uuid.NewSHA1(uuid.NameSpaceOID, []byte(c.row+name)).String()
}

// A request is what a row sends. Unless it says otherwise it is a POST of JSON
// from a page of another origin.
type request struct {
	method string
	path   string
	body   string              // a template
	encode func(string) string // what becomes of the body
	header []string            // names and values; an empty value: not sent

	stream io.Reader // instead of the body
	length int64     // of stream
}

// A response is an answer that has arrived in full.
type response struct {
	status int
	header http.Header
	body   string
	close  bool
}

const origin = "https://app.example.com"

// plainClient shows answers as they are.
var plainClient = &http.Client{
	Transport:     &http.Transport{DisableCompression: true, ExpectContinueTimeout: time.Minute, MaxIdleConnsPerHost: 64},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

func (c *client) do(t *testing.T, r request) response {
	t.Helper()
	body := c.text(r.body)
	if r.encode != nil {
		body = r.encode(body)
	}
	var reader io.Reader = strings.NewReader(body)
	if r.stream != nil {
		reader = r.stream
	}
	path := cmp.Or(r.path, "/i/v0/e/")
	h, err := http.NewRequestWithContext(t.Context(), cmp.Or(r.method, http.MethodPost), c.url+path, reader)
	if err != nil {
		t.Fatal(err)
	}
	if r.stream != nil {
		h.ContentLength = r.length
	}
	h.Header.Set("Content-Type", "application/json")
	h.Header.Set("Origin", origin)
	for i := 0; i < len(r.header); i += 2 {
		if h.Header.Del(r.header[i]); r.header[i+1] != "" {
			h.Header[http.CanonicalHeaderKey(r.header[i])] = []string{c.text(r.header[i+1])}
		} else if r.header[i] == "User-Agent" {
			h.Header["User-Agent"] = nil // or else net/http sets its own
		}
	}
	w, err := plainClient.Do(h)
	if err != nil {
		t.Fatalf("%s %s: %v", h.Method, path, err)
	}
	defer w.Body.Close()
	b, err := io.ReadAll(w.Body)
	if err != nil {
		t.Fatalf("%s %s: %v", h.Method, path, err)
	}
	return response{w.StatusCode, w.Header, string(b), w.Close}
}

// checkCORS checks what every answer to a page of another origin has.
func (r *response) checkCORS(t *testing.T) {
	t.Helper()
	if r.header.Get("Access-Control-Allow-Origin") != origin || r.header.Get("Access-Control-Allow-Credentials") != "true" ||
		!strings.Contains(r.header.Get("Vary"), "Origin") {
		t.Errorf("CORS headers are missing: %v", r.header)
	}
}

// checkAccepted checks the one answer that SDKs take for success.
func (r *response) checkAccepted(t *testing.T) {
	t.Helper()
	if r.status != http.StatusOK || r.header.Get("Content-Type") != "application/json" || r.body != `{"status":1}` {
		t.Errorf("answer %d, %q: %q; want 200 and {\"status\":1} as application/json", r.status, r.header.Get("Content-Type"), r.body)
	}
	r.checkCORS(t)
}

// checkRefused checks an error: JSON with a type, a code and a detail.
func (r *response) checkRefused(t *testing.T, status int) {
	t.Helper()
	var e struct{ Type, Code, Detail string }
	err := json.Unmarshal([]byte(r.body), &e)
	if r.status != status || r.header.Get("Content-Type") != "application/json" || err != nil || e.Type == "" || e.Code == "" || e.Detail == "" {
		t.Errorf("answer %d, %q: %q; want %d and an error as JSON", r.status, r.header.Get("Content-Type"), r.body, status)
	}
	if retry := r.header.Get("Retry-After"); (retry != "") != (status == http.StatusServiceUnavailable || status == http.StatusTooManyRequests) {
		t.Errorf("status %d with Retry-After %q", r.status, retry)
	}
	if r.close != (status == http.StatusRequestEntityTooLarge) {
		t.Errorf("status %d, connection to be closed: %v", r.status, r.close)
	}
	r.checkCORS(t)
}

// capture sends one event or batch to the route of api.md §5.
func (c *client) capture(t *testing.T, body string, header ...string) {
	t.Helper()
	r := c.do(t, request{body: body, header: header})
	r.checkAccepted(t)
}

// event sends an event; members are more of its JSON.
func (c *client) event(t *testing.T, name, id, members string, header ...string) {
	t.Helper()
	if members != "" {
		members = "," + members
	}
	c.capture(t, fmt.Sprintf(`{"api_key":"KEY","event":%q,"distinct_id":"@%s"%s}`, name, id, members), header...)
}

// flags asks for the flags of a person of the row's own; members are more of the
// request's JSON.
func (c *client) flags(t *testing.T, id, members string, header ...string) map[string]any {
	t.Helper()
	return c.flagsOf(t, "/flags?v=2", c.id(id), members, header...)
}

func (c *client) flagsOf(t *testing.T, path, distinctID, members string, header ...string) map[string]any {
	t.Helper()
	if members != "" {
		members = "," + members
	}
	id, err := json.Marshal(distinctID)
	if err != nil {
		t.Fatal(err)
	}
	answer := post(t, c.url+path, c.text(`{"api_key":"KEY"`+members)+`,"distinct_id":`+string(id)+`}`, header...)
	if answer["errorsWhileComputingFlags"] != false {
		t.Errorf("flags of %q: %v", distinctID, answer)
	}
	return values(answer)
}

// want checks a flag of a person of the row's own.
func (c *client) want(t *testing.T, flag string, want bool, id string, members ...string) {
	t.Helper()
	if got := c.flags(t, id, strings.Join(members, ","))[flag]; got != want {
		t.Errorf("%s of %s %v = %v, want %v", flag, c.id(id), members, got, want)
	}
}

// stored returns the events of a project whose distinct ID has the row's ID in
// it, in order of time.
func (c *client) stored(t *testing.T, project int64) []capture.Event {
	t.Helper()
	list := c.all(t, project)
	list = slices.DeleteFunc(list, func(e capture.Event) bool { return !strings.Contains(e.DistinctID, c.id("")) })
	slices.SortStableFunc(list, func(a, b capture.Event) int { return cmp.Or(a.Received.Compare(b.Received), a.Time.Compare(b.Time)) })
	return list
}

func (s *system) all(t *testing.T, project int64) []capture.Event {
	t.Helper()
	var list []capture.Event
	for e, err := range s.store.AllEvents(t.Context(), project, storage.EventFilter{}) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, e)
	}
	return list
}

// one returns the only event of the row.
func (c *client) one(t *testing.T) capture.Event {
	t.Helper()
	list := c.stored(t, 1)
	if len(list) != 1 {
		t.Fatalf("%d events are stored, want 1", len(list))
	}
	return list[0]
}

// of returns the events of one distinct ID of the row's own.
func (c *client) of(t *testing.T, id string) []capture.Event {
	t.Helper()
	return slices.DeleteFunc(c.stored(t, 1), func(e capture.Event) bool { return e.DistinctID != c.id(id) })
}

// properties returns the properties of an event.
func properties(t *testing.T, e capture.Event) map[string]any {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal(e.Properties, &m); err != nil {
		t.Fatalf("properties %s: %v", e.Properties, err)
	}
	return m
}

// person returns the properties of a person, nil if there is none.
func (c *client) person(t *testing.T, distinctID string) map[string]any {
	t.Helper()
	b, err := c.store.AppendPerson(t.Context(), nil, 1, distinctID)
	if err != nil {
		t.Fatal(err)
	}
	return object(t, b)
}

// group returns the properties of a group, nil if there is none.
func (c *client) group(t *testing.T, groupType, key string) map[string]any {
	t.Helper()
	b, err := c.store.AppendGroup(t.Context(), nil, 1, groupType, key)
	if err != nil {
		t.Fatal(err)
	}
	return object(t, b)
}

func object(t *testing.T, b []byte) map[string]any {
	t.Helper()
	if len(b) == 0 {
		return nil
	}
	var m map[string]any
	if err := json.Unmarshal(b, &m); err != nil {
		t.Fatalf("%s: %v", b, err)
	}
	return m
}

// testEventQuota sends more events than are allowed.
func testEventQuota(t *testing.T, s *system) {
	s.url, _, _ = s.launch(t, "-event-quota", "3")
	c := &client{system: s, row: "quota"}
	batch := func(a, b string) string {
		return fmt.Sprintf(`{"api_key":"KEY","batch":[{"event":"e","distinct_id":"@%s"},{"event":"e","distinct_id":"@%s"}]}`, a, b)
	}
	for _, step := range []struct {
		body   string
		stored int
	}{
		{batch("1", "2"), 2},
		{batch("over", "over"), 2}, // one of them would fit, a batch is all or nothing
		{`{"api_key":"KEY","event":"e","distinct_id":"@3"}`, 3},
		{`{"api_key":"KEY","event":"e","distinct_id":"@over","$set":{"plan":"pro"}}`, 3},
		{`{"api_key":"OTHER","event":"e","distinct_id":"@over"}`, 3}, // of the same organization
	} {
		c.capture(t, step.body)
		if n := len(c.stored(t, 1)); n != step.stored {
			t.Errorf("after %s: %d events are stored, want %d", step.body, n, step.stored)
		}
	}
	if len(c.of(t, "over")) != 0 || len(c.stored(t, 2)) != 0 {
		t.Error("events beyond the quota are stored")
	}
	c.want(t, "flag-person", false, "over")
	r := c.analytics(t, `{"created_at":"2026-01-02T03:04:05Z","batch":[`+analyticsEvent+`]}`)
	checkAnalyticsRefused(t, r, http.StatusPaymentRequired, "billing_limit_exceeded")
	if n := len(c.stored(t, 1)); n != 3 {
		t.Errorf("%d events are stored, want 3", n)
	}
}

// testFlagQuota asks more often than is allowed.
func testFlagQuota(t *testing.T, s *system) {
	url, _, stop := s.launch(t, "-quota", "3")
	ask := func(path, members string) map[string]any {
		t.Helper()
		answer := post(t, url+path, `{"api_key":"`+firstKey+`","distinct_id":"u"`+members+`}`)
		if id, _ := answer["requestId"].(string); uuid.Validate(id) != nil {
			t.Errorf("requestId %q", id)
		}
		delete(answer, "requestId")
		delete(answer, "evaluatedAt")
		return answer
	}
	limited := func() {
		t.Helper()
		want := map[string]any{"flags": map[string]any{}, "errorsWhileComputingFlags": false, "quotaLimited": []any{"feature_flags"}}
		if diff := gocmp.Diff(want, ask("/flags?v=2", "")); diff != "" {
			t.Errorf("beyond the quota (-want +got):\n%s", diff)
		}
		got := ask("/flags?v=2&config=true", "")
		for name, value := range want {
			if diff := gocmp.Diff(value, got[name]); diff != "" {
				t.Errorf("beyond the quota, with config, %s (-want +got):\n%s", name, diff)
			}
		}
		for name, value := range map[string]any{
			"config": map[string]any{"enable_collect_everything": true}, "toolbarParams": map[string]any{}, "isAuthenticated": false,
			"supportedCompression": []any{"gzip", "lz64"},
		} {
			if diff := gocmp.Diff(value, got[name]); diff != "" {
				t.Errorf("beyond the quota, with config, %s (-want +got):\n%s", name, diff)
			}
		}
	}
	unlimited := func(path, members string) {
		t.Helper()
		got := ask(path, members)
		if _, ok := got["quotaLimited"]; ok || (members == "") != (len(got["flags"].(map[string]any)) > 0) {
			t.Errorf("within the quota: %v", got)
		}
	}
	const disabled = `,"disable_flags":true`
	unlimited("/flags?v=2", "")
	unlimited("/flags?v=2", disabled)
	unlimited("/flags?v=2&config=true", "")
	unlimited("/flags?v=2", disabled)
	unlimited("/flags?v=2", "")
	limited()
	unlimited("/flags?v=2", disabled)
	if code := stop(); code != 0 {
		t.Fatalf("exit code %d, want 0", code)
	}
	url, _, stop = s.launch(t, "-quota", "3")
	limited()
	unlimited("/flags?v=2", disabled)
	stop()
	url, _, _ = s.launch(t, "-quota", "4") // it was raised
	unlimited("/flags?v=2", "")
	limited()
}

func TestFirstStart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "first.db")
	run := func(args ...string) (url string, stdout, stderr *output, stop func() int) {
		t.Helper()
		stdout = newOutput()
		m := &Main{Args: append([]string{"-store", path, "-addr", "127.0.0.1:0", "-log-level", "debug"}, args...), Stdout: stdout}
		url, stderr, stop = launch(t, m)
		return url, stdout, stderr, stop
	}
	var logs strings.Builder
	url, stdout, stderr, stop := run()
	keys := regexp.MustCompile(`(?s)(phc_\w+).*(phs_\w+)`).FindStringSubmatch(stdout.String())
	if keys == nil || strings.Count(stdout.String(), "phc_") != 1 || strings.Count(stdout.String(), "phs_") != 1 {
		t.Fatalf("the first start printed %q, want each key once", stdout)
	}
	key, secret := keys[1], keys[2]
	c := &client{system: &system{url: url}, row: "first"}
	c.capture(t, `{"api_key":"`+key+`","event":"e","distinct_id":"u"}`)
	// The secret key is not a project API key.
	r := c.do(t, request{body: `{"api_key":"` + secret + `","event":"e","distinct_id":"u"}`})
	r.checkRefused(t, http.StatusUnauthorized)
	without(t, dir, secret) // while the write-ahead log still has it, if anything has
	if code := stop(); code != 0 {
		t.Fatalf("exit code %d, want 0", code)
	}
	logs.WriteString(stderr.String())

	for _, args := range [][]string{nil, {"-project-key", key}} {
		url, stdout, stderr, stop = run(args...)
		if stdout.String() != "" {
			t.Errorf("a later start printed %q", stdout)
		}
		c.url = url
		c.capture(t, `{"api_key":"`+key+`","event":"e","distinct_id":"u"}`)
		if code := stop(); code != 0 {
			t.Fatalf("exit code %d, want 0", code)
		}
		logs.WriteString(stderr.String())
	}
	if strings.Contains(logs.String(), secret) {
		t.Errorf("the log has the secret key:\n%s", logs.String())
	}
	without(t, dir, secret)

	out := newOutput()
	m := Main{Args: []string{"-store", path, "-project-key", "phc_nobody", "-addr", "127.0.0.1:0"}, Stdout: out, Stderr: out}
	want := path + " has no project with the key of -project-key; the flag is for the first start on an empty store"
	if code := m.Run(t.Context()); code != 1 || !strings.Contains(out.String(), want) {
		t.Errorf("exit code %d, output %q; want 1 and %q", code, out, want)
	}
}

// without checks that no file of a folder has a text.
func without(t *testing.T, dir, text string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("files of %s: %v, %v", dir, files, err)
	}
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(b, []byte(text)) {
			t.Errorf("%s has the secret key", name)
		}
	}
}
