package management_test

import (
	"errors"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/internal/members/memberstest"
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
	for _, file := range []string{"../server/testdata/definitions.json", "../flags/wire/testdata/definitions.json", "../cmd/flagstaff/serve/demo.json"} {
		w := newWorld(t, withData)
		document, err := os.ReadFile(file)
		w.ok(err)
		r, err := w.Import(t.Context(), w.web.ID, document, management.ImportOptions{})
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
			0,
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
			r, err := w.Import(t.Context(), w.web.ID, []byte(tt.document), management.ImportOptions{})
			w.ok(err)
			if len(r.Left) > 0 {
				t.Errorf("left out: %v", r.Left)
			}
			slices.Sort(r.Cohorts)
			proved := 1000
			if tt.flags == nil {
				proved = 0
			}
			if diff := cmp.Diff([]any{append([]string{}, tt.flags...), append([]string{}, tt.cohorts...), tt.notes, proved}, []any{r.Flags, r.Cohorts, len(r.Notes), r.Parity}, same); diff != "" {
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
	_, err := w.Import(t.Context(), w.web.ID, []byte(`[`+flag("1", "taken", `"name":"another",`, "")+`]`), management.ImportOptions{})
	w.ok(err)
	r, err := w.Import(t.Context(), w.web.ID, []byte(`{"flags":[`+strings.Join([]string{
		flag("1", "taken", "", ""),
		flag("2", "secret", `"has_encrypted_payloads":true,"is_remote_configuration":true,`, ""),
		flag("3", "cohort", "", `{"key":"id","type":"cohort","value":5}`),
		flag("4", "look", "", `{"key":"a","type":"person","operator":"regex","value":"(?=xy"}`),
		flag("5", "after", "", on("4")),
		flag("6", "round", "", on("7")),
		flag("7", "robin", "", on("6")),
		flag("8", "sp ace", "", ""),
		flag("10", "odd", `"version":"x",`, ""),
		flag("11", "", "", ""),
		flag("12", "over", "", on("1")),
		flag("9", "good", "", `{"key":"a","type":"person","operator":"exact","value":"b"}`),
		flag("13", "good", "", ""),
		flag("14", "look", "", ""),
	}, ",")+`],"cohorts":{}}`), management.ImportOptions{})
	w.ok(err)
	if diff := cmp.Diff([]string{"good"}, r.Flags, same); diff != "" {
		t.Errorf("flags (-want +got)\n%s", diff)
	}
	left := reasons(r)
	for what, want := range map[string]string{
		"flag taken (id 1)":  "the project has another flag with this key: they differ in name",
		"flag secret (id 2)": "encrypted",
		"flag cohort (id 3)": "it needs the cohort with the id 5, which was not imported",
		"flag look (id 4)":   "the pattern is invalid",
		"flag after (id 5)":  "it depends on the flag look (id 4), which was not imported",
		"flag over (id 12)":  "it depends on the flag taken (id 1), which was not imported",
		"flag round (id 6)":  "circle",
		"flag robin (id 7)":  "circle",
		"flag sp ace (id 8)": "letters",
		"flag odd (id 10)":   "version",
		"flag ":              "no key",
		"flag good":          "the file has another flag with this key before, and only the first one counts",
		"flag look":          "the file has another flag with this key before",
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
		if _, err := w.Import(t.Context(), w.web.ID, []byte(document), management.ImportOptions{}); err == nil {
			t.Errorf("Import of %s = nil, want an error", name)
		}
	}
	if _, err := w.Import(t.Context(), 999, []byte("[]"), management.ImportOptions{}); err == nil {
		t.Error("Import into a project that does not exist = nil, want an error")
	}
	if _, err := newWorld(t).Import(t.Context(), w.web.ID, []byte("[]"), management.ImportOptions{}); err == nil {
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
		r, err := w.Import(t.Context(), w.web.ID, document, management.ImportOptions{})
		if err == nil && r.Parity != 1000 && len(r.Flags) > 0 {
			t.Errorf("proved for %d subjects, want 1000", r.Parity)
		}
	})
}

// A second import of a file changes nothing, and no import doubles cohorts.
func TestImportAgain(t *testing.T) {
	w := newWorld(t, withData)
	document := []byte(`{"flags":[
		{"id":11,"key":"base","name":"Base","active":true,"tags":["a"],"evaluation_contexts":["x"],"filters":{"groups":[{"variant":null,"properties":[{"key":"id","type":"cohort","value":98,"label":"l"}],"rollout_percentage":100}]}},
		{"id":12,"key":"top","active":false,"filters":{"groups":[{"properties":[{"key":"11","type":"flag","operator":"flag_evaluates_to","value":true}],"rollout_percentage":60}]}},
		{"id":13,"key":"conf","active":true,"is_remote_configuration":true,"filters":{"payloads":{"true":{"a":1}},"groups":[{"properties":[],"rollout_percentage":100}]}}],
		"cohorts":[{"id":97,"name":"Listed","is_static":true,"filters":{}},
			{"id":98,"name":"Acme","is_static":false,"filters":{"properties":{"type":"OR","values":[{"key":"id","type":"cohort","value":97},{"key":"email","type":"person","operator":"icontains","value":"@acme.com","label":null}]}}}]}`)
	first, err := w.Import(t.Context(), w.web.ID, document, management.ImportOptions{})
	w.ok(err)
	if diff := cmp.Diff([]any{[]string{"base", "conf", "top"}, []string{"Listed", "Acme"}, []string{}}, []any{first.Flags, first.Cohorts, first.Unchanged}, same); diff != "" || len(first.Left) > 0 {
		t.Errorf("first report, left %v (-want +got)\n%s", first.Left, diff)
	}
	before := w.state()
	again, err := w.Import(t.Context(), w.web.ID, document, management.ImportOptions{})
	w.ok(err)
	w.checkUnchanged("a second import", before)
	if diff := cmp.Diff(&management.ImportReport{
		Flags: []string{}, Active: []string{}, Cohorts: []string{}, Unchanged: []string{"Listed", "Acme", "base", "conf", "top"}, Left: []management.NotImported{}, Notes: []string{},
		StaticCohorts: []management.StaticCohort{{IDInFile: 97, ID: 1, Name: "Listed"}},
	}, again, same); diff != "" {
		t.Errorf("second report (-want +got)\n%s", diff)
	}
	if got, want := shown(w.seeFlag("1").Filters), `{"groups":[{"properties":[{"key":"id","value":2,"type":"cohort","cohort_name":"Acme","label":"l"}],"rollout_percentage":100,"variant":null}]}`; got != want {
		t.Errorf("imported filters are shown as %s, want %s", got, want)
	}
}

// Pages of lists, one after the other in a file or fetched.
func TestImportPages(t *testing.T) {
	page := func(next, results string) string {
		return `{"count":3,"next":` + next + `,"previous":null,"results":[` + results + `]}`
	}
	flag := func(id, key string) string {
		return `{"id":` + id + `,"key":"` + key + `","active":true,"filters":{"groups":[{"properties":[{"key":"id","type":"cohort","value":5}]}]}}`
	}
	const cohort = `{"id":5,"name":"C","is_static":false,"filters":{"properties":{"type":"OR","values":[{"key":"a","type":"person","value":1}]}}}`
	w := newWorld(t, withData)
	_, err := w.Import(t.Context(), w.web.ID, []byte(page(`"https://example.com/?offset=1"`, flag("1", "a"))), management.ImportOptions{})
	checkFault(t, "a page of a list", err, "invalid incomplete next")
	if e, ok := errors.AsType[*management.Error](err); !ok || !strings.Contains(e.Detail, "https://example.com/?offset=1") {
		t.Errorf("a page of a list: %v; want the address of the next one", err)
	}
	r, err := w.Import(t.Context(), w.web.ID, []byte(page(`null`, flag("1", "a"))+page(`null`, flag("2", "b"))+page(`null`, cohort)), management.ImportOptions{})
	w.ok(err)
	if diff := cmp.Diff([]any{[]string{"a", "b"}, []string{"C"}}, []any{r.Flags, r.Cohorts}, same); diff != "" {
		t.Errorf("report (-want +got)\n%s", diff)
	}
}

// What a document says besides flags decides them as well.
func TestImportDocumentMembers(t *testing.T) {
	w := newWorld(t, withData)
	r, err := w.Import(t.Context(), w.web.ID, []byte(`{"bucketing_hash":"xxhash64","property_matching_version":2,"timezone":"Europe/Zurich","static_cohorts":[3],"flags":[
		{"id":1,"key":"half","active":true,"filters":{"groups":[{"properties":[],"rollout_percentage":50}]}},
		{"id":2,"key":"listed","active":true,"filters":{"groups":[{"properties":[{"key":"id","type":"cohort","value":3}]}]}}]}`), management.ImportOptions{})
	w.ok(err)
	if diff := cmp.Diff([]any{[]string{"half", "listed"}, []string{"Imported cohort 3"}, 2}, []any{r.Flags, r.Cohorts, len(r.Notes)}, same); diff != "" {
		t.Errorf("report %+v (-want +got)\n%s", r, diff)
	}
	if v := w.seeFlag("1"); v.BucketingHash != "xxhash64" {
		t.Errorf("the flag is hashed by %q, want the hash of the document", v.BucketingHash)
	}
}

// Each member of a document, misspelt, leaves out what has it (evaluation.md §1.8).
func TestRuling36MisspeltImport(t *testing.T) {
	const document = `{"bucketing_hash":"sha1","group_type_mapping":{"0":"company"},
		"cohorts":[{"id":1,"deleted":false,"is_static":false,"cohort_type":null,"name":"C",
			"filters":{"properties":{"type":"AND","values":[{"type":"OR","values":[{"key":"plan","type":"person","operator":"exact","value":"pro","negation":false}]}]}}}],
		"flags":[{"id":1,"key":"f","active":true,"deleted":false,"version":1,
			"ensure_experience_continuity":false,"bucketing_identifier":"distinct_id","bucketing_hash":"sha1",
			"evaluation_runtime":"all","evaluation_contexts":[],"evaluation_contexts_match_mode":"any","is_remote_configuration":false,"has_encrypted_payloads":false,"has_experiment":true,
			"filters":{"aggregation_group_type_index":null,"early_exit":false,"feature_enrollment":false,
				"multivariate":{"variants":[{"key":"a","rollout_percentage":100}]},"payloads":{"a":"1"},"holdout":{"id":4,"exclusion_percentage":0},
				"groups":[{"rollout_percentage":0,"variant":"a","aggregation_group_type_index":0,
						"properties":[{"key":"company","type":"group","operator":"exact","value":"x","group_type_index":0,"negation":false}]},
					{"properties":[{"key":"id","type":"cohort","value":1,"operator":"in"}]}]}}]}`
	n := 0
	for wrong := range memberstest.Misspelt(document, "0", "a", "name") {
		n++
		w := newWorld(t, withData)
		r, err := w.Import(t.Context(), w.web.ID, []byte(wrong.Document), management.ImportOptions{})
		if err == nil && len(r.Left) == 0 {
			t.Errorf("%s: imported %v and %v", wrong, r.Flags, r.Cohorts)
		}
		if _, ok := errors.AsType[*management.Error](err); err != nil && !ok {
			t.Errorf("%s: %v", wrong, err)
		}
	}
	if n < 180 {
		t.Errorf("%d names were wrong, want all of the document", n)
	}
}

// A dry run reports what an import would do, and stores nothing.
func TestImportDryRun(t *testing.T) {
	w := newWorld(t, withData)
	document := []byte(`{"flags":[
		{"id":1,"key":"a","active":true,"filters":{"groups":[{"properties":[{"key":"size","type":"group","group_type_index":0,"operator":"gt","value":7}]}],"aggregation_group_type_index":0}},
		{"id":2,"key":"odd one","active":true,"filters":{"groups":[]}}],
		"cohorts":[{"id":97,"name":"Listed","is_static":true}],"group_type_mapping":{"0":"company"}}`)
	before := w.state()
	dry, err := w.ImportDefinitions(t.Context(), w.as(w.ada), ref(w.web), document, management.ImportOptions{DryRun: true})
	w.ok(err)
	w.checkUnchanged("a dry run", before)
	types, err := w.store.GroupTypes(t.Context(), w.web.ID)
	w.ok(err)
	if len(types) > 0 {
		t.Errorf("a dry run makes the group types %v", types)
	}
	if diff := cmp.Diff([]management.StaticCohort{{IDInFile: 97, Name: "Listed", Made: true}}, dry.StaticCohorts, same); diff != "" {
		t.Errorf("static cohorts (-want +got)\n%s", diff)
	}
	real, err := w.ImportDefinitions(t.Context(), w.as(w.ada), ref(w.web), document, management.ImportOptions{})
	w.ok(err)
	if diff := cmp.Diff([]management.StaticCohort{{IDInFile: 97, ID: 1, Name: "Listed", Made: true}}, real.StaticCohorts, same); diff != "" {
		t.Errorf("static cohorts (-want +got)\n%s", diff)
	}
	real.StaticCohorts = dry.StaticCohorts
	if diff := cmp.Diff(real, dry, same); diff != "" || len(real.Flags) != 1 || len(real.Left) != 1 {
		t.Errorf("report of a dry run (-import +dry run)\n%s", diff)
	}
	if got := w.seeFlag("1").CreatedBy; got == nil || got.Email != w.ada.Email {
		t.Errorf("the flag was made by %+v, want the user of the import", got)
	}
}

// An import tells how far it is: each kind of thing to its end, and never backwards.
func TestImportProgress(t *testing.T) {
	w := newWorld(t, withData)
	document, err := os.ReadFile("../cmd/flagstaff/serve/demo.json")
	w.ok(err)
	var order []string
	at, ends := make(map[string]int), make(map[string]int)
	r, err := w.Import(t.Context(), w.web.ID, document, management.ImportOptions{Progress: func(what string, done, total int) {
		if len(order) == 0 || order[len(order)-1] != what {
			order = append(order, what)
		}
		if done < at[what] || done > total {
			t.Errorf("%s: %d of %d after %d", what, done, total, at[what])
		}
		at[what], ends[what] = done, total
	}})
	w.ok(err)
	if diff := cmp.Diff([]string{"cohorts", "flags", "subjects"}, order, same); diff != "" {
		t.Errorf("order (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff(map[string]int{"cohorts": len(r.Cohorts), "flags": len(r.Flags), "subjects": r.Parity}, ends, same); diff != "" {
		t.Errorf("totals (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff(ends, at, same); diff != "" {
		t.Errorf("what was done in the end (-want +got)\n%s", diff)
	}
}

// A panic ends an import with an error, in whatever goroutine it happens, and nothing is
// stored.
func TestImportPanic(t *testing.T) {
	w := newWorld(t, withData)
	document, err := os.ReadFile("../cmd/flagstaff/serve/demo.json")
	w.ok(err)
	_, err = w.Import(t.Context(), w.web.ID, document, management.ImportOptions{Progress: func(what string, done, _ int) {
		if what == "subjects" && done == 10 {
			panic("no progress")
		}
	}})
	if err == nil || !strings.Contains(err.Error(), "panicked: no progress") {
		t.Errorf("Import = %v, want an error that tells of the panic", err)
	}
	list, err := w.store.CalledFlags(t.Context(), w.web.ID)
	if w.ok(err); len(list) != 0 {
		t.Errorf("the project has %d flags, want none", len(list))
	}
}

// What is exported is imported elsewhere as it was, and the same project gives the same
// bytes.
func TestExport(t *testing.T) {
	w := newWorld(t, withData)
	document := []byte("\ufeff" + `{"flags":[
		{"id":1,"key":"b","active":true,"filters":{"groups":[{"properties":[{"key":"size","type":"group","group_type_index":0,"operator":"gt","value":7}]}],"aggregation_group_type_index":0}},
		{"id":2,"key":"a","name":"<A>","active":true,"tags":["web"],"evaluation_runtime":"server","filters":{"groups":[{"properties":[{"key":"id","type":"cohort","value":98}],"rollout_percentage":50}]}},
		{"id":3,"key":"c","active":false,"archived":true,"filters":{"groups":[{}]}}],
		"cohorts":[{"id":97,"name":"Listed","is_static":true},{"id":98,"name":"Acme","filters":{"properties":{"type":"OR","values":[{"key":"email","type":"person","operator":"icontains","value":"@acme.com"}]}}}],"group_type_mapping":{"0":"company"}}`)
	_, err := w.Import(t.Context(), w.web.ID, document, management.ImportOptions{})
	w.ok(err)
	export := func(o management.ExportOptions) []byte {
		t.Helper()
		b, err := w.ExportDefinitions(t.Context(), w.as(w.ada), ref(w.web), o)
		w.ok(err)
		return b
	}
	for _, tt := range []struct {
		name string
		o    management.ExportOptions
		keys []string
	}{
		{"a document", management.ExportOptions{}, []string{"a", "b"}},
		{"a document with the archive", management.ExportOptions{Archived: true}, []string{"a", "b", "c"}},
		{"lists", management.ExportOptions{AsLists: true}, []string{"a", "b"}},
		{"lists with the archive", management.ExportOptions{Archived: true, AsLists: true}, []string{"a", "b", "c"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			exported := export(tt.o)
			if again := export(tt.o); !slices.Equal(exported, again) {
				t.Errorf("exported again (-first +second)\n%s", cmp.Diff(string(exported), string(again), same))
			}
			same, err := w.ImportDefinitions(t.Context(), w.as(w.ada), ref(w.web), exported, management.ImportOptions{DryRun: true})
			w.ok(err)
			if len(same.Unchanged) != len(tt.keys)+2 || len(same.Flags)+len(same.Cohorts)+len(same.Left) > 0 {
				t.Errorf("imported into the same project: %+v", same)
			}
			other := newWorld(t, withData)
			r, err := other.Import(t.Context(), other.web.ID, exported, management.ImportOptions{})
			other.ok(err)
			slices.Sort(r.Flags)
			slices.Sort(r.Cohorts)
			if diff := cmp.Diff([][]string{tt.keys, {"Acme", "Listed"}}, [][]string{r.Flags, r.Cohorts}); diff != "" || len(r.Left)+len(r.Notes) > 0 {
				t.Errorf("imported elsewhere: left out %v, notes %v (-want +got)\n%s", r.Left, r.Notes, diff)
			}
			if tt.o.AsLists {
				return
			}
			back, err := other.ExportDefinitions(t.Context(), other.as(other.ada), ref(other.web), tt.o)
			other.ok(err)
			ids := func(b []byte) string { return numbers.ReplaceAllString(string(b), "$1") }
			if diff := cmp.Diff(ids(exported), ids(back)); diff != "" {
				t.Errorf("exported elsewhere (-first +second)\n%s", diff)
			}
		})
	}
}

// numbers are the IDs in a document, of flags, of cohorts and in filters on them.
var numbers = regexp.MustCompile(`("(?:id|value)": )\d+`)
