package management_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/optional"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

func (w *world) newProject(body string) (*management.ProjectView, error) {
	w.t.Helper()
	return w.CreateProject(w.t.Context(), w.as(w.ada), w.acme.ID.String(), decode[management.ProjectPatch](w.t, body))
}

func TestCreateProject(t *testing.T) {
	w := newWorld(t)
	w.acme.AnonymizeIPs = true
	w.ok(w.store.Organizations().Update(t.Context(), w.acme))
	made, err := w.newProject(`{"name":" Mobile ","timezone":"America/New_York","completed_snippet_onboarding":true,"api_token":"phc_mine"}`)
	if err != nil {
		t.Fatal(err)
	}
	secret := *made.SecretToken
	if !regexp.MustCompile(`^phs_[0-9A-Za-z]{35,43}$`).MatchString(secret) || !regexp.MustCompile(`^phc_[0-9A-Za-z]{35,43}$`).MatchString(made.APIToken) {
		t.Errorf("keys %s, %s", secret, made.APIToken)
	}
	const want = `{"id":4,"uuid":"UUID","organization":"ACME","project_id":4,"api_token":"PHC","name":"Mobile","completed_snippet_onboarding":true,` +
		`"has_completed_onboarding_for":null,"ingested_event":false,"is_demo":false,"timezone":"America/New_York","access_control":false,` +
		`"anonymize_ips":true,"created_at":"2026-03-04T05:06:07Z","updated_at":"2026-03-04T05:06:07Z",` +
		`"surveys_opt_in":null,"heatmaps_opt_in":null,"session_recording_opt_in":null,"autocapture_exceptions_opt_in":null,` +
		`"autocapture_web_vitals_opt_in":null,"capture_performance_opt_in":null,"cookieless_server_hash_mode":null,` +
		`"session_recording_network_payload_capture_config":null,"app_urls":[],"recording_domains":null,"event_retention_days":null,"posthog_rules_only":false,"secret_api_token":"PHS",` +
		`"has_secret_api_token":true,"has_secret_api_token_backup":false}`
	names := strings.NewReplacer(made.UUID.String(), "UUID", w.acme.ID.String(), "ACME", made.APIToken, "PHC", secret, "PHS")
	if diff := cmp.Diff(want, names.Replace(encode(t, made))); diff != "" {
		t.Errorf("CreateProject (-want +got)\n%s", diff)
	}
	if p := must(w.store.Projects().Get(t.Context(), storage.ProjectID.Is(made.ID)))(t); p.SecretHash != storage.HashKey(secret) {
		t.Errorf("stored %+v", p)
	}
	shown := *made
	shown.SecretToken = nil
	if got, err := w.GetProject(t.Context(), w.as(w.cyd), "4"); err != nil || !cmp.Equal(&shown, got) {
		t.Errorf("GetProject = %v (-want +got)\n%s", err, cmp.Diff(&shown, got))
	}
	if got := current(w.view(w.ada)); got != "Acme Web" {
		t.Errorf("current %s, want it to stay Acme Web", got)
	}

	for body, want := range map[string]string{
		`{}`: "invalid required name", `{"name":null}`: "invalid null name", `{"name":" "}`: "invalid blank name",
		`{"name":"` + chars(201) + `"}`: "invalid max_length name", `{"name":{}}`: "invalid invalid_input name", `{"name":"a\tb"}`: "invalid invalid_control_char name",
		`{"name":"x","timezone":null}`: "invalid null timezone", `{"name":"x","anonymize_ips":null}`: "invalid null anonymize_ips",
		`{"name":"x","completed_snippet_onboarding":"?"}`: "invalid invalid_input completed_snippet_onboarding",
	} {
		before := w.state()
		_, err := w.newProject(body)
		checkFault(t, "CreateProject "+body, err, want)
		w.checkUnchanged("CreateProject "+body, before)
	}
	_, err = w.newProject(`{"name":"` + chars(200) + `"}`)
	checkFault(t, "CreateProject with the longest name", err, "")
}

