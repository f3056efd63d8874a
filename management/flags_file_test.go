package management_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/flags/wire"
	"github.com/flagstaff-go/flagstaff/internal/fulltest"
	"github.com/flagstaff-go/flagstaff/internal/reference"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// importFile imports a document and returns what evaluates it, and what is served then.
func (w *world) importFile(document string) (file, served *flags.Snapshot) {
	w.t.Helper()
	d := must(flags.Decode(strings.NewReader(document)))(w.t)
	w.ok(w.ImportFile(w.t.Context(), w.web.ID, "flags.json", d))
	return must(flags.Compile(d, flags.CompileOptions{}))(w.t), w.servedFile()
}

// servedFile compiles the flags of the project as a server does.
func (w *world) servedFile() *flags.Snapshot {
	w.t.Helper()
	ctx := w.t.Context()
	list, cohorts := must(w.store.FlagDefinitions(ctx, w.web.ID))(w.t), must(w.store.Cohorts().List(ctx, storage.CohortProject.Is(w.web.ID), storage.CohortDeleted.Is(false)))(w.t)
	d := storage.FlagDefinitions(list, cohorts, nil)
	must(w.store.Projects().Get(ctx, storage.ProjectID.Is(w.web.ID)))(w.t).FlagsFile.Complete(d)
	return must(flags.Compile(d, flags.CompileOptions{}))(w.t)
}

// ids returns the IDs of the flags that are there, by key.
func (w *world) ids() map[string]int64 {
	w.t.Helper()
	ids := make(map[string]int64)
	for _, f := range must(w.store.FlagDefinitions(w.t.Context(), w.web.ID))(w.t) {
		if f.Created.IsZero() || f.Updated.Before(f.Created) {
			w.t.Errorf("flag %q was created %v, and changed %v", f.Key, f.Created, f.Updated)
		}
		ids[f.Key] = f.ID
	}
	return ids
}

// Whatever the definitions, an import has their answers, and the second one writes nothing.
func TestImportedFileAnswersAlike(t *testing.T) {
	var w *world
	compared := 0
	for seed := range fulltest.Count(60, 600) {
		if seed%10 == 0 {
			w = newWorld(t) // the others follow other documents
		}
		document := string(reference.NewGenerator(uint64(seed)).Document())
		file, served := w.importFile(document)
		for i := range 10 {
			request := &flags.Request{
				DistinctID: fmt.Sprint("user-", i), Groups: map[string]string{"company": fmt.Sprint(i % 3), "team": "x"},
				PersonProperties: map[string]any{"plan": []any{"pro", "free", 7}[i%3], "email": fmt.Sprintf("u%d@example.com", i), "age": i * 10},
			}
			for key := range w.ids() {
				text := func(s *flags.Snapshot) string {
					r, err := s.Flag(key, request)
					r.Metadata.ID = 0 // which several flags of a document may have
					value, _ := wire.AppendEvaluation(nil, &r, wire.Envelope{})
					if r.Reason.Code == flags.ReasonNoConditionMatch {
						r.Reason.Description = "" // a cohort in a store does not say that it is behavioral
					}
					return fmt.Sprintf("%v %v %+v %s", err, r.Failed, r.Reason, value)
				}
				if want, got := text(file), text(served); want != got {
					t.Errorf("seed %d: %q for user-%d\n file   %s\n served %s", seed, key, i, want, got)
				}
				compared++
			}
		}
		version := must(w.store.Versions(t.Context()))(t)
		w.importFile(document)
		if diff := cmp.Diff(version, must(w.store.Versions(t.Context()))(t)); diff != "" {
			t.Errorf("seed %d: importing it again writes something (-before +after)\n%s", seed, diff)
		}
	}
	t.Logf("%d answers", compared)
}

// A flag that cannot be understood is there, fails alone, and has its problem.
func TestImportedFileProblems(t *testing.T) {
	w := newWorld(t)
	file, served := w.importFile(`{"flags":[
		{"id":1,"key":"good","active":true,"filters":{"groups":[{}]}},
		{"id":2,"key":"groups","active":true,"filters":{"groups":7}},
		{"id":3,"key":"active","active":"perhaps","filters":{"groups":[{}]}},
		{"id":4,"key":"operator","active":true,"filters":{"groups":[{"properties":[{"key":"x","type":"person","operator":"foo"}]}]}},
		{"id":5,"key":"second","active":true,"filters":{"groups":[{"properties":[{"key":"plan","type":"person","value":"pro"}]},{"properties":[{"key":"x","type":7}]}]}},
		{"id":6,"key":"cohort","active":true,"filters":{"groups":[{"properties":[{"key":"id","type":"cohort","value":9}]}]}}],
		"cohorts":{"9":{"type":"OR","values":7}}}`)
	for key, want := range map[string]bool{"good": false, "groups": true, "active": false, "operator": true, "second": true, "cohort": true} {
		for name, s := range map[string]*flags.Snapshot{"file": file, "served": served} {
			r, err := s.Flag(key, &flags.Request{DistinctID: "u", PersonProperties: map[string]any{"x": "y"}})
			if err != nil || r.Failed != want {
				t.Errorf("%s: %q fails: %v, %v; want %v", name, key, r.Failed, err, want)
			}
		}
	}
	if r, err := served.Flag("second", &flags.Request{DistinctID: "u", PersonProperties: map[string]any{"plan": "pro"}}); err != nil || !r.Enabled {
		t.Errorf("a condition set before one that cannot be understood: %v, %v", r, err)
	}
	var problems bytes.Buffer
	for _, p := range served.Problems() {
		fmt.Fprintln(&problems, p.DefinitionError)
	}
	for _, want := range []string{`flag "groups"`, "perhaps", "foo", `flag "second"`, "cohorts/9"} {
		if !strings.Contains(problems.String(), want) {
			t.Errorf("the problems do not say %q:\n%s", want, &problems)
		}
	}
}

