package capture_test

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/capture"
)

// An analyticsServer answers as scripted, and keeps what it is sent.
type analyticsServer struct {
	// answer writes the answer to the request number n, counted from 1.
	answer func(n int, ids []string, w http.ResponseWriter)

	mu       sync.Mutex
	requests []*http.Request
	bodies   []string
	times    []time.Time
}

func (s *analyticsServer) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	zip, err := gzip.NewReader(r.Body)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(zip)
	if err != nil {
		return nil, err
	}
	s.requests, s.bodies, s.times = append(s.requests, r), append(s.bodies, string(body)), append(s.times, time.Now())
	var sent struct{ Batch []struct{ UUID string } }
	if err := json.Unmarshal(body, &sent); err != nil {
		return nil, err
	}
	var ids []string
	for _, e := range sent.Batch {
		ids = append(ids, e.UUID)
	}
	w := httptest.NewRecorder()
	if s.answer == nil {
		io.WriteString(w, `{"results":{}}`)
	} else {
		s.answer(len(s.bodies), ids, w)
	}
	return w.Result(), nil
}

// results writes a result for each event, as `result` or `result details`.
func writeResults(w io.Writer, ids []string, results ...string) {
	all := make(map[string]any)
	for i, id := range ids {
		result, details, _ := strings.Cut(results[i], " ")
		all[id] = map[string]string{"result": result, "details": details}
	}
	b, err := json.Marshal(map[string]any{"results": all})
	if err != nil {
		panic(err)
	}
	_, _ = w.Write(b)
}

const analyticsKey = "phc_analytics"

func analyticsClient(t *testing.T, s *analyticsServer, errs *errorList) *capture.Client {
	t.Helper()
	return newClient(t, capture.ClientConfig{
		URL: "http://flagstaff.test/ingest/", APIKey: analyticsKey, Analytics: true,
		HTTP: &http.Client{Transport: s}, OnError: errs.add,
	})
}

// TestClientAnalyticsBodies holds the exact requests of both routes (wire.md §2.4 and §2.9).
func TestClientAnalyticsBodies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, errs := new(analyticsServer), new(errorList)
		c := analyticsClient(t, server, errs)
		zone := time.FixedZone("", 2*3600)
		for i, e := range []capture.ClientEvent{
			{Name: "order paid", DistinctID: "u1", Time: time.Date(2000, 1, 1, 1, 2, 3, 456_789_000, zone)},
			{Name: "page viewed", DistinctID: "u2", Properties: map[string]any{
				"n": 1, "$session_id": "s", "$window_id": "w", "$process_person_profile": false, "$cookieless_mode": true,
				"$ignore_sent_at": true, "$product_tour_id": "tour", "ü\"": "x",
			}},
			{Name: "misfits", DistinctID: "u3", Properties: map[string]any{"$session_id": 1, "$process_person_profile": "no"}},
			{Name: "$ai_generation", DistinctID: "u4"},
		} {
			e.UUID = uuid.UUID{15: byte(i + 1)}
			if err := c.Capture(e); err != nil {
				t.Fatal(err)
			}
		}
		closeClient(t, c)
		library := `"$lib":"flagstaff-go","$lib_version":"` + capture.ClientVersion() + `",`
		const added = `"$is_server":true,"$geoip_disable":true`
		want := []string{
			`{"created_at":"2000-01-01T00:00:00.000000Z","batch":[` +
				`{"uuid":"00000000-0000-0000-0000-000000000001","timestamp":"1999-12-31T23:02:03.456789Z","event":"order paid","distinct_id":"u1",` +
				`"options":{},"properties":{` + added + `}},` +
				`{"uuid":"00000000-0000-0000-0000-000000000002","timestamp":"2000-01-01T00:00:00.000000Z","event":"page viewed","distinct_id":"u2",` +
				`"session_id":"s","window_id":"w",` +
				`"options":{"process_person_profile":false,"cookieless_mode":true,"disable_skew_correction":true,"product_tour_id":"tour"},` +
				`"properties":{"n":1,"ü\"":"x",` + added + `}},` +
				`{"uuid":"00000000-0000-0000-0000-000000000003","timestamp":"2000-01-01T00:00:00.000000Z","event":"misfits","distinct_id":"u3",` +
				`"options":{},"properties":{"$process_person_profile":"no","$session_id":1,` + added + `}}]}`,
			`{"api_key":"phc_analytics","sent_at":"2000-01-01T00:00:00.000000Z","batch":[` +
				`{"uuid":"00000000-0000-0000-0000-000000000004","timestamp":"2000-01-01T00:00:00.000000Z","event":"$ai_generation","distinct_id":"u4",` +
				`"properties":{` + library + added + `}}]}`,
		}
		if diff := cmp.Diff(want, server.bodies); diff != "" {
			t.Errorf("bodies (-want +got):\n%s", diff)
		}
		var paths []string
		for _, r := range server.requests {
			paths = append(paths, r.Method+" "+r.URL.Path)
		}
		if diff := cmp.Diff([]string{"POST /ingest/i/v1/analytics/events", "POST /ingest/batch/"}, paths); diff != "" {
			t.Errorf("requests (-want +got):\n%s", diff)
		}
		if texts := errs.texts(); texts != nil {
			t.Errorf("OnError was told %q", texts)
		}
	})
}

