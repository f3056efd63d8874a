package judge_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/judge"
)

const dependsOn = `"type":"flag","operator":"flag_evaluates_to","value":true}`

func keys(list []*flags.Flag) string {
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
	w := worldOf(storedProject{Flags: []storedFlag{
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
		flag storedFlag
		want string
	}{
		{storedFlag{ID: 1, Key: "base"}, "by-id by-key twice"},
		{storedFlag{ID: 2, Key: "by-id"}, "indirect"},
		{storedFlag{ID: 6, Key: "7"}, ""},
		{storedFlag{ID: 7, Key: "other"}, "7"},
		{storedFlag{ID: 9, Key: "nope"}, "other"},
		{storedFlag{ID: 10, Key: "unknown"}, ""},
	} {
		if got := keys(judge.Dependents(w, tt.flag.ID, tt.flag.Key)); got != tt.want {
			t.Errorf("Dependents(%d, %s) = %s, want %s", tt.flag.ID, tt.flag.Key, got, tt.want)
		}
	}
	if got := keys(judge.Referring(w, 1, "base")); got != "by-id by-key disabled twice" {
		t.Errorf("Referring(1, base) = %s, want by-id by-key disabled twice", got)
	}
	for key, want := range map[string]string{"1": "base", "base": "base", "4": "disabled", "99": ""} {
		if got := keys(judge.Dependencies(w, stored(on(key)))); got != want {
			t.Errorf("Dependencies on %s = %s, want %s", key, got, want)
		}
	}
	if got := keys(judge.Dependencies(w, stored([]byte(`{"groups":[{"properties":[{"key":"4",`+dependsOn+`,{"key":"1",`+dependsOn+`,{"key":"base",`+dependsOn+`]}]}`)))); got != "disabled base" {
		t.Errorf("Dependencies = %s, want disabled base", got)
	}
}

// management.md §13.10: deletion looks for active flags that use a cohort.
func TestCohortUsers(t *testing.T) {
	in := func(id string) string { return `{"key":"id","type":"cohort","value":` + id + `}` }
	w := worldOf(storedProject{
		Cohorts: []storedCohort{
			{ID: 1, Filters: []byte(tree(``))},
			{ID: 2, Filters: []byte(tree(in("1")))},
			{ID: 3, Filters: []byte(tree(in(`"2"`)))},
			{ID: 4, Filters: []byte(tree(in("5")))},
			{ID: 5, Filters: []byte(tree(in("4")))},
			{ID: 6, Static: true, Filters: []byte(tree(in("1")))},
		},
		Flags: []storedFlag{
			{ID: 1, Key: "a", Active: true, Filters: []byte(property(in("3") + "," + in("1")))},
			{ID: 2, Key: "b", Filters: []byte(property(in("1")))},
			{ID: 3, Key: "c", Active: true, Filters: []byte(property(in("4")))},
			{ID: 4, Key: "d", Active: true, Filters: []byte(property(in("6")))},
			{ID: 5, Key: "e", Active: true, Filters: []byte(property(in("1")))},
		},
	})
	for id, want := range map[int64]string{
		1: "a e: [2 3]", 2: "a: [3]", 3: "a: []", 4: "c: [5]", 5: "c: [4]", 6: "d: []", 7: ": []",
	} {
		flags, cohorts := judge.CohortUsers(w, id)
		if got := keys(flags) + ": " + fmt.Sprint(cohorts); got != want {
			t.Errorf("CohortUsers(%d) = %s, want %s", id, got, want)
		}
	}
}

// A flag that is stored already is judged by what it is to be, not by what it is.
func TestFiltersOfStoredFlag(t *testing.T) {
	on := func(key string) string {
		return `{"groups":[{"properties":[{"key":"` + key + `","value":true,"operator":"flag_evaluates_to","type":"flag"}]}]}`
	}
	w := worldOf(storedProject{Flags: []storedFlag{
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
		if got := outcome(readAndJudge([]byte(tt.raw), tt.subject, w)); got != tt.want {
			t.Errorf("Filters(%s) of %s = %s, want %s", tt.raw, tt.subject.Key, got, tt.want)
		}
	}
}
