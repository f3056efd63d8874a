package capture_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/flags"
)

// A memorySink keeps a copy of what it is given. Its fail may refuse a batch.
type memorySink struct {
	fail func(attempt int, events []capture.Event) error

	mu       sync.Mutex
	events   []capture.Event
	batches  []int       // their sizes
	attempts []time.Time // of all Writes
}

func (s *memorySink) Write(ctx context.Context, events []capture.Event) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.attempts = append(s.attempts, time.Now())
	var err error
	if s.fail != nil {
		err = s.fail(len(s.attempts), events)
	}
	bad := make(map[int]bool)
	for _, e := range unjoin(err) {
		f, ok := errors.AsType[*capture.EventError](e)
		if !ok {
			return err
		}
		bad[f.Index] = true
	}
	s.batches = append(s.batches, len(events))
	for i, e := range events {
		if !bad[i] {
			e.Properties = bytes.Clone(e.Properties) // the client uses its memory again
			s.events = append(s.events, e)
		}
	}
	return err
}

func unjoin(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	if err == nil {
		return nil
	}
	return []error{err}
}

func (s *memorySink) all() []capture.Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.events)
}

func (s *memorySink) sizes() []int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.batches)
}

func (s *memorySink) times() []time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.attempts)
}

func (s *memorySink) names() []string {
	var names []string
	for _, e := range s.all() {
		names = append(names, e.Name)
	}
	return names
}

// errorList is an OnError that keeps what it is told.
type errorList struct {
	mu   sync.Mutex
	list []error
}

func (l *errorList) add(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = append(l.list, err)
}

func (l *errorList) texts() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var texts []string
	for _, err := range l.list {
		texts = append(texts, err.Error())
	}
	return texts
}

func newClient(t testing.TB, c capture.ClientConfig) *capture.Client {
	t.Helper()
	client, err := capture.NewClient(c)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// closeClient closes without hurry.
func closeClient(t testing.TB, c *capture.Client) {
	t.Helper()
	if err := c.Close(context.Background()); err != nil {
		t.Errorf("Close: %v", err)
	}
}

func capturedEvent(t testing.TB, c *capture.Client, name string) {
	t.Helper()
	if err := c.Capture(capture.ClientEvent{Name: name, DistinctID: "u1"}); err != nil {
		t.Fatalf("Capture(%q): %v", name, err)
	}
}

func decodeProperties(t testing.TB, text []byte) map[string]any {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal(text, &m); err != nil {
		t.Fatalf("properties %s: %v", text, err)
	}
	return m
}

// added are the properties that each event gets.
func added(more map[string]any) map[string]any {
	m := map[string]any{"$lib": "flagstaff-go", "$lib_version": capture.ClientVersion(), "$is_server": true, "$geoip_disable": true}
	maps.Copy(m, more)
	return m
}

func TestNewClientRefuses(t *testing.T) {
	sink := &memorySink{}
	for _, tt := range []struct {
		name   string
		config capture.ClientConfig
		want   string
	}{
		{"no destination", capture.ClientConfig{}, "neither Sink nor URL"},
		{"two destinations", capture.ClientConfig{Sink: sink, URL: "http://h"}, "both Sink and URL"},
		{"a relative URL", capture.ClientConfig{URL: "h/secret", APIKey: "k"}, "URL must be an absolute"},
		{"another scheme", capture.ClientConfig{URL: "ftp://h/secret", APIKey: "k"}, "URL must be an absolute"},
		{"a query", capture.ClientConfig{URL: "http://h/?a=secret", APIKey: "k"}, "URL must be an absolute"},
		{"no key", capture.ClientConfig{URL: "http://h"}, "APIKey must be"},
		{"a personal key", capture.ClientConfig{URL: "http://h", APIKey: "phx_secret"}, "APIKey must be"},
		{"a route of a sink", capture.ClientConfig{Sink: sink, Analytics: true}, "Analytics is a route of URL"},
		{"a negative limit", capture.ClientConfig{Sink: sink, MaxQueue: -1}, "negative limit"},
		{"a negative delay", capture.ClientConfig{Sink: sink, MaxDelay: -1}, "negative limit"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, err := capture.NewClient(tt.config)
			if c != nil || err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("NewClient = %v, %v, want an error with %q", c, err, tt.want)
			}
			if strings.Contains(err.Error(), "secret") {
				t.Errorf("the error shows a secret: %v", err)
			}
		})
	}
}

