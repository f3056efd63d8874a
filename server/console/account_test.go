package console_test

import (
	"html"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/flagstaff-go/flagstaff/management/storage"
)

func init() {
	actions = append(actions,
		action{route: "/me/name", run: func(s *site) (string, url.Values) {
			return "/me/name", url.Values{"first_name": {"Ada"}, "last_name": {"L"}}
		}},
		action{route: "/me/address", irreversible: "the address before has to be proved again", tested: "TestAccount"},
		action{route: "/me/address/keep", irreversible: "the message is asked for again", tested: "TestAccount"},
		action{route: "/me/address/verify", irreversible: "the message is sent", tested: "TestAccount"},
		action{route: "/me/password", irreversible: "no password before is kept", tested: "TestPassword"},
		action{route: "/me/two-factor/start", irreversible: "nothing is on before a code is typed", tested: "TestSecondFactor"},
		action{route: "/me/two-factor/confirm", irreversible: "it is turned off on the same page", tested: "TestSecondFactor"},
		action{route: "/me/two-factor/codes", irreversible: "codes that are shown once do not come back", tested: "TestSecondFactor"},
		action{
			route: "/me/two-factor/off", asks: confirm, irreversible: "the secret is gone; another one is set up",
			tested: "TestSecondFactor",
		},
		action{route: "/me/sessions/{session}/end", irreversible: "signing in begins another one", tested: "TestSessions"},
		action{route: "/me/sessions/end-others", irreversible: "signing in begins others", tested: "TestSessions"},
		action{route: "/me/keys", irreversible: "the key that is shown can be deleted", tested: "TestKeys"},
		action{route: "/me/keys/{key}/roll", asks: confirm, irreversible: "the value before is not kept", tested: "TestKeys"},
		action{route: "/me/keys/{key}/delete", asks: confirm, irreversible: "the value is not kept", tested: "TestKeys"},
	)
}

func TestAccount(t *testing.T) {
	s := newSite(t)
	page := s.get("/me").want(200, "Your account", address, "this one")
	page.checkPage()
	form := page.form("name")
	s.post("/me/name", with(form, "first_name", "Ada", "last_name", "Lovelace")).leads("/me?done=saved")
	if got := s.get("/me").want(200).form("name"); got.Get("first_name") != "Ada" || got.Get("last_name") != "Lovelace" {
		t.Errorf("names %v", got)
	}
	a := s.post("/me/name", with(form, "first_name", "<i>", "last_name", "L")).want(422, "not allowed")
	a.checkPage()
	if got := a.form("name"); got.Get("first_name") != "<i>" || got.Get("last_name") != "L" {
		t.Errorf("what was typed is gone: %v", got)
	}

	for given, says := range map[string]string{"": "This field is required.", "wrong": "Your current password is incorrect."} {
		form := url.Values{"email": {"new@example.com"}, "current_password": {given}}
		if given == "" {
			form.Del("current_password")
		}
		a = s.post("/me/address", form).want(422, says)
		a.checkPage()
		if !strings.Contains(a.body, `id="address_password-error"`) || !strings.Contains(a.body, `value="new@example.com"`) {
			t.Errorf("with the password %q: %s", given, words(a.body))
		}
	}
	a = s.post("/me/address", url.Values{"email": {"nobody"}, "current_password": {password}}).want(422, "Enter a valid email address.")
	a.checkPage()
	if !strings.Contains(a.body, `value="nobody"`) {
		t.Error("the address that was typed is gone")
	}
	s.post("/me/address", url.Values{"email": {"new@example.com"}, "current_password": {password}}).leads("/me?done=address")
	s.get("/me?done=address").want(200, "The address was changed.", "new@example.com").checkPage()
	s.post("/me/address/keep", nil).leads("/me?done=address-kept") // there is nothing to keep
	s.post("/me/address/verify", nil).want(422, "no mail server is configured").checkPage()
}

