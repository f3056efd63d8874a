package flags_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/flags/internal/bench"
	"github.com/flagstaff-go/flagstaff/runtime"
)

const mixed = `{"flags":[
	{"id":1,"key":"on","active":true,"version":3,"filters":{"groups":[{}],"payloads":{"true":"{\"color\":\"blue\"}"}}},
	{"id":2,"key":"off","active":true,"filters":{"groups":[{"properties":[{"key":"plan","type":"person","value":"pro"}]}]}},
	{"id":3,"key":"variant","active":true,"filters":{"groups":[{"variant":"b"}],"multivariate":{"variants":[{"key":"a","rollout_percentage":100},{"key":"b","rollout_percentage":0}]},"payloads":{"b":[1, 2]}}},
	{"id":4,"key":"inactive","active":false,"filters":{"groups":[{}]}},
	{"id":5,"key":"broken","active":true,"filters":{"groups":7}},
	{"id":6,"key":"server","active":true,"evaluation_runtime":"server","filters":{"groups":[{}]}},
	{"id":7,"key":"tagged","active":true,"evaluation_contexts":["docs"],"filters":{"groups":[{}]}},
	{"id":8,"key":"encrypted","active":true,"has_encrypted_payloads":true,"filters":{"groups":[{}]}},
	{"id":9,"key":"cycle","active":true,"filters":{"groups":[{"properties":[{"key":"cycle","type":"flag","operator":"flag_evaluates_to","value":true}]}]}},
	{"id":10,"key":"held","active":true,"filters":{"groups":[],"holdout":{"id":4,"exclusion_percentage":100}}}
]}`

// TestEvaluator covers what Bool, Variant and Payload make of every kind of
// outcome (evaluation.md §11.7).
func TestEvaluator(t *testing.T) {
	var e flags.Evaluator
	e.Swap(compiled(t, mixed))
	client := &flags.Request{DistinctID: "u", Filter: runtime.Filter{Kind: runtime.Client, Tags: []string{"app"}}}
	plain := &flags.Request{DistinctID: "u"}
	for _, tt := range []struct {
		key     string
		request *flags.Request
		bool    [2]bool // with fallback false, true
		variant string  // with fallback "?"
		payload string  // JSON, or the text of the error
	}{
		{"on", plain, [2]bool{true, true}, "true", `{"color":"blue"}`},
		{"on", nil, [2]bool{true, true}, "true", `{"color":"blue"}`},
		{"off", plain, [2]bool{false, false}, "false", flags.ErrNoPayload.Error()},
		{"variant", plain, [2]bool{true, true}, "b", `[1,2]`},
		{"inactive", plain, [2]bool{false, false}, "false", flags.ErrNoPayload.Error()},
		{"broken", plain, [2]bool{false, true}, "?", flags.ErrNoPayload.Error()},
		{"server", plain, [2]bool{true, true}, "true", flags.ErrNoPayload.Error()},
		{"server", client, [2]bool{false, false}, "false", flags.ErrNoPayload.Error()},
		{"tagged", client, [2]bool{false, false}, "false", flags.ErrNoPayload.Error()},
		{"encrypted", plain, [2]bool{false, false}, "false", flags.ErrNoPayload.Error()},
		{"cycle", plain, [2]bool{false, true}, "?", flags.ErrNoPayload.Error()},
		{"held", plain, [2]bool{true, true}, "holdout-4", flags.ErrNoPayload.Error()},
		{"unknown", plain, [2]bool{false, true}, "?", flags.ErrUnknownFlag.Error()},
	} {
		t.Run(tt.key, func(t *testing.T) {
			if got := [2]bool{e.Bool(tt.key, tt.request, false), e.Bool(tt.key, tt.request, true)}; got != tt.bool {
				t.Errorf("Bool with fallbacks false, true = %v, want %v", got, tt.bool)
			}
			if got := e.Variant(tt.key, tt.request, "?"); got != tt.variant {
				t.Errorf("Variant = %q, want %q", got, tt.variant)
			}
			var v any
			err := e.Payload(tt.key, tt.request, &v)
			got, _ := json.Marshal(v)
			if err != nil {
				got = []byte(err.Error())
			}
			if !strings.HasPrefix(string(got), tt.payload) {
				t.Errorf("Payload = %s, want %s", got, tt.payload)
			}
		})
	}

	var n int
	if err := e.Payload("on", plain, &n); err == nil || errors.Is(err, flags.ErrNoPayload) {
		t.Errorf("Payload of an object into an int = %v, want an error of decoding", err)
	}
}

// TestEvaluatorWatch: a channel is closed by the next Swap, and by no other.
func TestEvaluatorWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var e flags.Evaluator
		isClosed := func(c <-chan struct{}) bool {
			select {
			case <-c:
				return true
			default:
				return false
			}
		}
		s, since, none := e.Watch()
		if s != nil || !since.IsZero() || isClosed(none) {
			t.Errorf("Watch of the zero Evaluator = %v, %v", s, since)
		}
		first := compiled(t, mixed)
		e.Swap(first)
		begin := time.Now()
		time.Sleep(time.Minute)
		s, since, changed := e.Watch()
		_, _, again := e.Watch()
		if s != first || !since.Equal(begin) || !isClosed(none) || isClosed(changed) || isClosed(again) {
			t.Errorf("Watch after a Swap = %p, %v; closed: %v, %v, %v", s, since, isClosed(none), isClosed(changed), isClosed(again))
		}
		e.Swap(first)
		if !isClosed(changed) || !isClosed(again) {
			t.Error("a Swap does not close what was waiting for it")
		}
	})
	if s, since, changed := (*flags.Evaluator)(nil).Watch(); s != nil || !since.IsZero() || changed != nil {
		t.Errorf("Watch of a nil Evaluator = %v, %v", s, since)
	}
}

