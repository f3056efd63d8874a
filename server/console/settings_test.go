package console_test

import (
	"encoding/json"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/optional"
	"github.com/flagstaff-go/flagstaff/management/quota"
	"github.com/flagstaff-go/flagstaff/management/storage"
	"github.com/flagstaff-go/flagstaff/server/console"
)

func init() {
	actions = append(actions,
		action{route: "/projects/{project}/settings", run: func(s *site) (string, url.Values) {
			return "/projects/1/settings", with(s.get("/projects/1/settings").form("form"), "name", "Other", "app_urls",
				"https://app.example.com")
		}},
		action{
			route: "/projects/{project}/settings/{action}", verb: "reset-key", asks: confirm,
			irreversible: "the key before is known to nobody any more", tested: "TestProjectKeys",
		},
		action{
			route: "/projects/{project}/settings/{action}", verb: "rotate-secret", asks: confirm, irreversible: "a shown key is known",
			tested: "TestProjectKeys",
		},
		action{
			route: "/projects/{project}/settings/{action}", verb: "end-secret", asks: confirm, irreversible: "only its hash was kept",
			tested: "TestProjectKeys",
		},
		action{
			route: "/projects/{project}/settings/{action}", verb: "delete", asks: confirm, irreversible: "everything in it is gone",
			tested: "TestDeleteProject",
		},
	)
}

// settings returns the settings of the project as the API has them.
func (s *site) settings() map[string]any {
	s.t.Helper()
	p, err := s.service.GetProject(s.t.Context(), s.owner, "1")
	fatal(s.t, err)
	raw, err := json.Marshal(p)
	fatal(s.t, err)
	var all map[string]any
	fatal(s.t, json.Unmarshal(raw, &all))
	return all
}

// TestSettings changes every setting with the form, and back.
func TestSettings(t *testing.T) {
	s := newSite(t)
	page := s.get("/projects/1/settings").want(200, "Settings", "API key")
	page.checkPage()
	before := s.settings()
	form := page.form("form")
	s.post("/projects/1/settings", form).leads("/projects/1/settings?done=saved")
	if diff := cmp.Diff(before, s.settings()); diff != "" {
		t.Errorf("the form as it is changes the project (-before +after):\n%s", diff)
	}
	typed := map[string]string{
		"name": "Shop <2>", "timezone": "Europe/Berlin", "anonymize_ips": "true", "surveys_opt_in": "false",
		"app_urls": "https://a.example\r\n\r\nhttps://b.example", "recording_domains": "https://c.example",
		"session_recording_opt_in": "true", "heatmaps_opt_in": "true", "autocapture_exceptions_opt_in": "false",
		"autocapture_web_vitals_opt_in": "true", "capture_performance_opt_in": "true",
		"cookieless_server_hash_mode": "2", "completed_snippet_onboarding": "true",
		"session_recording_network_payload_capture_config": `{"a": [1]}`,
	}
	want := map[string]any{
		"name": "Shop <2>", "timezone": "Europe/Berlin", "anonymize_ips": true, "surveys_opt_in": false,
		"app_urls": []any{"https://a.example", "https://b.example"}, "recording_domains": []any{"https://c.example"},
		"session_recording_opt_in": true, "heatmaps_opt_in": true, "autocapture_exceptions_opt_in": false,
		"autocapture_web_vitals_opt_in": true, "capture_performance_opt_in": true,
		"cookieless_server_hash_mode": 2.0, "completed_snippet_onboarding": true,
		"session_recording_network_payload_capture_config": map[string]any{"a": []any{1.0}},
	}
	changed := form
	for name, text := range typed {
		changed = with(changed, name, text)
	}
	s.post("/projects/1/settings", changed).leads("/projects/1/settings?done=saved")
	after := s.settings()
	for name, value := range want {
		if diff := cmp.Diff(value, after[name]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	again := s.get("/projects/1/settings?done=saved").want(200, "Saved.", "Shop <2>")
	again.checkPage()
	back := again.form("form")
	for name := range typed {
		back = with(back, name, form.Get(name))
	}
	s.post("/projects/1/settings", back).leads("/projects/1/settings?done=saved")
	if diff := cmp.Diff(before, s.settings(), cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == `["updated_at"]` },
		cmp.Ignore())); diff != "" {
		t.Errorf("the way back (-before +after):\n%s", diff)
	}
}

