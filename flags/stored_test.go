package flags_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/runtime"
)

func compileText(t *testing.T, document string) *flags.Snapshot {
	t.Helper()
	d, err := flags.Decode(strings.NewReader(document))
	if err != nil {
		t.Fatal(err)
	}
	s, err := flags.Compile(d, flags.CompileOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestContinuityFlags: rows are written for active flags that bucket by person
// (evaluation.md §12).
func TestContinuityFlags(t *testing.T) {
	s := compileText(t, `{"flags":[
		{"id":1,"key":"yes","active":true,"ensure_experience_continuity":true,"filters":{"groups":[{"rollout_percentage":50}]}},
		{"id":2,"key":"plain","active":true,"filters":{"groups":[{"rollout_percentage":50}]}},
		{"id":3,"key":"inactive","active":false,"ensure_experience_continuity":true,"filters":{"groups":[{"rollout_percentage":50}]}},
		{"id":4,"key":"deleted","active":true,"deleted":true,"ensure_experience_continuity":true,"filters":{"groups":[{"rollout_percentage":50}]}},
		{"id":5,"key":"device","active":true,"bucketing_identifier":"device_id","ensure_experience_continuity":true,"filters":{"groups":[{"rollout_percentage":50}]}},
		{"id":6,"key":"group","active":true,"ensure_experience_continuity":true,"filters":{"aggregation_group_type_index":0,"groups":[{"rollout_percentage":50}]}},
		{"id":7,"key":"also","active":true,"ensure_experience_continuity":true,"filters":{"groups":[{"rollout_percentage":100}]}}
	],"group_type_mapping":{"0":"company"}}`)
	if diff := cmp.Diff([]string{"yes", "also"}, s.ContinuityFlags()); diff != "" {
		t.Errorf("ContinuityFlags (-want +got)\n%s", diff)
	}
}

// TestSetPersonCreated: person_metadata (evaluation.md §1.5, §8.4).
func TestSetPersonCreated(t *testing.T) {
	s := compileText(t, `{"flags":[{"id":1,"key":"old","active":true,"filters":{"groups":[{"properties":[
		{"key":"created_at","type":"person_metadata","operator":"is_date_before","value":"2025-01-01"}],"rollout_percentage":100}]}}]}`)
	before, after := time.Date(2024, 12, 31, 0, 0, 0, 0, time.UTC), time.Date(2025, 2, 1, 0, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		name    string
		request string
		created time.Time
		needs   bool
		want    bool
	}{
		{"unknown", `{}`, time.Time{}, true, false},
		{"before", `{}`, before, true, true},
		{"after", `{}`, after, true, false},
		{"a user property of that name does not count", `{"created_at":"2020-01-01"}`, after, true, false},
		{"the request wins", `{"__posthog_person_metadata__created_at":"2020-01-01"}`, after, false, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var in flags.Input
			in.Reset(s, "u", runtime.Filter{}, time.Now())
			if err := in.PersonJSON([]byte(tt.request)); err != nil {
				t.Fatal(err)
			}
			if n := in.Needs(); n.PersonCreated != tt.needs || n.Person {
				t.Errorf("Needs = %+v, want PersonCreated %v and not Person", n, tt.needs)
			}
			if !tt.created.IsZero() {
				in.SetPersonCreated(tt.created)
			}
			results := in.Evaluate()
			got, _ := results.Get("old")
			if got.Enabled != tt.want {
				t.Errorf("enabled = %v, want %v", got.Enabled, tt.want)
			}
		})
	}
}
