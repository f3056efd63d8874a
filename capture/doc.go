// Package capture takes events in, as PostHog's SDKs send them, and hands them to
// a [Sink] that stores them.
//
// # The way of an event
//
//	Request ──► Batch.Parse ──► Collector.Accept ──► Sink.Write
//
// A [Request] is what is known about an HTTP request besides its body: when it
// came, from where, by which route. [Batch.Parse] reads a body that was
// decompressed, in any shape that SDKs use, and makes [Event]s of it. It does no
// I/O; package server does, and finds the project of the API key.
// [AnalyticsBatch] is the same for the newest route, which answers for each
// event.
//
//	var b capture.Batch
//	if err := b.Parse(body, capture.Request{Now: time.Now()}); err != nil {
//		// errors.Is ErrMalformed 400, ErrUnauthorized 401, ErrTooLarge 413
//	}
//	for i := range b.Events {
//		b.Events[i].Project = project
//	}
//	err := collector.Accept(ctx, b.Events...)
//
// # What a 200 means
//
// SDKs forget events once they were answered 200. So [Collector.Accept] returns
// nil only after Write has: the events are durable, and their effect on persons
// is or will be applied. This is affordable because a Collector writes the
// events of many requests together: while one batch is being committed, the next
// one forms. Nothing waits for a timer.
//
// All events of a call to Accept are written by one Write, in their order. If the
// Sink refuses a batch, the requests are tried one by one, so that nobody
// suffers from another's event, unless the error is [ErrUnavailable]. After
// [ErrFull], ErrUnavailable or the end of a context a client sends again, with
// the same UUIDs: a Sink stores an event once however often it is written.
//
// [Collector.Run] ends with its context, after it has written what was accepted;
// later events are answered [ErrClosed].
//
// # Go back ends
//
// A [Client] is for programs that have events of their own, above all exposures
// to flags. It never blocks and never fails its caller, and writes to a Sink in
// the process or to a server's capture route.
//
// # Persons
//
// Package capture/persons says what events do to persons and groups. Stores
// apply it within Write, or later from a log of events: an Event has all that it
// takes.
//
// # Limits
//
// A request has at most [MaxEvents] events. Distinct IDs and names count up to
// [MaxID] and [MaxName] characters. JSON may be nested 1,000 deep. What Parse
// allocates, beyond properties that a Request adds, is at most 24 MiB and five
// times the body; the size of a body is for the caller to limit.
// [CollectorConfig] bounds what waits.
//
// Errors of Parse are one line for the client and never contain API keys.
//
// # Concurrency and memory
//
// Collector and Client are safe for concurrent use. A Batch serves one request
// at a time. Events refer to nothing of the body. Who passes them to Accept has
// given them away; a Sink has only borrowed them.
//
// # Source of the rules
//
// docs/spec/wire.md has the rules of the protocol; comments cite its sections.
// parse.go has the shapes and fields of events, times.go their times, ids.go the
// IDs that are nobody's, analytics.go the newest route.
package capture
