package judge_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/internal/judge"
)

// project is the project of most tests. The flag under test has the id 1 and the
// key new.
func project() storedProject {
	depends := func(key string) json.RawMessage {
		return fmt.Appendf(nil, `{"groups":[{"properties":[{"key":%q,"type":"flag","operator":"flag_evaluates_to","value":true}]}]}`, key)
	}
	tree := func(leaves string) json.RawMessage {
		return []byte(`{"properties":{"type":"OR","values":[{"type":"AND","values":[` + leaves + `]}]}}`)
	}
	return storedProject{
		Flags: []storedFlag{
			{ID: 2, Key: "base", Active: true, Filters: []byte(`{"groups":[{}]}`)},
			{ID: 3, Key: "off", Filters: []byte(`{"groups":[{}]}`)},
			{ID: 4, Key: "above", Active: true, Filters: depends("5")},
			{ID: 5, Key: "below", Active: true, Filters: depends("1")},
			{ID: 6, Key: "by-key", Active: true, Filters: depends("new")},
			{ID: 7, Key: "2", Active: true},
			{ID: 8, Key: "88", Active: true},
			{ID: 9, Key: "broken", Active: true, Filters: []byte(`{"groups":`)},
		},
		Cohorts: []storedCohort{
			{ID: 10, Filters: tree(`{"key":"plan","type":"person","value":"pro"}`)},
			{ID: 11, Static: true, Filters: tree(`{"key":"$pageview","type":"behavioral","value":"performed_event"}`)},
			{ID: 12, Filters: tree(`{"key":"$pageview","type":"behavioral","value":"performed_event"}`)},
			{ID: 13, Filters: tree(`{"key":"id","type":"cohort","value":12},{"key":"id","type":"cohort","value":10}`)},
			{ID: 14, Filters: tree(`{"key":"id","type":"cohort","value":99}`)},
			{ID: 15, Filters: tree(`{"key":"a","type":"person","operator":"nonsense","value":1}`)},
			{ID: 16, Filters: tree(`{"key":"id","type":"cohort","value":10,"negation":true}`)},
		},
	}
}

func newWorld() *judge.References { return worldOf(project()) }

var subject = judge.Subject{ID: 1, Key: "new"}

// outcome shows what a function of the package returned.
func outcome(out json.RawMessage, err error) string {
	if err == nil {
		return string(out)
	}
	e, ok := errors.AsType[*judge.Error](err)
	switch {
	case !ok:
		return "no fault: " + err.Error()
	case out != nil:
		return "value beside an error: " + string(out)
	}
	text := e.Detail
	if e.Path != nil {
		text = strings.Join(e.Path, "/") + ": " + text
	}
	return e.Attr + " " + e.Code + " " + text
}

func property(p string) string { return `{"groups":[{"properties":[` + p + `]}]}` }

