package transfer_test

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/server/console/consoletest"
)

// darkly is a file of LaunchDarkly with a flag that is exact, one that needs members of a big
// segment and one that needs that one, one whose key the project has otherwise, and one that is
// neither exact nor allowed.
const darkly = `{"segments": {"big": {"key": "big", "unbounded": true}, "staff": {"key": "staff", "included": ["user-001"]}}, "flags": {
	"for.staff": {"key": "for.staff", "on": true, "variations": [true, false], "offVariation": 1, "fallthrough": {"variation": 1},
		"rules": [{"id": "1", "variation": 0, "clauses": [{"op": "segmentMatch", "values": ["staff"]}]}]},
	"large": {"key": "large", "on": true, "variations": ["a", "b"], "fallthrough": {"variation": 0},
		"rules": [{"id": "1", "variation": 1, "clauses": [{"op": "segmentMatch", "values": ["big"]}]}]},
	"no blanks": {"key": "no blanks", "on": true, "variations": [true, false], "fallthrough": {"variation": 0},
		"rules": [{"id": "1", "variation": 1, "clauses": [{"op": "segmentMatch", "values": ["big"]}]}]},
	"checkout-button": {"key": "checkout-button", "on": true, "variations": [true, false], "fallthrough": {"variation": 0}}}}`

// foreignForm returns what somebody sends who has a document of LaunchDarkly.
func foreignForm(pairs ...string) url.Values {
	return consoletest.With(url.Values{"do": {"check"}, "from": {"launchdarkly"}}, pairs...)
}

// TestImportForeign: the file of another product is previewed with what is not exact, chosen,
// previewed again and imported; a later file changes what differs.
func TestImportForeign(t *testing.T) {
	s := consoletest.NewSite(t)
	before := s.State()
	s.Get(consoletest.ImportPath).Want(200, "Flagstaff or PostHog", "LaunchDarkly", "Unleash", "For another product")
	check := s.Do(s.Multi(consoletest.ImportPath, foreignForm(), "flags.json", []byte(darkly)))
	check.CheckPage()
	check.Want(200, "1 flag and 1 cohort would be created, 3 flags left out.", "Of the 40 persons who were seen last, since ",
		", 1 would get another value of one flag or more.", "Would be left out (3)", "large The segment \"big\" is a big one",
		"Take large all the same", "checkout-button", "Flags to create (1)", "for.staff on, for 1 person", "Cohorts to create (1) staff",
		"Import 1 flag and 1 cohort")
	form := check.Form("import")

	// What was chosen has to be seen before it is imported.
	chosen := consoletest.With(form, "take", "large")
	s.Sent(chosen, "import").Want(200, "Nothing was imported yet: you have chosen other flags", "Not exact, taken all the same (1)",
		"2 flags and 1 cohort would be created, 2 flags left out.")
	s.Sent(consoletest.With(form, "etag", ""), "import").Want(200, "Look first at what would change.")
	if diff := cmp.Diff(before, s.State(), consoletest.Same); diff != "" {
		t.Fatalf("a preview has stored something (-before +after)\n%s", diff)
	}
	refused := s.Sent(consoletest.With(form, "take", "checkout-button"), "check").Want(200,
		"You wanted to take it all the same: that is not possible", "Take large all the same")
	if strings.Contains(refused.Body, "Take checkout-button all the same") || refused.Form("import").Has("take") {
		t.Error("a flag that the project refuses can be chosen again")
	}
	chosen["take"] = []string{"large", "no blanks"}
	s.Sent(chosen, "check").Want(200, "no blanks key: Only letters", "Not exact, taken all the same (1) Some users")

	chosen["take"] = []string{"large"}
	again := s.Sent(chosen, "check").Want(200, "large on, for 40 persons", "40 would get another value")
	again.CheckPage()
	form = again.Form("import")
	if !slices.Equal(form["take"], []string{"large"}) || !slices.Equal(form["taken"], form["take"]) {
		t.Errorf("taken are %v, and previewed %v", form["take"], form["taken"])
	}

	// So has what somebody else does meanwhile.
	s.Update("checkout-button", `{"name":"Mine"}`)
	before = s.State()
	form = s.Sent(form, "import").Want(200, "Nothing was imported: flags or cohorts of the project have changed in the meantime.",
		"Import 2 flags and 1 cohort").Form("import")
	run := consoletest.ImportPath + "/" + form.Get("run")
	s.Sent(form, "import").Leads(run)
	s.Sent(form, "import").Leads(run) // as a browser that is asked to reload
	done := s.Get(run).Want(200, "Import of flags.json", "2 flags and 1 cohort created, 2 flags left out.", "Left out (2)", "New flags (2)",
		"for.staff on", "Not exact (1)", "New cohorts (1)")
	done.CheckPage()
	if strings.Contains(done.Body, `type="checkbox"`) || done.Link("<code>for.staff</code>") != "/projects/1/flags/for.staff" {
		t.Errorf("the page of an import that has ended:\n%s", done.Body)
	}
	s.Get("/projects/1/flags/large").Want(200, "Not imported exactly: The segment")

	undone := func(page string, want map[string]any) {
		t.Helper()
		to, undo := s.Get(page).Want(200, "The flags were imported.", "changes back what has changed").Undo()
		s.Post(to, undo).Leads(page + "?done=undone")
		s.Get(page+"?done=undone").Want(200, "It is as it was before.", "The import was undone", "is as it was.").CheckPage()
		if diff := cmp.Diff(want, s.State(), consoletest.Same); diff != "" {
			t.Errorf("after the undo (-want +got)\n%s", diff)
		}
		s.Post(to, undo).Want(409, "This cannot be undone any more").CheckPage()
	}
	undone(run, before)

	// A later file changes what differs.
	s.Sent(s.Sent(consoletest.With(form, "take", "large"), "check").Form("import"), "import").Want(303)
	imported := s.State()
	later := strings.NewReplacer(`["user-001"]`, `["user-001", "user-002"]`, `["a", "b"]`, `["c", "b"]`).Replace(darkly)
	changed := s.Do(s.Multi(consoletest.ImportPath, foreignForm("text", later), "", nil)).Want(200, "pasted document")
	changed = s.Sent(consoletest.With(changed.Form("import"), "take", "large"), "check").Want(200,
		"1 flag and 1 cohort would be changed, 1 there already", "Would be changed (2)", "large for 40 persons rule 1, value a → c",
		"staff criteria", "distinct_id is user-001 or user-002", "Flags that depend on them (1)", "for.staff for 1 person", "40 would get")
	changed.CheckPage()
	last := strings.TrimPrefix(s.Sent(changed.Form("import"), "import").Location(), "/console")
	s.Get(last).Want(200, "1 flag and 1 cohort changed, 1 there already", "Changed (2)").CheckPage()
	undone(last, imported)
}