func TestCaptureDelivers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink := &memorySink{}
		c := newClient(t, capture.ClientConfig{Sink: sink, Project: 7})
		start := time.Now()
		id := uuid.MustParse("0190f5a0-7c1e-7b7e-9d3a-0242ac120002")
		properties := map[string]any{"n": 1, "$lib": "mine"}
		at := time.Date(2026, 1, 2, 3, 4, 5, 6789, time.FixedZone("", 3600))
		for _, e := range []capture.ClientEvent{
			{Name: "first", DistinctID: "u1", Properties: properties, Groups: map[string]string{"company": "acme"}},
			{Name: "second", DistinctID: "u2", Time: at, UUID: id},
			{Name: "nul\x00\xff", DistinctID: strings.Repeat("é", 300)},
		} {
			if err := c.Capture(e); err != nil {
				t.Fatal(err)
			}
		}
		properties["n"] = 2 // too late
		time.Sleep(time.Second)
		synctest.Wait()
		got := sink.all()
		if len(got) != 3 {
			t.Fatalf("the sink got %d events, want 3", len(got))
		}
		for i := range got {
			if v := got[i].UUID.Version(); v != 7 {
				t.Errorf("event %d has a UUID of version %d, want 7", i, v)
			}
		}
		if sec, nsec := got[0].UUID.Time().UnixTime(); !time.Unix(sec, nsec).Equal(start.Truncate(time.Millisecond)) {
			t.Errorf("the UUID's time is %v, want %v", time.Unix(sec, nsec).UTC(), start)
		}
		type event struct {
			Project        int64
			Name, ID       string
			Time, Received time.Time
			Properties     map[string]any
		}
		var events []event
		for _, e := range got {
			events = append(events, event{e.Project, e.Name, e.DistinctID, e.Time, e.Received, decodeProperties(t, e.Properties)})
		}
		arrived := start.Add(time.Second).UTC()
		want := []event{
			{7, "first", "u1", start.UTC(), arrived, added(map[string]any{"n": 1.0, "$lib": "mine", "$groups": map[string]any{"company": "acme"}})},
			{7, "second", "u2", time.Date(2026, 1, 2, 2, 4, 5, 6000, time.UTC), arrived, added(nil)},
			{7, "nul\uFFFD\uFFFD", strings.Repeat("é", 200), start.UTC(), arrived, added(nil)},
		}
		if diff := cmp.Diff(want, events); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
		if got[1].UUID != id {
			t.Errorf("UUID = %v, want %v", got[1].UUID, id)
		}
		closeClient(t, c)
	})
}

func TestCaptureRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink := &memorySink{}
		var errs errorList
		c := newClient(t, capture.ClientConfig{Sink: sink, OnError: errs.add})
		for _, tt := range []struct {
			name, field string
			err         error
		}{
			{"no name", "Name", c.Capture(capture.ClientEvent{DistinctID: "u"})},
			{"no distinct id", "DistinctID", c.Capture(capture.ClientEvent{Name: "e"})},
			{"blank distinct id", "DistinctID", c.Capture(capture.ClientEvent{Name: "e", DistinctID: " \t"})},
			{"not JSON", "Properties", c.Capture(capture.ClientEvent{Name: "e", DistinctID: "u", Properties: map[string]any{"n": math.NaN()}})},
			{"JSON, no name", "Name", c.CaptureJSON("", "u", nil)},
			{"JSON, no object", "Properties", c.CaptureJSON("e", "u", json.RawMessage(` [1] `))},
			{"JSON, blank", "Properties", c.CaptureJSON("e", "u", json.RawMessage(`  `))},
			{"JSON, brace", "Properties", c.CaptureJSON("e", "u", json.RawMessage(`}`))},
		} {
			f, ok := errors.AsType[*capture.FieldError](tt.err)
			if !ok || f.Field != tt.field || f.Allowed == "" {
				t.Errorf("%s: error %v, want a *FieldError for %s", tt.name, tt.err, tt.field)
			}
		}
		// These are found out later.
		for _, text := range []string{`{"a":}`, `{"a":1}}`, `{"a":1}{"b":2}`, `{`} {
			err := c.CaptureJSON("e", "u", json.RawMessage(text))
			if text == `{` {
				if err == nil {
					t.Errorf("CaptureJSON(%s) = nil", text)
				}
			} else if err != nil {
				t.Errorf("CaptureJSON(%s) = %v", text, err)
			}
		}
		c.Exposed(capture.Exposure{Flag: "f"})
		c.Exposed(capture.Exposure{DistinctID: "u"})
		capturedEvent(t, c, "good")
		if err := c.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"good"}, sink.names()); diff != "" {
			t.Errorf("delivered (-want +got):\n%s", diff)
		}
		if n := len(errs.texts()); n != 5 {
			t.Errorf("OnError was told %d times, want 5: %q", n, errs.texts())
		}
		if diff := cmp.Diff(capture.ClientStats{Delivered: 1, DroppedInvalid: 14}, c.Stats()); diff != "" {
			t.Errorf("Stats (-want +got):\n%s", diff)
		}
		closeClient(t, c)
	})
}

func TestCaptureJSON(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink := &memorySink{}
		c := newClient(t, capture.ClientConfig{Sink: sink, GeoIP: true})
		for _, text := range []string{
			"", `{}`, " { }\n", `{"a":1}`, `{ "a" : {"$lib":1} }`, `{"\u0024lib":"mine","$is_server":false,"":0}`, `{"$lib":1,"$lib_version":2,"$is_server":3}`,
		} {
			if err := c.CaptureJSON("e", "u", json.RawMessage(text)); err != nil {
				t.Errorf("CaptureJSON(%q) = %v", text, err)
			}
		}
		closeClient(t, c)
		var got []string
		for _, e := range sink.all() {
			got = append(got, string(e.Properties))
		}
		version := `"$lib_version":"` + capture.ClientVersion() + `"`
		rest := `"$lib":"flagstaff-go",` + version + `,"$is_server":true}`
		want := []string{
			`{` + rest, `{` + rest, `{` + rest,
			`{"a":1,` + rest,
			`{ "a" : {"$lib":1} ,` + rest,
			`{"\u0024lib":"mine","$is_server":false,"":0,` + version + `}`,
			`{"$lib":1,"$lib_version":2,"$is_server":3}`,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("properties (-want +got):\n%s", diff)
		}
	})
}

