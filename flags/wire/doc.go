// Package wire reads the requests of POST /flags and writes the responses, also in
// OpenFeature's remote evaluation protocol, and the definitions that SDKs poll, for
// any server: net/http, a function service, a test.
//
//	var (
//		query wire.Query
//		req   wire.Request
//		in    flags.Input
//	)
//	err := query.Parse("v=2")
//	if err := req.Parse(body); err != nil { … }
//	s := evaluator.Snapshot()
//	if err := req.Fill(&in, s, kind, now); err != nil { … }
//	dst, _ = wire.AppendResponse(dst[:0], s, &in, wire.Envelope{RequestID: id, EvaluatedAt: now})
//
// Between Fill and AppendResponse a server may add what it has stored about the
// person; [flags.Input.Needs] says what can matter.
//
// # Requests
//
// A body is JSON with the members of api.md §4.2 and their aliases (evaluation.md
// §8.1). If a field has several spellings, the first of that table counts; the last
// of duplicate members counts, and null is the same as absent. Unknown members are
// ignored. Where JSON is not accepted as it stands, bare NaN and Infinity are read
// as null (evaluation.md §8.3). Decompression, base64 and forms are the server's
// task.
//
// # Responses
//
// [AppendResponse] writes the v=2 form with its members in a fixed order: flags,
// errorsWhileComputingFlags, quotaLimited, requestId, evaluatedAt,
// minimalFlagCalledEvents, and then the members of the client configuration. It
// is valid JSON for every input. [AppendLegacy] writes the forms that older SDKs
// ask for (evaluation.md §11.2).
//
// # OpenFeature
//
// [Request.ParseContext] reads a body of OpenFeature's remote evaluation protocol in
// place of Parse, and [AppendEvaluation] and [AppendEvaluations] write its answers
// (wire.md §7).
//
// # Definitions
//
// [AppendDefinitions] writes the document from which SDKs evaluate flags by
// themselves, and from which [flags.Decode] makes the same flags again. Flags that
// an SDK would hash differently come with the order to ask the server.
// [DefinitionsETag] lets clients fetch the document only when it has changed.
//
// # Memory and concurrency
//
// Parse, Fill and AppendResponse allocate nothing in steady state. The price is
// that the strings of a [Request] are views of the body or of the Request's own
// memory: they are valid until the body changes or the next Parse, and so is an
// [flags.Input] that was filled from it. A Request serves one goroutine at a
// time. Errors name fields, never their contents. AppendDefinitions only reads the
// definitions, so that it may be called concurrently while nobody changes them.
//
// A nil Input or Result, and a nil pointer as the receiver of a method, is a panic.
package wire
