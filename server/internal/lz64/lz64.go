package lz64

import (
	"bytes"
	"errors"
	"math"
	"math/bits"
)

var (
	// ErrCorrupt says that the input is incomplete or not from lz-string.
	ErrCorrupt = errors.New("lz64: corrupt input")

	// ErrTooLarge says that the output would exceed the limit.
	ErrTooLarge = errors.New("lz64: output too large")
)

// A Decoder decodes one text after the other and reuses its dictionary. The
// zero value is ready to use. A Decoder is not safe for concurrent use.
type Decoder struct {
	// entries is the dictionary from firstCode on. An entry repeats text that
	// was already written, so it is a range of the output.
	entries []span
}

// Size returns the number of bytes that the dictionary keeps for the next text.
func (d *Decoder) Size() int { return cap(d.entries) * 8 } // a span has two uint32

// A span is a range of the output, counted from its start.
type span struct{ start, end uint32 }

// Codes that are not dictionary entries.
const (
	code8 = iota // followed by a new character in 8 bits
	code16
	codeEnd
	firstCode
)

// Append decodes src and appends the text to dst. Padding may be wrong or
// missing, and spaces count as plus signs, because decoding a form makes spaces
// of these. The error is ErrCorrupt, or ErrTooLarge if the text has more than
// max bytes; dst is then returned unchanged.
//
// While decoding, the text is UTF-8 in which each surrogate takes three bytes,
// so that dictionary entries can end between the halves of a pair. A last pass
// joins the halves.
func (d *Decoder) Append(dst, src []byte, max int) ([]byte, error) {
	d.entries = d.entries[:0]
	// A pair takes six bytes until it is joined, and four afterwards.
	limit := math.MaxInt32
	if max < limit/2 {
		limit = max + max/2
	}
	base := len(dst)
	out, err := d.decode(dst, src, limit)
	if err != nil {
		return dst[:base], err
	}
	out = joinPairs(out, base)
	if len(out)-base > max {
		return dst[:base], ErrTooLarge
	}
	return out, nil
}

func (d *Decoder) decode(out, src []byte, limit int) ([]byte, error) {
	var (
		base  = len(out)
		in    = reader{src: src}
		width = 2         // bits of the next code
		room  = 1         // number of codes until width grows
		prev  span        // the text of the previous code
		first = true      // there is no text yet
		next  = firstCode // the code of the next entry
	)
	shrink := func() {
		if room--; room == 0 {
			room = 1 << width
			width++
		}
	}
	for {
		code, ok := in.read(width)
		if !ok {
			return out, ErrCorrupt
		}
		cur := span{start: uint32(len(out) - base)}
		switch {
		case code == codeEnd:
			return out, nil
		case code < codeEnd: // a new character, which is also the next entry
			unit, ok := in.read(8 << code)
			if !ok {
				return out, ErrCorrupt
			}
			out = appendUnit(out, uint16(unit))
			cur.end = uint32(len(out) - base)
			d.entries = append(d.entries, cur)
			next++
			if !first {
				shrink()
			}
		case first:
			return out, ErrCorrupt
		case code < uint64(next):
			e := d.entries[code-firstCode]
			out = append(out, out[base+int(e.start):base+int(e.end)]...)
		case code == uint64(next): // the entry that this text completes
			n := prev.end - prev.start
			out = append(out, out[base+int(prev.start):base+int(prev.end)]...)
			out = append(out, out[len(out)-int(n):][:unitLen(out[len(out)-int(n)])]...)
		default:
			return out, ErrCorrupt
		}
		if len(out)-base > limit {
			return out, ErrTooLarge
		}
		cur.end = uint32(len(out) - base)
		if first {
			first, width, room = false, 3, 4
		} else {
			// The next entry is the previous text and the first unit of this
			// one, which follows it in the output.
			d.entries = append(d.entries, span{prev.start, cur.start + uint32(unitLen(out[base+int(cur.start)]))})
			next++
			shrink()
		}
		prev = cur
	}
}

// A reader reads numbers from base64 text. The most significant bit of a base64
// character comes first, and the least significant bit of a number comes first.
type reader struct {
	src []byte
	acc uint64 // bits not yet read, at the high end
	n   int    // number of these bits
}

// read returns the number in the next width bits, at most 57. It reports false
// if the text has ended or is not base64.
func (r *reader) read(width int) (uint64, bool) {
	for r.n < width {
		if len(r.src) == 0 {
			return 0, false
		}
		c := values[r.src[0]]
		r.src = r.src[1:]
		if c == padding {
			continue
		}
		if c == invalid {
			return 0, false
		}
		r.acc |= uint64(c) << (58 - r.n)
		r.n += 6
	}
	v := bits.Reverse64(r.acc) & (1<<width - 1)
	r.acc <<= width
	r.n -= width
	return v, true
}

const (
	padding = 0xFE
	invalid = 0xFF
)

// values maps base64 characters to their values.
var values = func() (t [256]byte) {
	for i := range t {
		t[i] = invalid
	}
	for i, c := range "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/" {
		t[c] = byte(i)
	}
	t[' '] = t['+']
	t['='] = padding
	return t
}()

// appendUnit appends a UTF-16 code unit as if it were a code point.
func appendUnit(dst []byte, u uint16) []byte {
	switch {
	case u < 0x80:
		return append(dst, byte(u))
	case u < 0x800:
		return append(dst, 0xC0|byte(u>>6), 0x80|byte(u&0x3F))
	default:
		return append(dst, 0xE0|byte(u>>12), 0x80|byte(u>>6&0x3F), 0x80|byte(u&0x3F))
	}
}

// unitLen returns the number of bytes that appendUnit wrote, from the first of
// them.
func unitLen(lead byte) int {
	switch {
	case lead < 0x80:
		return 1
	case lead < 0xE0:
		return 2
	default:
		return 3
	}
}

// joinPairs makes valid UTF-8 of out[base:] in place. In its bytes, a surrogate
// begins with 0xED and a byte from 0xA0 on; from 0xB0 on, it is a low
// surrogate.
func joinPairs(out []byte, base int) []byte {
	to, from := base, base
	for {
		n := bytes.IndexByte(out[from:], 0xED)
		if n < 0 {
			n = len(out) - from
		}
		to += copy(out[to:], out[from:from+n])
		if from += n; from == len(out) {
			return out[:to]
		}
		s := out[from:]
		switch {
		case s[1] < 0xA0:
			to += copy(out[to:], s[:3])
		case s[1] < 0xB0 && len(s) >= 6 && s[3] == 0xED && s[4] >= 0xB0:
			r := 0x10000 + (rune(s[1]&0x0F)<<6|rune(s[2]&0x3F))<<10 + (rune(s[4]&0x0F)<<6 | rune(s[5]&0x3F))
			from += 6
			to += copy(out[to:], string(r))
			continue
		default:
			to += copy(out[to:], "\uFFFD")
		}
		from += 3
	}
}
