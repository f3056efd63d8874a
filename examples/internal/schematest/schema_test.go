package schematest

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/members"
	"github.com/flagstaff-go/flagstaff/internal/members/memberstest"
	"github.com/flagstaff-go/flagstaff/internal/operators"
)

// root is the folder of the repository.
const root = "../../.."

func read(t testing.TB, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// schema returns the compiled schema.
func schema(t testing.TB) *jsonschema.Schema {
	t.Helper()
	s, err := jsonschema.NewCompiler().Compile(filepath.Join(root, "schema", "flags.json"))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// refusal returns why the schema refuses a document, or nil.
func refusal(t testing.TB, s *jsonschema.Schema, document string) error {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(document))
	if err != nil {
		t.Fatal(err)
	}
	return s.Validate(v)
}

// findings returns the errors that the library finds in a document, and whether it
// notes members that nothing knows.
func findings(document string) (errors []string, unknown bool) {
	d, err := flags.Decode(strings.NewReader(document))
	if err != nil {
		return []string{err.Error()}, false
	}
	s, err := flags.Compile(d, flags.CompileOptions{})
	if err != nil {
		return []string{err.Error()}, false
	}
	for _, p := range s.Problems() {
		switch {
		case p.Severity == flags.SeverityError:
			errors = append(errors, p.Error())
		case p.Severity == flags.SeverityNote && strings.Contains(p.Error(), "unknown member"):
			unknown = true
		}
	}
	return errors, unknown
}

// complete has each member of each kind of object, and problems of no kind.
const complete = `{
	"$schema": "https://example.com/flags.json", "property_matching_version": 2, "minimal_flag_called_events": false,
	"bucketing_hash": "sha1", "timezone": "Europe/Berlin", "static_cohorts": [9], "group_type_mapping": {"0": "company"},
	"cohorts": [{"id": 1, "deleted": false, "is_static": false, "cohort_type": null,
		"filters": {"properties": {"type": "AND", "values": [
			{"key": "plan", "type": "person", "operator": "exact", "value": "pro", "negation": false},
			{"type": "OR", "values": [{"key": "id", "type": "cohort", "operator": "not_in", "value": 9, "negation": true}]}]}}}],
	"flags": [{"id": 2, "key": "g", "active": true, "filters": {"groups": [{}]}}, {
		"id": 1, "key": "f", "name": "", "active": true, "deleted": false, "version": 1, "evaluate_remotely": false,
		"ensure_experience_continuity": false, "bucketing_identifier": "distinct_id", "bucketing_hash": "sha1",
		"evaluation_runtime": "all", "evaluation_contexts": ["a"], "evaluation_contexts_match_mode": "any",
		"is_remote_configuration": false, "has_encrypted_payloads": false, "has_experiment": true,
		"filters": {
			"version": 1, "aggregation_group_type_index": null, "early_exit": false, "feature_enrollment": false,
			"multivariate": {"variants": [{"key": "a", "name": "A", "rollout_percentage": 100}]},
			"payloads": {"a": "1"}, "holdout": {"id": 4, "exclusion_percentage": 0},
			"groups": [{"rollout_percentage": 0, "variant": "a", "aggregation_group_type_index": null, "description": "", "sort_key": "a",
				"properties": [
					{"key": "company", "type": "group", "operator": "exact", "value": "x", "group_type_index": 0, "negation": false},
					{"key": "since", "type": "person", "operator": "is_date_after", "value": "-7d"},
					{"key": "g", "type": "flag", "operator": "flag_evaluates_to", "value": true, "dependency_chain": ["g"]},
					{"key": "id", "type": "cohort", "operator": "in", "value": 1}]}]}}]}`

// Rule sets with each of their members, also without those that files may leave out: of texts, and
// of other types.
const (
	typed = `{"cohorts": {"1": {"key": "plan", "type": "person", "value": "pro"}}, "flags": [
	{"id": 1, "key": "text", "active": true, "filters": {"version": 2, "return_type": "string", "default_value": "none", "rules": [
		{"id": "11111111-1111-4111-8111-111111111111", "rule_type": "targeted_release", "description": "staff", "metadata": {"x": [1]}, "value": "a",
			"targeting": {"properties": [
				{"key": "plan", "type": "person", "operator": "exact", "value": ["pro"], "negation": true, "group_type_index": null, "label": "Plan",
					"case_sensitive": true, "strict_type": true, "must_be_set": true, "any_element": null},
				{"key": "plan", "value": "pro"},
				{"key": "mail", "operator": "icontains_multi", "value": ["@a", "@b"]},
				{"key": "mail", "operator": "ends_with", "value": ".de"}, {"key": "mail", "operator": "regex", "value": "^a"},
				{"key": "age", "operator": "gte", "value": 18}, {"key": "age", "operator": "is_set"},
				{"key": "app", "operator": "semver_gte", "value": "1.2.3"}, {"key": "app", "operator": "semver_wildcard", "value": "1.*"},
				{"key": "since", "operator": "is_date_before", "value": "-7d"},
				{"key": "id", "type": "cohort", "operator": "in", "value": 1, "cohort_name": "pros"},
				{"key": "switch", "type": "flag", "operator": "flag_evaluates_to", "value": true}]}},
		{"rule_type": "percentage_rollout", "seed": "s", "rollout_percentage": 12.5, "on_rollout_miss": "continue", "assignment_algorithm": "sha1_60_v1", "assign_by": "person", "value": "b"},
		{"rule_type": "experiment", "rollout_percentage": 100, "on_rollout_miss": "return_default", "experiment_id": 7, "paused": false,
			"variants": [{"key": "x", "weight": 33.33, "value": "c"}, {"key": "y", "weight": 66.67, "value": "d"}],
			"holdout": {"id": 5, "seed": "h", "exclusion_percentage": 10}}]}},
	{"id": 2, "key": "switch", "active": true, "filters": {"groups": [{}]}}]}`
	others = `{"group_type_mapping": {"0": "company"}, "flags": [
	{"id": 2, "key": "switch", "active": true, "filters": {"version": 2, "return_type": "boolean", "aggregation_group_type_index": 0, "rules": [
		{"rule_type": "targeted_release", "value": true, "targeting": {"properties": [{"key": "size", "type": "group", "operator": "gt", "value": "5", "group_type_index": 0, "group_key_names": {"a": "A"}}]}}]}},
	{"id": 3, "key": "number", "active": true, "filters": {"version": 2, "return_type": "number", "default_value": null, "rules": [
		{"rule_type": "experiment", "rollout_percentage": 50, "experiment_id": null, "paused": true, "holdout": {"id": null, "exclusion_percentage": 0},
			"variants": [{"key": "x", "weight": 50, "value": 0}, {"key": "y", "weight": 50, "value": 1.5}]}]}},
	{"id": 4, "key": "object", "active": true, "filters": {"version": 2, "return_type": "object", "default_value": {}, "rules": [
		{"rule_type": "split", "split": {"hash": "murmur3_32", "hash_seed": "7", "modulus": "100", "prefix": "p", "suffix": "", "subject": null,
			"ends": ["10", "100"], "values": [{"a": [1, null, ""]}, {}], "rest": "last", "no_subject": "first"}}]}}]}`
)

// older has forms that have newer ones, and cohorts of other forms.
const older = `{
	"count": 1, "next": null,
	"cohorts": {
		"1": {"OR": [{"AND": [{"key": "plan", "type": "person", "value": "pro"}]}, {"key": "seats", "type": "person", "operator": "min", "value": 3}]},
		"3": {"type": "property", "values": [{"key": "bought", "type": "behavioral", "value": "performed_event", "event_type": "events", "operator": "gte"}]},
		"4": {"is_static": true}, "5": {}, "6": {"key": "plan", "type": "person", "value": "pro"}},
	"flags": [{
		"id": 1, "key": "f", "active": true, "evaluation_tags": ["a"], "team_id": 7, "tags": [], "created_by": {"id": 1},
		"filters": {
			"holdout_groups": [{"properties": [], "rollout_percentage": 10, "variant": "holdout-7"}],
			"super_groups": [{"properties": [{"key": "$feature_enrollment/f", "type": "person", "operator": "exact", "value": ["true"]}], "rollout_percentage": 100}],
			"groups": [{"users_affected": 3, "properties": [
				{"key": "id", "type": "cohort", "value": 1, "cohort_name": "x"}, {"key": "id", "type": "cohort", "value": "4"},
				{"key": "id", "type": "cohort", "value": 4},
				{"key": "id", "type": "cohort", "value": 5}, {"key": "id", "type": "cohort", "value": 6}]}]}}]}`

// A difference is a rule of which the schema and the library know only one: what JSON Schema
// cannot say, and what the library does not look at. These are all.
type difference struct {
	rule     string
	document string
	found    string // part of the library's error, "" if only the schema refuses
}

func flag(filters string) string {
	return `{"flags": [{"id": 1, "key": "f", "active": true, "filters": ` + filters + `}]}`
}

// ruled is a flag with a rule of a rule set.
func ruled(rule string) string {
	return flag(`{"version": 2, "return_type": "string", "rules": [` + rule + `]}`)
}

// ofRule is a flag with a filter of a rule.
func ofRule(filter string) string {
	return ruled(`{"rule_type": "targeted_release", "value": "a", "targeting": {"properties": [` + filter + `]}}`)
}

func property(filter string) string { return flag(`{"groups": [{"properties": [` + filter + `]}]}`) }

var differences = []difference{
	{"keys are unique", `{"flags": [{"id": 1, "key": "f"}, {"id": 2, "key": "f"}]}`, "another flag has the same key"},
	{"keys are unique", ruled(strings.TrimSuffix(strings.Repeat(`{"id": "11111111-1111-4111-8111-111111111111", "rule_type": "targeted_release", "value": "a"},`, 2), ",")), "another rule has the ID"},
	{"the flags and cohorts that filters name exist", property(`{"key": "g", "type": "flag", "operator": "flag_evaluates_to", "value": true}`), "does not exist"},
	{"the flags and cohorts that filters name exist", property(`{"key": "id", "type": "cohort", "operator": "in", "value": 7}`), "does not exist"},
	{"nothing depends on itself", property(`{"key": "f", "type": "flag", "operator": "flag_evaluates_to", "value": true}`), "dependency cycle"},
	{"nothing depends on itself", `{"cohorts": {"1": {"key": "id", "type": "cohort", "value": 1}}, "flags": [{"id": 1, "key": "f", "active": true, "filters": {"groups": [{"properties": [{"key": "id", "type": "cohort", "value": 1}]}]}}]}`, "refers to itself"},
	{"a flag does not depend on one that is off", `{"flags": [{"id": 1, "key": "f", "active": true, "filters": {"groups": [{"properties": [{"key": "g", "type": "flag", "operator": "flag_evaluates_to", "value": true}]}]}}, {"id": 2, "key": "g"}]}`, "is inactive and"},
	{"types of groups exist", flag(`{"groups": [{}], "aggregation_group_type_index": 3}`), "the group type does not exist"},
	{"types of groups exist", property(`{"key": "p", "type": "group", "value": "x"}`), "the filter reads no known group"},
	{"cohorts of flags do not ask what somebody did", `{"cohorts": {"1": {"type": "AND", "values": [{"key": "bought", "type": "behavioral", "value": "performed_event"}]}}, "flags": [{"id": 1, "key": "f", "active": true, "filters": {"groups": [{"properties": [{"key": "id", "type": "cohort", "value": 1}]}]}}]}`, "asks what somebody did"},
	{"weights of variants add up to 100", flag(`{"groups": [{}], "multivariate": {"variants": [{"key": "a", "rollout_percentage": 70}, {"key": "b", "rollout_percentage": 50}]}}`), "the shares of the variants sum to "},
	{"weights of variants add up to 100", ruled(`{"rule_type": "experiment", "rollout_percentage": 100, "experiment_id": null, "paused": false, "variants": [{"key": "a", "weight": 50, "value": "a"}, {"key": "b", "weight": 49.99, "value": "b"}]}`), "the weights add up to"},
	{"keys of variants are unique, and what names one is right", ruled(`{"rule_type": "experiment", "rollout_percentage": 100, "experiment_id": null, "paused": false, "variants": [{"key": "b", "weight": 50, "value": "a"}, {"key": "b", "weight": 50, "value": "b"}]}`), "another variant of the rule has the key"},
	{"keys of variants are unique, and what names one is right", flag(`{"groups": [{}], "multivariate": {"variants": [{"key": "a", "rollout_percentage": 50}, {"key": "a", "rollout_percentage": 50}]}}`), "two variants have the same key"},
	{"keys of variants are unique, and what names one is right", flag(`{"groups": [{"variant": "a"}]}`), "the pinned variant does not exist"},
	{"keys of variants are unique, and what names one is right", flag(`{"groups": [{}], "payloads": {"a": 1}}`), "the flag never has this value"},
	{"payloads that are text contain JSON", flag(`{"groups": [{}], "payloads": {"true": "text"}}`), "a text that does not contain JSON"},
	{"members are there once", `{"flags": [], "timezone": "UTC", "timezone": "UTC"}`, "more than once"},
	{"members are there once", ruled(`{"rule_type": "targeted_release", "value": "a", "metadata": {"a": 1, "a": 1}}`), "the object has the member twice"},
	{"patterns can be compiled", ofRule(`{"key": "p", "operator": "regex", "value": "("}`), "pattern"},
	{"patterns can be compiled", property(`{"key": "p", "type": "person", "operator": "regex", "value": "("}`), "pattern"},
	{"dates are dates", property(`{"key": "p", "type": "person", "operator": "is_date_after", "value": "soon"}`), "wrong value for operator is_date_"},
	{"dates are dates", ofRule(`{"key": "p", "operator": "is_date_after", "value": "soon"}`), "want a date, or a span"},
	{"numbers and versions in text can be read", ofRule(`{"key": "p", "operator": "semver_eq", "value": "x"}`), "want a version such as"},
	{"numbers and versions in text can be read", property(`{"key": "p", "type": "person", "operator": "gt", "value": "x"}`), "wrong value for operator"},
	{"the time zone exists", `{"flags": [], "timezone": "Europe/Atlantis"}`, "unknown time zone"},
	{"limits of size and number", `{"flags": [], "group_type_mapping": {"1048577": "company"}}`, "want a group type index"},
	{"limits of size and number", flag(`{"version": 2, "return_type": "object", "default_value": ` + strings.Repeat(`{"a":`, 21) + `1` + strings.Repeat(`}`, 21) + `, "rules": []}`), "want at most 20 levels"},
	{"limits of size and number", ruled(`{"rule_type": "targeted_release", "value": "a", "metadata": {"a": 1e-400}}`), "the number is too large or too small"},
	{"limits of size and number", ruled(`{"rule_type": "split", "split": {"hash": "crc32", "ends": ["18446744073709551616"], "values": ["a"], "rest": "last", "no_subject": "first"}}`), "want an unsigned integer"},
	{"percentages of rules have two decimals", ruled(`{"rule_type": "percentage_rollout", "value": "a", "rollout_percentage": 12.345}`), "want at most two decimals"},
	{"ends of splits ascend, one for each value", ruled(`{"rule_type": "split", "split": {"hash": "crc32", "ends": ["2", "1"], "values": ["a", "b"], "rest": "last", "no_subject": "first"}}`), "want numbers in ascending order"},
	{"ends of splits ascend, one for each value", ruled(`{"rule_type": "split", "split": {"hash": "crc32", "ends": ["2"], "values": ["a", "b"], "rest": "last", "no_subject": "first"}}`), "want one for each value"},
	{"groups of older cohorts", `{"flags": [], "cohorts": [{"id": 1, "groups": [{}]}]}`, "defines nothing"},
	{"members that nothing knows", property(`{"key": "p", "type": "person", "operator": "is_set", "mood": 1}`), ""},
	{"what is deleted", `{"flags": [{"id": 1, "key": "f", "deleted": true, "filters": {"groups": 7}}]}`, ""},
}

// TestDifferences: the differences exist.
func TestDifferences(t *testing.T) {
	s := schema(t)
	for _, d := range differences {
		refused := refusal(t, s, d.document)
		errors, _ := findings(d.document)
		if d.found == "" && (refused == nil || len(errors) > 0) || d.found != "" && (refused != nil || len(errors) == 0 || !strings.Contains(strings.Join(errors, "\n"), d.found)) {
			t.Errorf("%s: the schema says %v, and the library %q: %s", d.rule, refused, errors, d.document)
		}
	}
}

// compare reports whether the schema and the library agree about a document, apart from
// the differences above.
func compare(t *testing.T, s *jsonschema.Schema, name, document string) (refused bool) {
	t.Helper()
	err := refusal(t, s, document)
	errors, unknown := findings(document)
	switch {
	case err != nil && len(errors) == 0 && !unknown && !unused(document):
		t.Errorf("%s: only the schema refuses it: %v\n%s", name, err, document)
	case err == nil && len(errors) > 0:
		for _, text := range errors {
			if !slices.ContainsFunc(differences, func(d difference) bool { return d.found != "" && strings.Contains(text, d.found) }) {
				t.Errorf("%s: only the library refuses it: %s\n%s", name, text, document)
			}
		}
	}
	return err != nil
}

// unused reports whether a document has flags at which the library does not look.
func unused(document string) bool {
	d, err := flags.Decode(strings.NewReader(document))
	return err == nil && slices.ContainsFunc(d.Flags, func(f flags.Flag) bool { return f.Deleted })
}

// documents returns documents of the repository by their names, without those that are
// wrong on purpose.
func documents(t *testing.T) map[string]string {
	t.Helper()
	list := map[string]string{"complete": complete, "older": older, "typed": typed, "others": others}
	for i, m := range regexp.MustCompile("(?s)```json\n(\\{.*?)```").FindAllStringSubmatch(read(t, "docs/definitions.md"), -1) {
		list[fmt.Sprintf("definitions.md %d", i)] = m[1]
	}
	for _, name := range []string{
		"examples/inprocess/flags.json", "examples/openfeature/flags.json", "examples/typed/shop/flags.json", "cmd/flagstaff/serve/demo.json",
	} {
		list[name] = read(t, name)
	}
	return list
}

// TestDocuments: the schema and the library accept the documents of the repository.
func TestDocuments(t *testing.T) {
	s := schema(t)
	for name, document := range documents(t) {
		errors, unknown := findings(document)
		if err := refusal(t, s, document); err != nil || len(errors) > 0 || unknown {
			t.Errorf("%s: the schema says %v, and the library %q; unknown members: %v", name, err, errors, unknown)
		}
	}
}

// TestServed: the schema and the library agree about what the server gives to SDKs, of
// flags that are wrong on purpose.
func TestServed(t *testing.T) {
	s := schema(t)
	for _, name := range []string{"definitions.json", "definitions-inlined.json"} {
		compare(t, s, name, read(t, "flags/wire/testdata/golden/"+name))
	}
}

// TestMutations: the schema and the library agree about documents in which one value is
// missing or another one, and about misspelt names.
func TestMutations(t *testing.T) {
	s := schema(t)
	n, refused := 0, 0
	for name, document := range documents(t) {
		if strings.HasSuffix(name, "/demo.json") {
			continue // it is long, and has nothing that the others lack
		}
		var root any
		if err := json.Unmarshal([]byte(document), &root); err != nil {
			t.Fatal(err)
		}
		try := func(how string) {
			b, err := json.Marshal(root)
			if err != nil {
				t.Fatal(err)
			}
			n++
			if compare(t, s, name+how, string(b)) {
				refused++
			}
		}
		mutate("", root, func(v any) { root = v }, try)
	}
	for wrong := range memberstest.Misspelt(complete, "0", "a") {
		n++
		if !compare(t, s, wrong.String(), wrong.Document) {
			t.Errorf("the schema accepts %s: %s", wrong, wrong.Document)
		}
	}
	t.Logf("%d documents, %d refused", n, refused)
	if n < 3000 || refused < n/4 || refused > n*9/10 {
		t.Errorf("%d of %d documents were refused, want many of both kinds", refused, n)
	}
}

// mutate replaces a value, and each value within it, by others, and leaves out each
// member, one at a time. set stores the value, and try is called for each mutation.
func mutate(at string, v any, set func(any), try func(how string)) {
	for _, other := range []any{
		nil, true, false, 7.0, -1.0, 0.5, "x", "", "7", []any{}, []any{7.0}, []any{"x"}, map[string]any{}, map[string]any{"x": 7.0},
	} {
		set(other)
		try(fmt.Sprintf(" with %v (%T) at %s", other, other, at))
	}
	set(v)
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			member, at := v[name], at+"/"+name
			mutate(at, member, func(other any) { v[name] = other }, try)
			delete(v, name)
			try(" without " + at)
			v[name] = member
		}
	case []any:
		for i, element := range v {
			mutate(fmt.Sprintf("%s/%d", at, i), element, func(other any) { v[i] = other }, try)
		}
	}
}

