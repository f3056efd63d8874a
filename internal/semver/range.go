package semver

import (
	"cmp"
	"strings"
)

// A Range is the value of a range operator: versions that all of its comparators
// contain. The zero Range contains every release.
type Range struct {
	comparators []comparator
}

// A comparator is one part of a list, such as >=1.2.
type comparator struct {
	op    operator
	parts uint8   // how many of major, minor and patch are given: 1 to 3
	bound Version // its build metadata does not count
}

// An operator is the sign before a version in a range.
type operator uint8

const (
	opCaret operator = iota // also without a sign
	opTilde
	opExact // also without a sign, if there is a star
	opGreater
	opGreaterOrEqual
	opLess
	opLessOrEqual
)

// maxComparators is how many comparators a range may have.
const maxComparators = 32

// Tilde returns the range of semver_tilde (evaluation.md §4.10): ~ before the
// text, whose missing components are 0, so that 1 means ~1.0.0.
func Tilde(s string) (Range, bool) { return parseRange("~" + padded(trim(s))) }

// Caret returns the range of semver_caret (evaluation.md §4.10): ^ before the
// text, whose missing components are 0, so that 0 means ^0.0.0.
func Caret(s string) (Range, bool) { return parseRange("^" + padded(trim(s))) }

// Wildcard returns the range of semver_wildcard (evaluation.md §4.10): a star alone
// or a list of comparators, whose missing components may be anything. A v and spaces
// are allowed as for [Parse].
func Wildcard(s string) (Range, bool) {
	s = trim(s)
	if s != "" && isStar(s[0]) {
		return Range{}, strings.Trim(s[1:], " ") == ""
	}
	return parseRange(s)
}

// padded adds the missing components to a text, before its first pre-release or
// build metadata.
func padded(s string) string {
	end := strings.IndexAny(s, "-+")
	if end < 0 {
		end = len(s)
	}
	missing := max(0, 2-strings.Count(s[:end], "."))
	return s[:end] + strings.Repeat(".0", missing) + s[end:]
}

// parseRange reads a list of comparators.
func parseRange(s string) (Range, bool) {
	var r Range
	for part := range strings.SplitSeq(s, ",") {
		c, ok := parseComparator(strings.Trim(part, " "))
		if !ok || len(r.comparators) == maxComparators {
			return Range{}, false
		}
		r.comparators = append(r.comparators, c)
	}
	return r, true
}

// parseComparator reads a sign, up to three components, of which the last ones may
// be stars, and behind three numbers a pre-release and build metadata.
func parseComparator(s string) (c comparator, ok bool) {
	sign := len(s) - len(strings.TrimLeft(s, "=<>~^"))
	switch s[:sign] {
	case "", "^":
	case "~":
		c.op = opTilde
	case "=":
		c.op = opExact
	case ">":
		c.op = opGreater
	case ">=":
		c.op = opGreaterOrEqual
	case "<":
		c.op = opLess
	case "<=":
		c.op = opLessOrEqual
	default:
		return c, false
	}
	s = strings.TrimLeft(s[sign:], " ")
	stars := false
	for i, n := range []*uint64{&c.bound.major, &c.bound.minor, &c.bound.patch} {
		if i > 0 {
			if s == "" {
				return c, true
			}
			if s[0] != '.' {
				return c, false
			}
			s = s[1:]
			if s != "" && isStar(s[0]) {
				if stars = true; sign == 0 {
					c.op = opExact
				}
				s = s[1:]
				continue
			}
		}
		value, digits := component(s)
		if digits == 0 || stars {
			return c, false
		}
		*n, s = value, s[digits:]
		c.parts++
	}
	if s == "" || c.parts < 3 {
		return c, s == ""
	}
	ok = true
	if s[0] == '-' {
		c.bound.pre, s, ok = identifiers(s[1:], false)
	}
	if ok && s != "" && s[0] == '+' {
		_, s, ok = identifiers(s[1:], true)
	}
	return c, ok && s == ""
}

// isStar reports whether c stands for any number.
func isStar(c byte) bool { return c == '*' || c == 'x' || c == 'X' }

// Contains reports whether v is in the range. Build metadata is ignored. A
// pre-release is only in a range that was given with a pre-release of the same
// major, minor and patch (evaluation.md §4.10).
//
// Contains does not allocate.
func (r Range) Contains(v *Version) bool {
	given := v.pre == ""
	for i := range r.comparators {
		c := &r.comparators[i]
		if !c.contains(v) {
			return false
		}
		given = given || c.bound.pre != "" &&
			v.major == c.bound.major && v.minor == c.bound.minor && v.patch == c.bound.patch
	}
	return given
}

func (c *comparator) contains(v *Version) bool {
	order, above := c.compare(v)
	switch c.op {
	case opExact:
		return order == 0 && v.pre == c.bound.pre
	case opGreater:
		return order > 0
	case opGreaterOrEqual:
		return order > 0 || order == 0 && v.pre == c.bound.pre
	case opLess:
		return order < 0
	case opLessOrEqual:
		return order < 0 || order == 0 && v.pre == c.bound.pre
	case opTilde:
		// Major and minor are fixed as far as they are given.
		return order == 0 && (c.parts == 3 || v.pre == "") || order > 0 && above > min(c.parts, 2)
	default:
		// Components up to the first that is not 0 are fixed.
		fixed := uint8(1)
		if c.bound.major == 0 && c.parts > 1 {
			if fixed = 2; c.bound.minor == 0 && c.parts > 2 {
				fixed = 3
			}
		}
		return order == 0 || order > 0 && above > fixed
	}
}

// compare compares a version with what is given of the bound. If they differ, at is
// the number of the component that does, and 4 for the pre-release.
func (c *comparator) compare(v *Version) (order int, at uint8) {
	if v.major != c.bound.major || c.parts == 1 {
		return cmp.Compare(v.major, c.bound.major), 1
	}
	if v.minor != c.bound.minor || c.parts == 2 {
		return cmp.Compare(v.minor, c.bound.minor), 2
	}
	if v.patch != c.bound.patch {
		return cmp.Compare(v.patch, c.bound.patch), 3
	}
	return precedence(v, &c.bound), 4
}