func TestExposed(t *testing.T) {
	for _, tt := range []struct {
		name string
		e    capture.Exposure
		want map[string]any
	}{
		{"enabled", capture.Exposure{Flag: "f", Enabled: true}, map[string]any{
			"$feature_flag": "f", "$feature_flag_response": true, "$feature/f": true,
		}},
		{"disabled", capture.Exposure{Flag: "f"}, map[string]any{
			"$feature_flag": "f", "$feature_flag_response": false, "$feature/f": false,
		}},
		{"a variant", capture.Exposure{Flag: "f", Variant: "blue"}, map[string]any{
			"$feature_flag": "f", "$feature_flag_response": "blue", "$feature/f": "blue",
		}},
		{"what Evaluator.Variant says for true", capture.Exposure{Flag: "f", Variant: "true"}, map[string]any{
			"$feature_flag": "f", "$feature_flag_response": true, "$feature/f": true,
		}},
		{"what Evaluator.Variant says for false", capture.Exposure{Flag: "f", Variant: "false", Enabled: true}, map[string]any{
			"$feature_flag": "f", "$feature_flag_response": false, "$feature/f": false,
		}},
		{"no experiment", capture.Exposure{Flag: "f", Enabled: true, NoExperiment: true}, map[string]any{
			"$feature_flag": "f", "$feature_flag_response": true, "$feature/f": true,
		}},
		{"the answer of a server", capture.Exposure{Flag: "f", Enabled: true, Answered: true}, map[string]any{
			"$feature_flag": "f", "$feature_flag_response": true, "$feature/f": true,
		}},
		{"minimal", capture.Exposure{Flag: "f", Enabled: true, NoExperiment: true, Minimal: true}, map[string]any{
			"$feature_flag": "f", "$feature_flag_response": true,
		}},
		{
			"all that is known",
			capture.Exposure{
				Flag: "f\"ü\\", Variant: "b\n\"", ID: 5, Version: 3, Reason: "Matched condition set 1",
				Groups: map[string]string{"b": "2\"", "a": "1"},
			},
			map[string]any{
				"$feature_flag": "f\"ü\\", "$feature_flag_response": "b\n\"", "$feature/f\"ü\\": "b\n\"",
				"$feature_flag_id": 5.0, "$feature_flag_version": 3.0, "$feature_flag_reason": "Matched condition set 1",
				"$groups": map[string]any{"a": "1", "b": "2\""},
			},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sink := &memorySink{}
				c := newClient(t, capture.ClientConfig{Sink: sink})
				tt.e.DistinctID = "u1"
				start := time.Now().UTC()
				c.Exposed(tt.e)
				time.Sleep(500 * time.Millisecond)
				c.Exposed(tt.e)
				closeClient(t, c)
				got := sink.all()
				if len(got) != 1 {
					t.Fatalf("delivered %d events, want 1", len(got))
				}
				if e := got[0]; e.Name != "$feature_flag_called" || e.DistinctID != "u1" || !e.Time.Equal(start) || e.UUID.Version() != 7 {
					t.Errorf("event = %+v", e)
				}
				want := added(tt.want)
				want["locally_evaluated"] = !tt.e.Answered
				want["$feature_flag_has_experiment"] = !tt.e.NoExperiment
				if diff := cmp.Diff(want, decodeProperties(t, got[0].Properties)); diff != "" {
					t.Errorf("properties (-want +got):\n%s", diff)
				}
				if s := c.Stats(); s.Repeated != 1 {
					t.Errorf("Stats().Repeated = %d, want 1", s.Repeated)
				}
			})
		})
	}
}

