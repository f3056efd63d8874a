package unleash

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/convert"
)

// distinctID is the property of the distinct ID.
const distinctID = "distinct_id"

// property returns the property that a field of the context is.
func (c *converter) property(field string) string {
	name := c.o.Property(field)
	if field == "userId" && name == field {
		return distinctID
	}
	if name == "" {
		return field
	}
	return name
}

// The operators that have a list of values; the others have one value.
var listOperators = []string{"IN", "NOT_IN", "STR_CONTAINS", "STR_STARTS_WITH", "STR_ENDS_WITH", "IN_CIDR"}

// newOperators are those that version 5 of the Go SDK does not know.
var newOperators = []string{"REGEX", "IN_CIDR", "SEMVER_LTE", "SEMVER_GTE"}

var operands = map[string]string{
	"NUM_EQ": "a number", "NUM_LT": "a number", "NUM_LTE": "a number", "NUM_GT": "a number", "NUM_GTE": "a number",
	"DATE_BEFORE": "a time of RFC 3339", "DATE_AFTER": "a time of RFC 3339",
	"SEMVER_EQ": "a version", "SEMVER_LT": "a version", "SEMVER_LTE": "a version", "SEMVER_GT": "a version", "SEMVER_GTE": "a version",
	"REGEX": "a pattern",
}

// constraint returns the filter of a constraint. Our own operators are used where they compare as
// those of Unleash do, because people can read them.
func (c *converter) constraint(k *constraint, about *report) flags.Filter {
	isList := slices.Contains(listOperators, k.Operator)
	operand, known := operands[k.Operator]
	switch {
	case !known && !isList:
		about.problem("The operator %q is not known: the strategy never matches.", k.Operator)
		return convert.Always(false)
	case k.ContextName == "":
		about.problem("A constraint with the operator %s names no field of the context: the strategy never matches.", k.Operator)
		return convert.Always(false)
	case slices.Contains(newOperators, k.Operator) && c.version == 5:
		about.note("Version 5 of the Go SDK does not know the operator %s: the strategy never matches, as there.", k.Operator)
		return convert.Always(false)
	case slices.Contains(newOperators, k.Operator) && c.version == 0:
		about.note("Versions of the Go SDK below 6 do not know the operator %s: a strategy with it never matches there.", k.Operator)
	}
	if k.ContextName == "environment" || k.ContextName == "appName" {
		about.note("The SDK fills in %s by itself: here it is a property, which has to come with requests.", k.ContextName)
	}
	if k.CaseInsensitive && (k.Operator == "IN" || k.Operator == "NOT_IN") {
		about.note("IN and NOT_IN compare letters as they are, also with caseInsensitive, as in the Go SDK.")
	}
	if f, ok := c.ownOperator(k); ok {
		return f
	}
	f := c.dialectFilter(k)
	if known && !isReadable(f) {
		if k.Operator == "REGEX" {
			about.note("The pattern of a constraint on %s is not one of RE2: nothing matches it, as there.", k.ContextName)
			if k.Inverted {
				return convert.Always(true)
			}
			return convert.Always(false)
		}
		about.note("A constraint with the operator %s on %s does not have %s: the strategy never matches, as there.", k.Operator, k.ContextName, operand)
		return convert.Always(false)
	}
	return f
}

func (c *converter) dialectFilter(k *constraint) flags.Filter {
	f := flags.Filter{Type: "person", Key: c.property(k.ContextName), Operator: k.Operator, Comparison: flags.Comparison{Dialect: "unleash"}}
	operand := struct {
		Value           *string  `json:"value,omitempty"`
		Values          []string `json:"values,omitempty"`
		CaseInsensitive bool     `json:"caseInsensitive,omitempty"`
		Inverted        bool     `json:"inverted,omitempty"`
	}{Inverted: k.Inverted, CaseInsensitive: k.CaseInsensitive && (k.Operator == "REGEX" || strings.HasPrefix(k.Operator, "STR_"))}
	var alone any = &k.Value
	operand.Value = &k.Value
	if slices.Contains(listOperators, k.Operator) {
		alone = append([]string{}, k.Values...)
		operand.Value, operand.Values = nil, k.Values
	}
	if !operand.Inverted && !operand.CaseInsensitive || len(operand.Values) == 0 && operand.Value == nil {
		f.Value = encode(alone)
		f.Negation = k.Inverted // of a list without values
		return f
	}
	f.Value = encode(operand)
	return f
}