// management.md §13.5, and evaluation.md §1: what is accepted, and how it is stored.
func TestFiltersNormalizes(t *testing.T) {
	const (
		plain = `{"groups":[{"properties":[]}]}`
		two   = `"multivariate":{"variants":[{"key":"a","rollout_percentage":50},{"key":"b","rollout_percentage":50}]}`
	)
	w := newWorld()
	for _, tt := range []struct{ name, raw, want string }{
		{"nothing", `{}`, `{"groups":[]}`},
		{"no groups", `{"groups":[]}`, `{"groups":[]}`},
		{"empty group", ` { "groups" : [ { } ] } `, plain},
		{"nulls", `{"groups":[{"properties":null,"rollout_percentage":null,"variant":null}],"multivariate":null,"payloads":null,"holdout":null,"early_exit":null,` +
			`"feature_enrollment":null,"aggregation_group_type_index":null,"super_groups":null,"holdout_groups":null}`, plain},
		{
			"unknown members", `{"x":1,"groups":[{"y":[2],"users_affected":3,"properties":[{"key":"a","value":1,"type":"person","label":"A","cohort_name":"B","group_key_names":{}}]}]}`,
			property(`{"key":"a","value":1,"type":"person"}`),
		},
		{"display", `{"groups":[{"sort_key":"k","description":"Everybody"}]}`, `{"groups":[{"properties":[],"description":"Everybody","sort_key":"k"}]}`},
		{"display of other types", `{"groups":[{"sort_key":1,"description":null}]}`, plain},
		{"the last of duplicates", `{"groups":[{"rollout_percentage":1,"rollout_percentage":2}],"groups":[{"rollout_percentage":3,"rollout_percentage":4}]}`, `{"groups":[{"properties":[],"rollout_percentage":4}]}`},
		{
			"percentages", `{"groups":[{"rollout_percentage":0},{"rollout_percentage":100.0},{"rollout_percentage":12.50},{"rollout_percentage":5e-1},{"rollout_percentage":-0}]}`,
			`{"groups":[{"properties":[],"rollout_percentage":0},{"properties":[],"rollout_percentage":100},{"properties":[],"rollout_percentage":12.5},{"properties":[],"rollout_percentage":0.5},{"properties":[],"rollout_percentage":0}]}`,
		},
		{"switches", `{"early_exit":true,"feature_enrollment":false,"groups":[{}]}`, `{"groups":[{"properties":[]}],"early_exit":true,"feature_enrollment":false}`},
		{"holdout", `{"groups":[{}],"holdout":{"exclusion_percentage":10,"id":4e1,"x":1}}`, `{"groups":[{"properties":[]}],"holdout":{"id":40,"exclusion_percentage":10}}`},

		{"numeric key", property(`{"key":12,"value":"x","type":"person"}`), property(`{"key":"12","value":"x","type":"person"}`)},
		{"null operator", property(`{"key":"a","value":"x","type":"person","operator":null}`), property(`{"key":"a","value":"x","type":"person"}`)},
		{"exact", property(`{"key":"a","value":"x","type":"person","operator":"exact"}`), property(`{"key":"a","value":"x","operator":"exact","type":"person"}`)},
		{"min", property(`{"key":"a","value":1,"type":"person","operator":"min"}`), property(`{"key":"a","value":1,"operator":"gte","type":"person"}`)},
		{"max", property(`{"key":"a","value":"1","type":"person","operator":"max"}`), property(`{"key":"a","value":"1","operator":"lte","type":"person"}`)},
		{"numbers as written", property(`{"key":"a","value":[1,1.0,1e3,12345678901234567890123],"type":"person"}`), property(`{"key":"a","value":[1,1.0,1e3,12345678901234567890123],"type":"person"}`)},
		{
			"any value", property(`{"key":"a","value":[ null, {"b" : "\u00e9<\/>", "b":2, "a":[]}, "\ud800" ],"type":"person","operator":"is_not"}`),
			property(`{"key":"a","value":[null,{"b":2,"a":[]},"�"],"operator":"is_not","type":"person"}`),
		},
		{"HTML", property(`{"key":"<a>","value":"\u003cb\u003e&","type":"person"}`), property(`{"key":"<a>","value":"<b>&","type":"person"}`)},
		{"is_set", property(`{"key":"a","type":"person","operator":"is_set"}`), property(`{"key":"a","operator":"is_set","type":"person"}`)},
		{"is_not_set with a value", property(`{"key":"a","type":"person","operator":"is_not_set","value":"is_not_set"}`), property(`{"key":"a","value":"is_not_set","operator":"is_not_set","type":"person"}`)},
		{"contains", property(`{"key":"a","type":"person","operator":"icontains","value":""}`), property(`{"key":"a","value":"","operator":"icontains","type":"person"}`)},
		{"contains one of", property(`{"key":"a","type":"person","operator":"not_icontains_multi","value":["x","y"]}`), property(`{"key":"a","value":["x","y"],"operator":"not_icontains_multi","type":"person"}`)},
		{"begins with", property(`{"key":"a","type":"person","operator":"starts_with","value":"x"}`), property(`{"key":"a","value":"x","operator":"starts_with","type":"person"}`)},
		{"pattern", property(`{"key":"a","type":"person","operator":"regex","value":"^\\d+@acme\\.example$"}`), property(`{"key":"a","value":"^\\d+@acme\\.example$","operator":"regex","type":"person"}`)},
		{"between", property(`{"key":"a","type":"person","operator":"between","value":[1,"5"]}`), property(`{"key":"a","value":[1,"5"],"operator":"between","type":"person"}`)},
		{"date", property(`{"key":"a","type":"person","operator":"is_date_before","value":"2024-06-01"}`), property(`{"key":"a","value":"2024-06-01","operator":"is_date_before","type":"person"}`)},
		{"date without a year", property(`{"key":"a","type":"person","operator":"is_date_before","value":"May 6 at 9:24 PM"}`), property(`{"key":"a","value":"May 6 at 9:24 PM","operator":"is_date_before","type":"person"}`)},
		{"relative date", property(`{"key":"a","type":"person","operator":"is_date_after","value":"-7d"}`), property(`{"key":"a","value":"-7d","operator":"is_date_after","type":"person"}`)},
		{"version", property(`{"key":"a","type":"person","operator":"semver_neq","value":"v1.2"}`), property(`{"key":"a","value":"v1.2","operator":"semver_neq","type":"person"}`)},
		{"versions", property(`{"key":"a","type":"person","operator":"semver_wildcard","value":"1.*"}`), property(`{"key":"a","value":"1.*","operator":"semver_wildcard","type":"person"}`)},
		{"metadata", property(`{"key":"created_at","type":"person_metadata","operator":"is_date_after","value":"-7d"}`), property(`{"key":"created_at","value":"-7d","operator":"is_date_after","type":"person_metadata"}`)},
		{"negation", property(`{"key":"a","type":"person","value":1,"negation":true}`), property(`{"key":"a","value":1,"type":"person","negation":true}`)},
		{"no negation", property(`{"key":"a","type":"person","value":1,"negation":false,"group_type_index":null}`), property(`{"key":"a","value":1,"type":"person"}`)},

		{"cohort", property(`{"key":"id","type":"cohort","value":10}`), property(`{"key":"id","value":10,"type":"cohort"}`)},
		{"not in a cohort, by text", property(`{"key":"id","type":"cohort","value":"10","operator":"not_in"}`), property(`{"key":"id","value":10,"operator":"not_in","type":"cohort"}`)},
		{"static cohort", property(`{"key":"id","type":"cohort","value":11,"operator":"in"}`), property(`{"key":"id","value":11,"operator":"in","type":"cohort"}`)},

		{"dependency", property(`{"key":"2","type":"flag","operator":"flag_evaluates_to","value":true}`), property(`{"key":"2","value":true,"operator":"flag_evaluates_to","type":"flag"}`)},
		{"dependency by number", property(`{"key":2,"type":"flag","operator":"flag_evaluates_to","value":false}`), property(`{"key":"2","value":false,"operator":"flag_evaluates_to","type":"flag"}`)},
		{"dependency by key", property(`{"key":"base","type":"flag","operator":"flag_evaluates_to","value":"x"}`), property(`{"key":"2","value":"x","operator":"flag_evaluates_to","type":"flag"}`)},
		{"dependency by a key of digits", property(`{"key":"88","type":"flag","operator":"flag_evaluates_to","value":true}`), property(`{"key":"8","value":true,"operator":"flag_evaluates_to","type":"flag"}`)},
		{"dependency with a chain", property(`{"key":"2","dependency_chain":["2"],"type":"flag","operator":"flag_evaluates_to","value":true}`), property(`{"key":"7","value":true,"operator":"flag_evaluates_to","type":"flag"}`)},
		{"dependency without a chain", property(`{"key":"2","dependency_chain":null,"type":"flag","operator":"flag_evaluates_to","value":true}`), property(`{"key":"2","value":true,"operator":"flag_evaluates_to","type":"flag"}`)},
		{"dependency that cannot be read", property(`{"key":"9","type":"flag","operator":"flag_evaluates_to","value":true}`), property(`{"key":"9","value":true,"operator":"flag_evaluates_to","type":"flag"}`)},

		{
			"group", `{"aggregation_group_type_index":0,"groups":[{"properties":[{"key":"plan","type":"group","value":"x"}]}]}`,
			`{"groups":[{"properties":[{"key":"plan","value":"x","type":"group","group_type_index":0}]}],"aggregation_group_type_index":0}`,
		},
		{
			"group and flag", `{"aggregation_group_type_index":1,"groups":[{"properties":[{"key":"plan","type":"group","group_type_index":1.0,"value":"x"},{"key":"base","type":"flag","operator":"flag_evaluates_to","value":true}]}]}`,
			`{"groups":[{"properties":[{"key":"plan","value":"x","type":"group","group_type_index":1},{"key":"2","value":true,"operator":"flag_evaluates_to","type":"flag"}]}],"aggregation_group_type_index":1}`,
		},
		{
			"mixed (evaluation.md §6.4)", `{"groups":[{"aggregation_group_type_index":0,"properties":[{"key":"plan","type":"group","value":"x"}]},{"aggregation_group_type_index":null,"properties":[{"key":"plan","type":"person","value":"x"}]}]}`,
			`{"groups":[{"properties":[{"key":"plan","value":"x","type":"group","group_type_index":0}],"aggregation_group_type_index":0},{"properties":[{"key":"plan","value":"x","type":"person"}],"aggregation_group_type_index":null}]}`,
		},

		{
			"variants", `{"groups":[{"variant":"a/1.x_-"}],"multivariate":{"variants":[{"key":"a/1.x_-","name":"","rollout_percentage":33.33},{"key":"b","name":"B","rollout_percentage":33.33,"x":1},{"key":"c","name":null,"rollout_percentage":33.34}],"y":2}}`,
			`{"groups":[{"properties":[],"variant":"a/1.x_-"}],"multivariate":{"variants":[{"key":"a/1.x_-","name":"","rollout_percentage":33.33},{"key":"b","name":"B","rollout_percentage":33.33},{"key":"c","rollout_percentage":33.34}]}}`,
		},
		{"payload", `{"groups":[{}],"payloads":{"true":" {\"a\": 1} "}}`, `{"groups":[{"properties":[]}],"payloads":{"true":" {\"a\": 1} "}}`},
		{"payload of an object", `{"groups":[{}],"payloads":{"true":{"b": "x\"y", "a": 1.0}}}`, `{"groups":[{"properties":[]}],"payloads":{"true":"{\"b\":\"x\\\"y\",\"a\":1.0}"}}`},
		{
			"payloads of other types", `{"groups":[{}],"payloads":{"b":false,"a":[ 1 ]},` + two + `}`,
			`{"groups":[{"properties":[]}],` + two + `,"payloads":{"a":"[1]","b":"false"}}`,
		},
		{"no payload", `{"groups":[{}],"payloads":{"true":null,"x":null}}`, plain},

		{
			"legacy early access", `{"groups":[{}],"super_groups":[{"properties":[{"key":"$feature_enrollment/new","type":"person","operator":"exact","value":["true"]}],"rollout_percentage":100}]}`,
			`{"groups":[{"properties":[]}],"feature_enrollment":true}`,
		},
		{
			"legacy early access, switched off", `{"groups":[{}],"feature_enrollment":false,"super_groups":[{"properties":[{"key":"$feature_enrollment/new","type":"person","operator":"exact","value":["true"]}]}]}`,
			`{"groups":[{"properties":[]}],"feature_enrollment":false}`,
		},
		{"super groups of another kind", `{"groups":[{}],"super_groups":[{"properties":[{"key":"$feature_enrollment/other","type":"person","value":["true"]}]}]}`, plain},
		{
			"legacy holdout", `{"groups":[{}],"holdout_groups":[{"properties":[],"rollout_percentage":10,"variant":"holdout-42"}]}`,
			`{"groups":[{"properties":[]}],"holdout":{"id":42,"exclusion_percentage":10}}`,
		},
		{
			"legacy holdout out of range", `{"groups":[{}],"holdout_groups":[{"rollout_percentage":1000,"variant":"holdout-42"}]}`,
			`{"groups":[{"properties":[]}],"holdout":{"id":42,"exclusion_percentage":100}}`,
		},
		{
			"both holdouts", `{"groups":[{}],"holdout":{"id":1,"exclusion_percentage":2},"holdout_groups":[{"rollout_percentage":10,"variant":"holdout-42"}]}`,
			`{"groups":[{"properties":[]}],"holdout":{"id":1,"exclusion_percentage":2}}`,
		},
		{"holdout groups of another kind", `{"groups":[{}],"holdout_groups":[{"variant":"x"}]}`, plain},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out, err := readAndJudge([]byte(tt.raw), subject, w)
			if diff := cmp.Diff(tt.want, outcome(out, err)); diff != "" {
				t.Errorf("Filters (-want +got)\n%s", diff)
			}
			again, err := readAndJudge(out, subject, w)
			if diff := cmp.Diff(string(out), outcome(again, err)); diff != "" {
				t.Errorf("once more (-first +second)\n%s", diff)
			}
		})
	}
}

