package project_test

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
	"github.com/flagstaff-go/flagstaff/server/console/consoletest"
	"github.com/flagstaff-go/flagstaff/server/console/shell"
)

func init() {
	actions = append(actions,
		action{Route: "/projects/{project}/settings", Run: func(s *consoletest.Site) (string, url.Values) {
			return "/projects/1/settings", consoletest.With(s.Get("/projects/1/settings").Form("form"), "name", "Other", "app_urls",
				"https://app.example.com")
		}},
		action{
			Route: "/projects/{project}/settings/{action}", Verb: "reset-key", Asks: consoletest.Confirm,
			Irreversible: "the key before is known to nobody any more", Tested: "TestProjectKeys",
		},
		action{
			Route: "/projects/{project}/settings/{action}", Verb: "rotate-secret", Asks: consoletest.Confirm,
			Irreversible: "a shown key is known",
			Tested:       "TestProjectKeys",
		},
		action{
			Route: "/projects/{project}/settings/{action}", Verb: "end-secret", Asks: consoletest.Confirm,
			Irreversible: "only its hash was kept",
			Tested:       "TestProjectKeys",
		},
		action{
			Route: "/projects/{project}/settings/{action}", Verb: "delete", Asks: consoletest.Confirm,
			Irreversible: "everything in it is gone",
			Tested:       "TestDeleteProject",
		},
	)
}

// settings returns the settings of the project as the API has them.
func settings(s *consoletest.Site) map[string]any {
	s.T.Helper()
	p, err := s.Service.GetProject(s.T.Context(), s.Owner, "1")
	consoletest.Fatal(s.T, err)
	raw, err := json.Marshal(p)
	consoletest.Fatal(s.T, err)
	var all map[string]any
	consoletest.Fatal(s.T, json.Unmarshal(raw, &all))
	return all
}

// TestSettings changes every setting with the form, and back.
func TestSettings(t *testing.T) {
	s := consoletest.NewSite(t)
	page := s.Get("/projects/1/settings").Want(200, "Settings", "API key")
	page.CheckPage()
	before := settings(s)
	form := page.Form("form")
	s.Post("/projects/1/settings", form).Leads("/projects/1/settings?done=saved")
	if diff := cmp.Diff(before, settings(s)); diff != "" {
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
		changed = consoletest.With(changed, name, text)
	}
	s.Post("/projects/1/settings", changed).Leads("/projects/1/settings?done=saved")
	after := settings(s)
	for name, value := range want {
		if diff := cmp.Diff(value, after[name]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	again := s.Get("/projects/1/settings?done=saved").Want(200, "Saved.", "Shop <2>")
	again.CheckPage()
	back := again.Form("form")
	for name := range typed {
		back = consoletest.With(back, name, form.Get(name))
	}
	s.Post("/projects/1/settings", back).Leads("/projects/1/settings?done=saved")
	if diff := cmp.Diff(before, settings(s), cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == `["updated_at"]` },
		cmp.Ignore())); diff != "" {
		t.Errorf("the way back (-before +after):\n%s", diff)
	}
}

