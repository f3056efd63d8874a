package serve

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/flagstaff-go/flagstaff/management/storage"
)

// caseRows are the cases of management.md §15.3 that are about users. Cases 3, 4
// and 6, about all operations, are in accounts_operations_test.go, and the cases
// about surveys in accounts_surveys_test.go.
var caseRows = []accountRow{
	{"case 1", "no header", func(t *testing.T, s *site) {
		for _, o := range s.operations() {
			if o.scope == "" {
				continue
			}
			detail := s.stranger().call(t, o.fill(nowhere), o.fillBody(nowhere)).fails(t, 401, "not_authenticated", "")
			if detail != "Authentication credentials were not provided." {
				t.Errorf("%s: detail %q", o.call, detail)
			}
		}
	}},
	{"case 2", "a wrong key", func(t *testing.T, s *site) {
		gone, idle, other := s.account(t), s.account(t), s.account(t)
		if err := s.store.Keys().Delete(t.Context(), storage.KeyID.Is(s.keyID(t, gone.key))); err != nil {
			t.Fatal(err)
		}
		idle.Active = false
		if err := s.store.Users().Update(t.Context(), idle.User); err != nil {
			t.Fatal(err)
		}
		for what, key := range map[string]string{
			"an unknown key": "phx_wrong", "one that looks right": storage.NewPersonalKey(), "a deleted key": gone.key,
			"a key of an inactive user": idle.key, "a project API key": other.project.APIToken, "a project secret key": *other.project.SecretToken,
			"the hash of a key": storage.HashKey(other.key), "a key without its prefix": strings.TrimPrefix(other.key, "phx_"),
			"a longer key": other.key + "0", "a shorter one": other.key[:len(other.key)-1], "another case": strings.ToUpper(other.key),
			"a very long one": "phx_" + strings.Repeat("0", 10_000), "its ID": s.keyID(t, other.key),
		} {
			t.Run(what, func(t *testing.T) {
				detail := s.with(key).call(t, "GET /api/users/@me/", "").fails(t, 401, "authentication_failed", "")
				want := "The personal API key in the Authorization header is not valid."
				if kind := map[string]string{"a project API key": "project API key (phc_…)", "a project secret key": "project secret key (phs_…)"}[what]; kind != "" {
					want = strings.TrimSuffix(want, ".") + ": this is a " + kind + "; the API wants a personal API key (phx_…)."
				}
				if detail != want {
					t.Errorf("detail %q", detail)
				}
			})
		}
		for _, header := range []string{"Basic " + other.key, "Bearer", "Bearer ", other.key, "Token " + other.key} {
			s.stranger().call(t, "GET /api/users/@me/", "", "Authorization", header).fails(t, 401, "not_authenticated", "")
		}
		for _, header := range []string{"bearer " + other.key, "BEARER   " + other.key} {
			s.stranger().call(t, "GET /api/users/@me/", "", "Authorization", header).ok(t)
		}
		for _, call := range []string{"GET /api/users/@me/?personal_api_key=" + other.key, "GET /api/users/@me/?token=" + other.key} {
			s.stranger().call(t, call, "").fails(t, 401, "not_authenticated", "")
		}
		s.stranger().call(t, "PATCH /api/users/@me/", members("personal_api_key", other.key)).fails(t, 401, "not_authenticated", "")
	}},
	{"case 7", "a list by somebody's address", func(t *testing.T, s *site) {
		a, other := s.account(t), s.account(t)
		for email, want := range map[string]int{other.Email: 0, strings.ToUpper(a.Email): 1, a.Email: 1, "": 1, "nobody@example.com": 0} {
			list := s.as(a).call(t, "GET /api/users/?email="+url.QueryEscape(email), "").ok(t)
			if n := len(list["results"].([]any)); n != want || list["count"] != float64(want) || list["next"] != nil || list["previous"] != nil {
				t.Errorf("email=%s: %v, want %d of them", email, list, want)
			}
		}
		if list := s.as(s.staff(t)).call(t, "GET /api/users/?email="+strings.ToUpper(other.Email), "").ok(t); list["count"] != 1.0 {
			t.Errorf("staff: %v, want one user", list)
		}
	}},
	{"case 8", "pages", func(t *testing.T, s *site) {
		staff := []string{s.staff(t).Email, s.staff(t).Email, s.staff(t).Email}
		me := s.as(s.staff(t))
		target := func(offset int) string {
			return fmt.Sprintf("/api/users/?is_staff=true&limit=1&offset=%d", offset)
		}
		var found []string
		var last float64 // ID
		next := any(s.url + "/api/users/?limit=1&is_staff=true")
		for offset := 0; next != nil; offset++ {
			page := me.call(t, "GET "+strings.TrimPrefix(next.(string), s.url), "").ok(t)
			user := page["results"].([]any)[0].(map[string]any)
			if id := user["id"].(float64); id <= last || user["is_staff"] != true {
				t.Errorf("page %d has user %v after %v", offset, id, last)
			} else {
				last = id
			}
			found = append(found, user["email"].(string))
			var wantNext, wantPrevious any
			if float64(offset+1) < page["count"].(float64) {
				wantNext = s.url + target(offset+1)
			}
			if offset > 0 {
				wantPrevious = s.url + target(offset-1)
			}
			if next = page["next"]; next != wantNext || page["previous"] != wantPrevious {
				t.Fatalf("page %d: next %v, previous %v; want %v and %v", offset, next, page["previous"], wantNext, wantPrevious)
			}
			if len(page) != 4 {
				t.Errorf("members %v", page)
			}
		}
		for _, email := range staff {
			if !slices.Contains(found, email) {
				t.Errorf("%s is on no page", email)
			}
		}
		beyond := me.call(t, "GET /api/users/?offset=1000000&limit=2", "").ok(t)
		if len(beyond["results"].([]any)) != 0 || beyond["next"] != nil || beyond["previous"] != s.url+"/api/users/?limit=2&offset=999998" {
			t.Errorf("beyond the end: %v", beyond)
		}
		me.call(t, "GET /api/users/?is_staff=perhaps", "").fails(t, 400, "invalid_input", "is_staff")
	}},
	{"case 9", "limits and offsets that make no sense", func(t *testing.T, s *site) {
		me := s.as(s.staff(t))
		for query, want := range map[string]any{
			"limit=0&offset=500": "limit=100&offset=400", "limit=abc&offset=500": "limit=100&offset=400", "limit=-5&offset=500": "limit=100&offset=400",
			"offset=500": "limit=100&offset=400", "limit=5000&offset=5000": "limit=1000&offset=4000",
			"limit=99999999999999999999&offset=5000": "limit=1000&offset=4000", "limit=2&offset=1": "limit=2&offset=0",
			"offset=-1": nil, "offset=abc": nil, "offset=0": nil, "limit=0": nil,
		} {
			page := me.call(t, "GET /api/users/?"+query, "").ok(t)
			if want != nil {
				want = s.url + "/api/users/?" + want.(string)
			}
			if page["previous"] != want {
				t.Errorf("%s: previous %v, want %v", query, page["previous"], want)
			}
		}
	}},
	{"case 10", "is_staff", func(t *testing.T, s *site) {
		a := s.account(t)
		for _, body := range []string{`{"is_staff":true}`, `{"is_staff":false}`, `{"first_name":"Eve","is_staff":"x"}`, `{"is_staff":null}`} {
			s.as(a).patch(t, body).fails(t, 403, "permission_denied", "")
		}
		if user := s.as(a).me(t); user["is_staff"] != false || user["first_name"] != a.FirstName {
			t.Errorf("user %v", user)
		}
		// The names of members are exact.
		s.as(a).patch(t, `{"IS_STAFF":true,"Is_staff":true,"is_sta\u0066f ":true}`).ok(t)
		if user := s.as(a).me(t); user["is_staff"] != false {
			t.Error("is_staff can be set by another name")
		}
		staff := s.as(s.staff(t))
		if user := staff.call(t, "PATCH /api/users/"+a.UUID.String()+"/", `{"is_staff":true}`).ok(t); user["is_staff"] != true {
			t.Errorf("user %v", user)
		}
		s.mail.await(t, a.Email, "staff_changed", 1)
		if s.as(a).me(t)["is_staff"] != true {
			t.Error("the user is not staff")
		}
	}},
	{"case 11", "a project of others", func(t *testing.T, s *site) {
		a, other := s.account(t), s.account(t)
		for attr, ids := range map[string][]string{
			"set_current_team":         {fmt.Sprint(other.project.ID), "99999999", "-1", "abc", "", "1e3", " 1", "99999999999999999999"},
			"set_current_organization": {other.organization.ID.String(), uuid.NewString(), "abc", "", "1"},
		} {
			for _, id := range ids {
				detail := s.as(a).patch(t, members(attr, id)).fails(t, 400, "does_not_exist", attr)
				if want := "Object with id=" + id + " does not exist."; detail != want {
					t.Errorf("detail %q, want %q", detail, want)
				}
			}
		}
		user := s.as(a).patch(t, members("set_current_team", a.project.ID)).ok(t)
		if user["team"].(map[string]any)["id"] != float64(a.project.ID) {
			t.Errorf("team %v", user["team"])
		}
	}},
	{"case 12", "a project of another organization", func(t *testing.T, s *site) {
		a, second := s.account(t), s.account(t)
		s.join(t, a, second)
		current := func(user map[string]any) []any {
			return []any{user["organization"].(map[string]any)["id"], user["team"].(map[string]any)["id"]}
		}
		first := []any{a.organization.ID.String(), float64(a.project.ID)}
		other := []any{second.organization.ID.String(), float64(second.project.ID)}
		for _, step := range []struct {
			body string
			want []any
		}{
			{members("set_current_organization", second.organization.ID, "set_current_team", second.project.ID), other},
			{members("set_current_organization", a.organization.ID), first}, // with its first project
			{members("set_current_team", fmt.Sprint(second.project.ID)), other},
		} {
			if diff := gocmp.Diff(step.want, current(s.as(a).patch(t, step.body).ok(t))); diff != "" {
				t.Errorf("%s (-want +got):\n%s", step.body, diff)
			}
		}
		s.as(a).patch(t, members("set_current_organization", a.organization.ID, "set_current_team", second.project.ID)).
			fails(t, 400, "invalid_input", "set_current_team")
		if diff := gocmp.Diff(other, current(s.as(a).me(t))); diff != "" {
			t.Errorf("after a failure (-want +got):\n%s", diff)
		}
	}},
	{"case 13", "a password without the current one", func(t *testing.T, s *site) {
		a := s.accountWithPassword(t)
		fresh := s.password(t)
		s.as(a).patch(t, members("password", fresh)).fails(t, 400, "required", "current_password")
		user := s.as(a).patch(t, members("password", fresh, "current_password", a.password)).ok(t)
		if user["has_password"] != true {
			t.Errorf("user %v", user)
		}
		s.mail.await(t, a.Email, "password_changed", 1)
		s.as(a).patch(t, members("password", a.password, "current_password", a.password)).fails(t, 400, "incorrect_password", "current_password")
		s.as(a).patch(t, members("password", a.password, "current_password", fresh)).ok(t)

		none := s.account(t)
		if user := s.as(none).me(t); user["has_password"] != false {
			t.Errorf("user %v", user)
		}
		if user := s.as(none).patch(t, members("password", s.password(t))).ok(t); user["has_password"] != true {
			t.Errorf("user %v", user)
		}
	}},
	{"case 14", "wrong current passwords", func(t *testing.T, s *site) {
		a := s.accountWithPassword(t)
		for range 5 {
			s.as(a).patch(t, members("password", s.password(t), "current_password", "not the password")).fails(t, 400, "incorrect_password", "current_password")
		}
		r := s.as(a).patch(t, members("password", s.password(t), "current_password", a.password))
		detail := r.fails(t, 429, "throttled", "")
		m := regexp.MustCompile(`^Request was throttled\. Expected available in (\d+) seconds?\.$`).FindStringSubmatch(detail)
		if m == nil || m[1] != r.header.Get("Retry-After") || len(m[1]) > 2 || (m[1] == "1") == strings.HasSuffix(detail, "seconds.") {
			t.Errorf("detail %q, Retry-After %q", detail, r.header.Get("Retry-After"))
		}
		s.with(s.issue(t, a)).patch(t, members("current_password", a.password)).fails(t, 429, "throttled", "") // whatever the key
		s.as(a).patch(t, `{"email":"other@example.com"}`).fails(t, 429, "throttled", "")
		s.as(a).patch(t, `{"first_name":"Ada"}`).ok(t)
	}},
	{"case 15", "another address", func(t *testing.T, s *site) {
		own := s.deployment.start(t)
		a := own.account(t)
		email := "new-" + a.Email
		user := own.as(a).patch(t, members("email", " New-"+strings.ToUpper(a.Email)+" ", "first_name", "Grace")).ok(t)
		if user["email"] != a.Email || user["pending_email"] != email || user["first_name"] != "Grace" {
			t.Errorf("user %v", user)
		}
		if code := own.stop(); code != 0 {
			t.Errorf("exit code %d", code)
		}
		list := own.mail.all(t)
		if len(list) != 1 || list[0].to != email || list[0].kind != "email_verification" {
			t.Fatalf("letters %v, want one to the new address", list)
		}
		body := s.proof(t, list[0])
		if !strings.Contains(body, a.UUID.String()) || !strings.Contains(list[0].text, own.url+"/verify_email/") || !strings.Contains(list[0].text, "Grace") {
			t.Errorf("letter %q", list[0].text)
		}
		s.verify(t, body).ok(t)
		user = s.as(a).me(t)
		if user["email"] != email || user["pending_email"] != nil || user["is_email_verified"] != true {
			t.Errorf("user %v", user)
		}
		for address, kind := range map[string]string{a.Email: "email_changed_old", email: "email_changed_new"} {
			if l := s.mail.await(t, address, kind, 1); !strings.Contains(l.text, a.Email) || !strings.Contains(l.text, email) {
				t.Errorf("letter %q", l.text)
			}
		}
	}},
	{"case 16", "a token of before the change", func(t *testing.T, s *site) {
		a := s.account(t)
		s.stranger().call(t, "POST /api/users/request_email_verification/", members("uuid", a.UUID)).ok(t)
		old := s.verification(t, a.Email, 1)
		s.as(a).patch(t, members("email", "new-"+a.Email)).ok(t)
		first := s.verification(t, "new-"+a.Email, 1)
		s.verify(t, old).fails(t, 400, "invalid_token", "token")
		s.as(a).patch(t, members("email", "newer-"+a.Email)).ok(t)
		second := s.verification(t, "newer-"+a.Email, 1)
		s.verify(t, first).fails(t, 400, "invalid_token", "token")
		s.verify(t, second).ok(t)
		if user := s.as(a).me(t); user["email"] != "newer-"+a.Email || user["pending_email"] != nil {
			t.Errorf("user %v", user)
		}
	}},
	{"case 17", "a token twice", func(t *testing.T, s *site) {
		a := s.account(t)
		s.as(a).patch(t, members("email", "new-"+a.Email)).ok(t)
		proof := s.verification(t, "new-"+a.Email, 1)
		want := object(t, []byte(proof))
		delete(want, "uuid")
		want["success"] = true
		if diff := gocmp.Diff(want, s.verify(t, proof).ok(t)); diff != "" {
			t.Errorf("answer (-want +got):\n%s", diff)
		}
		s.verify(t, proof).fails(t, 400, "invalid_token", "token")
	}},
	{"link", "of a mail, opened in a browser", func(t *testing.T, s *site) {
		a := s.account(t)
		s.as(a).patch(t, members("email", "new-"+a.Email)).ok(t)
		l := s.mail.await(t, "new-"+a.Email, "email_verification", 1)
		s.proof(t, l)
		link := strings.TrimPrefix(strings.TrimSpace(verificationLink.FindString(l.text)), s.url)
		open := func(method string, status int) {
			t.Helper()
			r, err := s.stranger().send(t.Context(), method+" "+link, "")
			if err != nil {
				t.Fatal(err)
			}
			h := r.header
			if r.status != status || h.Get("Content-Type") != "text/html; charset=utf-8" || h.Get("Cache-Control") != "no-store" ||
				h.Get("Referrer-Policy") != "no-referrer" || !strings.Contains(h.Get("Content-Security-Policy"), "default-src 'none'") {
				t.Errorf("%s of the link = %d with %v, want a page with status %d", method, r.status, h, status)
			}
		}
		for range 10 { // programs that look for viruses follow links
			open("GET", http.StatusOK)
		}
		if got := s.as(a).me(t)["email"]; got != a.Email {
			t.Errorf("email %v before the click", got)
		}
		open("POST", http.StatusOK)
		if got := s.as(a).me(t)["email"]; got != "new-"+a.Email {
			t.Errorf("email %v after the click", got)
		}
		open("POST", http.StatusBadRequest)
	}},
	{"case 18", "cancelling twice", func(t *testing.T, s *site) {
		a := s.account(t)
		s.as(a).patch(t, members("email", "new-"+a.Email)).ok(t)
		proof := s.verification(t, "new-"+a.Email, 1)
		user := s.as(a).call(t, "PATCH /api/users/cancel_email_change_request/", "").ok(t)
		checkShape(t, "User", userShape, user)
		if user["pending_email"] != nil || user["email"] != a.Email {
			t.Errorf("user %v", user)
		}
		s.as(a).call(t, "PATCH /api/users/cancel_email_change_request/", `{}`).fails(t, 400, "email_change_request_not_found", "")
		s.verify(t, proof).fails(t, 400, "invalid_token", "token")
	}},
	{"case 19", "verification for nobody", func(t *testing.T, s *site) {
		r := s.stranger().call(t, "POST /api/users/request_email_verification/", members("uuid", uuid.New()))
		if r.status != http.StatusOK || r.body != `{"success":true}` {
			t.Errorf("%d %s", r.status, r.body)
		}
	}},
	{"case 20", "an authenticator's life", lifeOfAuthenticator},
	{"case 21", "no setup", func(t *testing.T, s *site) {
		for _, path := range []string{"validate_2fa", "two_factor_validate"} {
			s.as(s.account(t)).call(t, "POST /api/users/@me/"+path+"/", `{"token":"123456"}`).fails(t, 400, "setup_expired", "")
		}
	}},
	{"case 22", "backup codes without an authenticator", func(t *testing.T, s *site) {
		s.as(s.account(t)).call(t, "POST /api/users/@me/two_factor_backup_codes/", "").fails(t, 400, "2fa_not_enabled", "")
	}},
	{"case 23", "hedgehog_config", func(t *testing.T, s *site) {
		me := s.as(s.account(t))
		const path = "/api/users/@me/hedgehog_config/"
		config := func(want string) {
			t.Helper()
			if r := me.call(t, "GET "+path, ""); r.status != http.StatusOK || r.body != want {
				t.Errorf("hedgehog_config = %d %s, want %s", r.status, r.body, want)
			}
		}
		config("{}")
		if got := me.me(t)["hedgehog_config"]; got != nil {
			t.Errorf("User.hedgehog_config = %v", got)
		}
		const first, second = `{"version":2,"actor_options":{"color":"green","n":1.50,"big":12345678901234567890}}`, `{"skin":"<default>"}`
		for _, doc := range []string{first, second} { // replaced, not merged
			if r := me.call(t, "PATCH "+path, doc); r.status != http.StatusOK || r.body != doc {
				t.Errorf("PATCH %s = %d %s", doc, r.status, r.body)
			}
			config(doc)
		}
		if diff := gocmp.Diff(map[string]any{"skin": "<default>"}, me.me(t)["hedgehog_config"]); diff != "" {
			t.Errorf("User.hedgehog_config (-want +got):\n%s", diff)
		}
		if r := me.call(t, "PATCH "+path, "null"); r.status != http.StatusOK || r.body != "{}" {
			t.Errorf("PATCH null = %d %s", r.status, r.body)
		}
		config("{}")
		for _, doc := range []string{`[]`, `"x"`, `5`, `true`, `{"x":"` + strings.Repeat("x", 16<<10) + `"}`} {
			me.call(t, "PATCH "+path, doc).fails(t, 400, "invalid_input", "")
		}
	}},
	{"case 24", "a scene twice", func(t *testing.T, s *site) {
		me := s.as(s.account(t))
		scenes := func(body string, want ...any) {
			t.Helper()
			user := me.call(t, "POST /api/users/@me/scene_personalisation/", body).ok(t)
			checkShape(t, "User", userShape, user)
			if diff := gocmp.Diff(append([]any{}, want...), user["scene_personalisation"]); diff != "" {
				t.Errorf("%s: scenes (-want +got):\n%s", body, diff)
			}
		}
		scene := func(name string, dashboard float64) any { return map[string]any{"scene": name, "dashboard": dashboard} }
		scenes(`{"scene":"Person","dashboard":42}`, scene("Person", 42))
		scenes(`{"scene":"Group","dashboard":"7","user":1,"team":2}`, scene("Person", 42), scene("Group", 7))
		scenes(`{"scene":"Person","dashboard":43}`, scene("Person", 43), scene("Group", 7))
		scenes(`{"scene":"Person","dashboard":null}`, scene("Group", 7))
	}},
	{"case 25", "deleting an account", func(t *testing.T, s *site) {
		a := s.account(t)
		me := s.as(a)
		me.enroll(t)
		me.backupCodes(t)
		detail := me.call(t, "DELETE /api/users/@me/", "").fails(t, 409, "conflict", "")
		if detail != fmt.Sprintf("Cannot delete the only owner of the organization %q.", a.organization.Name) {
			t.Errorf("detail %q", detail)
		}
		me.call(t, "DELETE /api/organizations/"+a.organization.ID.String()+"/", "").done(t)
		if user := me.me(t); user["organization"] != nil || user["team"] != nil || len(user["organizations"].([]any)) != 0 {
			t.Errorf("user %v", user)
		}
		me.call(t, "DELETE /api/users/"+a.UUID.String()+"/", "").done(t)
		me.call(t, "GET /api/users/@me/", "").fails(t, 401, "authentication_failed", "")
		s.as(s.staff(t)).call(t, "GET /api/users/"+a.UUID.String()+"/", "").fails(t, 404, "not_found", "")
	}},
	{"case 38", "creating a user", func(t *testing.T, s *site) {
		r := s.as(s.staff(t)).call(t, "POST /api/users/", `{"email":"x@example.com"}`)
		detail := r.fails(t, 405, "method_not_allowed", "")
		if allow := r.header.Get("Allow"); detail != `Method "POST" not allowed.` || allow != "GET, HEAD, OPTIONS" {
			t.Errorf("detail %q, Allow %q", detail, allow)
		}
		r = s.as(s.account(t)).call(t, "PUT /api/users/@me/", `{}`)
		r.fails(t, 405, "method_not_allowed", "")
		if allow := r.header.Get("Allow"); allow != "GET, PATCH, DELETE, HEAD, OPTIONS" {
			t.Errorf("Allow %q", allow)
		}
	}},
	{"case 39", "a body that is not an object", func(t *testing.T, s *site) {
		me := s.as(s.account(t))
		for body, kind := range map[string]string{
			`[]`: "list", `[{"first_name":"Eve"}]`: "list", `"x"`: "str", `5`: "int", `5.5`: "float", `true`: "bool", `null`: "NoneType",
		} {
			detail := me.patch(t, body).fails(t, 400, "invalid_input", "")
			if want := "Invalid data. Expected a dictionary, but got " + kind + "."; detail != want {
				t.Errorf("%s: detail %q, want %q", body, detail, want)
			}
		}
	}},
	{"case 40", "malformed JSON", func(t *testing.T, s *site) {
		me := s.as(s.account(t))
		for _, body := range []string{`{`, `{"first_name":`, `{"first_name":"Ada",}`, `{'first_name':'Ada'}`, `first_name=Ada`, " ", "\x00", `{"first_name":"Ada"}}`} {
			if detail := me.patch(t, body).fails(t, 400, "parse_error", ""); !strings.HasPrefix(detail, "JSON parse error - ") {
				t.Errorf("%q: detail %q", body, detail)
			}
		}
	}},
}

