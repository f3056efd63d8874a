package jsonscan

import "unsafe"

// A Map has the places of all names and values within one text, so that its walkers read
// nothing a second time. The zero Map is of no text, and its walkers are the walkers that
// [Value] has. So are they if the text has a mebibyte or more.
//
// A Map is not safe for concurrent use. Its walkers are valid until it is of another text.
type Map struct {
	text    []byte
	tokens  []token
	numbers []uint32 // of tokens, by the place where an object or an array begins
}

// mappedSize is how many bytes a text can have that is mapped.
const mappedSize = 1 << 20

// A token is a name or a value. The tokens of an object are the object, and in turn the
// names and the tokens of the values. The tokens of an array are the array and the tokens
// of the elements.
type token struct {
	start uint32
	end   uint32 // and in the highest bits the content of a string
	next  uint32 // the number of the token behind all tokens of a value
}

const contentAt = 30 // bit of token.end

func (t *token) endsAt() int { return int(t.end & (1<<contentAt - 1)) }

func (t *token) seen() content { return content(t.end >> contentAt) }

// Next is [Elements.Next]. The Map is then of the element.
func (m *Map) Next(a *Elements) bool {
	i, ok := a.w.advance('[', ']', notArray, badArray)
	if !ok {
		return false
	}
	rest := a.w.text[min(i, len(a.w.text)):]
	m.text, m.tokens = nil, m.tokens[:0]
	end, f, ok := m.read(rest, int(a.w.depth)-1)
	switch {
	case f != none:
		return a.w.fail(i+end, f)
	case ok:
		m.text = rest[:end]
	default:
		if end, f = skip(rest, 0, int(a.w.depth)-1); f != none {
			return a.w.fail(i+end, f)
		}
	}
	return a.w.step(i, i+end)
}

// read makes the tokens of the value at the beginning of a text, which it validates as
// skip does. It is not ok if the value is too large for a Map.
func (m *Map) read(b []byte, depth int) (end int, f fault, ok bool) {
	var (
		i      int
		level  int    // containers open here
		open   uint32 // the token of the innermost one
		object bool   // it is an object
	)
	for {
		i = space(b, i)
		if i >= len(b) {
			return i, badValue, true
		}
		if i >= mappedSize {
			return 0, none, false
		}
		var seen content
		start := i
		switch c := b[i]; {
		case c == '"':
			i, seen, f = scanString(b, i+1)
		case c == '{' || c == '[':
			if level == depth {
				return i, tooDeep, true
			}
			m.place(start)
			i = space(b, i+1)
			if i < len(b) && b[i] == c+2 { // '}' is '{'+2, ']' is '['+2
				i++
				break
			}
			m.tokens = append(m.tokens, token{start: uint32(start), next: open})
			open, object = uint32(len(m.tokens)-1), c == '{'
			level++
			if object {
				if i, f = m.readName(b, i); f != none {
					return i, f, true
				}
			}
			continue
		case c == '-' || c-'0' <= 9:
			i, _, f = scanNumber(b, i)
		default:
			i, f = scanLiteral(b, i)
		}
		if f != none {
			return i, f, true
		}
		m.add(start, i, seen)

		// A value ended here, and perhaps containers after it.
		for {
			if level == 0 {
				return i, none, i < mappedSize
			}
			i = space(b, i)
			if i < len(b) && b[i] == ',' {
				i++
				if object {
					if i, f = m.readName(b, space(b, i)); f != none {
						return i, f, true
					}
				}
				break
			}
			if object {
				if i >= len(b) || b[i] != '}' {
					return i, badObject, true
				}
			} else if i >= len(b) || b[i] != ']' {
				return i, badArray, true
			}
			i++
			level--
			t := &m.tokens[open]
			open, t.end, t.next = t.next, uint32(i), uint32(len(m.tokens))
			object = level > 0 && b[m.tokens[open].start] == '{'
		}
	}
}

// readName is scanName, and makes the token of the name.
func (m *Map) readName(b []byte, i int) (int, fault) {
	if i >= len(b) || b[i] != '"' {
		return i, badName
	}
	start := i
	i, seen, f := scanString(b, i+1)
	if f != none {
		return i, f
	}
	m.add(start, i, seen)
	i = space(b, i)
	if i >= len(b) || b[i] != ':' {
		return i, badColon
	}
	return i + 1, none
}

