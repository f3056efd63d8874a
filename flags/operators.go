package flags

import (
	"iter"
	"slices"
)

// An Operator is one of the operators that filters can have (evaluation.md §4.2).
type Operator struct {
	// Name is what Filter.Operator says.
	Name string

	// For is the kind of filter that the operator is for. With a filter of
	// another kind it never matches.
	For FilterKind

	// Operand is what Filter.Value must be. A filter with another value never
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

// operatorTable has the operators in the order of evaluation.md §4.2, with related
// operators next to each other. Everything that knows operators reads it: Compile,
// the documents of package wire, and judges of filters that a user sends. in,
// not_in and flag_evaluates_to never match on a property, so they are opNever here,
// and are handled where cohort and flag filters are compiled.
var operatorTable = []Operator{
	{Name: "exact", For: PropertyFilter, op: opText},
	{Name: "is_not", For: PropertyFilter, op: opText, negated: true, missing: true},
	{Name: "is_set", For: PropertyFilter, Operand: OperandNone, op: opSet},
	{Name: "is_not_set", For: PropertyFilter, Operand: OperandNone, op: opSet, negated: true, missing: true},
	{Name: "icontains", For: PropertyFilter, Operand: OperandText, op: opContains},
	{Name: "not_icontains", For: PropertyFilter, Operand: OperandText, op: opContains, negated: true, missing: true},
	{Name: "icontains_multi", For: PropertyFilter, Operand: OperandTexts, op: opContainsAny},
	{Name: "not_icontains_multi", For: PropertyFilter, Operand: OperandTexts, op: opContainsAny, negated: true, missing: true},
	{Name: "starts_with", For: PropertyFilter, Operand: OperandText, op: opPrefix},
	{Name: "not_starts_with", For: PropertyFilter, Operand: OperandText, op: opPrefix, negated: true, missing: true},
	{Name: "ends_with", For: PropertyFilter, Operand: OperandText, op: opSuffix},
	{Name: "not_ends_with", For: PropertyFilter, Operand: OperandText, op: opSuffix, negated: true, missing: true},
	{Name: "regex", For: PropertyFilter, Operand: OperandPattern, op: opRegex},
	{Name: "not_regex", For: PropertyFilter, Operand: OperandPattern, op: opRegex, negated: true, missing: true},
	{Name: "gt", For: PropertyFilter, Operand: OperandNumber, op: opGT},
	{Name: "gte", For: PropertyFilter, Operand: OperandNumber, op: opGTE},
	{Name: "lt", For: PropertyFilter, Operand: OperandNumber, op: opLT},
	{Name: "lte", For: PropertyFilter, Operand: OperandNumber, op: opLTE},
	{Name: "between", For: PropertyFilter, Operand: OperandRange, op: opBetween},
	{Name: "not_between", For: PropertyFilter, Operand: OperandRange, op: opBetween, negated: true, missing: true},
	{Name: "is_date_exact", For: PropertyFilter, Operand: OperandDate, op: opDateExact},
	{Name: "is_date_before", For: PropertyFilter, Operand: OperandDate, op: opDateBefore},
	{Name: "is_date_after", For: PropertyFilter, Operand: OperandDate, op: opDateAfter},
	{Name: "semver_eq", For: PropertyFilter, Operand: OperandVersion, op: opSemverEQ},
	{Name: "semver_neq", For: PropertyFilter, Operand: OperandVersion, op: opSemverNEQ},
	{Name: "semver_gt", For: PropertyFilter, Operand: OperandVersion, op: opSemverGT},
	{Name: "semver_gte", For: PropertyFilter, Operand: OperandVersion, op: opSemverGTE},
	{Name: "semver_lt", For: PropertyFilter, Operand: OperandVersion, op: opSemverLT},
	{Name: "semver_lte", For: PropertyFilter, Operand: OperandVersion, op: opSemverLTE},
	{Name: "semver_tilde", For: PropertyFilter, Operand: OperandVersion, op: opSemverRange},
	{Name: "semver_caret", For: PropertyFilter, Operand: OperandVersion, op: opSemverRange},
	{Name: "semver_wildcard", For: PropertyFilter, Operand: OperandVersion, op: opSemverRange},
	{Name: "in", For: CohortFilter, Operand: OperandCohort, op: opNever},
	{Name: "not_in", For: CohortFilter, Operand: OperandCohort, op: opNever},
	{Name: "flag_evaluates_to", For: FlagFilter, Operand: OperandFlagValue, op: opNever},
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
