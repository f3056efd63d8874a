package flags_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/position"
)

// whole has each member that decides something, of flags that are on and off.
const whole = `{
	"property_matching_version": 2, "minimal_flag_called_events": false, "bucketing_hash": "sha1", "timezone": "Europe/Berlin",
	"static_cohorts": [9], "group_type_mapping": {"0": "company"},
	"cohorts": [
		{"id": 1, "deleted": false, "is_static": false, "cohort_type": "", "filters": {"properties": {"type": "AND", "values": [
			{"key": "plan", "type": "person", "operator": "exact", "value": "pro", "negation": false},
			{"type": "OR", "values": [{"key": "id", "type": "cohort", "operator": "not_in", "value": 9, "negation": true}]}]}}},
		{"id": 2, "filters": {"properties": {"type": "OR", "values": [{"key": "nobody refers to it", "type": "person", "operator": "gt", "value": 3}]}}}],
	"flags": [
		{"id": 2, "key": "g", "active": true, "filters": {"groups": [{"properties": [], "rollout_percentage": 50}]}},
		{
			"id": 1, "key": "f", "name": "", "active": true, "deleted": false, "version": 1, "evaluate_remotely": false, "archived": false, "tags": ["a"],
			"ensure_experience_continuity": false, "bucketing_identifier": "distinct_id", "bucketing_hash": "sha1", "experiment_set": [],
			"evaluation_runtime": "all", "evaluation_contexts": ["a"], "evaluation_tags": ["a"], "evaluation_contexts_match_mode": "any",
			"is_remote_configuration": false, "has_encrypted_payloads": false, "has_experiment": true,
			"filters": {
				"version": 1, "aggregation_group_type_index": 0, "early_exit": false, "feature_enrollment": false,
				"multivariate": {"variants": [{"key": "a", "name": "A", "rollout_percentage": 50}, {"key": "b", "rollout_percentage": 50}]},
				"payloads": {"a": "1"}, "holdout": {"id": 4, "exclusion_percentage": 0},
				"groups": [
					{"rollout_percentage": 10, "variant": "a", "aggregation_group_type_index": 0, "description": "", "sort_key": "a",
						"properties": [{"key": "company", "type": "group", "operator": "exact", "value": "x", "group_type_index": 0, "negation": false}]},
					{"aggregation_group_type_index": null, "properties": [
						{"key": "since", "type": "person", "operator": "is_date_after", "value": "-7d"},
						{"key": "name", "type": "person", "operator": "icontains", "value": "x"},
						{"key": "name", "type": "person", "operator": "icontains_multi", "value": ["x"]},
						{"key": "name", "type": "person", "operator": "regex", "value": "x"},
						{"key": "seats", "type": "person", "operator": "gt", "value": 3},
						{"key": "seats", "type": "person", "operator": "between", "value": [3, 4]},
						{"key": "version", "type": "person", "operator": "semver_gte", "value": "1.2.3"},
						{"key": "g", "type": "flag", "operator": "flag_evaluates_to", "value": true, "dependency_chain": ["g"]},
						{"key": "id", "type": "cohort", "operator": "in", "value": 1}]}]}},
		{"id": 3, "key": "older", "active": true, "filters": {"groups": [],
			"holdout_groups": [{"properties": [], "rollout_percentage": 10, "variant": "holdout-7"}],
			"super_groups": [{"properties": [{"key": "$feature_enrollment/older", "type": "person", "operator": "exact", "value": ["true"]}], "rollout_percentage": 100}]}},
		{"id": 4, "key": "off", "active": false, "filters": {
			"multivariate": {"variants": [{"key": "a", "rollout_percentage": 100}]}, "payloads": {"a": "1"},
			"groups": [{"rollout_percentage": 10, "variant": "a", "properties": [
				{"key": "company", "type": "person", "operator": "starts_with", "value": "x"},
				{"key": "seats", "type": "person", "operator": "lte", "value": 3},
				{"key": "g", "type": "flag", "operator": "flag_evaluates_to", "value": true},
				{"key": "id", "type": "cohort", "operator": "in", "value": 1}]}]}}]}`