// TestClientAnalyticsResults holds what becomes of events by their results, and by other
// answers.
func TestClientAnalyticsResults(t *testing.T) {
	type answer = func(n int, ids []string, w http.ResponseWriter)
	first := func(a answer) answer {
		return func(n int, ids []string, w http.ResponseWriter) {
			if n > 1 {
				io.WriteString(w, `{"results":{}}`)
				return
			}
			a(n, ids, w)
		}
	}
	text := func(status int, s string) answer {
		return func(_ int, _ []string, w http.ResponseWriter) {
			w.WriteHeader(status)
			io.WriteString(w, s)
		}
	}
	for _, tt := range []struct {
		name   string
		answer answer
		want   capture.ClientStats
		pause  time.Duration // before the second request, at least
		second int           // how many events it has; 0: there is none
		errs   string
	}{
		{name: "all are stored", want: capture.ClientStats{Delivered: 3}, answer: func(_ int, ids []string, w http.ResponseWriter) {
			writeResults(w, ids, "ok", "warning person_processing_disabled", "splendid")
		}},
		{
			name: "some are stored", pause: time.Second, second: 1, errs: `capture: lost 1 event: "b": the server drops it: event_too_large`,
			want: capture.ClientStats{Delivered: 2, DroppedRefused: 1, Retries: 1, Refusals: map[string]uint64{"event_too_large": 1}},
			answer: first(func(_ int, ids []string, w http.ResponseWriter) {
				w.Header().Set("Retry-After", "1")
				writeResults(w, ids, "ok", "drop event_too_large", "retry not_persisted")
			}),
		},
		{
			name: "equal reasons are told once", errs: `lost 2 events: "a" and 1 more: the server drops it: invalid_options`,
			want: capture.ClientStats{Delivered: 1, DroppedRefused: 2, Refusals: map[string]uint64{"invalid_options": 2}},
			answer: func(_ int, ids []string, w http.ResponseWriter) {
				writeResults(w, ids, "drop invalid_options", "ok", "drop invalid_options")
			},
		},
		{
			name: "a reason is short, and shows no key", errs: strings.Repeat("x", 100) + `…`,
			want: capture.ClientStats{Delivered: 2, DroppedRefused: 1, Refusals: map[string]uint64{strings.Repeat("x", 100) + "…" + strings.Repeat("y", 99): 1}},
			answer: func(_ int, ids []string, w http.ResponseWriter) {
				writeResults(w, ids, "drop "+strings.Repeat("x", 100)+analyticsKey+strings.Repeat("y", 200), "ok", "ok")
			},
		},
		{
			name: "never stored", errs: `lost 3 events: the server could not store it: not_persisted`,
			want: capture.ClientStats{DroppedAbandoned: 3, Retries: 10}, pause: 250 * time.Millisecond, second: 3,
			answer: func(_ int, ids []string, w http.ResponseWriter) {
				writeResults(w, ids, "retry not_persisted", "retry not_persisted", "retry not_persisted")
			},
		},
		{name: "503", want: capture.ClientStats{Delivered: 3, Retries: 1}, second: 3, answer: first(text(503, ""))},
		{name: "429", want: capture.ClientStats{Delivered: 3, Retries: 1}, second: 3, answer: first(text(429, ""))},
		{
			name: "401", want: capture.ClientStats{DroppedRefused: 3, Refusals: map[string]uint64{"401": 3}},
			errs: "check APIKey", answer: text(401, `{"error":"invalid_api_token"}`),
		},
		{
			name: "404", want: capture.ClientStats{DroppedRefused: 3, Refusals: map[string]uint64{"404": 3}},
			errs: "check URL", answer: text(404, ""),
		},
		{
			name: "a page instead of results", want: capture.ClientStats{DroppedRefused: 3, Refusals: map[string]uint64{"200 without results": 3}},
			errs: "its answer cannot be read (check URL)", answer: text(200, "<html>"),
		},
		{
			name: "an object without results", want: capture.ClientStats{DroppedRefused: 3, Refusals: map[string]uint64{"200 without results": 3}},
			errs: `it has no "results"`, answer: text(200, `{"status":1}`),
		},
		{name: "one UUID twice", want: capture.ClientStats{Delivered: 3}, second: 1, answer: first(text(400, `{"error":"duplicate_event_uuid"}`))},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server, errs := &analyticsServer{answer: tt.answer}, new(errorList)
				c := analyticsClient(t, server, errs)
				for _, name := range []string{"a", "b", "c"} {
					capturedEvent(t, c, name)
				}
				if err := c.Flush(t.Context()); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(tt.want, c.Stats()); diff != "" {
					t.Errorf("Stats (-want +got):\n%s", diff)
				}
				if got := strings.Join(errs.texts(), ";"); !strings.Contains(got, tt.errs) || (tt.errs == "") != (got == "") || strings.Contains(got, analyticsKey) {
					t.Errorf("OnError was told %q, want %q", got, tt.errs)
				}
				closeClient(t, c)
				if tt.second == 0 {
					return
				}
				if len(server.times) < 2 {
					t.Fatal("there is no second request")
				}
				if pause := server.times[1].Sub(server.times[0]); pause < tt.pause {
					t.Errorf("the second request came after %v, want %v at least", pause, tt.pause)
				}
				if n := strings.Count(server.bodies[1], `"event":`); n != tt.second {
					t.Errorf("the second request has %d events, want %d: %s", n, tt.second, server.bodies[1])
				}
			})
		})
	}
}

