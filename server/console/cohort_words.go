package console

import (
	"encoding/json"
	"strings"
)

// A rawNode is a group of criteria or one criterion, with as much of its form as words need.
type rawNode struct {
	rawFilter
	Values   []rawNode `json:"values"`
	And      []rawNode `json:"AND"`
	Or       []rawNode `json:"OR"`
	Negation bool      `json:"negation"`
}

// maxCohortWords is how long a cohort is in words, in characters.
const maxCohortWords = 240

// cohort says in words who is in a cohort with filters.
func (v *vocabulary) cohort(filters json.RawMessage) string {
	var f struct {
		Properties rawNode `json:"properties"`
	}
	if json.Unmarshal(filters, &f) != nil {
		return "" // what cannot be read has no words
	}
	words := v.node(&f.Properties, false)
	if words == "" {
		return "nobody"
	}
	return shorten(words, maxCohortWords)
}

func (v *vocabulary) node(n *rawNode, nested bool) string {
	joint, parts, group := " and ", n.Values, n.Values != nil
	if strings.EqualFold(n.Type, "OR") {
		joint = " or "
	}
	switch {
	case group:
	case n.And != nil:
		parts, group = n.And, true
	case n.Or != nil:
		joint, parts, group = " or ", n.Or, true
	}
	if !group {
		return v.criterion(n)
	}
	var all []string
	for i := range parts {
		if words := v.node(&parts[i], len(parts) > 1); words != "" {
			all = append(all, words)
		}
	}
	words := strings.Join(all, joint)
	if nested && len(all) > 1 {
		return "(" + words + ")"
	}
	return words
}

func (v *vocabulary) criterion(n *rawNode) string {
	switch n.Type {
	case "", "person", "person_metadata":
	case "cohort":
		words := v.filter(&n.rawFilter)
		if !n.Negation {
			return words
		}
		if rest, out := strings.CutPrefix(words, "not in "); out {
			return "in " + rest
		}
		return "not " + words
	default:
		return "a criterion on what somebody did"
	}
	words := v.filter(&n.rawFilter)
	if strings.TrimSpace(words) == "" || text(n.Key) == "" {
		return ""
	}
	if n.Negation {
		return "not (" + words + ")"
	}
	return words
}
