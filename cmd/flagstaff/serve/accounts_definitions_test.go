package serve

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/flags"
	"github.com/flagstaff-go/flagstaff/flags/source"
	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/optional"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// definitionRows are about what clients fetch to evaluate by themselves (wire.md
// §5).
var definitionRows = []accountRow{
	{"definitions 1", "are opened by the keys of wire.md §5.5", definitionKeys},
	{"definitions 2", "of others", foreignDefinitions},
	{"definitions 3", "have an entity tag", definitionTags},
	{"definitions 4", "are all flags but those of surveys, and those with secrets", definitionContent},
	{"definitions 5", "payloads of remote configuration", remoteConfigs},
	{"definitions 6", "count as requests for flags", func(t *testing.T, s *site) {
		own := s.deployment.start(t, "-quota", "15")
		a := own.account(t)
		own.awaitProject(t, a)
		call := "GET /flags/definitions?token=" + a.project.APIToken
		if r := own.with(*a.project.SecretToken).get(t, call); r.status != http.StatusOK {
			t.Errorf("%s = %d %s, want 200", call, r.status, r.body)
		}
		r := own.with(*a.project.SecretToken).get(t, call)
		var got struct{ Type, Code string }
		if err := json.Unmarshal([]byte(r.body), &got); err != nil || r.status != http.StatusPaymentRequired || got.Type != "quota_limited" {
			t.Errorf("%s over the quota = %d %s, want 402 quota_limited", call, r.status, r.body)
		}
	}},
	{"definitions 7", "carry the ids of static cohorts and the time zone, and a process that asks has the server's values", followedDefinitions},
}

// definitionCalls are all ways to ask for the documents that a project serves to
// SDKs. {token} stands for its API key.
var definitionCalls = []string{
	"GET /flags/definitions?token={token}",
	"GET /flags/definitions/?send_cohorts&token={token}",
	"GET /api/feature_flag/local_evaluation?token={token}",
	"GET /api/feature_flag/local_evaluation/?token={token}&send_cohorts",
	"GET /api/projects/{project}/feature_flags/local_evaluation",
	"GET /api/projects/{project}/feature_flags/local_evaluation/?token={token}",
	"GET /api/projects/@current/feature_flags/local_evaluation/?token={token}",
	"GET /api/environments/{project}/feature_flags/local_evaluation/",
	"GET /api/projects/{project}/feature_flags/{id}/remote_config",
	"GET /api/projects/@current/feature_flags/{id}/remote_config?token={token}",
	"GET /api/environments/{project}/feature_flags/{id}/remote_config/",
	"GET /openfeature/v0/manifest?token={token}",
	"GET /api/projects/{project}/openfeature/v0/manifest/",
}

// defined returns a call about the project of an account and a flag.
func defined(call string, a *account, flag string) string {
	return strings.NewReplacer("{token}", a.project.APIToken, "{project}", fmt.Sprint(a.project.ID), "{id}", flag).Replace(call)
}

// get sends a GET to a path that is not an operation.
func (c *caller) get(t *testing.T, call string, header ...string) *answer {
	t.Helper()
	return c.fetch(t, call, "", header...)
}

// fetch sends a request whose answer the client may keep.
func (c *caller) fetch(t *testing.T, call, body string, header ...string) *answer {
	t.Helper()
	r, err := c.send(t.Context(), call, body, header...)
	if err != nil {
		t.Fatal(err)
	}
	for name := range r.header {
		if strings.HasPrefix(name, "Access-Control-") {
			t.Errorf("%s = %d with %s; other origins have no business here", call, r.status, name)
		}
	}
	return r
}

