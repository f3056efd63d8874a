package flags_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	goruntime "runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/reference"
	"github.com/flagstaff-go/flagstaff/runtime"
)

// The functions of this file put a request of the reference evaluator to the
// product in all its forms.

var kinds = map[string]runtime.Kind{
	"": runtime.All, "unknown": runtime.Unknown, "client": runtime.Client, "server": runtime.Server,
}

// A selection says which stored data an Input is given.
type selection struct{ person, geo, cohorts, overrides, groups bool }

var everything = selection{true, true, true, true, true}

// fill puts a request into an Input, in an order that shuffle decides, since
// the order of sources must not matter.
func fill(t testing.TB, in *flags.Input, s *flags.Snapshot, r *reference.Request, sel selection, shuffle *rand.Rand) {
	t.Helper()
	in.Reset(s, r.DistinctID, runtime.Filter{Kind: kinds[r.Kind], Tags: r.Tags}, r.Now)
	in.AnonymousID, in.DeviceID, in.SurveysOnly = r.AnonymousID, r.DeviceID, r.SurveysOnly
	if r.HasKeys {
		in.SetKeys(r.Keys)
	}
	var steps []func() error
	if r.Person != nil {
		steps = append(steps, func() error { return in.PersonJSON(r.Person) })
	}
	for _, name := range slices.Sorted(maps.Keys(r.Groups)) {
		steps = append(steps, func() error { return in.Group(name, r.Groups[name]) })
	}
	for _, name := range slices.Sorted(maps.Keys(r.GroupProperties)) {
		if string(r.GroupProperties[name]) != "null" {
			steps = append(steps, func() error { return in.GroupJSON(name, r.GroupProperties[name]) })
		}
	}
	if r.StoredPerson != nil && sel.person {
		steps = append(steps, func() error { return in.SetPerson(r.StoredPerson) })
	}
	if sel.groups {
		for _, name := range slices.Sorted(maps.Keys(r.StoredGroups)) {
			steps = append(steps, func() error { return in.SetGroup(name, r.StoredGroups[name]) })
		}
	}
	if sel.geo {
		for _, name := range slices.Sorted(maps.Keys(r.Geo)) {
			steps = append(steps, func() error { in.SetGeo(name, r.Geo[name]); return nil })
		}
	}
	if sel.overrides {
		for _, key := range slices.Sorted(maps.Keys(r.Overrides)) {
			steps = append(steps, func() error { in.SetOverride(key, r.Overrides[key]); return nil })
		}
	}
	if sel.cohorts {
		for _, id := range r.Cohorts {
			steps = append(steps, func() error { in.SetCohort(id); return nil })
		}
	}
	if shuffle != nil {
		shuffle.Shuffle(len(steps), func(i, j int) { steps[i], steps[j] = steps[j], steps[i] })
	}
	for _, step := range steps {
		if err := step(); err != nil {
			t.Fatalf("filling the Input: %v", err)
		}
	}
}

// goRequest is the request of a Go caller, if it can be put that way: Request
// has no stored data beside the request's, and group keys are strings.
func goRequest(t testing.TB, r *reference.Request, rnd *rand.Rand) (*flags.Request, bool) {
	t.Helper()
	if r.StoredPerson != nil || len(r.StoredGroups) > 0 || len(r.Geo) > 0 || r.SurveysOnly {
		return nil, false
	}
	out := &flags.Request{
		DistinctID: r.DistinctID, AnonymousID: r.AnonymousID, DeviceID: r.DeviceID,
		Overrides: r.Overrides, Cohorts: r.Cohorts, Now: r.Now,
		Filter: runtime.Filter{Kind: kinds[r.Kind], Tags: r.Tags},
	}
	if r.HasKeys {
		out.Keys = append([]string{}, r.Keys...)
	}
	for name, key := range r.Groups {
		var s string
		if err := json.Unmarshal(key, &s); err != nil || string(key) == "null" {
			return nil, false
		}
		if out.Groups == nil {
			out.Groups = make(map[string]string)
		}
		out.Groups[name] = s
	}
	out.PersonProperties = goMap(t, r.Person, rnd)
	for name, properties := range r.GroupProperties {
		if out.GroupProperties == nil {
			out.GroupProperties = make(map[string]map[string]any)
		}
		out.GroupProperties[name] = goMap(t, properties, rnd)
	}
	return out, true
}

