package management_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/internal/fulltest"
	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// applied applies a document to the project Web as Ada.
func (w *world) applied(document string, o management.ApplyOptions) (*management.ApplyReport, error) {
	w.t.Helper()
	return w.ApplyDefinitions(w.t.Context(), w.as(w.ada), ref(w.web), []byte(document), o)
}

// exported returns the project Web as a document.
func (w *world) exported(o management.ExportOptions) string {
	w.t.Helper()
	return string(must(w.ExportDefinitions(w.t.Context(), w.as(w.ada), ref(w.web), o))(w.t))
}

// told are the changes of a report, a line each.
func told(r *management.ApplyReport) (lines []string) {
	for _, c := range r.Changes {
		line := []string{fmt.Sprintf("%s %s %s %d", c.Action, c.Kind, c.Name, c.Version)}
		for _, d := range c.Changes {
			line = append(line, d.String())
		}
		lines = append(lines, strings.Join(line, "; "))
	}
	return lines
}

// problems are why a document was refused, a line each.
func problems(err error) (lines []string) {
	refused, _ := errors.AsType[*management.Error](err)
	if refused == nil || len(refused.Problems) == 0 {
		return []string{fmt.Sprint("no problems, but ", err)}
	}
	for _, p := range refused.Problems {
		lines = append(lines, p.Place+" "+p.What+": "+p.Reason)
	}
	return lines
}

const applyBefore = `{"flags":[
	{"id":11,"key":"base","active":true,"tags":["a"],"filters":{"groups":[{"properties":[{"key":"id","type":"cohort","value":98}],"rollout_percentage":10}]}},
	{"id":12,"key":"top","active":true,"filters":{"groups":[{"properties":[{"key":"11","type":"flag","operator":"flag_evaluates_to","value":true}]}]}},
	{"id":13,"key":"mine","active":true,"filters":{"groups":[{"properties":[{"key":"size","type":"group","group_type_index":0,"operator":"gt","value":7}]}],"aggregation_group_type_index":0}},
	{"id":14,"key":"old","active":false,"archived":true,"filters":{"groups":[{}]}}],
	"cohorts":[{"id":97,"name":"Listed","is_static":true},{"id":98,"name":"Acme","filters":{"properties":{"type":"OR","values":[{"key":"email","type":"person","operator":"icontains","value":"@acme.com"}]}}},
		{"id":99,"name":"Spare","filters":{"properties":{"type":"OR","values":[{"key":"a","type":"person","value":1}]}}}],
	"group_type_mapping":{"0":"company"}}`

