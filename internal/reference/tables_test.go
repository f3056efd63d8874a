package reference_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/internal/reference"
)

// now is the time of the specification's examples.
var now = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func zone(t *testing.T, name string) *time.Location {
	t.Helper()
	z, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

// evaluate returns the results by flag key.
func evaluate(t *testing.T, document string, request *reference.Request) map[string]reference.Result {
	t.Helper()
	results, _ := parse(t, document).Evaluate(request)
	byKey := map[string]reference.Result{}
	for _, r := range results {
		byKey[r.Key] = r
	}
	return byKey
}

// matches evaluates one person filter on the property x. The property "" is
// missing.
func matches(t *testing.T, version int, operator, value, property string) bool {
	t.Helper()
	return matchesAt(t, now, time.UTC, version, operator, value, property)
}

func matchesAt(t *testing.T, now time.Time, zone *time.Location, version int, operator, value, property string) bool {
	t.Helper()
	document := fmt.Sprintf(`{"property_matching_version":%d,"flags":[{"key":"k","active":true,"filters":{"groups":[{"properties":[
		{"key":"x","type":"person","operator":%q,"value":%s}]}]}}]}`, version, operator, value)
	request := &reference.Request{DistinctID: "user-1", Now: now, Zone: zone}
	if property != "" {
		request.Person = json.RawMessage(`{"x":` + property + `}`)
	}
	result := evaluate(t, document, request)["k"]
	if result.Failed {
		t.Errorf("filter %s %s failed: %s", operator, value, result.Code)
	}
	return result.Enabled
}

// TestReasonRanking checks the second table of §3.7.
func TestReasonRanking(t *testing.T) {
	const (
		mismatch = `{"properties":[{"key":"missing","type":"person","operator":"is_set"}]}`
		out      = `{"rollout_percentage":0}`
		noGroup  = `{"aggregation_group_type_index":0}`
		text2    = "No matching condition set (group conditions were not evaluated because no group type was provided)"
	)
	for _, tt := range []struct {
		name        string
		conditions  []string
		code        string
		index       int
		description string
	}{
		{"mismatch, mismatch", []string{mismatch, mismatch}, "no_condition_match", 1, "No matching condition set"},
		{"out of rollout, mismatch", []string{out, mismatch}, "out_of_rollout_bound", 0, "Out of rollout bound"},
		{"mismatch, out of rollout, mismatch", []string{mismatch, out, mismatch}, "out_of_rollout_bound", 1, "Out of rollout bound"},
		{"out of rollout, out of rollout", []string{out, out}, "out_of_rollout_bound", 1, "Out of rollout bound"},
		{"no group, no group", []string{noGroup, noGroup}, "no_group_type", 1, "No group type"},
		{"no group, mismatch", []string{noGroup, mismatch}, "no_condition_match", 1, text2},
		{"mismatch, no group", []string{mismatch, noGroup}, "no_condition_match", 0, text2},
		{"no conditions", nil, "no_group_type", -1, "No group type"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			document := `{"flags":[{"key":"k","active":true,"filters":{"groups":[` + strings.Join(tt.conditions, ",") + `]}}]}`
			got := evaluate(t, document, &reference.Request{DistinctID: "user-1"})["k"]
			want := reference.Result{Key: "k", Code: tt.code, Index: tt.index, Description: tt.description, HasExperiment: true}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("Evaluate(%s): -want +got:\n%s", document, diff)
			}
		})
	}
}

