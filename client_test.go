package flagstaff_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff"
	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/flags/flagstest"
	"github.com/flagstaff-go/flagstaff/flags/source"
	"github.com/flagstaff-go/flagstaff/runtime"
)

const document = `{"flags": [
	{"id": 1, "key": "new-checkout", "active": true, "filters": {"groups": [
		{"properties": [{"key": "plan", "type": "person", "operator": "exact", "value": "pro"}]}]}},
	{"id": 2, "key": "button", "active": true, "version": 3, "filters": {"groups": [{"variant": "red"}],
		"multivariate": {"variants": [{"key": "blue", "rollout_percentage": 50}, {"key": "red", "rollout_percentage": 50}]},
		"payloads": {"red": "{\"hex\": \"#f00\"}"}}},
	{"id": 3, "key": "resting", "active": false, "filters": {"groups": [{}]}},
	{"id": 4, "key": "broken", "active": true, "filters": {"groups": [{"properties": [{"key": "plan", "type": "person", "operator": "resembles", "value": "x"}]}]}},
	{"id": 5, "key": "for-clients", "active": true, "evaluation_runtime": "client", "filters": {"groups": [{}]}},
	{"id": 6, "key": "paused", "active": true, "filters": {"groups": []}},
	{"id": 7, "key": "page-size", "active": true, "filters": {"version": 2, "return_type": "number", "default_value": 20, "rules": [
		{"rule_type": "targeted_release", "value": 50, "targeting": {"properties": [{"key": "plan", "value": "pro"}]}}]}}
]}`

// quiet discards logs.
var quiet = slog.New(slog.DiscardHandler)

// sink keeps the events of a capture.Client.
type sink struct {
	mu     sync.Mutex
	events []string
}

func (s *sink) Write(_ context.Context, events []capture.Event) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range events {
		var p map[string]any
		_ = json.Unmarshal(e.Properties, &p)
		s.events = append(s.events, fmt.Sprintf("%s %s %v=%v", e.DistinctID, e.Name, p["$feature_flag"], p["$feature_flag_response"]))
	}
	return nil
}

// open returns a Client for the document whose exposures reach the sink.
func open(t *testing.T, config flagstaff.Config) (*flagstaff.Client, *sink) {
	t.Helper()
	s := new(sink)
	events, err := capture.NewClient(capture.ClientConfig{Sink: s, Project: 1})
	if err != nil {
		t.Fatal(err)
	}
	d, err := flags.Decode(strings.NewReader(document))
	if err != nil {
		t.Fatal(err)
	}
	config.Source, config.Events, config.Log = source.Static{Definitions: d}, events, quiet
	client, err := flagstaff.Open(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.Close(context.Background()); err != nil {
			t.Error(err)
		}
		if err := events.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return client, s
}

type label struct{ Hex string }

// TestAnswers holds the table of doc.go.
func TestAnswers(t *testing.T) {
	client, _ := open(t, flagstaff.Config{})
	server := &flags.Request{DistinctID: "u", PersonProperties: map[string]any{"plan": "pro"}}
	server.Filter.Kind = runtime.Server
	type row struct {
		Bool, BoolTrue bool
		Variant        string
		Payload        string
		Lookup         string
		OK             bool
		Result         string
		Results        bool
	}
	ask := func(p *flagstaff.Person, key string) row {
		value, ok := p.Lookup(key)
		r := row{
			p.Bool(key, false), p.Bool(key, true), p.Variant(key, "fallback"),
			flagstaff.Payload(p, key, label{"none"}).Hex, value, ok, "off", false,
		}
		result, err := p.Result(key)
		switch {
		case err != nil:
			r.Result = err.Error()
		case result.Failed:
			r.Result = "failed"
		case result.Enabled:
			r.Result = "on"
		}
		_, r.Results = p.Results().Get(key)
		return r
	}
	nothing := row{false, true, "fallback", "none", "", false, flags.ErrNotReady.Error(), false}
	unknown, failed := nothing, nothing
	unknown.Result = flags.ErrUnknownFlag.Error() + `: "unknown"`
	failed.Result, failed.Results = "failed", true
	off := row{false, false, "false", "none", "false", true, "off", true}
	inactive, hidden := off, off
	inactive.Results, hidden.Results = false, false
	hidden.Result = flags.ErrFiltered.Error() + `: flag "for-clients" is for runtime client, the request is server`
	for _, test := range []struct {
		flag string
		want row
	}{
		{"new-checkout", row{true, true, "true", "none", "true", true, "on", true}},
		{"button", row{true, true, "red", "#f00", "red", true, "on", true}},
		{"paused", off},
		{"resting", inactive},
		{"for-clients", hidden},
		{"broken", failed},
		{"unknown", unknown},
	} {
		if diff := cmp.Diff(test.want, ask(client.For(server), test.flag)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.flag, diff)
		}
		var none *flagstaff.Client
		for name, p := range map[string]*flagstaff.Person{"nil Person": nil, "nil Client": none.For(server), "no context": flagstaff.From(t.Context())} {
			if diff := cmp.Diff(nothing, ask(p, test.flag)); diff != "" {
				t.Errorf("%s, %s (-want +got):\n%s", name, test.flag, diff)
			}
		}
	}
}

