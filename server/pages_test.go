package server_test

import (
	"context"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/server"
)

// The link of a mail asks first, then works once (management.md §6.3, §6.4).
func TestVerifyPage(t *testing.T) {
	a := newAPI(t, apiSetup{})
	a.mail.messages = make(chan management.Message, 10)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- a.service.Run(ctx) }()
	defer func() {
		stop()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	}()
	a.ok(api("PATCH", "/api/users/@me/", `{"email":"new@acme.example"}`))
	m := <-a.mail.messages
	link := regexp.MustCompile(`https://app\.example(/verify_email/\S+)`).FindStringSubmatch(m.Text)
	if link == nil || m.To != "new@acme.example" {
		t.Fatalf("mail to %s without link:\n%s", m.To, m.Text)
	}
	stranger := func(method, target string) call { return call{method: method, target: target} }

	for _, method := range []string{"HEAD", "GET", "GET"} {
		resp := stranger(method, link[1]).do(a)
		page := bodyText(t, resp)
		if resp.StatusCode != http.StatusOK || method == "GET" && !strings.Contains(page, `<form method="post">`) {
			t.Errorf("%s = %d %s", method, resp.StatusCode, page)
		}
		for name, want := range map[string]string{
			"Cache-Control": "no-store", "Referrer-Policy": "no-referrer", "Content-Type": "text/html; charset=utf-8",
		} {
			if got := resp.Header.Get(name); got != want {
				t.Errorf("%s: %s = %q, want %q", method, name, got, want)
			}
		}
		if policy := resp.Header.Get("Content-Security-Policy"); !strings.HasPrefix(policy, "default-src 'none'") {
			t.Errorf("%s: policy %q", method, policy)
		}
	}
	if got := a.ok(api("GET", "/api/users/@me/", ""))["email"]; got != "ada@acme.example" {
		t.Errorf("to look at the page has changed the address to %v", got)
	}
	for _, want := range []int{http.StatusOK, http.StatusBadRequest} { // a token is good once
		resp := stranger("POST", link[1]+"/").do(a)
		if page := bodyText(t, resp); resp.StatusCode != want {
			t.Errorf("POST = %d %s, want %d", resp.StatusCode, page, want)
		}
	}
	if got := a.ok(api("GET", "/api/users/@me/", ""))["email"]; got != "new@acme.example" {
		t.Errorf("email = %v after verification", got)
	}
	resp := stranger("PUT", link[1]).do(a)
	if resp.StatusCode != http.StatusMethodNotAllowed || resp.Header.Get("Allow") != "GET, HEAD, POST" {
		t.Errorf("PUT = %d, Allow %q", resp.StatusCode, resp.Header.Get("Allow"))
	}
	for range 10 {
		resp = stranger("POST", "/verify_email/<b>/x").do(a)
	}
	if resp.StatusCode != http.StatusTooManyRequests || resp.Header.Get("Retry-After") == "" {
		t.Errorf("the tenth guess = %d, want 429", resp.StatusCode)
	}
}

// Without mail there is no such page.
func TestNoVerifyPage(t *testing.T) {
	a := newAPI(t, apiSetup{management: func(c *management.Config) { c.Mailer = nil }})
	if resp := (call{method: "GET", target: "/verify_email/x/y"}).do(a); resp.StatusCode != http.StatusNotFound {
		t.Errorf("GET = %d, want 404", resp.StatusCode)
	}
}

// The page of an invitation shows it, asks for what a new account needs, and says what is
// wrong with that (management.md §8.5).
func TestRuling67SignupPage(t *testing.T) {
	a := newAPI(t, apiSetup{})
	page := func(method, token, form string) (int, string) {
		t.Helper()
		c := call{method: method, target: "/signup/" + token, body: form, header: map[string]string{"Content-Type": "application/x-www-form-urlencoded"}}
		resp := c.do(a)
		text := bodyText(t, resp)
		for name, want := range map[string]string{
			"Cache-Control": "no-store", "Referrer-Policy": "no-referrer", "Content-Type": "text/html; charset=utf-8", "X-Content-Type-Options": "nosniff",
		} {
			if got := resp.Header.Get(name); got != want {
				t.Errorf("%s: %s = %q, want %q", method, name, got, want)
			}
		}
		return resp.StatusCode, text
	}
	const field = `name="password"`
	check := func(what string, status, want int, text string, has ...string) {
		t.Helper()
		for _, part := range has {
			if part, absent := strings.CutPrefix(part, "!"); strings.Contains(text, part) == absent {
				t.Errorf("%s: %q is there: %t\n%s", what, part, !absent, text)
			}
		}
		if status != want {
			t.Errorf("%s = %d, want %d\n%s", what, status, want, text)
		}
	}
	a.ok(api("PATCH", "/api/organizations/"+acme+"/", `{"name":"Acme & \"Co\""}`))
	token := a.invited("fay@new.example")
	for range 2 { // to look changes nothing
		status, text := page("GET", token, "")
		check("GET", status, 200, text, field, "fay@new.example", "Acme &amp; &#34;Co&#34;", `<form method="post">`)
	}
	status, text := page("POST", token, "password=short")
	check("a short password", status, 400, text, field, "too short")
	status, text = page("POST", token, "password=another-Horse-42-battery&first_name=%3Cscript%3E")
	check("a wrong name", status, 400, text, field, "!<script>")
	status, text = page("POST", token, "password=%zz")
	check("no form", status, 400, text, "!"+field)
	status, text = page("POST", token, "password=another-Horse-42-battery&first_name=Fay&last_name=Wray")
	check("accepted", status, 200, text, "you are a member")
	u, err := a.service.SignIn(t.Context(), "fay@new.example", "another-Horse-42-battery")
	if err != nil || u.FirstName != "Fay" || u.LastName != "Wray" || u.CurrentOrganization == nil {
		t.Errorf("SignIn = %+v, %v", u, err)
	}
	for _, method := range []string{"GET", "POST"} {
		status, text = page(method, token, "password=another-Horse-42-battery")
		check(method+" again", status, 400, text, "!"+field, "invalid or has expired")
	}

	token = a.invited("stella@staff.example")
	status, text = page("GET", token, "")
	check("GET with an account", status, 200, text, "!"+field, "stella@staff.example")
	status, text = page("POST", token, "")
	check("POST with an account", status, 200, text, "you are a member")

	if resp := (call{method: "POST", target: "/signup/x", body: strings.Repeat("x", 8<<10+1)}).do(a); resp.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("a large form = %d, want 413", resp.StatusCode)
	}
}