// listRequest returns the request with most of its properties in lists. A list may have a
// name twice, of which the last counts, and the map may have another value for it.
func listRequest(r *flags.Request, rnd *rand.Rand) *flags.Request {
	const decoy = "Decoy"
	out := *r
	out.PersonProperties = make(map[string]any)
	take := func(properties, rest map[string]any, add func(flags.Property)) {
		for _, name := range slices.Sorted(maps.Keys(properties)) {
			v := properties[name]
			if rnd.IntN(8) == 0 {
				rest[name] = v
				continue
			}
			if rnd.IntN(8) == 0 {
				rest[name] = decoy
			}
			if rnd.IntN(8) == 0 {
				add(flags.StringProperty(name, decoy))
			}
			add(propertyOf(name, v, rnd))
		}
	}
	take(r.PersonProperties, out.PersonProperties, func(p flags.Property) { out.Person = append(out.Person, p) })
	if r.GroupProperties != nil {
		out.GroupProperties = make(map[string]map[string]any)
	}
	for _, group := range slices.Sorted(maps.Keys(r.GroupProperties)) {
		out.GroupProperties[group] = make(map[string]any)
		take(r.GroupProperties[group], out.GroupProperties[group], func(p flags.Property) {
			out.OfGroups = append(out.OfGroups, flags.GroupProperty{Type: group, Property: p})
		})
	}
	return &out
}

// propertyOf makes a property by one of the functions that take the value.
func propertyOf(name string, v any, rnd *rand.Rand) flags.Property {
	if rnd.IntN(4) > 0 {
		switch v := v.(type) {
		case string:
			if t, err := time.Parse(time.RFC3339Nano, v); err == nil {
				if b, err := t.MarshalText(); err == nil && string(b) == v {
					return flags.TimeProperty(name, t)
				}
			}
			return flags.StringProperty(name, v)
		case bool:
			return flags.BoolProperty(name, v)
		case int:
			return flags.IntProperty(name, v)
		case int64:
			return flags.IntProperty(name, v)
		case float64:
			return flags.FloatProperty(name, v)
		}
	}
	return flags.AnyProperty(name, v)
}

type named string

// goMap decodes properties into Go values of many types, all of which
// encoding/json writes as the JSON they come from.
func goMap(t testing.TB, object json.RawMessage, rnd *rand.Rand) map[string]any {
	t.Helper()
	if object == nil || string(object) == "null" {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(object))
	d.UseNumber()
	var m map[string]any
	if err := d.Decode(&m); err != nil {
		t.Fatalf("properties %s: %v", object, err)
	}
	for name, v := range m {
		if rnd.IntN(2) == 0 {
			continue
		}
		switch v := v.(type) {
		case string:
			m[name] = named(v)
		case bool:
			m[name] = &v
		case json.Number:
			if n, err := v.Int64(); err == nil && v.String() != "-0" {
				m[name] = []any{n, int(n), float64(n)}[rnd.IntN(2+btoi(n < 1<<53 && n > -1<<53))]
			} else if f, err := v.Float64(); err == nil && strings.Contains(strconv.FormatFloat(f, 'f', -1, 64), ".") {
				m[name] = f
			} else {
				m[name] = json.RawMessage(v)
			}
		case nil:
			m[name] = json.RawMessage("null")
		}
	}
	return m
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// wire is the JSON that POST /flags?v=2 has for results of the reference.
func wire(results []reference.Result) map[string]any {
	out := make(map[string]any)
	for _, r := range results {
		metadata := map[string]any{
			"id": json.Number(strconv.FormatInt(r.ID, 10)), "version": json.Number(strconv.Itoa(r.Version)),
			"description": nil, "has_experiment": r.HasExperiment,
		}
		if r.Payload != nil && string(r.Payload) != "null" {
			metadata["payload"] = decode(r.Payload)
		}
		reason := map[string]any{"code": r.Code, "description": r.Description, "condition_index": nil}
		if r.Index >= 0 {
			reason["condition_index"] = json.Number(strconv.Itoa(r.Index))
		}
		entry := map[string]any{"key": r.Key, "enabled": r.Enabled, "reason": reason, "metadata": metadata}
		if r.HasVariant {
			entry["variant"] = r.Variant
		}
		if r.Failed {
			entry["failed"] = true
		}
		out[r.Key] = entry
	}
	return out
}

func decode(b []byte) any {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return fmt.Sprintf("not JSON (%v): %s", err, b)
	}
	return v
}

