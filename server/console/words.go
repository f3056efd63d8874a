package console

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strconv"
	"strings"

	"github.com/flagstaff-go/flagstaff/flags"
)

// An operatorWord is an operator as people read it.
type operatorWord struct {
	name  string
	label string // between the property and the value
	takes operandForm
}

// An operandForm says how the value of an operator is typed.
type operandForm uint8

const (
	oneText   operandForm = iota
	noValue               // there is none
	anyTexts              // one value, or a list of which one counts
	someTexts             // always a list
	oneNumber
	twoNumbers
)

// The operators of each kind of filter, in the order in which people choose them.
var (
	propertyOperators = []operatorWord{
		{flags.OperatorExact, "is", anyTexts},
		{flags.OperatorIsNot, "is not", anyTexts},
		{flags.OperatorIsSet, "is set", noValue},
		{flags.OperatorIsNotSet, "is not set", noValue},
		{flags.OperatorIContains, "contains", oneText},
		{flags.OperatorNotIContains, "does not contain", oneText},
		{flags.OperatorIContainsMulti, "contains one of", someTexts},
		{flags.OperatorNotIContainsMulti, "contains none of", someTexts},
		{flags.OperatorStartsWith, "starts with", oneText},
		{flags.OperatorNotStartsWith, "does not start with", oneText},
		{flags.OperatorEndsWith, "ends with", oneText},
		{flags.OperatorNotEndsWith, "does not end with", oneText},
		{flags.OperatorRegex, "matches", oneText},
		{flags.OperatorNotRegex, "does not match", oneText},
		{flags.OperatorGT, ">", oneNumber},
		{flags.OperatorGTE, "≥", oneNumber},
		{flags.OperatorLT, "<", oneNumber},
		{flags.OperatorLTE, "≤", oneNumber},
		{flags.OperatorBetween, "is between", twoNumbers},
		{flags.OperatorNotBetween, "is not between", twoNumbers},
		{flags.OperatorIsDateExact, "is the moment", oneText},
		{flags.OperatorIsDateBefore, "is before", oneText},
		{flags.OperatorIsDateAfter, "is after", oneText},
	}
	versionOperators = []operatorWord{
		{flags.OperatorSemverEQ, "is version", oneText},
		{flags.OperatorSemverNEQ, "is not version", oneText},
		{flags.OperatorSemverGT, "is a version >", oneText},
		{flags.OperatorSemverGTE, "is a version ≥", oneText},
		{flags.OperatorSemverLT, "is a version <", oneText},
		{flags.OperatorSemverLTE, "is a version ≤", oneText},
		{flags.OperatorSemverTilde, "is a version ~", oneText},
		{flags.OperatorSemverCaret, "is a version ^", oneText},
		{flags.OperatorSemverWildcard, "is a version like", oneText},
	}
	cohortOperators = []operatorWord{
		{flags.OperatorIn, "in", oneText},
		{flags.OperatorNotIn, "not in", oneText},
	}
	flagOperators = []operatorWord{
		{flags.OperatorFlagEvaluatesTo, "is", oneText},
	}
)

// operatorsOf returns the operators of a kind of filter.
func operatorsOf(kind string) [][]operatorWord {
	switch kind {
	case "cohort":
		return [][]operatorWord{cohortOperators}
	case "flag":
		return [][]operatorWord{flagOperators}
	}
	return [][]operatorWord{propertyOperators, versionOperators}
}

// operatorOf returns the word of an operator; one that nothing knows is shown as it is.
func operatorOf(kind, name string) operatorWord {
	for _, list := range operatorsOf(kind) {
		for _, o := range list {
			if o.name == name || name == "" && o.name == list[0].name {
				return o
			}
		}
	}
	return operatorWord{name, name, oneText}
}

// A vocabulary has the names of what filters refer to by numbers.
type vocabulary struct {
	cohorts    map[string]string // by ID
	flags      map[string]string // keys by ID
	groupTypes map[string]string // by index
}

func (v *vocabulary) groupType(index string) string {
	if name := v.groupTypes[index]; name != "" {
		return name
	}
	return "group type " + index
}

// rawFilters, rawCondition and rawFilter are filters as the API shows them, with as much
// of their form as words need. What cannot be read is left empty.
type rawFilters struct {
	Groups       []rawCondition `json:"groups"`
	Multivariate *struct {
		Variants []struct {
			Key   string  `json:"key"`
			Share float64 `json:"rollout_percentage"`
		} `json:"variants"`
	} `json:"multivariate"`
	Aggregation json.RawMessage `json:"aggregation_group_type_index"`
	Enrollment  bool            `json:"feature_enrollment"`
	Holdout     *struct {
		Share float64 `json:"exclusion_percentage"`
	} `json:"holdout"`
}

type rawCondition struct {
	Properties  []rawFilter     `json:"properties"`
	Share       *float64        `json:"rollout_percentage"`
	Variant     *string         `json:"variant"`
	Aggregation json.RawMessage `json:"aggregation_group_type_index"`
}

type rawFilter struct {
	Key        json.RawMessage `json:"key"`
	Type       string          `json:"type"`
	Operator   string          `json:"operator"`
	Value      json.RawMessage `json:"value"`
	GroupType  json.RawMessage `json:"group_type_index"`
	CohortName string          `json:"cohort_name"`
}

