package summary

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// A Summarizer puts answers into words (management.md §11.5 and §11.6). It must be
// safe for concurrent use, and must not change what it is given.
//
// Answers are what strangers have typed. An implementation that hands them to
// something that writes treats them as data: they may contain instructions, which
// must not be followed, nor have any consequence but the text that is returned. It
// returns nothing of them that Markdown or HTML could take for markup.
//
// Callers leave out what identifies people: an Input has no names, addresses or
// IDs of those who have answered, apart from what they wrote themselves. They also
// ask whether the organization lets its data be processed by others.
type Summarizer interface {
	// Summarize returns a page about the answers to one question.
	Summarize(ctx context.Context, in Input) (Output, error)

	// Headline returns one sentence about a survey, as plain text.
	Headline(ctx context.Context, in HeadlineInput) (string, error)
}

// What is said where there is nothing to say.
const (
	NoAnswers   = "No responses to analyze."
	NoQuestions = "No questions in survey"
	NoResponses = "No responses yet"
)

// The types of questions (management.md §9.3).
const (
	Open           = "open"
	Link           = "link"
	Rating         = "rating"
	SingleChoice   = "single_choice"
	MultipleChoice = "multiple_choice"
)

// A Question is one of a survey.
type Question struct {
	ID    string
	Index int // in the survey, from 0
	Type  string
	Text  string

	// Choices are those of a single or multiple choice. If OpenChoice is set,
	// the last one stands for what people write themselves.
	Choices    []string
	OpenChoice bool

	// Scale is the highest value of a rating, from 2 to 10. The lowest is 1, or
	// 0 if Scale is 10; of Scale 2 they mean thumbs up and thumbs down. NPS
	// says that a Scale of 10 asks for the Net Promoter Score.
	Scale int
	NPS   bool
}

// An Input is what one question was answered.
type Input struct {
	Survey   string // its name
	Question Question

	// Answers has one list per response, the newest first. Only multiple
	// choices have more than one value in it. Those without a value that can be
	// seen do not count.
	Answers [][]string
}

// An Output is what there is to say about one question.
type Output struct {
	Content string // Markdown
}

// A HeadlineInput is a survey with its responses, the newest first.
type HeadlineInput struct {
	Survey    string // its name
	Questions []Question
	Responses []Response
}

// A Response is what one person has answered.
type Response struct {
	// Answers are in the order of HeadlineInput.Questions, each as in
	// Input.Answers. Empty or missing ones mean that there is none.
	Answers [][]string
}

// Extractive is the Summarizer that needs nobody else: it counts and quotes. The
// same input gives the same bytes. It is safe for concurrent use.
type Extractive struct{}

var _ Summarizer = Extractive{}

// Summarize returns a page about the answers to one question (management.md
// §11.5). The error is that of ctx, or says what is wrong with the Question.
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

// check names the field that is wrong below name.
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

// given returns the values that can be seen of the answers that have any.
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

// isBlank reports whether nothing of a value can be seen.
func isBlank(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool {
		return !unicode.IsSpace(r) && !unicode.In(r, unicode.Cc, unicode.Cf)
	})
}

// A page is what Summarize returns: paragraphs and lists below fixed headings.
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

// list returns a block with one item per line.
func list(items []string) string { return "- " + strings.Join(items, "\n- ") }

// count says how many there are of something.
func count(n int, noun string) string { return plural(strconv.Itoa(n), noun) }

func plural(number, noun string) string {
	if number == "1" {
		return "1 " + noun
	}
	return number + " " + noun + "s"
}

// share says how many there are, and how much of all that is.
func share(n, all int) string { return strconv.Itoa(n) + " (" + percent(n, all) + ")" }

func percent(n, all int) string { return tenths(100*n, all) + "%" }

// tenths divides with one decimal, half of which counts as one. Numbers are not
// negative.
func tenths(a, b int) string {
	t := (20*a + b) / (2 * b)
	return strconv.Itoa(t/10) + "." + strconv.Itoa(t%10)
}

// median sorts values and returns the one in the middle, or what is halfway
// between two.
func median(values []int) string {
	slices.Sort(values)
	n := len(values)
	sum := values[(n-1)/2] + values[n/2]
	if sum%2 == 1 {
		return strconv.Itoa(sum/2) + ".5"
	}
	return strconv.Itoa(sum / 2)
}
