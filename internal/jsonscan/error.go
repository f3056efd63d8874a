package jsonscan

import (
	"fmt"
	"strconv"
	"unicode/utf8"
)

// A SyntaxError says where a text stops being acceptable JSON. It shows at most
// one character of the text.
type SyntaxError struct {
	// Offset of the byte at fault in the text that was parsed or walked; the
	// length of the text if it ended too early.
	Offset int

	// Msg describes the fault without the offset.
	Msg string
}

func (e *SyntaxError) Error() string {
	return "offset " + strconv.Itoa(e.Offset) + ": " + e.Msg
}

// A fault is the kind of a syntax error. The scanning functions return it with
// the offset instead of an error, so that only the exported functions allocate.
type fault uint8

const (
	none fault = iota
	badValue
	badName
	badColon
	badObject
	badArray
	badString
	badEscape
	badNumber
	badLiteral
	badTail
	tooDeep
	notObject
	notArray
)

// places says what the scanner was looking at, in words that follow
// "unexpected character 'x' ".
var places = [...]string{
	badValue:   "where a value should begin",
	badName:    "where a member name should begin",
	badColon:   "after a member name",
	badObject:  "in object",
	badArray:   "in array",
	badString:  "in string",
	badEscape:  "in string escape",
	badNumber:  "in number",
	badLiteral: "in literal",
	badTail:    "after the value",
}

// newError describes fault f at b[i]. maxDepth is the limit that tooDeep is
// about.
func newError(b []byte, i int, f fault, maxDepth int) error {
	var msg string
	switch f {
	case tooDeep:
		msg = "nested deeper than " + strconv.Itoa(maxDepth) + " levels"
	case notObject:
		msg = "not an object"
	case notArray:
		msg = "not an array"
	default:
		msg = "unexpected " + character(b[min(i, len(b)):]) + " " + places[f]
	}
	return &SyntaxError{Offset: i, Msg: msg}
}

// character names the first character of b.
func character(b []byte) string {
	switch r, n := utf8.DecodeRune(b); {
	case n == 0:
		return "end of input"
	case r == utf8.RuneError && n == 1:
		return fmt.Sprintf("byte 0x%02x", b[0])
	default:
		return "character " + strconv.QuoteRune(r)
	}
}