func (c *rawCondition) share() float64 {
	if c.Share == nil {
		return 100
	}
	return *c.Share
}

// reach says in words who gets a flag, without variants.
func (v *vocabulary) reach(f *rawFilters) string {
	const maxTold = 3 // condition sets
	var parts []string
	if f.Enrollment {
		parts = append(parts, "everybody who has enrolled")
	}
	for i := range f.Groups {
		c := &f.Groups[i]
		if c.share() == 0 {
			continue
		}
		if len(parts) == maxTold {
			parts = append(parts, "and more")
			break
		}
		parts = append(parts, v.condition(c, text(f.Aggregation)))
	}
	switch {
	case len(parts) == 0 && len(f.Groups) == 0:
		return "nobody: it has no conditions"
	case len(parts) == 0:
		return "nobody"
	}
	words := strings.Join(parts, "; ")
	if f.Holdout != nil && f.Holdout.Share > 0 {
		words += "; but " + percent(f.Holdout.Share) + " are held out"
	}
	return words
}

// condition says in words whom a condition set admits.
func (v *vocabulary) condition(c *rawCondition, aggregation string) string {
	share, many := percent(c.share()), "everyone"
	if len(c.Aggregation) > 0 { // null is persons
		aggregation = text(c.Aggregation)
	}
	if aggregation != "" {
		many = "each " + v.groupType(aggregation)
	}
	var words string
	switch {
	case len(c.Properties) == 0 && c.share() == 100:
		words = many
	case len(c.Properties) == 0 && aggregation == "":
		words = share + " of everyone"
	case len(c.Properties) == 0:
		words = share + " of " + v.groupType(aggregation) + " groups"
	default:
		filters := make([]string, len(c.Properties))
		for i := range c.Properties {
			filters[i] = v.filter(&c.Properties[i])
		}
		words = share + " where "
		if aggregation != "" {
			words = share + " of " + v.groupType(aggregation) + " groups where "
		}
		words += strings.Join(filters, " and ")
	}
	if c.Variant != nil && *c.Variant != "" {
		words += " (always " + *c.Variant + ")"
	}
	return words
}

// filter says in words what a filter asks for.
func (v *vocabulary) filter(f *rawFilter) string {
	key, o := text(f.Key), operatorOf(f.Type, f.Operator)
	switch f.Type {
	case "cohort":
		id := text(f.Value)
		name := f.CohortName
		if name == "" {
			name = v.cohorts[id]
		}
		if name == "" {
			name = "cohort " + id
		}
		return o.label + " " + name
	case "flag":
		if named := v.flags[key]; named != "" {
			key = named
		}
		return "flag " + key + " " + o.label + " " + text(f.Value)
	case "group":
		if index := text(f.GroupType); index != "" {
			key = v.groupType(index) + " " + key
		}
	}
	if o.takes == noValue {
		return key + " " + o.label
	}
	values := texts(f.Value)
	joint := " or "
	if o.takes == twoNumbers {
		joint = " and "
	}
	const maxTold = 3 // values
	if len(values) > maxTold {
		values = append(values[:maxTold:maxTold], strconv.Itoa(len(values)-maxTold)+" more")
	}
	for i := range values {
		values[i] = shorten(spanWords(o.name, values[i]), 40)
	}
	return key + " " + o.label + " " + strings.Join(values, joint)
}

// spanForm is a span before now, as dates of filters can be (evaluation.md §4.9).
var spanForm = regexp.MustCompile(`^-(\d{1,6})([hdwmy])$`)

// spanWords says a date that is relative to now in words.
func spanWords(operator, value string) string {
	m := spanForm.FindStringSubmatch(value)
	if m == nil || !strings.HasPrefix(operator, "is_date") {
		return value
	}
	n, _ := strconv.Atoi(m[1]) // they are digits
	unit := map[string]string{"h": "hour", "d": "day", "w": "week", "m": "month", "y": "year"}[m[2]]
	return count(n, unit, unit+"s") + " ago"
}

// text returns a JSON value as people type it: a string without quotes, nothing for null.
func text(raw json.RawMessage) string {
	var s string
	switch {
	case len(raw) == 0 || string(raw) == "null":
		return ""
	case raw[0] == '"' && json.Unmarshal(raw, &s) == nil:
		return s
	}
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return string(raw)
	}
	return b.String()
}

// texts returns the elements of a list as text does, or the only value.
func texts(raw json.RawMessage) []string {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil || list == nil {
		if s := text(raw); s != "" || len(raw) > 0 && raw[0] == '"' {
			return []string{s}
		}
		return nil
	}
	out := make([]string, len(list))
	for i := range list {
		out[i] = text(list[i])
	}
	return out
}

// shorten cuts a text to so many characters.
func shorten(s string, most int) string {
	n := 0
	for i := range s {
		if n == most {
			return s[:i] + "…"
		}
		n++
	}
	return s
}

// valueWords says what a value of a flag is.
func valueWords(v any) string {
	switch v := v.(type) {
	case nil:
		return "not known"
	case bool:
		if v {
			return "on"
		}
		return "off"
	case string:
		return v
	}
	return text(must(json.Marshal(v)))
}

// must is for values that always can be encoded.
func must(b []byte, err error) json.RawMessage {
	if err != nil {
		panic(err)
	}
	return b
}
