package operators

import (
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/flagstaff-go/flagstaff/flags/operator"
	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
	"github.com/flagstaff-go/flagstaff/internal/nearest"
	"github.com/flagstaff-go/flagstaff/internal/semver"
	"github.com/flagstaff-go/flagstaff/internal/served"
	"github.com/flagstaff-go/flagstaff/internal/text"
)

// An Operator is one of the operators that filters can have (evaluation.md §4.2).
type Operator struct {
	// Name is what [flags.Filter.Operator] says: one of the constants, such as [operator.Exact].
	Name string

	// For is the kind of filter that the operator is for. With a filter of
	// another kind it never matches.
	For Kind

	// Operand is what [flags.Filter.Value] must be. A filter with another value never
	// matches, or matches something that its author hardly meant.
	Operand Operand

	// Words are what stands between a property and a value for people, as in "plan is pro".
	Words string

	// Negated says that the operator is the opposite of another one.
	Negated bool

	// Op is what evaluation does, and Missing its result when the property is not set
	// (evaluation.md §4.3).
	Op      Op
	Missing bool

	// Range reads the value, for [OpSemverRange].
	Range func(string) (semver.Range, bool)

	older  string // the name that it has in older documents
	also   string // what it is called elsewhere, with a space between two names
	listed string // what it is called elsewhere if its value is a list
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

// Admits reports whether a value has the type that an operator needs, null being none of
// any type. Whether it can be parsed is for flags.Compile to say.
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

// table has the operators in the order of evaluation.md §4.2, with related
// operators next to each other, which is the order in which people choose them.
// Everything that knows operators reads it. What an op does stands in checks.go.
var table = []Operator{
	{
		Name: operator.Exact, Words: "is", For: PropertyFilter, Op: OpText,
		also: "equals equal eq = == is", listed: "in one_of any_of",
	},
	{
		Name: operator.IsNot, Words: "is not", For: PropertyFilter, Op: OpText, Negated: true, Missing: true,
		also: "not_equals not_equal neq ne !=", listed: "not_in none_of",
	},
	{Name: operator.IsSet, Words: "is set", For: PropertyFilter, Operand: OperandNone, Op: OpSet, also: "exists"},
	{
		Name: operator.IsNotSet, Words: "is not set", For: PropertyFilter, Operand: OperandNone, Op: OpSet, Negated: true, Missing: true,
		also: "not_exists",
	},
	{Name: operator.IContains, Words: "contains", For: PropertyFilter, Operand: OperandText, Op: OpContains, also: "contains"},
	{
		Name: operator.NotIContains, Words: "does not contain", For: PropertyFilter, Operand: OperandText, Op: OpContains, Negated: true, Missing: true,
		also: "not_contains",
	},
	{Name: operator.IContainsMulti, Words: "contains one of", For: PropertyFilter, Operand: OperandTexts, Op: OpContainsAny},
	{Name: operator.NotIContainsMulti, Words: "contains none of", For: PropertyFilter, Operand: OperandTexts, Op: OpContainsAny, Negated: true, Missing: true},
	{Name: operator.StartsWith, Words: "starts with", For: PropertyFilter, Operand: OperandText, Op: OpPrefix},
	{Name: operator.NotStartsWith, Words: "does not start with", For: PropertyFilter, Operand: OperandText, Op: OpPrefix, Negated: true, Missing: true},
	{Name: operator.EndsWith, Words: "ends with", For: PropertyFilter, Operand: OperandText, Op: OpSuffix},
	{Name: operator.NotEndsWith, Words: "does not end with", For: PropertyFilter, Operand: OperandText, Op: OpSuffix, Negated: true, Missing: true},
	{
		Name: operator.Regex, Words: "matches", For: PropertyFilter, Operand: OperandPattern, Op: OpRegex,
		also: "matches match regexp",
	},
	{
		Name: operator.NotRegex, Words: "does not match", For: PropertyFilter, Operand: OperandPattern, Op: OpRegex, Negated: true, Missing: true,
		also: "not_matches",
	},
	{Name: operator.GT, Words: ">", For: PropertyFilter, Operand: OperandNumber, Op: OpGT, also: "> greater_than"},
	{
		Name: operator.GTE, Words: "≥", For: PropertyFilter, Operand: OperandNumber, Op: OpGTE,
		older: "min", also: ">= greater_than_or_equal",
	},
	{Name: operator.LT, Words: "<", For: PropertyFilter, Operand: OperandNumber, Op: OpLT, also: "< less_than"},
	{
		Name: operator.LTE, Words: "≤", For: PropertyFilter, Operand: OperandNumber, Op: OpLTE,
		older: "max", also: "<= less_than_or_equal",
	},
	{Name: operator.Between, Words: "is between", For: PropertyFilter, Operand: OperandRange, Op: OpBetween},
	{Name: operator.NotBetween, Words: "is not between", For: PropertyFilter, Operand: OperandRange, Op: OpBetween, Negated: true, Missing: true},
	{Name: operator.IsDateExact, Words: "is the moment", For: PropertyFilter, Operand: OperandDate, Op: OpDateExact},
	{
		Name: operator.IsDateBefore, Words: "is before", For: PropertyFilter, Operand: OperandDate, Op: OpDateBefore,
		also: "before",
	},
	{Name: operator.IsDateAfter, Words: "is after", For: PropertyFilter, Operand: OperandDate, Op: OpDateAfter, also: "after"},
	{Name: operator.SemverEQ, Words: "is version", For: PropertyFilter, Operand: OperandVersion, Op: OpSemverEQ},
	{Name: operator.SemverNEQ, Words: "is not version", For: PropertyFilter, Operand: OperandVersion, Op: OpSemverNEQ},
	{Name: operator.SemverGT, Words: "is a version >", For: PropertyFilter, Operand: OperandVersion, Op: OpSemverGT},
	{Name: operator.SemverGTE, Words: "is a version ≥", For: PropertyFilter, Operand: OperandVersion, Op: OpSemverGTE},
	{Name: operator.SemverLT, Words: "is a version <", For: PropertyFilter, Operand: OperandVersion, Op: OpSemverLT},
	{Name: operator.SemverLTE, Words: "is a version ≤", For: PropertyFilter, Operand: OperandVersion, Op: OpSemverLTE},
	{
		Name: operator.SemverTilde, Words: "is a version ~", For: PropertyFilter, Operand: OperandVersion, Op: OpSemverRange,
		Range: semver.Tilde,
	},
	{
		Name: operator.SemverCaret, Words: "is a version ^", For: PropertyFilter, Operand: OperandVersion, Op: OpSemverRange,
		Range: semver.Caret,
	},
	{
		Name: operator.SemverWildcard, Words: "is a version like", For: PropertyFilter, Operand: OperandVersion, Op: OpSemverRange,
		Range: semver.Wildcard,
	},
	{Name: operator.In, Words: "in", For: CohortFilter, Operand: OperandCohort, Op: OpCohort},
	{Name: operator.NotIn, Words: "not in", For: CohortFilter, Operand: OperandCohort, Op: OpCohort, Negated: true},
	{Name: operator.FlagEvaluatesTo, Words: "is", For: FlagFilter, Operand: OperandFlagValue, Op: OpFlag},
}

// byName has the entries of table by name, and by the older name of those that
// have one (evaluation.md §4.2).
var byName = func() map[string]*Operator {
	m := make(map[string]*Operator, len(table))
	for i := range table {
		o := &table[i]
		m[o.Name] = o
		if o.older != "" {
			m[o.older] = o
		}
	}
	return m
}()

// An Op is what a check does. An operator and its negation have one op
// (evaluation.md §4.2).
type Op uint8

const (
	OpNever       Op = iota // false whatever the property is
	OpFail                  // the filter cannot be understood: the flag fails with check.fail
	OpCohort                // membership
	OpCohortNever           // a cohort filter with an operator for properties
	OpFlag                  // another flag's value
	OpSet
	OpText   // exact: lower-cased text
	OpTexts  // exact: one of several lower-cased texts
	OpTruthy // exact: truthiness (evaluation.md §4.4, version 1)
	OpContains
	OpContainsAny
	OpPrefix
	OpSuffix
	OpRegex
	OpGT
	OpGTE
	OpLT
	OpLTE
	OpBetween
	OpDateExact
	OpDateBefore
	OpDateAfter
	OpSemverEQ
	OpSemverNEQ
	OpSemverGT
	OpSemverGTE
	OpSemverLT
	OpSemverLTE
	OpSemverRange
	OpCompared // another one, as flags.Comparison says
	OpUseless  // a value that matches no property that is set, negated or not
	OpAll      // other checks, which all must hold
	OpAny      // other checks, of which one must hold
	OpSplit    // a split of true and false
)

// An Aspect is what of a property an Op looks at.
type Aspect uint8

const (
	AspectNone    Aspect = iota // it looks at no property
	AspectSet                   // whether it is there
	AspectUseless               // as AspectSet, and nothing matches
	AspectText                  // text in lower case
	AspectASCII                 // text in which A to Z are in lower case
	AspectTruth
	AspectPattern // text
	AspectNumber
	AspectDate
	AspectVersion
	AspectCompared // what the filter's comparison says
)

// Ops has what the rest of the code asks of an [Op]. The order of the constants means nothing.
var Ops = [...]struct {
	Aspect Aspect
	Quick  bool // the short cut for one flag knows it
	Parses bool // it reads texts as dates or versions
}{
	OpNever:       {Aspect: AspectNone},
	OpFail:        {Aspect: AspectNone},
	OpCohort:      {Aspect: AspectNone},
	OpCohortNever: {Aspect: AspectNone},
	OpFlag:        {Aspect: AspectNone},
	OpSet:         {Aspect: AspectSet, Quick: true},
	OpText:        {Aspect: AspectText, Quick: true},
	OpTexts:       {Aspect: AspectText, Quick: true},
	OpTruthy:      {Aspect: AspectTruth, Quick: true},
	OpContains:    {Aspect: AspectASCII, Quick: true},
	OpContainsAny: {Aspect: AspectASCII, Quick: true},
	OpPrefix:      {Aspect: AspectASCII, Quick: true},
	OpSuffix:      {Aspect: AspectASCII, Quick: true},
	OpRegex:       {Aspect: AspectPattern, Quick: true},
	OpGT:          {Aspect: AspectNumber, Quick: true},
	OpGTE:         {Aspect: AspectNumber, Quick: true},
	OpLT:          {Aspect: AspectNumber, Quick: true},
	OpLTE:         {Aspect: AspectNumber, Quick: true},
	OpBetween:     {Aspect: AspectNumber, Quick: true},
	OpDateExact:   {Aspect: AspectDate, Quick: true, Parses: true},
	OpDateBefore:  {Aspect: AspectDate, Quick: true, Parses: true},
	OpDateAfter:   {Aspect: AspectDate, Quick: true, Parses: true},
	OpSemverEQ:    {Aspect: AspectVersion, Quick: true, Parses: true},
	OpSemverNEQ:   {Aspect: AspectVersion, Quick: true, Parses: true},
	OpSemverGT:    {Aspect: AspectVersion, Quick: true, Parses: true},
	OpSemverGTE:   {Aspect: AspectVersion, Quick: true, Parses: true},
	OpSemverLT:    {Aspect: AspectVersion, Quick: true, Parses: true},
	OpSemverLTE:   {Aspect: AspectVersion, Quick: true, Parses: true},
	OpSemverRange: {Aspect: AspectVersion, Quick: true, Parses: true},
	OpCompared:    {Aspect: AspectCompared, Quick: true},
	OpUseless:     {Aspect: AspectUseless, Quick: true},
	OpAll:         {Aspect: AspectNone},
	OpAny:         {Aspect: AspectNone},
	OpSplit:       {Aspect: AspectNone},
}

// All iterates over all operators in the order of evaluation.md §4.2.
func All() iter.Seq[Operator] { return slices.Values(table) }

// Named returns the operator with a name, or with an older name such as min; ok is false
// if there is none. The empty name has none: see [Of].
func Named(name string) (o Operator, ok bool) {
	if o := byName[name]; o != nil {
		return *o, true
	}
	return Operator{}, false
}

// Names iterates over the names of all operators, the older ones included.
func Names() iter.Seq[string] { return maps.Keys(byName) }

// Of returns the operator of a filter, whose name may be left out except for a dependency
// (evaluation.md §4.2, §5.5); ok is false if there is none.
func Of(filterType, name string) (o Operator, ok bool) {
	if name == "" {
		switch KindOf(filterType) {
		case CohortFilter:
			name = operator.In
		case PropertyFilter:
			name = operator.Exact
		}
	}
	return Named(name)
}

// Hint says which operator an author of a filter of some kind may have meant, and
// which ones there are.
func Hint(name string, k Kind) string {
	var names []string
	for i := range table {
		if o := &table[i]; o.For == k {
			names = append(names, o.Name)
		}
	}
	hint := "use one of " + strings.Join(names, ", ")
	if len(name) > 2*len(operator.NotIContainsMulti) {
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
	for i := range table {
		o := &table[i]
		for name := range strings.FieldsSeq(o.also) {
			m[name] = o.Name
		}
		for name := range strings.FieldsSeq(o.listed) {
			m[name] = o.Name + ", with a list"
		}
	}
	return m
}()

// A Kind says what a filter compares.
type Kind uint8

const (
	// UnknownFilter is a filter of a type that flags cannot evaluate, such as
	// "behavioral" (evaluation.md §5.6).
	UnknownFilter Kind = iota

	// PropertyFilter compares a property of the person, of the person's record
	// or of a group.
	PropertyFilter

	// CohortFilter asks for membership in a cohort (evaluation.md §5.2).
	CohortFilter

	// FlagFilter asks for the value of another flag (evaluation.md §7).
	FlagFilter
)

// KindOf returns what a filter of a type compares (evaluation.md §1.5).
func KindOf(filterType string) Kind {
	switch filterType {
	case "", "person", "person_metadata", "group":
		return PropertyFilter
	case "cohort":
		return CohortFilter
	case "flag":
		return FlagFilter
	}
	return UnknownFilter
}