// TestNoClient: a nil or zero Client is like a closed one, and counts nothing.
func TestNoClient(t *testing.T) {
	for name, c := range map[string]*capture.Client{"nil": nil, "zero": new(capture.Client)} {
		for _, err := range []error{
			c.Capture(capture.ClientEvent{Name: "e", DistinctID: "u"}), c.CaptureJSON("e", "u", nil),
		} {
			if !errors.Is(err, capture.ErrClientClosed) {
				t.Errorf("%s: %v, want ErrClientClosed", name, err)
			}
		}
		c.Exposed(capture.Exposure{Flag: "f", DistinctID: "u"})
		for _, err := range []error{c.Flush(t.Context()), c.Close(t.Context()), c.Close(t.Context())} {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if diff := cmp.Diff(capture.ClientStats{}, c.Stats()); diff != "" {
			t.Errorf("%s: Stats (-want +got):\n%s", name, diff)
		}
	}
}

// TestSeenKey: exposures that resemble each other have different hashes.
func TestSeenKey(t *testing.T) {
	key := capture.SeenKey()
	names := []string{"", "a", "b", "ab", "ba", "aaaaaaa", "aaaaaaaa", "aaaaaaaaa", "aaaaaaaab", "aaaaaaaaaaaaaaaa", "\x00", "\x00\x00", "\x00\x00\x00\x00\x00\x00\x00\x00"}
	for i := range 100 {
		names = append(names, fmt.Sprintf("a-flag-%d", i))
	}
	seen := make(map[uint64][3]string)
	for _, id := range names[:15] {
		for _, flag := range names {
			for _, variant := range names {
				e := [3]string{id, flag, variant}
				h := key(id, flag, variant, true)
				if other, again := seen[h]; again {
					t.Fatalf("%q and %q have one hash", e, other)
				}
				seen[h] = e
			}
		}
	}
	if key("u", "f", "", true) == key("u", "f", "", false) {
		t.Error("both values of a flag have one hash")
	}
}

// detailOf returns what the flag f comes to.
func detailOf(t *testing.T, flag string) flags.Detail {
	t.Helper()
	d, err := flags.Decode(strings.NewReader(`{"flags":[` + flag + `]}`))
	if err != nil {
		t.Fatal(err)
	}
	s, err := flags.Compile(d, flags.CompileOptions{})
	if err != nil {
		t.Fatal(err)
	}
	detail, ok := s.Detail("f", &flags.Request{DistinctID: "u1"})
	if !ok {
		t.Fatal("nothing is known of the flag")
	}
	return detail
}

// TestShown: the exposure is the same, and what the caller changes afterwards does not
// reach it. What has no value is not shown.
func TestShown(t *testing.T) {
	sink := &memorySink{}
	c := newClient(t, capture.ClientConfig{Sink: sink})
	const rules = `"filters":{"groups":[{}],"multivariate":{"variants":[{"key":"blue","rollout_percentage":100}]}}`
	detail := detailOf(t, `{"id":5,"version":3,"key":"f","active":true,"has_experiment":true,`+rules+`}`)
	groups := map[string]string{"company": "acme"}
	request := &flags.Request{DistinctID: "u1", Groups: groups, Person: []flags.Property{flags.StringProperty("plan", "pro")}}
	c.Shown(detail, request)
	groups["company"] = "other"
	c.Shown(detail, request)
	c.Shown(detail, nil)
	c.Shown(detailOf(t, `{"key":"f","active":false,`+rules+`}`), request)
	c.Shown(detailOf(t, `{"key":"f","active":true,"filters":{"groups":7}}`), request)
	closeClient(t, c)
	c.Shown(detail, request)
	(*capture.Client)(nil).Shown(detail, request)
	got := sink.all()
	if len(got) != 1 || got[0].DistinctID != "u1" || c.Stats().Repeated != 2 {
		t.Fatalf("events: %+v, repeated: %d; want one of u1, and 2", got, c.Stats().Repeated)
	}
	want := added(map[string]any{
		"$feature_flag": "f", "$feature_flag_response": "blue", "$feature/f": "blue", "$feature_flag_id": 5.0, "$feature_flag_version": 3.0,
		"$feature_flag_reason": "Matched condition set 1", "$groups": map[string]any{"company": "acme"},
		"locally_evaluated": true, "$feature_flag_has_experiment": true,
	})
	if diff := cmp.Diff(want, decodeProperties(t, got[0].Properties)); diff != "" {
		t.Errorf("properties (-want +got):\n%s", diff)
	}
}

func TestExposedTellsValuesApart(t *testing.T) {
	exposures := []capture.Exposure{
		{DistinctID: "a", Flag: "b"},
		{DistinctID: "b", Flag: "a"},
		{DistinctID: "a", Flag: "a"},
		{DistinctID: "a", Flag: "a", Enabled: true},
		{DistinctID: "a", Flag: "a", Variant: "a"},
		{DistinctID: "a", Flag: "a", Variant: "b"},
		{DistinctID: "ab", Flag: "c"},
		{DistinctID: "a", Flag: "bc"},
	}
	sink := &memorySink{}
	c := newClient(t, capture.ClientConfig{Sink: sink})
	for range 3 {
		for _, e := range exposures {
			e.ID++ // is not part of what is remembered
			c.Exposed(e)
		}
	}
	closeClient(t, c)
	if got, want := len(sink.all()), len(exposures); got != want {
		t.Errorf("%d exposures delivered, want %d", got, want)
	}
	if got, want := c.Stats().Repeated, uint64(2*len(exposures)); got != want {
		t.Errorf("Stats().Repeated = %d, want %d", got, want)
	}
}

func TestExposedRemembersInVain(t *testing.T) {
	t.Run("nothing when told so", func(t *testing.T) {
		c := newClient(t, capture.ClientConfig{Sink: &memorySink{}, MaxExposures: -1})
		for range 3 {
			c.Exposed(capture.Exposure{DistinctID: "u", Flag: "f"})
		}
		closeClient(t, c)
		if diff := cmp.Diff(capture.ClientStats{Delivered: 3}, c.Stats()); diff != "" {
			t.Errorf("Stats (-want +got):\n%s", diff)
		}
	})
	t.Run("the latest of too many", func(t *testing.T) {
		c := newClient(t, capture.ClientConfig{Sink: &memorySink{}, MaxExposures: 7})
		expose := func(id int) { c.Exposed(capture.Exposure{DistinctID: fmt.Sprint(id), Flag: "f"}) }
		for id := range 20 {
			expose(id)
		}
		for id := 13; id < 20; id++ {
			expose(id)
		}
		if got := c.Stats().Repeated; got != 7 {
			t.Errorf("the last 7 were found %d times", got)
		}
		expose(0)
		if got := c.Stats().Repeated; got != 7 {
			t.Error("the first one was still known")
		}
		closeClient(t, c)
	})
}

func TestClientBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink := &memorySink{}
		start := time.Now()
		c := newClient(t, capture.ClientConfig{Sink: sink, MaxBatch: 3, MaxDelay: time.Minute})
		for i := range 7 {
			capturedEvent(t, c, fmt.Sprint(i))
		}
		synctest.Wait()
		if diff := cmp.Diff([]int{3, 3}, sink.sizes()); diff != "" {
			t.Errorf("batches at once (-want +got):\n%s", diff)
		}
		if got := c.Stats(); got.Queued != 1 || got.Delivered != 6 {
			t.Errorf("Stats = %+v", got)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if diff := cmp.Diff([]int{3, 3, 1}, sink.sizes()); diff != "" {
			t.Errorf("batches after the delay (-want +got):\n%s", diff)
		}
		if got := sink.times()[2].Sub(start); got != time.Minute {
			t.Errorf("the last batch came after %v, want 1m", got)
		}
		capturedEvent(t, c, "7")
		time.Sleep(time.Second)
		if err := c.Flush(t.Context()); err != nil {
			t.Error(err)
		}
		if got := time.Since(start); got != time.Minute+time.Second {
			t.Errorf("Flush returned after %v, want 1m1s", got)
		}
		want := []string{"0", "1", "2", "3", "4", "5", "6", "7"}
		if diff := cmp.Diff(want, sink.names()); diff != "" {
			t.Errorf("order (-want +got):\n%s", diff)
		}
		closeClient(t, c)
	})
}

