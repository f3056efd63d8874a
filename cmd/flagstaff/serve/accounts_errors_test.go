package serve

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/storage"
)

// errorRows are the tables of errors of management.md, a row each. Two things are
// missing: a dashboard of another project (§7.2), since the program has no
// dashboards, and the messages of §2.3 for numbers and times, which only surveys
// have.
var errorRows = slices.Concat(userErrorRows, twoFactorErrorRows, emailErrorRows, sceneErrorRows, messageRows)

const setupPath = "GET /api/users/@me/two_factor_start_setup/"

// userErrorRows are §4.8. Of its other rows, the one about scene_personalisation
// is §7.2, the one about the token of an authenticator §5.3, and the last two are
// the cases 22 and 18.
var userErrorRows = []accountRow{
	{"§4.8 1", "another user", func(t *testing.T, s *site) {
		a, other := s.account(t), s.account(t)
		for _, o := range s.operations() {
			if !strings.HasPrefix(o.call, "GET /api/users/{user}") && !strings.Contains(o.call, " /api/users/{user}") {
				continue
			}
			for _, ref := range []string{other.UUID.String(), uuid.NewString(), "garbage", "@you", "1", strings.ReplaceAll(a.UUID.String(), "-", ""), "{" + a.UUID.String() + "}"} {
				s.as(a).call(t, strings.ReplaceAll(o.call, "{user}", ref), o.body).fails(t, 403, "permission_denied", "")
			}
		}
		for _, ref := range []string{a.UUID.String(), strings.ToUpper(a.UUID.String()), "@me", "%40me"} {
			s.as(a).call(t, "GET /api/users/"+ref+"/", "").ok(t)
		}
	}},
	{"§4.8 2", "a body that is not an object", func(t *testing.T, s *site) {
		me := s.as(s.account(t))
		for _, o := range s.operations() {
			if o.body != "" && strings.Contains(o.call, "/users/@me") && !strings.Contains(o.call, "hedgehog") {
				me.call(t, o.fill(nowhere), `[]`).fails(t, 400, "invalid_input", "")
			}
		}
	}},
	{"§4.8 3", "a theme that does not exist", func(t *testing.T, s *site) {
		s.as(s.account(t)).patch(t, `{"theme_mode":"neon"}`).fails(t, 400, "invalid_choice", "theme_mode")
	}},
	{"§4.8 4", "notification settings", func(t *testing.T, s *site) {
		me := s.as(s.account(t))
		for body, code := range map[string]string{
			`{"plugin_disabled":1}`: "invalid_input", `{"plugin_disabled":"true"}`: "invalid_input",
			`{"plugin_disabled":null}`: "invalid_input", `{"project_weekly_digest_disabled":true}`: "invalid_input",
			`{"project_weekly_digest_disabled":{"1":"x"}}`: "invalid_input", `{"data_pipeline_error_threshold":1.5}`: "invalid_input",
			`{"data_pipeline_error_threshold":-0.1}`: "invalid_input", `{"data_pipeline_error_threshold":"0.5"}`: "invalid_input",
			`{"pipeline_notifications_disabled":{"x":true}}`: "invalid_input", `{"realtime_notifications_disabled":{"x":true}}`: "invalid_input",
			`[]`: "not_a_dict", `"x"`: "not_a_dict", `5`: "not_a_dict", `null`: "null",
		} {
			me.patch(t, `{"notification_settings":`+body+`}`).fails(t, 400, code, "notification_settings")
		}
		got := me.patch(t, `{"notification_settings":{"plugin_disabled":false,"project_weekly_digest_disabled":{"1":true}}}`).ok(t)
		want := map[string]any{
			"plugin_disabled": false, "error_tracking_issue_assigned": true, "error_tracking_weekly_digest": true, "discussions_mentioned": true,
			"project_weekly_digest_disabled": map[string]any{"1": true}, "all_weekly_digest_disabled": false, "data_pipeline_error_threshold": 0.01,
			"project_api_key_exposed": true, "materialized_view_sync_failed": false, "web_analytics_weekly_digest": true,
			"organization_member_join_email_disabled": map[string]any{},
		}
		if diff := gocmp.Diff(want, got["notification_settings"]); diff != "" {
			t.Errorf("settings (-want +got):\n%s", diff)
		}
		got = me.patch(t, `{"notification_settings":{"project_weekly_digest_disabled":{"2":false},"pipeline_notifications_disabled":{"hog_function:1":true}}}`).ok(t)
		want["project_weekly_digest_disabled"] = map[string]any{"1": true, "2": false}
		want["pipeline_notifications_disabled"] = map[string]any{"hog_function:1": true}
		if diff := gocmp.Diff(want, got["notification_settings"]); diff != "" {
			t.Errorf("merged settings (-want +got):\n%s", diff)
		}
	}},
	{"§4.8 5", "is_staff", func(t *testing.T, s *site) {
		s.as(s.account(t)).patch(t, `{"is_staff":true}`).fails(t, 403, "permission_denied", "")
	}},
	{"§4.8 6", "the sixth request with a password", func(t *testing.T, s *site) {
		a := s.accountWithPassword(t)
		for range 5 {
			s.as(a).patch(t, members("current_password", "not the password")).ok(t) // ignored, but counted
		}
		s.as(a).patch(t, members("current_password", a.password)).fails(t, 429, "throttled", "")
	}},
}

