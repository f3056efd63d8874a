package flags_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"log"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/flags/flagstest"
	"github.com/flagstaff-go/flagstaff/internal/reference"
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

func plain(list []flags.Change) (out []change) {
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
			d := flags.Diff(flagstest.Snapshot(t, tt.before...), flagstest.Snapshot(t, tt.after...), subjects)
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
		flags.ErrorFlagData:  `{"flags":[{"id":1,"key":"k","active":true,"filters":{"groups":7}}]}`,
		flags.ErrorFlagCycle: `{"flags":[{"id":1,"key":"k","active":true,"filters":{"groups":[{"properties":[{"key":"k","type":"flag","value":true,"operator":"flag_evaluates_to"}]}]}}]}`,
	} {
		d := flags.Diff(off, decode(document), people(3))
		if d.Changed != 3 || len(d.Flags) != 1 || d.Flags[0].Changed != 3 || d.Flags[0].Changes[0].After.Reason.Code != name {
			t.Errorf("%s: %s", name, d)
		}
		if again := flags.Diff(decode(document), decode(document), people(3)); len(again.Flags) != 0 {
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
		d                 *flags.DiffReport
		subjects, changed int
		flags             int
	}{
		{"no snapshots", flags.Diff(nil, nil, nobody), 2, 0, 0},
		{"none before", flags.Diff(nil, s, nobody), 2, 2, 1},
		{"none after", flags.Diff(s, nil, nobody), 2, 2, 1},
		{"no subjects", flags.Diff(s, nil, nil), 0, 0, 1},
		{"an empty sequence", flags.Diff(nil, s, people(0)), 0, 0, 1},
		{"the same snapshot", flags.Diff(s, s, nobody), 2, 0, 0},
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
			if d := flags.Diff(s, s, slices.Values([]*flags.Request{r})); d.Changed != 0 {
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
	d := flags.Diff(flagstest.Snapshot(t, before), flagstest.Snapshot(t, after), subjects)
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
			flags.Diff(s, s, func(yield func(*flags.Request) bool) {
				for range n {
					yield(r)
				}
			})
		})
	}
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	few, many := allocations(10), allocations(1010)
	if perSubject := (many - few) / 1000; perSubject > 1 { // the copy of the request
		t.Errorf("%v allocations per subject, want at most 1", perSubject)
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
	got := flags.Diff(before, after, people(7)).String()
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
		d := flags.DiffReport{Changed: tt.changed, Subjects: tt.of}
		if got, _, _ := strings.Cut(d.String(), " get"); got != tt.want {
			t.Errorf("%d of %d: %q, want %q", tt.changed, tt.of, got, tt.want)
		}
	}
}

// FuzzDiff compares reports on random definitions and requests with what
// evaluating both and comparing gives.
func FuzzDiff(f *testing.F) {
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
	d := flags.Diff(before, after, slices.Values(subjects))
	if again := flags.Diff(before, after, slices.Values(subjects)); again.String() != d.String() {
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
	if !slices.IsSortedFunc(d.Flags, func(a, b flags.FlagDiff) int { return b.Changed - a.Changed }) {
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
	return view{fmt.Sprintf("%#v %v", result.Value(), result.Enabled), result.Metadata.Payload}
}

// checkChanges checks that changes add up to a total, and that each example is one.
func checkChanges(t *testing.T, list []flags.Change, total int, before, after *flags.Snapshot, key string, subjects []*flags.Request) {
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
				if err == nil && (outcome(want) != outcome(side.got) || side.got.Reason.Code == flags.ReasonHidden) {
					t.Errorf("flag %q, subject %d: %v, want %v", key, s.Number, outcome(side.got), outcome(want))
				}
				if code := side.got.Reason.Code; err != nil && code != flags.ReasonHidden && code != flags.ReasonNoFlag {
					t.Errorf("flag %q, subject %d: %q for %v", key, s.Number, code, err)
				}
			}
		}
	}
	if sum != total {
		t.Errorf("flag %q: changes of %d subjects, want %d", key, sum, total)
	}
}

func ExampleDiff() {
	compile := func(document string) *flags.Snapshot {
		definitions, err := flags.Decode(strings.NewReader(document))
		if err != nil {
			log.Fatal(err)
		}
		snapshot, err := flags.Compile(definitions, flags.CompileOptions{})
		if err != nil {
			log.Fatal(err)
		}
		return snapshot
	}
	before := compile(`{"flags": [{"id": 1, "key": "new-checkout", "active": true, "filters": {"groups": [
		{"rollout_percentage": 50}]}}]}`)
	after := compile(`{"flags": [{"id": 1, "key": "new-checkout", "active": true, "filters": {"groups": [
		{"properties": [{"key": "plan", "type": "person", "operator": "exact", "value": "pro"}]},
		{"rollout_percentage": 40}]}}]}`)

	// A sequence may as well read subjects from a file, one by one.
	subjects := func(yield func(*flags.Request) bool) {
		for i := range 1000 {
			r := &flags.Request{DistinctID: fmt.Sprint("user-", i), PersonProperties: map[string]any{"plan": "free"}}
			if i%100 == 0 {
				r.PersonProperties["plan"] = "pro"
			}
			if !yield(r) {
				return
			}
		}
	}
	report := flags.Diff(before, after, subjects)
	for _, f := range report.Flags {
		fmt.Println(f.Key, f.Share > 0.01)
	}
	fmt.Print(report)
	// Output:
	// new-checkout true
	// 100 of 1000 subjects (10%) get another value; 1 of 1 flags differ
	//
	// new-checkout  changed  10%  100
	//     96 true (condition_match 0)       → false (out_of_rollout_bound 1) e.g. "user-11", "user-16", "user-40"
	//      4 false (out_of_rollout_bound 0) → true (condition_match 0)       e.g. "user-400", "user-600", "user-700"
}