// legitimate has the values of another kind that evaluation.md allows, by the place, and
// the kinds with the reason.
var legitimate = []struct{ at, kinds, why string }{
	{`/cohorts`, "null object", "§1.1: none, or an object by ID"},
	{`/(static_cohorts|group_type_mapping|timezone|bucketing_hash|property_matching_version|minimal_flag_called_events)`, "null", "§1.1: null is absent"},
	{`/cohorts/\d/(deleted|is_static|cohort_type)`, "null", "§5.1: null is absent"},
	{`/cohorts/\d/filters`, "null", "§5.5: nobody"},
	{`/flags/\d/(active|archived|bucketing_hash|bucketing_identifier|deleted|ensure_experience_continuity|evaluate_remotely|evaluation_contexts|evaluation_tags|evaluation_contexts_match_mode|evaluation_runtime|experiment_set|has_encrypted_payloads|has_experiment|is_remote_configuration|name|tags|version)`, "null", "§1.2: null is absent"},
	{`/flags/\d/filters/(early_exit|feature_enrollment|groups|holdout|holdout_groups|payloads|super_groups)`, "null", "§1.3: null is absent"},
	{`/flags/[1]/filters/aggregation_group_type_index`, "null", "§1.3: persons"},
	{`/flags/\d/filters/groups/\d/(properties|rollout_percentage|variant)`, "null", "§1.4: null is absent"},
	{`/flags/\d/filters/groups/0/aggregation_group_type_index`, "null", "§1.4: persons"},
	{`/flags/\d/filters/multivariate(/variants)?`, "null", "§1.3: a flag without variants"},
	{`/flags/\d/filters/multivariate/variants/\d/name`, "null", "§1.3: a name or null"},
	{`/flags/\d/filters/groups/\d/(description|sort_key)`, "null boolean number array object", "§1.4: ignored, whatever it is"},
	{`/flags/\d/filters/payloads/a`, "null boolean number array object", "§3.8: any JSON"},
	{`/cohorts/.*/values/\d/(operator|negation)`, "null", "§1.5: null is absent"},
	{`/flags/[01]/filters/groups/\d/properties/[^7]/(operator|negation|group_type_index)|/flags/3/filters/groups/0/properties/[013]/operator`, "null", "§1.5: null is absent"},
	{`/flags/\d/filters/groups/\d/properties/7/dependency_chain`, "null", "§1.5: null is absent"},
	{`/cohorts/0/filters/properties/values/0/value|/flags/1/filters/groups/0/properties/0/value`, "boolean number array object", "§4.4: exact compares with any value"},
	{`/cohorts/0/.*/values/1/values/0/key|/flags/1/.*/properties/8/key|/flags/3/.*/properties/3/key`, "null boolean number array object", "§1.5: the key of a cohort is not looked at"},
	{`/flags/3/filters/groups/0/properties/2/value`, "text", "§7.3: the key of a variant"},
	{`/flags/2/filters/super_groups/0/(rollout_percentage|properties/0/(operator|type|value|value/0))`, "null boolean number text array object", "§3.3: only the key of the filter is looked at"},
	{`/flags/2/filters/holdout_groups/0/properties`, "null boolean number text object", "§13.3: not looked at"},
	{`/flags/2/filters/holdout_groups/0/rollout_percentage`, "null", "§13.3: 100"},
}

// enclosed has the places of which a problem says only in which value they are.
var enclosed = regexp.MustCompile(`/value/\d$|_groups/0|/holdout/|/variants/\d/rollout_percentage`)

// TestEveryKind: each value of each member of a document, replaced by each other kind of
// JSON, is a problem with the line of the value, or legitimate. That holds for flags that
// are off and for cohorts to which nothing refers as well (evaluation.md §1.7).
func TestEveryKind(t *testing.T) {
	var root any
	if err := json.Unmarshal([]byte(whole), &root); err != nil {
		t.Fatal(err)
	}
	for _, p := range compiled(t, whole).Problems() {
		if p.Severity != flags.SeverityNote {
			t.Errorf("the document has a problem: %v", p)
		}
	}
	used := make(map[int]bool)
	n := 0
	others := map[string]any{"null": nil, "boolean": true, "number": 7.5, "text": "x y", "array": []any{"x y"}, "object": map[string]any{"x": 1.0}}
	replaceEach("", root, func(any) {}, func(at string, was any, set func(any)) {
		if at == "" {
			return
		}
		const mark = "\u2020 here \u2020"
		set(mark)
		line := lineOf(t, root, mark)
		for _, kind := range slices.Sorted(maps.Keys(others)) {
			if kindOf(was) == kind {
				continue
			}
			n++
			set(others[kind])
			b, err := json.MarshalIndent(root, "", " ")
			if err != nil {
				t.Fatal(err)
			}
			wanted := line
			if enclosed.MatchString(at) {
				wanted = 0
			}
			found := problemAt(string(b), wanted)
			allowed := -1
			for i, l := range legitimate {
				if strings.Contains(" "+l.kinds+" ", " "+kind+" ") && regexp.MustCompile("^"+l.at+"$").MatchString(at) {
					allowed = i
				}
			}
			switch {
			case found == "" && allowed < 0:
				t.Errorf("%s as %s: no problem in line %d", at, kind, line)
			case found != "" && allowed >= 0:
				t.Errorf("%s as %s is legitimate (%s), and has a problem: %s", at, kind, legitimate[allowed].why, found)
			}
			used[allowed] = used[allowed] || allowed >= 0
		}
	})
	for i, l := range legitimate {
		if !used[i] {
			t.Errorf("the row of %s is not needed", l.at)
		}
	}
	if n < 800 {
		t.Errorf("%d values were tried, want all of the document", n)
	}
}