func definitionKeys(t *testing.T, s *site) {
	a, gone, idle := s.account(t), s.account(t), s.account(t)
	s.awaitProject(t, a)
	flag := s.remoteConfig(t, a)
	s.revoke(t, gone.key)
	idle.Active = false
	if err := s.store.Users().Update(t.Context(), idle.User); err != nil {
		t.Fatal(err)
	}
	secret := *a.project.SecretToken
	rotated := s.as(a).call(t, fmt.Sprintf("POST /api/projects/%d/rotate_secret_token/", a.project.ID), "").ok(t)["secret_api_token"].(string)
	for _, call := range definitionCalls {
		call = defined(call, a, flag)
		s.stranger().get(t, call).fails(t, 401, "not_authenticated", "")
		s.stranger().get(t, call, "Authorization", "Basic "+a.key).fails(t, 401, "not_authenticated", "")
		for what, key := range map[string]string{
			"an unknown personal key": storage.NewPersonalKey(), "a deleted key": gone.key, "a key of an inactive user": idle.key,
			"a project API key": a.project.APIToken, "an unknown secret key": "phs_" + strings.Repeat("0", 43), "a short one": "phs_",
			"a secret key without its prefix": strings.TrimPrefix(secret, "phs_"), "the hash of one": storage.HashKey(secret), "text": "wrong",
		} {
			if r := s.with(key).get(t, call); r.status != http.StatusUnauthorized {
				t.Errorf("%s with %s = %d %s, want 401", call, what, r.status, r.body)
			} else {
				r.fails(t, 401, "authentication_failed", "")
			}
		}
		without := s.issue(t, a, slices.DeleteFunc(slices.Clone(writeScopes), func(scope management.Scope) bool { return scope == "feature_flag:write" })...)
		detail := s.with(without).get(t, call).fails(t, 403, "permission_denied", "")
		if want := "API key missing required scope 'feature_flag:read'"; detail != want {
			t.Errorf("%s: detail %q, want %q", call, detail, want)
		}
		for what, key := range map[string]string{
			"a key with the scope": s.issue(t, a, "feature_flag:read"), "a key that may write": s.issue(t, a, "feature_flag:write"), "a key for everything": a.key,
			"the secret key": rotated, "the one before": secret,
		} {
			if r := s.with(key).get(t, call); r.status != http.StatusOK || r.header.Get("Content-Type") != "application/json" {
				t.Errorf("%s with %s = %d %s, want 200", call, what, r.status, r.body)
			}
		}
		// The key counts only in the header.
		query := "?"
		if strings.Contains(call, "?") {
			query = "&"
		}
		for _, name := range []string{"personal_api_key", "secret_api_key"} {
			s.stranger().get(t, call+query+name+"="+rotated).fails(t, 401, "not_authenticated", "")
		}
		for method, status := range map[string]int{"HEAD": 200, "OPTIONS": 204, "POST": 405, "PUT": 405, "DELETE": 405} {
			r, err := s.with(rotated).send(t.Context(), method+strings.TrimPrefix(call, "GET"), "")
			if err != nil || r.status != status || (r.header.Get("Allow") == "GET, OPTIONS, HEAD") != (status != 200) {
				t.Errorf("%s of %s = %v, %v with Allow %q, want %d", method, call, statusOf(r), err, r.header.Get("Allow"), status)
			}
		}
	}
	// A secret key opens nothing else.
	s.with(rotated).call(t, "GET /api/users/@me/", "").fails(t, 401, "authentication_failed", "")
	askFlags(t, s, rotated, http.StatusUnauthorized)
	s.capture(t, rotated, http.StatusUnauthorized)
	s.as(a).call(t, fmt.Sprintf("POST /api/projects/%d/delete_secret_token_backup/", a.project.ID), "").ok(t)
	s.with(secret).get(t, defined(definitionCalls[0], a, flag)).fails(t, 401, "authentication_failed", "")
}

