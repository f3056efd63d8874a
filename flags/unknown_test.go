package flags_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/flagstaff-go/flagstaff/flags"
)

// TestUnknownKeys: keys that no flag has are counted, and told once with what may have been
// meant.
func TestUnknownKeys(t *testing.T) {
	var e flags.Evaluator
	var mu sync.Mutex
	var told []flags.UnknownKey
	e.OnUnknown(func(u flags.UnknownKey) {
		mu.Lock()
		defer mu.Unlock()
		told = append(told, u)
	})
	r := &flags.Request{DistinctID: "u"}
	e.Bool("chekout", r, false) // nothing is loaded yet
	e.Swap(compiled(t, `{"flags":[{"id":1,"key":"checkout","active":true,"filters":{"groups":[{}]}}]}`))
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			for range 5 {
				e.Bool("chekout", r, false)
				e.Bool("checkout", r, false)
			}
		})
	}
	wait.Wait()
	if got := e.Variant("banner", r, "none"); got != "none" {
		t.Errorf("Variant = %q, want the fallback", got)
	}
	if err := e.Payload("banner", r, new(int)); err == nil {
		t.Error("Payload of a flag that does not exist has no error")
	}
	u := e.Unknown()
	if len(u.Keys) != 2 || u.Keys["chekout"] != 40 || u.Keys["banner"] != 2 || u.Other != 0 {
		t.Errorf("Unknown = %v, want 40 times chekout and 2 times banner", u)
	}
	if len(told) != 2 || told[0].Key != "chekout" || !slices.Equal(told[0].Near, []string{"checkout"}) || told[1].Key != "banner" || len(told[1].Near) != 0 {
		t.Errorf("told %+v", told)
	}
	if allocs := testing.AllocsPerRun(100, func() { e.Bool("chekout", r, false) }); allocs != 0 {
		t.Errorf("%v allocations for a key that is known to be unknown", allocs)
	}

	e.Swap(compiled(t, `{"flags":[{"id":1,"key":"checkout","active":true},{"id":2,"key":"banner"}]}`))
	if _, still := e.Unknown().Keys["banner"]; still {
		t.Error("a flag that has come is still unknown")
	}

	// Keys that are computed cost bounded memory.
	told = nil
	for i := range 10_000 {
		e.Bool(fmt.Sprint("user-", i), r, false)
	}
	e.Bool(strings.Repeat("x", 1000), r, false)
	u = e.Unknown()
	if len(u.Keys) != 100 || u.Other < 9_000 {
		t.Errorf("%d keys and %d others, want a hundred and the rest", len(u.Keys), u.Other)
	}
	if n := len(told); n != 100 || !told[n-1].Full { // one of the hundred was there
		t.Errorf("%d were told, the last %+v; want a hundred, the last of which says that there are more", n, told[n-1])
	}
}
