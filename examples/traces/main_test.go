package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/log"
	"go.opentelemetry.io/otel/sdk/trace"
	traces "go.opentelemetry.io/otel/trace"

	"github.com/flagstaff-go/flagstaff"
	"github.com/flagstaff-go/flagstaff/cmd/flagstaff/serve"
	"github.com/flagstaff-go/flagstaff/flags"
	evaluations "github.com/flagstaff-go/flagstaff/flags/otel"
	"github.com/flagstaff-go/flagstaff/internal/natstest"
	"github.com/flagstaff-go/flagstaff/server/otel"
)

// ended passes spans of the SDK on when they end.
type ended chan trace.ReadOnlySpan

func (ended) OnStart(context.Context, trace.ReadWriteSpan) {}
func (e ended) OnEnd(s trace.ReadOnlySpan)                 { e <- s }
func (ended) Shutdown(context.Context) error               { return nil }
func (ended) ForceFlush(context.Context) error             { return nil }

// records keeps the log records of the SDK.
type records struct{ list []log.Record }

func (r *records) Export(_ context.Context, list []log.Record) error {
	for i := range list {
		r.list = append(r.list, list[i].Clone())
	}
	return nil
}
func (*records) Shutdown(context.Context) error   { return nil }
func (*records) ForceFlush(context.Context) error { return nil }

// lines passes lines on to a channel, as far as it has room.
type lines chan string

func (l lines) Write(b []byte) (int, error) {
	select {
	case l <- string(b):
	default:
	}
	return len(b), nil
}

// startServer starts the server with the flags of the demo and returns its address.
func startServer(t *testing.T, tracing serve.Tracing, args ...string) string {
	t.Helper()
	output := make(lines, 100)
	ctx, cancel := context.WithCancel(t.Context())
	program := serve.Main{
		Args:   append([]string{"-demo", "-addr", "127.0.0.1:0", "-drain", "0s"}, args...),
		Stdout: io.Discard, Stderr: output, Tracing: tracing,
	}
	var code int
	var running sync.WaitGroup
	running.Go(func() {
		code = program.Run(ctx)
		close(output)
	})
	t.Cleanup(func() {
		cancel()
		running.Wait()
		if code != 0 {
			t.Errorf("exit code %d, want 0", code)
		}
	})
	for line := range output {
		if m := regexp.MustCompile(`listening on (http://\S+)`).FindStringSubmatch(line); m != nil {
			return m[1]
		}
	}
	t.Fatal("the server does not start")
	return ""
}

// attributes writes attributes in the order of their names.
func attributes(list []attribute.KeyValue) string {
	var texts []string
	for _, kv := range list {
		texts = append(texts, fmt.Sprintf("%s=%s", kv.Key, kv.Value.String()))
	}
	slices.Sort(texts)
	return strings.Join(texts, " ")
}

