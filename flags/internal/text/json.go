package text

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
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
		s, ok := x.AppendString(nil)
		return string(s), ok
	}
	return string(appendValue(nil, x)), true
}

// AppendJSON appends compact JSON of any JSON value (evaluation.md §4.1; see
// the package comment for what that is). A string is quoted, unlike in [Str].
// It reports false, and returns dst as it was, if v is not valid JSON or nested
// deeper than [jsonscan.MaxDepth]. White space around the value is allowed.
//
// Objects with few members, plain names and no duplicates cost no allocation,
// arrays and scalars never do, except for the room they need in dst.
func AppendJSON(dst, v []byte) ([]byte, bool) {
	x, err := jsonscan.Parse(v, jsonscan.MaxDepth)
	if err != nil {
		return dst, false
	}
	return appendValue(dst, x), true
}

// appendValue appends a valid value.
func appendValue(dst []byte, v jsonscan.Value) []byte {
	if bytes.IndexByte(v, '{') >= 0 {
		return appendSorted(dst, v)
	}
	r := renderer{json: v}
	dst, _, _ = r.appendValue(dst, 0, 0)
	return dst
}

// appendSorted appends a valid value in which there may be objects. It first
// makes an index of their members, so that each byte is read a fixed number of
// times, however deep it is nested.
func appendSorted(dst []byte, v jsonscan.Value) []byte {
	var (
		entries [24]entry
		order   [24]int
	)
	r := renderer{json: v, entries: entries[:0], order: order[:0]}
	r.index(0)
	dst, _, _ = r.appendValue(dst, 0, 0)
	return dst
}

// A renderer writes one valid JSON value. Its methods work on indexes into json
// and into entries.
type renderer struct {
	json    []byte
	names   []byte  // of the members whose names json does not have as they are
	entries []entry // in the order of the JSON
	order   []int   // a stack: the members that are being sorted
}

// An entry is an object or a member of one. First comes that of the object,
// then one for each member, and behind each member the entries of the objects
// in its value. There are no pointers in it, so that a few entries can stay on
// the stack.
type entry struct {
	name, nameEnd int // the member's decoded name: indexes in json and, from len(json) on, in names
	at            int // index in json: of the member's value, or behind the object
	next          int // index in entries: the first entry that is not inside this one
}

// index makes the entries for the value at json[i] and returns the index behind
// it.
func (r *renderer) index(i int) int {
	switch r.json[i] {
	case '[':
		for i = r.space(i + 1); r.json[i] != ']'; {
			i = r.space(r.index(i))
			if r.json[i] == ',' {
				i = r.space(i + 1)
			}
		}
		return i + 1
	case '{':
		object := len(r.entries)
		r.entries = append(r.entries, entry{})
		for i = r.space(i + 1); r.json[i] != '}'; {
			end := r.scalar(i)
			value := r.space(r.space(end) + 1) // behind the colon
			m := len(r.entries)
			r.entries = append(r.entries, r.member(i, end, value))
			i = r.space(r.index(value))
			r.entries[m].next = len(r.entries)
			if r.json[i] == ',' {
				i = r.space(i + 1)
			}
		}
		r.entries[object].at, r.entries[object].next = i+1, len(r.entries)
		return i + 1
	default:
		return r.scalar(i)
	}
}

// member returns the entry of a member whose name is the string json[i:end].
func (r *renderer) member(i, end, value int) entry {
	name := jsonscan.Value(r.json[i:end])
	if _, ok := name.Plain(); ok {
		return entry{name: i + 1, nameEnd: end - 1, at: value}
	}
	start := len(r.json) + len(r.names)
	r.names, _ = name.AppendString(r.names)
	return entry{name: start, nameEnd: len(r.json) + len(r.names), at: value}
}

// name returns the name of the member that is entries[m].
func (r *renderer) name(m int) []byte {
	e := &r.entries[m]
	if e.name < len(r.json) {
		return r.json[e.name:e.nameEnd]
	}
	return r.names[e.name-len(r.json) : e.nameEnd-len(r.json)]
}

// space returns the index of the first byte from i on that is no white space.
func (r *renderer) space(i int) int {
	for r.json[i] <= ' ' {
		i++
	}
	return i
}

// scalar returns the index behind the scalar at json[i].
func (r *renderer) scalar(i int) int {
	if r.json[i] == '"' {
		for i++; r.json[i] != '"'; i++ {
			if r.json[i] == '\\' {
				i++
			}
		}
		return i + 1
	}
	for i < len(r.json) {
		switch r.json[i] {
		case ',', ']', '}', ' ', '\t', '\n', '\r':
			return i
		}
		i++
	}
	return i
}

// appendValue appends the value at json[i]. Its entries, if it has any, begin at
// e. It returns the indexes behind the value and behind its entries.
func (r *renderer) appendValue(dst []byte, i, e int) (_ []byte, end, next int) {
	switch r.json[i] {
	case '[':
		dst = append(dst, '[')
		for i = r.space(i + 1); r.json[i] != ']'; {
			dst, i, e = r.appendValue(dst, i, e)
			if i = r.space(i); r.json[i] == ',' {
				dst = append(dst, ',')
				i = r.space(i + 1)
			}
		}
		return append(dst, ']'), i + 1, e
	case '{':
		return r.appendObject(dst, e), r.entries[e].at, r.entries[e].next
	case '"':
		end = r.scalar(i)
		return appendString(dst, r.json[i:end]), end, e
	case 't', 'f', 'n':
		end = r.scalar(i)
		return append(dst, r.json[i:end]...), end, e
	default:
		end = r.scalar(i)
		return AppendNumber(dst, r.json[i:end]), end, e
	}
}

// appendObject appends the object that is entries[object].
func (r *renderer) appendObject(dst []byte, object int) []byte {
	first := len(r.order)
	for m := object + 1; m < r.entries[object].next; m = r.entries[m].next {
		r.order = append(r.order, m)
	}
	members := r.order[first:]
	slices.SortFunc(members, func(a, b int) int {
		if c := bytes.Compare(r.name(a), r.name(b)); c != 0 {
			return c
		}
		return cmp.Compare(a, b)
	})

	dst = append(dst, '{')
	comma := false
	for i, m := range members {
		name := r.name(m)
		if i+1 < len(members) && bytes.Equal(name, r.name(members[i+1])) {
			continue // the last one counts
		}
		if comma {
			dst = append(dst, ',')
		}
		comma = true
		dst = appendQuoted(dst, name)
		dst = append(dst, ':')
		dst, _, _ = r.appendValue(dst, r.entries[m].at, m+1)
	}
	r.order = r.order[:first]
	return append(dst, '}')
}

// appendString appends a JSON string with no more escapes than it needs.
func appendString(dst []byte, v jsonscan.Value) []byte {
	dst = append(dst, '"')
	if s, ok := v.Plain(); ok { // it had no escapes, so it needs none
		dst = append(dst, s...)
	} else {
		start := len(dst)
		dst, _ = v.AppendString(dst)
		dst = escape(dst, start)
	}
	return append(dst, '"')
}

// appendQuoted appends a text as a JSON string.
func appendQuoted(dst, s []byte) []byte {
	dst = append(dst, '"')
	start := len(dst)
	dst = append(dst, s...)
	dst = escape(dst, start)
	return append(dst, '"')
}

// short has the letters of the short escapes of control characters.
var short = [' ']byte{'\b': 'b', '\t': 't', '\n': 'n', '\f': 'f', '\r': 'r'}

// escape puts backslashes where b[start:] needs them to be the inside of a JSON
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
	for to := len(b); to > from; { // once they meet, the rest is in its place
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
