package wire_test

import (
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/flagstaff-go/flagstaff/flags/wire"
	"github.com/flagstaff-go/flagstaff/runtime"
)

// body is what a browser sends (wire.md §1.4), about 600 bytes.
const body = `{"token":"phc_demo","distinct_id":"01a1fb74-fbb6-73ab-a6e2-2019581e196c","groups":{"company":"acme"},` +
	`"$anon_distinct_id":"01a1fb74-fbb6-7c11-9d8f-51ab0e27c9d3","person_properties":{"$initial_referrer":"$direct",` +
	`"$initial_utm_source":null,"plan":"pro","email":"jo@acme.example","age":42,"$lib":"web","$lib_version":"1.449.2",` +
	`"$browser":"Chrome","$os":"Linux","$current_url":"https://app.example/settings/billing"},"group_properties":{"company":` +
	`{"tier":"enterprise","seats":250}},"timezone":"Europe/Vienna","$device_id":"01a1fb74-fbb6-7c11-9d8f-51ab0e27c9d3",` +
	`"evaluation_contexts":["checkout","web"],"sent_at":"2026-11-21T00:15:10.990Z"}`

// fields are the exported fields of a Request in a form that can be compared.
type fields struct {
	APIKey, DistinctID, AnonymousID, DeviceID string
	HasDistinctID                             bool
	Groups, Person, GroupProperties           any
	Tags, Keys                                []string
	HasKeys                                   bool
	Runtime                                   runtime.Kind
	HasRuntime, DisableFlags, GeoIPDisable    bool
}

func fieldsOf(t testing.TB, r *wire.Request) fields {
	t.Helper()
	object := func(v []byte) (m any) {
		if v != nil {
			if err := json.Unmarshal(v, &m); err != nil {
				// Numbers that float64 cannot hold are none of Parse's business.
				if _, ok := errors.AsType[*json.UnmarshalTypeError](err); !ok {
					t.Fatalf("%q is not JSON: %v", v, err)
				}
			}
		}
		return m
	}
	return fields{
		APIKey: r.APIKey, DistinctID: r.DistinctID, AnonymousID: r.AnonymousID, DeviceID: r.DeviceID, HasDistinctID: r.HasDistinctID,
		Groups: object(r.Groups), Person: object(r.Person), GroupProperties: object(r.GroupProperties),
		Tags: r.Tags, Keys: r.Keys, HasKeys: r.HasKeys, Runtime: r.Runtime, HasRuntime: r.HasRuntime,
		DisableFlags: r.DisableFlags, GeoIPDisable: r.GeoIPDisable,
	}
}

type object = map[string]any

