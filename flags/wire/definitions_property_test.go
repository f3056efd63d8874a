package wire_test

import (
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/flags/wire"
	oracle "github.com/flagstaff-go/flagstaff/internal/reference"
	"github.com/flagstaff-go/flagstaff/runtime"
)

// The tests of this file compare random definitions with what is left of them
// after a document was written and read.

var kinds = map[string]runtime.Kind{
	"": runtime.All, "unknown": runtime.Unknown, "client": runtime.Client, "server": runtime.Server,
}

// evaluate puts a request of the generator to a snapshot.
func evaluate(t testing.TB, s *flags.Snapshot, r *oracle.Request) *flags.Results {
	t.Helper()
	var in flags.Input
	in.Reset(s, r.DistinctID, runtime.Filter{Kind: kinds[r.Kind], Tags: r.Tags}, r.Now)
	in.AnonymousID, in.DeviceID, in.SurveysOnly = r.AnonymousID, r.DeviceID, r.SurveysOnly
	if r.HasKeys {
		in.SetKeys(r.Keys)
	}
	var errs []error
	if r.Person != nil {
		errs = append(errs, in.PersonJSON(r.Person))
	}
	if r.StoredPerson != nil {
		errs = append(errs, in.SetPerson(r.StoredPerson))
	}
	for name, key := range r.Groups {
		errs = append(errs, in.Group(name, key))
	}
	for name, p := range r.GroupProperties {
		if string(p) != "null" {
			errs = append(errs, in.GroupJSON(name, p))
		}
	}
	for name, p := range r.StoredGroups {
		errs = append(errs, in.SetGroup(name, p))
	}
	for _, err := range errs {
		if err != nil {
			t.Fatalf("filling the Input: %v", err)
		}
	}
	for name, v := range r.Geo {
		in.SetGeo(name, v)
	}
	for key, v := range r.Overrides {
		in.SetOverride(key, v)
	}
	for _, id := range r.Cohorts {
		in.SetCohort(id)
	}
	return in.Evaluate()
}

func compileBoth(t testing.TB, a, b *flags.Definitions, zone *time.Location) (_, _ *flags.Snapshot) {
	t.Helper()
	var s [2]*flags.Snapshot
	for i, d := range []*flags.Definitions{a, b} {
		var err error
		if s[i], err = flags.Compile(d, flags.CompileOptions{TimeZone: zone}); err != nil {
			t.Fatalf("Compile: %v", err)
		}
	}
	return s[0], s[1]
}

// dependents adds to a set of keys the flags that depend on one of them, and so
// on. It takes a filter for every flag that it might mean.
func dependents(d *flags.Definitions, keys map[string]bool) map[string]bool {
	ids := make(map[int64]bool)
	for grown := true; grown; {
		grown = false
		for i := range d.Flags {
			if f := &d.Flags[i]; keys[f.Key] {
				ids[f.ID] = true
			}
		}
		for i := range d.Flags {
			f := &d.Flags[i]
			for fl := range filters(f) {
				id, err := strconv.ParseInt(fl.Key, 10, 64)
				if fl.Type == "flag" && (keys[fl.Key] || err == nil && ids[id]) && !keys[f.Key] {
					keys[f.Key], grown = true, true
				}
			}
		}
	}
	return keys
}

func filters(f *flags.Flag) map[*flags.Filter]bool {
	all := make(map[*flags.Filter]bool)
	for i := range f.Filters.Groups {
		for j := range f.Filters.Groups[i].Properties {
			all[&f.Filters.Groups[i].Properties[j]] = true
		}
	}
	return all
}

// cohortsOf returns the cohorts that a filter reaches.
func cohortsOf(d *flags.Definitions, fl *flags.Filter) map[int64]bool {
	found := make(map[int64]bool)
	var visit func(fl *flags.Filter)
	var walk func(n *flags.CohortNode)
	visit = func(fl *flags.Filter) {
		text := string(fl.Value) // an integer, or the text of one
		json.Unmarshal(fl.Value, &text)
		id, err := strconv.ParseInt(text, 10, 64)
		if fl.Type != "cohort" || err != nil || found[id] {
			return
		}
		found[id] = true
		if c := d.Cohorts[id]; c.Properties != nil {
			walk(c.Properties)
		}
	}
	walk = func(n *flags.CohortNode) {
		if n.Leaf != nil {
			visit(n.Leaf)
		}
		for i := range n.Values {
			walk(&n.Values[i])
		}
	}
	visit(fl)
	return found
}

// leftOut returns the keys of flags that a document cannot evaluate as the
// server does, for lack of a flag that is not sent, or with another reason, since it
// does not say why a cohort is stored.
func leftOut(d *flags.Definitions) map[string]bool {
	keys := make(map[string]bool)
	for i := range d.Flags {
		f := &d.Flags[i]
		if f.HasEncryptedPayloads {
			keys[f.Key] = true
		}
		for fl := range filters(f) {
			for id := range cohortsOf(d, fl) {
				if c := d.Cohorts[id]; c.Stored && c.Behavioral {
					keys[f.Key] = true
				}
			}
		}
	}
	return dependents(d, keys)
}

// An answer is what has to stay the same.
type answer struct {
	Value    any
	Enabled  bool
	Failed   bool
	Reason   flags.Reason
	Metadata flags.Metadata
}

func answers(r *flags.Results, except map[string]bool) map[string]answer {
	out := make(map[string]answer)
	for key, result := range r.All() {
		if !except[key] {
			out[key] = answer{result.Value(), result.Enabled, result.Failed, result.Reason, result.Metadata}
		}
	}
	return out
}