// twoFactorErrorRows are §5.3.
var twoFactorErrorRows = []accountRow{
	{"§5.3 1", "no pending secret, or an old one", func(t *testing.T, s *site) {
		a := s.account(t)
		me := s.as(a)
		device := &authenticator{secret: me.call(t, setupPath, "").ok(t)["secret"].(string)}
		pending, err := s.store.PendingTOTPs().Get(t.Context(), storage.PendingTOTPUser.Is(a.ID))
		if err != nil {
			t.Fatal(err)
		}
		if left := time.Until(pending.Expires); left > 10*time.Minute || left < 9*time.Minute {
			t.Errorf("the secret lives for %v, want 10 minutes", left)
		}
		pending.Expires = time.Now().UTC().Truncate(time.Microsecond)
		if err := s.store.PendingTOTPs().Set(t.Context(), pending); err != nil {
			t.Fatal(err)
		}
		me.call(t, "POST /api/users/@me/two_factor_validate/", members("token", device.code(t))).fails(t, 400, "setup_expired", "")
		if me.me(t)["is_2fa_enabled"] != false {
			t.Error("two-factor authentication is on")
		}
	}},
	{"§5.3 2", "no token", func(t *testing.T, s *site) {
		me := s.as(s.account(t))
		me.call(t, setupPath, "").ok(t)
		for _, body := range []string{`{}`, `{"token":null}`, "", `{"code":"123456"}`} {
			me.call(t, "POST /api/users/@me/two_factor_validate/", body).fails(t, 400, "required", "token")
		}
	}},
	{"§5.3 3", "a wrong token", func(t *testing.T, s *site) {
		me := s.as(s.account(t))
		device := &authenticator{secret: me.call(t, setupPath, "").ok(t)["secret"].(string)}
		for _, token := range []string{`"abcdef"`, `"1234567"`, `[]`, `-1`, `""`} {
			r := me.call(t, "POST /api/users/@me/two_factor_validate/", `{"token":`+token+`}`)
			if r.fails(t, 400, "token_invalid", ""); r.body != `{"type":"validation_error","code":"token_invalid","detail":"Token is not valid","attr":null}` {
				t.Errorf("answer %s", r.body)
			}
		}
		// After these five attempts the secret is gone.
		me.call(t, "POST /api/users/@me/two_factor_validate/", members("token", device.code(t))).fails(t, 400, "setup_expired", "")
	}},
	{"§5.3 4", "the right token", func(t *testing.T, s *site) {
		for _, form := range []func(code string) any{
			func(code string) any { return code },
			func(code string) any { return code[:3] + " " + code[3:] },
			func(code string) any { n, _ := strconv.Atoi(code); return n }, // without leading zeros
		} {
			me := s.as(s.account(t))
			device := &authenticator{secret: me.call(t, setupPath, "").ok(t)["secret"].(string)}
			r := me.call(t, "POST /api/users/@me/validate_2fa/", members("token", form(device.code(t))))
			if r.status != http.StatusOK || r.body != `{"success":true}` {
				t.Errorf("%d %s", r.status, r.body)
			}
		}
	}},
}

