package serve

import (
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/flagstaff-go/flagstaff/management/storage"
)

// projectRows are about projects: what their keys open, and until when.
var projectRows = []accountRow{
	{"project 1", "has keys that work at once", func(t *testing.T, s *site) {
		a := s.account(t)
		created := s.as(a).call(t, "POST /api/projects/", `{"name":"Shop","timezone":"Europe/Vienna"}`).ok(t)
		checkShape(t, "project", projectShape, created)
		key, secret := created["api_token"].(string), created["secret_api_token"].(string)
		if !strings.HasPrefix(key, "phc_") || !strings.HasPrefix(secret, "phs_") || created["has_secret_api_token"] != true || created["has_secret_api_token_backup"] != false {
			t.Errorf("project %v", created)
		}
		askFlags(t, s, key, http.StatusOK)
		s.capture(t, key, http.StatusOK)
		askFlags(t, s, secret, http.StatusUnauthorized)
		shown := s.as(a).call(t, fmt.Sprintf("GET /api/projects/%v/", created["id"]), "").ok(t)
		checkShape(t, "project", projectShape, shown)
		if shown["secret_api_token"] != nil || shown["timezone"] != "Europe/Vienna" || shown["api_token"] != key || shown["ingested_event"] != true {
			t.Errorf("project %v", shown)
		}
	}},
	{"project 2", "gets another token", func(t *testing.T, s *site) {
		a := s.account(t)
		created := s.as(a).call(t, "POST /api/projects/", `{"name":"Shop"}`).ok(t)
		old := created["api_token"].(string)
		for _, method := range []string{"PATCH", "POST"} {
			reset := s.as(a).call(t, fmt.Sprintf("%s /api/projects/%v/reset_token/", method, created["id"]), "").ok(t)
			checkShape(t, "project", projectShape, reset)
			key := reset["api_token"].(string)
			if key == old || reset["secret_api_token"] != nil || reset["id"] != created["id"] || reset["uuid"] != created["uuid"] {
				t.Errorf("project %v", reset)
			}
			askFlags(t, s, old, http.StatusUnauthorized)
			s.capture(t, old, http.StatusUnauthorized)
			askFlags(t, s, key, http.StatusOK)
			s.capture(t, key, http.StatusOK)
			old = key
		}
	}},
	{"project 3", "has a secret key and the one before", func(t *testing.T, s *site) {
		a := s.account(t)
		path := fmt.Sprintf("/api/projects/%d/", a.project.ID)
		step := func(call string, shown, backup bool) {
			t.Helper()
			p := s.as(a).call(t, call, "").ok(t)
			checkShape(t, "project", projectShape, p)
			if (p["secret_api_token"] != nil) != shown || p["has_secret_api_token"] != true || p["has_secret_api_token_backup"] != backup {
				t.Errorf("%s = %v", call, p)
			}
		}
		hashes := func() (current, previous string) {
			t.Helper()
			p, err := s.store.Projects().Get(t.Context(), storage.ProjectID.Is(a.project.ID))
			if err != nil {
				t.Fatal(err)
			}
			return p.SecretHash, p.SecretPrevHash
		}
		first, _ := hashes()
		if first != storage.HashKey(*a.project.SecretToken) {
			t.Errorf("the hash is not that of the key that was shown")
		}
		step("POST "+path+"rotate_secret_token/", true, true)
		if current, previous := hashes(); previous != first || current == first {
			t.Errorf("hashes %s and %s", current, previous)
		}
		step("GET "+path, false, true)
		step("PATCH "+path+"delete_secret_token_backup/", false, false)
		step("GET "+path, false, false)
	}},
	{"project 4", "is deleted", func(t *testing.T, s *site) {
		a := s.account(t)
		created := s.as(a).call(t, "POST /api/projects/", `{"name":"Shop"}`).ok(t)
		id, key := int64(created["id"].(float64)), created["api_token"].(string)
		s.capture(t, key, http.StatusOK)
		if n := len(s.all(t, id)); n != 1 {
			t.Fatalf("%d events are stored, want 1", n)
		}
		s.as(a).call(t, fmt.Sprintf("DELETE /api/projects/%d/", id), "").done(t)
		askFlags(t, s, key, http.StatusUnauthorized)
		s.capture(t, key, http.StatusUnauthorized)
		s.as(a).call(t, fmt.Sprintf("GET /api/projects/%d/", id), "").fails(t, 404, "not_found", "")
		s.checkPurged(t, id)
	}},
	{"project 5", "goes with its organization", func(t *testing.T, s *site) {
		a := s.account(t)
		guest := s.member(t, a, storage.LevelMember)
		created := s.as(a).call(t, "POST /api/projects/", `{"name":"Shop"}`).ok(t)
		id, key := int64(created["id"].(float64)), created["api_token"].(string)
		s.capture(t, key, http.StatusOK)
		s.as(a).call(t, "DELETE /api/organizations/"+a.organization.ID.String()+"/", "").done(t)
		for _, key := range []string{key, a.project.APIToken} {
			askFlags(t, s, key, http.StatusUnauthorized)
			s.capture(t, key, http.StatusUnauthorized)
		}
		for _, u := range []*account{a, guest} {
			if user := s.as(u).me(t); user["organization"] != nil || user["team"] != nil {
				t.Errorf("user %v", user)
			}
		}
		s.as(a).call(t, "GET /api/organizations/"+a.organization.ID.String()+"/", "").fails(t, 404, "not_found", "")
		s.checkPurged(t, id)
	}},
	{"project 6", "is changed by administrators only", func(t *testing.T, s *site) {
		a := s.account(t)
		path := fmt.Sprintf("/api/projects/%d/", a.project.ID)
		member := s.as(s.member(t, a, storage.LevelMember))
		member.call(t, "GET "+path, "").ok(t)
		for _, o := range operations {
			if o.scope == "project:write" {
				member.call(t, o.fill(s.of(t, a, a.key)), o.body).fails(t, 403, "permission_denied", "")
			}
		}
		s.as(s.member(t, a, storage.LevelAdmin)).call(t, "PATCH "+path, `{"name":"Other"}`).ok(t)
		askFlags(t, s, a.project.APIToken, http.StatusOK)
	}},
	{"project 7", "keeps no addresses if it is told so", func(t *testing.T, s *site) {
		a := s.account(t)
		created := s.as(a).call(t, "POST /api/projects/", `{"name":"Shop"}`).ok(t)
		id, key := int64(created["id"].(float64)), created["api_token"].(string)
		s.capture(t, key, http.StatusOK)
		s.as(a).call(t, fmt.Sprintf("PATCH /api/projects/%d/", id), `{"anonymize_ips":true}`).ok(t)
		s.capture(t, key, http.StatusOK)
		with := 0
		for _, e := range s.all(t, id) {
			if _, ok := properties(t, e)["$ip"]; ok {
				with++
			}
		}
		if with != 1 {
			t.Errorf("%d of two events have an address, want that of before", with)
		}
	}},
}

