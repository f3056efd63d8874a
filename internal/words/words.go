package words

import (
	"bytes"
	"cmp"
	"encoding/json"
	"regexp"
	"strconv"
	"strings"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/operators"
)

// NoOne says for whom a flag is on that is on for no one.
const NoOne = "no one"

// EarlyAccess are those whom filters with feature_enrollment admit.
const EarlyAccess = "everyone who has enrolled"

// Names are the names of what filters refer to by numbers, by the text of the number. What
// has no name is called by its number, so that the zero Names serve as well.
type Names struct {
	Cohorts    map[string]string
	Flags      map[string]string // keys
	GroupTypes map[string]string
}

// NewNames returns no names.
func NewNames() *Names {
	return &Names{make(map[string]string), make(map[string]string), make(map[string]string)}
}

func (n *Names) cohort(id string) string {
	return cmp.Or(n.Cohorts[id], "cohort "+id)
}

func (n *Names) groupType(index int) string {
	s := strconv.Itoa(index)
	return cmp.Or(n.GroupTypes[s], "group type "+s)
}

// Audience says for whom a flag is on that is switched on.
func (n *Names) Audience(f *flags.Filters) string {
	const maxShown = 3 // condition sets
	if f.Err() != nil {
		return NoOne + ": the filters cannot be read"
	}
	if f.RuleSet != nil {
		return n.ruleAudience(f.RuleSet)
	}
	var parts []string
	if f.FeatureEnrollment != nil && *f.FeatureEnrollment {
		parts = append(parts, EarlyAccess)
	}
	for i := range f.Groups {
		if Rollout(&f.Groups[i]) == 0 {
			continue
		}
		if len(parts) == maxShown {
			parts = append(parts, "and more")
			break
		}
		parts = append(parts, n.Condition(&f.Groups[i], f.AggregationGroupTypeIndex))
	}
	switch {
	case len(parts) == 0 && len(f.Groups) == 0:
		return NoOne + ": it has no condition sets"
	case len(parts) == 0:
		return NoOne
	}
	text := strings.Join(parts, "; ")
	if f.Holdout != nil && f.Holdout.ExclusionPercentage > 0 {
		text += "; but " + Percent(f.Holdout.ExclusionPercentage) + " are held out"
	}
	return text
}

// Rollout returns the rollout percentage of a condition set.
func Rollout(c *flags.Condition) float64 {
	if c.RolloutPercentage == nil {
		return 100
	}
	return *c.RolloutPercentage
}

// Aggregation returns the group type whose groups a condition set of a flag is about; ok is
// false for persons.
func Aggregation(c *flags.Condition, ofFlag flags.Aggregation) (index int, ok bool) {
	if c.AggregationGroupTypeIndex != flags.Inherited {
		ofFlag = c.AggregationGroupTypeIndex
	}
	return ofFlag.Index()
}

// Condition says whom a condition set admits, of a flag with an aggregation. It ignores the
// negation of filters, as evaluation does.
func (n *Names) Condition(c *flags.Condition, ofFlag flags.Aggregation) string {
	index, grouped := Aggregation(c, ofFlag)
	text := n.audience(Rollout(c), index, grouped, c.Properties, n.Filter)
	if c.Variant != nil && *c.Variant != "" {
		text += " (always " + *c.Variant + ")"
	}
	return text
}

// audience says which share it is of those for whom all filters hold.
func (n *Names) audience(share float64, index int, grouped bool, properties []flags.Filter, filter func(*flags.Filter) string) string {
	text := "everyone"
	switch {
	case grouped && share == 100 && len(properties) == 0:
		text = "each " + n.groupType(index)
	case grouped:
		text = Percent(share) + " of " + n.groupType(index) + " groups"
	case share != 100:
		text = Percent(share) + " of everyone"
	}
	for i := range properties {
		joint := " and "
		if i == 0 {
			joint = " where "
		}
		text += joint + filter(&properties[i])
	}
	return text
}

// Filter says what a filter asks for.
func (n *Names) Filter(f *flags.Filter) string {
	if f.Err() != nil && f.Key == "" {
		return "a filter that cannot be read"
	}
	key, value := f.Key, Text(f.Value)
	o, _ := operators.Of(f.Type, f.Operator)
	says := cmp.Or(o.Words, f.Operator)
	switch operators.KindOf(f.Type) {
	case operators.CohortFilter:
		return says + " " + cmp.Or(f.CohortName, n.cohort(value))
	case operators.FlagFilter:
		return "flag " + cmp.Or(n.Flags[key], key) + " " + says + " " + value
	}
	if f.GroupTypeIndex != nil {
		key = n.groupType(*f.GroupTypeIndex) + " " + key
	}
	if o.Operand == operators.OperandNone && o.Name != "" {
		return key + " " + says
	}
	return key + " " + says + " " + operand(o.Operand, f.Value)
}

// operand says the value of an operator on a property.
func operand(kind operators.Operand, value json.RawMessage) string {
	const maxShown, longest = 3, 40 // values, and characters of one
	list := Texts(value)
	joint := " or "
	if kind == operators.OperandRange {
		joint = " and "
	}
	if more := len(list) - maxShown; more > 0 {
		list = append(list[:maxShown:maxShown], strconv.Itoa(more)+" more")
	}
	for i, s := range list {
		if kind == operators.OperandDate {
			s = span(s)
		}
		if s == "" || strings.TrimSpace(s) != s {
			s = strconv.Quote(s)
		}
		list[i] = Shorten(s, longest)
	}
	return strings.Join(list, joint)
}

// Variants says which variants filters have, "" for none.
func Variants(f *flags.Filters) string {
	if f.Multivariate == nil {
		return ""
	}
	list := make([]string, len(f.Multivariate.Variants))
	for i := range list {
		list[i] = variant(&f.Multivariate.Variants[i])
	}
	return strings.Join(list, ", ")
}

func variant(v *flags.Variant) string { return v.Key + " " + Percent(v.RolloutPercentage) }

// Percent says a percentage.
func Percent(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) + "%" }

// spanForm is a span before now, as dates of filters can be (evaluation.md §4.9).
var spanForm = regexp.MustCompile(`^-(\d{1,6})([hdwmy])$`)

var spanUnits = map[string]string{"h": "hour", "d": "day", "w": "week", "m": "month", "y": "year"}

// span says a date that is relative to now.
func span(value string) string {
	m := spanForm.FindStringSubmatch(value)
	if m == nil {
		return value
	}
	unit := spanUnits[m[2]]
	if m[1] != "1" {
		unit += "s"
	}
	return m[1] + " " + unit + " ago"
}

// Text returns a JSON value as people type it: a string without quotes, nothing for null.
func Text(raw json.RawMessage) string {
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

// Texts returns the elements of a list as Text does, or the only value.
func Texts(raw json.RawMessage) []string {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil || list == nil {
		if s := Text(raw); s != "" || len(raw) > 0 && raw[0] == '"' {
			return []string{s}
		}
		return nil
	}
	out := make([]string, len(list))
	for i := range list {
		out[i] = Text(list[i])
	}
	return out
}

// Shorten cuts a text to so many characters.
func Shorten(s string, most int) string {
	n := 0
	for i := range s {
		if n == most {
			return s[:i] + "…"
		}
		n++
	}
	return s
}
