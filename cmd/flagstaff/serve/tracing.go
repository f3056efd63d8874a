package serve

import (
	"context"
	"net/http"

	"github.com/flagstaff-go/flagstaff/capture"
	"github.com/flagstaff-go/flagstaff/management/sqlstore"
)

// Tracing follows what a server does, from a request to the store. A
// [*otel.Tracing] of server/otel does.
//
// [*otel.Tracing]: https://pkg.go.dev/github.com/flagstaff-go/flagstaff/server/otel#Tracing
type Tracing interface {
	// OnRequest is for server.Config and console.Config, OnAccept for
	// capture.CollectorConfig and OnOperation for sqlstore.Options, which say what they do.
	OnRequest(r *http.Request, route string) (context.Context, func(status int, requestID string))
	OnAccept(ctx context.Context, events []capture.Event)
	OnOperation(ctx context.Context, operation string) (context.Context, func(error))

	// Sink returns a Sink that follows what it gives to another one. The name says what
	// that one does with events.
	Sink(to capture.Sink, name string) capture.Sink
}

// traceOperations returns a function for [sqlstore.Options] that calls another one, too.
func (m *Main) traceOperations(other func(context.Context, sqlstore.Operation) (context.Context, func(error))) func(context.Context, sqlstore.Operation) (context.Context, func(error)) {
	if m.Tracing == nil {
		return other
	}
	return func(ctx context.Context, o sqlstore.Operation) (context.Context, func(error)) {
		ctx, traced := m.Tracing.OnOperation(ctx, o)
		ctx, measured := other(ctx, o)
		if traced == nil {
			return ctx, measured
		}
		return ctx, func(err error) {
			measured(err)
			traced(err)
		}
	}
}

// traceSink returns a sink that is followed, if somebody does.
func (m *Main) traceSink(to capture.Sink, name string) capture.Sink {
	if m.Tracing == nil {
		return to
	}
	return m.Tracing.Sink(to, name)
}

// traceStream returns the sink of the collector: the stream, which is followed, or else the
// store, which is already.
func (m *Main) traceStream(events *eventStream, store capture.Sink) capture.Sink {
	if events == nil {
		return store
	}
	return m.traceSink(events.stream, "publish events")
}
