package jsonscan

import (
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
	"unsafe"
)

// A Kind says what a value is.
type Kind uint8

// The kinds of values. Invalid, the zero Kind, is the kind of bytes that begin no
// value.
const (
	Invalid Kind = iota
	Null
	False
	True
	Number
	String
	Array
	Object
)

// A Value is one JSON value as it stands in the input, without white space
// around it. The nil Value is not a value: its Kind is Invalid.
//
// The methods take any bytes: what is not a well-formed value of the kind that
// they are about is reported as such.
type Value []byte

// kinds maps the first byte of a value to its kind.
var kinds = [256]Kind{
	'n': Null, 'f': False, 't': True,
	'-': Number, '0': Number, '1': Number, '2': Number, '3': Number, '4': Number,
	'5': Number, '6': Number, '7': Number, '8': Number, '9': Number,
	'"': String, '[': Array, '{': Object,
}

// Kind returns the kind of the value. It looks at the first byte only.
func (v Value) Kind() Kind {
	if len(v) == 0 {
		return Invalid
	}
	return kinds[v[0]]
}

// Bool returns the value of true and false. It reports false for ok if v is
// neither.
func (v Value) Bool() (value, ok bool) {
	return string(v) == "true", string(v) == "true" || string(v) == "false"
}

// Plain returns the bytes between the quotes of a string, if they are its
// decoded text as they stand: valid UTF-8 without escapes. The result shares
// the memory of v. It reports false if v is another string, or none.
func (v Value) Plain() (text []byte, ok bool) {
	raw, seen, ok := v.text()
	if !ok || !plain(raw, seen) {
		return nil, false
	}
	return raw, true
}

// AppendString appends the decoded text of a string to dst. It decodes as
// encoding/json does: an escaped surrogate without its other half and every
// byte that is not part of valid UTF-8 become U+FFFD. It reports false, and
// returns dst as it was, if v is not a string.
func (v Value) AppendString(dst []byte) ([]byte, bool) {
	raw, seen, ok := v.text()
	if !ok {
		return dst, false
	}
	return appendText(dst, raw, seen), true
}

// text returns what is between the quotes of a string.
func (v Value) text() (raw []byte, seen content, ok bool) {
	if len(v) < 2 || v[0] != '"' {
		return nil, 0, false
	}
	end, seen, f := scanString(v, 1)
	if f != none || end != len(v) {
		return nil, 0, false
	}
	return v[1 : end-1 : end-1], seen, true
}

// plain reports whether the text between the quotes of a string is the decoded
// text.
func plain(raw []byte, seen content) bool {
	return seen == 0 || seen == nonASCII && utf8.Valid(raw)
}

// appendText appends the decoded form of the text between the quotes of a
// string, which scanString has accepted.
func appendText(dst, raw []byte, seen content) []byte {
	if plain(raw, seen) {
		return append(dst, raw...)
	}
	done := 0 // raw[done:i] decodes to itself
	for i := 0; i < len(raw); {
		if c := raw[i]; c < utf8.RuneSelf && c != '\\' {
			i++
			continue
		}
		var r rune
		n := 2
		if raw[i] != '\\' {
			if r, n = utf8.DecodeRune(raw[i:]); r != utf8.RuneError || n > 1 {
				i += n
				continue
			}
		} else {
			switch c := raw[i+1]; c {
			case 'b':
				r = '\b'
			case 'f':
				r = '\f'
			case 'n':
				r = '\n'
			case 'r':
				r = '\r'
			case 't':
				r = '\t'
			case 'u':
				r, n = codePoint(raw[i:])
			default:
				r = rune(c) // stands for itself
			}
		}
		dst = append(dst, raw[done:i]...)
		dst = utf8.AppendRune(dst, r)
		i += n
		done = i
	}
	return append(dst, raw[done:]...)
}

