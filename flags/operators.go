package flags

import (
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
	"github.com/flagstaff-go/flagstaff/internal/nearest"
	"github.com/flagstaff-go/flagstaff/internal/served"
	"github.com/flagstaff-go/flagstaff/internal/text"
)

// An Operator is one of the operators that filters can have (evaluation.md §4.2).
type Operator struct {
	// Name is what [Filter.Operator] says: one of the constants, such as [OperatorExact].
	Name string

	// For is the kind of filter that the operator is for. With a filter of
	// another kind it never matches.
	For FilterKind

	// Operand is what [Filter.Value] must be. A filter with another value never
	// matches, or matches something that its author hardly meant.
	Operand Operand

	op      op
	negated bool // it says the opposite of the operator with the same op
	missing bool // its result when the property is not set (evaluation.md §4.3)
}

// An Operand is a kind of value that an operator needs.
type Operand uint8

const (
	// OperandAny is any JSON but null.
	OperandAny Operand = iota

	// OperandNone says that the operator does not look at the value.
	OperandNone

	// OperandText is a string (evaluation.md §4.5).
	OperandText

	// OperandTexts is an array of strings.
	OperandTexts

	// OperandNumber is a number, or the text of one (evaluation.md §4.7).
	OperandNumber

	// OperandRange is an array of two numbers, or texts of them, of which the
	// second is not less than the first (evaluation.md §4.8).
	OperandRange

	// OperandDate is the text of a date, or of a span before now
	// (evaluation.md §4.9).
	OperandDate

	// OperandVersion is the text of a semantic version or of a range of them
	// (evaluation.md §4.10).
	OperandVersion

	// OperandPattern is a regular expression (evaluation.md §4.6).
	OperandPattern

	// OperandCohort is the ID of a cohort, an integer or the text of one
	// (evaluation.md §5.5).
	OperandCohort

	// OperandFlagValue is true, false or the key of a variant
	// (evaluation.md §7.3).
	OperandFlagValue
)

// The names of the operators, for [Filter.Operator]. The operators for properties compare
// the property that [Filter.Key] names with [Filter.Value] (evaluation.md §4).
const (
	// The property is the value, or one of a list; case does not count.
	OperatorExact = "exact"

	// The property is not the value, nor one of a list.
	OperatorIsNot = "is_not"

	// The property is there.
	OperatorIsSet = "is_set"

	// The property is not there.
	OperatorIsNotSet = "is_not_set"

	// The property contains the text; case of A to Z does not count.
	OperatorIContains = "icontains"

	// The property does not contain the text.
	OperatorNotIContains = "not_icontains"

	// The property contains one of the texts.
	OperatorIContainsMulti = "icontains_multi"

	// The property contains none of the texts.
	OperatorNotIContainsMulti = "not_icontains_multi"

	// The property begins with the text; case of A to Z does not count.
	OperatorStartsWith = "starts_with"

	// The property does not begin with the text.
	OperatorNotStartsWith = "not_starts_with"

	// The property ends with the text; case of A to Z does not count.
	OperatorEndsWith = "ends_with"

	// The property does not end with the text.
	OperatorNotEndsWith = "not_ends_with"

	// The property has a match of the pattern; case counts.
	OperatorRegex = "regex"

	// The property has no match of the pattern.
	OperatorNotRegex = "not_regex"

	// The property is a greater number.
	OperatorGT = "gt"

	// The property is a number that is greater or equal.
	OperatorGTE = "gte"

	// The property is a lesser number.
	OperatorLT = "lt"

	// The property is a number that is less or equal.
	OperatorLTE = "lte"

	// The property is a number within the two bounds, which belong to the range.
	OperatorBetween = "between"

	// The property is a number outside of the two bounds.
	OperatorNotBetween = "not_between"

	// The property is this moment.
	OperatorIsDateExact = "is_date_exact"

	// The property is an earlier moment.
	OperatorIsDateBefore = "is_date_before"

	// The property is a later moment; -7d is seven days before now.
	OperatorIsDateAfter = "is_date_after"

	// The property is this version.
	OperatorSemverEQ = "semver_eq"

	// The property is another version.
	OperatorSemverNEQ = "semver_neq"

	// The property is a later version.
	OperatorSemverGT = "semver_gt"

	// The property is this version or a later one.
	OperatorSemverGTE = "semver_gte"

	// The property is an earlier version.
	OperatorSemverLT = "semver_lt"

	// The property is this version or an earlier one.
	OperatorSemverLTE = "semver_lte"

	// The property is this version with any later patch.
	OperatorSemverTilde = "semver_tilde"

	// The property is compatible with this version.
	OperatorSemverCaret = "semver_caret"

	// The property is of this series.
	OperatorSemverWildcard = "semver_wildcard"

	// The person is a member of the cohort.
	OperatorIn = "in"

	// The person is not a member of the cohort.
	OperatorNotIn = "not_in"

	// The other flag has the value: true, false or a variant.
	OperatorFlagEvaluatesTo = "flag_evaluates_to"
)

