package console_test

import (
	"compress/gzip"
	"context"
	"crypto/hmac"
	"crypto/sha1"
	"encoding/base32"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/management/optional"
	"github.com/flagstaff-go/flagstaff/management/storage"
	"github.com/flagstaff-go/flagstaff/server/console"
)

func init() {
	actions = append(actions,
		action{route: "/signin", irreversible: "signing out ends it", tested: "TestSignIn"},
		action{route: "/signin/code", irreversible: "signing out ends it", tested: "TestSignInWithSecondFactor"},
		action{route: "/signout", irreversible: "signing in begins another session", tested: "TestSignIn"},
		action{route: "/join/{token}", irreversible: "a link is good once", tested: "TestJoin"},
		action{route: "/forgot", irreversible: "the message is sent", tested: "TestForgottenPassword"},
		action{route: "/reset/{token}", irreversible: "no password before is kept", tested: "TestForgottenPassword"},
	)
}

// cookie returns what an answer sets as the token of the session.
func (a *answer) cookie() *http.Cookie {
	a.t.Helper()
	for _, c := range (&http.Response{Header: a.header}).Cookies() {
		return c
	}
	a.t.Fatal("no cookie was set")
	return nil
}

func TestSignIn(t *testing.T) {
	s := newSite(t)
	s.token = ""
	s.get("/projects/1/flags?q=x%26y").leads("/signin?next=%2Fprojects%2F1%2Fflags%3Fq%3Dx%2526y")
	page := s.get("/signin?next=%2Fprojects%2F1%2Fflags%3Fq%3Dx%2526y").want(200, "Sign in")
	page.checkPage()
	form := page.form("")
	wrong := s.post("/signin", with(form, "email", address, "password", "wrong")).want(401)
	wrong.checkPage()
	if strings.Contains(wrong.body, `value="wrong"`) || !strings.Contains(wrong.body, `value="`+address+`"`) ||
		len(wrong.header["Set-Cookie"]) > 0 {
		t.Error("the page does not keep the address alone")
	}
	a := s.post("/signin", with(form, "email", address, "password", password))
	a.leads("/projects/1/flags?q=x%26y")
	c := a.cookie()
	if c.Name != "__Host-flagstaff" || !c.HttpOnly || !c.Secure || c.SameSite != http.SameSiteLaxMode || c.Path != "/" || c.Domain != "" {
		t.Errorf("cookie %s", c)
	}
	s.token = c.Value
	s.get("/projects/1/flags").want(200, "12 flags")
	s.get("/signin").leads("/")
	out := s.post("/signout", nil)
	out.leads("/signin")
	if c := out.cookie(); c.Value != "" || c.MaxAge >= 0 {
		t.Errorf("the cookie stays: %s", c)
	}
	s.get("/projects/1/flags").want(303) // the token is of no use any more
}

func TestSignInWithSecondFactor(t *testing.T) {
	s := newSite(t)
	setup, err := s.service.StartTwoFactor(t.Context(), s.owner, "@me")
	fatal(t, err)
	fatal(t, s.service.ConfirmTwoFactor(t.Context(), s.owner, "@me", management.TwoFactorPatch{
		Token: optional.Of(json.RawMessage(`"` + authenticatorCode(t, setup.Secret) + `"`)),
	}))
	codes, err := s.service.NewBackupCodes(t.Context(), s.owner, "@me")
	fatal(t, err)
	s.token = ""
	s.get("/signin/code").leads("/signin")
	a := s.post("/signin", url.Values{"email": {address}, "password": {password}, "next": {"/projects/1/flags?q=a"}})
	a.leads("/signin/code?next=%2Fprojects%2F1%2Fflags%3Fq%3Da")
	pending := a.cookie().Value
	s.token = pending
	s.get("/projects/1/flags").want(303) // it opens nothing yet
	s.get("/signin/code?next=%2Fprojects%2F1%2Fflags").want(200, "Enter a code").checkPage()
	wrong := s.post("/signin/code", url.Values{"code": {"000000"}, "next": {"/projects/1/flags"}}).want(401, "The code is not valid.")
	wrong.checkPage()
	if len(wrong.header["Set-Cookie"]) > 0 || strings.Contains(wrong.body, "000000") {
		t.Error("a wrong code changes the session, or is shown")
	}
	s.post("/signin/code", url.Values{"code": {codes[0]}}).want(429, "There were too many attempts. Try again in")
	s.ahead += 5 * time.Second
	a = s.post("/signin/code", url.Values{"code": {codes[0]}, "next": {"/projects/1/flags"}})
	a.leads("/projects/1/flags")
	if a.cookie().Value == pending {
		t.Error("the session has the same token as before the second factor")
	}
	s.post("/signin/code", url.Values{"code": {codes[1]}}).leads("/signin") // the token before is of no use any more
	s.token = a.cookie().Value
	s.get("/projects/1/flags").want(200)
}

