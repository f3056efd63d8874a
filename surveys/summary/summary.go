package summary

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"unicode"
)

// A Summarizer puts the answers to a survey into words (management.md §11.5 and
// §11.6). It must be safe for concurrent use, and must not change its input.
//
// Strangers have typed the answers. An implementation that hands them to a
// service that writes text must treat them as data: if they contain
// instructions, those must not be followed, and the answers must have no effect
// other than on the returned text. The implementation must not return any part
// of them that Markdown or HTML could take for markup.
//
// Callers leave out data that identifies people: an Input has no names,
// addresses or IDs of the respondents, apart from what these wrote themselves.
// Callers also check whether the organization allows others to process its
// data.
type Summarizer interface {
	// Summarize returns a page about the answers to one question.
	Summarize(ctx context.Context, in Input) (Output, error)

	// Headline returns one sentence about a survey, as plain text.
	Headline(ctx context.Context, in HeadlineInput) (string, error)
}

// Texts for surveys and questions that have nothing to summarize.
const (
	NoAnswers   = "No responses to analyze."
	NoQuestions = "No questions in survey"
	NoResponses = "No responses yet"
)

// Types of questions (management.md §9.3).
const (
	Open           = "open"
	Link           = "link"
	Rating         = "rating"
	SingleChoice   = "single_choice"
	MultipleChoice = "multiple_choice"
)

// A Question is one question of a survey.
type Question struct {
	ID    string
	Index int // position in the survey, from 0
	Type  string
	Text  string

	// Choices are the texts of a single or multiple choice. If OpenChoice is
	// set, the last one stands for any text that respondents write themselves.
	Choices    []string
	OpenChoice bool

	// Scale is the highest value of a rating, from 2 to 10. The lowest value is
	// 1, or 0 if Scale is 10. If Scale is 2, the values mean thumbs up and
	// thumbs down. NPS says that a Scale of 10 asks for the Net Promoter Score.
	Scale int
	NPS   bool
}

// An Input has the answers to one question.
type Input struct {
	Survey   string // name of the survey
	Question Question

	// Answers has one list of values per response, the newest response first.
	// Only multiple choices have lists of more than one value. Lists without a
	// visible value are ignored.
	Answers [][]string
}

// An Output is the summary of the answers to one question.
type Output struct {
	Content string // Markdown
}

// A HeadlineInput is a survey with its responses, the newest response first.
type HeadlineInput struct {
	Survey    string // name of the survey
	Questions []Question
	Responses []Response
}

// A Response has the answers of one respondent.
type Response struct {
	// Answers are in the order of HeadlineInput.Questions, each in the form of
	// Input.Answers. An empty or missing list means that there is no answer.
	Answers [][]string
}

// Extractive is the built-in Summarizer: it counts and quotes, and calls no
// service. The same input gives the same bytes. It is safe for concurrent use.
type Extractive struct{}

var _ Summarizer = Extractive{}

// Summarize returns a page about the answers to one question (management.md
// §11.5). It returns the error of ctx, or an error that says what is wrong with
// the Question.
func (Extractive) Summarize(ctx context.Context, in Input) (Output, error) {
	if err := ctx.Err(); err != nil {
		return Output{}, err
	}
	q, answers := &in.Question, visible(in.Answers)
	if err := q.check("Question"); err != nil {
		return Output{}, err
	}
	if len(answers) == 0 {
		return Output{Content: NoAnswers}, nil
	}
	overview, _, written := q.read(answers)
	themes, quotes := "None: there are no answers in words.", "None."
	if len(written) > 0 {
		var length string
		length, themes, quotes = describe(written)
		if q.Type != Open {
			length = "In their own words: " + length
		}
		overview = append(overview, length)
	}
	return Output{Content: fmt.Sprintf("## Overview\n\n%s\n\n## Themes\n\n%s\n\n## Quotes\n\n%s\n", strings.Join(overview, "\n\n"), themes, quotes)}, nil
}

// read returns the paragraphs that a page begins with, the beginning of a
// headline, and the answers that are in the respondents' own words.
func (q *Question) read(answers [][]string) (overview []string, headline string, written []string) {
	switch q.Type {
	case Rating:
		overview, headline = q.rate(firsts(answers))
	case SingleChoice, MultipleChoice:
		return q.tally(answers)
	case Link:
		overview = []string{count(len(answers), "answer") + "."}
	default:
		written = firsts(answers)
	}
	return overview, headline, written
}

// Headline reports the result of the first rating or choice that has answers,
// and the theme that most of the written answers have in common (management.md
// §11.6). It returns the error of ctx, or an error that says what is wrong with
// a Question.
func (Extractive) Headline(ctx context.Context, in HeadlineInput) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	asked, most := false, 0
	var result, about string // of ratings or choices, and of written answers
	for i := range in.Questions {
		q := &in.Questions[i]
		if err := q.check(fmt.Sprintf("Questions[%d]", i)); err != nil {
			return "", err
		}
		if q.Type == Link {
			continue
		}
		asked = true
		var answers [][]string
		for _, r := range in.Responses {
			if i < len(r.Answers) {
				answers = append(answers, r.Answers[i])
			}
		}
		if answers = visible(answers); len(answers) == 0 {
			continue
		}
		most = max(most, len(answers))
		_, said, written := q.read(answers)
		result = cmp.Or(result, said)
		if themes := themesOf(written); about == "" && len(themes) > 0 {
			about = "most mentioned: " + themes[0].text
		}
	}
	switch {
	case !asked:
		return NoQuestions, nil
	case most == 0:
		return NoResponses, nil
	case result == "" && about == "":
		return count(most, "answer") + " without a common theme.", nil
	case result == "":
		result = count(most, "answer")
	}
	return strings.TrimSuffix(result+"; "+about, "; ") + ".", nil
}

// check returns an error that names the invalid field, prefixed with name.
func (q *Question) check(name string) error {
	switch q.Type {
	case Open, Link:
	case Rating:
		if q.Scale < 2 || q.Scale > 10 {
			return fmt.Errorf("summary: %s.Scale: %d is not from 2 to 10", name, q.Scale)
		}
	case SingleChoice, MultipleChoice:
		if len(q.Choices) == 0 {
			return fmt.Errorf("summary: %s.Choices: there are none, but its Type is %s", name, q.Type)
		}
	default:
		return fmt.Errorf("summary: %s.Type: %q is not one of %s, %s, %s, %s and %s",
			name, q.Type, Open, Link, Rating, SingleChoice, MultipleChoice)
	}
	return nil
}

// visible returns the values of the answers that have a visible character,
// without the answers that have none.
func visible(answers [][]string) (kept [][]string) {
	for _, values := range answers {
		var seen []string
		for _, value := range values {
			if strings.ContainsFunc(value, func(r rune) bool { return !unicode.IsSpace(r) && !unicode.In(r, unicode.Cc, unicode.Cf) }) {
				seen = append(seen, value)
			}
		}
		if seen != nil {
			kept = append(kept, seen)
		}
	}
	return kept
}

// firsts returns the first value of each answer.
func firsts(answers [][]string) []string {
	list := make([]string, len(answers))
	for i, values := range answers {
		list[i] = values[0]
	}
	return list
}