func TestParse(t *testing.T) {
	long := strings.Repeat("é", 201)
	for _, tt := range []struct {
		name, body string
		want       fields
	}{
		{"empty object", `{}`, fields{}},
		{"white space", " {\n\t}\r\n", fields{}},
		{"a browser", body, fields{
			APIKey: "phc_demo", DistinctID: "01a1fb74-fbb6-73ab-a6e2-2019581e196c", HasDistinctID: true,
			AnonymousID: "01a1fb74-fbb6-7c11-9d8f-51ab0e27c9d3", DeviceID: "01a1fb74-fbb6-7c11-9d8f-51ab0e27c9d3",
			Groups: object{"company": "acme"},
			Person: object{
				"$initial_referrer": "$direct", "$initial_utm_source": nil, "plan": "pro", "email": "jo@acme.example", "age": 42.0,
				"$lib": "web", "$lib_version": "1.449.2", "$browser": "Chrome", "$os": "Linux", "$current_url": "https://app.example/settings/billing",
			},
			GroupProperties: object{"company": object{"tier": "enterprise", "seats": 250.0}},
			Tags:            []string{"checkout", "web"},
		}},
		{
			"posthog-node", `{"token":"t","distinct_id":"u1","groups":{},"person_properties":{},"group_properties":{},"geoip_disable":true,` +
				`"flag_keys_to_evaluate":["a"],"evaluation_runtime":"server"}`,
			fields{
				APIKey: "t", DistinctID: "u1", HasDistinctID: true, Groups: object{}, Person: object{}, GroupProperties: object{},
				GeoIPDisable: true, Keys: []string{"a"}, HasKeys: true, Runtime: runtime.Server, HasRuntime: true,
			},
		},

		{"api_key", `{"api_key":"t"}`, fields{APIKey: "t"}},
		{"$token", `{"$token":"t"}`, fields{APIKey: "t"}},
		{
			"first spelling of the table wins", `{"$token":"c","api_key":"b","token":"a","$distinct_id":"d","distinct_id":"e"}`,
			fields{APIKey: "a", DistinctID: "e", HasDistinctID: true},
		},
		{"null is absent, so the next spelling counts", `{"token":null,"api_key":"b","$token":"c"}`, fields{APIKey: "b"}},
		{"last duplicate wins", `{"token":"a","token":"b"}`, fields{APIKey: "b"}},
		{"last duplicate wins even if it is null", `{"token":"a","token":null}`, fields{}},
		{
			"only the member that counts is checked", `{"token":1,"token":"a","api_key":{},"distinct_id":[],"distinct_id":"u"}`,
			fields{APIKey: "a", DistinctID: "u", HasDistinctID: true},
		},
		{
			"escaped names and texts", `{"\u0074oken":"\u0061\n","distinct_id":"\ud834\udd1e\ud834"}`,
			fields{APIKey: "a\n", DistinctID: "𝄞\uFFFD", HasDistinctID: true},
		},
		{"invalid UTF-8", "{\"distinct_id\":\"a\xffb\xe2\x82\",\"\xff\":1}", fields{DistinctID: "a\uFFFDb\uFFFD\uFFFD", HasDistinctID: true}},
		{"names are exact", `{"Token":"a","token ":"b","TOKEN":"c"}`, fields{}},

		{"distinct_id empty", `{"distinct_id":""}`, fields{HasDistinctID: true}},
		{"distinct_id null", `{"distinct_id":null}`, fields{}},
		{"distinct_id integer", `{"distinct_id":42}`, fields{DistinctID: "42", HasDistinctID: true}},
		{"distinct_id with fraction", `{"distinct_id":1.0}`, fields{DistinctID: "1.0", HasDistinctID: true}},
		{"distinct_id with exponent", `{"distinct_id":1E2}`, fields{DistinctID: "100.0", HasDistinctID: true}},
		{"distinct_id minus zero", `{"distinct_id":-0}`, fields{DistinctID: "-0.0", HasDistinctID: true}},
		{"distinct_id of 200 bytes", `{"distinct_id":"` + long[:200] + `"}`, fields{DistinctID: long[:200], HasDistinctID: true}},
		{"distinct_id of 201 characters", `{"distinct_id":"` + long + `"}`, fields{DistinctID: long[:400], HasDistinctID: true}},
		{"distinct_id of 101 characters in 202 bytes", `{"distinct_id":"` + long[:202] + `"}`, fields{DistinctID: long[:202], HasDistinctID: true}},

		{
			"aliases", `{"$groups":{"a":1},"$properties":{"b":2},"$group_properties":{"a":{"c":3}},"anon_distinct_id":"d","device_id":"e",` +
				`"evaluation_environments":["f"]}`,
			fields{
				Groups: object{"a": 1.0}, Person: object{"b": 2.0}, GroupProperties: object{"a": object{"c": 3.0}},
				AnonymousID: "d", DeviceID: "e", Tags: []string{"f"},
			},
		},
		{"what is not an alias", `{"properties":{"a":1},"tags":["a"],"disable_geoip":true,"flagKeys":["a"],"timestamp":5,"sent_at":[]}`, fields{}},
		{"all null", `{"token":null,"distinct_id":null,"groups":null,"person_properties":null,"group_properties":null,"$anon_distinct_id":null,` +
			`"$device_id":null,"geoip_disable":null,"disable_flags":null,"flag_keys":null,"evaluation_contexts":null,"evaluation_runtime":null}`, fields{}},
		{"group properties null", `{"group_properties":{"company":null}}`, fields{GroupProperties: object{"company": nil}}},
		{"flag_keys empty", `{"flag_keys":[]}`, fields{Keys: []string{}, HasKeys: true}},
		{"flag_keys", `{"flag_keys":["a","\u0062"],"flag_keys_to_evaluate":["c"]}`, fields{Keys: []string{"a", "b"}, HasKeys: true}},
		{"evaluation_contexts empty", `{"evaluation_contexts":[]}`, fields{Tags: []string{}}},
		{"evaluation_runtime ignores case", `{"evaluation_runtime":"CLIENT"}`, fields{Runtime: runtime.Client, HasRuntime: true}},
		{"evaluation_runtime of another name", `{"evaluation_runtime":"edge"}`, fields{Runtime: runtime.All, HasRuntime: true}},
		{"switches", `{"disable_flags":true,"geoip_disable":false}`, fields{DisableFlags: true}},

		{
			"NaN and Infinity are null", `{"token":"NaN \"Infinity","distinct_id":NaN,"$distinct_id":-Infinity,"groups":{"a":Infinity,"b":NaN}}`,
			fields{APIKey: `NaN "Infinity`, Groups: object{"a": nil, "b": nil}},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var r wire.Request
			if err := r.Parse([]byte(tt.body)); err != nil {
				t.Fatalf("Parse(%s): %v", tt.body, err)
			}
			if diff := cmp.Diff(tt.want, fieldsOf(t, &r), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("Parse(%s) (-want +got):\n%s", tt.body, diff)
			}
		})
	}
}