// TestExposures: a Person reports one exposure for each flag that it showed, and none
// for what has no value.
func TestExposures(t *testing.T) {
	client, s := open(t, flagstaff.Config{})
	p := client.For(&flags.Request{DistinctID: "ada", PersonProperties: map[string]any{"plan": "pro"}})
	if _, err := p.Result("new-checkout"); err != nil {
		t.Fatal(err)
	}
	p.Lookup("new-checkout")
	for range 3 {
		p.Bool("new-checkout", false)
		p.Variant("button", "")
		flagstaff.Payload(p, "button", label{})
		p.Bool("unknown", true)
		p.Bool("broken", true)
		p.Bool("resting", true)
	}
	if err := client.Events().Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"ada $feature_flag_called new-checkout=true",
		"ada $feature_flag_called button=red",
	}
	if diff := cmp.Diff(want, s.events); diff != "" {
		t.Errorf("exposures (-want +got):\n%s", diff)
	}
}

// TestMinimalExposures: definitions can ask for short exposures of flags that have no
// experiment.
func TestMinimalExposures(t *testing.T) {
	d, err := flags.Decode(strings.NewReader(`{"minimal_flag_called_events": true, "flags": [
		{"key": "plain", "active": true, "has_experiment": false, "filters": {"groups": [{}]}},
		{"key": "tested", "active": true, "has_experiment": true, "filters": {"groups": [{}]}}
	]}`))
	if err != nil {
		t.Fatal(err)
	}
	got := make(map[string]bool)
	events, err := capture.NewClient(capture.ClientConfig{Sink: writer(func(events []capture.Event) {
		for _, e := range events {
			var p map[string]any
			if err := json.Unmarshal(e.Properties, &p); err != nil {
				t.Error(err)
			}
			flag := p["$feature_flag"].(string)
			_, full := p["$feature/"+flag]
			if got[flag] = full; p["$feature_flag_has_experiment"] != full {
				t.Errorf("%s: %s", flag, e.Properties)
			}
		}
	})})
	if err != nil {
		t.Fatal(err)
	}
	client, err := flagstaff.Open(t.Context(), flagstaff.Config{Source: source.Static{Definitions: d}, Events: events, Log: quiet})
	if err != nil {
		t.Fatal(err)
	}
	// The second Person has the server's values, of which the same holds.
	p := client.For(&flags.Request{DistinctID: "u"})
	asked := client.For(&flags.Request{DistinctID: "u", RemoteResults: &flags.RemoteResults{Results: map[string]flags.Result{
		"plain": {Enabled: false}, "tested": {Enabled: false, Metadata: flags.Metadata{HasExperiment: true}},
	}}})
	for _, key := range []string{"plain", "tested"} {
		if !p.Bool(key, false) || asked.Bool(key, true) {
			t.Errorf("%s has the wrong value", key)
		}
	}
	for _, closing := range []func(context.Context) error{client.Close, events.Close} {
		if err := closing(context.Background()); err != nil {
			t.Error(err)
		}
	}
	if diff := cmp.Diff(map[string]bool{"plain": false, "tested": true}, got); diff != "" {
		t.Errorf("full exposures (-want +got):\n%s", diff)
	}
	if n := events.Stats().Delivered; n != 4 {
		t.Errorf("%d exposures, want 4", n)
	}
}