// management.md §13.5: what is refused, and how that is said.
func TestFiltersRefuses(t *testing.T) {
	w := newWorld()
	variants := func(list string) string { return `{"groups":[{}],"multivariate":{"variants":[` + list + `]}}` }
	const a, b = `{"key":"a","rollout_percentage":50}`, `{"key":"b","rollout_percentage":50}`
	flag := func(key string) string {
		return property(`{"key":` + key + `,"type":"flag","operator":"flag_evaluates_to","value":true}`)
	}
	cohort := func(id string) string { return property(`{"key":"id","type":"cohort","value":` + id + `}`) }
	compared := func(operator, value string) string {
		return property(`{"key":"a","type":"person","operator":"` + operator + `","value":` + value + `}`)
	}
	const at = "groups/0/properties/0/"
	for _, tt := range []struct{ name, raw, want string }{
		{"no JSON", `{`, "not valid JSON: offset 1: unexpected end of input where a member name should begin"},
		{"nothing", ``, "not valid JSON: offset 0"},
		{"trailing data", `{} {}`, "not valid JSON: offset 3: unexpected character '{' after the value"},
		{"NaN", `{"groups":[{"rollout_percentage":NaN}]}`, "not valid JSON: offset 33: unexpected character 'N' where a value should begin"},
		{"list", `[]`, "must be an object, not an array: []"},
		{"too deep", `{"groups":[{"label":` + strings.Repeat("[", 64) + strings.Repeat("]", 64) + `}]}`, "must be JSON of at most 64 levels"},
		{"too large", `{"groups":[{"label":"` + strings.Repeat("x", 256<<10) + `"}]}`, "must have at most 262144 bytes, not "},
		{"too large when stored", `{"groups":[` + strings.Repeat(`{"properties":[{"key":"a","type":"person","value":1},{"key":"a","type":"person","value":"`+strings.Repeat("x", 300)+`"}]},`, 999) + `{}]}`, "must have at most 262144 bytes, not "},

		{"groups", `{"groups":{}}`, "groups: must be an array, not an object: {}"},
		{"no groups", `{"groups":null}`, "groups: must be a list of condition sets"},
		{"group", `{"groups":[[]]}`, "groups/0: must be an object, not an array: []"},
		{"many groups", `{"groups":[` + strings.Repeat("{},", 1000) + `{}]}`, "groups: must have at most 1000 condition sets"},
		{"properties", `{"groups":[{"properties":{}}]}`, "groups/0/properties: must be an array, not an object: {}"},
		{"property", `{"groups":[{},{"properties":[1]}]}`, "groups/1/properties/0: must be an object, not a number: 1"},
		{"many properties", property(strings.Repeat(`{"key":"a","type":"person","value":1},`, 1000) + `{"key":"a","type":"person","value":1}`), "groups/0/properties: must have at most 1000 properties"},

		{"rollout text", `{"groups":[{"rollout_percentage":"50"}]}`, `groups/0/rollout_percentage: must be a number, not a string: "50"`},
		{"rollout bool", `{"groups":[{"rollout_percentage":true}]}`, `groups/0/rollout_percentage: must be a number, not a boolean: true`},
		{"rollout above", `{"groups":[{"rollout_percentage":100.1}]}`, `groups/0/rollout_percentage: must be a number from 0 to 100, not 100.1`},
		{"rollout below", `{"groups":[{"rollout_percentage":-1}]}`, `groups/0/rollout_percentage: must be a number from 0 to 100, not -1`},
		{"rollout not finite", `{"groups":[{"rollout_percentage":1e999}]}`, `groups/0/rollout_percentage: must be a number, not a number: 1e999`},

		{"no type", property(`{"key":"a","value":1}`), at + "type: is required and must be one of person, person_metadata, group, cohort, flag"},
		{"unknown type", property(`{"key":"a","value":1,"type":"event"}`), at + `type: must be one of person, person_metadata, group, cohort, flag, not "event"`},
		{"type of another type", property(`{"key":"a","value":1,"type":1}`), at + `type: must be a string, not a number: 1`},
		{"behavioral", property(`{"key":"a","value":1,"type":"behavioral"}`), at + `type: must be one of person, person_metadata, group, cohort, flag, not "behavioral"`},
		{"no key", property(`{"type":"person","value":1}`), at + "key: is required and must be a string"},
		{"empty key", property(`{"type":"person","value":1,"key":""}`), at + "key: is required and must be text or a number"},
		{"key of another type", property(`{"type":"person","value":1,"key":["a"]}`), at + `key: must be a string, not an array: ["a"]`},
		{"NUL in a key", property(`{"type":"person","value":1,"key":"a\u0000"}`), at + `key: must not contain the character NUL`},
		{"NUL in a value", property(`{"type":"person","value":["a\u0000"],"key":"a"}`), at + `value/0: must not contain the character NUL`},
		{"NUL in a name", property(`{"type":"person","value":{"a\u0000":1},"key":"a"}`), at + `value: must not contain the character NUL`},
		{"huge number", property(`{"type":"person","value":{"b":-1e400},"key":"a"}`), at + `value/b: must be a number that a double-precision float can hold, not -1e400`},
		{"negation", property(`{"type":"person","value":1,"key":"a","negation":1}`), at + `negation: must be true or false, not a number: 1`},
		{"index", property(`{"type":"person","value":1,"key":"a","group_type_index":"x"}`), at + `group_type_index: must be an integer, not a string: "x"`},
		{"NUL in a description", `{"groups":[{"description":"\u0000"}]}`, `groups/0/description: must not contain the character NUL`},

		{"unknown operator", compared("foo", "1"), at + `operator: must be one of exact, is_not, `},
		{"operator of another type", property(`{"key":"a","type":"person","operator":1,"value":1}`), at + `operator: must be a string, not a number: 1`},
		{"in", compared("in", "10"), at + "operator: must be one of exact, is_not, "},
		{"not_in", compared("not_in", "10"), "not not_in, which is for a cohort"},
		{"flag_evaluates_to", compared("flag_evaluates_to", "true"), "not flag_evaluates_to, which is for a flag"},
		{"no value", property(`{"key":"a","type":"person"}`), at + "value: is required for operator exact"},
		{"null value", compared("is_not", "null"), at + "value: is required for operator is_not"},
		{"contains a number", compared("icontains", "3"), at + "value: must be text, not 3 (operator icontains)"},
		{"contains a list", compared("not_icontains", `["a"]`), at + `value: must be text, not ["a"] (operator not_icontains)`},
		{"begins with a number", compared("starts_with", `3`), at + `value: must be text, not 3 (operator starts_with)`},
		{"several, but one", compared("icontains_multi", `"a"`), at + `value: must be a list of texts, not "a" (operator icontains_multi)`},
		{"several numbers", compared("not_icontains_multi", `["a",1]`), at + `value: must be a list of texts, not ["a",1] (operator not_icontains_multi)`},
		{"pattern of a number", compared("regex", `4`), at + `value: must be a regular expression of at most 1000 bytes, not 4`},
		{"pattern that does not compile", compared("regex", `"?*"`), at + `value: must be a regular expression of at most 1000 bytes, not "?*": the pattern is invalid`},
		{"look-around that does not end", compared("not_regex", `"(?=xy"`), `not "(?=xy": the pattern is invalid`},
		{"back-reference to nothing", compared("regex", `"(a)\\2"`), `the pattern is invalid: reference to undefined group number 2`},
		{"long pattern", compared("regex", `"`+strings.Repeat("x", 1001)+`"`), at + `value: must be a regular expression of at most 1000 bytes, not "xxx`},
		{"pattern of a large program", compared("regex", `"`+strings.Repeat("a{900}", 12)+`"`), at + `value: must be a regular expression of at most`},
		{"number", compared("gt", `"x"`), at + `value: must be a number, or the text of one, not "x" (operator gt)`},
		{"number of a list", compared("min", `[1]`), at + `value: must be a number, or the text of one, not [1] (operator gte)`},
		{"numbers", compared("between", `[5,1]`), at + `value: must be a list of two numbers, the smaller one first, not [5,1] (operator between)`},
		{"date of a number", compared("is_date_after", `1700000000`), at + `value: must be the text of a date such as "2024-06-01"`},
		{"date", compared("is_date_exact", `"tomorrow"`), `not "tomorrow" (operator is_date_exact)`},
		{"date that is none", compared("is_date_before", `"2024-02-30"`), `not "2024-02-30" (operator is_date_before)`},
		{"time without a day", compared("is_date_before", `"4:00pm"`), `not "4:00pm" (operator is_date_before)`},
		{"span", compared("is_date_before", `"-10000d"`), `not "-10000d" (operator is_date_before)`},
		{"version", compared("semver_eq", `"1.2.3.4"`), at + `value: must be the text of a version such as "1.2.3"`},
		{"version of a number", compared("semver_gt", `1.10`), `not 1.10 (operator semver_gt)`},
		{"versions", compared("semver_wildcard", `"1.*.3"`), `not "1.*.3" (operator semver_wildcard)`},
		{"the first of several", property(`{"key":"a","type":"person","value":1},{"key":"a","type":"person","operator":"semver_eq","value":"x"},{"key":"a","type":"person","operator":"regex","value":"("}`), `groups/0/properties/1/value: must be the text of a version`},

		{"no variants", `{"groups":[{}],"multivariate":{}}`, "multivariate/variants: must be a list of at least one variant"},
		{"empty variants", variants(``), "multivariate/variants: must be a list of at least one variant"},
		{"multivariate", `{"multivariate":[]}`, "multivariate: must be an object, not an array: []"},
		{"variant", variants(`1`), "multivariate/variants/0: must be an object, not a number: 1"},
		{"variant without key", variants(`{"rollout_percentage":100}`), "multivariate/variants/0/key: a variant's key must be a string"},
		{"variant with an empty key", variants(`{"key":"","rollout_percentage":100}`), `multivariate/variants/0/key: must be 1 to 400 letters, digits, underscores, dots, slashes and hyphens, not ""`},
		{"variant key", variants(`{"key":"a b","rollout_percentage":100}`), `multivariate/variants/0/key: must be 1 to 400 letters, digits, underscores, dots, slashes and hyphens, not "a b"`},
		{"variant key and a line", variants(`{"key":"a\n","rollout_percentage":100}`), `multivariate/variants/0/key: must be 1 to 400 letters`},
		{"long variant key", variants(`{"key":"` + strings.Repeat("k", 401) + `","rollout_percentage":100}`), `multivariate/variants/0/key: must be 1 to 400 letters`},
		{"same key twice", variants(a + `,` + a), `multivariate/variants/1/key: must be unique among the variants of the flag; "a" is not`},
		{"name", variants(`{"key":"a","name":1,"rollout_percentage":100}`), `multivariate/variants/0/name: must be a string, not a number: 1; it is ignored`},
		{"no share", variants(`{"key":"a"}`), `multivariate/variants/0/rollout_percentage: a variant needs a percentage`},
		{"share", variants(`{"key":"a","rollout_percentage":"100"}`), `multivariate/variants/0/rollout_percentage: must be a number, not a string: "100"`},
		{"shares", variants(a + `,` + b + `,{"key":"c","rollout_percentage":1}`), `multivariate/variants: must have rollout percentages that sum to 100, not 101`},
		{"shares below", variants(`{"key":"a","rollout_percentage":33.33},{"key":"b","rollout_percentage":33.33},{"key":"c","rollout_percentage":33.33}`), `multivariate/variants: must have rollout percentages that sum to 100, not 99.99`},

		{"pin of a boolean flag", `{"groups":[{"variant":"x"}]}`, `groups/0/variant: must be null for a flag without variants, not "x"`},
		{"pin", `{"groups":[{"variant":"x"}],"multivariate":{"variants":[` + a + `,` + b + `]}}`, `groups/0/variant: must be the key of a variant of the flag, not "x"`},
		{"pin of another type", `{"groups":[{"variant":1}]}`, `groups/0/variant: must be a string, not a number: 1`},

		{"payloads", `{"groups":[{}],"payloads":[]}`, `payloads: must be an object, not an array: []`},
		{"payload of a boolean flag", `{"groups":[{}],"payloads":{"false":"1"}}`, `payloads: must have only the key true for a flag without variants, not "false"`},
		{"payload of no variant", `{"groups":[{}],"payloads":{"true":"1"},"multivariate":{"variants":[` + a + `,` + b + `]}}`, `payloads: must have only keys of the flag's variants, not "true"`},
		{"payload that is not JSON", `{"groups":[{}],"payloads":{"true":"secret"}}`, `payloads/true: must be JSON, or text that contains JSON: text itself needs another pair of quotes`},
		{"payload that is too deep", `{"groups":[{}],"payloads":{"true":"` + strings.Repeat("[", 65) + strings.Repeat("]", 65) + `"}}`, `payloads/true: must be JSON`},

		{"person in a group", `{"aggregation_group_type_index":0,"groups":[{"properties":[{"key":"a","type":"person","value":1}]}]}`, at + `type: must be group or flag in a condition set about groups, not person`},
		{"cohort in a group", `{"aggregation_group_type_index":0,"groups":[{"properties":[{"key":"id","type":"cohort","value":10}]}]}`, at + `type: must be group or flag in a condition set about groups, not cohort`},
		{"group in a person", property(`{"key":"a","type":"group","value":1,"group_type_index":0}`), at + `type: must be person, person_metadata, cohort or flag in a condition set about persons, not group`},
		{"group in a person of a group", `{"aggregation_group_type_index":0,"groups":[{"aggregation_group_type_index":null,"properties":[{"key":"a","type":"group","value":1}]}]}`, at + `type: must be person`},
		{"another group", `{"aggregation_group_type_index":0,"groups":[{"properties":[{"key":"a","type":"group","value":1,"group_type_index":1}]}]}`, at + `group_type_index: must be 0 as in the condition set, not 1`},
		{"group of the condition set", `{"aggregation_group_type_index":0,"groups":[{"aggregation_group_type_index":1,"properties":[{"key":"a","type":"group","value":1,"group_type_index":0}]}]}`, at + `group_type_index: must be 1 as in the condition set, not 0`},
		{"aggregation", `{"aggregation_group_type_index":-1,"groups":[{}]}`, `aggregation_group_type_index: group type index out of range, want 0 to 1048576: -1`},
		{"aggregation of a fraction", `{"groups":[{"aggregation_group_type_index":0.5}]}`, `groups/0/aggregation_group_type_index: must be an integer, not a number: 0.5`},

		{"unknown cohort", cohort("99"), "=filters cohort_does_not_exist " + at + "value: must be the id of a cohort of the project: there is none with the id 99"},
		{"behavioral cohort", cohort("12"), "=filters behavioral_cohort_found " + at + "value: must be a cohort without behavioral criteria, which flags cannot evaluate: 12 has some, or uses a cohort that has"},
		{"nested behavioral cohort", cohort("13"), "=filters behavioral_cohort_found " + at + "value: must be a cohort without behavioral criteria, which flags cannot evaluate: 13 has some, or uses a cohort that has"},
		{"cohort that uses none", cohort("14"), "=filters cohort_does_not_exist " + at + "value: must be the id of a cohort that can be evaluated: 14 uses cohort 99, which does not exist"},
		{"cohort that the engine refuses", cohort("15"), at + "value: cohort 15: its tree cannot be understood: 15"},
		{"cohort by name", cohort(`"Pros"`), at + `value: must be the integer id of a cohort, not "Pros"`},
		{"cohort of a fraction", cohort(`10.5`), at + `value: must be the integer id of a cohort, not 10.5`},
		{"no cohort", cohort(`null`), at + `value: is required and must be the integer id of a cohort`},
		{"key of a cohort", property(`{"key":"plan","type":"cohort","value":10}`), at + `key: must be "id" for a cohort, not "plan"`},
		{"no key of a cohort", property(`{"type":"cohort","value":10}`), at + `key: is required`},
		{"operator of a cohort", property(`{"key":"id","type":"cohort","value":10,"operator":"exact"}`), at + `operator: must be in or not_in for a cohort, not "exact"`},

		{"unknown flag", flag(`"99"`), at + `key: must be the id of a flag of the project: there is none with the id or key "99"`},
		{"unknown key", flag(`"nope"`), at + `key: must be the id of a flag of the project: there is none with the id or key "nope"`},
		{"disabled flag", flag(`"3"`), at + `key: must be the id of an active flag: "off" is disabled`},
		{"itself", flag(`1`), at + `key: must be the id of another flag: "1" is this one`},
		{"itself by key", flag(`"new"`), at + `key: must be the id of another flag: "new" is this one`},
		{"circle", flag(`"5"`), at + `key: must not make flags depend on each other in a circle: new → below → new`},
		{
			"longer circle", property(`{"key":"base","type":"flag","operator":"flag_evaluates_to","value":true},{"key":"4","type":"flag","operator":"flag_evaluates_to","value":true}`),
			`groups/0/properties/1/key: must not make flags depend on each other in a circle: new → above → below → new`,
		},
		{"circle by key", flag(`"by-key"`), at + `key: must not make flags depend on each other in a circle: new → by-key → new`},
		{"chain of an id", property(`{"key":"3","dependency_chain":[],"type":"flag","operator":"flag_evaluates_to","value":true}`), at + `key: must be the id of a flag of the project: there is none with the id or key "3"`},
		{"operator of a flag", property(`{"key":"2","type":"flag","operator":"exact","value":true}`), at + `operator: must be flag_evaluates_to for a flag, not "exact"`},
		{"no operator of a flag", property(`{"key":"2","type":"flag","value":true}`), at + `operator: is required and must be flag_evaluates_to for a flag`},
		{"value of a flag", property(`{"key":"2","type":"flag","operator":"flag_evaluates_to","value":1}`), at + `value: must be true, false or the key of a variant, not 1`},

		{"holdout", `{"groups":[{}],"holdout":1}`, `holdout: must be an object, not a number: 1`},
		{"holdout without id", `{"groups":[{}],"holdout":{"exclusion_percentage":10}}`, `holdout: a holdout needs an id and an exclusion_percentage: {"exclusion_percentage":10}; no subject is held out`},
		{"holdout id", `{"groups":[{}],"holdout":{"id":"1","exclusion_percentage":10}}`, `holdout/id: must be an integer, not a string: "1"`},
		{"holdout share", `{"groups":[{}],"holdout":{"id":1,"exclusion_percentage":101}}`, `holdout/exclusion_percentage: must be a number from 0 to 100, not 101`},
		{"early_exit", `{"groups":[{}],"early_exit":"true"}`, `early_exit: must be true or false, not a string: "true"`},
		{"feature_enrollment", `{"groups":[{}],"feature_enrollment":1}`, `feature_enrollment: must be true or false, not a number: 1`},
		{"version 1", `{"groups":[{}],"version":1}`, `=filters reserved_config_version version: is reserved and cannot be set`},

		{"a long value", property(`{"key":"a","type":"` + strings.Repeat("ä", 1000) + `","value":1}`), at + `type: must be one of person, person_metadata, group, cohort, flag, not "` + strings.Repeat("ä", 39) + "…"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := outcome(readAndJudge([]byte(tt.raw), subject, w))
			if want, exact := strings.CutPrefix(tt.want, "="); exact {
				if got != want {
					t.Errorf("Filters = %s, want %s", got, want)
				}
				return
			}
			if !strings.HasPrefix(got, "filters invalid_") || !strings.Contains(got, tt.want) {
				t.Errorf("Filters = %s, want %s", got, tt.want)
			}
			if strings.Contains(got, "secret") {
				t.Errorf("Filters = %s: it shows a payload", got)
			}
		})
	}
}

