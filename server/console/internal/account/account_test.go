package account_test

import (
	"html"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/flagstaff-go/flagstaff/management/storage"
	"github.com/flagstaff-go/flagstaff/server/console/consoletest"
)

func init() {
	actions = append(actions,
		action{Route: "/me/name", Run: func(s *consoletest.Site) (string, url.Values) {
			return "/me/name", url.Values{"first_name": {"Ada"}, "last_name": {"L"}}
		}},
		action{Route: "/me/address", Irreversible: "the address before has to be proved again", Tested: "TestAccount"},
		action{Route: "/me/address/keep", Irreversible: "the message is asked for again", Tested: "TestAccount"},
		action{Route: "/me/address/verify", Irreversible: "the message is sent", Tested: "TestAccount"},
		action{Route: "/me/password", Irreversible: "no password before is kept", Tested: "TestPassword"},
		action{Route: "/me/two-factor/start", Irreversible: "nothing is on before a code is typed", Tested: "TestSecondFactor"},
		action{Route: "/me/two-factor/confirm", Irreversible: "it is turned off on the same page", Tested: "TestSecondFactor"},
		action{Route: "/me/two-factor/codes", Irreversible: "codes that are shown once do not come back", Tested: "TestSecondFactor"},
		action{
			Route: "/me/two-factor/off", Asks: consoletest.Confirm, Irreversible: "the secret is gone; another one is set up",
			Tested: "TestSecondFactor",
		},
		action{Route: "/me/sessions/{session}/end", Irreversible: "signing in begins another one", Tested: "TestSessions"},
		action{Route: "/me/sessions/end-others", Irreversible: "signing in begins others", Tested: "TestSessions"},
		action{Route: "/me/keys", Irreversible: "the key that is shown can be deleted", Tested: "TestKeys"},
		action{Route: "/me/keys/{key}/roll", Asks: consoletest.Confirm, Irreversible: "the value before is not kept", Tested: "TestKeys"},
		action{Route: "/me/keys/{key}/delete", Asks: consoletest.Confirm, Irreversible: "the value is not kept", Tested: "TestKeys"},
	)
}

func TestAccount(t *testing.T) {
	s := consoletest.NewSite(t)
	page := s.Get("/me").Want(200, "Your account", consoletest.Address, "this one")
	page.CheckPage()
	form := page.Form("name")
	s.Post("/me/name", consoletest.With(form, "first_name", "Ada", "last_name", "Lovelace")).Leads("/me?done=saved")
	if got := s.Get("/me").Want(200).Form("name"); got.Get("first_name") != "Ada" || got.Get("last_name") != "Lovelace" {
		t.Errorf("names %v", got)
	}
	a := s.Post("/me/name", consoletest.With(form, "first_name", "<i>", "last_name", "L")).Want(422, "not allowed")
	a.CheckPage()
	if got := a.Form("name"); got.Get("first_name") != "<i>" || got.Get("last_name") != "L" {
		t.Errorf("what was typed is gone: %v", got)
	}

	for given, says := range map[string]string{"": "This field is required.", "wrong": "Your current password is incorrect."} {
		form := url.Values{"email": {"new@example.com"}, "current_password": {given}}
		if given == "" {
			form.Del("current_password")
		}
		a = s.Post("/me/address", form).Want(422, says)
		a.CheckPage()
		if !strings.Contains(a.Body, `id="address_password-error"`) || !strings.Contains(a.Body, `value="new@example.com"`) {
			t.Errorf("with the password %q: %s", given, consoletest.Words(a.Body))
		}
	}
	a = s.Post("/me/address", url.Values{"email": {"nobody"}, "current_password": {consoletest.Password}}).Want(422,
		"Enter a valid email address.")
	a.CheckPage()
	if !strings.Contains(a.Body, `value="nobody"`) {
		t.Error("the address that was typed is gone")
	}
	s.Post("/me/address", url.Values{"email": {"new@example.com"}, "current_password": {consoletest.Password}}).Leads("/me?done=address")
	s.Get("/me?done=address").Want(200, "The address was changed.", "new@example.com").CheckPage()
	s.Post("/me/address/keep", nil).Leads("/me?done=address-kept") // there is nothing to keep
	s.Post("/me/address/verify", nil).Want(422, "no mail server is configured").CheckPage()
}

