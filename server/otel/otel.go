package otel

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strconv"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/flagstaff-go/flagstaff/capture"
)

// scope is the name of the tracer: the package that makes the spans.
const scope = "github.com/flagstaff-go/flagstaff/server/otel"

// maxLinks is how many requests a span of events is linked to. SDKs keep as many.
const maxLinks = 128

// Options configure a Tracing. The zero value uses the global provider and believes the
// trace contexts of clients.
type Options struct {
	// Tracers makes the tracer that takes the spans. Nil: the global provider.
	Tracers trace.TracerProvider

	// Public says that strangers send requests, who must not choose the trace to which a
	// request belongs, nor whether it is sampled.
	Public bool
}

// A Tracing makes spans. It is safe for concurrent use. [New] makes one; the zero value and
// nil make no spans.
type Tracing struct {
	tracer trace.Tracer
	public bool
}

// New returns a Tracing.
func New(o Options) *Tracing {
	o.Tracers = cmp.Or(o.Tracers, otel.GetTracerProvider())
	return &Tracing{tracer: o.Tracers.Tracer(scope), public: o.Public}
}

func (t *Tracing) isUnset() bool { return t == nil || t.tracer == nil }

// unfollowed are the routes of probes.
var unfollowed = map[string]bool{"/healthz": true, "/readyz": true, "/metrics": true, "/_liveness": true, "/_readiness": true, "/": true}

// unknownRoute is the name of all paths that have no route.
const unknownRoute = "other"

// OnRequest is for server.Config and console.Config. It returns the context of the request
// with its span, and a function that ends the span.
func (t *Tracing) OnRequest(r *http.Request, route string) (context.Context, func(status int, requestID string)) {
	if t.isUnset() || unfollowed[route] {
		return r.Context(), nil
	}
	method := r.Method
	if !known[method] {
		method = "_OTHER"
	}
	ctx, name := r.Context(), method
	options := []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindServer), trace.WithAttributes(attribute.String("http.request.method", method))}
	if route != unknownRoute {
		name += " " + route
		options = append(options, trace.WithAttributes(attribute.String("http.route", route)))
	}
	remote := propagation.TraceContext{}.Extract(ctx, propagation.HeaderCarrier(r.Header))
	if !t.public {
		ctx = remote
	} else if client := trace.SpanContextFromContext(remote); client.IsRemote() {
		options = append(options, trace.WithNewRoot(), trace.WithLinks(trace.Link{SpanContext: client}))
	}
	ctx, span := t.tracer.Start(ctx, name, options...)
	return ctx, func(status int, requestID string) {
		if span.IsRecording() {
			span.SetAttributes(attribute.Int("http.response.status_code", status), attribute.String("flagstaff.request_id", requestID))
			if status >= http.StatusInternalServerError {
				span.SetAttributes(attribute.String("error.type", strconv.Itoa(status)))
				span.SetStatus(codes.Error, "")
			}
		}
		span.End()
	}
}

// known are the methods that a span may have; clients can send any.
var known = map[string]bool{
	http.MethodGet: true, http.MethodHead: true, http.MethodPost: true, http.MethodPut: true, http.MethodPatch: true,
	http.MethodDelete: true, http.MethodConnect: true, http.MethodOptions: true, http.MethodTrace: true,
}

// OnOperation is for sqlstore.Options. It returns a context with a span and a function that
// ends it, if the work belongs to a span that is sampled.
func (t *Tracing) OnOperation(ctx context.Context, operation string) (context.Context, func(error)) {
	if t.isUnset() || !trace.SpanContextFromContext(ctx).IsSampled() {
		return ctx, nil
	}
	ctx, span := t.tracer.Start(ctx, "store "+operation, trace.WithSpanKind(trace.SpanKindClient),
		trace.WithAttributes(attribute.String("db.operation.name", operation)))
	return ctx, func(err error) { end(span, err) }
}

// OnAccept is for capture.CollectorConfig. It notes in the events to which trace they
// belong, if the request is sampled.
func (t *Tracing) OnAccept(ctx context.Context, events []capture.Event) {
	if t.isUnset() || !trace.SpanContextFromContext(ctx).IsSampled() {
		return
	}
	header := make(propagation.MapCarrier)
	propagation.TraceContext{}.Inject(ctx, header)
	for i := range events {
		events[i].Trace = header[traceparent]
	}
}

const traceparent = "traceparent"

// Sink returns a Sink with a span, of a name such as "store events", for each Write of
// another one with events of sampled requests.
func (t *Tracing) Sink(to capture.Sink, name string) capture.Sink {
	if t.isUnset() {
		return to
	}
	return &sink{to, t, name}
}

type sink struct {
	to   capture.Sink
	t    *Tracing
	name string
}

// Write implements [capture.Sink].
func (s *sink) Write(ctx context.Context, events []capture.Event) error {
	links := linksOf(events)
	if len(links) == 0 {
		return s.to.Write(ctx, events)
	}
	ctx, span := s.t.tracer.Start(trace.ContextWithRemoteSpanContext(ctx, links[0].SpanContext), s.name,
		trace.WithSpanKind(trace.SpanKindInternal), trace.WithLinks(links...), trace.WithAttributes(attribute.Int("flagstaff.events", len(events))))
	err := s.to.Write(ctx, events)
	if _, stored := capture.Faults(err, len(events)); stored {
		end(span, nil) // what is wrong with single events is not a failure of the sink
	} else {
		end(span, err)
	}
	return err
}

// linksOf returns links to the requests that have brought events.
func linksOf(events []capture.Event) (links []trace.Link) {
	var seen map[string]bool
	for i := range events {
		text := events[i].Trace
		if text == "" || seen[text] || len(links) == maxLinks {
			continue
		}
		if seen == nil {
			seen = make(map[string]bool)
		}
		seen[text] = true
		ctx := propagation.TraceContext{}.Extract(context.Background(), propagation.MapCarrier{traceparent: text})
		if of := trace.SpanContextFromContext(ctx); of.IsValid() {
			links = append(links, trace.Link{SpanContext: of})
		}
	}
	return links
}

// end ends a span. Of an error it shows the kind alone.
func end(span trace.Span, err error) {
	if err != nil {
		kind := "_OTHER"
		switch {
		case errors.Is(err, context.DeadlineExceeded):
			kind = "timeout"
		case errors.Is(err, context.Canceled):
			kind = "canceled"
		case errors.Is(err, capture.ErrUnavailable):
			kind = "unavailable"
		}
		span.SetAttributes(attribute.String("error.type", kind))
		span.SetStatus(codes.Error, "")
	}
	span.End()
}