// management.md §13.23: flags are found by their keys and cohorts by their names, whatever
// the IDs of the document are; what differs is changed as people change it, and the rest is
// left alone.
func TestApply(t *testing.T) {
	w := newWorld(t, withData)
	must(w.applied(applyBefore, management.ApplyOptions{}))(t)
	const document = `{"flags":[
		{"id":1,"key":"new","active":true,"filters":{"groups":[{"properties":[{"key":"seats","type":"group","group_type_index":1,"operator":"gt","value":1}]}],"aggregation_group_type_index":1}},
		{"id":2,"key":"top","name":"Top","active":true,"filters":{"groups":[{"properties":[{"key":"new","type":"flag","operator":"flag_evaluates_to","value":true,"dependency_chain":["new"]}],"rollout_percentage":33.5}]}},
		{"id":3,"key":"base","active":true,"tags":["a"],"filters":{"groups":[{"variant":null,"properties":[{"key":"id","type":"cohort","value":5,"label":"x"}],"rollout_percentage":10}]}},
		{"id":4,"key":"old","active":true,"filters":{"groups":[{}]}}],
		"cohorts":[{"id":5,"name":"Acme","description":"Ours","filters":{"properties":{"type":"OR","values":[{"key":"email","type":"person","operator":"icontains","value":"@acme.example"}]}}},
			{"id":6,"name":"Fresh","filters":{"properties":{"type":"OR","values":[{"key":"id","type":"cohort","value":5,"negation":true}]}}},{"id":7,"name":"Listed","is_static":true}],
		"group_type_mapping":{"1":"team"}}`
	before := w.state()
	dry, err := w.applied(document, management.ApplyOptions{DryRun: true})
	w.ok(err)
	w.checkUnchanged("a dry run", before)
	if types := must(w.store.GroupTypes(t.Context(), w.web.ID))(t); len(types) != 1 {
		t.Errorf("after a dry run the group types are %v, want company alone", types)
	}
	r, err := w.applied(document, management.ApplyOptions{IfMatch: &dry.ETag})
	w.ok(err)
	if diff := cmp.Diff([]string{
		`changed cohort Acme 0; description: Ours added; criterion 1, value: @acme.com → @acme.example`,
		`created cohort Fresh 0`,
		`created flag new 1`,
		`changed flag old 2; state: off → on; archived: yes → no`,
		`changed flag top 2; name: Top added; condition set 1, filter 1, key: base → new; condition set 1, rollout percentage: 33.5% added`,
	}, told(r), same); diff != "" || r.Unchanged != 2 || r.Parity != 1000 {
		t.Errorf("%d unchanged, tried for %d subjects (-want +got)\n%s", r.Unchanged, r.Parity, diff)
	}
	if diff := cmp.Diff(r, dry, same); diff != "" {
		t.Errorf("report of the dry run (-real +dry)\n%s", diff)
	}
	var log []string
	for _, a := range w.activities()[:5] {
		log = append(log, a.Scope+" "+a.Activity)
	}
	slices.Sort(log)
	if diff := cmp.Diff([]string{"Cohort created", "Cohort updated", "FeatureFlag created", "FeatureFlag updated", "FeatureFlag updated"}, log, same); diff != "" {
		t.Errorf("activity log (-want +got)\n%s", diff)
	}
	top := must(w.FlagVersions(t.Context(), w.as(w.ada), ref(w.web), "top", 10, 0))(t)
	if v := top.Items[0]; len(top.Items) != 2 || !strings.Contains(v.Summary, "name: Top added") || v.CreatedBy.Email != w.ada.Email {
		t.Errorf("newest version of top: %+v", v)
	}
	if f := w.seeFlag("top"); f.Version != 2 || !strings.Contains(shown(f.Filters), `"rollout_percentage":33.5`) || f.LastModifiedBy.Email != w.ada.Email {
		t.Errorf("top is %+v", f)
	}

	after := w.state()
	again, err := w.applied(document, management.ApplyOptions{})
	w.ok(err)
	w.checkUnchanged("a second apply", after)
	if len(again.Changes) > 0 || again.Unchanged != 7 || again.Parity != 0 {
		t.Errorf("second report: %+v", again)
	}
	if _, err := w.applied(document, management.ApplyOptions{IfMatch: &r.ETag}); fault(err) != "precondition precondition_failed" {
		t.Errorf("apply to a project that has changed: %v", err)
	}
	if _, err := w.applied(document, management.ApplyOptions{IfMatch: &again.ETag}); err != nil {
		t.Errorf("apply to the project that was seen: %v", err)
	}
}

