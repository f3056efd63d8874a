package flags

import (
	"math"
	"strconv"
	"time"
	"unicode/utf8"
	"unsafe"

	"github.com/flagstaff-go/flagstaff/flags/internal/reldate"
	"github.com/flagstaff-go/flagstaff/internal/casefold"
	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
	"github.com/flagstaff-go/flagstaff/internal/numeral"
	"github.com/flagstaff-go/flagstaff/internal/semver"
	"github.com/flagstaff-go/flagstaff/internal/text"
)

// The properties of a request, by slot, and the forms in which checks compare
// them.

// An origin ranks the sources of a property: a later one wins.
type origin uint8

const (
	fromStore origin = iota + 1
	fromID           // distinct_id, which every person has
	fromGeo
	fromRequest
	fromGroup // $group_key, which every group has
)

// A slotValue is the value of one slot with its derived forms. Each form is
// computed when a check first asks for it.
type slotValue struct {
	gen    uint32
	kind   jsonscan.Kind // Invalid: the property is known to be not set
	origin origin
	have   have
	how    goNumber // the kind of a number that came as a Go value; raw is nil

	textual string         // str(P) of evaluation.md §4.1
	num     float64        // a number; the number of a Go value even before haveNumber
	raw     jsonscan.Value // the JSON, or nil if it came as a Go value
	bits    uint64         // a Go number: of an integer, or of a float64

	lowered    string
	loweredASC string
	numOK      bool
	dateOK     bool
	verOK      bool
	instant    time.Time
	semver     semver.Version
}

// A have says which forms of a property have been computed.
type have uint8

const (
	haveText    have = 1 << iota
	folded           // neither kind of lower-casing changes the text
	checkedFold      // folded is known
	haveLower
	haveASCII
	haveNumber
	haveDate
	haveVersion
)

// A goNumber is the kind of a number that came as a Go value. Its JSON is
// written only if a check wants the text.
type goNumber uint8

const (
	goNone goNumber = iota
	goInt
	goUint
	goFloat32
	goFloat64
)