// lifeOfAuthenticator is case 20, with the exact shapes of management.md §5.
func lifeOfAuthenticator(t *testing.T, s *site) {
	a := s.account(t)
	me := s.as(a)
	check := func(r *answer, want map[string]any) {
		t.Helper()
		if diff := gocmp.Diff(want, r.ok(t)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", r.call, diff)
		}
	}
	status := func(on bool, codes ...string) {
		t.Helper()
		list, method := []any{}, any(nil)
		for _, code := range codes {
			list = append(list, code)
		}
		if on {
			method = "TOTP"
		}
		check(me.call(t, "GET /api/users/@me/two_factor_status/", ""), map[string]any{
			"is_enabled": on, "backup_codes": list, "backup_codes_remaining": float64(len(codes)), "method": method,
			"has_passkeys": false, "has_totp": on, "passkeys_enabled_for_2fa": false,
		})
		if got := me.me(t)["is_2fa_enabled"]; got != on {
			t.Errorf("is_2fa_enabled = %v, want %v", got, on)
		}
	}
	success := map[string]any{"success": true}

	status(false)
	check(me.call(t, "POST /api/users/@me/two_factor_disable/", ""), success) // although it was off
	replaced := me.call(t, "GET /api/users/@me/start_2fa_setup/", "").ok(t)["secret"].(string)
	setup := me.call(t, "GET /api/users/"+a.UUID.String()+"/two_factor_start_setup/", "").ok(t)
	secret := setup["secret"].(string)
	u, err := url.Parse(setup["otpauth_url"].(string))
	if err != nil {
		t.Fatal(err)
	}
	if q := u.Query(); len(setup) != 3 || setup["success"] != true || !regexp.MustCompile(`^[A-Z2-7]{32}$`).MatchString(secret) || secret == replaced ||
		u.Scheme != "otpauth" || u.Host != "totp" || u.Path != "/Flagstaff:"+a.Email || q.Get("secret") != secret || q.Get("issuer") != "Flagstaff" ||
		q.Get("algorithm") != "SHA1" || q.Get("digits") != "6" || q.Get("period") != "30" {
		t.Errorf("setup %v", setup)
	}
	status(false) // until it is confirmed
	old, device := &authenticator{secret: replaced}, &authenticator{secret: secret}
	me.call(t, "POST /api/users/@me/two_factor_validate/", members("token", old.code(t))).fails(t, 400, "token_invalid", "")
	check(me.call(t, "POST /api/users/@me/two_factor_validate/", members("token", device.code(t))), success)
	status(true)
	me.call(t, "POST /api/users/@me/two_factor_validate/", members("token", device.code(t))).fails(t, 400, "setup_expired", "")

	first := me.backupCodes(t)
	for _, code := range first {
		if len(first) != 10 || !regexp.MustCompile(`^[a-z2-7]{8}$`).MatchString(code) {
			t.Errorf("backup codes %q", first)
		}
	}
	status(true, first...)
	second := me.backupCodes(t)
	for _, code := range second {
		if slices.Contains(first, code) {
			t.Errorf("code %s is an old one", code)
		}
	}
	status(true, second...)

	staff := s.as(s.staff(t)).call(t, "GET /api/users/"+a.UUID.String()+"/two_factor_status/", "").ok(t)
	if len(staff["backup_codes"].([]any)) != 0 || staff["is_enabled"] != true {
		t.Errorf("staff see %v", staff)
	}
	me.call(t, "GET /api/users/@me/two_factor_start_setup/", "").ok(t)
	status(true, second...) // the confirmed one stays in force
	check(me.call(t, "POST /api/users/@me/two_factor_disable/", ""), success)
	status(false)
	me.call(t, "POST /api/users/@me/two_factor_validate/", `{"token":"000000"}`).fails(t, 400, "setup_expired", "") // the pending secret is gone, too
	for _, kind := range []string{"two_factor_on", "backup_codes_replaced", "two_factor_off"} {
		s.mail.await(t, a.Email, kind, 1)
	}
}
