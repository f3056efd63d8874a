package flags_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/operators"
	"github.com/flagstaff-go/flagstaff/runtime"
)

// manyKinds has a flag for each way in which evaluation can look at a request.
const manyKinds = `{"group_type_mapping":{"0":"company"},"flags":[
	{"id":1,"key":"text","active":true,"filters":{"groups":[{"properties":[{"key":"country","type":"person","operator":"exact","value":"de"}],"rollout_percentage":100}]}},
	{"id":2,"key":"number","active":true,"filters":{"groups":[{"properties":[{"key":"seats","type":"person","operator":"gt","value":1}],"rollout_percentage":99}]}},
	{"id":3,"key":"version","active":true,"filters":{"groups":[{"properties":[{"key":"version","type":"person","operator":"semver_gt","value":"1.2.3"}]}]}},
	{"id":4,"key":"date","active":true,"filters":{"groups":[{"properties":[{"key":"joined","type":"person","operator":"is_date_before","value":"-7d"}]}]}},
	{"id":5,"key":"regexp","active":true,"filters":{"groups":[{"properties":[{"key":"email","type":"person","operator":"regex","value":"[a-z]@example[.]com$"}]}]}},
	{"id":6,"key":"group","active":true,"filters":{"aggregation_group_type_index":0,"groups":[{"properties":[{"key":"size","type":"group","group_type_index":0,"operator":"gt","value":10}],"rollout_percentage":99}]}},
	{"id":7,"key":"dependent","active":true,"filters":{"groups":[{"properties":[{"key":"text","type":"flag","operator":"flag_evaluates_to","value":true}]}]}},
	{"id":8,"key":"cohort","active":true,"filters":{"groups":[{"properties":[{"key":"id","type":"cohort","value":1}]}]}},
	{"id":9,"key":"early","active":true,"filters":{"groups":[{"rollout_percentage":0}],"super_groups":[{"properties":[{"key":"$feature_enrollment/early","type":"person","operator":"exact","value":["true"]}],"rollout_percentage":100}]}},
	{"id":10,"key":"continuous","active":true,"ensure_experience_continuity":true,"filters":{"groups":[{"rollout_percentage":99}]}},
	{"id":11,"key":"device","active":true,"bucketing_identifier":"device_id","filters":{"groups":[{"rollout_percentage":99}]}},
	{"id":12,"key":"contexts","active":true,"evaluation_contexts":["app"],"filters":{"groups":[{"properties":[{"key":"distinct_id","type":"person","operator":"icontains","value":"user"}]}]}},
	{"id":13,"key":"many","active":true,"filters":{"groups":[{"properties":[
		{"key":"a","type":"person","operator":"is_not_set"},{"key":"b","type":"person","operator":"is_not_set"},{"key":"c","type":"person","operator":"is_not_set"},
		{"key":"city","type":"person","operator":"exact","value":"münchen"},{"key":"beta","type":"person","operator":"exact","value":true},{"key":"score","type":"person","operator":"lt","value":1}]}]}}
],"cohorts":{"1":{"type":"AND","values":[{"key":"plan","type":"person","operator":"exact","value":["Pro","Team"]}]}}}`

