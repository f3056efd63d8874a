package judge_test

import (
	"testing"

	"github.com/flagstaff-go/flagstaff/internal/judge"
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
