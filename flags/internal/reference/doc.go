// Package reference is the test oracle of package flags: a second evaluator, written straight from the specification.
//
// It is slow and obvious on purpose. Nothing is precompiled or kept between requests, every rule stands where the
// specification has it, and each function names the section it implements. Its only use is in tests, in three ways:
//
//   - [Parse] and [Document.Evaluate] compute what a definitions document says for a request;
//   - [NewGenerator] makes random documents and requests, to be fed to both evaluators;
//   - [Cases] is section 16 of the specification as data: every row, with the expected results.
//
// A comparison of two evaluators is worth something only if they are independent: this package imports nothing of
// the module, and the engine's code was not read for it. When the two differ, the specification decides, not the vote.
//
// The specification is docs/spec/evaluation.md; a bare § in a comment is a section of it.
//
// A [Document] is never changed after Parse and may be evaluated concurrently; a [Generator] may not be shared.
// Numbers are kept as JSON literals ([encoding/json.Number]) and free values as decoded JSON, because the texts of
// 1 and 1.0 differ (§4.1).
package reference