// TestMembers: the schema has the members that the library knows, with descriptions of
// those that decide something, and the operators with theirs.
func TestMembers(t *testing.T) {
	type object struct {
		Description       string
		Properties        map[string]struct{ Description, Ref string }
		PatternProperties map[string]bool
	}
	var file struct {
		object
		Defs map[string]json.RawMessage `json:"$defs"`
	}
	text := read(t, "schema/flags.json")
	if err := json.Unmarshal([]byte(strings.ReplaceAll(text, `"$ref"`, `"Ref"`)), &file); err != nil {
		t.Fatal(err)
	}
	define := func(name string) (o object) {
		if err := json.Unmarshal(file.Defs[name], &o); err != nil {
			t.Fatal(err)
		}
		return o
	}
	for _, tt := range []struct {
		name  string
		o     object
		shape *members.Shape
	}{
		{"the document", file.object, members.Document},
		{"flag", define("flag"), members.Flag},
		{"filters", define("filters"), members.Filters},
		{"condition", define("condition"), members.Condition},
		{"filter", define("filter"), members.Filter},
		{"variant", define("variant"), members.Variant},
		{"record", define("record"), members.Cohort},
		{"group", define("group"), members.Node},
	} {
		var got []string
		for name, p := range tt.o.Properties {
			got = append(got, name)
			if p.Description == "" && p.Ref == "" {
				t.Errorf("%s: %s has no description", tt.name, name)
			}
		}
		for pattern := range tt.o.PatternProperties {
			got = append(got, strings.Split(strings.Trim(pattern, "^()$"), "|")...)
		}
		slices.Sort(got)
		want := tt.shape.Members()
		slices.Sort(want)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("members of %s (-want +got):\n%s", tt.name, diff)
		}
		for _, name := range tt.shape.Deciding() {
			if _, ok := tt.o.Properties[name]; !ok {
				t.Errorf("%s: %s has no place among properties", tt.name, name)
			}
		}
	}

	for _, name := range []string{"ruleset", "rule", "rulecomparison"} {
		properties := define(name).Properties
		for member, p := range properties {
			if p.Description == "" && p.Ref == "" {
				t.Errorf("%s: %s has no description", name, member)
			}
		}
		if len(properties) < 5 {
			t.Errorf("%s has %d members", name, len(properties))
		}
	}

	var filter struct {
		Properties struct {
			Operator struct {
				AnyOf []struct{ Const, Description string }
			}
		}
	}
	if err := json.Unmarshal(file.Defs["filter"], &filter); err != nil {
		t.Fatal(err)
	}
	var want, got []string
	for o := range operators.All() {
		want = append(want, o.Name)
	}
	constants := read(t, "flags/operator/operator.go")
	for _, o := range filter.Properties.Operator.AnyOf {
		if o.Const == "" {
			continue // older names, and none
		}
		got = append(got, o.Const)
		if comment := regexp.MustCompile(`// (.*)\n\t\w+ = "` + o.Const + `"`).FindStringSubmatch(constants); comment == nil || comment[1] != o.Description {
			t.Errorf("the description of %s is %q, the comment of its constant %q", o.Const, o.Description, comment)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("operators (-want +got):\n%s", diff)
	}
}