// TestPassword: another password ends all other sessions, and gives this one another token.
func TestPassword(t *testing.T) {
	s := newSite(t)
	other := s.token
	s.signIn(address)
	own := s.token
	for _, tt := range []struct {
		form    url.Values
		says    string
		beside  string
		current string
	}{
		{url.Values{"password": {"another battery staple"}}, "This field is required.", "current_password", ""},
		{url.Values{"current_password": {"wrong"}, "password": {"another battery staple"}}, "", "current_password", ""},
		{url.Values{"current_password": {password}, "password": {"short"}}, "", "password", ""},
	} {
		a := s.post("/me/password", tt.form).want(422, tt.says)
		a.checkPage()
		if !strings.Contains(a.body, `id="`+tt.beside+`-error"`) || strings.Contains(a.body, "battery staple") {
			t.Errorf("%v: %s", tt.form, words(a.body))
		}
	}
	a := s.post("/me/password", url.Values{"current_password": {password}, "password": {"another battery staple"}})
	a.leads("/me?done=password")
	for _, token := range []string{own, other} {
		s.token = token
		s.get("/me").want(303)
	}
	s.token = a.cookie().Value
	s.get("/me?done=password").want(200, "The password was changed. All other sessions have ended.").checkPage()
}

func TestSessions(t *testing.T) {
	s := newSite(t)
	first := s.token
	s.signIn(address)
	second := s.token
	page := s.get("/me").want(200, "Sessions", "End all others")
	ends := regexp.MustCompile(`/console(/me/sessions/[^/"]+/end)"`).FindAllStringSubmatch(page.body, -1)
	var end []string
	for _, m := range ends {
		end = append(end, m[1])
	}
	if len(end) < 1 {
		t.Fatalf("no session can be ended: %s", page.body)
	}
	s.post(end[0], nil).leads("/me?done=session")
	s.post(end[0], nil).want(404)
	s.token = first
	s.get("/me").want(303)
	s.signIn(address)
	third := s.token
	s.token = second
	s.post("/me/sessions/end-others", nil).leads("/me?done=sessions")
	s.get("/me?done=sessions").want(200, "All other sessions have ended.").checkPage()
	s.token = third
	s.get("/me").want(303)
	s.token = second
	s.ahead += 15 * 24 * time.Hour
	s.get("/me").want(303) // it has expired
}

var (
	setupForm = regexp.MustCompile(`name="setup" value="([^"]*)"`)
	codesForm = regexp.MustCompile(`<li><code>([a-z2-7]{8})</code></li>`)
)

// TestSecondFactor turns it on with the QR code, makes backup codes, and turns it off.
func TestSecondFactor(t *testing.T) {
	s := newSite(t)
	other := s.token
	s.signIn(address)
	before := s.token
	s.get("/me").want(200, "off Your password alone signs you in.")
	page := s.post("/me/two-factor/start", nil).want(200, "Connect an authenticator")
	page.checkPage()
	setup := html.UnescapeString(setupForm.FindStringSubmatch(page.body)[1])
	u, err := url.Parse(setup)
	fatal(t, err)
	secret := u.Query().Get("secret")
	if !strings.Contains(strings.ReplaceAll(words(page.body), " ", ""), secret) || !strings.Contains(page.body, `<path d="M0 0h7v1h-7z`) {
		t.Error("the page does not show the key and a QR code")
	}
	wrong := s.post("/me/two-factor/confirm", url.Values{"code": {"000000"}, "setup": {setup}}).want(422,
		"not the code that the authenticator shows now")
	wrong.checkPage()
	if setupForm.FindStringSubmatch(wrong.body)[1] != setupForm.FindStringSubmatch(page.body)[1] {
		t.Error("the QR code is another one")
	}
	s.post("/me/two-factor/confirm", url.Values{"code": {"000000"}, "setup": {"otpauth://totp/" + strings.Repeat("x", 5000)}}).want(422,
		"Token is not valid").checkPage()
	on := s.post("/me/two-factor/confirm", url.Values{"code": {authenticatorCode(t, secret)}, "setup": {setup}}).want(200,
		"Two-factor authentication is on")
	on.checkPage()
	codes := codesForm.FindAllStringSubmatch(on.body, -1)
	if len(codes) != 10 || !strings.Contains(on.body, `download="backup-codes.txt"`) ||
		!strings.Contains(on.body, `href="data:text/plain`) {
		t.Errorf("the page has %d backup codes:\n%s", len(codes), on.body)
	}
	for _, token := range []string{before, other} {
		s.token = token
		s.get("/me").want(303)
	}
	s.token = on.cookie().Value
	page = s.get("/me").want(200, "10 backup codes are left.")
	page.checkPage()
	if strings.Contains(page.body, codes[0][1]) {
		t.Error("the codes are on a page that was not asked for them")
	}
	fresh := s.post("/me/two-factor/codes", nil).want(200, "New backup codes")
	fresh.checkPage()
	code := codesForm.FindStringSubmatch(fresh.body)[1]
	s.get("/me/two-factor/off").want(200, "Turn two-factor authentication off?").checkPage()
	s.post("/me/two-factor/off", url.Values{"code": {codes[0][1]}}).want(422, "The code is not valid.").checkPage()
	s.post("/me/two-factor/off", url.Values{"code": {code}}).want(429).checkPage()
	s.ahead += 5 * time.Second
	off := s.post("/me/two-factor/off", url.Values{"code": {code}})
	off.leads("/me?done=two-factor-off")
	if off.cookie().Value == s.token {
		t.Error("the session has the same token as before")
	}
	s.token = off.cookie().Value
	s.get("/me?done=two-factor-off").want(200, "Two-factor authentication is off.").checkPage()
	s.post("/me/two-factor/codes", nil).want(422, "Two-factor authentication is not on.").checkPage()
}

