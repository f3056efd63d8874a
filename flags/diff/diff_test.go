package diff_test

import (
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/flags/diff"
	"github.com/flagstaff-go/flagstaff/flags/flagstest"
	"github.com/flagstaff-go/flagstaff/runtime"
)

// people are subjects on the plans free and pro in turn.
func people(n int) iter.Seq[*flags.Request] {
	return func(yield func(*flags.Request) bool) {
		for i := range n {
			r := &flags.Request{
				DistinctID:       fmt.Sprintf("user-%d", i+1),
				PersonProperties: map[string]any{"plan": []string{"free", "pro"}[i%2]},
			}
			if !yield(r) {
				return
			}
		}
	}
}

// A change is a Change without what depends on the definitions' numbers.
type change struct {
	Before, After string
	Subjects      int
	Examples      []int
}

func outcome(r flags.Result) string {
	return fmt.Sprintf("%v %v %s %d %s", r.Value(), r.Failed, r.Reason.Code, r.Reason.ConditionIndex, r.Metadata.Payload)
}

func plain(list []diff.Change) (out []change) {
	for _, c := range list {
		n := change{outcome(c.Before), outcome(c.After), c.Subjects, nil}
		for _, s := range c.Examples {
			n.Examples = append(n.Examples, s.Number)
		}
		out = append(out, n)
	}
	return out
}