// foreignDefinitions asks with the right keys for the wrong projects.
func foreignDefinitions(t *testing.T, s *site) {
	v := s.target(t)
	other, elsewhere := s.account(t), s.account(t)
	s.join(t, v.account, elsewhere)
	for _, a := range []*account{v.account, other, elsewhere} {
		s.awaitProject(t, a)
	}
	flag, own := s.remoteConfig(t, v.account), s.remoteConfig(t, other)
	refused := map[string]string{
		"a personal key of others": other.key, "a secret key of others": *other.project.SecretToken,
		"a key for another project": s.restrict(t, v.account, management.KeyPatch{
			Projects: optional.Of(json.RawMessage(fmt.Sprintf("[%d]", elsewhere.project.ID))),
		}),
		"a key for another organization": s.restrict(t, v.account, management.KeyPatch{
			Organizations: optional.Of(json.RawMessage(`["` + elsewhere.organization.ID.String() + `"]`)),
		}),
		"a key of staff": s.staff(t).key,
	}
	for _, call := range definitionCalls {
		call = defined(call, v.account, flag)
		for what, key := range refused {
			r := s.with(key).get(t, call)
			if sees := what != "a personal key of others" && what != "a key of staff"; !sees && strings.Contains(call, fmt.Sprintf("/%d/", v.account.project.ID)) {
				r.fails(t, 404, "not_found", "") // as if the project did not exist (management.md §1.5)
			} else {
				r.fails(t, 403, "permission_denied", "")
			}
			v.checkSilent(t, r, call+v.foreign.organization) // which its own users may know
		}
	}
	// Without a project in the request, keys open their own project, and the answer
	// has nothing of others.
	for _, key := range []string{other.key, *other.project.SecretToken} {
		for _, call := range []string{
			"GET /flags/definitions", "GET /api/feature_flag/local_evaluation/", "GET /api/projects/@current/feature_flags/local_evaluation/",
			"GET /flags/definitions?token=" + other.project.APIToken,
		} {
			r := s.with(key).get(t, call)
			if r.status != http.StatusOK || !strings.Contains(r.body, fmt.Sprintf(`"team_id":%d,`, other.project.ID)) {
				t.Errorf("%s = %d %s, want the flags of the key's project", call, r.status, r.body)
			}
			v.checkSilent(t, r, call)
		}
		for _, id := range []string{flag, v.foreign.ids["feature_flags"], unknownNumber, "none"} {
			s.with(key).get(t, defined("GET /api/projects/{project}/feature_flags/{id}/remote_config/", other, id)).fails(t, 404, "not_found", "")
		}
		s.with(key).get(t, defined("GET /api/projects/{project}/feature_flags/{id}/remote_config/", other, own)).ok2xx(t)
	}
	// If the path and the query name projects, the path counts for a user who may
	// read both.
	both := "GET " + fmt.Sprintf("/api/projects/%d/feature_flags/local_evaluation/?token=%s", elsewhere.project.ID, v.project.APIToken)
	if r := s.as(v.account).get(t, both); r.status != http.StatusOK || strings.Contains(r.body, fmt.Sprintf(`"team_id":%d,`, v.project.ID)) {
		t.Errorf("%s = %d %s, want the flags of the path's project", both, r.status, r.body)
	}
	s.as(v.account).get(t, "GET /flags/definitions?token=phc_nobodys").fails(t, 403, "permission_denied", "")
}

func definitionTags(t *testing.T, s *site) {
	a := s.account(t)
	s.awaitProject(t, a)
	me := s.with(*a.project.SecretToken)
	for _, call := range definitionCalls {
		if strings.Contains(call, "remote_config") || strings.Contains(call, "manifest") {
			continue
		}
		call = defined(call, a, "")
		first := me.get(t, call)
		tag := first.header.Get("Etag")
		if first.status != http.StatusOK || !strings.HasPrefix(tag, `W/"`) || first.header.Get("Cache-Control") != "private, must-revalidate" {
			t.Fatalf("%s = %d with %v; want 200 with a weak entity tag", call, first.status, first.header)
		}
		for _, match := range []string{tag, strings.TrimPrefix(tag, "W/"), "*", `"other", ` + tag} {
			if r := me.get(t, call, "If-None-Match", match); r.status != http.StatusNotModified || r.body != "" || r.header.Get("Etag") != tag {
				t.Errorf("%s with If-None-Match: %s = %d %q with %v; want 304 and nothing", call, match, r.status, r.body, r.header)
			}
		}
		if r := me.get(t, call, "If-None-Match", `W/"other"`); r.status != http.StatusOK || r.body != first.body || r.header.Get("Etag") != tag {
			t.Errorf("%s with another entity tag = %d %q, want 200 and the same", call, r.status, r.body)
		}
	}
}

