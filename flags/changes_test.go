package flags_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestChanged(t *testing.T) {
	const document = `{"flags":[
		{"id":3,"key":"last","active":true,"filters":{"groups":[{"properties":[{"key":"2","type":"flag","operator":"flag_evaluates_to","value":true}]}]}},
		{"id":1,"key":"first","active":true,"filters":{"groups":[{"rollout_percentage":10}]}},
		{"id":2,"key":"middle","active":true,"filters":{"groups":[{"properties":[{"key":"1","type":"flag","operator":"flag_evaluates_to","value":true}]}]}},
		{"id":4,"key":"alone","active":true,"filters":{"groups":[{"properties":[{"key":"id","type":"cohort","value":9}]}]}},
		{"id":5,"key":"gone","active":true,"deleted":true,"filters":{}}
	],"cohorts":{"9":{"type":"AND","values":[{"key":"plan","type":"person","value":"pro"}]}}}`
	old := compileText(t, document)
	all := []string{"last", "first", "middle", "alone"}
	for _, tt := range []struct {
		name, from, to string
		want           []string
	}{
		{"nothing", ``, ``, nil},
		{"a flag, and those that depend on it", `"rollout_percentage":10`, `"rollout_percentage":20`, []string{"last", "first", "middle"}},
		{"a flag that nobody depends on", `"id":4`, `"id":14`, []string{"alone"}},
		{"inactive", `"key":"middle","active":true`, `"key":"middle","active":false`, []string{"last", "middle"}},
		{"a dependency is gone", `"id":1,"key":"first"`, `"deleted":true,"id":1,"key":"first"`, []string{"last", "middle", "first"}},
		{"a deleted flag comes back", `,"deleted":true`, ``, []string{"gone"}},
		{"a match mode", `"key":"alone"`, `"evaluation_contexts_match_mode":"all","key":"alone"`, []string{"alone"}},
		{"a new name", `"key":"alone"`, `"key":"other"`, []string{"other", "alone"}},
		{"a cohort", `"pro"`, `"team"`, all},
		{"the rules of matching", `"cohorts"`, `"property_matching_version":2,"cohorts"`, all},
		{"a deleted flag", `"filters":{}}`, `"version":2,"filters":{}}`, nil},
	} {
		edited := strings.Replace(document, tt.from, tt.to, 1)
		if tt.name != "nothing" && edited == document {
			t.Fatalf("%s: nothing to edit", tt.name)
		}
		s := compileText(t, edited)
		if diff := cmp.Diff(tt.want, s.Changed(old)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", tt.name, diff)
		}
		forth, back := s.Changed(old), old.Changed(s)
		slices.Sort(forth)
		slices.Sort(back)
		if !slices.Equal(forth, back) {
			t.Errorf("%s: changed %q there, %q back", tt.name, forth, back)
		}
		if s.ETag() == old.ETag() != (tt.name == "nothing") {
			t.Errorf("%s: ETag %s and %s", tt.name, old.ETag(), s.ETag())
		}
	}
	if diff := cmp.Diff(all, old.Changed(nil)); diff != "" {
		t.Errorf("from nothing (-want +got)\n%s", diff)
	}
}

// TestChangedCycles: what leaves a dependency cycle has changed.
func TestChangedCycles(t *testing.T) {
	const cyclic = `{"flags":[
		{"id":1,"key":"a","active":true,"filters":{"groups":[{"properties":[{"key":"2","type":"flag","operator":"flag_evaluates_to","value":true}]}]}},
		{"id":2,"key":"b","active":true,"filters":{"groups":[{"properties":[{"key":"1","type":"flag","operator":"flag_evaluates_to","value":true}]}]}},
		{"id":3,"key":"c","active":true,"filters":{"groups":[{}]}}]}`
	old := compileText(t, cyclic)
	s := compileText(t, strings.Replace(cyclic, `"key":"1","type":"flag"`, `"key":"3","type":"flag"`, 1))
	if diff := cmp.Diff([]string{"a", "b"}, s.Changed(old)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
