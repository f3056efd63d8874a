package judge_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/internal/judge"
)

// tree returns filters of a cohort with one list of criteria.
func tree(leaves string) string {
	return `{"properties":{"type":"AND","values":[` + leaves + `]}}`
}

// management.md §13.10 and evaluation.md §5.1: what is accepted, and how it is
// stored.
func TestCohortFiltersNormalizes(t *testing.T) {
	w := newWorld()
	for _, tt := range []struct{ name, raw, want string }{
		{
			"two levels", `{"properties":{"values":[{"values":[{"value":"pro","type":"person","key":"plan","x":1}],"type":"AND","y":2}],"type":"OR","z":3},"other":4}`,
			`{"properties":{"type":"OR","values":[{"type":"AND","values":[{"key":"plan","value":"pro","type":"person"}]}]}}`,
		},
		{"one level", tree(`{"key":"plan","type":"person","value":"pro"}`), tree(`{"key":"plan","value":"pro","type":"person"}`)},
		{"no criteria", tree(``), tree(``)},
		{
			"names of types", `{"properties":{"type":"or","values":[{"type":"property","values":[]},{"type":"And","values":[]}]}}`,
			`{"properties":{"type":"OR","values":[{"type":"AND","values":[]},{"type":"AND","values":[]}]}}`,
		},
		{"very old form", `{"properties":{"OR":[{"AND":[]}]}}`, `{"properties":{"type":"OR","values":[{"type":"AND","values":[]}]}}`},
		{"property", tree(`{"key":3,"type":"person","operator":"min","value":1.0,"negation":true}`), tree(`{"key":"3","value":1.0,"operator":"gte","type":"person","negation":true}`)},
		{"is_set", tree(`{"key":"a","type":"person","operator":"is_set"}`), tree(`{"key":"a","operator":"is_set","type":"person"}`)},
		{"metadata", tree(`{"key":"created_at","type":"person_metadata","operator":"is_date_after","value":"-7d"}`), tree(`{"key":"created_at","value":"-7d","operator":"is_date_after","type":"person_metadata"}`)},
		{
			"cohorts", tree(`{"key":"id","type":"cohort","value":"10","negation":true},{"key":"id","type":"cohort","operator":"not_in","value":11,"negation":false}`),
			tree(`{"key":"id","value":10,"type":"cohort","negation":true},{"key":"id","value":11,"operator":"not_in","type":"cohort"}`),
		},
		{"behavioral cohort", tree(`{"key":"id","type":"cohort","value":13}`), tree(`{"key":"id","value":13,"type":"cohort"}`)},
		{
			"behavior", tree(`{"key":"$pageview","value":"performed_event","type":"behavioral","event_type":"events","time_value":30,"negation":false,"operator":null,"seq":{"b":1,"a":[2]}}`),
			tree(`{"key":"$pageview","value":"performed_event","type":"behavioral","event_type":"events","time_value":30,"negation":false,"operator":null,"seq":{"b":1,"a":[2]}}`),
		},
		{"behavior by number", tree(`{"type":"behavioral","value":"performed_event","key":7,"event_type":"actions"}`), tree(`{"key":"7","value":"performed_event","type":"behavioral","event_type":"actions"}`)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out, err := readAndJudgeCohort([]byte(tt.raw), 20, w)
			if diff := cmp.Diff(tt.want, outcome(out, err)); diff != "" {
				t.Errorf("CohortFilters (-want +got)\n%s", diff)
			}
			again, err := readAndJudgeCohort(out, 20, w)
			if diff := cmp.Diff(string(out), outcome(again, err)); diff != "" {
				t.Errorf("once more (-first +second)\n%s", diff)
			}
		})
	}
}

