package server

import (
	"compress/zlib"
	"errors"
	"fmt"
	"io"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
)

// decompress undoes the encodings that few clients use. inflate does gzip.
func (b *body) decompress(encoding string, payload []byte) ([]byte, error) {
	const beside = 512 << 10 // bytes of a decompressor besides its window
	b.source.Reset(payload)
	var r io.Reader
	var err error
	switch encoding {
	case "deflate":
		if err := b.charge(deflateMemory); err != nil {
			return nil, err
		}
		r, err = zlib.NewReader(&b.source)
	case "br":
		if err := b.charge(brotliWindow(payload) + beside); err != nil {
			return nil, err
		}
		r = brotli.NewReader(&b.source)
	case "zstd":
		window := zstdWindow(payload)
		if err := b.charge(window + beside); err != nil {
			return nil, err
		}
		var d *zstd.Decoder
		d, err = zstd.NewReader(&b.source, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(uint64(window)))
		if err == nil {
			defer d.Close()
			r = d
		}
	default:
		return nil, errCompression
	}
	if err == nil {
		b.inflated, err = b.readAll(b.inflated[:0], r, 0, b.maxDecoded)
	}
	switch {
	case err == nil, errors.Is(err, errTooLarge), errors.Is(err, errBusy):
		return b.inflated, err
	case errors.Is(err, zstd.ErrDecoderSizeExceeded), errors.Is(err, zstd.ErrWindowSizeExceeded): // about the size of the window
		return nil, errTooLarge
	}
	return nil, fmt.Errorf("%w: %w", errMalformed, err)
}

// brotliWindow returns the size of the window that a stream asks for (RFC 7932
// §9.1), in bytes, at most 16 MiB.
func brotliWindow(stream []byte) int64 {
	if len(stream) == 0 {
		return 0
	}
	switch c := stream[0]; {
	case c&1 == 0:
		return 1 << 16
	case c>>1&7 != 0:
		return 1 << (17 + c>>1&7)
	case c>>4&7 != 0:
		return 1 << (8 + c>>4&7)
	}
	return 1 << 17
}

// zstdWindow returns how many bytes the windows of a body may have: what its first
// frame asks for, but at most what RFC 8878 §3.1.1.1.2 wants decoders to support,
// and at least what later frames usually ask for.
func zstdWindow(body []byte) int64 {
	const usual = 1 << 20
	var h zstd.Header
	if h.Decode(body) != nil {
		return usual
	}
	window := h.WindowSize
	switch {
	case h.Skippable: // another frame follows
		window = maxZstdWindow
	case h.SingleSegment:
		window = h.FrameContentSize
	}
	return int64(max(usual, min(window, maxZstdWindow)))
}

const maxZstdWindow = 8 << 20

// analyticsBody reads and decodes a body of /i/v1/analytics/events. Its encoding is
// the one in the header.
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