// compare evaluates a request in every way the product has and reports the
// first that does not agree with the reference.
func compare(t testing.TB, document []byte, doc *reference.Document, s *flags.Snapshot, in *flags.Input, r *reference.Request, rnd *rand.Rand) bool {
	t.Helper()
	// A store cannot have properties of a group without a usable key.
	for name := range r.StoredGroups {
		if key := r.Groups[name]; len(key) == 0 || key[0] != '-' && (key[0] < '0' || key[0] > '9') && (key[0] != '"' || string(key) == `""`) {
			delete(r.StoredGroups, name)
		}
	}
	results, partial := doc.Evaluate(r)
	want := wire(results)
	bad := func(what, diff string) bool {
		t.Helper()
		request, _ := json.Marshal(r)
		t.Errorf("%s differs from the reference (-want +got):\n%s\ndocument: %s\nrequest: %s", what, diff, document, request)
		return false
	}

	fill(t, in, s, r, everything, rnd)
	got, outcome := in.AppendFlags(nil)
	if diff := cmp.Diff(any(want), decode(got)); diff != "" {
		return bad("AppendFlags", diff)
	}
	if outcome.Partial != partial || outcome.Flags != len(results) {
		return bad("Outcome", fmt.Sprintf("want %d flags, partial %v; got %+v", len(results), partial, outcome))
	}
	if again, _ := in.AppendFlags(nil); !bytes.Equal(again, got) {
		return bad("a second AppendFlags", cmp.Diff(string(got), string(again)))
	}

	// The same results as Go values, in the document's order.
	all := in.Evaluate()
	var order []string
	for key, result := range all.All() {
		order = append(order, key)
		b, err := json.Marshal(result)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want[key], decode(b)); diff != "" {
			return bad("Input.Evaluate of "+key, diff)
		}
		// What Constant says of a flag holds for every request, unless stored hash keys
		// cannot be read.
		if c, ok := s.Constant(key); ok && result.Reason.Code != flags.ErrorOverrides &&
			(c.Enabled != result.Enabled || c.Variant != result.Variant || c.Metadata != result.Metadata || result.Failed) {
			return bad("Constant "+key, cmp.Diff(c, result, cmp.AllowUnexported(flags.Result{})))
		}
		trace, err := in.Explain(key)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(result, trace.Result, cmp.AllowUnexported(flags.Result{})); diff != "" {
			return bad("Input.Explain of "+key, diff)
		}
		if trace.String() == "" {
			return bad("Trace.String of "+key, "empty")
		}
		single, err := in.Flag(key)
		if err != nil {
			return bad("Input.Flag of "+key, err.Error())
		}
		if diff := cmp.Diff(result, single, cmp.AllowUnexported(flags.Result{})); diff != "" {
			return bad("Input.Flag of "+key, diff)
		}
	}
	listed := slices.Collect(in.Flags())
	seen := 0
	for _, result := range listed {
		w, ok := all.Get(result.Key)
		if ok {
			seen++
		} else if code := result.Reason.Code; code == flags.ReasonFlagDisabled || code == "dependency_cycle_flag" {
			var err error
			if w, err = in.Flag(result.Key); err != nil {
				return bad("Input.Flag of "+result.Key, err.Error())
			}
		}
		if diff := cmp.Diff(w, result, cmp.AllowUnexported(flags.Result{})); diff != "" {
			return bad("Input.Flags of "+result.Key, diff)
		}
	}
	if seen != all.Len() {
		return bad("Input.Flags", fmt.Sprintf("%d flags, want %d", seen, all.Len()))
	}
	for _, when := range []string{"when it is written", "when it was kept"} {
		list, n := in.AppendRendered(nil, &plainRendering)
		if diff := cmp.Diff(string(renderedList(listed)), string(list)); diff != "" || n != len(listed) {
			return bad("Input.AppendRendered "+when, fmt.Sprintf("%d flags, want %d %s", n, len(listed), diff))
		}
	}
	var wantOrder []string
	for _, result := range results {
		wantOrder = append(wantOrder, result.Key)
	}
	if diff := cmp.Diff(wantOrder, order); diff != "" {
		return bad("the order", diff)
	}

	// What Needs does not name cannot change the answer.
	fill(t, in, s, r, selection{}, nil)
	n := in.Needs()
	needed := selection{n.Person, n.Geo, n.Cohorts, n.Overrides, true}
	stored := r.StoredGroups
	r.StoredGroups = make(map[string]json.RawMessage)
	for _, name := range n.Groups {
		if p, ok := stored[name]; ok {
			r.StoredGroups[name] = p
		}
	}
	fill(t, in, s, r, needed, nil)
	r.StoredGroups = stored
	if lazy, _ := in.AppendFlags(nil); !bytes.Equal(lazy, got) {
		return bad(fmt.Sprintf("AppendFlags with no more than Needs %+v", n), cmp.Diff(string(got), string(lazy)))
	}

	request, ok := goRequest(t, r, rnd)
	if !ok {
		return true
	}
	return compareRequest(s, results, partial, want, request, bad) &&
		compareRequest(s, results, partial, want, listRequest(request, rnd), func(what, diff string) bool { return bad("with lists: "+what, diff) }) &&
		compareRequest(s, results, partial, want, listRequest(request, rnd).Merged(), func(what, diff string) bool { return bad("with merged lists: "+what, diff) })
}