// TestPropertiesWithoutAllocation: a request that is built for one call, with its lists of
// properties, costs no allocation, whatever the flag looks at.
func TestPropertiesWithoutAllocation(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	var e flags.Evaluator
	s := compiled(t, manyKinds)
	e.Swap(s)
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for key := range s.Keys() {
		if n := testing.AllocsPerRun(200, func() {
			r := flags.Request{
				DistinctID: "user-1", Now: now, DeviceID: "device", AnonymousID: "anon",
				Filter: runtime.Filter{Kind: runtime.Server, Tags: []string{"app"}},
				Person: []flags.Property{
					flags.StringProperty("plan", "PRO"), flags.StringProperty("country", "DE"), flags.IntProperty("seats", 42), flags.FloatProperty("score", 0.5), flags.BoolProperty("beta", true),
					flags.StringProperty("version", "2.0.0"), flags.TimeProperty("joined", now.Add(-30*24*time.Hour)), flags.StringProperty("email", "a@example.com"),
					flags.StringProperty("city", "MÜNCHEN"), flags.BoolProperty("$feature_enrollment/early", true),
				},
				Groups:   map[string]string{"company": "acme"},
				OfGroups: []flags.GroupProperty{{Type: "company", Property: flags.IntProperty("size", 42)}},
			}
			if !e.Bool(key, &r, false) || e.Variant(key, &r, "") != "true" {
				t.Fatalf("flag %q is off", key)
			}
			if v, ok := s.Lookup(key, &r); !ok || v != "true" {
				t.Fatalf("flag %q is off", key)
			}
			if result, err := s.Flag(key, &r); err != nil || !result.Enabled {
				t.Fatalf("flag %q is off", key)
			}
		}); n != 0 {
			t.Errorf("flag %q costs %v allocations, want none", key, n)
		}
	}
}

// TestValuesWithoutAllocation: the same holds for each simple value, by a list and by a
// map, and each operator on it.
func TestValuesWithoutAllocation(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	var e flags.Evaluator
	values := []any{"pro", "Pro", "PRÖ", "1.50", 5, -5, 1.5, 1e300, true, false, nil}
	for operator := range operators.All() {
		if operator.For != operators.PropertyFilter {
			continue
		}
		for _, operand := range []string{`"pro"`, `["pro","true","null","1.5"]`, `5`, `[1,10]`, `"1.2.3"`, `"-7d"`} {
			e.Swap(compiled(t, property(`{"key":"a","type":"person","operator":"`+operator.Name+`","value":`+operand+`}`)))
			for _, v := range values {
				list := []flags.Property{flags.AnyProperty("a", v)}
				if n := testing.AllocsPerRun(20, func() {
					e.Bool("f", &flags.Request{DistinctID: "u", Person: list}, false)
					e.Bool("f", &flags.Request{DistinctID: "u", PersonProperties: map[string]any{"a": v}}, false)
				}); n != 0 {
					t.Errorf("%s %s of %v costs %v allocations, want none", operator.Name, operand, v, n)
				}
			}
		}
	}
}