// management.md §13.5: codes that the public API has.
func TestRuling93Codes(t *testing.T) {
	w := newWorld()
	for raw, want := range map[string]string{
		`{"key":"a","type":"person","operator":"foo","value":1}`:                         "invalid_operator",
		`{"key":"a","type":"person","operator":1,"value":1}`:                             "invalid_operator",
		`{"key":"a","type":"person","operator":"in","value":1}`:                          "invalid_operator",
		`{"key":"a","type":"person","operator":"flag_evaluates_to","value":true}`:        "invalid_operator",
		`{"key":"id","type":"cohort","operator":"gt","value":10}`:                        "invalid_operator",
		`{"key":"by-key","type":"flag","operator":"exact","value":true}`:                 "invalid_operator",
		`{"key":"a","type":"person","operator":"icontains","value":1}`:                   "invalid_value",
		`{"key":"a","type":"person","operator":"icontains"}`:                             "invalid_value",
		`{"key":"a","type":"person","operator":"regex","value":"("}`:                     "invalid_value",
		`{"key":"a","type":"person","operator":"gt","value":"x"}`:                        "invalid_value",
		`{"key":"a","type":"person","operator":"between","value":[2,1]}`:                 "invalid_value",
		`{"key":"a","type":"person","operator":"semver_gt","value":"x"}`:                 "invalid_value",
		`{"key":"by-key","type":"flag","operator":"flag_evaluates_to","value":1}`:        "invalid_value",
		`{"key":"id","type":"cohort","value":"x"}`:                                       "invalid_value",
		`{"key":"a","type":"person","operator":"is_date_before","value":"soon"}`:         "invalid_date",
		`{"key":"a","type":"person","operator":"is_date_after","value":1700000000}`:      "invalid_date",
		`{"key":"a","type":"person","operator":"is_date_exact","value":"4:00pm"}`:        "invalid_date",
		`{"key":"id","type":"cohort","value":12}`:                                        "behavioral_cohort_found",
		`{"key":"id","type":"cohort","value":13}`:                                        "behavioral_cohort_found",
		`{"key":"id","type":"cohort","value":99}`:                                        "cohort_does_not_exist",
		`{"key":"a","type":"nobody","value":1}`:                                          "invalid_input",
		`{"key":"a","type":"group","group_type_index":0,"operator":"exact","value":"x"}`: "invalid_input",
		`{"key":"a","type":"person","operator":"exact","value":"\u0000"}`:                "invalid_input",
	} {
		got := outcome(readAndJudge([]byte(property(raw)), judge.Subject{Key: "new"}, w))
		if !strings.HasPrefix(got, "filters "+want+" groups/0/properties/0/") {
			t.Errorf("Filters(%s) = %s, want code %s", raw, got, want)
		}
	}
}