// TestMissingAndNull checks the table of §4.3, in the columns of the evaluator.
func TestMissingAndNull(t *testing.T) {
	for _, tt := range []struct {
		operator, value string
		missing, null   bool
	}{
		{"exact", `"NULL"`, false, true}, // compared as text
		{"exact", `false`, false, true},  // compared by truthiness
		{"exact", `"a"`, false, false},
		{"is_not", `"null"`, true, false},
		{"is_not", `"a"`, true, true},
		{"is_set", `"a"`, false, true},
		{"is_set", `null`, false, true},
		{"is_not_set", `"a"`, true, false},
		{"is_not_set", `null`, true, false},
		{"icontains", `"UL"`, false, true},
		{"starts_with", `"nu"`, false, true},
		{"ends_with", `"ll"`, false, true},
		{"icontains_multi", `["x","ul"]`, false, true},
		{"not_icontains", `"ul"`, true, false},
		{"not_icontains", `"x"`, true, true},
		{"not_starts_with", `"nu"`, true, false},
		{"not_ends_with", `"ll"`, true, false},
		{"not_icontains_multi", `["x","ul"]`, true, false},
		{"not_icontains_multi", `["x","y"]`, true, true},
		{"regex", `"^null$"`, false, true},
		{"not_regex", `"^null$"`, true, false},
		{"gt", `-1`, false, false},
		{"gte", `0`, false, false},
		{"lt", `1`, false, false},
		{"lte", `0`, false, false},
		{"between", `[-1,1]`, false, false},
		{"not_between", `[1,2]`, true, false},
		{"semver_eq", `"0"`, false, false},
		{"semver_neq", `"0"`, false, false},
		{"semver_gt", `"0"`, false, false},
		{"semver_gte", `"0"`, false, false},
		{"semver_lt", `"9"`, false, false},
		{"semver_lte", `"9"`, false, false},
		{"semver_tilde", `"0"`, false, false},
		{"semver_caret", `"0"`, false, false},
		{"semver_wildcard", `"*"`, false, false},
		{"is_date_exact", `"2026-01-01"`, false, false},
		{"is_date_before", `"2026-01-01"`, false, false},
		{"is_date_after", `"2026-01-01"`, false, false},
		// §4.11: these operators are not for properties.
		{"in", `"a"`, false, false},
		{"not_in", `"a"`, false, false},
		{"flag_evaluates_to", `true`, false, false},
	} {
		if got := matches(t, 1, tt.operator, tt.value, ""); got != tt.missing {
			t.Errorf("%s %s on a missing property = %v, want %v", tt.operator, tt.value, got, tt.missing)
		}
		if got := matches(t, 1, tt.operator, tt.value, "null"); got != tt.null {
			t.Errorf("%s %s on null = %v, want %v", tt.operator, tt.value, got, tt.null)
		}
		if tt.operator == "is_set" || tt.operator == "is_not_set" {
			continue
		}
		// §4.1: without a value nothing matches.
		for _, property := range []string{"", "null", `"a"`, "1"} {
			if matches(t, 1, tt.operator, "null", property) {
				t.Errorf("%s null on %q matches", tt.operator, property)
			}
		}
	}
}

// TestExact checks the table of §4.4, and the ordinary cases below it.
func TestExact(t *testing.T) {
	for _, tt := range []struct {
		value, property    string
		version1, version2 bool
	}{
		{`false`, `"banana"`, true, false},
		{`"false"`, `0`, true, false},
		{`["false"]`, `null`, true, false},
		{`"true"`, `1`, false, false},
		{`true`, `"TRUE"`, true, true},
		{`["true","false"]`, `"true"`, false, true},
		{`["true","false"]`, `"pro"`, true, false},
		{`["true","pro"]`, `"true"`, true, true},
		{`[]`, `true`, true, true},
		{`[]`, `"us"`, false, false},
		{`[]`, `[]`, true, true},
		{`"Pro"`, `"pro"`, true, true},
		{`["us","ca"]`, `"CA"`, true, true},
		{`5`, `"5"`, true, true},
		{`"1"`, `1`, true, true},
		{`5`, `5.0`, false, false},
		{`"5.0"`, `5.0`, true, true},
		{`{"a":1}`, `{"a":1}`, true, true},
		{`["a"]`, `["a"]`, false, false},
		{`"[\"a\"]"`, `["a"]`, true, true},
		{`"ß"`, `"SS"`, false, false},
		{`"ΑΣ"`, `"ας"`, true, true},
		{`"İ"`, `"i̇"`, true, true},
		{`[["true"],[]]`, `true`, true, false},
		{`"FALSE"`, `{}`, true, false},
	} {
		for version, want := range map[int]bool{0: tt.version1, 1: tt.version1, 2: tt.version2, 3: tt.version1} {
			if got := matches(t, version, "exact", tt.value, tt.property); got != want {
				t.Errorf("version %d: exact %s on %s = %v, want %v", version, tt.value, tt.property, got, want)
			}
			if got := matches(t, version, "is_not", tt.value, tt.property); got == want {
				t.Errorf("version %d: is_not %s on %s = %v, want %v", version, tt.value, tt.property, got, !want)
			}
		}
	}
}

