package semver

import (
	"cmp"
	"math"
	"strings"
	"unicode/utf8"
)

// A Version is a parsed version. Two versions are equal by == if and only if
// [Compare] returns 0. The zero Version is 0.0.0.
type Version struct {
	major, minor, patch uint64
	pre, build          string // without the - and the +; empty if there is none
}

// Parse reads a version (evaluation.md §4.10): one to three numeric components,
// then optionally a pre-release and build metadata as in Semantic Versioning
// 2.0.0. A lower-case v at the very start is removed, and then white space at
// both ends. Components must fit 64 bits. Numeric identifiers may have any
// size; in a pre-release they have no leading zeros.
//
// Parse does not allocate. The result shares the memory of s.
func Parse(s string) (v Version, ok bool) {
	ok = v.Set(s)
	return v, ok
}

// Set is Parse for a Version that exists, which spares a copy. If s is not a version, v
// does not change.
func (v *Version) Set(s string) (ok bool) { return v.parse(trim(s)) }

// trim removes the characters that are allowed around a version. A v after a
// space stays, and makes the version invalid.
func trim(s string) string {
	s = strings.TrimPrefix(s, "v")
	if s == "" || insideText(s[0]) && insideText(s[len(s)-1]) {
		return s
	}
	return strings.TrimSpace(s)
}

// insideText reports whether c is certainly not part of a white space character.
func insideText(c byte) bool { return ' ' < c && c < utf8.RuneSelf }

// parse is Set for a text that is trimmed.
func (v *Version) parse(s string) bool {
	var components [3]uint64
	for i := range components {
		n, digits := component(s)
		if digits == 0 {
			return false
		}
		components[i] = n
		s = s[digits:]
		if s == "" || s[0] != '.' || i == 2 {
			break
		}
		s = s[1:]
	}
	var pre, build string
	ok := true
	if s != "" && s[0] == '-' {
		pre, s, ok = identifiers(s[1:], false)
	}
	if ok && s != "" && s[0] == '+' {
		build, s, ok = identifiers(s[1:], true)
	}
	if !ok || s != "" {
		return false
	}
	v.major, v.minor, v.patch, v.pre, v.build = components[0], components[1], components[2], pre, build
	return true
}

// component reads the number at the start of s and returns the number of its
// digits, which is 0 if there is no number or it does not fit.
func component(s string) (n uint64, digits int) {
	for digits < len(s) && s[digits]-'0' <= 9 {
		n = n*10 + uint64(s[digits]-'0')
		digits++
	}
	if digits > 19 { // 19 digits always fit
		return longComponent(s[:digits])
	}
	return n, digits
}

// longComponent is component for many digits, which may be leading zeros.
func longComponent(s string) (n uint64, digits int) {
	for digits = range len(s) {
		d := uint64(s[digits] - '0')
		if n >= math.MaxUint64/10 && (n > math.MaxUint64/10 || d > math.MaxUint64%10) {
			return 0, 0
		}
		n = n*10 + d
	}
	return n, len(s)
}

// identifiers reads the dot-separated identifiers at the start of s, up to a
// plus sign or the end. zeros says whether numbers may have leading zeros.
func identifiers(s string, zeros bool) (list, rest string, ok bool) {
	start, number := 0, true // of the current identifier
	for i := 0; ; i++ {
		if i < len(s) && s[i] != '.' && s[i] != '+' {
			switch c := s[i]; {
			case c-'0' <= 9:
			case c|0x20 >= 'a' && c|0x20 <= 'z', c == '-':
				number = false
			default:
				return "", s, false
			}
			continue
		}
		if i == start || number && !zeros && s[start] == '0' && i > start+1 {
			return "", s, false
		}
		if i == len(s) || s[i] == '+' {
			return s[:i], s[i:], true
		}
		start, number = i+1, true
	}
}

// Compare returns -1 if a is lower than b, 0 if they are equal and 1 if a is
// higher (evaluation.md §4.10). It compares major, minor and patch first, then
// the pre-release, which is lower than the release, then build metadata, where
// none is lowest. Identifiers are compared one by one: numbers by value, words
// bytewise, a number is lower than a word, and a shorter list is lower. If two
// numbers in build metadata differ only in leading zeros, the longer one is
// higher.
//
// Compare does not allocate.
func Compare(a, b *Version) int {
	if c := precedence(a, b); c != 0 {
		return c
	}
	return compareLists(a.build, b.build)
}

// precedence compares without build metadata.
func precedence(a, b *Version) int {
	switch {
	case a.major != b.major:
		return cmp.Compare(a.major, b.major)
	case a.minor != b.minor:
		return cmp.Compare(a.minor, b.minor)
	case a.patch != b.patch:
		return cmp.Compare(a.patch, b.patch)
	case a.pre == "" && b.pre == "":
		return 0
	case a.pre == "":
		return 1
	case b.pre == "":
		return -1
	default:
		return compareLists(a.pre, b.pre)
	}
}

func compareLists(a, b string) int {
	if a == b {
		return 0
	}
	for a != "" && b != "" {
		var x, y string
		x, a, _ = strings.Cut(a, ".")
		y, b, _ = strings.Cut(b, ".")
		if x == y {
			continue
		}
		if c := compareIdentifiers(x, y); c != 0 {
			return c
		}
	}
	return cmp.Compare(len(a), len(b)) // at least one of the lists is used up
}

func compareIdentifiers(a, b string) int {
	switch aNumber, bNumber := isNumber(a), isNumber(b); {
	case aNumber && bNumber:
		// By value: of equally many digits the text decides, whatever the size.
		x, y := strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
		if c := cmp.Compare(len(x), len(y)); c != 0 {
			return c
		}
		if c := strings.Compare(x, y); c != 0 {
			return c
		}
		return cmp.Compare(len(a), len(b))
	case aNumber:
		return -1
	case bNumber:
		return 1
	default:
		return strings.Compare(a, b)
	}
}

func isNumber(s string) bool {
	for i := range len(s) {
		if s[i]-'0' > 9 {
			return false
		}
	}
	return true
}