// management.md §13.5: a flag may begin without condition sets.
func TestFiltersOfNewFlag(t *testing.T) {
	w := newWorld()
	created := judge.Subject{Key: "new"}
	for raw, want := range map[string]string{
		`{}`:            `{"groups":[]}`,
		`{"groups":[]}`: `{"groups":[]}`,
		property(`{"key":"0","type":"flag","operator":"flag_evaluates_to","value":true}`):      `filters invalid_input groups/0/properties/0/key: must be the id of a flag of the project: there is none with the id or key "0"`,
		property(`{"key":"by-key","type":"flag","operator":"flag_evaluates_to","value":true}`): `filters invalid_input groups/0/properties/0/key: must not make flags depend on each other in a circle: new → by-key → new`,
		property(`{"key":"below","type":"flag","operator":"flag_evaluates_to","value":true}`):  property(`{"key":"5","value":true,"operator":"flag_evaluates_to","type":"flag"}`),
		`{"groups":[{}]}`: `{"groups":[{"properties":[]}]}`,
	} {
		if got := outcome(readAndJudge([]byte(raw), created, w)); got != want {
			t.Errorf("Filters(%s) = %s, want %s", raw, got, want)
		}
	}
}

// management.md §13.3: is_remote_configuration.
func TestRemoteConfig(t *testing.T) {
	w := newWorld()
	for raw, want := range map[string]string{
		`{}`: `{"groups":[{"properties":[],"rollout_percentage":100}]}`,
		`{"groups":[{"rollout_percentage":0},{"rollout_percentage":null},{"rollout_percentage":5}]}`: `{"groups":[{"properties":[],"rollout_percentage":100},{"properties":[],"rollout_percentage":100},{"properties":[],"rollout_percentage":5}]}`,
	} {
		got := outcome(readAndJudge([]byte(raw), judge.Subject{Key: "new", RemoteConfig: true}, w))
		if got != want {
			t.Errorf("Filters(%s) = %s, want %s", raw, got, want)
		}
	}
}