// TestSettingsRefused: messages stand beside fields, and what was typed stays.
func TestSettingsRefused(t *testing.T) {
	s := consoletest.NewSite(t)
	form := s.Get("/projects/1/settings").Form("form")
	for _, tt := range []struct{ name, typed, says string }{
		{"name", " ", "This field may not be blank."},
		{"timezone", "Mars/Olympus", `"Mars/Olympus" is not a valid choice.`},
		{"session_recording_network_payload_capture_config", "{", "Expected a dictionary"},
	} {
		a := s.Post("/projects/1/settings", consoletest.With(form, tt.name, tt.typed, "app_urls", "https://kept.example")).Want(422,
			tt.says,
			"What you have typed is still here.")
		a.CheckPage()
		if !strings.Contains(a.Body, tt.name+`-error"`) {
			t.Errorf("%s: the message is not beside the field", tt.name)
		}
		if got := a.Form("form"); got.Get(tt.name) != tt.typed || got.Get("app_urls") != "https://kept.example" {
			t.Errorf("%s: the form has %q and %q", tt.name, got.Get(tt.name), got.Get("app_urls"))
		}
	}
	// Somebody else changes one setting, the user another one and then the same.
	name := func(name string) management.ProjectPatch { return management.ProjectPatch{Name: optional.Of(name)} }
	_, err := s.Service.UpdateProject(t.Context(), s.Owner, "1", name("Theirs"))
	consoletest.Fatal(t, err)
	s.Post("/projects/1/settings", consoletest.With(form, "timezone", "Europe/Rome")).Leads("/projects/1/settings?done=saved")
	if got := settings(s); got["name"] != "Theirs" || got["timezone"] != "Europe/Rome" {
		t.Errorf("name %v, timezone %v", got["name"], got["timezone"])
	}
	a := s.Post("/projects/1/settings", consoletest.With(form, "name", "Mine")).Want(409,
		"Somebody else has changed this meanwhile, to: “Theirs”")
	a.CheckPage()
	s.Post("/projects/1/settings", a.Form("form")).Leads("/projects/1/settings?done=saved")
	if got := settings(s)["name"]; got != "Mine" {
		t.Errorf("name %v", got)
	}
	s.Broken.Broken.Store(true)
	s.Post("/projects/1/settings", form).Want(503, "The store does not answer")
}

// TestSettingsRetention: what deletes events is saved when the user has been warned of it.
func TestSettingsRetention(t *testing.T) {
	s := consoletest.NewSite(t, func(c *shell.Config) { c.Retain = 90 * 24 * time.Hour })
	form := s.Get("/projects/1/settings").Want(200, "90 days, which is the limit of this server").Form("form")
	warned := func(form url.Values, days string) url.Values {
		t.Helper()
		a := s.Post("/projects/1/settings", consoletest.With(form, "event_retention_days", days, "timezone", "Europe/Rome")).Want(422,
			"more than "+days+" days ago would be deleted for good")
		a.CheckPage()
		return a.Form("form")
	}
	days := func(want any) {
		t.Helper()
		if got := settings(s)["event_retention_days"]; got != want {
			t.Errorf("event_retention_days is %v, want %v", got, want)
		}
	}
	again := warned(form, "30")
	days(nil)
	again = warned(again, "9") // another number than the one of the warning
	days(nil)
	s.Post("/projects/1/settings", again).Leads("/projects/1/settings?done=saved")
	days(9.0)
	if got := settings(s)["timezone"]; got != "Europe/Rome" {
		t.Errorf("timezone %v", got)
	}
	for _, typed := range []string{" 60 ", ""} {
		form = s.Get("/projects/1/settings").Form("form")
		s.Post("/projects/1/settings", consoletest.With(form, "event_retention_days", typed)).Leads("/projects/1/settings?done=saved")
	}
	days(nil)
	form = s.Get("/projects/1/settings").Form("form")
	for typed, says := range map[string]string{
		"0": "greater than or equal to 1", "36501": "less than or equal to 36500", "90d": "A valid integer", "1e2": "A valid integer",
	} {
		// The warning comes first; it does not hide what is wrong.
		a := s.Post("/projects/1/settings", consoletest.With(form, "event_retention_days", typed, "sure.event_retention_days",
			typed)).Want(422, says)
		if got := a.Form("form").Get("event_retention_days"); got != typed {
			t.Errorf("the form has %q, want %q", got, typed)
		}
	}
	consoletest.NewSite(t).Get("/projects/1/settings").Want(200, "Empty: events are kept for ever.")
}

var stateForm = regexp.MustCompile(`name="state" value="([^"]*)"`)