// TestPassword: another password ends all other sessions, and gives this one another token.
func TestPassword(t *testing.T) {
	s := consoletest.NewSite(t)
	other := s.Token
	s.SignIn(consoletest.Address)
	own := s.Token
	for _, tt := range []struct {
		form    url.Values
		says    string
		beside  string
		current string
	}{
		{url.Values{"password": {"another battery staple"}}, "This field is required.", "current_password", ""},
		{url.Values{"current_password": {"wrong"}, "password": {"another battery staple"}}, "", "current_password", ""},
		{url.Values{"current_password": {consoletest.Password}, "password": {"short"}}, "", "password", ""},
	} {
		a := s.Post("/me/password", tt.form).Want(422, tt.says)
		a.CheckPage()
		if !strings.Contains(a.Body, `id="`+tt.beside+`-error"`) || strings.Contains(a.Body, "battery staple") {
			t.Errorf("%v: %s", tt.form, consoletest.Words(a.Body))
		}
	}
	a := s.Post("/me/password", url.Values{"current_password": {consoletest.Password}, "password": {"another battery staple"}})
	a.Leads("/me?done=password")
	for _, token := range []string{own, other} {
		s.Token = token
		s.Get("/me").Want(303)
	}
	s.Token = a.Cookie().Value
	s.Get("/me?done=password").Want(200, "The password was changed. All other sessions have ended.").CheckPage()
}

func TestSessions(t *testing.T) {
	s := consoletest.NewSite(t)
	first := s.Token
	s.SignIn(consoletest.Address)
	second := s.Token
	page := s.Get("/me").Want(200, "Sessions", "End all others")
	ends := regexp.MustCompile(`/console(/me/sessions/[^/"]+/end)"`).FindAllStringSubmatch(page.Body, -1)
	var end []string
	for _, m := range ends {
		end = append(end, m[1])
	}
	if len(end) < 1 {
		t.Fatalf("no session can be ended: %s", page.Body)
	}
	s.Post(end[0], nil).Leads("/me?done=session")
	s.Post(end[0], nil).Want(404)
	s.Token = first
	s.Get("/me").Want(303)
	s.SignIn(consoletest.Address)
	third := s.Token
	s.Token = second
	s.Post("/me/sessions/end-others", nil).Leads("/me?done=sessions")
	s.Get("/me?done=sessions").Want(200, "All other sessions have ended.").CheckPage()
	s.Token = third
	s.Get("/me").Want(303)
	s.Token = second
	s.Ahead += 15 * 24 * time.Hour
	s.Get("/me").Want(303) // it has expired
}

var (
	setupForm = regexp.MustCompile(`name="setup" value="([^"]*)"`)
	codesForm = regexp.MustCompile(`<li><code>([a-z2-7]{8})</code></li>`)
)

// TestSecondFactor turns it on with the QR code, makes backup codes, and turns it off.
func TestSecondFactor(t *testing.T) {
	s := consoletest.NewSite(t)
	other := s.Token
	s.SignIn(consoletest.Address)
	before := s.Token
	s.Get("/me").Want(200, "off Your password alone signs you in.")
	page := s.Post("/me/two-factor/start", nil).Want(200, "Connect an authenticator")
	page.CheckPage()
	setup := html.UnescapeString(setupForm.FindStringSubmatch(page.Body)[1])
	u, err := url.Parse(setup)
	consoletest.Fatal(t, err)
	secret := u.Query().Get("secret")
	if !strings.Contains(strings.ReplaceAll(consoletest.Words(page.Body), " ", ""), secret) || !strings.Contains(page.Body,
		`<path d="M0 0h7v1h-7z`) {
		t.Error("the page does not show the key and a QR code")
	}
	wrong := s.Post("/me/two-factor/confirm", url.Values{"code": {"000000"}, "setup": {setup}}).Want(422,
		"not the code that the authenticator shows now")
	wrong.CheckPage()
	if setupForm.FindStringSubmatch(wrong.Body)[1] != setupForm.FindStringSubmatch(page.Body)[1] {
		t.Error("the QR code is another one")
	}
	s.Post("/me/two-factor/confirm", url.Values{"code": {"000000"}, "setup": {"otpauth://totp/" + strings.Repeat("x", 5000)}}).Want(422,
		"Token is not valid").CheckPage()
	on := s.Post("/me/two-factor/confirm", url.Values{"code": {consoletest.AuthenticatorCode(t, secret)}, "setup": {setup}}).Want(200,
		"Two-factor authentication is on")
	on.CheckPage()
	codes := codesForm.FindAllStringSubmatch(on.Body, -1)
	if len(codes) != 10 || !strings.Contains(on.Body, `download="backup-codes.txt"`) ||
		!strings.Contains(on.Body, `href="data:text/plain`) {
		t.Errorf("the page has %d backup codes:\n%s", len(codes), on.Body)
	}
	for _, token := range []string{before, other} {
		s.Token = token
		s.Get("/me").Want(303)
	}
	s.Token = on.Cookie().Value
	page = s.Get("/me").Want(200, "10 backup codes are left.")
	page.CheckPage()
	if strings.Contains(page.Body, codes[0][1]) {
		t.Error("the codes are on a page that was not asked for them")
	}
	fresh := s.Post("/me/two-factor/codes", nil).Want(200, "New backup codes")
	fresh.CheckPage()
	code := codesForm.FindStringSubmatch(fresh.Body)[1]
	s.Get("/me/two-factor/off").Want(200, "Turn two-factor authentication off?").CheckPage()
	s.Post("/me/two-factor/off", url.Values{"code": {codes[0][1]}}).Want(422, "The code is not valid.").CheckPage()
	s.Post("/me/two-factor/off", url.Values{"code": {code}}).Want(429).CheckPage()
	s.Ahead += 5 * time.Second
	off := s.Post("/me/two-factor/off", url.Values{"code": {code}})
	off.Leads("/me?done=two-factor-off")
	if off.Cookie().Value == s.Token {
		t.Error("the session has the same token as before")
	}
	s.Token = off.Cookie().Value
	s.Get("/me?done=two-factor-off").Want(200, "Two-factor authentication is off.").CheckPage()
	s.Post("/me/two-factor/codes", nil).Want(422, "Two-factor authentication is not on.").CheckPage()
}

