package judge

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
	"github.com/flagstaff-go/flagstaff/internal/text"
)

// maxPattern is how long a regular expression may be, in bytes (management.md
// §15.2).
const maxPattern = 1000

// A property is one comparison: an element of a condition set's properties, or a
// leaf of a cohort's tree.
type property struct {
	Key            string          `json:"key"`
	Value          json.RawMessage `json:"value,omitempty"`
	Operator       string          `json:"operator,omitempty"`
	Type           string          `json:"type"`
	GroupTypeIndex *int            `json:"group_type_index,omitempty"`
	Negation       bool            `json:"negation,omitempty"`
	CohortName     string          `json:"cohort_name,omitempty"` // only when read, see WithCohortNames

	byKey bool  // Key is surely a flag's key and not its id
	id    int64 // of the cohort
}

// Types of properties (evaluation.md §1.5).
var (
	flagTypes = []string{"person", "person_metadata", "group", "cohort", "flag"}
	leafTypes = []string{"person", "person_metadata", "cohort", "behavioral"}
)

// An operand is what an operator needs as its value.
type operand uint8

const (
	anything operand = iota
	nothing
	someText
	texts
	amount
	interval
	date
	version
	pattern
)

// operators for properties (evaluation.md §4.2, which has six that management.md
// §13.5 does not list).
var operators = map[string]operand{
	"exact": anything, "is_not": anything,
	"is_set": nothing, "is_not_set": nothing,
	"icontains": someText, "not_icontains": someText,
	"icontains_multi": texts, "not_icontains_multi": texts,
	"starts_with": someText, "not_starts_with": someText,
	"ends_with": someText, "not_ends_with": someText,
	"regex": pattern, "not_regex": pattern,
	"gt": amount, "gte": amount, "lt": amount, "lte": amount,
	"between": interval, "not_between": interval,
	"is_date_exact": date, "is_date_before": date, "is_date_after": date,
	"semver_eq": version, "semver_neq": version,
	"semver_gt": version, "semver_gte": version, "semver_lt": version, "semver_lte": version,
	"semver_tilde": version, "semver_caret": version, "semver_wildcard": version,
}

// operatorNames are operators for messages, those that belong together next to
// each other.
const operatorNames = "exact, is_not, is_set, is_not_set, icontains, not_icontains, icontains_multi, not_icontains_multi, " +
	"starts_with, not_starts_with, ends_with, not_ends_with, regex, not_regex, gt, gte, lt, lte, between, not_between, " +
	"is_date_exact, is_date_before, is_date_after, semver_eq, semver_neq, semver_gt, semver_gte, semver_lt, semver_lte, " +
	"semver_tilde, semver_caret, semver_wildcard"

// aliases of operators that other parts of the public system use.
var aliases = map[string]string{"min": "gte", "max": "lte"}

// wants says for a message what an operand must be.
var wants = map[operand]string{
	someText: "text",
	texts:    "a list of texts",
	amount:   "a number, or the text of one",
	interval: "a list of two numbers, the smaller one first",
	date:     `the text of a date such as "2024-06-01" or "2024-06-01T12:00:00Z", or of a span before now such as "-7d" with the unit h, d, w, m or y`,
	version:  `the text of a version such as "1.2.3"; for semver_wildcard also "1.*"`,
	pattern:  fmt.Sprintf("a regular expression in RE2 syntax, without look-around and back-references, of at most %d bytes", maxPattern),
}

// readProperty reads a property whose type is one of types, and not behavioral.
// What depends on other flags, on cohorts or on the engine is judged later.
func readProperty(o object, types []string) (property, error) {
	var p property
	var err error
	if p.Type, err = readType(o, types); err != nil {
		return p, within("type", err)
	}
	if p.Key, err = readKey(o.values["key"]); err != nil {
		return p, within("key", err)
	}
	if p.Operator, err = readOperator(o.values["operator"]); err != nil {
		return p, within("operator", err)
	}
	negation, err := optionalBool(o.values["negation"])
	if err != nil {
		return p, within("negation", err)
	}
	p.Negation = negation != nil && *negation
	index, err := readGroupType(o.values["group_type_index"])
	if err != nil {
		return p, within("group_type_index", err)
	}
	switch p.Type {
	case "cohort":
		return p, p.readCohort(o)
	case "flag":
		return p, p.readFlag(o)
	case "group":
		p.GroupTypeIndex = index
	}
	return p, p.readValue(o.values["value"])
}

func readType(o object, types []string) (string, error) {
	v := o.values["type"]
	name, ok := str(v)
	if !ok || !slices.Contains(types, name) {
		return "", unfit(v, "one of "+strings.Join(types, ", "))
	}
	return name, nil
}

