package jsonscan

// stage says what a walker expects next.
type stage uint8

const (
	atStart stage = iota // the opening bracket
	inside               // a comma or the closing bracket
	atEnd                // nothing: the walk ended, with or without a fault
)

// walker is what Members and Elements have in common.
type walker struct {
	text       []byte
	next       int // index of the first byte that was not read
	start, end int // the value
	stage      stage
	fault      fault // the fault is at text[next]
	part       bool  // the text goes on behind the array
	depth      int32 // how deep the text may be nested
}

// Members steps through the members of an object, in the order of the input:
//
//	for o.Next() {
//		use(o.Name(), o.Value())
//	}
//	if err := o.Err(); err != nil { … }
//
// The zero Members has no members and an error.
type Members struct {
	w                  walker
	nameStart, nameEnd int
	seen               content
}

// Elements steps through the elements of an array, as [Members] does through
// the members of an object.
type Elements struct{ w walker }

// Object returns the members of an object. White space around the object is
// allowed, so that it may be a whole text that was not parsed. If v is not an
// object there are no members and Err says so.
func (v Value) Object() Members { return v.ObjectWithin(MaxDepth) }

// ObjectWithin is Object with another limit than [MaxDepth].
func (v Value) ObjectWithin(maxDepth int) Members {
	return Members{w: walker{text: v, depth: int32(maxDepth)}}
}

// Array returns the elements of an array. White space around the array is
// allowed, so that it may be a whole text that was not parsed. If v is not an
// array there are no elements and Err says so.
func (v Value) Array() Elements { return Elements{w: walker{text: v, depth: MaxDepth}} }

// Next steps to the next member, and reports whether there is one. After it
// has returned false it does so forever.
func (o *Members) Next() bool { return o.NextName() && o.Read() }

// NextName is Next without the value, which has to be walked over before the next step,
// with [Members.Read] or [Members.Elements].
func (o *Members) NextName() bool {
	w := &o.w
	i, ok := w.advance('{', '}', notObject, badObject)
	if !ok {
		return false
	}
	if i >= len(w.text) || w.text[i] != '"' {
		return w.fail(i, badName)
	}
	o.nameStart = i + 1
	i, seen, f := scanString(w.text, i+1)
	if f != none {
		return w.fail(i, f)
	}
	o.nameEnd, o.seen = i-1, seen
	i = space(w.text, i)
	if i >= len(w.text) || w.text[i] != ':' {
		return w.fail(i, badColon)
	}
	i = space(w.text, i+1)
	return w.step(i, i)
}

// Read walks over the value behind the name, and reports whether there is one.
func (o *Members) Read() bool { return o.w.value(o.w.next) }

// Elements returns the elements of the array behind the name. When they have been walked
// over, [Members.Behind] goes on behind them. It is not ok if there is no array; then Read
// is the only step that is left.
func (o *Members) Elements() (a Elements, ok bool) {
	w := &o.w
	if w.next >= len(w.text) || w.text[w.next] != '[' {
		return Elements{}, false
	}
	return Elements{w: walker{text: w.text[w.next:], depth: w.depth - 1, part: true}}, true
}

// Behind makes the array whose elements have been walked over the current value. It
// returns false, and ends the walk, if that was at fault.
func (o *Members) Behind(a *Elements) bool {
	w := &o.w
	if a.w.fault != none || a.w.stage != atEnd {
		return w.fail(w.next+a.w.next, a.w.fault)
	}
	return w.step(w.next, w.next+a.w.next)
}

// Next steps to the next element, and reports whether there is one. After it
// has returned false it does so forever.
func (a *Elements) Next() bool {
	i, ok := a.w.advance('[', ']', notArray, badArray)
	return ok && a.w.value(i)
}

