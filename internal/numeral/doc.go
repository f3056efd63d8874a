// Package numeral has the rules by which flag filters convert numbers to texts and texts to
// numbers (evaluation.md §4.1 and §4.7): [Append] writes a number of JSON as the public system
// does, unless it [IsCanonicalInteger], and [Float] reads a text. In cases that the rules do not
// cover it follows Rust and its serde_json.
//
// All functions are pure and take time linear in the length of the input. Those that append
// return the extended buffer, which must not overlap the input.
package numeral
