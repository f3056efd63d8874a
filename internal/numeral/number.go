package numeral

import (
	"strconv"

	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
)

// IsCanonicalInteger reports whether str(x) of an integer literal is the
// literal itself (evaluation.md §4.1), so that its text can share its memory.
// This holds for a JSON number without fraction and exponent that fits 64 bits,
// signed or unsigned, and is not -0. It reports false for any other text.
func IsCanonicalInteger(literal []byte) bool {
	digits, limit := literal, "18446744073709551615"
	if len(literal) > 0 && literal[0] == '-' {
		digits, limit = literal[1:], "9223372036854775808"
		if len(digits) > 0 && digits[0] == '0' {
			return false
		}
	}
	if len(digits) == 0 || len(digits) > len(limit) || digits[0] == '0' && len(digits) > 1 {
		return false
	}
	for _, c := range digits {
		if c-'0' > 9 {
			return false
		}
	}
	return len(digits) < len(limit) || string(digits) <= limit
}

// Append appends str(x) of a JSON number (evaluation.md §4.1). An integer
// that fits 64 bits is written as it is. Any other number becomes a float64,
// written with the fewest digits that identify it and always with a fraction or
// an exponent: 1.0, 0.00001, 1e-6, 1e16. A number beyond float64, such as
// 1e999, is written as it is, and so is a text that is not a JSON number.
//
// Append allocates only the room it needs in dst.
func Append(dst, literal []byte) []byte {
	if IsCanonicalInteger(literal) {
		return append(dst, literal...)
	}
	x, ok := jsonscan.Value(literal).Float()
	if !ok {
		return append(dst, literal...)
	}
	return AppendFloat(dst, x)
}

// AppendFloat writes a finite x with the digits of its shortest form. The
// position of the point decides on the layout: more than 4 places to the left
// of the first digit, or more than 16 to its right, need an exponent.
func AppendFloat(dst []byte, x float64) []byte {
	var buf [32]byte
	short := strconv.AppendFloat(buf[:0], x, 'e', -1, 64) // such as -1.25e+02
	if short[0] == '-' {
		dst = append(dst, '-')
		short = short[1:]
	}
	if x == 0 {
		return append(dst, "0.0"...)
	}

	// Separate digits and exponent. point is the position of the decimal point:
	// x is 0.ddd × 10^point.
	var digits [20]byte
	n := 0
	for short[0] != 'e' {
		if short[0] != '.' {
			digits[n] = short[0]
			n++
		}
		short = short[1:]
	}
	point := 0
	for _, c := range short[2:] {
		point = point*10 + int(c-'0')
	}
	if short[1] == '-' {
		point = -point
	}
	point++

	switch {
	case point > 16 || point < -4:
		dst = append(dst, digits[0])
		if n > 1 {
			dst = append(dst, '.')
			dst = append(dst, digits[1:n]...)
		}
		dst = append(dst, 'e')
		return strconv.AppendInt(dst, int64(point-1), 10)
	case point <= 0:
		dst = append(dst, "0."...)
		dst = append(dst, "0000"[:-point]...)
		return append(dst, digits[:n]...)
	case point >= n:
		dst = append(dst, digits[:n]...)
		dst = append(dst, "0000000000000000"[:point-n]...)
		return append(dst, ".0"...)
	default:
		dst = append(dst, digits[:point]...)
		dst = append(dst, '.')
		return append(dst, digits[point:n]...)
	}
}