func TestClientSplitsByBytes(t *testing.T) {
	sink := &memorySink{}
	c := newClient(t, capture.ClientConfig{Sink: sink})
	text := json.RawMessage(`{"a":"` + strings.Repeat("x", 200_000) + `"}`)
	for range 5 {
		if err := c.CaptureJSON("e", "u", text); err != nil {
			t.Fatal(err)
		}
	}
	closeClient(t, c)
	for _, n := range sink.sizes() {
		if n > 2 {
			t.Errorf("a batch has %d events of 200 kB, want at most 2", n)
		}
	}
	if n := len(sink.all()); n != 5 {
		t.Errorf("%d events delivered, want 5", n)
	}
}

func TestClientRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		down := errors.New("down")
		sink := &memorySink{fail: func(attempt int, _ []capture.Event) error {
			if attempt < 9 {
				return down
			}
			return nil
		}}
		c := newClient(t, capture.ClientConfig{Sink: sink, MaxDelay: time.Millisecond})
		capturedEvent(t, c, "a")
		time.Sleep(time.Millisecond)
		synctest.Wait()
		capturedEvent(t, c, "b") // has to wait for its turn
		if err := c.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		delay := 500 * time.Millisecond
		for i := range 8 {
			got := sink.times()[i+1].Sub(sink.times()[i])
			if got < delay/2 || got > delay {
				t.Errorf("retry %d came after %v, want %v to %v", i+1, got, delay/2, delay)
			}
			delay = min(2*delay, 30*time.Second)
		}
		if diff := cmp.Diff([]string{"a", "b"}, sink.names()); diff != "" {
			t.Errorf("delivered (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(capture.ClientStats{Delivered: 2, Retries: 8}, c.Stats()); diff != "" {
			t.Errorf("Stats (-want +got):\n%s", diff)
		}
		closeClient(t, c)
	})
}

