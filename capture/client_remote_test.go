package capture_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
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
	"github.com/flagstaff-go/flagstaff/runtime"
)

const remoteKey = "phc_remote_client"

type remoteEvent struct {
	UUID       uuid.UUID      `json:"uuid"`
	Timestamp  time.Time      `json:"timestamp"`
	Event      string         `json:"event"`
	DistinctID string         `json:"distinct_id"`
	Properties map[string]any `json:"properties"`
}

type remoteBatch struct {
	APIKey string        `json:"api_key"`
	SentAt time.Time     `json:"sent_at"`
	Batch  []remoteEvent `json:"batch"`
}

func (b *remoteBatch) names() (names []string) {
	for _, e := range b.Batch {
		names = append(names, e.Event)
	}
	return names
}

// A remoteServer keeps what it is sent.
type remoteServer struct {
	answer func(n int, b *remoteBatch, w http.ResponseWriter) // nil: 200

	mu       sync.Mutex
	requests []*http.Request
	batches  []*remoteBatch
	times    []time.Time
}

func (s *remoteServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b remoteBatch
	zip, err := gzip.NewReader(r.Body)
	if err == nil {
		d := json.NewDecoder(zip)
		d.DisallowUnknownFields()
		err = d.Decode(&b)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.requests, s.batches, s.times = append(s.requests, r), append(s.batches, &b), append(s.times, time.Now())
	if s.answer != nil {
		s.answer(len(s.batches), &b, w)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	io.WriteString(w, `{"status":1}`)
}

// RoundTrip serves a request without a network, for tests with a fake clock.
func (s *remoteServer) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w.Result(), nil
}

func TestClientPostsBatches(t *testing.T) {
	server := &remoteServer{}
	s := httptest.NewServer(server)
	defer s.Close()
	before := time.Now()
	c := newClient(t, capture.ClientConfig{URL: s.URL + "/ingest/", APIKey: remoteKey})
	if err := c.Capture(capture.ClientEvent{Name: "order \"paid\"", DistinctID: "ü1", Properties: map[string]any{"n": 1}}); err != nil {
		t.Fatal(err)
	}
	c.Exposed(capture.Exposure{DistinctID: "u2", Flag: "f", Enabled: true})
	closeClient(t, c)

	if len(server.batches) != 1 {
		t.Fatalf("%d requests, want 1", len(server.batches))
	}
	r, b := server.requests[0], server.batches[0]
	if got, want := r.Method+" "+r.URL.String(), "POST /ingest/batch/"; got != want {
		t.Errorf("request %q, want %q", got, want)
	}
	for name, want := range map[string]string{"Content-Type": "application/json", "Content-Encoding": "gzip"} {
		if got := r.Header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if kind := (runtime.Detector{}).Detect(runtime.SignalsOf(r.Header)); kind != runtime.Server {
		t.Errorf("User-Agent %q is of a %v, want a server", r.UserAgent(), kind)
	}
	for _, e := range b.Batch {
		if e.UUID.Version() != 7 || e.Timestamp.Before(before.Add(-time.Millisecond)) || e.Timestamp.After(b.SentAt) {
			t.Errorf("event %+v sent at %v", e, b.SentAt)
		}
	}
	want := []remoteEvent{
		{Event: "order \"paid\"", DistinctID: "ü1", Properties: added(map[string]any{"n": 1.0})},
		{Event: "$feature_flag_called", DistinctID: "u2", Properties: added(map[string]any{
			"$feature_flag": "f", "$feature_flag_response": true, "$feature/f": true, "locally_evaluated": true, "$feature_flag_has_experiment": true,
		})},
	}
	for i := range b.Batch {
		b.Batch[i].UUID, b.Batch[i].Timestamp = uuid.UUID{}, time.Time{}
	}
	if diff := cmp.Diff(want, b.Batch); diff != "" {
		t.Errorf("batch (-want +got):\n%s", diff)
	}
	if b.APIKey != remoteKey {
		t.Errorf("api_key = %q", b.APIKey)
	}
}

func TestClientAnswers(t *testing.T) {
	answer := func(status int, text string, header ...string) func(int, *remoteBatch, http.ResponseWriter) {
		return func(n int, _ *remoteBatch, w http.ResponseWriter) {
			if n > 1 {
				return
			}
			for i := 0; i < len(header); i += 2 {
				w.Header().Set(header[i], header[i+1])
			}
			w.WriteHeader(status)
			io.WriteString(w, text)
		}
	}
	retried := capture.ClientStats{Delivered: 2, Retries: 1}
	refused := func(status string) capture.ClientStats {
		return capture.ClientStats{DroppedRefused: 2, Refusals: map[string]uint64{status: 2}}
	}
	for _, tt := range []struct {
		name     string
		answer   func(int, *remoteBatch, http.ResponseWriter)
		want     capture.ClientStats
		min, max time.Duration // between the attempts
		err      string        // in what OnError is told
	}{
		{"200", answer(200, `{"status":1}`), capture.ClientStats{Delivered: 2}, 0, 0, ""},
		{"204", answer(204, ""), capture.ClientStats{Delivered: 2}, 0, 0, ""},
		{"408", answer(408, ""), retried, 250 * time.Millisecond, 500 * time.Millisecond, ""},
		{"429", answer(429, ""), retried, 250 * time.Millisecond, 500 * time.Millisecond, ""},
		{"429 with seconds", answer(429, "", "Retry-After", "7"), retried, 7 * time.Second, 7 * time.Second, ""},
		{"429 with many seconds", answer(429, "", "Retry-After", "99999999999"), retried, 30 * time.Second, 30 * time.Second, ""},
		{"429 with nonsense", answer(429, "", "Retry-After", "soon"), retried, 250 * time.Millisecond, 500 * time.Millisecond, ""},
		{"503 with a date", answer(503, "", "Retry-After", "Sat, 01 Jan 2000 00:00:11 GMT"), retried, 10 * time.Second, 10 * time.Second, ""},
		{"503 with a past date", answer(503, "", "Retry-After", "Sat, 01 Jan 1999 00:00:11 GMT"), retried, 250 * time.Millisecond, 500 * time.Millisecond, ""},
		{"500", answer(500, ""), retried, 250 * time.Millisecond, 500 * time.Millisecond, ""},
		{"400", answer(400, "failed to parse request\nmore"), refused("400"), 0, 0, `lost 2 events: the server answered 400 "failed to parse request"`},
		{"401", answer(401, "no such key "+remoteKey), refused("401"), 0, 0, `401 "no such key …" (check APIKey)`},
		{"404", answer(404, "<html>"), refused("404"), 0, 0, `(check URL`},
		{"301", answer(301, "", "Location", "http://elsewhere/batch/"), refused("301"), 0, 0, `redirects are not followed`},
		{"307", answer(307, "", "Location", "http://elsewhere/batch/"), refused("307"), 0, 0, `redirects are not followed`},
		{"a long answer", answer(400, strings.Repeat("x", 1<<20)), refused("400"), 0, 0, strings.Repeat("x", 200) + `"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := &remoteServer{answer: tt.answer}
				var errs errorList
				c := newClient(t, capture.ClientConfig{
					URL: "http://flagstaff.test", APIKey: remoteKey, HTTP: &http.Client{Transport: server}, OnError: errs.add,
				})
				capturedEvent(t, c, "a")
				capturedEvent(t, c, "b")
				time.Sleep(time.Second)
				if err := c.Flush(t.Context()); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(tt.want, c.Stats()); diff != "" {
					t.Errorf("Stats (-want +got):\n%s", diff)
				}
				if n := len(server.times); n != 1+int(tt.want.Retries) {
					t.Fatalf("%d requests", n)
				}
				if tt.want.Retries > 0 {
					if d := server.times[1].Sub(server.times[0]); d < tt.min || d > tt.max {
						t.Errorf("the retry came after %v, want %v to %v", d, tt.min, tt.max)
					}
					first, second := server.batches[0], server.batches[1]
					if !first.SentAt.Equal(server.times[0].Truncate(time.Microsecond)) ||
						!second.SentAt.Equal(server.times[1].Truncate(time.Microsecond)) {
						t.Errorf("sent_at is %v and %v, want %v", first.SentAt, second.SentAt, server.times)
					}
					if diff := cmp.Diff(first.Batch, second.Batch); diff != "" {
						t.Errorf("the retry differs (-first +second):\n%s", diff)
					}
				}
				got := strings.Join(errs.texts(), ";")
				if !strings.Contains(got, tt.err) || (tt.err == "") != (got == "") {
					t.Errorf("OnError was told %q, want %q", got, tt.err)
				}
				if strings.Contains(got, remoteKey) || len(got) > 400 {
					t.Errorf("the error shows the key, or all of the answer: %q", got)
				}
				closeClient(t, c)
			})
		})
	}
}

func TestClientHalvesBatches(t *testing.T) {
	server := &remoteServer{answer: func(_ int, b *remoteBatch, w http.ResponseWriter) {
		if len(b.Batch) > 2 || b.Batch[0].Event == "4" {
			w.WriteHeader(http.StatusRequestEntityTooLarge)
		}
	}}
	s := httptest.NewServer(server)
	defer s.Close()
	var errs errorList
	c := newClient(t, capture.ClientConfig{URL: s.URL, APIKey: remoteKey, MaxDelay: time.Hour, OnError: errs.add})
	for i := range 6 {
		capturedEvent(t, c, fmt.Sprint(i))
	}
	if err := c.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	var got [][]string
	for _, b := range server.batches {
		got = append(got, b.names())
	}
	want := [][]string{{"0", "1", "2", "3", "4", "5"}, {"0", "1", "2"}, {"0"}, {"1", "2"}, {"3", "4", "5"}, {"3"}, {"4", "5"}, {"4"}, {"5"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(capture.ClientStats{Delivered: 5, DroppedRefused: 1, Refusals: map[string]uint64{"413": 1}}, c.Stats()); diff != "" {
		t.Errorf("Stats (-want +got):\n%s", diff)
	}
	if n := len(errs.texts()); n != 1 {
		t.Errorf("OnError was told %d times, want once: %q", n, errs.texts())
	}
	closeClient(t, c)
}

// A failingTransport never gets through.
type failingTransport struct{ err error }

func (f failingTransport) RoundTrip(*http.Request) (*http.Response, error) { return nil, f.err }

func TestClientNetworkErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var errs errorList
		c := newClient(t, capture.ClientConfig{
			URL: "http://user:hunter2@flagstaff.test", APIKey: remoteKey, MaxRetries: 3, OnError: errs.add,
			HTTP: &http.Client{Transport: failingTransport{errors.New("no route for " + remoteKey)}},
		})
		capturedEvent(t, c, "a")
		err := c.Close(context.Background())
		if lost, ok := errors.AsType[*capture.LostError](err); !ok || lost.Count != 1 {
			t.Errorf("Close = %v, want 1 lost", err)
		}
		got := strings.Join(errs.texts(), ";")
		if !strings.Contains(got, "no route for …") || strings.Contains(got, "hunter2") || strings.Contains(got, remoteKey) {
			t.Errorf("OnError was told %q", got)
		}
		if diff := cmp.Diff(capture.ClientStats{DroppedAbandoned: 1, Retries: 3}, c.Stats()); diff != "" {
			t.Errorf("Stats (-want +got):\n%s", diff)
		}
	})
}

func TestClientCloseInterruptsRequest(t *testing.T) {
	arrived := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		close(arrived)
		<-r.Context().Done()
	}))
	defer s.Close()
	c := newClient(t, capture.ClientConfig{URL: s.URL, APIKey: remoteKey, MaxDelay: time.Nanosecond})
	capturedEvent(t, c, "a")
	<-arrived
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.Close(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Close = %v, want Canceled", err)
	}
}

func TestClientSendsLargeBatches(t *testing.T) {
	server := &remoteServer{}
	s := httptest.NewServer(server)
	defer s.Close()
	c := newClient(t, capture.ClientConfig{URL: s.URL, APIKey: remoteKey})
	text := append(append([]byte(`{"a":"`), bytes.Repeat([]byte("x"), 3<<20)...), `"}`...)
	for range 3 {
		if err := c.CaptureJSON("e", "u", text); err != nil {
			t.Fatal(err)
		}
	}
	closeClient(t, c)
	if got := c.Stats().Delivered; got != 3 || len(server.batches) != 3 {
		t.Errorf("%d events in %d requests, want 3 in 3", got, len(server.batches))
	}
}