// sharedString returns b as a string that shares its memory. The bytes must not
// change while the string is in use. They belong to the request, which the caller
// has promised not to touch, or to in.buf, which only grows until the next Reset.
func sharedString(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// sharedBytes is the reverse of sharedString. The bytes must not be written to.
func sharedBytes(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }

// setJSON sets the property of a slot unless it has one of a higher origin. A
// null of the request leaves a looked-up location in place.
func (in *Input) setJSON(i int32, v jsonscan.Value, from origin) {
	p := &in.slots[i]
	if p.gen == in.gen && (p.origin > from ||
		p.origin == fromGeo && from == fromRequest && v.Kind() == jsonscan.Null) {
		return
	}
	// The fields are set one by one: an assignment of the whole struct would also
	// clear the derived forms, and have makes them unreachable already.
	p.gen, p.kind, p.origin, p.have, p.raw, p.how = in.gen, v.Kind(), from, 0, v, goNone
}

// setProperty is setJSON for a property that did not come as JSON.
func (in *Input) setProperty(i int32, v slotValue) {
	p := &in.slots[i]
	if p.gen == in.gen && p.origin > v.origin {
		return
	}
	p.gen, p.kind, p.origin, p.have, p.raw, p.how, p.textual = in.gen, v.kind, v.origin, v.have, v.raw, goNone, v.textual
}

// property returns the property of a slot, or nil if it is not set.
func (in *Input) property(i int32) *slotValue {
	if p := &in.slots[i]; p.gen == in.gen && p.kind != jsonscan.Invalid {
		return p
	}
	return in.absentProperty(i)
}

// absentProperty is property for a slot that is not set: another one may stand in.
func (in *Input) absentProperty(i int32) *slotValue {
	for _, j := range in.snap.slots[i].fallbacks {
		if p := in.ownProperty(j); p != nil {
			return p
		}
	}
	return nil
}

// ownProperty is property without the slots that may stand in.
func (in *Input) ownProperty(i int32) *slotValue {
	p := &in.slots[i]
	if p.gen != in.gen || p.kind == jsonscan.Invalid {
		return nil
	}
	return p
}

// numberLiteral returns the JSON of a number: as it came, or as encoding/json
// writes the Go value. There an integer has no fraction, and very large and very
// small numbers have an exponent.
func (in *Input) numberLiteral(p *slotValue) jsonscan.Value {
	if p.raw != nil {
		return p.raw
	}
	start := len(in.buf)
	in.buf = appendLiteral(in.buf, p.how, p.bits)
	p.raw = in.buf[start:]
	return p.raw
}

// appendLiteral appends the JSON of a number that came as a Go value.
func appendLiteral(dst []byte, how goNumber, bits uint64) []byte {
	switch how {
	case goInt:
		return strconv.AppendInt(dst, int64(bits), 10)
	case goUint:
		return strconv.AppendUint(dst, bits, 10)
	}
	x := math.Float64frombits(bits)
	size := 64
	abs := math.Abs(x)
	exponent := abs < 1e-6 || abs >= 1e21
	if how == goFloat32 {
		size, exponent = 32, float32(abs) < 1e-6 || float32(abs) >= 1e21
	}
	format := byte('f')
	if exponent && abs != 0 {
		format = 'e'
	}
	return strconv.AppendFloat(dst, x, format, -1, size)
}

// decodeText returns the text of a JSON string. It shares memory with the JSON
// when it can.
func (in *Input) decodeText(v jsonscan.Value) string {
	if b, ok := v.Plain(); ok {
		return sharedString(b)
	}
	start := len(in.buf)
	in.buf, _ = v.AppendString(in.buf)
	return sharedString(in.buf[start:])
}

// numberText returns the text of a JSON number (evaluation.md §4.1).
func (in *Input) numberText(v jsonscan.Value) string {
	if numeral.IsCanonicalInteger(v) {
		return sharedString(v)
	}
	start := len(in.buf)
	in.buf = numeral.Append(in.buf, v)
	return sharedString(in.buf[start:])
}

// text returns the property's text, str(P) in evaluation.md §4.1.
func (in *Input) text(p *slotValue) string {
	if p.have&haveText != 0 {
		return p.textual
	}
	switch p.kind {
	case jsonscan.String:
		p.textual = in.decodeText(p.raw)
	case jsonscan.Number:
		p.textual = in.numberText(in.numberLiteral(p))
	case jsonscan.Null:
		p.textual = "null"
	case jsonscan.True:
		p.textual = "true"
	case jsonscan.False:
		p.textual = "false"
	default:
		start := len(in.buf)
		in.buf, _ = text.AppendJSON(in.buf, p.raw)
		p.textual = sharedString(in.buf[start:])
	}
	p.have |= haveText
	return p.textual
}

// lower returns the property's text in full Unicode lower case.
func (in *Input) lower(p *slotValue) string {
	if p.have&folded != 0 {
		return p.textual
	}
	return in.lowerSlow(p)
}

func (in *Input) lowerSlow(p *slotValue) string {
	if s := in.text(p); in.isFolded(p, s) {
		return s
	} else if p.have&haveLower == 0 {
		start := len(in.buf)
		in.buf = casefold.AppendLower(in.buf, s)
		p.lowered = sharedString(in.buf[start:])
		p.have |= haveLower
	}
	return p.lowered
}

// lowerASCII returns the property's text with A to Z in lower case.
func (in *Input) lowerASCII(p *slotValue) string {
	if p.have&folded != 0 {
		return p.textual
	}
	if s := in.text(p); in.isFolded(p, s) {
		return s
	} else if p.have&haveASCII == 0 {
		start := len(in.buf)
		in.buf = casefold.AppendLowerASCII(in.buf, s)
		p.loweredASC = sharedString(in.buf[start:])
		p.have |= haveASCII
	}
	return p.loweredASC
}

// isFolded finds out once whether lower-casing leaves the property's text, s, as
// it is.
func (in *Input) isFolded(p *slotValue, s string) bool {
	if p.have&checkedFold == 0 {
		p.have |= checkedFold
		if casefold.Folded(s) {
			p.have |= folded
		}
	}
	return p.have&folded != 0
}

// number returns the property as evaluation.md §4.7 compares it. It is not ok if
// the property is not a number.
func (in *Input) number(p *slotValue) (float64, bool) {
	if p.have&haveNumber != 0 {
		return p.num, p.numOK
	}
	return in.numberSlow(p)
}

func (in *Input) numberSlow(p *slotValue) (float64, bool) {
	switch p.kind {
	case jsonscan.Number:
		p.num, p.numOK = in.numberLiteral(p).Float()
	case jsonscan.String:
		p.num, p.numOK = numeral.Float(in.text(p))
	default:
		p.numOK = false
	}
	p.have |= haveNumber
	return p.num, p.numOK
}

// date returns the property as evaluation.md §4.9 compares it. It is not ok if
// the property is not a date.
func (in *Input) date(p *slotValue) (time.Time, bool) {
	if p.have&haveDate == 0 {
		p.have |= haveDate
		in.fixNow()
		switch p.kind {
		case jsonscan.Number:
			n, ok := in.number(p)
			p.instant, p.dateOK = time.Time{}, false
			if ok {
				p.instant, p.dateOK = reldate.FromSeconds(n)
			}
		case jsonscan.String:
			p.instant, p.dateOK = reldate.Property(in.text(p), in.now, in.snap.zone)
		default:
			p.dateOK = false
		}
	}
	return p.instant, p.dateOK
}

// fixNow sets the moment of a request that came without one. It is called when a
// date is first needed.
func (in *Input) fixNow() {
	if in.now.IsZero() {
		in.now = time.Now()
	}
}

// version returns the property as evaluation.md §4.10 compares it. It is not ok
// if the property is not a version.
func (in *Input) version(p *slotValue) (v *semver.Version, ok bool) {
	if p.have&haveVersion == 0 {
		p.have |= haveVersion
		p.verOK = p.semver.Set(in.text(p))
	}
	return &p.semver, p.verOK
}

// validUTF8 replaces each invalid byte by U+FFFD, as encoding/json does.
func validUTF8(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	b := make([]byte, 0, len(s)+8)
	for _, r := range s {
		b = utf8.AppendRune(b, r)
	}
	return string(b)
}
