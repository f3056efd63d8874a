package management_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// What is stored compiles without a problem, and means what was asked for.
func TestDefinitions(t *testing.T) {
	w := newWorld(t)
	pros := w.cohort(w.web, `{"name":"Pro","filters":`+pro+`}`)
	list := w.cohort(w.web, `{"name":"List","is_static":true}`)
	must(w.changeCohort(w.cohort(w.web, `{"name":"Gone","filters":`+pro+`}`), `{"deleted":true}`))(t)
	base := w.flag(w.web, `{"key":"base","filters":`+inCohort(pros)+`}`)
	w.flag(w.web, `{"key":"user","filters":`+dependsOn(base)+`}`)
	w.flag(w.web, `{"key":"listed","evaluation_runtime":"client","evaluation_contexts":["docs"],"filters":`+inCohort(list)+`}`)
	w.flag(w.web, `{"key":"continuous","ensure_experience_continuity":true,"filters":{"groups":[{"rollout_percentage":50}]}}`)
	w.flag(w.web, `{"key":"device","bucketing_identifier":"device_id","bucketing_hash":"xxhash64","filters":{"groups":[{"rollout_percentage":50}]}}`)
	w.flag(w.web, `{"key":"group","filters":{"groups":[{"properties":[{"key":"size","type":"group","operator":"gt","value":3}]}],"aggregation_group_type_index":0}}`)
	w.flag(w.web, `{"key":"variants","filters":{"groups":[{"variant":"b"}],"multivariate":{"variants":[{"key":"a","rollout_percentage":50},{"key":"b","rollout_percentage":50}]},"payloads":{"b":{"x":1}}}}`)
	w.flag(w.web, `{"key":"off","active":false,"filters":`+everybody+`}`)
	w.flag(w.web, `{"key":"archived","active":false,"archived":true,"filters":`+everybody+`}`)
	w.flag(w.web, `{"key":"conf","is_remote_configuration":true,"has_encrypted_payloads":true,"filters":{"payloads":{"true":"1"}}}`)
	w.flag(w.web, `{"key":"trial","creation_context":"experiments","filters":`+everybody+`}`)
	ctx := t.Context()
	d := storage.FlagDefinitions(must(w.store.CalledFlags(ctx, w.web.ID))(t), must(w.store.Cohorts().List(ctx, storage.CohortProject.Is(w.web.ID), storage.CohortDeleted.Is(false)))(t), map[int]string{0: "company"})
	s := must(flags.Compile(d, flags.CompileOptions{Strict: true}))(t)
	for _, p := range s.Problems() {
		if p.Severity > flags.SeverityWarning {
			t.Errorf("problem: %v", p.Err)
		}
	}
	r := &flags.Request{
		DistinctID: "u", DeviceID: "d", Cohorts: []int64{2}, PersonProperties: map[string]any{"plan": "pro"}, Groups: map[string]string{"company": "acme"},
		GroupProperties: map[string]map[string]any{"company": {"size": 4}}, AnonymousID: "a",
	}
	got := make(map[string]any)
	for key, result := range s.Evaluate(r).All() {
		got[key] = result.Value()
	}
	want := map[string]any{
		"base": true, "user": true, "listed": true, "continuous": flags.Bucket("continuous", "a") <= 0.5, "device": got["device"], "group": true, "variants": "b", "trial": true,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("values (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff([]string{"continuous"}, s.ContinuityFlags()); diff != "" {
		t.Errorf("flags with continuity (-want +got)\n%s", diff)
	}
	byKey := make(map[string]flags.Flag)
	for _, f := range d.Flags {
		byKey[f.Key] = f
	}
	if f := byKey["device"]; f.BucketingHash != "xxhash64" || f.BucketingIdentifier != "device_id" {
		t.Errorf("%+v", f)
	}
	if f := byKey["listed"]; f.EvaluationRuntime != "client" || !cmp.Equal(f.EvaluationContexts, []string{"docs"}) {
		t.Errorf("%+v", f)
	}
	experiment := func(key string) bool { return byKey[key].HasExperiment == nil || *byKey[key].HasExperiment }
	if !experiment("trial") || experiment("base") {
		t.Error("flags of experiments are not told apart")
	}
	if len(d.Flags) != 11 || len(d.Cohorts) != 2 || byKey["archived"].Active || byKey["off"].Active || !byKey["base"].Active || byKey["base"].Version != 1 {
		t.Errorf("%d flags, %d cohorts", len(d.Flags), len(d.Cohorts))
	}

	none := storage.FlagDefinitions(nil, nil, nil)
	if s := must(flags.Compile(none, flags.CompileOptions{}))(t); s.Len() != 0 || len(s.Problems()) != 0 {
		t.Errorf("nothing has %d flags, problems %v", s.Len(), s.Problems())
	}
	broken := storage.FlagDefinitions([]storage.Flag{{Key: "broken", Active: true, Filters: filtersOf("{")}, {Key: "good", Active: true}}, nil, nil)
	s = must(flags.Compile(broken, flags.CompileOptions{}))(t)
	if p := s.Problems(); s.Len() != 2 || p[0].Flag != "broken" || p[0].Severity != flags.SeverityError {
		t.Errorf("filters that are not JSON: %d flags, problems %v", s.Len(), p)
	}
}

// wire.md §5.1 and §5.5: which keys open the definitions of which project.
func TestDefinitionsAccess(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	secret := *must(w.RotateSecretToken(ctx, w.as(w.ada), ref(w.web)))(t).SecretToken
	issue := func(u *storage.User, change ...func(*storage.PersonalKey)) string {
		value := storage.NewPersonalKey()
		k := &storage.PersonalKey{ID: value, User: u.ID, Mask: "phx_...test", Hash: storage.HashKey(value), Created: begin}
		for _, f := range change {
			f(k)
		}
		w.ok(w.store.Keys().Create(ctx, k))
		return value
	}
	all, reader, other := issue(w.ada), issue(w.ada, scopes("feature_flag:read")), issue(w.ada, scopes("survey:write"))
	writer, narrow, foreign := issue(w.ada, scopes("feature_flag:write")), issue(w.ada, onlyProjects(w.app)), issue(w.dov)
	const (
		unknown   = "unauthenticated authentication_failed"
		forbidden = "forbidden permission_denied"
		missing   = "not found not_found"
	)
	app, web, shop := ref(w.app), ref(w.web), ref(w.shop)
	for _, tt := range []struct{ name, key, ref, token, want string }{
		{"no key", "", "", w.web.APIKey, "unauthenticated not_authenticated"},
		{"project key", w.web.APIKey, "", w.web.APIKey, unknown},
		{"wrong personal key", storage.NewPersonalKey(), "", "", unknown},
		{"wrong secret key", "phs_" + secret[5:], "", "", unknown},
		{"endless secret key", "phs_" + chars(100), "", "", unknown},
		{"no such kind", "x", "", "", unknown},

		{"secret key", secret, "", "", "Web"},
		{"secret key and token", secret, "", w.web.APIKey, "Web"},
		{"secret key and token of another project", secret, "", w.app.APIKey, forbidden},
		{"secret key and unknown token", secret, "", "phc_x", forbidden},
		{"secret key by ID", secret, web, "", "Web"},
		{"secret key by ID, whatever the token", secret, web, w.app.APIKey, "Web"},
		{"secret key by another ID", secret, app, "", forbidden},
		{"secret key, current", secret, "@current", "", "Web"},
		{"secret key, current, and token", secret, "@current", w.web.APIKey, "Web"},
		{"secret key, current, and token of another project", secret, "@current", w.app.APIKey, forbidden},

		{"personal key", all, "", "", "Web"},
		{"personal key and token", all, "", w.app.APIKey, "App"},
		{"personal key, current", all, "@current", "", "Web"},
		{"personal key, current, and token", all, "@current", w.app.APIKey, "App"},
		{"personal key by ID", all, app, "", "App"},
		{"personal key by ID, whatever the token", all, app, w.web.APIKey, "App"},
		{"personal key and unknown token", all, "", "phc_x", forbidden},
		{"personal key and token of others", all, "", w.shop.APIKey, forbidden},
		{"personal key by ID of others", all, shop, "", "not found not_found"},
		{"personal key by ID of nothing", all, "99", "", missing},
		{"personal key by name", all, "web", "", missing},
		{"key that may read flags", reader, "", w.web.APIKey, "Web"},
		{"key that may change flags", writer, "", w.web.APIKey, "Web"},
		{"key that may not", other, "", w.web.APIKey, forbidden},
		{"key of one project", narrow, "", w.app.APIKey, "App"},
		{"key of another project", narrow, "", w.web.APIKey, forbidden},
		{"key of somebody else", foreign, "", "", "Shop"},
		{"key of somebody else and token", foreign, "", w.web.APIKey, forbidden},
	} {
		access, err := w.DefinitionsAccess(ctx, tt.key, tt.ref, tt.token)
		got := fault(err)
		if err == nil {
			got = access.Project.Name
			if personal := tt.key != secret; personal != (access.Principal != nil) {
				t.Errorf("%s: principal %v", tt.name, access.Principal)
			}
		}
		if got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
	must(w.RotateSecretToken(ctx, w.as(w.ada), ref(w.web)))(t)
	if _, err := w.DefinitionsAccess(ctx, secret, "", ""); err != nil {
		t.Errorf("the key before the current one: %v", err)
	}
	must(w.DeleteSecretTokenBackup(ctx, w.as(w.ada), ref(w.web)))(t)
	_, err := w.DefinitionsAccess(ctx, secret, "", "")
	checkFault(t, "a key that was withdrawn", err, unknown)
}
