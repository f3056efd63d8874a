package flags_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/internal/reference"
)

// appendFilters returns the normal form of filters that have one.
func appendFilters(t testing.TB, f *flags.Filters) string {
	t.Helper()
	out, err := f.Normal()
	if err != nil {
		t.Fatalf("AppendFilters: %v", err)
	}
	return string(out)
}

// restOf returns filters without what DecodeFilters could not understand.
func restOf(f *flags.Filters) *flags.Filters {
	return &flags.Filters{
		Groups: f.Groups, Multivariate: f.Multivariate, AggregationGroupTypeIndex: f.AggregationGroupTypeIndex, Payloads: f.Payloads,
		EarlyExit: f.EarlyExit, FeatureEnrollment: f.FeatureEnrollment, Holdout: f.Holdout, Version: f.Version,
	}
}

// oneSet returns filters of one condition set.
func oneSet(list string) string { return `{"groups":[{"properties":[` + list + `]}]}` }

// TestNormalForm reads filters and writes them again (evaluation.md §1.3 to §1.5).
func TestNormalForm(t *testing.T) {
	const plain = `{"groups":[{"properties":[]}]}`
	for _, tt := range []struct{ name, raw, want string }{
		{"nothing", `{}`, `{"groups":[]}`},
		{"null", `null`, `{"groups":[]}`},
		{"empty condition set", ` { "groups" : [ { } ] } `, plain},
		{
			"nulls", `{"groups":[{"properties":null,"rollout_percentage":null,"variant":null,"description":null}],"multivariate":null,"payloads":{"true":null},
			"holdout":null,"early_exit":null,"feature_enrollment":null,"aggregation_group_type_index":null}`, plain,
		},
		{"unknown members", `{"x":1,"groups":[{"y":2,"users_affected":3}]}`, plain},
		{
			"all members",
			`{"version":1,"holdout":{"exclusion_percentage":12.50,"id":4e1},"feature_enrollment":true,"early_exit":false,"payloads":{"b":"1","a":"{ }"},"aggregation_group_type_index":2,
			"multivariate":{"variants":[{"rollout_percentage":5e1,"name":"A","key":"a"},{"rollout_percentage":50.0,"name":"","key":"b"},{"key":"c","name":null,"rollout_percentage":0}]},
			"groups":[{"sort_key":"k","description":"Everybody","aggregation_group_type_index":null,"variant":"a","rollout_percentage":33.3,"properties":[]},{"aggregation_group_type_index":1}]}`,
			`{"groups":[{"properties":[],"rollout_percentage":33.3,"variant":"a","aggregation_group_type_index":null,"description":"Everybody","sort_key":"k"},{"properties":[],"aggregation_group_type_index":1}],` +
				`"multivariate":{"variants":[{"key":"a","name":"A","rollout_percentage":50},{"key":"b","name":"","rollout_percentage":50},{"key":"c","rollout_percentage":0}]},` +
				`"aggregation_group_type_index":2,"payloads":{"a":"{ }","b":"1"},"early_exit":false,"feature_enrollment":true,"holdout":{"id":40,"exclusion_percentage":12.5},"version":1}`,
		},
		{
			"a filter", oneSet(`{"negation":true,"group_type_index":0,"type":"group","operator":"exact","value":[ 1 , 1.0 , "\u00e9\/" ],"key":"a","cohort_name":"x","label":"y"}`),
			oneSet(`{"key":"a","value":[1,1.0,"é/"],"operator":"exact","type":"group","group_type_index":0,"negation":true}`),
		},
		{"a filter with nothing but a key", oneSet(`{"key":"a","negation":false}`), oneSet(`{"key":"a"}`)},
		{"a value that is null", oneSet(`{"key":"a","value":null}`), oneSet(`{"key":"a"}`)},
		{"an object", oneSet(`{"key":"a","value":{"b": 1, "a" : {"\u0062":2}, "b":[ ]}}`), oneSet(`{"key":"a","value":{"b":[],"a":{"b":2}}}`)},
		{"texts", oneSet(`{"key":"<a>\u2028\n","value":"\ud800 \" \\ \u0001"}`), oneSet("{\"key\":\"<a>\u2028\\n\",\"value\":\"\uFFFD \\\" \\\\ \\u0001\"}")},
		{"a dependency", oneSet(`{"key":"7","type":"flag","operator":"flag_evaluates_to","value":true,"dependency_chain":["a","7"]}`), oneSet(`{"key":"7","value":true,"operator":"flag_evaluates_to","type":"flag","dependency_chain":["a","7"]}`)},
		{"a dependency by number", oneSet(`{"key":7,"type":"flag","value":true,"dependency_chain":null}`), oneSet(`{"key":"7","value":true,"type":"flag"}`)},
		{"payloads of all kinds", `{"payloads":{"d":{"b":[ 1.0 ],"a":"\u00e9","b":2},"a":true,"c":"\"x\"","b":"no JSON"}}`, `{"groups":[],"payloads":{"a":"true","b":"no JSON","c":"\"x\"","d":"{\"b\":[1.0],\"a\":\"\\u00e9\",\"b\":2}"}}`},
		{"early access, legacy", `{"super_groups":[{"properties":[{"key":"$feature_enrollment/f","type":"person","operator":"exact","value":["true"]}],"rollout_percentage":100}]}`, `{"groups":[],"feature_enrollment":true}`},
		{"early access of another flag, legacy", `{"super_groups":[{"properties":[{"key":"$feature_enrollment/g","type":"person"}]}]}`, `{"groups":[]}`},
		{"holdout, legacy", `{"holdout_groups":[{"properties":[],"rollout_percentage":10,"variant":"holdout-42"}]}`, `{"groups":[],"holdout":{"id":42,"exclusion_percentage":10}}`},
		{"very small and very large", `{"groups":[{"rollout_percentage":1e-7},{"rollout_percentage":1e300},{"rollout_percentage":-0.0}]}`, `{"groups":[{"properties":[],"rollout_percentage":1e-7},{"properties":[],"rollout_percentage":1e+300},{"properties":[],"rollout_percentage":-0}]}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f, err := flags.DecodeFilters([]byte(tt.raw), "f")
			if err != nil {
				t.Fatal(err)
			}
			got := appendFilters(t, &f)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("normal form (-want +got):\n%s", diff)
			}
			again, err := flags.DecodeFilters([]byte(got), "f")
			if second := appendFilters(t, &again); err != nil || second != got {
				t.Errorf("once more: %s, %v", second, err)
			}
			marshaled, err := json.Marshal(struct{ F flags.Filters }{f})
			var read struct{ F flags.Filters }
			if err != nil || json.Unmarshal(marshaled, &read) != nil || appendFilters(t, &read.F) != got {
				t.Errorf("json.Marshal = %s, %v, which json.Unmarshal reads as %s", marshaled, err, appendFilters(t, &read.F))
			}
		})
	}
}

// TestNormalFormOfTrees reads the filters of a cohort and writes them again
// (evaluation.md §5.1).
func TestNormalFormOfTrees(t *testing.T) {
	and := func(leaves string) string { return `{"properties":{"type":"AND","values":[` + leaves + `]}}` }
	for _, tt := range []struct{ name, raw, want string }{
		{"nothing", `{}`, `{}`},
		{"null", `{"properties":null}`, `{}`},
		{"an empty tree", `{"properties":{}}`, `{}`},
		{"no criteria", and(``), and(``)},
		{
			"two levels", `{"x":1,"properties":{"values":[{"values":[{"value":"pro","type":"person","key":"plan","x":1}],"type":"property","y":2}],"type":"or","z":3}}`,
			`{"properties":{"type":"OR","values":[{"type":"AND","values":[{"key":"plan","value":"pro","type":"person"}]}]}}`,
		},
		{"very old form", `{"properties":{"OR":[{"AND":[]}]}}`, `{"properties":{"type":"OR","values":[{"type":"AND","values":[]}]}}`},
		{"a lone leaf", `{"properties":{"key":"a","value":1}}`, `{"properties":{"key":"a","value":1}}`},
		{"unknown type", `{"properties":{"type":"XOR","values":[]}}`, `{"properties":{"type":"XOR","values":[]}}`},
		{
			"criteria that flags cannot evaluate",
			and(`{"type":"behavioral", "value":"performed_event","key":"$pageview","time_value":30,"negation":false,"seq":{"b":1.0,"a":[2],"b":3}}`),
			and(`{"key":"$pageview","value":"performed_event","type":"behavioral","time_value":30,"negation":false,"seq":{"b":3,"a":[2]}}`),
		},
		{"other criteria", and(`{"type":"person", "value":1,"key":"a","time_value":30}`), and(`{"key":"a","value":1,"type":"person"}`)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tree, err := flags.DecodeCohort([]byte(tt.raw), 7)
			if err != nil {
				t.Fatal(err)
			}
			got, err := tree.Normal()
			if diff := cmp.Diff(tt.want, string(got)); diff != "" || err != nil {
				t.Errorf("normal form: %v (-want +got):\n%s", err, diff)
			}
			again, err := flags.DecodeCohort(got, 7)
			if err != nil {
				t.Fatal(err)
			}
			if second, err := again.Normal(); err != nil || string(second) != tt.want {
				t.Errorf("once more: %s, %v", second, err)
			}
		})
	}
}

// TestCohortNames: a name of a cohort is only shown.
func TestCohortNames(t *testing.T) {
	f := flags.Filters{Groups: []flags.Condition{{Properties: []flags.Filter{{Key: "id", Type: "cohort", Value: []byte("7"), CohortName: "Pros"}}}}}
	want := oneSet(`{"key":"id","value":7,"type":"cohort","cohort_name":"Pros"}`)
	shown, err := json.Marshal(f)
	if string(shown) != want || err != nil {
		t.Errorf("json.Marshal = %s, %v; want %s", shown, err, want)
	}
	again, err := flags.DecodeFilters(shown, "")
	if name := again.Groups[0].Properties[0].CohortName; name != "Pros" || err != nil {
		t.Errorf("DecodeFilters has the name %q, %v; want Pros", name, err)
	}
	if got := appendFilters(t, &again); got != oneSet(`{"key":"id","value":7,"type":"cohort"}`) {
		t.Errorf("the normal form is %s", got)
	}
}

// TestAppendRefuses: definitions made in Go can have what JSON does not have.
func TestAppendRefuses(t *testing.T) {
	condition := func(c flags.Condition) flags.Filters { return flags.Filters{Groups: []flags.Condition{c}} }
	deep := strings.Repeat("[", 201) + strings.Repeat("]", 201)
	for _, tt := range []struct {
		name    string
		filters flags.Filters
		want    string
	}{
		{"not a number", condition(flags.Condition{RolloutPercentage: new(math.NaN())}), "a percentage must be a number that JSON has, not NaN"},
		{"infinity", flags.Filters{Holdout: &flags.Holdout{ExclusionPercentage: math.Inf(-1)}}, "a percentage must be a number that JSON has, not -Inf"},
		{"a value", condition(flags.Condition{Properties: []flags.Filter{{Key: "a", Value: []byte(`{"x":`)}}}), `value of the filter on "a": it is not JSON`},
		{"an empty value", condition(flags.Condition{Properties: []flags.Filter{{Key: "a", Value: []byte{}}}}), `value of the filter on "a": it is not JSON`},
		{"a deep value", condition(flags.Condition{Properties: []flags.Filter{{Key: "a", Value: []byte(deep)}}}), `value of the filter on "a": it is not JSON, or nested too deep`},
		{"a payload", flags.Filters{Payloads: map[string]json.RawMessage{"true": []byte("x")}}, `payload of "true": it is not JSON`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out, err := tt.filters.Normal()
			if err == nil || !strings.Contains(err.Error(), tt.want) || out != nil {
				t.Errorf("Normal = %s, %v; want the error %q", out, err, tt.want)
			}
			if out, err := json.Marshal(tt.filters); err == nil {
				t.Errorf("json.Marshal = %s, want an error", out)
			}
		})
	}
	looped := make([]flags.CohortNode, 1)
	looped[0] = flags.CohortNode{Type: "AND", Values: looped}
	for name, tree := range map[string]*flags.CohortNode{
		"a circle":    &looped[0],
		"a criterion": {Leaf: &flags.Filter{Type: "behavioral", Extra: []byte(`{`)}},
	} {
		if out, err := tree.Normal(); err == nil || out != nil {
			t.Errorf("%s: Normal = %s, %v; want an error", name, out, err)
		}
	}
}

// TestClone: a copy can change while the original stays what it is.
func TestClone(t *testing.T) {
	const raw = `{"groups":[{"properties":[{"key":"a","value":1,"type":"person"}],"rollout_percentage":50}],"payloads":{"true":"1"}}`
	f, err := flags.DecodeFilters([]byte(raw), "f")
	if err != nil {
		t.Fatal(err)
	}
	c := f.Clone()
	if got := appendFilters(t, &c); got != raw {
		t.Errorf("Clone = %s, want %s", got, raw)
	}
	c.SetPayload("true", "2")
	c.Groups[0].Properties[0].Key = "b"
	c.Groups[0].RolloutPercentage = nil
	if got := appendFilters(t, &f); got != raw {
		t.Errorf("after a change of the copy %s, want %s", got, raw)
	}
}

// TestPayload is evaluation.md §3.8.
func TestPayload(t *testing.T) {
	f := flags.Filters{Payloads: map[string]json.RawMessage{
		"text": []byte(`"{\"a\": 1}"`), "object": []byte(` { "a" : "x y", "b":1.0 } `), "number": []byte(`1e3`), "null": []byte(`null`), "bad": []byte(`{`), "utf-8": []byte("[\"\xff\"]"),
	}}
	f.SetPayload("set", "sealed:\xff\"")
	for _, tt := range []struct {
		key, want string
		ok        bool
	}{
		{"text", `{"a": 1}`, true},
		{"object", `{"a":"x y","b":1.0}`, true},
		{"number", `1e3`, true},
		{"utf-8", "[\"\uFFFD\"]", true},
		{"set", "sealed:\uFFFD\"", true},
		{"null", "", false},
		{"bad", "", false},
		{"none", "", false},
	} {
		if got, ok := f.Payload(tt.key); got != tt.want || ok != tt.ok {
			t.Errorf("Payload(%q) = %q, %v; want %q, %v", tt.key, got, ok, tt.want, tt.ok)
		}
	}
	var empty flags.Filters
	empty.SetPayload("true", "1")
	if got, ok := empty.Payload("true"); got != "1" || !ok {
		t.Errorf("Payload = %q, %v after SetPayload of filters without payloads", got, ok)
	}
}

// TestDecodeFiltersErrors: what DecodeFilters cannot understand is an error, and
// the rest is there all the same.
func TestDecodeFiltersErrors(t *testing.T) {
	for _, tt := range []struct {
		name, raw string
		want      string // the error
		rest      string // what was understood
	}{
		{"no JSON", `{"groups":[`, `flag "f" at /filters: not valid JSON: offset 11: unexpected end of input where a value should begin`, `{"groups":[]}`},
		{"nothing", ``, `flag "f" at /filters: not valid JSON: offset 0: unexpected end of input where a value should begin`, `{"groups":[]}`},
		{"another kind", `[]`, `flag "f" at /filters: must be an object, not an array: []`, `{"groups":[]}`},
		{"the first of two", `{"groups":[{"rollout_percentage":"50"}],"multivariate":1,"early_exit":true}`, `flag "f" at /filters/groups/0/rollout_percentage: must be a number, not a string: "50"`, `{"groups":[{"properties":[]}],"early_exit":true}`},
		{"a filter", oneSet(`{"key":"a","operator":5,"value":1},{"key":"b"}`), `flag "f" at /filters/groups/0/properties/0/operator: must be a string, not a number: 5`, oneSet(`{"key":"a","value":1},{"key":"b"}`)},
		{"a key that is a list", oneSet(`{"key":[12],"type":"person"}`), `flag "f" at /filters/groups/0/properties/0/key: must be a string, not an array: [12]`, oneSet(`{"key":"","type":"person"}`)},
		{"what is wrong as a whole comes first", `{"groups":[{"properties":[{"key":[]}]},7]}`, `flag "f" at /filters/groups/1: must be an object, not a number: 7`, oneSet(`{"key":""}`)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f, err := flags.DecodeFilters([]byte(tt.raw), "f")
			if err == nil || err.Error() != tt.want {
				t.Errorf("DecodeFilters: %v, want %s", err, tt.want)
			}
			if _, ok := errors.AsType[*flags.DefinitionError](err); !ok {
				t.Errorf("the error is a %T", err)
			}
			if got := appendFilters(t, restOf(&f)); got != tt.rest {
				t.Errorf("DecodeFilters understood %s, want %s", got, tt.rest)
			}
			if got := appendFilters(t, &f); got != tt.raw {
				t.Errorf("Normal = %s, want what was read: %s", got, tt.raw)
			}
			// A flag that has the filters fails, at least where it reaches them.
			r, err := compile(t, &flags.Definitions{Flags: []flags.Flag{{ID: 1, Key: "f", Active: true, Filters: f}}}).Flag("f", &flags.Request{DistinctID: "user-1"})
			if err != nil || !r.Failed {
				t.Errorf("a flag with these filters: %+v, %v; want a failure", r, err)
			}
		})
	}
}

func compile(t testing.TB, d *flags.Definitions) *flags.Snapshot {
	t.Helper()
	s, err := flags.Compile(d, flags.CompileOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestDecodeCohortErrors is TestDecodeFiltersErrors for cohorts.
func TestDecodeCohortErrors(t *testing.T) {
	for _, tt := range []struct{ name, raw, want string }{
		{"no JSON", `{`, `definitions at /cohorts/7/filters: not valid JSON: offset 1: unexpected end of input where a member name should begin`},
		{"another kind", `1`, `definitions at /cohorts/7/filters: must be an object, not a number: 1`},
		{"no tree", `{"properties":[]}`, `definitions at /cohorts/7/filters/properties: must be an object, not an array: []`},
		{"values", `{"properties":{"type":"AND","values":{}}}`, `definitions at /cohorts/7/filters/properties/values: must be an array, not an object: {}`},
		{"a node", `{"properties":{"OR":[{"type":"AND","values":[1]}]}}`, `definitions at /cohorts/7/filters/properties/OR/0/values/0: must be an object, not a number: 1`},
		{"a leaf", `{"properties":{"type":"AND","values":[{"key":"a","negation":1}]}}`, `definitions at /cohorts/7/filters/properties/values/0/negation: must be true or false, not a number: 1`},
		{"too deep", `{"properties":` + strings.Repeat(`{"type":"OR","values":[`, 67) + strings.Repeat(`]}`, 67) + `}`, `definitions at /cohorts/7/filters/properties` + strings.Repeat(`/values/0`, 66) + `/values: more than 66 groups within each other`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tree, err := flags.DecodeCohort([]byte(tt.raw), 7)
			if err == nil || err.Error() != tt.want {
				t.Errorf("DecodeCohort: %v, want %s", err, tt.want)
			}
			if got, err := tree.Normal(); string(got) != tt.raw || err != nil {
				t.Errorf("Normal = %s, %v; want what was read: %s", got, err, tt.raw)
			}
			d := &flags.Definitions{Cohorts: map[int64]flags.Cohort{7: {Properties: tree}}, Flags: []flags.Flag{{ID: 1, Key: "f", Active: true, Filters: flags.Filters{
				Groups: []flags.Condition{{Properties: []flags.Filter{{Key: "id", Type: "cohort", Value: []byte("7")}}}},
			}}}}
			s := compile(t, d)
			r, err := s.Flag("f", &flags.Request{DistinctID: "user-1"})
			if err != nil || r.Reason.Code != flags.ErrorCohortData {
				t.Errorf("a flag with this cohort: %+v, %v; want code %s", r, err, flags.ErrorCohortData)
			}
		})
	}
}

var withoutExtra = cmp.Options{
	cmpopts.IgnoreUnexported(flags.Filters{}, flags.Filter{}),
	cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".Extra" }, cmp.Ignore()),
}

// checkModel compares DecodeFilters with Decode, and the definitions with what is
// left of them after they were written and read.
func checkModel(t testing.TB, g *reference.Generator, document []byte) {
	t.Helper()
	d, err := flags.Decode(bytes.NewReader(document))
	if err != nil {
		return
	}
	var raw struct {
		Flags []struct {
			Key     json.RawMessage
			Filters json.RawMessage
		}
	}
	if err := json.Unmarshal(document, &raw); err != nil {
		t.Fatal(err)
	}
	understood := true
	n := 0
	for _, r := range raw.Flags {
		var key string
		if json.Unmarshal(r.Key, &key) != nil || key == "" {
			continue // Decode leaves it out
		}
		want := &d.Flags[n]
		n++
		understood = understood && want.Err() == nil
		if r.Filters == nil {
			continue
		}
		got, err := flags.DecodeFilters(r.Filters, key)
		if v, ok := decoded(r.Filters).(map[string]any); ok {
			if version, sent := v["version"]; sent && version == nil {
				understood = false
				continue // a client may send what a document must not have
			}
		}
		if (want.Filters.Err() == nil) != (got.Err() == nil) || cmp.Diff(restOf(&want.Filters), restOf(&got), withoutExtra) != "" {
			t.Errorf("DecodeFilters(%s) and Decode differ (-Decode +DecodeFilters):\n%s", r.Filters, cmp.Diff(want.Filters, got, withoutExtra))
		}
		if err == nil {
			checkSent(t, &got, r.Filters, key)
		}
		understood = understood && err == nil
		for _, fl := range want.Filters.All() {
			understood = understood && fl.Err() == nil // such as one whose key is a number, which a client may send
		}
		first := appendFilters(t, restOf(&got))
		again, _ := flags.DecodeFilters([]byte(first), key)
		if second := appendFilters(t, &again); second != first {
			t.Errorf("%s becomes %s, and once more %s", r.Filters, first, second)
		}
	}
	for id, c := range d.Cohorts {
		first, err := c.Properties.Normal()
		if err != nil {
			t.Fatalf("AppendCohort: %v", err)
		}
		again, fault := flags.DecodeCohort(first, id)
		if second, err := again.Normal(); err != nil || !bytes.Equal(first, second) {
			t.Errorf("cohort %d becomes %s, and once more %s, %v", id, first, second, err)
		}
		understood = understood && fault == nil && c.Err() == nil
		for leaf := range c.Properties.Leaves() {
			understood = understood && leaf.Err() == nil
		}
	}
	if !understood || g == nil {
		return // what was not understood is not written
	}
	written, err := json.Marshal(d)
	if err != nil {
		t.Fatalf("json.Marshal: %v", err)
	}
	back, err := flags.Decode(bytes.NewReader(written))
	if err != nil {
		t.Fatalf("Decode(%s): %v", written, err)
	}
	before, after := compile(t, d), compile(t, back)
	for range 3 {
		r := g.Request()
		var was, is flags.Input
		fill(t, &was, before, r, everything, nil)
		fill(t, &is, after, r, everything, nil)
		a, _ := was.AppendFlags(nil)
		b, _ := is.AppendFlags(nil)
		if diff := cmp.Diff(string(a), string(b)); diff != "" {
			t.Errorf("written and read again, definitions give other results (-before +after):\n%s\ndocument: %s\nwritten: %s", diff, document, written)
		}
	}
}

// checkSent compares filters as they are written in full with what was read: the members and
// their values are the same, but for what has another name now, and for members that
// are there twice.
func checkSent(t testing.TB, f *flags.Filters, sent []byte, key string) {
	t.Helper()
	full, err := json.Marshal(f)
	if err != nil {
		t.Fatalf("json.Marshal: %v", err)
	}
	again, err := flags.DecodeFilters(full, key)
	if twice, _ := json.Marshal(&again); err == nil && !bytes.Equal(full, twice) {
		t.Errorf("%s becomes %s, and once more %s", sent, full, twice)
	}
	want, got := decoded(sent), decoded(full)
	if filters, ok := want.(map[string]any); ok {
		written := got.(map[string]any)
		for older, newer := range map[string]string{"super_groups": "feature_enrollment", "holdout_groups": "holdout"} {
			if _, ok := filters[older]; ok && filters[newer] == nil {
				delete(written, newer)
				delete(filters, newer)
			}
		}
	}
	renamed(want)
	equal := cmp.Comparer(func(a, b json.Number) bool {
		x, err1 := a.Float64()
		y, err2 := b.Float64()
		return a == b || err1 == nil && err2 == nil && x == y
	})
	if diff := cmp.Diff(want, got, equal); diff != "" && want != nil {
		t.Errorf("filters as they were sent, and written in full (-sent +written):\n%s\n%s\n%s", diff, sent, full)
	}
}

// decoded returns JSON with its numbers as they are written.
func decoded(raw []byte) (v any) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	_ = d.Decode(&v)
	return v
}

// renamed gives filters in JSON the names that they are written with.
func renamed(v any) {
	switch v := v.(type) {
	case map[string]any:
		if older, _ := v["operator"].(string); v["key"] != nil {
			if newer := map[string]string{"min": "gte", "max": "lte"}[older]; newer != "" {
				v["operator"] = newer
			}
			if n, ok := v["key"].(json.Number); ok {
				if _, err := n.Int64(); err == nil {
					v["key"] = string(n)
				}
			}
		}
		if v["dependency_chain"] == nil {
			delete(v, "dependency_chain")
		}
		for _, member := range v {
			renamed(member)
		}
	case []any:
		for _, element := range v {
			renamed(element)
		}
	}
}

// TestFiltersAsSent: what evaluation does not use is kept, null told from absent, and goes
// when a field takes its place.
func TestFiltersAsSent(t *testing.T) {
	for _, tt := range []struct{ name, sent string }{
		{"nothing", `{}`},
		{"null everywhere", `{"groups":null,"multivariate":null,"aggregation_group_type_index":null,"payloads":null,"early_exit":null,"feature_enrollment":null,"holdout":null,"super_groups":null,"x":null}`},
		{"empty", `{"groups":[],"payloads":{},"y":{},"x":[]}`},
		{"a condition set", `{"groups":[{}]}`},
		{"what people see", `{"groups":[{"label":"a","description":"b","sort_key":"c","users_affected":0.5},{"description":"","sort_key":7}]}`},
		{"null in a condition set", `{"groups":[{"properties":null,"rollout_percentage":null,"variant":null,"aggregation_group_type_index":null}]}`},
		{"a filter", oneSet(`{"key":"a","value":null,"operator":null,"type":null,"group_type_index":null,"negation":false,"label":{"a":[1,null]}}`)},
		{"variants", `{"multivariate":{"variants":[{"key":"a","rollout_percentage":100,"name":null,"id":3}],"z":1}}`},
		{"a holdout", `{"holdout":{"id":1,"exclusion_percentage":10.5,"name":"h"}}`},
		{"payloads", `{"payloads":{"a":{"b":[1,"c"]},"b":"{\"c\":1}","c":null,"d":7}}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f, err := flags.DecodeFilters([]byte(tt.sent), "f")
			if err != nil {
				t.Fatal(err)
			}
			checkSent(t, &f, []byte(tt.sent), "f")
		})
	}
	f, err := flags.DecodeFilters([]byte(`{"groups":[{"variant":null,"label":"x"}],"holdout":null}`), "f")
	if err != nil {
		t.Fatal(err)
	}
	f.Groups[0].Variant, f.Holdout = new("a"), &flags.Holdout{ID: 1}
	if got, _ := json.Marshal(f); string(got) != `{"groups":[{"variant":"a","label":"x"}],"holdout":{"id":1,"exclusion_percentage":0}}` {
		t.Errorf("with fields in place of null: %s", got)
	}
	f.Extra = json.RawMessage(`7`)
	if got, err := json.Marshal(f); err == nil {
		t.Errorf("an Extra that is not an object: %s", got)
	}
}

// TestRandomModels is checkModel for random documents.
func TestRandomModels(t *testing.T) {
	seed := firstSeed(t)
	for i := range uint64(cases(t) / 10) {
		g := reference.NewGenerator(seed + i)
		document := g.Document()
		if checkModel(t, g, document); t.Failed() {
			t.Fatalf("seed %d, document %s", seed+i, document)
		}
	}
}

// FuzzDecodeFilters reads anything as the filters of a flag and of a cohort:
// nothing panics, the normal form is one, and Decode reads the same.
func FuzzDecodeFilters(f *testing.F) {
	for seed := range uint64(20) {
		d, err := flags.Decode(bytes.NewReader(reference.NewGenerator(seed).Document()))
		if err != nil {
			f.Fatal(err)
		}
		for i := range d.Flags {
			f.Add([]byte(appendFilters(f, &d.Flags[i].Filters)), d.Flags[i].Key)
		}
		for _, c := range d.Cohorts {
			tree, err := c.Properties.Normal()
			if err != nil {
				f.Fatal(err)
			}
			f.Add(tree, "")
		}
	}
	f.Fuzz(func(t *testing.T, raw []byte, key string) {
		filters, err := flags.DecodeFilters(raw, key)
		if (err == nil) != (filters.Err() == nil) && filters.Err() != nil {
			t.Errorf("DecodeFilters has the error %v, and the filters %v", err, filters.Err())
		}
		if out := appendFilters(t, restOf(&filters)); !json.Valid([]byte(out)) {
			t.Errorf("AppendFilters wrote no JSON: %s", out)
		}
		if !json.Valid(raw) {
			return
		}
		name, _ := json.Marshal(key)
		checkModel(t, nil, []byte(`{"flags":[{"id":1,"key":`+string(name)+`,"active":true,"filters":`+string(raw)+`}],"cohorts":[{"id":7,"filters":`+string(raw)+`}]}`))
	})
}

// TestEncodeBrokenFilters: what a document has of filters that cannot be understood is
// written as it was read.
func TestEncodeBrokenFilters(t *testing.T) {
	for _, filters := range []string{`{"groups": 7, "x":1}`, `{"groups":[{},{"properties":[{"key":"a","type": 7}]}]}`} {
		d, err := flags.Decode(strings.NewReader(`{"flags":[{"id":1,"key":"k","active":true,"filters":` + filters + `}]}`))
		if err != nil {
			t.Fatal(err)
		}
		if b, err := d.Flags[0].Filters.Encode(); err != nil || string(b) != filters {
			t.Errorf("%s is written as %s, %v", filters, b, err)
		}
	}
}
