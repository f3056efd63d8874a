// Package reference is the test oracle of package flags: a second evaluator,
// written straight from the specification.
//
// It is slow and obvious on purpose. It precompiles nothing, keeps nothing
// between requests, and states every rule where the specification has it. Each
// function names the section that it implements. Only tests use it, in three
// ways:
//
//   - [Parse] and [Document.Evaluate] evaluate a definitions document for a
//     request;
//   - [NewGenerator] makes random documents and requests for both evaluators;
//   - [Cases] has section 16 of the specification as data: every row, with the
//     expected results.
//
// Comparing two evaluators is useful only if they are independent. So this
// package imports no other package of the module, and was written without
// reading the engine's code. If the two differ, the specification decides which
// one is right.
//
// The specification is docs/spec/evaluation.md. A bare § in a comment is a
// section of it.
//
// A [Document] never changes after Parse and is safe for concurrent use. A
// [Generator] is not. Numbers are kept as JSON literals
// ([encoding/json.Number]) and free values as decoded JSON, because the texts
// of 1 and 1.0 differ (§4.1).
package reference
