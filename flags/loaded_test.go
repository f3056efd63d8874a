package flags_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/flagstaff-go/flagstaff/flags"
)

// valuesOf returns what flags are for somebody who belongs to a company, by their keys: on,
// off or fails.
func valuesOf(s *flags.Snapshot) map[string]string {
	r := &flags.Request{DistinctID: "u", PersonProperties: map[string]any{"plan": "pro"}, Groups: map[string]string{"company": "acme"}}
	values := make(map[string]string)
	for key := range s.Keys() {
		result, err := s.Flag(key, r)
		switch {
		case err != nil:
			values[key] = err.Error()
		case result.Failed:
			values[key] = "fails"
		case result.Enabled:
			values[key] = "on"
		default:
			values[key] = "off"
		}
	}
	return values
}

func flagOf(id int, key, rest string) string {
	return fmt.Sprintf(`{"id":%d,"key":%q,"active":true,"filters":%s}`, id, key, rest)
}

// TestLoadedNext: what a newer document breaks stays as it was (evaluation.md §1.9).
func TestLoadedNext(t *testing.T) {
	const everyone = `{"groups":[{}]}`
	const pro = `{"groups":[{"properties":[{"key":"plan","type":"person","value":"pro"}]}]}`
	const member = `{"groups":[{"properties":[{"key":"id","type":"cohort","value":5}]}]}`
	const afterA = `{"groups":[{"properties":[{"key":"a","type":"flag","operator":"flag_evaluates_to","value":true}]}]}`
	const cohort = `{"type":"AND","values":[{"key":"plan","type":"person","value":"pro"}]}`
	doc := func(members string, list ...string) string {
		return `{` + members + `"flags":[` + strings.Join(list, ",") + `]}`
	}
	for _, tt := range []struct {
		name      string
		documents []string
		want      string // values by key after the last
		kept      string // places of what is kept
	}{
		{"a slip of a type", []string{doc("", flagOf(1, "a", everyone)), doc("", flagOf(1, "a", `{"groups":[{"rollout_percentage":"50"}]}`))}, "a=on", "a/filters/groups/0/rollout_percentage"},
		{"active as a text", []string{doc("", flagOf(1, "a", everyone)), doc("", `{"id":1,"key":"a","active":"true","filters":{"groups":[{}]}}`)}, "a=on", "a/active"},
		{"a misspelt member", []string{doc("", flagOf(1, "a", everyone)), doc("", `{"id":1,"key":"a","actve":true,"filters":{"groups":[{}]}}`)}, "a=on", "a/actve"},
		{"an unknown operator", []string{doc("", flagOf(1, "a", pro)), doc("", flagOf(1, "a", `{"groups":[{"properties":[{"key":"plan","type":"person","value":"pro","operator":"equals"}]}]}`))}, "a=on", "a/filters/groups/0/properties/0/operator"},
		{"shares of more than 100", []string{doc("", flagOf(1, "a", everyone)), doc("", flagOf(1, "a", `{"groups":[],"multivariate":{"variants":[{"key":"x","rollout_percentage":70},{"key":"y","rollout_percentage":50}]}}`))}, "a=on", "a/filters/multivariate/variants"},
		{"a member twice", []string{doc("", flagOf(1, "a", everyone)), doc("", flagOf(1, "a", `{"groups":[{}],"groups":[]}`))}, "a=on", "a/filters/groups"},
		{"a key twice", []string{doc("", flagOf(1, "a", everyone)), doc("", flagOf(2, "a", `{"groups":[]}`), flagOf(1, "a", everyone))}, "a=on", "a"},
		{"mended", []string{doc("", flagOf(1, "a", everyone)), doc("", flagOf(1, "a", `{"groups":{}}`)), doc("", flagOf(1, "a", `{"groups":[]}`))}, "a=off", ""},
		{"broken in another way", []string{doc("", flagOf(1, "a", everyone)), doc("", flagOf(1, "a", `{"groups":{}}`)), doc("", flagOf(1, "a", `[]`))}, "a=on", "a/filters"},
		{"never good", []string{doc("", flagOf(1, "a", `{"groups":{}}`)), doc("", flagOf(1, "a", `[]`))}, "a=fails", ""},
		{"new and broken", []string{doc("", flagOf(1, "a", everyone)), doc("", flagOf(1, "a", everyone), flagOf(2, "b", `{"groups":{}}`))}, "a=on b=fails", ""},
		{"removed", []string{doc("", flagOf(1, "a", everyone), flagOf(2, "b", everyone)), doc("", flagOf(2, "b", `[]`))}, "b=on", "b/filters"},
		{"removed while it was kept", []string{doc("", flagOf(1, "a", everyone)), doc("", flagOf(1, "a", `[]`)), doc("")}, "", ""},
		{"switched off with a fault", []string{doc("", flagOf(1, "a", everyone)), doc("", `{"id":1,"key":"a","active":false,"filters":[]}`)}, "a=off", ""},
		{"deleted with a fault", []string{doc("", flagOf(1, "a", everyone)), doc("", `{"id":1,"key":"a","deleted":true,"filters":[]}`)}, "", ""},
		{"what depends on it", []string{doc("", flagOf(1, "a", everyone), flagOf(2, "b", afterA)), doc("", flagOf(1, "a", `[]`), flagOf(2, "b", afterA))}, "a=on b=on", "a/filters"},
		{"a circle", []string{doc("", flagOf(1, "a", everyone), flagOf(2, "b", afterA)), doc("", flagOf(1, "a", strings.ReplaceAll(afterA, `"a"`, `"b"`)), flagOf(2, "b", afterA))}, "a=on b=on", "a b"},
		{"what it depends on is removed", []string{doc("", flagOf(1, "a", everyone), flagOf(2, "b", afterA)), doc("", flagOf(2, "b", afterA))}, "b=off", ""},
		{"what it depends on is switched off", []string{doc("", flagOf(1, "a", everyone), flagOf(2, "b", afterA)), doc("", `{"id":1,"key":"a"}`, flagOf(2, "b", afterA))}, "a=off b=off", ""},
		{"another flag stays changed", []string{doc("", flagOf(1, "a", everyone), flagOf(2, "b", everyone)), doc("", flagOf(1, "a", `[]`), flagOf(2, "b", `{"groups":[]}`))}, "a=on b=off", "a/filters"},
		{"a key that is none", []string{doc("", flagOf(1, "a", everyone), flagOf(2, "b", everyone)), doc("", `{"id":1,"key":7,"active":true}`, flagOf(2, "b", everyone))}, "a=on b=on", "a"},
		{"a flag that is not an object", []string{doc("", flagOf(1, "a", everyone)), doc("", `"a"`)}, "a=on", "a"},
		{"a key that was none before", []string{doc("", flagOf(1, "a", everyone), `7`), doc("", `7`)}, "", ""},
		{"a cohort", []string{doc(`"cohorts":{"5":`+cohort+`},`, flagOf(1, "a", member)), doc(`"cohorts":{"5":{"type":"XOR","values":[]}},`, flagOf(1, "a", member))}, "a=on", "a/filters/groups/0/properties/0/value /cohorts/5/type"},
		{"a cohort of a list", []string{doc(`"cohorts":[{"id":4},{"id":5,"filters":{"properties":`+cohort+`}}],`, flagOf(1, "a", member)), doc(`"cohorts":[{"id":5,"filters":7}],`, flagOf(1, "a", member))}, "a=on", "/cohorts/0/filters"},
		{"a cohort whose id is none", []string{doc(`"cohorts":[{"id":5,"filters":{"properties":`+cohort+`}}],`, flagOf(1, "a", member)), doc(`"cohorts":[{"id":"5","filters":{"properties":`+cohort+`}}],`, flagOf(1, "a", member))}, "a=on", "a/filters/groups/0/properties/0/value /cohorts/0/id"},
		{"a cohort that is gone", []string{doc(`"cohorts":{"5":`+cohort+`},`, flagOf(1, "a", member)), doc("", flagOf(1, "a", member))}, "a=on", "a/filters/groups/0/properties/0/value"},
		{"the bucketing hash", []string{doc(`"bucketing_hash":"xxhash64",`, flagOf(1, "a", everyone)), doc(`"bucketing_hash":"xxhash",`, flagOf(1, "a", everyone))}, "a=on", "/bucketing_hash"},
		{"the time zone", []string{doc(`"timezone":"Europe/Berlin",`), doc(`"timezone":"Berlin",`)}, "", "/timezone"},
		{"the types of groups", []string{
			doc(`"group_type_mapping":{"0":"company"},`, flagOf(1, "a", `{"groups":[{}],"aggregation_group_type_index":0}`)),
			doc(`"group_type_mapping":{"0":7},`, flagOf(1, "a", `{"groups":[{}],"aggregation_group_type_index":0}`)),
		}, "a=on", "a/filters/aggregation_group_type_index /group_type_mapping/0"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			loaded := new(flags.Loaded)
			for _, document := range tt.documents {
				d, err := flags.Decode(strings.NewReader(document))
				if err != nil {
					t.Fatal(err)
				}
				if loaded, err = loaded.Next(d, flags.CompileOptions{}); err != nil {
					t.Fatal(err)
				}
			}
			var values, kept []string
			for key, value := range valuesOf(loaded.Snapshot) {
				values = append(values, key+"="+value)
			}
			slices.Sort(values)
			if got := strings.Join(values, " "); got != tt.want {
				t.Errorf("values %s, want %s", got, tt.want)
			}
			for _, p := range loaded.Kept {
				kept = append(kept, p.Flag+p.Path)
				if !strings.Contains(p.Hint, "in force") || !slices.ContainsFunc(loaded.Snapshot.Problems(), func(q flags.Problem) bool { return q.DefinitionError == p.DefinitionError }) {
					t.Errorf("%v does not say what is kept, or is not among the problems", p)
				}
			}
			slices.Sort(kept)
			want := strings.Fields(tt.kept)
			slices.Sort(want)
			if !slices.Equal(kept, want) {
				t.Errorf("kept %q, want %q", kept, want)
			}
			// What is kept can be stored, and is kept again by a process that starts.
			again := new(flags.Loaded)
			if d := loaded.KeptDefinitions(); d != nil {
				b, err := json.Marshal(d)
				if err != nil {
					t.Fatal(err)
				}
				stored, err := flags.Decode(strings.NewReader(string(b)))
				if err != nil {
					t.Fatalf("%v: %s", err, b)
				}
				if again, err = again.Next(stored, flags.CompileOptions{}); err != nil {
					t.Fatal(err)
				}
			}
			d, err := flags.Decode(strings.NewReader(tt.documents[len(tt.documents)-1]))
			if err == nil {
				again, err = again.Next(d, flags.CompileOptions{})
			}
			if err != nil {
				t.Fatal(err)
			}
			if got, want := fmt.Sprint(valuesOf(again.Snapshot)), fmt.Sprint(valuesOf(loaded.Snapshot)); got != want {
				t.Errorf("a process that starts has the values %s, want %s", got, want)
			}
		})
	}
}
