package jsonscan

import (
	"encoding/binary"
	"math/bits"
	"sync/atomic"
)

// The functions of this file work on (text, index) and return the index behind what
// they read, and a fault. With a fault the index is the index of the byte at fault.
// They neither allocate nor keep anything.

// MaxDepth is how many objects and arrays may be nested in a text that is
// walked, the walked one included.
const MaxDepth = 1000

// watcher is what [Watch] was given, nil outside of tests.
var watcher atomic.Pointer[func([]byte)]

// Watch has f called with each text that [Parse] is given, until stop is called or
// another function takes its place. It is for tests that count how often something is
// parsed. Calls of f may be concurrent.
func Watch(f func(text []byte)) (stop func()) {
	watcher.Store(&f)
	return func() { watcher.Store(nil) }
}

// Parse checks that b holds one JSON value, surrounded by nothing but optional
// white space, and returns that value without the white space. Objects and
// arrays may be nested maxDepth deep: with zero or less only scalars are
// accepted. The error is a [*SyntaxError]. The result shares the memory of b.
func Parse(b []byte, maxDepth int) (Value, error) {
	if f := watcher.Load(); f != nil {
		(*f)(b)
	}
	start := space(b, 0)
	end, f := skip(b, start, max(maxDepth, 0))
	if f != none {
		return nil, newError(b, end, f, maxDepth)
	}
	if i := space(b, end); i < len(b) {
		return nil, newError(b, i, badTail, maxDepth)
	}
	return Value(b[start:end:end]), nil
}

// space returns the index of the first byte from i on that is not white space.
func space(b []byte, i int) int {
	for i < len(b) && b[i] <= ' ' && blanks&(1<<b[i]) != 0 {
		i++
	}
	return i
}

const blanks uint64 = 1<<' ' | 1<<'\t' | 1<<'\n' | 1<<'\r'

// skip validates the value at b[i]; white space before it is allowed. depth is
// how many containers may be open inside it.
//
// There is no stack: the kinds of the innermost 64 containers are the bits of
// one word, and only a text that is nested deeper than that makes skip call
// itself, once per 64 levels.
func skip(b []byte, i, depth int) (int, fault) {
	var (
		f     fault
		level int    // containers open here
		kinds uint64 // one bit for each, the innermost lowest; 1 is an object
	)
	for {
		// A value begins here.
		i = space(b, i)
		if i >= len(b) {
			return i, badValue
		}
		switch c := b[i]; {
		case c == '"':
			i, _, f = scanString(b, i+1)
		case c == '{' || c == '[':
			if level == depth {
				return i, tooDeep
			}
			if level == 64 {
				i, f = skip(b, i, depth-level)
				break
			}
			i = space(b, i+1)
			if i < len(b) && b[i] == c+2 { // '}' is '{'+2, ']' is '['+2
				i++
				break
			}
			level++
			kinds <<= 1
			if c == '{' {
				kinds |= 1
				if i, f = scanName(b, i); f != none {
					return i, f
				}
			}
			continue
		case c == '-' || c-'0' <= 9:
			i, _, f = scanNumber(b, i)
		default:
			i, f = scanLiteral(b, i)
		}
		if f != none {
			return i, f
		}

		// A value ended here, and perhaps containers after it.
		for {
			if level == 0 {
				return i, none
			}
			i = space(b, i)
			object := kinds&1 != 0
			if i < len(b) && b[i] == ',' {
				i++
				if object {
					if i, f = scanName(b, space(b, i)); f != none {
						return i, f
					}
				}
				break
			}
			if object {
				if i >= len(b) || b[i] != '}' {
					return i, badObject
				}
			} else if i >= len(b) || b[i] != ']' {
				return i, badArray
			}
			i++
			level--
			kinds >>= 1
		}
	}
}