func TestKeys(t *testing.T) {
	s := newSite(t)
	s.member("bob@example.com", storage.LevelOwner)
	s.signIn("bob@example.com")
	s.get("/me/keys").want(200, "You have no personal keys").checkPage()
	s.signIn(address)
	page := s.get("/me/keys").want(200, "first start")
	page.checkPage()
	form := page.form("form")
	none := s.post("/me/keys", with(form, "label", "ci")).want(422, "Choose something that the key may do.")
	none.checkPage()
	if none.form("form").Get("label") != "ci" {
		t.Error("the label that was typed is gone")
	}
	s.post("/me/keys", with(form, "label", "", "reach", "all")).want(422, "may not be blank").checkPage()
	typed := with(form, "label", "ci", "project", "1")
	for _, name := range []string{
		"feature_flag", "cohort", "early_access_feature", "survey", "person", "group", "activity_log", "project", "organization",
		"organization_member", "user",
	} {
		typed = with(typed, "scope."+name, map[bool]string{true: "write", false: "read"}[name == "feature_flag"])
	}
	made := s.post("/me/keys", typed).want(200, "The key “ci”")
	made.checkPage()
	value := regexp.MustCompile(`value="(phx_\w+)"`).FindStringSubmatch(made.body)[1]
	p, err := s.service.Authenticate(t.Context(), value, "the Authorization header")
	fatal(t, err)
	if got := strings.Join(p.Key.Scopes,
		" "); got != "feature_flag:write cohort:read early_access_feature:read survey:read person:read group:read activity_log:read "+
		"project:read organization:read organization_member:read user:read" || len(p.Key.Projects) != 1 {
		t.Errorf("scopes %s, projects %v", got, p.Key.Projects)
	}
	s.post("/me/keys", typed).want(409, "was created after this page was loaded").checkPage() // sent again
	page = s.get("/me/keys").want(200, "Flags (read and change), Cohorts (read)", "only in Shop", "ci")
	page.checkPage()
	if strings.Contains(page.body, value) {
		t.Error("the key is on a page that was not asked for it")
	}
	all := s.post("/me/keys", with(page.form("form"), "label", "<all>", "reach", "all")).want(200)
	all.checkPage()
	s.get("/me/keys").want(200, "everything", "<all>").checkPage()

	keys := "/me/keys/" + p.Key.ID
	ask := s.get(keys+"/roll").want(200, "Roll the key “ci”?")
	ask.checkPage()
	rolled := s.post(keys+"/roll", ask.form("")).want(200, "The new value of “ci”")
	rolled.checkPage()
	if _, err := s.service.Authenticate(t.Context(), value, "the Authorization header"); err == nil {
		t.Error("the value before is still good")
	}
	s.post(keys+"/roll", ask.form("")).want(409, "Nothing was done.").checkPage()
	s.get(keys+"/delete").want(200, "Delete the key “ci”?").checkPage()

	s.signIn("bob@example.com")
	s.get(keys + "/delete").want(404)
	s.post(keys+"/delete", nil).want(404)
	s.post(keys+"/roll", nil).want(404)
	s.signIn(address)
	s.post(keys+"/delete", nil).leads("/me/keys?done=key-deleted")
	s.get("/me/keys?done=key-deleted").want(200, "The key was deleted.").checkPage()
}