// A writer is a Sink.
type writer func([]capture.Event)

func (w writer) Write(_ context.Context, events []capture.Event) error {
	w(events)
	return nil
}

// TestPinned: a Person does not see a change of the definitions.
func TestPinned(t *testing.T) {
	file := filepath.Join(t.TempDir(), "flags.json")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(document)
	client, err := flagstaff.Open(t.Context(), flagstaff.Config{File: file, Log: quiet})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close(context.Background())
	r := &flags.Request{DistinctID: "u", PersonProperties: map[string]any{"plan": "pro"}}
	before := client.For(r)
	write(`{"flags": []}`)
	if err := client.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !before.Bool("new-checkout", false) {
		t.Error("a Person has seen a change")
	}
	if client.For(r).Bool("new-checkout", false) {
		t.Error("a new Person has not seen the change")
	}
}

// TestConcurrent: a Person may be asked by several goroutines, in which more flags are
// known than it remembers without allocation.
func TestConcurrent(t *testing.T) {
	builders := make([]*flagstest.Builder, 20)
	for i := range builders {
		builders[i] = flagstest.Flag(fmt.Sprintf("flag-%d", i)).On()
	}
	p := flagstaff.From(flagstest.With(t, t.Context(), builders...))
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for i := range builders {
				if !p.Bool(fmt.Sprintf("flag-%d", i), false) {
					t.Errorf("flag-%d is off", i)
				}
			}
		})
	}
	group.Wait()
}

// TestOpenErrors: wrong settings name the fields, and the Client answers fallbacks.
func TestOpenErrors(t *testing.T) {
	for _, test := range []struct {
		config flagstaff.Config
		want   string
	}{
		{flagstaff.Config{}, "exactly one of URL, File and Source"},
		{flagstaff.Config{URL: "http://x", File: "y"}, "exactly one of URL, File and Source"},
		{flagstaff.Config{URL: "http://x"}, "Config.SecretKey is missing"},
		{flagstaff.Config{URL: "x", SecretKey: "phs_secret", ProjectKey: "phc_x"}, "URL"},
		{flagstaff.Config{Source: source.Static{}, Cache: "y"}, "Config.Cache is for Config.URL"},
		{flagstaff.Config{File: "x", KeepLast: true}, "Config.KeepLast is for Config.URL"},
		{flagstaff.Config{File: "x", RemoteEvaluation: true}, "Config.RemoteEvaluation is for Config.URL"},
		{flagstaff.Config{File: "x", SecretKey: "phs_secret"}, "Config.SecretKey are for Config.URL"},
		{flagstaff.Config{File: filepath.Join(t.TempDir(), "absent.json")}, "absent.json"},
	} {
		test.config.Log = quiet
		client, err := flagstaff.Open(t.Context(), test.config)
		if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "phs_secret") {
			t.Errorf("%+v: error %v, want one with %q", test.config, err, test.want)
		}
		if client == nil || !client.For(nil).Bool("x", true) || client.Snapshot() != nil {
			t.Error("the Client does not answer fallbacks")
		}
		client.Status()
		if err := client.Refresh(t.Context()); err == nil {
			t.Error("Refresh has no error")
		}
		if err := client.Check(); !errors.Is(err, flags.ErrNotReady) {
			t.Errorf("Check: %v", err)
		}
		if err := client.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// TestOpenWaits: Open tries again while a server cannot answer, and not once it refuses
// the keys.
func TestOpenWaits(t *testing.T) {
	var calls atomic.Int32
	var exposures sync.WaitGroup
	exposures.Add(1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/batch/":
			unzipped, err := gzip.NewReader(r.Body)
			if err != nil {
				t.Error(err)
				return
			}
			if b, err := io.ReadAll(unzipped); err != nil || !strings.Contains(string(b), "$feature_flag_called") {
				t.Errorf("events: %s, %v", b, err)
			}
			exposures.Done()
		case r.Header.Get("Authorization") != "Bearer phs_right":
			w.WriteHeader(http.StatusUnauthorized)
		case calls.Add(1) == 1:
			w.WriteHeader(http.StatusBadGateway)
		default:
			io.WriteString(w, document)
		}
	}))
	defer server.Close()
	cache := filepath.Join(t.TempDir(), "flags.cache")
	config := flagstaff.Config{URL: server.URL, ProjectKey: "phc_x", SecretKey: "phs_right", Cache: cache, Log: quiet}
	client, err := flagstaff.Open(t.Context(), config)
	if err != nil || calls.Load() < 2 {
		t.Fatalf("Open: %v after %d requests, want none after two", err, calls.Load())
	}
	if got := client.For(&flags.Request{DistinctID: "u"}).Variant("button", ""); got != "red" {
		t.Errorf("button is %q", got)
	}
	if err := client.Close(context.Background()); err != nil {
		t.Error(err)
	}
	exposures.Wait()

	// The kept definitions do without a server, and Open says so in the Status.
	server.Close()
	ctx, stop := context.WithTimeout(t.Context(), 5*time.Second)
	defer stop()
	client, err = flagstaff.Open(ctx, config)
	if err != nil || client.Status().Origin != "cache" {
		t.Errorf("from the cache: %v, %v", err, client.Status())
	}
	client.Close(ctx)
}