// compareRequest evaluates a Go caller's request in every way.
func compareRequest(s *flags.Snapshot, results []reference.Result, partial bool, want map[string]any, request *flags.Request, bad func(what, diff string) bool) bool {
	var memory flags.Memory
	mine := s.Evaluate(request)
	if mine.Partial != partial || mine.Len() != len(results) {
		return bad("Evaluate", fmt.Sprintf("want %d flags, partial %v; got %d, %v", len(results), partial, mine.Len(), mine.Partial))
	}
	for _, w := range results {
		result, ok := mine.Get(w.Key)
		if !ok {
			return bad("Evaluate", "no "+w.Key)
		}
		b, _ := json.Marshal(result)
		if diff := cmp.Diff(want[w.Key], decode(b)); diff != "" {
			return bad("Evaluate of "+w.Key, diff)
		}
		single, err := s.Flag(w.Key, request)
		if err != nil {
			return bad("Flag or Explain of "+w.Key, err.Error())
		}
		if diff := cmp.Diff(result, single, cmp.AllowUnexported(flags.Result{})); diff != "" {
			return bad("Flag "+w.Key, diff)
		}
		for range 2 { // evaluated, and remembered
			d, _, ok := memory.Detail(s, flags.ByKey(w.Key), request, false)
			if diff := cmp.Diff(single, d.Result(), cmp.AllowUnexported(flags.Result{})); diff != "" || !ok {
				return bad("Memory.Detail "+w.Key, diff)
			}
		}
		trace, err := s.Explain(w.Key, request)
		if err != nil {
			return bad("Flag or Explain of "+w.Key, err.Error())
		}
		if diff := cmp.Diff(result, trace.Result, cmp.AllowUnexported(flags.Result{})); diff != "" {
			return bad("Explain "+w.Key, diff)
		}
		var e flags.Evaluator
		e.Swap(s)
		wantBool, wantVariant := w.Enabled, strconv.FormatBool(w.Enabled)
		if w.HasVariant {
			wantVariant = w.Variant
		}
		if w.Failed {
			wantBool, wantVariant = true, "fallback"
		}
		if got := e.Bool(w.Key, request, true); got != wantBool {
			return bad("Bool "+w.Key, fmt.Sprint(got))
		}
		if got := e.Variant(w.Key, request, "fallback"); got != wantVariant {
			return bad("Variant "+w.Key, got)
		}
	}
	return true
}

// cases is the number of random comparisons; FLAGSTAFF_RANDOM_CASES raises it.
func cases(t testing.TB) int {
	n := 4000
	if s := os.Getenv("FLAGSTAFF_RANDOM_CASES"); s != "" {
		var err error
		if n, err = strconv.Atoi(s); err != nil {
			t.Fatalf("FLAGSTAFF_RANDOM_CASES=%q: want a number", s)
		}
	}
	return n
}

// firstSeed is the seed of the first random document: the time, or what
// FLAGSTAFF_RANDOM_SEED says.
func firstSeed(t testing.TB) uint64 {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	if s := os.Getenv("FLAGSTAFF_RANDOM_SEED"); s != "" {
		var err error
		if seed, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatalf("FLAGSTAFF_RANDOM_SEED=%q: want a number", s)
		}
	}
	t.Logf("seed %d", seed)
	return seed
}

