package source_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/flags/source"
	"github.com/flagstaff-go/flagstaff/runtime"
)

const askedDocument = `{"flags":[
	{"id":1,"key":"plain","active":true,"filters":{"groups":[{}]}},
	{"id":2,"key":"vip","active":true,"filters":{"groups":[{"properties":[{"key":"id","type":"cohort","value":3}]}]}},
	{"id":3,"key":"paid","active":true,"filters":{"groups":[{"properties":[{"key":"plan","type":"person","value":"pro"}]}]}}
],"static_cohorts":[3]}`

// A fakeServer answers as the server of a Remote, after a while.
type fakeServer struct {
	mu     sync.Mutex
	after  time.Duration
	status int // 0: 200
	header http.Header
	answer string // to POST /flags
	err    error
	panics bool
	bodies []string // of POST /flags
	most   int      // requests at once
	now    int      // requests under way
}

func (f *fakeServer) set(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

// asked returns the bodies since the last call.
func (f *fakeServer) asked() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	bodies := f.bodies
	f.bodies = nil
	return bodies
}

func (f *fakeServer) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Path == "/flags/definitions" {
		return respond(r, http.StatusOK, nil, askedDocument), nil
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	f.bodies = append(f.bodies, string(body))
	f.now++
	f.most = max(f.most, f.now)
	defer f.set(func() { f.now-- })
	after, status, header, answer, err, panics := f.after, f.status, f.header, f.answer, f.err, f.panics
	f.mu.Unlock()
	switch {
	case panics:
		panic("boom")
	case r.Method != http.MethodPost || r.URL.Path != "/flags" || r.URL.RawQuery != "v=3" || r.Header.Get("Authorization") != "":
		return respond(r, http.StatusTeapot, nil, ""), nil
	}
	select {
	case <-time.After(after):
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
	if err != nil {
		return nil, err
	}
	if status == 0 {
		status = http.StatusOK
	}
	return respond(r, status, header, answer), nil
}

func respond(r *http.Request, status int, h http.Header, body string) *http.Response {
	if h == nil {
		h = http.Header{}
	}
	return &http.Response{StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader(body)), Request: r}
}

const vipAnswer = `{"flags":{"vip":{"key":"vip","enabled":true,"reason":{"code":"condition_match","condition_index":0,"description":""},"metadata":{"id":2,"version":1}}},"errorsWhileComputingFlags":false}`

// asking returns a Loader with definitions that asks a server.
func asking(t testing.TB, f *fakeServer, change func(*source.Remote)) (*flags.Evaluator, *source.Loader) {
	t.Helper()
	r := source.Remote{URL: "https://flags.example.com", ProjectKey: "phc_a", SecretKey: "phs_secret", Client: &http.Client{Transport: f}, Evaluate: true}
	if change != nil {
		change(&r)
	}
	e := new(flags.Evaluator)
	l := source.NewLoader(e, r, source.LoaderConfig{Log: slog.New(slog.DiscardHandler)})
	if err := l.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	return e, l
}

func vip() *flags.Request {
	return &flags.Request{DistinctID: "user-1", PersonProperties: map[string]any{"plan": "pro"}}
}

type broken struct{}

func (broken) MarshalJSON() ([]byte, error) { panic("boom") }