// emailErrorRows are §6.2 and §6.4. A test that must not send a letter runs on a
// site of its own, because only the end of the site shows that there is none.
var emailErrorRows = []accountRow{
	{"§6.2 1", "no uuid", func(t *testing.T, s *site) {
		for _, body := range []string{`{}`, "", `{"user":"x"}`} {
			s.stranger().call(t, "POST /api/users/request_email_verification/", body).fails(t, 400, "required", "uuid")
		}
		s.stranger().call(t, "POST /api/users/request_email_verification/", `{"uuid":null}`).fails(t, 400, "null", "uuid")
	}},
	{"§6.2 2", "no mail", func(t *testing.T, s *site) {
		own := s.startWithoutMail(t)
		a := own.account(t)
		for _, id := range []string{a.UUID.String(), uuid.NewString()} {
			own.stranger().call(t, "POST /api/users/request_email_verification/", members("uuid", id)).fails(t, 400, "email_not_available", "")
		}
		// Without mail, addresses change at once.
		user := own.as(a).patch(t, members("email", "new-"+a.Email)).ok(t)
		if user["email"] != "new-"+a.Email || user["pending_email"] != nil || user["is_email_verified"] != false {
			t.Errorf("user %v", user)
		}
	}},
	{"§6.2 3 to 5", "who gets a letter", func(t *testing.T, s *site) {
		own := s.deployment.start(t)
		old, unverified, verified, pending, idle := own.account(t), own.account(t), own.account(t), own.account(t), own.account(t)
		for _, u := range []struct {
			*account
			change func(*storage.User)
		}{
			{unverified, func(u *storage.User) { u.EmailVerified = new(false) }},
			{verified, func(u *storage.User) { u.EmailVerified = new(true) }},
			{pending, func(u *storage.User) { u.EmailVerified, u.PendingEmail = new(true), "new-"+u.Email }},
			{idle, func(u *storage.User) { u.Active = false }},
		} {
			u.change(u.User)
			if err := own.store.Users().Update(t.Context(), u.User); err != nil {
				t.Fatal(err)
			}
		}
		for _, id := range []string{
			old.UUID.String(), unverified.UUID.String(), verified.UUID.String(), pending.UUID.String(), idle.UUID.String(),
			uuid.NewString(), "garbage", "",
		} {
			r := own.stranger().call(t, "POST /api/users/request_email_verification/", members("uuid", id))
			if r.status != http.StatusOK || r.body != `{"success":true}` {
				t.Errorf("%q: %d %s", id, r.status, r.body)
			}
		}
		own.stop()
		got := make(map[string]int)
		for _, l := range own.mail.all(t) {
			got[l.to+" "+l.kind]++
		}
		want := map[string]int{}
		for _, address := range []string{old.Email, unverified.Email, "new-" + pending.Email} {
			want[address+" "+"email_verification"] = 1
		}
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Errorf("letters (-want +got):\n%s", diff)
		}
	}},
	{"§6.2 6", "the seventh letter of a day", func(t *testing.T, s *site) {
		a := s.account(t)
		for range 6 {
			s.stranger().call(t, "POST /api/users/request_email_verification/", members("uuid", a.UUID)).ok(t)
		}
		// The caller does not matter.
		s.stranger().call(t, "POST /api/users/request_email_verification/", members("uuid", a.UUID)).fails(t, 429, "throttled", "")
		s.stranger().call(t, "POST /api/users/request_email_verification/", members("uuid", strings.ToUpper(a.UUID.String()))).fails(t, 429, "throttled", "")
	}},
	{"§6.4 1", "neither token nor code", func(t *testing.T, s *site) {
		for _, body := range []string{`{}`, "", members("uuid", s.account(t).UUID)} {
			s.stranger().call(t, "POST /api/users/verify_email/", body).fails(t, 400, "required", "token")
		}
		s.stranger().call(t, "POST /api/users/verify_email/", `{"token":"some-token"}`).fails(t, 400, "required", "uuid")
	}},
	{"§6.4 2", "wrong users and tokens", func(t *testing.T, s *site) {
		none, old := s.account(t), s.account(t)
		s.as(old).patch(t, members("email", "new-"+old.Email)).ok(t)
		proof := s.verification(t, "new-"+old.Email, 1)
		token, err := s.store.EmailTokens().Get(t.Context(), storage.EmailTokenUser.Is(old.ID))
		if err != nil {
			t.Fatal(err)
		}
		if life := token.Expires.Sub(token.Created); life != 24*time.Hour {
			t.Errorf("the token lives for %v, want a day", life)
		}
		text := object(t, []byte(proof))["token"]
		s.verify(t, members("uuid", none.UUID, "token", text)).fails(t, 400, "invalid_token", "token") // of another user
		token.Expires = time.Now().UTC().Truncate(time.Microsecond)
		if err := s.store.EmailTokens().Set(t.Context(), token); err != nil {
			t.Fatal(err)
		}
		moved := s.account(t)
		s.as(moved).patch(t, members("email", "new-"+moved.Email)).ok(t)
		other := s.verification(t, "new-"+moved.Email, 1)
		moved.PendingEmail = "newer-" + moved.Email
		if err := s.store.Users().Update(t.Context(), moved.User); err != nil {
			t.Fatal(err)
		}
		for _, body := range []string{
			proof, // it has expired
			other, // it is about another address
			members("uuid", uuid.New(), "token", "some-token"), members("uuid", "garbage", "token", "some-token"),
			members("uuid", none.UUID, "token", "some-token"), members("uuid", old.UUID, "token", "some-token"), members("uuid", old.UUID, "token", ""),
		} {
			r := s.verify(t, body)
			const want = `{"type":"validation_error","code":"invalid_token","detail":"This verification token is invalid or has expired.","attr":"token"}`
			if r.fails(t, 400, "invalid_token", "token"); r.body != want {
				t.Errorf("answer %s", r.body)
			}
		}
	}},
	{"§6.4 3 and 4", "codes to type", func(t *testing.T, s *site) {
		own := s.deployment.start(t, "-verify-by-code")
		a := own.account(t)
		ask := func(n int) (proof, code string) {
			t.Helper()
			own.stranger().call(t, "POST /api/users/request_email_verification/", members("uuid", a.UUID)).ok(t)
			l := own.mail.await(t, a.Email, "email_verification", n)
			m := verificationCode.FindStringSubmatch(l.text)
			if m == nil {
				t.Fatalf("no code in %q", l.text)
			}
			return own.proof(t, l), m[1]
		}
		guess := func(code string) *answer {
			return own.verify(t, members("uuid", a.UUID, "code", code))
		}
		_, code := ask(1)
		for _, malformed := range []string{"", "12345", "1234567", "12345x", " 12345", "１２３４５６"} {
			guess(malformed).fails(t, 400, "invalid_input", "code") // and no attempt
		}
		own.verify(t, members("uuid", uuid.New(), "code", code)).fails(t, 400, "invalid_code", "code")
		if r := guess(code); r.status != http.StatusOK || r.body != `{"success":true}` {
			t.Errorf("%d %s", r.status, r.body)
		}
		guess(code).fails(t, 400, "invalid_code", "code")

		b := own.account(t)
		a = b
		_, code = ask(1)
		wrong := "000000"
		if code == wrong {
			wrong = "000001"
		}
		for range 5 {
			guess(wrong).fails(t, 400, "invalid_code", "code")
		}
		guess(code).fails(t, 400, "too_many_attempts", "code")
		guess(code).fails(t, 429, "throttled", "")

		// The link works besides.
		a = own.account(t)
		proof, _ := ask(1)
		own.verify(t, proof).ok(t)
		if own.as(a).me(t)["is_email_verified"] != true {
			t.Error("not verified")
		}
	}},
	{"§6.4 5", "an address that was taken meanwhile", func(t *testing.T, s *site) {
		a := s.account(t)
		email := "new-" + a.Email
		s.as(a).patch(t, members("email", email)).ok(t)
		proof := s.verification(t, email, 1)
		s.user(t, management.NewUser{Email: email})
		s.verify(t, proof).fails(t, 400, "email_taken", "email")
		if user := s.as(a).me(t); user["email"] != a.Email || user["pending_email"] != email {
			t.Errorf("user %v", user)
		}
		s.as(s.account(t)).patch(t, members("email", strings.ToUpper(email))).fails(t, 400, "unique", "email")
	}},
	{"§6.4 6", "success", func(t *testing.T, s *site) {
		a := s.account(t)
		if got := s.as(a).me(t)["is_email_verified"]; got != nil {
			t.Errorf("is_email_verified = %v, want null", got)
		}
		s.stranger().call(t, "POST /api/users/request_email_verification/", members("uuid", a.UUID)).ok(t)
		proof := s.verification(t, a.Email, 1)
		r := s.verify(t, proof)
		if want := members("success", true, "token", object(t, []byte(proof))["token"]); r.status != http.StatusOK || r.body != want {
			t.Errorf("%d %s, want %s", r.status, r.body, want)
		}
		if user := s.as(a).me(t); user["is_email_verified"] != true || user["email"] != a.Email {
			t.Errorf("user %v", user)
		}
	}},
}

