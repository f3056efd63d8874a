package server

import (
	"compress/zlib"
	"errors"
	"fmt"
	"io"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
)

// decompress undoes the encodings that few clients use. Gzip has inflate.
func (b *body) decompress(encoding string, payload []byte) ([]byte, error) {
	b.source.Reset(payload)
	var r io.Reader
	var err error
	switch encoding {
	case "deflate":
		r, err = zlib.NewReader(&b.source)
	case "br":
		r = brotli.NewReader(&b.source)
	case "zstd":
		var d *zstd.Decoder
		// Frames may ask for windows of any size.
		d, err = zstd.NewReader(&b.source, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(8<<20), zstd.WithDecoderMaxMemory(uint64(b.maxDecoded)+1))
		if err == nil {
			defer d.Close()
			r = d
		}
	default:
		return nil, errCompression
	}
	if err == nil {
		b.inflated, err = b.readAll(b.inflated[:0], r, b.maxDecoded)
	}
	switch {
	case err == nil, errors.Is(err, errTooLarge), errors.Is(err, errBusy):
		return b.inflated, err
	case errors.Is(err, zstd.ErrDecoderSizeExceeded), errors.Is(err, zstd.ErrWindowSizeExceeded):
		return nil, errTooLarge
	}
	return nil, fmt.Errorf("%w: %w", errMalformed, err)
}

// analyticsBody reads and decodes a body of /i/v1/analytics/events, whose
// encoding is what the header says.
func (b *body) analyticsBody(encoding string) ([]byte, error) {
	switch encoding {
	case "", "identity":
		return b.raw, nil
	case "gzip":
		if !isGzip(b.raw) {
			return nil, errMalformed
		}
		return b.inflate(b.raw)
	}
	return b.decompress(encoding, b.raw)
}

// knownEncoding reports whether analyticsBody knows an encoding.
func knownEncoding(encoding string) bool {
	switch encoding {
	case "", "identity", "gzip", "deflate", "br", "zstd":
		return true
	}
	return false
}