// Admits reports whether a value has the type that an operator needs, null being none of
// any type. Whether it can be parsed is for [Compile] to say.
func (o Operand) Admits(value json.RawMessage) bool {
	v := jsonscan.Value(value)
	switch kind := v.Kind(); o {
	case OperandNone:
		return true
	case OperandText, OperandDate, OperandVersion:
		return kind == jsonscan.String
	case OperandPattern:
		return kind == jsonscan.String && (len(v) <= served.MaxPattern || lenOf(v) <= served.MaxPattern)
	case OperandTexts:
		for a := v.Array(); a.Next(); {
			if a.Value().Kind() != jsonscan.String {
				return false
			}
		}
		return kind == jsonscan.Array
	case OperandNumber:
		return kind == jsonscan.Number || kind == jsonscan.String
	case OperandRange:
		return kind == jsonscan.Array
	case OperandFlagValue:
		return kind == jsonscan.True || kind == jsonscan.False || kind == jsonscan.String
	default:
		return kind != jsonscan.Null && kind != jsonscan.Invalid
	}
}

// lenOf returns how many bytes a text has.
func lenOf(v jsonscan.Value) int {
	s, _ := text.Str(v)
	return len(s)
}

// String says what a value must be, as in "want a number".
func (o Operand) String() string { return operandNames[o] }

var operandNames = [...]string{
	OperandAny:       "any value but null",
	OperandNone:      "no value",
	OperandText:      "text",
	OperandTexts:     "a list of texts",
	OperandNumber:    "a number, or the text of one",
	OperandRange:     "a list of two numbers, the smaller one first",
	OperandDate:      `the text of a date such as "2024-06-01" or "2024-06-01T12:00:00Z", or of a span before now such as "-7d" with the unit h, d, w, m or y`,
	OperandVersion:   `the text of a version such as "1.2.3"; for semver_wildcard also "1.*"`,
	OperandPattern:   fmt.Sprintf("a regular expression without look-around and back-references, of at most %d bytes", served.MaxPattern),
	OperandCohort:    "the ID of a cohort",
	OperandFlagValue: "true, false or the key of a variant",
}

// operatorTable has the operators in the order of evaluation.md §4.2, with related
// operators next to each other. Everything that knows operators reads it: Compile,
// the documents of package wire, and judges of filters that a user sends. in,
// not_in and flag_evaluates_to never match on a property, so they are opNever here,
// and are handled where cohort and flag filters are compiled.
var operatorTable = []Operator{
	{Name: OperatorExact, For: PropertyFilter, op: opText},
	{Name: OperatorIsNot, For: PropertyFilter, op: opText, negated: true, missing: true},
	{Name: OperatorIsSet, For: PropertyFilter, Operand: OperandNone, op: opSet},
	{Name: OperatorIsNotSet, For: PropertyFilter, Operand: OperandNone, op: opSet, negated: true, missing: true},
	{Name: OperatorIContains, For: PropertyFilter, Operand: OperandText, op: opContains},
	{Name: OperatorNotIContains, For: PropertyFilter, Operand: OperandText, op: opContains, negated: true, missing: true},
	{Name: OperatorIContainsMulti, For: PropertyFilter, Operand: OperandTexts, op: opContainsAny},
	{Name: OperatorNotIContainsMulti, For: PropertyFilter, Operand: OperandTexts, op: opContainsAny, negated: true, missing: true},
	{Name: OperatorStartsWith, For: PropertyFilter, Operand: OperandText, op: opPrefix},
	{Name: OperatorNotStartsWith, For: PropertyFilter, Operand: OperandText, op: opPrefix, negated: true, missing: true},
	{Name: OperatorEndsWith, For: PropertyFilter, Operand: OperandText, op: opSuffix},
	{Name: OperatorNotEndsWith, For: PropertyFilter, Operand: OperandText, op: opSuffix, negated: true, missing: true},
	{Name: OperatorRegex, For: PropertyFilter, Operand: OperandPattern, op: opRegex},
	{Name: OperatorNotRegex, For: PropertyFilter, Operand: OperandPattern, op: opRegex, negated: true, missing: true},
	{Name: OperatorGT, For: PropertyFilter, Operand: OperandNumber, op: opGT},
	{Name: OperatorGTE, For: PropertyFilter, Operand: OperandNumber, op: opGTE},
	{Name: OperatorLT, For: PropertyFilter, Operand: OperandNumber, op: opLT},
	{Name: OperatorLTE, For: PropertyFilter, Operand: OperandNumber, op: opLTE},
	{Name: OperatorBetween, For: PropertyFilter, Operand: OperandRange, op: opBetween},
	{Name: OperatorNotBetween, For: PropertyFilter, Operand: OperandRange, op: opBetween, negated: true, missing: true},
	{Name: OperatorIsDateExact, For: PropertyFilter, Operand: OperandDate, op: opDateExact},
	{Name: OperatorIsDateBefore, For: PropertyFilter, Operand: OperandDate, op: opDateBefore},
	{Name: OperatorIsDateAfter, For: PropertyFilter, Operand: OperandDate, op: opDateAfter},
	{Name: OperatorSemverEQ, For: PropertyFilter, Operand: OperandVersion, op: opSemverEQ},
	{Name: OperatorSemverNEQ, For: PropertyFilter, Operand: OperandVersion, op: opSemverNEQ},
	{Name: OperatorSemverGT, For: PropertyFilter, Operand: OperandVersion, op: opSemverGT},
	{Name: OperatorSemverGTE, For: PropertyFilter, Operand: OperandVersion, op: opSemverGTE},
	{Name: OperatorSemverLT, For: PropertyFilter, Operand: OperandVersion, op: opSemverLT},
	{Name: OperatorSemverLTE, For: PropertyFilter, Operand: OperandVersion, op: opSemverLTE},
	{Name: OperatorSemverTilde, For: PropertyFilter, Operand: OperandVersion, op: opSemverRange},
	{Name: OperatorSemverCaret, For: PropertyFilter, Operand: OperandVersion, op: opSemverRange},
	{Name: OperatorSemverWildcard, For: PropertyFilter, Operand: OperandVersion, op: opSemverRange},
	{Name: OperatorIn, For: CohortFilter, Operand: OperandCohort, op: opNever},
	{Name: OperatorNotIn, For: CohortFilter, Operand: OperandCohort, op: opNever},
	{Name: OperatorFlagEvaluatesTo, For: FlagFilter, Operand: OperandFlagValue, op: opNever},
}

