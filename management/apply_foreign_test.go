package management_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/foreign"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

const launchDarklyFile = "../internal/convert/launchdarkly/testdata/flags.json"

// changesOf returns what a report says was done, as "flag key action".
func changesOf(r *management.ApplyReport, action string) (names []string) {
	for _, c := range r.Changes {
		if c.Action == action {
			names = append(names, c.Kind+" "+c.Name)
		}
	}
	return names
}

// TestApplyForeign: a dry run says what an import does, a second import changes nothing, and
// one of a changed file changes what differs (management.md §13.23).
func TestApplyForeign(t *testing.T) {
	w := newWorld(t, withData)
	document, err := os.ReadFile(launchDarklyFile)
	w.ok(err)
	from := foreign.Options{From: "launchdarkly"}
	planned, err := w.Apply(t.Context(), w.web.ID, document, management.ApplyOptions{From: &from, DryRun: true})
	w.ok(err)
	done, err := w.Apply(t.Context(), w.web.ID, document, management.ApplyOptions{From: &from})
	w.ok(err)
	planned.ImportID = done.ImportID
	if diff := cmp.Diff(planned, done); diff != "" {
		t.Errorf("the import is not what its dry run says (-dry run +import)\n%s", diff)
	}
	if created := changesOf(done, "created"); len(created) != 52 || len(done.LeftOut) != 0 || done.Parity == 0 {
		t.Errorf("created %d things, left out %v, tried for %d", len(created), done.LeftOut, done.Parity)
	}
	again, err := w.Apply(t.Context(), w.web.ID, document, management.ApplyOptions{From: &from})
	w.ok(err)
	if len(again.Changes) != 0 || again.Unchanged != 52 {
		t.Errorf("a second import has changed %v, and left %d things alone", again.Changes, again.Unchanged)
	}
	other := bytes.Replace(document, []byte(`"weight": 35000`), []byte(`"weight": 36000`), 1)
	changed, err := w.Apply(t.Context(), w.web.ID, other, management.ApplyOptions{From: &from})
	w.ok(err)
	if diff := cmp.Diff([]string{"flag checkout-address-autocomplete"}, changesOf(changed, "changed")); diff != "" {
		t.Errorf("changed (-want +got)\n%s", diff)
	}
}

// TestApplyForeignLeavesOut: what cannot be kept, and what the project has under the same key
// and did not import, stays out, with all that needs it.
func TestApplyForeignLeavesOut(t *testing.T) {
	w := newWorld(t, withData)
	const document = `{"segments": {"big": {"key": "big", "unbounded": true}}, "flags": {
		"on.a:b": {"key": "on.a:b", "on": true, "variations": [true, false], "fallthrough": {"variation": 0}},
		"mixed": {"key": "mixed", "on": true, "variations": ["a", 1], "fallthrough": {"variation": 0}},
		"needs": {"key": "needs", "on": true, "variations": [true, false], "offVariation": 1, "prerequisites": [{"key": "mixed", "variation": 0}], "fallthrough": {"variation": 0}},
		"large": {"key": "large", "on": true, "variations": [true, false], "fallthrough": {"variation": 0},
			"rules": [{"id": "1", "variation": 1, "clauses": [{"op": "segmentMatch", "values": ["big"]}]}]},
		"mine":  {"key": "mine", "on": true, "variations": [true, false], "fallthrough": {"variation": 0}},
		"on it": {"key": "on it", "on": true, "variations": [true, false], "fallthrough": {"variation": 0}}}}`
	_, err := w.Import(t.Context(), w.web.ID, []byte(`{"flags": [{"id": 1, "key": "mine", "active": true, "filters": {"version": 2, "return_type": "boolean", "rules": [{"rule_type": "targeted_release", "value": true}]}}]}`), management.ImportOptions{})
	w.ok(err)
	for _, test := range []struct {
		inexact, created, left []string
	}{
		{nil, []string{"flag on.a:b"}, []string{"large", "mine", "mixed", "needs", "on it"}},
		{[]string{"large"}, []string{"flag large"}, []string{"mine", "mixed", "needs", "on it"}},
	} {
		from := foreign.Options{From: "launchdarkly", Inexact: test.inexact}
		r, err := w.Apply(t.Context(), w.web.ID, []byte(document), management.ApplyOptions{From: &from})
		w.ok(err)
		var left []string
		for _, l := range r.LeftOut {
			left = append(left, l.Flag)
		}
		if diff := cmp.Diff(test.created, changesOf(r, "created")); diff != "" {
			t.Errorf("%v: created (-want +got)\n%s", test.inexact, diff)
		}
		if diff := cmp.Diff(test.left, left); diff != "" {
			t.Errorf("%v: left out (-want +got)\n%s\n%v", test.inexact, diff, r.LeftOut)
		}
		if len(r.Inexact) != len(test.inexact) {
			t.Errorf("%v: inexact are %v", test.inexact, r.Inexact)
		}
	}
}