// scanName reads a member name and the colon after it. White space before the
// name is a fault.
func scanName(b []byte, i int) (int, fault) {
	if i >= len(b) || b[i] != '"' {
		return i, badName
	}
	i, _, f := scanString(b, i+1)
	if f != none {
		return i, f
	}
	i = space(b, i)
	if i >= len(b) || b[i] != ':' {
		return i, badColon
	}
	return i + 1, none
}

// content says what a string contains.
type content uint8

const (
	escapes  content = 1 << iota // a backslash
	nonASCII                     // bytes from 0x80 on, not necessarily valid UTF-8
)

const (
	ones  = 0x0101010101010101
	highs = 0x80 * ones
)

// scanString reads a string from behind its opening quote to behind its
// closing quote.
func scanString(b []byte, i int) (int, content, fault) {
	var (
		seen content
		all  uint64 // all bytes so far, or-ed: its high bits tell of non-ASCII
	)
	for {
		// Eight bytes at a time. Below, stops has the high bit set in every
		// byte that is a quote, a backslash or a control character. Subtraction
		// lets a byte be disturbed only by a hit in a lower byte, so that the
		// lowest hit is always true, and that is the one that is used.
		// Xor-ing with 2 moves the quote (0x22) to 0x20, right behind the
		// control characters, and what was there (the blank) away.
		var c byte
		for {
			if len(b)-i < 8 {
				for i < len(b) && b[i] != '"' && b[i] != '\\' && b[i] >= ' ' {
					all |= uint64(b[i])
					i++
				}
				if i >= len(b) {
					return i, 0, badString
				}
				c = b[i]
				break
			}
			w := binary.LittleEndian.Uint64(b[i:])
			stops := (((w ^ 2*ones) - 0x21*ones) | ((w ^ '\\'*ones) - ones)) &^ w & highs
			if stops != 0 {
				all |= w & ((stops & -stops) - 1)
				n := bits.TrailingZeros64(stops) - 7
				c = byte(w >> n)
				i += n / 8
				break
			}
			all |= w
			i += 8
		}
		if c == '"' {
			if all&highs != 0 {
				seen |= nonASCII
			}
			return i + 1, seen, none
		}
		if c != '\\' {
			return i, 0, badString
		}
		seen |= escapes
		i++
		if i >= len(b) {
			return i, 0, badEscape
		}
		switch b[i] {
		case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
			i++
		case 'u':
			for end := i + 4; i < end; {
				i++
				if i >= len(b) || !isHex(b[i]) {
					return i, 0, badEscape
				}
			}
			i++
		default:
			return i, 0, badEscape
		}
	}
}

func isHex(c byte) bool {
	return c-'0' <= 9 || (c|0x20)-'a' <= 5
}

// scanNumber reads a number from its first byte on, and tells whether it has an
// exponent.
func scanNumber(b []byte, i int) (end int, exponent bool, f fault) {
	if i < len(b) && b[i] == '-' {
		i++
	}
	if i < len(b) && b[i] == '0' {
		i++
	} else if i, f = scanDigits(b, i); f != none {
		return i, false, f
	}
	if i < len(b) && b[i] == '.' {
		if i, f = scanDigits(b, i+1); f != none {
			return i, false, f
		}
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		exponent = true
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		if i, f = scanDigits(b, i); f != none {
			return i, false, f
		}
	}
	return i, exponent, none
}

// scanDigits reads one or more digits.
func scanDigits(b []byte, i int) (int, fault) {
	start := i
	for i < len(b) && b[i]-'0' <= 9 {
		i++
	}
	if i == start {
		return i, badNumber
	}
	return i, none
}

// scanLiteral reads true, false or null.
func scanLiteral(b []byte, i int) (int, fault) {
	var word string
	switch b[i] {
	case 't':
		word = "true"
	case 'f':
		word = "false"
	case 'n':
		word = "null"
	default:
		return i, badValue
	}
	for j := range len(word) {
		if i+j >= len(b) || b[i+j] != word[j] {
			return i + j, badLiteral
		}
	}
	return i + len(word), none
}
