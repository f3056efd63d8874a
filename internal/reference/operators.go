package reference

import (
	"slices"
	"strings"
	"time"
)

// propertyOperators are the operators of person, person_metadata and group
// filters (§4.2).
var propertyOperators = []string{
	"exact", "is_not", "is_set", "is_not_set",
	"icontains", "not_icontains", "icontains_multi", "not_icontains_multi",
	"starts_with", "not_starts_with", "ends_with", "not_ends_with",
	"regex", "not_regex",
	"gt", "gte", "lt", "lte", "between", "not_between",
	"is_date_exact", "is_date_before", "is_date_after",
	"semver_eq", "semver_neq", "semver_gt", "semver_gte", "semver_lt", "semver_lte",
	"semver_tilde", "semver_caret", "semver_wildcard",
}

// otherOperators are for cohort and flag filters (§4.11). On a property they
// never match.
var otherOperators = []string{"in", "not_in", "flag_evaluates_to"}

// olderOperators have another name now (§4.2).
var olderOperators = map[string]string{"min": "gte", "max": "lte"}

func knownOperator(name string) bool {
	return slices.Contains(propertyOperators, name) || slices.Contains(otherOperators, name)
}

// A comparison has the parts of an evaluation that operators depend on, besides
// the two values.
type comparison struct {
	matchingVersion int // property_matching_version
	now             time.Time
	zone            *time.Location
}

// match implements section 4: it reports whether the property p, if present,
// satisfies the operator with the filter value f. A comparison that cannot be
// made is false (§3.5 step 4).
func (c comparison) match(operator string, f, p any, present bool) bool {
	switch operator {
	case "is_set":
		return present
	case "is_not_set":
		return !present
	}
	if f == nil {
		return false // §4.1: no other operator matches
	}

	switch operator {
	case "exact":
		return present && c.equal(f, p)
	case "is_not":
		return !present || !c.equal(f, p)

	// §4.5
	case "icontains":
		return present && strings.Contains(asciiLower(valueText(p)), asciiLower(valueText(f)))
	case "not_icontains":
		return !present || !strings.Contains(asciiLower(valueText(p)), asciiLower(valueText(f)))
	case "starts_with":
		return present && strings.HasPrefix(asciiLower(valueText(p)), asciiLower(valueText(f)))
	case "not_starts_with":
		return !present || !strings.HasPrefix(asciiLower(valueText(p)), asciiLower(valueText(f)))
	case "ends_with":
		return present && strings.HasSuffix(asciiLower(valueText(p)), asciiLower(valueText(f)))
	case "not_ends_with":
		return !present || !strings.HasSuffix(asciiLower(valueText(p)), asciiLower(valueText(f)))
	case "icontains_multi":
		return present && containsAny(f, p)
	case "not_icontains_multi":
		return !present || !containsAny(f, p)

	// §4.6: with a property, an invalid pattern is false for both.
	case "regex":
		matched, _ := MatchPattern(valueText(f), valueText(p))
		return present && matched
	case "not_regex":
		matched, valid := MatchPattern(valueText(f), valueText(p))
		return !present || valid && !matched

	case "gt", "gte", "lt", "lte":
		return present && compareNumbers(operator, p, f)

	// §4.8: with a property, unusable bounds are false for both.
	case "between":
		low, high, ok := rangeBounds(f)
		x, isNumber := numeric(p)
		return ok && present && isNumber && low <= x && x <= high
	case "not_between":
		low, high, ok := rangeBounds(f)
		if !present {
			return true
		}
		x, isNumber := numeric(p)
		return ok && isNumber && (x < low || x > high) // NaN is neither inside nor outside

	case "is_date_exact", "is_date_before", "is_date_after":
		return present && c.compareDates(operator, f, p)

	case "semver_eq", "semver_neq", "semver_gt", "semver_gte", "semver_lt", "semver_lte",
		"semver_tilde", "semver_caret", "semver_wildcard":
		return present && compareVersions(operator, valueText(f), valueText(p))

	default:
		// §4.11: in, not_in and flag_evaluates_to never match a property,
		// present or not.
		return false
	}
}

// containsAny implements icontains_multi (§4.5).
func containsAny(f, p any) bool {
	list, isArray := f.([]any)
	if !isArray {
		list = []any{f}
	}
	for _, element := range list {
		if strings.Contains(asciiLower(valueText(p)), asciiLower(valueText(element))) {
			return true
		}
	}
	return false
}