func TestEvaluatorWithoutSnapshot(t *testing.T) {
	var e flags.Evaluator
	r := &flags.Request{DistinctID: "u"}
	if e.Bool("f", r, false) || !e.Bool("f", r, true) || e.Variant("f", r, "?") != "?" {
		t.Error("an Evaluator without snapshot does not answer fallbacks")
	}
	var v any
	if err := e.Payload("f", r, &v); !errors.Is(err, flags.ErrNotReady) {
		t.Errorf("Payload = %v, want ErrNotReady", err)
	}
	if e.Snapshot() != nil {
		t.Error("Snapshot is not nil")
	}
	s := compiled(t, mixed)
	if e.Swap(s) != nil || e.Swap(nil) != s {
		t.Error("Swap does not return the snapshot before")
	}
}

func TestFlag(t *testing.T) {
	s := compiled(t, mixed)
	for _, tt := range []struct {
		key    string
		filter runtime.Filter
		code   string
		err    error
	}{
		{"on", runtime.Filter{}, flags.ReasonConditionMatch, nil},
		{"inactive", runtime.Filter{}, flags.ReasonFlagDisabled, nil},
		{"inactive", runtime.Filter{Kind: runtime.Client}, flags.ReasonFlagDisabled, nil},
		{"broken", runtime.Filter{}, flags.ErrorFlagData, nil},
		{"cycle", runtime.Filter{}, "dependency_cycle_flag", nil},
		{"server", runtime.Filter{Kind: runtime.Client}, "", flags.ErrFiltered},
		{"server", runtime.Filter{Kind: runtime.Unknown}, "", flags.ErrFiltered},
		{"tagged", runtime.Filter{Tags: []string{"Docs"}}, "", flags.ErrFiltered},
		{"tagged", runtime.Filter{Tags: []string{"x", "docs"}}, flags.ReasonConditionMatch, nil},
		{"encrypted", runtime.Filter{}, "", flags.ErrFiltered},
		{"unknown", runtime.Filter{}, "", flags.ErrUnknownFlag},
	} {
		r, err := s.Flag(tt.key, &flags.Request{DistinctID: "u", Filter: tt.filter})
		if r.Reason.Code != tt.code || !errors.Is(err, tt.err) {
			t.Errorf("Flag(%q, %+v) = reason %q, %v; want %q, %v", tt.key, tt.filter, r.Reason.Code, err, tt.code, tt.err)
		}
	}
	if got := slices.Collect(s.Keys()); len(got) != s.Len() || got[0] != "on" || got[9] != "held" {
		t.Errorf("Keys = %q", got)
	}
}

func TestResults(t *testing.T) {
	s := compiled(t, mixed)
	results := s.Evaluate(&flags.Request{DistinctID: "u"})
	var keys []string
	for key := range results.All() {
		keys = append(keys, key)
	}
	want := []string{"on", "off", "variant", "broken", "server", "tagged", "held"}
	if diff := cmp.Diff(want, keys); diff != "" || results.Len() != len(want) || !results.Partial {
		t.Errorf("Evaluate: %d results, partial %v (-want +got):\n%s", results.Len(), results.Partial, diff)
	}
	for range results.All() {
		break // an iterator that stops early must not go on
	}
	for _, key := range []string{"inactive", "encrypted", "cycle", "unknown"} {
		if _, ok := results.Get(key); ok {
			t.Errorf("Get(%q) is in the results", key)
		}
	}
	if got := s.Evaluate(nil).Len(); got != len(want) {
		t.Errorf("Evaluate(nil) has %d results, want %d", got, len(want))
	}
}

// TestGoValues covers evaluation.md §8.6: a Go value is the JSON that encoding/json
// writes for it.
func TestGoValues(t *testing.T) {
	type text string
	type number int
	n := 5
	when := time.Date(2026, 1, 2, 3, 4, 5, 600, time.FixedZone("", 3600))
	for _, v := range []any{
		"x", "É", "a\xffb", "", true, false, nil, 5, int8(-5), int16(5), int32(5), int64(math.MinInt64), uint(5), uint8(5), uint16(5),
		uint32(5), uint64(math.MaxUint64), float32(0.1), float32(1e30), 5.0, 5.5, 0.0, math.Copysign(0, -1), 1e20, 1e21, 1e-7, 123456789.125,
		json.Number("1.0"), json.Number("1e3"), json.Number(""), when, text("x"), number(7), &n,
		[]string{"a", "b"},
		[]any{1, 2.0, "x", nil},
		map[string]any{"b": 1, "a": []int{2}},
		json.RawMessage(` {"z": 1.0} `), []byte("bytes"),
		struct{ A int }{1},
		[2]bool{true, false},
	} {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		for _, op := range []string{"is_set", "exact", "icontains", "regex", "gt", "is_date_before", "semver_gte"} {
			for _, value := range []string{`"x"`, `5`, `"5"`, `"1.0"`, `true`, `"null"`, `"."`, `"2026-06-01"`, string(b)} {
				s := compiled(t, property(`{"key":"p","type":"person","operator":"`+op+`","value":`+value+`}`))
				mine, err := s.Flag("f", &flags.Request{DistinctID: "u", PersonProperties: map[string]any{"p": v}})
				if err != nil {
					t.Fatal(err)
				}
				in := new(flags.Input)
				in.Reset(s, "u", runtime.Filter{}, time.Time{})
				if err := in.PersonJSON([]byte(`{"p":` + string(b) + `}`)); err != nil {
					t.Fatal(err)
				}
				theirs, _ := in.Evaluate().Get("f")
				if mine.Enabled != theirs.Enabled {
					t.Errorf("%T(%v) %s %s is %v; as JSON %s it is %v", v, v, op, value, mine.Enabled, b, theirs.Enabled)
				}
			}
		}
	}
}

