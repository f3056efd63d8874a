package console_test

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
	"github.com/flagstaff-go/flagstaff/server/console"
)

// device returns what an answer sets to show that the browser has signed in, "" for nothing.
func (a *answer) device() string {
	for _, c := range (&http.Response{Header: a.header}).Cookies() {
		if c.Name == "__Host-flagstaff-device" {
			return c.Value
		}
	}
	return ""
}

// TestRuling98WithoutScript: a form that is sent after the session has ended comes back when
// its user has signed in, and is sent once more.
func TestRuling98WithoutScript(t *testing.T) {
	s := newSite(t)
	path := s.flagPath("retired")
	form := with(s.get(path).form("form"), "name", "Typed\r\nin two lines <b>", "do", "save")
	s.token = "ended"
	a := s.post(path, form).want(401, "You are signed out. What you have sent is kept: sign in, and go on.")
	a.checkPage()
	a = s.post("/signin", with(a.form(""), "email", address, "password", "wrong")).want(401, "Invalid email or password.")
	a.checkPage()
	a = s.post("/signin", with(a.form(""), "email", address, "password", password)).want(200, "You are signed in", "is still here")
	a.checkPage()
	if got := a.form(""); got.Get("name") != form.Get("name") || got.Get("do") != "save" ||
		!strings.Contains(a.body, `action="/console`+path+`"`) {
		t.Fatalf("the form is %v, want what was sent", got)
	}
	s.token = a.cookie().Value
	s.post(path, a.form("")).leads(path + "?done=saved")
	if name := s.flag("retired").Name; name != "Typed\nin two lines <b>" {
		t.Errorf("name %q, want what was typed", name)
	}

	// With a second factor.
	setup, err := s.service.StartTwoFactor(t.Context(), s.owner, "@me")
	fatal(t, err)
	fatal(t, s.service.ConfirmTwoFactor(t.Context(), s.owner, "@me", management.TwoFactorPatch{
		Token: optional.Of(json.RawMessage(`"` + authenticatorCode(t, setup.Secret) + `"`)),
	}))
	codes, err := s.service.NewBackupCodes(t.Context(), s.owner, "@me")
	fatal(t, err)
	s.token = "ended"
	a = s.post(path, with(form, "do", "add-condition")).want(401)
	a = s.post("/signin", with(a.form(""), "email", address, "password", password)).want(200, "Enter a code")
	a.checkPage()
	s.token = a.cookie().Value
	kept := a.body[strings.Index(a.body, `action="/console/signin/code"`):]
	second := with((&answer{t: t, body: `<form id="x"` + kept}).form("x"), "code", codes[0])
	a = s.post("/signin/code", second).want(200, "You are signed in", "is still here")
	if got := a.form(""); got.Get("name") != form.Get("name") || got.Get("do") != "add-condition" {
		t.Errorf("the form is %v, want what was sent", got)
	}
}

// TestRuling98Kept: what of a form is kept, and what is not.
func TestRuling98Kept(t *testing.T) {
	s := newSite(t)
	s.token = ""
	secret := s.post("/me/password", url.Values{"current_password": {"old hush"}, "password": {"new hush"}}).want(401)
	if strings.Contains(secret.body, "hush") {
		t.Error("a page has a password")
	}
	large := s.post("/projects/1/flags/1", url.Values{"name": {strings.Repeat("x", 1<<20)}}).want(401, "The form is too large to be kept")
	large.checkPage()
	parts := s.do(s.multi("/projects/1/import", url.Values{"text": {"pasted text"}, "do": {"check"}}, "flags.json",
		[]byte("of a file"))).want(401)
	if strings.Contains(parts.body, "of a file") {
		t.Error("a page has a file")
	}
	a := s.post("/signin", with(parts.form(""), "email", address, "password", password)).want(200,
		"It is without the file, which has to be chosen again.")
	a.checkPage()
	if got := a.form(""); got.Get("text") != "pasted text" || !strings.Contains(a.body, `enctype="multipart/form-data"`) {
		t.Errorf("the form is %v, want the text", got)
	}
	// Nothing is sent to other sites.
	for _, to := range []string{"https://example.com/", "//example.com/", "/console/../api/", "/other"} {
		s.post("/signin", url.Values{"email": {address}, "password": {password}, "kept_to": {to}, "kept_fields": {"a=b"}}).leads("/")
	}
}

// TestRuling98Ready: scripts can ask whether a form would find its user signed in.
func TestRuling98Ready(t *testing.T) {
	s := newSite(t)
	s.get("/ready").want(204)
	s.broken.broken.Store(true)
	s.get("/ready").want(204) // it asks for the session alone
	s.broken.broken.Store(false)
	s.token = "ended"
	s.get("/ready").want(401)
	s.get("/back").leads("/signin?next=%2Fback")
	s.signIn(address)
	s.get("/back").want(200, "You are signed in", "in the other tab").checkPage()
}

// TestRuling103Pages: refusals say when to try again, and a browser that has signed in before
// is let in.
func TestRuling103Pages(t *testing.T) {
	s := newSite(t, func(c *console.Config) {
		c.ClientIP = func(*http.Request) netip.Addr { return netip.MustParseAddr("192.0.2.1") }
	})
	s.token = ""
	form := url.Values{"email": {address}, "password": {password}}
	device := s.post("/signin", form).want(303).device()
	if device == "" {
		t.Fatal("the browser gets no cookie that shows that it has signed in")
	}
	for range 28 { // and one of the fixture
		s.post("/signin", with(form, "password", strings.Repeat("x", 200))).want(401)
	}
	a := s.post("/signin", form).want(429)
	a.checkPage()
	if wait, _ := strconv.Atoi(a.header.Get("Retry-After")); wait < 1 || wait > 20 {
		t.Errorf("Retry-After: %q, want at most 20", a.header.Get("Retry-After"))
	}
	r := httptest.NewRequestWithContext(t.Context(), "POST", "https://flags.example.com/console/signin", strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	r.AddCookie(&http.Cookie{Name: "__Host-flagstaff-device", Value: device})
	if a := s.do(r).want(303); a.cookie().Name != "__Host-flagstaff" {
		t.Error("the known browser is not signed in")
	}
	s.ahead = 20 * time.Second
	s.post("/signin", form).want(303)
}
