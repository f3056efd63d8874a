package management_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/flags/wire"
	"github.com/flagstaff-go/flagstaff/internal/fulltest"
	"github.com/flagstaff-go/flagstaff/internal/reference"
	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/optional"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// manifest returns the manifest of Web as text by key: the type and the default.
func (w *world) manifest() map[string]string {
	w.t.Helper()
	m := must(w.Manifest(w.t.Context(), &management.DefinitionsAccess{Project: w.web}))(w.t)
	list := make(map[string]string)
	for i, f := range m.Flags {
		if i > 0 && m.Flags[i-1].Key >= f.Key {
			w.t.Errorf("%s comes after %s", f.Key, m.Flags[i-1].Key)
		}
		list[f.Key] = f.Type + " " + string(f.DefaultValue)
	}
	return list
}

const twoVariants = `"groups":[{}],"multivariate":{"variants":[{"key":"test","rollout_percentage":50},{"key":"control","rollout_percentage":50}]}`

const remote = `"is_remote_configuration":true,`

// wire.md §7.5: what a manifest says of each kind of flag.
func TestManifest(t *testing.T) {
	w := newWorld(t)
	want := make(map[string]string)
	for _, tt := range []struct{ key, more, filters, want string }{
		{"on", "", `"groups":[{}]`, "boolean false"},
		{"off", `"active":false,`, `"groups":[{}]`, "boolean false"},
		{"with-payload", "", `"groups":[{}],"payloads":{"true":[1]}`, "boolean false"},
		{"control", "", twoVariants, `string "control"`},
		{"first", "", `"groups":[{}],"multivariate":{"variants":[{"key":"b","rollout_percentage":50},{"key":"a","rollout_percentage":50}]}`, `string "b"`},
		{"text", remote, `"payloads":{"true":"\"Hello\""}`, `string "Hello"`},
		{"integer", remote, `"payloads":{"true":" -5 "}`, `integer -5`},
		{"largest-integer", remote, `"payloads":{"true":9007199254740992}`, `integer 9007199254740992`},
		{"larger", remote, `"payloads":{"true":9007199254740993}`, `float 9007199254740993`},
		{"float", remote, `"payloads":{"true":"1.0"}`, `float 1.0`},
		{"exponent", remote, `"payloads":{"true":"1e3"}`, `float 1e3`},
		{"too-large", remote, `"payloads":{"true":"1e400"}`, ""},
		{"true", remote, `"payloads":{"true":true}`, `boolean true`},
		{"object", remote, `"payloads":{"true":{"a":[1]}}`, `object {"a":[1]}`},
		{"list", remote, `"payloads":{"true":[1]}`, ""},
		{"null", remote, `"payloads":{"true":"null"}`, ""},
		{"none", remote, ``, ""},
		{"variants", remote, twoVariants + `,"payloads":{"test":1,"control":2}`, `integer 2`},
		{"numbers", remote, twoVariants + `,"payloads":{"test":1.5,"control":2}`, `float 2`},
		{"control-is-null", remote, twoVariants + `,"payloads":{"test":3,"control":"null"}`, `integer 3`},
		{"control-has-none", remote, twoVariants + `,"payloads":{"test":"\"a\""}`, `string "a"`},
		{"several-types", remote, twoVariants + `,"payloads":{"test":1,"control":"\"a\""}`, ""},
		{"line-break", remote, `"payloads":{"true":"\"a\\nb\""}`, ""},
		{"comment", remote, `"payloads":{"true":{"a":["*/ evil()"]}}`, ""},
		{"escape", remote, `"payloads":{"true":"\"\\\\u002a/\""}`, ""},
		{"direction", remote, `"payloads":{"true":"\"a\\u202eb\""}`, ""},
		{"tab", remote, `"payloads":{"true":"\"a\\tb\""}`, ""},
		{"backslash", remote, `"payloads":{"true":"\"a\\\\b\""}`, `string "a\\b"`},
		{"comment-in-name", remote, `"payloads":{"true":{"*/":1}}`, ""},
		{"encrypted", `"has_encrypted_payloads":true,` + remote, `"payloads":{"true":"\"secret\""}`, ""},
		{"archived", `"active":false,"archived":true,`, `"groups":[{}]`, ""},
	} {
		w.flag(w.web, `{"key":"`+tt.key+`",`+tt.more+`"filters":{`+tt.filters+`}}`)
		if tt.want != "" {
			want[tt.key] = tt.want
		}
	}
	must(w.changeFlag(w.flag(w.web, `{"key":"deleted","filters":{"groups":[{}]}}`), `{"deleted":true}`))(t)
	w.flag(w.shop, `{"key":"elsewhere","filters":{"groups":[{}]}}`)
	survey := storage.NewFlag(w.web.ID, w.clock.Now())
	survey.Key, survey.Kind, survey.Filters = "survey-targeting-1", storage.FlagSurveyTargeting, filtersOf(`{"groups":[{}]}`)
	w.ok(w.store.Flags().Create(t.Context(), survey))
	if diff := cmp.Diff(want, w.manifest(), same); diff != "" {
		t.Errorf("manifest (-want +got):\n%s", diff)
	}
}

