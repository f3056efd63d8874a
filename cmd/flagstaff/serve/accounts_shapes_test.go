package serve

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// A shape lists all members of an object with their types: integer, boolean,
// string, uuid, time, object, list or any, with a question mark if it may be null;
// or the shape of an object, or a list with the shape of its elements.
type shape map[string]any

// The shapes of api.md §2, with what management.md §8 says about null.
var (
	userShape = shape{
		"id": "integer", "uuid": "uuid", "distinct_id": "string", "date_joined": "time",
		"first_name": "string", "last_name": "string", "email": "string", "pending_email": "string?", "is_email_verified": "boolean?",
		"notification_settings": "object", "anonymize_data": "boolean?", "allow_impersonation": "boolean?", "toolbar_mode": "string?",
		"has_password": "boolean", "is_staff": "boolean", "is_impersonated": "boolean", "is_impersonated_until": "time?",
		"is_impersonated_read_only": "boolean?", "sensitive_session_expires_at": "time?",
		"team": teamShape, "organization": organizationShape, "organizations": []shape{summaryShape},
		"events_column_config": "any", "is_2fa_enabled": "boolean", "has_social_auth": "boolean", "has_sso_enforcement": "boolean",
		"has_seen_product_intro_for": "any", "scene_personalisation": []shape{{"scene": "string", "dashboard": "integer"}},
		"theme_mode": "string?", "hedgehog_config": "any", "allow_sidebar_suggestions": "boolean?", "shortcut_position": "string",
		"role_at_organization": "string?", "passkeys_enabled_for_2fa": "boolean?",
	}
	teamShape = shape{
		"id": "integer", "uuid": "uuid", "organization": "uuid", "project_id": "integer", "api_token": "string", "name": "string",
		"completed_snippet_onboarding": "boolean", "has_completed_onboarding_for": "any", "ingested_event": "boolean", "is_demo": "boolean",
		"timezone": "string", "access_control": "boolean",
	}
	organizationShape = shape{
		"id": "uuid", "name": "string", "slug": "string", "logo_media_id": "uuid?", "created_at": "time", "updated_at": "time",
		"membership_level": "integer?", "plugins_access_level": "integer", "teams": []shape{teamShape},
		"projects":                   []shape{{"id": "integer", "organization_id": "uuid", "name": "string"}},
		"available_product_features": "list", "is_member_join_email_enabled": "boolean", "metadata": "string", "customer_id": "string?",
		"enforce_2fa": "boolean?", "members_can_invite": "boolean?", "members_can_use_personal_api_keys": "boolean",
		"allow_publicly_shared_resources": "boolean", "member_count": "string", "is_ai_data_processing_approved": "boolean?",
		"default_experiment_stats_method": "string?", "default_anonymize_ips": "boolean", "default_role_id": "string?",
		"is_active": "boolean?", "is_not_active_reason": "string?",
	}
	summaryShape = shape{
		"id": "uuid", "name": "string", "slug": "string", "logo_media_id": "uuid?", "membership_level": "integer?",
		"members_can_use_personal_api_keys": "boolean", "is_active": "boolean?", "is_not_active_reason": "string?", "is_pending_deletion": "boolean",
	}
)