// TestEvaluateBody: the request says everything that evaluation looks at, and nothing
// else.
func TestEvaluateBody(t *testing.T) {
	f := &fakeServer{answer: vipAnswer}
	_, l := asking(t, f, nil)
	r := &flags.Request{
		DistinctID: "user-1", AnonymousID: "anon-1", DeviceID: "d-1", Groups: map[string]string{"company": "acme"},
		PersonProperties: map[string]any{"age": 7, "at": nil, "odd": broken{}, "f": func() {}},
		GroupProperties:  map[string]map[string]any{"company": {"tier": "gold"}},
		Filter:           runtime.Filter{Kind: runtime.Server, Tags: []string{"docs"}},
	}
	lists := *r
	lists.PersonProperties, lists.GroupProperties = map[string]any{"odd": 1}, nil
	lists.Person = []flags.Property{flags.IntProperty("age", 7), flags.AnyProperty("at", nil), flags.AnyProperty("odd", broken{}), flags.AnyProperty("f", func() {})}
	lists.OfGroups = []flags.GroupProperty{{Type: "company", Property: flags.StringProperty("tier", "gold")}}
	for _, r := range []*flags.Request{r, &lists} { // the second finds the answer of the first
		if a := l.RemoteResults(t.Context(), r); a == nil || a.Err != nil {
			t.Fatalf("RemoteResults = %+v", a)
		}
	}
	want := `{"api_key":"phc_a","distinct_id":"user-1","$anon_distinct_id":"anon-1","$device_id":"d-1","groups":{"company":"acme"},` +
		`"person_properties":{"age":7,"at":null},"group_properties":{"company":{"tier":"gold"}},"evaluation_contexts":["docs"],"evaluation_runtime":"server",` +
		`"flag_keys":["vip","paid"],"geoip_disable":true}`
	if diff := cmp.Diff([]string{want}, f.asked()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestRemoteResults: what is asked, kept and shared.
func TestRemoteResults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeServer{answer: vipAnswer, after: 10 * time.Millisecond}
		e, l := asking(t, f, nil)
		ask := func(r *flags.Request) bool {
			t.Helper()
			r.RemoteResults = l.RemoteResults(t.Context(), r)
			return e.Bool("vip", r, false)
		}
		if !ask(vip()) || len(f.asked()) != 1 {
			t.Fatalf("the server's value does not count: %+v", l.Status().EvaluateRequests)
		}
		if !ask(vip()) || len(f.asked()) != 0 {
			t.Error("a kept answer does not count, or is asked for again")
		}
		for name, r := range map[string]*flags.Request{
			"the request has it all": {DistinctID: "user-1", PersonProperties: map[string]any{"plan": "pro"}, Cohorts: []int64{}},
			"other flags":            {DistinctID: "user-1", Keys: []string{"plain"}},
		} {
			if ask(r); r.RemoteResults != nil || len(f.asked()) != 0 {
				t.Errorf("%s: the server is asked", name)
			}
		}
		other := vip()
		other.DistinctID = "user-2"
		if ask(other); len(f.asked()) != 1 {
			t.Error("another person's answer counts")
		}
		time.Sleep(10 * time.Second)
		if !ask(vip()) || len(f.asked()) != 1 {
			t.Error("an answer is kept for longer than ten seconds")
		}

		// Equal calls at the same moment are one request. One that gives up leaves the
		// others alone.
		time.Sleep(10 * time.Second)
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				r := vip()
				r.RemoteResults = l.RemoteResults(t.Context(), r)
				if !e.Bool("vip", r, false) {
					t.Error("a call that waited has no answer")
				}
			})
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if a := l.RemoteResults(ctx, vip()); !errors.Is(a.Err, context.DeadlineExceeded) {
			t.Errorf("a call that gives up: %+v", a)
		}
		wg.Wait()
		if n := len(f.asked()); n != 1 {
			t.Errorf("%d requests for equal calls", n)
		}
		if diff := cmp.Diff(source.EvaluateRequests{Sent: 4, Cached: 1, Shared: 20, Failed: 1}, l.Status().EvaluateRequests); diff != "" {
			t.Errorf("EvaluateRequests (-want +got)\n%s", diff)
		}
		// New definitions make kept answers void.
		e.Swap(compile(t, askedDocument))
		if !ask(vip()) || len(f.asked()) != 1 {
			t.Error("an answer for older definitions counts")
		}
	})
}

