package rules_test

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/flagstaff-go/flagstaff/surveys/internal/rules"
)

func Example() {
	questions, err := rules.Questions(json.RawMessage(`[
		{"id": "q1", "type": "rating", "question": "<b onclick='x()'>Happy</b>?", "display": "number", "scale": 10}
	]`), "en")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(string(questions))
	for _, q := range rules.Parse(questions) {
		fmt.Println(q.ID, q.Type, q.Scale, q.NPS)
	}
	// Output:
	// [{"id":"q1","type":"rating","question":"<b>Happy</b>?","display":"number","scale":10}]
	// q1 rating 10 true
}

func ExampleQuestions_error() {
	_, err := rules.Questions(json.RawMessage(`[{"type": "rating", "question": "Happy?", "scale": 4}]`), "en")
	fmt.Println(err)
	// Output: questions: 0/scale: must be one of 2, 3, 5, 7, 10.
}

func ExampleClean() {
	fmt.Println(rules.Clean("Tom & Jerry <3"))
	fmt.Println(rules.Clean(`<a href="https://example.com" onclick="x()">Don't</a><script>x()</script>`))
	// Output:
	// Tom & Jerry <3
	// <a href="https://example.com" rel="noopener">Don't</a>
}

func ExampleNewDailyLimits() {
	start := time.Date(2026, 2, 27, 0, 0, 0, 0, time.UTC)
	limits, err := rules.NewDailyLimits(start, 3, "day", 8)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, d := range limits {
		fmt.Println(d.Date.Format(time.DateOnly), d.Limit, d.Percentage)
	}
	// Output:
	// 2026-02-27 3 33.33
	// 2026-02-28 6 66.67
	// 2026-03-01 8 100
}
