package summary_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/surveys/summary"
)

var update = flag.Bool("update", false, "rewrite testdata/golden")

var (
	open  = summary.Question{ID: "q1", Type: summary.Open, Text: "What should we improve?"}
	nps   = summary.Question{ID: "q2", Type: summary.Rating, Text: "Would you recommend us?", Scale: 10, NPS: true}
	faces = summary.Question{ID: "q3", Type: summary.Rating, Text: "How was it?", Scale: 5}
	thumb = summary.Question{ID: "q4", Type: summary.Rating, Text: "Was this useful?", Scale: 2}
	role  = summary.Question{
		ID: "q5", Type: summary.SingleChoice, Text: "What do you do?",
		Choices: []string{"Engineering", "Product & design", "Something else"}, OpenChoice: true,
	}
	parts = summary.Question{
		ID: "q6", Type: summary.MultipleChoice, Text: "What do you use?", Choices: []string{"Flags", "Surveys", "Events"},
	}
	link = summary.Question{ID: "q7", Type: summary.Link, Text: "Read more"}
)

// eachAlone makes one answer of each value.
func eachAlone(values ...string) [][]string {
	answers := make([][]string, len(values))
	for i, v := range values {
		answers[i] = []string{v}
	}
	return answers
}

// times makes n equal answers.
func times(n int, values ...string) [][]string { return slices.Repeat([][]string{values}, n) }

func summarize(tb testing.TB, q summary.Question, answers [][]string) string {
	tb.Helper()
	out, err := summary.Extractive{}.Summarize(tb.Context(), summary.Input{Survey: "Test", Question: q, Answers: answers})
	if err != nil {
		tb.Fatalf("Summarize = %v", err)
	}
	return out.Content
}

// section returns the part of a page below a heading.
func section(tb testing.TB, content, heading string) string {
	tb.Helper()
	_, rest, ok := strings.Cut("\n"+content, "\n## "+heading+"\n\n")
	if !ok {
		tb.Fatalf("there is no heading %s in:\n%s", heading, content)
	}
	rest, _, _ = strings.Cut(rest, "\n\n## ")
	return strings.TrimSuffix(rest, "\n")
}

var feedback = eachAlone(
	"Better docs, please. I had to read the source to find out how targeting works.",
	"Love it! The dashboard is fast and easy to use.",
	"The docs are out of date.",
	"It crashes when I export to CSV :(",
	"Dark mode would be nice.",
	"Better docs for the Go SDK",
	"I don't like the new dashboard, it's slow & confusing.",
	"please add a DARK MODE!!!",
	"nothing",
	"Not bad at all. Easy to use.",
	"The CSV export is broken for <b>big</b> projects, see http://bugs.example.com/17",
	"👍",
	"dark mode, and better docs",
	"No problems so far, great support.",
	"Export to CSV takes forever",
)

func TestGolden(t *testing.T) {
	for _, tt := range []struct {
		name     string
		question summary.Question
		answers  [][]string
	}{
		{"rating", faces, eachAlone("5", "4", "4", "3", "5", "5", "1", "6", "great", "4.0")},
		{"nps", nps, eachAlone("10", "9", "9", "7", "8", "3", "10", "0", "6", "9")},
		{"single_choice", role, eachAlone("Engineering", "Product & design", "Engineering", "Data science", "Data & *statistics*",
			"Engineering", "science teacher", "Data science at a university", "Product & design")},
		{"multiple_choice", parts, [][]string{{"Flags", "Events"}, {"Flags"}, {"Events", "Flags", "Flags"}, {"Cohorts"}, {"Surveys"}, {"Events"}}},
		{"open", open, feedback},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := summarize(t, tt.question, tt.answers)
			path := filepath.Join("testdata", "golden", tt.name+".md")
			if *update {
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("Summarize differs from %s (-want +got):\n%s", path, diff)
			}
		})
	}
}

func TestQuestionErrors(t *testing.T) {
	for _, tt := range []struct {
		name     string
		question summary.Question
		want     string
	}{
		{"no type", summary.Question{}, `Type of question 0: "" is not one of open, link, rating, single_choice and multiple_choice`},
		{"unknown type", summary.Question{Type: "essay", Index: 3}, `Type of question 3: "essay" is not one of open, link, rating, single_choice and multiple_choice`},
		{"no scale", summary.Question{Type: summary.Rating}, "Scale of question 0: 0 is not from 2 to 10"},
		{"a scale without end", summary.Question{Type: summary.Rating, Scale: 1 << 40}, "Scale of question 0: 1099511627776 is not from 2 to 10"},
		{"no choices", summary.Question{Type: summary.SingleChoice, OpenChoice: true}, "Choices of question 0: there are none, but its Type is single_choice"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := summary.Extractive{}.Summarize(t.Context(), summary.Input{Question: tt.question, Answers: eachAlone("x")})
			if want := "summary: " + tt.want; err == nil || err.Error() != want {
				t.Errorf("Summarize = %v, want %s", err, want)
			}
			_, err = summary.Extractive{}.Headline(t.Context(), []summary.Input{{Question: open}, {Question: tt.question}})
			if want := "summary: " + tt.want; err == nil || err.Error() != want {
				t.Errorf("Headline = %v, want %s", err, want)
			}
		})
	}
}