func TestClientGivesUp(t *testing.T) {
	for _, tt := range []struct {
		name     string
		retries  int
		fail     func(int, []capture.Event) error
		attempts int
		want     capture.ClientStats
		err      string
	}{
		{
			"after the retries", 2, func(int, []capture.Event) error { return errors.New("down") }, 3,
			capture.ClientStats{DroppedAbandoned: 3, Retries: 2},
			"lost 3 events: down",
		},
		{
			"at once without retries", -1, func(int, []capture.Event) error { return errors.New("down") }, 1,
			capture.ClientStats{DroppedAbandoned: 3},
			"lost 3 events: down",
		},
		{
			"when the sink panics", -1, func(int, []capture.Event) error { panic("secret") }, 1,
			capture.ClientStats{DroppedAbandoned: 3},
			"lost 3 events: capture: sink panicked: string",
		},
		{
			"on single events", 0, func(int, []capture.Event) error {
				return errors.Join(&capture.EventError{Index: 0, Err: errors.New("bad")}, errors.Join(&capture.EventError{Index: 2, Err: errors.New("worse")}))
			}, 1,
			capture.ClientStats{DroppedRefused: 2, Delivered: 1, Refusals: map[string]uint64{"sink": 2}},
			"lost 2 events: \"0\": bad\n\"2\": worse",
		},
		{
			"not on a mixture", 1, func(attempt int, _ []capture.Event) error {
				if attempt > 1 {
					return nil
				}
				return errors.Join(&capture.EventError{Index: 0, Err: errors.New("bad")}, errors.New("down"))
			}, 2,
			capture.ClientStats{Delivered: 3, Retries: 1},
			"",
		},
		{
			"when errors make no sense", -1, func(int, []capture.Event) error { return &capture.EventError{Index: 3, Err: errors.New("bad")} }, 1,
			capture.ClientStats{DroppedAbandoned: 3},
			"lost 3 events: event 3: bad",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				attempts := 0
				sink := sinkFunc(func(_ context.Context, events []capture.Event) error {
					attempts++
					return tt.fail(attempts, events)
				})
				var errs errorList
				c := newClient(t, capture.ClientConfig{Sink: sink, MaxRetries: tt.retries, OnError: errs.add})
				for i := range 3 {
					capturedEvent(t, c, fmt.Sprint(i))
				}
				err := c.Close(context.Background())
				lost, isLost := errors.AsType[*capture.LostError](err)
				if want := int(tt.want.DroppedAbandoned + tt.want.DroppedRefused); isLost != (want > 0) || isLost && lost.Count != want {
					t.Errorf("Close = %v, want %d lost", err, want)
				}
				if attempts != tt.attempts {
					t.Errorf("%d attempts, want %d", attempts, tt.attempts)
				}
				if diff := cmp.Diff(tt.want, c.Stats()); diff != "" {
					t.Errorf("Stats (-want +got):\n%s", diff)
				}
				if got := strings.Join(errs.texts(), ";"); strings.TrimPrefix(got, "capture: ") != tt.err {
					t.Errorf("OnError was told %q, want %q", got, tt.err)
				}
			})
		})
	}
}

func TestClientQueueIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		sink := &memorySink{}
		blocking := sinkFunc(func(ctx context.Context, events []capture.Event) error {
			<-release
			return sink.Write(ctx, events)
		})
		var errs errorList
		c := newClient(t, capture.ClientConfig{Sink: blocking, MaxQueue: 10, MaxBatch: 4, OnError: errs.add})
		for i := range 10 {
			capturedEvent(t, c, fmt.Sprint(i))
			synctest.Wait() // what is being sent counts as well
		}
		if err := c.Capture(capture.ClientEvent{Name: "e", DistinctID: "u"}); !errors.Is(err, capture.ErrQueueFull) {
			t.Errorf("Capture into a full queue = %v, want ErrQueueFull", err)
		}
		exposure := capture.Exposure{DistinctID: "u", Flag: "f"}
		c.Exposed(exposure)
		if diff := cmp.Diff(capture.ClientStats{Queued: 10, DroppedFull: 2}, c.Stats()); diff != "" {
			t.Errorf("Stats (-want +got):\n%s", diff)
		}
		close(release)
		if err := c.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		c.Exposed(exposure) // was not remembered when it was dropped
		closeClient(t, c)
		if diff := cmp.Diff(capture.ClientStats{Delivered: 11, DroppedFull: 2}, c.Stats()); diff != "" {
			t.Errorf("Stats (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]string{"capture: lost 2 events: " + capture.ErrQueueFull.Error()}, errs.texts()); diff != "" {
			t.Errorf("OnError (-want +got):\n%s", diff)
		}
	})
}

func TestClientBytesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClient(t, capture.ClientConfig{Sink: &memorySink{}, MaxQueueBytes: 100})
		text := json.RawMessage(`{"a":"` + strings.Repeat("x", 40-8) + `"}`)
		for i, want := range []error{nil, nil, capture.ErrQueueFull} {
			if err := c.CaptureJSON("e", "u", text); !errors.Is(err, want) {
				t.Errorf("event %d: %v, want %v", i, err, want)
			}
		}
		if err := c.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := c.CaptureJSON("e", "u", text); err != nil {
			t.Errorf("after Flush: %v", err)
		}
		closeClient(t, c)
	})
}

