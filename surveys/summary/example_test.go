package summary_test

import (
	"context"
	"fmt"

	"github.com/flagstaff-go/flagstaff/surveys/summary"
)

func ExampleExtractive_Summarize() {
	out, err := summary.Extractive{}.Summarize(context.Background(), summary.Input{
		Survey:   "Onboarding",
		Question: summary.Question{Type: summary.Open, Text: "What should we improve?"},
		Answers:  [][]string{{"Better docs, please!"}, {"I love it."}, {"better docs"}},
	})
	if err != nil {
		panic(err)
	}
	fmt.Print(out.Content)
	// Output:
	// ## Overview
	//
	// 3 answers.
	//
	// ## Themes
	//
	// - **docs**: 2 (66.7%)
	//
	// ## Quotes
	//
	// - “Better docs, please!”
	// - “better docs”
}

func ExampleExtractive_Headline() {
	headline, err := summary.Extractive{}.Headline(context.Background(), []summary.Input{
		{Question: summary.Question{Type: summary.Rating, Text: "Would you recommend us?", Scale: 10, NPS: true}, Answers: [][]string{{"8"}, {"9"}, {"8"}}},
		{Question: summary.Question{Type: summary.Open, Text: "What should we improve?"}, Answers: [][]string{{"Better docs, please!"}, nil, {"better docs"}}},
	})
	if err != nil {
		panic(err)
	}
	fmt.Println(headline)
	// Output:
	// Average 8.3 of 10 from 3 answers; most mentioned: docs.
}