func TestCanceled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := (summary.Extractive{}).Summarize(ctx, summary.Input{Question: open}); !errors.Is(err, context.Canceled) {
		t.Errorf("Summarize = %v, want %v", err, context.Canceled)
	}
	if _, err := (summary.Extractive{}).Headline(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("Headline = %v, want %v", err, context.Canceled)
	}
}

// Invisible answers count as none, whatever the type of the question.
func TestNoAnswers(t *testing.T) {
	for _, q := range []summary.Question{open, nps, role, parts, link} {
		for _, answers := range [][][]string{nil, {nil}, {{}}, eachAlone(""), {{" \t\n", "\u200b\u00a0"}}} {
			if got := summarize(t, q, answers); got != summary.NoAnswers {
				t.Errorf("Summarize(%s, %q) = %q, want %q", q.Type, answers, got, summary.NoAnswers)
			}
		}
	}
}

// Each page has all headings (management.md §11.5, item 4).
func TestHeadings(t *testing.T) {
	heading := regexp.MustCompile(`(?m)^#.*$`)
	for _, q := range []summary.Question{open, nps, faces, thumb, role, parts, link} {
		got := heading.FindAllString(summarize(t, q, eachAlone("1", "# Heading", "x\n# Heading")), -1)
		if diff := cmp.Diff([]string{"## Overview", "## Themes", "## Quotes"}, got); diff != "" {
			t.Errorf("headings of %s (-want +got):\n%s", q.Type, diff)
		}
	}
}

// TestRatings follows management.md §11.5, item 1.
func TestRatings(t *testing.T) {
	for _, tt := range []struct {
		name     string
		question summary.Question
		answers  [][]string
		want     []string // of the overview
	}{
		{"one", faces, eachAlone("4"), []string{"1 answer, average 4.0 of 5.", "- **4**: 1 (100.0%)", "- **5**: 0 (0.0%)"}},
		{"median between two", faces, eachAlone("4", "1", "5", "3"), []string{"4 answers, average 3.3 of 5."}},
		{"halves count as one", faces, eachAlone("1", "1", "1", "2"), []string{"4 answers, average 1.3 of 5.", "- **1**: 3 (75.0%)"}},
		{"numbers that became text", faces, eachAlone(" 4 ", "4.0", "4."), []string{"3 answers, average 4.0 of 5."}},
		{
			"what the scale does not have", faces, eachAlone("5", "0", "6", "-1", "4.5", "4.0.0", "four", "0x4", "1e0", "99999999999999999999", "٤"),
			[]string{"1 answer, average 5.0 of 5.", "Left out: 10 values that the scale from 1 to 5 does not have."},
		},
		{"nothing else", faces, eachAlone("6"), []string{"No answers on the scale.", "Left out: 1 value that the scale from 1 to 5 does not have."}},
		{"a scale of 10 begins with 0", summary.Question{Type: summary.Rating, Scale: 10}, eachAlone("0", "10"), []string{"2 answers, average 5.0 of 10.", "- **0**: 1 (50.0%)"}},
		{
			"score of zero", nps, eachAlone("0", "6", "7", "8", "9", "10"),
			[]string{"Net Promoter Score 0: promoters 2 (33.3%), passives 2 (33.3%), detractors 2 (33.3%)."},
		},
		{"worst score", nps, eachAlone("0", "6"), []string{"Net Promoter Score -100: promoters 0 (0.0%), passives 0 (0.0%), detractors 2 (100.0%)."}},
		{"score that is rounded", nps, eachAlone("9", "9", "1"), []string{"Net Promoter Score 33: promoters 2 (66.7%), passives 0 (0.0%), detractors 1 (33.3%)."}},
		{"thumbs", thumb, eachAlone("1", "1", "2", "3"), []string{"3 answers, average 1.3 of 2.", "- **1 (thumbs up)**: 2 (66.7%)", "- **2 (thumbs down)**: 1 (33.3%)"}},
		{"the first value is the answer", faces, [][]string{{"", "2", "5"}}, []string{"1 answer, average 2.0 of 5."}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			lines := strings.Split(summarize(t, tt.question, tt.answers), "\n")
			for _, want := range tt.want {
				if !slices.Contains(lines, want) {
					t.Errorf("Summarize has no line %q:\n%s", want, strings.Join(lines, "\n"))
				}
			}
		})
	}
	for _, q := range []summary.Question{faces, {Type: summary.Rating, Scale: 10}, {Type: summary.Rating, Scale: 7, NPS: true}} {
		if got := summarize(t, q, eachAlone("5")); strings.Contains(got, "Net Promoter") {
			t.Errorf("Summarize of Scale %d, NPS %v has a Net Promoter Score:\n%s", q.Scale, q.NPS, got)
		}
	}
}