// The first project of an organization becomes the current one of the user who makes it.
func TestFirstProject(t *testing.T) {
	w := newWorld(t)
	o := must(w.CreateOrganization(t.Context(), w.as(w.eve), management.OrganizationPatch{Name: optional.Of("New")}))(t)
	must(w.CreateProject(t.Context(), w.as(w.eve), o.ID.String(), management.ProjectPatch{Name: optional.Of("First")}))(t)
	if u := w.now(w.eve); u.CurrentOrganization == nil || *u.CurrentOrganization != o.ID || u.CurrentProject == nil {
		t.Errorf("current %v, %v", u.CurrentOrganization, u.CurrentProject)
	}
	if got := current(w.view(w.eve)); got != "New First" {
		t.Errorf("current %s, want New First", got)
	}
}

func TestTimezones(t *testing.T) {
	w := newWorld(t)
	for _, tz := range []string{"UTC", "Europe/Zurich", "America/Argentina/Buenos_Aires", "Etc/GMT+5", "Asia/Kolkata"} {
		view, err := w.UpdateProject(t.Context(), w.as(w.ada), "1", management.ProjectPatch{Timezone: optional.Of(tz)})
		if err != nil || view.Timezone != tz {
			t.Errorf("UpdateProject to %s = %v", tz, err)
		}
	}
	for tz, want := range map[string]string{
		"Mars/Olympus": "invalid_choice", "Local": "invalid_choice", "+02:00": "invalid_choice", "../../etc/passwd": "invalid_choice",
		"/etc/localtime": "invalid_choice", "Europe/": "invalid_choice", "Europe": "invalid_choice", "zone.tab": "invalid_choice",
		"": "blank", "UTC\n+1": "invalid_control_char", strings.Repeat("x", 65): "max_length",
	} {
		_, err := w.UpdateProject(t.Context(), w.as(w.ada), "1", management.ProjectPatch{Timezone: optional.Of(tz)})
		checkFault(t, fmt.Sprintf("UpdateProject to %q", tz), err, "invalid "+want+" timezone")
	}
}