func TestKeys(t *testing.T) {
	s := consoletest.NewSite(t)
	s.Member("bob@example.com", storage.LevelOwner)
	s.SignIn("bob@example.com")
	s.Get("/me/keys").Want(200, "You have no personal keys").CheckPage()
	s.SignIn(consoletest.Address)
	page := s.Get("/me/keys").Want(200, "first start")
	page.CheckPage()
	form := page.Form("form")
	none := s.Post("/me/keys", consoletest.With(form, "label", "ci")).Want(422, "Choose something that the key may do.")
	none.CheckPage()
	if none.Form("form").Get("label") != "ci" {
		t.Error("the label that was typed is gone")
	}
	s.Post("/me/keys", consoletest.With(form, "label", "", "reach", "all")).Want(422, "may not be blank").CheckPage()
	typed := consoletest.With(form, "label", "ci", "project", "1")
	for _, name := range []string{
		"feature_flag", "cohort", "early_access_feature", "survey", "person", "group", "activity_log", "project", "organization",
		"organization_member", "user",
	} {
		typed = consoletest.With(typed, "scope."+name, map[bool]string{true: "write", false: "read"}[name == "feature_flag"])
	}
	made := s.Post("/me/keys", typed).Want(200, "The key “ci”")
	made.CheckPage()
	value := regexp.MustCompile(`value="(phx_\w+)"`).FindStringSubmatch(made.Body)[1]
	p, err := s.Service.Authenticate(t.Context(), value, "the Authorization header")
	consoletest.Fatal(t, err)
	if got := strings.Join(p.Key.Scopes,
		" "); got != "feature_flag:write cohort:read early_access_feature:read survey:read person:read group:read activity_log:read "+
		"project:read organization:read organization_member:read user:read" || len(p.Key.Projects) != 1 {
		t.Errorf("scopes %s, projects %v", got, p.Key.Projects)
	}
	s.Post("/me/keys", typed).Want(409, "was created after this page was loaded").CheckPage() // sent again
	page = s.Get("/me/keys").Want(200, "Flags (read and change), Cohorts (read)", "only in Shop", "ci")
	page.CheckPage()
	if strings.Contains(page.Body, value) {
		t.Error("the key is on a page that was not asked for it")
	}
	all := s.Post("/me/keys", consoletest.With(page.Form("form"), "label", "<all>", "reach", "all")).Want(200)
	all.CheckPage()
	s.Get("/me/keys").Want(200, "everything", "<all>").CheckPage()

	keys := "/me/keys/" + p.Key.ID
	ask := s.Get(keys+"/roll").Want(200, "Roll the key “ci”?")
	ask.CheckPage()
	rolled := s.Post(keys+"/roll", ask.Form("")).Want(200, "The new value of “ci”")
	rolled.CheckPage()
	if _, err := s.Service.Authenticate(t.Context(), value, "the Authorization header"); err == nil {
		t.Error("the value before is still good")
	}
	s.Post(keys+"/roll", ask.Form("")).Want(409, "Nothing was done.").CheckPage()
	s.Get(keys+"/delete").Want(200, "Delete the key “ci”?").CheckPage()

	s.SignIn("bob@example.com")
	s.Get(keys + "/delete").Want(404)
	s.Post(keys+"/delete", nil).Want(404)
	s.Post(keys+"/roll", nil).Want(404)
	s.SignIn(consoletest.Address)
	s.Post(keys+"/delete", nil).Leads("/me/keys?done=key-deleted")
	s.Get("/me/keys?done=key-deleted").Want(200, "The key was deleted.").CheckPage()
}
