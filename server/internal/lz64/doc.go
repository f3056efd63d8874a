// Package lz64 decodes what the lz-string library's compressToBase64 writes: the
// encoding that posthog-js calls lz64 (wire.md §8).
//
// The text comes from strangers. A [Decoder] therefore takes a limit for its
// output and enforces it while decoding: a few kilobytes can expand to hundreds
// of megabytes. It never panics, and it needs memory only in proportion to
// input and limit.
//
// lz-string compresses UTF-16 code units. Output is UTF-8; surrogates without
// their other half become U+FFFD, as encoding/json does with escaped ones.
package lz64
