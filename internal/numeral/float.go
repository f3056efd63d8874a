package numeral

import (
	"math"
	"strconv"
	"strings"

	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
)

// Float returns the number that a string represents (evaluation.md §4.7): the
// nearest float64, or an infinity if the number is too large. It reports false
// unless the whole string has the form
//
//	[+-] ( inf | infinity | nan | digits [. [digits]] [exp] | . digits [exp] )
//
// where exp is e, an optional sign and digits. Letters may be in either case.
// Hexadecimal numbers, underscores and spaces are not accepted.
//
// Float does not allocate.
func Float(s string) (float64, bool) {
	unsigned, negative := s, false
	if s != "" && (s[0] == '-' || s[0] == '+') {
		unsigned, negative = s[1:], s[0] == '-'
	}
	x, ok := magnitude(unsigned)
	if negative {
		x = -x
	}
	return x, ok
}

// powersOfTen are exact in float64.
var powersOfTen = [...]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15}

// magnitude is Float without the sign.
func magnitude(s string) (float64, bool) {
	if s == "" {
		return 0, false
	}
	switch s[0] {
	case 'i', 'I':
		if len(s) == len("inf") && strings.EqualFold(s, "inf") ||
			len(s) == len("infinity") && strings.EqualFold(s, "infinity") {
			return math.Inf(1), true
		}
		return 0, false
	case 'n', 'N':
		if len(s) == len("nan") && strings.EqualFold(s, "nan") {
			return math.NaN(), true
		}
		return 0, false
	}

	// The mantissa has whole digits, perhaps a point, and places more digits. n
	// is the number with all these digits, as long as they are few.
	var n uint64
	i := 0
	for ; i < len(s) && s[i]-'0' <= 9; i++ {
		n = n*10 + uint64(s[i]-'0')
	}
	whole, places := i, 0
	if i < len(s) && s[i] == '.' {
		for i++; i < len(s) && s[i]-'0' <= 9; i++ {
			n = n*10 + uint64(s[i]-'0')
		}
		places = i - whole - 1
	}
	if whole+places == 0 {
		return 0, false
	}
	if i == len(s) && whole+places < len(powersOfTen) {
		// Both numbers are exact, so the quotient is rounded only once.
		return float64(n) / powersOfTen[places], true
	}
	mantissa := s[:i]
	exponent, ok := parseExponent(s[i:])
	if !ok {
		return 0, false
	}
	if len(s) <= 300 && exponent > -10_000 && int64(whole)+exponent <= 308 {
		// The number is below 10^308, so strconv cannot fail, which would
		// allocate.
		x, _ := strconv.ParseFloat(s, 64)
		return x, true
	}
	return extreme(mantissa, whole, exponent), true
}

// parseExponent reads the exponent after the mantissa. It limits exponents that
// no mantissa is long enough to offset.
func parseExponent(s string) (int64, bool) {
	if s == "" {
		return 0, true
	}
	if s[0]|0x20 != 'e' {
		return 0, false
	}
	s = s[1:]
	negative := false
	if s != "" && (s[0] == '-' || s[0] == '+') {
		negative = s[0] == '-'
		s = s[1:]
	}
	if s == "" {
		return 0, false
	}
	n := int64(0)
	for i := range len(s) {
		if s[i]-'0' > 9 {
			return 0, false
		}
		n = min(n*10+int64(s[i]-'0'), 1<<50)
	}
	if negative {
		n = -n
	}
	return n, true
}

// extreme converts a number that is long or perhaps too large. The mantissa has
// whole digits before its point. It is rewritten as 0.ddd × 10^point for
// jsonscan, which handles overflows. 780 of its digits are enough to tell on
// which side of the middle between two float64 it lies, if the next digit tells
// whether anything follows.
func extreme(mantissa string, whole int, exponent int64) float64 {
	first := strings.IndexAny(mantissa, "123456789")
	if first < 0 {
		return 0
	}
	point := int64(whole-first) + exponent
	if first > whole {
		point++ // the point itself is not a digit
	}
	switch {
	case point > 309:
		return math.Inf(1)
	case point < -330:
		return 0
	}
	var buf [800]byte
	number := append(buf[:0], "0."...)
	for i := first; i < len(mantissa); i++ {
		switch c := mantissa[i]; {
		case c == '.':
		case len(number) < 782:
			number = append(number, c)
		case c != '0':
			number = append(number, '1')
			i = len(mantissa)
		}
	}
	number = append(number, 'e')
	number = strconv.AppendInt(number, point, 10)
	x, ok := jsonscan.Value(number).Float()
	if !ok {
		return math.Inf(1)
	}
	return x
}