// operatorOf has the entries of operatorTable by name.
var operatorOf = func() map[string]*Operator {
	m := make(map[string]*Operator, len(operatorTable))
	for i := range operatorTable {
		m[operatorTable[i].Name] = &operatorTable[i]
	}
	return m
}()

// Operators iterates over all operators in the order of evaluation.md §4.2.
func Operators() iter.Seq[Operator] { return slices.Values(operatorTable) }

// OperatorNamed returns the operator with a name; ok is false if there is none.
// The empty name has none: it is for [Filter.Operator] to say what it stands for.
func OperatorNamed(name string) (o Operator, ok bool) {
	if o := operatorOf[name]; o != nil {
		return *o, true
	}
	return Operator{}, false
}

// operatorHint says which operator an author of a filter of some kind may have meant, and
// which ones there are.
func operatorHint(name string, k FilterKind) string {
	var names []string
	for i := range operatorTable {
		if o := &operatorTable[i]; o.For == k {
			names = append(names, o.Name)
		}
	}
	hint := "use one of " + strings.Join(names, ", ")
	if len(name) > 2*len(OperatorNotIContainsMulti) {
		return hint // it is none of them
	}
	word := strings.ReplaceAll(strings.ToLower(name), "-", "_")
	if meant := otherOperators[word]; meant != "" && k == PropertyFilter {
		return "did you mean " + meant + "? " + hint
	}
	if near := nearest.Names(names, word); len(near) > 0 {
		return "did you mean " + strings.Join(near, " or ") + "? " + hint
	}
	return hint
}

// otherOperators has what operators for properties are called elsewhere.
var otherOperators = map[string]string{
	"equals": OperatorExact, "equal": OperatorExact, "eq": OperatorExact, "=": OperatorExact, "==": OperatorExact, "is": OperatorExact,
	"in": "exact, with a list", "one_of": "exact, with a list", "any_of": "exact, with a list",
	"not_equals": OperatorIsNot, "not_equal": OperatorIsNot, "neq": OperatorIsNot, "ne": OperatorIsNot, "!=": OperatorIsNot,
	"not_in": "is_not, with a list", "none_of": "is_not, with a list",
	"contains": OperatorIContains, "not_contains": OperatorNotIContains, "exists": OperatorIsSet, "not_exists": OperatorIsNotSet,
	"matches": OperatorRegex, "match": OperatorRegex, "regexp": OperatorRegex, "not_matches": OperatorNotRegex,
	">": OperatorGT, "greater_than": OperatorGT, ">=": OperatorGTE, "greater_than_or_equal": OperatorGTE,
	"<": OperatorLT, "less_than": OperatorLT, "<=": OperatorLTE, "less_than_or_equal": OperatorLTE,
	"before": OperatorIsDateBefore, "after": OperatorIsDateAfter,
}

// A FilterKind says what a filter compares.
type FilterKind uint8

const (
	// UnknownFilter is a filter of a type that flags cannot evaluate, such as
	// "behavioral" (evaluation.md §5.6).
	UnknownFilter FilterKind = iota

	// PropertyFilter compares a property of the person, of the person's record
	// or of a group.
	PropertyFilter

	// CohortFilter asks for membership in a cohort (evaluation.md §5.2).
	CohortFilter

	// FlagFilter asks for the value of another flag (evaluation.md §7).
	FlagFilter
)

// Kind returns what the filter compares, by its Type (evaluation.md §1.5).
func (f *Filter) Kind() FilterKind {
	switch f.Type {
	case "", "person", "person_metadata", "group":
		return PropertyFilter
	case "cohort":
		return CohortFilter
	case "flag":
		return FlagFilter
	}
	return UnknownFilter
}