// TestSettingsRefused: messages stand beside fields, and what was typed stays.
func TestSettingsRefused(t *testing.T) {
	s := newSite(t)
	form := s.get("/projects/1/settings").form("form")
	for _, tt := range []struct{ name, typed, says string }{
		{"name", " ", "This field may not be blank."},
		{"timezone", "Mars/Olympus", `"Mars/Olympus" is not a valid choice.`},
		{"session_recording_network_payload_capture_config", "{", "Expected a dictionary"},
	} {
		a := s.post("/projects/1/settings", with(form, tt.name, tt.typed, "app_urls", "https://kept.example")).want(422, tt.says,
			"What you have typed is still here.")
		a.checkPage()
		if !strings.Contains(a.body, tt.name+`-error"`) {
			t.Errorf("%s: the message is not beside the field", tt.name)
		}
		if got := a.form("form"); got.Get(tt.name) != tt.typed || got.Get("app_urls") != "https://kept.example" {
			t.Errorf("%s: the form has %q and %q", tt.name, got.Get(tt.name), got.Get("app_urls"))
		}
	}
	// Somebody else changes one setting, the user another one and then the same.
	name := func(name string) management.ProjectPatch { return management.ProjectPatch{Name: optional.Of(name)} }
	_, err := s.service.UpdateProject(t.Context(), s.owner, "1", name("Theirs"))
	fatal(t, err)
	s.post("/projects/1/settings", with(form, "timezone", "Europe/Rome")).leads("/projects/1/settings?done=saved")
	if got := s.settings(); got["name"] != "Theirs" || got["timezone"] != "Europe/Rome" {
		t.Errorf("name %v, timezone %v", got["name"], got["timezone"])
	}
	a := s.post("/projects/1/settings", with(form, "name", "Mine")).want(409, "Somebody else has changed this meanwhile, to: “Theirs”")
	a.checkPage()
	s.post("/projects/1/settings", a.form("form")).leads("/projects/1/settings?done=saved")
	if got := s.settings()["name"]; got != "Mine" {
		t.Errorf("name %v", got)
	}
	s.broken.broken.Store(true)
	s.post("/projects/1/settings", form).want(503, "The store does not answer")
}

// TestSettingsRetention: what deletes events is saved when the user has been warned of it.
func TestSettingsRetention(t *testing.T) {
	s := newSite(t, func(c *console.Config) { c.Retain = 90 * 24 * time.Hour })
	form := s.get("/projects/1/settings").want(200, "90 days, which is the limit of this server").form("form")
	warned := func(form url.Values, days string) url.Values {
		t.Helper()
		a := s.post("/projects/1/settings", with(form, "event_retention_days", days, "timezone", "Europe/Rome")).want(422,
			"more than "+days+" days ago would be deleted for good")
		a.checkPage()
		return a.form("form")
	}
	days := func(want any) {
		t.Helper()
		if got := s.settings()["event_retention_days"]; got != want {
			t.Errorf("event_retention_days is %v, want %v", got, want)
		}
	}
	again := warned(form, "30")
	days(nil)
	again = warned(again, "9") // another number than the one of the warning
	days(nil)
	s.post("/projects/1/settings", again).leads("/projects/1/settings?done=saved")
	days(9.0)
	if got := s.settings()["timezone"]; got != "Europe/Rome" {
		t.Errorf("timezone %v", got)
	}
	for _, typed := range []string{" 60 ", ""} {
		form = s.get("/projects/1/settings").form("form")
		s.post("/projects/1/settings", with(form, "event_retention_days", typed)).leads("/projects/1/settings?done=saved")
	}
	days(nil)
	form = s.get("/projects/1/settings").form("form")
	for typed, says := range map[string]string{
		"0": "greater than or equal to 1", "36501": "less than or equal to 36500", "90d": "A valid integer", "1e2": "A valid integer",
	} {
		// The warning comes first; it does not hide what is wrong.
		a := s.post("/projects/1/settings", with(form, "event_retention_days", typed, "sure.event_retention_days", typed)).want(422, says)
		if got := a.form("form").Get("event_retention_days"); got != typed {
			t.Errorf("the form has %q, want %q", got, typed)
		}
	}
	newSite(t).get("/projects/1/settings").want(200, "Empty: events are kept for ever.")
}

var stateForm = regexp.MustCompile(`name="state" value="([^"]*)"`)

