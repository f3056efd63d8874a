package flags

import (
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/flagstaff-go/flagstaff/flags/internal/semver"
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

	// Words are what stands between a property and a value for people, as in "plan is pro".
	Words string

	// Negated says that the operator is the opposite of another one.
	Negated bool

	older   string // the name that it has in older documents
	also    string // what it is called elsewhere, with a space between two names
	listed  string // what it is called elsewhere if its value is a list
	op      op
	missing bool                              // its result when the property is not set (evaluation.md §4.3)
	ranged  func(string) (semver.Range, bool) // reads the value, for opSemverRange
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
	OperandPattern:   fmt.Sprintf("a regular expression of at most %d bytes", served.MaxPattern),
	OperandCohort:    "the ID of a cohort",
	OperandFlagValue: "true, false or the key of a variant",
}

// operatorTable has the operators in the order of evaluation.md §4.2, with related
// operators next to each other, which is the order in which people choose them.
// Everything that knows operators reads it. What an op does stands in checks.go.
var operatorTable = []Operator{
	{
		Name: OperatorExact, Words: "is", For: PropertyFilter, op: opText,
		also: "equals equal eq = == is", listed: "in one_of any_of",
	},
	{
		Name: OperatorIsNot, Words: "is not", For: PropertyFilter, op: opText, Negated: true, missing: true,
		also: "not_equals not_equal neq ne !=", listed: "not_in none_of",
	},
	{Name: OperatorIsSet, Words: "is set", For: PropertyFilter, Operand: OperandNone, op: opSet, also: "exists"},
	{
		Name: OperatorIsNotSet, Words: "is not set", For: PropertyFilter, Operand: OperandNone, op: opSet, Negated: true, missing: true,
		also: "not_exists",
	},
	{Name: OperatorIContains, Words: "contains", For: PropertyFilter, Operand: OperandText, op: opContains, also: "contains"},
	{
		Name: OperatorNotIContains, Words: "does not contain", For: PropertyFilter, Operand: OperandText, op: opContains, Negated: true, missing: true,
		also: "not_contains",
	},
	{Name: OperatorIContainsMulti, Words: "contains one of", For: PropertyFilter, Operand: OperandTexts, op: opContainsAny},
	{Name: OperatorNotIContainsMulti, Words: "contains none of", For: PropertyFilter, Operand: OperandTexts, op: opContainsAny, Negated: true, missing: true},
	{Name: OperatorStartsWith, Words: "starts with", For: PropertyFilter, Operand: OperandText, op: opPrefix},
	{Name: OperatorNotStartsWith, Words: "does not start with", For: PropertyFilter, Operand: OperandText, op: opPrefix, Negated: true, missing: true},
	{Name: OperatorEndsWith, Words: "ends with", For: PropertyFilter, Operand: OperandText, op: opSuffix},
	{Name: OperatorNotEndsWith, Words: "does not end with", For: PropertyFilter, Operand: OperandText, op: opSuffix, Negated: true, missing: true},
	{
		Name: OperatorRegex, Words: "matches", For: PropertyFilter, Operand: OperandPattern, op: opRegex,
		also: "matches match regexp",
	},
	{
		Name: OperatorNotRegex, Words: "does not match", For: PropertyFilter, Operand: OperandPattern, op: opRegex, Negated: true, missing: true,
		also: "not_matches",
	},
	{Name: OperatorGT, Words: ">", For: PropertyFilter, Operand: OperandNumber, op: opGT, also: "> greater_than"},
	{
		Name: OperatorGTE, Words: "≥", For: PropertyFilter, Operand: OperandNumber, op: opGTE,
		older: "min", also: ">= greater_than_or_equal",
	},
	{Name: OperatorLT, Words: "<", For: PropertyFilter, Operand: OperandNumber, op: opLT, also: "< less_than"},
	{
		Name: OperatorLTE, Words: "≤", For: PropertyFilter, Operand: OperandNumber, op: opLTE,
		older: "max", also: "<= less_than_or_equal",
	},
	{Name: OperatorBetween, Words: "is between", For: PropertyFilter, Operand: OperandRange, op: opBetween},
	{Name: OperatorNotBetween, Words: "is not between", For: PropertyFilter, Operand: OperandRange, op: opBetween, Negated: true, missing: true},
	{Name: OperatorIsDateExact, Words: "is the moment", For: PropertyFilter, Operand: OperandDate, op: opDateExact},
	{
		Name: OperatorIsDateBefore, Words: "is before", For: PropertyFilter, Operand: OperandDate, op: opDateBefore,
		also: "before",
	},
	{Name: OperatorIsDateAfter, Words: "is after", For: PropertyFilter, Operand: OperandDate, op: opDateAfter, also: "after"},
	{Name: OperatorSemverEQ, Words: "is version", For: PropertyFilter, Operand: OperandVersion, op: opSemverEQ},
	{Name: OperatorSemverNEQ, Words: "is not version", For: PropertyFilter, Operand: OperandVersion, op: opSemverNEQ},
	{Name: OperatorSemverGT, Words: "is a version >", For: PropertyFilter, Operand: OperandVersion, op: opSemverGT},
	{Name: OperatorSemverGTE, Words: "is a version ≥", For: PropertyFilter, Operand: OperandVersion, op: opSemverGTE},
	{Name: OperatorSemverLT, Words: "is a version <", For: PropertyFilter, Operand: OperandVersion, op: opSemverLT},
	{Name: OperatorSemverLTE, Words: "is a version ≤", For: PropertyFilter, Operand: OperandVersion, op: opSemverLTE},
	{
		Name: OperatorSemverTilde, Words: "is a version ~", For: PropertyFilter, Operand: OperandVersion, op: opSemverRange,
		ranged: semver.Tilde,
	},
	{
		Name: OperatorSemverCaret, Words: "is a version ^", For: PropertyFilter, Operand: OperandVersion, op: opSemverRange,
		ranged: semver.Caret,
	},
	{
		Name: OperatorSemverWildcard, Words: "is a version like", For: PropertyFilter, Operand: OperandVersion, op: opSemverRange,
		ranged: semver.Wildcard,
	},
	{Name: OperatorIn, Words: "in", For: CohortFilter, Operand: OperandCohort, op: opCohort},
	{Name: OperatorNotIn, Words: "not in", For: CohortFilter, Operand: OperandCohort, op: opCohort, Negated: true},
	{Name: OperatorFlagEvaluatesTo, Words: "is", For: FlagFilter, Operand: OperandFlagValue, op: opFlag},
}