// TestChoices follows management.md §11.5, item 2.
func TestChoices(t *testing.T) {
	for _, tt := range []struct {
		name     string
		question summary.Question
		answers  [][]string
		want     string // the overview
	}{
		{
			"by count, then text", parts, slices.Concat(times(2, "Surveys"), times(1, "Flags"), times(1, "Events")),
			"4 answers.\n\n- **Surveys**: 2 (50.0%)\n- **Events**: 1 (25.0%)\n- **Flags**: 1 (25.0%)",
		},
		{
			"each once per answer", parts,
			[][]string{{"Flags", "Flags", " Flags "}, {"Flags", "Events"}},
			"2 answers.\n\n- **Flags**: 2 (100.0%)\n- **Events**: 1 (50.0%)\n- **Surveys**: 0 (0.0%)",
		},
		{
			"what is not a choice", parts,
			[][]string{{"Flags", "flags"}, {"Cohorts", "People"}},
			"2 answers.\n\n- **Flags**: 1 (50.0%)\n- **Events**: 0 (0.0%)\n- **Surveys**: 0 (0.0%)\n\nNot shown: 2 answers with a value that is none of the choices.",
		},
		{
			"in their own words", role, eachAlone("Engineering", "Farming", "Something else"),
			"3 answers.\n\n- **Something else**: 2 (66.7%)\n- **Engineering**: 1 (33.3%)\n- **Product &amp; design**: 0 (0.0%)",
		},
		{
			"choices are text",
			summary.Question{Type: summary.SingleChoice, Choices: []string{"**b**\n# c", "b\u202e", "b\u202e", " "}},
			eachAlone("**b**\n# c"),
			"1 answer.\n\n- **\\*\\*b\\*\\* \\# c**: 1 (100.0%)\n- **(blank)**: 0 (0.0%)\n- **b**: 0 (0.0%)",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, section(t, summarize(t, tt.question, tt.answers), "Overview")); diff != "" {
				t.Errorf("overview (-want +got):\n%s", diff)
			}
		})
	}
}

// The texts of the choices are neither themes nor quotes (management.md §11.5).
func TestOnlyOwnWords(t *testing.T) {
	got := summarize(t, role, slices.Concat(times(5, "Engineering"), eachAlone("Data science", "Science")))
	if want := "- **science**: 2 (100.0%)"; section(t, got, "Themes") != want {
		t.Errorf("themes = %q, want %q", section(t, got, "Themes"), want)
	}
	if want := "- “Data science”\n- “Science”"; section(t, got, "Quotes") != want {
		t.Errorf("quotes = %q, want %q", section(t, got, "Quotes"), want)
	}
}

// The same input gives the same bytes, also to concurrent callers, and is not
// changed (management.md §11.5, item 4).
func TestDeterminism(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	answers := slices.Clone(feedback)
	for range 200 {
		answers = append(answers, []string{phrase(random, 12)})
	}
	before := fmt.Sprint(answers)
	in := []summary.Input{{Question: open, Answers: answers}}
	want := summarize(t, open, answers)
	wantHeadline := headline(t, in)
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if got := summarize(t, open, answers); got != want {
				t.Errorf("Summarize differs (-first +later):\n%s", cmp.Diff(want, got))
			}
			if got := headline(t, in); got != wantHeadline {
				t.Errorf("Headline = %q, first %q", got, wantHeadline)
			}
		})
	}
	wg.Wait()
	if fmt.Sprint(answers) != before {
		t.Error("the answers have changed")
	}
}

// phrase makes a text of words that are in none of the lists.
func phrase(random *rand.Rand, words int) string {
	var b strings.Builder
	for range random.IntN(words) + 1 {
		b.WriteString("subject" + strconv.Itoa(random.IntN(30)) + []string{" ", " ", " ", ". "}[random.IntN(4)])
	}
	return b.String()
}

func BenchmarkSummarize(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 2))
	answers := make([][]string, 1000)
	for i := range answers {
		text := strings.Builder{}
		for text.Len() < 10_000 {
			text.WriteString(feedback[random.IntN(len(feedback))][0] + " " + phrase(random, 5))
		}
		answers[i] = []string{text.String()}
	}
	b.ReportAllocs()
	for b.Loop() {
		summarize(b, open, answers)
	}
}