func compile(t *testing.T, document string) *flags.Snapshot {
	t.Helper()
	d, err := flags.Decode(strings.NewReader(document))
	if err != nil {
		t.Fatal(err)
	}
	s, err := flags.Compile(d, flags.CompileOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestEvaluateFailures: in every case the answer is the local one, and says so.
func TestEvaluateFailures(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*fakeServer)
		want   string // in the error
		pauses time.Duration
	}{
		{"slow", func(f *fakeServer) { f.after = time.Hour }, "deadline exceeded", 0},
		{"no network", func(f *fakeServer) { f.err = errors.New("out of reach") }, "out of reach", 0},
		{"the key in an error", func(f *fakeServer) { f.err = errors.New("proxy refuses phs_secret") }, "contains the key", 0},
		{"500", func(f *fakeServer) { f.status = 500 }, "answers 500", 0},
		{"400", func(f *fakeServer) { f.status = 400 }, "answers 400", 0},
		{"429", func(f *fakeServer) { f.status, f.header = 429, http.Header{"Retry-After": {"7"}} }, "answers 429", 7 * time.Second},
		{"the quota", func(f *fakeServer) { f.answer = `{"flags":{},"quotaLimited":["feature_flags"]}` }, "quota is used up", 5 * time.Minute},
		{"no JSON", func(f *fakeServer) { f.answer = `<html>` }, "the server's answer", 0},
		{"another JSON", func(f *fakeServer) { f.answer = `{}` }, "has no flags", 0},
		{"a record that is not an object", func(f *fakeServer) { f.answer = `{"flags":[]}` }, "the server's answer", 0},
		{"a panic", func(f *fakeServer) { f.panics = true }, "panicked: boom", 0},
		{"too large", func(f *fakeServer) { f.answer = strings.Repeat(" ", 16<<20+1) }, "more than 16777216 bytes", 0},
		{"the flag is missing", func(f *fakeServer) { f.answer = `{"flags":{}}` }, "", 0},
		{"the flag's overrides", func(f *fakeServer) {
			f.answer = `{"flags":{"vip":{"failed":true,"reason":{"code":"hash_key_override_error"}}},"errorsWhileComputingFlags":true}`
		}, "", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &fakeServer{answer: vipAnswer}
				e, l := asking(t, f, nil)
				f.set(func() { tt.change(f) })
				r := vip()
				start := time.Now()
				r.RemoteResults = l.RemoteResults(t.Context(), r)
				if took := time.Since(start); took > 500*time.Millisecond {
					t.Errorf("RemoteResults takes %v", took)
				}
				if err := r.RemoteResults.Err; (err == nil) != (tt.want == "") || err != nil && (!strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "phs_")) {
					t.Errorf("Err = %v, want %q", err, tt.want)
				}
				got, err := e.Snapshot().Flag("vip", r)
				if err != nil || got.Enabled || got.Failed || !got.Unconfirmed {
					t.Errorf("vip = %+v, %v", got, err)
				}
				if got, err := e.Snapshot().Flag("paid", r); err != nil || !got.Enabled || got.Unconfirmed {
					t.Errorf("paid, of which the request has everything, = %+v, %v", got, err)
				}
				synctest.Wait()
				requests := l.Status().EvaluateRequests
				if tt.want != "" && (requests.Failed != 1 || requests.Err == nil) || time.Until(requests.PausedUntil) > 0 != (tt.pauses > 0) || tt.pauses > 0 && requests.PausedUntil.Sub(start) != tt.pauses {
					t.Errorf("EvaluateRequests = %+v, want a pause of %v", requests, tt.pauses)
				}
			})
		})
	}
}

// TestBrokenRecord: a record that cannot be read is a flag that failed, and the others count
// (rules.md §4.5).
func TestBrokenRecord(t *testing.T) {
	f := &fakeServer{answer: `{"flags":{"vip":{"key":"vip","value":[]},"paid":{"key":"paid","value":true,"metadata":{"config_version":1}}}}`}
	e, l := asking(t, f, nil)
	r := &flags.Request{DistinctID: "user-1"}
	r.RemoteResults = l.RemoteResults(t.Context(), r)
	if got, err := e.Snapshot().Flag("vip", r); err != nil || !got.Failed || !got.Remote || !strings.Contains(got.Reason.Description, "value must be") {
		t.Errorf("vip = %+v, %v", got, err)
	}
	if !e.Bool("vip", r, true) || !e.Bool("paid", r, false) {
		t.Error("a failed flag is not the fallback, or another record fails with it")
	}
}

