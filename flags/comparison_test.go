package flags_test

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestComparison has docs/spec/rules.md §9.2: each row is a filter, and the properties p for which
// it holds and does not hold. Properties are JSON; "" is one that is not set.
func TestComparison(t *testing.T) {
	const sensitive, strict, set, element = `"case_sensitive":true`, `"strict_type":true`, `"must_be_set":true`, `"any_element":true`
	for _, tt := range []struct {
		operator, value string
		members         []string
		holds, not      []string
	}{
		{"exact", `"Pro"`, nil, []string{`"pro"`, `"PRO"`}, []string{`"free"`, ``, `null`}},
		{"exact", `"Pro"`, []string{sensitive}, []string{`"Pro"`}, []string{`"pro"`, `"PRO"`, ``, `null`, `["Pro"]`}},
		{"exact", `"É"`, []string{sensitive}, []string{`"É"`}, []string{`"é"`}},
		{"is_not", `"Pro"`, []string{sensitive}, []string{`"pro"`, ``, `null`}, []string{`"Pro"`}},
		{"is_not", `"Pro"`, []string{sensitive, set}, []string{`"pro"`, `1`}, []string{`"Pro"`, ``, `null`}},
		{"exact", `"Pro"`, []string{sensitive, set, `"negation":true`}, []string{`"pro"`}, []string{`"Pro"`, ``, `null`}},
		{"exact", `"1"`, []string{strict}, []string{`"1"`}, []string{`1`, ``, `true`}},
		{"exact", `1`, []string{strict}, []string{`1`, `1.0`, `1e0`}, []string{`"1"`, `true`, `2`}},
		{"exact", `"TRUE"`, []string{strict}, []string{`"true"`, `"True"`}, []string{`true`, `1`}},
		{"exact", `true`, []string{strict}, []string{`true`}, []string{`"true"`, `false`, `1`}},
		{"exact", `[1,"a",false]`, []string{strict}, []string{`1`, `"a"`, `"A"`, `false`}, []string{`"1"`, `"false"`, `[1,"a",false]`}},
		{"exact", `"true"`, []string{sensitive}, []string{`"true"`, `true`}, []string{`"True"`}},
		{"exact", `["a","b"]`, []string{element}, []string{`"a"`, `["x","B"]`}, []string{`[]`, `["x"]`, `"x"`}},
		{"is_not", `["a","b"]`, []string{element}, []string{`[]`, `["x"]`, ``}, []string{`["x","b"]`, `"a"`}},
		{"exact", `"a"`, []string{element, strict, sensitive}, []string{`"a"`, `["b","a"]`}, []string{`["A"]`, `[["a"]]`}},
		{"icontains", `"Ro"`, []string{sensitive}, []string{`"pRoud"`}, []string{`"pro"`, `"PRO"`}},
		{"not_icontains", `"Ro"`, []string{sensitive}, []string{`"pro"`, ``}, []string{`"Ro"`}},
		{"icontains_multi", `["X","Ro"]`, []string{sensitive}, []string{`"Rob"`, `"aX"`}, []string{`"rob"`, `"ax"`}},
		{"starts_with", `"1"`, []string{strict}, []string{`"12"`}, []string{`12`}},
		{"not_starts_with", `"1"`, []string{strict}, []string{`12`, `"21"`, ``}, []string{`"12"`}},
		{"ends_with", `"B"`, []string{sensitive, element}, []string{`["x","aB"]`}, []string{`["ab"]`}},
		{"gt", `5`, []string{strict}, []string{`6`, `5.5`}, []string{`"6"`, `5`, ``}},
		{"gt", `"5"`, []string{strict}, nil, []string{`6`, `"6"`}},
		{"gt", `5`, []string{strict, `"negation":true`}, []string{`"6"`, `5`, ``}, []string{`6`}},
		{"gt", `5`, []string{strict, set, `"negation":true`}, []string{`"6"`, `5`}, []string{`6`, ``, `null`}},
		{"lt", `5`, []string{element}, []string{`[9,4]`, `["4"]`}, []string{`[9]`, `[]`}},
		{"regex", `"^1"`, []string{strict}, []string{`"12"`}, []string{`12`}},
		{"semver_gt", `"1.2.3"`, []string{strict, element}, []string{`["1.0.0","2.0.0"]`, `"1.3.0"`}, []string{`2`, `["1.0.0"]`}},
		{"is_date_before", `"2024-06-01"`, []string{strict}, []string{`"2024-05-01"`}, []string{`1`, `"x"`}},
		{"is_set", `null`, []string{set}, []string{`1`, `""`}, []string{``, `null`}},
	} {
		members := strings.Join(append([]string{`"key":"p"`, `"operator":"` + tt.operator + `"`, `"value":` + tt.value}, tt.members...), ",")
		t.Run(members, func(t *testing.T) {
			s := ruled(t, "f", `{"version":2,"return_type":"boolean","rules":[{"rule_type":"targeted_release","value":true,"targeting":{"properties":[{`+members+`}]}}]}`)
			for want, properties := range map[string][]string{"true targeting_match": tt.holds, "null no_rule_match": tt.not} {
				for _, p := range properties {
					var person, raw map[string]any
					if p != "" {
						person, raw = make(map[string]any), map[string]any{"p": json.RawMessage(p)}
						if err := json.Unmarshal([]byte(`{"p":`+p+`}`), &person); err != nil {
							t.Fatal(err)
						}
					}
					checkBoth(t, s, "ada", person, want)
					checkBoth(t, s, "ada", raw, want)
				}
			}
		})
	}
}