// Flags and cohorts keep the IDs of the file, also through renaming and deletion, unless
// another project has them.
func TestImportedFileIDs(t *testing.T) {
	w := newWorld(t)
	file := func(flags ...string) string { return `{"flags":[` + strings.Join(flags, ",") + `]}` }
	a, b := `{"id":70,"key":"a","active":true,"version":4,"filters":{"groups":[{}]}}`, `{"id":60,"key":"b","active":true,"filters":{"groups":[{}]}}`
	for _, tt := range []struct {
		name, document string
		want           map[string]int64
	}{
		{"two", file(a, b), map[string]int64{"a": 70, "b": 60}},
		{"one less", file(b), map[string]int64{"b": 60}},
		{"again", file(a, b), map[string]int64{"a": 70, "b": 60}},
		{"renamed", file(strings.Replace(a, `"a"`, `"c"`, 1), b), map[string]int64{"c": 70, "b": 60}},
	} {
		w.importFile(tt.document)
		if diff := cmp.Diff(tt.want, w.ids()); diff != "" {
			t.Errorf("%s (-want +got)\n%s", tt.name, diff)
		}
	}
	foreign := &storage.Flag{ID: 80, Project: w.app.ID, Key: "foreign", Created: begin, Updated: begin}
	w.ok(w.store.Flags().Create(t.Context(), foreign))
	other := &storage.Cohort{ID: 5, Project: w.app.ID, Name: "foreign", Created: begin}
	w.ok(w.store.Cohorts().Create(t.Context(), other))
	_, served := w.importFile(`{"flags":[
		{"id":80,"key":"needed","active":true,"filters":{"groups":[{"properties":[{"key":"id","type":"cohort","value":5}]}]}},
		{"id":81,"key":"user","active":true,"filters":{"groups":[{"properties":[{"key":"80","type":"flag","operator":"flag_evaluates_to","value":true}]}]}}],
		"cohorts":{"5":{"type":"OR","values":[{"key":"plan","type":"person","value":"pro"}]}}}`)
	for plan, want := range map[string]bool{"pro": true, "free": false} {
		if r, err := served.Flag("user", &flags.Request{DistinctID: "u", PersonProperties: map[string]any{"plan": plan}}); err != nil || r.Enabled != want || r.Metadata.ID != 81 {
			t.Errorf("%s: %+v, %v; want %v", plan, r, err, want)
		}
	}
	if id := w.ids()["needed"]; id == 80 || id == 0 {
		t.Errorf("the flag has the ID %d, which another project has", id)
	}
}

// What people have made is not deleted, and can be changed when no file is imported any more.
func TestImportedFileAndPeople(t *testing.T) {
	w := newWorld(t)
	document := func(keys ...string) *flags.Definitions {
		d := new(flags.Definitions)
		for _, key := range keys {
			d.Flags = append(d.Flags, flags.Flag{Key: key, Active: true})
		}
		return d
	}
	w.flag(w.web, `{"key":"own","filters":`+everybody+`}`)
	err := w.ImportFile(t.Context(), w.web.ID, "flags.json", document("a"))
	checkFault(t, "ImportFile", err, "conflict conflict")
	if !strings.Contains(err.Error(), "own") {
		t.Errorf("%v; want it to name the flag", err)
	}
	w.ok(w.ImportFile(t.Context(), w.web.ID, "flags.json", document("a", "own")))
	_, err = w.changeFlag("own", `{"name":"N"}`)
	checkFault(t, "UpdateFlag", err, "conflict conflict")
	if !strings.Contains(err.Error(), "flags.json") {
		t.Errorf("%v; want it to name the file", err)
	}
	w.ok(w.ReleaseFiles(t.Context()))
	if !strings.Contains(w.log.String(), "flags.json") {
		t.Error("the log does not say that flags can be changed again")
	}
	must(w.changeFlag("own", `{"name":"N"}`))(t)
	w.flag(w.web, `{"key":"later","filters":`+everybody+`}`)
	err = w.ImportFile(t.Context(), w.web.ID, "flags.json", document("a", "own"))
	checkFault(t, "ImportFile after the release", err, "conflict conflict")
	err = w.ImportFile(t.Context(), 99, "flags.json", document())
	checkFault(t, "ImportFile into no project", err, "not found not_found")
}