// management.md §13.10: what is refused.
func TestCohortFiltersRefuses(t *testing.T) {
	w := newWorld()
	const at = "properties/values/0/"
	const root = "an object with a type, AND or OR, and a list of values"
	for _, tt := range []struct {
		name, raw string
		id        int64
		want      string
	}{
		{"no JSON", `}`, 0, "not valid JSON: offset 0: unexpected character '}' where a value should begin"},
		{"list", `[]`, 0, "must be an object, not an array: []"},
		{"too large", tree(`{"key":"a","type":"person","value":"` + strings.Repeat("x", 256<<10) + `"}`), 0, "must have at most 262144 bytes, not "},
		{"too large when stored", `{"properties":{"OR":[` + strings.Repeat(`{"AND":[]},`, 15_000) + `{"AND":[]}]}}`, 0, "must have at most 262144 bytes, not 405066"},
		{"too deep", `{"properties":` + strings.Repeat(`{"type":"AND","values":[`, 32) + strings.Repeat(`]}`, 32) + `}`, 0, "must be JSON of at most 64 levels"},
		{"nothing", `{}`, 0, "properties: is required and must be " + root},
		{"empty", `{"properties":{}}`, 0, "properties: is required and must be " + root},
		{"properties", `{"properties":[]}`, 0, "properties: must be an object, not an array: []"},
		{"a leaf", `{"properties":{"key":"a","type":"person","value":1}}`, 0, "properties: is required and must be " + root},
		{"no type", `{"properties":{"values":[]}}`, 0, "properties/type: is required and must be AND or OR"},
		{"type", `{"properties":{"type":"XOR","values":[]}}`, 0, `properties/type: must be AND or OR, not "XOR"`},
		{"values", `{"properties":{"type":"OR","values":{}}}`, 0, `properties/values: must be an array, not an object: {}`},
		{"null values", `{"properties":{"type":"OR","values":null}}`, 0, `properties/values: the group has no values and is nobody; give it a list of values, or remove it`},
		{"very old values", `{"properties":{"type":"OR","values":[{"AND":{}}]}}`, 0, at + `key: is required and must be a string`},
		{"value", tree(`1`), 0, at[:len(at)-1] + `: must be an object, not a number: 1`},
		{"deep inside", `{"properties":{"type":"OR","values":[{"type":"AND","values":[{"type":"AND","values":[]},{"key":"a","type":"person"}]}]}}`, 0, "properties/values/0/values/1/value: is required for operator exact"},

		{"group", tree(`{"key":"a","type":"group","value":1}`), 0, at + `type: must be one of person, person_metadata, cohort, behavioral, not "group"`},
		{"flag", tree(`{"key":"a","type":"flag","value":1}`), 0, at + `type: must be one of person, person_metadata, cohort, behavioral, not "flag"`},
		{"leaf without type", tree(`{"key":"a","value":1}`), 0, at + `type: is required`},
		{"operator", tree(`{"key":"a","type":"person","operator":"foo","value":1}`), 0, at + `operator: must be one of exact`},
		{"no value", tree(`{"key":"a","type":"person","operator":"icontains"}`), 0, at + `value: is required for operator icontains`},
		{"pattern", tree(`{"key":"a","type":"person","operator":"regex","value":"a(?!b"}`), 0, at + `value: must be a regular expression of at most`},
		{"date", `{"properties":{"type":"OR","values":[{"type":"AND","values":[]},{"type":"AND","values":[{"key":"a","type":"person","operator":"is_date_after","value":"soon"}]}]}}`, 0, `properties/values/1/values/0/value: must be the text of a date`},
		{"version, deep inside", `{"properties":` + strings.Repeat(`{"type":"AND","values":[`, 20) + `{"key":"a","type":"person","operator":"semver_eq","value":"x"}` + strings.Repeat(`]}`, 20) + `}`, 0, "properties/" + strings.Repeat("values/0/", 20) + "value: must be the text of a version"},
		{"pattern, deep inside", `{"properties":` + strings.Repeat(`{"type":"AND","values":[`, 20) + `{"key":"a","type":"person","operator":"regex","value":"("}` + strings.Repeat(`]}`, 20) + `}`, 7, "properties/" + strings.Repeat("values/0/", 20) + "value: must be a regular expression"},
		{"negation", tree(`{"key":"a","type":"person","value":1,"negation":"x"}`), 0, at + `negation: must be true or false, not a string: "x"`},

		{"behavior without key", tree(`{"type":"behavioral","value":"performed_event"}`), 0, at + `key: is required`},
		{"operator of a behavior", tree(`{"type":"behavioral","key":"a","operator":1}`), 0, at + `operator: must be a string, not a number: 1`},
		{"negation of a behavior", tree(`{"type":"behavioral","key":"a","negation":1}`), 0, at + `negation: must be true or false, not a number: 1`},
		{"NUL in a behavior", tree(`{"type":"behavioral","key":"a","x":"\u0000"}`), 0, at + `x: must not contain the character NUL`},

		{"unknown cohort", tree(`{"key":"id","type":"cohort","value":99}`), 0, "=filters cohort_does_not_exist " + at + "value: must be the id of a cohort of the project: there is none with the id 99"},
		{"dangling cohort", tree(`{"key":"id","type":"cohort","value":14}`), 0, "=filters cohort_does_not_exist " + at + "value: must be the id of a cohort that can be evaluated: 14 uses cohort 99, which does not exist"},
		{"cohort that fails", tree(`{"key":"id","type":"cohort","value":15}`), 0, "properties: must be a tree that flags can evaluate: cohort 15: unknown operator"},
		{"id of a cohort", tree(`{"key":"id","type":"cohort","value":"x"}`), 0, at + `value: must be the integer id of a cohort, not "x"`},
		{"key of a cohort", tree(`{"key":"x","type":"cohort","value":10}`), 0, at + `key: must be "id" for a cohort`},
		{"operator of a cohort", tree(`{"key":"id","type":"cohort","value":10,"operator":"exact"}`), 0, at + `operator: must be in or not_in for a cohort, not "exact"`},
		{"itself", tree(`{"key":"id","type":"cohort","value":10}`), 10, at + "value: must be the id of another cohort: 10 is this one"},
		{"circle", tree(`{"key":"id","type":"cohort","value":16}`), 10, at + "value: must not make cohorts use each other in a circle: 10 → 16 → 10"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := outcome(readAndJudgeCohort([]byte(tt.raw), tt.id, w))
			if want, exact := strings.CutPrefix(tt.want, "="); exact {
				if got != want {
					t.Errorf("CohortFilters = %s, want %s", got, want)
				}
				return
			}
			if attr, code, _ := strings.Cut(got, " invalid_"); attr != "filters" || !strings.HasPrefix(code[strings.IndexByte(code, ' ')+1:], tt.want) {
				t.Errorf("CohortFilters = %s, want %s", got, tt.want)
			}
		})
	}
}