// TestPropertyForms: each operator says the same of a value in a list, in a map and in the
// JSON of a request, of a person and of a group.
func TestPropertyForms(t *testing.T) {
	values := []any{
		"", "pro", "Pro", "PRO ", "PRÖ", "prö", "Ÿ", "ÿ", "\u212a", "k", "İ", "i\u0307", "ΟΔΟΣ", "οδος", "ß", "\xff", "true", "TRUE", "False", "null", "nan",
		"1.5", "1.50", "05", "5", "-5", "1e3", "1e400", "v1.2.3", "1.2.3-Beta.1", "2026-11-20", "2026-11-20T12:00:00Z", "-7d", strings.Repeat("Pro", 60), strings.Repeat("Ö", 70),
		5, -5, 0, int8(-1), uint64(math.MaxUint64), int64(math.MinInt64), 5.0, 1.5, float32(0.1), 0.1, math.Copysign(0, -1), 1e16, 1e21, 1e-7, 9007199254740993, 1e300, math.Inf(1), math.NaN(), 1732104000,
		true, false, nil, json.Number("1.50"), json.Number("1e400"),
		[]any{"pro", 1},
		[]any{},
		[]any{true},
		map[string]any{"a": 1},
		time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC), func() {},
	}
	operands := []string{
		`"pro"`, `"PRÖ"`, `"Ÿ"`, `"ÿ"`, `"k"`, `"İ"`, `"ΟΔΟΣ"`, `""`, `"true"`, `true`, `false`, `null`, `"null"`, `5`, `"5"`, `1.5`, `"-5"`, `0`, `0.1`, `"1e3"`, `1e16`, `1e300`, `"nan"`,
		`["pro","5","null"]`, `["PRÖ","1.5","-0.0","k"]`, `["a","b","c","d","e","f","g","h","pro","true","5.0"]`, `[true,"false"]`, `[]`, `[1,10]`, `[-1e300,1e300]`,
		`"1.2.3"`, `"1.2.*"`, `"^p"`, `"(pro|true)$"`, `"[a-z]+"`, `"2026-11-20"`, `"-7d"`, `1732104000`,
	}
	now := time.Date(2026, 11, 25, 0, 0, 0, 0, time.UTC)
	var in flags.Input
	seen := make(map[bool]int)
	for operator := range operators.All() {
		if operator.For != operators.PropertyFilter {
			continue
		}
		for _, operand := range operands {
			filter := func(owner string) string {
				return `{"groups":[{"properties":[{"key":"a",` + owner + `,"operator":"` + operator.Name + `","value":` + operand + `}]}]}`
			}
			s := compiled(t, `{"group_type_mapping":{"0":"company"},"flags":[
				{"id":1,"key":"p","active":true,"filters":`+filter(`"type":"person"`)+`},
				{"id":2,"key":"g","active":true,"filters":`+filter(`"type":"group","group_type_index":0`)+`}]}`)
			for _, v := range values {
				object := []byte("{}")
				if b, err := json.Marshal(map[string]any{"a": v}); err == nil {
					object = b
				}
				in.Reset(s, "u", runtime.Filter{}, now)
				for _, err := range []error{in.PersonJSON(object), in.Group("company", []byte(`"acme"`)), in.GroupJSON("company", object)} {
					if err != nil {
						t.Fatal(err)
					}
				}
				want, err := in.Flag("p")
				if err != nil {
					t.Fatal(err)
				}
				seen[want.Enabled]++
				properties := map[string]any{"a": v}
				groups := map[string]string{"company": "acme"}
				for form, r := range map[string]*flags.Request{
					"a map":  {PersonProperties: properties, GroupProperties: map[string]map[string]any{"company": properties}},
					"a list": {Person: []flags.Property{flags.AnyProperty("a", v)}, OfGroups: []flags.GroupProperty{{Type: "company", Property: flags.AnyProperty("a", v)}}},
				} {
					r.DistinctID, r.Now, r.Groups = "u", now, groups
					for _, key := range []string{"p", "g"} {
						got, err := s.Flag(key, r)
						if err != nil {
							t.Fatal(err)
						}
						if got.Enabled != want.Enabled || got.Failed != want.Failed || got.Reason != want.Reason {
							t.Errorf("%s %s of %v (%T) in %s, flag %s: %v, %+v; in JSON: %v, %+v", operator.Name, operand, v, v, form, key, got.Enabled, got.Reason, want.Enabled, want.Reason)
						}
					}
				}
			}
		}
	}
	if seen[true] < 1000 || seen[false] < 1000 {
		t.Errorf("%v comparisons matched, want 1000 of each", seen)
	}
}

