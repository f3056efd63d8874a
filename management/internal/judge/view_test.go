package judge_test

import (
	"strings"
	"testing"

	"github.com/flagstaff-go/flagstaff/management/internal/judge"
)

// management.md §13.2 and §13.9.
func TestViews(t *testing.T) {
	const variants = `"multivariate":{"variants":[{"key":"a","rollout_percentage":50},{"key":"b","rollout_percentage":50}]}`
	for _, tt := range []struct {
		raw, kind, variants string
		grouped             bool
	}{
		{`{"groups":[{}]}`, "boolean", "", false},
		{`{"groups":[{}],` + variants + `}`, "multivariant", "a b", false},
		{`{"groups":[{}],"multivariate":{"variants":[]}}`, "boolean", "", false},
		{`{"groups":[{}],"aggregation_group_type_index":0}`, "boolean", "", true},
		{`{"groups":[{},{"aggregation_group_type_index":1}]}`, "boolean", "", true},
		{`{"groups":[{"aggregation_group_type_index":null}],"aggregation_group_type_index":null}`, "boolean", "", false},
		{``, "boolean", "", false},
		{`[]`, "boolean", "", false},
	} {
		raw := []byte(tt.raw)
		if got := judge.Type(raw); got != tt.kind {
			t.Errorf("Type(%s) = %s, want %s", raw, got, tt.kind)
		}
		if got := strings.Join(judge.Variants(raw), " "); got != tt.variants {
			t.Errorf("Variants(%s) = %s, want %s", raw, got, tt.variants)
		}
		if got := judge.GroupBased(raw); got != tt.grouped {
			t.Errorf("GroupBased(%s) = %v, want %v", raw, got, tt.grouped)
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
		if got := judge.FullyRolledOut([]byte(raw)); got != want {
			t.Errorf("FullyRolledOut(%s) = %v, want %v", raw, got, want)
		}
	}
}
