package flagstaff

import (
	"encoding/json"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/flags/source"
)

// typedDocument has a flag of each type, one whose default is the caller's, and older ones.
const typedDocument = `{"flags": [
	{"id": 1, "key": "text", "active": true, "filters": {"version": 2, "return_type": "string", "rules": [{"rule_type": "targeted_release", "value": "blue"}]}},
	{"id": 2, "key": "whole", "active": true, "filters": {"version": 2, "return_type": "number", "rules": [{"rule_type": "targeted_release", "value": 7}]}},
	{"id": 3, "key": "part", "active": true, "filters": {"version": 2, "return_type": "number", "rules": [{"rule_type": "targeted_release", "value": 0.5}]}},
	{"id": 4, "key": "object", "active": true, "filters": {"version": 2, "return_type": "object", "rules": [{"rule_type": "targeted_release", "value": {"a": [1]}}]}},
	{"id": 5, "key": "no", "active": true, "filters": {"version": 2, "return_type": "boolean", "default_value": false, "rules": []}},
	{"id": 6, "key": "nothing", "active": true, "filters": {"version": 2, "return_type": "string", "rules": []}},
	{"id": 7, "key": "zero", "active": true, "filters": {"version": 2, "return_type": "number", "default_value": 0, "rules": []}},
	{"id": 8, "key": "variant", "active": true, "filters": {"groups": [{"variant": "9"}], "multivariate": {"variants": [{"key": "9", "rollout_percentage": 100}]}, "payloads": {"9": "[2]"}}},
	{"id": 9, "key": "off", "active": true, "filters": {"groups": []}}
]}`

func TestTyped(t *testing.T) {
	keepHandles(t)
	d, err := flags.Decode(strings.NewReader(typedDocument))
	if err != nil {
		t.Fatal(err)
	}
	client, err := Open(t.Context(), Config{Source: source.Static{Definitions: d}, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close(t.Context())
	type row struct {
		text  string
		whole int64
		part  float64
		json  string
		on    bool
	}
	request := &flags.Request{DistinctID: "ada"}
	for key, want := range map[string]row{
		"text":    {"blue", -1, -1, `"blue"`, true},
		"whole":   {"none", 7, 7, `7`, true},
		"part":    {"none", -1, 0.5, `0.5`, true},
		"object":  {"none", -1, -1, `{"a":[1]}`, true},
		"no":      {"none", -1, -1, `false`, false},
		"nothing": {"none", -1, -1, `null`, false},
		"zero":    {"none", 0, 0, `0`, true},
		"variant": {"9", 9, 9, `[2]`, true},
		"off":     {"none", -1, -1, `null`, false},
		"unknown": {"none", -1, -1, `null`, false},
	} {
		p := client.For(request)
		got := row{p.String(key, "none"), p.Int(key, -1), p.Float(key, -1), string(p.JSON(key, json.RawMessage("null"))), p.Bool(key, false)}
		if got != want {
			t.Errorf("%s: %+v, want %+v", key, got, want)
		}
		s := client.Snapshot()
		handles := row{NewValue(key, "none").In(s, request), NewValue(key, int64(-1)).In(s, request), NewValue(key, -1.0).In(s, request), want.json, want.on}
		if handles != want {
			t.Errorf("handles of %s: %+v, want %+v", key, handles, want)
		}
	}
	p := client.For(request)
	if n := testing.AllocsPerRun(100, func() { p.Float("part", 0); p.String("text", ""); p.Int("whole", 0) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestTypedHandles: handles have the values of rule sets of their type, and otherwise the
// fallback; Check says what differs (rules.md §2.1 and §2.2).
func TestTypedHandles(t *testing.T) {
	keepHandles(t)
	type size struct{ A []int }
	document := strings.Replace(typedDocument, `"flags": [`, `"flags": [
		{"id": 10, "key": "on", "active": true, "filters": {"version": 2, "return_type": "boolean", "rules": [{"rule_type": "targeted_release", "value": true}]}},
		{"id": 11, "key": "callers", "active": true, "filters": {"version": 2, "return_type": "boolean", "rules": []}},
		{"id": 12, "key": "inactive", "filters": {"version": 2, "return_type": "boolean", "default_value": true, "rules": []}},
		{"id": 13, "key": "broken", "active": true, "filters": {"version": 2, "return_type": "boolean", "rules": [{"rule_type": "targeted_release", "value": 1}]}},`, 1)
	d, err := flags.Decode(strings.NewReader(document))
	if err != nil {
		t.Fatal(err)
	}
	client, err := Open(t.Context(), Config{Source: source.Static{Definitions: d}, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close(t.Context())
	r := &flags.Request{DistinctID: "ada"}
	s := client.Snapshot()
	for key, want := range map[string]bool{"on": true, "no": false, "callers": true, "inactive": true, "broken": true, "text": true, "whole": true} {
		f := NewBool(key, true)
		if of, in, asked := f.Of(client.For(r)), f.In(s, r), client.For(r).Bool(key, true); of != want || in != want || asked != want {
			t.Errorf("%s: %v of a Person, %v in a snapshot, %v when asked for by Bool, want %v", key, of, in, asked, want)
		}
	}
	for _, key := range []string{"text", "whole", "callers"} { // no booleans
		if f := NewBool(key, false); f.Of(client.For(r)) || f.In(s, r) {
			t.Errorf("%s is true for a handle of NewBool", key)
		}
	}
	object := NewPayload("object", size{})
	if of, in := object.Of(client.For(r)), object.In(s, r); len(of.A) != 1 || len(in.A) != 1 {
		t.Errorf("object: %v of a Person, %v in a snapshot", of, in)
	}
	if got := NewVariant("text", "red", "blue").Of(client.For(r)); got != "blue" {
		t.Errorf("text: %q", got)
	}
	NewBool("text", false)
	NewVariant("text", "red")
	NewVariant("whole", "red")
	NewPayload("text", size{})
	NewPayload("object", []int{})
	NewValue("text", int64(0))
	NewValue("whole", "")
	NewValue("part", int64(0))
	NewValue("part", 0.0)
	NewValue("object", "")
	NewBool("broken", false)
	said := client.Check()
	if said == nil {
		t.Fatal("Check has nothing to say")
	}
	for _, want := range []string{
		`flagstaff: flag "text" has the return_type string, and is declared by NewBool`,
		`flagstaff: flag "text" has the variant "blue", which is not declared`,
		`flagstaff: flag "whole" has the return_type number, and is declared by NewVariant`,
		`flagstaff: flag "text" has the return_type string, and is declared by NewPayload`,
		`flagstaff: flag "object": the value {"a":[1]} is not of type []int`,
		`flagstaff: flag "text" has the return_type string, and is declared by NewValue[int64]`,
		`flagstaff: flag "whole" has the return_type number, and is declared by NewValue[string]`,
		`flagstaff: flag "part": the value 0.5 is not of type int64`,
		`flagstaff: flag "object" has the return_type object, and is declared by NewValue[string]`,
		`flagstaff: flag "broken" at /filters/rules/0/value: want true or false, the type of the flag`,
	} {
		if !slices.Contains(strings.Split(said.Error(), "\n"), want) {
			t.Errorf("Check does not say %s:\n%v", want, said)
		}
	}
	if strings.Contains(said.Error(), `"part" has`) {
		t.Errorf("Check has something to say of a float:\n%v", said)
	}
}