// TestEvaluateDeadServer: a server that is dead costs nothing but the first few requests
// and then one for each pause, and is asked again when it is back.
func TestEvaluateDeadServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeServer{after: time.Hour}
		e, l := asking(t, f, func(r *source.Remote) { r.EvaluateTimeout = 200 * time.Millisecond })
		start, waited := time.Now(), time.Duration(0)
		for n := 0; time.Since(start) < 5*time.Minute; n++ {
			r := vip()
			r.DistinctID = fmt.Sprint("user-", n)
			before := time.Now()
			r.RemoteResults = l.RemoteResults(t.Context(), r)
			waited += time.Since(before)
			if r.RemoteResults.Err == nil {
				t.Fatal("no error")
			}
			time.Sleep(100 * time.Millisecond)
		}
		if n := len(f.asked()); n < 12 || n > 20 || waited > time.Duration(n)*200*time.Millisecond {
			t.Errorf("%d requests, which cost %v, in five minutes", n, waited)
		}
		f.set(func() { f.after, f.answer = 0, vipAnswer })
		time.Sleep(31 * time.Second)
		for range 2 {
			r := vip()
			r.RemoteResults = l.RemoteResults(t.Context(), r)
			if !e.Bool("vip", r, false) {
				t.Errorf("the server is back: %+v", r.RemoteResults)
			}
		}
		if requests := l.Status().EvaluateRequests; requests.Err != nil || !requests.PausedUntil.IsZero() || requests.Cached != 1 {
			t.Errorf("EvaluateRequests = %+v", requests)
		}
		// Many failures of one moment are one.
		f.set(func() { f.after = time.Hour })
		var wg sync.WaitGroup
		for n := range 100 {
			wg.Go(func() {
				r := vip()
				r.DistinctID = fmt.Sprint("other-", n)
				l.RemoteResults(t.Context(), r)
			})
		}
		wg.Wait()
		synctest.Wait()
		if pause := time.Until(l.Status().EvaluateRequests.PausedUntil); pause > time.Second || pause <= 0 {
			t.Errorf("a pause of %v, want a second", pause)
		}
		if f.most != 64 {
			t.Errorf("%d requests at once, want 64", f.most)
		}
	})
}

// TestEvaluateKeepsLittle: more persons than are kept.
func TestEvaluateKeepsLittle(t *testing.T) {
	f := &fakeServer{answer: vipAnswer}
	_, l := asking(t, f, func(r *source.Remote) { r.ResultTTL = time.Hour })
	for range 2 {
		for n := range 25_000 {
			l.RemoteResults(t.Context(), &flags.Request{DistinctID: fmt.Sprint(n), Keys: []string{"vip"}})
		}
	}
	if requests := l.Status().EvaluateRequests; requests.Sent != 50_000 || requests.Err != nil {
		t.Errorf("EvaluateRequests = %+v, want none of 25,000 kept until it is asked for again", requests)
	}
	_, l = asking(t, f, func(r *source.Remote) { r.ResultTTL = -1 })
	for range 2 {
		l.RemoteResults(t.Context(), vip())
	}
	if requests := l.Status().EvaluateRequests; requests.Sent != 2 {
		t.Errorf("EvaluateRequests = %+v, want no answer kept", requests)
	}
}