// TestProperty: a property is what encoding/json writes for the value, by each function
// that takes it, and Merged says the same by a map.
func TestProperty(t *testing.T) {
	type level int8
	type share float32
	moment := time.Date(2026, 11, 20, 12, 30, 0, 500, time.FixedZone("", -5*3600))
	for _, tt := range []struct {
		property flags.Property
		value    any    // what Value returns
		text     string // what String returns; "" is what it returns for a missing one
	}{
		{flags.StringProperty("p", "Pro"), "Pro", "p=Pro"},
		{flags.AnyProperty("p", "Pro"), "Pro", "p=Pro"},
		{flags.IntProperty("p", -5), int64(-5), "p=-5"},
		{flags.IntProperty("p", level(-5)), int64(-5), "p=-5"},
		{flags.IntProperty("p", uint64(math.MaxUint64)), uint64(math.MaxUint64), "p=18446744073709551615"},
		{flags.AnyProperty("p", uint8(7)), uint64(7), "p=7"},
		{flags.FloatProperty("p", 0.25), 0.25, "p=0.25"},
		{flags.FloatProperty("p", share(0.1)), float32(0.1), "p=0.1"},
		{flags.FloatProperty("p", math.Inf(1)), nil, ""},
		{flags.FloatProperty("p", math.NaN()), nil, ""},
		{flags.BoolProperty("p", true), true, "p=true"},
		{flags.BoolProperty("p", false), false, "p=false"},
		{flags.AnyProperty("p", nil), nil, "p=null"},
		{flags.TimeProperty("p", moment), moment, "p=" + moment.String()},
		{flags.AnyProperty("p", []string{"a"}), json.RawMessage(`["a"]`), `p=["a"]`},
		{flags.AnyProperty("p", json.Number("1.50")), json.RawMessage("1.50"), "p=1.50"},
		{flags.AnyProperty("p", json.Number("")), json.RawMessage("0"), "p=0"},
		{flags.AnyProperty("p", json.Number("x")), nil, ""},
		{flags.AnyProperty("p", func() {}), nil, ""},
		{flags.AnyProperty("p", panicking{}), nil, ""},
		{flags.Property{}, nil, ""},
	} {
		t.Run(tt.property.String(), func(t *testing.T) {
			missing := tt.text == ""
			if missing {
				tt.text = tt.property.Name() + " is missing"
			}
			value, ok := tt.property.Value()
			if ok == missing || tt.property.String() != tt.text {
				t.Errorf("Value: %v, %v; String: %q, want %q", value, ok, tt.property, tt.text)
			}
			sameMoment := cmp.Comparer(func(a, b time.Time) bool { return a.Equal(b) && a.String() == b.String() })
			if diff := cmp.Diff(tt.value, value, sameMoment); ok && diff != "" {
				t.Errorf("Value (-want +got):\n%s", diff)
			}
			r := &flags.Request{PersonProperties: map[string]any{"p": "decoy", "": "decoy"}, Person: []flags.Property{tt.property}}
			want := map[string]any{"p": "decoy", "": "decoy"}
			if delete(want, tt.property.Name()); ok {
				want[tt.property.Name()] = tt.value
			}
			if diff := cmp.Diff(&flags.Request{PersonProperties: want}, r.Merged(), sameMoment); diff != "" {
				t.Errorf("Merged (-want +got):\n%s", diff)
			}
			if again := flags.AnyProperty(tt.property.Name(), value); ok && !again.Equal(tt.property) {
				t.Errorf("Any of the value is %v, want %v", again, tt.property)
			}
		})
	}
	distinct := []flags.Property{
		flags.StringProperty("p", "1"), flags.StringProperty("q", "1"), flags.IntProperty("p", 1), flags.IntProperty("p", uint(1)), flags.FloatProperty("p", 1.0), flags.FloatProperty("p", float32(1)), flags.BoolProperty("p", true),
		flags.BoolProperty("p", false), flags.AnyProperty("p", nil), flags.TimeProperty("p", moment), flags.TimeProperty("p", moment.UTC()), flags.TimeProperty("p", moment.Add(1)),
		{},
	}
	for i, p := range distinct {
		for j, q := range distinct {
			if p.Equal(q) != (i == j) {
				t.Errorf("%v equals %v: %v, want %v", p, q, p.Equal(q), i == j)
			}
		}
	}
}

