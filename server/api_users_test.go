package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/management/storage"
	"github.com/flagstaff-go/flagstaff/server"
)

// A key that is restricted to projects or organizations reads its own user and nothing
// else on the routes of users, whatever its scopes are, and even if its user is staff
// (management.md §1.5).
func TestRuling66RestrictedKeys(t *testing.T) {
	a := newRouteServer(t)
	a.join(stella, storage.LevelMember)
	a.ok(api("GET", "/api/users/@me/", "").with(stellaKey)) // gives her a current organization
	restrictions := map[string]func(*storage.PersonalKey){
		"a project":       func(k *storage.PersonalKey) { k.Projects = []int64{1} },
		"an organization": func(k *storage.PersonalKey) { k.Organizations = []uuid.UUID{uuid.MustParse(acme)} },
		"both": func(k *storage.PersonalKey) {
			k.Projects, k.Organizations = []int64{1}, []uuid.UUID{uuid.MustParse(acme)}
		},
	}
	bodies := map[string]string{
		"PATCH /api/users/{user}":                      `{"email":"thief@evil.example","password":"another-Horse-42-battery","is_staff":true,"first_name":"Mallory","set_current_team":1}`,
		"PATCH /api/users/{user}/hedgehog_config":      `{"version":9}`,
		"POST /api/users/{user}/scene_personalisation": `{"scene":"Person","dashboard":1}`,
		"POST /api/users/{user}/validate_2fa":          `{"token":"123456"}`,
		"POST /api/users/{user}/two_factor_validate":   `{"token":"123456"}`,
	}
	users := func() []storage.User {
		list, _, err := a.store.Users().Page(t.Context(), 100, 0, storage.UserFilter{}.Where()...)
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	before := users()
	for owner, id := range map[string]string{"Ada": ada, "Stella of the staff": stella} {
		for name, restrict := range restrictions {
			for _, scopes := range [][]string{{"*"}, nil, {"user:write"}} {
				key := a.key(func(k *storage.PersonalKey) {
					restrict(k)
					k.Scopes = scopes
					if id == stella {
						k.User = before[2].ID
					}
				})
				for _, r := range tableRows(t, a.Server) {
					if !strings.HasPrefix(r.pattern, "/api/users") || !r.keyed() {
						continue
					}
					paths := map[string]bool{r.path: r.who == "user:read", strings.Replace(r.path, "@me", id, 1): r.who == "user:read"}
					if strings.Contains(r.pattern, "{user}") {
						paths[strings.Replace(r.path, "@me", bob, 1)] = false
					}
					for path, allowed := range paths {
						c := r
						c.path = path
						call := c.call(key)
						if body := bodies[r.method+" "+r.pattern]; body != "" {
							call.body = body
						}
						resp := call.do(a)
						text := bodyText(t, resp)
						what := fmt.Sprintf("%s %s with a key of %s for %s and scopes %v", r.method, path, owner, name, scopes)
						switch {
						case allowed && resp.StatusCode != http.StatusOK, !allowed && resp.StatusCode != http.StatusForbidden:
							t.Errorf("%s = %d %s", what, resp.StatusCode, text)
						case allowed && strings.Contains(text, bob):
							t.Errorf("%s tells about another user: %s", what, text)
						}
					}
				}
			}
		}
	}
	if diff := cmp.Diff(before, users()); diff != "" {
		t.Errorf("users (-before +after)\n%s", diff)
	}
}

// To make somebody staff needs more than scope user:write: a key that may do everything
// (management.md §4.5).
func TestRuling66Staff(t *testing.T) {
	a := newAPI(t, apiSetup{})
	promote := api("PATCH", "/api/users/"+bob+"/", `{"is_staff":true}`)
	stellas := func(scopes ...string) string {
		return a.key(func(k *storage.PersonalKey) {
			u, err := a.store.Users().Get(t.Context(), storage.UserUUID.Is(uuid.MustParse(stella)))
			if err != nil {
				t.Fatal(err)
			}
			k.User, k.Scopes = u.ID, scopes
		})
	}
	for _, key := range []string{stellas("user:write"), stellas("user:read"), adaKey} {
		a.fails(promote.with(key), 403, "permission_denied")
		a.fails(api("PATCH", "/api/users/@me/", `{"is_staff":true}`).with(key), 403, "permission_denied")
	}
	a.ok(api("PATCH", "/api/users/"+bob+"/", `{"first_name":"Robert"}`).with(stellas("user:write")))
	for _, key := range []string{stellaKey, stellas()} {
		if v := a.ok(promote.with(key)); v["is_staff"] != true {
			t.Errorf("is_staff = %v", v["is_staff"])
		}
	}
}

// The codes and a new secret are for keys that may change the user; a key that only reads
// learns the status (management.md §5.2, §5.4).
func TestRuling54TwoFactorReading(t *testing.T) {
	a := newAPI(t, apiSetup{})
	a.twoFactor()
	a.ok(api("POST", "/api/users/@me/two_factor_backup_codes/", ""))
	restricted := a.key(func(k *storage.PersonalKey) { k.Projects = []int64{1} })
	for key, codes := range map[string]int{
		adaKey: 10, a.withScopes("user:write"): 10, a.withScopes("*"): 10, readerKey: 0, a.withScopes("user:read", "project:write"): 0, restricted: 0,
	} {
		v := a.ok(api("GET", "/api/users/@me/two_factor_status/", "").with(key))
		if got := len(v["backup_codes"].([]any)); got != codes || v["backup_codes_remaining"] != 10.0 || v["is_enabled"] != true {
			t.Errorf("status with %s: %v, want %d codes", key, v, codes)
		}
		for _, path := range []string{"two_factor_start_setup", "start_2fa_setup"} {
			call := api("GET", "/api/users/@me/"+path+"/", "").with(key)
			if codes > 0 {
				a.ok(call)
			} else {
				a.fails(call, 403, "permission_denied")
			}
		}
	}
}

// A PATCH without a body does not wipe the stored document (management.md §7.1).
func TestRuling48EmptyHedgehog(t *testing.T) {
	const path = "/api/users/@me/hedgehog_config/"
	a := newAPI(t, apiSetup{})
	a.ok(api("PATCH", path, `{"version":2}`))
	a.fails(api("PATCH", path, ""), 400, "required")
	a.fails(api("PATCH", path, "", "Content-Type", "application/json"), 400, "required")
	if v := a.ok(api("GET", path, "")); v["version"] != 2.0 {
		t.Errorf("stored %v", v)
	}
	if v := a.ok(api("PATCH", path, `{"hedgehog_config":{"version":3}}`)); v["version"] != 3.0 {
		t.Errorf("unwrapped %v", v)
	}
	if v := a.ok(api("PATCH", path, `{}`)); len(v) != 0 {
		t.Errorf("an empty document is %v", v)
	}
}

// What the Terraform provider of the public system sends for projects, their settings and
// members comes back, so that its next plan is empty (management.md §8.4, §8.6).
func TestRuling59Terraform(t *testing.T) {
	a := newAPI(t, apiSetup{})
	projects := "/api/organizations/" + acme + "/projects/"
	made := a.ok(api("POST", projects, `{"name":"Made","timezone":"Europe/Vienna"}`))
	id := fmt.Sprint(made["id"])
	check := func(path string, want map[string]any) {
		t.Helper()
		got := a.ok(api("GET", path, ""))
		for name, value := range want {
			if diff := cmp.Diff(value, got[name]); diff != "" {
				t.Errorf("%s: %s (-want +got)\n%s", path, name, diff)
			}
		}
	}
	check(projects+id+"/", map[string]any{"name": "Made", "timezone": "Europe/Vienna", "organization": acme, "api_token": made["api_token"]})
	a.ok(api("PATCH", projects+id+"/", `{"name":"Renamed","timezone":"UTC"}`))
	check(projects+id+"/", map[string]any{"name": "Renamed", "timezone": "UTC"})

	settings := "/api/environments/" + id + "/"
	for _, body := range []string{
		`{"heatmaps_opt_in":true,"autocapture_exceptions_opt_in":false,"session_recording_opt_in":true,"surveys_opt_in":true,"cookieless_server_hash_mode":0,` +
			`"autocapture_web_vitals_opt_in":false,"capture_performance_opt_in":true,"session_recording_network_payload_capture_config":{"recordHeaders":true,"recordBody":false},` +
			`"app_urls":["https://app.example.com","https://*.example.com"],"recording_domains":["https://app.example.com"]}`,
		`{"heatmaps_opt_in":false,"cookieless_server_hash_mode":2,"session_recording_network_payload_capture_config":null,"app_urls":[],"recording_domains":[]}`,
		`{}`,
	} {
		var want map[string]any
		if err := json.Unmarshal([]byte(body), &want); err != nil {
			t.Fatal(err)
		}
		a.ok(api("PATCH", settings, body))
		check(settings, want)
	}
	// The whole environment, as it was read.
	whole := bodyText(t, api("GET", settings, "").do(a))
	a.ok(api("PATCH", settings, whole))
	if again := bodyText(t, api("GET", settings, "").do(a)); again != whole {
		t.Errorf("sent back: %s, want %s", again, whole)
	}
	a.ok(api("DELETE", projects+id+"/", ""))
	a.fails(api("GET", settings, ""), 404, "not_found")

	members := "/api/organizations/" + acme + "/members/"
	for _, level := range []float64{8, 1} {
		if m := a.ok(api("PATCH", members+bob+"/", fmt.Sprintf(`{"level":%v}`, level))); m["level"] != level {
			t.Errorf("level %v, want %v", m["level"], level)
		}
	}
	a.ok(api("DELETE", members+bob+"/", ""))
	if n := len(a.ok(api("GET", members, ""))["results"].([]any)); n != 1 {
		t.Errorf("%d members, want 1", n)
	}
}

// A setting that nothing keeps is refused, by its name and with the nearest one; members
// that are only read, and credentials, change nothing (management.md §8.6, §13.12).
func TestRuling59UnknownSettings(t *testing.T) {
	a := newAPI(t, apiSetup{server: func(c *server.Config) { c.Management.AllowKeyInBody = true }})
	const path = "/api/environments/1/"
	for body, want := range map[string]string{
		`{"surveys_optin":true}`: "surveys_opt_in", `{"heatmap_opt_in":true}`: "heatmaps_opt_in", `{"timezone ":"UTC"}`: "timezone", `{"app_url":[]}`: "app_urls",
		`{"name":"New","week_start_day":1}`: "name", `{"NAME":"New"}`: "name",
	} {
		for method, target := range map[string]string{"PATCH": path, "POST": "/api/projects/"} {
			e, _ := a.fails(api(method, target, body), 400, "unknown_member")
			if !strings.Contains(e.Detail, want) || e.Attr == nil || !strings.Contains(body, *e.Attr) {
				t.Errorf("%s %s: %s, want it to name %s", method, body, e.Detail, want)
			}
		}
	}
	if v := a.ok(api("GET", path, "")); v["name"] != "Default project" {
		t.Errorf("name %v", v["name"])
	}
	a.ok(api("PATCH", path, `{"id":9,"uuid":"x","api_token":"phc_mine","ingested_event":true,"is_demo":true,"created_at":null,"surveys_opt_in":false}`))
	if v := a.ok(api("GET", path, "")); v["surveys_opt_in"] != false || v["api_token"] != "phc_acme" || v["is_demo"] != false {
		t.Errorf("project %v", v)
	}
	a.ok(api("PATCH", path, `{"personal_api_key":"`+adaKey+`","current_password":"x","name":"Renamed"}`, "Authorization", ""))
	a.ok(api("PATCH", path, `{"week_start_day":1}`).lenient())
}

// lenient returns a call that asks for unknown members to be passed over.
func (c call) lenient() call {
	c.target += "?lenient=true"
	return c
}

// A plain member sends no mail to strangers, an administrator sends six to one of them, and
// the answers tell nothing of accounts (management.md §8.5, §2.6).
func TestRuling67Attack(t *testing.T) {
	a := newAPI(t, apiSetup{})
	members, invites := "/api/organizations/"+acme+"/members/", "/api/organizations/"+acme+"/invites/"
	for i := range 40 {
		a.fails(api("POST", members, fmt.Sprintf(`{"email":"victim%d@example.net","first_name":"buy now"}`, i)).with(bobKey), 403, "permission_denied")
		a.fails(api("POST", invites, fmt.Sprintf(`{"target_email":"victim%d@example.net"}`, i)).with(bobKey), 403, "permission_denied")
	}
	for i := range 10 {
		call := api("POST", members, `{"email":"victim@example.net","level":15}`)
		if i >= 6 {
			a.fails(call, 429, "throttled")
			continue
		}
		if resp := call.do(a); resp.StatusCode != http.StatusAccepted {
			t.Errorf("invitation %d = %d %s", i, resp.StatusCode, bodyText(t, resp))
		}
	}
	if n := len(a.ok(api("GET", members, ""))["results"].([]any)); n != 2 {
		t.Errorf("%d members, want 2: nobody has accepted", n)
	}
	var answers []string
	for _, address := range []string{"stella@staff.example", "nobody@staff.example"} {
		v := a.ok(api("POST", members, `{"email":"`+address+`"}`))
		if v["target_email"] != address {
			t.Errorf("invitation %v", v)
		}
		delete(v, "id")
		delete(v, "target_email")
		answers = append(answers, fmt.Sprint(v))
	}
	if answers[0] != answers[1] {
		t.Errorf("%s for an account, %s for none", answers[0], answers[1])
	}
	sent := a.letters()
	if len(sent) != 8 {
		t.Errorf("%d mails, want 8", len(sent))
	}
	for _, m := range sent {
		if strings.Contains(m.Subject+m.Text, "buy now") || strings.Contains(m.Subject, "Acme") || strings.Contains(m.Subject, "Ada") {
			t.Errorf("mail %q\n%s", m.Subject, m.Text)
		}
	}
}
