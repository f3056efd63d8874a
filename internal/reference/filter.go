package reference

import "encoding/json"

// Types of filters that a flag can have (§1.5).
const (
	typePerson         = "person"
	typePersonMetadata = "person_metadata"
	typeGroup          = "group"
	typeCohort         = "cohort"
	typeFlag           = "flag"
)

// A filter is one element of a condition's properties, or a leaf of a cohort
// tree (§1.5).
type filter struct {
	kind       string // type
	key        any    // decoded JSON
	operator   string
	value      any    // decoded JSON; nil both for null and for absent (§4.1)
	groupIndex *int64 // group_type_index, nil if absent
	hasChain   bool   // dependency_chain is present (§7.1)
	negation   bool   // only in leaves of cohorts (§1.5)

	// problem is the first reason why the filter cannot be understood, or "".
	problem filterProblem
}

type filterProblem string

const (
	problemKey      filterProblem = "key"       // a property filter has no string as key
	problemType     filterProblem = "type"      // flags have no filters of this type
	problemOperator filterProblem = "operator"  // there is no such operator
	problemCohortID filterProblem = "cohort id" // only in leaves of cohorts
)

// decodeFilter reads a filter (§1.5). An error means that a value of a wrong
// JSON type breaks the whole flag (§1.7). A filter that only cannot be
// understood has its problem set, which matters only if the filter is reached
// (§1.7).
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
	if name, ok := olderOperators[f.operator]; ok {
		f.operator = name
	}
	f.problem = f.findProblem()
	if f.problem != problemType && in.problem == nil {
		in.problem = filterWords.check(in)
	}
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