type panicking struct{}

func (panicking) MarshalJSON() ([]byte, error) { panic("boom") }

func TestGoValuesThatCannotBeEncodedAreMissing(t *testing.T) {
	s := compiled(t, property(`{"key":"p","type":"person","operator":"is_set","value":""}`))
	for _, v := range []any{math.NaN(), math.Inf(1), float32(math.Inf(-1)), json.Number("1 2"), json.Number("x"), make(chan int), func() {}, panicking{}, time.Date(20000, 1, 1, 0, 0, 0, 0, time.UTC)} {
		r, err := s.Flag("f", &flags.Request{PersonProperties: map[string]any{"p": v}})
		if err != nil || r.Enabled {
			t.Errorf("%T is set: %v, %v", v, r.Enabled, err)
		}
	}
}

func TestPlugInRegexp(t *testing.T) {
	d, err := flags.Decode(strings.NewReader(property(`{"key":"a","type":"person","operator":"regex","value":"(?=a)b"}`)))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name   string
		engine func(string) (flags.Matcher, error)
		want   bool
	}{
		{"matches", func(string) (flags.Matcher, error) { return matcher(func(s string) bool { return s == "ab" }), nil }, true},
		{"panics when matching", func(string) (flags.Matcher, error) { return matcher(func(string) bool { panic("boom") }), nil }, false},
		{"panics when compiling", func(string) (flags.Matcher, error) { panic("boom") }, false},
		{"refuses", func(string) (flags.Matcher, error) { return nil, errors.New("no") }, false},
		{"returns nothing", func(string) (flags.Matcher, error) { return nil, nil }, false},
	} {
		s, err := flags.Compile(d, flags.CompileOptions{Regexp: tt.engine})
		if err != nil {
			t.Fatal(err)
		}
		r, err := s.Flag("f", &flags.Request{PersonProperties: map[string]any{"a": "ab"}})
		if err != nil || r.Enabled != tt.want || r.Failed {
			t.Errorf("an engine that %s: %+v, %v; want enabled %v", tt.name, r, err, tt.want)
		}
	}
}

type matcher func(string) bool

func (m matcher) MatchString(s string) bool { return m(s) }

// TestConcurrency evaluates while snapshots are swapped, and checks that a
// snapshot's bytes and answers stay what they were.
func TestConcurrency(t *testing.T) {
	snapshots := []*flags.Snapshot{compiled(t, mixed), compiled(t, conditions("sha1")), compiled(t, conditions("xxhash64"))}
	person := []byte(`{"plan":"pro","seats":42}`)
	answer := func(s *flags.Snapshot, in *flags.Input, dst []byte) []byte {
		in.Reset(s, "user-1", runtime.Filter{Kind: runtime.Server}, time.Time{})
		if err := in.PersonJSON(person); err != nil {
			t.Error(err)
		}
		dst, _ = in.AppendFlags(dst)
		return dst
	}
	want := make(map[*flags.Snapshot][]byte)
	image := make(map[*flags.Snapshot][]byte)
	for _, s := range snapshots {
		want[s] = answer(s, new(flags.Input), nil)
		image[s] = bytes.Clone(flags.Bytes(s))
	}
	var e flags.Evaluator
	e.Swap(snapshots[0])
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			in := new(flags.Input)
			var dst []byte
			for range 2000 {
				s := e.Snapshot()
				if dst = answer(s, in, dst[:0]); !bytes.Equal(dst, want[s]) {
					t.Errorf("answer %s, want %s", dst, want[s])
					return
				}
				e.Bool("new-checkout", conditionsRequest, false)
				e.Variant("variant", conditionsRequest, "")
				s.Evaluate(conditionsRequest)
			}
		})
	}
	wg.Go(func() {
		for i := range 4000 {
			e.Swap(snapshots[i%len(snapshots)])
		}
	})
	wg.Wait()
	for i, s := range snapshots {
		if !bytes.Equal(flags.Bytes(s), image[s]) {
			t.Errorf("the bytes of snapshot %d changed", i)
		}
	}
}

// TestWornInput evaluates across the wrap of an Input's counters.
func TestWornInput(t *testing.T) {
	s := compiled(t, conditions("sha1"))
	in := new(flags.Input)
	flags.WearOut(in, 100)
	for i := range 300 {
		in.Reset(s, "user-1", runtime.Filter{}, time.Time{})
		plan := []string{"pro", "none"}[i%2]
		if err := in.PersonJSON([]byte(`{"plan":"` + plan + `","seats":42}`)); err != nil {
			t.Fatal(err)
		}
		r, _ := in.Evaluate().Get("new-checkout")
		want := map[string]string{"pro": flags.ReasonOutOfRollout, "none": flags.ReasonNoConditionMatch}[plan]
		if flags.Bucket("new-checkout", "user-1") <= 0.5 && plan == "pro" {
			want = flags.ReasonConditionMatch
		}
		if r.Reason.Code != want {
			t.Fatalf("evaluation %d: %s, want %s", i, r.Reason.Code, want)
		}
	}
}

