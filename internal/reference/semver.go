package reference

import (
	"cmp"
	"regexp"
	"strconv"
	"strings"
)

// A semanticVersion is a version of §4.10. Missing components are 0.
type semanticVersion struct {
	major, minor, patch uint64
	pre, build          []string // identifiers; empty if there are none
}

// versionForm has up to three components, then pre-release and build as in
// SemVer 2.0.0.
var versionForm = regexp.MustCompile(`^([0-9]+)(?:\.([0-9]+))?(?:\.([0-9]+))?` +
	`(?:-([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?(?:\+([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?$`)

// trimVersion removes one leading v, and then the spaces around.
func trimVersion(s string) string { return strings.TrimSpace(strings.TrimPrefix(s, "v")) }

func parseVersion(s string) (semanticVersion, bool) {
	m := versionForm.FindStringSubmatch(trimVersion(s))
	if m == nil {
		return semanticVersion{}, false
	}
	var v semanticVersion
	for i, component := range []*uint64{&v.major, &v.minor, &v.patch} {
		if m[i+1] == "" {
			continue
		}
		n, err := strconv.ParseUint(m[i+1], 10, 64)
		if err != nil {
			return semanticVersion{}, false // beyond uint64
		}
		*component = n
	}
	if m[4] != "" {
		v.pre = strings.Split(m[4], ".")
	}
	if m[5] != "" {
		v.build = strings.Split(m[5], ".")
	}
	for _, identifier := range v.pre {
		if isDigits(identifier) && len(identifier) > 1 && identifier[0] == '0' {
			return semanticVersion{}, false
		}
	}
	return v, true
}

// compareVersions implements all semver operators, on the texts of both sides.
func compareVersions(operator, f, p string) bool {
	have, ok := parseVersion(p)
	if !ok {
		return false // also for semver_neq
	}
	switch operator {
	case "semver_tilde":
		return have.inList("~" + padVersion(trimVersion(f)))
	case "semver_caret":
		return have.inList("^" + padVersion(trimVersion(f)))
	case "semver_wildcard":
		if onlyStar.MatchString(trimVersion(f)) {
			return len(have.pre) == 0
		}
		return have.inList(trimVersion(f))
	}
	want, ok := parseVersion(f)
	if !ok {
		return false
	}
	order := cmp.Or(have.precedence(want), compareBuild(have.build, want.build))
	switch operator {
	case "semver_eq":
		return order == 0
	case "semver_neq":
		return order != 0
	case "semver_gt":
		return order > 0
	case "semver_gte":
		return order >= 0
	case "semver_lt":
		return order < 0
	default:
		return order <= 0
	}
}

// onlyStar is a range of all releases.
var onlyStar = regexp.MustCompile(`^[*xX] *$`)

// padVersion adds components that are missing before a pre-release or build.
func padVersion(s string) string {
	end := strings.IndexAny(s+"-", "-+")
	for strings.Count(s[:end], ".") < 2 {
		s, end = s[:end]+".0"+s[end:], end+len(".0")
	}
	return s
}

// comparatorForm is one element of the list that a range is (§4.10): a sign, and
// components of which the last ones may be stars.
var comparatorForm = regexp.MustCompile(`^(=|>=|>|<=|<|~|\^|) *([0-9]+)(?:\.(?:([0-9]+)|[*xX]))?(?:\.(?:([0-9]+)|[*xX]))?` +
	`((?:-[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?)$`)

// inList reports whether all comparators of a list accept v. A pre-release must be
// named: one of them has a pre-release of the same release.
func (v semanticVersion) inList(list string) bool {
	elements := strings.Split(list, ",")
	named := len(v.pre) == 0
	for _, element := range elements {
		accepted, bound, ok := v.accepted(strings.Trim(element, " "))
		if !ok || !accepted || len(elements) > 32 {
			return false
		}
		named = named || len(bound.pre) > 0 && bound.release() == v.release()
	}
	return named
}

// accepted reports whether a comparator accepts v, and returns its version. It is
// not ok if the comparator is malformed.
func (v semanticVersion) accepted(comparator string) (accepted bool, bound semanticVersion, ok bool) {
	m := comparatorForm.FindStringSubmatch(comparator)
	if m == nil {
		return false, bound, false
	}
	sign, given := m[1], 1
	star := strings.ContainsAny(strings.TrimLeft(comparator[:len(comparator)-len(m[5])], "=<>~^ "), "*xX")
	if m[3] != "" {
		given = 2
	}
	if m[4] != "" {
		if given == 1 {
			return false, bound, false // a number behind a star
		}
		given = 3
	}
	if given < 3 && m[5] != "" {
		return false, bound, false
	}
	bound, ok = parseVersion(strings.Join([]string{m[2], cmp.Or(m[3], "0"), cmp.Or(m[4], "0")}, ".") + m[5])
	if !ok {
		return false, bound, false
	}
	have, want := v.release(), bound.release()
	order, same := 0, 0 // same is the number of leading components that are equal
	for same < given && have[same] == want[same] {
		same++
	}
	if same < given {
		order = cmp.Compare(have[same], want[same])
	} else if given == 3 {
		order = v.precedence(bound)
	}
	// equal is what = means: with fewer than three components, releases only.
	equal := order == 0 && (given == 3 || len(v.pre) == 0)
	switch {
	case sign == "=" || sign == "" && star:
		return equal, bound, true
	case sign == ">":
		return order > 0, bound, true
	case sign == ">=":
		return order > 0 || equal, bound, true
	case sign == "<":
		return order < 0, bound, true
	case sign == "<=":
		return order < 0 || equal, bound, true
	case sign == "~":
		return equal || order > 0 && same >= 2, bound, true
	}
	// ^ keeps all components up to the first that is not 0.
	fixed := 1
	for fixed < given && want[fixed-1] == 0 {
		fixed++
	}
	return order == 0 || order > 0 && same >= fixed, bound, true
}

func (v semanticVersion) release() [3]uint64 { return [3]uint64{v.major, v.minor, v.patch} }

// precedence compares without build metadata.
func (v semanticVersion) precedence(w semanticVersion) int {
	if order := cmp.Or(cmp.Compare(v.major, w.major), cmp.Compare(v.minor, w.minor), cmp.Compare(v.patch, w.patch)); order != 0 {
		return order
	}
	switch {
	case len(v.pre) == 0 && len(w.pre) == 0:
		return 0
	case len(v.pre) == 0:
		return 1 // a pre-release is lower than its release
	case len(w.pre) == 0:
		return -1
	}
	return compareIdentifiers(v.pre, w.pre)
}

// compareBuild puts a version without build metadata lowest (§4.10), which
// follows from the order of shorter lists.
func compareBuild(a, b []string) int { return compareIdentifiers(a, b) }

// compareIdentifiers compares one by one. If one list is the beginning of the
// other, it is lower.
func compareIdentifiers(a, b []string) int {
	for i := range min(len(a), len(b)) {
		if order := compareIdentifier(a[i], b[i]); order != 0 {
			return order
		}
	}
	return cmp.Compare(len(a), len(b))
}

// compareIdentifier compares numeric identifiers by value. They are lower than
// alphanumeric ones, which compare as ASCII text. Of equal values, the one with
// more leading zeros is greater (build metadata only).
func compareIdentifier(a, b string) int {
	switch {
	case isDigits(a) && isDigits(b):
		x, y := strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
		return cmp.Or(cmp.Compare(len(x), len(y)), cmp.Compare(x, y), cmp.Compare(len(a), len(b)))
	case isDigits(a):
		return -1
	case isDigits(b):
		return 1
	default:
		return cmp.Compare(a, b)
	}
}

func isDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}
