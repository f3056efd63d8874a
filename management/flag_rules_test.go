package management_test

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/management"
)

// rules returns filters of a string flag, whose rules have numbers: rule 1 is for everybody
// with plan 1, and so on.
func rules(list ...string) string {
	return `{"version":2,"return_type":"string","default_value":"none","rules":[` + strings.Join(list, ",") + `]}`
}

// releaseTo and rolloutTo return a rule for a plan. The rest are members before it.
func releaseTo(rest, plan, value string) string {
	return `{` + rest + `"rule_type":"targeted_release","targeting":{"properties":[{"type":"person","key":"plan","value":"` + plan + `"}]},"value":"` + value + `"}`
}

func rolloutTo(rest, plan, value string) string {
	return strings.Replace(releaseTo(rest, plan, value), `"targeted_release"`, `"percentage_rollout","rollout_percentage":50,"on_rollout_miss":"continue","assignment_algorithm":"sha1_60_v1"`, 1)
}

func echoed(r flags.Rule) string { return fmt.Sprintf(`"id":%q,`, r.ID) }

// ruleFlag makes a flag k of Web with rules.
func (w *world) ruleFlag(filters string) *management.FlagView {
	w.t.Helper()
	w.flag(w.web, `{"key":"k","filters":`+filters+`}`)
	return must(w.Flag(w.t.Context(), w.as(w.ada), ref(w.web), "k"))(w.t)
}