func TestListProjects(t *testing.T) {
	w := newWorld(t)
	w.join(w.ada, w.umbra, storage.LevelMember, nil)
	acme := w.acme.ID.String()
	for _, tt := range []struct {
		name          string
		p             *management.Principal
		ref           string
		limit, offset int
		want          string
	}{
		{"all", w.as(w.ada), "", 10, 0, "Web App Shop of 3"},
		{"a page", w.as(w.ada), "", 1, 1, "App of 3"},
		{"behind the end", w.as(w.ada), "", 10, 3, " of 3"},
		{"nonsense", w.as(w.ada), "", -1, -1, " of 3"},
		{"of an organization", w.as(w.ada), acme, 10, 0, "Web App of 2"},
		{"of the current one", w.as(w.ada), "@current", 10, 0, "Web App of 2"},
		{"of another", w.as(w.ada), w.umbra.ID.String(), 10, 0, "Shop of 1"},
		{"with a key for one", w.key(w.ada, onlyOrganizations(w.umbra)), "", 10, 0, "Shop of 1"},
		{"of nobody", w.as(w.eve), "", 10, 0, " of 0"},
		{"of the staff", w.as(w.sam), "", 10, 0, " of 0"},
	} {
		page, err := w.ListProjects(t.Context(), tt.p, tt.ref, tt.limit, tt.offset)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, p := range page.Items {
			names = append(names, p.Name)
		}
		if got := fmt.Sprintf("%s of %d", strings.Join(names, " "), page.Total); got != tt.want || page.Items == nil {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
	w.umbra.MembersCanUseKeys = false
	w.ok(w.store.Organizations().Update(t.Context(), w.umbra))
	if page, err := w.ListProjects(t.Context(), w.key(w.ada), "", 10, 0); err != nil || page.Total != 2 {
		t.Errorf("ListProjects with a key that Umbra does not admit = %+v, %v; want two", page, err)
	}
}

func TestUpdateProject(t *testing.T) {
	w := newWorld(t)
	w.clock.advance(time.Hour)
	view, err := w.UpdateProject(t.Context(), w.as(w.ben), "@current", decode[management.ProjectPatch](t,
		`{"name":"Website","timezone":"Asia/Tokyo","anonymize_ips":"yes","completed_snippet_onboarding":1,"api_token":"phc_x","id":9}`))
	if err != nil {
		t.Fatal(err)
	}
	want := *w.web
	want.Name, want.Timezone, want.AnonymizeIPs, want.SnippetOnboarding, want.Updated = "Website", "Asia/Tokyo", true, true, begin.Add(time.Hour)
	if diff := cmp.Diff(&want, must(w.store.Projects().Get(t.Context(), storage.ProjectID.Is(1)))(t)); diff != "" {
		t.Errorf("stored (-want +got)\n%s", diff)
	}
	if view.Name != "Website" || view.SecretToken != nil {
		t.Errorf("UpdateProject = %+v", view)
	}
	w.clock.advance(time.Hour)
	before := w.state()
	_, err = w.UpdateProject(t.Context(), w.as(w.ben), "1", management.ProjectPatch{Name: optional.Of(" Website ")})
	checkFault(t, "UpdateProject without a change", err, "")
	w.checkUnchanged("UpdateProject", before)
}

func TestResetToken(t *testing.T) {
	w := newWorld(t)
	view, err := w.ResetToken(t.Context(), w.as(w.ada), "1")
	if err != nil || view.APIToken == w.web.APIKey || !strings.HasPrefix(view.APIToken, "phc_") || view.SecretToken != nil {
		t.Errorf("ResetToken = %+v, %v", view, err)
	}
	if p, err := w.store.Projects().Get(t.Context(), storage.ProjectKey.Is(view.APIToken)); err != nil || p.ID != 1 {
		t.Errorf("ProjectByKey of the new key = %v, %v", p, err)
	}
	if p, err := w.store.Projects().Get(t.Context(), storage.ProjectKey.Is(w.web.APIKey)); err == nil {
		t.Errorf("ProjectByKey of the old key = %v", p)
	}
}

// The secret key before the current one is good until it is deleted.
func TestSecretTokens(t *testing.T) {
	w := newWorld(t)
	var secrets []string
	check := func(what string, view *management.ProjectView, err error, hash, previous string) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s = %v", what, err)
		}
		p := must(w.store.Projects().Get(t.Context(), storage.ProjectID.Is(1)))(t)
		if p.SecretHash != hash || p.SecretPrevHash != previous {
			t.Errorf("%s stores %q and %q, want %q and %q", what, p.SecretHash, p.SecretPrevHash, hash, previous)
		}
		if view.HasSecretToken != (hash != "") || view.HasSecretTokenBackup != (previous != "") {
			t.Errorf("%s = %+v", what, view)
		}
	}
	rotate := func() (*management.ProjectView, error) {
		view, err := w.RotateSecretToken(t.Context(), w.as(w.ada), "1")
		if err == nil {
			secrets = append(secrets, *view.SecretToken)
		}
		return view, err
	}
	view, err := rotate()
	check("the first rotation", view, err, storage.HashKey(secrets[0]), "")
	view, err = rotate()
	check("the second rotation", view, err, storage.HashKey(secrets[1]), storage.HashKey(secrets[0]))
	view, err = rotate()
	check("the third rotation", view, err, storage.HashKey(secrets[2]), storage.HashKey(secrets[1]))
	view, err = w.DeleteSecretTokenBackup(t.Context(), w.as(w.ada), "1")
	check("DeleteSecretTokenBackup", view, err, storage.HashKey(secrets[2]), "")
	if view.SecretToken != nil {
		t.Error("DeleteSecretTokenBackup shows a key")
	}
}