// add makes the token of a name, or of a value that is complete.
func (m *Map) add(start, end int, seen content) {
	m.tokens = append(m.tokens, token{uint32(start), uint32(end) | uint32(seen)<<contentAt, uint32(len(m.tokens)) + 1})
}

// place notes where the object or array of the next token begins.
func (m *Map) place(start int) {
	for start >= len(m.numbers) {
		m.numbers = append(m.numbers, make([]uint32, max(len(m.numbers), 512))...)
	}
	m.numbers[start] = uint32(len(m.tokens))
}

// A mappedWalker steps through the tokens of an object or an array. It has none if that
// is not in the text.
type mappedWalker struct {
	m        *Map
	at, last uint32 // the tokens that are left
	value    *token
}

func (w *mappedWalker) current() Value {
	if w.value == nil {
		return nil
	}
	return w.m.text[w.value.start:w.value.endsAt():w.value.endsAt()]
}

// MappedMembers are [Members], of a value in the text of a Map or of another one.
type MappedMembers struct {
	w     mappedWalker
	name  *token
	other *Members // of another value
}

// Object returns the members of an object, as [Value.Object] does. It may be within the
// text or not; then it costs an allocation.
func (m *Map) Object(v Value) MappedMembers {
	if w, ok := m.walker(v, '{'); ok {
		return MappedMembers{w: w}
	}
	o := v.Object()
	return MappedMembers{other: &o}
}

// Next is [Members.Next].
func (o *MappedMembers) Next() bool {
	w := &o.w
	if w.at == w.last {
		return o.past()
	}
	o.name, w.value = &w.m.tokens[w.at], &w.m.tokens[w.at+1]
	w.at = w.value.next
	return true
}

// past is Next where the Map has no more members.
func (o *MappedMembers) past() bool {
	o.w.value = nil
	return o.other != nil && o.other.Next()
}

// Name is [Members.Name].
func (o *MappedMembers) Name() []byte {
	switch {
	case o.other != nil:
		return o.other.Name()
	case o.w.value == nil:
		return nil
	}
	start, end := int(o.name.start)+1, o.name.endsAt()-1
	raw := o.w.m.text[start:end:end]
	if plain(raw, o.name.seen()) {
		return raw
	}
	return appendText(nil, raw, o.name.seen())
}

// Value is [Members.Value].
func (o *MappedMembers) Value() Value {
	if o.other != nil {
		return o.other.Value()
	}
	return o.w.current()
}

// MappedElements are [Elements], of a value in the text of a Map or of another one.
type MappedElements struct {
	w     mappedWalker
	other *Elements // of another value
}

// Array returns the elements of an array, as [Value.Array] does. It may be within the text
// or not; then it costs an allocation.
func (m *Map) Array(v Value) MappedElements {
	if w, ok := m.walker(v, '['); ok {
		return MappedElements{w: w}
	}
	a := v.Array()
	return MappedElements{other: &a}
}

// Next is [Elements.Next].
func (a *MappedElements) Next() bool {
	w := &a.w
	if w.at == w.last {
		w.value = nil
		return a.other != nil && a.other.Next()
	}
	w.value = &w.m.tokens[w.at]
	w.at = w.value.next
	return true
}

// Value is [Elements.Value].
func (a *MappedElements) Value() Value {
	if a.other != nil {
		return a.other.Value()
	}
	return a.w.current()
}

// walker returns the walker of an object or an array, which begins with a bracket. It is
// not ok if that is not in the text.
func (m *Map) walker(v Value, bracket byte) (w mappedWalker, ok bool) {
	k, ok := m.number(v)
	if !ok || v[0] != bracket {
		return mappedWalker{}, false
	}
	return mappedWalker{m: m, at: uint32(k) + 1, last: m.tokens[k].next}, true
}

// number returns the number of the token of an object or an array that is in the text.
func (m *Map) number(v Value) (k int, ok bool) {
	i := uintptr(unsafe.Pointer(unsafe.SliceData(v))) - uintptr(unsafe.Pointer(unsafe.SliceData(m.text)))
	if i >= uintptr(min(len(m.text), len(m.numbers))) {
		return 0, false
	}
	k = int(m.numbers[i])
	if k >= len(m.tokens) {
		return 0, false
	}
	t := &m.tokens[k]
	return k, int(t.start) == int(i) && t.endsAt() == int(i)+len(v)
}
