package text

import (
	"bytes"
	"slices"
	"unicode/utf8"

	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
	"github.com/flagstaff-go/flagstaff/internal/numeral"
)

// Str returns str(x) of a JSON value (evaluation.md §4.1): a string as it is,
// anything else as [AppendJSON] writes it. It reports false if v is not valid
// JSON or nested deeper than [jsonscan.MaxDepth]. White space around the value
// is allowed.
func Str(v []byte) (string, bool) {
	x, err := jsonscan.Parse(v, jsonscan.MaxDepth)
	if err != nil {
		return "", false
	}
	if x.Kind() == jsonscan.String {
		if s, ok := x.Plain(); ok {
			return string(s), true
		}
		s, ok := x.AppendString(nil)
		return string(s), ok
	}
	return string(appendValue(nil, x)), true
}

// AppendJSON appends any JSON value as compact JSON (evaluation.md §4.1; the
// package comment defines it). A string is quoted, unlike in [Str]. AppendJSON
// reports false, and returns dst unchanged, if v is not valid JSON or is nested
// deeper than [jsonscan.MaxDepth]. White space around the value is allowed.
//
// Arrays and scalars need no allocation except for room in dst, and neither do
// objects with up to a dozen members in all and no escapes in their names.
func AppendJSON(dst, v []byte) ([]byte, bool) {
	x, err := jsonscan.Parse(v, jsonscan.MaxDepth)
	if err != nil {
		return dst, false
	}
	return appendValue(dst, x), true
}

// appendValue appends a valid value.
func appendValue(dst []byte, v jsonscan.Value) []byte {
	if bytes.IndexByte(v, '{') < 0 {
		w := writer{json: v}
		dst, _, _ = w.appendValue(dst, 0, 0)
		return dst
	}
	var x index
	x.json = v
	x.add(0)
	w := writer{json: v, index: &x}
	dst, _, _ = w.appendValue(dst, 0, 0)
	return dst
}

// A writer writes a valid JSON value. The index has the objects in it, and may
// be nil if there are none.
type writer struct {
	json  []byte
	index *index
}

// appendValue appends the value at json[i]. Its entries in the index, if it has
// any, begin at e. The results are the indexes after the value and after its
// entries.
func (w *writer) appendValue(dst []byte, i, e int) (_ []byte, end, next int) {
	switch w.json[i] {
	case '[':
		dst = append(dst, '[')
		for i = skipSpace(w.json, i+1); w.json[i] != ']'; {
			dst, i, e = w.appendValue(dst, i, e)
			if i = skipSpace(w.json, i); w.json[i] == ',' {
				dst = append(dst, ',')
				i = skipSpace(w.json, i+1)
			}
		}
		return append(dst, ']'), i + 1, e
	case '{':
		object := w.index.at(e)
		dst = append(dst, '{')
		for m := object.first; m != 0; {
			member := w.index.at(m)
			dst = appendQuotedUTF8(dst, w.index.name(member))
			dst = append(dst, ':')
			dst, _, _ = w.appendValue(dst, member.json, m+1)
			if m = member.next; m != 0 {
				dst = append(dst, ',')
			}
		}
		return append(dst, '}'), object.json, object.next
	case '"':
		end = skipScalar(w.json, i)
		return appendString(dst, w.json[i:end]), end, e
	case 't', 'f', 'n':
		end = skipScalar(w.json, i)
		return append(dst, w.json[i:end]...), end, e
	default:
		end = skipScalar(w.json, i)
		return numeral.Append(dst, w.json[i:end]), end, e
	}
}

// skipSpace returns the index of the first byte from i on that is not white
// space. There must be one.
func skipSpace(json []byte, i int) int {
	for json[i] <= ' ' {
		i++
	}
	return i
}

// skipScalar returns the index after the scalar at json[i], which is valid.
func skipScalar(json []byte, i int) int {
	if json[i] == '"' {
		for i++; json[i] != '"'; i++ {
			if json[i] == '\\' {
				i++
			}
		}
		return i + 1
	}
	for i < len(json) {
		switch json[i] {
		case ',', ']', '}', ' ', '\t', '\n', '\r':
			return i
		}
		i++
	}
	return i
}

// appendString appends a JSON string with no more escapes than it needs.
func appendString(dst []byte, v jsonscan.Value) []byte {
	dst = append(dst, '"')
	if s, ok := v.Plain(); ok { // without escapes in the input, none are needed
		dst = append(dst, s...)
	} else {
		start := len(dst)
		dst, _ = v.AppendString(dst)
		dst = escape(dst, start)
	}
	return append(dst, '"')
}

// AppendQuoted appends a text as a JSON string without unnecessary escapes.
// Each byte that is not UTF-8 becomes U+FFFD.
func AppendQuoted(dst []byte, s string) []byte {
	if !utf8.ValidString(s) {
		s = string([]rune(s))
	}
	return appendQuotedUTF8(dst, s)
}

// appendQuotedUTF8 is AppendQuoted for valid UTF-8.
func appendQuotedUTF8[T string | []byte](dst []byte, s T) []byte {
	dst = append(dst, '"')
	start := len(dst)
	dst = append(dst, s...)
	dst = escape(dst, start)
	return append(dst, '"')
}

// short has the letters of the short escapes of control characters.
var short = [' ']byte{'\b': 'b', '\t': 't', '\n': 'n', '\f': 'f', '\r': 'r'}

// escape inserts the backslashes that b[start:] needs as the content of a JSON
// string. It works within b, from the end, so that it needs no second buffer.
func escape(b []byte, start int) []byte {
	extra := 0
	for _, c := range b[start:] {
		switch {
		case c == '"' || c == '\\' || c < ' ' && short[c] != 0:
			extra++
		case c < ' ':
			extra += len(`\u0000`) - 1
		}
	}
	if extra == 0 {
		return b
	}
	from := len(b)
	b = slices.Grow(b, extra)[:from+extra]
	for to := len(b); to > from; { // when they meet, the rest is in place
		from--
		c := b[from]
		switch {
		case c == '"' || c == '\\':
			to -= 2
			b[to], b[to+1] = '\\', c
		case c < ' ' && short[c] != 0:
			to -= 2
			b[to], b[to+1] = '\\', short[c]
		case c < ' ':
			const hex = "0123456789abcdef"
			to -= len(`\u0000`)
			copy(b[to:], `\u00`)
			b[to+4], b[to+5] = hex[c>>4], hex[c&0xf]
		default:
			to--
			b[to] = c
		}
	}
	return b
}
