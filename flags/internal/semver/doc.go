// Package semver parses and compares versions as flag filters do.
//
// The texts of a filter and of a property become versions with [Parse], and
// [Compare] orders them:
//
//	v, ok := semver.Parse("v3.10")
//	semver.Compare(v, bound) > 0 // semver_gt
//
// The value of a range operator becomes a [Range] once, with [Tilde], [Caret]
// or [Wildcard], and [Range.Contains] tests each property. What cannot be
// parsed never matches, whichever the operator, semver_neq included.
//
// # Differences from Semantic Versioning 2.0.0
//
// The rules are those of evaluation.md §4.10. One leading v is ignored, and so
// are spaces after it and at the end. Minor and patch may be missing and are 0
// then, leading zeros do not count: v2, 2.0 and 02.0.0 are the same version.
// Build metadata takes part in the order, but not in ranges.
//
// # Ranges
//
//	Tilde     1.2.3   at least 1.2.3, same major and minor
//	Tilde     1       at least 1.0.0, below 1.1.0
//	Caret     1.2.3   at least 1.2.3, same major
//	Caret     0.2.3   at least 0.2.3, same minor
//	Caret     0.0.3   0.0.3
//	Wildcard  *       every release
//	Wildcard  1.*     every release of major 1
//	Wildcard  1.2.*   every release of minor 1.2
//	Wildcard  1.2.3   as Caret
//
// A pre-release is in a range only if the range was given with a pre-release of
// the same major, minor and patch: ~1.2.3-beta.1 has 1.2.3-beta.2, but not
// 1.2.4-beta.1.
//
// Nothing here allocates. A [Version] shares the memory of the text that it was
// parsed from. All functions are pure, all values safe for concurrent use.
package semver
