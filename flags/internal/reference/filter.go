package reference

import (
	"encoding/json"
	"slices"
)

// The filter types that can be evaluated in a flag (§1.5).
const (
	typePerson         = "person"
	typePersonMetadata = "person_metadata"
	typeGroup          = "group"
	typeCohort         = "cohort"
	typeFlag           = "flag"
)

// propertyOperators are the operators of person, person_metadata and group filters (§4.2).
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

// otherOperators belong to cohort and flag filters (§4.11); on a property they never match.
var otherOperators = []string{"in", "not_in", "flag_evaluates_to"}

func knownOperator(name string) bool {
	return slices.Contains(propertyOperators, name) || slices.Contains(otherOperators, name)
}

// A filter is one element of a condition's properties, or a leaf of a cohort tree (§1.5).
type filter struct {
	kind       string // type
	key        any    // decoded JSON
	operator   string
	value      any    // decoded JSON; nil for null and absent alike (§4.1)
	groupIndex *int64 // group_type_index, nil when absent
	hasChain   bool   // dependency_chain is there (§7.1)
	negation   bool   // for cohort leaves only (§1.5)

	// problem is the first reason why the filter cannot be decoded, "" if there is none.
	problem filterProblem
}

type filterProblem string

const (
	problemKey      filterProblem = "key"      // a property filter without a string key
	problemType     filterProblem = "type"     // a type that flags cannot use
	problemOperator filterProblem = "operator" // an operator that does not exist
	problemRegex    filterProblem = "needs a backtracking regex engine"
	problemCohortID filterProblem = "cohort id" // cohort leaves only
)

// decodeFilter reads §1.5. The error reports a value of a wrong JSON type that breaks the whole flag (§1.7);
// a filter that merely cannot be understood has its problem set, and matters only when it is reached (§1.7).
func decodeFilter(raw json.RawMessage) (filter, error) {
	in := decodeFields(raw)
	f := filter{
		kind:       typePerson, // §1.5
		key:        decodeValue(in.members["key"]),
		value:      decodeValue(in.members["value"]),
		groupIndex: in.integer("group_type_index"),
		hasChain:   in.has("dependency_chain"),
	}
	if isNull(raw) {
		return f, errShape
	}
	f.negation, _ = decodeValue(in.members["negation"]).(bool)

	if in.has("type") {
		f.kind, _ = decodeValue(in.members["type"]).(string)
	}
	f.operator = "exact"
	if f.kind == typeCohort {
		f.operator = "in"
	}
	if in.has("operator") {
		f.operator, _ = decodeValue(in.members["operator"]).(string)
	}
	f.problem = f.findProblem()
	return f, in.problem
}

func (f filter) findProblem() filterProblem {
	switch f.kind {
	case typePerson, typePersonMetadata, typeGroup:
		if _, isText := f.key.(string); !isText {
			return problemKey
		}
		if !knownOperator(f.operator) {
			return problemOperator
		}
		if (f.operator == "regex" || f.operator == "not_regex") && f.value != nil {
			if _, support := compileRegex(valueText(f.value)); support == regexUnsupported {
				return problemRegex
			}
		}
		return ""
	case typeCohort, typeFlag:
		if !knownOperator(f.operator) {
			return problemOperator
		}
		return ""
	default:
		return problemType
	}
}