// TestImportForeignRefusals: what is wrong is said beside its field, and everything that was
// typed is still there.
func TestImportForeignRefusals(t *testing.T) {
	s := consoletest.NewSite(t)
	const flipt = `
version: "1.5"
flags:
  - {key: icon, name: Icon, type: VARIANT_FLAG_TYPE, enabled: true, variants: [{key: a}, {key: b}],
     rules: [{segment: all, distributions: [{variant: a, rollout: 33.33}, {variant: b, rollout: 66.67}]}]}
segments: [{key: all, name: All, match_type: ALL_MATCH_TYPE}]`
	for _, tt := range []struct {
		name, field, text string
		form              url.Values
	}{
		{"a product", "from", "From must be one of launchdarkly, ", foreignForm("from", "darkly", "text", darkly)},
		{"names of attributes", "map", "Must be ATTRIBUTE=PROPERTY, not \"a\".", foreignForm("map", "b=c\na", "text", darkly)},
		{"an environment", "environment", "Must be one of the namespaces", foreignForm("from", "flipt", "environment", "x", "text", flipt)},
		{"a version", "bucket_version", "Must be that of a server", foreignForm("from", "flipt", "bucket_version", "x", "text", flipt)},
		{"no version", "bucket_version", "in one way by servers", foreignForm("from", "flipt", "text", flipt)},
		{"a document of another one", "text", "Unleash: ", foreignForm("from", "unleash", "archived", "true", "text", darkly)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s.T = t
			a := s.Do(s.Multi(consoletest.ImportPath, tt.form, "", nil)).Want(422)
			a.CheckPage()
			a.Says(tt.name, tt.field, tt.text)
			got := a.Form("import")
			for name, values := range tt.form {
				if name != "do" && (name != "from" || tt.field != "from") && !slices.Equal(got[name], values) {
					t.Errorf("%s comes back as %q, want %q", name, got[name], values)
				}
			}
		})
	}
	s.T = t
	// Choices are about one document.
	form := s.Do(s.Multi(consoletest.ImportPath, foreignForm(), "flags.json", []byte(darkly))).Form("import")
	gone := s.Sent(consoletest.With(form, "take", "gone"), "check").Want(422, "The file has no flag gone.", "The document flags.json")
	s.Sent(gone.Form("import"), "check").Want(200, "Would be left out (3)")
	s.Broken.Importing = func() error { return consoletest.ErrBroken }
	down := s.Sent(consoletest.With(form, "take", "large"), "check").Want(503, "The document flags.json").Form("import")
	s.Broken.Importing = nil
	s.Sent(down, "check").Want(200, "Not exact, taken all the same (1)")
	other := s.Multi(consoletest.ImportPath, consoletest.With(down, "do", "check"), "other.json", []byte(darkly))
	s.Do(other).Want(200, "Would be left out (3)")
}