// projectShape is a Team with what a client needs to use it.
var projectShape = func() shape {
	s := shape{
		"surveys_opt_in": "boolean?", "heatmaps_opt_in": "boolean?", "session_recording_opt_in": "boolean?", "autocapture_exceptions_opt_in": "boolean?",
		"autocapture_web_vitals_opt_in": "boolean?", "capture_performance_opt_in": "boolean?", "cookieless_server_hash_mode": "integer?",
		"session_recording_network_payload_capture_config": "object?", "app_urls": "list", "recording_domains": "list?", "event_retention_days": "integer?", "posthog_rules_only": "boolean",
		"anonymize_ips": "boolean", "created_at": "time", "updated_at": "time", "secret_api_token": "string?",
		"has_secret_api_token": "boolean", "has_secret_api_token_backup": "boolean",
	}
	maps.Copy(s, teamShape)
	return s
}()

// capture sends an event and compares the status.
func (s *site) capture(t *testing.T, key string, want int) {
	t.Helper()
	r, err := s.stranger().send(t.Context(), "POST /i/v0/e/", members("api_key", key, "event", "e", "distinct_id", "u"))
	if err != nil {
		t.Fatal(err)
	}
	if r.status != want {
		t.Errorf("POST /i/v0/e/ = %d %s, want %d", r.status, r.body, want)
	}
}

// checkPurged deletes what deleted projects have left, as the program does after a
// while, and checks that nothing of a project remains.
func (s *site) checkPurged(t *testing.T, project int64) {
	t.Helper()
	for more := true; more; {
		var err error
		if more, err = s.store.PurgeProjects(t.Context(), time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(s.all(t, project)); n != 0 {
		t.Errorf("%d events are left", n)
	}
	if person, err := s.store.AppendPerson(t.Context(), nil, project, "u"); err != nil || len(person) != 0 {
		t.Errorf("person %s, %v", person, err)
	}
}
