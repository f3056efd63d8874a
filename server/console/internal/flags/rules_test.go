package flags_test

import (
	"encoding/json"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/optional"
	"github.com/flagstaff-go/flagstaff/server/console/consoletest"
	screens "github.com/flagstaff-go/flagstaff/server/console/internal/flags"
)

// ruleSets are documents with everything that rule sets can have.
func ruleSets(t *testing.T) (sets map[string]json.RawMessage) {
	raw, err := os.ReadFile("testdata/rulesets.json")
	consoletest.Fatal(t, err)
	consoletest.Fatal(t, json.Unmarshal(raw, &sets))
	return sets
}

// TestRulesRoundTrip: a form of a rule set stands for the same rule set, but for its seeds, which
// no form has (rules.md §2).
func TestRulesRoundTrip(t *testing.T) {
	for name, document := range ruleSets(t) {
		t.Run(name, func(t *testing.T) {
			f, err := flags.DecodeFilters(document, "key")
			consoletest.Fatal(t, err)
			got, wrong := screens.Back(&f)
			if wrong != nil {
				t.Fatalf("errors: %q", wrong)
			}
			for i := range f.RuleSet.Rules {
				r := &f.RuleSet.Rules[i]
				if r.Seed = ""; r.Holdout != nil {
					r.Holdout.Seed = ""
				}
			}
			want, err := json.Marshal(&f)
			consoletest.Fatal(t, err)
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// made returns a flag with a rule set as the Service makes it, with IDs and seeds of its own.
func made(t *testing.T, s *consoletest.Site, key, document string) *management.FlagView {
	t.Helper()
	filters, err := flags.DecodeFilters([]byte(document), "key")
	consoletest.Fatal(t, err)
	for i := range filters.RuleSet.Rules {
		r := &filters.RuleSet.Rules[i]
		if r.ID, r.Seed = "", ""; r.Holdout != nil {
			r.Holdout.Seed = ""
		}
	}
	patch := management.FlagPatch{Key: optional.Of(key), Filters: optional.Of(filters)}
	f, err := s.Service.CreateFlag(t.Context(), s.Owner, "1", patch)
	consoletest.Fatal(t, err)
	return f
}

// TestRuleFormRoundTrip saves the form of flags with rule sets as it is: nothing changes. No page
// shows a seed.
func TestRuleFormRoundTrip(t *testing.T) {
	s := consoletest.NewSite(t)
	for name, document := range ruleSets(t) {
		t.Run(name, func(t *testing.T) {
			s.T = t
			key := strings.NewReplacer(" ", "-", "'", "").Replace(name)
			f := made(t, s, key, string(document))
			path, shown := s.EditPath(key), s.FlagPath(key)
			for _, at := range []string{path, shown, shown + "/history", "/projects/1/explain?person=user-001&flag=" + key} {
				page := s.Get(at).Want(200, key)
				page.CheckPage()
				if at == path && strings.Contains(page.Body, "what another product has drawn") {
					t.Errorf("%s does not say the shares of the split", at)
				}
				if strings.Contains(page.Body, "seed") {
					t.Errorf("%s has seeds", at)
				}
				for _, r := range f.Filters.RuleSet.Rules {
					if r.Seed != "" && strings.Contains(page.Body, r.Seed) {
						t.Errorf("%s has the seed of rule %s", at, r.ID)
					}
				}
			}
			form := s.Get(path).Form("form")
			asJSON := s.Post(path, consoletest.With(form, "do", "to-json")).Want(200, "Rules as JSON").Form("form")
			back := s.Post(path, consoletest.With(asJSON, "do", "to-form")).Want(200).Form("form")
			for _, form := range []url.Values{form, asJSON, back} {
				s.Post(path, consoletest.With(form, "do", "save", "reviewed", "1")).Leads(shown + "?done=unchanged")
			}
		})
	}
}

// TestRuleForm writes a rule set with the buttons of the form, to JSON and back.
func TestRuleForm(t *testing.T) {
	s := consoletest.NewSite(t)
	const path = "/projects/1/flags/new"
	form := s.Get(path).Form("form")
	var page *consoletest.Answer
	press := func(do string, pairs ...string) {
		t.Helper()
		page = s.Post(path, consoletest.With(form, append(pairs, "do", do)...)).Want(200)
		page.CheckPage()
		form = page.Form("form")
	}
	press("edit", "key", "made", "type", "string")
	page.Want(200, "Without a rule everyone gets the default value.")
	if strings.Contains(page.Body, "condition set") || strings.Contains(page.Body, `name="remote"`) {
		t.Error("the form has what only condition sets have")
	}
	press("add-rule", "default", "classic")
	press("add-person r0", "r0.value", "lab")
	press("add-rule", "r0.f0.key", "plan", "r0.f0.value", "staff", "r0.f0.not", "yes")
	page.Want(200, "everyone where not (plan is staff): lab", "everyone: no value yet")
	press("edit", "r1.kind", "experiment", "r1.value", "long")
	press("add-variant r1", "r1.share", "80", "r1.miss", "return_default", "r1.held", "5")
	press("even r1", "r1.v2.key", "third", "r1.v2.value", "other")
	press("copy r1")
	press("up r2", "r2.kind", "percentage_rollout", "r2.value", "copied", "r2.share", "10")
	press("remove r2.v0")
	press("even r2")
	press("to-json")
	const want = `{"version":2,"return_type":"string","default_value":"classic","rules":[
		{"rule_type":"targeted_release",
			"targeting":{"properties":[{"key":"plan","value":"staff","operator":"exact","type":"person","negation":true}]},"value":"lab"},
		{"rule_type":"percentage_rollout","targeting":{"properties":[]},"value":"copied","rollout_percentage":10,
			"on_rollout_miss":"return_default","assignment_algorithm":"sha1_60_v1"},
		{"rule_type":"experiment","targeting":{"properties":[]},"rollout_percentage":80,"on_rollout_miss":"return_default",
			"assignment_algorithm":"sha1_60_v1","experiment_id":null,"paused":false,"variants":[{"key":"test","weight":50,"value":"long"},
				{"key":"third","weight":50,"value":"other"}],"holdout":{"id":null,"exclusion_percentage":5}}]}`
	for range 2 {
		if diff := cmp.Diff(consoletest.Compact(t, []byte(want)), consoletest.Compact(t, []byte(form.Get("json")))); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		press("to-form")
		press("to-json")
	}
}

// TestRuleFormTells: what is wrong with a rule stands at its field.
func TestRuleFormTells(t *testing.T) {
	s := consoletest.NewSite(t)
	const path = "/projects/1/flags/new"
	whole := url.Values{
		"key": {"made"}, "type": {"string"}, "r0.raw": {"{}"}, "r0.kind": {"experiment"}, "r0.share": {"50"}, "r0.miss": {"continue"},
		"r0.f0.raw": {"{}"}, "r0.f0.kind": {"person"}, "r0.f0.key": {"plan"}, "r0.f0.operator": {"exact"}, "r0.f0.value": {"pro"},
		"r0.v0.key": {"a"}, "r0.v0.weight": {"50"}, "r0.v0.value": {"x"}, "r0.v1.key": {"b"}, "r0.v1.weight": {"50"}, "r0.v1.value": {"y"},
		"r1.raw": {"{}"}, "r1.kind": {"targeted_release"}, "r1.value": {"z"},
	}
	for _, tt := range []struct{ field, typed, beside, text string }{
		{"r0.share", "many", "r0.share", "Must be a number from 0 to 100"},
		{"r0.share", "12.345", "r0.share", "Want at most two decimals."},
		{"r0.held", "101", "r0.held", "Must be a number from 0 to 100"},
		{"r0.f0.key", "", "r0.f0.key", "Name a property."},
		{"r0.v1.key", "", "r0.v1.key", "A variant needs a key."},
		{"r0.v1.key", "no blanks", "r0.v1.key", "Want letters, digits, _ and -."},
		{"r0.v1.key", "a", "r0.v1.key", "Another variant of the rule has the key."},
		{"r0.v0.value", "", "r0.v0.value", "A value is missing."},
		{"r0.v0.weight", "49", "r0.variants", "The weights of the variants must sum to 100%, not 99%."},
		{"r1.value", "", "r1.value", "A value is missing."},
		{"number", "x", "default", "Must be a number, such as 5 or -0.5."},
		{"number", "9007199254740992", "default", "Want a number from -9007199254740991 to 9007199254740991."},
		{"boolean", "x", "default", "Choose on or off."},
		{"object", "x", "default", "This is not JSON: line 1, character 1"},
		{"object", "[1]", "default", "Must be an object, such as"},
		{"object", `{"a":1,"a":2}`, "default", "The object has the member twice."},
	} {
		form := consoletest.With(whole, tt.field, tt.typed, "do", "save")
		if tt.beside == "default" {
			form = url.Values{"key": {"made"}, "type": {tt.field}, "default": {tt.typed}, "do": {"save"}}
		}
		page := s.Post(path, form).Want(422)
		page.CheckPage()
		page.Says(tt.field+" "+tt.typed, tt.beside, tt.text)
	}
}
