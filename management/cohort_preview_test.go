package management_test

import (
	"errors"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/management"
)

// management.md §13.21: what refers to cohorts.
func TestCohortUses(t *testing.T) {
	w := newWorld(t, withData)
	used := w.cohort(w.web, `{"name":"Pro","filters":`+pro+`}`)
	w.cohort(w.web, `{"name":"Unused","filters":`+pro+`}`)
	w.cohort(w.web, `{"name":"User","filters":{"properties":{"type":"AND","values":[{"key":"id","type":"cohort","value":`+used+`},{"key":"id","type":"cohort","value":`+used+`,"negation":true}]}}}`)
	w.flag(w.web, `{"key":"b","active":false,"filters":`+inCohort(used)+`}`)
	w.flag(w.web, `{"key":"a","filters":`+inCohort(used)+`}`)
	gone := w.flag(w.web, `{"key":"gone","filters":`+inCohort(used)+`}`)
	must(w.changeFlag(gone, `{"deleted":true}`))(t)
	want := `{"1":{"flags":[{"id":2,"key":"a","active":true,"survey":false},{"id":1,"key":"b","active":false,"survey":false}],"cohorts":[{"id":3,"name":"User"}]}}`
	if got := encode(t, must(w.CohortUses(t.Context(), w.as(w.ada), ref(w.web)))(t)); got != want {
		t.Errorf("CohortUses = %s, want %s", got, want)
	}
}

// management.md §13.21: what a change of a cohort would do.
func TestPreviewCohort(t *testing.T) {
	w := newWorld(t, withData)
	for id, plan := range map[string]string{"u1": "pro", "u2": "free", "u3": "team"} {
		w.capture(w.web, "x", id, `{"$set":{"plan":"`+plan+`"}}`)
	}
	id := w.cohort(w.web, `{"name":"Pro","filters":`+pro+`}`)
	w.flag(w.web, `{"key":"user","filters":`+inCohort(id)+`}`)
	w.flag(w.web, `{"key":"off","active":false,"filters":`+inCohort(id)+`}`)
	preview := func(body string) (*management.CohortPreview, error) {
		return w.PreviewCohort(t.Context(), w.as(w.ada), ref(w.web), decode[management.CohortPreviewPatch](t, body))
	}
	const free = `{"properties":{"type":"OR","values":[{"key":"plan","value":"free","type":"person"}]}}`
	before := w.state()
	for _, tt := range []struct{ name, body, want string }{
		{"as it is", `{"id":` + id + `}`, `{"subjects":3,"members":1,"joining":0,"leaving":0,"changes":[],"flags":[]}`},
		{"new", `{"name":"New","filters":` + free + `}`, `{"subjects":3,"members":1,"joining":1,"leaving":0,"changes":[{"distinct_id":"u2","member":true}],"flags":[]}`},
		{"few", `{"id":` + id + `,"limit":1,"name":"N"}`, ``},
	} {
		got, err := preview(tt.body)
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		if tt.want != "" && encode(t, got) != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, encode(t, got), tt.want)
		}
		if tt.want == "" && got.Subjects != 1 {
			t.Errorf("%s: %d subjects, want 1", tt.name, got.Subjects)
		}
	}
	got := must(preview(`{"id":` + id + `,"filters":` + free + `}`))(t)
	if got.Members != 1 || got.Joining != 1 || got.Leaving != 1 || len(got.Changes) != 2 {
		t.Errorf("a change: %s", encode(t, got))
	}
	if diff := cmp.Diff([]management.ChangedFlag{{Key: "user", Changed: 2}}, got.Flags); diff != "" {
		t.Errorf("flags (-want +got)\n%s", diff)
	}
	if after := w.state(); !reflect.DeepEqual(before, after) {
		t.Error("a preview has changed something")
	}
	list := w.cohort(w.web, `{"name":"List","is_static":true}`)
	for body, want := range map[string]string{
		`{"filters":` + free + `}`:         "invalid required name",
		`{"id":"x"}`:                       "invalid invalid_input id",
		`{"id":99}`:                        "invalid does_not_exist id",
		`{"id":` + id + `,"limit":0}`:      "invalid min_value limit",
		`{"id":` + id + `,"deleted":true}`: "invalid invalid_input deleted",
		`{"id":` + list + `}`:              "invalid invalid_input is_static",
		`{"name":"N","filters":{"properties":{"type":"NOR","values":[]}}}`:                                                          "invalid invalid_input filters",
		`{"name":"N","filters":{"properties":{"type":"AND","values":[{"key":"x","type":"behavioral","value":"performed_event"}]}}}`: "invalid behavioral_cohort_found",
	} {
		_, err := preview(body)
		checkFault(t, body, err, want)
	}
}

