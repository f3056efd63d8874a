// Package semver parses and compares versions as flag filters do.
//
// The texts of a filter and of a property become versions with [Parse], and
// [Compare] orders them:
//
//	v, ok := semver.Parse("v3.10")
//	semver.Compare(&v, &bound) > 0 // semver_gt
//
// [Tilde], [Caret] or [Wildcard] turn the value of a range operator into a
// [Range] once, and [Range.Contains] tests the version of each property. A text
// that cannot be parsed never matches, for any operator, including semver_neq.
//
// # Differences from Semantic Versioning 2.0.0
//
// The rules are in evaluation.md §4.10. One leading v is ignored, and so are
// spaces after it and at the end. Minor and patch may be missing, which means
// 0, and leading zeros do not count: v2, 2.0 and 02.0.0 are the same version.
// Build metadata affects the order, but not ranges.
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
//	Wildcard  1.2.3   as Caret; 0 is every release of major 0, and not 0.0.0
//	Wildcard  x, 1.X  as with stars
//	Wildcard  >=1.2, <2  a list, of which all must hold; also behind Tilde and Caret
//
// A pre-release is in a range only if the range was given with a pre-release of
// the same major, minor and patch: ~1.2.3-beta.1 contains 1.2.3-beta.2, but not
// 1.2.4-beta.1.
//
// Only ranges allocate, when they are parsed. A [Version] shares the memory of the text
// that it was parsed from. All functions are pure, and all values are safe for
// concurrent use.
package semver