func definitionContent(t *testing.T, s *site) {
	a := s.account(t)
	me, path := s.as(a), fmt.Sprintf("/api/projects/%d/", a.project.ID)
	flag := func(key string, more ...any) (id string) {
		t.Helper()
		return fmt.Sprint(me.call(t, "POST "+path+"feature_flags/", members(append([]any{"key", key, "filters", where()}, more...)...)).ok(t)["id"])
	}
	base := flag("zebra", "name", "New checkout", "evaluation_contexts", []string{"app"}, "evaluation_runtime", "server")
	flag("idle", "active", false)
	flag("kept", "is_remote_configuration", true, "filters", map[string]any{"groups": []any{map[string]any{}}, "payloads": map[string]any{"true": `{"k":1}`}})
	flag("secret", "is_remote_configuration", true, "has_encrypted_payloads", true, "filters", map[string]any{
		"groups": []any{map[string]any{}}, "payloads": map[string]any{"true": `"hidden-from-all"`},
	})
	me.call(t, "PATCH "+path+"feature_flags/"+flag("gone")+"/", `{"deleted":true}`).ok(t)
	me.call(t, "POST "+path+"surveys/", members("name", "NPS", "type", "popover", "start_date", "2026-01-01T00:00:00Z", "targeting_flag_filters", proOnly)).ok(t)
	cohort := fmt.Sprint(me.call(t, "POST "+path+"cohorts/", members("name", "Pro", "filters", map[string]any{"properties": map[string]any{
		"type": "OR", "values": []any{map[string]any{"type": "AND", "values": []any{property("plan", "exact", []string{"pro"})}}},
	}})).ok(t)["id"])
	flag("dependent", "filters", where(map[string]any{"key": base, "type": "flag", "operator": "flag_evaluates_to", "value": true}))
	flag("cohort", "filters", where(map[string]any{"key": "id", "type": "cohort", "operator": "in", "value": json.Number(cohort)}))

	secret := s.with(*a.project.SecretToken)
	type document struct {
		Flags []struct {
			Key, Name string
			ID        int64
			Team      int64 `json:"team_id"`
			Active    bool
			Runtime   string   `json:"evaluation_runtime"`
			Contexts  []string `json:"evaluation_contexts"`
			Filters   struct {
				Groups []struct {
					Properties []struct {
						Key, Type string
						Chain     []string `json:"dependency_chain"`
					}
				}
				Payloads map[string]string
			}
		}
		GroupTypes map[string]string          `json:"group_type_mapping"`
		Cohorts    map[string]json.RawMessage `json:"cohorts"`
	}
	read := func(call string) (d document) {
		t.Helper()
		r := secret.get(t, call)
		r.ok2xx(t)
		if strings.Contains(r.body, "hidden-from-all") || strings.Contains(r.body, "survey") {
			t.Errorf("%s = %s, with what is hidden", call, r.body)
		}
		if err := json.Unmarshal([]byte(r.body), &d); err != nil {
			t.Fatal(err)
		}
		return d
	}
	d := read("GET /flags/definitions?send_cohorts")
	var keys []string
	for _, f := range d.Flags {
		keys = append(keys, f.Key)
		if f.Team != a.project.ID || f.Active != (f.Key != "idle") {
			t.Errorf("flag %+v", f)
		}
	}
	if diff := gocmp.Diff([]string{"cohort", "dependent", "idle", "kept", "zebra"}, keys); diff != "" {
		t.Fatalf("flags (-want +got):\n%s", diff)
	}
	zebra, dependent := d.Flags[4], d.Flags[1].Filters.Groups[0].Properties[0]
	if fmt.Sprint(zebra.ID) != base || zebra.Name != "New checkout" || zebra.Runtime != "server" || !slices.Equal(zebra.Contexts, []string{"app"}) {
		t.Errorf("flag %+v", zebra)
	}
	if dependent.Key != "zebra" || dependent.Type != "flag" || !slices.Equal(dependent.Chain, []string{"zebra"}) {
		t.Errorf("dependency %+v, want it by key, and what it depends on", dependent)
	}
	if got := d.Flags[3].Filters.Payloads["true"]; got != `{"k":1}` {
		t.Errorf("payload %q", got)
	}
	if want := `{"type":"OR","values":[{"type":"AND","values":[{"key":"plan","type":"person","value":["pro"],"operator":"exact"}]}]}`; len(d.Cohorts) != 1 ||
		gocmp.Diff(object(t, []byte(want)), object(t, d.Cohorts[cohort])) != "" {
		t.Errorf("cohorts %s, want %s: %s", d.Cohorts, cohort, want)
	}
	// Clients that do not know cohorts get them as properties.
	inlined := read("GET /api/feature_flag/local_evaluation/")
	if p := inlined.Flags[0].Filters.Groups[0].Properties[0]; len(inlined.Cohorts) != 0 || p.Type != "person" || p.Key != "plan" {
		t.Errorf("cohorts %s, property %+v; want it in place of the cohort", inlined.Cohorts, p)
	}
}