// TestRandomComparison compares the product with the independent reference
// evaluator on random definitions and requests.
func TestRandomComparison(t *testing.T) {
	first, parts := firstSeed(t), goruntime.GOMAXPROCS(0)
	want := cases(t) / parts
	for part := range parts {
		t.Run(strconv.Itoa(part), func(t *testing.T) {
			t.Parallel()
			seed := first + uint64(part)<<32
			in := new(flags.Input) // one for all, as in a server
			rnd := rand.New(rand.NewPCG(seed, 1))
			n, failures := 0, 0
			for ; n < want && failures == 0; seed++ {
				n += comparisons(t, seed, in, rnd, &failures)
			}
			t.Logf("%d comparisons", n)
		})
	}
}

func comparisons(t testing.TB, seed uint64, in *flags.Input, rnd *rand.Rand, failures *int) (n int) {
	t.Helper()
	g := reference.NewGenerator(seed)
	document := g.Document()
	doc, err := reference.Parse(document)
	if err != nil {
		t.Fatalf("reference.Parse(%s): %v", document, err)
	}
	d, err := flags.Decode(bytes.NewReader(document))
	if err != nil {
		t.Fatalf("Decode(%s): %v", document, err)
	}
	snapshots := make(map[string]*flags.Snapshot)
	for range 4 {
		r := g.Request()
		zone := r.Zone
		if zone == nil {
			zone = time.UTC
		}
		s := snapshots[zone.String()]
		if s == nil {
			if s, err = flags.Compile(d, flags.CompileOptions{TimeZone: zone}); err != nil {
				t.Fatalf("Compile(%s): %v", document, err)
			}
			snapshots[zone.String()] = s
		}
		if !compare(t, document, doc, s, in, r, rnd) {
			*failures++
		}
		n++
	}
	return n
}

// FuzzRandomComparison explores seeds of the generator.
func FuzzRandomComparison(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(func(t *testing.T, seed uint64) {
		failures := 0
		comparisons(t, seed, new(flags.Input), rand.New(rand.NewPCG(seed, 2)), &failures)
	})
}

// TestSpecificationCases runs every row of evaluation.md §16.
func TestSpecificationCases(t *testing.T) {
	rows := make(map[int]bool)
	for _, c := range reference.Cases() {
		rows[c.Row] = true
		t.Run(fmt.Sprintf("%03d %s", c.Row, c.Name), func(t *testing.T) {
			doc, err := reference.Parse([]byte(c.Document))
			if err != nil {
				t.Fatal(err)
			}
			d, err := flags.Decode(strings.NewReader(c.Document))
			if err != nil {
				t.Fatal(err)
			}
			s, err := flags.Compile(d, flags.CompileOptions{TimeZone: c.Request.Zone})
			if err != nil {
				t.Fatal(err)
			}
			in := new(flags.Input)
			rnd := rand.New(rand.NewPCG(1, uint64(c.Row)))
			compare(t, []byte(c.Document), doc, s, in, c.Request, rnd)

			fill(t, in, s, c.Request, everything, nil)
			results := in.Evaluate()
			if results.Partial != c.Partial {
				t.Errorf("Partial = %v, want %v", results.Partial, c.Partial)
			}
			for _, w := range c.Want {
				got, ok := results.Get(w.Key)
				if ok == w.Absent {
					t.Errorf("flag %q in the results: %v, want %v", w.Key, ok, !w.Absent)
				}
				if !ok {
					continue
				}
				if got.Enabled != w.Enabled || got.Variant != w.Variant || got.Failed != w.Failed {
					t.Errorf("flag %q = enabled %v, variant %q, failed %v; want %v, %q, %v", w.Key, got.Enabled, got.Variant, got.Failed, w.Enabled, w.Variant, w.Failed)
				}
				if w.Code != "" && got.Reason.Code != w.Code {
					t.Errorf("flag %q has reason %q, want %q", w.Key, got.Reason.Code, w.Code)
				}
				if w.Index != -2 && got.Reason.ConditionIndex != w.Index {
					t.Errorf("flag %q has condition index %d, want %d", w.Key, got.Reason.ConditionIndex, w.Index)
				}
				if w.Description != "" && got.Reason.Description != w.Description {
					t.Errorf("flag %q has description %q, want %q", w.Key, got.Reason.Description, w.Description)
				}
			}
		})
	}
	for row := 1; row <= 182; row++ {
		if !rows[row] {
			t.Errorf("row %d of evaluation.md §16 has no case", row)
		}
	}
}