// FuzzRemoteResponse: whatever a server answers, every flag has a value, which is marked
// if the server has not given it.
func FuzzRemoteResponse(f *testing.F) {
	f.Add([]byte(vipAnswer))
	f.Add([]byte(`{"flags":{"vip":{"failed":true}},"errorsWhileComputingFlags":true}`))
	f.Add([]byte(`{"flags":{},"quotaLimited":["feature_flags"]}`))
	f.Add([]byte(`{"flags":{"vip":null,"paid":{"variant":"x","metadata":{"payload":{"a":[1]}}}}}`))
	f.Fuzz(func(t *testing.T, answer []byte) {
		e, l := asking(t, &fakeServer{answer: string(answer)}, nil)
		r := &flags.Request{DistinctID: "user-1"}
		r.RemoteResults = l.RemoteResults(t.Context(), r)
		if r.RemoteResults == nil {
			t.Fatal("nothing was asked")
		}
		for _, key := range []string{"vip", "paid", "plain"} {
			got, err := e.Snapshot().Flag(key, r)
			_, given := r.RemoteResults.Results[key]
			if err != nil || got.Key != key || got.Unconfirmed && (given && got.Reason.Code == "" || key == "plain") || r.RemoteResults.Err != nil && !got.Unconfirmed && key != "plain" {
				t.Errorf("%s = %+v, %v, with %+v", key, got, err, r.RemoteResults)
			}
		}
	})
}

// TestEvaluateNobody: Loaders without remote evaluation.
func TestEvaluateNobody(t *testing.T) {
	f := &fakeServer{answer: vipAnswer}
	_, quiet := asking(t, f, func(r *source.Remote) { r.Evaluate = false })
	var e flags.Evaluator
	early := source.NewLoader(&e, source.Remote{URL: "https://flags.example.com", ProjectKey: "phc_a", SecretKey: "phs_a", Evaluate: true}, source.LoaderConfig{})
	for name, l := range map[string]*source.Loader{
		"nil": nil, "zero": {}, "no Evaluate": quiet, "no definitions": early, "nothing": source.NewLoader(nil, nil, source.LoaderConfig{}),
		"no Evaluator": source.NewLoader(nil, source.Remote{Evaluate: true}, source.LoaderConfig{}),
	} {
		if a := l.RemoteResults(t.Context(), vip()); a != nil {
			t.Errorf("%s: RemoteResults = %+v", name, a)
		}
	}
	if len(f.asked()) != 0 {
		t.Error("the server was asked")
	}
	if !early.EvaluatesRemotely() || quiet.EvaluatesRemotely() {
		t.Error("EvaluatesRemotely")
	}
	cached := source.Cached{Source: source.Remote{Evaluate: true}, Path: "x"}
	for _, s := range []source.Source{cached, &cached, &source.Remote{Evaluate: true}} {
		if !source.NewLoader(&e, s, source.LoaderConfig{}).EvaluatesRemotely() {
			t.Errorf("%T does not ask", s)
		}
	}
	if err := source.NewLoader(&e, source.Remote{URL: "https://a", SecretKey: "phs_a", Evaluate: true}, source.LoaderConfig{}).Refresh(t.Context()); err == nil || !strings.Contains(err.Error(), "ProjectKey") {
		t.Errorf("Evaluate without ProjectKey: %v", err)
	}
}

// TestRuling76Misuse: zero and nil values say that there is nothing, and none hangs.
func TestRuling76Misuse(t *testing.T) {
	quiet := source.LoaderConfig{Log: slog.New(slog.DiscardHandler)}
	for name, l := range map[string]*source.Loader{
		"nil": nil, "zero": {}, "no Evaluator": source.NewLoader(nil, source.Static{}, quiet), "no Source": source.NewLoader(new(flags.Evaluator), nil, quiet),
	} {
		if err := l.Refresh(t.Context()); err == nil {
			t.Errorf("%s: Refresh = nil", name)
		}
		if err := l.Run(t.Context()); err == nil {
			t.Errorf("%s: Run = nil", name)
		}
		if s := l.Status(); s.String() != "no definitions yet" {
			t.Errorf("%s: Status = %v", name, s)
		}
	}
	for _, s := range []source.Source{
		source.Static{},
		source.File{},
		source.Remote{},
		source.Cached{},
		source.Cached{Source: source.File{}, Path: "x"},
		(*source.Static)(nil), (*source.File)(nil), (*source.Remote)(nil), (*source.Cached)(nil),
	} {
		l := source.NewLoader(new(flags.Evaluator), s, quiet)
		if err := l.Refresh(t.Context()); err == nil || !strings.HasPrefix(err.Error(), "source: ") {
			t.Errorf("Refresh of %T %+v = %v", s, s, err)
		}
	}
	for _, e := range []*source.RetryError{nil, {}} {
		if e.Error() == "" || e.Unwrap() != nil {
			t.Errorf("%+v = %q", e, e.Error())
		}
	}
}

