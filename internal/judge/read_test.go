package judge_test

import (
	"testing"

	"github.com/flagstaff-go/flagstaff/internal/judge"
)

// management.md §13.3: PATCH replaces each top-level member sent.
func TestReadChange(t *testing.T) {
	const kept = `{"groups":[{"properties":[]}],"payloads":{"true":"1"},"early_exit":true}`
	for _, tt := range []struct{ name, stored, change, want string }{
		{"nothing", kept, `{}`, kept},
		{"nothing with blanks", kept, " {\n} ", kept},
		{"replace", kept, `{"payloads":{"true":"2"}}`, `{"groups":[{"properties":[]}],"payloads":{"true":"2"},"early_exit":true}`},
		{"not deep", kept, `{"payloads":{}}`, `{"groups":[{"properties":[]}],"early_exit":true}`},
		{"remove", kept, `{"early_exit":null}`, `{"groups":[{"properties":[]}],"payloads":{"true":"1"}}`},
		{"add", kept, `{"holdout":{"id":1,"exclusion_percentage":2}}`, `{"groups":[{"properties":[]}],"payloads":{"true":"1"},"early_exit":true,"holdout":{"id":1,"exclusion_percentage":2}}`},
		{"the last of duplicates", kept, `{"early_exit":true,"early_exit":false}`, `{"groups":[{"properties":[]}],"payloads":{"true":"1"},"early_exit":false}`},
		{"escaped name", kept, `{"early\u005fexit":false}`, `{"groups":[{"properties":[]}],"payloads":{"true":"1"},"early_exit":false}`},
		{"escaped name inside", kept, `{"groups":[{"roll\u006fut_percentage":5}]}`, `{"groups":[{"properties":[],"rollout_percentage":5}],"payloads":{"true":"1"},"early_exit":true}`},
		{"a version", `{"groups":[],"version":1}`, `{"version":null}`, `filters unsupported_config_version version: must be left out, for condition sets, or be 2, for a rule set`},
		{"nothing stored", ``, `{"groups":[]}`, `{"groups":[]}`},
		{"old early access", `{"groups":[],"feature_enrollment":false}`, `{"super_groups":[{"properties":[{"key":"$feature_enrollment/new"}]}]}`, `{"groups":[],"feature_enrollment":false}`},
		{"what cannot be understood", `{"groups":7,"early_exit":true}`, `{"groups":[{}]}`, `{"groups":[{"properties":[]}]}`},
		{"what cannot be understood, but its condition sets", `{"groups":7,"early_exit":true}`, `{"early_exit":false}`, `filters invalid_input groups: must be an array, not a number: 7`},
		{"older early access, taken back", `{"groups":[],"super_groups":[{"properties":[{"key":"$feature_enrollment/new"}]}]}`, `{"feature_enrollment":null}`, `{"groups":[]}`},
		{"list", kept, `[]`, `filters invalid_input must be an object, not an array: []`},
		{"no JSON", kept, `{"a"}`, `filters invalid_input not valid JSON: offset 4: unexpected character '}' after a member name`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f, err := read([]byte(tt.stored), []byte(tt.change))
			if err == nil {
				err = judge.Judge(&f, subject, newWorld())
			}
			got := outcome(nil, err)
			if err == nil {
				got = normal(t, &f)
			}
			if got != tt.want {
				t.Errorf("Read = %s, want %s", got, tt.want)
			}
		})
	}
}

// What is stored and cannot be understood is not accepted, whatever it is.
func TestJudgeUnreadable(t *testing.T) {
	for raw, want := range map[string]string{
		`{`:            "filters invalid_input not valid JSON: ",
		`[]`:           "filters invalid_input must be an object, not an array: []",
		`{"groups":7}`: "filters invalid_input groups: must be an array, not a number: 7",
		`{"groups":[{"properties":[{"key":[],"type":"person","value":1}]}]}`: "filters invalid_input groups/0/properties/0/key: must be a string, not an array: []",
		`{"groups":[],"version":1}`: "filters reserved_config_version version: is reserved and cannot be set",
	} {
		if got := outcome(nil, judge.Judge(stored([]byte(raw)), subject, newWorld())); len(got) < len(want) || got[:len(want)] != want {
			t.Errorf("Judge(%s) = %s, want %s", raw, got, want)
		}
	}
	for raw, want := range map[string]string{
		``:                 "filters invalid_input properties: is required and must be an object with a type, AND or OR, and a list of values",
		`{`:                "filters invalid_input not valid JSON: ",
		`{"properties":7}`: "filters invalid_input properties: must be an object, not a number: 7",
		tree(`1`):          "filters invalid_input properties/values/0: must be an object, not a number: 1",
		tree(`{"key":"a","type":"person","operator":7}`): "filters invalid_operator properties/values/0/operator: must be a string, not a number: 7",
	} {
		if got := outcome(nil, judge.JudgeCohort(storedTree([]byte(raw)), 7, newWorld())); len(got) < len(want) || got[:len(want)] != want {
			t.Errorf("JudgeCohort(%s) = %s, want %s", raw, got, want)
		}
	}
}
