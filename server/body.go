package server

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/flagstaff-go/flagstaff/flags/wire"
	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
	"github.com/flagstaff-go/flagstaff/server/internal/lz64"
)

// A body reads and decodes the bodies of requests. SDKs compress and wrap them in
// many ways and do not always declare it, so a body looks at what it reads rather
// than at declarations (evaluation.md §8.3, wire.md §0.2).
//
// Each stage has a buffer of its own, because the parsed request refers to the last
// one that was needed.
type body struct {
	in                  arrival
	maxBody, maxDecoded int64
	budget              *budget
	charged             int64 // bytes, to the budget

	raw      []byte // as it arrived
	inflated []byte // gunzipped
	text     []byte // without percent-encoding
	plain    []byte // base64 or lz64 decoded
	inner    []byte // base64 in base64 decoded

	source bytes.Reader
	gzip   *gzip.Reader
	lz64   lz64.Decoder
}

// size returns how many bytes of memory a body keeps for the next one.
func (b *body) size() int {
	n := cap(b.raw) + cap(b.inflated) + cap(b.text) + cap(b.plain) + cap(b.inner) + b.lz64.Size()
	if b.gzip != nil {
		n += deflateMemory
	}
	return n
}

// parse reads the body of r into req. compression is the query's. Errors of
// wire.Request.Parse are errMalformed, and req may then have an APIKey.
func (b *body) parse(r *http.Request, compression string, req *wire.Request) error {
	req.APIKey = "" // until this body has one
	form, err := isForm(r.Header.Get("Content-Type"))
	if err != nil {
		return err
	}
	encoding, err := parseEncoding(compression)
	if err != nil {
		return err
	}
	if err := b.read(); err != nil {
		return err
	}

	payload := b.raw
	if isBlank(payload) {
		return errEmptyBody
	}
	// curl -d calls JSON a form unless it is told otherwise.
	form = form && !looksLikeJSON(payload)
	switch zipped := isGzip(payload); {
	case form || bytes.HasPrefix(payload, []byte("data=")):
		if zipped || encoding == encodedGzip {
			return fmt.Errorf("%w: gzip in a form", errCompression)
		}
		data, hint, ok := formData(payload)
		if !ok {
			return errNoForm
		}
		if encoding == encodedUnknown {
			if encoding, err = parseEncoding(string(hint)); err != nil {
				return err
			}
		}
		if err := b.unescape(data); err != nil {
			return err
		}
		payload = withPluses(b.text)
	case zipped:
		if payload, err = b.inflate(payload); err != nil {
			return err
		}
	}

	if looksLikeJSON(payload) {
		return b.parseJSON(payload, req)
	}
	switch encoding {
	case encodedLZ64: // before base64: it may look like base64 by accident
		if payload, err = b.decodeLZ64(payload); err != nil {
			return err
		}
		return b.parseJSON(payload, req)
	case encodedBase64:
		if payload, err = b.decodeBase64(payload); err != nil {
			return err
		}
		return b.parseJSON(payload, req)
	}
	err = b.parseJSON(payload, req)
	if errors.Is(err, wire.ErrSyntax) {
		decoded, errBase64 := b.decodeBase64(payload)
		switch {
		case errBase64 == nil:
			if errDecoded := b.parseJSON(decoded, req); !errors.Is(errDecoded, wire.ErrSyntax) {
				return errDecoded
			}
		case errors.Is(errBase64, errBusy), errors.Is(errBase64, errTooLarge):
			return errBase64
		}
	}
	return err
}

// parseContext reads the body of r into req as a body of OpenFeature's remote
// evaluation protocol: JSON, which may be gzipped. Errors of
// wire.Request.ParseContext are errMalformed.
func (b *body) parseContext(r *http.Request, req *wire.Request) error {
	form, err := isForm(r.Header.Get("Content-Type"))
	switch {
	case err != nil:
		return err
	case form:
		return errContentType
	}
	if err := b.read(); err != nil {
		return err
	}
	payload := b.raw
	if isGzip(payload) {
		if payload, err = b.inflate(payload); err != nil {
			return err
		}
	}
	if err := b.charge(requestMemory(payload)); err != nil {
		return err
	}
	return malformed(req.ParseContext(payload))
}

// isBlank reports whether a payload has nothing but white space.
func isBlank(payload []byte) bool { return len(bytes.TrimLeft(payload, " \t\r\n")) == 0 }

// looksLikeJSON reports whether a payload begins like an object. Neither a form nor
// any encoding can.
func looksLikeJSON(payload []byte) bool {
	trimmed := bytes.TrimLeft(payload, " \t\r\n")
	return len(trimmed) > 0 && trimmed[0] == '{'
}