func TestParseErrors(t *testing.T) {
	for _, tt := range []struct{ name, body, field string }{ // field "-": ErrSyntax
		{"no body", ``, "-"},
		{"white space", " \n", "-"},
		{"cut off", body[:100], "-"},
		{"text behind", `{} x`, "-"},
		{"single quotes", `{'token':'a'}`, "-"},
		{"comment", `{/* a */}`, "-"},
		{"trailing comma", `{"token":"a",}`, "-"},
		{"broken in an ignored member", `{"token":"a","x":[1,{]}`, "-"},
		{"NaN that is part of a word", `{"a":NaNo}`, "-"},
		{"two minus signs", `{"a":--Infinity}`, "-"},
		{"minus NaN", `{"a":-NaN}`, "-"},
		{"NaN as a name", `{NaN:1}`, "-"},
		{"unfinished string with NaN", `{"a":NaN,"b":"NaN`, "-"},
		{"base64", `eyJ0b2tlbiI6ICJhIn0=`, "-"},
		{"too deep", strings.Repeat(`{"a":`, 1001) + "1" + strings.Repeat("}", 1001), "-"},

		{"array", `[{"token":"a"}]`, ""},
		{"string", `"a"`, ""},
		{"number", `1`, ""},
		{"null", `null`, ""},
		{"NaN alone", `NaN`, ""},

		{"token", `{"token":1}`, "token"},
		{"api_key", `{"token":null,"api_key":{}}`, "api_key"},
		{"distinct_id boolean", `{"distinct_id":true}`, "distinct_id"},
		{"distinct_id object", `{"$distinct_id":{}}`, "$distinct_id"},
		{"groups", `{"groups":[]}`, "groups"},
		{"person_properties", `{"person_properties":"a"}`, "person_properties"},
		{"$properties", `{"$properties":1}`, "$properties"},
		{"group_properties", `{"group_properties":[]}`, "group_properties"},
		{"group_properties inside", `{"group_properties":{"company":"acme"}}`, "group_properties"},
		{"$anon_distinct_id", `{"$anon_distinct_id":1}`, "$anon_distinct_id"},
		{"device_id", `{"device_id":1}`, "device_id"},
		{"geoip_disable", `{"geoip_disable":"true"}`, "geoip_disable"},
		{"disable_flags", `{"disable_flags":1}`, "disable_flags"},
		{"flag_keys", `{"flag_keys":"a"}`, "flag_keys"},
		{"flag_keys inside", `{"flag_keys":["a",null]}`, "flag_keys"},
		{"evaluation_contexts", `{"evaluation_contexts":{"a":1}}`, "evaluation_contexts"},
		{"evaluation_environments inside", `{"evaluation_environments":[1]}`, "evaluation_environments"},
		{"evaluation_runtime", `{"evaluation_runtime":true}`, "evaluation_runtime"},
		{"too many flag_keys", `{"flag_keys":["a"` + strings.Repeat(`,""`, 1<<16) + `]}`, "flag_keys"},
		{"too many contexts", `{"evaluation_contexts":["a"` + strings.Repeat(`,""`, 1<<16) + `]}`, "evaluation_contexts"},
		{"too many groups", `{"group_properties":{"a":{}` + strings.Repeat(`,"":{}`, 1<<10) + `}}`, "group_properties"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var r wire.Request
			err := r.Parse([]byte(tt.body))
			if tt.field == "-" {
				if !errors.Is(err, wire.ErrSyntax) {
					t.Errorf("Parse(%s) = %v, want ErrSyntax", tt.body, err)
				}
				return
			}
			f, ok := errors.AsType[*wire.FieldError](err)
			if !ok || f.Field != tt.field {
				t.Errorf("Parse(%s) = %v, want an error of field %q", tt.body, err, tt.field)
			}
		})
	}
}