// TestTraces follows a request of a program with the SDK of OpenTelemetry: what the flags of
// the program are, and what the server does for it, belong to one trace, from the request
// through the stream to the store.
func TestTraces(t *testing.T) {
	broker := natstest.Start(t)
	spans := make(ended, 1000)
	tracers := trace.NewTracerProvider(trace.WithSpanProcessor(spans))
	exported := new(records)
	loggers := log.NewLoggerProvider(log.WithProcessor(log.NewSimpleProcessor(exported)))
	url := startServer(t, otel.New(otel.Options{Tracers: tracers}), "-stream", "nats://"+broker.Addr)

	client, err := flagstaff.Open(t.Context(), flagstaff.Config{
		File:         "../../cmd/flagstaff/serve/demo.json",
		OnEvaluation: evaluations.OnEvaluation(evaluations.Options{Loggers: loggers, SetID: "demo"}),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close(t.Context())

	ctx, checkout := tracers.Tracer("shop").Start(t.Context(), "checkout")
	client.ForRemote(ctx, &flags.Request{DistinctID: "user-1", PersonProperties: map[string]any{"plan": "pro"}}).Bool("new-dashboard", false)
	const id = "11111111-2222-4333-8444-555555555555"
	send := func(method, path, body string) {
		t.Helper()
		r, err := http.NewRequestWithContext(ctx, method, url+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("X-Request-Id", id)
		propagation.TraceContext{}.Inject(ctx, propagation.HeaderCarrier(r.Header))
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		if _, err := io.Copy(io.Discard, answer.Body); err != nil || answer.StatusCode != http.StatusOK {
			t.Fatalf("%s %s: status %d, %v", method, path, answer.StatusCode, err)
		}
	}
	// Of several events the server might store some a moment later, in a span of their own.
	send("POST", "/batch", `{"api_key":"phc_demo","batch":[{"event":"seen","distinct_id":"ada"}]}`)
	send("POST", "/flags?v=2", `{"api_key":"phc_demo","distinct_id":"somebody"}`)
	send("GET", "/console/signin", "")
	checkout.End()

	const request = " flagstaff.request_id=" + id
	want := []string{
		"client store read_person of POST /flags: db.operation.name=read_person",
		"client store write_events of store events: db.operation.name=write_events",
		"internal checkout of nothing: ",
		"internal publish events of POST /batch, linked to POST /batch: flagstaff.events=1",
		"internal store events of POST /batch, linked to POST /batch: flagstaff.events=1",
		"server GET /console/signin of checkout:" + request + " http.request.method=GET http.response.status_code=200 http.route=/console/signin",
		"server POST /batch of checkout:" + request + " http.request.method=POST http.response.status_code=200 http.route=/batch",
		"server POST /flags of checkout:" + request + " http.request.method=POST http.response.status_code=200 http.route=/flags",
	}
	var got []trace.ReadOnlySpan
	for deadline := time.After(30 * time.Second); len(got) < len(want); {
		select {
		case s := <-spans:
			got = append(got, s)
		case <-deadline:
			t.Fatalf("%d spans have ended, want %d", len(got), len(want))
		}
	}
	names := map[traces.SpanID]string{{}: "nothing"}
	for _, s := range got {
		names[s.SpanContext().SpanID()] = s.Name()
		if s.SpanContext().TraceID() != checkout.SpanContext().TraceID() {
			t.Errorf("%s is of another trace", s.Name())
		}
	}
	var texts []string
	for _, s := range got {
		var text strings.Builder
		fmt.Fprintf(&text, "%s %s of %s", s.SpanKind(), s.Name(), names[s.Parent().SpanID()])
		for _, l := range s.Links() {
			text.WriteString(", linked to " + names[l.SpanContext.SpanID()])
		}
		texts = append(texts, text.String()+": "+attributes(s.Attributes()))
	}
	slices.Sort(texts)
	if diff := cmp.Diff(want, texts); diff != "" {
		t.Errorf("spans (-want +got)\n%s", diff)
	}

	if len(exported.list) != 1 {
		t.Fatalf("%d events of evaluations, want 1", len(exported.list))
	}
	r := exported.list[0]
	if r.TraceID() != checkout.SpanContext().TraceID() || r.SpanID() != checkout.SpanContext().SpanID() {
		t.Errorf("the evaluation belongs to %v of %v, want the span checkout", r.SpanID(), r.TraceID())
	}
	var list []attribute.KeyValue
	r.WalkAttributes(func(kv attribute.KeyValue) bool {
		list = append(list, kv)
		return true
	})
	const event = "feature_flag.evaluation: feature_flag.key=new-dashboard feature_flag.provider.name=flagstaff " +
		"feature_flag.result.reason=targeting_match feature_flag.result.value=true feature_flag.set.id=demo feature_flag.version=1"
	if diff := cmp.Diff(event, r.EventName()+": "+attributes(list)); diff != "" {
		t.Errorf("the evaluation (-want +got)\n%s", diff)
	}
}
