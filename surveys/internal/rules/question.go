package rules

import (
	"encoding/json"

	"github.com/flagstaff-go/flagstaff/surveys/summary"
)

// A Question has the parts of a question that statistics need.
type Question = summary.Question

// Parse reads stored questions. An invalid part of a question stays zero; Index
// is always the position in the document.
func Parse(questions json.RawMessage) []Question {
	list, _ := decodeList(questions)
	parsed := make([]Question, len(list))
	for i, v := range list {
		o, _ := decodeObject(v)
		parsed[i] = *parseQuestion(o)
		parsed[i].Index = i
	}
	return parsed
}

func parseQuestion(o object) *Question {
	q := &Question{
		ID:   stringOf(o.get("id")),
		Type: stringOf(o.get("type")),
		Text: stringOf(o.get("question")),
	}
	switch q.Type {
	case Rating:
		q.Scale, _ = decodeInteger(o.get("scale"))
		q.NPS = q.Scale == 10 && string(o.get("isNpsQuestion")) != "false"
	case SingleChoice, MultipleChoice:
		choices, _ := decodeList(o.get("choices"))
		for _, c := range choices {
			q.Choices = append(q.Choices, stringOf(c))
		}
		q.OpenChoice = isTrue(o.get("hasOpenChoice"))
	}
	return q
}