// TestParseErrorKeepsAPIKey: a server that limits rates by key wants to know it.
func TestParseErrorKeepsAPIKey(t *testing.T) {
	var r wire.Request
	if err := r.Parse([]byte(`{"distinct_id":[],"token":"a"}`)); err == nil || r.APIKey != "a" {
		t.Errorf("APIKey = %q, error %v", r.APIKey, err)
	}
}

func TestErrorsShowNoContents(t *testing.T) {
	const secret = "hunter2"
	for _, body := range []string{
		`{"token":{"a":"hunter2"}}`, `{"token":"hunter2","groups":"hunter2"}`, `["hunter2"]`, `{"hunter2":hunter2}`, `hunter2`,
	} {
		var r wire.Request
		if err := r.Parse([]byte(body)); err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("Parse(%s) = %v", body, err)
		}
	}
}

// TestParseReuse parses bodies of all kinds with one Request: nothing of an
// earlier body may be left.
func TestParseReuse(t *testing.T) {
	var r wire.Request
	for _, b := range []string{
		body, `{}`, `{"token":"\u0061","flag_keys":["\u0062"]}`, body, `{"a":NaN}`, `{`, `{"flag_keys":[1]}`, `[]`,
		`{"distinct_id":1e3,"evaluation_runtime":"server","disable_flags":true,"geoip_disable":true}`, `{}`,
	} {
		var fresh wire.Request
		errFresh, err := fresh.Parse([]byte(b)), r.Parse([]byte(b))
		if (err == nil) != (errFresh == nil) {
			t.Errorf("Parse(%s) = %v, afresh %v", b, err, errFresh)
		}
		if diff := cmp.Diff(fieldsOf(t, &fresh), fieldsOf(t, &r), cmpopts.EquateEmpty()); err == nil && diff != "" {
			t.Errorf("Parse(%s) (-afresh +reused):\n%s", b, diff)
		}
	}
}

func TestParseAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	for _, b := range []string{
		body,
		`{"\u0074oken":"\u0061","distinct_id":42,"flag_keys":["a","b\n"],"evaluation_runtime":"client"}`,
	} {
		var r wire.Request
		in := []byte(b)
		if n := testing.AllocsPerRun(100, func() { r.Parse(in) }); n != 0 {
			t.Errorf("Parse(%s) allocates %v times, want 0", b, n)
		}
	}
}

// FuzzParse compares Parse with a reading by encoding/json.
func FuzzParse(f *testing.F) {
	f.Add([]byte(body))
	f.Add([]byte(`{"token":null,"api_key":"b","$token":"c","distinct_id":1.5e3,"groups":{"a":NaN,"a":"b"},"flag_keys":["x"]}`))
	f.Add([]byte(`{"$distinct_id":"\ud834","$properties":{},"$group_properties":{"a":null},"device_id":"","disable_flags":true}`))
	f.Add([]byte(`{"evaluation_environments":["a"],"evaluation_runtime":"Server","geoip_disable":false,"anon_distinct_id":"-Infinity"}`))
	f.Add([]byte(`[1]`))
	var r wire.Request
	f.Fuzz(func(t *testing.T, b []byte) {
		if nesting(b) > 900 {
			t.Skip("encoding/json allows deeper nesting")
		}
		before := slices.Clone(b)
		err := r.Parse(b)
		if !slices.Equal(b, before) {
			t.Fatalf("Parse changed the body %q", before)
		}
		want, ok := reference(b)
		if ok != (err == nil) {
			t.Fatalf("Parse(%q) = %v, accepted by the reference: %v", b, err, ok)
		}
		if err != nil {
			if _, isField := errors.AsType[*wire.FieldError](err); !isField && !errors.Is(err, wire.ErrSyntax) {
				t.Fatalf("Parse(%q) = %v of type %T", b, err, err)
			}
			return
		}
		if diff := cmp.Diff(want, fieldsOf(t, &r), cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("Parse(%q) (-reference +got):\n%s", b, diff)
		}
	})
}

func nesting(b []byte) (most int) {
	level := 0
	for _, c := range b {
		switch c {
		case '{', '[':
			level++
			most = max(most, level)
		case '}', ']':
			level--
		}
	}
	return most
}

var nonFinite = regexp.MustCompile(`"(?:[^"\\]|\\(?s:.))*"|NaN|-?Infinity`)

