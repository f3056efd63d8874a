package summary

import (
	"context"
	"fmt"
	"slices"
	"strconv"
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
	q := &in.Question
	if err := q.check("Question"); err != nil {
		return Output{}, err
	}
	answers := given(in.Answers)
	if len(answers) == 0 {
		return Output{Content: NoAnswers}, nil
	}
	var p page
	switch q.Type {
	case Rating:
		p.addRatings(rate(q, answers))
	case SingleChoice, MultipleChoice:
		p.addChoices(choose(q, answers))
	case Link:
		p.overview = append(p.overview, count(len(answers), "answer")+".")
		p.themes = append(p.themes, "None: links are followed without words.")
		p.quotes = append(p.quotes, "None.")
	default:
		texts := make([]string, len(answers))
		for i, values := range answers {
			texts[i] = values[0]
		}
		p.addTexts("", read(texts))
	}
	return Output{Content: p.String()}, nil
}

// check returns an error that names the invalid field, prefixed with name.
func (q *Question) check(name string) error {
	switch q.Type {
	case Open, Link:
		return nil
	case Rating:
		if q.Scale < 2 || q.Scale > 10 {
			return fmt.Errorf("summary: %s.Scale: %d is not from 2 to 10", name, q.Scale)
		}
		return nil
	case SingleChoice, MultipleChoice:
		if len(q.Choices) == 0 {
			return fmt.Errorf("summary: %s.Choices: there are none, but its Type is %s", name, q.Type)
		}
		return nil
	}
	return fmt.Errorf("summary: %s.Type: %q is not one of %s, %s, %s, %s and %s",
		name, q.Type, Open, Link, Rating, SingleChoice, MultipleChoice)
}

// given returns the visible values of the answers, without the answers that
// have none.
func given(answers [][]string) [][]string {
	kept := make([][]string, 0, len(answers))
	for _, values := range answers {
		var seen []string
		for _, value := range values {
			if !isBlank(value) {
				seen = append(seen, value)
			}
		}
		if seen != nil {
			kept = append(kept, seen)
		}
	}
	return kept
}

// isBlank reports whether a value has no visible character.
func isBlank(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool {
		return !unicode.IsSpace(r) && !unicode.In(r, unicode.Cc, unicode.Cf)
	})
}

// A page is the result of Summarize: paragraphs and lists below fixed headings.
type page struct{ overview, themes, quotes []string }

func (p *page) String() string {
	var b strings.Builder
	for i, section := range []struct {
		heading string
		blocks  []string
	}{{"Overview", p.overview}, {"Themes", p.themes}, {"Quotes", p.quotes}} {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString("## " + section.heading + "\n")
		for _, block := range section.blocks {
			b.WriteString("\n" + block + "\n")
		}
	}
	return b.String()
}

// bulletList returns a block with one item per line.
func bulletList(items []string) string { return "- " + strings.Join(items, "\n- ") }

// count returns a number with its noun, in the singular for 1.
func count(n int, noun string) string { return plural(strconv.Itoa(n), noun) }

func plural(number, noun string) string {
	if number == "1" {
		return "1 " + noun
	}
	return number + " " + noun + "s"
}

// share returns a number with its percentage of all.
func share(n, all int) string { return strconv.Itoa(n) + " (" + percent(n, all) + ")" }

func percent(n, all int) string { return tenths(100*n, all) + "%" }

// tenths returns a/b with one decimal, rounded half up. Neither number may be
// negative.
func tenths(a, b int) string {
	t := (20*a + b) / (2 * b)
	return strconv.Itoa(t/10) + "." + strconv.Itoa(t%10)
}

// median sorts values and returns the middle one, or the mean of the middle
// two.
func median(values []int) string {
	slices.Sort(values)
	n := len(values)
	sum := values[(n-1)/2] + values[n/2]
	if sum%2 == 1 {
		return strconv.Itoa(sum/2) + ".5"
	}
	return strconv.Itoa(sum / 2)
}
