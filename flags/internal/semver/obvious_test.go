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

// An obviousRange has a lower bound and the components of an upper bound, which
// is not in the range. Nil means no upper bound.
type obviousRange struct {
	from  obvious
	below *[3]*big.Int
}

func (r obviousRange) contains(v obvious) bool {
	if len(v.pre) > 0 && (len(r.from.pre) == 0 || v.compareCore(r.from) != 0) {
		return false
	}
	if v.compareRelease(r.from) < 0 {
		return false
	}
	return r.below == nil || v.compareCore(obvious{core: *r.below}) < 0
}

// bump returns the lowest version after all versions that share the first n
// components with v.
func bump(v [3]*big.Int, n int) *[3]*big.Int {
	if n == 0 {
		return nil
	}
	zero := big.NewInt(0)
	next := [3]*big.Int{zero, zero, zero}
	copy(next[:], v[:n])
	next[n-1] = new(big.Int).Add(v[n-1], big.NewInt(1))
	return &next
}

func obviousTilde(s string) (obviousRange, bool) {
	v, ok := obviousParse(s)
	if !ok {
		return obviousRange{}, false
	}
	return obviousRange{v, bump(v.core, 2)}, true
}

func obviousCaret(s string) (obviousRange, bool) {
	v, ok := obviousParse(s)
	if !ok {
		return obviousRange{}, false
	}
	n := 1
	for n < 3 && v.core[n-1].Sign() == 0 {
		n++
	}
	return obviousRange{v, bump(v.core, n)}, true
}

var stars = regexp.MustCompile(`^(?:(\d+)(?:\.(\d+))?)?(?:\.?\*)(?:\.\*)*$`)

func obviousWildcard(s string) (obviousRange, bool) {
	if !strings.Contains(s, "*") {
		return obviousCaret(s)
	}
	s = obviousTrim(s)
	components := strings.Split(s, ".")
	m := stars.FindStringSubmatch(s)
	if m == nil || len(components) > 3 || strings.HasPrefix(s, ".") {
		return obviousRange{}, false
	}
	fixed := strings.Count("."+strings.TrimRight(s, ".*"), ".")
	if components[0] == "*" {
		fixed = 0
	}
	if fixed < len(components) && components[fixed] != "*" {
		return obviousRange{}, false // such as 1*
	}
	v, ok := obviousParse(strings.Join(append(components[:fixed:fixed], "0", "0", "0")[:3], "."))
	if !ok {
		return obviousRange{}, false
	}
	return obviousRange{v, bump(v.core, fixed)}, true
}
