package flagstaff_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/flagstaff-go/flagstaff"
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
	flagstaff.KeepHandles(t)
	d, err := flags.Decode(strings.NewReader(typedDocument))
	if err != nil {
		t.Fatal(err)
	}
	client, err := flagstaff.Open(t.Context(), flagstaff.Config{Source: source.Static{Definitions: d}, Log: quiet})
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
		handles := row{flagstaff.NewValue(key, "none").In(s, request), flagstaff.NewValue(key, int64(-1)).In(s, request), flagstaff.NewValue(key, -1.0).In(s, request), want.json, want.on}
		if handles != want {
			t.Errorf("handles of %s: %+v, want %+v", key, handles, want)
		}
	}
	p := client.For(request)
	if n := testing.AllocsPerRun(100, func() { p.Float("part", 0); p.String("text", ""); p.Int("whole", 0) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