// TestOpenRefused: wrong keys are no reason to wait.
func TestOpenRefused(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
	}))
	defer server.Close()
	client, err := flagstaff.Open(context.Background(), flagstaff.Config{URL: server.URL, SecretKey: "phs_wrong", Log: quiet})
	if !errors.Is(err, source.ErrRefused) || !errors.Is(err, flags.ErrNotReady) || strings.Contains(err.Error(), "phs_wrong") {
		t.Errorf("Open: %v", err)
	}
	client.Close(context.Background())
}

// TestMiddleware: the handler has a Person from the request.
func TestMiddleware(t *testing.T) {
	client, _ := open(t, flagstaff.Config{})
	identify := func(r *http.Request) *flags.Request {
		if id := r.Header.Get("X-User"); id != "" {
			return &flags.Request{DistinctID: id, PersonProperties: map[string]any{"plan": "pro"}}
		}
		return nil
	}
	handler := client.Middleware(identify)(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, flagstaff.From(r.Context()).Bool("new-checkout", false))
	}))
	for id, want := range map[string]string{"ada": "true", "": "false"} {
		r := httptest.NewRequest("GET", "/", nil)
		r.Header.Set("X-User", id)
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		if w.Body.String() != want {
			t.Errorf("user %q: %s, want %s", id, w.Body, want)
		}
	}
}

// TestPersonAllocations: to ask for a flag whose exposure was reported before costs no
// allocation, the Person included.
func TestPersonAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	client, _ := open(t, flagstaff.Config{})
	properties := map[string]any{"plan": "pro"}
	ask := func() {
		p := client.For(&flags.Request{DistinctID: "ada", PersonProperties: properties})
		if !p.Bool("new-checkout", false) || p.Variant("button", "") != "red" {
			t.Fatal("wrong value")
		}
	}
	plan := strings.Clone("Pro")
	perCall := func() {
		p := client.For(&flags.Request{
			DistinctID: "ada", Groups: map[string]string{"company": plan},
			Person: []flags.Property{flags.StringProperty("plan", plan), flags.IntProperty("seats", 42)},
		})
		if !p.Bool("new-checkout", false) || p.Variant("button", "") != "red" {
			t.Fatal("wrong value")
		}
	}
	byHandle := func() {
		if !NewCheckout.Of(client.For(&flags.Request{DistinctID: "ada", PersonProperties: properties})) {
			t.Fatal("wrong value")
		}
	}
	ctx := client.For(&flags.Request{DistinctID: "ada", PersonProperties: properties}).Context(t.Context())
	byContext := func() {
		if !NewCheckout.On(ctx) || Button.For(ctx) != "red" || Button.Of(flagstaff.From(ctx)) != "red" {
			t.Fatal("wrong value")
		}
	}
	unknown := func() {
		if client.For(&flags.Request{DistinctID: "ada", PersonProperties: properties}).Bool("no-such-flag", false) {
			t.Fatal("wrong value")
		}
	}
	for name, ask := range map[string]func(){"a map": ask, "a flag that does not exist": unknown, "a list made for the call": perCall, "a handle": byHandle, "handles in a context": byContext} {
		ask()
		if n := testing.AllocsPerRun(1000, ask); n != 0 {
			t.Errorf("with %s: %v allocations, want none", name, n)
		}
	}
}

