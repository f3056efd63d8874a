package summary

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// A tally counts how often each choice of a question was chosen.
type tally struct {
	answers int
	choices []choice // the most chosen one first; equal ones by text
	written []string // the respondents' own words, one text per answer

	// strange counts the answers with a value that is none of the choices
	// although the question allows no other. An earlier version of the question
	// may have had more choices.
	strange int
}

type choice struct {
	text    string
	answers int
}

func choose(q *Question, answers [][]string) *tally {
	t := &tally{answers: len(answers)}
	place := make(map[string]int) // the index in t.choices
	for _, text := range q.Choices {
		text = strings.TrimSpace(text)
		if _, ok := place[text]; !ok {
			place[text] = len(t.choices)
			t.choices = append(t.choices, choice{text: text})
		}
	}
	open := place[strings.TrimSpace(q.Choices[len(q.Choices)-1])]
	if q.Type == SingleChoice {
		answers = firsts(answers)
	}
	chosen := make([]bool, len(t.choices))
	for _, values := range answers {
		clear(chosen)
		var written []string
		for _, value := range values {
			value = strings.TrimSpace(value)
			i, ok := place[value]
			switch {
			case ok:
				chosen[i] = true
			case q.OpenChoice:
				chosen[open] = true
				fallthrough
			default:
				written = append(written, value)
			}
		}
		for i, is := range chosen {
			if is {
				t.choices[i].answers++
			}
		}
		switch {
		case written == nil:
		case q.OpenChoice:
			t.written = append(t.written, strings.Join(written, ", "))
		default:
			t.strange++
		}
	}
	slices.SortStableFunc(t.choices, func(a, b choice) int {
		return cmp.Or(cmp.Compare(b.answers, a.answers), cmp.Compare(a.text, b.text))
	})
	return t
}

// firsts keeps only the first value of each answer.
func firsts(answers [][]string) [][]string {
	one := make([][]string, len(answers))
	for i, values := range answers {
		one[i] = values[:1]
	}
	return one
}

// label returns the beginning of a choice as one line that is never empty.
func label(text string, most int) string { return cmp.Or(line(text, most), "(blank)") }

// addChoices adds the counts of the choices (management.md §11.5, item 2).
func (p *page) addChoices(t *tally) {
	items := make([]string, len(t.choices))
	for i, c := range t.choices {
		items[i] = "**" + escape(label(c.text, maxLabel)) + "**: " + share(c.answers, t.answers)
	}
	p.overview = append(p.overview, count(t.answers, "answer")+".", bulletList(items))
	if t.strange > 0 {
		p.overview = append(p.overview, fmt.Sprintf("Not shown: %s with a value that is none of the choices.", count(t.strange, "answer")))
	}
	if len(t.written) == 0 {
		p.themes = append(p.themes, "None: nobody has answered in their own words.")
		p.quotes = append(p.quotes, "None.")
		return
	}
	p.addTexts("In their own words: ", read(t.written))
}