// followedDefinitions follows a project whose flags look at what only the server
// knows, as a program with the library does (evaluation.md §5.4, §14.1).
func followedDefinitions(t *testing.T, s *site) {
	a := s.account(t)
	me, path := s.as(a), fmt.Sprintf("/api/projects/%d/", a.project.ID)
	me.call(t, "PATCH "+path, `{"timezone":"Asia/Tokyo"}`).ok(t)
	cohort := func(name string, more ...any) json.Number {
		t.Helper()
		return json.Number(fmt.Sprint(me.call(t, "POST "+path+"cohorts/", members(append([]any{"name", name}, more...)...)).ok(t)["id"]))
	}
	memberOf := func(id json.Number) map[string]any {
		return map[string]any{"key": "id", "type": "cohort", "operator": "in", "value": id}
	}
	flag := func(key string, more ...any) {
		t.Helper()
		me.call(t, "POST "+path+"feature_flags/", members(append([]any{"key", key}, more...)...)).ok(t)
	}
	post := func(path, body string) string {
		t.Helper()
		r, err := s.stranger().send(t.Context(), "POST "+path, body)
		if err != nil || r.status != http.StatusOK {
			t.Fatalf("POST %s = %+v, %v", path, r, err)
		}
		return r.body
	}
	vip, unused := cohort("VIP", "is_static", true), cohort("Unused", "is_static", true)
	staff := cohort("Staff", "filters", map[string]any{"properties": map[string]any{"type": "OR", "values": []any{
		map[string]any{"type": "AND", "values": []any{memberOf(vip)}},
	}}})
	flag("vip", "filters", where(memberOf(vip)))
	flag("staff", "filters", where(memberOf(staff)))
	flag("paid", "filters", where(property("plan", "exact", "pro")))
	flag("late", "filters", where(property("at", "is_date_after", "2025-06-01 08:00:00")))
	flag("kept", "ensure_experience_continuity", true, "filters", map[string]any{"groups": []any{map[string]any{"properties": []any{}, "rollout_percentage": 50}}})
	flag("config", "is_remote_configuration", true, "filters", map[string]any{"groups": []any{map[string]any{}}, "payloads": map[string]any{"true": `12`}})
	s.awaitProject(t, a)
	// Their definitions say where the SDKs of others end: no tree, no entry.
	document := s.with(*a.project.SecretToken).get(t, "GET /flags/definitions?send_cohorts").body
	if !strings.Contains(document, `"static_cohorts":[`+string(vip)+`]`) || strings.Contains(document, `"`+string(vip)+`":`) || strings.Contains(document, `"`+string(unused)+`":`) {
		t.Errorf("definitions: %s", document)
	}
	for i := range 6 {
		id := fmt.Sprint("person-", i)
		post("/i/v0/e/", members("api_key", a.project.APIToken, "event", "e", "distinct_id", id, "properties", map[string]any{
			"$set": map[string]any{"plan": []string{"pro", "free"}[i%2]},
		}))
		if i%3 == 0 {
			me.call(t, "POST "+path+"cohorts/"+string(vip)+"/members/", members("distinct_ids", []string{id})).ok2xx(t)
		}
	}

	var e flags.Evaluator
	loader := source.NewLoader(&e, source.Remote{
		URL: s.url, ProjectKey: a.project.APIToken, SecretKey: *a.project.SecretToken, Evaluate: true, EvaluateTimeout: time.Minute,
	}, source.LoaderConfig{Log: slog.New(slog.DiscardHandler)})
	if err := loader.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	keys, on, local := []string{"vip", "staff", "paid", "late", "kept", "config"}, 0, 0
	for i := range 8 {
		r := &flags.Request{DistinctID: fmt.Sprint("person-", i), AnonymousID: fmt.Sprint("anonymous-", i), PersonProperties: map[string]any{"at": "2025-06-01T03:00:00Z"}}
		body := members("api_key", a.project.APIToken, "distinct_id", r.DistinctID, "$anon_distinct_id", r.AnonymousID, "person_properties", r.PersonProperties, "geoip_disable", true)
		var want struct{ Flags map[string]flags.Result }
		if err := json.Unmarshal([]byte(post("/flags?v=2", body)), &want); err != nil || len(want.Flags) != len(keys) {
			t.Fatalf("POST /flags: %d flags, %v", len(want.Flags), err)
		}
		for _, key := range keys {
			if e.Bool(key, r, false) != want.Flags[key].Enabled {
				local++
				if e.Snapshot().NeedsOf(key).IsZero() {
					t.Errorf("%s differs for person-%d, and needs nothing of the server", key, i)
				}
			}
		}
		r.RemoteResults = loader.RemoteResults(t.Context(), r)
		for _, key := range keys {
			got, err := e.Snapshot().Flag(key, r)
			if err != nil || got.Unconfirmed || gocmp.Diff(object(t, got.AppendJSON(nil)), object(t, new(want.Flags[key]).AppendJSON(nil))) != "" {
				t.Errorf("%s for person-%d = %+v, %v; the server has %+v", key, i, got, err, want.Flags[key])
			}
			if got.Enabled {
				on++
			}
			if key == "config" != got.RemoteConfiguration() {
				t.Errorf("%s: remote configuration %v", key, got.RemoteConfiguration())
			}
		}
		// Told what the server knows, the process needs no answer.
		if i < 6 {
			told := &flags.Request{DistinctID: r.DistinctID, Cohorts: []int64{}}
			if i%3 == 0 {
				id, err := vip.Int64()
				if err != nil {
					t.Fatal(err)
				}
				told.Cohorts = append(told.Cohorts, id)
			}
			if e.Bool("vip", told, false) != (i%3 == 0) || e.Bool("staff", told, false) != (i%3 == 0) {
				t.Errorf("person-%d, of whose cohorts it is told: vip is %v", i, e.Bool("vip", told, false))
			}
		}
	}
	if on < 16 || local < 5 {
		t.Errorf("%d values are on, %d differ without asking: the test is too easy", on, local)
	}
}

