// Package casefold compares texts without regard to case (evaluation.md §4.4 and §4.5), in two
// ways: [Lower] has all of Unicode, for exact and is_not, and [AppendLowerASCII] A to Z only,
// for the operators on substrings. For most texts both give the text itself, which [Folded]
// reports. In cases that the rules do not cover it follows Rust, as PostHog's flag service does.
//
// All functions are pure and take time linear in the length of the input. Those that append
// return the extended buffer, which must not overlap the input.
package casefold