// A project that is deleted is nobody's current one any more.
func TestDeleteProject(t *testing.T) {
	w := newWorld(t)
	must(w.SetScene(t.Context(), w.as(w.cyd), "@me", management.ScenePatch{Scene: optional.Of("x"), Dashboard: anyJSON(1)}))(t)
	w.ok(w.DeleteProject(t.Context(), w.as(w.ben), "@current"))
	for _, u := range []*storage.User{w.ada, w.ben, w.cyd} {
		if got := current(w.view(u)); got != "Acme App" {
			t.Errorf("current of %s %s, want Acme App", u.FirstName, got)
		}
	}
	if s := w.state(); len(s.Projects) != 2 || len(s.Scenes) != 0 {
		t.Errorf("left are %v, %v", s.Projects, s.Scenes)
	}
	made, err := w.newProject(`{"name":"New"}`)
	if err != nil || made.ID != 4 {
		t.Errorf("CreateProject = %+v, %v; want an ID that no project had", made, err)
	}
}

// served is what clients see of a state, and whose it is: 0 for projects themselves.
func served(s *state) map[int64][]any {
	all := make(map[int64][]any)
	for _, p := range s.Projects {
		all[0] = append(all[0], p)
	}
	for _, f := range s.Flags {
		all[f.Project] = append(all[f.Project], f)
	}
	for _, c := range s.Cohorts {
		c.Count, c.Calculated = nil, nil
		all[c.Project] = append(all[c.Project], c)
	}
	for _, f := range s.EarlyAccess {
		all[f.Project] = append(all[f.Project], f)
	}
	return all
}

// The Catalog is told once a change can be seen, and not of one that is not made.
func TestCatalogIsTold(t *testing.T) {
	for _, m := range methods() {
		var c *callable
		var seen []*state
		var told []int64
		configure := func(config *management.Config) {
			config.Catalog = toldCatalog(func(project int64) {
				if c == nil {
					return // while the call is prepared
				}
				seen, told = append(seen, c.state()), append(told, project)
			})
		}
		c = m.callable(t, configure)
		before := c.state()
		checkFault(t, m.name, m.call(c), "")
		after := c.state()
		was, is := served(before), served(after)
		var want []int64
		for _, project := range []int64{0, c.world.web.ID, c.app.ID, c.shop.ID} {
			if (want == nil || want[0] != 0) && !cmp.Equal(was[project], is[project], same) {
				want = append(want, project)
			}
		}
		if diff := cmp.Diff(want, told); diff != "" {
			t.Errorf("%s tells of projects (-want +got)\n%s", m.name, diff)
		}
		for _, s := range seen {
			if diff := cmp.Diff(after, s, same); diff != "" {
				t.Errorf("%s: seen in Changed (-want +got)\n%s", m.name, diff)
			}
		}
		if want == nil {
			continue
		}

		// Whatever step fails.
		c = nil
		c = m.callable(t, configure)
		seen = nil
		for steps := 0; ; steps++ {
			c.ctx = &failing{t.Context(), steps}
			if m.call(c) == nil {
				break
			}
			if len(seen) > 0 {
				t.Fatalf("%s tells although step %d fails", m.name, steps)
			}
		}
	}
}