// What a document of a host application can have, and the API refuses.
func TestManifestOfDocument(t *testing.T) {
	document, err := flags.Decode(strings.NewReader(`{"flags":[
		{"id":1,"key":"plain-text","active":true,"is_remote_configuration":true,"filters":{"groups":[{}],"payloads":{"true":"it's text"}}},
		{"id":2,"key":"broken","active":true,"filters":{"groups":7}},
		{"id":4,"key":"a\"b","active":true,"filters":{"groups":[]}},
		{"id":5,"key":"a\nb","active":true,"filters":{"groups":[]}},
		{"id":6,"key":"variant","active":true,"filters":{"groups":[],"multivariate":{"variants":[{"key":"a*/b","rollout_percentage":100}]}}},
		{"id":3,"key":"encrypted","active":true,"is_remote_configuration":true,"has_encrypted_payloads":true,"filters":{"groups":[{}],"payloads":{"true":"\"secret\""}}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t)
	w.ok(w.ImportFile(t.Context(), w.web.ID, "flags.json", document))
	if diff := cmp.Diff(map[string]string{"plain-text": `string "it's text"`}, w.manifest(), same); diff != "" {
		t.Errorf("manifest (-want +got):\n%s", diff)
	}
	m := must(w.Manifest(t.Context(), &management.DefinitionsAccess{Project: must(w.store.Projects().Get(t.Context(), storage.ProjectID.Is(w.web.ID)))(t), Principal: w.key(w.ada)}))(t)
	if m.Writable {
		t.Error("the flags of a document can be changed")
	}
	_, err = w.CreateManifestFlag(t.Context(), w.as(w.ada), ref(w.web), decode[management.ManifestPatch](t, `{"key":"a","type":"boolean","defaultValue":false}`))
	checkFault(t, "CreateManifestFlag", err, "conflict conflict")
}

func TestManifestWritable(t *testing.T) {
	w := newWorld(t)
	for _, tt := range []struct {
		p    *management.Principal
		want bool
	}{
		{nil, false},
		{w.key(w.ada, scopes("feature_flag:read")), false},
		{w.key(w.ada, scopes("feature_flag:write")), true},
		{w.key(w.ada), true},
	} {
		m := must(w.Manifest(t.Context(), &management.DefinitionsAccess{Project: w.web, Principal: tt.p}))(t)
		if m.Writable != tt.want {
			t.Errorf("writable by %+v: %t, want %t", tt.p, m.Writable, tt.want)
		}
	}
}

// A flag that a manifest makes is off, says in the manifest what it was made of, and has
// the value for everybody as soon as it is on.
func TestCreateManifestFlag(t *testing.T) {
	for _, tt := range []struct{ body, shown, name, remote, value string }{
		{`"type":"boolean","defaultValue":false`, "boolean false", "", "false", "true"},
		{`"type":"boolean","defaultValue":true,"description":"Kill switch"`, "boolean true", "Kill switch", "true", "payload true"},
		{`"type":"string","defaultValue":"control","name":"flag","description":"Button"`, `string "control"`, "Button", "false", "variant control"},
		{`"type":"string","defaultValue":"Hello you","description":null,"name":"Greeting"`, `string "Hello you"`, "Greeting", "true", `payload "Hello you"`},
		{`"type":"string","defaultValue":""`, `string ""`, "", "true", `payload ""`},
		{`"type":"string","defaultValue":"` + strings.Repeat("x", 401) + `"`, `string "` + strings.Repeat("x", 401) + `"`, "", "true", `payload "` + strings.Repeat("x", 401) + `"`},
		{`"type":"integer","defaultValue":3`, `integer 3`, "", "true", "payload 3"},
		{`"type":"float","defaultValue":0.5`, `float 0.5`, "", "true", "payload 0.5"},
		{`"type":"float","defaultValue":2`, `float 2.0`, "", "true", "payload 2.0"},
		{`"type":"object","defaultValue":{"a": {"b":null}}`, `object {"a": {"b":null}}`, "", "true", `payload {"a": {"b":null}}`},
	} {
		w := newWorld(t)
		made := must(w.CreateManifestFlag(t.Context(), w.as(w.ada), ref(w.web), decode[management.ManifestPatch](t, `{"key":"flag",`+tt.body+`}`)))(t)
		if got := made.Flag.Type + " " + string(made.Flag.DefaultValue); got != tt.shown || w.manifest()["flag"] != tt.shown || made.Flag.Description != tt.name {
			t.Errorf("%s: %s %q, in the manifest %s, want %s %q", tt.body, got, made.Flag.Description, w.manifest()["flag"], tt.shown, tt.name)
		}
		v := w.seeFlag("flag")
		if v.Active || v.Name != tt.name || v.RemoteConfig != (tt.remote == "true") || !made.UpdatedAt.Equal(v.UpdatedAt) {
			t.Errorf("%s: made %+v", tt.body, v)
		}
		if got := w.valueOf("flag"); got != "off" {
			t.Errorf("%s: while it is off, the flag is %s", tt.body, got)
		}
		must(w.UpdateFlag(t.Context(), w.as(w.ada), ref(w.web), "flag", management.FlagPatch{Active: optional.Of(true)}))(t)
		if got := w.valueOf("flag"); got != tt.value {
			t.Errorf("%s: when it is on, the flag is %s, want %s", tt.body, got, tt.value)
		}
	}
}

// valueOf returns what a flag of Web is for somebody.
func (w *world) valueOf(key string) string {
	w.t.Helper()
	snapshot, err := flags.Compile(must(w.definitions())(w.t), flags.CompileOptions{})
	w.ok(err)
	r, err := snapshot.Flag(key, &flags.Request{DistinctID: "u1"})
	w.ok(err)
	switch {
	case !r.Enabled:
		return "off"
	case r.RemoteConfiguration():
		return "payload " + r.Metadata.Payload
	case r.Variant != "":
		return "variant " + r.Variant
	}
	return "true"
}

func TestManifestPatchRefuses(t *testing.T) {
	long := strings.Repeat("x", 10_001)
	for _, tt := range []struct{ body, want string }{
		{`{"type":"boolean","defaultValue":false}`, "invalid required key"},
		{`{"key":"new","defaultValue":false}`, "invalid required type"},
		{`{"key":"new","type":"boolean"}`, "invalid required defaultValue"},
		{`{"key":"a b","type":"boolean","defaultValue":false}`, "invalid invalid_key key"},
		{`{"key":"","type":"boolean","defaultValue":false}`, "invalid blank key"},
		{`{"key":null,"type":"boolean","defaultValue":false}`, "invalid null key"},
		{`{"key":"new","type":"number","defaultValue":1}`, "invalid invalid_choice type"},
		{`{"key":"new","type":null,"defaultValue":1}`, "invalid invalid_choice type"},
		{`{"key":"new","type":{},"defaultValue":1}`, "invalid invalid_choice type"},
		{`{"key":"new","type":"boolean","defaultValue":"false"}`, "invalid invalid_type defaultValue"},
		{`{"key":"new","type":"boolean","defaultValue":null}`, "invalid invalid_type defaultValue"},
		{`{"key":"new","type":"string","defaultValue":1}`, "invalid invalid_type defaultValue"},
		{`{"key":"new","type":"integer","defaultValue":1.5}`, "invalid invalid_type defaultValue"},
		{`{"key":"new","type":"float","defaultValue":1e999}`, "invalid invalid_type defaultValue"},
		{`{"key":"new","type":"object","defaultValue":[1]}`, "invalid invalid_type defaultValue"},
		{`{"key":"new","type":"string","defaultValue":"a\nb"}`, "invalid invalid_input defaultValue"},
		{`{"key":"new","type":"boolean","defaultValue":false,"description":"` + long + `"}`, "invalid max_length description"},
		{`{"key":"new","type":"boolean","defaultValue":false,"description":{}}`, "invalid invalid_input description"},
		{`{"key":"new","type":"boolean","defaultValue":false,"name":"a","description":"b"}`, "invalid invalid_input name"},
		{`{"key":"taken","type":"boolean","defaultValue":false}`, "conflict conflict key"},
		{`{"key":"archived","type":"boolean","defaultValue":false}`, "conflict conflict key"},
	} {
		w := newWorld(t)
		w.flag(w.web, `{"key":"taken","filters":{"groups":[{}]}}`)
		w.flag(w.web, `{"key":"archived","active":false,"archived":true,"filters":{"groups":[{}]}}`)
		before := w.state()
		_, err := w.CreateManifestFlag(t.Context(), w.as(w.ada), ref(w.web), decode[management.ManifestPatch](t, tt.body))
		checkFault(t, tt.body[:min(len(tt.body), 100)], err, tt.want)
		w.checkUnchanged(tt.want, before)
	}
}

// A change of a manifest changes the description, and the default of a flag that nobody
// gets.
func TestUpdateManifestFlag(t *testing.T) {
	const one = `"filters":{"groups":[{}],"multivariate":{"variants":[{"key":"a","rollout_percentage":100}]}`
	for _, tt := range []struct{ name, flag, body, want, shown string }{
		{"description", `"filters":{"groups":[{}]}`, `"type":"boolean","description":"b"`, "", "boolean false b"},
		{"no description", `"name":"a","filters":{"groups":[{}]}`, `"type":"boolean","defaultValue":false`, "", "boolean false "},
		{"the same description", `"name":"a\n  b */","filters":{"groups":[{}]}`, `"type":"boolean","description":"a b * /"`, "", "boolean false a b * /"},
		{"description for a comment", `"filters":{"groups":[{}]}`, `"type":"boolean","description":" a\u2028b\u0007 \\u002a/ \"\"\" \u202ec "`, "", "boolean false a b /u002a/ ''' c"},
		{"default true", `"active":false,"filters":{"groups":[{}]}`, `"type":"boolean","defaultValue":true`, "conflict conflict defaultValue", ""},
		{"another type", `"active":false,"filters":{"groups":[{}]}`, `"type":"string","defaultValue":"a"`, "conflict conflict type", ""},
		{"another key", `"filters":{"groups":[{}]}`, `"key":"other","type":"boolean"`, "invalid invalid_input key", ""},
		{"variant of a flag that is off", `"active":false,` + one + `}`, `"type":"string","defaultValue":"b","description":"x"`, "", `string "b" x`},
		{"no variant", `"active":false,` + one + `}`, `"type":"string","defaultValue":"two words"`, "invalid invalid_input defaultValue", ""},
		{"variant of a flag that is on", one + `}`, `"type":"string","defaultValue":"b"`, "conflict conflict defaultValue", ""},
		{"variant with payload", `"active":false,` + one + `,"payloads":{"a":1}}`, `"type":"string","defaultValue":"b"`, "conflict conflict defaultValue", ""},
		{"variants", `"active":false,"filters":{` + twoVariants + `}`, `"type":"string","defaultValue":"test"`, "conflict conflict defaultValue", ""},
		{"the same default", `"filters":{` + twoVariants + `}`, `"type":"string","defaultValue":"control","description":"x"`, "", `string "control" x`},
		{"payload of a flag that is off", `"active":false,"is_remote_configuration":true,"filters":{"payloads":{"true":"2.0"}}`, `"type":"float","defaultValue":3`, "", "float 3.0 "},
		{"payload of a flag that is on", `"is_remote_configuration":true,"filters":{"payloads":{"true":1}}`, `"type":"integer","defaultValue":2`, "conflict conflict defaultValue", ""},
		{"the same payload", `"is_remote_configuration":true,"filters":{"payloads":{"true":"2.0"}}`, `"type":"float","defaultValue":2`, "", "float 2.0 "},
		{"payloads of variants", `"active":false,"is_remote_configuration":true,"filters":{` + twoVariants + `,"payloads":{"test":1,"control":2}}`, `"type":"integer","defaultValue":3`, "conflict conflict defaultValue", ""},
		{"encrypted", `"active":false,"is_remote_configuration":true,"has_encrypted_payloads":true,"filters":{"payloads":{"true":1}}`, `"type":"integer","defaultValue":3`, "conflict conflict", ""},
		{"archived", `"active":false,"archived":true,"filters":{"groups":[{}]}`, `"type":"boolean","description":"b"`, "conflict conflict", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			w.flag(w.web, `{"key":"flag",`+tt.flag+`}`)
			body := `{"key":"flag",` + tt.body + `}`
			if strings.Contains(tt.body, `"key"`) {
				body = "{" + tt.body + "}"
			}
			before := w.state()
			changed, err := w.UpdateManifestFlag(t.Context(), w.as(w.ada), ref(w.web), "flag", decode[management.ManifestPatch](t, body))
			checkFault(t, body, err, tt.want)
			if tt.want != "" {
				w.checkUnchanged(body, before)
				return
			}
			if got := changed.Flag.Type + " " + string(changed.Flag.DefaultValue) + " " + changed.Flag.Description; got != tt.shown {
				t.Errorf("%s: %s, want %s", body, got, tt.shown)
			}
			if name := w.seeFlag("flag").Name; tt.name == "the same description" && name != "a\n  b */" {
				t.Errorf("the name is %q now", name)
			}
			was := w.state()
			must(w.UpdateManifestFlag(t.Context(), w.as(w.ada), ref(w.web), "flag", decode[management.ManifestPatch](t, body)))(t)
			w.checkUnchanged("the same again", was)
		})
	}
}

func TestManifestFlagByKey(t *testing.T) {
	w := newWorld(t)
	id := w.flag(w.web, `{"key":"flag","filters":{"groups":[{}]}}`)
	same := management.ManifestPatch{Key: optional.Of(id), Type: optional.Of("boolean"), DefaultValue: optional.Of(json.RawMessage("false"))}
	_, err := w.UpdateManifestFlag(t.Context(), w.as(w.ada), ref(w.web), id, same) // an ID is not a key here
	checkFault(t, "UpdateManifestFlag", err, "not found not_found")
	_, err = w.DeleteManifestFlag(t.Context(), w.as(w.ada), ref(w.web), id)
	checkFault(t, "DeleteManifestFlag", err, "not found not_found")
	must(w.DeleteManifestFlag(t.Context(), w.as(w.ada), ref(w.web), "flag"))(t)
	if v := w.seeFlag(id); !v.Deleted {
		t.Errorf("the flag is %+v, want it deleted", v)
	}
	w.flag(w.web, `{"key":"base","filters":{"groups":[{}]}}`)
	w.flag(w.web, `{"key":"user","filters":`+dependsOn("base")+`}`)
	_, err = w.DeleteManifestFlag(t.Context(), w.as(w.ada), ref(w.web), "base")
	checkFault(t, "DeleteManifestFlag of a flag that another one needs", err, "invalid invalid_input")
}

// What the manifest says of a flag fits what OpenFeature's remote evaluation protocol
// answers for it, whatever definitions there are.
func TestManifestFitsEvaluation(t *testing.T) {
	w := newWorld(t)
	seen := make(map[string]int) // values by type
	for seed := range fulltest.Count(100, 500) {
		d, err := flags.Decode(bytes.NewReader(reference.NewGenerator(uint64(seed)).Document()))
		w.ok(err)
		for i := range d.Flags {
			d.Flags[i].IsRemoteConfiguration = (i+seed)%2 == 0
		}
		s, err := flags.Compile(d, flags.CompileOptions{})
		w.ok(err)
		w.ok(w.ImportFile(t.Context(), w.web.ID, "flags.json", d))
		types := make(map[string]string)
		for _, f := range must(w.Manifest(t.Context(), &management.DefinitionsAccess{Project: w.web}))(t).Flags {
			if types[f.Key] != "" {
				t.Errorf("seed %d: %q is there twice", seed, f.Key)
			}
			if got := typeOf(t, f.DefaultValue); !fits(got, f.Type) {
				t.Errorf("seed %d: the default of %q is %s, and the type is %s", seed, f.Key, f.DefaultValue, f.Type)
			}
			types[f.Key] = f.Type
		}
		for i := range 20 {
			for _, f := range d.Flags {
				r, err := s.Flag(f.Key, &flags.Request{DistinctID: fmt.Sprint("user-", i)})
				// Variants whose shares do not make 100 %, which the API refuses, are on without
				// a variant for some.
				if err != nil || r.Reason.Code == flags.ReasonHoldout || r.Enabled && r.Multivariate() && r.Variant == "" {
					continue
				}
				text, status := wire.AppendEvaluation(nil, &r, wire.Envelope{})
				var answer struct{ Value json.RawMessage }
				w.ok(json.Unmarshal(text, &answer))
				want := types[f.Key]
				switch {
				case want == "" || status == 500 || answer.Value == nil && status == 200:
				case status != 200:
					t.Errorf("seed %d: %q is a %s, and evaluation says %s", seed, f.Key, want, text)
				case !fits(typeOf(t, answer.Value), want):
					t.Errorf("seed %d: %q is a %s, and has the value %s", seed, f.Key, want, answer.Value)
				default:
					seen[want]++
				}
			}
		}
	}
	for _, kind := range []string{"boolean", "string", "integer", "float", "object"} {
		if seen[kind] < 5 {
			t.Errorf("values of each type: %v; too few of type %s", seen, kind)
		}
	}
}

// typeOf returns the type of a value in JSON.
func typeOf(t *testing.T, value json.RawMessage) string {
	t.Helper()
	var v any
	if err := json.Unmarshal(value, &v); err != nil {
		t.Fatalf("%s: %v", value, err)
	}
	switch v := v.(type) {
	case bool:
		return "boolean"
	case string:
		return "string"
	case float64:
		if v != math.Trunc(v) || bytes.ContainsAny(value, ".eE") {
			return "float"
		}
		return "integer"
	case map[string]any:
		return "object"
	}
	return fmt.Sprintf("%T", v)
}

// fits reports whether a value of a type may be the value of a flag of another type.
func fits(value, kind string) bool { return value == kind || value == "integer" && kind == "float" }
