package text

import (
	"math"
	"strconv"
	"unsafe"
)

// IsCanonicalInteger reports whether a JSON number literal is its own text: an
// integer that fits 64 bits (evaluation.md §4.1). Callers may then use the
// literal itself.
func IsCanonicalInteger(literal []byte) bool {
	digits, negative := literal, false
	if len(digits) > 0 && digits[0] == '-' {
		digits, negative = digits[1:], true
	}
	if len(digits) == 0 || len(digits) > 20 || negative && digits[0] == '0' {
		return false
	}
	for _, c := range digits {
		if c < '0' || c > '9' {
			return false
		}
	}
	switch {
	case len(digits) < 19:
		return true
	case negative:
		return len(digits) == 19 && string(digits) <= "9223372036854775808"
	default:
		return len(digits) == 19 || string(digits) <= "18446744073709551615"
	}
}

// AppendNumber appends the text of a JSON number literal: an integer as it is,
// anything else as the shortest text of its float64 that has a fraction or an
// exponent. A literal beyond float64 is left as it is.
func AppendNumber(dst, literal []byte) []byte {
	if IsCanonicalInteger(literal) {
		return append(dst, literal...)
	}
	f, err := strconv.ParseFloat(view(literal), 64)
	if err != nil {
		return append(dst, literal...)
	}
	return appendFloat(dst, f)
}

// appendFloat writes a float as serde_json does: with the digits d and the
// decimal point after kk of them, plain for -5 < kk <= 16, with an exponent
// otherwise.
func appendFloat(dst []byte, f float64) []byte {
	if math.Signbit(f) {
		dst = append(dst, '-')
		f = -f
	}
	if f == 0 {
		return append(dst, "0.0"...)
	}
	var buf [32]byte
	e := strconv.AppendFloat(buf[:0], f, 'e', -1, 64) // d.ddde±xx
	digits := []byte{e[0]}
	i := 1
	if e[i] == '.' {
		for i++; e[i] != 'e'; i++ {
			digits = append(digits, e[i])
		}
	}
	exp, _ := strconv.Atoi(view(e[i+1:]))
	switch kk := exp + 1; {
	case 0 < kk && kk <= 16:
		for j := range max(kk, len(digits)) {
			if j == kk {
				dst = append(dst, '.')
			}
			if j < len(digits) {
				dst = append(dst, digits[j])
			} else {
				dst = append(dst, '0')
			}
		}
		if len(digits) <= kk {
			dst = append(dst, ".0"...)
		}
	case -5 < kk && kk <= 0:
		dst = append(dst, "0."...)
		for range -kk {
			dst = append(dst, '0')
		}
		dst = append(dst, digits...)
	default:
		dst = append(dst, digits[0])
		if len(digits) > 1 {
			dst = append(append(dst, '.'), digits[1:]...)
		}
		dst = strconv.AppendInt(append(dst, 'e'), int64(exp), 10)
	}
	return dst
}

// Float reads a number as Rust's f64 does (evaluation.md §4.7): no white space,
// no hexadecimal, no underscores; infinities and NaN by name in any case. What
// is too large is infinite.
func Float(s string) (float64, bool) {
	if s == "" || len(s) > 1<<16 {
		return 0, false
	}
	rest := s
	if rest[0] == '+' || rest[0] == '-' {
		rest = rest[1:]
	}
	if rest == "" {
		return 0, false
	}
	if c := rest[0] | 0x20; c == 'i' || c == 'n' {
		switch {
		case equalFold(rest, "inf"), equalFold(rest, "infinity"):
			if s[0] == '-' {
				return math.Inf(-1), true
			}
			return math.Inf(1), true
		case equalFold(rest, "nan"):
			return math.NaN(), true
		}
		return 0, false
	}
	// The grammar is checked here, since ParseFloat knows more forms and its
	// errors are allocated.
	i, digits := 0, 0
	for ; i < len(rest) && isDigit(rest[i]); i++ {
		digits++
	}
	if i < len(rest) && rest[i] == '.' {
		for i++; i < len(rest) && isDigit(rest[i]); i++ {
			digits++
		}
	}
	if digits == 0 {
		return 0, false
	}
	if i < len(rest) && rest[i]|0x20 == 'e' {
		i++
		if i < len(rest) && (rest[i] == '+' || rest[i] == '-') {
			i++
		}
		start := i
		for ; i < len(rest) && isDigit(rest[i]); i++ {
		}
		if i == start {
			return 0, false
		}
	}
	if i != len(rest) {
		return 0, false
	}
	f, _ := strconv.ParseFloat(s, 64) // out of range gives ±Inf
	return f, true
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func equalFold(s, lower string) bool {
	if len(s) != len(lower) {
		return false
	}
	for i := range len(s) {
		if s[i]|0x20 != lower[i] {
			return false
		}
	}
	return true
}

// view returns b as a string that shares its memory, for functions that only
// read it.
func view(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