// codePoint decodes the \u escape at the start of s, and the one after it if
// they are a surrogate pair. It returns how many bytes it used.
func codePoint(s []byte) (rune, int) {
	r := hex4(s[2:6])
	if !utf16.IsSurrogate(r) {
		return r, 6
	}
	if len(s) >= 12 && s[6] == '\\' && s[7] == 'u' {
		if pair := utf16.DecodeRune(r, hex4(s[8:12])); pair != utf8.RuneError {
			return pair, 12
		}
	}
	return utf8.RuneError, 6
}

func hex4(s []byte) rune {
	var r rune
	for _, c := range s[:4] {
		d := c - '0'
		if d > 9 {
			d = (c | 0x20) - 'a' + 10
		}
		r = r<<4 | rune(d)
	}
	return r
}

// Float returns the number that is nearest to the value. It reports false if v
// is not a number, or one that float64 cannot hold. It does not allocate,
// however long the number is.
func (v Value) Float() (float64, bool) {
	end, exponent, f := scanNumber(v, 0)
	if f != none || end != len(v) {
		return 0, false
	}
	if !exponent && len(v) <= 15 {
		return short(v), true
	}
	// strconv allocates for the error of an overflow.
	if (exponent || len(v) >= len(overflow)) && overflows(v) {
		return 0, false
	}
	x, err := strconv.ParseFloat(view(v), 64)
	return x, err == nil
}

// short converts a number of at most 15 digits and no exponent. Its digits and
// the power of ten that divides them are exact as float64, so their quotient
// is the nearest one.
func short(v []byte) float64 {
	var (
		n     int64
		scale = 1.0
		point bool
	)
	for _, c := range v {
		switch c {
		case '-':
		case '.':
			point = true
		default:
			n = n*10 + int64(c-'0')
			if point {
				scale *= 10
			}
		}
	}
	x := float64(n) / scale
	if v[0] == '-' {
		return -x // so that -0 keeps its sign
	}
	return x
}

// overflow is 2^1024 - 2^970, halfway between the largest float64 and the power
// of two after it. From here on numbers round to infinity.
const overflow = "17976931348623158079372897140530341507993413271003782693617377898044496829276475" +
	"09466490179775872070963302864166928879109465555478519404026306574886715058206819" +
	"08902000708383676273854845817711531764475730270069855571366959622842914819860834" +
	"936475292719074168444365510704342711559699508093042880177904174497792"

// overflows reports whether a number of valid form rounds to an infinity. Where
// strconv stops counting, at 800 digits before the point and at an exponent of
// five digits, so does overflows: what it lets pass, strconv does, too.
func overflows(v []byte) bool {
	// First the decimal exponent: v is 0.d1d2d3… × 10^exp, d1 not zero.
	var (
		exp   int
		first = -1 // index of d1
		point bool
		i     int
	)
scan:
	for i = range v {
		switch c := v[i]; {
		case c == '.':
			point = true
		case c|0x20 == 'e':
			break scan
		case c == '-':
		case first < 0 && c == '0':
			if point {
				exp--
			}
		default:
			if first < 0 {
				first = i
			}
			if !point && exp < 800 {
				exp++
			}
		}
	}
	if first < 0 {
		return false
	}
	mantissa := v[first:]
	if v[i]|0x20 == 'e' {
		mantissa = v[first:i]
		i++
		negative := v[i] == '-'
		if negative || v[i] == '+' {
			i++
		}
		var n int
		for ; i < len(v) && n < 10_000; i++ {
			n = n*10 + int(v[i]-'0')
		}
		if negative {
			n = -n
		}
		exp += n
	}
	if exp != len(overflow) {
		return exp > len(overflow)
	}
	j := 0
	for _, c := range mantissa {
		if c == '.' {
			continue
		}
		if j == len(overflow) || c > overflow[j] {
			return true
		}
		if c < overflow[j] {
			return false
		}
		j++
	}
	return j == len(overflow) // the last digit is not 0: fewer digits are less
}

// view returns b as a string without copying. The caller must not let the
// string outlive b's next change; strconv.ParseFloat keeps nothing of it.
func view(b []byte) string {
	return unsafe.String(unsafe.SliceData(b), len(b))
}