func remoteConfigs(t *testing.T, s *site) {
	a := s.account(t)
	me, path := s.as(a), fmt.Sprintf("/api/projects/%d/feature_flags/", a.project.ID)
	flag := func(key string, more ...any) (id string) {
		t.Helper()
		return fmt.Sprint(me.call(t, "POST "+path, members(append([]any{"key", key}, more...)...)).ok(t)["id"])
	}
	payload := func(text string) map[string]any {
		return map[string]any{"groups": []any{map[string]any{}}, "payloads": map[string]any{"true": text}}
	}
	plain := flag("plain", "is_remote_configuration", true, "filters", payload(`{"k":"v"}`))
	flag("sealed", "is_remote_configuration", true, "has_encrypted_payloads", true, "filters", payload(`"hidden from SDKs"`))
	flag("none", "is_remote_configuration", true, "filters", where())
	flag("ordinary", "filters", payload(`1`))
	gone := flag("gone", "is_remote_configuration", true, "filters", payload(`1`))
	me.call(t, "PATCH "+path+gone+"/", `{"deleted":true}`).ok(t)
	off := flag("off", "is_remote_configuration", true, "active", false, "filters", payload(`1`))
	flag(off, "filters", where()) // a key that is another's ID

	secret := s.with(*a.project.SecretToken)
	for _, tt := range []struct {
		flag   string
		caller *caller
		want   string // "": not found
	}{
		{"plain", me, `"{\"k\":\"v\"}"`},
		{"plain", secret, `"{\"k\":\"v\"}"`},
		{plain, secret, `"{\"k\":\"v\"}"`},
		{"sealed", me, `"\"hidden from SDKs\""`},
		{"sealed", secret, `"\"********* (encrypted)\""`}, // JSON in a text, as every payload
		{"none", me, ""},
		{"ordinary", me, ""},
		{"gone", me, ""},
		{gone, me, ""},
		{"off", secret, `"1"`},
		{off, secret, ""}, // the flag with this key has no payload
		{"unknown", secret, ""},
		{"PLAIN", secret, ""},
	} {
		call := "GET " + path + tt.flag + "/remote_config/"
		r := tt.caller.get(t, call)
		if tt.want == "" {
			r.fails(t, 404, "not_found", "")
			continue
		}
		if r.status != http.StatusOK || r.body != tt.want || r.header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s = %d %s, want %s, not to be stored", call, r.status, r.body, tt.want)
		}
	}
}
