package casefold

import (
	"encoding/binary"
	"unicode"
	"unicode/utf8"
)

// Several functions here process eight bytes at a time, as one word. Adding to
// all bytes of a word at once is safe as long as no sum exceeds a byte. The
// high bit of each byte of the sum is then the answer for this byte.
const (
	ones  = 0x0101010101010101
	highs = 0x80 * ones
)

// capitals returns a word with the high bit set in the bytes in which w is A to
// Z. The high bits of w must not be set.
func capitals(w uint64) uint64 {
	fromA := w + (0x80-'A')*ones
	behindZ := w + (0x80-'Z'-1)*ones
	return (fromA ^ behindZ) & highs
}

// lowerWord returns w with the bytes A to Z in lower case.
func lowerWord(w uint64) uint64 {
	// The 0x80 of a capital becomes the 0x20 that makes it a small letter.
	return w | (capitals(w&^highs)&^w)>>2
}

// word returns the eight bytes of s from i on.
func word(s string, i int) uint64 {
	s = s[i:]
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// Folded reports whether s is ASCII without A to Z. In this case [Lower] and
// [AppendLowerASCII] return s itself.
func Folded(s string) bool {
	var w uint64
	last := len(s) - 8
	switch {
	case last >= 0:
		for i := 0; i < last; i += 8 {
			if w := word(s, i); w&highs|capitals(w&^highs) != 0 {
				return false
			}
		}
		w = word(s, last)
	case len(s) >= 4: // the halves may overlap
		t := s[len(s)-4:]
		w = uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
			uint64(t[0])<<32 | uint64(t[1])<<40 | uint64(t[2])<<48 | uint64(t[3])<<56
	case len(s) > 0:
		w = uint64(s[0]) | uint64(s[len(s)/2])<<8 | uint64(s[len(s)-1])<<16
	}
	return w&highs|capitals(w&^highs) == 0
}

// AppendLowerASCII appends s with A to Z in lower case and all other bytes
// unchanged (evaluation.md §4.5).
func AppendLowerASCII(dst []byte, s string) []byte {
	start := len(dst)
	dst = append(dst, s...)
	b := dst[start:]
	last := len(s) - 8
	if last < 0 {
		for i, c := range b {
			if c-'A' < 26 {
				b[i] = c | 0x20
			}
		}
		return dst
	}
	for i := 0; i < last; i += 8 {
		binary.LittleEndian.PutUint64(b[i:], lowerWord(word(s, i)))
	}
	binary.LittleEndian.PutUint64(b[last:], lowerWord(word(s, last))) // may overlap the word before
	return dst
}

// Lower returns s in lower case by the rules of Unicode for no particular
// language (evaluation.md §4.4). These include two rules about more than one
// character: capital I with a dot above becomes i and a combining dot, and
// capital sigma at the end of a word becomes final sigma. There is no further
// folding: ß and ss differ. Bytes that are not UTF-8 become U+FFFD.
//
// If nothing changes, Lower returns s itself and does not allocate.
func Lower(s string) string {
	if Folded(s) {
		return s
	}
	i := unchanged(s)
	if i == len(s) {
		return s
	}
	const room = 8 // few letters are longer in lower case
	dst := make([]byte, i, len(s)+room)
	copy(dst, s)
	return string(appendLowerFrom(dst, s, i))
}

// AppendLower appends [Lower] of s.
func AppendLower(dst []byte, s string) []byte {
	return appendLowerFrom(dst, s, 0)
}

// unchanged returns the number of bytes at the start of s that are the same in
// lower case.
func unchanged(s string) int {
	for i, r := range s {
		switch {
		case r < utf8.RuneSelf:
			if 'A' <= r && r <= 'Z' {
				return i
			}
		case r == utf8.RuneError: // U+FFFD itself, or not UTF-8
			if _, n := utf8.DecodeRuneInString(s[i:]); n == 1 {
				return i
			}
		case unicode.ToLower(r) != r:
			return i
		}
	}
	return len(s)
}

const (
	capitalSigma = 'Σ'
	smallSigma   = 'σ'
	finalSigma   = 'ς'
	capitalIDot  = 'İ'
)

// appendLowerFrom appends s[i:] in lower case. The text before i only affects
// final sigma.
func appendLowerFrom(dst []byte, s string, i int) []byte {
	for i < len(s) {
		start := i
		for i+8 <= len(s) && word(s, i)&highs == 0 {
			i += 8
		}
		for i < len(s) && s[i] < utf8.RuneSelf {
			i++
		}
		dst = AppendLowerASCII(dst, s[start:i])
		for i < len(s) && s[i] >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			switch r {
			case capitalSigma:
				r = smallSigma
				if endsWord(s[:i], s[i+n:]) {
					r = finalSigma
				}
			case capitalIDot:
				dst = append(dst, 'i')
				r = '\u0307'
			default:
				if r > unicode.MaxLatin1 {
					r = unicode.ToLower(r)
				} else if 'À' <= r && r <= 'Þ' && r != '×' {
					r += 'à' - 'À'
				}
			}
			dst = utf8.AppendRune(dst, r)
			i += n
		}
	}
	return dst
}

