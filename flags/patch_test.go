package flags_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/flags/internal/bench"
	"github.com/flagstaff-go/flagstaff/internal/fulltest"
	"github.com/flagstaff-go/flagstaff/internal/reference"
)

// An edited document changes at random.
type edited struct {
	g       *reference.Generator
	rng     *rand.Rand
	members map[string]json.RawMessage // without the flags
	flags   []map[string]json.RawMessage
	spare   []map[string]json.RawMessage // bodies for flags
	made    int
}

func newEdited(t testing.TB, seed uint64) *edited {
	t.Helper()
	e := &edited{g: reference.NewGenerator(seed), rng: rand.New(rand.NewPCG(seed, 1))}
	for range 4 {
		_, list := e.generate(t)
		e.spare = append(e.spare, list...)
	}
	// The requests of the Generator fit the last document, and so do the IDs that the
	// others refer to.
	e.members, e.flags = e.generate(t)
	for range 20 {
		e.flags = append(e.flags, e.anotherFlag())
	}
	return e
}

func (e *edited) generate(t testing.TB) (members map[string]json.RawMessage, list []map[string]json.RawMessage) {
	t.Helper()
	if err := json.Unmarshal(e.g.Document(), &members); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(members["flags"], &list); err != nil {
		t.Fatal(err)
	}
	delete(members, "flags")
	return members, list
}

// anotherFlag returns a flag with a key of its own.
func (e *edited) anotherFlag() map[string]json.RawMessage {
	e.made++
	f := map[string]json.RawMessage{}
	if len(e.spare) > 0 {
		f = clone(e.spare[e.rng.IntN(len(e.spare))])
	}
	f["key"] = json.RawMessage(fmt.Sprintf(`"flag-%d"`, e.made))
	f["id"] = json.RawMessage(fmt.Sprint(1000 + e.made))
	return f
}

func clone(f map[string]json.RawMessage) map[string]json.RawMessage {
	out := make(map[string]json.RawMessage, len(f))
	maps.Copy(out, f)
	return out
}

// change changes the document, mostly one flag of it.
func (e *edited) change() {
	if len(e.flags) == 0 {
		e.flags = append(e.flags, e.anotherFlag())
		return
	}
	i := e.rng.IntN(len(e.flags))
	f := clone(e.flags[i])
	switch e.rng.IntN(24) {
	case 0:
		e.flags = slices.Insert(slices.Clone(e.flags), i, e.anotherFlag())
		return
	case 1:
		e.flags = slices.Delete(slices.Clone(e.flags), i, i+1)
		return
	case 2:
		j := e.rng.IntN(len(e.flags))
		e.flags = slices.Clone(e.flags)
		e.flags[i], e.flags[j] = e.flags[j], e.flags[i]
		return
	case 3:
		e.made++
		f["key"] = json.RawMessage(fmt.Sprintf(`"flag-%d"`, e.made))
	case 4:
		f["id"] = json.RawMessage(fmt.Sprint(e.rng.IntN(5)))
	case 5:
		f["deleted"] = json.RawMessage(fmt.Sprint(e.rng.IntN(2) == 0))
	case 6:
		f["key"] = e.flags[e.rng.IntN(len(e.flags))]["key"]
	case 7, 8, 9:
		f["active"] = json.RawMessage(fmt.Sprint(e.rng.IntN(2) == 0))
	case 10:
		f["ensure_experience_continuity"] = json.RawMessage(fmt.Sprint(e.rng.IntN(2) == 0))
	case 11:
		f["bucketing_identifier"] = json.RawMessage([]string{`"device_id"`, `"distinct_id"`, `"other"`}[e.rng.IntN(3)])
	case 12:
		f["evaluation_contexts"] = json.RawMessage([]string{`["web"]`, `["web","app"]`, `[]`}[e.rng.IntN(3)])
	case 13:
		f["evaluation_runtime"] = json.RawMessage([]string{`"client"`, `"server"`, `"all"`}[e.rng.IntN(3)])
	case 14:
		f["filters"] = json.RawMessage([]string{
			`{"groups":7}`, `{"groups":[{"properties":[{"key":7}]}]}`, `{"version":3}`, `{"groups":[]}`,
			`{"groups":[{"properties":[{"key":"plan","type":"person","operator":"regex","value":"^a(b|c)+$"}]}]}`,
			`{"groups":[{"properties":[{"key":"plan","type":"person","operator":"regex","value":"("}]}]}`,
			`{"groups":[{"properties":[{"key":"1","type":"flag","operator":"flag_evaluates_to","value":true}],"rollout_percentage":30}]}`,
			`{"groups":[{"rollout_percentage":120},{"properties":[{"key":"one of its own","type":"person","value":"x"}]}],"feature_enrollment":true}`,
		}[e.rng.IntN(8)])
	case 15:
		f["name"] = json.RawMessage(`"another name"`)
	case 16:
		if members, _ := e.generateMembers(); members != nil {
			e.members = members
		}
		return
	default:
		body := e.anotherFlag()
		body["key"], body["id"] = f["key"], f["id"]
		f = body
	}
	e.flags = slices.Clone(e.flags)
	e.flags[i] = f
}

