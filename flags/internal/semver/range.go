package semver

import "strings"

// A Range is the value of a range operator. The zero Range is Wildcard("*").
//
// The upper bound of a range is expressed as "the first components equal the
// lower bound's". This cannot overflow, as the sum in "below a.(b+1).0" can.
type Range struct {
	min   Version // the lowest version; its build metadata is ignored
	fixed uint8   // how many of major, minor and patch must equal min's
}

// Tilde returns the range of semver_tilde (evaluation.md §4.10): from a.b.c,
// below a.(b+1).0. Missing components are 0, so 1 means 1.0.0 and ends below
// 1.1.0. The syntax of s is as for [Parse].
func Tilde(s string) (Range, bool) {
	v, ok := Parse(s)
	if !ok {
		return Range{}, false
	}
	return Range{min: v, fixed: 2}, true
}

// Caret returns the range of semver_caret (evaluation.md §4.10): from a.b.c,
// below the next major, or below the next minor if a is 0, or 0.0.c alone if a
// and b are 0. Missing components are 0. The syntax of s is as for [Parse].
func Caret(s string) (Range, bool) {
	v, ok := Parse(s)
	if !ok {
		return Range{}, false
	}
	return caretRange(v), true
}

func caretRange(v Version) Range {
	switch {
	case v.major > 0:
		return Range{min: v, fixed: 1}
	case v.minor > 0:
		return Range{min: v, fixed: 2}
	default:
		return Range{min: v, fixed: 3}
	}
}

// Wildcard returns the range of semver_wildcard (evaluation.md §4.10): up to
// three components, of which the last ones are stars, such as *, 1.* or 1.2.*.
// It contains releases only. A text without a star is read as for [Caret]. A v
// and spaces are allowed as for [Parse].
func Wildcard(s string) (Range, bool) {
	s = trim(s)
	if strings.IndexByte(s, '*') < 0 {
		var v Version
		if !v.parse(s) {
			return Range{}, false
		}
		return caretRange(v), true
	}

	var r Range
	stars := false
	for n := range uint8(3) {
		if s != "" && s[0] == '*' {
			stars = true
			s = s[1:]
		} else {
			c, digits := component(s)
			if digits == 0 || stars {
				return Range{}, false
			}
			if n == 0 {
				r.min.major = c
			} else {
				r.min.minor = c // a third number is not used: it leaves no room for a star
			}
			r.fixed = n + 1
			s = s[digits:]
		}
		if s == "" {
			return r, true
		}
		if s[0] != '.' {
			return Range{}, false
		}
		s = s[1:]
	}
	return Range{}, false // more than three components
}

// Contains reports whether v is in the range. Build metadata is ignored. A
// pre-release is only in a range that was given with a pre-release of the same
// major, minor and patch (evaluation.md §4.10).
//
// Contains does not allocate.
func (r Range) Contains(v Version) bool {
	if r.fixed > 0 && v.major != r.min.major ||
		r.fixed > 1 && v.minor != r.min.minor ||
		r.fixed > 2 && v.patch != r.min.patch {
		return false
	}
	if v.pre != "" && (r.min.pre == "" ||
		v.major != r.min.major || v.minor != r.min.minor || v.patch != r.min.patch) {
		return false
	}
	return precedence(&v, &r.min) >= 0
}