// endsWord is the condition Final_Sigma of the Unicode Standard, section 3.13:
// the sigma between before and after follows a letter that has case and does
// not precede one; ignorable characters in between do not count.
func endsWord(before, after string) bool {
	preceded := false
	for before != "" {
		r, n := utf8.DecodeLastRuneInString(before)
		if !caseIgnorable(r) {
			preceded = cased(r)
			break
		}
		before = before[:len(before)-n]
	}
	if !preceded {
		return false
	}
	for after != "" {
		r, n := utf8.DecodeRuneInString(after)
		if !caseIgnorable(r) {
			return !cased(r)
		}
		after = after[n:]
	}
	return true
}

// cased is the property Cased of the Unicode Standard, section 3.13.
func cased(r rune) bool {
	return unicode.In(r, unicode.Ll, unicode.Lu, unicode.Lt, unicode.Other_Lowercase, unicode.Other_Uppercase)
}

// caseIgnorable is the property Case_Ignorable of the Unicode Standard, section
// 3.13: marks, format characters, modifiers, and the characters whose
// Word_Break is MidLetter, MidNumLet or Single_Quote.
func caseIgnorable(r rune) bool {
	switch r {
	case ':', '·', '\u0387', '\u055F', '\u05F4', '\u2027', '\uFE13', '\uFE55', '\uFF1A', // MidLetter
		'.', '\u2018', '\u2019', '\u2024', '\uFE52', '\uFF07', '\uFF0E', // MidNumLet
		'\'': // Single_Quote
		return true
	}
	return unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf, unicode.Lm, unicode.Sk)
}

// IsLower reports whether lower is s with A to Z in lower case and all other bytes
// unchanged: whether AppendLowerASCII of s would append it.
func IsLower(s, lower string) bool {
	if len(s) != len(lower) {
		return false
	}
	last := len(s) - 8
	if last < 0 {
		for i := range len(s) {
			c := s[i]
			if c-'A' < 26 {
				c |= 0x20
			}
			if c != lower[i] {
				return false
			}
		}
		return true
	}
	for i := 0; i < last; i += 8 {
		if lowerWord(word(s, i)) != word(lower, i) {
			return false
		}
	}
	return lowerWord(word(s, last)) == word(lower, last)
}

// A Case says what lower-casing does to a text.
type Case uint8

const (
	CaseOther  Case = iota // it has other characters than ASCII's
	CaseMixed              // it is ASCII with A to Z
	CaseFolded             // as for Folded
)

// CaseOf returns the Case of a text.
func CaseOf(s string) Case {
	var high, capital uint64
	last := len(s) - 8
	if last < 0 {
		var w uint64
		switch {
		case len(s) >= 4: // the halves may overlap
			t := s[len(s)-4:]
			w = uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
				uint64(t[0])<<32 | uint64(t[1])<<40 | uint64(t[2])<<48 | uint64(t[3])<<56
		case len(s) > 0:
			w = uint64(s[0]) | uint64(s[len(s)/2])<<8 | uint64(s[len(s)-1])<<16
		}
		high, capital = w&highs, capitals(w&^highs)
	} else {
		for i := 0; i < last; i += 8 {
			w := word(s, i)
			high, capital = high|w&highs, capital|capitals(w&^highs)
		}
		w := word(s, last)
		high, capital = high|w&highs, capital|capitals(w&^highs)
	}
	switch {
	case high != 0:
		return CaseOther
	case capital != 0:
		return CaseMixed
	}
	return CaseFolded
}
