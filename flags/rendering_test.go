package flags_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/runtime"
)

// plainRendering writes results as json.Marshal does, and what protocols tell
// besides.
var plainRendering = flags.Rendering{Append: appendPlain}

func appendPlain(dst []byte, r *flags.Result) []byte {
	return fmt.Appendf(r.AppendJSON(append(dst, '[')), ",%s,%t,%t]", r.OpenFeatureReason(), r.Multivariate(), r.RemoteConfiguration())
}

// renderedList is the list that AppendRendered has for results.
func renderedList(results []flags.Result) []byte {
	list := []byte{'['}
	for i := range results {
		if i > 0 {
			list = append(list, ',')
		}
		list = appendPlain(list, &results[i])
	}
	return append(list, ']')
}

// manyReasons is a flag whose value off has a reason per person: the last of its
// condition sets in whose rollout the person is not.
func manyReasons(t testing.TB, conditions int) *flags.Snapshot {
	groups := make([]string, conditions)
	for i := range groups {
		groups[i] = fmt.Sprintf(`{"properties":[{"key":"n","type":"person","operator":"exact","value":["%d"]}],"rollout_percentage":0.001}`, i)
	}
	return compiled(t, `{"flags":[{"id":1,"key":"a","active":true,"filters":{"groups":[`+strings.Join(groups, ",")+`]}},`+
		`{"id":2,"key":"b","active":false,"filters":{"groups":[{}]}}]}`)
}

// TestAppendRendered renders more reasons of a value than a Snapshot keeps, by several
// goroutines at once, so that some are kept and some are not.
func TestAppendRendered(t *testing.T) {
	const reasons = 40
	s := manyReasons(t, reasons)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			var in flags.Input
			for i := range 3 * reasons {
				in.Reset(s, "user-1", runtime.Filter{}, time.Time{})
				if err := in.PersonJSON(fmt.Appendf(nil, `{"n":"%d"}`, i%reasons)); err != nil {
					t.Error(err)
					return
				}
				want := slices.Collect(in.Flags())
				got, n := in.AppendRendered([]byte("before"), &plainRendering)
				if diff := cmp.Diff("before"+string(renderedList(want)), string(got)); diff != "" || n != 2 {
					t.Errorf("n is %d: %d flags, want 2 (-want +got)\n%s", i%reasons, n, diff)
					return
				}
			}
		})
	}
	wg.Wait()
}

// TestAppendRenderedForms has more forms than a Snapshot keeps.
func TestAppendRenderedForms(t *testing.T) {
	s := manyReasons(t, 1)
	var in flags.Input
	for range 2 {
		for i := range 20 {
			r := &flags.Rendering{Append: func(dst []byte, r *flags.Result) []byte { return fmt.Appendf(dst, "%d-%s", i, r.Key) }}
			for range 2 {
				in.Reset(s, "user-1", runtime.Filter{}, time.Time{})
				got, _ := in.AppendRendered(nil, r)
				if diff := cmp.Diff(fmt.Sprintf("[%d-a,%d-b]", i, i), string(got)); diff != "" {
					t.Fatal(diff)
				}
			}
		}
	}
	in.Reset(nil, "user-1", runtime.Filter{}, time.Time{})
	if got, n := in.AppendRendered(nil, &plainRendering); string(got) != "[]" || n != 0 {
		t.Errorf("without a Snapshot: %s, %d flags", got, n)
	}
}

// TestKeptRenderings counts how often results are written.
func TestKeptRenderings(t *testing.T) {
	s := manyReasons(t, 40)
	written := 0
	r := &flags.Rendering{Append: func(dst []byte, r *flags.Result) []byte {
		written++
		return append(dst, r.Reason.Description...)
	}}
	var in flags.Input
	round := func() int {
		written = 0
		for i := range 40 {
			in.Reset(s, "user-1", runtime.Filter{}, time.Time{})
			if err := in.PersonJSON(fmt.Appendf(nil, `{"n":"%d"}`, i)); err != nil {
				t.Fatal(err)
			}
			in.AppendRendered(nil, r)
		}
		return written
	}
	// The inactive flag is written once. Of the 40 reasons of the other one, 16 are kept.
	if first, second := round(), round(); first != 41 || second != 24 {
		t.Errorf("40 requests wrote %d results, and the same again %d, want 41 and 24", first, second)
	}
	if raceEnabled {
		return
	}
	s = manyReasons(t, 1)
	var dst []byte
	if n := testing.AllocsPerRun(100, func() {
		in.Reset(s, "user-1", runtime.Filter{}, time.Time{})
		dst, _ = in.AppendRendered(dst[:0], &plainRendering)
	}); n != 0 {
		t.Errorf("AppendRendered allocates %v times, want 0", n)
	}
}
