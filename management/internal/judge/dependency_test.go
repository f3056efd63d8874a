package judge_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/management/internal/judge"
)

const dependsOn = `"type":"flag","operator":"flag_evaluates_to","value":true}`

func TestReferences(t *testing.T) {
	raw := `{"groups":[{"properties":[{"key":"7",` + dependsOn + `,{"key":"id","type":"cohort","value":3},{"key":"cohort","type":"person","value":5}]},` +
		`{"properties":[{"key":8,` + dependsOn + `,{"key":"7",` + dependsOn + `,{"key":"beta",` + dependsOn + `,{"key":"9","dependency_chain":[],` + dependsOn + `,{"key":"id","type":"cohort","value":"4"},{"key":"id","type":"cohort","value":3}]}]}`
	flagIDs, flagKeys, cohorts := judge.References([]byte(raw))
	if diff := cmp.Diff([]any{[]int64{7, 8}, []string{"beta", "9"}, []int64{3, 4}}, []any{flagIDs, flagKeys, cohorts}); diff != "" {
		t.Errorf("References (-want +got)\n%s", diff)
	}
	escaped := `{"groups":[{"properties":[{"key":"7",` + strings.Replace(dependsOn, "flag", `fl\u0061g`, 1) + `]}]}`
	if flagIDs, _, _ := judge.References([]byte(escaped)); !cmp.Equal(flagIDs, []int64{7}) {
		t.Errorf("References with an escape = %v", flagIDs)
	}
	for _, raw := range []string{``, `{`, `[]`, `null`, `{"groups":"cohort"}`, `{"groups":[{"properties":[{"type":"flag"},{"type":"cohort"}]}]}`} {
		if flagIDs, flagKeys, cohorts := judge.References([]byte(raw)); len(flagIDs)+len(cohorts) > 0 || strings.Join(flagKeys, "") != "" {
			t.Errorf("References(%s) = %v, %v, %v; want nothing", raw, flagIDs, flagKeys, cohorts)
		}
	}
}

func TestCohortReferences(t *testing.T) {
	raw := `{"properties":{"type":"OR","values":[{"type":"AND","values":[{"key":"id","type":"cohort","value":3},{"key":"a","type":"person","value":9}]},{"key":"id","type":"cohort","value":"4"},{"OR":[{"key":"id","type":"cohort","value":3}]}]}}`
	if diff := cmp.Diff([]int64{3, 4}, judge.CohortReferences([]byte(raw))); diff != "" {
		t.Errorf("CohortReferences (-want +got)\n%s", diff)
	}
	for _, raw := range []string{``, `{`, `{}`, `{"properties":"cohort"}`, `{"properties":{"type":"OR","values":[{"type":"cohort","value":"x"},{"type":"cohort"}]}}`} {
		if ids := judge.CohortReferences([]byte(raw)); len(ids) > 0 {
			t.Errorf("CohortReferences(%s) = %v, want none", raw, ids)
		}
	}
}

func keys(list []judge.Flag) string {
	var keys []string
	for _, f := range list {
		keys = append(keys, f.Key)
	}
	return strings.Join(keys, " ")
}

// management.md §13.3: disabling looks for dependents, enabling for dependencies.
func TestDependents(t *testing.T) {
	on := func(key string) []byte {
		return []byte(`{"groups":[{"properties":[{"key":"` + key + `",` + dependsOn + `]}]}`)
	}
	w := judge.NewWorld(judge.Project{Flags: []judge.Flag{
		{ID: 1, Key: "base", Active: true, Filters: on("1")},
		{ID: 2, Key: "by-id", Active: true, Filters: on("1")},
		{ID: 3, Key: "by-key", Active: true, Filters: on("base")},
		{ID: 4, Key: "disabled", Filters: on("1")},
		{ID: 5, Key: "indirect", Active: true, Filters: on("2")},
		{ID: 6, Key: "7", Active: true, Filters: on("7")},
		{ID: 7, Key: "other", Active: true, Filters: on("nope")},
		{ID: 8, Key: "twice", Active: true, Filters: []byte(`{"groups":[{"properties":[{"key":"1",` + dependsOn + `,{"key":"base",` + dependsOn + `,{"key":"4",` + dependsOn + `,{"key":"99",` + dependsOn + `]}]}`)},
	}})
	for _, tt := range []struct {
		flag judge.Flag
		want string
	}{
		{judge.Flag{ID: 1, Key: "base"}, "by-id by-key twice"},
		{judge.Flag{ID: 2, Key: "by-id"}, "indirect"},
		{judge.Flag{ID: 6, Key: "7"}, ""},
		{judge.Flag{ID: 7, Key: "other"}, "7"},
		{judge.Flag{ID: 9, Key: "nope"}, "other"},
		{judge.Flag{ID: 10, Key: "unknown"}, ""},
	} {
		if got := keys(judge.Dependents(w, tt.flag)); got != tt.want {
			t.Errorf("Dependents(%d, %s) = %s, want %s", tt.flag.ID, tt.flag.Key, got, tt.want)
		}
	}
	for key, want := range map[string]string{"1": "base", "base": "base", "4": "disabled", "99": ""} {
		if got := keys(judge.Dependencies(w, on(key))); got != want {
			t.Errorf("Dependencies on %s = %s, want %s", key, got, want)
		}
	}
	if got := keys(judge.Dependencies(w, []byte(`{"groups":[{"properties":[{"key":"4",`+dependsOn+`,{"key":"1",`+dependsOn+`,{"key":"base",`+dependsOn+`]}]}`))); got != "disabled base" {
		t.Errorf("Dependencies = %s, want disabled base", got)
	}
}