// TestStatusForms: JSON and text for a health page.
func TestStatusForms(t *testing.T) {
	at := time.Date(2025, 6, 1, 8, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		status     source.Status
		json, text string
	}{
		{source.Status{}, `{"version":"","failures":0,"problems":[]}`, "no definitions yet"},
		{
			source.Status{
				Version: "v1", Origin: "cache", Fetched: at, Loaded: at.Add(time.Hour), Checked: at, Err: errors.New("down"), Failures: 2, CacheErr: errors.New("read-only"),
				EvaluateRequests: source.EvaluateRequests{Sent: 1, Cached: 2, Failed: 3, Err: errors.New("slow"), PausedUntil: at},
			},
			`{"version":"v1","origin":"cache","fetched":"2025-06-01T08:00:00Z","loaded":"2025-06-01T09:00:00Z","checked":"2025-06-01T08:00:00Z","error":"down","failures":2,` +
				`"cache_error":"read-only","problems":[],"evaluate_requests":{"sent":1,"cached":2,"shared":0,"failed":3,"paused_until":"2025-06-01T08:00:00Z","error":"slow"}}`,
			"definitions v1 from cache, fetched 2025-06-01T08:00:00Z, checked 2025-06-01T08:00:00Z\nerror, 2 in a row: down\nerror of the cache: read-only\n" +
				"evaluate requests: 1 sent, 2 cached, 0 shared, 3 failed: slow",
		},
		{
			source.Status{Version: "v1", Fetched: at, Loaded: at, Checked: at, Problems: []flags.Problem{
				{Severity: flags.SeverityError, DefinitionError: &flags.DefinitionError{Flag: "k", Err: errors.New("odd")}},
				{Severity: flags.SeverityNote, DefinitionError: &flags.DefinitionError{Flag: "k", Err: errors.New("fine")}},
			}},
			`{"version":"v1","fetched":"2025-06-01T08:00:00Z","loaded":"2025-06-01T08:00:00Z","checked":"2025-06-01T08:00:00Z","failures":0,"problems":[` +
				`{"severity":"error","flag":"k","message":"odd"},{"severity":"note","flag":"k","message":"fine"}]}`,
			"definitions v1, fetched 2025-06-01T08:00:00Z, checked 2025-06-01T08:00:00Z\nerror: flag \"k\": odd",
		},
	} {
		b, err := json.Marshal(tt.status)
		if err != nil || string(b) != tt.json {
			t.Errorf("JSON %s, %v\nwant %s", b, err, tt.json)
		}
		if got := tt.status.String(); got != tt.text {
			t.Errorf("text %s\nwant %s", got, tt.text)
		}
	}
}

// TestRemoteNotes: definitions of a server that is not asked have a note for each
// flag that looks at what only the server knows.
func TestRemoteNotes(t *testing.T) {
	f := &fakeServer{}
	notes := func(change func(*source.Remote)) []string {
		_, l := asking(t, f, change)
		var list []string
		for _, p := range l.Status().Problems {
			list = append(list, p.Error())
		}
		return list
	}
	want := []string{
		`note: flag "vip": it looks at what only the server knows: membership in the cohorts 3; give the request what it lacks, or set Remote.Evaluate`,
		`note: flag "paid": it looks at what only the server knows: stored properties of the person (plan); give the request what it lacks, or set Remote.Evaluate`,
	}
	if diff := cmp.Diff(want, notes(func(r *source.Remote) { r.Evaluate = false })); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if got := notes(nil); len(got) != 0 {
		t.Errorf("a server that is asked: %q", got)
	}
}