// generateMembers changes one of the members beside the flags.
func (e *edited) generateMembers() (members map[string]json.RawMessage, changed bool) {
	members = clone(e.members)
	switch e.rng.IntN(4) {
	case 0:
		members["property_matching_version"] = json.RawMessage(fmt.Sprint(1 + e.rng.IntN(2)))
	case 1:
		members["group_type_mapping"] = json.RawMessage(`{"0":"company","1":"project"}`)
	case 2:
		members["timezone"] = json.RawMessage([]string{`"Europe/Vienna"`, `"UTC"`, `"Nowhere"`}[e.rng.IntN(3)])
	default:
		delete(members, "cohorts")
	}
	return members, true
}

func (e *edited) decode(t testing.TB) *flags.Definitions {
	t.Helper()
	d, err := flags.Decode(bytes.NewReader(e.document(t)))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func (e *edited) document(t testing.TB) []byte {
	t.Helper()
	members := make(map[string]any)
	for name, v := range e.members {
		members[name] = v
	}
	members["flags"] = append([]map[string]json.RawMessage{}, e.flags...)
	document, err := json.Marshal(members)
	if err != nil {
		t.Fatal(err)
	}
	return document
}

// sameSnapshots compares everything that two Snapshots of the same definitions say.
func sameSnapshots(t testing.TB, want, got *flags.Snapshot, requests []*reference.Request) {
	t.Helper()
	say := func(s *flags.Snapshot) []any {
		problems, err := json.Marshal(s.Problems())
		if err != nil {
			t.Fatal(err)
		}
		var all []any
		add := func(v ...any) { all = append(all, v...) }
		add(s.ETag(), string(problems), slices.Collect(s.Keys()), s.ContinuityFlags(), s.Len(), s.MinimalFlagCalledEvents())
		for _, name := range []string{"plan", "email", "one of its own", "$device_id", "$anon_distinct_id", "distinct_id", "$os"} {
			add(s.Reads(name))
		}
		for key := range s.Keys() {
			add(s.NeedsOf(key))
		}
		in := new(flags.Input)
		for _, r := range requests {
			fill(t, in, s, r, everything, nil)
			needs := in.Needs()
			slices.Sort(needs.Groups)
			needs.Groups = slices.Clone(needs.Groups)
			add(needs)
			out, partial := in.AppendFlags(nil)
			add(string(out), partial)
			for key := range s.Keys() {
				trace, err := in.Explain(key)
				asJSON, _ := json.Marshal(trace)
				add(string(asJSON), fmt.Sprint(trace, err))
			}
			if own, ok := goRequest(t, r, rand.New(rand.NewPCG(1, 1))); ok {
				all, _ := json.Marshal(maps.Collect(s.Evaluate(own).All()))
				add(string(all), s.MissingContext(own))
				for key := range s.Keys() {
					result, err := s.Flag(key, own)
					add(string(result.AppendJSON(nil)), fmt.Sprint(err), s.Bool(key, own, true), s.Variant(key, own, "none"))
				}
			}
		}
		return all
	}
	if diff := cmp.Diff(say(want), say(got)); diff != "" {
		t.Fatalf("a patch differs (-whole +patched)\n%s", diff)
	}
}

// checkPatches edits a document at random, and compares patches with Snapshots that were
// compiled as a whole. It returns how many of them were patches.
func checkPatches(t testing.TB, seed uint64, steps int) (patches int) {
	t.Helper()
	e := newEdited(t, seed)
	var last, older *flags.Snapshot
	for range steps {
		var requests []*reference.Request
		for range 3 {
			requests = append(requests, e.g.Request())
		}
		whole, err := flags.Compile(e.decode(t), flags.CompileOptions{})
		if err != nil {
			t.Fatal(err)
		}
		patched, err := flags.Compile(e.decode(t), flags.CompileOptions{Previous: last})
		if err != nil {
			t.Fatal(err)
		}
		if flags.Patched(patched) > 0 {
			patches++
		}
		sameSnapshots(t, whole, patched, requests)
		if older != nil { // a Snapshot can have several that follow it
			other, err := flags.Compile(e.decode(t), flags.CompileOptions{Previous: older})
			if err != nil {
				t.Fatal(err)
			}
			sameSnapshots(t, whole, other, requests)
			sameSnapshots(t, whole, patched, requests)
		}
		older, last = last, patched
		e.change()
	}
	return patches
}

func TestPatches(t *testing.T) {
	seed := rand.Uint64()
	patches := 0
	for i := range uint64(fulltest.Count(10, 20)) {
		if !t.Run(fmt.Sprint("seed ", seed+i), func(t *testing.T) { patches += checkPatches(t, seed+i, 20) }) {
			return
		}
	}
	if patches == 0 {
		t.Error("nothing was patched")
	}
	t.Logf("%d patches", patches)
}

func FuzzPatches(f *testing.F) {
	for seed := range uint64(5) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) { checkPatches(t, seed, 10) })
}

