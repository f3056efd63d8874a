package shell_test

import (
	"compress/gzip"
	"context"
	"encoding/json"
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
	"github.com/flagstaff-go/flagstaff/server/console/consoletest"
	"github.com/flagstaff-go/flagstaff/server/console/shell"
)

func init() {
	actions = append(actions,
		action{Route: "/signin", Irreversible: "signing out ends it", Tested: "TestSignIn"},
		action{Route: "/signin/code", Irreversible: "signing out ends it", Tested: "TestSignInWithSecondFactor"},
		action{Route: "/signout", Irreversible: "signing in begins another session", Tested: "TestSignIn"},
		action{Route: "/join/{token}", Irreversible: "a link is good once", Tested: "TestJoin"},
		action{Route: "/forgot", Irreversible: "the message is sent", Tested: "TestForgottenPassword"},
		action{Route: "/reset/{token}", Irreversible: "no password before is kept", Tested: "TestForgottenPassword"},
	)
}

func TestSignIn(t *testing.T) {
	s := consoletest.NewSite(t)
	s.Token = ""
	s.Get("/projects/1/flags?q=x%26y").Leads("/signin?next=%2Fprojects%2F1%2Fflags%3Fq%3Dx%2526y")
	page := s.Get("/signin?next=%2Fprojects%2F1%2Fflags%3Fq%3Dx%2526y").Want(200, "Sign in")
	page.CheckPage()
	form := page.Form("")
	wrong := s.Post("/signin", consoletest.With(form, "email", consoletest.Address, "password", "wrong")).Want(401)
	wrong.CheckPage()
	if strings.Contains(wrong.Body, `value="wrong"`) || !strings.Contains(wrong.Body, `value="`+consoletest.Address+`"`) ||
		len(wrong.Header["Set-Cookie"]) > 0 {
		t.Error("the page does not keep the address alone")
	}
	a := s.Post("/signin", consoletest.With(form, "email", consoletest.Address, "password", consoletest.Password))
	a.Leads("/projects/1/flags?q=x%26y")
	c := a.Cookie()
	if c.Name != "__Host-flagstaff" || !c.HttpOnly || !c.Secure || c.SameSite != http.SameSiteLaxMode || c.Path != "/" || c.Domain != "" {
		t.Errorf("cookie %s", c)
	}
	s.Token = c.Value
	s.Get("/projects/1/flags").Want(200, "12 flags")
	s.Get("/signin").Leads("/")
	out := s.Post("/signout", nil)
	out.Leads("/signin")
	if c := out.Cookie(); c.Value != "" || c.MaxAge >= 0 {
		t.Errorf("the cookie stays: %s", c)
	}
	s.Get("/projects/1/flags").Want(303) // the token is of no use any more
}

func TestSignInWithSecondFactor(t *testing.T) {
	s := consoletest.NewSite(t)
	setup, err := s.Service.StartTwoFactor(t.Context(), s.Owner, "@me")
	consoletest.Fatal(t, err)
	consoletest.Fatal(t, s.Service.ConfirmTwoFactor(t.Context(), s.Owner, "@me", management.TwoFactorPatch{
		Token: optional.Of(json.RawMessage(`"` + consoletest.AuthenticatorCode(t, setup.Secret) + `"`)),
	}))
	codes, err := s.Service.NewBackupCodes(t.Context(), s.Owner, "@me")
	consoletest.Fatal(t, err)
	s.Token = ""
	s.Get("/signin/code").Leads("/signin")
	a := s.Post("/signin", url.Values{
		"email": {consoletest.Address}, "password": {consoletest.Password},
		"next": {"/projects/1/flags?q=a"},
	})
	a.Leads("/signin/code?next=%2Fprojects%2F1%2Fflags%3Fq%3Da")
	pending := a.Cookie().Value
	s.Token = pending
	s.Get("/projects/1/flags").Want(303) // it opens nothing yet
	s.Get("/signin/code?next=%2Fprojects%2F1%2Fflags").Want(200, "Enter a code").CheckPage()
	wrong := s.Post("/signin/code", url.Values{"code": {"000000"}, "next": {"/projects/1/flags"}}).Want(401, "The code is not valid.")
	wrong.CheckPage()
	if len(wrong.Header["Set-Cookie"]) > 0 || strings.Contains(wrong.Body, "000000") {
		t.Error("a wrong code changes the session, or is shown")
	}
	s.Post("/signin/code", url.Values{"code": {codes[0]}}).Want(429, "There were too many attempts. Try again in")
	s.Ahead += 5 * time.Second
	a = s.Post("/signin/code", url.Values{"code": {codes[0]}, "next": {"/projects/1/flags"}})
	a.Leads("/projects/1/flags")
	if a.Cookie().Value == pending {
		t.Error("the session has the same token as before the second factor")
	}
	s.Post("/signin/code", url.Values{"code": {codes[1]}}).Leads("/signin") // the token before is of no use any more
	s.Token = a.Cookie().Value
	s.Get("/projects/1/flags").Want(200)
}

