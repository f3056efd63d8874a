// Package bench makes definitions and requests for benchmarks and tests. Equal
// arguments give equal results.
package bench

import (
	"encoding/json"
	"fmt"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/flags/operator"
)

// Definitions returns n flags, each with one condition set of two filters (text
// equality, number above) at 50 %, all of which match [Person]. The hash is
// "sha1" or "xxhash64".
func Definitions(n int, hash string) *flags.Definitions {
	d := &flags.Definitions{BucketingHash: hash}
	texts := []string{"plan", "country", "$browser", "$os", "locale", "team"}
	numbers := []string{"seats", "logins", "age_days", "projects"}
	person := properties()
	half := 50.0
	for i := range n {
		text, number := texts[i%len(texts)], numbers[i%len(numbers)]
		value, _ := json.Marshal(person[text])
		d.Flags = append(d.Flags, flags.Flag{
			ID: int64(i + 1), Key: fmt.Sprintf("benchmark-flag-%03d", i), Active: true, Version: 1,
			Filters: flags.Filters{Groups: []flags.Condition{{
				Properties: []flags.Filter{
					{Key: text, Type: "person", Operator: operator.Exact, Value: value},
					{Key: number, Type: "person", Operator: operator.GT, Value: json.RawMessage(fmt.Sprint(i % 7))},
				},
				RolloutPercentage: &half,
			}}},
		})
	}
	return d
}

// Document returns Definitions(n, "sha1") as a JSON document.
func Document(n int) []byte {
	b, err := json.Marshal(Definitions(n, "sha1"))
	if err != nil {
		panic(err) // cannot happen with these definitions
	}
	return b
}

// Person returns 25 person properties, as JSON and as Go values.
func Person() ([]byte, map[string]any) {
	m := properties()
	b, err := json.Marshal(m)
	if err != nil {
		panic(err) // cannot happen with these properties
	}
	return b, m
}

func properties() map[string]any {
	return map[string]any{
		"plan": "pro", "country": "DE", "$browser": "Chrome", "$os": "Linux", "locale": "de-DE", "team": "platform",
		"seats": 42, "logins": 1337, "age_days": 400, "projects": 12,
		"email": "somebody@example.com", "$browser_version": 156, "$device_type": "Desktop", "$timezone": "Europe/Berlin",
		"$current_url": "https://app.example.com/projects/42/dashboard", "$referrer": "https://www.example.org/",
		"$screen_width": 2560, "$screen_height": 1440, "utm_source": "newsletter", "utm_campaign": "autumn",
		"beta": true, "verified": true, "joined": "2025-10-16T09:30:00Z", "trial": false, "score": 0.75,
	}
}