// problemAt returns an error or a warning about a line of a document, "" if there is none.
// Line 0 is any line.
func problemAt(document string, line int) string {
	find := position.New([]byte(document))
	d, err := flags.Decode(strings.NewReader(document))
	if err != nil {
		return err.Error() // of all of it
	}
	s, err := flags.Compile(d, flags.CompileOptions{})
	if err != nil {
		return err.Error()
	}
	for _, p := range s.Problems() {
		if at := find.Problem(p); p.Severity != flags.SeverityNote && (line == 0 || at.Line == line) {
			return fmt.Sprint(p)
		}
	}
	return ""
}

func lineOf(t *testing.T, root any, mark string) int {
	b, err := json.MarshalIndent(root, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	before, _, ok := strings.Cut(string(b), mark)
	if !ok {
		t.Fatal("the mark is not in the document")
	}
	return 1 + strings.Count(before, "\n")
}

func kindOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case float64:
		return "number"
	case string:
		return "text"
	case []any:
		return "array"
	}
	return "object"
}

// replaceEach calls try for each value within v, with a function that replaces it, and puts
// the value back.
func replaceEach(at string, v any, set func(any), try func(at string, was any, set func(any))) {
	try(at, v, set)
	set(v)
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			member := v[name]
			replaceEach(at+"/"+strings.ReplaceAll(name, "/", "~1"), member, func(other any) { v[name] = other }, try)
		}
	case []any:
		for i, element := range v {
			replaceEach(fmt.Sprintf("%s/%d", at, i), element, func(other any) { v[i] = other }, try)
		}
	}
}

// TestRepeatedMembers: a member that is there twice is an error, and the last one counts
// (evaluation.md §1).
func TestRepeatedMembers(t *testing.T) {
	for _, tt := range []struct{ document, flag, path string }{
		{`{"flags":[],"timezone":"UTC","timezone":"UTC"}`, "", "/timezone"},
		{`{"flags":[{"id":1,"key":"a"}],"flags":[{"id":1,"key":"b"}]}`, "", "/flags"},
		{`{"flags":[],"group_type_mapping":{"0":"a","0":"b"}}`, "", "/group_type_mapping/0"},
		{`{"flags":[],"cohorts":{"1":{},"1":{}}}`, "", "/cohorts/1"},
		{`{"flags":[],"cohorts":{"1":{"is_static":true,"is_static":true}}}`, "", "/cohorts/1/is_static"},
		{`{"flags":[],"cohorts":[{"id":7,"is_static":true,"is_static":true}]}`, "", "/cohorts/0/is_static"},
		{`{"flags":[],"cohorts":{"1":{"type":"OR","values":[],"values":[]}}}`, "", "/cohorts/1/values"},
		{`{"flags":[],"cohorts":{"1":{"filters":{"properties":{"type":"OR","values":[]},"properties":{"type":"OR","values":[]}}}}}`, "", "/cohorts/1/filters/properties"},
		{`{"flags":[{"id":1,"key":"f","active":true,"active":false}]}`, "f", "/active"},
		{`{"flags":[{"id":1,"key":"f","active":true,"\u0061ctive":false}]}`, "f", "/active"},
		{`{"flags":[{"id":1,"key":"f","tags":[],"tags":[]}]}`, "f", "/tags"},
		{`{"flags":[{"id":1,"key":"f","future":1,"future":2}]}`, "f", "/future"},
		{withFilters(`{"groups":[{}],"groups":[]}`), "f", "/filters/groups"},
		{withFilters(`{"groups":[{"variant":null,"variant":null}]}`), "f", "/filters/groups/0/variant"},
		{property(`{"key":"a","type":"person","value":1,"value":2}`), "f", "/filters/groups/0/properties/0/value"},
		{withFilters(`{"groups":[{}],"multivariate":{"variants":null,"variants":null}}`), "f", "/filters/multivariate/variants"},
		{withFilters(`{"groups":[{}],"multivariate":{"variants":[{"key":"a","key":"b","rollout_percentage":100}]}}`), "f", "/filters/multivariate/variants/0/key"},
		{withFilters(`{"groups":[{}],"payloads":{"true":1,"true":2}}`), "f", "/filters/payloads/true"},
		{withFilters(`{"groups":[{}],"holdout":{"id":1,"id":2,"exclusion_percentage":3}}`), "f", "/filters/holdout/id"},
	} {
		var found []flags.Problem
		for _, p := range compiled(t, tt.document).Problems() {
			if p.Severity == flags.SeverityError {
				found = append(found, p)
			}
		}
		if len(found) != 1 || found[0].Flag != tt.flag || found[0].Path != tt.path || !strings.Contains(found[0].Error(), "more than once") {
			t.Errorf("%s: %v, want one error of flag %q at %s", tt.document, found, tt.flag, tt.path)
		}
	}
	s := compiled(t, `{"flags":[{"id":1,"key":"f","active":false,"active":true,"filters":{"groups":[],"groups":[{}]}}]}`)
	if r, err := s.Flag("f", &flags.Request{DistinctID: "u"}); err != nil || !r.Enabled {
		t.Errorf("Flag = %+v, %v; want the last of the members", r, err)
	}
}

