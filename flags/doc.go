// Package flags evaluates feature flags in-process, in nanoseconds and without
// I/O: rollouts, variants, payloads, property targeting, cohorts, groups,
// holdouts, dependencies and early access, as PostHog's flag service does.
//
// # Use
//
// Definitions are read once, compiled, and swapped in:
//
//	d, err := flags.Decode(file)            // JSON of a definitions document
//	s, err := flags.Compile(d, flags.CompileOptions{})
//	var e flags.Evaluator                   // keep it for the life of the process
//	e.Swap(s)
//
//	if e.Bool("new-checkout", &flags.Request{DistinctID: "user-1"}, false) { … }
//
// A request that is made for one call costs no allocation if its properties are a list:
//
//	e.Bool("new-checkout", &flags.Request{
//		DistinctID: id,
//		Person:     []flags.Property{flags.StringProperty("plan", plan), flags.IntProperty("seats", n)},
//	}, false)
//
// Package flags/source loads definitions from a file or a server and keeps them
// current; package flags/flagstest builds them in tests. Package flags/diff says what a change
// of definitions does to users.
//
// # Stages
//
// [Definitions] is the mutable model. [Compile] turns it into a [Snapshot],
// which never changes: property names become slots, equal comparisons are
// shared, dependencies are ordered, every possible result is rendered. An
// [Evaluator] holds the current snapshot behind an atomic pointer; evaluations
// under way finish on the one they started with.
//
// A flag that cannot be understood hurts no other: it fails when it is
// evaluated, and [Snapshot.Problems] says what to do about it. No method
// panics on bad definitions or requests.
//
// # Answers
//
// [Evaluator.Bool], [Evaluator.Variant] and [Evaluator.Payload] take a fallback
// or return an error, never both. A [Snapshot] has the same methods, for several
// questions that want one truth, and [Snapshot.Lookup]. [Snapshot.Evaluate] and [Snapshot.Flag] give
// the full [Result] with reason and metadata, [Snapshot.Explain] every step
// that led to it. Servers that hold a request's JSON use an [Input] and
// [Input.AppendFlags], which writes the answer without allocating, or
// [Input.AppendRendered], which does so in another form. All of them agree on every request.
//
// # Concurrency
//
// Snapshot and Evaluator are safe for concurrent use. A Request may be shared
// while nobody changes it. An Input serves one goroutine at a time.
//
// # Nothing there
//
// A nil Evaluator, Snapshot, Results or Index answers as if nothing were loaded, and
// so does its zero value. Other methods of nil pointers panic.
//
// # Where things are
//
// docs/spec/evaluation.md has the rules; comments cite its sections.
//
//   - definitions.go: the model; flag.go: a flag and the table of its fields; decode.go reads,
//     encode.go writes
//   - references.go: what filters refer to; internal/operators: the table of operators
//   - compiled.go: what a Snapshot is made of
//   - compile.go and compile_*.go: from the model to a Snapshot; lint.go: warnings
//   - values.go: what a Go caller gets, ref.go: by number; decide.go: the evaluation of one flag; quick.go:
//     its short cut
//   - checks.go, cohorts.go, bucketing.go: what operators do, membership, hashing
//   - admission.go, flagset.go: which flags a request evaluates
//   - stored_needs.go, remote.go: what only a server knows, and what it has answered
//   - input.go, request.go, property.go: a request; properties.go, slots.go: what it says
//   - answers.go, results.go, render.go: results and their bytes
//   - needs.go, explain.go: what is asked about flags besides
//
// The bucketing hash is SHA-1 unless a flag asks for xxHash64. Compile returns an
// error where the Go runtime refuses SHA-1 (FIPS 140-only mode).
package flags
