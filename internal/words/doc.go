// Package words says a flag in words: an operator, a filter, a condition set, the variants, a
// place in a flag, and a value at a place. The console, the command line, the activity log
// and generated code say them by it, so that one filter reads alike wherever a person meets
// it. People count condition sets, filters and variants from 1, as the descriptions of
// reasons do (evaluation.md §3.7); paths and condition_index count from 0.
//
// The words are plain text, of any characters that the flag has: who shows them escapes them.
// Nothing here fails. What cannot be read is said to be that.
package words