// What the document does not have is archived and deleted on request, unless something
// that stays needs it.
func TestApplyPrune(t *testing.T) {
	const document = `{"flags":[{"key":"kept","active":true,"filters":{"groups":[{}]}}],"cohorts":[]}`
	prune := management.ApplyOptions{Prune: true}
	w := newWorld(t, withData)
	must(w.applied(applyBefore, management.ApplyOptions{}))(t)
	w.flag(w.web, `{"key":"secret","is_remote_configuration":true,"has_encrypted_payloads":true,"filters":{"payloads":{"true":"1"}}}`)
	r, err := w.applied(document, prune)
	w.ok(err)
	if diff := cmp.Diff([]string{
		"deleted cohort Acme 0; deleted: no → yes", "deleted cohort Listed 0; deleted: no → yes", "deleted cohort Spare 0; deleted: no → yes",
		"archived flag base 2; state: on → off; archived: no → yes", "created flag kept 1",
		"archived flag mine 2; state: on → off; archived: no → yes", "archived flag top 2; state: on → off; archived: no → yes",
	}, told(r), same); diff != "" {
		t.Errorf("changes (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff([]string{"The flag secret stays: its payloads are encrypted, so that no document has it."}, r.Notes, same); diff != "" {
		t.Errorf("notes (-want +got)\n%s", diff)
	}
	after := w.state()
	if r, err = w.applied(document, prune); err != nil || len(r.Changes) > 0 {
		t.Errorf("pruned again: %v, %v", r, err)
	}
	w.checkUnchanged("a second apply", after)

	// The flags come back with their history.
	must(w.applied(applyBefore, management.ApplyOptions{}))(t)
	if f := w.seeFlag("base"); f.Archived || !f.Active || f.Version != 3 {
		t.Errorf("base is back as %+v", f)
	}

	users := make(linkedFlags)
	w = newWorld(t, withData, func(c *management.Config) { c.FlagUsers = users })
	must(w.applied(applyBefore, management.ApplyOptions{}))(t)
	w.feature(w.web, `{"name":"Alpha","stage":"draft"}`)
	users[w.seeFlag("mine").ID] = []management.FlagUser{{ID: uuid.New(), Name: "Poll"}}
	before := w.state()
	const some = `{"flags":[{"id":2,"key":"top","active":true,"filters":{"groups":[{"properties":[{"key":"id","type":"cohort","value":7}]}]}},{"id":3,"key":"over","active":true,"filters":{"groups":[{}]}}],
		"cohorts":[{"id":7,"name":"Fresh","filters":{"properties":{"type":"OR","values":[{"key":"a","type":"person","value":1}]}}}]}`
	_, err = w.applied(some, prune)
	want := []string{
		` flag mine: the document does not have it, and it cannot be archived: it is used by the survey "Poll"`,
		` flag alpha: the document does not have it, and it cannot be archived: it is used by the early access feature "Alpha"`,
	}
	if diff := cmp.Diff(want, problems(err), same); diff != "" {
		t.Errorf("problems (-want +got)\n%s", diff)
	}
	w.checkUnchanged("a refused apply", before)
	_, dry := w.applied(some, management.ApplyOptions{Prune: true, DryRun: true})
	if diff := cmp.Diff(problems(err), problems(dry), same); diff != "" {
		t.Errorf("problems of a dry run (-real +dry)\n%s", diff)
	}
}

// Everything is judged, all problems are told with their places, and nothing is stored.
func TestApplyRefuses(t *testing.T) {
	w := newWorld(t, withData)
	must(w.applied(applyBefore, management.ApplyOptions{}))(t)
	w.flag(w.web, `{"key":"secret","is_remote_configuration":true,"has_encrypted_payloads":true,"filters":{"payloads":{"true":"1"}}}`)
	const internal = "survey-targeting-x"
	f := storage.NewFlag(w.web.ID, w.clock.Now())
	f.Key, f.Kind, f.Filters = internal, storage.FlagSurveyTargeting, filtersOf(when("plan", "pro"))
	w.ok(w.store.Flags().Create(t.Context(), f))
	must(w.CreateCohort(t.Context(), w.as(w.ada), ref(w.web), decode[management.CohortPatch](t, `{"name":"Acme","is_static":true}`)))(t)
	before := w.state()
	const any = `"filters":{"groups":[{}]}`
	for _, tt := range []struct {
		name, document string
		want           []string
	}{
		{"many", `{"flags":[
			{"key":"top","active":true,"filters":{"groups":[{},{"rollout_percentage":120}]}},
			{"key":"a b","active":true,` + any + `},
			{"key":"secret","active":true,"is_remote_configuration":true,` + any + `},
			{"key":"` + internal + `","active":true,` + any + `},
			{"key":"twice","active":true,` + any + `},{"key":"twice","active":true,` + any + `},
			{"key":"both","active":true,"archived":true,` + any + `},
			{"key":"loop","active":true,"filters":{"groups":[{"properties":[{"key":"round","type":"flag","operator":"flag_evaluates_to","value":true,"dependency_chain":[]}]}]}},
			{"key":"round","active":true,"filters":{"groups":[{"properties":[{"key":"loop","type":"flag","operator":"flag_evaluates_to","value":true,"dependency_chain":[]}]}]}},
			{"key":"alone","active":true,"filters":{"groups":[{"properties":[{"key":"base","type":"flag","operator":"flag_evaluates_to","value":true,"dependency_chain":[]}]}]}},
			{"key":"lost","active":true,"filters":{"groups":[{"properties":[{"key":"id","type":"cohort","value":98}]}]}},
			{"active":true,` + any + `},
			{"key":"x","active":true,"filters":{"groups":[{"rollout":5}]}},
			{"key":"y","active":true,"filters":{"groups":[{}],"payloads":{"a/b":"1"}}}],
			"cohorts":[{"id":1,"name":"Listed","filters":` + pro + `},{"id":2,"name":"Acme","filters":` + pro + `},{"id":3,"name":"New","filters":{"properties":{"type":"OR","values":[{"key":"a","type":"person","operator":"like","value":1}]}}}]}`, []string{
			`/cohorts/0 cohort Listed (id 1): a cohort cannot become static or dynamic later; give it another name, or delete the one that the project has`,
			`/cohorts/1 cohort Acme (id 2): which cohort is meant cannot be told: the document has 1 with this name and the project 2; rename them`,
			`/cohorts/2/filters/properties/values/0/operator cohort New (id 3): filters/properties/values/0/operator: must be `,
			`/flags/0/filters/groups/1/rollout_percentage flag top: filters/groups/1/rollout_percentage: must be a number from 0 to 100, not 120`,
			`/flags/1/key flag a b: key: Only letters`,
			`/flags/2 flag secret: the project keeps the payloads of this flag encrypted`,
			`/flags/3 flag ` + internal + `: The flag belongs to a survey`,
			`/flags/5 flag twice: the file has another flag with this key before`,
			`/flags/6/archived flag both: archived: An archived flag cannot be active.`,
			`/flags/7 flag loop: its flags depend on each other in a circle`,
			`/flags/8 flag round: its flags depend on each other in a circle`,
			`/flags/9 flag alone: it depends on the flag "base", which the file does not have`,
			`/flags/10 flag lost: it needs the cohort with the id 98, which was not imported`,
			`/flags/11 flag : it has no key`,
			`/flags/12/filters/groups/0/rollout flag x: filters/groups/0/rollout: unknown member, write rollout_percentage`,
			`/flags/13/filters/payloads flag y: filters/payloads: `,
		}},
		{"a flag that others need", `[{"key":"base","active":false,` + any + `}]`, []string{`/0 flag base: it cannot be switched off: other active flags depend on it: top`}},
		{"an encrypted flag", `{"flags":[{"key":"s","has_encrypted_payloads":true,"is_remote_configuration":true,` + any + `}]}`, []string{"/flags/0/has_encrypted_payloads flag s: has_encrypted_payloads: its payloads are encrypted"}},
		{"pages", `{"flags":{"results":[{"key":"a b",` + any + `}]}}`, []string{"/flags/results/0/key flag a b: key: Only letters"}},
		{"a tree by ID", `{"flags":[],"cohorts":{"7":{"type":"XOR","values":[]}}}`, []string{"/cohorts/7/filters/properties/type cohort Imported cohort 7 (id 7): filters/properties/type: must be AND or OR"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := w.applied(tt.document, management.ApplyOptions{})
			checkFault(t, "apply", err, "invalid invalid_document")
			got := problems(err)
			slices.SortFunc(got, strings.Compare)
			slices.SortFunc(tt.want, strings.Compare)
			for n := range max(len(got), len(tt.want)) {
				if n >= len(got) || n >= len(tt.want) || !strings.HasPrefix(got[n], tt.want[n]) {
					t.Fatalf("problems\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(tt.want, "\n"))
				}
			}
			w.checkUnchanged("a refused apply", before)
		})
	}
	_, err := w.applied(`[{"key":"a",`+any+`}] [{"key":"b",`+any+`}]`, management.ApplyOptions{})
	checkFault(t, "apply of two lists", err, "invalid invalid_input")
	_, err = newWorld(t).applied(`{"flags":[]}`, management.ApplyOptions{})
	checkFault(t, "apply without Config.Data", err, "not found not_available")
}

// An early access feature, which no document has, decides whether its flag is open for
// enrolment; a flag keeps its experiment unless the document says otherwise, and a
// project its time zone.
func TestApplyKeeps(t *testing.T) {
	w := newWorld(t, withData)
	w.feature(w.web, `{"name":"Open","stage":"beta"}`)
	w.feature(w.web, `{"name":"Shut","stage":"draft"}`)
	w.flag(w.web, `{"key":"tried","creation_context":"experiments","filters":`+everybody+`}`)
	r, err := w.applied(`{"flags":[
		{"key":"open","active":true,"filters":{"groups":[{"rollout_percentage":7}]}},
		{"key":"shut","active":true,"filters":{"groups":[{"rollout_percentage":7}],"feature_enrollment":true}},
		{"key":"free","active":true,"filters":{"groups":[{"rollout_percentage":7}],"feature_enrollment":true}},
		{"key":"tried","active":true,"filters":{"groups":[{"rollout_percentage":7}]}}]}`, management.ApplyOptions{})
	w.ok(err)
	if len(r.Changes) != 4 || r.Parity != 1000 {
		t.Errorf("report %+v", r)
	}
	for key, want := range map[string]bool{"open": true, "shut": false, "free": true} {
		if got := strings.Contains(shown(w.seeFlag(key).Filters), `"feature_enrollment":true`); got != want {
			t.Errorf("flag %s is open for enrolment: %t, want %t", key, got, want)
		}
	}
	if !w.seeFlag("tried").HasExperiment {
		t.Error("a document that does not say so has taken the experiment away")
	}
	if r, err = w.applied(`[{"key":"tried","active":true,"has_experiment":false,"filters":{"groups":[{"rollout_percentage":7}]}}]`, management.ApplyOptions{}); err != nil || w.seeFlag("tried").HasExperiment {
		t.Errorf("a document that says so leaves the experiment: %+v, %v", r, err)
	}
	r, err = w.applied(`{"timezone":"Asia/Tokyo","flags":[]}`, management.ApplyOptions{})
	if w.ok(err); len(r.Notes) != 1 || must(w.GetProject(t.Context(), w.as(w.ada), ref(w.web)))(t).Timezone != "UTC" {
		t.Errorf("a document with another time zone: notes %q, want one, and the zone as it was", r.Notes)
	}
}

// A document of flags that depend on each other takes more than one stage of more than one
// turn, of which one is read while another is stored.
func TestApplyTurns(t *testing.T) {
	w := newWorld(t, withData)
	document := func(percentage int) string {
		var b strings.Builder
		const flag = `{"id":%d,"key":"f%[1]d","active":true,"filters":{"groups":[{"properties":[%s],"rollout_percentage":%d}]}},`
		for n := range 1500 {
			fmt.Fprintf(&b, flag, n, "", percentage)
			fmt.Fprintf(&b, flag, 5000+n, fmt.Sprintf(`{"key":"%d","type":"flag","operator":"flag_evaluates_to","value":true}`, n), percentage)
		}
		return "[" + strings.TrimSuffix(b.String(), ",") + "]"
	}
	for _, percentage := range []int{10, 20} {
		r, err := w.applied(document(percentage), management.ApplyOptions{})
		if w.ok(err); len(r.Changes) != 3000 {
			t.Errorf("%d changes, want 3000", len(r.Changes))
		}
	}
}

// A randomProject draws documents whose flags and cohorts have few keys and names, so that
// two of them have something in common.
type randomProject struct{ *rand.Rand }

func (r randomProject) chance(percent int) bool { return r.IntN(100) < percent }

func (r randomProject) document() string {
	ids := r.Perm(100)
	cohorts, flags := []string{}, []string{}
	var cohortIDs []int
	for n := range 5 {
		if r.chance(30) {
			continue
		}
		leaf := fmt.Sprintf(`{"key":"plan","type":"person","operator":"exact","value":["%d"]}`, r.IntN(3))
		if len(cohortIDs) > 0 && r.chance(40) {
			leaf = fmt.Sprintf(`{"key":"id","type":"cohort","value":%d}`, cohortIDs[r.IntN(len(cohortIDs))])
		}
		cohorts = append(cohorts, fmt.Sprintf(`{"id":%d,"name":"Cohort %d","description":"%d","is_static":%t,"filters":{"properties":{"type":"OR","values":[%s]}}}`,
			ids[n], n, r.IntN(2), n == 4, leaf))
		cohortIDs = append(cohortIDs, ids[n])
	}
	var active []int
	for n := range 10 {
		if r.chance(25) {
			continue
		}
		id, properties := ids[20+n], []string{}
		if len(cohortIDs) > 0 && r.chance(40) {
			properties = append(properties, fmt.Sprintf(`{"key":"id","type":"cohort","value":%d}`, cohortIDs[r.IntN(len(cohortIDs))]))
		}
		if len(active) > 0 && r.chance(40) {
			properties = append(properties, fmt.Sprintf(`{"key":"%d","type":"flag","operator":"flag_evaluates_to","value":true}`, active[r.IntN(len(active))]))
		}
		more, on := "", r.chance(80)
		switch {
		case r.chance(15):
			more = `,"multivariate":{"variants":[{"key":"a","rollout_percentage":50},{"key":"b","rollout_percentage":50}]},"payloads":{"a":{"n":1}}`
		case r.chance(15):
			more = `,"aggregation_group_type_index":0`
			properties = []string{`{"key":"size","type":"group","group_type_index":0,"operator":"gt","value":1}`}
		}
		flags = append(flags, fmt.Sprintf(`{"id":%d,"key":"flag-%d","name":"%d","active":%t,"archived":%t,"has_experiment":%t,"filters":{"groups":[{"properties":[%s],"rollout_percentage":%d}]%s}}`,
			id, n, r.IntN(2), on, !on && r.chance(50), r.chance(20), strings.Join(properties, ","), r.IntN(3)*10, more))
		if on {
			active = append(active, id)
		}
	}
	r.Shuffle(len(flags), func(i, j int) { flags[i], flags[j] = flags[j], flags[i] })
	types := []string{"company", "team"}[r.IntN(2)]
	return fmt.Sprintf(`{"flags":[%s],"cohorts":[%s],"group_type_mapping":{"0":%q}}`, strings.Join(flags, ","), strings.Join(cohorts, ","), types)
}

// byName returns the flags and cohorts of an export by key and name, without IDs: filters
// name what they refer to.
func byName(t testing.TB, document string) map[string]any {
	t.Helper()
	d := decode[struct {
		Flags, Cohorts []map[string]any
		Types          map[string]string `json:"group_type_mapping"`
	}](t, document)
	things, names := make(map[string]any), make(map[string]string)
	for _, f := range d.Flags {
		names[fmt.Sprint("flag ", f["id"])] = f["key"].(string)
	}
	for _, c := range d.Cohorts {
		names[fmt.Sprint("cohort ", c["id"])] = c["name"].(string)
	}
	var named func(v any) any
	named = func(v any) any {
		switch v := v.(type) {
		case []any:
			for n := range v {
				v[n] = named(v[n])
			}
		case map[string]any:
			switch v["type"] {
			case "cohort":
				v["value"] = names[fmt.Sprint("cohort ", v["value"])]
			case "flag":
				v["key"] = names[fmt.Sprint("flag ", v["key"])]
			}
			for name, index := range v {
				if n, ok := index.(float64); ok && strings.HasSuffix(name, "group_type_index") {
					v[name] = d.Types[fmt.Sprint(n)]
				} else {
					v[name] = named(index)
				}
			}
		}
		return v
	}
	for _, f := range d.Flags {
		delete(f, "id")
		things["flag "+f["key"].(string)] = named(f)
	}
	for _, c := range d.Cohorts {
		delete(c, "id")
		things["cohort "+c["name"].(string)] = named(c)
	}
	return things
}

// Whatever a project has and a document says: afterwards the project has what the document
// says, and with pruning nothing else; a second apply changes nothing; a dry run tells what
// the real one does, and both are refused alike.
func TestApplyRandom(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := randomProject{rand.New(rand.NewPCG(seed, 0))}
	refused, all := 0, fulltest.Count(20, 300)
	for n := range all {
		there, w := newWorld(t, withData), newWorld(t, withData)
		must(there.Import(t.Context(), there.web.ID, []byte(r.document()), management.ImportOptions{}))(t)
		must(w.Import(t.Context(), w.web.ID, []byte(r.document()), management.ImportOptions{}))(t)
		document := there.exported(management.ExportOptions{Archived: true})
		o := management.ApplyOptions{Prune: r.chance(50)}
		was := byName(t, w.exported(management.ExportOptions{Archived: true}))
		before := w.state()
		dry, dryErr := w.applied(document, management.ApplyOptions{Prune: o.Prune, DryRun: true})
		w.checkUnchanged("a dry run", before)
		real, err := w.applied(document, o)
		if diff := cmp.Diff(fmt.Sprint(err), fmt.Sprint(dryErr), same); diff != "" {
			t.Fatalf("case %d: errors (-real +dry)\n%s", n, diff)
		}
		if err != nil {
			refused++
			if e, ok := errors.AsType[*management.Error](err); !ok || len(e.Problems) == 0 {
				t.Fatalf("case %d: %v", n, err)
			}
			w.checkUnchanged("a refused apply", before)
			continue
		}
		if diff := cmp.Diff(real, dry, cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".ID" }, cmp.Ignore())); diff != "" {
			t.Fatalf("case %d: report (-real +dry)\n%s", n, diff)
		}
		want, got := byName(t, document), byName(t, w.exported(management.ExportOptions{Archived: true}))
		for name, thing := range got {
			if want[name] != nil {
				continue
			}
			old := was[name]
			if flag, _ := thing.(map[string]any); o.Prune && strings.HasPrefix(name, "flag ") && flag["archived"] == true {
				if f, _ := old.(map[string]any); f["archived"] != true {
					f["archived"], f["active"] = true, false
				}
				// It does not keep cohorts that the document does not have either.
				delete(flag, "filters")
				delete(old.(map[string]any), "filters")
			} else if o.Prune {
				t.Errorf("case %d: %s is still there", n, name)
			}
			want[name] = old
		}
		if diff := cmp.Diff(want, got, same); diff != "" {
			t.Fatalf("case %d, pruned: %t: the project (-want +got)\n%s", n, o.Prune, diff)
		}
		after := w.state()
		again, err := w.applied(document, o)
		if err != nil || len(again.Changes) > 0 {
			t.Fatalf("case %d: applied again: %v, %v", n, again, err)
		}
		w.checkUnchanged("a second apply", after)
	}
	if refused*2 > all {
		t.Errorf("%d of %d documents were refused: the test says too little", refused, all)
	}
}

