// Package source loads flag definitions and keeps an Evaluator current.
//
// A [Source] provides definitions: [Static] from a value, [File] from a
// document on disk, [Remote] from a server. [Cached] keeps the definitions of
// another source on disk, so that a program can start while that source cannot
// be reached. A [Loader] loads, compiles and swaps:
//
//	var e flags.Evaluator
//	l := source.NewLoader(&e, source.File{Path: "flags.json"}, source.LoaderConfig{})
//	if err := l.Refresh(ctx); err != nil { … } // the first load, if it must succeed
//	go l.Run(ctx)                              // follows changes until ctx ends
//
// This source follows a server, and does not need the server at the start:
//
//	source.Cached{
//		Source: source.Remote{URL: "https://flags.example.com", ProjectKey: "phc_…", SecretKey: "phs_…"},
//		Path:   "/var/cache/backend/flags",
//	}
//
// # Guarantees
//
// A failed load keeps the last good snapshot and is reported by
// [Loader.Status]; the next good one replaces it. Evaluations never wait for a
// load, and at most one load runs at a time. A change of a File is live within
// one interval, two seconds by default, whether the file was changed in place,
// replaced by renaming, or switched by a symbolic link as Kubernetes does.
//
// The first load is immediate. The times of later polls follow from the
// Loader's identity. So the polls of many processes are spread over the
// interval, even if all of them were started or interrupted at the same moment.
//
// [Loader.Status] has the origin of the definitions and the time when they left
// it.
//
// A Loader and the sources of this package are safe for concurrent use.
package source
