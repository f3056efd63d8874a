package judge_test

import (
	"testing"

	"github.com/flagstaff-go/flagstaff/management/internal/judge"
)

// management.md §13.9.
func TestGroupBased(t *testing.T) {
	for _, tt := range []struct {
		raw     string
		grouped bool
	}{
		{`{"groups":[{}]}`, false},
		{`{"groups":[{}],"multivariate":{"variants":[]}}`, false},
		{`{"groups":[{}],"aggregation_group_type_index":0}`, true},
		{`{"groups":[{},{"aggregation_group_type_index":1}]}`, true},
		{`{"groups":[{"aggregation_group_type_index":null}],"aggregation_group_type_index":null}`, false},
		{``, false},
		{`[]`, false},
	} {
		if got := judge.GroupBased(stored([]byte(tt.raw))); got != tt.grouped {
			t.Errorf("GroupBased(%s) = %v, want %v", tt.raw, got, tt.grouped)
		}
	}
}

// management.md §13.4: fully rolled out flags become stale.
func TestFullyRolledOut(t *testing.T) {
	const (
		halves = `"multivariate":{"variants":[{"key":"a","rollout_percentage":50},{"key":"b","rollout_percentage":50}]}`
		whole  = `"multivariate":{"variants":[{"key":"a","rollout_percentage":0},{"key":"b","rollout_percentage":100}]}`
		some   = `{"properties":[{"key":"x","type":"person","value":1}]}`
	)
	for raw, want := range map[string]bool{
		`{"groups":[{}]}`:                          true,
		`{"groups":[{"rollout_percentage":100}]}`:  true,
		`{"groups":[{"rollout_percentage":99.9}]}`: false,
		`{"groups":[]}`:                            false,
		`{}`:                                       false,
		``:                                         false,
		`{"groups":[` + some + `]}`:                false,
		`{"groups":[` + some + `,{}]}`:             true,
		`{"groups":[{"rollout_percentage":50},{}]}`:                                                          true,
		`{"groups":[{"rollout_percentage":50},{}],"early_exit":true}`:                                        false,
		`{"groups":[` + some + `,{}],"early_exit":true}`:                                                     true,
		`{"groups":[{}],"feature_enrollment":true}`:                                                          false,
		`{"groups":[{}],"holdout":{"id":1,"exclusion_percentage":1}}`:                                        false,
		`{"groups":[{}],"holdout":{"id":1,"exclusion_percentage":0}}`:                                        true,
		`{"groups":[{}],` + halves + `}`:                                                                     false,
		`{"groups":[{}],` + whole + `}`:                                                                      true,
		`{"groups":[{"variant":"a"}],` + halves + `}`:                                                        true,
		`{"groups":[{"variant":"a"}],` + whole + `}`:                                                         true,
		`{"groups":[{"variant":"a","properties":[{"key":"x","type":"person","value":1}]},{}],` + whole + `}`: false,
		`{"groups":[{"variant":"b","properties":[{"key":"x","type":"person","value":1}]},{}],` + whole + `}`: true,
		`{"groups":[{"variant":"a","rollout_percentage":0},{}],` + whole + `}`:                               true,
		`{"groups":[{}],"aggregation_group_type_index":0}`:                                                   true,
		`{"groups":[{"aggregation_group_type_index":0}],"aggregation_group_type_index":0}`:                   true,
		`{"groups":[{"aggregation_group_type_index":0}]}`:                                                    false,
		`{"groups":[{"aggregation_group_type_index":0},{"aggregation_group_type_index":null}]}`:              true,
		`{"groups":[{}],"multivariate":{"variants":[{"key":"a","rollout_percentage":0}]}}`:                   false,
	} {
		if got := judge.FullyRolledOut(stored([]byte(raw))); got != want {
			t.Errorf("FullyRolledOut(%s) = %v, want %v", raw, got, want)
		}
	}
}
