// Package text has the rules by which flag filters turn values into text and
// text into numbers.
//
// [Str] is what evaluation.md calls str(x): a string as it is, anything else as
// compact JSON. It allocates and is meant for the values of filters, which are
// compiled once. For properties there are its parts, which append to a buffer
// of the caller:
//
//	string                 jsonscan.Value.AppendString
//	number                 [AppendNumber], unless [IsCanonicalInteger]
//	array, object          [AppendJSON]
//	true, false, null      the JSON itself
//
// Texts are compared without regard to case in two ways, [Lower] with all of
// Unicode for exact and is_not, and [AppendLowerASCII] with A to Z alone for
// the operators on substrings. Most texts are equal to both: ask [Folded].
//
// Numbers in strings follow the grammar of [Float].
//
// # Compact JSON
//
// No white space; members of objects in the order of the bytes of their names,
// of several members with one name the last; numbers as AppendNumber writes
// them; in strings only quotes, backslashes and control characters escaped.
//
// # Sources
//
// The rules are those of evaluation.md §4.1, §4.4, §4.5 and §4.7. Where those are
// silent, texts and numbers are what Rust and its serde_json make of them, as in
// PostHog's flag service.
//
// Functions that append return the extended buffer, as the built-in append
// does; the buffer must not overlap the input. All functions are pure and take
// time linear in the length of the input, but for the sorting of members.
package text
