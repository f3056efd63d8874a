package serve

import (
	"context"
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/sqlstore"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// securityRows are the rules of management.md §15.2, and the modes of §1.8. [watch]
// checks in all of these tests that no secret is told anywhere (rules 1 and 6).
var securityRows = []accountRow{
	{"rule 1", "keys", keysAreShownOnce},
	{"rule 3", "long passwords", func(t *testing.T, s *site) {
		a := s.accountWithPassword(t)
		long := strings.Repeat("ä9", 64) // 128 characters
		s.as(a).patch(t, members("password", long+"y", "current_password", a.password)).fails(t, 400, "max_length", "password")
		s.as(a).patch(t, members("current_password", strings.Repeat("x", 1<<19))).fails(t, 400, "max_length", "current_password")
		// Passwords are counted by characters, and taken unchanged.
		phrase := " " + s.password(t) + strings.Repeat("é", 80) + " "
		s.as(a).patch(t, members("password", phrase, "current_password", a.password)).ok(t)
		s.as(a).patch(t, members("password", a.password, "current_password", strings.TrimSpace(phrase))).fails(t, 400, "incorrect_password", "current_password")
		s.as(a).patch(t, members("password", a.password, "current_password", phrase)).ok(t)
	}},
	{"rule 4", "limits", limitsOnGuessing},
	{"rule 5", "nobody is enumerated", func(t *testing.T, s *site) {
		known, verified, pending, idle := s.account(t), s.account(t), s.account(t), s.account(t)
		verified.EmailVerified = new(true)
		pending.PendingEmail = "new-" + pending.Email
		idle.Active = false
		for _, a := range []*account{verified, pending, idle} {
			if err := s.store.Users().Update(t.Context(), a.User); err != nil {
				t.Fatal(err)
			}
		}
		s.stranger().call(t, "POST /api/users/request_email_verification/", members("uuid", known.UUID)).ok(t)
		s.verification(t, known.Email, 1) // there is a token now
		asker := s.as(s.account(t))
		for _, call := range []struct {
			path, name string
			value      any
		}{
			{"request_email_verification", "x", "y"},
			{"verify_email", "token", "not-the-token"},
			{"verify_email", "token", ""},
			{"verify_email", "code", "123456"},
			{"verify_email", "code", "x"},
		} {
			var first *answer
			for _, id := range []any{uuid.New(), known.UUID, verified.UUID, pending.UUID, idle.UUID} {
				body := members("uuid", id, call.name, call.value)
				for _, c := range []*caller{s.stranger(), {asker.site, asker.key, s.stranger().address}} {
					if c.key != "" && call.path == "request_email_verification" && id != known.UUID {
						continue // which would take from the asker's own six a day
					}
					r := c.call(t, "POST /api/users/"+call.path+"/", body)
					if first == nil {
						first = r
					}
					if r.status != first.status || r.body != first.body {
						t.Errorf("%s %s = %d %s; for nobody %d %s", r.call, body, r.status, r.body, first.status, first.body)
					}
				}
			}
		}
	}},
	{"rule 6", "what is never shown", func(t *testing.T, s *site) {
		a := everything(t, s)
		me := s.as(a)
		codes := me.backupCodes(t)
		me.call(t, setupPath, "").ok(t)
		r := s.of(t, a, a.key)
		for name := range collections {
			r.ids[name] = s.make(t, a, name)
		}
		staff := s.as(s.staff(t))
		secret := regexp.MustCompile(`(?i)"[^"]*(password|secret|hash|token|totp|sealed|hmac|value)[^"]*":`)
		for _, o := range s.operations() {
			if !strings.HasPrefix(o.call, "GET ") || strings.Contains(o.call, "setup") || o.alias {
				continue
			}
			for _, c := range []*caller{me, staff} {
				r := c.call(t, o.fill(r), "")
				for _, m := range secret.FindAllString(r.body, -1) {
					switch m {
					case `"has_password":`, `"has_totp":`, `"api_token":`, `"mask_value":`, `"has_secret_api_token":`, `"has_secret_api_token_backup":`, `"bucketing_hash":`, `"cookieless_server_hash_mode":`, `"values":`:
						continue
					case `"value":`, `"secret_api_token":`:
						if !o.managed && (!strings.Contains(r.body, m+"null") || strings.Contains(r.body, m+`"`)) {
							t.Errorf("%s = %s, want %s null", r.call, r.body, m)
						}
						continue
					}
					t.Errorf("%s has a member %s", r.call, m)
				}
				if c != me && strings.Contains(r.body, codes[0]) {
					t.Errorf("%s shows staff the backup codes", r.call)
				}
			}
		}
	}},
	{"rule 8", "what is logged and told", accountsAreLogged},
	{"rule 12", "headers and other origins", originsAreRefused},
	{"rule 13", "bodies", bodiesAreLimited},
	{"rule 14", "proxies", proxiesAreListed},
	{"rule 16", "panics", panicsAreSurvived},
	{"§1.8 stepup", "a password or a code besides", stepUp},
	{"§1.8 off", "keys change no accounts", func(t *testing.T, s *site) {
		own := s.deployment.start(t, "-account-mutations", "off")
		a := own.accountWithPassword(t)
		me := own.as(a)
		for _, call := range []string{
			`PATCH /api/users/@me/ {"email":"other@example.com"}`, `PATCH /api/users/@me/ {"password":"x","current_password":"y"}`,
			"DELETE /api/users/@me/", setupPath, `POST /api/users/@me/validate_2fa/ {"token":"123456"}`,
			"POST /api/users/@me/two_factor_backup_codes/", "POST /api/users/@me/two_factor_disable/", "PATCH /api/users/cancel_email_change_request/",
			`POST /api/personal_api_keys/ {"label":"x","scopes":["*"]}`, "POST /api/personal_api_keys/@current/roll/",
		} {
			operation, body, _ := strings.Cut(call, " {")
			if body != "" {
				body = "{" + body
			}
			me.call(t, operation, body, "X-2FA-Token", "123456").fails(t, 403, "permission_denied", "")
		}
		me.patch(t, `{"first_name":"Grace"}`).ok(t)
		me.call(t, "GET /api/users/@me/two_factor_status/", "").ok(t)
	}},
	{"setting 1", "-allow-key-in-body", func(t *testing.T, s *site) {
		own := s.deployment.start(t, "-allow-key-in-body")
		a := own.account(t)
		for _, key := range []string{a.key, "phx_wrong"} {
			query := own.stranger().call(t, "GET /api/users/@me/?personal_api_key="+key, "")
			body := own.stranger().call(t, "PATCH /api/users/@me/", members("personal_api_key", key))
			if key == a.key {
				query.ok(t)
				body.ok(t)
				continue
			}
			for _, detail := range []string{query.fails(t, 401, "authentication_failed", ""), body.fails(t, 401, "authentication_failed", "")} {
				if !strings.Contains(detail, "query string") && !strings.Contains(detail, "request body") {
					t.Errorf("detail %q", detail)
				}
			}
		}
		// The first key counts: header, body, query.
		own.with("phx_wrong").patch(t, members("personal_api_key", a.key)).fails(t, 401, "authentication_failed", "")
		own.stranger().call(t, "PATCH /api/users/@me/?personal_api_key="+a.key, `{"personal_api_key":"phx_wrong"}`).fails(t, 401, "authentication_failed", "")
		// Links to other pages are for clients that have the key already.
		next := own.stranger().call(t, "GET /api/users/?offset=1&personal_api_key="+own.staff(t).key, "")
		if strings.Contains(next.body, "phx_") {
			t.Errorf("a link has the key: %s", next.body)
		}
	}},
	{"setting 2", "-hide-backup-codes", func(t *testing.T, s *site) {
		own := s.deployment.start(t, "-hide-backup-codes", "-account-mutations", "stepup")
		a := own.account(t)
		device := own.as(a).enroll(t)
		codes := own.as(a).backupCodes(t, "X-2FA-Token", device.code(t))
		status := own.as(a).call(t, "GET /api/users/@me/two_factor_status/", "").ok(t)
		if len(status["backup_codes"].([]any)) != 0 || status["backup_codes_remaining"] != 10.0 {
			t.Errorf("status %v", status)
		}
		own.as(a).patch(t, members("password", own.password(t)), "X-2FA-Token", codes[0]).ok(t)
	}},
	{"setting 3", "-revoke-keys-on-password-change", func(t *testing.T, s *site) {
		own := s.deployment.start(t, "-revoke-keys-on-password-change")
		a := own.account(t)
		second := own.issue(t, a, "user:read")
		own.as(a).patch(t, members("password", own.password(t))).ok(t)
		own.with(second).call(t, "GET /api/users/@me/", "").fails(t, 401, "authentication_failed", "")
		own.as(a).me(t)
	}},
	{"setting 4", "-delete-users cascade", func(t *testing.T, s *site) {
		own := s.deployment.start(t, "-delete-users", "cascade", "-delete-empty-organizations")
		a := own.account(t)
		guest := own.member(t, a, storage.LevelMember)
		own.as(a).call(t, "DELETE /api/users/@me/", "").fails(t, 409, "conflict", "") // the only owner, with another member
		own.as(guest).call(t, "DELETE /api/users/@me/", "").done(t)
		own.as(guest).call(t, "GET /api/users/@me/", "").fails(t, 401, "authentication_failed", "")
		key := own.as(a).call(t, "POST /api/projects/", `{"name":"Shop"}`).ok(t)["api_token"].(string)
		askFlags(t, own, key, http.StatusOK)
		own.as(a).call(t, "DELETE /api/users/@me/", "").done(t)
		askFlags(t, own, key, http.StatusUnauthorized)
		if _, err := own.store.Organizations().Get(t.Context(), storage.OrganizationID.Is(a.organization.ID)); err == nil {
			t.Error("the organization of nobody is still there")
		}
	}},
}

func keysAreShownOnce(t *testing.T, s *site) {
	a := s.user(t, management.NewUser{})
	me := s.as(a)
	const path = "/api/personal_api_keys/"
	keyShape := shape{
		"id": "string", "label": "string", "value": "string?", "mask_value": "string", "created_at": "time", "last_used_at": "time?",
		"last_rolled_at": "time?", "user_id": "integer", "scopes": "list", "scoped_teams": "list", "scoped_organizations": "list",
	}
	created := me.call(t, "POST "+path, `{"label":"ci","scopes":["user:read","survey:write"]}`).ok(t)
	checkShape(t, "key", keyShape, created)
	value, id := created["value"].(string), created["id"].(string)
	if !regexp.MustCompile(`^phx_[0-9A-Za-z]{40,44}$`).MatchString(value) || created["mask_value"] != "phx_..."+value[len(value)-4:] ||
		created["last_used_at"] != nil || created["last_rolled_at"] != nil || created["user_id"] != float64(a.ID) {
		t.Errorf("key %v", created)
	}
	s.with(value).call(t, "GET /api/users/@me/", "").ok(t)
	for _, call := range []string{"GET " + path + id + "/", "PATCH " + path + id + "/"} {
		shown := me.call(t, call, "").ok(t)
		checkShape(t, "key", keyShape, shown)
		if shown["value"] != nil || shown["last_used_at"] == nil || shown["label"] != "ci" {
			t.Errorf("%s = %v", call, shown)
		}
	}
	rolled := me.call(t, "POST "+path+id+"/roll/", "").ok(t)
	checkShape(t, "key", keyShape, rolled)
	fresh := rolled["value"].(string)
	if fresh == value || rolled["last_rolled_at"] == nil || rolled["id"] != id || rolled["mask_value"] != "phx_..."+fresh[len(fresh)-4:] {
		t.Errorf("rolled %v", rolled)
	}
	s.with(value).call(t, "GET /api/users/@me/", "").fails(t, 401, "authentication_failed", "")
	s.with(fresh).call(t, "GET /api/users/@me/", "").ok(t)
	s.with(fresh).call(t, "GET "+path+"@current/", "").ok(t)

	var all []any
	if err := json.Unmarshal([]byte(me.call(t, "GET "+path, "").body), &all); err != nil || len(all) != 2 || all[0].(map[string]any)["id"] != id {
		t.Errorf("keys %v, %v; want two, the newest first", all, err)
	}
	for range 8 {
		me.call(t, "POST "+path, `{"label":"more","scopes":["*"]}`).ok(t)
	}
	me.call(t, "POST "+path, `{"label":"the eleventh","scopes":["*"]}`).fails(t, 400, "invalid_input", "")

	for body, want := range map[string]string{
		`{"scopes":["*"]}`: "required label", `{"label":"x"}`: "required scopes", `{"label":"","scopes":["*"]}`: "blank label",
		members("label", strings.Repeat("x", 41), "scopes", []string{"*"}): "max_length label", `{"label":"x","scopes":null}`: "null scopes",
		`{"label":"x","scopes":["nothing:read"]}`: "invalid_input scopes", `{"label":"x","scopes":["user:delete"]}`: "invalid_input scopes",
		`{"label":"x","scopes":["user"]}`: "invalid_input scopes", `{"label":"x","scopes":[5]}`: "invalid_input scopes", `{"label":"x","scopes":[]}`: "invalid_input scopes",
	} {
		code, attr, _ := strings.Cut(want, " ")
		s.as(s.user(t, management.NewUser{})).call(t, "POST "+path, body).fails(t, 400, code, attr)
	}
	// A key that is not for everything manages no keys, not even itself.
	for _, call := range []string{"GET " + path, "PATCH " + path + "@current/", "DELETE " + path + "@current/", "POST " + path + "@current/roll/", "GET " + path + s.keyID(t, a.key) + "/"} {
		s.with(fresh).call(t, call, "").fails(t, 403, "permission_denied", "")
	}
	me.call(t, "DELETE "+path+id+"/", "").done(t)
	s.with(fresh).call(t, "GET /api/users/@me/", "").fails(t, 401, "authentication_failed", "")
	me.call(t, "DELETE "+path+"@current/", "").done(t)
	me.call(t, "GET "+path, "").fails(t, 401, "authentication_failed", "")
}

// limitsOnGuessing are the limits of management.md §2.6 and §1.7. Others of them
// are case 14 and row 6 of §6.2.
func limitsOnGuessing(t *testing.T, s *site) {
	t.Run("of tokens, by address", func(t *testing.T) {
		c := s.stranger()
		for range 6 {
			c.call(t, "POST /api/users/verify_email/", members("uuid", uuid.New(), "token", "some-token")).fails(t, 400, "invalid_token", "token")
		}
		c.call(t, "POST /api/users/verify_email/", members("uuid", uuid.New(), "token", "some-token")).fails(t, 429, "throttled", "")
	})
	t.Run("of tokens, by user", func(t *testing.T) {
		for _, id := range []uuid.UUID{uuid.New(), s.account(t).UUID} {
			for range 6 {
				s.verify(t, members("uuid", id, "token", "some-token")).fails(t, 400, "invalid_token", "token")
			}
			s.verify(t, members("uuid", id, "token", "some-token")).fails(t, 429, "throttled", "")
			s.verify(t, members("uuid", strings.ToUpper(id.String()), "token", "some-token")).fails(t, 429, "throttled", "")
		}
	})
	t.Run("of keys", func(t *testing.T) {
		a := s.account(t)
		c := s.as(a)
		wrong := &caller{s, "phx_wrong", c.address}
		for range 60 {
			wrong.call(t, "GET /api/users/@me/", "").fails(t, 401, "authentication_failed", "")
		}
		// The bucket gets one token a second, which may be just now.
		refused := false
		for n := 0; n < 50 && !refused; n++ {
			if r := wrong.call(t, "GET /api/users/@me/", ""); r.status == http.StatusTooManyRequests {
				r.fails(t, 429, "throttled", "")
				refused = c.call(t, "GET /api/users/@me/", "").status == http.StatusTooManyRequests
			}
		}
		if !refused {
			t.Error("a right key is looked at after any number of wrong ones")
		}
		s.as(a).me(t) // from another address
	})
	t.Run("of codes", func(t *testing.T) {
		own := s.deployment.start(t, "-account-mutations", "stepup")
		a := own.account(t)
		me := own.as(a)
		device := me.enroll(t)
		codes := me.backupCodes(t, "X-2FA-Token", device.code(t)) // the first of six
		for _, code := range []string{"not-a-code", "aaaaaaaa"} {
			setFailures(t, own, a, 0)
			me.call(t, "DELETE /api/users/@me/", "", "X-2FA-Token", code).fails(t, 403, "sensitive_action_required_reauth", "")
		}
		// After five failures, the next attempt has to wait for 16 seconds, with
		// any code.
		setFailures(t, own, a, 5)
		for _, code := range []string{device.code(t), codes[0]} {
			r := me.call(t, "POST /api/users/@me/two_factor_disable/", "", "X-2FA-Token", code)
			r.fails(t, 429, "2fa_too_many_attempts", "")
			if wait, err := strconv.Atoi(r.header.Get("Retry-After")); err != nil || wait > 16 || wait < 10 {
				t.Errorf("Retry-After %q, want 16", r.header.Get("Retry-After"))
			}
		}
		setFailures(t, own, a, 0)
		me.call(t, "POST /api/users/@me/two_factor_backup_codes/", "", "X-2FA-Token", codes[0]).ok(t) // the sixth
		r := me.call(t, "POST /api/users/@me/two_factor_disable/", "", "X-2FA-Token", device.code(t))
		r.fails(t, 429, "2fa_too_many_attempts", "")
		if wait, err := strconv.Atoi(r.header.Get("Retry-After")); err != nil || wait < 100 || wait > 200 {
			t.Errorf("Retry-After %q, want 200", r.header.Get("Retry-After"))
		}
	})
	t.Run("of requests", func(t *testing.T) {
		a := s.account(t)
		key := s.issue(t, a, "user:read")
		const burst = 480
		for range burst {
			s.with(key).call(t, "GET /api/users/@me/hedgehog_config/", "").ok(t)
		}
		for range 1000 { // eight tokens come back each second
			if r := s.with(key).call(t, "GET /api/users/@me/hedgehog_config/", ""); r.status != http.StatusOK {
				r.fails(t, 429, "throttled", "")
				if h := r.header; h.Get("RateLimit-Limit") != strconv.Itoa(burst) || h.Get("RateLimit-Remaining") != "0" || h.Get("RateLimit-Reset") != h.Get("Retry-After") {
					t.Errorf("headers %v", h)
				}
				s.as(a).me(t) // another key
				return
			}
		}
		t.Errorf("%d requests with one key are answered", burst+1000)
	})
}

// setFailures stores that an authenticator has got so many wrong codes in a row,
// the last one just now.
func setFailures(t *testing.T, s *site, a *account, failures int) {
	t.Helper()
	device, err := s.store.TOTPs().Get(t.Context(), storage.TOTPUser.Is(a.ID))
	if err != nil {
		t.Fatal(err)
	}
	device.Failures, device.FailedAt = failures, new(time.Now().UTC().Truncate(time.Microsecond))
	if failures == 0 {
		device.FailedAt = nil
	}
	if err := s.store.TOTPs().Set(t.Context(), device); err != nil {
		t.Fatal(err)
	}
}

// accountsAreLogged does everything that the rule lists. Each has an entry in the
// activity log and a mail, without secrets.
func accountsAreLogged(t *testing.T, s *site) {
	a := s.accountWithPassword(t)
	me, staff := s.as(a), s.as(s.staff(t))
	user := "/api/users/" + a.UUID.String() + "/"
	me.enroll(t)
	me.backupCodes(t)
	me.call(t, "POST /api/users/@me/two_factor_disable/", "").ok(t)
	me.patch(t, members("password", s.password(t), "current_password", a.password)).ok(t)
	staff.call(t, "PATCH "+user, `{"is_staff":true}`).ok(t)
	key := me.call(t, "POST /api/personal_api_keys/", `{"label":"ci","scopes":["*"]}`).ok(t)
	path := "/api/personal_api_keys/" + key["id"].(string) + "/"
	me.call(t, "POST "+path+"roll/", "").ok(t)
	me.call(t, "PATCH "+path, `{"label":"cd"}`).ok(t)
	me.call(t, "DELETE "+path, "").done(t)
	me.patch(t, members("email", "new-"+a.Email)).ok(t)
	s.verify(t, s.verification(t, "new-"+a.Email, 1)).ok(t)

	entries := func(scope, item string) (got []string) {
		t.Helper()
		list, _, err := s.store.Activities(t.Context(), storage.ActivityFilter{Scope: scope, ItemID: item}, 100, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range slices.Backward(list) { // the oldest first
			var d struct {
				Name    string
				Changes []struct{ Field string }
			}
			if err := json.Unmarshal(e.Detail, &d); err != nil {
				t.Errorf("detail %s: %v", e.Detail, err)
			}
			words := []string{e.Activity}
			for _, c := range d.Changes {
				words = append(words, c.Field)
			}
			text := strings.Join(words, " ")
			got = append(got, text)
			s.watch.mu.Lock()
			for secret, what := range s.watch.secrets {
				if strings.Contains(string(e.Detail), secret) {
					t.Errorf("the activity log has %s: %s", what.what, e.Detail)
				}
			}
			s.watch.mu.Unlock()
			if e.User == nil && e.Activity != "created" {
				t.Errorf("%s is by nobody", text)
			}
		}
		return got
	}
	want := []string{
		"created", "two_factor_enabled", "backup_codes_replaced", "two_factor_disabled", "updated password", "updated is_staff",
		"updated pending_email", "updated email pending_email is_email_verified",
	}
	// The log has an earlier entry: the first project of the account became its
	// current one.
	got := slices.DeleteFunc(entries("User", a.UUID.String()), func(s string) bool { return strings.HasPrefix(s, "updated current") })
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("entries about the user (-want +got):\n%s", diff)
	}
	if diff := gocmp.Diff([]string{"created", "rolled", "updated label", "deleted"}, entries("PersonalAPIKey", key["id"].(string))); diff != "" {
		t.Errorf("entries about the key (-want +got):\n%s", diff)
	}

	for _, kind := range []string{
		"two_factor_on", "backup_codes_replaced", "two_factor_off", "password_changed",
		"staff_changed", "personal_api_key_created", "personal_api_key_rolled", "personal_api_key_deleted", "email_changed_old",
	} {
		l := s.mail.await(t, a.Email, kind, 1)
		if m := printedKey.FindString(l.text); m != "" || strings.Contains(l.text, "pw-") {
			t.Errorf("a letter has a secret: %s", l.text)
		}
	}
	s.mail.await(t, "new-"+a.Email, "email_changed_new", 1)
}

func originsAreRefused(t *testing.T, s *site) {
	const listed, other = "https://app.example.com", "https://evil.example.com"
	key := s.account(t).key
	me := s.with(key)
	// Every answer, also an error, has the headers that answer.check looks for.
	for call, status := range map[string]int{
		"GET /api/users/@me/": 200, "GET /api/nowhere": 404, "GET /api": 404, "GET /api//users": 404, "GET /api/users/../users/": 404,
		"PUT /api/users/": 405, "OPTIONS /api/users/": 204, "HEAD /api/users/": 200, "GET /api/users/@me": 200, "TRACE /api/users/": 405,
	} {
		for _, origin := range []string{"", listed} {
			header := []string{"Origin", origin, "Access-Control-Request-Method", "GET"}
			if origin == "" {
				header = nil
			}
			if r := me.call(t, call, "", header...); r.status != status {
				t.Errorf("%s = %d %s, want %d", call, r.status, r.body, status)
			}
		}
	}
	s.stranger().call(t, "GET /api/users/@me/", "", "Origin", listed).fails(t, 401, "not_authenticated", "")

	id := uuid.NewString()
	if got := me.call(t, "GET /api/users/@me/", "", "X-Request-Id", id).header.Get("X-Request-Id"); got != id {
		t.Errorf("X-Request-Id %q, want that of the request", got)
	}
	if got := me.call(t, "GET /api/users/@me/", "", "X-Request-Id", "some-thing").header.Get("X-Request-Id"); got == "some-thing" {
		t.Error("X-Request-Id is echoed whatever it is")
	}

	own := s.deployment.start(t, "-management-origins", listed)
	for _, call := range []string{"GET /api/users/@me/", "OPTIONS /api/users/@me/", "GET /api/nowhere/"} {
		for origin, want := range map[string]string{listed: listed, other: "", listed + ":8443": "", "null": "", "http://app.example.com": ""} {
			r, err := own.with(key).send(t.Context(), call, "", "Origin", origin, "Access-Control-Request-Method", "PATCH")
			if err != nil {
				t.Fatal(err)
			}
			h := r.header
			if h.Get("Access-Control-Allow-Origin") != want || h.Get("Vary") != "Origin" || h.Get("Access-Control-Allow-Credentials") != "" {
				t.Errorf("%s from %s: %v", call, origin, h)
			}
			if preflight := h.Get("Access-Control-Allow-Methods") != ""; preflight != (want != "" && strings.HasPrefix(call, "OPTIONS")) {
				t.Errorf("%s from %s: %v", call, origin, h)
			}
		}
	}
}

func bodiesAreLimited(t *testing.T, s *site) {
	me := s.as(s.account(t))
	nested := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	const most = 1 << 20
	padded := func(n int) string {
		const body = `{"first_name":"Grace","x":""}`
		return strings.Replace(body, `""`, `"`+strings.Repeat("x", n-len(body))+`"`, 1)
	}
	for _, tt := range []struct {
		what, body string
		status     int
		code, attr string
	}{
		{"a body of 1 MiB", padded(most), 200, "", ""},
		{"a byte more", padded(most + 1), 413, "request_too_large", ""},
		{"64 levels", `{"x":` + nested(63) + `}`, 200, "", ""},
		{"65 levels", `{"x":` + nested(64) + `}`, 400, "parse_error", ""},
		{"trailing data", `{"first_name":"Eve"} {}`, 400, "parse_error", ""},
		{"trailing blanks", "{\"first_name\":\"Grace\"} \r\n\t", 200, "", ""},
		{"invalid UTF-8", "{\"first_name\":\"\xff\"}", 400, "parse_error", ""},
		{"invalid UTF-8 in a name", "{\"\xc3\":1}", 400, "parse_error", ""},
		{"NaN", `{"anonymize_data":NaN}`, 400, "parse_error", ""},
		{"Infinity", `{"x":-Infinity}`, 400, "parse_error", ""},
		{"a huge number", `{"x":1e999999}`, 200, "", ""},
		{"comments", `{"x":1/**/}`, 400, "parse_error", ""},
		{"a byte order mark", "\ufeff{}", 400, "parse_error", ""},
		{"UTF-16", "{\x00}\x00", 400, "parse_error", ""},
		{"half a pair", `{"first_name":"\ud800"}`, 200, "", ""},
		{"NUL", `{"first_name":"a\u0000b"}`, 400, "null_characters_not_allowed", "first_name"},
		{"a document of 64 KiB", members("hedgehog_config", map[string]any{"x": strings.Repeat("x", 64<<10-len(`{"x":""}`))}), 200, "", ""},
		{"a longer one", members("hedgehog_config", map[string]any{"x": strings.Repeat("x", 64<<10)}), 400, "invalid_input", "hedgehog_config"},
		{"a deep document", `{"events_column_config":` + nested(33) + `}`, 400, "invalid_input", "events_column_config"},
		{"one less deep", `{"events_column_config":` + nested(32) + `}`, 200, "", ""},
	} {
		t.Run(tt.what, func(t *testing.T) {
			r := me.patch(t, tt.body)
			if tt.status == http.StatusOK {
				r.ok(t)
				return
			}
			r.fails(t, tt.status, tt.code, tt.attr)
		})
	}
	// The last of several members counts.
	user := me.patch(t, `{"first_name":"Eve","first_name":"Ada","anonymize_data":true,"anonymize_data":null,"theme_mode":"neon","theme_mode":"dark"}`).ok(t)
	if user["first_name"] != "Ada" || user["anonymize_data"] != nil || user["theme_mode"] != "dark" {
		t.Errorf("user %v", user)
	}
	me.patch(t, `{"is_staff":true,"\u0069s_staff":true}`).fails(t, 403, "permission_denied", "")

	for _, header := range [][]string{
		{"Content-Type", "application/x-www-form-urlencoded"},
		{"Content-Type", "text/plain"},
		{"Content-Type", "multipart/form-data; boundary=x"},
		{"Content-Encoding", "gzip"},
		{"Content-Encoding", "br"},
	} {
		me.patch(t, `{"first_name":"Eve"}`, header...).fails(t, 415, "unsupported_media_type", "")
	}
	me.patch(t, `{"first_name":"Ada"}`, "Content-Type", "application/json; charset=utf-8").ok(t)
	if got := me.me(t)["first_name"]; got != "Ada" {
		t.Errorf("first_name %v", got)
	}
	// A document that is stored as a whole keeps its numbers.
	const document = `{"n":12345678901234567890,"f":1.10,"e":1e400}`
	if r := me.patch(t, `{"has_seen_product_intro_for":`+document+`}`); !strings.Contains(r.body, document) {
		t.Errorf("%s is not as it was sent: %s", document, r.body)
	}
}

func proxiesAreListed(t *testing.T, s *site) {
	staff := s.staff(t)
	previous := func(s *site, header ...string) any {
		t.Helper()
		return s.as(staff).call(t, "GET /api/users/?offset=1&limit=1", "", header...).ok(t)["previous"]
	}
	forged := []string{"X-Forwarded-Proto", "https", "X-Forwarded-Host", "evil.example.com"}
	const page = "/api/users/?limit=1&offset=0"
	if got := previous(s, forged...); got != "https://evil.example.com"+page {
		t.Errorf("a listed proxy is not believed: %v", got)
	}
	none := s.deployment.start(t, "-trusted-proxies", "none")
	if got := previous(none, forged...); got != none.url+page {
		t.Errorf("a proxy that is not listed is believed: %v", got)
	}
	named := s.deployment.start(t, "-app-url", "https://flags.example.com/")
	if got := previous(named, forged...); got != "https://flags.example.com"+page {
		t.Errorf("-app-url does not count: %v", got)
	}
	// A client that could choose its address would have any number of attempts.
	for range 6 {
		none.verify(t, members("uuid", uuid.New(), "token", "some-token")).fails(t, 400, "invalid_token", "token")
	}
	none.verify(t, members("uuid", uuid.New(), "token", "some-token")).fails(t, 429, "throttled", "")
}

// A trap is a store that panics when it is asked for one key.
type trap struct {
	sqlstore.Storage
	hash string
}

func (s *trap) Keys() storage.Table[storage.PersonalKey] {
	return trappedKeys{s.Storage.Keys(), s.hash}
}

type trappedKeys struct {
	storage.Table[storage.PersonalKey]
	hash string
}

func (k trappedKeys) Get(ctx context.Context, where ...storage.Where[storage.PersonalKey]) (*storage.PersonalKey, error) {
	if where[0] == storage.KeyHash.Is(k.hash) {
		panic("a panic about " + k.hash)
	}
	return k.Table.Get(ctx, where...)
}

func panicsAreSurvived(t *testing.T, _ *site) {
	key := storage.NewPersonalKey()
	store := &trap{Storage: stores.Open(t), hash: storage.HashKey(key)}
	addProjects(t, store)
	s := deploy(t, &system{store: store.Storage, given: store}).start(t)
	id := uuid.NewString()
	r := s.with(key).call(t, "GET /api/users/@me/", "", "X-Request-Id", id)
	if detail := r.fails(t, 500, "error", ""); detail != "A server error occurred." {
		t.Errorf("detail %q", detail)
	}
	if strings.Contains(r.body, "goroutine") || strings.Contains(r.body, ".go") || r.header.Get("X-Request-Id") != id {
		t.Errorf("answer %s with %v", r.body, r.header)
	}
	log := s.stderr.await(t, `msg=panic[^\n]*`)[0]
	if !strings.Contains(log, id) || !strings.Contains(log, "stack=") || strings.Contains(log, "a panic about") {
		t.Errorf("log %s", log)
	}
	s.as(s.account(t)).me(t)
}

// stepUp is -account-mutations stepup: a user with a password or an authenticator
// has to show it, and may show either.
func stepUp(t *testing.T, s *site) {
	own := s.deployment.start(t, "-account-mutations", "stepup")
	const refused = "sensitive_action_required_reauth"
	const disable, codes = "POST /api/users/@me/two_factor_disable/", "POST /api/users/@me/two_factor_backup_codes/"

	t.Run("nothing to show", func(t *testing.T) {
		a := own.account(t)
		own.as(a).patch(t, members("email", "new-"+a.Email)).ok(t)
		own.as(a).call(t, disable, "").ok(t)
	})
	t.Run("a password", func(t *testing.T) {
		a := own.accountWithPassword(t)
		me := own.as(a)
		for _, call := range []string{
			"DELETE /api/users/@me/", "POST /api/users/@me/validate_2fa/", codes, disable, "PATCH /api/users/cancel_email_change_request/",
			"POST /api/personal_api_keys/", "POST /api/personal_api_keys/@current/roll/", "DELETE /api/personal_api_keys/@current/",
		} {
			me.call(t, call, "").fails(t, 403, refused, "")
		}
		me.patch(t, members("email", "new-"+a.Email)).fails(t, 403, refused, "")
		me.patch(t, members("email", "new-"+a.Email, "current_password", "not the password")).fails(t, 403, refused, "")
		me.call(t, disable, members("current_password", "not the password")).fails(t, 403, refused, "")
		me.patch(t, members("first_name", "Grace")).ok(t)
		me.call(t, disable, members("current_password", a.password)).ok(t)
		me.patch(t, members("email", "new-"+a.Email, "current_password", a.password)).ok(t)
		// That was the fifth attempt that counts.
		me.call(t, disable, members("current_password", a.password)).fails(t, 429, "throttled", "")
	})
	t.Run("an authenticator", func(t *testing.T) {
		a := own.account(t)
		me := own.as(a)
		device := me.enroll(t)
		me.call(t, codes, "").fails(t, 403, refused, "")
		used := device.code(t)
		list := me.backupCodes(t, "X-2FA-Token", used)
		me.call(t, codes, "", "X-2FA-Token", used).fails(t, 403, refused, "") // again
		setFailures(t, own, a, 0)
		me.patch(t, members("email", "new-"+a.Email), "X-2FA-Token", strings.ToUpper(list[0][:4]+"-"+list[0][4:])).ok(t)
		own.mail.await(t, a.Email, "backup_code_used", 1)
		me.patch(t, members("email", "newer-"+a.Email), "X-2FA-Token", list[0]).fails(t, 403, refused, "") // again
		setFailures(t, own, a, 0)
		me.call(t, disable, "", "X-2FA-Token", device.code(t)).ok(t)
		if me.me(t)["is_2fa_enabled"] != false {
			t.Error("two-factor authentication is on")
		}
	})
	t.Run("either", func(t *testing.T) {
		a := own.accountWithPassword(t)
		me := own.as(a)
		// A setup changes nothing before it is confirmed, and cannot have a body.
		device := &authenticator{secret: me.call(t, setupPath, "").ok(t)["secret"].(string)}
		code := device.code(t)
		me.call(t, "POST /api/users/@me/validate_2fa/", members("token", code)).fails(t, 403, refused, "")
		me.call(t, "POST /api/users/@me/validate_2fa/", members("token", code, "current_password", a.password)).ok(t)
		me.call(t, codes, "", "X-2FA-Token", device.code(t)).ok(t)
		me.call(t, codes, members("current_password", a.password)).ok(t)
	})
}

// askFlags asks for the flags of a project and compares the status.
func askFlags(t *testing.T, s *site, key string, want int) {
	t.Helper()
	if got := flagsStatus(t, s, key); got != want {
		t.Errorf("POST /flags = %d, want %d", got, want)
	}
}

func flagsStatus(t *testing.T, s *site, key string) int {
	t.Helper()
	r, err := s.stranger().send(t.Context(), "POST /flags?v=2", members("api_key", key, "distinct_id", "u"))
	if err != nil {
		t.Fatal(err)
	}
	return r.status
}
