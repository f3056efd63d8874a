package flags_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/flagstaff-go/flagstaff/flags"
)

// TestMemory: a Memory gives the first answer again, and tells once that it is shown, however
// many flags there are.
func TestMemory(t *testing.T) {
	const n = 12
	document := []byte(`{"flags":[`)
	for i := range n {
		document = fmt.Appendf(document, `{"key":"flag-%d","active":true,"filters":{"groups":[{"rollout_percentage":0},{"properties":[{"key":"p","type":"person","operator":"exact","value":"x"}],"variant":"a"}],
			"multivariate":{"variants":[{"key":"a","rollout_percentage":0},{"key":"b","rollout_percentage":100}]}}},`, i)
	}
	s := compiled(t, string(document)+`{"key":"asleep","active":false}]}`)
	var m flags.Memory
	properties := map[string]any{"p": "x"}
	r := &flags.Request{DistinctID: "u", PersonProperties: properties}
	for _, pass := range []struct {
		name        string
		show, first bool
	}{{"asked", false, false}, {"shown", true, true}, {"shown again", true, false}} {
		for i := range n {
			key := fmt.Sprintf("flag-%d", i)
			d, first, ok := m.Detail(s, flags.ByKey(key), r, pass.show)
			if !ok || first != pass.first || d.Key() != key || d.Text() != "a" || d.Result().Reason.ConditionIndex != 1 {
				t.Errorf("%s: %s = %+v, first %v, ok %v", pass.name, key, d.Result(), first, ok)
			}
		}
		properties["p"] = "y" // what was evaluated stays
	}
	if _, first, ok := m.Detail(s, flags.ByKey("unknown"), r, true); first || ok {
		t.Errorf("an unknown flag: first %v, ok %v", first, ok)
	}
	if d, _, ok := m.Detail(s, flags.ByKey("asleep"), r, true); !ok || !d.Inactive() || d.Enabled() {
		t.Errorf("an inactive flag: %+v, ok %v", d.Result(), ok)
	}
	if _, _, ok := m.Detail(nil, flags.ByKey("flag-0"), r, true); ok {
		t.Error("a nil Snapshot decides")
	}
	other := compiled(t, `{"flags":[{"key":"flag-3","active":true,"filters":{"groups":[{}]}}]}`)
	if d, _, ok := m.Detail(other, flags.ByKey("flag-3"), r, true); !ok || d.Text() != "true" {
		t.Errorf("another Snapshot: %+v, ok %v", d.Result(), ok)
	}
}

// TestMemoryConcurrent: of several goroutines that show a flag at the same time, one is the
// first.
func TestMemoryConcurrent(t *testing.T) {
	s := compiled(t, `{"flags":[{"key":"a","active":true,"filters":{"groups":[{}]}},{"key":"b","active":true,"filters":{"groups":[{}]}}]}`)
	for range 200 {
		var (
			m      flags.Memory
			firsts atomic.Int32
			group  sync.WaitGroup
		)
		for i := range 4 {
			group.Go(func() {
				for j := range 2 {
					d, first, ok := m.Detail(s, flags.ByKey(string(rune('a'+(i+j)%2))), nil, true)
					if !ok || !d.Enabled() {
						t.Error("wrong value")
					}
					if first {
						firsts.Add(1)
					}
				}
			})
		}
		if group.Wait(); firsts.Load() != 2 {
			t.Fatalf("%d are the first to show one of 2 flags", firsts.Load())
		}
	}
}