// management.md §13.10: changes of somebody else.
func TestCohortOriginal(t *testing.T) {
	w := newWorld(t, withData)
	id := w.cohort(w.web, `{"name":"Pro","filters":`+pro+`}`)
	seen := encode(t, must(w.Cohort(t.Context(), w.as(w.ada), ref(w.web), id))(t))
	must(w.changeCohort(id, `{"name":"Theirs"}`))(t)
	v := must(w.changeCohort(id, `{"name":"Pro","description":"Mine","filters":`+pro+`,"original_cohort":`+seen+`}`))(t)
	if v.Name != "Theirs" || v.Description != "Mine" {
		t.Errorf("%q, %q: want both changes", v.Name, v.Description)
	}
	_, err := w.changeCohort(id, `{"name":"Mine","original_cohort":`+seen+`}`)
	if !errors.Is(err, management.ErrConflict) {
		t.Errorf("a clash: %v, want ErrConflict", err)
	}
	must(w.changeCohort(id, `{"name":"Theirs","original_cohort":`+seen+`}`))(t) // both want the same
	_, err = w.changeCohort(id, `{"name":"Mine","original_cohort":7}`)
	checkFault(t, "no object", err, "invalid not_a_dict original_cohort")

	feature := w.feature(w.web, `{"name":"New","stage":"beta"}`)
	seen = encode(t, must(w.EarlyAccessFeature(t.Context(), w.as(w.ada), ref(w.web), feature))(t))
	must(w.changeFeature(feature, `{"stage":"alpha"}`))(t)
	f := must(w.changeFeature(feature, `{"name":"Newer","stage":"beta","original_feature":`+seen+`}`))(t)
	if f.Name != "Newer" || f.Stage != "alpha" {
		t.Errorf("%q, %q: want both changes", f.Name, f.Stage)
	}
	_, err = w.changeFeature(feature, `{"stage":"archived","original_feature":`+seen+`}`)
	if !errors.Is(err, management.ErrConflict) {
		t.Errorf("a clash: %v, want ErrConflict", err)
	}
}

// management.md §13.21: who has enrolled in an early access feature.
func TestListEnrollments(t *testing.T) {
	w := newWorld(t, withData)
	id := w.feature(w.web, `{"name":"New","stage":"beta"}`)
	for distinctID, properties := range map[string]string{
		"u1": `{"$feature_enrollment/new":true}`, "u2": `{"$feature_enrollment/new":"true","other":[{"$feature_enrollment/new":true}]}`,
		"u3": `{"$feature_enrollment/new":false}`, "u4": `{"$feature_enrollment/newer":true}`, "u5": `{"x":{"$feature_enrollment/new":true}}`,
	} {
		w.capture(w.web, "x", distinctID, `{"$set":`+properties+`}`)
	}
	list := func(optedOut bool, limit, offset int) *management.Enrollments {
		t.Helper()
		return must(w.ListEnrollments(t.Context(), w.as(w.ada), ref(w.web), id, optedOut, limit, offset))(t)
	}
	e := list(false, 10, 0)
	if e.Enrolled != 2 || e.OptedOut != 1 || len(e.Persons) != 2 || e.Property != "$feature_enrollment/new" {
		t.Errorf("enrolled: %s", encode(t, e))
	}
	first, second := list(false, 1, 0).Persons, list(false, 1, 1).Persons
	if diff := cmp.Diff(e.Persons, append(first, second...)); diff != "" {
		t.Errorf("pages (-all +one by one)\n%s", diff)
	}
	if out := list(true, 10, 0).Persons; len(out) != 1 || out[0].DistinctIDs[0] != "u3" {
		t.Errorf("opted out: %s", encode(t, out))
	}
	_, err := w.ListEnrollments(t.Context(), w.as(w.ada), ref(w.web), "x", false, 10, 0)
	checkFault(t, "another ID", err, "not found not_found")
}
