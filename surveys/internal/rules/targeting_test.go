package rules_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/surveys/internal/rules"
)

// TestInternalFilters follows management.md §9.6, and §9.10 for the form.
func TestInternalFilters(t *testing.T) {
	const (
		id        = "019c0a11-2f30-0000-7c4e-1a2b3c4d5e6f"
		dismissed = `{"key":"$survey_dismissed/` + id + `","value":"is_not_set","operator":"is_not_set","type":"person"}`
		responded = `{"key":"$survey_responded/` + id + `","value":"is_not_set","operator":"is_not_set","type":"person"}`
		unseen    = `{"key":"$last_seen_survey_date","value":"is_not_set","operator":"is_not_set","type":"person"}`
		longAgo   = `{"key":"$last_seen_survey_date","value":"14d","operator":"is_date_before","type":"person"}`
		all       = `{"variant":"","rollout_percentage":100,"properties":[`
	)
	for _, tt := range []struct {
		key  string
		days int
		want string
	}{
		{id, 0, `{"groups":[` + all + dismissed + `,` + responded + `]}]}`},
		{id, -1, `{"groups":[` + all + dismissed + `,` + responded + `]}]}`},
		{id, 14, `{"groups":[` + all + dismissed + `,` + responded + `,` + unseen + `]},` + all + dismissed + `,` + responded + `,` + longAgo + `]}]}`},
		{
			"a/2", 0,
			`{"groups":[` + all + `{"key":"$survey_dismissed/a/2","value":"is_not_set","operator":"is_not_set","type":"person"},` +
				`{"key":"$survey_responded/a/2","value":"is_not_set","operator":"is_not_set","type":"person"}]}]}`,
		},
	} {
		if diff := cmp.Diff(value(t, tt.want), value(t, rules.InternalFilters(tt.key, tt.days))); diff != "" {
			t.Errorf("InternalFilters(%q, %d) (-want +got)\n%s", tt.key, tt.days, diff)
		}
	}
}

func TestSamplingFilters(t *testing.T) {
	for percentage, want := range map[float64]string{
		100:   `{"groups":[{"variant":"","rollout_percentage":100,"properties":[]}]}`,
		14.29: `{"groups":[{"variant":"","rollout_percentage":14.29,"properties":[]}]}`,
		0:     `{"groups":[{"variant":"","rollout_percentage":0,"properties":[]}]}`,
	} {
		if diff := cmp.Diff(value(t, want), value(t, rules.SamplingFilters(percentage))); diff != "" {
			t.Errorf("SamplingFilters(%v) (-want +got)\n%s", percentage, diff)
		}
	}
}

// TestTargetsEveryone follows management.md §9.6.
func TestTargetsEveryone(t *testing.T) {
	const some = `{"properties":[{"key":"plan"}],"rollout_percentage":100}`
	for filters, want := range map[string]bool{
		`{"groups":[{"properties":[],"rollout_percentage":100}]}`:                   true,
		`{"groups":[{"properties":[],"rollout_percentage":null}]}`:                  true,
		`{"groups":[{"rollout_percentage":100.0}]}`:                                 true,
		`{"groups":[{"properties":null}]}`:                                          true,
		`{"groups":[{}]}`:                                                           true,
		` { "groups" : [ { "properties" : [ ] , "rollout_percentage" : 1e2 } ] } `:  true,
		`{"groups":[` + some + `,{"properties":[]}]}`:                               true,
		`{"groups":[` + some + `]}`:                                                 false,
		`{"groups":[{"properties":[{"type":"cohort"}],"rollout_percentage":null}]}`: false,
		`{"groups":[{"properties":[],"rollout_percentage":99.9}]}`:                  false,
		`{"groups":[{"properties":[],"rollout_percentage":0}]}`:                     false,
		`{"groups":[{"properties":[],"rollout_percentage":"100"}]}`:                 false,
		`{"groups":[]}`:     false,
		`{"groups":[null]}`: false,
		`{}`:                false,
		`null`:              false,
		``:                  false,
	} {
		f, _ := flags.DecodeFilters([]byte(filters), "")
		if got := rules.TargetsEveryone(&f); got != want {
			t.Errorf("TargetsEveryone(%s) = %v, want %v", filters, got, want)
		}
	}
	for name, filters := range map[string]flags.Filters{
		"internal": rules.InternalFilters("a", 14),
		"sampling": rules.SamplingFilters(50),
	} {
		if rules.TargetsEveryone(&filters) {
			t.Errorf("TargetsEveryone of %s filters", name)
		}
	}
}

// encoded returns JSON, or what is encoded as JSON.
func encoded(t *testing.T, v any) json.RawMessage {
	t.Helper()
	if text, ok := v.(string); ok {
		return json.RawMessage(text)
	}
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// value returns what JSON says, whatever the order of members.
func value(t *testing.T, v any) (out any) {
	t.Helper()
	if err := json.Unmarshal(encoded(t, v), &out); err != nil {
		t.Fatal(err)
	}
	return out
}