func TestClientClose(t *testing.T) {
	t.Run("ends at the deadline", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			sink := &memorySink{fail: func(attempt int, _ []capture.Event) error {
				if attempt == 1 {
					return nil
				}
				return errors.New("down")
			}}
			c := newClient(t, capture.ClientConfig{Sink: sink, MaxBatch: 2, MaxRetries: 1000})
			for i := range 7 {
				capturedEvent(t, c, fmt.Sprint(i))
			}
			start := time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			err := c.Close(ctx)
			if lost, ok := errors.AsType[*capture.LostError](err); !ok || lost.Count != 5 || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("Close = %v, want 5 lost at the deadline", err)
			}
			if got := time.Since(start); got != 5*time.Second {
				t.Errorf("Close took %v, want 5s", got)
			}
			if again := c.Close(context.Background()); again == nil {
				t.Error("Close forgot what was lost")
			}
			if s := c.Stats(); s.DroppedAbandoned != 5 || s.Queued != 0 {
				t.Errorf("Stats = %+v", s)
			}
		})
	})
	t.Run("interrupts a Write", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := newClient(t, capture.ClientConfig{Sink: sinkFunc(func(ctx context.Context, _ []capture.Event) error {
				<-ctx.Done()
				return ctx.Err()
			})})
			capturedEvent(t, c, "a")
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if err := c.Close(ctx); err == nil {
				t.Error("Close = nil")
			}
		})
	})
	t.Run("takes nothing more", func(t *testing.T) {
		c := newClient(t, capture.ClientConfig{Sink: &memorySink{}})
		closeClient(t, c)
		closeClient(t, c)
		if err := c.Capture(capture.ClientEvent{Name: "e", DistinctID: "u"}); !errors.Is(err, capture.ErrClientClosed) {
			t.Errorf("Capture = %v, want ErrClientClosed", err)
		}
		c.Exposed(capture.Exposure{DistinctID: "u", Flag: "f"})
		if err := c.Flush(t.Context()); err != nil {
			t.Errorf("Flush = %v", err)
		}
	})
}

func TestClientFlushEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		c := newClient(t, capture.ClientConfig{Sink: sinkFunc(func(context.Context, []capture.Event) error {
			<-release
			return nil
		})})
		capturedEvent(t, c, "a")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := c.Flush(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Flush = %v, want DeadlineExceeded", err)
		}
		close(release)
		closeClient(t, c)
	})
}

// TestClientConcurrently has many goroutines report the same exposures and
// events of their own, while others flush. Nothing may get lost, come twice, or
// come out of order.
func TestClientConcurrently(t *testing.T) {
	const producers, persons, events = 8, 500, 400
	sink := &memorySink{}
	c := newClient(t, capture.ClientConfig{Sink: sink, MaxDelay: time.Millisecond})
	var wg sync.WaitGroup
	for p := range producers {
		wg.Go(func() {
			id := fmt.Sprint("producer-", p)
			for i := range max(persons, events) {
				if i < events {
					if err := c.CaptureJSON("e", id, json.RawMessage(fmt.Sprintf(`{"n":%d}`, i))); err != nil {
						t.Error(err)
					}
				}
				if i < persons {
					c.Exposed(capture.Exposure{DistinctID: fmt.Sprint(i), Flag: "f", Enabled: true})
				}
				if i%100 == p {
					if err := c.Flush(t.Context()); err != nil {
						t.Error(err)
					}
					_ = c.Stats()
				}
			}
		})
	}
	wg.Wait()
	closeClient(t, c)

	exposed := make(map[string]int)
	next := make(map[string]float64)
	ids := make(map[uuid.UUID]bool)
	for _, e := range sink.all() {
		if ids[e.UUID] {
			t.Fatalf("UUID %v comes twice", e.UUID)
		}
		ids[e.UUID] = true
		if e.Name == "$feature_flag_called" {
			exposed[e.DistinctID]++
			continue
		}
		n := decodeProperties(t, e.Properties)["n"].(float64)
		if n != next[e.DistinctID] {
			t.Fatalf("event %v of %s comes when %v is due", n, e.DistinctID, next[e.DistinctID])
		}
		next[e.DistinctID]++
	}
	for i := range persons {
		if n := exposed[fmt.Sprint(i)]; n != 1 {
			t.Errorf("the exposure of person %d was reported %d times, want 1", i, n)
		}
	}
	for p := range producers {
		if n := next[fmt.Sprint("producer-", p)]; n != events {
			t.Errorf("%v events of producer %d, want %d", n, p, events)
		}
	}
	want := capture.ClientStats{Delivered: producers*events + persons, Repeated: (producers - 1) * persons}
	if diff := cmp.Diff(want, c.Stats()); diff != "" {
		t.Errorf("Stats (-want +got):\n%s", diff)
	}
}

// TestClientClosesUnderLoad checks that each event is either refused, or
// delivered before Close returns.
func TestClientClosesUnderLoad(t *testing.T) {
	for range 50 {
		sink := &memorySink{}
		c := newClient(t, capture.ClientConfig{Sink: sink, MaxQueue: 64, MaxBatch: 8})
		var wg sync.WaitGroup
		var mu sync.Mutex
		taken := 0
		started := make(chan struct{}, 4)
		for range 4 {
			wg.Go(func() {
				for n := 0; ; n++ {
					if n == 10 {
						started <- struct{}{}
					}
					err := c.CaptureJSON("e", "u", nil)
					switch {
					case err == nil:
						mu.Lock()
						taken++
						mu.Unlock()
					case errors.Is(err, capture.ErrClientClosed):
						return
					default:
						runtime.Gosched() // the queue is full
					}
				}
			})
		}
		for range 4 {
			<-started
		}
		closeClient(t, c)
		wg.Wait()
		if got := len(sink.all()); got != taken {
			t.Fatalf("%d events delivered, %d taken", got, taken)
		}
	}
}

