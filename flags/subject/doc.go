// Package subject adds stored data about its subject to a request for flags: the
// stored properties of a person and of groups, when the person was created, the
// static cohorts that the person is in, the hash keys of experience continuity, and
// the place of the client.
//
// A [Filler] reads only what can change the answer, as [flags.Input.Needs] tells:
//
//	if err := request.Fill(&in, snapshot, kind, now); err != nil { … }
//	failures := filler.Fill(ctx, subject.Request{Request: &request, Project: 1}, &in)
//	results := in.Evaluate()
//
// Distinct IDs and group keys are looked up as captured events store them: without
// NUL and cut to their longest length.
//
// Methods of nil pointers panic.
package subject
