package summary

import (
	"context"
	"fmt"
	"strings"
)

// A headline has up to 20 words: up to 14 about a rating or a choice, of which
// 8 may be the text of the choice, and up to 6 about a theme.
const (
	maxChoiceWords = 8
	maxChoiceRunes = 80
)

// Headline reports the result of the first rating or choice that has answers,
// and the theme that most of the written answers have in common (management.md
// §11.6). It returns the error of ctx, or an error that says what is wrong with
// a Question.
func (Extractive) Headline(ctx context.Context, in HeadlineInput) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	asked := false
	for i := range in.Questions {
		if err := in.Questions[i].check(fmt.Sprintf("Questions[%d]", i)); err != nil {
			return "", err
		}
		asked = asked || in.Questions[i].Type != Link
	}
	if !asked {
		return NoQuestions, nil
	}
	var result, about string // result is about ratings or choices, about is about written answers
	most := 0
	for i := range in.Questions {
		q, answers := &in.Questions[i], in.answers(i)
		most = max(most, len(answers))
		if result == "" {
			result = outcome(q, answers)
		}
		if about == "" {
			about = topic(q, answers)
		}
	}
	switch {
	case most == 0:
		return NoResponses, nil
	case result == "" && about == "":
		return count(most, "answer") + " without a common theme.", nil
	case result == "":
		return count(most, "answer") + "; " + about + ".", nil
	case about == "":
		return result + ".", nil
	}
	return result + "; " + about + ".", nil
}

// answers returns the answers to a question, or none if the question is a link.
func (in *HeadlineInput) answers(question int) [][]string {
	if in.Questions[question].Type == Link {
		return nil
	}
	var answers [][]string
	for _, r := range in.Responses {
		if question < len(r.Answers) {
			answers = append(answers, r.Answers[question])
		}
	}
	return given(answers)
}

// outcome describes the answers to a rating or a choice. It returns "" if there
// are none, and for questions of other types.
func outcome(q *Question, answers [][]string) string {
	switch q.Type {
	case Rating:
		r := rate(q, answers)
		n := len(r.values)
		switch {
		case n == 0:
			return ""
		case q.hasThumbs():
			return percent(r.counts[1], n) + " thumbs up from " + count(n, "answer")
		}
		return fmt.Sprintf("Average %s of %d from %s", r.average(), q.Scale, count(n, "answer"))
	case SingleChoice, MultipleChoice:
		t := choose(q, answers)
		if first := t.choices[0]; first.answers > 0 {
			return fmt.Sprintf("Most chosen: “%s” (%d of %s)", shorten(first.text), first.answers, count(t.answers, "answer"))
		}
	}
	return ""
}

// topic names the most frequent theme of the written answers, or returns "" if
// they have none.
func topic(q *Question, answers [][]string) string {
	var written []string
	switch q.Type {
	case Open:
		for _, values := range answers {
			written = append(written, values[0])
		}
	case SingleChoice, MultipleChoice:
		written = choose(q, answers).written
	}
	t := read(written)
	themes := t.themes()
	if len(themes) == 0 {
		return ""
	}
	first := themes[0]
	asking := 0
	for _, i := range first.found {
		for _, clause := range t.all[i].clauses {
			if t.anyOf(clause.units, requests) {
				asking++
				break
			}
		}
	}
	if 2*asking >= len(first.found) {
		return "most asked-for: " + first.text
	}
	return "most mentioned: " + first.text
}

// shorten returns the first words of the text of a choice.
func shorten(s string) string {
	s = label(s, maxChoiceRunes)
	if words := strings.Fields(s); len(words) > maxChoiceWords {
		return strings.Join(words[:maxChoiceWords], " ") + "…"
	}
	return s
}