func TestClientDoesNotAllocate(t *testing.T) {
	if clientRace {
		t.Skip("the race detector allocates")
	}
	// Nothing is sent meanwhile: that allocates, in the background.
	c := newClient(t, capture.ClientConfig{Sink: discard, MaxBatch: 10_000, MaxDelay: time.Hour})
	defer closeClient(t, c)
	ids := make([]string, 2000)
	for i := range ids {
		ids[i] = fmt.Sprint("user-", i)
	}
	properties := json.RawMessage(`{"n":1}`)
	flag := detailOf(t, `{"key":"f","active":true,"filters":{"groups":[{}]}}`)
	n := 0
	for _, tt := range []struct {
		name string
		f    func()
	}{
		{"Exposed, repeated", func() { c.Exposed(capture.Exposure{DistinctID: "u", Flag: "f", Variant: "a"}) }},
		{"Shown, repeated", func() {
			r := flags.Request{DistinctID: ids[0][:4], Person: []flags.Property{flags.StringProperty("plan", ids[0])}, Groups: map[string]string{"company": ids[0]}}
			c.Shown(flag, &r)
		}},
		{"Exposed, new", func() {
			c.Exposed(capture.Exposure{DistinctID: ids[n], Flag: "f", Variant: "a"})
			n++
		}},
		{"CaptureJSON", func() {
			if err := c.CaptureJSON("e", "u", properties); err != nil {
				t.Error(err)
			}
		}},
	} {
		tt.f()
		if n := testing.AllocsPerRun(1000, tt.f); n != 0 {
			t.Errorf("%s allocates %v times, want 0", tt.name, n)
		}
	}
}

func TestFlagProperties(t *testing.T) {
	var m map[string]any
	m = capture.FlagProperties(m, "a", "", true)
	m = capture.FlagProperties(m, "b", "", false)
	m = capture.FlagProperties(m, "c", "blue", true)
	m = capture.FlagProperties(m, "d", "false", true)
	want := map[string]any{"$feature/a": true, "$feature/b": false, "$feature/c": "blue", "$feature/d": false}
	if diff := cmp.Diff(want, m); diff != "" {
		t.Errorf("FlagProperties (-want +got):\n%s", diff)
	}
}

func TestClientErrors(t *testing.T) {
	inner := errors.New("inner")
	for _, tt := range []struct {
		err  error
		want string
	}{
		{&capture.FieldError{Field: "Name", Value: `""`, Allowed: "the event's name"}, `capture: Name "": must be the event's name`},
		{&capture.FieldError{Field: "Properties", Allowed: "a JSON object", Err: inner}, `capture: Properties: must be a JSON object: inner`},
		{&capture.LostError{Count: 1, Err: inner}, `capture: lost 1 event: inner`},
		{&capture.LostError{Count: 2, Err: inner}, `capture: lost 2 events: inner`},
		{&capture.ResponseError{Status: 500}, `the server answered 500`},
		{&capture.ResponseError{Status: 401, Text: "no"}, `the server answered 401 "no" (check APIKey)`},
	} {
		if got := tt.err.Error(); got != tt.want {
			t.Errorf("Error() = %q, want %q", got, tt.want)
		}
		if strings.Contains(tt.want, "inner") && !errors.Is(tt.err, inner) {
			t.Errorf("%v does not wrap what is inside", tt.err)
		}
	}
}

type panicking struct{}

func (panicking) MarshalJSON() ([]byte, error) { panic("secret") }

// TestRuling76MarshalJSON: a property whose encoding panics makes its event an invalid
// one.
func TestRuling76MarshalJSON(t *testing.T) {
	c := newClient(t, capture.ClientConfig{Sink: new(memorySink)})
	err := c.Capture(capture.ClientEvent{Name: "e", DistinctID: "u", Properties: map[string]any{"a": []any{panicking{}}}})
	f, ok := errors.AsType[*capture.FieldError](err)
	if !ok || f.Field != "Properties" || strings.Contains(err.Error(), "secret") {
		t.Errorf("Capture: %v, want an error about Properties", err)
	}
	if got := c.Stats().DroppedInvalid; got != 1 {
		t.Errorf("%d invalid events, want 1", got)
	}
}

// TestRuling76ZeroValues: what was not made by its constructor is closed.
func TestRuling76ZeroValues(t *testing.T) {
	event := capture.ClientEvent{Name: "e", DistinctID: "u"}
	for name, c := range map[string]*capture.Client{"nil": nil, "zero": new(capture.Client)} {
		if err := c.Capture(event); !errors.Is(err, capture.ErrClientClosed) {
			t.Errorf("%s: Capture: %v, want ErrClientClosed", name, err)
		}
		if err := errors.Join(c.Flush(t.Context()), c.Close(t.Context())); err != nil {
			t.Errorf("%s: Flush and Close: %v", name, err)
		}
	}
	for name, c := range map[string]*capture.Collector{"nil": nil, "zero": new(capture.Collector)} {
		if err := c.Accept(t.Context(), capture.Event{}); !errors.Is(err, capture.ErrClosed) {
			t.Errorf("%s: Accept: %v, want ErrClosed", name, err)
		}
		if err := c.Run(t.Context()); !errors.Is(err, capture.ErrClosed) {
			t.Errorf("%s: Run: %v, want ErrClosed", name, err)
		}
	}
}
