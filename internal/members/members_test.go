package members_test

import (
	"testing"

	"github.com/flagstaff-go/flagstaff/internal/jsonscan"
	"github.com/flagstaff-go/flagstaff/internal/members"
)

// evaluation.md §1.8: what a name stands for, and which member is nearest to it.
func TestRuling36Names(t *testing.T) {
	for _, tt := range []struct {
		shape                        *members.Shape
		object, name, meant, nearest string
	}{
		{members.Condition, `{}`, "rollout", "rollout_percentage", "rollout_percentage"},
		{members.Condition, `{"rollout_percentage":1}`, "rollout", "", "rollout_percentage"},
		{members.Condition, `{}`, "Rollout-Percentage", "rollout_percentage", "rollout_percentage"},
		{members.Condition, `{}`, "rolout_percentage", "rollout_percentage", "rollout_percentage"},
		{members.Condition, `{}`, "rollouts_percentages", "", "rollout_percentage"},
		{members.Condition, `{}`, "ttl", "", ""},
		{members.Condition, `{}`, "pct", "rollout_percentage", "rollout_percentage"},
		{members.Condition, `{}`, "Percentile", "rollout_percentage", "rollout_percentage"},
		{members.Condition, `{}`, "share", "rollout_percentage", "rollout_percentage"},
		{members.Condition, `{}`, "weight", "rollout_percentage", "rollout_percentage"},
		{members.Condition, `{}`, "traffic", "rollout_percentage", "rollout_percentage"},
		{members.Filter, `{}`, "typ", "type", "type"},
		{members.Condition, `{}`, "schedule", "", ""},
		{members.Flag, `{"active":true}`, "enabled", "active", "active"},
		{members.Flag, `{}`, "archvied", "", "archived"},
		{members.Filter, `{}`, "op", "operator", "operator"},
		{members.Filter, `{}`, "kye", "", ""},
		{members.Filter, `{}`, "KEY", "key", "key"},
	} {
		object := jsonscan.Value(tt.object)
		if got := tt.shape.Meant(tt.name, object); got != tt.meant {
			t.Errorf("%q in %s %s means %q, want %q", tt.name, tt.shape.Noun, tt.object, got, tt.meant)
		}
		if got := tt.shape.Nearest(tt.name); got != tt.nearest {
			t.Errorf("the member of %s nearest to %q is %q, want %q", tt.shape.Noun, tt.name, got, tt.nearest)
		}
	}
	if long := string(make([]byte, 1000)); members.Flag.Nearest(long) != "" || members.Flag.Meant(long, nil) != "" {
		t.Error("a name of 1000 bytes has a nearest member")
	}
}
