package flags_test

import (
	"strings"
	"testing"

	"github.com/flagstaff-go/flagstaff/flags"
)

// TestEvaluateRemotely: continuity that a document has for SDKs alone is none
// (evaluation.md §14).
func TestEvaluateRemotely(t *testing.T) {
	for _, tt := range []struct {
		name, members string
		continuity    bool
		code          string // reason for user-1
	}{
		{"continuity", `"ensure_experience_continuity":true`, true, flags.ReasonConditionMatch},
		{"for SDKs alone", `"ensure_experience_continuity":true,"evaluate_remotely":true`, false, flags.ReasonConditionMatch},
		{"in the other order", `"evaluate_remotely":true,"ensure_experience_continuity":true`, false, flags.ReasonConditionMatch},
		{"no", `"ensure_experience_continuity":true,"evaluate_remotely":false`, true, flags.ReasonConditionMatch},
		{"null", `"ensure_experience_continuity":true,"evaluate_remotely":null`, true, flags.ReasonConditionMatch},
		{"without continuity", `"evaluate_remotely":true`, false, flags.ReasonConditionMatch},
		{"the last of several counts", `"ensure_experience_continuity":true,"evaluate_remotely":true,"evaluate_remotely":false`, true, flags.ReasonConditionMatch},
		{"wrong type", `"ensure_experience_continuity":true,"evaluate_remotely":"yes"`, true, flags.ErrorFlagData},
	} {
		t.Run(tt.name, func(t *testing.T) {
			source := `{"flags":[{"id":1,"key":"f","active":true,` + tt.members + `,"filters":{"groups":[{"rollout_percentage":99}]}}]}`
			d, err := flags.Decode(strings.NewReader(source))
			if err != nil {
				t.Fatal(err)
			}
			if got := d.Flags[0].EnsureExperienceContinuity; got != tt.continuity {
				t.Errorf("EnsureExperienceContinuity = %v, want %v", got, tt.continuity)
			}
			r, err := compiled(t, source).Flag("f", &flags.Request{DistinctID: "user-1"})
			if err != nil || r.Reason.Code != tt.code {
				t.Errorf("Flag = %+v, %v; want %s", r, err, tt.code)
			}
		})
	}
}

// TestUnusable: a flag that fails whatever the request is says why.
func TestUnusable(t *testing.T) {
	_, fault := flags.DecodeFilters([]byte(`[]`), "")
	bad, _ := flags.DecodeFilters([]byte(`[]`), "")
	for _, tt := range []struct {
		name    string
		filters flags.Filters
		want    string // "": it can be evaluated
	}{
		{"no version", flags.Filters{}, ""},
		{"version 1", flags.Filters{Version: 1}, ""},
		{"version 3", flags.Filters{Version: 3}, "definitions at /filters/version: unknown configuration language: 3; use 1, condition sets, or 2, a rule set"},
		{"filters that were not understood", bad, fault.Error()},
	} {
		err := (&flags.Flag{Key: "f", Filters: tt.filters}).Unusable()
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || err.Error() != tt.want) {
			t.Errorf("%s: Unusable = %v, want %q", tt.name, err, tt.want)
		}
	}
}

// TestErr: what Decode did not understand says so, and nothing else does.
func TestErr(t *testing.T) {
	d, err := flags.Decode(strings.NewReader(`{"flags":[
		{"id":1,"key":"good","active":true,"filters":{"groups":[{"properties":[{"key":"a","type":"person","value":1},{"key":"a","type":"person","operator":5}]}]}},
		{"id":2,"key":"bad","active":"yes"}],
		"cohorts":{"1":{"type":"AND","values":[{"key":true}]},"2":[]}}`))
	if err != nil {
		t.Fatal(err)
	}
	good, bad, leaf := d.Cohorts[1], d.Cohorts[2], d.Cohorts[1].Properties.Values[0].Leaf
	filters := d.Flags[0].Filters.Groups[0].Properties
	for _, tt := range []struct {
		name string
		err  error
		path string // "": no error
	}{
		{"flag", d.Flags[0].Err(), ""},
		{"bad flag", d.Flags[1].Err(), "/active"},
		{"filter", filters[0].Err(), ""},
		{"bad filter", filters[1].Err(), "/filters/groups/0/properties/1/operator"},
		{"cohort", good.Err(), ""},
		{"bad leaf", leaf.Err(), "/cohorts/1/values/0/key"},
		{"bad cohort", bad.Err(), "/cohorts/2"},
		{"made in Go", (&flags.Flag{Filters: flags.Filters{Version: 2}}).Err(), ""},
	} {
		if tt.path == "" && tt.err != nil || tt.path != "" && (tt.err == nil || !strings.Contains(tt.err.Error(), " at "+tt.path+":")) {
			t.Errorf("%s: Err = %v, want one at %q", tt.name, tt.err, tt.path)
		}
	}
}