var shapeRows = []accountRow{
	{"shape 1", "of a new user", func(t *testing.T, s *site) {
		checkUser(t, s.as(s.user(t, management.NewUser{})), userShape)
		checkUser(t, s.as(s.account(t)), userShape)
		checkUser(t, s.as(s.staff(t)), userShape)
	}},
	{"shape 2", "of a user with everything", func(t *testing.T, s *site) {
		me := s.as(everything(t, s))
		checkUser(t, me, userShape)
		organization := checkUser(t, me, userShape)["organization"].(map[string]any)
		if organization["member_count"] != "2" || organization["metadata"] != `{"instance_tag":"none"}` {
			t.Errorf("member_count %v, metadata %v", organization["member_count"], organization["metadata"])
		}
	}},
	{"shape 3", "with -native-types", func(t *testing.T, s *site) {
		own := s.deployment.start(t, "-native-types")
		native := maps.Clone(organizationShape)
		native["member_count"], native["metadata"] = "integer", shape{"instance_tag": "string"}
		user := maps.Clone(userShape)
		user["organization"] = native
		organization := checkUser(t, own.as(everything(t, own)), user)["organization"].(map[string]any)
		if organization["member_count"] != json.Number("2") {
			t.Errorf("member_count %v", organization["member_count"])
		}
	}},
	{"shape 4", "of values", func(t *testing.T, s *site) {
		a := everything(t, s)
		user := s.as(a).me(t)
		for name, want := range map[string]any{
			"first_name": "Ada", "last_name": "King", "anonymize_data": true, "allow_impersonation": false, "toolbar_mode": "disabled",
			"theme_mode": "dark", "shortcut_position": "hidden", "role_at_organization": "engineering", "allow_sidebar_suggestions": true,
			"passkeys_enabled_for_2fa": false, "is_staff": false, "is_impersonated": false, "has_social_auth": false, "has_sso_enforcement": false,
			"uuid": a.UUID.String(), "id": float64(a.ID), "pending_email": "new-" + a.Email, "email": a.Email, "is_2fa_enabled": true,
		} {
			if user[name] != want {
				t.Errorf("%s = %v, want %v", name, user[name], want)
			}
		}
		team, organization := user["team"].(map[string]any), user["organization"].(map[string]any)
		if team["project_id"] != team["id"] || team["organization"] != organization["id"] || team["api_token"] != a.project.APIToken ||
			team["timezone"] != "UTC" || len(organization["teams"].([]any)) != 1 || organization["membership_level"] != 15.0 ||
			organization["plugins_access_level"] != 3.0 || organization["default_experiment_stats_method"] != "bayesian" {
			t.Errorf("team %v, organization %v", team, organization)
		}
		// Members that are null by default, or become null.
		for _, name := range []string{"anonymize_data", "allow_impersonation", "toolbar_mode", "theme_mode", "allow_sidebar_suggestions", "passkeys_enabled_for_2fa", "has_seen_product_intro_for", "hedgehog_config"} {
			if got := s.as(a).patch(t, `{"`+name+`":null}`).ok(t)[name]; got != nil {
				t.Errorf("%s = %v after null", name, got)
			}
		}
		if got := s.as(a).patch(t, `{"shortcut_position":null}`).ok(t)["shortcut_position"]; got != "above" {
			t.Errorf("shortcut_position = %v after null, want above", got)
		}
		if got := s.as(a).patch(t, `{"events_column_config":["x",{"y":1.50}]}`); !strings.Contains(got.body, `"events_column_config":["x",{"y":1.50}]`) {
			t.Errorf("events_column_config is not as it was sent: %s", got.body)
		}
	}},
	{"shape 5", "of what cannot be written", func(t *testing.T, s *site) {
		a := s.account(t)
		before := s.as(a).me(t)
		after := s.as(a).patch(t, `{"id":1,"uuid":"`+uuid.NewString()+`","distinct_id":"x","date_joined":"2020-01-01T00:00:00Z","pending_email":"x@example.com",`+
			`"is_email_verified":true,"has_password":true,"team":{},"organization":null,"organizations":[],"scene_personalisation":[],"is_2fa_enabled":true,`+
			`"is_impersonated":true,"unknown":{"x":1}}`).ok(t)
		for name, want := range before {
			if got := fmt.Sprint(after[name]); got != fmt.Sprint(want) {
				t.Errorf("%s = %v, want %v", name, got, want)
			}
		}
	}},
}

