// Package text has the rules by which values of all JSON types become text,
// are folded, and are read as numbers: evaluation.md §4.1, §4.4, §4.5 and §4.7.
//
// The functions are pure and safe for concurrent use. Those that append
// allocate only when dst is too small.
package text
