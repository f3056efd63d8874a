// Package source loads flag definitions and keeps an Evaluator current.
//
// A [Source] says where definitions come from: [Static] is a value, [File] a
// document on disk, [Remote] a server. [Cached] keeps those of another source on
// disk, for a start while that one is out of reach. A [Loader] loads, compiles
// and swaps:
//
//	var e flags.Evaluator
//	l := source.NewLoader(&e, source.File{Path: "flags.json"}, source.LoaderConfig{})
//	if err := l.Refresh(ctx); err != nil { … } // the first load, if it must succeed
//	go l.Run(ctx)                              // follows changes until ctx ends
//
// With a server, and a start that does not depend on it:
//
//	source.Cached{
//		Source: source.Remote{URL: "https://flags.example.com", ProjectKey: "phc_…", SecretKey: "phs_…"},
//		Path:   "/var/cache/backend/flags",
//	}
//
// # Guarantees
//
// A bad load keeps the last good snapshot and shows up in [Loader.Status]; the
// next good one replaces it. Evaluations never wait for a load, and at most one
// load runs at a time. A File is live within one interval of a change, two
// seconds by default, however it was replaced: in place, by renaming, or by
// switching a symbolic link as Kubernetes does.
//
// The first load is immediate. Later polls come at times that follow from the
// Loader's identity, so that those of many processes are spread over the
// interval, however they were started and whatever happened to all of them at
// once.
//
// [Loader.Status] has the origin of the definitions and when they left it.
//
// A Loader and the sources of this package are safe for concurrent use.
package source
