package management_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/management"
)

// reasons are why things were left out, by what they are.
func reasons(r *management.ImportReport) map[string]string {
	m := make(map[string]string)
	for _, left := range r.Left {
		m[left.What] = left.Reason
	}
	return m
}

func TestImportDefinitions(t *testing.T) {
	for _, file := range []string{"../server/testdata/definitions.json", "../flags/wire/testdata/definitions.json", "../examples/server/demo.json"} {
		w := newWorld(t, withData)
		document, err := os.ReadFile(file)
		w.ok(err)
		r, err := w.Import(t.Context(), w.web.ID, document)
		if err != nil {
			t.Errorf("Import(%s) = %v", file, err)
			continue
		}
		if len(r.Flags) == 0 || r.Parity != 1000 {
			t.Errorf("Import(%s): %d flags, proved for %d subjects, want some and 1000", file, len(r.Flags), r.Parity)
		}
		t.Logf("%s: %d flags, %d cohorts, left %v, notes %q", file, len(r.Flags), len(r.Cohorts), r.Left, r.Notes)
	}
}

// TestImportForms: all forms that flags and cohorts are exported in (evaluation.md
// §1.1, §5.1, §7.1).
func TestImportForms(t *testing.T) {
	const (
		base  = `{"id":11,"key":"base","active":true,"filters":{"groups":[{"properties":[{"key":"plan","type":"person","operator":"exact","value":["pro"]}],"rollout_percentage":100}]}}`
		byID  = `{"id":12,"key":"top","active":true,"filters":{"groups":[{"properties":[{"key":"11","type":"flag","operator":"flag_evaluates_to","value":true}],"rollout_percentage":60}]}}`
		byKey = `{"id":12,"key":"top","active":true,"filters":{"groups":[{"properties":[{"key":"base","type":"flag","operator":"flag_evaluates_to","value":true,"dependency_chain":["base"]}],"rollout_percentage":60}]}}`
		inner = `{"key":"email","type":"person","operator":"icontains","value":"@acme.com"}`
		some  = `{"id":13,"key":"some","active":true,"filters":{"groups":[{"properties":[{"key":"id","type":"cohort","value":98}]}]}}`
	)
	for _, tt := range []struct {
		name, document string
		flags, cohorts []string
		notes          int
	}{
		{"definitions", `{"flags":[` + byKey + `,` + base + `],"cohorts":{},"group_type_mapping":{}}`, []string{"base", "top"}, nil, 0},
		{"a page of the management API", `{"count":2,"next":null,"previous":null,"results":[` + byID + `,` + base + `]}`, []string{"base", "top"}, nil, 0},
		{"a list", `[` + base + `,` + byID + `]`, []string{"base", "top"}, nil, 0},
		{
			"a map of cohorts that refer to each other",
			`{"flags":[` + some + `],"cohorts":{"98":{"type":"OR","values":[{"type":"AND","values":[{"key":"id","type":"cohort","value":1,"negation":true}]}]},"1":{"type":"AND","values":[` + inner + `]}}}`,
			[]string{"some"},
			[]string{"Imported cohort 1", "Imported cohort 98"},
			0,
		},
		{
			"a list of cohorts",
			`{"flags":[` + some + `],"cohorts":[{"id":98,"name":"Acme","filters":{"properties":{"type":"OR","values":[{"type":"AND","values":[` + inner + `]}]}}},{"id":9,"name":"Gone","deleted":true}]}`,
			[]string{"some"},
			[]string{"Acme"},
			0,
		},
		{
			"a page of cohorts, one of them static",
			`{"flags":{"results":[` + some + `]},"cohorts":{"count":1,"results":[{"id":98,"name":"Listed","is_static":true,"filters":{}}]}}`,
			[]string{"some"},
			[]string{"Listed"},
			1,
		},
		{
			"group types",
			`{"flags":[{"id":1,"key":"g","active":true,"filters":{"aggregation_group_type_index":3,"groups":[{"properties":[{"key":"size","type":"group","group_type_index":3,"operator":"gt","value":5}],"rollout_percentage":50}]}}],"group_type_mapping":{"3":"company"}}`,
			[]string{"g"},
			nil, 0,
		},
		{
			"older forms",
			`{"flags":[{"id":1,"key":"e","active":true,"evaluation_tags":["Web"],"filters":{"groups":[{"properties":[]}],"super_groups":[{"properties":[{"key":"$feature_enrollment/e","type":"person","operator":"exact","value":["true"]}],"rollout_percentage":100}]}}]}`,
			[]string{"e"},
			nil, 0,
		},
		{"deleted flags", `{"flags":[{"id":1,"key":"e","deleted":true,"filters":{}}]}`, nil, nil, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, withData)
			r, err := w.Import(t.Context(), w.web.ID, []byte(tt.document))
			w.ok(err)
			if len(r.Left) > 0 {
				t.Errorf("left out: %v", r.Left)
			}
			slices.Sort(r.Cohorts)
			if diff := cmp.Diff([]any{tt.flags, tt.cohorts, tt.notes, 1000}, []any{r.Flags, r.Cohorts, len(r.Notes), r.Parity}); diff != "" {
				t.Errorf("report (-want +got)\n%s", diff)
			}
		})
	}
}