// TestWriteRuleSet: rules.md §7.1, §7.2 and §7.4.
func TestWriteRuleSet(t *testing.T) {
	w := newWorld(t)
	f := w.ruleFlag(rules(releaseTo("", "pro", "lab"), rolloutTo("", "free", "new")))
	first, second := f.Filters.RuleSet.Rules[0], f.Filters.RuleSet.Rules[1]
	if f.Active || f.Version != 1 || f.HasExperiment || first.Seed != "" || len(second.Seed) < 20 || first.ID == second.ID {
		t.Fatalf("made %+v", f)
	}
	id := strconv.FormatInt(f.ID, 10)
	change := func(body string) (*management.FlagView, error) { return w.changeFlag(id, body) }
	version := func(filters string) string {
		return fmt.Sprintf(`{"version":%d,"filters":%s}`, f.Version, filters)
	}
	f = must(change(version(rules(rolloutTo(echoed(second), "free", "newer"), releaseTo("", "free", "rest"), releaseTo(echoed(first), "pro", "lab")))))(t)
	if r := f.Filters.RuleSet.Rules; f.Version != 2 || len(r) != 3 || r[0].ID != second.ID || r[0].Seed != second.Seed || r[2].ID != first.ID || r[1].ID == first.ID {
		t.Errorf("reordered %+v", r)
	}
	before := w.state()
	for _, test := range []struct{ section, body, want string }{
		{"7.4", `{"filters":` + rules() + `}`, "invalid required version"},
		{"7.4", `{"name":"x"}`, "invalid required version"},
		{"7.4", `{"active":true,"version":null}`, "invalid required version"},
		{"7.4", `{"version":1,"filters":` + rules() + `}`, "conflict conflict"},
		{"7.4", `{"version":1,"name":"x","original_flag":{"name":""}}`, "conflict conflict"},
		{"7.1", version(`{}`), "invalid invalid filters__version"},
		{"7.1", version(`null`), "invalid invalid filters"},
		{"7.1", version(`[]`), "invalid invalid filters__version"},
		{"7.1", version(`{"version":3}`), "invalid unsupported_config_version filters__version"},
		{"7.1", version(`{"version":"2"}`), "invalid unsupported_config_version filters__version"},
		{"7.1", version(everybody), "invalid invalid filters__version"},
		{"7.1", version(strings.Replace(rules(), `"string","default_value":"none"`, `"number","default_value":1`, 1)), "invalid invalid filters__return_type"},
		{"7.2", version(rules(rolloutTo(`"seed":"mine",`, "a", "b"))), "invalid invalid filters__rules__0__seed"},
		{"7.2", version(rules(releaseTo(`"id":"33333333-3333-4333-8333-333333333333",`, "a", "b"))), "invalid invalid filters__rules__0__id"},
		{"7.2", version(rules(releaseTo(echoed(first), "a", "b"), releaseTo(echoed(first), "a", "b"))), "invalid not_unique filters__rules__1__id"},
		{"7.3", version(rules(releaseTo("", "a", "$true"))), "invalid invalid filters__rules__0__value"},
		{"7.3", version(rules(releaseTo(`"x/y":1,`, "a", "b"))), "invalid unknown_field filters__rules__0__x/y"},
		{"7.6", fmt.Sprintf(`{"version":%d,"ensure_experience_continuity":true}`, f.Version), "invalid invalid ensure_experience_continuity"},
		{"7.6", fmt.Sprintf(`{"version":%d,"bucketing_identifier":"device_id"}`, f.Version), "invalid invalid bucketing_identifier"},
		{"7.6", fmt.Sprintf(`{"version":%d,"bucketing_hash":"xxhash64"}`, f.Version), "invalid invalid bucketing_hash"},
		{"7.6", fmt.Sprintf(`{"version":%d,"is_remote_configuration":true}`, f.Version), "invalid invalid is_remote_configuration"},
		{"7.6", fmt.Sprintf(`{"version":%d,"has_encrypted_payloads":true}`, f.Version), "invalid invalid has_encrypted_payloads"},
	} {
		_, err := change(test.body)
		checkFault(t, test.section+" "+test.body, err, test.want)
	}
	for body, want := range map[string]string{
		`{"key":"n","active":true,"filters":` + rules() + `}`: "invalid invalid active",
		`{"key":"n","filters":{"version":2}}`:                 "invalid required filters__return_type",
		`{"key":"n","filters":{"version":2.5}}`:               "invalid unsupported_config_version filters__version",
		`{"key":"n","filters":{"groups":[{"properties":[{"type":"flag","key":"k","operator":"flag_evaluates_to","value":"lab"}]}]}}`: "invalid invalid_input filters", // it is off
	} {
		_, err := w.CreateFlag(t.Context(), w.as(w.ada), ref(w.web), decode[management.FlagPatch](t, body))
		checkFault(t, body, err, want)
	}
	_, err := w.rollOut("k", `{"rollout_percentage":5}`)
	checkFault(t, "rollout", err, "invalid invalid condition")
	w.checkUnchanged("refused", before)

	f = must(change(version(rules())))(t)
	if len(f.Filters.RuleSet.Rules) != 0 {
		t.Errorf("no rules: %s", shown(f.Filters))
	}
	f = must(change(fmt.Sprintf(`{"version":%d,"active":true}`, f.Version)))(t)
	if !f.Active || f.Version != 4 {
		t.Errorf("active %t, version %d", f.Active, f.Version)
	}
	_, err = w.CreateFlag(t.Context(), w.as(w.ada), ref(w.web), decode[management.FlagPatch](t,
		`{"key":"n","filters":{"groups":[{"properties":[{"type":"flag","key":"k","operator":"flag_evaluates_to","value":"lab"}]}]}}`))
	checkFault(t, "a flag with condition sets", err, "invalid unsupported_dependency_config_version filters")
	made := w.flag(w.web, `{"key":"plain","filters":`+everybody+`}`)
	_, err = w.changeFlag(made, `{"filters":`+rules()+`}`)
	checkFault(t, "a flag that has condition sets", err, "invalid invalid filters__version")
	deleted := must(w.DeleteFlags(t.Context(), w.as(w.ada), ref(w.web), decode[management.FlagSelection](t, fmt.Sprintf(`{"ids":[%d]}`, f.ID))))(t)
	if len(deleted.Deleted) != 1 {
		t.Errorf("deleted %+v", deleted)
	}
}

