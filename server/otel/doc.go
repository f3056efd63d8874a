// Package otel makes traces of what a server does, for OpenTelemetry: from a request to the
// store, and through the stream to the server that stores the events.
//
//	tracing := otel.New(otel.Options{Tracers: provider})
//	program := serve.Main{…, Tracing: tracing}
//
// The module requires OpenTelemetry's API alone, and so does a server that is made with it.
// A program chooses the SDK, the exporter and the sampling. With the SDK and its exporter
// otlptracehttp, the provider is
//
//	exporter, err := otlptracehttp.New(ctx) // OTEL_EXPORTER_OTLP_ENDPOINT says where to
//	…
//	provider := trace.NewTracerProvider(trace.WithBatcher(exporter))
//	defer provider.Shutdown(context.WithoutCancel(ctx))
//
// The program flagstaff has no exporter: it would take a quarter of a minute longer to
// compile and 140 more packages, gRPC among them.
//
// A program that puts a server together by itself sets OnRequest of server.Config and
// console.Config, OnAccept of capture.CollectorConfig and OnOperation of sqlstore.Options to
// the methods of the Tracing, and wraps its sinks by Sink.
//
// # Spans
//
//   - A request has a span with its method and the pattern of its route, a child of the span
//     in its header traceparent. [Options.Public] begins a trace of its own instead, linked
//     to the client's. The span ends with the answer, and has its status and the id that is
//     in logs as request_id. Pages of the console have spans like routes of the API. Health
//     checks, /metrics and the files of pages have none.
//   - What the store does for a request, or for events, is a child of it: "store
//     read_person" and so on, by the names of sqlstore.Operation. Reads that its cache
//     answers have no span, and neither has work that no request has asked for.
//   - Events of several requests are written together. This span, "store events" or "publish
//     events", is a child of the first of these requests that is sampled, and linked to all
//     of them, up to 128. The stream takes the trace of each event along in the header
//     traceparent, so that the span of the server that stores it is linked to the request
//     that another server has answered.
//
// Requests that are not sampled cost no more than their own span.
//
// # What is left out
//
// Spans have neither paths nor queries, keys, distinct IDs, properties, nor the texts of
// errors, in which databases quote values: error.type has the kind of the error.
package otel