func TestFiltersOfKnownGroupTypes(t *testing.T) {
	p := project()
	p.GroupTypes = map[int]string{0: "company", 2: "project"}
	w := worldOf(p)
	const refused = "aggregation_group_type_index: must be the index of a group type of the project, one of [0 2], not "
	for raw, want := range map[string]string{
		`{"aggregation_group_type_index":2,"groups":[{}]}`:                                      `{"groups":[{"properties":[]}],"aggregation_group_type_index":2}`,
		`{"aggregation_group_type_index":1,"groups":[{}]}`:                                      "filters invalid_input " + refused + "1",
		`{"groups":[{"aggregation_group_type_index":0},{"aggregation_group_type_index":3}]}`:    "filters invalid_input groups/1/" + refused + "3",
		`{"groups":[{"aggregation_group_type_index":0},{"aggregation_group_type_index":null}]}`: `{"groups":[{"properties":[],"aggregation_group_type_index":0},{"properties":[],"aggregation_group_type_index":null}]}`,
	} {
		if got := outcome(readAndJudge([]byte(raw), subject, w)); got != want {
			t.Errorf("Filters(%s) = %s, want %s", raw, got, want)
		}
	}
}

// evaluation.md §4.9: a wall time that the project's zone skips is not a date.
func TestFiltersInTimeZone(t *testing.T) {
	zone, err := time.LoadLocation("Europe/Vienna")
	if err != nil {
		t.Fatal(err)
	}
	raw := property(`{"key":"a","value":"2024-03-31 02:30","operator":"is_date_before","type":"person"}`)
	if got := outcome(readAndJudge([]byte(raw), subject, newWorld())); got != raw {
		t.Errorf("in UTC: %s", got)
	}
	w := worldOf(storedProject{TimeZone: zone})
	if got := outcome(readAndJudge([]byte(raw), subject, w)); !strings.HasPrefix(got, "filters invalid_date groups/0/properties/0/value: ") {
		t.Errorf("in Vienna: %s", got)
	}
}

