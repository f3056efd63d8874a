package wire_test

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/flagstaff-go/flagstaff/flags/wire"
)

const evaluationContext = `{"context":{"targetingKey":"user-1","plan":"pro","age":42,"groups":{"company":"acme"},` +
	`"groupProperties":{"company":{"tier":"enterprise"}},"$device_id":"d-1","evaluation_contexts":["checkout","web"],"$geoip_disable":true,` +
	`"address":{"city":"Graz"}}}`

// TestParseContext is the mapping of wire.md §7.2.
func TestParseContext(t *testing.T) {
	for _, tt := range []struct {
		name, body string
		want       fields
	}{
		{"everything", evaluationContext, fields{
			DistinctID: "user-1", HasDistinctID: true, DeviceID: "d-1", Groups: object{"company": "acme"},
			Person:          object{"plan": "pro", "age": 42.0, "address": object{"city": "Graz"}},
			GroupProperties: object{"company": object{"tier": "enterprise"}}, Tags: []string{"checkout", "web"}, GeoIPDisable: true,
		}},
		{"nothing", `{}`, fields{}},
		{"context that is null", `{"context":null}`, fields{}},
		{"empty context", `{"context":{}}`, fields{Person: object{}}},
		{"empty targeting key", `{"context":{"targetingKey":""}}`, fields{Person: object{}}},
		{"targeting key that is a number", `{"context":{"targetingKey":12.0}}`, fields{DistinctID: "12.0", HasDistinctID: true, Person: object{}}},
		{"members that are null", `{"context":{"targetingKey":null,"groups":null,"x":null}}`, fields{Person: object{"x": nil}}},
		{"the last of two", `{"context":{"targetingKey":"a"},"context":{"targetingKey":"b","targetingKey":"c","p":1,"p":2}}`, fields{
			DistinctID: "c", HasDistinctID: true, Person: object{"p": 2.0},
		}},
		{"escapes in names", `{"conte\u0078t":{"target\u0069ngKey":"\u00e9","a\"b\n":"\"","\u0067roups":{"x":"y"}}}`, fields{
			DistinctID: "é", HasDistinctID: true, Groups: object{"x": "y"}, Person: object{"a\"b\n": `"`},
		}},
		{"names of POST /flags are properties", `{"token":"a","context":{"distinct_id":"a","person_properties":{},"group_properties":1,"api_key":"x"}}`, fields{
			Person: object{"distinct_id": "a", "person_properties": object{}, "group_properties": 1.0, "api_key": "x"},
		}},
	} {
		var r wire.Request
		if err := r.ParseContext([]byte(tt.body)); err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if diff := cmp.Diff(tt.want, fieldsOf(t, &r), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-want +got)\n%s", tt.name, diff)
		}
	}
	for body, field := range map[string]string{ // "-": ErrSyntax
		``: "-", `{`: "-", `{"context":{"a":NaN}}`: "-", `{} {}`: "-",
		`[]`: "", `null`: "", `"a"`: "",
		`{"context":1}`:                                 "context",
		`{"context":{"targetingKey":[]}}`:               "targetingKey",
		`{"context":{"groups":[]}}`:                     "groups",
		`{"context":{"groupProperties":{"company":1}}}`: "groupProperties",
		`{"context":{"$device_id":1}}`:                  "$device_id",
		`{"context":{"evaluation_contexts":[1]}}`:       "evaluation_contexts",
		`{"context":{"$geoip_disable":"yes"}}`:          "$geoip_disable",
	} {
		var r wire.Request
		err := r.ParseContext([]byte(body))
		e, isField := errors.AsType[*wire.FieldError](err)
		if field == "-" && !errors.Is(err, wire.ErrSyntax) || field != "-" && (!isField || e.Field != field) {
			t.Errorf("ParseContext(%s) = %v, want field %q", body, err, field)
		}
	}
}

func TestParseContextAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	var r wire.Request
	b := []byte(evaluationContext)
	if n := testing.AllocsPerRun(100, func() {
		if err := r.ParseContext(b); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("ParseContext allocates %v times, want 0", n)
	}
}

// FuzzParseContext compares ParseContext with Parse of the body of POST /flags that
// encoding/json makes of the context.
func FuzzParseContext(f *testing.F) {
	f.Add([]byte(evaluationContext))
	f.Add([]byte(`{"context":{"targetingKey":1e3,"groups":{"a":1,"a":"b"},"groupProperties":{"a":null}}}`))
	f.Add([]byte(`{"context":{"a":1},"context":null}`))
	f.Add([]byte(`{"context":{"target\u0069ngKey":"\ud834","a":[{"b":1e400}],"":{}}}`))
	f.Add([]byte(`[1]`))
	var r, want wire.Request
	f.Fuzz(func(t *testing.T, b []byte) {
		if nesting(b) > 900 {
			t.Skip("encoding/json allows deeper nesting")
		}
		before := slices.Clone(b)
		err := r.ParseContext(b)
		if !slices.Equal(b, before) {
			t.Fatalf("ParseContext changed the body %q", before)
		}
		flagsBody, ok := flagsBodyOf(t, b)
		var wantErr error
		if ok {
			wantErr = want.Parse(flagsBody)
		}
		if (err == nil) != (ok && wantErr == nil) {
			t.Fatalf("ParseContext(%q) = %v, reference %v, %v", b, err, ok, wantErr)
		}
		if err != nil {
			if _, isField := errors.AsType[*wire.FieldError](err); !isField && !errors.Is(err, wire.ErrSyntax) {
				t.Fatalf("ParseContext(%q) = %v of type %T", b, err, err)
			}
			return
		}
		want.HasDistinctID = want.DistinctID != ""
		if diff := cmp.Diff(fieldsOf(t, &want), fieldsOf(t, &r), cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("ParseContext(%q) (-reference +got):\n%s", b, diff)
		}
	})
}

// flagsBodyOf returns the body of POST /flags that says what a context says. It is
// not ok if the body has none.
func flagsBodyOf(t *testing.T, b []byte) ([]byte, bool) {
	t.Helper()
	var outer, context map[string]json.RawMessage
	if json.Unmarshal(b, &outer) != nil || outer == nil {
		return nil, false
	}
	body := make(map[string]any)
	if c := outer["context"]; c != nil && string(c) != "null" {
		if json.Unmarshal(c, &context) != nil {
			return nil, false
		}
		person := make(map[string]json.RawMessage)
		names := map[string]string{
			"targetingKey": "distinct_id", "groups": "groups", "groupProperties": "group_properties",
			"$device_id": "$device_id", "evaluation_contexts": "evaluation_contexts", "$geoip_disable": "geoip_disable",
		}
		for name, v := range context {
			if own, ok := names[name]; ok {
				body[own] = v
			} else {
				person[name] = v
			}
		}
		body["person_properties"] = person
	}
	out, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	return out, true
}