// rewrite returns a document and what Decode makes of it.
func rewrite(t testing.TB, d *flags.Definitions, o wire.DefinitionsOptions) ([]byte, *flags.Definitions) {
	t.Helper()
	document, err := wire.AppendDefinitions(nil, d, o)
	if err != nil {
		t.Fatalf("AppendDefinitions: %v", err)
	}
	back, err := flags.Decode(bytes.NewReader(document))
	if err != nil {
		t.Fatalf("Decode(%s): %v", document, err)
	}
	return document, back
}

// seeds calls f with seeds from the clock on, or from FLAGSTAFF_RANDOM_SEED,
// until it has failed or made as many comparisons as are wanted.
// FLAGSTAFF_RANDOM_CASES replaces their number.
func seeds(t *testing.T, want uint64, f func(seed uint64) int) {
	t.Helper()
	number := func(name string, otherwise uint64) uint64 {
		s := os.Getenv(name)
		if s == "" {
			return otherwise
		}
		n, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			t.Fatalf("%s=%q: want a number", name, s)
		}
		return n
	}
	seed := number("FLAGSTAFF_RANDOM_SEED", uint64(time.Now().UnixNano()))
	want = number("FLAGSTAFF_RANDOM_CASES", want)
	t.Logf("seed %d", seed)
	for n := uint64(0); n < want && !t.Failed(); seed++ {
		n += uint64(f(seed))
	}
}

func random(t testing.TB, seed uint64) (*oracle.Generator, []byte, *flags.Definitions) {
	t.Helper()
	g := oracle.NewGenerator(seed)
	document := g.Document()
	d, err := flags.Decode(bytes.NewReader(document))
	if err != nil {
		t.Fatalf("Decode(%s): %v", document, err)
	}
	return g, document, d
}

// TestDefinitionsRoundTrip: flags that a document can carry evaluate as before,
// and to write what was read gives the same document.
func TestDefinitionsRoundTrip(t *testing.T) {
	seeds(t, 4000, func(seed uint64) (n int) {
		g, source, d := random(t, seed)
		except := leftOut(d)
		document, back := rewrite(t, d, wire.DefinitionsOptions{})
		checkForm(t, document)
		if again, _ := rewrite(t, back, wire.DefinitionsOptions{}); !bytes.Equal(again, document) {
			t.Errorf("the second document differs:\n%s\n%s", document, again)
		}
		before, after := compileBoth(t, d, back, g.Request().Zone)
		for range 4 {
			r := g.Request()
			want, got := answers(evaluate(t, before, r), except), answers(evaluate(t, after, r), except)
			if diff := cmp.Diff(want, got); diff != "" {
				request, _ := json.Marshal(r)
				t.Errorf("results (-before +after):\n%s\nsource: %s\ndocument: %s\nrequest: %s", diff, source, document, request)
				return n
			}
			n += len(want)
		}
		return n
	})
}

// simplify makes most cohorts ones that can be inlined.
func simplify(n *flags.CohortNode) {
	kept := n.Values[:0]
	for _, child := range n.Values {
		if fl := child.Leaf; fl != nil {
			if fl.Type != "person" && fl.Type != "" {
				continue
			}
			fl.Negation = false
		}
		simplify(&child)
		kept = append(kept, child)
	}
	n.Values = kept
}

// TestInlinedCohorts: where all cohort filters of a flag, and of the flags that it
// depends on, were inlined, nothing has changed but the numbers of condition sets.
func TestInlinedCohorts(t *testing.T) {
	split := 0
	seeds(t, 800, func(seed uint64) (n int) {
		g, source, d := random(t, seed)
		for _, c := range d.Cohorts {
			if c.Properties != nil && c.Properties.Leaf == nil && seed%4 > 0 {
				simplify(c.Properties)
			}
		}
		document, back := rewrite(t, d, wire.DefinitionsOptions{InlineCohorts: true})
		checkForm(t, document)
		if len(back.Cohorts) > 0 {
			t.Errorf("cohorts in %s", document)
		}
		except, inlined := make(map[string]bool), make(map[string]bool)
		for i := range d.Flags {
			for fl := range filters(&d.Flags[i]) {
				if fl.Type == "cohort" {
					inlined[d.Flags[i].Key] = true
				}
			}
			if d.Flags[i].HasEncryptedPayloads {
				except[d.Flags[i].Key] = true
			}
		}
		for i := range back.Flags {
			for fl := range filters(&back.Flags[i]) {
				if fl.Type == "cohort" {
					except[back.Flags[i].Key] = true
				}
			}
			if before := find(d, back.Flags[i].Key); len(back.Flags[i].Filters.Groups) > len(before.Filters.Groups) {
				split++
			}
		}
		dependents(d, except)
		if !slices.ContainsFunc(d.Flags, func(f flags.Flag) bool { return inlined[f.Key] && !except[f.Key] }) {
			return 0
		}
		before, after := compileBoth(t, d, back, g.Request().Zone)
		for range 8 {
			r := g.Request()
			want, got := answers(evaluate(t, before, r), except), answers(evaluate(t, after, r), except)
			for _, all := range []map[string]answer{want, got} {
				for key, a := range all {
					a.Reason.ConditionIndex, a.Reason.Description = 0, ""
					all[key] = a
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				request, _ := json.Marshal(r)
				t.Errorf("results (-before +after):\n%s\nsource: %s\ndocument: %s\nrequest: %s", diff, source, document, request)
				return n
			}
			for key := range want {
				if inlined[key] {
					n++
				}
			}
		}
		return n
	})
	if split == 0 {
		t.Error("no cohort was split")
	}
}

func find(d *flags.Definitions, key string) *flags.Flag {
	return &d.Flags[slices.IndexFunc(d.Flags, func(f flags.Flag) bool { return f.Key == key && !f.Deleted })]
}