// TestUnknownFlag: a key that no flag has is logged once, and counted.
func TestUnknownFlag(t *testing.T) {
	var log bytes.Buffer
	definitions := &flags.Definitions{Flags: []flags.Flag{{ID: 1, Key: "new-checkout", Active: true, EvaluationRuntime: "server"}}}
	c, err := flagstaff.Open(t.Context(), flagstaff.Config{
		Source: source.Static{Definitions: definitions}, Log: slog.New(slog.NewTextHandler(&log, nil)), Filter: runtime.Filter{Kind: runtime.Client},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(context.Background())
	for range 3 {
		p := c.For(&flags.Request{DistinctID: "u"})
		p.Bool("new-chekout", false)
		p.Variant("new-chekout", "")
		_, _ = p.Result("new-chekout")
		p.Bool("new-checkout", false) // which is hidden
	}
	if n := strings.Count(log.String(), "level=WARN"); n != 1 || !strings.Contains(log.String(), `did you mean new-checkout?" key=new-chekout`) {
		t.Errorf("logged %d warnings, want one: %s", n, log.String())
	}
	status := c.Status()
	if got := status.Unknown.Keys; len(got) != 1 || got["new-chekout"] != 9 {
		t.Errorf("Unknown = %v, want 9 times new-chekout", got)
	}
	if text := status.String(); !strings.Contains(text, `no flag "new-chekout", asked for 9 times`) {
		t.Errorf("the status does not say so: %s", text)
	}
	if b, err := json.Marshal(status); err != nil || !strings.Contains(string(b), `"unknown_keys":{"keys":{"new-chekout":9}}`) {
		t.Errorf("JSON %s, %v", b, err)
	}
}

// TestSlowPattern: a pattern whose matches are given up is logged once, and they are counted.
func TestSlowPattern(t *testing.T) {
	var log bytes.Buffer
	definitions := &flags.Definitions{Flags: []flags.Flag{{ID: 1, Key: "slow", Active: true, Filters: flags.Filters{
		Groups: []flags.Condition{{Properties: []flags.Filter{{Key: "name", Operator: "regex", Value: json.RawMessage(`"^(?=(a|aa)+$)"`)}}}},
	}}}}
	c, err := flagstaff.Open(t.Context(), flagstaff.Config{Source: source.Static{Definitions: definitions}, Log: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(context.Background())
	for range 2 {
		if c.For(&flags.Request{PersonProperties: map[string]any{"name": strings.Repeat("a", 60) + "!"}}).Bool("slow", false) {
			t.Error("the flag is on")
		}
	}
	if n := strings.Count(log.String(), "matches of a pattern take too long"); n != 1 || !strings.Contains(log.String(), `pattern="^(?=(a|aa)+$)"`) {
		t.Errorf("logged %d times, want once: %s", n, log.String())
	}
	status := c.Status()
	if text := status.String(); status.PatternTimeouts != 2 || !strings.Contains(text, "2 matches of patterns took too long") {
		t.Errorf("%d matches; the status says %s", status.PatternTimeouts, text)
	}
	if b, err := json.Marshal(status); err != nil || !strings.Contains(string(b), `"pattern_timeouts":2`) {
		t.Errorf("JSON %s, %v", b, err)
	}
}