func TestFiltersLimit(t *testing.T) {
	const most, empty = 256 << 10, `{"groups":[{"label":""}]}`
	w := newWorld()
	filled := func(n int) []byte { // which are stored in so many bytes
		return []byte(strings.Replace(empty, `""`, `"`+strings.Repeat("x", n-len(empty))+`"`, 1))
	}
	if got := outcome(readAndJudge(filled(most), subject, w)); got != `{"groups":[{"properties":[]}]}` {
		t.Errorf("256 KiB: %s", got)
	}
	if got := outcome(readAndJudge(filled(most+1), subject, w)); got != "filters invalid_input must have at most 262144 bytes, not 262145" {
		t.Errorf("256 KiB and a byte: %s", got)
	}
}

// The engine reports only so many problems, so that errors could hide behind
// doubts.
func TestFiltersWithManyDoubts(t *testing.T) {
	doubtful := strings.TrimSuffix(strings.Repeat(`{"key":"a","value":["true"],"type":"person"},`, 5500), ",")
	var p storedProject
	for id := range int64(2) {
		p.Cohorts = append(p.Cohorts, storedCohort{ID: 1 + id, Filters: []byte(`{"properties":{"type":"OR","values":[` + doubtful + `]}}`)})
	}
	w := worldOf(p)
	raw := `{"groups":[{"properties":[{"key":"id","type":"cohort","value":1}]},{"properties":[{"key":"id","type":"cohort","value":2}]}]}`
	const want = "filters invalid_input must be simpler: the engine finds 10000 doubtful things in it and in the cohorts that it uses, and stops there"
	if got := outcome(readAndJudge([]byte(raw), subject, w)); got != want {
		t.Errorf("Filters = %s, want %s", got, want)
	}
}

