package words

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/operators"
)

// fieldNames are the words for fields of a flag and members of its filters whose names do
// not say it.
var fieldNames = map[string]string{
	"active": "state", "bucketing_identifier": "bucket by",
	"properties": "filters", "groups": "condition sets", "multivariate": "variants", "exclusion_percentage": "holdout percentage",
	"aggregation_group_type_index": "group type", "group_type_index": "group type",
	"feature_enrollment": "early access", "reverted_to": "back to version",
	"rule_type": "what it does", "on_rollout_miss": "the others", "return_type": "type of the value", "seed": "draw",
}

// Field returns the word for a field of a flag or a member of its filters: one of its own, or
// the name without what it begins with.
func Field(name string) string {
	if word := fieldNames[name]; word != "" {
		return word
	}
	for _, prefix := range []string{"evaluation_", "ensure_", "is_", "has_"} {
		if rest, ok := strings.CutPrefix(name, prefix); ok {
			name = rest
			break
		}
	}
	return strings.ReplaceAll(name, "_", " ")
}

// parts are the lists of filters, by what one of their elements is called. Values are those of a
// cohort's tree.
var parts = map[string]string{"groups": "condition set", "properties": "filter", "variants": "variant", "values": "criterion", "rules": "rule"}

// Place says where in a flag something is, such as "condition set 2, filter 1, value" for
// filters/groups/1/properties/0/value.
func Place(path string) string {
	steps := strings.Split(strings.TrimPrefix(strings.TrimPrefix(path, "/"), "filters/"), "/")
	var out []string
	if slices.Equal(steps, orderOfRules) {
		return "order of the rules"
	}
	for i := 0; i < len(steps); i++ {
		step, next := steps[i], ""
		if i+1 < len(steps) {
			next = steps[i+1]
		}
		n, err := strconv.Atoi(next)
		switch {
		case err == nil && i > 0 && steps[i-1] == "split": // whose values are not criteria
			out = append(out, strings.TrimSuffix(Field(step), "s")+" "+strconv.Itoa(n+1))
			i++
		case err == nil && parts[step] != "":
			out = append(out, parts[step]+" "+strconv.Itoa(n+1))
			i++
		case step == "multivariate" && next == "variants", step == "properties" && next == "values",
			step == "targeting" && next == "properties":
		case step == "payloads" && next != "":
			out = append(out, "payload of "+next)
			i++
		case step == "rollout_percentage" && slices.Contains(steps, "variants"):
			out = append(out, "weight")
		default:
			out = append(out, Field(step))
		}
	}
	return strings.Join(out, ", ")
}

// orderOfRules is the place of a change of the order alone: the places that the rules had.
var orderOfRules = []string{"rules", "order"}

// Value says the JSON value at a place of a flag, "" for nothing. JSON that was cut is
// returned as it is.
func (n *Names) Value(path, value string) string {
	raw := json.RawMessage(value)
	if value == "" || !json.Valid(raw) {
		return value
	}
	steps := strings.Split(path, "/")
	last, list := steps[len(steps)-1], ""
	if _, err := strconv.Atoi(last); err == nil && len(steps) > 1 {
		list = steps[len(steps)-2]
	}
	switch {
	case path == "filters/rules/order":
		var places []int
		_ = json.Unmarshal(raw, &places)
		all := make([]string, len(places))
		for i, n := range places {
			all[i] = strconv.Itoa(n + 1)
		}
		return strings.Join(all, ", ")
	case last == "split":
		if r := readRule(fmt.Appendf(nil, `{"rule_type":"split","split":%s}`, value)); r != nil {
			return splitShares(r.Split)
		}
	case path == "active" && value == "true":
		return "on"
	case path == "active":
		return "off"
	case last == "rollout_percentage", last == "exclusion_percentage", last == "weight":
		return value + "%"
	case last == "default_value", last == "value" && !slices.Contains(steps, "properties"):
		return RuleValue(raw)
	case ruleWords[last] != nil && OfRule(last, Text(raw)) != "":
		return OfRule(last, Text(raw))
	case last == "operator":
		if o, ok := operators.Named(Text(raw)); ok {
			return o.Words
		}
	case parts[list] != "":
		if text := n.part(list, raw); text != "" {
			return text
		}
	case parts[last] != "":
		var elements []json.RawMessage
		_ = json.Unmarshal(raw, &elements)
		all := make([]string, len(elements))
		for i := range elements {
			all[i] = n.part(last, elements[i])
		}
		if len(all) > 0 && !slices.Contains(all, "") {
			return strings.Join(all, joints[last])
		}
	}
	switch {
	case value == "true":
		return "yes"
	case value == "false":
		return "no"
	case value[0] == '[':
		var texts []string
		if json.Unmarshal(raw, &texts) == nil {
			return strings.Join(texts, ", ")
		}
	}
	return Text(raw)
}

// joints are what stands between the elements of the lists of filters.
var joints = map[string]string{"groups": "; ", "properties": " and ", "variants": ", ", "rules": "; "}

// part says an element of a list of filters, "" if there are no words for it.
func (n *Names) part(list string, raw json.RawMessage) string {
	if raw = json.RawMessage(strings.TrimSpace(string(raw))); len(raw) == 0 || raw[0] != '{' {
		return ""
	}
	switch list {
	case "groups":
		var c flags.Condition
		if json.Unmarshal(raw, &c) == nil {
			return n.Condition(&c, flags.ByPerson)
		}
	case "properties":
		rule := readRule(fmt.Appendf(nil, `{"rule_type":"targeted_release","value":true,"targeting":{"properties":[%s]}}`, raw))
		if rule != nil {
			return n.ruleFilter(&rule.Targeting[0])
		}
		var f flags.Filter
		if json.Unmarshal(raw, &f) == nil {
			return n.Filter(&f)
		}
	case "variants":
		var ofRule struct {
			Weight *float64
			Value  json.RawMessage
		}
		if json.Unmarshal(raw, &ofRule) == nil && ofRule.Weight != nil {
			return Percent(*ofRule.Weight) + " " + RuleValue(ofRule.Value)
		}
		var v flags.Variant
		if json.Unmarshal(raw, &v) == nil {
			return variant(&v)
		}
	case "rules":
		if r := readRule(raw); r != nil {
			return n.Rule(r, &flags.RuleSet{})
		}
	}
	return ""
}
