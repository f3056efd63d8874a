package judge_test

import (
	"fmt"
	"testing"

	"github.com/flagstaff-go/flagstaff/management/internal/judge"
)

// management.md §13.3: PATCH replaces each top-level member sent.
func TestMerge(t *testing.T) {
	const stored = `{"groups":[{"properties":[]}],"payloads":{"true":"1"},"early_exit":true}`
	for _, tt := range []struct{ name, stored, change, want string }{
		{"nothing", stored, `{}`, stored},
		{"nothing with blanks", stored, " {\n} ", stored},
		{"replace", stored, `{"payloads":{"true":"2"}}`, `{"groups":[{"properties":[]}],"payloads":{"true":"2"},"early_exit":true}`},
		{"not deep", stored, `{"payloads":{}}`, `{"groups":[{"properties":[]}],"payloads":{},"early_exit":true}`},
		{"remove", stored, `{"early_exit":null}`, `{"groups":[{"properties":[]}],"payloads":{"true":"1"},"early_exit":null}`},
		{"add", stored, `{"holdout":{"id":1,"exclusion_percentage":2}}`, `{"groups":[{"properties":[]}],"payloads":{"true":"1"},"early_exit":true,"holdout":{"id":1,"exclusion_percentage":2}}`},
		{"the last of duplicates", stored, `{"early_exit":1,"early_exit":2}`, `{"groups":[{"properties":[]}],"payloads":{"true":"1"},"early_exit":2}`},
		{"escaped name", stored, `{"early\u005fexit":false}`, `{"groups":[{"properties":[]}],"payloads":{"true":"1"},"early_exit":false}`},
		{"nothing stored", ``, `{"groups":[]}`, `{"groups":[]}`},
		{"null stored", `null`, `{"groups":[]}`, `{"groups":[]}`},
		{"list", stored, `[]`, `filters invalid_input must be an object, not []`},
		{"null", stored, `null`, `filters invalid_input is required and must be an object`},
		{"no JSON", stored, `{"a"}`, `filters invalid_input must be JSON: unexpected character '}' after a member name at byte 4`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := outcome(judge.Merge([]byte(tt.stored), []byte(tt.change))); got != tt.want {
				t.Errorf("Merge = %s, want %s", got, tt.want)
			}
		})
	}
}

func TestPayload(t *testing.T) {
	stored := []byte(`{"groups":[{"properties":[]}],"payloads":{"true":"{\"a\":1}"}}`)
	if got, ok := judge.Payload(stored, "true"); got != `{"a":1}` || !ok {
		t.Errorf("Payload = %s, %v", got, ok)
	}
	sealed := judge.WithPayload(stored, "true", "<no JSON>")
	if want := `{"groups":[{"properties":[]}],"payloads":{"true":"<no JSON>"}}`; string(sealed) != want {
		t.Errorf("WithPayload = %s, want %s", sealed, want)
	}
	if got, ok := judge.Payload(sealed, "true"); got != "<no JSON>" || !ok {
		t.Errorf("Payload after WithPayload = %s, %v", got, ok)
	}
	if got := judge.WithPayload(sealed, "true", `{"a":1}`); string(got) != string(stored) {
		t.Errorf("WithPayload back = %s, want %s", got, stored)
	}
	if got := judge.WithPayload(stored, "x", "1"); string(got) != string(stored) {
		t.Errorf("WithPayload of a key without payload = %s, want %s", got, stored)
	}
	// All else still works with an encrypted payload.
	if got := judge.WithEnrollment(sealed, true); string(got) != `{"groups":[{"properties":[]}],"payloads":{"true":"<no JSON>"},"feature_enrollment":true}` {
		t.Errorf("WithEnrollment = %s", got)
	}
	for _, raw := range []string{`{"groups":[]}`, ``, `[`, `{"payloads":1}`} {
		if got, ok := judge.Payload([]byte(raw), "true"); got != "" || ok {
			t.Errorf("Payload(%s) = %s, %v", raw, got, ok)
		}
		if got := judge.WithPayload([]byte(raw), "true", "1"); string(got) != raw {
			t.Errorf("WithPayload(%s) = %s", raw, got)
		}
	}
}

// management.md §13.9.
func TestWithEnrollment(t *testing.T) {
	for _, tt := range []struct {
		raw  string
		on   bool
		want string
	}{
		{`{"groups":[{"properties":[]}]}`, true, `{"groups":[{"properties":[]}],"feature_enrollment":true}`},
		{`{"groups":[{"properties":[]}],"feature_enrollment":false}`, true, `{"groups":[{"properties":[]}],"feature_enrollment":true}`},
		{`{"groups":[{"properties":[]}],"feature_enrollment":true,"holdout":{"id":1,"exclusion_percentage":2}}`, false, `{"groups":[{"properties":[]}],"holdout":{"id":1,"exclusion_percentage":2}}`},
		{`{"groups":[]}`, false, `{"groups":[]}`},
		{`broken`, true, `broken`},
	} {
		if got := string(judge.WithEnrollment([]byte(tt.raw), tt.on)); got != tt.want {
			t.Errorf("WithEnrollment(%s, %v) = %s, want %s", tt.raw, tt.on, got, tt.want)
		}
	}
}

// management.md §13.4: what is shown can be sent back.
func TestWithCohortNames(t *testing.T) {
	name := func(id int64) string {
		if id == 10 {
			return `<"Pros">`
		}
		return ""
	}
	stored := property(`{"key":"id","value":10,"type":"cohort"},{"key":"id","value":11,"type":"cohort"},{"key":"cohort","value":10,"type":"person"}`)
	want := property(`{"key":"id","value":10,"type":"cohort","cohort_name":"<\"Pros\">"},{"key":"id","value":11,"type":"cohort"},{"key":"cohort","value":10,"type":"person"}`)
	shown := judge.WithCohortNames([]byte(stored), name)
	if string(shown) != want {
		t.Errorf("WithCohortNames = %s, want %s", shown, want)
	}
	if got := outcome(judge.Filters(shown, subject, newWorld())); got != stored {
		t.Errorf("Filters of what was shown = %s, want %s", got, stored)
	}
	for _, raw := range []string{`{"groups":[]}`, `broken`, `"cohort"`} {
		if got := string(judge.WithCohortNames([]byte(raw), func(id int64) string { return fmt.Sprint(id) })); got != raw {
			t.Errorf("WithCohortNames(%s) = %s", raw, got)
		}
	}
}