// sceneErrorRows are §7.2.
var sceneErrorRows = func() []accountRow {
	var rows []accountRow
	for i, r := range []struct{ what, body, code, attr string }{
		{"no dashboard", `{"scene":"Person"}`, "invalid_input", ""},
		{"no scene", `{"dashboard":42}`, "invalid_input", ""},
		{"a dashboard that is not an integer", `{"scene":"Person","dashboard":"x"}`, "incorrect_type", "dashboard"},
		{"no such dashboard", `{"scene":"Person","dashboard":2147483648}`, "does_not_exist", "dashboard"},
		{"a long scene", members("scene", strings.Repeat("ä", 201), "dashboard", 42), "max_length", "scene"},
		{"nothing", ``, "invalid_input", ""},
		{"a dashboard with a fraction", `{"scene":"Person","dashboard":4.5}`, "incorrect_type", "dashboard"},
		{"a negative dashboard", `{"scene":"Person","dashboard":-1}`, "does_not_exist", "dashboard"},
	} {
		rows = append(rows, accountRow{fmt.Sprintf("§7.2 %d", i+1), r.what, func(t *testing.T, s *site) {
			s.as(s.account(t)).call(t, "POST /api/users/@me/scene_personalisation/", r.body).fails(t, 400, r.code, r.attr)
		}})
	}
	return append(rows, accountRow{"§7.2", "no current project", func(t *testing.T, s *site) {
		nobody := s.as(s.user(t, management.NewUser{}))
		nobody.call(t, "POST /api/users/@me/scene_personalisation/", `{"scene":"Person","dashboard":42}`).fails(t, 400, "invalid_input", "")
		me := s.as(s.account(t))
		me.call(t, "POST /api/users/@me/scene_personalisation/", members("scene", strings.Repeat("ä", 200), "dashboard", 42)).ok(t)
	}})
}()