// TestApplyForeignRefuses has options and documents that are wrong.
func TestApplyForeignRefuses(t *testing.T) {
	w := newWorld(t, withData)
	const good = `{"flags": {}}`
	for _, test := range []struct {
		document, want string
		o              foreign.Options
	}{
		{good, `must be one of launchdarkly`, foreign.Options{From: "darkly"}},
		{good, `must be ATTRIBUTE=PROPERTY, not "a"`, foreign.Options{From: "launchdarkly", Map: []string{"a"}}},
		{good, `The file has no flag x.`, foreign.Options{From: "launchdarkly", Inexact: []string{"x"}}},
		{`{`, `neither JSON, nor YAML, nor TOML`, foreign.Options{From: "launchdarkly"}},
		{`{"items": []}`, `REST API`, foreign.Options{From: "launchdarkly"}},
		{`{"flags": {"a": {"on": 1}}}`, `flags.on is a number`, foreign.Options{From: "launchdarkly"}},
	} {
		_, err := w.Apply(t.Context(), w.web.ID, []byte(test.document), management.ApplyOptions{From: &test.o})
		if err == nil || !bytes.Contains([]byte(err.Error()), []byte(test.want)) {
			t.Errorf("%s: %v, want %q", test.document, err, test.want)
		}
	}
	if names := foreign.Products(); !slices.Contains(names, "launchdarkly") {
		t.Errorf("Products() = %v", names)
	}
}

// TestUndoApply: an import is taken back as a whole, first a later one and then the first, and
// not if somebody has changed something of it since.
func TestUndoApply(t *testing.T) {
	w := newWorld(t, withData)
	document, err := os.ReadFile(launchDarklyFile)
	w.ok(err)
	from := foreign.Options{From: "launchdarkly"}
	apply := func(document []byte) string {
		r, err := w.Apply(t.Context(), w.web.ID, document, management.ApplyOptions{From: &from})
		w.ok(err)
		return r.ImportID
	}
	exported := func() string {
		flags, err := w.store.Flags().List(t.Context(), storage.FlagProject.Is(w.web.ID))
		w.ok(err)
		cohorts, err := w.store.Cohorts().List(t.Context(), storage.CohortProject.Is(w.web.ID))
		w.ok(err)
		var out []string
		for _, f := range flags {
			if !f.Deleted {
				raw, err := f.Filters.Normal()
				w.ok(err)
				out = append(out, f.Key+" "+string(raw))
			}
		}
		for _, c := range cohorts {
			if !c.Deleted {
				raw, err := c.Criteria.Normal()
				w.ok(err)
				out = append(out, c.Name+" "+string(raw))
			}
		}
		return strings.Join(out, "\n")
	}
	empty := exported()
	w.ok(w.UndoApplyHere(t.Context(), w.web.ID, apply(document)))
	if diff := cmp.Diff(empty, exported()); diff != "" {
		t.Errorf("after the undo of the only import (-want +got)\n%s", diff)
	}
	first := apply(document)
	before := exported()
	other := bytes.Replace(bytes.Replace(document, []byte(`"weight": 35000`), []byte(`"weight": 36000`), 1), []byte("u-1044"), []byte("u-1045"), 1)
	other = bytes.Replace(other, []byte(`"flags": {`), []byte(`"flags": {"added": {"key": "added", "on": true, "variations": [true], "fallthrough": {"variation": 0}},`), 1)
	second := apply(other)
	if first == "" || second == "" || first == second {
		t.Fatalf("the imports are %q and %q", first, second)
	}
	if err := w.UndoApplyHere(t.Context(), w.web.ID, first); !errors.Is(err, management.ErrConflict) {
		t.Errorf("the first import, of which the second has changed something, is taken back: %v", err)
	}
	w.ok(w.UndoApplyHere(t.Context(), w.web.ID, second))
	if diff := cmp.Diff(before, exported()); diff != "" {
		t.Errorf("after the undo of the second import (-want +got)\n%s", diff)
	}
	for _, test := range []struct{ id, want string }{
		{second, "was changed or deleted after the import"},
		{"x", `"x" is not the ID of an import`},
		{"11111111-1111-4111-8111-111111111111", "The project has no import"},
	} {
		if err := w.UndoApplyHere(t.Context(), w.web.ID, test.id); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", test.id, err, test.want)
		}
	}
}

// TestPersonsConcerned: for a flag that is not exact the report counts the persons whom that may
// concern, of those who were seen last: no rule before the first inexact one decides about them.
func TestPersonsConcerned(t *testing.T) {
	w := newWorld(t, withData)
	for n, plan := range []string{"pro", "pro", "free", "team"} {
		w.storeEvent(n, "opened", fmt.Sprintf("person-%d", n), `{"$set": {"plan": "`+plan+`"}}`)
	}
	const document = `{"segments": {"big": {"key": "big", "unbounded": true}}, "flags": {
		"some": {"key": "some", "on": true, "variations": [true, false], "fallthrough": {"variation": 1}, "rules": [
			{"id": "1", "variation": 0, "clauses": [{"attribute": "key", "op": "in", "values": ["person-3"]}]},
			{"id": "2", "variation": 0, "clauses": [{"op": "segmentMatch", "values": ["big"]}]}]},
		"all": {"key": "all", "on": true, "variations": ["a", 1], "fallthrough": {"variation": 0}}}}`
	from := foreign.Options{From: "launchdarkly", Inexact: []string{"some"}}
	r, err := w.Apply(t.Context(), w.web.ID, []byte(document), management.ApplyOptions{From: &from, DryRun: true})
	w.ok(err)
	if len(r.Inexact) != 1 || r.Inexact[0].Persons == nil || *r.Inexact[0].Persons != 3 || len(r.LeftOut) != 1 || *r.LeftOut[0].Persons != 4 || r.PersonsSeen != 4 {
		t.Errorf("inexact %+v, left out %+v, of %d persons", r.Inexact, r.LeftOut, r.PersonsSeen)
	}
}