// ownOperator returns a filter with an operator of Flagstaff, if there is one that compares
// alike.
func (c *converter) ownOperator(k *constraint) (f flags.Filter, ok bool) {
	if len(k.Values) == 0 || slices.Contains(k.Values, "") {
		return f, false
	}
	f = flags.Filter{Type: "person", Key: c.property(k.ContextName), Comparison: flags.Comparison{CaseSensitive: true}}
	switch k.Operator {
	case "IN", "NOT_IN":
		f.Operator = "exact"
		if (k.Operator == "IN") == k.Inverted {
			f.Operator = "is_not"
		}
		// A property that is null has the text "null" here.
		if slices.Contains(k.Values, "null") {
			return f, false
		}
	case "STR_CONTAINS":
		f.Operator = "icontains"
	case "STR_STARTS_WITH":
		f.Operator = "starts_with"
	case "STR_ENDS_WITH":
		f.Operator = "ends_with"
	default:
		return f, false
	}
	if strings.HasPrefix(k.Operator, "STR_") {
		if k.Inverted || k.CaseInsensitive || len(k.Values) > 1 {
			return f, false
		}
		f.Comparison.MustBeSet = true // or null would have its text
	}
	f.Value = encode(k.Values)
	if len(k.Values) == 1 {
		f.Value = encode(k.Values[0])
	}
	return f, true
}

// isReadable reports whether the dialect can compare with the value of a filter.
func isReadable(f flags.Filter) bool {
	set := flags.RuleSet{ReturnType: "boolean", Aggregation: flags.ByPerson, Rules: []flags.Rule{{
		ID: "00000000-0000-8000-8000-000000000000", Type: "targeted_release", Targeting: []flags.Filter{f}, Value: json.RawMessage("true"),
	}}}
	document, err := (&flags.Filters{Version: 2, RuleSet: &set}).Encode()
	if err == nil {
		_, err = flags.DecodeRuleSet(document, false)
	}
	return err == nil
}

// empty returns a filter that holds for those who do not have a field of the context, or an
// empty one.
func (c *converter) empty(field string) flags.Filter {
	return c.dialectFilter(&constraint{ContextName: field, Operator: "IN", Values: []string{""}})
}

// users returns a filter for those with an ID of a list.
func (c *converter) users(list []string) flags.Filter {
	k := &constraint{ContextName: "userId", Operator: "IN", Values: list}
	if f, ok := c.ownOperator(k); ok {
		return f
	}
	return c.dialectFilter(k)
}

// segment returns the filters of a segment: that somebody is a member of its cohort, or those of
// its constraints.
func (c *converter) segment(id int64, about *report) []flags.Filter {
	if cohort := c.cohorts[id]; cohort != nil {
		about.add(cohort)
		return []flags.Filter{{Type: "cohort", Key: "id", Operator: "in", Value: encode(id)}}
	}
	g := c.segments[id]
	if g.unknown != "" {
		about.problem("Segment %d: %s: it does nothing here.", id, g.unknown)
	}
	return c.constraints(g.Constraints, about)
}

func (c *converter) constraints(list []constraint, about *report) (out []flags.Filter) {
	for i := range list {
		out = append(out, c.constraint(&list[i], about))
	}
	return out
}

// The fields of the context that say nothing of the person.
var passing = []string{"sessionId", "remoteAddress", "environment", "appName", "currentTime"}

// addCohort makes a segment a cohort, if it is about the person alone.
func (c *converter) addCohort(g *segment) {
	if len(g.Constraints) == 0 || slices.ContainsFunc(g.Constraints, func(k constraint) bool { return slices.Contains(passing, k.ContextName) }) {
		return
	}
	about := new(report)
	root := flags.CohortNode{Type: "AND"}
	targeting, some := convert.Targeting(convert.All(c.constraints(g.Constraints, about)...))
	if !some || len(targeting) == 0 {
		return
	}
	for i := range targeting {
		root.Values = append(root.Values, flags.CohortNode{Leaf: &targeting[i]})
	}
	if g.unknown != "" {
		about.problem("Segment %d: %s: it does nothing here.", g.ID, g.unknown)
	}
	c.cohorts[g.ID] = about
	c.project.Cohorts = append(c.project.Cohorts, convert.Cohort{
		ID: g.ID, Name: cmp.Or(g.Name, fmt.Sprintf("Segment %d", g.ID)), Description: g.Description,
		Criteria: &flags.CohortNode{Type: "OR", Values: []flags.CohortNode{root}}, Problems: about.problems,
	})
}

// encode returns a value as JSON.
func encode(v any) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err) // values are texts, numbers and lists of them
	}
	return bytes.TrimSpace(b.Bytes())
}