// messageRows are the messages of §2.3. Only these messages are compared.
var messageRows = func() []accountRow {
	const me, keys, scene = "PATCH /api/users/@me/", "POST /api/personal_api_keys/", "POST /api/users/@me/scene_personalisation/"
	var rows []accountRow
	for _, r := range []struct {
		what, call, body string
		status           int
		code, attr       string
		detail           string
	}{
		{"required", keys, `{"scopes":["*"]}`, 400, "required", "label", "This field is required."},
		{"null", me, `{"first_name":null}`, 400, "null", "first_name", "This field may not be null."},
		{"blank", me, `{"password":""}`, 400, "blank", "password", "This field may not be blank."},
		{"blanks only", me, `{"password":"        "}`, 400, "blank", "password", "This field may not be blank."},
		{"not a string", me, `{"first_name":["x"]}`, 400, "invalid_input", "first_name", "Not a valid string."},
		{"a boolean is not a string", me, `{"last_name":true}`, 400, "invalid_input", "last_name", "Not a valid string."},
		{"too long", me, members("first_name", strings.Repeat("ä", 151)), 400, "max_length", "first_name", "Ensure this field has no more than 150 characters."},
		{"too long an address", me, members("email", strings.Repeat("x", 250)+"@x.ch"), 400, "max_length", "email", "Ensure this field has no more than 254 characters."},
		{"too long a password", me, members("password", strings.Repeat("x9", 64)+"y"), 400, "max_length", "password", "Ensure this field has no more than 128 characters."},
		{"bad e-mail", me, `{"email":"ada at example.com"}`, 400, "invalid_input", "email", "Enter a valid email address."},
		{"bad boolean", me, `{"anonymize_data":"perhaps"}`, 400, "invalid_input", "anonymize_data", "Must be a valid boolean."},
		{"bad boolean 2", me, `{"allow_sidebar_suggestions":2}`, 400, "invalid_input", "allow_sidebar_suggestions", "Must be a valid boolean."},
		{"bad integer", scene, `{"scene":"Person","dashboard":[]}`, 400, "incorrect_type", "dashboard", "A valid integer is required."},
		{"bad choice", me, `{"theme_mode":"neon"}`, 400, "invalid_choice", "theme_mode", `"neon" is not a valid choice.`},
		{"not a map", me, `{"notification_settings":"x"}`, 400, "not_a_dict", "notification_settings", `Expected a dictionary of items but got type "str".`},
		{"not a list", keys, `{"label":"x","scopes":"*"}`, 400, "not_a_list", "scopes", `Expected a list of items but got type "str".`},
		{"bad UUID", keys, `{"label":"x","scopes":["*"],"scoped_organizations":["x"]}`, 400, "invalid_input", "scoped_organizations", "Must be a valid UUID."},
		{"foreign key", scene, `{"scene":"Person","dashboard":0}`, 400, "does_not_exist", "dashboard", `Invalid pk "0" - object does not exist.`},
		{"not found", "GET /api/personal_api_keys/x/", "", 404, "not_found", "", "Not found."},
		{"unknown path", "GET /api/nowhere/", "", 404, "not_found", "", "Endpoint not found."},
		{"method", "POST /api/users/@me/", `{}`, 405, "method_not_allowed", "", `Method "POST" not allowed.`},
		{"permission", "GET /api/users/x/", "", 403, "permission_denied", "", "You do not have permission to perform this action."},
		{"non-object body", me, `[]`, 400, "invalid_input", "", "Invalid data. Expected a dictionary, but got list."},
		{"short password", me, `{"password":"x9$Kq2z"}`, 400, "invalid_input", "password", "This password is too short. It must contain at least 8 characters."},
		{"missing project", "GET /api/projects/99999999/", "", 404, "not_found", "", "Project not found."},
		{"missing scope", "", "", 403, "permission_denied", "", "API key missing required scope 'user:write'"},
	} {
		rows = append(rows, accountRow{"§2.3 " + r.what, "", func(t *testing.T, s *site) {
			a := s.account(t)
			c := s.as(a)
			if r.call == "" {
				c = s.with(s.issue(t, a, "user:read"))
			}
			if detail := c.call(t, cmp.Or(r.call, me), r.body).fails(t, r.status, r.code, r.attr); detail != r.detail {
				t.Errorf("detail %q, want %q", detail, r.detail)
			}
		}})
	}
	return append(rows, accountRow{"§2.3 booleans", "are read leniently", func(t *testing.T, s *site) {
		me := s.as(s.account(t))
		for want, values := range map[any][]string{
			true:  {`true`, `"true"`, `"True"`, `"TRUE"`, `"t"`, `"y"`, `"yes"`, `"on"`, `1`, `"1"`},
			false: {`false`, `"false"`, `"False"`, `"FALSE"`, `"f"`, `"n"`, `"no"`, `"off"`, `0`, `"0"`},
			nil:   {`null`},
		} {
			for _, value := range values {
				if got := me.patch(t, `{"anonymize_data":`+value+`}`).ok(t)["anonymize_data"]; got != want {
					t.Errorf("anonymize_data %s = %v, want %v", value, got, want)
				}
			}
		}
	}})
}()