// TestProjectKeys makes new keys, each of which is shown once.
func TestProjectKeys(t *testing.T) {
	s := consoletest.NewSite(t)
	key := settings(s)["api_token"]
	ask := s.Get("/projects/1/settings/reset-key").Want(200, "Reset the API key?")
	ask.CheckPage()
	s.Post("/projects/1/settings/reset-key", ask.Form("")).Leads("/projects/1/settings?done=key-reset")
	if settings(s)["api_token"] == key {
		t.Error("the key is the same")
	}
	ask = s.Get("/projects/1/settings/rotate-secret").Want(200)
	ask.CheckPage()
	shown := s.Post("/projects/1/settings/rotate-secret", ask.Form("")).Want(200, "The new secret key")
	shown.CheckPage()
	secret := regexp.MustCompile(`value="(phs_\w+)"`).FindStringSubmatch(shown.Body)
	if secret == nil {
		t.Fatal("the key is not shown")
	}
	// The page that is sent again makes no other key.
	s.Post("/projects/1/settings/rotate-secret", ask.Form("")).Want(409, "Nothing was done").CheckPage()
	page := s.Get("/projects/1/settings").Want(200, "The previous key still works.")
	if strings.Contains(page.Body, secret[1]) {
		t.Error("the secret key is on a page that was not asked for it")
	}
	ask = s.Get("/projects/1/settings/end-secret").Want(200)
	s.Post("/projects/1/settings/end-secret", ask.Form("")).Leads("/projects/1/settings?done=key-ended")
	if settings(s)["has_secret_api_token_backup"] != false {
		t.Error("the key before is still good")
	}
	s.Get("/projects/1/settings/nothing").Want(404)
	s.Post("/projects/1/settings/nothing", nil).Want(404)
}

func TestDeleteProject(t *testing.T) {
	s := consoletest.NewSite(t)
	ask := s.Get("/projects/1/settings/delete").Want(200, "Type Shop to confirm")
	ask.CheckPage()
	wrong := s.Post("/projects/1/settings/delete", consoletest.With(ask.Form(""), "typed", "shop")).Want(422,
		"Type the name of the project")
	wrong.CheckPage()
	s.Post("/projects/1/settings/delete", consoletest.With(ask.Form(""), "typed", "Shop")).Leads("/projects?done=project-deleted")
	s.Get("/projects?done=project-deleted").Want(200, "The project was deleted.").CheckPage()
	s.Get("/projects/1/settings").Want(404)
}

// TestSettingsOfMembers: members see settings, and what they may not do is refused in words.
func TestSettingsOfMembers(t *testing.T) {
	s := consoletest.NewSite(t)
	s.Member("bob@example.com", storage.LevelMember)
	s.SignIn("bob@example.com")
	page := s.Get("/projects/1/settings").Want(200, "You are a member of Acme. Administrators and owners may change what is here.")
	page.CheckPage()
	if !strings.Contains(page.Body, "<fieldset class=\"plainset\" disabled>") || strings.Contains(page.Body, "settings/delete") {
		t.Error("the page offers what is refused")
	}
	s.Post("/projects/1/settings", consoletest.With(page.Form("form"), "name", "Bob's")).Want(403,
		"Administrators and owners of Acme may do it; you are a member.").CheckPage()
	for _, action := range []string{"reset-key", "rotate-secret", "end-secret", "delete"} {
		a := s.Get("/projects/1/settings/"+action).Want(403, "Only administrators and owners of Acme may do this.")
		a.CheckPage()
		state := stateForm.FindStringSubmatch(a.Body)[1]
		s.Post("/projects/1/settings/"+action, url.Values{"state": {state}, "typed": {"Shop"}}).Want(403)
	}
	if got := settings(s); got["name"] != "Shop" || got["has_secret_api_token_backup"] != false {
		t.Errorf("the project has changed: %v", got)
	}
	_, err := s.Service.CreateUser(t.Context(), management.NewUser{Email: "alone@example.com", Password: consoletest.Password})
	consoletest.Fatal(t, err)
	s.SignIn("alone@example.com")
	for _, path := range []string{"settings", "settings/members", "settings/delete"} {
		if a := s.Get("/projects/1/" + path); a.Status != 403 && a.Status != 404 {
			t.Errorf("%s of a foreign project: status %d", path, a.Status)
		}
	}
}

func TestUsage(t *testing.T) {
	s := consoletest.NewSite(t, func(c *shell.Config) {
		c.Usage = func(uuid.UUID) []shell.Usage {
			return []shell.Usage{
				{Name: "Answers", Period: quota.Month, Used: 12345, Limit: 50000},
				{Name: "Events", Used: 7, Limit: quota.None},
				{Name: "More", Period: quota.Day, Used: 3},
			}
		}
	})
	s.Get("/projects/1/settings").Want(200, "Answers this month", "12,345 24% 50,000", "Events in all 7 no limit", "More today",
		"100%").CheckPage()
}
