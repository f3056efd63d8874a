package flags_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/runtime"
)

// TestTally: what no Tally can be about is not counted, and what was drained is gone. The
// tests of package server have the values of answers.
func TestTally(t *testing.T) {
	const one = `{"flags":[{"id":1,"key":"on","active":true,"filters":{"groups":[{}]}},{"id":2,"key":"off","active":false,"filters":{"groups":[]}}]}`
	s, other := compileText(t, one), compileText(t, `{"flags":[{"id":1,"key":"else","active":true,"filters":{"groups":[{}]}}]}`)
	var in, stranger flags.Input
	in.Reset(s, "u", runtime.Filter{}, time.Time{})
	stranger.Reset(other, "u", runtime.Filter{}, time.Time{})
	in.Evaluate()
	stranger.Evaluate()
	on, _ := in.Flag("on")
	off, _ := in.Flag("off")
	foreign, _ := stranger.Flag("else")

	tally := flags.NewTally(s)
	for _, ty := range []*flags.Tally{nil, new(flags.Tally), flags.NewTally(nil), tally} {
		ty.Add(&stranger)
		ty.Add(new(flags.Input))
		ty.Add(nil)
		ty.AddResult(&foreign)
		ty.AddResult(&off)
		ty.AddResult(nil)
		if list := slices.Collect(ty.Drain()); list != nil {
			t.Errorf("%v counts %v", ty, list)
		}
	}
	tally.Add(&in)
	tally.AddResult(&on)
	want := []flags.TallyCount{{Key: "on", Value: "true", Count: 2}}
	if diff := cmp.Diff(want, slices.Collect(tally.Drain())); diff != "" {
		t.Errorf("counts (-want +got)\n%s", diff)
	}
	if list := slices.Collect(tally.Drain()); list != nil {
		t.Errorf("after draining there is %v", list)
	}
}