// TestImportLeavesOut: what cannot be converted is reported, with what depends on
// it, and the rest is imported.
func TestImportLeavesOut(t *testing.T) {
	w := newWorld(t, withData)
	flag := func(id, key, more, properties string) string {
		return `{"id":` + id + `,"key":"` + key + `","active":true,` + more + `"filters":{"groups":[{"properties":[` + properties + `]}]}}`
	}
	on := func(id string) string {
		return `{"key":"` + id + `","type":"flag","operator":"flag_evaluates_to","value":true}`
	}
	_, err := w.Import(t.Context(), w.web.ID, []byte(`[`+flag("1", "taken", "", "")+`]`))
	w.ok(err)
	r, err := w.Import(t.Context(), w.web.ID, []byte(`{"flags":[`+strings.Join([]string{
		flag("1", "taken", "", ""),
		flag("2", "secret", `"has_encrypted_payloads":true,"is_remote_configuration":true,`, ""),
		flag("3", "cohort", "", `{"key":"id","type":"cohort","value":5}`),
		flag("4", "look", "", `{"key":"a","type":"person","operator":"regex","value":"(?=x)y"}`),
		flag("5", "after", "", on("4")),
		flag("6", "round", "", on("7")),
		flag("7", "robin", "", on("6")),
		flag("8", "sp ace", "", ""),
		flag("10", "odd", `"version":"x",`, ""),
		flag("11", "", "", ""),
		flag("9", "good", "", `{"key":"a","type":"person","operator":"exact","value":"b"}`),
	}, ",")+`],"cohorts":{}}`))
	w.ok(err)
	if diff := cmp.Diff([]string{"good"}, r.Flags); diff != "" {
		t.Errorf("flags (-want +got)\n%s", diff)
	}
	left := reasons(r)
	for what, want := range map[string]string{
		"flag taken":  "the project has a flag with this key",
		"flag secret": "encrypted",
		"flag cohort": "cohort",
		"flag look":   "look-around",
		"flag after":  "look",
		"flag round":  "circle",
		"flag robin":  "circle",
		"flag sp ace": "letters",
		"flag odd":    "version",
		"flag ":       "no key",
	} {
		if !strings.Contains(left[what], want) {
			t.Errorf("%s was left out because %q, want something about %q", what, left[what], want)
		}
		delete(left, what)
	}
	if len(left) > 0 {
		t.Errorf("also left out: %v", left)
	}
}

func TestImportRefuses(t *testing.T) {
	w := newWorld(t, withData)
	for name, document := range map[string]string{
		"nothing": "", "no JSON": "{", "no flags": "{}", "flags of the wrong type": `{"flags":7}`, "a flag that is none": `{"flags":[7]}`,
		"cohorts of the wrong type": `{"flags":[],"cohorts":7}`, "a cohort without a number": `{"flags":[],"cohorts":{"x":{}}}`,
		"group types without numbers": `{"flags":[],"group_type_mapping":{"a":"b"}}`,
	} {
		if _, err := w.Import(t.Context(), w.web.ID, []byte(document)); err == nil {
			t.Errorf("Import of %s = nil, want an error", name)
		}
	}
	if _, err := w.Import(t.Context(), 999, []byte("[]")); err == nil {
		t.Error("Import into a project that does not exist = nil, want an error")
	}
	if _, err := newWorld(t).Import(t.Context(), w.web.ID, []byte("[]")); err == nil {
		t.Error("Import without Config.Data = nil, want an error")
	}
}

func FuzzImport(f *testing.F) {
	f.Add([]byte(`{"flags":[{"id":1,"key":"a","active":true,"filters":{"groups":[{"properties":[{"key":"id","type":"cohort","value":1}]}]}}],"cohorts":{"1":{"type":"AND","values":[]}}}`))
	f.Add([]byte(`{"results":[{"id":1,"key":"a","filters":{"groups":[]}}],"cohorts":[{"id":1,"groups":[{}]}]}`))
	f.Add([]byte(`[{"id":1,"key":"a","filters":{"groups":[{"properties":[{"key":"1","type":"flag"}]}]}}]`))
	f.Add([]byte(`{"flags":[],"cohorts":{"1":{"type":"AND","values":[{"key":"plan","value":[]}]}}}`))
	f.Fuzz(func(t *testing.T, document []byte) {
		if len(document) > 4<<10 {
			return
		}
		w := newWorld(t, withData)
		r, err := w.Import(t.Context(), w.web.ID, document)
		if err == nil && r.Parity != 1000 {
			t.Errorf("proved for %d subjects, want 1000", r.Parity)
		}
	})
}