// Settings of clients are kept as they are sent (management.md §8.6).
func TestRuling59ProjectSettings(t *testing.T) {
	w := newWorld(t)
	settings := func(v *management.ProjectView) string {
		all := decode[map[string]json.RawMessage](t, encode(t, v))
		var list []string
		for _, name := range []string{
			"surveys_opt_in", "heatmaps_opt_in", "session_recording_opt_in", "autocapture_exceptions_opt_in", "autocapture_web_vitals_opt_in", "app_urls", "recording_domains",
			"capture_performance_opt_in", "cookieless_server_hash_mode", "session_recording_network_payload_capture_config",
		} {
			list = append(list, string(all[name]))
		}
		return strings.Join(list, " ")
	}
	patch := func(body string) (*management.ProjectView, error) {
		return w.UpdateProject(t.Context(), w.as(w.ben), "1", decode[management.ProjectPatch](t, body))
	}
	for _, tt := range []struct{ body, want string }{
		{`{}`, `null null null null null [] null null null null`},
		{`{"surveys_opt_in":false}`, `false null null null null [] null null null null`},
		{
			`{"heatmaps_opt_in":true,"session_recording_opt_in":true,"autocapture_exceptions_opt_in":false,"autocapture_web_vitals_opt_in":true}`,
			`false true true false true [] null null null null`,
		},
		{
			`{"surveys_opt_in":null,"app_urls":["https://a.example","b"," c "],"recording_domains":[]}`,
			`null true true false true ["https://a.example","b"," c "] [] null null null`,
		},
		{`{"recording_domains":["https://*.a.example"],"app_urls":[]}`, `null true true false true [] ["https://*.a.example"] null null null`},
		{`{"recording_domains":null,"heatmaps_opt_in":null,"session_recording_opt_in":false}`, `null null false false true [] null null null null`},
		{
			`{"capture_performance_opt_in":false,"cookieless_server_hash_mode":0,"session_recording_network_payload_capture_config":{"recordBody":false,"n":1.50}}`,
			`null null false false true [] null false 0 {"recordBody":false,"n":1.50}`,
		},
		{
			`{"capture_performance_opt_in":null,"cookieless_server_hash_mode":null,"session_recording_network_payload_capture_config":null}`,
			`null null false false true [] null null null null`,
		},
	} {
		v, err := patch(tt.body)
		if err != nil {
			t.Fatalf("UpdateProject(%s) = %v", tt.body, err)
		}
		if got := settings(v); got != tt.want {
			t.Errorf("UpdateProject(%s): %s, want %s", tt.body, got, tt.want)
		}
		if shown := must(w.GetProject(t.Context(), w.as(w.cyd), "1"))(t); settings(shown) != tt.want {
			t.Errorf("GetProject after %s: %s, want %s", tt.body, settings(shown), tt.want)
		}
		// Whatever is shown can be sent back.
		count := len(w.activities())
		if v, err = patch(encode(t, v)); err != nil || settings(v) != tt.want || len(w.activities()) != count {
			t.Errorf("sent back: %s, %v; want %s and no change", settings(v), err, tt.want)
		}
	}
	for body, want := range map[string]string{
		`{"surveys_opt_in":"maybe"}`: "invalid invalid_input surveys_opt_in", `{"heatmaps_opt_in":{}}`: "invalid invalid_input heatmaps_opt_in",
		`{"cookieless_server_hash_mode":3}`: "invalid max_value cookieless_server_hash_mode", `{"cookieless_server_hash_mode":true}`: "invalid invalid_input cookieless_server_hash_mode",
		`{"session_recording_network_payload_capture_config":[]}`: "invalid not_a_dict session_recording_network_payload_capture_config",
		`{"app_urls":null}`: "invalid null app_urls", `{"app_urls":"https://a.example"}`: "invalid not_a_list app_urls", `{"app_urls":[1]}`: "invalid invalid_input app_urls",
		`{"app_urls":[null]}`: "invalid null app_urls", `{"recording_domains":[null]}`: "invalid null recording_domains", `{"recording_domains":{}}`: "invalid not_a_list recording_domains",
		`{"app_urls":["` + chars(201) + `"]}`: "invalid max_length app_urls", `{"app_urls":["a\u0000b"]}`: "invalid null_characters_not_allowed app_urls",
		`{"app_urls":[` + strings.Repeat(`"x",`, 100) + `"x"]}`: "invalid max_length app_urls",
	} {
		before := w.state()
		_, err := patch(body)
		checkFault(t, "UpdateProject "+body, err, want)
		w.checkUnchanged("UpdateProject "+body, before)
	}
}