// TestMerged: properties of groups go to their groups, and the maps of the caller stay as
// they are.
func TestMerged(t *testing.T) {
	company := map[string]any{"size": 1, "plan": "pro"}
	r := &flags.Request{
		DistinctID: "u", Groups: map[string]string{"company": "acme"},
		GroupProperties: map[string]map[string]any{"company": company, "team": {"size": 2}},
		OfGroups: []flags.GroupProperty{
			{Type: "company", Property: flags.IntProperty("size", 3)}, {Type: "project", Property: flags.BoolProperty("new", true)}, {Type: "company", Property: flags.IntProperty("size", 4)},
		},
	}
	want := &flags.Request{
		DistinctID: "u", Groups: map[string]string{"company": "acme"},
		GroupProperties: map[string]map[string]any{"company": {"size": int64(4), "plan": "pro"}, "team": {"size": 2}, "project": {"new": true}},
	}
	if diff := cmp.Diff(want, r.Merged()); diff != "" {
		t.Errorf("Merged (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]any{"size": 1, "plan": "pro"}, company); diff != "" {
		t.Errorf("the caller's map has changed (-want +got):\n%s", diff)
	}
	var none *flags.Request
	if diff := cmp.Diff(new(flags.Request), none.Merged()); diff != "" {
		t.Errorf("Merged of nil (-want +got):\n%s", diff)
	}
}

// TestKeys: flags are found by keys that are alike at both ends, and other keys are not.
func TestKeys(t *testing.T) {
	d := new(flags.Definitions)
	key := func(i int) string { return fmt.Sprintf("checkout-%04d-experiment", i) }
	for i := range 2000 {
		d.Flags = append(d.Flags, flags.Flag{ID: int64(i + 1), Key: key(i), Active: true})
	}
	s, err := flags.Compile(d, flags.CompileOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 4000 {
		result, err := s.Flag(key(i), nil)
		if i < 2000 && (err != nil || result.Metadata.ID != int64(i+1)) || i >= 2000 && !errors.Is(err, flags.ErrUnknownFlag) {
			t.Fatalf("flag %q: %+v, %v", key(i), result, err)
		}
	}
}

// TestLackingWithLists: a property in a list is one that the request carries.
func TestLackingWithLists(t *testing.T) {
	s := compiled(t, manyKinds)
	r := &flags.Request{
		DistinctID: "u", Groups: map[string]string{"company": "acme"}, Overrides: map[string]string{}, Keys: []string{"text", "number", "group"},
		Person:   []flags.Property{flags.StringProperty("country", "DE")},
		OfGroups: []flags.GroupProperty{{Type: "company", Property: flags.IntProperty("size", 1)}},
	}
	if diff := cmp.Diff([]string{"number"}, s.MissingContext(r)); diff != "" {
		t.Errorf("Lacking (-want +got):\n%s", diff)
	}
}

// TestTraceOutlivesRequest: what Explain returns does not change when others are evaluated.
func TestTraceOutlivesRequest(t *testing.T) {
	s := compiled(t, manyKinds)
	explain := func(id string) string {
		var all strings.Builder
		for key := range s.Keys() {
			trace, err := s.Explain(key, &flags.Request{
				DistinctID: id, DeviceID: "device of " + id, AnonymousID: "anon of " + id, Groups: map[string]string{"company": id},
				Person: []flags.Property{flags.StringProperty("country", id), flags.FloatProperty("seats", 1.5), flags.TimeProperty("joined", time.Unix(0, 0).UTC())},
			})
			if err != nil {
				t.Fatal(err)
			}
			before := trace.String()
			for i := range 20 {
				s.Evaluate(&flags.Request{DistinctID: strings.Repeat("x", i), DeviceID: strings.Repeat("y", 50), Person: []flags.Property{flags.FloatProperty("seats", 2.25)}})
			}
			if diff := cmp.Diff(before, trace.String()); diff != "" {
				t.Errorf("%s: the trace has changed (-before +after):\n%s", key, diff)
			}
			all.WriteString(before)
		}
		return all.String()
	}
	if a, b := explain("ada"), explain("bob"); a == b || !strings.Contains(a, "ada") || strings.Contains(b, "ada") {
		t.Errorf("the traces of two persons:\n%s\n%s", a, b)
	}
}