// TestProjectKeys makes new keys, each of which is shown once.
func TestProjectKeys(t *testing.T) {
	s := newSite(t)
	key := s.settings()["api_token"]
	ask := s.get("/projects/1/settings/reset-key").want(200, "Reset the API key?")
	ask.checkPage()
	s.post("/projects/1/settings/reset-key", ask.form("")).leads("/projects/1/settings?done=key-reset")
	if s.settings()["api_token"] == key {
		t.Error("the key is the same")
	}
	ask = s.get("/projects/1/settings/rotate-secret").want(200)
	ask.checkPage()
	shown := s.post("/projects/1/settings/rotate-secret", ask.form("")).want(200, "The new secret key")
	shown.checkPage()
	secret := regexp.MustCompile(`value="(phs_\w+)"`).FindStringSubmatch(shown.body)
	if secret == nil {
		t.Fatal("the key is not shown")
	}
	// The page that is sent again makes no other key.
	s.post("/projects/1/settings/rotate-secret", ask.form("")).want(409, "Nothing was done").checkPage()
	page := s.get("/projects/1/settings").want(200, "The previous key still works.")
	if strings.Contains(page.body, secret[1]) {
		t.Error("the secret key is on a page that was not asked for it")
	}
	ask = s.get("/projects/1/settings/end-secret").want(200)
	s.post("/projects/1/settings/end-secret", ask.form("")).leads("/projects/1/settings?done=key-ended")
	if s.settings()["has_secret_api_token_backup"] != false {
		t.Error("the key before is still good")
	}
	s.get("/projects/1/settings/nothing").want(404)
	s.post("/projects/1/settings/nothing", nil).want(404)
}

func TestDeleteProject(t *testing.T) {
	s := newSite(t)
	ask := s.get("/projects/1/settings/delete").want(200, "Type Shop to confirm")
	ask.checkPage()
	wrong := s.post("/projects/1/settings/delete", with(ask.form(""), "typed", "shop")).want(422, "Type the name of the project")
	wrong.checkPage()
	s.post("/projects/1/settings/delete", with(ask.form(""), "typed", "Shop")).leads("/projects?done=project-deleted")
	s.get("/projects?done=project-deleted").want(200, "The project was deleted.").checkPage()
	s.get("/projects/1/settings").want(404)
}

// TestSettingsOfMembers: members see settings, and what they may not do is refused in words.
func TestSettingsOfMembers(t *testing.T) {
	s := newSite(t)
	s.member("bob@example.com", storage.LevelMember)
	s.signIn("bob@example.com")
	page := s.get("/projects/1/settings").want(200, "You are a member of Acme. Administrators and owners may change what is here.")
	page.checkPage()
	if !strings.Contains(page.body, "<fieldset class=\"plainset\" disabled>") || strings.Contains(page.body, "settings/delete") {
		t.Error("the page offers what is refused")
	}
	s.post("/projects/1/settings", with(page.form("form"), "name", "Bob's")).want(403,
		"Administrators and owners of Acme may do it; you are a member.").checkPage()
	for _, action := range []string{"reset-key", "rotate-secret", "end-secret", "delete"} {
		a := s.get("/projects/1/settings/"+action).want(403, "Only administrators and owners of Acme may do this.")
		a.checkPage()
		state := stateForm.FindStringSubmatch(a.body)[1]
		s.post("/projects/1/settings/"+action, url.Values{"state": {state}, "typed": {"Shop"}}).want(403)
	}
	if got := s.settings(); got["name"] != "Shop" || got["has_secret_api_token_backup"] != false {
		t.Errorf("the project has changed: %v", got)
	}
	_, err := s.service.CreateUser(t.Context(), management.NewUser{Email: "alone@example.com", Password: password})
	fatal(t, err)
	s.signIn("alone@example.com")
	for _, path := range []string{"settings", "settings/members", "settings/delete"} {
		if a := s.get("/projects/1/" + path); a.status != 403 && a.status != 404 {
			t.Errorf("%s of a foreign project: status %d", path, a.status)
		}
	}
}

func TestUsage(t *testing.T) {
	s := newSite(t, func(c *console.Config) {
		c.Usage = func(uuid.UUID) []console.Usage {
			return []console.Usage{
				{Name: "Answers", Period: quota.Month, Used: 12345, Limit: 50000},
				{Name: "Events", Used: 7, Limit: quota.None},
				{Name: "More", Period: quota.Day, Used: 3},
			}
		}
	})
	s.get("/projects/1/settings").want(200, "Answers this month", "12,345 24% 50,000", "Events in all 7 no limit", "More today",
		"100%").checkPage()
}