// BenchmarkReload compiles 10,000 flags of which one has changed. Its floor is to
// compile them as a whole.
func BenchmarkReload(b *testing.B) {
	const n = 10_000
	var versions [2]*flags.Definitions
	for i := range versions {
		versions[i] = bench.Definitions(n, "sha1")
		versions[i].Flags[n/2].Filters.Groups[0].RolloutPercentage = new(float64(i))
	}
	for _, floor := range []bool{false, true} {
		b.Run(map[bool]string{false: "flagstaff", true: "floor"}[floor], func(b *testing.B) {
			b.ReportAllocs()
			s, err := flags.Compile(versions[0], flags.CompileOptions{})
			for i := 1; b.Loop() && err == nil; i++ {
				o := flags.CompileOptions{Previous: s}
				if floor {
					o.Previous = nil
				}
				s, err = flags.Compile(versions[i%2], o)
			}
			if err != nil {
				b.Fatal(err)
			}
		})
	}
}

// BenchmarkE18 compiles 10,000 flags of which one has changed. Its floor is to compile all.
func BenchmarkE18(b *testing.B) {
	const n = 10_000
	var versions [2]*flags.Definitions
	for i := range versions {
		versions[i] = bench.Definitions(n, "sha1")
		versions[i].Flags[n/2].Filters.Groups[0].RolloutPercentage = new(float64(10 + i))
	}
	for _, floor := range []bool{false, true} {
		b.Run(map[bool]string{false: "flagstaff", true: "floor"}[floor], func(b *testing.B) {
			b.ReportAllocs()
			var o flags.CompileOptions
			for i := 0; b.Loop(); i++ {
				s, err := flags.Compile(versions[i%2], o)
				if err != nil {
					b.Fatal(err)
				}
				if !floor {
					o.Previous = s
				}
			}
		})
	}
}
