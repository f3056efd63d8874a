package otel_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/embedded"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/server/otel"
)

// recorder is a provider and its tracer, which keeps the spans that have ended. It samples
// what has no parent, and otherwise what the parent's trace does.
type recorder struct {
	mu    sync.Mutex
	next  uint64
	ended []string
}

type provider struct {
	embedded.TracerProvider
	*recorder
}

func (p provider) Tracer(string, ...trace.TracerOption) trace.Tracer {
	return tracer{recorder: p.recorder}
}

type tracer struct {
	embedded.Tracer
	*recorder
}

func (t tracer) Start(ctx context.Context, name string, options ...trace.SpanStartOption) (context.Context, trace.Span) {
	c := trace.NewSpanStartConfig(options...)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.next++
	var id trace.SpanID
	binary.BigEndian.PutUint64(id[:], t.next)
	parent := trace.SpanContextFromContext(ctx)
	if c.NewRoot() {
		parent = trace.SpanContext{}
	}
	of := trace.SpanContextConfig{TraceID: parent.TraceID(), SpanID: id, TraceFlags: parent.TraceFlags()}
	if !parent.IsValid() {
		binary.BigEndian.PutUint64(of.TraceID[8:], t.next)
		of.TraceFlags = trace.FlagsSampled
	}
	s := &span{tracer: t, context: trace.NewSpanContext(of)}
	s.text = fmt.Sprintf("%s %s of %s", c.SpanKind(), name, short(parent))
	for _, l := range c.Links() {
		s.text += " link " + short(l.SpanContext)
	}
	s.SetAttributes(c.Attributes()...)
	return trace.ContextWithSpan(ctx, s), s
}

// short names a span by the last digits of its trace and of itself.
func short(c trace.SpanContext) string {
	if !c.IsValid() {
		return "none"
	}
	return c.TraceID().String()[28:] + "-" + c.SpanID().String()[12:]
}

type span struct {
	noop.Span
	tracer  tracer
	context trace.SpanContext
	text    string
}

func (s *span) SpanContext() trace.SpanContext   { return s.context }
func (s *span) IsRecording() bool                { return s.context.IsSampled() }
func (s *span) SetStatus(c codes.Code, _ string) { s.text += " " + c.String() }
func (s *span) SetAttributes(list ...attribute.KeyValue) {
	for _, kv := range list {
		s.text += fmt.Sprintf(" %s=%s", kv.Key, kv.Value.String())
	}
}

func (s *span) End(...trace.SpanEndOption) {
	if !s.IsRecording() {
		return
	}
	s.tracer.mu.Lock()
	defer s.tracer.mu.Unlock()
	s.tracer.ended = append(s.tracer.ended, s.text)
}

// clientTrace and unsampled are what clients send.
const (
	clientTrace = "00-0000000000000000000000000000abcd-000000000000beef-01"
	unsampled   = "00-0000000000000000000000000000abcd-000000000000beef-00"
)

// request begins a request.
func request(t *otel.Tracing, method, route, traceparent string) (context.Context, func(int, string)) {
	r := httptest.NewRequest(method, "/secret/path?key=phx_secret", nil)
	if traceparent != "" {
		r.Header.Set("traceparent", traceparent)
	}
	return t.OnRequest(r, route)
}

func TestRequests(t *testing.T) {
	for _, tt := range []struct {
		name, method, route, traceparent string
		public                           bool
		status                           int
		want                             []string
	}{
		{"of nobody", "POST", "/flags", "", false, 200, []string{"server POST /flags of none http.request.method=POST http.route=/flags http.response.status_code=200 flagstaff.request_id=id"}},
		{"of a client's trace", "GET", "/api/projects/{id}", clientTrace, false, 503, []string{
			"server GET /api/projects/{id} of abcd-beef http.request.method=GET http.route=/api/projects/{id} http.response.status_code=503 flagstaff.request_id=id error.type=503 Error",
		}},
		{"not sampled", "GET", "/flags", unsampled, false, 200, nil},
		{"of a stranger", "GET", "/flags", unsampled, true, 200, []string{"server GET /flags of none link abcd-beef http.request.method=GET http.route=/flags http.response.status_code=200 flagstaff.request_id=id"}},
		{"nonsense", "BREW", "other", "nonsense", false, 404, []string{"server _OTHER of none http.request.method=_OTHER http.response.status_code=404 flagstaff.request_id=id"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := new(recorder)
			_, end := request(otel.New(otel.Options{Tracers: provider{recorder: r}, Public: tt.public}), tt.method, tt.route, tt.traceparent)
			end(tt.status, "id")
			if diff := cmp.Diff(tt.want, r.ended); diff != "" {
				t.Errorf("spans (-want +got)\n%s", diff)
			}
		})
	}
	if _, end := request(otel.New(otel.Options{Tracers: provider{recorder: new(recorder)}}), "GET", "/readyz", ""); end != nil {
		t.Error("a health check has a span")
	}
}