// advance moves to where the next member or element begins. It returns false
// if the walk is over.
func (w *walker) advance(open, close byte, other, broken fault) (int, bool) {
	b := w.text
	i := space(b, w.next)
	switch w.stage {
	case atStart:
		if i >= len(b) || b[i] != open {
			return i, w.fail(i, other)
		}
		i = space(b, i+1)
		if i >= len(b) || b[i] != close {
			return i, true
		}
	case inside:
		if i < len(b) && b[i] == ',' {
			return space(b, i+1), true
		}
		if i >= len(b) || b[i] != close {
			return i, w.fail(i, broken)
		}
	default:
		return i, false
	}
	if w.part {
		return i, w.fail(i+1, none)
	}
	// The closing bracket: only white space may follow.
	if i = space(b, i+1); i < len(b) {
		return i, w.fail(i, badTail)
	}
	return i, w.fail(i, none)
}

// value reads the value at text[i].
func (w *walker) value(i int) bool {
	var end int
	var f fault
	if i < len(w.text) && w.text[i] == '"' { // most values, and skip does more than they need
		end, _, f = scanString(w.text, i+1)
	} else {
		end, f = skip(w.text, i, int(w.depth)-1)
	}
	if f != none {
		return w.fail(end, f)
	}
	return w.step(i, end)
}

// step makes a value the current one. It returns true.
func (w *walker) step(start, end int) bool {
	w.start, w.end, w.next, w.stage = start, end, end, inside
	return true
}

// fail ends the walk, with the given fault or none. It returns false.
func (w *walker) fail(i int, f fault) bool {
	w.start, w.end, w.next, w.stage, w.fault = 0, 0, i, atEnd, f
	return false
}

func (w *walker) err() error {
	if w.fault == none {
		return nil
	}
	return newError(w.text, w.next, w.fault, int(w.depth))
}

func (w *walker) current() Value {
	if w.end == 0 {
		return nil
	}
	return w.text[w.start:w.end:w.end]
}

// Name returns the current member's name, nil if there is no current member. It
// is decoded as [Value.AppendString] does. A name without escapes shares the memory
// of the input; another one is allocated.
func (o *Members) Name() []byte {
	raw := o.RawName()
	if raw == nil || plain(raw, o.seen) {
		return raw
	}
	return appendText(nil, raw, o.seen)
}

// NameIn is Name for loops that must not allocate: a name with escapes is appended
// to *buf, and stays valid as long as what is there does.
func (o *Members) NameIn(buf *[]byte) []byte {
	raw := o.RawName()
	if raw == nil || plain(raw, o.seen) {
		return raw
	}
	start := len(*buf)
	*buf = appendText(*buf, raw, o.seen)
	return (*buf)[start:len(*buf):len(*buf)]
}

// RawName returns the current member's name as it stands between the quotes, nil if
// there is no current member, for a caller that copies it into JSON. It shares the
// memory of the input. To compare names use Name: "a" may be written "\u0061".
func (o *Members) RawName() []byte {
	if o.w.end == 0 {
		return nil
	}
	return o.w.text[o.nameStart:o.nameEnd:o.nameEnd]
}

// Value returns the current member's value, nil if there is no current member.
// It shares the memory of the input.
func (o *Members) Value() Value { return o.w.current() }

// Offset returns where the current member's value begins in the value that is walked,
// 0 if there is no current member.
func (o *Members) Offset() int { return o.w.start }

// Err returns the fault that ended the walk, a [*SyntaxError], or nil. It is
// nil before the walk has ended. Offsets count from the start of the value
// that is walked.
func (o *Members) Err() error { return o.w.err() }

// Value returns the current element, nil if there is none. It shares the
// memory of the input.
func (a *Elements) Value() Value { return a.w.current() }

// Offset returns where the current element begins in the value that is walked, 0 if
// there is none.
func (a *Elements) Offset() int { return a.w.start }

// Err returns the fault that ended the walk, a [*SyntaxError], or nil. It is
// nil before the walk has ended. Offsets count from the start of the value
// that is walked.
func (a *Elements) Err() error { return a.w.err() }
