// Package capture takes events in, as PostHog's SDKs send them, and hands them to a
// [Sink] that stores them.
//
// # The way of an event
//
//	Request ──► Batch.Parse ──► Collector.Accept ──► Sink.Write
//
// A [Request] is what is known about an HTTP request besides its body: when it came,
// from where, by which route. [Batch.Parse] reads a decompressed body, in any shape
// that SDKs use, and makes [Event]s of it. It does no I/O; package server does, and
// finds the project of the API key. [AnalyticsBatch] does the same for the newest
// route, which answers for each event.
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
// An SDK forgets events after the answer 200. So [Collector.Accept] returns nil only
// after Write has returned nil: the events are durable, and their effect on persons
// is or will be applied. This is affordable because a Collector writes the events of
// many requests together: while one batch is being committed, the next one forms.
// Nothing waits for a timer.
//
// All events of a call to Accept are written by one Write, in their order. If the
// Sink refuses a batch, the requests are tried one by one, so that no request
// suffers from another's event, unless the error is [ErrUnavailable]. After
// [ErrFull], ErrUnavailable or the end of a context, a client sends the events
// again, with the same UUIDs. A Sink stores an event once, however often it is
// written.
//
// [Collector.Run] ends with its context, after it has written what was accepted.
// Later calls of Accept return [ErrClosed].
//
// # Go back ends
//
// A [Client] is for programs that have events of their own, above all exposures to
// flags. It never blocks and never fails its caller. It writes to a Sink in the
// process or to a server's capture route.
//
// # Persons
//
// Package capture/persons says what events do to persons and groups. Stores apply
// it within Write, or later from a log of events: an Event has everything that this
// needs.
//
// # Limits
//
// A request has at most [MaxEvents] events. Distinct IDs and names count up to
// [MaxID] and [MaxName] characters. JSON may be nested 1,000 deep. Parse allocates
// at most 24 MiB and five times the body, besides the properties that a Request
// adds; the caller limits the size of the body. [CollectorConfig] bounds the events
// that wait.
//
// Errors of Parse are one line for the client and never contain API keys.
//
// # Concurrency and memory
//
// Collector and Client are safe for concurrent use. A Batch serves one request at a
// time. Events do not refer to the body. A caller of Accept gives the events away; a
// Sink only borrows them.
//
// # Source of the rules
//
// docs/spec/wire.md has the rules of the protocol; comments cite its sections.
// parse.go has the shapes and fields of events, times.go their times, ids.go the IDs
// that identify nobody, and analytics.go the newest route.
//
// A nil Client or Collector is like a closed one. Other methods of nil pointers panic.
package capture
