// Package lz64 decodes the output of compressToBase64 of the library lz-string:
// the encoding that posthog-js calls lz64 (wire.md §8).
//
// The text comes from strangers, and a few kilobytes of it can expand to
// hundreds of megabytes. A [Decoder] therefore takes a limit for its output and
// enforces it while decoding. It never panics, and needs memory only in
// proportion to input and limit.
//
// lz-string compresses UTF-16 code units, and the output is UTF-8. A surrogate
// without its other half becomes U+FFFD, as encoding/json treats escaped ones.
package lz64