func (b *body) parseJSON(payload []byte, req *wire.Request) error {
	if isBlank(payload) {
		return errEmptyBody
	}
	if err := b.charge(requestMemory(payload)); err != nil {
		return err
	}
	return malformed(req.Parse(payload))
}

// requestMemory returns about how many bytes a parsed body takes besides itself:
// decoded texts, and lists of strings in several forms.
func requestMemory(payload []byte) int64 {
	const perElement, mostElements = 64, 1 << 16 // bytes; what a list may have
	if len(payload) < uncounted {
		return 0
	}
	return int64(len(payload) + perElement*min(bytes.Count(payload, []byte{','}), mostElements))
}

func malformed(err error) error {
	if err != nil {
		return fmt.Errorf("%w: %w", errMalformed, err)
	}
	return nil
}

// isForm reports whether a Content-Type declares a form. The error is
// errContentType unless the type declares a form, JSON or text, or is missing.
func isForm(contentType string) (bool, error) {
	mediaType, _, _ := strings.Cut(contentType, ";")
	mediaType = strings.TrimSpace(mediaType)
	switch {
	case mediaType == "", strings.EqualFold(mediaType, "application/json"), strings.EqualFold(mediaType, "text/plain"):
		return false, nil
	case strings.EqualFold(mediaType, "application/x-www-form-urlencoded"):
		return true, nil
	}
	return false, errContentType
}

// An encoding is what the query or a form says about a body.
type encoding uint8

const (
	encodedUnknown encoding = iota
	encodedGzip
	encodedBase64
	encodedLZ64
)

func parseEncoding(compression string) (encoding, error) {
	switch compression {
	case "":
		return encodedUnknown, nil
	case "gzip", "gzip-js":
		return encodedGzip, nil
	case "base64":
		return encodedBase64, nil
	case "lz64", "lz-string":
		return encodedLZ64, nil
	}
	return 0, compressionError(compression)
}

// A compressionError is errCompression for the name of a compression.
type compressionError string

func (e compressionError) Error() string { return errCompression.Error() + " " + e.quoted() }

func (e compressionError) Unwrap() error { return errCompression }

func (e compressionError) quoted() string { return strconv.Quote(jsonscan.Clip([]byte(e))) }

// read reads the body into b.raw. A body that is known to be too large is refused
// before it arrives.
func (b *body) read() error {
	b.hold()
	b.raw = b.raw[:0]
	if b.in.length > b.maxBody {
		return errTooLarge
	}
	if b.in.ended { // there is none
		return nil
	}
	// The length is only a promise, so memory grows as bytes arrive.
	var err error
	if b.raw, err = b.room(b.raw, int(min(max(b.in.length, 0), 32<<10)+1)); err != nil {
		return err
	}
	if b.raw, err = b.readAll(b.raw, &b.in, b.in.length, b.maxBody); err != nil && !errors.Is(err, errTooLarge) && !errors.Is(err, errBusy) {
		if _, ok := errors.AsType[*http.MaxBytesError](err); ok { // from a handler around this one
			return errTooLarge
		}
		return fmt.Errorf("%w: %w", errInterrupted, err)
	}
	return err
}

// readAll reads all of r into the memory of dst, which is empty. expected is how many
// bytes there should be, if anybody has said so. The error is errTooLarge if there
// are more than limit bytes, and errBusy if other requests have the memory.
func (b *body) readAll(dst []byte, r io.Reader, expected, limit int64) ([]byte, error) {
	for {
		if len(dst) == cap(dst) {
			had := int64(cap(dst))
			n := max(512, min(2*had, limit+1))
			if n < expected && expected <= 8*had { // it has become credible
				n = min(expected, limit) + 1
			}
			if err := b.charge(n); err != nil {
				return dst, err
			}
			dst = append(make([]byte, 0, n), dst...)
			b.discharge(had)
		}
		n, err := r.Read(dst[len(dst):cap(dst)])
		dst = dst[:len(dst)+n]
		if int64(len(dst)) > limit {
			return dst, errTooLarge
		}
		if err == io.EOF {
			return dst, nil
		}
		if err != nil {
			return dst, err
		}
	}
}

// room returns the memory of buffer without its content, or new memory if it has
// fewer than n bytes. The error is errBusy if other requests have the memory.
func (b *body) room(buffer []byte, n int) ([]byte, error) {
	if n <= cap(buffer) {
		return buffer[:0], nil
	}
	if err := b.charge(int64(n)); err != nil {
		return buffer[:0], err
	}
	b.discharge(int64(cap(buffer)))
	return make([]byte, 0, n), nil
}