// TestRuleSetRevert: rules.md §7.2: a version comes back with its seeds, and no seed is in what is logged.
func TestRuleSetRevert(t *testing.T) {
	w := newWorld(t, withData)
	f := w.ruleFlag(rules(rolloutTo("", "free", "new")))
	seed := f.Filters.RuleSet.Rules[0].Seed
	f = must(w.changeFlag("k", fmt.Sprintf(`{"version":1,"filters":%s}`, rules(rolloutTo("", "free", "other")))))(t)
	if f.Filters.RuleSet.Rules[0].Seed == seed {
		t.Fatal("a new rule has the seed of another one")
	}
	f = must(w.RevertFlag(t.Context(), w.as(w.ada), ref(w.web), "k", decode[management.RevertPatch](t, `{"version":1}`)))(t)
	if f.Version != 3 || f.Filters.RuleSet.Rules[0].Seed != seed {
		t.Errorf("reverted %s", shown(f.Filters))
	}
	document := must(w.ExportDefinitions(t.Context(), w.as(w.ada), ref(w.web), management.ExportOptions{}))(t)
	if !strings.Contains(string(document), seed) {
		t.Fatalf("exported %s", document)
	}
	another := strings.ReplaceAll(string(document), seed, "a-seed")
	report := must(w.ApplyDefinitions(t.Context(), w.as(w.ada), ref(w.web), []byte(another), management.ApplyOptions{}))(t)
	f = must(w.Flag(t.Context(), w.as(w.ada), ref(w.web), "k"))(t)
	if f.Version != 4 || f.Filters.RuleSet.Rules[0].Seed != "a-seed" || len(report.Changes) != 1 {
		t.Errorf("applied %+v: version %d, %s", report, f.Version, shown(f.Filters))
	}
	copied := must(w.ImportDefinitions(t.Context(), w.owner(w.shop), ref(w.shop), []byte(another), management.ImportOptions{}))(t)
	there, err := w.Flag(t.Context(), w.owner(w.shop), ref(w.shop), "k")
	if err != nil || there.Filters.RuleSet.Rules[0].Seed != "a-seed" || there.HasExperiment {
		t.Errorf("imported %+v: %v", copied, err)
	}
	again := must(w.ImportDefinitions(t.Context(), w.owner(w.shop), ref(w.shop), []byte(another), management.ImportOptions{}))(t)
	if !slices.Equal(again.Unchanged, []string{"k"}) {
		t.Errorf("imported again: %+v", again)
	}
	for document, want := range map[string]string{
		`{"flags":[{"key":"k","filters":{"groups":[{}]}}]}`:                                              "cannot get condition sets",
		strings.NewReplacer(`"string"`, `"boolean"`, `"none"`, "null", `"new"`, "true").Replace(another): "type of a flag cannot change",
	} {
		_, err := w.ApplyDefinitions(t.Context(), w.as(w.ada), ref(w.web), []byte(document), management.ApplyOptions{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", document, err)
		}
	}
	versions := must(w.FlagVersions(t.Context(), w.as(w.ada), ref(w.web), "k", 10, 0))(t)
	if shown := encode(t, versions.Items[0].Changes); !strings.Contains(shown, `"filters/rules/0/seed"`) {
		t.Errorf("the change of a seed is shown as %s", shown)
	}
	for what, v := range map[string]any{"log": w.activities(), "report": report, "versions": versions.Items} {
		if text := encode(t, v); strings.Contains(text, seed) || strings.Contains(text, "a-seed") {
			t.Errorf("the %s has a seed: %s", what, text)
		}
	}
}

// TestPreviewRuleSet: rules.md §7.7: what a reorder does is told exactly, with typed values.
func TestPreviewRuleSet(t *testing.T) {
	w := newWorld(t, withData)
	for id, properties := range map[string]string{"ada": `{"plan":"pro"}`, "bob": `{"plan":"pro"}`, "eve": `{"plan":"free"}`} {
		w.capture(w.web, "$identify", id, `{"$set":`+properties+`}`)
	}
	object := `{"version":2,"return_type":"object","default_value":{"n":0},"rules":[%s]}`
	all := func(id string) string {
		return `{` + id + `"rule_type":"targeted_release","targeting":{"properties":[]},"value":{"b":1,"a":2}}`
	}
	pro := func(id string) string {
		return `{` + id + `"rule_type":"targeted_release","targeting":{"properties":[{"type":"person","key":"plan","value":"pro"}]},"value":{"a":1}}`
	}
	w.flag(w.web, `{"key":"k","filters":`+fmt.Sprintf(object, pro("")+","+all(""))+`}`)
	f := must(w.changeFlag("k", `{"active":true,"version":1}`))(t)
	r := f.Filters.RuleSet.Rules
	preview := func(filters string) string {
		v := must(w.PreviewFlag(t.Context(), w.as(w.ada), ref(w.web), decode[management.PreviewPatch](t, `{"id":1,"version":2,"filters":`+filters+`}`)))(t)
		return fmt.Sprintf("%d of %d %s", v.Changed, v.Subjects, encode(t, v.Transitions))
	}
	for _, test := range []struct{ filters, want string }{
		{fmt.Sprintf(object, all(echoed(r[1]))+","+pro(echoed(r[0]))), `2 of 3 [{"from":{"a":1},"to":{"a":2,"b":1},"count":2}]`},
		{fmt.Sprintf(object, pro(echoed(r[0]))+","+strings.Replace(all(echoed(r[1])), `"b":1,"a":2`, `"a":2,"b":1`, 1)), `0 of 3 []`},
		{fmt.Sprintf(object, pro(echoed(r[0]))), `1 of 3 [{"from":{"a":2,"b":1},"to":{"n":0},"count":1}]`},
	} {
		if got := preview(test.filters); got != test.want {
			t.Errorf("%s: %s, want %s", test.filters, got, test.want)
		}
	}
	e := must(w.ExplainFlag(t.Context(), w.as(w.ada), ref(w.web), "k", []byte(`{"distinct_id":"ada"}`)))(t)
	if value := encode(t, e.Value); value != `{"a":1}` || e.Result.Reason.Code != "targeting_match" {
		t.Errorf("explained %s, %+v", value, e.Result)
	}
	reasons := must(w.EvaluationReasons(t.Context(), w.as(w.ada), ref(w.web), "eve", ""))(t)
	if value := encode(t, reasons["k"].Value); value != `{"a":2,"b":1}` {
		t.Errorf("evaluated %s", value)
	}
}

// TestRuleSetElsewhere: rules.md §7.6, what else there is about flags.
func TestRuleSetElsewhere(t *testing.T) {
	w := newWorld(t, withData)
	cohort := w.cohort(w.web, `{"name":"Pros","filters":`+pro+`}`)
	experiment := strings.NewReplacer(`"value":"new"`, `"experiment_id":9,"paused":false,"variants":[{"key":"a","weight":50,"value":"x"},{"key":"b","weight":50,"value":"y"}],"holdout":{"id":4,"exclusion_percentage":10}`, "percentage_rollout", "experiment").
		Replace(rolloutTo("", "free", "new"))
	inCohort := strings.Replace(releaseTo("", "pro", "lab"), `{"type":"person","key":"plan","value":"pro"}`, `{"type":"cohort","key":"id","operator":"in","value":`+cohort+`}`, 1)
	f := w.ruleFlag(rules(experiment, inCohort))
	id := strconv.FormatInt(f.ID, 10)
	if r := f.Filters.RuleSet.Rules; !f.HasExperiment || r[0].Holdout.Seed != "holdout-" || r[1].Targeting[0].CohortName != "Pros" {
		t.Errorf("made %s", shown(f.Filters))
	}
	must(w.changeFlag(id, `{"version":1,"active":true}`))(t)
	ctx, ada := t.Context(), w.as(w.ada)

	for kind, want := range map[string]int{"experiment": 1, "boolean": 0, "multivariant": 0} {
		if list := must(w.ListFlags(ctx, ada, ref(w.web), management.FlagQuery{Type: kind}, 10, 0))(t); list.Total != want {
			t.Errorf("%d flags of type %s, want %d", list.Total, kind, want)
		}
	}
	mine := must(w.MyFlags(ctx, ada, ref(w.web), ""))(t)
	if text := encode(t, mine); strings.Contains(text, "seed") || mine[0].Value != "none" {
		t.Errorf("MyFlags = %s", text)
	}
	_, err := w.CreateEarlyAccessFeature(ctx, ada, ref(w.web), decode[management.EarlyAccessPatch](t, `{"name":"n","stage":"beta","feature_flag_id":`+id+`}`))
	checkFault(t, "early access", err, "invalid invalid feature_flag_id")
	_, err = w.changeCohort(cohort, `{"deleted":true}`)
	checkFault(t, "delete the cohort", err, "invalid invalid_input")
	_, err = w.RemoteConfig(ctx, &management.DefinitionsAccess{Project: w.web}, "k")
	if e, ok := errors.AsType[*management.Error](err); !ok || e.Kind != management.ErrNotFound || !strings.Contains(e.Detail, "/flags") {
		t.Errorf("RemoteConfig: %v", err)
	}
	manifest := must(w.Manifest(ctx, &management.DefinitionsAccess{Project: w.web}))(t)
	if text := encode(t, manifest.Flags); text != `[{"key":"k","type":"string","description":"","defaultValue":"none"}]` {
		t.Errorf("Manifest = %s", text)
	}
	_, err = w.UpdateManifestFlag(ctx, ada, ref(w.web), "k", decode[management.ManifestPatch](t, `{"key":"k","type":"string","defaultValue":"other"}`))
	checkFault(t, "default of the manifest", err, "conflict conflict defaultValue")
	must(w.UpdateManifestFlag(ctx, ada, ref(w.web), "k", decode[management.ManifestPatch](t, `{"key":"k","type":"string","description":"Lab"}`)))(t)
}

// TestPublicRuleSets: rules.md §7.5.
func TestPublicRuleSets(t *testing.T) {
	w := newWorld(t, withData)
	w.capture(w.web, "$groupidentify", "u1", `{"$group_type":"company","$group_key":"acme"}`)
	byGroup := strings.Replace(rules(), `"rules"`, `"aggregation_group_type_index":0,"rules"`, 1)
	f := w.ruleFlag(byGroup)
	document := must(w.ExportDefinitions(t.Context(), w.as(w.ada), ref(w.web), management.ExportOptions{}))(t)
	must(w.UpdateProject(t.Context(), w.owner(w.web), ref(w.web), decode[management.ProjectPatch](t, `{"posthog_rules_only":true}`)))(t)
	_, err := w.changeFlag(strconv.FormatInt(f.ID, 10), `{"version":1,"filters":`+byGroup+`}`)
	checkFault(t, "a change", err, "invalid unsupported filters__aggregation_group_type_index")
	for _, body := range []string{`{"version":1,"name":"x"}`, `{"version":2,"key":"renamed"}`, `{"version":3,"active":true}`} {
		must(w.changeFlag(strconv.FormatInt(f.ID, 10), body))(t)
	}
	report := must(w.ImportDefinitions(t.Context(), w.as(w.ada), ref(w.web), document, management.ImportOptions{}))(t)
	if len(report.Left) != 1 || !strings.Contains(report.Left[0].Reason, "aggregation_group_type_index") {
		t.Errorf("imported %+v", report)
	}
	_, err = w.RevertFlag(t.Context(), w.as(w.ada), ref(w.web), "renamed", decode[management.RevertPatch](t, `{"version":1}`))
	checkFault(t, "revert", err, "invalid unsupported filters__aggregation_group_type_index")
}

// TestRuleSetFile: rules.md §2.7 and §7.2: the file of a project keeps its IDs and seeds, and its
// faults.
func TestRuleSetFile(t *testing.T) {
	w := newWorld(t, withData)
	load := func(document string) {
		t.Helper()
		d, err := flags.Decode(strings.NewReader(document))
		w.ok(err)
		w.ok(w.ImportFile(t.Context(), w.web.ID, "flags.json", d))
	}
	const document = `{"flags":[{"id":1,"key":"k","active":true,"version":1,"filters":{"version":2,"return_type":"string","rules":[{"rule_type":"percentage_rollout","rollout_percentage":50,"value":"a"}]}},
		{"id":2,"key":"broken","active":true,"version":1,"filters":{"version":2,"return_type":"string","rules":[{"rule_type":"targeted_release","value":1,"seed":"s-secret"}]}}]}`
	load(document)
	f := must(w.Flag(t.Context(), w.as(w.ada), ref(w.web), "k"))(t)
	rule := f.Filters.RuleSet.Rules[0]
	if !f.Active || rule.ID == "" || rule.Seed == "" {
		t.Fatalf("%s", shown(f.Filters))
	}
	if b := must(w.Flag(t.Context(), w.as(w.ada), ref(w.web), "broken"))(t); b.Filters.Err() == nil || strings.Contains(b.Filters.Err().Error(), "s-secret") {
		t.Errorf("broken: %v", b.Filters.Err())
	}
	before := w.state()
	load(document)
	w.checkUnchanged("the same file", before)
	load(strings.Replace(document, `"rollout_percentage":50`, `"rollout_percentage":60`, 1))
	f = must(w.Flag(t.Context(), w.as(w.ada), ref(w.web), "k"))(t)
	if changed := f.Filters.RuleSet.Rules[0]; changed.RolloutPercentage != 60 || changed.ID != rule.ID || changed.Seed != rule.Seed {
		t.Errorf("%s", shown(f.Filters))
	}
	w.ok(w.ReleaseFiles(t.Context()))
	change := fmt.Sprintf(`{"version":%d,"filters":%s}`, f.Version, strings.Replace(shown(f.Filters), `"rollout_percentage":60`, `"rollout_percentage":70`, 1))
	f = must(w.changeFlag(strconv.FormatInt(f.ID, 10), change))(t)
	if changed := f.Filters.RuleSet.Rules[0]; changed.RolloutPercentage != 70 || changed.Seed != rule.Seed {
		t.Errorf("%s", shown(f.Filters))
	}
}