// management.md §13.10: deletion looks for active flags that use a cohort.
func TestCohortUsers(t *testing.T) {
	in := func(id string) string { return `{"key":"id","type":"cohort","value":` + id + `}` }
	w := judge.NewWorld(judge.Project{
		Cohorts: []judge.Cohort{
			{ID: 1, Name: "base", Filters: []byte(tree(``))},
			{ID: 2, Name: "direct", Filters: []byte(tree(in("1")))},
			{ID: 3, Name: "indirect", Filters: []byte(tree(in(`"2"`)))},
			{ID: 4, Name: "other", Filters: []byte(tree(in("5")))},
			{ID: 5, Name: "circle", Filters: []byte(tree(in("4")))},
			{ID: 6, Name: "static", Static: true, Filters: []byte(tree(in("1")))},
		},
		Flags: []judge.Flag{
			{ID: 1, Key: "a", Active: true, Filters: []byte(property(in("3") + "," + in("1")))},
			{ID: 2, Key: "b", Filters: []byte(property(in("1")))},
			{ID: 3, Key: "c", Active: true, Filters: []byte(property(in("4")))},
			{ID: 4, Key: "d", Active: true, Filters: []byte(property(in("6")))},
			{ID: 5, Key: "e", Active: true, Filters: []byte(property(in("1")))},
		},
	})
	for id, want := range map[int64]string{
		1: "a e: direct indirect", 2: "a: indirect", 3: "a: ", 4: "c: circle", 5: "c: other", 6: "d: ", 7: ": ",
	} {
		flags, cohorts := judge.CohortUsers(w, id)
		var names []string
		for _, c := range cohorts {
			names = append(names, c.Name)
		}
		if got := keys(flags) + ": " + strings.Join(names, " "); got != want {
			t.Errorf("CohortUsers(%d) = %s, want %s", id, got, want)
		}
	}
}

// A flag that is stored already is judged by what it is to be, not by what it is.
func TestFiltersOfStoredFlag(t *testing.T) {
	on := func(key string) string {
		return `{"groups":[{"properties":[{"key":"` + key + `","value":true,"operator":"flag_evaluates_to","type":"flag"}]}]}`
	}
	w := judge.NewWorld(judge.Project{Flags: []judge.Flag{
		{ID: 1, Key: "a", Active: true, Filters: []byte(on("2"))},
		{ID: 2, Key: "b", Active: true},
		{ID: 3, Key: "c", Active: true, Filters: []byte(on("1"))},
	}})
	for _, tt := range []struct {
		subject   judge.Subject
		raw, want string
	}{
		{judge.Subject{ID: 1, Key: "a"}, on("2"), on("2")},
		{judge.Subject{ID: 1, Key: "a"}, on("3"), `filters invalid_input groups/0/properties/0/key: must not make flags depend on each other in a circle: a → c → a`},
		{judge.Subject{ID: 1, Key: "renamed"}, on("a"), `filters invalid_input groups/0/properties/0/key: must be the id of another flag: "a" is this one`},
		{judge.Subject{ID: 1, Key: "a"}, on("1"), `filters invalid_input groups/0/properties/0/key: must be the id of another flag: "1" is this one`},
		{judge.Subject{ID: 2, Key: "b"}, on("3"), `filters invalid_input groups/0/properties/0/key: must not make flags depend on each other in a circle: b → c → a → b`},
		{judge.Subject{ID: 3, Key: "c"}, on("2"), on("2")},
	} {
		if got := outcome(judge.Filters([]byte(tt.raw), tt.subject, w)); got != tt.want {
			t.Errorf("Filters(%s) of %s = %s, want %s", tt.raw, tt.subject.Key, got, tt.want)
		}
	}
}