// TestEveryFault: a flag with several faults has a problem for each, whether it is on, off,
// or counts as off because of one of them.
func TestEveryFault(t *testing.T) {
	for _, active := range []string{`true`, `false`, `"yes"`, `"true"`, `1`} {
		document := `{"flags":[{"id":1,"key":"f","active":` + active + `,"version":"1","evaluation_runtime":"edge","filters":{"early_exit":"no","groups":[
			{"rollout_percentage":"50"},{"properties":[{"key":"a","type":"person","operator":"foo","value":1,"negation":"no"},{"key":"a","type":"person","operator":"gt","value":"x"}]}]}}]}`
		want := []string{"/version", "/filters/early_exit", "/filters/groups/0/rollout_percentage", "/filters/groups/1/properties/0/negation"}
		if !slices.Contains([]string{"true", "false"}, active) {
			want = append(want, "/active")
		}
		got := make(map[string]bool)
		for _, p := range compiled(t, document).Problems() {
			if p.Severity == flags.SeverityError && p.Flag == "f" {
				got[p.Path] = true
			}
		}
		for _, at := range want {
			if !got[at] {
				t.Errorf("active %s: no error at %s: %v", active, at, got)
			}
		}
	}
	// What is well formed and means nothing is found in a flag that is off, too.
	for _, active := range []string{"true", "false"} {
		s := compiled(t, `{"flags":[{"id":1,"key":"f","active":`+active+`,"evaluation_runtime":"edge","filters":{"multivariate":{"variants":[{"key":"a","rollout_percentage":70},{"key":"b","rollout_percentage":50}]},
			"groups":[{"properties":[{"key":"a","type":"person","operator":"foo","value":1},{"key":"id","type":"cohort","value":9},{"key":"nope","type":"flag","operator":"flag_evaluates_to","value":true}]}]}}]}`)
		got := make(map[string]bool)
		for _, p := range s.Problems() {
			if p.Severity == flags.SeverityError && p.Flag == "f" {
				got[p.Path] = true
			}
		}
		for _, at := range []string{"/evaluation_runtime", "/filters/multivariate/variants", "/filters/groups/0/properties/0/operator", "/filters/groups/0/properties/1/value", "/filters/groups/0/properties/2/key"} {
			if !got[at] {
				t.Errorf("active %s: no error at %s: %v", active, at, got)
			}
		}
	}
}

// TestCohortFaultsOnce: a fault of a cohort is one problem, whoever refers to it.
func TestCohortFaultsOnce(t *testing.T) {
	member := func(id int, active bool) string {
		return fmt.Sprintf(`{"id":%d,"key":"f%d","active":%v,"filters":{"groups":[{"properties":[{"key":"id","type":"cohort","value":1}]}]}}`, id, id, active)
	}
	for name, list := range map[string]string{
		"nobody": "", "on": member(1, true), "off": member(1, false), "two off": member(1, false) + "," + member(2, false), "both": member(1, true) + "," + member(2, false),
	} {
		n := 0
		for _, p := range compiled(t, `{"flags":[`+list+`],"cohorts":{"1":{"type":"XOR","values":[]}}}`).Problems() {
			if p.Flag == "" {
				n++
			}
		}
		if n != 1 {
			t.Errorf("%s: %d problems of the cohort, want one", name, n)
		}
	}
}
