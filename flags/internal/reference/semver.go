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
	if operator == "semver_wildcard" && strings.Contains(f, "*") {
		return have.inWildcard(trimVersion(f))
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
	case "semver_lte":
		return order <= 0
	}

	// Ranges ignore build metadata.
	if have.precedence(want) < 0 {
		return false
	}
	if len(have.pre) > 0 && (len(want.pre) == 0 || have.release() != want.release()) {
		return false
	}
	switch {
	case operator == "semver_tilde":
		return have.major == want.major && have.minor == want.minor
	// semver_caret, and semver_wildcard without a star
	case want.major > 0:
		return have.major == want.major
	case want.minor > 0:
		return have.major == 0 && have.minor == want.minor
	default:
		return have.release() == want.release()
	}
}

// inWildcard accepts a release that agrees with all components before the first
// star.
func (v semanticVersion) inWildcard(pattern string) bool {
	components := strings.Split(pattern, ".")
	if len(v.pre) > 0 || len(components) > 3 {
		return false
	}
	have, star := v.release(), false
	for i, component := range components {
		if component == "*" {
			star = true
			continue
		}
		n, err := strconv.ParseUint(component, 10, 64)
		if star || !isDigits(component) || err != nil || n != have[i] {
			return false
		}
	}
	return true
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
