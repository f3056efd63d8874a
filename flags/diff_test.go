package flags_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/flags/diff"
	"github.com/flagstaff-go/flagstaff/internal/reference"
)

// FuzzCompare compares reports on random definitions and requests with what
// evaluating both and comparing gives.
func FuzzCompare(f *testing.F) {
	for seed := range uint64(20) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) { compareDiff(t, seed) })
}

// TestRandomDiff does the same for many seeds.
func TestRandomDiff(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	changed := 0
	for n := 0; n < cases(t)/20 && !t.Failed(); n++ {
		changed += compareDiff(t, seed+uint64(n))
	}
	if changed == 0 {
		t.Error("nothing ever changed")
	}
}

func compareDiff(t *testing.T, seed uint64) (changed int) {
	t.Helper()
	g := reference.NewGenerator(seed)
	rnd := rand.New(rand.NewPCG(seed, 3))
	document := g.Document()
	compile := func(edit func(*flags.Flag)) *flags.Snapshot {
		d, err := flags.Decode(bytes.NewReader(document))
		if err != nil {
			t.Fatal(err)
		}
		for i := range d.Flags {
			edit(&d.Flags[i])
		}
		s, err := flags.Compile(d, flags.CompileOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	before := compile(func(*flags.Flag) {})
	if rnd.IntN(2) == 0 { // requests fit the last document
		document = g.Document()
	}
	after := compile(func(f *flags.Flag) { edit(f, rnd) })
	var subjects []*flags.Request
	for range 20 {
		if r, ok := goRequest(t, g.Request(), rnd); ok {
			r.Keys = nil // it also shows flags that another one depends on
			subjects = append(subjects, r)
		}
	}
	d := diff.Compare(before, after, slices.Values(subjects))
	if again := diff.Compare(before, after, slices.Values(subjects)); again.String() != d.String() {
		t.Errorf("seed %d: two reports of the same:\n%s\n%s", seed, d, again)
	}

	// The obvious: per key, the subjects for whom the results differ.
	type counts struct {
		Changed, Payload int
		Added, Removed   bool
	}
	want, anyone := make(map[string]counts), 0
	keys := slices.Concat(slices.Collect(before.Keys()), slices.Collect(after.Keys()))
	slices.Sort(keys)
	keys = slices.Compact(keys)
	for _, r := range subjects {
		any := false
		for _, key := range keys {
			a, b := seen(before, key, r), seen(after, key, r)
			c := want[key]
			switch {
			case a.value != b.value:
				any = true
				c.Changed++
			case a.payload != b.payload:
				c.Payload++
			}
			want[key] = c
		}
		if any {
			anyone++
		}
	}
	for _, key := range keys {
		_, inBefore := slices.BinarySearch(slices.Sorted(before.Keys()), key)
		_, inAfter := slices.BinarySearch(slices.Sorted(after.Keys()), key)
		c := want[key]
		c.Added, c.Removed = !inBefore, !inAfter
		if want[key] = c; c == (counts{}) {
			delete(want, key)
		}
	}
	got := make(map[string]counts)
	for _, f := range d.Flags {
		got[f.Key] = counts{f.Changed, f.PayloadChanged, f.Added, f.Removed}
		checkChanges(t, f.Changes, f.Changed, before, after, f.Key, subjects)
		checkChanges(t, f.PayloadChanges, f.PayloadChanged, before, after, f.Key, subjects)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("seed %d: flags (-want +got):\n%s", seed, diff)
	}
	if d.Subjects != len(subjects) || d.Changed != anyone {
		t.Errorf("seed %d: %d of %d subjects, want %d of %d", seed, d.Changed, d.Subjects, anyone, len(subjects))
	}
	if !slices.IsSortedFunc(d.Flags, func(a, b diff.Flag) int { return b.Changed - a.Changed }) {
		t.Errorf("seed %d: flags out of order:\n%s", seed, d)
	}
	if text := d.String(); !utf8.ValidString(text) {
		t.Errorf("seed %d: the text is not UTF-8: %q", seed, text)
	}
	return d.Changed
}

// edit makes a change that a user might make, or none.
func edit(f *flags.Flag, rnd *rand.Rand) {
	groups := f.Filters.Groups
	switch rnd.IntN(7) {
	case 0:
		f.Active = !f.Active
	case 1:
		f.Filters.Groups = append(groups, flags.Condition{})
	case 2:
		f.Filters.Payloads = map[string]json.RawMessage{"true": []byte("1"), "test": []byte("2"), "control": []byte("{}")}
	case 3:
		if len(groups) > 0 {
			groups[0].RolloutPercentage = new(rnd.Float64() * 100)
		}
	case 4:
		if len(groups) > 0 {
			f.Filters.Groups = groups[1:]
		}
	}
}

// A view is what a subject sees of a flag.
type view struct {
	value   string
	payload string
}

func seen(s *flags.Snapshot, key string, r *flags.Request) view {
	result, ok := s.Evaluate(r).Get(key)
	if !ok {
		if single, err := s.Flag(key, r); err != nil || !single.Failed {
			return view{value: "false false"}
		}
		return view{value: "failed"} // on a dependency cycle
	}
	if result.Failed {
		return view{value: "failed"}
	}
	if raw := string(result.JSON()); raw != "" && raw != "false" && raw != "true" && raw[0] != '"' { // a rule set's, which says more
		return view{raw, result.Metadata.Payload}
	}
	return view{fmt.Sprintf("%#v %v", result.Value(), result.Enabled), result.Metadata.Payload}
}

// checkChanges checks that changes add up to a total, and that each example is one.
func checkChanges(t *testing.T, list []diff.Change, total int, before, after *flags.Snapshot, key string, subjects []*flags.Request) {
	t.Helper()
	sum := 0
	for _, c := range list {
		sum += c.Subjects
		if want := min(c.Subjects, 3); len(c.Examples) != want {
			t.Errorf("flag %q: %d examples of %d subjects", key, len(c.Examples), c.Subjects)
		}
		for _, s := range c.Examples {
			r := subjects[s.Number-1]
			for _, side := range []struct {
				snap *flags.Snapshot
				got  flags.Result
			}{{before, c.Before}, {after, c.After}} {
				want, err := side.snap.Flag(key, r)
				if err == nil && (outcome(want) != outcome(side.got) || side.got.Reason.Code == diff.ReasonHidden) {
					t.Errorf("flag %q, subject %d: %v, want %v", key, s.Number, outcome(side.got), outcome(want))
				}
				if code := side.got.Reason.Code; err != nil && code != diff.ReasonHidden && code != diff.ReasonNoFlag {
					t.Errorf("flag %q, subject %d: %q for %v", key, s.Number, code, err)
				}
			}
		}
	}
	if sum != total {
		t.Errorf("flag %q: changes of %d subjects, want %d", key, sum, total)
	}
}

func outcome(r flags.Result) string {
	return fmt.Sprintf("%v %v %s %d %s", r.Value(), r.Failed, r.Reason.Code, r.Reason.ConditionIndex, r.Metadata.Payload)
}