// TestDiff has one change of definitions in each row, for ten subjects.
func TestDiff(t *testing.T) {
	flag := func() *flagstest.Builder { return flagstest.Flag("k") }
	server := func(r *flags.Request) { r.Filter = runtime.Filter{Kind: runtime.Server} }
	for _, tt := range []struct {
		name          string
		before, after []*flagstest.Builder
		request       func(*flags.Request)
		changed       int
		changes       []change
		payloads      []change
		added         bool
		removed       bool
		same          bool
	}{
		{
			name:   "nothing",
			before: []*flagstest.Builder{flag().Person("plan", "exact", "pro")},
			after:  []*flagstest.Builder{flag().Person("plan", "exact", "pro")},
			same:   true,
		},
		{
			name:   "another reason for the same value",
			before: []*flagstest.Builder{flag().On()},
			after:  []*flagstest.Builder{flag().Person("plan", "exact", "pro").On()},
			same:   true,
		},
		{
			name:    "a condition is gone",
			before:  []*flagstest.Builder{flag().On()},
			after:   []*flagstest.Builder{flag().Person("plan", "exact", "pro")},
			changed: 5,
			changes: []change{{"true false condition_match 0 ", "false false no_condition_match 0 ", 5, []int{1, 3, 5}}},
		},
		{
			name:    "the flag is new",
			after:   []*flagstest.Builder{flag().Person("plan", "exact", "pro")},
			added:   true,
			changed: 5,
			changes: []change{{"false false no_flag -1 ", "true false condition_match 0 ", 5, []int{2, 4, 6}}},
		},
		{
			name:  "the flag is new and off",
			after: []*flagstest.Builder{flag().Off()},
			added: true,
		},
		{
			name:    "the flag is gone",
			before:  []*flagstest.Builder{flag().On()},
			removed: true,
			changed: 10,
			changes: []change{{"true false condition_match 0 ", "false false no_flag -1 ", 10, []int{1, 2, 3}}},
		},
		{
			name:    "the flag is switched off",
			before:  []*flagstest.Builder{flag().On()},
			after:   []*flagstest.Builder{flag().On().Inactive()},
			changed: 10,
			changes: []change{{"true false condition_match 0 ", "false false flag_disabled -1 ", 10, []int{1, 2, 3}}},
		},
		{
			name:    "the flag is for another runtime",
			before:  []*flagstest.Builder{flag().On()},
			after:   []*flagstest.Builder{flag().On().Runtime("client")},
			request: server,
			changed: 10,
			changes: []change{{"true false condition_match 0 ", "false false hidden -1 ", 10, []int{1, 2, 3}}},
		},
		{
			name:    "the payload is encrypted",
			before:  []*flagstest.Builder{flag().On()},
			after:   []*flagstest.Builder{flag().On().Change(func(f *flags.Flag) { f.HasEncryptedPayloads = true })},
			changed: 10,
			changes: []change{{"true false condition_match 0 ", "false false hidden -1 ", 10, []int{1, 2, 3}}},
		},
		{
			name:    "the request does not ask for it",
			before:  []*flagstest.Builder{flag().On()},
			after:   []*flagstest.Builder{flag().Off()},
			request: func(r *flags.Request) { r.Keys = []string{"other"} },
			same:    true,
		},
		{
			name:    "two changes at once, the more frequent first",
			before:  []*flagstest.Builder{flag().Person("plan", "exact", "pro").Pin("red").On().Pin("blue").Variant("red", 50).Variant("blue", 50)},
			after:   []*flagstest.Builder{flag().Person("distinct_id", "exact", "user-1").Pin("red").On().Pin("blue").Variant("red", 50).Variant("blue", 50)},
			changed: 6,
			changes: []change{
				{"red false condition_match 0 ", "blue false condition_match 1 ", 5, []int{2, 4, 6}},
				{"blue false condition_match 1 ", "red false condition_match 0 ", 1, []int{1}},
			},
		},
		{
			name:     "another payload",
			before:   []*flagstest.Builder{flag().On().Payload("true", `1`)},
			after:    []*flagstest.Builder{flag().On().Payload("true", `2`)},
			payloads: []change{{"true false condition_match 0 1", "true false condition_match 0 2", 10, []int{1, 2, 3}}},
		},
		{
			name:     "no payload any more",
			before:   []*flagstest.Builder{flag().Person("plan", "exact", "pro").Payload("true", `1`)},
			after:    []*flagstest.Builder{flag().Person("plan", "exact", "pro")},
			payloads: []change{{"true false condition_match 0 1", "true false condition_match 0 ", 5, []int{2, 4, 6}}},
		},
		{
			name:    "another value with another payload is one change",
			before:  []*flagstest.Builder{flag().On().Pin("a").Variant("a", 50).Variant("b", 50).Payload("a", "1")},
			after:   []*flagstest.Builder{flag().On().Pin("b").Variant("a", 50).Variant("b", 50).Payload("a", "1")},
			changed: 10,
			changes: []change{{"a false condition_match 0 1", "b false condition_match 0 ", 10, []int{1, 2, 3}}},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			subjects := func(yield func(*flags.Request) bool) {
				for r := range people(10) {
					if tt.request != nil {
						tt.request(r)
					}
					if !yield(r) {
						return
					}
				}
			}
			d := diff.Compare(flagstest.Snapshot(t, tt.before...), flagstest.Snapshot(t, tt.after...), subjects)
			if d.Subjects != 10 || d.Changed != tt.changed {
				t.Errorf("%d of %d subjects, want %d of 10", d.Changed, d.Subjects, tt.changed)
			}
			if tt.same {
				if len(d.Flags) != 0 {
					t.Errorf("flags that differ: %+v", d.Flags)
				}
				return
			}
			if len(d.Flags) != 1 {
				t.Fatalf("%d flags differ, want 1", len(d.Flags))
			}
			f := d.Flags[0]
			if f.Key != "k" || f.Changed != tt.changed || f.Share != float64(tt.changed)/10 || f.Added != tt.added || f.Removed != tt.removed {
				t.Errorf("flag %+v, want %d changed, added %v, removed %v", f, tt.changed, tt.added, tt.removed)
			}
			if diff := cmp.Diff(tt.changes, plain(f.Changes)); diff != "" {
				t.Errorf("changes (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.payloads, plain(f.PayloadChanges)); diff != "" {
				t.Errorf("changes of the payload (-want +got):\n%s", diff)
			}
		})
	}
}

