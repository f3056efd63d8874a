package operator

const (
	// The property is the value, or one of a list; case does not count.
	Exact = "exact"

	// The property is not the value, nor one of a list.
	IsNot = "is_not"

	// The property is there.
	IsSet = "is_set"

	// The property is not there.
	IsNotSet = "is_not_set"

	// The property contains the text; case of A to Z does not count.
	IContains = "icontains"

	// The property does not contain the text.
	NotIContains = "not_icontains"

	// The property contains one of the texts.
	IContainsMulti = "icontains_multi"

	// The property contains none of the texts.
	NotIContainsMulti = "not_icontains_multi"

	// The property begins with the text; case of A to Z does not count.
	StartsWith = "starts_with"

	// The property does not begin with the text.
	NotStartsWith = "not_starts_with"

	// The property ends with the text; case of A to Z does not count.
	EndsWith = "ends_with"

	// The property does not end with the text.
	NotEndsWith = "not_ends_with"

	// The property has a match of the pattern; case counts.
	Regex = "regex"

	// The property has no match of the pattern.
	NotRegex = "not_regex"

	// The property is a greater number.
	GT = "gt"

	// The property is a number that is greater or equal.
	GTE = "gte"

	// The property is a lesser number.
	LT = "lt"

	// The property is a number that is less or equal.
	LTE = "lte"

	// The property is a number within the two bounds, which belong to the range.
	Between = "between"

	// The property is a number outside of the two bounds.
	NotBetween = "not_between"

	// The property is this moment.
	IsDateExact = "is_date_exact"

	// The property is an earlier moment.
	IsDateBefore = "is_date_before"

	// The property is a later moment; -7d is seven days before now.
	IsDateAfter = "is_date_after"

	// The property is this version.
	SemverEQ = "semver_eq"

	// The property is another version.
	SemverNEQ = "semver_neq"

	// The property is a later version.
	SemverGT = "semver_gt"

	// The property is this version or a later one.
	SemverGTE = "semver_gte"

	// The property is an earlier version.
	SemverLT = "semver_lt"

	// The property is this version or an earlier one.
	SemverLTE = "semver_lte"

	// The property is this version with any later patch.
	SemverTilde = "semver_tilde"

	// The property is compatible with this version.
	SemverCaret = "semver_caret"

	// The property is of this series.
	SemverWildcard = "semver_wildcard"

	// The person is a member of the cohort.
	In = "in"

	// The person is not a member of the cohort.
	NotIn = "not_in"

	// The other flag has the value: true, false or a variant.
	FlagEvaluatesTo = "flag_evaluates_to"
)