// TestFlagEvaluatesTo checks the table of §7.3.
func TestFlagEvaluatesTo(t *testing.T) {
	targets := []string{`[]`, `[{}]`, `[{"variant":"test"}]`}
	for _, tt := range []struct {
		value string
		want  [3]bool // for the target false, true, and variant test
	}{
		{`true`, [3]bool{false, true, true}},
		{`false`, [3]bool{true, false, false}},
		{`"test"`, [3]bool{false, false, true}},
		{`"Test"`, [3]bool{false, false, false}},
		{`"true"`, [3]bool{false, false, false}},
		{`1`, [3]bool{false, false, false}},
		{`[true]`, [3]bool{false, false, false}},
		{`{}`, [3]bool{false, false, false}},
		{`null`, [3]bool{false, false, false}},
	} {
		for i, groups := range targets {
			multivariate := ""
			if i == 2 {
				multivariate = `,"multivariate":{"variants":[{"key":"test","rollout_percentage":0}]}`
			}
			document := fmt.Sprintf(`{"flags":[
				{"id":2,"key":"b","active":true,"filters":{"groups":[{"properties":[{"key":"1","type":"flag","operator":"flag_evaluates_to","value":%s}]}]}},
				{"id":1,"key":"a","active":true,"filters":{"groups":%s%s}}]}`, tt.value, groups, multivariate)
			got := evaluate(t, document, &reference.Request{DistinctID: "user-1"})["b"].Enabled
			if got != tt.want[i] {
				t.Errorf("flag_evaluates_to %s, target %s: %v, want %v", tt.value, groups, got, tt.want[i])
			}
		}
	}
}

// TestRuntime checks the last table of §9.1.
func TestRuntime(t *testing.T) {
	for _, tt := range []struct {
		kind, runtime string // the runtime is JSON
		want          bool
	}{
		{"client", `null`, true},
		{"client", `"all"`, true},
		{"client", `"edge"`, true},
		{"client", `"client"`, true},
		{"client", `"CLIENT"`, true},
		{"client", `"Server"`, false},
		{"server", `"client"`, false},
		{"server", `"server"`, true},
		{"", `"client"`, true},
		{"", `"server"`, true},
		{"unknown", `null`, true},
		{"unknown", `"all"`, true},
		{"unknown", `"client"`, false},
		{"unknown", `"server"`, false},
	} {
		document := `{"flags":[{"key":"k","active":true,"evaluation_runtime":` + tt.runtime + `,"filters":{"groups":[{}]}}]}`
		if _, got := evaluate(t, document, &reference.Request{Kind: tt.kind})["k"]; got != tt.want {
			t.Errorf("runtime %s in a request of kind %q: present = %v, want %v", tt.runtime, tt.kind, got, tt.want)
		}
	}
}

// TestContexts checks §9.2, with both names of the field (§1.2).
func TestContexts(t *testing.T) {
	for _, tt := range []struct {
		member string
		tags   []string
		want   bool
	}{
		{`"evaluation_contexts":["docs"]`, []string{"app", "docs"}, true},
		{`"evaluation_contexts":["docs"]`, []string{"Docs"}, false},
		{`"evaluation_contexts":["docs"]`, []string{"docs "}, false},
		{`"evaluation_contexts":["docs"]`, nil, true},
		{`"evaluation_contexts":[]`, []string{"app"}, true},
		{`"evaluation_tags":["docs"]`, []string{"app"}, false},
		{`"evaluation_tags":["docs"],"evaluation_contexts":["app"]`, []string{"app"}, true},
		{`"evaluation_tags":["docs"],"evaluation_contexts":[]`, []string{"app"}, true},
		{`"evaluation_tags":["docs"],"evaluation_contexts":null`, []string{"app"}, false},
		{`"evaluation_contexts":["docs","app"],"evaluation_contexts_match_mode":"any"`, []string{"app"}, true},
		{`"evaluation_contexts":["docs","app"],"evaluation_contexts_match_mode":"all"`, []string{"app"}, false},
		{`"evaluation_contexts":["docs","app"],"evaluation_contexts_match_mode":"all"`, []string{"app", "x", "docs"}, true},
		{`"evaluation_contexts":["docs","app"],"evaluation_contexts_match_mode":"all"`, nil, true},
		{`"evaluation_tags":["docs","app"],"evaluation_contexts_match_mode":"all"`, []string{"docs"}, false},
	} {
		document := `{"flags":[{"key":"k","active":true,` + tt.member + `,"filters":{"groups":[{}]}}]}`
		if _, got := evaluate(t, document, &reference.Request{Tags: tt.tags})["k"]; got != tt.want {
			t.Errorf("%s in a request with %q: present = %v, want %v", tt.member, tt.tags, got, tt.want)
		}
	}
}
