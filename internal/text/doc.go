// Package text has the rules by which flag filters convert values to text.
//
// [Str] is the function that evaluation.md calls str(x): it returns a string as
// it is, and anything else as compact JSON. It allocates, and is meant for the
// values of filters, which are compiled once. Properties are converted by its
// parts, which append to the caller's buffer:
//
//	string                 jsonscan.Value.AppendString
//	number                 [numeral.Append], unless [numeral.IsCanonicalInteger]
//	array, object          [AppendJSON]
//	true, false, null      the JSON itself
//
// # Compact JSON
//
// Compact JSON has no white space. The members of an object are sorted by the bytes
// of their names; the last of several members with one name counts. Numbers are as
// package numeral writes them. Strings have escapes only for quotes, backslashes and
// control characters.
//
// [CSVCell] is about texts that people open in spreadsheets, [Matches] about patterns of keys
// and paths, and [Shorten] about what errors show.
//
// # Sources
//
// The rules are in evaluation.md §4.1. In cases that these do not cover, texts follow Rust and
// its serde_json, as in PostHog's flag service.
//
// Functions that append return the extended buffer, as the built-in append does;
// the buffer must not overlap the input. All functions are pure and take time
// linear in the length of the input, except for the sorting of members.
package text