// TestClientAnalyticsAttempts holds what the attempts of one request share, and what they do
// not (wire.md §2.9).
func TestClientAnalyticsAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, errs := new(analyticsServer), new(errorList)
		server.answer = func(n int, ids []string, w http.ResponseWriter) {
			if n < 3 {
				w.WriteHeader(http.StatusServiceUnavailable)
				return
			}
			writeResults(w, ids, "ok")
		}
		c := analyticsClient(t, server, errs)
		capturedEvent(t, c, "a")
		closeClient(t, c)
		if len(server.requests) != 3 || server.bodies[0] != server.bodies[2] {
			t.Fatalf("bodies %q, want one three times", server.bodies)
		}
		id := server.requests[0].Header.Get("PostHog-Request-Id")
		if _, err := capture.ParseUUID(id); err != nil {
			t.Errorf("PostHog-Request-Id %q: %v", id, err)
		}
		for i, r := range server.requests {
			want := map[string]string{
				"Authorization": "Bearer " + analyticsKey, "Content-Type": "application/json", "Content-Encoding": "gzip",
				"PostHog-Sdk-Info": "flagstaff-go/" + capture.ClientVersion(), "PostHog-Request-Id": id,
				"PostHog-Attempt":           fmt.Sprint(i + 1),
				"PostHog-Request-Timestamp": server.times[i].UTC().Format("2006-01-02T15:04:05.000000Z"),
			}
			got := make(map[string]string)
			for name := range want {
				got[name] = r.Header.Get(name)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("headers of attempt %d (-want +got):\n%s", i+1, diff)
			}
		}
	})
}

// TestRefusalsAreBounded: a server cannot fill the memory with reasons.
func TestRefusalsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, errs := new(analyticsServer), new(errorList)
		server.answer = func(_ int, ids []string, w http.ResponseWriter) {
			results := make([]string, len(ids))
			for i := range results {
				results[i] = fmt.Sprintf("drop reason-%d", i)
			}
			writeResults(w, ids, results...)
		}
		c := analyticsClient(t, server, errs)
		for range 100 {
			capturedEvent(t, c, "a")
		}
		closeCtx := t.Context()
		if err := c.Flush(closeCtx); err != nil {
			t.Fatal(err)
		}
		if got := c.Stats().Refusals; len(got) != 33 || got["other"] != 68 || got["reason-31"] != 1 {
			t.Errorf("Refusals = %v, want 32 reasons and 68 others", got)
		}
		closeClient(t, c)
	})
}

// FuzzClientResults reads any answer. Each event is delivered, sent again or
// refused, whatever the answer is.
func FuzzClientResults(f *testing.F) {
	const id = "00000000-0000-0000-0000-000000000001"
	f.Add(200, `{"results":{"`+id+`":{"result":"drop","details":"x\u0000\n"}}}`)
	f.Add(200, `{"results":{"`+id+`":{"result":"retry","details":null}}}`)
	f.Add(200, `{"results":{"`+id+`":[]}}`)
	f.Add(400, `"duplicate_event_uuid"`)
	f.Add(299, `{"results":null}`)
	f.Fuzz(func(t *testing.T, status int, body string) {
		if status < 200 || status > 599 {
			return
		}
		var errs errorList
		c := newClient(t, capture.ClientConfig{
			URL: "http://flagstaff.test", APIKey: analyticsKey, Analytics: true, MaxRetries: -1, OnError: errs.add,
			HTTP: &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
				w := httptest.NewRecorder()
				w.WriteHeader(status)
				io.WriteString(w, body)
				return w.Result(), nil
			})},
		})
		if err := c.Capture(capture.ClientEvent{Name: "e", DistinctID: "u", UUID: uuid.UUID{15: 1}}); err != nil {
			t.Fatal(err)
		}
		if err := c.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		s := c.Stats()
		if s.Delivered+s.DroppedRefused+s.DroppedAbandoned != 1 {
			t.Errorf("Stats = %+v, want one event", s)
		}
		for _, text := range errs.texts() {
			if len(text) > 1200 || strings.ContainsAny(text, "\x00\n") || strings.Contains(text, analyticsKey) {
				t.Errorf("OnError was told %q", text)
			}
		}
		closeClient(t, c)
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
