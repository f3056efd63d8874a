package rules

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// Types of branching (management.md §9.3).
var branchings = []string{"next_question", "end", "specific_question", "response_based"}

// checkBranching checks where one of n questions leads.
func checkBranching(p place, v json.RawMessage, q *Question, n int) error {
	b, ok := decodeObject(v)
	if !ok {
		return p.invalid("must be an object.")
	}
	switch kind := stringOf(b.get("type")); kind {
	case "specific_question":
		if _, err := integer(0, n-1)(p.in("index"), b.get("index")); err != nil {
			return err
		}
	case "response_based":
		return checkResponseValues(p.in("responseValues"), b.get("responseValues"), q, n)
	default:
		if !slices.Contains(branchings, kind) {
			return p.in("type").invalid("must be one of %s.", strings.Join(branchings, ", "))
		}
	}
	return nil
}

// checkResponseValues checks where each answer leads. An answer that is not
// listed leads to the next question.
func checkResponseValues(p place, v json.RawMessage, q *Question, n int) error {
	keys := answerKeys(q)
	if keys == nil {
		return p.invalid("must not be there: only single_choice and rating questions have branching by response.")
	}
	values, ok := decodeObject(v)
	if !ok {
		return p.invalid("must be an object.")
	}
	for _, m := range values {
		if !slices.Contains(keys, m.name) {
			return p.invalid("must have no other members than %s.", strings.Join(keys, ", "))
		}
		if stringOf(m.value) == "end" {
			continue
		}
		if i, ok := decodeInteger(m.value); !ok || i < 0 || i >= n {
			return p.in(m.name).invalid(`must be "end" or an integer from 0 to %d.`, n-1)
		}
	}
	return nil
}

// answerKeys returns the keys that stand for the answers to a question in its
// branching, or nil if its answers cannot decide where it leads.
func answerKeys(q *Question) []string {
	switch {
	case q.Type == SingleChoice:
		keys := make([]string, len(q.Choices))
		for i := range keys {
			keys[i] = strconv.Itoa(i)
		}
		return keys
	case q.Type == Rating && q.Scale == 10:
		return []string{"detractors", "passives", "promoters"}
	case q.Type == Rating && q.Scale == 2:
		return []string{"negative", "positive"}
	case q.Type == Rating:
		return []string{"negative", "neutral", "positive"}
	}
	return nil
}