func TestJoin(t *testing.T) {
	s := consoletest.NewSite(t)
	s.Token = ""
	token, err := s.Service.NewSignInLink(t.Context(), consoletest.Address)
	consoletest.Fatal(t, err)
	s.Get("/join/"+token).Want(200, "This link signs you in as "+consoletest.Address).CheckPage()
	s.Get("/join/" + token).Want(200) // looking at it does not use it up
	a := s.Post("/join/"+token, nil)
	a.Leads("/")
	s.Get("/join/"+token).Want(410, "The link is not valid any more").CheckPage()
	s.Post("/join/"+token, nil).Want(410)
	s.Token = a.Cookie().Value
	s.Get("/projects/1/flags").Want(200)

	u, err := s.Service.CreateUser(t.Context(), management.NewUser{Email: "new@example.com"})
	consoletest.Fatal(t, err)
	token, err = s.Service.NewSignInLink(t.Context(), u.Email)
	consoletest.Fatal(t, err)
	s.Token = ""
	s.Get("/join/"+token).Want(200, "Choose a password").CheckPage()
	s.Post("/join/"+token, url.Values{"password": {"short"}}).Want(422).CheckPage()
	s.Post("/join/"+token, url.Values{"password": {consoletest.Password}}).Leads("/")
}

// TestPlainHTTP: tokens cross only connections that nobody listens to.
func TestPlainHTTP(t *testing.T) {
	s := consoletest.NewSite(t, func(c *shell.Config) { c.URL = "" })
	ask := func(method, path, from string, form url.Values) *consoletest.Answer {
		r := httptest.NewRequestWithContext(t.Context(), method, "http://flags.internal/console"+path, strings.NewReader(form.Encode()))
		r.RemoteAddr = from
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.AddCookie(&http.Cookie{Name: "flagstaff", Value: s.Token})
		w := httptest.NewRecorder()
		s.Handler.ServeHTTP(w, r)
		return &consoletest.Answer{T: t, Status: w.Code, Header: w.Header(), Body: w.Body.String()}
	}
	ask("GET", "/signin", "192.0.2.1:1", nil).Want(403, "over plain HTTP")
	ask("POST", "/signin", "192.0.2.1:1", url.Values{"email": {consoletest.Address}, "password": {consoletest.Password}}).Want(403)
	ask("GET", "/projects/1/flags", "192.0.2.1:1", nil).Want(303)
	ask("GET", "/projects/1/flags", "127.0.0.1:1", nil).Want(200)
	a := ask("POST", "/signin", "[::1]:1", url.Values{"email": {consoletest.Address}, "password": {consoletest.Password}}).Want(303)
	if c := a.Cookie(); c.Name != "flagstaff" || c.Secure || !c.HttpOnly {
		t.Errorf("cookie %s", c)
	}
}

// TestNext: a link to sign in leads nowhere else.
func TestNext(t *testing.T) {
	s := consoletest.NewSite(t)
	s.Token = ""
	for _, next := range []string{
		"https://evil.example/", "//evil.example", "/\\evil.example", "\\\\evil.example", "/../evil", "/./x", "javascript:alert(1)",
		"/\t/evil.example", "@evil.example", ".evil.example", "%2f%2fevil.example", "/projects/../../x",
	} {
		a := s.Post("/signin", url.Values{"email": {consoletest.Address}, "password": {consoletest.Password}, "next": {next}})
		if a.Status == http.StatusTooManyRequests {
			t.Fatal("throttled")
		}
		if to := a.Header.Get("Location"); a.Status != 303 || to != "/console/" {
			t.Errorf("next %q leads to %q", next, to)
		}
	}
}

