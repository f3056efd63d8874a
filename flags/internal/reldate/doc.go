// Package reldate reads the dates of flag conditions, absolute ones and spans
// back from now: evaluation.md §4.9.
//
// All types are values and safe for concurrent use. Reading the common forms
// (RFC 3339, plain dates, spans, epoch seconds) does not allocate.
package reldate