// reference reads a body the way the specification tells it.
func reference(b []byte) (fields, bool) {
	if !json.Valid(b) {
		b = nonFinite.ReplaceAllFunc(b, func(m []byte) []byte {
			if m[0] == '"' {
				return m
			}
			return []byte("null")
		})
	}
	var all map[string]json.RawMessage
	if json.Unmarshal(b, &all) != nil || all == nil {
		return fields{}, false
	}
	var (
		w  fields
		ok = true
	)
	first := func(spellings ...string) json.RawMessage {
		for _, s := range spellings {
			if v, found := all[s]; found && string(v) != "null" {
				return v
			}
		}
		return nil
	}
	into := func(v json.RawMessage, dst any) {
		if v == nil {
			return
		}
		err := json.Unmarshal(v, dst)
		if bad, isType := errors.AsType[*json.UnmarshalTypeError](err); isType && strings.HasPrefix(bad.Value, "number ") && reflect.TypeOf(dst).Elem().Kind() == reflect.Interface {
			err = nil // a number that float64 cannot hold
		}
		ok = ok && err == nil
	}
	objectInto := func(v json.RawMessage, dst *any) {
		into(v, dst)
		if _, isObject := (*dst).(map[string]any); v != nil && !isObject {
			ok = false
		}
	}
	list := func(v json.RawMessage) []string {
		var pointers []*string
		into(v, &pointers)
		var texts []string
		if v != nil {
			texts = []string{}
		}
		for _, p := range pointers {
			if p == nil {
				ok = false
				return nil
			}
			texts = append(texts, *p)
		}
		return texts
	}

	into(first("token", "api_key", "$token"), &w.APIKey)
	if v := first("distinct_id", "$distinct_id"); v != nil {
		w.HasDistinctID = true
		if v[0] == '"' {
			into(v, &w.DistinctID)
		} else {
			var n json.Number
			into(v, &n)
			w.DistinctID = numberText(string(n))
		}
		if runes := []rune(w.DistinctID); len(w.DistinctID) > 200 && len(runes) > 200 {
			w.DistinctID = string(runes[:200])
		}
	}
	objectInto(first("groups", "$groups"), &w.Groups)
	objectInto(first("person_properties", "$properties"), &w.Person)
	objectInto(first("group_properties", "$group_properties"), &w.GroupProperties)
	if v := first("group_properties", "$group_properties"); v != nil {
		// Every member counts, also a member that a duplicate overrides.
		for _, kind := range memberKinds(v) {
			ok = ok && (kind == '{' || kind == 'n')
		}
	}
	into(first("$anon_distinct_id", "anon_distinct_id"), &w.AnonymousID)
	into(first("$device_id", "device_id"), &w.DeviceID)
	into(first("geoip_disable"), &w.GeoIPDisable)
	into(first("disable_flags"), &w.DisableFlags)
	w.Keys = list(first("flag_keys", "flag_keys_to_evaluate"))
	w.HasKeys = w.Keys != nil
	w.Tags = list(first("evaluation_contexts", "evaluation_environments"))
	if v := first("evaluation_runtime"); v != nil {
		var s string
		into(v, &s)
		w.HasRuntime = true
		switch {
		case len(s) == 6 && strings.EqualFold(s, "client"):
			w.Runtime = runtime.Client
		case len(s) == 6 && strings.EqualFold(s, "server"):
			w.Runtime = runtime.Server
		}
	}
	return w, ok
}

// memberKinds returns the first byte of each member's value.
func memberKinds(object json.RawMessage) (kinds []byte) {
	d := json.NewDecoder(strings.NewReader(string(object)))
	if tok, err := d.Token(); err != nil || tok != json.Delim('{') {
		return nil
	}
	for d.More() {
		if _, err := d.Token(); err != nil {
			return kinds
		}
		var v json.RawMessage
		if d.Decode(&v) != nil {
			return kinds
		}
		kinds = append(kinds, v[0])
	}
	return kinds
}

// numberText is str(x) of evaluation.md §4.1 for a number.
func numberText(n string) string {
	if !strings.ContainsAny(n, ".eE") && n != "-0" {
		if _, err := strconv.ParseInt(n, 10, 64); err == nil {
			return n
		}
		if _, err := strconv.ParseUint(n, 10, 64); err == nil {
			return n
		}
	}
	f, err := strconv.ParseFloat(n, 64)
	if err != nil {
		return n
	}
	if f == 0 {
		if math.Signbit(f) {
			return "-0.0"
		}
		return "0.0"
	}
	s := strconv.FormatFloat(f, 'e', -1, 64)
	mantissa, exponent, _ := strings.Cut(s, "e")
	e, _ := strconv.Atoi(exponent)
	if e >= -5 && e < 16 {
		s = strconv.FormatFloat(f, 'f', -1, 64)
		if !strings.Contains(s, ".") {
			s += ".0"
		}
		return s
	}
	return mantissa + "e" + strconv.Itoa(e)
}

func BenchmarkParse(b *testing.B) {
	in := []byte(body)
	b.Run("wire", func(b *testing.B) {
		var r wire.Request
		b.SetBytes(int64(len(in)))
		b.ReportAllocs()
		for b.Loop() {
			if err := r.Parse(in); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("floor=json.Valid", func(b *testing.B) {
		b.SetBytes(int64(len(in)))
		for b.Loop() {
			if !json.Valid(in) {
				b.Fatal("invalid")
			}
		}
	})
}
