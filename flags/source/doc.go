// Package source loads flag definitions and keeps an Evaluator current.
//
// A [Source] provides definitions, and may say more as an [Originator] or a [Pacer]: [Static] from a value, [File] from a
// document on disk, [Remote] from a server. [Cached] keeps the definitions of
// another source on disk, so that a program can start while that source cannot
// be reached. A [Loader] loads, compiles and swaps:
//
//	var e flags.Evaluator
//	l := source.NewLoader(&e, source.File{Path: "flags.json"}, source.LoaderConfig{})
//	if err := l.Refresh(ctx); err != nil { … } // the first load, if it must succeed
//	go l.Run(ctx)                              // follows changes until ctx ends
//	defer l.Close()                            // or until this has returned
//
// This source follows a server, and does not need the server at the start:
//
//	source.Cached{
//		Source: source.Remote{URL: "https://flags.example.com", ProjectKey: "phc_…", SecretKey: "phs_…"},
//		Path:   "/var/cache/backend/flags",
//	}
//
// # What only the server knows
//
// Definitions do not have everything that a server has: the stored properties of
// persons and groups, the members of static cohorts, the hash keys of experience
// continuity. A flag that looks at such a thing, itself or through cohorts and flags
// that it depends on, can have another value in this process than on the server.
// There are three ways to deal with it.
//
// Give the request what the program knows: properties of the person and the groups,
// Cohorts and Overrides of [flags.Request]. A property in the request counts on the
// server, too, so that both come to the same value.
//
// Let the server evaluate, for exactly the flags and the persons that need it:
//
//	from := source.Remote{URL: …, ProjectKey: "phc_…", SecretKey: "phs_…", Evaluate: true}
//	l := source.NewLoader(&e, from, source.LoaderConfig{})
//	…
//	r := &flags.Request{DistinctID: "user-1"}
//	r.RemoteResults = l.RemoteResults(ctx, r) // at most one request to the server, often none
//	e.Bool("beta", r, false)  // the server's value
//
// [Loader.RemoteResults] sends nothing if the request lacks nothing. It keeps answers for
// [Remote.ResultTTL] (ten seconds) or until definitions change, sends one request for
// equal calls at the same moment, and waits for [Remote.EvaluateTimeout] (500 ms) at most.
// After three failed requests in a row it leaves the server alone, for a second at
// first and half a minute at most, so that a dead server costs no time. What the
// server has not answered is evaluated here, and [flags.Result.Unconfirmed] says so.
// The server looks up no place for the address of this program. Each request to the
// server counts as any request for flags does, for quotas and for experience
// continuity, and [Status] counts them.
//
// Or live with the difference, and know where it is: [flags.Snapshot.NeedsOf] says
// what a flag needs, [flags.Snapshot.Explain] what a request lacks, and the Problems
// in the [Status] of a Loader with a Remote that is not asked have a note for each
// such flag.
//
// # Guarantees
//
// A failed load keeps the last good snapshot and is reported by
// [Loader.Status]; the next good one replaces it. A flag that a newer document of a File
// breaks keeps its last good definition until it is mended (evaluation.md §1.9); for a
// [Remote], KeepLast asks for the same. The Status has what is kept, and so has the cache of
// a [Cached]. Evaluations never wait for a
// load, and at most one load runs at a time. A change of a File is live within
// one interval, two seconds by default, whether the file was changed in place,
// replaced by renaming, or switched by a symbolic link as Kubernetes does.
//
// A change on a Flagstaff server is live within a second of the change, while a [Remote] of
// it can follow its event stream.
//
// The first load is immediate. The times of later polls follow from the
// Loader's identity. So the polls of many processes are spread over the
// interval, even if all of them were started or interrupted at the same moment.
//
// [Loader.Status] has the origin of the definitions and the time when they left
// it. As JSON or text it is fit for a health page.
//
// A Loader and the sources of this package are safe for concurrent use.
package source
