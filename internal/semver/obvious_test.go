package semver_test

import (
	"cmp"
	"math/big"
	"regexp"
	"slices"
	"strings"
)

// This file is an independent implementation of evaluation.md §4.10, with
// regular expressions, slices and big integers, and with ranges as pairs of
// bounds.

// An obvious version is the result of obviousParse.
type obvious struct {
	core       [3]*big.Int
	pre, build []string
}

var shape = regexp.MustCompile(`^(\d+)(?:\.(\d+))?(?:\.(\d+))?(?:-([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?(?:\+([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?$`)

var (
	number      = regexp.MustCompile(`^\d+$`)
	leadingZero = regexp.MustCompile(`^0\d+$`)
	tooBig      = new(big.Int).Lsh(big.NewInt(1), 64)
)

func obviousTrim(s string) string {
	return strings.TrimSpace(regexp.MustCompile(`^v`).ReplaceAllString(s, ""))
}

func obviousParse(s string) (obvious, bool) {
	m := shape.FindStringSubmatch(obviousTrim(s))
	if m == nil {
		return obvious{}, false
	}
	var o obvious
	for i := range o.core {
		o.core[i], _ = new(big.Int).SetString(cmp.Or(m[i+1], "0"), 10)
		if o.core[i].Cmp(tooBig) >= 0 {
			return obvious{}, false
		}
	}
	if m[4] != "" {
		o.pre = strings.Split(m[4], ".")
	}
	if m[5] != "" {
		o.build = strings.Split(m[5], ".")
	}
	if slices.ContainsFunc(o.pre, leadingZero.MatchString) {
		return obvious{}, false
	}
	return o, true
}

func (o obvious) compareCore(p obvious) int {
	for i := range o.core {
		if c := o.core[i].Cmp(p.core[i]); c != 0 {
			return c
		}
	}
	return 0
}

// compareRelease compares without build metadata.
func (o obvious) compareRelease(p obvious) int {
	if c := o.compareCore(p); c != 0 {
		return c
	}
	if (o.pre == nil) != (p.pre == nil) {
		if o.pre == nil {
			return 1
		}
		return -1
	}
	return obviousLists(o.pre, p.pre)
}

func (o obvious) compare(p obvious) int {
	return cmp.Or(o.compareRelease(p), obviousLists(o.build, p.build))
}

func obviousLists(a, b []string) int {
	for len(a) > 0 && len(b) > 0 {
		if c := obviousIdentifiers(a[0], b[0]); c != 0 {
			return c
		}
		a, b = a[1:], b[1:]
	}
	return len(a) - len(b) // only the sign matters; one of them is 0
}

func obviousIdentifiers(a, b string) int {
	x, y := new(big.Int), new(big.Int)
	if number.MatchString(a) {
		x.SetString(a, 10)
	} else {
		x = nil
	}
	if number.MatchString(b) {
		y.SetString(b, 10)
	} else {
		y = nil
	}
	switch {
	case x == nil && y == nil:
		return strings.Compare(a, b)
	case x == nil:
		return 1
	case y == nil:
		return -1
	}
	return cmp.Or(x.Cmp(y), len(a)-len(b))
}

// An obviousRange is a list of conditions, all of which must hold.
type obviousRange []obviousComparator

type obviousComparator struct {
	op    string
	given int // components
	bound obvious
}

var comparatorShape = regexp.MustCompile(`^(=|>=|>|<=|<|~|\^|) *([0-9]+)(?:\.([0-9]+|[*xX])(?:\.([0-9]+|[*xX])` +
	`(-[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?(\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?)?)?$`)

func (r obviousRange) contains(v obvious) bool {
	given := len(v.pre) == 0
	for _, c := range r {
		if !c.contains(v) {
			return false
		}
		given = given || len(c.bound.pre) > 0 && v.compareCore(c.bound) == 0
	}
	return given
}

func (c obviousComparator) contains(v obvious) bool {
	// With fewer than three components they stand for all versions that begin so.
	if c.given < 3 {
		inside := v.compareCore(c.bound) >= 0 && v.compareCore(obvious{core: bump(c.bound.core, c.given)}) < 0
		release := len(v.pre) == 0
		switch c.op {
		case "=", "*":
			return inside && release
		case ">":
			return !inside && v.compareCore(c.bound) > 0
		case ">=":
			return inside && release || !inside && v.compareCore(c.bound) > 0
		case "<":
			return v.compareCore(c.bound) < 0
		case "<=":
			return inside && release || v.compareCore(c.bound) < 0
		case "~":
			return inside && release
		}
		if c.bound.core[0].Sign() == 0 || c.given == 1 {
			return inside
		}
		return v.compareCore(c.bound) >= 0 && v.compareCore(obvious{core: bump(c.bound.core, 1)}) < 0
	}
	order := v.compareRelease(c.bound)
	switch c.op {
	case "=":
		return order == 0
	case ">":
		return order > 0
	case ">=":
		return order >= 0
	case "<":
		return order < 0
	case "<=":
		return order <= 0
	case "~":
		return order >= 0 && v.compareCore(obvious{core: bump(c.bound.core, 2)}) < 0
	}
	n := 1
	for n < 3 && c.bound.core[n-1].Sign() == 0 {
		n++
	}
	return order >= 0 && v.compareCore(obvious{core: bump(c.bound.core, n)}) < 0
}

// bump returns the lowest version after all versions that share the first n
// components with v.
func bump(v [3]*big.Int, n int) [3]*big.Int {
	zero := big.NewInt(0)
	next := [3]*big.Int{zero, zero, zero}
	copy(next[:], v[:n])
	next[n-1] = new(big.Int).Add(v[n-1], big.NewInt(1))
	return next
}

func obviousTilde(s string) (obviousRange, bool) { return obviousList("~" + obviousPadded(s)) }
func obviousCaret(s string) (obviousRange, bool) { return obviousList("^" + obviousPadded(s)) }

func obviousPadded(s string) string {
	m := regexp.MustCompile(`(?s)^([^-+]*)(.*)$`).FindStringSubmatch(obviousTrim(s))
	for strings.Count(m[1], ".") < 2 {
		m[1] += ".0"
	}
	return m[1] + m[2]
}

func obviousWildcard(s string) (obviousRange, bool) {
	s = obviousTrim(s)
	if regexp.MustCompile(`^[*xX] *$`).MatchString(s) {
		return nil, true
	}
	return obviousList(s)
}

func obviousList(s string) (obviousRange, bool) {
	var r obviousRange
	for i, part := range strings.Split(s, ",") {
		m := comparatorShape.FindStringSubmatch(strings.Trim(part, " "))
		if m == nil || i == 32 {
			return nil, false
		}
		c := obviousComparator{op: m[1]}
		numbers := []string{"0", "0", "0"}
		stars := false
		for i, text := range m[2:5] {
			switch {
			case text == "":
			case strings.Contains("*xX", text):
				stars = true
			case stars:
				return nil, false
			default:
				numbers[i] = text
				c.given++
			}
		}
		if stars && c.op == "" {
			c.op = "*"
		}
		if c.given < 3 && m[5]+m[6] != "" {
			return nil, false
		}
		var ok bool
		if c.bound, ok = obviousParse(strings.Join(numbers, ".") + m[5]); !ok {
			return nil, false
		}
		r = append(r, c)
	}
	return r, true
}