// Flags that use a cohort must stay able to evaluate it.
func TestCohortFiltersOfUsedCohort(t *testing.T) {
	const behavior = `{"key":"$pageview","value":"performed_event","type":"behavioral"}`
	p := project()
	w := func(active bool) *judge.References {
		p.Flags = []storedFlag{{ID: 1, Key: "user", Active: active, Filters: []byte(property(`{"key":"id","type":"cohort","value":16}`))}}
		return worldOf(p)
	}
	const refused = "filters behavioral_cohort_found properties: must not have behavioral criteria, not even through another cohort, since the flag \"user\" uses the cohort"
	for _, tt := range []struct {
		name   string
		id     int64
		leaf   string
		active bool
		want   string
	}{
		{"used directly", 16, behavior, true, refused},
		{"used through another", 10, behavior, true, refused},
		{"through another", 10, `{"key":"id","value":13,"type":"cohort"}`, true, "filters invalid_input properties/values/0/value: must not make cohorts use each other in a circle: 10 → 13 → 10"},
		{"nested", 16, `{"key":"id","value":12,"type":"cohort"}`, true, refused},
		{"used by a disabled flag", 10, behavior, false, tree(behavior)},
		{"not used", 14, behavior, true, tree(behavior)},
		{"new", 0, behavior, true, tree(behavior)},
		{"static is not evaluated", 10, `{"key":"id","value":11,"type":"cohort"}`, true, tree(`{"key":"id","value":11,"type":"cohort"}`)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := outcome(readAndJudgeCohort([]byte(tree(tt.leaf)), tt.id, w(tt.active)))
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("CohortFilters (-want +got)\n%s", diff)
			}
		})
	}
}

