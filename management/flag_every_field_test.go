package management_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/flags/wire"
	"github.com/flagstaff-go/flagstaff/management"
)

// otherValues are values of the fields of a flag that the flag of TestEveryField does not
// have. A new field gets one here, and the test says where it is forgotten.
var otherValues = map[string]any{
	"ID": int64(8), "Key": "other", "Name": "Other", "Active": false, "Deleted": true, "Version": 5,
	"Filters":                    flags.Filters{Groups: []flags.Condition{{Properties: []flags.Filter{}, RolloutPercentage: new(50.0)}}},
	"EnsureExperienceContinuity": true, "BucketingIdentifier": "device_id", "BucketingHash": "xxhash64", "EvaluationRuntime": "server",
	"EvaluationContexts": []string{"docs"}, "EvaluationContextsMatchMode": "all", "IsRemoteConfiguration": true, "HasEncryptedPayloads": true,
	"HasExperiment": new(true),
}

// notThere says where a field has no effect, with the reason.
var notThere = map[string]string{
	"digest Name":                  "it is only shown",
	"export ID":                    "the project gives the ID",
	"export Version":               "a document says what a flag is, and not what it was",
	"export Deleted":               "a deleted flag is not exported",
	"export HasEncryptedPayloads":  "no document has secret payloads",
	"import ID":                    "the project gives the ID",
	"import Deleted":               "a deleted flag is not imported",
	"import HasEncryptedPayloads":  "no document has secret payloads",
	"file project Deleted":         "a deleted flag is not there",
	"version ID":                   "it is of one flag",
	"version Version":              "it is the next one",
	"version Deleted":              "a deleted flag is in no definitions",
	"version HasEncryptedPayloads": "payloads that were secret do not come back readable",
	"version HasExperiment":        "only a document changes it",
}

// TestEveryField: no field of a flag is forgotten where flags are hashed, sent, exported,
// imported, served from a file, or made again as they were.
func TestEveryField(t *testing.T) {
	base := flags.Flag{
		ID: 1, Key: "k", Name: "K", Active: true, Version: 1, Filters: flags.Filters{Groups: []flags.Condition{{Properties: []flags.Filter{}}}},
		HasExperiment: new(false), BucketingHash: "sha1",
	}
	for field := range reflect.TypeFor[flags.Flag]().Fields() {
		if !field.IsExported() {
			continue
		}
		t.Run(field.Name, func(t *testing.T) {
			value, ok := otherValues[field.Name]
			if !ok {
				t.Fatal("give the field another value in otherValues")
			}
			changed := base
			reflect.ValueOf(&changed).Elem().FieldByIndex(field.Index).Set(reflect.ValueOf(value))
			if reflect.DeepEqual(base, changed) {
				t.Fatal("the other value is the one of the flag")
			}
			differs := func(where string, is bool) {
				t.Helper()
				if _, not := notThere[where+" "+field.Name]; !is && !not {
					t.Errorf("%s: another value changes nothing", where)
				} else if is && not {
					t.Errorf("%s: another value changes something, which notThere denies", where)
				}
			}
			document := func(f flags.Flag) []byte {
				return []byte(encode(t, &flags.Definitions{Flags: []flags.Flag{f}}))
			}
			sent := func(f flags.Flag) string {
				return string(must(wire.AppendDefinitions(nil, &flags.Definitions{Flags: []flags.Flag{f}}, wire.DefinitionsOptions{}))(t))
			}
			differs("digest", compiledTag(t, base) != compiledTag(t, changed))
			differs("wire", sent(base) != sent(changed))

			// A document has it, and a project that was made of it.
			read := must(flags.Decode(bytes.NewReader(document(changed))))(t)
			differs("document", sameField(field, changed, read.Flags[0]))
			w, before := newWorld(t, withData), newWorld(t, withData)
			imported := func(w *world, f flags.Flag) (string, []flags.Flag) {
				must(w.ImportDefinitions(t.Context(), w.as(w.ada), ref(w.web), document(f), management.ImportOptions{}))(t)
				exported := must(w.ExportDefinitions(t.Context(), w.as(w.ada), ref(w.web), management.ExportOptions{}))(t)
				return string(exported), must(w.definitions())(t).Flags
			}
			was, _ := imported(before, base)
			is, list := imported(w, changed)
			differs("export", was != is && !strings.Contains(is, `"flags": []`))
			differs("import", len(list) == 1 && sameField(field, changed, list[0]))

			// A project from a file has it.
			filed := newWorld(t)
			filed.ok(filed.ImportFile(t.Context(), filed.web.ID, "flags.json", read))
			page := must(filed.ListFlags(t.Context(), filed.as(filed.ada), ref(filed.web), management.FlagQuery{}, 10, 0))(t)
			differs("file project", len(page.Items) == 1 && strings.Contains(encode(t, page.Items[0]), fieldText(t, field, changed)))

			// An older version has it.
			if len(list) == 0 || notThere["version "+field.Name] != "" {
				return
			}
			id := list[0].Key
			must(w.changeFlag(id, `{"name":"later","active":true,"filters":{"groups":[]},"key":"later","evaluation_runtime":"client","bucketing_identifier":null,`+
				`"bucketing_hash":null,"ensure_experience_continuity":false,"evaluation_contexts":[],"evaluation_contexts_match_mode":"any","is_remote_configuration":false}`))(t)
			must(w.revert("later", fmt.Sprintf(`{"version":%d}`, list[0].Version)))(t)
			differs("version", sameField(field, changed, must(w.definitions())(t).Flags[0]))
		})
	}
}

func compiledTag(t *testing.T, f flags.Flag) string {
	t.Helper()
	return must(flags.Compile(&flags.Definitions{Flags: []flags.Flag{f}}, flags.CompileOptions{}))(t).ETag()
}

// shownFlag returns a flag as JSON.
func shownFlag(t *testing.T, f flags.Flag) string { return encode(t, &f) }

// sameField reports whether two flags have the same value of a field.
func sameField(field reflect.StructField, a, b flags.Flag) bool {
	x, y := reflect.ValueOf(a).FieldByIndex(field.Index).Interface(), reflect.ValueOf(b).FieldByIndex(field.Index).Interface()
	switch x := x.(type) {
	case flags.Filters:
		return shown(x) == shown(y.(flags.Filters))
	case *bool:
		return (x == nil || *x) == (y.(*bool) == nil || *y.(*bool))
	}
	return reflect.DeepEqual(x, y)
}

// fieldText returns a field of a flag as its JSON has it.
func fieldText(t *testing.T, field reflect.StructField, f flags.Flag) string {
	t.Helper()
	name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
	raw := decode[map[string]json.RawMessage](t, shownFlag(t, f))[name]
	return `"` + name + `":` + string(raw)
}
