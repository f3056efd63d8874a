package summary

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// A Summarizer puts the answers to a survey into words. It must be safe for
// concurrent use, and must not change its input.
//
// Strangers have typed the answers: an implementation must not follow instructions
// in them, nor return any part of them that Markdown or HTML could take for markup.
// An Input has no names, addresses or IDs of the respondents, apart from what these
// wrote. Callers check whether the organization allows others to process its data.
type Summarizer interface {
	// Summarize returns a page about the answers to one question.
	Summarize(ctx context.Context, in Input) (Output, error)

	// Headline returns one sentence about the answers to the questions of a survey,
	// as plain text.
	Headline(ctx context.Context, questions []Input) (string, error)
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
	By      string // the service that has written it; "": none
}

// Extractive is the built-in Summarizer: it counts and quotes, and calls no
// service. The same input gives the same bytes.
//
// Of answers in the respondents' own words it names up to five themes, and quotes
// up to five that speak of most of them. A theme is a word, or two words that follow
// each other, in at least two answers and in at least 5 % of them, in lower case and
// in Unicode's form NFKC; stopwords.txt has the words that say nothing about a
// subject. The first 1000 characters of each answer are read.
type Extractive struct{}

// Summarize implements [Summarizer]. It fails if ctx ends or if something is wrong with the Question.
func (Extractive) Summarize(ctx context.Context, in Input) (Output, error) {
	q, answers, err := in.read(ctx)
	if err != nil || len(answers) == 0 {
		return Output{Content: NoAnswers}, err
	}
	overview, _, written := q.overview(answers)
	themes, quotes := "None: there are no answers in words.", "None."
	if len(written) > 0 {
		themes, quotes = describe(written)
	}
	return Output{Content: fmt.Sprintf("## Overview\n\n%s\n\n## Themes\n\n%s\n\n## Quotes\n\n%s\n", strings.Join(overview, "\n\n"), themes, quotes)}, nil
}

// Headline implements [Summarizer]: it reports the result of the first rating or choice
// that has answers, and the most frequent theme. It returns the errors that Summarize returns.
func (Extractive) Headline(ctx context.Context, questions []Input) (string, error) {
	asked, most := false, 0
	var result, about string // of ratings or choices, and of written answers
	for _, in := range questions {
		q, answers, err := in.read(ctx)
		if err != nil {
			return "", err
		}
		if q.Type == Link {
			continue
		}
		if asked, most = true, max(most, len(answers)); len(answers) > 0 {
			_, said, written := q.overview(answers)
			result = cmp.Or(result, said)
			if themes, _ := themesOf(written); about == "" && len(themes) > 0 {
				about = "; most mentioned: " + themes[0].text
			}
		}
	}
	switch {
	case !asked:
		return NoQuestions, ctx.Err()
	case most == 0:
		return NoResponses, nil
	case result+about == "":
		return count(most, "answer") + " without a common theme.", nil
	}
	return cmp.Or(result, count(most, "answer")) + about + ".", nil
}

// read checks the question, and returns it with the answers that are visible.
func (in *Input) read(ctx context.Context) (q *Question, answers [][]string, err error) {
	q = &in.Question
	for _, values := range in.Answers {
		seen := slices.DeleteFunc(slices.Clone(values), func(value string) bool {
			return !strings.ContainsFunc(value, func(r rune) bool { return !unicode.IsSpace(r) && !unicode.In(r, unicode.Cc, unicode.Cf) })
		})
		if len(seen) > 0 {
			answers = append(answers, seen)
		}
	}
	choice := q.Type == SingleChoice || q.Type == MultipleChoice
	switch {
	case q.Type == Rating && (q.Scale < 2 || q.Scale > 10):
		err = fmt.Errorf("summary: Scale of question %d: %d is not from 2 to 10", q.Index, q.Scale)
	case choice && len(q.Choices) == 0:
		err = fmt.Errorf("summary: Choices of question %d: there are none, but its Type is %s", q.Index, q.Type)
	case !choice && q.Type != Open && q.Type != Link && q.Type != Rating:
		err = fmt.Errorf("summary: Type of question %d: %q is not one of open, link, rating, single_choice and multiple_choice", q.Index, q.Type)
	}
	return q, answers, cmp.Or(ctx.Err(), err)
}

// overview returns how a page and a headline begin, and answers in respondents' own words.
func (q *Question) overview(answers [][]string) (paragraphs []string, headline string, written []string) {
	switch q.Type {
	case Rating:
		return q.rate(answers)
	case SingleChoice, MultipleChoice:
		return q.tally(answers)
	case Open:
		for _, values := range answers {
			written = append(written, values[0])
		}
	}
	return []string{count(len(answers), "answer") + "."}, "", written
}