// The engine follows 64 cohorts.
func TestCohortFiltersInLongChain(t *testing.T) {
	var p storedProject
	for id := int64(1); id <= 100; id++ {
		raw := tree(fmt.Sprintf(`{"key":"id","value":%d,"type":"cohort"}`, id+1))
		if id == 100 {
			raw = tree(``)
		}
		p.Cohorts = append(p.Cohorts, storedCohort{ID: id, Filters: []byte(raw)})
	}
	w := worldOf(p)
	if got := outcome(readAndJudgeCohort([]byte(tree(`{"key":"id","value":38,"type":"cohort"}`)), 0, w)); got != tree(`{"key":"id","value":38,"type":"cohort"}`) {
		t.Errorf("64 cohorts: %s", got)
	}
	if got := outcome(readAndJudgeCohort([]byte(tree(`{"key":"id","value":37,"type":"cohort"}`)), 0, w)); got != "filters invalid_input properties: must be a tree that flags can evaluate: cohort 100: a chain of more than 64 cohorts" {
		t.Errorf("65 cohorts: %s", got)
	}
	got := outcome(readAndJudgeCohort([]byte(tree(`{"key":"id","value":1,"type":"cohort"}`)), 100, w))
	if !strings.HasSuffix(got, "in a circle: 100 → … → 91 → 92 → 93 → 94 → 95 → 96 → 97 → 98 → 99 → 100") {
		t.Errorf("circle: %s", got)
	}
}

// evaluation.md §5.6.
func TestRuling97CohortOfGroups(t *testing.T) {
	w := newWorld()
	for _, tt := range []struct{ name, raw, stored string }{
		{"none", `[]`, ``},
		{
			"lists", `[{"properties":[{"key":"a","value":1},{"key":"b","value":2,"type":"event"}]},{"properties":[{"key":"c","value":3,"type":"person","operator":"min"}]}]`,
			`{"properties":{"type":"OR","values":[{"type":"AND","values":[{"key":"a","value":1,"type":"person"},{"key":"b","value":2,"type":"person"}]},{"type":"AND","values":[{"key":"c","value":3,"operator":"gte","type":"person"}]}]}}`,
		},
		{
			"map", `[{"properties":{"b":"x","a":[1]}}]`,
			`{"properties":{"type":"OR","values":[{"type":"AND","values":[{"key":"b","value":"x","type":"person"},{"key":"a","value":[1],"type":"person"}]}]}}`,
		},
		{
			"events", `[{"event_id":"$pageview","days":3},{"action_id":4,"properties":{"a":1}},{"event_id":null}]`,
			`{"properties":{"type":"OR","values":[{"type":"OR","values":[]},{"type":"AND","values":[{"key":"a","value":1,"type":"person"}]},{"type":"OR","values":[]}]}}`,
		},
		{
			"trees", `[{"properties":{"type":"OR","values":[{"key":"a","value":1,"type":"person"}]}},{"type":"AND","name":"n","values":[{"key":"a","value":1,"type":"person"}]}]`,
			`{"properties":{"type":"OR","values":[{"type":"OR","values":[{"key":"a","value":1,"type":"person"}]},{"type":"AND","values":[{"key":"a","value":1,"type":"person"}]}]}}`,
		},
		{
			"groups without values", `[{"properties":{"type":"OR"}},{"properties":{"type":"and","values":null}},{"properties":{"type":"AND","values":[]}},{"type":"OR"},
				{"type":"AND","values":[{"type":"OR","values":[]}]},{},{"properties":null},{"properties":[]},{"properties":{}}]`,
			`{"properties":{"type":"OR","values":[` + strings.Repeat(`{"type":"OR","values":[]},`, 8) + `{"type":"OR","values":[]}]}}`,
		},
		{
			"a property that is called type", `[{"properties":{"type":"OR","plan":"pro"}}]`,
			`{"properties":{"type":"OR","values":[{"type":"AND","values":[{"key":"type","value":"OR","type":"person"},{"key":"plan","value":"pro","type":"person"}]}]}}`,
		},
		{"no JSON", `[`, "groups invalid_input must be a list of objects, not ["},
		{"object", `{}`, "groups invalid_input must be a list of objects, not {}"},
		{"group", `[{},1]`, "groups invalid_input 1: must be an object, not 1"},
		{"properties", `[{"properties":1}]`, "groups invalid_input 0/properties: must be an array or an object, not a number: 1"},
		{"property", `[{"properties":[{},1]}]`, "groups invalid_input 0/properties/1: must be an object, not a number: 1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tree, err := judge.TreeOfGroups([]byte(tt.raw))
			if err == nil && tree != nil {
				err = judge.JudgeCohort(tree, 0, w)
			}
			got := outcome(nil, err)
			if err == nil && tree != nil {
				out, err := tree.Normal()
				got = outcome(out, err)
			}
			if diff := cmp.Diff(tt.stored, got); diff != "" {
				t.Errorf("TreeOfGroups (-want +got)\n%s", diff)
			}
		})
	}
}