// authenticatorCode returns what an authenticator shows now.
func authenticatorCode(t testing.TB, secret string) string {
	t.Helper()
	key, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(secret)
	fatal(t, err)
	mac := hmac.New(sha1.New, key)
	fatal(t, binary.Write(mac, binary.BigEndian, time.Now().Unix()/30))
	sum := mac.Sum(nil)
	n := binary.BigEndian.Uint32(sum[sum[len(sum)-1]&15:]) & (1<<31 - 1)
	return fmt.Sprintf("%06d", n%1_000_000)
}

func TestJoin(t *testing.T) {
	s := newSite(t)
	s.token = ""
	token, err := s.service.NewSignInLink(t.Context(), address)
	fatal(t, err)
	s.get("/join/"+token).want(200, "This link signs you in as "+address).checkPage()
	s.get("/join/" + token).want(200) // looking at it does not use it up
	a := s.post("/join/"+token, nil)
	a.leads("/")
	s.get("/join/"+token).want(410, "The link is not valid any more").checkPage()
	s.post("/join/"+token, nil).want(410)
	s.token = a.cookie().Value
	s.get("/projects/1/flags").want(200)

	u, err := s.service.CreateUser(t.Context(), management.NewUser{Email: "new@example.com"})
	fatal(t, err)
	token, err = s.service.NewSignInLink(t.Context(), u.Email)
	fatal(t, err)
	s.token = ""
	s.get("/join/"+token).want(200, "Choose a password").checkPage()
	s.post("/join/"+token, url.Values{"password": {"short"}}).want(422).checkPage()
	s.post("/join/"+token, url.Values{"password": {password}}).leads("/")
}

// TestPlainHTTP: tokens cross only connections that nobody listens to.
func TestPlainHTTP(t *testing.T) {
	s := newSite(t, func(c *console.Config) { c.URL = "" })
	ask := func(method, path, from string, form url.Values) *answer {
		r := httptest.NewRequestWithContext(t.Context(), method, "http://flags.internal/console"+path, strings.NewReader(form.Encode()))
		r.RemoteAddr = from
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.AddCookie(&http.Cookie{Name: "flagstaff", Value: s.token})
		w := httptest.NewRecorder()
		s.handler.ServeHTTP(w, r)
		return &answer{t, w.Code, w.Header(), w.Body.String()}
	}
	ask("GET", "/signin", "192.0.2.1:1", nil).want(403, "over plain HTTP")
	ask("POST", "/signin", "192.0.2.1:1", url.Values{"email": {address}, "password": {password}}).want(403)
	ask("GET", "/projects/1/flags", "192.0.2.1:1", nil).want(303)
	ask("GET", "/projects/1/flags", "127.0.0.1:1", nil).want(200)
	a := ask("POST", "/signin", "[::1]:1", url.Values{"email": {address}, "password": {password}}).want(303)
	if c := a.cookie(); c.Name != "flagstaff" || c.Secure || !c.HttpOnly {
		t.Errorf("cookie %s", c)
	}
}

// TestNext: a link to sign in leads nowhere else.
func TestNext(t *testing.T) {
	s := newSite(t)
	s.token = ""
	for _, next := range []string{
		"https://evil.example/", "//evil.example", "/\\evil.example", "\\\\evil.example", "/../evil", "/./x", "javascript:alert(1)",
		"/\t/evil.example", "@evil.example", ".evil.example", "%2f%2fevil.example", "/projects/../../x",
	} {
		a := s.post("/signin", url.Values{"email": {address}, "password": {password}, "next": {next}})
		if a.status == http.StatusTooManyRequests {
			t.Fatal("throttled")
		}
		if to := a.header.Get("Location"); a.status != 303 || to != "/console/" {
			t.Errorf("next %q leads to %q", next, to)
		}
	}
}