// readKey reads the name of a property. Numbers become text.
func readKey(v jsonscan.Value) (string, error) {
	const want = "text or a number"
	if v.Kind() == jsonscan.Number {
		s, _ := text.Str(v)
		return s, nil
	}
	s, err := plainText(v, want)
	if err == nil && s == "" {
		return "", refuse("must not be empty")
	}
	return s, err
}

// readOperator reads an operator as it is stored; "" for none.
func readOperator(v jsonscan.Value) (string, error) {
	if !present(v) {
		return "", nil
	}
	name, ok := str(v)
	if alias, known := aliases[name]; known {
		name = alias
	}
	switch name {
	case "in", "not_in", "flag_evaluates_to":
		return name, nil
	}
	if _, known := operators[name]; !ok || !known {
		return "", unfit(v, "one of "+operatorNames+"; in and not_in for cohorts, flag_evaluates_to for flags")
	}
	return name, nil
}

// maxGroupType is the highest index of a group type that the engine takes.
const maxGroupType = 1 << 20

func readGroupType(v jsonscan.Value) (*int, error) {
	if !present(v) {
		return nil, nil
	}
	n, ok := integer(v)
	if !ok || n < 0 || n > maxGroupType {
		return nil, unfit(v, "the index of a group type, an integer from 0")
	}
	return new(int(n)), nil
}

// readCohort reads the rest of a reference to a cohort (management.md §13.10).
func (p *property) readCohort(o object) error {
	if p.Key != "id" {
		return within("key", refuse(`must be "id" for a cohort, not %s`, shorten(o.values["key"])))
	}
	if p.Operator != "" && p.Operator != "in" && p.Operator != "not_in" {
		return within("operator", unfit(o.values["operator"], "in or not_in for a cohort"))
	}
	v := o.values["value"]
	if s, ok := str(v); ok {
		v = jsonscan.Value(s) // SDKs accept the text of an id, too
	}
	var ok bool
	if p.id, ok = integer(v); !ok {
		return within("value", unfit(o.values["value"], "the integer id of a cohort"))
	}
	p.Value = fmt.Appendf(nil, "%d", p.id)
	return nil
}

// readFlag reads the rest of a dependency.
func (p *property) readFlag(o object) error {
	if p.Operator != "flag_evaluates_to" {
		return within("operator", unfit(o.values["operator"], "flag_evaluates_to for a flag"))
	}
	p.byKey = o.values["dependency_chain"].Kind() == jsonscan.Array
	v := o.values["value"]
	switch v.Kind() {
	case jsonscan.True, jsonscan.False, jsonscan.String:
		value, err := appendValue(nil, v)
		p.Value = value
		return within("value", err)
	}
	return within("value", unfit(v, "true, false or the key of a variant"))
}

// readValue reads the value of a property that is compared itself.
func (p *property) readValue(v jsonscan.Value) error {
	name := p.Operator
	if name == "" {
		name = "exact"
	}
	kind, ok := operators[name]
	if !ok {
		other := "a cohort"
		if name == "flag_evaluates_to" {
			other = "a flag"
		}
		return within("operator", refuse("must be one of %s for type %s, not %s, which is for %s", operatorNames, p.Type, name, other))
	}
	switch {
	case kind == nothing && !present(v):
		return nil
	case kind != nothing && !present(v):
		return within("value", refuse("is required for operator %s", name))
	case !kind.admits(v):
		return within("value", unfitFor(name, v))
	}
	value, err := appendValue(nil, v)
	p.Value = value
	return within("value", err)
}

// unfitFor refuses a value that does not suit an operator.
func unfitFor(operator string, v jsonscan.Value) error {
	return refuse("must be %s, not %s (operator %s)", wants[operators[operator]], shorten(v), operator)
}

// admits reports whether a value has the right type. Whether it can be parsed is
// for the engine to say.
func (k operand) admits(v jsonscan.Value) bool {
	switch k {
	case someText, date, version:
		return v.Kind() == jsonscan.String
	case pattern:
		s, ok := str(v)
		return ok && len(s) <= maxPattern
	case texts:
		if v.Kind() != jsonscan.Array {
			return false
		}
		for a := v.Array(); a.Next(); {
			if a.Value().Kind() != jsonscan.String {
				return false
			}
		}
		return true
	case amount:
		return v.Kind() == jsonscan.Number || v.Kind() == jsonscan.String
	case interval:
		return v.Kind() == jsonscan.Array
	}
	return true
}

// parsed reports whether the engine has to parse the value, and can fail.
func (k operand) parsed() bool { return k >= amount }