// operatorOf has the entries of operatorTable by name, and by the older name of those that
// have one (evaluation.md §4.2).
var operatorOf = func() map[string]*Operator {
	m := make(map[string]*Operator, len(operatorTable))
	for i := range operatorTable {
		o := &operatorTable[i]
		m[o.Name] = o
		if o.older != "" {
			m[o.older] = o
		}
	}
	return m
}()

// An op is what a check does. An operator and its negation have one op
// (evaluation.md §4.2).
type op uint8

const (
	opNever       op = iota // false whatever the property is
	opFail                  // the filter cannot be understood: the flag fails with check.fail
	opCohort                // membership
	opCohortNever           // a cohort filter with an operator for properties
	opFlag                  // another flag's value
	opSet
	opText   // exact: lower-cased text
	opTexts  // exact: one of several lower-cased texts
	opTruthy // exact: truthiness (evaluation.md §4.4, version 1)
	opContains
	opContainsAny
	opPrefix
	opSuffix
	opRegex
	opGT
	opGTE
	opLT
	opLTE
	opBetween
	opDateExact
	opDateBefore
	opDateAfter
	opSemverEQ
	opSemverNEQ
	opSemverGT
	opSemverGTE
	opSemverLT
	opSemverLTE
	opSemverRange
	opUseless // a value that matches no property that is set, negated or not
)

// An aspect is what of a property an op looks at.
type aspect uint8

const (
	aspectNone    aspect = iota // it looks at no property
	aspectSet                   // whether it is there
	aspectUseless               // as aspectSet, and nothing matches
	aspectText                  // text in lower case
	aspectASCII                 // text in which A to Z are in lower case
	aspectTruth
	aspectPattern // text
	aspectNumber
	aspectDate
	aspectVersion
)

// ops has what the rest of the code asks of an op. The order of the constants means nothing.
var ops = [...]struct {
	aspect aspect
	quick  bool // quick.go knows it
	parses bool // it reads texts as dates or versions
}{
	opNever:       {aspect: aspectNone},
	opFail:        {aspect: aspectNone},
	opCohort:      {aspect: aspectNone},
	opCohortNever: {aspect: aspectNone},
	opFlag:        {aspect: aspectNone},
	opSet:         {aspect: aspectSet, quick: true},
	opText:        {aspect: aspectText, quick: true},
	opTexts:       {aspect: aspectText, quick: true},
	opTruthy:      {aspect: aspectTruth, quick: true},
	opContains:    {aspect: aspectASCII, quick: true},
	opContainsAny: {aspect: aspectASCII, quick: true},
	opPrefix:      {aspect: aspectASCII, quick: true},
	opSuffix:      {aspect: aspectASCII, quick: true},
	opRegex:       {aspect: aspectPattern, quick: true},
	opGT:          {aspect: aspectNumber, quick: true},
	opGTE:         {aspect: aspectNumber, quick: true},
	opLT:          {aspect: aspectNumber, quick: true},
	opLTE:         {aspect: aspectNumber, quick: true},
	opBetween:     {aspect: aspectNumber, quick: true},
	opDateExact:   {aspect: aspectDate, quick: true, parses: true},
	opDateBefore:  {aspect: aspectDate, quick: true, parses: true},
	opDateAfter:   {aspect: aspectDate, quick: true, parses: true},
	opSemverEQ:    {aspect: aspectVersion, quick: true, parses: true},
	opSemverNEQ:   {aspect: aspectVersion, quick: true, parses: true},
	opSemverGT:    {aspect: aspectVersion, quick: true, parses: true},
	opSemverGTE:   {aspect: aspectVersion, quick: true, parses: true},
	opSemverLT:    {aspect: aspectVersion, quick: true, parses: true},
	opSemverLTE:   {aspect: aspectVersion, quick: true, parses: true},
	opSemverRange: {aspect: aspectVersion, quick: true, parses: true},
	opUseless:     {aspect: aspectUseless, quick: true},
}

// Operators iterates over all operators in the order of evaluation.md §4.2.
func Operators() iter.Seq[Operator] { return slices.Values(operatorTable) }

// OperatorNamed returns the operator with a name, or with an older name such as min; ok is
// false if there is none.
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
var otherOperators = func() map[string]string {
	m := make(map[string]string)
	for i := range operatorTable {
		o := &operatorTable[i]
		for name := range strings.FieldsSeq(o.also) {
			m[name] = o.Name
		}
		for name := range strings.FieldsSeq(o.listed) {
			m[name] = o.Name + ", with a list"
		}
	}
	return m
}()

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

// Comparison returns the operator of the filter, whose name may be left out except for a
// dependency (evaluation.md §4.2, §5.5); ok is false if there is none.
func (f *Filter) Comparison() (o Operator, ok bool) {
	name := f.Operator
	switch {
	case name != "":
	case f.Kind() == CohortFilter:
		name = OperatorIn
	case f.Kind() == PropertyFilter:
		name = OperatorExact
	}
	return OperatorNamed(name)
}