// A circle of many flags neither takes long nor makes a long message.
func TestFiltersInLongCircle(t *testing.T) {
	const n = 10_000
	var p storedProject
	for i := range n {
		raw := fmt.Sprintf(`{"key":"%d","type":"flag","operator":"flag_evaluates_to","value":true}`, i+1)
		p.Flags = append(p.Flags, storedFlag{ID: int64(i), Key: fmt.Sprintf("f%d", i), Active: true, Filters: []byte(property(raw))})
	}
	w := worldOf(p)
	raw := property(`{"key":"1","type":"flag","operator":"flag_evaluates_to","value":true}`)
	got := outcome(readAndJudge([]byte(raw), judge.Subject{ID: n, Key: "end"}, w))
	if want := "in a circle: end → f1 → f2 → f3 → f4 → f5 → f6 → f7 → f8 → f9 → … → end"; !strings.HasSuffix(got, want) || len(got) > 300 {
		t.Errorf("Filters = %s, want …%s", got, want)
	}
	if got := outcome(readAndJudge([]byte(raw), judge.Subject{ID: n + 1, Key: "other"}, w)); got != `{"groups":[{"properties":[{"key":"1","value":true,"operator":"flag_evaluates_to","type":"flag"}]}]}` {
		t.Errorf("Filters of another flag = %s", got)
	}
}