func TestInputRefusesBadJSON(t *testing.T) {
	s := compiled(t, `{"flags":[{"id":1,"key":"f","active":true,"filters":{"aggregation_group_type_index":0,"groups":[{}]}}],"group_type_mapping":{"0":"company"}}`)
	in := new(flags.Input)
	in.Reset(s, "u", runtime.Filter{}, time.Time{})
	for name, err := range map[string]error{
		"PersonJSON of an array":     in.PersonJSON([]byte(`[]`)),
		"PersonJSON of half":         in.PersonJSON([]byte(`{"a":1`)),
		"SetPerson of nothing":       in.SetPerson(nil),
		"GroupJSON of a string":      in.GroupJSON("company", []byte(`"x"`)),
		"SetGroup of trailing bytes": in.SetGroup("company", []byte(`{} x`)),
		"Group without a key":        in.Group("company", nil),
	} {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	for name, err := range map[string]error{
		"Group of an unknown type":     in.Group("team", []byte(`"x"`)),
		"GroupJSON of an unknown type": in.GroupJSON("team", []byte(`{}`)),
	} {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// conditionsWithGroups is conditions with the injected properties.
func conditionsWithGroups() string {
	doc := strings.Replace(conditions("sha1"), `"properties":[`, `"properties":[
		{"key":"distinct_id","type":"person","operator":"is_set","value":""},
		{"key":"$group_key","type":"group","group_type_index":0,"operator":"is_not","value":"x"},`, 1)
	return strings.Replace(doc, `"flags":`, `"group_type_mapping":{"0":"company"},"flags":`, 1)
}

// TestFailOverrides covers a store of hash keys that does not answer: flags that
// need it fail, others do not (evaluation.md §12).
func TestFailOverrides(t *testing.T) {
	s := compiled(t, `{"flags":[
		{"id":1,"key":"kept","active":true,"ensure_experience_continuity":true,"filters":{"groups":[{"rollout_percentage":50}]}},
		{"id":2,"key":"sure","active":true,"ensure_experience_continuity":true,"filters":{"groups":[{"rollout_percentage":100}]}},
		{"id":3,"key":"plain","active":true,"filters":{"groups":[{"rollout_percentage":50}]}},
		{"id":4,"key":"after","active":true,"filters":{"groups":[{"properties":[{"key":"kept","type":"flag","operator":"flag_evaluates_to","value":true}]}]}}]}`)
	in := new(flags.Input)
	in.Reset(s, "user-1", runtime.Filter{}, time.Time{})
	in.FailOverrides()
	results := in.Evaluate()
	for key, failed := range map[string]bool{"kept": true, "sure": false, "plain": false, "after": true} {
		if r, _ := results.Get(key); r.Failed != failed || failed && r.Reason.Code != flags.ErrorOverrides {
			t.Errorf("flag %q: %+v, want failed %v", key, r, failed)
		}
	}
	if !results.Partial {
		t.Error("the results are not partial")
	}
	in.Reset(s, "user-1", runtime.Filter{}, time.Time{})
	if in.Evaluate().Partial {
		t.Error("Reset does not forget the failure")
	}
}

// TestNoAllocations asserts the promise of the hot paths.
func TestNoAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	var e flags.Evaluator
	e.Swap(compiled(t, conditionsWithGroups()))
	for name, r := range map[string]*flags.Request{
		"strings and numbers": conditionsRequest,
		"other kinds": {DistinctID: "u", PersonProperties: map[string]any{
			"plan": json.Number("1.50"), "seats": time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
		}},
		"texts to fold": {DistinctID: "u", Groups: map[string]string{"company": "Acme"}, PersonProperties: map[string]any{"plan": "PRÖ", "seats": 1.25}},
	} {
		if n := testing.AllocsPerRun(1000, func() { e.Bool("new-checkout", r, false) }); n != 0 {
			t.Errorf("Bool with %s allocates %v times, want 0", name, n)
		}
		if n := testing.AllocsPerRun(1000, func() { e.Variant("new-checkout", r, "") }); n != 0 {
			t.Errorf("Variant with %s allocates %v times, want 0", name, n)
		}
	}
	s, err := flags.Compile(bench.Definitions(200, "sha1"), flags.CompileOptions{})
	if err != nil {
		t.Fatal(err)
	}
	person, _ := bench.Person()
	in := new(flags.Input)
	var dst []byte
	tags := []string{"a"}
	few := []string{"benchmark-flag-007", "benchmark-flag-003"}
	run := func() {
		in.Reset(s, "user-1", runtime.Filter{Kind: runtime.Client, Tags: tags}, time.Time{})
		in.SetKeys(nil)
		if err := in.PersonJSON(person); err != nil {
			t.Fatal(err)
		}
		in.Needs()
		dst, _ = in.AppendFlags(dst[:0])
		in.SetKeys(few)
		dst, _ = in.AppendFlags(dst[:0])
		in.Reset(s, "user-1", runtime.Filter{}, time.Time{})
		if err := in.PersonJSON(person); err != nil {
			t.Fatal(err)
		}
		in.Needs()
		dst, _ = in.AppendFlags(dst[:0])
	}
	run()
	if n := testing.AllocsPerRun(200, run); n != 0 {
		t.Errorf("AppendFlags allocates %v times, want 0", n)
	}
}

func TestETag(t *testing.T) {
	base := compiled(t, mixed).ETag()
	if again := compiled(t, mixed).ETag(); again != base {
		t.Errorf("ETag = %s, then %s", base, again)
	}
	seen := map[string]string{base: "unchanged"}
	for _, edit := range [][2]string{
		{`"id":1`, `"id":11`},
		{`"key":"on"`, `"key":"on2"`},
		{`"version":3`, `"version":4`},
		{`"value":"pro"`, `"value":"team"`},
		{`"rollout_percentage":100`, `"rollout_percentage":99`},
		{`"variant":"b"`, `"variant":"a"`},
		{`"blue`, `"red`},
		{`"active":false`, `"active":true`},
		{`"evaluation_runtime":"server"`, `"evaluation_runtime":"client"`},
		{`["docs"]`, `["docs","app"]`},
		{`"exclusion_percentage":100`, `"exclusion_percentage":10`},
		{`"groups":7`, `"groups":[]`},
		{`"key":"on"`, `"is_remote_configuration":true,"key":"on"`},
	} {
		changed := strings.Replace(mixed, edit[0], edit[1], 1)
		if changed == mixed {
			t.Fatalf("no %s to edit", edit[0])
		}
		tag := compiled(t, changed).ETag()
		if other, ok := seen[tag]; ok {
			t.Errorf("ETag is the same for %s and %s", edit[1], other)
		}
		seen[tag] = edit[1]
	}
	d, _ := flags.Decode(strings.NewReader(mixed))
	s, err := flags.Compile(d, flags.CompileOptions{TimeZone: time.FixedZone("here", 3600)})
	if err != nil || s.ETag() == base {
		t.Errorf("ETag ignores the time zone: %v", err)
	}
}

// TestResultJSON is the form of evaluation.md §11.1, which AppendFlags has for each
// flag.
func TestResultJSON(t *testing.T) {
	s := compiled(t, `{"flags":[
		{"id":1,"key":"<on>","active":true,"version":2,"filters":{"groups":[{}],"payloads":{"true":"{\u0022a\u0022:1}"}}},
		{"id":2,"key":"drawn","active":true,"has_experiment":false,"filters":{"groups":[{}],"multivariate":{"variants":[{"key":"é","rollout_percentage":100}]},"payloads":{"é":{ "b" : 1.0 }}}},
		{"id":3,"key":"off","active":true,"filters":{"groups":[],"payloads":{"true":"1"}}},
		{"id":4,"key":"broken","active":true,"filters":{"version":2}}]}`)
	want := map[string]struct{ entry, payload string }{
		"<on>":   {`{"key":"<on>","enabled":true,"reason":{"code":"condition_match","condition_index":0,"description":"Matched condition set 1"},"metadata":{"id":1,"version":2,"description":null,"payload":"{\u0022a\u0022:1}","has_experiment":true}}`, `"{\u0022a\u0022:1}"`},
		"drawn":  {`{"key":"drawn","enabled":true,"variant":"é","reason":{"code":"condition_match","condition_index":0,"description":"Matched condition set 1"},"metadata":{"id":2,"version":0,"description":null,"payload":"{\"b\":1.0}","has_experiment":false}}`, `"{\"b\":1.0}"`},
		"off":    {`{"key":"off","enabled":false,"reason":{"code":"no_group_type","condition_index":null,"description":"No group type"},"metadata":{"id":3,"version":0,"description":null,"has_experiment":true}}`, ""},
		"broken": {`{"key":"broken","enabled":false,"failed":true,"reason":{"code":"flag_data_parsing_error","condition_index":null,"description":"Failed to parse flag data"},"metadata":{"id":4,"version":0,"description":null,"has_experiment":true}}`, ""},
	}
	var in flags.Input
	in.Reset(s, "user-1", runtime.Filter{}, time.Time{})
	all := "{"
	for key, r := range in.Evaluate().All() {
		entry := string(r.AppendJSON([]byte("> ")))
		if diff := cmp.Diff("> "+want[key].entry, entry); diff != "" {
			t.Errorf("AppendJSON of %q (-want +got):\n%s", key, diff)
		}
		payload := r.PayloadJSON()
		if string(payload) != want[key].payload || (payload == nil) != (want[key].payload == "") {
			t.Errorf("PayloadJSON of %q = %s, want %s", key, payload, want[key].payload)
		}
		if len(all) > 1 {
			all += ","
		}
		all += strconv.Quote(key) + ":" + entry[2:]
	}
	if got, _ := in.AppendFlags(nil); string(got) != all+"}" {
		t.Errorf("AppendFlags = %s, want %s}", got, all)
	}
}

// TestDefinitionsRoundTrip writes definitions as JSON and reads them again.
func TestDefinitionsRoundTrip(t *testing.T) {
	document := `{"flags":[
		{"id":1,"key":"a","active":true,"filters":{"groups":[{"aggregation_group_type_index":null,"properties":[{"key":"id","type":"cohort","value":2},{"key":"id","type":"cohort","value":3}]},{"aggregation_group_type_index":1}]}},
		{"id":2,"key":"b","active":true,"has_experiment":false,"filters":{"aggregation_group_type_index":0,"groups":[{}]}}],
		"group_type_mapping":{"0":"company","1":"project"},"property_matching_version":2,
		"cohorts":{"2":{"type":"OR","values":[{"key":"p","type":"person","value":1.0,"negation":true},{"type":"AND","values":[]}]},"3":{"is_static":true},"4":{}}}`
	d, err := flags.Decode(strings.NewReader(document))
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	again, err := flags.Decode(bytes.NewReader(b))
	if err != nil {
		t.Fatalf("Decode(%s): %v", b, err)
	}
	tag := func(d *flags.Definitions) string {
		s, err := flags.Compile(d, flags.CompileOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return s.ETag()
	}
	if tag(d) != tag(again) {
		t.Errorf("definitions changed on the way through %s", b)
	}
	var std flags.Definitions
	if err := json.Unmarshal(b, &std); err != nil || tag(&std) != tag(d) {
		t.Errorf("json.Unmarshal of %s differs: %v", b, err)
	}
}

func TestExplainString(t *testing.T) {
	s := compiled(t, `{"flags":[
		{"id":1,"key":"base","active":true,"filters":{"groups":[{}]}},
		{"id":2,"key":"checkout","active":true,"filters":{"groups":[
			{"properties":[{"key":"plan","type":"person","operator":"exact","value":"pro"},{"key":"seats","type":"person","operator":"gt","value":3}]},
			{"properties":[{"key":"base","type":"flag","operator":"flag_evaluates_to","value":true}],"rollout_percentage":90},
			{"rollout_percentage":100}],
			"holdout":{"id":42,"exclusion_percentage":10},
			"multivariate":{"variants":[{"key":"control","rollout_percentage":50},{"key":"test","rollout_percentage":50}]}}}]}`)
	trace, err := s.Explain("checkout", &flags.Request{DistinctID: "user-1", PersonProperties: map[string]any{"plan": "free"}})
	if err != nil {
		t.Fatal(err)
	}
	want := `checkout = "test" (Matched condition set 2)
  needs what only the server knows: stored properties of the person (seats)
  depends on base = true
  holdout: "user-1" falls at 0.178056, threshold 0.100000: out
  condition set 1, by person: no_condition_match
    person plan is "pro", seen "free": no match
    person seats > 3, seen absent: not reached
  condition set 2, by person: condition_match
    flag base is true, seen true: match
    rollout: "user-1" falls at 0.448342, threshold 0.900000: in
    variant: 0.574019 among control < 0.500000 test < 1.000000: test
  condition set 3, by person: not_reached
  why: condition set 2 is the first that matched
`
	if diff := cmp.Diff(want, trace.String()); diff != "" {
		t.Errorf("Trace.String (-want +got):\n%s", diff)
	}
	b, err := json.Marshal(trace)
	if err != nil || !json.Valid(b) || !strings.Contains(string(b), `"why":`) {
		t.Errorf("json.Marshal(trace) = %s, %v", b, err)
	}
	hidden, err := compiled(t, mixed).Explain("server", &flags.Request{Filter: runtime.Filter{Kind: runtime.Client}})
	if err != nil || !strings.Contains(hidden.String(), "hidden:") || hidden.Enabled {
		t.Errorf("Explain of a hidden flag = %v, %v", hidden, err)
	}
	if _, err := s.Explain("nope", nil); !errors.Is(err, flags.ErrUnknownFlag) {
		t.Errorf("Explain of an unknown flag: %v", err)
	}
}

// TestRuling62BucketVectors (evaluation.md §2.8) checks hashing against vectors shared with other languages.
func TestRuling62BucketVectors(t *testing.T) {
	b, err := os.ReadFile("../testdata/vectors/bucketing.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Sets    map[string][][2]any `json:"variant_sets"`
		Vectors []struct {
			Key       string             `json:"flag_key"`
			ID        string             `json:"identifier"`
			Rollout   float64            `json:"rollout_hash"`
			InRollout map[string]bool    `json:"in_rollout"`
			InHoldout map[string]bool    `json:"in_holdout"`
			Variant   map[string]*string `json:"variant"`
		}
	}
	if err := json.Unmarshal(b, &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Vectors) != 210 {
		t.Fatalf("%d vectors, want 210", len(file.Vectors))
	}
	flag := func(key, filters string) *flags.Snapshot {
		k, _ := json.Marshal(key)
		return compiled(t, `{"flags":[{"id":1,"key":`+string(k)+`,"active":true,"filters":`+filters+`}]}`)
	}
	for _, v := range file.Vectors {
		if got := flags.Bucket(v.Key, v.ID); got != v.Rollout {
			t.Errorf("Bucket(%q, %q) = %v, want %v", v.Key, v.ID, got, v.Rollout)
		}
		if v.Key == "" {
			continue // not a flag that can exist
		}
		r := &flags.Request{DistinctID: v.ID}
		for pct, want := range v.InRollout {
			got, _ := flag(v.Key, `{"groups":[{"rollout_percentage":`+pct+`}]}`).Flag(v.Key, r)
			if got.Enabled != want {
				t.Errorf("%q at %s%% for %q = %v, want %v", v.Key, pct, v.ID, got.Enabled, want)
			}
		}
		for pct, want := range v.InHoldout {
			got, _ := flag(v.Key, `{"groups":[],"holdout":{"id":7,"exclusion_percentage":`+pct+`}}`).Flag(v.Key, r)
			if (got.Variant == "holdout-7") != want {
				t.Errorf("%q in a holdout of %s%% = %v, want %v", v.ID, pct, got.Variant, want)
			}
		}
		for set, want := range v.Variant {
			var shares []string
			for _, share := range file.Sets[set] {
				shares = append(shares, fmt.Sprintf(`{"key":%q,"rollout_percentage":%v}`, share[0], share[1]))
			}
			got, _ := flag(v.Key, `{"groups":[{}],"multivariate":{"variants":[`+strings.Join(shares, ",")+`]}}`).Flag(v.Key, r)
			if w := want; w == nil && got.Variant != "" || w != nil && got.Variant != *w {
				t.Errorf("%q with %s for %q = %q, want %v", v.Key, set, v.ID, got.Variant, want)
			}
		}
	}
}

// TestProperties checks what must hold for all subjects (evaluation.md,
// appendix B.8).
func TestProperties(t *testing.T) {
	variants := `,"multivariate":{"variants":[{"key":"a","rollout_percentage":30},{"key":"b","rollout_percentage":70}]}`
	rollouts := []float64{0, 1, 10, 33.3, 50, 75, 99.9, 100}
	var set []*flags.Snapshot
	for _, pct := range rollouts {
		set = append(set, compiled(t, withFilters(fmt.Sprintf(`{"groups":[{"rollout_percentage":%v}]%s}`, pct, variants))))
	}
	for i := range 500 {
		r := &flags.Request{DistinctID: fmt.Sprintf("subject-%d", i)}
		on, variant := false, ""
		for n, s := range set {
			got, err := s.Flag("f", r)
			if err != nil {
				t.Fatal(err)
			}
			if on && !got.Enabled {
				t.Errorf("%s is off at %v%% and was on below", r.DistinctID, rollouts[n])
			}
			if on && got.Variant != variant {
				t.Errorf("%s has variant %q at %v%% and had %q below", r.DistinctID, got.Variant, rollouts[n], variant)
			}
			on, variant = got.Enabled, got.Variant
		}
	}
}

// TestRuling84Overrides: stored hash keys matter where there is a choice
// (evaluation.md §12).
func TestRuling84Overrides(t *testing.T) {
	variants := func(shares ...string) string {
		var list []string
		for i, share := range shares {
			list = append(list, fmt.Sprintf(`{"key":"v%d","rollout_percentage":%s}`, i, share))
		}
		return `,"multivariate":{"variants":[` + strings.Join(list, ",") + `]}`
	}
	for _, tt := range []struct {
		name, condition, variants string
		want                      bool
	}{
		{"boolean at 100 %", `{}`, "", false},
		{"boolean at 50 %", `{"rollout_percentage":50}`, "", true},
		{"boolean at 150 %", `{"rollout_percentage":150}`, "", true},
		{"one variant", `{}`, variants("100"), false},
		{"one variant and nothing", `{}`, variants("100", "0"), false},
		{"nothing and one variant", `{}`, variants("0", "100"), false},
		{"more than all", `{}`, variants("120", "50"), false},
		{"no share", `{}`, variants("0"), false},
		{"no variants", `{}`, variants(), false},
		{"a variant or none", `{}`, variants("50"), true},
		{"two variants", `{}`, variants("50", "50"), true},
		{"almost one variant", `{}`, variants("99.9", "0.1"), true},
		{"two variants, of which one is pinned", `{"variant":"v1"}`, variants("50", "50"), false},
		{"a pin that is none", `{"variant":"x"}`, variants("50", "50"), true},
		{"one variant at 50 %", `{"rollout_percentage":50}`, variants("100"), true},
		{"by group", `{"aggregation_group_type_index":0,"rollout_percentage":50}`, "", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := compiled(t, `{"flags":[{"id":1,"key":"f","active":true,"ensure_experience_continuity":true,"filters":{"groups":[`+tt.condition+`]`+tt.variants+`}}],
				"group_type_mapping":{"0":"company"}}`)
			var in flags.Input
			in.Reset(s, "user-1", runtime.Filter{}, time.Time{})
			if got := in.Needs().Overrides; got != tt.want {
				t.Errorf("Needs.Overrides = %v, want %v", got, tt.want)
			}
			if got := s.NeedsOf("f").Overrides; got != tt.want {
				t.Errorf("NeedsOf.Overrides = %v, want %v", got, tt.want)
			}
			in.FailOverrides()
			if r, err := in.Flag("f"); err != nil || r.Failed != tt.want {
				t.Errorf("when they cannot be read: %+v, %v; want a failure: %v", r, err, tt.want)
			}
		})
	}
}

// TestRuling85Leaves: a leaf of a cohort that is not about persons does not match,
// whatever the request has (evaluation.md §5.3).
func TestRuling85Leaves(t *testing.T) {
	for _, tt := range []struct {
		name, leaf string
		want       bool
	}{
		{"group", `{"key":"plan","type":"group","group_type_index":0,"operator":"exact","value":"pro"}`, false},
		{"group, missing", `{"key":"nope","type":"group","group_type_index":0,"operator":"is_not_set"}`, false},
		{"group, negated", `{"key":"plan","type":"group","group_type_index":0,"operator":"exact","value":"pro","negation":true}`, true},
		{"flag", `{"key":"on","type":"flag","operator":"flag_evaluates_to","value":true}`, false},
		{"flag that does not exist", `{"key":"nope","type":"flag","operator":"flag_evaluates_to","value":true}`, false},
		{"flag, negated", `{"key":"on","type":"flag","operator":"flag_evaluates_to","value":true,"negation":true}`, true},
		{"person", `{"key":"plan","type":"person","operator":"exact","value":"free"}`, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := compiled(t, `{"flags":[
				{"id":1,"key":"on","active":true,"filters":{"groups":[{}]}},
				{"id":2,"key":"f","active":true,"filters":{"groups":[{"properties":[{"key":"id","type":"cohort","value":1,"operator":"in"}]}]}}],
				"group_type_mapping":{"0":"company"},"cohorts":{"1":{"type":"OR","values":[`+tt.leaf+`]}}}`)
			r, err := s.Flag("f", &flags.Request{
				DistinctID: "u", PersonProperties: map[string]any{"plan": "free"}, Groups: map[string]string{"company": "acme"},
				GroupProperties: map[string]map[string]any{"company": {"plan": "pro"}},
			})
			if err != nil || r.Failed || r.Enabled != tt.want {
				t.Errorf("%+v, %v; want %v", r, err, tt.want)
			}
		})
	}
}

// TestRuling76MarshalJSON: a property whose encoding panics counts as missing
// (evaluation.md §8.6).
func TestRuling76MarshalJSON(t *testing.T) {
	s := compiled(t, `{"flags":[{"id":1,"key":"f","active":true,"filters":{"groups":[{"properties":[{"key":"a","type":"person","operator":"is_not_set"}]}]}}]}`)
	for name, v := range map[string]any{"value": panicking{}, "pointer": &panicking{}, "element": []any{panicking{}}, "member": map[string]any{"x": panicking{}}} {
		r := &flags.Request{DistinctID: "u", PersonProperties: map[string]any{"a": v}}
		if got, err := s.Flag("f", r); err != nil || !got.Enabled {
			t.Errorf("%s: %+v, %v; want the property to be missing", name, got, err)
		}
		if got, _ := s.Evaluate(r).Get("f"); !got.Enabled {
			t.Errorf("%s: Evaluate says %+v; want the property to be missing", name, got)
		}
	}
}

// TestRuling76ZeroValues: where nothing is loaded, the answers say so
// (evaluation.md §11.7).
func TestRuling76ZeroValues(t *testing.T) {
	r := &flags.Request{DistinctID: "u"}
	for name, s := range map[string]*flags.Snapshot{"nil": nil, "zero": new(flags.Snapshot)} {
		if _, err := s.Flag("f", r); !errors.Is(err, flags.ErrNotReady) {
			t.Errorf("%s: Flag: %v, want ErrNotReady", name, err)
		}
		if _, err := s.Explain("f", r); !errors.Is(err, flags.ErrNotReady) {
			t.Errorf("%s: Explain: %v, want ErrNotReady", name, err)
		}
		if got := s.Evaluate(r); got.Len() != 0 || !got.Partial {
			t.Errorf("%s: Evaluate: %d results, partial %v; want none, partial", name, got.Len(), got.Partial)
		}
		value, ok := s.Lookup("f", r)
		if ok || value != "" || !s.Bool("f", r, true) || s.Bool("f", r, false) || s.Variant("f", r, "x") != "x" {
			t.Errorf("%s: Bool, Variant or Lookup (%q, %v) has a value", name, value, ok)
		}
		if err := s.Payload("f", r, nil); !errors.Is(err, flags.ErrNotReady) {
			t.Errorf("%s: Payload: %v, want ErrNotReady", name, err)
		}
		var in flags.Input
		in.Reset(s, "u", runtime.Filter{}, time.Time{})
		if got, _ := in.AppendFlags(nil); string(got) != "{}" {
			t.Errorf("%s: AppendFlags = %s, want {}", name, got)
		}
		if err := in.PersonJSON([]byte(`{"a":1}`)); err != nil {
			t.Errorf("%s: PersonJSON: %v", name, err)
		}
	}
	var e *flags.Evaluator
	if !e.Bool("f", r, true) || e.Variant("f", r, "x") != "x" || !errors.Is(e.Payload("f", r, nil), flags.ErrNotReady) {
		t.Error("a nil Evaluator does not answer fallbacks")
	}
	if _, err := flags.Decode(nil); err == nil {
		t.Error("Decode of nil: no error")
	}
}

// TestFewOfManyFlags asks for few flags of many, whose order is not the order in which
// they are evaluated.
func TestFewOfManyFlags(t *testing.T) {
	const many = 200
	document := func(version int) *flags.Definitions {
		var b strings.Builder
		b.WriteString(`{"flags":[`)
		for i := range many {
			if i > 0 {
				b.WriteByte(',')
			}
			filter := ""
			if i%3 == 0 { // on a flag behind it
				filter = fmt.Sprintf(`{"key":"%d","type":"flag","operator":"flag_evaluates_to","value":true}`, many-i%2)
			}
			fmt.Fprintf(&b, `{"id":%d,"key":"flag-%d","active":true,"version":%d,"filters":{"groups":[{"properties":[%s],"rollout_percentage":50}]}}`, i+1, i, version+i%2, filter)
		}
		b.WriteString(`]}`)
		d, err := flags.Decode(strings.NewReader(b.String()))
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	s := compile(t, document(1))
	changed := document(1)
	changed.Flags[4].Version = 7
	patched, err := flags.Compile(changed, flags.CompileOptions{Previous: s})
	if err != nil || flags.Patched(patched) == 0 {
		t.Fatalf("%d flags were patched, %v", flags.Patched(patched), err)
	}
	var in flags.Input
	for _, s := range []*flags.Snapshot{s, patched} {
		for _, keys := range [][]string{{}, {"flag-4"}, {"flag-9", "nobody", "flag-4", "flag-6", "flag-4"}} {
			in.Reset(s, "user-1", runtime.Filter{}, time.Time{})
			in.SetKeys(keys)
			want := []byte("{")
			for key, r := range in.Evaluate().All() {
				if len(want) > 1 {
					want = append(want, ',')
				}
				want = r.AppendJSON(fmt.Appendf(want, "%q:", key))
			}
			got, _ := in.AppendFlags(nil)
			if diff := cmp.Diff(string(want)+"}", string(got)); diff != "" {
				t.Errorf("%q (-want +got)\n%s", keys, diff)
			}
		}
	}
}
