package summary_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/flagstaff-go/flagstaff/surveys/summary"
)

func headline(tb testing.TB, in []summary.Input) string {
	tb.Helper()
	got, err := summary.Extractive{}.Headline(tb.Context(), in)
	if err != nil {
		tb.Fatalf("Headline = %v", err)
	}
	return got
}

// asked gives each question its answers.
func asked(questions []summary.Question, answers ...[][]string) []summary.Input {
	inputs := make([]summary.Input, len(questions))
	for i, q := range questions {
		inputs[i].Question = q
		if i < len(answers) {
			inputs[i].Answers = answers[i]
		}
	}
	return inputs
}

// TestHeadline follows management.md §11.6.
func TestHeadline(t *testing.T) {
	docs := eachAlone("Better docs, please", "better docs!", "I need better docs", "dark mode")
	plan := summary.Question{Type: summary.SingleChoice, Choices: []string{"Free", strings.Repeat("word ", 12), "Other"}, OpenChoice: true}
	for _, tt := range []struct {
		name      string
		questions []summary.Question
		answers   [][][]string // to each question
		want      string
	}{
		{"no questions", nil, [][][]string{eachAlone("x")}, "No questions in survey"},
		{"nothing but links", []summary.Question{link, link}, [][][]string{eachAlone("x")}, "No questions in survey"},
		{"no responses", []summary.Question{open}, nil, "No responses yet"},
		{"empty responses", []summary.Question{open, nps, plan}, [][][]string{{nil, nil}, {nil, {" "}}, {nil, {" "}}}, "No responses yet"},
		{"links do not count", []summary.Question{link, open}, [][][]string{eachAlone("link clicked")}, "No responses yet"},
		{"rating", []summary.Question{faces}, [][][]string{eachAlone("5", "4")}, "Average 4.5 of 5 from 2 answers."},
		{"rating and theme", []summary.Question{nps, open}, [][][]string{eachAlone("8", "9", "8", "9"), docs}, "Average 8.5 of 10 from 4 answers; most mentioned: docs."},
		{"theme that nobody asks for", []summary.Question{nps, open}, [][][]string{eachAlone("8"), eachAlone("fast search", "Fast search")}, "Average 8.0 of 10 from 1 answer; most mentioned: fast search."},
		{"thumbs", []summary.Question{thumb}, [][][]string{eachAlone("1", "1", "2")}, "66.7% thumbs up from 3 answers."},
		{"the first that was answered", []summary.Question{link, open, nps, parts, faces}, [][][]string{nil, nil, eachAlone("x"), {{"Flags", "Events"}, {"Flags"}}, eachAlone("1")}, "Most chosen: “Flags” (2 of 2 answers)."},
		{"choices nobody chose", []summary.Question{parts, faces}, [][][]string{eachAlone("x"), eachAlone("5")}, "Average 5.0 of 5 from 1 answer."},
		{"an open choice", []summary.Question{plan}, [][][]string{eachAlone("Team plan", "a team plan", "Free")}, "Most chosen: “Other” (2 of 3 answers); most mentioned: team plan."},
		{"a long choice", []summary.Question{plan}, [][][]string{times(3, plan.Choices[1])}, "Most chosen: “word word word word word word word word…” (3 of 3 answers)."},
		{"only a theme", []summary.Question{open}, [][][]string{docs}, "4 answers; most mentioned: docs."},
		{"nothing in common", []summary.Question{open}, [][][]string{eachAlone("search", "export")}, "2 answers without a common theme."},
		{"plain text", []summary.Question{{Type: summary.SingleChoice, Choices: []string{"<b>\n*A* & B\u202e"}}}, [][][]string{eachAlone("<b>\n*A* & B\u202e")}, "Most chosen: “<b> *A* & B” (1 of 1 answer)."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := headline(t, asked(tt.questions, tt.answers...)); got != tt.want {
				t.Errorf("Headline = %q, want %q", got, tt.want)
			}
		})
	}
}

// The longest possible headline has 18 of the 20 words that are allowed (management.md §11.6).
func TestHeadlineLength(t *testing.T) {
	q := summary.Question{Type: summary.SingleChoice, Choices: []string{strings.Repeat("x ", 20), "Other"}, OpenChoice: true}
	got := headline(t, []summary.Input{{Question: q, Answers: slices.Concat(times(3, q.Choices[0]), times(2, "ease case"))}})
	if want := "Most chosen: “x x x x x x x x…” (3 of 5 answers); most mentioned: ease case."; got != want {
		t.Errorf("Headline = %q, want %q", got, want)
	}
	if n := len(strings.Fields(got)); n != 18 {
		t.Errorf("%q has %d words, want 18", got, n)
	}
}