// isGzip looks for the magic number of gzip and its only method.
func isGzip(b []byte) bool { return bytes.HasPrefix(b, []byte{0x1F, 0x8B, 0x08}) }

// deflateMemory is about how many bytes a decompressor of gzip or zlib has.
const deflateMemory = 44 << 10

func (b *body) inflate(payload []byte) ([]byte, error) {
	b.source.Reset(payload)
	var err error
	if b.gzip == nil {
		if err := b.charge(deflateMemory); err != nil {
			return nil, err
		}
		b.gzip, err = gzip.NewReader(&b.source)
	} else {
		err = b.gzip.Reset(&b.source)
	}
	if err == nil {
		b.inflated, err = b.readAll(b.inflated[:0], b.gzip, 0, b.maxDecoded)
	}
	if err != nil && !errors.Is(err, errTooLarge) && !errors.Is(err, errBusy) {
		return nil, fmt.Errorf("%w: %w", errMalformed, err)
	}
	return b.inflated, err
}

// formData returns the fields data and compression of a form, still encoded.
func formData(form []byte) (data, compression []byte, ok bool) {
	for len(form) > 0 {
		var pair []byte
		pair, form, _ = bytes.Cut(form, []byte("&"))
		name, value, _ := bytes.Cut(pair, []byte("="))
		switch string(name) {
		case "data":
			if !ok {
				data, ok = value, true
			}
		case "compression":
			compression = value
		}
	}
	return data, compression, ok
}

func (b *body) decodeLZ64(payload []byte) ([]byte, error) {
	payload = bytes.Trim(payload, "\t\r\n") // blanks are plus signs here
	if bytes.IndexByte(payload, '%') >= 0 {
		if err := b.unescape(payload); err != nil {
			return nil, err
		}
		payload = b.text
	}
	most := lz64Memory(int64(len(payload)), b.maxDecoded)
	err := b.charge(most)
	if err != nil {
		return nil, err
	}
	b.plain, err = b.lz64.Append(b.plain[:0], payload, int(b.maxDecoded))
	b.discharge(most - min(most, int64(cap(b.plain)+b.lz64.Size())))
	switch {
	case errors.Is(err, lz64.ErrTooLarge):
		return nil, errTooLarge
	case err != nil:
		return nil, fmt.Errorf("%w: %w", errMalformed, err)
	}
	return b.plain, nil
}

// lz64Memory returns how many bytes decoding n bytes of lz64 takes at most, if the
// output is limited to limit bytes.
func lz64Memory(n, limit int64) int64 {
	// A code has as many bits as are needed to count the codes before it: the first
	// 4096 have at most 12, the others more, and a byte of input has 6. Code k
	// repeats at most k units of text, each up to 3 bytes, and decoding stops only
	// after 1.5 times the limit. A buffer that grows exists twice for a moment.
	codes := min(n, n/2+4096) + 16
	return 2*min(3*codes*codes/2, limit+limit/2) + 2*8*codes
}

// unescape decodes percent-encoding into b.text. s may be b.text.
func (b *body) unescape(s []byte) (err error) {
	if b.text, err = b.room(b.text, len(s)); err == nil {
		b.text = appendUnescaped(b.text, s)
	}
	return err
}

// decodeBase64 removes percent-encoding and white space, and accepts wrong padding.
func (b *body) decodeBase64(payload []byte) ([]byte, error) {
	if err := b.unescape(payload); err != nil {
		return nil, err
	}
	n := 0
	for _, c := range b.text {
		switch c {
		case ' ', '\t', '\r', '\n':
		default:
			b.text[n] = c
			n++
		}
	}
	text := bytes.TrimRight(b.text[:n], "=")
	var err error
	if b.plain, err = b.room(b.plain, base64.RawStdEncoding.DecodedLen(len(text))); err != nil {
		return nil, err
	}
	if b.plain, err = base64.RawStdEncoding.AppendDecode(b.plain, text); err != nil {
		return nil, malformed(err)
	}
	return b.plain, nil
}

// appendUnescaped appends s to dst with percent-encoded bytes decoded. A percent
// sign that encodes nothing stays. dst may begin where s does.
func appendUnescaped(dst, s []byte) []byte {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == '%' && i+2 < len(s) {
			hi, okHi := unhex(s[i+1])
			lo, okLo := unhex(s[i+2])
			if okHi && okLo {
				c = hi<<4 | lo
				i += 2
			}
		}
		dst = append(dst, c)
	}
	return dst
}

func unhex(c byte) (byte, bool) {
	switch {
	case '0' <= c && c <= '9':
		return c - '0', true
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return c | 0x20 - 'a' + 10, true
	}
	return 0, false
}