// TestDiffOfFailingFlags: a flag that fails changes for all that it had a value
// for, though it was false.
func TestDiffOfFailingFlags(t *testing.T) {
	decode := func(document string) *flags.Snapshot {
		d, err := flags.Decode(strings.NewReader(document))
		if err != nil {
			t.Fatal(err)
		}
		s, err := flags.Compile(d, flags.CompileOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	off := decode(`{"flags":[{"id":1,"key":"k","active":true,"filters":{"groups":[]}}]}`)
	for name, document := range map[string]string{
		flags.ErrorFlagData:     `{"flags":[{"id":1,"key":"k","active":true,"filters":{"groups":7}}]}`,
		"dependency_cycle_flag": `{"flags":[{"id":1,"key":"k","active":true,"filters":{"groups":[{"properties":[{"key":"k","type":"flag","value":true,"operator":"flag_evaluates_to"}]}]}}]}`,
	} {
		d := diff.Compare(off, decode(document), people(3))
		if d.Changed != 3 || len(d.Flags) != 1 || d.Flags[0].Changed != 3 || d.Flags[0].Changes[0].After.Reason.Code != name {
			t.Errorf("%s: %s", name, d)
		}
		if again := diff.Compare(decode(document), decode(document), people(3)); len(again.Flags) != 0 {
			t.Errorf("%s: a flag that fails as before differs:\n%s", name, again)
		}
	}
}

// TestDiffWithoutAnything: missing snapshots, subjects and requests are not flags,
// none, and nobody in particular.
func TestDiffWithoutAnything(t *testing.T) {
	s := flagstest.Snapshot(t, flagstest.Flag("k").On())
	nobody := slices.Values([]*flags.Request{nil, {}})
	for _, tt := range []struct {
		name              string
		d                 *diff.Report
		subjects, changed int
		flags             int
	}{
		{"no snapshots", diff.Compare(nil, nil, nobody), 2, 0, 0},
		{"none before", diff.Compare(nil, s, nobody), 2, 2, 1},
		{"none after", diff.Compare(s, nil, nobody), 2, 2, 1},
		{"no subjects", diff.Compare(s, nil, nil), 0, 0, 1},
		{"an empty sequence", diff.Compare(nil, s, people(0)), 0, 0, 1},
		{"the same snapshot", diff.Compare(s, s, nobody), 2, 0, 0},
	} {
		if tt.d.Subjects != tt.subjects || tt.d.Changed != tt.changed || len(tt.d.Flags) != tt.flags {
			t.Errorf("%s: %+v", tt.name, tt.d)
		}
		for _, f := range tt.d.Flags {
			if math.IsNaN(f.Share) {
				t.Errorf("%s: share of %s is NaN", tt.name, f.Key)
			}
		}
		if tt.d.String() == "" {
			t.Errorf("%s: no text", tt.name)
		}
	}
}

// slowly is a regular expression that takes a second.
type slowly struct{}

func (slowly) MatchString(string) bool {
	time.Sleep(time.Second)
	return true
}

// TestDiffAtOneMoment: requests without Now are evaluated before and after at the
// same one, so that a relative date does not pass for a change.
func TestDiffAtOneMoment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := flags.Compile(flagstest.Definitions(t,
			flagstest.Flag("slow").Person("plan", "regex", "(?=pro)"),
			flagstest.Flag("k").Person("seen", "is_date_after", "-1h"),
		), flags.CompileOptions{Regexp: func(string) (flags.Matcher, error) { return slowly{}, nil }})
		if err != nil {
			t.Fatal(err)
		}
		for half := range time.Duration(6) {
			seen := time.Now().Add(-time.Hour + half*time.Second/2)
			r := &flags.Request{PersonProperties: map[string]any{"plan": "pro", "seen": seen}}
			if d := diff.Compare(s, s, slices.Values([]*flags.Request{r})); d.Changed != 0 {
				t.Errorf("Diff of a snapshot with itself:\n%s", d)
			}
			if !r.Now.IsZero() {
				t.Error("Diff has changed the request")
			}
		}
	})
}