// store is a Sink that does one operation, or fails.
type store struct {
	t   *otel.Tracing
	err error
}

func (s store) Write(ctx context.Context, _ []capture.Event) error {
	if _, end := s.t.OnOperation(ctx, "write_events"); end != nil {
		end(s.err)
	}
	return s.err
}

// TestEvents: the events of three requests, of which one is not sampled, are written
// together: one span belongs to the first trace and is linked to both.
func TestEvents(t *testing.T) {
	for _, tt := range []struct {
		name         string
		err          error
		store, write string
	}{
		{name: "written"},
		{"an event is faulty", &capture.EventError{Index: 0, Err: errors.New("secret")}, " error.type=_OTHER Error", ""},
		{"not written", fmt.Errorf("%w: secret", capture.ErrUnavailable), " error.type=unavailable Error", " error.type=unavailable Error"},
		{"in time", context.DeadlineExceeded, " error.type=timeout Error", " error.type=timeout Error"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := new(recorder)
			tracing := otel.New(otel.Options{Tracers: provider{recorder: r}})
			var events []capture.Event
			for _, traceparent := range []string{unsampled, clientTrace, ""} {
				ctx, end := request(tracing, "POST", "/batch", traceparent)
				of := make([]capture.Event, 2)
				tracing.OnAccept(ctx, of)
				events = append(events, of...)
				end(200, "id")
			}
			r.ended = nil
			if err := tracing.Sink(store{tracing, tt.err}, "store events").Write(t.Context(), events); !errors.Is(err, tt.err) {
				t.Errorf("Write = %v, want %v", err, tt.err)
			}
			want := []string{
				"client store write_events of abcd-0004 db.operation.name=write_events" + tt.store,
				"internal store events of abcd-0002 link abcd-0002 link 0003-0003 flagstaff.events=6" + tt.write,
			}
			if diff := cmp.Diff(want, r.ended); diff != "" {
				t.Errorf("spans (-want +got)\n%s", diff)
			}
		})
	}
}

// TestNothingToFollow: work that no sampled request has asked for has no span, nor has
// anything without a tracer.
func TestNothingToFollow(t *testing.T) {
	r := new(recorder)
	tracing := otel.New(otel.Options{Tracers: provider{recorder: r}})
	events := []capture.Event{{}, {Trace: "nonsense"}}
	if err := tracing.Sink(store{t: tracing}, "store events").Write(t.Context(), events); err != nil {
		t.Error(err)
	}
	for _, none := range []*otel.Tracing{nil, new(otel.Tracing), otel.New(otel.Options{})} {
		ctx, end := request(none, "GET", "/flags", clientTrace)
		if end != nil {
			end(200, "id")
		}
		if _, end := none.OnOperation(ctx, "read"); end != nil {
			end(nil)
		}
		none.OnAccept(context.Background(), events)
		if err := none.Sink(store{t: none}, "store events").Write(ctx, events); err != nil {
			t.Error(err)
		}
	}
	if r.ended != nil {
		t.Errorf("spans %v, want none", r.ended)
	}
}

// TestLinksAreBounded: a commit of thousands of requests has a span that SDKs can keep.
func TestLinksAreBounded(t *testing.T) {
	r := new(recorder)
	tracing := otel.New(otel.Options{Tracers: provider{recorder: r}})
	events := make([]capture.Event, 1000)
	for i := range events {
		events[i].Trace = fmt.Sprintf("00-%032x-%016x-01", i+1, 1)
	}
	if err := tracing.Sink(store{}, "store events").Write(t.Context(), events); err != nil {
		t.Error(err)
	}
	if n := strings.Count(r.ended[0], " link "); n != 128 {
		t.Errorf("a span has %d links, want 128", n)
	}
}

// TestDependencies: a server gets OpenTelemetry's API, and neither its SDK nor an exporter.
func TestDependencies(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	for dep := range strings.FieldsSeq(string(out)) {
		for _, bad := range []string{"go.opentelemetry.io/otel/sdk", "go.opentelemetry.io/otel/exporters", "google.golang.org/", "/flagstaff/management"} {
			if strings.Contains(dep, bad) {
				t.Errorf("otel imports %s", dep)
			}
		}
	}
}

// BenchmarkRequest is what a request costs: with a tracer that takes nothing, and with one
// that does.
func BenchmarkRequest(b *testing.B) {
	for _, v := range []struct {
		name string
		of   trace.TracerProvider
	}{{"noop", noop.NewTracerProvider()}, {"recorded", provider{recorder: new(recorder)}}} {
		b.Run(v.name, func(b *testing.B) {
			tracing := otel.New(otel.Options{Tracers: v.of})
			r := httptest.NewRequest(http.MethodPost, "/flags", nil)
			r.Header.Set("traceparent", unsampled)
			b.ReportAllocs()
			for b.Loop() {
				_, end := tracing.OnRequest(r, "/flags")
				end(http.StatusOK, "id")
			}
		})
	}
}