func TestOtherOrigins(t *testing.T) {
	s := consoletest.NewSite(t)
	path := s.FlagPath("company-billing")
	for _, headers := range []map[string]string{
		{"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}, {"Origin": "https://evil.example"}, {"Origin": "null"},
	} {
		r := httptest.NewRequestWithContext(t.Context(), "POST", "https://flags.example.com/console"+path+"/switch",
			strings.NewReader("to=off"))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		for name, value := range headers {
			r.Header.Set(name, value)
		}
		a := s.Do(r)
		a.Want(403, "The request came from another site")
		a.CheckPage()
	}
	if !s.Flag("company-billing").Active {
		t.Error("another site has switched a flag")
	}
}

// TestForeign: what belongs to others is not there.
// TestRuling104Foreign has the same pages for a project of others and for none.
func TestRuling104Foreign(t *testing.T) {
	s := consoletest.NewSite(t)
	other := storage.NewOrganization("Other")
	consoletest.Fatal(t, s.Store.Organizations().Create(t.Context(), other))
	project := storage.NewProject(other, "Theirs")
	consoletest.Fatal(t, s.Store.Projects().Create(t.Context(), project))
	f := storage.NewFlag(project.ID, project.Created)
	f.Key = "theirs"
	consoletest.Fatal(t, s.Store.Flags().Create(t.Context(), f))
	for _, path := range []string{"flags", "flags/new", "persons", "why", "activity", "surveys", "settings", "export", "nothing"} {
		theirs, missing := s.Get("/projects/2/"+path).Want(404, "Page not found"), s.Get("/projects/99/"+path).Want(404)
		theirs.CheckPage()
		if strings.ReplaceAll(theirs.Body, "/projects/2/", "/projects/99/") != missing.Body {
			t.Errorf("a project of others answers other than a missing one:\n%s\n%s", consoletest.Words(theirs.Body),
				consoletest.Words(missing.Body))
		}
	}
	s.Post("/projects/2/flags/new", url.Values{"do": {"save"}, "key": {"x"}}).Want(404)
}

func TestForeign(t *testing.T) {
	s := consoletest.NewSite(t)
	other := storage.NewOrganization("Other")
	consoletest.Fatal(t, s.Store.Organizations().Create(t.Context(), other))
	project := storage.NewProject(other, "Theirs")
	consoletest.Fatal(t, s.Store.Projects().Create(t.Context(), project))
	f := storage.NewFlag(project.ID, project.Created)
	f.Key = "theirs"
	consoletest.Fatal(t, s.Store.Flags().Create(t.Context(), f))
	for _, path := range []string{
		"/projects/99/flags", "/projects/x/flags", "/projects/1/flags/9999", "/projects/1/flags/theirs", "/nothing",
		"/projects/1/flags/1/x", "/static/0/console.css",
	} {
		s.Get(path).Want(404).CheckPage()
	}
	s.Post("/projects/1/flags/9999", url.Values{"do": {"save"}}).Want(404)
	s.Member("cyd@example.com", storage.LevelMember)
	s.SignIn("cyd@example.com")
	s.Get("/projects/1/flags").Want(200, "12 flags") // members work with flags
	s.Token = "wrong"
	s.Post("/projects/1/flags/1", url.Values{"do": {"save"}}).Want(401, "You are signed out").CheckPage()
}

// TestScript: what people type is text on every page.
func TestScript(t *testing.T) {
	s := consoletest.NewSite(t)
	const evil = `"><script>alert(1)</script>'{{.}}`
	path, edit := s.FlagPath("retired"), s.EditPath("retired")
	form := s.Get(edit).Form("form")
	form = consoletest.With(form, "name", evil, "tags", evil, "contexts", evil, "c0.description", evil, "payload",
		`"<script>alert(1)</script>"`)
	add := s.Post(edit, consoletest.With(form, "do", "add-person c0")).Form("form")
	s.Post(edit, consoletest.With(add, "do", "save", "c0.f0.key", evil, "c0.f0.value", evil)).Leads(path + "?done=saved")
	for _, p := range []string{
		path, edit, path + "/history", path + "/compare?from=" + url.QueryEscape(evil),
		"/projects/1/flags?q=" + url.QueryEscape(evil), "/projects/1/flags",
		path + "/switch?to=on&back=" + url.QueryEscape(evil) + "&from=" + url.QueryEscape(evil), "/signin?next=" + url.QueryEscape(evil),
	} {
		a := s.Get(p)
		if strings.Contains(a.Body, "<script>alert") {
			t.Errorf("%s runs a script", p)
		}
		if a.Status == 200 {
			a.CheckPage()
		}
	}
	a := s.Post(edit, consoletest.With(s.Get(edit).Form("form"), "do", "review", "key", evil, "v0.key", evil, "c0.share", evil))
	if strings.Contains(a.Body, "<script>alert") {
		t.Error("a message runs a script")
	}
	a.CheckPage()
}

func TestStatic(t *testing.T) {
	s := consoletest.NewSite(t)
	page := s.Get("/projects/1/flags")
	for _, name := range []string{"console.css", "console.js", "icon.svg"} {
		at := strings.Index(page.Body, "/"+name+`"`)
		start := strings.LastIndex(page.Body[:at], `"`) + 1
		a := s.Get(strings.TrimPrefix(page.Body[start:at]+"/"+name, "/console")).Want(200)
		if !strings.Contains(a.Header.Get("Cache-Control"), "immutable") || a.Header.Get("Content-Type") == "" {
			t.Errorf("%s: %v", name, a.Header)
		}
	}
}

func TestConfig(t *testing.T) {
	s := consoletest.NewSite(t)
	for _, c := range []shell.Config{
		{},
		{Service: s.Service, Prefix: "console"},
		{Service: s.Service, Prefix: "/console/"},
		{Service: s.Service, Prefix: "/{x}"},
		{Service: s.Service, URL: "flags.example.com"},
		{Service: s.Service, URL: "https://flags.example.com/console"},
	} {
		if _, err := shell.New(c); err == nil || !strings.HasPrefix(err.Error(), "console: Config.") {
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
	s := consoletest.NewSite(t)
	s.Token = ""
	s.Get("/forgot").Want(200, "This server sends no mail.").CheckPage()
	s.Post("/forgot", url.Values{"email": {consoletest.Address}}).Want(422, "no mail server is configured").CheckPage()

	mail := make(postman, 10)
	service, err := management.New(management.Config{Store: s.Store, Data: s.Store, Mailer: mail, SecretKeys: [][]byte{make([]byte, 32)}})
	consoletest.Fatal(t, err)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- service.Run(ctx) }()
	defer func() { stop(); <-done }()
	s.Handler, err = shell.New(shell.Config{Service: service, Prefix: "/console", URL: "https://flags.example.com"})
	consoletest.Fatal(t, err)
	s.Get("/forgot").Want(200, "Send me a link").CheckPage()
	s.Post("/forgot", url.Values{"email": {"nobody@example.com"}}).Want(200, "If there is an account").CheckPage()
	s.Post("/forgot", url.Values{"email": {"no address"}}).Want(422).CheckPage()
	s.Post("/forgot", url.Values{"email": {consoletest.Address}}).Want(200, "If there is an account")
	message := <-mail
	_, token, found := strings.Cut(message.Text, "/reset_password/")
	if message.To != consoletest.Address || !found {
		t.Fatalf("message to %s: %s", message.To, message.Text)
	}
	token, _, _ = strings.Cut(token, "\n")
	s.Get("/reset/"+token).Want(200, consoletest.Address).CheckPage()
	s.Post("/reset/"+token, url.Values{"password": {"short"}}).Want(422).CheckPage()
	s.Post("/reset/"+token, url.Values{"password": {"another horse battery staple"}}).Leads("/signin?done=password")
	s.Get("/signin?done=password").Want(200, "The password is changed.").CheckPage()
	s.Get("/reset/"+token).Want(410, "The link is not valid any more").CheckPage()
	s.Post("/signin", url.Values{"email": {consoletest.Address}, "password": {"another horse battery staple"}}).Leads("/")
}

// TestWeight: the first page with everything that it needs has at most 60 kB.
func TestWeight(t *testing.T) {
	s := consoletest.NewSite(t)
	total := 0
	page := s.Get("/projects/1/flags").Body
	for _, path := range append([]string{"/projects/1/flags"}, assetForm.FindAllString(page, -1)...) {
		r := httptest.NewRequestWithContext(t.Context(), "GET", "https://flags.example.com/console"+strings.TrimPrefix(path, "/console"),
			nil)
		r.Header.Set("Accept-Encoding", "gzip, br")
		a := s.Do(r).Want(200)
		if a.Header.Get("Content-Encoding") != "gzip" || a.Header.Get("Vary") != "Accept-Encoding" {
			t.Errorf("%s: headers %v", path, a.Header)
		}
		z, err := gzip.NewReader(strings.NewReader(a.Body))
		consoletest.Fatal(t, err)
		if _, err := io.Copy(io.Discard, z); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		total += len(a.Body)
	}
	t.Logf("the first page has %d bytes", total)
	if total > 60_000 {
		t.Errorf("the first page has %d bytes, want at most 60,000", total)
	}
}

var assetForm = regexp.MustCompile(`/console/static/[^"]+`)
