package text

import (
	"unicode"
	"unicode/utf8"
)

// Folded reports whether s is ASCII without capital letters, so that neither
// folding changes it.
func Folded(s string) bool {
	for i := range len(s) {
		if c := s[i]; c >= utf8.RuneSelf || 'A' <= c && c <= 'Z' {
			return false
		}
	}
	return true
}

// AppendLowerASCII appends s with A to Z in lower case (evaluation.md §4.5).
func AppendLowerASCII(dst []byte, s string) []byte {
	for i := range len(s) {
		c := s[i]
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		dst = append(dst, c)
	}
	return dst
}

// Lower returns s in lower case by the full rules of Unicode, which do not
// depend on a language (evaluation.md §4.4). That is not case folding: ß and SS
// differ.
func Lower(s string) string {
	if Folded(s) {
		return s
	}
	return string(AppendLower(nil, s))
}

// AppendLower is Lower into dst.
func AppendLower(dst []byte, s string) []byte {
	for i, r := range s {
		switch {
		case r < utf8.RuneSelf:
			if 'A' <= r && r <= 'Z' {
				r += 'a' - 'A'
			}
			dst = append(dst, byte(r))
		case r == 'İ':
			// The one letter whose lower case is two characters.
			dst = append(dst, "i̇"...)
		case r == 'Σ':
			if finalSigma(s[:i], s[i+len("Σ"):]) {
				dst = append(dst, "ς"...)
			} else {
				dst = append(dst, "σ"...)
			}
		default:
			dst = utf8.AppendRune(dst, unicode.ToLower(r))
		}
	}
	return dst
}

// finalSigma is Unicode's condition Final_Sigma: a cased letter comes before,
// none after, not counting characters that case ignores.
func finalSigma(before, after string) bool {
	for {
		r, n := utf8.DecodeLastRuneInString(before)
		if n == 0 {
			return false
		}
		before = before[:len(before)-n]
		if caseIgnorable(r) {
			continue
		}
		if !cased(r) {
			return false
		}
		break
	}
	for _, r := range after {
		if caseIgnorable(r) {
			continue
		}
		return !cased(r)
	}
	return true
}

func cased(r rune) bool {
	return unicode.In(r, unicode.Lu, unicode.Ll, unicode.Lt, unicode.Other_Lowercase, unicode.Other_Uppercase)
}

func caseIgnorable(r rune) bool {
	switch r {
	case '\'', '.', ':', '·', '\u0387', '\u055F', '\u05F4', '\u2018', '\u2019', '\u2024', '\u2027',
		'\uFE13', '\uFE52', '\uFE55', '\uFF07', '\uFF0E', '\uFF1A':
		return true
	}
	return unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf, unicode.Lm, unicode.Sk)
}
