package shell_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/optional"
	"github.com/flagstaff-go/flagstaff/server/console/consoletest"
	"github.com/flagstaff-go/flagstaff/server/console/shell"
)

// device returns what an answer sets to show that the browser has signed in, "" for nothing.
func device(a *consoletest.Answer) string {
	for _, c := range (&http.Response{Header: a.Header}).Cookies() {
		if c.Name == "__Host-flagstaff-device" {
			return c.Value
		}
	}
	return ""
}

// TestRuling98WithoutScript: a form that is sent after the session has ended comes back when
// its user has signed in, and is sent once more.
func TestRuling98WithoutScript(t *testing.T) {
	s := consoletest.NewSite(t)
	path := s.EditPath("retired")
	form := consoletest.With(s.Get(path).Form("form"), "name", "Typed\r\nin two lines <b>", "do", "save")
	s.Token = "ended"
	a := s.Post(path, form).Want(401, "You are signed out. What you have sent is kept: sign in, and go on.")
	a.CheckPage()
	a = s.Post("/signin", consoletest.With(a.Form(""), "email", consoletest.Address, "password", "wrong")).Want(401,
		"Invalid email or password.")
	a.CheckPage()
	a = s.Post("/signin", consoletest.With(a.Form(""), "email", consoletest.Address, "password", consoletest.Password)).Want(200,
		"You are signed in", "is still here")
	a.CheckPage()
	if got := a.Form(""); got.Get("name") != form.Get("name") || got.Get("do") != "save" ||
		!strings.Contains(a.Body, `action="/console`+path+`"`) {
		t.Fatalf("the form is %v, want what was sent", got)
	}
	s.Token = a.Cookie().Value
	s.Post(path, a.Form("")).Leads(s.FlagPath("retired") + "?done=saved")
	if name := s.Flag("retired").Name; name != "Typed\nin two lines <b>" {
		t.Errorf("name %q, want what was typed", name)
	}

	// With a second factor.
	setup, err := s.Service.StartTwoFactor(t.Context(), s.Owner, "@me")
	consoletest.Fatal(t, err)
	consoletest.Fatal(t, s.Service.ConfirmTwoFactor(t.Context(), s.Owner, "@me", management.TwoFactorPatch{
		Token: optional.Of(json.RawMessage(`"` + consoletest.AuthenticatorCode(t, setup.Secret) + `"`)),
	}))
	codes, err := s.Service.NewBackupCodes(t.Context(), s.Owner, "@me")
	consoletest.Fatal(t, err)
	s.Token = "ended"
	a = s.Post(path, consoletest.With(form, "do", "add-condition")).Want(401)
	a = s.Post("/signin", consoletest.With(a.Form(""), "email", consoletest.Address, "password", consoletest.Password)).Want(200,
		"Enter a code")
	a.CheckPage()
	s.Token = a.Cookie().Value
	kept := a.Body[strings.Index(a.Body, `action="/console/signin/code"`):]
	second := consoletest.With((&consoletest.Answer{T: t, Body: `<form id="x"` + kept}).Form("x"), "code", codes[0])
	a = s.Post("/signin/code", second).Want(200, "You are signed in", "is still here")
	if got := a.Form(""); got.Get("name") != form.Get("name") || got.Get("do") != "add-condition" {
		t.Errorf("the form is %v, want what was sent", got)
	}
}

// TestRuling98Kept: what of a form is kept, and what is not.
func TestRuling98Kept(t *testing.T) {
	s := consoletest.NewSite(t)
	s.Token = ""
	secret := s.Post("/me/password", url.Values{"current_password": {"old hush"}, "password": {"new hush"}}).Want(401)
	if strings.Contains(secret.Body, "hush") {
		t.Error("a page has a password")
	}
	large := s.Post("/projects/1/flags/1", url.Values{"name": {strings.Repeat("x", 1<<20)}}).Want(401, "The form is too large to be kept")
	large.CheckPage()
	parts := s.Do(s.Multi("/projects/1/import", url.Values{"text": {"pasted text"}, "do": {"check"}}, "flags.json",
		[]byte("of a file"))).Want(401)
	if strings.Contains(parts.Body, "of a file") {
		t.Error("a page has a file")
	}
	a := s.Post("/signin", consoletest.With(parts.Form(""), "email", consoletest.Address, "password", consoletest.Password)).Want(200,
		"It is without the file, which has to be chosen again.")
	a.CheckPage()
	if got := a.Form(""); got.Get("text") != "pasted text" || !strings.Contains(a.Body, `enctype="multipart/form-data"`) {
		t.Errorf("the form is %v, want the text", got)
	}
	// Nothing is sent to other sites.
	for _, to := range []string{"https://example.com/", "//example.com/", "/console/../api/", "/other"} {
		s.Post("/signin", url.Values{
			"email": {consoletest.Address}, "password": {consoletest.Password}, "kept_to": {to},
			"kept_fields": {"a=b"},
		}).Leads("/")
	}
}

// TestRuling98Ready: scripts can ask whether a form would find its user signed in.
func TestRuling98Ready(t *testing.T) {
	s := consoletest.NewSite(t)
	s.Get("/ready").Want(204)
	s.Broken.Broken.Store(true)
	s.Get("/ready").Want(204) // it asks for the session alone
	s.Broken.Broken.Store(false)
	s.Token = "ended"
	s.Get("/ready").Want(401)
	s.Get("/back").Leads("/signin?next=%2Fback")
	s.SignIn(consoletest.Address)
	s.Get("/back").Want(200, "You are signed in", "in the other tab").CheckPage()
}

// TestRuling103Pages: refusals say when to try again, and a browser that has signed in before
// is let in.
func TestRuling103Pages(t *testing.T) {
	s := consoletest.NewSite(t, func(c *shell.Config) {
		c.ClientIP = func(*http.Request) netip.Addr { return netip.MustParseAddr("192.0.2.1") }
	})
	s.Token = ""
	form := url.Values{"email": {consoletest.Address}, "password": {consoletest.Password}}
	device := device(s.Post("/signin", form).Want(303))
	if device == "" {
		t.Fatal("the browser gets no cookie that shows that it has signed in")
	}
	for range 28 { // and one of the fixture
		s.Post("/signin", consoletest.With(form, "password", strings.Repeat("x", 200))).Want(401)
	}
	a := s.Post("/signin", form).Want(429)
	a.CheckPage()
	if wait, _ := strconv.Atoi(a.Header.Get("Retry-After")); wait < 1 || wait > 20 {
		t.Errorf("Retry-After: %q, want at most 20", a.Header.Get("Retry-After"))
	}
	r := httptest.NewRequestWithContext(t.Context(), "POST", "https://flags.example.com/console/signin", strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	r.AddCookie(&http.Cookie{Name: "__Host-flagstaff-device", Value: device})
	if a := s.Do(r).Want(303); a.Cookie().Name != "__Host-flagstaff" {
		t.Error("the known browser is not signed in")
	}
	s.Ahead = 20 * time.Second
	s.Post("/signin", form).Want(303)
}