// everything makes an account with as few empty members as possible.
func everything(t *testing.T, s *site) *account {
	t.Helper()
	a := s.accountWithPassword(t)
	s.member(t, a, storage.LevelMember)
	me := s.as(a)
	me.patch(t, members(
		"first_name", "Ada", "last_name", "King", "email", "new-"+a.Email, "notification_settings", map[string]any{"plugin_disabled": false},
		"anonymize_data", true, "allow_impersonation", false, "toolbar_mode", "disabled", "events_column_config", map[string]any{"active": []string{"x"}},
		"has_seen_product_intro_for", map[string]any{"feature_flags": true}, "theme_mode", "dark", "hedgehog_config", map[string]any{"version": 2},
		"allow_sidebar_suggestions", true, "shortcut_position", "hidden", "role_at_organization", "engineering", "passkeys_enabled_for_2fa", false,
	)).ok(t)
	me.call(t, "POST /api/users/@me/scene_personalisation/", `{"scene":"Person","dashboard":42}`).ok(t)
	me.enroll(t)
	return a
}

// checkUser checks the shape of a caller's user wherever it is shown.
func checkUser(t *testing.T, c *caller, want shape) map[string]any {
	t.Helper()
	user := exact(t, c.call(t, "GET /api/users/@me/", "").body)
	checkShape(t, "User", want, user)
	list := exact(t, c.call(t, "GET /api/users/?limit=1000", "").body)
	checkShape(t, "list", shape{"count": "integer", "next": "string?", "previous": "string?", "results": []shape{want}}, list)
	checkShape(t, "PATCH", want, exact(t, c.patch(t, `{}`).body))
	return user
}

// exact decodes JSON with its numbers as they are.
func exact(t *testing.T, body string) map[string]any {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader([]byte(body)))
	d.UseNumber()
	var m map[string]any
	if err := d.Decode(&m); err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	return m
}

// checkShape compares an object with its shape.
func checkShape(t *testing.T, path string, want shape, got map[string]any) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if _, ok := want[name]; !ok {
			t.Errorf("%s has a member %s too many", path, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		value, ok := got[name]
		if !ok {
			t.Errorf("%s has no member %s", path, name)
			continue
		}
		checkType(t, path+"."+name, want[name], value)
	}
}

func checkType(t *testing.T, path string, want, got any) {
	t.Helper()
	switch want := want.(type) {
	case shape:
		if object, ok := got.(map[string]any); ok {
			checkShape(t, path, want, object)
		} else if got != nil { // of a user without organization
			t.Errorf("%s = %v, want an object", path, got)
		}
	case []shape:
		list, ok := got.([]any)
		if !ok {
			t.Errorf("%s = %v, want a list", path, got)
		}
		for i, v := range list {
			checkType(t, path+"."+strconv.Itoa(i), want[0], v)
		}
	case string:
		if kind, nullable := strings.CutSuffix(want, "?"); !isOf(kind, got) && !(nullable && got == nil) {
			t.Errorf("%s = %v (%T), want %s", path, got, got, want)
		}
	}
}

// isOf reports whether a decoded value is of a type of a shape.
func isOf(kind string, v any) bool {
	switch kind {
	case "any":
		return true
	case "object":
		_, ok := v.(map[string]any)
		return ok
	case "list":
		_, ok := v.([]any)
		return ok
	case "boolean":
		_, ok := v.(bool)
		return ok
	case "integer":
		switch n := v.(type) {
		case json.Number:
			_, err := n.Int64()
			return err == nil
		case float64:
			return n == float64(int64(n))
		}
		return false
	}
	s, ok := v.(string)
	switch kind {
	case "uuid":
		return ok && uuid.Validate(s) == nil && len(s) == len(uuid.Nil.String()) && s == strings.ToLower(s)
	case "time": // UTC, with no more than microseconds (management.md §0)
		at, err := time.Parse("2006-01-02T15:04:05.999999Z", s)
		return ok && err == nil && at.Format("2006-01-02T15:04:05.999999Z") == s
	}
	return ok && kind == "string"
}