// Two applies at once are one after the other: the second one changes nothing, or is
// refused if it says what it has seen.
func TestApplyAtOnce(t *testing.T) {
	w := newWorld(t, withData)
	seen := must(w.applied(`{"flags":[]}`, management.ApplyOptions{}))(t).ETag
	results := make(chan error)
	for n := range 4 {
		document := fmt.Sprintf(`[{"key":"a","active":true,"filters":{"groups":[{"rollout_percentage":%d}]}}]`, n)
		go func() {
			_, err := w.ApplyDefinitions(context.Background(), w.as(w.ada), ref(w.web), []byte(document), management.ApplyOptions{IfMatch: &seen})
			results <- err
		}()
	}
	done := 0
	for range 4 {
		switch err := <-results; fault(err) {
		case "":
			done++
		case "precondition precondition_failed":
		default:
			t.Error(err)
		}
	}
	if done != 1 {
		t.Errorf("%d of 4 documents were applied to what they had seen, want 1", done)
	}
}

func FuzzApply(f *testing.F) {
	f.Add([]byte(applyBefore), true)
	f.Add([]byte(`{"flags":[{"id":1,"key":"base","filters":{"groups":[]}}],"cohorts":{"1":{"type":"AND","values":[]}}}`), false)
	f.Fuzz(func(t *testing.T, document []byte, prune bool) {
		if len(document) > 4<<10 {
			return
		}
		w := newWorld(t, withData)
		must(w.applied(applyBefore, management.ApplyOptions{}))(t)
		before := w.state()
		o := management.ApplyOptions{Prune: prune}
		if _, err := w.applied(string(document), o); err != nil {
			if got := fault(err); strings.HasPrefix(got, "failure") || strings.HasPrefix(got, "incomplete") {
				t.Fatalf("apply: %s", got)
			}
			w.checkUnchanged("a refused apply", before)
			return
		}
		if again, err := w.applied(string(document), o); err != nil || len(again.Changes) > 0 {
			t.Errorf("applied again: %v, %v", again, err)
		}
	})
}