// TestDiffIsBounded: what a report keeps does not grow with the number of
// subjects, and what it does not keep is counted.
func TestDiffIsBounded(t *testing.T) {
	before, after := flagstest.Flag("k"), flagstest.Flag("k")
	const sets = 150
	for i := range sets {
		before.Condition().Person("n", "exact", i)
	}
	after.Off()
	subjects := func(yield func(*flags.Request) bool) {
		for i := range 10 * sets {
			if !yield(&flags.Request{DistinctID: strings.Repeat("é", 1000), PersonProperties: map[string]any{"n": i % sets}}) {
				return
			}
		}
	}
	d := diff.Compare(flagstest.Snapshot(t, before), flagstest.Snapshot(t, after), subjects)
	f := d.Flags[0]
	if f.Changed != 10*sets || len(f.Changes) != 100 || f.Changes[0].Subjects != 10 {
		t.Errorf("%d changed, %d changes", f.Changed, len(f.Changes))
	}
	for _, c := range f.Changes {
		if len(c.Examples) != 3 || len(c.Examples[0].DistinctID) > 400 {
			t.Errorf("%d examples, the first of %d bytes", len(c.Examples), len(c.Examples[0].DistinctID))
		}
	}
	if text := d.String(); !strings.Contains(text, "500 other changes of the value") {
		t.Errorf("the text has nothing of further changes:\n%s", text)
	}
}

// TestDiffAllocates little for subjects for whom nothing changes.
func TestDiffAllocates(t *testing.T) {
	s := flagstest.Snapshot(t, flagstest.Flag("k").Person("plan", "exact", "pro"), flagstest.Flag("l").Rollout(50))
	r := &flags.Request{DistinctID: "user-1", PersonProperties: map[string]any{"plan": "free"}}
	allocations := func(n int) float64 {
		return testing.AllocsPerRun(10, func() {
			diff.Compare(s, s, func(yield func(*flags.Request) bool) {
				for range n {
					yield(r)
				}
			})
		})
	}
	few, many := allocations(10), allocations(1010)
	if perSubject := (many - few) / 1000; perSubject > 3.1 { // the copy of the request and the results of both
		t.Errorf("%v allocations per subject, want at most 3", perSubject)
	}
}

func TestDiffText(t *testing.T) {
	before := flagstest.Snapshot(t,
		flagstest.Flag("checkout").On().Pin("blue").Variant("blue", 50).Variant("red", 50),
		flagstest.Flag("banner").On(),
		flagstest.Flag("limits").On().Payload("true", `{"seats": 5}`),
		flagstest.Flag("same").On(),
	)
	after := flagstest.Snapshot(t,
		flagstest.Flag("checkout").Person("plan", "exact", "pro").Pin("blue").On().Rollout(0).Variant("blue", 50).Variant("red", 50),
		flagstest.Flag("limits").On().Payload("true", "{\n\"seats\": 10}"),
		flagstest.Flag("same").On(),
		flagstest.Flag("neu\u202e\n").Off(),
	)
	const want = `7 of 7 subjects (100%) get another value; 4 of 5 flags differ

banner         removed   100%  7
    7 true (condition_match 0) → false (no_flag) e.g. "user-1", "user-2", "user-3"

checkout       changed  57.1%  4
    4 "blue" (condition_match 0) → false (out_of_rollout_bound 1) e.g. "user-1", "user-3", "user-5"

limits         payload     0%  0
    7 true with payload {"seats": 5} → true with payload "{\n\"seats\": 10}" e.g. "user-1", "user-2", "user-3"

"neu\u202e\n"  added       0%  0
`
	got := diff.Compare(before, after, people(7)).String()
	if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}
}

func TestDiffPercentages(t *testing.T) {
	for _, tt := range []struct {
		changed, of int
		want        string
	}{
		{0, 0, "0 of 0 subjects (0%)"},
		{0, 5, "0 of 5 subjects (0%)"},
		{5, 5, "5 of 5 subjects (100%)"},
		{1, 3, "1 of 3 subjects (33.3%)"},
		{1, 40_000, "1 of 40000 subjects (0.0025%)"},
		{1, 2_000_000, "1 of 2000000 subjects (<0.0001%)"},
		{39_999, 40_000, "39999 of 40000 subjects (99.9%)"},
	} {
		d := diff.Report{Changed: tt.changed, Subjects: tt.of}
		if got, _, _ := strings.Cut(d.String(), " get"); got != tt.want {
			t.Errorf("%d of %d: %q, want %q", tt.changed, tt.of, got, tt.want)
		}
	}
}