func TestOtherOrigins(t *testing.T) {
	s := newSite(t)
	path := s.flagPath("company-billing")
	for _, headers := range []map[string]string{
		{"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}, {"Origin": "https://evil.example"}, {"Origin": "null"},
	} {
		r := httptest.NewRequestWithContext(t.Context(), "POST", "https://flags.example.com/console"+path+"/switch",
			strings.NewReader("to=off"))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		for name, value := range headers {
			r.Header.Set(name, value)
		}
		a := s.do(r)
		a.want(403, "The request came from another site")
		a.checkPage()
	}
	if !s.flag("company-billing").Active {
		t.Error("another site has switched a flag")
	}
}

// TestForeign: what belongs to others is not there.
// TestRuling104Foreign has the same pages for a project of others and for none.
func TestRuling104Foreign(t *testing.T) {
	s := newSite(t)
	other := storage.NewOrganization("Other")
	fatal(t, s.store.CreateOrganization(t.Context(), other))
	project := storage.NewProject(other, "Theirs")
	fatal(t, s.store.CreateProject(t.Context(), project))
	f := storage.NewFlag(project.ID, project.Created)
	f.Key = "theirs"
	fatal(t, s.store.CreateFlag(t.Context(), f))
	for _, path := range []string{"flags", "flags/new", "persons", "why", "activity", "surveys", "settings", "export", "nothing"} {
		theirs, missing := s.get("/projects/2/"+path).want(404, "Page not found"), s.get("/projects/99/"+path).want(404)
		theirs.checkPage()
		if strings.ReplaceAll(theirs.body, "/projects/2/", "/projects/99/") != missing.body {
			t.Errorf("a project of others answers other than a missing one:\n%s\n%s", words(theirs.body), words(missing.body))
		}
	}
	s.post("/projects/2/flags/new", url.Values{"do": {"save"}, "key": {"x"}}).want(404)
}

func TestForeign(t *testing.T) {
	s := newSite(t)
	other := storage.NewOrganization("Other")
	fatal(t, s.store.CreateOrganization(t.Context(), other))
	project := storage.NewProject(other, "Theirs")
	fatal(t, s.store.CreateProject(t.Context(), project))
	f := storage.NewFlag(project.ID, project.Created)
	f.Key = "theirs"
	fatal(t, s.store.CreateFlag(t.Context(), f))
	for _, path := range []string{
		"/projects/99/flags", "/projects/x/flags", "/projects/1/flags/9999", "/projects/1/flags/theirs", "/nothing",
		"/projects/1/flags/1/x", "/static/0/console.css",
	} {
		s.get(path).want(404).checkPage()
	}
	s.post("/projects/1/flags/9999", url.Values{"do": {"save"}}).want(404)
	s.member("cyd@example.com", storage.LevelMember)
	s.signIn("cyd@example.com")
	s.get("/projects/1/flags").want(200, "12 flags") // members work with flags
	s.token = "wrong"
	s.post("/projects/1/flags/1", url.Values{"do": {"save"}}).want(401, "You are signed out").checkPage()
}

// TestScript: what people type is text on every page.
func TestScript(t *testing.T) {
	s := newSite(t)
	const evil = `"><script>alert(1)</script>'{{.}}`
	path := s.flagPath("retired")
	form := s.get(path).form("form")
	form = with(form, "name", evil, "tags", evil, "contexts", evil, "c0.description", evil, "payload", `"<script>alert(1)</script>"`)
	add := s.post(path, with(form, "do", "add-person c0")).form("form")
	s.post(path, with(add, "do", "save", "c0.f0.key", evil, "c0.f0.value", evil)).leads(path + "?done=saved")
	for _, p := range []string{
		path, "/projects/1/flags?q=" + url.QueryEscape(evil), "/projects/1/flags", path + "/history",
		path + "/switch?to=on&back=" + url.QueryEscape(evil) + "&from=" + url.QueryEscape(evil), "/signin?next=" + url.QueryEscape(evil),
	} {
		a := s.get(p)
		if strings.Contains(a.body, "<script>alert") {
			t.Errorf("%s runs a script", p)
		}
		if a.status == 200 {
			a.checkPage()
		}
	}
	a := s.post(path, with(s.get(path).form("form"), "do", "review", "key", evil, "v0.key", evil, "c0.share", evil))
	if strings.Contains(a.body, "<script>alert") {
		t.Error("a message runs a script")
	}
	a.checkPage()
}

func TestStatic(t *testing.T) {
	s := newSite(t)
	page := s.get("/projects/1/flags")
	for _, name := range []string{"console.css", "console.js", "icon.svg"} {
		at := strings.Index(page.body, "/"+name+`"`)
		start := strings.LastIndex(page.body[:at], `"`) + 1
		a := s.get(strings.TrimPrefix(page.body[start:at]+"/"+name, "/console")).want(200)
		if !strings.Contains(a.header.Get("Cache-Control"), "immutable") || a.header.Get("Content-Type") == "" {
			t.Errorf("%s: %v", name, a.header)
		}
	}
}

func TestConfig(t *testing.T) {
	s := newSite(t)
	for _, c := range []console.Config{
		{},
		{Service: s.service, Prefix: "console"},
		{Service: s.service, Prefix: "/console/"},
		{Service: s.service, Prefix: "/{x}"},
		{Service: s.service, URL: "flags.example.com"},
		{Service: s.service, URL: "https://flags.example.com/console"},
	} {
		if _, err := console.New(c); err == nil || !strings.HasPrefix(err.Error(), "console: Config.") {
			t.Errorf("New(%q, %q): %v", c.Prefix, c.URL, err)
		}
	}
}

// A postman keeps the messages of a Service.
type postman chan management.Message

func (p postman) Send(_ context.Context, m management.Message) error {
	p <- m
	return nil
}

func TestForgottenPassword(t *testing.T) {
	s := newSite(t)
	s.token = ""
	s.get("/forgot").want(200, "This server sends no mail.").checkPage()
	s.post("/forgot", url.Values{"email": {address}}).want(422, "no mail server is configured").checkPage()

	mail := make(postman, 10)
	service, err := management.New(management.Config{Store: s.store, Data: s.store, Mailer: mail, SecretKeys: [][]byte{make([]byte, 32)}})
	fatal(t, err)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- service.Run(ctx) }()
	defer func() { stop(); <-done }()
	s.handler, err = console.New(console.Config{Service: service, Prefix: "/console", URL: "https://flags.example.com"})
	fatal(t, err)
	s.get("/forgot").want(200, "Send me a link").checkPage()
	s.post("/forgot", url.Values{"email": {"nobody@example.com"}}).want(200, "If there is an account").checkPage()
	s.post("/forgot", url.Values{"email": {"no address"}}).want(422).checkPage()
	s.post("/forgot", url.Values{"email": {address}}).want(200, "If there is an account")
	message := <-mail
	_, token, found := strings.Cut(message.Text, "/reset_password/")
	if message.To != address || !found {
		t.Fatalf("message to %s: %s", message.To, message.Text)
	}
	token, _, _ = strings.Cut(token, "\n")
	s.get("/reset/"+token).want(200, address).checkPage()
	s.post("/reset/"+token, url.Values{"password": {"short"}}).want(422).checkPage()
	s.post("/reset/"+token, url.Values{"password": {"another horse battery staple"}}).leads("/signin?done=password")
	s.get("/signin?done=password").want(200, "The password is changed.").checkPage()
	s.get("/reset/"+token).want(410, "The link is not valid any more").checkPage()
	s.post("/signin", url.Values{"email": {address}, "password": {"another horse battery staple"}}).leads("/")
}

// TestWeight: the first page with everything that it needs has at most 60 kB.
func TestWeight(t *testing.T) {
	s := newSite(t)
	total := 0
	page := s.get("/projects/1/flags").body
	for _, path := range append([]string{"/projects/1/flags"}, assetForm.FindAllString(page, -1)...) {
		r := httptest.NewRequestWithContext(t.Context(), "GET", "https://flags.example.com/console"+strings.TrimPrefix(path, "/console"),
			nil)
		r.Header.Set("Accept-Encoding", "gzip, br")
		a := s.do(r).want(200)
		if a.header.Get("Content-Encoding") != "gzip" || a.header.Get("Vary") != "Accept-Encoding" {
			t.Errorf("%s: headers %v", path, a.header)
		}
		z, err := gzip.NewReader(strings.NewReader(a.body))
		fatal(t, err)
		if _, err := io.Copy(io.Discard, z); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		total += len(a.body)
	}
	t.Logf("the first page has %d bytes", total)
	if total > 60_000 {
		t.Errorf("the first page has %d bytes, want at most 60,000", total)
	}
}

var assetForm = regexp.MustCompile(`/console/static/[^"]+`)