// The page of a link for another password says for which account it is, and works once
// (management.md §6.7).
func TestResetPage(t *testing.T) {
	a := newAPI(t, apiSetup{})
	page := func(method, token, form string) (int, string) {
		t.Helper()
		c := call{method: method, target: "/reset_password/" + token, body: form, header: map[string]string{"Content-Type": "application/x-www-form-urlencoded"}}
		resp := c.do(a)
		text := bodyText(t, resp)
		if h := resp.Header; h.Get("Cache-Control") != "no-store" || h.Get("Referrer-Policy") != "no-referrer" || !strings.HasPrefix(h.Get("Content-Security-Policy"), "default-src 'none'") {
			t.Errorf("%s: %v", method, h)
		}
		return resp.StatusCode, text
	}
	token := a.resetToken()
	const field, good = `name="password"`, "another-Horse-42-battery"
	for _, tt := range []struct {
		method, token, form string
		status              int
		has                 string
		asks                bool
	}{
		{"GET", token, "", 200, "ada@acme.example", true},
		{"GET", token, "", 200, "ada@acme.example", true},
		{"POST", token, "", 400, "This field is required", false},
		{"POST", token, "password=short", 400, "too short", true},
		{"POST", "x", "password=" + good, 400, "invalid or has expired", false},
		{"POST", token, "password=" + good, 200, "the password is changed", false},
		{"POST", token, "password=" + good, 400, "invalid or has expired", false},
		{"GET", token, "", 400, "invalid or has expired", false},
		{"PUT", token, "", 405, "", false},
	} {
		status, text := page(tt.method, tt.token, tt.form)
		if status != tt.status || !strings.Contains(text, tt.has) || strings.Contains(text, field) != tt.asks {
			t.Errorf("%s %q = %d, want %d with %q\n%s", tt.method, tt.form, status, tt.status, tt.has, text)
		}
	}
	if _, err := a.service.SignIn(t.Context(), "ada@acme.example", good); err != nil {
		t.Errorf("SignIn: %v", err)
	}
}

// A host application that keeps sessions in the Service opens the management API with
// them, and its users see which one is theirs.
func TestSessionOfService(t *testing.T) {
	var a *apiServer
	a = newAPI(t, apiSetup{server: func(c *server.Config) {
		c.Management.AuthFunc = func(r *http.Request) (*management.Principal, error) {
			cookie, err := r.Cookie("session")
			if err != nil {
				return nil, nil
			}
			return a.service.AuthenticateSession(r.Context(), cookie.Value, management.Client{})
		}
	}})
	token := a.signIn()
	a.signIn()
	const path = "/api/users/@me/sessions/"
	with := func(method string) call {
		return api(method, path, "", "Authorization", "", "Cookie", "session="+token)
	}
	resp := with("GET").do(a)
	if body := bodyText(t, resp); resp.StatusCode != 200 || strings.Count(body, `"current":true`) != 1 || strings.Count(body, `"current":false`) != 1 {
		t.Errorf("GET = %d %s", resp.StatusCode, body)
	}
	if resp := with("DELETE").do(a); resp.StatusCode != 204 {
		t.Errorf("DELETE = %d", resp.StatusCode)
	}
	resp = with("GET").do(a)
	if body := bodyText(t, resp); resp.StatusCode != 200 || strings.Count(body, `"current":`) != 1 {
		t.Errorf("GET = %d %s, want the own session", resp.StatusCode, body)
	}
	if err := a.service.CloseSession(t.Context(), token); err != nil {
		t.Fatal(err)
	}
	a.fails(with("GET"), 401, "authentication_failed")
}
