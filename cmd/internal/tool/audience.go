package tool

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// shownFilters are the filters of a flag as far as they say in a few words who gets it.
type Filters struct {
	Groups       []shownCondition `json:"groups"`
	Multivariate *struct {
		Variants []shownVariant `json:"variants"`
	} `json:"multivariate"`
	Payloads        map[string]json.RawMessage `json:"payloads"`
	Aggregation     *int                       `json:"aggregation_group_type_index"`
	Holdout         *shownHoldout              `json:"holdout"`
	EarlyEnrollment bool                       `json:"feature_enrollment"`

	FlagKeys map[string]string // by ID, of flags that filters refer to
}

type shownVariant struct {
	Key               string  `json:"key"`
	RolloutPercentage float64 `json:"rollout_percentage"`
}

type shownHoldout struct {
	Exclusion float64 `json:"exclusion_percentage"`
}

type shownCondition struct {
	Properties        []json.RawMessage `json:"properties"`
	RolloutPercentage *float64          `json:"rollout_percentage"`
	Variant           *string           `json:"variant"`
	Aggregation       *int              `json:"aggregation_group_type_index"`
}

type shownProperty struct {
	Key            any             `json:"key"`
	Type           string          `json:"type"`
	Operator       string          `json:"operator"`
	Value          json.RawMessage `json:"value"`
	CohortName     string          `json:"cohort_name"`
	Negation       bool            `json:"negation"`
	GroupTypeIndex *int            `json:"group_type_index"`
}

// readFilters reads filters as the API shows them. Members that it cannot read say
// nothing.
func ReadFilters(raw json.RawMessage) (f Filters) {
	_ = json.Unmarshal(raw, &f)
	return f
}

// references returns the IDs of the flags that filters refer to.
func (f *Filters) References() (ids []int64) {
	for i := range f.Groups {
		for _, raw := range f.Groups[i].Properties {
			var p shownProperty
			if json.Unmarshal(raw, &p) != nil || p.Type != "flag" {
				continue
			}
			if id, err := strconv.ParseInt(fmt.Sprint(p.Key), 10, 64); err == nil {
				ids = append(ids, id)
			}
		}
	}
	return ids
}

// variants says which variants there are, "" for none.
func (f *Filters) Variants() string {
	if f.Multivariate == nil {
		return ""
	}
	var words []string
	for _, v := range f.Multivariate.Variants {
		words = append(words, v.Key+" "+Percent(v.RolloutPercentage))
	}
	return strings.Join(words, ", ")
}

const Nobody = "nobody"

// audience says for whom the flag is on.
func (f *Filters) Audience() string {
	var words []string
	for i := range f.Groups {
		if condition := f.Condition(i); condition != Nobody {
			words = append(words, condition)
		}
	}
	if f.EarlyEnrollment {
		words = append(words, EarlyEnrolled)
	}
	return cmp.Or(strings.Join(words, "; or "), Nobody)
}

// early are the persons whom filters with feature_enrollment admit.
const EarlyEnrolled = "persons who enrolled early"

// share returns the percentage of a condition set.
func (c *shownCondition) Share() float64 {
	if c.RolloutPercentage == nil {
		return 100
	}
	return *c.RolloutPercentage
}

// condition says who gets the flag by one condition set.
func (f *Filters) Condition(i int) string {
	c := &f.Groups[i]
	share, who := c.Share(), "everybody"
	aggregation := f.Aggregation
	if c.Aggregation != nil {
		aggregation = c.Aggregation
	}
	if aggregation != nil {
		who = fmt.Sprintf("all groups of type %d", *aggregation)
	}
	var tests []string
	for _, raw := range c.Properties {
		tests = append(tests, f.property(raw))
	}
	switch {
	case share == 0:
		who = "0% of " + who
		if len(tests) == 0 && aggregation == nil {
			who = Nobody
		}
	case share < 100:
		who = Percent(share) + " of " + who
	}
	if len(tests) > 0 {
		who += " if " + strings.Join(tests, " and ")
	}
	if c.Variant != nil && *c.Variant != "" {
		who += ": " + *c.Variant
	}
	return who
}

// operators are operators in words; all others are named without their underscores.
var operators = map[string]string{
	"": "=", "exact": "=", "is_not": "!=", "icontains": "contains", "not_icontains": "does not contain",
	"regex": "matches", "not_regex": "does not match", "gt": ">", "gte": ">=", "min": ">=", "lt": "<", "lte": "<=", "max": "<=",
	"is_set": "is set", "is_not_set": "is not set", "is_date_before": "is before", "is_date_after": "is after", "is_date_exact": "is on",
	"flag_evaluates_to": "is",
}

// property says what a filter asks for.
func (f *Filters) property(raw json.RawMessage) string {
	var p shownProperty
	if json.Unmarshal(raw, &p) != nil {
		return "a filter that cannot be read"
	}
	value := valueInWords(p.Value)
	if p.Type == "cohort" {
		name := "cohort " + value
		if p.CohortName != "" {
			name = fmt.Sprintf("cohort %q", p.CohortName)
		}
		if p.Operator == "not_in" || p.Negation {
			return "not in " + name
		}
		return "in " + name
	}
	operator, ok := operators[p.Operator]
	if !ok {
		operator = strings.ReplaceAll(p.Operator, "_", " ")
	}
	name := fmt.Sprint(p.Key)
	switch p.Type {
	case "flag":
		name = "flag " + cmp.Or(f.FlagKeys[name], name)
	case "group":
		name = "group's " + name
	}
	switch p.Operator {
	case "is_set", "is_not_set":
		return name + " " + operator
	}
	return name + " " + operator + " " + value
}

// valueInWords returns a value of JSON for people: texts without quotes, and lists as
// alternatives.
func valueInWords(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		if text == "" || strings.TrimSpace(text) != text {
			return strconv.Quote(text)
		}
		return text
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil || list == nil {
		return string(raw)
	}
	const shown = 3
	var words []string
	for _, one := range list[:min(len(list), shown)] {
		words = append(words, valueInWords(one))
	}
	all := strings.Join(words, " or ")
	if more := len(list) - shown; more > 0 {
		all += fmt.Sprintf(" or %d more", more)
	}
	return all
}

// percent returns a percentage for people.
func Percent(share float64) string { return strconv.FormatFloat(share, 'f', -1, 64) + "%" }

// shorten makes a text fit for a cell of a table.
func Shorten(text string, most int) string {
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:most-1]) + "…"
}

// compact returns JSON in one line.
func Compact(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return string(raw)
	}
	return b.String()
}
